//! The expected table after a change, and a change adjusted to the current table.

use lakeport_bindings::dialect::planner::Change;
use lakeport_bindings::dialect::schema::{Field, Table, TableName};

/// The table that a change starts from; `None` if it creates one or concerns none.
pub(crate) fn current(change: &Change) -> Option<&Table> {
    match change {
        Change::CreateTable(_) => None,
        Change::RenameTable(change) | Change::RestoreTable(change) => Some(&change.current),
        Change::DropTable(change) => Some(&change.current),
        Change::CommentTable(change) => Some(&change.current),
        Change::AddField(change) => Some(&change.current),
        Change::AlterField(change) => Some(&change.current),
        Change::DropField(change) => Some(&change.current),
        Change::SetBuckets(change) | Change::SetReplicas(change) => Some(&change.current),
        Change::Other(change) => change.current.as_ref(),
    }
}

/// The name of the table that a change concerns.
pub(crate) fn subject(change: &Change) -> Option<&TableName> {
    match change {
        Change::CreateTable(table) => Some(&table.name),
        change => current(change).map(|table| &table.name),
    }
}

/// Whether the change can break objects that use the table.
pub(crate) fn can_break_dependents(change: &Change) -> bool {
    match change {
        Change::CreateTable(_)
        | Change::CommentTable(_)
        | Change::AddField(_)
        | Change::SetBuckets(_)
        | Change::SetReplicas(_) => false,
        Change::RenameTable(_)
        | Change::RestoreTable(_)
        | Change::DropTable(_)
        | Change::AlterField(_)
        | Change::DropField(_)
        | Change::Other(_) => true,
    }
}

/// The same change based on the current table, or the name of a field that no longer exists.
pub(crate) fn brought_up(mut change: Change, now: Table) -> Result<Change, String> {
    let found = |table: &Table, name: &str| -> Result<Field, String> {
        table.fields.iter().find(|field| field.name == name).cloned().ok_or_else(|| name.to_owned())
    };
    match &mut change {
        Change::CreateTable(_) => {}
        Change::RenameTable(change) | Change::RestoreTable(change) => change.current = now,
        Change::DropTable(change) => change.current = now,
        Change::CommentTable(change) => change.current = now,
        Change::AddField(change) => {
            if let Some(behind) = &change.behind {
                found(&now, behind)?;
            }
            change.current = now;
        }
        Change::AlterField(change) => {
            change.before = found(&now, &change.before.name)?;
            change.after.extra.clone_from(&change.before.extra);
            change.after.generated.clone_from(&change.before.generated);
            change.after.key = change.before.key;
            change.current = now;
        }
        Change::DropField(change) => {
            found(&now, &change.field)?;
            change.current = now;
        }
        Change::SetBuckets(change) | Change::SetReplicas(change) => change.current = now,
        Change::Other(change) => change.current = change.current.is_some().then_some(now),
    }
    Ok(change)
}

/// The table after the change; `None` if it is dropped.
pub(crate) fn afterwards(change: &Change) -> Option<Table> {
    let mut table = current(change).cloned();
    match change {
        Change::CreateTable(wanted) => return Some(wanted.clone()),
        Change::DropTable(_) => return None,
        Change::RenameTable(change) | Change::RestoreTable(change) => {
            table.as_mut()?.name.name.clone_from(&change.new_name);
        }
        Change::CommentTable(change) => table.as_mut()?.comment.clone_from(&change.comment),
        Change::AddField(change) => {
            let fields = &mut table.as_mut()?.fields;
            let behind = change.behind.as_ref();
            let at = fields.iter().position(|field| Some(&field.name) == behind).map(|at| at + 1);
            fields.insert(at.unwrap_or(fields.len()), change.field.clone());
        }
        Change::AlterField(change) => alter(table.as_mut()?, &change.before.name, &change.after),
        Change::DropField(change) => {
            let table = table.as_mut()?;
            table.fields.retain(|field| field.name != change.field);
            for names in [&mut table.keys, &mut table.distribution, &mut table.partition] {
                names.retain(|name| *name != change.field);
            }
        }
        Change::SetBuckets(change) => table.as_mut()?.buckets = Some(change.count),
        Change::SetReplicas(change) => table.as_mut()?.replicas = Some(change.count),
        Change::Other(_) => {}
    }
    table
}

fn alter(table: &mut Table, before: &str, after: &Field) {
    for field in table.fields.iter_mut().filter(|field| field.name == before) {
        *field = after.clone();
    }
    for names in [&mut table.keys, &mut table.distribution, &mut table.partition] {
        for name in names.iter_mut().filter(|name| *name == before) {
            name.clone_from(&after.name);
        }
    }
}
