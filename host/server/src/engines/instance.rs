//! A configured engine as its plugin's description wants it: settings that fit the schema, the addresses they grant,
//! the secrets, and the auth recipe.

use std::collections::BTreeMap;

use lakeport_base::error::{Detail, Error};
use lakeport_bindings::engine::about::EngineInfo;
use lakeport_egress::HttpClient;
use lakeport_plugins::{
    ADDRESS_WANTED, Granted, InstanceHttp, Secrets, chosen_recipe, is_address, with_defaults,
};
use serde_json::{Map, Value};

use super::store::EngineRecord;
use crate::plugins;
use crate::secrets::{self, Keys};

/// The problems of settings. Members that the schema does not know are ignored, as in all bodies.
pub fn check(info: &EngineInfo, config: &Map<String, Value>, wrong: &mut Vec<Detail>) {
    wrong.extend(plugins::problems(&info.config_schema, config, "config"));
    let settings = Value::Object(config.clone());
    for address in &info.addresses {
        let text = settings.pointer(&address.config_at).and_then(Value::as_str).unwrap_or_default();
        if !text.is_empty() && !is_address(text) {
            let field = format!("config{}", address.config_at.replace('/', "."));
            wrong.push(Detail::new(field, ADDRESS_WANTED));
        }
    }
}

/// The secrets that must be sent again: the stored ones belong to another address, or to another plugin. Without a
/// description any change of the settings may have changed the address.
pub fn check_secrets(
    info: Option<&EngineInfo>,
    before: &EngineRecord,
    after: &EngineRecord,
    sent: &BTreeMap<String, Option<String>>,
    wrong: &mut Vec<Detail>,
) {
    let is_moved = match info {
        Some(info) => origins(info, &before.config) != origins(info, &after.config),
        None => before.config != after.config,
    };
    if !is_moved && before.plugin == after.plugin {
        return;
    }
    for name in before.secret_names.iter().filter(|name| !sent.contains_key(*name)) {
        let message = "is required again: the stored one belongs to another address";
        wrong.push(Detail::new(format!("secrets.{name}"), message));
    }
}

/// Scheme, host and port of each address.
fn origins(info: &EngineInfo, config: &str) -> Vec<Option<(String, String, u16)>> {
    let settings = settings(info, config);
    let origin = |at: &str| {
        let uri: http::Uri = settings.pointer(at)?.as_str()?.parse().ok()?;
        let (host, port) = lakeport_egress::host_and_port(&uri)?;
        Some((uri.scheme_str()?.to_owned(), host.to_ascii_lowercase(), port))
    };
    info.addresses.iter().map(|address| origin(&address.config_at)).collect()
}

/// The settings with the defaults of the schema for members that are not there.
pub fn settings(info: &EngineInfo, config: &str) -> Value {
    with_defaults(&info.config_schema, serde_json::from_str(config).unwrap_or_default())
}

/// The name of the auth recipe: the first one whose secrets are all set.
pub fn recipe<'i>(info: &'i EngineInfo, secret_names: &[String]) -> Option<&'i str> {
    chosen_recipe(&info.auth, secret_names)
}

/// What its calls send requests through; `None` if the plugin has no addresses.
pub fn http(
    keys: &Keys,
    client: &HttpClient,
    record: &EngineRecord,
    info: &EngineInfo,
) -> Result<Option<InstanceHttp>, Error> {
    if info.addresses.is_empty() {
        return Ok(None);
    }
    let granted = Granted {
        addresses: &info.addresses,
        recipes: &info.auth,
        recipe: recipe(info, &record.secret_names),
        settings: settings(info, &record.config),
        secrets: Secrets::new(plain_secrets(keys, record)?),
    };
    Ok(Some(InstanceHttp::new(client.clone(), granted)))
}

/// The secrets of an engine, decrypted.
pub fn plain_secrets(keys: &Keys, record: &EngineRecord) -> Result<BTreeMap<String, String>, Error> {
    let Some(sealed) = &record.secrets else { return Ok(BTreeMap::new()) };
    let context = secrets::context("engines", &[&record.name], "secrets");
    serde_json::from_slice(keys.decrypt(&context, sealed)?.bytes()).map_err(Error::internal)
}

#[cfg(test)]
mod tests {
    use lakeport_bindings::host::web::{AddressSlot, AuthRecipe, SecretSpec};
    use serde_json::json;

    use super::*;

