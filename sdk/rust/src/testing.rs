//! Test a plugin natively: `cargo test` on the host target, without WebAssembly and without a server.
//!
//! A [`TestHost`] stands in for the server. While it lives, the host functions that the plugin calls on this
//! thread answer from it: [`http`](crate::host::http) from a script of requests and answers,
//! [`clock`](crate::host::clock) from a clock that the test moves, [`memo`](crate::host::memo),
//! [`config`](crate::host::config), [`call`](crate::host::call) and [`files`](crate::host::files) from what the
//! test configured. It keeps the rules of the contract: a request to an address that the description does not
//! have, or that none of its call rules fits, is `not_granted`; masked members of an answer are null; a lost
//! answer to a call that changes something is `may-have-applied`.
//!
//! The script is strict. A request that differs from the next one of the script fails the test, and so does one
//! that was never sent. The failure shows what was expected and what was sent. Slots of secrets are shown by
//! name, and the values of secrets never.
//!
//! ```
//! use lakeport_sdk::engine::*;
//! use lakeport_sdk::serde_json::{Value, json};
//! use lakeport_sdk::testing::{Answer, Expected, TestHost};
//! # use lakeport_sdk::engine::web::{AddressSlot, AuthUse, Body, CallRule, Piece, Request};
//!
//! /// A connector of one kind of scheduler.
//! struct Nightly;
//!
//! impl Engine for Nightly {
//!     fn describe() -> EngineInfo {
//!         let rule = |call: &str, effect: &str| CallRule {
//!             call: call.to_owned(),
//!             effect: effect.to_owned(),
//!             mask: Vec::new(),
//!         };
//!         let api = AddressSlot {
//!             name: "api".to_owned(),
//!             config_at: "/url".to_owned(),
//!             calls: vec![rule("GET runs/**", "reads"), rule("POST jobs/*/runs", "changes")],
//!             description: "The scheduler's API".to_owned(),
//!         };
//!         EngineInfo { addresses: vec![api], ..EngineInfo::new("nightly", "Nightly", "0.1.0") }
//!     }
//!
//!     fn start(request: RunRequest) -> Result<Started, Error> {
//!         let code = request.workflow.code.ok_or_else(|| Error::not_found("it is not deployed"))?;
//!         let text = |text: &str| vec![Piece::Text(text.to_owned())];
//!         let body = json!({"key": request.key}).to_string();
//!         let answer = http::send(&Request {
//!             address: "api".to_owned(),
//!             method: "POST".to_owned(),
//!             path: vec![text("jobs"), text(&code), text("runs")],
//!             query: Vec::new(),
//!             headers: vec![web::Param { name: "content-type".to_owned(), value: text("application/json") }],
//!             body: Body::Bytes(body.into_bytes()),
//!             auth: AuthUse::Chosen,
//!             timeout_ms: None,
//!             max_response_bytes: None,
//!             extra: None,
//!         })?;
//!         let answer: Value = lakeport_sdk::serde_json::from_slice(&answer.body)
//!             .map_err(|error| Error::bad_answer(format!("the scheduler's answer: {error}")))?;
//!         let id = answer["id"].as_str().ok_or_else(|| Error::bad_answer("the run has no id"))?;
//!         Ok(Started::run(id, false))
//!     }
//!     // The other functions …
//! #   fn test() -> Result<TestReport, Error> { unreachable!() }
//! #   fn deploy(_request: DeployRequest) -> Result<Deployment, Error> { unreachable!() }
//! #   fn remove(_current: WorkflowRef) -> Result<Deployment, Error> { unreachable!() }
//! #   fn find(_queries: Vec<RunQuery>) -> Result<Vec<Option<Instance>>, Error> { unreachable!() }
//! #   fn cancel(_workflow: WorkflowRef, _target: Target) -> Result<Receipt, Error> { unreachable!() }
//! #   fn instances(_request: WatchRequest) -> Result<WatchPage, Error> { unreachable!() }
//! #   fn task_runs(_request: TaskRunRequest) -> Result<TaskRunPage, Error> { unreachable!() }
//! }
//!
//! # fn run_request() -> RunRequest {
//! #     let workflow = WorkflowRef {
//! #         id: 7, name: "daily".into(), code: Some("j7".into()), project: None, revision: None, state: None,
//! #     };
//! #     RunRequest {
//! #         workflow, key: "k1".into(), cause: "manual".into(), business_time: None, params: Vec::new(),
//! #         failure_strategy: "CONTINUE".into(), start_at: None, reach: "all".into(), extra: None,
//! #     }
//! # }
//! // #[test]
//! fn a_start_whose_answer_is_lost_may_have_applied() {
//!     let host = TestHost::engine::<Nightly>();
//!     host.settings(json!({"url": "https://nightly.example"}));
//!     let start = || Expected::post("api", "jobs/j7/runs").json(json!({"key": "k1"}));
//!
//!     host.expect(start(), Answer::json(200, json!({"id": "r1"})));
//!     let started = host.call(|| Nightly::start(run_request())).unwrap();
//!     assert_eq!(started.instance.as_deref(), Some("r1"));
//!
//!     host.expect(start(), Answer::lost());
//!     let error = host.call(|| Nightly::start(run_request())).unwrap_err();
//!     assert!(error.may_have_applied);
//! }
//! # a_start_whose_answer_is_lost_may_have_applied();
//! ```
//!
//! A dialect is tested with [`TestHost::dialect`], and with [`TestHost::connection`] for the functions that read
//! a database. The interfaces that only tools may import, such as `catalog`, have no native form: they panic.

