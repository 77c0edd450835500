//! Local mode: without configured tokens every caller is admin, so only programs of this machine may connect.
//! It refuses web pages in the user's browser, which could reach the server by a DNS name that points at this
//! machine or by a form, and proxies, which would make remote clients look local.

use std::net::IpAddr;

use http::header::{FORWARDED, HOST, ORIGIN, VIA};
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, Method};
use lakeport_base::Error;

use super::Secure;
use super::cors::allowed_origin;

/// 403 unless the request comes from a program of this machine. `cors_origins`: pages that the operator
/// allows.
pub fn check(parts: &Parts, cors_origins: &[String]) -> Result<(), Error> {
    check_host(parts)?;
    check_forwarded(&parts.headers)?;
    if allowed_origin(&parts.headers, cors_origins).is_some() {
        return Ok(());
    }
    check_origin(parts)
}

fn check_host(parts: &Parts) -> Result<(), Error> {
    let mut named = false;
    for host in hosts(parts) {
        if !host.is_some_and(is_loopback_authority) {
            return Err(host_not_allowed());
        }
        named = true;
    }
    if named { Ok(()) } else { Err(host_not_allowed()) }
}

fn host_not_allowed() -> Error {
    let message =
        "in local mode the server answers only to a loopback name: use http://127.0.0.1 or http://localhost";
    Error::forbidden("host_not_allowed", message)
}

/// All host names of the request: `:authority` of HTTP/2, `Host` of HTTP/1.1; `None` for one that is not
/// text.
fn hosts(parts: &Parts) -> impl Iterator<Item = Option<&str>> {
    let authority = parts.uri.authority().map(|authority| Some(authority.as_str()));
    let headers = parts.headers.get_all(HOST).iter().map(|value| value.to_str().ok());
    authority.into_iter().chain(headers)
}

fn is_loopback_authority(text: &str) -> bool {
    is_usual(text) || is_loopback(text)
}

/// Recognises the most common values without parsing.
fn is_usual(text: &str) -> bool {
    let rest = text.strip_prefix("127.0.0.1").or_else(|| text.strip_prefix("localhost"));
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port))
}

