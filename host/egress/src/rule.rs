//! The operator's rules: `db.example.com`, `db.example.com:5432`, `*.example.com`, `127.0.0.1`,
//! `127.0.0.1:8080`, `[::1]:8080`, `10.1.0.0/16`. Plain data, no I/O.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

/// The longest name of the DNS.
const NAME_MAX_CHARS: usize = 253;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    target: Target,
    /// `None`: all ports.
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    Name(String),
    /// All names with this suffix; `.example.com`.
    Below(String),
    Net(IpAddr, u8),
}

impl Rule {
    /// A rule for one host, by name or address, at one port.
    pub fn exactly(host: &str, port: u16) -> Result<Rule, String> {
        let target = match literal(host) {
            Some(address) => Target::whole(address),
            None => Target::Name(name(host).ok_or_else(|| format!("`{host}` is not a host"))?),
        };
        Ok(Rule { target, port: Some(port) })
    }

    /// A rule for the host and port of a URL without an account. The error does not show the URL, which may hold a
    /// secret.
    pub fn of_url(url: &str) -> Result<Rule, String> {
        let wrong = || "must be like https://hooks.example.com/path, without an account in it".to_owned();
        let uri: http::Uri = url.parse().map_err(|_| wrong())?;
        let account = uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
        let (host, port) = crate::host_and_port(&uri).filter(|_| !account).ok_or_else(wrong)?;
        Rule::exactly(host, port)
    }

    /// Whether the rule names the host itself, not just a parent domain.
    pub fn names(&self, host: &str, port: u16) -> bool {
        self.is_for(port) && matches!(&self.target, Target::Name(name) if name == host)
    }

    /// Whether the rule names the host or a parent domain.
    pub fn covers_name(&self, host: &str, port: u16) -> bool {
        let below = matches!(&self.target, Target::Below(suffix) if host.ends_with(suffix.as_str()));
        self.names(host, port) || (below && self.is_for(port))
    }

    pub fn covers_address(&self, address: SocketAddr) -> bool {
        let Target::Net(net, bits) = self.target else { return false };
        self.is_for(address.port()) && within(address.ip().to_canonical(), net, bits)
    }

    fn is_for(&self, port: u16) -> bool {
        self.port.is_none_or(|own| own == port)
    }
}

impl Target {
    fn whole(address: IpAddr) -> Target {
        let address = address.to_canonical();
        Target::Net(address, if address.is_ipv4() { 32 } else { 128 })
    }
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Rule, String> {
        let text = text.trim();
        let wrong = || {
            format!(
                "`{text}` is not one of: a host (db.example.com), *.example.com, an address (127.0.0.1, ::1), a \
                 range (10.1.0.0/16); all but a range may have a port (127.0.0.1:8080, [::1]:8080)"
            )
        };
        if let Some((net, bits)) = text.split_once('/') {
            let (net, bits) = (net.parse::<IpAddr>(), bits.parse::<u8>());
            let (Ok(net), Ok(bits)) = (net, bits) else { return Err(wrong()) };
            let most = if net.is_ipv4() { 32 } else { 128 };
            return if bits <= most {
                Ok(Rule { target: Target::Net(net, bits), port: None })
            } else {
                Err(wrong())
            };
        }
        if let Some(address) = literal(text) {
            return Ok(Rule { target: Target::whole(address), port: None });
        }
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(Rule { target: Target::whole(address.ip()), port: Some(address.port()) });
        }
        let (host, port) = match text.split_once(':') {
            Some((host, port)) => (host, Some(port.parse().map_err(|_| wrong())?)),
            None => (text, None),
        };
        let target = match host.strip_prefix("*.") {
            Some(suffix) => Target::Below(format!(".{}", name(suffix).ok_or_else(wrong)?)),
            None => Target::Name(name(host).ok_or_else(wrong)?),
        };
        Ok(Rule { target, port })
    }
}

/// Parses an IP address; IPv6 with or without brackets.
pub fn literal(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.parse().ok()
}

/// Normalises a name for comparing: lower case, without a trailing dot.
pub fn name(host: &str) -> Option<String> {
    let host = host.strip_suffix('.').unwrap_or(host);
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name = !host.is_empty()
        && host.len() <= NAME_MAX_CHARS
        && host.chars().all(known)
        && host.split('.').all(|label| !label.is_empty());
    is_name.then(|| host.to_ascii_lowercase())
}

fn within(address: IpAddr, net: IpAddr, bits: u8) -> bool {
    let (address, net, width) = match (address, net) {
        (IpAddr::V4(address), IpAddr::V4(net)) => {
            (u128::from(address.to_bits()), u128::from(net.to_bits()), 32)
        }
        (IpAddr::V6(address), IpAddr::V6(net)) => (address.to_bits(), net.to_bits(), 128),
        _ => return false,
    };
    let rest = width - u32::from(bits);
    (address ^ net).checked_shr(rest).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Rule {
        text.parse().unwrap()
    }

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_suffix_rule_covers_subdomains() {
        assert!(rule("DB.example.com.").covers_name("db.example.com", 1));
        assert!(rule("db.example.com:5432").covers_name("db.example.com", 5432));
        assert!(!rule("db.example.com:5432").covers_name("db.example.com", 5433));
        assert!(rule("*.example.com").covers_name("a.b.example.com", 1));
        assert!(!rule("*.example.com").covers_name("example.com", 1));
        assert!(!rule("*.example.com").covers_name("badexample.com", 1));
        assert!(!rule("*.example.com").names("a.example.com", 1));
    }

    #[test]
    fn a_range_rule_covers_its_addresses() {
        assert!(rule("127.0.0.1").covers_address(at("127.0.0.1:9")));
        assert!(rule("127.0.0.1").covers_address(at("[::ffff:127.0.0.1]:9")));
        assert!(!rule("127.0.0.1").covers_address(at("127.0.0.2:9")));
        assert!(rule("127.0.0.1:80").covers_address(at("127.0.0.1:80")));
        assert!(!rule("127.0.0.1:80").covers_address(at("127.0.0.1:81")));
        assert!(rule("127.0.0.1/8").covers_address(at("127.9.9.9:1")));
        assert!(rule("0.0.0.0/0").covers_address(at("169.254.169.254:80")));
        assert!(!rule("0.0.0.0/0").covers_address(at("[::1]:80")));
        assert!(rule("::/0").covers_address(at("[::1]:80")));
        assert!(rule("[::1]").covers_address(at("[::1]:80")) && rule("::1").covers_address(at("[::1]:80")));
        assert!(rule("[::1]:80").covers_address(at("[::1]:80")));
        assert!(rule("fe80::/10").covers_address(at("[fe80::7]:80")));
        assert!(!rule("169.254.0.0/17").covers_address(at("169.254.169.254:80")));
    }

    #[test]
    fn the_rule_of_a_url_wants_one_without_an_account() {
        assert_eq!(Rule::of_url("https://hooks.example.com/a?token=b"), Ok(rule("hooks.example.com:443")));
        for wrong in ["", "hooks", "ftp://a/b", "https://me:secret@a/b"] {
            let why = Rule::of_url(wrong).unwrap_err();
            assert!(why.starts_with("must be like") && !why.contains("secret"), "{why}");
        }
    }

    #[test]
    fn what_is_no_rule_is_refused_by_its_text() {
        for text in
            ["", "*", "*.", "a b", "http://x", "10.0.0.0/33", "x/8", "h:port", "h:70000", "a..b", "::1/129"]
        {
            assert!(text.parse::<Rule>().unwrap_err().contains(&format!("`{text}`")), "{text}");
        }
    }
}
