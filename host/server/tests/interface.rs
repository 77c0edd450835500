//! The interface as a table: each of its endpoints is routed, with its role and parameters; and the committed
//! OpenAPI description equals the server's.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use lakeport::compose::{self, describe};
use lakeport_http::Operation;
use lakeport_http::Role::{self, Admin, Anyone, Approver, Editor, Viewer};
use serde_json::Value;

/// Method, path, role, parameters of the query.
type Endpoint = (&'static str, &'static str, Role, &'static [&'static str]);

/// All endpoints of the service interface, section 4.
#[rustfmt::skip]
const INTERFACE: &[Endpoint] = &[
    ("GET", "/api/v1/nl2sql/health", Anyone, &[]),
    ("POST", "/api/v1/nl2sql/topics", Viewer, &[]),
    ("GET", "/api/v1/nl2sql/topics", Viewer, &[]),
    ("GET", "/api/v1/nl2sql/topics/{topic_id}", Viewer, &[]),
    ("GET", "/api/v1/nl2sql/topics/{topic_id}/messages", Viewer, &[]),
    ("POST", "/api/v1/nl2sql/tasks/deliver-message", Viewer, &[]),
    ("GET", "/api/v1/nl2sql/tasks/{task_id}", Viewer, &[]),
    ("GET", "/api/v1/nl2sql/tasks/{task_id}/events/stream", Viewer, &[]),
    ("POST", "/api/v1/nl2sql/tasks/{task_id}/cancel", Viewer, &[]),

    ("GET", "/api/v1/workflows", Viewer, &["pageNum", "pageSize", "keyword", "status"]),
    ("POST", "/api/v1/workflows", Editor, &[]),
    ("GET", "/api/v1/workflows/{id}", Viewer, &[]),
    ("PUT", "/api/v1/workflows/{id}", Editor, &[]),
    ("DELETE", "/api/v1/workflows/{id}", Editor, &["cascadeDeleteTasks"]),
    ("POST", "/api/v1/workflows/{id}/versions/compare", Viewer, &[]),
    ("POST", "/api/v1/workflows/{id}/versions/{versionId}/rollback", Editor, &[]),
    ("GET", "/api/v1/workflows/{id}/export-json", Viewer, &[]),
    ("GET", "/api/v1/workflows/import/scheduler", Viewer, &["projectCode", "keyword"]),
    ("POST", "/api/v1/workflows/import/preview", Viewer, &[]),
    ("POST", "/api/v1/workflows/import/commit", Editor, &[]),
    ("POST", "/api/v1/workflows/{id}/publish", Editor, &[]),
    ("GET", "/api/v1/workflows/{id}/publish/preview", Viewer, &[]),
    ("POST", "/api/v1/workflows/{id}/publish/{recordId}/approve", Approver, &[]),
    ("POST", "/api/v1/workflows/{id}/execute", Editor, &[]),
    ("POST", "/api/v1/workflows/{id}/backfill", Editor, &[]),
    ("PUT", "/api/v1/workflows/{id}/schedule", Editor, &[]),
    ("POST", "/api/v1/workflows/{id}/schedule/online", Editor, &[]),
    ("POST", "/api/v1/workflows/{id}/schedule/offline", Editor, &[]),

    ("GET", "/api/v1/tasks", Viewer,
        &["pageNum", "pageSize", "taskName", "taskType", "workflowId", "upstreamTaskId", "downstreamTaskId"]),
    ("POST", "/api/v1/tasks", Editor, &[]),
    ("PUT", "/api/v1/tasks/{id}", Editor, &[]),
    ("DELETE", "/api/v1/tasks/{id}", Editor, &[]),
    ("GET", "/api/v1/tasks/{id}/execution-status", Viewer, &[]),
    ("GET", "/api/v1/tasks/{id}/lineage", Viewer, &[]),

    ("GET", "/api/v1/executions/history", Viewer, &["taskId", "pageNum", "pageSize"]),
    ("GET", "/api/v1/executions/{id}", Viewer, &[]),
    ("POST", "/api/v1/executions/{id}/sync", Editor, &[]),
    ("GET", "/api/v1/executions/statistics", Viewer, &["taskId", "startTime", "endTime"]),
    ("GET", "/api/v1/executions/running", Viewer, &[]),
    ("GET", "/api/v1/executions/failed", Viewer, &["limit"]),

    ("GET", "/api/v1/lineage", Viewer,
        &["tableId", "depth", "layer", "businessDomain", "dataDomain", "dbName", "clusterId", "keyword"]),

    ("GET", "/api/v1/tables", Viewer,
        &["pageNum", "pageSize", "layer", "keyword", "clusterId", "sortField", "sortOrder"]),
    ("POST", "/api/v1/tables", Editor, &[]),
    ("GET", "/api/v1/tables/{id}", Viewer, &[]),
    ("PUT", "/api/v1/tables/{id}", Editor, &["clusterId"]),
    ("PUT", "/api/v1/tables/{id}/comment", Editor, &["clusterId"]),
    ("POST", "/api/v1/tables/{id}/soft-delete", Editor, &["clusterId", "confirmTableName"]),
    ("GET", "/api/v1/tables/pending-deletion", Viewer, &["clusterId"]),
    ("POST", "/api/v1/tables/{id}/restore", Editor, &["clusterId"]),
    ("POST", "/api/v1/tables/{id}/purge-now", Admin, &["clusterId", "confirmTableName"]),
    ("GET", "/api/v1/tables/{id}/fields", Viewer, &[]),
    ("POST", "/api/v1/tables/{id}/fields", Editor, &["clusterId"]),
    ("PUT", "/api/v1/tables/{id}/fields/{fieldId}", Editor, &[]),
    ("DELETE", "/api/v1/tables/{id}/fields/{fieldId}", Editor, &[]),
    ("GET", "/api/v1/tables/{id}/statistics", Viewer, &["clusterId", "forceRefresh"]),
    ("GET", "/api/v1/tables/{id}/access-stats", Viewer, &["clusterId", "recentDays", "trendDays", "topUsers"]),
    ("GET", "/api/v1/tables/{id}/statistics/history", Viewer, &["limit"]),
    ("GET", "/api/v1/tables/{id}/statistics/history/last7days", Viewer, &[]),
    ("GET", "/api/v1/tables/{id}/statistics/history/last30days", Viewer, &[]),
    ("GET", "/api/v1/tables/{id}/ddl", Viewer, &["clusterId"]),
];

