//! Walks through columns of ciphertexts. Each module's part lists its columns.

use lakeport_base::Error;
use lakeport_store::changes::EVERY_KEY;
use lakeport_store::{Db, Row, Value};

use super::key::KeyId;

/// Rows that are read at once.
pub const BATCH_ROWS: usize = 50;

/// A column of ciphertexts.
#[derive(Debug, Clone, Copy)]
pub struct EncryptedColumn {
    pub table: &'static str,
    pub name: &'static str,
    /// Selects the ciphertext and the primary key, ordered by that key: values that do not begin with $1, at
    /// most $2 rows, after the primary key in $3 and on.
    pub others: &'static str,
    /// Sets the ciphertext $1 if it still is $2, by the primary key in $3 and on.
    pub put: &'static str,
    /// A primary key below all others.
    pub lowest: &'static [KeyColumn],
}

/// One column of a primary key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyColumn {
    Id(i64),
    Text(&'static str),
}

/// For a table with a numeric primary key.
pub const LOWEST_ID: &[KeyColumn] = &[KeyColumn::Id(i64::MIN)];

/// A ciphertext of another key, and its row.
pub struct Sealed {
    pub bytes: Vec<u8>,
    pub primary_key: Vec<Value>,
    pub context: String,
}

impl EncryptedColumn {
    /// Where a walk over the column begins.
    pub fn start(&self) -> Vec<Value> {
        let value = |key: &KeyColumn| match key {
            KeyColumn::Id(id) => Value::Int(*id),
            KeyColumn::Text(text) => Value::from(*text),
        };
        self.lowest.iter().map(value).collect()
    }

    /// The next rows after a primary key that are not under the key.
    pub async fn not_under(&self, db: &Db, id: KeyId, after: &[Value]) -> Result<Vec<Sealed>, Error> {
        let limit = Value::Int(BATCH_ROWS as i64);
        let values: Vec<Value> =
            [id.prefix().into(), limit].into_iter().chain(after.iter().cloned()).collect();
        db.read(self.others, &values).await?.iter().map(|row| self.sealed(row)).collect()
    }

    /// Replaces the ciphertexts that were read; returns the number of those that were unchanged.
    pub async fn put(&self, db: &Db, rows: Vec<(Sealed, Vec<u8>)>) -> Result<u64, Error> {
        let mut tx = db.begin().await?;
        let mut changed = 0;
        for (old, new) in rows {
            let values: Vec<Value> =
                [new.into(), old.bytes.into()].into_iter().chain(old.primary_key).collect();
            changed += tx.execute(self.put, &values).await?;
        }
        if changed > 0 {
            // Tables whose rows others keep in memory are topics of the same name.
            tx.changed(self.table, EVERY_KEY);
        }
        tx.commit().await?;
        Ok(changed)
    }

    fn sealed(&self, row: &Row) -> Result<Sealed, Error> {
        let mut primary_key = Vec::new();
        let mut parts = Vec::new();
        for (index, key) in self.lowest.iter().enumerate() {
            let (value, part) = match key {
                KeyColumn::Id(_) => {
                    let id: i64 = row.get(index + 1)?;
                    (Value::Int(id), id.to_string())
                }
                KeyColumn::Text(_) => {
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
