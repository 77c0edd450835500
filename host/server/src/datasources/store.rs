//! Data sources in the store. Addresses are stored without passwords, which are separate ciphertexts.

use lakeport_base::Error;
use lakeport_store::{Db, Either, Row, Select, Tx, Value};

use super::OWN_NAME;

/// Columns of a data source, in the order of [`datasource`].
macro_rules! columns {
    () => {
        "id, name, kind, url, read_url, secret, read_secret, options, is_default, sync_cron, next_sync_at, \
         last_sync_time, created_at, updated_at"
    };
}

/// A stored data source.
#[derive(Clone)]
pub struct Datasource {
    pub id: i64,
    pub name: String,
    pub kind: String,
    pub url: String,
    pub read_url: Option<String>,
    /// The password of `url`, encrypted.
    pub secret: Option<Vec<u8>>,
    /// The password of `read_url`.
    pub read_secret: Option<Vec<u8>>,
    /// A JSON object.
    pub options: String,
    pub is_default: bool,
    pub sync_cron: Option<String>,
    pub next_sync_at_ms: Option<i64>,
    pub last_sync_time_ms: Option<i64>,
    pub created_at_ms: i64,
    pub updated_at_ms: i64,
}

/// The short form of a data source for filtering a list.
pub struct Named {
    pub id: i64,
    pub name: String,
    pub kind: String,
}

fn datasource(row: &Row) -> Result<Datasource, Error> {
    let mut row = row.by_name();
    Ok(Datasource {
        id: row.get("id")?,
        name: row.get("name")?,
        kind: row.get("kind")?,
        url: row.get("url")?,
        read_url: row.get("read_url")?,
        secret: row.get("secret")?,
        read_secret: row.get("read_secret")?,
        options: row.get("options")?,
        is_default: row.get("is_default")?,
        sync_cron: row.get("sync_cron")?,
        next_sync_at_ms: row.get("next_sync_at")?,
        last_sync_time_ms: row.get("last_sync_time")?,
        created_at_ms: row.get("created_at")?,
        updated_at_ms: row.get("updated_at")?,
    })
}

/// Creates the data source of the store itself if it does not exist; its kind is the store's.
pub async fn ensure_own(db: &Db, kind: &str, url: &str, now_ms: i64) -> Result<(), Error> {
    // An insert that finds it would consume an id.
    const KNOWN: &str = "SELECT 1 FROM datasources WHERE name = $1 AND kind = $2";
    if !db.read(KNOWN, &[OWN_NAME.into(), kind.into()]).await?.is_empty() {
        return Ok(());
    }
    const ENSURE: &str = "INSERT INTO datasources (name, kind, url, created_at, updated_at) \
        VALUES ($1, $2, $3, $4, $4) ON CONFLICT (name) DO UPDATE SET kind = excluded.kind \
        WHERE datasources.kind <> excluded.kind";
    db.execute(ENSURE, &[OWN_NAME.into(), kind.into(), url.into(), now_ms.into()]).await.map(drop)
}

/// All of them by id, for filtering a list.
pub async fn names(db: &Db) -> Result<Vec<Named>, Error> {
    let rows = db.read("SELECT id, name, kind FROM datasources ORDER BY id", &[]).await?;
    rows.iter().map(|row| Ok(Named { id: row.get(0)?, name: row.get(1)?, kind: row.get(2)? })).collect()
}

/// Those with these ids, by id.
pub async fn all_of(db: &Db, ids: &[i64]) -> Result<Vec<Datasource>, Error> {
    const ALL: Either = Either {
        sqlite: concat!(
            "SELECT ",
            columns!(),
            " FROM datasources WHERE id IN (SELECT value FROM json_each($1)) ORDER BY id"
        ),
        postgres: concat!("SELECT ", columns!(), " FROM datasources WHERE id = ANY($1) ORDER BY id"),
    };
    db.read(db.words(ALL), &[ids.into()]).await?.iter().map(datasource).collect()
}

pub async fn find(db: &Db, id: i64) -> Result<Option<Datasource>, Error> {
    Ok(by_id(Some(id)).all(db).await?.pop())
}

/// The one with this id, if there is one.
pub fn by_id(id: Option<i64>) -> Select<Datasource> {
    const FIND: &str = concat!("SELECT ", columns!(), " FROM datasources WHERE id = $1");
    Select::new(FIND, [id.into()], datasource)
}

