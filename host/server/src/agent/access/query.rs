//! Queries: judged, run in a read-only session with limits, and noted for the log of queries.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use lakeport_bindings::host::types::Error as PluginError;
use lakeport_bindings::tool::query::{QueryRequest, QueryResult};
use lakeport_physical::{QueryLimits, QuerySession, Views, is_of_statement};
use ring::rand::{SecureRandom, SystemRandom};
use tokio::time::timeout_at;

use super::judge::{Judged, Used};
use super::{TopicAccess, error, of_store, own};
use crate::datasources::{Datasource, DatasourceClient};
use crate::queries::{Outcome, Query};

/// Queries of one task.
const QUERIES_MAX: u32 = 200;
/// Rows of one answer: the maximum and the default.
const ROWS_MAX: u32 = 10_000;
/// Bytes of one answer: the maximum and the default.
const BYTES_MAX: u32 = 4 * 1024 * 1024;
/// Time of one query: the maximum and the default.
const TIMEOUT_MAX_MS: u32 = 30_000;
/// Limits of a statement's plan.
const PLAN_LIMITS: QueryLimits =
    QueryLimits { max_rows: 1, max_bytes: 64 * 1024, timeout: Duration::from_secs(5) };
/// The length of the unguessable names.
const SECRET_BYTES: usize = 16;
/// The agent's name in the log of queries.
const ORIGIN: &str = "agent";

impl TopicAccess {
    pub(super) async fn queried(&self, request: &QueryRequest) -> Result<QueryResult, PluginError> {
        if self.queries.fetch_add(1, Ordering::Relaxed) >= QUERIES_MAX {
            return Err(error("limit_exceeded", format!("a task has {QUERIES_MAX} queries at most")));
        }
        let limits = QueryLimits {
            max_rows: at_most(request.max_rows, ROWS_MAX) as usize,
            max_bytes: at_most(request.max_bytes, BYTES_MAX) as usize,
            timeout: Duration::from_millis(at_most(request.timeout_ms, TIMEOUT_MAX_MS).into()),
        };
        self.run_as(&request.datasource, &request.sql, limits, ORIGIN).await
    }

    /// Runs a statement within these limits; `origin` is for the log of queries, where the query goes with the next step.
    pub async fn run_as(
        &self,
        datasource: &str,
        sql: &str,
        limits: QueryLimits,
        origin: &'static str,
    ) -> Result<QueryResult, PluginError> {
        let source = self.sources().await?.named(datasource)?;
        let judged = self.judge(source, sql).await?;
        let running = self.unlogged.begin(self.query(source, &judged.reads, origin));
        let answer = self.answer(source, &judged, limits).await;
        running.ended(match &answer {
            Ok(_) => Outcome::Success,
            Err(cause) if cause.code == "cancelled" => Outcome::Cancelled,
            Err(_) => Outcome::Failed,
        });
        answer
    }

    /// What the database does not accept in a statement, by its own plan; `None` if it accepts it, or does not say so in
    /// time.
    pub async fn not_accepted(
        &self,
        datasource: &str,
        sql: &str,
        until: tokio::time::Instant,
    ) -> Option<PluginError> {
        let planned = async {
            let source = self.sources().await?.named(datasource)?;
            let judged = self.judge(source, &format!("EXPLAIN {sql}")).await?;
            self.answer(source, &judged, PLAN_LIMITS).await
        };
        let cause = timeout_at(until, planned).await.ok()?.err()?;
        is_of_statement(&cause).then_some(cause)
    }

    async fn answer(
        &self,
        source: &Datasource,
        judged: &Judged,
        limits: QueryLimits,
    ) -> Result<QueryResult, PluginError> {
        let session = self.open(source).await?;
        let begun = Instant::now();
        let rows = session.run(&judged.statement, limits).await;
        let took_ms = u32::try_from(begun.elapsed().as_millis()).unwrap_or(u32::MAX);
        session.close().await;
        Ok(QueryResult { rows: rows?, took_ms })
    }

    /// A session whose statements end once the task is cancelled.
    pub(super) async fn open(&self, source: &Datasource) -> Result<QuerySession, PluginError> {
        if self.asked.cancelled.load(Ordering::Relaxed) {
            return Err(error("cancelled", "the task was cancelled"));
        }
        let client = DatasourceClient::of(&self.state.datasources, source, &self.asked.task_id);
        let (database, views) = if source.is_own() {
            (client.own_store().await?, Some(self.own_views().await?))
        } else {
            (client.reading().await?, None)
        };
        QuerySession::open(&database, views.as_ref(), Arc::clone(&self.asked.cancelled)).await
    }

    async fn own_views(&self) -> Result<Views, PluginError> {
        let mut secret = [0; SECRET_BYTES];
        let random = SystemRandom::new().fill(&mut secret);
        random.map_err(|_| error("internal", "the system gives no random numbers"))?;
        let bound = self.sources().await?.bound_ids();
        let (now_ms, zone) = (self.state.clock.now_ms(), self.state.config.time_zone);
        let store = own::store::Store::of(&self.state.db, now_ms, zone).await.map_err(of_store)?;
        let views = store.views(bound.as_deref());
        Ok(Views::new(views, own::store::BASES, hex::encode(secret)))
    }

    /// As the log keeps it.
    fn query(&self, source: &Datasource, reads: &[Used], origin: &'static str) -> Query {
        let tables = reads.iter().filter_map(|used| {
            let (id, name) = used.known.clone()?;
            Some((i64::try_from(id).ok()?, name))
        });
        Query {
            datasource_id: source.id,
            read: tables.collect(),
            written: Vec::new(),
            asked_by: self.asked.caller_name.clone(),
            origin: origin.into(),
            outcome: Outcome::Cancelled,
            at_ms: self.state.clock.now_ms(),
        }
    }
}

/// The requested value within the maximum.
fn at_most(asked: u32, max: u32) -> u32 {
    if asked == 0 { max } else { asked.min(max) }
}
