//! Tests of the authorizer alone, without the guard.

use std::path::PathBuf;
use std::time::Instant;

use lakeport_bindings::host::data::Cell;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, Connection, Executor, SqliteConnection};

use super::*;
use crate::database::SqliteDatabase;
use crate::session::{Base, View};
use crate::worker::WorkerProcesses;

const LIMITS: QueryLimits =
    QueryLimits { max_rows: 100, max_bytes: 1024 * 1024, timeout: Duration::from_secs(5) };
const BASES: &[Base] =
    &[Base { table: "workflows", columns: &[] }, Base { table: "sources", columns: &["id", "name"] }];
const SECRET: &str = "c0ffee";

struct File {
    _folder: tempfile::TempDir,
    database: Database,
}

async fn file() -> File {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().canonicalize().unwrap().join("store.db");
    let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
    let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
    let script = "CREATE TABLE workflows (id INTEGER PRIMARY KEY, name TEXT, deleted INTEGER, source INTEGER); \
        INSERT INTO workflows VALUES (1, 'one', 0, 1), (2, 'gone', 1, 1); \
        CREATE TABLE sources (id INTEGER PRIMARY KEY, name TEXT, secret TEXT); \
        INSERT INTO sources VALUES (1, 'shop', 'hush'); \
        CREATE TABLE tokens (id INTEGER PRIMARY KEY AUTOINCREMENT, digest TEXT); \
        INSERT INTO tokens (digest) VALUES ('d1'), ('d2'); CREATE INDEX tokens_by_digest ON tokens (digest)";
    connection.execute(AssertSqlSafe(script)).await.unwrap();
    connection.close().await.unwrap();
    File { _folder: folder, database: Database::Sqlite(SqliteDatabase::at(path, WorkerProcesses::inside())) }
}

fn views() -> Views {
    let select = "SELECT w.id, w.name, s.name AS source FROM main.workflows w \
        LEFT JOIN main.sources s ON s.id = w.source WHERE w.deleted = 0";
    let views = vec![View { name: "workflows".into(), select: select.to_owned() }];
    Views::new(views, BASES, SECRET.to_owned())
}

async fn open(file: &File, views: Option<&Views>) -> QuerySession {
    QuerySession::open(&file.database, views, Arc::default()).await.unwrap()
}

async fn ask(session: &QuerySession, sql: &str) -> Result<RowSet, Error> {
    session.run(&ReadStatement { sql: sql.to_owned(), binds: Vec::new() }, LIMITS).await
}

#[tokio::test]
async fn computed_columns_take_the_first_values_type() {
    let file = file().await;
    let session = open(&file, None).await;
    let sql = "SELECT id, count(*), avg(id), upper(name), NULL, x'00', nullif(id, 1) FROM workflows \
        GROUP BY id ORDER BY id";
    let answer = ask(&session, sql).await.unwrap();
    let types: Vec<&str> = answer.columns.iter().map(|column| column.type_text.as_str()).collect();
    assert_eq!(types, ["INTEGER", "INTEGER", "REAL", "TEXT", "", "BLOB", "INTEGER"]);
    session.close().await;
}

#[tokio::test]
async fn a_hot_journal_is_rolled_back_first() {
    let folder = tempfile::tempdir().unwrap();
    let (live, dead) = (folder.path().join("live.db"), folder.path().canonicalize().unwrap().join("dead.db"));
    let options = SqliteConnectOptions::new().filename(&live).create_if_missing(true);
    let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
    connection.execute("CREATE TABLE t (n INTEGER, s TEXT); INSERT INTO t VALUES (1, 'one')").await.unwrap();
    // More than fits into memory, so SQLite writes to the file before the end.
    let changes = "PRAGMA cache_size = 1; BEGIN; WITH RECURSIVE r(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM r \
        WHERE n < 2000) INSERT INTO t SELECT n, hex(randomblob(500)) FROM r; UPDATE t SET n = 0";
    connection.execute(changes).await.unwrap();
    let journal = |path: &PathBuf| PathBuf::from(format!("{}-journal", path.display()));
    std::fs::copy(&live, &dead).unwrap();
    std::fs::copy(journal(&live), journal(&dead)).unwrap();
    connection.close().await.unwrap();
    let before = std::fs::metadata(&dead).unwrap().len();

    let file = File {
        _folder: folder,
        database: Database::Sqlite(SqliteDatabase::at(dead.clone(), WorkerProcesses::inside())),
    };
    let session = open(&file, None).await;
    let answer = ask(&session, "SELECT n, s FROM t").await.unwrap();
    assert_eq!(answer.rows, [[Cell::Integer(1), Cell::Text("one".to_owned())]]);
    assert!(std::fs::metadata(&dead).unwrap().len() < before, "there was something to roll back");
    session.close().await;
}

