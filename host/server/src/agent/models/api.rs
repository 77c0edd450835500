//! Handlers of models and their use.

use lakeport_base::Error;
use lakeport_base::error::Detail;
use lakeport_http::form::{Draft, Patch};
use lakeport_http::{Bare, Nothing, Role};
use tokio::time::Instant;

use super::client::Remote;
use super::definition::{self, Definition, Wanted};
use super::exchange::{Prompt, Turn};
use super::forms::{CreateModel, ModelPath, UpdateModel, UsageQuery};
use super::spent::{self, Limits, Spent, User};
use super::view::{DeletedModel, ModelTest, ModelView, UsageView};
use super::{ModelRecord, OFFLINE, Options, Provider, key_context, store};
use crate::agent::forms::ListQuery;
use crate::agent::steps::background::ToolSpec;
use crate::agent::topics::view::List;
use crate::agent::{Agent, Call};
use crate::audit::{Change, Commit};
use crate::config::model::{MAX_TOKENS_DEFAULT, TIMEOUT_S_DEFAULT};
use crate::core::Core;

/// The most models of a server.
const MODELS_MAX: i64 = 100;
/// Tokens of the answer to a test.
const TEST_TOKENS: i64 = 2_000;
/// Seconds that a test may take, within those of the request.
const TEST_S: i64 = 25;
/// Characters of its answer that are shown.
const TEST_SHOWN_CHARS: usize = 200;
const USAGE_DAYS: i64 = 30;

/// `GET /api/v1/nl2sql/models`
pub async fn list(call: Call<Nothing, ListQuery>) -> Result<Bare<List<ModelView>>, Error> {
    let paging = call.query.paging();
    let (total, models) = store::page(&call.state.db, &paging).await?;
    Ok(Bare::new(&List::new(&paging, total, models.iter().map(ModelView::from).collect())))
}

/// `GET /api/v1/nl2sql/models/{id}`
pub async fn get(call: Call<ModelPath>) -> Result<Bare<ModelView>, Error> {
    let model = store::find(&call.state.db, call.path.id).await?;
    Ok(shown(&model.ok_or_else(|| unknown(call.path.id))?))
}

fn shown(model: &ModelRecord) -> Bare<ModelView> {
    Bare::new(&ModelView::from(model)).with_etag(&Definition::of(model).etag())
}

fn unknown(id: i64) -> Error {
    Error::not_found("model", id)
}

/// `POST /api/v1/nl2sql/models`
pub async fn create(call: Call<Nothing, Nothing, Draft<CreateModel>>) -> Result<Bare<ModelView>, Error> {
    let state = &call.state;
    let now_ms = state.clock.now_ms();
    let empty = ModelRecord {
        id: 0,
        name: String::new(),
        provider: Provider::Offline,
        base_url: String::new(),
        model: String::new(),
        secret: None,
        is_default: false,
        max_tokens: MAX_TOKENS_DEFAULT,
        timeout_s: TIMEOUT_S_DEFAULT,
        options: Options::default(),
        created_at_ms: now_ms,
        updated_at_ms: now_ms,
    };
    let wanted = call.body.checked(|form| definition::changed(&empty, &UpdateModel::from(form.clone())))?;
    let mut tx = state.db.begin().await?;
    store::lock_all(&mut tx).await?;
    if store::count(&mut tx).await? >= MODELS_MAX {
        let message = format!("there are {MODELS_MAX} models, no more are kept; delete some first");
        return Err(Error::conflict("too_many_models", message));
    }
    let id = store::insert(&mut tx, &wanted.model).await?;
    let model = with_key(state, Wanted { model: ModelRecord { id, ..wanted.model }, ..wanted });
    if model.is_default {
        store::clear_default(&mut tx).await?;
    }
    store::update(&mut tx, &model).await?;
    let change = Change::of("model", id).after(&Definition::of(&model));
    call.commit(tx, change, shown(&model)).await
}

/// The model with its wanted key, encrypted.
fn with_key(core: &Core, wanted: Wanted) -> ModelRecord {
    let Wanted { mut model, key } = wanted;
    let context = key_context(model.id);
    match key {
        Patch::Keep => {}
        Patch::Clear => model.secret = None,
        Patch::Set(key) => model.secret = Some(core.keys.encrypt(&context, key.as_bytes())),
    }
    model
}

/// `PUT /api/v1/nl2sql/models/{id}`
pub async fn update(call: Call<ModelPath, Nothing, Draft<UpdateModel>>) -> Result<Bare<ModelView>, Error> {
    let (state, id) = (&call.state, call.path.id);
    let mut tx = state.db.begin().await?;
    store::lock_all(&mut tx).await?;
    let before = store::lock(&mut tx, id).await?.ok_or_else(|| unknown(id))?;
    call.check_if_match(&Definition::of(&before).etag())?;
    let wanted = call.body.checked(|form| definition::changed(&before, form))?;
    if before.is_built_in() {
        refuse_built_in(&before, &wanted)?;
    }
    let mut after = with_key(state, wanted);
    if after != before {
        after.updated_at_ms = state.clock.now_ms();
        if after.is_default && !before.is_default {
            store::clear_default(&mut tx).await?;
        }
        store::update(&mut tx, &after).await?;
    }
    let change = Change::of("model", id).before(&Definition::of(&before)).after(&Definition::of(&after));
    call.commit(tx, change, shown(&after)).await
}

