//! Statistics and the CREATE text.

use std::thread;

use lakeport_tests::{Kind, Lake, Warehouse, on_servers, refused};
use serde_json::{Value, json};

use super::{id_named, list, orders, path};

fn ask(lake: &Lake, id: i64, query: &str) -> Value {
    lake.server.get(&format!("{}/statistics{query}", path(id))).data()
}

fn count(lake: &Lake, id: i64, query: &str) -> (Value, Value) {
    let answer = ask(lake, id, query);
    (answer["rowCount"].clone(), answer["cached"].clone())
}

#[test]
fn counts_are_cached_and_kept_as_history() {
    for (lake, shop) in on_servers() {
        let id = orders(&lake, &shop);
        shop.run("INSERT INTO orders VALUES (1, 1), (2, 2), (3, 3)");
        let first = ask(&lake, id, "");
        let shown = (&first["rowCount"], &first["cached"], &first["exact"], &first["clusterId"]);
        assert_eq!(shown, (&json!(3), &json!(false), &json!(true), &json!(shop.source)), "{first}");
        // MariaDB keeps the rows in the index of the key.
        let least = if shop.kind == Kind::Mariadb { 0 } else { 1 };
        assert!(first["dataSize"].as_i64().is_some_and(|bytes| bytes > 0), "{first}");
        assert!(first["indexSize"].as_i64().is_some_and(|bytes| bytes >= least), "{first}");
        shop.run("INSERT INTO orders VALUES (4, 4)");
        assert_eq!(count(&lake, id, ""), (json!(3), json!(true)));
        // Sets the store's times back, as though time had passed.
        let old = |minutes: i64| {
            format!("UPDATE table_statistics SET collected_at = collected_at - {}", minutes * 60_000)
        };
        lake.server.execute(&old(4));
        assert_eq!(count(&lake, id, ""), (json!(3), json!(true)));
        lake.server.execute(&old(1));
        assert_eq!(count(&lake, id, ""), (json!(4), json!(false)));
        shop.run("DELETE FROM orders WHERE id > 1");
        assert_eq!(count(&lake, id, "?forceRefresh=true"), (json!(1), json!(false)));
        assert_eq!(count(&lake, id, ""), (json!(1), json!(true)));
        let history = lake.server.get(&format!("{}/statistics/history", path(id))).data();
        let counts: Vec<&Value> = list(&history).iter().map(|one| &one["rowCount"]).collect();
        assert_eq!(counts, [1, 4, 3], "the newest first");
    }
}

/// Requests that arrive during a query share the next one: six requests make two queries, counted in the
/// server's statement statistics.
#[test]
fn who_asks_at_once_shares_one_question() {
    for (lake, shop) in on_servers() {
        if shop.kind != Kind::Mariadb {
            continue;
        }
        let id = orders(&lake, &shop);
        shop.run("INSERT INTO orders VALUES (1, 1)");
        shop.admin().run("SET GLOBAL log_output = 'TABLE'; SET GLOBAL general_log = ON");
        let mut admin = shop.admin();
        let name = &shop.name;
        let user = format!("user_host LIKE '{name}[%'");
        let seen = |admin: &mut lakeport_tests::Session| {
            let asked = "LOWER(CONVERT(argument USING utf8mb4)) LIKE '%count(*)%'";
            admin.numbers(&format!(
                "SELECT COUNT(*) FROM mysql.general_log WHERE {user} AND command_type IN ('Query', 'Execute') AND {asked}"
            ))[0]
        };
        let before = seen(&mut admin);
        // A single request, to learn the number of statements per query.
        ask(&lake, id, "?forceRefresh=true");
        let alone = seen(&mut admin) - before;
        assert!(alone > 0, "the question is seen");
        lake.server.execute("UPDATE table_statistics SET collected_at = 1");
        let held = {
            let mut session = shop.session();
            session.run("LOCK TABLES orders WRITE");
            session
        };
        let answers: Vec<_> = (0..6)
            .map(|_| {
                let client = lake.server.client();
                thread::spawn(move || client.get(&format!("{}/statistics", path(id))).data())
            })
            .collect();
        let waiting = format!(
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = '{name}' AND STATE LIKE 'Waiting%'"
        );
        lakeport_tests::eventually("one of them waits", super::SOON, || {
            (admin.numbers(&waiting)[0] > 0).then_some(())
        });
        drop(held);
        for answer in answers {
            assert_eq!(answer.join().expect("an answer")["rowCount"], 1);
        }
        let both = seen(&mut admin) - before - alone;
        shop.admin().run("SET GLOBAL general_log = OFF");
        assert!(both <= 2 * alone, "{both} statements for six, {alone} for one");
        let history = lake.server.get(&format!("{}/statistics/history", path(id))).data();
        assert!(list(&history).len() <= 3, "{history}");
    }
}

