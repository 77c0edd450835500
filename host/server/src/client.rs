//! A client of Lakeport's own HTTP interface, for the command line: plain HTTP, one server, JSON or bytes.

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::{Context, bail};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http::request::Builder;
use http::{Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use tokio::time::timeout;

use crate::agent::Events;

/// Longer than the server's own time limit.
const TIMEOUT: Duration = Duration::from_secs(60);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The largest component, and reserve.
const ANSWER_MAX_BYTES: usize = 80 * 1024 * 1024;
const JSON: &str = "application/json";
/// Characters that need no encoding in a path segment.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

pub struct Client {
    /// Without a trailing slash.
    base: String,
    token: Option<String>,
    http: HyperClient<HttpConnector, Full<Bytes>>,
}

/// A text as one segment of a path.
pub fn segment(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

impl Client {
    pub fn new(url: &str, token: Option<String>) -> anyhow::Result<Client> {
        let base = url.trim_end_matches('/').to_owned();
        let uri: Uri =
            base.parse().with_context(|| format!("`{url}` is not an address like http://127.0.0.1:8080"))?;
        match uri.scheme_str() {
            Some("http") if uri.authority().is_some() && uri.path() == "/" => {}
            Some("https") => bail!(
                "this command speaks plain HTTP only, and `{url}` is https; \
                 open a tunnel to the server and name its near end with http://"
            ),
            _ => bail!("`{url}` is not an address like http://127.0.0.1:8080"),
        }
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        Ok(Client { base, token, http: HyperClient::builder(TokioExecutor::new()).build(connector) })
    }

    /// The `data` of a GET.
    pub async fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.json(Method::GET, path, None).await
    }

    /// The `data` of a request with a JSON body, or none.
    pub async fn json(&self, method: Method, path: &str, body: Option<&Value>) -> anyhow::Result<Value> {
        let body = body.map(|body| (JSON, Bytes::from(body.to_string())));
        data(&self.send(method, path, body).await?)
    }

    /// The whole answer to a request, where it has no envelope.
    pub async fn whole(&self, method: Method, path: &str, body: Option<&Value>) -> anyhow::Result<Value> {
        let body = body.map(|body| (JSON, Bytes::from(body.to_string())));
        let answer = self.send(method, path, body).await?;
        serde_json::from_slice(&answer).context("the answer is not JSON; is this a Lakeport?")
    }

    /// A stream of server-sent events; `None`: it has ended.
    pub async fn events(&self, path: &str) -> anyhow::Result<Option<EventStream>> {
        let request = self.request(Method::GET, path)?.body(Full::new(Bytes::new()))?;
        let response = timeout(TIMEOUT, self.http.request(request)).await;
        let response = response
            .map_err(|_| anyhow::anyhow!("{} did not answer within {TIMEOUT:?}", self.base))?
            .map_err(|error| self.unreachable(&error))?;
        match response.status() {
            StatusCode::NO_CONTENT => Ok(None),
            StatusCode::OK => {
                let body = response.into_body();
                Ok(Some(EventStream { body, events: Events::default(), read: VecDeque::new() }))
            }
            status => {
                let body = Limited::new(response.into_body(), ANSWER_MAX_BYTES).collect().await;
                Err(refusal(status, &body.map(|body| body.to_bytes()).unwrap_or_default()))
            }
        }
    }

    /// The `data` of a POST of bytes.
    pub async fn upload(
        &self,
        path: &str,
        content_type: &'static str,
        bytes: Bytes,
    ) -> anyhow::Result<Value> {
        data(&self.send(Method::POST, path, Some((content_type, bytes))).await?)
    }

    /// The unchanged body of a GET.
    pub async fn bytes(&self, path: &str) -> anyhow::Result<Bytes> {
        self.send(Method::GET, path, None).await
    }

    fn request(&self, method: Method, path: &str) -> anyhow::Result<Builder> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.base));
        if let Some(token) = &self.token {
            let mut value =
                HeaderValue::from_str(&format!("Bearer {token}")).context("the token is not a token")?;
            value.set_sensitive(true);
            request = request.header(AUTHORIZATION, value);
        }
        Ok(request)
    }

    async fn send(&self, method: Method, path: &str, body: Option<(&str, Bytes)>) -> anyhow::Result<Bytes> {
        let mut request = self.request(method, path)?;
        let bytes = match body {
            Some((content_type, bytes)) => {
                request = request.header(CONTENT_TYPE, content_type);
                bytes
            }
            None => Bytes::new(),
        };
        let request = request.body(Full::new(bytes))?;
        let exchange = async {
            let response = self.http.request(request).await.map_err(|error| self.unreachable(&error))?;
            let status = response.status();
            let whole = Limited::new(response.into_body(), ANSWER_MAX_BYTES).collect().await;
            let whole = whole
                .map_err(|error| anyhow::anyhow!("the answer of {} is incomplete: {error}", self.base))?;
            Ok::<_, anyhow::Error>((status, whole.to_bytes()))
        };
        let in_time = timeout(TIMEOUT, exchange).await;
        let (status, body) =
            in_time.map_err(|_| anyhow::anyhow!("{} did not answer within {TIMEOUT:?}", self.base))??;
        if status.is_success() { Ok(body) } else { Err(refusal(status, &body)) }
    }

    fn unreachable(&self, error: &hyper_util::client::legacy::Error) -> anyhow::Error {
        if error.is_connect() {
            anyhow::anyhow!(
                "no server answers at {}: start one with `lakeport serve`, or name another with --url or LAKEPORT_URL",
                self.base
            )
        } else {
            anyhow::anyhow!("{} broke the connection: {error}", self.base)
        }
    }
}

