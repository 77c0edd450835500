//! The result of a test run: steps with their times, tests with their results, and the final report.

use std::fmt::Write as _;
use std::time::Duration;

use crate::terminal;

/// Tests, as counted in cargo's `test result:` lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

impl Counts {
    pub const ONE_FAILED: Self = Self { passed: 0, failed: 1, skipped: 0 };
    pub const ONE_SKIPPED: Self = Self { passed: 0, failed: 0, skipped: 1 };

    /// Sums up all `test result:` lines of a test program's output.
    pub fn read(output: &str) -> Self {
        let mut counts = Self::default();
        for line in output.lines().filter_map(|line| line.trim_start().strip_prefix("test result: ")) {
            let Some((_, numbers)) = line.split_once(". ") else { continue };
            for part in numbers.split(';') {
                let mut words = part.split_whitespace();
                let number = words.next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
                match words.next() {
                    Some("passed") => counts.passed += number,
                    Some("failed") => counts.failed += number,
                    Some("ignored") => counts.skipped += number,
                    _ => {}
                }
            }
        }
        counts
    }

    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

/// One line of the report.
pub struct Row {
    pub name: String,
    pub took: Duration,
    pub budget_seconds: u64,
    pub note: String,
}

impl Row {
    fn is_over(&self) -> bool {
        self.took > Duration::from_secs(self.budget_seconds)
    }
}

/// The whole run.
#[derive(Default)]
pub struct Outcome {
    pub rows: Vec<Row>,
    /// Skipped suites, with the reasons.
    pub skipped: Vec<String>,
    pub failures: Vec<String>,
    pub counts: Counts,
}

impl Outcome {
    pub fn fail(&mut self, what: String) {
        terminal::say(&format!("FAILED: {what}"));
        self.failures.push(what);
    }

    pub fn skip(&mut self, what: String) {
        terminal::say(&format!("skipped: {what}"));
        self.skipped.push(what);
        self.counts.add(Counts::ONE_SKIPPED);
    }

    /// The table, exceeded budgets, skipped suites, failures, and the closing line.
    pub fn report(&self, total_seconds: u64) -> String {
        let mut text = String::new();
        let mut line = |line: String| writeln!(text, "{line}").expect("a String takes all text");
        let total: Duration = self.rows.iter().map(|row| row.took).sum();
        line(format!("\n{:<28} {:>8} {:>8}", "step", "seconds", "budget"));
        for row in &self.rows {
            let mark = if row.is_over() { "  OVER BUDGET" } else { "" };
            let note = if row.note.is_empty() { String::new() } else { format!("  {}", row.note) };
            let seconds = row.took.as_secs_f64();
            line(format!("{:<28} {seconds:>8.1} {:>8}{mark}{note}", row.name, row.budget_seconds));
        }
        line(format!("{:<28} {:>8.1} {total_seconds:>8}", "total", total.as_secs_f64()));
        for row in self.rows.iter().filter(|row| row.is_over()) {
            let (took, budget) = (row.took.as_secs(), row.budget_seconds);
            line(format!("OVER BUDGET: {} took {took} s of {budget} s (xtask/budgets.toml)", row.name));
        }
        if total > Duration::from_secs(total_seconds) {
            line(format!("OVER BUDGET: the whole run took {} s of {total_seconds} s", total.as_secs()));
        }
        for skipped in &self.skipped {
            line(format!("skipped: {skipped}"));
        }
        for failure in &self.failures {
            line(format!("FAILED: {failure}"));
        }
        let Counts { passed, failed, skipped } = self.counts;
        let more = if skipped > 0 { format!(", {skipped} skipped") } else { String::new() };
        line(format!("{passed} passed, {failed} failed{more}"));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_are_added_up() {
        let output = "test a ... ok\n\
            test result: ok. 13 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.10s\n\
            noise. 9 passed\n\
            test result: FAILED. 1 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s\n";
        assert_eq!(Counts::read(output), Counts { passed: 14, failed: 3, skipped: 2 });
    }

    #[test]
    fn the_report_shows_budgets_and_counts() {
        let mut outcome =
            Outcome { counts: Counts { passed: 2, failed: 0, skipped: 0 }, ..Outcome::default() };
        let took = Duration::from_secs(61);
        outcome.rows.push(Row { name: "lint".into(), took, budget_seconds: 60, note: String::new() });
        let report = outcome.report(60);
        assert!(report.contains("OVER BUDGET: lint took 61 s of 60 s"), "{report}");
        assert!(report.contains("OVER BUDGET: the whole run took 61 s of 60 s"), "{report}");
        assert!(report.ends_with("\n2 passed, 0 failed\n"), "{report}");
        outcome.skip("licences: cargo-deny is not installed".into());
        assert!(outcome.report(600).ends_with("\n2 passed, 0 failed, 1 skipped\n"));
    }
}
