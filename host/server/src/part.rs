//! What a module gives to the server, as data: routes, workers, rows that grow, columns with secrets, codes of
//! errors. A module writes one [`Part`]; `compose.rs` collects them.

use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use lakeport_base::Error;
use lakeport_http::{Endpoint, Operation, Route};
use lakeport_store::{Retained, Tx};

use crate::config::RetentionSettings;
use crate::secrets::EncryptedColumn;

/// What a module with the state `S` gives to the server.
pub struct Part<S> {
    /// The first part of its paths, and what it is about, for the description of the interface.
    pub tags: &'static [(&'static str, &'static str)],
    pub routes: Vec<Route<S>>,
    pub workers: Vec<Worker<S>>,
    pub retained: Vec<RetentionRule>,
    pub encrypted_columns: &'static [EncryptedColumn],
    /// Codes of errors that it answers with, beside those of [`lakeport_base::error::CODES`].
    pub error_codes: &'static [&'static str],
    pub in_use: Vec<InUse>,
}

impl<S> Default for Part<S> {
    fn default() -> Part<S> {
        Part {
            tags: &[],
            routes: Vec::new(),
            workers: Vec::new(),
            retained: Vec::new(),
            encrypted_columns: &[],
            error_codes: &[],
            in_use: Vec::new(),
        }
    }
}

type Work = BoxFuture<'static, ()>;

/// Work that goes on beside requests until the server stops.
pub struct Worker<S> {
    pub start: Start,
    run: Box<dyn FnOnce(Arc<S>) -> Work + Send>,
}

/// When a worker starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At once: it follows what other servers change, or does what requests leave to it.
    AtOnce,
    /// After the example company is set up, if it is: its past, which the clock shows until then, has nothing to do
    /// with what runs by the clock.
    AfterSetUp,
}

impl<S: Send + Sync + 'static> Worker<S> {
    pub fn new<F>(start: Start, run: impl FnOnce(Arc<S>) -> F + Send + 'static) -> Worker<S>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Worker { start, run: Box::new(move |state| Box::pin(run(state))) }
    }
}

/// How long rows of a table that grows are kept.
#[derive(Clone, Copy)]
pub struct RetentionRule {
    pub retained: Retained,
    /// The setting with the days; `None`: the rows say themselves when they run out.
    pub days: Option<fn(&RetentionSettings) -> u64>,
}

impl RetentionRule {
    pub fn days(retained: Retained, days: fn(&RetentionSettings) -> u64) -> RetentionRule {
        RetentionRule { retained, days: Some(days) }
    }

    pub fn expiring(retained: Retained) -> RetentionRule {
        RetentionRule { retained, days: None }
    }
}

/// What may still need a resource of another module: asked before the resource is deleted or becomes another one.
#[derive(Clone, Copy)]
pub struct InUse {
    /// The product's noun: `datasource`, `engine`.
    pub resource: &'static str,
    pub check: InUseCheck,
}

/// Fails with 409 where something needs the resource as it is.
pub type InUseCheck = for<'a> fn(&'a mut Tx, &'a Resource) -> BoxFuture<'a, Result<(), Error>>;

/// A resource that is about to change under those that use it.
pub struct Resource {
    pub kind: &'static str,
    pub id: i64,
    pub name: String,
    pub fate: Fate,
}

/// What is about to happen to a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It will be reached at another place.
    Moved,
    /// It will be of another kind.
    Replaced,
    Deleted,
}

impl Fate {
    /// What can be done once nothing forbids it.
    pub fn then(self) -> &'static str {
        match self {
            Fate::Moved => "its address can be changed",
            Fate::Replaced => "it can become another kind",
            Fate::Deleted => "it can be deleted",
        }
    }
}

/// A part whose state is in it, with its type taken away.
pub struct BoundPart {
    pub tags: &'static [(&'static str, &'static str)],
    pub operations: Vec<Operation>,
    /// None where the part was bound to no state, only to be described.
    pub endpoints: Vec<Endpoint>,
    pub workers: Vec<(Start, Work)>,
    pub retained: Vec<RetentionRule>,
    pub encrypted_columns: &'static [EncryptedColumn],
    pub error_codes: &'static [&'static str],
    pub in_use: Vec<InUse>,
}

impl<S: Send + Sync + 'static> Part<S> {
    /// Gives the routes and workers their state; without one, the part can only be described.
    pub fn bind(self, state: Option<&Arc<S>>) -> BoundPart {
        let operations = self.routes.iter().map(|route| route.operation().clone()).collect();
        let (mut endpoints, mut workers) = (Vec::new(), Vec::new());
        if let Some(state) = state {
            endpoints = self.routes.into_iter().map(|route| route.bind(state)).collect();
            let started = |worker: Worker<S>| (worker.start, (worker.run)(Arc::clone(state)));
            workers = self.workers.into_iter().map(started).collect();
        }
        BoundPart {
            tags: self.tags,
            operations,
            endpoints,
            workers,
            retained: self.retained,
            encrypted_columns: self.encrypted_columns,
            error_codes: self.error_codes,
            in_use: self.in_use,
        }
    }
}
