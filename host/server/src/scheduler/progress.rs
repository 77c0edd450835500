//! The next actions of a run: a pure function of its definition and its tasks' states.

use std::collections::HashMap;

use lakeport_base::time::{MINUTE_MS, SECOND_MS};

use super::definition::{Definition, Strategy, Task};
use super::store::State;

/// A task whose server ended more often while it ran, over ten minutes or more, may be the cause, and is not begun again. In a
/// shorter time it may only have been unlucky, as when someone restarts the server again and again.
pub const LOSSES_MAX: i64 = 10;
/// Those ten minutes.
const LOST_MS: i64 = 10 * MINUTE_MS;
/// How far the clocks of two servers may be apart. A failure further in the future shows that the clock has gone back: the
/// next try does not wait until it has caught up.
const CLOCKS_APART_MS: i64 = MINUTE_MS;

/// The state of a task that has started, or need not start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    pub is_done: bool,
    pub is_running: bool,
    /// Its own failures.
    pub failures: i64,
    /// Attempts whose server ended.
    pub losses: i64,
    /// From the begin of the first of them to the end of the last.
    pub lost_ms: i64,
    /// The time of its last failure.
    pub failed_at_ms: Option<i64>,
    /// Its server ended, and its outcome is not known.
    pub is_unknown: bool,
}

/// The next actions of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Next {
    /// Indices of tasks that can start.
    pub ready: Vec<usize>,
    /// When another task can start, if none ends before.
    pub at_ms: Option<i64>,
    /// The result, when nothing is running or can start.
    pub outcome: Option<State>,
}

/// The state of one task.
enum Turn {
    Done,
    Running,
    Failed,
    /// Its next attempt waits until then.
    Later(i64),
    Free,
}

/// `before` are the predecessors, see [`Definition::before`].
pub fn next(
    definition: &Definition,
    before: &[Vec<usize>],
    standings: &HashMap<i64, Standing>,
    strategy: Strategy,
    now_ms: i64,
) -> Next {
    let turn =
        |task: &Task| standings.get(&task.id).map_or(Turn::Free, |standing| turn(task, standing, now_ms));
    let turns: Vec<Turn> = definition.tasks.iter().map(turn).collect();
    let has_failed = turns.iter().any(|turn| matches!(turn, Turn::Failed));
    let is_over = has_failed && strategy == Strategy::End;
    let mut next = Next::default();
    for (place, before) in before.iter().enumerate() {
        let is_next = before.iter().all(|&place| matches!(turns[place], Turn::Done));
        match turns[place] {
            Turn::Free if is_next && !is_over => next.ready.push(place),
            Turn::Later(at_ms) if is_next && !is_over => {
                next.at_ms = Some(next.at_ms.map_or(at_ms, |other| other.min(at_ms)));
            }
            _ => {}
        }
    }
    let is_running = turns.iter().any(|turn| matches!(turn, Turn::Running));
    if !is_running && next.ready.is_empty() && next.at_ms.is_none() {
        let is_done = turns.iter().all(|turn| matches!(turn, Turn::Done));
        next.outcome = Some(if is_done { State::Success } else { State::Failed });
    }
    next
}

