use std::time::Duration;

use chrono_tz::Tz;
use lakeport_base::time::shown;
use lakeport_physical::{Database, QueryLimits, QuerySession, SqliteDatabase, Views, WorkerProcesses};
use lakeport_sql::ReadStatement;
use lakeport_store::Address;

use super::zone::Offsets;
use super::*;

const LIMITS: QueryLimits =
    QueryLimits { max_rows: 1_000, max_bytes: 1 << 20, timeout: Duration::from_secs(5) };
/// 2026-07-01 00:00:00 UTC.
const NOW_MS: i64 = 1_782_864_000_000;

async fn store() -> (tempfile::TempDir, Database) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("store.db");
    let db = lakeport_store::Db::connect(&Address::Sqlite(path.clone())).await.unwrap();
    db.migrate().await.unwrap();
    db.close().await;
    (folder, Database::Sqlite(SqliteDatabase::at(path, WorkerProcesses::inside())))
}

async fn open(database: &Database, datasources: Option<&[i64]>) -> QuerySession {
    let store = store::Store::Sqlite(Offsets::around(NOW_MS, chrono_tz::Asia::Shanghai));
    let views = store.views(datasources);
    let views = Views::new(views, store::BASES, "c0ffee".to_owned());
    QuerySession::open(database, Some(&views), std::sync::Arc::default()).await.unwrap()
}

async fn columns(session: &QuerySession, sql: String) -> Vec<String> {
    let answer = session.run(&ReadStatement { sql, binds: Vec::new() }, LIMITS).await.unwrap();
    answer.columns.into_iter().map(|column| column.name).collect()
}

#[tokio::test]
async fn each_view_has_the_fields_that_are_said_of_it() {
    let (_folder, database) = store().await;
    for datasources in [None, Some(&[1, 2][..]), Some(&[])] {
        let session = open(&database, datasources).await;
        for table in TABLES {
            let said: Vec<&str> = table.fields.iter().map(|(name, _, _)| *name).collect();
            assert_eq!(
                columns(&session, format!("SELECT * FROM {}", table.name)).await,
                said,
                "{}",
                table.name
            );
            for field in said {
                columns(&session, format!("SELECT \"{field}\", count(*) FROM {} GROUP BY 1", table.name))
                    .await;
            }
        }
    }
}

#[tokio::test]
async fn ids_of_views_are_found_again() {
    for table in TABLES {
        assert!(table.id() > 1 << 62);
        assert_eq!(find(table.id()).map(|found| found.name), Some(table.name));
        assert_eq!(named(&table.name.to_uppercase()).map(OwnTable::id), Some(table.id()));
    }
    assert!(find(1).is_none() && find(u64::MAX).is_none());
}

#[tokio::test]
async fn times_are_right_across_clock_changes() {
    let (_folder, database) = store().await;
    let session = QuerySession::open(&database, None, std::sync::Arc::default()).await.unwrap();
    for name in
        ["UTC", "Asia/Shanghai", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"]
    {
        let zone: Tz = name.parse().unwrap();
        let offsets = Offsets::around(NOW_MS, zone);
        let mut times: Vec<i64> =
            (-40..7).map(|quarter| NOW_MS + quarter * 91 * lakeport_base::time::DAY_MS + 999).collect();
        // Both sides of each change of the clocks.
        times.extend(offsets.changes().flat_map(|at| [at - 1, at, at + 3_599_999]));
        let values = times.iter().map(|at| format!("({at})")).collect::<Vec<_>>().join(", ");
        let sql = format!("WITH t(at) AS (VALUES {values}) SELECT {} FROM t", offsets.shown("at"));
        let answer = session.run(&ReadStatement { sql, binds: Vec::new() }, LIMITS).await.unwrap();
        let found: Vec<String> = answer
            .rows
            .into_iter()
            .map(|mut row| match row.remove(0) {
                lakeport_bindings::host::data::Cell::Text(text) => text,
                other => panic!("{other:?}"),
            })
            .collect();
        let wanted: Vec<String> = times.iter().map(|at| shown(*at, zone)).collect();
        assert_eq!(found, wanted, "{name}");
    }
}
