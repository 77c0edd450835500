//! A tool and the topic lent to it, through WebAssembly.

mod support;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use lakeport_bindings::host::data::{Cell, RowSet};
use lakeport_bindings::host::types::{Error, Page};
use lakeport_bindings::tool::catalog::{Datasource, Filter, HitPage, Table, TableDetails, TablePage};
use lakeport_bindings::tool::guard::Verdict;
use lakeport_bindings::tool::lineage::{Graph, GraphRequest};
use lakeport_bindings::tool::query::{QueryRequest, QueryResult};
use lakeport_bindings::tool::results::EarlierTable;
use lakeport_bindings::tool::samples::{FieldSample, FoundValue};
use lakeport_bindings::tool::tables::TableHead;
use lakeport_bindings::tool::tool::Outcome;
use lakeport_plugins::{Answer, CallContext, CallError, CallFault, Registry, RegistrySettings, Topic};
use parking_lot::Mutex;

use support::{about, component, failed_with, host, host_with, stage_active, stage_error};

/// Records each call and answers with one item of each kind.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>, Duration);

impl Notes {
    fn say<T: Send + 'static>(&self, what: String, answer: T) -> BoxFuture<'_, T> {
        async move {
            self.0.lock().push(what);
            // A real topic waits, too.
            tokio::time::sleep(self.1).await;
            answer
        }
        .boxed()
    }

    fn not_asked<T: Send + 'static>(&self) -> Answer<'_, T> {
        async { Err(refused("not_asked")) }.boxed()
    }
}

fn refused(code: &str) -> Error {
    Error {
        code: code.to_owned(),
        message: "no".to_owned(),
        retryable: false,
        retry_after_ms: None,
        may_have_applied: false,
        upstream: None,
        context: vec![("rule".to_owned(), "parse".to_owned())],
    }
}

fn head() -> TableHead {
    TableHead {
        id: 1,
        datasource: "shop".to_owned(),
        database: "main".to_owned(),
        name: "orders".to_owned(),
        comment: String::new(),
        layer: None,
        business_domain: None,
        data_domain: None,
        row_count: None,
        physical: true,
    }
}

impl Topic for Notes {
    fn datasources(&self) -> BoxFuture<'_, Vec<Datasource>> {
        let shop = Datasource {
            name: "shop".to_owned(),
            kind: "sqlite".to_owned(),
            database_term: "file".to_owned(),
            sql_hints: Vec::new(),
        };
        self.say("datasources".to_owned(), vec![shop])
    }

    fn search(&self, _text: String, _filter: Filter, _page: Page) -> Answer<'_, HitPage> {
        self.not_asked()
    }

    fn tables(&self, _filter: Filter, _page: Page) -> Answer<'_, TablePage> {
        self.not_asked()
    }

    fn resolve(&self, name: String) -> Answer<'_, Vec<TableHead>> {
        self.say(format!("resolve {name}"), Ok(vec![head(), head()]))
    }

    fn get(&self, _ids: Vec<u64>) -> Answer<'_, Vec<Option<Table>>> {
        self.not_asked()
    }

    fn details(&self, _ids: Vec<u64>) -> Answer<'_, Vec<Option<TableDetails>>> {
        self.not_asked()
    }

    fn samples(&self, table: u64, fields: Vec<String>, values: u32) -> Answer<'_, Vec<FieldSample>> {
        let sample = FieldSample { field: "a".to_owned(), values: Vec::new(), masked: false };
        self.say(format!("samples {table} {fields:?} {values}"), Ok(vec![sample]))
    }

    fn find(&self, _table: u64, _fields: Vec<String>, _texts: Vec<String>) -> Answer<'_, Vec<FoundValue>> {
        self.not_asked()
    }

    fn check(&self, _datasource: String, _sql: String) -> Answer<'_, Verdict> {
        self.not_asked()
    }

    fn run(&self, request: QueryRequest) -> Answer<'_, QueryResult> {
        let rows = RowSet { columns: Vec::new(), rows: vec![vec![Cell::Integer(1)]; 3], truncated: false };
        let answer = if request.sql == "DROP" {
            Err(refused("guard_refused"))
        } else {
            Ok(QueryResult { rows, took_ms: 1 })
        };
        self.say(format!("run {} {} {}", request.datasource, request.sql, request.max_rows), answer)
    }

    fn results(&self) -> BoxFuture<'_, Vec<EarlierTable>> {
        let table = EarlierTable {
            call_id: "c".to_owned(),
            tool: "run_sql".to_owned(),
            columns: Vec::new(),
            row_count: 0,
            truncated: false,
        };
        self.say("results".to_owned(), vec![table])
    }

    fn rows(&self, _call_id: String, _max_rows: u32) -> Answer<'_, RowSet> {
        self.not_asked()
    }

    fn around(&self, _request: GraphRequest) -> Answer<'_, Graph> {
        self.not_asked()
    }
}

async fn ask(
    registry: &Arc<Registry>,
    topic: Option<&Arc<Notes>>,
    input: &str,
) -> Result<Outcome, CallError> {
    let topic = topic.map(|topic| Arc::clone(topic) as Arc<dyn Topic>);
    let context = CallContext { topic, ..CallContext::new("test") };
    registry.tool("asker", "").call(context, input, &about()).await
}

