//! Creating and changing tables in their database.

use lakeport_tests::{Kind, Lake, Warehouse, id_of, named, on_servers, refused};
use serde_json::{Value, json};

use super::{TABLES, agree, field_names, field_path, fields, known, list, more, orders, path, text};

/// The statements of a dry run.
#[track_caller]
fn planned(answer: &Value) -> Vec<String> {
    let statements = list(&answer["statements"]);
    for statement in statements {
        for member in ["sql", "undo", "destroys", "note"] {
            assert!(statement.get(member).is_some(), "no {member}: {statement}");
        }
    }
    statements.iter().map(|statement| text(statement, "sql").to_owned()).collect()
}

/// One column as the database itself describes it: type, nullability, default, comment.
fn column(shop: &Warehouse, table: &str, column: &str) -> [String; 4] {
    let (db, table, column) =
        (shop.kind.literal(&shop.db), shop.kind.literal(table), shop.kind.literal(column));
    let rows = shop.session().rows(&match shop.kind {
        Kind::Mariadb => format!(
            "SELECT COLUMN_TYPE, IS_NULLABLE, COALESCE(COLUMN_DEFAULT, 'NULL'), COLUMN_COMMENT FROM \
             information_schema.COLUMNS WHERE TABLE_SCHEMA = {db} AND TABLE_NAME = {table} AND COLUMN_NAME = {column}"
        ),
        _ => format!(
            "SELECT format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnotnull THEN 'NO' ELSE 'YES' END, \
             COALESCE(pg_get_expr(d.adbin, d.adrelid), 'NULL'), COALESCE(col_description(a.attrelid, a.attnum), '') \
             FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = \
             a.attrelid AND d.adnum = a.attnum WHERE c.relnamespace = {db}::regnamespace AND c.relname = {table} AND \
             a.attname = {column}"
        ),
    });
    assert_eq!(rows.len(), 1, "one column {column}");
    let cells = rows.into_iter().next().expect("there is one");
    cells.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>().try_into().expect("four cells")
}

fn table_comment(shop: &Warehouse, table: &str) -> String {
    let (db, table) = (shop.kind.literal(&shop.db), shop.kind.literal(table));
    shop.texts(&match shop.kind {
        Kind::Mariadb => format!(
            "SELECT TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = {db} AND TABLE_NAME = {table}"
        ),
        _ => format!(
            "SELECT obj_description(oid, 'pg_class') FROM pg_class WHERE relnamespace = {db}::regnamespace AND \
             relname = {table}"
        ),
    })
    .remove(0)
}

#[test]
fn a_table_is_made_as_it_was_defined() {
    for (lake, shop) in on_servers() {
        let (integer, decimal, at) = match shop.kind {
            Kind::Mariadb => ("BIGINT", "DECIMAL(12,2)", "DATETIME(3)"),
            _ => ("bigint", "numeric(12,2)", "timestamp(3)"),
        };
        let form = json!({ "tableName": "orders", "dbName": shop.db, "clusterId": shop.source,
            "tableComment": "one row an order", "keyColumns": "region,id" });
        let id = id_of(&lake.server.post(TABLES, &form).data());
        for field in [
            json!({ "fieldName": "id", "fieldType": integer, "isPrimaryKey": true, "isNullable": false }),
            json!({ "fieldName": "region", "fieldType": shop.kind.text(), "isPrimaryKey": true, "isNullable": false }),
            json!({ "fieldName": "total", "fieldType": decimal, "defaultValue": "1.50", "fieldComment": "in euro" }),
            json!({ "fieldName": "at", "fieldType": at, "isNullable": false, "defaultValue": "CURRENT_TIMESTAMP(3)" }),
            json!({ "fieldName": "note", "fieldType": shop.kind.text(), "defaultValue": "it's \"none\" \\ 无" }),
        ] {
            lake.server.post(&format!("{}/fields", path(id)), &field).data();
        }
        let physical = format!("{}/physical", path(id));
        let statements = planned(&lake.server.post(&format!("{physical}?dryRun=true"), &json!({})).data());
        assert!(statements[0].starts_with("CREATE TABLE"), "{statements:?}");
        assert_eq!(shop.tables(), [] as [String; 0], "nothing was made");
        let made = lake.server.post(&physical, &json!({})).data();
        assert_eq!(made["physical"], true, "{made}");
        agree(&lake, &shop, id);
        assert_eq!(table_comment(&shop, "orders"), "one row an order");
        let total = column(&shop, "orders", "total");
        assert_eq!(
            (total[0].as_str(), total[1].as_str(), total[3].as_str()),
            (if shop.kind == Kind::Mariadb { "decimal(12,2)" } else { "numeric(12,2)" }, "YES", "in euro")
        );
        assert_eq!(column(&shop, "orders", "at")[1], "NO");
        shop.run("INSERT INTO orders (id, region) VALUES (1, 'north'), (1, 'south')");
        assert_eq!(shop.texts("SELECT total FROM orders"), ["1.50", "1.50"]);
        assert_eq!(shop.texts("SELECT note FROM orders")[0], "it's \"none\" \\ 无");
        let twice = shop.session().try_run("INSERT INTO orders (id, region) VALUES (1, 'south')");
        twice.expect_err("the key is one");
        refused(&lake.server.post(&physical, &json!({})), 409, "already_physical");
        // A sync reads back exactly what was created.
        let sync = lake.read_in(shop.source);
        assert_eq!(super::counts(&sync, "tables"), [0; 3], "{sync}");
        assert_eq!(super::counts(&sync, "fields"), [0; 3], "{sync}");
        assert_eq!(known(&lake, &shop).len(), 1);
    }
}

