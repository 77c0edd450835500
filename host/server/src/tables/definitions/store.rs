//! Definitions in the store.

use lakeport_base::Error;
use lakeport_store::{Db, Either, Row, Select, Tx, Value};

use super::{Definition, Drift, Record, TableWithFields};
use crate::tables::fields::Field;

/// Columns of a table `t`, in the order of [`record`].
macro_rules! columns {
    () => {
        "t.id, t.table_name, t.db_name, t.table_comment, t.layer, t.cluster_id, t.table_model, \
         t.distribution_column, t.bucket_num, t.replica_num, t.key_columns, t.partition_column, \
         t.business_domain, t.data_domain, t.owner, t.status = 'deprecated' AS is_deprecated, t.physical = 1 AS is_physical, \
         t.row_count, \
         t.data_size, t.index_size, t.statistics_time, t.origin_table_name, t.deprecated_at, t.purge_at, \
         t.created_at, t.updated_at, t.description, t.tags"
    };
}

/// The hint if the client chose the name.
pub const ANOTHER_NAME: &str = "take another name";

/// A table with its data source and its fields, by one statement: fields as arrays, in the order of
/// [`FieldRow`].
const WHOLE: Either = Either {
    sqlite: concat!(
        "SELECT ",
        columns!(),
        ", d.name AS cluster_name, d.kind AS cluster_kind, t.drift, (SELECT json_group_array(json_array(f.id, f.field_name, f.field_type, \
         f.field_comment, f.is_primary_key, f.is_nullable, f.default_value, f.field_order, \
         f.description)) \
         FROM fields f WHERE f.table_id = t.id) AS fields \
         FROM tables t LEFT JOIN datasources d ON d.id = t.cluster_id WHERE t.id = $1"
    ),
    postgres: concat!(
        "SELECT ",
        columns!(),
        ", d.name AS cluster_name, d.kind AS cluster_kind, t.drift, (SELECT coalesce(CAST(json_agg(json_build_array(f.id, f.field_name, \
         f.field_type, f.field_comment, f.is_primary_key, f.is_nullable, f.default_value, f.field_order, \
         f.description)) \
         AS TEXT), '[]') FROM fields f WHERE f.table_id = t.id) AS fields \
         FROM tables t LEFT JOIN datasources d ON d.id = t.cluster_id WHERE t.id = $1"
    ),
};

/// The names whose case a database ignores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ignored {
    pub databases: bool,
    pub tables: bool,
}

type FieldRow = (i64, String, String, Option<String>, i64, i64, Option<String>, i64, Option<String>);

fn record(row: &Row) -> Result<Record, Error> {
    let mut row = row.by_name();
    Ok(Record {
        id: row.get("id")?,
        definition: Definition {
            table_name: row.get("table_name")?,
            db_name: row.get("db_name")?,
            table_comment: row.get("table_comment")?,
            layer: row.get("layer")?,
            cluster_id: row.get("cluster_id")?,
            table_model: row.get("table_model")?,
            distribution_column: row.get("distribution_column")?,
            bucket_num: row.get("bucket_num")?,
            replica_num: row.get("replica_num")?,
            key_columns: row.get("key_columns")?,
            partition_column: row.get("partition_column")?,
            business_domain: row.get("business_domain")?,
            data_domain: row.get("data_domain")?,
            owner: row.get("owner")?,
            description: row.get("description")?,
            tags: serde_json::from_str(&row.get::<String>("tags")?).map_err(Error::internal)?,
        },
        is_deprecated: row.get("is_deprecated")?,
        is_physical: row.get("is_physical")?,
        row_count: row.get("row_count")?,
        data_size: row.get("data_size")?,
        index_size: row.get("index_size")?,
        statistics_time_ms: row.get("statistics_time")?,
        origin_table_name: row.get("origin_table_name")?,
        deprecated_at_ms: row.get("deprecated_at")?,
        purge_at_ms: row.get("purge_at")?,
        created_at_ms: row.get("created_at")?,
        updated_at_ms: row.get("updated_at")?,
    })
}

