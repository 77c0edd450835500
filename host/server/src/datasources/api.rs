//! Handlers of data sources.

use lakeport_base::error::{Detail, Error};
use lakeport_bindings::dialect::schema::ServerInfo;
use lakeport_http::form::{Amend, Draft, Patch};
use lakeport_http::{Caller, Data, Nothing, Page, PageNum, PageSize, Paging};
use lakeport_store::Tx;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::client::{self, DatasourceClient};
use super::definition::{self, CreateDatasource, Password, UpdateDatasource, Wanted};
use super::store::{self, Datasource};
use super::view::{DatasourceView, Definition};
use super::{OWN_NAME, TOPIC};
use crate::audit::{Change, Commit};
use crate::cron::Cron;
use crate::datasources::{Call, Datasources};
use crate::part::Fate;
use crate::secrets;

const PAGE_SIZE_DEFAULT: i64 = 20;
/// The most data sources of a server.
const DATASOURCES_MAX: i64 = 10_000;

#[derive(Deserialize, JsonSchema)]
pub struct DatasourcePath {
    pub id: i64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatasourcesQuery {
    #[schemars(extend("default" = 1))]
    page_num: Option<PageNum>,
    #[schemars(extend("default" = PAGE_SIZE_DEFAULT))]
    page_size: Option<PageSize>,
    /// Part of the name, ignoring case.
    keyword: Option<String>,
    /// The dialect's name.
    kind: Option<String>,
}

pub fn unknown(id: i64) -> Error {
    Error::not_found("data source", id)
}

/// `GET /api/v1/datasources`
pub async fn list(call: Call<Nothing, DatasourcesQuery>) -> Result<Data<Page<DatasourceView>>, Error> {
    let (state, query) = (&call.state, &call.query);
    let paging = Paging::of(query.page_num, query.page_size, PAGE_SIZE_DEFAULT)?;
    let keyword = query.keyword.as_deref().unwrap_or_default().to_lowercase();
    // Case is folded here, because the two stores fold it differently.
    let mut names = store::names(&state.db).await?;
    names.retain(|source| {
        source.name.to_lowercase().contains(&keyword)
            && query.kind.as_ref().is_none_or(|kind| source.kind == *kind)
    });
    let total = names.len() as i64;
    let (before, size) = (paging.offset() as usize, paging.page_size as usize);
    let ids: Vec<i64> = names.iter().skip(before).take(size).map(|source| source.id).collect();
    let sources = store::all_of(&state.db, &ids).await?;
    let (kinds, zone) = (client::kinds(state), state.config.time_zone);
    let views = sources.iter().map(|source| DatasourceView::new(source, &kinds, zone)).collect();
    Ok(Data::new(&paging.page(total, views)))
}

/// `GET /api/v1/datasources/{id}`
pub async fn get(call: Call<DatasourcePath>) -> Result<Data<DatasourceView>, Error> {
    let source = super::get(&call.state, call.path.id).await?;
    Ok(shown(&call.state, &source))
}

fn shown(state: &Datasources, source: &Datasource) -> Data<DatasourceView> {
    let view = DatasourceView::new(source, &client::kinds(state), state.config.time_zone);
    Data::new(&view).with_etag(&Definition::of(source).etag())
}

/// `POST /api/v1/datasources`
pub async fn create(
    call: Call<Nothing, Nothing, Draft<CreateDatasource>>,
) -> Result<Data<DatasourceView>, Error> {
    let state = &call.state;
    let form = UpdateDatasource::from(call.body.read().clone());
    let misplaced = misplaced(state, &form).await?;
    let (wanted, next_sync_at_ms) = checked(state, &call.body, form, None, misplaced)?;
    refuse_reserved(&wanted.name)?;
    let now_ms = state.clock.now_ms();
    let mut tx = state.db.begin().await?;
    store::in_turn(&mut tx).await?;
    if store::count(&mut tx).await? >= DATASOURCES_MAX {
        let message =
            format!("there are {DATASOURCES_MAX} data sources, no more are kept; delete some first");
        return Err(Error::conflict("too_many_datasources", message));
    }
    let mut source = Datasource { next_sync_at_ms, ..unstored(&wanted, now_ms) };
    source.id = store::insert(&mut tx, &source).await?;
    take_default(&mut tx, &source, &wanted, now_ms).await?;
    // The passwords are bound to the id, which is known only now.
    lay_over(state, &mut source, wanted);
    store::update(&mut tx, &source).await?;
    tx.changed(TOPIC, source.id.to_string());
    let change = Change::of("datasource", source.id).after(&Definition::of(&source));
    call.commit(tx, change, shown(state, &source)).await
}

/// `PUT /api/v1/datasources/{id}`
pub async fn update(
    call: Call<DatasourcePath, Nothing, Draft<UpdateDatasource>>,
) -> Result<Data<DatasourceView>, Error> {
    let (state, id) = (&call.state, call.path.id);
    let form = call.body.read().clone();
    let source = super::get(state, id).await?;
    call.caller.check_datasource(&source.name)?;
    source.refuse_own()?;
    let misplaced = misplaced(state, &form).await?;
    let now_ms = state.clock.now_ms();
    let mut tx = state.db.begin().await?;
    if form.is_default == Amend(Some(true)) {
        store::in_turn(&mut tx).await?;
    }
    let before = store::lock_alone(&mut tx, id).await?.ok_or_else(|| unknown(id))?;
    call.check_if_match(&Definition::of(&before).etag())?;
    let (wanted, next_sync_at_ms) = checked(state, &call.body, form, Some(&before), misplaced)?;
    refuse_reserved(&wanted.name)?;
    call.caller.check_datasource(&before.name)?;
    refuse_turned(&call.caller, &before, &wanted)?;
    let mut after = before.clone();
    after.next_sync_at_ms = next_sync_at_ms;
    refuse_moved(state, &mut tx, &before, &wanted).await?;
    take_default(&mut tx, &before, &wanted, now_ms).await?;
    lay_over(state, &mut after, wanted);
    after.updated_at_ms = now_ms;
    store::update(&mut tx, &after).await?;
    tx.changed(TOPIC, id.to_string());
    let change = Change::of("datasource", id).before(&Definition::of(&before)).after(&Definition::of(&after));
    call.commit(tx, change, shown(state, &after)).await
}

/// `DELETE /api/v1/datasources/{id}`
pub async fn delete(call: Call<DatasourcePath>) -> Result<Data<Option<DatasourceView>>, Error> {
    let (state, id) = (&call.state, call.path.id);
    let mut tx = state.db.begin().await?;
    let source = store::lock_alone(&mut tx, id).await?.ok_or_else(|| unknown(id))?;
    call.caller.check_datasource(&source.name)?;
    source.refuse_own()?;
    call.check_if_match(&Definition::of(&source).etag())?;
    state.refuse_used(&mut tx, &source.resource(Fate::Deleted)).await?;
    store::delete(&mut tx, id).await?;
    tx.changed(TOPIC, id.to_string());
    let change = Change::of("datasource", id).before(&Definition::of(&source));
    call.commit(tx, change, Data::new(&None)).await
}

/// Without an id and passwords.
fn unstored(wanted: &Wanted, now_ms: i64) -> Datasource {
    Datasource {
        id: 0,
        name: wanted.name.clone(),
        kind: wanted.kind.clone(),
        url: wanted.url.clone(),
        read_url: wanted.read_url.clone(),
        secret: None,
        read_secret: None,
        options: wanted.options.clone(),
        is_default: false,
        sync_cron: wanted.sync_cron.clone(),
        next_sync_at_ms: None,
        last_sync_time_ms: None,
        created_at_ms: now_ms,
        updated_at_ms: now_ms,
    }
}

fn refuse_reserved(name: &str) -> Result<(), Error> {
    if !definition::is_reserved(name) {
        return Ok(());
    }
    let message = format!("`{OWN_NAME}` is the name of the server's own store; use another one");
    Err(Error::conflict("name_taken", message))
}

/// 403 if a caller that is bound to data sources would turn one into another: with another name or address it may
/// be one that others are bound to, or that this caller is not.
fn refuse_turned(caller: &Caller, before: &Datasource, wanted: &Wanted) -> Result<(), Error> {
    let is_same = (&before.name, &before.kind, &before.url, &before.read_url, &before.options)
        == (&wanted.name, &wanted.kind, &wanted.url, &wanted.read_url, &wanted.options)
        && before.is_default == wanted.is_default;
    if is_same { Ok(()) } else { caller.check_unbound("its name, address, account or default mark") }
}

/// Asks the users of a data source whether it may be moved or changed to another kind.
async fn refuse_moved(
    state: &Datasources,
    tx: &mut Tx,
    before: &Datasource,
    wanted: &Wanted,
) -> Result<(), Error> {
    let fate = if before.kind != wanted.kind {
        Fate::Replaced
    } else if before.url != wanted.url || before.options != wanted.options {
        Fate::Moved
    } else {
        return Ok(());
    };
    state.refuse_used(tx, &before.resource(fate)).await
}

/// Keeps at most one default.
async fn take_default(tx: &mut Tx, before: &Datasource, wanted: &Wanted, now_ms: i64) -> Result<(), Error> {
    if !wanted.is_default || before.is_default {
        return Ok(());
    }
    for other in store::clear_default(tx, before.id, now_ms).await? {
        tx.changed(TOPIC, other.to_string());
    }
    Ok(())
}

/// The problems of the form's address.
async fn misplaced(state: &Datasources, form: &UpdateDatasource) -> Result<Vec<Detail>, Error> {
    match &form.url.0 {
        Some(url) => Error::details_of(client::check_place(state, url).await),
        None => Ok(Vec::new()),
    }
}

/// The new definition, and the time of its next sync; 400 with all problems, including `misplaced`.
fn checked<T>(
    state: &Datasources,
    body: &Draft<T>,
    form: UpdateDatasource,
    before: Option<&Datasource>,
    misplaced: Vec<Detail>,
) -> Result<(Wanted, Option<i64>), Error> {
    let mut wrong = misplaced;
    let next = next_sync(state, &form.sync_cron, before);
    let next_sync_at_ms = next.unwrap_or_else(|why| {
        wrong.push(Detail::new("syncCron", why));
        None
    });
    let made = definition::wanted(form, before, &client::kinds(state));
    body.checked(|_| match made {
        Ok(wanted) if wrong.is_empty() => Ok((wanted, next_sync_at_ms)),
        Ok(_) => Err(wrong),
        Err(mut all) => {
            wrong.retain(|detail| all.iter().all(|known| known.field != detail.field));
            all.extend(wrong);
            Err(all)
        }
    })
}

/// The next due time, or the reason why there is none; an unchanged schedule is not checked again.
fn next_sync(
    state: &Datasources,
    cron: &Patch<String>,
    before: Option<&Datasource>,
) -> Result<Option<i64>, String> {
    let kept = before.and_then(|before| before.sync_cron.as_deref());
    match cron {
        Patch::Clear => Ok(None),
        Patch::Set(text) if Some(text.as_str()) != kept => {
            let next = Cron::parse(text)?.next_after(state.clock.now_ms(), state.config.time_zone);
            next.map(Some).ok_or_else(|| "is never due from now on; change its fields".to_owned())
        }
        Patch::Keep | Patch::Set(_) => Ok(before.and_then(|before| before.next_sync_at_ms)),
    }
}

fn lay_over(state: &Datasources, source: &mut Datasource, wanted: Wanted) {
    let id = source.id.to_string();
    let sealed = |column: &str, password: Password, before: Option<Vec<u8>>| match password {
        Password::Keep => before,
        Password::None => None,
        Password::Set(secret) => {
            let context = secrets::context("datasources", &[&id], column);
            Some(state.keys.encrypt(&context, secret.bytes()))
        }
    };
    source.secret = sealed("secret", wanted.password, source.secret.take());
    source.read_secret = sealed("read_secret", wanted.read_password, source.read_secret.take());
    source.name = wanted.name;
    source.kind = wanted.kind;
    source.url = wanted.url;
    source.read_url = wanted.read_url;
    source.options = wanted.options;
    source.is_default = wanted.is_default;
    source.sync_cron = wanted.sync_cron;
}

/// A successful test of a data source.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatasourceTest {
    ok: bool,
    product: String,
    version: String,
    latency_ms: f64,
}

