//! A data source opened for one call at a time: its location is checked again each time, the session is
//! read-only, and the dialect's active generation borrows it.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use lakeport_base::error::{Detail, Error};
use lakeport_bindings::dialect::about::DialectInfo;
use lakeport_bindings::dialect::planner::DataType;
use lakeport_bindings::dialect::reader::{
    AccessPage, AccessRequest, DatabasePage, TablePage, TableStatistics,
};
use lakeport_bindings::dialect::schema::{ServerInfo, Table, TableName};
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::{Error as PluginError, Page, Problem};
use lakeport_physical::{Database, Lent, Loan, PlanExecutor, Reading, SqliteDatabase, url};
use lakeport_plugins::dialect::Dialect;
use lakeport_plugins::{CallContext, CallError, Description, Family};
use lakeport_sql::{Profile, Transport};
use lakeport_store::Address;
use tokio::sync::{Mutex, OnceCell};

use super::definition::SQLITE_SCHEME;
use super::options::Kind;
use super::servers::{self, Account, Opening};
use super::store::Datasource;
use crate::config::Config;
use crate::core::Core;
use crate::datasources::Datasources;
use crate::plugins::{answered, failed};

/// Databases of one page.
const DATABASES_PAGE: u32 = 500;
/// The most databases of a data source.
pub const DATABASES_MAX: usize = 10_000;
/// Types that are parsed in one call, by the contract.
const TYPES_MAX: usize = 500;
/// The longest cursor, in bytes, by the contract.
pub const CURSOR_MAX_BYTES: usize = 2_048;

/// How long consecutive calls share a session.
const SESSION_KEPT: Duration = Duration::from_secs(10);
/// The longest name of a call, by the plugin host.
const CALL_MAX_BYTES: usize = 64;

/// Why a call failed.
#[derive(Debug)]
pub enum Unanswered {
    /// The database could not be opened.
    Database(PluginError),
    /// It was opened, but the dialect failed or answered with an error.
    Plugin(CallError),
}

impl From<Unanswered> for Error {
    fn from(error: Unanswered) -> Error {
        match error {
            Unanswered::Database(error) => answered(&error),
            Unanswered::Plugin(error) => failed(error),
        }
    }
}

impl From<CallError> for Unanswered {
    fn from(error: CallError) -> Unanswered {
        Unanswered::Plugin(error)
    }
}

/// Active dialects whose databases can be opened here.
pub fn kinds(state: &Datasources) -> Vec<Kind> {
    let dialects = state.plugins.registry().list().into_iter().filter(|(id, _)| id.family == Family::Dialect);
    let kind = |(id, view): (lakeport_plugins::PluginId, Arc<lakeport_plugins::PluginView>)| {
        let active = view.active.as_ref()?;
        let Description::Dialect(info) = &active.description else { return None };
        let transport = match info.transport.as_str() {
            "sqlite" => Transport::Sqlite,
            "postgres" => Transport::Postgres,
            "mysql" => Transport::MySql,
            _ => return None,
        };
        Some(Kind::new(id.name, transport, info.options_schema.clone()))
    };
    dialects.filter_map(kind).collect()
}

/// 400 if the address of a SQLite file is outside of the permitted folders, or if this server may not connect
/// to the address. The database need not exist yet.
pub async fn check_place(state: &Datasources, address: &str) -> Result<(), Error> {
    if !address.starts_with(SQLITE_SCHEME) {
        return servers::check_address(&state.egress, address).map_err(|refused| {
            Error::invalid(vec![Detail::new("url", format!("names {}", refused.message()))])
        });
    }
    let config = &state.config;
    let checked = url::check(address, &config.sqlite_roots, &forbidden(config)).await;
    checked.map_err(|error| {
        let why = if error.code == "forbidden" { outside(config) } else { error.message };
        Error::invalid(vec![Detail::new("url", why)])
    })
}

/// The server's own files, which no data source may use.
fn forbidden(config: &Config) -> Vec<PathBuf> {
    let mut places = vec![config.data_dir.clone(), config.plugins_cache_dir()];
    if let Address::Sqlite(store) = &config.database.address {
        places.push(store.clone());
    }
    places
}

