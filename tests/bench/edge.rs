//! `cargo xtask bench edge`: what the edge costs beside a bare hyper server, and what a connection costs that
//! says nothing.
//!
//! The one idea: a server has one core and the load another, and the two servers take turns over and over,
//! so that the ratios hold on any machine; the numbers are this machine's. It prints a table in Markdown
//! and asserts nothing but that each answer is a good one.

use std::cell::Cell;
use std::convert::Infallible;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

const SERVER_CORE: &str = "0";
const LOAD_CORE: &str = "1";
/// Each sends its next request when the last one is answered.
const CONNECTIONS: usize = 32;
/// Turns of each server; one more before them is not counted.
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(4);
const WARM_UP: Duration = Duration::from_secs(1);
const IDLE_CONNECTIONS: usize = 10_000;
/// How long an idle connection may take until its one request is answered.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// How long the idle connections are left alone before the server's memory is read.
const IDLE: Duration = Duration::from_secs(3);
/// One in so many idle connections is asked again at the end: they must still be there.
const IDLE_ASKED_AGAIN: usize = 100;
/// Files that this program needs besides its connections.
const OTHER_FILES: u64 = 64;
/// How long a start may take before the benchmark gives up.
const START_MAX: Duration = Duration::from_secs(60);
/// Of the CPU times in `/proc`.
const CLOCK_TICKS_PER_SECOND: f64 = 100.0;
/// Says, as the first argument, that this process is to be the bare server.
const BARE: &str = "bare-server";

fn main() -> anyhow::Result<()> {
    if std::env::args().nth(1).is_some_and(|argument| argument == BARE) {
        return tokio::runtime::Runtime::new()?.block_on(serve_bare());
    }
    // Before there are threads: they inherit it.
    pin_to_load_core()?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(measure())
}

async fn measure() -> anyhow::Result<()> {
    let lakeport = Server::lakeport()?;
    let bare = Server::bare()?;
    load(&lakeport, WARM_UP).await?;
    load(&bare, WARM_UP).await?;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push((load(&bare, ROUND).await?, load(&lakeport, ROUND).await?));
    }
    print_speed(&rounds);
    drop((lakeport, bare));

    println!();
    println!("| idle connections, kept alive after one request | memory before | after | each |");
    println!("|---|---|---|---|");
    for server in [Server::bare()?, Server::lakeport()?] {
        print_idle(&server, idle(&server).await?);
    }
    Ok(())
}

/// What one server did in one round.
#[derive(Clone, Copy)]
struct Round {
    requests_per_s: f64,
    cpu_us_per_request: f64,
}

fn print_speed(rounds: &[(Round, Round)]) {
    let of = |value: fn(&(Round, Round)) -> f64| median(rounds.iter().map(value).collect());
    println!("| {CONNECTIONS} connections, median of {ROUNDS} rounds | requests/s | CPU per request |");
    println!("|---|---|---|");
    let (rate, cpu) = (of(|(bare, _)| bare.requests_per_s), of(|(bare, _)| bare.cpu_us_per_request));
    println!("| a bare hyper server | {rate:.0} | {cpu:.1} µs |");
    let (rate, cpu) = (of(|(_, edge)| edge.requests_per_s), of(|(_, edge)| edge.cpu_us_per_request));
    println!("| `/health/live` over the whole edge | {rate:.0} | {cpu:.1} µs |");
    let rate = of(|(bare, edge)| edge.requests_per_s / bare.requests_per_s);
    let cpu = of(|(bare, edge)| edge.cpu_us_per_request / bare.cpu_us_per_request);
    println!("| ratio | {rate:.2} × | {cpu:.2} × |");
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Asks over all connections for that long.
async fn load(server: &Server, time: Duration) -> anyhow::Result<Round> {
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        clients.push(Client::connect(server).await?);
    }
    let (cpu_before, begun) = (server.cpu_s()?, Instant::now());
    let over = Cell::new(false);
    let asking = clients.iter_mut().map(|client| client.ask_until(&over));
    let (asked, ()) = tokio::join!(futures_util::future::try_join_all(asking), async {
        sleep(time).await;
        over.set(true);
    });
    let requests = asked?.into_iter().sum::<u64>() as f64;
    let (took, cpu) = (begun.elapsed(), server.cpu_s()? - cpu_before);
    Ok(Round { requests_per_s: requests / took.as_secs_f64(), cpu_us_per_request: cpu * 1e6 / requests })
}