fn whole(row: &Row) -> Result<TableWithFields, Error> {
    let record = record(row)?;
    let mut row = row.by_name();
    let name: Option<String> = row.get("cluster_name")?;
    let kind: Option<String> = row.get("cluster_kind")?;
    let drift: Option<String> = row.get("drift")?;
    let drift: Option<Vec<Drift>> =
        drift.map(|drift| serde_json::from_str(&drift)).transpose().map_err(Error::internal)?;
    let fields: Vec<FieldRow> =
        serde_json::from_str(&row.get::<String>("fields")?).map_err(Error::internal)?;
    let field =
        |(id, name, type_text, comment, is_key, is_nullable, default, place, description): FieldRow| Field {
            id,
            table_id: record.id,
            name,
            type_text,
            comment,
            is_key: is_key == 1,
            is_nullable: is_nullable == 1,
            default,
            place,
            description,
        };
    let mut fields: Vec<Field> = fields.into_iter().map(field).collect();
    fields.sort_by_key(|field| (field.place, field.id));
    Ok(TableWithFields { fields, cluster: name.zip(kind), drift: drift.unwrap_or_default(), record })
}

pub async fn find(db: &Db, id: i64) -> Result<Option<TableWithFields>, Error> {
    db.read(db.words(WHOLE), &[id.into()]).await?.first().map(whole).transpose()
}

/// Locks one against changes until the transaction ends.
pub async fn lock(tx: &mut Tx, id: i64) -> Result<Option<TableWithFields>, Error> {
    const LOCK: Either = Either {
        sqlite: "SELECT id FROM tables WHERE id = $1",
        postgres: "SELECT id FROM tables WHERE id = $1 FOR NO KEY UPDATE",
    };
    // Two statements: after waiting for a row lock, a statement would still see the other rows as of its
    // start.
    if tx.query(tx.words(LOCK), &[id.into()]).await?.is_empty() {
        return Ok(None);
    }
    tx.query(tx.words(WHOLE), &[id.into()]).await?.first().map(whole).transpose()
}

/// Those with these ids that are not in the recycle bin, in the order of the ids.
pub async fn all_of(db: &Db, ids: &[i64]) -> Result<Vec<Record>, Error> {
    const ALL: Either = Either {
        sqlite: concat!(
            "SELECT ",
            columns!(),
            " FROM tables t WHERE t.id IN (SELECT value FROM json_each($1)) AND t.status = 'active'"
        ),
        postgres: concat!(
            "SELECT ",
            columns!(),
            " FROM tables t WHERE t.id = ANY($1) \
             AND t.status = 'active'"
        ),
    };
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let rows = db.read(db.words(ALL), &[ids.into()]).await?;
    let mut records = rows.iter().map(record).collect::<Result<Vec<Record>, Error>>()?;
    records.sort_by_cached_key(|record| ids.iter().position(|id| *id == record.id));
    Ok(records)
}

/// Those in the recycle bin, of one data source or of all, earliest purge first.
pub async fn deprecated(db: &Db, cluster_id: Option<i64>, limit: i64) -> Result<Vec<Record>, Error> {
    const DEPRECATED: &str = concat!(
        "SELECT ",
        columns!(),
        " FROM tables t WHERE t.status = 'deprecated' AND (CAST($1 AS BIGINT) IS NULL OR t.cluster_id = $1) \
         ORDER BY t.purge_at, t.id LIMIT $2"
    );
    db.read(DEPRECATED, &[cluster_id.into(), limit.into()]).await?.iter().map(record).collect()
}

/// The ids of existing tables, without the recycle bin.
// The array is wrapped, so that PostgreSQL plans the statement once and not for each array.
pub fn active_of(ids: &[i64]) -> Select<i64> {
    const ACTIVE: Either = Either {
        sqlite: "SELECT id FROM tables WHERE status = 'active' AND id IN (SELECT value FROM json_each($1))",
        postgres: "SELECT id FROM tables WHERE status = 'active' \
            AND id = ANY(CAST((SELECT CAST($1 AS BIGINT[])) AS BIGINT[]))",
    };
    Select::new(ACTIVE, [ids.into()], |row| row.get(0))
}

/// Those of these tables that exist, also in the recycle bin; none of them goes before the transaction ends.
pub fn all_kept(ids: &[i64]) -> Select<i64> {
    const KEPT: Either = Either {
        sqlite: "SELECT id FROM tables WHERE id IN (SELECT value FROM json_each($1))",
        postgres: "SELECT id FROM tables WHERE id = ANY($1) ORDER BY id FOR KEY SHARE",
    };
    Select::new(KEPT, [ids.into()], |row| row.get(0))
}

