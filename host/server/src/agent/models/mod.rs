//! Models that plan the agent's steps, as resources: `offline`, which is always there, and those of a provider's
//! interface. One is the default; a topic may name another.
//!
//! A key is write-only, stored encrypted, and sent to the model's own address alone, which the egress policy judges.

pub mod anthropic;
pub mod api;
pub mod client;
mod definition;
pub mod exchange;
pub mod forms;
pub mod openai;
pub mod spent;
pub mod sse;
pub mod store;
#[cfg(test)]
mod tests;
mod view;

use lakeport_base::Error;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::spent::Spent;
pub use crate::config::ModelProvider as Provider;
use crate::config::ModelSettings;
use crate::core::Core;
use crate::secrets::{EncryptedColumn, LOWEST_ID, Secret, context};

/// The model that works by rules, and the one of the settings `model.…`.
pub const OFFLINE: &str = "offline";
pub const OF_SETTINGS: &str = "settings";

/// The keys of models.
pub const KEYS: EncryptedColumn = EncryptedColumn {
    table: "models",
    name: "secret",
    others: "SELECT secret, id FROM models WHERE secret IS NOT NULL \
             AND substr(secret, 1, 9) <> $1 AND id > $3 ORDER BY id LIMIT $2",
    put: "UPDATE models SET secret = $1 WHERE secret = $2 AND id = $3",
    lowest: LOWEST_ID,
};

/// A stored model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRecord {
    pub id: i64,
    pub name: String,
    pub provider: Provider,
    /// Without a slash at its end; empty for `offline`.
    pub base_url: String,
    /// The provider's name of the model.
    pub model: String,
    /// The key, encrypted.
    pub secret: Option<Vec<u8>>,
    pub is_default: bool,
    /// Tokens of one answer.
    pub max_tokens: i64,
    /// For one answer.
    pub timeout_s: i64,
    pub options: Options,
    pub created_at_ms: i64,
    pub updated_at_ms: i64,
}

/// Settings of a model that have defaults.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ModelOptions")]
pub struct Options {
    /// Whether its answers come as streams; absent: yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<bool>,
    /// From 0 to 2; absent: the provider's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 2.0))]
    pub temperature: Option<f64>,
    /// The member that bounds an answer in the interface `openai`: `max_tokens` or `max_completion_tokens`; absent: the
    /// latter at OpenAI's and Azure's addresses, the former elsewhere. Where it is refused, the other one is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens_member: Option<MaxTokensMember>,
    /// Tokens that it reads and writes at once, from 2,000. With fewer than some 165,000 it gets less of results, and with
    /// still fewer less of tables, earlier messages and what editors wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2_000, max = 10_000_000))]
    pub context_tokens: Option<i64>,
    /// The price of a million tokens that it reads, and writes, in your currency; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub input_price: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1_000_000.0))]
    pub output_price: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensMember {
    MaxTokens,
    MaxCompletionTokens,
}

impl MaxTokensMember {
    pub fn as_str(self) -> &'static str {
        match self {
            MaxTokensMember::MaxTokens => "max_tokens",
            MaxTokensMember::MaxCompletionTokens => "max_completion_tokens",
        }
    }
}

impl Options {
    pub fn is_streamed(&self) -> bool {
        self.stream.unwrap_or(true)
    }

    /// One call with these tokens.
    pub fn spent(&self, input_tokens: i64, output_tokens: i64) -> Spent {
        let cost_micros = self.cost_micros(input_tokens, output_tokens);
        Spent { calls: 1, input_tokens, output_tokens, cost_micros }
    }

    /// What these tokens cost, in millionths of the currency.
    fn cost_micros(&self, input_tokens: i64, output_tokens: i64) -> i64 {
        let cost = |tokens: i64, price: Option<f64>| tokens as f64 * price.unwrap_or(0.0);
        let all = cost(input_tokens, self.input_price) + cost(output_tokens, self.output_price);
        // The bounds of tokens and prices keep it below the largest number.
        all.round() as i64
    }
}

impl ModelRecord {
    /// Whether the server makes it: `offline`, and the model of the settings.
    pub fn is_built_in(&self) -> bool {
        self.name == OFFLINE || self.name == OF_SETTINGS
    }

    /// Its key in plain text.
    pub fn key(&self, core: &Core) -> Result<Option<Secret>, Error> {
        let sealed = self.secret.as_ref();
        sealed.map(|sealed| core.keys.decrypt(&key_context(self.id), sealed)).transpose()
    }
}

/// What its key is encrypted for.
pub fn key_context(id: i64) -> String {
    context(KEYS.table, &[&id.to_string()], KEYS.name)
}

/// Makes `offline`, and the model of the settings, as these are now.
pub async fn ensure(core: &Core) -> Result<(), Error> {
    let now_ms = core.clock.now_ms();
    let mut tx = core.db.begin().await?;
    store::ensure_offline(&mut tx, now_ms).await?;
    let before = store::lock_named(&mut tx, OF_SETTINGS).await?;
    let settings = &core.config.model;
    if settings.provider == Provider::Offline {
        if let Some(before) = before {
            store::delete(&mut tx, before.id).await?;
            store::ensure_default(&mut tx).await?;
        }
        return tx.commit().await;
    }
    let is_new = before.is_none();
    let id = match &before {
        Some(before) => before.id,
        None => store::insert(&mut tx, &of_settings(settings, now_ms)).await?,
    };
    // The same key would be another ciphertext each time. One that cannot be read any more is another.
    let plain = before.as_ref().and_then(|before| before.key(core).ok().flatten());
    let wanted = settings.api_key.as_ref().map(|key| key.0.as_str());
    let secret = if wanted.is_some() && plain.as_ref().and_then(Secret::text) == wanted {
        before.as_ref().and_then(|before| before.secret.clone())
    } else {
        wanted.map(|key| core.keys.encrypt(&key_context(id), key.as_bytes()))
    };
    let mut after = ModelRecord { id, secret, ..of_settings(settings, now_ms) };
    if let Some(before) = &before {
        (after.is_default, after.created_at_ms) = (before.is_default, before.created_at_ms);
        after.updated_at_ms = before.updated_at_ms;
        if after == *before {
            return tx.commit().await;
        }
        after.updated_at_ms = now_ms;
    }
    // A default that was chosen stays one.
    if is_new && store::chosen(&mut tx, None).await?.name == OFFLINE {
        store::clear_default(&mut tx).await?;
        after.is_default = true;
    }
    store::update(&mut tx, &after).await?;
    tx.commit().await
}

fn of_settings(settings: &ModelSettings, now_ms: i64) -> ModelRecord {
    ModelRecord {
        id: 0,
        name: OF_SETTINGS.to_owned(),
        provider: settings.provider,
        base_url: settings.base_url.clone(),
        model: settings.name.clone(),
        secret: None,
        is_default: false,
        max_tokens: settings.max_tokens,
        timeout_s: settings.timeout_s,
        options: Options {
            input_price: settings.input_price,
            output_price: settings.output_price,
            context_tokens: settings.context_tokens,
            ..Options::default()
        },
        created_at_ms: now_ms,
        updated_at_ms: now_ms,
    }
}
