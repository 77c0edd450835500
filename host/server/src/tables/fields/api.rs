//! Handlers of fields. A field of a physical table is changed in the database first.

use lakeport_base::error::{Detail, Error};
use lakeport_http::form::Draft;
use lakeport_http::{Body, Data};
use lakeport_sql::Profile;
use lakeport_store::Tx;
use schemars::JsonSchema;
use serde::Serialize;

use super::view::FieldView;
use super::{FIELDS_MAX, Field, default, store};
use crate::datasources::DatasourceClient;
use crate::tables::Call;
use crate::tables::change::spec::{ChangeSpec, Step};
use crate::tables::change::view::{ChangeView, Changed};
use crate::tables::change::{self, Planned, Submission, TableChange, overtaken};
use crate::tables::definitions::api::unknown;
use crate::tables::definitions::{self, TableWithFields};
use crate::tables::forms::{ChangeQuery, CreateField, DryRunQuery, FieldPath, TablePath, UpdateField};
use crate::tables::{TOPIC, sources};

/// The answer to the deletion of a field.
#[derive(Serialize, JsonSchema)]
pub struct RemovedField {
    /// The physical change made by this request; null: none.
    change: Option<ChangeView>,
}

/// An edit of one field.
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
    let (call, id) = (&call, call.path.id);
    let add = async |table: TableWithFields| {
        sources::refuse_wrong(&table, call.query.cluster_id)?;
        if table.fields.len() >= FIELDS_MAX {
            let message = format!("a table has {FIELDS_MAX} fields at most");
            return Err(Error::conflict("too_many_fields", message));
        }
        let place = table.fields.last().map_or(0, |last| last.place) + 1;
        let field = Field::of(id, place, call.body.read().clone());
        let name = field.name.clone();
        let show = move |table, change| shown(table, change, |field| field.name == name);
        edited(call, table, Edit::Add(field), show).await
    };
    change::submit(call, id, call.query.dry_run, add).await
}

/// `PUT /api/v1/tables/{id}/fields/{fieldId}`
pub async fn update(
    call: Call<FieldPath, DryRunQuery, Draft<UpdateField>>,
) -> Result<Data<Changed<FieldView>>, Error> {
    let (call, field_id) = (&call, call.path.field_id);
    let alter = async |table: TableWithFields| {
        let before = field_of(&table, field_id)?;
        call.check_if_match(&before.etag())?;
        let after = before.changed_by(call.body.read().clone());
        // A form that could not be read is reported first.
        let is_readable = call.body.refuse(Vec::new()).is_ok();
        if is_readable && table.record.is_physical && before.is_key != after.is_key {
            let message = "isPrimaryKey cannot be changed: the table is in its database";
            let detail = Detail::new("isPrimaryKey", "is fixed once the table is in its database");
            return Err(Error::conflict("not_changeable", message).with_details(vec![detail]));
        }
        let show = move |table, change| shown(table, change, |field| field.id == field_id);
        edited(call, table, Edit::Alter { before, after }, show).await
    };
    change::submit(call, call.path.id, call.query.dry_run, alter).await
}

/// `DELETE /api/v1/tables/{id}/fields/{fieldId}`
pub async fn delete(call: Call<FieldPath, DryRunQuery>) -> Result<Data<Changed<RemovedField>>, Error> {
    let call = &call;
    let remove = async |table: TableWithFields| {
        let field = field_of(&table, call.path.field_id)?;
        call.check_if_match(&field.etag())?;
        let show = |_, change| Ok(Data::new(&Changed::Done(RemovedField { change })));
        edited(call, table, Edit::Drop(field), show).await
    };
    change::submit(call, call.path.id, call.query.dry_run, remove).await
}

fn field_of(whole: &TableWithFields, id: i64) -> Result<Field, Error> {
    let field = whole.fields.iter().find(|field| field.id == id);
    field.cloned().ok_or_else(|| Error::not_found("field", id))
}

/// The answer with one field of the table as it is now.
fn shown(
    table: TableWithFields,
    change: Option<ChangeView>,
    is_it: impl Fn(&Field) -> bool,
) -> Result<Data<Changed<FieldView>>, Error> {
    let field = table.fields.into_iter().find(is_it).ok_or_else(overtaken)?;
    let etag = field.etag();
    Ok(Data::new(&Changed::Done(FieldView::new(field, change))).with_etag(&etag))
}

