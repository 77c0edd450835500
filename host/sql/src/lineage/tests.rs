use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn written(names: &[Name]) -> Vec<&str> {
    names.iter().map(|name| name.written.as_str()).collect()
}

/// Checks the inputs and outputs of a text that is read without errors.
#[track_caller]
fn reads(dialect: &str, sql: &str, inputs: &[&str], outputs: &[&str]) {
    let found = tables(dialect, sql);
    assert_eq!(found.errors, [], "{sql}");
    assert_eq!(
        (written(&found.inputs), written(&found.outputs)),
        (inputs.to_vec(), outputs.to_vec()),
        "{sql}"
    );
}

#[test]
fn what_statements_write_and_from_what() {
    for (sql, inputs, outputs) in [
        ("INSERT INTO t SELECT * FROM a JOIN s.b ON a.x = b.x", &["a", "s.b"][..], &["t"][..]),
        ("INSERT INTO t VALUES (1), ((SELECT max(x) FROM a))", &["a"], &["t"]),
        ("CREATE TABLE t AS SELECT * FROM (SELECT * FROM a UNION SELECT * FROM b) x", &["a", "b"], &["t"]),
        ("CREATE TABLE t (a INT PRIMARY KEY, b TEXT)", &[], &["t"]),
        ("CREATE VIEW v AS SELECT * FROM a WHERE x IN (SELECT x FROM b)", &["a", "b"], &["v"]),
        ("UPDATE t SET x = a.x FROM a WHERE a.id = t.id", &["a"], &["t"]),
        ("UPDATE t SET x = (SELECT max(x) FROM t)", &["t"], &["t"]),
        ("DELETE FROM t WHERE EXISTS (SELECT 1 FROM a WHERE a.id = t.id)", &["a"], &["t"]),
        ("MERGE INTO t USING a ON t.id = a.id WHEN MATCHED THEN UPDATE SET x = a.x", &["a"], &["t"]),
        ("SELECT a.x, (SELECT 1 FROM b) FROM a, LATERAL (SELECT * FROM c) l", &["b", "a", "c"], &[]),
        ("TABLE a UNION TABLE b", &["a", "b"], &[]),
        ("SELECT 1", &[], &[]),
    ] {
        reads("ansi", sql, inputs, outputs);
    }
}

