//! Every change on a real SQLite file with the real dialect: planned, run, read back.

use std::sync::LazyLock;

use lakeport_bindings::dialect::planner::{
    AddField, AlterField, Change, CommentTable, DropField, DropTable, RenameTable, SetCount,
};
use lakeport_bindings::dialect::schema::{DefaultValue, Field};
use lakeport_physical::{Outcome, RunError, RunStatus, StatementStatus};
use lakeport_plugins::dialect::Dialect;
use proptest::prelude::*;
use sqlx::{Connection, Executor};
use tokio::runtime::Runtime;

use crate::support::{Bench, dialect_of, field, named, table};

const ORDERS: &str = "CREATE TABLE orders (id INTEGER PRIMARY KEY, total TEXT DEFAULT '0', note TEXT)";
const ROWS: &str = "INSERT INTO orders VALUES (1, '10', 'a'), (2, '20', NULL)";

fn add(table: &str, field: Field) -> Change {
    Change::AddField(AddField { current: named(table), field, behind: None })
}

fn alter(table: &str, before: &str, after: Field) -> Change {
    Change::AlterField(AlterField { current: named(table), before: field(before, "TEXT"), after })
}

fn rename(table: &str, new_name: &str) -> Change {
    Change::RenameTable(RenameTable { current: named(table), new_name: new_name.to_owned() })
}

fn drop_table(table: &str) -> Change {
    Change::DropTable(DropTable { current: named(table), at_once: true })
}

fn drop_field(table: &str, field: &str) -> Change {
    Change::DropField(DropField { current: named(table), field: field.to_owned() })
}

fn done(result: Result<Outcome, RunError>) -> Outcome {
    let outcome = result.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.status, RunStatus::Done, "{:?} {:?}", outcome.error, outcome.drift);
    assert!(outcome.drift.iter().all(|difference| difference.announced), "{:?}", outcome.drift);
    assert!(outcome.statements.iter().all(|statement| statement.status == StatementStatus::Done));
    outcome
}

fn problem(result: Result<Outcome, RunError>) -> String {
    match result {
        Err(RunError::Invalid(problems)) => format!("{} {}", problems[0].member, problems[0].code),
        other => panic!("not refused as invalid: {other:?}"),
    }
}

