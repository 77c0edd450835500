//! The log-in of an instance: its tokens, and what is done when it is refused.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::SET_COOKIE;
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::{Error, Upstream};
use lakeport_bindings::host::web::{AuthRecipe, Exchange, Extraction};
use lakeport_http_rules::CallRule;
use serde_json::Value;
use tokio::sync::Mutex;
use zeroize::Zeroizing;

use super::hiding::hide_all;
use super::{CallBounds, InstanceHttp, answer, request, template};

/// Refusals that are not slowed down: a session may end just then.
const FREE_REFUSALS: u32 = 2;
/// The pause after the first further refusal; it doubles up to the longest.
const PAUSE: Duration = Duration::from_secs(5);
const PAUSE_MAX: Duration = Duration::from_secs(5 * 60);
/// The longest token, in bytes.
const TOKEN_MAX_BYTES: usize = 16 * 1024;
/// A lifetime ends so much earlier, or at its half if that is later.
const LIFETIME_MARGIN: Duration = Duration::from_secs(30);
/// Of what a refusing system says, in characters.
const SAID_MAX_CHARS: usize = 200;

/// What a log-in has given.
pub struct Tokens {
    values: BTreeMap<String, Zeroizing<String>>,
    until: Option<Instant>,
    number: u64,
}

impl Tokens {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|value| value.as_str())
    }

    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.values.values().map(|value| value.as_str())
    }
}

/// One at a time: who has the lock logs in, and others take what it got.
#[derive(Default)]
pub struct LogIn(Mutex<State>);

#[derive(Default)]
struct State {
    tokens: Option<Arc<Tokens>>,
    made: u64,
    refusals: u32,
    /// No log-in before this time, and why.
    pause: Option<(Instant, Error)>,
}

impl LogIn {
    /// The tokens; `make` logs in if there are none.
    pub async fn tokens<F>(&self, make: impl FnOnce() -> F) -> Result<Arc<Tokens>, Error>
    where
        F: Future<Output = Result<Made, Error>>,
    {
        let mut state = self.0.lock().await;
        let now = Instant::now();
        if let Some(tokens) =
            state.tokens.as_ref().filter(|tokens| tokens.until.is_none_or(|until| until > now))
        {
            return Ok(Arc::clone(tokens));
        }
        if let Some((until, why)) = state.pause.as_ref().filter(|(until, _)| *until > now) {
            let left_ms = until.saturating_duration_since(now).as_millis();
            return Err(Error {
                retry_after_ms: Some(u32::try_from(left_ms).unwrap_or(u32::MAX)),
                ..why.clone()
            });
        }
        match make().await {
            Ok(made) => {
                state.made += 1;
                let tokens = Tokens { values: made.values, until: made.until, number: state.made };
                let tokens = Arc::new(tokens);
                (state.tokens, state.refusals, state.pause) = (Some(Arc::clone(&tokens)), 0, None);
                Ok(tokens)
            }
            Err(refused) if refused.code == "unauthorized" => {
                state.refusals += 1;
                if let Some(doublings) = state.refusals.checked_sub(FREE_REFUSALS + 1) {
                    let pause = (PAUSE * 2u32.pow(doublings.min(10))).min(PAUSE_MAX);
                    state.pause = Some((Instant::now() + pause, refused.clone()));
                }
                Err(refused)
            }
            Err(failed) => Err(failed),
        }
    }

    /// Forgets tokens that were rejected; newer ones stay.
    pub async fn forget(&self, rejected: &Tokens) {
        let mut state = self.0.lock().await;
        if state.tokens.as_ref().is_some_and(|tokens| tokens.number == rejected.number) {
            state.tokens = None;
        }
    }
}

/// The result of all requests of a log-in.
pub struct Made {
    values: BTreeMap<String, Zeroizing<String>>,
    until: Option<Instant>,
}

