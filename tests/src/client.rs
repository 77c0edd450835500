//! Sends one HTTP/1.1 request over a connection of its own, with a time limit.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use serde_json::Value;

use crate::described;

/// The time limit of one request; longer than any deadline of the server.
const REQUEST_MAX: Duration = Duration::from_secs(60);

/// An answer.
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Response {
    /// A header by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// `data` of a success.
    pub fn data(&self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        let mut body = self.json();
        assert_eq!((&body["code"], &body["message"]), (&200.into(), &"success".into()), "{self:?}");
        body["data"].take()
    }

    /// The stable code of an error, whose body must have all members.
    pub fn error(&self) -> String {
        let body = self.json();
        assert_eq!(body["code"], self.status, "{self:?}");
        assert!(body["data"].is_null() && body["requestId"].is_string(), "{self:?}");
        body["error"].as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned()
    }

    /// The error's message for people.
    pub fn message(&self) -> String {
        self.json()["message"].as_str().unwrap_or_default().to_owned()
    }
}

/// Panics unless the request was refused with this status and code.
#[track_caller]
pub fn refused(response: &Response, status: u16, code: &str) {
    assert_eq!((response.status, response.error().as_str()), (status, code), "{response:?}");
}

/// The members that an error names, sorted.
#[track_caller]
pub fn named(response: &Response) -> Vec<String> {
    assert_eq!(response.status, 400, "{response:?}");
    let body = response.json();
    let details = body["details"].as_array().unwrap_or_else(|| panic!("{body}"));
    let mut fields: Vec<String> =
        details.iter().map(|detail| detail["field"].as_str().expect("a field").to_owned()).collect();
    fields.sort_unstable();
    fields
}

impl std::fmt::Debug for Response {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const SHOWN_BYTES: usize = 2_000;
        let body = String::from_utf8_lossy(&self.body[..self.body.len().min(SHOWN_BYTES)]);
        write!(f, "{} {body}", self.status)
    }
}

/// Sends one request and reads the complete answer. `headers` come on top of `Host` and `Content-Length`; a
/// `Host` among them replaces the usual one.
pub fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Response {
    try_request(address, method, path, headers, body).unwrap_or_else(|why| panic!("{why}"))
}

/// The same; an error if the server is gone, or ends before it answers.
pub fn try_request(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Result<Response, String> {
    let mut stream =
        TcpStream::connect(address).map_err(|error| format!("connecting to {address}: {error}"))?;
    stream.set_read_timeout(Some(REQUEST_MAX)).expect("a time above zero");
    stream.set_write_timeout(Some(REQUEST_MAX)).expect("a time above zero");
    let mut head =
        format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        head.push_str(&format!("Host: {address}\r\n"));
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let read_head = stream.write_all(head.as_bytes());
    read_head.map_err(|error| format!("the server did not read the head of {method} {path}: {error}"))?;
    // A server that has answered already may stop reading; only its answer matters.
    let sent = stream.write_all(body);
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    if answer.is_empty() {
        return Err(format!("no answer to {method} {path}: sent {sent:?}, read {read:?}"));
    }
    let response = parse(&answer, method)?;
    record(method, path, response.status);
    described::check(method, path, &response);
    Ok(response)
}

/// Records requests and statuses for the check that every route has a test: `LAKEPORT_HITS_DIR` names a
/// folder, where each process writes a file of its own.
fn record(method: &str, path: &str, status: u16) {
    static HITS: LazyLock<Option<Mutex<File>>> = LazyLock::new(|| {
        let folder = std::env::var_os("LAKEPORT_HITS_DIR")?;
        let path = PathBuf::from(folder).join(format!("{}.txt", std::process::id()));
        Some(Mutex::new(File::options().create(true).append(true).open(path).expect("a folder to write to")))
    });
    if let Some(hits) = &*HITS {
        let path = path.split('?').next().unwrap_or_default();
        let mut file = hits.lock().expect("no panic while it is held");
        writeln!(file, "{method} {path} {status}").expect("a line");
    }
}

fn parse(answer: &[u8], method: &str) -> Result<Response, String> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").ok_or("the head does not end")?;
    let head = std::str::from_utf8(&answer[..end]).expect("a head is ASCII");
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|code| code.parse().ok());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let body = answer[end + 4..].to_vec();
    let announced =
        headers.iter().find(|(name, _)| name == "content-length").map(|(_, length)| length.parse::<usize>());
    if let Some(Ok(length)) = announced
        && method != "HEAD"
        && status != Some(304)
        && body.len() != length
    {
        return Err(format!("the body has {} bytes and not the {length} that it says", body.len()));
    }
    Ok(Response { status: status.ok_or("no status")?, headers, body })
}
