//! Texts with slots, filled in by the host.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use lakeport_bindings::host::web::{Piece, Slot};
use serde_json::Value;
use zeroize::Zeroizing;

use super::Secrets;
use super::log_in::Tokens;

/// Where slots get their values. Only recipes have slots of settings and tokens.
pub struct Slots<'s> {
    pub secrets: &'s Secrets,
    pub settings: &'s Value,
    pub tokens: Option<&'s Tokens>,
}

impl Slots<'_> {
    /// The text of a template of a recipe.
    pub fn fill(&self, template: &[Piece]) -> Result<Zeroizing<String>, Error> {
        let mut text = Zeroizing::new(String::new());
        for piece in template {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Slot(slot) => text.push_str(&self.value(slot)?),
            }
        }
        Ok(text)
    }

    fn value(&self, slot: &Slot) -> Result<Zeroizing<String>, Error> {
        let missing = |what: &str| {
            error("not_granted", format!("the {what} {:?}, which the log-in needs, is not set", slot.name))
        };
        let plain = match slot.source.as_str() {
            "secret" => self.secrets.get(&slot.name).map(str::to_owned).ok_or_else(|| missing("secret"))?,
            "token" => {
                let token = self.tokens.and_then(|tokens| tokens.get(&slot.name));
                token.map(str::to_owned).ok_or_else(|| missing("token"))?
            }
            "config" => match self.settings.pointer(&slot.name) {
                Some(Value::String(text)) => text.clone(),
                Some(value @ (Value::Number(_) | Value::Bool(_))) => value.to_string(),
                _ => return Err(missing("setting")),
            },
            other => {
                return Err(error("unsupported", format!("the source {other:?} of a slot is not known")));
            }
        };
        let plain = Zeroizing::new(plain);
        Ok(Zeroizing::new(match slot.encoding.as_str() {
            "plain" => return Ok(plain),
            "json" => {
                let text = Zeroizing::new(Value::from(plain.as_str()).to_string());
                text[1..text.len() - 1].to_owned()
            }
            "base64" => STANDARD.encode(plain.as_bytes()),
            other => {
                return Err(error("unsupported", format!("the encoding {other:?} of a slot is not known")));
            }
        }))
    }
}

/// A text in a path or a query: all but letters, digits and `-._~` as `%XX`.
pub fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            encoded.push(byte.into());
        } else {
            write!(encoded, "%{byte:02X}").expect("a text takes all");
        }
    }
    encoded
}

/// Fields as `application/x-www-form-urlencoded`.
pub fn form_encoded(fields: &[(String, Zeroizing<String>)]) -> String {
    let fields: Vec<String> = fields
        .iter()
        .map(|(name, value)| format!("{}={}", percent_encoded(name), percent_encoded(value)))
        .collect();
    fields.join("&")
}
