//! Changes of one field.
//!
//! A definition replaces the previous one completely, so unchanged properties of a field are written again; a
//! field with properties that cannot be written is not changed.

use lakeport_sdk::dialect::{
    Action, AddField, AlterField, ChangePlan, DropField, Field, Problem, Statement, Step, Table,
};

use super::job::{self, Job};
use super::problems::{Checks, Problems, adjusted, same_name};
use super::shape::{self, Column};
use super::steps;
use crate::defaults;
use crate::extra::FieldExtra;
use crate::server::{Product, Server};
use crate::texts::{Clause, comment_rule};
use crate::types::{Plain, Refusal, Type, Work, change};

/// The first version in which StarRocks renames fields.
const STARROCKS_RENAME: (u32, u32, u32) = (3, 3, 2);

/// Adds a field after the key.
pub fn add(server: &Server, request: &AddField) -> Result<ChangePlan, Vec<Problem>> {
    let (table, field) = (&request.current, &request.field);
    let mut problems = Problems::default();
    problems.only_tables(table);
    problems.field_name(server, "fieldName", &field.name);
    let column = Column::of(server, Clause::Definition, field, "", &mut problems);
    shape::default_fits(server, field, "", &mut problems);
    if let Some(other) = table.fields.iter().find(|other| same_name(&other.name, &field.name)) {
        let message =
            format!("there is a field {:?} already; the case of letters does not count", other.name);
        problems.add("fieldName", "conflict", message);
    }
    if field.key {
        problems.unsupported("isPrimaryKey", "the key of a table that is there is not changed");
    }
    if table.model.as_deref() == Some("AGGREGATE") {
        let message = "a field of a table that aggregates needs to know how, which cannot be said here";
        problems.unsupported("", message);
    }
    if !field.nullable && !defaults::gives_a_value(&field.defaults_to) {
        let message = "the rows that are there need a value: allow NULL, or give a default other than NULL";
        problems.unsupported("isNullable", message);
    }
    let (behind, notes) = place(request);
    problems.check()?;
    let column = column.expect("a field without problems is a column");
    let undo = job::action(shape::drop_column(&table.name, &field.name), &table.name, Job::Column);
    let statement = shape::add_column(&table.name, &column, behind);
    let step = Step {
        action: job::action(statement, &table.name, Job::Column),
        undo: vec![undo],
        undo_complete: true,
        ..Step::new(format!("adds the field {} to {}", field.name, table.name.name), Statement::new())
    };
    Ok(steps(vec![step], notes))
}

/// The field before the new one. The key stays a prefix: no field is inserted into it.
fn place(request: &AddField) -> (Option<&str>, Vec<Problem>) {
    let Some(behind) = &request.behind else { return (None, Vec::new()) };
    let fields = &request.current.fields;
    let at = fields.iter().position(|field| field.name == *behind);
    let within_key = at.and_then(|at| fields.get(at + 1)).is_some_and(|next| next.key);
    if within_key {
        let message = "the fields of the key stay together, so the new field comes last";
        return (None, vec![adjusted("fieldOrder", message)]);
    }
    (Some(behind), Vec::new())
}

/// Changes a field's type, nullability, default, comment or name.
pub fn alter(server: &Server, request: &AlterField) -> Result<ChangePlan, Vec<Problem>> {
    let (before, after) = (&request.before, &request.after);
    let mut problems = Problems::default();
    problems.only_tables(&request.current);
    if before.name != after.name {
        renamable(server, request, &mut problems);
    }
    if before.key != after.key {
        problems.unsupported("isPrimaryKey", "the key of a table that is there is not changed");
    }
    let reshapes = reshapes(server, request, &mut problems);
    let recomments = before.comment != after.comment;
    let mut planned = Vec::new();
    if let Some(work) = reshapes {
        planned.extend(redefine(server, request, work, &mut problems));
    } else if recomments {
        planned.extend(recomment(server, request, &mut problems));
    }
    if before.name != after.name {
        planned.push(rename(server, request));
    }
    problems.or(|| steps(planned, Vec::new()))
}