#[test]
fn a_field_is_added_changed_renamed_and_dropped() {
    for (lake, shop) in on_servers() {
        let id = orders(&lake, &shop);
        shop.run("INSERT INTO orders VALUES (1, 10), (2, 20)");
        let all = format!("{}/fields", path(id));
        let form = json!({ "fieldName": "note", "fieldType": "VARCHAR(20)", "fieldComment": "of ours", "defaultValue": "-" });
        let statements = planned(&lake.server.post(&format!("{all}?dryRun=true"), &form).data());
        assert!(statements[0].contains("ADD"), "{statements:?}");
        assert_eq!(shop.columns("orders"), ["id", "total"]);
        lake.server.post(&all, &form).data();
        agree(&lake, &shop, id);
        assert_eq!(shop.texts("SELECT note FROM orders"), ["-", "-"]);
        assert_eq!(column(&shop, "orders", "note")[3], "of ours");

        // Wider, otherwise unchanged.
        let note = field_path(&lake, id, "note");
        lake.server.put(&note, &json!({ "fieldType": "VARCHAR(60)" })).data();
        let now = column(&shop, "orders", "note");
        assert!(now[0].ends_with("(60)") && now[1] == "YES" && now[2].contains('-'), "{now:?}");
        assert_eq!(now[3], "of ours");
        lake.server.put(&note, &json!({ "fieldComment": "changed", "defaultValue": "none" })).data();
        let now = column(&shop, "orders", "note");
        assert!(now[2].contains("none") && now[3] == "changed" && now[0].ends_with("(60)"), "{now:?}");
        lake.server.put(&note, &json!({ "isNullable": false })).data();
        assert_eq!(column(&shop, "orders", "note")[1], "NO");
        lake.server
            .put(&note, &json!({ "fieldName": "remark", "defaultValue": null, "isNullable": true }))
            .data();
        let now = column(&shop, "orders", "remark");
        assert!(now[1] == "YES" && now[2] == "NULL" && now[3] == "changed", "{now:?}");
        assert_eq!(shop.texts("SELECT remark FROM orders"), ["-", "-"], "the rows are as they were");
        agree(&lake, &shop, id);

        let remark = field_path(&lake, id, "remark");
        let dry = lake.server.delete(&format!("{remark}?dryRun=true")).data();
        assert_eq!(list(&dry["statements"])[0]["destroys"], true, "{dry}");
        lake.server.delete(&remark).data();
        agree(&lake, &shop, id);
        assert_eq!(field_names(&lake, id), ["id", "total"]);
        assert_eq!(shop.numbers("SELECT total FROM orders ORDER BY id"), [10, 20]);
        let changes = lake.server.get(&format!("{}/changes", path(id))).data();
        assert!(list(&changes).iter().all(|change| change["state"] == "success"), "{changes}");
    }
}

