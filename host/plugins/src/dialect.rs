//! Calls of a dialect, typed. Each is one call of its own: a fresh instance, the plugin's limits.

use std::sync::Arc;

use lakeport_bindings::dialect::about::DialectInfo;
use lakeport_bindings::dialect::planner::{Change, ChangePlan, DataType};
use lakeport_bindings::dialect::reader::{
    AccessPage, AccessRequest, DatabasePage, TablePage, TableStatistics,
};
use lakeport_bindings::dialect::schema::{ServerInfo, Table, TableName};
use lakeport_bindings::host::types::{Error, Page, Problem};
use lakeport_sql::Profile;
use wasmtime::Store;

use crate::call::{CallContext, CallError};
use crate::family::{Family, PluginId};
use crate::generation::Generation;
use crate::lending::LentConnection;
use crate::prepared::{Description, Prepared};
use crate::registry::Registry;
use crate::state::CallState;

/// A dialect by name: whichever of its generations is active answers.
#[derive(Clone)]
pub struct Dialect {
    registry: Arc<Registry>,
    id: PluginId,
}

/// Makes a call on a fresh instance: `call!(self, context, "planner.plan", |plugin, store| …)`, with
/// what stands before the bar moved into it.
macro_rules! call {
    ($self:ident, $context:expr, $function:literal, ($($moved:ident),*), |$plugin:ident, $store:ident| $body:expr) => {{
        $(let $moved = $moved.to_owned();)*
        $self
            .registry
            .call(&$self.id, $function, $context, move |generation: Arc<Generation>| {
                move |$store: &mut Store<CallState>| -> futures_util::future::BoxFuture<'_, wasmtime::Result<_>> {
                    Box::pin(async move {
                        let Prepared::Dialect(pre) = &generation.prepared else {
                            wasmtime::bail!("{} is no dialect", generation.id);
                        };
                        let $plugin = pre.instantiate_async(&mut *$store).await?;
                        $body.await
                    })
                }
            })
            .await
    }};
}

impl Registry {
    /// The dialect of this name, whether or not it is there now.
    pub fn dialect(self: &Arc<Self>, name: &str) -> Dialect {
        Dialect { registry: self.clone(), id: PluginId { family: Family::Dialect, name: name.to_owned() } }
    }
}

impl Dialect {
    /// What the active generation says of itself.
    pub fn info(&self) -> Result<Arc<DialectInfo>, CallError> {
        self.described().map(|(info, _)| info)
    }

    /// What the active generation says of itself, and what of that it declares about writing and reading.
    pub fn described(&self) -> Result<(Arc<DialectInfo>, Arc<Profile>), CallError> {
        let view = self.registry.view(&self.id);
        let active = view.as_ref().and_then(|view| view.active.as_ref());
        match active.map(|active| (&active.description, &active.profile)) {
            Some((Description::Dialect(info), Some(profile))) => Ok((Arc::clone(info), Arc::clone(profile))),
            _ => Err(CallError::NotActive(format!("no generation of the plugin {} is active", self.id))),
        }
    }

    /// Counts an answer of the active generation that the host refused, and keeps the reason in its log.
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
        let server = server.cloned();
        call!(self, context, "planner.parse-types", (texts), |plugin, store| {
            plugin.lakeport_dialect_planner().call_parse_types(store, server.as_ref(), &texts)
        })
    }

    /// `planner.plan`.
    pub async fn plan(
        &self,
        context: CallContext,
        server: &ServerInfo,
        change: &Change,
    ) -> Result<Result<ChangePlan, Vec<Problem>>, CallError> {
        call!(self, context, "planner.plan", (server, change), |plugin, store| {
            plugin.lakeport_dialect_planner().call_plan(store, &server, &change)
        })
    }

    /// `reader.server`.
    pub async fn server(
        &self,
        context: CallContext,
        connection: Box<dyn LentConnection>,
        options: &str,
    ) -> Result<ServerInfo, CallError> {
        let context = context.lending(connection);
        answered(call!(self, context, "reader.server", (options), |plugin, store| {
            let connection = store.data().connection_handle();
            plugin.lakeport_dialect_reader().call_server(store, connection, &options)
        }))
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
        answered(call!(self, context, "reader.databases", (server, page), |plugin, store| {
            let connection = store.data().connection_handle();
            plugin.lakeport_dialect_reader().call_databases(store, connection, &server, &page)
        }))
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
        answered(call!(self, context, "reader.tables", (server, database, page), |plugin, store| {
            let connection = store.data().connection_handle();
            plugin.lakeport_dialect_reader().call_tables(store, connection, &server, &database, &page)
        }))
    }

    /// `reader.inspect`: as many answers as tables were asked for, in their order.
    pub async fn inspect(
        &self,
        context: CallContext,
        connection: Box<dyn LentConnection>,
        server: &ServerInfo,
        tables: &[TableName],
        dependents: bool,
    ) -> Result<Vec<Result<Table, Error>>, CallError> {
        let context = context.lending(connection);
        let asked = tables.len();
        let answer = answered(call!(
            self,
            context,
            "reader.inspect",
            (server, tables, dependents),
            |plugin, store| {
                let connection = store.data().connection_handle();
                plugin.lakeport_dialect_reader().call_inspect(store, connection, &server, &tables, dependents)
            }
        ))?;
        self.as_many_as_asked("reader.inspect", asked, answer)
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
        answered(call!(self, context, "reader.ddl", (server, table), |plugin, store| {
            let connection = store.data().connection_handle();
            plugin.lakeport_dialect_reader().call_ddl(store, connection, &server, &table)
        }))
    }

    /// `reader.statistics`: as many answers as tables were asked for, in their order.
    pub async fn statistics(
        &self,
        context: CallContext,
        connection: Box<dyn LentConnection>,
        server: &ServerInfo,
        tables: &[TableName],
        fresh: bool,
    ) -> Result<Vec<Result<TableStatistics, Error>>, CallError> {
        let context = context.lending(connection);
        let asked = tables.len();
        let answer =
            answered(call!(self, context, "reader.statistics", (server, tables), |plugin, store| {
                let connection = store.data().connection_handle();
                plugin.lakeport_dialect_reader().call_statistics(store, connection, &server, &tables, fresh)
            }))?;
        self.as_many_as_asked("reader.statistics", asked, answer)
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
        answered(call!(self, context, "reader.access", (server, request), |plugin, store| {
            let connection = store.data().connection_handle();
            plugin.lakeport_dialect_reader().call_access(store, connection, &server, &request)
        }))
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
            fault: crate::call::CallFault::Contract,
            message: format!("it was asked for {asked} tables and answered for {}", answer.len()),
        })
    }
}

/// A plugin's own error is an error of the call.
pub(crate) fn answered<T>(answer: Result<Result<T, Error>, CallError>) -> Result<T, CallError> {
    answer?.map_err(CallError::Answered)
}
