//! Models in the store.

use lakeport_base::Error;
use lakeport_http::Paging;
use lakeport_store::{Db, Either, Row, Tx, Value};

use super::{ModelRecord, OFFLINE, Options, Provider};
use crate::config::model::{MAX_TOKENS_DEFAULT, TIMEOUT_S_DEFAULT};

/// Columns of a model, read by name.
macro_rules! models {
    () => {
        "SELECT id, name, provider, base_url, model, secret, is_default, max_tokens, timeout_s, options, created_at, \
         updated_at FROM models"
    };
}

fn model(row: &Row) -> Result<ModelRecord, Error> {
    let mut row = row.by_name();
    let provider: String = row.get("provider")?;
    Ok(ModelRecord {
        id: row.get("id")?,
        name: row.get("name")?,
        provider: Provider::named(&provider)
            .ok_or_else(|| Error::internal(anyhow::anyhow!("`{provider}` is no provider of models")))?,
        base_url: row.get("base_url")?,
        model: row.get("model")?,
        secret: row.get("secret")?,
        is_default: row.get::<i64>("is_default")? == 1,
        max_tokens: row.get("max_tokens")?,
        timeout_s: row.get("timeout_s")?,
        options: serde_json::from_str(&row.get::<String>("options")?).map_err(Error::internal)?,
        created_at_ms: row.get("created_at")?,
        updated_at_ms: row.get("updated_at")?,
    })
}

/// One page of models, by name, and the total.
pub async fn page(db: &Db, paging: &Paging) -> Result<(i64, Vec<ModelRecord>), Error> {
    const PAGE: &str = concat!(models!(), " ORDER BY name LIMIT $1 OFFSET $2");
    let total = db.read("SELECT count(*) FROM models", &[]).await?[0].get(0)?;
    let rows = db.read(PAGE, &[paging.page_size.into(), paging.offset().into()]).await?;
    Ok((total, rows.iter().map(model).collect::<Result<_, _>>()?))
}

/// The names of all models, in order.
pub async fn names(db: &Db) -> Result<Vec<String>, Error> {
    let rows = db.read("SELECT name FROM models ORDER BY name", &[]).await?;
    rows.iter().map(|row| row.get(0)).collect()
}

pub async fn find(db: &Db, id: i64) -> Result<Option<ModelRecord>, Error> {
    const FIND: &str = concat!(models!(), " WHERE id = $1");
    db.read(FIND, &[id.into()]).await?.first().map(model).transpose()
}

pub async fn named(db: &Db, name: &str) -> Result<Option<ModelRecord>, Error> {
    const NAMED: &str = concat!(models!(), " WHERE name = $1");
    db.read(NAMED, &[name.into()]).await?.first().map(model).transpose()
}

/// The model of this id; without one, the default.
pub async fn chosen(tx: &mut Tx, id: Option<i64>) -> Result<ModelRecord, Error> {
    const CHOSEN: &str = concat!(models!(), " WHERE id = $1 OR is_default = 1 ORDER BY is_default LIMIT 1");
    const DEFAULT: &str = concat!(models!(), " WHERE is_default = 1");
    let rows = match id {
        Some(id) => tx.query(CHOSEN, &[id.into()]).await?,
        None => tx.query(DEFAULT, &[]).await?,
    };
    let missing = || Error::internal(anyhow::anyhow!("no model is the default"));
    rows.first().map(model).transpose()?.ok_or_else(missing)
}

/// Locks one against changes until the transaction ends.
pub async fn lock(tx: &mut Tx, id: i64) -> Result<Option<ModelRecord>, Error> {
    const LOCK: Either = Either {
        sqlite: concat!(models!(), " WHERE id = $1"),
        postgres: concat!(models!(), " WHERE id = $1 FOR UPDATE"),
    };
    tx.query(tx.words(LOCK), &[id.into()]).await?.first().map(model).transpose()
}

pub async fn lock_named(tx: &mut Tx, name: &str) -> Result<Option<ModelRecord>, Error> {
    const LOCK: Either = Either {
        sqlite: concat!(models!(), " WHERE name = $1"),
        postgres: concat!(models!(), " WHERE name = $1 FOR UPDATE"),
    };
    tx.query(tx.words(LOCK), &[name.into()]).await?.first().map(model).transpose()
}

