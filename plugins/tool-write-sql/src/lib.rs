//! The tool `write_sql`: SQL for a question in English or Chinese, by rules and without a model.
//!
//! It answers only questions that it understands completely and refuses the rest. [`catalogue`] loads tables
//! and samples; from there on all is plain data: [`words`] reads the question, `understand` finds its
//! meaning, `plan` decides the query, `sql` writes it, `explain` describes the assumptions.

pub mod answer;
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
mod tests_of_plans;
#[cfg(test)]
mod tests_of_shapes;
#[cfg(test)]
mod tests_of_turns;
mod understand;
pub mod which;
mod words;

use lakeport_sdk::serde_json::{self, Value, json};
use lakeport_sdk::tool::{Context, Error, Outcome, Timestamp, Tool, ToolInfo, catalog, clock, config, guard};

use answer::Answer;
use calendar::Day;
use catalogue::{Offered, Source};
use known::Known;
use plan::algebra;
use understand::meaning::Unclear;
use words::phrases::Chart;

/// The setting for the beginning of fiscal years.
const FISCAL_MONTH: &str = "fiscalYearBegins";
/// The members of a query, for a model.
const QUERY_MEMBERS: &str = "instead of a question: a query as data. `from`: a table; `join`: [{table, on: [\"a.b_id\", \"b.id\"]}]; \
    `columns`: [{name, and one of field, rows: true, sum, average, least, greatest, median, present, different: \"table.field\", start: \
    day|week|month|quarter|year or cycle: weekday|hour, with of}]; `where`: [{field, and one of in, notIn: [texts], equal, notEqual, more, atLeast, less, \
    atMost: number or {average: \"all\"}, among: [numbers], between: [a, b], from/before: \"yyyy-MM-dd\", contains, beginsWith: text, weekdays: [1..7], anyOf: \
    [tests], present: true}]; `groupBy` (by default the columns that are no numbers); `having`: [{number: {rows: true}, more: 5}]; `order`: [{sum: \"t.f\", descending: true}]; \
    `limit`, `offset` (rows before the first one that is shown); `every`: {unit, of, from, before} for a row of each calendar unit; \
    `fiscalYearBegins`: 4, 7 or 10, to call quarters by fiscal years; `compare`: {time, now: {from, before}, before: \
    {from, before}}; `derived`: [{name, and one of before, change, growth, ofTotal, sinceLast, cumulative: the column}]; \
    `firstOfEach`: {of: [{field}], rows}; `absent`: {key, in, where}, `present`: [these]; `share`: a condition, with the columns \
    share or part, percentages of all, or with `whole`, another condition, in a ratio to those rows; `ofGroups`: \"count\" or {average: …}; `keepAll`: true; `distinct`.";
/// The longest question, in characters.
const QUESTION_MAX_CHARS: u32 = 2_000;
/// The most tables of the input.
const TABLES_MAX: usize = 50;
/// The most earlier questions.
const EARLIER_MAX: usize = 10;
/// Data sources that are tried before an answer is chosen, the preferred one first.
const SOURCES_MAX: usize = 20;
/// Those in which words are looked up that nothing is called.
const SEARCHED_SOURCES: usize = 3;
/// Time limit in milliseconds: samples are queries.
const TIMEOUT_MS: u32 = 20_000;
/// Time limits of sampling and of looking values up, in milliseconds.
const SAMPLING_MS: Timestamp = 10_000;
const LOOKING_UP_MS: Timestamp = 5_000;
/// How long questions to suggest are tried, in milliseconds.
const SUGGESTING_MS: Timestamp = 1_000;

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
    best(&asked, sources, first)
}

/// SQL of a query that was written as JSON, for the data source that has its tables.
fn of_query(query: &Value, input: &Value, context: &Context, today: Day) -> Result<(String, Answer), Error> {
    if !input["question"].is_null() {
        return Err(Error::invalid_input("give a `question` or a `query`, not both"));
    }
    let chinese = context.language.starts_with("zh");
    let tables = algebra::tables(query);
    if tables.is_empty() || tables.len() > TABLES_MAX {
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
    match chosen(answers, first) {
        Ok(Some(found)) => Ok(found),
        Ok(None) => {
            let wrong = wrong.unwrap_or_else(|| explain::no_tables(chinese));
            Err(Error::invalid_input(format!("query: {wrong}")))
        }
        Err(unclear) => Err(Error::invalid_input(explain::refusal(&unclear, chinese))),
    }
}

/// What is asked, when, and in which language.
struct Asked<'a> {
    question: &'a str,
    /// The questions before it, the oldest first.
    earlier: &'a [String],
    /// It and the last of these.
    words: &'a str,
    today: Day,
    fiscal_month: u8,
    chinese: bool,
}

