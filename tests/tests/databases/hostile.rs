//! Texts and names that would be statements if they broke out of their quotes.

use lakeport_tests::{Kind, Lake, Warehouse, id_of, named, on_servers};
use serde_json::{Value, json};

use super::{TABLES, agree, field_path, fields, id_named, path, text};

/// To a database each of them is just a text.
const TEXTS: [&str; 14] = [
    "'; DROP TABLE victim; --",
    "\\'; DROP TABLE victim; --",
    "''); DROP TABLE victim; --",
    "\"; DROP TABLE victim; --",
    "`; DROP TABLE victim; --",
    "$$; DROP TABLE victim; --$$",
    "*/ DROP TABLE victim; /*",
    "/*! DROP TABLE victim */",
    "\\",
    "\\\\'",
    "a\nb\tc\rd",
    "%s %d %% ${x} {{y}} :name ?1 $1",
    "Ünicode ✓ \u{200b}\u{202e}evil",
    "  spaces around  ",
];

fn with_victim(shop: &Warehouse) {
    shop.run("CREATE TABLE victim (id integer)");
}

/// The comment of a table and of its column `c`, and the default of its column `d`, as the database stores
/// them.
fn stored(shop: &Warehouse, table: &str) -> [String; 3] {
    let (db, name) = (shop.kind.literal(&shop.db), shop.kind.literal(table));
    let comments = match shop.kind {
        Kind::Mariadb => format!(
            "SELECT TABLE_COMMENT, (SELECT COLUMN_COMMENT FROM information_schema.COLUMNS c WHERE c.TABLE_SCHEMA = {db} AND \
             c.TABLE_NAME = {name} AND COLUMN_NAME = 'c') FROM information_schema.TABLES WHERE TABLE_SCHEMA = {db} AND \
             TABLE_NAME = {name}"
        ),
        _ => format!(
            "SELECT obj_description(oid, 'pg_class'), col_description(oid, (SELECT attnum FROM pg_attribute WHERE attrelid = \
             t.oid AND attname = 'c')) FROM pg_class t WHERE relnamespace = {db}::regnamespace AND relname = {name}"
        ),
    };
    let mut session = shop.session();
    let mut row = session.rows(&comments).remove(0).into_iter().map(Option::unwrap_or_default);
    let quoted = shop.kind.quoted(table);
    session.run(&format!("DELETE FROM {quoted}; INSERT INTO {quoted} (id) VALUES (1)"));
    let default = session.texts(&format!("SELECT d FROM {quoted}")).remove(0);
    [row.next().expect("a comment"), row.next().expect("another"), default]
}

#[test]
fn a_comment_or_a_default_stays_a_text() {
    for (lake, shop) in on_servers() {
        with_victim(&shop);
        for (number, odd) in TEXTS.into_iter().enumerate() {
            let form = json!({ "tableName": format!("t{number}"), "dbName": shop.db, "clusterId": shop.source,
                "tableComment": odd });
            let id = id_of(&lake.server.post(TABLES, &form).data());
            for field in [
                json!({ "fieldName": "id", "fieldType": shop.kind.integer(), "isPrimaryKey": true }),
                json!({ "fieldName": "c", "fieldType": shop.kind.text(), "fieldComment": odd }),
                json!({ "fieldName": "d", "fieldType": shop.kind.text(), "defaultValue": odd }),
            ] {
                lake.server.post(&format!("{}/fields", path(id)), &field).data();
            }
            lake.server.post(&format!("{}/physical", path(id)), &json!({})).data();
            assert_eq!(stored(&shop, &format!("t{number}")), [odd; 3]);
            changed(&lake, &shop, id, number, odd);
        }
        assert!(shop.tables().contains(&"victim".to_owned()));
        // A sync reads them as they were written.
        let sync = lake.read_in(shop.source);
        assert_eq!(
            (super::counts(&sync, "tables"), super::counts(&sync, "fields")),
            ([1, 0, 0], [1, 0, 0]),
            "{sync}"
        );
    }
}

/// The same for changes of existing parts.
fn changed(lake: &Lake, shop: &Warehouse, id: i64, number: usize, odd: &str) {
    let plain = json!({ "comment": "plain" });
    lake.server.put(&format!("{}/comment", path(id)), &plain).data();
    lake.server.put(&format!("{}/comment", path(id)), &json!({ "comment": odd })).data();
    for (field, member) in [("c", "fieldComment"), ("d", "defaultValue")] {
        let field = field_path(lake, id, field);
        lake.server.put(&field, &json!({ member: "plain" })).data();
        lake.server.put(&field, &json!({ member: odd })).data();
    }
    assert_eq!(stored(shop, &format!("t{number}")), [odd; 3]);
    agree(lake, shop, id);
}

