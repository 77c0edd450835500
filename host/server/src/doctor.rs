//! `lakeport doctor`: checks each prerequisite of the server and suggests remedies. It changes nothing.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use chrono::{TimeZone, Utc};
use lakeport_plugins::{
    CompiledCache, Compiler, Origin, Registry, RegistrySettings, Sandbox, SandboxSettings,
};
use lakeport_store::{Address, Db};
use serde::Serialize;
use tokio::net::TcpListener;

use crate::auth;
use crate::client::Client;
use crate::config::Config;

/// 2026-01-01: an earlier clock was never set.
const CLOCK_MIN_MS: i64 = 1_767_225_600_000;
/// Bits of a mode that let group or others write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Ok,
    Warning,
    Failed,
}

/// The result of one check.
#[derive(Debug, Serialize)]
pub struct Check {
    outcome: Outcome,
    name: &'static str,
    message: String,
}

impl Check {
    fn ok(name: &'static str, message: impl Into<String>) -> Check {
        Check { outcome: Outcome::Ok, name, message: message.into() }
    }

    fn warning(name: &'static str, message: impl Into<String>) -> Check {
        Check { outcome: Outcome::Warning, name, message: message.into() }
    }

    fn failed(name: &'static str, message: impl Into<String>) -> Check {
        Check { outcome: Outcome::Failed, name, message: message.into() }
    }

    pub fn has_failed(&self) -> bool {
        self.outcome == Outcome::Failed
    }
}

/// All checks, in the order of a start.
pub async fn run(config: anyhow::Result<Config>) -> Vec<Check> {
    let config = match config {
        Ok(config) => config,
        Err(error) => return vec![Check::failed("settings", format!("{error:#}"))],
    };
    let mut checks =
        vec![settings(&config), data_dir(&config.data_dir), port(&config).await, store(&config).await];
    let (cache, found) = compiled_cache(&config.plugins_cache_dir());
    checks.push(found);
    let (sandbox, found) = memory(cache);
    checks.push(found);
    checks.extend(plugins(sandbox).await);
    checks.push(time_zone(&config));
    checks.push(clock());
    checks
}

/// One line each: outcome, name, message.
pub fn render(checks: &[Check], json: bool) -> anyhow::Result<String> {
    if json {
        return Ok(serde_json::to_string_pretty(checks)? + "\n");
    }
    let line = |check: &Check| {
        let outcome = match check.outcome {
            Outcome::Ok => "ok",
            Outcome::Warning => "warning",
            Outcome::Failed => "failed",
        };
        format!("{outcome:<7}  {:<12}  {}\n", check.name, check.message)
    };
    Ok(checks.iter().map(line).collect())
}

fn settings(config: &Config) -> Check {
    match config.warnings.as_slice() {
        [] => Check::ok("settings", "all are readable; `lakeport config --explain` shows them"),
        warnings => Check::warning("settings", warnings.join("; ")),
    }
}

fn data_dir(folder: &Path) -> Check {
    let shown = folder.display();
    let name = "data folder";
    let metadata = match fs::metadata(folder) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return absent_data_dir(folder),
        Err(error) => return Check::failed(name, format!("{shown} cannot be looked at: {error}")),
    };
    if !metadata.is_dir() {
        return Check::failed(name, format!("{shown} is not a folder; set data_dir to one"));
    }
    if let Err(error) = tempfile_in(folder) {
        return Check::failed(
            name,
            format!("{shown} cannot be written ({error}); set data_dir to one that can"),
        );
    }
    let mode = metadata.permissions().mode() & 0o777;
    if mode & WRITABLE_BY_OTHERS != 0 {
        return Check::warning(
            name,
            format!("{shown} can be written by others (mode {mode:o}): chmod 700 {shown}"),
        );
    }
    Check::ok(name, format!("{shown} can be written (mode {mode:o})"))
}

fn absent_data_dir(folder: &Path) -> Check {
    let parent = folder.ancestors().skip(1).find(|parent| parent.as_os_str().is_empty() || parent.exists());
    let parent = parent.filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let shown = folder.display();
    match tempfile_in(parent) {
        Ok(()) => Check::ok("data folder", format!("{shown} is not there yet; the first start makes it")),
        Err(error) => Check::failed(
            "data folder",
            format!(
                "{shown} is not there and cannot be made ({error}); set data_dir to a folder you may write"
            ),
        ),
    }
}

/// Creates a file and removes it: modes alone do not show read-only mounts and quotas.
fn tempfile_in(folder: &Path) -> std::io::Result<()> {
    let path = folder.join(format!(".lakeport-doctor-{}", uuid::Uuid::now_v7().simple()));
    fs::OpenOptions::new().write(true).create_new(true).open(&path)?;
    fs::remove_file(&path)
}

