//! Schema histories in the store. Rows are only added; the oldest are purged by number per table, and by age.

use lakeport_base::Error;
use lakeport_http::Paging;
use lakeport_store::Retained;
use lakeport_store::{Db, Either, Row, Tx};
use serde::Serialize;

use super::{ENTRIES_MAX, New, Part, Shape, Source, Undo};

/// The most parts of one entry; if there are more, the first ones and the number are kept.
const PARTS_MAX: usize = 2_000;
/// The kind of a cut entry's last part.
const MORE: &str = "more_changed";

/// Entries are purged by age.
pub const RETAINED: Retained = Retained {
    what: "schema_history",
    table: "schema_history",
    purge: "DELETE FROM schema_history WHERE id IN \
            (SELECT id FROM schema_history WHERE at < $1 ORDER BY at LIMIT $2)",
};

/// A stored entry.
pub struct Entry {
    pub version: i64,
    pub source: Source,
    pub changed_by: Option<String>,
    pub parts: Vec<Part>,
    pub at_ms: i64,
}

#[derive(Serialize)]
struct Given {
    table_id: i64,
    parts: String,
    undo: String,
}

impl Given {
    fn of(new: &New) -> Result<Given, Error> {
        let count = new.parts.len();
        let parts = if count <= PARTS_MAX {
            serde_json::to_string(&new.parts)
        } else {
            let more = Part { what: MORE.to_owned(), after: (count - PARTS_MAX).into(), ..Part::default() };
            let first = new.parts.iter().take(PARTS_MAX);
            serde_json::to_string(&first.chain(std::iter::once(&more)).collect::<Vec<_>>())
        };
        let undo = serde_json::to_string(&new.undo).map_err(Error::internal)?;
        Ok(Given { table_id: new.table_id, parts: parts.map_err(Error::internal)?, undo })
    }
}

/// Writes entries of some tables, at most one each, whose rows are locked.
pub async fn add(
    tx: &mut Tx,
    new: &[New],
    source: Source,
    by: Option<&str>,
    now_ms: i64,
) -> Result<(), Error> {
    const NUMBER: Either = Either {
        sqlite: "UPDATE tables SET schema_version = schema_version + 1 \
            WHERE id IN (SELECT json_extract(value, '$.table_id') FROM json_each($1))",
        postgres: "UPDATE tables SET schema_version = schema_version + 1 WHERE id IN \
            (SELECT given.table_id FROM json_to_recordset(CAST($1 AS json)) AS given (table_id BIGINT))",
    };
    const ADD: Either = Either {
        sqlite: "INSERT INTO schema_history (table_id, version, source, changed_by, changes, undo, at) \
            SELECT t.id, t.schema_version, $2, $3, json_extract(given.value, '$.parts'), \
            json_extract(given.value, '$.undo'), $4 FROM json_each($1) AS given \
            JOIN tables t ON t.id = json_extract(given.value, '$.table_id')",
        postgres: "INSERT INTO schema_history (table_id, version, source, changed_by, changes, undo, at) \
            SELECT t.id, t.schema_version, $2, $3, given.parts, given.undo, $4 \
            FROM json_to_recordset(CAST($1 AS json)) AS given (table_id BIGINT, parts TEXT, undo TEXT) \
            JOIN tables t ON t.id = given.table_id",
    };
    const CUT: Either = Either {
        sqlite: "DELETE FROM schema_history WHERE table_id IN \
            (SELECT json_extract(value, '$.table_id') FROM json_each($1)) \
            AND version <= (SELECT schema_version FROM tables t WHERE t.id = table_id) - $2",
        postgres: "DELETE FROM schema_history WHERE table_id IN \
            (SELECT given.table_id FROM json_to_recordset(CAST($1 AS json)) AS given (table_id BIGINT)) \
            AND version <= (SELECT schema_version FROM tables t WHERE t.id = table_id) - $2",
    };
    if new.is_empty() {
        return Ok(());
    }
    let given = new.iter().map(Given::of).collect::<Result<Vec<Given>, Error>>()?;
    let given = serde_json::to_string(&given).map_err(Error::internal)?;
    tx.execute(tx.words(NUMBER), &[given.as_str().into()]).await?;
    let values = [given.as_str().into(), source.as_str().into(), by.into(), now_ms.into()];
    tx.execute(tx.words(ADD), &values).await?;
    tx.execute(tx.words(CUT), &[given.into(), ENTRIES_MAX.into()]).await.map(drop)
}

