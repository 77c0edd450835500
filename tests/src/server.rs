//! A real server process.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

use crate::client::{Response, request};
use crate::store::{Database, Store};

/// How long a server may take until it says that it listens: it compiles its plugins at the first start.
const START_MAX: Duration = Duration::from_secs(60);
/// How long it may take to stop before it is killed.
const STOP_MAX: Duration = Duration::from_secs(35);

/// A server with a data folder of its own; stopped, and its data thrown away, when dropped.
pub struct Server {
    process: Option<Process>,
    data: tempfile::TempDir,
    database: Database,
    arguments: Vec<String>,
}

struct Process {
    child: Child,
    address: SocketAddr,
    log: std::path::PathBuf,
}

impl Server {
    /// Starts a server on an empty store.
    pub fn start(store: &Store) -> Server {
        Server::start_with(store, &[])
    }

    /// Starts a server on an empty store with further arguments of `lakeport serve`.
    pub fn start_with(store: &Store, arguments: &[&str]) -> Server {
        let data = tempfile::tempdir().expect("a temporary folder");
        let database = Database::create(store);
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let mut server = Server { process: None, data, database, arguments };
        server.start_process();
        server
    }

    /// Stops it and starts it again over the same data.
    pub fn restart(&mut self) {
        self.stop();
        self.start_process();
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.process.as_ref().expect("it runs").address
    }

    /// `http://127.0.0.1:PORT`
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Its data folder.
    pub fn data(&self) -> &Path {
        self.data.path()
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.process.as_ref().expect("it runs").child.id()
    }

    pub fn get(&self, path: &str) -> Response {
        request(self.address(), "GET", path, &[], b"")
    }

    pub fn delete(&self, path: &str) -> Response {
        request(self.address(), "DELETE", path, &[], b"")
    }

    pub fn post(&self, path: &str, body: &Value) -> Response {
        self.post_bytes(path, "application/json", body.to_string().as_bytes())
    }

    pub fn post_bytes(&self, path: &str, content_type: &str, body: &[u8]) -> Response {
        request(self.address(), "POST", path, &[("Content-Type", content_type)], body)
    }

    fn start_process(&mut self) {
        let log = self.data.path().with_extension("log");
        let binary = crate::binary();
        let mut command = Command::new(&binary);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(self.data.path());
        if let Some(url) = self.database.url() {
            command.args(["--database-url", url]);
        }
        command.args(&self.arguments).stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(std::fs::OpenOptions::new().create(true).append(true).open(&log).expect("a log file"));
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}; `cargo xtask test` builds it", binary.display()));
        let stdout = child.stdout.take().expect("its output is piped");
        let (said, listening) = mpsc::channel();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(stdout);
            let mut first = String::new();
            // Nobody listens any more once the time was over.
            let _ = lines.read_line(&mut first).map(|_| said.send(first));
            // What follows must be read, or the server would wait for a reader.
            let _ = lines.read_to_end(&mut Vec::new());
        });
        let first = listening.recv_timeout(START_MAX).unwrap_or_default();
        let address =
            first.trim().strip_prefix("listening on http://").and_then(|address| address.parse().ok());
        let Some(address) = address else {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
            let log = std::fs::read_to_string(&log).unwrap_or_default();
            panic!("the server did not start; it said {first:?}\n{log}");
        };
        self.process = Some(Process { child, address, log });
    }

    /// Asks it to stop as an operator would, waits, and kills it if that does not help.
    pub fn stop(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        let pid = process.child.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &pid]).status();
        let deadline = std::time::Instant::now() + STOP_MAX;
        let mut stopped = false;
        while asked.is_ok() && std::time::Instant::now() < deadline && !stopped {
            stopped = matches!(process.child.try_wait(), Ok(Some(_)));
            std::thread::park_timeout(Duration::from_millis(10));
        }
        if !stopped {
            // It may have ended in this moment.
            let _ = process.child.kill();
            let _ = process.child.wait();
        }
        if std::thread::panicking() {
            eprintln!("--- log of the server\n{}", std::fs::read_to_string(&process.log).unwrap_or_default());
        }
        // Nothing depends on the log being gone.
        let _ = std::fs::remove_file(&process.log);
        assert!(stopped || std::thread::panicking(), "the server did not stop within {STOP_MAX:?}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
