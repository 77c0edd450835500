//! Sizes of tables. SQLite has no statistics, so rows are counted, and only on request.

use std::collections::BTreeMap;

use lakeport_sdk::dialect::{Connection, Error, Query, RowSet, TableName, TableStatistics};

use super::{in_main, no_table};

/// Sizes, in the requested order.
pub fn statistics(
    connection: &Connection,
    tables: &[TableName],
    fresh: bool,
) -> Result<Vec<Result<TableStatistics, Error>>, Error> {
    if !fresh {
        return Ok(tables.iter().map(|table| in_main(&table.database).map(|()| not_counted())).collect());
    }
    let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    let there = there_query(&names).run(connection)?;
    let sizes = match bytes_query(&names).run(connection) {
        Ok(rows) => Some(bytes_of(&rows)?),
        // SQLite may be built without `dbstat`.
        Err(error) if error.code == "upstream_failed" => None,
        Err(error) => return Err(error),
    };
    Ok(tables
        .iter()
        .map(|table| {
            in_main(&table.database)?;
            if !there.iter().any(|row| row.text("name").is_ok_and(|name| name == table.name)) {
                return Err(no_table(table));
            }
            let counted = Query::new("SELECT count(*) AS n FROM ")
                .name([&table.database, &table.name])
                .run(connection)?;
            statistics_of(&table.name, &counted, sizes.as_ref())
        })
        .collect())
}

fn there_query(names: &[&str]) -> Query {
    Query::new(
        "SELECT s.name AS name FROM sqlite_schema AS s WHERE s.type IN ('table', 'view') AND s.name IN (",
    )
    .values(names.iter().copied())
    .sql(")")
}

fn bytes_query(names: &[&str]) -> Query {
    Query::new(
        "SELECT s.tbl_name AS table_name, s.type AS kind, sum(d.pgsize) AS bytes \
         FROM sqlite_schema AS s JOIN dbstat AS d ON d.name = s.name \
         WHERE d.aggregate = 1 AND s.type IN ('table', 'index') AND s.tbl_name IN (",
    )
    .values(names.iter().copied())
    .sql(") GROUP BY s.tbl_name, s.type")
}

/// Bytes of data and of indexes, by table.
pub type Bytes = BTreeMap<String, (u64, u64)>;

/// Reads the answer of `dbstat`.
pub fn bytes_of(rows: &RowSet) -> Result<Bytes, Error> {
    let mut sizes = Bytes::new();
    for row in rows.iter() {
        let bytes = u64::try_from(row.integer("bytes")?)
            .map_err(|_| Error::bad_answer("dbstat says that a table has less than no bytes"))?;
        let (data, indexes) = sizes.entry(row.text("table_name")?.to_owned()).or_default();
        if row.text("kind")? == "index" {
            *indexes += bytes;
        } else {
            *data += bytes;
        }
    }
    Ok(sizes)
}

/// A table's sizes; without `sizes` the bytes are unknown. A view has rows and no bytes.
pub fn statistics_of(name: &str, counted: &RowSet, sizes: Option<&Bytes>) -> Result<TableStatistics, Error> {
    let row = counted.first().ok_or_else(|| Error::bad_answer("count(*) had no answer"))?;
    let rows =
        u64::try_from(row.integer("n")?).map_err(|_| Error::bad_answer("count(*) is less than nothing"))?;
    let bytes = sizes.and_then(|sizes| sizes.get(name));
    let note = if sizes.is_none() { "this SQLite is built without dbstat and tells no bytes" } else { "" };
    Ok(TableStatistics {
        row_count: Some(rows),
        row_accuracy: "exact".to_owned(),
        data_bytes: bytes.map(|(data, _)| *data),
        index_bytes: bytes.map(|(_, indexes)| *indexes),
        note: note.to_owned(),
        ..TableStatistics::unknown()
    })
}

fn not_counted() -> TableStatistics {
    TableStatistics {
        note: "SQLite keeps no statistics; a fresh reading counts the rows".to_owned(),
        ..TableStatistics::unknown()
    }
}
