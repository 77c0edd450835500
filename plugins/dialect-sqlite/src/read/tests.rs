use std::collections::BTreeMap;

use lakeport_sdk::dialect::{Cell, Column, DefaultValue, Fragment, Table};
use lakeport_sdk::serde_json::{Value, from_str};

use super::*;

fn rows(columns: &[&str], rows: Vec<Vec<Cell>>) -> RowSet {
    let column = |name: &&str| Column { name: (*name).to_owned(), type_text: String::new() };
    RowSet { columns: columns.iter().map(column).collect(), rows, truncated: false }
}

fn text(value: &str) -> Cell {
    Cell::Text(value.to_owned())
}

fn int(value: i64) -> Cell {
    Cell::Integer(value)
}

const FIELD: [&str; 7] = ["table_name", "name", "type", "not_null", "default_text", "key_part", "hidden"];
const INDEX: [&str; 5] = ["table_name", "index_name", "is_unique", "origin", "partial"];
const FOREIGN_KEY: [&str; 4] = ["child", "parent", "on_update", "on_delete"];
const REFERENCE: [&str; 6] = ["child", "number", "field", "parent", "key", "is_unique"];
const USER: [&str; 4] = ["name", "kind", "table_name", "sql"];

/// SQLite's answers for a file with the table `orders`, created by this statement, with the fields `day` and
/// `id`, the latter being the key.
fn answers(sql: &str) -> Answers {
    let fields = rows(
        &FIELD,
        vec![
            vec![text("orders"), text("day"), text("TEXT"), int(1), text("'today'"), int(2), int(0)],
            vec![text("orders"), text("id"), text("INTEGER"), int(0), Cell::Null, int(1), int(0)],
        ],
    );
    Answers {
        heads: rows(&["name", "kind", "sql"], vec![vec![text("orders"), text("table"), text(sql)]]),
        indexes: rows(&INDEX, Vec::new()),
        foreign_keys: rows(&FOREIGN_KEY, Vec::new()),
        references: rows(&REFERENCE, Vec::new()),
        parents: rows(&["name"], Vec::new()),
        users: rows(&USER, Vec::new()),
        fields: BTreeMap::from([("orders".to_owned(), Ok(fields))]),
    }
}

const PLAIN: &str =
    "CREATE TABLE orders (day TEXT NOT NULL DEFAULT 'today', id INTEGER, PRIMARY KEY (id, day))";

fn orders(answers: &Answers) -> Table {
    tables_of(&[TableName::new("main", "orders")], answers).remove(0).unwrap()
}

fn extra(table: &Table) -> Value {
    from_str(table.extra.as_deref().unwrap()).unwrap()
}

#[test]
fn a_plain_table_may_be_rebuilt() {
    let table = orders(&answers(PLAIN));
    assert_eq!(table.keys, ["id", "day"]);
    assert_eq!(table.kind, "table");
    let day = &table.fields[0];
    assert_eq!((day.type_text.as_str(), day.nullable, day.key), ("TEXT", false, true));
    assert_eq!(day.defaults_to, DefaultValue::Text("today".to_owned()));
    assert_eq!(table.fields[1].defaults_to, DefaultValue::Absent);
    assert_eq!(day.extra, None);
    assert_eq!(extra(&table)["rebuild"], Value::Null);
}