#[tokio::test]
async fn each_change_is_made_and_read_back() {
    let bench = Bench::new(&[ORDERS, ROWS, "CREATE TABLE other (a)"]).await;
    let mut wanted = table("items", vec![field("id", "BIGINT"), field("name", "VARCHAR(20)")]);
    wanted.fields[0].key = true;
    wanted.fields[0].nullable = false;
    wanted.fields[1].defaults_to = DefaultValue::Text("it's; --".to_owned());
    wanted.keys = vec!["id".to_owned()];
    wanted.comment = "things \"sold\"".to_owned();
    let created = done(bench.run(Change::CreateTable(wanted)).await);
    assert_eq!(created.table.expect("read back").fields.len(), 2);
    assert_eq!(created.notes[0].member, "tableComment");

    let added = done(bench.run(add("orders", field("city", "TEXT"))).await);
    assert_eq!(added.statements[0].sql, r#"ALTER TABLE "main"."orders" ADD COLUMN "city" TEXT"#);
    assert_eq!(added.statements[0].undo, [r#"ALTER TABLE "main"."orders" DROP COLUMN "city""#]);
    done(bench.run(alter("orders", "city", field("town", "TEXT"))).await);

    let mut total = field("total", "INTEGER");
    total.nullable = false;
    total.defaults_to = DefaultValue::Number("5".to_owned());
    let rebuilt = done(bench.run(alter("orders", "total", total)).await);
    assert_eq!(rebuilt.statements.len(), 4);
    assert_eq!(
        bench.query("SELECT id || ' ' || total || ' ' || typeof(total) FROM orders").await,
        ["1 10 integer", "2 20 integer"]
    );

    done(bench.run(drop_field("orders", "town")).await);
    let comment = CommentTable { current: named("orders"), comment: "sales".to_owned() };
    assert!(done(bench.run(Change::CommentTable(comment)).await).statements.is_empty());
    done(bench.run(rename("orders", "orders_deprecated_20260101000000")).await);
    let back =
        RenameTable { current: named("orders_deprecated_20260101000000"), new_name: "orders".to_owned() };
    done(bench.run(Change::RestoreTable(back)).await);
    assert_eq!(bench.query("SELECT count(*) || '' FROM orders").await, ["2"]);
    let dropped = done(bench.run(drop_table("orders")).await);
    assert!(dropped.statements[0].destroys);
    assert_eq!(
        bench.query("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1").await,
        ["items", "other"]
    );
}

#[tokio::test]
async fn a_dry_run_says_the_statements_and_changes_nothing() {
    let bench = Bench::new(&[ORDERS, ROWS]).await;
    let before = bench.bytes();
    let mut total = field("total", "INTEGER");
    total.nullable = false;
    for change in [alter("orders", "total", total), drop_table("orders"), add("orders", field("x", "TEXT"))] {
        let outcome = bench.ask(change, true).await.expect("can be planned");
        assert_eq!(outcome.status, RunStatus::Planned);
        assert!(outcome.statements.iter().all(|statement| statement.status == StatementStatus::Planned));
        assert!(!outcome.statements.is_empty());
    }
    assert_eq!(bench.bytes(), before);
}

#[tokio::test]
async fn a_failure_in_the_middle_leaves_nothing() {
    let bench = Bench::new(&[ORDERS, ROWS]).await;
    let (before, schema) = (bench.bytes(), bench.schema().await);
    let mut note = field("note", "TEXT");
    note.nullable = false;
    let outcome = bench.run(alter("orders", "note", note)).await.expect("can be tried");
    assert_eq!(outcome.status, RunStatus::TakenBack);
    let statuses: Vec<_> = outcome.statements.iter().map(|statement| statement.status).collect();
    assert_eq!(
        statuses,
        [StatementStatus::Undone, StatementStatus::Failed, StatementStatus::NotRun, StatementStatus::NotRun]
    );
    let error = outcome.error.expect("says why");
    assert!(error.message.contains("NOT NULL"), "{}", error.message);
    assert_eq!(bench.schema().await, schema);
    assert_eq!(bench.bytes(), before);
}

#[tokio::test]
async fn what_a_rebuild_would_lose_blocks_it() {
    for lost in [
        "CREATE VIEW big AS SELECT * FROM orders WHERE total > 5",
        "CREATE INDEX by_total ON orders (total)",
        "CREATE TRIGGER t AFTER INSERT ON orders BEGIN DELETE FROM other; END",
        "CREATE TABLE child (a INTEGER REFERENCES orders (id))",
    ] {
        let bench = Bench::new(&["CREATE TABLE other (a)", ORDERS, ROWS, lost]).await;
        let schema = bench.schema().await;
        let result = bench.run(alter("orders", "total", field("total", "INTEGER"))).await;
        match result {
            Err(RunError::Invalid(problems)) => assert_eq!(problems[0].code, "not_representable", "{lost}"),
            Ok(outcome) => {
                // Everything that the dialect can keep must still exist.
                assert_eq!(outcome.status, RunStatus::Done, "{lost}: {:?}", outcome.drift);
                assert_eq!(bench.schema().await.len(), schema.len(), "{lost}");
            }
            Err(error) => panic!("{lost}: {error}"),
        }
    }
}

#[tokio::test]
async fn a_large_table_keeps_all_its_rows() {
    let many = "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 100000) \
                INSERT INTO orders SELECT i, i || '', 'note ' || i FROM n";
    let bench = Bench::new(&[ORDERS, many]).await;
    let sum = "SELECT count(*) || ' ' || sum(total) || ' ' || sum(length(note)) FROM orders";
    let before = bench.query(sum).await;
    done(bench.run(alter("orders", "total", field("total", "INTEGER"))).await);
    assert_eq!(bench.query(sum).await, before);
}

#[tokio::test]
async fn what_cannot_be_is_said_before_anything_runs() {
    let bench = Bench::new(&[
        ORDERS,
        "CREATE TABLE orders_rebuild (a)",
        "CREATE TABLE taken (a)",
        "CREATE VIEW seen AS SELECT 1 AS a",
    ])
    .await;
    let before = bench.bytes();
    let twice = Change::CreateTable(table("orders", vec![field("a", "TEXT")]));
    assert!(matches!(bench.run(twice).await, Err(RunError::NameTaken(_))));
    assert!(matches!(bench.run(rename("orders", "TAKEN")).await, Err(RunError::NameTaken(_))));
    assert!(matches!(bench.run(drop_table("missing")).await, Err(RunError::NotFound(_))));
    assert!(matches!(bench.run(drop_field("orders", "missing")).await, Err(RunError::NotFound(_))));
    assert!(matches!(bench.run(drop_table("seen")).await, Err(RunError::NotATable(_))));
    let rebuild = alter("orders", "total", field("total", "INTEGER"));
    assert!(matches!(bench.run(rebuild).await, Err(RunError::NameTaken(_))));
    let buckets = Change::SetBuckets(SetCount { current: named("orders"), count: 3 });
    assert_eq!(problem(bench.run(buckets).await), "bucketNum unsupported_by_dialect");
    assert_eq!(problem(bench.run(add("orders", field("total", "TEXT"))).await), "fieldName conflict");
    assert_eq!(problem(bench.run(add("orders", field("", "TEXT"))).await), "fieldName invalid_name");
    let hostile = add("orders", field("x", "TEXT); DROP TABLE orders; --"));
    assert!(problem(bench.run(hostile).await).starts_with("fieldType "));
    assert_eq!(bench.bytes(), before);
}

#[tokio::test]
async fn a_file_that_is_not_there_is_not_made() {
    let bench = Bench::new(&[]).await;
    std::fs::remove_file(bench.path()).expect("was there");
    let change = Change::CreateTable(table("t", vec![field("a", "TEXT")]));
    match bench.run(change.clone()).await {
        Err(RunError::Database(error)) => assert_eq!(error.code, "unreachable"),
        other => panic!("{other:?}"),
    }
    assert!(!bench.path().exists());
    std::fs::write(bench.path(), "this is no database, but long enough to look at".repeat(50))
        .expect("a file");
    match bench.run(change).await {
        Err(RunError::Database(error)) => {
            assert_eq!(error.code, "upstream_failed");
            assert!(error.message.contains("not a SQLite database"), "{}", error.message);
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_locked_database_is_waited_for_and_then_said() {
    let bench = Bench::new(&[ORDERS]).await;
    let mut other = bench.connect(false).await;
    other.execute("BEGIN IMMEDIATE").await.expect("locks");
    match bench.run(add("orders", field("x", "TEXT"))).await {
        Err(RunError::Database(error)) => {
            assert_eq!(error.code, "timeout");
            assert!(error.retryable);
        }
        result => panic!("{result:?}"),
    }
    other.execute("ROLLBACK").await.expect("unlocks");
    other.close().await.expect("closes");
    done(bench.run(add("orders", field("x", "TEXT"))).await);
}

#[tokio::test]
async fn nasty_names_are_only_names() {
    let long = "x".repeat(64);
    let names =
        ["a\"b", "a'b", "a`b", "a b", "select", "表 注释", "a;b--", "[a]", "a\\", "%s", "é", &long, "/*x*/"];
    let bench = Bench::new(&[]).await;
    for name in names {
        let fields: Vec<Field> = names.iter().map(|name| field(name, "INTEGER")).collect();
        done(bench.run(Change::CreateTable(table(name, fields))).await);
        done(bench.run(add(name, field("extra \"field", "TEXT"))).await);
        let mut shorter = field("'; --", "TEXT");
        shorter.nullable = false;
        shorter.defaults_to = DefaultValue::Text(name.to_owned());
        done(bench.run(alter(name, "a\"b", shorter)).await);
        done(bench.run(drop_field(name, "select")).await);
        done(bench.run(rename(name, &format!("{name} \"2"))).await);
        done(bench.run(drop_table(&format!("{name} \"2"))).await);
    }
    assert!(bench.schema().await.is_empty());
}

fn some_field() -> impl Strategy<Value = Field> {
    let types = prop_oneof![
        Just("INTEGER"),
        Just("TEXT"),
        Just("REAL"),
        Just("VARCHAR(20)"),
        Just("DECIMAL(10,2)"),
        Just("BLOB")
    ];
    let defaults = prop_oneof![
        Just(DefaultValue::Absent),
        Just(DefaultValue::Boolean(true)),
        Just(DefaultValue::Now(0)),
        "\\PC{0,12}".prop_map(DefaultValue::Text),
        r#"['"\\\n;%a-]{0,8}"#.prop_map(DefaultValue::Text),
        any::<i32>().prop_map(|number| DefaultValue::Number(number.to_string())),
        (any::<i16>(), 0u16..1000).prop_map(|(whole, part)| DefaultValue::Number(format!("{whole}.{part}"))),
    ];
    ("[a-zA-Z\"'`;\\\\ 表é.-]{1,12}", types, any::<bool>(), defaults).prop_map(
        |(name, type_text, nullable, defaults_to)| Field {
            nullable,
            defaults_to,
            comment: "kept elsewhere".to_owned(),
            ..field(&name, type_text)
        },
    )
}

/// Compiled once for all cases.
static HOST: LazyLock<(Runtime, Dialect)> = LazyLock::new(|| {
    let runtime = Runtime::new().expect("a runtime");
    let dialect = runtime.block_on(dialect_of("plugin/dialect_sqlite.wasm"));
    (runtime, dialect)
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_asked_is_what_is_there(fields in prop::collection::vec(some_field(), 1..6), extra in some_field()) {
        let mut seen = std::collections::BTreeSet::new();
        let mut fields: Vec<Field> =
            fields.into_iter().filter(|field| seen.insert(field.name.to_lowercase())).collect();
        fields[0].key = true;
        let (runtime, dialect) = &*HOST;
        runtime.block_on(async {
            let bench = Bench::with(dialect.clone(), &[]).await;
            let name = fields[0].name.clone();
            done(bench.run(Change::CreateTable(table(&name, fields.clone()))).await);
            let rebuilt = fields.last().expect("one at least").clone();
            if !rebuilt.key {
                let after = Field { name: format!("{}2", rebuilt.name), key: false, ..extra };
                if !seen.contains(&after.name.to_lowercase()) {
                    done(bench.run(alter(&name, &rebuilt.name, after)).await);
                }
            }
        });
    }
}
