//! `lakeport:host/call`.

use std::sync::atomic::Ordering;
use std::time::Instant;

use lakeport_bindings::host::call::Host;

use crate::state::CallState;

impl Host for CallState {
    async fn id(&mut self) -> wasmtime::Result<String> {
        Ok(self.call_id.to_string())
    }

    async fn remaining_ms(&mut self) -> wasmtime::Result<u32> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        Ok(u32::try_from(left.as_millis()).unwrap_or(u32::MAX))
    }

    async fn cancelled(&mut self) -> wasmtime::Result<bool> {
        Ok(self.cancelled.load(Ordering::Relaxed))
    }
}
