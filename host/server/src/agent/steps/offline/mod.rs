//! The model that needs no network: it plans by rules, always the same way. What is asked about the data goes
//! through the catalogue, the SQL and its rows to a chart; what is asked about tables, or about where data comes
//! from, has a shorter way.
//!
//! It believes nothing that it reads: names, comments and values are shown, never followed.

mod answer;
mod figure;
mod question;
#[cfg(test)]
mod tests;

use futures_util::future::BoxFuture;
use lakeport_base::text::shortened;
use serde_json::{Map, Value, json};

use self::question::{Asks, Subject};
use super::model::{Conversation, Language, Model, ModelError, Next, Said};
use crate::agent::tasks::event::{ToolError, ToolResult};

const SEARCH: &str = "search_catalog";
const WRITE: &str = "write_sql";
const RUN: &str = "run_sql";
const DRAW: &str = "draw_chart";
const LINEAGE: &str = "lineage";

/// Tables that are looked for.
const TABLES: u32 = 10;
/// The same where they are what was asked for.
const TABLES_LISTED: u32 = 20;
/// Characters of a question that the tools are given.
const QUESTION_MAX_CHARS: usize = 2_000;
/// Columns that are drawn over each other.
const MEASURES_MAX: usize = 5;
/// Names that a thought shows.
const NAMES_SHOWN: usize = 3;

/// The model by rules.
pub struct Offline;

impl Model for Offline {
    fn provider(&self) -> &'static str {
        "offline"
    }

    fn name(&self) -> &str {
        "offline"
    }

    fn next<'m>(&'m self, conversation: &'m Conversation) -> BoxFuture<'m, Result<Said, ModelError>> {
        Box::pin(std::future::ready(next(conversation).map(Said::from)))
    }
}

fn next(conversation: &Conversation) -> Result<Next, ModelError> {
    let plan = Plan { conversation, language: conversation.language };
    match question::read(&conversation.question) {
        Asks::Data => plan.data(),
        Asks::Tables { fields } => plan.tables(fields.then(|| question::named(&conversation.question))),
        Asks::Lineage(subject) => plan.lineage(&subject),
        Asks::Help => Ok(Next::Answer(answer::help(plan.language))),
    }
}

/// What to do next, by what came of each tool.
struct Plan<'c> {
    conversation: &'c Conversation,
    language: Language,
}

impl<'c> Plan<'c> {
    fn say(&self, english: &str, chinese: &str) -> String {
        match self.language {
            Language::English => english.to_owned(),
            Language::Chinese => chinese.to_owned(),
        }
    }

    /// The call, and a thought before it.
    fn call(&self, thought: String, tool: &str, input: Value) -> Next {
        if self.conversation.is_thought_due() {
            return Next::Think(thought);
        }
        Next::Call { tool: tool.to_owned(), input }
    }

