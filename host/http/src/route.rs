//! Routes as data: who may call a route, and its OpenAPI description. Its parameters, body and answer are the
//! handler's types.

use std::future::Future;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;

use http::Method;
use lakeport_base::Error;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;

use super::answer::AnswerShape;
use super::arrival::Arrival;
use super::call::BodyShape;
use super::{Answer, Body, Call, Reply, Role};

/// The limit of a body's size; the operator sets the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyLimit {
    /// `body_max_bytes`
    Standard,
    /// `plugin_upload_max_bytes`
    Upload,
}

type Running = Pin<Box<dyn Future<Output = Result<Reply, Error>> + Send>>;

/// A handler with its types erased, so that all routes fit in one list.
type Handler<S> = Arc<dyn Fn(Arc<S>, Arrival) -> Running + Send + Sync>;

/// The same, bound to its state.
type BoundHandler = Arc<dyn Fn(Arrival) -> Running + Send + Sync>;

/// The description of a route's types.
pub struct Shape {
    /// Objects whose properties are the parameters.
    pub path: Schema,
    pub query: Schema,
    pub body: Option<BodyShape>,
    pub answer: Option<AnswerShape>,
}

/// The schema generators: types that are read may omit members, types that are written have all.
pub struct Generators {
    pub requests: SchemaGenerator,
    pub answers: SchemaGenerator,
}

/// A route without its handler: one method of one path.
#[derive(Clone)]
pub struct Operation {
    pub method: Method,
    /// The path, parameters in braces: `/api/v1/plugins/{name}`.
    pub path: &'static str,
    pub role: Role,
    /// The operation id in the OpenAPI description: `listPlugins`. It never changes.
    pub id: &'static str,
    /// One line for the description.
    pub about: &'static str,
    pub body_limit: BodyLimit,
    /// It is audited, and a repeat returns the first answer.
    pub changes: bool,
    /// Its answer has a secret: stored encrypted, for a short time, and never compressed.
    pub secret: bool,
    /// Polled by machines: logged at `debug`.
    pub probe: bool,
    /// It answers with the `ETag` of its resource; PUT, PATCH and DELETE accept `If-Match`.
    pub versioned: bool,
    /// It answers with a stream of events, and takes `Last-Event-ID`.
    pub resumable: bool,
    /// Another status that it answers, with the same form or, if it is 204, without a body; and when.
    pub also: Option<(u16, &'static str)>,
    /// Not implemented yet.
    pub not_yet: bool,
    /// With `?dryRun=true` it changes nothing, and viewers may call it.
    pub dry_run: bool,
    /// A scope that suffices to call it, whatever the role.
    pub scope: Option<&'static str>,
    /// It concerns every data source: callers that are bound to some may not call it.
    pub unbound: bool,
    /// Its own error codes, besides those of every route.
    pub refusals: &'static [&'static str],
    pub describe: fn(&mut Generators) -> Shape,
}

/// An operation and its handler on a state of type `S`.
pub struct Route<S> {
    operation: Operation,
    handler: Handler<S>,
}

/// A route bound to its state, which the edge calls.
#[derive(Clone)]
pub struct Endpoint {
    operation: Operation,
    handler: BoundHandler,
}

impl<S> Deref for Route<S> {
    type Target = Operation;

    fn deref(&self) -> &Operation {
        &self.operation
    }
}

impl Deref for Endpoint {
    type Target = Operation;

    fn deref(&self) -> &Operation {
        &self.operation
    }
}

impl Endpoint {
    pub(super) fn run(&self, arrival: Arrival) -> Running {
        (self.handler)(arrival)
    }
}

