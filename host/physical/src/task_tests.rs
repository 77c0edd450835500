use std::path::Path;

use lakeport_sql::script::sqlite_script;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use super::*;
use crate::database::SqliteDatabase;
use crate::mark::{Outcome, outcome};
use crate::worker::WorkerProcesses;

const SHOWN: Shown = Shown { rows: 2, cell_chars: 5 };
/// Counts far longer than any test waits.
const ENDLESS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";

async fn file(folder: &Path) -> Database {
    let path = folder.join("a.db");
    let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
    let mut connection = options.connect().await.unwrap();
    sqlx::raw_sql("CREATE TABLE t (a, b); CREATE TABLE log (a);").execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    Database::Sqlite(SqliteDatabase::at(path.canonicalize().unwrap(), WorkerProcesses::inside()))
}

fn plan(script: &[ScriptStatement]) -> TaskPlan {
    TaskPlan {
        writes: script.iter().any(ScriptStatement::writes),
        commits_early: false,
        leaves_session: false,
        is_one_read: false,
        name: "task-1".to_owned(),
        may_add_table: false,
    }
}

async fn run(
    database: &Database,
    text: &str,
    deadline: Option<Instant>,
    stop: &Arc<AtomicBool>,
) -> Result<Vec<Ran>, Error> {
    let script = sqlite_script(text).unwrap();
    let session = TaskSession::begin(database, plan(&script), deadline, Arc::clone(stop)).await?;
    let mut ran = Vec::new();
    for statement in &script {
        match session.run(statement, SHOWN).await {
            Ok(one) => ran.push(one),
            Err(error) => {
                session.roll_back().await;
                return Err(error);
            }
        }
    }
    session.commit().await?;
    Ok(ran)
}

async fn all(database: &Database, text: &str) -> Result<Vec<Ran>, Error> {
    run(database, text, None, &Arc::default()).await
}

#[tokio::test]
async fn rows_are_counted_and_the_first_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let database = file(folder.path()).await;
    let text = "INSERT INTO t VALUES (1, 'ab'), (2.5, 'abcdefg'), (NULL, x'00'); UPDATE t SET a = 7 WHERE a = 1; \
        SELECT a, b FROM t; CREATE TABLE u AS SELECT * FROM t; DELETE FROM t WHERE a = 9; SELECT 1 WHERE 0";
    let ran = all(&database, text).await.unwrap();
    assert_eq!(ran.iter().map(|one| one.changed).collect::<Vec<_>>(), [3, 1, 0, 0, 0, 0]);
    assert_eq!(ran.iter().map(|one| one.rows).collect::<Vec<_>>(), [0, 0, 3, 0, 0, 0]);
    assert_eq!(ran[2].columns, ["a", "b"]);
    assert_eq!(ran[2].first, [["7", "ab"], ["2.5", "abcde…"]]);
}

#[tokio::test]
async fn a_statement_that_fails_undoes_those_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let database = file(folder.path()).await;
    let error =
        all(&database, "INSERT INTO t VALUES (1, 1); INSERT INTO nowhere VALUES (1)").await.unwrap_err();
    assert!(error.message.contains("nowhere"), "{error:?}");
    let error = all(&database, "CREATE TABLE x (a); INSERT OR ROLLBACK INTO x SELECT 1; DROP TABLE y").await;
    assert!(error.is_err());
    let ran =
        all(&database, "SELECT * FROM t UNION ALL SELECT 1, 1 FROM sqlite_schema WHERE name = 'x'").await;
    assert_eq!(ran.unwrap()[0].rows, 0);
}

#[tokio::test]
async fn a_statement_is_stopped_at_once_and_at_its_deadline() {
    let folder = tempfile::tempdir().unwrap();
    let database = file(folder.path()).await;
    let stop: Arc<AtomicBool> = Arc::default();
    let running = run(&database, ENDLESS, None, &stop);
    let stopping = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        stop.store(true, Ordering::Relaxed);
        Instant::now()
    };
    let (outcome, stopped_at) = tokio::join!(running, stopping);
    assert_eq!(outcome.unwrap_err().code, "cancelled");
    assert!(stopped_at.elapsed() < Duration::from_secs(1));
    let deadline = Some(Instant::now() + Duration::from_millis(100));
    let error = run(&database, ENDLESS, deadline, &Arc::default()).await.unwrap_err();
    assert_eq!(error.code, "timeout");
}

