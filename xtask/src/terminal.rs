//! The output for people: lines and, in a terminal, a status line below them that is rewritten.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The status line is cut here to stay one line: a terminal is seldom narrower.
const COLUMNS: usize = 79;

/// Goes to the first column and empties the line.
const ERASE: &str = "\r\x1b[K";

/// True while a status line is shown.
static STANDING: Mutex<bool> = Mutex::new(false);

/// True if the lines go to the error output.
static TO_ERROR_OUTPUT: AtomicBool = AtomicBool::new(false);

/// From now on the lines go to the error output: the output is for other programs.
pub fn use_error_output() {
    TO_ERROR_OUTPUT.store(true, Ordering::Relaxed);
}

/// True if a line can be rewritten: the output is a terminal.
pub fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Prints a line above the status line.
pub fn say(line: &str) {
    clear();
    if TO_ERROR_OUTPUT.load(Ordering::Relaxed) {
        eprintln!("{line}");
    } else {
        println!("{line}");
    }
}

/// Passes on a line of another program's error output.
pub fn pass_on(line: &str) {
    clear();
    eprintln!("{line}");
}

/// Replaces the status line.
pub fn rewrite(line: &str) {
    let mut standing = STANDING.lock().expect("no holder panics");
    print!("{ERASE}{}", cut(line));
    // A closed terminal is no error.
    std::io::stdout().flush().ok();
    *standing = true;
}

/// Removes the status line.
pub fn clear() {
    let mut standing = STANDING.lock().expect("no holder panics");
    if std::mem::take(&mut *standing) {
        print!("{ERASE}");
    }
}

fn cut(line: &str) -> String {
    if line.chars().count() <= COLUMNS {
        return line.to_owned();
    }
    line.chars().take(COLUMNS - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rewritten_line_stays_one_line() {
        assert_eq!(cut("compile: 342 of 357"), "compile: 342 of 357");
        let long = cut(&"é".repeat(200));
        assert_eq!((long.chars().count(), long.chars().next_back()), (COLUMNS, Some('…')));
    }
}
