//! Words that are no word of the question's language nor of the tables, read as the one that they nearly are:
//! `countires`, `independence` of a field `indep_year`.

use std::cell::LazyCell;

use rustc_hash::{FxHashMap, FxHashSet};

use super::names::{Named, Names};
use crate::schema::{Kind, Place, Schema};
use crate::words::{self, Form, Word, english, glossary, phrases, short};

/// The shortest word in which a letter may be missing, additional or exchanged with its neighbour, in which one may be
/// another one, and in which two letters may be wrong.
const ONE_WRONG_MIN: usize = 5;
const OTHER_LETTER_MIN: usize = 8;
const TWO_WRONG_MIN: usize = 9;
/// The shortest abbreviation.
const SHORT_MIN: usize = 4;

/// Joins two words of which the tables have one, as `data source` of a field `datasource`.
fn join(words: &mut Vec<Word>, names: &Names) {
    let is_word = |word: &Word| word.form == Form::Latin && word.lower.is_ascii();
    let mut at = 0;
    while at + 1 < words.len() {
        let (first, second) = (&words[at], &words[at + 1]);
        let lower = format!("{}{}", first.lower, second.lower);
        let concept = words::concept(&lower);
        let is_pair = is_word(first) && is_word(second) && lower.len() >= OTHER_LETTER_MIN;
        if is_pair && names.has(&[&concept]) && !names.has(&[&first.concept, &second.concept]) {
            let text = format!("{} {}", first.text, second.text);
            let second = words.remove(at + 1);
            words[at] = Word { text, lower, concept, ..second };
        }
        at += 1;
    }
}

/// Repeats the end that two names share: `first and last names` as `first names and last names`.
fn spread(words: &mut Vec<Word>, names: &Names) {
    let mut at = 0;
    while let Some([first, joint, second, end]) = words.get(at..at + 4) {
        let is_joint = matches!(joint.lower.as_str(), "and" | "or");
        let both_end = [first, second]
            .iter()
            .all(|word| word.form == Form::Latin && names.has(&[&word.concept, &end.concept]));
        if is_joint && both_end && !names.has(&[&first.concept]) {
            let end = Word { possessive: false, ..end.clone() };
            words.insert(at + 1, end);
            at += 2;
        }
        at += 1;
    }
}

/// Reads `yearly premium` as the field `annual_premium`.
fn name_years(words: &mut [Word], names: &Names) {
    for at in 1..words.len() {
        if words[at - 1].lower == "yearly" && names.has(&["annual", &words[at].concept]) {
            (words[at - 1].lower, words[at - 1].concept) = ("annual".to_owned(), "annual".to_owned());
        }
    }
}

/// Comparisons after a verb that says a number: `rated above 2400`.
const COMPARING: &[&str] =
    &["higher", "lower", "above", "below", "over", "under", "more", "less", "at", "between", "exactly"];

