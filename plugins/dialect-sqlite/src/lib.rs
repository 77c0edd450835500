//! The SQLite dialect.
//!
//! Everything except sending a query is a pure function. [`types`], [`plan`] and [`describe`] depend on their
//! arguments alone; [`read`] separates queries from the reading of answers; [`create_text`] finds the
//! properties that a change must not lose in the statement that SQLite keeps.
//!
//! A table is only rebuilt if all of its properties are understood, so that none is lost.

pub mod create_text;
pub mod defaults;
pub mod describe;
pub mod facts;
pub mod lexer;
pub mod plan;
pub mod read;
pub mod types;
mod version;

use lakeport_sdk::dialect::{
    AccessPage, AccessRequest, Change, ChangePlan, Connection, DataType, DatabasePage, Dialect, DialectInfo,
    Error, Page, Problem, ServerInfo, Table, TableName, TablePage, TableStatistics,
};

/// The only database of a SQLite file in Lakeport.
pub const DATABASE: &str = "main";

/// The SQLite dialect.
pub struct Sqlite;

impl Dialect for Sqlite {
    fn describe() -> DialectInfo {
        describe::describe()
    }

    fn parse_types(_server: Option<ServerInfo>, texts: Vec<String>) -> Vec<Result<DataType, Problem>> {
        texts.iter().map(|text| types::parse(text)).collect()
    }

    fn plan(server: ServerInfo, change: Change) -> Result<ChangePlan, Vec<Problem>> {
        plan::plan(&server, &change)
    }

    fn server(connection: Connection, _options: String) -> Result<ServerInfo, Error> {
        read::server(&connection)
    }

    fn databases(_connection: Connection, _server: ServerInfo, page: Page) -> Result<DatabasePage, Error> {
        Ok(read::databases(&page))
    }

    fn tables(
        connection: Connection,
        _server: ServerInfo,
        database: String,
        page: Page,
    ) -> Result<TablePage, Error> {
        read::tables(&connection, &database, &page)
    }

    fn inspect(
        connection: Connection,
        _server: ServerInfo,
        tables: Vec<TableName>,
        _dependents: bool,
    ) -> Result<Vec<Result<Table, Error>>, Error> {
        read::inspect(&connection, &tables)
    }

    fn ddl(connection: Connection, _server: ServerInfo, table: TableName) -> Result<String, Error> {
        read::ddl(&connection, &table)
    }

    fn statistics(
        connection: Connection,
        _server: ServerInfo,
        tables: Vec<TableName>,
        fresh: bool,
    ) -> Result<Vec<Result<TableStatistics, Error>>, Error> {
        read::statistics(&connection, &tables, fresh)
    }

    fn access(
        _connection: Connection,
        _server: ServerInfo,
        _request: AccessRequest,
    ) -> Result<AccessPage, Error> {
        Ok(AccessPage::none("SQLite keeps no record of accesses"))
    }
}

lakeport_sdk::dialect!(Sqlite);
