//! Where a component comes from, and on whose behalf a call of it is made.

use std::sync::Arc;

use crate::family::Family;
use crate::log::PluginLog;

/// How a component came here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// With the host.
    Bundled,
    /// Through the API.
    Uploaded,
}

impl Origin {
    /// `bundled` or `uploaded`.
    pub fn as_str(self) -> &'static str {
        match self {
            Origin::Bundled => "bundled",
            Origin::Uploaded => "uploaded",
        }
    }
}

/// Whose call it is.
#[derive(Clone)]
pub(crate) struct CallOrigin {
    pub family: Family,
    pub digest: Arc<str>,
    /// Interfaces that it imports and the operator withholds.
    pub withheld: Arc<[String]>,
    pub log: Arc<PluginLog>,
}
