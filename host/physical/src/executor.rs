//! The plan executor: the only code that changes a physical database.
//!
//! It reads the current table, gets a plan from the dialect, checks it and runs it. Within one transaction,
//! it reads the whole table back on the same session before the commit, and rolls back if the table is not as
//! the change should make it. Without a transaction it runs statement by statement, follows jobs that
//! continue in the database to their end, and undoes the finished statements if one fails. It checks the
//! dialect's statements about the database against the host's own queries wherever possible. It writes no
//! metadata and asks no user.

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
use tokio::sync::OnceCell;

use crate::compare::{Comparing, Difference};
use crate::database::Database;
use crate::expected;
use crate::lent::{Lent, Loan};
use crate::schema::{self, Place};
use crate::session::Session;

mod action;
mod execute;
mod look;

/// Time limit of the commit.
const OWN_TIMEOUT: Duration = Duration::from_secs(60);

/// The function that reads tables, as the place of a refusal.
const INSPECT: &str = "reader.inspect";

/// A requested change.
pub struct Request {
    /// The change. The current table in it (`current`, `before`) is read again.
    pub change: Change,
    /// True: only plan, change nothing.
    pub dry_run: bool,
}

/// How far the change came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunStatus {
    /// Nothing was run.
    Planned,
    /// All statements ran.
    Done,
    /// All effects were rolled back or undone.
    TakenBack,
    /// Some statements ran and could not be undone.
    Partly,
}

/// The outcome of one statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementStatus {
    /// Planned only.
    Planned,
    /// It was run.
    Done,
    /// The database refused it.
    Failed,
    /// It ran and was undone.
    Undone,
    /// It was not reached.
    NotRun,
}

/// One statement of the plan.
#[derive(Clone, Debug)]
pub struct StatementOutcome {
    /// The purpose, for people.
    pub purpose: String,
    /// The SQL text.
    pub sql: String,
    /// The statements that undo it.
    pub undo: Vec<String>,
    /// Whether undoing restores everything.
    pub undo_complete: bool,
    /// Whether it can lose data.
    pub destroys: bool,
    /// The contract's `step.cost`.
    pub cost: String,
    /// The contract's `step.locks`.
    pub locks: String,
    /// Its outcome.
    pub status: StatementStatus,
    /// The error of the statement or of its undo.
    pub error: Option<Error>,
}

/// The outcome of a change.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How far it came.
    pub status: RunStatus,
    /// All statements.
    pub statements: Vec<StatementOutcome>,
    /// Notes of the plan, for the user.
    pub notes: Vec<Problem>,
    /// The table as it was read back; `None` when nothing ran or the table no longer exists.
    pub table: Option<Table>,
    /// Differences from the expected result. After `TakenBack`: the reason.
    pub drift: Vec<Difference>,
    /// The error that ended it early.
    pub error: Option<Error>,
    /// The checked plan; `None` if the plan was empty.
    made: Option<Arc<Prepared>>,
}

/// Why a change was not attempted.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RunError {
    /// The request is invalid.
    #[error("the change cannot be made: {}", .0.iter().map(|problem| problem.message.as_str()).collect::<Vec<_>>().join("; "))]
    Invalid(Vec<Problem>),
    /// The dialect's plan broke a rule. This counts against the plugin.
    #[error("the dialect's plan was refused: {0}")]
    Refused(Refusal),
    /// The dialect failed or returned an error.
    #[error(transparent)]
    Dialect(#[from] CallError),
    /// The database could not be opened or read.
    #[error("{}", .0.message)]
    Database(Error),
    /// Another object already has a name that the change assigns.
    #[error("{0}")]
    NameTaken(String),
    /// The object is not a table that can be changed.
    #[error("{0}")]
    NotATable(String),
    /// Another client changed the table meanwhile.
    #[error("{0}")]
    Overtaken(String),
    /// The table, or the named field, does not exist.
    #[error("{0}")]
    NotFound(String),
}

/// Executes changes on one database with one dialect.
pub struct PlanExecutor<'a> {
    /// The database.
    pub database: &'a Database,
    /// The dialect. It stays with one generation.
    pub dialect: &'a Dialect,
    /// The data source's options, an object.
    pub options: &'a str,
    /// Identifies the change in logs: printable ASCII.
    pub id: Arc<str>,
    /// The server that the dialect named, asked once.
    pub server: &'a OnceCell<ServerInfo>,
    /// Set when the caller no longer waits for the answer.
    pub cancelled: Arc<AtomicBool>,
}

/// A checked plan and the change that it implements.
#[derive(Clone, Debug)]
struct Prepared {
    profile: Arc<Profile>,
    info: Arc<DialectInfo>,
    server: ServerInfo,
    change: Change,
    plan: CheckedPlan,
}

