//! What the edge asks of the server behind it: who a caller is, whether a change was made before, and where
//! it is written down. The edge itself knows neither tokens nor a store.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::Method;
use http::request::Parts;
use lakeport_base::Error;

use super::{Caller, Reply, RequestId, Role};

/// The server behind the edge; the state that handlers are given.
pub trait Gate: Send + Sync + Sized + 'static {
    /// Who asks; 401, 403 or 429 when they may not. `needed` is the route's: for [`Role::Anyone`] nobody has
    /// to be anybody.
    fn identify(
        &self,
        parts: &Parts,
        needed: Role,
    ) -> impl Future<Output = Result<Arc<Caller>, Error>> + Send;

    /// Called before a change: a repeated one is answered with its first answer.
    fn begin(&self, attempt: &Attempt) -> impl Future<Output = Result<Begun, Error>> + Send;

    /// Called after a change that did not write itself down, and after every one that failed.
    fn end(&self, attempt: &Attempt, outcome: Result<&Reply, &Error>) -> impl Future<Output = ()> + Send;
}

/// What to do with a change.
pub enum Begun {
    /// Make it.
    Go,
    /// It was made before: this was its answer.
    Answered(Reply),
}

/// One request that is to change something.
pub struct Attempt {
    pub caller: Arc<Caller>,
    pub request_id: RequestId,
    pub operation: &'static str,
    pub method: Method,
    pub path: String,
    /// Parameters of the path, decoded, in their order; the last one names the resource.
    pub parameters: Vec<String>,
    /// What repeats of one request have in common: the query and the body.
    pub query: String,
    pub body: Bytes,
    pub idempotency_key: Option<String>,
    /// The claim on the key, made again for each attempt.
    pub claim: String,
    /// Its answer shows a secret.
    pub secret: bool,
    recorded: AtomicBool,
}

impl Attempt {
    pub(super) fn new(
        arrival: &super::call::Arrival,
        idempotency_key: Option<String>,
        secret: bool,
    ) -> Attempt {
        Attempt {
            caller: Arc::clone(&arrival.caller),
            request_id: arrival.request_id.clone(),
            operation: arrival.operation,
            method: arrival.method.clone(),
            path: arrival.uri.path().to_owned(),
            parameters: arrival.parameters.iter().map(|(_, text)| super::call::decoded(text)).collect(),
            query: arrival.uri.query().unwrap_or_default().to_owned(),
            body: arrival.body.clone(),
            idempotency_key,
            claim: uuid::Uuid::now_v7().simple().to_string(),
            secret,
            recorded: AtomicBool::new(false),
        }
    }

    /// The change wrote itself down, in its own transaction.
    pub fn set_recorded(&self) {
        self.recorded.store(true, Ordering::Release);
    }

    pub fn is_recorded(&self) -> bool {
        self.recorded.load(Ordering::Acquire)
    }
}
