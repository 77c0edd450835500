//! The worker: it starts queued questions, up to the configured number at once, and resumes those whose server has
//! ended.
//!
//! Each server holds one lease for all of its tasks. A running task stores the lease's name and epoch. If no server
//! holds the lease with this epoch any more, any server can claim the task. Writes about a task are conditional on
//! the epoch, so that a server that lost its lease cannot write.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use lakeport_base::Error;
use lakeport_base::failpoints;
use lakeport_store::jobs::{self, Jobs, Work};
use lakeport_store::{Event, Held, leases};
use parking_lot::Mutex;
use tokio::task::JoinError;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::access::{Asked, TopicAccess};
use super::knowledge::{glossary, verified};
use super::models;
use super::models::client::{FAILED, Remote};
use super::models::spent::{Limits, Spent, User};
use super::steps::background::{self, Asking, Background, Budget};
use super::steps::model::{Conversation, Model};
use super::steps::offline::Offline;
use super::steps::tools::PluginTools;
use super::steps::verified::Verified;
use super::steps::{Bounds, Failure, Run, Stops};
use super::tasks::event::Step;
use super::tasks::store::{self, Worker};
use super::tasks::{Status, Task, streams};
use super::topics::{self, Exchange};
use super::{TOPIC, asked_of_key};
use crate::agent::Agent;

/// The prefix of the leases `agent/0`, `agent/1` …, one for each server.
const LEASE: &str = "agent/";
/// The most servers on one store that can work.
const WORKERS_MAX: usize = 64;
/// The pause between two attempts to claim a lease.
const CLAIM_INTERVAL: Duration = Duration::from_secs(2);
/// The interval of looking for work that no event announced.
const POLL: Duration = Duration::from_secs(3);
/// The pause after a failure of the store.
const AGAIN: Duration = Duration::from_millis(500);
/// Tasks that are claimed in one transaction, which holds up the renewal of the lease.
const CLAIMED_AT_ONCE: usize = 32;
/// The most claims of one task: if its servers end this often, the task may be the cause.
const CLAIMS_MAX: i64 = 5;

/// Answers questions and wakes the readers of streams until the server stops.
pub async fn run_worker(state: Arc<Agent>) {
    tokio::join!(streams::follow(Arc::clone(&state)), work(state));
}

async fn work(state: Arc<Agent>) {
    let mut changed = state.changes.subscribe(TOPIC);
    while !state.stopping.is_cancelled() {
        match claim_lease(&state).await {
            Ok(Some(held)) => {
                let shift = |held| Shift::new(Arc::clone(&state), held);
                jobs::run_under(held, shift, &mut changed, &state.stopping).await;
            }
            Ok(None) => tracing::warn!("{WORKERS_MAX} servers answer questions already; this one waits"),
            Err(error) => tracing::warn!("claiming questions failed, trying again: {error}"),
        }
        state.stopping.run_until_cancelled(sleep(CLAIM_INTERVAL)).await;
    }
}

/// Claims the first lease that no other server holds.
async fn claim_lease(state: &Agent) -> Result<Option<Held>, Error> {
    for place in 0..WORKERS_MAX {
        if let Some(lease) = state.leases.claim(&format!("{LEASE}{place}"), leases::TTL).await? {
            return Ok(Some(lease.hold()));
        }
    }
    Ok(None)
}

/// The time during which this server holds its lease.
struct Shift {
    state: Arc<Agent>,
    held: Arc<Held>,
    worker: Worker,
    /// By the tasks' ids.
    jobs: Jobs<i64, Working, Result<(), Error>>,
    /// There may be tasks whose worker is gone.
    is_unsure: bool,
    next_poll: Instant,
    halted: CancellationToken,
}

/// A task that this server runs.
struct Working {
    task_id: String,
    stops: Stops,
    /// The same signal for code outside of the async runtime.
    flag: Arc<AtomicBool>,
}

impl Working {
    fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
        self.stops.cancelled.cancel();
    }
}

impl Shift {
    fn new(state: Arc<Agent>, held: Arc<Held>) -> Shift {
        let worker = Worker { name: held.name().to_owned(), epoch: held.epoch() };
        Shift {
            jobs: Jobs::new(state.config.agent.tasks_at_once),
            state,
            held,
            worker,
            is_unsure: true,
            next_poll: Instant::now() + POLL,
            halted: CancellationToken::new(),
        }
    }
}

