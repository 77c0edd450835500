//! The addresses of databases as users write them, and their resolution.

use std::fs;
use std::path::{Component, Path, PathBuf};

use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;

use crate::database::{Database, SqliteDatabase};
use crate::worker::WorkerProcesses;

/// The longest address, in bytes.
const URL_MAX_BYTES: usize = 4_096;

/// The database at an address such as `sqlite:sales/2026.db`. Its file, with links followed, must be below
/// one of `roots` and below none of `forbidden`. Worker processes open it.
///
/// Codes: `invalid_input` (the address) · `forbidden` (outside) · `unreachable` (no such file) ·
/// `unsupported` (another kind of database).
pub async fn locate(
    url: &str,
    roots: &[PathBuf],
    forbidden: &[PathBuf],
    processes: &WorkerProcesses,
) -> Result<Database, Error> {
    let path = sqlite_path(url)?;
    let found = in_folders(path.clone(), roots, forbidden, |path, roots, forbidden| {
        // Opening a pipe would block until it has a writer.
        Ok(match place(path, roots, forbidden)? {
            Place::There(file) if is_file(&file) && companions_are_files(&file) => Some(file),
            _ => None,
        })
    });
    match found.await? {
        Some(file) => Ok(Database::Sqlite(SqliteDatabase::at(file, processes.clone()))),
        None => {
            let message = format!("no file {} in the folders for SQLite databases", path.display());
            Err(error("unreachable", message))
        }
    }
}

/// Asks the file system on a thread that may wait for it.
async fn in_folders<T: Send + 'static>(
    path: PathBuf,
    roots: &[PathBuf],
    forbidden: &[PathBuf],
    ask: impl FnOnce(&Path, &[PathBuf], &[PathBuf]) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let (roots, forbidden) = (roots.to_owned(), forbidden.to_owned());
    let asked = tokio::task::spawn_blocking(move || ask(&path, &roots, &forbidden)).await;
    asked.map_err(|cause| error("internal", format!("looking for the file: {cause}")))?
}

fn is_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file())
}

/// SQLite also opens the companion files beside a database.
fn companions_are_files(file: &Path) -> bool {
    ["-journal", "-wal", "-shm"].into_iter().all(|suffix| {
        let mut beside = file.as_os_str().to_owned();
        beside.push(suffix);
        fs::symlink_metadata(&beside).map_or(true, |found| found.is_file())
    })
}

/// Whether [`locate`] may find a database at the address, now or once the file exists. The codes are the
/// same, except that a missing file is no error. Links are checked again when the database is opened.
pub async fn check(url: &str, roots: &[PathBuf], forbidden: &[PathBuf]) -> Result<(), Error> {
    let check =
        |path: &Path, roots: &[PathBuf], forbidden: &[PathBuf]| place(path, roots, forbidden).map(drop);
    in_folders(sqlite_path(url)?, roots, forbidden, check).await
}

/// The result of resolving a permitted path.
enum Place {
    /// An existing file, links followed.
    There(PathBuf),
    /// No file.
    Free,
}

/// The first root that contains the path; an existing file comes first.
fn place(path: &Path, roots: &[PathBuf], forbidden: &[PathBuf]) -> Result<Place, Error> {
    let mut free = None;
    for root in roots {
        let Ok(root) = fs::canonicalize(root) else { continue };
        let (real, is_there) = real(&root.join(path));
        if !real.starts_with(&root) {
            continue;
        }
        if is_there {
            refuse_forbidden(path, &real, forbidden)?;
            return Ok(Place::There(real));
        }
        free.get_or_insert(real);
    }
    let free = free.ok_or_else(|| outside(path))?;
    refuse_forbidden(path, &free, forbidden)?;
    Ok(Place::Free)
}

/// The path with its links followed as far as it exists, and whether it exists as a whole.
fn real(path: &Path) -> (PathBuf, bool) {
    let mut missing = Vec::new();
    let mut there = path;
    loop {
        if let Ok(real) = fs::canonicalize(there) {
            return (missing.iter().rev().fold(real, |real, name| real.join(name)), missing.is_empty());
        }
        let (Some(folder), Some(name)) = (there.parent(), there.file_name()) else {
            return (path.to_owned(), false);
        };
        missing.push(name);
        there = folder;
    }
}

fn refuse_forbidden(path: &Path, real: &Path, forbidden: &[PathBuf]) -> Result<(), Error> {
    let is_in = |place: &PathBuf| fs::canonicalize(place).is_ok_and(|place| real.starts_with(place));
    if forbidden.iter().any(is_in) { Err(outside(path)) } else { Ok(()) }
}

fn outside(path: &Path) -> Error {
    error("forbidden", format!("{} is not in the folders for SQLite databases", path.display()))
}

