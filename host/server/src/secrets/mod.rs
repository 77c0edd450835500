//! Encryption of secrets: values that must not be readable in a dump are encrypted with a key that is not in
//! the store.
//!
//! The keys come from the setting `key`, or else from a file in the data folder. The first one encrypts, all
//! of them decrypt, and a ciphertext names its key: so a new key can be added in front of the old ones, and
//! servers keep running while [`rotate`] re-encrypts everything. A ciphertext is bound to its row and column
//! by its [`context`]. This module does not know what secrets are for, and never logs one.

mod file;
mod key;
mod rotate;
mod secret;
mod store;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use arc_swap::ArcSwap;
use lakeport_base::Error;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use zeroize::Zeroizing;

use file::Stamp;
use key::{Key, KeyId};
pub use rotate::{Rotated, rotate};
pub use secret::Secret;
pub use store::{EncryptedColumn, KeyColumn, LOWEST_ID};

/// The current keys; clones share them.
#[derive(Clone)]
pub struct Keys(Arc<Inner>);

struct Inner {
    source: Source,
    held: ArcSwap<Held>,
}

enum Source {
    Setting,
    File(PathBuf),
}

struct Held {
    /// Never empty; the first one encrypts.
    keys: Vec<Key>,
    /// The version of the file from which they were read.
    stamp: Option<Stamp>,
}

/// The context of a ciphertext: `datasources/7/secret`. The table, the row's primary key, the column.
pub fn context(table: &str, primary_key: &[&str], column: &str) -> String {
    let parts = primary_key.iter().map(|part| utf8_percent_encode(part, NON_ALPHANUMERIC).to_string());
    std::iter::once(table.to_owned())
        .chain(parts)
        .chain([column.to_owned()])
        .collect::<Vec<String>>()
        .join("/")
}

/// A new key in the setting's form.
pub fn new_key() -> Zeroizing<String> {
    Key::random(0).text()
}

/// Checks a text for the setting `key`. The error continues the setting's name, and does not show the text.
pub fn check_setting(text: &str) -> Result<(), String> {
    of_setting(text).map(drop).map_err(|error| format!("{error:#}"))
}

impl Keys {
    /// From the setting, or else from the data folder's file, which is created if it does not exist. Servers
    /// that share a store need the same key and have no common file: they need the setting.
    pub fn open(setting: Option<&str>, data_dir: &Path, store_is_shared: bool) -> anyhow::Result<Keys> {
        if let Some(text) = setting {
            let keys = of_setting(text).context("key (LAKEPORT_KEY)")?;
            return Ok(Keys::held(Source::Setting, keys, None));
        }
        if store_is_shared {
            bail!(
                "the store is PostgreSQL, which several servers may share, so the key of its secrets must be \
                 set: make one with `lakeport key new` (or `openssl rand -base64 32`), give it to every server \
                 as LAKEPORT_KEY, and keep a copy: without it the secrets cannot be read"
            );
        }
        let path = data_dir.join(file::FILE_NAME);
        if !path.exists() {
            let lock = file::lock(&path)?;
            // Another process may have created it first.
            if !path.exists() {
                file::write(&path, &[&Key::random(now_ms())], &lock)?;
                tracing::info!(file = %path.display(), "a key for the store's secrets was made; keep a copy of it");
            }
        }
        let (keys, stamp) = file::read(&path)?;
        Ok(Keys::held(Source::File(path), keys, Some(stamp)))
    }

    /// Encrypts with the newest key, even if another process has just added it. For `context` see
    /// [`context`].
    pub fn encrypt(&self, context: &str, plain: &[u8]) -> Vec<u8> {
        self.followed().newest().seal(context, plain)
    }

    /// 503 `secret_unreadable` if the key is missing, or if the bytes or the context differ from the
    /// encrypted ones.
    pub fn decrypt(&self, context: &str, sealed: &[u8]) -> Result<Secret, Error> {
        let id = KeyId::of_sealed(sealed).ok_or_else(|| unreadable(context))?;
        let mut held = self.0.held.load_full();
        if held.find(id).is_none() {
            self.reload().map_err(Error::internal)?;
            held = self.0.held.load_full();
        }
        let key = held.find(id).ok_or_else(|| key_is_missing(context, id))?;
        key.open(context, sealed).ok_or_else(|| unreadable(context))
    }

