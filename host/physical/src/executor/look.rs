//! The host's own observations before and after a change.

use std::collections::BTreeSet;

use lakeport_bindings::dialect::planner::Change;
use lakeport_bindings::host::data::Cell;
use lakeport_bindings::host::types::Error;

use super::Prepared;
use crate::compare::Difference;
use crate::expected;
use crate::schema::{self, Place, SchemaObject};
use crate::session::Session;

/// The host's observations at one time.
pub(super) struct Seen {
    objects: BTreeSet<SchemaObject>,
    rows: Option<i64>,
    broken_keys: Vec<Vec<Cell>>,
}

impl Seen {
    pub async fn now(session: &Session, prepared: &Prepared) -> Result<Seen, Error> {
        let objects = Place::of(&prepared.change, &prepared.plan).objects(session).await?;
        if !prepared.plan.rebuilds {
            return Ok(Seen { objects, rows: None, broken_keys: Vec::new() });
        }
        let table = expected::current(&prepared.change).map(|table| table.name.name.as_str());
        let there = table.filter(|name| objects.iter().any(|object| object.name == **name));
        let rows = match there {
            Some(name) => Some(schema::row_count(session, name).await?),
            None => None,
        };
        Ok(Seen { objects, rows, broken_keys: schema::broken_foreign_keys(session).await? })
    }

    /// Objects that appeared or disappeared, lost rows, broken foreign keys.
    pub fn differences(&self, after: &Seen, prepared: &Prepared) -> Vec<Difference> {
        let mut differences = Vec::new();
        let wanted = objects_afterwards(prepared, &self.objects);
        let named = |object: &SchemaObject| format!("{} {}", object.kind, object.name);
        for missing in wanted.difference(&after.objects) {
            differences.push(difference("database", &named(missing), ""));
        }
        for strange in after.objects.difference(&wanted) {
            differences.push(difference("database", "", &named(strange)));
        }
        if self.rows != after.rows {
            let count = |rows: Option<i64>| rows.map(|rows| rows.to_string()).unwrap_or_default();
            differences.push(difference("rows", &count(self.rows), &count(after.rows)));
        }
        if self.broken_keys != after.broken_keys {
            let count = |keys: &Vec<Vec<Cell>>| format!("{} broken foreign keys", keys.len());
            differences.push(difference("database", &count(&self.broken_keys), &count(&after.broken_keys)));
        }
        differences
    }
}

/// The expected objects after the change.
fn objects_afterwards(prepared: &Prepared, before: &BTreeSet<SchemaObject>) -> BTreeSet<SchemaObject> {
    let table =
        |name: &str| SchemaObject { kind: "table".to_owned(), name: name.to_owned(), table: name.to_owned() };
    let mut objects = before.clone();
    match &prepared.change {
        Change::CreateTable(wanted) => {
            objects.insert(table(&wanted.name.name));
            objects.extend(prepared.plan.new_names.iter().map(|name| table(&name.name)));
        }
        Change::DropTable(change) => {
            let current = &change.current;
            objects.retain(|object| {
                object.table != current.name.name && !current.companions.contains(&object.table)
            });
        }
        Change::RenameTable(change) | Change::RestoreTable(change) => {
            let (old, new) = (&change.current.name.name, &change.new_name);
            // Its companions' names derive from its own.
            if !prepared.plan.new_names.is_empty() {
                objects.retain(|object| !change.current.companions.contains(&object.name));
                objects.extend(prepared.plan.new_names.iter().map(|name| table(&name.name)));
            }
            let renamed = |mut object: SchemaObject| {
                if object.table == *old {
                    object.table.clone_from(new);
                }
                if object.kind == "table" && object.name == *old {
                    object.name.clone_from(new);
                }
                object
            };
            objects = objects.into_iter().map(renamed).collect();
        }
        _ => {}
    }
    objects
}

pub(super) fn difference(member: &str, wanted: &str, found: &str) -> Difference {
    Difference {
        member: member.to_owned(),
        wanted: wanted.to_owned(),
        found: found.to_owned(),
        announced: false,
    }
}
