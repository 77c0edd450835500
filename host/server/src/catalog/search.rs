//! A search over tables and fields: those with the keyword in their names first, whole, at the start, within; then those
//! of which it is said. Of several words each must be there: in a name or in what is said, and for a field also in its
//! table's, as long as one of them is the field's own.

use std::collections::BTreeMap;

use super::index::{Qualified, table_of};
use super::page::Filter;
use super::said::{Rank, Said};
use super::{Entry, Index};

/// Of hits of one rank and kind so many are put in order; more are not told.
pub const HITS_MAX: usize = 10_000;
/// Ranks of both kinds.
const RANKS: usize = 8;
/// Words of one keyword; more are looked for as one, with their blanks.
const WORDS_MAX: usize = 10;

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
        let words = Words::of(keyword);
        for (entry, folded, said) in self.searched() {
            if !filter.fits(entry) || !sees(entry) {
                continue;
            }
            let table_id = entry.id;
            let ranks = words.in_table(folded, said);
            if let Some(rank) = words.rank(table_of(folded), &ranks) {
                put(rank as usize * 2, table_of(folded), Hit { table_id, field_id: None });
            }
            words.in_fields(&ranks, said, |rank, name, id| {
                put(rank as usize * 2 + 1, name, Hit { table_id, field_id: Some(id) });
            });
        }
        let total = ranked.iter().map(Vec::len).sum();
        (total, page(ranked, offset, size))
    }
}

/// A keyword's words.
struct Words<'k> {
    whole: &'k str,
    words: Vec<(&'k str, Qualified)>,
}

/// Where each word was found, if it was.
type Ranks = Vec<Option<Rank>>;

impl<'k> Words<'k> {
    fn of(keyword: &'k str) -> Words<'k> {
        let word = |word: &'k str| (word, Qualified::of(word));
        let words: Vec<_> = split(keyword).into_iter().map(word).collect();
        Words { whole: keyword, words }
    }

    fn in_table(&self, folded: &str, said: &Said) -> Ranks {
        let rank = |(word, qualified): &(&str, Qualified)| {
            let in_name = Rank::in_name(table_of(folded), word);
            in_name
                .or_else(|| qualified.is(folded).then_some(Rank::Whole))
                .or_else(|| qualified.is_in(folded).then_some(Rank::Within))
                .or_else(|| said.has(word).then_some(Rank::Said))
        };
        self.words.iter().map(rank).collect()
    }

    /// The rank of what has all words: where the worst of them is, unless its name has them as they were written.
    fn rank(&self, name: &str, ranks: &[Option<Rank>]) -> Option<Rank> {
        let worst = ranks.iter().copied().try_fold(Rank::Whole, |worst, rank| Some(worst.max(rank?)))?;
        match ranks {
            [_] => Some(worst),
            _ => Some(Rank::in_name(name, self.whole).unwrap_or(worst.max(Rank::Within))),
        }
    }

    /// Tells each field that is a hit, once.
    fn in_fields<'s>(
        &'s self,
        of_table: &[Option<Rank>],
        said: &'s Said,
        mut tell: impl FnMut(Rank, &'s str, i64),
    ) {
        if let [(word, _)] = self.words.as_slice() {
            said.fields(word).for_each(|(rank, name, id)| tell(rank, name, id));
            return;
        }
        let mut found: BTreeMap<i64, (&str, Ranks)> = BTreeMap::new();
        for (place, (word, _)) in self.words.iter().enumerate() {
            for (rank, name, id) in said.fields(word) {
                let (_, ranks) = found.entry(id).or_insert_with(|| (name, vec![None; of_table.len()]));
                ranks[place] = Some(rank);
            }
        }
        for (id, (name, ranks)) in found {
            // What its table says stands behind what it says itself.
            let both = ranks.iter().zip(of_table).map(|(own, table)| own.or(table.map(|_| Rank::Said)));
            if let Some(rank) = self.rank(name, &both.collect::<Ranks>()) {
                tell(rank, name, id);
            }
        }
    }
}

/// The words of a keyword: what stands between its blanks.
pub fn split(keyword: &str) -> Vec<&str> {
    let words: Vec<&str> = keyword.split_whitespace().collect();
    if words.is_empty() || words.len() > WORDS_MAX { vec![keyword] } else { words }
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
