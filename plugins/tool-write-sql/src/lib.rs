//! The tool `write_sql`: SQL for a question in English or Chinese, by rules and without a model.
//!
//! It answers only questions that it understands completely and refuses the rest. [`catalogue`] loads tables
//! and samples; from there on all is plain data: [`words`] reads the question, `understand` finds its
//! meaning, `plan` decides the query, `sql` writes it, `explain` describes the assumptions. [`sources`] chooses between the
//! answers of several data sources.

pub mod answer;
mod beside;
pub mod calendar;
mod catalogue;
pub mod could;
mod dialect;
mod explain;
mod follow;
mod joins;
pub mod known;
mod labels;
mod naming;
mod plan;
pub mod schema;
mod scope;
mod sources;
mod sql;
mod sums;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_keys;
#[cfg(test)]
mod tests_of_managers;
#[cfg(test)]
mod tests_of_names;
#[cfg(test)]
mod tests_of_numbers;
#[cfg(test)]
mod tests_of_paraphrases;
#[cfg(test)]
mod tests_of_plans;
#[cfg(test)]
mod tests_of_shapes;
#[cfg(test)]
mod tests_of_turns;
mod understand;
pub mod which;
mod words;

use lakeport_sdk::serde_json::{self, Value, json};
use lakeport_sdk::tool::{Context, Error, Outcome, Tool, ToolInfo, catalog, clock, config, guard};

use answer::Answer;
use calendar::Day;
use known::Known;
use plan::algebra;
use sources::{Asked, SAMPLING_MS};
use words::phrases::Chart;

/// The setting for the beginning of fiscal years.
const FISCAL_MONTH: &str = "fiscalYearBegins";
/// The members of a query, for a model.
const QUERY_MEMBERS: &str = "instead of a question: a query as data. `from`: a table; `join`: [{table, on: [\"a.b_id\", \"b.id\"]}]; \
    `columns`: [{name, and one of field, rows: true, sum, average, least, greatest, median, present, different: \"table.field\", start: \
    day|week|month|quarter|year or cycle: weekday|hour, with of; beside sum or rows: true, per: \"table.field\" divides by the number of its values}]; `where`: [{field, and one of in, notIn: [texts], equal, notEqual, more, atLeast, less, \
    atMost: number or {average: \"all\"}, among: [numbers], between: [a, b], from/before: \"yyyy-MM-dd\", contains, beginsWith, endsWith: text, weekdays: [1..7], anyOf: \
    [tests], present: true}]; `groupBy` (by default the columns that are no numbers); `having`: [{number: {rows: true}, more: 5}]; `order`: [{sum: \"t.f\", descending: true}]; \
    `limit`, `offset` (rows before the first one that is shown); `every`: {unit, of, from, before} for a row of each calendar unit; \
    `fiscalYearBegins`: 4, 7 or 10, to call quarters by fiscal years; `compare`: {time, now: {from, before}, before: \
    {from, before}}; `derived`: [{name, and one of before, change, growth, ofTotal, sinceLast, cumulative: the column}]; \
    `firstOfEach`: {of: [{field}], rows, after}; `absent`: {key, in, where}, `present`: [these]; `share`: a condition, with the columns \
    share or part, percentages of all, or with `whole`, another condition, in a ratio to those rows; `ofGroups`: \"count\" or {average: …}; `keepAll`: true; `distinct`. `beside`: [queries of one row each], with no other member, for numbers side by side.";
/// The longest question, in characters.
const QUESTION_MAX_CHARS: u32 = 2_000;
/// The most tables of the input.
const TABLES_MAX: usize = 50;
/// The most earlier questions.
const EARLIER_MAX: usize = 10;
/// Time limit in milliseconds: samples are queries.
const TIMEOUT_MS: u32 = 20_000;
struct WriteSql;

impl Tool for WriteSql {
    fn describe() -> ToolInfo {
        ToolInfo {
            title: "Write SQL".to_owned(),
            timeout_ms: TIMEOUT_MS,
            optional_needs: vec!["samples".to_owned()],
            config_schema: config_schema().to_string(),
            ..ToolInfo::new(
                "write_sql",
                env!("CARGO_PKG_VERSION"),
                "Writes SQL for one question in English or Chinese over the tables of a data source: counts, \
                 sums, averages, rankings, groups, trends over days, filters by values, numbers and dates, joins. \
                 It names every assumption in `explanation`, and fails with cannot_answer where a word of the \
                 question means nothing to it. Instead of a question it takes a `query` as JSON, such as the one it \
                 returns, and writes that in the dialect. Run the SQL with run_sql.",
                &input_schema(),
                &output_schema(),
            )
        }
    }

    fn call(input: String, context: Context) -> Result<Outcome, Error> {
        let input: Value = serde_json::from_str(&input)?;
        let zone = config::time_zone();
        let now = clock::to_local(clock::now(), &zone)?;
        let today = Day::read(&now).ok_or_else(|| Error::internal(format!("{now:?} is no time")))?;
        let (datasource, answer) = match &input["query"] {
            Value::Null => of_question(&input, &context, today)?,
            query => of_query(query, &input, &context, today)?,
        };
        checked(&datasource, &answer)?;
        Ok(Outcome::new(&json!({
            "datasource": datasource,
            "sql": answer.sql,
            "title": answer.title,
            "explanation": answer.explanation,
            "tables": answer.tables,
            "shape": answer.shape,
            "measures": answer.measures,
            "summed": answer.summed,
            "derived": answer.derived,
            "unit": answer.unit,
            "limit": answer.limit,
            "chart": answer.chart.map(Chart::word),
            "query": answer.query,
            "doubts": answer.doubts,
        })))
    }
}