/// MariaDB's catalogue cannot store characters of four bytes.
#[test]
fn texts_are_kept_exactly_or_refused() {
    for (lake, shop) in on_servers() {
        let id = super::orders(&lake, &shop);
        let comment = format!("{}/comment", path(id));
        let answer = lake.server.put(&comment, &json!({ "comment": "𝕌nicode 😀" }));
        if shop.kind == Kind::Mariadb {
            assert!(matches!(answer.status, 400 | 409), "{answer:?}");
        } else {
            assert_eq!(answer.data()["tableComment"], "𝕌nicode 😀");
        }
        agree(&lake, &shop, id);
        let sync = lake.read_in(shop.source);
        assert_eq!(super::counts(&sync, "tables"), [0; 3], "{sync}");
    }
}

#[test]
fn a_name_that_is_a_statement_stays_a_name() {
    for (lake, shop) in on_servers() {
        with_victim(&shop);
        for odd in [
            "x\"; DROP TABLE victim; --",
            "x`; DROP TABLE victim; --",
            "x'; DROP TABLE victim; --",
            "x) (y",
            "/*x*/",
        ] {
            let id = lake.physical_table_of(&shop, odd, &[(odd, shop.kind.integer())]);
            assert_eq!(shop.columns(odd), [odd]);
            let statistics = lake.server.get(&format!("{}/statistics", path(id))).data();
            assert_eq!(statistics["rowCount"], 0, "{statistics}");
            assert!(text_of(&lake, id).contains("CREATE TABLE"));
            agree(&lake, &shop, id);
        }
        assert!(shop.tables().contains(&"victim".to_owned()));
        assert_eq!(shop.tables().len(), 6);
    }
}

fn text_of(lake: &Lake, id: i64) -> String {
    let ddl = lake.server.get(&format!("{}/ddl", path(id))).data();
    ddl.as_str().expect("a text").to_owned()
}

#[test]
fn invalid_names_and_types_name_the_member() {
    for (lake, shop) in on_servers() {
        with_victim(&shop);
        let form = json!({ "tableName": "nul\u{0}byte", "dbName": shop.db, "clusterId": shop.source });
        assert_eq!(named(&lake.server.post(TABLES, &form)), ["tableName"]);
        let id = super::orders(&lake, &shop);
        for odd in [
            "INTEGER); DROP TABLE victim; --",
            "INTEGER, x INTEGER",
            "INTEGER DEFAULT 1",
            "INTEGER NOT NULL",
            "INTEGER /* c */",
            "VARCHAR('20')",
            "(SELECT 1)",
            "NO SUCH TYPE",
        ] {
            let form = json!({ "fieldName": "x", "fieldType": odd });
            assert_eq!(
                named(&lake.server.post(&format!("{}/fields", path(id)), &form)),
                ["fieldType"],
                "{odd}"
            );
        }
        let form = json!({ "fieldName": "x", "fieldType": shop.kind.integer(), "defaultValue": "1); DROP TABLE victim; --" });
        assert_eq!(named(&lake.server.post(&format!("{}/fields", path(id)), &form)), ["defaultValue"]);
        assert_eq!(shop.columns("orders"), ["id", "total"]);
        assert!(shop.tables().contains(&"victim".to_owned()));
    }
}

/// Texts that another client wrote are read as texts, too.
#[test]
fn what_lies_in_a_catalogue_is_read_as_it_is() {
    for (lake, shop) in on_servers() {
        let kind = shop.kind;
        for (number, odd) in TEXTS.into_iter().enumerate() {
            let (table, said) = (format!("t{number}"), kind.literal(odd));
            let text_type = kind.text();
            shop.run(&match kind {
                Kind::Mariadb => format!(
                    "CREATE TABLE {table} (c {text_type} DEFAULT {said} COMMENT {said}) COMMENT {said}"
                ),
                _ => format!(
                    "CREATE TABLE {table} (c {text_type} DEFAULT {said}); COMMENT ON TABLE {table} IS {said}; \
                     COMMENT ON COLUMN {table}.c IS {said}"
                ),
            });
        }
        let sync = lake.read_in(shop.source);
        assert_eq!((&sync["state"], &sync["errors"]), (&json!("success"), &json!([])), "{sync}");
        for (number, odd) in TEXTS.into_iter().enumerate() {
            let id = id_named(&lake, &shop, &format!("t{number}"));
            let table = lake.server.get(&path(id)).data();
            assert_eq!(text(&table, "tableComment"), odd);
            let field: Value = fields(&lake, id).remove(0);
            assert_eq!((text(&field, "fieldComment"), text(&field, "defaultValue")), (odd, odd), "{field}");
        }
    }
}
