use lakeport_bindings::engine::model::{RetryRequest, Started, TaskRunRequest};
use lakeport_bindings::host::types::{Error as PluginError, Page};
use lakeport_plugins::EmbeddedScheduler as _;
use lakeport_store::testing::on_each_store;

use super::*;
use crate::scheduler::LocalScheduler;
use crate::scheduler::attempts;
use crate::scheduler::progress::Standing;
use crate::scheduler::requests::QUEUED_MAX;
use crate::scheduler::testing::{
    NOW_MS, begin, instance, lease, reference, schedule, scheduler, start, task, workflow,
};

async fn run_of(db: &Db, key: &str) -> Run {
    find_by_key(db, key).await.unwrap().unwrap()
}

async fn end(db: &Db, id: i64, state: State) -> bool {
    let mut tx = db.begin().await.unwrap();
    let ended = end_run(&mut tx, id, state, None, NOW_MS).await.unwrap();
    tx.commit().await.unwrap();
    ended
}

/// Starts an attempt of task 1, and ends it unless it should keep running.
async fn tried(db: &Db, run: &Run, state: State) -> i64 {
    let mut tx = db.begin().await.unwrap();
    assert!(begin_runs(&mut tx, &[run.id], NOW_MS).await.unwrap().contains(&run.id));
    let begun = begin(&mut tx, run.id, (1, "a")).await;
    if state != State::Running {
        let ended = attempts::store::Ended {
            state,
            message: Some("why".to_owned()),
            rows_affected: Some(3),
            is_tried_again: false,
        };
        assert!(!attempts::store::end(&mut tx, &[(begun.id, &ended)], NOW_MS).await.unwrap().is_empty());
        assert!(attempts::store::end(&mut tx, &[(begun.id, &ended)], NOW_MS).await.unwrap().is_empty());
    }
    tx.commit().await.unwrap();
    begun.id
}

async fn standing(db: &Db, run_id: i64) -> Standing {
    let mut standings = attempts::store::standings(db, &[run_id]).await.unwrap();
    standings.remove(&run_id).and_then(|mut of| of.remove(&1)).unwrap_or_default()
}

#[tokio::test]
async fn a_key_names_one_run() {
    on_each_store(async |db| {
        let scheduler = scheduler(&db).await;
        let first = scheduler.start(start(7, "k")).await.unwrap();
        assert!(!first.found);
        let again = scheduler.start(start(7, "k")).await.unwrap();
        assert_eq!((again.found, again.instance), (true, first.instance));
        let code = async |workflow, key| scheduler.start(start(workflow, key)).await.unwrap_err().code;
        assert_eq!(code(8, "other").await, "not_found");
        assert_eq!(code(7, "").await, "invalid_input");
        assert_eq!(code(7, "a b").await, "invalid_input");
        scheduler.put(workflow(8, Vec::new(), &[])).await.unwrap();
        assert_eq!(code(8, "k").await, "conflict");
    })
    .await;
}

#[tokio::test]
async fn a_run_ends_with_the_revision_that_it_began_with() {
    on_each_store(async |db| {
        let scheduler = scheduler(&db).await;
        scheduler.start(start(7, "old")).await.unwrap();
        let changed = workflow(7, vec![task(1, "b", "SELECT 2")], &[]);
        scheduler
            .put(lakeport_bindings::engine::model::Workflow { revision: "r2".to_owned(), ..changed })
            .await
            .unwrap();
        scheduler.start(start(7, "new")).await.unwrap();
        for (key, name) in [("old", "a"), ("new", "b")] {
            let run = run_of(&db, key).await;
            assert_eq!(definition(&db, run.revision_id).await.unwrap().unwrap().tasks[0].name, name);
        }
    })
    .await;
}

#[tokio::test]
async fn a_workflow_goes_and_its_runs_are_stopped() {
    on_each_store(async |db| {
        let scheduler = scheduler(&db).await;
        scheduler.put(workflow(9, Vec::new(), &[])).await.unwrap();
        let page = async |cursor: Option<&str>| {
            let page = Page { cursor: cursor.map(str::to_owned), limit: 1 };
            let page = scheduler.entries(page).await.unwrap();
            (page.workflows[0].id, page.next)
        };
        assert_eq!(page(None).await, (7, Some("7".to_owned())));
        assert_eq!(page(Some("7")).await, (9, None));
        scheduler.start(start(7, "k")).await.unwrap();
        scheduler.remove(7).await.unwrap();
        scheduler.remove(7).await.unwrap();
        assert_eq!(page(None).await, (9, None));
        assert_eq!(run_of(&db, "k").await.state, State::Stopping);
        assert_eq!(scheduler.start(start(7, "l")).await.unwrap_err().code, "not_found");
    })
    .await;
}

