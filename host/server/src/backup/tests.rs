use std::io::{Cursor, SeekFrom};

use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use lakeport_store::testing::{
    migrate_to, migrate_with, on_each_empty_store, on_each_store, on_each_two_empty_stores,
};
use lakeport_store::{Migration, Value};

use super::*;

/// Texts that JSON, SQL and databases often handle incorrectly.
const TEXTS: [&str; 7] =
    ["", "'\"\\`", "line\nbreak\r\ttab\u{1}", "\u{2028}\u{FEFF}", "数据湖", "👩‍🚀 é e\u{301}", "null"];

async fn backed_up(db: &Db) -> Vec<u8> {
    write(db, Vec::new(), &mut |_| {}).await.unwrap().0
}

async fn restored(db: &Db, bytes: &[u8]) -> anyhow::Result<Summary> {
    restore(db, Cursor::new(bytes), &mut |_| {}).await
}

fn plain(bytes: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(bytes).read_to_string(&mut text).unwrap();
    text
}

/// All lines but the header and the end, which depend on the store and the time.
fn rows(bytes: &[u8]) -> Vec<String> {
    let lines: Vec<String> = plain(bytes).lines().map(str::to_owned).collect();
    lines[1..lines.len() - 1].to_vec()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    gzip.finish().unwrap()
}

/// Incompressible bytes.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

async fn is_empty(db: &Db) -> bool {
    db.schema_version().await.unwrap().stored == 0
}