#[test]
fn forms_of_single_dialects() {
    for (dialect, sql, inputs, outputs) in [
        ("postgres", "DELETE FROM t USING a WHERE a.id = t.id", &["a"][..], &["t"][..]),
        ("postgres", "WITH d AS (DELETE FROM a RETURNING *) INSERT INTO t SELECT * FROM d", &[], &["a", "t"]),
        ("postgres", "SELECT * FROM ONLY a, generate_series(1, 3) g, unnest(ARRAY[1]) u", &["a"], &[]),
        ("postgres", "COPY t FROM '/tmp/x.csv' WITH (FORMAT csv)", &[], &["t"]),
        ("postgres", "COPY a TO STDOUT", &["a"], &[]),
        ("mysql", "UPDATE a JOIN t ON a.id = t.id SET t.x = a.x", &["a"], &["t"]),
        ("mysql", "DELETE x FROM t x JOIN a ON a.id = x.id", &["a"], &["t"]),
        ("mysql", "REPLACE INTO `d`.`t` SELECT * FROM a, dual", &["a"], &["d.t"]),
        ("mysql", "LOAD DATA LOCAL INFILE 'x' INTO TABLE t FIELDS TERMINATED BY ','", &[], &["t"]),
        ("sqlite", "INSERT OR REPLACE INTO main.t SELECT * FROM a, json_each(a.list)", &["a"], &["main.t"]),
        (
            "doris",
            "INSERT OVERWRITE TABLE t PARTITION(p1, p2) WITH LABEL l (x, y) SELECT x, y FROM d.a",
            &["d.a"],
            &["t"],
        ),
        ("doris", "INSERT INTO t WITH LABEL `l` WITH c AS (SELECT * FROM a) SELECT * FROM c", &["a"], &["t"]),
        ("doris", "SELECT /*+ SET_VAR(x = 1) */ * FROM a JOIN [shuffle] b ON a.x = b.x", &["a", "b"], &[]),
        ("doris", "SELECT k, e FROM a LATERAL VIEW explode_split(v, ',') tmp AS e WHERE k > 1", &["a"], &[]),
        (
            "doris",
            "CREATE TABLE t (k INT) DUPLICATE KEY(k) COMMENT 'x' PARTITION BY RANGE(k) () \
             DISTRIBUTED BY HASH(k) BUCKETS AUTO PROPERTIES ('replication_num' = '1')",
            &[],
            &["t"],
        ),
        ("doris", "CREATE TABLE t PROPERTIES ('replication_num' = '1') AS SELECT * FROM a", &["a"], &["t"]),
        (
            "doris",
            "CREATE MATERIALIZED VIEW v BUILD IMMEDIATE REFRESH AUTO ON SCHEDULE EVERY 1 DAY \
             DISTRIBUTED BY RANDOM BUCKETS 2 AS SELECT * FROM a",
            &["a"],
            &["v"],
        ),
        ("doris", "ADMIN SHOW REPLICA STATUS FROM t; TRUNCATE TABLE t; ANALYZE TABLE t", &[], &[]),
        ("starrocks", "SUBMIT TASK x AS INSERT INTO t SELECT * FROM a", &["a"], &["t"]),
        (
            "hive",
            "FROM a INSERT OVERWRITE TABLE t SELECT x INSERT INTO TABLE u PARTITION (d='1') SELECT y",
            &["a"],
            &["t", "u"],
        ),
        ("hive", "INSERT OVERWRITE TABLE t PARTITION (dt='1') IF NOT EXISTS SELECT * FROM a", &["a"], &["t"]),
        ("tsql", "INSERT INTO t SELECT * FROM a SELECT * INTO u FROM b", &["a", "b"], &["t", "u"]),
        ("tsql", "UPDATE x SET x.n += 1 FROM t AS x JOIN a ON a.id = x.id", &["a"], &["t"]),
        ("bigquery", "SELECT * FROM a, a.items, UNNEST(a.more) m", &["a"], &[]),
    ] {
        reads(dialect, sql, inputs, outputs);
    }
}

#[test]
fn cte_names_are_not_tables() {
    for (sql, inputs) in [
        ("WITH a AS (SELECT * FROM a) SELECT * FROM a", &["a"][..]),
        ("WITH x AS (SELECT * FROM a), y AS (SELECT * FROM x) SELECT * FROM y", &["a"]),
        ("WITH x AS (SELECT * FROM y), y AS (SELECT 1) SELECT * FROM x, y", &["y"]),
        ("SELECT * FROM (WITH x AS (SELECT * FROM a) SELECT * FROM x) q, x", &["a", "x"]),
        ("WITH RECURSIVE x AS (SELECT 1 UNION SELECT n + 1 FROM x) SELECT * FROM x, d.x", &["d.x"]),
        ("WITH x AS (SELECT 1) SELECT * FROM a WHERE n IN (SELECT n FROM X)", &["a"]),
    ] {
        reads("postgres", sql, inputs, &[]);
    }
}