/// Drops what is kept of a data source, and its password, at the end of its scope.
struct Forgotten<'s> {
    state: &'s Datasources,
    id: i64,
}

impl Drop for Forgotten<'_> {
    fn drop(&mut self) {
        self.state.servers.forget(self.id);
    }
}

/// `POST /api/v1/datasources/test`
pub async fn test_new(
    call: Call<Nothing, Nothing, Draft<CreateDatasource>>,
) -> Result<Data<DatasourceTest>, Error> {
    let state = &call.state;
    let form = UpdateDatasource::from(call.body.read().clone());
    let misplaced = misplaced(state, &form).await?;
    let (wanted, _) = checked(state, &call.body, form, None, misplaced)?;
    refuse_reserved(&wanted.name)?;
    if super::names(&state.db).await?.contains(&wanted.name) {
        return Err(store::name_taken(&wanted.name));
    }
    let mut source = unstored(&wanted, state.clock.now_ms());
    lay_over(state, &mut source, wanted);
    let begun = Instant::now();
    // Also when the caller goes away meanwhile.
    let _forgotten = Forgotten { state, id: source.id };
    let server = asked(state, &source, call.request_id.as_str()).await?;
    let latency_ms = begun.elapsed().as_micros() as f64 / 1_000.0;
    Ok(Data::new(&DatasourceTest { ok: true, product: server.product, version: server.version, latency_ms }))
}