/// Lakeport's further endpoints.
#[rustfmt::skip]
const BESIDES: &[Endpoint] = &[
    ("PUT", "/api/v1/nl2sql/topics/{topic_id}", Viewer, &[]),
    ("DELETE", "/api/v1/nl2sql/topics/{topic_id}", Viewer, &[]),
    ("GET", "/api/v1/nl2sql/tasks/{task_id}/results/{call_id}", Viewer, &["format"]),
    ("POST", "/api/v1/nl2sql/run", Viewer, &[]),
    ("GET", "/api/v1/nl2sql/models", Viewer, &["page", "page_size"]),
    ("POST", "/api/v1/nl2sql/models", Admin, &[]),
    ("GET", "/api/v1/nl2sql/models/{id}", Viewer, &[]),
    ("PUT", "/api/v1/nl2sql/models/{id}", Admin, &[]),
    ("DELETE", "/api/v1/nl2sql/models/{id}", Admin, &[]),
    ("POST", "/api/v1/nl2sql/models/{id}/test", Admin, &[]),
    ("GET", "/api/v1/nl2sql/usage", Viewer, &["days"]),
    ("GET", "/api/v1/nl2sql/tools", Viewer, &["page", "page_size"]),
    ("GET", "/api/v1/nl2sql/tools/{name}", Viewer, &[]),
    ("PUT", "/api/v1/nl2sql/tools/{name}/settings", Admin, &[]),
    ("GET", "/api/v1/nl2sql/verified", Viewer, &["page", "page_size", "keyword"]),
    ("POST", "/api/v1/nl2sql/verified", Editor, &[]),
    ("GET", "/api/v1/nl2sql/verified/{id}", Viewer, &[]),
    ("PUT", "/api/v1/nl2sql/verified/{id}", Editor, &[]),
    ("DELETE", "/api/v1/nl2sql/verified/{id}", Editor, &[]),
    ("GET", "/api/v1/nl2sql/verified/export", Viewer, &[]),
    ("POST", "/api/v1/nl2sql/verified/import", Editor, &[]),
    ("GET", "/api/v1/nl2sql/glossary", Viewer, &["page", "page_size", "keyword"]),
    ("POST", "/api/v1/nl2sql/glossary", Editor, &[]),
    ("GET", "/api/v1/nl2sql/glossary/{id}", Viewer, &[]),
    ("PUT", "/api/v1/nl2sql/glossary/{id}", Editor, &[]),
    ("DELETE", "/api/v1/nl2sql/glossary/{id}", Editor, &[]),
    ("GET", "/api/v1/nl2sql/glossary/export", Viewer, &[]),
    ("POST", "/api/v1/nl2sql/glossary/import", Editor, &[]),
    ("POST", "/api/v1/nl2sql/messages/{message_id}/feedback", Viewer, &[]),
    ("POST", "/mcp", Viewer, &[]),
    ("GET", "/api/v1/engines", Viewer, &[]),
    ("POST", "/api/v1/engines", Admin, &[]),
    ("GET", "/api/v1/engines/{name}", Viewer, &[]),
    ("PUT", "/api/v1/engines/{name}", Admin, &[]),
    ("DELETE", "/api/v1/engines/{name}", Admin, &[]),
    ("POST", "/api/v1/engines/{name}/test", Admin, &[]),
    ("POST", "/api/v1/engines/{name}/call", Admin, &[]),
    ("POST", "/api/v1/workflows/{id}/backfill/preview", Viewer, &[]),
    ("GET", "/api/v1/backfills/{code}", Viewer, &[]),
    ("POST", "/api/v1/backfills/{code}/cancel", Editor, &[]),
    ("POST", "/api/v1/tasks/parse", Viewer, &[]),
    ("POST", "/api/v1/executions/{id}/cancel", Editor, &[]),
    ("POST", "/api/v1/executions/{id}/retry", Editor, &[]),
    ("GET", "/api/v1/lineage/impact", Viewer, &["tableId"]),
    ("GET", "/api/v1/lineage/columns", Viewer, &["tableId", "field", "direction", "depth"]),
    ("POST", "/api/v1/lineage/openlineage", Editor, &[]),
    ("POST", "/api/v1/tables/{id}/physical", Editor, &["clusterId", "dryRun"]),
    ("GET", "/api/v1/tables/{id}/changes", Viewer, &[]),
    ("PATCH", "/api/v1/tables", Editor, &[]),
    ("GET", "/api/v1/tables/{id}/fields/{fieldId}", Viewer, &[]),
    ("GET", "/api/v1/tables/{id}/schema-history", Viewer, &["pageNum", "pageSize"]),
    ("GET", "/api/v1/tables/{id}/schema-history/{version}", Viewer, &[]),
    ("GET", "/api/v1/search", Viewer, &["keyword", "clusterId", "pageNum", "pageSize"]),
];

