//! Accepts JWTs of the configured issuer besides tokens.
//!
//! People sign in to the console at the issuer (the authorization code flow with PKCE, [`Pending`]).
//!
//! A JWT is as trustworthy as its signature: the algorithm must fit a key that the issuer publishes now, and
//! claims count only after the signature was checked. The caller learns whether the JWT is accepted, and no
//! more. This crate contacts the issuer only, for its keys and for sign-ins.

mod claims;
mod discovery;
mod jwk;
mod jws;
mod keys;
mod sign_in;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::Path;

use anyhow::Context;
use lakeport_base::Clock;
use lakeport_base::Error;
use lakeport_base::Hidden;
use lakeport_egress::{HttpClient, Policy, Rule};
use lakeport_http::Role;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};

use claims::Claims;
use jws::Jws;
use keys::IssuerKeys;
use sign_in::SignIns;

pub use sign_in::{CALLBACK_PATH, Pending, is_redirect_uri};

/// The longest JWT.
const JWT_MAX_BYTES: usize = 16 * 1024;
/// The cache of accepted JWTs and its duration: for so long a JWT that the issuer revoked may still be
/// accepted.
const KNOWN_MAX: usize = 10_000;
const KNOWN_MS: i64 = 60 * 1000;

/// The trusted OIDC issuer; the members have the names of the configuration file.
#[derive(Debug, Clone, Default)]
pub struct OidcSettings {
    /// `None`: tokens only.
    pub issuer: Option<String>,
    pub audience: String,
    pub role_claim: String,
    pub datasources_claim: String,
    pub name_claim: String,
    /// `None`: there is no sign-in at the issuer.
    pub client_id: Option<String>,
    /// `None`: a public client.
    pub client_secret: Option<Hidden>,
    /// With blanks between them.
    pub scopes: String,
    /// `None`: of the host that the browser asked.
    pub redirect_uri: Option<String>,
    pub session_hours: u64,
}

/// The identity in a JWT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcIdentity {
    /// The issuer never gives it to another person.
    pub subject: String,
    /// For people and the audit log.
    pub name: String,
    pub role: Role,
    /// Names; `None`: all.
    pub datasources: Option<Vec<String>>,
    /// When the JWT expires, milliseconds since 1970.
    pub expires_at_ms: i64,
}

pub struct Oidc {
    settings: OidcSettings,
    issuer: String,
    keys: IssuerKeys,
    sign_ins: SignIns,
    clock: Clock,
    known: Mutex<HashMap<[u8; 32], Known>>,
}

struct Known {
    identity: OidcIdentity,
    until_ms: i64,
}

impl Oidc {
    /// `None` if no issuer is configured. Contacts the issuer only when needed.
    ///
    /// `ca_file`: trusted certificates besides the public ones.
    pub fn new(
        settings: &OidcSettings,
        policy: &Policy,
        ca_file: Option<&Path>,
        clock: &Clock,
    ) -> anyhow::Result<Option<Oidc>> {
        let client = HttpClient::new(policy.clone(), ca_file)?;
        Oidc::open(settings, &client, clock.clone())
    }

    /// The issuer's own host and port count as listed in `egress_allow`.
    fn open(settings: &OidcSettings, client: &HttpClient, clock: Clock) -> anyhow::Result<Option<Oidc>> {
        let Some(issuer) = settings.issuer.clone() else { return Ok(None) };
        let own = own_address(&issuer).with_context(|| {
            format!("oidc.issuer is `{issuer}`; write it like https://login.example.com/realms/company")
        })?;
        if settings.audience.trim().is_empty() {
            anyhow::bail!("oidc.audience is empty; set it to the `aud` that the issuer uses for Lakeport");
        }
        let client = client.and(own);
        let keys = IssuerKeys::new(issuer.clone(), client.clone(), clock.clone());
        let sign_ins = SignIns::new(issuer.clone(), client, clock.clone());
        let known = Mutex::default();
        Ok(Some(Oidc { settings: settings.clone(), issuer, keys, sign_ins, clock, known }))
    }

    /// Authenticates a JWT. 401 `unauthenticated`, 403 `role_claim_missing` if it has no role, 503
    /// `oidc_unreachable` if the issuer's keys are needed and unavailable.
    pub async fn identify(&self, jwt: &str) -> Result<OidcIdentity, Error> {
        let now_ms = self.clock.now_ms();
        let digest: [u8; 32] = Sha256::digest(jwt).into();
        if let Some(identity) = self.remembered(&digest, now_ms) {
            return Ok(identity);
        }
        let (claims, until_ms) = self.checked(jwt, &self.settings.audience).await?;
        let identity = claims.identity(&self.settings, until_ms)?;
        self.remember(digest, &identity, until_ms.min(now_ms + KNOWN_MS), now_ms);
        Ok(identity)
    }

    /// The claims of a JWT for this audience, and when it expires (milliseconds). 401 if it is not the issuer's, not
    /// valid now, or for another audience.
    async fn checked(&self, jwt: &str, audience: &str) -> Result<(Claims, i64), Error> {
        if jwt.len() > JWT_MAX_BYTES {
            return Err(Error::unauthenticated(format!("the JWT is longer than {JWT_MAX_BYTES} bytes")));
        }
        let jws = Jws::parse(jwt)?;
        let claims = Claims::parse(&jws.payload)?;
        // The signature is not checked yet, but a JWT of another issuer must not cause a fetch of keys.
        claims.check_issuer(&self.issuer)?;
        let keys = self.keys.for_jws(&jws).await?;
        if !keys.iter().any(|key| key.has_signed(&jws)) {
            return Err(Error::unauthenticated("the JWT's signature is invalid"));
        }
        let until_ms = claims.check(audience, self.clock.now_ms())?;
        Ok((claims, until_ms))
    }

    fn remembered(&self, digest: &[u8; 32], now_ms: i64) -> Option<OidcIdentity> {
        let known = self.known.lock();
        known.get(digest).filter(|known| now_ms < known.until_ms).map(|known| known.identity.clone())
    }

    /// If the cache is full, removes expired entries; if it is still full, this JWT is checked each time.
    fn remember(&self, digest: [u8; 32], identity: &OidcIdentity, until_ms: i64, now_ms: i64) {
        let mut known = self.known.lock();
        if known.len() >= KNOWN_MAX {
            known.retain(|_, known| now_ms < known.until_ms);
        }
        if known.len() < KNOWN_MAX {
            known.insert(digest, Known { identity: identity.clone(), until_ms });
        }
    }
}

fn own_address(issuer: &str) -> anyhow::Result<Rule> {
    let uri: http::Uri = issuer.parse()?;
    anyhow::ensure!(uri.query().is_none(), "an issuer has no query");
    let account = uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
    anyhow::ensure!(!account, "an issuer has no account in it");
    let (host, port) = lakeport_egress::host_and_port(&uri).context("it is neither http nor https")?;
    Rule::exactly(host, port).map_err(anyhow::Error::msg)
}
