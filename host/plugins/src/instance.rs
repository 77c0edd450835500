//! What a plugin's description makes of an operator's configuration.

use lakeport_bindings::host::web::AuthRecipe;
use serde_json::{Map, Value};

/// The settings with the defaults of the plugin's JSON Schema for members that are not there.
pub fn with_defaults(config_schema: &str, mut settings: Map<String, Value>) -> Value {
    let schema: Value = serde_json::from_str(config_schema).unwrap_or_default();
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        if let Some(default) = property.get("default").filter(|_| !settings.contains_key(name)) {
            settings.insert(name.clone(), default.clone());
        }
    }
    Value::Object(settings)
}

/// The auth recipe of an instance with these secrets: the first one whose secrets are all set.
pub fn chosen_recipe<'r>(recipes: &'r [AuthRecipe], secret_names: &[String]) -> Option<&'r str> {
    let is_set = |secret: &String| secret_names.contains(secret);
    let recipe = recipes.iter().find(|recipe| recipe.secrets.iter().all(is_set))?;
    Some(&recipe.name)
}