fn is_loopback(text: &str) -> bool {
    let Some(authority) = whole_authority(text) else { return false };
    let host = authority.host();
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A host with or without a port, if the text is that and no more.
pub fn whole_authority(text: &str) -> Option<Authority> {
    let authority = text.parse::<Authority>().ok()?;
    let port = match authority.port() {
        Some(port) => format!(":{}", port.as_u16()),
        None => String::new(),
    };
    (!authority.host().is_empty() && text == format!("{}{port}", authority.host())).then_some(authority)
}

fn check_forwarded(headers: &HeaderMap) -> Result<(), Error> {
    let proxied = |name: &str| {
        name == FORWARDED.as_str()
            || name == VIA.as_str()
            || name == "x-real-ip"
            || name.starts_with("x-forwarded-")
    };
    match headers.keys().find(|name| proxied(name.as_str())) {
        None => Ok(()),
        Some(name) => Err(Error::forbidden(
            "proxied",
            format!(
                "the request came through a proxy (`{name}`); in local mode connect to the server directly"
            ),
        )),
    }
}

/// Reads, too: a foreign page would not see the answer, but some of them ask a database. It may lead to a page.
fn check_origin(parts: &Parts) -> Result<(), Error> {
    let is_read = parts.method == Method::GET || parts.method == Method::HEAD;
    let mode = parts.headers.get("sec-fetch-mode").and_then(|mode| mode.to_str().ok());
    let is_interface = parts.uri.path().to_ascii_lowercase().starts_with("/api");
    if is_read && mode == Some("navigate") && !is_interface {
        return Ok(());
    }
    let own = hosts(parts).flatten().next().unwrap_or_default().to_ascii_lowercase();
    let scheme = if parts.extensions.get::<Secure>().is_some() { "https://" } else { "http://" };
    let same =
        |origin: &str| origin.to_ascii_lowercase().strip_prefix(scheme).is_some_and(|host| host == own);
    let origins_fit = parts.headers.get_all(ORIGIN).iter().all(|value| value.to_str().is_ok_and(same));
    let site_fits = |site: &str| site == "same-origin" || site == "none";
    let sites_fit =
        parts.headers.get_all("sec-fetch-site").iter().all(|value| value.to_str().is_ok_and(site_fits));
    if origins_fit && sites_fit {
        return Ok(());
    }
    let message = "pages of other origins may not send requests";
    Err(Error::forbidden("origin_not_allowed", message))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn outcome(method: &str, headers: &[(&str, &str)]) -> Option<&'static str> {
        let mut request = Request::builder().method(method).uri("/api/v1/plugins");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        check(&request.body(()).unwrap().into_parts().0, &["https://console.example".to_owned()])
            .err()
            .map(|error| error.code())
    }

    #[test]
    fn only_loopback_names_are_answered() {
        for good in ["localhost", "LOCALHOST:8080", "127.0.0.1:8080", "127.1.2.3", "[::1]:80", "[::1]"] {
            assert_eq!(outcome("GET", &[("host", good)]), None, "{good}");
        }
        let bad = [
            "example.com",
            "localhost.example.com",
            "127.0.0.1.example.com",
            "evil@localhost",
            "localhost@evil",
            "0.0.0.0",
            "[::]",
            "",
            "10.0.0.1",
            "::1",
            "[::1].evil",
            "[::1]:80.evil",
        ];
        for bad in bad {
            assert_eq!(outcome("GET", &[("host", bad)]), Some("host_not_allowed"), "{bad}");
        }
        assert_eq!(outcome("GET", &[]), Some("host_not_allowed"));
        let two = [("host", "localhost"), ("host", "example.com")];
        assert_eq!(outcome("GET", &two), Some("host_not_allowed"));
    }

    #[test]
    fn cross_origin_requests_are_refused_except_ways_to_a_page() {
        let host = ("host", "localhost:8080");
        for origin in ["http://example.com", "null", "http://localhost:9999", "https://localhost:8080"] {
            assert_eq!(outcome("POST", &[host, ("origin", origin)]), Some("origin_not_allowed"), "{origin}");
            assert_eq!(outcome("GET", &[host, ("origin", origin)]), Some("origin_not_allowed"), "{origin}");
        }
        assert_eq!(outcome("POST", &[host, ("origin", "http://localhost:8080")]), None);
        assert_eq!(outcome("POST", &[host]), None);
        let let_in = [host, ("origin", "https://console.example"), ("sec-fetch-site", "cross-site")];
        assert_eq!(outcome("POST", &let_in), None);
        for (site, refused) in
            [("cross-site", true), ("same-site", true), ("same-origin", false), ("none", false)]
        {
            assert_eq!(outcome("DELETE", &[host, ("sec-fetch-site", site)]).is_some(), refused, "{site}");
            assert_eq!(outcome("GET", &[host, ("sec-fetch-site", site)]).is_some(), refused, "{site}");
        }
        let followed = |path: &str| {
            let request =
                Request::get(path).header("host", "localhost").header("sec-fetch-site", "cross-site");
            let parts = request.header("sec-fetch-mode", "navigate").body(()).unwrap().into_parts().0;
            check(&parts, &[]).is_ok()
        };
        assert!(followed("/tables/7") && followed("/docs"));
        assert!(!followed("/api/v1/tables/7/statistics?forceRefresh=true"));
    }

    #[test]
    fn over_tls_the_same_origin_is_https() {
        for (origin, refused) in [("http://localhost:8080", true), ("https://localhost:8080", false)] {
            let request = Request::post("/").header("host", "localhost:8080").header("origin", origin);
            let parts = request.extension(Secure).body(()).unwrap().into_parts().0;
            assert_eq!(check(&parts, &[]).is_err(), refused, "{origin}");
        }
    }

    #[test]
    fn what_came_through_a_proxy_is_refused() {
        for name in
            ["forwarded", "via", "x-real-ip", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"]
        {
            assert_eq!(
                outcome("GET", &[("host", "localhost"), (name, "1.2.3.4")]),
                Some("proxied"),
                "{name}"
            );
        }
    }
}