mod answer;
mod clock;
mod connection;
mod expected;
mod files;
pub(crate) mod functions;
mod memo;
mod rules;
mod state;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use serde_json::Value;

pub use answer::Answer;
pub use connection::{Connection, rows};
pub use expected::{Expected, slot};

use crate::engine::Engine;
use crate::log::Level;
use crate::tool::Tool;
use crate::{Error, RowSet, Timestamp};
use state::{Family, HostState};

thread_local! {
    static CURRENT: RefCell<Option<Rc<RefCell<HostState>>>> = const { RefCell::new(None) };
}

/// A line that the plugin logged.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLine {
    /// The severity.
    pub level: Level,
    /// The message.
    pub message: String,
    /// The fields.
    pub fields: Vec<(String, String)>,
}

/// The server, as the plugin under test sees it. One at a time per thread; it answers until it is dropped.
///
/// Dropping it fails the test if a request or a statement of the script was not sent.
#[must_use = "the host answers until it is dropped"]
pub struct TestHost {
    state: Rc<RefCell<HostState>>,
}

impl TestHost {
    /// The host of an engine. Its addresses, call rules, secrets and recipes are those of the description.
    pub fn engine<E: Engine>() -> TestHost {
        let info = E::describe();
        let mut state = HostState::new(Family::Engine);
        state.grant(info.addresses, info.secrets, info.auth);
        state.folder_at = info.folder_at;
        TestHost::install(state)
    }

    /// The host of a tool.
    pub fn tool<T: Tool>() -> TestHost {
        let info = T::describe();
        let mut state = HostState::new(Family::Tool);
        state.grant(info.addresses, info.secrets, info.auth);
        TestHost::install(state)
    }

    /// The host of a dialect, which may import the log and a connection alone.
    pub fn dialect() -> TestHost {
        TestHost::install(HostState::new(Family::Dialect))
    }

    fn install(state: HostState) -> TestHost {
        let state = Rc::new(RefCell::new(state));
        CURRENT.with_borrow_mut(|current| {
            assert!(current.is_none(), "this thread has a test host already; drop it before the next one");
            *current = Some(Rc::clone(&state));
        });
        TestHost { state }
    }

    /// Runs one call of the plugin: with an id and a time limit of its own, as the server makes it. Host
    /// functions answer only within it.
    pub fn call<T>(&self, call: impl FnOnce() -> T) -> T {
        self.run(false, call)
    }

    /// The same for a call whose caller no longer waits for the answer.
    pub fn cancelled_call<T>(&self, call: impl FnOnce() -> T) -> T {
        self.run(true, call)
    }

    fn run<T>(&self, is_cancelled: bool, call: impl FnOnce() -> T) -> T {
        struct Ends<'w>(&'w RefCell<HostState>);
        impl Drop for Ends<'_> {
            fn drop(&mut self) {
                self.0.borrow_mut().call = None;
            }
        }
        self.state.borrow_mut().begin_call(is_cancelled);
        let _ends = Ends(&self.state);
        call()
    }
}

/// Configuration.
impl TestHost {
    /// The settings of the instance, complete. Addresses and the folder are granted by their settings.
    pub fn settings(&self, settings: Value) {
        self.state.borrow_mut().settings = settings;
    }

    /// The name of the instance. Default: `test`.
    pub fn instance(&self, name: &str) {
        self.state.borrow_mut().instance = name.to_owned();
    }

    /// The platform's time zone, an IANA name. Default: `UTC`.
    pub fn time_zone(&self, zone: &str) {
        let zone = clock::zone(zone).unwrap_or_else(|error| panic!("{}", error.message));
        self.state.borrow_mut().zone = zone;
    }

