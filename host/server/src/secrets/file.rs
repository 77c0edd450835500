//! The key file, used if no setting has a key: the newest key first, each with its creation time. It is
//! replaced atomically, so that a reader sees the old one or the new one.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use chrono::{DateTime, SecondsFormat};
use zeroize::Zeroizing;

use super::key::{self, Key};

pub const FILE_NAME: &str = "secret.key";
/// The largest key file.
const FILE_MAX_BYTES: u64 = 64 * 1024;
/// The most keys that are kept at once.
pub const KEYS_MAX: usize = 32;
const HEADING: &str =
    "# Lakeport's keys, the newest first. Without them its secrets cannot be read: keep a copy elsewhere.\n";

/// Identifies the version of the file that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    inode: u64,
    modified: (i64, i64),
    bytes: u64,
}

impl Stamp {
    fn of(metadata: &fs::Metadata) -> Stamp {
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        Stamp { inode: metadata.ino(), modified, bytes: metadata.len() }
    }

    /// The stamp of the current file.
    pub fn now(path: &Path) -> io::Result<Stamp> {
        Ok(Stamp::of(&fs::metadata(path)?))
    }
}

/// Reads the file. Fails if other users may read it.
pub fn read(path: &Path) -> anyhow::Result<(Vec<Key>, Stamp)> {
    let shown = path.display();
    let file = File::open(path).with_context(|| format!("cannot read the keys in {shown}"))?;
    let metadata = file.metadata()?;
    let mode = metadata.mode() & 0o777;
    ensure!(
        mode & 0o077 == 0,
        "the keys in {shown} are open to others (mode {mode:o}): chmod 600 {shown}, and, if others may have \
         read them, `lakeport key rotate`"
    );
    ensure!(metadata.len() <= FILE_MAX_BYTES, "{shown} is not a key file: it is too large");
    let mut text = Zeroizing::new(String::new());
    file.take(FILE_MAX_BYTES)
        .read_to_string(&mut text)
        .with_context(|| format!("cannot read the keys in {shown}"))?;
    let keys = parse(&text).with_context(|| format!("the keys in {shown} cannot be used"))?;
    Ok((keys, Stamp::of(&metadata)))
}

/// Replaces the file; it is on disk when this returns. Requires a [`Lock`].
pub fn write(path: &Path, keys: &[&Key], _lock: &Lock) -> anyhow::Result<()> {
    let mut text = Zeroizing::new(HEADING.to_owned());
    for key in keys {
        let made_at = DateTime::from_timestamp_millis(key.made_at_ms).unwrap_or_default();
        text.push_str(&key.text());
        text.push_str(&format!(" {}\n", made_at.to_rfc3339_opts(SecondsFormat::Millis, true)));
    }
    let aside = aside(path, "new");
    replace(path, &aside, text.as_bytes())
        .with_context(|| format!("cannot write the keys to {}", path.display()))
}

fn replace(path: &Path, aside: &Path, bytes: &[u8]) -> io::Result<()> {
    // The leftover of a killed process may have another mode.
    match fs::remove_file(aside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(aside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(aside, path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Held by the only process that may replace the file; ends with the process.
pub struct Lock(#[expect(dead_code, reason = "closing it unlocks")] File);

/// Waits for the lock, while another process creates the first key.
pub fn lock(path: &Path) -> anyhow::Result<Lock> {
    let file = open_lock(path)?;
    file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(Lock(file))
}

/// Fails if another process has the lock.
pub fn try_lock(path: &Path) -> anyhow::Result<Lock> {
    let file = open_lock(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Lock(file)),
        Err(TryLockError::WouldBlock) => {
            bail!("another `lakeport key rotate` is at work on {}", path.display())
        }
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("cannot lock {}", path.display()))
        }
    }
}

fn open_lock(path: &Path) -> anyhow::Result<File> {
    let path = aside(path, "lock");
    let file = File::options().create(true).truncate(false).write(true).mode(0o600).open(&path);
    file.with_context(|| format!("cannot write {}", path.display()))
}

fn aside(path: &Path, suffix: &str) -> PathBuf {
    path.with_extension(format!("key.{suffix}"))
}

fn parse(text: &str) -> anyhow::Result<Vec<Key>> {
    let mut keys = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let key = parse_line(line).with_context(|| format!("line {}", index + 1))?;
        keys.push(key);
    }
    ensure!(!keys.is_empty(), "there is none");
    ensure!(keys.len() <= KEYS_MAX, "there are {}, more than {KEYS_MAX}", keys.len());
    Ok(keys)
}

/// A key with its creation time, if known.
fn parse_line(line: &str) -> anyhow::Result<Key> {
    let (key, made_at) = line.split_once(' ').unwrap_or((line, ""));
    let raw = key::parse(key)?;
    let made_at_ms = match made_at.trim() {
        "" => 0,
        time => DateTime::parse_from_rfc3339(time).context("has a time that is none")?.timestamp_millis(),
    };
    Ok(Key::new(raw, made_at_ms))
}
