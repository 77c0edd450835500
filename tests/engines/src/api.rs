//! A client of DolphinScheduler's API: one request per connection, forms in, JSON out.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use form_urlencoded::Serializer;
use serde_json::Value;

/// The time limit of one read or write.
const IO_MAX: Duration = Duration::from_secs(30);

/// The limit of one response.
const RESPONSE_BYTES_MAX: u64 = 16 << 20;

const FORM: &str = "application/x-www-form-urlencoded";

/// A client for one base URL, with the header that authenticates it.
#[derive(Clone, Debug)]
pub struct Api {
    /// `host:port`.
    address: String,
    /// The path of the base URL, without a slash at its end.
    base_path: String,
    header: Option<(String, String)>,
}

impl Api {
    /// A client without authentication, for `http://host:port/path`.
    pub fn new(base_url: &str) -> Result<Self> {
        let rest = base_url.strip_prefix("http://").context("the base URL must begin with http://")?;
        let (address, path) = rest.split_once('/').unwrap_or((rest, ""));
        let path = path.trim_end_matches('/');
        let base_path = if path.is_empty() { String::new() } else { format!("/{path}") };
        Ok(Self { address: address.to_owned(), base_path, header: None })
    }

    /// The same client with this header in each request.
    #[must_use]
    pub fn with_header(self, name: &str, value: &str) -> Self {
        Self { header: Some((name.to_owned(), value.to_owned())), ..self }
    }

    pub fn get(&self, path: &str, query: &[(&str, &str)]) -> Result<Answer> {
        self.send("GET", &with_query(path, query), FORM, "")
    }

    pub fn post(&self, path: &str, form: &[(&str, &str)]) -> Result<Answer> {
        self.send("POST", path, FORM, &encode(form))
    }

    pub fn post_json(&self, path: &str, body: &Value) -> Result<Answer> {
        self.send("POST", path, "application/json", &body.to_string())
    }

    pub fn put(&self, path: &str, form: &[(&str, &str)]) -> Result<Answer> {
        self.send("PUT", path, FORM, &encode(form))
    }

    pub fn delete(&self, path: &str) -> Result<Answer> {
        self.send("DELETE", path, FORM, "")
    }

    fn send(&self, method: &str, path: &str, content_type: &str, body: &str) -> Result<Answer> {
        let exchange = || {
            let mut stream = TcpStream::connect(&self.address)?;
            stream.set_read_timeout(Some(IO_MAX))?;
            stream.set_write_timeout(Some(IO_MAX))?;
            stream.write_all(self.request(method, path, content_type, body).as_bytes())?;
            let mut response = Vec::new();
            stream.take(RESPONSE_BYTES_MAX).read_to_end(&mut response)?;
            Answer::parse(&response)
        };
        exchange().with_context(|| format!("{method} http://{}{}{path}", self.address, self.base_path))
    }

    /// HTTP/1.0, so that the server closes the connection and sends no chunks.
    fn request(&self, method: &str, path: &str, content_type: &str, body: &str) -> String {
        let Self { address, base_path, .. } = self;
        let mut text = format!("{method} {base_path}{path} HTTP/1.0\r\nHost: {address}\r\n");
        if let Some((name, value)) = &self.header {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            text.push_str(&format!("Content-Type: {content_type}\r\n"));
        }
        text.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        text
    }
}

fn with_query(path: &str, query: &[(&str, &str)]) -> String {
    if query.is_empty() { path.to_owned() } else { format!("{path}?{}", encode(query)) }
}

fn encode(pairs: &[(&str, &str)]) -> String {
    Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// A response.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
}

impl Answer {
    fn parse(response: &[u8]) -> Result<Self> {
        let end = response.windows(4).position(|window| window == b"\r\n\r\n");
        let end = end.context("the response ended within its headers")?;
        let head = std::str::from_utf8(&response[..end]).context("the headers are not text")?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.with_context(|| format!("no HTTP status in `{head}`"))?;
        let body = response[end + 4..].to_vec();
        for line in head.lines() {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            ensure!(!name.eq_ignore_ascii_case("transfer-encoding"), "a chunked answer to HTTP/1.0");
            if name.eq_ignore_ascii_case("content-length") {
                let length: usize = value.trim().parse().context("no length in Content-Length")?;
                ensure!(body.len() >= length, "{} of {length} bytes arrived", body.len());
            }
        }
        Ok(Self { status, body })
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Result<Value> {
        let parsed = serde_json::from_slice(&self.body);
        parsed.with_context(|| format!("HTTP {} without JSON: {}", self.status, self.text()))
    }

    /// `data` of a success. Errors also come with status 200 or 201; only the code tells.
    pub fn data(&self) -> Result<Value> {
        let mut json = self.json()?;
        if json["code"] != 0 {
            bail!("HTTP {}, code {}: {}", self.status, json["code"], json["msg"]);
        }
        Ok(json["data"].take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_its_header_and_form() {
        let api = Api::new("http://127.0.0.1:80/base/").expect("a URL").with_header("token", "abc");
        let request = api.request("POST", "/projects", FORM, &encode(&[("projectName", "a b&c")]));
        let expected = "POST /base/projects HTTP/1.0\r\nHost: 127.0.0.1:80\r\ntoken: abc\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 19\r\n\r\n\
             projectName=a+b%26c";
        assert_eq!(request, expected);
        assert_eq!(with_query("/a", &[("b", "1"), ("c", "/")]), "/a?b=1&c=%2F");
        Api::new("https://127.0.0.1").expect_err("only http");
    }

    #[test]
    fn a_response_is_read_whole_or_refused() {
        let response = b"HTTP/1.1 201 Created\r\nContent-Length: 22\r\n\r\n{\"code\":0,\"data\":[12]}";
        let answer = Answer::parse(response).expect("complete");
        assert_eq!((answer.status, answer.data().expect("a success")), (201, serde_json::json!([12])));
        Answer::parse(&response[..response.len() - 1]).expect_err("a byte is missing");
        Answer::parse(b"HTTP/1.1 200 OK\r\nContent-").expect_err("cut within the headers");
        let failed = Answer::parse(b"HTTP/1.1 201 Created\r\n\r\n{\"code\":10019,\"msg\":\"exists\"}");
        let error = failed.expect("complete").data().expect_err("its code is not 0");
        assert_eq!(error.to_string(), "HTTP 201, code 10019: \"exists\"");
    }
}