impl<S: Send + Sync + 'static> Route<S> {
    /// POST, PUT and DELETE change something, unless [`Route::reading`] says otherwise.
    pub fn new<P, Q, B, A, H, F>(
        method: Method,
        path: &'static str,
        role: Role,
        operation: &'static str,
        about: &'static str,
        handler: H,
    ) -> Self
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        Q: DeserializeOwned + JsonSchema + Send + 'static,
        B: Body,
        A: Answer,
        H: Fn(Call<S, P, Q, B>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<A, Error>> + Send + 'static,
    {
        let handler: Handler<S> = Arc::new(move |state, arrival| match arrival.read(state) {
            Ok(call) => {
                let answering = handler(call);
                Box::pin(async move { answering.await.map(Answer::into_reply) })
            }
            Err(error) => Box::pin(std::future::ready(Err(error))),
        });
        Route {
            operation: Operation::new(method, path, role, operation, about, shape::<P, Q, B, A>),
            handler,
        }
    }

    /// A part of the interface that is not implemented yet and answers 501: parameters and body are
    /// described, not read.
    pub fn not_yet<P, Q, B>(
        method: Method,
        path: &'static str,
        role: Role,
        operation: &'static str,
        about: &'static str,
    ) -> Self
    where
        P: DeserializeOwned + JsonSchema + Send + 'static,
        Q: DeserializeOwned + JsonSchema + Send + 'static,
        B: Body,
    {
        let handler: Handler<S> = Arc::new(move |_, _| {
            let message = format!("`{operation}` is not implemented yet");
            Box::pin(std::future::ready(Err(Error::not_yet(message))))
        });
        let described = Operation::new(method, path, role, operation, about, shape::<P, Q, B, NotYet>);
        Route { operation: Operation { not_yet: true, ..described }, handler }
    }

    /// Accepts bodies up to the operator's limit for uploads.
    #[must_use]
    pub fn upload(self) -> Self {
        self.with(|operation| Operation { body_limit: BodyLimit::Upload, ..operation })
    }

    /// Changes nothing though it is not a GET: a preview, a comparison, a test.
    #[must_use]
    pub fn reading(self) -> Self {
        self.with(|operation| Operation { changes: false, ..operation })
    }

    /// Its answer has a secret.
    #[must_use]
    pub fn secret(self) -> Self {
        self.with(|operation| Operation { secret: true, ..operation })
    }

    /// Polled by machines.
    #[must_use]
    pub fn probe(self) -> Self {
        self.with(|operation| Operation { probe: true, ..operation })
    }

    /// With `?dryRun=true` it changes nothing, and viewers may call it.
    #[must_use]
    pub fn dry_run(self) -> Self {
        self.with(|operation| Operation { dry_run: true, ..operation })
    }

    /// It answers with the `ETag` of its resource; PUT, PATCH and DELETE accept `If-Match`.
    #[must_use]
    pub fn versioned(self) -> Self {
        self.with(|operation| Operation { versioned: true, ..operation })
    }

    /// It answers with a stream of events, and takes `Last-Event-ID`.
    #[must_use]
    pub fn resumable(self) -> Self {
        self.with(|operation| Operation { resumable: true, ..operation })
    }

    /// Describes another status that it answers, and when.
    #[must_use]
    pub fn also(self, status: u16, when: &'static str) -> Self {
        self.with(|operation| Operation { also: Some((status, when)), ..operation })
    }

    /// A scope that suffices to call it.
    #[must_use]
    pub fn scope(self, scope: &'static str) -> Self {
        self.with(|operation| Operation { scope: Some(scope), ..operation })
    }

    /// It concerns every data source: callers that are bound to some may not call it.
    #[must_use]
    pub fn unbound(self) -> Self {
        self.with(|operation| Operation { unbound: true, ..operation })
    }

    /// Sets its own error codes.
    #[must_use]
    pub fn refuses(self, codes: &'static [&'static str]) -> Self {
        self.with(|operation| Operation { refusals: codes, ..operation })
    }

    fn with(self, change: impl FnOnce(Operation) -> Operation) -> Self {
        Route { operation: change(self.operation), ..self }
    }

    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// Binds the handler to its state.
    pub fn bind(self, state: &Arc<S>) -> Endpoint {
        let (state, handler) = (Arc::clone(state), self.handler);
        Endpoint {
            operation: self.operation,
            handler: Arc::new(move |arrival| handler(Arc::clone(&state), arrival)),
        }
    }
}

impl Operation {
    fn new(
        method: Method,
        path: &'static str,
        role: Role,
        id: &'static str,
        about: &'static str,
        describe: fn(&mut Generators) -> Shape,
    ) -> Operation {
        Operation {
            changes: method != Method::GET,
            method,
            path,
            role,
            id,
            about,
            body_limit: BodyLimit::Standard,
            secret: false,
            probe: false,
            versioned: false,
            resumable: false,
            also: None,
            not_yet: false,
            dry_run: false,
            scope: None,
            unbound: false,
            refusals: &[],
            describe,
        }
    }
}

/// The answer type of an operation that is not implemented yet.
struct NotYet;

impl Answer for NotYet {
    fn reply(&self) -> &Reply {
        unreachable!("nothing makes one")
    }

    fn into_reply(self) -> Reply {
        unreachable!("nothing makes one")
    }

    fn describe(_: &mut SchemaGenerator) -> Option<AnswerShape> {
        None
    }
}

fn shape<P: JsonSchema, Q: JsonSchema, B: Body, A: Answer>(generators: &mut Generators) -> Shape {
    Shape {
        path: P::json_schema(&mut generators.requests),
        query: Q::json_schema(&mut generators.requests),
        body: B::describe(&mut generators.requests),
        answer: A::describe(&mut generators.answers),
    }
}
