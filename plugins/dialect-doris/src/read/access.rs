//! Accesses, from the audit log: a table that the servers write if they are configured to.
//!
//! Newer Doris records the tables that a statement read; then days and users are counted by table. Other
//! versions record only the text of statements, in which the host finds the tables.

use lakeport_sdk::Row;
use lakeport_sdk::dialect::{
    AccessPage, AccessRequest, AccessRow, AccessSubject, Connection, Error, Query, RowSet, StatementText,
    TableName, Timestamp,
};

use super::{HOSTS, number, once, plain};
use crate::server::{Product, Server};

/// The place of Doris' log.
const DORIS_LOG: (&str, &str) = ("__internal_schema", "audit_log");
/// The default place of StarRocks' audit loader.
const STARROCKS_LOG: (&str, &str) = ("starrocks_audit_db__", "starrocks_audit_tbl__");
/// Rows of one page of the log; each is a group of accesses.
const ROWS_MAX: u32 = 5_000;

/// The log, its place and its content.
struct Log {
    product: Product,
    database: String,
    table: String,
    /// Whether it records the tables that a statement read.
    says_tables: bool,
}

/// Accesses of a window in pages; the cursor is the number of earlier groups.
pub fn access(
    connection: &Connection,
    server: &Server,
    request: &AccessRequest,
) -> Result<AccessPage, Error> {
    let usual = match server.product {
        Product::Doris => DORIS_LOG,
        Product::StarRocks => STARROCKS_LOG,
    };
    let (database, table) =
        server.audit_table.clone().unwrap_or_else(|| (usual.0.to_owned(), usual.1.to_owned()));
    let columns = columns_query(&database, &table).run(connection)?;
    let has = |name: &str| {
        columns.iter().any(|row| plain(&row, "name").is_some_and(|column| column.eq_ignore_ascii_case(name)))
    };
    if columns.rows.is_empty() {
        return Ok(AccessPage::none(absent(server.product, &format!("{database}.{table}"))));
    }
    let log = Log { product: server.product, database, table, says_tables: has("queried_tables_and_views") };
    let from: u32 = match &request.page.cursor {
        Some(cursor) => {
            cursor.parse().map_err(|_| Error::invalid_input("the cursor is none of this log's"))?
        }
        None => 0,
    };
    let limit = request.page.limit.clamp(1, ROWS_MAX);
    let rows = rows_query(&log, request, from, limit).run_within(connection, HOSTS)?;
    let covers_from = match from {
        0 => begins(&begin_query(&log).run(connection)?),
        _ => None,
    };
    page_of(server, &log, request, from, limit, &rows, covers_from)
}

fn absent(product: Product, table: &str) -> String {
    match product {
        Product::Doris => format!(
            "{table} is not there or may not be read; SET GLOBAL enable_audit_plugin = true makes Doris keep it, \
             and the account needs SELECT on it"
        ),
        Product::StarRocks => format!(
            "{table} is not there or may not be read; the audit loader plugin makes it, and the option auditTable \
             says where it is if elsewhere"
        ),
    }
}

fn columns_query(database: &str, table: &str) -> Query {
    Query::new("SELECT c.COLUMN_NAME AS name FROM information_schema.columns AS c WHERE c.TABLE_SCHEMA = ")
        .value(database)
        .sql(" AND c.TABLE_NAME = ")
        .value(table)
}

fn begin_query(log: &Log) -> Query {
    let begin = match log.product {
        Product::Doris => "SELECT cast(unix_timestamp(min(a.`time`)) AS BIGINT) AS began FROM ",
        Product::StarRocks => "SELECT cast(unix_timestamp(min(a.`timestamp`)) AS BIGINT) AS began FROM ",
    };
    Query::new(begin).name([&log.database, &log.table]).sql(" AS a")
}

