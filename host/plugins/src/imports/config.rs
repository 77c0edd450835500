//! `lakeport:host/config`. A call without a configured instance (`describe`, a trial) gets empty settings.

use lakeport_bindings::host::config::Host;

use crate::state::CallState;

impl Host for CallState {
    async fn instance(&mut self) -> wasmtime::Result<String> {
        Ok(self.instance.as_ref().map_or(String::new(), |instance| instance.name.clone()))
    }

    async fn settings(&mut self) -> wasmtime::Result<String> {
        Ok(self.instance.as_ref().map_or("{}".to_owned(), |instance| instance.settings.to_string()))
    }

    async fn auth_recipe(&mut self) -> wasmtime::Result<Option<String>> {
        Ok(self.instance.as_ref().and_then(|instance| instance.auth_recipe.clone()))
    }

    async fn time_zone(&mut self) -> wasmtime::Result<String> {
        Ok(self.instance.as_ref().map_or("UTC".to_owned(), |instance| instance.time_zone.name().to_owned()))
    }
}
