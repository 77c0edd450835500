//! Attacks the two drivers with servers that answer with edits of recorded sessions: each ends in an error that says
//! what is wrong, or in rows, and soon.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use lakeport_bindings::host::types::Error;
use lakeport_fuzz::{Choices, fuzz};
use lakeport_sql::{ReadStatement, Transport};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use super::login::{DriverSettings, Login, Tls};
use super::worker_connection::WorkerConnection;
use crate::script::Bounds;
use crate::worker::WorkerProcesses;

/// The codes of an answer that cannot be used. A server may also answer in order.
const CODES: &[&str] = &[
    "protocol_error",
    "statement_too_heavy",
    "unreachable",
    "upstream_failed",
    "unauthorized",
    "unavailable",
    "timeout",
    "cancelled",
    "unsupported",
    "limit_exceeded",
];
/// The server has said all and closed its side, so nothing is left to wait for.
const PATIENCE: Duration = Duration::from_secs(10);
/// The client may wait for more while the server waits for it: the server then goes on.
const STALL: Duration = Duration::from_millis(10);
/// A worker's errors have texts of 8 KiB at most, which the host may put into a sentence.
const MESSAGE_MAX_BYTES: usize = 16 * 1024;
/// Between two turns of the server in a kept input.
const TURN: u8 = b'\n';
/// PostgreSQL's messages of the server, and MySQL's first bytes of packets.
const POSTGRES_KINDS: &[u8] = b"RSKZEN12CTDtnsIAvGHWdcf3V";
const MYSQL_HEADS: [u8; 7] = [0, 1, 0x0a, 0xfb, 0xfc, 0xfe, 0xff];

#[test]
fn fuzz_postgres() {
    fuzz!("postgres", 60, make_postgres, |input: &[u8]| check(Transport::Postgres, input));
}

#[test]
fn fuzz_mysql() {
    // At a count of columns the driver may ask for more memory than there is, which ends its process: that must not be
    // this one.
    let iterations = if binary().is_some() { 60 } else { 0 };
    fuzz!("mysql", iterations, make_mysql, |input: &[u8]| check(Transport::MySql, input));
}

/// Otherwise the targets would attack the beginning alone.
#[test]
fn the_recorded_sessions_are_whole() {
    for (transport, recorded) in [
        (Transport::Postgres, &include_bytes!("__fuzz__/postgres/corpus/session")[..]),
        (Transport::MySql, &include_bytes!("__fuzz__/mysql/corpus/session")[..]),
    ] {
        let spoken = speak(transport, recorded);
        assert!(spoken.is_ok(), "{transport:?}: {spoken:?}");
    }
}

/// Hexadecimal turns of the server, one each line.
fn make_postgres(choices: &mut Choices<'_>, kept: &[Vec<u8>]) -> Vec<u8> {
    make(choices, kept, |choices, bytes| {
        // A message: its kind and a length that is right, or nearly.
        let content = vec![choices.byte(); choices.below(16)];
        let length = (content.len() as u32 + 4).wrapping_add(if choices.one_in(4) {
            choices.below(8) as u32
        } else {
            0
        });
        let kind = POSTGRES_KINDS[choices.below(POSTGRES_KINDS.len())];
        let message = [&[kind], &length.to_be_bytes()[..], &content].concat();
        let at = choices.below(bytes.len() + 1);
        bytes.splice(at..at, message);
    })
}

fn make_mysql(choices: &mut Choices<'_>, kept: &[Vec<u8>]) -> Vec<u8> {
    make(choices, kept, |choices, bytes| {
        let mut content = vec![choices.byte(); choices.below(16)];
        content.insert(0, MYSQL_HEADS[choices.below(MYSQL_HEADS.len())]);
        let packet = [&[content.len() as u8, 0, 0, choices.below(4) as u8][..], &content].concat();
        let at = if choices.one_in(2) { 0 } else { choices.below(bytes.len() + 1) };
        bytes.splice(at..at, packet);
    })
}

