//! Removes clauses that no parser knows and that are irrelevant to lineage: partitions and labels of an
//! INSERT, properties of a CREATE TABLE, lateral views, hints. The remaining statement names the same tables.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::words::{Words, bare};

/// A simplified statement; `None` if nothing can be removed.
pub(super) fn simpler(tokens: &[TokenWithSpan]) -> Option<Vec<TokenWithSpan>> {
    let mut plain = without_ornaments(tokens);
    let head = insert(Words(&plain)).or_else(|| create(Words(&plain))).or_else(|| merge(Words(&plain)));
    if let Some(head) = head {
        plain = head;
    }
    (plain != tokens).then_some(plain)
}

/// Removes PostgreSQL's `ONLY` in `FROM ONLY t`, which the parser takes for a table called `ONLY`.
pub(super) fn without_only(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let words = Words(&tokens);
    let is_left_out = |at: usize| {
        words.is(at, "ONLY")
            && words.is_any(at.wrapping_sub(1), &["FROM", "JOIN", "UPDATE", "INTO", "USING"])
            && words.name(at + 1).is_some()
    };
    let left_out: Vec<bool> = (0..tokens.len()).map(is_left_out).collect();
    let mut left_out = left_out.into_iter();
    tokens.retain(|_| left_out.next() == Some(false));
    tokens
}

/// `INSERT … name … query` as `INSERT INTO name query`.
fn insert(words: Words<'_>) -> Option<Vec<TokenWithSpan>> {
    if !words.is_any(0, &["INSERT", "REPLACE"]) {
        return None;
    }
    const BEFORE_NAME: &[&str] = &[
        "INTO",
        "OVERWRITE",
        "TABLE",
        "IGNORE",
        "LOW_PRIORITY",
        "HIGH_PRIORITY",
        "DELAYED",
        "LOCAL",
        "DIRECTORY",
    ];
    let name = (1..words.len()).find(|at| !words.is_any(*at, BEFORE_NAME))?;
    let (_, after) = words.name(name)?;
    let query = words.find_by(after, |at| words.begins_query(at) && !words.are(at, &["WITH", "LABEL"]))?;
    let first = words.0.first()?;
    let head = [bare("INSERT", Keyword::INSERT, first), bare("INTO", Keyword::INTO, first)];
    Some([&head, words.copied(name..after), words.copied(query..words.len())].concat())
}

/// `CREATE … TABLE|VIEW name … AS query` as `CREATE TABLE|VIEW name AS query`; without a query, as a table of one
/// column.
fn create(words: Words<'_>) -> Option<Vec<TokenWithSpan>> {
    const CREATE_WORDS_MAX: usize = 8;
    let is_cache = words.is(0, "CACHE");
    if !words.is(0, "CREATE") && !is_cache {
        return None;
    }
    let kind = (1..CREATE_WORDS_MAX).find(|at| words.is_any(*at, &["TABLE", "VIEW"]))?;
    let is_temporary = (1..kind).any(|at| words.is_any(at, &["TEMPORARY", "TEMP"]));
    let name = words.after_if(kind + 1);
    let (_, after) = words.name(name)?;
    let first = words.0.first()?;
    let mut plain = vec![bare("CREATE", Keyword::CREATE, first)];
    if is_temporary {
        plain.push(bare("TEMPORARY", Keyword::TEMPORARY, first));
    }
    plain.extend_from_slice(words.copied(kind..after));
    // A column may be called `select` only in quotes, so this word begins the query.
    let query = words.find_by(after, |at| words.begins_query(at));
    let other = words.find(after, &["LIKE", "CLONE"]).filter(|at| *at == after);
    match (query, other) {
        (Some(query), _) => {
            plain.push(bare("AS", Keyword::AS, first));
            plain.extend_from_slice(words.copied(query..words.len()));
        }
        (None, _) if is_cache => return None,
        (None, Some(like)) => {
            let (_, end) = words.name(like + 1)?;
            plain.extend_from_slice(words.copied(like..end));
        }
        (None, None) if words.is(kind, "TABLE") => {
            let spanned = |token| TokenWithSpan { token, span: first.span };
            plain.push(spanned(Token::LParen));
            plain.push(bare("c", Keyword::NoKeyword, first));
            plain.push(bare("INT", Keyword::INT, first));
            plain.push(spanned(Token::RParen));
        }
        (None, None) => return None,
    }
    Some(plain)
}

/// Removes the actions of a MERGE, which name no tables.
fn merge(words: Words<'_>) -> Option<Vec<TokenWithSpan>> {
    if !words.is(0, "MERGE") {
        return None;
    }
    let when = words.find(1, &["WHEN"])?;
    let first = words.0.first()?;
    let clause = [
        bare("WHEN", Keyword::WHEN, first),
        bare("MATCHED", Keyword::MATCHED, first),
        bare("THEN", Keyword::THEN, first),
        bare("DELETE", Keyword::DELETE, first),
    ];
    Some([words.copied(0..when), &clause].concat())
}

