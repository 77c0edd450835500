//! A version as text, and the difference of two as a unified diff that reads well in a terminal. The workflow and
//! each task are a section of their own, so an unchanged task costs nothing.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use chrono_tz::Tz;
use lakeport_base::time;
use similar::TextDiff;

use super::snapshot::{SavedTask, Snapshot};
use crate::workflows::tasks::part::TableName;

/// The time for the shortest difference; a longer one is shown afterwards.
const PATIENCE: Duration = Duration::from_millis(200);
/// The longest text, in bytes.
const TEXT_MAX_BYTES: usize = 1024 * 1024;
/// Unchanged lines around each change.
const CONTEXT_LINES: usize = 3;

/// The difference of two versions; empty if their texts are equal. `None`: nothing, as before the first deployment.
pub fn unified(before: Option<&Snapshot>, after: &Snapshot, zone: Tz) -> String {
    let deadline = Instant::now() + PATIENCE;
    let mut out = String::new();
    let old = before.map(|before| workflow(before, zone));
    section(&mut out, "workflow", old.as_deref(), Some(&workflow(after, zone)), deadline);
    let ids: BTreeSet<i64> =
        before.iter().flat_map(|before| before.tasks.keys()).chain(after.tasks.keys()).copied().collect();
    for id in ids {
        let old = before.and_then(|before| before.tasks.get(&id));
        let new = after.tasks.get(&id);
        if let (Some(old), Some(new)) = (old, new)
            && old.digest == new.digest
        {
            continue;
        }
        let Some(named) = new.or(old) else { continue };
        let name = format!("tasks/{}", named.content.task_name);
        section(&mut out, &name, old.map(task).as_deref(), new.map(task).as_deref(), deadline);
        if out.len() > TEXT_MAX_BYTES {
            break;
        }
    }
    cut(&mut out);
    out
}

fn cut(out: &mut String) {
    if out.len() <= TEXT_MAX_BYTES {
        return;
    }
    let left_off = out.len() - TEXT_MAX_BYTES;
    out.truncate(out.floor_char_boundary(TEXT_MAX_BYTES));
    out.truncate(out.rfind('\n').map_or(0, |at| at + 1));
    let _ = writeln!(out, "\\ more than {left_off} bytes of the difference are not shown");
}

fn section(out: &mut String, name: &str, before: Option<&str>, after: Option<&str>, deadline: Instant) {
    let (old, new) = (before.unwrap_or_default(), after.unwrap_or_default());
    if old == new {
        return;
    }
    let name = line(name);
    let named = |text: Option<&str>, side: &str| match text {
        Some(_) => format!("{side}/{name}"),
        None => "/dev/null".to_owned(),
    };
    let left = deadline.saturating_duration_since(Instant::now());
    let diff = TextDiff::configure().timeout(left).diff_lines(old, new);
    let mut unified = diff.unified_diff();
    unified.context_radius(CONTEXT_LINES).header(&named(before, "a"), &named(after, "b"));
    let _ = write!(out, "{unified}");
}

fn workflow(snapshot: &Snapshot, zone: Tz) -> String {
    let content = &snapshot.content;
    let mut out = String::new();
    member(&mut out, "name", &content.name);
    member(&mut out, "engine", &content.scheduler_engine);
    if let Some(description) = &content.description {
        block(&mut out, "description", description);
    }
    for param in &content.global_params {
        member(&mut out, &format!("param {}", param.name), &param.value);
    }
    if !content.concurrency.is_default() {
        member(&mut out, "concurrency", content.concurrency.as_str());
    }
    if let Some(schedule) = &content.schedule {
        member(&mut out, "schedule", &schedule.crontab);
        member(&mut out, "timezone", &schedule.timezone);
        for (name, at) in [("start", schedule.start_ms), ("end", schedule.end_ms)] {
            if let Some(at) = at {
                member(&mut out, name, &time::shown_exactly(at, zone));
            }
        }
        member(&mut out, "failure strategy", schedule.failure_strategy.as_str());
        member(&mut out, "warning type", schedule.warning_type.as_str());
    }
    out
}

fn task(task: &SavedTask) -> String {
    let content = &task.content;
    let mut out = String::new();
    member(&mut out, "name", &content.task_name);
    member(&mut out, "type", &content.task_type);
    let named = task.names.datasource.clone();
    let missing = content.unresolved.datasource.as_ref().map(|name| format!("{name} (missing)"));
    let unnamed = || content.datasource_id.map(|id| format!("data source {id}"));
    if let Some(source) = named.or(missing).or_else(unnamed) {
        member(&mut out, "datasource", &source);
    }
    member(&mut out, "priority", content.priority.as_str());
    for (name, number) in [
        ("timeout", content.timeout),
        ("retry times", content.retry_times),
        ("retry interval", content.retry_interval),
    ] {
        member(&mut out, name, &number.to_string());
    }
    for (name, ids) in [("reads", &content.input_table_ids), ("writes", &content.output_table_ids)] {
        for id in ids {
            member(&mut out, name, &table(task.names.tables.iter().find(|table| table.id == *id), *id));
        }
    }
    for (name, missing) in [("reads", &content.unresolved.inputs), ("writes", &content.unresolved.outputs)] {
        for table in missing {
            member(&mut out, name, &format!("{table} (missing)"));
        }
    }
    if let Some(text) = &content.sql_content {
        block(&mut out, "text", text);
    }
    out
}

fn table(named: Option<&TableName>, id: i64) -> String {
    let Some(named) = named else { return format!("table {id}") };
    let place = format!("{}.{}", named.db_name, named.table_name);
    named.datasource.as_ref().map_or(place.clone(), |source| format!("{source}.{place}"))
}

fn member(out: &mut String, name: &str, value: &str) {
    let _ = writeln!(out, "{}: {}", line(name), line(value));
}

/// A text of several lines, indented.
fn block(out: &mut String, name: &str, text: &str) {
    let _ = writeln!(out, "{name}:");
    for one in text.split('\n') {
        let _ = writeln!(out, "  {}", line(one));
    }
}

/// A text on one line that cannot drive a terminal.
fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() && c != '\t' { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}
