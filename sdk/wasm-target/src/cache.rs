//! Folders in the user's cache that exist either completely or not at all.
//!
//! A folder is named `<name>-<digest of its inputs>`, written as `….partial-<pid>` and renamed when it is
//! complete. It never changes afterwards: other inputs make another folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

/// Characters of a folder's digest: enough for a handful of folders on one machine.
const DIGEST_CHARACTERS: usize = 16;

/// `${XDG_CACHE_HOME:-~/.cache}/lakeport/<name>`; it need not exist.
pub fn folder(name: &str) -> Result<PathBuf> {
    let absolute = |variable: &str| std::env::var_os(variable).map(PathBuf::from).filter(|p| p.is_absolute());
    let caches = absolute("XDG_CACHE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .context("no cache folder: set XDG_CACHE_HOME or HOME to an absolute path")?;
    Ok(caches.join("lakeport").join(name))
}

/// A short digest over the inputs of a folder.
#[must_use]
pub fn digest(inputs: &[&str]) -> String {
    let mut hash = Sha256::new();
    for input in inputs {
        hash.update((input.len() as u64).to_le_bytes());
        hash.update(input.as_bytes());
    }
    let mut text = hex::encode(hash.finalize());
    text.truncate(DIGEST_CHARACTERS);
    text
}

/// The folder `<name>-<digest of inputs>`, made by `make` if it does not exist.
///
/// `make` gets an empty temporary folder. Two processes may both make it; the first to finish wins.
pub fn made(name: &str, inputs: &[&str], make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let done = folder(&format!("{name}-{}", digest(inputs)))?;
    made_at(&done, make)?;
    Ok(done)
}

fn made_at(done: &Path, make: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    if done.is_dir() {
        return Ok(());
    }
    let partial = partial_name(done, &std::process::id().to_string());
    remove_abandoned(done);
    fs::create_dir_all(&partial).with_context(|| format!("cannot make {}", partial.display()))?;
    let result = make(&partial).and_then(|()| match fs::rename(&partial, done) {
        Err(_) if done.is_dir() => Ok(()),
        renamed => renamed.with_context(|| format!("cannot rename to {}", done.display())),
    });
    if partial.exists() {
        fs::remove_dir_all(&partial).ok();
    }
    result
}

/// True if `path` exists and was written within `age`.
pub(crate) fn is_younger(path: &Path, age: Duration) -> bool {
    let written = fs::metadata(path).and_then(|metadata| metadata.modified());
    written.is_ok_and(|time| time.elapsed().is_ok_and(|elapsed| elapsed < age))
}

fn partial_name(done: &Path, process: &str) -> PathBuf {
    let mut name = done.as_os_str().to_owned();
    name.push(format!(".partial-{process}"));
    PathBuf::from(name)
}

/// Removes partial folders of processes that no longer run.
fn remove_abandoned(done: &Path) {
    let Some(parent) = done.parent() else { return };
    let prefix = partial_name(done, "");
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        let process = path.to_string_lossy().strip_prefix(&*prefix.to_string_lossy()).map(str::to_owned);
        if process.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            fs::remove_dir_all(&path).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_made_once_and_whole() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let done = home.path().join("thing-1");
        let abandoned = partial_name(&done, "4194305");
        fs::create_dir_all(&abandoned).expect("made");
        made_at(&done, |_| anyhow::bail!("no luck")).expect_err("the maker's error comes back");
        assert!(!done.exists() && !abandoned.exists());
        made_at(&done, |folder| Ok(fs::write(folder.join("a"), "1")?)).expect("made");
        made_at(&done, |_| panic!("made twice")).expect("found");
        assert_eq!(fs::read_to_string(done.join("a")).expect("there"), "1");
        assert_eq!(fs::read_dir(home.path()).expect("there").count(), 1, "nothing lies about");
    }

    #[test]
    fn a_digest_keeps_inputs_apart() {
        assert_ne!(digest(&["ab", "c"]), digest(&["a", "bc"]));
        assert_eq!(digest(&["a"]).len(), DIGEST_CHARACTERS);
    }
}
