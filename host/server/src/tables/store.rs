//! Tables and their fields in the store. Many rows are written by one statement, as a JSON array: they arrive
//! in batches, and each further statement would be a round trip during which others wait.

use std::collections::{HashMap, HashSet};

use lakeport_base::Error;
use lakeport_catalog::{Entry, FIELD_TEXT_MAX_CHARS, FIELDS_MAX, TEXT_MAX_CHARS, Texts};
use lakeport_store::{ByName, Db, Either, Row, Tx, Value};
use serde::Serialize;

use super::reconcile::{ForeignKeys, FoundTable, Known, KnownField};

/// Tables that are checked at once when looking for missing ones.
const LOOK_AT: i64 = 500;

/// A new table in the statement's form.
#[derive(Serialize)]
struct New<'t> {
    name: &'t str,
    comment: &'t Option<String>,
    model: &'t Option<String>,
    distribution: &'t Option<String>,
    buckets: Option<u32>,
    replicas: Option<u32>,
    keys: &'t Option<String>,
    partition: &'t Option<String>,
    foreign_keys: &'t str,
}

impl<'t> New<'t> {
    fn of(table: &'t FoundTable) -> New<'t> {
        New {
            name: &table.name,
            comment: &table.comment,
            model: &table.model,
            distribution: &table.distribution,
            buckets: table.buckets,
            replicas: table.replicas,
            keys: &table.keys,
            partition: &table.partition,
            foreign_keys: &table.foreign_keys,
        }
    }
}

/// All tables with these names, including the recycle bin, with their fields. On PostgreSQL they are locked
/// in the order of their ids; SQLite's single writer needs no locks.
pub async fn named(
    tx: &mut Tx,
    cluster_id: i64,
    database: &str,
    names: &[String],
) -> Result<Vec<Known>, Error> {
    const NAMED: Either = Either {
        sqlite: "SELECT id, table_name, status = 'deprecated' AS is_deprecated, physical = 1 AS is_physical, table_comment, table_model, \
            distribution_column, bucket_num, replica_num, key_columns, partition_column, foreign_keys, drift IS NOT NULL AS has_drift FROM tables \
            WHERE cluster_id = $1 AND db_name = $2 AND table_name IN (SELECT value FROM json_each($3)) \
            ORDER BY id",
        postgres: "SELECT id, table_name, status = 'deprecated' AS is_deprecated, physical = 1 AS is_physical, table_comment, table_model, \
            distribution_column, bucket_num, replica_num, key_columns, partition_column, foreign_keys, drift IS NOT NULL AS has_drift FROM tables \
            WHERE cluster_id = $1 AND db_name = $2 \
            AND table_name = ANY (ARRAY(SELECT json_array_elements_text(CAST($3 AS json)))) \
            ORDER BY id FOR NO KEY UPDATE",
    };
    const FIELDS: Either = Either {
        sqlite: "SELECT id, table_id, field_name, field_type, field_comment, is_primary_key, is_nullable, \
            default_value, field_order FROM fields WHERE table_id IN (SELECT value FROM json_each($1))",
        postgres: "SELECT id, table_id, field_name, field_type, field_comment, is_primary_key, is_nullable, \
            default_value, field_order FROM fields WHERE table_id = ANY($1)",
    };
    let rows = tx.query(tx.words(NAMED), &[cluster_id.into(), database.into(), json(names)?]).await?;
    let mut tables = rows.iter().map(known).collect::<Result<Vec<Known>, Error>>()?;
    let ids: Vec<i64> = tables.iter().map(|table| table.id).collect();
    let mut fields: HashMap<i64, Vec<KnownField>> = HashMap::new();
    for row in tx.query(tx.words(FIELDS), &[ids.as_slice().into()]).await? {
        let field = known_field(&row)?;
        fields.entry(field.table_id).or_default().push(field);
    }
    for table in &mut tables {
        table.fields = fields.remove(&table.id).unwrap_or_default();
    }
    Ok(tables)
}

fn known(row: &Row) -> Result<Known, Error> {
    let mut row = row.by_name();
    Ok(Known {
        id: row.get("id")?,
        name: row.get("table_name")?,
        is_deprecated: row.get("is_deprecated")?,
        is_physical: row.get("is_physical")?,
        comment: row.get("table_comment")?,
        model: row.get("table_model")?,
        distribution: row.get("distribution_column")?,
        buckets: row.get("bucket_num")?,
        replicas: row.get("replica_num")?,
        keys: row.get("key_columns")?,
        partition: row.get("partition_column")?,
        foreign_keys: row.get("foreign_keys")?,
        has_drift: row.get("has_drift")?,
        drift: None,
        fields: Vec::new(),
    })
}

fn known_field(row: &Row) -> Result<KnownField, Error> {
    Ok(KnownField {
        id: row.get(0)?,
        table_id: row.get(1)?,
        name: row.get(2)?,
        type_text: row.get(3)?,
        comment: row.get(4)?,
        is_key: row.get(5)?,
        is_nullable: row.get(6)?,
        default: row.get(7)?,
        place: row.get(8)?,
    })
}

/// Inserts physical tables, without their fields; returns their ids by name. 409 `name_taken` if another
/// writer was faster.
pub async fn insert(
    tx: &mut Tx,
    cluster_id: i64,
    database: &str,
    tables: &[&FoundTable],
    now_ms: i64,
) -> Result<HashMap<String, i64>, Error> {
    const INSERT: Either = Either {
        sqlite: "INSERT INTO tables (cluster_id, db_name, table_name, table_comment, table_model, \
            distribution_column, bucket_num, replica_num, key_columns, partition_column, foreign_keys, physical, \
            created_at, updated_at) \
            SELECT $1, $2, json_extract(value, '$.name'), json_extract(value, '$.comment'), \
            json_extract(value, '$.model'), json_extract(value, '$.distribution'), \
            json_extract(value, '$.buckets'), json_extract(value, '$.replicas'), \
            json_extract(value, '$.keys'), json_extract(value, '$.partition'), \
            json_extract(value, '$.foreign_keys'), 1, $4, $4 \
            FROM json_each($3) RETURNING id, table_name",
        postgres: "INSERT INTO tables (cluster_id, db_name, table_name, table_comment, table_model, \
            distribution_column, bucket_num, replica_num, key_columns, partition_column, foreign_keys, physical, \
            created_at, updated_at) \
            SELECT $1, $2, name, comment, model, distribution, buckets, replicas, keys, \"partition\", foreign_keys, 1, $4, $4 \
            FROM json_to_recordset(CAST($3 AS json)) AS given (name TEXT, comment TEXT, model TEXT, \
            distribution TEXT, buckets BIGINT, replicas BIGINT, keys TEXT, \"partition\" TEXT, \
            foreign_keys TEXT) RETURNING id, table_name",
    };
    if tables.is_empty() {
        return Ok(HashMap::new());
    }
    let given = json(&tables.iter().map(|table| New::of(table)).collect::<Vec<_>>())?;
    let values = [cluster_id.into(), database.into(), given, now_ms.into()];
    let taken = "another writer created one of these tables at the same time; try again";
    let rows = tx.query(tx.words(INSERT), &values).await;
    let rows = rows.map_err(|error| error.unique_as("name_taken", taken))?;
    rows.iter().map(|row| Ok((row.get(1)?, row.get(0)?))).collect()
}

/// Writes the members that the database reports; the tables become physical.
pub async fn update(tx: &mut Tx, tables: &[Known], now_ms: i64) -> Result<(), Error> {
    const UPDATE: Either = Either {
        sqlite: "UPDATE tables SET table_comment = given.comment, table_model = given.model, \
            distribution_column = given.distribution, bucket_num = given.buckets, replica_num = given.replicas, \
            key_columns = given.keys, partition_column = given.part, physical = 1, drift = given.drift, updated_at = $2 \
            FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.comment') AS comment, \
            json_extract(value, '$.model') AS model, json_extract(value, '$.distribution') AS distribution, \
            json_extract(value, '$.buckets') AS buckets, json_extract(value, '$.replicas') AS replicas, \
            json_extract(value, '$.keys') AS keys, json_extract(value, '$.partition') AS part, \
            json_extract(value, '$.drift') AS drift FROM json_each($1)) AS given WHERE tables.id = given.id",
        postgres: "UPDATE tables SET table_comment = given.comment, table_model = given.model, \
            distribution_column = given.distribution, bucket_num = given.buckets, replica_num = given.replicas, \
            key_columns = given.keys, partition_column = given.\"partition\", physical = 1, drift = given.drift, updated_at = $2 \
            FROM json_to_recordset(CAST($1 AS json)) AS given (id BIGINT, comment TEXT, model TEXT, \
            distribution TEXT, buckets BIGINT, replicas BIGINT, keys TEXT, \"partition\" TEXT, drift TEXT) \
            WHERE tables.id = given.id",
    };
    write(tx, UPDATE, tables, &[now_ms.into()]).await
}

/// Writes foreign keys. No list shows them, so the tables do not count as changed.
pub async fn update_foreign_keys(tx: &mut Tx, tables: &[ForeignKeys]) -> Result<(), Error> {
    const UPDATE: Either = Either {
        sqlite: "UPDATE tables SET foreign_keys = given.foreign_keys \
            FROM (SELECT json_extract(value, '$.table_id') AS id, json_extract(value, '$.foreign_keys') AS foreign_keys \
            FROM json_each($1)) AS given WHERE tables.id = given.id",
        postgres: "UPDATE tables SET foreign_keys = given.foreign_keys \
            FROM json_to_recordset(CAST($1 AS json)) AS given (table_id BIGINT, foreign_keys TEXT) \
            WHERE tables.id = given.table_id",
    };
    write(tx, UPDATE, tables, &[]).await
}

/// A foreign key between two tables of the catalogue.
#[derive(Debug)]
pub struct ForeignKey {
    pub table_id: i64,
    pub field: String,
    pub parent_id: i64,
    /// The parent's field.
    pub key: String,
}

/// Foreign keys of these tables to existing tables of the catalogue, in the stored order.
pub async fn foreign_keys_of(db: &Db, ids: &[i64]) -> Result<Vec<ForeignKey>, Error> {
    const KEYS: Either = Either {
        sqlite: "SELECT t.id, json_extract(r.value, '$.field'), p.id, json_extract(r.value, '$.key') \
            FROM tables t JOIN json_each(t.foreign_keys) AS r \
            JOIN tables p ON p.cluster_id = t.cluster_id AND p.db_name = json_extract(r.value, '$.database') \
            AND p.table_name = json_extract(r.value, '$.table') AND p.status = 'active' \
            WHERE t.id IN (SELECT value FROM json_each($1)) ORDER BY t.id, r.key",
        postgres: "SELECT t.id, r.value ->> 'field', p.id, r.value ->> 'key' \
            FROM tables t CROSS JOIN LATERAL json_array_elements(CAST(t.foreign_keys AS json)) \
            WITH ORDINALITY AS r (value, place) \
            JOIN tables p ON p.cluster_id = t.cluster_id AND p.db_name = r.value ->> 'database' \
            AND p.table_name = r.value ->> 'table' AND p.status = 'active' \
            WHERE t.id = ANY($1) ORDER BY t.id, r.place",
    };
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let rows = db.read(db.words(KEYS), &[ids.into()]).await?;
    let key = |row: &Row| {
        Ok(ForeignKey { table_id: row.get(0)?, field: row.get(1)?, parent_id: row.get(2)?, key: row.get(3)? })
    };
    rows.iter().map(key).collect()
}

pub async fn insert_fields(tx: &mut Tx, fields: &[KnownField], now_ms: i64) -> Result<(), Error> {
    const INSERT: Either = Either {
        sqlite: "INSERT INTO fields (table_id, field_name, field_type, field_comment, is_primary_key, \
            is_nullable, default_value, field_order, created_at, updated_at) \
            SELECT json_extract(value, '$.table_id'), json_extract(value, '$.name'), \
            json_extract(value, '$.type_text'), json_extract(value, '$.comment'), \
            json_extract(value, '$.is_key'), json_extract(value, '$.is_nullable'), \
            json_extract(value, '$.default'), json_extract(value, '$.place'), $2, $2 FROM json_each($1)",
        postgres: "INSERT INTO fields (table_id, field_name, field_type, field_comment, is_primary_key, \
            is_nullable, default_value, field_order, created_at, updated_at) \
            SELECT table_id, name, type_text, comment, is_key, is_nullable, \"default\", place, $2, $2 \
            FROM json_to_recordset(CAST($1 AS json)) AS given (table_id BIGINT, name TEXT, type_text TEXT, \
            comment TEXT, is_key BIGINT, is_nullable BIGINT, \"default\" TEXT, place BIGINT)",
    };
    write(tx, INSERT, fields, &[now_ms.into()]).await
}

pub async fn update_fields(tx: &mut Tx, fields: &[KnownField], now_ms: i64) -> Result<(), Error> {
    const UPDATE: Either = Either {
        sqlite: "UPDATE fields SET field_type = given.type_text, field_comment = given.comment, \
            is_primary_key = given.is_key, is_nullable = given.is_nullable, default_value = given.initial, \
            field_order = given.place, updated_at = $2 \
            FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.type_text') AS type_text, \
            json_extract(value, '$.comment') AS comment, json_extract(value, '$.is_key') AS is_key, \
            json_extract(value, '$.is_nullable') AS is_nullable, json_extract(value, '$.default') AS initial, \
            json_extract(value, '$.place') AS place FROM json_each($1)) AS given WHERE fields.id = given.id",
        postgres: "UPDATE fields SET field_type = given.type_text, field_comment = given.comment, \
            is_primary_key = given.is_key, is_nullable = given.is_nullable, default_value = given.\"default\", \
            field_order = given.place, updated_at = $2 \
            FROM json_to_recordset(CAST($1 AS json)) AS given (id BIGINT, type_text TEXT, comment TEXT, \
            is_key BIGINT, is_nullable BIGINT, \"default\" TEXT, place BIGINT) WHERE fields.id = given.id",
    };
    write(tx, UPDATE, fields, &[now_ms.into()]).await
}

pub async fn delete_fields(tx: &mut Tx, ids: &[i64]) -> Result<(), Error> {
    const DELETE: Either = Either {
        sqlite: "DELETE FROM fields WHERE id IN (SELECT value FROM json_each($1))",
        postgres: "DELETE FROM fields WHERE id = ANY($1)",
    };
    if ids.is_empty() {
        return Ok(());
    }
    tx.execute(tx.words(DELETE), &[ids.into()]).await.map(drop)
}

/// The next physical tables of a data source, without the recycle bin: id, database, and whether a change of
/// it is running or ended after a time.
pub async fn physical_after(
    tx: &mut Tx,
    cluster_id: i64,
    after_id: i64,
    since_ms: i64,
) -> Result<Vec<(i64, String, bool)>, Error> {
    const NEXT: &str = "SELECT t.id, t.db_name, EXISTS (SELECT 1 FROM table_changes c WHERE c.table_id = t.id \
        AND (c.state = 'running' OR c.finished_at >= $4)) FROM tables t \
        WHERE t.cluster_id = $1 AND t.id > $2 AND t.physical = 1 AND t.status = 'active' ORDER BY t.id LIMIT $3";
    let values = [cluster_id.into(), after_id.into(), LOOK_AT.into(), since_ms.into()];
    let rows = tx.query(NEXT, &values).await?;
    rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).collect()
}

