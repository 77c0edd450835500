//! The engine `local` passes the conformance kit: over WebAssembly, with the embedded scheduler of a server in
//! this process, on a SQLite data source.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lakeport::compose;
use lakeport::config::{Config, Environment, Overrides};
use lakeport::part::Start;
use lakeport::scheduler::LocalScheduler;
use lakeport_bindings::engine::model::{
    Datasource, Instance, InstanceRef, LogPage, LogRequest, RetryRequest, RunQuery, RunRequest, Schedule,
    Started, TaskRunPage, TaskRunRequest, WatchPage, WatchRequest, Workflow,
};
use lakeport_bindings::host::types::Page;
use lakeport_bindings::runner::WorkflowPage;
use lakeport_conformance::engine::{Bounds, Conformance, Hosted, Prints, Setting, Tasks};
use lakeport_physical::WorkerProcesses;
use lakeport_plugins::engine::Engine;
use lakeport_plugins::{
    Answer, CallContext, Compiler, EmbeddedScheduler, Origin, Registry, RegistrySettings, Sandbox,
    SandboxSettings,
};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};
use tokio_util::task::TaskTracker;

const DATASOURCE: u64 = 50;

/// The embedded scheduler, which counts its calls: they are the upstream requests of this engine.
struct Counted {
    scheduler: Arc<LocalScheduler>,
    calls: AtomicU64,
}

impl Counted {
    fn count(&self) -> &dyn EmbeddedScheduler {
        self.calls.fetch_add(1, Ordering::Relaxed);
        &*self.scheduler
    }
}

impl EmbeddedScheduler for Counted {
    fn put(&self, workflow: Workflow) -> Answer<'_, ()> {
        self.count().put(workflow)
    }

    fn remove(&self, workflow: u64) -> Answer<'_, ()> {
        self.count().remove(workflow)
    }

    fn entries(&self, page: Page) -> Answer<'_, WorkflowPage> {
        self.count().entries(page)
    }

    fn read(&self, workflow: u64) -> Answer<'_, Workflow> {
        self.count().read(workflow)
    }

    fn set_schedule(&self, workflow: u64, schedule: Option<Schedule>) -> Answer<'_, ()> {
        self.count().set_schedule(workflow, schedule)
    }

    fn set_online(&self, workflow: u64, online: bool) -> Answer<'_, ()> {
        self.count().set_online(workflow, online)
    }

    fn start(&self, request: RunRequest) -> Answer<'_, Started> {
        self.count().start(request)
    }

    fn find(&self, queries: Vec<RunQuery>) -> Answer<'_, Vec<Option<Instance>>> {
        self.count().find(queries)
    }

    fn cancel(&self, instance: InstanceRef) -> Answer<'_, ()> {
        self.count().cancel(instance)
    }

    fn set_paused(&self, instance: InstanceRef, paused: bool) -> Answer<'_, ()> {
        self.count().set_paused(instance, paused)
    }

    fn retry(&self, request: RetryRequest) -> Answer<'_, Started> {
        self.count().retry(request)
    }

    fn instances(&self, request: WatchRequest) -> Answer<'_, WatchPage> {
        self.count().instances(request)
    }

    fn task_runs(&self, request: TaskRunRequest) -> Answer<'_, TaskRunPage> {
        self.count().task_runs(request)
    }

    fn log(&self, request: LogRequest) -> Answer<'_, LogPage> {
        self.count().log(request)
    }
}

/// A server with its workers, and a data source that exists.
async fn server(folder: &Path, workers: &TaskTracker) -> compose::Server {
    let settings = vec![
        ("data_dir", folder.join("data").display().to_string()),
        ("sqlite_roots", folder.display().to_string()),
    ];
    let file = folder.join("lakeport.toml");
    std::fs::write(&file, "time_zone = 'UTC'\n").unwrap();
    let overrides = Overrides { config_file: Some(file), settings };
    let config = Config::load(&overrides, &Environment::default()).unwrap();
    let server = compose::Server::start(config, Compiler::Inside, WorkerProcesses::inside()).await.unwrap();
    const ADD: &str = "INSERT INTO datasources (id, name, kind, url, created_at, updated_at) \
        VALUES (50, 'shop', 'sqlite', 'sqlite:shop.db', 0, 0)";
    server.db.execute(ADD, &[]).await.unwrap();
    let options = SqliteConnectOptions::new().filename(folder.join("shop.db")).create_if_missing(true);
    options.connect().await.unwrap().close().await.unwrap();
    server.start_workers(workers, Start::AtOnce);
    server.start_workers(workers, Start::AfterSetUp);
    server
}

/// The built component, staged as one that came with the server.
async fn local() -> Engine {
    let path = lakeport_tests::wasm_folder().join("plugin/engine_local.wasm");
    let bytes = std::fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; `cargo xtask test` builds it", path.display()));
    let sandbox =
        Sandbox::new(&SandboxSettings::default(), None).expect("the sandbox starts on this machine");
    // The kit counts failures.
    let settings = RegistrySettings { quarantine_after: 0, ..RegistrySettings::default() };
    let registry = Arc::new(Registry::new(Arc::new(sandbox), settings));
    let staged = registry.stage(bytes, Origin::Bundled).await;
    let generation = staged.unwrap_or_else(|error| panic!("{error}")).generation;
    registry.activate(&generation.id, &generation.digest, None).expect("it was just staged");
    registry.engine("local", "")
}

fn tasks() -> Tasks {
    let count = |rows: &str| {
        format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n {rows}) SELECT max(i) FROM n")
    };
    Tasks {
        kind: "SQL".to_owned(),
        datasource: Some(Datasource { id: DATASOURCE, name: "shop".to_owned(), kind: "sqlite".to_owned() }),
        settings: "{}".to_owned(),
        succeeds: "SELECT 'done' AS what".to_owned(),
        fails: "SELECT * FROM nowhere".to_owned(),
        endless: count(""),
        slow: Some(count("LIMIT 15000000")),
        log_has: Some("| done".to_owned()),
        prints: Some(Prints {
            before: "SELECT '".to_owned(),
            after: "' AS what".to_owned(),
            place: "literal".to_owned(),
        }),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_engine_local_holds() {
    let (folder, workers) = (tempfile::tempdir().unwrap(), TaskTracker::new());
    let server = server(folder.path(), &workers).await;
    let scheduler = Arc::clone(&server.modules.local_scheduler);
    let counted = Arc::new(Counted { scheduler, calls: AtomicU64::new(0) });
    let lent = Arc::clone(&counted);
    let context = move || CallContext { scheduler: Some(lent.clone()), ..CallContext::new("conformance") };
    let counter = Arc::clone(&counted);
    let setting = Setting {
        requests: Some(Box::new(move || counter.calls.load(Ordering::Relaxed))),
        bounds: Bounds { change: 3, run: 1, find: 1, instances: 1, task_runs: 1, log: 1, other: 1 },
        ..Setting::new(tasks())
    };
    let report = Conformance { subject: Hosted::new(local().await, context), setting }.run().await;
    println!("{report}");
    assert!(report.passed(), "{report}");
    assert!(report.cases() > 500, "{report}");
    server.stopping.cancel();
    server.changes.stop().await;
    workers.close();
    workers.wait().await;
    server.close().await;
}
