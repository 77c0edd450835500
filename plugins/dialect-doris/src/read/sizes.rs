//! Sizes of tables as last reported to the front end; rows are counted only on request.

use lakeport_sdk::dialect::{Connection, Error, Query, RowSet, TableName, TableStatistics};

use super::inspect::partitions_query;
use super::{in_halves, missing, no_table, number, once};
use crate::server::{Product, Server};

/// Sizes, in the requested order.
pub fn statistics(
    connection: &Connection,
    server: &Server,
    tables: &[TableName],
    fresh: bool,
) -> Result<Vec<Result<TableStatistics, Error>>, Error> {
    let mut sizes = std::collections::BTreeMap::new();
    for database in once(tables.iter().map(|table| table.database.as_str())) {
        let names = tables.iter().filter(|table| table.database == database);
        let names = once(names.map(|table| table.name.as_str()));
        let rows = in_halves(connection, &names, &|names: &[&str]| sizes_query(database, names))?;
        let partitions = match server.partitions {
            true => Some(in_halves(connection, &names, &|names: &[&str]| {
                partitions_query(server.product)(database, names)
            })?),
            false => None,
        };
        sizes.insert(database, (rows, partitions));
    }
    let one = |table: &TableName| {
        let (rows, partitions) = &sizes[table.database.as_str()];
        let told = statistics_of(server, table, rows, partitions.as_ref())?;
        if !fresh || told.row_accuracy == "unknown" {
            return Ok(told);
        }
        let counted = count_query(table).run(connection).map_err(|error| missing(error, table))?;
        counted_of(told, &counted)
    };
    Ok(tables.iter().map(one).collect())
}

pub(super) fn sizes_query(database: &str, names: &[&str]) -> Query {
    Query::new(
        "SELECT t.TABLE_NAME AS name, t.TABLE_TYPE AS kind, t.ENGINE AS engine_name, t.TABLE_ROWS AS row_count, \
         t.DATA_LENGTH AS data_bytes, t.INDEX_LENGTH AS index_bytes \
         FROM information_schema.tables AS t WHERE t.TABLE_SCHEMA = ",
    )
    .value(database)
    .sql(" AND t.TABLE_NAME IN (")
    .values(names.iter().copied())
    .sql(")")
}

pub(super) fn count_query(table: &TableName) -> Query {
    Query::new("SELECT count(*) AS n FROM ").name([&table.database, &table.name])
}

/// The catalogue's size of a table. A view has none.
pub(super) fn statistics_of(
    server: &Server,
    table: &TableName,
    rows: &RowSet,
    partitions: Option<&RowSet>,
) -> Result<TableStatistics, Error> {
    let named = |row: &lakeport_sdk::Row<'_>| row.text("name").is_ok_and(|name| name == table.name);
    let row = rows.iter().find(named).ok_or_else(|| no_table(table))?;
    let kind = super::lists::kind_of(server.product, &row);
    if kind == "view" {
        return Ok(TableStatistics { note: "a view has no size".to_owned(), ..TableStatistics::unknown() });
    }
    let row_count = number(&row, "row_count");
    let partitions = partitions.and_then(|rows| rows.iter().find(named));
    let short = server.product.short();
    let note = match kind {
        "external" => format!("{short} knows little of a table that lies elsewhere"),
        _ => format!("as the front end of {short} last heard from its nodes, a minute ago or so"),
    };
    Ok(TableStatistics {
        row_count,
        row_accuracy: if row_count.is_some() { "estimate" } else { "unknown" }.to_owned(),
        data_bytes: number(&row, "data_bytes"),
        // StarRocks leaves it empty, which does not mean zero.
        index_bytes: number(&row, "index_bytes").filter(|_| server.product == Product::Doris),
        partition_count: partitions
            .and_then(|row| number(&row, "partition_count"))
            .and_then(|count| u32::try_from(count).ok()),
        as_of: None,
        note,
    })
}

fn counted_of(told: TableStatistics, counted: &RowSet) -> Result<TableStatistics, Error> {
    let row = counted.first().ok_or_else(|| Error::bad_answer("count(*) had no answer"))?;
    let count = number(&row, "n").ok_or_else(|| Error::bad_answer("count(*) did not say a number"))?;
    Ok(TableStatistics { row_count: Some(count), row_accuracy: "exact".to_owned(), ..told })
}
