//! Counters, for servers without a log. They have neither users nor days: the host compares successive
//! readings.

use std::collections::BTreeMap;

use lakeport_sdk::dialect::{AccessCounter, AccessPage, AccessRequest, Error, Query, RowSet, TableName};

use super::{Ask, text, whole};
use crate::describe::HIDDEN_DATABASES;
use crate::text::{Lexeme, lex};

/// The most digests that are read; the server itself keeps 10,000 by default.
const DIGESTS_MAX: i64 = 50_000;
/// Clauses of a digest that table names follow.
const BEFORE_TABLES: [&str; 6] = ["FROM", "JOIN", "INTO", "UPDATE", "TABLE", "STRAIGHT_JOIN"];
/// The heads of statements that read or write rows: others maintain a table or describe it.
const ACCESSES: [&str; 9] =
    ["SELECT", "WITH", "INSERT", "REPLACE", "UPDATE", "DELETE", "TABLE", "VALUES", "CALL"];
/// The alias under which this dialect counts rows: it appears in the digest, and such a statement is not an
/// access.
pub const MEASURED: &str = "lakeport_measured";
/// Words that end a list of tables.
const AFTER_TABLES: [&str; 13] = [
    "WHERE", "SET", "ON", "USING", "GROUP", "ORDER", "HAVING", "LIMIT", "SELECT", "VALUES", "WINDOW", "FOR",
    "UNION",
];

/// Statements that name each table; `None` if the server keeps no digests.
pub fn of_statements(ask: &dyn Ask, request: &AccessRequest) -> Result<Option<AccessPage>, Error> {
    let query = Query::new(
        "SELECT CONVERT(d.SCHEMA_NAME USING utf8mb4) AS db, CONVERT(d.DIGEST_TEXT USING utf8mb4) AS digest, \
         d.COUNT_STAR AS n, CAST(UNIX_TIMESTAMP(d.FIRST_SEEN) * 1000 AS SIGNED) AS first_ms, \
         CAST(UNIX_TIMESTAMP(d.LAST_SEEN) * 1000 AS SIGNED) AS last_ms \
         FROM performance_schema.events_statements_summary_by_digest AS d LIMIT ",
    )
    .value(DIGESTS_MAX);
    let rows = match ask.ask(query) {
        Ok(rows) => rows,
        // The account may lack the privilege.
        Err(error) if error.code == "upstream_failed" => return Ok(None),
        Err(error) => return Err(error),
    };
    counted_statements(&rows, request)
}

/// Counters from digests.
pub fn counted_statements(rows: &RowSet, request: &AccessRequest) -> Result<Option<AccessPage>, Error> {
    let mut counted: BTreeMap<(String, String), (u64, Option<i64>)> = BTreeMap::new();
    let mut since: Option<i64> = None;
    let mut left_out = 0u64;
    for row in rows.iter() {
        let n = u64::try_from(row.integer("n")?).unwrap_or(0);
        if let Some(first) = row.optional_integer("first_ms")?.filter(|first| *first > 0) {
            since = Some(since.map_or(first, |known| known.min(first)));
        }
        let digest = text(&row, "digest")?;
        if digest.is_empty() {
            // Digests that did not fit into the server's table are in one row without a text.
            left_out += n;
            continue;
        }
        if !is_access(&digest) {
            continue;
        }
        let last = row.optional_integer("last_ms")?;
        for table in tables_in(&digest, &text(&row, "db")?) {
            let (count, latest) = counted.entry(table).or_default();
            *count += n;
            *latest = (*latest).max(last);
        }
    }
    if since.is_none() {
        return Ok(None);
    }
    let counters = counted
        .into_iter()
        .filter(|((database, name), _)| is_asked(request, database, name))
        .map(|((database, name), (count, last))| AccessCounter {
            table: TableName::new(database, name),
            count,
            since,
            last,
        })
        .collect();
    let also = match left_out {
        0 => String::new(),
        n => format!("{n} statements are not told apart (performance_schema_digests_size); "),
    };
    Ok(Some(AccessPage {
        counters,
        source: "performance_schema.events_statements_summary_by_digest".to_owned(),
        covers_from: since,
        note: format!(
            "statements of all users that read or write rows, without the platform's counting of rows, since the \
             server began to count; long ones are cut off; {also}"
        ),
        ..AccessPage::none("")
    }))
}