/// The path in `sqlite:path` or `sqlite://path`: no parameters, no `..`, no database in memory.
fn sqlite_path(url: &str) -> Result<PathBuf, Error> {
    if url.len() > URL_MAX_BYTES {
        return Err(error(
            "invalid_input",
            format!("the address exceeds the limit of {URL_MAX_BYTES} bytes"),
        ));
    }
    let Some((scheme, rest)) = url.split_once(':') else {
        return Err(error("invalid_input", "an address begins with its kind: sqlite:folder/file.db"));
    };
    if scheme != "sqlite" {
        return Err(error("unsupported", format!("databases at {scheme:?} addresses cannot be reached")));
    }
    let path = Path::new(rest.strip_prefix("//").unwrap_or(rest));
    let strange = rest.contains(['?', '#', '\0']) || rest.contains(":memory:");
    let plain = path.components().all(|part| matches!(part, Component::Normal(_) | Component::RootDir));
    if strange || !plain || path.file_name().is_none() {
        return Err(error(
            "invalid_input",
            "the address of a SQLite database is a plain path without `.` and `..`: sqlite:folder/file.db",
        ));
    }
    Ok(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn files_stay_below_the_roots() {
        let root = tempfile::tempdir().expect("a folder");
        let elsewhere = tempfile::tempdir().expect("a folder");
        std::fs::write(root.path().join("a.db"), b"").expect("a file");
        std::fs::create_dir(root.path().join("data")).expect("a folder");
        std::fs::write(root.path().join("data/own.db"), b"").expect("a file");
        std::fs::write(elsewhere.path().join("b.db"), b"").expect("a file");
        std::fs::create_dir(root.path().join("folder.db")).expect("a folder");
        std::os::unix::fs::symlink(elsewhere.path().join("b.db"), root.path().join("link.db"))
            .expect("a link");
        let roots = [root.path().to_owned()];
        let forbidden = [root.path().join("data")];
        let code = async |url: &str| {
            locate(url, &roots, &forbidden, &WorkerProcesses::inside()).await.err().map(|error| error.code)
        };
        assert_eq!(code("sqlite:a.db").await, None);
        assert_eq!(code(&format!("sqlite:{}", root.path().join("a.db").display())).await, None);
        assert_eq!(code("sqlite:link.db").await.as_deref(), Some("forbidden"));
        assert_eq!(code("sqlite:data/own.db").await.as_deref(), Some("forbidden"));
        let other = format!("sqlite:{}", elsewhere.path().join("b.db").display());
        assert_eq!(code(&other).await.as_deref(), Some("forbidden"));
        assert_eq!(code("sqlite:missing.db").await.as_deref(), Some("unreachable"));
        assert_eq!(code("sqlite:folder.db").await.as_deref(), Some("unreachable"));
        for bad in ["sqlite:../a.db", "sqlite::memory:", "sqlite:a.db?mode=rwc", "sqlite:", "a.db"] {
            assert_eq!(code(bad).await.as_deref(), Some("invalid_input"), "{bad}");
        }
        assert_eq!(code("postgres://x/y").await.as_deref(), Some("unsupported"));
    }

    #[tokio::test]
    async fn any_of_several_roots_will_do() {
        let (one, other) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let file = other.path().join("b.db");
        std::fs::write(&file, b"").expect("a file");
        std::os::unix::fs::symlink(&file, one.path().join("b.db")).expect("a link");
        let gone = one.path().join("gone");
        let roots = [gone, one.path().to_owned(), other.path().to_owned()];
        for url in [format!("sqlite:{}", file.display()), "sqlite:b.db".to_owned()] {
            let Database::Sqlite(found) =
                locate(&url, &roots, &[], &WorkerProcesses::inside()).await.expect("it is there")
            else {
                panic!("a file is no server");
            };
            assert_eq!(found.path(), file.canonicalize().expect("it is there"));
        }
    }

    #[tokio::test]
    async fn new_files_also_stay_below_roots() {
        let root = tempfile::tempdir().expect("a folder");
        let elsewhere = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(root.path().join("data")).expect("a folder");
        std::os::unix::fs::symlink(elsewhere.path(), root.path().join("out")).expect("a link");
        let roots = [root.path().to_owned()];
        let forbidden = [root.path().join("data")];
        let code = async |url: &str| check(url, &roots, &forbidden).await.err().map(|error| error.code);
        assert_eq!(code("sqlite:new.db").await, None);
        assert_eq!(code("sqlite:new/folder/new.db").await, None);
        for outside in ["sqlite:data/new.db", "sqlite:out/new.db", "sqlite:/nowhere/at/all.db"] {
            assert_eq!(code(outside).await.as_deref(), Some("forbidden"), "{outside}");
        }
        let other = format!("sqlite:{}", elsewhere.path().join("new.db").display());
        assert_eq!(code(&other).await.as_deref(), Some("forbidden"));
    }
}
