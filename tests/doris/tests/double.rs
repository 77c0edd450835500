//! The double, seen by a plain client of the MySQL protocol.

use std::time::Duration;

use lakeport_doris_double::{Double, Settings};
use serde_json::json;
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row};

const ORDERS: &str = "CREATE TABLE `ods`.`orders` (`id` BIGINT NOT NULL COMMENT \"the order\", `v` INT NULL) \
                      ENGINE = OLAP UNIQUE KEY (`id`) COMMENT \"what was ordered\" \
                      DISTRIBUTED BY HASH (`id`) BUCKETS 4 PROPERTIES (\"replication_num\" = \"1\")";
const JOBS: &str =
    "SHOW ALTER TABLE COLUMN FROM `ods` WHERE TableName = \"orders\" ORDER BY JobId DESC LIMIT 1";

struct Client(MySqlConnection);

impl Client {
    fn options(double: &Double) -> MySqlConnectOptions {
        MySqlConnectOptions::new()
            .host("127.0.0.1")
            .port(double.address().port())
            .username("root")
            .ssl_mode(MySqlSslMode::Disabled)
            .pipes_as_concat(false)
            .no_engine_substitution(false)
            .timezone(None)
            .set_names(false)
    }

    async fn connect(double: &Double) -> Client {
        Client(Client::options(double).connect().await.expect("it takes a session"))
    }

    /// Rows of texts as received, or the error's message.
    async fn say(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, String> {
        let rows = sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).fetch_all(&mut self.0).await;
        let rows = rows.map_err(|error| error.to_string())?;
        Ok(rows.iter().map(|row| (0..row.len()).map(|at| row.get_unchecked(at)).collect()).collect())
    }

    async fn state(&mut self) -> Option<String> {
        let rows = self.say(JOBS).await.expect("a list of jobs");
        rows.first()
            .and_then(|row| row.iter().flatten().find(|cell| STATES.contains(&cell.as_str())).cloned())
    }
}

const STATES: [&str; 5] = ["PENDING", "WAITING_TXN", "RUNNING", "FINISHED", "CANCELLED"];

fn on(settings: Settings, test: impl AsyncFnOnce(&Double)) {
    let double = Double::start(settings).expect("it starts");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(test(&double));
}

fn tell(double: &Double, asked: serde_json::Value) -> serde_json::Value {
    double.tell(&asked).unwrap_or_else(|message| panic!("{asked}: {message}"))
}

#[test]
fn a_table_is_made_described_renamed_and_dropped() {
    on(Settings::doris(), async |double| {
        let mut client = Client::connect(double).await;
        client.say(ORDERS).await.expect("made");
        let rows = client.say("DESC `ods`.`orders`").await.expect("described");
        assert_eq!(rows[0][0].as_deref(), Some("id"));
        client.say("ALTER TABLE `ods`.`orders` RENAME `bills`").await.expect("renamed");
        assert!(client.say("DESC `ods`.`orders`").await.is_err());
        client.say("DROP TABLE `ods`.`bills`").await.expect("dropped");
        assert_eq!(tell(double, json!({"do": "recycled"})), json!(["ods.bills"]));
    });
}

#[test]
fn unknown_statements_fail_and_are_recorded() {
    on(Settings::doris(), async |double| {
        let mut client = Client::connect(double).await;
        assert!(client.say("CREATE TABLE t (k INT PRIMARY KEY) ENGINE=InnoDB").await.is_err());
        assert!(client.say("SELECT 1; SELECT 2").await.is_err());
        client.say(ORDERS).await.expect("made");
        assert_eq!(double.carried_out(), [ORDERS]);
        let record = tell(double, json!({"do": "record"}));
        assert_eq!(record.as_array().map(Vec::len), Some(3));
    });
}

