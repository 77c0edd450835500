//! `lakeport:host/memo`: a small cache of a configured instance. It may lose entries at any time.

use std::time::Duration;

use lakeport_bindings::host::memo::Host;

use crate::state::CallState;

impl Host for CallState {
    async fn get(&mut self, key: String) -> wasmtime::Result<Option<String>> {
        Ok(self.instance.as_ref().and_then(|instance| instance.memo.get(&key)))
    }

    async fn put(&mut self, key: String, value: String, keep_s: u32) -> wasmtime::Result<()> {
        if let Some(instance) = &self.instance {
            instance.memo.put(key, value, Duration::from_secs(keep_s.into()));
        }
        Ok(())
    }
}
