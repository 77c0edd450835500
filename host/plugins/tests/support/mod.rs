//! A plugin host without a server, and the fixture components, which must have been built before.

#![expect(dead_code, reason = "each test file uses its part of it")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lakeport_bindings::tool::tool::{Context, Outcome};
use lakeport_plugins::{
    CallContext, CallError, CallFault, CompiledCache, Origin, PluginId, Registry, RegistrySettings, Sandbox,
    SandboxSettings, StageError,
};

/// A host with the default limits, except for three seconds per call.
pub fn host() -> Arc<Registry> {
    let mut settings = RegistrySettings { quarantine_after: 0, ..RegistrySettings::default() };
    settings.limits.timeout = Duration::from_secs(3);
    host_with(settings)
}

pub fn host_with(settings: RegistrySettings) -> Arc<Registry> {
    host_of(&SandboxSettings::default(), None, settings)
}

pub fn host_of(
    sandbox: &SandboxSettings,
    cache: Option<CompiledCache>,
    settings: RegistrySettings,
) -> Arc<Registry> {
    let sandbox = Sandbox::new(sandbox, cache).expect("the engine starts on this machine");
    Arc::new(Registry::new(Arc::new(sandbox), settings))
}

/// A fixture's bytes.
pub fn component(name: &str) -> Vec<u8> {
    read(&format!("plugin-fixture/examples/{name}.wasm"))
}

/// A bundled plugin's bytes.
pub fn plugin(name: &str) -> Vec<u8> {
    read(&format!("plugin/{name}.wasm"))
}

#[expect(clippy::disallowed_methods, reason = "a test has no configuration but its environment")]
fn read(path: &str) -> Vec<u8> {
    let folder = std::env::var_os("LAKEPORT_WASM_DIR").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/components")),
        PathBuf::from,
    );
    let path = folder.join(path);
    std::fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; `cargo xtask fixtures` builds it", path.display()))
}

/// Stages and activates a fixture.
pub async fn stage_active(registry: &Arc<Registry>, fixture: &str) -> PluginId {
    let staged = registry.stage(component(fixture), Origin::Uploaded).await;
    let generation = staged.unwrap_or_else(|error| panic!("{fixture}: {error}")).generation;
    registry.activate(&generation.id, &generation.digest, None).expect("it was just staged");
    generation.id.clone()
}

pub async fn stage_error(registry: &Arc<Registry>, bytes: Vec<u8>) -> StageError {
    match registry.stage(bytes, Origin::Uploaded).await {
        Ok(staged) => panic!("{} was let in", staged.generation.id),
        Err(error) => error,
    }
}

pub async fn ask(registry: &Arc<Registry>, tool: &str, input: &str) -> Result<Outcome, CallError> {
    ask_for(registry, tool, input, "").await
}

/// Calls a tool with a canary key.
pub async fn ask_for(
    registry: &Arc<Registry>,
    tool: &str,
    input: &str,
    key: &str,
) -> Result<Outcome, CallError> {
    registry.tool(tool, key).call(CallContext::new("test"), input, &about()).await
}

/// The context of a task.
pub fn about() -> Context {
    Context {
        call_id: "c".into(),
        task_id: "t".into(),
        topic_id: "p".into(),
        question: String::new(),
        language: "en".into(),
        default_datasource: None,
        max_rows: 10,
        extra: None,
    }
}

pub fn failed_with(error: &CallError, fault: CallFault, words: &str) {
    let CallError::Failed { fault: found, message, .. } = error else {
        panic!("not a failure of the plugin: {error}")
    };
    assert_eq!(*found, fault, "{message}");
    assert!(message.contains(words), "{message}");
}

/// Resident memory of this process, bytes.
pub fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a line VmRSS");
    line.split_whitespace().nth(1).expect("a number").parse::<usize>().expect("kibibytes") * 1024
}

/// Processor time of this process so far, all threads.
pub fn processor_time() -> Duration {
    const TICKS_A_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let after_name = stat.rsplit(") ").next().expect("fields after the name");
    let fields: Vec<f64> = after_name.split(' ').filter_map(|field| field.parse().ok()).collect();
    // The first field after the name is a letter; utime and stime are the 14th and 15th of all.
    Duration::from_secs_f64((fields[10] + fields[11]) / TICKS_A_SECOND)
}
