//! Composes the modules: their states, each with the modules that it may use, and their parts. It knows every
//! module, and no module knows it.

use std::sync::Arc;
use std::time::Duration;

use ::http::request::Parts;
use anyhow::Context;
use lakeport_base::Error;
use lakeport_http::{
    Attempt, Begun, Caller, Edge, EdgeSettings, Endpoint, Gate, InternalClient, Operation, Reply, Role,
    Stats, Tls,
};
use lakeport_physical::WorkerProcesses;
use lakeport_plugins::Compiler;
use tokio_util::task::TaskTracker;

use crate::agent::{self, Agent};
use crate::audit;
use crate::auth::{self, Auth};
use crate::config::Config;
use crate::console::{self, Console};
use crate::core::{Core, stands_on_core};
use crate::datasources::{self, Datasources};
use crate::description::{self, Description};
use crate::engines::{self, Engines};
use crate::events::{self, Events};
use crate::executions::{self, Executions};
use crate::health::{self, Health};
use crate::idempotency;
use crate::lineage::{self, Lineage};
use crate::metrics::{self, Figures};
use crate::part::{BoundPart, RetentionRule, Start};
use crate::plugins::{self, Plugins};
use crate::queries;
use crate::retention::{self, Purged, Retention};
use crate::scheduler::{self, LocalScheduler, Scheduler};
use crate::search::{self, Search};
use crate::secrets::EncryptedColumn;
use crate::settings;
use crate::sync::{self, Syncs};
use crate::tables::{self, Catalog, TableUsers, Tables};
use crate::workflows::tasks::{self, LineageGraph};
use crate::workflows::{self, Workflows};

/// How long running requests may take to end when the server stops.
const DRAIN: Duration = Duration::from_secs(30);

/// The states of all modules.
pub struct Modules {
    pub core: Arc<Core>,
    pub auth: Arc<Auth>,
    pub plugins: Arc<Plugins>,
    pub datasources: Arc<Datasources>,
    pub engines: Arc<Engines>,
    pub tables: Arc<Tables>,
    pub syncs: Arc<Syncs>,
    pub search: Arc<Search>,
    pub workflows: Arc<Workflows>,
    pub lineage: Arc<Lineage>,
    pub executions: Arc<Executions>,
    pub scheduler: Arc<Scheduler>,
    /// The embedded scheduler, as lent to engines.
    pub local_scheduler: Arc<LocalScheduler>,
    pub agent: Arc<Agent>,
    pub health: Arc<Health>,
    pub events: Arc<Events>,
    pub console: Arc<Console>,
    pub figures: Arc<Figures>,
    pub description: Arc<Description>,
    pub retention: Arc<Retention>,
}

/// The parts of all modules, one line each; without their states they can only be described.
///
/// `in_use` checks run in this order, so that a running sync is named before the tables that it has read so
/// far.
fn parts(modules: Option<&Modules>) -> Vec<BoundPart> {
    vec![
        idempotency::part().bind(modules.map(|modules| &modules.core)),
        audit::part().bind(modules.map(|modules| &modules.core)),
        queries::part().bind(modules.map(|modules| &modules.core)),
        settings::part().bind(modules.map(|modules| &modules.core)),
        auth::part().bind(modules.map(|modules| &modules.auth)),
        console::part().bind(modules.map(|modules| &modules.console)),
        health::part().bind(modules.map(|modules| &modules.health)),
        metrics::part().bind(modules.map(|modules| &modules.figures)),
        description::part().bind(modules.map(|modules| &modules.description)),
        plugins::part().bind(modules.map(|modules| &modules.plugins)),
        datasources::part().bind(modules.map(|modules| &modules.datasources)),
        sync::part().bind(modules.map(|modules| &modules.syncs)),
        engines::part().bind(modules.map(|modules| &modules.engines)),
        tables::part().bind(modules.map(|modules| &modules.tables)),
        search::part().bind(modules.map(|modules| &modules.search)),
        workflows::part().bind(modules.map(|modules| &modules.workflows)),
        lineage::part().bind(modules.map(|modules| &modules.lineage)),
        executions::part().bind(modules.map(|modules| &modules.executions)),
        scheduler::part().bind(modules.map(|modules| &modules.scheduler)),
        agent::part().bind(modules.map(|modules| &modules.agent)),
        events::part().bind(modules.map(|modules| &modules.events)),
        retention::part().bind(modules.map(|modules| &modules.retention)),
    ]
}

