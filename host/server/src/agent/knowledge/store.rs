//! Verified questions and terms in the store.

use lakeport_base::Error;
use lakeport_http::Paging;
use lakeport_store::{Db, Either, Row, Tx, Value};

use super::{ENTRIES_MAX, Entry, Kind, apart, plain};

/// Columns of an entry.
macro_rules! entries {
    () => {
        "SELECT id, body, author, created_at, updated_at FROM knowledge"
    };
}

fn entry<K: Kind>(row: &Row) -> Result<Entry<K::Body>, Error> {
    Ok(Entry {
        id: row.get(0)?,
        body: serde_json::from_str(&row.get::<String>(1)?).map_err(Error::internal)?,
        author: row.get(2)?,
        created_at_ms: row.get(3)?,
        updated_at_ms: row.get(4)?,
    })
}

/// One page by words, and the total: of all data sources, or of those of no and of these data sources.
pub async fn page<K: Kind>(
    db: &Db,
    datasources: Option<&[String]>,
    keyword: &str,
    paging: &Paging,
) -> Result<(i64, Vec<Entry<K::Body>>), Error> {
    /// $1 the kind, $2 the words, $3 the names as a JSON array, or null.
    macro_rules! wanted {
        ($names:literal) => {
            concat!(
                " WHERE kind = $1 AND words LIKE $2 ESCAPE '!' AND (CAST($3 AS TEXT) IS NULL OR datasource = '' \
                 OR datasource IN (",
                $names,
                "))"
            )
        };
    }
    macro_rules! on_each {
        ($before:expr, $after:literal) => {
            Either {
                sqlite: concat!($before, wanted!("SELECT value FROM json_each($3)"), $after),
                postgres: concat!(
                    $before,
                    wanted!("SELECT jsonb_array_elements_text(CAST($3 AS JSONB))"),
                    $after
                ),
            }
        };
    }
    const COUNT: Either = on_each!("SELECT count(*) FROM knowledge", "");
    const PAGE: Either = on_each!(entries!(), " ORDER BY words, id LIMIT $4 OFFSET $5");
    let words = plain(keyword).replace('!', "!!").replace('%', "!%").replace('_', "!_");
    let names = datasources.map(serde_json::to_string).transpose().map_err(Error::internal)?;
    let values: [Value; 3] = [K::STORED.into(), format!("%{words}%").into(), names.into()];
    let total = db.read(db.words(COUNT), &values).await?[0].get(0)?;
    let [kind, words, names] = values;
    let values = [kind, words, names, paging.page_size.into(), paging.offset().into()];
    let rows = db.read(db.words(PAGE), &values).await?;
    Ok((total, rows.iter().map(entry::<K>).collect::<Result<_, _>>()?))
}

/// All of a kind, in the order in which they were made.
pub async fn all<K: Kind>(db: &Db) -> Result<Vec<Entry<K::Body>>, Error> {
    const ALL: &str = concat!(entries!(), " WHERE kind = $1 ORDER BY id LIMIT $2");
    let rows = db.read(ALL, &[K::STORED.into(), ENTRIES_MAX.into()]).await?;
    // They may have many megabytes.
    apart(move || rows.iter().map(entry::<K>).collect()).await
}

/// What makes an entry unique, without its body.
pub struct Head {
    pub id: i64,
    pub words: String,
    pub datasource: String,
}

/// All of a kind.
pub async fn heads<K: Kind>(db: &Db) -> Result<Vec<Head>, Error> {
    const HEADS: &str = "SELECT id, words, datasource FROM knowledge WHERE kind = $1 ORDER BY id LIMIT $2";
    let rows = db.read(HEADS, &[K::STORED.into(), ENTRIES_MAX.into()]).await?;
    let head = |row: &Row| Ok(Head { id: row.get(0)?, words: row.get(1)?, datasource: row.get(2)? });
    rows.iter().map(head).collect()
}

pub async fn of_words<K: Kind>(db: &Db, words: &str) -> Result<Vec<Entry<K::Body>>, Error> {
    const FIND: &str = concat!(entries!(), " WHERE kind = $1 AND words = $2 ORDER BY id");
    let rows = db.read(FIND, &[K::STORED.into(), words.into()]).await?;
    rows.iter().map(entry::<K>).collect()
}