impl Work for Shift {
    type Key = i64;
    type Job = Working;
    type Outcome = Result<(), Error>;

    fn jobs(&mut self) -> &mut Jobs<i64, Working, Result<(), Error>> {
        &mut self.jobs
    }

    /// Starts all tasks that can start now.
    async fn look(&mut self) -> Result<Duration, Error> {
        if self.next_poll <= Instant::now() {
            self.next_poll = Instant::now() + POLL;
            self.is_unsure = true;
            for (id, working) in self.jobs.iter() {
                self.check(*id, working).await;
            }
        }
        if self.is_unsure {
            self.take_over().await?;
            self.is_unsure = false;
        }
        while !self.jobs.is_full() {
            let room = self.jobs.room().min(CLAIMED_AT_ONCE);
            // A place is left for others.
            let of_one_owner = (self.state.config.agent.tasks_at_once - 1).max(1);
            let ids = store::next_waiting(&self.state.db, &self.worker.name, of_one_owner, room).await?;
            if ids.is_empty() {
                break;
            }
            self.claim(&ids.into_iter().map(|id| (id, None)).collect::<Vec<_>>()).await?;
        }
        Ok(self.next_poll.saturating_duration_since(Instant::now()))
    }

    fn failed(&mut self, error: &Error) -> Duration {
        tracing::warn!("looking for questions failed, trying again: {error}");
        self.is_unsure = true;
        AGAIN
    }

    /// Stops cancelled tasks. Ignores events of steps: they are for the readers of streams.
    async fn note(&mut self, event: Event) {
        let asked = match &event {
            Event::Changed(key) => match asked_of_key(key) {
                Some(task_id) => Some(task_id),
                None => return,
            },
            Event::Everything => None,
        };
        for (id, working) in self.jobs.iter() {
            if asked.is_none_or(|task_id| working.task_id == task_id) {
                self.check(*id, working).await;
            }
        }
    }

    fn done(&mut self, _: i64, _: Working, outcome: Result<Result<(), Error>, JoinError>) {
        match outcome {
            Ok(Ok(())) => return,
            Ok(Err(error)) => tracing::error!("the steps of a question cannot be stored: {error}"),
            // It restarts as a task without a worker, at most `CLAIMS_MAX` times.
            Err(error) => tracing::error!("a question ended without an outcome: {error}"),
        }
        // Not at once: what failed may fail again.
        self.next_poll = self.next_poll.min(Instant::now() + AGAIN);
    }

    /// Stops all work without storing another step: another server resumes from the stored steps.
    fn halt(&mut self) {
        self.halted.cancel();
        self.jobs.iter().for_each(|(_, working)| working.flag.store(true, Ordering::Relaxed));
    }
}

impl Shift {
    /// Stops the work on a task that is no longer running.
    async fn check(&self, id: i64, working: &Working) {
        match store::progress(&self.state.db, id).await {
            Ok(Some((Status::Running, _))) => {}
            Ok(_) => working.cancel(),
            // The next poll checks it again.
            Err(error) => tracing::warn!("reading a question failed: {error}"),
        }
    }

    /// Resumes running tasks without a worker.
    async fn take_over(&mut self) -> Result<(), Error> {
        let running = store::running(&self.state.db).await?;
        if running.iter().all(|(id, _)| self.jobs.contains(id)) {
            return Ok(());
        }
        let held = self.state.leases.held(LEASE).await?;
        let mut gone = Vec::new();
        for (id, worker) in running {
            let is_mine = worker == self.worker;
            let is_alive = held.iter().any(|(name, epoch)| *name == worker.name && *epoch == worker.epoch);
            if self.jobs.contains(&id) || (is_alive && !is_mine) {
                continue;
            }
            if gone.len() >= self.jobs.room() {
                break;
            }
            tracing::info!(task = id, "resuming a question whose server ended");
            gone.push((id, Some(worker)));
        }
        for some in gone.chunks(CLAIMED_AT_ONCE) {
            self.claim(some).await?;
        }
        Ok(())
    }