/// Sends the requests of a recipe in order. `unauthorized` if it is refused.
pub async fn make(http: &InstanceHttp, bounds: &CallBounds, recipe: &AuthRecipe) -> Result<Made, Error> {
    let mut tokens = Tokens { values: BTreeMap::new(), until: None, number: 0 };
    for exchange in &recipe.log_in {
        let begun = Instant::now();
        let answer = send(http, bounds, exchange, &tokens).await?;
        let status = answer.status().as_u16();
        if answer.body().len() > answer::JUDGED_MAX_BYTES {
            let most = answer::JUDGED_MAX_BYTES;
            return Err(error("limit_exceeded", format!("the log-in's answer has more than {most} bytes")));
        }
        let is_success = match exchange.statuses.as_slice() {
            [] => answer.status().is_success(),
            statuses => statuses.contains(&status),
        };
        if !is_success && matches!(status, 408 | 429 | 500..) {
            let message = format!("the log-in at {} failed: it answered {status}", exchange.request.address);
            return Err(Error { retryable: true, ..error("upstream_failed", message) });
        }
        if !is_success || !answer::fits(answer.body(), &exchange.expect) {
            return Err(refused(http, exchange, status, answer.body()));
        }
        for extraction in &exchange.tokens {
            let value = extracted(extraction, &answer).filter(|value| value.len() <= TOKEN_MAX_BYTES);
            let value = value.ok_or_else(|| {
                let message = format!("the log-in's answer has no {} {:?}", extraction.source, extraction.at);
                error("bad_answer", message)
            })?;
            tokens.values.insert(extraction.token.clone(), value);
        }
        if let Some(lifetime) = lifetime(exchange, answer.body()) {
            let until = begun + lifetime.saturating_sub(LIFETIME_MARGIN).max(lifetime / 2);
            tokens.until = Some(tokens.until.map_or(until, |before| before.min(until)));
        }
    }
    Ok(Made { values: tokens.values, until: tokens.until })
}

async fn send(
    http: &InstanceHttp,
    bounds: &CallBounds,
    exchange: &Exchange,
    tokens: &Tokens,
) -> Result<http::Response<Bytes>, Error> {
    let request = &exchange.request;
    let address = http.addresses.iter().find(|address| address.name() == request.address);
    let address = address
        .ok_or_else(|| error("not_granted", format!("there is no address named {:?}", request.address)))?;
    let slots = template::Slots { secrets: &http.secrets, settings: &http.settings, tokens: Some(tokens) };
    let ready = request::build(request, address.base()?, None, &slots)?;
    let Some(left) = bounds.left(request.timeout_ms) else {
        return Err(error("timeout", "the time of the call is over; nothing was sent"));
    };
    // Logging in again does no harm.
    let rule = CallRule::parse("POST", "reads", &[]).map_err(|why| error("internal", why))?;
    http.exchange(bounds, ready, left).await.map_err(|failed| failed.of(&rule, &request.address))
}

/// The log-in itself was refused.
fn refused(http: &InstanceHttp, exchange: &Exchange, status: u16, body: &[u8]) -> Error {
    // Before it is cut: a part of a secret would not be found.
    let said = hide_all(body.to_vec(), &http.secrets.hidden(None));
    let said: String = String::from_utf8_lossy(&said).chars().take(SAID_MAX_CHARS).collect();
    let address = &exchange.request.address;
    let upstream = Upstream { system: address.clone(), status: Some(status), code: None, message: said };
    let message = format!("the log-in at {address} was refused: check the secrets of this engine");
    Error { upstream: Some(upstream), ..error("unauthorized", message) }
}

fn extracted(extraction: &Extraction, answer: &http::Response<Bytes>) -> Option<Zeroizing<String>> {
    let text = match extraction.source.as_str() {
        "json" => match serde_json::from_slice::<Value>(answer.body()).ok()?.pointer(&extraction.at)? {
            Value::String(text) => text.clone(),
            value @ Value::Number(_) => value.to_string(),
            _ => return None,
        },
        "header" => answer.headers().get(&extraction.at)?.to_str().ok()?.to_owned(),
        "cookie" => answer.headers().get_all(SET_COOKIE).iter().find_map(|cookie| {
            let (name, rest) = cookie.to_str().ok()?.split_once('=')?;
            let value = rest.split(';').next()?.trim();
            (name.trim() == extraction.at).then(|| value.to_owned())
        })?,
        _ => return None,
    };
    (!text.is_empty()).then(|| Zeroizing::new(text))
}

fn lifetime(exchange: &Exchange, body: &[u8]) -> Option<Duration> {
    let said = exchange.lifetime_at.as_deref().and_then(|at| {
        let body: Value = serde_json::from_slice(body).ok()?;
        let seconds = body.pointer(at)?;
        seconds.as_u64().or_else(|| seconds.as_str()?.parse().ok())
    });
    let seconds = said.unwrap_or_else(|| exchange.lifetime_s.into());
    (seconds > 0).then(|| Duration::from_secs(seconds))
}