/// Sets the drift of missing tables, which stay defined in the catalogue; returns those that were not missing
/// before.
pub async fn set_missing(tx: &mut Tx, ids: &[i64], drift: &str, now_ms: i64) -> Result<Vec<i64>, Error> {
    const SET: Either = Either {
        sqlite: "UPDATE tables SET physical = 0, drift = $3, updated_at = $2 WHERE physical = 1 AND status = 'active' \
            AND id IN (SELECT value FROM json_each($1)) RETURNING id",
        postgres: "UPDATE tables SET physical = 0, drift = $3, updated_at = $2 WHERE physical = 1 AND status = 'active' \
            AND id = ANY($1) RETURNING id",
    };
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let rows = tx.query(tx.words(SET), &[ids.into(), now_ms.into(), drift.into()]).await?;
    rows.iter().map(|row| row.get(0)).collect()
}

/// Tables of a data source, including those being created in it.
pub async fn count_of(tx: &mut Tx, cluster_id: i64) -> Result<i64, Error> {
    const COUNT: &str = "SELECT count(*) FROM tables t WHERE t.cluster_id = $1 OR EXISTS \
        (SELECT 1 FROM table_changes c WHERE c.table_id = t.id AND c.cluster_id = $1 AND c.state = 'running')";
    let rows = tx.query(COUNT, &[cluster_id.into()]).await?;
    rows.first().map_or(Ok(0), |row| row.get(0))
}

