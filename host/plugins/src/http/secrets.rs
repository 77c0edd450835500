//! The secrets of an instance, which never reach its plugin.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lakeport_http_rules::HIDDEN_MIN_CHARS;
use zeroize::Zeroizing;

use super::log_in::Tokens;

/// By name.
#[derive(Default)]
pub struct Secrets(BTreeMap<String, Zeroizing<String>>);

impl Secrets {
    pub fn new(secrets: impl IntoIterator<Item = (String, String)>) -> Secrets {
        Secrets(secrets.into_iter().map(|(name, value)| (name, Zeroizing::new(value))).collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| value.as_str())
    }

    /// All texts that are replaced in answers: secrets and tokens as they are, and as they may be written.
    pub(super) fn hidden(&self, tokens: Option<&Tokens>) -> Vec<Zeroizing<String>> {
        let tokens = tokens.into_iter().flat_map(Tokens::values);
        let values = self.0.values().map(|value| value.as_str()).chain(tokens);
        let mut hidden = Vec::new();
        for value in values.filter(|value| value.chars().count() >= HIDDEN_MIN_CHARS) {
            let json = serde_json::Value::from(value).to_string();
            let percent = super::template::percent_encoded(value);
            for form in
                [value.to_owned(), json[1..json.len() - 1].to_owned(), percent, STANDARD.encode(value)]
            {
                if !hidden.iter().any(|known: &Zeroizing<String>| **known == form) {
                    hidden.push(Zeroizing::new(form));
                }
            }
        }
        // A longer one first: it may contain a shorter one.
        hidden.sort_by_key(|form| std::cmp::Reverse(form.len()));
        hidden
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
