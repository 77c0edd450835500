//! The embedded scheduler at work: in this process, on a store and a SQLite data source of its own.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lakeport::compose;
use lakeport::config::{Config, Environment, Overrides};
use lakeport::part::Start;
use lakeport::scheduler::TOPICS;
use lakeport_bindings::engine::model::{
    BodyPart, Datasource, Edge, Instance, InstanceRef, LogRequest, Param, RetryRequest, RunQuery, RunRequest,
    Schedule, Task, TaskRun, TaskRunRequest, WatchRequest, Watched, Workflow, WorkflowRef,
};
use lakeport_physical::WorkerProcesses;
use lakeport_plugins::Compiler;
use lakeport_plugins::EmbeddedScheduler;
use lakeport_store::{Changes, Subscription};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};
use tempfile::TempDir;
use tokio_util::task::TaskTracker;

/// Far longer than anything here takes.
const SOON: Duration = Duration::from_secs(30);
/// Reads for longer than any test waits.
const ENDLESS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";

struct Server {
    app: Arc<compose::Server>,
    workers: TaskTracker,
}

impl Server {
    async fn start(folder: &Path, tasks_at_once: usize) -> Server {
        let settings = vec![
            ("data_dir", folder.join("data").display().to_string()),
            ("sqlite_roots", folder.display().to_string()),
            ("runner_tasks_at_once", tasks_at_once.to_string()),
        ];
        let file = folder.join("lakeport.toml");
        std::fs::write(&file, "time_zone = 'UTC'\n").unwrap();
        let overrides = Overrides { config_file: Some(file), settings };
        let config = Config::load(&overrides, &Environment::default()).unwrap();
        let app = Arc::new(
            compose::Server::start(config, Compiler::Inside, WorkerProcesses::inside()).await.unwrap(),
        );
        const ADD: &str = "INSERT INTO datasources (id, name, kind, url, created_at, updated_at) \
            VALUES (50, 'shop', 'sqlite', 'sqlite:shop.db', 0, 0), (51, 'far', 'doris', 'mysql://h/d', 0, 0), \
            (52, 'gone', 'sqlite', 'sqlite:gone.db', 0, 0) ON CONFLICT DO NOTHING";
        app.db.execute(ADD, &[]).await.unwrap();
        shop(folder).await.close().await.unwrap();
        let workers = TaskTracker::new();
        app.start_workers(&workers, Start::AtOnce);
        app.start_workers(&workers, Start::AfterSetUp);
        Server { app, workers }
    }

    /// Stops it in the middle of its work.
    async fn stop(self) {
        self.app.stopping.cancel();
        self.app.changes.stop().await;
        self.workers.close();
        self.workers.wait().await;
        self.app.close().await;
    }

    fn changes(&self) -> &Changes {
        &self.app.changes
    }

    async fn put(&self, tasks: Vec<Task>, edges: &[(u64, u64)]) {
        self.put_as("parallel", tasks, edges).await;
    }

    async fn put_as(&self, concurrency: &str, tasks: Vec<Task>, edges: &[(u64, u64)]) {
        let edges = edges.iter().map(|&(before, after)| Edge { before, after }).collect();
        let params =
            vec![Param { name: "who".to_owned(), kind: "text".to_owned(), value: "O'Neil".to_owned() }];
        let workflow = Workflow {
            id: 7,
            name: "flow".to_owned(),
            description: String::new(),
            revision: "r1".to_owned(),
            version: 1,
            tasks,
            edges,
            params,
            schedule: None,
            concurrency: concurrency.to_owned(),
            extra: None,
        };
        self.app.modules.local_scheduler.put(workflow).await.unwrap();
    }

    async fn begin(&self, key: &str, strategy: &str) -> String {
        let request = RunRequest { failure_strategy: strategy.to_owned(), ..request(key) };
        self.app.modules.local_scheduler.start(request).await.unwrap().instance.unwrap()
    }

    /// With a value of the parameter `run`.
    async fn begin_with(&self, key: &str, value: &str) -> String {
        let params = vec![Param { name: "run".to_owned(), kind: "text".to_owned(), value: value.to_owned() }];
        let request = RunRequest { params, ..request(key) };
        self.app.modules.local_scheduler.start(request).await.unwrap().instance.unwrap()
    }

    async fn run(&self, key: &str, strategy: &str) -> Instance {
        self.begin(key, strategy).await;
        self.until(key, is_final).await
    }