/// The databases of a data source with tables in the catalogue.
pub async fn databases_of(db: &Db, cluster_id: i64) -> Result<HashSet<String>, Error> {
    const DATABASES: &str = "SELECT DISTINCT db_name FROM tables WHERE cluster_id = $1 AND status = 'active'";
    db.read(DATABASES, &[cluster_id.into()]).await?.iter().map(|row| row.get(0)).collect()
}

/// Columns of an entry, in the order of [`entry`], from `tables t`; `$fields` are those of its fields.
macro_rules! entries {
    ($cut:literal, $fields:literal) => {
        concat!(
            "SELECT t.id, t.cluster_id, t.db_name, t.table_name, t.table_comment, t.layer, t.business_domain, \
             t.data_domain, t.owner, t.status = 'deprecated' AS is_deprecated, t.physical = 1 AS is_physical, \
             t.drift IS NOT NULL AS has_drift, t.row_count, t.data_size, t.index_size, \
             t.created_at, t.updated_at, t.tags, substr(t.description, 1, ",
            $cut,
            ") AS description, ",
            $fields,
            " AS fields FROM tables t WHERE "
        )
    };
}

/// The search texts of a table's fields: as arrays of id, name and text.
macro_rules! sqlite_entries {
    ($which:literal) => {
        concat!(
            entries!(
                "300",
                "(SELECT json_group_array(json_array(f.id, f.field_name, substr(coalesce(f.field_comment, '') || ' ' \
                 || coalesce(f.description, ''), 1, 100))) FROM fields f \
                 WHERE f.table_id = t.id AND f.field_order <= 2000)"
            ),
            $which
        )
    };
}