fn make(
    choices: &mut Choices<'_>,
    kept: &[Vec<u8>],
    insert: impl Fn(&mut Choices<'_>, &mut Vec<u8>),
) -> Vec<u8> {
    let mut turns = turns(&kept[choices.below(kept.len())]);
    for _ in 0..=choices.below(3) {
        let at = choices.below(turns.len());
        match choices.below(8) {
            0 => insert(choices, &mut turns[at]),
            1 => {
                let other = choices.below(turns.len());
                turns.swap(at, other);
            }
            2 if turns.len() > 1 => drop(turns.remove(at)),
            3 => turns.truncate(at + 1),
            _ => choices.edit_bytes(&mut turns[at]),
        }
    }
    let lines: Vec<String> =
        turns.iter().map(|turn| turn.iter().map(|byte| format!("{byte:02x}")).collect()).collect();
    lines.join("\n").into_bytes()
}

fn turns(input: &[u8]) -> Vec<Vec<u8>> {
    let nibble = |digit: u8| char::from(digit).to_digit(16).unwrap_or(0) as u8;
    let bytes = |line: &[u8]| {
        line.chunks(2).map(|pair| pair.iter().fold(0, |sum, digit| sum << 4 | nibble(*digit))).collect()
    };
    input.split(|byte| *byte == TURN).map(bytes).collect()
}

fn check(transport: Transport, input: &[u8]) {
    if let Err(error) = speak(transport, input) {
        assert!(CODES.contains(&error.code.as_str()), "{error:?}");
        assert!(!error.message.is_empty(), "{error:?}");
        assert!(error.message.len() < MESSAGE_MAX_BYTES, "a message of {} bytes", error.message.len());
        assert!(!format!("{error:?}").contains("something"), "the password: {error:?}");
    }
}

/// A session with a server that says this.
fn speak(transport: Transport, input: &[u8]) -> Result<(), Error> {
    thread_local! {
        static RUNTIME: Runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        static SERVER: Server = Server::start();
        static PROCESSES: WorkerProcesses = processes();
    }
    let address = SERVER.with(|server| server.play(turns(input), transport == Transport::MySql));
    let processes = PROCESSES.with(Clone::clone);
    let session = async { timeout(PATIENCE, session(&processes, transport, address)).await };
    let spoken = RUNTIME.with(|runtime| runtime.block_on(session));
    spoken.expect("a server that closed is waited for")
}

/// The server's binary, which `cargo xtask` names.
#[expect(clippy::disallowed_methods, reason = "the variable of the tests")]
fn binary() -> Option<PathBuf> {
    std::env::var_os("LAKEPORT_BIN").map(PathBuf::from)
}

/// Workers as the server has them; without its binary, in this process.
fn processes() -> WorkerProcesses {
    const MEMORY_MIB: u64 = 512;
    match binary() {
        Some(program) => {
            WorkerProcesses::new(program, vec!["worker".to_owned(), MEMORY_MIB.to_string()], MEMORY_MIB)
        }
        None => WorkerProcesses::inside(),
    }
}

/// What the host does with a new connection: connects, checks the settings, reads, checks, closes.
async fn session(
    processes: &WorkerProcesses,
    transport: Transport,
    address: SocketAddr,
) -> Result<(), Error> {
    let login = Login {
        transport,
        host: "127.0.0.1".to_owned(),
        port: address.port(),
        database: Some("d".to_owned()),
        username: "somebody".to_owned(),
        password: Some("something".to_owned()),
        tls: Tls::Disable,
        ca_file: None,
    };
    let (place, driver) = (processes.place().await?, DriverSettings::default());
    let mut connection = WorkerConnection::open(processes, place, &login, address, driver).await?;
    connection.check_set_up(true).await?;
    let statement = ReadStatement { sql: "SELECT * FROM d.t".to_owned(), binds: Vec::new() };
    let bounds = Bounds { max_rows: 10, max_bytes: 4_096, timeout: PATIENCE };
    let answer = connection.read(&statement, bounds).await?;
    assert!(answer.rows.rows.len() <= bounds.max_rows);
    connection.check().await?;
    connection.close().await;
    Ok(())
}

/// A server that plays one script after the other, each to one connection.
struct Server {
    address: SocketAddr,
    scripts: mpsc::Sender<(Vec<Vec<u8>>, bool)>,
}

impl Server {
    fn start() -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        let (scripts, next) = mpsc::channel::<(Vec<Vec<u8>>, bool)>();
        std::thread::spawn(move || {
            while let Ok((turns, speaks_first)) = next.recv() {
                let Ok((stream, _)) = listener.accept() else { return };
                play(stream, &turns, speaks_first);
            }
        });
        Server { address, scripts }
    }

    fn play(&self, turns: Vec<Vec<u8>>, speaks_first: bool) -> SocketAddr {
        self.scripts.send((turns, speaks_first)).expect("the server runs");
        self.address
    }
}

/// Each turn follows something from the client, MySQL's first one nothing. After the last the server closes.
fn play(mut stream: TcpStream, turns: &[Vec<u8>], speaks_first: bool) {
    stream.set_read_timeout(Some(STALL)).expect("a time above zero");
    let mut buffer = [0; 16 * 1024];
    for (number, turn) in turns.iter().enumerate() {
        let waits = number > 0 || !speaks_first;
        if waits && is_closed(stream.read(&mut buffer)) || stream.write_all(turn).is_err() {
            return;
        }
    }
    // What the client still sends is read, so that what was sent to it is not discarded by a reset.
    let _ = stream.shutdown(Shutdown::Write);
    while !is_closed(stream.read(&mut buffer)) {}
}

fn is_closed(read: std::io::Result<usize>) -> bool {
    match read {
        Ok(count) => count == 0,
        Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
    }
}
