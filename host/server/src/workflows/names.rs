//! The names and states of all workflows, in memory: the list filters and counts them without reading the store.

use lakeport_base::Error;
use lakeport_store::{Db, Feed, Followed};
use memchr::memmem;

use super::forms::{PublishStatus, WorkflowStatus};
use super::{TOPIC, store};

/// Workflows that are read from the store at once.
const PAGE: i64 = 10_000;

/// The index, which follows the store.
pub type WorkflowNames = Followed<NameFeed>;

/// By id. Entries lie side by side, so that a full scan reads memory sequentially.
#[derive(Default)]
pub struct Names {
    ids: Vec<i64>,
    statuses: Vec<(WorkflowStatus, PublishStatus)>,
    /// Lower case.
    names: Vec<Box<str>>,
}

/// A workflow in the index.
pub struct Named {
    pub id: i64,
    pub status: WorkflowStatus,
    pub publish_status: PublishStatus,
    /// In lower case.
    pub folded: Box<str>,
}

impl Names {
    fn put(&mut self, Named { id, status, publish_status, folded }: Named) {
        let status = (status, publish_status);
        match self.ids.binary_search(&id) {
            Ok(at) => {
                self.statuses[at] = status;
                self.names[at] = folded;
            }
            Err(at) => {
                self.ids.insert(at, id);
                self.statuses.insert(at, status);
                self.names.insert(at, folded);
            }
        }
    }

    fn remove(&mut self, id: i64) {
        if let Ok(at) = self.ids.binary_search(&id) {
            self.ids.remove(at);
            self.statuses.remove(at);
            self.names.remove(at);
        }
    }

    /// The number of workflows whose names contain a keyword in lower case and that have these states, and the ids of one
    /// page of them, newest first.
    pub fn page(
        &self,
        keyword: Option<&str>,
        (status, publish_status): (Option<WorkflowStatus>, Option<PublishStatus>),
        offset: usize,
        size: usize,
    ) -> (usize, Vec<i64>) {
        let keyword = keyword.filter(|keyword| !keyword.is_empty());
        if keyword.is_none() && status.is_none() && publish_status.is_none() {
            let ids = self.ids.iter().rev().skip(offset).take(size).copied();
            return (self.ids.len(), ids.collect());
        }
        let finder = memmem::Finder::new(keyword.unwrap_or_default());
        let fits = |at: usize| {
            status.is_none_or(|status| self.statuses[at].0 == status)
                && publish_status.is_none_or(|status| self.statuses[at].1 == status)
                && (keyword.is_none() || finder.find(self.names[at].as_bytes()).is_some())
        };
        let (mut total, mut ids) = (0, Vec::with_capacity(size));
        for at in (0..self.ids.len()).rev().filter(|at| fits(*at)) {
            if total >= offset && ids.len() < size {
                ids.push(self.ids[at]);
            }
            total += 1;
        }
        (total, ids)
    }
}

pub struct NameFeed;

impl Feed for NameFeed {
    type Value = Names;
    type Row = Named;
    const TOPIC: &'static str = TOPIC;

    async fn rows_after(db: &Db, after: i64) -> Result<Vec<Named>, Error> {
        store::names_after(db, after, PAGE).await
    }

    async fn rows_of(db: &Db, ids: &[i64]) -> Result<Vec<Named>, Error> {
        store::names_of(db, ids).await
    }

    fn id_of(row: &Named) -> i64 {
        row.id
    }

    fn put(names: &mut Names, row: Named) {
        names.put(row);
    }

    fn remove(names: &mut Names, id: i64) {
        names.remove(id);
    }
}

#[cfg(test)]
mod tests {
    use lakeport_store::testing::on_each_store;

    use super::*;
    use crate::workflows::testing::{add, named, publish};

    #[tokio::test]
    async fn pages_filter_by_name_and_status() {
        on_each_store(async |db| {
            let mut ids = Vec::new();
            for name in ["Orders_daily", "orders%hourly", "KUNDEN Äpfel"] {
                ids.push(add(&db, named(name)).await.id);
            }
            let mut tx = db.begin().await.unwrap();
            publish(&mut tx, ids[0], 1).await;
            tx.commit().await.unwrap();
            let mut names = Names::default();
            for row in NameFeed::rows_after(&db, i64::MIN).await.unwrap() {
                names.put(row);
            }
            let found = |keyword: Option<&str>, status| {
                let (total, page) = names.page(keyword, (status, None), 0, 20);
                assert_eq!(total, page.len());
                page
            };
            assert_eq!(found(None, None), [ids[2], ids[1], ids[0]]);
            assert_eq!(found(Some(""), None), [ids[2], ids[1], ids[0]]);
            assert_eq!(found(Some("orders"), None), [ids[1], ids[0]]);
            assert_eq!(found(Some("s%h"), None), [ids[1]]);
            assert_eq!(found(Some("äpfel"), None), [ids[2]]);
            assert_eq!(found(Some("orders"), Some(WorkflowStatus::Offline)), [ids[0]]);
            assert!(found(None, Some(WorkflowStatus::Online)).is_empty());
            let published = |status| names.page(None, (None, Some(status)), 0, 20).1;
            assert_eq!(published(PublishStatus::Published), [ids[0]]);
            assert_eq!(published(PublishStatus::Never), [ids[2], ids[1]]);
            assert!(published(PublishStatus::Pending).is_empty());
            assert_eq!(names.page(None, (None, None), 2, 2), (3, vec![ids[0]]));
            assert_eq!(names.page(Some("orders"), (None, None), 1, 1), (2, vec![ids[0]]));
            assert_eq!(names.page(None, (None, None), 4, 2), (3, Vec::new()));
            names.remove(ids[1]);
            names.remove(ids[1]);
            for row in NameFeed::rows_of(&db, &ids[..1]).await.unwrap() {
                names.put(row);
            }
            assert_eq!(names.page(Some("orders"), (None, None), 0, 9), (1, vec![ids[0]]));
        })
        .await;
    }
}
