//! The offline model: it plans by rules, deterministically. A question about data goes from the catalogue to
//! SQL, rows and a chart; a question about tables or lineage takes a shorter path.
//!
//! It trusts nothing that it reads: names, comments and values are shown, never followed.

pub mod answer;
mod choice;
mod figure;
mod question;
pub mod rows;
#[cfg(test)]
mod tests;
mod tool;

use futures_util::future::BoxFuture;
use lakeport_base::text::shortened;
use serde_json::{Map, Value, json};

use self::question::{Asks, Subject};
use super::background::ToolSpec;
use super::model::{Conversation, Language, Model, ModelError, Next, Said};
use crate::agent::knowledge::glossary::read_by;
use crate::agent::models::spent::Spent;
use crate::agent::outcome::Answer;
use crate::agent::tasks::event::{ToolError, ToolResult};

const SEARCH: &str = "search_catalog";
const WRITE: &str = "write_sql";
pub const RUN: &str = "run_sql";
const DRAW: &str = "draw_chart";
const LINEAGE: &str = "lineage";
/// The context of an error that names one of several meanings.
const CANDIDATE: &str = "candidate";

/// Tables of a search.
const TABLES: u32 = 10;
/// Tables of a search that is the question itself.
const TABLES_LISTED: u32 = 20;
/// Characters of a question that the rules read. A longer one is refused: half of a question is another question.
const QUESTION_MAX_CHARS: usize = 2_000;
/// Characters of a table's name in a thought.
const NAME_MAX_CHARS: usize = 200;
/// Columns drawn over each other.
const MEASURES_MAX: usize = 5;
/// Names in a thought.
const NAMES_SHOWN: usize = 3;

/// The rule-based model.
pub struct Offline;

impl Model for Offline {
    fn next<'m>(&'m self, conversation: &'m Conversation) -> BoxFuture<'m, Result<Said, ModelError>> {
        Box::pin(std::future::ready(planned(conversation)))
    }
}

fn told(content: String) -> Said {
    Next::Answer(Answer::new(content)).into()
}

/// The call, after a thought.
fn call(thought: String, tool: &str, input: Value) -> Said {
    Next::Call { tool: tool.to_owned(), input }.after(thought)
}

/// The next step. The question is read by the glossary, which the answer names then.
fn planned(conversation: &Conversation) -> Result<Said, ModelError> {
    // What is quoted stays as it is.
    if let Some((tool, input)) = tool::fitting(&conversation.question, &conversation.tools) {
        return Plan { conversation, language: conversation.language, earlier: &[] }.other_tool(tool, input);
    }
    if let Some(candidates) = choice::missed(&conversation.question, &conversation.earlier) {
        return Ok(Next::Answer(answer::which_again(candidates)).into());
    }
    let (chosen, earlier) = choice::resolved(&conversation.question, &conversation.earlier);
    let language =
        if chosen == conversation.question { conversation.language } else { Language::of(&chosen) };
    let Some((question, used)) = read(&chosen, conversation) else {
        return Ok(Next::Answer(answer::too_long(language, QUESTION_MAX_CHARS)).into());
    };
    let earlier = readable(&earlier, conversation);
    let is_plain = question == conversation.question;
    let said = if is_plain {
        next(conversation, &earlier)?
    } else {
        next(&Conversation { question, language, ..conversation.clone() }, &earlier)?
    };
    if used.is_empty() {
        return Ok(said);
    }
    let next = match said.next {
        Next::Answer(answer) => {
            let content = format!("{}\n\n{}", answer.content, answer::of_terms(language, &used));
            Next::Answer(Answer { content, ..answer })
        }
        call => call,
    };
    Ok(Said { next, ..said })
}

/// A question as the glossary reads it, and the terms that it was read by; `None` if it is too long, or becomes so.
fn read<'c>(question: &str, conversation: &'c Conversation) -> Option<(String, Vec<(&'c str, &'c str)>)> {
    let fits = |question: &str| question.trim().chars().count() <= QUESTION_MAX_CHARS;
    let read = fits(question).then(|| read_by(question, &conversation.terms))?;
    fits(&read.0).then_some(read)
}

/// The questions before that a message may change, the oldest first: what was asked before one that is too long is not
/// what the message means.
fn readable(earlier: &[String], conversation: &Conversation) -> Vec<String> {
    let newest = earlier.iter().rev().map_while(|question| read(question, conversation));
    let mut readable: Vec<String> = newest.map(|(question, _)| question).collect();
    readable.reverse();
    readable
}

