//! Which columns hold what the keys encrypted, as data: a new one is one entry. These statements are all
//! that this room knows of other rooms' tables.

use super::key::KeyId;
use crate::db::{Db, Row, Value};
use crate::error::Error;

/// Rows that are read at once.
pub const BATCH_ROWS: usize = 50;

pub struct Column {
    table: &'static str,
    name: &'static str,
    /// Answers the ciphertext and the primary key, in the order of that key: what does not begin with $1, at
    /// most $2 rows, beyond the primary key in $3 and on.
    others: &'static str,
    /// Sets the ciphertext $1 where it still is $2, by the primary key in $3 and on.
    put: &'static str,
    /// A primary key below all others.
    lowest: &'static [Key],
}

/// One column of a primary key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    Id(i64),
    Text(&'static str),
}

const LOWEST_ID: &[Key] = &[Key::Id(i64::MIN)];

pub const COLUMNS: &[Column] = &[
    Column {
        table: "datasources",
        name: "secret",
        others: "SELECT secret, id FROM datasources WHERE secret IS NOT NULL \
                 AND substr(secret, 1, 9) <> $1 AND id > $3 ORDER BY id LIMIT $2",
        put: "UPDATE datasources SET secret = $1 WHERE secret = $2 AND id = $3",
        lowest: LOWEST_ID,
    },
    Column {
        table: "datasources",
        name: "read_secret",
        others: "SELECT read_secret, id FROM datasources WHERE read_secret IS NOT NULL \
                 AND substr(read_secret, 1, 9) <> $1 AND id > $3 ORDER BY id LIMIT $2",
        put: "UPDATE datasources SET read_secret = $1 WHERE read_secret = $2 AND id = $3",
        lowest: LOWEST_ID,
    },
    Column {
        table: "engines",
        name: "secrets",
        others: "SELECT secrets, name FROM engines WHERE secrets IS NOT NULL \
                 AND substr(secrets, 1, 9) <> $1 AND name > $3 ORDER BY name LIMIT $2",
        put: "UPDATE engines SET secrets = $1 WHERE secrets = $2 AND name = $3",
        lowest: &[Key::Text("")],
    },
    Column {
        table: "idempotency_keys",
        name: "body",
        others: "SELECT body, caller, method, path, key FROM idempotency_keys \
                 WHERE encrypted = 1 AND body IS NOT NULL AND substr(body, 1, 9) <> $1 \
                 AND (caller, method, path, key) > ($3, $4, $5, $6) \
                 ORDER BY caller, method, path, key LIMIT $2",
        put: "UPDATE idempotency_keys SET body = $1 WHERE body = $2 AND encrypted = 1 \
              AND caller = $3 AND method = $4 AND path = $5 AND key = $6",
        lowest: &[Key::Text(""), Key::Text(""), Key::Text(""), Key::Text("")],
    },
];

/// A ciphertext of another key, and where it stands.
pub struct Sealed {
    pub bytes: Vec<u8>,
    pub primary_key: Vec<Value>,
    pub context: String,
}

impl Column {
    /// Where a walk over the column begins.
    pub fn start(&self) -> Vec<Value> {
        let value = |key: &Key| match key {
            Key::Id(id) => Value::Int(*id),
            Key::Text(text) => Value::from(*text),
        };
        self.lowest.iter().map(value).collect()
    }

    /// The next rows that are not under the key, after a primary key.
    pub async fn not_under(&self, db: &Db, id: KeyId, after: &[Value]) -> Result<Vec<Sealed>, Error> {
        let limit = Value::Int(BATCH_ROWS as i64);
        let values: Vec<Value> =
            [id.prefix().into(), limit].into_iter().chain(after.iter().cloned()).collect();
        db.read(self.others, &values).await?.iter().map(|row| self.sealed(row)).collect()
    }

    /// Puts new ciphertexts in the place of those that were read; answers how many were still the same.
    pub async fn put(&self, db: &Db, rows: Vec<(Sealed, Vec<u8>)>) -> Result<u64, Error> {
        let mut tx = db.begin().await?;
        let mut changed = 0;
        for (old, new) in rows {
            let values: Vec<Value> =
                [new.into(), old.bytes.into()].into_iter().chain(old.primary_key).collect();
            changed += tx.execute(self.put, &values).await?;
        }
        tx.commit().await?;
        Ok(changed)
    }

    fn sealed(&self, row: &Row) -> Result<Sealed, Error> {
        let mut primary_key = Vec::new();
        let mut parts = Vec::new();
        for (index, key) in self.lowest.iter().enumerate() {
            let (value, part) = match key {
                Key::Id(_) => {
                    let id: i64 = row.get(index + 1)?;
                    (Value::Int(id), id.to_string())
                }
                Key::Text(_) => {
                    let text: String = row.get(index + 1)?;
                    (Value::Text(text.clone()), text)
                }
            };
            primary_key.push(value);
            parts.push(part);
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        Ok(Sealed { bytes: row.get(0)?, primary_key, context: super::context(self.table, &parts, self.name) })
    }
}
