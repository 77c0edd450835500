//! The schema's history. Each migration runs once, in its own transaction, under a lock, and is recorded with
//! the digest of its text: a migration that was changed after it ran is refused, and so is a schema that is
//! newer than the program. Migrations expand first and contract a release later, so that two versions of the
//! program can run side by side.

use anyhow::{Context, bail};
use lakeport_base::Error;
use sha2::{Digest, Sha256};

use super::{Db, Either, Tx, Value};

/// A migration, in both stores' SQL.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    pub version: i64,
    pub name: &'static str,
    pub sqlite: &'static str,
    pub postgres: &'static str,
}

macro_rules! migration {
    ($version:literal, $name:literal) => {
        Migration {
            version: $version,
            name: $name,
            sqlite: include_str!(concat!("../migrations/sqlite/", $name, ".sql")),
            postgres: include_str!(concat!("../migrations/postgres/", $name, ".sql")),
        }
    };
}

/// In order, numbered from 1 without gaps.
pub(super) const MIGRATIONS: &[Migration] = &[
    migration!(1, "0001_plugins"),
    migration!(2, "0002_edge"),
    migration!(3, "0003_tables"),
    migration!(4, "0004_workflows"),
    migration!(5, "0005_runner"),
    migration!(6, "0006_executions"),
    migration!(7, "0007_query_log"),
    migration!(8, "0008_nl2sql"),
    migration!(9, "0009_demo"),
    migration!(10, "0010_schema_history"),
    migration!(11, "0011_catalogue"),
    migration!(12, "0012_idempotency"),
    migration!(13, "0013_workflow_list"),
    migration!(14, "0014_definitions"),
    migration!(15, "0015_backfills"),
    migration!(16, "0016_commit_marks"),
    migration!(17, "0017_run_control"),
    migration!(18, "0018_running"),
    migration!(19, "0019_execution_statistics"),
    migration!(20, "0020_known_runs"),
    migration!(21, "0021_written_tables"),
    migration!(22, "0022_backfills_of_engines"),
    migration!(23, "0023_what_engines_hide"),
    migration!(24, "0024_edited_definitions"),
    migration!(25, "0025_shared_runs"),
    migration!(26, "0026_answers"),
    migration!(27, "0027_models"),
    migration!(28, "0028_knowledge"),
    migration!(29, "0029_topic_bytes"),
    migration!(30, "0030_tool_settings"),
    migration!(31, "0031_topic_bytes_counted"),
    migration!(32, "0032_foreign_keys"),
    migration!(33, "0033_backfills_by_workflow"),
    migration!(34, "0034_engine_looks"),
];

/// Held while migrations run; any number that no other code uses.
const LOCK: &str = "SELECT CAST(pg_advisory_xact_lock(7164301) AS TEXT)";

const HISTORY: Either = Either {
    sqlite: "CREATE TABLE IF NOT EXISTS schema_migrations \
        (version INTEGER PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT",
    postgres: "CREATE TABLE IF NOT EXISTS schema_migrations \
        (version BIGINT PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL, applied_at BIGINT NOT NULL)",
};

/// A store's schema version, and the one that this program needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaVersion {
    /// 0: empty.
    pub stored: i64,
    pub program: i64,
}

/// The newest version that this program knows.
pub fn newest_version() -> i64 {
    MIGRATIONS.last().map_or(0, |migration| migration.version)
}

pub async fn run(db: &Db) -> anyhow::Result<()> {
    apply(db, MIGRATIONS).await
}

pub async fn version(db: &Db) -> anyhow::Result<SchemaVersion> {
    const TABLE: Either = Either {
        sqlite: "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'",
        postgres: "SELECT 1 WHERE to_regclass('schema_migrations') IS NOT NULL",
    };
    let program = newest_version();
    if db.read(db.words(TABLE), &[]).await?.is_empty() {
        return Ok(SchemaVersion { stored: 0, program });
    }
    let rows = db.read("SELECT coalesce(max(version), 0) FROM schema_migrations", &[]).await?;
    Ok(SchemaVersion { stored: rows[0].get(0)?, program })
}

pub async fn is_empty(db: &Db) -> Result<bool, Error> {
    const ANY: Either = Either {
        sqlite: "SELECT 1 FROM sqlite_schema LIMIT 1",
        postgres: "SELECT 1 FROM information_schema.tables WHERE table_schema = current_schema() LIMIT 1",
    };
    Ok(db.read(db.words(ANY), &[]).await?.is_empty())
}

pub(super) async fn apply(db: &Db, migrations: &[Migration]) -> anyhow::Result<()> {
    for migration in migrations {
        let mut tx = begin(db).await?;
        check(&mut tx, migrations).await?;
        let done = tx
            .query("SELECT 1 FROM schema_migrations WHERE version = $1", &[migration.version.into()])
            .await?;
        if !done.is_empty() {
            continue;
        }
        step(&mut tx, migration).await?;
        tx.commit().await?;
        tracing::info!(migration = migration.name, "the store's schema moved on");
    }
    Ok(())
}

