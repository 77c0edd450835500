//! A correct engine passes the kit, and broken engines do not.

mod fake;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use fake::{FakeEngine, FakeScheduler, Fault};
use lakeport_conformance::engine::{Conformance, Prints, Setting, Tasks};
use lakeport_conformance::{Area, Report};

fn run(fault: Option<Fault>) -> Report {
    run_and_leave(fault).0
}

/// Runs the kit on the fake engine, in a time of its own. Returns the scheduler as the kit leaves it.
fn run_and_leave(fault: Option<Fault>) -> (Report, Rc<RefCell<FakeScheduler>>) {
    let scheduler = Rc::new(RefCell::new(FakeScheduler::new(fault)));
    let tasks = Tasks {
        kind: "SQL".to_owned(),
        datasource: None,
        settings: "{}".to_owned(),
        succeeds: "succeeds".to_owned(),
        fails: "fails".to_owned(),
        endless: "endless".to_owned(),
        slow: Some("slow".to_owned()),
        log_has: Some("end of".to_owned()),
        prints: Some(Prints {
            before: "prints ".to_owned(),
            after: ".".to_owned(),
            place: "script".to_owned(),
        }),
    };
    let (waits, clock, counter) = (Rc::clone(&scheduler), Rc::clone(&scheduler), Rc::clone(&scheduler));
    let setting = Setting {
        unique: "fake".to_owned(),
        wait: Box::new(move |time| {
            waits.borrow_mut().pass(time);
            Box::pin(std::future::ready(()))
        }),
        now_ms: Box::new(move || clock.borrow().now_ms),
        patience: Duration::from_secs(20),
        requests: Some(Box::new(move || counter.borrow().requests)),
        ..Setting::new(tasks)
    };
    let conformance = Conformance { subject: FakeEngine(Rc::clone(&scheduler)), setting };
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a thread");
    (runtime.block_on(conformance.run()), scheduler)
}

#[test]
fn a_correct_engine_holds() {
    let report = run(None);
    assert!(report.passed(), "{report}");
    assert!(report.cases() > 500, "{report}");
    let notes = report.notes();
    assert!(notes.iter().all(|note| !note.contains("not checked")), "{notes:#?}");
    assert!(notes.iter().any(|note| note.contains("watch.instances")), "{notes:#?}");
}

#[test]
fn an_engine_with_a_little_holds_as_well() {
    let report = run(Some(Fault::DoesLittle));
    assert!(report.passed(), "{report}");
    for interface in ["schedules", "pausing", "backfills", "definitions"] {
        let note = format!("not checked: {interface}, which is not offered");
        assert!(report.notes().contains(&note), "{report}");
    }
    assert!(
        report.notes().iter().any(|note| note.contains("logs, which the engine does not have")),
        "{report}"
    );
}

#[test]
fn an_engine_that_stops_a_discarded_run_holds_as_well() {
    let report = run(Some(Fault::StopsDiscarded));
    assert!(report.passed(), "{report}");
    assert!(report.notes().iter().all(|note| !note.contains("not checked")), "{report}");
}

#[test]
fn nothing_is_left_behind() {
    // With the second one a scenario gives up while a task runs.
    for fault in [None, Some(Fault::HidesTasks)] {
        let (_report, scheduler) = run_and_leave(fault);
        let scheduler = scheduler.borrow();
        assert!(scheduler.deployed.values().all(|one| one.is_removed), "{fault:?}");
        assert!(scheduler.runs.iter().all(|run| run.ended.is_some()), "{fault:?}");
    }
}

/// The fault is found, in these words.
fn found_out(fault: Fault, area: Area, place: &str, words: &str) {
    let report = run(Some(fault));
    let is_it = |finding: &lakeport_conformance::Finding| {
        finding.area == area && finding.place.starts_with(place) && finding.what.contains(words)
    };
    assert!(report.findings().any(is_it), "nothing of {place}: {words:?} in\n{report}");
}

#[test]
fn a_deployment_without_an_end_is_found_out() {
    found_out(Fault::NeverDone, Area::Lifecycle, "deploys.deploy", "not done after");
}

#[test]
fn a_duplicated_definition_is_found_out() {
    found_out(Fault::Duplicates, Area::Determinism, "deploys.deploy", "after a lost answer");
}

#[test]
fn a_second_run_of_a_key_is_found_out() {
    found_out(Fault::RunsTwice, Area::Determinism, "runs.start, the same key again", "after Started");
    found_out(Fault::RunsTwice, Area::Determinism, "runs.start", "3 keys, and 4 runs");
}

#[test]
fn a_lost_change_is_found_out() {
    found_out(Fault::LosesEnds, Area::Lifecycle, "watch.instances", "from the cursor before its start");
}

#[test]
fn a_forgotten_open_run_is_found_out() {
    found_out(Fault::ForgetsOpen, Area::Contract, "watch.instances", "nothing is said of");
}

#[test]
fn an_unknown_state_is_found_out() {
    found_out(Fault::OwnWords, Area::Contract, "watch.instances", "the state \"DONE\"");
}

#[test]
fn a_log_that_loses_text_is_found_out() {
    found_out(Fault::CutsLogs, Area::Determinism, "watch.log", "in parts of");
}

#[test]
fn a_log_without_an_end_is_found_out() {
    found_out(Fault::NeverCompletes, Area::Lifecycle, "watch.log", "not complete");
}

