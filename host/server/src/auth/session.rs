//! The console's session: a token in a cookie. No script reads the cookie, no other site's page sends it, and a change
//! needs a header as well that only the console's own page can send.

use ::http::header::{AUTHORIZATION, COOKIE, HOST, SET_COOKIE};
use ::http::request::Parts;
use ::http::uri::Authority;
use ::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use lakeport_base::error::{Detail, Error};
use lakeport_http::form::Draft;
use lakeport_http::{Data, Nothing};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Call;
use super::api::Me;
use crate::config::Config;

/// The error code of a change without [`CONSOLE`].
pub const HEADER_MISSING: &str = "console_header_missing";

const COOKIE_NAME: &str = "lakeport_session";
/// The page's own header; another origin's page may not send it.
static CONSOLE: HeaderName = HeaderName::from_static("x-lakeport-console");
/// Says that a proxy in front ends TLS.
static FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
/// A browser keeps cookies of 4 KiB, with their names and attributes. Longer texts are no tokens.
pub const COOKIE_MAX_BYTES: usize = 3_900;
const TOKEN_MAX_CHARS: usize = COOKIE_MAX_BYTES;

#[derive(Deserialize, JsonSchema)]
pub struct SignIn {
    /// A token, or a JWT of the configured OIDC issuer.
    #[schemars(length(min = 1, max = TOKEN_MAX_CHARS))]
    token: String,
}

/// The token or session in the session's cookie, unless the request has an `Authorization`. 403 if it is a change that does
/// not come from the console's page.
pub fn token_of<'p>(parts: &'p Parts, config: &Config) -> Result<Option<&'p str>, Error> {
    if parts.headers.contains_key(AUTHORIZATION) {
        return Ok(None);
    }
    let name = full_name(COOKIE_NAME, is_secure(&parts.headers, config));
    let Some(token) = cookie_of(&parts.headers, &name) else { return Ok(None) };
    let reads = parts.method == Method::GET || parts.method == Method::HEAD;
    if !reads {
        check_page(&parts.headers)?;
    }
    Ok(Some(token))
}

/// A cookie's full name. By TLS its prefix makes browsers refuse one that another host or a page without TLS sets.
pub fn full_name(name: &str, is_secure: bool) -> String {
    let prefix = if is_secure { "__Host-" } else { "" };
    format!("{prefix}{name}")
}

/// The value of a cookie that is not empty. `None`, too, if there are different ones: one is not from here.
pub fn cookie_of<'h>(headers: &'h HeaderMap, full_name: &str) -> Option<&'h str> {
    let pairs = headers.get_all(COOKIE).iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b';'));
    // Another program's cookie may hold anything. Only these two are left out before a name: browsers take other blanks for
    // letters of it, and so for a name without the prefix.
    let texts =
        pairs.filter_map(|pair| std::str::from_utf8(pair).ok()?.trim_matches([' ', '\t']).split_once('='));
    let mut values =
        texts.filter(|(name, value)| *name == full_name && !value.is_empty()).map(|(_, value)| value);
    let first = values.next()?;
    values.all(|other| other == first).then_some(first)
}

fn check_page(headers: &HeaderMap) -> Result<(), Error> {
    if headers.get(&CONSOLE).is_some_and(|value| value == "1") {
        return Ok(());
    }
    let message = "a change by the session's cookie needs the header `X-Lakeport-Console: 1`, which the console's page \
                   sends; programs send `Authorization: Bearer <token>`";
    Err(Error::forbidden(HEADER_MISSING, message))
}

/// `POST /api/v1/session`
pub async fn sign_in(call: Call<Nothing, Nothing, Draft<SignIn>>) -> Result<Data<Me>, Error> {
    let state = &call.state;
    let token = call.body.checked(|form| {
        let token = form.token.trim();
        if (1..=TOKEN_MAX_CHARS).contains(&token.chars().count()) {
            return Ok(token.to_owned());
        }
        Err(vec![Detail::new("token", format!("must be 1 to {TOKEN_MAX_CHARS} characters"))])
    })?;
    check_page(&call.headers)?;
    if state.is_local_mode() {
        return Ok(Data::new(&Me::of(state, &call.caller)));
    }
    let caller = state.caller_of(&token).await?;
    state.limit().admit(&caller.identity, state.clock.now_ms())?;
    let cookie = HeaderValue::from_str(&cookie(&token, is_secure(&call.headers, &state.config)))
        .map_err(|_| Error::unauthenticated("the token is not known here, or was revoked"))?;
    Ok(Data::new(&Me::of(state, &caller)).with_header(SET_COOKIE, cookie))
}

/// `DELETE /api/v1/session`
pub async fn sign_out(call: Call) -> Result<Data<()>, Error> {
    let is_secure = is_secure(&call.headers, &call.state.config);
    let is_by_cookie = !call.headers.contains_key(AUTHORIZATION)
        && cookie_of(&call.headers, &full_name(COOKIE_NAME, is_secure)).is_some();
    if is_by_cookie {
        check_page(&call.headers)?;
    }
    let cookie = format!("{}; Max-Age=0", cookie("", is_secure));
    let cookie = HeaderValue::from_str(&cookie).map_err(Error::internal)?;
    Ok(Data::new(&()).with_header(SET_COOKIE, cookie))
}

