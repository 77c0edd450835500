//! Entries side by side, so that going through all of them is going through memory in one direction.

use std::collections::HashMap;

use super::facts::Facts;
use super::names::Names;
use super::orders::Orders;
use super::said::{Said, Texts};

/// What the catalogue knows of a table. Sizes in bytes, times in milliseconds since 1970 UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub id: i64,
    pub cluster_id: Option<i64>,
    pub db_name: Box<str>,
    pub table_name: Box<str>,
    pub table_comment: Option<Box<str>>,
    pub layer: Option<Box<str>>,
    pub business_domain: Option<Box<str>>,
    pub data_domain: Option<Box<str>>,
    pub owner: Option<Box<str>>,
    pub tags: Box<[Box<str>]>,
    pub is_deprecated: bool,
    pub is_physical: bool,
    pub row_count: Option<i64>,
    pub data_size: Option<i64>,
    pub index_size: Option<i64>,
    pub created_at_ms: i64,
    pub updated_at_ms: i64,
}

/// All tables of the catalogue, those in the recycle bin too. Each keeps its place as long as it is there.
#[derive(Default)]
pub struct Index {
    pub(super) places: Vec<Option<Entry>>,
    /// What is searched of each; beside the places, so that a list does not walk over it.
    said: Vec<Said>,
    pub(super) names: Names,
    pub(super) facts: Facts,
    pub(super) orders: Orders,
    /// Places that hold nothing.
    free: Vec<u32>,
    by_id: HashMap<i64, u32>,
    /// Bytes of the fields in `said`.
    pub(super) fields_bytes: usize,
}

/// Bytes of all fields that are searched; tables whose fields find no room are searched without them.
const FIELDS_MAX_BYTES: usize = 512 * 1024 * 1024;

impl Index {
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    pub fn get(&self, id: i64) -> Option<&Entry> {
        self.by_id.get(&id).and_then(|place| self.at(*place))
    }

    /// In no order.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.places.iter().flatten()
    }

    pub(super) fn at(&self, place: u32) -> Option<&Entry> {
        self.places[place as usize].as_ref()
    }

    /// Of one that a table is listed at.
    pub(super) fn id_at(&self, place: u32) -> i64 {
        self.at(place).expect("facts and orders know of places that hold a table").id
    }

    /// What is searched of one.
    pub(super) fn said_at(&self, place: u32) -> &Said {
        &self.said[place as usize]
    }

    pub(super) fn put(&mut self, entry: Entry, texts: &Texts) {
        let place = self.place_of(entry.id);
        let (before, said) = (self.places[place as usize].take(), &mut self.said[place as usize]);
        self.fields_bytes -= said.fields_bytes();
        *said = Said::of(&entry, texts, FIELDS_MAX_BYTES - self.fields_bytes);
        self.fields_bytes += said.fields_bytes();
        self.orders.note(place, before.as_ref(), Some(&entry));
        if let Some(before) = &before {
            self.facts.remove(place, before);
        }
        self.facts.put(place, &entry);
        self.names.put(place, &entry.db_name, &entry.table_name);
        self.places[place as usize] = Some(entry);
    }

    pub(super) fn remove(&mut self, id: i64) {
        let Some(place) = self.by_id.remove(&id) else { return };
        let (before, said) = (self.places[place as usize].take(), &mut self.said[place as usize]);
        self.fields_bytes -= said.fields_bytes();
        *said = Said::default();
        self.orders.note(place, before.as_ref(), None);
        if let Some(before) = &before {
            self.facts.remove(place, before);
        }
        self.names.remove(place);
        self.free.push(place);
    }

    /// The place of a table, a new one where it has none.
    fn place_of(&mut self, id: i64) -> u32 {
        *self.by_id.entry(id).or_insert_with(|| {
            self.free.pop().unwrap_or_else(|| {
                self.places.push(None);
                self.said.push(Said::default());
                (self.places.len() - 1) as u32
            })
        })
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::catalog::{Filter, Order, SortBy};

    pub fn entry(id: i64, db_name: &str, table_name: &str) -> Entry {
        Entry {
            id,
            cluster_id: Some(1),
            db_name: db_name.into(),
            table_name: table_name.into(),
            table_comment: None,
            layer: None,
            business_domain: None,
            data_domain: None,
            owner: None,
            tags: Box::default(),
            is_deprecated: false,
            is_physical: false,
            row_count: None,
            data_size: None,
            index_size: None,
            created_at_ms: 0,
            updated_at_ms: 0,
        }
    }

    fn page(index: &Index, filter: &Filter<'_>) -> Vec<i64> {
        index.page(filter, Order { by: SortBy::TableName, is_descending: false }, 0, 10).1
    }

    fn ids<'e>(entries: impl Iterator<Item = &'e Entry>) -> Vec<i64> {
        let mut ids: Vec<i64> = entries.map(|entry| entry.id).collect();
        ids.sort_unstable();
        ids
    }

    #[test]
    fn what_is_removed_is_gone_and_the_others_are_found() {
        let mut index = Index::default();
        for id in 1..=4 {
            index.put(entry(id, "main", &format!("t{id}")), &Texts::default());
        }
        index.remove(2);
        index.put(entry(4, "main", "renamed"), &Texts::default());
        index.remove(9);
        assert_eq!(ids(index.iter()), [1, 3, 4]);
        assert_eq!(index.get(2), None);
        let renamed = Filter { keyword: "ren", ..Filter::default() };
        assert_eq!(page(&index, &renamed), [4]);
        index.put(entry(5, "main", "in_the_place_of_2"), &Texts::default());
        assert_eq!((index.places.len(), index.len()), (4, 4), "a place is used again");
        assert_eq!(page(&index, &Filter { keyword: "t2", ..renamed }), [] as [i64; 0]);
        assert_eq!(page(&index, &Filter { keyword: "of_2", ..renamed }), [5]);
        assert_eq!(page(&index, &Filter::default()), [5, 4, 1, 3], "by name");
    }
}