    fn done(&self, tool: &str) -> Option<&'c ToolResult> {
        self.conversation.last_of(tool)
    }

    fn question(&self) -> String {
        shortened(self.conversation.question.trim(), QUESTION_MAX_CHARS - 1)
    }

    fn search(&self, limit: u32) -> Next {
        let thought =
            self.say("I look for tables and fields that fit the question.", "先查找与问题相符的表和字段。");
        self.call(thought, SEARCH, json!({ "query": self.question(), "limit": limit }))
    }

    fn data(&self) -> Result<Next, ModelError> {
        let Some(search) = self.done(SEARCH) else { return Ok(self.search(TABLES)) };
        let Some(write) = self.done(WRITE) else {
            return Ok(self.call(
                self.found(search.outcome.as_ref().ok()),
                WRITE,
                json!({ "question": self.question() }),
            ));
        };
        let written = match &write.outcome {
            Ok(written) => written,
            Err(error) => return self.cannot(WRITE, error),
        };
        let Some(run) = self.done(RUN) else { return Ok(self.run(written)) };
        let result = match &run.outcome {
            Ok(result) => result,
            Err(error) => return self.cannot(RUN, error),
        };
        if is_drawn(written, result) && self.done(DRAW).is_none() {
            return Ok(self.draw(written, &run.call_id, result));
        }
        // What could not be drawn is still told.
        let rows = run.artifacts.iter().find(|artifact| artifact["kind"] == "table").unwrap_or(result);
        Ok(Next::Answer(answer::of_rows(self.language, written, rows)))
    }

    /// A thought about what was found.
    fn found(&self, found: Option<&Value>) -> String {
        let tables = found.and_then(|found| found["tables"].as_array()).map_or(&[][..], Vec::as_slice);
        let names: Vec<&str> =
            tables.iter().filter_map(|table| table["name"].as_str()).take(NAMES_SHOWN).collect();
        if names.is_empty() {
            return self.say(
                "No table fits by its name; I try to write the SQL all the same.",
                "没有名称相符的表，仍尝试编写 SQL。",
            );
        }
        match self.language {
            Language::English => format!("These may fit: {}. I write the SQL.", names.join(", ")),
            Language::Chinese => format!("可能相关的表：{}。接着编写 SQL。", names.join("、")),
        }
    }

    fn run(&self, written: &Value) -> Next {
        let mut input = Map::new();
        if written["datasource"].is_string() {
            input.insert("datasource".to_owned(), written["datasource"].clone());
        }
        input.insert("sql".to_owned(), written["sql"].clone());
        // It reads one row more where that tells that there are more.
        if written["limit"].is_u64() {
            input.insert("maxRows".to_owned(), written["limit"].clone());
        }
        let thought = self.say("The SQL is written; I run it.", "SQL 已写好，现在执行。");
        self.call(thought, RUN, input.into())
    }

    fn draw(&self, written: &Value, call_id: &str, result: &Value) -> Next {
        let mut input = json!({ "callId": call_id });
        let measures: Vec<&Value> =
            written["measures"].as_array().into_iter().flatten().take(MEASURES_MAX).collect();
        if !measures.is_empty() {
            input["y"] = json!(measures);
        }
        let rows = &result["row_count"];
        let thought = match self.language {
            Language::English => format!("{rows} rows came; I draw them."),
            Language::Chinese => format!("查询返回 {rows} 行，现在绘图。"),
        };
        self.call(thought, DRAW, input)
    }

    /// Tables that fit, or the fields of the table that the question names.
    fn tables(&self, fields: Option<Option<String>>) -> Result<Next, ModelError> {
        let Some(search) = self.done(SEARCH) else { return Ok(self.search(TABLES_LISTED)) };
        match &search.outcome {
            Ok(found) => {
                let fields = fields.as_ref().map(Option::as_deref);
                Ok(Next::Answer(answer::of_tables(self.language, found, fields)))
            }
            Err(error) => self.cannot(SEARCH, error),
        }
    }

    fn lineage(&self, subject: &Subject) -> Result<Next, ModelError> {
        if let Some(done) = self.done(LINEAGE) {
            return match &done.outcome {
                Ok(graph) => Ok(Next::Answer(answer::of_lineage(self.language, graph, subject.direction))),
                Err(error) => self.cannot(LINEAGE, error),
            };
        }
        let table = match (&subject.table, self.done(SEARCH)) {
            (Some(table), _) => table.clone(),
            (None, None) => return Ok(self.search(TABLES)),
            (None, Some(search)) => match search.outcome.as_ref().ok().and_then(first_table) {
                Some(table) => table,
                None => return Ok(Next::Answer(answer::no_table(self.language))),
            },
        };
        let shown = shortened(&table, QUESTION_MAX_CHARS);
        let thought = match self.language {
            Language::English => format!("I follow the lineage of {shown}."),
            Language::Chinese => format!("查看表 {shown} 的血缘。"),
        };
        Ok(self.call(thought, LINEAGE, json!({ "table": table, "direction": subject.direction.word() })))
    }

    /// What a tool says is told where it is about the question; else the task fails, for nobody knows an answer.
    fn cannot(&self, tool: &str, error: &ToolError) -> Result<Next, ModelError> {
        const ABOUT_THE_QUESTION: [&str; 5] =
            ["cannot_answer", "guard_refused", "invalid_input", "not_found", "not_yet"];
        if ABOUT_THE_QUESTION.contains(&error.code.as_str()) {
            return Ok(Next::Answer(answer::refused(self.language, error)));
        }
        Err(ModelError {
            code: "tool_failed",
            message: format!("the tool {tool} failed: {} ({})", error.message, error.code),
            retryable: error.retryable,
        })
    }
}

/// Whether the rows are of a shape that a chart shows better.
fn is_drawn(written: &Value, result: &Value) -> bool {
    matches!(written["shape"].as_str(), Some("series" | "ranking"))
        && result["row_count"].as_u64().is_some_and(|rows| rows >= 2)
}

/// The best of the tables that were found, by its whole name: each part in quotation marks that it does not have.
fn first_table(found: &Value) -> Option<String> {
    let table = found["tables"].get(0)?;
    let part = |name: &str| -> Option<String> {
        let name = table[name].as_str()?;
        let is_plain = name.chars().all(|c| c.is_alphanumeric() || c == '_');
        let mark = ['"', '`', '\''].into_iter().find(|mark| !name.contains(*mark))?;
        Some(if is_plain { name.to_owned() } else { format!("{mark}{name}{mark}") })
    };
    Some([part("datasource")?, part("database")?, part("name")?].join("."))
}