/// An edit of one field as a change of its table.
struct FieldChange<'c, P, Q, B, S> {
    call: &'c Call<P, Q, B>,
    table_id: i64,
    edit: Edit,
    show: S,
}

/// The edit applied to the table as it was read; 4xx if it is not possible.
async fn edited<P, Q, B: Body, S>(
    call: &Call<P, Q, B>,
    before: TableWithFields,
    edit: Edit,
    show: S,
) -> Result<Submission<FieldChange<'_, P, Q, B, S>>, Error> {
    let state = &call.state;
    before.refuse_deprecated()?;
    let source = match before.record.definition.cluster_id {
        None => None,
        Some(_) => Some(sources::of_table(state, &call.caller, &before, None).await?),
    };
    let client = source
        .as_ref()
        .map(|source| DatasourceClient::of_main(&state.datasources, source, call.request_id.as_str()));
    let profile = client.as_ref().map(DatasourceClient::profile).transpose()?;
    call.body.refuse(problems(client.as_ref(), profile.as_deref(), &edit).await?)?;
    refuse_taken(profile.as_deref(), &before, &edit)?;
    let definition = &before.record.definition;
    let mut spec = ChangeSpec { table: definition.clone(), steps: Vec::new() };
    let mut planned = Planned::default();
    if let Some(client) = client.as_ref().filter(|_| before.record.is_physical) {
        spec.steps.extend(edit.step());
        spec.without_places(&client.info()?.capabilities);
        planned = change::plan(client, &sources::place(definition), &spec).await?;
    }
    let source_id = source.map(|source| source.id).filter(|_| !planned.statements.is_empty());
    let change = FieldChange { call, table_id: before.record.id, edit, show };
    Ok(Submission { before, spec, planned, source_id, change })
}

impl<P, Q, B, S, T> TableChange for FieldChange<'_, P, Q, B, S>
where
    S: Fn(TableWithFields, Option<ChangeView>) -> Result<Data<Changed<T>>, Error>,
    T: Serialize + JsonSchema + Send + 'static,
{
    type Answer = T;

    fn is_of_catalogue(&self, before: &TableWithFields, spec: &ChangeSpec) -> bool {
        let is_alteration = matches!(self.edit, Edit::Alter { .. });
        is_alteration && spec.steps.is_empty() && (before.record.is_physical || self.edit.step().is_none())
    }

    async fn reserve(&self, _: &mut Tx, _: &TableWithFields, _: &ChangeSpec) -> Result<(), Error> {
        Ok(())
    }

    async fn write(
        &self,
        tx: &mut Tx,
        _: &TableWithFields,
        _: &ChangeSpec,
    ) -> Result<Option<ChangeView>, Error> {
        let (id, now_ms) = (self.table_id, self.call.state.clock.now_ms());
        match &self.edit {
            Edit::Add(field) => _ = store::insert(tx, field, now_ms).await?,
            Edit::Alter { before, after } if before == after => {}
            Edit::Alter { after, .. } => store::update(tx, after, now_ms).await?,
            Edit::Drop(field) => store::delete(tx, field).await?,
        }
        definitions::store::touch(tx, id, now_ms).await?;
        tx.changed(TOPIC, id.to_string());
        Ok(None)
    }

    async fn answer(
        &self,
        table: Option<TableWithFields>,
        change: Option<ChangeView>,
    ) -> Result<Data<Changed<T>>, Error> {
        (self.show)(table.ok_or_else(|| unknown(self.table_id))?, change)
    }
}

impl Edit {
    /// The field after the edit; none if it is dropped.
    fn wanted(&self) -> Option<&Field> {
        match self {
            Edit::Add(field) | Edit::Alter { after: field, .. } => Some(field),
            Edit::Drop(_) => None,
        }
    }

    /// The field before an alteration; none if it is added or dropped.
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
        wrong.extend(found.into_iter().map(change::failure::detail));
    }
    if wanted.type_text.is_empty() {
        wrong.push(Detail::new("fieldType", "must not be empty"));
    } else if let Some(client) = client {
        wrong.extend(type_problems(client, before, wanted).await?);
    }
    Ok(wrong)
}

/// 409 if another field has the new name.
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

/// The problems that the dialect reports for the type and the default; unchanged ones are not checked again.
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
