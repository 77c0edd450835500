//! The loop with a scripted model, and tools that act by their names.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use lakeport_http::Paging;
use lakeport_store::testing::on_each_store;
use parking_lot::Mutex;
use serde_json::json;

use super::tools::Called;
use super::*;
use crate::agent::tasks::Status;
use crate::agent::tasks::event::ToolError;
use crate::agent::tasks::store;
use crate::agent::testing::{ask, topic};
use crate::agent::topics;
use crate::queries::{Outcome, testing::query};

const NOW_MS: i64 = 1_772_600_000_000;
const PAGE: Paging = Paging { page_num: 1, page_size: 100 };

/// Returns its steps in order, by the number of its steps in the conversation: so it can continue like any
/// model.
struct Script(Vec<Said>);

impl Model for Script {
    fn next<'m>(&'m self, conversation: &'m Conversation) -> BoxFuture<'m, Result<Said, ModelError>> {
        let said = conversation.steps.iter().filter(|step| matches!(step, Step::ToolCall { .. })).count();
        let next = self.0.get(said).cloned();
        let missing = || ModelError {
            code: "tool_failed",
            message: "the script ends".to_owned(),
            retryable: true,
            spent: Spent::default(),
        };
        Box::pin(std::future::ready(next.ok_or_else(missing)))
    }
}

/// `echo` answers its input, `fail` fails, `hang` never ends.
#[derive(Default)]
struct Named {
    called: AtomicUsize,
    kept: Mutex<Vec<String>>,
}

impl Tools for Named {
    fn call<'t>(&'t self, _: &'t str, tool: &'t str, input: &'t Value) -> BoxFuture<'t, Called> {
        Box::pin(async move {
            self.called.fetch_add(1, Ordering::Relaxed);
            match tool {
                "echo" => {
                    let artifacts = vec![json!({ "kind": "sql", "datasource": "shop", "sql": input })];
                    Called { outcome: Ok(input.clone()), truncated: false, artifacts }
                }
                "hang" => std::future::pending().await,
                _ => ToolError::new("unknown_tool", "there is no such tool", true).into(),
            }
        })
    }

    fn keep(&self, result: &ToolResult) {
        self.kept.lock().push(result.call_id.clone());
    }
}

fn call(tool: &str) -> Said {
    Next::Call { tool: tool.to_owned(), input: json!({ "of": tool }) }.into()
}

fn thought(thought: &str, said: Said) -> Said {
    Said { thought: Some(thought.to_owned()), ..said }
}

fn answer(content: &str) -> Said {
    Next::Answer(Answer::new(content)).into()
}

/// A task started by this worker, with this script.
async fn begun(db: &Db, script: Vec<Said>) -> (Run, Arc<Named>) {
    let topic = topic(db, "local").await;
    let id = ask(db, &topic, "how many?").await;
    taken(db, id, None, script).await
}

async fn taken(db: &Db, id: i64, from: Option<i64>, script: Vec<Said>) -> (Run, Arc<Named>) {
    let worker = |epoch| Worker { name: "agent/0".to_owned(), epoch };
    let (from, worker) = (from.map(worker), worker(from.unwrap_or(0) + 1));
    let mut tx = db.begin().await.unwrap();
    let task = store::claim(&mut tx, id, from.as_ref(), &worker, NOW_MS).await.unwrap().unwrap();
    tx.commit().await.unwrap();
    let steps = store::steps(db, id).await.unwrap().unwrap();
    let tools = Arc::new(Named::default());
    let run = Run {
        db: db.clone(),
        log: Arc::new(EventLog::new(db.clone(), Clock::standing(NOW_MS))),
        clock: Clock::standing(NOW_MS),
        conversation: Arc::new(Conversation::new(&task.content, steps)),
        task,
        worker,
        model: Arc::new(Script(script)),
        tools: Arc::clone(&tools) as _,
        bounds: Bounds { steps_max: 10, timeout: Duration::from_secs(60), models: Limits::default() },
        stops: Stops::default(),
        user: User { owner: "local".to_owned(), caller: "local".to_owned(), model: "script".to_owned() },
        unstored: Vec::new(),
        unstored_use: Spent::default(),
        unlogged: Arc::new(Unlogged::new(db.clone())),
        bytes: 0,
    };
    (run, tools)
}

async fn kinds(db: &Db, id: i64) -> Vec<&'static str> {
    store::steps(db, id).await.unwrap().unwrap().iter().map(Step::kind).collect()
}