/// Whether a digest is a user's statement that accesses a table.
pub fn is_access(digest: &str) -> bool {
    let first = digest.trim_start_matches(['(', ' ']).split([' ', '(']).next().unwrap_or_default();
    is_one(first, &ACCESSES) && !digest.contains(MEASURED)
}

/// Rows read and written, if there are no digests.
pub fn of_rows(ask: &dyn Ask, request: &AccessRequest) -> Result<AccessPage, Error> {
    let query = Query::new(
        "SELECT w.OBJECT_SCHEMA AS db, w.OBJECT_NAME AS name, w.COUNT_STAR AS n \
         FROM performance_schema.table_io_waits_summary_by_table AS w \
         WHERE w.OBJECT_TYPE = 'TABLE' AND w.COUNT_STAR > 0",
    );
    let source = "performance_schema.table_io_waits_summary_by_table";
    row_counters(&whole(ask, query)?, request, source)
}

/// Rows read and changed, from MariaDB's `userstat`.
pub fn of_user_statistics(ask: &dyn Ask, request: &AccessRequest) -> Result<AccessPage, Error> {
    let query = Query::new(
        "SELECT s.TABLE_SCHEMA AS db, s.TABLE_NAME AS name, s.ROWS_READ + s.ROWS_CHANGED AS n \
         FROM information_schema.TABLE_STATISTICS AS s",
    );
    row_counters(&whole(ask, query)?, request, "information_schema.TABLE_STATISTICS")
}

fn row_counters(rows: &RowSet, request: &AccessRequest, source: &str) -> Result<AccessPage, Error> {
    let mut counters = Vec::new();
    for row in rows.iter() {
        let (database, name) = (text(&row, "db")?, text(&row, "name")?);
        if is_asked(request, &database, &name) {
            counters.push(AccessCounter {
                table: TableName::new(database, name),
                count: u64::try_from(row.integer("n")?).unwrap_or(0),
                // The start is not known exactly, and one that seemed to move would look like a reset.
                since: None,
                last: None,
            });
        }
    }
    counters.sort_by(|one, other| {
        let place = |counter: &AccessCounter| (counter.table.database.clone(), counter.table.name.clone());
        place(one).cmp(&place(other))
    });
    Ok(AccessPage {
        counters,
        source: source.to_owned(),
        note: "rows read and written by all users since the server started, not statements; ".to_owned(),
        ..AccessPage::none("")
    })
}

fn is_asked(request: &AccessRequest, database: &str, name: &str) -> bool {
    let is_hidden = HIDDEN_DATABASES.iter().any(|hidden| hidden.eq_ignore_ascii_case(database));
    let mut asked = request.tables.iter();
    !is_hidden
        && !database.is_empty()
        && (request.tables.is_empty() || asked.any(|one| one.database == database && one.name == name))
}

/// The tables that a digest names, each once. `database` is the default for names without one. Of a truncated
/// statement, those in the visible part.
pub fn tables_in(digest: &str, database: &str) -> Vec<(String, String)> {
    let lexemes = lex(digest);
    let mut found: Vec<(String, String)> = Vec::new();
    let mut at = 0;
    let mut in_tables = false;
    while at < lexemes.len() {
        match &lexemes[at] {
            Lexeme::Word(word) if is_one(word, &BEFORE_TABLES) => in_tables = true,
            Lexeme::Word(word) if is_one(word, &AFTER_TABLES) => in_tables = false,
            Lexeme::Symbol(')') => in_tables = false,
            Lexeme::Name(first) if in_tables => {
                let second = match (lexemes.get(at + 1), lexemes.get(at + 2)) {
                    (Some(Lexeme::Symbol('.')), Some(Lexeme::Name(second))) => Some(second.clone()),
                    _ => None,
                };
                at += if second.is_some() { 2 } else { 0 };
                let table = match second {
                    Some(name) => (first.clone(), name),
                    None => (database.to_owned(), first.clone()),
                };
                if !found.contains(&table) {
                    found.push(table);
                }
                at += alias(&lexemes[at + 1..]);
                in_tables = lexemes.get(at + 1) == Some(&Lexeme::Symbol(','));
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// The length of the alias after a table.
fn alias(behind: &[Lexeme]) -> usize {
    match behind {
        [Lexeme::Word(word), Lexeme::Name(_), ..] if word.eq_ignore_ascii_case("AS") => 2,
        [Lexeme::Name(_), ..] => 1,
        _ => 0,
    }
}

fn is_one(word: &str, words: &[&str]) -> bool {
    words.iter().any(|known| known.eq_ignore_ascii_case(word))
}
