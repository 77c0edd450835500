use lakeport_sdk::dialect::{Column, DefaultValue, Table};
use lakeport_sdk::serde_json::{Value, from_str};

use super::inspect::{Answers, ParentKey, by_table, parent_keys_of, views_of};
use super::*;
use crate::extra::{FieldExtra, TableExtra};
use crate::server::Server;

fn rows(columns: &[&str], rows: Vec<Vec<Cell>>) -> RowSet {
    let column = |name: &&str| Column { name: (*name).to_owned(), type_text: String::new() };
    RowSet { columns: columns.iter().map(column).collect(), rows, truncated: false }
}

/// One row of texts; `-` is NULL.
fn row(cells: &[&str]) -> Vec<Cell> {
    let cell = |text: &&str| if *text == "-" { Cell::Null } else { Cell::Text((*text).to_owned()) };
    cells.iter().map(cell).collect()
}

fn server(product: &str) -> Server {
    let info =
        ServerInfo { product: product.to_owned(), version: "10.11.1".to_owned(), facts: String::new() };
    Server::of(&info)
}

const HEAD: [&str; 6] = ["name", "kind", "engine", "collation", "options", "comment"];
const COLUMN: [&str; 10] = [
    "table_name",
    "name",
    "type",
    "nullable",
    "default_text",
    "extra",
    "comment",
    "character_set",
    "collation",
    "expression",
];
const INDEX: [&str; 8] =
    ["table_name", "name", "non_unique", "part", "field", "prefix", "kind", "expression"];
const REFERENCE: [&str; 7] =
    ["child_schema", "child", "name", "field", "parent_schema", "parent", "parent_field"];
const RULE: [&str; 6] = ["table_name", "name", "on_update", "on_delete", "parent_schema", "parent"];

/// `orders (id key, note, data)`, in MariaDB's form.
fn answers() -> Answers {
    let table = |columns: &[&str], list: &[&[&str]], by: &str| {
        by_table(rows(columns, list.iter().map(|cells| row(cells)).collect()), by).unwrap()
    };
    Answers {
        heads: table(
            &HEAD,
            &[&[
                "orders",
                "BASE TABLE",
                "InnoDB",
                "utf8mb4_bin",
                "partitioned row_format=COMPRESSED",
                "it's",
            ]],
            "name",
        ),
        columns: table(
            &COLUMN,
            &[
                &["orders", "id", "bigint(20)", "NO", "-", "auto_increment", "", "-", "-", "-"],
                &[
                    "orders",
                    "note",
                    "varchar(20)",
                    "YES",
                    "'x'",
                    "INVISIBLE",
                    "a note",
                    "latin1",
                    "latin1_bin",
                    "-",
                ],
                &["orders", "data", "longtext", "YES", "NULL", "", "", "utf8mb4", "utf8mb4_bin", "-"],
                &[
                    "orders",
                    "twice",
                    "bigint(20)",
                    "YES",
                    "NULL",
                    "STORED GENERATED",
                    "",
                    "-",
                    "-",
                    "`id` * 2",
                ],
            ],
            "table_name",
        ),
        indexes: table(
            &INDEX,
            &[
                &["orders", "PRIMARY", "0", "1", "id", "-", "BTREE", "-"],
                &["orders", "by_note", "0", "1", "note", "5", "BTREE", "-"],
                &["orders", "by_note", "0", "2", "id", "-", "BTREE", "-"],
            ],
            "table_name",
        ),
        rules: table(&RULE, &[&["orders", "fk", "RESTRICT", "CASCADE", "shop", "orders"]], "table_name"),
        references: table(&REFERENCE, &[&["shop", "orders", "fk", "id", "shop", "orders", "id"]], "child"),
        parent_keys: Default::default(),
        referenced: table(
            &REFERENCE,
            &[
                &["shop", "orders", "fk", "id", "shop", "orders", "id"],
                &["bank", "bills", "fk", "order_id", "shop", "orders", "id"],
            ],
            "parent",
        ),
        checks: table(
            &["table_name", "name", "level", "clause"],
            &[
                &["orders", "old_name", "Column", "json_valid(`data`)"],
                &["orders", "CONSTRAINT_1", "Table", "`id` > 0"],
                &["orders", "note", "Column", "`note` <> ''"],
            ],
            "table_name",
        ),
        triggers: table(
            &["table_name", "name", "statement"],
            &[&["orders", "guard", "set NEW.Note = 1"]],
            "table_name",
        ),
        views: views_of(&rows(
            &["view_schema", "name", "definition"],
            vec![
                row(&["shop", "report", "select `shop`.`orders`.`note` AS `n` from `shop`.`orders`"]),
                row(&["bank", "books", "select `shop`.`orders`.`id` AS `id` from `shop`.`orders`"]),
                row(&["shop", "other", "select 1 AS `note` from `shop`.`others`"]),
                row(&["shop", "hidden", ""]),
            ],
        ))
        .unwrap(),
        partitions: table(
            &["table_name", "method", "expression", "sub_method", "sub_expression"],
            &[&["orders", "RANGE", "`id`", "-", "-"]],
            "table_name",
        ),
    }
}

