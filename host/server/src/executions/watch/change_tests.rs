use super::*;
use crate::execution_records::store::{Status, Try};

fn run(state: &str) -> Run {
    let ended_at_ms = (state != "running").then_some(90);
    Run {
        id: 3,
        engine: "local".to_owned(),
        workflow_id: 7,
        workflow_name: "daily".to_owned(),
        key: None,
        trigger: None,
        instance_id: Some("11".to_owned()),
        state: state.to_owned(),
        cause: "manual".to_owned(),
        business_time_ms: None,
        asked_at_ms: 10,
        started_at_ms: Some(20),
        ended_at_ms,
        message: None,
        workflow_version: None,
        part: None,
        failure_strategy: None,
        again: None,
        version: 0,
    }
}

fn record(task_id: i64, status: Status) -> Record {
    Record {
        task_key: task_id.to_string(),
        task_id: Some(task_id),
        task_name: format!("task {task_id}"),
        status,
        attempt: 1,
        start_time_ms: (status != Status::Pending).then_some(30),
        end_time_ms: None,
        error_message: None,
        rows_affected: None,
        tries: vec![Try { id: format!("{task_id}/1"), attempt: 1, ended: false }],
    }
}

fn execution(id: i64, record: Record) -> Execution {
    Execution {
        id,
        run_id: 3,
        engine: "local".to_owned(),
        instance_id: "11".to_owned(),
        workflow_id: 7,
        workflow_name: "daily".to_owned(),
        trigger_type: "manual".to_owned(),
        schedule_time_ms: None,
        record,
        created_at_ms: 25,
        updated_at_ms: 25,
    }
}

/// The written and removed records if the engine does not report the tasks 4 (started) and 5 (not started).
fn unsaid(state: &str) -> (Vec<Record>, Vec<i64>) {
    let seen = Seen { before: Some(run("running")), after: run(state) };
    let there = vec![execution(1, record(4, Status::Running)), execution(2, record(5, Status::Pending))];
    let change = Change::of(&seen, Some(Vec::new()), there);
    (change.put, change.forget)
}

#[test]
fn begun_tasks_end_with_their_run() {
    assert_eq!(unsaid("running").0, [], "it stays as it is");
    for (state, status) in
        [("success", Status::Success), ("failed", Status::Failed), ("stopped", Status::Killed)]
    {
        let (put, _) = unsaid(state);
        let ended = (put.len(), put[0].task_id, put[0].status, put[0].end_time_ms);
        assert_eq!(ended, (1, Some(4), status, Some(90)), "{state}");
    }
}

#[test]
fn unstarted_tasks_are_removed_when_unreported() {
    for state in ["running", "success", "failed", "stopped"] {
        assert_eq!(unsaid(state).1, [2], "{state}");
    }
}

#[test]
fn a_run_is_known_by_id_key_or_start() {
    let instance = |id: &str, key: Option<&str>, trigger: Option<&str>| Instance {
        id: id.to_owned(),
        workflow: 7,
        key: key.map(str::to_owned),
        trigger: trigger.map(str::to_owned),
        cause: "manual".to_owned(),
        business_time: None,
        state: "running".to_owned(),
        engine_state: "RUNNING".to_owned(),
        attempt: 1,
        started: None,
        ended: None,
        message: None,
        extra: None,
    };
    let asked = |id: i64, key: &str, trigger: Option<&str>| Run {
        id,
        key: Some(key.to_owned()),
        trigger: trigger.map(str::to_owned),
        instance_id: None,
        ..run("running")
    };
    let known = [run("running"), asked(4, "k4", None), asked(5, "k5", Some("t5"))];
    for (instance, expected) in [
        (instance("11", None, None), Some(3)),
        (instance("12", Some("k4"), None), Some(4)),
        // The engine keeps no key.
        (instance("12", None, Some("t5")), Some(5)),
        (instance("12", None, Some("t6")), None),
        (instance("12", None, None), None),
        (instance("11", Some("k4"), Some("t5")), Some(3)),
    ] {
        assert_eq!(known_as(&known, &instance).map(|run| run.id), expected, "{instance:?}");
    }
}