async fn fill(db: &Db) {
    const COMPONENT: &str = "INSERT INTO plugin_components \
        (digest, family, name, version, contract, bytes, size, staged_at) VALUES ($1, 'tool', $2, '1', 'c', $3, $4, 5)";
    const POINTER: &str = "INSERT INTO plugin_pointers (family, name, active_digest, canary_percent, updated_at) \
        VALUES ('tool', $1, $2, $3, 1)";
    const DATASOURCE: &str = "INSERT INTO datasources (name, kind, url, secret, created_at, updated_at) \
        VALUES ($1, 'sqlite', 'sqlite:x', $2, 1, 2) RETURNING id";
    const TABLE: &str = "INSERT INTO tables (cluster_id, db_name, table_name, table_comment, created_at, updated_at) \
        VALUES ($1, 'd', $2, $3, 1, 2) RETURNING id";
    const FIELD: &str = "INSERT INTO fields (table_id, field_name, field_type, field_order, created_at, updated_at) \
        VALUES ($1, $2, 'INT', $3, 1, 2)";
    let mut tx = db.begin().await.unwrap();
    for (n, text) in TEXTS.iter().enumerate() {
        let bytes: Vec<u8> = (0..n * 100).map(|byte| byte as u8).collect();
        let size = if n % 2 == 0 { i64::MIN } else { i64::MAX };
        let digest = format!("digest {n}");
        tx.execute(COMPONENT, &[digest.as_str().into(), (*text).into(), bytes.clone().into(), size.into()])
            .await
            .unwrap();
        let active = (n % 2 == 0).then_some(digest);
        let percent = active.is_some().then_some(10_i64);
        tx.execute(POINTER, &[(*text).into(), active.into(), percent.into()]).await.unwrap();
        let secret = (n > 2).then_some(bytes);
        let datasource = tx.query(DATASOURCE, &[(*text).into(), secret.into()]).await.unwrap();
        let id = (n > 0).then(|| datasource[0].get::<i64>(0).unwrap());
        let table =
            tx.query(TABLE, &[id.into(), (*text).into(), (n != 1).then_some(*text).into()]).await.unwrap();
        let table: i64 = table[0].get(0).unwrap();
        for order in 0..300_i64 {
            tx.execute(FIELD, &[table.into(), format!("{text}{order}").into(), order.into()]).await.unwrap();
        }
        tx.changed("t", *text);
    }
    // The last id was assigned and its row deleted.
    tx.execute(DATASOURCE, &["gone".into(), Value::Null]).await.unwrap();
    tx.execute("DELETE FROM datasources WHERE name = 'gone'", &[]).await.unwrap();
    tx.execute("INSERT INTO leases (name, owner, epoch, expires_at) VALUES ('l', 'o', 1, 2)", &[])
        .await
        .unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn backups_restore_between_all_stores() {
    on_each_two_empty_stores(async |from, to| {
        const DATASOURCE: &str = "INSERT INTO datasources (name, kind, url, created_at, updated_at) \
            VALUES ('next', 'sqlite', 'sqlite:x', 1, 2) RETURNING id";
        from.migrate().await.unwrap();
        fill(&from).await;
        let first = backed_up(&from).await;
        let summary = restored(&to, &first).await.unwrap();
        assert_eq!(summary.tables["fields"], 300 * TEXTS.len() as u64);
        assert_eq!(summary.header.store, from.product());
        assert!(!summary.tables.contains_key("leases"));
        let second = backed_up(&to).await;
        assert_eq!(rows(&first), rows(&second));

        let mut tx = to.begin().await.unwrap();
        let next = tx.query(DATASOURCE, &[]).await.unwrap();
        assert_eq!(next[0].get::<i64>(0).unwrap(), TEXTS.len() as i64 + 2, "no number is given twice");
        tx.changed("t", "next");
        assert_eq!(tx.commit_numbered().await.unwrap(), Some(TEXTS.len() as i64 + 1));
        let orphan = "INSERT INTO fields (table_id, field_name, field_type, field_order, created_at, updated_at) \
            VALUES (12345, 'x', 'INT', 1, 1, 1)";
        assert!(to.execute(orphan, &[]).await.is_err(), "references are looked at again");
        to.migrate().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn every_type_comes_through_all_four_ways() {
    const ODD: Migration = Migration {
        version: 1,
        name: "odd",
        sqlite: "CREATE TABLE \"odd \"\" name\" (id INTEGER PRIMARY KEY AUTOINCREMENT, \"a b\" REAL, flag INTEGER, \
            \"order\" BLOB, parent INTEGER REFERENCES \"odd \"\" name\" (id)) STRICT",
        postgres: "CREATE TABLE \"odd \"\" name\" (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, \
            \"a b\" DOUBLE PRECISION, flag BOOLEAN, \"order\" BYTEA, parent BIGINT REFERENCES \"odd \"\" name\" (id))",
    };
    const INSERT: &str =
        "INSERT INTO \"odd \"\" name\" (\"a b\", flag, \"order\", parent) VALUES ($1, $2, $3, $4)";
    const REALS: [f64; 7] = [0.1, -2.5, 1e300, f64::MIN_POSITIVE, f64::INFINITY, 3.0, 0.1 + 0.2];
    on_each_two_empty_stores(async |from, to| {
        migrate_with(&from, ODD).await;
        for (n, real) in REALS.iter().enumerate() {
            let bytes = (n > 0).then(|| vec![0, 255, n as u8]);
            from.execute(INSERT, &[(*real).into(), (n % 2 == 0).into(), bytes.into(), Value::Null])
                .await
                .unwrap();
        }
        from.execute(INSERT, &[Value::Null, Value::Null, Value::Bytes(Vec::new()), Value::Null])
            .await
            .unwrap();
        // The first refers to the last.
        from.execute("UPDATE \"odd \"\" name\" SET parent = 8 WHERE id = 1", &[]).await.unwrap();

        let first = backed_up(&from).await;
        let checked = check(&*first).unwrap();
        let load = Load::begin_with(&to, 1, &[ODD]).await.unwrap();
        super::fill(load, &*first, &checked, &mut |_| {}).await.unwrap();
        assert_eq!(rows(&first), rows(&backed_up(&to).await));

        const READ: &str = "SELECT \"a b\", flag, \"order\" FROM \"odd \"\" name\" ORDER BY id";
        let read = to.read(READ, &[]).await.unwrap();
        for (n, real) in REALS.iter().enumerate() {
            assert_eq!(read[n].get::<f64>(0).unwrap().to_bits(), real.to_bits());
            assert_eq!(read[n].get::<bool>(1).unwrap(), n % 2 == 0);
        }
        assert_eq!(read[7].get::<Option<f64>>(0).unwrap(), None);
        assert!(read[7].get::<Vec<u8>>(2).unwrap().is_empty());
        assert!(to.execute(INSERT, &[Value::Null, Value::Null, Value::Null, 99.into()]).await.is_err());
        to.execute(INSERT, &[Value::Null, Value::Null, Value::Null, 8.into()]).await.unwrap();
        let read = to.read("SELECT max(id) FROM \"odd \"\" name\"", &[]).await.unwrap();
        assert!(read[0].get::<i64>(0).unwrap() > 8, "no number is given twice");
    })
    .await;
}

#[tokio::test]
async fn a_dangling_reference_rolls_back_the_restore() {
    on_each_empty_store(async |db| {
        let mut writer = Writer::new(Vec::new(), Header::new(newest_version(), "SQLite")).unwrap();
        let columns =
            ["id", "table_id", "field_name", "field_type", "field_order", "created_at", "updated_at"];
        let columns = columns.map(str::to_owned).to_vec();
        writer.table(TableLine { table: "fields".to_owned(), columns, last_number: Some(1) }).unwrap();
        let (one, name) = (Value::Int(1), Value::from("n"));
        let row = [one.clone(), Value::Int(7), name.clone(), name, one.clone(), one.clone(), one];
        writer.row(&row).unwrap();
        let (bytes, _) = writer.finish().unwrap();
        assert!(restored(&db, &bytes).await.is_err());
        assert!(is_empty(&db).await);
    })
    .await;
}

#[tokio::test]
async fn a_row_larger_than_a_statement_should_be_comes_through() {
    on_each_two_empty_stores(async |from, to| {
        const INSERT: &str = "INSERT INTO plugin_components \
            (digest, family, name, version, contract, bytes, size, staged_at) VALUES ($1, 'f', 'n', '1', 'c', $2, 1, 5)";
        from.migrate().await.unwrap();
        for (digest, odd) in [("a", 0), ("b", 1), ("c", 2)] {
            from.execute(INSERT, &[digest.into(), noise((5 << 20) + odd).into()]).await.unwrap();
        }
        let first = backed_up(&from).await;
        restored(&to, &first).await.unwrap();
        assert!(rows(&first) == rows(&backed_up(&to).await));
    })
    .await;
}

/// Each transaction adds a row to two tables; a backup with one of them and not the other would be
/// inconsistent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_during_writes_is_consistent() {
    const TOKEN: &str =
        "INSERT INTO tokens (name, role, digest, scopes, created_at) VALUES ($1, 'viewer', $1, '[]', 1)";
    const BACKUPS: usize = 8;
    on_each_store(async |db| {
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let writer = tokio::spawn({
            let db = db.clone();
            async move {
                let mut stopped = std::pin::pin!(stopped);
                for n in 0_i64.. {
                    let mut tx = db.begin().await.unwrap();
                    tx.execute(TOKEN, &[n.to_string().into()]).await.unwrap();
                    tx.changed("tokens", n.to_string());
                    tx.commit().await.unwrap();
                    if stopped.as_mut().try_recv().is_ok() {
                        return n + 1;
                    }
                }
                unreachable!("it is stopped")
            }
        });
        let mut seen = Vec::new();
        for _ in 0..BACKUPS {
            let bytes = backed_up(&db).await;
            let summary = check(&*bytes).unwrap();
            let written = summary.tables["tokens"];
            assert_eq!(summary.tables["changes"], written);
            assert!(
                plain(&bytes).contains(&format!("\n[1,{written}]\n")),
                "the counter is of the same moment"
            );
            seen.push(written);
        }
        stop.send(()).unwrap();
        assert!(writer.await.unwrap() >= seen[BACKUPS - 1] as i64);
        assert!(seen.is_sorted());
    })
    .await;
}

#[tokio::test]
async fn a_damaged_backup_changes_nothing() {
    on_each_two_empty_stores(async |from, to| {
        from.migrate().await.unwrap();
        fill(&from).await;
        let whole = backed_up(&from).await;
        let step = whole.len() / 40;
        for length in (0..whole.len()).step_by(step).chain([whole.len() - 1]) {
            assert!(restored(&to, &whole[..length]).await.is_err(), "cut off at {length}");
        }
        for place in (10..whole.len()).step_by(step) {
            let mut damaged = whole.clone();
            damaged[place] ^= 0x10;
            match check(&*damaged) {
                Err(_) => assert!(restored(&to, &damaged).await.is_err(), "damaged at {place}"),
                // A bit that gzip does not use.
                Ok(summary) => assert_eq!(summary, check(&*whole).unwrap(), "damaged at {place}"),
            }
        }
        let longer = [&whole[..], b"more"].concat();
        assert!(restored(&to, &longer).await.is_err());
        assert!(is_empty(&to).await);
        restored(&to, &whole).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn the_digest_detects_changed_rows() {
    on_each_store(async |db| {
        fill(&db).await;
        let text = plain(&backed_up(&db).await);
        check(&*gzip(&text)).unwrap();
        let edited = text.replace("\"digest 3\"", "\"digest X\"");
        assert_ne!(text, edited);
        let lines: Vec<&str> = text.lines().collect();
        let lost = [&lines[..5], &lines[6..]].concat().join("\n") + "\n";
        for damaged in [edited, lost] {
            let error = format!("{:#}", check(&*gzip(&damaged)).unwrap_err());
            assert!(error.contains("the backup is damaged"), "{error}");
        }
    })
    .await;
}

#[test]
fn what_is_no_backup_is_called_that() {
    for file in [&b""[..], b"SQLite format 3\0", &gzip(""), &gzip("{}\n"), &gzip("hello\n")] {
        let error = format!("{:#}", check(file).unwrap_err());
        assert!(error.contains("not a backup of Lakeport"), "{error}");
    }
    let other =
        r#"{"format":"lakeport-backup","version":2,"product":"9.9.9","schema":1,"store":"x","at":"y"}"#;
    let error = format!("{:#}", check(&*gzip(&format!("{other}\n"))).unwrap_err());
    assert!(error.contains("9.9.9") && error.contains("version 2"), "{error}");
}

#[tokio::test]
async fn a_backup_of_newer_schema_is_refused() {
    on_each_empty_store(async |db| {
        let writer = Writer::new(Vec::new(), Header::new(newest_version() + 1, "SQLite")).unwrap();
        let (bytes, _) = writer.finish().unwrap();
        let error = format!("{:#}", restored(&db, &bytes).await.unwrap_err());
        assert!(error.contains("newer than this program's"), "{error}");
        assert!(is_empty(&db).await);
    })
    .await;
}

#[tokio::test]
async fn a_backup_of_older_schema_is_migrated() {
    on_each_two_empty_stores(async |from, to| {
        const INSERT: &str =
            "INSERT INTO plugin_activations (family, name, action, at) VALUES ('f', 'n', 'a', 7)";
        migrate_to(&from, 1).await;
        from.execute(INSERT, &[]).await.unwrap();
        let summary = restored(&to, &backed_up(&from).await).await.unwrap();
        assert_eq!((summary.header.schema, to.schema_version().await.unwrap().stored), (1, newest_version()));
        let rows = to.read("SELECT at FROM plugin_activations", &[]).await.unwrap();
        assert_eq!(rows[0].get::<i64>(0).unwrap(), 7);
        let counter = to.read("SELECT number FROM change_counter", &[]).await.unwrap();
        assert_eq!(counter[0].get::<i64>(0).unwrap(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_store_that_is_not_empty_is_not_restored_into() {
    on_each_store(async |db| {
        fill(&db).await;
        let bytes = backed_up(&db).await;
        let error = format!("{:#}", restored(&db, &bytes).await.unwrap_err());
        assert!(error.contains("the store is not empty") && error.contains("--"), "{error}");
        assert_eq!(rows(&bytes), rows(&backed_up(&db).await));
    })
    .await;
}

#[tokio::test]
async fn an_empty_store_is_not_backed_up() {
    on_each_empty_store(async |db| {
        let error = write(&db, Vec::new(), &mut |_| {}).await.err().unwrap().to_string();
        assert!(error.contains("the store is empty"), "{error}");
    })
    .await;
}

/// Complete at the first reading, truncated at the second.
struct TwoFaced {
    inner: Cursor<Vec<u8>>,
}

impl Read for TwoFaced {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.inner.read(into)
    }
}

impl Seek for TwoFaced {
    fn seek(&mut self, place: SeekFrom) -> std::io::Result<u64> {
        let length = self.inner.get_ref().len();
        self.inner.get_mut().truncate(length * 3 / 4);
        self.inner.seek(place)
    }
}

#[tokio::test]
async fn a_failed_restore_leaves_the_store_empty() {
    on_each_two_empty_stores(async |from, to| {
        from.migrate().await.unwrap();
        fill(&from).await;
        let whole = backed_up(&from).await;
        let file = TwoFaced { inner: Cursor::new(whole.clone()) };
        assert!(restore(&to, file, &mut |_| {}).await.is_err());
        assert!(is_empty(&to).await);
        restored(&to, &whole).await.unwrap();
    })
    .await;
}

#[test]
fn names_and_rows_take_bounded_memory() {
    let header = serde_json::to_string(&Header::new(1, "SQLite")).unwrap();
    let table = |name: &str, columns: usize| {
        let columns = vec!["\"c\""; columns].join(",");
        format!("{{\"table\":\"{name}\",\"columns\":[{columns}]}}\n")
    };
    let tables: String = (0..10_001).map(|number| table(&number.to_string(), 1)).collect();
    for (lines, expected) in [
        (table("wide", 300_000), "is longer than 1048576 bytes"),
        (format!("{}[{}]\n", table("narrow", 2), vec!["0"; 1_000_000].join(",")), "more than 2 values"),
        (format!("{}[0]\n", table("narrow", 2)), "expected 2 values"),
        (tables, "more than 10000 tables"),
    ] {
        let error = check(&*gzip(&format!("{header}\n{lines}"))).unwrap_err();
        assert!(format!("{error:#}").contains(expected), "{error:#}");
    }
}