/// Makes changes of models wait for each other until the transaction ends.
pub async fn lock_all(tx: &mut Tx) -> Result<(), Error> {
    lock_named(tx, OFFLINE).await.map(drop)
}

pub async fn count(tx: &mut Tx) -> Result<i64, Error> {
    let rows = tx.query("SELECT count(*) FROM models", &[]).await?;
    rows.first().map_or(Ok(0), |row| row.get(0))
}

/// Makes `offline` where it is missing; the default, where there is none. Locks like [`lock_all`].
pub async fn ensure_offline(tx: &mut Tx, now_ms: i64) -> Result<(), Error> {
    const ENSURE: &str = "INSERT INTO models (name, provider, base_url, model, max_tokens, timeout_s, created_at, \
        updated_at) VALUES ($1, $1, '', $1, $2, $3, $4, $4) ON CONFLICT (name) DO NOTHING";
    let values = [OFFLINE.into(), MAX_TOKENS_DEFAULT.into(), TIMEOUT_S_DEFAULT.into(), Value::from(now_ms)];
    tx.execute(ENSURE, &values).await?;
    lock_all(tx).await?;
    ensure_default(tx).await
}

/// Makes `offline` the default where there is none.
pub async fn ensure_default(tx: &mut Tx) -> Result<(), Error> {
    const ENSURE: &str = "UPDATE models SET is_default = 1 WHERE name = $1 \
        AND NOT EXISTS (SELECT 1 FROM models WHERE is_default = 1)";
    tx.execute(ENSURE, &[OFFLINE.into()]).await.map(drop)
}

/// No model is the default any more.
pub async fn clear_default(tx: &mut Tx) -> Result<(), Error> {
    tx.execute("UPDATE models SET is_default = 0 WHERE is_default = 1", &[]).await.map(drop)
}

/// Inserts one that is not the default, without its key; returns its id. 409 when the name is taken.
pub async fn insert(tx: &mut Tx, new: &ModelRecord) -> Result<i64, Error> {
    const INSERT: &str = "INSERT INTO models (name, provider, base_url, model, max_tokens, timeout_s, options, \
        updated_at, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id";
    let [name, provider, base_url, model, max_tokens, timeout_s, options, updated_at] = values(new)?;
    let created_at = new.created_at_ms.into();
    let values = [name, provider, base_url, model, max_tokens, timeout_s, options, updated_at, created_at];
    let taken = format!("a model named `{}` already exists; use another name", new.name);
    let rows = tx.query(INSERT, &values).await.map_err(|error| error.unique_as("name_taken", taken))?;
    rows.first().map_or_else(|| Err(Error::internal(anyhow::anyhow!("it was not stored"))), |row| row.get(0))
}

/// Writes all columns. 409 when the name is taken.
pub async fn update(tx: &mut Tx, changed: &ModelRecord) -> Result<(), Error> {
    const UPDATE: &str = "UPDATE models SET name = $1, provider = $2, base_url = $3, model = $4, max_tokens = $5, \
        timeout_s = $6, options = $7, updated_at = $8, secret = $9, is_default = $10 WHERE id = $11";
    let [name, provider, base_url, model, max_tokens, timeout_s, options, updated_at] = values(changed)?;
    let (secret, is_default) = (changed.secret.clone().into(), i64::from(changed.is_default).into());
    let values: [Value; 11] = [
        name,
        provider,
        base_url,
        model,
        max_tokens,
        timeout_s,
        options,
        updated_at,
        secret,
        is_default,
        changed.id.into(),
    ];
    let taken = format!("a model named `{}` already exists; use another name", changed.name);
    tx.execute(UPDATE, &values).await.map(drop).map_err(|error| error.unique_as("name_taken", taken))
}

/// Its topics use the default then.
pub async fn delete(tx: &mut Tx, id: i64) -> Result<(), Error> {
    tx.execute("DELETE FROM models WHERE id = $1", &[id.into()]).await.map(drop)
}

fn values(model: &ModelRecord) -> Result<[Value; 8], Error> {
    Ok([
        model.name.as_str().into(),
        model.provider.as_str().into(),
        model.base_url.as_str().into(),
        model.model.as_str().into(),
        model.max_tokens.into(),
        model.timeout_s.into(),
        serde_json::to_string::<Options>(&model.options).map_err(Error::internal)?.into(),
        model.updated_at_ms.into(),
    ])
}
