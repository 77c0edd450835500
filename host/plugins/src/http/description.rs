//! What a description says of addresses, secrets and log-ins, checked when a component is staged.

use std::collections::BTreeSet;

use lakeport_bindings::host::web::{
    AddressSlot, AuthRecipe, AuthUse, Body, Exchange, Param, Piece, SecretSpec, Slot,
};
use lakeport_http_rules::METHODS;

use super::address::rules_of;

/// The most addresses of a plugin.
const ADDRESSES_MAX: usize = 8;
/// The most secrets, the most recipes, and the most requests of a log-in.
const SECRETS_MAX: usize = 20;
const RECIPES_MAX: usize = 10;
const EXCHANGES_MAX: usize = 5;

/// The problems, each with its member.
pub fn problems(
    addresses: &[AddressSlot],
    secrets: &[SecretSpec],
    recipes: &[AuthRecipe],
) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (member, count, max) in [
        ("addresses", addresses.len(), ADDRESSES_MAX),
        ("secrets", secrets.len(), SECRETS_MAX),
        ("auth", recipes.len(), RECIPES_MAX),
    ] {
        if count > max {
            found.push((member.to_owned(), format!("has {count} entries; {max} at most")));
        }
    }
    if !found.is_empty() {
        return found;
    }
    let address_names: Vec<&str> = addresses.iter().map(|address| address.name.as_str()).collect();
    let secret_names: Vec<&str> = secrets.iter().map(|secret| secret.name.as_str()).collect();
    let recipe_names: Vec<&str> = recipes.iter().map(|recipe| recipe.name.as_str()).collect();
    for (member, names) in
        [("addresses", &address_names), ("secrets", &secret_names), ("auth", &recipe_names)]
    {
        let mut seen = BTreeSet::new();
        for name in names.iter().filter(|name| name.is_empty() || !seen.insert(**name)) {
            found.push((member.to_owned(), format!("the name {name:?} is empty, or there twice")));
        }
    }
    for (index, address) in addresses.iter().enumerate() {
        if !address.config_at.starts_with('/') {
            let message = format!("{:?} is no JSON Pointer to a setting", address.config_at);
            found.push((format!("addresses[{index}].configAt"), message));
        }
        if let Err(why) = rules_of(address) {
            found.push((format!("addresses[{index}].calls"), why));
        }
    }
    for (index, recipe) in recipes.iter().enumerate() {
        let known = Known { addresses: &address_names, secrets: &secret_names };
        let problems = of_recipe(recipe, &known).into_iter();
        found.extend(problems.map(|message| (format!("auth[{index}]"), message)));
    }
    found
}

struct Known<'k> {
    addresses: &'k [&'k str],
    secrets: &'k [&'k str],
}

fn of_recipe(recipe: &AuthRecipe, known: &Known<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for name in recipe.secrets.iter().filter(|name| !known.secrets.contains(&name.as_str())) {
        found.push(format!("the secret {name:?} is not described"));
    }
    for name in recipe.addresses.iter().filter(|name| !known.addresses.contains(&name.as_str())) {
        found.push(format!("the address {name:?} is not described"));
    }
    if recipe.log_in.len() > EXCHANGES_MAX {
        found.push(format!("its log-in has {} requests; {EXCHANGES_MAX} at most", recipe.log_in.len()));
    }
    let mut tokens: Vec<&str> = Vec::new();
    for exchange in &recipe.log_in {
        of_exchange(exchange, recipe, known, &tokens, &mut found);
        tokens.extend(exchange.tokens.iter().map(|extraction| extraction.token.as_str()));
    }
    for injection in &recipe.inject {
        if !matches!(injection.place.as_str(), "header" | "query" | "cookie" | "basic") {
            found.push(format!("the place {:?} of an injection is not known", injection.place));
        }
        of_slots(slots_in(&injection.value), recipe, &tokens, &mut found);
    }
    let rejected = recipe.rejected_when.iter();
    let expected = recipe.log_in.iter().flat_map(|exchange| &exchange.expect).chain(rejected);
    for expectation in expected {
        if serde_json::from_str::<serde_json::Value>(&expectation.equals).is_err() {
            found.push(format!("the expected value {:?} is no JSON", expectation.equals));
        }
    }
    found
}

fn of_exchange(
    exchange: &Exchange,
    recipe: &AuthRecipe,
    known: &Known<'_>,
    tokens: &[&str],
    found: &mut Vec<String>,
) {
    let request = &exchange.request;
    if !known.addresses.contains(&request.address.as_str()) {
        found.push(format!("its log-in names the address {:?}, which is not described", request.address));
    }
    if !METHODS.contains(&request.method.as_str()) {
        found.push(format!("its log-in has the method {:?}, which is not known", request.method));
    }
    if request.auth != AuthUse::Anonymous {
        found.push("the requests of its log-in must be anonymous".to_owned());
    }
    for extraction in &exchange.tokens {
        if !matches!(extraction.source.as_str(), "json" | "header" | "cookie") {
            found.push(format!("the source {:?} of a token is not known", extraction.source));
        }
    }
    let fields: &[Param] = if let Body::Form(fields) = &request.body { fields } else { &[] };
    let text: &[Piece] = if let Body::Text(text) = &request.body { text } else { &[] };
    let params = request.query.iter().chain(&request.headers).chain(fields).map(|param| &param.value);
    for template in request.path.iter().chain(params) {
        of_slots(slots_in(template), recipe, tokens, found);
    }
    of_slots(slots_in(text), recipe, tokens, found);
}

fn slots_in(template: &[Piece]) -> impl Iterator<Item = &Slot> {
    template.iter().filter_map(|piece| match piece {
        Piece::Slot(slot) => Some(slot),
        Piece::Text(_) => None,
    })
}

fn of_slots<'s>(
    slots: impl Iterator<Item = &'s Slot>,
    recipe: &AuthRecipe,
    tokens: &[&str],
    found: &mut Vec<String>,
) {
    for slot in slots {
        let is_known = match slot.source.as_str() {
            "secret" => recipe.secrets.contains(&slot.name),
            "token" => tokens.contains(&slot.name.as_str()),
            "config" => slot.name.starts_with('/'),
            _ => false,
        };
        if !is_known {
            found.push(format!("the slot {:?} of the source {:?} has no value", slot.name, slot.source));
        }
        if !matches!(slot.encoding.as_str(), "plain" | "json" | "base64") {
            found.push(format!("the encoding {:?} of a slot is not known", slot.encoding));
        }
    }
}
