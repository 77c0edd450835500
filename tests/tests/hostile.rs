//! Attacks by a hostile client: heads, frames and bodies that are too long, too slow, broken or false. The
//! server answers or closes, stays small, and goes on answering others.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use lakeport_tests::{Response, Server, memory_bytes, request, rows, stores};

/// The most that the server may grow under attack.
const GROWTH_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// How long a client waits that should be answered or closed at once.
const AT_ONCE: Duration = Duration::from_secs(10);
/// An endpoint with a small JSON body.
const FORM: &str = "/api/v1/tokens";

const REQUESTS: &str = include_str!("../adversary/requests.txt");

/// A server under attack.
struct Target {
    server: Server,
    at_rest_bytes: u64,
}

impl Target {
    fn start() -> Target {
        let server = Server::start(&stores()[0]);
        let target = Target { at_rest_bytes: 0, server };
        target.assert_answers();
        // Resets the peak memory, which compiling the plugins has raised.
        std::fs::write(format!("/proc/{}/clear_refs", target.server.pid()), "5").expect("it is our process");
        Target { at_rest_bytes: memory_bytes(target.server.pid(), "VmRSS:"), ..target }
    }

    fn address(&self) -> SocketAddr {
        self.server.address()
    }

    fn assert_answers(&self) {
        let begun = Instant::now();
        let answer = request(self.address(), "GET", "/health/live", &[], b"");
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(begun.elapsed() < Duration::from_secs(5), "others are answered meanwhile");
    }

    /// Checked at the end of an attack.
    fn assert_unharmed(&self) {
        self.assert_answers();
        let grown = memory_bytes(self.server.pid(), "VmHWM:").saturating_sub(self.at_rest_bytes);
        assert!(grown < GROWTH_MAX_BYTES, "the server was {grown} bytes larger than at rest");
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address()).expect("it listens");
        stream.set_nodelay(true).expect("a socket");
        stream.set_read_timeout(Some(AT_ONCE)).expect("a time above zero");
        stream.set_write_timeout(Some(AT_ONCE)).expect("a time above zero");
        stream
    }

    /// Sends these bytes and reads until the server closes.
    fn exchange(&self, bytes: &[u8]) -> Vec<Response> {
        let mut stream = self.connect();
        // A server that has answered already may stop reading.
        let _ = stream.write_all(bytes);
        answers(&read_to_end(&mut stream))
    }

    /// Exactly one answer, after which the server closes.
    fn answer(&self, bytes: &[u8]) -> Response {
        let mut answers = self.exchange(bytes);
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]);
        assert_eq!(answers.len(), 1, "one answer to {shown:?}");
        answers.remove(0)
    }

    /// A head with these lines besides the usual ones.
    fn head(&self, first: &str, lines: &[&str]) -> Vec<u8> {
        let mut head = format!("{first}\r\nHost: {}\r\nConnection: close\r\n", self.address());
        lines.iter().for_each(|line| head.push_str(&format!("{line}\r\n")));
        head.push_str("\r\n");
        head.into_bytes()
    }

    fn post(&self, body: &[u8]) -> Response {
        request(self.address(), "POST", FORM, &[("Content-Type", "application/json")], body)
    }
}

/// Reads until the connection ends, also by a reset.
fn read_to_end(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        Err(error) => panic!("neither answered nor closed: {error}: {:?}", String::from_utf8_lossy(&bytes)),
    }
    bytes
}

/// Consecutive answers; a body's length is always given.
fn answers(mut bytes: &[u8]) -> Vec<Response> {
    let mut answers = Vec::new();
    while let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
        let head = std::str::from_utf8(&bytes[..end]).expect("a head is ASCII");
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).expect("a status");
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length = length.map_or(0, |(_, length)| length.parse().expect("a length is a number"));
        let body = bytes[end + 4..].get(..length).expect("the body is whole").to_vec();
        bytes = &bytes[end + 4 + length..];
        // Skips 100 Continue.
        if status != 100 {
            answers.push(Response { status, headers, body });
        }
    }
    assert!(bytes.is_empty(), "half an answer: {:?}", String::from_utf8_lossy(bytes));
    answers
}

