//! Checks the description, and its promises against the plans.

use std::collections::{BTreeMap, BTreeSet};

use lakeport_bindings::dialect::planner::Change;
use lakeport_bindings::dialect::schema::Table;

use super::samples::{self, Samples};
use super::trial::{Trial, Verdict, operation, shown};
use crate::report::Area;

/// The capabilities that a dialect may declare.
const CAPABILITIES: [&str; 19] = [
    "table_comment",
    "field_comment",
    "add_field",
    "rename_field",
    "alter_type",
    "alter_nullable",
    "drop_field",
    "partition",
    "distribution",
    "buckets",
    "replicas",
    "transactional_ddl",
    "asynchronous_ddl",
    "database_recycle_bin",
    "ddl_text",
    "row_count_exact",
    "index_size",
    "access_log",
    "access_counters",
];
const FAMILIES: [&str; 14] = [
    "boolean", "integer", "decimal", "float", "text", "binary", "date", "time", "datetime", "json", "array",
    "map", "struct", "other",
];
const HINTS_MAX: usize = 20;
const HINT_MAX_CHARS: usize = 200;

/// The best outcome of planning; ordered from less to more.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    #[default]
    Unsupported,
    /// Planned with a note: changed or left out, which only people can judge.
    Noted,
    /// Planned, or refused for another reason.
    Done,
}

/// The plans over all servers.
#[derive(Default)]
pub struct Offered {
    /// By capability, of those that were tried.
    planned: BTreeMap<&'static str, Outcome>,
    transactional: bool,
    asynchronous: bool,
}

/// Checks the description itself. The host has checked that it is valid when it staged the plugin.
pub fn description(trial: &mut Trial, same: bool) {
    let info = trial.info.clone();
    let mut expect = |holds: bool, place: &str, what: String, why: &'static str| {
        trial.report.expect(Area::Contract, holds, &format!("about.describe, {place}"), &what, why);
    };
    expect(same, "all", "two loads, two descriptions".to_owned(), "it always answers the same");
    expect(!info.products.is_empty(), "products", "is empty".to_owned(), "a server is one of its products");
    for (place, text) in [("session.driverSettings", &info.session.driver_settings)]
        .into_iter()
        .chain(info.extra.as_ref().map(|extra| ("extra", extra)))
    {
        let object = serde_json::from_str::<serde_json::Value>(text).is_ok_and(|value| value.is_object());
        expect(
            object,
            place,
            format!("{} is not a JSON object", shown(text)),
            "it is an object, `{}` at least",
        );
    }
    let words = |place: &str,
                 value: &str,
                 known: &[&str],
                 expect: &mut dyn FnMut(bool, &str, String, &'static str)| {
        expect(
            known.contains(&value),
            place,
            format!("{value:?} is not one of {known:?}"),
            "a documented word",
        );
    };
    for capability in &info.capabilities {
        words("capabilities", capability, &CAPABILITIES, &mut expect);
    }
    let row_limits = ["limit_offset", "limit_comma", "fetch_first", "top"];
    words("sql.rowLimit", &info.sql.row_limit, &row_limits, &mut expect);
    words("databaseTerm", &info.database_term, &["database", "schema", "file"], &mut expect);
    words("cancel.how", &info.cancel.how, &["driver", "statement", "request", "close"], &mut expect);
    let strengths = ["enforced", "advisory", "none"];
    words("session.readOnlyStrength", &info.session.read_only_strength, &strengths, &mut expect);
    for one in &info.types {
        words(&format!("types, {}", one.name), &one.family, &FAMILIES, &mut expect);
        let known = |word: &str| info.type_words.iter().any(|known| known.eq_ignore_ascii_case(word));
        let unknown = one
            .name
            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .find(|w| !w.is_empty() && !known(w));
        let what = format!("{:?} is not among the type words", unknown.unwrap_or_default());
        expect(
            unknown.is_none(),
            &format!("types, {}", one.name),
            what,
            "a type is written with declared words",
        );
    }
    expect(!info.types.is_empty(), "types", "is empty".to_owned(), "users and models are shown the types");
    let short = |hint: &String| hint.chars().count() <= HINT_MAX_CHARS;
    let fits = info.sql.hints.len() <= HINTS_MAX && info.sql.hints.iter().all(short);
    expect(fits, "sql.hints", "too many or too long".to_owned(), "at most 20 of 200 characters");
    for kind in ["table", "field"] {
        let there = info.name_rules.iter().any(|rule| rule.applies_to == kind);
        let what = format!("no rule for the names of a {kind}");
        expect(
            there,
            "nameRules",
            what,
            "the host checks names before it plans; without a rule it takes 64 characters",
        );
    }
    let declared: BTreeSet<&str> = info.vocabularies.iter().map(|one| one.operation.as_str()).collect();
    for operation in ["create_table", "rename_table", "restore_table", "drop_table", "read"] {
        let what = format!("no words for {operation}");
        expect(
            declared.contains(operation),
            "vocabularies",
            what,
            "every dialect makes, renames and drops tables",
        );
    }
}

