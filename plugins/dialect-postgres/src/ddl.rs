//! The statements that make a table, rebuilt from the catalogue, since PostgreSQL has none of its own that
//! says them. Right when running them gives the same catalogue.
//!
//! Partitions are tables of their own that are attached, so that their own order of columns, constraints and
//! indexes come out as they are. Owners and grants are left out, and so is what must be there before: the
//! schema, types, functions and the tables that are referred to.

mod ask;
mod columns;
mod objects;
mod relation;

use lakeport_sdk::dialect::{Error, ServerInfo, TableName};

use crate::read::{Source, no_table};

/// The text, for people.
pub fn ddl(source: &impl Source, server: &ServerInfo, table: &TableName) -> Result<String, Error> {
    let Some(catalogue) = ask::ask(source, server, table)? else { return Err(no_table(table)) };
    let statements = relation::statements(&catalogue.parts()?)?;
    Ok(statements.iter().map(|statement| format!("{statement};")).collect::<Vec<_>>().join("\n\n"))
}
