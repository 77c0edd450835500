//! Checks the dialect with the host's own judges: its description, all golden statements, all queries.
//!
//! The dialect's types and the host's are generated separately from one contract; here they are converted.

mod cases;
mod clauses;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use lakeport_carry as carry;
use lakeport_sdk::dialect::Dialect;
use lakeport_sql::{CheckedAction, CheckedPlan, Profile, check_plan};

use crate::Doris;
use cases::Case;
use clauses::Clause;

fn profile() -> Profile {
    let info = carry::info(Doris::describe());
    Profile::new(&info).unwrap_or_else(|problems| panic!("the description is refused: {problems:?}"))
}

fn checked(case: &Case) -> Result<CheckedPlan, String> {
    let planned = Doris::plan(case.server.clone(), (case.change)()).map_err(|problems| {
        problems
            .iter()
            .map(|one| format!("{}: {}: {}", one.member, one.code, one.message))
            .collect::<Vec<_>>()
            .join("\n")
    })?;
    let again = Doris::plan(case.server.clone(), (case.change)());
    assert!(
        again.is_ok_and(|again| again == planned),
        "{}: planned twice, it planned in two ways",
        case.name
    );
    check_plan(&profile(), &carry::change((case.change)()), &carry::plan(planned))
        .map_err(|refused| panic!("{}: the host refuses the plan: {refused}", case.name))
}

fn action(text: &mut String, product: &'static [Clause], prefix: &str, action: &CheckedAction) {
    let rests_on = |sql: &str| clauses::of(product, sql).unwrap_or_else(|| panic!("{sql} rests on nothing"));
    let clause = rests_on(action.sql.as_str()).split(':').next().unwrap_or_default();
    writeln!(text, "{prefix}{};", action.sql).unwrap();
    writeln!(text, "--   rests on: {clause}").unwrap();
    // After a crash, the host looks for a running statement by this text.
    let sql = action.sql.as_str();
    assert_eq!(action.probe.is_some(), clauses::may_run_on(sql), "{sql}: whether it can be asked for");
    if let Some(probe) = &action.probe {
        writeln!(text, "--   asks: {};", probe.query.sql).unwrap();
        let abort = probe.abort.as_ref().map(ToString::to_string).unwrap_or_default();
        rests_on(&probe.query.sql);
        rests_on(&abort);
        writeln!(text, "--   stops: {abort};").unwrap();
    }
}

fn written(product: &'static [Clause], cases: &[Case]) -> String {
    let mut text = String::new();
    for case in cases {
        writeln!(text, "-- {}", case.name).unwrap();
        match checked(case) {
            Err(problems) => {
                for line in problems.lines() {
                    writeln!(text, "-- refused: {line}").unwrap();
                }
            }
            Ok(plan) => {
                for step in &plan.steps {
                    let destroys = if step.destroys { ", destroys" } else { "" };
                    writeln!(text, "-- {} ({}, {}{destroys})", step.purpose, step.cost, step.locks).unwrap();
                    action(&mut text, product, "", &step.action);
                    for undo in &step.undo {
                        action(&mut text, product, "-- undo: ", undo);
                    }
                    if !step.undo.is_empty() && !step.undo_complete && !step.destroys {
                        text.push_str("-- its undo does not bring everything back\n");
                    }
                }
                for note in &plan.notes {
                    writeln!(text, "-- note: {}: {}", note.member, note.message).unwrap();
                }
            }
        }
        text.push('\n');
    }
    text
}

/// Checks the file or, if `GOLDEN` is set, writes it.
fn holds(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden").join(name);
    if std::env::var_os("GOLDEN").is_some() {
        fs::write(&path, text).unwrap();
    }
    let golden = fs::read_to_string(&path).unwrap();
    for (line, (is, should)) in text.lines().zip(golden.lines()).enumerate() {
        assert_eq!(is, should, "{name}, line {}", line + 1);
    }
    assert_eq!(text.lines().count(), golden.lines().count(), "{name}");
}

#[test]
fn doris_statements_are_those_of_the_golden_file() {
    holds("doris.sql", &written(&clauses::DORIS, &cases::doris()));
}

#[test]
fn starrocks_statements_are_those_of_the_golden_file() {
    holds("starrocks.sql", &written(&clauses::STARROCKS, &cases::starrocks()));
}
