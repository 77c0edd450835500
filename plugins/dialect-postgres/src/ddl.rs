//! Rebuilds the statements that create a table from the catalogue, since PostgreSQL has no statement that
//! shows them. Running them must give the same catalogue.
//!
//! Partitions are created as tables and then attached, so that their own order of columns, constraints and
//! indexes is preserved. Owners and grants are left out, and so are prerequisites: the schema, types,
//! functions and the tables that are referred to.

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
