use super::super::plan::Step;
use super::*;

const NOW_MS: i64 = 1_800_000_000_000;

fn backfill() -> Backfill {
    Backfill {
        id: 1,
        key: "k".to_owned(),
        workflow_id: 7,
        workflow_name: "w".to_owned(),
        code: Some("c".to_owned()),
        state: State::Running,
        steps: vec![Step { workflow_id: 7, name: "w".to_owned(), after: Vec::new() }],
        dates: vec![10, 20, 30],
        parallelism: 1,
        strategy: FailureStrategy::Continue,
        requested_by: "ann".to_owned(),
        requested_at_ms: NOW_MS,
        ended_at_ms: None,
        message: None,
        maker: Maker::Engine("ds".to_owned()),
        notes: None,
    }
}

fn run(date: i64, id: &str, state: &str) -> MadeRun {
    let has_ended = matches!(state, "success" | "failed" | "stopped");
    MadeRun {
        business_time_ms: date,
        instance_id: id.to_owned(),
        state: state.to_owned(),
        message: None,
        has_ended,
    }
}

fn made(runs: Vec<MadeRun>, is_stopping: bool) -> Made {
    let mut made = Made::new("ds".to_owned(), "c".to_owned(), &[]);
    let news = made.news(&backfill(), runs, is_stopping);
    made.take_in(news, Some(NOW_MS));
    made
}

/// The engine is watched so long without a change.
fn watch(made: &mut Made, for_ms: i64) {
    let (mut at_ms, until_ms) = (made.seen_ms.unwrap(), made.seen_ms.unwrap() + for_ms);
    while at_ms < until_ms {
        at_ms = (at_ms + 5_000).min(until_ms);
        made.take_in(Vec::new(), Some(at_ms));
    }
}

fn ended(made: &Made, is_stopping: bool) -> Option<(State, bool)> {
    let end = made.ended(3, is_stopping)?;
    Some((end.state, end.message.is_some()))
}

#[test]
fn only_what_has_changed_is_news() {
    let made = made(vec![run(10, "a", "success"), run(20, "b", "running"), run(99, "x", "running")], false);
    assert!(made.news(&backfill(), vec![run(10, "a", "success"), run(20, "b", "queued")], false).is_empty());
    let news = made.news(&backfill(), vec![run(20, "b", "failed"), run(30, "c", "running")], false);
    let mut places: Vec<usize> = news.iter().map(|one| one.position).collect();
    places.sort_unstable();
    assert_eq!(places, [1, 2]);
    assert_eq!(made.running(), ["b"]);
}

#[test]
fn the_last_run_of_a_date_counts() {
    let again = made(vec![run(10, "a", "failed"), run(10, "b", "success")], false);
    let all = made(vec![run(10, "a", "success"), run(20, "b", "success"), run(30, "c", "success")], false);
    assert_eq!(ended(&again, false), None);
    assert_eq!(ended(&all, false), Some((State::Success, false)));
}

#[test]
fn after_a_failure_no_date_is_expected_for_long() {
    let mut failed = made(vec![run(10, "a", "success"), run(20, "b", "failed")], false);
    watch(&mut failed, LAST_MS - 1);
    assert!(!failed.is_to_stop(3, false));
    watch(&mut failed, 1);
    // The engine may still mean to begin one.
    assert!(failed.is_to_stop(3, false) && ended(&failed, false).is_none());
    failed.was_stopped = true;
    assert_eq!(ended(&failed, false), Some((State::Failed, false)));
    let mut running = made(vec![run(10, "a", "failed"), run(20, "b", "running")], false);
    watch(&mut running, STALLED_MS);
    assert!(!running.is_to_stop(3, false) && ended(&running, false).is_none());
}

#[test]
fn one_that_does_not_go_on_says_so() {
    let mut silent = made(vec![run(10, "a", "success")], false);
    watch(&mut silent, STALLED_MS);
    assert!(silent.is_to_stop(3, false));
    silent.was_stopped = true;
    assert_eq!(ended(&silent, false), Some((State::Failed, true)));
    // A date that begins after all.
    let news = silent.news(&backfill(), vec![run(20, "b", "running")], false);
    silent.take_in(news, silent.seen_ms);
    assert!(!silent.is_to_stop(3, false) && ended(&silent, false).is_none());
}

#[test]
fn the_time_in_which_an_engine_was_away_does_not_count() {
    let mut failed = made(vec![run(10, "a", "failed")], false);
    failed.take_in(Vec::new(), Some(NOW_MS + 60 * STALLED_MS));
    assert!(!failed.is_to_stop(3, false));
    failed.take_in(Vec::new(), Some(NOW_MS));
    assert_eq!(failed.still_ms, LOOK_MAX_MS);
}

#[test]
fn a_cancel_ends_after_the_engine_was_asked() {
    let mut made = made(vec![run(10, "a", "success")], false);
    made.note_cancel();
    assert!(made.is_to_stop(3, true));
    watch(&mut made, STALLED_MS);
    assert_eq!(ended(&made, true), None);
    made.note_cancel();
    made.was_stopped = true;
    watch(&mut made, LAST_MS);
    assert_eq!(ended(&made, true), Some((State::Cancelled, false)));
}

#[test]
fn a_cancel_before_the_first_run_waits_for_its_command() {
    let mut none = made(Vec::new(), true);
    none.was_stopped = true;
    watch(&mut none, FIRST_MS - 1);
    assert_eq!(ended(&none, true), None);
    watch(&mut none, 1);
    assert_eq!(ended(&none, true), Some((State::Cancelled, false)));
}