macro_rules! postgres_entries {
    ($which:literal) => {
        concat!(
            entries!(
                "300",
                "(SELECT coalesce(CAST(json_agg(json_build_array(f.id, f.field_name, \
                 substr(coalesce(f.field_comment, '') || ' ' || coalesce(f.description, ''), 1, 100))) AS TEXT), '[]') \
                 FROM fields f WHERE f.table_id = t.id AND f.field_order <= 2000)"
            ),
            $which
        )
    };
}

/// The index entries of these tables, as far as they exist.
pub async fn entries_of(db: &Db, ids: &[i64]) -> Result<Vec<(Entry, Texts)>, Error> {
    const ENTRIES: Either = Either {
        sqlite: sqlite_entries!("t.id IN (SELECT value FROM json_each($1))"),
        postgres: postgres_entries!("t.id = ANY($1)"),
    };
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    db.read(db.words(ENTRIES), &[ids.into()]).await?.iter().map(entry_and_texts).collect()
}

/// The next tables after an id, ordered by id.
pub async fn entries_after(db: &Db, after_id: i64, limit: i64) -> Result<Vec<(Entry, Texts)>, Error> {
    const ENTRIES: Either = Either {
        sqlite: sqlite_entries!("t.id > $1 ORDER BY t.id LIMIT $2"),
        postgres: postgres_entries!("t.id > $1 ORDER BY t.id LIMIT $2"),
    };
    let rows = db.read(db.words(ENTRIES), &[after_id.into(), limit.into()]).await?;
    rows.iter().map(entry_and_texts).collect()
}