/// Whether the type or the nullability changes, and how much work that is; reports problems.
fn reshapes(server: &Server, request: &AlterField, problems: &mut Problems) -> Option<Work> {
    let (before, after) = (&request.before, &request.after);
    let nullability = before.nullable != after.nullable;
    if before.nullable && !after.nullable {
        let message =
            format!("{} does not take NULL away from a field that allows it", server.product.short());
        problems.unsupported("isNullable", message);
    }
    if !defaults::same(&before.defaults_to, &after.defaults_to) {
        let message =
            format!("{} does not change the default of a field that is there", server.product.short());
        problems.unsupported("defaultValue", message);
    }
    if before.type_text == after.type_text {
        let parsed = shape::typed(server.product, before, "", &mut Problems::default());
        return nullability
            .then_some(parsed.map_or(Work::Rewrite, |of| in_place(server, &of, Work::None)))
            .inspect(|_| redefinition(server, request, "isNullable", problems));
    }
    let to = shape::typed(server.product, after, "", problems)?;
    let Some(from) = shape::typed(server.product, before, "", &mut Problems::default()) else {
        let message =
            format!("{} is of the type {}, which is not changed here", before.name, before.type_text);
        problems.unsupported("fieldType", message);
        return None;
    };
    let (shown_from, shown_to) = (from.canonical(server.product), to.canonical(server.product));
    let work = match change(&from, &to) {
        Ok(Work::None) if !nullability => return None,
        Ok(work) if nullability => in_place(server, &to, work),
        Ok(work) => work,
        Err(Refusal::Loses) => {
            let message = format!(
                "as {shown_to}, not every value of {shown_from} would stay what it is; add a field and fill it"
            );
            problems.unsupported("fieldType", message);
            return None;
        }
        Err(Refusal::Impossible) => {
            let short = server.product.short();
            problems.unsupported("fieldType", format!("{short} does not make {shown_from} into {shown_to}"));
            return None;
        }
    };
    redefinition(server, request, "fieldType", problems);
    Some(work)
}

/// The work of redefining a field of this type besides what its change of type takes. Doris changes a VARCHAR without
/// touching the data, and rewrites any other field even for its comment.
fn in_place(server: &Server, of: &Type, work: Work) -> Work {
    let is_light = server.product == Product::Doris && of.plain() == Some(Plain::VarChar);
    if is_light && work != Work::Rewrite { Work::Metadata } else { Work::Rewrite }
}

/// Problems of redefining a field.
fn redefinition(server: &Server, request: &AlterField, member: &str, problems: &mut Problems) {
    let (table, field) = (&request.current, &request.before);
    let (name, extra) = (&field.name, FieldExtra::of(field));
    if field.key || table.keys.contains(name) {
        problems.unsupported(member, format!("{name} belongs to the key, which is not changed"));
    } else if table.distribution.contains(name) || table.partition.contains(name) {
        problems.unsupported(member, format!("{name} decides where rows lie, and is not changed"));
    } else if of_variant(server, field) {
        let message =
            format!("{name} is a VARIANT with properties of its own, which could not be said again");
        problems.unsupported(member, message);
    } else if field.generated.is_some() {
        problems
            .unsupported(member, format!("{name} is generated, and its expression could not be said again"));
    } else if extra.numbered {
        problems
            .unsupported(member, format!("{name} is numbered by the server, which could not be said again"));
    } else if extra.stamped {
        let message = format!("{name} is set to the time of each update, which could not be said again");
        problems.unsupported(member, message);
    } else if !can_say_aggregate(table, field) {
        let message = format!("how the values of {name} are put together could not be said again");
        problems.unsupported(member, message);
    }
}

fn of_variant(server: &Server, field: &Field) -> bool {
    let parsed = shape::typed(server.product, field, "", &mut Problems::default());
    parsed.is_some_and(|of| of.plain() == Some(Plain::Variant))
}

/// The aggregate function of a field's values, if its definition has one. In tables of other models than
/// AGGREGATE rows replace rows, which the server also calls an aggregate but does not accept in a definition.
fn aggregate(table: &Table, field: &Field) -> Option<String> {
    let kind = FieldExtra::of(field).aggregate;
    kind.filter(|_| table.model.as_deref().is_none_or(|model| model == "AGGREGATE"))
}

