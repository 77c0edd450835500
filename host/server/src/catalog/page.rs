//! One page of the index: those that fit, in an order, without sorting all of them.

use std::cmp::Ordering;

use super::index::{Entry, Index};

/// Candidates that are kept at least before the worse half is thrown away.
const CANDIDATES_MIN: usize = 1_024;

/// Which tables. Those in the recycle bin never.
#[derive(Debug, Clone, Copy, Default)]
pub struct Filter<'f> {
    /// Part of the database's or the table's name, case ignored; empty: any.
    pub keyword: &'f str,
    pub layer: Option<&'f str>,
    pub business_domain: Option<&'f str>,
    pub data_domain: Option<&'f str>,
    pub owner: Option<&'f str>,
    pub tag: Option<&'f str>,
    pub cluster_id: Option<i64>,
    /// None of this data source.
    pub but_cluster_id: Option<i64>,
}

/// What tables are put in order by.
#[derive(Clone, Copy)]
pub enum SortBy {
    Text(for<'e> fn(&'e Entry) -> Option<&'e str>),
    Number(fn(&Entry) -> Option<i64>),
}

/// What has no value stands last either way; ties go by the id, in the order's own direction.
#[derive(Clone, Copy)]
pub struct Order {
    pub by: SortBy,
    pub is_descending: bool,
}

impl Filter<'_> {
    pub(super) fn fits(&self, entry: &Entry) -> bool {
        !entry.is_deprecated
            && self.layer.is_none_or(|layer| entry.layer.as_deref() == Some(layer))
            && self.business_domain.is_none_or(|domain| entry.business_domain.as_deref() == Some(domain))
            && self.data_domain.is_none_or(|domain| entry.data_domain.as_deref() == Some(domain))
            && self.owner.is_none_or(|owner| entry.owner.as_deref() == Some(owner))
            && self.tag.is_none_or(|tag| entry.tags.iter().any(|known| **known == *tag))
            && (self.cluster_id.is_none() || entry.cluster_id == self.cluster_id)
            && (self.but_cluster_id.is_none() || entry.cluster_id != self.but_cluster_id)
    }
}

impl Order {
    fn compare(&self, one: &Entry, other: &Entry) -> Ordering {
        let by = match self.by {
            SortBy::Text(of) => self.directed(of(one), of(other)),
            SortBy::Number(of) => self.directed(of(one), of(other)),
        };
        by.then_with(|| if self.is_descending { other.id.cmp(&one.id) } else { one.id.cmp(&other.id) })
    }

    fn directed<T: Ord>(&self, one: Option<T>, other: Option<T>) -> Ordering {
        match (one, other) {
            (Some(one), Some(other)) if self.is_descending => other.cmp(&one),
            (Some(one), Some(other)) => one.cmp(&other),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => Ordering::Equal,
        }
    }
}

impl Index {
    /// How many tables fit, and the ids of one page of them.
    pub fn page(&self, filter: &Filter<'_>, order: Order, offset: usize, size: usize) -> (usize, Vec<i64>) {
        let mut best = Best::of(order, offset.saturating_add(size));
        let mut total = 0;
        let mut look = |entry| {
            total += 1;
            best.offer(entry);
        };
        if filter.keyword.is_empty() {
            self.iter().filter(|entry| filter.fits(entry)).for_each(&mut look);
        } else {
            self.matching(filter.keyword).filter(|entry| filter.fits(entry)).for_each(&mut look);
        }
        (total, best.from(offset).into_iter().map(|entry| entry.id).collect())
    }
}

/// The first so many of those that were offered.
struct Best<'i> {
    order: Order,
    count: usize,
    candidates: Vec<&'i Entry>,
    /// Whatever comes behind it is none of them.
    worst: Option<&'i Entry>,
}

impl<'i> Best<'i> {
    fn of(order: Order, count: usize) -> Best<'i> {
        Best { order, count, candidates: Vec::new(), worst: None }
    }

    fn offer(&mut self, entry: &'i Entry) {
        if self.worst.is_some_and(|worst| self.order.compare(worst, entry) == Ordering::Less) {
            return;
        }
        self.candidates.push(entry);
        if self.candidates.len() >= self.count.saturating_mul(2).max(CANDIDATES_MIN) {
            self.keep_the_first();
        }
    }

    fn keep_the_first(&mut self) {
        let order = self.order;
        if self.count == 0 || self.candidates.len() <= self.count {
            return;
        }
        let compare = |one: &&Entry, other: &&Entry| order.compare(one, other);
        let (_, worst, _) = self.candidates.select_nth_unstable_by(self.count - 1, compare);
        self.worst = Some(*worst);
        self.candidates.truncate(self.count);
    }

    /// Those behind the first so many, in order. The ones before are not put in order among themselves.
    fn from(mut self, offset: usize) -> Vec<&'i Entry> {
        self.keep_the_first();
        if offset >= self.candidates.len() {
            return Vec::new();
        }
        let order = self.order;
        let compare = |one: &&Entry, other: &&Entry| order.compare(one, other);
        self.candidates.select_nth_unstable_by(offset, compare);
        let mut page = self.candidates.split_off(offset);
        page.sort_unstable_by(compare);
        page
    }
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
