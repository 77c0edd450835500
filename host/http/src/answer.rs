//! Typed answers: the type that a handler returns is the one in the OpenAPI description. An answer is
//! serialised when it is created, so that it can be stored beside its change before it is sent.

use std::marker::PhantomData;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, LOCATION, SET_COOKIE};
use http::{HeaderValue, StatusCode};
use lakeport_base::Error;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::{Reply, etag};

/// The media type of most answers.
const JSON: &[&str] = &["application/json"];

/// The return type of a handler.
pub trait Answer: Send + 'static {
    /// The reply to send.
    fn reply(&self) -> &Reply;
    fn into_reply(self) -> Reply;
    /// The media types and the schema; `None`: no body.
    fn describe(generator: &mut SchemaGenerator) -> Option<AnswerShape>;
}

/// The body of an answer in the OpenAPI description, in one of these media types.
pub struct AnswerShape {
    pub media: &'static [&'static str],
    pub schema: Schema,
    /// The headers of its own: each one's name and what it says.
    pub headers: &'static [(&'static str, &'static str)],
    pub status: StatusCode,
}

impl AnswerShape {
    pub fn new(media: &'static [&'static str], schema: Schema) -> AnswerShape {
        AnswerShape { media, schema, headers: &[], status: StatusCode::OK }
    }
}

/// `{"code":200,"message":"success","data":…}`, a success in areas B and C.
pub struct Data<T>(Reply, PhantomData<fn() -> T>);

#[derive(Serialize)]
struct Envelope<'a, T> {
    code: u16,
    message: &'static str,
    data: &'a T,
}

impl<T: Serialize> Data<T> {
    pub fn new(data: &T) -> Data<T> {
        Data(Reply::json(&Envelope { code: 200, message: "success", data }), PhantomData)
    }

    /// Adds the `ETag` of the resource, from that of its own definition; see [`crate::etag_of`].
    #[must_use]
    pub fn with_etag(self, definition: &str) -> Data<T> {
        Data(tagged(self.0, definition), PhantomData)
    }

    /// Sets a header.
    #[must_use]
    pub fn with_header(self, name: http::HeaderName, value: HeaderValue) -> Data<T> {
        Data(self.0.header(name, value), PhantomData)
    }
}

impl<T: JsonSchema + Send + 'static> Answer for Data<T> {
    fn reply(&self) -> &Reply {
        &self.0
    }

    fn into_reply(self) -> Reply {
        self.0
    }

    fn describe(generator: &mut SchemaGenerator) -> Option<AnswerShape> {
        Some(AnswerShape::new(JSON, enveloped(generator.subschema_for::<T>())))
    }
}

/// Not generic: it is compiled once, not for each type of data.
fn enveloped(data: Schema) -> Schema {
    json_schema!({
        "type": "object",
        "properties": {
            "code": { "const": 200 },
            "message": { "const": "success" },
            "data": data,
        },
        "required": ["code", "message", "data"],
    })
}

/// A bare object: a success in area A, of health, and of endpoints with a form of their own.
pub struct Bare<T>(Reply, PhantomData<fn() -> T>);

impl<T: Serialize> Bare<T> {
    pub fn new(value: &T) -> Bare<T> {
        Bare(Reply::json(value), PhantomData)
    }

    #[must_use]
    pub fn with_status(self, status: StatusCode) -> Bare<T> {
        Bare(self.0.status(status), PhantomData)
    }

    /// Adds the `ETag` of the resource, from that of its own definition; see [`crate::etag_of`].
    #[must_use]
    pub fn with_etag(self, definition: &str) -> Bare<T> {
        Bare(tagged(self.0, definition), PhantomData)
    }
}

impl<T: JsonSchema + Send + 'static> Answer for Bare<T> {
    fn reply(&self) -> &Reply {
        &self.0
    }

    fn into_reply(self) -> Reply {
        self.0
    }

    fn describe(generator: &mut SchemaGenerator) -> Option<AnswerShape> {
        Some(AnswerShape::new(JSON, generator.subschema_for::<T>()))
    }
}