/// The host denies the word REPLACE in all statements.
fn can_say_aggregate(table: &Table, field: &Field) -> bool {
    match aggregate(table, field) {
        Some(kind) => matches!(kind.as_str(), "SUM" | "MIN" | "MAX"),
        None => table.model.as_deref() != Some("AGGREGATE"),
    }
}

/// Writes the field's definition again, and its comment separately if the definition cannot contain it.
fn redefine(server: &Server, request: &AlterField, work: Work, problems: &mut Problems) -> Vec<Step> {
    let (table, before, after) = (&request.current, &request.before, &request.after);
    // It still has its old name; the renaming comes last.
    let field = Field { name: before.name.clone(), extra: before.extra.clone(), ..after.clone() };
    let apart = comment_rule(server, Clause::Definition, &after.comment).is_err();
    let column = match apart {
        true => Column::without_comment(server, Clause::Definition, &field, "", problems),
        false => Column::of(server, Clause::Definition, &field, "", problems),
    };
    let Some(column) = column else { return Vec::new() };
    let column = column.aggregating(aggregate(table, before));
    let statement = shape::modify_column(&table.name, &column);
    let mut planned = vec![Step {
        action: job::action(statement, &table.name, Job::Column),
        cost: if work == Work::Metadata { "metadata" } else { "rewrite" }.to_owned(),
        locks: "unknown".to_owned(),
        ..Step::new(format!("changes the field {} of {}", before.name, table.name.name), Statement::new())
    }];
    if apart {
        planned.extend(comment_alone(server, request, &after.comment, problems));
    }
    planned
}

/// Changes the comment only.
fn recomment(server: &Server, request: &AlterField, problems: &mut Problems) -> Vec<Step> {
    let (table, before, after) = (&request.current, &request.before, &request.after);
    let by_itself = comment_rule(server, Clause::Change, &after.comment);
    let in_definition = comment_rule(server, Clause::Definition, &after.comment);
    match (server.product, by_itself) {
        (Product::Doris, Ok(_)) => {
            return comment_alone(server, request, &after.comment, problems).into_iter().collect();
        }
        (_, Err(message)) if in_definition.is_err() => {
            problems.not_representable("fieldComment", message);
            return Vec::new();
        }
        // The only way left is the complete definition with the comment in it.
        _ => {}
    }
    if before.key {
        let message = format!(
            "{} changes this comment only with the whole definition, and that of a key is not changed",
            server.product.short()
        );
        problems.not_representable("fieldComment", message);
    }
    redefinition(server, request, "fieldComment", problems);
    let with = |comment: &str, problems: &mut Problems| {
        let field = Field { comment: comment.to_owned(), ..before.clone() };
        let column = Column::of(server, Clause::Definition, &field, "", problems)?;
        Some(column.aggregating(aggregate(table, before)))
    };
    let Some(column) = with(&after.comment, problems) else { return Vec::new() };
    let mut unsayable = Problems::default();
    let back = with(&before.comment, &mut unsayable).filter(|_| unsayable.check().is_ok());
    let write =
        |column: &Column| job::action(shape::modify_column(&table.name, column), &table.name, Job::Column);
    let undo: Vec<Action> = back.as_ref().map(write).into_iter().collect();
    let parsed = shape::typed(server.product, before, "", &mut Problems::default());
    let rewrites = server.product == Product::Doris
        && parsed.is_none_or(|of| in_place(server, &of, Work::None) == Work::Rewrite);
    vec![Step {
        action: write(&column),
        cost: if rewrites { "rewrite" } else { "metadata" }.to_owned(),
        undo_complete: !undo.is_empty(),
        undo,
        ..Step::new(purpose(request), Statement::new())
    }]
}

fn comment_alone(
    server: &Server,
    request: &AlterField,
    comment: &str,
    problems: &mut Problems,
) -> Option<Step> {
    let (table, before) = (&request.current, &request.before);
    let write = |comment: &str| {
        let rule = comment_rule(server, Clause::Change, comment)?;
        Ok(shape::comment_column(&table.name, &before.name, comment, rule))
    };
    match write(comment) {
        Ok(statement) => {
            let undo: Vec<Action> =
                write(&before.comment).map(Action::new).map_err(|_: String| ()).into_iter().collect();
            Some(Step { undo_complete: !undo.is_empty(), undo, ..Step::new(purpose(request), statement) })
        }
        Err(message) => {
            problems.not_representable("fieldComment", message);
            None
        }
    }
}

