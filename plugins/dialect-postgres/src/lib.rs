//! The PostgreSQL dialect. The platform's databases are schemas here; the PostgreSQL database is the
//! connection's.
//!
//! Everything except sending a query is a pure function. [`types`], [`plan`] and [`describe`] depend on their
//! arguments alone; [`read`] and [`ddl`] separate queries from the reading of answers.
//!
//! Silent effects of PostgreSQL are refused: truncating a name, dropping a key or an index along with a
//! field, losing a collation with a type.

pub mod ddl;
pub mod defaults;
pub mod describe;
pub mod facts;
pub mod plan;
mod quote;
pub mod read;
pub mod types;
mod version;

use lakeport_sdk::dialect::{
    AccessPage, AccessRequest, Change, ChangePlan, Connection, DataType, DatabasePage, Dialect, DialectInfo,
    Error, Page, Problem, ServerInfo, Table, TableName, TablePage, TableStatistics,
};

/// The PostgreSQL dialect.
pub struct Postgres;

impl Dialect for Postgres {
    fn describe() -> DialectInfo {
        describe::describe()
    }

    fn parse_types(server: Option<ServerInfo>, texts: Vec<String>) -> Vec<Result<DataType, Problem>> {
        texts.iter().map(|text| types::parse_for(server.as_ref(), text)).collect()
    }

    fn plan(server: ServerInfo, change: Change) -> Result<ChangePlan, Vec<Problem>> {
        plan::plan(&server, &change)
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
        _dependents: bool,
    ) -> Result<Vec<Result<Table, Error>>, Error> {
        read::inspect(&connection, &server, &tables)
    }

    fn ddl(connection: Connection, server: ServerInfo, table: TableName) -> Result<String, Error> {
        ddl::ddl(&connection, &server, &table)
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
        connection: Connection,
        server: ServerInfo,
        request: AccessRequest,
    ) -> Result<AccessPage, Error> {
        read::access(&connection, &server, &request)
    }
}

lakeport_sdk::dialect!(Postgres);
