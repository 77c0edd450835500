//! Decides which addresses the server connects to. All configurable addresses pass here: of an issuer, a
//! database, a webhook, a model, a plugin's request.
//!
//! Public and private addresses are permitted; loopback, link-local, metadata, multicast and reserved ones
//! only if the operator lists them (`egress_allow`). A listed name permits the loopback addresses that it
//! resolves to, but nothing more sensitive. The connection goes to the judged address: a name is resolved
//! once, so that a second DNS answer cannot change it. This module knows no domain.

mod address;
mod client;
mod rule;

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use lakeport_base::Error;
use tokio::sync::Semaphore;
use tokio::time::timeout;

pub use address::Kind;
pub use client::{AGENT, AnswerBody, HttpClient, Limits, SendError};
pub use rule::Rule;

/// How long resolving a name may take.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);
/// Concurrent look-ups: each holds a thread until the system's resolver returns.
const LOOKUPS_MAX: usize = 16;
/// The addresses of a name that are considered.
const ADDRESSES_MAX: usize = 16;
/// Host names of the clouds' metadata services.
const METADATA_NAMES: [&str; 6] = [
    "metadata.google.internal",
    "metadata.goog",
    "metadata.azure.internal",
    "metadata.tencentyun.com",
    "instance-data",
    "instance-data.ec2.internal",
];

/// Looks a name up, with a port. It may block.
type Resolver = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// The policy; clones share it.
#[derive(Clone)]
pub struct Policy {
    allow: Arc<[Rule]>,
    lookups: Arc<Semaphore>,
    resolver: Arc<Resolver>,
}

/// By the system.
fn look_up(name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    Ok((name, port).to_socket_addrs()?.take(ADDRESSES_MAX).collect())
}

impl Policy {
    /// `allow`: the destinations permitted besides public and private addresses, in the setting's notation.
    /// The error continues the setting's name.
    pub fn parse(allow: &[String]) -> Result<Policy, String> {
        let rules: Result<Vec<Rule>, String> = allow.iter().map(|text| text.parse()).collect();
        rules.map(Policy::new).map_err(|why| format!("names {why}"))
    }

    fn new(allow: Vec<Rule>) -> Policy {
        let lookups = Arc::new(Semaphore::new(LOOKUPS_MAX));
        Policy { allow: allow.into(), lookups, resolver: Arc::new(look_up) }
    }

    /// A copy that also permits this rule.
    #[must_use]
    pub fn and(&self, rule: Rule) -> Policy {
        let allow = self.allow.iter().cloned().chain([rule]).collect();
        Policy { allow, ..self.clone() }
    }

    /// Judges an address and the name that resolved to it, if any. 403 `egress_refused`.
    pub fn judge(&self, host: Option<&str>, address: SocketAddr) -> Result<(), Error> {
        let port = address.port();
        let kind = Kind::of(address.ip());
        let is_written = self.allow.iter().any(|rule| rule.covers_address(address));
        let is_vouched_for = kind == Kind::Loopback
            && host.is_some_and(|host| self.allow.iter().any(|rule| rule.covers_name(host, port)));
        if kind.is_open() || is_written || is_vouched_for {
            return Ok(());
        }
        let named = host.map(|host| format!(" ({host})")).unwrap_or_default();
        Err(refused(format!("{}{named}, {kind}", address.ip()), address.to_string()))
    }

    /// Resolves a host and judges each address. Refused addresses are left out; if none remains, the error
    /// names one. 403 `egress_refused`, 502 `host_not_found`, 504 `dns_timeout`.
    pub async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, Error> {
        if let Some(address) = rule::literal(host) {
            let address = SocketAddr::new(address, port);
            return self.judge(None, address).map(|()| vec![address]);
        }
        let name = rule::name(host).ok_or_else(|| {
            Error::bad_request("invalid_host", format!("`{}` is not a host", host.escape_debug()))
        })?;
        self.judge_name(&name, port)?;
        let found = self.look_up(&name, port).await?;
        self.judge_all(&name, &found)
    }

    fn judge_name(&self, name: &str, port: u16) -> Result<(), Error> {
        if METADATA_NAMES.contains(&name) && !self.allow.iter().any(|rule| rule.names(name, port)) {
            return Err(refused(format!("{name}, a cloud's metadata service"), format!("{name}:{port}")));
        }
        Ok(())
    }

    fn judge_all(&self, name: &str, found: &[SocketAddr]) -> Result<Vec<SocketAddr>, Error> {
        let mut first_refusal = None;
        let mut kept = Vec::new();
        for address in found.iter().take(ADDRESSES_MAX) {
            match self.judge(Some(name), *address) {
                Ok(()) => kept.push(*address),
                Err(refusal) => first_refusal = first_refusal.or(Some(refusal)),
            }
        }
        match first_refusal {
            Some(refusal) if kept.is_empty() => Err(refusal),
            None if kept.is_empty() => Err(not_found(name)),
            _ => Ok(kept),
        }
    }

    async fn look_up(&self, name: &str, port: u16) -> Result<Vec<SocketAddr>, Error> {
        let (target, resolver) = (name.to_owned(), Arc::clone(&self.resolver));
        let looked_up = async {
            let permit = Arc::clone(&self.lookups).acquire_owned().await.map_err(Error::internal)?;
            let look = move || {
                // Held until the resolver returns, even if the caller no longer waits.
                let _permit = permit;
                resolver(&target, port)
            };
            let found = tokio::task::spawn_blocking(look).await.map_err(Error::internal)?;
            found.map_err(|_| not_found(name))
        };
        timeout(LOOKUP_TIMEOUT, looked_up).await.unwrap_or_else(|_| {
            let message = format!("resolving {name} took longer than {} s", LOOKUP_TIMEOUT.as_secs());
            Err(Error::timed_out("dns_timeout", message))
        })
    }
}

