//! Sizes of tables. Bytes are exact and cheap; rows are ANALYZE's estimates unless they are counted.

use std::collections::BTreeMap;

use lakeport_sdk::Row;
use lakeport_sdk::dialect::{Error, Query, TableName, TableStatistics};

use super::{Source, no_table, places};

/// Sizes, in the requested order. Those of a partitioned table are the sums of its partitions.
pub fn statistics(
    source: &impl Source,
    tables: &[TableName],
    fresh: bool,
) -> Result<Vec<Result<TableStatistics, Error>>, Error> {
    let rows = source.ask_whole(query(tables))?;
    let mut known = BTreeMap::new();
    for row in rows.iter() {
        known.insert((row.text("schema_name")?, row.text("name")?), row);
    }
    let one = |table: &TableName| {
        let row =
            known.get(&(table.database.as_str(), table.name.as_str())).ok_or_else(|| no_table(table))?;
        let estimated = statistics_of(row)?;
        match (fresh, row.boolean("hides_rows")?) {
            (false, _) => Ok(estimated),
            (true, true) => Ok(uncountable(estimated)),
            (true, false) => {
                let parent = row.boolean("has_heirs")?.then(|| row.integer("relation")).transpose()?;
                counted(source, table, parent, estimated)
            }
        }
    };
    Ok(tables.iter().map(one).collect())
}

fn query(tables: &[TableName]) -> Query {
    let query = Query::new(
        "WITH RECURSIVE members (root, member, depth) AS (\
         SELECT c.oid, c.oid, 0 FROM pg_catalog.pg_class AS c \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
         WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND ",
    );
    places(query, tables).sql(
        " UNION ALL SELECT m.root, i.inhrelid, m.depth + 1 FROM members AS m \
         JOIN pg_catalog.pg_inherits AS i ON i.inhparent = m.member \
         JOIN pg_catalog.pg_class AS p ON p.oid = i.inhrelid WHERE p.relispartition) \
         SELECT CAST(n.nspname AS text) AS schema_name, CAST(r.relname AS text) AS name, \
         CAST(r.relkind AS text) AS kind, CAST(r.oid AS bigint) AS relation, \
         r.relkind = 'r' AND r.relhassubclass AS has_heirs, \
         pg_catalog.row_security_active(r.oid) AS hides_rows, \
         CAST(sum(CASE WHEN c.relkind IN ('r', 'm') AND c.reltuples > 0 THEN c.reltuples ELSE 0 END) AS bigint) AS row_count, \
         CAST(sum(CASE WHEN c.relkind = 'f' OR c.relkind IN ('r', 'm') AND (c.reltuples < 0 \
         OR c.reltuples = 0 AND c.relpages = 0 AND pg_catalog.pg_relation_size(c.oid) > 0) \
         THEN 1 ELSE 0 END) AS bigint) AS unknown_members, \
         CAST(sum(CASE WHEN c.relkind IN ('r', 'm') THEN pg_catalog.pg_table_size(c.oid) END) AS bigint) AS data_bytes, \
         CAST(sum(CASE WHEN c.relkind IN ('r', 'm') THEN pg_catalog.pg_indexes_size(c.oid) END) AS bigint) AS index_bytes, \
         CAST(sum(CASE WHEN m.depth > 0 AND c.relkind <> 'p' THEN 1 ELSE 0 END) AS bigint) AS partitions, \
         CAST(sum(CASE WHEN c.relkind IN ('r', 'm') AND t.last_analyze IS NULL AND t.last_autoanalyze IS NULL \
         THEN 1 ELSE 0 END) AS bigint) AS never_analyzed, \
         CAST(extract(epoch FROM min(greatest(t.last_analyze, t.last_autoanalyze))) * 1000 AS bigint) AS analyzed_ms \
         FROM members AS m JOIN pg_catalog.pg_class AS c ON c.oid = m.member \
         JOIN pg_catalog.pg_class AS r ON r.oid = m.root \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = r.relnamespace \
         LEFT JOIN pg_catalog.pg_stat_user_tables AS t ON t.relid = c.oid \
         GROUP BY n.nspname, r.relname, r.relkind, r.oid, r.relhassubclass ORDER BY 1, 2",
    )
}

/// The catalogue's statistics.
pub fn statistics_of(row: &Row<'_>) -> Result<TableStatistics, Error> {
    let kind = row.text("kind")?;
    if matches!(kind, "v" | "f") {
        let what = if kind == "v" { "a view has no rows of its own" } else { "its rows lie elsewhere" };
        let note = format!("{what}; a fresh reading counts them");
        return Ok(TableStatistics { note, ..TableStatistics::unknown() });
    }
    let bytes = |column: &str| -> Result<Option<u64>, Error> {
        Ok(row.optional_integer(column)?.and_then(|bytes| u64::try_from(bytes).ok()))
    };
    let is_known = row.integer("unknown_members")? == 0;
    let is_partitioned = kind == "p";
    let note = if is_known {
        "rows as PostgreSQL estimated them when it last looked"
    } else {
        "never analyzed: PostgreSQL has no estimate of the rows"
    };
    Ok(TableStatistics {
        row_count: bytes("row_count")?.filter(|_| is_known),
        row_accuracy: if is_known { "estimate" } else { "unknown" }.to_owned(),
        data_bytes: bytes("data_bytes")?.or(is_partitioned.then_some(0)),
        index_bytes: bytes("index_bytes")?.or(is_partitioned.then_some(0)),
        partition_count: if is_partitioned { u32::try_from(row.integer("partitions")?).ok() } else { None },
        as_of: if is_known && row.integer("never_analyzed")? == 0 {
            row.optional_integer("analyzed_ms")?
        } else {
            None
        },
        note: note.to_owned(),
    })
}

/// A row policy hides rows from the account, so its count would be too low.
fn uncountable(estimated: TableStatistics) -> TableStatistics {
    let note = format!(
        "row-level security hides rows from this account, so they are not counted; {}",
        estimated.note
    );
    TableStatistics { note, ..estimated }
}

/// Counts the rows, those of `parent` alone if others inherit from it. If that takes too long, or is not
/// permitted, keeps the estimate.
fn counted(
    source: &impl Source,
    table: &TableName,
    parent: Option<i64>,
    estimated: TableStatistics,
) -> Result<TableStatistics, Error> {
    let query = Query::new("SELECT count(*) AS n FROM ").name([&table.database, &table.name]);
    let query = match parent {
        // The host's parser does not know `FROM ONLY`.
        Some(relation) => query.sql(" AS t WHERE t.tableoid = CAST(").value(relation).sql(" AS oid)"),
        None => query,
    };
    match source.ask_whole(query) {
        Ok(rows) => {
            let count =
                rows.first().ok_or_else(|| Error::bad_answer("count(*) had no answer"))?.integer("n")?;
            Ok(TableStatistics {
                row_count: u64::try_from(count).ok(),
                row_accuracy: "exact".to_owned(),
                as_of: None,
                note: String::new(),
                ..estimated
            })
        }
        Err(error) if matches!(error.code.as_str(), "timeout" | "upstream_failed") => {
            let note = format!("the rows could not be counted ({}); {}", error.message, estimated.note);
            Ok(TableStatistics { note, ..estimated })
        }
        Err(error) => Err(error),
    }
}
