//! Converts steps to a dialect's changes. A change keeps all members of an existing table or field that the
//! step does not name.

use lakeport_base::error::{Detail, Error};
use lakeport_bindings::dialect::planner::{
    AddField, AlterField, Change, CommentTable, DataType, DropField, DropTable, RenameTable, SetCount,
};
use lakeport_bindings::dialect::schema::{Field as Column, Table, TableName};

use super::failure::{detail, drifted, unanswered};
use super::spec::Step;
use crate::datasources::DatasourceClient;
use crate::tables::definitions::Definition;
use crate::tables::fields::{Field, default};

/// The change for a step; `table` is the table's current place.
pub async fn change_of(
    client: &DatasourceClient<'_>,
    table: &TableName,
    step: &Step,
    wanted: &Definition,
) -> Result<Change, Error> {
    let current = named(table);
    Ok(match step {
        Step::CreateTable { fields } => Change::CreateTable(new_table(client, table, fields, wanted).await?),
        Step::CommentTable { comment } => {
            Change::CommentTable(CommentTable { current, comment: comment.clone().unwrap_or_default() })
        }
        Step::SetBuckets { count } => Change::SetBuckets(SetCount { current, count: number(*count) }),
        Step::SetReplicas { count } => Change::SetReplicas(SetCount { current, count: number(*count) }),
        Step::RenameTable { name } | Step::SoftDelete { name, .. } => {
            Change::RenameTable(RenameTable { current, new_name: name.clone() })
        }
        Step::Restore { name } => Change::RestoreTable(RenameTable { current, new_name: name.clone() }),
        // If the database has a recycle bin of its own, it is one more safety net.
        Step::Purge => Change::DropTable(DropTable { current, at_once: false }),
        Step::AddField { field } => {
            let mut columns = columns(client, std::slice::from_ref(field), "").await?;
            let field = columns.pop().expect("as many as were given");
            Change::AddField(AddField { current, field, behind: None })
        }
        Step::AlterField { before, after } => altered(client, table, before, after).await?,
        Step::DropField { field } => Change::DropField(DropField { current, field: field.name.clone() }),
    })
}

