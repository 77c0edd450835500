use lakeport_bindings::engine::model::{LogPage, LogRequest, TaskRun, TaskRunPage, TaskRunRequest};
use lakeport_plugins::EmbeddedScheduler as _;
use lakeport_store::Db;
use lakeport_store::testing::on_each_store;

use crate::scheduler::LocalScheduler;
use crate::scheduler::store::{self as runs, Run, State};
use crate::scheduler::testing::{self, NOW_MS, instance, scheduler, start, task, workflow};

/// Runs of a workflow of four tasks, in which `c` comes after `a`.
async fn begun(db: &Db, keys: &[&str]) -> (LocalScheduler, Vec<Run>) {
    let scheduler = scheduler(db).await;
    let tasks = ["a", "b", "c", "d"].iter().enumerate();
    let tasks = tasks.map(|(at, name)| task(at as u64 + 1, name, "SELECT 1")).collect();
    scheduler.put(workflow(8, tasks, &[(1, 3)])).await.unwrap();
    let mut begun = Vec::new();
    for key in keys {
        scheduler.start(start(8, key)).await.unwrap();
        begun.push(runs::find_by_key(db, key).await.unwrap().unwrap());
    }
    (scheduler, begun)
}

async fn page(scheduler: &LocalScheduler, runs: &[Run], cursor: Option<String>, limit: u32) -> TaskRunPage {
    let instances = runs.iter().map(|run| instance(8, &run.id.to_string())).collect();
    scheduler.task_runs(TaskRunRequest { instances, cursor, limit }).await.unwrap()
}

async fn all(scheduler: &LocalScheduler, runs: &[Run]) -> Vec<TaskRun> {
    page(scheduler, runs, None, 100).await.task_runs
}

fn brief(tries: &[TaskRun]) -> Vec<(&str, &str, Option<i64>)> {
    tries.iter().map(|one| (one.task_name.as_str(), one.state.as_str(), one.started)).collect()
}

async fn log(scheduler: &LocalScheduler, run: &Run, task_run: &str) -> LogPage {
    let request = LogRequest {
        instance: instance(8, &run.id.to_string()),
        task_run: task_run.to_owned(),
        cursor: None,
        max_bytes: 100,
        ended: false,
    };
    scheduler.log(request).await.unwrap()
}

async fn begin(db: &Db, run: &Run, task: (i64, &str)) {
    let mut tx = db.begin().await.unwrap();
    assert!(!runs::begin_runs(&mut tx, &[run.id], NOW_MS).await.unwrap().is_empty());
    testing::begin(&mut tx, run.id, task).await;
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn ready_tasks_show_as_queued() {
    on_each_store(async |db| {
        let (scheduler, begun) = begun(&db, &["k"]).await;
        let run = &begun[0];
        let waiting = all(&scheduler, &begun).await;
        let expected = [("a", "queued", None), ("b", "queued", None), ("d", "queued", None)];
        assert_eq!(brief(&waiting), expected, "c comes behind a");
        let first = log(&scheduler, run, &waiting[0].id).await;
        assert_eq!((first.text.as_str(), first.complete), ("", false));

        begin(&db, run, (1, "a")).await;
        let tries = all(&scheduler, &begun).await;
        let expected = [("b", "queued", None), ("d", "queued", None), ("a", "running", Some(NOW_MS))];
        assert_eq!(brief(&tries), expected);
        assert_eq!((&tries[0].id, tries[0].attempt), (&waiting[1].id, 1), "it keeps its id");

        scheduler.cancel(instance(8, &run.id.to_string())).await.unwrap();
        assert_eq!(brief(&all(&scheduler, &begun).await), expected, "it is not over yet");
        let mut tx = db.begin().await.unwrap();
        assert!(runs::end_run(&mut tx, run.id, State::Stopped, None, NOW_MS + 5).await.unwrap());
        tx.commit().await.unwrap();
        let tries = all(&scheduler, &begun).await;
        assert_eq!(brief(&tries), [("a", "running", Some(NOW_MS))], "what had not begun never will");
        assert!(log(&scheduler, run, &waiting[1].id).await.complete);
        assert!(!log(&scheduler, run, &waiting[0].id).await.complete, "it has a log, under another id");
    })
    .await;
}

#[tokio::test]
async fn in_a_run_that_has_failed_nothing_waits() {
    on_each_store(async |db| {
        let (scheduler, begun) = begun(&db, &["k"]).await;
        let mut tx = db.begin().await.unwrap();
        assert!(runs::end_run(&mut tx, begun[0].id, State::Failed, None, NOW_MS).await.unwrap());
        tx.commit().await.unwrap();
        assert_eq!(all(&scheduler, &begun).await, []);
    })
    .await;
}

#[tokio::test]
async fn what_waits_and_what_was_begun_come_in_pages() {
    on_each_store(async |db| {
        let (scheduler, begun) = begun(&db, &["k", "l"]).await;
        begin(&db, &begun[0], (1, "a")).await;
        begin(&db, &begun[0], (2, "b")).await;
        let whole = all(&scheduler, &begun).await;
        assert_eq!(whole.len(), 6);
        for limit in 1..=6 {
            let (mut tries, mut cursor) = (Vec::new(), None);
            loop {
                let page = page(&scheduler, &begun, cursor, limit).await;
                assert!(page.task_runs.len() <= limit as usize);
                tries.extend(page.task_runs);
                cursor = page.next;
                if cursor.is_none() {
                    break;
                }
            }
            assert_eq!(tries, whole, "by {limit}");
        }
        let wrong = TaskRunRequest { instances: Vec::new(), cursor: Some("waiting-x".to_owned()), limit: 1 };
        assert_eq!(scheduler.task_runs(wrong).await.unwrap_err().0.code, "invalid_input");
    })
    .await;
}