/// What its server says of itself, to the account of tasks and to that for reading.
async fn asked(state: &Datasources, source: &Datasource, call: &str) -> Result<ServerInfo, Error> {
    if source.read_url.is_some() {
        DatasourceClient::of_main(state, source, call).server().await?;
    }
    Ok(DatasourceClient::of(state, source, call).server().await?)
}

/// `POST /api/v1/datasources/{id}/test`
pub async fn test(call: Call<DatasourcePath>) -> Result<Data<DatasourceTest>, Error> {
    let state = &call.state;
    let source = super::get(state, call.path.id).await?;
    call.caller.check_datasource(&source.name)?;
    let begun = Instant::now();
    let (product, version) = if source.is_own() {
        (state.db.product().to_owned(), store::own_version(&state.db).await?)
    } else {
        let server = asked(state, &source, call.request_id.as_str()).await?;
        (server.product, server.version)
    };
    let latency_ms = begun.elapsed().as_micros() as f64 / 1_000.0;
    Ok(Data::new(&DatasourceTest { ok: true, product, version, latency_ms }))
}

/// A database (or schema), with its name in `dbName` of tables.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Database")]
pub struct DatabaseView {
    name: String,
    /// Null: it has none.
    comment: Option<String>,
}

/// `GET /api/v1/datasources/{id}/databases`
pub async fn databases(call: Call<DatasourcePath>) -> Result<Data<Vec<DatabaseView>>, Error> {
    let state = &call.state;
    let source = super::get(state, call.path.id).await?;
    call.caller.check_datasource(&source.name)?;
    let databases = if source.is_own() {
        vec![(OWN_NAME.to_owned(), String::new())]
    } else {
        let client = DatasourceClient::of(state, &source, call.request_id.as_str());
        let server = client.server().await?;
        client.databases(&server).await?
    };
    let view = |(name, comment): (String, String)| DatabaseView {
        name,
        comment: Some(comment).filter(|comment| !comment.is_empty()),
    };
    Ok(Data::new(&databases.into_iter().map(view).collect()))
}
