//! The data that a task of a topic can see and query, in this process: on each store, with a SQLite data
//! source of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lakeport::agent::access::{Asked, TopicAccess};
use lakeport::compose;
use lakeport::config::{Config, Environment, Overrides};
use lakeport::part::Start;
use lakeport_bindings::host::data::Cell;
use lakeport_bindings::host::types::{Error, Page};
use lakeport_bindings::tool::catalog::Filter;
use lakeport_bindings::tool::lineage::GraphRequest;
use lakeport_bindings::tool::query::{QueryRequest, QueryResult};
use lakeport_physical::WorkerProcesses;
use lakeport_plugins::Compiler;
use lakeport_plugins::Topic;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, Connection, Executor, PgPool, SqliteConnection};
use tempfile::TempDir;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

/// 2026-06-30 17:30:00 UTC, in Shanghai already the first of July.
const AT_MS: i64 = 1_782_840_600_000;
const ENDLESS: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";

struct Server {
    app: Arc<compose::Server>,
    workers: TaskTracker,
    schema: Option<(PgPool, String)>,
    _folder: TempDir,
}

/// Runs the test on SQLite, and on PostgreSQL if one is configured.
async fn on_each_store(test: impl AsyncFn(&Server)) {
    let sqlite = std::iter::once(None);
    for postgres in sqlite.chain(test_postgres().map(Some)) {
        let postgres = postgres.as_deref();
        let server = Server::start(postgres).await;
        test(&server).await;
        server.stop().await;
    }
}

#[expect(clippy::disallowed_methods, reason = "a test has no configuration but its environment")]
fn test_postgres() -> Option<String> {
    std::env::var("LAKEPORT_TEST_POSTGRES").ok()
}

/// Runs the test if the store is a file.
async fn on_sqlite(test: impl AsyncFn(&Server)) {
    let server = Server::start(None).await;
    test(&server).await;
    server.stop().await;
}

impl Server {
    async fn start(postgres: Option<&str>) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().canonicalize().unwrap();
        let mut settings = vec![
            ("data_dir", place.join("data").display().to_string()),
            ("sqlite_roots", place.display().to_string()),
            // Shares the compiled code between servers.
            ("plugins.cache_dir", concat!(env!("CARGO_TARGET_TMPDIR"), "/compiled").to_owned()),
        ];
        let mut schema = None;
        if let Some(url) = postgres {
            let admin = PgPool::connect(url).await.unwrap();
            let name = format!("reach_{}", Uuid::now_v7().simple());
            sqlx::query(AssertSqlSafe(format!("CREATE SCHEMA {name}"))).execute(&admin).await.unwrap();
            let joint = if url.contains('?') { '&' } else { '?' };
            settings.push(("database_url", format!("{url}{joint}options[search_path]={name}")));
            schema = Some((admin, name));
        }
        let file = place.join("lakeport.toml");
        let key = "key = '0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef'\n";
        let key = if postgres.is_some() { key } else { "" };
        std::fs::write(&file, format!("time_zone = 'Asia/Shanghai'\n{key}")).unwrap();
        let overrides = Overrides { config_file: Some(file), settings };
        let config = Config::load(&overrides, &Environment::default()).unwrap();
        let app = Arc::new(
            compose::Server::start(config, Compiler::Inside, WorkerProcesses::inside()).await.unwrap(),
        );
        fill(&app).await;
        shop(&place).await;
        let workers = TaskTracker::new();
        app.start_workers(&workers, Start::AtOnce);
        Server { app, workers, schema, _folder: folder }
    }

    async fn stop(self) {
        self.app.stopping.cancel();
        self.app.changes.stop().await;
        self.workers.close();
        self.workers.wait().await;
        self.app.close().await;
        if let Some((admin, name)) = self.schema {
            sqlx::query(AssertSqlSafe(format!("DROP SCHEMA {name} CASCADE"))).execute(&admin).await.unwrap();
        }
    }

    fn topic(&self, datasources: Option<&[&str]>) -> Arc<TopicAccess> {
        self.topic_until(datasources, Arc::default())
    }

    fn topic_until(&self, datasources: Option<&[&str]>, cancelled: Arc<AtomicBool>) -> Arc<TopicAccess> {
        let asked = Asked {
            task_id: "t".to_owned(),
            caller_name: "ada".to_owned(),
            datasources: datasources.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
            cancelled,
        };
        TopicAccess::new(Arc::clone(&self.app.modules.agent), asked)
    }
}

