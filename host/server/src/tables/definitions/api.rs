//! Handlers of definitions.

use lakeport_base::error::{Detail, Error};
use lakeport_http::form::Draft;
use lakeport_http::{Body, Data, Nothing};
use lakeport_store::Tx;

use super::store::Ignored;
use super::view::TableDetail;
use super::{Definition, TableWithFields, store};
use crate::audit::{Change, Commit};
use crate::datasources::{self, DatasourceClient};
use crate::tables::forms::{ChangeQuery, CreateTable, SetComment, TablePath, UpdateTable};
use crate::tables::history::{self, Source};
use crate::tables::physical::step::ChangeSpec;
use crate::tables::physical::view::{ChangeView, Changed, UnderWay};
use crate::tables::physical::{self, Ended, Planned};
use crate::tables::{Call, Tables};
use crate::tables::{TOPIC, sources};

/// How often a change is worked out again because another writer came in between.
pub const TRIES: usize = 5;

pub fn unknown(id: i64) -> Error {
    Error::not_found("table", id)
}

/// Others changed it each time that it was to be changed.
pub fn overtaken() -> Error {
    Error::conflict("change_running", "the table is being changed by others at this moment; try again")
}

pub fn shown(state: &Tables, whole: TableWithFields, change: Option<ChangeView>) -> Data<TableDetail> {
    let etag = whole.etag();
    Data::new(&TableDetail::new(whole, change, state.config.time_zone)).with_etag(&etag)
}

pub fn done(
    state: &Tables,
    whole: TableWithFields,
    change: Option<ChangeView>,
) -> Data<Changed<TableDetail>> {
    let etag = whole.etag();
    Data::new(&Changed::Done(TableDetail::new(whole, change, state.config.time_zone))).with_etag(&etag)
}

/// `GET /api/v1/tables/{id}`
pub async fn get(call: Call<TablePath>) -> Result<Data<TableDetail>, Error> {
    let whole = super::get(&call.state, call.path.id).await?;
    Ok(shown(&call.state, whole, None))
}

/// `POST /api/v1/tables`
pub async fn create(call: Call<Nothing, Nothing, Draft<CreateTable>>) -> Result<Data<TableDetail>, Error> {
    let state = &call.state;
    let wanted = Definition::of(call.body.read().clone());
    check(&call, None, &wanted).await?;
    let now_ms = state.clock.now_ms();
    let mut tx = state.db.begin().await?;
    reserve(&call, &mut tx, &wanted, 0).await?;
    let id = store::insert(&mut tx, &wanted, now_ms).await?;
    let new = [history::New::created(id, &wanted.table_name)];
    history::add(&mut tx, &new, Source::Catalogue, Some(&call.caller.name), now_ms).await?;
    let whole = store::lock(&mut tx, id).await?.ok_or_else(|| unknown(id))?;
    tx.changed(TOPIC, id.to_string());
    let change = Change::of("table", id).after(&whole.versioned());
    call.commit(tx, change, shown(state, whole, None)).await
}

/// 400 with everything that is wrong with a definition; what it was before is not looked at again.
async fn check<P, Q, B: Body>(
    call: &Call<P, Q, B>,
    before: Option<&Definition>,
    wanted: &Definition,
) -> Result<(), Error> {
    let state = &call.state;
    let known = before.map(Definition::problems).unwrap_or_default();
    let mut wrong = wanted.problems();
    wrong.retain(|detail| !known.contains(detail));
    let place = |of: &Definition| (of.cluster_id, of.db_name.clone(), of.table_name.clone());
    if let Some(id) = wanted.cluster_id.filter(|_| before.map(place) != Some(place(wanted))) {
        match sources::given(state, &call.caller, id).await {
            Ok(source) => {
                let client = DatasourceClient::of_main(&state.datasources, &source, call.request_id.as_str());
                wrong.extend(sources::name_problems(&client, wanted)?);
            }
            Err(Error::Refused(refusal)) if refusal.status == 400 => wrong.extend(refusal.details),
            Err(error) => return Err(error),
        }
    }
    call.body.refuse(wrong)
}