/// Reads a row and keeps the read open, so that no other connection can commit.
async fn reading(folder: &Path) -> SqliteConnection {
    let mut reader = SqliteConnectOptions::new().filename(folder.join("a.db")).connect().await.unwrap();
    sqlx::raw_sql("BEGIN; SELECT * FROM t").execute(&mut reader).await.unwrap();
    reader
}

#[tokio::test]
async fn commit_waits_for_readers_and_is_cancellable() {
    let folder = tempfile::tempdir().unwrap();
    let database = file(folder.path()).await;
    let text = "INSERT INTO t VALUES (1, 1)";
    let reader = reading(folder.path()).await;
    let (ran, ()) = tokio::join!(all(&database, text), async {
        tokio::time::sleep(Duration::from_millis(600)).await;
        reader.close().await.unwrap();
    });
    ran.unwrap();
    let reader = reading(folder.path()).await;
    let stop: Arc<AtomicBool> = Arc::default();
    let (outcome, stopped_at) = tokio::join!(run(&database, text, None, &stop), async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        stop.store(true, Ordering::Relaxed);
        Instant::now()
    });
    assert_eq!(outcome.unwrap_err().code, "timeout");
    assert!(stopped_at.elapsed() < Duration::from_millis(500), "{:?}", stopped_at.elapsed());
    reader.close().await.unwrap();
    let ran = all(&database, "SELECT * FROM t").await.unwrap();
    assert_eq!(ran[0].rows, 1, "what was stopped is undone");
}

#[tokio::test]
async fn two_that_write_wait_for_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let database = file(folder.path()).await;
    let text = "INSERT INTO t VALUES (1, 1); INSERT INTO log SELECT count(*) FROM t";
    let (one, other) = tokio::join!(all(&database, text), all(&database, text));
    one.unwrap();
    other.unwrap();
    let ran = all(&database, "SELECT a FROM log ORDER BY a").await.unwrap();
    assert_eq!(ran[0].first, [["1"], ["2"]]);
}

#[tokio::test]
async fn a_row_of_our_table_tells_what_has_committed() {
    let folder = tempfile::tempdir().unwrap();
    let database = file(folder.path()).await;
    let script = sqlite_script("INSERT INTO log VALUES (1)").unwrap();
    let begin = async |name: &str| {
        let plan = TaskPlan { name: name.to_owned(), may_add_table: true, ..plan(&script) };
        let session = TaskSession::begin(&database, plan, None, Arc::default()).await.unwrap();
        session.run(&script[0], SHOWN).await.unwrap();
        let mark = session.mark().await.unwrap().unwrap();
        (session, mark)
    };
    let (session, rolled_back) = begin("rolled-back").await;
    session.roll_back().await;
    assert_eq!(
        outcome(&database, None, Some(&rolled_back)).await.unwrap(),
        Outcome::RolledBack,
        "there is no table yet"
    );
    let (session, committed) = begin("committed").await;
    assert_eq!(session.prepare().await.unwrap(), None);
    session.commit().await.unwrap();
    assert_eq!(outcome(&database, None, Some(&committed)).await.unwrap(), Outcome::Committed);
    assert_eq!(outcome(&database, None, Some(&rolled_back)).await.unwrap(), Outcome::RolledBack);
    let (session, open) = begin("open").await;
    assert_eq!(
        outcome(&database, None, Some(&open)).await.unwrap(),
        Outcome::InProgress,
        "its session may commit"
    );
    session.roll_back().await;
    assert_eq!(all(&database, "SELECT * FROM log").await.unwrap()[0].rows, 1);
    // Without the option there is no mark, and no table.
    let plain = TaskSession::begin(&database, plan(&script), None, Arc::default()).await.unwrap();
    assert_eq!(plain.mark().await.unwrap(), None);
    plain.roll_back().await;
}
