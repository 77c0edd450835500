//! The issuer's keys: found by discovery, kept an hour, asked for again when a JWT names a key that is not
//! among them, and kept further while the issuer does not answer. However many requests need them, the
//! issuer is asked once at a time, and made-up key ids make it be asked no more often than [`ASK_AGAIN_MS`].

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use arc_swap::ArcSwapOption;
use lakeport_base::Clock;
use lakeport_base::Error;
use lakeport_egress::{HttpClient, Limits};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::timeout;

use super::jwk::PublicKey;
use super::jws::Jws;

/// Keys older than this are asked for again.
const FRESH_MS: i64 = 60 * 60 * 1000;
/// Keys older than this are not used any more, whether the issuer answers or not.
const KEPT_MS: i64 = 24 * 60 * 60 * 1000;
/// The issuer is not asked again sooner.
const ASK_AGAIN_MS: i64 = 10 * 1000;
/// The same, while older keys do.
const REFRESH_AGAIN_MS: i64 = 60 * 1000;
/// Discovery and keys together.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);
/// More keys than this are not read.
const KEYS_MAX: usize = 100;

pub struct IssuerKeys {
    issuer: String,
    client: HttpClient,
    clock: Clock,
    held: ArcSwapOption<Held>,
    /// Locked while the issuer is asked.
    last: Mutex<Attempt>,
}

/// Keys as they were once published.
pub struct Held {
    keys: Vec<PublicKey>,
    at_ms: i64,
}

impl Deref for Held {
    type Target = [PublicKey];

    fn deref(&self) -> &[PublicKey] {
        &self.keys
    }
}

/// How asking went the last time.
#[derive(Default)]
struct Attempt {
    at_ms: Option<i64>,
    failed: bool,
}

#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    jwks_uri: String,
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Value>,
}

impl IssuerKeys {
    pub fn new(issuer: String, client: HttpClient, clock: Clock) -> IssuerKeys {
        IssuerKeys { issuer, client, clock, held: ArcSwapOption::empty(), last: Mutex::default() }
    }

    /// Keys of which one may have signed the JWT. Asks the issuer when there is none, or when the keys are
    /// old. 401 when the issuer has none, 503 `oidc_unreachable` when it cannot be asked.
    pub async fn for_jws(&self, jws: &Jws<'_>) -> Result<Arc<Held>, Error> {
        let sufficient = self.sufficient(jws);
        if let Some(keys) = &sufficient
            && self.age_ms(keys.at_ms) < FRESH_MS
        {
            return Ok(Arc::clone(keys));
        }
        match sufficient {
            Some(old) => self.refreshed(old, jws).await,
            None => self.found(jws).await,
        }
    }

    /// Keys that do, but are old: one request asks for newer ones, the others go on.
    async fn refreshed(&self, old: Arc<Held>, jws: &Jws<'_>) -> Result<Arc<Held>, Error> {
        if let Ok(last) = self.last.try_lock()
            && self.may_ask(&last, REFRESH_AGAIN_MS)
        {
            self.ask(last).await;
            return self.sufficient(jws).ok_or_else(unknown_key);
        }
        Ok(old)
    }

    /// No key that does: whoever needs one waits for the one who asks.
    async fn found(&self, jws: &Jws<'_>) -> Result<Arc<Held>, Error> {
        let last = self.last.lock().await;
        if let Some(keys) = self.sufficient(jws) {
            return Ok(keys);
        }
        let failed = if self.may_ask(&last, ASK_AGAIN_MS) { !self.ask(last).await } else { last.failed };
        match self.sufficient(jws) {
            Some(keys) => Ok(keys),
            None if failed => Err(unreachable()),
            None => Err(unknown_key()),
        }
    }

    /// A JWT that names no key is tried with all that fit: if none has signed it, a new one may have.
    fn sufficient(&self, jws: &Jws<'_>) -> Option<Arc<Held>> {
        let held = self.held.load_full().filter(|held| self.age_ms(held.at_ms) < KEPT_MS)?;
        let does = |key: &PublicKey| if jws.key_id.is_some() { key.fits(jws) } else { key.has_signed(jws) };
        held.iter().any(does).then_some(held)
    }

    fn may_ask(&self, last: &Attempt, wait_ms: i64) -> bool {
        last.at_ms.is_none_or(|at_ms| self.age_ms(at_ms) >= wait_ms)
    }

    /// Whether the issuer answered with keys. If nobody waits for the answer any more, it counts as failed.
    async fn ask(&self, mut last: MutexGuard<'_, Attempt>) -> bool {
        *last = Attempt { at_ms: Some(self.clock.now_ms()), failed: true };
        let fetched = timeout(FETCH_TIMEOUT, self.fetch()).await.context("the issuer takes too long");
        let at_ms = self.clock.now_ms();
        match fetched.and_then(|fetched| fetched) {
            Ok(keys) => {
                tracing::debug!(count = keys.len(), "the keys of the OIDC issuer were read");
                self.held.store(Some(Arc::new(Held { keys, at_ms })));
                *last = Attempt { at_ms: Some(at_ms), failed: false };
            }
            Err(error) => {
                tracing::warn!("the keys of the OIDC issuer {} cannot be read: {error:#}", self.issuer);
                last.at_ms = Some(at_ms);
            }
        }
        !last.failed
    }

    async fn fetch(&self) -> anyhow::Result<Vec<PublicKey>> {
        let base = self.issuer.trim_end_matches('/');
        let discovery: Discovery = self
            .client
            .get_json(&format!("{base}/.well-known/openid-configuration"), Limits::default())
            .await
            .context("discovery")?;
        ensure!(
            discovery.issuer == self.issuer,
            "it calls itself {:?}; oidc.issuer must be the same to the letter",
            discovery.issuer
        );
        ensure!(
            discovery.jwks_uri.starts_with("https://") || self.issuer.starts_with("http://"),
            "its jwks_uri is not https, as the issuer itself is"
        );
        let set: KeySet =
            self.client.get_json(&discovery.jwks_uri, Limits::default()).await.context("jwks_uri")?;
        let read = |key: Value| serde_json::from_value(key).ok().and_then(PublicKey::from_document);
        let keys: Vec<PublicKey> = set.keys.into_iter().take(KEYS_MAX).filter_map(read).collect();
        ensure!(!keys.is_empty(), "it publishes no key that signatures can be checked with");
        Ok(keys)
    }

    /// Never negative, also when the machine's clock was set back.
    fn age_ms(&self, at_ms: i64) -> i64 {
        (self.clock.now_ms() - at_ms).abs()
    }
}

fn unknown_key() -> Error {
    Error::unauthenticated("the JWT is signed with a key that its issuer does not publish")
}

fn unreachable() -> Error {
    let message =
        "the issuer of JWTs cannot be asked for its keys now; try again, or use a token of this server";
    Error::unavailable("oidc_unreachable", message).retry_after(ASK_AGAIN_MS.unsigned_abs() / 1000)
}
