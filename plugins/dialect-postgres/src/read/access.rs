//! Accesses, as far as PostgreSQL counts them: scans of each table since its statistics were reset, without
//! users and times; from version 16 on with the time of the last scan.

use lakeport_sdk::dialect::{
    AccessCounter, AccessPage, AccessRequest, Error, Query, RowSet, ServerInfo, TableName,
};
use lakeport_sdk::serde_json;

use super::{Source, places, text};
use crate::version::{LAST_ACCESS, is_at_least};

/// The source.
const SOURCE: &str = "pg_stat_user_tables";
/// The source's limitations.
const NOTE: &str = "PostgreSQL counts scans of a table, not statements, and neither users nor days; counting the \
                    rows of a table is a scan, too. After a crash it starts again at zero";

/// One page of counters. Scans of a partition count for its table.
pub fn access(
    source: &impl Source,
    server: &ServerInfo,
    request: &AccessRequest,
) -> Result<AccessPage, Error> {
    let counts = serde_json::from_str::<serde_json::Value>(&server.facts)
        .is_ok_and(|facts| facts["trackCounts"] != serde_json::Value::Bool(false));
    if !counts {
        return Ok(AccessPage::none("track_counts is off: PostgreSQL counts no accesses"));
    }
    page_of(&source.ask(query(server, request)?)?, request.page.limit)
}

/// The position after which a page begins.
fn behind(cursor: &str) -> Result<(String, String), Error> {
    serde_json::from_str(cursor)
        .map_err(|_| Error::invalid_input("the cursor is not one that this dialect made"))
}

fn query(server: &ServerInfo, request: &AccessRequest) -> Result<Query, Error> {
    let mut query = Query::new(
        "WITH RECURSIVE chosen (root) AS (SELECT c.oid FROM pg_catalog.pg_class AS c \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
         WHERE c.relkind IN ('r', 'p', 'm') AND pg_catalog.left(CAST(n.nspname AS text), 3) <> 'pg_' \
         AND n.nspname <> 'information_schema'",
    );
    query = if request.tables.is_empty() {
        query.sql(" AND NOT c.relispartition")
    } else {
        places(query.sql(" AND "), &request.tables)
    };
    if let Some(cursor) = &request.page.cursor {
        let (schema, name) = behind(cursor)?;
        query = text(query.sql(" AND (n.nspname > "), &schema);
        query = text(query.sql(" OR n.nspname = "), &schema);
        query = text(query.sql(" AND c.relname > "), &name).sql(")");
    }
    query = query.sql(" ORDER BY n.nspname, c.relname LIMIT ").value(i64::from(request.page.limit) + 1).sql(
        "), members (root, member) AS (SELECT h.root, h.root FROM chosen AS h UNION ALL \
             SELECT m.root, i.inhrelid FROM members AS m \
             JOIN pg_catalog.pg_inherits AS i ON i.inhparent = m.member \
             JOIN pg_catalog.pg_class AS p ON p.oid = i.inhrelid WHERE p.relispartition) \
             SELECT CAST(n.nspname AS text) AS schema_name, CAST(r.relname AS text) AS name, \
             CAST(sum(coalesce(t.seq_scan, 0) + coalesce(t.idx_scan, 0)) AS bigint) AS scans, \
             CAST(extract(epoch FROM (SELECT b.stats_reset FROM pg_catalog.pg_stat_database AS b \
             WHERE b.datname = pg_catalog.current_database())) * 1000 AS bigint) AS since_ms, ",
    );
    query = if is_at_least(server, LAST_ACCESS) {
        query.sql(
            "CAST(extract(epoch FROM max(greatest(t.last_seq_scan, t.last_idx_scan))) * 1000 AS bigint) AS last_ms",
        )
    } else {
        query.sql("CAST(NULL AS bigint) AS last_ms")
    };
    Ok(query.sql(
        " FROM members AS m JOIN pg_catalog.pg_class AS r ON r.oid = m.root \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = r.relnamespace \
         LEFT JOIN pg_catalog.pg_stat_user_tables AS t ON t.relid = m.member \
         GROUP BY n.nspname, r.relname ORDER BY n.nspname, r.relname",
    ))
}

/// The page of these rows.
pub fn page_of(rows: &RowSet, limit: u32) -> Result<AccessPage, Error> {
    let mut counters = rows
        .iter()
        .map(|row| {
            Ok(AccessCounter {
                table: TableName::new(row.text("schema_name")?, row.text("name")?),
                count: u64::try_from(row.integer("scans")?).unwrap_or(0),
                since: row.optional_integer("since_ms")?,
                last: row.optional_integer("last_ms")?,
            })
        })
        .collect::<Result<Vec<_>, Error>>()?;
    let more = rows.truncated || counters.len() > limit as usize;
    counters.truncate(limit as usize);
    let next = match counters.last().filter(|_| more) {
        Some(last) => Some(serde_json::json!([last.table.database, last.table.name]).to_string()),
        None if more => return Err(Error::limit_exceeded("not even one table's name fits into an answer")),
        None => None,
    };
    Ok(AccessPage { counters, next, source: SOURCE.to_owned(), ..AccessPage::none(NOTE) })
}
