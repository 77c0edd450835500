//! Compiling components apart from the engine that serves them. The compiler keeps its working memory for the
//! next component, as long as its engine and its threads live; here they end with the component. What is left is
//! machine code in bytes, which the serving engine maps from a file.

use wasmtime::{Engine, InstanceAllocationStrategy};

/// Machine code of a component for `serving`, as [`wasmtime::component::Component::deserialize`] reads it. Takes from
/// milliseconds to many seconds of all processors.
pub fn compile(serving: &Engine, component: &[u8]) -> wasmtime::Result<Vec<u8>> {
    let mut config = serving.config().clone();
    // Nothing is instantiated here, so nothing is reserved for instances. Code does not depend on it.
    config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
    let threads = rayon::ThreadPoolBuilder::new()
        .thread_name(|n| format!("compiler-{n}"))
        .build()
        .map_err(wasmtime::Error::new)?;
    threads.install(|| Engine::new(&config)?.precompile_component(component))
}