fn orders(answers: &Answers) -> Table {
    assemble::table_of(&server(MARIADB), &TableName::new("shop", "orders"), answers).unwrap()
}

#[test]
fn a_table_is_read_whole() {
    let table = orders(&answers());
    assert_eq!((table.kind.as_str(), table.comment.as_str()), ("table", "it's"));
    assert_eq!(
        (table.keys.as_slice(), table.partition.as_slice()),
        (&["id".to_owned()][..], &["id".to_owned()][..])
    );
    let [id, note, data, twice] = table.fields.as_slice() else { panic!("{:?}", table.fields) };
    assert!(id.key && !id.nullable && FieldExtra::of(id).auto_increment);
    assert_eq!(note.defaults_to, DefaultValue::Text("x".to_owned()));
    let extra = FieldExtra::of(note);
    assert_eq!(
        (extra.collation.as_deref(), extra.character_set.as_deref()),
        (Some("latin1_bin"), Some("latin1"))
    );
    assert!(extra.invisible);
    assert_eq!((data.type_text.as_str(), data.extra.as_deref()), ("json", None));
    assert_eq!(twice.generated.as_deref(), Some("`id` * 2"));
    assert!(FieldExtra::of(twice).stored);
}

#[test]
fn what_a_change_must_not_lose_stands_in_extra() {
    let table = orders(&answers());
    let extra = TableExtra::of(&table);
    assert_eq!((extra.engine.as_str(), extra.options.as_str()), ("InnoDB", "row_format=COMPRESSED"));
    assert_eq!(extra.partitioning, "RANGE");
    assert_eq!(extra.indexes, ["by_note (unique)"]);
    assert_eq!(extra.foreign_keys, ["itself (on delete CASCADE, on update RESTRICT)"]);
    assert_eq!(extra.referenced_by, ["bank.bills", "itself"]);
    assert_eq!(extra.checks, ["`id` > 0"]);
    assert_eq!(
        (extra.triggers.len(), extra.views.as_slice()),
        (1, &["bank.books".to_owned(), "report".to_owned()][..])
    );
    let note = FieldExtra::of(&table.fields[1]);
    assert_eq!(note.indexes, ["by_note (unique) (5 of it), part 1 of 2"]);
    assert_eq!(
        (note.triggers.as_slice(), note.views.as_slice()),
        (&["guard".to_owned()][..], &["report".to_owned()][..])
    );
    assert_eq!(note.unwritable, ["CHECK (`note` <> '')"]);
    let id = FieldExtra::of(&table.fields[0]);
    assert_eq!(id.views, ["bank.books"]);
    assert_eq!((id.references.as_slice(), id.referenced_by.len()), (&["itself".to_owned()][..], 2));
}

