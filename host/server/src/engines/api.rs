//! Handlers of engines.

use std::collections::BTreeMap;
use std::sync::Arc;

use lakeport_base::Error;
use lakeport_base::error::Detail;
use lakeport_http::form::{Amend, Draft, Patch};
use lakeport_http::{Data, Nothing};
use lakeport_plugins::{Description, Family, PluginId, PluginView};
use serde_json::{Map, Value};

use super::definition::{self, Definition};
use super::forms::{CreateEngine, EnginePath, UpdateEngine};
use super::store::{self, EngineRecord, Look};
use super::view::{EngineTest, EngineView};
use super::{EngineClient, LOCAL, TOPIC, instance};
use crate::audit::{Change, Commit};
use crate::engines::{Call, Engines};
use crate::part::{Fate, Resource};

/// The most engines of a server.
const ENGINES_MAX: i64 = 100;

/// `GET /api/v1/engines`
pub async fn list(call: Call) -> Result<Data<Vec<EngineView>>, Error> {
    let state = &call.state;
    let engines = store::all(&state.db).await?;
    let looks = store::looks(&state.db).await?;
    Ok(Data::new(&engines.iter().map(|engine| view(state, engine, looks.get(&engine.name))).collect()))
}

/// `GET /api/v1/engines/{name}`
pub async fn get(call: Call<EnginePath>) -> Result<Data<EngineView>, Error> {
    let (state, name) = (&call.state, &call.path.name);
    let engine = store::find(&state.db, name).await?.ok_or_else(|| unknown(name))?;
    let looks = store::looks(&state.db).await?;
    Ok(shown(state, &engine, looks.get(name)))
}

fn view(state: &Engines, engine: &EngineRecord, look: Option<&Look>) -> EngineView {
    let plugin = plugin(state, &engine.plugin);
    let active = plugin.as_ref().and_then(|plugin| plugin.active.as_ref());
    let info = active.and_then(|generation| match &generation.description {
        Description::Engine(info) => Some(&**info),
        _ => None,
    });
    EngineView::new(engine, plugin.as_deref(), info, look, state.config.time_zone)
}

fn shown(state: &Engines, engine: &EngineRecord, look: Option<&Look>) -> Data<EngineView> {
    Data::new(&view(state, engine, look)).with_etag(&Definition::of(engine).etag())
}

fn plugin(state: &Engines, name: &str) -> Option<Arc<PluginView>> {
    state.plugins.registry().view(&PluginId { family: Family::Engine, name: name.to_owned() })
}

/// The problems of settings, and after a change of stored secrets, by the plugin's description.
fn check_instance(
    state: &Engines,
    engine: &EngineRecord,
    change: Option<(&EngineRecord, &BTreeMap<String, Option<String>>)>,
    wrong: &mut Vec<Detail>,
) {
    let view = plugin(state, &engine.plugin);
    let info = match view.as_ref().and_then(|view| view.active.as_ref()).map(|active| &active.description) {
        Some(Description::Engine(info)) => Some(&**info),
        _ => None,
    };
    if let Some(info) = info {
        let config: Map<String, Value> = serde_json::from_str(&engine.config).unwrap_or_default();
        instance::check(info, &config, wrong);
    }
    if let Some((before, sent)) = change {
        instance::check_secrets(info, before, engine, sent, wrong);
    }
}

/// Engine plugins that are active.
fn active_plugins(state: &Engines) -> Vec<String> {
    let plugins = state.plugins.registry().list().into_iter();
    let active = plugins.filter(|(id, view)| id.family == Family::Engine && view.active.is_some());
    active.map(|(id, _)| id.name).collect()
}

/// `POST /api/v1/engines`
pub async fn create(call: Call<Nothing, Nothing, Draft<CreateEngine>>) -> Result<Data<EngineView>, Error> {
    let (state, form) = (&call.state, call.body.read());
    refuse_local(&form.name)?;
    let mut wrong = Vec::new();
    definition::check_name(&form.name, &mut wrong);
    definition::check_plugin(&form.plugin, &active_plugins(state), &mut wrong);
    let config = definition::config_text(form.config.as_ref().unwrap_or(&Default::default()), &mut wrong);
    let now_ms = state.clock.now_ms();
    let mut engine = EngineRecord {
        name: form.name.clone(),
        plugin: form.plugin.clone(),
        config,
        secrets: None,
        secret_names: Vec::new(),
        created_at_ms: now_ms,
        updated_at_ms: now_ms,
        missing_features: Vec::new(),
    };
    let secrets = form.secrets.iter().flatten().map(|(name, secret)| (name.clone(), Some(secret.clone())));
    wrong.extend(Error::details_of(definition::lay_secrets(&state.keys, &mut engine, &secrets.collect()))?);
    check_instance(state, &engine, None, &mut wrong);
    call.body.refuse(wrong)?;
    let mut tx = state.db.begin().await?;
    // Locks `local`, whose row always exists, to serialise creations.
    store::lock(&mut tx, LOCAL).await?;
    if store::count(&mut tx).await? >= ENGINES_MAX {
        let message = format!("there are {ENGINES_MAX} engines, no more are kept; delete some first");
        return Err(Error::conflict("too_many_engines", message));
    }
    store::insert(&mut tx, &engine).await?;
    tx.changed(TOPIC, engine.name.clone());
    let change = Change::of("engine", &engine.name).after(&Definition::of(&engine));
    call.commit(tx, change, shown(state, &engine, None)).await
}

