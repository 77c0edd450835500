//! Sizes of tables. The catalogue has InnoDB's estimates, which MySQL even caches for a day. On request, rows
//! are counted and bytes are read from the engine's own table.

use std::collections::BTreeMap;

use lakeport_sdk::Row;
use lakeport_sdk::dialect::{Error, Query, TableName, TableStatistics};

use super::inspect::{ByTable, by_table};
use super::{Ask, counters, kind_of, no_table, text, whole};
use crate::server::Server;

/// Engines with exact row counts.
const EXACT_ENGINES: [&str; 4] = ["MyISAM", "Aria", "MEMORY", "ARCHIVE"];

/// Bytes of data and of indexes, by table.
pub type Bytes = BTreeMap<String, (u64, u64)>;

/// Sizes, in the requested order.
pub fn statistics(
    ask: &dyn Ask,
    server: &Server,
    tables: &[TableName],
    fresh: bool,
) -> Result<Vec<Result<TableStatistics, Error>>, Error> {
    let mut by_database: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for table in tables {
        by_database.entry(&table.database).or_default().push(&table.name);
    }
    let mut sizes = BTreeMap::new();
    for (database, names) in by_database {
        let heads = by_table(whole(ask, sizes_query(database, &names))?, "name")?;
        let is_partitioned =
            |row: Row<'_>| text(&row, "options").is_ok_and(|one| one.contains("partitioned"));
        let partitions = match heads.values().any(|rows| rows.iter().any(is_partitioned)) {
            true => by_table(whole(ask, partitions_query(database, &names))?, "name")?,
            false => ByTable::new(),
        };
        // The account may lack the privilege to read the engine's own table.
        let bytes = match fresh && server.sizes_cached_s.is_some() {
            true => {
                whole(ask, bytes_query(database)).and_then(|rows| bytes_of(&rows, server.page_bytes)).ok()
            }
            false => None,
        };
        for name in names {
            let table = TableName::new(database, name);
            let known = statistics_of(server, &table, &heads, &partitions, bytes.as_ref());
            sizes.insert((database.to_owned(), name.to_owned()), known);
        }
    }
    Ok(tables
        .iter()
        .map(|table| {
            let known = sizes.get(&(table.database.clone(), table.name.clone()));
            let known = known.cloned().unwrap_or_else(|| Err(no_table(table)))?;
            Ok(if fresh { counted(ask, table, known) } else { known })
        })
        .collect())
}

fn sizes_query(database: &str, names: &[&str]) -> Query {
    Query::new(
        "SELECT t.TABLE_NAME AS name, t.TABLE_TYPE AS kind, t.ENGINE AS engine, \
         t.CREATE_OPTIONS AS options, t.TABLE_ROWS AS row_count, t.DATA_LENGTH AS data_bytes, \
         t.INDEX_LENGTH AS index_bytes FROM information_schema.TABLES AS t WHERE t.TABLE_SCHEMA = ",
    )
    .value(database)
    .sql(" AND t.TABLE_NAME IN (")
    .values(names.iter().copied())
    .sql(")")
}

fn partitions_query(database: &str, names: &[&str]) -> Query {
    Query::new(
        "SELECT p.TABLE_NAME AS name, COUNT(DISTINCT p.PARTITION_NAME) AS partitions \
         FROM information_schema.PARTITIONS AS p WHERE p.PARTITION_NAME IS NOT NULL AND p.TABLE_SCHEMA = ",
    )
    .value(database)
    .sql(" AND p.TABLE_NAME IN (")
    .values(names.iter().copied())
    .sql(") GROUP BY p.TABLE_NAME")
}

fn bytes_query(database: &str) -> Query {
    Query::new(
        "SELECT s.table_name AS name, s.clustered_index_size AS data_pages, \
         s.sum_of_other_index_sizes AS index_pages FROM mysql.innodb_table_stats AS s \
         WHERE s.database_name = ",
    )
    .value(database)
}