async fn shop(place: &Path) {
    let path: PathBuf = place.join("shop.db");
    let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
    let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
    let script = "CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT, amount REAL, placed_at TEXT); \
        INSERT INTO orders VALUES (1, 'paid', 10.5, '2026-06-01'), (2, 'paid', 20, '2026-06-02'), \
        (3, 'open', 5, '2026-06-02'); CREATE TABLE 客户 (编号 INTEGER, 城市 TEXT); \
        INSERT INTO 客户 VALUES (1, '上海'); CREATE TABLE hidden (a); INSERT INTO hidden VALUES (1); \
        CREATE TABLE binned (a); CREATE VIEW peeking AS SELECT sql FROM sqlite_schema";
    connection.execute(AssertSqlSafe(script)).await.unwrap();
    connection.close().await.unwrap();
}

/// Two data sources with tables, a workflow that was published twice and one that was deleted.
async fn fill(app: &compose::Server) {
    let statements = [
        "INSERT INTO datasources (id, name, kind, url, is_default, created_at, updated_at) VALUES \
         (50, 'shop', 'sqlite', 'sqlite:shop.db', 1, 0, 0), (51, 'other', 'sqlite', 'sqlite:other.db', 0, 0, 0)",
        "INSERT INTO tables (id, cluster_id, db_name, table_name, table_comment, layer, physical, status, created_at, \
         updated_at) VALUES (60, 50, 'main', 'orders', 'Orders of customers', 'ODS', 1, 'active', 0, 0), \
         (61, 50, 'main', '客户', '客户信息', 'ODS', 1, 'active', 0, 0), \
         (62, 50, 'main', 'planned', 'Only designed', NULL, 0, 'active', 0, 0), \
         (63, 50, 'main', 'binned', 'In the bin', NULL, 1, 'deprecated', 0, 0), \
         (64, 51, 'main', 'secrets_of_others', 'Elsewhere', NULL, 1, 'active', 0, 0), \
         (65, 50, 'main', 'sqlite_schema', 'A trap', NULL, 1, 'active', 0, 0), \
         (66, 50, 'main', 'peeking', 'A view of what SQLite keeps', NULL, 1, 'active', 0, 0)",
        "UPDATE tables SET tags = '[\"core\",\"销售\"]', foreign_keys = '[\
         {\"field\":\"status\",\"database\":\"main\",\"table\":\"客户\",\"key\":\"编号\"},\
         {\"field\":\"id\",\"database\":\"main\",\"table\":\"binned\",\"key\":\"a\"},\
         {\"field\":\"id\",\"database\":\"main\",\"table\":\"secrets_of_others\",\"key\":\"a\"}]' WHERE id = 60",
        "INSERT INTO fields (table_id, field_name, field_type, field_comment, is_primary_key, is_nullable, field_order, \
         created_at, updated_at) VALUES (60, 'id', 'INTEGER', NULL, 1, 0, 1, 0, 0), \
         (60, 'status', 'TEXT', 'paid or open', 0, 1, 2, 0, 0), \
         (60, 'amount', 'REAL', 'What it costs (订单金额)', 0, 1, 3, 0, 0), \
         (60, 'placed_at', 'TEXT', NULL, 0, 1, 4, 0, 0), (61, '编号', 'INTEGER', NULL, 0, 1, 1, 0, 0), \
         (61, '城市', 'TEXT', '所在城市', 0, 1, 2, 0, 0)",
        "INSERT INTO workflows (id, name, name_folded, scheduler_engine, content, version, changed_version, \
         schedule_version, parts, task_count, binding_count, text_bytes, status, publication, published_version, \
         created_by, updated_by, created_at, updated_at, deleted_at) VALUES \
         (70, 'daily', 'daily', 'local', '{\"name\":\"daily\",\"description\":\"each day\"}', 2, 2, 1, '', 1, 2, 0, \
         'online', 'none', 2, 'ada', 'ada', $1, $1, NULL), \
         (71, 'gone', 'gone', 'local', '{}', 1, 1, 1, '', 0, 0, 0, 'draft', 'none', NULL, 'ada', 'ada', $1, $1, $1)",
        "INSERT INTO publications (workflow_id, version, status, submitted_by, submitter, submitted_at, decided_by, \
         decided_at, deployment_state, deployment_finished_at) VALUES \
         (70, 1, 'APPROVED', 'ada', 'ada', $1, 'eve', $1, 'success', $1), \
         (70, 2, 'APPROVED', 'ada', 'ada', $1, 'eve', $1, 'success', $1), \
         (71, 1, 'APPROVED', 'ada', 'ada', $1, 'eve', $1, 'failed', $1)",
        "INSERT INTO tasks (id, workflow_id, task_name, name_folded, task_type, datasource_id, priority, timeout, \
         retry_times, retry_interval, inputs_given, outputs_given, digest, created_at, updated_at) VALUES \
         (80, 70, 'clean', 'clean', 'SQL', 50, 'MEDIUM', 0, 0, 0, 1, 1, '', 0, 0)",
        "INSERT INTO task_tables (task_id, direction, table_id, place, workflow_id) VALUES (80, 'input', 60, 0, 70), \
         (80, 'output', 61, 0, 70), (80, 'output', 64, 1, 70)",
    ];
    let mut tx = app.db.begin().await.unwrap();
    for statement in statements {
        let values = if statement.contains("$1") { vec![AT_MS.into()] } else { Vec::new() };
        tx.execute(statement, &values).await.unwrap();
    }
    for id in 60..=66 {
        tx.changed(lakeport::tables::TOPIC, id.to_string());
    }
    tx.changed(lakeport::workflows::tasks::TOPIC, "80");
    tx.commit().await.unwrap();
}

