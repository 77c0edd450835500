//! The compiled-code cache: machine code on disk, by digest. Loaded machine code runs without a sandbox, so
//! the folder is private to its owner and each file ends with a keyed digest over its name, the engine's
//! compatibility and its bytes. The digest is checked before the file is used; a file that fails is deleted
//! and compiled again. Files are memory-mapped: code that never runs takes no memory. Beside the code of a
//! component lies its summary, with a keyed digest as well.

use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use rand::Rng as _;
use sha2::Sha256;
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::compiler::Compiler;

/// The most files that the folder keeps; the least recently used ones are deleted first.
const FILES_MAX: usize = 128;
/// The most bytes that the folder keeps.
const BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// A file larger than this is not read.
const FILE_MAX_BYTES: u64 = 512 * 1024 * 1024;
/// How much of a file is read at a time.
const READ_BYTES: usize = 64 * 1024;
const TAG_BYTES: usize = 32;
const KEY_BYTES: usize = 32;
const KEY_FILE: &str = "key";
const SUFFIX: &str = "cwasm";
const SUMMARY_SUFFIX: &str = "summary";
/// A larger summary is not read: descriptions have a few schemas of 256 KiB.
const SUMMARY_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// The names of files that are being written have this in them, then the number of their process.
const PARTIAL: &str = "partial-";
/// No write takes as long: an older partial file is left over, whatever process has its number now.
const PARTIAL_MAX: Duration = Duration::from_secs(3_600);
/// The number of this process, and what tells it from an earlier one of the same number.
static WRITER: LazyLock<String> =
    LazyLock::new(|| format!("{}-{:x}-", std::process::id(), rand::rng().next_u32()));

/// Machine code of components, in a private folder.
#[derive(Debug)]
pub struct CompiledCache {
    folder: PathBuf,
    key: [u8; KEY_BYTES],
    compiler: Compiler,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// Why the cache cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// Other users can read or write the folder or its key.
    #[error(
        "{path} can be read or written by others (mode {mode:o}); machine code is loaded from it, so it must be \
         private: chmod {wanted:o} {path}"
    )]
    NotPrivate {
        /// The path.
        path: String,
        /// Its mode.
        mode: u32,
        /// The required mode.
        wanted: u32,
    },
    /// Reading or writing failed.
    #[error("the compiled-code cache at {path}: {source}")]
    Io {
        /// The path.
        path: String,
        /// What went wrong.
        source: io::Error,
    },
}