/// One page of a table's entries, newest first, and the total.
pub async fn page(db: &Db, table_id: i64, paging: &Paging) -> Result<(i64, Vec<Entry>), Error> {
    const COUNT: &str = "SELECT count(*) FROM schema_history WHERE table_id = $1";
    const BYTES: Either = Either {
        sqlite: "SELECT coalesce(sum(bytes), 0), coalesce(max(bytes), 0) FROM \
            (SELECT octet_length(changes) AS bytes FROM schema_history WHERE table_id = $1 \
            ORDER BY version DESC LIMIT $2 OFFSET $3) AS page",
        postgres: "SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT), CAST(coalesce(max(bytes), 0) AS BIGINT) FROM \
            (SELECT octet_length(changes) AS bytes FROM schema_history WHERE table_id = $1 \
            ORDER BY version DESC LIMIT $2 OFFSET $3) AS page",
    };
    const PAGE: &str = "SELECT version, source, changed_by, changes, at FROM schema_history WHERE table_id = $1 \
        ORDER BY version DESC LIMIT $2 OFFSET $3";
    let counted = db.read(COUNT, &[table_id.into()]).await?;
    let total: i64 = counted.first().map_or(Ok(0), |row| row.get(0))?;
    let values = [table_id.into(), paging.page_size.into(), paging.offset().into()];
    let bytes = db.read(db.words(BYTES), &values).await?;
    paging.refuse_over("pageSize", bytes[0].get(0)?, bytes[0].get(1)?)?;
    let rows = db.read(PAGE, &values).await?;
    Ok((total, rows.iter().map(entry).collect::<Result<Vec<Entry>, Error>>()?))
}

fn entry(row: &Row) -> Result<Entry, Error> {
    Ok(Entry {
        version: row.get(0)?,
        source: Source::named(&row.get::<String>(1)?),
        changed_by: row.get(2)?,
        parts: serde_json::from_str(&row.get::<String>(3)?).map_err(Error::internal)?,
        at_ms: row.get(4)?,
    })
}

/// The data of a version: its entry, the current fields, and the steps back to it, newest first.
pub struct Version {
    pub entry: Entry,
    pub now: Vec<Shape>,
    pub steps: Vec<Undo>,
}

type FieldRow = (String, String, Option<String>, i64, i64, Option<String>, i64);

/// `None` if the version is not kept, or never existed. One statement, so that fields and steps are
/// consistent.
pub async fn version(db: &Db, table_id: i64, version: i64) -> Result<Option<Version>, Error> {
    const VERSION: Either = Either {
        sqlite: "SELECT h.version, h.source, h.changed_by, h.changes, h.at, \
            (SELECT json_group_array(json_array(f.field_name, f.field_type, f.field_comment, f.is_primary_key, \
            f.is_nullable, f.default_value, f.field_order)) FROM fields f WHERE f.table_id = h.table_id), \
            (SELECT json_group_array(json(later.undo) ORDER BY later.version DESC) FROM schema_history later \
            WHERE later.table_id = h.table_id AND later.version > h.version) \
            FROM schema_history h WHERE h.table_id = $1 AND h.version = $2",
        postgres: "SELECT h.version, h.source, h.changed_by, h.changes, h.at, \
            (SELECT coalesce(CAST(json_agg(json_build_array(f.field_name, f.field_type, f.field_comment, \
            f.is_primary_key, f.is_nullable, f.default_value, f.field_order)) AS TEXT), '[]') \
            FROM fields f WHERE f.table_id = h.table_id), \
            (SELECT coalesce(CAST(json_agg(CAST(later.undo AS json) ORDER BY later.version DESC) AS TEXT), '[]') \
            FROM schema_history later WHERE later.table_id = h.table_id AND later.version > h.version) \
            FROM schema_history h WHERE h.table_id = $1 AND h.version = $2",
    };
    let rows = db.read(db.words(VERSION), &[table_id.into(), version.into()]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let fields: Vec<FieldRow> = serde_json::from_str(&row.get::<String>(5)?).map_err(Error::internal)?;
    let shape = |(name, type_text, comment, is_key, is_nullable, default, place): FieldRow| Shape {
        id: 0,
        name,
        type_text,
        comment,
        is_key: is_key == 1,
        is_nullable: is_nullable == 1,
        default,
        place,
    };
    Ok(Some(Version {
        entry: entry(row)?,
        now: fields.into_iter().map(shape).collect(),
        steps: serde_json::from_str(&row.get::<String>(6)?).map_err(Error::internal)?,
    }))
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
