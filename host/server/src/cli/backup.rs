//! `lakeport backup` and `lakeport restore`: copy the store into a file and back.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::Args;
use lakeport_store::{Address, Db};

use super::{StoreOptions, check_store};
use crate::backup;
use crate::backup::atomic_file::Aside;
use crate::backup::format::Summary;
use crate::config::{self, Config, Environment};
use crate::core::Locks;

/// Standard output instead of a file.
const STANDARD_OUTPUT: &str = "-";

#[derive(Args)]
pub struct BackupOptions {
    /// Where to write it; replaces an existing file once the new one is complete. `-`: standard output
    file: PathBuf,
    #[command(flatten)]
    store: StoreOptions,
}

#[derive(Args)]
pub struct RestoreOptions {
    /// A file that `lakeport backup` wrote, from either kind of store
    file: PathBuf,
    #[command(flatten)]
    store: StoreOptions,
}

impl BackupOptions {
    pub async fn run(self, environment: &Environment) -> anyhow::Result<()> {
        let config = Config::load(&self.store.overrides(None), environment)?;
        backup(&config, &self.file).await
    }
}

impl RestoreOptions {
    pub async fn run(self, environment: &Environment) -> anyhow::Result<()> {
        let config = Config::load(&self.store.overrides(None), environment)?;
        restore(&config, &self.file).await
    }
}

/// Writes the store to a file while servers keep running.
pub async fn backup(config: &Config, file: &Path) -> anyhow::Result<()> {
    check_store(config)?;
    let started = Instant::now();
    let db = Db::connect(&config.database.address).await?;
    let (summary, file_bytes) = if file == Path::new(STANDARD_OUTPUT) {
        let out = io::stdout();
        ensure!(
            !out.is_terminal(),
            "a backup is binary and cannot be printed to a terminal: redirect it to a file or a program"
        );
        (backup::write(&db, out.lock(), &mut say).await?.1, None)
    } else {
        let (aside, summary) = backup::write(&db, Aside::create(file)?, &mut say).await?;
        (summary, Some(aside.finish()?))
    };
    db.close().await;
    say(format!("backed up {}", told(&summary, started)));
    if let Some(file_bytes) = file_bytes {
        say(format!("into {}, {file_bytes} bytes", file.display()));
    }
    say(about_the_key(config, "is not in the backup: keep it apart from it, and keep it"));
    Ok(())
}

/// Fills an empty store from a file.
pub async fn restore(config: &Config, file: &Path) -> anyhow::Result<()> {
    ensure!(file != Path::new(STANDARD_OUTPUT), "a backup is read twice: name a file");
    let opened = File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
    let started = Instant::now();
    config::make_data_dir(&config.data_dir)?;
    if let Address::Sqlite(path) = &config.database.address
        && let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty())
    {
        config::make_data_dir(folder)?;
    }
    let _locks = Locks::take(config)?;
    let db = Db::connect(&config.database.address).await?;
    let restored = backup::restore(&db, opened, &mut say).await;
    db.close().await;
    let summary = restored.with_context(|| format!("{} is not restored", file.display()))?;
    say(format!("restored {} into {}", told(&summary, started), config.database.shown()));
    say(about_the_key(
        config,
        "was not in the backup: copy the one of the backed-up store there before a server starts",
    ));
    Ok(())
}

fn say(line: String) {
    super::say(&line);
}

fn told(summary: &Summary, started: Instant) -> String {
    format!(
        "{} tables, {} rows, {} bytes in {:.1} s",
        summary.tables.len(),
        summary.rows(),
        summary.bytes,
        started.elapsed().as_secs_f64()
    )
}

fn about_the_key(config: &Config, what: &str) -> String {
    let file = config.data_dir.join("secret.key");
    format!(
        "the store's key (LAKEPORT_KEY, or {}) {what}. Without it the encrypted secrets, such as the data \
         sources' passwords, cannot be read",
        file.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Overrides;

    fn config(folder: &Path) -> Config {
        let settings = vec![("data_dir", folder.display().to_string())];
        Config::load(&Overrides { config_file: None, settings }, &Environment::default()).unwrap()
    }

    async fn refused(outcome: impl Future<Output = anyhow::Result<()>>) -> String {
        format!("{:#}", outcome.await.unwrap_err())
    }

    #[tokio::test]
    async fn a_backup_restores_into_another_folder() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (config(&folder.path().join("from")), config(&folder.path().join("to")));
        let file = folder.path().join("backup");
        config::make_data_dir(&from.data_dir).unwrap();
        let db = Db::connect(&from.database.address).await.unwrap();
        db.migrate().await.unwrap();
        backup(&from, &file).await.unwrap();
        restore(&to, &file).await.unwrap();
        let again = refused(restore(&to, &file)).await;
        assert!(again.contains("the store is not empty") && again.contains("--data-dir"), "{again}");
        db.close().await;
    }

    #[tokio::test]
    async fn nothing_is_restored_while_a_server_has_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let to = config(folder.path());
        let file = folder.path().join("backup");
        File::create(&file).unwrap();
        let _server = Locks::take(&to).unwrap();
        let error = refused(restore(&to, &file)).await;
        assert!(error.contains("another Lakeport is using"), "{error}");
        assert!(!folder.path().join("lakeport.db").exists());
    }

    #[tokio::test]
    async fn backup_creates_no_missing_store() {
        let folder = tempfile::tempdir().unwrap();
        let error = refused(backup(&config(folder.path()), &folder.path().join("backup"))).await;
        assert!(error.contains("no store"), "{error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn missing_or_invalid_backups_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let to = config(&folder.path().join("to"));
        let file = folder.path().join("backup");
        assert!(refused(restore(&to, &file)).await.contains("cannot read"));
        std::fs::write(&file, "no backup").unwrap();
        let error = refused(restore(&to, &file)).await;
        assert!(
            error.contains("not a backup of Lakeport") && error.contains("nothing was changed"),
            "{error}"
        );
    }
}
