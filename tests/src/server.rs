//! A real server process.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Once, mpsc};
use std::time::Duration;

use serde_json::Value;

use crate::client::{Response, request, try_request};
use crate::store::{Database, Store};

/// How long a server may take until it listens, its plugins compiled: see [`compile_plugins`].
const START_MAX: Duration = Duration::from_secs(60);
/// How long it may take to stop before it is killed.
const STOP_MAX: Duration = Duration::from_secs(35);
/// How long it may take until it reaches the point at which it dies.
const REACHED_MAX: Duration = Duration::from_secs(60);
/// The polling interval of a test.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);
/// The key of the store's secrets on PostgreSQL, where the setting is required.
pub const KEY: &str = "dGhlIGtleSBvZiBhbGwgdGVzdHMsIDMyIGJ5dGVzISE=";

/// A server with a data folder of its own; stopped, and its data removed, when this is dropped.
pub struct Server {
    process: Option<Process>,
    data: tempfile::TempDir,
    database: Arc<Database>,
    /// Where it finds its PostgreSQL, if not there.
    store_url: Option<String>,
    arguments: Vec<String>,
    environment: BTreeMap<String, String>,
}

/// How a server is started: further arguments of `lakeport serve`, and settings in the environment.
#[derive(Default)]
pub struct Options<'o> {
    pub arguments: &'o [&'o str],
    pub environment: &'o [(&'o str, &'o str)],
}

