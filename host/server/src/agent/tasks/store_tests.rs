use lakeport_store::testing::on_each_store;

use super::*;
use crate::agent::tasks::event::{ToolError, ToolResult};
use crate::agent::testing::{ask, topic};
use crate::agent::topics;

const NOW_MS: i64 = 1_772_600_000_000;
/// More than any event of the tests.
const BYTES: i64 = 1_000_000;

fn worker(epoch: i64) -> Worker {
    Worker { name: "agent/0".to_owned(), epoch }
}

async fn claimed(db: &Db, id: i64, from: Option<&Worker>, by: &Worker) -> Option<Task> {
    let mut tx = db.begin().await.unwrap();
    let task = claim(&mut tx, id, from, by, NOW_MS).await.unwrap();
    tx.commit().await.unwrap();
    task
}

async fn written(db: &Db, progress: &Progress) -> bool {
    let mut tx = db.begin().await.unwrap();
    let is_kept = write(&mut tx, progress, NOW_MS).await.unwrap().is_some();
    if is_kept {
        tx.commit().await.unwrap();
    }
    is_kept
}

async fn suspended(db: &Db, id: i64) -> bool {
    let mut tx = db.begin().await.unwrap();
    let is_suspended = suspend(&mut tx, id, NOW_MS).await.unwrap();
    tx.commit().await.unwrap();
    is_suspended
}

fn progress(worker: &Worker, id: i64, last_seq: i64, steps: &[Step]) -> Progress {
    let numbered = (last_seq + 1..).zip(steps);
    let events = numbered.map(|(seq, step)| NewEvent::of(step, seq, "t", NOW_MS)).collect();
    let worker = worker.clone();
    Progress { id, worker, last_seq, events, usage: Usage::default(), context: None, end: None }
}

fn thought(content: &str) -> Step {
    Step::Thinking { content: content.to_owned(), reasoning: None }
}

#[tokio::test]
async fn an_owner_leaves_places_to_others() {
    on_each_store(async |db| {
        let mut asked = Vec::new();
        for owner in ["token:1", "token:1", "token:1", "token:2"] {
            let topic = topic(&db, owner).await;
            asked.push(ask(&db, &topic, "?").await);
        }
        // In turns of the owners, two of the first one at most.
        let [first, second, _, other] = asked[..] else { panic!("four") };
        assert_eq!(next_waiting(&db, "agent/0", 2, 9).await.unwrap(), [first, other, second]);
        claimed(&db, first, None, &worker(1)).await.unwrap();
        claimed(&db, second, None, &worker(1)).await.unwrap();
        assert_eq!(next_waiting(&db, "agent/0", 2, 9).await.unwrap(), [other]);
        // Another server has places of its own.
        assert_eq!(next_waiting(&db, "agent/1", 2, 9).await.unwrap().len(), 2);
    })
    .await;
}

#[tokio::test]
async fn the_rights_of_questions_are_kept_and_broken_off_calls_cost() {
    on_each_store(async |db| {
        let topic = topic(&db, "local").await;
        let id = ask(&db, &topic, "?").await;
        assert_eq!(rights_of(&db, topic.id).await.unwrap(), [None]);
        let spent = Spent { calls: 1, input_tokens: 7, output_tokens: 2, cost_micros: 5 };
        let mut tx = db.begin().await.unwrap();
        add_use(&mut tx, id, &spent).await.unwrap();
        add_use(&mut tx, id, &spent).await.unwrap();
        tx.commit().await.unwrap();
        let task = claimed(&db, id, None, &worker(1)).await.unwrap();
        assert_eq!((task.usage.input_tokens, task.usage.output_tokens, task.usage.cost_micros), (14, 4, 10));
    })
    .await;
}

#[tokio::test]
async fn one_topic_runs_one_task_at_once() {
    on_each_store(async |db| {
        let (one, two) = (topic(&db, "local").await, topic(&db, "local").await);
        let (first, second, other) =
            (ask(&db, &one, "1").await, ask(&db, &one, "2").await, ask(&db, &two, "3").await);
        let by = worker(1);
        assert_eq!(next_waiting(&db, "agent/0", 9, 1).await.unwrap(), [first]);
        assert_eq!(claimed(&db, first, None, &by).await.unwrap().status, Status::Running);
        assert!(claimed(&db, first, None, &by).await.is_none(), "it was begun");
        assert_eq!(next_waiting(&db, "agent/0", 9, 1).await.unwrap(), [other]);
        claimed(&db, other, None, &by).await.unwrap();
        assert_eq!(next_waiting(&db, "agent/0", 9, 9).await.unwrap(), [0; 0]);
        let end = Some(End::Success);
        assert!(written(&db, &Progress { end, ..progress(&by, first, 0, &[]) }).await);
        assert_eq!(next_waiting(&db, "agent/0", 9, 1).await.unwrap(), [second]);
        let mut tx = db.begin().await.unwrap();
        assert_eq!(count_waiting(&mut tx, "local").await.unwrap(), Waiting { all: 1, own: 1 });
        assert_eq!(count_waiting(&mut tx, "token/7").await.unwrap(), Waiting { all: 1, own: 0 });
        assert!(lock_open(&mut tx, one.id).await.unwrap().is_some());
    })
    .await;
}