impl PlanExecutor<'_> {
    /// Plans the change and, unless it is a dry run, makes it.
    pub async fn run(&self, request: Request) -> Result<Outcome, RunError> {
        let dry_run = request.dry_run;
        let prepared = self.prepare(request).await.inspect_err(|error| {
            if let RunError::Refused(refusal) = error {
                let function = if refusal.place == INSPECT { INSPECT } else { "planner.plan" };
                self.dialect.blame(function, &self.id, &refusal.to_string());
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

    /// Waits until the database runs no job of a change that a server which is gone had begun. Returns an
    /// error if one still runs when the caller cancels.
    pub async fn wait_for_jobs(&self, change: Change) -> Result<(), RunError> {
        // A change that can no longer be planned was made, or conflicts with nothing.
        let Ok(prepared) = self.prepare(Request { change, dry_run: true }).await else { return Ok(()) };
        let mut session = self.database.open_to_read().await.map_err(RunError::Database)?;
        for probe in prepared.plan.steps.iter().filter_map(|step| step.action.probe.as_ref()) {
            self.follow_unknown(&mut session, probe).await.map_err(RunError::Database)?;
        }
        Ok(())
    }

    /// Reads the current state, gets the plan and checks it. Changes nothing.
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
        let ask = async || {
            let loan = Loan { profile: profile.clone(), about: Vec::new() };
            let lent = Box::new(Lent::of(session.clone(), loan));
            self.dialect.server(self.context(), lent, self.options).await
        };
        Ok(self.server.get_or_try_init(ask).await?.clone())
    }

    /// The change based on the current table.
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
                Some(_) => Err(RunError::NameTaken(format!("the table {} already exists", name.name))),
            };
        }
        let Some(mut table) = found else {
            return Err(RunError::NotFound(format!("there is no table {}", name.name)));
        };
        if table.kind != "table" {
            let message =
                format!("{} is {}, not a table; only tables can be changed", name.name, a(&table.kind));
            return Err(RunError::NotATable(message));
        }
        // A dialect must not get other tables changed by calling them companions.
        if !table.companions.is_empty() {
            let parts = schema::partitions(session, &name).await.map_err(RunError::Database)?;
            table.companions.retain(|other| parts.contains(other));
        }
        expected::brought_up(request.change, table)
            .map_err(|field| RunError::NotFound(format!("{} has no field {field}", name.name)))
    }

    /// Inspects one table on a read-only session; `None` if it does not exist.
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
                place: INSPECT.to_owned(),
                token: None,
                rule: "names",
                message: format!("it was asked for {} and answered {}", name.name, table.name.name),
            })),
            Some(Err(missing)) if missing.code == "not_found" => Ok(None),
            Some(Err(error)) => Err(RunError::Database(error)),
            None => Ok(None),
        }
    }

    /// Asks once, because a plan depends on its arguments alone: each call begins with fresh memory, a clock
    /// that stands still and constant random numbers, and gets no session.
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
            return Err(refusal("plan", "probe", "this database runs no jobs, so there is nothing to probe"));
        }
        Ok(checked)
    }

    /// The canonical spelling of all types of these tables.
    async fn canonical_types(
        &self,
        server: &ServerInfo,
        tables: &[&Table],
    ) -> Result<BTreeMap<String, String>, RunError> {
        /// Types per call, by the contract.
        const TYPES_MAX: usize = 500;
        let texts: BTreeSet<&String> =
            tables.iter().flat_map(|table| &table.fields).map(|field| &field.type_text).collect();
        let texts: Vec<String> = texts.into_iter().cloned().collect();
        let mut canonical = BTreeMap::new();
        for some in texts.chunks(TYPES_MAX) {
            let parsed = self.dialect.parse_types(self.context(), Some(server), some).await?;
            for (text, parsed) in some.iter().zip(parsed) {
                // A type that the dialect cannot parse is compared by its text.
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
        context.cancelled = self.cancelled.clone();
        context
    }
}

/// Checks by the host's own queries that the names which the change or the plan creates are free.
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
        return Err(RunError::NameTaken(format!("{name} already exists")));
    }
    match plan.new_names.iter().find(|name| there(&name.name)) {
        Some(name) => Err(RunError::NameTaken(format!(
            "the change needs the name {}, which is already taken",
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

/// A kind of object with its article.
fn a(kind: &str) -> String {
    match kind {
        "external" => "one that lies elsewhere".to_owned(),
        kind => format!("a {}", kind.replace('_', " ")),
    }
}

fn refusal(place: &str, rule: &'static str, message: &str) -> RunError {
    RunError::Refused(Refusal { place: place.to_owned(), token: None, rule, message: message.to_owned() })
}
