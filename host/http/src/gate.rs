//! The edge's interface to the server behind it: authenticating the caller, answering repeated changes, and
//! recording changes. The edge itself knows neither tokens nor a store.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::Method;
use http::request::Parts;
use lakeport_base::Error;

use super::{Caller, Reply, RequestId, Role};

/// The server behind the edge; also the handlers' state.
pub trait Gate: Send + Sync + Sized + 'static {
    /// Authenticates the caller; 401, 403 or 429 if that fails. `needed` is the route's role:
    /// [`Role::Anyone`] requires no identity.
    fn identify(
        &self,
        parts: &Parts,
        needed: Role,
    ) -> impl Future<Output = Result<Arc<Caller>, Error>> + Send;

    /// Resolves when the caller's identity is no longer valid. Streams that it still reads end then.
    fn ended(self: Arc<Self>, caller: Arc<Caller>) -> impl Future<Output = ()> + Send + 'static;

    /// Called before a change: a repeated one gets its first answer.
    fn begin(&self, attempt: &Attempt) -> impl Future<Output = Result<Begun, Error>> + Send;

    /// Called after each failed change, and after a successful one that did not record itself.
    fn end(&self, attempt: &Attempt, outcome: Result<&Reply, &Error>) -> impl Future<Output = ()> + Send;
}

/// How to proceed with a change.
pub enum Begun {
    /// Execute it.
    Go,
    /// Return this answer of its first execution.
    Answered(Reply),
}

/// One attempt to make a change.
pub struct Attempt {
    pub caller: Arc<Caller>,
    pub request_id: RequestId,
    pub operation: &'static str,
    pub method: Method,
    pub path: String,
    /// The path's parameters, decoded, in order; the last one names the resource.
    pub parameters: Vec<String>,
    /// With the body, identifies repeats of a request.
    pub query: String,
    pub body: Bytes,
    pub idempotency_key: Option<String>,
    /// The claim on the key; a new one for each attempt.
    pub claim: String,
    /// Its answer has a secret.
    pub secret: bool,
    pub(super) recorded: AtomicBool,
    pub(super) made: OnceLock<String>,
}

impl Attempt {
    /// The attempt at a part of this change, which is about another resource: it is recorded on its own, and the whole
    /// has the key.
    #[must_use]
    pub fn part(&self, path: String, parameters: Vec<String>) -> Attempt {
        Attempt {
            caller: Arc::clone(&self.caller),
            request_id: self.request_id.clone(),
            operation: self.operation,
            method: self.method.clone(),
            path,
            parameters,
            query: String::new(),
            body: Bytes::new(),
            idempotency_key: None,
            claim: self.claim.clone(),
            secret: false,
            recorded: AtomicBool::new(false),
            made: OnceLock::new(),
        }
    }

    /// Marks that the change recorded itself in its own transaction.
    pub fn set_recorded(&self) {
        self.recorded.store(true, Ordering::Release);
    }

    pub fn is_recorded(&self) -> bool {
        self.recorded.load(Ordering::Acquire)
    }

    /// Names the resource that the change made, for the record of a change that does not record itself.
    pub fn set_made(&self, id: String) {
        // A handler makes one resource.
        let _ = self.made.set(id);
    }

    pub fn made(&self) -> Option<&str> {
        self.made.get().map(String::as_str)
    }
}
