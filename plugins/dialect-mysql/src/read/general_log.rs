//! The general log in a table: every statement with its user and its time.
//!
//! The log has the database only where a session selects one. So each session's rows are split at those rows,
//! and every statement gets the database of its part. Selections long before the window are unknown.

use lakeport_sdk::Row;
use lakeport_sdk::dialect::{
    AccessPage, AccessRequest, AccessRow, AccessSubject, Error, Query, RowSet, StatementText,
};

use super::{Ask, text, whole};

const SOURCE: &str = "general log";
/// The longest returned statement, in characters.
const STATEMENT_MAX: i64 = 20_000;

/// How far before the window a session's selection of a database is looked for, in milliseconds: a day. The
/// log has no index, and older rows would be sorted by session for each page.
const LOOK_BACK_MS: i64 = 24 * 60 * 60 * 1_000;
/// The latest time that the server can convert, in milliseconds: beyond it returns NULL.
const LATEST_MS: i64 = 2_147_483_647_000;

/// Statements of the window, by day and user.
pub fn access(ask: &dyn Ask, request: &AccessRequest) -> Result<AccessPage, Error> {
    let offset = request.page.cursor.as_deref().and_then(|cursor| cursor.parse::<i64>().ok()).unwrap_or(0);
    let knows_zone = knows_zone(ask, &request.time_zone)?;
    let zone = if knows_zone { request.time_zone.as_str() } else { "+00:00" };
    let rows = ask.ask(rows_query(request, zone, offset))?;
    let covers = whole(ask, covers_query())?;
    let covers_from = covers.first().map(|row| row.optional_integer("first_ms")).transpose()?.flatten();
    page_of(&rows, request, offset, covers_from, knows_zone)
}

/// The server knows names of time zones only if they were loaded into it.
fn knows_zone(ask: &dyn Ask, zone: &str) -> Result<bool, Error> {
    let query = Query::new("SELECT CONVERT_TZ('2026-01-01 00:00:00', '+00:00', ")
        .value(zone)
        .sql(") IS NOT NULL AS known");
    let rows = whole(ask, query)?;
    let row = rows.first().ok_or_else(|| Error::bad_answer("a plain question had no answer"))?;
    Ok(row.integer("known")? == 1)
}

fn covers_query() -> Query {
    Query::new(
        "SELECT CAST(UNIX_TIMESTAMP(MIN(g.event_time)) * 1000 AS SIGNED) AS first_ms FROM mysql.general_log AS g",
    )
}

fn rows_query(request: &AccessRequest, zone: &str, offset: i64) -> Query {
    let since = request.since.clamp(0, LATEST_MS);
    let mut query = Query::new("SELECT x.day AS day, x.account AS account, x.chosen AS chosen, LEFT(x.said, ")
        .value(STATEMENT_MAX)
        .sql(
            ") AS said, COUNT(*) AS n, \
             CAST(UNIX_TIMESTAMP(MAX(x.event_time)) * 1000 AS SIGNED) AS last_ms FROM (\
             SELECT p.event_time, p.command_type, p.said, \
             SUBSTRING_INDEX(p.user_host, '[', 1) AS account, \
             CAST(DATE(CONVERT_TZ(p.event_time, '+00:00', ",
        )
        .value(zone)
        .sql(
            ")) AS CHAR) AS day, \
             MAX(CASE WHEN p.command_type IN ('Connect', 'Init DB') THEN p.said END) \
             OVER (PARTITION BY p.thread_id, p.piece) AS chosen FROM (\
             SELECT g.event_time, g.thread_id, g.user_host, g.command_type, \
             CONVERT(g.argument USING utf8mb4) AS said, \
             SUM(CASE WHEN g.command_type IN ('Connect', 'Init DB') THEN 1 ELSE 0 END) \
             OVER (PARTITION BY g.thread_id ORDER BY g.event_time ROWS UNBOUNDED PRECEDING) AS piece \
             FROM mysql.general_log AS g WHERE g.event_time >= FROM_UNIXTIME(",
        )
        .value((since - LOOK_BACK_MS).max(0))
        .sql(" / 1000) AND g.event_time < FROM_UNIXTIME(")
        .value(request.until.min(LATEST_MS))
        .sql(" / 1000)) AS p) AS x WHERE x.command_type IN ('Query', 'Execute') AND x.event_time >= FROM_UNIXTIME(")
        .value(since)
        .sql(" / 1000)");
    if !request.without_users.is_empty() {
        query = query
            .sql(" AND x.account NOT IN (")
            .values(request.without_users.iter().map(String::as_str))
            .sql(")");
    }
    query
        .sql(
            " GROUP BY x.day, x.account, x.chosen, x.said ORDER BY x.day, x.account, x.chosen, x.said LIMIT ",
        )
        .value(i64::from(request.page.limit) + 1)
        .sql(" OFFSET ")
        .value(offset)
}

/// The page of these rows.
pub fn page_of(
    rows: &RowSet,
    request: &AccessRequest,
    offset: i64,
    covers_from: Option<i64>,
    knows_zone: bool,
) -> Result<AccessPage, Error> {
    let mut found = rows.iter().map(|row| access_row(&row)).collect::<Result<Vec<_>, Error>>()?;
    let more = super::cut(&mut found, rows, request.page.limit)?;
    let next = i64::try_from(found.len()).ok().filter(|_| more).map(|count| (offset + count).to_string());
    let mut note = String::new();
    if !knows_zone {
        note = format!(
            "days are those of UTC: the server knows no zone {:?} (mysql_tzinfo_to_sql loads them)",
            request.time_zone
        );
    }
    Ok(AccessPage {
        rows: found,
        next,
        source: SOURCE.to_owned(),
        complete: covers_from.is_some_and(|first| first <= request.since),
        covers_from,
        note,
        ..AccessPage::none("")
    })
}

fn access_row(row: &Row<'_>) -> Result<AccessRow, Error> {
    let account = text(row, "account")?;
    let account = account.trim();
    Ok(AccessRow {
        subject: AccessSubject::Statement(StatementText {
            text: text(row, "said")?,
            database: chosen(&text(row, "chosen")?),
        }),
        day: text(row, "day")?,
        user: (!account.is_empty()).then(|| account.to_owned()),
        count: u64::try_from(row.integer("n")?).unwrap_or(0),
        last: row.optional_integer("last_ms")?,
    })
}

/// The database in `root@localhost on shop using TCP/IP`, or in a selection, which has the name alone.
pub fn chosen(said: &str) -> String {
    let Some((_, behind)) = said.split_once(" on ") else {
        // Without a database a login has `root@localhost on  using TCP/IP`, or ends with `as anonymous`.
        return if said.contains('@') { String::new() } else { said.to_owned() };
    };
    behind.split(" using ").next().unwrap_or_default().trim().to_owned()
}
