//! A granted address: its base, from the instance's settings, and its call rules.

use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use lakeport_bindings::host::web::AddressSlot;
use lakeport_http_rules::{CallRule, RULES_MAX};
use serde_json::Value;

/// The call rules of an address, or what is wrong with them.
pub fn rules_of(slot: &AddressSlot) -> Result<Vec<CallRule>, String> {
    if slot.calls.len() > RULES_MAX {
        return Err(format!("{} has more than {RULES_MAX} call rules", slot.name));
    }
    slot.calls.iter().map(|rule| CallRule::parse(&rule.call, &rule.effect, &rule.mask)).collect()
}

pub struct Address {
    name: String,
    /// Or why it is not granted.
    base: Result<Base, String>,
    rules: Vec<CallRule>,
}

/// `https://host:port/path`, without a slash at its end.
pub struct Base(String);

impl Base {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Address {
    /// Rules that cannot be read allow nothing; the description's check has refused them.
    pub fn new(slot: &AddressSlot, settings: &Value) -> Address {
        let base = match settings.pointer(&slot.config_at).and_then(Value::as_str) {
            Some(text) if !text.is_empty() => {
                base(text).ok_or_else(|| format!("{WANTED}; the setting is {}", slot.config_at))
            }
            _ => Err(format!("the setting {} is empty", slot.config_at)),
        };
        Address { name: slot.name.clone(), base, rules: rules_of(slot).unwrap_or_default() }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// `not_granted` if the operator has not filled in its setting.
    pub fn base(&self) -> Result<&Base, Error> {
        self.base
            .as_ref()
            .map_err(|why| error("not_granted", format!("the address {} is not granted: {why}", self.name)))
    }

    pub fn rule(&self, method: &str, path: &[&str]) -> Option<&CallRule> {
        self.rules.iter().find(|rule| rule.fits(method, path))
    }
}

/// What an address must be like.
pub const WANTED: &str = "it must be like https://host/path, without an account, a query or a fragment";

/// Whether the text can be an address.
pub fn is_address(text: &str) -> bool {
    base(text).is_some()
}

/// The base of an address such as `https://host/path/`; an account, a query or a fragment is refused: they would be lost,
/// or end up in logs.
fn base(text: &str) -> Option<Base> {
    let is_plain = |c: char| c.is_ascii_graphic() && !matches!(c, '#' | '?' | '@' | '\\');
    let uri: http::Uri = text.parse().ok().filter(|_| text.chars().all(is_plain))?;
    let (host, port) = lakeport_egress::host_and_port(&uri)?;
    // A port that is no number up to 65535 reads as none.
    let has_port = uri.authority()?.as_str().len() > host.len();
    if port == 0 || (has_port && uri.port_u16().is_none()) {
        return None;
    }
    Some(Base(text.trim_end_matches('/').to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_has_host_and_path_alone() {
        for (text, expected) in [
            ("http://ds:12345/dolphinscheduler", "http://ds:12345/dolphinscheduler"),
            ("https://a.example.com///", "https://a.example.com"),
            ("http://[::1]:8080/", "http://[::1]:8080"),
        ] {
            assert_eq!(base(text).map(|base| base.0).as_deref(), Some(expected));
        }
        for text in [
            "",
            "ds",
            "ftp://a/b",
            "http://u:p@a/b",
            "http://a/b?c=d",
            "http://a/b#c",
            "http://a b",
            "http:///x",
            "file:///etc",
            "http://a:99999/b",
            "http://a:0/b",
            "http://a:/b",
        ] {
            assert!(base(text).is_none(), "{text}");
        }
    }
}
