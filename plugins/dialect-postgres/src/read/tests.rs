use lakeport_sdk::dialect::{AccessRequest, Cell, Column, DefaultValue, Fragment, Page, Table};
use lakeport_sdk::serde_json::{Value, from_str};
use std::cell::RefCell;

use super::*;
use crate::facts::FieldFacts;

/// Answers queries in turn.
struct Script(RefCell<Vec<RowSet>>);

impl Source for Script {
    fn ask(&self, _query: Query) -> Result<RowSet, Error> {
        Ok(self.0.borrow_mut().remove(0))
    }
}

/// Answers with sizes, or with a count.
struct Counting {
    sizes: RowSet,
    count: RowSet,
    asked: RefCell<Vec<String>>,
}

impl Source for Counting {
    fn ask(&self, query: Query) -> Result<RowSet, Error> {
        let said = |fragment: &Fragment| match fragment {
            Fragment::Sql(sql) => sql.clone(),
            _ => "…".to_owned(),
        };
        let sql: String = query.fragments().iter().map(said).collect();
        let answer = if sql.starts_with("SELECT count(*)") { &self.count } else { &self.sizes };
        self.asked.borrow_mut().push(sql);
        Ok(answer.clone())
    }
}

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

fn postgres(version: &str) -> ServerInfo {
    ServerInfo { product: PRODUCT.to_owned(), version: version.to_owned(), facts: "{}".to_owned() }
}

const HEAD: [&str; 15] = [
    "relation",
    "schema_name",
    "name",
    "kind",
    "comment",
    "persistence",
    "is_partition",
    "of_type",
    "strategy",
    "partition_fields",
    "by_expression",
    "default_partition",
    "default_is_near",
    "default_comment",
    "extension",
];
const FIELD: [&str; 15] = [
    "relation",
    "number",
    "name",
    "type_text",
    "not_null",
    "identity",
    "generated",
    "default_text",
    "comment",
    "collation_name",
    "storage",
    "options",
    "type_kind",
    "inherited",
    "compression",
];
const KEY: [&str; 2] = ["relation", "numbers"];
const REFERENCE: [&str; 5] = ["relation", "field", "parent_schema", "parent", "parent_field"];
const FAMILY: [&str; 5] = ["relation", "role", "schema_name", "name", "members"];
const DEPENDENT: [&str; 8] =
    ["relation", "number", "object", "kind", "schema_name", "owner_name", "name", "owner"];

fn head(relation: i64, name: &str) -> Vec<Cell> {
    let mut cells = vec![int(relation), text("shop"), text(name), text("r"), Cell::Null, text("p")];
    cells.extend([Cell::Boolean(false), Cell::Boolean(false)]);
    cells.extend([
        Cell::Null,
        Cell::Null,
        Cell::Boolean(false),
        Cell::Null,
        Cell::Null,
        Cell::Null,
        Cell::Null,
    ]);
    cells
}

fn column(relation: i64, number: i64, name: &str, type_text: &str, default: Cell) -> Vec<Cell> {
    let mut cells = vec![int(relation), int(number), text(name), text(type_text), Cell::Boolean(number == 1)];
    cells.extend([text(""), text(""), default, Cell::Null, Cell::Null, Cell::Null, Cell::Null]);
    cells.extend([text("b"), Cell::Boolean(false), text("")]);
    cells
}

fn dependent(number: i64, object: i64, kind: &str, owner: (i64, &str), name: &str) -> Vec<Cell> {
    vec![int(7), int(number), int(object), text(kind), text("shop"), text(owner.1), text(name), int(owner.0)]
}

/// `orders (id, note)` is relation 7, `lines (n)` is 8.
fn answers() -> Vec<RowSet> {
    vec![
        rows(&HEAD, vec![head(7, "orders"), head(8, "lines")]),
        rows(
            &FIELD,
            vec![
                column(7, 1, "id", "bigint", Cell::Null),
                column(7, 3, "note", "text", text("'it''s'::text")),
                column(8, 1, "n", "integer", Cell::Null),
            ],
        ),
        rows(&KEY, vec![vec![int(7), text("{1}")]]),
        rows(&REFERENCE, Vec::new()),
        rows(&FAMILY, Vec::new()),
        rows(
            &DEPENDENT,
            vec![
                dependent(0, 90, "trigger", (7, "orders"), "guard"),
                dependent(1, 91, "constraint f", (8, "lines"), "lines_fk"),
                dependent(1, 92, "index", (7, "by_both"), "by_both"),
                dependent(3, 92, "index", (7, "by_both"), "by_both"),
                dependent(3, 93, "index", (7, "by_note"), "by_note"),
                dependent(3, 94, "view", (50, "report"), "_RETURN"),
            ],
        ),
    ]
}