/// The answer to a question, by the rules.
fn of_question(input: &Value, context: &Context, today: Day) -> Result<(String, Answer), Error> {
    let question = input["question"]
        .as_str()
        .ok_or_else(|| Error::invalid_input("give a `question`, a text, or a `query`, an object"))?;
    let chinese = context.language.starts_with("zh");
    let first = context.default_datasource.as_deref();
    let known = catalog::datasources();
    let names: Vec<&str> = known.iter().map(|source| source.name.as_str()).collect();
    let said = naming::source(question, &names).filter(|_| input["datasource"].is_null());
    let said = said.map(|(name, question)| (name.to_owned(), question));
    let wanted = said.as_ref().map(|(name, _)| name.as_str()).or(input["datasource"].as_str());
    let question = said.as_ref().map_or(question, |(_, question)| question.as_str());
    let earlier = texts(&input["earlier"]);
    // What it may change names tables, too.
    let words: Vec<&str> = earlier.iter().rev().map(String::as_str).collect();
    let words = [&[question], &words[..]].concat().join("\n");
    let sources = catalogue::sources(&words, known, wanted, first, &texts(&input["tables"]), chinese)?;
    let settings: Value = serde_json::from_str(&config::settings())?;
    let month = settings[FISCAL_MONTH].as_u64().and_then(|month| u8::try_from(month).ok()).unwrap_or(1);
    let asked = Asked { question, earlier: &earlier, words: &words, today, fiscal_month: month, chinese };
    sources::best(&asked, sources, first)
}

/// SQL of a query that was written as JSON, for the data source that has its tables.
fn of_query(query: &Value, input: &Value, context: &Context, today: Day) -> Result<(String, Answer), Error> {
    if !input["question"].is_null() {
        return Err(Error::invalid_input("give a `question` or a `query`, not both"));
    }
    let chinese = context.language.starts_with("zh");
    let tables = algebra::tables(query);
    let is_beside = !query["beside"].is_null();
    if tables.is_empty() && !is_beside || tables.len() > TABLES_MAX {
        return Err(Error::invalid_input(format!(
            "query.from: the name of a table; {TABLES_MAX} tables at most"
        )));
    }
    let first = context.default_datasource.as_deref();
    let wanted = input["datasource"].as_str();
    let sources = catalogue::sources("", catalog::datasources(), wanted, first, &tables, chinese)?;
    let until = clock::now() + SAMPLING_MS;
    let mut wrong = None;
    let mut answers: Vec<(String, Answer)> = Vec::new();
    for source in sources {
        let mut source = source.read()?;
        source.sample(&tables.join("\n"), today, until);
        match answer::answer_of_query(query, &Known::of(&source.schema), today, chinese) {
            Ok(answer) => answers.push((source.schema.datasource, answer)),
            Err(message) => wrong = wrong.or(Some(message)),
        }
    }
    match sources::chosen(answers, first) {
        Ok(Some(found)) => Ok(found),
        Ok(None) => {
            let wrong = wrong.unwrap_or_else(|| explain::no_tables(chinese));
            Err(Error::invalid_input(format!("query: {wrong}")))
        }
        Err(unclear) => Err(Error::invalid_input(explain::refusal(&unclear, chinese))),
    }
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Asks the guard now: the host would refuse to run the SQL later.
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

fn config_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            FISCAL_MONTH: {
                "type": "integer",
                "minimum": 1,
                "maximum": 12,
                "default": 1,
                "description": "the month in which a fiscal year begins; the year is called by the one in which it ends",
            },
        },
        "additionalProperties": false,
    })
}

fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "question": {
                "type": "string",
                "minLength": 1,
                "maxLength": QUESTION_MAX_CHARS,
                "description": "one question",
            },
            "query": {
                "type": "object",
                "description": QUERY_MEMBERS,
            },
            "datasource": {
                "type": "string",
                "minLength": 1,
                "description": "the data source to ask; absent: whichever has the tables",
            },
            "earlier": {
                "type": "array",
                "items": {"type": "string", "minLength": 1, "maxLength": QUESTION_MAX_CHARS},
                "maxItems": EARLIER_MAX,
                "description": "the questions before it, the oldest first: it may change the last of them (\"and the month before?\")",
            },
            "tables": {
                "type": "array",
                "items": {"type": "string", "minLength": 1},
                "maxItems": TABLES_MAX,
                "description": "names of the tables to use; absent: those that fit",
            },
        },
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
            "shape": {"type": "string", "enum": ["value", "series", "ranking", "comparison", "table"]},
            "measures": texts,
            "summed": {
                "type": "array",
                "items": text,
                "description": "the measures whose values add up to a total: counts of rows and sums",
            },
            "derived": {
                "type": "array",
                "items": text,
                "description": "the measures that follow from others, which are not drawn: a change, a growth, a share of the total; of a comparison the first one is the number before",
            },
            "unit": {"type": ["string", "null"], "enum": ["day", "week", "month", "quarter", "year", "weekday", "hour", null], "description": "what a series counts by"},
            "limit": {
                "type": ["integer", "null"],
                "description": "rows of the answer at most: run the SQL with maxRows of it; where so many come there may be more",
            },
            "query": {"type": "object", "description": "the plan as data: change it and give it as `query`"},
            "doubts": {
                "type": "integer",
                "minimum": 0,
                "description": "how many of its choices might be others: words read as others, things of one name, rows that joins repeat, texts read as numbers",
            },
            "chart": {"type": ["string", "null"], "enum": ["line", "bar", "pie", "table", null], "description": "the chart that the question wishes"},
        },
        "required": ["datasource", "sql", "title", "explanation", "tables", "shape", "measures", "summed", "derived", "unit", "limit", "chart", "query", "doubts"],
        "additionalProperties": false,
    })
}

lakeport_sdk::tool!(WriteSql);
