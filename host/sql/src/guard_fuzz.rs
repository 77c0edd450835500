//! Attacks the guard with edits of the cases. SQLite's own parser and authorizer judge what it accepted for SQLite.

use std::sync::Mutex;

use lakeport_fuzz::{Choices, fuzz};
use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use super::*;
use crate::guard::tests::{CASES, is_sample};

/// The rules that a refusal may name.
const RULES: [&str; 5] = ["parse", "reads_only", "one_statement", "not_permitted", "denied_function"];
/// Functions that no user may call in any database.
const NEVER: &[&str] = &[
    "load_extension",
    "zeroblob",
    "randomblob",
    "readfile",
    "writefile",
    "edit",
    "fts3_tokenizer",
    "pg_sleep",
    "pg_read_file",
    "pg_ls_dir",
    "pg_read_binary_file",
    "lo_import",
    "lo_export",
    "lo_get",
    "query_to_xml",
    "table_to_xml",
    "database_to_xml",
    "set_config",
    "current_setting",
    "dblink",
    "dblink_exec",
    "pg_terminate_backend",
    "pg_stat_get_activity",
    "pg_show_all_settings",
    "get_raw_page",
    "heap_force_kill",
    "pg_get_functiondef",
    "to_regclass",
    "nextval",
    "pg_advisory_lock",
    "txid_current",
    "pg_stat_file",
    "sleep",
    "load_file",
    "benchmark",
    "get_lock",
    "release_lock",
    "sys_exec",
    "sys_eval",
    "spider_direct_sql",
    "extractvalue",
    "updatexml",
    "master_pos_wait",
    "name_const",
];
/// Pieces that SQL is made of, and those that could break it apart.
const WORDS: &[&str] = &[
    "SELECT",
    "FROM",
    "WHERE",
    "WITH",
    "RECURSIVE",
    "AS",
    "UNION",
    "ALL",
    "EXCEPT",
    "JOIN",
    "LATERAL",
    "ON",
    "USING",
    "GROUP BY",
    "HAVING",
    "ORDER BY",
    "LIMIT",
    "OFFSET",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "IN",
    "EXISTS",
    "NOT",
    "NULL",
    "IS",
    "LIKE",
    "BETWEEN",
    "AND",
    "OR",
    "CAST",
    "OVER",
    "PARTITION BY",
    "WINDOW",
    "FILTER",
    "WITHIN GROUP",
    "VALUES",
    "TABLE",
    "INSERT INTO",
    "UPDATE",
    "DELETE FROM",
    "DROP TABLE",
    "CREATE",
    "INTO",
    "OUTFILE",
    "FOR UPDATE",
    "RETURNING",
    "EXPLAIN",
    "ANALYZE",
    "PRAGMA",
    "ATTACH",
    "SET",
    "COPY",
    "CALL",
    "DO",
    "EXECUTE",
    "orders",
    "shop.orders",
    "main.orders",
    "customers",
    "users",
    "sqlite_master",
    "pg_authid",
    "information_schema.tables",
    "mysql.user",
    "pg_catalog.",
    "main.",
    "a",
    "id",
    "x",
    "\"orders\"",
    "`orders`",
    "[orders]",
    "'orders'",
    "*",
    "(",
    ")",
    "((",
    "))",
    "()",
    ",",
    ";",
    ".",
    "::",
    "::regclass",
    "->>",
    "||",
    "=",
    "<",
    ">",
    "+",
    "-",
    "/",
    "%",
    "--",
    "-- \n",
    "--\r",
    "#",
    "/*",
    "*/",
    "/*!",
    "/*!50000",
    "/*M!",
    "/*+",
    "'",
    "''",
    "'a'",
    "\"",
    "\"\"",
    "`",
    "[",
    "]",
    "\\",
    "\\'",
    "E'",
    "e'\\''",
    "N'",
    "x'00'",
    "b'1'",
    "U&'",
    "U&\"",
    "$$",
    "$a$",
    "$1",
    "?",
    "?1",
    ":a",
    "@a",
    "@@global.x",
    "@@version",
    "{",
    "}",
    "0",
    "1",
    "1e9",
    "0x7f",
    "1.5",
    ".5",
    "1_0",
    "\n",
    "\r",
    "\t",
    "\u{b}",
    "\u{c}",
    "\u{a0}",
    "\u{feff}",
    "\u{2028}",
    "é",
    "ſ",
    "İ",
    "😀",
    "ｓｅｌｅｃｔ",
];

