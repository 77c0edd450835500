//! A session lent to a dialect: what it permits, cuts off and stops.

use std::time::{Duration, Instant};

use lakeport_bindings::dialect::connection::Limits;
use lakeport_bindings::dialect::schema::TableName;
use lakeport_bindings::dialect::statements::Fragment;
use lakeport_bindings::host::data::{Cell, RowSet};
use lakeport_bindings::host::types::Error;
use lakeport_physical::{Lent, Loan, Reading};
use lakeport_plugins::LentConnection;

use crate::support::Bench;

const NONE: Limits = Limits { max_rows: 0, max_bytes: 0, timeout_ms: 0 };
/// Counts without end.
const ENDLESS: &str =
    "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

async fn lent(bench: &Bench) -> Lent {
    let (_, profile) = bench.dialect.described().expect("active");
    let about = vec![TableName { database: "main".to_owned(), name: "t".to_owned() }];
    let reading = Reading::open(&bench.database()).await.expect("opens");
    Lent::on(&reading, Loan { profile, about }).expect("it is for such")
}

async fn query(lent: &mut Lent, sql: &str, limits: Limits) -> Result<RowSet, Error> {
    lent.query(vec![Fragment::Sql(sql.to_owned())], limits).await
}

#[tokio::test]
async fn cells_are_what_is_stored() {
    let bench = Bench::new(&[
        "CREATE TABLE t (a INTEGER, b)",
        "INSERT INTO t VALUES (9223372036854775807, 0.5), ('text', x'00ff'), (NULL, ''), (1.5, CAST(x'ff' AS TEXT))",
    ])
    .await;
    let mut lent = lent(&bench).await;
    let rows = query(&mut lent, "SELECT a, b FROM t ORDER BY rowid", NONE).await.expect("allowed");
    assert_eq!(
        rows.rows,
        [
            vec![Cell::Integer(i64::MAX), Cell::Float(0.5)],
            vec![Cell::Text("text".to_owned()), Cell::Bytes(vec![0, 255])],
            vec![Cell::Null, Cell::Text(String::new())],
            vec![Cell::Float(1.5), Cell::Bytes(vec![255])],
        ]
    );
    let none = query(&mut lent, "SELECT a AS x, b FROM t WHERE 1 = 0", NONE).await.expect("allowed");
    assert_eq!(none.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["x", "b"]);
    let bound = vec![
        Fragment::Sql("SELECT ".to_owned()),
        Fragment::Value(Cell::Bytes(vec![1])),
        Fragment::Sql(", ".to_owned()),
        Fragment::Value(Cell::Text("it's".to_owned())),
        Fragment::Sql(", ".to_owned()),
        Fragment::Value(Cell::Null),
    ];
    let bound = lent.query(bound, NONE).await.expect("allowed");
    assert_eq!(bound.rows, [vec![Cell::Bytes(vec![1]), Cell::Text("it's".to_owned()), Cell::Null]]);
}

#[tokio::test]
async fn answers_are_cut_off_and_say_so() {
    let fill = "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 10001) \
                INSERT INTO t SELECT i, 'x' FROM n";
    let bench = Bench::new(&["CREATE TABLE t (a, b)", fill]).await;
    let mut lent = lent(&bench).await;
    let all = query(&mut lent, "SELECT a FROM t", NONE).await.expect("allowed");
    assert_eq!((all.rows.len(), all.truncated), (10_000, true));
    let more = Limits { max_rows: 1_000_000, ..NONE };
    assert_eq!(query(&mut lent, "SELECT a FROM t", more).await.expect("allowed").rows.len(), 10_000);
    let three = Limits { max_rows: 3, ..NONE };
    let cut = query(&mut lent, "SELECT a FROM t", three).await.expect("allowed");
    assert_eq!((cut.rows.len(), cut.truncated), (3, true));
    let exact = query(&mut lent, "SELECT a FROM t LIMIT 3", three).await.expect("allowed");
    assert_eq!((exact.rows.len(), exact.truncated), (3, false));
    let small = Limits { max_bytes: 100, ..NONE };
    let cut = query(&mut lent, "SELECT a, b FROM t", small).await.expect("allowed");
    assert!(cut.truncated && cut.rows.len() == 3, "{}", cut.rows.len());
}

