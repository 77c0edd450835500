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
use wasmtime::component::{ComponentNamedList, Lift, Lower};

use crate::call::{CallContext, CallError, CallFault};
use crate::family::{Family, PluginId};
use crate::lending::LentConnection;
use crate::prepared::Description;
use crate::registry::Registry;
use crate::state::CallState;

/// A dialect by name. The generation that is active at the time of a call answers it.
#[derive(Clone)]
pub struct Dialect {
    registry: Arc<Registry>,
    id: PluginId,
}

impl Registry {
    /// The dialect of this name, whether it is installed or not.
    pub fn dialect(self: &Arc<Self>, name: &str) -> Dialect {
        Dialect { registry: self.clone(), id: PluginId { family: Family::Dialect, name: name.to_owned() } }
    }
}

impl Dialect {
    /// The description of the active generation.
    pub fn info(&self) -> Result<Arc<DialectInfo>, CallError> {
        self.described().map(|(info, _)| info)
    }

    /// The description of the active generation, with its checked profile.
    pub fn described(&self) -> Result<(Arc<DialectInfo>, Arc<Profile>), CallError> {
        let view = self.registry.view(&self.id);
        let active = view.as_ref().and_then(|view| view.active.as_ref());
        match active.map(|active| (&active.description, &active.profile)) {
            Some((Description::Dialect(info), Some(profile))) => Ok((Arc::clone(info), Arc::clone(profile))),
            _ => Err(CallError::NotActive(format!("no generation of the plugin {} is active", self.id))),
        }
    }

    /// Counts an answer of the active generation that the host rejected, and logs the reason in the plugin's
    /// log.
    pub fn blame(&self, call: &str, reason: &str) {
        self.registry.blame(&self.id, call, reason);
    }

    /// `planner.parse-types`.
    pub async fn parse_types(
        &self,
        context: CallContext,
        server: Option<&ServerInfo>,
        texts: &[String],
    ) -> Result<Vec<Result<DataType, Problem>>, CallError> {
        self.call(context, "planner.parse-types", (server, texts)).await
    }

    /// `planner.plan`.
    pub async fn plan(
        &self,
        context: CallContext,
        server: &ServerInfo,
        change: &Change,
    ) -> Result<Result<ChangePlan, Vec<Problem>>, CallError> {
        self.call(context, "planner.plan", (server, change)).await
    }

    /// `reader.server`.
    pub async fn server(
        &self,
        context: CallContext,
        connection: Box<dyn LentConnection>,
        options: &str,
    ) -> Result<ServerInfo, CallError> {
        let context = context.lending(connection);
        answered(self.call(context, "reader.server", (CallState::connection_handle(), options)).await)
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
        answered(self.call(context, "reader.databases", params).await)
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
        answered(self.call(context, "reader.tables", params).await)
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
        let context = context.lending(connection);
        let params = (CallState::connection_handle(), server, tables, dependents);
        let answer = answered(self.call(context, "reader.inspect", params).await)?;
        self.as_many_as_asked("reader.inspect", tables.len(), answer)
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
        answered(self.call(context, "reader.ddl", (CallState::connection_handle(), server, table)).await)
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
        let context = context.lending(connection);
        let params = (CallState::connection_handle(), server, tables, fresh);
        let answer = answered(self.call(context, "reader.statistics", params).await)?;
        self.as_many_as_asked("reader.statistics", tables.len(), answer)
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
        answered(self.call(context, "reader.access", params).await)
    }

    async fn call<Params, Answer>(
        &self,
        context: CallContext,
        function: &'static str,
        params: Params,
    ) -> Result<Answer, CallError>
    where
        Params: ComponentNamedList + Lower,
        Answer: Lift + 'static,
    {
        self.registry.call(&self.id, function, context, params).await
    }

    fn as_many_as_asked<T>(
        &self,
        function: &'static str,
        asked: usize,
        answer: Vec<T>,
    ) -> Result<Vec<T>, CallError> {
        if answer.len() == asked {
            return Ok(answer);
        }
        Err(CallError::Failed {
            plugin: self.id.to_string(),
            function,
            fault: CallFault::Contract,
            message: format!("it was asked for {asked} tables and returned {}", answer.len()),
        })
    }
}

/// Turns the plugin's own error into an error of the call.
pub(crate) fn answered<T>(answer: Result<Result<T, Error>, CallError>) -> Result<T, CallError> {
    answer?.map_err(CallError::Answered)
}