#[tokio::test]
async fn a_run_that_is_to_stop_ends_as_stopped_alone() {
    on_each_store(async |db| {
        let scheduler = scheduler(&db).await;
        let id = scheduler.start(start(7, "k")).await.unwrap().instance.unwrap();
        let run = run_of(&db, "k").await;
        assert!(!end(&db, run.id, State::Stopped).await);
        scheduler.cancel(instance(7, &id)).await.unwrap();
        scheduler.cancel(instance(7, &id)).await.unwrap();
        assert!(!end(&db, run.id, State::Success).await);
        let mut tx = db.begin().await.unwrap();
        assert!(begin_runs(&mut tx, &[run.id], NOW_MS).await.unwrap().is_empty());
        drop(tx);
        assert!(end(&db, run.id, State::Stopped).await);
        scheduler.cancel(instance(7, &id)).await.unwrap();
        assert_eq!(run_of(&db, "k").await.state, State::Stopped);
        assert_eq!(scheduler.cancel(instance(7, "999")).await.unwrap_err().code, "not_found");
        assert_eq!(scheduler.cancel(instance(7, "x")).await.unwrap_err().code, "not_found");
    })
    .await;
}

#[tokio::test]
async fn only_so_many_runs_wait() {
    on_each_store(async |db| {
        let scheduler = scheduler(&db).await;
        let mut tx = db.begin().await.unwrap();
        for number in 0..QUEUED_MAX {
            let key = format!("k{number}");
            let new = NewRun {
                waits: false,
                workflow_id: 7,
                key: &key,
                cause: "manual",
                business_at_ms: 0,
                zone: Tz::UTC,
                params: &[],
                strategy: Strategy::End,
            };
            insert_run(&mut tx, &new, NOW_MS).await.unwrap().unwrap();
        }
        tx.commit().await.unwrap();
        let error = scheduler.start(start(7, "more")).await.unwrap_err();
        assert_eq!((error.code.as_str(), error.retryable), ("limit_exceeded", true));
        assert!(scheduler.start(start(7, "k5")).await.unwrap().found);
        let run = run_of(&db, "k0").await;
        assert!(end(&db, run.id, State::Failed).await);
        scheduler.start(start(7, "last")).await.unwrap();
        let error = retry(&scheduler, &run.id.to_string(), "all", "again").await.unwrap_err();
        assert_eq!((error.code.as_str(), error.retryable), ("limit_exceeded", true));
    })
    .await;
}