/// The next step of a question after these.
fn next(conversation: &Conversation, earlier: &[String]) -> Result<Said, ModelError> {
    let plan = Plan { conversation, language: conversation.language, earlier };
    match question::read(&conversation.question) {
        Asks::Data => plan.data(),
        Asks::Tables { fields } => plan.tables(fields.then(|| question::named(&conversation.question))),
        Asks::Lineage(subject) => plan.lineage(&subject),
        Asks::Help => Ok(plan.help()),
    }
}

/// The next step, from the results of each tool.
struct Plan<'c> {
    conversation: &'c Conversation,
    language: Language,
    /// The questions before, the oldest first.
    earlier: &'c [String],
}

impl<'c> Plan<'c> {
    fn say(&self, english: &str, chinese: &str) -> String {
        match self.language {
            Language::English => english.to_owned(),
            Language::Chinese => chinese.to_owned(),
        }
    }

    fn done(&self, tool: &str) -> Option<&'c ToolResult> {
        self.conversation.last_of(tool)
    }

    fn question(&self) -> &'c str {
        self.conversation.question.trim()
    }

    /// What can be asked: `write_sql` names questions that it can answer.
    fn help(&self) -> Said {
        let Some(write) = self.done(WRITE) else {
            let thought = self.say("I look what can be asked here.", "先看看这里能问什么。");
            return call(thought, WRITE, json!({ "question": self.question() }));
        };
        let suggestions = write.outcome.as_ref().err().map(answer::suggestions).unwrap_or_default();
        told(answer::help(self.language, &suggestions))
    }

    fn search(&self, limit: u32) -> Said {
        self.search_for(self.question(), limit)
    }

    fn search_for(&self, text: &str, limit: u32) -> Said {
        let thought =
            self.say("I look for tables and fields that fit the question.", "先查找与问题相符的表和字段。");
        call(thought, SEARCH, json!({ "query": text, "limit": limit }))
    }

    fn data(&self) -> Result<Said, ModelError> {
        let Some(search) = self.done(SEARCH) else { return Ok(self.search(TABLES)) };
        let Some(write) = self.done(WRITE) else {
            let mut input = json!({ "question": self.question() });
            if !self.earlier.is_empty() {
                input["earlier"] = self.earlier.iter().map(|question| question.trim()).collect();
            }
            return Ok(call(self.found(search.outcome.as_ref().ok()), WRITE, input));
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
        // The answer is given even if drawing failed.
        let table = run.artifacts.iter().find(|artifact| artifact["kind"] == "table").unwrap_or(result);
        Ok(told(rows::of_rows(self.language, written, table)))
    }

    /// A thought about the found tables.
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

    fn run(&self, written: &Value) -> Said {
        let mut input = Map::new();
        if written["datasource"].is_string() {
            input.insert("datasource".to_owned(), written["datasource"].clone());
        }
        input.insert("sql".to_owned(), written["sql"].clone());
        // It fetches one more row to detect further ones.
        if written["limit"].is_u64() {
            input.insert("maxRows".to_owned(), written["limit"].clone());
        }
        let thought = self.say("The SQL is written; I run it.", "SQL 已写好，现在执行。");
        call(thought, RUN, input.into())
    }

    fn draw(&self, written: &Value, call_id: &str, result: &Value) -> Said {
        let mut input = json!({ "callId": call_id });
        // What follows from a number is in the table; only the number of the days before is drawn beside it.
        let derived = written["derived"].as_array().map_or(0, Vec::len);
        let beside = usize::from(written["shape"] == "comparison");
        let all = written["measures"].as_array().map_or(&[][..], Vec::as_slice);
        let drawn = (all.len() - derived.min(all.len()) + beside).min(MEASURES_MAX);
        let measures: Vec<&Value> = all.iter().take(drawn).collect();
        if written["chart"].is_string() {
            input["kind"] = written["chart"].clone();
        }
        if !measures.is_empty() {
            input["y"] = json!(measures);
        }
        let rows = &result["row_count"];
        let thought = match self.language {
            Language::English => format!("{rows} rows came; I draw them."),
            Language::Chinese => format!("查询返回 {rows} 行，现在绘图。"),
        };
        call(thought, DRAW, input)
    }

    /// The matching tables, or the fields of the table in the question.
    fn tables(&self, fields: Option<Option<String>>) -> Result<Said, ModelError> {
        let Some(search) = self.done(SEARCH) else { return Ok(self.search(TABLES_LISTED)) };
        match &search.outcome {
            Ok(found) => {
                let fields = fields.as_ref().map(Option::as_deref);
                Ok(Next::Answer(answer::of_tables(self.language, found, fields)).into())
            }
            Err(error) => self.cannot(SEARCH, error),
        }
    }

    fn lineage(&self, subject: &Subject) -> Result<Said, ModelError> {
        let calls = self.conversation.results().filter(|result| result.tool == LINEAGE).count();
        let is_unknown = |done: &ToolResult| {
            matches!(&done.outcome, Err(error) if error.code == "not_found") && calls == 1
        };
        // A word that is no table's name may be what a table is about.
        if let Some(done) = self.done(LINEAGE)
            && !(is_unknown(done) && subject.table.as_deref().is_some_and(is_plain_word))
        {
            return match &done.outcome {
                Ok(graph) => Ok(told(answer::of_lineage(self.language, graph, subject.direction))),
                Err(error) if error.context.iter().any(|(name, _)| name == CANDIDATE) => {
                    Ok(Next::Answer(answer::which_table(self.language, error, subject.direction)).into())
                }
                Err(error) => self.cannot(LINEAGE, error),
            };
        }
        let about = question::without_lineage(&self.conversation.question);
        let table = match (&subject.table, self.done(SEARCH)) {
            (Some(table), _) if calls == 0 => table.clone(),
            (_, None) => return Ok(self.search_for(&about, TABLES)),
            (_, Some(search)) => match search.outcome.as_ref().ok().and_then(first_table) {
                Some(table) => table,
                None => return Ok(Next::Answer(answer::no_table(self.language)).into()),
            },
        };
        let shown = shortened(&table, NAME_MAX_CHARS);
        let thought = match self.language {
            Language::English => format!("I follow the lineage of {shown}."),
            Language::Chinese => format!("查看表 {shown} 的血缘。"),
        };
        Ok(call(thought, LINEAGE, json!({ "table": table, "direction": subject.direction.word() })))
    }

    /// A tool of others, and what it gave.
    fn other_tool(&self, tool: &ToolSpec, input: Value) -> Result<Said, ModelError> {
        match self.done(&tool.name).map(|done| &done.outcome) {
            Some(Ok(output)) => Ok(told(tool::told(self.language, tool, output))),
            Some(Err(error)) => self.cannot(&tool.name, error),
            None => {
                let thought = match self.language {
                    Language::English => format!("The tool {} fits the question.", tool.name),
                    Language::Chinese => format!("工具 {} 与问题相符。", tool.name),
                };
                Ok(call(thought, &tool.name, input))
            }
        }
    }

    /// A tool's message about the question becomes the answer; otherwise the task fails.
    fn cannot(&self, tool: &str, error: &ToolError) -> Result<Said, ModelError> {
        const ABOUT_THE_QUESTION: [&str; 5] =
            ["cannot_answer", "guard_refused", "invalid_input", "not_found", "not_yet"];
        if error.code == "cannot_answer" && error.context.iter().any(|(name, _)| name == CANDIDATE) {
            return Ok(Next::Answer(answer::which_question(self.language, error)).into());
        }
        if ABOUT_THE_QUESTION.contains(&error.code.as_str()) {
            return Ok(Next::Answer(answer::refused(self.language, error)).into());
        }
        Err(ModelError {
            code: "tool_failed",
            message: format!("the tool {tool} failed: {} ({})", error.message, error.code),
            retryable: error.retryable,
            spent: Spent::default(),
        })
    }
}

/// Whether a name in a question is a word like any other: one with `_` or `.` is a table's.
fn is_plain_word(name: &str) -> bool {
    name.chars().all(char::is_alphanumeric)
}

/// Whether a chart shows the rows better.
fn is_drawn(written: &Value, result: &Value) -> bool {
    let wished = written["chart"].as_str();
    let has_measure = written["measures"].as_array().is_some_and(|measures| !measures.is_empty());
    let fits = matches!(written["shape"].as_str(), Some("series" | "ranking" | "comparison"));
    wished != Some("table")
        && (fits || wished.is_some() && has_measure)
        && result["row_count"].as_u64().is_some_and(|rows| rows >= 2)
}

/// The best of the found tables, by its quoted full name.
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
