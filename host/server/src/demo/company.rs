//! The database of the example company: a file in the first folder for data sources.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;
use chrono::NaiveDate;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};
use tokio::fs;

use super::files;
use crate::config::Config;

const FOLDER: &str = "lakeport-demo";
const FILE: &str = "lakeside";
/// Example companies in one folder.
const FILES_MAX: u32 = 1_000;

/// The folder of such databases; fails if data sources have no folder.
pub fn folder(config: &Config) -> anyhow::Result<PathBuf> {
    let root = config.sqlite_roots.first().context(
        "the example company needs a folder for its SQLite database, and the setting sqlite_roots \
         (LAKEPORT_SQLITE_ROOTS) names none; name one, apart from the data folder",
    )?;
    let root = std::path::absolute(root).with_context(|| format!("the folder {}", root.display()))?;
    Ok(root.join(FOLDER))
}

/// A path there that no other example company has: the files of others are theirs.
pub fn free_path(folder: &Path) -> anyhow::Result<PathBuf> {
    let names = (1..=FILES_MAX).map(|number| match number {
        1 => format!("{FILE}.db"),
        _ => format!("{FILE}-{number}.db"),
    });
    let free = names.map(|name| folder.join(name)).find(|path| !path.exists());
    free.with_context(|| {
        format!("{} has {FILES_MAX} databases; delete those of old servers", folder.display())
    })
}

/// Creates it, unless it exists. It gets its name when it is complete.
pub async fn make_database(path: &Path, today: NaiveDate) -> anyhow::Result<()> {
    let cannot = || format!("cannot make the example company's database {}", path.display());
    if fs::try_exists(path).await.with_context(cannot)? {
        return Ok(());
    }
    // A temporary name: other servers may be creating theirs in the same folder.
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).await.with_context(cannot)?;
    let new =
        tempfile::Builder::new().prefix(FILE).suffix(".new").tempfile_in(folder).with_context(cannot)?;
    fill(new.path(), today).await.with_context(cannot)?;
    new.as_file().sync_all().with_context(cannot)?;
    match new.persist_noclobber(path) {
        Ok(_) => Ok(()),
        // Another server was first.
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.error).with_context(cannot),
    }
}

async fn fill(file: &Path, today: NaiveDate) -> anyhow::Result<()> {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Memory)
        // Discarded unless it is completed.
        .synchronous(SqliteSynchronous::Off)
        .foreign_keys(true)
        .disable_statement_logging();
    let mut connection: SqliteConnection = options.connect().await?;
    let statements = files::COMPANY.replace("{today}", &today.to_string());
    let mut tx = connection.begin().await?;
    sqlx::raw_sql(AssertSqlSafe(statements)).execute(&mut *tx).await?;
    tx.commit().await?;
    connection.close().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use sqlx::Row as _;

    use super::*;

    #[test]
    fn the_files_of_other_companies_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["lakeside.db", "lakeside-2.db", "lakeside-3.db"] {
            let free = free_path(folder.path()).unwrap();
            assert_eq!(free, folder.path().join(name));
            std::fs::write(&free, "").unwrap();
        }
    }

    #[tokio::test]
    async fn the_company_is_whole_on_any_day() {
        let folder = tempfile::tempdir().unwrap();
        for day in ["2026-03-01", "2027-01-01", "2028-02-29"] {
            let file = folder.path().join(day);
            fill(&file, day.parse().unwrap()).await.unwrap();
            let mut connection = SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
            let mut count = async |query: &'static str| -> i64 {
                sqlx::query(query).fetch_one(&mut connection).await.unwrap().get(0)
            };
            assert_eq!(count("SELECT count(*) FROM ods_customers").await, 300);
            assert!((5_500..6_500).contains(&count("SELECT count(*) FROM ods_orders").await));
            assert_eq!(count("SELECT count(*) FROM pragma_foreign_key_check").await, 0);
            let early = "SELECT count(*) FROM ods_orders JOIN ods_customers USING (customer_id) \
                WHERE ordered_at < registered_at";
            assert_eq!(count(early).await, 0);
            assert_eq!(count("SELECT count(DISTINCT date(ordered_at)) FROM ods_orders").await, 90);
            let days = "SELECT unixepoch(max(date(ordered_at))) / 86400 FROM ods_orders";
            let day: NaiveDate = day.parse().unwrap();
            assert_eq!(count(days).await + 1, i64::from(day.to_epoch_days()));
        }
    }
}
