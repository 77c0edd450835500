//! Engines: the schedulers that workflows are deployed to, each a plugin with a configuration of its own. What
//! a particular scheduler is like stands in its plugin alone.

pub mod forms;

use ::http::Method;

use crate::app::Route;
use crate::http::Role::{Admin, Viewer};
use crate::http::{Json, Nothing};
use forms::{CreateEngine, EnginePath, UpdateEngine};

/// The routes of this room.
pub fn routes() -> Vec<Route> {
    vec![
        Route::not_yet::<Nothing, Nothing, Nothing>(
            Method::GET,
            "/api/v1/engines",
            Viewer,
            "listEngines",
            "All engines, without their secrets",
        ),
        Route::not_yet::<Nothing, Nothing, Json<CreateEngine>>(
            Method::POST,
            "/api/v1/engines",
            Admin,
            "createEngine",
            "Configures an engine",
        ),
        Route::not_yet::<EnginePath, Nothing, Json<UpdateEngine>>(
            Method::PUT,
            "/api/v1/engines/{name}",
            Admin,
            "updateEngine",
            "Changes the members that are given",
        )
        .versioned(),
        Route::not_yet::<EnginePath, Nothing, Nothing>(
            Method::DELETE,
            "/api/v1/engines/{name}",
            Admin,
            "deleteEngine",
            "Forgets an engine that no workflow names",
        )
        .versioned(),
        Route::not_yet::<EnginePath, Nothing, Nothing>(
            Method::POST,
            "/api/v1/engines/{name}/test",
            Admin,
            "testEngine",
            "Logs in to the engine and says what it can do",
        )
        .reading(),
    ]
}
