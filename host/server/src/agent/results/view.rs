//! Results in answers.

use ::http::header::CONTENT_DISPOSITION;
use ::http::{HeaderName, HeaderValue};
use lakeport_base::Error;
use lakeport_http::{Answer, AnswerShape, Reply};
use schemars::{JsonSchema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::Value;

use super::{Column, Table, format, parquet};
use crate::agent::forms::ResultFormat;
use crate::agent::topics::view::ArtifactCell;

/// Whether there are more rows than the file has.
static TRUNCATED: HeaderName = HeaderName::from_static("x-truncated");

/// As described.
const HEADERS: &[(&str, &str)] = &[
    ("X-Truncated", "`true` if there are more rows than the file has, else `false`"),
    ("Content-Disposition", "`attachment`, with a name for the file"),
];

/// The rows of a statement.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "QueryResult")]
pub struct RunView {
    datasource: String,
    sql: String,
    columns: Vec<Column>,
    /// Arrays in the order of the columns.
    #[schemars(with = "Vec<Vec<ArtifactCell>>")]
    rows: Vec<Vec<Value>>,
    row_count: usize,
    /// There are more rows.
    truncated: bool,
    /// How long the database took, in milliseconds.
    took_ms: u32,
}

impl RunView {
    pub fn new(datasource: String, sql: String, table: Table, took_ms: u32) -> RunView {
        let Table { columns, rows, truncated } = table;
        RunView { datasource, sql, columns, row_count: rows.len(), rows, truncated, took_ms }
    }
}

/// A table as a file.
pub struct ResultFile(Reply);

impl ResultFile {
    /// Takes processor time.
    pub fn new(table: &Table, format: ResultFormat) -> Result<ResultFile, Error> {
        let (media, disposition, (bytes, is_cut)) = match format {
            ResultFormat::Csv => {
                ("text/csv; charset=utf-8", "attachment; filename=\"result.csv\"", format::csv(table))
            }
            ResultFormat::Ndjson => {
                let disposition = "attachment; filename=\"result.ndjson\"";
                ("application/x-ndjson", disposition, format::ndjson(table))
            }
            ResultFormat::Parquet => {
                let file = parquet::parquet(table).map_err(Error::internal)?;
                ("application/vnd.apache.parquet", "attachment; filename=\"result.parquet\"", (file, false))
            }
        };
        let is_cut = if table.truncated || is_cut { "true" } else { "false" };
        let reply = Reply::bytes(HeaderValue::from_static(media), bytes.into())
            .header(CONTENT_DISPOSITION, HeaderValue::from_static(disposition))
            .header(TRUNCATED.clone(), HeaderValue::from_static(is_cut));
        Ok(ResultFile(reply))
    }
}

impl Answer for ResultFile {
    fn reply(&self) -> &Reply {
        &self.0
    }

    fn into_reply(self) -> Reply {
        self.0
    }

    fn describe(_: &mut SchemaGenerator) -> Option<AnswerShape> {
        let schema = json_schema!({ "type": "string" });
        let media = &["text/csv", "application/x-ndjson", "application/vnd.apache.parquet"];
        Some(AnswerShape { headers: HEADERS, ..AnswerShape::new(media, schema) })
    }
}