/// The complete server, run by `serve`.
pub struct Server {
    core: Arc<Core>,
    pub modules: Modules,
    gate: Arc<ServerGate>,
    endpoints: Vec<Endpoint>,
    workers: parking_lot::Mutex<Vec<(Start, futures_util::future::BoxFuture<'static, ()>)>>,
    stats: Stats,
}

stands_on_core!(Server);

impl Server {
    /// Opens the store, stages the plugins, compiled by `compiler`, and composes the modules. Statements on data
    /// sources run in `processes`. When it returns, the server is ready.
    pub async fn start(
        config: Config,
        compiler: Compiler,
        processes: WorkerProcesses,
    ) -> anyhow::Result<Server> {
        let core = Arc::new(Core::open(config).await?);
        let plugins = Plugins::open(&core, compiler).await.context("the plugin host cannot start")?;
        let plugins = Arc::new(plugins);
        let auth = Arc::new(Auth::open(&core).await?);
        let datasources = Arc::new(Datasources::open(&core, &plugins, processes).await?);
        let catalog = Arc::new(Catalog::open(&core.db, &core.changes).await?);
        let graph = Arc::new(LineageGraph::open(&core.db, &core.changes).await?);
        let local_scheduler =
            Arc::new(LocalScheduler::new(core.db.clone(), core.clock.clone(), core.config.time_zone));
        let engines = Arc::new(Engines::open(&core, &plugins, local_scheduler.clone()).await?);
        let table_users = TableUsers {
            bound_to: |db, table_id, limit| Box::pin(tasks::bound_to(db, table_id, limit)),
            unbind: |tx, table_id, by, now_ms| Box::pin(tasks::unbind_table(tx, table_id, by, now_ms)),
            running_on: |core, datasource_id| Box::pin(executions::running_on(core, datasource_id)),
        };
        let described = parts(None);
        let rules: Vec<RetentionRule> =
            described.iter().flat_map(|part| part.retained.iter().copied()).collect();
        core.set_in_use(described.iter().flat_map(|part| part.in_use.iter().copied()).collect());
        let (stats, purged) = (Stats::new(), Arc::new(Purged::default()));
        let modules = Modules {
            tables: Arc::new(Tables::new(&core, &datasources, &catalog, table_users)),
            syncs: Arc::new(Syncs::new(&core, &datasources)),
            search: Arc::new(Search::new(&core, &catalog)),
            workflows: Arc::new(Workflows::open(&core, &engines, &catalog).await?),
            lineage: Arc::new(Lineage::new(&core, &catalog, &graph)),
            executions: Arc::new(Executions::new(&core, &engines)),
            scheduler: Arc::new(Scheduler::new(&core, &datasources, &catalog)),
            agent: Arc::new(Agent::open(&core, &plugins, &datasources, &catalog, &graph).await?),
            events: Arc::new(Events::new(&core)),
            console: Arc::new(Console::open().context("the console is broken")?),
            health: Arc::new(Health::new(&core, &plugins)),
            figures: Arc::new(Figures::new(&core, &plugins, &stats, &purged, &rules)),
            description: Arc::new(Description::new(describe)),
            retention: Arc::new(Retention::new(&core, rules, &purged)),
            core: Arc::clone(&core),
            auth: Arc::clone(&auth),
            plugins,
            datasources,
            engines,
            local_scheduler,
        };
        let parts = parts(Some(&modules));
        let (mut endpoints, mut workers) = (Vec::new(), Vec::new());
        for part in parts {
            endpoints.extend(part.endpoints);
            workers.extend(part.workers);
        }
        let gate = Arc::new(ServerGate { core: Arc::clone(&core), auth });
        Ok(Server { core, modules, gate, endpoints, workers: workers.into(), stats })
    }

