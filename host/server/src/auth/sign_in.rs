//! Signing in to the console at the OIDC issuer. The browser goes to the issuer and comes back with a code; then its
//! cookie holds the session: who signed in and until when, sealed with the server's key, so that only servers of the store
//! write and read it.

use ::http::HeaderValue;
use ::http::header::HOST;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use lakeport_base::Error;
use lakeport_http::{Caller, Data, Identity, Nothing, Redirect, Role, whole_authority};
use lakeport_oidc::{CALLBACK_PATH, Oidc, OidcIdentity, Pending};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::session::{self, cookie_of, full_name, is_secure};
use super::{Auth, Call};

/// Begins the text of a session, as tokens begin with theirs.
pub const PREFIX: &str = "lks_";
/// The contexts of the sealed texts.
const SESSION: &str = "session";
const PENDING: &str = "session/pending";

const PENDING_COOKIE: &str = "lakeport_sign_in";
/// A sign-in ends after this time, in seconds.
const PENDING_MAX_S: i64 = 600;
/// Exchanges of codes that begin from one address.
pub const PER_SECOND: u32 = 5;
/// The difference between the servers' clocks that sessions allow.
const LEEWAY_MS: i64 = 5 * 60 * 1000;
/// The page to come back to, with its query.
const RETURN_MAX_CHARS: usize = 1_500;

/// What a session's cookie holds.
#[derive(Serialize, Deserialize)]
struct Session {
    /// Of the issuer and how its claims are read: a session from before another setting does not count.
    settings: String,
    subject: String,
    name: String,
    role: Role,
    datasources: Option<Vec<String>>,
    expires_at_ms: i64,
}

/// What the cookie of a sign-in under way holds.
#[derive(Serialize, Deserialize)]
struct UnderWay {
    pending: Pending,
    return_to: String,
    expires_at_ms: i64,
}

/// How to sign in to the console.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignInWays {
    /// The server is in local mode, without sign-in.
    local: bool,
    /// The host of the OIDC issuer at which to sign in, by `GET /api/v1/session/oidc`; null: by a token only.
    oidc: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartQuery {
    /// The console's page to show afterwards: a path with its query. Default `/`.
    #[serde(default)]
    return_to: String,
    /// The server has already sent the browser to the host of `oidc.redirect_uri`.
    #[serde(default)]
    moved: bool,
}

#[derive(Deserialize, JsonSchema)]
pub struct FinishQuery {
    /// The issuer's code for this sign-in.
    #[serde(default)]
    code: String,
    #[serde(default)]
    state: String,
    /// Why the issuer gives no code.
    #[serde(default)]
    error: String,
    /// The issuer's name, where it sends one.
    #[serde(default)]
    iss: String,
}

/// `GET /api/v1/session`
pub async fn ways(call: Call) -> Result<Data<SignInWays>, Error> {
    let state = &call.state;
    let oidc = state.oidc.as_ref().and_then(Oidc::signs_in_at);
    Ok(Data::new(&SignInWays { local: state.is_local_mode(), oidc }))
}

/// `GET /api/v1/session/oidc`
pub async fn start(call: Call<Nothing, StartQuery>) -> Result<Redirect, Error> {
    let state = &call.state;
    let oidc = oidc(state)?;
    if let Some(address) = at_public_host(&call) {
        return Redirect::to(&address);
    }
    let is_secure = is_secure(&call.headers, &state.config);
    let scheme = if is_secure { "https" } else { "http" };
    let host = call.header(&HOST).unwrap_or_default();
    let redirect_uri = format!("{scheme}://{host}{CALLBACK_PATH}");
    if whole_authority(host).is_none() || !lakeport_oidc::is_redirect_uri(&redirect_uri) {
        return Err(Error::bad_request("invalid_input", "the request's Host is not a host"));
    }
    let (address, pending) = match oidc.begin(&redirect_uri).await {
        Err(error) if error.status() == 503 => return failed(&call, "unavailable", &error.to_string()),
        begun => begun?,
    };
    let return_to = own_page(&call.query.return_to).to_owned();
    let expires_at_ms = state.clock.now_ms() + PENDING_MAX_S * 1000;
    let sealed = seal(state, PENDING, &UnderWay { pending, return_to, expires_at_ms })?;
    Ok(Redirect::to(&address)?.with_cookie(pending_cookie(&sealed, PENDING_MAX_S, is_secure)?))
}