    async fn instance(&self, key: &str) -> Instance {
        let query = RunQuery { workflow: reference(), key: key.to_owned(), trigger: None, asked: 0 };
        self.app.modules.local_scheduler.find(vec![query]).await.unwrap().remove(0).expect("it was started")
    }

    /// Waits until the run is as expected.
    async fn until(&self, key: &str, is_wanted: fn(&Instance) -> bool) -> Instance {
        let mut changed = self.changes().subscribe_all(&TOPICS);
        loop {
            let instance = self.instance(key).await;
            if is_wanted(&instance) {
                return instance;
            }
            wait(&mut changed).await;
        }
    }

    async fn tries(&self, run: &str) -> Vec<TaskRun> {
        let request = TaskRunRequest { instances: vec![instance_ref(run)], cursor: None, limit: 1_000 };
        self.app.modules.local_scheduler.task_runs(request).await.unwrap().task_runs
    }

    /// Waits until so many tasks have started.
    async fn until_begun(&self, run: &str, count: usize) {
        let mut changed = self.changes().subscribe_all(&TOPICS);
        while self.tries(run).await.iter().filter(|one| one.started.is_some()).count() < count {
            wait(&mut changed).await;
        }
    }

    async fn log(&self, of: &TaskRun) -> String {
        let request = LogRequest {
            instance: instance_ref(&of.instance),
            task_run: of.id.clone(),
            cursor: None,
            max_bytes: 1024 * 1024,
            ended: true,
        };
        let page = self.app.modules.local_scheduler.log(request).await.unwrap();
        assert!(page.complete);
        page.text
    }
}

async fn wait(changed: &mut Subscription) {
    tokio::time::timeout(SOON, changed.next()).await.expect("it comes to something");
}

fn request(key: &str) -> RunRequest {
    RunRequest {
        workflow: reference(),
        key: key.to_owned(),
        cause: "manual".to_owned(),
        // 2026-03-01 00:00:00
        business_time: Some(1_772_323_200_000),
        params: Vec::new(),
        failure_strategy: "CONTINUE".to_owned(),
        start_at: None,
        reach: "all".to_owned(),
        extra: None,
    }
}

fn is_final(instance: &Instance) -> bool {
    matches!(instance.state.as_str(), "success" | "failed" | "stopped")
}

fn reference() -> WorkflowRef {
    WorkflowRef { id: 7, name: "flow".to_owned(), code: None, project: None, revision: None, state: None }
}

fn instance_ref(id: &str) -> InstanceRef {
    InstanceRef { workflow: reference(), id: id.to_owned() }
}

fn task(id: u64, name: &str, body: &str) -> Task {
    Task {
        id,
        name: name.to_owned(),
        kind: "SQL".to_owned(),
        body: vec![BodyPart::Text(body.to_owned())],
        datasource: Some(Datasource { id: 50, name: "shop".to_owned(), kind: "sqlite".to_owned() }),
        priority: "MEDIUM".to_owned(),
        timeout_s: 0,
        retries: 0,
        retry_interval_s: 0,
        settings: "{}".to_owned(),
    }
}

/// The data source, with a table that records the work.
async fn shop(folder: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(folder.join("shop.db")).create_if_missing(true);
    let mut shop = options.connect().await.unwrap();
    sqlx::raw_sql("CREATE TABLE IF NOT EXISTS done (what)").execute(&mut shop).await.unwrap();
    shop
}

async fn done(folder: &Path) -> Vec<String> {
    let mut shop = shop(folder).await;
    sqlx::query_scalar("SELECT what FROM done ORDER BY rowid").fetch_all(&mut shop).await.unwrap()
}

fn say(what: &str) -> String {
    format!("INSERT INTO done VALUES ('{what}')")
}

fn brief(tries: &[TaskRun]) -> Vec<(&str, u32, &str)> {
    let mut brief: Vec<_> =
        tries.iter().map(|one| (one.task_name.as_str(), one.attempt, one.state.as_str())).collect();
    brief.sort_unstable();
    brief
}