    /// The edge of this server.
    pub fn edge(&self) -> anyhow::Result<Edge<ServerGate>> {
        let config = &self.core.config;
        let settings = EdgeSettings {
            request_timeout: config.request_timeout,
            body_max_bytes: config.body_max_bytes,
            upload_max_bytes: config.plugin_upload_max_bytes,
            drain: DRAIN,
            connections_max: config.connections_max,
            cors_origins: config.cors_origins.clone(),
            tls: Tls::configured(config.tls_cert.as_deref(), config.tls_key.as_deref())?,
        };
        let (gate, stats) = (Arc::clone(&self.gate), self.stats.clone());
        Edge::new(gate, self.endpoints.clone(), settings, stats, self.core.stopping.clone())
    }

    /// A client of this server's own endpoints.
    pub fn internal_client(&self) -> anyhow::Result<InternalClient<ServerGate>> {
        InternalClient::new(Arc::clone(&self.gate), self.endpoints.clone())
    }

    /// Starts the workers of this phase; call it once per phase. They end when the server stops, after which
    /// changes are no longer followed.
    pub fn start_workers(&self, tasks: &TaskTracker, start: Start) {
        let mut workers = self.workers.lock();
        let (now, later): (Vec<_>, Vec<_>) = workers.drain(..).partition(|(when, _)| *when == start);
        *workers = later;
        now.into_iter().for_each(|(_, worker)| drop(tasks.spawn(worker)));
    }

    /// Releases leases and locks, and closes the store.
    pub async fn close(&self) {
        self.core.close().await;
    }
}

/// Authenticates callers and records changes.
pub struct ServerGate {
    core: Arc<Core>,
    auth: Arc<Auth>,
}

impl Gate for ServerGate {
    async fn identify(&self, parts: &Parts, needed: Role) -> Result<Arc<Caller>, Error> {
        self.auth.identify(parts, needed, &self.core.config.cors_origins).await
    }

    async fn ended(self: Arc<Self>, caller: Arc<Caller>) {
        self.auth.ended(&caller).await;
    }

    async fn begin(&self, attempt: &Attempt) -> Result<Begun, Error> {
        idempotency::begin(&self.core, attempt).await
    }

    async fn end(&self, attempt: &Attempt, outcome: Result<&Reply, &Error>) {
        if let Err(error) = audit::record(&self.core, attempt, outcome).await {
            tracing::error!(request_id = %attempt.request_id, "the audit log was not written: {error}");
        }
        if let Err(error) = idempotency::end(&self.core, attempt, outcome).await {
            tracing::error!(request_id = %attempt.request_id, "the answer was not kept: {error}");
        }
    }
}

/// All operations of the interface.
pub fn operations() -> Vec<Operation> {
    parts(None).into_iter().flat_map(|part| part.operations).collect()
}

/// All error codes, in order.
pub fn error_codes() -> Vec<&'static str> {
    let general = lakeport_base::error::CODES.iter().copied();
    let mut codes: Vec<&'static str> =
        parts(None).iter().flat_map(|part| part.error_codes.iter().copied()).chain(general).collect();
    codes.sort_unstable();
    codes
}

/// All columns with encrypted values.
pub fn encrypted_columns() -> Vec<EncryptedColumn> {
    parts(None).iter().flat_map(|part| part.encrypted_columns.iter().copied()).collect()
}

/// The OpenAPI description.
pub fn describe() -> serde_json::Value {
    let tags = parts(None).iter().flat_map(|part| part.tags.iter().copied()).collect();
    description::document_of(&operations(), tags, error_codes())
}
