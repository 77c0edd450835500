//! Requests of the server to itself: the same routes, forms, roles and audit as over HTTP, without a
//! connection.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Uri};
use lakeport_base::Error;
use serde_json::Value;
use tokio::time::Instant;

use super::arrival::Arrival;
use super::edge::allow;
use super::router::Found;
use super::{Caller, Endpoint, Gate, RequestId, Router};

/// The deadline that handlers see; it is not enforced.
const DEADLINE: Duration = Duration::from_secs(30);

/// A client of the server's own endpoints.
pub struct InternalClient<G> {
    gate: Arc<G>,
    router: Router,
}

impl<G: Gate> InternalClient<G> {
    /// Fails when routes conflict, naming both.
    pub fn new(gate: Arc<G>, endpoints: Vec<Endpoint>) -> anyhow::Result<InternalClient<G>> {
        Ok(InternalClient { gate, router: Router::new(endpoints)? })
    }

    /// Returns the complete JSON body. `target` is a path with its query.
    pub async fn ask(
        &self,
        caller: &Arc<Caller>,
        method: Method,
        target: &str,
        body: Option<&Value>,
    ) -> Result<Value, Error> {
        let uri: Uri = target.parse().map_err(Error::internal)?;
        let Found { place, parameters } = self.router.find(&method, uri.path())?;
        let route = &self.router.endpoints()[place];
        allow(caller, route.role, route)?;
        let headers = HeaderMap::new();
        let started = Instant::now();
        let mut arrival = Arrival {
            caller: Arc::clone(caller),
            request_id: RequestId::of(&headers),
            operation: route.id,
            peer: SocketAddr::from(([127, 0, 0, 1], 0)),
            method,
            uri,
            headers,
            parameters,
            body: body.map(|body| Bytes::from(body.to_string())).unwrap_or_default(),
            started,
            deadline: started + DEADLINE,
            attempt: None,
        };
        let attempt = route.changes.then(|| Arc::new(arrival.to_attempt(None, route.secret)));
        arrival.attempt.clone_from(&attempt);
        let outcome = route.run(arrival).await;
        if let Some(attempt) = attempt.filter(|attempt| outcome.is_err() || !attempt.is_recorded()) {
            self.gate.end(&attempt, outcome.as_ref()).await;
        }
        let reply = outcome?;
        let whole = reply.content.whole().map(Bytes::as_ref).unwrap_or_default();
        serde_json::from_slice(whole).map_err(Error::internal)
    }
}
