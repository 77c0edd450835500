//! Routes as data. A route says who may call it and what the description of the interface says of it; its
//! parameters, body and answer are those of its handler's types.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use http::Method;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;

use super::answer::AnswerShape;
use super::call::{Arrival, BodyShape};
use super::{Answer, Body, Call, Reply, Role};
use crate::error::Error;

/// How large a body may be; the numbers are the operator's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyLimit {
    /// `body_max_bytes`
    Standard,
    /// `plugin_upload_max_bytes`
    Upload,
}

type Running = Pin<Box<dyn Future<Output = Result<Reply, Error>> + Send>>;

/// A handler with its types taken away, so that routes can stand in one list.
type Handler<S> = Arc<dyn Fn(Arc<S>, Arrival) -> Running + Send + Sync>;

/// What a route's types say of it.
pub struct Shape {
    /// Objects whose properties are the parameters.
    pub path: Schema,
    pub query: Schema,
    pub body: Option<BodyShape>,
    pub answer: Option<AnswerShape>,
}

/// What makes schemas: a type that is read may leave members out where one that is written has them all.
pub struct Generators {
    pub requests: SchemaGenerator,
    pub answers: SchemaGenerator,
}

/// One method of one path.
pub struct Route<S> {
    pub method: Method,
    /// A path written whole, parameters in braces: `/api/v1/plugins/{name}`.
    pub path: &'static str,
    pub role: Role,
    /// The operation's name in the description of the interface: `listPlugins`. It never changes.
    pub operation: &'static str,
    /// One line for the description.
    pub about: &'static str,
    pub body_limit: BodyLimit,
    /// It is written to the audit log and answers repeats with its first answer.
    pub changes: bool,
    /// Its answer shows a secret: kept encrypted, briefly, and never compressed.
    pub secret: bool,
    /// Asked for all day by machines: logged at `debug`.
    pub probe: bool,
    /// Its resource has an `ETag`; a change takes `If-Match`.
    pub versioned: bool,
    /// Part of the interface whose room is not there yet.
    pub not_yet: bool,
    /// With `?dryRun=true` it changes nothing, and any viewer may ask.
    pub dry_run: bool,
    /// A scope that is enough to call it, whatever the role.
    pub scope: Option<&'static str>,
    /// Codes of refusals besides those that any route can answer with.
    pub refusals: &'static [&'static str],
    pub describe: fn(&mut Generators) -> Shape,
    handler: Handler<S>,
}

impl<S> Clone for Route<S> {
    fn clone(&self) -> Self {
        Route { method: self.method.clone(), handler: Arc::clone(&self.handler), ..*self }
    }
}

impl<S: Send + Sync + 'static> Route<S> {
    /// POST, PUT and DELETE change something, unless [`Route::reading`] says that this one does not.
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
        let changes = method != Method::GET;
        Route {
            method,
            path,
            role,
            operation,
            about,
            body_limit: BodyLimit::Standard,
            changes,
            secret: false,
            probe: false,
            versioned: false,
            dry_run: false,
            not_yet: false,
            scope: None,
            refusals: &[],
            describe: shape::<P, Q, B, A>,
            handler,
        }
    }

    /// Part of the interface, answered 501 until its room is there: parameters and body are described, not read.
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
            let message =
                format!("`{operation}` is part of the interface, but not of this version of Lakeport");
            Box::pin(std::future::ready(Err(Error::not_yet(message))))
        });
        let changes = method != Method::GET;
        Route {
            method,
            path,
            role,
            operation,
            about,
            body_limit: BodyLimit::Standard,
            changes,
            secret: false,
            probe: false,
            versioned: false,
            dry_run: false,
            not_yet: true,
            scope: None,
            refusals: &[],
            describe: shape::<P, Q, B, NotYet>,
            handler,
        }
    }

    /// Takes bodies up to the operator's limit for uploads.
    #[must_use]
    pub fn upload(self) -> Self {
        Route { body_limit: BodyLimit::Upload, ..self }
    }

    /// Changes nothing though it is no GET: a preview, a comparison, a test.
    #[must_use]
    pub fn reading(self) -> Self {
        Route { changes: false, ..self }
    }

    /// Its answer shows a secret.
    #[must_use]
    pub fn secret(self) -> Self {
        Route { secret: true, ..self }
    }

    /// Asked for all day by machines.
    #[must_use]
    pub fn probe(self) -> Self {
        Route { probe: true, ..self }
    }

    /// With `?dryRun=true` it changes nothing, and any viewer may ask.
    #[must_use]
    pub fn dry_run(self) -> Self {
        Route { dry_run: true, ..self }
    }

    /// Its resource has an `ETag`; a change takes `If-Match`.
    #[must_use]
    pub fn versioned(self) -> Self {
        Route { versioned: true, ..self }
    }

    /// A scope that is enough to call it.
    #[must_use]
    pub fn scope(self, scope: &'static str) -> Self {
        Route { scope: Some(scope), ..self }
    }

    /// Names the codes of its own refusals.
    #[must_use]
    pub fn refuses(self, codes: &'static [&'static str]) -> Self {
        Route { refusals: codes, ..self }
    }

    pub(super) fn run(&self, state: Arc<S>, arrival: Arrival) -> Running {
        (self.handler)(state, arrival)
    }
}

/// What a room that is not there answers with when it comes.
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
