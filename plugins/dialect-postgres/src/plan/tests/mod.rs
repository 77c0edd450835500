//! Every plan passes the host's own checks and becomes the text that would run.

mod plans;
mod refusals;

use lakeport_sdk::dialect::{
    AlterField, Change, ChangePlan, DefaultValue, Field, ServerInfo, Table, TableName,
};
use lakeport_sql::{CheckedPlan, Profile, check_plan};

use super::plan;
use crate::facts::{FieldFacts, TableFacts};

fn server() -> ServerInfo {
    ServerInfo { product: "PostgreSQL".to_owned(), version: "15.4".to_owned(), facts: "{}".to_owned() }
}

fn field(name: &str, type_text: &str) -> Field {
    Field::new(name, type_text)
}

/// `orders (id bigint key, note text default, total numeric(10,2))`, as it was read.
fn orders() -> Table {
    Table {
        extra: Some(TableFacts::default().to_json()),
        ..Table::new(
            TableName::new("shop", "orders"),
            vec![
                Field { nullable: false, key: true, ..field("id", "bigint") },
                Field { defaults_to: DefaultValue::Text("it's".to_owned()), ..field("note", "text") },
                field("total", "numeric(10,2)"),
            ],
        )
    }
}

fn with_facts(facts: &TableFacts) -> Table {
    Table { extra: Some(facts.to_json()), ..orders() }
}

fn with_field_facts(name: &str, facts: &FieldFacts) -> Table {
    let mut table = orders();
    for field in table.fields.iter_mut().filter(|field| field.name == name) {
        field.extra = facts.to_json();
    }
    table
}

fn alter(table: Table, name: &str, change: impl FnOnce(&mut Field)) -> Change {
    let before = table.fields.iter().find(|field| field.name == name).expect("the table has it").clone();
    let mut after = before.clone();
    change(&mut after);
    Change::AlterField(AlterField { current: table, before, after })
}

/// The plan as the host checked it.
fn checked(change: Change) -> (ChangePlan, CheckedPlan) {
    let planned = plan(&server(), &change).unwrap_or_else(|problems| panic!("{problems:?}"));
    let profile = Profile::new(&lakeport_carry::info(crate::describe::describe()))
        .unwrap_or_else(|found| panic!("{found:?}"));
    let checked =
        check_plan(&profile, &lakeport_carry::change(change), &lakeport_carry::plan(planned.clone()))
            .unwrap_or_else(|refused| panic!("{refused}"));
    assert_eq!(checked.transactional, !checked.steps.is_empty());
    (planned, checked)
}

fn sql(change: Change) -> Vec<String> {
    checked(change).1.steps.iter().map(|step| step.action.sql.to_string()).collect()
}

/// The undo, from the last step to the first.
fn undo(change: Change) -> Vec<String> {
    let (_, checked) = checked(change);
    checked.steps.iter().rev().flat_map(|step| &step.undo).map(|action| action.sql.to_string()).collect()
}

/// Members and codes of the problems.
fn refused(change: Change) -> Vec<(String, String)> {
    let problems = plan(&server(), &change).expect_err("the change is impossible");
    for problem in &problems {
        assert!(problem.message.len() > 15, "{problem:?}");
    }
    problems.into_iter().map(|problem| (problem.member, problem.code)).collect()
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(member, code)| ((*member).to_owned(), (*code).to_owned())).collect()
}