/// Replaces what is unknown; returns what was replaced, and by what.
pub fn repair(words: &mut Vec<Word>, schema: &Schema, names: &Names) -> Vec<(String, String)> {
    let called = |fits: &dyn Fn(&Named) -> bool| -> FxHashSet<&str> {
        let named = names.list.iter().filter(|(_, named)| fits(named));
        named.flat_map(|(concepts, _)| concepts).map(String::as_str).collect()
    };
    // Most questions have no unknown word.
    let all = LazyCell::new(|| called(&|_| true));
    // A value that nearly fits is another one: Nanning is not Nanjing.
    let known = LazyCell::new(|| called(&|named| !matches!(named, Named::Value(..))));
    let times = LazyCell::new(|| {
        Forms::of(&called(&|named| matches!(named, Named::Field(place, _) if says_when(schema, *place))))
    });
    let numbers = LazyCell::new(|| {
        let is_number =
            |named: &Named| matches!(named, Named::Field(place, _) if schema.field(*place).is_number());
        Forms::of(&called(&is_number))
    });
    let tables = LazyCell::new(|| called(&|named| matches!(named, Named::Table(_))));
    join(words, names);
    spread(words, names);
    name_years(words, names);
    let mut repaired = Vec::new();
    let is_left = |word: &Word| {
        let is_word = word.form == Form::Latin && word.lower.is_ascii() && word.lower.len() >= ONE_WRONG_MIN;
        !is_word
            || glossary::english(&word.lower).is_some()
            || phrases::has(&word.lower)
            || all.contains(word.concept.as_str())
            || names_source(schema, &word.lower)
    };
    for at in 0..words.len() {
        if is_left(&words[at]) {
            continue;
        }
        let lower = |at: usize| words.get(at).map_or("", |word| word.lower.as_str());
        let (before, word, next) = (at.checked_sub(1).map_or("", lower), lower(at), lower(at + 1));
        // `studying in Rome` does not name a field `study_year`; `joining date` names `joined_on`.
        let is_going_on =
            word.ends_with("ing") && !matches!(next, "date" | "time" | "year") && before != "of";
        let time = times.only(word);
        if is_going_on && time.is_some() {
            continue;
        }
        let number = if COMPARING.contains(&next) { numbers.only(word) } else { None };
        let word = &mut words[at];
        if let Some(form) = time.or(number).or_else(|| table_of_verb(&word.lower, &tables)) {
            form.clone_into(&mut word.concept);
            continue;
        }
        // A name of somebody is no abbreviation.
        let is_name = at > 0 && word.text.starts_with(char::is_uppercase);
        let meant = meant(&word.lower, &word.concept, &known);
        let short = || if is_name { None } else { abbreviated(&word.concept, &known, &tables) };
        let Some(meant) = meant.or_else(short) else { continue };
        repaired.push((word.text.clone(), meant.to_owned()));
        word.concept = words::concept(meant);
        meant.clone_into(&mut word.lower);
    }
    repaired
}

/// Whether a word names the data source: `festival` of `film_fest`.
pub fn names_source(schema: &Schema, lower: &str) -> bool {
    let is_named = |word: &String| {
        let plain = english::singular(lower);
        plain == *word || word.len() >= SHORT_MIN && plain.starts_with(word.as_str())
    };
    english::name_words(&schema.datasource).iter().any(is_named)
}

fn says_when(schema: &Schema, place: Place) -> bool {
    let field = schema.field(place);
    field.kind() == Kind::Date || short::words_of(&field.name).iter().any(|word| word == "year")
}

/// Words by the stems of their forms.
struct Forms<'k>(FxHashMap<String, Vec<&'k str>>);

impl<'k> Forms<'k> {
    fn of(known: &FxHashSet<&'k str>) -> Forms<'k> {
        let mut by_stem: FxHashMap<String, Vec<&'k str>> = FxHashMap::default();
        for word in known {
            stems(word).into_iter().for_each(|stem| by_stem.entry(stem).or_default().push(word));
        }
        Forms(by_stem)
    }

    /// The only word of which it is another form: `opened` of `open`, `founding` of `founded`.
    fn only(&self, lower: &str) -> Option<&'k str> {
        let mut found: Vec<&'k str> =
            stems(lower).iter().filter_map(|stem| self.0.get(stem)).flatten().copied().collect();
        found.sort_unstable();
        found.dedup();
        (found.len() == 1).then(|| found[0])
    }
}

fn stems(word: &str) -> Vec<String> {
    let mut stems = english::verb_stems(word);
    stems.push(word.to_owned());
    stems.retain(|stem| stem.len() >= SHORT_MIN);
    stems
}

/// Ends of nouns for what a verb says: `donation`, `performance`, `delivery`.
const NOUNS: &[&str] = &["", "ion", "ation", "ment", "ance", "ing", "al", "y"];

/// The only table whose rows are what a verb says: `donated` of donations.
fn table_of_verb<'k>(lower: &str, tables: &FxHashSet<&'k str>) -> Option<&'k str> {
    let own = if lower.ends_with("ed") { stems(lower) } else { Vec::new() };
    let is_of = |table: &&&str| {
        let mut roots = NOUNS.iter().filter_map(|end| table.strip_suffix(end));
        roots.any(|root| own.iter().any(|stem| stem == root))
    };
    let mut found = tables.iter().filter(is_of);
    found.next().copied().filter(|_| found.next().is_none())
}

