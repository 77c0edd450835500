//! `lakeport:host/http`: the requests of a configured instance to the addresses that its settings grant.
//!
//! A plugin describes a request; only this module sends one. It checks the request against the description's call
//! rules, puts secrets in, sends it under the egress policy, and takes from the answer what the plugin must not see.
//! It never repeats a request, save once after a new log-in.

mod address;
mod answer;
mod description;
mod hiding;
mod log_in;
mod recording;
mod request;
mod secrets;
mod template;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use lakeport_bindings::host::web::{AddressSlot, AuthRecipe, AuthUse, Request, Response};
use lakeport_egress::{HttpClient, Limits, SendError};
use lakeport_http_rules::{BODY_MAX_BYTES, CallRule, Effect};
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::counters::RequestCounters;
use address::Address;
pub use address::{WANTED as ADDRESS_WANTED, is_address};
pub(crate) use description::problems as description_problems;
use log_in::{LogIn, Tokens};
pub use recording::{Exchange, Recorded, Recording};
pub use secrets::Secrets;

/// Requests of one instance that are under way at once; others wait within their time.
const CONCURRENT_MAX: usize = 8;
/// What is left of a call's time for the plugin to answer after a request has run out of it.
const TIME_TO_ANSWER: Duration = Duration::from_millis(300);
/// How often a waiting request looks whether its caller still waits.
const CANCELLED_POLL: Duration = Duration::from_millis(100);

/// What the description of a plugin asks for, and what the operator has configured.
pub struct Granted<'g> {
    pub addresses: &'g [AddressSlot],
    pub recipes: &'g [AuthRecipe],
    /// The chosen recipe, by name.
    pub recipe: Option<&'g str>,
    /// An object.
    pub settings: Value,
    pub secrets: Secrets,
}

/// The HTTP of one configured instance. Its calls share the connections and the log-in.
pub struct InstanceHttp {
    client: HttpClient,
    addresses: Vec<Address>,
    recipe: Option<AuthRecipe>,
    /// Calls that only a log-in makes.
    log_in_calls: Vec<request::CallPath>,
    settings: Value,
    secrets: Secrets,
    log_in: LogIn,
    places: Semaphore,
}

/// The bounds of a call that sends requests.
#[derive(Clone)]
pub(crate) struct CallBounds {
    pub deadline: Instant,
    pub cancelled: Arc<AtomicBool>,
}

impl InstanceHttp {
    pub fn new(client: HttpClient, granted: Granted<'_>) -> InstanceHttp {
        let Granted { addresses, recipes, recipe, settings, secrets } = granted;
        let recipe = recipe.and_then(|name| recipes.iter().find(|one| one.name == name)).cloned();
        InstanceHttp {
            client,
            addresses: addresses.iter().map(|slot| Address::new(slot, &settings)).collect(),
            log_in_calls: recipes
                .iter()
                .flat_map(|recipe| &recipe.log_in)
                .map(request::CallPath::of)
                .collect(),
            recipe,
            settings,
            secrets,
            log_in: LogIn::default(),
            places: Semaphore::new(CONCURRENT_MAX),
        }
    }

    /// Sends one request and waits for the whole answer.
    pub(crate) async fn send(
        &self,
        bounds: &CallBounds,
        counters: &RequestCounters,
        request: &Request,
    ) -> Result<Response, Error> {
        let checked = self.checked(request).inspect_err(|_| counters.refused())?;
        let recipe = self.recipe_at(request);
        let mut tokens = self.tokens(bounds, recipe).await?;
        let mut answer = self.once(bounds, counters, request, &checked, recipe, tokens.as_deref()).await?;
        let is_rejected = |answer: &http::Response<Bytes>| {
            recipe.is_some_and(|recipe| answer::is_rejected(recipe, answer.status().as_u16(), answer.body()))
        };
        if let Some(old) = tokens.as_deref().filter(|_| is_rejected(&answer)) {
            self.log_in.forget(old).await;
            tokens = self.tokens(bounds, recipe).await?;
            answer = self.once(bounds, counters, request, &checked, recipe, tokens.as_deref()).await?;
        }
        let hidden = self.secrets.hidden(tokens.as_deref());
        answer::seen(answer, checked.rule, request.max_response_bytes, &hidden)
            .map_err(|error| lost_if_changing(checked.rule, error))
    }

