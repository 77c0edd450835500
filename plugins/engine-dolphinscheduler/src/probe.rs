//! The test of an instance: it changes nothing, and a failed check does not end it.

use lakeport_sdk::engine::{Error, TestCheck, TestReport, clock};
use lakeport_sdk::serde_json::Value;

use crate::about;
use crate::api::Api;
use crate::flavour::Tenant;
use crate::times;

/// How far the clocks may be apart, with the time since a worker gave a sign.
const CLOCKS_APART_MAX_MS: i64 = 15 * 60_000;

fn check(name: &str, outcome: &str, message: impl Into<String>) -> TestCheck {
    TestCheck { name: name.to_owned(), outcome: outcome.to_owned(), message: message.into() }
}

pub fn test() -> Result<TestReport, Error> {
    let api = match Api::open() {
        Ok(api) => api,
        Err(error) => return refused(error),
    };
    let workers = api.get(&api.flavour.workers, Vec::new());
    let clock = workers.as_ref().ok().and_then(|workers| clock_of(workers, api.zone()));
    let checks = [
        check("reachable", "ok", "the API answers"),
        check("log_in", "ok", "the log-in is accepted"),
        check("version", "ok", format!("it has the API of DolphinScheduler {}", api.flavour.name)),
        check("project", "ok", format!("the project has the code {}", api.project)),
        self::workers(workers),
        tenant(&api),
        sources(&api),
    ];
    let checks = checks.into_iter().chain(clock).collect();
    Ok(TestReport { version: Some(api.flavour.name.to_owned()), checks, missing_features: Vec::new() })
}

/// What the error says of the steps: nothing is asked after it.
fn refused(error: Error) -> Result<TestReport, Error> {
    let name = match error.code.as_str() {
        "unauthorized" | "forbidden" => "log_in",
        "not_found" => "project",
        "unsupported" => "version",
        _ => return Err(error),
    };
    let mut checks = vec![check("reachable", "ok", "the API answers")];
    if name != "log_in" {
        checks.push(check("log_in", "ok", "the log-in is accepted"));
    }
    checks.push(check(name, "failed", error.message));
    Ok(TestReport { version: None, checks, missing_features: Vec::new() })
}

fn workers(workers: Result<Value, Error>) -> TestCheck {
    match workers {
        Ok(Value::Array(workers)) if !workers.is_empty() => {
            let count = workers.len();
            let message = if count == 1 {
                "1 worker is registered".to_owned()
            } else {
                format!("{count} workers are registered")
            };
            check("workers", "ok", message)
        }
        Ok(_) => check("workers", "warning", "no worker is registered: no task would run"),
        Err(error) => check("workers", "skipped", error.message),
    }
}

/// Whether the times there are of the zone of the settings: runs are looked for by them. `None`: nothing shows the time.
fn clock_of(workers: &Value, zone: &str) -> Option<TestCheck> {
    let mut beats = workers.as_array()?.iter();
    let shown = beats.find_map(|worker| worker["lastHeartbeatTime"].as_str())?;
    let beat = times::read(&Value::from(shown), zone)?;
    let apart_ms = (clock::now() - beat).abs();
    Some(if apart_ms <= CLOCKS_APART_MAX_MS {
        check("clock", "ok", format!("its clock is in the zone {zone}"))
    } else {
        let message = format!(
            "its clock showed {shown} at the last sign of a worker, which is {} minutes from now in the zone {zone}: no \
             run would be seen; set `timeZone` to the zone of its clock",
            apart_ms / 60_000
        );
        check("clock", "failed", message)
    })
}

/// 3.1 starts nothing without a tenant of its own.
fn tenant(api: &Api) -> TestCheck {
    let known = match api.get(&["tenants", "list"], Vec::new()) {
        Ok(known) => known,
        Err(error) => return check("tenant", "skipped", error.message),
    };
    let has = |name: &str| known.as_array().into_iter().flatten().any(|tenant| tenant["tenantCode"] == *name);
    match (&api.settings.tenant, &api.flavour.tenant) {
        (Some(tenant), _) if has(tenant) || tenant == "default" => {
            check("tenant", "ok", format!("the tenant {tenant} is known"))
        }
        (Some(tenant), _) => {
            let message =
                format!("DolphinScheduler has no tenant {tenant}; make it there, or change the setting");
            check("tenant", "failed", message)
        }
        (None, Tenant::Definition) => {
            let message = "the setting `tenant` is absent: runs are refused unless the user has a tenant";
            check("tenant", "warning", message)
        }
        (None, Tenant::Start) => check("tenant", "ok", "tasks run as the tenant default"),
    }
}

fn sources(api: &Api) -> TestCheck {
    match api.page(&["datasources"], Vec::new(), 1, 100) {
        Ok((rows, total)) => {
            let fits = |row: &&Value| {
                about::SOURCES.iter().flat_map(|(_, kinds)| *kinds).any(|kind| row["type"] == **kind)
            };
            let fit = rows.iter().filter(fits).count();
            let outcome = if fit > 0 { "ok" } else { "warning" };
            check("datasources", outcome, format!("{fit} of {total} data sources can be used by SQL tasks"))
        }
        Err(error) => check("datasources", "skipped", error.message),
    }
}