#[test]
fn intermediate_tables_are_no_inputs() {
    for (sql, inputs, outputs) in [
        (
            "CREATE TABLE x AS SELECT * FROM a; INSERT INTO t SELECT * FROM x; DROP TABLE x",
            &["a"][..],
            &["t"][..],
        ),
        ("INSERT INTO x SELECT * FROM a; INSERT INTO t SELECT * FROM x", &["a"], &["x", "t"]),
        ("CREATE TEMPORARY TABLE x AS SELECT * FROM a; INSERT INTO t SELECT * FROM x", &["a"], &["t"]),
        ("DROP TABLE IF EXISTS t; CREATE TABLE t AS SELECT * FROM a", &["a"], &["t"]),
        ("CREATE TABLE IF NOT EXISTS x (n INT); INSERT INTO t SELECT * FROM x", &["x"], &["x", "t"]),
        ("UPDATE x SET n = 1; INSERT INTO t SELECT * FROM x", &["x"], &["x", "t"]),
        (
            "CREATE TABLE n AS SELECT * FROM a; ALTER TABLE t RENAME TO o; ALTER TABLE n RENAME TO t; DROP TABLE o",
            &["a"],
            &["t"],
        ),
        ("INSERT INTO t SELECT * FROM A; INSERT INTO T SELECT * FROM a", &["A"], &["t"]),
    ] {
        reads("postgres", sql, inputs, outputs);
    }
    reads("mysql", "INSERT INTO x SELECT * FROM a; RENAME TABLE x TO d.y, p TO q", &["a"], &["d.y"]);
    reads("doris", "INSERT INTO n SELECT * FROM a; ALTER TABLE t REPLACE WITH TABLE n", &["a"], &["t"]);
    reads("doris", "INSERT INTO n SELECT * FROM a; ALTER TABLE n RENAME t", &["a"], &["t"]);
}

#[test]
fn dropping_an_existing_table_warns() {
    let found = tables(
        "sqlite",
        "insert into t select * from orders; drop table orders; drop table if exists p, main.q",
    );
    assert_eq!((written(&found.inputs), written(&found.outputs)), (vec!["orders"], vec!["t"]));
    let told: Vec<&str> = found.warnings.iter().filter_map(|warning| warning.split('`').nth(1)).collect();
    assert_eq!(told, ["orders", "p", "main.q"], "{:?}", found.warnings);
    assert_eq!(tables("sqlite", "INSERT INTO t VALUES (1); DROP TABLE t").warnings.len(), 1);
    for sql in [
        "DROP TABLE IF EXISTS t; CREATE TABLE t AS SELECT * FROM a",
        "DROP VIEW IF EXISTS x; CREATE VIEW x AS SELECT * FROM a; INSERT INTO t SELECT * FROM x; DROP VIEW x",
        "CREATE TABLE n AS SELECT * FROM a; ALTER TABLE t RENAME TO o; ALTER TABLE n RENAME TO t; DROP TABLE o",
        "CREATE TEMP TABLE x AS SELECT * FROM a; DROP TABLE x",
        "DROP INDEX i; DROP TRIGGER r",
    ] {
        assert_eq!(tables("sqlite", sql).warnings, [""; 0], "{sql}");
    }
}

#[test]
fn the_database_in_use_is_that_of_names_without_one() {
    let found = tables("doris", "USE dw; INSERT INTO t SELECT * FROM ods.a; USE x; SELECT * FROM t");
    let schemas = |names: &[Name]| names.iter().map(|name| name.schema.clone()).collect::<Vec<_>>();
    assert_eq!(schemas(&found.outputs), [Some("dw".to_owned())]);
    assert_eq!(schemas(&found.inputs), [Some("ods".to_owned()), Some("x".to_owned())]);
    assert_eq!(written(&found.outputs), ["t"]);
}

#[test]
fn parts_of_a_name_are_separated() {
    let found = tables("doris", "SELECT * FROM internal.`my db`.`t.1`");
    let expected = Name {
        catalog: Some("internal".to_owned()),
        schema: Some("my db".to_owned()),
        table: "t.1".to_owned(),
        written: "internal.my db.t.1".to_owned(),
    };
    assert_eq!(found.inputs, [expected]);
}

#[test]
fn unparsable_statements_are_reported_with_position() {
    let found = tables(
        "sqlite",
        "INSERT INTO t SELECT * FROM a;\n  SELEC 1;\nINSERT INTO u SELECT * FROM b\n  WHERE;",
    );
    assert_eq!((written(&found.inputs), written(&found.outputs)), (vec!["a"], vec!["t"]));
    let places: Vec<_> = found.errors.iter().map(|error| (error.line, error.column)).collect();
    assert_eq!(places, [(2, 3), (4, 8)], "{:?}", found.errors);
    let found = tables("sqlite", "INSERT INTO t SELECT * FROM a;\nSELECT 'open FROM b");
    assert_eq!(written(&found.outputs), ["t"]);
    assert_eq!((found.errors.len(), found.errors[0].line), (1, 2));
}