/// Inserts one; returns its id. 409 when the name is taken.
pub async fn insert(tx: &mut Tx, new: &Definition, now_ms: i64) -> Result<i64, Error> {
    const INSERT: &str = "INSERT INTO tables (table_name, db_name, table_comment, layer, cluster_id, table_model, \
        distribution_column, bucket_num, replica_num, key_columns, partition_column, business_domain, \
        data_domain, owner, description, tags, created_at, updated_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $17) RETURNING id";
    let mut values = values(new)?;
    values.push(now_ms.into());
    let rows = tx.query(INSERT, &values).await.map_err(|error| taken(error, new))?;
    rows.first().map_or_else(|| Err(Error::internal(anyhow::anyhow!("it was not stored"))), |row| row.get(0))
}

/// Writes all columns that a change can affect. 409 when the name is taken.
pub async fn update(
    tx: &mut Tx,
    id: i64,
    after: &Definition,
    is_physical: bool,
    now_ms: i64,
) -> Result<(), Error> {
    const UPDATE: &str = "UPDATE tables SET table_name = $1, db_name = $2, table_comment = $3, layer = $4, \
        cluster_id = $5, table_model = $6, distribution_column = $7, bucket_num = $8, replica_num = $9, \
        key_columns = $10, partition_column = $11, business_domain = $12, data_domain = $13, owner = $14, \
        description = $15, tags = $16, updated_at = $17, physical = $18 WHERE id = $19";
    let mut values = values(after)?;
    values.extend([now_ms.into(), i64::from(is_physical).into(), id.into()]);
    tx.execute(UPDATE, &values).await.map(drop).map_err(|error| taken(error, after))
}

fn values(of: &Definition) -> Result<Vec<Value>, Error> {
    Ok(vec![
        of.table_name.as_str().into(),
        of.db_name.as_str().into(),
        of.table_comment.as_deref().into(),
        of.layer.as_deref().into(),
        of.cluster_id.into(),
        of.table_model.as_deref().into(),
        of.distribution_column.as_deref().into(),
        of.bucket_num.into(),
        of.replica_num.into(),
        of.key_columns.as_deref().into(),
        of.partition_column.as_deref().into(),
        of.business_domain.as_deref().into(),
        of.data_domain.as_deref().into(),
        of.owner.as_deref().into(),
        of.description.as_deref().into(),
        serde_json::to_string(&of.tags).map_err(Error::internal)?.into(),
    ])
}

/// Locks those with these ids, including the recycle bin, against changes until the transaction ends.
pub async fn lock_all(tx: &mut Tx, ids: &[i64]) -> Result<Vec<Record>, Error> {
    const LOCK: Either = Either {
        sqlite: concat!(
            "SELECT ",
            columns!(),
            " FROM tables t WHERE t.id IN (SELECT value FROM json_each($1)) ORDER BY t.id"
        ),
        postgres: concat!(
            "SELECT ",
            columns!(),
            " FROM tables t WHERE t.id = ANY($1) \
             ORDER BY t.id FOR NO KEY UPDATE"
        ),
    };
    tx.query(tx.words(LOCK), &[ids.into()]).await?.iter().map(record).collect()
}

/// Writes the catalogue's own members of these tables.
pub async fn say(tx: &mut Tx, tables: &[(i64, Definition)], now_ms: i64) -> Result<(), Error> {
    const SAY: Either = Either {
        sqlite: "UPDATE tables SET layer = json_extract(given.value, '$.layer'), \
            business_domain = json_extract(given.value, '$.business_domain'), \
            data_domain = json_extract(given.value, '$.data_domain'), owner = json_extract(given.value, '$.owner'), \
            description = json_extract(given.value, '$.description'), tags = json_extract(given.value, '$.tags'), \
            updated_at = $2 FROM json_each($1) AS given WHERE tables.id = json_extract(given.value, '$.id')",
        postgres: "UPDATE tables SET layer = given.layer, business_domain = given.business_domain, \
            data_domain = given.data_domain, owner = given.owner, description = given.description, \
            tags = given.tags, updated_at = $2 FROM json_to_recordset(CAST($1 AS json)) AS given (id BIGINT, \
            layer TEXT, business_domain TEXT, data_domain TEXT, owner TEXT, description TEXT, tags TEXT) \
            WHERE tables.id = given.id",
    };
    let said = |(id, of): &(i64, Definition)| {
        let tags = serde_json::to_string(&of.tags).map_err(Error::internal)?;
        // Listed one by one, so that nothing else is written here.
        Ok(serde_json::json!({
            "id": id, "layer": of.layer, "business_domain": of.business_domain, "data_domain": of.data_domain,
            "owner": of.owner, "description": of.description, "tags": tags,
        }))
    };
    if tables.is_empty() {
        return Ok(());
    }
    let given = tables.iter().map(said).collect::<Result<Vec<_>, Error>>()?;
    let given = serde_json::to_string(&given).map_err(Error::internal)?;
    tx.execute(tx.words(SAY), &[given.into(), now_ms.into()]).await.map(drop)
}

