//! `lakeport:tool/{catalog, samples, guard, query, results, lineage}`: the view of one task of one topic,
//! lent to a tool for one call. The lender decides what the tool may see. Calls of withheld interfaces are
//! answered here and never reach the lender.

use std::sync::Arc;

use lakeport_bindings::host::data::RowSet;
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::{Error, Page};
use lakeport_bindings::tool::catalog::{Datasource, Filter, HitPage, Table, TableDetails, TablePage};
use lakeport_bindings::tool::guard::Verdict;
use lakeport_bindings::tool::lineage::{Graph, GraphRequest};
use lakeport_bindings::tool::query::{QueryRequest, QueryResult};
use lakeport_bindings::tool::results::EarlierTable;
use lakeport_bindings::tool::samples::{FieldSample, FoundValue};
use lakeport_bindings::tool::tables::TableHead;
use lakeport_bindings::tool::{catalog, guard, lineage, query, results, samples, tables};

use crate::lending::Topic;
use crate::state::CallState;

impl CallState {
    /// The topic lent to this call, for one of its interfaces.
    fn lent_topic(&self, interface: &str) -> Result<Arc<dyn Topic>, Error> {
        let name = format!("lakeport:tool/{interface}");
        if self.withheld.contains(&name) {
            return Err(error("not_granted", format!("the operator withholds {name}")));
        }
        self.topic.clone().ok_or_else(|| error("unavailable", "no topic is lent to this call"))
    }
}

/// Calls the lent topic, or returns the reason why it cannot.
macro_rules! ask {
    ($state:ident, $interface:literal, |$topic:ident| $asked:expr) => {
        match $state.lent_topic($interface) {
            Ok($topic) => Ok($state.cpu_turn.waiting($asked).await),
            Err(error) => Ok(Err(error)),
        }
    };
}

impl tables::Host for CallState {}

impl catalog::Host for CallState {
    async fn datasources(&mut self) -> wasmtime::Result<Vec<Datasource>> {
        let Ok(topic) = self.lent_topic("catalog") else { return Ok(Vec::new()) };
        Ok(self.cpu_turn.waiting(topic.datasources()).await)
    }

    async fn search(
        &mut self,
        text: String,
        filter: Filter,
        page: Page,
    ) -> wasmtime::Result<Result<HitPage, Error>> {
        ask!(self, "catalog", |topic| topic.search(text, filter, page))
    }

    async fn tables(&mut self, filter: Filter, page: Page) -> wasmtime::Result<Result<TablePage, Error>> {
        ask!(self, "catalog", |topic| topic.tables(filter, page))
    }

    async fn resolve(&mut self, name: String) -> wasmtime::Result<Result<Vec<TableHead>, Error>> {
        ask!(self, "catalog", |topic| topic.resolve(name))
    }

    async fn get(&mut self, ids: Vec<u64>) -> wasmtime::Result<Result<Vec<Option<Table>>, Error>> {
        ask!(self, "catalog", |topic| topic.get(ids))
    }

    async fn details(&mut self, ids: Vec<u64>) -> wasmtime::Result<Result<Vec<Option<TableDetails>>, Error>> {
        ask!(self, "catalog", |topic| topic.details(ids))
    }
}

impl samples::Host for CallState {
    async fn fields(
        &mut self,
        table: u64,
        fields: Vec<String>,
        values: u32,
    ) -> wasmtime::Result<Result<Vec<FieldSample>, Error>> {
        ask!(self, "samples", |topic| topic.samples(table, fields, values))
    }

    async fn find(
        &mut self,
        table: u64,
        fields: Vec<String>,
        texts: Vec<String>,
    ) -> wasmtime::Result<Result<Vec<FoundValue>, Error>> {
        ask!(self, "samples", |topic| topic.find(table, fields, texts))
    }
}

impl guard::Host for CallState {
    async fn check(&mut self, datasource: String, sql: String) -> wasmtime::Result<Result<Verdict, Error>> {
        ask!(self, "guard", |topic| topic.check(datasource, sql))
    }
}

impl query::Host for CallState {
    async fn run(&mut self, request: QueryRequest) -> wasmtime::Result<Result<QueryResult, Error>> {
        ask!(self, "query", |topic| topic.run(request))
    }
}

impl results::Host for CallState {
    async fn tables(&mut self) -> wasmtime::Result<Vec<EarlierTable>> {
        let Ok(topic) = self.lent_topic("results") else { return Ok(Vec::new()) };
        Ok(self.cpu_turn.waiting(topic.results()).await)
    }

    async fn rows(&mut self, call_id: String, max_rows: u32) -> wasmtime::Result<Result<RowSet, Error>> {
        ask!(self, "results", |topic| topic.rows(call_id, max_rows))
    }
}

impl lineage::Host for CallState {
    async fn around(&mut self, request: GraphRequest) -> wasmtime::Result<Result<Graph, Error>> {
        ask!(self, "lineage", |topic| topic.around(request))
    }
}
