//! Sets catalogue-only properties on many tables at once: on all of them or on none.

use std::collections::{BTreeSet, HashMap};

use lakeport_base::error::{Detail, Error};
use lakeport_http::form::Draft;
use lakeport_http::{Caller, Data, Nothing};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Definition, Record, api, store};
use crate::audit::{Change, Commit};
use crate::datasources::Rights;
use crate::tables::Call;
use crate::tables::TOPIC;
use crate::tables::forms::{SetOnTables, UpdateTables};

/// The most tables of one request.
pub const BULK_MAX: usize = 1_000;

/// The result of a bulk change: one outcome per table.
#[derive(Serialize, JsonSchema)]
pub struct UpdatedTables {
    /// The number of tables that changed.
    changed: usize,
    /// In ascending order of ids.
    tables: Vec<UpdatedTable>,
}

#[derive(Serialize, JsonSchema)]
pub struct UpdatedTable {
    id: i64,
    outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "UpdateOutcome")]
enum Outcome {
    Changed,
    /// The table already had the requested values.
    Unchanged,
}

/// `PATCH /api/v1/tables`
pub async fn update(call: Call<Nothing, Nothing, Draft<UpdateTables>>) -> Result<Data<UpdatedTables>, Error> {
    let state = &call.state;
    let form = call.body.read();
    call.body.refuse(problems(form))?;
    let ids: Vec<i64> = form.ids.iter().copied().collect::<BTreeSet<i64>>().into_iter().collect();
    let now_ms = state.clock.now_ms();
    let rights = Rights::of(&state.db, &call.caller).await?;
    let mut tx = state.db.begin().await?;
    let records = store::lock_all(&mut tx, &ids).await?;
    refuse_unknown(&form.ids, &records)?;
    refuse_hidden(&rights, &call.caller, &form.ids, &records)?;
    let said = |record: &Record| (record.id, record.definition.said_by(form.set.clone()));
    let after: Vec<(i64, Definition)> = records.iter().map(said).collect();
    refuse_too_many_tags(&form.ids, &after)?;
    let is_changed = |(record, (_, after)): &(&Record, &(i64, Definition))| record.definition != *after;
    let changed: Vec<(i64, Definition)> =
        records.iter().zip(&after).filter(is_changed).map(|(_, after)| after.clone()).collect();
    store::say(&mut tx, &changed, now_ms).await?;
    for (id, _) in &changed {
        tx.changed(TOPIC, id.to_string());
    }
    let is_changed: BTreeSet<i64> = changed.iter().map(|(id, _)| *id).collect();
    let outcome = |id: i64| if is_changed.contains(&id) { Outcome::Changed } else { Outcome::Unchanged };
    let tables = ids.iter().map(|&id| UpdatedTable { id, outcome: outcome(id) }).collect();
    let answer = Data::new(&UpdatedTables { changed: changed.len(), tables });
    let before: Vec<(i64, &Definition)> =
        records.iter().map(|record| (record.id, &record.definition)).collect();
    let named = ids.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    call.commit(tx, Change::of("table", named).before(&before).after(&after), answer).await
}

fn problems(form: &UpdateTables) -> Vec<Detail> {
    let mut wrong = Vec::new();
    if form.ids.is_empty() || form.ids.len() > BULK_MAX {
        wrong.push(Detail::new("ids", format!("must be 1 to {BULK_MAX} ids")));
    }
    if form.set == SetOnTables::default() {
        wrong.push(Detail::new("set", "names no member that could be set"));
    }
    wrong
}

/// 404 naming every unknown id, or 409 naming every table in the recycle bin.
fn refuse_unknown(asked: &[i64], records: &[Record]) -> Result<(), Error> {
    let known: BTreeSet<i64> = records.iter().map(|record| record.id).collect();
    let unknown: Vec<(usize, i64)> =
        asked.iter().copied().enumerate().filter(|(_, id)| !known.contains(id)).collect();
    if let Some((_, first)) = unknown.first() {
        let detail =
            |(at, id): &(usize, i64)| Detail::new(format!("ids[{at}]"), format!("there is no table {id}"));
        return Err(api::unknown(*first).with_details(unknown.iter().map(detail).collect()));
    }
    let deprecated: Vec<i64> =
        records.iter().filter(|record| record.is_deprecated).map(|record| record.id).collect();
    refuse_some(
        Error::conflict,
        "deprecated",
        "lies in the recycle bin; restore it first",
        asked,
        &deprecated,
    )
}

/// An error with a detail for each of these ids.
fn refuse_some(
    refuse: fn(&'static str, String) -> Error,
    code: &'static str,
    why: &str,
    asked: &[i64],
    some: &[i64],
) -> Result<(), Error> {
    let Some(first) = some.first() else { return Ok(()) };
    let named = asked.iter().enumerate().filter(|(_, id)| some.contains(id));
    let details = named.map(|(at, id)| Detail::new(format!("ids[{at}]"), format!("the table {id} {why}")));
    Err(refuse(code, format!("the table {first} {why}")).with_details(details.collect()))
}

/// 403 naming every table whose data source the caller may not use.
fn refuse_hidden(
    rights: &Rights<'_>,
    caller: &Caller,
    asked: &[i64],
    records: &[Record],
) -> Result<(), Error> {
    let hidden: Vec<i64> = records
        .iter()
        .filter(|record| !rights.may_use(record.definition.cluster_id))
        .map(|record| record.id)
        .collect();
    let why = format!("lies in a data source that {} may not read", caller.name);
    refuse_some(Error::forbidden, "datasource_not_allowed", &why, asked, &hidden)
}

fn refuse_too_many_tags(asked: &[i64], after: &[(i64, Definition)]) -> Result<(), Error> {
    let after: HashMap<i64, &Definition> = after.iter().map(|(id, of)| (*id, of)).collect();
    let named = asked.iter().enumerate().filter(|(_, id)| {
        after.get(id).is_some_and(|of| of.problems().iter().any(|wrong| wrong.field == "tags"))
    });
    let why = super::too_many_tags();
    let wrong: Vec<Detail> =
        named.map(|(at, id)| Detail::new(format!("ids[{at}]"), format!("tags of {id} {why}"))).collect();
    if wrong.is_empty() { Ok(()) } else { Err(Error::invalid(wrong)) }
}
