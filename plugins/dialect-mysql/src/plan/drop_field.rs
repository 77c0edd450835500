//! Drops a field with its values. Refuses silent side effects: the server removes a field from keys and
//! indexes, and leaves broken views and triggers behind.

use lakeport_sdk::dialect::{Action, ChangePlan, DropField, Field, Problem, Statement, Step, Table};

use super::one;
use super::problems::{Checks, Problems, adjusted};
use super::shape::{self, Column, depending};
use crate::extra::{FieldExtra, TableExtra};
use crate::server::Server;
use crate::text;

/// Plans it.
pub fn plan(server: &Server, change: &DropField) -> Result<ChangePlan, Vec<Problem>> {
    let table = &change.current;
    let mut problems = Problems::default();
    problems.only_tables(table);
    problems.no_history(table);
    let Some(field) = table.fields.iter().find(|field| field.name == change.field) else {
        let message = format!("{} has no field {:?}", table.name.name, change.field);
        problems.add("fieldName", "missing", message);
        return problems.or(|| ChangePlan::nothing(Vec::new()));
    };
    droppable(table, field, &mut problems);
    problems.or(|| {
        let cost = if server.drops_at_once() { "metadata" } else { "rewrite" };
        let step = Step {
            undo: added_again(server, table, field).map(Action::new).into_iter().collect(),
            destroys: true,
            cost: cost.to_owned(),
            ..Step::new(
                format!("drops the field {} of {} with its values", field.name, table.name.name),
                shape::drop_column(&table.name, &field.name),
            )
        };
        let indexes = FieldExtra::of(field).indexes;
        let notes = (!indexes.is_empty())
            .then(|| adjusted("extra", format!("the index goes with it: {}", indexes.join("; "))));
        one(step, notes.into_iter().collect())
    })
}

fn droppable(table: &Table, field: &Field, problems: &mut Problems) {
    let extra = FieldExtra::of(field);
    let name = &field.name;
    if field.key || table.keys.contains(name) {
        let message = format!("{name} belongs to the key, which would silently become another without it");
        problems.unsupported("fieldName", message);
    }
    if table.partition.contains(name) {
        problems.unsupported("fieldName", format!("{name} belongs to the partition"));
    }
    if table.fields.len() == 1 {
        problems.unsupported("fieldName", format!("{name} is the last field; drop the table instead"));
    }
    let mut in_the_way = |what: &str, names: &[String]| {
        if !names.is_empty() {
            problems.conflict("fieldName", format!("{name} is used by {what}: {}", names.join(", ")));
        }
    };
    let shared: Vec<String> =
        extra.indexes.iter().filter(|index| !index.ends_with("part 1 of 1")).cloned().collect();
    in_the_way("an index that would silently become another", &shared);
    in_the_way("foreign keys to", &extra.references);
    in_the_way("foreign keys from", &extra.referenced_by);
    in_the_way("triggers, which would fail from then on", &extra.triggers);
    in_the_way("views, which would fail from then on", &extra.views);
    let checks = TableExtra::of(table).checks;
    let checks: Vec<String> = checks.into_iter().filter(|check| text::mentions(check, name)).collect();
    in_the_way("CHECK constraints", &checks);
    let others: Vec<String> = depending(&table.fields, name).into_iter().map(str::to_owned).collect();
    in_the_way("expressions of the fields", &others);
}

/// The statement that adds the field again, without its values, after its predecessor.
fn added_again(server: &Server, table: &Table, field: &Field) -> Option<Statement> {
    if FieldExtra::of(field).auto_increment {
        return None;
    }
    let column = Column::again(server, table, field).ok()?;
    let at = table.fields.iter().position(|one| one.name == field.name)?;
    let behind = at.checked_sub(1).map(|before| table.fields[before].name.as_str());
    Some(shape::add_column(&table.name, &column, behind))
}