/// Further parameters of Lakeport's endpoints.
const MORE_PARAMETERS: &[(&str, &[&str])] = &[
    ("GET /api/v1/backfills/{code}", &["offset"]),
    ("GET /api/v1/nl2sql/topics", &["page", "page_size"]),
    ("GET /api/v1/nl2sql/topics/{topic_id}/messages", &["page", "page_size"]),
    ("GET /api/v1/nl2sql/tasks/{task_id}/events/stream", &["after"]),
    ("GET /api/v1/tasks", &["tableId"]),
    ("GET /api/v1/workflows", &["publishStatus"]),
    ("GET /api/v1/workflows/{id}/publish/preview", &["version"]),
    ("GET /api/v1/workflows/{id}/export-json", &["download"]),
    ("GET /api/v1/workflows/import/scheduler", &["schedulerEngine", "pageNum", "pageSize"]),
    ("GET /api/v1/executions/{id}", &["logOffset"]),
    ("GET /api/v1/lineage", &["direction", "maxNodes", "includeDeprecated"]),
    ("GET /api/v1/tables", &["businessDomain", "dataDomain", "owner", "tag", "hasDrift"]),
    ("PUT /api/v1/tables/{id}", &["dryRun"]),
    ("PUT /api/v1/tables/{id}/comment", &["dryRun"]),
    ("POST /api/v1/tables/{id}/soft-delete", &["dryRun"]),
    ("POST /api/v1/tables/{id}/restore", &["dryRun"]),
    ("POST /api/v1/tables/{id}/purge-now", &["dryRun"]),
    ("POST /api/v1/tables/{id}/fields", &["dryRun"]),
    ("PUT /api/v1/tables/{id}/fields/{fieldId}", &["dryRun"]),
    ("DELETE /api/v1/tables/{id}/fields/{fieldId}", &["dryRun"]),
];