pub async fn find<K: Kind>(db: &Db, id: i64) -> Result<Option<Entry<K::Body>>, Error> {
    const FIND: &str = concat!(entries!(), " WHERE kind = $1 AND id = $2");
    db.read(FIND, &[K::STORED.into(), id.into()]).await?.first().map(entry::<K>).transpose()
}

/// Locks one against changes until the transaction ends.
pub async fn lock<K: Kind>(tx: &mut Tx, id: i64) -> Result<Option<Entry<K::Body>>, Error> {
    const LOCK: Either = Either {
        sqlite: concat!(entries!(), " WHERE kind = $1 AND id = $2"),
        postgres: concat!(entries!(), " WHERE kind = $1 AND id = $2 FOR UPDATE"),
    };
    let rows = tx.query(tx.words(LOCK), &[K::STORED.into(), id.into()]).await?;
    rows.first().map(entry::<K>).transpose()
}

/// The same by what makes it unique.
pub async fn lock_same<K: Kind>(tx: &mut Tx, body: &K::Body) -> Result<Option<Entry<K::Body>>, Error> {
    const LOCK: Either = Either {
        sqlite: concat!(entries!(), " WHERE kind = $1 AND words = $2 AND datasource = $3"),
        postgres: concat!(entries!(), " WHERE kind = $1 AND words = $2 AND datasource = $3 FOR UPDATE"),
    };
    let datasource = K::datasource(body).unwrap_or_default();
    let values = [K::STORED.into(), K::words(body).into(), datasource.into()];
    tx.query(tx.words(LOCK), &values).await?.first().map(entry::<K>).transpose()
}

pub async fn count<K: Kind>(tx: &mut Tx) -> Result<i64, Error> {
    let rows = tx.query("SELECT count(*) FROM knowledge WHERE kind = $1", &[K::STORED.into()]).await?;
    rows.first().map_or(Ok(0), |row| row.get(0))
}

/// Inserts one; returns its id. 409 if there is the same already.
pub async fn insert<K: Kind>(tx: &mut Tx, new: &Entry<K::Body>) -> Result<i64, Error> {
    const INSERT: &str = "INSERT INTO knowledge (kind, words, datasource, body, author, updated_at, created_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id";
    let [words, datasource, body, author, updated_at] = values::<K>(new)?;
    let values = [K::STORED.into(), words, datasource, body, author, updated_at, new.created_at_ms.into()];
    let rows = tx.query(INSERT, &values).await.map_err(taken)?;
    rows.first().map_or_else(|| Err(Error::internal(anyhow::anyhow!("it was not stored"))), |row| row.get(0))
}

/// Writes all columns. 409 if there is the same already.
pub async fn update<K: Kind>(tx: &mut Tx, changed: &Entry<K::Body>) -> Result<(), Error> {
    const UPDATE: &str = "UPDATE knowledge SET words = $1, datasource = $2, body = $3, author = $4, updated_at = $5 \
        WHERE id = $6";
    let [words, datasource, body, author, updated_at] = values::<K>(changed)?;
    let values = [words, datasource, body, author, updated_at, changed.id.into()];
    tx.execute(UPDATE, &values).await.map(drop).map_err(taken)
}

pub async fn delete(tx: &mut Tx, id: i64) -> Result<(), Error> {
    tx.execute("DELETE FROM knowledge WHERE id = $1", &[id.into()]).await.map(drop)
}

fn taken(error: Error) -> Error {
    error.unique_as("name_taken", "there is the same for this data source already; change that one")
}

fn values<K: Kind>(entry: &Entry<K::Body>) -> Result<[Value; 5], Error> {
    Ok([
        K::words(&entry.body).into(),
        K::datasource(&entry.body).unwrap_or_default().into(),
        serde_json::to_string(&entry.body).map_err(Error::internal)?.into(),
        entry.author.as_str().into(),
        entry.updated_at_ms.into(),
    ])
}
