//! Addresses of databases as users write them, and where they lead.

use std::path::{Component, Path, PathBuf};

use lakeport_bindings::host::types::Error;

use crate::database::{Database, SqliteDatabase};
use crate::errors::error;

/// The longest address, in bytes.
const URL_MAX_BYTES: usize = 4_096;

/// The database at an address such as `sqlite:sales/2026.db`, whose file must lie below one of `roots` and
/// below none of `forbidden`, links followed.
///
/// Codes: `invalid_input` (the address) · `forbidden` (outside) · `unreachable` (no such file) ·
/// `unsupported` (another kind of database).
pub async fn locate(url: &str, roots: &[PathBuf], forbidden: &[PathBuf]) -> Result<Database, Error> {
    let path = sqlite_path(url)?;
    let mut nearest = None;
    for root in roots {
        let Ok(root) = tokio::fs::canonicalize(root).await else { continue };
        match tokio::fs::canonicalize(root.join(&path)).await {
            Ok(file) if file.starts_with(&root) => {
                nearest = Some(file);
                break;
            }
            Ok(_) => return Err(outside(&path)),
            Err(_) => {}
        }
    }
    let Some(file) = nearest else {
        let message = format!("there is no file {} below the folders for SQLite databases", path.display());
        return Err(error("unreachable", message));
    };
    for folder in forbidden {
        if tokio::fs::canonicalize(folder).await.is_ok_and(|folder| file.starts_with(folder)) {
            return Err(outside(&path));
        }
    }
    Ok(Database::Sqlite(SqliteDatabase::at(file)))
}

fn outside(path: &Path) -> Error {
    error("forbidden", format!("{} does not lie below the folders for SQLite databases", path.display()))
}

/// The path in `sqlite:path` or `sqlite://path`: no parameters, no `..`, no database in memory.
fn sqlite_path(url: &str) -> Result<PathBuf, Error> {
    if url.len() > URL_MAX_BYTES {
        return Err(error("invalid_input", format!("an address has {URL_MAX_BYTES} bytes at most")));
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
            "the address of a SQLite database is a plain path: sqlite:folder/file.db",
        ));
    }
    Ok(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn files_lie_below_the_roots_and_links_do_not_lead_out() {
        let root = tempfile::tempdir().expect("a folder");
        let elsewhere = tempfile::tempdir().expect("a folder");
        std::fs::write(root.path().join("a.db"), b"").expect("a file");
        std::fs::create_dir(root.path().join("data")).expect("a folder");
        std::fs::write(root.path().join("data/own.db"), b"").expect("a file");
        std::fs::write(elsewhere.path().join("b.db"), b"").expect("a file");
        std::os::unix::fs::symlink(elsewhere.path().join("b.db"), root.path().join("link.db"))
            .expect("a link");
        let roots = [root.path().to_owned()];
        let forbidden = [root.path().join("data")];
        let code = async |url: &str| locate(url, &roots, &forbidden).await.err().map(|error| error.code);
        assert_eq!(code("sqlite:a.db").await, None);
        assert_eq!(code(&format!("sqlite:{}", root.path().join("a.db").display())).await, None);
        assert_eq!(code("sqlite:link.db").await.as_deref(), Some("forbidden"));
        assert_eq!(code("sqlite:data/own.db").await.as_deref(), Some("forbidden"));
        let other = format!("sqlite:{}", elsewhere.path().join("b.db").display());
        assert_eq!(code(&other).await.as_deref(), Some("forbidden"));
        assert_eq!(code("sqlite:missing.db").await.as_deref(), Some("unreachable"));
        for bad in ["sqlite:../a.db", "sqlite::memory:", "sqlite:a.db?mode=rwc", "sqlite:", "a.db"] {
            assert_eq!(code(bad).await.as_deref(), Some("invalid_input"), "{bad}");
        }
        assert_eq!(code("postgres://x/y").await.as_deref(), Some("unsupported"));
    }
}
