//! The database's own records of accesses. It is queried within a time limit; missing parts are reported and
//! prevent nothing.

use std::collections::HashMap;
use std::time::Duration;

use chrono::NaiveDate;
use lakeport_base::Error;
use lakeport_base::error::FAILED;
use lakeport_base::time::day_of;
use lakeport_bindings::dialect::reader::{
    AccessCounter, AccessPage, AccessRequest, AccessRow, AccessSubject, StatementText,
};
use lakeport_bindings::dialect::schema::TableName;
use lakeport_bindings::host::types::Page;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::{Tally, USERS_MAX, Window};
use crate::datasources::{self, Datasource, DatasourceClient};
use crate::tables::Tables;

/// The longest wait for the database.
pub const WAIT: Duration = Duration::from_secs(10);
/// Rows of one page, and pages of one query; further ones are not counted.
const PAGE_ROWS: u32 = 5_000;
const PAGES_MAX: usize = 20;
/// Texts of statements, over all pages, in bytes; further ones are not counted.
const TEXTS_MAX_BYTES: usize = 32 * 1024 * 1024;
/// Distinct statements that are parsed for their tables.
const STATEMENTS_MAX: usize = 5_000;

/// The results of one query.
#[derive(Default)]
struct Told {
    rows: Vec<AccessRow>,
    counters: Vec<AccessCounter>,
    source: String,
    is_complete: bool,
    covers_from_ms: Option<i64>,
    note: String,
    has_more: bool,
}

/// Adds the database's counts, or the reason why there are none.
pub async fn count(
    state: &Tables,
    source: &Datasource,
    table: &TableName,
    window: &Window,
    call: &str,
    until: Instant,
    tally: &mut Tally,
) {
    let told = async {
        let mut told = ask(state, source, table, window, call).await?;
        let rows = std::mem::take(&mut told.rows);
        Ok::<_, Error>((uses(&source.kind, table, rows).await?, told))
    };
    match timeout_at(until, told).await {
        Ok(Ok((uses, told))) => add(uses, told, source, table, window, tally),
        Ok(Err(Error::Refused(refusal))) => {
            tally.missing.push(format!("the database was not counted: {}", refusal.message));
        }
        Ok(Err(Error::Internal(cause))) => {
            tracing::error!("the accesses of a table were not read: {cause:#}");
            tally.missing.push(format!("the database was not counted: {FAILED}"));
        }
        Err(_) => {
            let seconds = WAIT.as_secs();
            tally.missing.push(format!("the database was not counted: it did not answer within {seconds} s"));
        }
    }
}

async fn ask(
    state: &Tables,
    source: &Datasource,
    table: &TableName,
    window: &Window,
    call: &str,
) -> Result<Told, Error> {
    let client = DatasourceClient::of(&state.datasources, source, call);
    let server = client.server().await?;
    let mut request = AccessRequest {
        tables: vec![table.clone()],
        since: window.begins_ms(window.first()),
        until: state.clock.now_ms() + 1,
        time_zone: window.zone.name().to_owned(),
        without_users: datasources::accounts_of(source),
        page: Page { cursor: None, limit: PAGE_ROWS },
    };
    let mut told = Told { is_complete: true, ..Told::default() };
    let mut bytes = 0;
    for _ in 0..PAGES_MAX {
        let AccessPage { rows, counters, next, source, complete, covers_from, note } =
            client.accesses(&server, &request).await?;
        bytes += rows.iter().map(text_bytes).sum::<usize>();
        told.rows.extend(rows);
        told.counters.extend(counters);
        told.is_complete &= complete;
        (told.source, told.note) = (source, note);
        told.covers_from_ms = told.covers_from_ms.max(covers_from);
        told.has_more = next.is_some();
        request.page.cursor = next;
        if !told.has_more || bytes >= TEXTS_MAX_BYTES {
            break;
        }
    }
    Ok(told)
}

fn text_bytes(row: &AccessRow) -> usize {
    match &row.subject {
        AccessSubject::Table(_) => 0,
        AccessSubject::Statement(statement) => statement.text.len(),
    }
}

