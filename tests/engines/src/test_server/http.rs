//! The web server: one request for each connection, in the form that a client of DolphinScheduler sends it.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Connections at the same time. More are closed.
const CONNECTIONS_MAX: usize = 64;
/// How long one request may take to arrive, and one read or write.
const REQUEST_MAX: Duration = Duration::from_secs(15);
const IO_MAX: Duration = Duration::from_secs(5);
const AFTER_FAILURE: Duration = Duration::from_millis(20);
const HEAD_MAX_BYTES: usize = 64 * 1024;
/// The largest body that is read. DolphinScheduler refuses a smaller one already, see [`FORM_MAX_BYTES`].
const BODY_MAX_BYTES: usize = 8 << 20;
/// The largest form that DolphinScheduler takes.
pub const FORM_MAX_BYTES: usize = 5_000_000;

/// A request.
#[derive(Debug, Default)]
pub struct Request {
    pub method: String,
    /// Without its query.
    pub path: String,
    /// Of the query and then of the form, decoded.
    pub params: Vec<(String, String)>,
    /// Of other bodies than forms.
    pub body: Vec<u8>,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    pub is_too_large: bool,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A response.
#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub content_type: &'static str,
    pub body: Vec<u8>,
}

/// Answers requests until its owner ends it. A last connection of its owner wakes it.
pub fn serve(
    listener: &TcpListener,
    is_ending: &AtomicBool,
    answer: Arc<dyn Fn(Request) -> Response + Send + Sync>,
) {
    let open = Arc::new(AtomicUsize::new(0));
    for client in listener.incoming() {
        if is_ending.load(Ordering::SeqCst) {
            return;
        }
        let Ok(client) = client else {
            // There may be too many open files.
            std::thread::sleep(AFTER_FAILURE);
            continue;
        };
        if open.fetch_add(1, Ordering::SeqCst) >= CONNECTIONS_MAX {
            open.fetch_sub(1, Ordering::SeqCst);
            continue;
        }
        let (open, answer) = (Arc::clone(&open), Arc::clone(&answer));
        std::thread::spawn(move || {
            // A client that goes away is no concern of the server.
            exchange(client, &*answer).ok();
            open.fetch_sub(1, Ordering::SeqCst);
        });
    }
}

fn exchange(mut client: TcpStream, answer: &dyn Fn(Request) -> Response) -> io::Result<()> {
    client.set_read_timeout(Some(IO_MAX))?;
    client.set_write_timeout(Some(IO_MAX))?;
    let Some(request) = read(&mut client)? else { return Ok(()) };
    client.write_all(&written(&answer(request)))
}

fn written(response: &Response) -> Vec<u8> {
    let reason = match response.status {
        200 => "OK",
        201 => "Created",
        401 => "Unauthorized",
        404 => "Not Found",
        405 => "Method Not Allowed",
        _ => "Error",
    };
    let head = format!(
        "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        response.status,
        response.content_type,
        response.body.len()
    );
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(&response.body);
    bytes
}

/// `None` if the connection ends before a request begins.
fn read(client: &mut TcpStream) -> io::Result<Option<Request>> {
    let begun = Instant::now();
    let (mut bytes, mut buffer) = (Vec::new(), [0; 16 * 1024]);
    let mut more = |bytes: &mut Vec<u8>| -> io::Result<usize> {
        if begun.elapsed() > REQUEST_MAX {
            return Err(io::Error::other("the request takes too long"));
        }
        let count = client.read(&mut buffer)?;
        bytes.extend_from_slice(&buffer[..count]);
        Ok(count)
    };
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if bytes.len() > HEAD_MAX_BYTES {
            return Err(io::Error::other("the head of the request is too large"));
        }
        match more(&mut bytes)? {
            0 if bytes.is_empty() => return Ok(None),
            0 => return Err(io::Error::other("the request ends within its head")),
            _ => {}
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut request = head_of(&head)?;
    let length = request.header("content-length").map_or(Ok(0), str::parse).map_err(io::Error::other)?;
    if length > BODY_MAX_BYTES || request.header("transfer-encoding").is_some() {
        return Err(io::Error::other("the body of the request is too large, or in chunks"));
    }
    let mut body = bytes.split_off(end + 4);
    while body.len() < length {
        if more(&mut body)? == 0 {
            return Err(io::Error::other("the request ends within its body"));
        }
    }
    body.truncate(length);
    let is_form = request
        .header("content-type")
        .is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded"));
    if is_form && length > FORM_MAX_BYTES {
        request.is_too_large = true;
    } else if is_form {
        request.params.extend(form_urlencoded::parse(&body).into_owned());
    } else {
        request.body = body;
    }
    Ok(Some(request))
}

fn head_of(head: &str) -> io::Result<Request> {
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap_or_default();
    let mut words = line.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(io::Error::other("no request line"));
    };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
    };
    Ok(Request {
        method: method.to_owned(),
        path: path.to_owned(),
        params: form_urlencoded::parse(query.as_bytes()).into_owned().collect(),
        headers: lines.filter_map(header).collect(),
        ..Request::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read() {
        let head = "POST /dolphinscheduler/a?b=1+2&c=%2F HTTP/1.1\r\nToken: x:y\r\nHost: h";
        let request = head_of(head).expect("a head");
        assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/dolphinscheduler/a"));
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(request.params, [pair("b", "1 2"), pair("c", "/")]);
        assert_eq!((request.header("token"), request.header("none")), (Some("x:y"), None));
        head_of("POST").expect_err("no target");
    }
}