/// The only word that is short for it: a table by its first three letters, any name by its consonants.
fn abbreviated<'k>(
    concept: &str,
    known: &FxHashSet<&'k str>,
    tables: &FxHashSet<&'k str>,
) -> Option<&'k str> {
    let is_free = |short: &&&str| {
        let is_word = glossary::english(short).is_some() || phrases::has(short);
        !is_word && !short::UNITS.contains(*short) && short::usual(short).is_none()
    };
    let is_table = |short: &str| tables.contains(short);
    let stands_for = |short: &&&str| {
        let is_long = short.len() >= SHORT_MIN || is_table(short);
        is_long && short::is_skeleton_of(short, concept) || is_table(short) && short::begins(short, concept)
    };
    let mut found = known.iter().filter(is_free).filter(stands_for);
    found.next().copied().filter(|_| found.next().is_none())
}

/// The only word that it may be.
fn meant<'k>(lower: &str, concept: &str, known: &FxHashSet<&'k str>) -> Option<&'k str> {
    let wrong = if lower.len() >= TWO_WRONG_MIN { 2 } else { 1 };
    let close = |known: &&&str| {
        known.len() >= ONE_WRONG_MIN - 1
            && known.is_ascii()
            && known.as_bytes()[0] == lower.as_bytes()[0]
            && is_near(known, concept, wrong)
            && (lower.len() >= OTHER_LETTER_MIN || !is_other_letter(known, concept))
    };
    let begins = |known: &&&str| {
        known.len() >= SHORT_MIN && lower.len() > known.len() + 1 && lower.starts_with(**known)
    };
    let only = |mut found: Vec<&'k str>| {
        found.sort_unstable();
        found.dedup();
        (found.len() == 1).then(|| found[0])
    };
    only(known.iter().filter(close).copied().collect())
        .or_else(|| only(known.iter().filter(begins).copied().collect()))
}

/// The values that a word nearly is, each once.
pub fn near<'v>(word: &str, values: impl Iterator<Item = &'v String>) -> Vec<String> {
    let lower = word.to_lowercase();
    let wrong = if lower.len() >= TWO_WRONG_MIN { 2 } else { 1 };
    if !lower.is_ascii() || lower.len() < ONE_WRONG_MIN {
        return Vec::new();
    }
    let is_close = |value: &&String| {
        let value = value.to_lowercase();
        value.is_ascii()
            && value.as_bytes().first() == lower.as_bytes().first()
            && is_near(&value, &lower, wrong)
    };
    let mut found: Vec<String> = Vec::new();
    for value in values.filter(is_close) {
        if !found.contains(value) {
            found.push(value.clone());
        }
    }
    found
}

/// Whether just one letter is another one, as in words that mean something else.
fn is_other_letter(one: &str, other: &str) -> bool {
    one.len() == other.len()
        && one.bytes().zip(other.bytes()).filter(|(one, other)| one != other).count() == 1
}

/// Whether so many letters at most are wrong, missing, additional or exchanged with their neighbour.
fn is_near(one: &str, other: &str, at_most: usize) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len().abs_diff(other.len()) > at_most {
        return false;
    }
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for (at, letter) in one.iter().enumerate() {
        let mut row = vec![at + 1];
        for (to, with) in other.iter().enumerate() {
            let changed = rows[at][to] + usize::from(letter != with);
            let mut least = changed.min(rows[at][to + 1] + 1).min(row[to] + 1);
            if at > 0 && to > 0 && *letter == other[to - 1] && one[at - 1] == *with {
                least = least.min(rows[at - 1][to - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()] <= at_most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_with_a_wrong_letter_is_found() {
        let known = FxHashSet::from_iter(["country", "region", "indep", "customer"]);
        assert_eq!(meant("countires", "countire", &known), Some("country"));
        assert_eq!(meant("costumers", "costumer", &known), Some("customer"));
        assert_eq!(meant("independence", "independence", &known), Some("indep"));
        assert_eq!(meant("legion", "legion", &known), None);
        let known = FxHashSet::from_iter(["revenue", "place"]);
        assert_eq!(meant("revenge", "revenge", &known), None);
        assert_eq!(meant("plate", "plate", &known), None);
        assert_eq!(meant("weather", "weather", &known), None);
    }
}