    /// Claims tasks for this server, from these workers, and starts them.
    async fn claim(&mut self, tasks: &[(i64, Option<Worker>)]) -> Result<(), Error> {
        let mut tx = self.state.db.begin().await?;
        tx.guard(&self.held).await?;
        let (mut claimed, now_ms) = (Vec::new(), self.state.clock.now_ms());
        for (id, from) in tasks {
            claimed.extend(store::claim(&mut tx, *id, from.as_ref(), &self.worker, now_ms).await?);
        }
        tx.commit().await?;
        failpoints::reach("agent.task_claimed");
        claimed.into_iter().for_each(|task| self.start(task));
        Ok(())
    }

    fn start(&mut self, task: Task) {
        let id = task.id;
        let stops = Stops { halted: self.halted.clone(), ..Stops::default() };
        let flag = Arc::new(AtomicBool::new(false));
        let task_id = task.task_id.clone();
        let (state, worker) = (Arc::clone(&self.state), self.worker.clone());
        let answering = answer(state, worker, task, stops.clone(), Arc::clone(&flag));
        self.jobs.spawn(id, Working { task_id, stops, flag }, answering);
    }
}

/// Runs a task from its last stored step.
async fn answer(
    state: Arc<Agent>,
    worker: Worker,
    task: Task,
    stops: Stops,
    flag: Arc<AtomicBool>,
) -> Result<(), Error> {
    let steps = if task.last_seq == 0 { Some(Vec::new()) } else { store::steps(&state.db, task.id).await? };
    let mut failure = interruption(&task, steps.is_some());
    let bytes = steps.iter().flatten().map(Step::bytes).sum();
    let mut conversation = Conversation::new(&task.content, steps.unwrap_or_default());
    let rights = task.rights();
    // A model gets them with its background.
    if task.model_id.is_none() {
        conversation.earlier = earlier(&state, &task).await;
        conversation.earlier.reverse();
    }
    let before = conversation.earlier.iter().map(|one| &one.question);
    let asked = before.chain([&task.content]).cloned().collect();
    conversation.terms = glossary::in_questions(&state.db, asked, rights.as_deref()).await?;
    conversation.tools = background::other_tools(&state.plugins.registry().tools());
    let conversation = Arc::new(conversation);
    let asked = Asked {
        task_id: task.task_id.clone(),
        caller_name: task.asked_by.clone(),
        datasources: rights.clone(),
        cancelled: Arc::clone(&flag),
    };
    let access = TopicAccess::new(Arc::clone(&state), asked);
    let tools = PluginTools {
        client: Arc::clone(&access),
        task_id: task.task_id.clone(),
        topic_id: task.topic_id.clone(),
        question: task.content.clone(),
        language: conversation.language,
        cancelled: flag,
        plugins: Mutex::default(),
        state: Arc::clone(&state),
    };
    let user = User { owner: task.owner.clone(), caller: task.asked_by.clone(), model: task.model.clone() };
    let (model, user) = match chosen(&state, &task, &user).await? {
        Ok(chosen) => chosen,
        Err(unusable) => {
            failure = failure.or(Some(unusable));
            (Arc::new(Offline) as Arc<dyn Model>, user)
        }
    };
    let known = verified::matching(&state.db, &task.content, rights.as_deref()).await?;
    let model: Arc<dyn Model> = match known.filter(|known| Verified::fits(&known.body, &conversation.steps)) {
        Some(entry) => Arc::new(Verified { entry, model }),
        None => model,
    };
    let background = background(&state, &access, &task, &conversation, model.budget());
    let agent = &state.config.agent;
    let mut run = Run {
        db: state.db.clone(),
        log: state.log(),
        clock: state.clock.clone(),
        task,
        worker,
        conversation,
        model,
        tools: Arc::new(tools),
        bounds: Bounds {
            steps_max: agent.steps_max,
            timeout: agent.task_timeout,
            models: Limits::from(agent),
        },
        stops,
        user,
        unstored: Vec::new(),
        unstored_use: Spent::default(),
        unlogged: access.unlogged(),
        bytes,
    };
    match failure {
        Some(failure) => run.end_with(failure).await,
        None => run.run(Some(background)).await,
    }
}