#[test]
fn fuzz_guard() {
    fuzz!("guard", 600, make, check);
}

/// `LIST AUTHOR` on a line, and the statement.
fn make(choices: &mut Choices<'_>, kept: &[Vec<u8>]) -> Vec<u8> {
    let (list, .., cases) = CASES[choices.below(CASES.len())];
    let lines: Vec<&str> = cases.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let (_, base) = lines[choices.below(lines.len())].split_once(": ").expect("a verdict and a statement");
    let author = choices.pick(&["user", "user", "user", "dialect"]);
    let mut text = format!("{list} {author}\n{base}");
    if choices.one_in(4) {
        text = String::from_utf8_lossy(&kept[choices.below(kept.len())]).into_owned();
    }
    let header = text.find('\n').map_or(text.len(), |end| end + 1);
    let mut sql = text.split_off(header);
    if choices.one_in(8) {
        let (_, other) =
            lines[choices.below(lines.len())].split_once(": ").expect("a verdict and a statement");
        let joint = choices.pick(&[" UNION ALL ", " ", "; ", ", (", " WHERE a IN ("]);
        sql.push_str(joint);
        sql.push_str(other);
        sql.push_str(if joint.ends_with('(') { ")" } else { "" });
    }
    if choices.one_in(3) {
        let at = sql.floor_char_boundary(choices.below(sql.len() + 1));
        sql.insert_str(at, &format!(" {}(1) ", choices.pick(NEVER)));
    }
    choices.edit_text(&mut sql, WORDS);
    (text + &sql).into_bytes()
}

fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let Some((header, sql)) = text.split_once('\n') else { return };
    let Some((list, author)) = header.split_once(' ') else { return };
    let Some((_, parser, lexing, _)) = CASES.into_iter().find(|(known, ..)| *known == list) else { return };
    let author = if author == "dialect" { Author::Dialect } else { Author::User };
    let functions = Functions::new(list, &[list.to_owned()], &[]);
    let readings = [lexing];
    let guard = Guard {
        parser: Some(parser),
        readings: &readings,
        functions: &functions,
        author,
        heads: &[],
        allowed: &is_sample,
    };
    let said = guard.check(sql);
    assert_eq!(said, guard.check(sql), "one statement, two judgements");
    let judged = match said {
        Ok(judged) => judged,
        Err(error) => return refusal_is_sound(sql, &error),
    };
    assert!(judged.objects.iter().all(is_sample), "{:?}", judged.objects);
    assert_eq!(guard.check(&judged.sql).as_ref(), Ok(&judged), "accepted, and then not");
    let lexemes = lex(&judged.sql, lexing).expect("an accepted statement can be read");
    assert!(!lexemes.iter().any(|lexeme| matches!(lexeme.kind, Kind::Comment { .. })), "a comment is left");
    let end = lexemes.iter().position(|lexeme| lexeme.kind == Kind::Symbol(';'));
    assert!(end.is_none_or(|end| end + 1 == lexemes.len()), "something follows the semicolon");
    if author == Author::User {
        calls_nothing_dangerous(&judged.sql, &lexemes);
        if parser == SqlParser::Sqlite {
            sqlite_agrees(&judged.sql);
        }
    }
}

