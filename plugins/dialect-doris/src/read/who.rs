//! Identifies the server.

use lakeport_sdk::dialect::{Connection, Error, Query, RowSet, ServerInfo};
use lakeport_sdk::serde_json::{Value, from_str};

use super::{HOSTS, plain};
use crate::server::{PartitionUnit, Product, Server, dotted, version_in};

/// The server's product and version.
pub fn server(connection: &Connection, options: &str) -> Result<ServerInfo, Error> {
    let variables = variables_query().run(connection)?;
    let unicode = unicode_query().run_within(connection, HOSTS)?;
    let columns = columns_query().run(connection)?;
    server_of(&variables, &unicode, &columns, options)
}

fn variables_query() -> Query {
    Query::new(
        "SELECT @@version_comment AS version_comment, @@sql_mode AS sql_mode, \
         @@lower_case_table_names AS lower_case_table_names",
    )
}

fn unicode_query() -> Query {
    Query::new("SHOW VARIABLES LIKE ").value("enable_unicode_name_support")
}

/// The newer catalogue tables that exist, with their columns.
fn columns_query() -> Query {
    Query::new(
        "SELECT c.TABLE_NAME AS table_name, c.COLUMN_NAME AS column_name FROM information_schema.columns AS c \
         WHERE c.TABLE_SCHEMA = ",
    )
    .value("information_schema")
    .sql(" AND c.TABLE_NAME IN (")
    .values(["tables_config", "partitions", "partitions_meta"])
    .sql(")")
}

/// All queries, for tests.
#[cfg(test)]
pub(super) fn questions() -> Vec<Query> {
    vec![variables_query(), unicode_query(), columns_query()]
}

/// The server described by these answers.
pub fn server_of(
    variables: &RowSet,
    unicode: &RowSet,
    columns: &RowSet,
    options: &str,
) -> Result<ServerInfo, Error> {
    let row = variables.first().ok_or_else(|| Error::bad_answer("the server did not say its version"))?;
    let comment = plain(&row, "version_comment").unwrap_or_default().into_owned();
    let product = product_in(&comment, columns)?;
    let mode = plain(&row, "sql_mode").unwrap_or_default();
    if mode.contains("NO_BACKSLASH_ESCAPES") {
        return Err(Error::unsupported(
            "this session reads backslashes as ordinary characters (NO_BACKSLASH_ESCAPES), in which texts \
             could end elsewhere than they should",
        ));
    }
    let has = |table: &str, column: &str| {
        columns.iter().any(|row| {
            plain(&row, "table_name").is_some_and(|name| name.eq_ignore_ascii_case(table))
                && plain(&row, "column_name").is_some_and(|name| name.eq_ignore_ascii_case(column))
        })
    };
    let on = |text: &str| matches!(text.to_ascii_lowercase().as_str(), "true" | "1" | "on");
    let options: Value = from_str(options).unwrap_or_default();
    let server = Server {
        product,
        version: version_in(&comment),
        unicode_names: product == Product::StarRocks
            || unicode.first().is_some_and(|row| plain(&row, "Value").is_some_and(|value| on(&value))),
        lower_case_tables: plain(&row, "lower_case_table_names").as_deref() == Some("1"),
        replicas: options["replicas"].as_u64().and_then(|count| u32::try_from(count).ok()),
        partition_unit: match options["partitionUnit"].as_str() {
            Some("day") => PartitionUnit::Day,
            Some("year") => PartitionUnit::Year,
            _ => PartitionUnit::Month,
        },
        layout: product == Product::StarRocks && has("tables_config", "PARTITION_KEY"),
        partitions: match product {
            Product::Doris => has("partitions", "REPLICA_NUM"),
            Product::StarRocks => has("partitions_meta", "REPLICATION_NUM"),
        },
        audit_table: options["auditTable"].as_str().and_then(dotted),
    };
    let version = match server.version {
        Some((major, minor, patch)) => format!("{major}.{minor}.{patch}"),
        None => comment,
    };
    Ok(ServerInfo { product: product.name().to_owned(), version, facts: server.facts() })
}

/// By the server's version comment or, if a vendor has replaced it, by a table that only StarRocks' catalogue
/// has.
fn product_in(comment: &str, columns: &RowSet) -> Result<Product, Error> {
    let lower = comment.to_ascii_lowercase();
    let has_tables_config = || {
        columns.iter().any(|row| {
            plain(&row, "table_name").is_some_and(|name| name.eq_ignore_ascii_case("tables_config"))
        })
    };
    if lower.contains("starrocks") || !lower.contains("doris") && has_tables_config() {
        return Ok(Product::StarRocks);
    }
    if ["doris", "selectdb", "velodb"].iter().any(|name| lower.contains(name)) {
        return Ok(Product::Doris);
    }
    Err(Error::unsupported(format!(
        "the server calls itself {comment:?}, which is neither Apache Doris nor StarRocks"
    )))
}
