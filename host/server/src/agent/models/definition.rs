//! The definition of a model: the forms of requests, checked and applied to the current one. Pure functions.

use lakeport_base::error::Detail;
use lakeport_http::etag_of;
use lakeport_http::form::{Amend, Patch};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::forms::{NAME_MAX, UpdateModel};
use super::{ModelRecord, OF_SETTINGS, OFFLINE, Options, Provider};
use crate::config::model::{MAX_TOKENS_DEFAULT, PRICE_MAX, TIMEOUT_S_DEFAULT, base_url, check_key};

const TEMPERATURE_MAX: f64 = 2.0;

/// The defined members, with a digest instead of the key.
#[derive(Serialize)]
pub struct Definition<'d> {
    name: &'d str,
    provider: Provider,
    base_url: &'d str,
    model: &'d str,
    key: Option<String>,
    is_default: bool,
    max_tokens: i64,
    timeout_s: i64,
    options: &'d Options,
}

impl<'d> Definition<'d> {
    pub fn of(model: &'d ModelRecord) -> Definition<'d> {
        Definition {
            name: &model.name,
            provider: model.provider,
            base_url: &model.base_url,
            model: &model.model,
            // Of the ciphertext, which changes each time a key is set.
            key: model.secret.as_ref().map(|sealed| hex::encode(Sha256::digest(sealed))),
            is_default: model.is_default,
            max_tokens: model.max_tokens,
            timeout_s: model.timeout_s,
            options: &model.options,
        }
    }

    pub fn etag(&self) -> String {
        etag_of(self)
    }
}

/// What a change wants.
#[derive(Debug)]
pub struct Wanted {
    /// Without the key.
    pub model: ModelRecord,
    pub key: Patch<String>,
}

/// The model after a change of `before`; or all that is wrong.
pub fn changed(before: &ModelRecord, form: &UpdateModel) -> Result<Wanted, Vec<Detail>> {
    let mut wrong = Vec::new();
    let mut put = |field: &str, why: String| wrong.push(Detail::new(field, why));
    let mut after = before.clone();
    if let Amend(Some(name)) = &form.name {
        if !is_name(name) {
            put("name", format!("must be 1 to {NAME_MAX} of the characters a-z, 0-9, `.`, `_` and `-`"));
        }
        if *name != before.name && [OFFLINE, OF_SETTINGS].contains(&name.as_str()) {
            put("name", format!("cannot be `{name}`: that model is the server's own"));
        }
        after.name.clone_from(name);
    }
    if let Amend(Some(provider)) = form.provider {
        if provider == Provider::Offline {
            put("provider", "must be openai or anthropic; the model `offline` is there already".to_owned());
        }
        if provider != before.provider {
            provider.base_url().clone_into(&mut after.base_url);
        }
        after.provider = provider;
    }
    match &form.base_url {
        Patch::Keep => {}
        Patch::Clear => after.provider.base_url().clone_into(&mut after.base_url),
        Patch::Set(url) => match base_url(url) {
            Ok(url) => after.base_url = url,
            Err(why) => put("baseUrl", why),
        },
    }
    if let Amend(Some(model)) = &form.model {
        after.model = model.0.trim().to_owned();
    }
    if let Patch::Set(key) = &form.api_key
        && let Err(why) = check_key(key)
    {
        put("apiKey", why);
    }
    // A change could otherwise send the key to another server.
    if before.secret.is_some() && after.base_url != before.base_url && form.api_key == Patch::Keep {
        put("apiKey", "is needed again, since the address changes; null if none is to be sent".to_owned());
    }
    match form.is_default {
        Amend(Some(false)) if before.is_default => {
            put("isDefault", "cannot be taken from the default model; make another the default".to_owned());
        }
        Amend(Some(is_default)) => after.is_default = is_default,
        Amend(None) => {}
    }
    after.max_tokens = over(form.max_tokens.clone().map(i64::from), after.max_tokens, MAX_TOKENS_DEFAULT);
    after.timeout_s = over(form.timeout_seconds.clone().map(i64::from), after.timeout_s, TIMEOUT_S_DEFAULT);
    after.options = over(form.options.clone(), after.options, Options::default());
    let options = &after.options;
    for (field, value, most) in [
        ("options.temperature", options.temperature, TEMPERATURE_MAX),
        ("options.inputPrice", options.input_price, PRICE_MAX),
        ("options.outputPrice", options.output_price, PRICE_MAX),
    ] {
        if value.is_some_and(|value| !(0.0..=most).contains(&value)) {
            put(field, format!("must be from 0 to {most}"));
        }
    }
    if options.context_tokens.is_some_and(|tokens| !(2_000..=10_000_000).contains(&tokens)) {
        put("options.contextTokens", "must be from 2000 to 10000000".to_owned());
    }
    if wrong.is_empty() { Ok(Wanted { model: after, key: form.api_key.clone() }) } else { Err(wrong) }
}

fn over<T>(patch: Patch<T>, before: T, default: T) -> T {
    match patch {
        Patch::Keep => before,
        Patch::Clear => default,
        Patch::Set(value) => value,
    }
}

fn is_name(name: &str) -> bool {
    let is_fine =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b'-');
    !name.is_empty() && name.len() <= NAME_MAX && name.bytes().all(is_fine)
}
