//! The host functions of native builds: they answer from the thread's [`TestHost`](super::TestHost). Each module
//! has the types of the contract's interface and its functions.

use super::state::Family;
use super::{clock as zones, with_state};

/// Engines alone.
const ENGINE: &[Family] = &[Family::Engine];
const ENGINE_AND_TOOL: &[Family] = &[Family::Engine, Family::Tool];

/// `lakeport:host/call`.
pub mod call {
    use super::{ENGINE, with_state};

    pub fn id() -> String {
        with_state(|state| state.call_of("call", ENGINE).id.clone())
    }

    pub fn remaining_ms() -> u32 {
        with_state(|state| {
            state.call_of("call", ENGINE);
            u32::try_from(state.remaining().as_millis()).unwrap_or(u32::MAX)
        })
    }

    pub fn cancelled() -> bool {
        with_state(|state| state.call_of("call", ENGINE).is_cancelled)
    }
}

/// `lakeport:host/config`.
pub mod config {
    use super::{ENGINE_AND_TOOL, with_state};
    pub use crate::bindings::host::config::Json;

    pub fn instance() -> String {
        with_state(|state| {
            state.call_of("config", ENGINE_AND_TOOL);
            state.instance.clone()
        })
    }

    pub fn settings() -> Json {
        with_state(|state| {
            state.call_of("config", ENGINE_AND_TOOL);
            state.settings.to_string()
        })
    }

    pub fn auth_recipe() -> Option<String> {
        with_state(|state| {
            state.call_of("config", ENGINE_AND_TOOL);
            state.recipe.clone()
        })
    }

    pub fn time_zone() -> String {
        with_state(|state| {
            state.call_of("config", ENGINE_AND_TOOL);
            state.zone.name().to_owned()
        })
    }
}

/// `lakeport:host/clock`.
pub mod clock {
    use super::{ENGINE_AND_TOOL, with_state, zones};
    pub use crate::bindings::host::clock::{Error, Timestamp};

    pub fn now() -> Timestamp {
        with_state(|state| {
            state.call_of("clock", ENGINE_AND_TOOL);
            state.now_ms
        })
    }

    pub fn to_local(at: Timestamp, zone: &str) -> Result<String, Error> {
        with_state(|state| {
            state.call_of("clock", ENGINE_AND_TOOL);
            zones::to_local(at, zone)
        })
    }

    pub fn from_local(local: &str, zone: &str) -> Result<Timestamp, Error> {
        with_state(|state| {
            state.call_of("clock", ENGINE_AND_TOOL);
            zones::from_local(local, zone)
        })
    }
}

/// `lakeport:host/memo`.
pub mod memo {
    use std::time::Duration;

    use super::{ENGINE, with_state};

    pub fn get(key: &str) -> Option<String> {
        with_state(|state| {
            state.call_of("memo", ENGINE);
            state.memo.get(key, state.passed)
        })
    }

    pub fn put(key: &str, value: &str, keep_s: u32) {
        with_state(|state| {
            state.call_of("memo", ENGINE);
            if state.keeps_memo {
                state.memo.put(key, value, state.passed + Duration::from_secs(keep_s.into()));
            }
        });
    }
}

/// `lakeport:host/http`.
pub mod http {
    use super::with_state;
    pub use crate::bindings::host::http::{Error, Request, Response};

    pub fn send(request: &Request) -> Result<Response, Error> {
        with_state(|state| state.send(request))
    }
}

/// `lakeport:host/files`.
pub mod files {
    use super::{ENGINE, with_state};
    pub use crate::bindings::host::files::{Error, File, FilePage, Page, Timestamp};

    pub fn read(path: &str) -> Result<Vec<u8>, Error> {
        with_state(|state| {
            state.call_of("files", ENGINE);
            state.check_folder()?;
            state.folder.read(path)
        })
    }

    pub fn write(path: &str, content: &[u8]) -> Result<bool, Error> {
        with_state(|state| {
            state.call_of("files", ENGINE);
            state.write_file(path, content)
        })
    }

    pub fn entries(folder: &str, page: &Page) -> Result<FilePage, Error> {
        with_state(|state| {
            state.call_of("files", ENGINE);
            state.check_folder()?;
            state.folder.entries(folder, page)
        })
    }

    pub fn remove(path: &str) -> Result<bool, Error> {
        with_state(|state| {
            state.call_of("files", ENGINE);
            state.check_folder()?;
            state.folder.remove(path)
        })
    }
}