/// Members of the bodies in the interface.
#[rustfmt::skip]
const BODIES: &[(&str, &[&str])] = &[
    ("POST /api/v1/nl2sql/topics", &["title"]),
    ("POST /api/v1/nl2sql/tasks/deliver-message", &["topic_id", "content"]),
    ("POST /api/v1/workflows", &["name", "description", "schedulerEngine"]),
    ("POST /api/v1/workflows/{id}/versions/compare", &["v1", "v2"]),
    ("POST /api/v1/workflows/{id}/publish", &["comment"]),
    ("POST /api/v1/workflows/{id}/publish/{recordId}/approve", &["status", "comment"]),
    ("PUT /api/v1/workflows/{id}/schedule",
        &["crontab", "startTime", "endTime", "failureStrategy", "warningType"]),
    ("POST /api/v1/workflows/{id}/backfill",
        &["mode", "startTime", "endTime", "scheduleDateList", "runMode", "expectedParallelismNumber",
          "complementDependentMode", "allLevelDependent", "executionOrder", "failureStrategy"]),
    ("POST /api/v1/tasks",
        &["task.workflowId", "task.taskName", "task.taskType", "task.datasourceId", "task.sqlContent",
          "task.priority", "task.timeout", "task.retryTimes", "task.retryInterval", "inputTableIds",
          "outputTableIds"]),
    ("POST /api/v1/tables",
        &["tableName", "dbName", "tableComment", "layer", "clusterId", "tableModel", "distributionColumn",
          "bucketNum", "replicaNum", "keyColumns", "partitionColumn"]),
    ("PUT /api/v1/tables/{id}/comment", &["comment"]),
    ("POST /api/v1/tables/{id}/fields",
        &["fieldName", "fieldType", "fieldComment", "isPrimaryKey", "isNullable"]),
];

/// Changes that must be sent completely: there is nothing to omit.
const WHOLE_CHANGES: &[&str] = &["setTableComment"];

fn routes() -> BTreeMap<String, Operation> {
    compose::operations()
        .into_iter()
        .map(|route| (format!("{} {}", route.method, route.path), route))
        .collect()
}

/// An operation of the description by `METHOD /path`.
fn operation<'d>(description: &'d Value, endpoint: &str) -> &'d Value {
    let (method, path) = endpoint.split_once(' ').expect("a method and a path");
    let operation = &description["paths"][path][method.to_ascii_lowercase()];
    assert!(operation.is_object(), "{endpoint} is not described");
    operation
}

/// Every operation of the description with its path.
fn operations(description: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let paths = description["paths"].as_object().expect("paths");
    paths.iter().flat_map(|(path, methods)| {
        methods.as_object().expect("methods").values().map(move |operation| (path, operation))
    })
}

/// Names of an operation's parameters in one place.
fn parameters<'d>(operation: &'d Value, place: &str) -> BTreeSet<&'d str> {
    let listed = operation["parameters"].as_array().expect("parameters").iter();
    listed.filter(|one| one["in"] == place).map(|one| one["name"].as_str().expect("a name")).collect()
}

/// Resolves a schema's `$ref`, or its only choice that is not null.
fn resolved<'d>(description: &'d Value, schema: &'d Value) -> &'d Value {
    if let Some(reference) = schema["$ref"].as_str() {
        let schema =
            description.pointer(reference.trim_start_matches('#')).expect("a reference leads somewhere");
        return resolved(description, schema);
    }
    match schema["anyOf"].as_array() {
        Some(choices) => {
            let choice = choices.iter().find(|choice| choice["type"] != "null").expect("a choice");
            resolved(description, choice)
        }
        None => schema,
    }
}

fn body<'d>(description: &'d Value, operation: &'d Value) -> &'d Value {
    resolved(description, &operation["requestBody"]["content"]["application/json"]["schema"])
}