async fn started(tasks_at_once: usize) -> (TempDir, Server) {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), tasks_at_once).await;
    (folder, server)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_run_in_order_with_logs() {
    let (folder, server) = started(8).await;
    let first =
        "CREATE TABLE t (a, b); INSERT INTO t VALUES (${who}, ${system.biz.date}), ('$[yyyy-MM-dd-1]', 2)";
    let second = "SELECT a, b FROM t ORDER BY b DESC; INSERT INTO done SELECT a FROM t";
    server.put(vec![task(1, "second", second), task(2, "first", first)], &[(2, 1)]).await;
    let begun = Instant::now();
    let run = server.run("k", "CONTINUE").await;
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!((run.state.as_str(), run.message, run.attempt), ("success", None, 1));
    assert_eq!(done(folder.path()).await, ["O'Neil", "2026-02-28"]);
    let tries = server.tries(&run.id).await;
    assert_eq!(brief(&tries), [("first", 1, "success"), ("second", 1, "success")]);
    assert_eq!(tries.iter().map(|one| one.rows_affected).collect::<Vec<_>>(), [Some(2), Some(2)]);
    let log = server.log(&tries[1]).await;
    for line in [
        "statement 1: SELECT, 2 rows",
        "| a | b",
        "| O'Neil | 20260228",
        "statement 2: INSERT, 2 rows changed",
    ] {
        assert!(log.contains(line), "{log}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_rolls_back_and_stops_dependants() {
    let (folder, server) = started(1).await;
    let broken = format!("{}; INSERT INTO nowhere VALUES (1)", say("undone"));
    let mut tasks =
        vec![task(1, "broken", &broken), task(2, "behind", &say("behind")), task(3, "other", &say("other"))];
    tasks[0].priority = "HIGHEST".to_owned();
    server.put(tasks, &[(1, 2)]).await;
    let run = server.run("continue", "CONTINUE").await;
    assert_eq!(run.state, "failed");
    let message = run.message.unwrap();
    assert!(message.contains("broken") && message.contains("statement 2 (INSERT)"), "{message}");
    assert_eq!(brief(&server.tries(&run.id).await), [("broken", 1, "failed"), ("other", 1, "success")]);
    let run = server.run("end", "END").await;
    assert_eq!(brief(&server.tries(&run.id).await), [("broken", 1, "failed")]);
    assert_eq!(done(folder.path()).await, ["other"]);
    // The failed task, and those after it, run again in a new run; the failed run stays unchanged.
    let mut shop = shop(folder.path()).await;
    sqlx::raw_sql("CREATE TABLE nowhere (a)").execute(&mut shop).await.unwrap();
    let continued = server.instance("continue").await;
    let retry = RetryRequest {
        instance: instance_ref(&continued.id),
        scope: "failed".to_owned(),
        key: "again".to_owned(),
    };
    server.app.modules.local_scheduler.retry(retry).await.unwrap();
    let run = server.until("again", is_final).await;
    assert_eq!((run.state.as_str(), run.attempt, run.cause.as_str()), ("success", 1, "manual"));
    assert_eq!(run.business_time, continued.business_time);
    let tries = server.tries(&run.id).await;
    assert_eq!(brief(&tries), [("behind", 1, "success"), ("broken", 1, "success")]);
    assert!(server.log(&tries[0]).await.contains("does again what the run"));
    assert_eq!(server.instance("continue").await.state, "failed");
    assert_eq!(brief(&server.tries(&continued.id).await), [("broken", 1, "failed"), ("other", 1, "success")]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retries_are_limited_and_timeouts_stop_tasks() {
    let (_folder, server) = started(8).await;
    let mut tasks = vec![task(1, "broken", "SELECT * FROM nowhere"), task(2, "slow", ENDLESS)];
    (tasks[0].retries, tasks[0].retry_interval_s) = (2, 1);
    tasks[1].timeout_s = 1;
    server.put(tasks, &[]).await;
    let begun = Instant::now();
    let run = server.run("k", "CONTINUE").await;
    assert!(begun.elapsed() >= Duration::from_secs(2), "it waits between two tries");
    let tries = server.tries(&run.id).await;
    let expected =
        [("broken", 1, "failed"), ("broken", 2, "failed"), ("broken", 3, "failed"), ("slow", 1, "failed")];
    assert_eq!(brief(&tries), expected);
    let slow = tries.iter().find(|one| one.task_name == "slow").unwrap();
    assert!(slow.message.as_ref().unwrap().contains("timeout of 1 s"), "{slow:?}");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_stopped_within_a_second() {
    let (folder, server) = started(8).await;
    let writes = format!("{}; {ENDLESS}", say("undone"));
    server
        .put(
            vec![task(1, "reads", ENDLESS), task(2, "writes", &writes), task(3, "behind", "SELECT 1")],
            &[(1, 3)],
        )
        .await;
    let id = server.begin("k", "CONTINUE").await;
    server.until_begun(&id, 2).await;
    let asked = Instant::now();
    server.app.modules.local_scheduler.cancel(instance_ref(&id)).await.unwrap();
    let run = server.until("k", is_final).await;
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
    assert_eq!(run.state, "stopped");
    assert_eq!(brief(&server.tries(&id).await), [("reads", 1, "stopped"), ("writes", 1, "stopped")]);
    assert_eq!(done(folder.path()).await, [""; 0]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_far_back_is_stopped() {
    /// More than are processed at the same time.
    const RUNS: usize = 1_002;
    let (_folder, server) = started(1).await;
    server.put(vec![task(1, "reads", ENDLESS)], &[]).await;
    let first = server.begin("first", "CONTINUE").await;
    server.until_begun(&first, 1).await;
    for number in 0..RUNS {
        server.begin(&format!("k{number}"), "CONTINUE").await;
    }
    let last = server.begin("last", "CONTINUE").await;
    assert_eq!(brief(&server.tries(&last).await), [("reads", 1, "queued")]);
    let asked = Instant::now();
    server.app.modules.local_scheduler.cancel(instance_ref(&last)).await.unwrap();
    assert_eq!(server.until("last", is_final).await.state, "stopped");
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
    assert_eq!(brief(&server.tries(&last).await), [], "it never began");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_start_by_priority() {
    let (folder, server) = started(1).await;
    let names = ["LOWEST", "LOW", "MEDIUM", "HIGH", "HIGHEST"];
    let tasks = names
        .iter()
        .enumerate()
        .map(|(at, name)| Task { priority: (*name).to_owned(), ..task(at as u64 + 1, name, &say(name)) });
    server.put(tasks.collect(), &[]).await;
    assert_eq!(server.run("k", "CONTINUE").await.state, "success");
    assert_eq!(done(folder.path()).await, ["HIGHEST", "HIGH", "MEDIUM", "LOW", "LOWEST"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_unfinished_tasks_run_again_after_crash() {
    let (folder, server) = started(8).await;
    // Endless as long as little was done.
    let slow = format!(
        "{}; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n \
         WHERE (SELECT count(*) FROM done) < 4) SELECT max(i) FROM n",
        say("begun")
    );
    let tasks =
        vec![task(1, "done", &say("done")), task(2, "slow", &slow), task(3, "behind", &say("behind"))];
    server.put(tasks, &[(1, 2), (2, 3)]).await;
    let id = server.begin("k", "END").await;
    server.until_begun(&id, 2).await;
    server.stop().await;
    sqlx::raw_sql("INSERT INTO done VALUES ('meanwhile'), ('meanwhile')")
        .execute(&mut shop(folder.path()).await)
        .await
        .unwrap();
    let server = Server::start(folder.path(), 8).await;
    let run = server.until("k", is_final).await;
    assert_eq!((run.state.as_str(), run.message), ("success", None));
    let tries = server.tries(&id).await;
    let expected =
        [("behind", 1, "success"), ("done", 1, "success"), ("slow", 1, "failed"), ("slow", 2, "success")];
    assert_eq!(brief(&tries), expected);
    let again = tries.iter().find(|one| (one.task_name.as_str(), one.attempt) == ("slow", 2)).unwrap();
    assert!(server.log(again).await.contains("begun again: the server ended while it ran"));
    assert_eq!(done(folder.path()).await, ["done", "meanwhile", "meanwhile", "begun", "behind"]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_runs_come_to_their_end() {
    let (_folder, server) = started(8).await;
    server.put(vec![task(1, "a", "SELECT 1"), task(2, "b", "SELECT 2")], &[(1, 2)]).await;
    let begun = Instant::now();
    for number in 0..100 {
        server.begin(&format!("k{number}"), "END").await;
    }
    for number in 0..100 {
        assert_eq!(server.until(&format!("k{number}"), is_final).await.state, "success");
    }
    println!("100 runs of two tasks took {:?}", begun.elapsed());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_task_may_do_fails_with_its_reason() {
    let (folder, server) = started(8).await;
    let on = |id: u64, name: &str, body: &str, source: u64| {
        let datasource = Some(Datasource { id: source, name: String::new(), kind: String::new() });
        Task { datasource, ..task(id, name, body) }
    };
    let out = folder.path().join("data/lakeport.db").display().to_string();
    let tasks = vec![
        on(1, "attach", &format!("{}; ATTACH '{out}' AS own", say("undone")), 50),
        on(2, "own", "SELECT 1", 1),
        on(3, "far", "SELECT 1", 51),
        on(4, "gone", "SELECT 1", 52),
        on(5, "unknown", "SELECT 1", 99),
        on(6, "parameter", "SELECT ${nothing}", 50),
        Task { kind: "SHELL".to_owned(), ..task(7, "shell", "ls") },
        Task { kind: "PYTHON".to_owned(), ..task(9, "python", "ls") },
        Task { datasource: None, ..task(8, "none", "SELECT 1") },
    ];
    server.put(tasks, &[]).await;
    let run = server.run("k", "CONTINUE").await;
    let tries = server.tries(&run.id).await;
    let message = |name: &str| {
        tries.iter().find(|one| one.task_name == name).and_then(|one| one.message.clone()).unwrap_or_default()
    };
    for (name, part) in [
        ("attach", "ATTACH is no statement that a task may run"),
        ("own", "the server's own store"),
        ("far", "PostgreSQL, MySQL and MariaDB; `far` is one of kind doris"),
        ("gone", "`gone` cannot be opened: no file"),
        ("unknown", "99 is not there any more"),
        ("parameter", "${nothing} is not known"),
        ("shell", "SHELL tasks are off here"),
        ("python", "type PYTHON do not run here"),
        ("none", "names no data source"),
    ] {
        assert!(message(name).contains(part), "{name}: {}", message(name));
    }
    assert_eq!(done(folder.path()).await, [""; 0]);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schedule_of_every_second_begins_a_run_every_second() {
    let (_folder, server) = started(8).await;
    server.put(vec![task(1, "a", "SELECT 1")], &[]).await;
    let schedule = Schedule {
        cron: "0/1 * * * * ? *".to_owned(),
        time_zone: "Asia/Shanghai".to_owned(),
        start: 0,
        end: None,
        failure_strategy: "CONTINUE".to_owned(),
        warning_type: "NONE".to_owned(),
        extra: None,
    };
    server.app.modules.local_scheduler.set_schedule(7, Some(schedule)).await.unwrap();
    server.app.modules.local_scheduler.set_online(7, true).await.unwrap();
    let mut changed = server.changes().subscribe_all(&TOPICS);
    let runs = loop {
        let request = WatchRequest {
            workflows: vec![Watched { id: 7, code: None, project: None }],
            open: Vec::new(),
            cursor: None,
            since: 0,
            limit: 100,
        };
        let mut runs = server.app.modules.local_scheduler.instances(request).await.unwrap().instances;
        runs.retain(is_final);
        if runs.len() >= 4 {
            break runs;
        }
        wait(&mut changed).await;
    };
    server.app.modules.local_scheduler.set_online(7, false).await.unwrap();
    let mut times: Vec<(i64, i64)> =
        runs.iter().map(|run| (run.business_time.unwrap(), run.started.unwrap())).collect();
    times.sort_unstable();
    assert!(times.windows(2).all(|two| two[1].0 - two[0].0 == 1_000), "{times:?}");
    assert!(times.iter().all(|(due, begun)| (0..=200).contains(&(begun - due))), "{times:?}");
    assert!(runs.iter().all(|run| run.cause == "schedule" && run.state == "success"));
    server.stop().await;
}

/// A task that runs until it is stopped, and notes nothing.
fn endless(id: u64, name: &str) -> Task {
    task(id, name, ENDLESS)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_part_of_a_workflow_runs_alone() {
    let (folder, server) = started(8).await;
    let tasks = ["a", "b", "c", "d"].iter().zip(1..).map(|(name, id)| task(id, name, &say(name)));
    server.put(tasks.collect(), &[(1, 2), (2, 3), (1, 4)]).await;
    let scheduler = &server.app.modules.local_scheduler;
    let part = async |key: &str, start_at, reach: &str| {
        let request = RunRequest { start_at, reach: reach.to_owned(), ..request(key) };
        scheduler.start(request).await
    };
    part("from", Some(2), "from").await.unwrap();
    let from = server.until("from", is_final).await;
    assert_eq!(
        (from.state.as_str(), done(folder.path()).await),
        ("success", vec!["b".to_owned(), "c".to_owned()])
    );
    assert_eq!(brief(&server.tries(&from.id).await), [("b", 1, "success"), ("c", 1, "success")]);
    part("only", Some(1), "only").await.unwrap();
    let only = server.until("only", is_final).await;
    assert_eq!(done(folder.path()).await, ["b", "c", "a"]);
    // All of it again is that part again.
    let again =
        RetryRequest { instance: instance_ref(&only.id), scope: "all".to_owned(), key: "again".to_owned() };
    scheduler.retry(again).await.unwrap();
    server.until("again", is_final).await;
    assert_eq!(done(folder.path()).await, ["b", "c", "a", "a"]);
    assert_eq!(part("nowhere", Some(9), "from").await.unwrap_err().code, "conflict");
    assert_eq!(part("unknown", Some(1), "sideways").await.unwrap_err().code, "invalid_input");
    assert_eq!(part("missing", None, "only").await.unwrap_err().code, "invalid_input");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_run_begins_nothing_until_it_goes_on() {
    let (folder, server) = started(8).await;
    let scheduler = &server.app.modules.local_scheduler;
    let slow = "INSERT INTO done WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3000000) \
        SELECT 'slow ' || max(i) FROM n";
    server.put(vec![task(1, "slow", slow), task(2, "then", &say("then"))], &[(1, 2)]).await;
    let id = server.begin("k", "CONTINUE").await;
    server.until_begun(&id, 1).await;
    scheduler.set_paused(instance_ref(&id), true).await.unwrap();
    scheduler.set_paused(instance_ref(&id), true).await.unwrap();
    let mut changed = server.changes().subscribe_all(&TOPICS);
    while done(folder.path()).await.is_empty() {
        wait(&mut changed).await;
    }
    // What runs goes on; the other task would have begun at once.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let paused = server.instance("k").await;
    assert_eq!((paused.state.as_str(), done(folder.path()).await.len()), ("paused", 1));
    assert_eq!(brief(&server.tries(&id).await), [("slow", 1, "success"), ("then", 1, "paused")]);
    scheduler.set_paused(instance_ref(&id), false).await.unwrap();
    assert_eq!(server.until("k", is_final).await.state, "success");
    assert_eq!(done(folder.path()).await, ["slow 3000000", "then"]);
    let late = scheduler.set_paused(instance_ref(&id), true).await.unwrap_err();
    assert_eq!((late.code.as_str(), late.message.contains("has ended")), ("conflict", true), "{late:?}");
    // A paused run can be stopped.
    server.put(vec![endless(1, "endless")], &[]).await;
    let id = server.begin("stopped", "CONTINUE").await;
    server.until_begun(&id, 1).await;
    scheduler.set_paused(instance_ref(&id), true).await.unwrap();
    scheduler.cancel(instance_ref(&id)).await.unwrap();
    assert_eq!(server.until("stopped", is_final).await.state, "stopped");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_of_one_workflow_wait_or_are_discarded() {
    let (folder, server) = started(8).await;
    let scheduler = &server.app.modules.local_scheduler;
    server.put_as("wait", vec![task(1, "one", &say("${run}"))], &[]).await;
    let first = server.begin_with("first", "1").await;
    scheduler.set_paused(instance_ref(&first), true).await.unwrap();
    for run in ["2", "3", "4"] {
        server.begin_with(run, run).await;
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let states = async |keys: [&'static str; 3]| {
        let mut states = Vec::new();
        for key in keys {
            states.push(server.instance(key).await.state);
        }
        states
    };
    let was = done(folder.path()).await;
    if was.is_empty() {
        assert_eq!(states(["2", "3", "4"]).await, ["queued"; 3]);
    }
    scheduler.set_paused(instance_ref(&first), false).await.ok();
    server.until("4", is_final).await;
    assert_eq!(done(folder.path()).await, ["1", "2", "3", "4"], "one after the other");
    // Each begins when the one before it has ended, not with the next poll.
    let begun = Instant::now();
    for run in ["5", "6", "7", "8", "9", "10", "11", "12"] {
        server.begin_with(run, run).await;
    }
    server.until("12", is_final).await;
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    server.put_as("discard", vec![endless(1, "one")], &[]).await;
    let id = server.begin("endless", "CONTINUE").await;
    let refused = scheduler.start(request("second")).await.unwrap_err();
    assert_eq!(refused.code, "conflict");
    assert!(refused.message.contains(&format!("the run {id} of the workflow has not ended")), "{refused:?}");
    scheduler.cancel(instance_ref(&id)).await.unwrap();
    server.until("endless", is_final).await;
    scheduler.start(request("second")).await.unwrap();
    scheduler.cancel(instance_ref(&server.instance("second").await.id)).await.unwrap();
    server.until("second", is_final).await;
    server.stop().await;
}