/// The log has the server's local time, and so does from_unixtime. Doris' times have digits of a second, so its
/// unix_timestamp is a decimal. Doris queries its own statistics as a user, from its internal database.
fn rows_query(log: &Log, request: &AccessRequest, from: u32, limit: u32) -> Query {
    let seconds = |at: Timestamp, up: i64| (at + up).div_euclid(1_000);
    let doris = log.product == Product::Doris;
    let day = Query::new(if doris {
        "SELECT date_format(convert_tz(a.`time`, @@time_zone, "
    } else {
        "SELECT date_format(convert_tz(a.`timestamp`, @@time_zone, "
    })
    .value(request.time_zone.as_str())
    .sql("), '%Y-%m-%d') AS on_day, a.`user` AS user_name, count(*) AS accesses, ");
    let what = match log.says_tables {
        // An array, which Doris does not cast to a text.
        true => "array_join(a.queried_tables_and_views, ',') AS read_tables, ",
        false => "a.`stmt` AS stmt_text, a.`db` AS database_name, ",
    };
    let since = if doris {
        "cast(unix_timestamp(max(a.`time`)) AS BIGINT) AS last_time FROM "
    } else {
        "cast(unix_timestamp(max(a.`timestamp`)) AS BIGINT) AS last_time FROM "
    };
    let mut query = day.sql(what).sql(since).name([&log.database, &log.table]);
    query = query
        .sql(if doris {
            " AS a WHERE a.`time` >= from_unixtime("
        } else {
            " AS a WHERE a.`timestamp` >= from_unixtime("
        })
        .value(seconds(request.since, 0))
        .sql(if doris { ") AND a.`time` < from_unixtime(" } else { ") AND a.`timestamp` < from_unixtime(" })
        .value(seconds(request.until, 999))
        .sql(if doris {
            ") AND a.is_query = 1 AND a.state <> 'ERR' AND NOT (a.`db` <=> '__internal_schema')"
        } else {
            ") AND a.isQuery = 1 AND a.state <> 'ERR'"
        });
    let without = once(request.without_users.iter().map(String::as_str));
    if !without.is_empty() {
        query = query.sql(" AND a.`user` NOT IN (").values(without).sql(")");
    }
    query
        .sql(if log.says_tables {
            " GROUP BY on_day, user_name, read_tables ORDER BY on_day, user_name, read_tables LIMIT "
        } else {
            " GROUP BY on_day, user_name, stmt_text, database_name ORDER BY on_day, user_name, \
             stmt_text, database_name LIMIT "
        })
        .value(i64::from(limit) + 1)
        .sql(" OFFSET ")
        .value(i64::from(from))
}

/// All queries, for tests.
#[cfg(test)]
pub(super) fn questions(request: &AccessRequest) -> Vec<Query> {
    let mut questions = Vec::new();
    for (product, (database, table)) in [(Product::Doris, DORIS_LOG), (Product::StarRocks, STARROCKS_LOG)] {
        for says_tables in [false, true] {
            let log = Log { product, database: database.to_owned(), table: table.to_owned(), says_tables };
            questions.push(rows_query(&log, request, 5, 10));
            questions.push(begin_query(&log));
        }
        questions.push(columns_query(database, table));
    }
    questions
}

fn begins(rows: &RowSet) -> Option<Timestamp> {
    let seconds = number(&rows.first()?, "began").filter(|seconds| *seconds > 0)?;
    i64::try_from(seconds).ok()?.checked_mul(1_000)
}

fn page_of(
    server: &Server,
    log: &Log,
    request: &AccessRequest,
    from: u32,
    limit: u32,
    rows: &RowSet,
    covers_from: Option<Timestamp>,
) -> Result<AccessPage, Error> {
    let more = rows.truncated || rows.rows.len() > limit as usize;
    let taken = rows.rows.len().min(limit as usize);
    let mut found = Vec::new();
    for row in rows.iter().take(taken) {
        found.extend(rows_of(log, request, &row)?);
    }
    let next = (more && taken > 0).then(|| (u64::from(from) + taken as u64).to_string());
    let short = server.product.short();
    let cut = if log.says_tables {
        ""
    } else {
        " Statements that the log cut off are counted only if they can be read."
    };
    let empty = match (from, covers_from, server.product) {
        (0, None, Product::Doris) => {
            " It is empty: SET GLOBAL enable_audit_plugin = true makes Doris write it."
        }
        _ => "",
    };
    Ok(AccessPage {
        rows: found,
        counters: Vec::new(),
        next,
        source: "audit log".to_owned(),
        complete: from > 0 || covers_from.is_some_and(|began| began <= request.since),
        covers_from,
        note: format!("{short} writes its log about once a minute.{cut}{empty}"),
    })
}