fn withholding(interface: &str) -> RegistrySettings {
    let mut settings = RegistrySettings::default();
    settings.policy.withhold.insert(interface.to_owned());
    settings
}

#[tokio::test]
async fn a_tool_asks_the_topic_that_is_lent_to_it() {
    let registry = host();
    stage_active(&registry, "asker").await;
    let topic = Arc::new(Notes::default());
    let outcome = ask(&registry, Some(&topic), r#"{"name":"main.orders","sql":"SELECT 1"}"#).await.unwrap();
    let wanted = r#"{"datasources":1,"found":2,"sampled":"1 samples","earlier":1,"rows":3,"padding":""}"#;
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(read(&outcome.output), read(wanted));
    let asked = topic.0.lock().clone();
    assert_eq!(
        asked,
        ["resolve main.orders", "samples 1 [\"a\"] 5", "run shop SELECT 1 5", "datasources", "results"]
    );
    let error = ask(&registry, Some(&topic), r#"{"sql":"DROP"}"#).await.unwrap_err();
    let CallError::Answered(error) = error else { panic!("{error}") };
    assert_eq!((error.code.as_str(), error.context.len()), ("guard_refused", 1));
}

#[tokio::test]
async fn without_a_topic_the_import_fails() {
    let registry = host();
    stage_active(&registry, "asker").await;
    let CallError::Answered(error) = ask(&registry, None, "{}").await.unwrap_err() else { panic!() };
    assert_eq!(error.code, "unavailable");
}

#[tokio::test]
async fn a_withheld_optional_import_is_never_called() {
    let mut settings = withholding("lakeport:tool/samples");
    settings.policy.withhold.insert("lakeport:tool/results".to_owned());
    let registry = host_with(settings);
    let id = stage_active(&registry, "asker").await;
    let view = registry.view(&id).unwrap();
    let grants = &view.active.as_ref().unwrap().grants;
    assert_eq!(grants.needed, ["lakeport:tool/catalog", "lakeport:tool/query"]);
    let topic = Arc::new(Notes::default());
    let outcome = ask(&registry, Some(&topic), r#"{"sql":"SELECT 1"}"#).await.unwrap();
    assert!(
        outcome.output.contains("\"not_granted\"") && outcome.output.contains("\"earlier\":0"),
        "{}",
        outcome.output
    );
    assert!(!topic.0.lock().iter().any(|asked| asked.starts_with("samples") || asked == "results"));
}

#[tokio::test]
async fn what_is_withheld_and_needed_keeps_it_out() {
    let registry = host_with(withholding("lakeport:tool/query"));
    let error = stage_error(&registry, component("asker")).await;
    assert_eq!(error.code(), "import_refused");
    assert!(error.to_string().contains("lakeport:tool/query"), "{error}");
    assert!(registry.tools().is_empty());
}

#[tokio::test]
async fn output_over_the_declared_limit_fails() {
    let registry = host();
    stage_active(&registry, "asker").await;
    let topic = Arc::new(Notes::default());
    let error = ask(&registry, Some(&topic), r#"{"sql":"SELECT 1","padding":20000}"#).await.unwrap_err();
    failed_with(&error, CallFault::Answer, "10000 at most");
    let tools = registry.tools();
    assert_eq!(tools.iter().map(|info| info.name.as_str()).collect::<Vec<_>>(), ["asker"]);
    assert_eq!(registry.tool("asker", "").info().unwrap().optional_needs, ["samples", "results"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_database_is_not_the_tools_failure() {
    let mut settings = RegistrySettings { quarantine_after: 1, ..RegistrySettings::default() };
    settings.limits.timeout = Duration::from_millis(300);
    let registry = host_with(settings);
    let id = stage_active(&registry, "asker").await;
    let slow = Arc::new(Notes(Mutex::default(), Duration::from_secs(3_600)));
    for _ in 0..3 {
        failed_with(&ask(&registry, Some(&slow), "{}").await.unwrap_err(), CallFault::Timeout, "300 ms");
    }
    let view = registry.view(&id).unwrap();
    assert_eq!((view.state(), view.active.as_ref().unwrap().counters.snapshot().errors), ("active", 0));
}

#[tokio::test]
async fn answers_that_break_the_contract_quarantine() {
    let registry = host_with(RegistrySettings { quarantine_after: 3, ..RegistrySettings::default() });
    let id = stage_active(&registry, "asker").await;
    let topic = Arc::new(Notes::default());
    let (good, bad) = (r#"{"sql":"SELECT 1"}"#, r#"{"sql":"SELECT 1","padding":20000}"#);
    for input in [bad, bad, good, good, good, bad, bad] {
        let _ = ask(&registry, Some(&topic), input).await;
    }
    assert_eq!(registry.view(&id).unwrap().state(), "active", "good answers end the row");
    ask(&registry, Some(&topic), bad).await.unwrap_err();
    let error = ask(&registry, Some(&topic), good).await.unwrap_err();
    let CallError::Quarantined { reason, .. } = &error else { panic!("{error}") };
    assert!(reason.contains("tool.call") && reason.contains("10000 at most"), "{reason}");
}
