//! Liveness and readiness. No identity is required.

use std::sync::Arc;
use std::time::Duration;

use ::http::{Method, StatusCode};
use lakeport_base::Error;
use lakeport_http::{Bare, Nothing, Role, Route};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::timeout;

use crate::core::{Core, stands_on_core};
use crate::datasources;
use crate::part::Part;
use crate::plugins::Plugins;

/// The time limit for the store's answer in the readiness check.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);
/// The most names of data sources in an answer.
const NAMES_SHOWN_MAX: usize = 20;

/// The inputs of the checks.
pub struct Health {
    core: Arc<Core>,
    plugins: Arc<Plugins>,
}

stands_on_core!(Health);

impl Health {
    pub fn new(core: &Arc<Core>, plugins: &Arc<Plugins>) -> Health {
        Health { core: Arc::clone(core), plugins: Arc::clone(plugins) }
    }
}

pub fn part() -> Part<Health> {
    Part {
        tags: &[("operation", "Health, metrics, OpenAPI description")],
        routes: routes(),
        ..Part::default()
    }
}

/// A request to this module.
type Call<P = Nothing, Q = Nothing, B = Nothing> = lakeport_http::Call<Health, P, Q, B>;

fn routes() -> Vec<Route<Health>> {
    let get = Method::GET;
    vec![
        Route::new(
            get.clone(),
            "/health/live",
            Role::Anyone,
            "getLive",
            "Check that the process is alive",
            live,
        )
        .probe(),
        Route::new(
            get.clone(),
            "/health/ready",
            Role::Anyone,
            "getReady",
            "Check that the server can serve requests",
            ready,
        )
        .also(503, "The server is not ready; the answer says why")
        .probe(),
        Route::new(
            get,
            "/api/v1/nl2sql/health",
            Role::Anyone,
            "getNl2sqlHealth",
            "Check whether questions can be answered",
            ready,
        )
        .also(503, "The server is not ready; the answer says why")
        .probe(),
    ]
}

#[derive(Serialize, JsonSchema)]
struct Live {
    status: &'static str,
}

async fn live(_: Call) -> Result<Bare<Live>, Error> {
    Ok(Bare::new(&Live { status: "live" }))
}

/// Whether the server is ready, and why not.
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
    /// If false, a failure is reported but does not make the server unready.
    required: bool,
}

async fn ready(call: Call) -> Result<Bare<Readiness>, Error> {
    let state = &call.state;
    let checks = vec![store(state).await, bundled(state), data_sources(&call).await];
    let all = checks.iter().all(|check| check.ok || !check.required);
    let status = if all { "ready" } else { "not_ready" };
    let code = if all { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    Ok(Bare::new(&Readiness { status, checks }).with_status(code))
}

async fn store(state: &Health) -> Check {
    let (ok, message) = match timeout(STORE_TIMEOUT, state.db.read("SELECT 1", &[])).await {
        Ok(Ok(_)) => (true, format!("{} answers", state.db.product())),
        Ok(Err(error)) => {
            tracing::warn!("the store does not answer: {error}");
            (false, format!("{} does not answer; the log has the reason", state.db.product()))
        }
        Err(_) => (false, format!("{} did not answer within {STORE_TIMEOUT:?}", state.db.product())),
    };
    Check { name: "store", ok, message, required: true }
}

fn bundled(state: &Health) -> Check {
    let missing = state.plugins.bundled_not_active();
    let message = match (missing.is_empty(), state.plugins.bundled().len()) {
        (false, _) => missing.join("; "),
        (true, 0) => "built without plugins".to_owned(),
        (true, count) => format!("{count} bundled plugins are active"),
    };
    Check { name: "plugins", ok: missing.is_empty(), message, required: true }
}

/// Reports names only, to authenticated callers. Data sources have a `test` of their own.
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
