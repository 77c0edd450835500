//! Turns the fragments of a reading statement into text, with values bound or written as literals, and passes
//! it to the guard.

use std::sync::Arc;

use lakeport_bindings::dialect::schema::TableName;
use lakeport_bindings::dialect::statements::Fragment;
use lakeport_bindings::host::data::Cell;
use lakeport_bindings::host::types::Error;

use crate::functions::Author;
use crate::guard::{Guard, Object, SqlParser, refused};
use crate::profile::{Placeholders, Profile, Transport};
use crate::write::{is_number, quote_name, quote_text};

/// Fragments of one statement.
const FRAGMENTS_MAX: usize = 20_000;

/// A reading statement that passed the guard.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadStatement {
    /// The text.
    pub sql: String,
    /// Values for its placeholders, in order.
    pub binds: Vec<Cell>,
}

/// Writes and judges one statement of a dialect's `reader` or of a probe. It may read the declared catalogue
/// objects and the tables `about` which the call is.
///
/// Errors are those of the guard, code `guard_refused`.
pub fn read_statement(
    profile: &Profile,
    fragments: &[Fragment],
    about: &[TableName],
) -> Result<ReadStatement, Error> {
    if fragments.len() > FRAGMENTS_MAX {
        return Err(refused("parse", format!("the statement has more than {FRAGMENTS_MAX} parts"), None));
    }
    let (sql, binds) = written(profile, fragments)?;
    if let Some(judged) = profile.remembered.find(&sql)
        && judged.objects.iter().all(|object| may_read(profile, about, object))
    {
        return Ok(ReadStatement { sql: judged.sql.clone(), binds });
    }
    let heads = profile.operations.get("read").map(|words| words.heads.as_slice()).unwrap_or_default();
    let allowed = |object: &Object| may_read(profile, about, object);
    let readings = profile.readings();
    let guard = Guard {
        parser: profile.parser,
        readings: &readings,
        functions: &profile.functions,
        author: Author::Dialect,
        heads,
        allowed: &allowed,
    };
    let judged = guard.check(&sql)?;
    if !judged.parsed {
        named_only(profile, fragments, about)?;
        return Ok(ReadStatement { sql: judged.sql, binds });
    }
    let judged = Arc::new(judged);
    profile.remembered.keep(sql, &judged);
    Ok(ReadStatement { sql: judged.sql.clone(), binds })
}

fn written(profile: &Profile, fragments: &[Fragment]) -> Result<(String, Vec<Cell>), Error> {
    let mut sql = String::new();
    let mut binds = Vec::new();
    for fragment in fragments {
        match fragment {
            Fragment::Sql(text) => {
                if has_placeholder(profile, text) {
                    let message = "the constant text has a placeholder; give values as fragments";
                    return Err(refused("parse", message, None));
                }
                sql.push_str(text);
            }
            Fragment::Name(parts) => {
                let quoted: Result<Vec<String>, _> =
                    parts.iter().map(|part| quote_name(part, profile.name_quote)).collect();
                let quoted = quoted.map_err(|error| refused("parse", error.to_string(), None))?;
                sql.push_str(&quoted.join("."));
            }
            Fragment::Value(cell) => match profile.placeholders {
                Placeholders::Question => {
                    sql.push('?');
                    binds.push(cell.clone());
                }
                Placeholders::Dollar => {
                    binds.push(cell.clone());
                    sql.push_str(&format!("${}", binds.len()));
                }
                Placeholders::None => sql.push_str(&literal(profile, cell)?),
            },
        }
    }
    Ok((sql, binds))
}

/// Whether constant text has a placeholder, which would take the place of a bound value.
fn has_placeholder(profile: &Profile, text: &str) -> bool {
    match profile.placeholders {
        Placeholders::Question => text.contains('?'),
        Placeholders::Dollar => {
            text.split('$').skip(1).any(|behind| behind.starts_with(|c: char| c.is_ascii_digit()))
        }
        Placeholders::None => false,
    }
}

/// A value as a literal, if the protocol cannot bind values.
fn literal(profile: &Profile, cell: &Cell) -> Result<String, Error> {
    match cell {
        Cell::Null => Ok("NULL".to_owned()),
        Cell::Boolean(value) => Ok(if *value { "TRUE" } else { "FALSE" }.to_owned()),
        Cell::Integer(value) => Ok(value.to_string()),
        Cell::Float(value) => {
            let text = format!("{value:e}");
            if is_number(&text) {
                Ok(text)
            } else {
                Err(refused("parse", format!("{value} cannot be written as a literal"), None))
            }
        }
        Cell::Text(value) => {
            let rule = profile.texts.get("literal").expect("a profile has the rule `literal`");
            quote_text(value, rule).map_err(|error| refused("parse", error.to_string(), None))
        }
        Cell::Bytes(_) => Err(refused("parse", "bytes cannot be written as a literal here", None)),
    }
}

/// Permits declared catalogue objects and the tables that the call is about.
fn may_read(profile: &Profile, about: &[TableName], object: &Object) -> bool {
    let same = |declared: &str, named: &str| {
        declared == "*"
            || match profile.parser {
                Some(SqlParser::Postgres) => declared == named,
                _ => declared.eq_ignore_ascii_case(named),
            }
    };
    let declared = profile.reads_from.iter().any(|pattern| {
        pattern.len() == object.parts.len()
            && pattern.iter().zip(&object.parts).all(|(part, named)| same(part, named))
    });
    declared || !object.function && about.iter().any(|table| is_table(profile, table, &object.parts))
}

/// A name may lack its database only if one file is one database, or the table is in none.
fn is_table(profile: &Profile, table: &TableName, parts: &[String]) -> bool {
    match parts {
        [name] => {
            let is_alone = profile.transport == Transport::Sqlite || table.database.is_empty();
            is_alone && *name == table.name
        }
        [database, name] => *database == table.database && *name == table.name,
        _ => false,
    }
}

/// A statement that no parser read may name, besides its constant words, only the objects of the call.
fn named_only(profile: &Profile, fragments: &[Fragment], about: &[TableName]) -> Result<(), Error> {
    for fragment in fragments {
        let Fragment::Name(parts) = fragment else { continue };
        let object = Object { parts: parts.clone(), function: false };
        let database_or_table = |table: &TableName| {
            parts.as_slice() == [table.database.clone()] || parts.as_slice() == [table.name.clone()]
        };
        if !may_read(profile, about, &object) && !about.iter().any(database_or_table) {
            let message = format!("{} may not be read here", parts.join("."));
            return Err(refused("not_permitted", message, None));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