/// Sums bytes from pages; partitions (`orders#P#p1#SP#s1`) count for their table.
pub fn bytes_of(rows: &lakeport_sdk::dialect::RowSet, page_bytes: u64) -> Result<Bytes, Error> {
    let mut sizes = Bytes::new();
    for row in rows.iter() {
        let name = text(&row, "name")?;
        let upper = name.to_ascii_uppercase();
        let table = upper.find("#P#").map_or(name.as_str(), |at| &name[..at]);
        let pages = |column: &str| row.integer(column).map(|pages| u64::try_from(pages).unwrap_or(0));
        let (data, indexes) = sizes.entry(table.to_owned()).or_default();
        *data += pages("data_pages")? * page_bytes;
        *indexes += pages("index_pages")? * page_bytes;
    }
    Ok(sizes)
}

/// The catalogue's statistics of one table. A view has neither rows nor bytes of its own.
pub fn statistics_of(
    server: &Server,
    table: &TableName,
    heads: &ByTable,
    partitions: &ByTable,
    bytes: Option<&Bytes>,
) -> Result<TableStatistics, Error> {
    let head = heads.get(&table.name).and_then(|rows| rows.first()).ok_or_else(|| no_table(table))?;
    match kind_of(&head)? {
        None => return Err(no_table(table)),
        Some("view") => {
            let note = "a view keeps no rows; a fresh reading counts them".to_owned();
            return Ok(TableStatistics { note, ..TableStatistics::unknown() });
        }
        Some(_) => {}
    }
    let engine = text(&head, "engine")?;
    let number = |column: &str| -> Result<Option<u64>, Error> {
        Ok(head.optional_integer(column)?.and_then(|number| u64::try_from(number).ok()))
    };
    let is_exact = server.sizes_cached_s.is_none() && EXACT_ENGINES.contains(&engine.as_str());
    let own = bytes.and_then(|bytes| bytes.get(&table.name)).copied();
    let rows = number("row_count")?;
    let accuracy = match rows {
        None => "unknown",
        Some(_) if is_exact => "exact",
        Some(_) => "estimate",
    };
    let partition_count = partitions.get(&table.name).and_then(|rows| rows.first());
    Ok(TableStatistics {
        row_count: rows,
        row_accuracy: accuracy.to_owned(),
        data_bytes: own.map(|(data, _)| data).map_or_else(|| number("data_bytes"), |data| Ok(Some(data)))?,
        index_bytes: own
            .map(|(_, other)| other)
            .map_or_else(|| number("index_bytes"), |other| Ok(Some(other)))?,
        partition_count: partition_count
            .map(|row| row.integer("partitions"))
            .transpose()?
            .and_then(|count| u32::try_from(count).ok()),
        as_of: None,
        note: note(server, &engine, own.is_some()),
    })
}

fn note(server: &Server, engine: &str, is_own: bool) -> String {
    let mut parts = Vec::new();
    if engine.eq_ignore_ascii_case("InnoDB") {
        parts.push("the key's index is counted with the data".to_owned());
    }
    if let Some(seconds) = server.sizes_cached_s.filter(|seconds| *seconds > 0 && !is_own) {
        parts.push(format!(
            "MySQL keeps these numbers for up to {seconds} s (information_schema_stats_expiry)"
        ));
    }
    parts.join("; ")
}

/// Counts the rows. If that takes too long, keeps the estimate and marks it.
fn counted(ask: &dyn Ask, table: &TableName, known: TableStatistics) -> TableStatistics {
    let query = Query::new("SELECT COUNT(*) AS ")
        .name([counters::MEASURED])
        .sql(" FROM ")
        .name([&table.database, &table.name]);
    let count = whole(ask, query).and_then(|rows| {
        let row = rows.first().ok_or_else(|| Error::bad_answer("COUNT(*) had no answer"))?;
        u64::try_from(row.integer(counters::MEASURED)?)
            .map_err(|_| Error::bad_answer("COUNT(*) is less than nothing"))
    });
    match count {
        Ok(rows) => TableStatistics { row_count: Some(rows), row_accuracy: "exact".to_owned(), ..known },
        Err(error) => {
            let note = format!("the rows could not be counted: {}", error.message);
            let parts = [known.note.clone(), note];
            let said = parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>();
            TableStatistics { note: said.join("; "), ..known }
        }
    }
}