#[tokio::test]
async fn several_attempts_are_begun_marked_and_ended_together() {
    on_each_store(async |db| {
        let scheduler = scheduler(&db).await;
        let mut runs = Vec::new();
        for key in ["a", "b", "c"] {
            let id = scheduler.start(start(7, key)).await.unwrap().instance.unwrap();
            runs.push(id.parse::<i64>().unwrap());
        }
        scheduler.cancel(instance(7, &runs[2].to_string())).await.unwrap();
        let mut tx = db.begin().await.unwrap();
        let begun = begin_runs(&mut tx, &runs, NOW_MS).await.unwrap();
        assert_eq!(begun, HashSet::from([runs[0], runs[1]]), "the third must stop");
        let task = |run_id, task_id, name| attempts::store::ToBegin { run_id, task_id, name };
        let tasks = [task(runs[1], 2, "b \"quoted\""), task(runs[0], 1, "a"), task(runs[1], 1, "甲")];
        let first = attempts::store::begin(&mut tx, &tasks, NOW_MS).await.unwrap();
        let marks = [(first[0].id, "{\"mark\":1}"), (first[2].id, "x")];
        attempts::store::set_marks(&mut tx, &marks).await.unwrap();
        tx.commit().await.unwrap();
        let running = attempts::store::running(&db, None).await.unwrap();
        let mark = |id| running.iter().find(|one| one.id == id).unwrap().mark.clone();
        let found: Vec<_> = first.iter().map(|begun| (begun.attempt, mark(begun.id))).collect();
        assert_eq!(found, [(1, Some("{\"mark\":1}".to_owned())), (1, None), (1, Some("x".to_owned()))]);

        let ended = |state, message: Option<&str>, rows| attempts::store::Ended {
            state,
            message: message.map(str::to_owned),
            rows_affected: rows,
            is_tried_again: state == State::Failed,
        };
        let failed = ended(State::Failed, Some("it's \u{1}\\ 'so'\n"), None);
        let done = ended(State::Success, None, Some(5));
        let mut tx = db.begin().await.unwrap();
        let ends = [(first[2].id, &done), (first[0].id, &failed), (i64::MAX, &done)];
        let has_ended = attempts::store::end(&mut tx, &ends, NOW_MS).await.unwrap();
        assert_eq!(has_ended, HashSet::from([first[0].id, first[2].id]));
        let again = attempts::store::begin(&mut tx, &tasks[..1], NOW_MS).await.unwrap();
        assert_eq!(again[0].attempt, 2);
        let before = attempts::store::before(&mut tx, runs[1], 2, 2).await.unwrap().unwrap();
        assert_eq!((before.state, before.message), (State::Failed, failed.message.clone()));
        tx.commit().await.unwrap();
        let rows = db.read("SELECT task_name, rows_affected FROM runner_task_runs ORDER BY id", &[]).await;
        let rows: Vec<(String, Option<i64>)> =
            rows.unwrap().iter().map(|row| (row.get(0).unwrap(), row.get(1).unwrap())).collect();
        let row = |name: &str, rows| (name.to_owned(), rows);
        assert_eq!(rows.len(), 4);
        assert!(rows.contains(&row("甲", Some(5))) && rows.contains(&row("b \"quoted\"", None)), "{rows:?}");
    })
    .await;
}

#[tokio::test]
async fn a_lost_try_is_no_failure() {
    on_each_store(async |db| {
        let scheduler = scheduler(&db).await;
        scheduler.start(start(7, "k")).await.unwrap();
        let run = run_of(&db, "k").await;
        let lost = tried(&db, &run, State::Running).await;
        db.execute("UPDATE runner_task_runs SET started_at = started_at - 5000", &[]).await.unwrap();
        assert!(standing(&db, run.id).await.is_running);
        assert_eq!(attempts::store::running(&db, None).await.unwrap()[0].id, lost);
        let lease = lease(&db).await;
        let mut tx = db.begin().await.unwrap();
        tx.guard(&lease).await.unwrap();
        attempts::store::lose(&mut tx, lost, "gone", false, NOW_MS).await.unwrap();
        tx.commit().await.unwrap();
        let now = standing(&db, run.id).await;
        assert_eq!((now.is_running, now.failures, now.losses, now.failed_at_ms), (false, 0, 1, None));
        assert_eq!(now.lost_ms, 5_000);
        tried(&db, &run, State::Failed).await;
        let now = standing(&db, run.id).await;
        assert_eq!((now.failures, now.losses, now.failed_at_ms), (1, 1, Some(NOW_MS)));
        let mut tx = db.begin().await.unwrap();
        let before = attempts::store::before(&mut tx, run.id, 1, 2).await.unwrap().unwrap();
        assert!(before.is_lost);
        let failure = attempts::store::failure(&mut tx, run.id).await.unwrap();
        assert_eq!(failure, Some(("a".to_owned(), "why".to_owned())));
    })
    .await;
}

#[tokio::test]
async fn a_try_whose_outcome_is_not_known_is_no_loss() {
    on_each_store(async |db| {
        let scheduler = scheduler(&db).await;
        scheduler.start(start(7, "k")).await.unwrap();
        let run = run_of(&db, "k").await;
        let id = tried(&db, &run, State::Running).await;
        let mut tx = db.begin().await.unwrap();
        attempts::store::lose(&mut tx, id, "who knows", true, NOW_MS).await.unwrap();
        let failure = attempts::store::failure(&mut tx, run.id).await.unwrap();
        assert_eq!(failure, Some(("a".to_owned(), "who knows".to_owned())));
        tx.commit().await.unwrap();
        let now = standing(&db, run.id).await;
        assert_eq!((now.is_unknown, now.losses, now.is_running), (true, 0, false));
    })
    .await;
}

