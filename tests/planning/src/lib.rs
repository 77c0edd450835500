//! How well the rules answer questions: databases of given schemas with generated rows, questions with their right SQL, and
//! catalogues of many tables.

mod catalogue;
mod fillings;
mod rows;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, SqliteConnection};
use tool_write_sql::answer::{Answer, answer_after};
use tool_write_sql::calendar::Day;
use tool_write_sql::known::Known;
use tool_write_sql::schema::{Field, Schema, Table};

pub use catalogue::{Catalogue, other_tables};
pub use fillings::Shape;
pub use rows::{Rows, are_same};

/// The most values of a field that the rules see.
const VALUES_MAX: i64 = 20;

/// A question with its right statements, of which one must give the same rows.
#[derive(Debug, Clone)]
pub struct Question {
    pub database: String,
    /// The messages before it.
    pub earlier: Vec<String>,
    pub text: String,
    pub right: Vec<String>,
}

/// How an answer compares with the right ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Right,
    /// The right rows, with further columns beside them.
    Wider,
    Wrong,
    Refused,
}

/// A question that was tried.
#[derive(Debug, Clone)]
pub struct Tried {
    pub question: Question,
    pub verdict: Verdict,
    /// What the rules said: their statement, or why there is none.
    pub said: String,
    /// How many of the rules' choices may be others.
    pub doubts: u32,
}

/// The schemas and questions of a folder with `schemas.json` and `questions.json`, in the form of the public sets.
pub fn of_folder(folder: &Path) -> Result<(BTreeMap<String, Shape>, Vec<Question>)> {
    let read = |name: &str| -> Result<Value> {
        let path = folder.join(name);
        let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        Ok(serde_json::from_str(&text)?)
    };
    let mut shapes = BTreeMap::new();
    for schema in read("schemas.json")?.as_array().context("a list of schemas")? {
        let shape = Shape::of(schema)?;
        shapes.insert(shape.name.clone(), shape);
    }
    let question = |one: &Value| {
        let text = |name: &str| Some(one[name].as_str()?.to_owned());
        let right = vec![text("query")?];
        Some(Question { database: text("db_id")?, earlier: Vec::new(), text: text("question")?, right })
    };
    let questions = read("questions.json")?;
    let questions: Option<Vec<Question>> =
        questions.as_array().context("a list of questions")?.iter().map(question).collect();
    Ok((shapes, questions.context("each question has a database, a text and a query")?))
}

/// The folder of thirty schemas with their questions, in the form of the public sets.
pub fn own_schemas() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("questions/thirty")
}

/// The tables of a database as the rules see them. `comment_of` gives the comments of a table and of its fields.
pub async fn schema_of(
    name: &str,
    database: &mut SqliteConnection,
    comment_of: impl Fn(&str, Option<&str>) -> String,
) -> Result<Schema> {
    let tables: Vec<(String,)> =
        sqlx::query_as("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")
            .fetch_all(&mut *database)
            .await?;
    let mut schema = Schema { datasource: name.to_owned(), ..Schema::default() };
    for (table,) in tables {
        let columns: Vec<(String, String, i64)> =
            sqlx::query_as("SELECT name, type, pk FROM pragma_table_info(?)")
                .bind(&table)
                .fetch_all(&mut *database)
                .await?;
        let mut fields = Vec::new();
        for (column, type_text, key) in columns {
            let is_text =
                !["INT", "REAL", "NUM", "BOOL"].iter().any(|kind| type_text.to_uppercase().contains(kind));
            let values =
                if is_text { rows::values(database, &table, &column, VALUES_MAX).await? } else { Vec::new() };
            let comment = comment_of(&table, Some(&column));
            fields.push(Field { name: column, type_text, comment, key: key > 0, values });
        }
        let comment = comment_of(&table, None);
        schema.tables.push(Table { database: None, name: table, comment, fields, tags: Vec::new() });
    }
    Ok(schema)
}

/// The rules' answer to a question.
pub fn asked(question: &Question, known: &Known<'_>, today: Day) -> Result<Answer, String> {
    answer_after(&question.text, &question.earlier, known, today).map_err(|unclear| format!("{unclear:?}"))
}

