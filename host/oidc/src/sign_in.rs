//! Signing in at the issuer: OpenID Connect's authorization code flow with PKCE (RFC 7636, S256).
//!
//! [`Oidc::begin`] gives the address to which the browser goes and what to keep of this sign-in; the issuer sends the
//! browser back with a code, for which [`Oidc::finish`] gets an identity. The code alone is worthless: who redeems it
//! needs what was kept.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use form_urlencoded::Serializer;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{Request, Uri};
use lakeport_base::{Clock, Error, Hidden};
use lakeport_egress::{AGENT, HttpClient, Limits};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::sync::{Mutex, Semaphore};
use tokio::time::timeout;

use super::discovery::Discovery;
use super::{Oidc, OidcIdentity};

/// The path to which the issuer sends browsers back.
pub const CALLBACK_PATH: &str = "/api/v1/session/oidc/callback";

/// Of a state, a nonce and a verifier each.
const RANDOM_BYTES: usize = 32;
/// Older endpoints are read again.
const FRESH_MS: i64 = 60 * 60 * 1000;
/// The minimum between two readings that failed.
const ASK_AGAIN_MS: i64 = 10 * 1000;
/// Time limit of a reading, and of the exchange of a code.
const ASK_TIMEOUT: Duration = Duration::from_secs(10);
/// Codes that are exchanged at the same time; more wait, as long as an exchange may take.
const EXCHANGES_MAX: usize = 16;
/// The longest answer to a code.
const TOKENS_MAX_BYTES: usize = 256 * 1024;
/// Of an issuer's error, for the log.
const REASON_MAX_CHARS: usize = 200;

/// What is kept of a sign-in until the browser comes back.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Pending {
    /// Comes back with the code.
    pub state: String,
    /// Comes back in the ID token.
    nonce: String,
    /// Its digest was sent first; it proves that the code is for who began.
    verifier: String,
    redirect_uri: String,
}

/// The issuer's endpoints for sign-ins.
pub struct SignIns {
    issuer: String,
    client: HttpClient,
    clock: Clock,
    /// Locked during a reading.
    held: Mutex<Held>,
    exchanges: Semaphore,
    rights_digest: OnceLock<String>,
}

#[derive(Default)]
struct Held {
    endpoints: Option<Arc<Endpoints>>,
    read_at_ms: i64,
    failed_at_ms: Option<i64>,
}

struct Endpoints {
    authorization: String,
    token: String,
    /// Whether the client's secret goes into the body, as some issuers want.
    secret_in_body: bool,
}

/// The answer to a code.
#[derive(Deserialize)]
struct Tokens {
    id_token: Option<String>,
    access_token: Option<String>,
}

/// The answer to a code that is refused.
#[derive(Deserialize, Default)]
struct Refusal {
    #[serde(default)]
    error: String,
    #[serde(default)]
    error_description: String,
}

/// Whether a browser may be sent back to this address.
pub fn is_redirect_uri(text: &str) -> bool {
    let Ok(uri) = text.parse::<Uri>() else { return false };
    let is_plain = uri.query().is_none() && !text.contains(['#', '@']) && uri.host().is_some();
    is_plain && matches!(uri.scheme_str(), Some("http" | "https")) && uri.path().ends_with(CALLBACK_PATH)
}

impl Oidc {
    /// The issuer, for people: its host. `None`: people sign in by tokens only.
    pub fn signs_in_at(&self) -> Option<String> {
        self.settings.client_id.as_ref()?;
        self.issuer.parse::<Uri>().ok()?.host().map(str::to_owned)
    }

    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// A digest of the settings that decide who signs in with which rights, and of where.
    pub fn rights_digest(&self) -> &str {
        self.sign_ins.rights_digest.get_or_init(|| {
            let settings = &self.settings;
            let parts = (
                &self.issuer,
                &settings.audience,
                &settings.client_id,
                (&settings.role_claim, &settings.datasources_claim, &settings.name_claim),
                &settings.redirect_uri,
            );
            URL_SAFE_NO_PAD.encode(Sha256::digest(format!("{parts:?}")))
        })
    }

