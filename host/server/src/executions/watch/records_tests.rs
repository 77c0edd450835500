use super::*;

fn instance(state: &str) -> Instance {
    Instance {
        id: "7".to_owned(),
        workflow: 3,
        key: None,
        trigger: None,
        cause: "schedule".to_owned(),
        business_time: Some(10),
        state: state.to_owned(),
        engine_state: String::new(),
        attempt: 1,
        started: Some(20),
        ended: has_ended(state).then_some(90),
        message: None,
        extra: None,
    }
}

fn run(state: &str) -> Run {
    seen("local", "daily", &instance(state), 100)
}

fn attempt(task: u64, attempt: u32, state: &str) -> TaskRun {
    TaskRun {
        id: format!("{task}/{attempt}"),
        instance: "7".to_owned(),
        task: Some(task),
        task_name: format!("task {task}"),
        attempt,
        state: state.to_owned(),
        engine_state: String::new(),
        started: (!matches!(state, "queued" | "skipped")).then_some(i64::from(attempt) * 10 + task as i64),
        ended: has_ended(state).then_some(i64::from(attempt) * 10 + 9),
        message: (state == "failed").then(|| "no such\0 table".to_owned()),
        rows_affected: None,
        extra: None,
    }
}

#[test]
fn attempts_make_one_record_latest_wins() {
    let tries = [attempt(5, 2, "success"), attempt(4, 1, "failed"), attempt(5, 1, "failed")];
    let found = records(&run("failed"), &tries);
    let shown: Vec<_> =
        found.iter().map(|record| (record.task_key.as_str(), record.status, record.attempt)).collect();
    assert_eq!(shown, [("4", Status::Failed, 1), ("5", Status::Success, 2)]);
    assert_eq!((found[1].start_time_ms, found[1].end_time_ms), (Some(25), Some(29)));
    let ids: Vec<&str> = found[1].tries.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["5/1", "5/2"]);
    assert_eq!(found[0].error_message.as_deref(), Some("no such table"));
}

#[test]
fn the_latest_attempts_per_task_are_kept() {
    let mut tries: Vec<TaskRun> =
        (1..=9).flat_map(|n| [attempt(4, n, "failed"), attempt(5, n, "failed")]).collect();
    tries.push(attempt(6, 1, "success"));
    keep_latest(&mut tries, 2);
    let mut ids: Vec<&str> = tries.iter().map(|one| one.id.as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["4/8", "4/9", "5/8", "5/9", "6/1"]);
}

#[test]
fn a_task_that_was_never_begun_has_no_record() {
    assert_eq!(records(&run("failed"), &[attempt(4, 1, "skipped")]), []);
    assert_eq!(records(&run("failed"), &[attempt(4, 1, "queued")]), []);
    assert_eq!(records(&run("stopped"), &[attempt(4, 1, "queued")]), []);
    let waiting = records(&run("running"), &[attempt(4, 1, "queued")]);
    assert_eq!(waiting[0].status, Status::Pending);
}

#[test]
fn a_task_that_was_begun_meanwhile_does_not_wait() {
    let waiting = TaskRun { id: "waiting".to_owned(), ..attempt(4, 1, "queued") };
    for tries in [[waiting.clone(), attempt(4, 1, "running")], [attempt(4, 1, "running"), waiting]] {
        let found = records(&run("running"), &tries);
        let ids: Vec<&str> = found[0].tries.iter().map(|one| one.id.as_str()).collect();
        assert_eq!((found.len(), found[0].status, ids), (1, Status::Running, vec!["4/1"]));
    }
}

#[test]
fn nothing_goes_on_in_a_run_that_has_ended() {
    for (state, status) in
        [("success", Status::Success), ("failed", Status::Failed), ("stopped", Status::Killed)]
    {
        let found = records(&run(state), &[attempt(4, 1, "running")]);
        assert_eq!((found[0].status, found[0].end_time_ms), (status, Some(90)), "{state}");
        assert_eq!(found[0].error_message.is_some(), state != "success");
        assert!(found[0].tries[0].ended);
    }
}

#[test]
fn words_that_are_not_known_have_not_ended() {
    assert_eq!(run("dreaming").state, "unknown");
    assert_eq!(run("dreaming").ended_at_ms, None);
    assert_eq!(records(&run("running"), &[attempt(4, 1, "dreaming")])[0].status, Status::Running);
}

#[test]
fn a_task_without_an_id_is_known_by_its_name() {
    let nameless = TaskRun { task: None, task_name: "check".to_owned(), ..attempt(4, 1, "success") };
    let found = records(&run("success"), &[nameless]);
    assert_eq!((found[0].task_key.as_str(), found[0].task_id), ("name:check", None));
}

#[test]
fn an_observed_run_keeps_its_request() {
    let asked = Run { key: Some("k".to_owned()), cause: "manual".to_owned(), ..run("queued") };
    let after = run_with(&asked, &instance("running"), 200);
    assert_eq!((after.key.as_deref(), after.cause.as_str()), (Some("k"), "manual"));
    assert_eq!((after.state.as_str(), after.ended_at_ms), ("running", None));
    let ended = run_with(&after, &Instance { ended: None, ..instance("success") }, 200);
    assert_eq!(ended.ended_at_ms, Some(200), "the engine does not say when");
}

#[test]
fn a_run_that_is_to_stop_is_stopping_until_it_ends() {
    let before = Run { state: STOPPING.to_owned(), ..run("running") };
    for (shown, expected) in [
        ("queued", STOPPING),
        ("running", STOPPING),
        ("something else", STOPPING),
        ("paused", "paused"),
        ("stopping", STOPPING),
        ("stopped", "stopped"),
        ("failed", "failed"),
        ("success", "success"),
    ] {
        let after = run_with(&before, &instance(shown), 200);
        assert_eq!(
            (after.state.as_str(), after.ended_at_ms.is_some()),
            (expected, has_ended(shown)),
            "{shown}"
        );
    }
    let ended = Run { ended_at_ms: Some(90), ..before };
    assert_eq!(run_with(&ended, &instance("running"), 200).state, "running");
}
