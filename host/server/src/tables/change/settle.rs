//! The outcome of a change whose server died in the middle: inspects the database and runs nothing again.

use std::collections::HashMap;

use lakeport_base::Error;
use lakeport_bindings::dialect::planner::DataType;
use lakeport_bindings::dialect::schema::{Table, TableName};
use lakeport_physical::PlanExecutor;

use super::dialect::{change_of, look};
use super::failure::{Failure, not_tried};
use super::spec::Step;
use super::store::{ChangeResult, ChangeRow};
use super::view::StatementOutcome;
use crate::datasources::DatasourceClient;
use crate::tables::fields::default;
use crate::tables::reconcile::FoundTable;

/// The change's result, and the table as found.
pub async fn settle(
    client: &DatasourceClient<'_>,
    executor: &PlanExecutor<'_>,
    change: &ChangeRow,
) -> Result<(ChangeResult, Option<Table>), Error> {
    let (mut found, mut is_made) = standing(client, change).await?;
    if !is_made {
        wait_for_what_was_left(client, executor, change).await?;
        (found, is_made) = standing(client, change).await?;
    }
    let mut end = ChangeResult {
        statements: change.statements.clone(),
        notes: change.notes.clone(),
        ..ChangeResult::default()
    };
    if is_made {
        for statement in &mut end.statements {
            statement.outcome = Some(StatementOutcome::Done);
        }
    } else {
        let message = "the server ended in the middle of the change, which was not made; the catalogue has the \
                       table as it was found";
        end.failure = Some(Failure::new(502, "interrupted", message));
    }
    Ok((end, found))
}

/// The table as found, and whether the change was made.
async fn standing(client: &DatasourceClient<'_>, change: &ChangeRow) -> Result<(Option<Table>, bool), Error> {
    let found = look_for(client, change).await?;
    let is_made = match &found {
        Some(found) => is_as_wanted(client, change, found).await?,
        None => change.wanted.is_purge(),
    };
    Ok((found, is_made))
}

