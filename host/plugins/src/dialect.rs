//! Typed calls of a dialect. Each call runs in a fresh instance under the plugin's limits.

use std::sync::Arc;

use lakeport_bindings::dialect::about::DialectInfo;
use lakeport_bindings::dialect::planner::{Change, ChangePlan, DataType};
use lakeport_bindings::dialect::reader::{
    AccessPage, AccessRequest, DatabasePage, TablePage, TableStatistics,
};
use lakeport_bindings::dialect::schema::{ServerInfo, Table, TableName};
use lakeport_bindings::host::types::{Error, Page, Problem};
use lakeport_sql::Profile;

use crate::call::{CallContext, CallError, CallFault};
use crate::family::{Family, PluginId};
use crate::lending::LentConnection;
use crate::prepared::Description;
use crate::registry::{Pinned, Registry};
use crate::state::CallState;

/// A dialect by name, for one task: the same generation describes itself and answers all calls.
#[derive(Clone)]
pub struct Dialect(Pinned);

impl Registry {
    /// The dialect of this name, whether it is installed or not. During a canary, tasks with equal keys get
    /// the same generation.
    pub fn dialect(self: &Arc<Self>, name: &str, key: &str) -> Dialect {
        let id = PluginId { family: Family::Dialect, name: name.to_owned() };
        Dialect(Pinned::new(self, id, key))
    }
}

impl Dialect {
    /// Its description.
    pub fn info(&self) -> Result<Arc<DialectInfo>, CallError> {
        self.described().map(|(info, _)| info)
    }

    /// Its description, with its checked profile.
    pub fn described(&self) -> Result<(Arc<DialectInfo>, Arc<Profile>), CallError> {
        let generation = self.0.generation()?;
        match (&generation.description, &generation.profile) {
            (Description::Dialect(info), Some(profile)) => Ok((Arc::clone(info), Arc::clone(profile))),
            _ => Err(CallError::NotActive(format!("the plugin {} is not a dialect", self.0.id()))),
        }
    }

    /// Counts an answer that the host rejected, and logs the reason in the plugin's log.
    pub fn blame(&self, function: &'static str, call: &str, reason: &str) {
        self.0.blame(function, call, reason);
    }

    /// The same; returns the error of the call.
    pub fn broke(&self, function: &'static str, call: &str, message: String) -> CallError {
        self.0.broke(function, call, CallFault::Contract, message)
    }

    /// `planner.parse-types`: one answer per text, in the same order.
    pub async fn parse_types(
        &self,
        context: CallContext,
        server: Option<&ServerInfo>,
        texts: &[String],
    ) -> Result<Vec<Result<DataType, Problem>>, CallError> {
        let call = context.id.clone();
        let answer = self.0.call(context, "planner.parse-types", (server, texts)).await?;
        self.0.as_many_as_asked("planner.parse-types", &call, texts.len(), answer)
    }

    /// `planner.plan`.
    pub async fn plan(
        &self,
        context: CallContext,
        server: &ServerInfo,
        change: &Change,
    ) -> Result<Result<ChangePlan, Vec<Problem>>, CallError> {
        self.0.call(context, "planner.plan", (server, change)).await
    }

    /// `reader.server`.
    pub async fn server(
        &self,
        context: CallContext,
        connection: Box<dyn LentConnection>,
        options: &str,
    ) -> Result<ServerInfo, CallError> {
        let context = context.lending(connection);
        answered(self.0.call(context, "reader.server", (CallState::connection_handle(), options)).await)
    }

    /// `reader.databases`.
    pub async fn databases(
        &self,
        context: CallContext,
        connection: Box<dyn LentConnection>,
        server: &ServerInfo,
        page: &Page,
    ) -> Result<DatabasePage, CallError> {
        let context = context.lending(connection);
        let params = (CallState::connection_handle(), server, page);
        answered(self.0.call(context, "reader.databases", params).await)
    }

    /// `reader.tables`.
    pub async fn tables(
        &self,
        context: CallContext,
        connection: Box<dyn LentConnection>,
        server: &ServerInfo,
        database: &str,
        page: &Page,
    ) -> Result<TablePage, CallError> {
        let context = context.lending(connection);
        let params = (CallState::connection_handle(), server, database, page);
        answered(self.0.call(context, "reader.tables", params).await)
    }

    /// `reader.inspect`: one answer per table, in the same order.
    pub async fn inspect(
        &self,
        context: CallContext,
        connection: Box<dyn LentConnection>,
        server: &ServerInfo,
        tables: &[TableName],
        dependents: bool,
    ) -> Result<Vec<Result<Table, Error>>, CallError> {
        let call = context.id.clone();
        let context = context.lending(connection);
        let params = (CallState::connection_handle(), server, tables, dependents);
        let answer = answered(self.0.call(context, "reader.inspect", params).await)?;
        self.0.as_many_as_asked("reader.inspect", &call, tables.len(), answer)
    }

    /// `reader.ddl`.
    pub async fn ddl(
        &self,
        context: CallContext,
        connection: Box<dyn LentConnection>,
        server: &ServerInfo,
        table: &TableName,
    ) -> Result<String, CallError> {
        let context = context.lending(connection);
        answered(self.0.call(context, "reader.ddl", (CallState::connection_handle(), server, table)).await)
    }

    /// `reader.statistics`: one answer per table, in the same order.
    pub async fn statistics(
        &self,
        context: CallContext,
        connection: Box<dyn LentConnection>,
        server: &ServerInfo,
        tables: &[TableName],
        fresh: bool,
    ) -> Result<Vec<Result<TableStatistics, Error>>, CallError> {
        let call = context.id.clone();
        let context = context.lending(connection);
        let params = (CallState::connection_handle(), server, tables, fresh);
        let answer = answered(self.0.call(context, "reader.statistics", params).await)?;
        self.0.as_many_as_asked("reader.statistics", &call, tables.len(), answer)
    }

    /// `reader.access`.
    pub async fn access(
        &self,
        context: CallContext,
        connection: Box<dyn LentConnection>,
        server: &ServerInfo,
        request: &AccessRequest,
    ) -> Result<AccessPage, CallError> {
        let context = context.lending(connection);
        let params = (CallState::connection_handle(), server, request);
        answered(self.0.call(context, "reader.access", params).await)
    }
}

/// Turns the plugin's own error into an error of the call.
pub(crate) fn answered<T>(answer: Result<Result<T, Error>, CallError>) -> Result<T, CallError> {
    answer?.map_err(CallError::Answered)
}