#[test]
fn an_unknown_dialect_is_read_as_ansi_with_a_warning() {
    let found = tables("klingon", "SELECT * FROM a");
    assert_eq!((written(&found.inputs), found.warnings.len()), (vec!["a"], 1));
    assert_eq!(tables("ansi", "SELECT * FROM a").warnings, [] as [String; 0]);
}

#[test]
fn parameters_may_replace_any_value() {
    let sql = "INSERT INTO t SELECT ${n}, '$[yyyy-MM-dd]', '${system.biz.date}' FROM a\n\
               WHERE d = ${d} AND e >= $[yyyyMMdd-1] LIMIT ${most}; SELECT ${x} ${y} ${z}; SELECT * FROM b_${d}, `c_${d}`";
    let found = tables("mysql", sql);
    assert_eq!((written(&found.inputs), written(&found.outputs)), (vec!["a"], vec!["t"]));
    assert_eq!(found.errors.iter().map(|error| (error.line, error.column)).collect::<Vec<_>>(), [(2, 71)]);
    assert_eq!(found.warnings.len(), 2, "{:?}", found.warnings);
    reads("mysql", "SELECT '${open' FROM a WHERE b = '}'", &["a"], &[]);
}

#[test]
fn procedure_bodies_count_trigger_bodies_do_not() {
    reads(
        "mysql",
        "CREATE PROCEDURE p() BEGIN IF x THEN INSERT INTO t SELECT * FROM a; ELSE DELETE FROM u; END IF; END; \
         CREATE TRIGGER r AFTER INSERT ON b FOR EACH ROW BEGIN INSERT INTO log SELECT * FROM c; END; SELECT * FROM d",
        &["a", "d"],
        &["t", "u"],
    );
    reads(
        "mysql",
        "CREATE TABLE task (id INT); CREATE TABLE job AS SELECT * FROM proc",
        &["proc"],
        &["task", "job"],
    );
    reads("postgres", "BEGIN; INSERT INTO t SELECT * FROM a; COMMIT", &["a"], &["t"]);
}

#[test]
fn a_body_ends_with_its_own_end_and_no_other() {
    for (dialect, body) in [
        (
            "mysql",
            "CREATE TRIGGER r AFTER INSERT ON b FOR EACH ROW BEGIN IF NEW.x THEN SET @a=1; END IF; \
          INSERT INTO log SELECT * FROM c; END",
        ),
        (
            "mysql",
            "CREATE FUNCTION f() RETURNS INT BEGIN l: LOOP BEGIN DELETE FROM x; END; LEAVE l; END LOOP l; \
          CASE WHEN 1 THEN DELETE FROM y; END CASE; RETURN (SELECT CASE WHEN 1 THEN n END FROM c); END",
        ),
        (
            "sqlite",
            "CREATE TRIGGER r AFTER INSERT ON b BEGIN UPDATE c SET n = CASE WHEN n THEN 1 END; DELETE FROM x; END",
        ),
        ("tsql", "CREATE TRIGGER r ON b AFTER INSERT AS BEGIN INSERT INTO log SELECT * FROM c END"),
        (
            "tsql",
            "CREATE TRIGGER r ON b AFTER INSERT AS SET NOCOUNT ON INSERT INTO log SELECT * FROM c\nGO\n",
        ),
    ] {
        reads(dialect, &format!("{body}; SELECT * FROM d"), &["d"], &[]);
    }
}

