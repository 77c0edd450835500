//! Loads a component into the plugin host, staged and active, without a server.

use std::fmt;
use std::sync::Arc;

use lakeport_plugins::{Generation, Origin, Registry, RegistrySettings, Sandbox, SandboxSettings};

/// A component that is staged and active.
pub struct Loaded {
    /// The host.
    pub registry: Arc<Registry>,
    /// The staged generation.
    pub generation: Arc<Generation>,
}

/// Why a component was not staged, for its author.
#[derive(Debug)]
pub struct LoadError(String);

impl LoadError {
    pub(crate) fn new(message: String) -> LoadError {
        LoadError(message)
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LoadError {}

impl Loaded {
    /// Stages a component as the server would, and activates it. It is never quarantined: the kit counts
    /// failures.
    pub async fn new(component: Vec<u8>) -> Result<Loaded, LoadError> {
        let settings = RegistrySettings { quarantine_after: 0, ..RegistrySettings::default() };
        let sandbox = Sandbox::new(&SandboxSettings::default(), None)
            .map_err(|error| LoadError(format!("the sandbox does not start on this machine: {error}")))?;
        let registry = Arc::new(Registry::new(Arc::new(sandbox), settings));
        let staged = registry
            .stage(component, Origin::Uploaded)
            .await
            .map_err(|error| LoadError(format!("the host refuses the component: {error}")))?;
        let generation = staged.generation;
        registry.activate(&generation.id, &generation.digest, None).map_err(|error| {
            LoadError(format!("the component was staged but cannot be activated: {error}"))
        })?;
        Ok(Loaded { registry, generation })
    }
}
