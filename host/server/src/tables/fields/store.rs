//! Single fields in the store.

use lakeport_base::Error;
use lakeport_store::{Db, Either, Row, Tx, Value};

use super::Field;

/// Those of these tables, in each table's order, `at_most` in total.
pub async fn of_tables(db: &Db, table_ids: &[i64], at_most: i64) -> Result<Vec<Field>, Error> {
    const OF: Either = Either {
        sqlite: "SELECT id, table_id, field_name, field_type, field_comment, is_primary_key, is_nullable, \
            default_value, field_order, description FROM fields WHERE table_id IN (SELECT value FROM json_each($1)) \
            ORDER BY table_id, field_order LIMIT $2",
        postgres: "SELECT id, table_id, field_name, field_type, field_comment, is_primary_key, is_nullable, \
            default_value, field_order, description FROM fields WHERE table_id = ANY($1) \
            ORDER BY table_id, field_order LIMIT $2",
    };
    db.read(db.words(OF), &[table_ids.into(), at_most.into()]).await?.iter().map(field).collect()
}

/// Those with these ids, unordered.
pub async fn of_ids(db: &Db, ids: &[i64]) -> Result<Vec<Field>, Error> {
    const OF: Either = Either {
        sqlite: "SELECT id, table_id, field_name, field_type, field_comment, is_primary_key, is_nullable, \
            default_value, field_order, description FROM fields WHERE id IN (SELECT value FROM json_each($1))",
        postgres: "SELECT id, table_id, field_name, field_type, field_comment, is_primary_key, is_nullable, \
            default_value, field_order, description FROM fields WHERE id = ANY($1)",
    };
    db.read(db.words(OF), &[ids.into()]).await?.iter().map(field).collect()
}

fn field(row: &Row) -> Result<Field, Error> {
    let mut row = row.by_name();
    Ok(Field {
        id: row.get("id")?,
        table_id: row.get("table_id")?,
        name: row.get("field_name")?,
        type_text: row.get("field_type")?,
        comment: row.get("field_comment")?,
        is_key: row.get("is_primary_key")?,
        is_nullable: row.get("is_nullable")?,
        default: row.get("default_value")?,
        place: row.get("field_order")?,
        description: row.get("description")?,
    })
}

/// Inserts one; returns its id. 409 when the name is taken.
pub async fn insert(tx: &mut Tx, new: &Field, now_ms: i64) -> Result<i64, Error> {
    const INSERT: &str = "INSERT INTO fields (field_name, field_type, field_comment, is_primary_key, is_nullable, \
        default_value, field_order, created_at, updated_at, description, table_id) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8, $9, $10) RETURNING id";
    let mut values = values(new, now_ms);
    values.push(new.table_id.into());
    let rows = tx.query(INSERT, &values).await.map_err(|error| taken(error, new))?;
    rows.first().map_or_else(|| Err(Error::internal(anyhow::anyhow!("it was not stored"))), |row| row.get(0))
}

/// Writes all columns that a change can affect. 409 when the name is taken.
pub async fn update(tx: &mut Tx, after: &Field, now_ms: i64) -> Result<(), Error> {
    const UPDATE: &str = "UPDATE fields SET field_name = $1, field_type = $2, field_comment = $3, \
        is_primary_key = $4, is_nullable = $5, default_value = $6, field_order = $7, updated_at = $8, \
        description = $9 WHERE id = $10";
    let mut values = values(after, now_ms);
    values.push(after.id.into());
    tx.execute(UPDATE, &values).await.map(drop).map_err(|error| taken(error, after))
}

fn values(of: &Field, now_ms: i64) -> Vec<Value> {
    vec![
        of.name.as_str().into(),
        of.type_text.as_str().into(),
        of.comment.as_deref().into(),
        i64::from(of.is_key).into(),
        i64::from(of.is_nullable).into(),
        of.default.as_deref().into(),
        of.place.into(),
        now_ms.into(),
        of.description.as_deref().into(),
    ]
}

/// Deletes one; later fields move up.
pub async fn delete(tx: &mut Tx, field: &Field) -> Result<(), Error> {
    const DELETE: &str = "DELETE FROM fields WHERE id = $1";
    const MOVE_UP: &str =
        "UPDATE fields SET field_order = field_order - 1 WHERE table_id = $1 AND field_order > $2";
    tx.execute(DELETE, &[field.id.into()]).await?;
    tx.execute(MOVE_UP, &[field.table_id.into(), field.place.into()]).await.map(drop)
}

fn taken(error: Error, wanted: &Field) -> Error {
    error.unique_as("name_taken", name_taken(&wanted.name))
}

/// The message about a taken name.
pub fn name_taken(name: &str) -> String {
    format!("the table has a field {name} already; take another name")
}
