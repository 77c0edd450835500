//! Plugins: which components there are, which answer, and the API by which operators change that.
//!
//! The plugin host itself is the crate `lakeport-plugins`, which forgets everything when the process
//! ends. This room keeps components and pointers in the store and puts them back at a start. A bundled
//! plugin follows the binary until an operator activates another generation of it.

mod api;
pub mod cli;
mod errors;
mod room;
mod store;
mod view;

pub use errors::{CALL_CODES, EGRESS_REFUSED, ENGINE_CALL_CODES, answered, engine_failed};
pub use room::Room;

use ::http::Method;

use crate::app::Route;
use crate::http::Role;

/// What the change log calls a change of a plugin.
pub const TOPIC: &str = "plugins";

/// The routes of this room.
pub fn routes() -> Vec<Route> {
    let get = Method::GET;
    vec![
        Route::new(get.clone(), "/api/v1/plugins", Role::Viewer, "listPlugins", "All plugins", api::list),
        Route::new(
            Method::POST,
            "/api/v1/plugins",
            Role::Admin,
            "stagePlugin",
            "Checks a component and stages it; the body is the component",
            api::stage,
        )
        .upload()
        .refuses(api::STAGING_CODES),
        Route::new(get.clone(), "/api/v1/plugins/{name}", Role::Viewer, "getPlugin", "One plugin", api::get)
            .refuses(&["name_ambiguous"]),
        Route::new(
            get.clone(),
            "/api/v1/plugins/{name}/logs",
            Role::Admin,
            "getPluginLogs",
            "The last lines of a plugin's log, the oldest first",
            api::logs,
        )
        .refuses(&["name_ambiguous"]),
        Route::new(
            Method::POST,
            "/api/v1/plugins/{name}/activate",
            Role::Admin,
            "activatePlugin",
            "Lets a generation answer all calls, or a share of them",
            api::activate,
        )
        .refuses(&[
            "already_active",
            "canary_percent_invalid",
            "digest_ambiguous",
            "digest_invalid",
            "name_ambiguous",
            "not_active",
        ]),
        Route::new(
            Method::POST,
            "/api/v1/plugins/{name}/rollback",
            Role::Admin,
            "rollbackPlugin",
            "Ends a canary, or goes back to the generation active before",
            api::rollback,
        )
        .refuses(&["name_ambiguous", "nothing_before"]),
        Route::new(
            Method::POST,
            "/api/v1/plugins/{name}/quarantine",
            Role::Admin,
            "quarantinePlugin",
            "Takes a plugin out of service",
            api::quarantine,
        )
        .refuses(&["name_ambiguous", "unchanged"]),
        Route::new(
            Method::POST,
            "/api/v1/plugins/{name}/release",
            Role::Admin,
            "releasePlugin",
            "Brings a quarantined plugin back into service",
            api::release,
        )
        .refuses(&["name_ambiguous", "not_quarantined"]),
        Route::new(
            get,
            "/api/v1/plugins/{name}/{digest}",
            Role::Admin,
            "getPluginComponent",
            "The component itself",
            api::component,
        )
        .refuses(&["digest_ambiguous", "digest_invalid", "name_ambiguous"]),
        Route::new(
            Method::DELETE,
            "/api/v1/plugins/{name}/{digest}",
            Role::Admin,
            "removePlugin",
            "Forgets a generation that is not in use",
            api::remove,
        )
        .refuses(&[
            "digest_ambiguous",
            "digest_invalid",
            "generation_active",
            "generation_bundled",
            "generation_in_use",
            "name_ambiguous",
        ]),
    ]
}
