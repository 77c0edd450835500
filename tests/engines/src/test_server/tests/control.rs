//! Stop, pause, go on, run again; and that nothing is left running.

use super::*;

/// The processes of a pattern that only this test's tasks have.
fn processes(pattern: &str) -> usize {
    let folders = std::fs::read_dir("/proc").expect("a process list");
    let lines = folders.flatten().filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).replace('\0', " ").contains(pattern)).count()
}

/// The older one shows the old end for a while.
fn after_command(site: &Site, old: &'static str) -> &'static str {
    if site.generation == Generation::V32 { old } else { "SUBMITTED_SUCCESS" }
}

#[test]
fn a_stop_ends_the_process_tree() {
    for (generation, pattern) in [(Generation::V32, "sleep 601.32"), (Generation::V33, "sleep 601.33")] {
        let site = Site::new(generation);
        let code = site.online(&site.form("stop", &[&format!("({pattern} & {pattern}); true"), "true"]));
        let run = site.run(code, &[]);
        eventually("both processes", || (processes(pattern) >= 2).then_some(()));
        data(&site.execute(run, "STOP"));
        assert_eq!(site.detail(run)["state"], "READY_STOP");
        // The older one refuses a second stop.
        let expected = if generation == Generation::V32 { 50_015 } else { 0 };
        assert_eq!(codes(&site.execute(run, "STOP")).1, expected);
        let stopped = site.until(run, "STOP");
        assert_ne!(stopped["endTime"], Value::Null);
        assert_eq!(words(&site.tries(run), "state"), ["KILL"]);
        eventually("no process", || (processes(pattern) == 0).then_some(()));
        // The command of a run is the last one in the older one.
        let command = if generation == Generation::V32 { "STOP" } else { "START_PROCESS" };
        assert_eq!(stopped["commandType"], command);
        site.no_problems();
    }
}

#[test]
fn a_server_that_ends_leaves_no_process() {
    let pattern = "sleep 601.44";
    let site = Site::new(Generation::V33);
    let code = site.online(&site.form("end", &[&format!("{pattern} & {pattern}")]));
    site.run(code, &[]);
    eventually("both processes", || (processes(pattern) >= 2).then_some(()));
    let base = site.server.access().base_url;
    drop(site);
    // The system lists a killed process until it has gone.
    eventually("no process", || (processes(pattern) == 0).then_some(()));
    Api::new(&base).expect("a base URL").get("/projects/list", &[]).expect_err("nobody answers");
}

#[test]
fn what_does_not_fit_the_state_is_refused() {
    for (generation, refused) in [(Generation::V32, 50_015), (Generation::V33, 10_000)] {
        let site = Site::new(generation);
        let code = site.online(&site.form("states", &["true"]));
        let run = site.run(code, &[]);
        site.until(run, "SUCCESS");
        for what in ["STOP", "PAUSE", "START_FAILURE_TASK_PROCESS", "RECOVER_SUSPENDED_PROCESS"] {
            assert_eq!(codes(&site.execute(run, what)), (200, refused), "{what}");
        }
        assert_eq!(codes(&site.execute(999, "STOP")), (200, 50_001));
        site.no_problems();
    }
}

#[test]
fn a_pause_lets_the_task_end() {
    Site::each(|site| {
        let code = site.online(&site.form("pause", &["sleep 3", "echo then"]));
        let run = site.run(code, &[("startParams", r#"{"key":"k"}"#)]);
        eventually("a task that runs", || {
            (words(&site.tries(run), "state") == ["RUNNING_EXECUTION"]).then_some(())
        });
        data(&site.execute(run, "PAUSE"));
        assert_eq!(site.detail(run)["state"], "READY_PAUSE");
        let paused = site.until(run, "PAUSE");
        assert_ne!(paused["endTime"], Value::Null);
        let before = site.tries(run);
        assert_eq!(words(&before, "state"), ["SUCCESS", "PAUSE"]);
        // It cannot be stopped any more.
        let refused = if site.generation == Generation::V32 { 50_015 } else { 10_000 };
        assert_eq!(codes(&site.execute(run, "STOP")), (200, refused));
        data(&site.execute(run, "RECOVER_SUSPENDED_PROCESS"));
        assert_eq!(site.detail(run)["state"], after_command(site, "PAUSE"));
        let ended = site.until(run, "SUCCESS");
        // The same rows went on.
        let after = site.tries(run);
        assert_eq!(words(&after, "state"), ["SUCCESS", "SUCCESS"]);
        assert_eq!(after[1]["id"], before[1]["id"]);
        assert!(ended["commandParam"].to_string().contains("key"), "{ended}");
    });
}

#[test]
fn failed_tasks_are_run_again_in_the_same_run() {
    Site::each(|site| {
        let code = site.online(&site.form("again", &["true", "exit 1", "true"]));
        let run = site.run(code, &[]);
        site.until(run, "FAILURE");
        data(&site.execute(run, "START_FAILURE_TASK_PROCESS"));
        assert_eq!(site.detail(run)["state"], after_command(site, "FAILURE"));
        eventually("the second run", || (site.detail(run)["runTimes"] == 2).then_some(()));
        let again = site.until(run, "FAILURE");
        assert_eq!(again["commandType"], "START_FAILURE_TASK_PROCESS");
        let tries = site.tries(run);
        assert_eq!(words(&tries, "state"), ["SUCCESS", "FAILURE", "FAILURE"]);
        assert_eq!(words(&tries, "flag"), ["YES", "NO", "YES"]);
    });
}

#[test]
fn a_run_is_repeated_with_new_rows() {
    Site::each(|site| {
        let code = site.online(&site.form("repeat", &["true", "true"]));
        let run = site.run(code, &[]);
        site.until(run, "SUCCESS");
        data(&site.execute(run, "REPEAT_RUNNING"));
        let old = site.detail(run);
        assert_eq!((&old["state"], &old["runTimes"]), (&json!("SUCCESS"), &json!(1)));
        eventually("the second run", || (site.detail(run)["runTimes"] == 2).then_some(()));
        site.until(run, "SUCCESS");
        assert_eq!(words(&site.tries(run), "flag"), ["NO", "NO", "YES", "YES"]);
    });
}

#[test]
fn two_commands_at_once_are_noted() {
    let site = Site::new(Generation::V32);
    let code = site.online(&site.form("twice", &["true"]));
    let run = site.run(code, &[]);
    site.until(run, "SUCCESS");
    data(&site.execute(run, "REPEAT_RUNNING"));
    data(&site.execute(run, "REPEAT_RUNNING"));
    assert!(site.server.problems()[0].contains("twice"), "{:?}", site.server.problems());
}

#[test]
fn only_the_newer_one_goes_on_after_a_stop() {
    for (generation, expected) in [(Generation::V32, 50_015), (Generation::V33, 0)] {
        let site = Site::new(generation);
        let code = site.online(&site.form("resume", &["test -e ../flag || sleep 60"]));
        let run = site.run(code, &[]);
        eventually("a task that runs", || {
            (words(&site.tries(run), "state") == ["RUNNING_EXECUTION"]).then_some(())
        });
        data(&site.execute(run, "STOP"));
        site.until(run, "STOP");
        // Not from its failed tasks: it has not failed.
        assert_ne!(codes(&site.execute(run, "START_FAILURE_TASK_PROCESS")).1, 0);
        assert_eq!(codes(&site.execute(run, "RECOVER_SUSPENDED_PROCESS")).1, expected);
        if generation == Generation::V33 {
            eventually("the second run", || (site.detail(run)["runTimes"] == 2).then_some(()));
            assert_eq!(words(&site.tries(run), "flag")[0], "NO");
        }
        site.no_problems();
    }
}