/// The task's model, and whose use of it this is; or why it cannot be used. An error is the store's.
async fn chosen(
    state: &Arc<Agent>,
    task: &Task,
    user: &User,
) -> Result<Result<(Arc<dyn Model>, User), Failure>, Error> {
    let Some(id) = task.model_id else { return Ok(Ok((Arc::new(Offline), user.clone()))) };
    let Some(record) = models::store::find(&state.db, id).await? else {
        let message = "the model was deleted after the question was asked; ask again";
        return Ok(Err(Failure::new("model_gone", message, true)));
    };
    let user = User { model: record.name.clone(), ..user.clone() };
    let name = record.name.clone();
    Ok(match Remote::open(state, record) {
        Ok(remote) => Ok((Arc::new(remote), user)),
        Err(error) => {
            let message = format!(
                "the key of the model `{name}` cannot be read: {error}; set it again, or let the rules answer: set the \
                 topic's `model` to `offline`"
            );
            Err(Failure::new(FAILED, message, false))
        }
    })
}

/// Collects what a model gets besides the question.
fn background(
    state: &Arc<Agent>,
    access: &Arc<TopicAccess>,
    task: &Task,
    conversation: &Arc<Conversation>,
    budget: Budget,
) -> BoxFuture<'static, Background> {
    let (state, access, task) = (Arc::clone(state), Arc::clone(access), task.clone());
    let (terms, language) = (conversation.terms.clone(), conversation.language);
    Box::pin(async move {
        let (db, question) = (&state.db, task.content.as_str());
        let rights = task.rights();
        let similar = verified::similar(db, question, rights.as_deref()).await;
        let asking = Asking {
            question,
            language,
            earlier: earlier(&state, &task).await,
            terms: &terms,
            similar: or_none(similar, "the verified questions"),
            now_ms: state.clock.now_ms(),
            budget,
        };
        background::gather(&state, &access, asking).await
    })
}

/// The exchanges of its topic before a task, the newest first.
async fn earlier(state: &Agent, task: &Task) -> Vec<Exchange> {
    let (rights, most) = (task.rights(), background::EARLIER_MAX);
    let read = topics::store::earlier(&state.db, task.topic, &task.task_id, rights.as_deref(), most).await;
    or_none(read, "the earlier messages of a topic")
}

fn or_none<T>(read: Result<Vec<T>, Error>, what: &str) -> Vec<T> {
    read.unwrap_or_else(|error| {
        tracing::warn!("{what} were not read: {error}");
        Vec::new()
    })
}

/// The reason why a task cannot resume, if there is one.
fn interruption(task: &Task, is_readable: bool) -> Option<Failure> {
    let message = if task.claims > CLAIMS_MAX {
        "the servers that worked on it ended again and again; ask again"
    } else if !is_readable {
        "its server ended, and this version cannot resume it; ask again"
    } else {
        return None;
    };
    Some(Failure::interrupted(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(claims: i64) -> Task {
        Task {
            id: 1,
            task_id: "t".to_owned(),
            topic: 1,
            topic_id: "p".to_owned(),
            owner: "local".to_owned(),
            topic_datasources: None,
            status: Status::Running,
            content: "q".to_owned(),
            asked_by: "local".to_owned(),
            datasources: None,
            provider: "offline".to_owned(),
            model: "offline".to_owned(),
            model_id: None,
            context: None,
            usage: Default::default(),
            error: None,
            last_seq: 0,
            claims,
            created_at_ms: 0,
            started_at_ms: None,
            finished_at_ms: None,
        }
    }

    #[test]
    fn repeated_server_deaths_fail_the_task() {
        assert!(interruption(&task(CLAIMS_MAX), true).is_none());
        assert_eq!(interruption(&task(CLAIMS_MAX + 1), true).unwrap().code, "interrupted");
        assert_eq!(interruption(&task(1), false).unwrap().code, "interrupted");
    }

    #[test]
    fn rights_intersect_topic_and_caller() {
        let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        for (topic, bound, rights) in [
            (None, None, None),
            (names(&["a"]), None, names(&["a"])),
            (None, names(&["a", "b"]), names(&["a", "b"])),
            (names(&["a", "c"]), names(&["a", "b"]), names(&["a"])),
            (names(&["c"]), names(&["a"]), names(&[])),
        ] {
            let task = Task { topic_datasources: topic, datasources: bound, ..task(1) };
            assert_eq!(task.rights(), rights);
        }
    }
}
