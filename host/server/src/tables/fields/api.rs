//! Handlers of fields. That of a physical table is changed in its database first.

use lakeport_base::error::{Detail, Error};
use lakeport_http::form::Draft;
use lakeport_http::{Body, Data};
use lakeport_sql::Profile;
use lakeport_store::Tx;
use schemars::JsonSchema;
use serde::Serialize;

use super::view::FieldView;
use super::{FIELDS_MAX, Field, default, store};
use crate::audit::{Change, Commit};
use crate::datasources::DatasourceClient;
use crate::tables::Call;
use crate::tables::definitions::api::{TRIES, overtaken, unknown};
use crate::tables::definitions::{self, TableWithFields};
use crate::tables::forms::{ChangeQuery, CreateField, DryRunQuery, FieldPath, TablePath, UpdateField};
use crate::tables::history::{self, Source};
use crate::tables::physical::step::{ChangeSpec, Step};
use crate::tables::physical::view::{ChangeView, Changed, UnderWay};
use crate::tables::physical::{self, Ended, Planned};
use crate::tables::{TOPIC, sources};

/// That a field is gone.
#[derive(Serialize, JsonSchema)]
pub struct RemovedField {
    /// The physical change that this answer tells of; null: there was none.
    change: Option<ChangeView>,
}

/// What is to become of a field.
enum Edit {
    Add(Field),
    Alter { before: Field, after: Field },
    Drop(Field),
}

/// `GET /api/v1/tables/{id}/fields`
pub async fn list(call: Call<TablePath>) -> Result<Data<Vec<FieldView>>, Error> {
    let whole = definitions::get(&call.state, call.path.id).await?;
    Ok(Data::new(&whole.fields.into_iter().map(|field| FieldView::new(field, None)).collect()))
}

/// `GET /api/v1/tables/{id}/fields/{fieldId}`
pub async fn get(call: Call<FieldPath>) -> Result<Data<FieldView>, Error> {
    let whole = definitions::get(&call.state, call.path.id).await?;
    let field = field_of(&whole, call.path.field_id)?;
    let etag = field.etag();
    Ok(Data::new(&FieldView::new(field, None)).with_etag(&etag))
}

/// `POST /api/v1/tables/{id}/fields`
pub async fn create(
    call: Call<TablePath, ChangeQuery, Draft<CreateField>>,
) -> Result<Data<Changed<FieldView>>, Error> {
    let (id, query) = (call.path.id, &call.query);
    for _ in 0..TRIES {
        let whole = definitions::get(&call.state, id).await?;
        sources::refuse_wrong(&whole, query.cluster_id)?;
        if whole.fields.len() >= FIELDS_MAX {
            let message = format!("a table has {FIELDS_MAX} fields at most");
            return Err(Error::conflict("too_many_fields", message));
        }
        let place = whole.fields.last().map_or(0, |last| last.place) + 1;
        let field = Field::of(id, place, call.body.read().clone());
        let name = field.name.clone();
        let show = |whole, change| shown(whole, change, |field| field.name == name);
        if let Some(answer) = edit(&call, whole, Edit::Add(field), query.dry_run, show).await? {
            return Ok(answer);
        }
    }
    Err(overtaken())
}

/// `PUT /api/v1/tables/{id}/fields/{fieldId}`
pub async fn update(
    call: Call<FieldPath, DryRunQuery, Draft<UpdateField>>,
) -> Result<Data<Changed<FieldView>>, Error> {
    let (id, field_id) = (call.path.id, call.path.field_id);
    for _ in 0..TRIES {
        let whole = definitions::get(&call.state, id).await?;
        let before = field_of(&whole, field_id)?;
        call.check_if_match(&before.etag())?;
        let after = before.changed_by(call.body.read().clone());
        // A form that could not be read is reported first.
        let is_readable = call.body.refuse(Vec::new()).is_ok();
        if is_readable && whole.record.is_physical && before.is_key != after.is_key {
            let message = "isPrimaryKey cannot be changed: the table is in its database";
            let detail = Detail::new("isPrimaryKey", "is fixed once the table is in its database");
            return Err(Error::conflict("not_changeable", message).with_details(vec![detail]));
        }
        let alter = Edit::Alter { before, after };
        let show = |whole, change| shown(whole, change, |field| field.id == field_id);
        if let Some(answer) = edit(&call, whole, alter, call.query.dry_run, show).await? {
            return Ok(answer);
        }
    }
    Err(overtaken())
}

