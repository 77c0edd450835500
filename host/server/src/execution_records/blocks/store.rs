//! Blocks in the store. The statements name the number of ids of a block, 2048, as the triggers do.

use lakeport_base::Error;
use lakeport_store::{Db, Either, Lease, Row, Select, Tx, Value};

use super::packed::Entry;
use super::{Block, Stored};
use crate::execution_records::store;

/// Ids of one block.
pub const IDS: i64 = 2_048;
/// Blocks that are read at once.
const READ_AT_ONCE: usize = 256;
/// Blocks that one transaction packs: it takes some 30 ms, and SQLite has one writer at a time.
const PACKED_AT_ONCE: usize = 8;

pub async fn stored(db: &Db) -> Result<Stored, Error> {
    const STORED: &str = "SELECT coalesce(max(id), 0), count(*) FROM execution_blocks";
    let stored = |row: &Row| Ok(Stored { newest_id: row.get(0)?, blocks: row.get(1)? });
    db.read(STORED, &[]).await?.first().map_or_else(|| Ok(Stored::default()), stored)
}

/// The ids of all packed blocks.
pub async fn ids(db: &Db) -> Result<Vec<i64>, Error> {
    const ALL: &str = "SELECT id FROM execution_blocks";
    db.read(ALL, &[]).await?.iter().map(|row| row.get(0)).collect()
}

/// The packed blocks with these ids.
pub async fn load(db: &Db, ids: &[i64]) -> Result<Vec<Block>, Error> {
    const LOAD: Either = Either {
        sqlite: "SELECT id, block, executions, first_at, last_at, packed FROM execution_blocks \
            WHERE id IN (SELECT value FROM json_each($1))",
        postgres: "SELECT id, block, executions, first_at, last_at, packed FROM execution_blocks WHERE id = ANY($1)",
    };
    let mut blocks = Vec::with_capacity(ids.len());
    for some in ids.chunks(READ_AT_ONCE) {
        for row in db.read(db.words(LOAD), &[some.into()]).await? {
            blocks.push(Block {
                id: row.get(0)?,
                number: row.get(1)?,
                count: row.get(2)?,
                first_at_ms: row.get(3)?,
                last_at_ms: row.get(4)?,
                packed: row.get(5)?,
            });
        }
    }
    Ok(blocks)
}

/// The numbers of the blocks that are not packed as their executions are now.
pub async fn changed(db: &Db) -> Result<Vec<i64>, Error> {
    const CHANGED: &str = "SELECT DISTINCT block FROM execution_block_changes ORDER BY block";
    db.read(CHANGED, &[]).await?.iter().map(|row| row.get(0)).collect()
}

/// The number of all executions: of the packed blocks as it is noted, of the others counted.
pub fn count() -> Select<i64> {
    const COUNT: &str = "SELECT CAST(\
        coalesce((SELECT sum(b.executions) FROM execution_blocks b \
            WHERE NOT EXISTS (SELECT 1 FROM execution_block_changes c WHERE c.block = b.block)), 0) + \
        coalesce((SELECT sum((SELECT count(*) FROM executions e \
            WHERE e.id >= c.block * 2048 AND e.id < (c.block + 1) * 2048)) \
            FROM (SELECT DISTINCT block FROM execution_block_changes) c), 0) AS BIGINT)";
    Select::new(COUNT, [], |row| row.get(0))
}

/// The executions of a block.
pub fn entries(number: i64) -> Select<Entry> {
    const ENTRIES: &str = "SELECT task_id, at, status, duration FROM executions WHERE id >= $1 AND id < $2";
    let entry = |row: &Row| {
        let mut row = row.by_name();
        Ok(Entry {
            task_id: row.get("task_id")?,
            at_ms: row.get("at")?,
            status: store::status(&mut row)?,
            duration_ms: row.get("duration")?,
        })
    };
    Select::new(ENTRIES, [(number * IDS).into(), ((number + 1) * IDS).into()], entry)
}

/// Packs blocks, as their executions are now. Under a lease, for two servers must not pack the same block at once.
pub async fn pack(db: &Db, lease: &Lease, numbers: &[i64]) -> Result<(), Error> {
    for some in numbers.chunks(PACKED_AT_ONCE) {
        let mut tx = db.begin().await?;
        tx.guard(lease).await?;
        for number in some {
            pack_one(&mut tx, *number).await?;
        }
        tx.commit().await?;
    }
    Ok(())
}

/// What others change meanwhile is noted in rows that are not deleted here.
async fn pack_one(tx: &mut Tx, number: i64) -> Result<(), Error> {
    const FORGET_CHANGES: &str = "DELETE FROM execution_block_changes WHERE block = $1";
    const DELETE: &str = "DELETE FROM execution_blocks WHERE block = $1";
    const INSERT: &str = "INSERT INTO execution_blocks (block, executions, first_at, last_at, packed) \
        VALUES ($1, $2, $3, $4, $5)";
    // First: of each change whose note is deleted, the next statement sees the executions.
    tx.execute(FORGET_CHANGES, &[number.into()]).await?;
    let entries = entries(number).all_in(tx).await?;
    tx.execute(DELETE, &[number.into()]).await?;
    let Some(block) = Block::of(number, entries) else { return Ok(()) };
    let values: [Value; 5] = [
        number.into(),
        block.count.into(),
        block.first_at_ms.into(),
        block.last_at_ms.into(),
        block.packed.into(),
    ];
    tx.execute(INSERT, &values).await.map(drop)
}