#[tokio::test]
async fn a_task_is_left_out_once() {
    on_each_store(async |db| {
        let scheduler = scheduler(&db).await;
        scheduler.start(start(7, "k")).await.unwrap();
        let run = run_of(&db, "k").await;
        let mut tx = db.begin().await.unwrap();
        leave_out(&mut tx, run.id, &[1, 2]).await.unwrap();
        leave_out(&mut tx, run.id, &[2, 3]).await.unwrap();
        tx.commit().await.unwrap();
        let left = db.read("SELECT task_id FROM runner_taken_over ORDER BY 1", &[]).await.unwrap();
        assert_eq!(left.len(), 3);
    })
    .await;
}

#[tokio::test]
async fn a_run_waits_for_earlier_ones_also_if_those_would_not_wait() {
    on_each_store(async |db| {
        let scheduler = scheduler(&db).await;
        scheduler.start(start(7, "parallel")).await.unwrap();
        let waits = lakeport_bindings::engine::model::Workflow {
            concurrency: "wait".to_owned(),
            ..workflow(7, vec![task(1, "a", "SELECT 1")], &[])
        };
        scheduler.put(waits).await.unwrap();
        let keys = ["second", "third"];
        for key in keys {
            scheduler.start(start(7, key)).await.unwrap();
        }
        assert_eq!(next_of(&db, &[7, 8]).await.unwrap(), [0; 0]);
        let first = run_of(&db, "parallel").await;
        assert!(end(&db, first.id, State::Success).await);
        assert_eq!(next_of(&db, &[7, 8]).await.unwrap(), [run_of(&db, keys[0]).await.id]);
    })
    .await;
}

async fn retry(scheduler: &LocalScheduler, id: &str, scope: &str, key: &str) -> Result<Started, PluginError> {
    let request = RetryRequest { instance: instance(7, id), scope: scope.to_owned(), key: key.to_owned() };
    scheduler.retry(request).await
}

#[tokio::test]
async fn a_retry_keeps_the_finished_tasks() {
    on_each_store(async |db| {
        let scheduler = scheduler(&db).await;
        let id = scheduler.start(start(7, "k")).await.unwrap().instance.unwrap();
        assert_eq!(
            retry(&scheduler, &id, "failed", "r1").await.unwrap_err().code,
            "conflict",
            "it has not ended"
        );
        let first = run_of(&db, "k").await;
        tried(&db, &first, State::Success).await;
        assert!(end(&db, first.id, State::Failed).await);
        assert_eq!(retry(&scheduler, &id, "some", "r1").await.unwrap_err().code, "invalid_input");
        let second = retry(&scheduler, &id, "failed", "r1").await.unwrap();
        assert!(!second.found && second.instance.as_ref() != Some(&id));
        let again = retry(&scheduler, &id, "failed", "r1").await.unwrap();
        assert_eq!((again.found, again.instance), (true, second.instance.clone()));
        let error = retry(&scheduler, &id, "failed", "r2").await.unwrap_err();
        assert_eq!(error.code, "conflict");
        assert!(
            error.message.contains(&format!("as the run {}", second.instance.as_deref().unwrap_or_default())),
            "{}",
            error.message
        );
        let run = run_of(&db, "r1").await;
        assert_eq!((run.retry_of, run.state, run.business_at_ms), (Some(first.id), State::Queued, NOW_MS));
        assert!(standing(&db, run.id).await.is_done, "what was done stays done");
        let request = TaskRunRequest {
            instances: vec![instance(7, second.instance.as_deref().unwrap_or_default())],
            cursor: None,
            limit: 9,
        };
        assert!(
            scheduler.task_runs(request).await.unwrap().task_runs.is_empty(),
            "it did not run in this one"
        );
        assert_eq!(run_of(&db, "k").await.state, State::Failed, "what failed stays as it was");
        assert!(end(&db, run.id, State::Failed).await);
        let third =
            retry(&scheduler, second.instance.as_deref().unwrap_or_default(), "failed", "r3").await.unwrap();
        assert!(standing(&db, run_of(&db, "r3").await.id).await.is_done, "what was taken over, too");
        assert!(end(&db, run_of(&db, "r3").await.id, State::Failed).await);
        retry(&scheduler, third.instance.as_deref().unwrap_or_default(), "all", "r4").await.unwrap();
        assert!(!standing(&db, run_of(&db, "r4").await.id).await.is_done);
        assert_eq!(scheduler.start(start(7, "r1")).await.unwrap().instance, second.instance);
        assert_eq!(
            retry(&scheduler, third.instance.as_deref().unwrap_or_default(), "all", "k")
                .await
                .unwrap_err()
                .code,
            "conflict"
        );
    })
    .await;
}

