//! The log on standard error. Lines of requests are written together, a few milliseconds late: one write a line
//! costs as much as a small read of the store. Warnings and errors are written at once, with all that waits before
//! them. A process that is killed loses what it logged in its last [`DELAY`], and no warning.
//!
//! A line may hold texts from outside, such as what a database says. So control characters are escaped, and the
//! length of a value and the number of lines have a bound.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lakeport_base::text::is_unsafe;
use parking_lot::{Condvar, Mutex};
use serde_json::Value;
use tracing::field::Field;
use tracing::{Level, Metadata};
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::format::{self, Writer};
use tracing_subscriber::fmt::{FormatFields, MakeWriter};

/// How long a line waits for others.
const DELAY: Duration = Duration::from_millis(20);
/// So much waits at the most.
const WAITING_MAX_BYTES: usize = 64 * 1024;
/// The longest value in a line: a database's message with its statement is shorter.
const VALUE_MAX_BYTES: usize = 4 * 1024;
/// A line longer than this has a value that is too long.
const LINE_MAX_BYTES: usize = 16 * 1024;
/// Lines of one target in a second; more are counted and left out.
const LINES_PER_SECOND: u32 = 100;
const SECOND: Duration = Duration::from_secs(1);
/// The lines of requests, which have limits of their own.
const REQUESTS: &str = "lakeport_http::edge";

/// Lines on their way out.
#[derive(Clone)]
pub struct Log(Arc<Shared>);

struct Shared {
    waiting: Mutex<Vec<u8>>,
    has_lines: Condvar,
    budgets: Mutex<Budgets>,
    /// Held while lines are written, so that they stay in order.
    out: Mutex<Box<dyn Write + Send>>,
}

/// One line.
pub struct Line<'l> {
    log: &'l Log,
    is_urgent: bool,
    is_left_out: bool,
}

/// The lines of each target in the current second.
#[derive(Default)]
struct Budgets(HashMap<String, Budget>);

struct Budget {
    since: Instant,
    lines: u32,
    left_out: u64,
}

impl Budgets {
    /// Whether one more line of the target may be written.
    fn admit(&mut self, target: &str, now: Instant) -> bool {
        let Some(budget) = self.0.get_mut(target) else {
            self.0.insert(target.to_owned(), Budget { since: now, lines: 1, left_out: 0 });
            return true;
        };
        if now - budget.since >= SECOND {
            (budget.since, budget.lines) = (now, 0);
        }
        budget.lines = budget.lines.saturating_add(1);
        let is_within = budget.lines <= LINES_PER_SECOND;
        budget.left_out += u64::from(!is_within);
        is_within
    }

    fn has_left_out(&self) -> bool {
        self.0.values().any(|budget| budget.left_out > 0)
    }

    /// How many lines of which target were left out, in seconds that are over.
    fn take_left_out(&mut self, now: Instant) -> Vec<(String, u64)> {
        let over =
            self.0.iter_mut().filter(|(_, budget)| budget.left_out > 0 && now - budget.since >= SECOND);
        over.map(|(target, budget)| (target.clone(), std::mem::take(&mut budget.left_out))).collect()
    }
}

/// The fields of a line of text: escaped, and each at most [`VALUE_MAX_BYTES`] long.
pub fn fields() -> impl for<'w> FormatFields<'w> + 'static {
    format::debug_fn(write_field).delimited(" ")
}

fn write_field(out: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    let mut shown = Bounded::default();
    write!(shown, "{value:?}")?;
    match field.name() {
        "message" => write!(out, "{shown}"),
        name => write!(out, "{name}={shown}"),
    }
}

/// The beginning of a value, escaped.
#[derive(Default)]
struct Bounded {
    text: String,
    left_out_bytes: usize,
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text.chars();
        while self.left_out_bytes == 0
            && self.text.len() < VALUE_MAX_BYTES
            && let Some(c) = rest.next()
        {
            if is_unsafe(c) { self.text.extend(c.escape_default()) } else { self.text.push(c) }
        }
        self.left_out_bytes += rest.as_str().len();
        Ok(())
    }
}

impl fmt::Display for Bounded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)?;
        match self.left_out_bytes {
            0 => Ok(()),
            bytes => write!(out, "… {bytes} bytes left out"),
        }
    }
}

