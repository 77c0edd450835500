//! The origin of a component and of a call.

use std::sync::Arc;

use crate::counters::RequestCounters;
use crate::family::Family;
use crate::log::PluginLog;
use crate::places::PluginPlaces;

/// The origin of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Bundled with the host.
    Bundled,
    /// Uploaded through the API.
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

/// The component that a call runs.
#[derive(Clone)]
pub(crate) struct CallOrigin {
    pub family: Family,
    pub digest: Arc<str>,
    /// Imported interfaces that the operator withholds.
    pub withheld: Arc<[String]>,
    pub log: Arc<PluginLog>,
    /// The places for the plugin's concurrent calls.
    pub places: Arc<PluginPlaces>,
    /// Of the component's requests.
    pub request_counters: Arc<RequestCounters>,
}