#[test]
fn every_endpoint_is_routed_for_its_role() {
    assert_eq!(INTERFACE.len(), 60);
    let routes = routes();
    for (method, path, role, _) in INTERFACE.iter().chain(BESIDES) {
        let endpoint = format!("{method} {path}");
        let route = routes.get(&endpoint).unwrap_or_else(|| panic!("{endpoint} is not routed"));
        assert_eq!(route.role, *role, "{endpoint}");
    }
}

#[test]
fn endpoints_take_exactly_the_documented_parameters() {
    let description = describe();
    let more: BTreeMap<&str, &[&str]> = MORE_PARAMETERS.iter().copied().collect();
    for (method, path, _, wanted) in INTERFACE.iter().chain(BESIDES) {
        let endpoint = format!("{method} {path}");
        let more = more.get(endpoint.as_str()).copied().unwrap_or_default();
        let expected: BTreeSet<&str> = wanted.iter().chain(more).copied().collect();
        assert_eq!(parameters(operation(&description, &endpoint), "query"), expected, "{endpoint}");
    }
}

#[test]
fn every_body_of_the_interface_has_its_members() {
    let description = describe();
    for (endpoint, members) in BODIES {
        let whole = body(&description, operation(&description, endpoint));
        for member in *members {
            let mut schema = whole;
            for name in member.split('.') {
                schema = &resolved(&description, schema)["properties"][name];
            }
            assert!(!schema.is_null(), "{endpoint} has no {member}: {whole:#}");
        }
    }
}

#[test]
fn path_parameters_match_the_handlers() {
    let description = describe();
    for (path, operation) in operations(&description) {
        let braces: BTreeSet<&str> =
            path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')).collect();
        assert_eq!(parameters(operation, "path"), braces, "{path}");
    }
}

#[test]
fn what_a_change_leaves_out_stays_as_it_is() {
    let description = describe();
    let paths = description["paths"].as_object().expect("paths");
    for (path, methods) in paths {
        let change = &methods["put"];
        let whole = WHOLE_CHANGES.iter().any(|operation| change["operationId"] == *operation);
        if change["requestBody"].is_null() || whole {
            continue;
        }
        let required = &body(&description, change)["required"];
        assert!(required.is_null(), "PUT {path} asks for {required}");
    }
}

#[test]
fn every_resource_change_takes_if_match() {
    let blind: Vec<String> = routes()
        .into_iter()
        .filter(|(endpoint, route)| endpoint.starts_with("PUT ") && !route.versioned)
        .map(|(endpoint, _)| endpoint)
        .collect();
    assert!(blind.is_empty(), "{blind:?} take no If-Match");
}

#[test]
fn a_viewer_changes_nothing_but_topics_and_their_tasks() {
    let changes: Vec<String> = routes()
        .into_iter()
        .filter(|(_, route)| route.role <= Viewer && route.changes)
        .filter(|(_, route)| !route.path.starts_with("/api/v1/nl2sql/"))
        .map(|(endpoint, _)| endpoint)
        .collect();
    assert!(changes.is_empty(), "{changes:?} need no more than a viewer");
}

#[test]
fn no_two_types_share_a_name_in_the_description() {
    let description = describe();
    let names = description["components"]["schemas"].as_object().expect("schemas").keys();
    let numbered: Vec<&String> =
        names.filter(|name| name.ends_with(|last: char| last.is_ascii_digit())).collect();
    assert!(numbered.is_empty(), "a second type of the same name was given a number: {numbered:?}");
}

#[test]
fn each_tag_has_one_description() {
    let document = describe();
    let mut tags: Vec<&str> =
        document["tags"].as_array().expect("tags").iter().filter_map(|tag| tag["name"].as_str()).collect();
    tags.sort_unstable();
    assert!(tags.windows(2).all(|pair| pair[0] != pair[1]), "{tags:?}");
    for operation in compose::operations() {
        assert!(tags.contains(&lakeport_http::openapi::tag(operation.path)), "{}", operation.path);
    }
}

#[test]
fn the_committed_openapi_file_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi.json");
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let served = format!("{:#}\n", describe());
    let differs = kept.lines().zip(served.lines()).position(|(kept, served)| kept != served);
    let line = differs.unwrap_or_else(|| kept.lines().count().min(served.lines().count())) + 1;
    assert!(
        kept == served,
        "host/server/openapi.json differs from what the server gives, first in line {line}. If the interface was \
         meant to change: lakeport openapi > host/server/openapi.json"
    );
}
