//! Dialects: one kind of database, its plans and its reads.
//!
//! ```text
//! use lakeport_sdk::dialect::{self, Dialect};
//!
//! struct MyBase;
//! impl Dialect for MyBase { … }
//! lakeport_sdk::dialect!(MyBase);
//! ```
//!
//! A dialect over HTTP also implements [`Wire`] and adds `lakeport_sdk::dialect_wire!(MyBase);`.

pub use crate::bindings::dialect::about::{
    Cancel, DialectInfo, NameRule, Quoting, Session, SqlHelp, TextRule, TypeInfo, Vocabulary,
};
#[cfg(target_arch = "wasm32")]
pub use crate::bindings::dialect::connection::Connection;
pub use crate::bindings::dialect::connection::Limits;
pub use crate::bindings::dialect::planner::{
    AddField, AlterField, Change, ChangePlan, CommentTable, DataType, DropField, DropTable, OtherChange,
    RenameTable, SetCount,
};
pub use crate::bindings::dialect::reader::{
    AccessCounter, AccessPage, AccessRequest, AccessRow, AccessSubject, Database, DatabasePage,
    StatementText, TableHead, TablePage, TableStatistics,
};
pub use crate::bindings::dialect::schema::{DefaultValue, Field, ServerInfo, Table, TableName};
pub use crate::bindings::dialect::statements::{
    Action, Fragment, OtherToken, Probe, ProbeRule, Step, TextToken, Token, TypeToken,
};
pub use crate::bindings::dialect_wire::wire::{Guest as Wire, HttpTransport, Part};
#[cfg(not(target_arch = "wasm32"))]
pub use crate::testing::Connection;
pub use crate::{Cell, Column, Error, Page, Problem, RowSet, Timestamp, Upstream};
pub use problems::Problems;
pub use query::Query;
pub use references::Reference;
pub use statement::Statement;

mod problems;
mod query;
mod references;
mod statement;

#[cfg(target_arch = "wasm32")]
use crate::bindings::dialect::reader;
use crate::bindings::dialect::{about, planner};

/// A dialect. `lakeport_sdk::dialect!` exports it.
///
/// The functions are those of the contract's interfaces `about`, `planner` and `reader`, which describe them.
/// Functions with a body have the default answer that the contract permits.
pub trait Dialect {
    /// Describes the dialect. Always the same answer.
    fn describe() -> DialectInfo;

    /// Parses type texts, in order. A pure function.
    fn parse_types(server: Option<ServerInfo>, texts: Vec<String>) -> Vec<Result<DataType, Problem>>;

    /// Plans one change, or returns all problems of it. A pure function.
    fn plan(server: ServerInfo, change: Change) -> Result<ChangePlan, Vec<Problem>>;

    /// Identifies the server.
    fn server(connection: Connection, options: String) -> Result<ServerInfo, Error>;

    /// Databases, ordered by name.
    fn databases(connection: Connection, server: ServerInfo, page: Page) -> Result<DatabasePage, Error>;

    /// Tables and views of one database, ordered by name.
    fn tables(
        connection: Connection,
        server: ServerInfo,
        database: String,
        page: Page,
    ) -> Result<TablePage, Error>;

    /// Inspects tables, in the requested order. `dependents`: includes other objects of the server that use
    /// them and would fail with them, such as views.
    fn inspect(
        connection: Connection,
        server: ServerInfo,
        tables: Vec<TableName>,
        dependents: bool,
    ) -> Result<Vec<Result<Table, Error>>, Error>;

    /// The statement that creates the table, for people.
    fn ddl(_connection: Connection, _server: ServerInfo, table: TableName) -> Result<String, Error> {
        Err(Error::unsupported(format!("this dialect cannot say the statement that makes {:?}", table.name)))
    }

    /// Sizes, in the requested order. Unknown unless overridden.
    fn statistics(
        _connection: Connection,
        _server: ServerInfo,
        tables: Vec<TableName>,
        _fresh: bool,
    ) -> Result<Vec<Result<TableStatistics, Error>>, Error> {
        Ok(tables.iter().map(|_| Ok(TableStatistics::unknown())).collect())
    }

