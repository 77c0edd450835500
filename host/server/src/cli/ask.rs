//! `lakeport ask "…"`: asks a running server a question, and shows each step as it comes: thoughts, SQL, rows and a chart.

use std::process::ExitCode;
use std::time::Duration;

use ::http::Method;
use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::table::{columns, printable};
use super::{print, say};
use crate::client::{Client, segment};
use crate::config::Environment;

const TOPICS: &str = "/api/v1/nl2sql/topics";
const TASKS: &str = "/api/v1/nl2sql/tasks";
/// Rows of a table, columns of one, and characters of a cell that are shown.
const ROWS_SHOWN: usize = 30;
const COLUMNS_SHOWN: usize = 12;
const CELL_MAX_CHARS: usize = 40;
/// Bars of a chart, the width of the longest, and characters of a label.
const BARS_SHOWN: usize = 40;
const BAR_WIDTH: usize = 40;
const LABEL_MAX_CHARS: usize = 24;
/// Characters of a topic's title.
const TITLE_MAX_CHARS: usize = 80;
/// How often a stream that broke is opened again, and the pause before.
const AGAIN_MAX: u32 = 10;
const AGAIN: Duration = Duration::from_secs(1);

/// The exit code of a question that the answer refuses or asks back.
const NOT_ANSWERED: u8 = 3;

#[derive(Args)]
#[command(after_help = "Exit code: 0 answered, 3 refused or asked back, 1 failed")]
pub struct AskOptions {
    /// The question
    #[arg(value_parser = question)]
    question: String,
    /// Go on in this topic, whose questions are context; else a new one is made
    #[arg(long, value_name = "ID")]
    topic: Option<String>,
    /// The data sources of the new topic [default: all that you may read]
    #[arg(long, value_name = "NAME", conflicts_with = "topic")]
    datasource: Vec<String>,
    /// The model of the new topic [default: the server's]
    #[arg(long, value_name = "NAME", conflicts_with = "topic")]
    model: Option<String>,
    /// Print the events as JSON, one a line
    #[arg(long)]
    json: bool,
    /// The server [default: LAKEPORT_URL, else http://127.0.0.1:8080]
    #[arg(long)]
    url: Option<String>,
    /// The token to log in with [default: LAKEPORT_TOKEN]
    #[arg(long)]
    token: Option<String>,
}

pub async fn run(options: AskOptions, environment: &Environment) -> anyhow::Result<ExitCode> {
    let url = options.url.clone().unwrap_or_else(|| environment.server_url());
    let client = Client::new(&url, options.token.clone().or_else(|| environment.token()))?;
    let topic = match &options.topic {
        Some(topic) => topic.clone(),
        None => new_topic(&client, &options).await?,
    };
    let body = json!({ "topic_id": topic, "content": options.question });
    let receipt = client.whole(Method::POST, &format!("{TASKS}/deliver-message"), Some(&body)).await?;
    let task = text(&receipt, "task_id")?;
    let task = tokio::select! {
        ended = follow(&client, &task, options.json) => ended?,
        _ = tokio::signal::ctrl_c() => {
            let path = format!("{TASKS}/{}/cancel", segment(&task));
            match client.whole(Method::POST, &path, Some(&json!({}))).await {
                Ok(_) => bail!("cancelled"),
                Err(error) if format!("{error}").contains("not_running") => bail!("it had ended already"),
                Err(error) => return Err(error.context("the question goes on")),
            }
        }
    };
    if !options.json {
        say(&format!("(topic {topic}; go on with: lakeport ask --topic {topic} \"…\")"));
    }
    Ok(match task {
        Ended::Answered => ExitCode::SUCCESS,
        Ended::NotAnswered => ExitCode::from(NOT_ANSWERED),
        Ended::Failed => ExitCode::FAILURE,
    })
}

/// How a task ended.
enum Ended {
    Answered,
    NotAnswered,
    Failed,
}

fn question(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("the question is empty".to_owned()) } else { Ok(text.to_owned()) }
}

async fn new_topic(client: &Client, options: &AskOptions) -> anyhow::Result<String> {
    let title: String = options.question.trim().chars().take(TITLE_MAX_CHARS).collect();
    let mut form = json!({ "title": title });
    if !options.datasource.is_empty() {
        form["datasources"] = json!(options.datasource);
    }
    if let Some(model) = &options.model {
        form["model"] = json!(model);
    }
    text(&client.whole(Method::POST, TOPICS, Some(&form)).await?, "topic_id")
}