#[test]
fn statements_of_tsql_need_nothing_between_them() {
    let insert = "INSERT INTO a SELECT * FROM b";
    for before in [
        "SET NOCOUNT ON\n",
        "SET NOCOUNT ON SET XACT_ABORT ON ",
        "TRUNCATE TABLE a\n",
        "DROP TABLE IF EXISTS x\n",
        "USE db\nGO\n",
        "PRINT 'x'\nGO 5\n",
        "DECLARE @n INT = (SELECT 1), @m INT\n",
        "BEGIN TRAN\n",
        "EXEC p @n = 1, @m = 'INSERT'\n",
        "GRANT SELECT, INSERT ON a TO x\n",
        "ALTER TABLE x ADD CONSTRAINT f FOREIGN KEY (n) REFERENCES y (n) ON DELETE CASCADE ON UPDATE NO ACTION\n",
        "ALTER TABLE x\nDROP COLUMN n\n",
        "CREATE INDEX i ON x (n)\n",
        "IF OBJECT_ID('x') IS NOT NULL\n  DROP TABLE x\n",
        "CREATE PROC p AS\nBEGIN\nSET NOCOUNT ON\n",
    ] {
        reads("tsql", &format!("{before}{insert}"), &["b"], &["a"]);
        reads("tsql", &format!("{before}{insert}\nSET NOCOUNT OFF\nPRINT 'x'\n{insert}"), &["b"], &["a"]);
    }
    for (sql, inputs, outputs) in [
        ("SET NOCOUNT ON WITH x AS (SELECT * FROM b) INSERT INTO a SELECT * FROM x", &["b"][..], &["a"][..]),
        ("INSERT INTO a SELECT * FROM b\nGO\nINSERT INTO c SELECT * FROM d", &["b", "d"], &["a", "c"]),
        ("BEGIN TRAN\nUPDATE a\nSET n = 1\nFROM b\nWHERE a.n = b.n\nCOMMIT", &["b"], &["a"]),
        (
            "SET NOCOUNT ON\nMERGE INTO a USING b ON a.n = b.n\nWHEN MATCHED\nTHEN\nUPDATE SET m = b.m\n\
             WHEN NOT MATCHED THEN INSERT (n) VALUES (b.n);",
            &["b"],
            &["a"],
        ),
        (
            "IF @x = 1\nBEGIN\n  INSERT INTO a SELECT * FROM b\nEND\nELSE\n  DELETE FROM c",
            &["b"],
            &["a", "c"],
        ),
        ("DROP TABLE x CREATE TABLE a (n INT)\nSELECT * FROM b", &["b"], &["a"]),
    ] {
        reads("tsql", sql, inputs, outputs);
    }
    let found =
        tables("tsql", "SET NOCOUNT ON\nINSERT INTO a SELECT * FROM b\nEND\nINSERT INTO SELECT\nPRINT 'x'");
    assert_eq!((written(&found.inputs), written(&found.outputs)), (vec!["b"], vec!["a"]));
    assert_eq!(found.errors.iter().map(|error| error.line).collect::<Vec<_>>(), [4], "{:?}", found.errors);
}

#[test]
fn too_long_or_deep_sql_is_refused() {
    let nested = format!("SELECT {}1{}", "(".repeat(500), ")".repeat(500));
    let joined = format!("SELECT * FROM a{}", " JOIN a".repeat(50_000));
    let long = format!("SELECT 1{} FROM a", "+1".repeat(60_000));
    let huge = format!("SELECT '{}'", "x".repeat(TEXT_MAX_BYTES));
    for (dialect, sql) in
        ["postgres", "mysql", "sqlite"].iter().flat_map(|d| [&nested, &joined, &long, &huge].map(|s| (d, s)))
    {
        assert_eq!(tables(dialect, sql).errors.len(), 1, "{:.40}", sql);
    }
    for deep in ["+1", " IS NULL", "::int", ".b", " UNION SELECT 1"] {
        let sql = format!("SELECT a{} FROM a", deep.repeat(24_000));
        for dialect in ["postgres", "mysql", "sqlite"] {
            assert!(tables(dialect, &sql).errors.len() < 2);
        }
    }
    let found = tables("sqlite", &"x;".repeat(1_000));
    assert_eq!((found.errors.len(), found.warnings.len()), (ERRORS_MAX, 1));
}

