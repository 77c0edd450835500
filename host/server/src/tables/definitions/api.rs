//! Handlers of definitions.

use lakeport_base::error::{Detail, Error};
use lakeport_http::form::Draft;
use lakeport_http::{Body, Data, Nothing};
use lakeport_store::Tx;

use super::store::Ignored;
use super::view::TableDetail;
use super::{Definition, Record, TableWithFields, store};
use crate::audit::{Change, Commit};
use crate::datasources::{self, DatasourceClient};
use crate::tables::change::spec::ChangeSpec;
use crate::tables::change::view::{ChangeView, Changed};
use crate::tables::change::{self, Planned, Submission, TableChange};
use crate::tables::forms::{ChangeQuery, CreateTable, SetComment, TablePath, UpdateTable};
use crate::tables::history::{self, Source};
use crate::tables::{Call, Tables};
use crate::tables::{TOPIC, sources};

pub fn unknown(id: i64) -> Error {
    Error::not_found("table", id)
}

fn shown(state: &Tables, whole: TableWithFields) -> Data<TableDetail> {
    let etag = whole.etag();
    Data::new(&TableDetail::new(whole, None, state.config.time_zone)).with_etag(&etag)
}

/// The answer to a change; 404 where the table is gone meanwhile.
pub fn done<Q, B>(
    call: &Call<TablePath, Q, B>,
    table: Option<TableWithFields>,
    change: Option<ChangeView>,
) -> Result<Data<Changed<TableDetail>>, Error> {
    let table = table.ok_or_else(|| unknown(call.path.id))?;
    let etag = table.etag();
    let detail = TableDetail::new(table, change, call.state.config.time_zone);
    Ok(Data::new(&Changed::Done(detail)).with_etag(&etag))
}

/// `GET /api/v1/tables/{id}`
pub async fn get(call: Call<TablePath>) -> Result<Data<TableDetail>, Error> {
    let whole = super::get(&call.state, call.path.id).await?;
    Ok(shown(&call.state, whole))
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
    call.commit(tx, change, shown(state, whole)).await
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
        "there is a table {other} of this data source already, and its database ignores case in names; \
         {hint}"
    );
    Err(Error::conflict("name_taken", message))
}

/// `PUT /api/v1/tables/{id}`
pub async fn update(
    call: Call<TablePath, ChangeQuery, Draft<UpdateTable>>,
) -> Result<Data<Changed<TableDetail>>, Error> {
    update_with(&call, |before| before.changed_by(call.body.read().clone())).await
}

/// `PUT /api/v1/tables/{id}/comment`
pub async fn set_comment(
    call: Call<TablePath, ChangeQuery, Draft<SetComment>>,
) -> Result<Data<Changed<TableDetail>>, Error> {
    let commented = |before: &Definition| {
        let comment = super::text(call.body.read().comment.clone(), before.table_comment.clone());
        Definition { table_comment: comment, ..before.clone() }
    };
    update_with(&call, commented).await
}

/// Changes a definition; a physical table follows first.
async fn update_with<B: Body>(
    call: &ToUpdate<B>,
    lay_over: impl Fn(&Definition) -> Definition,
) -> Result<Data<Changed<TableDetail>>, Error> {
    change::submit(call, call.path.id, call.query.dry_run, |before| {
        let after = lay_over(&before.record.definition);
        changed(call, before, after)
    })
    .await
}

type ToUpdate<B> = Call<TablePath, ChangeQuery, B>;

/// A definition in place of another.
struct Update<'c, B>(&'c ToUpdate<B>);

async fn changed<B: Body>(
    call: &ToUpdate<B>,
    before: TableWithFields,
    after: Definition,
) -> Result<Submission<Update<'_, B>>, Error> {
    before.refuse_deprecated()?;
    sources::refuse_wrong(&before, call.query.cluster_id)?;
    sources::refuse_hidden(&call.state, &call.caller, &before, std::iter::empty()).await?;
    call.check_if_match(&before.etag())?;
    let definition = &before.record.definition;
    // A form that could not be read is reported first.
    if call.body.refuse(Vec::new()).is_ok() {
        refuse_fixed(&before, &after)?;
    }
    check(call, Some(definition), &after).await?;
    let change = Update(call);
    if !before.record.is_physical || after == *definition {
        let spec = ChangeSpec { table: after, steps: Vec::new() };
        return Ok(Submission { before, spec, planned: Planned::default(), source_id: None, change });
    }
    let mut spec = ChangeSpec::between(definition, after);
    let source = sources::of_table(&call.state, &call.caller, &before, call.query.cluster_id).await?;
    let client = DatasourceClient::of_main(&call.state.datasources, &source, call.request_id.as_str());
    spec.without_places(&client.info()?.capabilities);
    let planned = change::plan(&client, &sources::place(definition), &spec).await?;
    let source_id = (!planned.statements.is_empty()).then_some(source.id);
    Ok(Submission { before, spec, planned, source_id, change })
}

impl<B> TableChange for Update<'_, B> {
    type Answer = TableDetail;

    fn is_of_catalogue(&self, before: &TableWithFields, spec: &ChangeSpec) -> bool {
        let Record { definition, is_physical, .. } = &before.record;
        spec.steps.is_empty() && (*is_physical || definition.is_as_in_database(&spec.table))
    }

    async fn reserve(&self, tx: &mut Tx, before: &TableWithFields, spec: &ChangeSpec) -> Result<(), Error> {
        let name = |of: &Definition| (of.cluster_id, of.db_name.clone(), of.table_name.clone());
        if name(&before.record.definition) == name(&spec.table) {
            return Ok(());
        }
        reserve(self.0, tx, &spec.table, before.record.id).await
    }

    async fn write(
        &self,
        tx: &mut Tx,
        before: &TableWithFields,
        spec: &ChangeSpec,
    ) -> Result<Option<ChangeView>, Error> {
        let Record { id, definition, is_physical, .. } = &before.record;
        if *definition != spec.table {
            store::update(tx, *id, &spec.table, *is_physical, self.0.state.clock.now_ms()).await?;
            tx.changed(TOPIC, id.to_string());
        }
        Ok(None)
    }

    async fn answer(
        &self,
        table: Option<TableWithFields>,
        change: Option<ChangeView>,
    ) -> Result<Data<Changed<TableDetail>>, Error> {
        done(self.0, table, change)
    }
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
