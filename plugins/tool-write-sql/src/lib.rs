//! The tool `write_sql`: SQL for a question in English or Chinese, by rules and without a model.
//!
//! It answers what it is sure of and refuses the rest. [`catalogue`] fetches tables and samples; from there on all
//! is plain data: [`words`] reads the question, `understand` finds what it asks, `plan` decides the query, `sql`
//! writes it, `explain` says what was assumed.

pub mod answer;
pub mod calendar;
mod catalogue;
mod could;
mod explain;
mod joins;
mod labels;
mod plan;
pub mod schema;
mod sql;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod understand;
mod words;

use lakeport_sdk::serde_json::{self, Value, json};
use lakeport_sdk::tool::{Context, Error, Outcome, Tool, ToolInfo, clock, config, guard};

use answer::{Answer, answer};
use calendar::Day;
use catalogue::Source;
use understand::meaning::Unclear;

/// The longest question, in characters.
const QUESTION_MAX_CHARS: u32 = 2_000;
/// Tables that can be named at most.
const TABLES_MAX: usize = 50;
/// How long it may take, in milliseconds: samples are queries.
const TIMEOUT_MS: u32 = 20_000;

struct WriteSql;

impl Tool for WriteSql {
    fn describe() -> ToolInfo {
        ToolInfo {
            title: "Write SQL".to_owned(),
            timeout_ms: TIMEOUT_MS,
            optional_needs: vec!["samples".to_owned()],
            ..ToolInfo::new(
                "write_sql",
                env!("CARGO_PKG_VERSION"),
                "Writes SQLite SQL for one question in English or Chinese over the tables of a data source: counts, \
                 sums, averages, rankings, groups, trends over days, filters by values, numbers and dates, joins. \
                 It names every assumption in `explanation`, and fails with cannot_answer where a word of the \
                 question means nothing to it. Run the SQL with run_sql.",
                &input_schema(),
                &output_schema(),
            )
        }
    }

    fn call(input: String, context: Context) -> Result<Outcome, Error> {
        let input: Value = serde_json::from_str(&input)?;
        let question =
            input["question"].as_str().ok_or_else(|| Error::invalid_input("`question` must be a text"))?;
        let tables: Vec<String> = input["tables"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        let zone = config::time_zone();
        let now = clock::to_local(clock::now(), &zone)?;
        let today = Day::read(&now).ok_or_else(|| Error::internal(format!("{now:?} is no time")))?;
        let chinese = context.language.starts_with("zh");
        let first = context.default_datasource.as_deref();
        let sources = catalogue::sources(question, input["datasource"].as_str(), first, &tables, chinese)?;
        let (datasource, answer) = best(question, sources, today, chinese)?;
        checked(&datasource, &answer)?;
        Ok(Outcome::new(&json!({
            "datasource": datasource,
            "sql": answer.sql,
            "title": answer.title,
            "explanation": answer.explanation,
            "tables": answer.tables,
            "shape": answer.shape,
            "measures": answer.measures,
        })))
    }
}

/// The first data source that has an answer; they come in the order in which they are preferred.
fn best(question: &str, sources: Vec<Source>, today: Day, chinese: bool) -> Result<(String, Answer), Error> {
    let mut refusals: Vec<Unclear> = Vec::new();
    let mut could = Vec::new();
    for mut source in sources {
        source.sample(question, today);
        match answer(question, &source.schema, today) {
            Ok(answer) => return Ok((source.schema.datasource, answer)),
            Err(unclear) => refusals.push(unclear),
        }
        could.extend(could::questions(question, &source.schema, today, chinese));
    }
    // A source that knows all the words tells more than one that does not.
    let told = refusals.iter().find(|unclear| !matches!(unclear, Unclear::Word(_))).or(refusals.first());
    let message =
        told.map_or_else(|| explain::no_tables(chinese), |unclear| explain::refusal(unclear, chinese));
    let error = Error::new("cannot_answer", message);
    Err(could
        .into_iter()
        .take(could::QUESTIONS_MAX)
        .fold(error, |error, question| error.with("could", question)))
}

/// The host would refuse to run what its guard refuses; better to hear of it now.
fn checked(datasource: &str, answer: &Answer) -> Result<(), Error> {
    let verdict = guard::check(datasource, &answer.sql)?;
    match (verdict.allowed, verdict.refusal) {
        (true, _) => Ok(()),
        (false, Some(refusal)) => Err(refusal),
        (false, None) => {
            Err(Error::new("guard_refused", "the SQL guard refuses the statement that was written"))
        }
    }
}

fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "question": {
                "type": "string",
                "minLength": 1,
                "maxLength": QUESTION_MAX_CHARS,
                "description": "one question, complete in itself",
            },
            "datasource": {
                "type": "string",
                "minLength": 1,
                "description": "the data source to ask; absent: whichever has the tables",
            },
            "tables": {
                "type": "array",
                "items": {"type": "string", "minLength": 1},
                "maxItems": TABLES_MAX,
                "description": "names of the tables to use; absent: those that fit",
            },
        },
        "required": ["question"],
        "additionalProperties": false,
    })
}

fn output_schema() -> Value {
    let text = json!({"type": "string"});
    let texts = json!({"type": "array", "items": text});
    json!({
        "type": "object",
        "properties": {
            "datasource": text,
            "sql": text,
            "title": text,
            "explanation": text,
            "tables": texts,
            "shape": {"type": "string", "enum": ["value", "series", "ranking", "table"]},
            "measures": texts,
        },
        "required": ["datasource", "sql", "title", "explanation", "tables", "shape", "measures"],
        "additionalProperties": false,
    })
}

lakeport_sdk::tool!(WriteSql);
