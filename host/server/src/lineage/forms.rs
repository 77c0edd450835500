//! The forms of requests about lineage.

use std::borrow::Cow;

use lakeport_http::form::Number;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The default number of nodes.
pub const NODES_DEFAULT: i64 = 2_000;
/// The most nodes of an answer.
pub const NODES_MAX: i64 = 20_000;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "LineageDirection")]
pub enum Direction {
    #[default]
    Both,
    Upstream,
    Downstream,
}

/// The walk covers the complete graph; the filters select the returned tables.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GraphQuery {
    /// The table from which the walk starts; absent: the complete graph.
    pub table_id: Option<i64>,
    /// The maximum number of steps from the table; 0: only the table; absent: no limit.
    pub depth: Option<u32>,
    /// Only tables of this layer.
    pub layer: Option<String>,
    pub business_domain: Option<String>,
    pub data_domain: Option<String>,
    pub db_name: Option<String>,
    pub cluster_id: Option<i64>,
    /// Part of the table's name, ignoring case.
    pub keyword: Option<String>,
    #[serde(default)]
    pub direction: Direction,
    /// The maximum number of returned tables, nearest first; `omitted` counts the others.
    #[serde(default = "nodes_default")]
    pub max_nodes: Number<1, NODES_MAX>,
    #[serde(default)]
    pub include_deprecated: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImpactQuery {
    pub table_id: i64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ColumnsQuery {
    pub table_id: i64,
    /// Absent: all fields of the table.
    pub field: Option<String>,
    #[serde(default)]
    pub direction: Direction,
    /// The maximum number of steps from the field; absent: no limit.
    pub depth: Option<u32>,
}

/// One event or an array of them. Each is read on its own: an invalid one does not affect the others.
#[derive(Deserialize)]
#[serde(from = "Value")]
pub struct OpenLineageEvents(pub Vec<Value>);

impl From<Value> for OpenLineageEvents {
    fn from(body: Value) -> OpenLineageEvents {
        match body {
            Value::Array(events) => OpenLineageEvents(events),
            event => OpenLineageEvents(vec![event]),
        }
    }
}

impl JsonSchema for OpenLineageEvents {
    fn schema_name() -> Cow<'static, str> {
        "OpenLineageEvents".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let event = generator.subschema_for::<OpenLineageEvent>();
        json_schema!({
            "description": "One event or an array of them; a broken one is rejected alone",
            "oneOf": [event, { "type": "array", "items": event }],
        })
    }
}

/// An event of a run, a job or a dataset, by the OpenLineage specification.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenLineageEvent {
    /// RFC 3339
    pub event_time: String,
    /// `START`, `RUNNING`, `COMPLETE`, `ABORT`, `FAIL` or `OTHER`, of a run.
    pub event_type: Option<String>,
    pub producer: Option<String>,
    #[serde(rename = "schemaURL")]
    pub schema_url: Option<String>,
    pub run: Option<OpenLineageRun>,
    pub job: Option<OpenLineageJob>,
    pub inputs: Option<Vec<OpenLineageDataset>>,
    pub outputs: Option<Vec<OpenLineageDataset>>,
    /// For a dataset's own event.
    pub dataset: Option<OpenLineageDataset>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenLineageRun {
    pub run_id: String,
    pub facets: Option<Map<String, Value>>,
}

#[derive(Deserialize, JsonSchema)]
pub struct OpenLineageJob {
    pub namespace: String,
    pub name: String,
    pub facets: Option<Map<String, Value>>,
}

#[derive(Deserialize, JsonSchema)]
pub struct OpenLineageDataset {
    pub namespace: String,
    pub name: String,
    pub facets: Option<Map<String, Value>>,
}

fn nodes_default() -> Number<1, NODES_MAX> {
    Number(NODES_DEFAULT)
}
