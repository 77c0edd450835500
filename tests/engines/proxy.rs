//! A proxy in front of DolphinScheduler that records what passes, and spoils answers.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lakeport_engine_tests::{Access, Document};
use serde_json::Value;

/// What happens to a request.
#[derive(Clone, Debug)]
pub enum Fault {
    /// It is answered with this, and does not arrive.
    Answer(&'static str, String),
    /// It arrives, and its answer is lost.
    Lost,
    /// It arrives, and half of its answer comes back.
    Half,
    /// It arrives so much later.
    Slow(Duration),
    /// The connection is closed at once.
    Closed,
}

/// Spoils requests whose line, `POST /dolphinscheduler/…`, has this text.
#[derive(Clone, Debug)]
struct Rule {
    text: String,
    fault: Fault,
    times: usize,
}

#[derive(Default)]
struct Shared {
    rules: Vec<Rule>,
    requests: Vec<String>,
    recorded: Vec<Exchange>,
}

/// A request with the answer that came back whole.
#[derive(Clone, Debug)]
struct Exchange {
    method: String,
    /// Without its query.
    path: String,
    /// Of the query, then of the form.
    params: Vec<(String, String)>,
    status: u16,
    /// Null: no JSON.
    answer: Value,
}

pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
}

impl Exchange {
    /// One that is not in the form of this server: no document has it.
    fn unreadable(line: &str) -> Exchange {
        Exchange {
            method: "unreadable".to_owned(),
            path: line.to_owned(),
            params: Vec::new(),
            status: 0,
            answer: Value::Null,
        }
    }
}

/// The most requests of one recording.
const RECORDED_MAX: usize = 20_000;
/// The largest request that is passed on, in bytes.
const REQUEST_MAX: usize = 8 << 20;

impl Proxy {
    /// `to`: `127.0.0.1:12345`.
    pub fn start(to: &str) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let shared = Arc::new(Mutex::new(Shared::default()));
        let (theirs, to) = (Arc::clone(&shared), to.to_owned());
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let (shared, to) = (Arc::clone(&theirs), to.clone());
                // A connection that breaks is one of the faults.
                std::thread::spawn(move || pass_on(client, &to, &shared).ok());
            }
        });
        Proxy { address, shared }
    }

    /// In front of this server; with the access through it.
    pub fn before(access: &Access) -> (Proxy, Access) {
        let proxy = Proxy::start(access.base_url.split('/').nth(2).expect("an address"));
        let base_url = format!("http://{}/dolphinscheduler", proxy.address());
        (proxy, Access { base_url, ..access.clone() })
    }

    /// What does not fit the OpenAPI document of the version, each text once, and how many requests there were. Those
    /// whose paths end so are left out.
    pub fn misfits(&self, document: &Document, unknown: &[&str]) -> (usize, Vec<String>) {
        let recorded = self.shared.lock().expect("no panic while it is held").recorded.clone();
        let known = recorded.iter().filter(|one| !unknown.iter().any(|end| one.path.ends_with(end)));
        let mut problems: Vec<String> = known
            .flat_map(|one| {
                let line = format!("{} {}", one.method, one.path);
                let Some(call) = document.call(&one.method, &one.path) else {
                    return vec![format!("{line}: the document has no such call")];
                };
                let request = document.request_problems(call, &one.params);
                let answer = document.answer_problems(call, one.status, &one.answer, &[]);
                request.into_iter().chain(answer).map(|problem| format!("{line}: {problem}")).collect()
            })
            .collect();
        problems.sort();
        problems.dedup();
        (recorded.len(), problems)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Spoils so many requests whose line has this text.
    pub fn spoil(&self, text: &str, fault: Fault, times: usize) {
        let rule = Rule { text: text.to_owned(), fault, times };
        self.shared.lock().expect("no panic while it is held").rules.push(rule);
    }

    /// All goes well again.
    pub fn heal(&self) {
        self.shared.lock().expect("no panic while it is held").rules.clear();
    }

    /// The lines of the requests so far.
    pub fn requests(&self) -> Vec<String> {
        self.shared.lock().expect("no panic while it is held").requests.clone()
    }
}