#[test]
fn slow_clients_are_cut_without_harm() {
    const EACH: usize = 40;
    let target = Target::start();
    // The first bytes, and the bytes that follow one at a time.
    let slow: [(&[u8], &[u8]); 5] = [
        (b"", b""),
        (b"", b"G"),
        (b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nX: ", b"1"),
        (b"PRI * HTTP/2.0\r\n", b""),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", b""),
    ];
    let begun = Instant::now();
    let mut open = Vec::new();
    for (first, then) in slow.into_iter().cycle().take(slow.len() * EACH) {
        let mut stream = target.connect();
        stream.write_all(first).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_millis(1))).expect("a time above zero");
        open.push((stream, then.iter().cycle()));
    }
    let mut rounds = 0;
    while !open.is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(25), "{} were not cut", open.len());
        let early = begun.elapsed() < Duration::from_secs(13);
        let before = open.len();
        open.retain_mut(|(stream, then)| {
            let wrote = then.next().is_none_or(|byte| stream.write_all(&[*byte]).is_ok());
            wrote && still_open(stream)
        });
        assert!(!early || open.len() == before, "cut after {:?} already", begun.elapsed());
        rounds += 1;
        if rounds % 10 == 0 {
            target.assert_answers();
        }
    }
    target.assert_unharmed();
}

/// Reads and discards; true if the connection is still open.
fn still_open(stream: &mut TcpStream) -> bool {
    loop {
        match stream.read(&mut [0; 1024]) {
            Ok(0) => return false,
            Ok(_) => {}
            Err(error) => return matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        }
    }
}

#[test]
fn a_head_that_is_too_long_or_broken_is_refused() {
    let target = Target::start();
    let many = vec!["a: b"; 100_000];
    let some = vec!["a: b"; 101];
    let long = format!("X: {}", "x".repeat(1 << 20));
    let path = format!("GET /{} HTTP/1.1", "x".repeat(70_000));
    let method = format!("{} / HTTP/1.1", "X".repeat(70_000));
    for (what, head, statuses) in [
        ("100,000 headers", target.head("GET / HTTP/1.1", &many), [431, 431]),
        ("one header too many", target.head("GET / HTTP/1.1", &some), [431, 431]),
        ("a header of 1 MiB", target.head("GET / HTTP/1.1", &[&long]), [431, 431]),
        ("a path of 70,000", target.head(&path, &[]), [414, 431]),
        ("a method of 70,000", target.head(&method, &[]), [400, 431]),
        ("no version", b"GET /\r\n\r\n".to_vec(), [400, 400]),
        ("HTTP/3", target.head("GET / HTTP/3.0", &[]), [400, 400]),
        ("a space before the colon", target.head("GET / HTTP/1.1", &["X : y"]), [400, 400]),
        ("a folded line", target.head("GET / HTTP/1.1", &["X: y", " z"]), [400, 400]),
        ("a null byte in a value", target.head("GET / HTTP/1.1", &["X: a\0b"]), [400, 400]),
        ("a null byte in a name", target.head("GET / HTTP/1.1", &["X\0: b"]), [400, 400]),
        ("a null byte in the path", target.head("GET /a\0b HTTP/1.1", &[]), [400, 400]),
        ("a bare carriage return", target.head("GET / HTTP/1.1", &["X: a\rY: b"]), [400, 400]),
        ("a TLS hello", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec(), [400, 400]),
    ] {
        let answer = target.answer(&head);
        assert!(statuses.contains(&answer.status), "{what}: {answer:?}");
    }
    target.assert_unharmed();
}