fn turn(task: &Task, standing: &Standing, now_ms: i64) -> Turn {
    if standing.is_done {
        return Turn::Done;
    }
    if standing.is_running {
        return Turn::Running;
    }
    let is_used_up = standing.failures > i64::from(task.retries);
    let is_cause = standing.losses > LOSSES_MAX && standing.lost_ms >= LOST_MS;
    if is_used_up || is_cause || standing.is_unknown {
        return Turn::Failed;
    }
    let wait_ms = i64::from(task.retry_interval_s) * SECOND_MS;
    let waits = |failed_at_ms: i64| (now_ms - wait_ms + 1..=now_ms + CLOCKS_APART_MS).contains(&failed_at_ms);
    match standing.failed_at_ms.filter(|failed_at_ms| waits(*failed_at_ms)) {
        Some(failed_at_ms) => Turn::Later(failed_at_ms + wait_ms),
        None => Turn::Free,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::testing::{task, workflow};

    const NOW_MS: i64 = 1_000_000;

    fn done() -> Standing {
        Standing { is_done: true, ..Standing::default() }
    }

    fn failed(failures: i64) -> Standing {
        Standing { failures, failed_at_ms: Some(NOW_MS), ..Standing::default() }
    }

    /// a → b → c, a → d, e alone; b has two retries after 10 s.
    fn definition() -> Definition {
        let mut tasks: Vec<_> = ["a", "b", "c", "d", "e"]
            .iter()
            .enumerate()
            .map(|(at, name)| task(at as u64 + 1, name, "SELECT 1"))
            .collect();
        (tasks[1].retries, tasks[1].retry_interval_s) = (2, 10);
        Definition::of(workflow(1, tasks, &[(1, 2), (2, 3), (1, 4)])).unwrap()
    }

    fn ready(standings: &[(i64, Standing)], strategy: Strategy) -> Next {
        let definition = definition();
        next(&definition, &definition.before(), &standings.iter().cloned().collect(), strategy, NOW_MS)
    }

    #[test]
    fn tasks_are_ready_once_all_before_them_are_done() {
        assert_eq!(ready(&[], Strategy::Continue).ready, [0, 4]);
        assert_eq!(ready(&[(1, done())], Strategy::Continue).ready, [1, 3, 4]);
        let running = Standing { is_running: true, ..Standing::default() };
        let next = ready(&[(1, running), (5, done())], Strategy::Continue);
        assert_eq!(next, Next::default());
    }

    #[test]
    fn a_failure_stops_what_depends_on_it_or_everything() {
        let standings = [(1, failed(1))];
        assert_eq!(ready(&standings, Strategy::Continue).ready, [4]);
        assert_eq!(ready(&standings, Strategy::End).outcome, Some(State::Failed));
        let standings = [(1, failed(1)), (5, done())];
        assert_eq!(ready(&standings, Strategy::Continue).outcome, Some(State::Failed));
    }

    #[test]
    fn retries_wait_and_are_limited() {
        let begun = |failures| [(1, done()), (2, failed(failures)), (4, done()), (5, done())];
        for strategy in [Strategy::Continue, Strategy::End] {
            let next = ready(&begun(2), strategy);
            assert_eq!((next.at_ms, next.outcome), (Some(NOW_MS + 10_000), None));
            assert_eq!(ready(&begun(3), strategy).outcome, Some(State::Failed));
        }
    }

    #[test]
    fn a_clock_that_goes_back_delays_no_retry() {
        let failed_at = |failed_at_ms| {
            let failed = Standing { failed_at_ms: Some(failed_at_ms), ..failed(1) };
            ready(&[(1, done()), (2, failed), (4, done()), (5, done())], Strategy::End)
        };
        assert_eq!(failed_at(NOW_MS + 1_000).at_ms, Some(NOW_MS + 11_000), "clocks differ a little");
        assert_eq!(failed_at(NOW_MS + 60 * MINUTE_MS).ready, [1]);
        assert_eq!(failed_at(NOW_MS - 10_000).ready, [1]);
        assert_eq!(failed_at(NOW_MS - 9_999).at_ms, Some(NOW_MS + 1));
    }

    #[test]
    fn a_task_fails_after_many_losses_in_a_long_time() {
        let lost = |losses, lost_ms| [(1, Standing { losses, lost_ms, ..Standing::default() })];
        assert_eq!(ready(&lost(1, LOST_MS), Strategy::End).ready, [0, 4]);
        assert_eq!(ready(&lost(LOSSES_MAX + 1, LOST_MS - 1), Strategy::End).ready, [0, 4]);
        assert_eq!(ready(&lost(LOSSES_MAX + 1, LOST_MS), Strategy::End).outcome, Some(State::Failed));
    }

    #[test]
    fn a_task_whose_outcome_is_not_known_is_not_tried_again() {
        let unknown = Standing { is_unknown: true, ..failed(1) };
        let next = ready(&[(2, unknown), (1, done()), (5, done())], Strategy::End);
        assert_eq!((next.ready, next.outcome), (vec![], Some(State::Failed)));
    }

    #[test]
    fn a_run_without_anything_left_is_a_success() {
        let all: Vec<_> = (1..=5).map(|id| (id, done())).collect();
        assert_eq!(ready(&all, Strategy::End).outcome, Some(State::Success));
        let none = Definition::of(workflow(7, Vec::new(), &[])).unwrap();
        assert_eq!(
            next(&none, &none.before(), &HashMap::new(), Strategy::End, 0).outcome,
            Some(State::Success)
        );
    }
}