#[test]
fn foreign_keys_of_one_field_are_references() {
    let unique = rows(
        &["table_name", "name", "field", "prefix"],
        vec![
            row(&["customer", "PRIMARY", "No", "-"]),
            row(&["customer", "by_pair", "a", "-"]),
            row(&["customer", "by_pair", "b", "-"]),
            row(&["customer", "by_prefix", "nick", "5"]),
        ],
    );
    let keys = parent_keys_of("crm", &unique).unwrap();
    let key = |field: &str| ParentKey {
        database: "crm".to_owned(),
        table: "customer".to_owned(),
        field: field.to_owned(),
    };
    assert_eq!(keys, [key("No")]);
    let mut given = answers();
    let references = [
        &["shop", "orders", "one", "id", "crm", "customer", "no"][..],
        &["shop", "orders", "two", "id", "crm", "customer", "nick"],
        &["shop", "orders", "three", "note", "crm", "customer", "no"],
        &["shop", "orders", "three", "data", "crm", "customer", "a"],
    ];
    let references = rows(&REFERENCE, references.iter().map(|cells| row(cells)).collect());
    given.references = by_table(references, "child").unwrap();
    given.parent_keys = keys.into_iter().collect();
    let references = |given: &Answers| {
        let extra: Value = from_str(orders(given).extra.as_deref().unwrap()).unwrap();
        extra["references"].clone()
    };
    let expected = json!([{"field": "id", "database": "crm", "table": "customer", "key": "No"}]);
    assert_eq!(references(&given), expected);
    assert_eq!(references(&answers()), Value::Null);
}

#[test]
fn the_recycle_bin_changes_nothing_of_that() {
    let mut given = answers();
    let name = "orders_deprecated_20260131120000";
    let before = orders(&given);
    for tables in [
        &mut given.heads,
        &mut given.columns,
        &mut given.indexes,
        &mut given.rules,
        &mut given.references,
        &mut given.referenced,
        &mut given.checks,
        &mut given.triggers,
        &mut given.partitions,
    ] {
        let Some(mut rows) = tables.remove("orders") else { continue };
        for cell in rows.rows.iter_mut().flatten().filter(|cell| **cell == Cell::Text("orders".to_owned())) {
            *cell = Cell::Text(name.to_owned());
        }
        tables.insert(name.to_owned(), rows);
    }
    let table = TableName::new("shop", name);
    let after = assemble::table_of(&server(MARIADB), &table, &given).unwrap();
    assert_eq!((before.extra, before.fields), (after.extra, after.fields));
}

#[test]
fn mysql_escapes_the_expressions_of_its_catalogue() {
    let mut given = answers();
    let mut cells =
        row(&["orders", "g", "varchar(9)", "YES", "-", "VIRTUAL GENERATED", "", "utf8mb4", "utf8mb4_bin"]);
    cells.push(Cell::Text(r"concat(`note`,_utf8mb4\'x\')".to_owned()));
    given.columns.insert("orders".to_owned(), rows(&COLUMN, vec![cells]));
    let table = assemble::table_of(&server(MYSQL), &TableName::new("shop", "orders"), &given).unwrap();
    assert_eq!(table.fields[0].generated.as_deref(), Some("concat(`note`,'x')"));
}

#[test]
fn a_view_has_fields_and_no_comment_of_its_own() {
    let mut given = answers();
    let head = vec![row(&["orders", "VIEW", "-", "-", "-", "VIEW"])];
    given.heads = by_table(rows(&HEAD, head), "name").unwrap();
    let view = orders(&given);
    assert_eq!((view.kind.as_str(), view.comment.as_str(), view.extra), ("view", "", None));
    given.heads =
        by_table(rows(&HEAD, vec![row(&["orders", "SEQUENCE", "-", "-", "-", "-"])]), "name").unwrap();
    let missing = assemble::table_of(&server(MARIADB), &TableName::new("shop", "orders"), &given);
    assert_eq!(missing.unwrap_err().code, "not_found");
}

