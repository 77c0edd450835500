//! A search over tables and fields: those with the keyword in their names first, whole, at the start, within; then those
//! of which it is said.

use super::page::Filter;
use super::said::Rank;
use super::{Entry, Index};

/// Of hits of one rank and kind so many are put in order; more are not told.
pub const HITS_MAX: usize = 10_000;
/// Ranks of both kinds.
const RANKS: usize = 8;

/// A table, or a field of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    pub table_id: i64,
    pub field_id: Option<i64>,
}

impl Index {
    /// How many hits there are, and those of one page. `keyword` is in lower case and not empty.
    pub fn search(
        &self,
        keyword: &str,
        filter: &Filter<'_>,
        sees: impl Fn(&Entry) -> bool,
        offset: usize,
        size: usize,
    ) -> (usize, Vec<Hit>) {
        let mut ranked: [Vec<(&str, Hit)>; RANKS] = std::array::from_fn(|_| Vec::new());
        let mut put = |place: usize, name, hit| {
            if ranked[place].len() < HITS_MAX {
                ranked[place].push((name, hit));
            }
        };
        for (entry, name, said) in self.searched() {
            if !filter.fits(entry) || !sees(entry) {
                continue;
            }
            let table_id = entry.id;
            let rank = Rank::in_name(name, keyword);
            if let Some(rank) = rank.or_else(|| said.has(keyword).then_some(Rank::Said)) {
                put(rank as usize * 2, name, Hit { table_id, field_id: None });
            }
            for (rank, name, id) in said.fields(keyword) {
                put(rank as usize * 2 + 1, name, Hit { table_id, field_id: Some(id) });
            }
        }
        let total = ranked.iter().map(Vec::len).sum();
        (total, page(ranked, offset, size))
    }
}

/// Only what stands on the page is put in order, rank by rank.
fn page(ranked: [Vec<(&str, Hit)>; RANKS], mut offset: usize, size: usize) -> Vec<Hit> {
    let mut hits = Vec::with_capacity(size.min(HITS_MAX));
    for mut of_rank in ranked {
        if offset >= of_rank.len() {
            offset -= of_rank.len();
            continue;
        }
        if hits.len() >= size {
            break;
        }
        of_rank.sort_unstable_by_key(|(name, hit)| (*name, hit.table_id, hit.field_id));
        hits.extend(of_rank.into_iter().skip(offset).take(size - hits.len()).map(|(_, hit)| hit));
        offset = 0;
    }
    hits
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