/// `DELETE /api/v1/tables/{id}/fields/{fieldId}`
pub async fn delete(call: Call<FieldPath, DryRunQuery>) -> Result<Data<Changed<RemovedField>>, Error> {
    for _ in 0..TRIES {
        let whole = definitions::get(&call.state, call.path.id).await?;
        let field = field_of(&whole, call.path.field_id)?;
        call.check_if_match(&field.etag())?;
        let show = |_, change| Ok(Data::new(&Changed::Done(RemovedField { change })));
        if let Some(answer) = edit(&call, whole, Edit::Drop(field), call.query.dry_run, show).await? {
            return Ok(answer);
        }
    }
    Err(overtaken())
}

fn field_of(whole: &TableWithFields, id: i64) -> Result<Field, Error> {
    let field = whole.fields.iter().find(|field| field.id == id);
    field.cloned().ok_or_else(|| Error::not_found("field", id))
}

/// The answer with one field of the table as it is now.
fn shown(
    whole: TableWithFields,
    change: Option<ChangeView>,
    is_it: impl Fn(&Field) -> bool,
) -> Result<Data<Changed<FieldView>>, Error> {
    let field = whole.fields.into_iter().find(is_it).ok_or_else(overtaken)?;
    let etag = field.etag();
    Ok(Data::new(&Changed::Done(FieldView::new(field, change))).with_etag(&etag))
}

/// Makes an edit on the table as it was read; none where it is not so any more.
async fn edit<P, Q, B: Body, T: Serialize + JsonSchema + Send + 'static>(
    call: &Call<P, Q, B>,
    whole: TableWithFields,
    edit: Edit,
    is_dry_run: bool,
    show: impl Fn(TableWithFields, Option<ChangeView>) -> Result<Data<Changed<T>>, Error>,
) -> Result<Option<Data<Changed<T>>>, Error> {
    let (state, id) = (&call.state, whole.record.id);
    whole.refuse_deprecated()?;
    let (client, profile) = match whole.record.definition.cluster_id {
        None => (None, None),
        Some(_) => {
            let source = sources::of_table(state, &call.caller, &whole, None).await?;
            let client = DatasourceClient::of_main(&state.datasources, &source, call.request_id.as_str());
            let profile = client.profile()?;
            (Some(client), Some(profile))
        }
    };
    call.body.refuse(problems(client.as_ref(), profile.as_deref(), &edit).await?)?;
    refuse_taken(profile.as_deref(), &whole, &edit)?;
    let definition = whole.record.definition.clone();
    let mut wanted = ChangeSpec { table: definition.clone(), steps: Vec::new() };
    let mut planned = Planned::default();
    if let Some(client) = client.as_ref().filter(|_| whole.record.is_physical) {
        wanted.steps.extend(edit.step());
        wanted.without_places(&client.info()?.capabilities);
        planned = physical::plan(client, &sources::place(&definition), &wanted).await?;
    }
    let now_ms = state.clock.now_ms();
    let mut tx = state.db.begin().await?;
    let now = definitions::store::lock(&mut tx, id).await?.ok_or_else(|| unknown(id))?;
    physical::store::refuse_running(&mut tx, id).await?;
    if now.etag() != whole.etag() {
        return Ok(None);
    }
    // Behind all that refuses a change: a dry run is refused alike.
    if is_dry_run {
        return Ok(Some(Data::new(&Changed::DryRun(planned.view()))));
    }
    let audited = Change::of("table", id).before(&whole.versioned());
    if planned.statements.is_empty() {
        let by = &call.caller.name;
        let before = whole;
        let whole = in_catalogue(&mut tx, id, &edit, now_ms).await?;
        history::add_of_whole(&mut tx, &before, &whole, Source::Catalogue, by, now_ms).await?;
        let audited = audited.after(&whole.versioned());
        return call.commit(tx, audited, show(whole, None)?).await.map(Some);
    }
    let cluster_id = definition.cluster_id.ok_or_else(overtaken)?;
    let (record, caller) = (&whole.record, &call.caller.name);
    let begun =
        physical::store::start(&mut tx, record, cluster_id, &wanted, &planned, caller, now_ms).await?;
    let begun = begun.ok_or_else(physical::running)?;
    let answer = match physical::ended(call, tx, audited.after(&wanted), begun).await? {
        Ended::UnderWay(change) => Data::new(&Changed::UnderWay(UnderWay { change })),
        Ended::Made(change) => show(definitions::get(state, id).await?, Some(change))?,
    };
    physical::kept(call, answer).await.map(Some)
}