impl CompiledCache {
    /// Opens the cache. Creates the folder (mode 0700) and its key (mode 0600) if they do not exist. `compiler`
    /// compiles components that it does not hold.
    pub fn open(folder: &Path, compiler: Compiler) -> Result<Self, CacheError> {
        let io = |source| CacheError::Io { path: folder.display().to_string(), source };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(io)?;
        require_private(folder, 0o700)?;
        let key_path = folder.join(KEY_FILE);
        let key = match fs::read(&key_path) {
            Ok(bytes) => {
                require_private(&key_path, 0o600)?;
                match <[u8; KEY_BYTES]>::try_from(bytes) {
                    Ok(key) => key,
                    // The key file is incomplete: a new key, so that all files are compiled again.
                    Err(_) => write_key(folder).map_err(io)?,
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => write_key(folder).map_err(io)?,
            Err(error) => return Err(io(error)),
        };
        remove_leftovers(folder);
        Ok(CompiledCache {
            folder: folder.to_owned(),
            key,
            compiler,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        })
    }

    pub(crate) fn compiler(&self) -> &Compiler {
        &self.compiler
    }

    /// Loads the component from the cache, or compiles it and adds it. Blocks: compiling takes from
    /// milliseconds to many seconds.
    pub fn load(&self, engine: &Engine, digest: &str, bytes: &[u8]) -> wasmtime::Result<Component> {
        if let Some(component) = self.find(engine, digest) {
            return Ok(component);
        }
        let name = self.name(engine, digest);
        let path = self.folder.join(&name);
        self.misses.fetch_add(1, Ordering::Relaxed);
        let code = self.compiler.compile(engine, bytes)?;
        match self.write(&path, &name, &code) {
            Ok(()) => match self.read(engine, &path, &name) {
                Some(component) => Ok(component),
                // Another process has pruned or replaced the file since.
                None => adopt(engine, &code),
            },
            Err(error) => {
                tracing::warn!("compiled code was not cached, the next start compiles it again: {error}");
                adopt(engine, &code)
            }
        }
    }

    /// Loads the component if the cache holds it.
    pub(crate) fn find(&self, engine: &Engine, digest: &str) -> Option<Component> {
        let name = self.name(engine, digest);
        let component = self.read(engine, &self.folder.join(&name), &name)?;
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(component)
    }

    /// Whether it has a file of this component. Loading checks it.
    pub(crate) fn has(&self, engine: &Engine, digest: &str) -> bool {
        self.folder.join(self.name(engine, digest)).exists()
    }

    /// The summary of a component, if its keyed digest is valid.
    pub(crate) fn summary(&self, engine: &Engine, digest: &str) -> Option<Vec<u8>> {
        let name = summary_name(&self.name(engine, digest));
        let file = fs::File::open(self.folder.join(&name)).ok()?;
        let mut summary = Vec::new();
        file.take(SUMMARY_MAX_BYTES).read_to_end(&mut summary).ok()?;
        let tag = summary.split_off(summary.len().checked_sub(TAG_BYTES)?);
        let mut mac = self.begin_tag(&name);
        mac.update(&summary);
        mac.verify_slice(&tag).is_ok().then_some(summary)
    }

    /// Keeps the summary of a component. Without it, the next start reads the component again.
    pub(crate) fn keep_summary(&self, engine: &Engine, digest: &str, summary: &[u8]) {
        let name = summary_name(&self.name(engine, digest));
        let mut mac = self.begin_tag(&name);
        mac.update(summary);
        if let Err(error) = write_aside(&self.folder.join(&name), &[summary, &mac.finalize().into_bytes()]) {
            tracing::warn!("what is known of a component was not cached: {error}");
        }
    }

    /// Cache hits and misses since the cache was opened.
    pub fn hits_and_misses(&self) -> (u64, u64) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
    }

    fn name(&self, engine: &Engine, digest: &str) -> String {
        let mut hasher = Hashing(self.mac());
        engine.precompile_compatibility_hash().hash(&mut hasher);
        let compatibility = hex::encode(&hasher.0.finalize().into_bytes()[..8]);
        format!("{digest}-{compatibility}.{SUFFIX}")
    }

    fn mac(&self) -> Hmac<Sha256> {
        Hmac::new_from_slice(&self.key).expect("HMAC takes keys of any length")
    }

    /// Starts the keyed digest over a file; the caller adds the code.
    fn begin_tag(&self, name: &str) -> Hmac<Sha256> {
        let mut mac = self.mac();
        mac.update(name.as_bytes());
        mac.update(&[0]);
        mac
    }

    /// Maps a file if its keyed digest is valid.
    fn read(&self, engine: &Engine, path: &Path, name: &str) -> Option<Component> {
        let mut file = fs::File::open(path).ok()?;
        match self.bears_mark(&mut file, name) {
            Ok(true) => {}
            Ok(false) => {
                tracing::warn!(file = %path.display(), "deleted compiled code without a valid digest of this cache");
                return None;
            }
            Err(_) => return None,
        }
        // Pruning goes by the time of the last use; if it cannot be set, the file is pruned earlier.
        let _ = file.set_modified(std::time::SystemTime::now());
        match map(engine, &file).or_else(|_| self.copy(engine, &mut file, name)) {
            Ok(component) => Some(component),
            Err(error) => {
                tracing::warn!("compiled code is not usable and is compiled again: {error:#}");
                None
            }
        }
    }

    /// Copies a file's code into memory if it cannot be mapped: a file system mounted `noexec` forbids
    /// mapping code.
    fn copy(&self, engine: &Engine, file: &mut fs::File, name: &str) -> wasmtime::Result<Component> {
        let mut code = Vec::new();
        file.rewind()?;
        (&mut *file).take(FILE_MAX_BYTES).read_to_end(&mut code)?;
        let tag = code.split_off(code.len().saturating_sub(TAG_BYTES));
        let mut mac = self.begin_tag(name);
        mac.update(&code);
        // The file was checked on disk; check the bytes that were read as well.
        mac.verify_slice(&tag).map_err(wasmtime::Error::new)?;
        adopt(engine, &code)
    }

    /// Whether the file ends with the keyed digest over its name and all of its code.
    fn bears_mark(&self, file: &mut fs::File, name: &str) -> io::Result<bool> {
        let size = file.metadata()?.len();
        let Some(code_bytes) = size.checked_sub(TAG_BYTES as u64).filter(|_| size <= FILE_MAX_BYTES) else {
            return Ok(false);
        };
        let mut mac = self.begin_tag(name);
        let mut code = (&mut *file).take(code_bytes);
        let mut some = vec![0; READ_BYTES];
        loop {
            match code.read(&mut some)? {
                0 => break,
                count => mac.update(&some[..count]),
            }
        }
        let mut tag = [0; TAG_BYTES];
        file.read_exact(&mut tag)?;
        Ok(mac.verify_slice(&tag).is_ok())
    }

    fn write(&self, path: &Path, name: &str, code: &[u8]) -> io::Result<()> {
        self.prune();
        let mut mac = self.begin_tag(name);
        mac.update(code);
        write_aside(path, &[code, &mac.finalize().into_bytes()])
    }

    fn prune(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let mut files: Vec<(std::time::SystemTime, u64, PathBuf)> = entries
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                let meta = path.metadata().ok()?;
                (path.extension()? == SUFFIX).then_some((meta.modified().ok()?, meta.len(), path))
            })
            .collect();
        files.sort();
        let mut bytes: u64 = files.iter().map(|file| file.1).sum();
        let mut count = files.len();
        for (_, size, path) in files {
            if count < FILES_MAX && bytes < BYTES_MAX {
                break;
            }
            if fs::remove_file(&path).is_ok() {
                // A summary without code is of no use; there may be none.
                let _ = fs::remove_file(path.with_extension(SUMMARY_SUFFIX));
                count -= 1;
                bytes -= size;
            }
        }
    }
}

