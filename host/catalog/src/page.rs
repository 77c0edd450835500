//! One page of the index: filtered and sorted.

use roaring::RoaringBitmap;

use super::filter::Filter;
use super::index::Index;
use super::orders::Order;

impl Index {
    /// The number of matching tables, and the ids of one page.
    pub fn page(&self, filter: &Filter<'_>, order: Order, offset: usize, size: usize) -> (usize, Vec<i64>) {
        let mut fitting = self.facts.fitting(filter);
        if !filter.keyword.is_empty() {
            let mut named = RoaringBitmap::new();
            self.names.matching(filter.keyword, |place| _ = named.insert(place));
            fitting &= named;
        }
        let total = fitting.len() as usize;
        if offset >= total {
            return (total, Vec::new());
        }
        let sorted = self.orders.read(order.by, &self.places);
        let page = sorted.walk(order.is_descending).filter(|place| fitting.contains(*place));
        (total, page.skip(offset).take(size).map(|place| self.id_at(place)).collect())
    }
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