/// What no database follows; answers the table afterwards.
async fn in_catalogue(tx: &mut Tx, id: i64, edit: &Edit, now_ms: i64) -> Result<TableWithFields, Error> {
    match edit {
        Edit::Add(field) => _ = store::insert(tx, field, now_ms).await?,
        Edit::Alter { before, after } if before == after => {}
        Edit::Alter { after, .. } => store::update(tx, after, now_ms).await?,
        Edit::Drop(field) => store::delete(tx, field).await?,
    }
    definitions::store::touch(tx, id, now_ms).await?;
    tx.changed(TOPIC, id.to_string());
    definitions::store::lock(tx, id).await?.ok_or_else(|| unknown(id))
}

impl Edit {
    /// As it should be; none where it goes.
    fn wanted(&self) -> Option<&Field> {
        match self {
            Edit::Add(field) | Edit::Alter { after: field, .. } => Some(field),
            Edit::Drop(_) => None,
        }
    }

    /// As it is; none where it is new or goes.
    fn before(&self) -> Option<&Field> {
        match self {
            Edit::Alter { before, .. } => Some(before),
            Edit::Add(_) | Edit::Drop(_) => None,
        }
    }

    fn step(&self) -> Option<Step> {
        match self {
            Edit::Add(field) => Some(Step::AddField { field: field.clone() }),
            Edit::Alter { before, after } if before.is_as_in_database(after) => None,
            Edit::Alter { before, after } => {
                Some(Step::AlterField { before: before.clone(), after: after.clone() })
            }
            Edit::Drop(field) => Some(Step::DropField { field: field.clone() }),
        }
    }
}

/// Everything that is wrong with the field.
async fn problems(
    client: Option<&DatasourceClient<'_>>,
    profile: Option<&Profile>,
    edit: &Edit,
) -> Result<Vec<Detail>, Error> {
    let mut wrong = Vec::new();
    let Some(wanted) = edit.wanted() else { return Ok(wrong) };
    let before = edit.before();
    if let Some(profile) = profile.filter(|_| before.is_none_or(|before| before.name != wanted.name)) {
        let mut found = Vec::new();
        lakeport_sql::names::check(profile, "field", &wanted.name, "fieldName", &mut found);
        wrong.extend(found.into_iter().map(physical::failure::detail));
    }
    if wanted.type_text.is_empty() {
        wrong.push(Detail::new("fieldType", "must not be empty"));
    } else if let Some(client) = client {
        wrong.extend(type_problems(client, before, wanted).await?);
    }
    Ok(wrong)
}

/// 409 where a field is to have the name of another.
fn refuse_taken(profile: Option<&Profile>, whole: &TableWithFields, edit: &Edit) -> Result<(), Error> {
    let Some(wanted) = edit.wanted() else { return Ok(()) };
    if edit.before().is_some_and(|before| before.name == wanted.name) {
        return Ok(());
    }
    let others = whole.fields.iter().filter(|field| field.id != wanted.id);
    let mut taken = others.filter(|field| sources::are_one(profile, &field.name, &wanted.name));
    match taken.next() {
        Some(other) => Err(Error::conflict("name_taken", store::name_taken(&other.name))),
        None => Ok(()),
    }
}

/// What a dialect does not take of a type and of the default that goes with it. What stays is not looked at again.
async fn type_problems(
    client: &DatasourceClient<'_>,
    before: Option<&Field>,
    wanted: &Field,
) -> Result<Vec<Detail>, Error> {
    let same = |before: &Field| (before.type_text == wanted.type_text, before.default == wanted.default);
    let (is_same_type, is_same_default) = before.map_or((false, false), same);
    if is_same_type && is_same_default {
        return Ok(Vec::new());
    }
    let parsed = client.parse_types(std::slice::from_ref(&wanted.type_text)).await?.pop();
    Ok(match parsed {
        Some(Err(problem)) if !is_same_type => vec![Detail::new("fieldType", problem.message)],
        Some(Ok(parsed)) if !is_same_default => {
            let meant = default::meant(wanted.default.as_deref(), &parsed.family);
            meant.err().map(|why| Detail::new("defaultValue", why)).into_iter().collect()
        }
        _ => Vec::new(),
    })
}
