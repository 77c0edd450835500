//! Engines: the schedulers that workflows are deployed to, each a plugin with a configuration of its own. What
//! a particular scheduler is like stands in its plugin alone; whoever asks one asks through [`Reach`].
//!
//! One engine is always there: `local`, the scheduler inside this server. Secrets come in, are kept encrypted, and
//! are never shown.

mod api;
mod definition;
pub mod forms;
mod reach;
mod store;
mod view;

use ::http::Method;

use crate::app::{Clock, Route};
use crate::db::Db;
use crate::error::Error;
use crate::http::Role::{Admin, Viewer};
use crate::plugins::ENGINE_CALL_CODES;
pub use reach::{Reach, Unstarted};
pub use store::{EngineRecord, find, is_there};

/// What the change log calls a change of an engine; the key is its name.
pub const TOPIC: &str = "engines";
/// The engine inside this server, and its plugin.
pub const LOCAL: &str = "local";

/// The routes of this room.
pub fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Method::GET,
            "/api/v1/engines",
            Viewer,
            "listEngines",
            "All engines, without their secrets",
            api::list,
        ),
        Route::new(
            Method::POST,
            "/api/v1/engines",
            Admin,
            "createEngine",
            "Configures an engine",
            api::create,
        )
        .refuses(&["name_taken", "reserved", "too_many_engines"]),
        Route::new(
            Method::PUT,
            "/api/v1/engines/{name}",
            Admin,
            "updateEngine",
            "Changes the members that are given",
            api::update,
        )
        .versioned()
        .refuses(&["in_use", "reserved"]),
        Route::new(
            Method::DELETE,
            "/api/v1/engines/{name}",
            Admin,
            "deleteEngine",
            "Forgets an engine that no workflow names",
            api::delete,
        )
        .versioned()
        .refuses(&["in_use", "reserved"]),
        Route::new(
            Method::POST,
            "/api/v1/engines/{name}/test",
            Admin,
            "testEngine",
            "Logs in to the engine and says what it can do",
            api::test,
        )
        .reading()
        .refuses(ENGINE_CALL_CODES),
    ]
}

/// Makes the engine inside this server, where it is not there yet.
pub async fn ensure_own(db: &Db, clock: &Clock) -> Result<(), Error> {
    store::ensure(db, LOCAL, LOCAL, clock.now_ms()).await
}

/// The names of all engines, in order.
pub async fn names(db: &Db) -> Result<Vec<String>, Error> {
    Ok(store::all(db).await?.into_iter().map(|engine| engine.name).collect())
}
