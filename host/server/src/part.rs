//! The contribution of a module to the server, as data: routes, workers, retention rules, encrypted columns,
//! error codes. A module defines one [`Part`]; `compose.rs` collects them.

use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use lakeport_base::Error;
use lakeport_http::{Endpoint, Operation, Route};
use lakeport_store::{Retained, Tx};

use crate::config::RetentionSettings;
use crate::secrets::EncryptedColumn;

/// The contribution of a module with the state `S`.
pub struct Part<S> {
    /// The first part of its paths and its subject, for the OpenAPI description.
    pub tags: &'static [(&'static str, &'static str)],
    pub routes: Vec<Route<S>>,
    pub workers: Vec<Worker<S>>,
    pub retained: Vec<RetentionRule>,
    pub encrypted_columns: &'static [EncryptedColumn],
    /// Its error codes, besides [`lakeport_base::error::CODES`].
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

/// Background work that runs until the server stops.
pub struct Worker<S> {
    pub start: Start,
    run: Box<dyn FnOnce(Arc<S>) -> Work + Send>,
}

/// When a worker starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At once: it follows other servers' changes, or does the work of requests.
    AtOnce,
    /// After the example company is set up, if requested: until then the clock shows the past, which would
    /// confuse workers that depend on the time.
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

/// How long rows of a growing table are kept.
#[derive(Clone, Copy)]
pub struct RetentionRule {
    pub retained: Retained,
    /// The setting with the days; `None`: each row has its own expiry.
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

/// A check whether another module's resource is still needed, before it is deleted or replaced.
#[derive(Clone, Copy)]
pub struct InUse {
    /// The product's noun: `datasource`, `engine`.
    pub resource: &'static str,
    pub check: InUseCheck,
}

/// Fails with 409 if the resource is needed unchanged.
pub type InUseCheck = for<'a> fn(&'a mut Tx, &'a Resource) -> BoxFuture<'a, Result<(), Error>>;

/// A resource that is about to change.
pub struct Resource {
    pub kind: &'static str,
    pub id: i64,
    pub name: String,
    pub fate: Fate,
}

/// The coming change of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It moves to another address.
    Moved,
    /// It becomes another kind.
    Replaced,
    Deleted,
}

impl Fate {
    /// The action that is possible once the resource is no longer needed.
    pub fn then(self) -> &'static str {
        match self {
            Fate::Moved => "its address can be changed",
            Fate::Replaced => "it can become another kind",
            Fate::Deleted => "it can be deleted",
        }
    }
}

/// A part bound to its state, with the state's type erased.
pub struct BoundPart {
    pub tags: &'static [(&'static str, &'static str)],
    pub operations: Vec<Operation>,
    /// `None` if the part has no state and can only be described.
    pub endpoints: Vec<Endpoint>,
    pub workers: Vec<(Start, Work)>,
    pub retained: Vec<RetentionRule>,
    pub encrypted_columns: &'static [EncryptedColumn],
    pub error_codes: &'static [&'static str],
    pub in_use: Vec<InUse>,
}

impl<S: Send + Sync + 'static> Part<S> {
    /// Binds the routes and workers to the state; without one, the part can only be described.
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