/// Tries a question on databases of one schema with different rows: the answer must be right on all.
pub async fn tried(
    question: &Question,
    known: &Known<'_>,
    today: Day,
    databases: &mut [SqliteConnection],
) -> Result<Tried> {
    let answer = match asked(question, known, today) {
        Ok(answer) => answer,
        Err(said) => {
            return Ok(Tried { question: question.clone(), verdict: Verdict::Refused, said, doubts: 0 });
        }
    };
    let mut verdict = Verdict::Wrong;
    for right in &question.right {
        let mut of_one = Verdict::Right;
        for database in databases.iter_mut() {
            let wanted = rows::read(database, right).await?;
            let is_ordered = is_ordered(right);
            of_one = match rows::read(database, &answer.sql).await {
                Ok(found) if are_same(&found, &wanted, is_ordered, false) => of_one,
                Ok(found) if are_same(&found, &wanted, is_ordered, true) => Verdict::Wider,
                // A calendar has rows of units without any.
                Ok(found) if answer.shape == "series" && wanted.len() > 1 => {
                    let (found, wanted) = (rows::without_empty(&found), rows::without_empty(&wanted));
                    match wanted.is_empty() {
                        false if are_same(&found, &wanted, false, false) => of_one,
                        false if are_same(&found, &wanted, false, true) => Verdict::Wider,
                        _ => Verdict::Wrong,
                    }
                }
                _ => Verdict::Wrong,
            };
            if of_one == Verdict::Wrong {
                break;
            }
        }
        match of_one {
            Verdict::Right => {
                verdict = Verdict::Right;
                break;
            }
            Verdict::Wider => verdict = Verdict::Wider,
            _ => {}
        }
    }
    Ok(Tried { question: question.clone(), verdict, said: answer.sql, doubts: answer.doubts })
}

/// Whether a statement orders its rows, and not only those of a part of it.
fn is_ordered(sql: &str) -> bool {
    let lower = sql.to_lowercase();
    let depth = |at: usize| {
        let before = &lower[..at];
        before.matches('(').count() - before.matches(')').count()
    };
    lower.match_indices("order by").any(|(at, _)| depth(at) == 0)
}

/// A set of questions about one database, with the tables as the rules see them.
pub struct Set {
    pub schema: Schema,
    pub database: SqliteConnection,
    pub questions: Vec<Question>,
}

/// The day on which the questions of the own sets are asked.
pub const ASKED_ON: &str = "2026-11-27";

/// Questions of a manager about the demo's company, in English and Chinese.
pub async fn company() -> Result<Set> {
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/demo");
    let rows = std::fs::read_to_string(demo.join("company.sql"))?.replace("{today}", ASKED_ON);
    set("company", &rows, &demo.join("catalog.json"), include_str!("../questions/company.json")).await
}

/// Questions about the platform itself, in English and Chinese.
pub async fn platform() -> Result<Set> {
    let questions = Path::new(env!("CARGO_MANIFEST_DIR")).join("questions");
    let rows = std::fs::read_to_string(questions.join("platform.sql"))?;
    let comments = questions.join("platform-comments.json");
    set("platform", &rows, &comments, include_str!("../questions/platform.json")).await
}

async fn set(name: &str, rows: &str, comments: &Path, questions: &str) -> Result<Set> {
    let mut database = SqliteConnectOptions::new().in_memory(true).connect().await?;
    sqlx::raw_sql(AssertSqlSafe(rows.to_owned())).execute(&mut database).await?;
    let comments: Value = serde_json::from_str(&std::fs::read_to_string(comments)?)?;
    let comment_of = |table: &str, field: Option<&str>| {
        let found = comments["tables"].as_array().into_iter().flatten().find(|one| one["name"] == table);
        let comment = found.map(|one| field.map_or(&one["comment"], |field| &one["fields"][field]));
        comment.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let schema = schema_of(name, &mut database, comment_of).await?;
    let texts = |list: &Value| -> Vec<String> {
        list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut all = Vec::new();
    let listed: Value = serde_json::from_str(questions)?;
    for one in listed.as_array().context("a list of questions")? {
        for messages in one["questions"].as_array().into_iter().flatten() {
            let mut earlier = texts(messages);
            let text = earlier.pop().context("a question")?;
            all.push(Question { database: name.to_owned(), earlier, text, right: texts(&one["right"]) });
        }
    }
    Ok(Set { schema, database, questions: all })
}

impl Set {
    /// Tries all of its questions.
    pub async fn tried(self) -> Result<Vec<Tried>> {
        let today = Day::read(ASKED_ON).context("a day")?;
        let known = Known::of(&self.schema);
        let mut databases = [self.database];
        let mut all = Vec::new();
        for question in &self.questions {
            all.push(tried(question, &known, today, &mut databases).await?);
        }
        Ok(all)
    }
}
