use super::*;

fn words(losses: &BTreeSet<String>) -> Vec<&str> {
    losses.iter().map(String::as_str).collect()
}

/// The losses of the table, then those of each column by name.
fn losses(sql: &str) -> Vec<String> {
    let text = read(sql).unwrap_or_else(|| panic!("{sql} is not understood"));
    let columns = text
        .columns
        .iter()
        .flat_map(|column| column.losses.iter().map(move |loss| format!("{}: {loss}", column.name)));
    text.losses.iter().cloned().chain(columns).collect()
}

#[test]
fn a_plain_table_loses_nothing() {
    for sql in [
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT NOT NULL DEFAULT 'x, (y)', c)",
        "CREATE TABLE \"main\".\"t\" (\"a b\" DECIMAL(10,2) DEFAULT -1.5, [c] DOUBLE PRECISION NULL)",
        "CREATE TABLE 't' ('a' INT, b INT DEFAULT (1 + (2)), PRIMARY KEY (a, \"b\" ASC))",
        "CREATE TABLE t(a int primary key asc not null default CURRENT_TIMESTAMP)",
        "CREATE TABLE t(\n  a \"weird type\" 'more',\n  b\n)",
    ] {
        assert_eq!(losses(sql), [""; 0], "{sql}");
    }
}

#[test]
fn whatever_would_be_lost_is_named_where_it_stands() {
    for (sql, expected) in [
        ("CREATE TABLE t (a CHECK (a > ')'), b)", vec!["a: CHECK"]),
        ("CREATE TABLE t (a UNIQUE ON CONFLICT REPLACE)", vec!["a: UNIQUE"]),
        ("CREATE TABLE t (a TEXT COLLATE NOCASE NOT NULL)", vec!["a: COLLATE"]),
        (
            "CREATE TABLE t (a REFERENCES p (id) ON DELETE SET NULL ON UPDATE NO ACTION MATCH FULL NOT DEFERRABLE INITIALLY IMMEDIATE NOT NULL)",
            vec!["a: REFERENCES"],
        ),
        ("CREATE TABLE t (a INTEGER PRIMARY KEY AUTOINCREMENT)", vec!["a: AUTOINCREMENT"]),
        ("CREATE TABLE t (a INTEGER PRIMARY KEY DESC)", vec!["a: a key in descending order"]),
        ("CREATE TABLE t (a PRIMARY KEY ON CONFLICT IGNORE)", vec!["a: ON CONFLICT"]),
        ("CREATE TABLE t (a NOT NULL ON CONFLICT FAIL)", vec!["a: ON CONFLICT"]),
        ("CREATE TABLE t (a CONSTRAINT c NOT NULL)", vec!["a: a named constraint"]),
        ("CREATE TABLE t (a, b AS (a || ',')  STORED, c)", vec!["b: a generated column"]),
        (
            "CREATE TABLE t (a INT DEFAULT 1 SPARSE COLUMN (x, y), b)",
            vec!["a: words that are not understood"],
        ),
        ("CREATE TABLE t (a, PRIMARY KEY (a DESC))", vec!["a key in descending order"]),
        (
            "CREATE TABLE t (a, PRIMARY KEY (a COLLATE NOCASE) ON CONFLICT ROLLBACK)",
            vec!["COLLATE", "ON CONFLICT"],
        ),
        (
            "CREATE TABLE t (a, b, UNIQUE (a, b) CHECK (a <> b), CONSTRAINT f FOREIGN KEY (a) REFERENCES p)",
            vec!["CHECK", "FOREIGN KEY", "UNIQUE", "a named constraint"],
        ),
        ("CREATE TABLE t (a, EXCLUDE USING gist (a))", vec![]),
        ("CREATE TABLE t (a PRIMARY KEY) WITHOUT ROWID, STRICT", vec!["STRICT", "WITHOUT ROWID"]),
        ("CREATE TABLE t (a -- the first\n)", vec!["comments in its CREATE statement"]),
        ("CREATE TABLE t (a /* , b */)", vec!["comments in its CREATE statement"]),
    ] {
        if sql.contains("EXCLUDE") {
            // To SQLite, and so here, this is a column EXCLUDE of the type `USING gist(a)`.
            assert_eq!(read(sql).unwrap().columns.len(), 2);
            continue;
        }
        assert_eq!(losses(sql), expected, "{sql}");
    }
}

#[test]
fn a_generated_column_keeps_its_expression() {
    let text = read("CREATE TABLE t (a, b INT GENERATED ALWAYS AS ( length(a) + (1) ) VIRTUAL)").unwrap();
    assert_eq!(text.columns[1].generated.as_deref(), Some("length(a) + (1)"));
    assert_eq!(words(&text.columns[1].losses), ["a generated column"]);
    assert!(text.columns[0].losses.is_empty());
}

#[test]
fn what_is_not_a_table_is_not_understood() {
    for sql in [
        "",
        "CREATE",
        "CREATE TABLE t",
        "CREATE TABLE t (",
        "CREATE TABLE t (a",
        "CREATE TABLE t (a))",
        "CREATE TABLE t (a) ENGINE",
        "CREATE TABLE t (a CHECK (a)",
        "CREATE TABLE t (a DEFAULT)",
        "CREATE TABLE t (a 'open)",
        "CREATE VIRTUAL TABLE t USING fts5(a)",
        "CREATE VIEW t AS SELECT 1",
        "CREATE TABLE t (a REFERENCES p ON DELETE EXPLODE)",
        "CREATE TABLE t (,)",
        "CREATE TABLE t ()",
        "CREATE TABLE t AS SELECT 1",
    ] {
        assert_eq!(read(sql), None, "{sql}");
    }
}

#[test]
fn truncated_statements_do_not_panic() {
    let sql = "CREATE TABLE \"é\" (a INTEGER PRIMARY KEY, b DEFAULT ('x' || \"y\"), CHECK (a > 0), FOREIGN KEY (a) REFERENCES p ON DELETE CASCADE) STRICT";
    assert!(read(sql).is_some());
    for (at, _) in sql.char_indices() {
        let _ = read(&sql[..at]);
    }
}

#[test]
fn renaming_changes_nothing_that_is_said() {
    let said = |sql: &str| {
        let text = read(sql).unwrap();
        (text.losses, text.columns.into_iter().map(|column| column.losses).collect::<Vec<_>>())
    };
    assert_eq!(
        said("CREATE TABLE t (a CHECK (a > 0), b REFERENCES t, UNIQUE (a, b))"),
        said("CREATE TABLE \"u\" (\"c\" CHECK (\"c\" > 0), b REFERENCES \"u\", UNIQUE (\"c\", b))")
    );
}
