//! Many words, looked for in a text at once, in any case.

use std::collections::BTreeMap;
use std::ops::Range;

/// Words in order, so that those that a text begins with are next to each other.
pub struct Words {
    /// In lower case, each with what has it.
    known: Vec<(String, Vec<usize>)>,
}

/// A place of a word in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// In bytes.
    pub range: Range<usize>,
    /// The number of the word, for [`Words::owners`].
    pub word: usize,
}

impl Words {
    /// Of words with what has them.
    pub fn of<'w>(words: impl Iterator<Item = (&'w str, usize)>) -> Words {
        let mut known: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (word, owner) in words {
            known.entry(word.trim().chars().map(lower).collect()).or_default().push(owner);
        }
        known.remove("");
        Words { known: known.into_iter().collect() }
    }

    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// What has this word, in the order in which it was given.
    pub fn owners(&self, word: usize) -> &[usize] {
        self.known.get(word).map_or(&[], |(_, owners)| owners)
    }

    /// Where words stand alone: `GMV` is not in `GMVX`, `会员` is in `新会员数`. From left to right, the shorter first.
    pub fn places(&self, text: &str) -> impl Iterator<Item = Place> {
        let lower: String = text.chars().map(lower).collect();
        // Where each character begins in both: a letter may have another length in lower case.
        let ends = std::iter::once((lower.len(), text.len()));
        let begins = lower.char_indices().zip(text.char_indices());
        let begins: Vec<(usize, usize)> =
            begins.map(|((lower, _), (original, _))| (lower, original)).chain(ends).collect();
        (0..begins.len() - 1).flat_map(move |at| {
            let (begin, original) = begins[at];
            let is_alone = |word: &&usize| stands_alone(&lower, begin, &self.known[**word].0);
            let place = |word: usize| {
                let end = begin + self.known[word].0.len();
                let end = begins.binary_search_by_key(&end, |(lower, _)| *lower).unwrap_or(at);
                Place { range: original..begins[end].1, word }
            };
            let here = self.beginning(&lower.as_bytes()[begin..]);
            here.iter().filter(is_alone).map(|word| place(*word)).collect::<Vec<_>>()
        })
    }

    /// The words that a text begins with, the shorter first: each byte of it leaves fewer of them.
    fn beginning(&self, text: &[u8]) -> Vec<usize> {
        let mut left = 0..self.known.len();
        let mut found = Vec::new();
        for (depth, byte) in text.iter().enumerate() {
            let byte_of = |(word, _): &(String, Vec<usize>)| word.as_bytes().get(depth).copied();
            let words = &self.known[left.clone()];
            let are_all =
                [words.first(), words.last()].iter().all(|word| word.and_then(byte_of) == Some(*byte));
            if !are_all {
                let begin = words.partition_point(|word| byte_of(word) < Some(*byte));
                let count = words[begin..].partition_point(|word| byte_of(word) == Some(*byte));
                left = left.start + begin..left.start + begin + count;
            }
            match self.known[left.clone()].first() {
                Some((word, _)) if word.len() == depth + 1 => found.push(left.start),
                Some(_) => {}
                None => break,
            }
        }
        found
    }
}

fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

/// Whether a word at this byte is no part of a longer one.
fn stands_alone(text: &str, begin: usize, word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = word.starts_with(|c: char| c.is_ascii_alphanumeric()) && text[..begin].ends_with(is_part);
    let end = begin + word.len();
    let goes_on = word.ends_with(|c: char| c.is_ascii_alphanumeric()) && text[end..].starts_with(is_part);
    !begins && !goes_on
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beginnings and ends.
    fn ranges(text: &str, word: &str) -> Vec<(usize, usize)> {
        Words::of([(word, 0)].into_iter())
            .places(text)
            .map(|place| (place.range.start, place.range.end))
            .collect()
    }

    #[test]
    fn words_stand_alone_in_any_case() {
        assert_eq!(ranges("gmv, GMVX and GMV", "Gmv"), [(0, 3), (14, 17)]);
        assert_eq!(ranges("新会员数", "会员"), [(3, 9)]);
        assert!(
            ranges("a_gmv", "gmv").is_empty() && ranges("x", " ").is_empty() && ranges("", "x").is_empty()
        );
        // A letter that has another length in lower case.
        assert_eq!(ranges("İ gmv", "GMV"), [(3, 6)]);
        assert_eq!(ranges("ẞ ẞa", "ẞa"), [(4, 8)]);
    }

    #[test]
    fn equal_words_are_one_and_those_in_each_other_are_all_found() {
        let words = Words::of([("会", 0), ("会员", 1), ("会员 ", 2), ("会员日", 3), ("员", 4)].into_iter());
        let found: Vec<(Range<usize>, &[usize])> =
            words.places("会员会").map(|place| (place.range, words.owners(place.word))).collect();
        assert_eq!(words.len(), 4);
        assert_eq!(found, [(0..3, &[0][..]), (0..6, &[1, 2]), (3..6, &[4]), (6..9, &[0])]);
    }

    /// Texts and words that once took seconds.
    #[test]
    fn many_words_are_looked_for_at_once() {
        let count = |words: Vec<String>, text: &str| {
            let words = Words::of(words.iter().enumerate().map(|(owner, word)| (word.as_str(), owner)));
            words.places(text).count()
        };
        let equal = vec!["a".to_owned(); 51];
        assert_eq!(count(equal, &format!("{}b", "a ".repeat(4_999))), 4_999);
        let long = (0..50_000).map(|one| format!("{}{one}", "z".repeat(90))).collect();
        assert_eq!(count(long, &"z".repeat(9_990)), 0);
        let alike = (0..50_000).map(|one| format!("{}{one}", "会".repeat(90))).collect();
        assert_eq!(count(alike, &"会".repeat(10_000)), 0);
        let nested = (1..=100).map(|length| "会".repeat(length)).collect();
        assert_eq!(count(nested, &"会".repeat(2_000)), 100 * 2_000 - 99 * 50);
    }
}