fn refusal_is_sound(sql: &str, error: &Error) {
    assert_eq!(error.code, "guard_refused");
    let context = |name: &str| error.context.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    let rule = context("rule").expect("a refusal names its rule");
    assert!(RULES.contains(&rule.as_str()), "{rule}");
    assert!(!error.message.is_empty());
    if let Some(position) = context("position") {
        let position: usize = position.parse().expect("a number");
        assert!((1..=sql.chars().count() + 1).contains(&position), "{position} of {sql:?}");
    }
}

/// A name before a parenthesis is a call unless it is an alias or a common table expression with columns.
fn calls_nothing_dangerous(sql: &str, lexemes: &[Lexeme]) {
    let word = |place: usize| lexemes.get(place).map(|lexeme| sql[lexeme.span.clone()].to_lowercase());
    let is = |place: usize, text: &str| word(place).as_deref() == Some(text);
    for place in 0..lexemes.len() {
        let name = match &lexemes[place].kind {
            Kind::Word => sql[lexemes[place].span.clone()].to_lowercase(),
            Kind::Name(name) => name.to_lowercase(),
            _ => continue,
        };
        if !NEVER.contains(&name.as_str()) || !is(place + 1, "(") {
            continue;
        }
        let mut depth = 0;
        let close = (place + 1..lexemes.len()).find(|&at| {
            depth += i32::from(is(at, "(")) - i32::from(is(at, ")"));
            depth == 0
        });
        let is_expression =
            close.is_some_and(|close| is(close + 1, "as") && (is(close + 2, "(") || is(close + 3, "(")));
        let is_alias = place > 0
            && match &lexemes[place - 1].kind {
                Kind::Word => is(place - 1, "as") || word(place - 1).is_some_and(|word| is_a_table(&word)),
                Kind::Name(_) => true,
                Kind::Symbol(symbol) => *symbol == ')',
                _ => false,
            };
        assert!(is_expression || is_alias, "{name} is called");
    }
}

fn is_a_table(word: &str) -> bool {
    ["orders", "customers", "items", "notes"].contains(&word)
}

/// SQLite prepares the statement, if it is one to it, as one that only reads the sample tables.
fn sqlite_agrees(sql: &str) {
    /// What its authorizer was asked beyond reading.
    static REFUSED: Mutex<Vec<String>> = Mutex::new(Vec::new());
    thread_local! {
        static SQLITE: Connection = {
            let connection = Connection::open_in_memory().expect("in memory");
            for name in ["orders", "customers", "items", "notes", "users"] {
                let table = format!(
                    "CREATE TABLE {name} (id, a, b, amount, placed, customer_id, status, name, city, email, note)"
                );
                connection.execute_batch(&table).expect("a table");
            }
            // SQLite declares these tables when they are first used.
            for name in ["json_each", "json_tree"] {
                connection.prepare(&format!("SELECT 1 FROM {name}('[]')")).expect("a table of SQLite's own");
            }
            connection.authorizer(Some(judge)).expect("SQLite asks it");
            connection
        };
    }
    fn judge(context: AuthContext<'_>) -> Authorization {
        let is_fine = match context.action {
            AuthAction::Select | AuthAction::Recursive => true,
            AuthAction::Read { table_name, .. } => {
                table_name != "users" && !table_name.starts_with("sqlite_")
            }
            AuthAction::Function { function_name } => {
                crate::functions::may_be_called_in_sqlite(function_name)
            }
            _ => false,
        };
        if !is_fine {
            REFUSED.lock().expect("nothing panics here").push(format!("{:?}", context.action));
        }
        Authorization::Allow
    }
    SQLITE.with(|sqlite| {
        let prepared = sqlite.prepare(sql);
        let refused = std::mem::take(&mut *REFUSED.lock().expect("nothing panics there"));
        let Ok(statement) = prepared else { return };
        assert!(refused.is_empty(), "SQLite would do {refused:?}");
        assert!(statement.readonly(), "SQLite would write");
    });
}
