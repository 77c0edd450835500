//! Automatic statistics and their history (contract, section 4.4).

use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lakeport_tests::{Lake, eventually, stores};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(30);
const DAY_MS: i64 = 86_400_000;

fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970");
    i64::try_from(now.as_millis()).expect("a time")
}

fn history(lake: &Lake, table: i64, rest: &str) -> Vec<Value> {
    let history = lake.server.get(&format!("/api/v1/tables/{table}/statistics/history{rest}")).data();
    history.as_array().unwrap_or_else(|| panic!("{history}")).clone()
}

fn counts(records: &[Value]) -> Vec<i64> {
    records.iter().map(|record| record["rowCount"].as_i64().expect("a count")).collect()
}

/// Simulates that all tables are days old; the job runs a few seconds after a start.
fn age(lake: &mut Lake) {
    lake.server.execute(&format!("UPDATE tables SET created_at = {}", now_ms() - 3 * DAY_MS));
    lake.server.restart();
}

#[test]
fn every_physical_table_is_measured_daily() {
    for store in stores() {
        let mut lake = Lake::start(&store);
        let (dead, source) = (lake.source("dead.db"), lake.source("shop.db"));
        let fields: &[(&str, &str)] = &[("id", "INTEGER")];
        let gone: Vec<i64> =
            (0..4).map(|place| lake.physical_table(dead, &format!("gone_{place}"), fields)).collect();
        let dropped: Vec<i64> =
            (0..2).map(|place| lake.physical_table(source, &format!("dropped_{place}"), fields)).collect();
        let (one, other) =
            (lake.physical_table(source, "one", fields), lake.physical_table(source, "other", fields));
        let logical = lake.table(source, "logical", fields);
        lake.run("shop.db", "INSERT INTO one VALUES (1), (2); DROP TABLE dropped_0; DROP TABLE dropped_1");
        fs::remove_file(lake.path("dead.db")).unwrap();
        assert_eq!(history(&lake, one, ""), [] as [Value; 0], "new tables wait for their time");
        age(&mut lake);
        let collected = eventually("both are measured", SOON, || {
            let both = [one, other].map(|id| history(&lake, id, ""));
            both.iter().all(|history| !history.is_empty()).then_some(both)
        });
        assert_eq!(collected.map(|history| counts(&history)), [vec![2], vec![0]]);
        for id in gone.into_iter().chain(dropped).chain([logical]) {
            assert_eq!(history(&lake, id, ""), [] as [Value; 0]);
        }
        let table = lake.server.get(&format!("/api/v1/tables/{one}")).data();
        assert_eq!(table["rowCount"], 2);
    }
}

#[test]
fn nothing_is_measured_by_itself_where_the_operator_says_so() {
    for store in stores() {
        let mut lake = Lake::prepare(&store);
        lake.server.set("LAKEPORT_STATISTICS_DAILY_AT", "off");
        lake.server.run();
        let shown = lake.server.command_ok(&["config", "--explain", "--json"]);
        let settings: Value = serde_json::from_str(&shown).expect("JSON");
        let settings = settings.as_array().expect("settings");
        let setting = settings.iter().find(|setting| setting["key"] == "statistics_daily_at").unwrap();
        assert_eq!((&setting["value"], &setting["default"]), (&json!("off"), &json!("02:00")));
    }
}

#[test]
fn history_is_limited_by_count_and_time() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let id = lake.physical_table(source, "orders", &[("id", "INTEGER")]);
        // A count for each age, in days; slightly off where a window ends.
        for (days, off_ms) in
            [(0, 0), (1, 0), (6, 0), (7, -60_000), (7, 1), (29, 0), (30, -60_000), (30, 1), (90, 0)]
        {
            let at = now_ms() - days * DAY_MS - off_ms;
            lake.server.execute(&format!(
                "INSERT INTO table_statistics (table_id, cluster_id, row_count, exact, collected_at) \
                 VALUES ({id}, {source}, {}, 1, {at})",
                days * 10 + i64::from(off_ms > 0)
            ));
        }
        assert_eq!(counts(&history(&lake, id, "?limit=4")), [0, 10, 60, 70], "the newest first");
        assert_eq!(history(&lake, id, "").len(), 9);
        assert_eq!(counts(&history(&lake, id, "/last7days")), [70, 60, 10, 0], "the oldest first");
        assert_eq!(counts(&history(&lake, id, "/last30days")), [300, 290, 71, 70, 60, 10, 0]);
        for limit in ["0", "501", "x"] {
            let answer = lake.server.get(&format!("/api/v1/tables/{id}/statistics/history?limit={limit}"));
            assert_eq!((answer.status, answer.error().as_str()), (400, "invalid_input"));
        }
    }
}