fn text(answer: &Value, member: &str) -> anyhow::Result<String> {
    let text = answer[member].as_str().map(str::to_owned);
    text.with_context(|| format!("the answer has no `{member}`; is this a Lakeport?"))
}

/// Shows the events until the end, also over broken connections.
async fn follow(client: &Client, task: &str, is_json: bool) -> anyhow::Result<Ended> {
    let (mut last, mut tries) = (0, 0);
    loop {
        let path = format!("{TASKS}/{}/events/stream?after={last}", segment(task));
        let mut events = match client.events(&path).await {
            Ok(Some(events)) => events,
            Ok(None) => bail!("the question was cancelled"),
            // The server may start again.
            Err(_) if (1..=AGAIN_MAX).contains(&tries) => {
                tries += 1;
                sleep(AGAIN).await;
                continue;
            }
            Err(error) => return Err(error),
        };
        loop {
            match events.next().await {
                Ok(Some(data)) => {
                    let event: Value = serde_json::from_str(&data).context("an event is no JSON")?;
                    (last, tries) = (event["seq"].as_i64().unwrap_or(last), 0);
                    print(&if is_json { data + "\n" } else { shown(&event) })?;
                    match event["type"].as_str() {
                        Some("message") if event["outcome"] == "answered" => return Ok(Ended::Answered),
                        Some("message") => return Ok(Ended::NotAnswered),
                        Some("error") => return Ok(Ended::Failed),
                        _ => {}
                    }
                }
                Ok(None) => break,
                Err(error) if tries == AGAIN_MAX => return Err(error),
                Err(_) => break,
            }
        }
        // It was cut, or the task was cancelled, which the next request finds.
        tries += 1;
        if tries > AGAIN_MAX {
            bail!("the stream broke {AGAIN_MAX} times; the task is {task}");
        }
        sleep(AGAIN).await;
    }
}

/// An event for a terminal.
fn shown(event: &Value) -> String {
    let member = |name: &str| event[name].as_str().unwrap_or_default();
    match member("type") {
        "thinking" => format!("· {}\n", printable(member("content"))),
        "tool_call" => {
            let tool = printable(member("tool"));
            match event["input"]["sql"].as_str() {
                Some(sql) => format!("→ {tool}\n{}", lines(sql, "    ")),
                None => format!("→ {tool} {}\n", printable(&event["input"].to_string())),
            }
        }
        // The message says it to people, or asks back.
        "tool_result" if event["error"]["code"] == "cannot_answer" => String::new(),
        "tool_result" if event["ok"] == false => {
            let error = &event["error"];
            let of = |name: &str| printable(error[name].as_str().unwrap_or_default());
            format!("✗ {}: {}\n", of("code"), of("message"))
        }
        "message" => message(event),
        "error" => format!("\n{} ({})\n", printable(member("message")), printable(member("code"))),
        _ => String::new(),
    }
}

fn message(event: &Value) -> String {
    let mut out = format!("\n{}", lines(event["content"].as_str().unwrap_or_default(), ""));
    let artifacts = event["artifacts"].as_array().map_or(&[][..], Vec::as_slice);
    for artifact in artifacts {
        match artifact["kind"].as_str() {
            Some("table") => out += &format!("\n{}", table(artifact)),
            Some("chart") => {
                out += &chart(&artifact["spec"]).map(|chart| format!("\n{chart}")).unwrap_or_default()
            }
            _ => {}
        }
    }
    let list = |title: &str, texts: Vec<String>| match texts.is_empty() {
        true => String::new(),
        false => {
            let line = |(place, text): (usize, &String)| format!("  {}. {}\n", place + 1, printable(text));
            format!("\n{title}\n{}", texts.iter().enumerate().map(line).collect::<String>())
        }
    };
    let texts = |name: &str, of: fn(&Value) -> Option<&str>| -> Vec<String> {
        event[name].as_array().into_iter().flatten().filter_map(of).map(str::to_owned).collect()
    };
    // The rules' answer names them itself.
    let content = event["content"].as_str().unwrap_or_default();
    let unsaid = |mut texts: Vec<String>| {
        texts.retain(|text| !content.contains(text.as_str()));
        texts
    };
    out += &list("Ask one of these:", unsaid(texts("candidates", |one| one["content"].as_str())));
    out + &list("These would be answered:", unsaid(texts("suggestions", Value::as_str)))
}

/// A text of several lines, each without what controls a terminal.
fn lines(text: &str, before: &str) -> String {
    text.trim_end().lines().map(|line| format!("{before}{}\n", printable(line))).collect()
}

