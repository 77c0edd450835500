//! Local mode: with no token configured everyone is admin, so only this machine's own programs may ask.
//! A page on the web must not reach the server through the user's browser, neither under a name that it
//! points at this machine nor by a form; and a proxy must not make the world look local.

use std::net::{IpAddr, SocketAddr};

use http::header::{FORWARDED, HOST, ORIGIN, VIA};
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, Method};

use crate::error::Error;

/// Fails at start when other machines could connect.
pub fn refuse_wide_listening(address: SocketAddr) -> anyhow::Result<()> {
    if address.ip().is_loopback() {
        return Ok(());
    }
    anyhow::bail!(
        "listen is {address}, which other machines can reach, and no token is configured: anyone could do \
         anything. Listen on 127.0.0.1:{port} and reach it from elsewhere through a tunnel, such as \
         `ssh -L {port}:127.0.0.1:{port} HOST`",
        port = address.port()
    )
}

/// 403 for what did not come from a program of this machine.
pub fn check(parts: &Parts) -> Result<(), Error> {
    check_host(parts)?;
    check_forwarded(&parts.headers)?;
    check_origin(parts)
}

fn check_host(parts: &Parts) -> Result<(), Error> {
    let mut named = false;
    for host in hosts(parts) {
        if !host.as_deref().is_some_and(is_loopback_authority) {
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

/// Every name the request was sent to: `:authority` of HTTP/2, `Host` of HTTP/1.1; `None` for one that is not text.
fn hosts(parts: &Parts) -> impl Iterator<Item = Option<String>> {
    let authority = parts.uri.authority().map(|authority| Some(authority.to_string()));
    let headers = parts.headers.get_all(HOST).iter().map(|value| value.to_str().ok().map(str::to_owned));
    authority.into_iter().chain(headers)
}

fn is_loopback_authority(text: &str) -> bool {
    let Ok(authority) = text.parse::<Authority>() else { return false };
    if authority.as_str().contains('@') {
        return false;
    }
    let host = authority.host();
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
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
            format!("the request came through a proxy (`{name}`); in local mode ask the server directly"),
        )),
    }
}

/// Reads are safe already: with no CORS a foreign page cannot see the answer.
fn check_origin(parts: &Parts) -> Result<(), Error> {
    if parts.method == Method::GET || parts.method == Method::HEAD {
        return Ok(());
    }
    let own = hosts(parts).flatten().next().unwrap_or_default().to_ascii_lowercase();
    let same =
        |origin: &str| origin.to_ascii_lowercase().strip_prefix("http://").is_some_and(|host| host == own);
    let origins_fit = parts.headers.get_all(ORIGIN).iter().all(|value| value.to_str().is_ok_and(same));
    let site_fits = |site: &str| site == "same-origin" || site == "none";
    let sites_fit =
        parts.headers.get_all("sec-fetch-site").iter().all(|value| value.to_str().is_ok_and(site_fits));
    if origins_fit && sites_fit {
        return Ok(());
    }
    let message = "a page of another origin may not change anything here";
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
        check(&request.body(()).unwrap().into_parts().0).err().map(|error| error.code())
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
        ];
        for bad in bad {
            assert_eq!(outcome("GET", &[("host", bad)]), Some("host_not_allowed"), "{bad}");
        }
        assert_eq!(outcome("GET", &[]), Some("host_not_allowed"));
        let two = [("host", "localhost"), ("host", "example.com")];
        assert_eq!(outcome("GET", &two), Some("host_not_allowed"));
    }

    #[test]
    fn a_write_from_another_origin_is_refused_and_a_read_is_not() {
        let host = ("host", "localhost:8080");
        for origin in ["http://example.com", "null", "http://localhost:9999", "https://localhost:8080"] {
            assert_eq!(outcome("POST", &[host, ("origin", origin)]), Some("origin_not_allowed"), "{origin}");
            assert_eq!(outcome("GET", &[host, ("origin", origin)]), None, "{origin}");
        }
        assert_eq!(outcome("POST", &[host, ("origin", "http://localhost:8080")]), None);
        assert_eq!(outcome("POST", &[host]), None);
        for (site, refused) in
            [("cross-site", true), ("same-site", true), ("same-origin", false), ("none", false)]
        {
            assert_eq!(outcome("DELETE", &[host, ("sec-fetch-site", site)]).is_some(), refused, "{site}");
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

    #[test]
    fn listening_for_other_machines_is_refused_with_a_way_out() {
        assert!(refuse_wide_listening("127.0.0.1:1".parse().unwrap()).is_ok());
        assert!(refuse_wide_listening("[::1]:1".parse().unwrap()).is_ok());
        let message = refuse_wide_listening("0.0.0.0:8080".parse().unwrap()).unwrap_err().to_string();
        assert!(message.contains("127.0.0.1:8080") && message.contains("ssh -L"), "{message}");
    }
}