    fn info() -> EngineInfo {
        let secret = |name: &str| SecretSpec {
            name: name.to_owned(),
            title: String::new(),
            description: String::new(),
        };
        let recipe = |name: &str, secrets: &[&str]| AuthRecipe {
            name: name.to_owned(),
            title: String::new(),
            secrets: secrets.iter().map(|&secret| secret.to_owned()).collect(),
            addresses: vec!["api".to_owned()],
            log_in: Vec::new(),
            inject: Vec::new(),
            rejected_statuses: vec![401],
            rejected_when: Vec::new(),
        };
        let schema = json!({
            "type": "object", "required": ["baseUrl"], "additionalProperties": false,
            "properties": {"baseUrl": {"type": "string"}, "tenant": {"type": "string", "default": "t"}}
        });
        EngineInfo {
            name: "e".to_owned(),
            title: "E".to_owned(),
            version: "1.0.0".to_owned(),
            product: "E".to_owned(),
            versions: Vec::new(),
            config_schema: schema.to_string(),
            addresses: vec![AddressSlot {
                name: "api".to_owned(),
                config_at: "/baseUrl".to_owned(),
                calls: Vec::new(),
                description: String::new(),
            }],
            folder_at: None,
            secrets: vec![secret("token"), secret("username"), secret("password")],
            auth: vec![recipe("token", &["token"]), recipe("password", &["username", "password"])],
            task_types: Vec::new(),
            deploy_kind: "api".to_owned(),
            cron_dialect: "quartz7".to_owned(),
            time_zone_mode: "schedule".to_owned(),
            max_backfill_dates: 0,
            settle_ms: 0,
            features: Vec::new(),
            extra: None,
        }
    }

    fn problems(config: Value) -> Vec<String> {
        let Value::Object(config) = config else { panic!("an object") };
        let mut wrong = Vec::new();
        check(&info(), &config, &mut wrong);
        wrong.into_iter().map(|detail| detail.field).collect()
    }

    #[test]
    fn settings_must_fit_the_schema_and_name_an_address() {
        assert_eq!(problems(json!({"baseUrl": "https://a.example.com/ds", "other": 1})), [""; 0]);
        assert_eq!(problems(json!({})), ["config.baseUrl"]);
        assert_eq!(problems(json!({"baseUrl": 3})), ["config.baseUrl"]);
        assert_eq!(problems(json!({"baseUrl": "https://me:pw@a.example.com"})), ["config.baseUrl"]);
    }

    #[test]
    fn a_secret_is_for_the_address_it_was_given_for() {
        let record = |plugin: &str, config: Value| EngineRecord {
            name: "e".to_owned(),
            plugin: plugin.to_owned(),
            config: config.to_string(),
            secrets: None,
            secret_names: vec!["token".to_owned()],
            created_at_ms: 0,
            updated_at_ms: 0,
            missing_features: Vec::new(),
        };
        let before = record("e", json!({"baseUrl": "https://a.example.com/ds"}));
        let asked = |info: Option<&EngineInfo>, after: EngineRecord, sent: &[&str]| {
            let sent = sent.iter().map(|&name| (name.to_owned(), None)).collect();
            let mut wrong = Vec::new();
            check_secrets(info, &before, &after, &sent, &mut wrong);
            wrong.len()
        };
        let (info, moved) = (info(), || record("e", json!({"baseUrl": "https://b.example.com/ds"})));
        assert_eq!(
            asked(Some(&info), record("e", json!({"baseUrl": "https://A.example.com:443/x"})), &[]),
            0
        );
        assert_eq!(asked(Some(&info), moved(), &[]), 1);
        assert_eq!(asked(Some(&info), moved(), &["token"]), 0);
        assert_eq!(asked(Some(&info), record("e", json!({"baseUrl": "http://a.example.com:443"})), &[]), 1);
        assert_eq!(asked(Some(&info), record("f", json!({"baseUrl": "https://a.example.com/ds"})), &[]), 1);
        assert_eq!((asked(None, moved(), &[]), asked(None, before.clone(), &[])), (1, 0));
    }

    #[test]
    fn defaults_fill_what_is_not_set() {
        assert_eq!(settings(&info(), r#"{"baseUrl":"x"}"#), json!({"baseUrl": "x", "tenant": "t"}));
        assert_eq!(settings(&info(), r#"{"tenant":null}"#), json!({"tenant": null}));
    }

    #[test]
    fn the_recipe_is_the_first_whose_secrets_are_set() {
        let of = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            recipe(&info(), &names).map(str::to_owned)
        };
        assert_eq!(of(&["username", "password"]).as_deref(), Some("password"));
        assert_eq!(of(&["username", "password", "token"]).as_deref(), Some("token"));
        assert_eq!(of(&["username"]), None);
    }
}
