//! One request as a handler sees it: parameters, query and body already bounded and checked, and the state
//! that the handler works on.

use std::fmt::Display;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, Method, Uri};
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;

use super::{RequestId, Role, form};
use crate::error::{Detail, Error};

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// What stands in the audit log.
    pub name: String,
    pub role: Role,
}

/// A request on its way to a handler.
pub struct Call<S> {
    pub state: Arc<S>,
    pub caller: Caller,
    pub request_id: RequestId,
    pub peer: SocketAddr,
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    pub(super) parameters: Vec<(String, String)>,
    pub(super) body: Bytes,
}

impl<S> Call<S> {
    /// A parameter of the path, decoded. 400 if it does not read as a `T`.
    pub fn path<T>(&self, name: &str) -> Result<T, Error>
    where
        T: FromStr,
        T::Err: Display,
    {
        let raw = self.parameters.iter().find(|(key, _)| key == name).map(|(_, text)| text.as_str());
        let Some(raw) = raw else {
            return Err(Error::internal(anyhow::anyhow!("the route has no path parameter `{name}`")));
        };
        let wrong = |why: String| Error::invalid(vec![Detail::new(name, why)]);
        let text =
            percent_decode_str(raw).decode_utf8().map_err(|_| wrong("is not UTF-8 text".to_owned()))?;
        text.parse::<T>().map_err(|error| wrong(error.to_string()))
    }

    /// The query as a form. Unknown parameters are ignored; 400 names every wrong one.
    pub fn query<T: DeserializeOwned>(&self) -> Result<T, Error> {
        form::from_query(self.uri.query().unwrap_or_default())
    }

    /// The body as JSON; an empty body is 400. See [`Call::json_or`] where the body may be absent.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        if self.body.is_empty() {
            return Err(Error::bad_request("body_missing", "the request has no body; send a JSON object"));
        }
        self.check_content_type()?;
        form::from_json(&self.body)
    }

    /// The body as JSON, or `absent` when there is none.
    pub fn json_or<T: DeserializeOwned>(&self, absent: T) -> Result<T, Error> {
        if self.body.is_empty() { Ok(absent) } else { self.json() }
    }

    /// The body as it came, whatever its Content-Type.
    pub fn bytes(&self) -> Bytes {
        self.body.clone()
    }

    /// A header as text; `None` when absent or not text.
    pub fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// No Content-Type is read as JSON; any other than JSON is 415.
    fn check_content_type(&self) -> Result<(), Error> {
        let Some(value) = self.headers.get(CONTENT_TYPE) else { return Ok(()) };
        let text = value.to_str().unwrap_or("not text");
        let kind = text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let json =
            kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"));
        if json { Ok(()) } else { Err(Error::unsupported_media_type(text)) }
    }
}