    /// Encrypts what a browser keeps, with a key of its own.
    pub fn seal_session(&self, context: &str, plain: &[u8]) -> Vec<u8> {
        self.followed().newest().seal_session(context, plain)
    }

    /// `None` unless the newest key sealed it in this context: a new key ends all sessions.
    pub fn open_session(&self, context: &str, sealed: &[u8]) -> Option<Secret> {
        let held = self.followed();
        let key = held.newest();
        KeyId::of_sealed(sealed).filter(|id| *id == key.id)?;
        key.open_session(context, sealed)
    }

    /// Identifies the key that seals sessions now.
    pub fn session_key(&self) -> KeyId {
        self.followed().newest().id
    }

    /// A keyed digest, `<key id>:<digest>`, to compare texts without storing them. It can be compared while
    /// the key is kept: use it for comparisons within days.
    pub fn digest(&self, bytes: &[u8]) -> String {
        let held = self.followed();
        format!("{}:{}", held.newest().id, held.newest().digest(bytes))
    }

    /// Whether `stored` is the digest of these bytes under its key. False if that key was removed.
    pub fn is_digest_of(&self, stored: &str, bytes: &[u8]) -> bool {
        let Some((id, digest)) = stored.split_once(':') else { return false };
        let Ok(digest) = hex::decode(digest) else { return false };
        let named = |key: &&Key| key.id.to_string() == id;
        let held = self.followed();
        held.keys.iter().find(named).is_some_and(|key| key.is_digest_of(&digest, bytes))
    }

    /// Reloads the file; keys of the setting stay until a restart.
    pub fn reload(&self) -> anyhow::Result<()> {
        if let Source::File(path) = &self.0.source {
            let (keys, stamp) = file::read(path)?;
            self.0.held.store(Arc::new(Held { keys, stamp: Some(stamp) }));
        }
        Ok(())
    }

    /// The keys' ids, newest first. Not secret.
    pub fn ids(&self) -> Vec<String> {
        self.0.held.load().keys.iter().map(|key| key.id.to_string()).collect()
    }

    fn held(source: Source, keys: Vec<Key>, stamp: Option<Stamp>) -> Keys {
        Keys(Arc::new(Inner { source, held: ArcSwap::from_pointee(Held { keys, stamp }) }))
    }

    /// The keys, reloaded if their file was replaced: new ciphertexts use the newest key, so that a rotation
    /// comes to an end.
    fn followed(&self) -> Arc<Held> {
        let held = self.0.held.load_full();
        let Source::File(path) = &self.0.source else { return held };
        if Stamp::now(path).ok() == held.stamp {
            return held;
        }
        match self.reload() {
            Ok(()) => self.0.held.load_full(),
            Err(error) => {
                tracing::warn!("the keys in memory are used further: {error:#}");
                held
            }
        }
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_tuple("Keys").field(&self.ids()).finish()
    }
}

impl Held {
    fn newest(&self) -> &Key {
        self.keys.first().expect("there is always a key")
    }

    fn find(&self, id: KeyId) -> Option<&Key> {
        self.keys.iter().find(|key| key.id == id)
    }
}

fn of_setting(text: &str) -> anyhow::Result<Vec<Key>> {
    let texts: Vec<&str> = text.split(',').collect();
    anyhow::ensure!(texts.len() <= file::KEYS_MAX, "names more than {} keys", file::KEYS_MAX);
    let place = |index: usize| {
        if texts.len() > 1 { format!("key {} of the list ", index + 1) } else { String::new() }
    };
    let how =
        "; write 32 random bytes in base64, as `lakeport key new` prints them, or several, comma separated";
    let read = |(index, text): (usize, &&str)| match key::parse(text) {
        Ok(raw) => Ok(Key::new(raw, 0)),
        Err(error) => Err(anyhow::anyhow!("{}{error}{how}", place(index))),
    };
    texts.iter().enumerate().map(read).collect()
}

fn now_ms() -> i64 {
    chrono::Utc::now().timestamp_millis()
}

fn key_is_missing(context: &str, id: KeyId) -> Error {
    let message = format!(
        "{context} was encrypted with key {id}, which this server does not have: put that key back, after the \
         others, into LAKEPORT_KEY or {} of the data folder, or set the secret again",
        file::FILE_NAME
    );
    Error::unavailable("secret_unreadable", message)
}

fn unreadable(context: &str) -> Error {
    let message =
        format!("{context} does not decrypt: it was changed, cut off or moved; set the secret again");
    Error::unavailable("secret_unreadable", message)
}
