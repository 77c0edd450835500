//! The log in the store. Rows are only added, and purged by age.

use serde_json::{Value, json};

use crate::db::{Db, Either};
use crate::error::Error;
use crate::retention::Retained;

pub const RETAINED: Retained = Retained {
    what: "query_log",
    table: "query_log",
    purge: "DELETE FROM query_log WHERE id IN (SELECT id FROM query_log WHERE at < $1 LIMIT $2)",
};

/// What became of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Success,
    Failed,
    Cancelled,
}

impl Outcome {
    fn as_str(self) -> &'static str {
        match self {
            Outcome::Success => "success",
            Outcome::Failed => "failed",
            Outcome::Cancelled => "cancelled",
        }
    }
}

/// A query that was run.
#[derive(Debug, Clone)]
pub struct Query {
    pub datasource_id: i64,
    /// Id and name of each table that it read.
    pub tables: Vec<(i64, String)>,
    pub asked_by: String,
    /// What asked for it: `agent`.
    pub origin: &'static str,
    pub outcome: Outcome,
    pub at_ms: i64,
}

/// Adds a row for each table that it read, or one without.
pub async fn record(db: &Db, query: &Query) -> Result<(), Error> {
    const RECORD: Either = Either {
        sqlite: "INSERT INTO query_log (query_id, datasource_id, table_id, table_name, asked_by, origin, outcome, at) \
            SELECT $1, $2, json_extract(value, '$.id'), json_extract(value, '$.name'), $3, $4, $5, $6 \
            FROM json_each($7)",
        postgres: "INSERT INTO query_log (query_id, datasource_id, table_id, table_name, asked_by, origin, outcome, at) \
            SELECT $1, $2, id, name, $3, $4, $5, $6 \
            FROM json_to_recordset(CAST($7 AS json)) AS given (id BIGINT, name TEXT)",
    };
    let mut tables: Vec<Value> =
        query.tables.iter().map(|(id, name)| json!({ "id": id, "name": name })).collect();
    if tables.is_empty() {
        tables.push(json!({ "id": null, "name": null }));
    }
    let values = [
        uuid::Uuid::now_v7().to_string().into(),
        query.datasource_id.into(),
        query.asked_by.as_str().into(),
        query.origin.into(),
        query.outcome.as_str().into(),
        query.at_ms.into(),
        Value::Array(tables).to_string().into(),
    ];
    db.execute(db.words(RECORD), &values).await.map(drop)
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