fn outside(config: &Config) -> String {
    let roots: Vec<String> = config.sqlite_roots.iter().map(|root| root.display().to_string()).collect();
    format!(
        "must be a file below the folders of the setting sqlite_roots (LAKEPORT_SQLITE_ROOTS), now {}, and not in \
         the server's own data folder",
        if roots.is_empty() { "none".to_owned() } else { roots.join(", ") }
    )
}

/// A data source with its dialect, ready for the calls of one task: one generation of the dialect answers all
/// of them.
pub struct DatasourceClient<'a> {
    state: &'a Datasources,
    dialect: Dialect,
    source: Datasource,
    /// The account for reading.
    account: Account,
    described: OnceLock<Described>,
    server: OnceCell<ServerInfo>,
    session: Mutex<Option<(Reading, Instant)>>,
    /// Identifies its calls in logs.
    call: Arc<str>,
}

/// The description and profile of its dialect.
struct Described {
    info: Arc<DialectInfo>,
    profile: Arc<Profile>,
}

impl<'a> DatasourceClient<'a> {
    /// Opens nothing yet. `call` identifies the calls in logs; it is printable ASCII.
    pub fn of(state: &'a Datasources, source: &Datasource, call: &str) -> DatasourceClient<'a> {
        DatasourceClient::with(state, source, Account::Reading, call)
    }

    /// For a change: reads with the main account, because another account may not see everything.
    pub fn of_main(state: &'a Datasources, source: &Datasource, call: &str) -> DatasourceClient<'a> {
        DatasourceClient::with(state, source, Account::Main, call)
    }

    fn with(
        state: &'a Datasources,
        source: &Datasource,
        account: Account,
        call: &str,
    ) -> DatasourceClient<'a> {
        DatasourceClient {
            state,
            // A canary takes its share of data sources.
            dialect: state.plugins.registry().dialect(&source.kind, &format!("datasource/{}", source.id)),
            source: source.clone(),
            account,
            described: OnceLock::new(),
            server: OnceCell::new(),
            session: Mutex::new(None),
            call: call.get(..CALL_MAX_BYTES).unwrap_or(call).into(),
        }
    }

    /// The database itself, for a task of the scheduler or a change. Opens nothing yet.
    pub async fn database(&self) -> Result<Database, PluginError> {
        self.locate(Account::Main).await
    }

    /// The database with the reading account. Opens nothing yet.
    pub async fn reading(&self) -> Result<Database, PluginError> {
        self.locate(Account::Reading).await
    }

    /// The server's own store, for a session over views of it. Opens nothing yet.
    pub async fn own_store(&self) -> Result<Database, PluginError> {
        match &self.state.config.database.address {
            Address::Sqlite(path) => {
                let path = tokio::fs::canonicalize(path).await;
                let path = path.map_err(|_| error("unreachable", "the server's own store is not there"))?;
                Ok(Database::Sqlite(SqliteDatabase::at(path, self.state.processes.clone())))
            }
            Address::Postgres(url) => {
                self.state.servers.own(&self.source, url, &self.opening()?).map(Database::Server)
            }
        }
    }

    /// Identifies the server. The dialect is asked once, here or by what [`DatasourceClient::executor`] changes.
    pub async fn server(&self) -> Result<ServerInfo, Unanswered> {
        let ask = async || {
            let lent = self.lend(Vec::new()).await?;
            Ok::<_, Unanswered>(self.dialect.server(self.context(), lent, &self.source.options).await?)
        };
        self.server.get_or_try_init(ask).await.cloned()
    }

    /// All databases: name and comment.
    pub async fn databases(&self, server: &ServerInfo) -> Result<Vec<(String, String)>, Unanswered> {
        let hidden = self.info()?.hidden_databases.clone();
        let mut databases = Vec::new();
        let mut cursor = None;
        loop {
            let page = Page { cursor: cursor.clone(), limit: DATABASES_PAGE };
            let lent = self.lend(Vec::new()).await?;
            let DatabasePage { databases: some, next } =
                self.dialect.databases(self.context(), lent, server, &page).await?;
            if databases.len() + some.len() > DATABASES_MAX {
                return Err(limit(format!("there are more than {DATABASES_MAX} databases")));
            }
            let shown = some.into_iter().filter(|database| !hidden.contains(&database.name));
            databases.extend(shown.map(|database| (database.name, database.comment)));
            match self.checked_cursor("reader.databases", cursor.as_deref(), next)? {
                None => return Ok(databases),
                next => cursor = next,
            }
        }
    }

    /// Some of the tables of one database, views among them.
    pub async fn tables(
        &self,
        server: &ServerInfo,
        database: &str,
        page: &Page,
    ) -> Result<TablePage, Unanswered> {
        const FUNCTION: &str = "reader.tables";
        let lent = self.lend(Vec::new()).await?;
        let answer = self.dialect.tables(self.context(), lent, server, database, page).await?;
        if answer.tables.len() > page.limit as usize {
            let message =
                format!("it was asked for {} tables and returned {}", page.limit, answer.tables.len());
            return Err(self.broke(FUNCTION, message));
        }
        let next = self.checked_cursor(FUNCTION, page.cursor.as_deref(), answer.next)?;
        Ok(TablePage { next, ..answer })
    }

    /// Inspects tables, in the requested order, without their dependents.
    pub async fn inspect(
        &self,
        server: &ServerInfo,
        tables: &[TableName],
    ) -> Result<Vec<Result<Table, PluginError>>, Unanswered> {
        const FUNCTION: &str = "reader.inspect";
        let lent = self.lend(tables.to_vec()).await?;
        let answer = self.dialect.inspect(self.context(), lent, server, tables, false).await?;
        let is_other = |(asked, found): (&TableName, &Result<Table, PluginError>)| {
            found.as_ref().is_ok_and(|table| table.name != *asked)
        };
        if tables.iter().zip(&answer).any(is_other) {
            return Err(self.broke(FUNCTION, "it returned another table than requested".to_owned()));
        }
        Ok(answer)
    }

    /// The description of its dialect.
    pub fn info(&self) -> Result<Arc<DialectInfo>, Unanswered> {
        Ok(Arc::clone(&self.described()?.info))
    }

    /// The checked profile of its dialect.
    pub fn profile(&self) -> Result<Arc<Profile>, Unanswered> {
        Ok(Arc::clone(&self.described()?.profile))
    }

    /// Looked up once: all calls use the same.
    fn described(&self) -> Result<&Described, Unanswered> {
        if let Some(described) = self.described.get() {
            return Ok(described);
        }
        let (info, profile) = self.dialect.described()?;
        Ok(self.described.get_or_init(|| Described { info, profile }))
    }

    /// Parses users' types, one result each. Opens nothing.
    pub async fn parse_types(&self, texts: &[String]) -> Result<Vec<Result<DataType, Problem>>, Unanswered> {
        let mut types = Vec::with_capacity(texts.len());
        for some in texts.chunks(TYPES_MAX) {
            types.extend(self.dialect.parse_types(self.context(), None, some).await?);
        }
        Ok(types)
    }

    /// The statement that creates a table.
    pub async fn ddl(&self, server: &ServerInfo, table: &TableName) -> Result<String, Unanswered> {
        let lent = self.lend(vec![table.clone()]).await?;
        Ok(self.dialect.ddl(self.context(), lent, server, table).await?)
    }

    /// The size of a table; counts its rows if necessary.
    pub async fn statistics(
        &self,
        server: &ServerInfo,
        table: &TableName,
    ) -> Result<TableStatistics, Unanswered> {
        let lent = self.lend(vec![table.clone()]).await?;
        let tables = std::slice::from_ref(table);
        let mut answer = self.dialect.statistics(self.context(), lent, server, tables, true).await?;
        let one = answer.pop().expect("as many as were asked for");
        Ok(one.map_err(CallError::Answered)?)
    }

    /// A page of the accesses to tables that the database records.
    pub async fn accesses(
        &self,
        server: &ServerInfo,
        request: &AccessRequest,
    ) -> Result<AccessPage, Unanswered> {
        let lent = self.lend(request.tables.clone()).await?;
        let answer = self.dialect.access(self.context(), lent, server, request).await?;
        let next = self.checked_cursor("reader.access", request.page.cursor.as_deref(), answer.next)?;
        Ok(AccessPage { next, ..answer })
    }

    /// The plan executor for its tables. Set `cancelled` when the caller no longer waits.
    pub fn executor<'r>(&'r self, database: &'r Database, cancelled: Arc<AtomicBool>) -> PlanExecutor<'r> {
        PlanExecutor {
            database,
            dialect: &self.dialect,
            options: &self.source.options,
            id: Arc::clone(&self.call),
            server: &self.server,
            cancelled,
        }
    }

    async fn lend(&self, about: Vec<TableName>) -> Result<Box<Lent>, Unanswered> {
        let loan = Loan { profile: self.profile()?, about };
        let reading = self.session().await.map_err(Unanswered::Database)?;
        Lent::on(&reading, loan).map(Box::new).map_err(Unanswered::Database)
    }

    /// The session of earlier calls, for a while; then its location is checked again. A server's session is
    /// returned to the pool each time, because others may wait for one.
    async fn session(&self) -> Result<Reading, PluginError> {
        if !self.source.is_file() {
            return Reading::open(&self.locate(self.account).await?).await;
        }
        let mut kept = self.session.lock().await;
        if let Some((reading, opened)) = kept.as_ref().filter(|(reading, _)| !reading.is_broken())
            && opened.elapsed() < SESSION_KEPT
        {
            return Ok(reading.clone());
        }
        // One at a time: returns the previous one first.
        *kept = None;
        let reading = Reading::open(&self.reading().await?).await?;
        *kept = Some((reading.clone(), Instant::now()));
        Ok(reading)
    }

    /// The file, if its location is permitted, or the server.
    async fn locate(&self, account: Account) -> Result<Database, PluginError> {
        let (state, source) = (self.state, &self.source);
        if !source.is_file() {
            return state.servers.database(source, account, &self.opening()?).map(Database::Server);
        }
        let config = &state.config;
        let (roots, forbidden) = (&config.sqlite_roots, forbidden(config));
        let located = url::locate(&source.url, roots, &forbidden, &state.processes).await;
        located.map_err(|error| match error.code.as_str() {
            "forbidden" => PluginError { message: format!("the file {}", outside(config)), ..error },
            _ => error,
        })
    }

    /// The parameters of its sessions.
    fn opening(&self) -> Result<Opening<'_>, PluginError> {
        let Described { info, profile } = self.described().map_err(|unanswered| match unanswered {
            Unanswered::Database(cause) | Unanswered::Plugin(CallError::Answered(cause)) => cause,
            Unanswered::Plugin(cause) => error("unavailable", cause.to_string()),
        })?;
        let Core { config, keys, egress, .. } = &**self.state;
        let processes = &self.state.processes;
        Ok(Opening { config, keys, egress, processes, info, profile })
    }

    fn context(&self) -> CallContext {
        CallContext::new(Arc::clone(&self.call))
    }

    /// The next page's cursor, which must differ from this one's.
    fn checked_cursor(
        &self,
        function: &'static str,
        before: Option<&str>,
        next: Option<String>,
    ) -> Result<Option<String>, Unanswered> {
        match &next {
            Some(next) if next.len() > CURSOR_MAX_BYTES => {
                Err(self.broke(function, format!("its `next` has more than {CURSOR_MAX_BYTES} bytes")))
            }
            Some(next) if before == Some(next.as_str()) => {
                Err(self.broke(function, "its `next` leads to the same page again".to_owned()))
            }
            _ => Ok(next),
        }
    }

    /// An answer that breaks the contract: it counts against the dialect.
    fn broke(&self, function: &'static str, message: String) -> Unanswered {
        self.dialect.broke(function, &self.call, message).into()
    }
}

/// More than the host's own limits permit.
pub fn limit(message: String) -> Unanswered {
    Unanswered::Plugin(CallError::Answered(error("limit_exceeded", message)))
}
