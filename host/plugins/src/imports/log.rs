//! `lakeport:host/log`.

use lakeport_bindings::host::log::{Host, Level};

use crate::log::LogLevel;
use crate::state::CallState;

impl Host for CallState {
    async fn write(
        &mut self,
        level: Level,
        message: String,
        fields: Vec<(String, String)>,
    ) -> wasmtime::Result<()> {
        let level = match level {
            Level::Trace => LogLevel::Trace,
            Level::Debug => LogLevel::Debug,
            Level::Info => LogLevel::Info,
            Level::Warn => LogLevel::Warn,
            Level::Error => LogLevel::Error,
        };
        self.log.lock().write(level, &message, fields);
        Ok(())
    }
}
