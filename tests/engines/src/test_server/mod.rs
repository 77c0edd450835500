//! A test server that stands in for DolphinScheduler 3.2.1 or 3.3, of which no real server can be had.
//!
//! It does what the connector needs, as real servers were seen to do it, and no more: each request that was not
//! foreseen is answered as a real server answers an unknown path, and is one of [`TestServer::problems`]. So is
//! each request or answer that does not fit the OpenAPI document of the version, where the documents are there.
//!
//! SHELL tasks really run, each in a process group of its own; tasks of other types fail. Two things are quicker
//! than on a real server: the minutes of a task's timeout and of its retries' interval are seconds, and runs that
//! wait for their turn are looked at each second, where 3.3 does it each five seconds.

mod answers;
mod calls;
mod control;
mod cron;
mod definitions;
mod fixed;
mod forms;
mod http;
mod master;
mod moment;
mod runs;
mod schedules;
mod starts;
mod state;
mod table;
#[cfg(test)]
mod tests;
mod tries;
mod values;
mod worker;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use crate::Access;
use state::State;

/// The one project.
const PROJECT: i64 = 23_782_200_000_000;
const PROJECT_NAME: &str = "lakeport";
const TENANT: &str = "default";
const USER: &str = "admin";
const PASSWORD: &str = "dolphinscheduler123";

/// A generation of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// 3.2.1.
    V32,
    /// 3.3, as its main branch was in October 2024.
    V33,
}

impl Generation {
    /// In the names of the documents.
    fn version(self) -> &'static str {
        match self {
            Generation::V32 => "3.2.1",
            Generation::V33 => "3.3-dev",
        }
    }

    /// A name of 3.2 as this generation has it: 3.3 calls processes workflows.
    fn word(self, name: &str) -> String {
        match (self, name) {
            (Generation::V32, _) => name.to_owned(),
            (Generation::V33, "processDefineCode") => "workflowDefinitionCode".to_owned(),
            (Generation::V33, _) => name.replace("process", "workflow").replace("Process", "Workflow"),
        }
    }

    fn first_code(self) -> i64 {
        match self {
            Generation::V32 => 23_782_214_597_184,
            Generation::V33 => 190_258_765_938_016,
        }
    }
}

/// A running server, on a port of its own. It ends when it is dropped, with all processes that it started.
pub struct TestServer {
    address: SocketAddr,
    token: String,
    state: Arc<Mutex<State>>,
    is_ending: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl TestServer {
    /// A server with the empty project `lakeport`.
    pub fn start(generation: Generation) -> TestServer {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let state = Arc::new(Mutex::new(State::new(generation, folder)));
        let is_ending = Arc::new(AtomicBool::new(false));
        let token = format!("token-of-{}", address.port());
        let calls = calls::Calls::new(generation, token.clone());
        let (theirs, ending) = (Arc::clone(&state), Arc::clone(&is_ending));
        let answer = Arc::new(move |request: http::Request| calls.answer(&mut locked(&theirs), request));
        let web = std::thread::spawn(move || http::serve(&listener, &ending, answer));
        let (theirs, ending) = (Arc::clone(&state), Arc::clone(&is_ending));
        let master = std::thread::spawn(move || {
            while !ending.load(Ordering::SeqCst) {
                master::step(&mut locked(&theirs));
                std::thread::sleep(master::STEP);
            }
        });
        TestServer { address, token, state, is_ending, threads: vec![web, master] }
    }

    /// How to reach it.
    pub fn access(&self) -> Access {
        Access {
            base_url: format!("http://{}/dolphinscheduler", self.address),
            project_name: PROJECT_NAME.to_owned(),
            tenant: TENANT.to_owned(),
            username: USER.to_owned(),
            password: PASSWORD.to_owned(),
            token: self.token.clone(),
        }
    }

    /// The requests so far: `GET projects?pageNo=1`, and the beginning of forms.
    pub fn requests(&self) -> Vec<String> {
        locked(&self.state).requests.clone()
    }

    /// What was not foreseen, and what does not fit the OpenAPI document.
    pub fn problems(&self) -> Vec<String> {
        locked(&self.state).problems.clone()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.is_ending.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for connections.
        TcpStream::connect(self.address).ok();
        for thread in self.threads.drain(..) {
            thread.join().ok();
        }
        // The processes of tries are killed with them.
        locked(&self.state).tries.clear();
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
