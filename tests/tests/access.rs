//! Access statistics of tables over HTTP (contract, section 4.4).

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use lakeport_tests::{Lake, Response, id_of, stores};
use serde_json::{Value, json};

const DAY_MS: i64 = 86_400_000;

fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970");
    i64::try_from(now.as_millis()).expect("a time")
}

/// Simulates that a question read a table some days ago.
fn read(lake: &Lake, table: i64, source: i64, asked_by: &str, days_ago: i64, outcome: &str) {
    let at = now_ms() - days_ago * DAY_MS;
    lake.server.execute(&format!(
        "INSERT INTO query_log (query_id, datasource_id, table_id, table_name, asked_by, origin, outcome, at) \
         VALUES ('q', {source}, {table}, 'orders', '{asked_by}', 'agent', '{outcome}', {at})"
    ));
}

fn access(lake: &Lake, table: i64, query: &str) -> Response {
    lake.server.get(&format!("/api/v1/tables/{table}/access-stats{query}"))
}

fn counts(stats: &Value) -> Vec<i64> {
    let trend = stats["trend"].as_array().unwrap_or_else(|| panic!("{stats}"));
    trend.iter().map(|point| point["count"].as_i64().expect("a count")).collect()
}

fn note(stats: &Value) -> &str {
    stats["note"].as_str().unwrap_or_else(|| panic!("no note in {stats}"))
}

#[test]
fn reads_count_by_day_and_user() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let id = lake.physical_table(source, "orders", &[("id", "INTEGER")]);
        let none = access(&lake, id, "").data();
        assert_eq!((&none["accessCount"], &none["heat"]), (&json!(0), &json!("none")), "{none}");
        assert_eq!((&none["lastAccessTime"], &none["topUsers"]), (&Value::Null, &json!([])));
        assert_eq!(counts(&none), [0; 14]);

        for (who, days_ago) in [("ann", 0), ("ann", 0), ("bob", 0), ("ann", 1), ("cid", 3), ("old", 40)] {
            read(&lake, id, source, who, days_ago, "success");
        }
        read(&lake, id, source, "ann", 0, "failed");
        read(&lake, id, source + 100, "ann", 0, "success");
        read(&lake, id + 100, source, "ann", 0, "success");
        let stats = access(&lake, id, "?trendDays=5&topUsers=2").data();
        assert_eq!((&stats["tableId"], &stats["clusterId"]), (&json!(id), &json!(source)));
        assert_eq!((&stats["recentDays"], &stats["accessCount"]), (&json!(30), &json!(5)));
        assert_eq!((&stats["heat"], &stats["distinctUsers"]), (&json!("cold"), &json!(3)));
        assert_eq!(counts(&stats), [0, 1, 0, 1, 3], "the oldest first");
        let days: Vec<&str> =
            stats["trend"].as_array().unwrap().iter().filter_map(|point| point["date"].as_str()).collect();
        assert!(days.is_sorted() && days.iter().all(|day| day.len() == 10), "{days:?}");
        let users: Vec<(&Value, &Value)> = stats["topUsers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|user| (&user["user"], &user["count"]))
            .collect();
        assert_eq!(users, [(&json!("ann"), &json!(3)), (&json!("bob"), &json!(1))]);
        assert_eq!(stats["lastAccessTime"], stats["topUsers"][1]["lastAccessTime"], "bob came last");
        assert_eq!((&stats["sources"], &stats["complete"]), (&json!(["lakeport"]), &json!(false)));
        assert!(note(&stats).contains("SQLite keeps no record of accesses"), "{stats}");

        let all = access(&lake, id, "?recentDays=60&trendDays=90").data();
        assert_eq!((&all["accessCount"], counts(&all).iter().sum::<i64>()), (&json!(6), 6));
        let hot = access(&lake, id, "?recentDays=1&trendDays=1").data();
        assert_eq!((&hot["accessCount"], &hot["heat"]), (&json!(3), &json!("warm")));
        let long = access(&lake, id, "?recentDays=365").data();
        assert!(note(&long).contains("retention.query_log_days"), "{long}");
    }
}

#[test]
fn an_unreachable_database_leaves_the_log() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let id = lake.physical_table(source, "orders", &[("id", "INTEGER")]);
        read(&lake, id, source, "ann", 0, "success");
        fs::remove_file(lake.path("shop.db")).unwrap();
        let stats = access(&lake, id, "").data();
        assert_eq!((&stats["accessCount"], &stats["complete"]), (&json!(1), &json!(false)));
        assert!(note(&stats).contains("the database was not counted"), "{stats}");
    }
}

#[test]
fn logical_tables_count_from_the_log() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let id = lake.table(source, "orders", &[("id", "INTEGER")]);
        read(&lake, id, source, "ann", 0, "success");
        let stats = access(&lake, id, "").data();
        assert_eq!((&stats["accessCount"], &stats["sources"]), (&json!(1), &json!(["lakeport"])));
        assert!(note(&stats).contains("not in its database"), "{stats}");
        let form = json!({ "tableName": "loose", "dbName": "main" });
        let loose = id_of(&lake.server.post("/api/v1/tables", &form).data());
        let stats = access(&lake, loose, "").data();
        assert_eq!((&stats["accessCount"], &stats["clusterId"]), (&json!(0), &Value::Null));
    }
}

#[test]
fn bounds_ids_and_rights_are_checked() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let id = lake.table(source, "orders", &[("id", "INTEGER")]);
        for query in [
            "?recentDays=0",
            "?recentDays=366",
            "?trendDays=0",
            "?trendDays=91",
            "?topUsers=0",
            "?topUsers=51",
            "?recentDays=many",
        ] {
            let answer = access(&lake, id, query);
            assert_eq!((answer.status, answer.error().as_str()), (400, "invalid_input"), "{query}");
        }
        let edge = access(&lake, id, "?recentDays=365&trendDays=90&topUsers=50").data();
        assert_eq!(counts(&edge).len(), 90);
        assert_eq!(access(&lake, 999, "").status, 404);
        let wrong = access(&lake, id, &format!("?clusterId={}", source + 1));
        assert_eq!((wrong.status, wrong.error().as_str()), (409, "wrong_cluster"));
        lake.source("other.db");
        let bound = ["token", "create", "--role", "viewer", "--name", "bob", "--datasources", "other.db"];
        let bob = lake.server.client_as(lake.server.command_ok(&bound).trim());
        let refused = bob.get(&format!("/api/v1/tables/{id}/access-stats"));
        assert_eq!((refused.status, refused.error().as_str()), (403, "datasource_not_allowed"));
    }
}
