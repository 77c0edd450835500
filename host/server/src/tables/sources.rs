//! The data source of a request about a table, and the caller's access to it.

use lakeport_base::error::{Detail, Error};
use lakeport_bindings::dialect::schema::TableName;
use lakeport_http::Caller;
use lakeport_sql::{Profile, names};

use super::change::failure;
use super::definitions::store::Ignored;
use super::definitions::{Definition, TableWithFields};
use crate::datasources::{self, Datasource, DatasourceClient, Rights};
use crate::tables::Tables;

/// 409 if the table has another data source than the request names.
pub fn refuse_wrong(table: &TableWithFields, asked: Option<i64>) -> Result<(), Error> {
    match (table.record.definition.cluster_id, asked) {
        (Some(own), Some(asked)) if own != asked => {
            let message = format!("the table belongs to the data source {own}, not to {asked}");
            Err(Error::conflict("wrong_cluster", message))
        }
        _ => Ok(()),
    }
}

/// The current or future data source of a table: its own, the requested one, or the default. 403 if the caller
/// may not use it.
pub async fn of_table(
    state: &Tables,
    caller: &Caller,
    table: &TableWithFields,
    asked: Option<i64>,
) -> Result<Datasource, Error> {
    refuse_wrong(table, asked)?;
    let source = match (table.record.definition.cluster_id, asked) {
        (Some(id), _) => {
            let source = datasources::find(&state.db, id).await?;
            source.ok_or_else(|| Error::not_found("data source", id))?
        }
        (None, Some(id)) => return given(state, caller, id).await,
        (None, None) => datasources::find_default(&state.db).await?.ok_or_else(|| {
            let message =
                "the table has no data source, and none is the default one; name one with clusterId";
            Error::conflict("no_datasource", message)
        })?,
    };
    caller.check_datasource(&source.name)?;
    Ok(source)
}

/// The data source that a form names; 400 if it cannot have tables, 403 if the caller may not use it.
pub async fn given(state: &Tables, caller: &Caller, id: i64) -> Result<Datasource, Error> {
    let wrong = |why: String| Error::invalid(vec![Detail::new("clusterId", why)]);
    match datasources::find(&state.db, id).await? {
        None => Err(wrong(format!("there is no data source {id}"))),
        Some(source) if source.is_own() => {
            Err(wrong("names the server's own store, which has no tables of the catalogue".to_owned()))
        }
        Some(source) => {
            caller.check_datasource(&source.name)?;
            Ok(source)
        }
    }
}

/// 403 if the caller may not read the table's data source or one of the others.
pub async fn refuse_hidden(
    state: &Tables,
    caller: &Caller,
    table: &TableWithFields,
    others: impl Iterator<Item = i64>,
) -> Result<(), Error> {
    let rights = Rights::of(&state.db, caller).await?;
    rights.check([table.record.definition.cluster_id].into_iter().chain(others.map(Some)))
}

/// The data source of a physical table; an error if the table is not physical, or the caller may not read it.
pub async fn physical(
    state: &Tables,
    caller: &Caller,
    table: &TableWithFields,
    asked: Option<i64>,
) -> Result<Datasource, Error> {
    refuse_wrong(table, asked)?;
    if !table.record.is_physical {
        let name = &table.record.definition.table_name;
        let message =
            format!("{name} is not in its database; POST /api/v1/tables/{}/physical", table.record.id);
        return Err(Error::conflict("not_physical", message));
    }
    of_table(state, caller, table, asked).await
}

pub fn place(definition: &Definition) -> TableName {
    TableName { database: definition.db_name.clone(), name: definition.table_name.clone() }
}

/// The names of a definition that its dialect refuses.
pub fn name_problems(client: &DatasourceClient<'_>, definition: &Definition) -> Result<Vec<Detail>, Error> {
    let profile = client.profile()?;
    let mut found = Vec::new();
    names::check(&profile, "table", &definition.table_name, "tableName", &mut found);
    names::check(&profile, "database", &definition.db_name, "dbName", &mut found);
    Ok(found.into_iter().map(failure::detail).collect())
}

/// Whether a dialect treats two field names as equal.
pub fn are_one(profile: Option<&Profile>, one: &str, other: &str) -> bool {
    if profile.is_some_and(|profile| ignores_case(profile, "field")) {
        one.to_lowercase() == other.to_lowercase()
    } else {
        one == other
    }
}

/// Whether a dialect ignores case in names of this kind.
fn ignores_case(profile: &Profile, kind: &str) -> bool {
    profile.names.get(kind).is_some_and(|limit| limit.rule.case_insensitive)
}

/// The kinds of table names in which a dialect ignores case.
pub fn ignored(profile: &Profile) -> Ignored {
    Ignored { databases: ignores_case(profile, "database"), tables: ignores_case(profile, "table") }
}
