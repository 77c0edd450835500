//! A proxy in front of DolphinScheduler that spoils answers.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

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
}

pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
}

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
        None => client.write_all(&ask(to, &request)?),
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
