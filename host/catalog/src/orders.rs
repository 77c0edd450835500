//! The sort orders of tables. An order is built when it is first used; later changes are merged at its next
//! use.

use std::cmp::Ordering;

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use roaring::RoaringBitmap;

use super::entry::Entry;

/// If more than one in so many have changed, sorts everything again.
const CHANGED_SHARE: usize = 8;

/// A sort key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SortBy {
    TableName,
    DbName,
    Layer,
    RowCount,
    DataSize,
    IndexSize,
    CreatedAt,
    UpdatedAt,
}

/// Tables without a value come last in both directions; ties are ordered by id, in the order's direction.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    pub by: SortBy,
    pub is_descending: bool,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key<'e> {
    Text(&'e str),
    Number(i64),
}

impl SortBy {
    const ALL: [SortBy; 8] = [
        SortBy::TableName,
        SortBy::DbName,
        SortBy::Layer,
        SortBy::RowCount,
        SortBy::DataSize,
        SortBy::IndexSize,
        SortBy::CreatedAt,
        SortBy::UpdatedAt,
    ];

    fn key(self, entry: &Entry) -> Option<Key<'_>> {
        match self {
            SortBy::TableName => Some(Key::Text(&entry.table_name)),
            SortBy::DbName => Some(Key::Text(&entry.db_name)),
            SortBy::Layer => entry.layer.as_deref().map(Key::Text),
            SortBy::RowCount => entry.row_count.map(Key::Number),
            SortBy::DataSize => entry.data_size.map(Key::Number),
            SortBy::IndexSize => entry.index_size.map(Key::Number),
            SortBy::CreatedAt => Some(Key::Number(entry.created_at_ms)),
            SortBy::UpdatedAt => Some(Key::Number(entry.updated_at_ms)),
        }
    }

    /// The key in the ascending order.
    fn position(self, entry: &Entry) -> (bool, Option<Key<'_>>, i64) {
        let key = self.key(entry);
        (key.is_none(), key, entry.id)
    }

    fn compare(self, one: &Entry, other: &Entry) -> Ordering {
        self.position(one).cmp(&self.position(other))
    }
}

/// The places of an index in each order.
#[derive(Default)]
pub(super) struct Orders([RwLock<Sorted>; SortBy::ALL.len()]);

impl Orders {
    /// Records that the entry at a place has changed or was removed.
    pub fn note(&mut self, place: u32, before: Option<&Entry>, after: Option<&Entry>) {
        for (by, sorted) in SortBy::ALL.into_iter().zip(&mut self.0) {
            let is_moved = match (before, after) {
                (Some(before), Some(after)) => by.position(before) != by.position(after),
                _ => true,
            };
            if is_moved {
                sorted.get_mut().note(place);
            }
        }
    }

    /// One order, brought up to date with these entries.
    pub fn read(&self, by: SortBy, places: &[Option<Entry>]) -> RwLockReadGuard<'_, Sorted> {
        let sorted = &self.0[by as usize];
        let as_it_is = sorted.read();
        if as_it_is.changed.is_none() {
            return as_it_is;
        }
        drop(as_it_is);
        let mut behind = sorted.write();
        if !behind.changed.is_none() {
            // No other thread did it meanwhile.
            behind.catch_up(by, places);
        }
        RwLockWriteGuard::downgrade(behind)
    }
}

/// Places in ascending order.
pub(super) struct Sorted {
    places: Vec<u32>,
    /// The number of places with a value; the others follow them.
    with_value: usize,
    changed: Changed,
}

/// The places that are out of order.
enum Changed {
    These(Vec<u32>),
    All,
}

impl Changed {
    fn is_none(&self) -> bool {
        matches!(self, Changed::These(places) if places.is_empty())
    }
}

impl Default for Sorted {
    fn default() -> Sorted {
        Sorted { places: Vec::new(), with_value: 0, changed: Changed::All }
    }
}

impl Sorted {
    /// The places in either direction; those without a value always come last.
    pub fn walk(&self, is_descending: bool) -> impl Iterator<Item = u32> {
        let (valued, others) = self.places.split_at(self.with_value);
        let (ascending, descending) = if is_descending {
            (None, Some(valued.iter().rev().chain(others.iter().rev())))
        } else {
            (Some(&self.places), None)
        };
        ascending.into_iter().flatten().chain(descending.into_iter().flatten()).copied()
    }

    fn note(&mut self, place: u32) {
        let Changed::These(changed) = &mut self.changed else { return };
        changed.push(place);
        if changed.len() > self.places.len() / CHANGED_SHARE {
            self.changed = Changed::All;
        }
    }

    fn catch_up(&mut self, by: SortBy, places: &[Option<Entry>]) {
        match std::mem::replace(&mut self.changed, Changed::These(Vec::new())) {
            Changed::These(changed) => self.move_these(&changed, by, places),
            Changed::All => self.places = sorted(0..places.len() as u32, by, places),
        }
        let has_value =
            |place: &u32| places[*place as usize].as_ref().is_some_and(|entry| by.key(entry).is_some());
        self.with_value = self.places.partition_point(has_value);
    }

    fn move_these(&mut self, changed: &[u32], by: SortBy, places: &[Option<Entry>]) {
        let changed: RoaringBitmap = changed.iter().copied().collect();
        self.places.retain(|place| !changed.contains(*place));
        let mut rest: &[u32] = &self.places;
        let mut merged = Vec::with_capacity(places.len());
        for place in sorted(changed, by, places) {
            let is_before = |other: &u32| compared(by, places, *other, place) == Ordering::Less;
            let (before, behind) = rest.split_at(rest.partition_point(is_before));
            merged.extend_from_slice(before);
            merged.push(place);
            rest = behind;
        }
        merged.extend_from_slice(rest);
        self.places = merged;
    }
}

fn compared(by: SortBy, places: &[Option<Entry>], one: u32, other: u32) -> Ordering {
    match (&places[one as usize], &places[other as usize]) {
        (Some(one), Some(other)) => by.compare(one, other),
        (one, other) => one.is_none().cmp(&other.is_none()),
    }
}

/// The given places that have an entry, sorted.
fn sorted(wanted: impl IntoIterator<Item = u32>, by: SortBy, places: &[Option<Entry>]) -> Vec<u32> {
    let position = |place: u32| Some((by.position(places[place as usize].as_ref()?), place));
    let mut positions: Vec<_> = wanted.into_iter().filter_map(position).collect();
    positions.sort_unstable();
    positions.into_iter().map(|(_, place)| place).collect()
}

#[cfg(test)]
#[path = "orders_tests.rs"]
mod tests;
