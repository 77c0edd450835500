//! What the store says of tables beside their index entries. Questions read it again and again, so it is kept until a table
//! changes.

use std::collections::HashMap;
use std::sync::Arc;

use lakeport_base::Error;
use lakeport_bindings::tool::catalog::Field;
use lakeport_store::Db;
use parking_lot::Mutex;

use crate::tables::{self, Catalog, ForeignKey};

/// Fields of one table, by the contract.
const FIELDS_MAX: i64 = 2_000;
/// Tables and fields that a task keeps, and those that the server keeps.
const OF_TASK_MAX: usize = 10_000;
const OF_SERVER_MAX: usize = 50_000;

/// A table's fields and what describes it.
#[derive(Debug, Default)]
pub struct Definition {
    pub description: Option<String>,
    pub fields: Vec<Field>,
    pub partition: Vec<String>,
    /// To active tables, which a topic may not see.
    pub foreign_keys: Vec<ForeignKey>,
}

/// Definitions by the ids of their tables.
pub type ById = HashMap<i64, Arc<Definition>>;

/// The definitions that a task has read: its later steps see the same fields, even if these have changed since. Whether a
/// table may be seen is asked each time.
#[derive(Default)]
pub struct OfTask(Mutex<Bounded>);

/// The definitions of a version of the catalogue.
#[derive(Default)]
pub struct OfServer(Mutex<(u64, Bounded)>);

#[derive(Default)]
struct Bounded {
    by_id: ById,
    /// Tables and fields.
    count: usize,
}

impl OfTask {
    /// The definitions of tables; of one that is gone an empty one.
    pub async fn get(
        &self,
        shared: &OfServer,
        catalog: &Catalog,
        db: &Db,
        ids: &[i64],
    ) -> Result<ById, Error> {
        let (mut found, others) = self.0.lock().get(ids);
        if !others.is_empty() {
            let read = shared.get(catalog, db, &others).await?;
            self.0.lock().keep(&read, OF_TASK_MAX);
            found.extend(read);
        }
        Ok(found)
    }
}

impl OfServer {
    async fn get(&self, catalog: &Catalog, db: &Db, ids: &[i64]) -> Result<ById, Error> {
        // Before the store is read: a change in between makes a new version.
        let version = catalog.version();
        let (mut found, others) = self.at(version).get(ids);
        if !others.is_empty() {
            let (read, is_whole) = read(db, &others).await?;
            let mut kept = self.0.lock();
            if kept.0 == version && is_whole && !kept.1.keep(&read, OF_SERVER_MAX) {
                kept.1 = Bounded::default();
                kept.1.keep(&read, OF_SERVER_MAX);
            }
            drop(kept);
            found.extend(read);
        }
        Ok(found)
    }

    /// Those of a version; older ones are forgotten.
    fn at(&self, version: u64) -> parking_lot::MappedMutexGuard<'_, Bounded> {
        let mut kept = self.0.lock();
        if kept.0 != version {
            *kept = (version, Bounded::default());
        }
        parking_lot::MutexGuard::map(kept, |(_, definitions)| definitions)
    }
}

impl Bounded {
    /// The known ones, and the ids of the others.
    fn get(&self, ids: &[i64]) -> (ById, Vec<i64>) {
        let known = |id: &i64| Some((*id, Arc::clone(self.by_id.get(id)?)));
        let others = ids.iter().filter(|id| !self.by_id.contains_key(id)).copied().collect();
        (ids.iter().filter_map(known).collect(), others)
    }

    /// Keeps definitions if there is room for all of them; whether there was.
    fn keep(&mut self, read: &ById, most: usize) -> bool {
        let is_new = |id: &i64| !self.by_id.contains_key(id);
        let new = read.iter().filter(|(id, _)| is_new(id));
        let count: usize = new.map(|(_, definition)| 1 + definition.fields.len()).sum();
        let has_room = self.count + count <= most;
        if has_room {
            self.count += count;
            for (id, definition) in read {
                self.by_id.entry(*id).or_insert_with(|| Arc::clone(definition));
            }
        }
        has_room
    }
}

/// Definitions as they are stored, and whether these are all of their fields.
async fn read(db: &Db, ids: &[i64]) -> Result<(ById, bool), Error> {
    let most = FIELDS_MAX * i64::try_from(ids.len()).unwrap_or(i64::MAX / FIELDS_MAX);
    let fields = tables::fields_of(db, ids, most).await?;
    let is_whole = i64::try_from(fields.len()).is_ok_and(|count| count < most);
    let records = tables::records_of(db, ids).await?;
    let foreign_keys = tables::foreign_keys_of(db, ids).await?;
    let mut read: HashMap<i64, Definition> = ids.iter().map(|id| (*id, Definition::default())).collect();
    for field in fields {
        let Some(table) = read.get_mut(&field.table_id) else { continue };
        table.fields.push(Field {
            name: field.name,
            type_text: field.type_text,
            nullable: field.is_nullable,
            key: field.is_key,
            comment: said(field.comment, field.description),
        });
    }
    for record in records {
        let Some(table) = read.get_mut(&record.id) else { continue };
        let columns = record.definition.partition_column.unwrap_or_default();
        let names = columns.split(',').map(str::trim).filter(|name| !name.is_empty());
        table.partition = names.map(str::to_owned).collect();
        table.description = record.definition.description;
    }
    for foreign_key in foreign_keys {
        let Some(table) = read.get_mut(&foreign_key.table_id) else { continue };
        table.foreign_keys.push(foreign_key);
    }
    Ok((read.into_iter().map(|(id, definition)| (id, Arc::new(definition))).collect(), is_whole))
}

/// The comment; the catalogue's description if there is no comment.
pub fn said(comment: Option<String>, description: Option<String>) -> String {
    comment.filter(|comment| !comment.is_empty()).or(description).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ids: std::ops::Range<i64>) -> ById {
        ids.map(|id| (id, Arc::new(Definition::default()))).collect()
    }

    #[test]
    fn definitions_of_older_versions_are_forgotten() {
        let shared = OfServer::default();
        shared.at(1).keep(&of(0..3), 10);
        let (known, others) = shared.at(1).get(&[1, 7]);
        assert_eq!((known.len(), others), (1, vec![7]));
        assert_eq!(shared.at(2).get(&[1, 7]).1, [1, 7]);
    }

    #[test]
    fn there_is_room_for_so_many() {
        let mut kept = Bounded::default();
        kept.keep(&of(0..3), 4);
        kept.keep(&of(3..5), 4);
        assert_eq!(kept.by_id.len(), 3);
        kept.keep(&of(3..4), 4);
        assert_eq!(kept.by_id.len(), 4);
    }
}
