//! The progress of a step: a status line in a terminal, a line now and then in a log.
//!
//! cargo's progress is read from its own progress bar, the only source of the number of crates and the
//! current ones.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::terminal;

/// The interval of progress lines in a log.
const LOG_EVERY: Duration = Duration::from_secs(15);

/// How often the status line's seconds advance.
const REWRITE_EVERY: Duration = Duration::from_secs(1);

/// Wide enough for cargo to name all crates that it compiles at a time.
const BAR_COLUMNS: &str = "300";

/// cargo's words for its own steps, right-aligned before a space.
const VERBS: [&str; 18] = [
    "Adding",
    "Blocking",
    "Building",
    "Checking",
    "Compiling",
    "Dirty",
    "Downgrading",
    "Downloaded",
    "Downloading",
    "Executable",
    "Fetch",
    "Finished",
    "Fresh",
    "Locking",
    "Removing",
    "Running",
    "Unpacking",
    "Updating",
];

/// The width of these words' column.
const VERB_COLUMN: usize = 12;

/// Makes cargo draw its bar though its error output is not a terminal.
pub fn ask_for_bar(command: &mut Command) {
    command.env("CARGO_TERM_PROGRESS_WHEN", "always").env("CARGO_TERM_PROGRESS_WIDTH", BAR_COLUMNS);
}

/// One line of cargo's error output.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// The progress: `342 of 357, now: lakeport`.
    Bar(String),
    /// A step before compiling: a download, or a wait for another cargo.
    Before(String),
    /// A crate begins or all are finished; the bar shows it, too.
    Known,
    /// For people: a warning, an error.
    Message,
}

impl Line {
    /// `line` has no line break, and may be coloured.
    pub fn read(line: &str) -> Line {
        let line = plain(line);
        let Some((verb, rest)) = line.split_at_checked(VERB_COLUMN) else { return Line::Message };
        let (verb, rest) = (verb.trim_start(), rest.trim());
        match verb {
            "Building" => bar(rest).map_or(Line::Known, Line::Bar),
            "Blocking" | "Downloading" | "Fetch" | "Unpacking" | "Updating" => {
                Line::Before(format!("{} {}", verb.to_lowercase(), without_bar(rest)))
            }
            verb if VERBS.contains(&verb) => Line::Known,
            _ => Line::Message,
        }
    }
}

/// `[===>   ] 342/357: lakeport, lakeport-tests(test)`.
fn bar(text: &str) -> Option<String> {
    let (done_of_all, now) =
        without_bar(text).split_once(": ").map(|(count, now)| (count.to_owned(), now.to_owned()))?;
    let (done, all) = done_of_all.split_once('/')?;
    Some(format!("{done} of {all}, now: {now}"))
}

fn without_bar(text: &str) -> &str {
    match text.strip_prefix('[').and_then(|bar| bar.split_once(']')) {
        Some((_, rest)) => rest.trim(),
        None => text,
    }
}

/// Without terminal escape sequences.
fn plain(line: &str) -> String {
    let mut parts = line.split("\x1b[");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c.is_ascii_alphabetic()).map_or(part.len(), |end| end + 1);
        text.push_str(&part[end..]);
    }
    text
}

/// The progress of one step, shown until this is dropped.
pub struct Progress {
    step: String,
    begun: Instant,
    state: String,
    next: Instant,
    in_terminal: bool,
}

impl Progress {
    pub fn begin(step: &str) -> Progress {
        let (begun, in_terminal) = (Instant::now(), terminal::is_terminal());
        let every = if in_terminal { REWRITE_EVERY } else { LOG_EVERY };
        Progress {
            step: step.to_owned(),
            begun,
            state: "begins".to_owned(),
            next: begun + every,
            in_terminal,
        }
    }

    /// Sets the shown state.
    pub fn set(&mut self, state: String) {
        if self.state != state {
            self.state = state;
            if self.in_terminal {
                terminal::rewrite(&self.line());
            }
        }
    }

    /// The longest wait for output before [`Progress::tick`].
    pub fn until_tick(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// Shows that the step goes on, if that is due.
    pub fn tick(&mut self) {
        if !self.until_tick().is_zero() {
            return;
        }
        if self.in_terminal {
            terminal::rewrite(&self.line());
            self.next = Instant::now() + REWRITE_EVERY;
        } else {
            terminal::say(&self.line());
            self.next = Instant::now() + LOG_EVERY;
        }
    }

    pub fn took(&self) -> Duration {
        self.begun.elapsed()
    }

    fn line(&self) -> String {
        format!("{}: {} ({} s)", self.step, self.state, self.took().as_secs())
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.in_terminal {
            terminal::clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_of_cargo_says_how_far_and_what_now() {
        let line = "    Building [=========> ] 342/357: lakeport, lakeport-tests(test)          ";
        let told = "342 of 357, now: lakeport, lakeport-tests(test)";
        assert_eq!(Line::read(line), Line::Bar(told.to_owned()));
        let coloured =
            "\x1b[1m\x1b[36m    Building\x1b[0m [=========> ] 342/357: lakeport, lakeport-tests(test)\x1b[K";
        assert_eq!(Line::read(coloured), Line::Bar(told.to_owned()));
    }

    #[test]
    fn waiting_and_downloading_are_said() {
        let waits = "    Blocking waiting for file lock on build directory";
        let told = "blocking waiting for file lock on build directory";
        assert_eq!(Line::read(waits), Line::Before(told.to_owned()));
        let downloads = " Downloading [=====>     ] 3 crates, remaining bytes: 1.2MiB";
        assert_eq!(
            Line::read(downloads),
            Line::Before("downloading 3 crates, remaining bytes: 1.2MiB".to_owned())
        );
    }

    #[test]
    fn only_messages_are_passed_on() {
        for known in ["   Compiling syn v2.0.119", "\x1b[1m\x1b[32m    Finished\x1b[0m `ci` profile"] {
            assert_eq!(Line::read(known), Line::Known, "{known}");
        }
        for message in
            ["error[E0308]: mismatched types", "  --> host/server/src/main.rs:1:1", "   |", "é", ""]
        {
            assert_eq!(Line::read(message), Line::Message, "{message}");
        }
    }
}
