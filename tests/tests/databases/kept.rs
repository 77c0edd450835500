//! Properties that a change does not concern but could lose: if they cannot be kept, the change is refused
//! with the reason.

use lakeport_tests::{Kind, on_servers, refused};
use serde_json::json;

use super::{TABLES, field_path, fields, id_named, path, text};

#[test]
fn defaults_of_heirs_and_partitions_are_not_overwritten() {
    for (lake, shop) in on_servers().filter(|(_, shop)| shop.kind == Kind::Postgres) {
        shop.run(
            "CREATE TABLE parent (id integer, total integer DEFAULT 1); \
             CREATE TABLE heir () INHERITS (parent); ALTER TABLE heir ALTER COLUMN total SET DEFAULT 5; \
             CREATE TABLE parts (id integer, total integer DEFAULT 1, note text DEFAULT 'x') PARTITION BY RANGE (id); \
             CREATE TABLE rest PARTITION OF parts (total DEFAULT 5) DEFAULT",
        );
        lake.read_in(shop.source);
        let [parent, parts] = ["parent", "parts"].map(|name| id_named(&lake, &shop, name));
        for (table, field) in [(parent, "total"), (parts, "total")] {
            let form = json!({ "defaultValue": "7" });
            let answer = lake.server.put(&field_path(&lake, table, field), &form);
            refused(&answer, 409, "unsupported_by_dialect");
        }
        lake.server.put(&field_path(&lake, parts, "note"), &json!({ "defaultValue": "y" })).data();
        shop.run("INSERT INTO heir (id) VALUES (1); INSERT INTO parts (id) VALUES (1); INSERT INTO rest (id) VALUES (2)");
        assert_eq!(shop.numbers("SELECT total FROM heir"), [5]);
        assert_eq!(shop.numbers("SELECT total FROM parts ORDER BY id"), [1, 5]);
        assert_eq!(shop.texts("SELECT note FROM parts"), ["y", "y"]);
    }
}

#[test]
fn dropping_an_included_field_is_refused() {
    for (lake, shop) in on_servers().filter(|(_, shop)| shop.kind == Kind::Postgres) {
        shop.run(
            "CREATE TABLE orders (id integer, total integer, note text, PRIMARY KEY (id) INCLUDE (total))",
        );
        lake.read_in(shop.source);
        let id = id_named(&lake, &shop, "orders");
        let total = field_path(&lake, id, "total");
        refused(&lake.server.delete(&total), 409, "in_use");
        assert_eq!(shop.columns("orders"), ["id", "total", "note"]);
    }
}

#[test]
fn the_time_of_the_insert_keeps_its_fraction() {
    for (lake, shop) in on_servers().filter(|(_, shop)| shop.kind == Kind::Postgres) {
        shop.run("CREATE TABLE events (id integer PRIMARY KEY, at timestamptz DEFAULT now())");
        lake.read_in(shop.source);
        let id = id_named(&lake, &shop, "events");
        let form =
            json!({ "fieldName": "seen", "fieldType": "timestamptz", "defaultValue": "CURRENT_TIMESTAMP" });
        lake.server.post(&format!("{}/fields", path(id)), &form).data();
        for name in ["at", "seen"] {
            let all = fields(&lake, id);
            let field = all.iter().find(|field| field["fieldName"] == name).expect("it is there");
            assert_eq!(text(field, "defaultValue"), "CURRENT_TIMESTAMP");
        }
        shop.run("INSERT INTO events (id) SELECT generate_series(1, 1)");
        assert_eq!(shop.numbers("SELECT count(*) FROM events WHERE seen = at"), [1]);
        assert_eq!(super::counts(&lake.read_in(shop.source), "fields"), [0; 3]);
    }
}

#[test]
fn a_table_is_made_with_an_identifier_for_its_key() {
    for (lake, shop) in on_servers().filter(|(_, shop)| shop.kind == Kind::Postgres) {
        let form =
            json!({ "tableName": "orders", "dbName": shop.db, "clusterId": shop.source, "keyColumns": "id" });
        let id = lakeport_tests::id_of(&lake.server.post(TABLES, &form).data());
        let field =
            json!({ "fieldName": "id", "fieldType": "uuid", "isPrimaryKey": true, "isNullable": false });
        lake.server.post(&format!("{}/fields", path(id)), &field).data();
        assert_eq!(lake.server.post(&format!("{}/physical", path(id)), &json!({})).data()["physical"], true);
    }
}