    /// The auth recipe that the operator chose. Default: none. The script has no log-in: the server carries it
    /// out.
    pub fn auth_recipe(&self, name: &str) {
        self.state.borrow_mut().choose_recipe(name);
    }

    /// A secret that the operator entered. The server replaces it by `***` in answers.
    pub fn secret(&self, name: &str, value: &str) {
        self.state.borrow_mut().enter_secret(name, value);
    }

    /// Allows the plugin to place this secret itself, in a slot of a request.
    pub fn allow_secret(&self, name: &str) {
        self.state.borrow_mut().allow_secret(name);
    }

    /// The time limit of each later call. Default: 60 seconds, 5 of a dialect. The server gives some functions less.
    pub fn call_timeout(&self, timeout: Duration) {
        self.state.borrow_mut().call_timeout = timeout;
    }
}

/// Time and the cache.
impl TestHost {
    /// Now, in milliseconds since 1970. It starts at 2026-01-01T00:00:00Z and stands still.
    pub fn now(&self) -> Timestamp {
        self.state.borrow().now_ms
    }

    /// Sets the clock, to a time of the form `2026-03-01T08:30:00Z`. No time passes.
    pub fn set_now(&self, at: &str) {
        self.state.borrow_mut().now_ms = clock::instant(at);
    }

    /// Lets time pass: the clock moves, entries of the cache expire.
    pub fn advance(&self, by: Duration) {
        self.state.borrow_mut().advance(by);
    }

    /// Drops all entries of the cache, as the server may at any time.
    pub fn forget_memo(&self) {
        self.state.borrow_mut().memo.clear();
    }

    /// From now on the cache keeps nothing. A plugin must give the same answers.
    pub fn without_memo(&self) {
        let mut state = self.state.borrow_mut();
        state.memo.clear();
        state.keeps_memo = false;
    }
}

/// The script, and what the plugin did.
impl TestHost {
    /// Adds a request to the end of the script, with its answer. Requests must be sent in this order.
    pub fn expect(&self, request: Expected, answer: Answer) {
        self.state.borrow_mut().script.push_back((request, answer));
    }

    /// The number of requests that the plugin sent so far.
    pub fn requests(&self) -> usize {
        self.state.borrow().sent
    }

    /// Fails unless all requests and statements of the script were sent. Dropping the host does the same.
    pub fn finish(&self) {
        let missing = self.state.borrow().missing();
        assert!(missing.is_empty(), "{missing}");
    }

    /// The lines that the plugin logged so far.
    pub fn log(&self) -> Vec<LogLine> {
        self.state.borrow().log.clone()
    }

    /// Puts a file into the granted folder. Fails if the folder is not granted.
    pub fn put_file(&self, path: &str, content: &[u8]) {
        let put = self.state.borrow_mut().write_file(path, content);
        put.unwrap_or_else(|error| panic!("{}", error.message));
    }

    /// The content of a file in the granted folder.
    pub fn file(&self, path: &str) -> Option<Vec<u8>> {
        self.state.borrow().folder.content(path)
    }

    /// A connection to lend to a dialect for one call.
    pub fn connection(&self) -> Connection {
        Connection::new()
    }

    /// Adds a statement to the end of the dialect's script, with its answer. `part` must occur in the statement;
    /// blanks and line breaks count as one blank. Names are shown as `"shop"."orders"`, values as literals.
    pub fn expect_statement(&self, part: &str, answer: Result<RowSet, Error>) {
        self.state.borrow_mut().statements.push_back((part.to_owned(), answer));
    }
}

impl Drop for TestHost {
    fn drop(&mut self) {
        CURRENT.with_borrow_mut(|current| *current = None);
        if !std::thread::panicking() {
            self.finish();
        }
    }
}

/// Works on the host of this thread.
fn with_state<T>(work: impl FnOnce(&mut HostState) -> T) -> T {
    let state = CURRENT.with_borrow(Clone::clone);
    let state = state.unwrap_or_else(|| {
        panic!("the plugin called its host; a native test needs a `lakeport_sdk::testing::TestHost` on its thread")
    });
    let mut state = state.borrow_mut();
    work(&mut state)
}

/// Captures a line, if the thread has a host.
pub(crate) fn capture_log(level: Level, message: &str, fields: &[(String, String)]) {
    if let Some(state) = CURRENT.with_borrow(Clone::clone) {
        let line = LogLine { level, message: message.to_owned(), fields: fields.to_vec() };
        state.borrow_mut().log.push(line);
    }
}
