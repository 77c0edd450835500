//! The state of a test host: what the test configured, and the call that runs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::time::Duration;

use chrono_tz::Tz;
use lakeport_http_rules::{CallRule, REQUESTS_MAX};
use serde_json::{Value, json};

use super::answer::Outcome;
use super::expected::Sent;
use super::files::Folder;
use super::memo::Memo;
use super::rules;
use super::{Answer, Expected, LogLine};
use crate::host::web::{AddressSlot, AuthRecipe, Request, Response, SecretSpec};
use crate::{Error, RowSet};

/// 2026-01-01T00:00:00Z.
const FIRST_NOW_MS: i64 = 1_767_225_600_000;
/// The server's default limits of a call.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);
const DIALECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Says which interfaces the plugin may import.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Family {
    Dialect,
    Engine,
    Tool,
}

/// The call that runs.
pub struct Call {
    pub id: String,
    /// When its time is over, on the clock of `HostState::passed`.
    deadline: Duration,
    pub is_cancelled: bool,
    requests: usize,
}

pub struct HostState {
    family: Family,
    pub addresses: Vec<AddressSlot>,
    secrets: Vec<SecretSpec>,
    recipes: Vec<AuthRecipe>,
    pub folder_at: Option<String>,
    pub settings: Value,
    pub instance: String,
    pub zone: Tz,
    pub recipe: Option<String>,
    secret_values: BTreeMap<String, String>,
    pub allowed_secrets: BTreeSet<String>,
    pub now_ms: i64,
    /// How much time has passed, whatever the clock was set to.
    pub passed: Duration,
    pub call_timeout: Duration,
    pub call: Option<Call>,
    calls: usize,
    pub memo: Memo,
    pub keeps_memo: bool,
    pub folder: Folder,
    pub script: VecDeque<(Expected, Answer)>,
    pub sent: usize,
    /// Requests that broke a rule of the contract and were not sent.
    refused: Vec<String>,
    pub statements: VecDeque<(String, Result<RowSet, Error>)>,
    pub log: Vec<LogLine>,
}

impl HostState {
    pub fn new(family: Family) -> HostState {
        HostState {
            family,
            addresses: Vec::new(),
            secrets: Vec::new(),
            recipes: Vec::new(),
            folder_at: None,
            settings: json!({}),
            instance: "test".to_owned(),
            zone: Tz::UTC,
            recipe: None,
            secret_values: BTreeMap::new(),
            allowed_secrets: BTreeSet::new(),
            now_ms: FIRST_NOW_MS,
            passed: Duration::ZERO,
            call_timeout: if family == Family::Dialect { DIALECT_TIMEOUT } else { CALL_TIMEOUT },
            call: None,
            calls: 0,
            memo: Memo::default(),
            keeps_memo: true,
            folder: Folder::default(),
            script: VecDeque::new(),
            sent: 0,
            refused: Vec::new(),
            statements: VecDeque::new(),
            log: Vec::new(),
        }
    }

    /// Takes what the description asks for. Fails the test if a call rule cannot be read.
    pub fn grant(&mut self, addresses: Vec<AddressSlot>, secrets: Vec<SecretSpec>, recipes: Vec<AuthRecipe>) {
        if let Some(wrong) = addresses.iter().find_map(rules::wrong_rule) {
            panic!("{wrong}");
        }
        (self.addresses, self.secrets, self.recipes) = (addresses, secrets, recipes);
    }

    pub fn choose_recipe(&mut self, name: &str) {
        let known: Vec<&str> = self.recipes.iter().map(|recipe| recipe.name.as_str()).collect();
        assert!(known.contains(&name), "the description has no auth recipe {name:?}; it has {known:?}");
        self.recipe = Some(name.to_owned());
    }

    pub fn enter_secret(&mut self, name: &str, value: &str) {
        self.know_secret(name);
        self.secret_values.insert(name.to_owned(), value.to_owned());
    }

    pub fn allow_secret(&mut self, name: &str) {
        self.know_secret(name);
        self.allowed_secrets.insert(name.to_owned());
    }

    fn know_secret(&self, name: &str) {
        let known: Vec<&str> = self.secrets.iter().map(|secret| secret.name.as_str()).collect();
        assert!(known.contains(&name), "the description has no secret {name:?}; it has {known:?}");
    }

    /// The recipe that is in use at an address.
    pub fn recipe_at(&self, address: &str) -> Option<&AuthRecipe> {
        let chosen = self.recipe.as_ref()?;
        let recipe = self.recipes.iter().find(|recipe| recipe.name == *chosen)?;
        recipe.addresses.iter().any(|granted| granted == address).then_some(recipe)
    }

    pub fn advance(&mut self, by: Duration) {
        self.passed += by;
        self.now_ms += i64::try_from(by.as_millis()).expect("a test lasts less than an age");
    }

    pub fn write_file(&mut self, path: &str, content: &[u8]) -> Result<bool, Error> {
        self.check_folder()?;
        self.folder.write(path, content, self.now_ms)
    }

    /// `not_granted` without a folder.
    pub fn check_folder(&self) -> Result<(), Error> {
        let granted = self.folder_at.as_deref().and_then(|at| self.settings.pointer(at));
        match granted {
            Some(Value::String(folder)) if !folder.is_empty() => Ok(()),
            _ => Err(Error::new("not_granted", "no folder is granted: its setting is empty")),
        }
    }
}

