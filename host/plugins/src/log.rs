//! The logs of plugins: a bounded ring of lines per plugin, and the line budget of one call.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use serde::Serialize;

/// A message is cut at this many bytes.
pub const MESSAGE_MAX_BYTES: usize = 4_096;
/// The most fields of a line.
pub const FIELDS_MAX: usize = 32;
/// A field's name or value is cut at this many bytes.
pub const FIELD_MAX_BYTES: usize = 1_024;

/// The most bytes that a plugin's log keeps.
pub const LOG_MAX_BYTES: usize = 4 * 1024 * 1024;
/// One call writes at most this part of a plugin's log, by lines and by bytes, so that lines of other calls
/// stay.
const CALLS_PART: usize = 4;

/// The severity of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Single steps.
    Trace,
    /// For debugging the plugin.
    Debug,
    /// Information for the operator.
    Info,
    /// A problem that was handled.
    Warn,
    /// A problem that needs a person.
    Error,
}

/// One line.
#[derive(Clone, Debug, Serialize)]
pub struct LogLine {
    /// Milliseconds since 1970 UTC.
    #[serde(skip)]
    pub at_ms: i64,
    /// The severity.
    pub level: LogLevel,
    /// The message, control characters escaped.
    pub message: String,
    /// Additional fields.
    pub fields: Vec<(String, String)>,
    /// Digest of the component that logged it; empty for the host's own lines.
    pub digest: String,
    /// The call that logged it.
    pub call: String,
}

/// The last lines of one plugin, over all of its generations.
#[derive(Debug)]
pub struct PluginLog {
    kept: Mutex<Kept>,
    capacity: usize,
}

#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<LogLine>,
    bytes: usize,
}

impl LogLine {
    fn bytes(&self) -> usize {
        let fields: usize = self.fields.iter().map(|(name, value)| name.len() + value.len()).sum();
        self.message.len() + fields + self.digest.len() + self.call.len()
    }
}

impl PluginLog {
    /// An empty log that keeps `capacity` lines, [`LOG_MAX_BYTES`] in total.
    pub fn new(capacity: usize) -> Self {
        PluginLog { kept: Mutex::default(), capacity: capacity.max(1) }
    }

    /// The kept lines, oldest first.
    pub fn lines(&self) -> Vec<LogLine> {
        self.kept.lock().lines.iter().cloned().collect()
    }

    pub(crate) fn push(&self, line: LogLine) {
        let mut kept = self.kept.lock();
        kept.bytes += line.bytes();
        kept.lines.push_back(line);
        while kept.lines.len() > self.capacity || kept.bytes > LOG_MAX_BYTES {
            let Some(oldest) = kept.lines.pop_front() else { break };
            kept.bytes -= oldest.bytes();
        }
    }
}

/// The log of one call, with its budget of lines.
pub struct CallLog {
    log: Arc<PluginLog>,
    digest: Arc<str>,
    call: Arc<str>,
    left: u32,
    bytes_left: usize,
    dropped: u64,
}

impl CallLog {
    pub(crate) fn new(log: Arc<PluginLog>, digest: Arc<str>, call: Arc<str>, lines_max: u32) -> Self {
        let part = u32::try_from(log.capacity / CALLS_PART).unwrap_or(u32::MAX).max(1);
        let bytes_left = LOG_MAX_BYTES / CALLS_PART;
        CallLog { log, digest, call, left: lines_max.min(part), bytes_left, dropped: 0 }
    }

    pub(crate) fn write(&mut self, level: LogLevel, message: &str, fields: Vec<(String, String)>) {
        if self.left == 0 {
            self.dropped += 1;
            return;
        }
        self.left -= 1;
        let fields = fields
            .into_iter()
            .take(FIELDS_MAX)
            .map(|(name, value)| (plain(&name, FIELD_MAX_BYTES), plain(&value, FIELD_MAX_BYTES)))
            .collect();
        let message = plain(message, MESSAGE_MAX_BYTES);
        tracing::debug!(target: "lakeport::plugin", call = &*self.call, ?level, "{message}");
        let line = LogLine {
            at_ms: now_ms(),
            level,
            message,
            fields,
            digest: self.digest.to_string(),
            call: self.call.to_string(),
        };
        match self.bytes_left.checked_sub(line.bytes()) {
            Some(left) => {
                self.bytes_left = left;
                self.log.push(line);
            }
            None => {
                self.left = 0;
                self.dropped += 1;
            }
        }
    }
}

