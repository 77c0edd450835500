//! What the kit must know of an instance: tasks that can run there, how time passes, what it may cost.

use std::pin::Pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lakeport_bindings::engine::model::Datasource;

/// Tasks that the instance can run, all of one type.
#[derive(Clone, Debug)]
pub struct Tasks {
    /// The task type: `SQL`.
    pub kind: String,
    /// The data source, if the type needs one. The engine knows it.
    pub datasource: Option<Datasource>,
    /// `settings` of each task, a JSON object.
    pub settings: String,
    /// The body of a task that succeeds at once.
    pub succeeds: String,
    /// The body of a task that fails at once.
    pub fails: String,
    /// The body of a task that runs until it is stopped, for many minutes.
    pub endless: String,
    /// The body of a task that succeeds after a few seconds. Without it, pausing is checked in part, and
    /// concurrency not at all.
    pub slow: Option<String>,
    /// A text that the log of the succeeding task has, if it is known.
    pub log_has: Option<String>,
    /// A task that prints values to its log, if there is one. Without it, parameters and dates are not checked.
    pub prints: Option<Prints>,
}

/// The body of a task that prints values: `SELECT '` before them and `'` after, in the place `literal`.
#[derive(Clone, Debug)]
pub struct Prints {
    /// The text before the values.
    pub before: String,
    /// The text after them.
    pub after: String,
    /// Where the values stand: `literal`, `bare` or `script`.
    pub place: String,
}

/// The most upstream requests of one call. The kit counts them if it is given a counter.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Of a step of a change: a call of `deploy`, `status`, `remove` or `schedules`.
    pub change: u64,
    /// Of `start`, `retry`, `cancel`, `pause`, `resume` and of the functions of `backfills`.
    pub run: u64,
    /// Of `find` with one query or two.
    pub find: u64,
    /// Of a call of `instances`, for however many workflows.
    pub instances: u64,
    /// Of `task-runs`, per run.
    pub task_runs: u64,
    /// Of `log`.
    pub log: u64,
    /// Of `test` and of the functions of `definitions`.
    pub other: u64,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { change: 15, run: 8, find: 8, instances: 10, task_runs: 3, log: 4, other: 15 }
    }
}

/// Waits.
pub type Wait = Box<dyn Fn(Duration) -> Pin<Box<dyn Future<Output = ()>>>>;

/// An instance, as the kit works with it.
pub struct Setting {
    /// Its tasks.
    pub tasks: Tasks,
    /// A part of all names and keys, so that one instance can be checked twice: 1 to 20 of `a-z0-9`.
    pub unique: String,
    /// Lakeport's id of the first workflow. The kit uses a hundred.
    pub first_id: u64,
    /// How to let time pass. Default: it sleeps.
    pub wait: Wait,
    /// Now, in milliseconds since 1970. Default: the clock of this machine.
    pub now_ms: Box<dyn Fn() -> i64>,
    /// The time between two polls, where the engine does not say it.
    pub poll: Duration,
    /// The longest time that a change, or a run of quick tasks, may take. Default: a minute. An engine whose
    /// timeouts are whole minutes needs more, for a task with a timeout of a second.
    pub patience: Duration,
    /// Whether to wait for a schedule to fire, which takes two minutes with a cron of minutes.
    pub fires: bool,
    /// The number of upstream requests so far. Default: they are not counted.
    pub requests: Option<Box<dyn Fn() -> u64>>,
    /// How many requests a call may send.
    pub bounds: Bounds,
}

impl Setting {
    /// A setting with the defaults.
    pub fn new(tasks: Tasks) -> Setting {
        Setting {
            tasks,
            unique: format!("{:x}", machine_now_ms()),
            first_id: 900_001,
            wait: Box::new(|time| Box::pin(tokio::time::sleep(time))),
            now_ms: Box::new(machine_now_ms),
            poll: Duration::from_millis(200),
            patience: Duration::from_secs(60),
            fires: true,
            requests: None,
            bounds: Bounds::default(),
        }
    }
}

fn machine_now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is past 1970");
    i64::try_from(since.as_millis()).expect("the clock is before the year 292,000,000")
}