/// A media type that is not JSON.
pub trait Media: Send + 'static {
    /// For the header.
    const CONTENT_TYPE: &'static str;
    /// For the OpenAPI description: without parameters.
    const NAMES: &'static [&'static str];
    /// Whether it is text.
    const TEXT: bool;
}

macro_rules! media {
    ($($(#[$doc:meta])* $name:ident = $content_type:literal, $media:literal, $text:literal;)*) => {$(
        $(#[$doc])*
        pub struct $name;
        impl Media for $name {
            const CONTENT_TYPE: &'static str = $content_type;
            const NAMES: &'static [&'static str] = &[$media];
            const TEXT: bool = $text;
        }
    )*};
}

media! {
    /// A WebAssembly component.
    Wasm = "application/wasm", "application/wasm", false;
    /// JSON that is a document of its own, such as the OpenAPI description.
    Document = "application/json", "application/json", false;
    /// Metrics in Prometheus' text format.
    Metrics = "text/plain; version=0.0.4; charset=utf-8", "text/plain", true;
    Html = "text/html; charset=utf-8", "text/html", true;
    Script = "text/javascript; charset=utf-8", "text/javascript", true;
    Style = "text/css; charset=utf-8", "text/css", true;
}

/// Bytes of one media type.
pub struct File<M>(Reply, PhantomData<fn() -> M>);

impl<M: Media> File<M> {
    pub fn new(bytes: impl Into<Bytes>) -> File<M> {
        File(Reply::bytes(HeaderValue::from_static(M::CONTENT_TYPE), bytes.into()), PhantomData)
    }

    /// Sets a header. Its value must not be a client's text.
    #[must_use]
    pub fn with_header(self, name: http::HeaderName, value: HeaderValue) -> File<M> {
        File(self.0.header(name, value), PhantomData)
    }

    /// Adds the `ETag` of the bytes; see [`crate::etag_of_bytes`].
    #[must_use]
    pub fn with_etag(self, etag: &str) -> File<M> {
        File(self.0.etagged(etag), PhantomData)
    }
}

impl<M: Media> Answer for File<M> {
    fn reply(&self) -> &Reply {
        &self.0
    }

    fn into_reply(self) -> Reply {
        self.0
    }

    fn describe(_: &mut SchemaGenerator) -> Option<AnswerShape> {
        let schema = if M::TEXT { json_schema!({ "type": "string" }) } else { json_schema!({}) };
        Some(AnswerShape::new(M::NAMES, schema))
    }
}

/// 302: the browser goes on to another address.
pub struct Redirect(Reply);

impl Redirect {
    /// 500 if the address cannot stand in a header.
    pub fn to(address: &str) -> Result<Redirect, Error> {
        let address = HeaderValue::from_str(address).map_err(Error::internal)?;
        let reply = Reply::empty(StatusCode::FOUND).header(LOCATION, address);
        Ok(Redirect(reply.header(CACHE_CONTROL, HeaderValue::from_static("no-store"))))
    }

    /// Adds a cookie.
    #[must_use]
    pub fn with_cookie(self, cookie: HeaderValue) -> Redirect {
        let mut reply = self.0;
        reply.headers.append(SET_COOKIE, cookie);
        Redirect(reply)
    }
}

impl Answer for Redirect {
    fn reply(&self) -> &Reply {
        &self.0
    }

    fn into_reply(self) -> Reply {
        self.0
    }

    fn describe(_: &mut SchemaGenerator) -> Option<AnswerShape> {
        let headers = &[("Location", "Where to go on")];
        Some(AnswerShape { headers, status: StatusCode::FOUND, ..AnswerShape::new(&[], json_schema!({})) })
    }
}

fn tagged(reply: Reply, definition: &str) -> Reply {
    let body = reply.content.whole().map_or(&[][..], |body| body);
    let etag = etag::with_answer(definition, body);
    reply.etagged(&etag)
}
