//! Reads a stream of server-sent events as it arrives.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// How long a reader waits for the next line; a comment comes every 15 s.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub id: i64,
    pub kind: String,
    pub data: Value,
}

/// The answer to a request for a stream: its head was read, its events are read one by one.
pub struct EventStream {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    reader: BufReader<TcpStream>,
    /// Bytes of the body that were decoded from chunks and not read yet.
    text: Vec<u8>,
}

impl EventStream {
    /// Requests it; `headers` come on top of `Host`.
    pub fn open(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> EventStream {
        let mut stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(SILENCE_MAX)).expect("a time above zero");
        let mut head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n");
        headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
        stream.write_all(format!("{head}\r\n").as_bytes()).expect("the server reads the head");
        let mut reader = BufReader::new(stream);
        let first = line(&mut reader);
        let status = first.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        let mut headers = Vec::new();
        loop {
            let line = line(&mut reader);
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
        EventStream { status, headers, reader, text: Vec::new() }
    }

    /// A header by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All events until the end.
    pub fn all(self) -> Vec<Event> {
        self.collect()
    }

    /// False after the last chunk.
    fn read_chunk(&mut self) -> bool {
        let size = line(&mut self.reader);
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or_else(|_| panic!("`{size}` is no chunk"));
        let mut chunk = vec![0; size + 2];
        self.reader.read_exact(&mut chunk).expect("a chunk comes whole");
        self.text.extend_from_slice(&chunk[..size]);
        size > 0
    }
}

impl Iterator for EventStream {
    type Item = Event;

    /// The next event; `None` once the stream has ended cleanly. Skips comments.
    fn next(&mut self) -> Option<Event> {
        loop {
            let Some(end) = self.text.windows(2).position(|two| two == b"\n\n") else {
                if !self.read_chunk() {
                    assert!(self.text.is_empty(), "half an event: {:?}", String::from_utf8_lossy(&self.text));
                    return None;
                }
                continue;
            };
            let frame: Vec<u8> = self.text.drain(..end + 2).collect();
            let frame = String::from_utf8(frame).expect("an event is text");
            let field = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
            if let (Some(id), Some(kind), Some(data)) = (field("id:"), field("event:"), field("data:")) {
                return Some(Event {
                    id: id.parse().expect("an id is a number"),
                    kind: kind.to_owned(),
                    data: serde_json::from_str(data).expect("data are JSON"),
                });
            }
        }
    }
}

/// A line without its line break.
fn line(reader: &mut BufReader<TcpStream>) -> String {
    let mut line = String::new();
    reader.read_line(&mut line).expect("the server goes on");
    line.trim_end().to_owned()
}
