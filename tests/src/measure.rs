//! The common part of benchmarks: a server on a core of its own, the load on another, and the server's
//! resource usage.

use std::cell::Cell;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::sleep;

const SERVER_CORE: &str = "0";
const LOAD_CORE: &str = "1";
/// How long a start may take before the benchmark gives up: the first one compiles the plugins, on one core.
const START_MAX: Duration = Duration::from_secs(180);
/// The unit of CPU times in `/proc`.
const CLOCK_TICKS_PER_SECOND: f64 = 100.0;
/// The longest answer that a load reads.
const ANSWER_MAX_BYTES: usize = 1024 * 1024;

/// The server's work in one round.
#[derive(Clone, Copy)]
pub struct Round {
    pub requests_per_s: f64,
    pub cpu_us_per_request: f64,
}

/// The median.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Pins this process to the core that is not the server's. Call it before threads start: they inherit it.
pub fn pin_to_load_core() -> anyhow::Result<()> {
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

/// A keep-alive connection. It reads no more of an answer than it must.
pub struct Connection {
    stream: TcpStream,
    answer: Vec<u8>,
}

impl Connection {
    pub async fn open(address: SocketAddr) -> anyhow::Result<Connection> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, answer: vec![0; 4096] })
    }

    /// Sends a request; the answer must be a 200. Returns the answer's length, head and body.
    pub async fn ask(&mut self, request: &[u8]) -> anyhow::Result<usize> {
        self.stream.write_all(request).await?;
        let (mut read, mut length) = (0, None);
        while length.is_none_or(|length| read < length) {
            if read == self.answer.len() {
                ensure!(read < ANSWER_MAX_BYTES, "the answer is longer than {read} bytes");
                self.answer.resize(read * 2, 0);
            }
            let more = self.stream.read(&mut self.answer[read..]).await?;
            ensure!(more > 0, "the server closed the connection");
            read += more;
            if length.is_none() {
                length = whole_answer(&self.answer[..read])?;
            }
        }
        let good = length == Some(read) && self.answer.starts_with(b"HTTP/1.1 200 ");
        ensure!(good, "not the answer expected: {}", String::from_utf8_lossy(&self.answer[..read]));
        Ok(read)
    }

    /// Sends requests until `over`, each from `request`; returns the number.
    pub async fn ask_until(
        &mut self,
        over: &Cell<bool>,
        mut request: impl FnMut(&mut Vec<u8>),
    ) -> anyhow::Result<u64> {
        let (mut asked, mut bytes) = (0, Vec::new());
        while !over.get() {
            bytes.clear();
            request(&mut bytes);
            self.ask(&bytes).await?;
            asked += 1;
        }
        Ok(asked)
    }

    /// The body of the last answer.
    pub fn body(&self, length: usize) -> &[u8] {
        let head = self.answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(0);
        &self.answer[head + 4..length]
    }
}

/// A request without a body.
pub fn get(address: SocketAddr, path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").into_bytes()
}