    /// Begins a sign-in: the address of the issuer, and what to keep. 404 `not_found` without a client's id, 503
    /// `oidc_unreachable`.
    ///
    /// `redirect_uri`: unless the operator has set one.
    pub async fn begin(&self, redirect_uri: &str) -> Result<(String, Pending), Error> {
        let client_id = self.client_id()?;
        let endpoints = self.sign_ins.endpoints().await?;
        let redirect_uri = self.settings.redirect_uri.as_deref().unwrap_or(redirect_uri);
        let pending = Pending {
            state: random()?,
            nonce: random()?,
            verifier: random()?,
            redirect_uri: redirect_uri.to_owned(),
        };
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&pending.verifier));
        let query = Serializer::new(String::new())
            .append_pair("response_type", "code")
            .append_pair("client_id", client_id)
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("scope", &self.settings.scopes)
            .append_pair("state", &pending.state)
            .append_pair("nonce", &pending.nonce)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .finish();
        let joint = if endpoints.authorization.contains('?') { '&' } else { '?' };
        Ok((format!("{}{joint}{query}", endpoints.authorization), pending))
    }

    /// Ends a sign-in: the identity of who signed in, from the access token if that is a JWT for this server, else from
    /// the ID token. 401 if the issuer refuses the code or its tokens are not of this sign-in, 403 `role_claim_missing` or
    /// `invalid_claim`, 503 `oidc_unreachable`.
    pub async fn finish(&self, pending: &Pending, code: &str) -> Result<OidcIdentity, Error> {
        let client_id = self.client_id()?;
        let endpoints = self.sign_ins.endpoints().await?;
        let secret = self.settings.client_secret.as_ref();
        let tokens = self.sign_ins.exchange(&endpoints, client_id, secret, pending, code).await?;
        let id_token = tokens.id_token.ok_or_else(|| {
            Error::unauthenticated("the issuer gave no ID token; `oidc.scopes` must hold `openid`")
        })?;
        let (claims, until_ms) = self.checked(&id_token, client_id).await?;
        claims.check_sign_in(client_id, &pending.nonce)?;
        // An access token that is opaque or for another audience says nothing here; one for this server decides.
        let access = match &tokens.access_token {
            Some(token) => self.checked(token, &self.settings.audience).await,
            None => return claims.identity(&self.settings, until_ms),
        };
        match access {
            Ok((access, _)) if access.subject() != claims.subject() => {
                Err(Error::unauthenticated("the issuer's tokens are of two people"))
            }
            Ok((access, until_ms)) => access.identity(&self.settings, until_ms),
            Err(error) if error.status() == 401 => claims.identity(&self.settings, until_ms),
            Err(error) => Err(error),
        }
    }

    /// How long a sign-in lasts, in milliseconds.
    pub fn session_ms(&self) -> i64 {
        i64::try_from(self.settings.session_hours).unwrap_or(1) * 60 * 60 * 1000
    }

    fn client_id(&self) -> Result<&str, Error> {
        let missing = || Error::not_found("sign-in at an issuer here:", "`oidc.client_id` is empty");
        self.settings.client_id.as_deref().ok_or_else(missing)
    }
}

impl SignIns {
    pub fn new(issuer: String, client: HttpClient, clock: Clock) -> SignIns {
        let exchanges = Semaphore::new(EXCHANGES_MAX);
        SignIns { issuer, client, clock, held: Mutex::default(), exchanges, rights_digest: OnceLock::new() }
    }

    /// Read when first needed, and when they are old. However many need them, they are read once.
    async fn endpoints(&self) -> Result<Arc<Endpoints>, Error> {
        let mut held = self.held.lock().await;
        let now_ms = self.clock.now_ms();
        let age_ms = (now_ms - held.read_at_ms).abs();
        if let Some(endpoints) = held.endpoints.as_ref().filter(|_| age_ms < FRESH_MS) {
            return Ok(Arc::clone(endpoints));
        }
        if held.failed_at_ms.is_some_and(|at_ms| (now_ms - at_ms).abs() < ASK_AGAIN_MS) {
            return held.endpoints.clone().ok_or_else(unreachable);
        }
        // A dropped reading counts as failed.
        held.failed_at_ms = Some(now_ms);
        match timeout(ASK_TIMEOUT, self.read()).await {
            Ok(Ok(endpoints)) => {
                let endpoints = Arc::new(endpoints);
                *held =
                    Held { endpoints: Some(Arc::clone(&endpoints)), read_at_ms: now_ms, failed_at_ms: None };
                Ok(endpoints)
            }
            failed => {
                let why = match failed {
                    Ok(Err(error)) => format!("{error:#}"),
                    _ => "it did not answer in time".to_owned(),
                };
                tracing::warn!("cannot read the endpoints of the OIDC issuer {}: {why}", self.issuer);
                held.endpoints.clone().ok_or_else(unreachable)
            }
        }
    }