/// A client of a server, as one caller.
pub struct Client {
    address: SocketAddr,
    token: Option<String>,
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
        Server::start_as(store, Options { arguments, ..Options::default() })
    }

    /// Starts a server on an empty store.
    pub fn start_as(store: &Store, options: Options<'_>) -> Server {
        let mut server = Server::prepare(store, options);
        server.start_process();
        server
    }

    /// A server that does not run yet: its data folder and its store, as after a first start.
    pub fn prepare(store: &Store, options: Options<'_>) -> Server {
        Server::over(Arc::new(Database::migrated(store)), options)
    }

    /// The same, with a store that has no schema either.
    pub fn prepare_empty(store: &Store, options: Options<'_>) -> Server {
        Server::over(Arc::new(Database::empty(store)), options)
    }

    /// Another server on this one's PostgreSQL database, with a data folder of its own. Not started.
    pub fn replica(&self, options: Options<'_>) -> Server {
        assert!(self.database.url().is_some(), "two servers share a PostgreSQL, never a file");
        Server::over(Arc::clone(&self.database), options)
    }

    pub(crate) fn over(database: Arc<Database>, options: Options<'_>) -> Server {
        let data = tempfile::tempdir().expect("a temporary folder");
        let text = |text: &&str| (*text).to_owned();
        let mut environment: BTreeMap<String, String> =
            options.environment.iter().map(|(name, value)| (text(name), text(value))).collect();
        if database.url().is_some() {
            environment.entry("LAKEPORT_KEY".to_owned()).or_insert_with(|| KEY.to_owned());
        }
        // Compiled once for all servers: that is most of a start's time.
        let compiled = crate::binary().with_file_name("compiled-for-tests").display().to_string();
        environment.entry("LAKEPORT_PLUGINS_CACHE_DIR".to_owned()).or_insert(compiled);
        let arguments = options.arguments.iter().map(text).collect();
        Server { process: None, data, database, store_url: None, arguments, environment }
    }

    /// Starts it if it is not running.
    pub fn run(&mut self) {
        if self.process.is_none() {
            self.start_process();
        }
    }

    /// Sets a setting in the environment for the next start; an empty value removes it.
    pub fn set(&mut self, name: &str, value: &str) {
        if value.is_empty() {
            self.environment.remove(name);
        } else {
            self.environment.insert(name.to_owned(), value.to_owned());
        }
    }

    /// Gives `lakeport serve` a further argument, from the next start on.
    pub fn add_argument(&mut self, argument: &str) {
        self.arguments.push(argument.to_owned());
    }

    /// Removes an argument.
    pub fn remove_argument(&mut self, argument: &str) {
        self.arguments.retain(|given| given != argument);
    }

    /// The complete environment of the server, for commands that work on its store.
    pub fn environment(&self) -> &BTreeMap<String, String> {
        &self.environment
    }

    /// The value of `--database-url`; `None`: the default.
    pub fn database_url(&self) -> Option<&str> {
        self.database.url()
    }

    /// Gives it another way to its store, a PostgreSQL, from the next start on: from the real place to another.
    pub fn reach_store_at(&mut self, address: impl FnOnce(&str) -> SocketAddr) {
        let url = self.database.url().expect("a store on a server");
        let (head, database) = url.rsplit_once('/').expect("it names the database");
        let (user, place) = head.rsplit_once('@').expect("it names the user");
        self.store_url = Some(format!("{user}@{}/{database}", address(place)));
    }

    /// Runs `lakeport …` on this server's store: `command(&["token", "list"])`.
    pub fn command(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(crate::binary());
        command.args(arguments).arg("--data-dir").arg(self.data.path());
        if let Some(url) = self.database.url() {
            command.args(["--database-url", url]);
        }
        let output = command.env_clear().envs(&self.environment).current_dir(self.data.path()).output();
        output.expect("the binary runs")
    }

    /// The standard output of the command; panics with its error output if it failed.
    pub fn command_ok(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}{}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8(output.stdout).expect("text")
    }

    /// The same for a command that needs no store.
    pub fn command_ok_without_store(&self, arguments: &[&str]) -> String {
        let output =
            Command::new(crate::binary()).args(arguments).env_clear().output().expect("the binary runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    }

    /// Runs one statement of the test's own on the server's store.
    pub fn execute(&self, statement: &str) {
        self.try_execute(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }

    /// The same; the error is the database's message.
    pub fn try_execute(&self, statement: &str) -> Result<(), String> {
        let file = format!("sqlite:{}", self.data.path().join("lakeport.db").display());
        crate::store::try_run(self.database.url().unwrap_or(&file), statement)
    }

    /// The first column of every row of a query of the server's store, as integers.
    pub fn numbers(&self, query: &str) -> Vec<i64> {
        let file = format!("sqlite:{}", self.data.path().join("lakeport.db").display());
        let session = crate::Session::open(self.database.url().unwrap_or(&file));
        session.unwrap_or_else(|error| panic!("{query}: {error}")).numbers(query)
    }

    /// Creates a token on the command line.
    pub fn token(&self, role: &str, name: &str) -> String {
        self.command_ok(&["token", "create", "--role", role, "--name", name]).trim().to_owned()
    }

    /// A client without a token; in local mode, this machine's user.
    pub fn client(&self) -> Client {
        Client { address: self.address(), token: None }
    }

    /// A client with this token.
    pub fn client_as(&self, token: &str) -> Client {
        Client { address: self.address(), token: Some(token.to_owned()) }
    }

    /// Stops it and starts it again over the same data.
    pub fn restart(&mut self) {
        self.stop();
        self.start_process();
    }

    /// Its address.
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
        self.client().get(path)
    }

    pub fn delete(&self, path: &str) -> Response {
        self.client().delete(path)
    }

    pub fn post(&self, path: &str, body: &Value) -> Response {
        self.client().post(path, body)
    }

    pub fn put(&self, path: &str, body: &Value) -> Response {
        self.client().put(path, body)
    }

    pub fn post_bytes(&self, path: &str, content_type: &str, body: &[u8]) -> Response {
        request(self.address(), "POST", path, &[("Content-Type", content_type)], body)
    }

    fn start_process(&mut self) {
        compile_plugins();
        if let Err(told) = self.try_start() {
            panic!("{told}");
        }
    }

    /// Starts it when it is expected to end before it listens; returns its output.
    pub fn ends_at_start(&mut self) -> String {
        compile_plugins();
        self.try_start().expect_err("it ends before it listens")
    }

    fn try_start(&mut self) -> Result<(), String> {
        let log = self.data.path().with_extension("log");
        let binary = crate::binary();
        let mut command = Command::new(&binary);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(self.data.path());
        if let Some(url) = self.store_url.as_deref().or(self.database.url()) {
            command.args(["--database-url", url]);
        }
        command.env_clear().envs(&self.environment).current_dir(self.data.path());
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
            // The receiver is gone once the time is over.
            let _ = lines.read_line(&mut first).map(|_| said.send(first));
            // The rest must be read, or the server would block on its output.
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
            return Err(format!("the server did not start; it said {first:?}\n{log}"));
        };
        self.process = Some(Process { child, address, log });
        Ok(())
    }

    /// Stops it as an operator would, waits, and kills it if it does not end.
    pub fn stop(&mut self) {
        if self.process.is_none() || self.wait(Duration::ZERO).is_some() {
            return self.end();
        }
        let process = self.process.as_ref().expect("it was just there");
        let asked = Command::new("kill").args(["-TERM", &process.child.id().to_string()]).status();
        let stopped = asked.is_ok() && self.wait(STOP_MAX).is_some();
        let log = (!stopped && !std::thread::panicking()).then(|| self.log());
        self.end();
        if let Some(log) = log {
            panic!("the server did not stop within {STOP_MAX:?}\n--- log of the server\n{log}");
        }
    }

    /// Kills it, like a power failure.
    pub fn kill(&mut self) {
        self.end();
    }

    /// Kills it when it reaches this point because of what it is asked for, and starts it again. No lease is waited for: the
    /// dead server's count as expired.
    pub fn killed_at(&mut self, point: &str, ask: impl FnOnce(&Client)) {
        self.dies_at(point, ask);
        self.run();
    }

    /// The same; it does not start again.
    pub fn dies_at(&mut self, point: &str, ask: impl FnOnce(&Client)) {
        self.stop();
        self.set("LAKEPORT_KILL_AT", point);
        self.run();
        ask(&self.client());
        assert!(self.wait(REACHED_MAX).is_some(), "{point} was not reached");
        self.kill();
        self.set("LAKEPORT_KILL_AT", "");
        self.execute("UPDATE leases SET expires_at = 0 WHERE expires_at > 0");
    }

    /// Kills it when it reaches this point because it starts, maybe before it listens.
    pub fn dies_at_start(&mut self, point: &str) {
        self.stop();
        self.set("LAKEPORT_KILL_AT", point);
        if self.try_start().is_ok() {
            assert!(self.wait(REACHED_MAX).is_some(), "{point} was not reached");
        }
        self.kill();
        self.set("LAKEPORT_KILL_AT", "");
        self.execute("UPDATE leases SET expires_at = 0 WHERE expires_at > 0");
    }

    /// Waits until it has ended by itself; `None` if it still runs.
    pub fn wait(&mut self, at_most: Duration) -> Option<ExitStatus> {
        let process = self.process.as_mut().expect("it was started");
        let deadline = std::time::Instant::now() + at_most;
        loop {
            match process.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                _ if std::time::Instant::now() >= deadline => return None,
                _ => std::thread::park_timeout(LOOK_INTERVAL),
            }
        }
    }

    /// Its log so far.
    pub fn log(&self) -> String {
        let process = self.process.as_ref().expect("it was started");
        std::fs::read_to_string(&process.log).unwrap_or_default()
    }

    fn end(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        // The process may have ended already.
        let _ = process.child.kill();
        let _ = process.child.wait();
        if std::thread::panicking() {
            eprintln!("--- log of the server\n{}", std::fs::read_to_string(&process.log).unwrap_or_default());
        }
        // The test does not depend on removing the log.
        let _ = std::fs::remove_file(&process.log);
    }
}

