//! A new key, and everything encrypted again with it, while servers run. It may be killed anywhere: the file
//! of keys is replaced whole, a row is changed only where it still is what was read, and a key goes only
//! after nothing was found under it. The next run goes on.

use anyhow::{bail, ensure};
use lakeport_store::Db;

use super::file::{self, Lock};
use super::key::{Key, KeyId};
use super::store::EncryptedColumn;
use super::{Held, Keys, Source, now_ms};

/// How often the whole store is gone through, while something still writes under an old key.
const PASSES_MAX: usize = 20;
/// How long a key is kept after the next one came, at least: longer than a kept answer, whose
/// request is compared by a digest of that key.
const KEPT_MS: i64 = 25 * 60 * 60 * 1000;

/// What a rotation did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Rotated {
    /// The id of the key that everything is under now.
    pub key: String,
    /// Whether that key was made now; one of the setting never is.
    pub made: bool,
    /// How many secrets were encrypted again.
    pub changed: u64,
    /// Secrets that no key opens, by their context; they stay as they are.
    pub unreadable: Vec<String>,
    /// Ids of older keys that are kept, and of those that went.
    pub kept: Vec<String>,
    pub dropped: Vec<String>,
}

/// Puts a new key in front of those of the file, encrypts everything with it, and drops keys that nothing
/// needs any more; the one before is kept. Keys of the setting are the operator's: then only what is not
/// under the first one is encrypted again.
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

/// Goes through all columns until nothing that opens is under another key.
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
        "a server goes on writing under an older key: see that each one has the key {newest} first in \
         LAKEPORT_KEY and was restarted, then run this again"
    )
}

#[derive(Default)]
struct Pass {
    /// Rows under another key that opened; those that changed meanwhile are looked at again.
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
        let mut anew = Vec::new();
        for row in rows {
            match keys.decrypt(&row.context, &row.bytes) {
                Ok(plain) => {
                    let sealed = keys.encrypt(&row.context, plain.bytes());
                    anew.push((row, sealed));
                }
                Err(_) => pass.unreadable.push(row.context),
            }
        }
        pass.found += anew.len();
        pass.changed += column.put(db, anew).await?;
    }
}

impl Keys {
    /// Puts a new key in front of the file's; none where the setting has the keys. The lock is held until
    /// the rotation is over.
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

    /// Drops what was followed by another key long enough ago; answers the ids that went.
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
    /// Keys to keep and keys to drop: the newest and the one before are always kept.
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
