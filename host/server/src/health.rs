//! Whether the process lives, whether it can serve, and where things are. No identity is needed.

use std::time::Duration;

use ::http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::timeout;

use crate::app::{App, Call, Route};
use crate::datasources;
use crate::error::Error;
use crate::http::{Bare, Role};

/// A store that takes longer to answer is not ready.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);
/// Names of data sources that one answer shows.
const NAMES_SHOWN_MAX: usize = 20;

pub fn routes() -> Vec<Route> {
    let get = Method::GET;
    vec![
        Route::new(get.clone(), "/", Role::Anyone, "getIndex", "Where things are", index),
        Route::new(get.clone(), "/health/live", Role::Anyone, "getLive", "Whether the process lives", live)
            .probe(),
        Route::new(get.clone(), "/health/ready", Role::Anyone, "getReady", "Whether it can serve", ready)
            .probe(),
        Route::new(
            get,
            "/api/v1/nl2sql/health",
            Role::Anyone,
            "getNl2sqlHealth",
            "Whether questions can be asked",
            ready,
        )
        .probe(),
    ]
}

#[derive(Serialize, JsonSchema)]
struct Index {
    name: &'static str,
    version: &'static str,
    description: &'static str,
    docs: &'static str,
    plugins: &'static str,
    live: &'static str,
    ready: &'static str,
    metrics: &'static str,
}

async fn index(_: Call) -> Result<Bare<Index>, Error> {
    Ok(Bare::new(&Index {
        name: "Lakeport",
        version: env!("CARGO_PKG_VERSION"),
        description: "/openapi.json",
        docs: "/docs",
        plugins: "/api/v1/plugins",
        live: "/health/live",
        ready: "/health/ready",
        metrics: "/metrics",
    }))
}

#[derive(Serialize, JsonSchema)]
struct Live {
    status: &'static str,
}

async fn live(_: Call) -> Result<Bare<Live>, Error> {
    Ok(Bare::new(&Live { status: "live" }))
}

/// Whether the server can serve, and why not.
#[derive(Serialize, JsonSchema)]
struct Readiness {
    /// `ready` or `not_ready`
    status: &'static str,
    checks: Vec<Check>,
}

#[derive(Serialize, JsonSchema)]
struct Check {
    name: &'static str,
    ok: bool,
    message: String,
    /// Where false, it is named and does not make the server unready.
    required: bool,
}

async fn ready(call: Call) -> Result<Bare<Readiness>, Error> {
    let app = &call.state;
    let checks = vec![store(app).await, bundled(app), data_sources(&call).await];
    let all = checks.iter().all(|check| check.ok || !check.required);
    let status = if all { "ready" } else { "not_ready" };
    let code = if all { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    Ok(Bare::new(&Readiness { status, checks }).with_status(code))
}

async fn store(app: &App) -> Check {
    let (ok, message) = match timeout(STORE_TIMEOUT, app.db.read("SELECT 1", &[])).await {
        Ok(Ok(_)) => (true, format!("{} answers", app.db.product())),
        Ok(Err(error)) => {
            tracing::warn!("the store does not answer: {error}");
            (false, format!("{} does not answer; the log has the reason", app.db.product()))
        }
        Err(_) => (false, format!("{} did not answer within {STORE_TIMEOUT:?}", app.db.product())),
    };
    Check { name: "store", ok, message, required: true }
}

fn bundled(app: &App) -> Check {
    let missing = app.plugins.bundled_not_active();
    let message = match (missing.is_empty(), app.plugins.bundled().len()) {
        (false, _) => missing.join("; "),
        (true, 0) => "built without plugins".to_owned(),
        (true, count) => format!("{count} bundled plugins are active"),
    };
    Check { name: "plugins", ok: missing.is_empty(), message, required: true }
}

/// Named, so that an operator sees what this server speaks of, where it is known who asks. They have
/// a `test` of their own.
async fn data_sources(call: &Call) -> Check {
    let named = timeout(STORE_TIMEOUT, datasources::names(&call.state.db)).await;
    let (ok, message) = match named {
        Ok(Ok(names)) if call.caller.role == Role::Anyone => (true, format!("{} configured", names.len())),
        Ok(Ok(names)) => {
            let shown: Vec<&str> = names.iter().take(NAMES_SHOWN_MAX).map(String::as_str).collect();
            let more = names.len().saturating_sub(NAMES_SHOWN_MAX);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            (true, format!("{} configured: {}{more}", names.len(), shown.join(", ")))
        }
        _ => (false, "they could not be read".to_owned()),
    };
    Check { name: "datasources", ok, message, required: false }
}