impl Drop for CallLog {
    fn drop(&mut self) {
        if self.dropped > 0 {
            self.log.push(LogLine {
                at_ms: now_ms(),
                level: LogLevel::Warn,
                message: format!("{} more lines of this call were left out", self.dropped),
                fields: Vec::new(),
                digest: String::new(),
                call: self.call.to_string(),
            });
        }
    }
}

pub(crate) fn now_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX))
}

/// Text without control characters for one line of a terminal, cut to `max_bytes`.
fn plain(text: &str, max_bytes: usize) -> String {
    let mut out = String::with_capacity(text.len().min(max_bytes));
    for c in text.chars() {
        let before = out.len();
        let bidi = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if c.is_control() || bidi {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        } else {
            out.push(c);
        }
        if out.len() > max_bytes {
            out.truncate(before);
            out.push('…');
            break;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(lines_max: u32) -> (Arc<PluginLog>, CallLog) {
        let log = Arc::new(PluginLog::new(20));
        let call = CallLog::new(log.clone(), "d".into(), "c".into(), lines_max);
        (log, call)
    }

    #[test]
    fn control_characters_cannot_forge_a_line() {
        let (log, mut call) = log(10);
        call.write(LogLevel::Info, "a\nERROR \u{1b}[2J\u{202e}", vec![]);
        assert_eq!(log.lines()[0].message, "a\\u{a}ERROR \\u{1b}[2J\\u{202e}");
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let (log, mut call) = log(10);
        call.write(LogLevel::Info, &"字".repeat(5_000), vec![]);
        let message = &log.lines()[0].message;
        assert!(message.len() <= MESSAGE_MAX_BYTES + 3 && message.ends_with('…'));
    }

    #[test]
    fn lines_that_grow_by_escaping_stay_within_the_bytes() {
        let log = Arc::new(PluginLog::new(1_000));
        let mut call = CallLog::new(log.clone(), "d".into(), "c".into(), 1_000);
        let fat = "\u{1f}".repeat(FIELD_MAX_BYTES);
        for _ in 0..1_000 {
            call.write(LogLevel::Info, &fat, vec![(fat.clone(), fat.clone()); FIELDS_MAX]);
        }
        let lines = log.lines();
        assert!(lines.iter().map(LogLine::bytes).sum::<usize>() <= LOG_MAX_BYTES);
        assert!(lines.iter().all(|line| line.fields[0].1.len() <= FIELD_MAX_BYTES + 3));
    }

    #[test]
    fn one_call_leaves_the_lines_of_others() {
        let log = Arc::new(PluginLog::new(1_000));
        let call = |id: &str| CallLog::new(log.clone(), "d".into(), id.into(), 1_000);
        call("early").write(LogLevel::Info, "here", vec![]);
        let fat = "x".repeat(FIELD_MAX_BYTES);
        for fields in [vec![], vec![(fat.clone(), fat.clone()); FIELDS_MAX]] {
            let mut flood = call("flood");
            for _ in 0..100_000 {
                flood.write(LogLevel::Info, "x", fields.clone());
            }
        }
        assert_eq!(log.lines()[0].call, "early");
        let flood = log.lines().into_iter().filter(|line| line.call == "flood");
        assert!(flood.count() <= 2 * (1_000 / CALLS_PART + 1));
    }

    #[test]
    fn what_is_over_the_budget_is_counted() {
        let (log, mut call) = log(3);
        for _ in 0..1_000 {
            call.write(LogLevel::Info, "x", vec![]);
        }
        drop(call);
        let lines = log.lines();
        assert_eq!(lines.len(), 4);
        assert!(lines[3].message.starts_with("997 more lines"));
    }
}