/// The call that runs.
impl HostState {
    pub fn begin_call(&mut self, is_cancelled: bool) {
        assert!(self.call.is_none(), "a call runs already; a plugin's calls do not run within each other");
        self.calls += 1;
        let deadline = self.passed + self.call_timeout;
        self.call = Some(Call { id: format!("test-{}", self.calls), deadline, is_cancelled, requests: 0 });
    }

    /// The call, if a plugin of these families may import the interface.
    pub fn call_of(&mut self, interface: &str, families: &[Family]) -> &mut Call {
        let family = match self.family {
            Family::Dialect => "dialect",
            Family::Engine => "engine",
            Family::Tool => "tool",
        };
        assert!(
            families.contains(&self.family),
            "the plugin called {interface}, which no {family} may import: the server would refuse the component"
        );
        self.call.as_mut().unwrap_or_else(|| {
            panic!("the plugin called {interface} outside of a call; run it in `host.call(|| …)`")
        })
    }

    /// The time that the call has left.
    pub fn remaining(&self) -> Duration {
        let deadline = self.call.as_ref().map_or(self.passed, |call| call.deadline);
        deadline.saturating_sub(self.passed)
    }

    /// The error of a host function that waits, if the call is over.
    pub fn check_call(&self) -> Result<(), Error> {
        if self.call.as_ref().is_some_and(|call| call.is_cancelled) {
            return Err(Error::cancelled("the caller no longer waits for the answer"));
        }
        if self.remaining().is_zero() {
            return Err(Error::timeout("the time of the call is over"));
        }
        Ok(())
    }
}

/// Requests.
impl HostState {
    pub fn send(&mut self, request: &Request) -> Result<Response, Error> {
        let call = self.call_of("http", &[Family::Engine, Family::Tool]);
        call.requests += 1;
        if call.requests > REQUESTS_MAX {
            return Err(Error::limit_exceeded(format!("one call sends {REQUESTS_MAX} requests at most")));
        }
        self.check_call()?;
        let sent = Sent::of(request);
        let rule = match rules::check(self, request) {
            Ok(rule) => rule,
            Err(error) => {
                self.refused.push(format!("{}: {}: {}", sent.line(), error.code, error.message));
                return Err(error);
            }
        };
        self.sent += 1;
        let answer = self.next_answer(&sent);
        self.answer(request, &rule, answer)
    }

    /// The answer that the script has for this request. Fails the test if it is another request.
    fn next_answer(&mut self, sent: &Sent) -> Answer {
        let number = self.sent;
        let Some((expected, answer)) = self.script.pop_front() else {
            panic!("request {number} was not expected; the script is at its end\n\ngot\n{sent}");
        };
        let differences = expected.differences(sent);
        if differences.is_empty() {
            return answer;
        }
        let parts = differences.join(", ");
        panic!("request {number} differs from the script in: {parts}\n\nexpected\n{expected}\ngot\n{sent}");
    }

    fn answer(&mut self, request: &Request, rule: &CallRule, answer: Answer) -> Result<Response, Error> {
        let lost = |error: Error| {
            let error = error.retryable();
            if rules::changes(rule) { error.may_have_applied() } else { error }
        };
        let wait = request.timeout_ms.map_or(Duration::MAX, |ms| Duration::from_millis(ms.into()));
        let limit = self.remaining().min(wait);
        if answer.takes > limit || matches!(answer.outcome, Outcome::TimesOut) {
            self.advance(limit);
            let message = format!("{} did not answer within {} ms", request.address, limit.as_millis());
            return Err(lost(Error::timeout(message)));
        }
        self.advance(answer.takes);
        if answer.forgets_memo {
            self.memo.clear();
        }
        if answer.cancels {
            self.call.as_mut().expect("a request is sent within a call").is_cancelled = true;
            let error = Error::cancelled("the caller no longer waits for the answer");
            return Err(Error { retryable: false, ..lost(error) });
        }
        match answer.outcome {
            Outcome::Response(response) => {
                rules::filtered(request, rule, self.secret_values.values(), response)
            }
            Outcome::Unreachable => {
                Err(Error::unreachable(format!("{} cannot be reached", request.address)).retryable())
            }
            Outcome::Lost => {
                let message = format!("{} closed the connection before it answered", request.address);
                Err(lost(Error::upstream_failed(message)))
            }
            Outcome::Fails(error) => Err(error),
            Outcome::TimesOut => unreachable!("a timeout was answered above"),
        }
    }

    /// What the script still has, for the failure of the test. Empty: nothing.
    pub fn missing(&self) -> String {
        let mut text = String::new();
        if !self.script.is_empty() {
            let count = self.script.len();
            writeln!(text, "the script has requests that were not sent: {count}").expect("a text takes all");
            self.script
                .iter()
                .for_each(|(expected, _)| write!(text, "\n{expected}").expect("a text takes all"));
        }
        if !text.is_empty() && !self.refused.is_empty() {
            text.push_str("\nrefused before they were sent\n");
            self.refused.iter().for_each(|line| writeln!(text, "  {line}").expect("a text takes all"));
        }
        if !self.statements.is_empty() {
            let count = self.statements.len();
            writeln!(text, "the script has statements that were not sent: {count}")
                .expect("a text takes all");
            self.statements
                .iter()
                .for_each(|(part, _)| writeln!(text, "  {part}").expect("a text takes all"));
        }
        text
    }
}
