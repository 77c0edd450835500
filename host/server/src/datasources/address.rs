//! Addresses of database servers, `postgres://user@host:5432/database?option=value`. The password is
//! separated from the rest. Error messages never show any part of the input.

use std::net::Ipv6Addr;

use lakeport_physical::Tls;
use lakeport_sql::Transport;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::secrets::Secret;

/// The longest address, in bytes.
pub const MAX_BYTES: usize = 4_096;
/// The longest host name, by DNS.
const HOST_MAX_BYTES: usize = 253;
/// Characters that need no encoding in an address.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// Options that a query must not have: they have a member of their own, or are secrets.
const NOT_OPTIONS: [&str; 12] = [
    "dbname",
    "host",
    "hostaddr",
    "passfile",
    "passwd",
    "password",
    "port",
    "pwd",
    "sslkey",
    "sslpassword",
    "user",
    "username",
];

/// The server and the user, without a password.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerAddress {
    /// `postgres`, `mysql`
    pub scheme: String,
    pub host: String,
    pub port: Option<u16>,
    pub database: Option<String>,
    pub username: Option<String>,
    /// As written, without the `?`.
    query: Option<String>,
}

impl ServerAddress {
    /// An address and its password. The error continues the member's name.
    pub fn parse(url: &str) -> Result<(ServerAddress, Option<Secret>), String> {
        const FORM: &str = "must be written postgres://user@host:5432/database";
        let form = || FORM.to_owned();
        if url.len() > MAX_BYTES {
            return Err(format!("must have {MAX_BYTES} bytes at most"));
        }
        let (scheme, rest) = url.split_once("://").ok_or_else(form)?;
        let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
        if rest.contains('#') || query.is_some_and(|query| query.contains('#')) {
            return Err("must have no `#`; write %23 where it belongs to a name".to_owned());
        }
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, place) = authority.rsplit_once('@').map_or(("", authority), |(user, place)| (user, place));
        let (username, password) = user.split_once(':').map_or((user, None), |(n, p)| (n, Some(p)));
        let (host, port) = host_and_port(place).ok_or_else(form)?;
        let address = ServerAddress {
            scheme: scheme.to_ascii_lowercase(),
            host,
            port,
            database: decoded(database)?,
            username: decoded(username)?,
            query: query.filter(|query| !query.is_empty()).map(str::to_owned),
        };
        let password = decoded(password.unwrap_or_default())?.map(Secret::from);
        address.check()?;
        Ok((address, password))
    }

    /// The error continues the member's name.
    pub fn check(&self) -> Result<(), String> {
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
        let is_host = match self.host.contains(':') {
            true => self.host.parse::<Ipv6Addr>().is_ok(),
            false => (1..=HOST_MAX_BYTES).contains(&self.host.len()) && self.host.chars().all(is_name),
        };
        if !is_host {
            return Err("must name a host, by its name or its IP address".to_owned());
        }
        for (name, _) in self.options() {
            if NOT_OPTIONS.contains(&name.to_ascii_lowercase().as_str()) {
                return Err(format!(
                    "must not have the option `{name}`: use the member for it, if there is one"
                ));
            }
        }
        Ok(())
    }

    /// The address, without a password.
    pub fn url(&self) -> String {
        let encoded = |text: &str| utf8_percent_encode(text, ENCODED).to_string();
        let user = self.username.as_deref().map(|name| format!("{}@", encoded(name))).unwrap_or_default();
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        let database = self.database.as_deref().map(|name| format!("/{}", encoded(name))).unwrap_or_default();
        let query = self.query.as_deref().map(|query| format!("?{query}")).unwrap_or_default();
        format!("{}://{user}{host}{port}{database}{query}", self.scheme)
    }

    /// The options after `?`.
    pub fn options(&self) -> impl Iterator<Item = (String, String)> + '_ {
        form_urlencoded::parse(self.query.as_deref().unwrap_or_default().as_bytes()).into_owned()
    }

    /// The protection of the connection, from one option: `sslmode` for PostgreSQL, `ssl-mode` for MySQL. The
    /// error continues the member's name.
    pub fn tls(&self, transport: Transport) -> Result<Tls, String> {
        let option = if transport == Transport::Postgres { "sslmode" } else { "ssl-mode" };
        let mut tls = Tls::default();
        for (name, value) in self.options() {
            if name != option {
                return Err(format!("has the option `{}`; there is one, `{option}`", name.escape_debug()));
            }
            tls =
                Tls::named(&value).map_err(|known| format!("has another `{option}` than these: {known}"))?;
        }
        Ok(tls)
    }

    /// Whether a password of the other address may be used for this one: the same server and user get it, over a
    /// connection with at least the same protection.
    pub fn may_use_password_of(&self, other: &ServerAddress, transport: Transport) -> bool {
        let is_same_login = (&self.scheme, &self.host, self.port, &self.username)
            == (&other.scheme, &other.host, other.port, &other.username);
        let is_as_safe = match (self.tls(transport), other.tls(transport)) {
            (Ok(now), Ok(before)) => now >= before,
            _ => false,
        };
        is_same_login && is_as_safe
    }
}

