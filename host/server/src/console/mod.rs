//! The console: the one page application at `/`. Its files are made from `host/console` and are part of the binary.
//!
//! The page's policy lets the browser load and ask from this server only, and run no script that is not one of its
//! files. A navigation to an address that is not the interface's answers the page as well (see
//! `lakeport_http::Edge`), so that each of its pages has an address.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read as _;
use std::sync::OnceLock;

use ::http::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, VARY,
};
use ::http::{HeaderMap, HeaderName, HeaderValue, Method};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use lakeport_base::Error;
use lakeport_bundled::ConsoleFile;
use lakeport_http::{Answer, AnswerShape, Nothing, Reply, Role, Route, accepts_coding, names};
use ring::rand::SecureRandom as _;
use schemars::{JsonSchema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::part::Part;

/// The page's file.
const PAGE: &str = "index.html";
/// Stands in the page where its nonce goes.
const NONCE: &str = "{{nonce}}";
const NONCE_BYTES: usize = 16;
/// The page of a build without the console.
const NOT_BUILT: &str = include_str!("not_built.html");
/// The policy of the page. `NONCE` lets a library add a style element, which holds no text of the server's.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{{nonce}}'; connect-src 'self'; \
    img-src 'self' data:; font-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// The policy of every other file: it is no page.
const FILE_POLICY: &str = "default-src 'none'; script-src 'self'; frame-ancestors 'none'";
/// A file's name holds the digest of its content, so a browser need not ask again.
const FOREVER: &str = "public, max-age=31536000, immutable";
const REFERRER_POLICY: HeaderName = HeaderName::from_static("referrer-policy");

/// The console's files, by name.
pub struct Console {
    files: HashMap<&'static str, (ConsoleFile, OnceLock<Bytes>)>,
    /// With [`NONCE`] in it.
    page: Cow<'static, str>,
}

impl Console {
    /// Fails if a file is broken.
    pub fn open() -> anyhow::Result<Console> {
        let files: HashMap<_, _> =
            lakeport_bundled::console().iter().map(|file| (file.name, (*file, OnceLock::new()))).collect();
        let page = match files.get(PAGE) {
            Some((page, _)) => Cow::Owned(String::from_utf8(unpacked(page)?)?),
            None => Cow::Borrowed(NOT_BUILT),
        };
        Ok(Console { files, page })
    }
}

pub fn part() -> Part<Console> {
    Part {
        routes: vec![
            Route::new(
                Method::GET,
                "/",
                Role::Anyone,
                "getIndex",
                "Open the console; as JSON: list the entry points of this server",
                index,
            ),
            Route::new(Method::GET, "/icon.svg", Role::Anyone, "getIcon", "Get the console's icon", icon),
            Route::new(
                Method::GET,
                "/assets/{file}",
                Role::Anyone,
                "getConsoleFile",
                "Get a file of the console",
                file,
            ),
        ],
        ..Part::default()
    }
}

type Call<P = Nothing> = lakeport_http::Call<Console, P>;

/// The entry points, for programs.
#[derive(Serialize, JsonSchema)]
struct Index {
    name: &'static str,
    version: &'static str,
    description: &'static str,
    docs: &'static str,
    plugins: &'static str,
    live: &'static str,
    ready: &'static str,
    metrics: &'static str,
}

const INDEX: Index = Index {
    name: "Lakeport",
    version: env!("CARGO_PKG_VERSION"),
    description: "/openapi.json",
    docs: "/docs",
    plugins: "/api/v1/plugins",
    live: "/health/live",
    ready: "/health/ready",
    metrics: "/metrics",
};

/// The page, or the entry points for a client that asks for no page.
struct IndexAnswer(Reply);

impl Answer for IndexAnswer {
    fn reply(&self) -> &Reply {
        &self.0
    }

    fn into_reply(self) -> Reply {
        self.0
    }

    fn describe(generator: &mut SchemaGenerator) -> Option<AnswerShape> {
        let index = generator.subschema_for::<Index>();
        let schema = json_schema!({ "anyOf": [{ "type": "string" }, index] });
        Some(AnswerShape::new(&["text/html", "application/json"], schema))
    }
}

async fn index(call: Call) -> Result<IndexAnswer, Error> {
    if !names(call.header(&ACCEPT).unwrap_or_default(), "text/html") {
        return Ok(IndexAnswer(Reply::json(&INDEX).header(VARY, HeaderValue::from_static("Accept"))));
    }
    let nonce = nonce()?;
    let page = call.state.page.replace(NONCE, &nonce);
    let policy = HeaderValue::from_str(&POLICY.replace(NONCE, &nonce)).map_err(Error::internal)?;
    let reply = Reply::bytes(HeaderValue::from_static("text/html; charset=utf-8"), page.into())
        .header(CONTENT_SECURITY_POLICY, policy)
        // The nonce is of this answer.
        .header(CACHE_CONTROL, HeaderValue::from_static("no-store"))
        .header(REFERRER_POLICY, HeaderValue::from_static("same-origin"))
        .header(VARY, HeaderValue::from_static("Accept"));
    Ok(IndexAnswer(reply))
}

fn nonce() -> Result<String, Error> {
    let mut random = [0; NONCE_BYTES];
    let filled = ring::rand::SystemRandom::new().fill(&mut random);
    filled.map_err(|_| Error::internal(anyhow::anyhow!("the system gives no random bytes")))?;
    Ok(BASE64_STANDARD.encode(random))
}

/// A file of the console, in its media type.
struct ConsoleAnswer(Reply);

impl Answer for ConsoleAnswer {
    fn reply(&self) -> &Reply {
        &self.0
    }

    fn into_reply(self) -> Reply {
        self.0
    }

    fn describe(_: &mut SchemaGenerator) -> Option<AnswerShape> {
        Some(AnswerShape::new(
            &["text/javascript", "text/css", "image/svg+xml"],
            json_schema!({ "type": "string" }),
        ))
    }
}

#[derive(Deserialize, JsonSchema)]
struct FilePath {
    file: String,
}

async fn file(call: Call<FilePath>) -> Result<ConsoleAnswer, Error> {
    let name = format!("assets/{}", call.path.file);
    answer(&call.state, &name, &call.headers)
}

async fn icon(call: Call) -> Result<ConsoleAnswer, Error> {
    answer(&call.state, "icon.svg", &call.headers)
}

fn answer(console: &Console, name: &str, asked: &HeaderMap) -> Result<ConsoleAnswer, Error> {
    let (file, plain) = console.files.get(name).ok_or_else(|| Error::not_found("file", name))?;
    let accepted = asked.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (bytes, coding) = if accepts_coding(accepted, "br") {
        (Bytes::from_static(file.brotli), Some("br"))
    } else if accepts_coding(accepted, "gzip") {
        (Bytes::from_static(file.gzip), Some("gzip"))
    } else {
        (plain_of(file, plain)?, None)
    };
    let cached = if name.starts_with("assets/") { FOREVER } else { "no-cache" };
    let mut reply = Reply::bytes(HeaderValue::from_static(media_type(name)), bytes)
        .header(CACHE_CONTROL, HeaderValue::from_static(cached))
        .header(CONTENT_SECURITY_POLICY, HeaderValue::from_static(FILE_POLICY));
    // Of an answer without a coding the server says it everywhere.
    if let Some(coding) = coding {
        reply = reply
            .header(CONTENT_ENCODING, HeaderValue::from_static(coding))
            .header(VARY, HeaderValue::from_static("Accept-Encoding"));
    }
    Ok(ConsoleAnswer(reply))
}

/// For clients that read no compressed answers; unpacked once.
fn plain_of(file: &ConsoleFile, plain: &OnceLock<Bytes>) -> Result<Bytes, Error> {
    if let Some(plain) = plain.get() {
        return Ok(plain.clone());
    }
    let bytes = Bytes::from(unpacked(file).map_err(Error::internal)?);
    Ok(plain.get_or_init(|| bytes).clone())
}

fn unpacked(file: &ConsoleFile) -> std::io::Result<Vec<u8>> {
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(file.gzip).read_to_end(&mut text)?;
    Ok(text)
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("html") => "text/html; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_a_build_without_the_console_says_how_to_build_it() {
        assert!(NOT_BUILT.contains("cargo xtask build") && NOT_BUILT.contains("/docs"));
    }

    #[test]
    fn the_policy_lets_no_script_in_but_the_files() {
        assert!(!POLICY.contains("unsafe") && POLICY.contains("script-src 'self';"));
    }

    #[test]
    fn the_page_has_no_inline_script_and_the_policy_s_nonce() {
        let console = Console::open().expect("its files are whole");
        let scripts = console.page.matches("<script").count();
        assert_eq!(
            console.page.matches("<script type=\"module\" crossorigin src=\"/assets/").count(),
            scripts
        );
        assert!(!console.page.contains(" style=") && !console.page.contains("http"));
        assert_eq!(console.page.contains(NONCE), !console.files.is_empty());
        assert_ne!(nonce().expect("random bytes"), nonce().expect("random bytes"));
    }
}