/// The default data source.
pub async fn find_default(db: &Db) -> Result<Option<Datasource>, Error> {
    const DEFAULT: &str = concat!("SELECT ", columns!(), " FROM datasources WHERE is_default = 1");
    db.read(DEFAULT, &[]).await?.first().map(datasource).transpose()
}

/// The id of the store's own data source, which never changes.
pub async fn own_id(db: &Db) -> Result<i64, Error> {
    let rows = db.read("SELECT id FROM datasources WHERE name = $1", &[OWN_NAME.into()]).await?;
    rows.first().map_or_else(|| Err(Error::internal(anyhow::anyhow!("it is not there"))), |row| row.get(0))
}

/// Locks one against changes until the transaction ends. Others may still refer to it: a sync holds such
/// references and locks second.
pub async fn lock(tx: &mut Tx, id: i64) -> Result<Option<Datasource>, Error> {
    const LOCK: Either = Either {
        sqlite: concat!("SELECT ", columns!(), " FROM datasources WHERE id = $1"),
        postgres: concat!("SELECT ", columns!(), " FROM datasources WHERE id = $1 FOR NO KEY UPDATE"),
    };
    tx.query(tx.words(LOCK), &[id.into()]).await?.first().map(datasource).transpose()
}

/// The same, and also against new references, for deleting it or changing its kind.
pub async fn lock_alone(tx: &mut Tx, id: i64) -> Result<Option<Datasource>, Error> {
    const LOCK: Either = Either {
        sqlite: concat!("SELECT ", columns!(), " FROM datasources WHERE id = $1"),
        postgres: concat!("SELECT ", columns!(), " FROM datasources WHERE id = $1 FOR UPDATE"),
    };
    tx.query(tx.words(LOCK), &[id.into()]).await?.first().map(datasource).transpose()
}

/// Its id, if it exists; it cannot be deleted before the transaction ends.
pub fn kept(id: Option<i64>) -> Select<i64> {
    const KEPT: Either = Either {
        sqlite: "SELECT id FROM datasources WHERE id = $1",
        postgres: "SELECT id FROM datasources WHERE id = $1 FOR KEY SHARE",
    };
    Select::new(KEPT, [id.into()], |row| row.get(0))
}

/// The same for several.
pub fn all_kept(ids: &[i64]) -> Select<i64> {
    const KEPT: Either = Either {
        sqlite: "SELECT id FROM datasources WHERE id IN (SELECT value FROM json_each($1))",
        postgres: "SELECT id FROM datasources WHERE id = ANY($1) ORDER BY id FOR KEY SHARE",
    };
    Select::new(KEPT, [ids.into()], |row| row.get(0))
}

/// Serialises changes of the default, and creations: they lock the store's own row, which always exists.
pub async fn in_turn(tx: &mut Tx) -> Result<(), Error> {
    const LOCK: Either = Either {
        sqlite: "SELECT id FROM datasources WHERE name = $1",
        postgres: "SELECT id FROM datasources WHERE name = $1 FOR NO KEY UPDATE",
    };
    tx.query(tx.words(LOCK), &[OWN_NAME.into()]).await.map(drop)
}

pub async fn count(tx: &mut Tx) -> Result<i64, Error> {
    let rows = tx.query("SELECT count(*) FROM datasources", &[]).await?;
    rows.first().map_or(Ok(0), |row| row.get(0))
}

/// Removes the default mark from all others; returns their ids.
pub async fn clear_default(tx: &mut Tx, but: i64, now_ms: i64) -> Result<Vec<i64>, Error> {
    const CLEAR: &str = "UPDATE datasources SET is_default = 0, updated_at = $2 WHERE is_default = 1 AND id <> $1 RETURNING id";
    let rows = tx.query(CLEAR, &[but.into(), now_ms.into()]).await?;
    rows.iter().map(|row| row.get(0)).collect()
}

