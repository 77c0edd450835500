//! The issuer's keys: found by discovery, cached for an hour, fetched again when a JWT names an unknown key,
//! and kept longer while the issuer does not answer. However many requests need them, there is one fetch at a
//! time, and invented key ids cause no more than one fetch per [`ASK_AGAIN_MS`].

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

use super::discovery::Discovery;
use super::jwk::PublicKey;
use super::jws::Jws;

/// Older keys are fetched again.
const FRESH_MS: i64 = 60 * 60 * 1000;
/// Older keys are no longer used, whether the issuer answers or not.
const KEPT_MS: i64 = 24 * 60 * 60 * 1000;
/// The minimum between two fetches.
const ASK_AGAIN_MS: i64 = 10 * 1000;
/// The minimum between two fetches while the cached keys suffice.
const REFRESH_AGAIN_MS: i64 = 60 * 1000;
/// Time limit of discovery and keys together.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);
/// The most keys that are read.
const KEYS_MAX: usize = 100;

pub struct IssuerKeys {
    issuer: String,
    client: HttpClient,
    clock: Clock,
    held: ArcSwapOption<Held>,
    /// Locked during a fetch.
    last: Mutex<Attempt>,
}

/// The keys of one fetch.
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

/// The outcome of the last fetch.
#[derive(Default)]
struct Attempt {
    at_ms: Option<i64>,
    failed: bool,
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Value>,
}

impl IssuerKeys {
    pub fn new(issuer: String, client: HttpClient, clock: Clock) -> IssuerKeys {
        IssuerKeys { issuer, client, clock, held: ArcSwapOption::empty(), last: Mutex::default() }
    }

    /// Keys that may have signed the JWT. Fetches them if none fits or they are old. 401 if the issuer has no
    /// such key, 503 `oidc_unreachable` if it cannot be reached.
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

    /// If fitting keys are old, one request fetches new ones and the others go on with the old ones.
    async fn refreshed(&self, old: Arc<Held>, jws: &Jws<'_>) -> Result<Arc<Held>, Error> {
        if let Ok(last) = self.last.try_lock()
            && self.may_ask(&last, REFRESH_AGAIN_MS)
        {
            self.ask(last).await;
            return self.sufficient(jws).ok_or_else(unknown_key);
        }
        Ok(old)
    }

    /// Without a fitting key, all requests wait for the one that fetches.
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

    /// A JWT without a key id is tried with all keys that fit: if none has signed it, a new one may have.
    fn sufficient(&self, jws: &Jws<'_>) -> Option<Arc<Held>> {
        let held = self.held.load_full().filter(|held| self.age_ms(held.at_ms) < KEPT_MS)?;
        let does = |key: &PublicKey| if jws.key_id.is_some() { key.fits(jws) } else { key.has_signed(jws) };
        held.iter().any(does).then_some(held)
    }

    fn may_ask(&self, last: &Attempt, wait_ms: i64) -> bool {
        last.at_ms.is_none_or(|at_ms| self.age_ms(at_ms) >= wait_ms)
    }

    /// Whether the issuer answered with keys. A dropped fetch counts as failed.
    async fn ask(&self, mut last: MutexGuard<'_, Attempt>) -> bool {
        *last = Attempt { at_ms: Some(self.clock.now_ms()), failed: true };
        let fetched = timeout(FETCH_TIMEOUT, self.fetch()).await.context("the issuer did not answer in time");
        let at_ms = self.clock.now_ms();
        match fetched.and_then(|fetched| fetched) {
            Ok(keys) => {
                tracing::debug!(count = keys.len(), "the keys of the OIDC issuer were read");
                self.held.store(Some(Arc::new(Held { keys, at_ms })));
                *last = Attempt { at_ms: Some(at_ms), failed: false };
            }
            Err(error) => {
                tracing::warn!("cannot read the keys of the OIDC issuer {}: {error:#}", self.issuer);
                last.at_ms = Some(at_ms);
            }
        }
        !last.failed
    }

    async fn fetch(&self) -> anyhow::Result<Vec<PublicKey>> {
        let discovery = Discovery::read(&self.client, &self.issuer).await?;
        let set: KeySet =
            self.client.get_json(&discovery.jwks_uri, Limits::default()).await.context("jwks_uri")?;
        let read = |key: Value| serde_json::from_value(key).ok().and_then(PublicKey::from_document);
        let keys: Vec<PublicKey> = set.keys.into_iter().take(KEYS_MAX).filter_map(read).collect();
        ensure!(!keys.is_empty(), "it publishes no signature key");
        Ok(keys)
    }

    /// Never negative, even if the machine's clock was set back.
    fn age_ms(&self, at_ms: i64) -> i64 {
        (self.clock.now_ms() - at_ms).abs()
    }
}

fn unknown_key() -> Error {
    Error::unauthenticated("the JWT is signed with a key that its issuer does not publish")
}

fn unreachable() -> Error {
    let message = "the keys of the JWT issuer are unavailable; try again, or use a token of this server";
    Error::unavailable("oidc_unreachable", message).retry_after(ASK_AGAIN_MS.unsigned_abs() / 1000)
}