/// Maps a checked file.
#[expect(
    unsafe_code,
    reason = "machine code that bears this cache's own mark is the one thing that is trusted"
)]
fn map(engine: &Engine, checked: &fs::File) -> wasmtime::Result<Component> {
    // By its descriptor: another file may have replaced it under its name.
    let path = format!("/proc/self/fd/{}", checked.as_raw_fd());
    // SAFETY: `read` has verified, with a key that only this server's owner can read, that the file holds the
    // output of the compiler for this digest and this engine's compatibility. Files of the cache are replaced
    // and removed, never written to, so the mapped bytes stay as they were checked.
    unsafe { Component::deserialize_file(engine, path) }
}

/// Makes a component from code in memory that was just compiled or checked.
#[expect(unsafe_code, reason = "machine code that this server has compiled itself is trusted")]
fn adopt(engine: &Engine, compiled: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: the bytes are the compiler's output for this engine: it has just returned them, or their
    // keyed digest was verified.
    unsafe { Component::deserialize(engine, compiled) }
}

fn require_private(path: &Path, wanted: u32) -> Result<(), CacheError> {
    let shown = path.display().to_string();
    let meta = fs::symlink_metadata(path).map_err(|source| CacheError::Io { path: shown.clone(), source })?;
    let mode = meta.permissions().mode() & 0o777;
    if mode & 0o077 != 0 || meta.is_symlink() {
        return Err(CacheError::NotPrivate { path: shown, mode, wanted });
    }
    let owner = fs::metadata("/proc/self").map_or(meta.uid(), |process| process.uid());
    if meta.uid() != owner {
        let source =
            io::Error::other(format!("it belongs to user {}, not to the user of this process", meta.uid()));
        return Err(CacheError::Io { path: shown, source });
    }
    Ok(())
}

fn write_key(folder: &Path) -> io::Result<[u8; KEY_BYTES]> {
    let mut key = [0; KEY_BYTES];
    rand::rng().fill_bytes(&mut key);
    write_aside(&folder.join(KEY_FILE), &[&key])?;
    Ok(key)
}

/// Removes files that processes which are gone were writing.
fn remove_leftovers(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if is_leftover(&entry) && fs::remove_file(entry.path()).is_ok() {
            tracing::info!(file = %entry.path().display(), "removed what a process that was killed left over");
        }
    }
}

fn is_leftover(entry: &fs::DirEntry) -> bool {
    let name = entry.file_name();
    let Some((_, rest)) = name.to_str().and_then(|name| name.rsplit_once(PARTIAL)) else { return false };
    if rest.starts_with(&*WRITER) {
        return false;
    }
    let number = rest.split('-').next().unwrap_or_default();
    // In a container the process that is gone may have had the number of this one.
    let is_over = number == std::process::id().to_string() || !Path::new("/proc").join(number).exists();
    let age = entry.metadata().and_then(|file| file.modified()).ok().and_then(|time| time.elapsed().ok());
    is_over || age.is_some_and(|age| age > PARTIAL_MAX)
}

/// `DIGEST-ENGINE.cwasm` as `DIGEST-ENGINE.summary`.
fn summary_name(name: &str) -> String {
    format!("{}{SUMMARY_SUFFIX}", name.strip_suffix(SUFFIX).unwrap_or(name))
}