impl Client {
    pub fn get(&self, path: &str) -> Response {
        self.send("GET", path, &[], b"")
    }

    pub fn delete(&self, path: &str) -> Response {
        self.send("DELETE", path, &[], b"")
    }

    pub fn post(&self, path: &str, body: &Value) -> Response {
        self.send("POST", path, &[], body.to_string().as_bytes())
    }

    pub fn put(&self, path: &str, body: &Value) -> Response {
        self.send("PUT", path, &[], body.to_string().as_bytes())
    }

    /// A non-empty body is JSON, unless the headers say otherwise.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        self.try_send(method, path, headers, body).unwrap_or_else(|why| panic!("{why}"))
    }

    /// The same; an error if the server is gone, or ends before it answers.
    pub fn try_send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Response, String> {
        let bearer = self.token.as_ref().map(|token| format!("Bearer {token}"));
        let mut all = headers.to_vec();
        all.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
        if !body.is_empty() && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            all.push(("Content-Type", "application/json"));
        }
        try_request(self.address, method, path, &all, body)
    }
}

/// A figure of `/proc/<pid>/status`, such as `VmRSS:`, in bytes.
pub fn memory_bytes(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find(|line| line.starts_with(name)).expect("the line is there");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).expect("a number") * 1024
}

/// Has one server compile the plugins before the first test starts its own: several that start at once would each compile
/// all of them, which takes longer than a start may.
fn compile_plugins() {
    static COMPILED: Once = Once::new();
    COMPILED.call_once(|| {
        // What went wrong, the test's own server meets too, and says so.
        let _ = Server::prepare(&Store::Sqlite, Options::default()).try_start();
    });
}

/// Polls until there is a result; panics with `what` if that takes too long.
pub fn eventually<T>(what: &str, at_most: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = std::time::Instant::now() + at_most;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(std::time::Instant::now() < deadline, "{what}: not so after {at_most:?}");
        std::thread::park_timeout(LOOK_INTERVAL);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