/// 409 where the name is taken, also by a change under way, or one that its database takes for the same. Who wants a
/// name in one data source waits for others.
pub async fn reserve<P, Q, B>(
    call: &Call<P, Q, B>,
    tx: &mut Tx,
    wanted: &Definition,
    but: i64,
) -> Result<(), Error> {
    reserve_or(call, tx, wanted, but, store::ANOTHER_NAME).await
}

/// As [`reserve`]; `hint` says what can be done where the name is taken.
pub async fn reserve_or<P, Q, B>(
    call: &Call<P, Q, B>,
    tx: &mut Tx,
    wanted: &Definition,
    but: i64,
    hint: &str,
) -> Result<(), Error> {
    let mut ignored = Ignored::default();
    if let Some(id) = wanted.cluster_id {
        let gone = || Error::invalid(vec![Detail::new("clusterId", format!("there is no data source {id}"))]);
        let source = datasources::lock(tx, id).await?.ok_or_else(gone)?;
        ignored = sources::ignored(
            &*DatasourceClient::of(&call.state.datasources, &source, call.request_id.as_str()).profile()?,
        );
    }
    if store::is_taken(tx, wanted, but).await? {
        return Err(Error::conflict("name_taken", store::name_taken(wanted, hint)));
    }
    let Some(other) = store::namesake(tx, wanted, but, ignored).await? else { return Ok(()) };
    let message = format!(
        "there is a table {other} of this data source already, and its database takes no notice of case in names; \
         {hint}"
    );
    Err(Error::conflict("name_taken", message))
}

/// `PUT /api/v1/tables/{id}`
pub async fn update(
    call: Call<TablePath, ChangeQuery, Draft<UpdateTable>>,
) -> Result<Data<Changed<TableDetail>>, Error> {
    change(&call, |before| before.changed_by(call.body.read().clone())).await
}

/// `PUT /api/v1/tables/{id}/comment`
pub async fn set_comment(
    call: Call<TablePath, ChangeQuery, Draft<SetComment>>,
) -> Result<Data<Changed<TableDetail>>, Error> {
    let commented = |before: &Definition| {
        let comment = super::text(call.body.read().comment.clone(), before.table_comment.clone());
        Definition { table_comment: comment, ..before.clone() }
    };
    change(&call, commented).await
}

/// Changes a definition; a physical table follows first.
async fn change<B: Body>(
    call: &Call<TablePath, ChangeQuery, B>,
    lay_over: impl Fn(&Definition) -> Definition,
) -> Result<Data<Changed<TableDetail>>, Error> {
    for _ in 0..TRIES {
        let before = super::get(&call.state, call.path.id).await?;
        let after = lay_over(&before.record.definition);
        if let Some(answer) = change_from(call, before, after).await? {
            return Ok(answer);
        }
    }
    Err(overtaken())
}