/// Rows about the table, and the number of statements that could not be parsed.
#[derive(Default)]
struct Uses {
    rows: Vec<AccessRow>,
    unread: usize,
    /// There were rows about some table.
    has_rows: bool,
}

/// Finds the table in the texts of statements, on a blocking thread, while the caller waits.
async fn uses(kind: &str, table: &TableName, rows: Vec<AccessRow>) -> Result<Uses, Error> {
    let (kind, table) = (kind.to_owned(), table.clone());
    let stopped = CancellationToken::new();
    let _guard = stopped.clone().drop_guard();
    let search = move || found_in(&kind, &table, rows, &stopped);
    tokio::task::spawn_blocking(search).await.map_err(Error::internal)
}

fn found_in(kind: &str, table: &TableName, rows: Vec<AccessRow>, stopped: &CancellationToken) -> Uses {
    let name = table.name.to_lowercase();
    let mut read: HashMap<StatementKey, Option<bool>> = HashMap::new();
    let mut uses = Uses { has_rows: !rows.is_empty(), ..Uses::default() };
    for row in rows {
        if stopped.is_cancelled() {
            break;
        }
        let is_use = match &row.subject {
            AccessSubject::Table(name) => name == table,
            // Most statements are about other tables.
            AccessSubject::Statement(statement) if !statement.text.to_lowercase().contains(&name) => false,
            AccessSubject::Statement(statement) => {
                let key = (statement.text.clone(), statement.database.clone());
                let has_room = read.len() < STATEMENTS_MAX;
                let known = read.get(&key).copied();
                let is_read = known.unwrap_or_else(|| {
                    let is_read = if has_room { is_read_by(kind, table, statement) } else { None };
                    uses.unread += usize::from(is_read.is_none());
                    if has_room {
                        read.insert(key, is_read);
                    }
                    is_read
                });
                is_read == Some(true)
            }
        };
        if is_use {
            uses.rows.push(row);
        }
    }
    uses
}

/// A text and its database.
type StatementKey = (String, String);

/// Whether a statement reads a table; `None`: it cannot be parsed.
fn is_read_by(kind: &str, table: &TableName, statement: &StatementText) -> Option<bool> {
    let found = lakeport_sql::lineage::tables(kind, &statement.text);
    if !found.errors.is_empty() && found.inputs.is_empty() {
        return None;
    }
    let is_it = |name: &lakeport_sql::lineage::Name| {
        let database = name.schema.as_deref().unwrap_or(&statement.database);
        name.table.eq_ignore_ascii_case(&table.name) && database.eq_ignore_ascii_case(&table.database)
    };
    Some(found.inputs.iter().any(is_it))
}

fn add(uses: Uses, told: Told, source: &Datasource, table: &TableName, window: &Window, tally: &mut Tally) {
    let mut broken = 0;
    for row in uses.rows {
        match row.day.parse::<NaiveDate>() {
            Ok(day) if (window.first()..=window.today).contains(&day) => add_row(day, row, window, tally),
            Ok(_) => {}
            Err(_) => broken += 1,
        }
    }
    for counter in told.counters.iter().filter(|counter| counter.table == *table) {
        add_counter(counter, window, tally);
    }
    if !told.source.is_empty() {
        tally.sources.push(told.source.clone());
    }
    // Sums have no users to exclude.
    if uses.has_rows {
        tally.notes.extend(whose(&datasources::accounts_of(source)));
    }
    let first_ms = window.begins_ms(window.first());
    let is_late = told.covers_from_ms.is_some_and(|from_ms| from_ms > first_ms);
    let why = [
        (uses.unread > 0).then(|| format!("{} statements in it could not be read", uses.unread)),
        (broken > 0).then(|| format!("{broken} rows of it have no day that can be read")),
        told.has_more.then(|| "only a part of it was read".to_owned()),
        is_late.then(|| "it does not go back as far".to_owned()),
        (!told.is_complete && told.note.is_empty())
            .then(|| "the database does not keep every access".to_owned()),
    ];
    tally.missing.extend(why.into_iter().flatten());
    match (told.note.is_empty(), told.is_complete) {
        (true, _) => {}
        (false, true) => tally.notes.push(told.note),
        (false, false) => tally.missing.push(told.note),
    }
}

