//! The functions that statements may call: allow-lists of each database, in the files of `functions/`. A name that
//! is not on its list is refused, so an unknown function is refused, too.
//!
//! The lists hold the functions of all versions. A name that a server lacks must not mean another function there:
//! PostgreSQL's sessions have an empty `search_path`, SQLite's databases have no functions of their own, and for
//! the others `docs/security.md` says what remains.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::guard::SqlParser;
use crate::lex::Server;

/// The schema of PostgreSQL's own functions and types, which may qualify them.
const OWN_SCHEMA: &str = "pg_catalog";
/// Parts of a name in the setting: catalog, schema, function.
const PARTS_MAX: usize = 3;
/// Entries of the setting.
const ADDED_MAX: usize = 1_000;

/// Whose statement it is. It decides which of the lists apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// A user, or a model that works for one.
    User,
    /// A dialect, which asks for the catalogue.
    Dialect,
    /// An expression of a column's definition, within a change of its table.
    Definition,
}

/// The lists of one database.
struct Lists {
    functions: Names,
    tables: Names,
    queries: Names,
    catalogue: Names,
    definitions: Names,
    variables: Names,
    words: Names,
    types: Names,
    schemas: Names,
    refused: Names,
}

type Names = BTreeSet<&'static str>;

impl Lists {
    fn read(text: &'static str) -> Lists {
        let sections = sections(text);
        let names = |wanted: &str| {
            let found = sections.iter().filter(|(name, _)| *name == wanted);
            found.flat_map(|(_, words)| words.iter().copied()).collect()
        };
        Lists {
            functions: names("functions"),
            tables: names("tables"),
            queries: names("queries"),
            catalogue: names("catalogue"),
            definitions: names("definitions"),
            variables: names("variables"),
            words: names("words"),
            types: names("types"),
            schemas: names("schemas"),
            refused: names("refused"),
        }
    }
}

/// The sections of a file with their names, in order. A line that begins with `#` is a comment.
fn sections(text: &'static str) -> Vec<(&'static str, Vec<&'static str>)> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        match line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            Some(name) => found.push((name, Vec::new())),
            None => {
                let Some((_, section)) = found.last_mut() else { continue };
                section.extend(line.split_ascii_whitespace());
            }
        }
    }
    found
}

const TEXTS: [(&str, &str); 5] = [
    ("sqlite", include_str!("../functions/sqlite.txt")),
    ("postgres", include_str!("../functions/postgres.txt")),
    ("mysql", include_str!("../functions/mysql.txt")),
    ("doris", include_str!("../functions/doris.txt")),
    ("ansi", include_str!("../functions/ansi.txt")),
];
static LISTS: LazyLock<Vec<(&str, Lists)>> =
    LazyLock::new(|| TEXTS.into_iter().map(|(name, text)| (name, Lists::read(text))).collect());

/// The lists of the first known name; otherwise those of the standard.
fn lists(names: &[String]) -> &'static Lists {
    let known = names.iter().find_map(|name| LISTS.iter().find(|(list, _)| list == name));
    known.or(LISTS.last()).map(|(_, lists)| lists).expect("there are lists")
}

/// Functions of data sources that the operator allows besides the lists, by kind of data source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddedFunctions(BTreeSet<(String, Vec<String>)>);

impl std::fmt::Display for AddedFunctions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let entries = self.0.iter().map(|(kind, parts)| format!("{kind}:{}", parts.join(".")));
        f.write_str(&entries.collect::<Vec<_>>().join(","))
    }
}

impl AddedFunctions {
    /// Reads entries such as `postgres:geo.distance`. The error says what is wrong with one.
    pub fn parse(entries: &[String]) -> Result<AddedFunctions, String> {
        if entries.len() > ADDED_MAX {
            return Err(format!("has {} entries; {ADDED_MAX} at most", entries.len()));
        }
        entries.iter().map(|entry| Self::entry(entry)).collect::<Result<_, _>>().map(AddedFunctions)
    }

