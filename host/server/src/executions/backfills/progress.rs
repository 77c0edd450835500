//! What runs next of a backfill. Pure functions.

use super::plan::Step;
use crate::workflows::forms::FailureStrategy;

/// A run of one workflow at one date.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    Waiting,
    /// Its start is under way.
    Starting,
    /// Under this key.
    Running(String),
    Success,
    Failed,
    /// It was stopped with the backfill.
    Cancelled,
    /// It does not run: what it waits for has failed, or nothing more is begun.
    Skipped,
}

/// The outcome of a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Success,
    Failed,
    Cancelled,
}

impl Row {
    /// Of a running one.
    pub fn key(&self) -> Option<&str> {
        match self {
            Row::Running(key) => Some(key),
            _ => None,
        }
    }

    fn is_open(&self) -> bool {
        matches!(self, Row::Waiting | Row::Starting | Row::Running(_))
    }

    fn is_lost(&self) -> bool {
        matches!(self, Row::Failed | Row::Cancelled | Row::Skipped)
    }
}

/// Skips the rows of a date that will not run. `is_stopping`: nothing more is begun.
pub fn skip(rows: &mut [Row], steps: &[Step], strategy: FailureStrategy, is_stopping: bool) {
    let ends = is_stopping || (strategy == FailureStrategy::End && rows.contains(&Row::Failed));
    for place in 0..rows.len() {
        let is_hopeless = steps[place].after.iter().any(|&before| rows[before].is_lost());
        if rows[place] == Row::Waiting && (ends || is_hopeless) {
            rows[place] = Row::Skipped;
        }
    }
}

/// The places that can begin.
pub fn ready(rows: &[Row], steps: &[Step]) -> Vec<usize> {
    let is_ready = |&place: &usize| {
        rows[place] == Row::Waiting && steps[place].after.iter().all(|&before| rows[before] == Row::Success)
    };
    (0..rows.len()).filter(is_ready).collect()
}

/// `None` while something runs, or will.
pub fn outcome(rows: &[Row]) -> Option<Outcome> {
    if rows.iter().any(Row::is_open) {
        return None;
    }
    Some(if rows.contains(&Row::Failed) {
        Outcome::Failed
    } else if rows.iter().all(|row| *row == Row::Success) {
        Outcome::Success
    } else {
        Outcome::Cancelled
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diamond() -> Vec<Step> {
        let step =
            |id: i64, after: &[usize]| Step { workflow_id: id, name: String::new(), after: after.to_vec() };
        vec![step(1, &[]), step(2, &[0]), step(3, &[0]), step(4, &[1, 2])]
    }

    #[test]
    fn each_workflow_waits_for_what_it_reads() {
        let (steps, mut rows) = (diamond(), vec![Row::Waiting; 4]);
        assert_eq!(ready(&rows, &steps), [0]);
        rows[0] = Row::Running("key".to_owned());
        assert_eq!((ready(&rows, &steps), outcome(&rows)), (vec![], None));
        rows[0] = Row::Success;
        assert_eq!(ready(&rows, &steps), [1, 2]);
        rows[1] = Row::Success;
        rows[2] = Row::Starting;
        assert_eq!(ready(&rows, &steps), [] as [usize; 0]);
        rows[2] = Row::Success;
        assert_eq!(ready(&rows, &steps), [3]);
        rows[3] = Row::Success;
        assert_eq!(outcome(&rows), Some(Outcome::Success));
    }

    #[test]
    fn after_a_failure_the_others_go_on_or_end() {
        let steps = diamond();
        for (strategy, third) in
            [(FailureStrategy::Continue, Row::Waiting), (FailureStrategy::End, Row::Skipped)]
        {
            let mut rows = vec![Row::Success, Row::Failed, Row::Waiting, Row::Waiting];
            skip(&mut rows, &steps, strategy, false);
            assert_eq!(rows, [Row::Success, Row::Failed, third, Row::Skipped], "{strategy:?}");
        }
        let mut rows = vec![Row::Success, Row::Failed, Row::Success, Row::Skipped];
        skip(&mut rows, &steps, FailureStrategy::Continue, false);
        assert_eq!(outcome(&rows), Some(Outcome::Failed));
    }

    #[test]
    fn a_stop_begins_nothing_more() {
        let (steps, mut rows) = (diamond(), vec![Row::Waiting; 4]);
        rows[0] = Row::Running("key".to_owned());
        skip(&mut rows, &steps, FailureStrategy::Continue, true);
        assert_eq!((ready(&rows, &steps), outcome(&rows)), (vec![], None));
        rows[0] = Row::Cancelled;
        assert_eq!(outcome(&rows), Some(Outcome::Cancelled));
    }
}
