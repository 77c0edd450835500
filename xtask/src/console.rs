//! The output that a person reads: lines, and in a terminal below them one that is rewritten as work goes on.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Mutex;

/// The rewritten line is cut here, so that it stays one line: a terminal is seldom narrower.
const COLUMNS: usize = 79;

/// Goes to the first column and empties the line.
const ERASE: &str = "\r\x1b[K";

/// True while a line stands that will be rewritten.
static STANDING: Mutex<bool> = Mutex::new(false);

/// True if a line can be rewritten: somebody looks at it, and it is no file.
pub fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Prints a line above the rewritten one.
pub fn say(line: &str) {
    clear();
    println!("{line}");
}

/// Passes on what another program wrote to its error output.
pub fn pass_on(line: &str) {
    clear();
    eprintln!("{line}");
}

/// Puts `line` in the place of the last one that this was called with.
pub fn rewrite(line: &str) {
    let mut standing = STANDING.lock().expect("no holder panics");
    print!("{ERASE}{}", cut(line));
    // A terminal that is gone reads nothing.
    std::io::stdout().flush().ok();
    *standing = true;
}

/// Takes the rewritten line away.
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