/// A connection that is kept alive. It reads no more of an answer than it must.
struct Client {
    stream: TcpStream,
    request: Vec<u8>,
    answer: Vec<u8>,
    /// Of an answer, head and body. A server gives the same one each time.
    answer_bytes: usize,
}

impl Client {
    /// Connects and asks once.
    async fn connect(server: &Server) -> anyhow::Result<Client> {
        let stream = TcpStream::connect(server.address).await?;
        stream.set_nodelay(true)?;
        let request = format!("GET /health/live HTTP/1.1\r\nHost: {}\r\n\r\n", server.address).into_bytes();
        let mut client = Client { stream, request, answer: vec![0; 4096], answer_bytes: 0 };
        client.stream.write_all(&client.request).await?;
        let mut read = 0;
        while client.answer_bytes == 0 || read < client.answer_bytes {
            ensure!(read < client.answer.len(), "the answer is longer than {read} bytes");
            let more = client.stream.read(&mut client.answer[read..]).await?;
            ensure!(more > 0, "the server closed the connection");
            read += more;
            client.answer_bytes = whole_answer(&client.answer[..read])?.unwrap_or(0);
        }
        client.check(read)?;
        Ok(client)
    }

    async fn ask_until(&mut self, over: &Cell<bool>) -> anyhow::Result<u64> {
        let mut asked = 0;
        while !over.get() {
            self.ask().await?;
            asked += 1;
        }
        Ok(asked)
    }

    async fn ask(&mut self) -> anyhow::Result<()> {
        self.stream.write_all(&self.request).await?;
        let mut read = 0;
        while read < self.answer_bytes {
            let more = self.stream.read(&mut self.answer[read..]).await?;
            ensure!(more > 0, "the server closed the connection");
            read += more;
        }
        self.check(read)
    }

    fn check(&self, read: usize) -> anyhow::Result<()> {
        let good = read == self.answer_bytes && self.answer.starts_with(b"HTTP/1.1 200 ");
        ensure!(good, "not the answer expected: {}", String::from_utf8_lossy(&self.answer[..read]));
        Ok(())
    }
}

/// How long the answer is, once its head is there.
fn whole_answer(read: &[u8]) -> anyhow::Result<Option<usize>> {
    let Some(head) = read.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
    let text = std::str::from_utf8(&read[..head])?.to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    let length: usize = length.with_context(|| format!("no length in {text}"))?;
    Ok(Some(head + 4 + length))
}

struct Idle {
    connections: usize,
    before_bytes: u64,
    after_bytes: u64,
}

fn print_idle(server: &Server, idle: Idle) {
    let grown = idle.after_bytes.saturating_sub(idle.before_bytes) as f64;
    println!(
        "| {}: {} | {:.1} MB | {:.1} MB (+{:.1} MB) | {:.1} kB |",
        server.name,
        idle.connections,
        idle.before_bytes as f64 / 1e6,
        idle.after_bytes as f64 / 1e6,
        grown / 1e6,
        grown / 1e3 / idle.connections as f64,
    );
}

