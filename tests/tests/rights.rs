//! A caller that is bound to data sources, on every operation: it causes no statement on another data source, and
//! sees none of its SQL, values, error texts and logs. A new operation belongs in [`OPERATIONS`].

use std::collections::{BTreeMap, BTreeSet};

use lakeport_tests::{Client, Lake, Response, id_of, stores};
use serde_json::{Value, json};

/// In the SQL, the values, the error texts and the logs of the other data source.
const SECRET: &str = "s3cr3t";
/// The same of the caller's own.
const OPEN: &str = "0p3n";

/// What an operation does for a bound caller when it is about another data source.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Road {
    /// 403 `datasource_not_allowed`; about its own data source the caller gets something else.
    Refused,
    /// 200; what comes from the other data source is left out, and `withheld` is true.
    Withheld,
    /// 403, whatever it is about: it concerns all data sources.
    Unbound,
    /// 404: the topics of others.
    Hidden,
    /// Touches no data source, or shows only what is public about each: names, types, counts.
    Free,
    /// Answers 501 so far. When it comes, say here what it does.
    NotYet,
}
use Road::{Free, Hidden, NotYet, Refused, Unbound, Withheld};

/// An operation: its id, what it does, the values of its path's parameters and its query, and its body. `<x>` is a
/// member of [`Half`].
type Line = (&'static str, Road, &'static [&'static str], &'static str);

/// The body of a backfill.
const PERIOD: &str = r#"{"startTime": "2026-01-01 00:00:00", "endTime": "2026-01-02 00:00:00"}"#;

/// Every operation of the description. Those that destroy something come last.
#[rustfmt::skip]
const OPERATIONS: &[Line] = &[
    ("getIndex", Free, &[], ""),
    ("getIcon", Free, &[], ""),
    ("getConsoleFile", Free, &["index.js"], ""),
    // Without the console's header it is refused for everybody.
    ("getSignInWays", Free, &[], ""),
    ("startOidcSignIn", Free, &[], ""),
    ("finishOidcSignIn", Free, &[], ""),
    ("signIn", Free, &[], r#"{"token": ""}"#),
    ("signOut", Free, &[], ""),
    // Topics and ids, of which the lists show the names. A number that none has: this one ends.
    ("streamEvents", Free, &["?after=-1"], ""),
    ("getDocs", Free, &[], ""),
    ("getDocsScript", Free, &[], ""),
    ("getDocsStyle", Free, &[], ""),
    ("getLive", Free, &[], ""),
    ("getReady", Free, &[], ""),
    ("getMetrics", Free, &[], ""),
    ("getOpenApi", Free, &[], ""),
    ("getMe", Free, &[], ""),
    ("callMcp", NotYet, &[], "{}"),
    // Digests and names, no contents.
    ("listAudit", Free, &[], ""),
    ("listTokens", Free, &[], ""),
    ("listSettings", Unbound, &[], ""),
    ("createToken", Refused, &[], r#"{"name": "<name>-1", "role": "viewer", "datasources": ["<name>"]}"#),
    // Addresses without passwords.
    ("listDatasources", Free, &[], ""),
    ("getDatasource", Free, &["<source>"], ""),
    ("createDatasource", Unbound, &[], r#"{"name": "more", "kind": "sqlite", "url": "sqlite:theirs.db"}"#),
    ("testNewDatasource", Unbound, &[], r#"{"name": "more", "kind": "sqlite", "url": "sqlite:theirs.db"}"#),
    ("updateDatasource", Refused, &["<source>"], r#"{"syncCron": "0 0 3 * * ? *"}"#),
    ("testDatasource", Refused, &["<source>"], ""),
    ("listDatabases", Refused, &["<source>"], ""),
    ("startSync", Refused, &["<source>"], ""),
    ("getSync", Refused, &["<source>"], ""),
    ("cancelSync", Refused, &["<source>"], ""),
    ("listPlugins", Free, &[], ""),
    ("getPlugin", Free, &["sqlite"], ""),
    ("getPluginComponent", Free, &["word_count", "00000000"], ""),
    ("getPluginLogs", Unbound, &["sqlite"], ""),
    ("stagePlugin", Unbound, &[], "no component"),
    ("activatePlugin", Unbound, &["sqlite"], r#"{"digest": "00000000"}"#),
    ("rollbackPlugin", Unbound, &["sqlite"], ""),
    ("quarantinePlugin", Unbound, &["sqlite"], "{}"),
    ("releasePlugin", Unbound, &["sqlite"], ""),
    ("removePlugin", Unbound, &["sqlite", "00000000"], ""),
    ("listEngines", Free, &[], ""),
    ("getEngine", Free, &["local"], ""),
    ("testEngine", Free, &["local"], ""),
    ("callEngine", Unbound, &["local"], r#"{"function": "deploys.test"}"#),
    ("createEngine", Unbound, &[], r#"{"name": "more", "plugin": "airflow"}"#),
    ("updateEngine", Unbound, &["local"], "{}"),
    ("deleteEngine", Unbound, &["local"], ""),
    ("search", Free, &["?keyword=orders"], ""),
    ("getLineage", Refused, &["?tableId=<table>"], ""),
    ("getColumnLineage", NotYet, &["?tableId=<table>&field=id"], ""),
    ("getLineageImpact", NotYet, &["?tableId=<table>"], ""),
    ("sendOpenLineageEvents", NotYet, &[], "[]"),

    ("listTables", Free, &[], ""),
    ("getTableFacets", Free, &[], ""),
    ("getTable", Free, &["<table>"], ""),
    ("listFields", Free, &["<table>"], ""),
    ("getField", Free, &["<table>", "<field>"], ""),
    ("createTable", Refused, &[], r#"{"tableName": "more", "dbName": "main", "clusterId": <source>}"#),
    ("updateTables", Refused, &[], r#"{"ids": [<table>], "set": {"owner": "me"}}"#),
    ("updateTable", Refused, &["<logical>"], r#"{"description": "mine now"}"#),
    ("setTableComment", Refused, &["<table>"], r#"{"comment": "mine now"}"#),
    ("createField", Refused, &["<table>"], r#"{"fieldName": "more", "fieldType": "TEXT"}"#),
    ("updateField", Refused, &["<table>", "<field>"], r#"{"description": "mine now"}"#),
    ("createPhysicalTable", Refused, &["<logical>"], ""),
    ("listTableChanges", Refused, &["<table>"], ""),
    ("listSchemaHistory", Refused, &["<table>"], ""),
    ("getSchemaVersion", Refused, &["<table>", "1"], ""),
    ("getTableDdl", Refused, &["<table>"], ""),
    ("getTableStatistics", Refused, &["<table>"], ""),
    ("listStatisticsHistory", Refused, &["<table>"], ""),
    ("listStatisticsOfLast7Days", Refused, &["<table>"], ""),
    ("listStatisticsOfLast30Days", Refused, &["<table>"], ""),
    ("getTableAccessStats", Refused, &["<table>"], ""),
    ("listPendingDeletion", Withheld, &["?clusterId=<source>"], ""),

    ("createWorkflow", Free, &[], r#"{"name": "of <name>"}"#),
    ("listTasks", Withheld, &["?workflowId=<workflow>"], ""),
    ("getTask", Withheld, &["<task>"], ""),
    ("createTask", Refused, &[], r#"{"task": {"workflowId": <workflow>, "taskName": "more", "taskType": "SQL",
        "datasourceId": <source>, "sqlContent": "SELECT 1"}}"#),
    ("parseTaskSql", Refused, &[], r#"{"datasourceId": <source>, "sqlContent": "SELECT 1"}"#),
    ("getTaskExecutionStatus", Withheld, &["<task>"], ""),
    ("getTaskLineage", Free, &["<task>"], ""),
    ("listWorkflows", Withheld, &["?keyword=<name>"], ""),
    ("getWorkflow", Withheld, &["<workflow>"], ""),
    ("listExecutions", Withheld, &["?taskId=<task>"], ""),
    ("listFailedExecutions", Withheld, &[], ""),
    ("listRunningExecutions", Free, &[], ""),
    ("getExecutionStatistics", Free, &[], ""),
    ("getExecution", Withheld, &["<execution>"], ""),
    ("syncExecution", Withheld, &["<execution>"], ""),
    ("cancelExecution", Refused, &["<execution>"], ""),
    ("retryExecution", Refused, &["<execution>"], ""),
    ("executeWorkflow", Refused, &["<workflow>"], ""),
    ("listRuns", Withheld, &["<workflow>"], ""),
    ("getRun", Withheld, &["<workflow>", "<run>"], ""),
    ("pauseRun", Refused, &["<workflow>", "<run>"], ""),
    ("resumeRun", Refused, &["<workflow>", "<run>"], ""),
    ("cancelRun", Refused, &["<workflow>", "<run>"], ""),
    ("setSchedule", Refused, &["<workflow>"], r#"{"crontab": "0 0 3 * * ? *"}"#),
    ("bringScheduleOnline", Refused, &["<workflow>"], ""),
    ("takeScheduleOffline", Refused, &["<workflow>"], ""),
    ("previewSchedule", Free, &["<workflow>"], r#"{"crontab": "0 0 3 * * ? *"}"#),
    ("decidePublication", Refused, &["<submitted>", "<publication>"], r#"{"status": "REJECTED"}"#),
    ("publishWorkflow", Refused, &["<workflow>"], r#"{"comment": "go"}"#),
    ("previewPublication", Refused, &["<workflow>"], ""),
    ("exportWorkflow", Refused, &["<workflow>"], ""),
    ("getWorkflowSchema", Free, &[], ""),
    ("listImportableWorkflows", Free, &[], ""),
    ("previewWorkflowImport", Refused, &[], r#"{"source": "json", "definition": {"format": "lakeport.workflow/1",
        "workflow": {"name": "more"}, "tasks": [{"taskName": "a", "taskType": "SQL", "datasource": "<name>",
        "sqlContent": "SELECT 1"}]}}"#),
    ("commitWorkflowImport", Refused, &[], r#"{"source": "json", "previewToken": "x", "definition": {
        "format": "lakeport.workflow/1", "workflow": {"name": "more"}, "tasks": [{"taskName": "a", "taskType": "SQL",
        "datasource": "<name>", "sqlContent": "SELECT 1"}]}}"#),
    ("listWorkflowVersions", Free, &["<workflow>"], ""),
    ("compareWorkflowVersions", Refused, &["<workflow>"], r#"{"v1": 1, "v2": 2}"#),
    ("copyWorkflow", Refused, &["<workflow>"], "{}"),
    // Each workflow has its own outcome; what is of another data source is refused there.
    ("exportWorkflows", Free, &[], r#"{"workflowIds": [<workflow>]}"#),
    ("publishWorkflows", Free, &[], r#"{"workflowIds": [<workflow>]}"#),
    ("bringSchedulesOnline", Free, &[], r#"{"workflowIds": [<workflow>]}"#),
    ("takeSchedulesOffline", Free, &[], r#"{"workflowIds": [<workflow>]}"#),
    ("listPendingRemovals", Free, &[], ""),
    ("abandonRemoval", Refused, &["<workflow>"], ""),
    ("backfillWorkflow", Refused, &["<workflow>"], PERIOD),
    ("previewBackfill", Refused, &["<workflow>"], PERIOD),
    ("getBackfill", Withheld, &["<name>"], ""),
    ("listBackfills", Free, &["<workflow>"], ""),
    ("cancelBackfill", Refused, &["<name>"], ""),

    ("getNl2sqlHealth", Free, &[], ""),
    ("listTopics", Free, &[], ""),
    ("createTopic", Refused, &[], r#"{"title": "more", "datasources": ["<name>"]}"#),
    ("updateTopic", Refused, &["<own topic>"], r#"{"datasources": ["<name>"]}"#),
    ("getTopic", Hidden, &["<topic>"], ""),
    ("listMessages", Hidden, &["<topic>"], ""),
    ("deliverMessage", Hidden, &[], r#"{"topic_id": "<topic>", "content": "How many orders are there?"}"#),
    ("getAgentTask", Hidden, &["<question>"], ""),
    ("streamTaskEvents", Hidden, &["<question>"], ""),
    ("cancelAgentTask", Hidden, &["<question>"], ""),
    ("listModels", Free, &[], ""),
    ("getModel", Free, &["1"], ""),
    ("createModel", Unbound, &[], r#"{"name": "more", "provider": "openai", "model": "m"}"#),
    ("updateModel", Unbound, &["1"], r#"{"isDefault": true}"#),
    ("deleteModel", Unbound, &["1"], ""),
    ("testModel", Unbound, &["1"], ""),
    // Those of other data sources are left out.
    ("listVerified", Free, &[], ""),
    ("exportVerified", Free, &[], ""),
    ("getVerified", Hidden, &["<verified>"], ""),
    ("createVerified", Refused, &[], r#"{"question": "more", "datasource": "<name>", "sql": "SELECT v FROM orders"}"#),
    ("updateVerified", Refused, &["<own verified>"], r#"{"datasource": "<name>"}"#),
    ("importVerified", Refused, &[], r#"{"format": "lakeport.verified/1", "items": [{"question": "more",
        "datasource": "<name>", "sql": "SELECT v FROM orders"}]}"#),
    ("deleteVerified", Hidden, &["<verified>"], ""),
    ("listTerms", Free, &[], ""),
    ("exportTerms", Free, &[], ""),
    ("getTerm", Hidden, &["<term>"], ""),
    ("createTerm", Refused, &[], r#"{"term": "more", "definition": "d", "datasource": "<name>"}"#),
    ("updateTerm", Refused, &["<own term>"], r#"{"datasource": "<name>"}"#),
    ("importTerms", Refused, &[], r#"{"format": "lakeport.glossary/1", "items": [{"term": "more",
        "definition": "d", "datasource": "<name>"}]}"#),
    ("deleteTerm", Refused, &["<last term>"], ""),
    ("listTools", Free, &[], ""),
    ("getTool", Free, &["run_sql"], ""),
    ("updateToolSettings", Unbound, &["run_sql"], r#"{"settings": {}}"#),
    // The caller's own.
    ("getModelUsage", Free, &[], ""),
    ("getResult", Hidden, &["<question>", "00000000-0000-0000-0000-000000000000"], ""),
    ("runStatement", Refused, &[], r#"{"datasource": "<name>", "sql": "SELECT v FROM orders"}"#),
    ("rateAnswer", Hidden, &["00000000-0000-0000-0000-000000000000"], r#"{"rating": "up"}"#),
    ("deleteTopic", Hidden, &["<topic>"], ""),

    ("updateTask", Refused, &["<task>"], r#"{"task": {"priority": "LOW"}}"#),
    ("deleteTask", Refused, &["<task>"], ""),
    ("rollbackWorkflow", Refused, &["<workflow>", "1"], ""),
    ("updateWorkflow", Refused, &["<workflow>"], r#"{"description": "mine now"}"#),
    ("deleteWorkflow", Refused, &["<submitted>"], ""),
    ("deleteField", Refused, &["<table>", "<field>"], ""),
    ("restoreTable", Refused, &["<deleted>"], ""),
    ("purgeTable", Refused, &["<deleted>", "?confirmTableName=<deleted name>"], ""),
    ("softDeleteTable", Refused, &["<table>", "?confirmTableName=orders"], ""),
    ("deleteDatasource", Refused, &["<source>"], ""),
    ("revokeToken", Refused, &["<token>"], ""),
];

/// What there is of one data source: the values for a line's `<x>`.
type Half = BTreeMap<&'static str, String>;

fn filled(text: &str, half: &Half) -> String {
    half.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("<{name}>"), value))
}

/// An operation of the description.
struct Described {
    method: String,
    path: String,
    codes: Vec<String>,
    is_unbound: bool,
}

fn described(lake: &Lake) -> BTreeMap<String, Described> {
    let document = lake.server.get("/openapi.json").json();
    let mut all = BTreeMap::new();
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            let codes = operation["x-error-codes"].as_array().expect("codes");
            let codes = codes.iter().filter_map(|code| code.as_str().map(str::to_owned)).collect();
            let is_unbound = operation["x-unbound"] == true;
            let id = operation["operationId"].as_str().expect("an id").to_owned();
            all.insert(
                id,
                Described { method: method.to_uppercase(), path: path.clone(), codes, is_unbound },
            );
        }
    }
    all
}

/// Makes the tables, workflows and runs of one data source, as a caller who may do all.
fn half(lake: &Lake, name: &'static str, marker: &str) -> Half {
    let source = lake.source(name);
    let table = lake.physical_table(source, "orders", &[("id", "INTEGER"), ("v", "TEXT")]);
    lake.run(name, &format!("INSERT INTO orders VALUES (1, '{marker}')"));
    let logical = lake.table(source, "designed", &[("id", "INTEGER")]);
    let deleted = lake.physical_table(source, "old", &[("id", "INTEGER")]);
    let gone = format!("/api/v1/tables/{deleted}/soft-delete?confirmTableName=old");
    let deleted_name = lake.server.post(&gone, &json!({})).data()["tableName"].clone();
    // A drop that failed: its error text is shown with the table.
    lake.server.execute(&format!(
        "INSERT INTO table_changes (table_id, cluster_id, db_name, table_name, new_name, kind, wanted, state, error, \
         requested_by, started_at, finished_at) SELECT table_id, cluster_id, db_name, new_name, new_name, 'purge', \
         wanted, 'failed', '{{\"status\":502,\"code\":\"upstream_failed\",\"message\":\"{marker}\",\"details\":[]}}', \
         requested_by, started_at, finished_at FROM table_changes WHERE table_id = {deleted} AND kind = 'soft_delete'"
    ));
    let workflow = lake.workflow(&format!("{name} daily"));
    let sql = format!("SELECT v, '{marker}' FROM orders; INSERT INTO no_{marker} SELECT 1");
    let task = lake.task(workflow, "fill", source, &sql, [&[table], &[]]);
    lake.deploy(workflow);
    let executions = lake.ended(&lake.execute(workflow), 1);
    assert!(executions[0]["errorMessage"].to_string().contains(marker), "{executions:?}");
    // A backfill whose first run was refused: the reason is shown with it.
    lake.server.execute(&format!(
        "INSERT INTO backfills (key, workflow_id, workflow_name, code, state, workflows, dates, total, \
         parallelism, failure_strategy, requested_by, requested_at, ended_at, message) VALUES ('{name}', {workflow}, \
         '{name} daily', '{name}', 'failed', '[{{\"workflow_id\":{workflow},\"name\":\"w\",\"after\":[]}}]', '[0]', 1, \
         1, 'CONTINUE', 'root', 0, 1, '{marker}')"
    ));
    let submitted = lake.workflow(&format!("{name} weekly"));
    lake.task(submitted, "fill", source, &sql, [&[table], &[]]);
    let publish = format!("/api/v1/workflows/{submitted}/publish");
    let publication = lake.server.post(&publish, &json!({ "comment": "go" })).data()["recordId"].clone();
    let fields = lake.server.get(&format!("/api/v1/tables/{table}/fields")).data();
    let topic = json!({ "title": name, "datasources": [name] });
    let topic = lake.server.post("/api/v1/nl2sql/topics", &topic).json()["topic_id"].clone();
    let ask = json!({ "topic_id": topic, "content": "How many orders are there?" });
    let question = lake.server.post("/api/v1/nl2sql/tasks/deliver-message", &ask).json()["task_id"].clone();
    let verified =
        json!({ "question": format!("{marker}?"), "datasource": name, "sql": "SELECT v FROM orders" });
    let verified = lake.server.post("/api/v1/nl2sql/verified", &verified).json()["id"].clone();
    let term = json!({ "term": "margin", "definition": marker, "datasource": name });
    let term = lake.server.post("/api/v1/nl2sql/glossary", &term).json()["id"].clone();
    let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Half::from([
        ("name", name.to_owned()),
        ("source", source.to_string()),
        ("table", table.to_string()),
        ("field", text(fields[1]["id"].clone())),
        ("logical", logical.to_string()),
        ("deleted", deleted.to_string()),
        ("deleted name", text(deleted_name)),
        ("workflow", workflow.to_string()),
        ("task", task.to_string()),
        ("execution", text(executions[0]["id"].clone())),
        ("run", text(executions[0]["instanceId"].clone())),
        ("submitted", submitted.to_string()),
        ("publication", text(publication)),
        ("topic", text(topic)),
        ("question", text(question)),
        ("verified", text(verified)),
        ("term", text(term)),
    ])
}

fn send(client: &Client, operation: &Described, line: &Line, half: &Half) -> Response {
    let mut values = line.2.iter().filter(|value| !value.starts_with('?')).map(|value| filled(value, half));
    let parts = operation.path.split('/').map(|part| match part.starts_with('{') {
        true => values.next().unwrap_or_else(|| panic!("{}: {part} has no value", line.0)),
        false => part.to_owned(),
    });
    let path = parts.collect::<Vec<_>>().join("/");
    let query = line.2.iter().find(|value| value.starts_with('?')).copied().unwrap_or_default();
    let body = filled(line.3, half);
    let json = [("Content-Type", "application/json")];
    let headers: &[(&str, &str)] = if body.is_empty() || line.0 == "stagePlugin" { &[] } else { &json };
    client.send(&operation.method, &(path + &filled(query, half)), headers, body.as_bytes())
}

fn shows(answer: &Response, marker: &str) -> bool {
    String::from_utf8_lossy(&answer.body).contains(marker)
}

/// What the other data source has, as one who may see all sees it.
fn state_of(root: &Client, half: &Half) -> Vec<Value> {
    [
        "/api/v1/datasources/<source>",
        "/api/v1/tables/<table>",
        "/api/v1/tables/<logical>",
        "/api/v1/tables/<deleted>",
        "/api/v1/workflows/<workflow>",
        "/api/v1/workflows/<submitted>",
        "/api/v1/executions/<execution>",
    ]
    .map(|path| root.get(&filled(path, half)).data())
    .into()
}

#[test]
fn bound_callers_stay_within_their_data_sources() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (mut mine, mut theirs) = (half(&lake, "mine.db", OPEN), half(&lake, "theirs.db", SECRET));
        let described = described(&lake);
        let root = lake.server.client_as(&lake.server.token("admin", "root"));
        let token = |name: &str, datasources: Value| {
            let form = json!({ "name": name, "role": "admin", "datasources": datasources });
            root.post("/api/v1/tokens", &form).data()
        };
        let bound = token("bound", json!(["mine.db"]));
        let bound = lake.server.client_as(bound["token"].as_str().expect("a text"));
        let topic =
            bound.post("/api/v1/nl2sql/topics", &json!({ "title": "own" })).json()["topic_id"].clone();
        let form = json!({ "question": "own?", "datasource": "mine.db", "sql": "SELECT v FROM orders" });
        let verified = bound.post("/api/v1/nl2sql/verified", &form).json()["id"].clone();
        let form = json!({ "term": "own", "definition": "own", "datasource": "mine.db" });
        let term = bound.post("/api/v1/nl2sql/glossary", &form).json()["id"].clone();
        for (half, token) in
            [(&mut mine, token("my other", json!(["mine.db"]))), (&mut theirs, token("their", json!(null)))]
        {
            half.insert("token", token["id"].to_string());
            half.insert("own topic", topic.as_str().expect("a text").to_owned());
            half.insert("own verified", verified.to_string());
            half.insert("own term", term.to_string());
        }
        // A term about all data sources is not for a bound caller to delete.
        let last = |form: Value| root.post("/api/v1/nl2sql/glossary", &form).json()["id"].to_string();
        mine.insert("last term", last(json!({ "term": "a", "definition": "a", "datasource": "mine.db" })));
        theirs.insert("last term", last(json!({ "term": "b", "definition": "b" })));
        let before = state_of(&root, &theirs);
        for line in OPERATIONS {
            let (id, road, ..) = *line;
            let operation = described.get(id).unwrap_or_else(|| panic!("{id} is not in the description"));
            let answer = send(&bound, operation, line, &theirs);
            assert!(!shows(&answer, SECRET), "{id} shows {SECRET}: {answer:?}");
            let is_refused = answer.status == 403 && answer.error() == "datasource_not_allowed";
            assert_eq!(is_refused, matches!(road, Refused | Unbound), "{id}: {answer:?}");
            let has_code = operation.codes.iter().any(|code| code == "datasource_not_allowed");
            assert_eq!(has_code, is_refused, "{id}: its codes in the description");
            assert_eq!(operation.is_unbound, road == Unbound, "{id}: x-unbound in the description");
            match road {
                Refused | Unbound => {}
                Withheld => {
                    assert_eq!(answer.status, 200, "{id}: {answer:?}");
                    let text = String::from_utf8_lossy(&answer.body);
                    assert!(text.contains(r#""withheld":true"#), "{id}: {text}");
                    let whole = send(&root, operation, line, &theirs);
                    assert!(shows(&whole, SECRET), "{id} tests nothing: {whole:?}");
                }
                Hidden => assert_eq!(answer.status, 404, "{id}: {answer:?}"),
                NotYet => assert_eq!(answer.status, 501, "{id}: {answer:?}"),
                Free => assert!(answer.status < 500 && answer.status != 403, "{id}: {answer:?}"),
            }
        }
        assert_eq!(state_of(&root, &theirs), before, "nothing of the other data source was changed");
        for line in OPERATIONS.iter().filter(|line| matches!(line.1, Refused | Withheld)) {
            let answer = send(&bound, &described[line.0], line, &mine);
            let is_refused = answer.status == 403 && answer.error() == "datasource_not_allowed";
            // 404: its engine has removed all of its workflows.
            let is_done =
                matches!(answer.status, 200 | 409) || (line.0, answer.status) == ("abandonRemoval", 404);
            assert!(!is_refused && is_done, "{} on its own: {answer:?}", line.0);
            assert!(line.1 != Withheld || shows(&answer, OPEN), "{}: {answer:?}", line.0);
        }
        let listed: BTreeSet<&str> = OPERATIONS.iter().map(|line| line.0).collect();
        let missing: Vec<&String> = described.keys().filter(|id| !listed.contains(id.as_str())).collect();
        assert!(missing.is_empty(), "say in OPERATIONS what these do for a bound caller: {missing:?}");
    }
}

#[test]
fn mixed_workflows_run_for_no_bound_caller() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (mine, theirs) = (lake.source("mine.db"), lake.source("theirs.db"));
        lake.run("mine.db", "CREATE TABLE t (a)");
        lake.run("theirs.db", "CREATE TABLE t (a)");
        let workflow = lake.workflow("w");
        let own = lake.task(workflow, "own", mine, "SELECT 1", [&[], &[]]);
        lake.task(workflow, "their", theirs, "SELECT 2", [&[], &[]]);
        lake.deploy(workflow);
        let root = lake.server.client_as(&lake.server.token("admin", "root"));
        let form = json!({ "name": "ed", "role": "admin", "datasources": ["mine.db"] });
        let token = root.post("/api/v1/tokens", &form).data()["token"].clone();
        let bound = lake.server.client_as(token.as_str().expect("a text"));
        let path = format!("/api/v1/workflows/{workflow}");
        let refused = |answer: Response| lakeport_tests::refused(&answer, 403, "datasource_not_allowed");
        refused(bound.post(&format!("{path}/execute"), &json!({})));
        refused(bound.post(&format!("{path}/publish"), &json!({})));
        refused(bound.put(&path, &json!({ "globalParams": [] })));
        refused(bound.delete(&path));
        // A task is a part of its workflow: not even its own may be changed, added, moved in or taken out.
        let task = format!("/api/v1/tasks/{own}");
        refused(bound.put(&task, &json!({ "task": { "datasourceId": theirs } })));
        refused(bound.put(&task, &json!({ "task": { "sqlContent": "SELECT 3" } })));
        refused(bound.delete(&task));
        let more = json!({ "workflowId": workflow, "taskName": "more", "taskType": "SQL", "datasourceId": mine,
            "sqlContent": "SELECT 1" });
        let more = json!({ "task": more, "inputTableIds": [], "outputTableIds": [] });
        refused(bound.post("/api/v1/tasks", &more));
        let other = lake_task_of(&bound, mine);
        refused(bound.put(&format!("/api/v1/tasks/{other}"), &json!({ "task": { "workflowId": workflow } })));
        // Nor may a task of one's own read or write tables of another data source.
        let table = json!({ "tableName": "t", "dbName": "main", "clusterId": theirs });
        let table = id_of(&root.post("/api/v1/tables", &table).data());
        for list in ["inputTableIds", "outputTableIds"] {
            refused(bound.put(&format!("/api/v1/tasks/{other}"), &json!({ list: [table] })));
        }
        root.put(&task, &json!({ "task": { "sqlContent": "SELECT 3" } })).data();
        let detail = bound.get(&path).data();
        let tasks = detail["tasks"].as_array().expect("tasks");
        let shown: Vec<(&Value, &Value)> =
            tasks.iter().map(|task| (&task["sqlContent"], &task["withheld"])).collect();
        assert_eq!(shown, [(&json!("SELECT 3"), &json!(false)), (&Value::Null, &json!(true))]);
        // A log of one's own task stays closed once it has worked on another data source.
        root.put(&task, &json!({ "task": { "datasourceId": theirs } })).data();
        root.put(&task, &json!({ "task": { "datasourceId": mine } })).data();
        let executions = lake_executions(&root, &path);
        let execution = executions.iter().find(|one| one["taskId"] == own).expect("it ran");
        let seen = bound.get(&format!("/api/v1/executions/{}", execution["id"])).data();
        assert_eq!((&seen["withheld"], &seen["log"]), (&json!(true), &Value::Null));
        refused(bound.post(&format!("/api/v1/executions/{}/cancel", execution["id"]), &json!({})));
    }
}

/// A task in a workflow of its own.
fn lake_task_of(client: &Client, source: i64) -> i64 {
    let workflow = id_of(&client.post("/api/v1/workflows", &json!({ "name": "alone" })).data());
    let task = json!({ "workflowId": workflow, "taskName": "one", "taskType": "SQL", "datasourceId": source,
        "sqlContent": "SELECT 1" });
    let form = json!({ "task": task, "inputTableIds": [], "outputTableIds": [] });
    id_of(&client.post("/api/v1/tasks", &form).data())
}

/// Runs the workflow and returns its ended executions.
fn lake_executions(root: &Client, path: &str) -> Vec<Value> {
    root.post(&format!("{path}/execute"), &json!({})).data();
    lakeport_tests::eventually("the run ends", std::time::Duration::from_secs(60), || {
        let detail = root.get(path).data();
        let executions = detail["recentExecutions"].as_array().expect("executions").clone();
        let is_over = |one: &Value| one["status"] == "success" || one["status"] == "failed";
        (executions.len() == 2 && executions.iter().all(is_over)).then_some(executions)
    })
}

#[test]
fn a_bound_admin_turns_no_data_source() {
    for store in stores() {
        let lake = Lake::start(&store);
        let mine = lake.source("mine.db");
        lake.run("mine.db", "");
        lake.source("theirs.db");
        let root = lake.server.client_as(&lake.server.token("admin", "root"));
        let form = json!({ "name": "ann", "role": "admin", "datasources": ["mine.db"] });
        let token = root.post("/api/v1/tokens", &form).data()["token"].clone();
        let bound = lake.server.client_as(token.as_str().expect("a text"));
        let path = format!("/api/v1/datasources/{mine}");
        for change in [
            json!({ "url": "sqlite:theirs.db" }),
            json!({ "name": "elsewhere" }),
            json!({ "isDefault": true }),
            json!({ "readUrl": "sqlite:theirs.db" }),
        ] {
            let answer = bound.put(&path, &change);
            assert!(matches!(answer.status, 400 | 403), "{change}: {answer:?}");
            assert!(answer.status == 400 || answer.error() == "datasource_not_allowed", "{change}");
        }
        lakeport_tests::refused(
            &bound.put(&path, &json!({ "url": "sqlite:theirs.db" })),
            403,
            "datasource_not_allowed",
        );
        assert_eq!(bound.put(&path, &json!({ "syncCron": "0 0 3 * * ? *" })).data()["url"], "sqlite:mine.db");
        for wider in [json!(null), json!(["mine.db", "theirs.db"])] {
            let form = json!({ "name": "wider", "role": "viewer", "datasources": wider });
            lakeport_tests::refused(&bound.post("/api/v1/tokens", &form), 403, "datasource_not_allowed");
        }
        let id = id_of(&root.get("/api/v1/tokens").data()[0]);
        lakeport_tests::refused(
            &bound.delete(&format!("/api/v1/tokens/{id}")),
            403,
            "datasource_not_allowed",
        );
        assert_eq!(root.get("/api/v1/me").status, 200);
    }
}
