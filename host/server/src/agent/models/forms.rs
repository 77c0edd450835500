//! The forms of requests about models.

use lakeport_http::form::{Amend, Number, Patch, Text};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Options, Provider};
use crate::config::model::{KEY_MAX_BYTES, MAX_TOKENS_MAX, TIMEOUT_S_MAX, URL_MAX_BYTES};

/// Characters of a name, and of the provider's name of a model.
pub const NAME_MAX: usize = 64;
const MODEL_MAX: usize = 200;

#[derive(Deserialize, JsonSchema)]
pub struct ModelPath {
    pub id: i64,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateModel {
    /// Unique among models.
    #[schemars(length(min = 1, max = NAME_MAX), regex(pattern = "^[a-z0-9._-]+$"))]
    pub name: String,
    /// `openai` (chat completions: also Ollama, vLLM, DeepSeek, Qwen and others, by `baseUrl`) or `anthropic` (messages).
    pub provider: Provider,
    /// Absent: the provider's own. `/chat/completions` (`openai`) or `/v1/messages` (`anthropic`) is added to it.
    #[schemars(length(max = URL_MAX_BYTES))]
    pub base_url: Option<String>,
    /// The provider's name of the model.
    pub model: Text<1, MODEL_MAX>,
    /// Never shown again; absent: none is sent.
    #[schemars(length(max = KEY_MAX_BYTES), extend("writeOnly" = true))]
    pub api_key: Option<String>,
    /// Makes it the only default.
    pub is_default: Option<bool>,
    /// Tokens of one answer; absent: 4,096.
    pub max_tokens: Option<Number<1, MAX_TOKENS_MAX>>,
    /// For one answer; absent: 120.
    pub timeout_seconds: Option<Number<1, TIMEOUT_S_MAX>>,
    pub options: Option<Options>,
}

/// Absent: unchanged.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateModel {
    #[serde(default)]
    #[schemars(length(min = 1, max = NAME_MAX), regex(pattern = "^[a-z0-9._-]+$"))]
    pub name: Amend<String>,
    #[serde(default)]
    pub provider: Amend<Provider>,
    /// Null: the provider's own.
    #[serde(default)]
    #[schemars(length(max = URL_MAX_BYTES))]
    pub base_url: Patch<String>,
    #[serde(default)]
    pub model: Amend<Text<1, MODEL_MAX>>,
    /// Null: none is sent. Required again when the address changes.
    #[serde(default)]
    #[schemars(length(max = KEY_MAX_BYTES), extend("writeOnly" = true))]
    pub api_key: Patch<String>,
    /// True makes it the only default; for another, make that the default.
    #[serde(default)]
    pub is_default: Amend<bool>,
    /// Null: 4,096.
    #[serde(default)]
    pub max_tokens: Patch<Number<1, MAX_TOKENS_MAX>>,
    /// Null: 120.
    #[serde(default)]
    pub timeout_seconds: Patch<Number<1, TIMEOUT_S_MAX>>,
    /// Replaces all options.
    #[serde(default)]
    pub options: Patch<Options>,
}

/// The days of the figures.
#[derive(Deserialize, JsonSchema)]
pub struct UsageQuery {
    /// The last days (UTC), today included.
    #[schemars(extend("default" = 30))]
    pub days: Option<Number<1, 400>>,
}

impl From<CreateModel> for UpdateModel {
    fn from(form: CreateModel) -> UpdateModel {
        UpdateModel {
            name: Amend(Some(form.name)),
            provider: Amend(Some(form.provider)),
            base_url: form.base_url.into(),
            model: Amend(Some(form.model)),
            api_key: form.api_key.into(),
            is_default: Amend(form.is_default),
            max_tokens: form.max_tokens.into(),
            timeout_seconds: form.timeout_seconds.into(),
            options: form.options.into(),
        }
    }
}