    fn entry(entry: &str) -> Result<(String, Vec<String>), String> {
        let wrong = || {
            format!("{entry:?} is not a kind of data source and a function, such as postgres:geo.distance")
        };
        let (kind, name) = entry.split_once(':').ok_or_else(wrong)?;
        let is_kind = !kind.is_empty()
            && kind.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        let parts: Vec<String> = name.split('.').map(str::to_owned).collect();
        let is_part = |part: &String| {
            !part.is_empty()
                && !part.contains(|c: char| c.is_whitespace() || matches!(c, '"' | '`' | '*' | '('))
        };
        if !is_kind || parts.len() > PARTS_MAX || !parts.iter().all(is_part) {
            return Err(wrong());
        }
        if kind == "sqlite" {
            let message =
                "a SQLite database has no functions of its own, and the safe ones of SQLite are allowed";
            return Err(format!("{entry:?} cannot be allowed: {message}"));
        }
        Ok((kind.to_owned(), parts))
    }

    fn of(&self, kind: &str) -> BTreeSet<Vec<String>> {
        self.0.iter().filter(|(known, _)| known == kind).map(|(_, parts)| parts.clone()).collect()
    }
}

/// The functions of one dialect's databases.
#[derive(Clone)]
pub struct Functions {
    kind: String,
    parser: Option<SqlParser>,
    lists: &'static Lists,
    /// Denied by the dialect, lower case.
    denied: BTreeSet<String>,
    added: BTreeSet<Vec<String>>,
}

impl std::fmt::Debug for Functions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Functions")
            .field("kind", &self.kind)
            .field("added", &self.added)
            .finish_non_exhaustive()
    }
}

impl Functions {
    /// `kind`: the dialect's name. `parsers`: its names of parsers, the best first, which are also those of the
    /// lists. `denied`: the functions that it denies.
    pub fn new(kind: &str, parsers: &[String], denied: &[String]) -> Functions {
        Functions {
            kind: kind.to_owned(),
            parser: parsers.iter().find_map(|name| SqlParser::named(name)),
            lists: lists(parsers),
            denied: denied.iter().map(|name| name.to_lowercase()).collect(),
            added: BTreeSet::new(),
        }
    }

    /// The same with the functions that the operator allows.
    pub fn allowing(self, added: &AddedFunctions) -> Functions {
        Functions { added: added.of(&self.kind), ..self }
    }

    /// Whether a statement may call the function, as its parts are resolved by the server.
    pub fn may_call(&self, author: Author, parts: &[String]) -> bool {
        if self.is_added(author, parts) {
            return true;
        }
        let Some(name) = self.own(parts) else { return false };
        let lists = self.lists;
        let more = match author {
            Author::User => lists.queries.contains(name.as_str()),
            Author::Dialect => lists.catalogue.contains(name.as_str()),
            Author::Definition => {
                lists.queries.contains(name.as_str()) || lists.definitions.contains(name.as_str())
            }
        };
        let called = lists.functions.contains(name.as_str())
            || self.has_sets_in_selections() && lists.tables.contains(name.as_str());
        (called || more) && !self.denied.contains(&name)
    }

    /// Whether a statement may name the function in the place of a table.
    pub fn may_be_table(&self, author: Author, parts: &[String]) -> bool {
        let listed = self
            .own(parts)
            .is_some_and(|name| self.lists.tables.contains(name.as_str()) && !self.denied.contains(&name));
        listed
            || self.is_added(author, parts)
            || self.parser == Some(SqlParser::Postgres) && self.may_call(author, parts)
    }

    /// Whether a name without parentheses, unquoted, is a call that is refused.
    pub fn is_refused_word(&self, author: Author, word: &str) -> bool {
        let word = word.to_lowercase();
        author != Author::Dialect && self.lists.words.contains(word.as_str())
    }

    /// Whether a variable (`@@sql_mode`) may be read.
    pub fn may_read_variable(&self, author: Author, variable: &str) -> bool {
        author == Author::Dialect && self.lists.variables.contains(variable.to_lowercase().as_str())
    }

    /// Whether a value may be cast to a type that the parser has no word for. Only PostgreSQL has such types that
    /// run more than a conversion.
    pub fn may_cast_to(&self, author: Author, parts: &[String]) -> bool {
        author != Author::User
            || self.parser != Some(SqlParser::Postgres)
            || self.is_added(author, parts)
            || self.own(parts).is_some_and(|name| self.lists.types.contains(name.as_str()))
    }