// The statements contain these numbers.
const _: () = assert!(TEXT_MAX_CHARS == 300 && FIELD_TEXT_MAX_CHARS == 100 && FIELDS_MAX == 2_000);

fn entry_and_texts(row: &Row) -> Result<(Entry, Texts), Error> {
    let mut texts = row.by_name();
    let description = texts.get("description")?;
    let fields = serde_json::from_str(&texts.get::<String>("fields")?).map_err(Error::internal)?;
    Ok((entry(row)?, Texts { description, fields }))
}

fn entry(row: &Row) -> Result<Entry, Error> {
    let mut row = row.by_name();
    let text = |row: &mut ByName<'_>, name| {
        row.get::<Option<String>>(name).map(|text| text.map(String::into_boxed_str))
    };
    Ok(Entry {
        id: row.get("id")?,
        cluster_id: row.get("cluster_id")?,
        db_name: row.get::<String>("db_name")?.into(),
        table_name: row.get::<String>("table_name")?.into(),
        table_comment: text(&mut row, "table_comment")?,
        layer: text(&mut row, "layer")?,
        business_domain: text(&mut row, "business_domain")?,
        data_domain: text(&mut row, "data_domain")?,
        owner: text(&mut row, "owner")?,
        is_deprecated: row.get("is_deprecated")?,
        is_physical: row.get("is_physical")?,
        has_drift: row.get("has_drift")?,
        row_count: row.get("row_count")?,
        data_size: row.get("data_size")?,
        index_size: row.get("index_size")?,
        created_at_ms: row.get("created_at")?,
        updated_at_ms: row.get("updated_at")?,
        tags: serde_json::from_str(&row.get::<String>("tags")?).map_err(Error::internal)?,
    })
}

/// Runs a statement over an array, unless it is empty.
async fn write<T: Serialize>(tx: &mut Tx, sql: Either, rows: &[T], more: &[Value]) -> Result<(), Error> {
    if rows.is_empty() {
        return Ok(());
    }
    let values: Vec<Value> = std::iter::once(json(rows)?).chain(more.iter().cloned()).collect();
    tx.execute(tx.words(sql), &values).await.map(drop)
}

fn json<T: Serialize + ?Sized>(rows: &T) -> Result<Value, Error> {
    serde_json::to_string(rows).map(Value::Text).map_err(Error::internal)
}
