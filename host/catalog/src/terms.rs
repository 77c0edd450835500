//! What tables are about: the words of their names, comments and fields, with the tables that have them, so that a
//! question finds its tables without reading all of them. English words count by their stems, Chinese text by pairs of
//! characters.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Words and pairs of one question; further ones are ignored.
const NEEDLES_MAX: usize = 80;
/// Words and pairs of one table; further ones are not found.
const TERMS_MAX: usize = 4_000;
/// The shortest stem that may match inside of words.
const INSIDE_MIN_CHARS: usize = 4;

/// Words without information about the table.
const STOP_WORDS: &[&str] = &[
    "a", "all", "an", "and", "any", "are", "at", "average", "been", "by", "can", "chart", "compare", "count",
    "day", "did", "do", "does", "during", "each", "every", "find", "for", "from", "give", "had", "has",
    "have", "how", "i", "in", "is", "it", "last", "least", "list", "many", "me", "month", "most", "much",
    "my", "number", "of", "on", "or", "over", "past", "per", "please", "show", "sum", "table", "tell",
    "that", "the", "their", "there", "these", "this", "to", "top", "total", "trend", "was", "we", "week",
    "were", "what", "when", "where", "which", "who", "with", "year", "you",
];
/// Characters without information; they end a run of Chinese.
const STOP_CHARACTERS: &str = "的了是有在和与按每各及其这那被把请我你他个";
/// Pairs without information about the table.
const STOP_PAIRS: &[&str] = &[
    "一共", "一下", "上周", "上月", "什么", "今天", "几天", "几个", "分别", "列出", "哪些", "多少", "如何",
    "平均", "总共", "总数", "情况", "所有", "排名", "数量", "显示", "最多", "最少", "最近", "本周", "本月",
    "查看", "查询", "次数", "每天", "每月", "统计", "给出", "趋势", "过去", "近期", "天内",
];

/// Where a table has a word, the best place last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Where {
    FieldText,
    FieldName,
    /// The comment, the tags or the description.
    Text,
    Name,
}

impl Where {
    fn weight(self) -> f32 {
        match self {
            Where::FieldText => 1.0,
            Where::FieldName => 1.5,
            Where::Text => 2.0,
            Where::Name => 4.0,
        }
    }
}

/// The informative words and pairs of a question.
#[derive(Debug, Default)]
pub struct Needles(Vec<Needle>);

#[derive(Debug)]
struct Needle {
    /// A stem, or a pair of Chinese characters; in lower case.
    part: String,
    is_word: bool,
}

impl Needles {
    pub fn of(text: &str) -> Needles {
        let mut known = BTreeSet::new();
        let mut needles: Vec<Needle> = words(text)
            .map(|word| Needle { part: stem(&word).to_owned(), is_word: true })
            .chain(pairs(text).into_iter().map(|part| Needle { part, is_word: false }))
            .collect();
        needles.retain(|needle| known.insert(needle.part.clone()));
        needles.truncate(NEEDLES_MAX);
        Needles(needles)
    }

    /// Whether a field's name or text has one of them.
    pub fn are_in(&self, name: &str, text: &str) -> bool {
        let parts: BTreeSet<String> = parts_of(name).chain(parts_of(text)).collect();
        self.0.iter().any(|needle| parts.contains(&needle.part) || needle.is_inside(name))
    }
}

impl Needle {
    fn is_inside(&self, word: &str) -> bool {
        self.is_word
            && self.part.chars().count() >= INSIDE_MIN_CHARS
            && word.to_lowercase().contains(&self.part)
    }
}

/// Words with the places that have them.
#[derive(Debug, Default)]
pub struct Terms {
    ids: HashMap<Box<str>, u32>,
    /// By id: the places in order.
    places: Vec<Vec<(u32, Where)>>,
    /// By place: the ids of its words.
    of_places: Vec<Box<[u32]>>,
}