#[tokio::test]
async fn what_is_written_stands_in_order_and_is_read_back() {
    on_each_store(async |db| {
        let topic = topic(&db, "local").await;
        let id = ask(&db, &topic, "q").await;
        let by = worker(1);
        claimed(&db, id, None, &by).await.unwrap();
        let error = ToolError::new("cannot_answer", "表 \u{0}", false);
        let (call_id, tool) = ("c".to_owned(), "write_sql".to_owned());
        let outcome = Err(error);
        let result =
            ToolResult { call_id, tool, outcome, duration_ms: 3, truncated: false, artifacts: vec![] };
        let steps = [thought("先看\u{0}表"), Step::ToolResult(result)];
        assert!(written(&db, &progress(&by, id, 0, &steps)).await);
        assert!(!written(&db, &progress(&by, id, 0, &steps)).await, "it is further");
        assert!(written(&db, &progress(&by, id, 2, &[thought("next")])).await);
        assert_eq!(super::steps(&db, id).await.unwrap().unwrap()[..2], steps);
        let sent = events_after(&db, id, 1, 10, BYTES).await.unwrap();
        assert_eq!(sent.iter().map(|(seq, ..)| *seq).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(events_after(&db, id, 0, 1, BYTES).await.unwrap().len(), 1);
        assert_eq!(events_after(&db, id, 0, 10, 1).await.unwrap().len(), 1, "one comes, however long it is");
        assert_eq!(super::progress(&db, id).await.unwrap(), Some((Status::Running, 3)));
    })
    .await;
}

#[tokio::test]
async fn a_worker_that_lost_its_task_writes_nothing() {
    on_each_store(async |db| {
        let topic = topic(&db, "local").await;
        let id = ask(&db, &topic, "q").await;
        let (gone, next) = (worker(1), worker(2));
        claimed(&db, id, None, &gone).await.unwrap();
        assert_eq!(running(&db).await.unwrap(), [(id, gone.clone())]);
        let task = claimed(&db, id, Some(&gone), &next).await.unwrap();
        assert_eq!((task.claims, task.started_at_ms), (2, Some(NOW_MS)));
        assert!(claimed(&db, id, Some(&gone), &next).await.is_none(), "another worker was faster");
        assert!(!written(&db, &progress(&gone, id, 0, &[thought("late")])).await);
        assert!(written(&db, &progress(&next, id, 0, &[thought("on time")])).await);
    })
    .await;
}

#[tokio::test]
async fn a_suspended_task_gets_no_event_and_does_not_begin() {
    on_each_store(async |db| {
        let topic = topic(&db, "local").await;
        let (id, waiting) = (ask(&db, &topic, "q").await, ask(&db, &topic, "r").await);
        let by = worker(1);
        claimed(&db, id, None, &by).await.unwrap();
        assert!(suspended(&db, id).await && suspended(&db, waiting).await);
        assert!(!suspended(&db, id).await, "it has ended");
        assert!(!written(&db, &progress(&by, id, 0, &[thought("late")])).await);
        assert_eq!(next_waiting(&db, "agent/0", 9, 9).await.unwrap(), [0; 0]);
        assert!(claimed(&db, waiting, None, &by).await.is_none());
    })
    .await;
}

#[tokio::test]
async fn only_steps_of_tasks_that_ended_long_ago_are_purged() {
    on_each_store(async |db| {
        let topic = topic(&db, "local").await;
        let by = worker(1);
        let ended = ask(&db, &topic, "old").await;
        let task_id = claimed(&db, ended, None, &by).await.unwrap().task_id;
        let end = Some(End::Failed { code: "interrupted".to_owned(), message: "m".to_owned() });
        assert!(
            written(&db, &Progress { end, ..progress(&by, ended, 0, &[thought("a"), thought("b")]) }).await
        );
        let runs = ask(&db, &topic, "new").await;
        claimed(&db, runs, None, &by).await.unwrap();
        assert!(written(&db, &progress(&by, runs, 0, &[thought("c")])).await);
        assert_eq!(db.execute(RETAINED.purge, &[NOW_MS.into(), 10.into()]).await.unwrap(), 0);
        assert_eq!(db.execute(RETAINED.purge, &[(NOW_MS + 1).into(), 1.into()]).await.unwrap(), 1);
        assert_eq!(db.execute(RETAINED.purge, &[(NOW_MS + 1).into(), 10.into()]).await.unwrap(), 1);
        assert_eq!(events_after(&db, runs, 0, 10, BYTES).await.unwrap().len(), 1);
        let task = find(&db, &task_id).await.unwrap().unwrap();
        assert_eq!(task.error, Some(("interrupted".to_owned(), "m".to_owned())));
    })
    .await;
}

#[tokio::test]
async fn a_topic_takes_everything_of_it_along() {
    on_each_store(async |db| {
        let topic = topic(&db, "local").await;
        let id = ask(&db, &topic, "q").await;
        let by = worker(1);
        claimed(&db, id, None, &by).await.unwrap();
        assert!(written(&db, &progress(&by, id, 0, &[thought("a")])).await);
        let mut tx = db.begin().await.unwrap();
        topics::store::delete(&mut tx, topic.id).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(super::progress(&db, id).await.unwrap(), None);
        assert!(events_after(&db, id, 0, 10, BYTES).await.unwrap().is_empty());
        assert!(topics::store::find(&db, &topic.topic_id).await.unwrap().is_none());
    })
    .await;
}