#[test]
fn request_smuggling_is_refused() {
    let target = Target::start();
    let post = |lines: &[&str], body: &str| {
        let head = target.head(&format!("POST {FORM} HTTP/1.1"), lines);
        [&head, body.as_bytes()].concat()
    };
    let chunked = "Transfer-Encoding: chunked";
    // Ambiguous framing gets no answer, or 400.
    for (what, bytes) in [
        ("two lengths", post(&["Content-Length: 2", "Content-Length: 3"], "{}}")),
        ("two lengths in one line", post(&["Content-Length: 2, 3"], "{}}")),
        ("a negative length", post(&["Content-Length: -1"], "{}")),
        ("a length with a sign", post(&["Content-Length: +2"], "{}")),
        ("a length in hexadecimal", post(&["Content-Length: 0x2"], "{}")),
        ("a length past all numbers", post(&["Content-Length: 99999999999999999999"], "{}")),
        ("an unknown coding", post(&["Transfer-Encoding: xchunked"], "2\r\n{}\r\n0\r\n\r\n")),
        ("chunked and then another", post(&["Transfer-Encoding: chunked, gzip"], "2\r\n{}\r\n0\r\n\r\n")),
        ("a chunk of no size", post(&[chunked], "zz\r\n{}\r\n0\r\n\r\n")),
        ("a chunk past all numbers", post(&[chunked], "fffffffffffffffff\r\n{}\r\n0\r\n\r\n")),
        ("a chunk that is longer than it says", post(&[chunked], "1\r\n{}\r\n0\r\n\r\n")),
        ("a chunk's endless extension", post(&[chunked], &format!("2;{}\r\n", "x".repeat(1 << 20)))),
    ] {
        let answers = target.exchange(&bytes);
        let refused = match &answers[..] {
            [] => true,
            [one] => one.status == 400,
            _ => false,
        };
        assert!(refused, "{what}: {answers:?}");
    }
    let both = post(
        &["Content-Length: 2", chunked],
        "0\r\n\r\nGET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n",
    );
    assert_eq!(target.answer(&both).error(), "body_missing", "the chunks count, and nothing after them");
    let lie = post(&["Content-Length: 2"], "{}GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(target.answer(&lie).status, 400, "what follows `Connection: close` is not read");
    let old = post(&[chunked], "2\r\n{}\r\n0\r\n\r\n");
    let old = String::from_utf8(old).unwrap().replace("HTTP/1.1", "HTTP/1.0");
    assert!(target.exchange(old.as_bytes()).iter().all(|answer| answer.status == 400));
    let good = post(&[chunked], "1;why=not\r\n{\r\n1\r\n}\r\n0\r\nTrailer: too\r\n\r\n");
    assert_eq!(target.answer(&good).error(), "invalid_input");
    drop_in_the_middle(&target, &post(&["Content-Length: 1000"], "{"));
    drop_in_the_middle(&target, &post(&[chunked], "3e8\r\n{"));
    target.assert_unharmed();
}

#[test]
fn announced_bodies_keep_no_room() {
    let target = Target::start();
    let announcing =
        [&target.head(&format!("POST {FORM} HTTP/1.1"), &["Content-Length: 4194304"])[..], b"{"].concat();
    let mut open: Vec<TcpStream> = (0..200).map(|_| target.connect()).collect();
    for stream in &mut open {
        stream.write_all(&announcing).expect("it listens");
    }
    for _ in 0..5 {
        let answer = target.post(b"{}");
        assert_eq!((answer.status, answer.error().as_str()), (400, "invalid_input"));
    }
    target.assert_unharmed();
}

/// Clients that disconnect before they have sent everything.
fn drop_in_the_middle(target: &Target, bytes: &[u8]) {
    for _ in 0..50 {
        target.connect().write_all(bytes).expect("it listens");
    }
}

#[test]
fn oversized_or_invalid_bodies_get_error_records() {
    let target = Target::start();
    let nested =
        |open: &str, close: &str| [open.repeat(100_000), close.repeat(100_000)].concat().into_bytes();
    let digits = format!(r#"{{"name": {}}}"#, "9".repeat(100_000));
    let name = format!(r#"{{"{}": 1}}"#, "x".repeat(1_000_000));
    for (what, body) in [
        ("100,000 arrays", nested("[", "]")),
        ("100,000 arrays that are not closed", "[".repeat(100_000).into_bytes()),
        ("100,000 objects", nested(r#"{"name":"#, "}")),
        ("arrays in an unknown member", [&b"{\"x\":"[..], &nested("[", "]"), b"}"].concat()),
        ("no UTF-8", b"{\"name\": \"\xff\xfe\"}".to_vec()),
        ("half a surrogate", br#"{"name": "\ud800"}"#.to_vec()),
        ("a null byte", b"{\"name\": \"a\0b\"}".to_vec()),
        ("a byte-order mark", b"\xef\xbb\xbf{}".to_vec()),
        ("a number past all numbers", br#"{"name": 1e999999}"#.to_vec()),
        ("a number of 100,000 digits", digits.into_bytes()),
        ("a long name", name.into_bytes()),
        ("a wrong type", br#"{"name": {"a": 1}}"#.to_vec()),
        ("two values", br#"{"name": "a"} {"name": "b"}"#.to_vec()),
        ("white space", b" \n ".to_vec()),
    ] {
        let answer = target.post(&body);
        assert_eq!(answer.status, 400, "{what}: {answer:?}");
        answer.error();
    }
    let answer = target.post(br#"{"name": "\u0000"}"#);
    assert!((400..500).contains(&answer.status), "{answer:?}");
    answer.error();
    for limit in [4 * 1024 * 1024 + 1, 16 * 1024 * 1024] {
        let answer = target.post(&vec![b' '; limit]);
        assert_eq!((answer.status, answer.error().as_str()), (413, "body_too_large"));
    }
    endless_chunks(&target);
    target.assert_unharmed();
}

/// The client keeps sending until it is answered.
fn endless_chunks(target: &Target) {
    let mut stream = target.connect();
    stream
        .write_all(&target.head(&format!("POST {FORM} HTTP/1.1"), &["Transfer-Encoding: chunked"]))
        .unwrap();
    let chunk = [&b"10000\r\n"[..], &[b' '; 0x10000], b"\r\n"].concat();
    while stream.write_all(&chunk).is_ok() {}
    let answers = answers(&read_to_end(&mut stream));
    assert!(answers.iter().all(|answer| answer.status == 413), "{answers:?}");
}

#[test]
fn odd_targets_and_methods_get_error_records() {
    let target = Target::start();
    let address = target.address();
    let good =
        [format!("GET http://{address}/health/live HTTP/1.1"), "HEAD /health/live HTTP/1.1".to_owned()];
    for first in good {
        let mut stream = target.connect();
        stream.write_all(&target.head(&first, &[])).unwrap();
        assert!(read_to_end(&mut stream).starts_with(b"HTTP/1.1 200 "), "{first}");
    }
    for [first, statuses] in rows(REQUESTS) {
        let answer = target.answer(&target.head(&format!("{first} HTTP/1.1"), &[]));
        assert!(statuses.split(' ').any(|status| status == answer.status.to_string()), "{first}: {answer:?}");
        answer.error();
        assert_eq!(answer.status == 405, answer.header("allow").is_some(), "{first}: {answer:?}");
    }
    let old = format!("GET /health/live HTTP/1.0\r\nHost: {address}\r\n\r\n");
    assert_eq!(target.answer(old.as_bytes()).status, 200);
    let nameless = target.answer(b"GET /health/live HTTP/1.0\r\n\r\n");
    assert_eq!((nameless.status, nameless.error().as_str()), (403, "host_not_allowed"));
    target.assert_unharmed();
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    const REQUESTS: usize = 1_000;
    let target = Target::start();
    let ask = |id: usize| {
        format!("GET /health/live HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: {id}\r\n\r\n").into_bytes()
    };
    let mut stream = target.connect();
    let all: Vec<u8> = (0..REQUESTS).flat_map(ask).collect();
    stream.write_all(&all).expect("it listens");
    let mut read = Vec::new();
    read_answers(&mut stream, &mut read, REQUESTS);
    // Long enough for the connection to release its buffers; nothing arrives meanwhile.
    stream.set_read_timeout(Some(Duration::from_secs(4))).expect("a time above zero");
    assert!(stream.read(&mut [0; 1]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock));
    stream.set_read_timeout(Some(AT_ONCE)).expect("a time above zero");
    let (half, rest) = (ask(REQUESTS), ask(REQUESTS + 1));
    stream.write_all(&half[..half.len() / 2]).expect("it listens");
    stream.write_all(&half[half.len() / 2..]).expect("it listens");
    stream.write_all(&rest).expect("it listens");
    read_answers(&mut stream, &mut read, REQUESTS + 2);
    for (id, answer) in answers(&read).iter().enumerate() {
        assert_eq!((answer.status, answer.header("x-request-id")), (200, Some(id.to_string().as_str())));
    }
    target.assert_unharmed();
}

/// Reads until there are so many answers.
fn read_answers(stream: &mut TcpStream, read: &mut Vec<u8>, count: usize) {
    let mut piece = [0; 16 * 1024];
    let bodies = |read: &[u8]| read.windows(7).filter(|seven| seven == b"\"live\"}").count();
    while bodies(read) < count {
        let more = stream.read(&mut piece).expect("an answer");
        assert!(more > 0, "closed after {} answers", bodies(read));
        read.extend_from_slice(&piece[..more]);
    }
}

#[test]
fn clients_that_do_not_read_their_answers_cost_little() {
    const CLIENTS: usize = 100;
    let target = Target::start();
    let ask = format!("GET /api/v1/plugins HTTP/1.1\r\nHost: {}\r\n\r\n", target.address());
    let asks = ask.repeat(2_000);
    let mut open = Vec::new();
    for _ in 0..CLIENTS {
        let mut stream = target.connect();
        stream.set_write_timeout(Some(Duration::from_millis(50))).expect("a time above zero");
        // The server reads no more requests while it cannot send its answers.
        let _ = stream.write_all(asks.as_bytes());
        open.push(stream);
    }
    target.assert_unharmed();
}

/// Handmade HTTP/2: frames that no client library would send.
mod http2 {
    use super::*;

    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const RST_STREAM: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PING: u8 = 6;
    pub const GOAWAY: u8 = 7;
    pub const WINDOW_UPDATE: u8 = 8;
    pub const CONTINUATION: u8 = 9;
    pub const END_STREAM: u8 = 1;
    pub const END_HEADERS: u8 = 4;
    pub const CANCEL: [u8; 4] = [0, 0, 0, 8];

    /// A frame from the server.
    pub type Frame = (u8, Vec<u8>);

    pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).expect("a short frame").to_be_bytes();
        [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
    }

    /// Only the names are compressed.
    pub fn head(method: &str, path: &str) -> Vec<u8> {
        let mut block = vec![0x86];
        for (name, value) in [(2, method), (4, path), (1, "localhost")] {
            block.push(name);
            block.push(u8::try_from(value.len()).expect("below 127"));
            block.extend_from_slice(value.as_bytes());
        }
        block
    }

    /// Connects, and sends these settings.
    pub fn connect(target: &Target, settings: &[u8]) -> TcpStream {
        let mut stream = target.connect();
        stream.set_read_timeout(Some(Duration::from_secs(1))).expect("a time above zero");
        stream.set_write_timeout(Some(Duration::from_secs(2))).expect("a time above zero");
        let hello = [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &frame(SETTINGS, 0, 0, settings)].concat();
        stream.write_all(&hello).expect("it listens");
        stream
    }

    /// The kind and the payload of each frame, until there are enough or the server is silent for a while.
    pub fn frames(stream: &mut TcpStream, enough: impl Fn(&[Frame]) -> bool) -> Vec<Frame> {
        let mut frames = Vec::new();
        let mut head = [0; 9];
        while !enough(&frames) && stream.read_exact(&mut head).is_ok() {
            let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
            if stream.read_exact(&mut payload).is_err() {
                break;
            }
            frames.push((head[3], payload));
        }
        frames
    }

    /// Sends everything, unless the server has closed; returns the reason of its GOAWAY.
    pub fn goaway_reason(stream: &mut TcpStream, bytes: &[u8]) -> Option<u32> {
        // A server that has closed reads no more.
        let _ = stream.write_all(bytes);
        let is_goaway = |(kind, _): &&Frame| *kind == GOAWAY;
        let frames = frames(stream, |frames| frames.last().as_ref().is_some_and(is_goaway));
        let goaway = frames.iter().find(is_goaway);
        goaway.map(|(_, payload)| u32::from_be_bytes(payload[4..8].try_into().expect("four bytes")))
    }
}

const ENHANCE_YOUR_CALM: u32 = 11;

#[test]
fn floods_of_http_2_frames_end_their_own_connection() {
    use http2::*;
    let target = Target::start();
    let ends = END_STREAM | END_HEADERS;
    let get = head("GET", "/health/live");
    let odd = |n: u32| 2 * n + 1;

    let resets: Vec<u8> = (0..20_000)
        .flat_map(|n| [frame(HEADERS, ends, odd(n), &get), frame(RST_STREAM, 0, odd(n), &CANCEL)].concat())
        .collect();
    assert_eq!(goaway_reason(&mut connect(&target, b""), &resets), Some(ENHANCE_YOUR_CALM), "rapid reset");
    target.assert_answers();

    let post = head("POST", FORM);
    let streams: Vec<u8> = (0..10_000).flat_map(|n| frame(HEADERS, END_HEADERS, odd(n), &post)).collect();
    goaway_reason(&mut connect(&target, b""), &streams);
    target.assert_answers();

    let mut endless = frame(HEADERS, END_STREAM, 1, &get);
    let more = frame(CONTINUATION, 0, 1, &[&b"\x00\x01x\x7f\x81\x07"[..], &[b'x'; 1024]].concat());
    (0..10_000).for_each(|_| endless.extend_from_slice(&more));
    let reason = goaway_reason(&mut connect(&target, b""), &endless);
    assert!(reason.is_some_and(|reason| reason != 0), "a head without an end");

    // A header of 4,000 bytes in the table, referenced 15,000 times.
    let mut bomb = get.clone();
    bomb.extend_from_slice(b"\x40\x01x\x7f\xa1\x1e");
    bomb.extend_from_slice(&[b'x'; 4_000]);
    bomb.extend_from_slice(&[0xbe; 10_000]);
    let mut stream = connect(&target, b"");
    stream.write_all(&frame(HEADERS, ends, 1, &bomb)).expect("it listens");
    let frames_of_bomb = frames(&mut stream, |_| false);
    assert!(!frames_of_bomb.iter().any(|(kind, _)| *kind == DATA), "it is not answered with 200");

    for (what, flood) in [
        ("pings", frame(PING, 0, 0, &[0; 8])),
        ("settings", frame(SETTINGS, 0, 0, b"")),
        ("empty data", frame(DATA, 0, 1, b"")),
        ("windows of nothing", frame(WINDOW_UPDATE, 0, 0, &[0; 4])),
    ] {
        let mut stream = connect(&target, b"");
        stream.write_all(&frame(HEADERS, END_HEADERS, 1, &post)).expect("it listens");
        // The client reads none of the answers.
        let _ = stream.write_all(&flood.repeat(100_000));
        let begun = Instant::now();
        target.assert_answers();
        assert!(begun.elapsed() < Duration::from_secs(10), "{what}");
    }
    target.assert_unharmed();
}

#[test]
fn stalled_http2_streams_cost_little() {
    use http2::*;
    let target = Target::start();
    let no_window = [0, 4, 0, 0, 0, 0];
    let list = head("GET", "/api/v1/plugins");
    let mut open = Vec::new();
    for _ in 0..20 {
        let mut stream = connect(&target, &no_window);
        let asks: Vec<u8> =
            (0..100).flat_map(|n| frame(HEADERS, END_STREAM | END_HEADERS, 2 * n + 1, &list)).collect();
        stream.write_all(&asks).expect("it listens");
        open.push(stream);
    }
    for stream in &mut open {
        let heads = |frames: &[Frame]| frames.iter().filter(|(kind, _)| *kind == HEADERS).count();
        let frames = frames(stream, |frames| heads(frames) == 100);
        assert_eq!(heads(&frames), 100, "each has its head");
        assert!(!frames.iter().any(|(kind, payload)| *kind == DATA && !payload.is_empty()));
    }
    target.assert_unharmed();
    drop(open);

    let mut stream = connect(&target, b"");
    let too_much = frame(WINDOW_UPDATE, 0, 0, &0x7fff_ffff_u32.to_be_bytes());
    assert!(goaway_reason(&mut stream, &too_much.repeat(2)).is_some_and(|reason| reason != 0));
    let mut stream = connect(&target, b"");
    let unopened = frame(DATA, END_STREAM, 1, b"data of a stream that was not opened");
    assert!(goaway_reason(&mut stream, &unopened).is_some_and(|reason| reason != 0));
    target.assert_unharmed();
}