#[test]
fn a_run_that_cannot_be_stopped_is_found_out() {
    found_out(Fault::IgnoresStops, Area::Lifecycle, "watch.instances, a run that ends", "\"running\"");
}

#[test]
fn a_pause_without_effect_is_found_out() {
    found_out(Fault::IgnoresPauses, Area::Lifecycle, "pausing.pause", "the state \"success\"");
}

#[test]
fn a_task_that_never_shows_is_found_out() {
    found_out(Fault::HidesTasks, Area::Lifecycle, "watch.task-runs", "its tries are [\"queued\"]");
}

#[test]
fn a_part_that_is_the_whole_is_found_out() {
    found_out(Fault::RunsAll, Area::Lifecycle, "runs.start, only the task b", "[\"a\", \"b\", \"c\", \"d\"]");
}

#[test]
fn a_retry_of_everything_is_found_out() {
    found_out(
        Fault::RetriesAll,
        Area::Lifecycle,
        "runs.retry, failed",
        "2 tries of the failed task, 2 of the other",
    );
}

#[test]
fn a_schedule_that_never_fires_is_found_out() {
    found_out(Fault::NeverFires, Area::Lifecycle, "schedules.online", "no run after");
}

#[test]
fn a_schedule_that_fires_when_off_is_found_out() {
    found_out(Fault::FiresWhenOff, Area::Lifecycle, "schedules.offline", "runs after the switch");
}

#[test]
fn a_deployment_that_switches_off_is_found_out() {
    let place = "deploys.deploy, of a schedule that is on";
    found_out(Fault::DeploysOff, Area::Lifecycle, place, "it is listed as Some(\"OFFLINE\")");
    found_out(Fault::DeploysOff, Area::Lifecycle, place, "no run after");
}

#[test]
fn a_schedule_that_switches_off_when_set_is_found_out() {
    let place = "schedules.set, of a schedule that is on";
    found_out(Fault::SetsOff, Area::Lifecycle, place, "it is listed as Some(\"OFFLINE\")");
    found_out(Fault::SetsOff, Area::Lifecycle, place, "no run after");
}

#[test]
fn a_date_of_today_is_found_out() {
    found_out(Fault::UsesToday, Area::Lifecycle, "a task with values in its body", "is not in");
}

#[test]
fn a_removed_workflow_that_is_listed_is_found_out() {
    found_out(Fault::ListsRemoved, Area::Lifecycle, "definitions.entries, after the removal", "is among");
}

#[test]
fn a_backfill_that_loses_a_date_is_found_out() {
    found_out(Fault::LosesDates, Area::Lifecycle, "backfills.start", "its runs are");
}

#[test]
fn a_backfill_whose_runs_do_not_name_it_is_found_out() {
    found_out(Fault::HidesBackfills, Area::Lifecycle, "backfills.start", "its runs are []");
}

#[test]
fn a_translation_that_loses_an_edge_is_found_out() {
    found_out(Fault::LosesEdges, Area::Lifecycle, "definitions.read", "deployed:");
}

#[test]
fn a_trap_is_found_out() {
    found_out(Fault::Traps, Area::Errors, "runs.cancel", "it trapped");
}

#[test]
fn a_cursor_of_something_else_is_found_out() {
    found_out(Fault::TakesAnyCursor, Area::Errors, "watch.instances, a wrong cursor", "it is accepted");
}

#[test]
fn a_run_of_a_removed_workflow_is_found_out() {
    found_out(Fault::RunsRemoved, Area::Errors, "runs.start, a removed workflow", "it is accepted");
}

#[test]
fn a_code_outside_of_the_contract_is_found_out() {
    found_out(Fault::OwnCodes, Area::Errors, "runs.start", "NotDeployed");
}

#[test]
fn a_request_per_workflow_is_found_out() {
    found_out(Fault::AsksEach, Area::Chattiness, "watch.instances", "500 requests in one call");
}

#[test]
fn a_task_that_is_not_tried_again_is_found_out() {
    let place = "watch.task-runs, a task with a retry";
    found_out(Fault::IgnoresRetries, Area::Lifecycle, place, "[(1, \"failed\")]");
}

#[test]
fn a_timeout_without_effect_is_found_out() {
    let place = "watch.instances, a run whose task has a timeout";
    found_out(Fault::IgnoresTimeouts, Area::Lifecycle, place, "\"running\"");
}

#[test]
fn a_run_that_does_not_wait_is_found_out() {
    let place = "runs.start, a second run with the concurrency wait";
    found_out(Fault::IgnoresWaits, Area::Lifecycle, place, "and the first one ended at");
}

#[test]
fn a_discarded_run_that_is_run_is_found_out() {
    let place = "runs.start, a second run with the concurrency discard";
    found_out(Fault::RunsDiscarded, Area::Lifecycle, place, "the run is \"success\"");
}

#[test]
fn a_lost_cause_of_a_backfill_is_found_out() {
    let place = "runs.start, two dates of a backfill";
    found_out(Fault::LosesCauses, Area::Lifecycle, place, "the cause \"manual\"");
}

#[test]
fn hidden_rows_are_found_out() {
    let place = "watch.task-runs, a run that succeeds";
    found_out(Fault::HidesRows, Area::Lifecycle, place, "no number of rows of the tasks");
}