#[test]
fn altered_mariadb_defaults_are_not_written_back() {
    for (lake, shop) in on_servers().filter(|(_, shop)| shop.kind == Kind::Mariadb) {
        shop.run(
            "CREATE SEQUENCE numbers; CREATE TABLE orders (id INT PRIMARY KEY, raw VARBINARY(5) DEFAULT x'ff41', \
             face VARCHAR(9) CHARACTER SET utf8mb4 DEFAULT '😀', doc JSON DEFAULT '{\"a\":1}', \
             number BIGINT DEFAULT nextval(numbers))",
        );
        lake.read_in(shop.source);
        let id = id_named(&lake, &shop, "orders");
        for name in ["raw", "face", "number"] {
            let answer = lake.server.put(&field_path(&lake, id, name), &json!({ "fieldComment": "said" }));
            refused(&answer, 409, "unsupported_by_dialect");
        }
        lake.server.put(&field_path(&lake, id, "doc"), &json!({ "fieldComment": "said" })).data();
        shop.run("INSERT INTO orders (id) VALUES (1)");
        let kept = shop.texts("SELECT CONCAT_WS(' ', HEX(raw), HEX(face), doc, number) FROM orders");
        assert_eq!(kept, [r#"FF41 F09F9880 {"a":1} 1"#]);
    }
}

#[test]
fn a_foreign_view_blocks_a_change() {
    for (lake, shop) in on_servers().filter(|(_, shop)| shop.kind == Kind::Mariadb) {
        let other = lake.warehouse(shop.kind);
        shop.run("CREATE TABLE orders (id INT PRIMARY KEY, total INT)");
        // The account of one database gets access to the other.
        let place = shop.kind.quoted(&other.db);
        shop.admin().run(&format!("GRANT ALL ON {place}.* TO '{}'@'%'", shop.name));
        shop.run(&format!(
            "CREATE VIEW {place}.totals AS SELECT total FROM {}.orders",
            shop.kind.quoted(&shop.db)
        ));
        lake.read_in(shop.source);
        let id = id_named(&lake, &shop, "orders");
        let renamed = lake.server.put(&field_path(&lake, id, "total"), &json!({ "fieldName": "sum" }));
        assert!(matches!(renamed.error().as_str(), "name_taken" | "in_use"), "{renamed:?}");
        assert_eq!(renamed.status, 409);
        assert_eq!(other.numbers("SELECT COUNT(*) FROM totals"), [0]);
    }
}

/// Properties of a partition that differ from its table's.
const PARTITIONED: &str = "CREATE FUNCTION quiet() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; \
    CREATE TABLE parts (id serial, day date) PARTITION BY RANGE (id); \
    COMMENT ON SEQUENCE parts_id_seq IS 'counts'; CREATE INDEX by_day ON parts (day); \
    CREATE TABLE rest (id integer NOT NULL, day date); CREATE INDEX z_attached ON rest (day); \
    ALTER TABLE parts ATTACH PARTITION rest DEFAULT; CREATE INDEX a_own ON rest (day); \
    CREATE TRIGGER guard AFTER INSERT ON parts FOR EACH ROW EXECUTE FUNCTION quiet(); \
    ALTER TABLE rest DISABLE TRIGGER guard";

const OF_PARTITIONS: &str = "SELECT concat_ws('|', tgrelid::regclass, tgname, tgenabled) FROM pg_trigger \
    WHERE NOT tgisinternal UNION ALL SELECT concat_ws('|', inhrelid::regclass, inhparent::regclass) FROM pg_inherits \
    UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' \
    UNION ALL SELECT obj_description('parts_id_seq'::regclass, 'pg_class') ORDER BY 1";

#[test]
fn ddl_includes_partition_settings() {
    for (lake, shop) in on_servers().filter(|(_, shop)| shop.kind == Kind::Postgres) {
        let other = lake.warehouse(shop.kind);
        shop.run(PARTITIONED);
        let (function, _) = PARTITIONED.split_once("; CREATE TABLE").expect("the function comes first");
        other.run(function);
        lake.read_in(shop.source);
        let ddl = lake.server.get(&format!("{}/ddl", path(id_named(&lake, &shop, "parts")))).data();
        other.run(ddl.as_str().expect("a text"));
        assert_eq!(other.texts(OF_PARTITIONS), shop.texts(OF_PARTITIONS));
    }
}
