//! Syncs: reading a data source's tables into the catalogue.
//!
//! A sync is a row with the state `running`. Creating one wakes a worker by the change log, and the worker
//! that holds the data source's lease reads and writes in bounded batches, each in one transaction with the
//! row's counts. So the counts stay correct if a server dies, and another one starts again. When a row is no
//! longer `running`, its worker stops.

mod api;
mod read;
mod retry;
mod selection;
mod store;
mod worker;

use std::sync::Arc;

use ::http::Method;
use futures_util::future::BoxFuture;
use lakeport_base::Error;
use lakeport_http::Role::{Admin, Viewer};
use lakeport_http::{Nothing, Route};
use lakeport_store::{Retained, Tx};

use crate::core::{Core, stands_on_core};
use crate::datasources::Datasources;
use crate::part::{InUse, Part, Resource, RetentionRule, Start, Worker};

/// The change log's topic of a sync's state; the key is its id.
pub const TOPIC: &str = "syncs";

/// The syncs of data sources.
pub struct Syncs {
    core: Arc<Core>,
    datasources: Arc<Datasources>,
}

stands_on_core!(Syncs);

impl Syncs {
    pub fn new(core: &Arc<Core>, datasources: &Arc<Datasources>) -> Syncs {
        Syncs { core: Arc::clone(core), datasources: Arc::clone(datasources) }
    }
}

/// Finished syncs; the last one of each data source is kept.
const SYNCS: Retained = Retained {
    what: "datasource_syncs",
    table: "datasource_syncs",
    purge: "DELETE FROM datasource_syncs WHERE id IN (SELECT id FROM datasource_syncs AS old \
            WHERE finished_at < $1 AND EXISTS (SELECT 1 FROM datasource_syncs AS later \
            WHERE later.datasource_id = old.datasource_id AND later.id > old.id) LIMIT $2)",
};

pub fn part() -> Part<Syncs> {
    Part {
        routes: routes(),
        workers: vec![Worker::new(Start::AtOnce, worker::run_worker)],
        retained: vec![RetentionRule::days(SYNCS, |settings| settings.syncs_days)],
        in_use: vec![InUse { resource: "datasource", check: in_use }],
        error_codes: &["sync_running"],
        ..Part::default()
    }
}

/// A request to this module.
pub type Call<P = Nothing, Q = Nothing, B = Nothing> = lakeport_http::Call<Syncs, P, Q, B>;

fn routes() -> Vec<Route<Syncs>> {
    const PATH: &str = "/api/v1/datasources/{id}/sync";
    vec![
        Route::new(
            Method::POST,
            PATH,
            Admin,
            "startSync",
            "Start a sync of tables and fields into the catalogue; returns at its end, or after 20 s while it continues",
            api::start,
        )
        .refuses(&["built_in", "datasource_not_allowed", "sync_running"]),
        Route::new(
            Method::GET,
            PATH,
            Viewer,
            "getSync",
            "Get the progress of the last sync; null if there was none",
            api::get,
        )
        .refuses(&["datasource_not_allowed"]),
        Route::new(Method::DELETE, PATH, Admin, "cancelSync", "Cancel the running sync", api::cancel)
            .refuses(&["not_running", "built_in", "datasource_not_allowed"]),
    ]
}

/// A data source may not be moved or replaced during a sync.
fn in_use<'a>(tx: &'a mut Tx, source: &'a Resource) -> BoxFuture<'a, Result<(), Error>> {
    Box::pin(async move { if store::is_running(tx, source.id).await? { Err(running()) } else { Ok(()) } })
}

fn running() -> Error {
    let message = "a sync of this data source is running; wait for its end, or cancel it";
    Error::conflict("sync_running", message)
}