    /// Whether an object lies in a schema of the system.
    pub fn is_system(&self, parts: &[String]) -> bool {
        let [schemas @ .., _] = parts else { return false };
        schemas.iter().any(|schema| {
            let schema = schema.to_lowercase();
            self.lists.schemas.contains(schema.as_str())
                || self.parser == Some(SqlParser::Postgres)
                    && (schema.starts_with("pg_toast") || schema.starts_with("pg_temp"))
        })
    }

    /// Why a function is refused, and what to do, for people.
    pub fn refusal(&self, what: &str, name: &str) -> String {
        let kind = &self.kind;
        if self.parser == Some(SqlParser::Sqlite) {
            return format!(
                "{what} {name} may not be used here: it is not among the functions of SQLite that are safe"
            );
        }
        format!(
            "{what} {name} may not be used here: it is not on the list of safe ones; the operator can allow it with \
             `{kind}:{}` in the setting sql_functions_allow",
            name.replace(['"', '`'], "")
        )
    }

    fn is_added(&self, author: Author, parts: &[String]) -> bool {
        let same = |one: &str, other: &str| match self.parser {
            Some(SqlParser::Postgres) => one == other,
            _ => one.eq_ignore_ascii_case(other),
        };
        author != Author::Dialect
            && self.added.iter().any(|added| {
                added.len() == parts.len() && added.iter().zip(parts).all(|(one, other)| same(one, other))
            })
    }

    /// The name of a function of the database's own; `None` for a name in another schema.
    fn own(&self, parts: &[String]) -> Option<String> {
        let is_postgres = self.parser == Some(SqlParser::Postgres);
        match parts {
            // PostgreSQL's own names are lower case, and a quoted one is as it is written.
            [name] if is_postgres => Some(name.clone()),
            [name] => Some(name.to_lowercase()),
            [schema, name] if is_postgres && schema == OWN_SCHEMA => Some(name.clone()),
            _ => None,
        }
    }

    fn has_sets_in_selections(&self) -> bool {
        matches!(self.parser, Some(SqlParser::Postgres | SqlParser::MySql | SqlParser::Ansi))
    }
}

/// Whether SQLite itself, asked while it prepares a user's query, is to permit a call.
pub fn may_be_called_in_sqlite(name: &str) -> bool {
    let lists = lists(&["sqlite".to_owned()]);
    let name = name.to_lowercase();
    [&lists.functions, &lists.tables, &lists.queries].iter().any(|names| names.contains(name.as_str()))
}

/// Whether a function, lower case, reaches out of the database or into its internals. With the functions that a task
/// may call, those of SQLite are all that there are; a test holds that. On a server the account's rights decide about the
/// others.
pub(crate) fn reaches_out(server: Server, name: &str) -> bool {
    let list = match server {
        Server::Postgres => "postgres",
        Server::MySql => "mysql",
        Server::Sqlite | Server::Unknown => "sqlite",
    };
    let refused = &lists(&[list.to_owned()]).refused;
    let family = |prefix: &str| name.starts_with(prefix) && refused.contains(format!("{prefix}*").as_str());
    refused.contains(name) || FAMILIES.iter().any(|prefix| family(prefix))
}

/// Whether a server's own function, lower case, changes nothing for certain. A user's function may do anything.
pub(crate) fn only_computes(server: Server, name: &str) -> bool {
    let list = match server {
        Server::Postgres => "postgres",
        Server::MySql => "mysql",
        Server::Sqlite | Server::Unknown => "sqlite",
    };
    let lists = lists(&[list.to_owned()]);
    [&lists.functions, &lists.tables, &lists.queries, &lists.types].iter().any(|names| names.contains(name))
}

/// Beginnings of names that a list may refuse as a whole.
const FAMILIES: [&str; 4] = ["dblink", "lo_", "pg_ls_", "pg_replication_"];

/// Whether the lists of SQLite know a function at all.
pub fn is_known_in_sqlite(name: &str) -> bool {
    let lists = lists(&["sqlite".to_owned()]);
    let name = name.to_lowercase();
    [&lists.functions, &lists.tables, &lists.queries, &lists.catalogue, &lists.definitions, &lists.refused]
        .iter()
        .any(|names| names.contains(name.as_str()))
}

#[cfg(test)]
#[path = "functions_tests.rs"]
mod tests;