/// Splits `FROM t INSERT INTO a SELECT … INSERT INTO b SELECT …` into statements of their own.
pub(super) fn branches(tokens: &[TokenWithSpan]) -> Option<Vec<Vec<TokenWithSpan>>> {
    let words = Words(tokens);
    if !words.is(0, "FROM") {
        return None;
    }
    let first = words.find(1, &["INSERT"])?;
    let mut begins = vec![first];
    while let Some(next) = words.find(begins[begins.len() - 1] + 1, &["INSERT"]) {
        begins.push(next);
    }
    let one = bare("c", Keyword::NoKeyword, &tokens[0]);
    let from = [&[bare("SELECT", Keyword::SELECT, &tokens[0]), one], words.copied(0..first)].concat();
    let ends = begins.iter().skip(1).copied().chain([words.len()]);
    let inserts = begins.iter().zip(ends).map(|(begin, end)| {
        let insert = words.copied(*begin..end).to_vec();
        simpler(&insert).unwrap_or(insert)
    });
    let from = without_ornaments(&from);
    Some([from].into_iter().chain(inserts).collect())
}

/// Removes clauses around tables: lateral views, hints, samples, join modifiers.
fn without_ornaments(tokens: &[TokenWithSpan]) -> Vec<TokenWithSpan> {
    let words = Words(tokens);
    let mut plain = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < words.len() {
        if let Some(next) = after_ornament(words, at) {
            at = next;
            continue;
        }
        if is_table_command(words, at) {
            plain.push(bare("SELECT", Keyword::SELECT, &tokens[at]));
            plain.push(bare("c", Keyword::NoKeyword, &tokens[at]));
            plain.push(bare("FROM", Keyword::FROM, &tokens[at]));
        } else {
            plain.push(tokens[at].clone());
        }
        at += 1;
        // Spark: WITH name (SELECT …)
        let is_named = at >= 2 && (words.is(at - 2, "WITH") || words.is_token(at - 2, &Token::Comma));
        if is_named && words.is_token(at, &Token::LParen) && words.is_any(at + 1, &["SELECT", "WITH"]) {
            plain.push(bare("AS", Keyword::AS, &tokens[at]));
        }
    }
    plain
}

/// `TABLE t` in place of a query.
fn is_table_command(words: Words<'_>, at: usize) -> bool {
    let may_begin = at == 0
        || words.is_any(at - 1, &["UNION", "EXCEPT", "INTERSECT", "ALL", "DISTINCT", "AS"])
        || words.is_token(at - 1, &Token::LParen);
    words.is(at, "TABLE") && may_begin && words.name(at + 1).is_some()
}

fn after_ornament(words: Words<'_>, at: usize) -> Option<usize> {
    if words.are(at, &["LATERAL", "VIEW"]) {
        return Some(after_lateral_view(words, words.after(at + 2, &["OUTER"])));
    }
    let is_side = words.is_any(at, &["SEMI", "ANTI", "ASOF", "GLOBAL"])
        && (words.is(at + 1, "JOIN") || words.is_any(at + 1, &["LEFT", "RIGHT", "INNER"]));
    if is_side {
        return Some(at + 1);
    }
    // SET a += 1
    const COMPOUND: &[Token] = &[Token::Plus, Token::Minus, Token::Mul, Token::Div];
    if words.is_token(at + 1, &Token::Eq) && COMPOUND.iter().any(|operator| words.is_token(at, operator)) {
        return Some(at + 1);
    }
    // JOIN [shuffle] t
    if words.is_token(at, &Token::LBracket)
        && at > 0
        && words.is(at - 1, "JOIN")
        && words.is_token(at + 2, &Token::RBracket)
    {
        return Some(at + 3);
    }
    if words.is_any(at, &["TABLET", "TABLESAMPLE"]) && words.is_token(at + 1, &Token::LParen) {
        return words.after_group(at + 1);
    }
    None
}

/// `explode(x) t AS a, b`
fn after_lateral_view(words: Words<'_>, function: usize) -> usize {
    let Some((_, after)) = words.name(function) else { return function };
    let mut at = words.after_group(after).unwrap_or(after);
    const NEXT_CLAUSES: &[&str] = &[
        "LATERAL",
        "WHERE",
        "GROUP",
        "HAVING",
        "ORDER",
        "LIMIT",
        "UNION",
        "JOIN",
        "LEFT",
        "RIGHT",
        "INNER",
        "CROSS",
        "FULL",
        "INSERT",
        "SELECT",
        "DISTRIBUTE",
        "CLUSTER",
        "SORT",
        "WINDOW",
        "ON",
    ];
    if !words.is(at, "AS") && !words.is_any(at, NEXT_CLAUSES) && words.name(at).is_some() {
        at += 1;
    }
    if words.is(at, "AS") {
        at += 2;
        while words.is_token(at, &Token::Comma) {
            at += 2;
        }
    }
    at
}