/// Opens many connections to a fresh server, asks once on each and leaves them alone.
async fn idle(server: &Server) -> anyhow::Result<Idle> {
    let connections = usize::try_from(open_files()?.saturating_sub(OTHER_FILES))?.min(IDLE_CONNECTIONS);
    drop(Client::connect(server).await?);
    let before_bytes = server.resident_bytes()?;
    let mut clients = Vec::with_capacity(connections);
    for n in 0..connections {
        let connecting = timeout(CONNECT_MAX, Client::connect(server));
        clients.push(connecting.await.with_context(|| format!("connection {n} of {connections}"))??);
    }
    sleep(IDLE).await;
    let after_bytes = server.resident_bytes()?;
    for client in clients.iter_mut().step_by(IDLE_ASKED_AGAIN) {
        client.ask().await?;
    }
    Ok(Idle { connections, before_bytes, after_bytes })
}

/// How many files this process may open, after asking for as many as it may.
fn open_files() -> anyhow::Result<u64> {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    Ok(hard)
}

fn pin_to_load_core() -> anyhow::Result<()> {
    let cores = std::thread::available_parallelism()?.get();
    ensure!(cores >= 2, "the server and the load need a core each, and there is {cores}");
    let own = std::process::id().to_string();
    let output = Command::new("taskset").args(["-cp", LOAD_CORE, &own]).output();
    let output = output.context("running `taskset`, which is part of util-linux")?;
    if output.status.success() {
        return Ok(());
    }
    bail!("taskset: {}", String::from_utf8_lossy(&output.stderr))
}

/// A server on a core of its own; ended by its pid when dropped.
struct Server {
    name: &'static str,
    child: Child,
    address: SocketAddr,
    _stdout: BufReader<ChildStdout>,
    _data: tempfile::TempDir,
}

impl Server {
    fn lakeport() -> anyhow::Result<Server> {
        let binary = std::env::var_os("LAKEPORT_BIN")
            .map(PathBuf::from)
            .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/lakeport"));
        let data = tempfile::tempdir()?;
        let mut command = on_server_core(&binary);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(data.path());
        Server::start("Lakeport", command, data)
    }

    fn bare() -> anyhow::Result<Server> {
        let mut command = on_server_core(&std::env::current_exe()?);
        command.arg(BARE);
        Server::start("a bare hyper server", command, tempfile::tempdir()?)
    }

    fn start(name: &'static str, mut command: Command, data: tempfile::TempDir) -> anyhow::Result<Server> {
        let begun = Instant::now();
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("starting {command:?}; `cargo xtask bench edge` builds it"))?;
        let mut stdout = BufReader::new(child.stdout.take().context("its output is piped")?);
        let mut line = String::new();
        stdout.read_line(&mut line)?;
        let address = line.trim().strip_prefix("listening on http://").and_then(|text| text.parse().ok());
        let Some(address) = address else {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
            bail!("{name} did not start; it said {line:?}");
        };
        let server = Server { name, child, address, _stdout: stdout, _data: data };
        ensure!(begun.elapsed() < START_MAX, "{name} was not ready after {START_MAX:?}");
        Ok(server)
    }

    /// What it has used so far, in itself and in the kernel.
    fn cpu_s(&self) -> anyhow::Result<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let (_, fields) = stat.rsplit_once(')').context("a name in parentheses")?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let ticks = |n: usize| -> anyhow::Result<f64> { Ok(fields.get(n).context("a field")?.parse()?) };
        // Fields 14 and 15 of proc(5); the name was the second.
        Ok((ticks(11)? + ticks(12)?) / CLOCK_TICKS_PER_SECOND)
    }

    fn resident_bytes(&self) -> anyhow::Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("a line VmRSS")?;
        Ok(line.split_whitespace().nth(1).context("a number")?.parse::<u64>()? * 1024)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn on_server_core(program: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", SERVER_CORE]).arg(program);
    command
}

/// The least that a server on the same libraries does: one constant answer, no bounds, no log.
async fn serve_bare() -> anyhow::Result<()> {
    open_files()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(async move {
            let service = service_fn(|_: Request<Incoming>| async {
                let body = Full::new(Bytes::from_static(br#"{"status":"live"}"#));
                Ok::<_, Infallible>(Response::new(body))
            });
            let builder = Builder::new(TokioExecutor::new());
            // A client that has seen enough closes the connection: no reason to stop.
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
