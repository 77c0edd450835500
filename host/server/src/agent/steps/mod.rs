//! The agent: a loop of model and tools that answers one question. A step counts once it is stored, so that a
//! worker that takes over a task continues after the last one, and a reader sees each exactly once.
//!
//! Steps without a wait between them are stored together: readers wait for each round trip to the store.

pub mod background;
pub mod model;
pub mod offline;
pub mod schema;
pub mod shorten;
#[cfg(test)]
mod tests;
pub mod tools;
pub mod verified;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, poll_immediate};
use lakeport_base::Clock;
use lakeport_base::Error;
use lakeport_base::failpoints;
use lakeport_base::text::shortened;
use lakeport_store::Db;
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use self::background::Background;
use self::model::{Conversation, Model, ModelError, Next, Said};
use self::tools::Tools;
use super::models::spent::{self, Limits, OfDay, Spent, User};
use super::outcome::Answer;
use super::tasks::Task;
use super::tasks::event::{Step, ToolResult};
use super::tasks::log::{EventLog, Record};
use super::tasks::store::{self, End, NewEvent, Progress, Worker};
use super::topics::{Message, Says};
use crate::queries::Unlogged;

/// The most artifacts of an answer, and their bytes.
const ARTIFACTS_MAX: usize = 30;
const ARTIFACTS_MAX_BYTES: usize = 4 * 1024 * 1024;
/// Characters of an answer, of a thought and of an error's message.
const ANSWER_MAX_CHARS: usize = 50_000;
const THOUGHT_MAX_CHARS: usize = 10_000;
const ERROR_MAX_CHARS: usize = 2_000;
/// Characters of a thought that its model gets back.
const REASONING_MAX_CHARS: usize = 50_000;
/// Bytes of a call's input.
const INPUT_MAX_BYTES: usize = 256 * 1024;
/// The pause between two attempts to store steps, and their number.
const STORE_AGAIN: Duration = Duration::from_millis(200);
const STORE_TRIES: u32 = 50;

/// The limits of a task.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Answers of the model.
    pub steps_max: usize,
    /// Since the task began, on whichever servers.
    pub timeout: Duration,
    pub models: Limits,
}

/// The signals that end a task early.
#[derive(Debug, Clone, Default)]
pub struct Stops {
    /// It was suspended or deleted: no step is written any more.
    pub cancelled: CancellationToken,
    /// This worker stops: the next one continues after the last stored step.
    pub halted: CancellationToken,
}

/// A task of this server's worker.
pub struct Run {
    pub db: Db,
    pub log: Arc<EventLog>,
    pub clock: Clock,
    pub task: Task,
    pub worker: Worker,
    pub conversation: Arc<Conversation>,
    pub model: Arc<dyn Model>,
    pub tools: Arc<dyn Tools>,
    pub bounds: Bounds,
    pub stops: Stops,
    /// Whose use of which model it is.
    pub user: User,
    /// The times of the conversation's unstored last steps.
    pub unstored: Vec<i64>,
    /// The model's use that is not stored.
    pub unstored_use: Spent,
    pub unlogged: Arc<Unlogged>,
    /// Bytes of the stored events, which are counted with the end.
    pub bytes: i64,
}

/// Why a run stops.
#[derive(Debug)]
pub enum Stop {
    /// It ended, or belongs to another worker.
    Over,
    Halted,
    /// The store refused its steps.
    Unwritten(Error),
    /// It must end with an error.
    Failed(Failure),
}

/// Why a task failed.
#[derive(Debug, Clone)]
pub struct Failure {
    pub code: String,
    pub message: String,
    pub retryable: bool,
}

impl Failure {
    pub fn new(code: &str, message: impl Into<String>, retryable: bool) -> Failure {
        Failure { code: code.to_owned(), message: message.into(), retryable }
    }

    /// Its worker was lost, and it cannot continue.
    pub fn interrupted(message: &str) -> Failure {
        Failure::new("interrupted", message, true)
    }
}

impl From<ModelError> for Stop {
    fn from(error: ModelError) -> Stop {
        Stop::Failed(Failure::new(error.code, error.message, error.retryable))
    }
}