/// Plans every change on tables of every kind: each plan must be valid, or refused with a reason.
pub async fn changes(trial: &mut Trial, samples: &Samples, offered: &mut Offered) {
    for table in samples.tables(trial) {
        let verdict = trial.judge(Area::Contract, "a table", &Change::CreateTable(table.clone())).await;
        let plain = table.model.is_none() && table.distribution.is_empty() && table.partition.is_empty();
        if plain && !matches!(verdict, Verdict::Planned(_)) {
            let what = match &verdict {
                Verdict::Refused(problems) => super::trial::said(problems),
                _ => "see above".to_owned(),
            };
            let place = format!("{}, create_table: three fields and a key", trial.server.product);
            trial.report.add(Area::Contract, &place, what, "every dialect makes a plain table");
        }
        offered.note_layout("partition", !table.partition.is_empty(), &verdict);
        offered.note_layout("distribution", !table.distribution.is_empty(), &verdict);
        for (capability, change) in on(&table, samples) {
            let verdict = trial.judge(Area::Contract, "a plain one", &change).await;
            let always = matches!(operation(&change), "rename_table" | "restore_table" | "drop_table");
            if plain && always && !matches!(verdict, Verdict::Planned(_)) {
                let place = format!("{}, {}", trial.server.product, operation(&change));
                let why = "the recycle bin renames tables, brings them back and drops them";
                trial.report.add(Area::Contract, &place, "a plain table is not taken", why);
            }
            offered.note(capability, !capability.is_empty(), &verdict);
        }
    }
}

/// All kinds of changes of a table, with the capability that each needs.
fn on(table: &Table, samples: &Samples) -> Vec<(&'static str, Change)> {
    let current = || table.clone();
    let mut changes = vec![
        ("", samples::rename(current(), "bills")),
        ("", samples::restore(current(), "bills")),
        ("", samples::drop_table(current())),
        ("table_comment", samples::comment(current(), "what was ordered")),
        ("add_field", samples::add(current(), samples.text("more"))),
        ("rename_field", samples::alter(current(), "note", |field| field.name = "remark".to_owned())),
        ("field_comment", samples::alter(current(), "note", |field| field.comment = "a note".to_owned())),
        ("alter_nullable", samples::alter(current(), "note", |field| field.nullable = false)),
        ("drop_field", samples::drop_field(current(), "note")),
        ("buckets", samples::buckets(current(), 8)),
        ("replicas", samples::replicas(current(), 2)),
    ];
    for type_text in &samples.types {
        changes.push((
            "alter_type",
            samples::alter(current(), "total", |field| field.type_text = type_text.clone()),
        ));
    }
    changes
}

impl Offered {
    fn note(&mut self, capability: &'static str, asked: bool, verdict: &Verdict) {
        if let Verdict::Planned(plan) = verdict {
            self.transactional |= plan.transactional && !plan.steps.is_empty();
            let probed = |step: &lakeport_sql::CheckedStep| step.action.probe.is_some();
            self.asynchronous |= plan.steps.iter().any(probed);
        }
        if asked {
            self.raise(capability, outcome(verdict));
        }
    }

    /// A table may be planned without unsupported members, which a note then reports.
    fn note_layout(&mut self, capability: &'static str, asked: bool, verdict: &Verdict) {
        let is_noted = matches!(verdict, Verdict::Planned(plan) if !plan.notes.is_empty());
        self.note(capability, false, verdict);
        if asked {
            self.raise(capability, if is_noted { Outcome::Noted } else { outcome(verdict) });
        }
    }

    fn raise(&mut self, capability: &'static str, outcome: Outcome) {
        let known = self.planned.entry(capability).or_default();
        *known = outcome.max(*known);
    }
}

fn outcome(verdict: &Verdict) -> Outcome {
    let is_done = match verdict {
        Verdict::Planned(plan) => !plan.steps.is_empty(),
        Verdict::Refused(_) => !verdict.has_code("unsupported_by_dialect"),
        Verdict::Wrong => true,
    };
    if is_done { Outcome::Done } else { Outcome::Unsupported }
}

/// Compares the declared capabilities with the plans.
pub fn capabilities(trial: &mut Trial, offered: &Offered) {
    let declared: BTreeSet<String> = trial.info.capabilities.iter().cloned().collect();
    let mut compare = |capability: &str, planned: Outcome| {
        let says = declared.contains(capability);
        let what = if says {
            format!("{capability} is declared, but no change that needs it is planned")
        } else {
            format!("{capability} is not declared, but a change that needs it is planned")
        };
        let why = "forms offer what is declared; a plan has the last word and must not surprise";
        let agrees = planned == Outcome::Noted || says == (planned == Outcome::Done);
        trial.report.expect(Area::Contract, agrees, "about.describe, capabilities", &what, why);
    };
    for (capability, planned) in &offered.planned {
        compare(capability, *planned);
    }
    let seen = |was_seen: bool| if was_seen { Outcome::Done } else { Outcome::Unsupported };
    compare("transactional_ddl", seen(offered.transactional));
    compare("asynchronous_ddl", seen(offered.asynchronous));
}