fn purpose(request: &AlterField) -> String {
    format!("changes the comment of the field {} of {}", request.before.name, request.current.name.name)
}

fn renamable(server: &Server, request: &AlterField, problems: &mut Problems) {
    let (table, before, after) = (&request.current, &request.before, &request.after);
    problems.field_name(server, "fieldName", &after.name);
    let taken = |field: &&Field| field.name != before.name && same_name(&field.name, &after.name);
    if let Some(other) = table.fields.iter().find(taken) {
        let message =
            format!("there is a field {:?} already; the case of letters does not count", other.name);
        problems.add("fieldName", "conflict", message);
    } else if same_name(&before.name, &after.name) {
        let message = "the case of letters does not count in names of fields, so nothing would be renamed";
        problems.unsupported("fieldName", message);
    }
    if table.partition.contains(&before.name) {
        let message = format!("{} parts the table, and its partitions are made by that name", before.name);
        problems.unsupported("fieldName", message);
    }
    if server.product == Product::StarRocks && !server.is_at_least(STARROCKS_RENAME) {
        let message = format!("{} cannot rename fields; 3.3.2 can", server.shown());
        problems.unsupported("fieldName", message);
    }
}

fn rename(server: &Server, request: &AlterField) -> Step {
    let (table, before, after) = (&request.current.name, &request.before.name, &request.after.name);
    let write = |from: &str, to: &str| shape::rename_column(server.product, table, from, to);
    Step {
        undo: vec![Action::new(write(after, before))],
        undo_complete: true,
        ..Step::new(format!("renames the field {before} of {} to {after}", table.name), write(before, after))
    }
}

/// Drops a field with its values.
pub fn drop(server: &Server, request: &DropField) -> Result<ChangePlan, Vec<Problem>> {
    let table = &request.current;
    let mut problems = Problems::default();
    problems.only_tables(table);
    let field = table.fields.iter().find(|field| field.name == request.field);
    match field {
        None => {
            let message = format!("{} has no field {:?}", table.name.name, request.field);
            problems.add("fieldName", "missing", message);
        }
        Some(field) => droppable(server, table, field, &mut problems),
    }
    problems.check()?;
    let again = field.and_then(|field| as_added_again(server, table, field));
    let at = table.fields.iter().position(|one| one.name == request.field).unwrap_or_default();
    let behind = at.checked_sub(1).map(|before| table.fields[before].name.as_str());
    let undo = again
        .map(|column| job::action(shape::add_column(&table.name, &column, behind), &table.name, Job::Column));
    let statement = shape::drop_column(&table.name, &request.field);
    let step = Step {
        action: job::action(statement, &table.name, Job::Column),
        undo: undo.into_iter().collect(),
        destroys: true,
        ..Step::new(
            format!("drops the field {} of {} with its values", request.field, table.name.name),
            Statement::new(),
        )
    };
    Ok(steps(vec![step], Vec::new()))
}

fn droppable(server: &Server, table: &Table, field: &Field, problems: &mut Problems) {
    let name = &field.name;
    if field.key || table.keys.contains(name) {
        let message =
            format!("{name} belongs to the key; without it rows would be put together or lie elsewhere");
        problems.unsupported("fieldName", message);
    } else if table.distribution.contains(name) || table.partition.contains(name) {
        let message = format!("{name} decides where rows lie; {} does not drop it", server.product.short());
        problems.unsupported("fieldName", message);
    } else if table.fields.len() == 1 {
        problems.unsupported("fieldName", format!("{name} is the last field; drop the table instead"));
    }
}

/// A dropped field as it can be added to a table with rows; `None` if its definition cannot be written.
fn as_added_again(server: &Server, table: &Table, field: &Field) -> Option<Column> {
    let extra = FieldExtra::of(field);
    if field.generated.is_some() || extra.numbered || extra.stamped || aggregate(table, field).is_some() {
        return None;
    }
    let nullable = field.nullable || !defaults::gives_a_value(&field.defaults_to);
    let mut problems = Problems::default();
    let column =
        Column::of(server, Clause::Definition, &Field { nullable, ..field.clone() }, "", &mut problems);
    problems.check().ok()?;
    column
}