/// None: the table is not any more as it was read.
async fn change_from<B: Body>(
    call: &Call<TablePath, ChangeQuery, B>,
    before: TableWithFields,
    after: Definition,
) -> Result<Option<Data<Changed<TableDetail>>>, Error> {
    let state = &call.state;
    before.refuse_deprecated()?;
    sources::refuse_wrong(&before, call.query.cluster_id)?;
    call.check_if_match(&before.etag())?;
    let definition = &before.record.definition;
    // A form that could not be read is reported first.
    if call.body.refuse(Vec::new()).is_ok() {
        refuse_fixed(&before, &after)?;
    }
    check(call, Some(definition), &after).await?;
    let (wanted, planned) = planned(call, &before, after).await?;
    let now_ms = state.clock.now_ms();
    let id = before.record.id;
    let mut tx = state.db.begin().await?;
    if wanted.table.table_name != definition.table_name
        || wanted.table.db_name != definition.db_name
        || wanted.table.cluster_id != definition.cluster_id
    {
        reserve(call, &mut tx, &wanted.table, id).await?;
    }
    let now = store::lock(&mut tx, id).await?.ok_or_else(|| unknown(id))?;
    physical::store::refuse_running(&mut tx, id).await?;
    if now.etag() != before.etag() {
        return Ok(None);
    }
    // Behind all that refuses a change: a dry run is refused alike.
    if call.query.dry_run {
        return Ok(Some(Data::new(&Changed::DryRun(planned.view()))));
    }
    let audited = Change::of("table", id).before(&before.versioned());
    if planned.statements.is_empty() {
        let by = &call.caller.name;
        let whole = in_catalogue(&mut tx, &before, &wanted.table, by, now_ms).await?;
        let audited = audited.after(&whole.versioned());
        return call.commit(tx, audited, done(state, whole, None)).await.map(Some);
    }
    let cluster_id = definition.cluster_id.ok_or_else(overtaken)?;
    let (record, caller) = (&before.record, &call.caller.name);
    let begun =
        physical::store::start(&mut tx, record, cluster_id, &wanted, &planned, caller, now_ms).await?;
    let begun = begun.ok_or_else(physical::running)?;
    followed(call, tx, audited.after(&wanted.table), begun, id).await.map(Some)
}

/// What a physical table has to follow, planned.
async fn planned<B>(
    call: &Call<TablePath, ChangeQuery, B>,
    before: &TableWithFields,
    after: Definition,
) -> Result<(ChangeSpec, Planned), Error> {
    let definition = &before.record.definition;
    if !before.record.is_physical || after == *definition {
        return Ok((ChangeSpec { table: after, steps: Vec::new() }, Planned::default()));
    }
    let mut wanted = ChangeSpec::between(definition, after);
    let source = sources::of_table(&call.state, &call.caller, before, call.query.cluster_id).await?;
    let client = DatasourceClient::of_main(&call.state.datasources, &source, call.request_id.as_str());
    wanted.without_places(&client.info()?.capabilities);
    let planned = physical::plan(&client, &sources::place(definition), &wanted).await?;
    Ok((wanted, planned))
}

/// What no database follows; answers the table afterwards.
async fn in_catalogue(
    tx: &mut Tx,
    before: &TableWithFields,
    after: &Definition,
    by: &str,
    now_ms: i64,
) -> Result<TableWithFields, Error> {
    let id = before.record.id;
    if before.record.definition == *after {
        return Ok(before.clone());
    }
    store::update(tx, id, after, before.record.is_physical, now_ms).await?;
    tx.changed(TOPIC, id.to_string());
    let after = store::lock(tx, id).await?.ok_or_else(|| unknown(id))?;
    history::add_of_whole(tx, before, &after, Source::Catalogue, by, now_ms).await?;
    Ok(after)
}

/// 409 naming what a physical table cannot change.
fn refuse_fixed(before: &TableWithFields, after: &Definition) -> Result<(), Error> {
    let fixed = before.record.definition.not_changeable(after);
    if !before.record.is_physical || fixed.is_empty() {
        return Ok(());
    }
    let wrong = fixed.iter().map(|member| Detail::new(*member, "is fixed once the table is in its database"));
    let message = format!("{} cannot be changed: the table is in its database", fixed.join(", "));
    Err(Error::conflict("not_changeable", message).with_details(wrong.collect()))
}

/// Waits for the physical change, then answers with the table.
pub async fn followed<P, Q, B>(
    call: &Call<P, Q, B>,
    tx: Tx,
    audited: Change,
    begun: physical::store::ChangeRow,
    id: i64,
) -> Result<Data<Changed<TableDetail>>, Error> {
    let answer = match physical::ended(call, tx, audited, begun).await? {
        Ended::UnderWay(change) => Data::new(&Changed::UnderWay(UnderWay { change })),
        Ended::Made(change) => done(&call.state, super::get(&call.state, id).await?, Some(change)),
    };
    physical::kept(call, answer).await
}