impl Run {
    /// Works until the task has ended or is stopped. `background` collects what a model gets besides the question; it is
    /// run when that is needed. An error is the store's.
    pub async fn run(&mut self, background: Option<BoxFuture<'_, Background>>) -> Result<(), Error> {
        // A server that takes over gives no new time.
        let begun_ms = self.task.started_at_ms.unwrap_or_else(|| self.clock.now_ms());
        let passed = Duration::from_millis(u64::try_from(self.clock.now_ms() - begun_ms).unwrap_or(0));
        let deadline = Instant::now() + self.bounds.timeout.saturating_sub(passed);
        match self.work(deadline, background).await {
            Err(Stop::Failed(failure)) => self.end_with(failure).await,
            Err(Stop::Unwritten(error)) => Err(error),
            Ok(()) => Ok(()),
            Err(Stop::Over | Stop::Halted) => {
                self.store_use().await;
                Ok(())
            }
        }
    }

    /// A call that was broken off has its cost, too, though no step says so.
    async fn store_use(&mut self) {
        if self.unstored_use == Spent::default() {
            return;
        }
        let stored = async {
            let mut tx = self.db.begin().await?;
            store::add_use(&mut tx, self.task.id, &self.unstored_use).await?;
            spent::add(&mut tx, &self.user, &self.unstored_use, self.clock.now_ms()).await?;
            tx.commit().await
        };
        match stored.await {
            Ok(()) => self.unstored_use = Spent::default(),
            Err(error) => tracing::warn!("the cost of a cancelled call is not stored: {error}"),
        }
    }

    /// Ends the task with an error. An error here is the store's.
    pub async fn end_with(&mut self, failure: Failure) -> Result<(), Error> {
        match self.fail(failure).await {
            Err(Stop::Unwritten(error)) => Err(error),
            _ => Ok(()),
        }
    }

    async fn work(
        &mut self,
        deadline: Instant,
        mut background: Option<BoxFuture<'_, Background>>,
    ) -> Result<(), Stop> {
        for result in self.conversation.results().filter(|result| result.outcome.is_ok()) {
            self.tools.keep(result);
        }
        if let Some((call_id, tool, input)) = self.conversation.open_call() {
            let (call_id, tool, input) = (call_id.to_owned(), tool.to_owned(), input.clone());
            self.call(call_id, tool, input, deadline).await?;
        }
        for _ in self.task.usage.model_calls..self.bounds.steps_max as i64 {
            if self.model.needs_background(&self.conversation) {
                self.refuse_costly().await?;
                if let Some(background) = background.take() {
                    let background = self.within(deadline, background).await?;
                    self.task.context = Some(background.size);
                    Arc::make_mut(&mut self.conversation).background = Arc::new(background);
                }
            }
            let said = self.ask(deadline).await?;
            self.task.usage.model_calls += 1;
            self.count(said.spent);
            if let Some(thought) = said.thought {
                let content = shortened(&thought, THOUGHT_MAX_CHARS);
                // PostgreSQL refuses texts with this character.
                let reasoning =
                    said.reasoning.map(|text| shortened(&text.replace('\0', ""), REASONING_MAX_CHARS));
                self.push(Step::Thinking { content, reasoning });
            }
            match said.next {
                Next::Call { tool, input } => self.begin_call(tool, input, deadline).await?,
                Next::Calls(calls) => {
                    for (tool, input) in calls {
                        self.begin_call(tool, input, deadline).await?;
                    }
                }
                Next::Answer(answer) => return self.answer(answer).await,
            }
        }
        let message = format!(
            "the model had no answer after {} steps (the setting agent.steps_max); ask for less at once",
            self.bounds.steps_max
        );
        Err(Stop::Failed(Failure::new("too_many_steps", message, false)))
    }

