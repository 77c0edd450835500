//! Statements that are read word by word: those that need no parser, and those that the parser does not know.

use sqlparser::ast::Ident;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::walk::Effect;
use super::words::Words;

/// Statements with these heads move no rows between tables.
const IDLE: &[&str] = &[
    "ADD",
    "ADMIN",
    "ANALYSE",
    "ANALYZE",
    "ATTACH",
    "BEGIN",
    "BREAK",
    "CALL",
    "CANCEL",
    "CHECKPOINT",
    "CLEAN",
    "CLOSE",
    "COMMENT",
    "COMMIT",
    "CONTINUE",
    "DEALLOCATE",
    "DECLARE",
    "DESC",
    "DESCRIBE",
    "DETACH",
    "END",
    "EXEC",
    "EXECUTE",
    "EXPLAIN",
    "FETCH",
    "FLUSH",
    "GO",
    "GRANT",
    "INSTALL",
    "ITERATE",
    "KILL",
    "LEAVE",
    "LIST",
    "LISTEN",
    "LOCK",
    "MSCK",
    "NULL",
    "OPEN",
    "OPTIMIZE",
    "PAUSE",
    "PRAGMA",
    "PRINT",
    "RAISE",
    "RECOVER",
    "REFRESH",
    "REINDEX",
    "RELEASE",
    "REPAIR",
    "RESET",
    "RESUME",
    "RETURN",
    "REVOKE",
    "ROLLBACK",
    "SAVEPOINT",
    "SET",
    "SHOW",
    "SIGNAL",
    "START",
    "STOP",
    "SYNC",
    "THROW",
    "TRUNCATE",
    "UNCACHE",
    "UNLISTEN",
    "UNLOCK",
    "UNSET",
    "VACUUM",
];
/// The kinds of `CREATE` that are tables.
const RELATIONS: &[&str] = &["TABLE", "VIEW"];
/// The most words between `CREATE` and the object's kind.
const CREATE_WORDS_MAX: usize = 8;

/// The effects of a statement, if its words suffice to find them.
pub(super) fn effects(tokens: &[TokenWithSpan]) -> Option<Vec<Effect>> {
    let words = Words(tokens);
    if words.is_any(0, IDLE) {
        return Some(Vec::new());
    }
    if words.is(0, "USE") {
        return Some(use_database(words));
    }
    if words.is(0, "DROP") {
        return Some(drop(words));
    }
    if words.are(0, &["RENAME", "TABLE"]) {
        return Some(rename(words));
    }
    if words.is(0, "ALTER") && !words.is_any(1, &["VIEW"]) {
        return Some(alter(words));
    }
    if words.is(0, "LOAD") {
        return Some(load(words));
    }
    let kind = (1..CREATE_WORDS_MAX).find(|at| words.is_any(*at, RELATIONS));
    // An index is made on a table; a function may return one.
    let is_other =
        (1..kind.unwrap_or(CREATE_WORDS_MAX)).any(|at| words.is_any(at, &["ON", "RETURNS", "FOR", "AS"]));
    (words.is(0, "CREATE") && (kind.is_none() || is_other)).then(Vec::new)
}

/// `USE db`, `USE DATABASE db`, `USE catalog.db`
fn use_database(words: Words<'_>) -> Vec<Effect> {
    if words.is_any(1, &["CATALOG", "ROLE", "WAREHOUSE"]) && words.len() > 2 {
        return Vec::new();
    }
    let at = if words.is_any(1, &["DATABASE", "SCHEMA"]) && words.len() > 2 { 2 } else { 1 };
    let database = words.name(at).and_then(|(parts, _)| parts.into_iter().next_back());
    database.map(Effect::Use).into_iter().collect()
}

/// `DROP [MATERIALIZED|TEMPORARY] TABLE|VIEW [IF EXISTS] a, b`
fn drop(words: Words<'_>) -> Vec<Effect> {
    let Some(kind) = (1..=3).find(|at| words.is_any(*at, RELATIONS)) else { return Vec::new() };
    let mut dropped = Vec::new();
    let mut at = words.after_if(kind + 1);
    while let Some((name, next)) = words.name(at) {
        dropped.push(Effect::Drop(name));
        if !words.is_token(next, &Token::Comma) {
            break;
        }
        at = next + 1;
    }
    dropped
}

/// `RENAME TABLE a TO b, c TO d`
fn rename(words: Words<'_>) -> Vec<Effect> {
    let mut renamed = Vec::new();
    let mut at = words.after_if(2);
    while let Some((from, next)) = words.name(at) {
        if !words.is_any(next, &["TO", "AS"]) {
            break;
        }
        let Some((to, next)) = words.name(next + 1) else { break };
        renamed.push(Effect::Rename(from, to));
        if !words.is_token(next, &Token::Comma) {
            break;
        }
        at = next + 1;
    }
    renamed
}

/// The effects of `ALTER` on a whole table: renaming, swapping, moving partitions.
fn alter(words: Words<'_>) -> Vec<Effect> {
    let Some(kind) = (1..=3).find(|at| words.is_any(*at, RELATIONS)) else { return Vec::new() };
    let at = words.after(words.after_if(kind + 1), &["ONLY"]);
    let Some((table, next)) = words.name(at) else { return Vec::new() };
    let other = |at: usize| words.name(at).map(|(name, _)| name);
    let one = if words.is(next, "RENAME") {
        // Without TO it is Doris' form; RENAME COLUMN, PARTITION, ROLLUP are others.
        let to = if words.is_any(next + 1, &["TO", "AS"]) { next + 2 } else { next + 1 };
        let is_whole = words.name(to).is_some_and(|(_, after)| after == words.len());
        other(to).filter(|_| is_whole).map(|name| Effect::Rename(table, beside(&words, at, name)))
    } else if words.are(next, &["SWAP", "WITH"]) {
        other(words.after(next + 2, &["TABLE"])).map(|name| Effect::Swap(table, beside(&words, at, name)))
    } else if words.are(next, &["REPLACE", "WITH", "TABLE"]) {
        other(next + 3).map(|name| Effect::Swap(table, beside(&words, at, name)))
    } else if words.are(next, &["EXCHANGE", "PARTITION"]) {
        let with = words.find(next, &["WITH"]);
        let from = with.and_then(|with| other(words.after(with + 1, &["TABLE"])));
        return from.map_or_else(Vec::new, |from| vec![Effect::Read(from), Effect::Fill(table)]);
    } else {
        None
    };
    one.into_iter().collect()
}

/// A new name without a database is in the old name's database.
fn beside(words: &Words<'_>, old: usize, new: Vec<Ident>) -> Vec<Ident> {
    let Some((mut parts, _)) = words.name(old).filter(|_| new.len() == 1) else { return new };
    parts.pop();
    parts.extend(new);
    parts
}

/// `LOAD DATA … INTO TABLE t`, `LOAD LABEL l (DATA INFILE(…) INTO TABLE t, …)`
fn load(words: Words<'_>) -> Vec<Effect> {
    let targets = (0..words.len()).filter(|at| words.are(*at, &["INTO", "TABLE"]));
    targets.filter_map(|at| words.name(at + 2)).map(|(name, _)| Effect::Fill(name)).collect()
}