/// How a query is not counted twice.
fn whose(accounts: &[String]) -> Option<String> {
    (!accounts.is_empty()).then(|| {
        format!(
            "what is run as the database user {} is counted by Lakeport's own log alone",
            accounts.join(" or ")
        )
    })
}

fn add_row(day: NaiveDate, row: AccessRow, window: &Window, tally: &mut Tally) {
    let count = i64::try_from(row.count).unwrap_or(i64::MAX);
    tally.add(day, count);
    if day < window.recent {
        return;
    }
    let last_ms = row.last;
    tally.last_ms = tally.last_ms.max(last_ms);
    let Some(name) = row.user else { return };
    if tally.users.contains_key(&name) || (tally.users.len() as i64) < USERS_MAX {
        tally.add_user(name, count, last_ms);
    }
}

/// Adds a sum without days: all of it if it started within the requested days, otherwise only the last time.
/// It includes all users' statements, so Lakeport's own log of those days is subtracted.
fn add_counter(counter: &AccessCounter, window: &Window, tally: &mut Tally) {
    let from_ms = window.begins_ms(window.recent);
    let last_ms = counter.last.filter(|last_ms| *last_ms >= from_ms);
    let count = i64::try_from(counter.count).unwrap_or(i64::MAX);
    let Some(since_ms) = counter.since.filter(|since_ms| *since_ms >= from_ms) else {
        tally.last_ms = tally.last_ms.max(last_ms);
        tally.missing.push(format!(
            "the database only has a sum that began before these days ({count}), which is not counted"
        ));
        return;
    };
    let logged = tally.since(day_of(since_ms, window.zone));
    let day = last_ms.map_or(window.today, |at_ms| day_of(at_ms, window.zone));
    tally.add(day.min(window.today), count.saturating_sub(logged).max(0));
    tally.last_ms = tally.last_ms.max(last_ms);
    tally.missing.push(
        "the database only has a sum of all statements, whose users and days it does not know: it stands on the day \
         of the last one, without those that Lakeport's own log has"
            .to_owned(),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDERS: &str = "orders";
    /// 2026-03-29 12:00 UTC.
    const NOW_MS: i64 = 1_774_785_600_000;
    const DAY_MS: i64 = 86_400_000;

    fn named(name: &str) -> TableName {
        TableName { database: "shop".to_owned(), name: name.to_owned() }
    }

    fn statement(text: &str, database: &str) -> AccessSubject {
        AccessSubject::Statement(StatementText { text: text.to_owned(), database: database.to_owned() })
    }

    fn row(subject: AccessSubject, day: &str, user: Option<&str>, count: u64) -> AccessRow {
        AccessRow { subject, day: day.to_owned(), user: user.map(str::to_owned), count, last: Some(NOW_MS) }
    }

    fn source(url: &str) -> Datasource {
        Datasource {
            id: 1,
            name: "shop".to_owned(),
            kind: "mysql".to_owned(),
            url: url.to_owned(),
            read_url: None,
            secret: None,
            read_secret: None,
            options: "{}".to_owned(),
            is_default: false,
            sync_cron: None,
            next_sync_at_ms: None,
            last_sync_time_ms: None,
            created_at_ms: 0,
            updated_at_ms: 0,
        }
    }

    async fn tallied(told: Told) -> Tally {
        tallied_beside(Tally::default(), told).await
    }

    async fn tallied_beside(mut tally: Tally, mut told: Told) -> Tally {
        let window = Window::until(NOW_MS, chrono_tz::UTC, 7, 14);
        let uses = uses("mysql", &named(ORDERS), std::mem::take(&mut told.rows)).await.unwrap();
        let source = source("mysql://app@db.example.com/shop");
        add(uses, told, &source, &named(ORDERS), &window, &mut tally);
        tally
    }

    #[tokio::test]
    async fn rows_match_by_name_or_statement() {
        let rows = vec![
            row(AccessSubject::Table(named(ORDERS)), "2026-03-29", Some("ann"), 2),
            row(AccessSubject::Table(named("items")), "2026-03-29", Some("ann"), 100),
            row(
                statement("SELECT * FROM Orders o JOIN items USING (id)", "shop"),
                "2026-03-28",
                Some("bob"),
                3,
            ),
            row(statement("SELECT * FROM shop.orders", "other"), "2026-03-28", None, 4),
            row(statement("SELECT * FROM orders", "other"), "2026-03-28", Some("eve"), 100),
            row(statement("SELECT 'orders' FROM items", "shop"), "2026-03-28", Some("eve"), 100),
            row(statement("INSERT INTO orders SELECT * FROM items", "shop"), "2026-03-28", Some("eve"), 100),
            row(AccessSubject::Table(named(ORDERS)), "2026-03-17", Some("old"), 5),
            row(AccessSubject::Table(named(ORDERS)), "2026-03-01", Some("old"), 100),
        ];
        let told = Told { rows, is_complete: true, source: "audit log".to_owned(), ..Told::default() };
        let tally = tallied(told).await;
        let days: Vec<(String, i64)> =
            tally.days.iter().map(|(day, count)| (day.to_string(), *count)).collect();
        let expected = [("2026-03-17", 5), ("2026-03-28", 7), ("2026-03-29", 2)];
        assert_eq!(days, expected.map(|(day, count)| (day.to_owned(), count)));
        let users: Vec<&str> = tally.users.keys().map(String::as_str).collect();
        assert_eq!(users, ["ann", "bob"]);
        assert_eq!(tally.missing, [] as [String; 0]);
        assert!(tally.notes[0].contains("app"), "{:?}", tally.notes);
    }

    #[tokio::test]
    async fn what_is_not_complete_says_why() {
        let rows = vec![
            row(statement("SELECT FROM WHERE orders (", "shop"), "2026-03-29", None, 1),
            row(AccessSubject::Table(named(ORDERS)), "yesterday", None, 1),
        ];
        let told = Told {
            rows,
            has_more: true,
            covers_from_ms: Some(NOW_MS - DAY_MS),
            note: "the plugin is off".to_owned(),
            ..Told::default()
        };
        let tally = tallied(told).await;
        assert!(tally.days.is_empty() && tally.sources.is_empty());
        let said = tally.missing.join("; ");
        for part in ["1 statements", "1 rows", "only a part of it was read", "go back", "the plugin is off"] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }

    #[tokio::test]
    async fn a_sum_counts_only_where_it_began_within_the_days() {
        let counter = |since_ms| AccessCounter {
            table: named(ORDERS),
            count: 9,
            since: Some(since_ms),
            last: Some(NOW_MS - DAY_MS),
        };
        let told = |since_ms| Told { counters: vec![counter(since_ms)], ..Told::default() };
        let within = tallied(told(NOW_MS - 2 * DAY_MS)).await;
        assert_eq!(within.days.clone().into_iter().collect::<Vec<_>>(), [("2026-03-28".parse().unwrap(), 9)]);
        assert!(within.notes.is_empty(), "a sum includes all users: {:?}", within.notes);
        let mut logged = Tally::default();
        logged.add("2026-03-28".parse().unwrap(), 4);
        let both = tallied_beside(logged, told(NOW_MS - 2 * DAY_MS)).await;
        assert_eq!(both.since("2026-03-01".parse().unwrap()), 9, "what is in the log is counted once");
        let before = tallied(told(0)).await;
        assert!(before.days.is_empty() && !before.missing.is_empty());
        assert_eq!(before.last_ms, Some(NOW_MS - DAY_MS));
    }

    #[test]
    fn a_cancelled_request_reads_nothing() {
        let rows = vec![row(statement("SELECT * FROM orders", "shop"), "2026-03-28", None, 4)];
        let stopped = CancellationToken::new();
        assert_eq!(found_in("mysql", &named(ORDERS), rows.clone(), &stopped).rows.len(), 1);
        stopped.cancel();
        assert!(found_in("mysql", &named(ORDERS), rows, &stopped).rows.is_empty());
    }
}