/// `GET /api/v1/session/oidc/callback`: what fails is shown by the console, which gets one of these codes: `expired`,
/// `denied`, `no_role`, `unavailable`, `refused`.
pub async fn finish(call: Call<Nothing, FinishQuery>) -> Result<Redirect, Error> {
    let state = &call.state;
    let oidc = oidc(state)?;
    let is_secure = is_secure(&call.headers, &state.config);
    let gone = pending_cookie("", 0, is_secure)?;
    let under_way = cookie_of(&call.headers, &full_name(PENDING_COOKIE, is_secure))
        .and_then(|text| open::<UnderWay>(state, PENDING, text));
    let now_ms = state.clock.now_ms();
    let Some(under_way) = under_way.filter(|one| now_ms < one.expires_at_ms) else {
        return failed(&call, "expired", "the browser has no cookie of a sign-in under way");
    };
    let query = &call.query;
    // Another page may have sent the browser here: the sign-in goes on.
    if query.state != under_way.pending.state || !(query.iss.is_empty() || query.iss == oidc.issuer()) {
        return failed(&call, "expired", "the answer is of another sign-in");
    }
    if !query.error.is_empty() || query.code.is_empty() {
        let why: String = query.error.chars().filter(|c| !c.is_control()).take(100).collect();
        return Ok(failed(&call, "denied", &format!("the issuer answered {why:?}"))?.with_cookie(gone));
    }
    if let Err(error) = state.sign_ins.admit(&call.peer.ip().to_canonical(), now_ms) {
        return failed(&call, "unavailable", &error.to_string());
    }
    let identity = match oidc.finish(&under_way.pending, &query.code).await {
        Ok(identity) => identity,
        Err(error) => {
            let code = match error.status() {
                403 => "no_role",
                503 => "unavailable",
                _ => "refused",
            };
            let answer = failed(&call, code, &error.to_string())?;
            return Ok(if code == "unavailable" { answer } else { answer.with_cookie(gone) });
        }
    };
    let expires_at_ms = now_ms + oidc.session_ms();
    tracing::info!(name = identity.name, subject = identity.subject, "signed in at the OIDC issuer");
    let session = session_of(oidc, identity, expires_at_ms);
    let text = format!("{PREFIX}{}", seal(state, SESSION, &session)?);
    if text.len() > session::COOKIE_MAX_BYTES {
        return Ok(
            failed(&call, "refused", "the claim of data sources is too long for a cookie")?.with_cookie(gone)
        );
    }
    let cookie = HeaderValue::from_str(&session::cookie(&text, is_secure)).map_err(Error::internal)?;
    Ok(Redirect::to(&under_way.return_to)?.with_cookie(cookie).with_cookie(gone))
}

/// The same request at the host of `oidc.redirect_uri`, if the browser asked at another: the issuer sends it there, and the
/// cookie of the sign-in belongs to the host that set it. Once only, since a proxy in front may hide the host.
fn at_public_host(call: &Call<Nothing, StartQuery>) -> Option<String> {
    let redirect_uri = call.state.config.oidc.redirect_uri.as_deref()?;
    if call.query.moved || session::is_public_host(&call.headers, redirect_uri) {
        return None;
    }
    let begin = redirect_uri.strip_suffix("/callback")?;
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("returnTo", own_page(&call.query.return_to))
        .append_pair("moved", "true")
        .finish();
    Some(format!("{begin}?{query}"))
}