/// The interface's numbers have 32 bits.
fn number(count: i64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// A table with its place alone: the executor reads the rest.
fn named(table: &TableName) -> Table {
    Table {
        name: table.clone(),
        kind: "table".to_owned(),
        comment: String::new(),
        fields: Vec::new(),
        keys: Vec::new(),
        model: None,
        distribution: Vec::new(),
        buckets: None,
        replicas: None,
        partition: Vec::new(),
        companions: Vec::new(),
        extra: None,
    }
}

async fn new_table(
    client: &DatasourceClient<'_>,
    table: &TableName,
    fields: &[Field],
    wanted: &Definition,
) -> Result<Table, Error> {
    let mut columns = columns(client, fields, "fields[").await?;
    let keys = keys_of(wanted, fields)?;
    for column in &mut columns {
        column.key = keys.contains(&column.name);
    }
    Ok(Table {
        comment: wanted.table_comment.clone().unwrap_or_default(),
        fields: columns,
        keys,
        model: wanted.table_model.clone(),
        distribution: wanted.distribution(),
        buckets: wanted.bucket_num.map(number),
        replicas: wanted.replica_num.map(number),
        partition: wanted.partition(),
        ..named(table)
    })
}

/// The key in order: the columns that the table names, or the fields that are marked as its members.
fn keys_of(wanted: &Definition, fields: &[Field]) -> Result<Vec<String>, Error> {
    let marked = fields.iter().filter(|field| field.is_key).map(|field| field.name.clone());
    let keys = wanted.keys();
    if keys.is_empty() {
        return Ok(marked.collect());
    }
    let left_out: Vec<String> = marked.filter(|name| !keys.contains(name)).collect();
    if left_out.is_empty() {
        return Ok(keys);
    }
    let message = format!("does not name {}, whose isPrimaryKey is true", left_out.join(", "));
    Err(Error::invalid(vec![Detail::new("keyColumns", message)]))
}

/// Fields as columns; problems name members below `prefix`.
async fn columns(
    client: &DatasourceClient<'_>,
    fields: &[Field],
    prefix: &str,
) -> Result<Vec<Column>, Error> {
    let texts: Vec<String> = fields.iter().map(|field| field.type_text.clone()).collect();
    let types = client.parse_types(&texts).await?;
    let (mut columns, mut wrong) = (Vec::new(), Vec::new());
    for (index, (field, parsed)) in fields.iter().zip(types).enumerate() {
        let member =
            |name: &str| if prefix.is_empty() { name.to_owned() } else { format!("{prefix}{index}].{name}") };
        let column = parsed.map_err(|problem| Detail::new(member("fieldType"), problem.message));
        match column.and_then(|parsed| {
            column_of(field, &parsed).map_err(|why| Detail::new(member("defaultValue"), why))
        }) {
            Ok(column) => columns.push(column),
            Err(detail) => wrong.push(detail),
        }
    }
    if wrong.is_empty() { Ok(columns) } else { Err(Error::invalid(wrong)) }
}

fn column_of(field: &Field, parsed: &DataType) -> Result<Column, String> {
    Ok(Column {
        name: field.name.clone(),
        type_text: field.type_text.clone(),
        nullable: field.is_nullable,
        key: field.is_key,
        comment: field.comment.clone().unwrap_or_default(),
        defaults_to: default::meant(field.default.as_deref(), &parsed.family)?,
        generated: None,
        extra: None,
    })
}

/// Members that the user did not set keep the database's values, which may be more specific than the
/// catalogue's.
async fn altered(
    client: &DatasourceClient<'_>,
    table: &TableName,
    before: &Field,
    after: &Field,
) -> Result<Change, Error> {
    let found = inspect(client, table).await?;
    let gone = || drifted(&format!("{} has no field {}", table.name, before.name));
    let column = found.fields.iter().find(|column| column.name == before.name).ok_or_else(gone)?.clone();
    let mut wanted = Column { name: after.name.clone(), ..column.clone() };
    wanted.comment = after.comment.clone().unwrap_or_default();
    if before.type_text != after.type_text {
        wanted.type_text.clone_from(&after.type_text);
    }
    if before.is_nullable != after.is_nullable {
        wanted.nullable = after.is_nullable;
    }
    if before.default != after.default {
        let parsed = client.parse_types(std::slice::from_ref(&wanted.type_text)).await?.pop();
        let family = match parsed {
            Some(Ok(parsed)) => parsed.family,
            Some(Err(problem)) => {
                return Err(Error::invalid(vec![Detail {
                    field: "fieldType".to_owned(),
                    ..detail(problem)
                }]));
            }
            None => String::new(),
        };
        let meant = default::meant(after.default.as_deref(), &family);
        wanted.defaults_to = meant.map_err(|why| Error::invalid(vec![Detail::new("defaultValue", why)]))?;
    }
    Ok(Change::AlterField(AlterField { current: named(table), before: column, after: wanted }))
}

async fn inspect(client: &DatasourceClient<'_>, table: &TableName) -> Result<Table, Error> {
    look(client, table).await?.ok_or_else(|| drifted(&format!("there is no table {}", table.name)))
}

/// The table in its database; `None` if it does not exist.
pub async fn look(client: &DatasourceClient<'_>, table: &TableName) -> Result<Option<Table>, Error> {
    let server = client.server().await?;
    match client.inspect(&server, std::slice::from_ref(table)).await?.pop() {
        Some(Ok(table)) => Ok(Some(table)),
        Some(Err(error)) if error.code == "not_found" => Ok(None),
        Some(Err(error)) => Err(unanswered(lakeport_plugins::CallError::Answered(error).into())),
        None => Ok(None),
    }
}

/// Whether the database has a table, or another object, of this name.
pub async fn exists(client: &DatasourceClient<'_>, table: &TableName) -> Result<bool, Error> {
    look(client, table).await.map(|found| found.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, is_key: bool) -> Field {
        Field {
            id: 0,
            table_id: 1,
            name: name.to_owned(),
            type_text: "INTEGER".to_owned(),
            comment: None,
            is_key,
            is_nullable: true,
            default: None,
            place: 1,
            description: None,
        }
    }

    fn keys(named: Option<&str>, marked: [bool; 2]) -> Result<Vec<String>, Error> {
        let wanted = Definition { key_columns: named.map(str::to_owned), ..Definition::default() };
        keys_of(&wanted, &[field("a", marked[0]), field("b", marked[1])])
    }

    #[test]
    fn the_key_comes_from_table_or_fields() {
        assert_eq!(keys(None, [false, true]).unwrap(), ["b"]);
        assert_eq!(keys(Some("b, a"), [false, false]).unwrap(), ["b", "a"]);
        assert_eq!(keys(Some("b,a"), [true, false]).unwrap(), ["b", "a"]);
        assert!(keys(None, [false, false]).unwrap().is_empty());
        let Err(Error::Refused(refusal)) = keys(Some("a"), [true, true]) else { panic!("a refusal") };
        assert_eq!((refusal.status, refusal.details[0].field.as_str()), (400, "keyColumns"));
    }
}
