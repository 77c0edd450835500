//! Feeds tables into the catalogue in memory.

use lakeport_base::Error;
use lakeport_catalog::{Entry, Index, Texts};
use lakeport_store::{Db, Feed, Followed};

use super::{TOPIC, store};

/// Tables that are read from the store at once.
const PAGE: i64 = 500;

/// The catalogue in memory: the index of all tables, which follows the store.
pub type Catalog = Followed<TableFeed>;

pub struct TableFeed;

impl Feed for TableFeed {
    type Value = Index;
    type Row = (Entry, Texts);
    const TOPIC: &'static str = TOPIC;

    async fn rows_after(db: &Db, after: i64) -> Result<Vec<(Entry, Texts)>, Error> {
        store::entries_after(db, after, PAGE).await
    }

    async fn rows_of(db: &Db, ids: &[i64]) -> Result<Vec<(Entry, Texts)>, Error> {
        store::entries_of(db, ids).await
    }

    fn id_of((entry, _): &(Entry, Texts)) -> i64 {
        entry.id
    }

    fn put(index: &mut Index, (entry, texts): (Entry, Texts)) {
        index.put(entry, &texts);
    }

    fn remove(index: &mut Index, id: i64) {
        index.remove(id);
    }
}