/// Sends the browser to the console, which says what failed by this code.
fn failed<Q>(call: &Call<Nothing, Q>, code: &str, why: &str) -> Result<Redirect, Error> {
    let request = call.request_id.as_str();
    tracing::warn!(request_id = request, "a sign-in at the OIDC issuer failed ({code}): {why}");
    Redirect::to(&format!("/?signIn={code}&request={request}"))
}

/// The caller of a session. 401 if the text was not made by this server or the session is over.
pub fn caller_of(state: &Auth, text: &str) -> Result<Caller, Error> {
    let sealed = text.strip_prefix(PREFIX).unwrap_or_default();
    let session = open::<Session>(state, SESSION, sealed);
    let is_valid = |session: &Session| {
        let Some(oidc) = &state.oidc else { return false };
        let left_ms = session.expires_at_ms - state.clock.now_ms();
        oidc.rights_digest() == session.settings && (1..=oidc.session_ms() + LEEWAY_MS).contains(&left_ms)
    };
    let over = || Error::unauthenticated("the session is over; sign in again");
    let session = session.filter(is_valid).ok_or_else(over)?;
    Ok(Caller {
        identity: Identity::Oidc(session.subject),
        name: session.name,
        role: session.role,
        datasources: session.datasources,
        scopes: Vec::new(),
        expires_at_ms: Some(session.expires_at_ms),
    })
}

fn session_of(oidc: &Oidc, identity: OidcIdentity, expires_at_ms: i64) -> Session {
    Session {
        settings: oidc.rights_digest().to_owned(),
        subject: identity.subject,
        name: identity.name,
        role: identity.role,
        datasources: identity.datasources,
        expires_at_ms,
    }
}

fn oidc(state: &Auth) -> Result<&Oidc, Error> {
    state
        .oidc
        .as_ref()
        .ok_or_else(|| Error::not_found("sign-in at an issuer here:", "`oidc.issuer` is empty"))
}

fn seal<T: Serialize>(state: &Auth, context: &str, value: &T) -> Result<String, Error> {
    let plain = serde_json::to_vec(value).map_err(Error::internal)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(state.keys.seal_session(context, &plain)))
}

/// `None` unless the server's newest key sealed it.
fn open<T: DeserializeOwned>(state: &Auth, context: &str, text: &str) -> Option<T> {
    let sealed = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
    let plain = state.keys.open_session(context, &sealed)?;
    serde_json::from_slice(plain.bytes()).ok()
}

/// `Lax`: the browser comes back from another site.
fn pending_cookie(sealed: &str, max_age_s: i64, is_secure: bool) -> Result<HeaderValue, Error> {
    let secure = if is_secure { "; Secure" } else { "" };
    let name = full_name(PENDING_COOKIE, is_secure);
    let text = format!("{name}={sealed}; Path=/; Max-Age={max_age_s}; HttpOnly; SameSite=Lax{secure}");
    HeaderValue::from_str(&text).map_err(Error::internal)
}

/// The text if it is a page of this server, else the first one: an address of another host must not be reached from
/// here.
fn own_page(text: &str) -> &str {
    let is_plain =
        text.len() <= RETURN_MAX_CHARS && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let is_page = text.starts_with('/') && !text.starts_with("/api");
    let path = text.split(['?', '#']).next().unwrap_or_default();
    // Browsers read `%2e` as a dot.
    let path = path.to_ascii_lowercase();
    let is_page = is_page && ["//", "/.", "%2e", "%2f", "%5c"].iter().all(|part| !path.contains(part));
    if is_plain && is_page { text } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_in_leads_to_a_page_of_this_server() {
        for page in ["/", "/tables/7?tab=ddl", "/lineage?table=1&depth=2#x"] {
            assert_eq!(own_page(page), page);
        }
        for other in [
            "",
            "tables",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "/a\r\nSet-Cookie: b=c",
            "/\t/evil.example",
            "/api/v1/session/oidc",
            "/./api/v1/session/oidc",
            "/.//evil.example",
            "/%2e/api/v1/me",
            "/x/%2E%2e/api/v1/me",
            "/ä",
        ] {
            assert_eq!(own_page(other), "/", "{other}");
        }
    }
}