/// Uses the public cases if they lie beside the repository.
#[test]
fn most_of_the_public_cases_are_read_as_they_say() {
    const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/sql-lineage/cases.json");
    /// Percent.
    const SHARE_MIN: usize = 92;
    let Ok(text) = std::fs::read_to_string(CASES) else {
        eprintln!("NOT TESTED on the public cases: {CASES} is not there");
        return;
    };
    let cases: Vec<serde_json::Value> = serde_json::from_str(&text).expect("a list of cases");
    let set = |names: &serde_json::Value| -> BTreeSet<String> {
        let names = names.as_array().expect("a list").iter();
        names.map(|name| name.as_str().expect("a name").to_lowercase()).collect()
    };
    let found_set = |names: &[Name]| -> BTreeSet<String> {
        names.iter().map(|name| name.written.to_lowercase()).collect()
    };
    let (mut all, mut agreeing) = (0, 0);
    for case in &cases {
        let [sql, dialect, kind] =
            ["sql", "dialect", "kind"].map(|member| case[member].as_str().expect("a text"));
        let found = tables(dialect, sql);
        if kind == "column" {
            assert_eq!(found.errors, [], "{sql}");
            continue;
        }
        all += 1;
        if found_set(&found.inputs) == set(&case["sources"])
            && found_set(&found.outputs) == set(&case["targets"])
        {
            agreeing += 1;
        } else {
            println!("{dialect}: {sql}\n  {:?}\n", (&case["sources"], &case["targets"], &found));
        }
    }
    println!("{agreeing} of {all} cases agree");
    assert!(agreeing * 100 >= all * SHARE_MIN, "{agreeing} of {all}");
}

/// Fragments of statements in any order.
fn soup() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        "SELECT",
        "FROM",
        "INSERT",
        "INTO",
        "OVERWRITE",
        "TABLE",
        "WITH",
        "AS",
        "UPDATE",
        "SET",
        "DELETE",
        "USING",
        "MERGE",
        "WHEN",
        "MATCHED",
        "THEN",
        "CREATE",
        "VIEW",
        "DROP",
        "ALTER",
        "RENAME",
        "TO",
        "SWAP",
        "LATERAL",
        "VIEW",
        "JOIN",
        "ON",
        "ONLY",
        "(",
        ")",
        "(",
        ")",
        ",",
        ".",
        ";",
        ";",
        "=",
        "*",
        "a",
        "b",
        "`c",
        "\"d\"",
        "'e'",
        "'",
        "[",
        "]",
        "$$",
        "${x}",
        "$[d]",
        "/*",
        "*/",
        "--",
        "\n",
        "1",
        "::",
        "+",
        "@v",
        "#t",
        "BEGIN",
        "END",
        "IF",
        "EXISTS",
        "PROCEDURE",
        "TRIGGER",
        "CACHE",
        "LOAD",
        "USE",
        "UNION",
        "VALUES",
        "PARTITION",
        "LIKE",
        "GO",
        "CASE",
        "SET",
        "é",
        "\u{0}",
    ];
    proptest::collection::vec((0..WORDS.len(), any::<bool>()), 0..60).prop_map(|picks| {
        picks.iter().map(|(at, blank)| format!("{}{}", WORDS[*at], if *blank { " " } else { "" })).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_comes_in_it_answers(sql in soup(), dialect in prop::sample::select(vec![
        "ansi", "sqlite", "postgres", "doris", "hive", "databricks", "tsql", "bigquery", "snowflake", "oracle",
        "clickhouse", "duckdb", "redshift", "teradata", "none",
    ])) {
        let found = tables(dialect, &sql);
        for error in &found.errors {
            prop_assert!(error.line >= 1 && error.column >= 1);
        }
        for name in found.inputs.iter().chain(&found.outputs) {
            prop_assert!(!name.written.is_empty());
        }
    }

    #[test]
    fn whatever_text_comes_in_it_answers(sql in any::<String>()) {
        tables("ansi", &sql);
    }
}