/// Writes a file atomically: completely or not at all.
fn write_aside(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let aside = path.with_extension(format!("{PARTIAL}{}{:x}", *WRITER, rand::rng().next_u32()));
    let written = (|| {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside)?;
        for part in parts {
            file.write_all(part)?;
        }
        file.sync_all()?;
        fs::rename(&aside, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&aside);
    }
    written
}

/// Lets `Hash` feed a MAC.
struct Hashing(Hmac<Sha256>);

impl Hasher for Hashing {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component() -> (Engine, Vec<u8>, String) {
        let bytes = wat::parse_str(r#"(component (core module (func (export "f"))))"#).unwrap();
        let digest = crate::inspect::digest(&bytes);
        (Engine::default(), bytes, digest)
    }

    fn only_file(folder: &Path) -> PathBuf {
        fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|path| path.extension().is_some_and(|e| e == SUFFIX))
            .unwrap()
    }

    #[test]
    fn the_second_load_compiles_nothing() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("compiled");
        let (engine, bytes, digest) = component();
        let cache = CompiledCache::open(&folder, Compiler::Inside).unwrap();
        cache.load(&engine, &digest, &bytes).unwrap();
        let again = CompiledCache::open(&folder, Compiler::Inside).unwrap();
        again.load(&engine, &digest, &bytes).unwrap();
        assert_eq!((cache.hits_and_misses(), again.hits_and_misses()), ((0, 1), (1, 0)));
    }

    #[test]
    fn a_file_with_a_flipped_bit_recompiles() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("compiled");
        let (engine, bytes, digest) = component();
        let cache = CompiledCache::open(&folder, Compiler::Inside).unwrap();
        cache.load(&engine, &digest, &bytes).unwrap();
        let file = only_file(&folder);
        let mut code = fs::read(&file).unwrap();
        let last = code.len() - 1;
        for place in [last, last / 2] {
            code[place] ^= 1;
            fs::write(&file, &code).unwrap();
            cache.load(&engine, &digest, &bytes).unwrap();
            code[place] ^= 1;
        }
        assert_eq!(cache.hits_and_misses(), (0, 3));
    }

    #[test]
    fn a_file_under_another_name_is_not_taken() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("compiled");
        let (engine, bytes, digest) = component();
        let cache = CompiledCache::open(&folder, Compiler::Inside).unwrap();
        cache.load(&engine, &digest, &bytes).unwrap();
        let file = only_file(&folder);
        let other = "f".repeat(64);
        let name = file.file_name().unwrap().to_str().unwrap().replace(&digest, &other);
        fs::rename(&file, folder.join(name)).unwrap();
        cache.load(&engine, &other, &bytes).unwrap();
        assert_eq!(cache.hits_and_misses(), (0, 2));
    }

    #[test]
    fn a_summary_with_a_flipped_bit_is_unknown() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("compiled");
        let (engine, _, digest) = component();
        let cache = CompiledCache::open(&folder, Compiler::Inside).unwrap();
        assert_eq!(cache.summary(&engine, &digest), None);
        cache.keep_summary(&engine, &digest, b"what is known");
        assert_eq!(cache.summary(&engine, &digest).as_deref(), Some(b"what is known".as_slice()));
        let file = folder.join(summary_name(&cache.name(&engine, &digest)));
        let mut bytes = fs::read(&file).unwrap();
        bytes[0] ^= 1;
        fs::write(&file, bytes).unwrap();
        assert_eq!(cache.summary(&engine, &digest), None);
    }

    #[test]
    fn leftovers_of_killed_processes_are_removed() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("compiled");
        CompiledCache::open(&folder, Compiler::Inside).unwrap();
        // The number of a process that lives, of one that cannot, and of this one.
        for name in ["a.partial-1-f", "b.partial-4194305-f", "c.cwasm"] {
            fs::write(folder.join(name), "x").unwrap();
        }
        fs::write(folder.join(format!("d.partial-{}-f", std::process::id())), "x").unwrap();
        CompiledCache::open(&folder, Compiler::Inside).unwrap();
        let left = |name: &str| folder.join(name).exists();
        assert!(left("a.partial-1-f") && left("c.cwasm") && left(KEY_FILE));
        assert!(!left("b.partial-4194305-f"));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3);
    }

    #[test]
    fn a_folder_open_to_others_is_refused() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("compiled");
        CompiledCache::open(&folder, Compiler::Inside).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        let error = CompiledCache::open(&folder, Compiler::Inside).unwrap_err();
        assert!(error.to_string().contains("chmod 700"), "{error}");
    }
}