/// One request; the connection is closed after it.
fn pass_on(mut client: TcpStream, to: &str, shared: &Mutex<Shared>) -> std::io::Result<()> {
    let request = read_request(&mut client)?;
    let line = String::from_utf8_lossy(&request).lines().next().unwrap_or_default().to_owned();
    match fault_of(&line, shared) {
        Some(Fault::Closed) => Ok(()),
        Some(Fault::Answer(status, body)) => client.write_all(&answer(status, &body)),
        Some(Fault::Slow(time)) => {
            std::thread::sleep(time);
            client.write_all(&ask(to, &request)?)
        }
        Some(Fault::Lost) => ask(to, &request).map(drop),
        Some(Fault::Half) => {
            let whole = ask(to, &request)?;
            client.write_all(&whole[..whole.len() - whole.len() / 4])
        }
        None => {
            let whole = ask(to, &request)?;
            let exchange = exchange(&request, &whole).unwrap_or_else(|| Exchange::unreadable(&line));
            let recorded = &mut shared.lock().expect("no panic while it is held").recorded;
            assert!(recorded.len() < RECORDED_MAX, "a recording has {RECORDED_MAX} requests at most");
            recorded.push(exchange);
            client.write_all(&whole)
        }
    }
}

fn fault_of(line: &str, shared: &Mutex<Shared>) -> Option<Fault> {
    let mut shared = shared.lock().expect("no panic while it is held");
    shared.requests.push(line.to_owned());
    let rule = shared.rules.iter_mut().find(|rule| rule.times > 0 && line.contains(&rule.text))?;
    rule.times -= 1;
    Some(rule.fault.clone())
}

fn answer(status: &str, body: &str) -> Vec<u8> {
    let headers = "Content-Type: application/json\r\nConnection: close";
    format!("HTTP/1.1 {status}\r\n{headers}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// `None`: it is not in the form of this server.
fn exchange(request: &[u8], answer: &[u8]) -> Option<Exchange> {
    let (head, form) = parted(request)?;
    let mut words = head.lines().next()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut params: Vec<(String, String)> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    if head.to_ascii_lowercase().contains("application/x-www-form-urlencoded") {
        params.extend(form_urlencoded::parse(form).into_owned());
    }
    let (head, body) = parted(answer)?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let body = if is_chunked { unchunked(body)? } else { body.to_vec() };
    let answer = serde_json::from_slice(&body).unwrap_or_default();
    Some(Exchange { method: method.to_owned(), path: path.to_owned(), params, status, answer })
}

/// Head and body of a message.
fn parted(message: &[u8]) -> Option<(String, &[u8])> {
    let end = message.windows(4).position(|window| window == b"\r\n\r\n")?;
    Some((String::from_utf8_lossy(&message[..end]).into_owned(), &message[end + 4..]))
}

fn unchunked(mut body: &[u8]) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    loop {
        let end = body.windows(2).position(|window| window == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&body[..end]).ok()?.trim(), 16).ok()?;
        let from = end + 2;
        whole.extend_from_slice(body.get(from..from + size)?);
        if size == 0 {
            return Some(whole);
        }
        body = body.get(from + size + 2..)?;
    }
}

fn read_request(client: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    client.set_read_timeout(Some(Duration::from_secs(60)))?;
    let (mut request, mut buffer) = (Vec::new(), [0; 16 * 1024]);
    loop {
        let end = request.windows(4).position(|window| window == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8_lossy(&request[..end]).to_ascii_lowercase();
            let length =
                head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
            if request.len() >= end + 4 + length.unwrap_or(0) {
                return Ok(request);
            }
        }
        let read = client.read(&mut buffer)?;
        if read == 0 || request.len() > REQUEST_MAX {
            return Err(std::io::Error::other("no whole request"));
        }
        request.extend_from_slice(&buffer[..read]);
    }
}

/// Passes the request on, and returns the whole answer: the server closes the connection after it.
fn ask(to: &str, request: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut server = TcpStream::connect(to)?;
    server.set_read_timeout(Some(Duration::from_secs(60)))?;
    let end = request.windows(2).position(|window| window == b"\r\n").unwrap_or_default();
    server.write_all(&request[..end])?;
    server.write_all(b"\r\nConnection: close")?;
    server.write_all(&request[end..])?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer)?;
    // So that the client does not use the connection again.
    let head = answer.windows(2).position(|window| window == b"\r\n").unwrap_or_default();
    let mut marked = answer[..head].to_vec();
    marked.extend_from_slice(b"\r\nX-Passed-On: yes");
    marked.extend_from_slice(&answer[head..]);
    Ok(marked)
}