fn table(artifact: &Value) -> String {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let names: Vec<String> = list(&artifact["columns"])
        .iter()
        .take(COLUMNS_SHOWN)
        .map(|column| printable(column["name"].as_str().unwrap_or_default()))
        .collect();
    let all = list(&artifact["rows"]);
    let cell = |cell: &Value| cut(&plain(cell), CELL_MAX_CHARS);
    let row = |row: &Value| -> Vec<String> { list(row).iter().take(COLUMNS_SHOWN).map(cell).collect() };
    let rows: Vec<Vec<String>> = all.iter().take(ROWS_SHOWN).map(row).collect();
    let headings: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut out = columns(&headings, &rows);
    let left = all.len().saturating_sub(ROWS_SHOWN);
    if left > 0 || artifact["truncated"] == true {
        let more = if left > 0 { format!("{left} more rows") } else { "there are more rows".to_owned() };
        out += &format!("({more}; --json shows all that came)\n");
    }
    out
}

fn plain(cell: &Value) -> String {
    match cell {
        Value::Null => "NULL".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn cut(text: &str, max_chars: usize) -> String {
    let text = printable(text);
    if text.chars().count() <= max_chars {
        return text;
    }
    text.chars().take(max_chars - 1).chain(['…']).collect()
}

/// One measure as bars; `None` for charts of another kind.
fn chart(spec: &Value) -> Option<String> {
    let encoding = &spec["encoding"];
    let field = |channel: &str| encoding[channel]["title"].as_str();
    let (label, measure) = (field("x").or_else(|| field("color"))?, field("y").or_else(|| field("theta"))?);
    let values = spec["data"]["values"].as_array()?;
    let bars: Vec<(String, f64)> = values
        .iter()
        .filter_map(|value| Some((cut(&plain(&value[label]), LABEL_MAX_CHARS), value[measure].as_f64()?)))
        .collect();
    let most = bars.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    if bars.is_empty() || most <= 0.0 || bars.iter().any(|(_, value)| *value < 0.0) {
        return None;
    }
    let width = bars.iter().take(BARS_SHOWN).map(|(label, _)| label.chars().count()).max().unwrap_or(0);
    let mut out = format!("{}\n", printable(measure));
    for (label, value) in bars.iter().take(BARS_SHOWN) {
        out += format!("{label:<width$} {} {value}", bar(value / most)).trim_end();
        out.push('\n');
    }
    let left = bars.len().saturating_sub(BARS_SHOWN);
    if left > 0 {
        out += &format!("({left} more)\n");
    }
    Some(out)
}

/// A bar of this share of the width, in eighths of a character.
fn bar(share: f64) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    // From 0 to 320.
    let eighths = (share.clamp(0.0, 1.0) * (BAR_WIDTH * 8) as f64).round() as usize;
    "█".repeat(eighths / 8) + PARTS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_show_shares_of_the_longest() {
        let spec = json!({ "data": { "values": [{ "day": "Mon", "n": 2 }, { "day": "Tuesday\u{1b}[2J", "n": 4.0 }] },
            "encoding": { "x": { "field": "day", "title": "day" }, "y": { "field": "n", "title": "n" } } });
        let chart = chart(&spec).unwrap();
        let expected = format!("n\nMon         {} 2\nTuesday [2J {} 4\n", "█".repeat(20), "█".repeat(40));
        assert_eq!(chart, expected);
        assert_eq!(bar(0.0), "");
        assert!(super::chart(&json!({ "encoding": {} })).is_none());
    }

    #[test]
    fn what_a_terminal_would_obey_is_not_shown() {
        let event =
            json!({ "type": "tool_call", "tool": "run_sql", "input": { "sql": "SELECT 1\n-- \u{1b}[2J" } });
        assert_eq!(shown(&event), "→ run_sql\n    SELECT 1\n    --  [2J\n");
        let event = json!({ "type": "message", "content": "Which?", "artifacts": [],
            "candidates": [{ "label": "a", "content": "by a" }] });
        assert_eq!(shown(&event), "\nWhich?\n\nAsk one of these:\n  1. by a\n");
    }

    #[test]
    fn a_table_is_cut_to_what_a_terminal_shows() {
        let rows: Vec<Value> = (0..40).map(|n| json!([n, null])).collect();
        let artifact =
            json!({ "columns": [{ "name": "n" }, { "name": "v" }], "rows": rows, "truncated": false });
        let shown = table(&artifact);
        assert!(
            shown.starts_with("n   v\n0   NULL\n")
                && shown.ends_with("(10 more rows; --json shows all that came)\n"),
            "{shown}"
        );
    }
}
