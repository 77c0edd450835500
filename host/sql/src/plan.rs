//! Checks a plan before it runs, and holds the checked plan.
//!
//! Each statement, including undo and abort, must begin as its operation permits, use only the operation's
//! words, name only objects of the change or announced by the plan, and read back as intended. A plan that
//! fails is an error of the plugin; it names the step, the token and the rule.

use std::collections::BTreeSet;

use lakeport_bindings::dialect::planner::{Change, ChangePlan};
use lakeport_bindings::dialect::schema::TableName;
use lakeport_bindings::dialect::statements::{Action, Probe, ProbeRule, Step};
use lakeport_bindings::host::types::Problem;

use crate::bounds;
use crate::names;
use crate::profile::Profile;
use crate::read::{ReadStatement, read_statement};
use crate::rebuild::Ledger;
use crate::statement::{Check, Fault, fault};
use crate::subject::Subject;
use crate::write::Statement;

/// Steps of a plan: comments on all fields of a wide table take one step each.
pub const STEPS_MAX: usize = 2_000;
/// Statements of the undo of one step.
const UNDO_MAX: usize = 100;
/// Names that a plan may announce.
const NEW_NAMES_MAX: usize = 100;
/// The permitted values of a step's cost and locks.
const COSTS: [&str; 4] = ["metadata", "in_place", "rewrite", "unknown"];
const LOCKS: [&str; 5] = ["none", "brief", "writes", "all", "unknown"];

/// Why a plan or a recipe is refused, for the plugin's author. It counts against the plugin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refusal {
    /// The statement: `steps[2].undo[0]`; `plan` for the whole plan.
    pub place: String,
    /// The token, counted from 0.
    pub token: Option<usize>,
    /// The rule: `head` `words` `names` `new_names` `text_rule` `data_type` `expression` `host_value`
    /// `unknown_token` `shape` `reread` `limits` `rebuild` `probe` `transaction` `session`.
    pub rule: &'static str,
    /// The reason.
    pub message: String,
}

impl Refusal {
    pub(crate) fn at(place: String, found: Fault) -> Refusal {
        Refusal { place, token: found.token, rule: found.rule, message: found.message }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.place)?;
        if let Some(token) = self.token {
            write!(f, ", token {token}")?;
        }
        write!(f, ", rule {}: {}", self.rule, self.message)
    }
}

/// Why a plan cannot run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlanRefused {
    /// An error of the plugin.
    #[error("the dialect's plan was refused: {0}")]
    Plugin(Refusal),
    /// A text of the user's cannot be written for this database, code `not_representable`.
    #[error("{}", .0.message)]
    Text(Problem),
}

/// A checked plan.
#[derive(Clone, Debug)]
pub struct CheckedPlan {
    /// The operation, as in vocabularies.
    pub operation: String,
    /// In order.
    pub steps: Vec<CheckedStep>,
    /// All steps run in one transaction.
    pub transactional: bool,
    /// Whether the table is rebuilt.
    pub rebuilds: bool,
    /// Names that must not exist yet.
    pub new_names: Vec<TableName>,
    /// For the user.
    pub notes: Vec<Problem>,
}

/// One step.
#[derive(Clone, Debug)]
pub struct CheckedStep {
    /// For people.
    pub purpose: String,
    /// The action.
    pub action: CheckedAction,
    /// The actions that undo it, in order.
    pub undo: Vec<CheckedAction>,
    /// Whether undoing restores everything.
    pub undo_complete: bool,
    /// Whether it can lose data.
    pub destroys: bool,
    /// The contract's `step.cost`; unknown values become `unknown`.
    pub cost: String,
    /// The contract's `step.locks`, likewise.
    pub locks: String,
}

/// A statement and how to detect its end.
#[derive(Clone, Debug)]
pub struct CheckedAction {
    /// The text.
    pub sql: Statement,
    /// `None`: finished when the database accepts it.
    pub probe: Option<CheckedProbe>,
}

/// How to poll whether a change has finished.
#[derive(Clone, Debug)]
pub struct CheckedProbe {
    /// The query.
    pub query: ReadStatement,
    /// The column that identifies a job.
    pub key_column: Option<String>,
    /// The first rule that matches decides.
    pub rules: Vec<ProbeRule>,
    /// The outcome if none matches.
    pub otherwise: String,
    /// The outcome if there are no rows.
    pub when_empty: String,
    /// The column with the reason of a failure.
    pub message_column: Option<String>,
    /// The minimum between two polls, in milliseconds.
    pub poll_ms: u32,
    /// The statement that cancels the job.
    pub abort: Option<Statement>,
}

/// Checks a plan for a change. [`names::check_names`] has checked the names of the change before.
pub fn check_plan(profile: &Profile, change: &Change, plan: &ChangePlan) -> Result<CheckedPlan, PlanRefused> {
    whole(profile, change, plan)?;
    let subject = Subject::of(change, &plan.new_names);
    let planning = Planning { profile, subject: &subject };
    let mut steps = Vec::new();
    for (index, step) in plan.steps.iter().enumerate() {
        steps.push(planning.step(index, step, plan.transactional)?);
    }
    let rebuilds = planning.ledger(plan).map_err(|found| refused("plan", found))?;
    if rebuilds && !plan.transactional {
        return Err(refused("plan", fault("rebuild", "a table may be rebuilt only within one transaction")));
    }
    Ok(CheckedPlan {
        operation: subject.operation.clone(),
        steps,
        transactional: plan.transactional,
        rebuilds,
        new_names: plan.new_names.clone(),
        notes: plan.notes.clone(),
    })
}