#[tokio::test]
async fn a_run_without_its_workflow_is_not_run_again() {
    on_each_store(async |db| {
        let scheduler = scheduler(&db).await;
        let id = scheduler.start(start(7, "k")).await.unwrap().instance.unwrap();
        assert!(end(&db, run_of(&db, "k").await.id, State::Failed).await);
        scheduler.remove(7).await.unwrap();
        assert_eq!(retry(&scheduler, &id, "failed", "r").await.unwrap_err().code, "not_found");
        assert_eq!(retry(&scheduler, "999", "failed", "r").await.unwrap_err().code, "not_found");
    })
    .await;
}

#[tokio::test]
async fn an_online_schedule_has_a_next_time() {
    on_each_store(async |db| {
        let scheduler = scheduler(&db).await;
        assert_eq!(scheduler.set_online(7, true).await.unwrap_err().code, "conflict");
        assert_eq!(
            scheduler.set_schedule(7, Some(schedule("* * *"))).await.unwrap_err().code,
            "invalid_input"
        );
        let zone = lakeport_bindings::engine::model::Schedule {
            time_zone: "Mars".to_owned(),
            ..schedule("0 0 0 * * ? *")
        };
        assert_eq!(scheduler.set_schedule(7, Some(zone)).await.unwrap_err().code, "invalid_input");
        assert_eq!(scheduler.set_schedule(8, None).await.unwrap_err().code, "not_found");
        scheduler.set_schedule(7, Some(schedule("0/1 * * * * ? *"))).await.unwrap();
        assert_eq!(next_due(&db).await.unwrap(), None);
        scheduler.set_online(7, true).await.unwrap();
        assert_eq!(next_due(&db).await.unwrap(), Some(NOW_MS + 1_000));
        scheduler.put(workflow(7, Vec::new(), &[])).await.unwrap();
        let found = &after(&db, 0, 10).await.unwrap()[0];
        assert_eq!((found.is_online, found.next_fire_at_ms), (true, Some(NOW_MS + 1_000)), "a put leaves it");
        scheduler.set_schedule(7, None).await.unwrap();
        assert_eq!(next_due(&db).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn old_runs_are_purged_with_their_rows() {
    on_each_store(async |db| {
        let scheduler = scheduler(&db).await;
        scheduler.start(start(7, "old")).await.unwrap();
        scheduler.start(start(7, "open")).await.unwrap();
        let run = run_of(&db, "old").await;
        let id = tried(&db, &run, State::Success).await;
        let mut tx = db.begin().await.unwrap();
        let pieces = [(0, "é\n"), (3, "whole\n"), (3, "whole again\n")];
        for (at_byte, text) in pieces {
            let piece = attempts::store::Piece { task_run_id: id, at_byte, text };
            attempts::store::append(&mut tx, &[piece]).unwrap();
            tx.commit().await.unwrap();
            tx = db.begin().await.unwrap();
        }
        assert_eq!(attempts::store::log_length(&mut tx, id).await.unwrap(), 3 + 12);
        drop(tx);
        end(&db, run.id, State::Success).await;
        scheduler.remove(7).await.unwrap();
        for (retained, rows) in crate::scheduler::RETAINED.iter().zip([2, 1, 0, 1, 0]) {
            let purged = db.execute(retained.purge, &[(NOW_MS + 1).into(), 100.into()]).await.unwrap();
            assert_eq!(purged, rows, "{}", retained.what);
        }
        assert!(find_by_key(&db, "open").await.unwrap().is_some());
        let queries = ["old", "open"].map(|key| lakeport_bindings::engine::model::RunQuery {
            workflow: reference(7),
            key: key.to_owned(),
            trigger: None,
            asked: 0,
        });
        let found = scheduler.find(queries.to_vec()).await.unwrap();
        assert_eq!(found.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true]);
    })
    .await;
}