#[test]
fn a_missing_table_has_no_statistics() {
    for (lake, shop) in on_servers() {
        let id = orders(&lake, &shop);
        shop.run("DROP TABLE orders");
        for what in ["statistics?forceRefresh=true", "ddl"] {
            refused(&lake.server.get(&format!("{}/{what}", path(id))), 409, "schema_drift");
        }
    }
}

/// A table with all features, in its database's SQL.
const RICH_POSTGRES: &str = "CREATE TABLE customers (id integer PRIMARY KEY); \
    CREATE TABLE \"odd \"\" orders\" (id bigint GENERATED BY DEFAULT AS IDENTITY, \"a b\" varchar(40) COLLATE \"C\" \
    NOT NULL DEFAULT 'it''s; DROP TABLE x; --', total numeric(12,2) DEFAULT 1.5 CHECK (total >= 0), customer integer \
    REFERENCES customers (id), twice numeric GENERATED ALWAYS AS (total * 2) STORED, at timestamptz DEFAULT \
    CURRENT_TIMESTAMP, tags text[], doc jsonb, PRIMARY KEY (id, \"a b\"), UNIQUE (total)); \
    CREATE INDEX \"by at\" ON \"odd \"\" orders\" (at DESC) WHERE total > 0; \
    COMMENT ON TABLE \"odd \"\" orders\" IS 'it''s \"one\"\n$$row$$'; \
    COMMENT ON COLUMN \"odd \"\" orders\".\"a b\" IS E'back\\\\slash'";

/// All of the catalogue's data about the tables of `public`, without random values.
const CATALOGUE_POSTGRES: &str = "SELECT concat_ws('|', c.relname, c.relkind, obj_description(c.oid, 'pg_class'), a.attname, \
    format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated, pg_get_expr(d.adbin, d.adrelid), \
    col_description(c.oid, a.attnum), (SELECT collname FROM pg_collation WHERE oid = a.attcollation)) FROM pg_class c JOIN \
    pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped LEFT JOIN pg_attrdef d ON d.adrelid = c.oid \
    AND d.adnum = a.attnum WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') UNION ALL SELECT \
    concat_ws('|', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint WHERE connamespace = \
    'public'::regnamespace UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1";

const RICH_MARIADB: &str = "CREATE TABLE customers (id INT PRIMARY KEY); \
    CREATE TABLE `odd `` orders` (id BIGINT UNSIGNED AUTO_INCREMENT, `a b` VARCHAR(40) CHARACTER SET latin1 NOT NULL \
    DEFAULT 'it''s; DROP TABLE x; --' COMMENT 'back\\\\slash', total DECIMAL(12,2) DEFAULT 1.5 CHECK (total >= 0), customer \
    INT, twice DECIMAL(14,2) AS (total * 2) STORED, at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE \
    CURRENT_TIMESTAMP(3), kind ENUM('a','b''c') DEFAULT 'a', doc JSON, PRIMARY KEY (id, `a b`), UNIQUE (total), INDEX \
    `by at` (at), FOREIGN KEY (customer) REFERENCES customers (id)) COMMENT 'it''s \"one\" row'";

#[test]
fn ddl_recreates_the_same_table_elsewhere() {
    for (lake, shop) in on_servers() {
        let other = lake.warehouse(shop.kind);
        let (rich, name) = match shop.kind {
            Kind::Mariadb => (RICH_MARIADB, "odd ` orders"),
            _ => (RICH_POSTGRES, "odd \" orders"),
        };
        shop.run(rich);
        lake.read_in(shop.source);
        for table in ["customers", name] {
            let ddl = lake.server.get(&format!("{}/ddl", path(id_named(&lake, &shop, table)))).data();
            let ddl = ddl.as_str().expect("a text");
            assert!(ddl.contains("CREATE TABLE"), "{ddl}");
            other.run(ddl);
        }
        if shop.kind == Kind::Mariadb {
            let shown = |warehouse: &Warehouse| {
                warehouse.session().rows(&format!("SHOW CREATE TABLE {}", shop.kind.quoted(name)))
            };
            assert_eq!(shown(&other), shown(&shop));
        } else {
            assert_eq!(other.texts(CATALOGUE_POSTGRES), shop.texts(CATALOGUE_POSTGRES));
        }
    }
}