impl Default for Policy {
    fn default() -> Policy {
        Policy::new(Vec::new())
    }
}

/// The host and port of an address such as `http://host:port/path`, in the form for rules and look-ups.
pub fn host_and_port(uri: &http::Uri) -> Option<(&str, u16)> {
    let usual = match uri.scheme_str()? {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let host = uri.host()?;
    Some((host, uri.port_u16().unwrap_or(usual)))
}

fn refused(what: String, allow: String) -> Error {
    let message = format!(
        "{what}: connecting to it is not allowed; to allow it, add `{allow}` to `egress_allow` in lakeport.toml, or to \
         the variable LAKEPORT_EGRESS_ALLOW, and restart the server"
    );
    Error::forbidden("egress_refused", message)
}

fn not_found(name: &str) -> Error {
    Error::bad_gateway("host_not_found", format!("the host {name} has no address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(allow: &[&str]) -> Policy {
        Policy::parse(&allow.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn may(policy: &Policy, host: Option<&str>, address: &str) -> bool {
        match policy.judge(host, at(address)) {
            Ok(()) => true,
            Err(error) => {
                assert_eq!((error.status(), error.code()), (403, "egress_refused"));
                false
            }
        }
    }

    #[test]
    fn by_default_only_public_and_private_addresses() {
        let policy = policy(&[]);
        assert!(may(&policy, None, "93.184.216.34:443") && may(&policy, Some("db"), "10.0.0.5:5432"));
        for address in
            ["127.0.0.1:80", "[::1]:80", "169.254.169.254:80", "[::ffff:127.0.0.1]:80", "0.0.0.0:80"]
        {
            assert!(
                !may(&policy, None, address) && !may(&policy, Some("a.example.com"), address),
                "{address}"
            );
        }
    }

    #[test]
    fn an_allowed_address_works_under_any_name() {
        let policy = policy(&["127.0.0.1:8080", "169.254.169.254"]);
        assert!(may(&policy, None, "127.0.0.1:8080") && may(&policy, Some("x"), "127.0.0.1:8080"));
        assert!(!may(&policy, None, "127.0.0.1:8081"));
        assert!(may(&policy, None, "169.254.169.254:80"));
    }

    #[test]
    fn a_name_vouches_for_loopback_and_for_nothing_worse() {
        let policy = policy(&["localhost:80", "*.dev.example.com"]);
        assert!(
            may(&policy, Some("localhost"), "127.0.0.1:80") && may(&policy, Some("localhost"), "[::1]:80")
        );
        assert!(may(&policy, Some("a.dev.example.com"), "127.0.0.1:9"));
        assert!(!may(&policy, Some("localhost"), "127.0.0.1:81"));
        assert!(!may(&policy, None, "127.0.0.1:80") && !may(&policy, Some("other"), "127.0.0.1:80"));
        assert!(!may(&policy, Some("a.dev.example.com"), "169.254.169.254:80"));
    }

    #[test]
    fn resolved_addresses_are_filtered_by_policy() {
        let found = [at("127.0.0.1:80"), at("10.0.0.1:80"), at("[fe80::1]:80")];
        assert_eq!(policy(&[]).judge_all("x", &found).unwrap(), [at("10.0.0.1:80")]);
        let error = policy(&[]).judge_all("evil.example.com", &found[..1]).unwrap_err().to_string();
        for part in [
            "127.0.0.1",
            "evil.example.com",
            "loopback",
            "`127.0.0.1:80`",
            "`egress_allow` in lakeport.toml",
            "LAKEPORT_EGRESS_ALLOW",
            "restart",
        ] {
            assert!(error.contains(part), "{part} is missing in {error}");
        }
    }

    #[test]
    fn adding_a_rule_copies_the_policy() {
        let narrow = policy(&[]);
        let wide = narrow.and("127.0.0.1:1".parse().unwrap());
        assert!(may(&wide, None, "127.0.0.1:1") && !may(&narrow, None, "127.0.0.1:1"));
    }

    #[tokio::test]
    async fn odd_host_spellings_are_judged_before_connecting() {
        let policy = policy(&[]);
        for host in ["127.0.0.1", "[::1]", "::1", "localhost", "LOCALHOST.", "2130706433", "127.1", "0x7f.1"]
        {
            let error = policy.resolve(host, 80).await.unwrap_err();
            assert_eq!(error.code(), "egress_refused", "{host}: {error}");
        }
        let error = policy.resolve("Metadata.Google.Internal.", 80).await.unwrap_err();
        assert!(error.to_string().contains("metadata service"), "{error}");
        for host in ["", "a b", "a\nb", "[::1", "x/y"] {
            assert_eq!(policy.resolve(host, 80).await.unwrap_err().code(), "invalid_host", "{host}");
        }
        assert_eq!(policy.resolve("10.0.0.1", 80).await.unwrap(), [at("10.0.0.1:80")]);
    }

    #[tokio::test]
    async fn an_allowed_name_is_resolved_once() {
        let found = policy(&["localhost:80"]).resolve("localhost", 80).await.unwrap();
        assert!(!found.is_empty() && found.iter().all(|address| address.ip().is_loopback()), "{found:?}");
    }

    #[tokio::test]
    async fn a_host_that_is_nowhere_is_said_so() {
        let error = policy(&[]).resolve("nowhere.invalid", 80).await.unwrap_err();
        assert!(matches!(error.code(), "host_not_found" | "dns_timeout"), "{error}");
    }
}