#[tokio::test]
async fn views_work_in_every_query_form() {
    let file = file().await;
    let session = open(&file, Some(&views())).await;
    for (sql, rows) in [
        ("SELECT name FROM workflows", 1),
        ("SELECT * FROM workflows", 1),
        ("SELECT count(*) FROM workflows", 1),
        ("SELECT 1 FROM workflows", 1),
        ("SELECT source, count(*) FROM workflows GROUP BY source ORDER BY 2 DESC", 1),
        ("WITH few AS (SELECT * FROM workflows) SELECT count(*) FROM few", 1),
        ("SELECT a.name FROM workflows a JOIN workflows b ON a.id = b.id", 1),
        ("SELECT count(*) FROM workflows a, workflows b", 1),
        ("SELECT name FROM (SELECT * FROM workflows) WHERE name IN (SELECT name FROM workflows)", 1),
        ("SELECT name FROM workflows UNION ALL SELECT source FROM workflows", 2),
        (
            "WITH RECURSIVE days(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM days WHERE n < 3) \
          SELECT n, (SELECT count(*) FROM workflows w WHERE w.id = n) FROM days",
            3,
        ),
        ("SELECT count(*) OVER () FROM workflows", 1),
        ("SELECT upper(name), strftime('%Y', 'now') FROM workflows", 1),
    ] {
        let answer = ask(&session, sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        assert_eq!(answer.rows.len(), rows, "{sql}");
    }
    let answer = ask(&session, "SELECT id, name, source FROM workflows").await.unwrap();
    let row = vec![Cell::Integer(1), Cell::Text("one".to_owned()), Cell::Text("shop".to_owned())];
    assert_eq!(answer.rows, [row]);
}

#[tokio::test]
async fn what_is_no_view_is_refused_by_the_database_itself() {
    let file = file().await;
    let session = open(&file, Some(&views())).await;
    for sql in [
        "SELECT * FROM tokens",
        "SELECT digest FROM main.tokens",
        "SELECT count(*) FROM tokens",
        "SELECT count(*) FROM main.tokens",
        "SELECT 1 FROM workflows, tokens",
        "SELECT rowid FROM tokens",
        "SELECT * FROM \"TOKENS\"",
        "SELECT * FROM [tokens]",
        "SELECT (SELECT digest FROM tokens LIMIT 1) FROM workflows",
        "SELECT name FROM workflows WHERE 'd1' IN tokens",
        "SELECT name FROM workflows WHERE EXISTS (SELECT 1 FROM main.tokens WHERE digest LIKE 'd%')",
        "SELECT name FROM workflows UNION SELECT digest FROM tokens",
        "WITH workflows AS (SELECT digest FROM tokens) SELECT * FROM workflows",
        "WITH x AS (SELECT digest FROM main.tokens) SELECT count(*) FROM x",
        "SELECT * FROM (SELECT digest FROM tokens) AS workflows",
        "SELECT deleted FROM main.workflows",
        "WITH workflows AS (SELECT * FROM main.workflows) SELECT * FROM workflows",
        "SELECT secret FROM sources",
        "SELECT secret FROM main.sources",
        "SELECT name FROM sources",
        "SELECT sql FROM sqlite_schema",
        "SELECT * FROM sqlite_master",
        "SELECT * FROM main.sqlite_master",
        "SELECT * FROM sqlite_temp_master",
        "SELECT * FROM temp.sqlite_schema",
        "SELECT count(*) FROM sqlite_temp_schema",
        "SELECT * FROM sqlite_sequence",
        "SELECT name FROM pragma_table_list",
        "SELECT * FROM pragma_table_info('tokens')",
        "SELECT * FROM pragma_database_list()",
        "PRAGMA table_info(tokens)",
        "PRAGMA query_only = OFF",
        "ATTACH ':memory:' AS more",
        "DETACH temp",
        "CREATE TEMP VIEW mine AS SELECT * FROM main.tokens",
        "CREATE TEMP TABLE mine (a)",
        "DROP VIEW workflows",
        "INSERT INTO tokens (digest) VALUES ('d3')",
        "WITH x AS (SELECT 1) DELETE FROM main.tokens",
        "UPDATE main.workflows SET deleted = 0",
        "VACUUM INTO 'copy.db'",
        "ANALYZE",
        "REINDEX",
        "BEGIN",
        "SAVEPOINT a",
        "SELECT load_extension('x')",
        "SELECT hex(randomblob(1000000000))",
    ] {
        let error = ask(&session, sql).await.expect_err(sql);
        assert_eq!(error.code, "upstream_failed", "{sql}: {error:?}");
        let says = ["prohibited", "not authorized", "authorization denied"]
            .iter()
            .any(|word| error.message.contains(word));
        assert!(says, "{sql}: {}", error.message);
    }
    assert_eq!(ask(&session, "SELECT count(*) FROM workflows").await.unwrap().rows.len(), 1);
}

#[tokio::test]
async fn every_function_of_sqlite_is_judged() {
    let mut connection = SqliteConnection::connect("sqlite::memory:").await.unwrap();
    let names = "SELECT DISTINCT name FROM pragma_function_list ORDER BY name";
    let names: Vec<String> = sqlx::query_scalar(names).fetch_all(&mut connection).await.unwrap();
    let unknown: Vec<&String> =
        names.iter().filter(|name| !lakeport_sql::functions::is_known_in_sqlite(name)).collect();
    assert!(unknown.is_empty(), "in host/sql/functions/sqlite.txt, allowed or refused, must be: {unknown:?}");
}

#[tokio::test]
async fn a_format_makes_no_large_value() {
    let file = file().await;
    let session = open(&file, None).await;
    let short = ask(&session, "SELECT printf('%.2f', 1.005), format('%05d', 7)").await.unwrap();
    assert_eq!(short.rows[0][1], Cell::Text("00007".to_owned()));
    // SQLite gives NULL for a text beyond the limit.
    let large = ask(&session, "SELECT length(printf('%1000000000s', ''))").await.unwrap();
    assert_eq!(large.rows, [vec![Cell::Null]]);
}

#[tokio::test]
async fn full_text_tables_answer_match() {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().canonicalize().unwrap().join("texts.db");
    let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
    let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
    let script = "CREATE VIRTUAL TABLE five USING fts5(title, body); \
        INSERT INTO five VALUES ('lake', 'a port on the lake'), ('sea', 'no port'); \
        CREATE VIRTUAL TABLE four USING fts4(body); INSERT INTO four VALUES ('a port'), ('a sea')";
    connection.execute(AssertSqlSafe(script)).await.unwrap();
    connection.close().await.unwrap();
    let file = File {
        _folder: folder,
        database: Database::Sqlite(SqliteDatabase::at(path, WorkerProcesses::inside())),
    };
    let session = open(&file, None).await;
    for (sql, rows) in [
        ("SELECT title, bm25(five) FROM five WHERE five MATCH 'port' ORDER BY rank", 2),
        ("SELECT highlight(five, 1, '<', '>') FROM five WHERE body MATCH 'lake'", 1),
        ("SELECT snippet(five, 1, '[', ']', '…', 4) FROM five('lake')", 1),
        ("SELECT snippet(four), offsets(four) FROM four WHERE body MATCH 'port'", 1),
        ("SELECT count(*) FROM five f JOIN four ON four.body MATCH 'sea' WHERE f.title = 'sea'", 1),
    ] {
        let found = ask(&session, sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        assert_eq!(found.rows.len(), rows, "{sql}");
    }
    ask(&session, "INSERT INTO five (five) VALUES ('rebuild')").await.expect_err("it only reads");
}

#[tokio::test]
async fn guessing_a_views_name_opens_nothing() {
    let file = file().await;
    let session = open(&file, Some(&views())).await;
    let guessed = format!("workflows_{SECRET}");
    // Even a query that knows the secret name reads no other tables or columns than the views use.
    for inside in ["SELECT digest FROM main.tokens", "SELECT secret FROM main.sources"] {
        let sql = format!("WITH {guessed} AS ({inside}) SELECT * FROM {guessed}");
        ask(&session, &sql).await.expect_err(&sql);
    }
}

#[tokio::test]
async fn a_users_file_hides_sqlite_internals() {
    let file = file().await;
    let session = open(&file, None).await;
    assert_eq!(
        ask(&session, "SELECT * FROM workflows w JOIN sources s ON s.id = w.source")
            .await
            .unwrap()
            .rows
            .len(),
        2
    );
    for sql in
        ["SELECT * FROM sqlite_schema", "SELECT * FROM pragma_table_info('tokens')", "PRAGMA user_version"]
    {
        ask(&session, sql).await.expect_err(sql);
    }
    for sql in ["INSERT INTO tokens (digest) VALUES ('d3')", "CREATE TEMP TABLE t (a)", "DROP TABLE tokens"] {
        ask(&session, sql).await.expect_err(sql);
    }
}

#[tokio::test]
async fn what_is_cancelled_ends_in_the_database_within_a_second() {
    const ENDLESS: &str =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    let file = file().await;
    let cancelled = Arc::new(AtomicBool::new(false));
    let session = QuerySession::open(&file.database, None, Arc::clone(&cancelled)).await.unwrap();
    let statement = ReadStatement { sql: ENDLESS.to_owned(), binds: Vec::new() };
    let limits = QueryLimits { timeout: Duration::from_secs(60), ..LIMITS };
    let begun = Instant::now();
    let (answer, ()) = tokio::join!(session.run(&statement, limits), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        cancelled.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(answer.unwrap_err().code, "cancelled");
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_value_of_a_gigabyte_is_not_made() {
    let file = file().await;
    let session = open(&file, None).await;
    let doubled = "WITH RECURSIVE t(a, n) AS (SELECT 'x', 0 UNION ALL SELECT a || a, n + 1 FROM t WHERE n < 30) \
        SELECT length(a) FROM t";
    let error = ask(&session, doubled).await.unwrap_err();
    assert!(error.message.contains("too big"), "{}", error.message);
}

#[test]
fn decimal_numbers_are_numbers_where_nothing_is_lost() {
    let text = |text: &str| Cell::Text(text.to_owned());
    assert_eq!(counted(text("12.50")), Cell::Float(12.5));
    assert_eq!(counted(text("-9007199254740993")), Cell::Integer(-9_007_199_254_740_993));
    assert_eq!(counted(text("0.1234567890123456789")), text("0.1234567890123456789"));
}