    /// Accesses. Reports that the database records none unless overridden.
    fn access(
        _connection: Connection,
        _server: ServerInfo,
        _request: AccessRequest,
    ) -> Result<AccessPage, Error> {
        Ok(AccessPage::none("this dialect reads no record of accesses"))
    }
}

impl DialectInfo {
    /// A dialect of one product, without options, models or capabilities, with standard quoting: names in
    /// `"`, literals in `'`, inner quotes doubled. Set other members by struct update.
    pub fn new(name: &str, product: &str, version: &str, transport: &str) -> DialectInfo {
        DialectInfo {
            name: name.to_owned(),
            title: product.to_owned(),
            version: version.to_owned(),
            products: vec![product.to_owned()],
            transport: transport.to_owned(),
            default_port: None,
            options_schema: "{}".to_owned(),
            database_term: "database".to_owned(),
            hidden_databases: Vec::new(),
            reads_from: Vec::new(),
            name_rules: Vec::new(),
            types: Vec::new(),
            type_words: Vec::new(),
            models: Vec::new(),
            quoting: Quoting { name_quote: "\"".to_owned(), texts: vec![TextRule::standard()] },
            vocabularies: Vec::new(),
            capabilities: Vec::new(),
            session: Session {
                driver_settings: "{}".to_owned(),
                setup: Vec::new(),
                read_only: Vec::new(),
                read_only_strength: "none".to_owned(),
            },
            cancel: Cancel { how: "driver".to_owned(), session_id: Vec::new(), statement: Vec::new() },
            sql: SqlHelp {
                parsers: vec!["ansi".to_owned()],
                placeholders: "none".to_owned(),
                row_limit: "limit_offset".to_owned(),
                explain: None,
                denied_functions: Vec::new(),
                hints: Vec::new(),
            },
            extra: None,
        }
    }
}

impl TextRule {
    /// The rule `literal` of standard SQL: `'`, doubled inside.
    pub fn standard() -> TextRule {
        TextRule {
            name: "literal".to_owned(),
            prefix: String::new(),
            quotes: vec!["'".to_owned()],
            escape: "double".to_owned(),
        }
    }
}

impl Vocabulary {
    /// The heads and words of one operation.
    pub fn new(operation: &str, heads: &[&str], words: &[&str]) -> Vocabulary {
        let owned = |list: &[&str]| list.iter().map(|&word| word.to_owned()).collect();
        Vocabulary { operation: operation.to_owned(), heads: owned(heads), words: owned(words) }
    }
}

impl TableName {
    /// A table's name.
    pub fn new(database: impl Into<String>, name: impl Into<String>) -> TableName {
        TableName { database: database.into(), name: name.into() }
    }
}

impl Field {
    /// A field that may be NULL and has no default, no comment and no part in a key. Set other members by
    /// struct update.
    pub fn new(name: impl Into<String>, type_text: impl Into<String>) -> Field {
        Field {
            name: name.into(),
            type_text: type_text.into(),
            nullable: true,
            key: false,
            comment: String::new(),
            defaults_to: DefaultValue::Absent,
            generated: None,
            extra: None,
        }
    }
}

impl Table {
    /// A table with its fields only; its key consists of the fields that declare it. Set other members by
    /// struct update.
    pub fn new(name: TableName, fields: Vec<Field>) -> Table {
        Table {
            name,
            kind: "table".to_owned(),
            comment: String::new(),
            keys: fields.iter().filter(|field| field.key).map(|field| field.name.clone()).collect(),
            fields,
            model: None,
            distribution: Vec::new(),
            buckets: None,
            replicas: None,
            partition: Vec::new(),
            companions: Vec::new(),
            extra: None,
        }
    }
}

impl ChangePlan {
    /// An empty plan, with notes for the user.
    pub fn nothing(notes: Vec<Problem>) -> ChangePlan {
        ChangePlan { steps: Vec::new(), transactional: false, new_names: Vec::new(), notes }
    }
}