#[tokio::test]
async fn an_endless_query_is_stopped_in_the_database() {
    let bench = Bench::new(&["CREATE TABLE t (a)"]).await;
    let mut lent = lent(&bench).await;
    let begun = Instant::now();
    let error = query(&mut lent, ENDLESS, Limits { timeout_ms: 100, ..NONE }).await.expect_err("endless");
    assert_eq!(error.code, "timeout");
    assert!(begun.elapsed() < Duration::from_secs(5));
    // The session is free again: the statement no longer runs.
    assert_eq!(query(&mut lent, "SELECT 1", NONE).await.expect("free").rows, [vec![Cell::Integer(1)]]);
}

#[tokio::test]
async fn a_query_that_is_cut_off_does_not_run_on() {
    let bench = Bench::new(&["CREATE TABLE t (a)"]).await;
    let mut lent = lent(&bench).await;
    let two = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c WHERE x < 3";
    let begun = Instant::now();
    let cut = query(&mut lent, two, Limits { max_rows: 1, ..NONE }).await.expect("allowed");
    assert_eq!((cut.rows, cut.truncated), (vec![vec![Cell::Integer(1)]], true));
    let next = tokio::time::timeout(Duration::from_secs(5), query(&mut lent, "SELECT 1", NONE)).await;
    assert_eq!(next.expect("in time").expect("free").rows, [vec![Cell::Integer(1)]]);
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_value_larger_than_the_answer_is_left_out() {
    let bench = Bench::new(&["CREATE TABLE t (a)", "INSERT INTO t VALUES (zeroblob(9000000))"]).await;
    let mut lent = lent(&bench).await;
    let cut = query(&mut lent, "SELECT a FROM t", NONE).await.expect("allowed");
    assert!(cut.truncated && cut.rows.is_empty());
    for sql in ["SELECT zeroblob(1000000000)", "SELECT length(printf('%.*c', 1000000000, 'x'))"] {
        assert_eq!(query(&mut lent, sql, NONE).await.expect_err(sql).code, "guard_refused", "{sql}");
    }
}

#[tokio::test]
async fn an_abandoned_query_is_stopped() {
    let bench = Bench::new(&["CREATE TABLE t (a)"]).await;
    let mut lent = lent(&bench).await;
    let waiting = tokio::time::timeout(Duration::from_millis(50), query(&mut lent, ENDLESS, NONE));
    assert!(waiting.await.is_err());
    let begun = Instant::now();
    let next = query(&mut lent, "SELECT a FROM t", NONE).await;
    assert!(begun.elapsed() < Duration::from_secs(5));
    // Its worker was ended with it.
    assert_eq!(next.expect_err("the session is gone").code, "unreachable");
}

#[tokio::test]
async fn only_reading_passes() {
    let bench = Bench::new(&["CREATE TABLE t (a)", "CREATE TABLE secret (a)"]).await;
    let before = bench.bytes();
    let mut lent = lent(&bench).await;
    for (sql, rule) in [
        ("DELETE FROM t", "reads_only"),
        ("SELECT * FROM secret", "not_permitted"),
        ("SELECT 1; DROP TABLE t", "one_statement"),
        ("SELECT load_extension('x')", "denied_function"),
        ("PRAGMA query_only = OFF", "reads_only"),
        ("ATTACH 'x.db' AS x", "reads_only"),
        ("SELECT 1 /*! x */", "parse"),
    ] {
        let error = query(&mut lent, sql, NONE).await.expect_err(sql);
        assert_eq!(error.code, "guard_refused", "{sql}");
        let found = error.context.iter().find(|(name, _)| name == "rule").expect("a rule");
        assert!(found.1 == rule || found.1 == "parse", "{sql}: {}", found.1);
    }
    let wrong = query(&mut lent, "SELECT missing FROM t", NONE).await.expect_err("no such column");
    assert_eq!(wrong.code, "upstream_failed");
    assert!(wrong.upstream.expect("in its own words").message.contains("missing"));
    assert_eq!(bench.bytes(), before);
}

#[tokio::test]
async fn a_call_has_so_many_queries() {
    let bench = Bench::new(&["CREATE TABLE t (a)"]).await;
    let mut lent = lent(&bench).await;
    for _ in 0..1_000 {
        query(&mut lent, "SELECT 1", NONE).await.expect("within the limit");
    }
    assert_eq!(query(&mut lent, "SELECT 1", NONE).await.expect_err("one too many").code, "limit_exceeded");
}
