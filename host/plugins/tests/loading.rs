//! Components are loaded when they are first called, from the compiled-code cache.

mod support;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use lakeport_plugins::{
    CallError, CompiledCache, Compiler, Components, Origin, Registry, RegistrySettings, SandboxSettings,
};

use support::{ask, component, host_of};

/// Where components can be read again: what is stored, and why there is nothing.
struct Stored(Result<Vec<u8>, String>);

impl Components for Stored {
    fn bytes<'a>(&'a self, _digest: &'a str) -> BoxFuture<'a, Result<Vec<u8>, String>> {
        async { self.0.clone() }.boxed()
    }
}

/// A start of a host with this cache.
fn start(folder: &Path, stored: Result<Vec<u8>, String>) -> Arc<Registry> {
    let cache = CompiledCache::open(folder, Compiler::Inside).expect("a private folder");
    let registry = host_of(&SandboxSettings::default(), Some(cache), RegistrySettings::default());
    registry.load_from(Arc::new(Stored(stored)));
    registry
}

/// Stages and activates the greeter as at a next start: by its digest.
fn recall(registry: &Arc<Registry>, digest: &str) -> bool {
    let Some(staged) = registry.recall(digest, Origin::Uploaded, 0) else { return false };
    let generation = staged.expect("it was staged before").generation;
    registry.activate(&generation.id, digest, None).expect("it was just staged");
    true
}

fn is_loaded(registry: &Registry) -> bool {
    let plugins = registry.list();
    plugins.iter().any(|(_, view)| view.generations.iter().any(|generation| generation.is_loaded()))
}

fn code_of(folder: &Path) -> PathBuf {
    let files = std::fs::read_dir(folder).expect("the cache").map(|entry| entry.expect("a file").path());
    let mut code = files.filter(|path| path.extension().is_some_and(|extension| extension == "cwasm"));
    code.next().expect("compiled code")
}

/// A cache in which the greeter was staged, and its digest.
async fn staged(folder: &Path) -> String {
    let registry = start(folder, Err("nobody asks".to_owned()));
    let staged = registry.stage(component("greeter_v1"), Origin::Uploaded).await.expect("it is good");
    assert!(!is_loaded(&registry), "staging leaves nothing in memory");
    let digest = staged.generation.digest.to_string();
    registry.activate(&staged.generation.id, &digest, None).expect("it was just staged");
    ask(&registry, "greeter", "{}").await.expect("its first call loads it");
    assert!(is_loaded(&registry));
    digest
}

#[tokio::test]
async fn the_first_call_loads_a_component() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("compiled");
    let digest = staged(&folder).await;
    let registry = start(&folder, Err("nobody asks".to_owned()));
    assert!(recall(&registry, &digest));
    assert!(!is_loaded(&registry));
    assert_eq!(registry.tool("greeter", "").info().unwrap().version, "1.0.0");
    assert!(!is_loaded(&registry), "its description is known");
    ask(&registry, "greeter", "{}").await.expect("the cache has it");
    assert!(is_loaded(&registry));
    assert_eq!(registry.sandbox().cache().unwrap().hits_and_misses(), (1, 0));
}

#[tokio::test]
async fn without_code_a_start_asks_for_the_component() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("compiled");
    let digest = staged(&folder).await;
    assert!(!recall(&start(&folder, Err(String::new())), &"0".repeat(64)));
    std::fs::remove_file(code_of(&folder)).unwrap();
    assert!(!recall(&start(&folder, Err(String::new())), &digest));
}

#[tokio::test]
async fn damaged_code_is_compiled_again() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("compiled");
    let digest = staged(&folder).await;
    std::fs::write(code_of(&folder), "damaged").unwrap();
    let registry = start(&folder, Ok(component("greeter_v1")));
    assert!(recall(&registry, &digest));
    ask(&registry, "greeter", "{}").await.expect("the component is stored");
    assert_eq!(registry.sandbox().cache().unwrap().hits_and_misses(), (0, 1));
}

#[tokio::test]
async fn what_cannot_be_loaded_says_why() {
    let temp = tempfile::tempdir().unwrap();
    let folder = temp.path().join("compiled");
    let digest = staged(&folder).await;
    for (stored, words) in [
        (Err("the store no longer has it".to_owned()), "the store no longer has it"),
        (Ok(component("greeter_v2")), "is not the one that was staged"),
    ] {
        std::fs::write(code_of(&folder), "damaged").unwrap();
        let registry = start(&folder, stored);
        assert!(recall(&registry, &digest));
        let error = ask(&registry, "greeter", "{}").await.unwrap_err();
        assert!(matches!(error, CallError::NotActive(_)), "{error}");
        let message = error.to_string();
        assert!(message.contains(words) && message.contains("install it again"), "{message}");
    }
}
