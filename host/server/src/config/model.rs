//! The model of the settings `model.…`.

use std::fmt;

use lakeport_egress::Rule;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Hidden;

/// Bytes of a model's address, and of its key.
pub const URL_MAX_BYTES: usize = 500;
pub const KEY_MAX_BYTES: usize = 1_024;
/// Tokens of one answer.
pub const MAX_TOKENS_DEFAULT: i64 = 4_096;
pub const MAX_TOKENS_MAX: i64 = 200_000;
/// Seconds for one answer.
pub const TIMEOUT_S_DEFAULT: i64 = 120;
pub const TIMEOUT_S_MAX: i64 = 600;
/// Of a million tokens.
pub const PRICE_MAX: f64 = 1_000_000.0;

/// The interface that a model is called by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ModelProvider {
    /// Rules, without a network.
    #[default]
    Offline,
    /// Chat completions, as many servers offer them.
    OpenAi,
    /// Messages.
    Anthropic,
}

impl ModelProvider {
    pub const ALL: [ModelProvider; 3] =
        [ModelProvider::Offline, ModelProvider::OpenAi, ModelProvider::Anthropic];

    pub fn as_str(self) -> &'static str {
        match self {
            ModelProvider::Offline => "offline",
            ModelProvider::OpenAi => "openai",
            ModelProvider::Anthropic => "anthropic",
        }
    }

    pub fn named(name: &str) -> Option<ModelProvider> {
        ModelProvider::ALL.into_iter().find(|provider| provider.as_str() == name)
    }

    /// The provider's own address.
    pub fn base_url(self) -> &'static str {
        match self {
            ModelProvider::Offline => "",
            ModelProvider::OpenAi => "https://api.openai.com/v1",
            ModelProvider::Anthropic => "https://api.anthropic.com",
        }
    }
}

impl fmt::Display for ModelProvider {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// The model that the settings make; the members have the names of the file.
#[derive(Debug, Clone, Default)]
pub struct ModelSettings {
    /// `offline`: none is made.
    pub provider: ModelProvider,
    pub base_url: String,
    pub api_key: Option<Hidden>,
    pub name: String,
    pub max_tokens: i64,
    pub timeout_s: i64,
    pub input_price: Option<f64>,
    pub output_price: Option<f64>,
    pub context_tokens: Option<i64>,
}

/// An address of a model in stored form. The error continues its name.
pub fn base_url(text: &str) -> Result<String, String> {
    if text.len() > URL_MAX_BYTES {
        return Err(format!("has more than {URL_MAX_BYTES} bytes"));
    }
    if text.contains(['?', '#']) {
        return Err("has a query or a fragment; the address ends with its path".to_owned());
    }
    Rule::of_url(text)
        .map_err(|_| "must be like https://models.example.com/v1, without an account in it".to_owned())?;
    Ok(text.trim_end_matches('/').to_owned())
}

/// The problem of a key. It is sent as a header.
pub fn check_key(key: &str) -> Result<(), String> {
    if key.is_empty() || key.len() > KEY_MAX_BYTES || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!("must be 1 to {KEY_MAX_BYTES} visible ASCII characters without a blank"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_without_account_query_and_last_slash() {
        assert_eq!(base_url("http://127.0.0.1:11434/v1/").unwrap(), "http://127.0.0.1:11434/v1");
        for wrong in ["ftp://x", "https://user:key@x/v1", "https://x/v1?key=1", "x", "https://x/#a", ""] {
            assert!(base_url(wrong).is_err(), "{wrong}");
        }
        assert!(check_key("sk-1").is_ok() && check_key("sk 1").is_err() && check_key("").is_err());
    }
}