    /// Fails the task when its model has used what it may.
    async fn refuse_costly(&self) -> Result<(), Stop> {
        let limits = &self.bounds.models;
        let mut day = OfDay::default();
        if limits.has_of_day() {
            let of_day = spent::of_day(&self.db, &self.user.owner, self.clock.now_ms()).await;
            day = of_day.map_err(Stop::Unwritten)?;
            day.own.add(self.unstored_use);
            day.all_tokens = day.all_tokens.saturating_add(self.unstored_use.tokens());
        }
        let usage = &self.task.usage;
        let Some(reached) = limits.reached(usage.input_tokens.saturating_add(usage.output_tokens), &day)
        else {
            return Ok(());
        };
        let message = format!("{reached}; or let the rules answer: set the topic's `model` to `offline`");
        Err(Stop::Failed(Failure::new("token_limit", message, false)))
    }

    fn count(&mut self, spent: Spent) {
        let usage = &mut self.task.usage;
        usage.input_tokens = usage.input_tokens.saturating_add(spent.input_tokens);
        usage.output_tokens = usage.output_tokens.saturating_add(spent.output_tokens);
        usage.cost_micros = usage.cost_micros.saturating_add(spent.cost_micros);
        self.unstored_use.add(spent);
    }

    /// The model's next step. Stores pending steps first if the model takes long.
    async fn ask(&mut self, deadline: Instant) -> Result<Said, Stop> {
        let (model, conversation) = (Arc::clone(&self.model), Arc::clone(&self.conversation));
        let mut saying = pin!(model.next(&conversation));
        let said = match poll_immediate(saying.as_mut()).await {
            Some(said) => said,
            None => {
                self.store(None).await?;
                let is_costly = self.model.needs_background(&self.conversation);
                match self.within(deadline, saying).await {
                    Ok(said) => said,
                    Err(stop) => {
                        if is_costly {
                            self.count(model.cost_of_broken_off(&conversation));
                        }
                        return Err(match stop {
                            Stop::Failed(failure) if is_costly => Stop::Failed(Failure {
                                message: format!(
                                    "{}; the model {} was not ready; or let the rules answer: set the topic's \
                                     `model` to `offline`",
                                    failure.message, self.user.model
                                ),
                                ..failure
                            }),
                            stop => stop,
                        });
                    }
                }
            }
        };
        said.map_err(|error| {
            self.count(error.spent);
            error.into()
        })
    }

    async fn begin_call(&mut self, tool: String, input: Value, deadline: Instant) -> Result<(), Stop> {
        let call_id = Uuid::now_v7().to_string();
        let tool = shortened(&tool, THOUGHT_MAX_CHARS);
        let (input, _) = shorten::within(input, INPUT_MAX_BYTES);
        self.task.usage.tool_calls += 1;
        let step = Step::ToolCall { call_id: call_id.clone(), tool: tool.clone(), input: input.clone() };
        self.push(step);
        self.store(None).await?;
        self.call(call_id, tool, input, deadline).await
    }

    /// Calls a tool whose call is stored.
    async fn call(
        &mut self,
        call_id: String,
        tool: String,
        input: Value,
        deadline: Instant,
    ) -> Result<(), Stop> {
        let (tools, begun) = (Arc::clone(&self.tools), Instant::now());
        let called = self.within(deadline, tools.call(&call_id, &tool, &input)).await?;
        let duration_ms = i64::try_from(begun.elapsed().as_millis()).unwrap_or(i64::MAX);
        let (outcome, truncated, artifacts) = (called.outcome, called.truncated, called.artifacts);
        let result = ToolResult { call_id, tool, outcome, duration_ms, truncated, artifacts };
        if result.outcome.is_ok() {
            tools.keep(&result);
        }
        failpoints::reach("agent.tool_done");
        self.push(Step::ToolResult(result));
        Ok(())
    }

    /// The outcome of `work`, unless the task is stopped before; then the work is dropped.
    async fn within<T>(&self, deadline: Instant, work: impl Future<Output = T>) -> Result<T, Stop> {
        tokio::select! {
            biased;
            () = self.stops.halted.cancelled() => Err(Stop::Halted),
            () = self.stops.cancelled.cancelled() => Err(Stop::Over),
            outcome = timeout_at(deadline, work) => outcome.map_err(|_| {
                let message = format!(
                    "the question was not answered within {} s (the setting agent.task_timeout_s); ask for less",
                    self.bounds.timeout.as_secs()
                );
                Stop::Failed(Failure::new("task_timeout", message, true))
            }),
        }
    }