/// One group of the log: a row per table that it names, or one for its statement.
fn rows_of(log: &Log, request: &AccessRequest, row: &Row<'_>) -> Result<Vec<AccessRow>, Error> {
    let access = |subject: AccessSubject| AccessRow {
        subject,
        day: plain(row, "on_day").unwrap_or_default().into_owned(),
        user: plain(row, "user_name").filter(|user| !user.is_empty()).map(Into::into),
        count: number(row, "accesses").unwrap_or(0),
        last: number(row, "last_time").and_then(|seconds| i64::try_from(seconds).ok()?.checked_mul(1_000)),
    };
    if !log.says_tables {
        let text = plain(row, "stmt_text").unwrap_or_default().into_owned();
        let database = plain(row, "database_name").unwrap_or_default().into_owned();
        return Ok(vec![access(AccessSubject::Statement(StatementText { text, database }))]);
    }
    let text = plain(row, "read_tables").unwrap_or_default();
    let wanted = |table: &TableName| {
        request.tables.is_empty()
            || request.tables.iter().any(|one| one.database == table.database && one.name == table.name)
    };
    let tables = text.split(',').filter_map(own_table).filter(wanted);
    Ok(tables.map(|table| access(AccessSubject::Table(table))).collect())
}

/// `internal.db.t`, or `db.t`. Tables of other catalogues do not belong to this server.
fn own_table(name: &str) -> Option<TableName> {
    match name.split('.').collect::<Vec<_>>().as_slice() {
        ["internal", database, table] | [database, table] => Some(TableName::new(*database, *table)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use lakeport_sdk::dialect::Page;
    use lakeport_sdk::{Cell, Column};

    use super::*;

    fn request(tables: &[(&str, &str)]) -> AccessRequest {
        AccessRequest {
            tables: tables.iter().map(|(database, name)| TableName::new(*database, *name)).collect(),
            since: 1_000,
            until: 2_000,
            time_zone: "Asia/Shanghai".to_owned(),
            without_users: vec!["lakeport".to_owned()],
            page: Page { cursor: None, limit: 2 },
        }
    }

    fn answer(columns: &[&str], rows: Vec<Vec<Cell>>) -> RowSet {
        let column = |name: &&str| Column { name: (*name).to_owned(), type_text: String::new() };
        RowSet { columns: columns.iter().map(column).collect(), rows, truncated: false }
    }

    #[test]
    fn table_logs_count_by_table_and_day() {
        let log =
            Log { product: Product::Doris, database: String::new(), table: String::new(), says_tables: true };
        let line = |tables: &str| {
            vec![
                "2026-11-20".into(),
                "ana".into(),
                3.into(),
                tables.into(),
                Cell::Text("1795000000".to_owned()),
            ]
        };
        let rows = answer(
            &["on_day", "user_name", "accesses", "read_tables", "last_time"],
            vec![line("internal.ods.t,internal.ods.u"), line("hive.ods.t"), line("")],
        );
        let request = request(&[("ods", "t")]);
        let page = page_of(&Server::default(), &log, &request, 0, 2, &rows, Some(0)).unwrap();
        assert_eq!(page.rows.len(), 1);
        assert_eq!(page.rows[0].subject, AccessSubject::Table(TableName::new("ods", "t")));
        assert_eq!((page.rows[0].count, page.rows[0].last), (3, Some(1_795_000_000_000)));
        assert_eq!((page.next.as_deref(), page.complete), (Some("2"), true));
    }

    #[test]
    fn a_log_of_statements_hands_their_text_on() {
        let log = Log {
            product: Product::StarRocks,
            database: String::new(),
            table: String::new(),
            says_tables: false,
        };
        let rows = answer(
            &["on_day", "user_name", "accesses", "stmt_text", "database_name", "last_time"],
            vec![vec![
                "2026-11-20".into(),
                "".into(),
                1.into(),
                "SELECT 1 FROM t".into(),
                "ods".into(),
                Cell::Null,
            ]],
        );
        let page = page_of(&Server::default(), &log, &request(&[]), 0, 2, &rows, None).unwrap();
        let AccessSubject::Statement(statement) = &page.rows[0].subject else { panic!("no statement") };
        assert_eq!((statement.text.as_str(), statement.database.as_str()), ("SELECT 1 FROM t", "ods"));
        assert_eq!((page.rows[0].user.as_deref(), page.complete, page.next), (None, false, None));
    }
}