impl Asked<'_> {
    fn of(&self, source: &Source) -> Result<Answer, Unclear> {
        answer::answer_after(self.question, self.earlier, &Known::of(&source.schema), self.today)
    }
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The answer of the data source that knows most of the things that are named; of several that know as much, the
/// preferred one's. One of which the question names no more tables than another answer has is not asked.
fn best(
    asked: &Asked<'_>,
    sources: Vec<Offered>,
    preferred: Option<&str>,
) -> Result<(String, Answer), Error> {
    let until = clock::now() + SAMPLING_MS;
    let mut answers: Vec<(String, Answer)> = Vec::new();
    let mut refused: Vec<(Source, Unclear)> = Vec::new();
    for (at, source) in sources.into_iter().enumerate() {
        let is_late = at > 0 && clock::now() > until;
        if is_late || at >= SOURCES_MAX && !answers.is_empty() {
            break;
        }
        if is_enough(&answers, preferred, || source.named(asked.words, asked.today)) {
            continue;
        }
        let mut source = source.read()?;
        source.schema.fiscal_month = asked.fiscal_month;
        source.sample(asked.words, asked.today, until);
        match asked.of(&source) {
            Ok(answer) => answers.push((source.schema.datasource, answer)),
            Err(unclear) => refused.push((source, unclear)),
        }
    }
    if answers.is_empty() {
        answers = looked_up(asked, &mut refused);
    }
    if answers.is_empty() {
        answers = tagged(asked, &mut refused);
    }
    // The refusal of a source that knows more of the words is more useful, and so are its questions.
    refused.sort_by_key(|(_, unclear)| match unclear {
        Unclear::Words(words) => words.len(),
        Unclear::Word(_) => 1,
        _ => 0,
    });
    match chosen(answers, preferred) {
        Ok(Some(found)) => Ok(found),
        Ok(None) => Err(refusal(asked, &refused, preferred)),
        Err(unclear) => {
            let error = Error::new("cannot_answer", explain::refusal(&unclear, asked.chinese));
            let Unclear::Sources(names) = &unclear else { return Err(error) };
            let which = names.iter().map(|name| explain::in_source(asked.question, name, asked.chinese));
            Err(which.fold(error, |error, question| error.with("candidate", question)))
        }
    }
}

/// The answers of data sources that have the unknown words as values beyond the samples.
fn looked_up(asked: &Asked<'_>, refused: &mut [(Source, Unclear)]) -> Vec<(String, Answer)> {
    let until = clock::now() + LOOKING_UP_MS;
    let mut answers = Vec::new();
    for (source, unclear) in refused.iter_mut().take(SEARCHED_SOURCES) {
        if matches!(unclear, Unclear::Words(_) | Unclear::Word(_))
            && source.look_up(asked.question, asked.today, until)
        {
            match asked.of(source) {
                Ok(answer) => answers.push((source.schema.datasource.clone(), answer)),
                Err(still) => *unclear = still,
            }
        }
    }
    answers
}

/// The answers of data sources in which unknown words are tags of tables.
fn tagged(asked: &Asked<'_>, refused: &mut [(Source, Unclear)]) -> Vec<(String, Answer)> {
    let until = clock::now() + LOOKING_UP_MS;
    let mut answers = Vec::new();
    for (source, unclear) in refused.iter_mut().take(SEARCHED_SOURCES) {
        let has_tags = source.schema.tables.iter().any(|table| !table.tags.is_empty());
        if has_tags && matches!(unclear, Unclear::Words(_) | Unclear::Word(_)) {
            source.sample_tagged(asked.words, asked.today, until);
            let known = Known::with_tags(&source.schema);
            if let Ok(answer) = answer::answer_after(asked.question, asked.earlier, &known, asked.today) {
                answers.push((source.schema.datasource.clone(), answer));
            }
        }
    }
    answers
}