    fn push(&mut self, step: Step) {
        Arc::make_mut(&mut self.conversation).steps.push(step);
        self.unstored.push(self.clock.now_ms());
    }

    /// Ends the task with an answer.
    async fn answer(&mut self, answer: Answer) -> Result<(), Stop> {
        // PostgreSQL refuses texts with this character.
        let content = shortened(&answer.content.replace('\0', ""), ANSWER_MAX_CHARS);
        let outcome = answer.outcome.bounded(&content);
        let (message_id, artifacts) = (Uuid::now_v7().to_string(), self.artifacts());
        let message = Message {
            message_id: message_id.clone(),
            task_id: self.task.task_id.clone(),
            says: Says::Assistant,
            content: content.clone(),
            artifacts: Value::from(artifacts.clone()).to_string(),
            outcome: Some(outcome.clone()),
            feedback: None,
            created_at_ms: self.clock.now_ms(),
        };
        self.push(Step::Message { message_id, content, artifacts, outcome });
        self.store(Some((End::Success, Some(message)))).await
    }

    /// The calls' artifacts, within limits.
    fn artifacts(&self) -> Vec<Value> {
        let mut left = ARTIFACTS_MAX_BYTES;
        let all = self.conversation.results().flat_map(|result| &result.artifacts);
        let within = all.filter(|artifact| {
            let bytes = artifact.to_string().len();
            let fits = bytes <= left;
            left -= if fits { bytes } else { 0 };
            fits
        });
        within.take(ARTIFACTS_MAX).cloned().collect()
    }

    async fn fail(&mut self, failure: Failure) -> Result<(), Stop> {
        let Failure { code, message, retryable } = failure;
        let message = shortened(&message.replace('\0', ""), ERROR_MAX_CHARS);
        self.push(Step::Error { code: code.clone(), message: message.clone(), retryable });
        self.store(Some((End::Failed { code, message }, None))).await
    }

    /// Stores pending steps and the end. Retries a busy store.
    async fn store(&mut self, end: Option<(End, Option<Message>)>) -> Result<(), Stop> {
        if self.unstored.is_empty() && end.is_none() {
            return Ok(());
        }
        let (end, message) = end.unzip();
        let (steps, task) = (&self.conversation.steps, &self.task);
        let pending = steps[steps.len() - self.unstored.len()..].iter().zip(&self.unstored);
        let numbered = (task.last_seq + 1..).zip(pending);
        let event =
            |(seq, (step, at_ms)): (i64, (&Step, &i64))| NewEvent::of(step, seq, &task.task_id, *at_ms);
        let record = Arc::new(Record {
            task_id: task.task_id.clone(),
            topic: task.topic,
            progress: Progress {
                id: task.id,
                worker: self.worker.clone(),
                last_seq: task.last_seq,
                events: numbered.map(event).collect(),
                usage: task.usage,
                context: task.context,
                end,
            },
            message: message.flatten(),
            bytes_before: self.bytes,
            spent: self.unstored_use,
            user: self.user.clone(),
            queries: self.unlogged.queries(),
        });
        let mut tries = 0;
        let written = loop {
            match self.log.write(Arc::clone(&record)).await {
                Ok(written) => break written,
                Err(error) if tries == STORE_TRIES => return Err(Stop::Unwritten(error)),
                Err(error) => tracing::warn!("the steps of a question are not stored yet: {error}"),
            }
            tries += 1;
            if self.stops.halted.run_until_cancelled(sleep(STORE_AGAIN)).await.is_none() {
                return Err(Stop::Halted);
            }
        };
        let Some(bytes) = written else { return Err(Stop::Over) };
        failpoints::reach("agent.event_stored");
        self.task.last_seq += self.unstored.len() as i64;
        self.unstored.clear();
        self.unstored_use = Spent::default();
        self.unlogged.forget(record.queries.len());
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(())
    }
}
