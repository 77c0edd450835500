//! One request as a handler sees it: path, query and body already read into the handler's own types, who
//! asks, and the state that the handler works on.

use std::any::Any;
use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, IF_MATCH};
use http::{HeaderMap, HeaderName, Method, Uri};
use lakeport_base::error::{Detail, Error};
use percent_encoding::percent_decode_str;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use tokio::time::Instant;

use super::form::Draft;
use super::gate::Attempt;
use super::{Caller, RequestId, form};

/// What of a request's time is left for its answer when it waited for something: one part of so many.
const ANSWER_SHARE: u32 = 10;

/// No parameters, or no body: what is there is not looked at.
#[derive(Debug, Default, Clone, Copy, Deserialize, JsonSchema)]
pub struct Nothing {}

/// A request on its way to a handler: `P` are the path's parameters, `Q` those of the query, `B` is the body.
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
    /// From here on the client is told that it took too long.
    pub deadline: Instant,
    /// What the change writes itself down with; `None` on a route that changes nothing.
    pub attempt: Option<Arc<Attempt>>,
}

/// A body as a handler wants it.
pub trait Body: Sized + Send + 'static {
    /// 400 or 415 when it is not one.
    fn read(bytes: &Bytes, headers: &HeaderMap) -> Result<Self, Error>;
    /// What the description says; `None`: none is looked at.
    fn describe(generator: &mut SchemaGenerator) -> Option<BodyShape>;
    /// 400 with all that is wrong with it: what the handler found, and what could not be read of it.
    fn refuse(&self, found: Vec<Detail>) -> Result<(), Error> {
        if found.is_empty() { Ok(()) } else { Err(Error::invalid(found)) }
    }
}

/// What the description says of a request's body.
pub struct BodyShape {
    pub media: &'static str,
    pub schema: Schema,
    pub required: bool,
}

/// A JSON body that must be there.
#[derive(Debug)]
pub struct Json<T>(pub T);

/// A JSON body, or none.
#[derive(Debug)]
pub struct OptionalJson<T>(pub Option<T>);

/// A body as it came, whatever its Content-Type.
#[derive(Debug)]
pub struct Raw(pub Bytes);

impl<T> Deref for Json<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl Body for Nothing {
    /// One that nobody asked for is JSON, or the client is told that it is not.
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

/// A JSON body with rules that its handler knows: what breaks them is told together with wrong types.
impl<T: DeserializeOwned + JsonSchema + Send + 'static> Body for Draft<T> {
    fn read(bytes: &Bytes, headers: &HeaderMap) -> Result<Draft<T>, Error> {
        if bytes.is_empty() {
            return Err(Error::bad_request("body_missing", "the request has no body; send a JSON object"));
        }
        check_content_type(headers)?;
        form::draft_from_json(bytes)
    }

    fn describe(generator: &mut SchemaGenerator) -> Option<BodyShape> {
        let schema = generator.subschema_for::<T>();
        Some(BodyShape { media: "application/json", schema, required: true })
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
        Some(BodyShape { media: "application/json", schema, required: false })
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

    /// Until when its answer may wait for something, counted from its start.
    pub fn wait_until(&self, at_most: Duration) -> Instant {
        let whole = self.deadline - self.started;
        self.started + at_most.min(whole - whole / ANSWER_SHARE)
    }

    /// 412 when the client names a version of the resource (`If-Match`) and this is another.
    pub fn check_if_match(&self, etag: &str) -> Result<(), Error> {
        let mut named = self.headers.get_all(IF_MATCH).iter().peekable();
        if named.peek().is_none() {
            return Ok(());
        }
        let fits = |text: &str| text.split(',').map(str::trim).any(|tag| tag == "*" || tag == etag);
        if named.any(|value| value.to_str().is_ok_and(fits)) {
            return Ok(());
        }
        Err(Error::stale(
            "it was changed since you read it; read it again, then send your change with its new ETag",
        ))
    }
}

/// No Content-Type is read as JSON; any other than JSON is 415.
fn check_content_type(headers: &HeaderMap) -> Result<(), Error> {
    let Some(value) = headers.get(CONTENT_TYPE) else { return Ok(()) };
    let text = value.to_str().unwrap_or("not text");
    let kind = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let json = kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"));
    if json { Ok(()) } else { Err(Error::unsupported_media_type(text)) }
}

/// A request that found its route, before the handler's types are read.
pub struct Arrival {
    pub caller: Arc<Caller>,
    pub request_id: RequestId,
    pub operation: &'static str,
    pub peer: SocketAddr,
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    /// As they stand in the path, still percent-encoded.
    pub parameters: Vec<(String, String)>,
    pub body: Bytes,
    pub started: Instant,
    pub deadline: Instant,
    pub attempt: Option<Arc<Attempt>>,
}

impl Arrival {
    /// 400 names what does not fit the handler's types.
    pub(super) fn read<S, P, Q, B>(self, state: Arc<S>) -> Result<Call<S, P, Q, B>, Error>
    where
        P: DeserializeOwned + 'static,
        Q: DeserializeOwned + 'static,
        B: Body,
    {
        let path = match nothing() {
            Some(nothing) => nothing,
            None => form::from_path(&self.parameters)?,
        };
        let query = match nothing() {
            Some(nothing) => nothing,
            None => form::from_query(self.uri.query().unwrap_or_default())?,
        };
        let body = B::read(&self.body, &self.headers)?;
        Ok(Call {
            state,
            caller: self.caller,
            request_id: self.request_id,
            peer: self.peer,
            headers: self.headers,
            path,
            query,
            body,
            started: self.started,
            deadline: self.deadline,
            attempt: self.attempt,
        })
    }
}

/// `Nothing`, where that is what is wanted: there is nothing to read then.
fn nothing<T: 'static>() -> Option<T> {
    let mut nothing = Some(Nothing {});
    (&mut nothing as &mut dyn Any).downcast_mut::<Option<T>>().and_then(Option::take)
}

/// A part of a path without its percent-encoding, for the log and the audit.
pub(super) fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}