/// 409 if more than `isDefault` of a built-in model changes.
fn refuse_built_in(before: &ModelRecord, wanted: &Wanted) -> Result<(), Error> {
    let same = ModelRecord { is_default: wanted.model.is_default, ..before.clone() };
    if wanted.model == same && wanted.key == Patch::Keep {
        return Ok(());
    }
    Err(built_in(before, "only `isDefault` of it can be changed here"))
}

fn built_in(model: &ModelRecord, but: &str) -> Error {
    let name = &model.name;
    let what = if name == OFFLINE {
        "answers by rules and is always there"
    } else {
        "is made from the settings `model.…` at start; change these"
    };
    Error::conflict("built_in", format!("the model `{name}` {what}; {but}"))
}

/// `DELETE /api/v1/nl2sql/models/{id}`
pub async fn delete(call: Call<ModelPath>) -> Result<Bare<DeletedModel>, Error> {
    let (state, id) = (&call.state, call.path.id);
    let mut tx = state.db.begin().await?;
    store::lock_all(&mut tx).await?;
    let model = store::lock(&mut tx, id).await?.ok_or_else(|| unknown(id))?;
    call.check_if_match(&Definition::of(&model).etag())?;
    if model.is_built_in() {
        return Err(built_in(&model, "it cannot be deleted"));
    }
    store::delete(&mut tx, id).await?;
    store::ensure_default(&mut tx).await?;
    let change = Change::of("model", id).before(&Definition::of(&model));
    call.commit(tx, change, Bare::new(&DeletedModel { id, deleted: true })).await
}

/// `POST /api/v1/nl2sql/models/{id}/test`
pub async fn test(call: Call<ModelPath>) -> Result<Bare<ModelTest>, Error> {
    let (state, id) = (&call.state, call.path.id);
    let model = store::find(&state.db, id).await?.ok_or_else(|| unknown(id))?;
    if model.provider == Provider::Offline {
        let answer = "It works by rules, without a network.".to_owned();
        let (calls_tools, latency_ms, input_tokens, output_tokens) = (true, 0, 0, 0);
        let test = ModelTest { ok: true, answer, calls_tools, latency_ms, input_tokens, output_tokens };
        return Ok(Bare::new(&test));
    }
    let (name, options) = (model.name.clone(), model.options.clone());
    let tested = ModelRecord {
        max_tokens: model.max_tokens.min(TEST_TOKENS),
        timeout_s: model.timeout_s.min(TEST_S),
        ..model
    };
    let remote = Remote::open(state, tested)?;
    let begun = Instant::now();
    let (reply, (input_tokens, output_tokens)) = remote.test(&test_prompt()).await?;
    let latency_ms = i64::try_from(begun.elapsed().as_millis()).unwrap_or(i64::MAX);
    note_use(state, &call, name, &options.spent(input_tokens, output_tokens)).await?;
    Ok(Bare::new(&ModelTest {
        ok: true,
        answer: lakeport_base::text::shortened(reply.text.trim(), TEST_SHOWN_CHARS),
        calls_tools: !reply.calls.is_empty(),
        latency_ms,
        input_tokens,
        output_tokens,
    }))
}

async fn note_use(state: &Agent, call: &Call<ModelPath>, model: String, spent: &Spent) -> Result<(), Error> {
    let user = User { owner: call.caller.key(), caller: call.caller.name.clone(), model };
    let mut tx = state.db.begin().await?;
    spent::add(&mut tx, &user, spent, state.clock.now_ms()).await?;
    tx.commit().await
}

/// A question that a model with tools answers by a call.
fn test_prompt() -> Prompt {
    Prompt {
        system: "You test a connection.".to_owned(),
        turns: vec![Turn::User("Call the tool `ready` now.".to_owned())],
        tools: vec![ToolSpec {
            name: "ready".to_owned(),
            description: "Says that you are ready.".to_owned(),
            input_schema: serde_json::json!({ "type": "object", "properties": {} }),
        }],
    }
}

/// `GET /api/v1/nl2sql/usage`
pub async fn usage(call: Call<Nothing, UsageQuery>) -> Result<Bare<UsageView>, Error> {
    let state = &call.state;
    let days = call.query.days.map_or(USAGE_DAYS, i64::from);
    let key = call.caller.key();
    let sees_all = call.caller.role == Role::Admin && !call.caller.is_bound();
    let owner = (!sees_all).then_some(key.as_str());
    let used = spent::of_days(&state.db, days, owner, state.clock.now_ms()).await?;
    Ok(Bare::new(&UsageView::new(used, Limits::from(&state.config.agent))))
}

/// The model of this name, for a topic. 400 naming those that there are.
pub async fn named(core: &Core, name: &str) -> Result<ModelRecord, Error> {
    if let Some(model) = store::named(&core.db, name).await? {
        return Ok(model);
    }
    let known = store::names(&core.db).await?.join(", ");
    let message =
        format!("there is no model `{}`; there are: {known}", lakeport_base::text::shortened(name, 64));
    Err(Error::invalid(vec![Detail::new("model", message)]))
}
