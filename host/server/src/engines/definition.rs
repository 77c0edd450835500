//! The definition of an engine: the forms of requests, checked and applied to the current definition. Pure
//! except for the key that encrypts secrets.

use std::collections::BTreeMap;

use lakeport_base::error::{Detail, Error};
use lakeport_http::etag_of;
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::instance;
use super::store::EngineRecord;
use crate::secrets::{self, Keys};

pub const NAME_MAX_BYTES: usize = 64;
/// The longest settings, written as JSON, in bytes.
const CONFIG_MAX_BYTES: usize = 64 * 1024;
/// The most secrets of an engine.
const SECRETS_MAX: usize = 20;
/// The longest secret, in bytes.
const SECRET_MAX_BYTES: usize = 8 * 1024;

/// The defined members, with digests instead of secrets.
#[derive(Serialize)]
pub struct Definition<'d> {
    name: &'d str,
    plugin: &'d str,
    config: &'d str,
    secret_names: &'d [String],
    secrets: Option<String>,
}

impl<'d> Definition<'d> {
    pub fn of(engine: &'d EngineRecord) -> Definition<'d> {
        Definition {
            name: &engine.name,
            plugin: &engine.plugin,
            config: &engine.config,
            secret_names: &engine.secret_names,
            // A digest of the ciphertext: it changes each time a secret is set.
            secrets: engine.secrets.as_ref().map(|sealed| hex::encode(Sha256::digest(sealed))),
        }
    }

    pub fn etag(&self) -> String {
        etag_of(self)
    }
}

/// The problems of a name.
pub fn check_name(name: &str, wrong: &mut Vec<Detail>) {
    let is_fine = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || name.len() > NAME_MAX_BYTES || !name.bytes().all(is_fine) {
        let message = format!("must be 1 to {NAME_MAX_BYTES} of the characters a-z, 0-9 and -");
        wrong.push(Detail::new("name", message));
    }
}

/// The problems of a plugin's name: `known` are the active ones.
pub fn check_plugin(plugin: &str, known: &[String], wrong: &mut Vec<Detail>) {
    if !known.iter().any(|name| name == plugin) {
        let message = format!("must be the name of an active engine plugin; there are {}", known.join(", "));
        wrong.push(Detail::new("plugin", message));
    }
}

/// The settings in stored form.
pub fn config_text(config: &Map<String, Value>, wrong: &mut Vec<Detail>) -> String {
    let text = Value::Object(config.clone()).to_string();
    if text.len() > CONFIG_MAX_BYTES {
        wrong.push(Detail::new("config", format!("has more than {CONFIG_MAX_BYTES} bytes as JSON")));
    }
    text
}

/// Applies secrets to the current ones: replaces named ones, removes those that are null.
pub fn lay_secrets(
    keys: &Keys,
    engine: &mut EngineRecord,
    named: &BTreeMap<String, Option<String>>,
) -> Result<(), Error> {
    if named.is_empty() {
        return Ok(());
    }
    let context = secrets::context("engines", &[&engine.name], "secrets");
    let mut all = instance::plain_secrets(keys, engine)?;
    for (name, secret) in named {
        match secret {
            Some(secret) => all.insert(name.clone(), secret.clone()),
            None => all.remove(name),
        };
    }
    let mut wrong = Vec::new();
    if all.len() > SECRETS_MAX {
        wrong.push(Detail::new("secrets", format!("are more than {SECRETS_MAX}")));
    }
    let too_long = |(name, secret): &(&String, &String)| name.len() + secret.len() > SECRET_MAX_BYTES;
    for (name, _) in all.iter().filter(too_long) {
        let field = format!("secrets.{}", name.chars().take(NAME_MAX_BYTES).collect::<String>());
        wrong.push(Detail::new(field, format!("has more than {SECRET_MAX_BYTES} bytes")));
    }
    for (name, secret) in named.iter().filter_map(|(name, secret)| Some((name, secret.as_ref()?))) {
        if secret.is_empty() {
            wrong.push(Detail::new(
                format!("secrets.{name}"),
                "is empty; leave it out, or send null to remove it",
            ));
        } else if secret.trim() != secret {
            wrong.push(Detail::new(
                format!("secrets.{name}"),
                "begins or ends with white space or a line break; send it without",
            ));
        }
    }
    if !wrong.is_empty() {
        return Err(Error::invalid(wrong));
    }
    engine.secret_names = all.keys().cloned().collect();
    let plain = serde_json::to_vec(&all).map_err(Error::internal)?;
    engine.secrets = (!all.is_empty()).then(|| keys.encrypt(&context, &plain));
    Ok(())
}