#[test]
fn innodb_pages_become_bytes_per_table() {
    let columns = ["name", "data_pages", "index_pages"];
    let given = vec![row(&["t", "2", "1"]), row(&["p#P#a", "1", "0"]), row(&["p#p#b#sp#c", "3", "1"])];
    let bytes = sizes::bytes_of(&rows(&columns, given), 16_384).unwrap();
    assert_eq!(bytes.get("t"), Some(&(32_768, 16_384)));
    assert_eq!(bytes.get("p"), Some(&(65_536, 16_384)));
}

#[test]
fn tables_are_found_in_digests() {
    let of = |digest: &str| {
        let tables = counters::tables_in(digest, "shop");
        tables.into_iter().map(|(database, name)| format!("{database}.{name}")).collect::<Vec<_>>()
    };
    for (digest, expected) in [
        ("SELECT * FROM `orders` WHERE `id` = ?", &["shop.orders"][..]),
        (
            "SELECT `o` . `id` FROM `orders` `o` JOIN `bank` . `bills` AS `b` ON `b` . `id` = `o` . `id`",
            &["shop.orders", "bank.bills"],
        ),
        ("SELECT ? FROM `a` , `b` `x` , `c` . `d` WHERE `e` = ?", &["shop.a", "shop.b", "c.d"]),
        ("INSERT INTO `orders` ( `id` , `note` ) VALUES (...)", &["shop.orders"]),
        ("UPDATE `orders` SET `note` = ?", &["shop.orders"]),
        ("DELETE FROM `orders` WHERE `id` IN ( SELECT `id` FROM `old` )", &["shop.orders", "shop.old"]),
        ("CREATE TABLE IF NOT EXISTS `orders` ( `id` INTEGER )", &["shop.orders"]),
        ("SELECT * FROM ( SELECT `id` FROM `orders` ) `x`", &["shop.orders"]),
        ("SELECT `from` FROM `orders` JOIN ...", &["shop.orders"]),
        ("SET NAMES ?", &[]),
    ] {
        assert_eq!(of(digest), expected, "{digest}");
    }
}

#[test]
fn what_looks_after_a_table_is_no_access() {
    for digest in [
        "SHOW CREATE TABLE `shop` . `orders`",
        "ALTER TABLE `orders` ADD COLUMN `x` INTEGER",
        "CREATE TABLE `orders` ( `id` INTEGER )",
        "ANALYZE TABLE `orders`",
        "SELECT COUNT ( * ) AS `lakeport_measured` FROM `shop` . `orders`",
    ] {
        assert!(!counters::is_access(digest), "{digest}");
    }
    for digest in
        ["SELECT COUNT ( * ) AS `n` FROM `orders`", "( SELECT ? )", "INSERT INTO `orders` VALUES (...)"]
    {
        assert!(counters::is_access(digest), "{digest}");
    }
}

#[test]
fn the_log_says_the_database_where_it_was_chosen() {
    for (said, expected) in [
        ("root@localhost on shop using TCP/IP", "shop"),
        ("root@localhost on  using Socket", ""),
        ("root@localhost as anonymous on shop", "shop"),
        ("shop", "shop"),
        ("", ""),
    ] {
        assert_eq!(general_log::chosen(said), expected, "{said}");
    }
}

#[test]
fn foreign_keys_of_innodb_are_found_by_names_of_files() {
    let given = rows(
        &["child", "parent", "parent_field"],
        vec![
            row(&["shop/chi@002dld", "shop/pa@0020r@6570", "id"]),
            row(&["bank/bills", "shop/caf@0p", "id"]),
            row(&["shop/x", "other/orders", "id"]),
        ],
    );
    let found = inspect::relatives_of(&given, "shop").unwrap();
    let said: Vec<_> =
        found.iter().map(|row| (text(&row, "child").unwrap(), text(&row, "parent").unwrap())).collect();
    let pair = |child: &str, parent: &str| (child.to_owned(), parent.to_owned());
    assert_eq!(said, [pair("chi-ld", "pa r数"), pair("bills", "caf@0p")]);
}
