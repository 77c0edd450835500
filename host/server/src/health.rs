//! Whether the process lives, whether it can serve, and where things are. No identity is needed.

use std::time::Duration;

use ::http::{Method, StatusCode};
use serde::Serialize;
use serde_json::json;
use tokio::time::timeout;

use crate::app::{App, Call, Route};
use crate::error::Error;
use crate::http::{Reply, Role};

/// A store that takes longer to answer is not ready.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);

pub fn routes() -> Vec<Route> {
    vec![
        Route::new(Method::GET, "/", Role::Anyone, "index", index),
        Route::new(Method::GET, "/health/live", Role::Anyone, "live", live),
        Route::new(Method::GET, "/health/ready", Role::Anyone, "ready", ready),
    ]
}

async fn index(_: Call) -> Result<Reply, Error> {
    Ok(Reply::bare(&json!({
        "name": "Lakeport",
        "version": env!("CARGO_PKG_VERSION"),
        "plugins": "/api/v1/plugins",
        "live": "/health/live",
        "ready": "/health/ready",
    })))
}

async fn live(_: Call) -> Result<Reply, Error> {
    Ok(Reply::bare(&json!({ "status": "live" })))
}

#[derive(Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
    message: String,
}

async fn ready(call: Call) -> Result<Reply, Error> {
    let checks = [store(&call.state).await, bundled(&call.state)];
    let all = checks.iter().all(|check| check.ok);
    let status = if all { "ready" } else { "not_ready" };
    let code = if all { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    Ok(Reply::bare(&json!({ "status": status, "checks": checks })).status(code))
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
    Check { name: "store", ok, message }
}

fn bundled(app: &App) -> Check {
    let missing = app.plugins.bundled_not_active();
    let message = match (missing.is_empty(), app.plugins.bundled().len()) {
        (false, _) => missing.join("; "),
        (true, 0) => "built without plugins".to_owned(),
        (true, count) => format!("{count} bundled plugins are active"),
    };
    Check { name: "plugins", ok: missing.is_empty(), message }
}