/// A line of JSON, in which the formatter has escaped the control characters of ASCII, without the others and without
/// values that are too long.
fn bounded_json(line: &str) -> Cow<'_, str> {
    let is_short = line.len() <= LINE_MAX_BYTES;
    if is_short && !line.trim_end_matches('\n').contains(is_unsafe) {
        return Cow::Borrowed(line);
    }
    let mut whole: Value = serde_json::from_str(line).unwrap_or_default();
    for_each_text(&mut whole, &|text| {
        let mut shown = Bounded::default();
        // Writing to it never fails.
        let _ = shown.write_str(text);
        *text = shown.to_string();
    });
    Cow::Owned(format!("{whole}\n"))
}

fn for_each_text(value: &mut Value, change: &impl Fn(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| for_each_text(item, change)),
        Value::Object(members) => members.values_mut().for_each(|member| for_each_text(member, change)),
        _ => {}
    }
}

/// Writes what waits when it is dropped.
pub struct FlushAtEnd(Log);

impl Log {
    /// A thread of its own writes what is not urgent; it ends with the process.
    #[expect(clippy::disallowed_methods, reason = "the thread does nothing else, and waits for more lines")]
    pub fn start(out: impl Write + Send + 'static) -> std::io::Result<(Log, FlushAtEnd)> {
        let log = Log(Arc::new(Shared {
            waiting: Mutex::default(),
            has_lines: Condvar::new(),
            budgets: Mutex::default(),
            out: Mutex::new(Box::new(out)),
        }));
        let writer = log.clone();
        std::thread::Builder::new().name("log".to_owned()).spawn(move || {
            loop {
                let mut waiting = writer.0.waiting.lock();
                let has_nothing =
                    |waiting: &mut Vec<u8>| waiting.is_empty() && !writer.0.budgets.lock().has_left_out();
                writer.0.has_lines.wait_while(&mut waiting, has_nothing);
                drop(waiting);
                std::thread::sleep(DELAY);
                writer.say_left_out(Instant::now());
                writer.flush();
            }
        })?;
        Ok((log.clone(), FlushAtEnd(log)))
    }

    /// Whether one more line of the target is written.
    fn admits(&self, target: &str) -> bool {
        if target == REQUESTS || self.0.budgets.lock().admit(target, Instant::now()) {
            return true;
        }
        // The thread looks for what was left out while it holds this.
        drop(self.0.waiting.lock());
        self.0.has_lines.notify_one();
        false
    }

    fn say_left_out(&self, now: Instant) {
        let left_out = self.0.budgets.lock().take_left_out(now);
        for (target, lines) in left_out {
            tracing::warn!("… {lines} lines of {target} left out");
        }
    }

    fn flush(&self) {
        let mut out = self.0.out.lock();
        let lines = std::mem::take(&mut *self.0.waiting.lock());
        // The reader of the log may have gone away: no reason not to serve.
        let _ = out.write_all(&lines).and_then(|()| out.flush());
    }

    fn add(&self, line: &[u8], is_urgent: bool) {
        let mut waiting = self.0.waiting.lock();
        let is_first = waiting.is_empty();
        waiting.extend_from_slice(line);
        let is_full = waiting.len() > WAITING_MAX_BYTES;
        drop(waiting);
        if is_urgent || is_full {
            self.flush();
        } else if is_first {
            self.0.has_lines.notify_one();
        }
    }
}