#[test]
fn a_table_is_renamed_and_its_comment_changed() {
    for (lake, shop) in on_servers() {
        let id = orders(&lake, &shop);
        shop.run("INSERT INTO orders VALUES (1, 10)");
        let statements = planned(
            &lake.server.put(&format!("{}?dryRun=true", path(id)), &json!({ "tableName": "bills" })).data(),
        );
        assert!(statements[0].contains("RENAME"), "{statements:?}");
        lake.server.put(&path(id), &json!({ "tableName": "bills" })).data();
        assert_eq!(
            (shop.tables(), shop.numbers("SELECT total FROM bills")),
            (vec!["bills".to_owned()], vec![10])
        );
        let comment = format!("{}/comment", path(id));
        let dry =
            planned(&lake.server.put(&format!("{comment}?dryRun=true"), &json!({ "comment": "x" })).data());
        assert!(dry[0].contains("COMMENT"), "{dry:?}");
        lake.server.put(&comment, &json!({ "comment": "of all bills" })).data();
        assert_eq!(table_comment(&shop, "bills"), "of all bills");
        agree(&lake, &shop, id);
        shop.run("CREATE TABLE taken (id integer)");
        refused(&lake.server.put(&path(id), &json!({ "tableName": "taken" })), 409, "name_taken");
        assert_eq!(shop.tables(), ["bills", "taken"]);
        assert_eq!(lake.server.get(&path(id)).data()["tableName"], "bills");
    }
}

#[test]
fn what_a_database_cannot_do_is_refused_and_changes_nothing() {
    for (lake, shop) in on_servers() {
        let id = orders(&lake, &shop);
        shop.run("INSERT INTO orders VALUES (1, 70000)");
        let before = lake.server.get(&path(id)).data();
        for form in [json!({ "replicaNum": 3 }), json!({ "bucketNum": 4 })] {
            let answer = lake.server.put(&path(id), &form);
            refused(&answer, 409, "unsupported_by_dialect");
            let member = form.as_object().and_then(|form| form.keys().next().cloned()).expect("a member");
            assert!(format!("{answer:?}").contains(&member), "{answer:?}");
        }
        let key = lake.server.delete(&field_path(&lake, id, "id"));
        assert!(matches!(key.status, 400 | 409), "{key:?}");
        refused(
            &lake.server.put(&field_path(&lake, id, "id"), &json!({ "isPrimaryKey": false })),
            409,
            "not_changeable",
        );
        // 70000 does not fit.
        let lossy = lake.server.put(&field_path(&lake, id, "total"), &json!({ "fieldType": "SMALLINT" }));
        assert!(lossy.status == 409, "{lossy:?}");
        let after = lake.server.get(&path(id)).data();
        assert_eq!(before, after);
        agree(&lake, &shop, id);
        assert_eq!(shop.numbers("SELECT total FROM orders"), [70_000]);
    }
}

#[test]
fn names_over_the_limit_are_refused_before_they_are_sent() {
    for (lake, shop) in on_servers() {
        let id = orders(&lake, &shop);
        let (fits, too_long) = match shop.kind {
            Kind::Postgres => (["f".repeat(63), "列".repeat(21)], ["f".repeat(64), "列".repeat(22)]),
            _ => (["f".repeat(64), "列".repeat(64)], ["f".repeat(65), "列".repeat(65)]),
        };
        let all = format!("{}/fields", path(id));
        for name in too_long {
            let form = json!({ "fieldName": name, "fieldType": shop.kind.integer() });
            assert_eq!(named(&lake.server.post(&all, &form)), ["fieldName"]);
            let renamed = lake.server.put(&field_path(&lake, id, "total"), &json!({ "fieldName": name }));
            assert_eq!(named(&renamed), ["fieldName"]);
        }
        assert_eq!(shop.columns("orders"), ["id", "total"]);
        for name in fits {
            let form = json!({ "fieldName": name, "fieldType": shop.kind.integer() });
            lake.server.post(&all, &form).data();
        }
        agree(&lake, &shop, id);
    }
}

#[test]
fn a_change_reconciles_outside_changes_or_conflicts() {
    for (lake, shop) in on_servers() {
        let id = orders(&lake, &shop);
        shop.run("ALTER TABLE orders DROP COLUMN total");
        let gone = lake.server.put(&field_path(&lake, id, "total"), &json!({ "fieldName": "sum" }));
        refused(&gone, 409, "schema_drift");
        assert_eq!(field_names(&lake, id), ["id", "total"]);
        let sync = lake.read_in(shop.source);
        assert_eq!(super::counts(&sync, "fields"), [0, 0, 1], "{sync}");
        let drift = lake.server.get(&path(id)).data()["drift"].clone();
        assert!(
            !fields(&lake, id).iter().any(|field| field["fieldName"] == "total") || !list(&drift).is_empty()
        );
        shop.run("DROP TABLE orders");
        refused(&lake.server.post(&format!("{}/fields", path(id)), &more(&shop)), 409, "schema_drift");
    }
}