async fn ask(topic: &TopicAccess, datasource: &str, sql: &str) -> Result<QueryResult, Error> {
    let request = QueryRequest {
        datasource: datasource.to_owned(),
        sql: sql.to_owned(),
        max_rows: 0,
        max_bytes: 0,
        timeout_ms: 0,
    };
    let answer = topic.run(request).await;
    topic.unlogged().log().await;
    answer
}

async fn names_found(topic: &TopicAccess, text: &str) -> Vec<String> {
    let page = Page { cursor: None, limit: 5 };
    let found = topic.search(text.to_owned(), nothing(), page).await.unwrap();
    found.hits.into_iter().map(|hit| hit.table.name).collect()
}

fn nothing() -> Filter {
    Filter { datasource: None, database: None, layer: None, business_domain: None }
}

fn text(text: &str) -> Cell {
    Cell::Text(text.to_owned())
}

fn rule(error: &Error) -> &str {
    error.context.iter().find(|(name, _)| name == "rule").map_or("", |(_, rule)| rule.as_str())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_catalogue_is_searched_in_both_languages() {
    on_each_store(async |server| {
        let topic = server.topic(None);
        assert_eq!(names_found(&topic, "最近30天工作流发布次数的趋势").await[0], "publications");
        let question = "How many workflows were published per day in the last 30 days?";
        assert_eq!(names_found(&topic, question).await[0], "publications");
        assert_eq!(names_found(&topic, "which orders were paid").await[0], "orders");
        assert_eq!(names_found(&topic, "订单金额最高的").await[0], "orders");
        assert_eq!(names_found(&topic, "每个城市有多少客户").await[0], "客户");
        assert_eq!(names_found(&topic, "任务执行失败的次数").await[0], "executions");
        assert_eq!(names_found(&topic, "zzz").await, [] as [&str; 0]);
        assert!(!names_found(&topic, "In the bin").await.contains(&"binned".to_owned()));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_are_resolved_listed_and_shown_with_their_fields() {
    on_each_store(async |server| {
        let topic = server.topic(None);
        assert_eq!(topic.default_datasource().await.as_deref(), Some("shop"));
        let sources: Vec<String> = topic.datasources().await.into_iter().map(|source| source.name).collect();
        assert_eq!(sources, ["lakeport", "other", "shop"]);
        for name in ["ORDERS", "main.orders", "\"shop\".main.`Orders`"] {
            let found = topic.resolve(name.to_owned()).await.unwrap();
            assert_eq!(found.iter().map(|head| head.id).collect::<Vec<_>>(), [60], "{name}");
        }
        assert!(topic.resolve("binned".to_owned()).await.unwrap().is_empty());
        let own = topic.resolve("lakeport.main.publications".to_owned()).await.unwrap().remove(0);
        assert!(own.id > 1 << 62 && own.physical);

        let answer = topic.get(vec![60, 63, own.id, 999, 60]).await.unwrap();
        assert!(answer[1].is_none() && answer[3].is_none());
        let orders = answer[0].as_ref().unwrap();
        assert_eq!(orders, answer[4].as_ref().unwrap());
        assert_eq!(
            orders.fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>(),
            ["id", "status", "amount", "placed_at"]
        );
        assert!(orders.fields[0].key && !orders.fields[0].nullable);
        assert!(answer[2].as_ref().unwrap().fields.iter().any(|field| field.comment.contains("发布时间")));
        assert_eq!(topic.get(vec![1; 101]).await.unwrap_err().code, "limit_exceeded");

        let mut all = Vec::new();
        let mut cursor = None;
        loop {
            let page = topic.tables(nothing(), Page { cursor, limit: 4 }).await.unwrap();
            all.extend(page.tables.into_iter().map(|head| format!("{}.{}", head.datasource, head.name)));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        let mut sorted = all.clone();
        sorted.sort();
        assert_eq!((all.len(), &all), (13, &sorted));
        let of_shop =
            Filter { datasource: Some("shop".to_owned()), layer: Some("ods".to_owned()), ..nothing() };
        let page = topic.tables(of_shop, Page { cursor: None, limit: 100 }).await.unwrap();
        assert_eq!(page.tables.len(), 2);
        let wrong = Filter { datasource: Some("nowhere".to_owned()), ..nothing() };
        let error = topic.tables(wrong, Page { cursor: None, limit: 1 }).await.unwrap_err();
        assert!(
            error.code == "not_found" && error.message.contains("lakeport, other, shop"),
            "{}",
            error.message
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn details_are_tags_and_keys_to_visible_tables() {
    on_each_store(async |server| {
        let topic = server.topic(None);
        let own = topic.resolve("lakeport.main.publications".to_owned()).await.unwrap().remove(0);
        let details = topic.details(vec![60, 61, 63, own.id, 999, 60]).await.unwrap();
        let orders = details[0].as_ref().unwrap();
        assert_eq!(orders.tags, ["core", "销售"]);
        let references: Vec<(&str, u64, &str)> =
            orders.references.iter().map(|one| (one.field.as_str(), one.table, one.key.as_str())).collect();
        assert_eq!(references, [("status", 61, "编号")]);
        assert_eq!(details[5].as_ref(), Some(orders));
        assert!(details[2].is_none() && details[4].is_none());
        for plain in [&details[1], &details[3]] {
            assert!(plain.as_ref().is_some_and(|of| of.tags.is_empty() && of.references.is_empty()));
        }
        assert_eq!(topic.details(vec![1; 101]).await.unwrap_err().code, "limit_exceeded");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_topic_sees_only_its_sources() {
    on_each_store(async |server| {
        let topic = server.topic(Some(&["shop"]));
        assert_eq!(topic.details(vec![64]).await.unwrap(), [None]);
        assert_eq!(topic.datasources().await.len(), 1);
        assert!(names_found(&topic, "workflows published").await.is_empty());
        assert!(topic.resolve("secrets_of_others".to_owned()).await.unwrap().is_empty());
        assert_eq!(topic.get(vec![64]).await.unwrap(), [None]);
        for source in ["other", "lakeport"] {
            assert_eq!(ask(&topic, source, "SELECT 1").await.unwrap_err().code, "not_found");
        }
        let request = GraphRequest { table: 60, direction: "both".to_owned(), depth: None, max_nodes: 0 };
        let graph = topic.around(request.clone()).await.unwrap();
        assert_eq!(graph.nodes.iter().map(|node| node.table.id).collect::<Vec<_>>(), [60, 61]);
        assert_eq!((graph.edges.len(), graph.omitted_nodes), (1, 0));
        assert_eq!(graph.edges[0].tasks, ["clean"]);
        let all = server.topic(None).around(request).await.unwrap();
        assert_eq!(all.nodes.len(), 3);
        assert_eq!(all.nodes[1].distance, 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_is_answered_within_its_bounds_and_written_down() {
    on_each_store(async |server| {
        let topic = server.topic(None);
        let sql =
            "SELECT o.status, sum(o.amount) AS total FROM Orders o GROUP BY 1 ORDER BY 2 DESC -- why not";
        let answer = ask(&topic, "shop", sql).await.unwrap();
        assert_eq!(
            answer.rows.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>(),
            ["status", "total"]
        );
        assert_eq!(answer.rows.rows, [[text("paid"), Cell::Float(30.5)], [text("open"), Cell::Float(5.0)]]);
        assert!(!answer.rows.truncated);
        let answer =
            ask(&topic, "shop", "SELECT 城市 FROM \"客户\" UNION ALL SELECT status FROM main.orders").await;
        assert_eq!(answer.unwrap().rows.rows.len(), 4);
        let request = QueryRequest {
            datasource: "shop".to_owned(),
            sql: "SELECT * FROM orders".to_owned(),
            max_rows: 2,
            max_bytes: 0,
            timeout_ms: 0,
        };
        let answer = topic.run(request).await.unwrap();
        assert!(answer.rows.truncated && answer.rows.rows.len() == 2);
        let request = QueryRequest {
            datasource: "shop".to_owned(),
            sql: ENDLESS.to_owned(),
            max_rows: 0,
            max_bytes: 0,
            timeout_ms: 100,
        };
        assert_eq!(topic.run(request).await.unwrap_err().code, "timeout");
        let error = ask(&topic, "shop", "SELECT nothing_such FROM orders").await.unwrap_err();
        assert!(
            error.code == "upstream_failed" && error.message.contains("nothing_such"),
            "{}",
            error.message
        );
        topic.unlogged().log().await;
        let log = "SELECT table_name, asked_by, outcome FROM query_log ORDER BY id";
        let log = server.app.db.read(log, &[]).await.unwrap();
        let log: Vec<(Option<String>, String, String)> =
            log.iter().map(|row| (row.get(0).unwrap(), row.get(1).unwrap(), row.get(2).unwrap())).collect();
        let row = |name: Option<&str>, outcome: &str| {
            (name.map(str::to_owned), "ada".to_owned(), outcome.to_owned())
        };
        assert_eq!(
            log,
            [
                row(Some("orders"), "success"),
                row(Some("orders"), "success"),
                row(Some("客户"), "success"),
                row(Some("orders"), "success"),
                row(None, "failed"),
                row(Some("orders"), "failed"),
            ]
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_is_judged_without_being_run() {
    on_each_store(async |server| {
        let topic = server.topic(None);
        let judged = async |sql: &str| topic.check("shop".to_owned(), sql.to_owned()).await.unwrap();
        let verdict = judged("SELECT id, nope FROM orders o JOIN missing m ON m.id = o.id").await;
        assert!(!verdict.allowed);
        let refusal = verdict.refusal.unwrap();
        assert_eq!((refusal.code.as_str(), rule(&refusal)), ("guard_refused", "not_permitted"));
        assert!(refusal.message.contains("`missing`"), "{}", refusal.message);
        assert_eq!(verdict.unknown_names, ["missing"]);
        let reads: Vec<_> = verdict.reads.iter().map(|used| (used.name.join("."), used.id)).collect();
        assert_eq!(reads, [("missing".to_owned(), None), ("orders".to_owned(), Some(60))]);
        let verdict = judged("SELECT id, nope, rowid AS r FROM orders ORDER BY r").await;
        assert!(verdict.allowed && verdict.refusal.is_none());
        assert_eq!(verdict.unknown_names, ["nope"]);
        let verdict = judged("DELETE FROM orders").await;
        assert!(!verdict.allowed && verdict.reads.is_empty());
        let error = topic.check("nowhere".to_owned(), "SELECT 1".to_owned()).await.unwrap_err();
        assert_eq!(error.code, "not_found");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn samples_are_what_fields_hold() {
    on_each_store(async |server| {
        let topic = server.topic(None);
        let fields = vec!["status".to_owned(), "amount".to_owned()];
        let samples = topic.samples(60, fields, 2).await.unwrap();
        assert_eq!(samples[0].values, [text("paid"), text("open")]);
        assert_eq!(samples[1].values.len(), 2);
        let again = topic.samples(60, vec!["status".to_owned()], 1).await.unwrap();
        assert_eq!(again[0].values, [text("paid")]);
        let texts = vec!["PAID".to_owned(), "gone".to_owned(), "' OR 1=1 --".to_owned()];
        let found = topic.find(60, vec!["status".to_owned(), "amount".to_owned()], texts).await.unwrap();
        let found: Vec<(&str, &Cell)> = found.iter().map(|one| (one.field.as_str(), &one.value)).collect();
        assert_eq!(found, [("status", &text("paid"))]);
        let many = vec!["x".to_owned(); 21];
        assert_eq!(topic.find(60, vec!["status".to_owned()], many).await.unwrap_err().code, "limit_exceeded");
        for (table, field, code) in
            [(62, "a", "not_found"), (60, "nope", "not_found"), (63, "a", "not_found")]
        {
            assert_eq!(topic.samples(table, vec![field.to_owned()], 1).await.unwrap_err().code, code);
        }
        let many = vec!["status".to_owned(); 51];
        assert_eq!(topic.samples(60, many, 1).await.unwrap_err().code, "limit_exceeded");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_ends_database_queries_within_a_second() {
    on_each_store(async |server| {
        let cancelled = Arc::new(AtomicBool::new(false));
        let topic = server.topic_until(None, Arc::clone(&cancelled));
        let begun = Instant::now();
        let (answer, ()) = tokio::join!(ask(&topic, "shop", ENDLESS), async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            cancelled.store(true, Ordering::Relaxed);
        });
        assert_eq!(answer.unwrap_err().code, "cancelled");
        assert!(begun.elapsed() < Duration::from_millis(1_100), "{:?}", begun.elapsed());
        assert_eq!(ask(&topic, "shop", "SELECT 1").await.unwrap_err().code, "cancelled");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_platform_is_asked_about_itself() {
    on_sqlite(async |server| {
        let topic = server.topic(None);
        let rows = async |sql: &str| {
            ask(&topic, "lakeport", sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}")).rows.rows
        };
        let found =
            rows("SELECT name, description, publish_status, current_version, created_at FROM workflows")
                .await;
        let created = text("2026-07-01 01:30:00");
        assert_eq!(found, [[text("daily"), text("each day"), text("published"), Cell::Integer(2), created]]);
        let found = rows(
            "WITH RECURSIVE days(day) AS (SELECT '2026-06-30' UNION ALL SELECT date(day, '+1 day') FROM days \
             WHERE day < '2026-07-02') SELECT days.day, count(p.id) AS publications FROM days \
             LEFT JOIN publications p ON date(p.published_at) = days.day GROUP BY 1 ORDER BY 1",
        )
        .await;
        let day = |day: &str, count: i64| vec![text(day), Cell::Integer(count)];
        assert_eq!(found, [day("2026-06-30", 0), day("2026-07-01", 2), day("2026-07-02", 0)]);
        let found =
            rows("SELECT source_name, target_name, task_name, workflow_name FROM lineage ORDER BY 2").await;
        assert_eq!(found.len(), 2);
        let found = rows("SELECT count(*) FROM tables WHERE physical = 1").await;
        assert_eq!(found, [[Cell::Integer(5)]]);
        let found =
            rows("SELECT table_name, asked_by, origin FROM access WHERE table_name = 'workflows'").await;
        assert_eq!(found, [[text("workflows"), text("ada"), text("agent")]]);
        assert_eq!(rows("SELECT * FROM tasks t JOIN executions e ON e.task_id = t.id").await.len(), 0);

        let bound = server.topic(Some(&["lakeport", "shop"]));
        let answer = ask(&bound, "lakeport", "SELECT count(*) FROM tables").await.unwrap();
        assert_eq!(answer.rows.rows, [[Cell::Integer(5)]]);
        let answer = ask(&bound, "lakeport", "SELECT target_name FROM lineage").await.unwrap();
        assert_eq!(answer.rows.rows, [[text("客户")]]);
        let publications = topic.resolve("publications".to_owned()).await.unwrap()[0].id;
        let samples = topic.samples(publications, vec!["deployment_state".to_owned()], 5).await.unwrap();
        assert_eq!(samples[0].values, [text("success"), text("failed")]);
    })
    .await;
}

/// If the guard missed one of these, the database's own authorizer would still refuse it; that is tested
/// separately.
const HOSTILE: &[(&str, &str)] = &[
    ("INSERT INTO orders VALUES (9, 'x', 1, '')", "reads_only"),
    ("UPDATE orders SET amount = 0", "reads_only"),
    ("DELETE FROM orders", "reads_only"),
    ("DROP TABLE orders", "reads_only"),
    ("CREATE TABLE t (a INTEGER)", "reads_only"),
    ("CREATE TEMP VIEW v AS SELECT * FROM main.tokens", "reads_only"),
    ("WITH x AS (SELECT 1) DELETE FROM orders", ""),
    ("WITH x AS (DELETE FROM orders RETURNING id) SELECT * FROM x", ""),
    ("WITH x AS (INSERT INTO orders VALUES (9) RETURNING id) SELECT * FROM x", ""),
    ("REPLACE INTO orders VALUES (1)", ""),
    ("SELECT 1; DELETE FROM orders", "one_statement"),
    ("SELECT 1; SELECT 2", "one_statement"),
    ("SELECT 1 /* ; */; DROP TABLE orders -- ", "one_statement"),
    ("", "one_statement"),
    (";", "one_statement"),
    ("SELECT 1 /*! ; DROP TABLE orders */", "parse"),
    ("SELECT 1 /* never closed", ""),
    ("SELECT 'never closed", ""),
    ("PRAGMA table_info(orders)", ""),
    ("PRAGMA query_only = OFF", ""),
    ("ATTACH DATABASE 'data/lakeport.db' AS own", ""),
    ("ATTACH 'x.db' AS x", ""),
    ("DETACH main", ""),
    ("VACUUM INTO '/tmp/copy.db'", ""),
    ("ANALYZE", ""),
    ("REINDEX", ""),
    ("BEGIN", ""),
    ("COMMIT", ""),
    ("SELECT load_extension('evil')", "denied_function"),
    ("SELECT LOAD_EXTENSION('evil')", "denied_function"),
    ("SELECT \"load_extension\"('evil')", "denied_function"),
    ("SELECT readfile('/etc/passwd')", "denied_function"),
    ("SELECT writefile('x', 'y')", "denied_function"),
    ("SELECT randomblob(1000000000)", "denied_function"),
    ("SELECT * FROM pragma_table_info('orders')", "denied_function"),
    ("SELECT * FROM pragma_table_list", "not_permitted"),
    ("SELECT * FROM pragma_database_list()", "denied_function"),
    ("SELECT * FROM sqlite_schema", "not_permitted"),
    ("SELECT * FROM SQLITE_MASTER", "not_permitted"),
    ("SELECT * FROM main.sqlite_master", "not_permitted"),
    ("SELECT * FROM \"sqlite_schema\"", "not_permitted"),
    ("SELECT * FROM temp.sqlite_master", "not_permitted"),
    ("SELECT * FROM sqlite_temp_schema", "not_permitted"),
    ("SELECT * FROM sqlite_sequence", "not_permitted"),
    ("SELECT * FROM tokens", "not_permitted"),
    ("SELECT * FROM main.tokens", "not_permitted"),
    ("SELECT * FROM MAIN.\"Tokens\"", "not_permitted"),
    ("SELECT * FROM [tokens]", ""),
    ("SELECT * FROM `tokens`", "not_permitted"),
    ("SELECT digest FROM (SELECT * FROM tokens)", "not_permitted"),
    ("SELECT 1 WHERE EXISTS (SELECT 1 FROM tokens)", "not_permitted"),
    ("SELECT (SELECT digest FROM tokens LIMIT 1)", "not_permitted"),
    ("SELECT 1 UNION SELECT digest FROM tokens", "not_permitted"),
    ("SELECT 1 UNION ALL SELECT 2 EXCEPT SELECT id FROM main.datasources", "not_permitted"),
    ("WITH tokens2 AS (SELECT * FROM tokens) SELECT * FROM tokens2", "not_permitted"),
    ("WITH tokens AS (SELECT * FROM main.tokens) SELECT * FROM tokens", "not_permitted"),
    ("SELECT * FROM (WITH tokens AS (SELECT 1 AS a) SELECT * FROM tokens), tokens", "not_permitted"),
    ("SELECT secret FROM datasources", "not_permitted"),
    ("SELECT * FROM main.datasources", "not_permitted"),
    ("SELECT * FROM engines", "not_permitted"),
    ("SELECT * FROM idempotency_keys", "not_permitted"),
    ("SELECT * FROM to/**/kens", ""),
    ("SELECT * FROM -- orders\ntokens", "not_permitted"),
    ("SELECT * FROM 令牌", "not_permitted"),
    ("SELECT * FROM \"令牌\"", "not_permitted"),
    ("SELECT * FROM hidden", "not_permitted"),
    ("SELECT * FROM planned", "not_permitted"),
    ("SELECT * FROM binned", "not_permitted"),
    ("SELECT 1 WHERE 1 IN tokens", ""),
    ("TABLE tokens", ""),
    ("VALUES (1) UNION SELECT digest FROM tokens", ""),
    ("EXPLAIN DELETE FROM orders", ""),
    ("SELECT 1 INTO copy FROM orders", ""),
    ("SELECT * FROM temp.orders", "not_permitted"),
    ("SELECT * FROM other.orders", "not_permitted"),
    ("SELECT * FROM lakeport.main.workflows", "not_permitted"),
    ("SELECT nextval('x')", "denied_function"),
    ("COPY orders TO '/tmp/x'", ""),
];

#[tokio::test(flavor = "multi_thread")]
async fn what_is_hostile_never_reaches_a_database() {
    on_sqlite(async |server| {
        for source in ["shop", "lakeport"] {
            let topic = server.topic(None);
            for (sql, wanted) in HOSTILE {
                let error = ask(&topic, source, sql).await.expect_err(sql);
                assert_eq!(error.code, "guard_refused", "{source}: {sql}: {error:?}");
                assert!(wanted.is_empty() || rule(&error) == *wanted, "{source}: {sql}: {error:?}");
            }
        }
        let own = [
            "main.workflows",
            "temp.workflows",
            "main.publications",
            "task_tables",
            "query_log",
            "runs",
            "topics",
        ];
        for table in own {
            let sql = format!("SELECT * FROM {table}");
            let error = ask(&server.topic(None), "lakeport", &sql).await.expect_err(&sql);
            assert!(error.message.contains(table) && rule(&error) == "not_permitted", "{error:?}");
        }
        // A user's view that exposes SQLite's internals: the guard cannot know this, but the database does.
        let error = ask(&server.topic(None), "shop", "SELECT * FROM peeking").await.unwrap_err();
        assert_eq!(error.code, "upstream_failed", "{error:?}");
        let log = server.app.db.read("SELECT count(*) FROM query_log", &[]).await.unwrap();
        assert_eq!(log[0].get::<i64>(0).unwrap(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_has_so_many_queries_and_no_more() {
    on_sqlite(async |server| {
        let topic = server.topic(None);
        for _ in 0..200 {
            ask(&topic, "shop", "SELECT 1 FROM nowhere").await.unwrap_err();
        }
        assert_eq!(ask(&topic, "shop", "SELECT 1").await.unwrap_err().code, "limit_exceeded");
    })
    .await;
}
