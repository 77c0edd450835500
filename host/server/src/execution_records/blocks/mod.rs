//! Blocks: a packed copy of what statistics need of the executions, and how many executions there are.
//!
//! A block holds the executions of 2,048 consecutive ids, in some 16 kB. A server keeps the blocks in memory, so it
//! goes through a million executions in 20 ms, and statistics are exact for any time, task and zone.
//!
//! Triggers note the block of each execution that is inserted, changed or deleted, in the same transaction. A noted
//! block is read from the executions themselves until it is packed again. Blocks are only ever made from the
//! executions, so they cannot drift: what is not packed is noted, and to lose a block, and note it, is harmless.

mod packed;
mod store;
#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use lakeport_base::Error;
use lakeport_store::Snapshot;
use parking_lot::Mutex;

pub use packed::Entry;
pub use store::{IDS, changed, count, pack};

/// Blocks of eight million executions; a server reads older ones from the store each time.
const MEMORY_MAX_BYTES: usize = 64 * 1024 * 1024;

/// The executions of [`IDS`] consecutive ids.
#[derive(Debug)]
struct Block {
    /// Is another one whenever the block is packed again. 0: it was not read from the store.
    id: i64,
    number: i64,
    /// The number of executions.
    count: i64,
    first_at_ms: i64,
    last_at_ms: i64,
    packed: Vec<u8>,
}

impl Block {
    /// The block of these executions; `None`: there are none.
    fn of(number: i64, entries: Vec<Entry>) -> Option<Block> {
        let first_at_ms = entries.iter().map(|entry| entry.at_ms).min()?;
        let last_at_ms = entries.iter().map(|entry| entry.at_ms).max()?;
        let count = i64::try_from(entries.len()).ok()?;
        Some(Block {
            id: 0,
            number,
            count,
            first_at_ms,
            last_at_ms,
            packed: packed::pack(entries, first_at_ms),
        })
    }

    fn reaches_into(&self, time_ms: &Range<i64>) -> bool {
        self.last_at_ms >= time_ms.start && self.first_at_ms < time_ms.end
    }

    /// The number of executions, of a task or of all.
    fn count(&self, task_id: Option<i64>) -> Result<i64, Error> {
        match task_id {
            None => Ok(self.count),
            Some(id) => packed::count(&self.packed, id),
        }
    }
}

/// The blocks in memory.
#[derive(Default)]
pub struct Blocks(Mutex<Arc<Packed>>);

/// Packed blocks as they are in the store.
#[derive(Default)]
struct Packed {
    /// All blocks of the store, those in memory or not.
    stored: Stored,
    /// Ordered by number.
    blocks: Vec<Arc<Block>>,
}

/// Tells whether the blocks of the store are still the same: each block that is packed gets a new, higher id.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Stored {
    newest_id: i64,
    blocks: i64,
}

impl Blocks {
    /// All executions at this moment.
    pub async fn view(&self, moment: &Snapshot) -> Result<View, Error> {
        let stored = store::stored(moment).await?;
        let in_memory = Arc::clone(&self.0.lock());
        let is_current = in_memory.stored == stored && in_memory.blocks.len() as i64 == stored.blocks;
        let packed = if is_current { in_memory } else { self.load(moment, stored, &in_memory).await? };
        let mut blocks: BTreeMap<i64, Arc<Block>> =
            packed.blocks.iter().map(|block| (block.number, Arc::clone(block))).collect();
        for number in store::changed(moment).await? {
            match Block::of(number, store::entries(number).all(moment).await?) {
                Some(block) => blocks.insert(number, Arc::new(block)),
                None => blocks.remove(&number),
            };
        }
        Ok(View { blocks: blocks.into_values().collect() })
    }

    /// Reads the blocks that are not in memory; keeps the newest ones there.
    async fn load(&self, moment: &Snapshot, stored: Stored, before: &Packed) -> Result<Arc<Packed>, Error> {
        let mut known: HashMap<i64, Arc<Block>> =
            before.blocks.iter().map(|block| (block.id, Arc::clone(block))).collect();
        let ids = store::ids(moment).await?;
        let missing: Vec<i64> = ids.iter().filter(|id| !known.contains_key(id)).copied().collect();
        for block in store::load(moment, &missing).await? {
            known.insert(block.id, Arc::new(block));
        }
        let mut blocks: Vec<Arc<Block>> = ids.iter().filter_map(|id| known.remove(id)).collect();
        blocks.sort_unstable_by_key(|block| block.number);
        let mut in_memory = Packed { stored, blocks: blocks.clone() };
        let mut bytes = 0;
        let is_kept = |block: &&Arc<Block>| {
            bytes += block.packed.len();
            bytes <= MEMORY_MAX_BYTES
        };
        let kept = blocks.iter().rev().take_while(is_kept).count();
        in_memory.blocks.drain(..blocks.len() - kept);
        *self.0.lock() = Arc::new(in_memory);
        Ok(Arc::new(Packed { stored, blocks }))
    }
}

/// All executions at one moment.
#[derive(Debug)]
pub struct View {
    /// Ordered by number.
    blocks: Vec<Arc<Block>>,
}

/// Where a page begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// After this number of executions...
    pub skipped: i64,
    /// ...with lower ids than this one, newest first.
    pub before_id: i64,
}

impl View {
    /// Calls `take` with each execution, of a task or of all, that began in this time.
    pub fn each(
        &self,
        task_id: Option<i64>,
        time_ms: Range<i64>,
        mut take: impl FnMut(Entry),
    ) -> Result<(), Error> {
        for block in &self.blocks {
            if !block.reaches_into(&time_ms) {
                continue;
            }
            packed::each(&block.packed, block.first_at_ms, task_id, |entry| {
                if time_ms.contains(&entry.at_ms) {
                    take(entry);
                }
            })?;
        }
        Ok(())
    }

    /// The number of executions, of a task or of all, of the blocks that [`View::each`] goes through.
    pub fn at_most(&self, task_id: Option<i64>, time_ms: &Range<i64>) -> Result<usize, Error> {
        let mut count = 0;
        for block in self.blocks.iter().filter(|block| block.reaches_into(time_ms)) {
            count += usize::try_from(block.count(task_id)?).map_err(Error::internal)?;
        }
        Ok(count)
    }

    /// The number of executions, of a task or of all, and where the one after the newest `offset` ones is; no place:
    /// there is none.
    pub fn place(&self, task_id: Option<i64>, offset: i64) -> Result<(i64, Option<Place>), Error> {
        let (mut total, mut place) = (0, None);
        for block in self.blocks.iter().rev() {
            let count = block.count(task_id)?;
            if place.is_none() && offset - total < count {
                place = Some(Place { skipped: offset - total, before_id: (block.number + 1) * IDS });
            }
            total += count;
        }
        Ok((total, place))
    }
}