#[tokio::test]
async fn queries_are_logged_with_the_steps() {
    on_each_store(async |db| {
        let (mut run, _) = begun(&db, vec![call("echo"), call("echo"), answer("42")]).await;
        run.unlogged.begin(query(&[(7, "orders")], NOW_MS)).ended(Outcome::Success);
        run.run(None).await.unwrap();
        assert!(run.unlogged.queries().is_empty());
        let logged = db.read("SELECT table_name FROM query_log", &[]).await.unwrap();
        assert_eq!(logged.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_question_is_answered_with_what_its_tools_gave() {
    on_each_store(async |db| {
        let script = vec![thought("so", call("echo")), call("fail"), thought("but", answer("42\0"))];
        let (mut run, tools) = begun(&db, script).await;
        run.run(None).await.unwrap();
        let expected =
            ["thinking", "tool_call", "tool_result", "tool_call", "tool_result", "thinking", "message"];
        assert_eq!(kinds(&db, run.task.id).await, expected);
        let task = store::find(&db, &run.task.task_id).await.unwrap().unwrap();
        assert_eq!((task.status, task.last_seq, task.finished_at_ms), (Status::Success, 7, Some(NOW_MS)));
        assert_eq!((task.usage.model_calls, task.usage.tool_calls), (3, 2));
        let topic = topics::store::find(&db, &task.topic_id).await.unwrap().unwrap();
        let messages = topics::store::messages(&db, &topic, &PAGE).await.unwrap();
        assert_eq!((messages.len(), messages[1].content.as_str()), (2, "42"));
        assert_eq!(messages[1].artifacts, r#"[{"kind":"sql","datasource":"shop","sql":{"of":"echo"}}]"#);
        assert_eq!((topic.message_count, topic.last_task), (2, Some((task.task_id, "success".to_owned()))));
        assert_eq!(tools.kept.lock().len(), 1, "what failed is not kept");
    })
    .await;
}

#[tokio::test]
async fn a_takeover_resumes_after_the_last_step() {
    on_each_store(async |db| {
        let script = vec![thought("a", call("echo")), call("hang"), answer("done")];
        let (mut run, _) = begun(&db, script.clone()).await;
        let halted = run.stops.halted.clone();
        let id = run.task.id;
        let working = async { run.run(None).await.unwrap() };
        let halting = async {
            while kinds(&db, id).await.len() < 4 {
                tokio::task::yield_now().await;
            }
            halted.cancel();
        };
        tokio::join!(working, halting);
        assert_eq!(store::progress(&db, id).await.unwrap(), Some((Status::Running, 4)));
        let mut again = script;
        again[1] = call("echo");
        let (mut run, tools) = taken(&db, id, Some(1), again).await;
        // The started call is the stored one, which would hang again: this server's tool does not.
        Arc::make_mut(&mut run.conversation).steps.iter_mut().for_each(|step| {
            if let Step::ToolCall { tool, .. } = step {
                "echo".clone_into(tool);
            }
        });
        run.run(None).await.unwrap();
        let expected = ["thinking", "tool_call", "tool_result", "tool_call", "tool_result", "message"];
        assert_eq!(kinds(&db, id).await, expected);
        assert_eq!(tools.called.load(Ordering::Relaxed), 1, "what is done is not done again");
        assert_eq!(tools.kept.lock().len(), 2, "what it gave is there again");
    })
    .await;
}

#[tokio::test]
async fn cancelling_stops_tools_and_their_events() {
    on_each_store(async |db| {
        let (mut run, _) = begun(&db, vec![call("hang")]).await;
        let (id, cancelled) = (run.task.id, run.stops.cancelled.clone());
        let working = async { run.run(None).await.unwrap() };
        let cancelling = async {
            while kinds(&db, id).await.is_empty() {
                tokio::task::yield_now().await;
            }
            let mut tx = db.begin().await.unwrap();
            assert!(store::suspend(&mut tx, id, NOW_MS).await.unwrap());
            tx.commit().await.unwrap();
            cancelled.cancel();
        };
        tokio::join!(working, cancelling);
        assert_eq!(kinds(&db, id).await, ["tool_call"]);
        assert_eq!(store::progress(&db, id).await.unwrap(), Some((Status::Suspended, 1)));
    })
    .await;
}

#[tokio::test]
async fn steps_and_time_are_bounded_and_a_model_may_fail() {
    on_each_store(async |db| {
        let endless = vec![call("echo"); 100];
        let hanging = vec![call("hang")];
        for (script, timeout_ms, code) in [
            (endless, 60_000, "too_many_steps"),
            (hanging, 1, "task_timeout"),
            (vec![call("echo")], 60_000, "tool_failed"),
        ] {
            let (mut run, _) = begun(&db, script).await;
            run.bounds.timeout = Duration::from_millis(timeout_ms);
            run.run(None).await.unwrap();
            let task = store::find(&db, &run.task.task_id).await.unwrap().unwrap();
            assert_eq!((task.status, task.error.unwrap().0.as_str()), (Status::Failed, code));
            assert_eq!(kinds(&db, task.id).await.last(), Some(&"error"));
            let topic = topics::store::find(&db, &task.topic_id).await.unwrap().unwrap();
            assert_eq!(topic.message_count, 1, "an error is no message");
        }
    })
    .await;
}

#[tokio::test]
async fn a_takeover_has_the_time_that_is_left() {
    on_each_store(async |db| {
        let (mut run, _) = begun(&db, vec![call("hang")]).await;
        // It began a minute ago, on another server.
        run.clock = Clock::standing(NOW_MS + 60_000);
        run.run(None).await.unwrap();
        let task = store::find(&db, &run.task.task_id).await.unwrap().unwrap();
        assert_eq!(task.error.unwrap().0, "task_timeout");
    })
    .await;
}

#[tokio::test]
async fn the_bytes_of_a_topic_are_counted() {
    on_each_store(async |db| {
        let (mut run, _) = begun(&db, vec![call("echo"), answer("42")]).await;
        run.run(None).await.unwrap();
        let topic = topics::store::find(&db, &run.task.topic_id).await.unwrap().unwrap();
        const STORED: &str = "SELECT CAST((SELECT sum(octet_length(content) + octet_length(artifacts)) FROM messages) \
            + (SELECT sum(octet_length(data) + coalesce(octet_length(kept), 0)) FROM agent_events) AS BIGINT)";
        let stored: i64 = db.read(STORED, &[]).await.unwrap()[0].get(0).unwrap();
        assert_eq!(topic.bytes, stored);
    })
    .await;
}

#[tokio::test]
async fn an_interrupted_task_says_so() {
    on_each_store(async |db| {
        let (mut run, _) = begun(&db, Vec::new()).await;
        run.end_with(Failure::interrupted("ask again")).await.unwrap();
        let steps = store::steps(&db, run.task.id).await.unwrap().unwrap();
        let expected =
            Step::Error { code: "interrupted".to_owned(), message: "ask again".to_owned(), retryable: true };
        assert_eq!(steps, [expected]);
    })
    .await;
}
