//! Plugins: which components there are, which answer, and the API by which operators change that.
//!
//! The plugin host itself is the crate `lakeport-plugins`, which forgets everything when the process
//! ends. This room keeps components and pointers in the store and puts them back at a start. A bundled
//! plugin follows the binary until an operator activates another generation of it.

mod api;
pub mod cli;
mod room;
mod store;
mod view;

pub use room::Room;

use ::http::Method;

use crate::app::Route;
use crate::http::Role;

/// The routes of this room.
pub fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/api/v1/plugins", Role::Viewer, "listPlugins", api::list),
        Route::new(Method::POST, "/api/v1/plugins", Role::Admin, "stagePlugin", api::stage).upload(),
        Route::new(Method::GET, "/api/v1/plugins/{name}", Role::Viewer, "getPlugin", api::get),
        Route::new(Method::GET, "/api/v1/plugins/{name}/logs", Role::Admin, "getPluginLogs", api::logs),
        Route::new(
            Method::POST,
            "/api/v1/plugins/{name}/activate",
            Role::Admin,
            "activatePlugin",
            api::activate,
        ),
        Route::new(
            Method::POST,
            "/api/v1/plugins/{name}/rollback",
            Role::Admin,
            "rollbackPlugin",
            api::rollback,
        ),
        Route::new(
            Method::POST,
            "/api/v1/plugins/{name}/quarantine",
            Role::Admin,
            "quarantinePlugin",
            api::quarantine,
        ),
        Route::new(
            Method::POST,
            "/api/v1/plugins/{name}/release",
            Role::Admin,
            "releasePlugin",
            api::release,
        ),
        Route::new(
            Method::GET,
            "/api/v1/plugins/{name}/{digest}",
            Role::Admin,
            "getPluginComponent",
            api::component,
        ),
        Route::new(
            Method::DELETE,
            "/api/v1/plugins/{name}/{digest}",
            Role::Admin,
            "removePlugin",
            api::remove,
        ),
    ]
}