#[test]
fn a_change_becomes_a_job() {
    on(Settings::doris(), async |double| {
        let mut client = Client::connect(double).await;
        client.say(ORDERS).await.expect("made");
        client.say("ALTER TABLE `ods`.`orders` MODIFY COLUMN `v` BIGINT NULL").await.expect("submitted");
        let mut seen = Vec::new();
        for _ in 0..4 {
            seen.push(client.state().await.expect("there is a job"));
        }
        assert_eq!(seen.last().map(String::as_str), Some("FINISHED"), "{seen:?}");
        tell(double, json!({"do": "jobs", "then": "cancel", "message": "not enough memory"}));
        client.say("ALTER TABLE `ods`.`orders` MODIFY COLUMN `v` LARGEINT NULL").await.expect("submitted");
        for _ in 0..4 {
            seen.push(client.state().await.expect("there is a job"));
        }
        assert_eq!(seen.last().map(String::as_str), Some("CANCELLED"), "{seen:?}");
    });
}

#[test]
fn a_job_continues_without_connections() {
    on(Settings::doris(), async |double| {
        let mut client = Client::connect(double).await;
        client.say(ORDERS).await.expect("made");
        tell(double, json!({"do": "jobs", "then": "hold"}));
        client.say("ALTER TABLE `ods`.`orders` MODIFY COLUMN `v` BIGINT NULL").await.expect("submitted");
        assert_eq!(client.state().await.as_deref(), Some("PENDING"));
        client.0.close().await.expect("it lets go");
        let of_v =
            || tell(double, json!({"do": "table", "table": "ods.orders"}))["columns"][1]["type"].clone();
        assert_eq!(of_v(), "int");
        tell(double, json!({"do": "job", "table": "ods.orders", "state": "FINISHED"}));
        assert_eq!(of_v(), "bigint");
        let mut other = Client::connect(double).await;
        assert_eq!(other.state().await.as_deref(), Some("FINISHED"));
    });
}

#[test]
fn a_job_outlives_its_lost_connection() {
    on(Settings::doris(), async |double| {
        let mut client = Client::connect(double).await;
        client.say(ORDERS).await.expect("made");
        tell(double, json!({"do": "lose", "at": "after", "with": "MODIFY COLUMN"}));
        assert!(client.say("ALTER TABLE `ods`.`orders` MODIFY COLUMN `v` BIGINT NULL").await.is_err());
        let mut other = Client::connect(double).await;
        let mut seen = Vec::new();
        for _ in 0..4 {
            seen.push(other.state().await.expect("there is a job"));
        }
        assert_eq!(seen, ["PENDING", "WAITING_TXN", "RUNNING", "FINISHED"]);
    });
}

/// A table whose rows replace rows as they are read, with a field that follows each update.
const READINGS: &str = "CREATE TABLE `ods`.`readings` (`id` BIGINT NOT NULL, `v` VARCHAR(9) NULL DEFAULT \"a\"\"b\", \
                        `at` DATETIME NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP) \
                        ENGINE = OLAP UNIQUE KEY (`id`) DISTRIBUTED BY HASH (`id`) BUCKETS 4 \
                        PROPERTIES (\"replication_num\" = \"1\", \"enable_unique_key_merge_on_write\" = \"false\")";

#[test]
fn merge_on_read_shows_but_refuses_replace() {
    on(Settings::doris(), async |double| {
        let mut client = Client::connect(double).await;
        client.say(READINGS).await.expect("made");
        let rows = client.say("DESC `ods`.`readings`").await.expect("described");
        let extra: Vec<_> = rows.iter().map(|row| row[5].as_deref().unwrap_or_default()).collect();
        assert_eq!(extra, ["", "REPLACE", "REPLACE"]);
        let said =
            "ALTER TABLE `ods`.`readings` MODIFY COLUMN `v` VARCHAR(19) REPLACE NULL DEFAULT \"a\"\"b\"";
        assert!(client.say(said).await.is_err());
        client.say(&said.replace(" REPLACE", "")).await.expect("taken");
        client.say(ORDERS).await.expect("made");
        let rows = client.say("DESC `ods`.`orders`").await.expect("described");
        assert_eq!(rows[1][5].as_deref(), Some("NONE"));
    });
}