/// Marks a new version: its fields changed.
pub async fn touch(tx: &mut Tx, id: i64, now_ms: i64) -> Result<(), Error> {
    const TOUCH: &str = "UPDATE tables SET updated_at = $2 WHERE id = $1";
    tx.execute(TOUCH, &[id.into(), now_ms.into()]).await.map(drop)
}

/// The drift of its database; empty: none.
pub async fn set_drift(tx: &mut Tx, id: i64, drift: &[Drift]) -> Result<(), Error> {
    const SET: &str = "UPDATE tables SET drift = $2 WHERE id = $1";
    let drift = (!drift.is_empty()).then(|| serde_json::to_string(drift)).transpose();
    tx.execute(SET, &[id.into(), drift.map_err(Error::internal)?.into()]).await.map(drop)
}

/// Whether a live table has this name, or a running change takes it or gives it up.
pub async fn is_taken(tx: &mut Tx, wanted: &Definition, but: i64) -> Result<bool, Error> {
    const TAKEN: &str = "SELECT id FROM tables WHERE coalesce(cluster_id, 0) = $1 AND db_name = $2 \
        AND table_name = $3 AND status = 'active' AND id <> $4 \
        UNION ALL SELECT id FROM table_changes WHERE cluster_id = $1 AND db_name = $2 \
        AND (table_name = $3 OR new_name = $3) AND state = 'running' AND table_id <> $4";
    let values = [
        wanted.cluster_id.unwrap_or_default().into(),
        wanted.db_name.as_str().into(),
        wanted.table_name.as_str().into(),
        but.into(),
    ];
    Ok(!tx.query(TAKEN, &values).await?.is_empty())
}

/// Another live table, or one of a running change, with an equal name for a database that ignores the case of
/// such names: `databases`, `tables`, or both. Only ASCII case is ignored.
pub async fn namesake(
    tx: &mut Tx,
    wanted: &Definition,
    but: i64,
    ignored: Ignored,
) -> Result<Option<String>, Error> {
    const NAMESAKE: &str = "SELECT db_name, table_name FROM tables WHERE coalesce(cluster_id, 0) = $1 \
        AND (db_name = $2 OR lower(db_name) = $3) AND (table_name = $4 OR lower(table_name) = $5) \
        AND status = 'active' AND id <> $6 \
        UNION ALL SELECT db_name, CASE WHEN table_name = $4 OR lower(table_name) = $5 THEN table_name \
        ELSE new_name END FROM table_changes WHERE cluster_id = $1 AND (db_name = $2 OR lower(db_name) = $3) \
        AND (table_name = $4 OR new_name = $4 OR lower(table_name) = $5 OR lower(new_name) = $5) \
        AND state = 'running' AND table_id <> $6 LIMIT 1";
    if !ignored.databases && !ignored.tables {
        return Ok(None);
    }
    let folded = |name: &str, is_ignored: bool| is_ignored.then(|| name.to_ascii_lowercase());
    let values = [
        wanted.cluster_id.unwrap_or_default().into(),
        wanted.db_name.as_str().into(),
        folded(&wanted.db_name, ignored.databases).into(),
        wanted.table_name.as_str().into(),
        folded(&wanted.table_name, ignored.tables).into(),
        but.into(),
    ];
    let rows = tx.query(NAMESAKE, &values).await?;
    let name = |row: &Row| Ok(format!("{}.{}", row.get::<String>(0)?, row.get::<String>(1)?));
    rows.first().map(name).transpose()
}

fn taken(error: Error, wanted: &Definition) -> Error {
    error.unique_as("name_taken", name_taken(wanted, ANOTHER_NAME))
}

/// The message about a taken name; `hint` tells what can be done.
pub fn name_taken(wanted: &Definition, hint: &str) -> String {
    let Definition { table_name, db_name, .. } = wanted;
    format!("there is a table {db_name}.{table_name} of this data source already; {hint}")
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
