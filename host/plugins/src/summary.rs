//! What is known of a component that was staged before: its imports, exports and description. With it a
//! server starts without reading or loading components: each one is loaded when it is first called.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::sync::{Arc, LazyLock};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::family::Family;
use crate::inspect::Inspection;
use crate::prepared::Description;

/// The bytes of staged components, for the case that their machine code is no longer in the cache.
pub trait Components: Send + Sync {
    /// The component with this digest. The error says why it cannot be read, for people.
    fn bytes<'a>(&'a self, digest: &'a str) -> BoxFuture<'a, Result<Vec<u8>, String>>;
}

#[derive(Serialize, Deserialize)]
struct Summary {
    /// The program that checked the component: another one checks it again.
    checked_by: String,
    inspection: Inspection,
    description: serde_json::Value,
}

/// The identity of this program's file: what it links and checks is constant.
static PROGRAM: LazyLock<Option<String>> = LazyLock::new(|| {
    let file = fs::metadata("/proc/self/exe").ok()?;
    Some(format!("{} {}.{:09}", file.len(), file.mtime(), file.mtime_nsec()))
});

/// The bytes to keep of a component that passed all checks.
pub fn write(inspection: &Inspection, description: &Description) -> Option<Vec<u8>> {
    let description = match description {
        Description::Dialect(info) => serde_json::to_value(&**info),
        Description::Engine(info) => serde_json::to_value(&**info),
        Description::Tool(info) => serde_json::to_value(&**info),
    };
    let summary = Summary {
        checked_by: PROGRAM.clone()?,
        inspection: inspection.clone(),
        description: description.ok()?,
    };
    serde_json::to_vec(&summary).ok()
}

/// The component of this digest, if this program has checked it.
pub fn read(digest: &str, bytes: &[u8]) -> Option<(Inspection, Description)> {
    let Summary { checked_by, inspection, description: described } = serde_json::from_slice(bytes).ok()?;
    if Some(&checked_by) != PROGRAM.as_ref() || inspection.digest != digest {
        return None;
    }
    let description = match inspection.contract.family {
        Family::Dialect => Description::Dialect(Arc::new(serde_json::from_value(described).ok()?)),
        Family::Engine => Description::Engine(Box::new(serde_json::from_value(described).ok()?)),
        Family::Tool => Description::Tool(Arc::new(serde_json::from_value(described).ok()?)),
    };
    Some((inspection, description))
}
