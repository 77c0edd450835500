//! Database servers that break their protocol (tests/adversary/rogues.txt). None of them costs more than an error
//! that says what is wrong.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use lakeport_tests::{Lake, memory_bytes, rows, stores};
use serde_json::json;

const ROGUES: &str = include_str!("../adversary/rogues.txt");
const SOURCES: &str = "/api/v1/datasources";
/// An answer must come within a request's deadline.
const IN_TIME: Duration = Duration::from_secs(30);
/// The most that the server may grow by all of them.
const GROWTH_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// How often the last turn is sent again.
const AGAIN_MAX: usize = 50;
/// The codes of a database that cannot be used.
const CODES: &[&str] = &[
    "protocol_error",
    "statement_too_heavy",
    "unreachable",
    "upstream_denied",
    "upstream_failed",
    "upstream_timeout",
    "upstream_unavailable",
];

/// A rogue server.
struct Rogue {
    protocol: String,
    name: String,
    /// `*`: any of [`CODES`].
    code: String,
    turns: Vec<Turn>,
}

#[derive(Clone)]
struct Turn {
    bytes: Vec<u8>,
    ends: bool,
}

fn rogues() -> Vec<Rogue> {
    let rogues = rows(ROGUES).into_iter().map(|[protocol, name, code, turns]| Rogue {
        protocol: protocol.to_owned(),
        name: name.to_owned(),
        code: code.to_owned(),
        turns: turns.split('>').map(turn).collect(),
    });
    rogues.collect()
}

fn turn(text: &str) -> Turn {
    let (mut bytes, mut ends) = (Vec::new(), false);
    for word in words(text) {
        if word == "end" {
            ends = true;
            continue;
        }
        let (what, times) = match word.rsplit_once('*') {
            Some((what, times)) => (what, times.parse().expect("a number after `*`")),
            None => (word.as_str(), 1),
        };
        let once = piece(what);
        // Only the last byte, or the text, is repeated.
        let repeated = if what.ends_with('"') {
            piece(&what[what.find('"').expect("it begins")..])
        } else {
            vec![*once.last().expect("a byte")]
        };
        bytes.extend(once);
        for _ in 1..times {
            bytes.extend(&repeated);
        }
    }
    Turn { bytes, ends }
}

/// Splits at spaces outside of quotes.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for one in text.trim().chars().chain([' ']) {
        quoted ^= one == '"';
        if one != ' ' || quoted {
            word.push(one);
        } else if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
    }
    words
}

/// Hexadecimal digits and quoted texts.
fn piece(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, part) in text.split('"').enumerate() {
        if number % 2 == 1 {
            bytes.extend(part.as_bytes());
        } else {
            bytes.extend(hex::decode(part).unwrap_or_else(|error| panic!("{text}: {error}")));
        }
    }
    bytes
}

/// Serves connections, each on a thread, until the test ends.
fn serve(rogue: &Rogue) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let (turns, speaks_first) = (rogue.turns.clone(), rogue.protocol == "mysql");
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let turns = turns.clone();
            thread::spawn(move || play(stream, &turns, speaks_first));
        }
    });
    port
}

fn play(mut stream: TcpStream, turns: &[Turn], speaks_first: bool) {
    stream.set_read_timeout(Some(IN_TIME)).expect("a time above zero");
    let mut buffer = [0; 65_536];
    let again = std::iter::repeat_n(turns.last().expect("a turn"), AGAIN_MAX);
    for (number, turn) in turns.iter().chain(again).enumerate() {
        if (number > 0 || !speaks_first) && !matches!(stream.read(&mut buffer), Ok(1..)) {
            return;
        }
        if stream.write_all(&turn.bytes).is_err() {
            return;
        }
        if turn.ends {
            // What the client still sends is read, so that what was sent to it is not discarded by a reset.
            let _ = stream.shutdown(Shutdown::Write);
            break;
        }
    }
    while matches!(stream.read(&mut buffer), Ok(1..)) {}
}

#[test]
fn a_rogue_server_costs_an_error_that_says_what_is_wrong() {
    let lake = Lake::start(&stores()[0]);
    let at_rest_bytes = memory_bytes(lake.server.pid(), "VmRSS:");
    let mut failures = Vec::new();
    for (number, rogue) in rogues().iter().enumerate() {
        let (port, Rogue { protocol, name, code, .. }) = (serve(rogue), rogue);
        let option = if protocol == "mysql" { "ssl-mode=disabled" } else { "sslmode=disable" };
        let url = format!("{protocol}://somebody:something@127.0.0.1:{port}/d?{option}");
        let form = json!({ "name": format!("rogue {number}"), "kind": protocol, "url": url });
        let id = lake.server.post(SOURCES, &form).data()["id"].clone();
        let begun = Instant::now();
        let told = lake.server.post(&format!("{SOURCES}/{id}/test"), &json!({}));
        let took = begun.elapsed();
        let said = if told.status == 200 { "no error".to_owned() } else { told.error() };
        eprintln!("{protocol}, {name}: {} {said}, {took:?}: {}", told.status, told.message());
        let is_known = if code == "*" { CODES.contains(&&*said) } else { said == *code };
        if !is_known || !matches!(told.status, 502..=504) || took > IN_TIME {
            failures.push(format!("{protocol}, {name}: {told:?} after {took:?}"));
        }
        assert!(!format!("{told:?}").contains("something"), "the password: {told:?}");
    }
    assert!(failures.is_empty(), "{failures:#?}");
    let grown = memory_bytes(lake.server.pid(), "VmHWM:").saturating_sub(at_rest_bytes);
    assert!(grown < GROWTH_MAX_BYTES, "the server was {grown} bytes larger than at rest");
    let log = lake.server.log();
    assert!(!log.contains("panicked"), "{log}");
    assert!(log.len() < 1024 * 1024, "the log has {} bytes", log.len());
}