#[test]
fn omitting_on_update_removes_it() {
    on(Settings::doris(), async |double| {
        let mut client = Client::connect(double).await;
        tell(double, json!({"do": "say", "sql": READINGS}));
        let rows = client.say("SHOW CREATE TABLE `ods`.`readings`").await.expect("shown");
        let stamped = "`at` datetime NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP";
        assert!(rows[0][1].as_deref().is_some_and(|text| text.contains(stamped)), "{rows:?}");
        let said = "ALTER TABLE `ods`.`readings` MODIFY COLUMN `at` DATETIME NULL DEFAULT CURRENT_TIMESTAMP COMMENT 'x'";
        tell(double, json!({"do": "say", "sql": said}));
        let table = tell(double, json!({"do": "table", "table": "ods.readings"}));
        assert_eq!(table["columns"][2]["stamped"], false, "{table}");
    });
}

#[test]
fn only_the_older_parser_unescapes_defaults() {
    let added = r#"ALTER TABLE `ods`.`orders` ADD COLUMN `path` VARCHAR(9) NULL DEFAULT "C:\\x" COMMENT "y""#;
    for (settings, expected) in [(Settings::doris(), r"C:\\x"), (Settings::older_doris(), r"C:\x")] {
        on(settings, async |double| {
            let mut client = Client::connect(double).await;
            let default = |table: &str, at: usize| {
                tell(double, json!({"do": "table", "table": table}))["columns"][at]["default"].clone()
            };
            client.say(READINGS).await.expect("made");
            assert_eq!(default("ods.readings", 1), r#"a""b"#);
            client.say(ORDERS).await.expect("made");
            client.say(added).await.expect("added");
            assert_eq!(default("ods.orders", 2), expected);
        });
    }
}

#[test]
fn while_a_job_runs_nothing_else_is_altered() {
    on(Settings::doris(), async |double| {
        let mut client = Client::connect(double).await;
        client.say(ORDERS).await.expect("made");
        tell(double, json!({"do": "jobs", "then": "hold"}));
        client.say("ALTER TABLE `ods`.`orders` MODIFY COLUMN `v` BIGINT NULL").await.expect("submitted");
        let refused = client.say("ALTER TABLE `ods`.`orders` RENAME `bills`").await.expect_err("it is busy");
        assert!(refused.contains("not NORMAL"), "{refused}");
        client.say("CANCEL ALTER TABLE COLUMN FROM `ods`.`orders`").await.expect("stopped");
        client.say("ALTER TABLE `ods`.`orders` RENAME `bills`").await.expect("it is free again");
    });
}

#[test]
fn starrocks_refuses_what_doris_takes_and_the_settings_of_drivers() {
    on(Settings::starrocks(), async |double| {
        let driver = Client::options(double).pipes_as_concat(true).connect().await;
        assert!(driver.expect_err("it sets an expression").to_string().contains("constant expr"));
        let mut client = Client::connect(double).await;
        client.say(&ORDERS.replace("UNIQUE KEY", "PRIMARY KEY")).await.expect("made");
        assert!(client.say("ALTER TABLE `ods`.`orders` MODIFY COMMENT \"x\"").await.is_err());
        assert!(client.say("ALTER TABLE `ods`.`orders` RENAME COLUMN `v` `w`").await.is_err());
        client.say("ALTER TABLE `ods`.`orders` COMMENT = \"x\"").await.expect("said in its way");
        client.say("ALTER TABLE `ods`.`orders` RENAME COLUMN `v` TO `w`").await.expect("renamed");
    });
}

#[test]
fn no_statement_is_prepared() {
    on(Settings::doris(), async |double| {
        let mut client = Client::connect(double).await;
        let prepared = sqlx::query("SHOW CREATE TABLE `ods`.`orders`").execute(&mut client.0).await;
        assert!(prepared.is_err());
        let record = tell(double, json!({"do": "record"}));
        assert_eq!(record[0]["outcome"], "prepared");
    });
}

#[test]
fn a_connection_is_lost_where_it_was_wanted() {
    on(Settings::doris(), async |double| {
        for (at, made) in [("before", false), ("after", true)] {
            let mut client = Client::connect(double).await;
            tell(double, json!({"do": "lose", "at": at, "with": "CREATE TABLE"}));
            assert!(client.say(ORDERS).await.is_err());
            assert_eq!(!tell(double, json!({"do": "table", "table": "ods.orders"})).is_null(), made, "{at}");
        }
        let mut client = Client::connect(double).await;
        tell(double, json!({"do": "lose", "at": "middle", "with": "DESC"}));
        assert!(client.say("DESC `ods`.`orders`").await.is_err());
    });
}

#[test]
fn a_slow_statement_is_stopped_from_another_session() {
    on(Settings::doris(), async |double| {
        let (mut one, mut other) = (Client::connect(double).await, Client::connect(double).await);
        one.say(ORDERS).await.expect("made");
        let id = one.say("SELECT connection_id() AS id").await.expect("an id")[0][0].clone().expect("an id");
        tell(double, json!({"do": "slow", "ms": 60_000, "with": "SELECT count(*)"}));
        let kill = async {
            // The first cancellation may arrive before the statement has begun to wait.
            let mut every = tokio::time::interval(Duration::from_millis(20));
            loop {
                every.tick().await;
                other.say(&format!("KILL QUERY {id}")).await.expect("taken");
            }
        };
        let stopped = tokio::select! {
            answer = one.say("SELECT count(*) AS n FROM `ods`.`orders`") => answer,
            () = kill => Ok(Vec::new()),
        };
        assert!(stopped.expect_err("it was stopped").contains("cancel query"));
        one.0.ping().await.expect("the session goes on");
    });
}

/// On the audit log: when it begins, and which tables were read when.
const BEGAN: &str = "SELECT unix_timestamp(min(a.`time`)) AS began FROM `__internal_schema`.`audit_log` AS a";
const READ: &str = "SELECT date_format(convert_tz(a.`time`, @@time_zone, \"UTC\"), '%Y-%m-%d') AS on_day, \
                    count(*) AS accesses, array_join(a.queried_tables_and_views, ',') AS read_tables, \
                    unix_timestamp(max(a.`time`)) AS last_time FROM `__internal_schema`.`audit_log` AS a \
                    WHERE a.`time` >= from_unixtime(0) AND a.is_query = 1 AND a.`user` NOT IN (\"lakeport\") \
                    GROUP BY on_day, read_tables ORDER BY on_day, read_tables LIMIT 11 OFFSET 0";

fn logged(double: &Double) {
    let row = |time: &str, user: &str, table: &str| {
        json!({ "time": time, "user": user, "db": "ods", "state": "EOF", "is_query": 1, "stmt": "SELECT 1",
            "queried_tables_and_views": [table] })
    };
    let rows = [
        row("2026-11-02 07:00:00.123", "ana", "internal.ods.orders"),
        row("2026-11-02 09:00:00.5", "ana", "internal.ods.orders"),
        row("2026-11-02 09:00:01", "lakeport", "internal.ods.orders"),
    ];
    tell(double, json!({ "do": "audit", "rows": rows }));
}

#[test]
fn the_audit_log_is_asked_with_the_servers_types() {
    on(Settings { new_catalogue: true, ..Settings::doris() }, async |double| {
        let mut client = Client::connect(double).await;
        assert_eq!(client.say(BEGAN).await.expect("it is empty"), [[None]]);
        logged(double);
        let began = client.say(BEGAN).await.expect("it began");
        assert_eq!(began[0][0].as_deref(), Some("1793574000.123"));
        let rows = client.say(READ).await.expect("it was read");
        let cells = |row: &[Option<String>]| row.iter().flatten().cloned().collect::<Vec<_>>().join(" ");
        let rows: Vec<String> = rows.iter().map(|row| cells(row)).collect();
        // Seven in the morning in Shanghai is the day before in UTC.
        assert_eq!(
            rows,
            [
                "2026-11-01 1 internal.ods.orders 1793574000.123",
                "2026-11-02 1 internal.ods.orders 1793581200.500"
            ]
        );
    });
}

#[test]
fn an_array_is_no_text_to_doris() {
    let cast = "SELECT cast(a.queried_tables_and_views AS STRING) AS read_tables \
                FROM `__internal_schema`.`audit_log` AS a";
    on(Settings { new_catalogue: true, ..Settings::doris() }, async |double| {
        let refused = Client::connect(double).await.say(cast).await.expect_err("it is refused");
        assert!(refused.contains("can not cast from origin type ARRAY<TEXT>"), "{refused}");
    });
}

#[test]
fn a_query_is_read_to_its_end() {
    on(Settings::doris(), async |double| {
        let mut client = Client::connect(double).await;
        client.say(ORDERS).await.expect("made");
        for sql in [
            "SELECT date_format(anything at all",
            "SELECT unix_timestamp(min(a.`nothing`)) AS began FROM `__internal_schema`.`audit_log` AS a",
            "SELECT connection_id(), x AS id",
            "SELECT count(*) AS n FROM `ods`.`orders` FOR UPDATE",
            "SELECT `id`, count(*) AS n FROM `ods`.`orders`",
            "SELECT max(`w`) AS n FROM `ods`.`orders`",
            "SELECT no_such_function(`v`) AS n FROM `ods`.`orders`",
            "SELECT `v` FROM `ods`.`orders` WHERE count(*) > 1",
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n",
        ] {
            assert!(client.say(sql).await.is_err(), "{sql}");
        }
    });
}

#[test]
fn a_series_of_days_comes_from_a_table_function() {
    const SERIES: &str = "WITH `found` AS (SELECT DATE_FORMAT(`orders`.`dt`, '%Y-%m-%d') AS `start`, COUNT(*) AS `n0`, \
        COUNT(DISTINCT `orders`.`v`) AS `n1` FROM `ods`.`orders` WHERE `orders`.`dt` >= '2026-11-01' \
        AND (`orders`.`v` <> 'x' OR `orders`.`v` IS NULL) GROUP BY 1), `calendar` AS (SELECT DATE_FORMAT(\
        DATE_ADD('2026-10-31', INTERVAL `number` DAY), '%Y-%m-%d') AS `start` FROM numbers(\"number\" = \"3\")) \
        SELECT substr(`calendar`.`start`, 6, 5) AS `day`, COALESCE(`found`.`n0`, 0) AS `orders` FROM `calendar` \
        LEFT JOIN `found` ON `found`.`start` = `calendar`.`start` ORDER BY `calendar`.`start` DESC LIMIT 2";
    on(Settings::doris(), async |double| {
        let mut client = Client::connect(double).await;
        client
            .say(&ORDERS.replace("`v` INT NULL", "`v` VARCHAR(9) NULL, `dt` DATE NULL"))
            .await
            .expect("made");
        let rows = client.say(SERIES).await.expect("answered");
        let rows: Vec<_> = rows.iter().map(|row| row.iter().flatten().cloned().collect::<Vec<_>>()).collect();
        assert_eq!(rows, [["11-02", "0"], ["11-01", "0"]]);
    });
}

#[test]
fn weeks_begin_on_monday() {
    on(Settings::starrocks(), async |double| {
        let mut client = Client::connect(double).await;
        for (day, monday) in [("2026-11-22", "2026-11-16"), ("2026-11-23", "2026-11-23")] {
            let asked = format!(
                "SELECT DATE_FORMAT(DATE_SUB('{day}', INTERVAL ((DAYOFWEEK('{day}') + 5) % 7) DAY), '%Y-%m-%d') AS d"
            );
            assert_eq!(client.say(&asked).await.expect("told"), [[Some(monday.to_owned())]]);
        }
    });
}

#[test]
fn an_unknown_table_has_the_code_of_its_product() {
    for (settings, code) in [(Settings::doris(), 1051), (Settings::starrocks(), 5502)] {
        on(settings, async |double| {
            let mut client = Client::connect(double).await;
            let shown = sqlx::raw_sql("SHOW CREATE TABLE `ods`.`none`").fetch_all(&mut client.0).await;
            let error = shown.expect_err("it is not there").into_database_error().expect("the server's");
            let error = error.downcast_ref::<sqlx::mysql::MySqlDatabaseError>();
            assert_eq!(error.number(), code);
        });
    }
}

#[test]
fn copies_are_counted_where_they_are_made() {
    on(Settings::doris(), async |double| {
        let mut client = Client::connect(double).await;
        client.say(ORDERS).await.expect("made");
        let later = "ALTER TABLE `ods`.`orders` SET (\"default.replication_num\" = \"5\")";
        let now = "ALTER TABLE `ods`.`orders` MODIFY PARTITION (*) SET (\"replication_num\" = \"5\")";
        client.say(later).await.expect("taken");
        assert!(client.say(now).await.is_err());
        tell(double, json!({"do": "property", "table": "ods.orders", "name": "colocate_with", "value": "g"}));
        assert!(client.say(later).await.is_err());
    });
}

#[test]
fn buckets_that_the_server_chose_stay_its_choice() {
    let made = ORDERS
        .replace("`v` INT NULL", "`dt` DATE NOT NULL")
        .replace("UNIQUE KEY (`id`)", "UNIQUE KEY (`id`, `dt`)")
        .replace("DISTRIBUTED", "AUTO PARTITION BY RANGE (DATE_TRUNC(`dt`, 'month')) () DISTRIBUTED")
        .replace("BUCKETS 4", "BUCKETS AUTO");
    on(Settings { new_catalogue: true, ..Settings::doris() }, async |double| {
        let mut client = Client::connect(double).await;
        client.say(&made).await.expect("made");
        tell(double, json!({"do": "partition", "table": "ods.orders", "of": "2026-10-31"}));
        let said = "ALTER TABLE `ods`.`orders` MODIFY DISTRIBUTION DISTRIBUTED BY HASH (`id`) BUCKETS 8";
        client.say(said).await.expect("taken");
        tell(double, json!({"do": "partition", "table": "ods.orders", "of": "2026-11-01"}));
        tell(double, json!({"do": "partition", "table": "ods.orders", "of": "2026-11-30"}));
        let shown = client.say("SHOW CREATE TABLE `ods`.`orders`").await.expect("shown");
        assert!(shown[0][1].as_deref().is_some_and(|text| text.contains("BUCKETS AUTO")), "{shown:?}");
        let partitions = "(PARTITION p20261001000000 VALUES [('2026-10-01'), ('2026-11-01')),\n\
                          PARTITION p20261101000000 VALUES [('2026-11-01'), ('2026-12-01')))";
        assert!(shown[0][1].as_deref().is_some_and(|text| text.contains(partitions)), "{shown:?}");
        let asked = "SELECT p.BUCKET_NUM AS n FROM information_schema.partitions AS p";
        let buckets = client.say(asked).await.expect("told");
        assert_eq!(buckets, [[Some("10".to_owned())], [Some("8".to_owned())]]);
    });
}

#[test]
fn only_a_varchar_is_changed_without_a_job() {
    on(Settings::doris(), async |double| {
        let mut client = Client::connect(double).await;
        client
            .say(&ORDERS.replace("`v` INT NULL", "`v` INT NULL, `t` VARCHAR(9) NOT NULL"))
            .await
            .expect("made");
        client.say("ALTER TABLE `ods`.`orders` MODIFY COLUMN `t` VARCHAR(9) NULL").await.expect("taken");
        assert_eq!(client.state().await, None);
        client
            .say("ALTER TABLE `ods`.`orders` MODIFY COLUMN `v` INT NULL COMMENT \"x\"")
            .await
            .expect("taken");
        assert_eq!(client.state().await.as_deref(), Some("PENDING"));
    });
}

#[test]
fn jobs_of_one_second_differ_by_number() {
    on(Settings::doris(), async |double| {
        let mut client = Client::connect(double).await;
        client.say(ORDERS).await.expect("made");
        tell(double, json!({"do": "job", "table": "ods.orders", "state": "CANCELLED", "message": "old"}));
        tell(double, json!({"do": "job", "table": "ods.orders", "state": "FINISHED"}));
        assert_eq!(client.state().await.as_deref(), Some("FINISHED"));
        let rows = client.say(&JOBS.replace("JobId", "CreateTime")).await.expect("a list of jobs");
        assert_eq!(rows[0][5].as_deref(), Some("CANCELLED"));
    });
}

#[test]
fn views_are_read_and_not_altered() {
    on(Settings::doris(), async |double| {
        let mut client = Client::connect(double).await;
        client.say(ORDERS).await.expect("made");
        let query = "SELECT o.`id`, count(*) AS n FROM `ods`.`orders` AS o GROUP BY o.`id`";
        tell(double, json!({"do": "view", "table": "ods.busy", "sql": query}));
        assert!(double.tell(&json!({"do": "view", "table": "ods.no", "sql": "SELECT x"})).is_err());
        tell(double, json!({"do": "rows", "table": "ods.orders", "rows": 2}));
        let read = client.say("SELECT b.n FROM `ods`.`busy` AS b").await.expect("read");
        assert_eq!(read, [[Some("2".to_owned())]]);
        let asked = "SELECT t.TABLE_TYPE AS kind, t.ENGINE AS engine_name FROM information_schema.tables AS t \
                     WHERE t.TABLE_NAME = 'busy'";
        assert_eq!(
            client.say(asked).await.expect("listed"),
            [["VIEW", "View"].map(|cell| Some(cell.to_owned()))]
        );
        let shown = client.say("SHOW CREATE TABLE `ods`.`busy`").await.expect("shown");
        assert_eq!(shown[0][1].as_deref(), Some(&*format!("CREATE VIEW `busy` AS {query};")));
        for sql in ["ALTER TABLE `ods`.`busy` RENAME `other`", "DROP TABLE `ods`.`busy`"] {
            assert!(client.say(sql).await.is_err(), "{sql}");
        }
    });
}

#[test]
fn in_cloud_mode_copies_and_buckets_stay() {
    on(Settings { cloud: true, ..Settings::doris() }, async |double| {
        let mut client = Client::connect(double).await;
        let made = ORDERS
            .replace("`v` INT NULL", "`dt` DATE NOT NULL")
            .replace("UNIQUE KEY (`id`)", "UNIQUE KEY (`id`, `dt`)")
            .replace("DISTRIBUTED", "AUTO PARTITION BY RANGE (DATE_TRUNC(`dt`, 'month')) () DISTRIBUTED");
        client.say(&made.replace("\"1\"", "\"9\"")).await.expect("the number is ignored");
        let shown = client.say("SHOW CREATE TABLE `ods`.`orders`").await.expect("shown");
        let text = shown[0][1].as_deref().unwrap_or_default();
        assert!(text.contains("file_cache_ttl_seconds") && !text.contains("replication"), "{text}");
        for sql in [
            "ALTER TABLE `ods`.`orders` SET (\"default.replication_num\" = \"1\")",
            "ALTER TABLE `ods`.`orders` MODIFY PARTITION (*) SET (\"replication_num\" = \"1\")",
            "ALTER TABLE `ods`.`orders` MODIFY DISTRIBUTION DISTRIBUTED BY HASH (`id`) BUCKETS 8",
        ] {
            assert!(client.say(sql).await.is_err(), "{sql}");
        }
    });
}

#[test]
fn defaults_are_checked_when_statements_run() {
    on(Settings::doris(), async |double| {
        let mut client = Client::connect(double).await;
        client.say(ORDERS).await.expect("made");
        let add = |definition: &str| format!("ALTER TABLE `ods`.`orders` ADD COLUMN {definition}");
        for definition in [
            "`a` FLOAT NULL DEFAULT \"0.1\"",
            "`a` VARCHAR(3) NULL DEFAULT \"four\"",
            "`a` DATE NULL DEFAULT \"2026-02-30\"",
            "`a` DATETIME NULL DEFAULT \"soon\"",
            "`a` IPV4 NULL DEFAULT \"localhost\"",
            "`a` INT NULL DEFAULT \"3000000000\"",
            "`a` BOOLEAN NULL DEFAULT \"yes\"",
            "`a` JSON NULL DEFAULT \"{}\"",
            "`a` DATE NULL DEFAULT CURRENT_TIMESTAMP",
        ] {
            assert!(client.say(&add(definition)).await.is_err(), "{definition}");
        }
        for definition in ["`a` FLOAT NULL DEFAULT \"0.5\"", "`b` BOOLEAN NULL DEFAULT \"1\""] {
            client.say(&add(definition)).await.expect(definition);
        }
        let redefined =
            "ALTER TABLE `ods`.`orders` MODIFY COLUMN `b` BOOLEAN NULL DEFAULT \"true\" COMMENT \"x\"";
        let refused = client.say(redefined).await.expect_err("it is another text");
        assert!(refused.contains("Can not change default value"), "{refused}");
        assert!(client.say(&ORDERS.replace("replication_num", "strange")).await.is_err());
    });
}

#[test]
fn a_table_with_open_transactions_is_dropped_by_force() {
    on(Settings::doris(), async |double| {
        let mut client = Client::connect(double).await;
        client.say(ORDERS).await.expect("made");
        tell(double, json!({"do": "committed", "table": "ods.orders", "transactions": 1}));
        let refused = client.say("DROP TABLE `ods`.`orders`").await.expect_err("it is busy");
        assert!(refused.contains("COMMITTED"), "{refused}");
        client.say("DROP TABLE `ods`.`orders` FORCE").await.expect("dropped");
    });
}

#[test]
fn a_variant_gets_properties_from_4_0_on() {
    let added = "ALTER TABLE `ods`.`orders` ADD COLUMN `j` VARIANT NULL";
    let with = "variant<PROPERTIES (\"variant_max_subcolumns_count\" = \"2048\")>";
    for (settings, expected) in [(Settings::doris(), with), (Settings::older_doris(), "variant")] {
        on(settings, async |double| {
            let mut client = Client::connect(double).await;
            client.say(ORDERS).await.expect("made");
            client.say(added).await.expect("added");
            let rows = client.say("DESC `ods`.`orders`").await.expect("described");
            assert_eq!(rows[2][1].as_deref(), Some(expected));
        });
    }
}

#[test]
fn a_materialized_view_is_a_table_without_an_engine() {
    on(Settings::doris(), async |double| {
        let mut client = Client::connect(double).await;
        client.say(ORDERS).await.expect("made");
        tell(double, json!({"do": "materialized", "table": "ods.orders"}));
        let asked =
            "SELECT t.TABLE_TYPE AS kind, t.ENGINE AS engine_name FROM information_schema.tables AS t";
        let rows = client.say(asked).await.expect("listed");
        assert_eq!(rows, [[Some("BASE TABLE".to_owned()), None]]);
        assert!(client.say("SHOW CREATE TABLE `ods`.`orders`").await.is_err());
    });
}
