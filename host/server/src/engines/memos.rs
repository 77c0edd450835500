//! What calls of an engine share, for each configuration and generation of its plugin: the memo, a small cache that the
//! plugin fills, and the HTTP with its connections and its log-in.

use std::collections::HashMap;
use std::sync::Arc;

use lakeport_base::Error;
use lakeport_plugins::{InstanceHttp, Memo};
use parking_lot::Mutex;

use super::store::EngineRecord;

/// The generations of one configuration that have a memo: with a canary there are two.
const GENERATIONS_MAX: usize = 4;

/// By engine.
#[derive(Default)]
pub struct Memos(Mutex<HashMap<String, (i64, Arc<OfConfiguration>)>>);

/// Those of one configuration, by the digest of the generation.
#[derive(Default)]
pub struct OfConfiguration(Mutex<HashMap<String, Shared>>);

/// What the calls of one generation share.
#[derive(Clone, Default)]
pub struct Shared {
    pub memo: Arc<Memo>,
    /// `None`: the plugin sends no requests.
    pub http: Option<Arc<InstanceHttp>>,
}

impl Memos {
    /// Those of the engine as it is configured; a change of its configuration or of its secrets drops them.
    pub fn of(&self, engine: &EngineRecord) -> Arc<OfConfiguration> {
        let mut all = self.0.lock();
        match all.get(&engine.name) {
            Some((changed_ms, memos)) if *changed_ms == engine.updated_at_ms => Arc::clone(memos),
            _ => {
                let memos = Arc::<OfConfiguration>::default();
                all.insert(engine.name.clone(), (engine.updated_at_ms, Arc::clone(&memos)));
                memos
            }
        }
    }

    /// Drops those of engines that are not configured any more.
    pub fn keep_only(&self, names: &[String]) {
        self.0.lock().retain(|name, _| names.contains(name));
    }
}

impl OfConfiguration {
    /// What the calls of a generation share; `http` makes its HTTP at the first call.
    pub fn of_generation(
        &self,
        digest: &str,
        http: impl FnOnce() -> Result<Option<InstanceHttp>, Error>,
    ) -> Result<Shared, Error> {
        let mut all = self.0.lock();
        if let Some(shared) = all.get(digest) {
            return Ok(shared.clone());
        }
        let shared = Shared { memo: Arc::default(), http: http()?.map(Arc::new) };
        if all.len() >= GENERATIONS_MAX {
            all.clear();
        }
        all.insert(digest.to_owned(), shared.clone());
        Ok(shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine(name: &str, updated_at_ms: i64) -> EngineRecord {
        EngineRecord {
            name: name.to_owned(),
            plugin: "p".to_owned(),
            config: "{}".to_owned(),
            secrets: None,
            secret_names: Vec::new(),
            created_at_ms: 0,
            updated_at_ms,
            missing_features: Vec::new(),
        }
    }

    #[test]
    fn a_memo_belongs_to_a_configuration_and_a_generation() {
        let memos = Memos::default();
        let memo = |name, at_ms, digest| {
            memos.of(&engine(name, at_ms)).of_generation(digest, || Ok(None)).unwrap().memo
        };
        let first = memo("a", 1, "x");
        assert!(Arc::ptr_eq(&first, &memo("a", 1, "x")));
        assert!(!Arc::ptr_eq(&first, &memo("a", 1, "y")));
        assert!(!Arc::ptr_eq(&first, &memo("b", 1, "x")));
        assert!(!Arc::ptr_eq(&first, &memo("a", 2, "x")), "its configuration has changed");
        let other = memo("b", 1, "x");
        memos.keep_only(&["a".to_owned()]);
        assert!(!Arc::ptr_eq(&other, &memo("b", 1, "x")));
    }
}