#[test]
fn what_must_not_be_lost_stands_in_extra() {
    let mut given = answers("CREATE TABLE orders (day TEXT COLLATE NOCASE, id INTEGER, CHECK (id > 0))");
    given.indexes = rows(
        &INDEX,
        vec![
            vec![text("orders"), text("by_day"), int(1), text("c"), int(1)],
            vec![text("orders"), text("sqlite_autoindex_orders_2"), int(1), text("u"), int(0)],
            vec![text("orders"), text("sqlite_autoindex_orders_1"), int(1), text("pk"), int(0)],
            vec![text("others"), text("not_ours"), int(0), text("c"), int(0)],
        ],
    );
    given.foreign_keys = rows(
        &FOREIGN_KEY,
        vec![
            vec![text("orders"), text("ORDERS"), text("NO ACTION"), text("CASCADE")],
            vec![text("lines"), text("Orders"), text("NO ACTION"), text("CASCADE")],
            vec![text("lines"), text("Orders"), text("NO ACTION"), text("NO ACTION")],
        ],
    );
    given.users = rows(
        &USER,
        vec![
            vec![
                text("report"),
                text("view"),
                text("report"),
                text("CREATE VIEW report AS SELECT * FROM \"Orders\""),
            ],
            vec![
                text("other"),
                text("view"),
                text("other"),
                text("CREATE VIEW other AS SELECT * FROM orders_old"),
            ],
            vec![text("guard"), text("trigger"), text("orders"), text("CREATE TRIGGER guard …")],
            vec![
                text("far"),
                text("trigger"),
                text("x"),
                text("CREATE TRIGGER far AFTER INSERT ON x BEGIN DELETE FROM orders; END"),
            ],
        ],
    );
    let table = orders(&given);
    let extra = extra(&table);
    for (member, expected) in [
        ("constraints", r#"["CHECK"]"#),
        ("indexes", r#"["by_day (unique) (partial)","of a UNIQUE constraint (unique)"]"#),
        ("foreignKeys", r#"["itself (on delete CASCADE, on update NO ACTION)"]"#),
        ("referencedBy", r#"["lines"]"#),
        ("triggers", r#"["guard"]"#),
        ("mentionedBy", r#"["far","report"]"#),
    ] {
        assert_eq!(extra[member].to_string(), expected, "{member}");
    }
    assert!(extra["rebuild"].is_string());
    assert_eq!(table.fields[0].extra.as_deref(), Some(r#"{"constraints":["COLLATE"]}"#));
}

#[test]
fn foreign_keys_of_one_field_are_references() {
    let mut given = answers(PLAIN);
    let key = |child: &str, number: i64, field: &str, parent: &str, key: &str, is_unique: i64| {
        vec![text(child), int(number), text(field), text(parent), text(key), int(is_unique)]
    };
    given.references = rows(
        &REFERENCE,
        vec![
            key("orders", 0, "id", "CUSTOMER", "no", 1),
            key("orders", 1, "day", "pair", "a", 0),
            key("orders", 1, "id", "pair", "b", 0),
            key("orders", 2, "day", "customer", "nick", 0),
            key("orders", 3, "day", "gone", "x", 1),
            key("lines", 0, "id", "customer", "no", 1),
        ],
    );
    given.parents = rows(&["name"], ["Customer", "pair"].map(|name| vec![text(name)]).to_vec());
    let expected = json!([{"field": "id", "database": "main", "table": "Customer", "key": "no"}]);
    assert_eq!(extra(&orders(&given))["references"], expected);
    assert_eq!(extra(&orders(&answers(PLAIN)))["references"], Value::Null);
}

#[test]
fn a_mismatched_create_statement_is_not_understood() {
    for sql in [
        "",
        "CREATE TABLE orders (day, id, more)",
        "CREATE TABLE orders (id, day)",
        "CREATE TABLE orders (day, id) NONSENSE",
    ] {
        assert!(extra(&orders(&answers(sql)))["rebuild"].is_string(), "{sql}");
    }
}

#[test]
fn a_truncated_view_list_blocks_rebuilds() {
    let mut given = answers(PLAIN);
    given.users.truncated = true;
    assert!(extra(&orders(&given))["rebuild"].is_string());
}

#[test]
fn generated_and_hidden_columns_are_distinguished() {
    let mut given = answers("CREATE TABLE orders (a TEXT, b INT AS (length(a)) STORED)");
    let fields = rows(
        &FIELD,
        vec![
            vec![text("orders"), text("a"), text("TEXT"), int(0), Cell::Null, int(0), int(0)],
            vec![text("orders"), text("b"), text("INT"), int(0), Cell::Null, int(0), int(3)],
        ],
    );
    given.fields.insert("orders".to_owned(), Ok(fields.clone()));
    let table = orders(&given);
    assert_eq!(table.fields[0].generated, None);
    assert_eq!(table.fields[1].generated.as_deref(), Some("length(a)"));

    given.heads.rows[0][2] = text("CREATE VIRTUAL TABLE orders USING fts5(a)");
    let mut hidden = fields;
    hidden.rows[1][6] = int(1);
    given.fields.insert("orders".to_owned(), Ok(hidden));
    let table = orders(&given);
    assert_eq!((table.kind.as_str(), table.fields.len(), table.extra), ("external", 1, None));
}

#[test]
fn missing_tables_keep_their_position() {
    let mut given = answers(PLAIN);
    given.heads.rows.push(vec![
        text("broken"),
        text("view"),
        text("CREATE VIEW broken AS SELECT * FROM gone"),
    ]);
    given.fields.insert("broken".to_owned(), Err(Error::upstream_failed("no such table: main.gone")));
    let asked = [("main", "gone"), ("main", "broken"), ("main", "orders"), ("temp", "orders")]
        .map(|(database, name)| TableName::new(database, name));
    let codes: Vec<String> = tables_of(&asked, &given)
        .into_iter()
        .map(|table| table.map_or_else(|error| error.code, |table| table.name.name))
        .collect();
    assert_eq!(codes, ["not_found", "upstream_failed", "orders", "not_found"]);
}

#[test]
fn a_page_of_tables_goes_on_behind_its_last_name() {
    let page = |limit, truncated| {
        let names = vec![
            vec![text("a"), text("table")],
            vec![text("b"), text("virtual")],
            vec![text("c"), text("view")],
        ];
        page_of(&RowSet { truncated, ..rows(&["name", "kind"], names) }, limit).unwrap()
    };
    let all = page(3, false);
    assert_eq!((all.tables.len(), all.next), (3, None));
    assert_eq!(all.tables.iter().map(|t| t.kind.as_str()).collect::<Vec<_>>(), ["table", "external", "view"]);
    let two = page(2, false);
    assert_eq!((two.tables.len(), two.next.as_deref()), (2, Some("b")));
    assert_eq!(page(10, true).next.as_deref(), Some("c"));
    let query = tables_query(&Page { cursor: Some("b'; --".to_owned()), limit: 2 }).fragments();
    assert!(query.contains(&Fragment::Value(text("b'; --"))) && query.contains(&Fragment::Value(int(3))));
}

#[test]
fn there_is_one_database() {
    assert_eq!(databases(&Page { cursor: None, limit: 10 }).databases[0].name, "main");
    assert!(databases(&Page { cursor: Some("main".to_owned()), limit: 10 }).databases.is_empty());
}

#[test]
fn the_server_says_its_version_and_how_it_was_built() {
    let version = rows(&["version"], vec![vec![text("3.45.1")]]);
    let options =
        rows(&["name"], vec![vec![text("ENABLE_DBSTAT_VTAB")], vec![text("DEFAULT_FOREIGN_KEYS=1")]]);
    let server = server_of(&version, &options).unwrap();
    assert_eq!((server.product.as_str(), server.version.as_str()), ("SQLite", "3.45.1"));
    assert_eq!(from_str::<Value>(&server.facts).unwrap()["dbstat"], true);
    assert!(server_of(&rows(&["version"], Vec::new()), &options).is_err());
}

#[test]
fn the_ddl_begins_with_the_table_itself() {
    let table = TableName::new("main", "t");
    let part = |kind, name, sql| vec![text(kind), text(name), text(sql)];
    let given = rows(
        &["kind", "name", "sql"],
        vec![
            part("trigger", "a", "CREATE TRIGGER a"),
            part("index", "z", "CREATE INDEX z"),
            part("table", "t", "CREATE TABLE t (x)"),
        ],
    );
    assert_eq!(
        ddl_of(&given, &table).unwrap(),
        "CREATE TABLE t (x);\n\nCREATE INDEX z;\n\nCREATE TRIGGER a;"
    );
    assert_eq!(ddl_of(&rows(&["kind", "name", "sql"], Vec::new()), &table).unwrap_err().code, "not_found");
}

#[test]
fn sizes_are_exact_or_absent() {
    let counted = rows(&["n"], vec![vec![int(7)]]);
    let bytes = sizes::bytes_of(&rows(
        &["table_name", "kind", "bytes"],
        vec![vec![text("t"), text("table"), int(4096)], vec![text("t"), text("index"), int(8192)]],
    ))
    .unwrap();
    let known = sizes::statistics_of("t", &counted, Some(&bytes)).unwrap();
    assert_eq!((known.row_count, known.row_accuracy.as_str()), (Some(7), "exact"));
    assert_eq!((known.data_bytes, known.index_bytes), (Some(4096), Some(8192)));
    let view = sizes::statistics_of("v", &counted, Some(&bytes)).unwrap();
    assert_eq!((view.data_bytes, view.note.as_str()), (None, ""));
    let unknown = sizes::statistics_of("t", &counted, None).unwrap();
    assert_eq!(unknown.data_bytes, None);
    assert!(unknown.note.contains("dbstat"));
}