    async fn read(&self) -> anyhow::Result<Endpoints> {
        let discovery = Discovery::read(&self.client, &self.issuer).await?;
        let named = |name, endpoint: Option<String>| {
            endpoint.ok_or_else(|| anyhow::anyhow!("its discovery names no {name}"))
        };
        let methods = discovery.token_endpoint_auth_methods_supported.unwrap_or_default();
        let takes = |method: &str| methods.iter().any(|one| one == method);
        Ok(Endpoints {
            authorization: named("authorization_endpoint", discovery.authorization_endpoint)?,
            token: named("token_endpoint", discovery.token_endpoint)?,
            secret_in_body: takes("client_secret_post") && !takes("client_secret_basic"),
        })
    }

    async fn exchange(
        &self,
        endpoints: &Endpoints,
        client_id: &str,
        secret: Option<&Hidden>,
        pending: &Pending,
        code: &str,
    ) -> Result<Tokens, Error> {
        let permit = timeout(ASK_TIMEOUT, self.exchanges.acquire()).await;
        let _permit = permit.map_err(|_| unreachable())?.map_err(Error::internal)?;
        let request = exchange_request(endpoints, client_id, secret, pending, code)?;
        let limits = Limits { total: ASK_TIMEOUT, answer_max_bytes: TOKENS_MAX_BYTES };
        let answer = self.client.send(request, limits).await.map_err(|error| {
            tracing::warn!("the token endpoint of the OIDC issuer {} gave no answer: {error:?}", self.issuer);
            unreachable()
        })?;
        if answer.status().is_client_error() {
            let refusal: Refusal = serde_json::from_slice(answer.body()).unwrap_or_default();
            let why = shown(&format!("{} {}", refusal.error, refusal.error_description));
            return Err(Error::unauthenticated(format!(
                "the issuer refuses the sign-in: {} {why}",
                answer.status()
            )));
        }
        if !answer.status().is_success() {
            tracing::warn!(
                "the token endpoint of the OIDC issuer {} answered {}",
                self.issuer,
                answer.status()
            );
            return Err(unreachable());
        }
        serde_json::from_slice(answer.body())
            .map_err(|_| Error::unauthenticated("the issuer's answer holds no tokens"))
    }
}

/// The request that exchanges a code.
fn exchange_request(
    endpoints: &Endpoints,
    client_id: &str,
    secret: Option<&Hidden>,
    pending: &Pending,
    code: &str,
) -> Result<Request<Bytes>, Error> {
    let mut form = Serializer::new(String::new());
    form.append_pair("grant_type", "authorization_code")
        .append_pair("code", code)
        .append_pair("redirect_uri", &pending.redirect_uri)
        .append_pair("client_id", client_id)
        .append_pair("code_verifier", &pending.verifier);
    let mut request = Request::post(&endpoints.token)
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(ACCEPT, "application/json")
        .header(USER_AGENT, AGENT);
    match secret {
        Some(Hidden(secret)) if endpoints.secret_in_body => _ = form.append_pair("client_secret", secret),
        Some(Hidden(secret)) => {
            let account = format!("{}:{}", form_encoded(client_id), form_encoded(secret));
            request = request.header(AUTHORIZATION, format!("Basic {}", STANDARD.encode(account)));
        }
        None => {}
    }
    request.body(Bytes::from(form.finish())).map_err(Error::internal)
}

/// As RFC 6749 wants a client's name and secret.
fn form_encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

fn random() -> Result<String, Error> {
    let mut bytes = [0; RANDOM_BYTES];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Error::internal(anyhow::anyhow!("the system gives no random bytes")))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(REASON_MAX_CHARS).collect::<String>().trim().to_owned()
}

fn unreachable() -> Error {
    let message = "the issuer is unavailable; try again, or sign in with a token of this server";
    Error::unavailable("oidc_unreachable", message).retry_after(ASK_AGAIN_MS.unsigned_abs() / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_uri_is_this_server_s_callback() {
        assert!(is_redirect_uri("https://lakeport.example.com/api/v1/session/oidc/callback"));
        assert!(is_redirect_uri("http://127.0.0.1:8080/api/v1/session/oidc/callback"));
        for wrong in [
            "lakeport.example.com/api/v1/session/oidc/callback",
            "/api/v1/session/oidc/callback",
            "https://lakeport.example.com/",
            "https://lakeport.example.com/api/v1/session/oidc/callback?a=1",
            "ftp://lakeport.example.com/api/v1/session/oidc/callback",
            "https://lakeport@evil.example/api/v1/session/oidc/callback",
        ] {
            assert!(!is_redirect_uri(wrong), "{wrong}");
        }
    }
}
