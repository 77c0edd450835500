//! Starts, dates, parameters, serial runs, retries, timeouts and logs.

use super::*;

const DATE: &str = r#"{"complementScheduleDateList":"2026-01-05 00:00:00"}"#;

fn backfill<'p>(dates: &'p str, more: &[(&'p str, &'p str)]) -> Vec<(&'p str, &'p str)> {
    [&[("execType", "COMPLEMENT_DATA"), ("scheduleTime", dates)], more].concat()
}

/// The lines of a log that a task wrote itself.
fn written(site: &Site, one: &Value) -> Vec<String> {
    let message = eventually("the end of the log", || {
        let message = data(&site.log(one, "0", "1000"))["message"].as_str()?.to_owned();
        message.contains("FINALIZE_SESSION").then_some(message)
    });
    message.split("\r\n").filter_map(|line| line.strip_prefix('\t')).map(str::to_owned).collect()
}

#[test]
fn the_answer_to_a_start_is_that_of_its_generation() {
    let old = Site::new(Generation::V32);
    let code = old.online(&old.form("trigger", &["true"]));
    let trigger = data(&old.start(code, &[])).as_i64().expect("a trigger code").to_string();
    let of_trigger = || data(&old.get("process-instances/trigger", &[("triggerCode", &trigger)]));
    assert_eq!(of_trigger(), json!([]));
    let runs = eventually("its run", || Some(of_trigger()).filter(|runs| runs[0]["id"].is_number()));
    let run = old.until(runs[0]["id"].as_i64().expect("an id"), "SUCCESS");
    // Only the detail has the global parameters.
    assert_eq!(run["globalParams"], "[]");
    assert_eq!(old.rows("process-instances", &[])[0]["globalParams"], Value::Null);
    old.no_problems();

    let new = Site::new(Generation::V33);
    let code = new.online(&new.form("ids", &["true"]));
    let run = data(&new.start(code, &[]))[0].as_i64().expect("an id");
    assert_eq!(new.detail(run)["state"], "SUBMITTED_SUCCESS");
    new.until(run, "SUCCESS");
    assert_eq!(new.rows("process-instances", &[])[0]["globalParams"], "[]");
    new.no_problems();
}

#[test]
fn only_the_newer_one_starts_what_is_offline() {
    for (generation, expected) in [(Generation::V32, 50_004), (Generation::V33, 0)] {
        let site = Site::new(generation);
        let code = site.online(&site.form("offline", &["true"]));
        data(&site.release(code, "OFFLINE"));
        assert_eq!(codes(&site.start(code, &[])), (200, expected));
        assert_eq!(codes(&site.start(1, &[])), (200, 50_003));
        site.no_problems();
    }
}

