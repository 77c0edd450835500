//! Searches tables and fields. Matches in names come first (whole, prefix, inside), then matches in texts.
//! Each word of the keyword must match: in the name or text, for a field also in its table's, with at least
//! one match of the field's own.

use std::collections::BTreeMap;

use memchr::memmem::Finder;

use super::Index;
use super::filter::Filter;
use super::names::{Qualified, table_of};
use super::search_text::{Rank, SearchText};

/// Hits of one rank and kind that are sorted and returned; further ones are only counted.
pub const HITS_MAX: usize = 10_000;
/// Ranks of both kinds.
const RANKS: usize = 8;
/// Words of one keyword; a longer keyword is searched as one phrase, with its blanks.
const WORDS_MAX: usize = 10;

/// A table, or a field of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    pub table_id: i64,
    pub field_id: Option<i64>,
}

impl Index {
    /// The number of hits, and those of one page. `keyword` is in lower case and not empty; `sees` is called
    /// for each data source.
    pub fn search(
        &self,
        keyword: &str,
        filter: &Filter<'_>,
        sees: impl Fn(Option<i64>) -> bool,
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
        for place in self.facts.fitting(filter) & self.facts.of_clusters(sees) {
            let (names, said) = (self.names.of(place), self.search_text_at(place));
            let ranks = words.in_table(names, said);
            let ranks = &ranks[..words.count()];
            if let Some(rank) = words.rank(table_of(names), ranks) {
                let hit = Hit { table_id: self.id_at(place), field_id: None };
                put(rank as usize * 2, table_of(names), hit);
            }
            words.in_fields(ranks, said, |rank, name, id| {
                let hit = Hit { table_id: self.id_at(place), field_id: Some(id) };
                put(rank as usize * 2 + 1, name, hit);
            });
        }
        let total = ranked.iter().map(Vec::len).sum();
        (total, page(ranked, offset, size))
    }
}

/// The words of a keyword.
struct Words<'k> {
    whole: Finder<'k>,
    words: Vec<(Finder<'k>, Qualified)>,
}

/// The best match of each word, if any.
type Ranks = [Option<Rank>; WORDS_MAX];

impl<'k> Words<'k> {
    fn of(keyword: &'k str) -> Words<'k> {
        let word = |word: &'k str| (Finder::new(word), Qualified::of(word));
        Words { whole: Finder::new(keyword), words: split(keyword).into_iter().map(word).collect() }
    }

    fn count(&self) -> usize {
        self.words.len()
    }

    fn in_table(&self, names: &str, said: &SearchText) -> Ranks {
        let mut ranks = Ranks::default();
        for (rank, (word, qualified)) in ranks.iter_mut().zip(&self.words) {
            *rank = Rank::in_name(table_of(names), word)
                .or_else(|| qualified.is(names).then_some(Rank::Whole))
                .or_else(|| qualified.is_in(names).then_some(Rank::Within))
                .or_else(|| said.has(word).then_some(Rank::Text));
        }
        ranks
    }

    /// The rank if all words match: that of the worst match, unless the name has the whole keyword.
    fn rank(&self, name: &str, ranks: &[Option<Rank>]) -> Option<Rank> {
        let worst = ranks.iter().copied().try_fold(Rank::Whole, |worst, rank| Some(worst.max(rank?)))?;
        match ranks {
            [_] => Some(worst),
            _ => Some(Rank::in_name(name, &self.whole).unwrap_or(worst.max(Rank::Within))),
        }
    }

    /// Reports each matching field once.
    fn in_fields<'s>(
        &'s self,
        of_table: &[Option<Rank>],
        said: &'s SearchText,
        mut tell: impl FnMut(Rank, &'s str, i64),
    ) {
        if let [(word, _)] = self.words.as_slice() {
            said.fields(word).for_each(|(rank, name, id)| tell(rank, name, id));
            return;
        }
        let mut found: BTreeMap<i64, (&str, Ranks)> = BTreeMap::new();
        for (place, (word, _)) in self.words.iter().enumerate() {
            for (rank, name, id) in said.fields(word) {
                let (_, ranks) = found.entry(id).or_insert_with(|| (name, Ranks::default()));
                ranks[place] = Some(rank);
            }
        }
        for (id, (name, ranks)) in found {
            // A match in the table's text ranks below one of the field's own.
            let mut both = ranks;
            for (own, table) in both.iter_mut().zip(of_table) {
                *own = own.or(table.map(|_| Rank::Text));
            }
            if let Some(rank) = self.rank(name, &both[..of_table.len()]) {
                tell(rank, name, id);
            }
        }
    }
}

/// The words of a keyword, separated by blanks.
pub fn split(keyword: &str) -> Vec<&str> {
    let words: Vec<&str> = keyword.split_whitespace().collect();
    if words.is_empty() || words.len() > WORDS_MAX { vec![keyword] } else { words }
}

/// Sorts only the ranks that the page shows.
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
        let end = offset + (size - hits.len());
        if end < of_rank.len() {
            of_rank.select_nth_unstable(end);
            of_rank.truncate(end);
        }
        of_rank.sort_unstable();
        hits.extend(of_rank.into_iter().skip(offset).take(size - hits.len()).map(|(_, hit)| hit));
        offset = 0;
    }
    hits
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
