//! The runner of plans: the one way in which a physical database is changed.
//!
//! It reads the table as it is now, asks the dialect for a plan, checks it, and
//! runs it. In one transaction, it reads the whole table back on the same session before the commit and
//! takes everything back if that is not what the change should give. Without one it runs statement by statement,
//! follows what runs on in the database to its end, and undoes what was done where one fails.
//! What a dialect says about the database is checked against the host's own look wherever that is possible.
//! It writes no metadata and asks no user.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lakeport_bindings::dialect::about::DialectInfo;
use lakeport_bindings::dialect::planner::Change;
use lakeport_bindings::dialect::schema::{ServerInfo, Table, TableName};
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::{Error, Problem};
use lakeport_plugins::dialect::Dialect;
use lakeport_plugins::{CallContext, CallError};
use lakeport_sql::names::check_names;
use lakeport_sql::{CheckedPlan, CheckedStep, PlanRefused, Profile, Refusal, Transport, check_plan};

use crate::compare::{Comparing, Difference};
use crate::database::Database;
use crate::expected;
use crate::lent::{Lent, Loan};
use crate::schema::{self, Place};
use crate::session::Session;

mod action;
mod carry;
mod look;

/// Committing a change.
const OWN_TIMEOUT: Duration = Duration::from_secs(60);

/// What is to be done.
pub struct Request {
    /// The change. What it says of the table as it is (`current`, `before`) is read again.
    pub change: Change,
    /// True: say what would be done, and do nothing.
    pub dry_run: bool,
}

/// How far it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStatus {
    /// Nothing was run.
    Planned,
    /// Everything was done.
    Done,
    /// Nothing of it is left: it was rolled back or undone.
    TakenBack,
    /// Some of it was done and could not be undone.
    Partly,
}

/// What became of one statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementStatus {
    /// It would be run.
    Planned,
    /// It was run.
    Done,
    /// The database refused it.
    Failed,
    /// It was run and taken back.
    Undone,
    /// Its turn did not come.
    NotRun,
}

/// One statement of the plan.
#[derive(Clone, Debug)]
pub struct StatementOutcome {
    /// For a person.
    pub purpose: String,
    /// The text.
    pub sql: String,
    /// What takes it back.
    pub undo: Vec<String>,
    /// Whether that brings everything back.
    pub undo_complete: bool,
    /// Whether data can be lost.
    pub destroys: bool,
    /// As in the contract's `step.cost`.
    pub cost: String,
    /// As in the contract's `step.locks`.
    pub locks: String,
    /// What became of it.
    pub status: StatementStatus,
    /// Why it, or its undo, failed.
    pub error: Option<Error>,
}

/// What came of a change.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How far it came.
    pub status: RunStatus,
    /// Every statement.
    pub statements: Vec<StatementOutcome>,
    /// For the user, from the plan.
    pub notes: Vec<Problem>,
    /// The table as it was read back; absent when nothing ran or there is none any more.
    pub table: Option<Table>,
    /// What is not as it should be. After `TakenBack`: why.
    pub drift: Vec<Difference>,
    /// Why it did not come to its end.
    pub error: Option<Error>,
    /// What was made; none where nothing was.
    made: Option<Arc<Prepared>>,
}

/// Why a change was not tried.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RunError {
    /// The user asks for something that cannot be.
    #[error("the change cannot be made: {}", .0.iter().map(|problem| problem.message.as_str()).collect::<Vec<_>>().join("; "))]
    Invalid(Vec<Problem>),
    /// The dialect's plan broke a rule. It counts against the plugin.
    #[error("the dialect's plan was refused: {0}")]
    Refused(Refusal),
    /// The dialect gave no answer, or an error of its own.
    #[error(transparent)]
    Dialect(#[from] CallError),
    /// The database could not be opened or read.
    #[error("{}", .0.message)]
    Database(Error),
    /// A name that the change gives is something's already.
    #[error("{0}")]
    NameTaken(String),
    /// What is there is no table that can be changed.
    #[error("{0}")]
    NotATable(String),
    /// It was changed by someone else meanwhile.
    #[error("{0}")]
    Overtaken(String),
    /// The table, or the field named, is not there.
    #[error("{0}")]
    NotFound(String),
}

/// Runs changes on one database through one dialect.
pub struct Runner<'a> {
    /// The database.
    pub database: &'a Database,
    /// The dialect.
    pub dialect: &'a Dialect,
    /// The data source's options, an object.
    pub options: &'a str,
    /// Names the change in logs: printable ASCII.
    pub id: Arc<str>,
    /// Set once nobody waits for the answer.
    pub cancelled: Arc<AtomicBool>,
}

/// A plan that may run, and what it was made for.
#[derive(Clone, Debug)]
struct Prepared {
    profile: Arc<Profile>,
    info: Arc<DialectInfo>,
    server: ServerInfo,
    change: Change,
    plan: CheckedPlan,
}