#[test]
fn a_start_that_says_some_parameters_only_is_lost_in_the_older_one() {
    let site = Site::new(Generation::V32);
    let code = site.online(&site.form("lost", &["true"]).param("a", "1").param("b", "2"));
    data(&site.start(code, &[("startParams", r#"{"a":"1","key":"k"}"#)]));
    let run = site.run(code, &[("startParams", r#"{"a":"1","b":"2","key":"k"}"#)]);
    site.until(run, "SUCCESS");
    let rows = site.rows("process-instances", &[]);
    assert_eq!(rows.len(), 1);
    let shown = rows[0]["commandParam"].as_str().expect("JSON within JSON");
    assert!(shown.contains("StartParams") && shown.contains("key"), "{shown}");
    site.no_problems();

    let site = Site::new(Generation::V33);
    let code = site.online(&site.form("found", &["true"]).param("a", "1"));
    let run = site.run(code, &[("startParams", r#"{"key":"k"}"#)]);
    let shown = site.detail(run)["commandParam"].to_string();
    assert!(shown.contains("commandParams") && shown.contains("key"), "{shown}");
    site.no_problems();
}

#[test]
fn a_date_needs_a_parallelism_in_the_newer_one() {
    for (generation, expected) in [(Generation::V32, 0), (Generation::V33, 50_014)] {
        let site = Site::new(generation);
        let code = site.online(&site.form("parallel", &["true"]));
        assert_eq!(codes(&site.start(code, &backfill(DATE, &[]))).1, expected);
        site.no_problems();
    }
}

#[test]
fn a_date_is_that_of_the_run() {
    Site::each(|site| {
        let form = site.form("dates", &["echo ${lp_2}; echo \"$HOME.\" ${lp_1}"]);
        let form = form.param("lp_1", "on ").param("lp_2", "${lp_1}$[yyyy-MM-dd] ${system.biz.date}");
        let code = site.online(&form);
        let params = r#"{"lp_1":"on ","lp_2":"${lp_1}$[yyyy-MM-dd] ${system.biz.date}","key":"k"}"#;
        let more = [("expectedParallelismNumber", "1"), ("startParams", params)];
        let run = site.until(site.run(code, &backfill(DATE, &more)), "SUCCESS");
        assert_eq!(
            (&run["scheduleTime"], &run["commandType"]),
            (&json!("2026-01-05 00:00:00"), &json!("COMPLEMENT_DATA"))
        );
        let tries = site.tries(run["id"].as_i64().expect("an id"));
        assert_eq!(written(site, &tries[0]), ["on 2026-01-05 20260104", ". on"]);
    });
}

#[test]
fn dates_that_are_none_are_refused() {
    Site::each(|site| {
        let code = site.online(&site.form("wrong dates", &["true"]));
        let more = [("expectedParallelismNumber", "1")];
        let wrong = r#"{"complementScheduleDateList":"tomorrow"}"#;
        assert_eq!(codes(&site.start(code, &backfill(wrong, &more))), (200, 50_014));
        assert_ne!(codes(&site.start(code, &backfill("{}", &more))).1, 0);
    });
}

#[test]
fn the_next_date_follows_one_that_succeeds() {
    Site::each(|site| {
        let code =
            site.online(&site.form("chain", &["test ${day} != 2026-01-02"]).param("day", "$[yyyy-MM-dd]"));
        let dates =
            r#"{"complementStartDate":"2026-01-01 00:00:00","complementEndDate":"2026-01-03 00:00:00"}"#;
        let more = [("expectedParallelismNumber", "1"), ("executionOrder", "ASC_ORDER")];
        let first = site.run(code, &backfill(dates, &more));
        site.until(first, "SUCCESS");
        let second = eventually("the second date", || {
            site.rows("process-instances", &[])
                .iter()
                .find(|run| run["id"] != first)
                .and_then(|run| run["id"].as_i64())
        });
        let second = site.until(second, "FAILURE");
        assert_eq!(second["scheduleTime"], "2026-01-02 00:00:00");
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(site.rows("process-instances", &[]).len(), 2);
    });
}

#[test]
fn a_part_of_a_workflow_is_run() {
    Site::each(|site| {
        let form = site.form("parts", &["echo 1", "echo 2", "echo 3"]);
        let (code, second) = (site.online(&form), form.codes[1].to_string());
        for (depend, expected) in [("TASK_POST", 2), ("TASK_ONLY", 1), ("TASK_PRE", 2)] {
            let run = site.run(code, &[("startNodeList", &second), ("taskDependType", depend)]);
            site.until(run, "SUCCESS");
            assert_eq!(site.tries(run).len(), expected, "{depend}");
        }
        assert_eq!(codes(&site.start(code, &[("startNodeList", "7")])), (200, 10_207));
    });
}

#[test]
fn a_serial_run_waits_for_the_one_before_it() {
    Site::each(|site| {
        let mut form = site.form("wait", &["sleep 6"]);
        form.execution = "SERIAL_WAIT".to_owned();
        let code = site.online(&form);
        let first = site.run(code, &[]);
        site.until(first, "RUNNING_EXECUTION");
        let second = site.run(code, &[("startParams", r#"{"key":"k"}"#)]);
        assert_eq!(site.detail(second)["state"], "SERIAL_WAIT");
        // Only the newer one can stop it.
        let expected = if site.generation == Generation::V33 { 0 } else { 50_015 };
        let third = site.run(code, &[]);
        assert_eq!(codes(&site.execute(third, "STOP")).1, expected);
        assert_eq!(site.detail(first)["state"], "RUNNING_EXECUTION");
        let begin = site.until(second, "RUNNING_EXECUTION");
        assert_eq!(site.detail(first)["state"], "SUCCESS");
        // What it was started with is found in the one place or the other.
        assert!(begin["commandParam"].to_string().contains("key"), "{begin}");
        site.until(second, "SUCCESS");
    });
}

#[test]
fn a_serial_run_is_discarded_while_another_one_runs() {
    Site::each(|site| {
        let mut form = site.form("discard", &["sleep 5"]);
        form.execution = "SERIAL_DISCARD".to_owned();
        let code = site.online(&form);
        let first = site.run(code, &[]);
        site.until(first, "RUNNING_EXECUTION");
        let second = site.run(code, &[]);
        let discarded = site.until(second, "STOP");
        assert_eq!(discarded["endTime"], Value::Null);
        assert_eq!(site.tries(second), Vec::<Value>::new());
        site.until(first, "SUCCESS");
    });
}

#[test]
fn a_failed_task_is_tried_again() {
    Site::each(|site| {
        let mut form = site.form("retries", &["exit 3", "true"]);
        (form.tasks[0]["failRetryTimes"], form.tasks[0]["failRetryInterval"]) = (json!("1"), json!("0"));
        let code = site.online(&form);
        let run = site.run(code, &[]);
        site.until(run, "FAILURE");
        let tries = site.tries(run);
        assert_eq!(
            (words(&tries, "state"), words(&tries, "flag")),
            (vec!["FAILURE".to_owned(); 2], vec!["NO".to_owned(), "YES".to_owned()],)
        );
        assert_eq!(tries[1]["retryTimes"], 1);
    });
}

#[test]
fn a_task_that_takes_too_long_fails_or_is_killed() {
    Site::each(|site| {
        let mut form = site.form("timeout", &["sleep 60"]);
        let task = &mut form.tasks[0];
        (task["timeoutFlag"], task["timeoutNotifyStrategy"], task["timeout"]) =
            (json!("OPEN"), json!("FAILED"), json!(1));
        let code = site.online(&form);
        let run = site.run(code, &[]);
        let (of_run, of_try) = match site.generation {
            Generation::V32 => ("FAILURE", "FAILURE"),
            Generation::V33 => ("STOP", "KILL"),
        };
        site.until(run, of_run);
        assert_eq!(words(&site.tries(run), "state"), [of_try]);
    });
}

#[test]
fn a_failure_stops_what_comes_after_it() {
    Site::each(|site| {
        let code = site.online(&site.form("failing", &["echo no; exit 1", "echo never"]));
        let run = site.run(code, &[]);
        site.until(run, "FAILURE");
        assert_eq!(site.tries(run).len(), 1);
    });
}

#[test]
fn other_types_than_shell_fail_and_say_so() {
    Site::each(|site| {
        let mut form = site.form("sql", &["true"]);
        form.tasks[0]["taskType"] = json!("SQL");
        form.tasks[0]["taskParams"] = json!({"type": "POSTGRESQL", "datasource": 1, "sql": "SELECT 1"});
        let code = site.online(&form);
        let run = site.run(code, &[]);
        site.until(run, "FAILURE");
        let log = data(&site.log(&site.tries(run)[0], "0", "100"))["message"].to_string();
        assert!(log.contains("no tasks of the type SQL"), "{log}");
    });
}

#[test]
fn a_log_is_read_by_lines() {
    Site::each(|site| {
        let code = site.online(&site.form("log", &["echo one; sleep 1; printf 'two\\nthree'"]));
        let run = site.run(code, &[]);
        site.until(run, "RUNNING_EXECUTION");
        let one = eventually("a try", || site.tries(run).into_iter().next());
        site.until(run, "SUCCESS");
        // The last lines come after the end.
        let at_once = data(&site.log(&one, "0", "100"))["message"].as_str().expect("a text").to_owned();
        assert!(!at_once.contains("FINALIZE_SESSION"), "{at_once}");
        assert_eq!(written(site, &one), ["one", "two", "three"]);
        let part = |skip: &str, limit: &str| {
            let part = data(&site.log(&one, skip, limit));
            (
                part["lineNum"].as_i64().expect("a number"),
                part["message"].as_str().expect("a text").to_owned(),
            )
        };
        let (count, whole) = part("0", "100");
        assert!(whole.starts_with("[LOG-PATH]: ") && whole.ends_with("\r\n"), "{whole}");
        let lines: Vec<&str> = whole.split_once('\n').expect("a header").1.split_terminator("\r\n").collect();
        assert_eq!(lines.len() as i64, count);
        assert_eq!(part("1", "2"), (2, format!("{}\r\n{}\r\n", lines[1], lines[2])));
        // Past its end a slice is empty, and says one line.
        assert_eq!(part("100", "10"), (1, String::new()));
        let unknown = site.log(&json!({"id": 999}), "0", "10");
        assert_eq!(codes(&unknown), (200, 10_008));
    });
}

#[test]
fn a_list_shows_runs_since_a_time() {
    Site::each(|site| {
        let code = site.online(&site.form("list", &["true"]));
        let run = site.until(site.run(code, &[]), "SUCCESS");
        let begun = run["startTime"].as_str().expect("a time");
        let since = |at: &str| site.rows("process-instances", &[("startDate", at)]).len();
        assert_eq!((since(begun), since("2126-01-01 00:00:00")), (1, 0));
        let of = |state: &str| site.rows("process-instances", &[("stateType", state)]).len();
        assert_eq!((of("SUCCESS"), of("RUNNING_EXECUTION")), (1, 0));
        assert_eq!(site.rows("process-instances", &[("processDefineCode", "1")]).len(), 0);
        assert_eq!(codes(&site.get("process-instances/999", &[])), (200, 50_001));
    });
}
