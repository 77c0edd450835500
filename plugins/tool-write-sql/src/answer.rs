//! A question and a schema give SQL, or say why not. Plain data on both sides: this is what the tests run.

use crate::calendar::Day;
use crate::explain;
use crate::labels::Labels;
use crate::plan::{self, query::Query};
use crate::schema::Schema;
use crate::sql;
use crate::understand::meaning::Unclear;
use crate::understand::understand;
use crate::words::chinese::is_han;

/// An answer to a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub sql: String,
    pub title: String,
    pub explanation: String,
    pub tables: Vec<String>,
    pub shape: &'static str,
    /// Names of the columns with numbers.
    pub measures: Vec<String>,
}

/// Whether a text is Chinese.
pub fn is_chinese(text: &str) -> bool {
    text.chars().any(is_han)
}

/// SQL for a question.
pub fn answer(question: &str, schema: &Schema, today: Day) -> Result<Answer, Unclear> {
    let labels = Labels { schema, chinese: is_chinese(question) };
    let meaning = understand(question, schema, today)?;
    let query = plan::plan(schema, meaning, labels, today)?;
    Ok(Answer {
        sql: sql::write(&query, labels),
        title: explain::title(&query, labels),
        explanation: explain::explanation(&query, labels),
        tables: tables(&query, schema),
        shape: query.shape.word(),
        measures: query
            .columns
            .iter()
            .filter(|column| column.measure)
            .map(|column| column.alias.clone())
            .collect(),
    })
}

fn tables(query: &Query, schema: &Schema) -> Vec<String> {
    let absent = query.absent.iter().flat_map(|absent| {
        std::iter::once(absent.child.table).chain(absent.steps.iter().map(|step| step.to()))
    });
    let all = std::iter::once(query.from).chain(query.joins.iter().map(|step| step.to())).chain(absent);
    let mut names: Vec<String> = Vec::new();
    for table in all {
        let name = &schema.table(table).name;
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}