async fn port(config: &Config) -> Check {
    let address = config.listen;
    if let Err(error) = auth::refuse_wide_listening(address)
        && !has_identities(config).await
    {
        return Check::failed("port", error.to_string());
    }
    match TcpListener::bind(address).await {
        Ok(_) => Check::ok("port", format!("{address} is free")),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            let lives = match Client::new(&format!("http://{address}"), None) {
                Ok(client) => {
                    client.bytes("/health/live").await.is_ok_and(|body| &body[..] == br#"{"status":"live"}"#)
                }
                Err(_) => false,
            };
            if lives {
                Check::ok("port", format!("a Lakeport answers on {address} already"))
            } else {
                let hint = format!("use another port with --listen {}:PORT", address.ip());
                Check::failed("port", format!("{address} is taken by another program: stop it, or {hint}"))
            }
        }
        Err(error) => Check::failed("port", format!("cannot listen on {address}: {error}")),
    }
}

/// Whether callers can authenticate, so that other machines may connect.
async fn has_identities(config: &Config) -> bool {
    if config.oidc.issuer.is_some() {
        return true;
    }
    let is_there = match &config.database.address {
        Address::Sqlite(path) => path.exists(),
        Address::Postgres(_) => true,
    };
    let Some(db) = (if is_there { Db::connect(&config.database.address).await.ok() } else { None }) else {
        return false;
    };
    let tokens = auth::store::live(&db).await;
    db.close().await;
    tokens.is_ok_and(|tokens| !tokens.is_empty())
}

async fn store(config: &Config) -> Check {
    let shown = config.database.shown();
    if let Address::Sqlite(path) = &config.database.address
        && !path.exists()
    {
        return Check::ok("store", format!("{shown} is not there yet; the first start makes it"));
    }
    let db = match Db::connect(&config.database.address).await {
        Ok(db) => db,
        Err(error) => {
            return Check::failed("store", format!("{error:#}; check database_url and that it runs"));
        }
    };
    let version = db.schema_version().await;
    db.close().await;
    match version {
        Ok(version) if version.stored > version.program => Check::failed(
            "store",
            format!(
                "{shown} has schema {}, newer than this program's {}: run the newer Lakeport",
                version.stored, version.program
            ),
        ),
        Ok(version) if version.stored < version.program => Check::ok(
            "store",
            format!("{shown} has schema {}; the next start brings it to {}", version.stored, version.program),
        ),
        Ok(version) => Check::ok("store", format!("{shown} answers, schema {}", version.stored)),
        Err(error) => Check::failed("store", format!("{shown} does not answer: {error:#}")),
    }
}

fn compiled_cache(folder: &Path) -> (Option<CompiledCache>, Check) {
    let name = "cache folder";
    let shown = folder.display();
    if !folder.exists() {
        return (None, Check::ok(name, format!("{shown} is not there yet; the first start makes it")));
    }
    match CompiledCache::open(folder, Compiler::Inside) {
        Ok(cache) => (Some(cache), Check::ok(name, format!("{shown} is private"))),
        Err(error) => (None, Check::failed(name, error.to_string())),
    }
}

/// The pool reserves address space for all calls at once; a limit on it (`ulimit -v`) can make that fail.
fn memory(cache: Option<CompiledCache>) -> (Option<Sandbox>, Check) {
    let settings = SandboxSettings::default();
    match Sandbox::new(&settings, cache) {
        Ok(sandbox) => {
            let message = format!("room for {} calls of plugins at the same time", settings.calls_max);
            (Some(sandbox), Check::ok("memory", message))
        }
        Err(error) => {
            let hint = "raise the limit on address space (`ulimit -v unlimited`)";
            (None, Check::failed("memory", format!("the plugin engine does not start: {error:#}; {hint}")))
        }
    }
}

async fn plugins(sandbox: Option<Sandbox>) -> Vec<Check> {
    let name = "plugin";
    let components = lakeport_bundled::components();
    if components.is_empty() {
        return vec![Check::warning(name, "built without plugins: run `cargo xtask build`")];
    }
    let Some(sandbox) = sandbox else {
        return vec![Check::failed(name, "not tried: the plugin engine does not start")];
    };
    let registry = Arc::new(Registry::new(Arc::new(sandbox), RegistrySettings::default()));
    let mut checks = Vec::new();
    for component in components {
        checks.push(match registry.stage(component.bytes.to_vec(), Origin::Bundled).await {
            Ok(staged) => {
                let generation = &staged.generation;
                Check::ok(name, format!("{} {} loads", generation.id, generation.description.version()))
            }
            Err(error) => Check::failed(
                name,
                format!(
                    "{} cannot be staged: {error}; rebuild the server with `cargo xtask build`",
                    component.file_name
                ),
            ),
        });
    }
    checks
}

fn time_zone(config: &Config) -> Check {
    let now = Utc::now().with_timezone(&config.time_zone).format("%Y-%m-%d %H:%M:%S");
    Check::ok("time zone", format!("{}, where it is {now} now", config.time_zone.name()))
}

fn clock() -> Check {
    let now_ms = Utc::now().timestamp_millis();
    if now_ms >= CLOCK_MIN_MS {
        return Check::ok("clock", "set");
    }
    let shown = Utc.timestamp_millis_opt(now_ms).single().map(|time| time.to_rfc3339()).unwrap_or_default();
    Check::failed("clock", format!("says {shown}, which is past: set it, schedules and times depend on it"))
}