impl Write for Line<'_> {
    /// Gets one line at once.
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if !self.is_left_out {
            let is_json = bytes.starts_with(b"{");
            match std::str::from_utf8(bytes) {
                Ok(line) if is_json => self.log.add(bounded_json(line).as_bytes(), self.is_urgent),
                _ => self.log.add(bytes, self.is_urgent),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'l> MakeWriter<'l> for Log {
    type Writer = Line<'l>;

    fn make_writer(&'l self) -> Line<'l> {
        Line { log: self, is_urgent: true, is_left_out: false }
    }

    fn make_writer_for(&'l self, about: &Metadata<'_>) -> Line<'l> {
        Line {
            log: self,
            is_urgent: *about.level() <= Level::WARN,
            is_left_out: !self.admits(about.target()),
        }
    }
}

impl Drop for FlushAtEnd {
    fn drop(&mut self) {
        self.0.say_left_out(Instant::now() + SECOND);
        self.0.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Kept {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().clone()).unwrap()
        }
    }

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_warning_is_written_at_once_behind_what_waits() {
        let kept = Kept::default();
        let (log, _end) = Log::start(kept.clone()).unwrap();
        log.add(b"a\n", false);
        log.add(b"b\n", true);
        assert_eq!(kept.text(), "a\nb\n");
    }

    #[tokio::test]
    async fn lines_are_written_soon_and_at_the_end() {
        let kept = Kept::default();
        let (log, end) = Log::start(kept.clone()).unwrap();
        log.add(b"a\n", false);
        let written = async {
            while kept.text().is_empty() {
                tokio::time::sleep(DELAY).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), written).await.unwrap();
        assert_eq!(kept.text(), "a\n");
        log.add(b"b\n", false);
        drop(end);
        assert_eq!(kept.text(), "a\nb\n");
    }

    const HOSTILE: &str = "a\n2026-11-23T00:00:00Z ERROR lakeport: forged\u{1b}[2J\u{9b}1m\u{202e}\r\u{7f}";

    fn written(is_json: bool, events: impl FnOnce()) -> String {
        let kept = Kept::default();
        let (log, end) = Log::start(kept.clone()).unwrap();
        let lines = tracing_subscriber::fmt().with_writer(log).with_ansi(false);
        if is_json {
            tracing::subscriber::with_default(lines.json().finish(), events);
        } else {
            tracing::subscriber::with_default(lines.fmt_fields(fields()).finish(), events);
        }
        drop(end);
        kept.text()
    }

    #[test]
    fn texts_from_outside_stay_on_their_line() {
        for is_json in [false, true] {
            let text = written(
                is_json,
                || tracing::info!(target: "sqlx::postgres::notice", path = %HOSTILE, "{HOSTILE}"),
            );
            assert_eq!(text.matches('\n').count(), 1, "{text:?}");
            assert!(text.ends_with('\n') && !text.trim_end().contains(is_unsafe), "{text:?}");
            assert!(text.contains("forged"), "{text:?}");
            assert!(!is_json || serde_json::from_str::<Value>(&text).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        let long = "表".repeat(1_000_000);
        for is_json in [false, true] {
            let text = written(is_json, || tracing::warn!(said = %long, "{long}"));
            assert!(text.len() < LINE_MAX_BYTES, "{} bytes", text.len());
            assert_eq!(text.matches("bytes left out").count(), 2, "{text}");
            assert!(!is_json || serde_json::from_str::<Value>(&text).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_flood_of_one_target_is_counted() {
        const FLOOD: u32 = 10_000;
        let text = written(false, || {
            for line in 0..FLOOD {
                tracing::warn!(target: "sqlx::postgres::notice", "line {line}");
            }
            tracing::info!("of another target");
        });
        let lines = text.matches("sqlx::postgres::notice: line ").count();
        assert!((LINES_PER_SECOND as usize..FLOOD as usize / 2).contains(&lines), "{lines} lines");
        assert!(text.contains("of another target"));
    }

    #[test]
    fn a_budget_comes_back_each_second() {
        let (mut budgets, start) = (Budgets::default(), Instant::now());
        let admitted = |at: Instant, budgets: &mut Budgets| {
            (0..LINES_PER_SECOND + 3).filter(|_| budgets.admit("a", at)).count()
        };
        assert_eq!(admitted(start, &mut budgets), LINES_PER_SECOND as usize);
        assert!(budgets.has_left_out() && budgets.take_left_out(start).is_empty(), "the second is not over");
        assert_eq!(budgets.take_left_out(start + SECOND), [("a".to_owned(), 3)]);
        assert!(!budgets.has_left_out());
        assert_eq!(admitted(start + SECOND, &mut budgets), LINES_PER_SECOND as usize);
        assert!(budgets.admit("b", start));
    }

    #[test]
    fn much_is_not_kept_waiting() {
        let kept = Kept::default();
        let (log, _end) = Log::start(kept.clone()).unwrap();
        log.add(&vec![b'a'; WAITING_MAX_BYTES + 1], false);
        assert_eq!(kept.text().len(), WAITING_MAX_BYTES + 1);
    }
}
