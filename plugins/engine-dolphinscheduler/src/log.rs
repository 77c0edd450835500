//! Logs of tries, read by lines.
//!
//! A slice begins at a line and has so many lines, each ending in `\r\n`; the first one has a line of its own
//! before them, with the log's path and host. Past its end a slice is empty, yet says that it has one line. So
//! lines are counted here. Lines may reach the log up to a second after the task has ended: an end counts if
//! the log has nothing new two seconds later.

use lakeport_sdk::engine::{Error, LogPage, LogRequest, clock};

use crate::answer;
use crate::api::Api;

/// Lines of one request: the fewest and the most.
const LINES_MIN: u32 = 20;
const LINES_MAX: u32 = 1_000;
/// How many bytes a line has about.
const LINE_BYTES: u32 = 100;
/// How long a log may grow after the end of its task.
const LATE_MS: i64 = 2_000;
/// What DolphinScheduler writes below the log of a script.
const LAST_LINE: &str = "FINALIZE_SESSION";
/// The task was not given to a worker yet.
const NO_HOST: i64 = 10_191;
/// The worker has not begun the log; also any failure to read it.
const NO_LOG: i64 = 10_103;
const HEAD: &str = "[LOG-PATH]";

/// The lines that were read, and when the log was first seen at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cursor {
    lines: usize,
    at_end_ms: Option<i64>,
}

impl Cursor {
    fn read(text: &str) -> Option<Cursor> {
        let (lines, at_end) = match text.split_once('@') {
            Some((lines, at_end)) => (lines, Some(at_end.parse().ok()?)),
            None => (text, None),
        };
        Some(Cursor { lines: lines.parse().ok()?, at_end_ms: at_end })
    }

    fn written(&self) -> String {
        match self.at_end_ms {
            Some(at) => format!("{}@{at}", self.lines),
            None => self.lines.to_string(),
        }
    }
}

pub fn log(request: &LogRequest) -> Result<LogPage, Error> {
    let cursor = match &request.cursor {
        None => Cursor { lines: 0, at_end_ms: None },
        Some(text) => Cursor::read(text).ok_or_else(|| {
            Error::invalid_input(format!("the cursor {text:?} is not one of this plugin's"))
        })?,
    };
    let id = &request.task_run;
    if id.parse::<u32>().is_err() {
        return Err(Error::not_found(format!("DolphinScheduler has no try {id}")));
    }
    let api = Api::open()?;
    let limit = (request.max_bytes / LINE_BYTES).clamp(LINES_MIN, LINES_MAX);
    let params = vec![
        ("taskInstanceId", id.clone()),
        ("skipLineNum", cursor.lines.to_string()),
        ("limit", limit.to_string()),
    ];
    let message = match api.send("GET", &["log", "detail"], params)? {
        Ok(data) => {
            let message = data["message"].as_str().map(str::to_owned);
            message.ok_or_else(|| answer::missing("GET log/detail", "`message`"))?
        }
        Err(refusal) if refusal.code == NO_HOST || refusal.code == NO_LOG && !request.ended => String::new(),
        Err(refusal) => return Err(refusal.error("GET log/detail", false)),
    };
    Ok(part(request, cursor, &message))
}

fn part(request: &LogRequest, cursor: Cursor, message: &str) -> LogPage {
    let lines = lines(message);
    let (mut text, mut used) = (String::new(), 0);
    for line in &lines {
        let line = plain(line);
        if used > 0 && text.len() + line.len() >= request.max_bytes as usize {
            break;
        }
        text.push_str(&line);
        text.push('\n');
        used += 1;
    }
    if used > 0 {
        let next = Cursor { lines: cursor.lines + used, at_end_ms: None };
        let is_last = used == lines.len() && lines.last().is_some_and(|line| line.contains(LAST_LINE));
        return LogPage { text, next: next.written(), complete: request.ended && is_last };
    }
    let now = clock::now();
    let (at_end_ms, complete) = match cursor.at_end_ms {
        _ if !request.ended => (None, false),
        Some(at) => (Some(at), now - at >= LATE_MS),
        None => (Some(now), false),
    };
    LogPage { text, next: Cursor { at_end_ms, ..cursor }.written(), complete }
}

/// The lines of a slice, without the one that DolphinScheduler puts before them.
fn lines(message: &str) -> Vec<&str> {
    let rest = match message.strip_prefix(HEAD) {
        Some(head) => head.split_once('\n').map_or("", |(_, rest)| rest),
        None => message,
    };
    let mut lines: Vec<&str> = rest.split("\r\n").collect();
    // What stands behind the last end of a line is nothing, or a line that is still being written.
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
}

/// A line without control sequences: of colours, and single characters.
fn plain(line: &str) -> String {
    let (mut plain, mut chars) = (String::with_capacity(line.len()), line.chars().peekable());
    while let Some(c) = chars.next() {
        if c == '\u{1b}' && chars.next_if_eq(&'[').is_some() {
            // Up to a letter, which ends the sequence.
            while chars.next_if(|c| !('@'..='~').contains(c)).is_some() {}
            chars.next();
        } else if !c.is_control() || matches!(c, '\t' | '\n') {
            plain.push(c);
        }
    }
    plain
}