impl Action {
    /// A statement that has finished when the database accepts it.
    pub fn new(statement: Statement) -> Action {
        Action { statement: statement.tokens(), probe: None }
    }
}

impl Step {
    /// A quick step that hardly affects others, without an undo. Set other members by struct update.
    pub fn new(purpose: impl Into<String>, statement: Statement) -> Step {
        Step {
            purpose: purpose.into(),
            action: Action::new(statement),
            undo: Vec::new(),
            undo_complete: false,
            destroys: false,
            cost: "metadata".to_owned(),
            locks: "brief".to_owned(),
        }
    }
}

impl TableStatistics {
    /// All unknown.
    pub fn unknown() -> TableStatistics {
        TableStatistics {
            row_count: None,
            row_accuracy: "unknown".to_owned(),
            data_bytes: None,
            index_bytes: None,
            partition_count: None,
            as_of: None,
            note: String::new(),
        }
    }
}

impl AccessPage {
    /// No source of accesses, for this reason.
    pub fn none(note: impl Into<String>) -> AccessPage {
        AccessPage {
            rows: Vec::new(),
            counters: Vec::new(),
            next: None,
            source: String::new(),
            complete: false,
            covers_from: None,
            note: note.into(),
        }
    }
}

impl<T: Dialect> about::Guest for T {
    fn describe() -> DialectInfo {
        <T as Dialect>::describe()
    }
}

impl<T: Dialect> planner::Guest for T {
    fn parse_types(server: Option<ServerInfo>, texts: Vec<String>) -> Vec<Result<DataType, Problem>> {
        <T as Dialect>::parse_types(server, texts)
    }

    fn plan(server: ServerInfo, change: Change) -> Result<ChangePlan, Vec<Problem>> {
        <T as Dialect>::plan(server, change)
    }
}

// A native build has a connection of its own, for tests.
#[cfg(target_arch = "wasm32")]
impl<T: Dialect> reader::Guest for T {
    fn server(connection: Connection, options: String) -> Result<ServerInfo, Error> {
        <T as Dialect>::server(connection, options)
    }

    fn databases(connection: Connection, server: ServerInfo, page: Page) -> Result<DatabasePage, Error> {
        <T as Dialect>::databases(connection, server, page)
    }

    fn tables(
        connection: Connection,
        server: ServerInfo,
        database: String,
        page: Page,
    ) -> Result<TablePage, Error> {
        <T as Dialect>::tables(connection, server, database, page)
    }

    fn inspect(
        connection: Connection,
        server: ServerInfo,
        tables: Vec<TableName>,
        dependents: bool,
    ) -> Result<Vec<Result<Table, Error>>, Error> {
        <T as Dialect>::inspect(connection, server, tables, dependents)
    }

    fn ddl(connection: Connection, server: ServerInfo, table: TableName) -> Result<String, Error> {
        <T as Dialect>::ddl(connection, server, table)
    }

    fn statistics(
        connection: Connection,
        server: ServerInfo,
        tables: Vec<TableName>,
        fresh: bool,
    ) -> Result<Vec<Result<TableStatistics, Error>>, Error> {
        <T as Dialect>::statistics(connection, server, tables, fresh)
    }

    fn access(
        connection: Connection,
        server: ServerInfo,
        request: AccessRequest,
    ) -> Result<AccessPage, Error> {
        <T as Dialect>::access(connection, server, request)
    }
}

/// Makes the crate a dialect: exports a type that implements [`dialect::Dialect`](Dialect). Once per plugin.
#[macro_export]
macro_rules! dialect {
    ($plugin:ident) => {
        $crate::export_plugin!($plugin, $crate::dialect::Dialect, dialect);
    };
}

/// Also exports `wire`, for a dialect over HTTP, from a type that implements [`dialect::Wire`](Wire).
#[macro_export]
macro_rules! dialect_wire {
    ($plugin:ident) => {
        $crate::export_plugin!($plugin, $crate::dialect::Wire, dialect_wire);
    };
}