impl Runner<'_> {
    /// Plans and, unless it is a dry run, makes the change.
    pub async fn run(&self, request: Request) -> Result<Outcome, RunError> {
        let dry_run = request.dry_run;
        let prepared = self.prepare(request).await.inspect_err(|error| {
            if let RunError::Refused(refusal) = error {
                self.dialect.blame(&self.id, &refusal.to_string());
            }
        })?;
        let outcome = Outcome {
            status: RunStatus::Planned,
            statements: prepared.plan.steps.iter().map(planned).collect(),
            notes: prepared.plan.notes.clone(),
            table: None,
            drift: Vec::new(),
            error: None,
            made: None,
        };
        if dry_run {
            return Ok(outcome);
        }
        let mut outcome = self.carry_out(&prepared, outcome).await?;
        outcome.made = (outcome.status == RunStatus::Done).then(|| Arc::new(prepared));
        Ok(outcome)
    }

    /// Waits until no job of a change runs in the database that a server which is gone had begun. An error where one
    /// still does when nobody wants to know any more.
    pub async fn wait_for_jobs(&self, change: Change) -> Result<(), RunError> {
        // What cannot be planned any more was made, or is in nobody's way.
        let Ok(prepared) = self.prepare(Request { change, dry_run: true }).await else { return Ok(()) };
        let mut session = self.database.open_to_read().await.map_err(RunError::Database)?;
        for probe in prepared.plan.steps.iter().filter_map(|step| step.action.probe.as_ref()) {
            self.follow_unknown(&mut session, probe).await.map_err(RunError::Database)?;
        }
        Ok(())
    }

    /// Reads what is there, asks for the plan and checks it. Changes nothing.
    async fn prepare(&self, request: Request) -> Result<Prepared, RunError> {
        let (info, profile) = self.dialect.described()?;
        let problems = check_names(&profile, &request.change);
        if !problems.is_empty() {
            return Err(RunError::Invalid(problems));
        }
        let session = self.database.open_to_read().await.map_err(RunError::Database)?;
        session.cancelled_by(self.cancelled.clone());
        let server = self.server(&session, &profile).await?;
        let change = self.on_what_is_there(&session, &profile, &server, request).await?;
        let plan = self.plan(&profile, &server, &change).await?;
        nothing_in_the_way(&session, &change, &plan).await?;
        session.close().await;
        Ok(Prepared { profile, info, server, change, plan })
    }

    async fn server(&self, session: &Arc<Session>, profile: &Arc<Profile>) -> Result<ServerInfo, RunError> {
        if profile.transport != self.database.transport() {
            let message = format!("the dialect {} is not for this kind of database", profile.name);
            return Err(RunError::Database(error("unsupported", message)));
        }
        let loan = Loan { profile: profile.clone(), about: Vec::new() };
        let lent = Box::new(Lent::of(session.clone(), loan));
        Ok(self.dialect.server(self.context(), lent, self.options).await?)
    }

    /// The change on the table as it is now.
    async fn on_what_is_there(
        &self,
        session: &Arc<Session>,
        profile: &Arc<Profile>,
        server: &ServerInfo,
        request: Request,
    ) -> Result<Change, RunError> {
        let Some(name) = expected::subject(&request.change).cloned() else { return Ok(request.change) };
        let dependents = expected::can_break_dependents(&request.change);
        let found = self.inspect(session, profile, server, (&name, dependents)).await?;
        if let Change::CreateTable(_) = request.change {
            return match found {
                None => Ok(request.change),
                Some(_) => Err(RunError::NameTaken(format!("a table {} is there already", name.name))),
            };
        }
        let Some(mut table) = found else {
            return Err(RunError::NotFound(format!("there is no table {}", name.name)));
        };
        if table.kind != "table" {
            let message =
                format!("{} is no table but {}; only tables are changed", name.name, a(&table.kind));
            return Err(RunError::NotATable(message));
        }
        // A dialect cannot have others changed by calling them companions.
        if !table.companions.is_empty() {
            let parts = schema::partitions(session, &name).await.map_err(RunError::Database)?;
            table.companions.retain(|other| parts.contains(other));
        }
        expected::brought_up(request.change, table)
            .map_err(|field| RunError::NotFound(format!("{} has no field {field}", name.name)))
    }

    /// One table on a session that only reads; none where it is not there.
    async fn inspect(
        &self,
        session: &Arc<Session>,
        profile: &Arc<Profile>,
        server: &ServerInfo,
        (name, dependents): (&TableName, bool),
    ) -> Result<Option<Table>, RunError> {
        let loan = Loan { profile: profile.clone(), about: vec![name.clone()] };
        let lent = Box::new(Lent::of(session.clone(), loan));
        let mut found = self
            .dialect
            .inspect(self.context(), lent, server, std::slice::from_ref(name), dependents)
            .await?;
        match found.pop() {
            Some(Ok(table)) if table.name == *name => Ok(Some(table)),
            Some(Ok(table)) => Err(RunError::Refused(Refusal {
                place: "reader.inspect".to_owned(),
                token: None,
                rule: "names",
                message: format!("asked for {}, it answered with {}", name.name, table.name.name),
            })),
            Some(Err(missing)) if missing.code == "not_found" => Ok(None),
            Some(Err(error)) => Err(RunError::Database(error)),
            None => Ok(None),
        }
    }

    /// Asked once: a dialect's plan depends on its arguments alone. Each call begins with fresh memory, its clock
    /// stands still, its random numbers are always the same, and nothing is lent to it.
    async fn plan(
        &self,
        profile: &Profile,
        server: &ServerInfo,
        change: &Change,
    ) -> Result<CheckedPlan, RunError> {
        let planned = self.dialect.plan(self.context(), server, change).await?;
        let plan = planned.map_err(RunError::Invalid)?;
        let checked = check_plan(profile, change, &plan).map_err(|refused| match refused {
            PlanRefused::Plugin(refusal) => RunError::Refused(refusal),
            PlanRefused::Text(problem) => RunError::Invalid(vec![problem]),
        })?;
        let is_probed =
            |step: &CheckedStep| step.undo.iter().chain([&step.action]).any(|action| action.probe.is_some());
        if self.database.transport() != Transport::MySql && checked.steps.iter().any(is_probed) {
            return Err(refusal(
                "plan",
                "probe",
                "nothing runs on in such a database, so nothing can be probed",
            ));
        }
        Ok(checked)
    }

    /// One spelling for all types of these tables.
    async fn canonical_types(
        &self,
        server: &ServerInfo,
        tables: &[&Table],
    ) -> Result<BTreeMap<String, String>, RunError> {
        /// Types of one call, by the contract.
        const TYPES_MAX: usize = 500;
        let texts: BTreeSet<&String> =
            tables.iter().flat_map(|table| &table.fields).map(|field| &field.type_text).collect();
        let texts: Vec<String> = texts.into_iter().cloned().collect();
        let mut canonical = BTreeMap::new();
        for some in texts.chunks(TYPES_MAX) {
            let parsed = self.dialect.parse_types(self.context(), Some(server), some).await?;
            for (text, parsed) in some.iter().zip(parsed) {
                // A type that the dialect cannot parse is compared as it is written.
                canonical.extend(parsed.ok().map(|parsed| (text.clone(), parsed.canonical)));
            }
        }
        Ok(canonical)
    }

    async fn differences(&self, prepared: &Prepared, found: &Table) -> Result<Vec<Difference>, RunError> {
        let Some(wanted) = expected::afterwards(&prepared.change) else { return Ok(Vec::new()) };
        let canonical = self.canonical_types(&prepared.server, &[&wanted, found]).await?;
        let can = |word: &str| prepared.info.capabilities.iter().any(|known| known == word);
        let comparing = Comparing {
            canonical: &canonical,
            notes: &prepared.plan.notes,
            table_comment: can("table_comment"),
            field_comment: can("field_comment"),
            before: expected::current(&prepared.change),
        };
        Ok(comparing.run(&wanted, found))
    }

    fn context(&self) -> CallContext {
        let mut context = CallContext::new(self.id.clone());
        context.key = self.id.to_string();
        context.cancelled = self.cancelled.clone();
        context
    }
}

