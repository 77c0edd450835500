//! A component in the plugin host: let in, active, without a server around it.

use std::fmt;
use std::sync::Arc;

use lakeport_plugins::{Generation, Origin, Registry, RegistrySettings, Sandbox, SandboxSettings};

/// A component that was let in and answers.
pub struct Loaded {
    /// The host.
    pub registry: Arc<Registry>,
    /// What was let in.
    pub generation: Arc<Generation>,
}

/// Why a component was not let in, for its author.
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
    /// Lets a component in as the server would, and makes it active. It is never quarantined: what fails is counted
    /// by the kit.
    pub async fn new(component: Vec<u8>) -> Result<Loaded, LoadError> {
        let settings = RegistrySettings { quarantine_after: 0, ..RegistrySettings::default() };
        let sandbox = Sandbox::new(&SandboxSettings::default(), None)
            .map_err(|error| LoadError(format!("the sandbox does not start on this machine: {error}")))?;
        let registry = Arc::new(Registry::new(Arc::new(sandbox), settings));
        let staged = registry
            .stage(component, Origin::Uploaded)
            .await
            .map_err(|error| LoadError(format!("the host does not let the component in: {error}")))?;
        let generation = staged.generation;
        registry
            .activate(&generation.id, &generation.digest, None)
            .map_err(|error| LoadError(format!("the component was let in and cannot be active: {error}")))?;
        Ok(Loaded { registry, generation })
    }
}
