//! The largest inputs: names at their limit, long comments, wide tables, many types.

use lakeport_bindings::dialect::planner::Change;
use lakeport_bindings::dialect::schema::{DefaultValue, Field, Table};

use super::samples::{self, Samples};
use super::trial::Trial;
use crate::report::Area;

const COMMENT_CHARS: usize = 100_000;
const FIELDS: usize = 1_000;
/// As many as the host requests at once.
const TYPES: usize = 500;

/// Runs the cases.
pub async fn limits(trial: &mut Trial, samples: &Samples) {
    for change in names(trial, samples) {
        trial.judge(Area::Limits, "a name of the greatest length, and of one more", &change).await;
    }
    for (what, text) in [
        ("a long comment", "c".repeat(COMMENT_CHARS)),
        ("a long comment of three bytes a character", "注".repeat(COMMENT_CHARS)),
        ("a long comment of quotes", "'\"\\".repeat(COMMENT_CHARS / 3)),
    ] {
        let made = Table { comment: text.clone(), ..samples.orders() };
        let field = Field { comment: text.clone(), ..samples.text("more") };
        let default = Field { defaults_to: DefaultValue::Text(text.clone()), ..samples.text("more") };
        for change in [
            Change::CreateTable(made),
            samples::comment(samples.orders(), &text),
            samples::add(samples.orders(), field),
            samples::add(samples.orders(), default),
        ] {
            trial.judge(Area::Limits, what, &change).await;
        }
    }
    for change in wide(samples) {
        trial.judge(Area::Limits, "a table of a thousand fields", &change).await;
    }
    for digits in ["9".repeat(500), format!("0.{}1", "0".repeat(400)), "1e400".to_owned(), "-0".to_owned()] {
        let default = Field { defaults_to: DefaultValue::Number(digits), ..samples.number("more") };
        trial.judge(Area::Limits, "a long number", &samples::add(samples.orders(), default)).await;
    }
    let types: Vec<String> = samples.types.iter().cycle().take(TYPES).cloned().collect();
    trial.parse(Area::Limits, &types).await;
}

/// Names that fill the limit exactly, and some that exceed it.
fn names(trial: &Trial, samples: &Samples) -> Vec<Change> {
    let longest = |kind: &str, letter: char, more: usize| {
        let limit = trial.profile.names.get(kind).map(|limit| &limit.rule);
        let bytes = limit.is_some_and(|rule| rule.length_unit == "bytes");
        let max = limit.map_or(64, |rule| rule.max_length as usize);
        let count = if bytes { max / letter.len_utf8() } else { max };
        letter.to_string().repeat(count + more)
    };
    let mut changes = Vec::new();
    for letter in ['n', '表', '🦀'] {
        for more in [0, 1] {
            let (table, field) = (longest("table", letter, more), longest("field", letter, more));
            let mut made = samples.orders();
            made.name.name.clone_from(&table);
            made.fields[1].name.clone_from(&field);
            // The name of a companion table that a plan creates counts as well.
            let mut parted = made.clone();
            parted.partition = vec!["id".to_owned()];
            changes.extend([
                Change::CreateTable(made.clone()),
                Change::CreateTable(parted),
                samples::rename(samples.orders(), &table),
                samples::rename(made.clone(), "orders"),
                samples::add(made.clone(), samples.number("more")),
                samples::add(samples.orders(), samples.number(&field)),
                samples::alter(made.clone(), "total", |one| one.nullable = false),
                samples::alter(samples.orders(), "note", |one| one.name.clone_from(&field)),
                samples::drop_field(made, "total"),
            ]);
        }
    }
    changes
}

fn wide(samples: &Samples) -> Vec<Change> {
    let mut table = samples.orders();
    let more = (0..FIELDS).map(|number| {
        let field = samples.text(&format!("field_{number}"));
        Field { comment: format!("the field {number}"), ..field }
    });
    table.fields.extend(more);
    let mut keyed = table.clone();
    keyed.fields.iter_mut().for_each(|field| (field.key, field.nullable) = (true, false));
    keyed.keys = keyed.fields.iter().map(|field| field.name.clone()).collect();
    vec![
        Change::CreateTable(table.clone()),
        Change::CreateTable(keyed),
        samples::add(table.clone(), samples.number("more")),
        samples::alter(table.clone(), "field_500", |field| field.name = "other".to_owned()),
        samples::alter(table.clone(), "field_500", |field| field.type_text.clone_from(&samples.number)),
        samples::drop_field(table.clone(), "field_500"),
        samples::drop_table(table),
    ]
}