/// The table under its new name, or else under its old one.
pub async fn look_for(client: &DatasourceClient<'_>, change: &ChangeRow) -> Result<Option<Table>, Error> {
    for name in [&change.new_name, &change.table_name] {
        let place = TableName { database: change.db_name.clone(), name: name.clone() };
        if let Some(found) = look(client, &place).await? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// A statement, or its job in the database, may still run after its server died.
async fn wait_for_what_was_left(
    client: &DatasourceClient<'_>,
    executor: &PlanExecutor<'_>,
    change: &ChangeRow,
) -> Result<(), Error> {
    let statements: Vec<String> =
        change.statements.iter().map(|statement| statement.planned.sql.clone()).collect();
    let place = TableName { database: change.db_name.clone(), name: change.table_name.clone() };
    let is_over = executor.wait_for_statements(&statements).await;
    is_over.map_err(|error| crate::plugins::answered(&error))?;
    for step in &change.wanted.steps {
        // A change that can no longer be planned has no job either.
        let Ok(wanted) = change_of(client, &place, step, &change.wanted.table).await else { continue };
        let left = executor.wait_for_jobs(wanted).await;
        left.map_err(|error| not_tried(step, error))?;
    }
    Ok(())
}

async fn is_as_wanted(
    client: &DatasourceClient<'_>,
    change: &ChangeRow,
    found: &Table,
) -> Result<bool, Error> {
    let Ok(table) = FoundTable::of(found) else { return Ok(false) };
    let steps = &change.wanted.steps;
    let mut texts: Vec<String> = table.fields.iter().map(|field| field.type_text.clone()).collect();
    texts.extend(steps.iter().filter_map(|step| match step {
        Step::AlterField { after, .. } => Some(after.type_text.clone()),
        _ => None,
    }));
    let types = client.parse_types(&texts).await?;
    let types =
        texts.into_iter().zip(types).filter_map(|(text, parsed)| Some((text, parsed.ok()?))).collect();
    Ok(steps.iter().all(|step| is_made(step, &table, &types)))
}

/// Whether the table has the step's result. `types` maps the texts of the types that the dialect knows.
fn is_made(step: &Step, table: &FoundTable, types: &HashMap<String, DataType>) -> bool {
    let column = |name: &str| table.fields.iter().find(|field| field.name == name);
    let is_count = |found: Option<u32>, wanted: i64| found.map(i64::from) == Some(wanted);
    match step {
        Step::CreateTable { fields } => {
            fields.len() == table.fields.len() && fields.iter().all(|field| column(&field.name).is_some())
        }
        Step::CommentTable { comment } => table.comment == *comment,
        Step::SetBuckets { count } => is_count(table.buckets, *count),
        Step::SetReplicas { count } => is_count(table.replicas, *count),
        Step::RenameTable { name } | Step::SoftDelete { name, .. } | Step::Restore { name } => {
            table.name == *name
        }
        Step::Purge => false,
        Step::AddField { field } => column(&field.name).is_some(),
        Step::DropField { field } => column(&field.name).is_none(),
        Step::AlterField { before, after } => column(&after.name).is_some_and(|found| {
            let spelled =
                |text: &str| types.get(text).map_or_else(|| text.to_owned(), |t| t.canonical.clone());
            let is_type = spelled(&found.type_text) == spelled(&after.type_text);
            let family = types.get(&after.type_text).map_or("", |known| &known.family);
            (before.type_text == after.type_text || is_type)
                && (before.is_nullable == after.is_nullable || found.is_nullable == after.is_nullable)
                && (before.default == after.default
                    || is_same_default(&found.default, &after.default, family))
        }),
    }
}

/// A database may spell a default differently than the user.
fn is_same_default(found: &Option<String>, wanted: &Option<String>, family: &str) -> bool {
    let meant = |text: &Option<String>| default::meant(text.as_deref(), family).ok();
    found == wanted || meant(found).is_some_and(|found| meant(wanted) == Some(found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::fields::Field;
    use crate::tables::reconcile::FoundField;

    fn table() -> FoundTable {
        let field = |name: &str| FoundField {
            name: name.to_owned(),
            type_text: "INTEGER".to_owned(),
            comment: None,
            is_key: false,
            is_nullable: true,
            default: None,
        };
        let defaulting = |name: &str, type_text: &str, default: &str| FoundField {
            type_text: type_text.to_owned(),
            default: Some(default.to_owned()),
            ..field(name)
        };
        FoundTable {
            name: "t".to_owned(),
            comment: None,
            model: None,
            distribution: None,
            buckets: Some(4),
            replicas: None,
            keys: None,
            partition: None,
            foreign_keys: "[]".to_owned(),
            fields: vec![
                field("a"),
                field("b"),
                defaulting("now", "TEXT", "CURRENT_TIMESTAMP"),
                defaulting("yes", "BOOLEAN", "true"),
            ],
        }
    }

    fn field(name: &str, type_text: &str) -> Field {
        Field {
            id: 1,
            table_id: 1,
            name: name.to_owned(),
            type_text: type_text.to_owned(),
            comment: None,
            is_key: false,
            is_nullable: true,
            default: None,
            place: 1,
            description: None,
        }
    }

    fn defaulting(name: &str, type_text: &str, default: &str) -> Field {
        Field { default: Some(default.to_owned()), ..field(name, type_text) }
    }

    fn made(step: &Step) -> bool {
        let types = [
            ("int", "INTEGER", "integer"),
            ("INTEGER", "INTEGER", "integer"),
            ("TEXT", "TEXT", "text"),
            ("BOOLEAN", "BOOLEAN", "boolean"),
        ];
        let types = types.map(|(text, canonical, family)| {
            (
                text.to_owned(),
                DataType { canonical: canonical.to_owned(), family: family.to_owned(), tokens: Vec::new() },
            )
        });
        is_made(step, &table(), &types.into())
    }

    #[test]
    fn each_step_is_seen_in_what_is_there() {
        let alter = |before, after| Step::AlterField { before, after };
        for (step, is_there) in [
            (
                Step::CreateTable { fields: ["a", "b", "now", "yes"].map(|name| field(name, "int")).into() },
                true,
            ),
            (Step::CreateTable { fields: vec![field("a", "int")] }, false),
            (Step::RenameTable { name: "t".to_owned() }, true),
            (Step::RenameTable { name: "u".to_owned() }, false),
            (Step::SetBuckets { count: 4 }, true),
            (Step::SetReplicas { count: 4 }, false),
            (Step::AddField { field: field("b", "int") }, true),
            (Step::AddField { field: field("c", "int") }, false),
            (Step::DropField { field: field("c", "int") }, true),
            (Step::DropField { field: field("a", "int") }, false),
            (alter(field("x", "int"), field("a", "int")), true),
            (alter(field("a", "TEXT"), field("a", "int")), true),
            (alter(field("a", "int"), field("a", "TEXT")), false),
            (alter(field("a", "int"), field("x", "int")), false),
            (alter(field("now", "TEXT"), defaulting("now", "TEXT", "current_timestamp")), true),
            (alter(field("now", "TEXT"), defaulting("now", "TEXT", "CURRENT_TIMESTAMP(3)")), false),
            (alter(field("now", "TEXT"), defaulting("now", "TEXT", "x")), false),
            (alter(field("yes", "BOOLEAN"), defaulting("yes", "BOOLEAN", "TRUE")), true),
            (alter(field("yes", "BOOLEAN"), defaulting("yes", "BOOLEAN", "0")), false),
            (alter(defaulting("now", "TEXT", "x"), field("now", "TEXT")), false),
        ] {
            assert_eq!(made(&step), is_there, "{step:?}");
        }
    }
}