/// Server-sent events, one after the other.
pub struct EventStream {
    body: Incoming,
    events: Events,
    read: VecDeque<String>,
}

impl EventStream {
    /// The data of the next event; `None`: that was the last one. An error: the connection broke, or was silent.
    pub async fn next(&mut self) -> anyhow::Result<Option<String>> {
        loop {
            if let Some(data) = self.read.pop_front() {
                return Ok(Some(data));
            }
            let frame = timeout(TIMEOUT, self.body.frame()).await.context("the server is silent")?;
            match frame {
                None => return Ok(None),
                Some(frame) => {
                    let part = frame.context("the connection broke")?.into_data().unwrap_or_default();
                    self.read.extend(self.events.take(&part).into_iter().map(|event| event.data));
                }
            }
        }
    }
}

fn data(body: &[u8]) -> anyhow::Result<Value> {
    let mut answer: Value =
        serde_json::from_slice(body).context("the answer is not JSON; is this a Lakeport?")?;
    match answer.get_mut("data") {
        Some(data) => Ok(data.take()),
        None => bail!("the answer has no `data`; is this a Lakeport?"),
    }
}

/// The server's error, for a terminal.
fn refusal(status: StatusCode, body: &[u8]) -> anyhow::Error {
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    match (answer["message"].as_str(), answer["error"].as_str(), answer["requestId"].as_str()) {
        (Some(message), Some(code), Some(id)) => {
            let message: String = message.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            anyhow::anyhow!("{message} ({code}, request id {id})")
        }
        _ => anyhow::anyhow!("the server answered {status}; is this a Lakeport?"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_segment() {
        assert_eq!(segment("tool:run_sql"), "tool%3Arun_sql");
        assert_eq!(segment("../x?y"), "..%2Fx%3Fy");
    }

    #[test]
    fn only_plain_http_without_a_path_is_taken() {
        assert!(Client::new("http://127.0.0.1:8080/", None).is_ok());
        let https = Client::new("https://lake.example", None).err().unwrap().to_string();
        assert!(https.contains("tunnel"), "{https}");
        for wrong in ["127.0.0.1:8080", "http://", "ftp://a", "http://a/b", ""] {
            assert!(Client::new(wrong, None).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_refusal_shows_code_and_request_id() {
        let body = br#"{"code":409,"error":"in_use","message":"it is\u001b[2J active","data":null,"requestId":"r1"}"#;
        assert_eq!(
            refusal(StatusCode::CONFLICT, body).to_string(),
            "it is [2J active (in_use, request id r1)"
        );
        assert!(refusal(StatusCode::BAD_GATEWAY, b"<html>").to_string().contains("502"));
    }
}