/// `PUT /api/v1/engines/{name}`
pub async fn update(call: Call<EnginePath, Nothing, Draft<UpdateEngine>>) -> Result<Data<EngineView>, Error> {
    let (state, name, form) = (&call.state, &call.path.name, call.body.read());
    refuse_local(name)?;
    let mut tx = state.db.begin().await?;
    let before = store::lock(&mut tx, name).await?.ok_or_else(|| unknown(name))?;
    call.check_if_match(&Definition::of(&before).etag())?;
    let mut after = before.clone();
    let mut wrong = Vec::new();
    if let Amend(Some(plugin)) = &form.plugin {
        definition::check_plugin(plugin, &active_plugins(state), &mut wrong);
        after.plugin.clone_from(plugin);
    }
    match &form.config {
        Patch::Keep => {}
        Patch::Clear => after.config = definition::config_text(&Map::new(), &mut wrong),
        Patch::Set(config) => after.config = definition::config_text(config, &mut wrong),
    }
    let secrets = form.secrets.0.clone().unwrap_or_default();
    wrong.extend(Error::details_of(definition::lay_secrets(&state.keys, &mut after, &secrets))?);
    check_instance(state, &after, Some((&before, &secrets)), &mut wrong);
    call.body.refuse(wrong)?;
    if after.plugin != before.plugin {
        state.refuse_used(&mut tx, &resource(name, Fate::Replaced)).await?;
    }
    after.updated_at_ms = state.clock.now_ms();
    store::update(&mut tx, &after).await?;
    tx.changed(TOPIC, name.clone());
    let change = Change::of("engine", name).before(&Definition::of(&before)).after(&Definition::of(&after));
    let looks = store::looks(&state.db).await?;
    call.commit(tx, change, shown(state, &after, looks.get(name))).await
}

/// `DELETE /api/v1/engines/{name}`
pub async fn delete(call: Call<EnginePath>) -> Result<Data<Option<EngineView>>, Error> {
    let name = &call.path.name;
    refuse_local(name)?;
    let mut tx = call.state.db.begin().await?;
    let engine = store::lock(&mut tx, name).await?.ok_or_else(|| unknown(name))?;
    call.check_if_match(&Definition::of(&engine).etag())?;
    call.state.refuse_used(&mut tx, &resource(name, Fate::Deleted)).await?;
    store::delete(&mut tx, name).await?;
    tx.changed(TOPIC, name.clone());
    let change = Change::of("engine", name).before(&Definition::of(&engine));
    call.commit(tx, change, Data::new(&None)).await
}

/// `POST /api/v1/engines/{name}/test`
pub async fn test(call: Call<EnginePath>) -> Result<Data<EngineTest>, Error> {
    let (state, name) = (&call.state, &call.path.name);
    let engine = store::find(&state.db, name).await?.ok_or_else(|| unknown(name))?;
    let report = EngineClient::of(state, &engine, call.request_id.as_str()).test().await?;
    store::set_missing_features(&state.db, &engine, &report.missing_features).await?;
    Ok(Data::new(&EngineTest::from(report)))
}

pub(super) fn unknown(name: &str) -> Error {
    Error::not_found("engine", name)
}

fn refuse_local(name: &str) -> Result<(), Error> {
    if name != LOCAL {
        return Ok(());
    }
    let message =
        "the engine `local` is the scheduler inside this server; it cannot be made, changed or deleted";
    Err(Error::conflict("built_in", message))
}

/// The resource for `in_use` checks; engines are identified by name.
fn resource(name: &str, fate: Fate) -> Resource {
    Resource { kind: "engine", id: 0, name: name.to_owned(), fate }
}
