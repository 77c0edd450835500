//! `cargo xtask bench edge`: the edge's cost beside a bare hyper server, and the cost of an idle connection.
//!
//! The server has one core and the load another, and the two servers alternate repeatedly, so that the ratios
//! hold on any machine; the numbers are this machine's. Prints a table in Markdown and asserts only that each
//! answer is good.

use std::convert::Infallible;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use lakeport_tests::measure::{self, Connection, Measured, Round, median, pin_to_load_core};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

/// Each sends its next request when the previous one is answered.
const CONNECTIONS: usize = 32;
/// Rounds of each server; one more before them is not counted.
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(4);
const WARM_UP: Duration = Duration::from_secs(1);
const IDLE_CONNECTIONS: usize = 10_000;
/// How long an idle connection may take until its single request is answered.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// How long the idle connections are left alone before the server's memory is read.
const IDLE: Duration = Duration::from_secs(3);
/// One in so many idle connections is asked again at the end: they must still be there.
const IDLE_ASKED_AGAIN: usize = 100;
/// Files that this program needs besides its connections.
const OTHER_FILES: u64 = 64;
/// The argument that makes this process the bare server.
const BARE: &str = "bare-server";

pub fn bench(arguments: &[String]) -> anyhow::Result<()> {
    if arguments.first().is_some_and(|argument| argument == BARE) {
        return tokio::runtime::Runtime::new()?.block_on(serve_bare());
    }
    // Before threads start: they inherit it.
    pin_to_load_core()?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(measure())
}

async fn measure() -> anyhow::Result<()> {
    let lakeport = Measured::lakeport(&[], &[])?;
    let bare = bare()?;
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
    for server in [self::bare()?, Measured::lakeport(&[], &[])?] {
        print_idle(&server, idle(&server).await?);
    }
    Ok(())
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

/// Sends requests over all connections for that long.
async fn load(server: &Measured, time: Duration) -> anyhow::Result<Round> {
    let request = measure::get(server.address, "/health/live");
    measure::load(server, CONNECTIONS, time, |_, bytes| bytes.extend_from_slice(&request)).await
}

/// The smallest server on the same libraries.
fn bare() -> anyhow::Result<Measured> {
    Measured::program("a bare hyper server", &std::env::current_exe()?, &["edge", BARE])
}

struct Idle {
    connections: usize,
    before_bytes: u64,
    after_bytes: u64,
}

fn print_idle(server: &Measured, idle: Idle) {
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
async fn idle(server: &Measured) -> anyhow::Result<Idle> {
    let connections = usize::try_from(open_files()?.saturating_sub(OTHER_FILES))?.min(IDLE_CONNECTIONS);
    let request = measure::get(server.address, "/health/live");
    Connection::open(server.address).await?.ask(&request).await?;
    let before_bytes = server.resident_bytes()?;
    let mut clients = Vec::with_capacity(connections);
    for n in 0..connections {
        let connecting = timeout(CONNECT_MAX, async {
            let mut client = Connection::open(server.address).await?;
            client.ask(&request).await.map(|_| client)
        });
        clients.push(connecting.await.with_context(|| format!("connection {n} of {connections}"))??);
    }
    sleep(IDLE).await;
    let after_bytes = server.resident_bytes()?;
    for client in clients.iter_mut().step_by(IDLE_ASKED_AGAIN) {
        client.ask(&request).await?;
    }
    Ok(Idle { connections, before_bytes, after_bytes })
}

/// How many files this process may open, after asking for as many as it may.
fn open_files() -> anyhow::Result<u64> {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    Ok(hard)
}

/// The smallest server on the same libraries: one constant answer, no limits, no log.
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
            // A client that closes the connection is no reason to stop.
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
