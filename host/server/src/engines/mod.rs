//! Engines: the schedulers that workflows are deployed to, each a plugin with its own configuration. Only the
//! plugin knows its scheduler; other modules call it through [`EngineClient`].
//!
//! One engine always exists: `local`, the embedded scheduler. Secrets are write-only and stored encrypted.

mod api;
mod by_hand;
mod client;
mod definition;
pub mod forms;
mod instance;
mod memos;
pub mod store;
mod view;

use std::sync::Arc;

use ::http::Method;
use lakeport_base::Error;
use lakeport_base::error::Refusal;
use lakeport_egress::HttpClient;
use lakeport_http::Role::{Admin, Viewer};
use lakeport_http::{Nothing, Route};
use lakeport_plugins::EmbeddedScheduler;
use lakeport_store::Db;
use tokio::sync::Semaphore;

use crate::core::{Core, stands_on_core};
use crate::part::Part;
use crate::plugins::ENGINE_CALL_CODES;
use crate::plugins::Plugins;
use crate::secrets::{EncryptedColumn, KeyColumn};
pub use client::{EngineClient, Failure};
use memos::Memos;
pub use store::{EngineRecord, find, is_embedded, is_there};

/// The change log's topic of engines; the key is the name.
pub const TOPIC: &str = "engines";
/// The engine of the embedded scheduler, and its plugin.
pub const LOCAL: &str = "local";

/// Errors that are temporary: the same call may succeed a little later.
const MOMENTARY: [&str; 6] = [
    "engine_timeout",
    "engine_unavailable",
    "engine_unreachable",
    "plugin_busy",
    "plugin_replaced",
    "rate_limited",
];

/// Also those for which the engine itself names a pause.
pub fn is_momentary(error: &Error) -> bool {
    let has_pause = |refusal: &Refusal| refusal.code == "engine_failed" && refusal.retry_after_s.is_some();
    matches!(error, Error::Refused(refusal) if has_pause(refusal)) || MOMENTARY.contains(&error.code())
}

/// Whether the engine refuses a run only while another one of its workflow is active.
pub fn has_no_turn(error: &Error) -> bool {
    matches!(error, Error::Refused(refusal) if refusal.code == "engine_conflict" && refusal.retry_after_s.is_some())
}

/// Engines, and the embedded scheduler.
pub struct Engines {
    core: Arc<Core>,
    plugins: Arc<Plugins>,
    scheduler: Arc<dyn EmbeddedScheduler>,
    memos: Memos,
    /// For the requests of all engines.
    http: HttpClient,
    /// For calls by hand: the others need places, too.
    by_hand: Semaphore,
}

stands_on_core!(Engines);

impl Engines {
    /// Creates the engine `local` if it does not exist.
    pub async fn open(
        core: &Arc<Core>,
        plugins: &Arc<Plugins>,
        scheduler: Arc<dyn EmbeddedScheduler>,
    ) -> anyhow::Result<Engines> {
        store::ensure(&core.db, LOCAL, LOCAL, core.clock.now_ms()).await?;
        let http = HttpClient::new(core.egress.clone(), core.config.egress_ca_file.as_deref())?;
        let (core, plugins) = (Arc::clone(core), Arc::clone(plugins));
        let by_hand = Semaphore::new(by_hand::AT_ONCE);
        Ok(Engines { core, plugins, scheduler, memos: Memos::default(), http, by_hand })
    }
}

impl Engines {
    /// Drops what is cached of engines that are not configured any more.
    pub fn forget_others(&self, names: &[String]) {
        self.memos.keep_only(names);
    }
}

/// The secrets of an engine, all together.
const SECRETS: EncryptedColumn = EncryptedColumn {
    table: "engines",
    name: "secrets",
    others: "SELECT secrets, name FROM engines WHERE secrets IS NOT NULL \
             AND substr(secrets, 1, 9) <> $1 AND name > $3 ORDER BY name LIMIT $2",
    put: "UPDATE engines SET secrets = $1 WHERE secrets = $2 AND name = $3",
    lowest: &[KeyColumn::Text("")],
};

pub fn part() -> Part<Engines> {
    Part {
        tags: &[("engines", "Schedulers that workflows are deployed to")],
        routes: routes(),
        encrypted_columns: &[SECRETS],
        error_codes: &["too_many_engines"],
        ..Part::default()
    }
}

/// A request to this module.
pub type Call<P = Nothing, Q = Nothing, B = Nothing> = lakeport_http::Call<Engines, P, Q, B>;

fn routes() -> Vec<Route<Engines>> {
    vec![
        Route::new(
            Method::GET,
            "/api/v1/engines",
            Viewer,
            "listEngines",
            "List engines, without their secrets",
            api::list,
        ),
        Route::new(Method::POST, "/api/v1/engines", Admin, "createEngine", "Create an engine", api::create)
            .versioned()
            .unbound()
            .refuses(&["name_taken", "built_in", "too_many_engines"]),
        Route::new(
            Method::GET,
            "/api/v1/engines/{name}",
            Viewer,
            "getEngine",
            "Show an engine, without its secrets",
            api::get,
        )
        .versioned(),
        Route::new(
            Method::PUT,
            "/api/v1/engines/{name}",
            Admin,
            "updateEngine",
            "Update the given members of an engine",
            api::update,
        )
        .unbound()
        .versioned()
        .refuses(&["in_use", "built_in"]),
        Route::new(
            Method::DELETE,
            "/api/v1/engines/{name}",
            Admin,
            "deleteEngine",
            "Delete an unused engine",
            api::delete,
        )
        .unbound()
        .versioned()
        .refuses(&["in_use", "built_in"]),
        Route::new(
            Method::POST,
            "/api/v1/engines/{name}/test",
            Admin,
            "testEngine",
            "Test the log-in to an engine and return its features",
            api::test,
        )
        .reading()
        .refuses(ENGINE_CALL_CODES),
        Route::new(
            Method::POST,
            "/api/v1/engines/{name}/call",
            Admin,
            "callEngine",
            "Call a function of an engine that changes nothing, and show the requests that its plugin sends",
            by_hand::call,
        )
        .unbound()
        .reading(),
    ]
}

/// The names of all engines, in order.
pub async fn names(db: &Db) -> Result<Vec<String>, Error> {
    Ok(store::all(db).await?.into_iter().map(|engine| engine.name).collect())
}