#[test]
fn concurrent_changes_wait_or_are_refused() {
    for (lake, shop) in on_servers() {
        let id = orders(&lake, &shop);
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let asking: Vec<_> = (0..6)
                .map(|number| {
                    let client = lake.server.client();
                    let form = json!({ "fieldName": format!("f{number}"), "fieldType": shop.kind.integer() });
                    scope.spawn(move || client.post(&format!("{}/fields", path(id)), &form).status)
                })
                .collect();
            asking.into_iter().map(|asked| asked.join().expect("asked")).collect()
        });
        assert!(statuses.iter().all(|status| matches!(status, 200 | 409)), "{statuses:?}");
        assert!(statuses.contains(&200));
        agree(&lake, &shop, id);
    }
}

/// A default, a type and a key from before Lakeport's first sync survive other changes.
#[test]
fn what_is_beside_a_change_stays_as_it_was() {
    for (lake, shop) in on_servers() {
        shop.run(match shop.kind {
            Kind::Mariadb => {
                "CREATE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT, total INT UNSIGNED NOT NULL DEFAULT 7 COMMENT \
                 'sum', word VARCHAR(20) NOT NULL DEFAULT '', INDEX by_total (total), CHECK (total < 1000))"
            }
            _ => {
                "CREATE TABLE orders (id integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY, total integer NOT NULL \
                 DEFAULT 7 CHECK (total < 1000), word varchar(20) NOT NULL DEFAULT ''); CREATE INDEX by_total ON orders (total); \
                 COMMENT ON COLUMN orders.total IS 'sum'"
            }
        });
        lake.read_in(shop.source);
        let id = super::id_named(&lake, &shop, "orders");
        let before = column(&shop, "orders", "total");
        let word =
            fields(&lake, id).into_iter().find(|field| field["fieldName"] == "word").expect("it is there");
        assert_eq!(word["defaultValue"], "", "an empty text is a default: {word}");
        lake.server.put(&field_path(&lake, id, "word"), &json!({ "fieldComment": "said" })).data();
        lake.server.post(&format!("{}/fields", path(id)), &more(&shop)).data();
        lake.server.put(&field_path(&lake, id, "more"), &json!({ "fieldName": "less" })).data();
        lake.server.put(&path(id), &json!({ "tableName": "bills" })).data();
        assert_eq!(column(&shop, "bills", "total"), before);
        shop.run("INSERT INTO bills (total) VALUES (DEFAULT)");
        assert_eq!(shop.numbers("SELECT id FROM bills WHERE total = 7 AND word = ''"), [1]);
        shop.session().try_run("INSERT INTO bills (total) VALUES (1000)").expect_err("it is still checked");
        let indexes = shop.texts(match shop.kind {
            Kind::Mariadb => "SHOW INDEX FROM bills WHERE Key_name = 'by_total'",
            _ => "SELECT indexname FROM pg_indexes WHERE indexname = 'by_total'",
        });
        assert_eq!(indexes.len(), 1);
    }
}

/// Creates a table whose every part has an odd name, and drops it.
#[test]
fn odd_names_of_fields_and_tables_are_names() {
    const ODD: [&str; 9] =
        ["select", "a b", "列", "quo'te", "\"quoted\"", "back`tick", "semi;colon--", "back\\slash", "${x}"];
    for (lake, shop) in on_servers() {
        for (number, name) in ODD.into_iter().enumerate() {
            let made = |lake: &Lake| {
                lake.physical_table_of(
                    &shop,
                    name,
                    &[(name, shop.kind.integer()), ("other", shop.kind.integer())],
                )
            };
            let id = made(&lake);
            assert_eq!(shop.columns(name), [name, "other"]);
            let (next, renamed) = (ODD[(number + 1) % ODD.len()], format!("new {name}"));
            lake.server.put(&field_path(&lake, id, "other"), &json!({ "fieldName": next })).data();
            lake.server.put(&path(id), &json!({ "tableName": renamed })).data();
            assert_eq!(shop.columns(&renamed), [name, next]);
            agree(&lake, &shop, id);
        }
        assert_eq!(
            super::counts(&lake.read_in(shop.source), "tables"),
            [0; 3],
            "they read as they were written"
        );
    }
}
