//! The way of one request, from top to bottom: its id, local mode's refusals, the route, who asks, the body,
//! the handler within the deadline, the error's mapping, the log line. All errors leave by one door.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Request, Response};
use hyper::body::Incoming;
use tokio::time::{Instant, timeout_at};

use super::route::Found;
use super::{BodyLimit, Call, Caller, Reply, ReplyBody, RequestId, Role, Route, Router, body, local};
use crate::error::Error;

/// Bounds that the operator sets.
#[derive(Debug, Clone, Copy)]
pub struct EdgeSettings {
    /// From the last byte of the head to the answer.
    pub request_timeout: Duration,
    pub body_max_bytes: usize,
    pub upload_max_bytes: usize,
    /// How long requests that run may take to end once the server is told to stop.
    pub drain: Duration,
}

/// Routes, state and bounds: all that answering needs.
pub struct Edge<S> {
    state: Arc<S>,
    router: Router<S>,
    pub(super) settings: EdgeSettings,
}

impl<S: Send + Sync + 'static> Edge<S> {
    /// Fails when routes are in conflict, naming both.
    pub fn new(state: Arc<S>, routes: Vec<Route<S>>, settings: EdgeSettings) -> anyhow::Result<Edge<S>> {
        Ok(Edge { state, router: Router::new(routes)?, settings })
    }

    /// Answers one request, whatever happens.
    pub async fn answer(&self, peer: SocketAddr, request: Request<Incoming>) -> Response<ReplyBody> {
        let started = Instant::now();
        let (parts, mut incoming) = request.into_parts();
        let request_id = RequestId::of(&parts.headers);
        let method = parts.method.clone();
        let path = parts.uri.path().to_owned();

        let mut operation = "none";
        let outcome = self.serve(parts, &mut incoming, &mut operation, peer, &request_id, started).await;
        let reply = match outcome {
            Ok(reply) => reply,
            Err(error) => {
                if let Error::Internal(source) = &error {
                    tracing::error!(%request_id, operation, "{source:#}");
                }
                body::drain(&mut incoming).await;
                Reply::error(&error, &request_id)
            }
        };
        let status = reply.status.as_u16();
        let latency_ms = started.elapsed().as_micros() as f64 / 1000.0;
        tracing::info!(%request_id, %method, path, operation, status, latency_ms, "request");
        reply.into_response(&request_id, method == Method::HEAD)
    }

    async fn serve(
        &self,
        parts: Parts,
        incoming: &mut Incoming,
        operation: &mut &'static str,
        peer: SocketAddr,
        request_id: &RequestId,
        started: Instant,
    ) -> Result<Reply, Error> {
        local::check(&parts)?;
        let Found { route, parameters } = self.router.find(&parts.method, parts.uri.path())?;
        *operation = route.operation;
        let caller = identify();
        allow(&caller, route.role)?;

        let deadline = started + self.settings.request_timeout;
        let body = self.read_body(incoming, route.body_limit, deadline).await?;
        let call = Call {
            state: Arc::clone(&self.state),
            caller,
            request_id: request_id.clone(),
            peer,
            method: parts.method,
            uri: parts.uri,
            headers: parts.headers,
            parameters,
            body,
        };
        // A task of its own: a client that goes away does not cut a change in half, a panic ends here.
        let running = tokio::spawn(timeout_at(deadline, route.handler.run(call)));
        match running.await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(self.deadline_exceeded()),
            Err(_) => Err(Error::internal(anyhow::anyhow!("the handler of {} panicked", route.operation))),
        }
    }

    async fn read_body(
        &self,
        incoming: &mut Incoming,
        limit: BodyLimit,
        deadline: Instant,
    ) -> Result<Bytes, Error> {
        let limit_bytes = match limit {
            BodyLimit::Standard => self.settings.body_max_bytes,
            BodyLimit::Upload => self.settings.upload_max_bytes,
        };
        let reading = body::read(incoming, limit_bytes);
        timeout_at(deadline, reading).await.unwrap_or_else(|_| Err(self.deadline_exceeded()))
    }

    fn deadline_exceeded(&self) -> Error {
        let message = format!("the request was not done within {:?}", self.settings.request_timeout);
        Error::timed_out("deadline_exceeded", message)
    }
}

/// Local mode: whoever passed its refusals is a program of this machine's user.
fn identify() -> Caller {
    Caller { name: "local".to_owned(), role: Role::Admin }
}

fn allow(caller: &Caller, needed: Role) -> Result<(), Error> {
    if caller.role >= needed {
        return Ok(());
    }
    let message = format!("this needs the role {needed:?}, and {} has {:?}", caller.name, caller.role);
    Err(Error::forbidden("role_too_low", message))
}
