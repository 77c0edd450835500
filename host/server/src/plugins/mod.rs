//! Plugins: their components, the active ones, and the API for operators.
//!
//! The plugin host is the crate `lakeport-plugins`, which keeps nothing across processes. This module stores
//! components and pointers and restores them at a start. A bundled plugin follows the binary until an
//! operator activates another generation.

mod api;
pub mod cli;
mod errors;
mod schema;
mod state;
mod store;
mod view;

use std::sync::Arc;
use std::time::Duration;

use ::http::Method;
use lakeport_http::{Nothing, Role, Route};
use lakeport_store::{Event, Retained};

use crate::part::{Part, RetentionRule, Start, Worker};
pub use errors::{
    CALL_CODES, EGRESS_REFUSED, ENGINE_CALL_CODES, answered, engine_failed, engine_refused, failed,
};
pub use schema::{compiled, problems};
pub use state::Plugins;

/// The change log's topic of plugins.
pub const TOPIC: &str = "plugins";

const HISTORY: Retained = Retained {
    what: "plugin_history",
    table: "plugin_activations",
    purge: "DELETE FROM plugin_activations WHERE id IN \
            (SELECT id FROM plugin_activations WHERE at < $1 ORDER BY id LIMIT $2)",
};

/// The pause before a retry when the store failed.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

pub fn part() -> Part<Plugins> {
    Part {
        tags: &[("plugins", "Connectors, dialects and tools, swapped while the server runs")],
        routes: routes(),
        workers: vec![Worker::new(Start::AtOnce, follow_plugins)],
        retained: vec![RetentionRule::days(HISTORY, |settings| settings.plugin_history_days)],
        error_codes: &[
            "already_active",
            "canary_percent_invalid",
            "component_core_module",
            "component_empty",
            "component_export_missing",
            "component_malformed",
            "component_no_family",
            "component_not_linkable",
            "component_not_wasm",
            "component_precompiled",
            "component_several_contracts",
            "component_too_costly",
            "component_too_large",
            "contract_version_unknown",
            "description_invalid",
            "digest_ambiguous",
            "digest_invalid",
            "generation_active",
            "generation_bundled",
            "generation_in_use",
            "import_refused",
            "name_ambiguous",
            "no_previous_generation",
            "no_active_generation",
            "not_quarantined",
            "too_many_generations",
            "already_quarantined",
        ],
        ..Part::default()
    }
}

/// A request to this module.
pub type Call<P = Nothing, Q = Nothing, B = Nothing> = lakeport_http::Call<Plugins, P, Q, B>;

async fn follow_plugins(plugins: Arc<Plugins>) {
    let mut changed = plugins.changes.subscribe(TOPIC);
    let mut event = Some(Event::Everything);
    while let Some(what) = event {
        let key = match &what {
            Event::Changed(key) => Some(&**key),
            Event::Everything => None,
        };
        while let Err(error) = plugins.follow(key).await {
            tracing::error!("what another server did to the plugins was not followed: {error}");
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
        event = changed.next().await;
    }
}

fn routes() -> Vec<Route<Plugins>> {
    let get = Method::GET;
    vec![
        Route::new(get.clone(), "/api/v1/plugins", Role::Viewer, "listPlugins", "List plugins", api::list),
        Route::new(
            Method::POST,
            "/api/v1/plugins",
            Role::Admin,
            "stagePlugin",
            "Check and stage a component; the body is the component",
            api::stage,
        )
        .unbound()
        .upload()
        .refuses(api::STAGING_CODES),
        Route::new(
            get.clone(),
            "/api/v1/plugins/{name}",
            Role::Viewer,
            "getPlugin",
            "Get a plugin",
            api::get,
        )
        .refuses(&["name_ambiguous"]),
        Route::new(
            get.clone(),
            "/api/v1/plugins/{name}/logs",
            Role::Admin,
            "getPluginLogs",
            "Get the last lines of a plugin's log, oldest first",
            api::logs,
        )
        .unbound()
        .refuses(&["name_ambiguous"]),
        Route::new(
            Method::POST,
            "/api/v1/plugins/{name}/activate",
            Role::Admin,
            "activatePlugin",
            "Activate a generation, fully or as a canary",
            api::activate,
        )
        .unbound()
        .refuses(&[
            "already_active",
            "canary_percent_invalid",
            "digest_ambiguous",
            "digest_invalid",
            "name_ambiguous",
            "no_active_generation",
        ]),
        Route::new(
            Method::POST,
            "/api/v1/plugins/{name}/rollback",
            Role::Admin,
            "rollbackPlugin",
            "End a canary, or roll back to the previous generation",
            api::rollback,
        )
        .unbound()
        .refuses(&["name_ambiguous", "no_previous_generation"]),
        Route::new(
            Method::POST,
            "/api/v1/plugins/{name}/quarantine",
            Role::Admin,
            "quarantinePlugin",
            "Quarantine a plugin",
            api::quarantine,
        )
        .unbound()
        .refuses(&["name_ambiguous", "already_quarantined"]),
        Route::new(
            Method::POST,
            "/api/v1/plugins/{name}/release",
            Role::Admin,
            "releasePlugin",
            "Release a quarantined plugin",
            api::release,
        )
        .unbound()
        .refuses(&["name_ambiguous", "not_quarantined"]),
        Route::new(
            get,
            "/api/v1/plugins/{name}/{digest}",
            Role::Admin,
            "getPluginComponent",
            "Download a component",
            api::component,
        )
        .refuses(&["digest_ambiguous", "digest_invalid", "name_ambiguous"]),
        Route::new(
            Method::DELETE,
            "/api/v1/plugins/{name}/{digest}",
            Role::Admin,
            "removePlugin",
            "Delete an unused generation",
            api::remove,
        )
        .unbound()
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
