//! Turns a question and a schema into SQL, or into the reason why there is none. Plain data on both sides:
//! the tests run this.

use std::collections::BTreeSet;

use crate::calendar::{Day, Unit};
use crate::explain;
use crate::known::Known;
use crate::labels::Labels;
use crate::plan::{
    self,
    query::{Column, Expr, Query},
};
use crate::schema::Schema;
use crate::sql;
use crate::understand::meaning::{Group, Meaning, Measure, Unclear};
use crate::understand::{self, Read, Several};
use crate::words::chinese::is_han;

/// An answer to a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub sql: String,
    pub title: String,
    pub explanation: String,
    pub tables: Vec<String>,
    pub shape: &'static str,
    /// Names of the numeric columns.
    pub measures: Vec<String>,
    /// Numeric columns whose values add up: counts of rows and sums, neither averages nor distinct counts.
    pub summed: Vec<String>,
    /// The unit of a series' first column.
    pub unit: Option<&'static str>,
    /// The number of tables that the question names: how well the question fits this schema.
    pub things: usize,
    /// The answer's row limit; with so many rows there may be more.
    pub limit: Option<u64>,
}

/// Whether a text is Chinese.
pub fn is_chinese(text: &str) -> bool {
    text.chars().any(is_han)
}

/// SQL for a question.
pub fn answer(question: &str, schema: &Schema, today: Day) -> Result<Answer, Unclear> {
    answer_of(question, &Known::of(schema), today)
}

/// The same for further questions about one schema.
pub fn answer_of(question: &str, known: &Known<'_>, today: Day) -> Result<Answer, Unclear> {
    let read = understand::read(question, known, today);
    let first = answer_with(question, &read, known, None, today);
    let Err(Unclear::Ambiguous(word)) = first else { return first };
    // Several tables have something of that name: the one by which the question can be answered, or else by fewer joins.
    let mut found: Vec<((u8, usize), Answer)> = Vec::new();
    let Some(kind) = read.ambiguous_kind(&word) else {
        return Err(Unclear::Ambiguous(word));
    };
    for table in read.tables() {
        if let Ok(answer) = answer_with(question, &read, known, Some(table), today) {
            let layer = layer(&known.schema.table(table).name);
            found.push(((layer, answer.tables.len()), answer));
        }
    }
    found.sort_by_key(|(cost, _)| *cost);
    found.dedup_by(|(_, one), (_, other)| one.sql == other.sql);
    match &found[..] {
        // A state of a thing and a state of what happened to it are different questions.
        [_, _, ..] if kind == Several::Values => Err(Unclear::Ambiguous(word)),
        [] => Err(Unclear::Ambiguous(word)),
        [(one, _), (other, _), ..] if one == other => Err(Unclear::Ambiguous(word)),
        _ => Ok(found.swap_remove(0).1),
    }
}

/// How far a table is from what happened, by the prefix of its name: details before what was taken in, before summaries.
pub fn layer(name: &str) -> u8 {
    match name.split('_').next().unwrap_or_default().to_lowercase().as_str() {
        "dws" => 2,
        "ads" => 3,
        "ods" | "stg" => 1,
        _ => 0,
    }
}

fn answer_with(
    question: &str,
    read: &Read,
    known: &Known<'_>,
    preferred: Option<usize>,
    today: Day,
) -> Result<Answer, Unclear> {
    let schema = known.schema;
    let labels = Labels { schema, chinese: is_chinese(question) };
    let meaning = read.meaning(known, preferred)?;
    let things = things(&meaning);
    let query = plan::plan(known, meaning, labels, today)?;
    Ok(Answer {
        things,
        sql: sql::write(&query, labels),
        title: explain::title(&query, labels),
        explanation: explain::explanation(&query, labels) + &explain::repairs(&read.repaired, labels.chinese),
        tables: tables(&query, schema),
        shape: query.shape.word(),
        measures: named(&query, |_| true),
        summed: named(&query, Expr::adds_up),
        unit: query.unit.map(Unit::word),
        limit: query.rows_told(),
    })
}

fn things(meaning: &Meaning) -> usize {
    let counted = meaning.measures.iter().chain(meaning.having.iter().map(|(measure, ..)| measure));
    let counted = counted.filter_map(|measure| match measure {
        Measure::Count(table) => Some(*table),
        Measure::Different(_) | Measure::Made(..) | Measure::Share(_) => None,
    });
    let grouped = meaning.groups.iter().filter_map(|group| match group {
        Group::Table(table) => Some(*table),
        Group::Field(_) => None,
    });
    meaning.tables.iter().copied().chain(counted).chain(grouped).collect::<BTreeSet<usize>>().len()
}

/// Names of the numeric columns with this kind of expression.
fn named(query: &Query, made: impl Fn(Expr) -> bool) -> Vec<String> {
    let fits = |column: &&Column| column.measure && made(column.expr);
    query.columns.iter().filter(fits).map(|column| column.alias.clone()).collect()
}

fn tables(query: &Query, schema: &Schema) -> Vec<String> {
    let related = query.absent.iter().chain(&query.present).flat_map(|related| {
        std::iter::once(related.child.table).chain(related.steps.iter().map(|step| step.to()))
    });
    let all = std::iter::once(query.from).chain(query.joins.iter().map(|step| step.to())).chain(related);
    let mut names: Vec<String> = Vec::new();
    for table in all {
        let name = &schema.table(table).name;
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}