impl Terms {
    /// Replaces the words of a place.
    pub fn put<'t>(&mut self, place: u32, texts: impl Iterator<Item = (Where, &'t str)>) {
        self.remove(place);
        let mut found: BTreeMap<String, Where> = BTreeMap::new();
        for (whence, text) in texts {
            for part in parts_of(text) {
                if found.len() >= TERMS_MAX && !found.contains_key(&part) {
                    break;
                }
                let best = found.entry(part).or_insert(whence);
                *best = whence.max(*best);
            }
        }
        let ids = found.into_iter().map(|(part, whence)| {
            let next = self.places.len() as u32;
            let id = *self.ids.entry(part.into()).or_insert(next);
            if id == next {
                self.places.push(Vec::new());
            }
            let places = &mut self.places[id as usize];
            let at = places.partition_point(|(known, _)| *known < place);
            places.insert(at, (place, whence));
            id
        });
        let ids: Box<[u32]> = ids.collect();
        if self.of_places.len() <= place as usize {
            self.of_places.resize_with(place as usize + 1, Box::default);
        }
        self.of_places[place as usize] = ids;
    }

    /// Forgets the words of a place. A word that none has any more stays, since it comes back as a rule.
    pub fn remove(&mut self, place: u32) {
        let Some(ids) = self.of_places.get_mut(place as usize) else { return };
        for id in std::mem::take(ids) {
            let places = &mut self.places[id as usize];
            if let Ok(at) = places.binary_search_by_key(&place, |(known, _)| *known) {
                places.remove(at);
            }
        }
    }

    /// Bytes in memory, about.
    pub fn bytes(&self) -> usize {
        let words: usize = self.ids.keys().map(|word| word.len() + 48).sum();
        let places: usize = self.places.iter().map(|places| 24 + places.capacity() * 8).sum();
        let of_places: usize = self.of_places.iter().map(|ids| 16 + ids.len() * 4).sum();
        words + places + of_places
    }

    /// The places that have a word, each with its weight.
    fn having(&self, needle: &Needle) -> Vec<(u32, f32)> {
        if let Some(id) = self.ids.get(needle.part.as_str()) {
            let places = &self.places[*id as usize];
            if !places.is_empty() {
                return places.iter().map(|(place, whence)| (*place, whence.weight())).collect();
            }
        }
        if !needle.is_word || needle.part.chars().count() < INSIDE_MIN_CHARS {
            return Vec::new();
        }
        let mut inside: BTreeMap<u32, f32> = BTreeMap::new();
        for (word, id) in &self.ids {
            if word.contains(needle.part.as_str()) {
                for (place, whence) in &self.places[*id as usize] {
                    let weight = inside.entry(*place).or_default();
                    *weight = weight.max(whence.weight() / 2.0);
                }
            }
        }
        inside.into_iter().collect()
    }
}

/// Scores the places of several sets of words, whose words are as rare as they are in all of them: for each set, those that
/// fit, by place. `sees` tells of a set's place whether it counts.
pub fn scores(sets: &[&Terms], needles: &Needles, sees: impl Fn(usize, u32) -> bool) -> Vec<Vec<(u32, f32)>> {
    let seen: Vec<Vec<bool>> = sets
        .iter()
        .enumerate()
        .map(|(set, terms)| (0..terms.of_places.len() as u32).map(|place| sees(set, place)).collect())
        .collect();
    let total: usize = seen.iter().flatten().filter(|seen| **seen).count();
    let mut scores: Vec<Vec<f32>> = seen.iter().map(|places| vec![0.0; places.len()]).collect();
    for needle in &needles.0 {
        let mut having: Vec<Vec<(u32, f32)>> = sets.iter().map(|terms| terms.having(needle)).collect();
        for (places, seen) in having.iter_mut().zip(&seen) {
            places.retain(|(place, _)| seen[*place as usize]);
        }
        let count: usize = having.iter().map(Vec::len).sum();
        let rare = (1.0 + total as f32 / (1.0 + count as f32)).ln();
        for (places, scores) in having.iter().zip(&mut scores) {
            for (place, weight) in places {
                scores[*place as usize] += weight * rare;
            }
        }
    }
    let fitting = |scores: Vec<f32>| {
        let scored = scores.into_iter().enumerate().filter(|(_, score)| *score > 0.0);
        scored.map(|(place, score)| (place as u32, score)).collect()
    };
    scores.into_iter().map(fitting).collect()
}

/// The stems and pairs of a text.
fn parts_of(text: &str) -> impl Iterator<Item = String> {
    all_words(text).map(|word| stem(&word).to_owned()).chain(pairs(text))
}