/// Names that the change or the plan makes must not be there, by the host's own look.
async fn nothing_in_the_way(session: &Session, change: &Change, plan: &CheckedPlan) -> Result<(), RunError> {
    let objects = Place::of(change, plan).objects(session).await.map_err(RunError::Database)?;
    let same = |one: &str, other: &str| schema::is_same_name(session.transport(), one, other);
    let there = |name: &str| objects.iter().any(|object| same(&object.name, name));
    let (wanted, own) = match change {
        Change::CreateTable(table) => (Some(&table.name.name), None),
        Change::RenameTable(change) | Change::RestoreTable(change) => {
            (Some(&change.new_name), Some(&change.current.name.name))
        }
        _ => (None, None),
    };
    // A name that differs from the table's own in case alone may be the table itself.
    let is_own = |name: &String| own.is_some_and(|own| same(own, name));
    if let Some(name) = wanted.filter(|name| !is_own(name) && there(name)) {
        return Err(RunError::NameTaken(format!("{name} is there already")));
    }
    match plan.new_names.iter().find(|name| there(&name.name)) {
        Some(name) => Err(RunError::NameTaken(format!(
            "the change needs the name {}, and something of that name is there",
            name.name
        ))),
        None => Ok(()),
    }
}

fn planned(step: &CheckedStep) -> StatementOutcome {
    StatementOutcome {
        purpose: step.purpose.clone(),
        sql: step.action.sql.to_string(),
        undo: step.undo.iter().map(|action| action.sql.to_string()).collect(),
        undo_complete: step.undo_complete,
        destroys: step.destroys,
        cost: step.cost.clone(),
        locks: step.locks.clone(),
        status: StatementStatus::Planned,
        error: None,
    }
}

/// A kind of thing, in a sentence.
fn a(kind: &str) -> String {
    match kind {
        "external" => "one that lies elsewhere".to_owned(),
        kind => format!("a {}", kind.replace('_', " ")),
    }
}

fn refusal(place: &str, rule: &'static str, message: &str) -> RunError {
    RunError::Refused(Refusal { place: place.to_owned(), token: None, rule, message: message.to_owned() })
}
