//! Models and their use in answers.

use schemars::JsonSchema;
use serde::Serialize;

use super::spent::{Limits, Used};
use super::{ModelRecord, Options, Provider};
use crate::agent::time_of;

/// A model, without its key.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Model")]
pub struct ModelView {
    id: i64,
    name: String,
    provider: Provider,
    /// Null: it needs none.
    base_url: Option<String>,
    /// The provider's name of the model.
    model: String,
    /// Whether a key is set.
    has_key: bool,
    is_default: bool,
    /// Whether it is `offline`, or the model of the settings `model.…`: only `isDefault` can be changed.
    built_in: bool,
    max_tokens: i64,
    timeout_seconds: i64,
    options: Options,
    #[schemars(extend("format" = "date-time"))]
    created_at: String,
    #[schemars(extend("format" = "date-time"))]
    updated_at: String,
}

impl From<&ModelRecord> for ModelView {
    fn from(model: &ModelRecord) -> ModelView {
        ModelView {
            id: model.id,
            name: model.name.clone(),
            provider: model.provider,
            base_url: (!model.base_url.is_empty()).then(|| model.base_url.clone()),
            model: model.model.clone(),
            has_key: model.secret.is_some(),
            is_default: model.is_default,
            built_in: model.is_built_in(),
            max_tokens: model.max_tokens,
            timeout_seconds: model.timeout_s,
            options: model.options.clone(),
            created_at: time_of(model.created_at_ms),
            updated_at: time_of(model.updated_at_ms),
        }
    }
}

/// The answer to a deletion.
#[derive(Serialize, JsonSchema)]
pub struct DeletedModel {
    pub id: i64,
    pub deleted: bool,
}

/// A successful test of a model.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelTest {
    pub ok: bool,
    /// The first characters of its answer.
    pub answer: String,
    /// Whether it called the tool that it was offered; without tools it answers from the context alone.
    pub calls_tools: bool,
    pub latency_ms: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
}

/// What models were used for.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ModelUsage")]
pub struct UsageView {
    /// The newest day first, then by caller and model; at most 1,000.
    items: Vec<UsageItem>,
    limits: Limits,
}

/// The use of a model by a caller on a day.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ModelUsageOfDay")]
pub struct UsageItem {
    /// UTC.
    #[schemars(extend("format" = "date"))]
    date: String,
    /// The name of the caller.
    caller: String,
    /// The name of the model.
    model: String,
    model_calls: i64,
    input_tokens: i64,
    output_tokens: i64,
    /// In the currency of the models' prices.
    cost: f64,
}

impl UsageView {
    pub fn new(used: Vec<Used>, limits: Limits) -> UsageView {
        UsageView { items: used.into_iter().map(UsageItem::from).collect(), limits }
    }
}

impl From<Used> for UsageItem {
    fn from(used: Used) -> UsageItem {
        UsageItem {
            date: used.date(),
            caller: used.caller,
            model: used.model,
            model_calls: used.spent.calls,
            input_tokens: used.spent.input_tokens,
            output_tokens: used.spent.output_tokens,
            cost: used.spent.cost(),
        }
    }
}