/// The informative words of a text.
fn words(text: &str) -> impl Iterator<Item = String> {
    all_words(text).filter(|word| {
        let is_number = word.chars().all(|c| c.is_ascii_digit());
        word.len() > 1
            && !is_number
            && !STOP_WORDS.contains(&word.as_str())
            && !STOP_WORDS.contains(&stem(word))
    })
}

/// Words in lower case; `orderItems` and `order_items` are two.
fn all_words(text: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in text.chars() {
        let is_in_word = c.is_alphanumeric() && !is_chinese(c);
        if !is_in_word || was_lower && c.is_uppercase() {
            words.push(String::new());
        }
        if is_in_word {
            words.last_mut().expect("there is always one").extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    words.into_iter().filter(|word| !word.is_empty())
}

/// The longest first.
const ENDINGS: &[&str] = &[
    "ications", "ication", "ations", "ishing", "ation", "ished", "ishes", "ings", "ish", "ing", "ies", "ied",
    "ed", "es", "s", "y", "e",
];

/// An English word without its endings: `publish` and `publications` have the same stem.
fn stem(word: &str) -> &str {
    const STEM_MIN: usize = 4;
    for ending in ENDINGS {
        let Some(stem) = word.strip_suffix(ending) else { continue };
        if stem.len() >= STEM_MIN && stem.is_ascii() {
            return stem;
        }
    }
    word.strip_suffix('s').filter(|stem| stem.len() > 2 && !stem.ends_with('s')).unwrap_or(word)
}

/// Pairs of adjacent Chinese characters.
fn pairs(text: &str) -> Vec<String> {
    let runs = text.split(|c: char| !is_chinese(c) || STOP_CHARACTERS.contains(c));
    let of_run = |run: &str| {
        let characters: Vec<char> = run.chars().collect();
        characters.windows(2).map(|pair| pair.iter().collect::<String>()).collect::<Vec<_>>()
    };
    runs.flat_map(of_run).filter(|pair| !STOP_PAIRS.contains(&pair.as_str())).collect()
}

fn is_chinese(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(tables: &[(&str, &str, &[&str])]) -> Terms {
        let mut terms = Terms::default();
        for (place, (name, comment, fields)) in tables.iter().enumerate() {
            let fields = fields.iter().map(|field| (Where::FieldName, *field));
            let texts = [(Where::Name, *name), (Where::Text, *comment)].into_iter().chain(fields);
            terms.put(place as u32, texts);
        }
        terms
    }

    fn best(terms: &Terms, question: &str) -> Option<u32> {
        let scores = scores(&[terms], &Needles::of(question), |_, _| true);
        let best = scores[0].iter().max_by(|one, other| one.1.total_cmp(&other.1).then(other.0.cmp(&one.0)));
        best.map(|(place, _)| *place)
    }

    #[test]
    fn a_table_is_found_by_its_name_its_comment_and_its_fields() {
        let mut terms = terms(&[
            ("ods_orders", "订单表", &["order_id", "amount"]),
            ("dimcustomer", "", &["city", "memberLevel"]),
            ("publications", "", &["published_at"]),
        ]);
        assert_eq!(best(&terms, "How many orders are there?"), Some(0));
        assert_eq!(best(&terms, "上个月的订单数"), Some(0));
        assert_eq!(best(&terms, "how many customers"), Some(1), "inside of a word");
        assert_eq!(best(&terms, "members by level"), Some(1));
        assert_eq!(best(&terms, "what was published"), Some(2));
        assert_eq!(best(&terms, "the weather"), None);
        terms.put(0, [(Where::Name, "invoices")].into_iter());
        assert_eq!((best(&terms, "orders"), best(&terms, "invoice")), (None, Some(0)));
        terms.remove(0);
        assert_eq!(best(&terms, "invoice"), None);
    }

    #[test]
    fn what_is_not_seen_counts_nothing() {
        let terms = terms(&[("orders", "", &[]), ("orders_old", "", &[])]);
        let found = scores(&[&terms], &Needles::of("orders"), |_, place| place == 1);
        assert_eq!(found[0].iter().map(|(place, _)| *place).collect::<Vec<u32>>(), [1]);
    }
}
