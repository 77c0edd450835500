//! The log of one attempt: complete lines with times, without control characters, with a size limit.

use chrono_tz::Tz;
use lakeport_base::text::is_unsafe;
use lakeport_base::time;

use super::store::Piece;
use crate::scheduler::store::State;

/// The whole log, in bytes.
const LOG_MAX_BYTES: usize = 1024 * 1024;
/// Reserved for its end.
const END_BYTES: usize = 8 * 1024;
/// One line, in characters.
const LINE_MAX_CHARS: usize = 6_000;
/// A piece of it in the store, in bytes.
const PIECE_BYTES: usize = 64 * 1024;

pub struct Log {
    zone: Tz,
    /// Lines that are not stored yet.
    waiting: String,
    /// Stored bytes.
    at_byte: usize,
    is_cut: bool,
}

impl Log {
    pub fn new(zone: Tz) -> Log {
        Log { zone, waiting: String::new(), at_byte: 0, is_cut: false }
    }

    /// Adds a line, or the last one that fits.
    pub fn line(&mut self, now_ms: i64, text: &str) {
        let line = line(now_ms, self.zone, text);
        if self.is_cut {
            return;
        }
        if self.at_byte + self.waiting.len() + line.len() > LOG_MAX_BYTES - END_BYTES {
            self.is_cut = true;
            let cut = format!("the log is cut here: it has {LOG_MAX_BYTES} bytes at most");
            self.waiting.push_str(&self::line(now_ms, self.zone, &cut));
        } else {
            self.waiting.push_str(&line);
        }
    }

    /// Adds the end, for which there is always space.
    pub fn end(&mut self, now_ms: i64, state: State, message: Option<&str>, rows: Option<i64>) {
        let text = match (message, rows) {
            (Some(message), _) => format!("{}: {message}", state.as_str()),
            (None, Some(rows)) => format!("{}: {rows} rows changed", state.as_str()),
            (None, None) => state.as_str().to_owned(),
        };
        self.waiting.push_str(&line(now_ms, self.zone, &text));
    }

    pub fn is_written(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The pending lines.
    pub fn pending(&self) -> Pending {
        Pending { at_byte: self.at_byte, text: self.waiting.clone() }
    }

    /// The pending lines were stored.
    pub fn was_written(&mut self, pending: &Pending) {
        self.waiting.drain(..pending.text.len());
        self.at_byte += pending.text.len();
    }
}

/// Lines of a log that are to be stored.
#[derive(Clone)]
pub struct Pending {
    at_byte: usize,
    text: String,
}

impl Pending {
    /// In the order of the log.
    pub fn pieces(&self, task_run_id: i64) -> Vec<Piece<'_>> {
        let mut at_byte = self.at_byte as i64;
        let piece = |text| {
            let piece = Piece { task_run_id, at_byte, text };
            at_byte += str::len(text) as i64;
            piece
        };
        pieces(&self.text).into_iter().map(piece).collect()
    }
}

/// One line of a log, with its line break.
pub fn line(now_ms: i64, zone: Tz, text: &str) -> String {
    let plain = text.chars().map(|c| if is_unsafe(c) { ' ' } else { c });
    let mut line: String = plain.clone().take(LINE_MAX_CHARS).collect();
    if plain.clone().nth(LINE_MAX_CHARS).is_some() {
        line.push('…');
    }
    format!("{} {line}\n", time::shown(now_ms, zone))
}

/// Complete lines, in pieces of about so many bytes.
fn pieces(text: &str) -> Vec<&str> {
    let (mut pieces, mut rest) = (Vec::new(), text);
    while rest.len() > PIECE_BYTES {
        let head = rest.as_bytes()[..PIECE_BYTES].iter().rposition(|&byte| byte == b'\n');
        let end = head.or_else(|| rest.find('\n')).map_or(rest.len(), |end| end + 1);
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(rest);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_whole_and_plain() {
        let line = line(0, Tz::UTC, "a\nb\u{1b}[31m\u{202e}c\u{2028}d");
        assert_eq!(line, "1970-01-01 00:00:00 a b [31m c d\n");
    }

    #[test]
    fn a_cut_log_ends_with_the_outcome() {
        let mut log = Log::new(Tz::UTC);
        for _ in 0..2_000 {
            log.line(0, &"x".repeat(1_000));
        }
        log.end(0, State::Failed, Some(&"y".repeat(20_000)), None);
        let lines: Vec<&str> = log.waiting.lines().collect();
        assert!(log.waiting.len() <= LOG_MAX_BYTES);
        assert!(lines[lines.len() - 2].contains("the log is cut here"));
        assert!(lines[lines.len() - 1].contains("failed: yyy"));
        let pieces = pieces(&log.waiting);
        assert!(pieces.iter().all(|piece| piece.ends_with('\n') && piece.len() <= PIECE_BYTES));
        assert_eq!(pieces.concat(), log.waiting);
    }
}
