//! Digests of what earlier versions of this program have deployed: they did not store them.

use lakeport_base::Error;

use super::store;
use crate::workflows::Workflows;
use crate::workflows::versions::{self, Snapshot};

/// Workflows that are read at once.
const AT_ONCE: i64 = 100;

/// Computes the missing ones.
pub async fn fill(state: &Workflows) -> Result<(), Error> {
    loop {
        let missing = store::without_digest(&state.db, AT_ONCE).await?;
        if missing.is_empty() {
            return Ok(());
        }
        for (workflow_id, version) in missing {
            let snapshot = Snapshot::read(&state.db, workflow_id, version).await?;
            let digest = match snapshot {
                Some(snapshot) => versions::definition_digest(&snapshot.content, snapshot.parts()?),
                // A version that is gone is like no other.
                None => "unknown".to_owned(),
            };
            store::set_digest(&state.db, workflow_id, version, &digest).await?;
        }
    }
}