fn inspected(answers: Vec<RowSet>, names: &[&str]) -> Vec<Result<Table, Error>> {
    let tables: Vec<TableName> = names.iter().map(|name| TableName::new("shop", *name)).collect();
    inspect(&Script(RefCell::new(answers)), &postgres("15.1"), &tables).unwrap()
}

#[test]
fn tables_come_in_the_requested_order() {
    let found = inspected(answers(), &["lines", "nobody", "orders"]);
    let codes: Vec<&str> = found
        .iter()
        .map(|table| table.as_ref().map_or_else(|e| e.code.as_str(), |t| t.name.name.as_str()))
        .collect();
    assert_eq!(codes, ["lines", "not_found", "orders"]);
    let orders = found[2].as_ref().unwrap();
    assert_eq!(orders.keys, ["id"]);
    assert!(orders.fields[0].key && !orders.fields[0].nullable && orders.fields[1].nullable);
    assert_eq!(orders.fields[1].defaults_to, DefaultValue::Text("it's".to_owned()));
}

#[test]
fn dependents_belong_to_field_or_table() {
    let orders = inspected(answers(), &["orders"]).remove(0).unwrap();
    assert_eq!(
        orders.extra.as_deref(),
        Some(
            r#"{"parts":["index by_both","trigger guard"],"users":["the foreign key lines_fk of shop.lines","the view shop.report"]}"#
        )
    );
    assert_eq!(
        orders.fields[1].extra.as_deref(),
        Some(r#"{"own":["index by_note"],"shared":["index by_both"],"users":["the view shop.report"]}"#)
    );
}

#[test]
fn foreign_keys_of_one_field_are_references() {
    let mut given = answers();
    let key = |relation: i64, field: &str| {
        vec![int(relation), text(field), text("crm"), text("customer"), text("no")]
    };
    given[3] = rows(&REFERENCE, vec![key(7, "note"), key(8, "n")]);
    given[5] = rows(&DEPENDENT, Vec::new());
    let orders = inspected(given, &["orders"]).remove(0).unwrap();
    let extra: Value = from_str(orders.extra.as_deref().unwrap()).unwrap();
    let expected = json!([{"field": "note", "database": "crm", "table": "customer", "key": "no"}]);
    assert_eq!(extra, json!({"references": expected}));
}

#[test]
fn included_fields_share_the_primary_key() {
    let mut given = answers();
    given[5] = rows(&DEPENDENT, vec![dependent(3, 95, "constraint p", (7, "orders"), "orders_pkey")]);
    let orders = inspected(given, &["orders"]).remove(0).unwrap();
    assert_eq!(orders.extra.as_deref(), Some(r#"{"parts":["primary key orders_pkey"]}"#));
    assert_eq!(orders.fields[1].extra.as_deref(), Some(r#"{"shared":["primary key orders_pkey"]}"#));
}

#[test]
fn differing_partition_defaults_are_detected() {
    let mut given = answers();
    given[0].rows[0][3] = text("p");
    given.push(rows(&["relation", "number"], vec![vec![int(7), int(3)]]));
    let orders = inspected(given, &["orders"]).remove(0).unwrap();
    let differs = |index: usize| FieldFacts::of(&orders.fields[index]).defaults_differ;
    assert_eq!((differs(0), differs(1)), (false, true));
}

#[test]
fn a_table_with_truncated_rows_is_reread() {
    let mut given = answers();
    given[1].rows.truncate(2);
    given[1].truncated = true;
    let found = inspected(given, &["orders", "lines"]);
    let codes: Vec<&str> = found.iter().map(|table| table.as_ref().unwrap_err().code.as_str()).collect();
    assert_eq!(codes, ["limit_exceeded", "limit_exceeded"]);
    let mut given = answers();
    given[1].truncated = true;
    let found = inspected(given, &["orders", "lines"]);
    assert!(found[0].is_ok());
    assert_eq!(found[1].as_ref().unwrap_err().code, "limit_exceeded");
}

#[test]
fn a_page_goes_on_behind_its_last_name() {
    let names = |limit, truncated| {
        let list = ["a", "b", "c"].map(|name| vec![text(name), text("r"), Cell::Null]);
        let set = RowSet { truncated, ..rows(&["name", "kind", "comment"], list.to_vec()) };
        tables(&Script(RefCell::new(vec![set])), "shop", &Page { cursor: None, limit }).unwrap()
    };
    assert_eq!(names(3, false).next, None);
    assert_eq!((names(2, false).tables.len(), names(2, false).next.as_deref()), (2, Some("b")));
    assert_eq!(names(10, true).next.as_deref(), Some("c"));
}

#[test]
fn only_postgresql_that_is_new_enough_is_served() {
    let server = |banner: &str, version: &str| {
        let cells = vec![text(banner), text(version), text("UTF8"), text("on")];
        server_of(&rows(&["banner", "version", "encoding", "track_counts"], vec![cells]))
    };
    assert_eq!(server("PostgreSQL 15.4 on x86_64", "15.4 (Debian 15.4-1)").unwrap().version, "15.4");
    assert_eq!(server("PostgreSQL 12.1", "12.1").unwrap_err().code, "unsupported");
    assert_eq!(server("CockroachDB CCL v23", "13.0.0").unwrap_err().code, "unsupported");
}

#[test]
fn a_missing_estimate_is_unknown() {
    let columns = [
        "kind",
        "row_count",
        "unknown_members",
        "data_bytes",
        "index_bytes",
        "partitions",
        "never_analyzed",
        "analyzed_ms",
    ];
    let of = |kind: &str, unknown: i64| {
        let set = rows(
            &columns,
            vec![vec![text(kind), int(5), int(unknown), int(8192), int(0), int(2), int(0), int(99)]],
        );
        sizes::statistics_of(&set.first().unwrap()).unwrap()
    };
    let known = of("r", 0);
    assert_eq!((known.row_count, known.row_accuracy.as_str(), known.as_of), (Some(5), "estimate", Some(99)));
    assert_eq!((known.partition_count, of("p", 0).partition_count), (None, Some(2)));
    let unknown = of("r", 1);
    assert_eq!(
        (unknown.row_count, unknown.row_accuracy.as_str(), unknown.data_bytes),
        (None, "unknown", Some(8192))
    );
    assert_eq!(of("v", 0).data_bytes, None);
}

#[test]
fn rows_are_counted_only_where_exact() {
    let columns = [
        "schema_name",
        "name",
        "kind",
        "relation",
        "has_heirs",
        "hides_rows",
        "row_count",
        "unknown_members",
        "data_bytes",
        "index_bytes",
        "partitions",
        "never_analyzed",
        "analyzed_ms",
    ];
    let of = |has_heirs: bool, hides_rows: bool| {
        let mut line = vec![text("shop"), text("orders"), text("r"), int(7)];
        line.extend([Cell::Boolean(has_heirs), Cell::Boolean(hides_rows)]);
        line.extend([int(5), int(0), int(8192), int(0), int(0), int(0), int(99)]);
        let source = Counting {
            sizes: rows(&columns, vec![line]),
            count: rows(&["n"], vec![vec![int(6)]]),
            asked: RefCell::new(Vec::new()),
        };
        let found = sizes::statistics(&source, &[TableName::new("shop", "orders")], true).unwrap();
        (found.into_iter().next().unwrap().unwrap(), source.asked.take().pop().unwrap())
    };
    let (plain, asked) = of(false, false);
    assert_eq!((plain.row_count, plain.row_accuracy.as_str()), (Some(6), "exact"));
    assert!(asked.starts_with("SELECT count(*)") && !asked.contains("tableoid"), "{asked}");
    let (parent, asked) = of(true, false);
    assert_eq!((parent.row_count, parent.row_accuracy.as_str()), (Some(6), "exact"));
    assert!(asked.contains("t.tableoid ="), "{asked}");
    let (hidden, asked) = of(false, true);
    assert_eq!((hidden.row_count, hidden.row_accuracy.as_str()), (Some(5), "estimate"));
    assert!(hidden.note.contains("row-level security") && !asked.starts_with("SELECT count(*)"));
}

#[test]
fn counters_are_paged_and_absent_where_none_are_kept() {
    let line = |name: &str| vec![text("shop"), text(name), int(3), Cell::Null, int(7)];
    let set = rows(&["schema_name", "name", "scans", "since_ms", "last_ms"], vec![line("a"), line("b")]);
    let page = access::page_of(&set, 1).unwrap();
    assert_eq!((page.counters.len(), page.next.as_deref()), (1, Some(r#"["shop","a"]"#)));
    assert_eq!((page.counters[0].count, page.counters[0].since, page.counters[0].last), (3, None, Some(7)));
    assert!(!page.complete);
    let request = AccessRequest {
        tables: Vec::new(),
        since: 0,
        until: 1,
        time_zone: "UTC".to_owned(),
        without_users: Vec::new(),
        page: Page { cursor: None, limit: 1 },
    };
    let off = ServerInfo { facts: r#"{"trackCounts":false}"#.to_owned(), ..postgres("15.1") };
    let none = access(&Script(RefCell::new(Vec::new())), &off, &request).unwrap();
    assert!(none.counters.is_empty() && none.note.contains("track_counts"));
}