/// Checks the steps and the announced names.
fn whole(profile: &Profile, change: &Change, plan: &ChangePlan) -> Result<(), PlanRefused> {
    if plan.steps.len() > STEPS_MAX {
        let message = format!("the plan has {} steps; {STEPS_MAX} at most", plan.steps.len());
        return Err(refused("plan", fault("limits", message)));
    }
    if plan.new_names.len() > NEW_NAMES_MAX {
        let message = format!("the plan announces {} names; {NEW_NAMES_MAX} at most", plan.new_names.len());
        return Err(refused("plan", fault("limits", message)));
    }
    let subject = Subject::of(change, &[]);
    let mut seen = BTreeSet::new();
    for (index, name) in plan.new_names.iter().enumerate() {
        let place = format!("newNames[{index}]");
        let mut found = Vec::new();
        names::check(profile, "table", &name.name, &place, &mut found);
        let wrong = if let Some(problem) = found.first() {
            problem.message.clone()
        } else if name.database != subject.database {
            format!("{}.{} is not in the database of the table", name.database, name.name)
        } else if subject.tables.contains(&name.name) || !seen.insert(&name.name) {
            format!("{} is not new", name.name)
        } else {
            continue;
        };
        return Err(refused(&place, fault("new_names", wrong)));
    }
    Ok(())
}

struct Planning<'a> {
    profile: &'a Profile,
    subject: &'a Subject,
}

impl Planning<'_> {
    fn step(&self, index: usize, step: &Step, transactional: bool) -> Result<CheckedStep, PlanRefused> {
        let operation = self.subject.operation.as_str();
        let place = format!("steps[{index}]");
        let action = self.action(&format!("{place}.action"), operation, &step.action, transactional)?;
        if step.undo.len() > UNDO_MAX {
            let message = format!("an undo has {} statements; {UNDO_MAX} at most", step.undo.len());
            return Err(refused(&place, fault("limits", message)));
        }
        let reverse = bounds::reverse(operation);
        let mut undo = Vec::new();
        for (index, action) in step.undo.iter().enumerate() {
            undo.push(self.action(&format!("{place}.undo[{index}]"), reverse, action, transactional)?);
        }
        let drops = matches!(operation, "drop_table" | "drop_field");
        Ok(CheckedStep {
            purpose: step.purpose.clone(),
            action,
            undo_complete: step.undo_complete && !undo.is_empty() && !drops,
            undo,
            destroys: step.destroys || drops,
            cost: known(&step.cost, &COSTS),
            locks: known(&step.locks, &LOCKS),
        })
    }

    fn action(
        &self,
        place: &str,
        operation: &str,
        action: &Action,
        transactional: bool,
    ) -> Result<CheckedAction, PlanRefused> {
        let sql = Check::run(self.profile, self.subject, operation, &action.statement)
            .map_err(|found| refused(place, found))?;
        let probe = match &action.probe {
            Some(_) if transactional => {
                let message = "a plan within one transaction has no probes";
                return Err(refused(place, fault("transaction", message)));
            }
            Some(probe) => Some(self.probe(place, probe)?),
            None => None,
        };
        Ok(CheckedAction { sql, probe })
    }

    fn probe(&self, place: &str, probe: &Probe) -> Result<CheckedProbe, PlanRefused> {
        let place = format!("{place}.probe");
        let outcomes = probe.rules.iter().map(|rule| &rule.outcome);
        for outcome in outcomes.chain([&probe.otherwise, &probe.when_empty]) {
            if !matches!(outcome.as_str(), "done" | "failed" | "running") {
                let message = format!("{outcome:?} is not done, failed or running");
                return Err(refused(&place, fault("probe", message)));
            }
        }
        let about: Vec<TableName> = self
            .subject
            .tables
            .iter()
            .map(|name| TableName { database: self.subject.database.clone(), name: name.clone() })
            .collect();
        let query = read_statement(self.profile, &probe.query, &about)
            .map_err(|error| refused(&place, fault("probe", error.message)))?;
        let abort = match probe.abort.as_slice() {
            [] => None,
            tokens => Some(
                Check::run(self.profile, self.subject, "abort", tokens)
                    .map_err(|found| refused(&format!("{place}.abort"), found))?,
            ),
        };
        Ok(CheckedProbe {
            query,
            key_column: probe.key_column.clone(),
            rules: probe.rules.clone(),
            otherwise: probe.otherwise.clone(),
            when_empty: probe.when_empty.clone(),
            message_column: probe.message_column.clone(),
            poll_ms: probe.poll_ms,
            abort,
        })
    }

    /// Simulates the plan, and then its undo from the last step to the first, where tables may be rebuilt.
    fn ledger(&self, plan: &ChangePlan) -> Result<bool, Fault> {
        let mut rebuilds = false;
        if bounds::of(&self.subject.operation).rebuilds {
            let mut forward = Ledger::new(self.subject);
            for step in &plan.steps {
                forward.play(&step.action.statement)?;
            }
            forward.end()?;
            rebuilds = forward.rebuilds;
        }
        if bounds::of(bounds::reverse(&self.subject.operation)).rebuilds {
            let mut back = Ledger::new(self.subject);
            for action in plan.steps.iter().rev().flat_map(|step| &step.undo) {
                back.play(&action.statement)?;
            }
            back.end()?;
        }
        Ok(rebuilds)
    }
}

fn refused(place: &str, found: Fault) -> PlanRefused {
    if found.not_representable {
        return PlanRefused::Text(Problem {
            member: String::new(),
            code: "not_representable".to_owned(),
            message: found.message,
        });
    }
    PlanRefused::Plugin(Refusal::at(place.to_owned(), found))
}

fn known(word: &str, words: &[&str]) -> String {
    if words.contains(&word) { word } else { "unknown" }.to_owned()
}

#[cfg(test)]
#[path = "plan_fuzz.rs"]
mod fuzz;

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