/// A transaction that excludes other migrating processes. The history's table exists, and may be empty.
pub(super) async fn begin(db: &Db) -> Result<Tx, Error> {
    let mut tx = db.begin().await?;
    if db.is_shared() {
        tx.query(LOCK, &[]).await?;
    }
    tx.execute(db.words(HISTORY), &[]).await?;
    Ok(tx)
}

pub(super) async fn step(tx: &mut Tx, migration: &Migration) -> anyhow::Result<()> {
    tx.batch(text(tx, migration))
        .await
        .with_context(|| format!("migration {} failed; nothing of it was kept", migration.name))?;
    record(tx, migration).await.map_err(Into::into)
}

/// Everything recorded must be known here, with equal texts.
async fn check(tx: &mut Tx, migrations: &[Migration]) -> anyhow::Result<()> {
    let recorded =
        tx.query("SELECT version, name, digest FROM schema_migrations ORDER BY version", &[]).await?;
    for row in recorded {
        let (version, name, digest): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let Some(known) = migrations.iter().find(|migration| migration.version == version) else {
            bail!(
                "the store's schema is at version {version} ({name}), newer than this program's {}; \
                 run the newer Lakeport, or one with a store of its own",
                migrations.last().map_or(0, |migration| migration.version)
            );
        };
        if digest != digest_of(text(tx, known)) {
            bail!(
                "migration {name} was changed after it ran on this store; a migration is never edited: \
                 put its text back and write a new one"
            );
        }
    }
    Ok(())
}

async fn record(tx: &mut Tx, migration: &Migration) -> Result<(), Error> {
    const RECORD: &str =
        "INSERT INTO schema_migrations (version, name, digest, applied_at) VALUES ($1, $2, $3, $4)";
    let digest = digest_of(text(tx, migration));
    let now_ms = chrono::Utc::now().timestamp_millis();
    let values: [Value; 4] = [migration.version.into(), migration.name.into(), digest.into(), now_ms.into()];
    tx.execute(RECORD, &values).await.map(drop)
}

fn text(tx: &Tx, migration: &Migration) -> &'static str {
    tx.words(Either { sqlite: migration.sqlite, postgres: migration.postgres })
}

fn digest_of(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::on_each_empty_store;

    const NEXT: &str = "CREATE TABLE later (id BIGINT); INSERT INTO later VALUES (1)";
    const NEXT_SQLITE: &str = "CREATE TABLE later (id INTEGER) STRICT; INSERT INTO later VALUES (1)";

    fn step(version: i64, sqlite: &'static str, postgres: &'static str) -> Migration {
        Migration { version, name: "step", sqlite, postgres }
    }

    #[test]
    fn versions_count_from_one_without_gaps() {
        for (index, migration) in MIGRATIONS.iter().enumerate() {
            assert_eq!(migration.version, index as i64 + 1);
            assert!(migration.name.starts_with(&format!("{:04}_", migration.version)), "{}", migration.name);
        }
    }

    #[tokio::test]
    async fn an_empty_store_is_brought_up_and_a_second_run_changes_nothing() {
        on_each_empty_store(async |db| {
            assert_eq!(version(&db).await.unwrap().stored, 0);
            run(&db).await.unwrap();
            run(&db).await.unwrap();
            assert_eq!(version(&db).await.unwrap().stored, newest_version());
        })
        .await;
    }

    #[tokio::test]
    async fn two_processes_that_start_at_once_migrate_once() {
        on_each_empty_store(async |db| {
            let (first, second) = tokio::join!(run(&db), run(&db));
            first.unwrap();
            second.unwrap();
            let rows = db.read("SELECT version FROM schema_migrations", &[]).await.unwrap();
            assert_eq!(rows.len(), MIGRATIONS.len());
        })
        .await;
    }

    #[tokio::test]
    async fn a_schema_newer_than_the_program_is_refused() {
        on_each_empty_store(async |db| {
            apply(&db, &[MIGRATIONS[0], step(2, NEXT_SQLITE, NEXT)]).await.unwrap();
            let message = apply(&db, &MIGRATIONS[..1]).await.unwrap_err().to_string();
            assert!(
                message.contains("version 2") && message.contains("newer than this program's 1"),
                "{message}"
            );
        })
        .await;
    }

    #[tokio::test]
    async fn a_migration_that_was_edited_is_refused() {
        on_each_empty_store(async |db| {
            apply(&db, &[step(1, NEXT_SQLITE, NEXT)]).await.unwrap();
            let edited = step(1, "CREATE TABLE later (id INTEGER)", "CREATE TABLE later (id INT)");
            let message = apply(&db, &[edited]).await.unwrap_err().to_string();
            assert!(message.contains("was changed after it ran"), "{message}");
        })
        .await;
    }

    #[tokio::test]
    async fn a_migration_that_fails_leaves_nothing_behind() {
        on_each_empty_store(async |db| {
            const BROKEN: &str = "CREATE TABLE half (id BIGINT); CREATE TABLE half (id BIGINT)";
            let error = format!("{:#}", apply(&db, &[step(1, BROKEN, BROKEN)]).await.unwrap_err());
            assert!(error.contains("migration step failed"), "{error}");
            assert!(db.read("SELECT * FROM half", &[]).await.is_err());
            assert_eq!(version(&db).await.unwrap().stored, 0);
        })
        .await;
    }
}