/// Without an age: the browser forgets it when it closes.
pub fn cookie(token: &str, is_secure: bool) -> String {
    let secure = if is_secure { "; Secure" } else { "" };
    format!("{}={token}; Path=/; HttpOnly; SameSite=Strict{secure}", full_name(COOKIE_NAME, is_secure))
}

/// Whether the browser reached this server by TLS, its own or that of the proxy nearest to the browser.
pub fn is_secure(headers: &HeaderMap, config: &Config) -> bool {
    let forwarded = headers.get(&FORWARDED_PROTO).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let first = forwarded.split(',').next().unwrap_or_default().trim();
    let is_public = |uri: &str| uri.starts_with("https:") && is_public_host(headers, uri);
    config.tls_cert.is_some()
        || first.eq_ignore_ascii_case("https")
        || config.oidc.redirect_uri.as_deref().is_some_and(is_public)
}

/// Whether the browser asked at the host and port of this address.
pub fn is_public_host(headers: &HeaderMap, redirect_uri: &str) -> bool {
    let Some(uri) = redirect_uri.parse::<Uri>().ok() else { return false };
    let Some(asked) = headers.get(HOST).and_then(|host| Authority::try_from(host.as_bytes()).ok()) else {
        return false;
    };
    // Browsers leave out the scheme's own port.
    let own = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    let is_host = uri.host().is_some_and(|host| host.eq_ignore_ascii_case(asked.host()));
    is_host && uri.port_u16().unwrap_or(own) == asked.port_u16().unwrap_or(own)
}

#[cfg(test)]
mod tests {
    use ::http::Request;

    use super::*;
    use crate::config::{Environment, Overrides};

    fn token(method: &str, headers: &[(&str, &str)]) -> Result<Option<String>, Error> {
        let mut request = Request::builder().method(method).uri("/api/v1/me");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        let config = Config::load(&Overrides::default(), &Environment::default()).expect("the defaults");
        token_of(&parts, &config).map(|token| token.map(str::to_owned))
    }

    #[test]
    fn a_cookie_of_another_place_does_not_count() {
        let get = |cookies: &str| token("GET", &[("Cookie", cookies)]).unwrap();
        assert_eq!(get("lakeport_session=a; lakeport_session=b"), None, "one of them is not from here");
        assert_eq!(get("lakeport_session=a; lakeport_session=a").as_deref(), Some("a"));
        assert_eq!(get("lakeport_session=; lakeport_session=a").as_deref(), Some("a"));
        assert_eq!(get("theme=d\u{fc}nkel; lakeport_session=a").as_deref(), Some("a"));
        let by_tls = |cookie: &str, proto: &str| {
            token("GET", &[("Cookie", cookie), ("X-Forwarded-Proto", proto)]).unwrap()
        };
        for proto in ["https", "HTTPS", "https, http"] {
            assert_eq!(by_tls("lakeport_session=a", proto), None);
            assert_eq!(by_tls("__Host-lakeport_session=a", proto).as_deref(), Some("a"));
        }
        assert_eq!(by_tls("lakeport_session=a", "http, https").as_deref(), Some("a"));
    }

    #[test]
    fn a_browser_at_the_address_of_the_redirect_is_recognized() {
        let asked = |host: &str, uri: &str| {
            is_public_host(&HeaderMap::from_iter([(HOST, HeaderValue::from_str(host).expect("a host"))]), uri)
        };
        assert!(asked("lake.example.com", "https://lake.example.com/api/v1/session/oidc/callback"));
        assert!(asked("LAKE.example.com", "https://lake.example.com:443/x"));
        assert!(asked("lake.example.com:8443", "https://lake.example.com:8443/x"));
        assert!(!asked("lake.example.com:8080", "https://lake.example.com/x"));
        assert!(!asked("lake", "https://lake.example.com/x"));
    }

    #[test]
    fn a_cookie_counts_without_authorization() {
        let cookie = ("Cookie", "a=b; lakeport_session=lp_1; c=d");
        assert_eq!(token("GET", &[cookie]).unwrap().as_deref(), Some("lp_1"));
        assert_eq!(token("GET", &[cookie, ("Authorization", "Bearer lp_2")]).unwrap(), None);
        assert_eq!(token("GET", &[("Cookie", "lakeport_session=; x_lakeport_session=lp_1")]).unwrap(), None);
        let blank = HeaderValue::from_bytes("\u{2000}lakeport_session=lp_1".as_bytes()).expect("bytes");
        let headers = HeaderMap::from_iter([(COOKIE, blank)]);
        assert_eq!(cookie_of(&headers, "lakeport_session"), None, "it is another name to browsers");
        assert_eq!(token("POST", &[]).unwrap(), None);
    }

    #[test]
    fn a_change_by_cookie_needs_the_page_s_header() {
        let cookie = ("Cookie", "lakeport_session=lp_1");
        let refused = token("POST", &[cookie]).expect_err("a form of another site");
        assert_eq!((refused.status(), refused.code()), (403, HEADER_MISSING));
        assert!(token("DELETE", &[cookie]).is_err());
        assert!(token("POST", &[cookie, ("X-Lakeport-Console", "1")]).unwrap().is_some());
    }
}