/// Inserts one without its passwords, which are bound to its id; returns the id. 409 when the name is taken.
pub async fn insert(tx: &mut Tx, new: &Datasource) -> Result<i64, Error> {
    const INSERT: &str = "INSERT INTO datasources (name, kind, url, read_url, options, is_default, sync_cron, \
        next_sync_at, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9) RETURNING id";
    let values: [Value; 9] = [
        new.name.as_str().into(),
        new.kind.as_str().into(),
        new.url.as_str().into(),
        new.read_url.as_deref().into(),
        new.options.as_str().into(),
        i64::from(new.is_default).into(),
        new.sync_cron.as_deref().into(),
        new.next_sync_at_ms.into(),
        new.created_at_ms.into(),
    ];
    let rows = tx.query(INSERT, &values).await.map_err(|error| taken(error, &new.name))?;
    rows.first().map_or_else(|| Err(Error::internal(anyhow::anyhow!("it was not stored"))), |row| row.get(0))
}

/// Writes all columns that a change can affect. 409 when the name is taken.
pub async fn update(tx: &mut Tx, changed: &Datasource) -> Result<(), Error> {
    const UPDATE: &str = "UPDATE datasources SET name = $2, kind = $3, url = $4, read_url = $5, secret = $6, \
        read_secret = $7, options = $8, is_default = $9, sync_cron = $10, next_sync_at = $11, updated_at = $12 \
        WHERE id = $1";
    let values: [Value; 12] = [
        changed.id.into(),
        changed.name.as_str().into(),
        changed.kind.as_str().into(),
        changed.url.as_str().into(),
        changed.read_url.as_deref().into(),
        changed.secret.clone().into(),
        changed.read_secret.clone().into(),
        changed.options.as_str().into(),
        i64::from(changed.is_default).into(),
        changed.sync_cron.as_deref().into(),
        changed.next_sync_at_ms.into(),
        changed.updated_at_ms.into(),
    ];
    tx.execute(UPDATE, &values).await.map(drop).map_err(|error| taken(error, &changed.name))
}

pub async fn delete(tx: &mut Tx, id: i64) -> Result<(), Error> {
    tx.execute("DELETE FROM datasources WHERE id = $1", &[id.into()]).await.map(drop)
}

/// Those whose next sync is due, the longest overdue first.
pub async fn due(db: &Db, now_ms: i64, at_most: i64) -> Result<Vec<Datasource>, Error> {
    const DUE: &str = concat!(
        "SELECT ",
        columns!(),
        " FROM datasources WHERE next_sync_at <= $1 ORDER BY next_sync_at LIMIT $2"
    );
    db.read(DUE, &[now_ms.into(), at_most.into()]).await?.iter().map(datasource).collect()
}

/// When the next sync of any is due.
pub async fn next_due(db: &Db) -> Result<Option<i64>, Error> {
    let rows = db.read("SELECT min(next_sync_at) FROM datasources", &[]).await?;
    rows.first().map_or(Ok(None), |row| row.get(0))
}

/// Sets the next due time if it is still the one that was read: of several servers only one succeeds.
pub async fn set_next(tx: &mut Tx, source: &Datasource, next_ms: Option<i64>) -> Result<bool, Error> {
    const SET: &str = "UPDATE datasources SET next_sync_at = $3 WHERE id = $1 AND next_sync_at = $2";
    let values = [source.id.into(), source.next_sync_at_ms.into(), next_ms.into()];
    tx.execute(SET, &values).await.map(|rows| rows > 0)
}

/// Records its last sync.
pub async fn set_last_sync(tx: &mut Tx, id: i64, at_ms: i64) -> Result<(), Error> {
    tx.execute("UPDATE datasources SET last_sync_time = $2 WHERE id = $1", &[id.into(), at_ms.into()])
        .await
        .map(drop)
}

/// The version that the store reports.
pub async fn own_version(db: &Db) -> Result<String, Error> {
    const VERSION: Either =
        Either { sqlite: "SELECT sqlite_version()", postgres: "SELECT current_setting('server_version')" };
    let rows = db.read(db.words(VERSION), &[]).await?;
    rows.first().map_or_else(|| Ok(String::new()), |row| row.get(0))
}

fn taken(error: Error, name: &str) -> Error {
    error.unique_as("name_taken", taken_message(name))
}

/// 409: a data source has this name.
pub fn name_taken(name: &str) -> Error {
    Error::conflict("name_taken", taken_message(name))
}

fn taken_message(name: &str) -> String {
    format!("a data source named `{name}` already exists; use another name")
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
