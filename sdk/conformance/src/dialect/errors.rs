//! Impossible requests give errors and cause no failure.

use lakeport_bindings::dialect::planner::{Change, OtherChange};
use lakeport_bindings::dialect::schema::{DefaultValue, Field, Table};

use super::samples::{self, Samples};
use super::trial::{Trial, Verdict, shown};
use crate::report::Area;

/// Texts that are not a type in any database.
const NO_TYPES: [&str; 8] = [
    "NO_SUCH_TYPE",
    "NO SUCH TYPE",
    "VARCHAR(",
    "INTEGER)",
    "INTEGER; DROP TABLE x",
    "INTEGER DEFAULT 1",
    "'INTEGER'",
    "VARCHAR(99999999999999999999)",
];

/// Runs the cases.
pub async fn errors(trial: &mut Trial, samples: &Samples) {
    no_types(trial).await;
    for (what, change) in impossible(samples) {
        let verdict = trial.judge(Area::Errors, what, &change).await;
        if let Verdict::Planned(plan) = verdict
            && !plan.steps.is_empty()
        {
            let place = format!("{}, {}: {what}", trial.server.product, super::trial::operation(&change));
            let planned = format!("it is planned: {}", shown(plan.steps[0].action.sql.as_str()));
            let why = "what cannot be, or is about something else than a table, is refused with a problem";
            trial.report.add(Area::Errors, &place, planned, why);
        }
    }
    for (what, change) in strange(samples) {
        trial.judge(Area::Errors, what, &change).await;
    }
    let known = trial.server.clone();
    for (version, facts) in
        [("", "{}"), ("none", "{}"), ("99999999999.0", "{}"), ("8.0.0", "[]"), ("8.0.0", "null")]
    {
        (trial.server.version, trial.server.facts) = (version.to_owned(), facts.to_owned());
        let change = Change::CreateTable(samples.orders());
        trial.judge(Area::Errors, &format!("version {version:?}, facts {facts}"), &change).await;
    }
    trial.server = known;
    trial.server.product = "Nobody's".to_owned();
    trial.judge(Area::Errors, "an unknown product", &Change::CreateTable(samples.orders())).await;
}

async fn no_types(trial: &mut Trial) {
    let mut texts: Vec<String> = NO_TYPES.map(str::to_owned).into();
    let refused = texts.len();
    texts.extend([
        String::new(),
        " ".to_owned(),
        "A".repeat(100_000),
        "ARRAY<".repeat(5_000),
        "(".repeat(5_000),
    ]);
    let Some(answers) = trial.parse(Area::Errors, &texts).await else { return };
    for (text, answer) in texts.iter().zip(answers).take(refused) {
        let place = format!("{}, planner.parse-types, {}", trial.server.product, shown(text));
        let what = format!("it is taken: {answer:?}");
        let why =
            "a text that is not a type must be refused with a problem, before it is part of a statement";
        trial.report.expect(Area::Errors, answer.is_err(), &place, &what, why);
    }
}

/// Changes that no dialect can plan.
fn impossible(samples: &Samples) -> Vec<(&'static str, Change)> {
    let of_kind = |kind: &str| Table { kind: kind.to_owned(), ..samples.orders() };
    let unknown = |operation: &str, current| {
        let input = "{}".to_owned();
        Change::Other(OtherChange { operation: operation.to_owned(), current, input })
    };
    let twice = Table { keys: vec!["id".to_owned(), "id".to_owned()], ..samples.orders() };
    let nobody = vec!["nobody".to_owned()];
    vec![
        ("no fields", Change::CreateTable(samples::table("orders", Vec::new()))),
        ("a key of no field", Change::CreateTable(Table { keys: nobody.clone(), ..samples.orders() })),
        ("a key of one field twice", Change::CreateTable(twice)),
        ("a partition of no field", Change::CreateTable(Table { partition: nobody, ..samples.orders() })),
        ("a view", Change::CreateTable(of_kind("view"))),
        ("a view", samples::add(of_kind("view"), samples.number("more"))),
        ("a view", samples::drop_field(of_kind("view"), "note")),
        ("a materialized view", samples::drop_field(of_kind("materialized_view"), "note")),
        ("an external table", samples::alter(of_kind("external"), "note", |field| field.nullable = false)),
        ("a type that is none", samples::add(samples.orders(), samples::field("more", "NO_SUCH_TYPE"))),
        ("a field that is not there", samples::drop_field(samples.orders(), "nobody")),
        ("an unknown change", unknown("make_coffee", None)),
        ("an unknown change", unknown("make_coffee", Some(samples.orders()))),
    ]
}

/// Changes that may be refused or planned, but must not fail.
fn strange(samples: &Samples) -> Vec<(&'static str, Change)> {
    let mut nameless = samples.orders();
    nameless.name.name = String::new();
    let mut empty = samples.orders();
    empty.fields.clear();
    empty.keys.clear();
    let default = |value: DefaultValue| Field { defaults_to: value, ..samples.number("more") };
    vec![
        ("no name", Change::CreateTable(nameless)),
        ("no new name", samples::rename(samples.orders(), "")),
        ("a field without a name", samples::add(samples.orders(), samples.number(""))),
        ("the same name", samples::rename(samples.orders(), "orders")),
        ("nothing different", samples::alter(samples.orders(), "note", |_| {})),
        ("a table without fields", samples::add(empty.clone(), samples.number("more"))),
        ("a table without fields", samples::drop_field(empty.clone(), "note")),
        ("a field that is not there", samples::alter(empty, "note", |field| field.nullable = false)),
        ("no buckets", samples::buckets(samples.orders(), 0)),
        ("too many buckets", samples::buckets(samples.orders(), u32::MAX)),
        ("no copies", samples::replicas(samples.orders(), 0)),
        ("too many copies", samples::replicas(samples.orders(), u32::MAX)),
        ("a text for a number", samples::add(samples.orders(), default(DefaultValue::Text("x".to_owned())))),
        ("a time for a number", samples::add(samples.orders(), default(DefaultValue::Now(255)))),
        ("a truth for a number", samples::add(samples.orders(), default(DefaultValue::Boolean(true)))),
        ("no number", samples::add(samples.orders(), default(DefaultValue::Number(String::new())))),
    ]
}