/// A request with a JSON body.
pub fn with_body(method: &str, address: SocketAddr, path: &str, body: &str) -> Vec<u8> {
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json");
    format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// The length of the answer, once its head has arrived.
fn whole_answer(read: &[u8]) -> anyhow::Result<Option<usize>> {
    let Some(head) = read.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
    let text = std::str::from_utf8(&read[..head])?.to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    let length: usize = length.with_context(|| format!("no length in {text}"))?;
    Ok(Some(head + 4 + length))
}

/// Sends requests over so many connections for that long, each as often as it is answered. `request` makes
/// the next request of a connection, given its number.
pub async fn load(
    server: &Measured,
    connections: usize,
    time: Duration,
    request: impl Fn(usize, &mut Vec<u8>),
) -> anyhow::Result<Round> {
    let mut open = Vec::new();
    for _ in 0..connections {
        open.push(Connection::open(server.address).await?);
    }
    let (cpu_before, begun) = (server.cpu_s()?, Instant::now());
    let (over, request) = (Cell::new(false), &request);
    let asking = open.iter_mut().enumerate();
    let asking = asking.map(|(n, connection)| connection.ask_until(&over, move |bytes| request(n, bytes)));
    let (asked, ()) = tokio::join!(futures_util::future::try_join_all(asking), async {
        sleep(time).await;
        over.set(true);
    });
    let requests = asked?.into_iter().sum::<u64>() as f64;
    let (took, cpu) = (begun.elapsed(), server.cpu_s()? - cpu_before);
    Ok(Round { requests_per_s: requests / took.as_secs_f64(), cpu_us_per_request: cpu * 1e6 / requests })
}

/// A server on a core of its own; ended by its pid when dropped.
pub struct Measured {
    pub name: &'static str,
    pub address: SocketAddr,
    child: Child,
    data: tempfile::TempDir,
    _stdout: BufReader<ChildStdout>,
}

impl Measured {
    /// The release build of Lakeport on an empty store, with further arguments, and settings in its environment.
    pub fn lakeport(arguments: &[&str], environment: &[(&str, &str)]) -> anyhow::Result<Measured> {
        let binary = std::env::var_os("LAKEPORT_BIN")
            .map(PathBuf::from)
            .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/lakeport"));
        let data = tempfile::tempdir()?;
        let mut command = on_server_core(&binary);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(data.path());
        command.args(arguments).envs(environment.iter().copied());
        Measured::start("Lakeport", command, data)
    }

    /// Any program that first prints `listening on http://ADDRESS`.
    pub fn program(name: &'static str, program: &Path, arguments: &[&str]) -> anyhow::Result<Measured> {
        let mut command = on_server_core(program);
        command.args(arguments);
        Measured::start(name, command, tempfile::tempdir()?)
    }

    fn start(name: &'static str, mut command: Command, data: tempfile::TempDir) -> anyhow::Result<Measured> {
        let begun = Instant::now();
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("starting {command:?}; `cargo xtask bench` builds it"))?;
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
        let server = Measured { name, address, child, data, _stdout: stdout };
        ensure!(begun.elapsed() < START_MAX, "{name} was not ready after {START_MAX:?}");
        Ok(server)
    }

    /// Its data folder.
    pub fn data(&self) -> &Path {
        self.data.path()
    }

    /// Its CPU time so far, user and system, and that of its worker processes.
    pub fn cpu_s(&self) -> anyhow::Result<f64> {
        let mut cpu_s = 0.0;
        for entry in std::fs::read_dir("/proc")? {
            let Ok(pid) = entry?.file_name().to_string_lossy().parse() else { continue };
            // It may have ended meanwhile.
            let Ok((parent, worker_s)) = cpu_of(pid) else { continue };
            if parent == self.child.id() {
                cpu_s += worker_s;
            }
        }
        // The server itself comes last: it has the time of workers that have ended.
        Ok(cpu_s + cpu_of(self.child.id())?.1)
    }

    /// Its current memory.
    pub fn resident_bytes(&self) -> anyhow::Result<u64> {
        resident_bytes(self.child.id())
    }

    /// Its peak memory since the last reset.
    pub fn peak_bytes(&self) -> anyhow::Result<u64> {
        peak_bytes(self.child.id())
    }

    pub fn forget_peak(&self) -> anyhow::Result<()> {
        forget_peak(self.child.id())
    }
}

/// The parent of a process, and the CPU time so far of the process and of its children that have ended.
fn cpu_of(pid: u32) -> anyhow::Result<(u32, f64)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, fields) = stat.rsplit_once(')').context("a name in parentheses")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = |n: usize| -> anyhow::Result<f64> { Ok(fields.get(n).context("a field")?.parse()?) };
    // Fields 4 and 14 to 17 of proc(5); the name was the second.
    let parent = fields.get(1).context("a parent")?.parse()?;
    Ok((parent, (ticks(11)? + ticks(12)? + ticks(13)? + ticks(14)?) / CLOCK_TICKS_PER_SECOND))
}

/// The current memory of a process.
pub fn resident_bytes(pid: u32) -> anyhow::Result<u64> {
    status_bytes(pid, "VmRSS:")
}

/// The peak memory of a process since it began, or since [`forget_peak`].
pub fn peak_bytes(pid: u32) -> anyhow::Result<u64> {
    status_bytes(pid, "VmHWM:")
}

/// Resets the peak memory to the current one, see `clear_refs` in proc(5).
pub fn forget_peak(pid: u32) -> anyhow::Result<()> {
    Ok(std::fs::write(format!("/proc/{pid}/clear_refs"), "5")?)
}

fn status_bytes(pid: u32, name: &str) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line =
        status.lines().find(|line| line.starts_with(name)).with_context(|| format!("a line {name}"))?;
    Ok(line.split_whitespace().nth(1).context("a number")?.parse::<u64>()? * 1024)
}

impl Drop for Measured {
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
