//! The reading of a data source's tables into the catalogue.
//!
//! A synchronisation is a row with the state `running`: whoever makes one wakes a worker by the change log, and
//! the worker of one server, which holds the data source's lease, reads and writes, a bounded batch at a time,
//! each in one transaction with the figures of the row. So a server that dies leaves true figures, and another
//! begins anew where it ended. A row that is no longer `running` stops its worker.

mod api;
mod chosen;
mod patience;
mod read;
mod store;
mod worker;

use ::http::Method;

use crate::app::Route;
use crate::db::Tx;
use crate::error::Error;
use crate::http::Role::{Admin, Viewer};
pub use worker::run_worker;

/// What the change log calls a change of a synchronisation's state; the key is its id.
const TOPIC: &str = "syncs";

pub fn routes() -> Vec<Route> {
    const PATH: &str = "/api/v1/datasources/{id}/sync";
    vec![
        Route::new(
            Method::POST,
            PATH,
            Admin,
            "startSync",
            "Reads tables and fields into the catalogue; answers when it is done, or after 20 s while it goes on",
            api::start,
        )
        .refuses(&["reserved", "sync_running"]),
        Route::new(
            Method::GET,
            PATH,
            Viewer,
            "getSync",
            "The last reading and how far it is; null where there was none",
            api::get,
        ),
        Route::new(Method::DELETE, PATH, Admin, "cancelSync", "Stops the reading that is under way", api::cancel)
            .refuses(&["not_running", "reserved"]),
    ]
}

/// 409 while the data source is read in.
pub async fn refuse_running(tx: &mut Tx, datasource_id: i64) -> Result<(), Error> {
    if store::is_running(tx, datasource_id).await? { Err(running()) } else { Ok(()) }
}

fn running() -> Error {
    let message = "the tables of this data source are read in at this moment; wait for its end, or cancel it";
    Error::conflict("sync_running", message)
}
