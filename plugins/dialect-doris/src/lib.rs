//! The dialect of Apache Doris, and of its fork StarRocks.
//!
//! Both products speak nearly the same SQL, so there is one dialect, and where their statements differ it
//! asks [`server::Server`] for the product. Everything except sending a query is a pure function. Silent
//! errors of either product (a comment that loses its backslashes, a bucket number for partitions that are
//! never created) are refused beforehand.

pub mod defaults;
pub mod describe;
pub mod extra;
#[cfg(test)]
mod host_tests;
pub mod plan;
pub mod read;
pub mod server;
pub mod texts;
pub mod types;

use lakeport_sdk::dialect::{
    AccessPage, AccessRequest, Change, ChangePlan, Connection, DataType, DatabasePage, Dialect, DialectInfo,
    Error, Page, Problem, ServerInfo, Table, TableName, TablePage, TableStatistics,
};

use server::Server;

/// The dialect.
pub struct Doris;

impl Dialect for Doris {
    fn describe() -> DialectInfo {
        describe::describe()
    }

    fn parse_types(server: Option<ServerInfo>, texts: Vec<String>) -> Vec<Result<DataType, Problem>> {
        let product = server.as_ref().map(Server::of).unwrap_or_default().product;
        texts.iter().map(|text| types::parse(product, text)).collect()
    }

    fn plan(server: ServerInfo, change: Change) -> Result<ChangePlan, Vec<Problem>> {
        plan::plan(&Server::of(&server), &change)
    }

    fn server(connection: Connection, options: String) -> Result<ServerInfo, Error> {
        read::server(&connection, &options)
    }

    fn databases(connection: Connection, _server: ServerInfo, page: Page) -> Result<DatabasePage, Error> {
        read::databases(&connection, &page)
    }

    fn tables(
        connection: Connection,
        server: ServerInfo,
        database: String,
        page: Page,
    ) -> Result<TablePage, Error> {
        read::tables(&connection, &Server::of(&server), &database, &page)
    }

    fn inspect(
        connection: Connection,
        server: ServerInfo,
        tables: Vec<TableName>,
        _dependents: bool,
    ) -> Result<Vec<Result<Table, Error>>, Error> {
        read::inspect(&connection, &Server::of(&server), &tables)
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

lakeport_sdk::dialect!(Doris);
