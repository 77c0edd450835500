//! The log in the store. Rows are only added, and purged by age.

use std::borrow::Cow;

use lakeport_base::Error;
use lakeport_store::Retained;
use lakeport_store::{Db, Either, Row, Statement};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub const RETAINED: Retained = Retained {
    what: "query_log",
    table: "query_log",
    purge: "DELETE FROM query_log WHERE id IN (SELECT id FROM query_log WHERE at < $1 LIMIT $2)",
};

/// How a query used a table.
const READ: &str = "read";
const WRITTEN: &str = "written";

/// The outcome of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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

/// A finished query.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Query {
    pub datasource_id: i64,
    /// Id and name of each table that it read.
    pub read: Vec<(i64, String)>,
    /// The same of each table that it wrote.
    pub written: Vec<(i64, String)>,
    /// A user of Lakeport, or `workflow` and its name.
    pub asked_by: String,
    /// Where it came from: `agent`, `task`.
    pub origin: Cow<'static, str>,
    pub outcome: Outcome,
    pub at_ms: i64,
}

impl Query {
    /// Adds a row per table that it read, and per table that it wrote, or one without a table.
    pub fn to_record(&self, db: &Db) -> Statement {
        const RECORD: Either = Either {
            sqlite: "INSERT INTO query_log (query_id, datasource_id, table_id, table_name, access, asked_by, origin, outcome, at) \
                SELECT $1, $2, json_extract(value, '$.id'), json_extract(value, '$.name'), json_extract(value, '$.access'), \
                $3, $4, $5, $6 FROM json_each($7)",
            postgres: "INSERT INTO query_log (query_id, datasource_id, table_id, table_name, access, asked_by, origin, outcome, at) \
                SELECT $1, $2, id, name, access, $3, $4, $5, $6 \
                FROM json_to_recordset(CAST($7 AS json)) AS given (id BIGINT, name TEXT, access TEXT)",
        };
        let row = |access: &'static str| move |(id, name): &(i64, String)| json!({ "id": id, "name": name, "access": access });
        let mut rows: Vec<Value> =
            self.read.iter().map(row(READ)).chain(self.written.iter().map(row(WRITTEN))).collect();
        if rows.is_empty() {
            rows.push(json!({ "id": null, "name": null, "access": READ }));
        }
        let values = [
            uuid::Uuid::now_v7().to_string().into(),
            self.datasource_id.into(),
            self.asked_by.as_str().into(),
            self.origin.as_ref().into(),
            self.outcome.as_str().into(),
            self.at_ms.into(),
            Value::Array(rows).to_string().into(),
        ];
        Statement::new(db.words(RECORD), values)
    }
}

/// Adds all of them, or none.
pub async fn record(db: &Db, queries: &[Query]) -> Result<(), Error> {
    let mut tx = db.begin().await?;
    queries.iter().for_each(|query| tx.execute_later(query.to_record(db)));
    tx.commit().await
}

/// A reader of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reader {
    pub name: String,
    pub count: i64,
    pub last_ms: i64,
}

/// The number of queries that read a table of a data source in each of these periods: from a time on and
/// before another. Failed or cancelled queries do not count, nor do those that wrote.
pub async fn reads(
    db: &Db,
    datasource_id: i64,
    table_id: i64,
    spans: &[(i64, i64)],
) -> Result<Vec<i64>, Error> {
    const READS: Either = Either {
        sqlite: "SELECT (SELECT count(*) FROM query_log WHERE table_id = $2 AND datasource_id = $1 \
            AND at >= json_extract(span.value, '$[0]') AND at < json_extract(span.value, '$[1]') \
            AND outcome = 'success' AND access = 'read') FROM json_each($3) AS span ORDER BY span.key",
        postgres: "SELECT (SELECT count(*) FROM query_log WHERE table_id = $2 AND datasource_id = $1 \
            AND at >= CAST(span.value ->> 0 AS BIGINT) AND at < CAST(span.value ->> 1 AS BIGINT) \
            AND outcome = 'success' AND access = 'read') \
            FROM json_array_elements(CAST($3 AS json)) WITH ORDINALITY AS span (value, place) ORDER BY span.place",
    };
    let spans = serde_json::to_string(spans).map_err(Error::internal)?;
    let rows = db.read(db.words(READS), &[datasource_id.into(), table_id.into(), spans.into()]).await?;
    rows.iter().map(|row| row.get(0)).collect()
}

/// The readers of a table of a data source since a time, most frequent first.
pub async fn readers(
    db: &Db,
    datasource_id: i64,
    table_id: i64,
    from_ms: i64,
    at_most: i64,
) -> Result<Vec<Reader>, Error> {
    const READERS: &str = "SELECT asked_by, count(*) AS reads, max(at) FROM query_log \
        WHERE table_id = $2 AND datasource_id = $1 AND at >= $3 AND outcome = 'success' AND access = 'read' \
        GROUP BY asked_by ORDER BY reads DESC, asked_by LIMIT $4";
    let values = [datasource_id.into(), table_id.into(), from_ms.into(), at_most.into()];
    let reader = |row: &Row| Ok(Reader { name: row.get(0)?, count: row.get(1)?, last_ms: row.get(2)? });
    db.read(READERS, &values).await?.iter().map(reader).collect()
}

#[cfg(test)]
pub mod testing {
    use super::{Outcome, Query};

    /// An agent's query that read these tables.
    pub fn query(tables: &[(i64, &str)], at_ms: i64) -> Query {
        Query {
            datasource_id: 3,
            read: tables.iter().map(|(id, name)| (*id, (*name).to_owned())).collect(),
            written: Vec::new(),
            asked_by: "ada".to_owned(),
            origin: "agent".into(),
            outcome: Outcome::Success,
            at_ms,
        }
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
