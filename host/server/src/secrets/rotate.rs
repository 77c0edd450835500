//! Rotates the key: creates a new one and re-encrypts everything while servers run. It may be killed at any
//! point: the key file is replaced atomically, a row is changed only if it still has the value that was read,
//! and a key is removed only when nothing uses it. The next run continues.

use anyhow::{bail, ensure};
use lakeport_store::Db;

use super::file::{self, Lock};
use super::key::{Key, KeyId};
use super::store::EncryptedColumn;
use super::{Held, Keys, Source, now_ms};

/// The most passes over the store, while something still writes under an old key.
const PASSES_MAX: usize = 20;
/// The minimum time that a replaced key is kept: longer than a stored answer, whose request is compared by a
/// digest of that key.
const KEPT_MS: i64 = 25 * 60 * 60 * 1000;

/// The result of a rotation.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Rotated {
    /// The id of the key that now encrypts everything.
    pub key: String,
    /// Whether that key is new; one of the setting never is.
    pub made: bool,
    /// The number of re-encrypted secrets.
    pub changed: u64,
    /// Secrets that no key opens, by context; they stay unchanged.
    pub unreadable: Vec<String>,
    /// Ids of older keys that are kept, and of removed ones.
    pub kept: Vec<String>,
    pub dropped: Vec<String>,
}

/// Adds a new key in front of those of the file, re-encrypts everything with it, and removes keys that
/// nothing needs any more, but never the previous one. Keys of the setting belong to the operator: then it
/// only re-encrypts values that are not under the first key.
pub async fn rotate(db: &Db, keys: &Keys, columns: &[EncryptedColumn]) -> anyhow::Result<Rotated> {
    rotate_at(db, keys, columns, now_ms()).await
}

pub(super) async fn rotate_at(
    db: &Db,
    keys: &Keys,
    columns: &[EncryptedColumn],
    now_ms: i64,
) -> anyhow::Result<Rotated> {
    let lock = keys.add(now_ms)?;
    let held = keys.0.held.load_full();
    let newest = held.newest().id;
    let mut rotated = Rotated { key: newest.to_string(), made: lock.is_some(), ..Rotated::default() };
    re_encrypt(db, keys, columns, newest, &mut rotated).await?;
    if let Some(lock) = lock
        && rotated.unreadable.is_empty()
    {
        rotated.dropped = keys.drop_superseded(&lock, now_ms)?;
    }
    rotated.kept = keys.ids().split_off(1);
    Ok(rotated)
}

/// Repeats passes over all columns until no readable value is under another key.
async fn re_encrypt(
    db: &Db,
    keys: &Keys,
    columns: &[EncryptedColumn],
    newest: KeyId,
    rotated: &mut Rotated,
) -> anyhow::Result<()> {
    for _ in 0..PASSES_MAX {
        let mut found = 0;
        rotated.unreadable.clear();
        for column in columns {
            let pass = walk(db, keys, newest, column).await?;
            found += pass.found;
            rotated.changed += pass.changed;
            rotated.unreadable.extend(pass.unreadable);
        }
        if found == 0 {
            return Ok(());
        }
    }
    bail!(
        "a server still writes under an older key: see that each one has the key {newest} first in \
         LAKEPORT_KEY and was restarted, then run this again"
    )
}

#[derive(Default)]
struct Pass {
    /// Readable rows under another key; rows that changed meanwhile are handled in the next pass.
    found: usize,
    changed: u64,
    unreadable: Vec<String>,
}

async fn walk(db: &Db, keys: &Keys, newest: KeyId, column: &EncryptedColumn) -> anyhow::Result<Pass> {
    let mut pass = Pass::default();
    let mut after = column.start();
    loop {
        let rows = column.not_under(db, newest, &after).await?;
        let Some(last) = rows.last() else { return Ok(pass) };
        after.clone_from(&last.primary_key);
        let mut re_encrypted = Vec::new();
        for row in rows {
            match keys.decrypt(&row.context, &row.bytes) {
                Ok(plain) => {
                    let sealed = keys.encrypt(&row.context, plain.bytes());
                    re_encrypted.push((row, sealed));
                }
                Err(_) => pass.unreadable.push(row.context),
            }
        }
        pass.found += re_encrypted.len();
        pass.changed += column.put(db, re_encrypted).await?;
    }
}

impl Keys {
    /// Adds a new key in front of the file's; `None` if the setting has the keys. The lock is held until the
    /// rotation ends.
    fn add(&self, now_ms: i64) -> anyhow::Result<Option<Lock>> {
        let Source::File(path) = &self.0.source else { return Ok(None) };
        let lock = file::try_lock(path)?;
        self.reload()?;
        let held = self.0.held.load_full();
        ensure!(
            held.keys.len() < file::KEYS_MAX,
            "there are {} keys already, made within the last hour; try again later",
            held.keys.len()
        );
        let new = Key::random(now_ms);
        let keys: Vec<&Key> = std::iter::once(&new).chain(&held.keys).collect();
        file::write(path, &keys, &lock)?;
        self.reload()?;
        Ok(Some(lock))
    }

    /// Removes keys that were replaced long enough ago; returns their ids.
    fn drop_superseded(&self, lock: &Lock, now_ms: i64) -> anyhow::Result<Vec<String>> {
        let Source::File(path) = &self.0.source else { return Ok(Vec::new()) };
        let held = self.0.held.load_full();
        let (kept, dropped) = held.split(now_ms);
        if !dropped.is_empty() {
            file::write(path, &kept, lock)?;
            self.reload()?;
        }
        Ok(dropped.iter().map(|key| key.id.to_string()).collect())
    }
}

impl Held {
    /// Keys to keep and keys to remove: the newest and the previous one are always kept.
    fn split(&self, now_ms: i64) -> (Vec<&Key>, Vec<&Key>) {
        let mut followed_by: Option<&Key> = None;
        let (mut kept, mut dropped) = (Vec::new(), Vec::new());
        for key in &self.keys {
            let is_needed =
                kept.len() < 2 || followed_by.is_none_or(|next| now_ms - next.made_at_ms < KEPT_MS);
            if is_needed {
                kept.push(key)
            } else {
                dropped.push(key)
            }
            followed_by = Some(key);
        }
        (kept, dropped)
    }
}
