//! What tables are about: the words of their names, comments and fields, with the tables that have them, so that a
//! question finds its tables without reading all of them. English words count by their stems, Chinese text by pairs of
//! characters.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Words and pairs of one question; further ones are ignored.
const NEEDLES_MAX: usize = 80;
/// Words and pairs of one table; further ones are not found.
const TERMS_MAX: usize = 4_000;
/// Characters of a word at most; a longer word is not searched.
const WORD_MAX_CHARS: usize = 40;
/// Words of tables in memory at most, all together, 8 bytes each; a table beyond is found by its name alone.
const PLACES_MAX: usize = 20_000_000;
/// The shortest stem that may match inside of words, and how many of a question do: each looks through all words.
const INSIDE_MIN_CHARS: usize = 4;
const INSIDE_MAX: usize = 10;

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

#[derive(Debug, Default)]
struct Term {
    word: Box<str>,
    places: Vec<(u32, Where)>,
}

/// Words with the places that have them.
#[derive(Debug, Default)]
pub struct Terms {
    ids: HashMap<Box<str>, u32>,
    /// By id: the word, and its places in order. Without places the id is free.
    words: Vec<Term>,
    free: Vec<u32>,
    /// The number of all words of all places.
    count: usize,
    /// By place: the ids of its words.
    of_places: Vec<Box<[u32]>>,
}

impl Terms {
    /// Replaces the words of a place.
    pub fn put<'t>(&mut self, place: u32, texts: impl Iterator<Item = (Where, &'t str)>) {
        self.remove(place);
        let mut found: BTreeMap<String, Where> = BTreeMap::new();
        for (whence, text) in texts {
            if whence != Where::Name && self.count >= PLACES_MAX {
                break;
            }
            for part in parts_of(text).filter(|part| part.chars().count() <= WORD_MAX_CHARS) {
                if found.len() >= TERMS_MAX && !found.contains_key(&part) {
                    break;
                }
                let best = found.entry(part).or_insert(whence);
                *best = whence.max(*best);
            }
        }
        let mut ids = Vec::with_capacity(found.len());
        for (part, whence) in found {
            let id = self.id_of(part);
            let places = &mut self.words[id as usize].places;
            let at = places.partition_point(|(known, _)| *known < place);
            places.insert(at, (place, whence));
            ids.push(id);
        }
        self.count += ids.len();
        if self.of_places.len() <= place as usize {
            self.of_places.resize_with(place as usize + 1, Box::default);
        }
        self.of_places[place as usize] = ids.into();
    }

    /// The id of a word; a new one if it has none.
    fn id_of(&mut self, word: String) -> u32 {
        if let Some(id) = self.ids.get(word.as_str()) {
            return *id;
        }
        let word: Box<str> = word.into();
        let id = self.free.pop().unwrap_or_else(|| {
            self.words.push(Term::default());
            (self.words.len() - 1) as u32
        });
        self.words[id as usize].word = word.clone();
        self.ids.insert(word, id);
        id
    }

    /// Forgets the words of a place.
    pub fn remove(&mut self, place: u32) {
        let Some(ids) = self.of_places.get_mut(place as usize) else { return };
        let ids = std::mem::take(ids);
        self.count -= ids.len();
        for id in ids {
            let term = &mut self.words[id as usize];
            if let Ok(at) = term.places.binary_search_by_key(&place, |(known, _)| *known) {
                term.places.remove(at);
            }
            if term.places.is_empty() {
                self.ids.remove(&std::mem::take(&mut term.word));
                self.free.push(id);
            }
        }
    }

    /// Bytes in memory, about.
    pub fn bytes(&self) -> usize {
        let words: usize =
            self.words.iter().map(|term| 2 * term.word.len() + 100 + term.places.capacity() * 8).sum();
        let of_places: usize = self.of_places.iter().map(|ids| 16 + ids.len() * 4).sum();
        words + of_places
    }

    /// The places that have a word, of those that are seen, each with its weight.
    fn having(&self, needle: &Needle, seen: &[bool]) -> Vec<(u32, f32)> {
        let Some(id) = self.ids.get(needle.part.as_str()) else { return Vec::new() };
        let places = self.words[*id as usize].places.iter();
        let seen = places.filter(|(place, _)| seen[*place as usize]);
        seen.map(|(place, whence)| (*place, whence.weight())).collect()
    }

    /// The same where the word is inside of others.
    fn having_inside(&self, needle: &Needle, seen: &[bool]) -> Vec<(u32, f32)> {
        let mut inside: BTreeMap<u32, f32> = BTreeMap::new();
        for term in self.words.iter().filter(|term| term.word.contains(needle.part.as_str())) {
            for (place, whence) in term.places.iter().filter(|(place, _)| seen[*place as usize]) {
                let weight = inside.entry(*place).or_default();
                *weight = weight.max(whence.weight() / 2.0);
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
    let mut inside = 0;
    for needle in &needles.0 {
        // Only what is seen decides: a hidden table has no word for others.
        let sets_seen = || sets.iter().zip(&seen);
        let mut having: Vec<Vec<(u32, f32)>> =
            sets_seen().map(|(terms, seen)| terms.having(needle, seen)).collect();
        let may_be_inside = needle.is_word && needle.part.chars().count() >= INSIDE_MIN_CHARS;
        if may_be_inside && inside < INSIDE_MAX && having.iter().all(Vec::is_empty) {
            inside += 1;
            having = sets_seen().map(|(terms, seen)| terms.having_inside(needle, seen)).collect();
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
        let words = terms.words.len();
        terms.put(0, [(Where::Name, "again")].into_iter());
        assert_eq!(terms.words.len(), words, "the place of a word that is gone is used again");
    }

    #[test]
    fn what_is_not_seen_counts_nothing() {
        let terms = terms(&[("orders", "", &[]), ("orders_old", "", &[])]);
        let found = scores(&[&terms], &Needles::of("orders"), |_, place| place == 1);
        assert_eq!(found[0].iter().map(|(place, _)| *place).collect::<Vec<u32>>(), [1]);
        // A hidden table of that very name hides no other one.
        let terms = self::terms(&[("customer", "", &[]), ("dimcustomer", "", &[])]);
        let found = scores(&[&terms], &Needles::of("customer"), |_, place| place == 1);
        assert_eq!(found[0].iter().map(|(place, _)| *place).collect::<Vec<u32>>(), [1]);
    }
}