    /// The request's address and rule, if the plugin may send it.
    fn checked(&self, request: &Request) -> Result<Checked<'_>, Error> {
        let address = self.addresses.iter().find(|address| address.name() == request.address);
        let address = address.ok_or_else(|| {
            error("not_granted", format!("the description has no address named {:?}", request.address))
        })?;
        request::check(request, self.recipe_at(request))?;
        let call = request::CallPath::of_request(request);
        if self.log_in_calls.contains(&call) {
            return Err(error("not_granted", format!("{call}: only the host makes the calls of a log-in")));
        }
        let base = address.base()?;
        let rule = address.rule(&request.method, &call.path()).ok_or_else(|| {
            error("not_granted", format!("no call rule of the address {} fits {call}", request.address))
        })?;
        Ok(Checked { base, rule })
    }

    /// The recipe in use for a request.
    fn recipe_at(&self, request: &Request) -> Option<&AuthRecipe> {
        let recipe = self.recipe.as_ref().filter(|_| request.auth == AuthUse::Chosen)?;
        recipe.addresses.contains(&request.address).then_some(recipe)
    }

    /// The tokens of the recipe; `None` if it has no log-in.
    async fn tokens(
        &self,
        bounds: &CallBounds,
        recipe: Option<&AuthRecipe>,
    ) -> Result<Option<Arc<Tokens>>, Error> {
        let Some(recipe) = recipe.filter(|recipe| !recipe.log_in.is_empty()) else { return Ok(None) };
        let logged_in = self.log_in.tokens(|| log_in::make(self, bounds, recipe));
        within(bounds, bounds.left(None), logged_in).await.map_err(before_sending)?.map(Some)
    }

    /// Sends it once.
    async fn once(
        &self,
        bounds: &CallBounds,
        counters: &RequestCounters,
        request: &Request,
        checked: &Checked<'_>,
        recipe: Option<&AuthRecipe>,
        tokens: Option<&Tokens>,
    ) -> Result<http::Response<Bytes>, Error> {
        let slots = template::Slots { secrets: &self.secrets, settings: &self.settings, tokens };
        let built = request::build(request, checked.base, recipe, &slots);
        let ready = built.inspect_err(|_| counters.refused())?;
        let Some(left) = bounds.left(request.timeout_ms) else { return Err(before_sending(Over::Time)) };
        let permit = within(bounds, Some(left), self.places.acquire()).await.map_err(before_sending)?;
        let _permit = permit.map_err(|_| error("internal", "requests have ended"))?;
        let answer = self.exchange(bounds, ready, left).await;
        match &answer {
            Err(Failed::Sending(SendError::NotSent(refused), _)) if refused.status() == 403 => {
                counters.refused()
            }
            Err(Failed::Sending(SendError::NotSent(_), _)) => {}
            _ => counters.sent(),
        }
        answer.map_err(|failed| failed.of(checked.rule, &request.address))
    }

    /// Sends what is ready; the answer, whatever it is.
    async fn exchange(
        &self,
        bounds: &CallBounds,
        ready: http::Request<Bytes>,
        left: Duration,
    ) -> Result<http::Response<Bytes>, Failed> {
        let limits = Limits { total: left, answer_max_bytes: BODY_MAX_BYTES };
        match within(bounds, None, self.client.send(ready, limits)).await {
            Ok(sent) => sent.map_err(|error| Failed::Sending(error, left)),
            Err(_) => Err(Failed::Cancelled),
        }
    }
}

/// A request that may be sent.
struct Checked<'c> {
    base: &'c address::Base,
    rule: &'c CallRule,
}

/// Why there is no answer.
enum Failed {
    Sending(SendError, Duration),
    Cancelled,
}

impl Failed {
    /// The error for the plugin.
    fn of(self, rule: &CallRule, address: &str) -> Error {
        let retryable = |code, message| Error { retryable: true, ..error(code, message) };
        match self {
            Failed::Sending(SendError::NotSent(refused), _) if refused.status() == 403 => {
                error("not_granted", refused.message())
            }
            Failed::Sending(SendError::NotSent(cause), _) => {
                retryable("unreachable", format!("{address}: {}", cause.message()))
            }
            Failed::Sending(SendError::TimedOut, left) => {
                let message = format!("{address} did not answer within {} ms", left.as_millis());
                lost_if_changing(rule, retryable("timeout", message))
            }
            Failed::Sending(SendError::Lost(why), _) => lost_if_changing(
                rule,
                retryable("upstream_failed", format!("{address} gave no answer: {why}")),
            ),
            Failed::Sending(SendError::TooLong, _) => {
                let message = format!("the answer of {address} has more than {BODY_MAX_BYTES} bytes");
                lost_if_changing(rule, error("limit_exceeded", message))
            }
            Failed::Cancelled => {
                lost_if_changing(rule, error("cancelled", "the caller no longer waits for the answer"))
            }
        }
    }
}

/// The request has been sent: what it changes may have been changed.
fn lost_if_changing(rule: &CallRule, error: Error) -> Error {
    Error { may_have_applied: rule.effect() == Effect::Changes, ..error }
}

impl CallBounds {
    /// The time for a request; `None` if there is none.
    fn left(&self, asked_ms: Option<u32>) -> Option<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now()).checked_sub(TIME_TO_ANSWER)?;
        let asked = asked_ms.map_or(Duration::MAX, |ms| Duration::from_millis(ms.into()));
        Some(left.min(asked)).filter(|left| !left.is_zero())
    }
}

/// Why something was not waited for.
enum Over {
    Time,
    Cancelled,
}

/// Nothing was sent.
fn before_sending(over: Over) -> Error {
    match over {
        Over::Time => {
            Error { retryable: true, ..error("timeout", "the time of the call is over; nothing was sent") }
        }
        Over::Cancelled => error("cancelled", "the caller no longer waits for the answer; nothing was sent"),
    }
}

/// Waits for it, within the time if there is one, and while the caller waits.
async fn within<T>(
    bounds: &CallBounds,
    left: Option<Duration>,
    work: impl Future<Output = T>,
) -> Result<T, Over> {
    let cancelled = async {
        while !bounds.cancelled.load(Ordering::Relaxed) {
            tokio::time::sleep(CANCELLED_POLL).await;
        }
    };
    let over = async {
        match left {
            Some(left) => tokio::time::sleep(left).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        done = work => Ok(done),
        () = cancelled => Err(Over::Cancelled),
        () = over => Err(Over::Time),
    }
}

#[cfg(test)]
mod tests;
