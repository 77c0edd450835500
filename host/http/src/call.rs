//! A request for a handler: path, query and body parsed into the handler's types, the caller, and the
//! handler's state.

use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, IF_MATCH, IF_NONE_MATCH};
use http::{HeaderMap, HeaderName};
use lakeport_base::error::{Detail, Error};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use tokio::time::Instant;

use super::form::Draft;
use super::gate::Attempt;
use super::{Caller, RequestId, etag, form};

/// The media type of most bodies.
pub const JSON_BODY: &str = "application/json";
/// One part in so many of a request's time is reserved for the answer after a wait.
const ANSWER_SHARE: u32 = 10;

/// No parameters, or no body. Ignores what the request has.
#[derive(Debug, Default, Clone, Copy, Deserialize, JsonSchema)]
pub struct Nothing {}

/// A request for a handler: `P` are the parameters of the path, `Q` those of the query, `B` is the body.
pub struct Call<S, P = Nothing, Q = Nothing, B = Nothing> {
    pub state: Arc<S>,
    pub caller: Arc<Caller>,
    pub request_id: RequestId,
    pub peer: SocketAddr,
    pub headers: HeaderMap,
    pub path: P,
    pub query: Q,
    pub body: B,
    pub started: Instant,
    /// After this time the client gets a timeout.
    pub deadline: Instant,
    /// The change's record for audit and idempotency; `None` on a route that changes nothing.
    pub attempt: Option<Arc<Attempt>>,
}

/// A body in the form that a handler takes.
pub trait Body: Sized + Send + 'static {
    /// 400 or 415 when the body is not of this form.
    fn read(bytes: &Bytes, headers: &HeaderMap) -> Result<Self, Error>;
    /// The body in the OpenAPI description; `None`: the route reads none.
    fn describe(generator: &mut SchemaGenerator) -> Option<BodyShape>;
    /// 400 with all errors of the body: the handler's, and those of parsing.
    fn refuse(&self, found: Vec<Detail>) -> Result<(), Error> {
        if found.is_empty() { Ok(()) } else { Err(Error::invalid(found)) }
    }
}

/// A request's body in the OpenAPI description.
pub struct BodyShape {
    pub media: &'static str,
    pub schema: Schema,
    pub required: bool,
}

/// A required JSON body.
#[derive(Debug)]
pub struct Json<T>(pub T);

/// An optional JSON body.
#[derive(Debug)]
pub struct OptionalJson<T>(pub Option<T>);

/// The bytes of the body, of any Content-Type.
#[derive(Debug)]
pub struct Raw(pub Bytes);

impl<T> Deref for Json<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl Body for Nothing {
    /// A body that the route does not need must still be JSON. Its members are unknown, and are ignored.
    fn read(bytes: &Bytes, headers: &HeaderMap) -> Result<Nothing, Error> {
        if !bytes.is_empty() {
            check_content_type(headers)?;
            form::from_json::<IgnoredAny>(bytes)?;
        }
        Ok(Nothing {})
    }

    fn describe(_: &mut SchemaGenerator) -> Option<BodyShape> {
        None
    }
}

impl<T: DeserializeOwned + JsonSchema + Send + 'static> Body for Json<T> {
    fn read(bytes: &Bytes, headers: &HeaderMap) -> Result<Json<T>, Error> {
        <Draft<T> as Body>::read(bytes, headers)?.whole().map(Json)
    }

    fn describe(generator: &mut SchemaGenerator) -> Option<BodyShape> {
        Draft::<T>::describe(generator)
    }
}

/// A JSON body with rules that its handler checks: one answer lists the broken rules and the wrong types.
impl<T: DeserializeOwned + JsonSchema + Send + 'static> Body for Draft<T> {
    fn read(bytes: &Bytes, headers: &HeaderMap) -> Result<Draft<T>, Error> {
        if bytes.is_empty() {
            return Err(Error::bad_request("body_missing", "the request has no body; send a JSON object"));
        }
        check_content_type(headers)?;
        form::known_from_json(bytes)
    }

    fn describe(generator: &mut SchemaGenerator) -> Option<BodyShape> {
        let schema = generator.subschema_for::<T>();
        Some(BodyShape { media: JSON_BODY, schema, required: true })
    }

    fn refuse(&self, found: Vec<Detail>) -> Result<(), Error> {
        Draft::refuse(self, found)
    }
}

impl<T: DeserializeOwned + JsonSchema + Send + 'static> Body for OptionalJson<T> {
    fn read(bytes: &Bytes, headers: &HeaderMap) -> Result<OptionalJson<T>, Error> {
        if bytes.is_empty() {
            return Ok(OptionalJson(None));
        }
        check_content_type(headers)?;
        if bytes.trim_ascii() == b"null" {
            return Ok(OptionalJson(None));
        }
        Json::read(bytes, headers).map(|Json(value)| OptionalJson(Some(value)))
    }

    fn describe(generator: &mut SchemaGenerator) -> Option<BodyShape> {
        let schema = generator.subschema_for::<T>();
        Some(BodyShape { media: JSON_BODY, schema, required: false })
    }
}

impl Body for Raw {
    fn read(bytes: &Bytes, _: &HeaderMap) -> Result<Raw, Error> {
        Ok(Raw(bytes.clone()))
    }

    fn describe(_: &mut SchemaGenerator) -> Option<BodyShape> {
        Some(BodyShape { media: "application/octet-stream", schema: json_schema!({}), required: true })
    }
}

impl<S, P, Q, B> Call<S, P, Q, B> {
    /// A header as text; `None` when absent or not text.
    pub fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The end of a wait of `at_most`, from the start of the request, that leaves time for the answer.
    pub fn wait_until(&self, at_most: Duration) -> Instant {
        let whole = self.deadline - self.started;
        self.started + at_most.min(whole - whole / ANSWER_SHARE)
    }

    /// 412 when the request is for another version of the resource, by `If-Match` or `If-None-Match`. `definition` is
    /// the tag of the resource's own definition.
    pub fn check_if_match(&self, definition: &str) -> Result<(), Error> {
        if etag::may_change(&self.headers, definition) {
            return Ok(());
        }
        Err(Error::stale(
            "the tag of If-Match or If-None-Match does not fit: the resource has changed since you read it, or the tag is \
             weak or of another resource; read it again and repeat your change with its ETag",
        ))
    }

    /// Whether the request is for one version of the resource only.
    pub fn is_conditional(&self) -> bool {
        self.headers.contains_key(IF_MATCH) || self.headers.contains_key(IF_NONE_MATCH)
    }
}

/// A missing Content-Type counts as JSON; any other type than JSON is 415.
fn check_content_type(headers: &HeaderMap) -> Result<(), Error> {
    let Some(value) = headers.get(CONTENT_TYPE) else { return Ok(()) };
    let text = value.to_str().unwrap_or("not text");
    let kind = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let json = kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"));
    if json { Ok(()) } else { Err(Error::unsupported_media_type(text)) }
}
