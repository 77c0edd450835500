//! The dialect of MySQL 8 and 9 and of MariaDB 10.6 to 11.
//!
//! A field's definition is only ever written completely, because `MODIFY COLUMN` drops the clauses that it
//! does not repeat. Properties without a member in the contract (character set, ON UPDATE, AUTO_INCREMENT,
//! indexes) are read into [`extra`] and written back from there; a field that could not be written back is
//! not redefined.
//!
//! Everything except sending a query is a pure function. Silent effects of the server (rounding a default,
//! shortening an index, replacing a character by `?`) are refused beforehand.

pub mod defaults;
pub mod describe;
pub mod extra;
pub mod plan;
pub mod read;
pub mod server;
pub mod text;
pub mod types;

use lakeport_sdk::dialect::{
    AccessPage, AccessRequest, Change, ChangePlan, Connection, DataType, DatabasePage, Dialect, DialectInfo,
    Error, Page, Problem, ServerInfo, Table, TableName, TablePage, TableStatistics,
};

use server::Server;

/// The dialect.
pub struct MySql;

impl Dialect for MySql {
    fn describe() -> DialectInfo {
        describe::describe()
    }

    fn parse_types(server: Option<ServerInfo>, texts: Vec<String>) -> Vec<Result<DataType, Problem>> {
        let server = server.as_ref().map(Server::of);
        texts.iter().map(|text| types::data_type(text, server.as_ref())).collect()
    }

    fn plan(server: ServerInfo, change: Change) -> Result<ChangePlan, Vec<Problem>> {
        plan::plan(&Server::of(&server), &change)
    }

    fn server(connection: Connection, _options: String) -> Result<ServerInfo, Error> {
        read::server(&connection)
    }

    fn databases(connection: Connection, _server: ServerInfo, page: Page) -> Result<DatabasePage, Error> {
        read::databases(&connection, &page)
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
        server: ServerInfo,
        tables: Vec<TableName>,
        dependents: bool,
    ) -> Result<Vec<Result<Table, Error>>, Error> {
        read::inspect(&connection, &Server::of(&server), &tables, dependents)
    }

    fn ddl(connection: Connection, _server: ServerInfo, table: TableName) -> Result<String, Error> {
        read::ddl(&connection, &table)
    }

    fn statistics(
        connection: Connection,
        server: ServerInfo,
        tables: Vec<TableName>,
        fresh: bool,
    ) -> Result<Vec<Result<TableStatistics, Error>>, Error> {
        read::statistics(&connection, &Server::of(&server), &tables, fresh)
    }

    fn access(
        connection: Connection,
        server: ServerInfo,
        request: AccessRequest,
    ) -> Result<AccessPage, Error> {
        read::access(&connection, &Server::of(&server), &request)
    }
}

lakeport_sdk::dialect!(MySql);