/// Why no data source can answer, with questions that one can.
fn refusal(asked: &Asked<'_>, refused: &[(Source, Unclear)], preferred: Option<&str>) -> Error {
    let Asked { question, today, chinese, .. } = *asked;
    let until = clock::now() + SUGGESTING_MS;
    let is_late = || clock::now() > until;
    let told = refused.first();
    let message =
        told.map_or_else(|| explain::no_tables(chinese), |(_, unclear)| explain::refusal(unclear, chinese));
    let error = Error::new("cannot_answer", message);
    if let Some((source, unclear)) = told {
        let which = which::readings(question, unclear, &Known::of(&source.schema), today, chinese, &is_late);
        if !which.is_empty() {
            return which.into_iter().fold(error, |error, question| error.with("candidate", question));
        }
    }
    let mut could: Vec<(String, String)> = Vec::new();
    for (source, _) in refused {
        if could.len() >= could::QUESTIONS_MAX {
            break;
        }
        let offered = could::questions(question, &Known::of(&source.schema), today, chinese, &is_late);
        could.extend(offered.into_iter().map(|question| (source.schema.datasource.clone(), question)));
    }
    let could = told_apart(could, refused, preferred, today, chinese);
    could.into_iter().take(could::QUESTIONS_MAX).fold(error, |error, question| error.with("could", question))
}

/// Questions with the data source's name where another one could answer them, too; each once.
fn told_apart(
    could: Vec<(String, String)>,
    sources: &[(Source, Unclear)],
    preferred: Option<&str>,
    today: Day,
    chinese: bool,
) -> Vec<String> {
    // With one source there is no other one.
    let has_others = sources.len() > 1;
    let knowns: Vec<Known> =
        sources.iter().filter(|_| has_others).map(|(source, _)| Known::of(&source.schema)).collect();
    let mut offered: Vec<String> = Vec::new();
    for (name, question) in could {
        let answers = |known: &&Known| answer::answer_of(&question, known, today).is_ok();
        let several = knowns.iter().filter(answers).count() > 1 && preferred != Some(name.as_str());
        let question = if several { explain::in_source(&question, &name, chinese) } else { question };
        if !offered.contains(&question) {
            offered.push(question);
        }
    }
    offered
}

/// Whether one of the answers is chosen before that of another data source with so many named things.
fn is_enough(
    answers: &[(String, Answer)],
    preferred: Option<&str>,
    named: impl FnOnce() -> Option<usize>,
) -> bool {
    let Some((name, best)) = answers.iter().rev().max_by_key(|(_, answer)| answer.things) else {
        return false;
    };
    match named() {
        Some(named) if named == best.things => preferred == Some(name.as_str()),
        Some(named) => named < best.things,
        None => false,
    }
}

/// The best of several answers, if one is unambiguous.
fn chosen(
    mut answers: Vec<(String, Answer)>,
    preferred: Option<&str>,
) -> Result<Option<(String, Answer)>, Unclear> {
    let most = answers.iter().map(|(_, answer)| answer.things).max().unwrap_or(0);
    answers.retain(|(_, answer)| answer.things == most);
    if answers.len() > 1 {
        let Some(place) = answers.iter().position(|(name, _)| Some(name.as_str()) == preferred) else {
            return Err(Unclear::Sources(answers.into_iter().map(|(name, _)| name).collect()));
        };
        answers = vec![answers.swap_remove(place)];
    }
    Ok(answers.pop())
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

#[cfg(test)]
mod choosing {
    use super::*;

    fn of(schema: &schema::Schema, name: &str) -> (String, Answer) {
        let today = Day::read("2026-07-19").unwrap();
        (name.to_owned(), answer::answer("How many customers are there?", schema, today).unwrap())
    }

    #[test]
    fn a_table_goes_before_a_column_of_another_data_source() {
        let whole = testing::shop();
        let mut column = testing::shop();
        column.tables.remove(0);
        column.tables[0].fields[1].name = "customer".to_owned();
        column.tables[0].fields[1].type_text = "TEXT".to_owned();
        let (small, large) = (of(&column, "small"), of(&whole, "large"));
        assert!(small.1.sql.contains("DISTINCT"), "{}", small.1.sql);
        let found = chosen(vec![small.clone(), large.clone()], Some("small")).unwrap().unwrap();
        assert_eq!(found.0, "large");
        let again = (large.0.clone() + "r", large.1.clone());
        assert!(
            matches!(chosen(vec![large.clone(), again.clone()], None), Err(Unclear::Sources(names)) if names.len() == 2)
        );
        assert_eq!(chosen(vec![again, large], Some("large")).unwrap().unwrap().0, "large");
    }

    #[test]
    fn a_data_source_is_asked_if_it_could_be_chosen() {
        let answers = [of(&testing::shop(), "shop")];
        let is_enough =
            |preferred: Option<&str>, named: usize| is_enough(&answers, preferred, || Some(named));
        assert!(is_enough(Some("shop"), 1) && is_enough(None, 0));
        assert!(!is_enough(Some("shop"), 2) && !is_enough(None, 1) && !is_enough(Some("other"), 1));
        assert!(!super::is_enough(&[], Some("shop"), || Some(0)));
        assert!(!super::is_enough(&answers, Some("shop"), || None));
    }
}
