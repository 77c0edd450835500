//! DolphinScheduler 3.1.1, standalone: the newest version whose parts are all published. `tests/engines` has
//! its pom.
//!
//! Its state is in memory, so each start is a new server.

mod distribution;
mod set_up;

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use lakeport_engine_tests::{Access, Api};
use tempfile::TempDir;

pub use self::distribution::obtain;
use super::guard::{self, Guarded, Ports};
use crate::{child, terminal};

/// The port of its API. Like the other ones, it cannot be chosen.
const API_PORT: u16 = 12345;

/// All of its fixed ports: API, worker, master, alerts.
const PORTS: [u16; 4] = [API_PORT, 1234, 5678, 50052];

/// How long it may take until it is healthy: 15 s on two free cores.
const START_WAIT: Duration = Duration::from_secs(180);

const POLL: Duration = Duration::from_millis(200);

/// Lines of its log that an error shows.
const LINES_SHOWN: usize = 30;

/// Bounded memory, and a quick start at the price of slower code.
const JAVA: &[&str] = &[
    "-Xms128m",
    "-Xmx384m",
    "-XX:MaxMetaspaceSize=256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:+ExitOnOutOfMemoryError",
    // It reads the process id of a task by reflection; without it a stopped task lives on.
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "-Duser.timezone=UTC",
    "-Dserver.address=127.0.0.1",
    "-Dpython-gateway.enabled=false",
    "-Dspring.cloud.kubernetes.enabled=false",
    // A busy machine would pause it.
    "-Dmaster.max-cpu-load-avg=1000",
    "-Dworker.max-cpu-load-avg=1000",
];

const MAIN_CLASS: &str = "org.apache.dolphinscheduler.StandaloneServer";

/// A running server, ended when this is dropped, with all that it started.
pub struct Server {
    access: Access,
    guarded: Guarded,
    _folder: TempDir,
}

impl Server {
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Fails once it has ended.
    pub fn check(&mut self) -> Result<()> {
        self.guarded.check()
    }
}

/// Starts it. `database_ports` of the host's loopback are those that its SQL tasks reach.
pub fn start(distribution: &Path, database_ports: &[u16]) -> Result<Server> {
    let folder = tempfile::Builder::new().prefix("lakeport-dolphinscheduler-").tempdir()?;
    let is_isolated = match guard::can_isolate(folder.path()) {
        Ok(()) => true,
        Err(error) => {
            terminal::say(&format!("dolphinscheduler: it shares the host's network: {error:#}"));
            check_ports_free()?;
            false
        }
    };
    distribution::configure(distribution, folder.path())?;
    let command = command(distribution, folder.path());
    let ports = Ports { engine: API_PORT, databases: database_ports };
    let mut guarded = Guarded::start(&command, folder.path(), &ports, is_isolated)?;
    let base_url = format!("http://127.0.0.1:{}/dolphinscheduler", guarded.port().unwrap_or(API_PORT));
    let ready = wait_until_healthy(&mut guarded, &base_url).and_then(|()| set_up::run(&base_url));
    let access = ready.with_context(|| format!("DolphinScheduler failed:\n{}", last_lines(folder.path())))?;
    Ok(Server { access, guarded, _folder: folder })
}

fn command(distribution: &Path, folder: &Path) -> Command {
    let mut command = Command::new("java");
    command.args(JAVA).arg(format!("-Djava.io.tmpdir={}", folder.join("tmp").display()));
    let (own, shared) = (distribution::conf(folder), distribution.display());
    // The first file of a name on the class path wins.
    command.arg("-cp").arg(format!("{}:{shared}/conf:{shared}/libs/*", own.display())).arg(MAIN_CLASS);
    command.env("DATABASE", "h2").env("SPRING_PROFILES_ACTIVE", "h2");
    command
}

fn check_ports_free() -> Result<()> {
    let busy = PORTS.into_iter().filter(|port| TcpListener::bind(("0.0.0.0", *port)).is_err());
    let busy: Vec<String> = busy.map(|port| port.to_string()).collect();
    if busy.is_empty() {
        return Ok(());
    }
    bail!("DolphinScheduler cannot use other ports, and these are busy: {}", busy.join(", "))
}

fn wait_until_healthy(guarded: &mut Guarded, base_url: &str) -> Result<()> {
    let api = Api::new(base_url)?;
    let end = Instant::now() + START_WAIT;
    loop {
        child::check_not_interrupted()?;
        guarded.check()?;
        let health = api.get("/actuator/health", &[]);
        if health.is_ok_and(|health| health.text().contains(r#""status":"UP""#)) {
            return Ok(());
        }
        if Instant::now() >= end {
            bail!("it was not healthy within {} s", START_WAIT.as_secs());
        }
        std::thread::sleep(POLL);
    }
}

fn last_lines(folder: &Path) -> String {
    let log = fs::read(guard::log(folder)).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_port_is_named() {
        // Another run may hold it already.
        let _held = TcpListener::bind(("127.0.0.1", API_PORT));
        let error = check_ports_free().expect_err("the port is busy").to_string();
        assert!(error.contains("12345"), "{error}");
    }

    #[test]
    fn its_own_configuration_comes_first() {
        let command = command(Path::new("/cache"), Path::new("/run"));
        let arguments: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy()).collect();
        assert!(arguments.contains(&"/run/conf:/cache/conf:/cache/libs/*".into()), "{arguments:?}");
        assert_eq!(arguments.last().expect("some"), MAIN_CLASS);
    }
}