fn host_and_port(text: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            (host, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
        }
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    let port = port.map(|port| port.parse::<u16>().ok().filter(|&port| port > 0));
    match port {
        Some(None) => None,
        port => Some((host.to_owned(), port.flatten())),
    }
}

/// Empty means none.
fn decoded(text: &str) -> Result<Option<String>, String> {
    let text = percent_decode_str(text).decode_utf8().map_err(|_| "must be UTF-8 text".to_owned())?;
    if text.contains('\0') {
        return Err("must have no NUL".to_owned());
    }
    Ok(Some(text.into_owned()).filter(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_is_taken_out() {
        let (address, password) =
            ServerAddress::parse("postgres://ada:p%40ss%3A%2Fw@db.example:6432/sales?sslmode=require")
                .unwrap();
        assert_eq!(password.unwrap().text(), Some("p@ss:/w"));
        assert_eq!(address.url(), "postgres://ada@db.example:6432/sales?sslmode=require");
        assert_eq!((address.host.as_str(), address.port), ("db.example", Some(6432)));
        assert_eq!((address.database.as_deref(), address.username.as_deref()), (Some("sales"), Some("ada")));
    }

    #[test]
    fn what_is_written_is_read_again() {
        for url in [
            "mysql://h",
            "mysql://h:3306",
            "postgres://h/d",
            "postgres://a%40b@[::1]:5432/d%2Fe",
            "postgres://u@h/d?sslmode=require&application_name=x",
        ] {
            let (address, password) = ServerAddress::parse(url).unwrap();
            assert!(password.is_none());
            assert_eq!(address.url(), url);
        }
    }

    #[test]
    fn address_errors_do_not_repeat_the_input() {
        for url in [
            "h/d",
            "postgres://:hunter2@/d",
            "postgres://u:hunter2@h:x/d",
            "postgres://u:hunter2@h:0/d",
            "postgres://u:hunter2@h/d#f",
            "postgres://h/d?password=hunter2",
            "postgres://h/d?Host=hunter2",
            "postgres://u:hunter2@h,i/d",
            "postgres://u:hunter2%ff@h/d",
            "postgres://u:hunter2@[::1/d",
        ] {
            let error = ServerAddress::parse(url).unwrap_err();
            assert!(!error.contains("hunter2"), "{url}: {error}");
        }
        assert!(ServerAddress::parse(&format!("postgres://h/{}", "d".repeat(5_000))).is_err());
    }

    #[test]
    fn another_host_or_user_is_another_login() {
        let of = |url: &str| ServerAddress::parse(url).unwrap().0;
        let known = of("postgres://u@h:5432/d");
        let may = |one: &str, known: &ServerAddress| of(one).may_use_password_of(known, Transport::Postgres);
        assert!(may("postgres://u@h:5432/other?sslmode=require", &known));
        for other in
            ["postgres://u@g:5432/d", "postgres://v@h:5432/d", "postgres://u@h/d", "mysql://u@h:5432/d"]
        {
            assert!(!may(other, &known), "{other}");
        }
    }

    #[test]
    fn less_protection_is_another_login() {
        let modes = ["disable", "prefer", "require", "verify-ca", "verify-full"];
        let of = |mode: &str| ServerAddress::parse(&format!("postgres://u@h/d?sslmode={mode}")).unwrap().0;
        for (level, mode) in modes.iter().enumerate() {
            for (stored_level, stored) in modes.iter().enumerate() {
                let may = of(mode).may_use_password_of(&of(stored), Transport::Postgres);
                assert_eq!(may, level >= stored_level, "{stored} to {mode}");
            }
        }
        let plain = ServerAddress::parse("postgres://u@h/d").unwrap().0;
        assert!(
            !of("disable").may_use_password_of(&plain, Transport::Postgres),
            "without a mode it is `prefer`"
        );
    }
}
