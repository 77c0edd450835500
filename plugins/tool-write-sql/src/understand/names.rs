//! The names of tables and fields in questions.

use rustc_hash::{FxHashMap, FxHashSet};

use super::link::{self, Chunk};
use crate::calendar::Day;
use crate::schema::{Field, Kind, Place, Schema};
use crate::words::chinese::{Dictionary, is_han};
use crate::words::peoples::{PLACES, SEXES, demonyms, sex_of};
use crate::words::{self, Form, Word, english, phrases, short, values};

/// Prefixes of a data warehouse's names that do not describe the content.
pub const PREFIXES: &[&str] =
    &["ods", "dwd", "dws", "ads", "dim", "fact", "fct", "tbl", "t", "v", "stg", "sqlite"];
const SUFFIXES: &[&str] = &["di", "df", "record", "table", "list", "info", "log"];
/// Further suffixes of names that say how something is measured.
const MEASURED: &[&str] = &["count", "cnt", "pct", "percent", "percentage"];
/// Ends of names of times.
const TIMES: &[&str] = &["at", "time", "date", "on", "day"];
/// Words that do not name a field alone, as a suffix of its name.
const VAGUE: &[&str] = &[
    "id", "code", "name", "time", "date", "at", "of", "no", "table", "number", "by", "2", "person", "out",
    "off", "up",
];
/// The longest part of a comment that can be a name, in characters.
const COMMENT_NAME_MAX: usize = 10;

/// Tags of a schema that are read.
const TAGS_MAX: usize = 500;

/// The shortest value of which a word ending with `ly` may be made.
const ADVERB_MIN: usize = 4;
/// First words of names of truth values.
const FLAGS: &[&str] = &["is", "has", "if", "was", "can"];

/// How well a name matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fit {
    /// The end of the name.
    Part,
    /// The complete name.
    Whole,
    /// The complete name, after its table's name.
    Own,
}

/// The target of a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Named {
    Table(usize),
    Field(Place, Fit),
    /// A time field, by the verb of its event.
    Verb(Place),
    Value(Place, String),
}

impl Named {
    /// The table that it is, or whose it is.
    pub fn table(&self) -> usize {
        match self {
            Named::Table(table) => *table,
            Named::Field(place, _) | Named::Verb(place) | Named::Value(place, _) => place.table,
        }
    }
}

/// All names of a schema.
#[derive(Debug, Default)]
pub struct Names {
    pub list: Vec<(Vec<String>, Named)>,
    pub dictionary: Dictionary,
    /// Indices in the list, by the first word.
    by_first: FxHashMap<String, Vec<usize>>,
    /// Indices of values in the list, by the complete value in lower case.
    by_value: FxHashMap<String, Vec<usize>>,
    /// The names of all tables.
    tables: FxHashSet<Vec<String>>,
}

impl Names {
    pub fn of(schema: &Schema) -> Names {
        let mut names = Names::default();
        for table in &schema.tables {
            let comments = table.fields.iter().map(|field| &field.comment).chain([&table.comment]);
            for part in comments.flat_map(|comment| chinese_parts(comment)) {
                names.dictionary.learn(&part);
            }
            for field in &table.fields {
                let listed = field.listed_values().into_iter().filter_map(|(_, called)| called);
                if field.kind() == Kind::Date {
                    continue;
                }
                for value in field.values.iter().cloned().chain(listed) {
                    names.dictionary.learn_value(&value);
                    values::also_called(&value).for_each(|name| names.dictionary.learn_value(name));
                }
            }
        }
        let own: Vec<Vec<Vec<String>>> =
            (0..schema.tables.len()).map(|table| names.table_names(schema, table)).collect();
        names.tables = own.iter().flatten().cloned().collect();
        for (table, own) in own.iter().enumerate() {
            names.add_table(schema, table, own);
        }
        names.add_ends_of_tables(schema);
        names
    }

    /// `stations` of a table `Docking_Station`, where nothing else is called so.
    fn add_ends_of_tables(&mut self, schema: &Schema) {
        let end = |table: usize| {
            let name = trimmed(&plain(&english::name_words(&schema.table(table).name)));
            name.last().cloned().filter(|_| name.len() > 1)
        };
        let ends: Vec<Option<String>> = (0..schema.tables.len()).map(end).collect();
        for (table, end) in ends.iter().enumerate() {
            let Some(end) = end else { continue };
            let is_only = ends.iter().filter(|other| other.as_ref() == Some(end)).count() == 1;
            let is_free = !self.names_something(end) && !phrases::has(end) && !VAGUE.contains(&end.as_str());
            if is_only && is_free {
                self.add(vec![end.clone()], Named::Table(table));
            }
        }
    }

    /// The names of a schema, with tags of its tables. A tag names its table only if none of its words has another meaning
    /// and no other table has it.
    pub fn with_tags(schema: &Schema) -> Names {
        let mut names = Names::of(schema);
        let tables = schema.tables.iter().enumerate();
        let tags = tables.flat_map(|(table, owner)| owner.tags.iter().map(move |tag| (table, tag)));
        let free: Vec<(usize, &String)> =
            tags.take(TAGS_MAX).filter(|(_, tag)| names.are_unknown(tag, schema)).collect();
        for (_, tag) in &free {
            chinese_parts(tag).iter().for_each(|part| names.dictionary.learn(part));
        }
        let mut tables_of: FxHashMap<Vec<String>, Vec<usize>> = FxHashMap::default();
        for (table, tag) in free {
            let tables = tables_of.entry(concepts(&words::read(tag, &names.dictionary))).or_default();
            if !tables.contains(&table) {
                tables.push(table);
            }
        }
        let mut tags: Vec<(Vec<String>, Vec<usize>)> = tables_of.into_iter().collect();
        tags.sort_unstable();
        for (tag, tables) in tags {
            if let [table] = tables[..] {
                names.add(tag, Named::Table(table));
            }
        }
        names
    }

    /// Whether no word of a text has a meaning.
    fn are_unknown(&self, text: &str, schema: &Schema) -> bool {
        let words = words::read(text, &self.dictionary);
        let pieces = link::pieces(&words, schema, self, Day::of(2000, 1, 1));
        !pieces.is_empty() && pieces.iter().all(|piece| piece.chunk == Chunk::Unknown)
    }

    /// `own`: the names of the table.
    fn add_table(&mut self, schema: &Schema, table: usize, own: &[Vec<String>]) {
        for name in own {
            self.add(name.clone(), Named::Table(table));
        }
        let has_levels = schema.tables[table].fields.iter().any(|field| field.name.starts_with("member_"));
        if has_levels && !own.iter().any(|name| name.iter().any(|word| word == "member")) {
            self.add(vec!["member".to_owned()], Named::Table(table));
        }
        let title = schema.title(table);
        for place in schema.places(table) {
            self.add_field(schema, place, own, title);
            let field = schema.field(place);
            for (value, called) in field.listed_values() {
                if let Some(verb) = verb_of(&value) {
                    self.add(vec![verb], Named::Value(place, value.clone()));
                }
                let others = values::also_called(&value).map(str::to_owned);
                for name in called.into_iter().chain([value.clone()]).chain(others) {
                    self.add(
                        concepts(&words::read(&name, &self.dictionary)),
                        Named::Value(place, value.clone()),
                    );
                }
            }
            if field.values.is_empty() {
                continue;
            }
            // Days are read as such: a sampled one is a value only in quotation marks.
            if field.kind() == Kind::Date {
                for value in &field.values {
                    self.add_quoted(vec![value.to_lowercase()], place, value);
                }
                continue;
            }
            let words = english::name_words(&field.name);
            let has_word = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
            let (is_place, is_sex) = (has_word(PLACES), has_word(SEXES));
            for value in &field.values {
                // `manually`
                if value.len() >= ADVERB_MIN && value.bytes().all(|byte| byte.is_ascii_lowercase()) {
                    self.add(vec![format!("{value}ly")], Named::Value(place, value.clone()));
                }
                if let Some(verb) = verb_of(value) {
                    self.add(vec![verb], Named::Value(place, value.clone()));
                }
                if let Some(sex) = sex_of(value).filter(|_| is_sex) {
                    self.add(vec![sex.to_owned()], Named::Value(place, value.clone()));
                }
                for people in is_place.then(|| demonyms(value)).into_iter().flatten() {
                    self.add(vec![words::concept(people)], Named::Value(place, value.clone()));
                }
                for name in values::also_called(value) {
                    self.add(
                        concepts(&words::read(name, &self.dictionary)),
                        Named::Value(place, value.clone()),
                    );
                }
                let concepts = concepts(&words::read(value, &self.dictionary));
                let is_grammar = match &concepts[..] {
                    // A book called `The`, and not the department `IT`.
                    [only] => UNSAID.contains(&only.as_str()) && *value != value.to_uppercase(),
                    [first, ..] => OPERATORS.contains(&first.as_str()),
                    [] => false,
                };
                match is_grammar {
                    // `by city`: only in quotation marks.
                    true => self.add_quoted(concepts, place, value),
                    false => self.add(concepts, Named::Value(place, value.clone())),
                }
            }
        }
    }

    /// The names of a table, of its comment if that has other words, too.
    fn table_names(&self, schema: &Schema, table: usize) -> Vec<Vec<String>> {
        let owner = schema.table(table);
        let mut names = vec![plain(&english::name_words(&owner.name))];
        names.extend(spelt_out(&names[0], &[]));
        names.extend(chinese_parts(&owner.comment).iter().map(|part| concepts(&self.dictionary.words(part))));
        let shorter: Vec<Vec<String>> = names.iter().map(|name| trimmed(name)).collect();
        names.extend(shorter);
        names.extend(english_name(&owner.comment, &names).into_iter().take(1));
        distinct(names)
    }

    fn add_field(&mut self, schema: &Schema, place: Place, own: &[Vec<String>], title: Option<Place>) {
        let field = schema.field(place);
        let mut names = vec![plain(&english::name_words(&field.name))];
        let whole_name = names[0].clone();
        names.extend(spelt_out(&names[0], own));
        names.extend(chinese_parts(&field.comment).iter().map(|part| concepts(&self.dictionary.words(part))));
        names.extend(names.iter().filter_map(|name| turned(name)).collect::<Vec<_>>());
        let without_table: Vec<Vec<String>> =
            names.iter().flat_map(|name| own.iter().filter_map(|owner| after(name, owner))).collect();
        names.extend(without_table);
        let without_unit: Vec<Vec<String>> = names
            .iter()
            .filter_map(|name| before_end(name, short::UNITS).or(before_end(name, MEASURED)))
            .collect();
        names.extend(without_unit);
        if schema.key(place.table) == Some(place) {
            names.push(vec!["id".to_owned()]);
        }
        if title == Some(place) && whole_name.last().is_some_and(|last| last.ends_with("name")) {
            names.push(vec!["name".to_owned()]);
        }
        let (whole, aliases) = (distinct(names), aliases(&whole_name));
        let mut names = whole;
        let is_date = field.kind() == Kind::Date;
        // `amt`, of which the comment says `amount of the order`
        for told in english_name(&field.comment, &names) {
            self.add(told, Named::Field(place, Fit::Part));
        }
        for alias in aliases {
            self.add(alias, Named::Field(place, Fit::Part));
        }
        names.retain(|name| !(name.len() == 1 && is_unit(&name[0])));
        for name in &names {
            if is_date && let Some(verb) = before_end(name, TIMES) {
                if name.last().is_some_and(|last| last != "date") {
                    self.add(
                        [verb.clone(), vec!["date".to_owned()]].concat(),
                        Named::Field(place, Fit::Part),
                    );
                }
                self.add(verb, Named::Verb(place));
            }
            for owner in own {
                self.add([owner.clone(), name.clone()].concat(), Named::Field(place, Fit::Own));
            }
            // A flag is not a value: `official` of `is_official` must not be shown, but may be a condition.
            let flag = FLAGS.contains(&name[0].as_str());
            if flag
                && name.len() > 1
                && let Some(yes) = yes_of(field)
            {
                self.add(name[1..].to_vec(), Named::Value(place, yes.clone()));
                self.add(name.clone(), Named::Value(place, yes));
            }
            for from in (1..name.len()).filter(|_| !flag) {
                let part = &name[from..];
                if part.len() > 1 || !(VAGUE.contains(&part[0].as_str()) || phrases::says_little(&part[0])) {
                    self.add(part.to_vec(), Named::Field(place, Fit::Part));
                }
            }
            // `opened in 2014` of `open_year`, `government` of `government_form`
            if let Some(first) = before_end(name, LOOSE_ENDS).filter(|first| !self.tables.contains(first)) {
                self.add(first, Named::Field(place, Fit::Part));
            }
            if let Some(first) = before_end(name, &["name"])
                && let [word] = &first[..]
            {
                let is_own = |owner: &String| owner == word || short::is_short_of(word, owner);
                let is_short =
                    own.iter().any(|owner| matches!(&owner[..], [only] if short::is_short_of(word, only)));
                let is_told = title == Some(place) || ROLES.contains(&word.as_str());
                let is_free = !own.iter().flatten().any(is_own)
                    && !self.tables.contains(&first)
                    && !phrases::has(word)
                    && !OF_WHAT_NAME.contains(&word.as_str());
                // `labs` of `lab_name`, of laboratories; `judges` of `judge_name`
                if is_short {
                    self.add(first, Named::Table(place.table));
                } else if is_told && is_free {
                    self.add(first, Named::Field(place, Fit::Part));
                }
            }
            self.add(name.clone(), Named::Field(place, Fit::Whole));
        }
    }

    fn add(&mut self, concepts: Vec<String>, named: Named) {
        let Some(first) = concepts.first() else { return };
        let place = self.list.len();
        self.by_first.entry(first.clone()).or_default().push(place);
        if let Named::Value(_, value) = &named {
            self.by_value.entry(value.to_lowercase()).or_default().push(place);
        }
        self.list.push((concepts, named));
    }

    fn add_quoted(&mut self, concepts: Vec<String>, place: Place, value: &str) {
        self.by_value.entry(value.to_lowercase()).or_default().push(self.list.len());
        self.list.push((concepts, Named::Value(place, value.to_owned())));
    }

    /// Whether a table has just this name.
    pub fn is_table(&self, name: &String) -> bool {
        self.tables.contains(std::slice::from_ref(name))
    }

    /// Whether a table, a field or a value has just this name.
    fn names_something(&self, name: &String) -> bool {
        let named = self.by_first.get(name).into_iter().flatten().map(|place| &self.list[*place]);
        named.filter(|(words, _)| words.len() == 1).any(|(_, named)| !matches!(named, Named::Verb(_)))
    }

    /// Whether something has just this name.
    pub fn has(&self, name: &[&str]) -> bool {
        let beginning = name.first().and_then(|first| self.by_first.get(*first));
        beginning.into_iter().flatten().any(|place| self.list[*place].0.iter().eq(name.iter()))
    }

    /// The names that begin with a word; for a quoted word, those that equal it.
    pub fn beginning(&self, word: &Word) -> impl Iterator<Item = &(Vec<String>, Named)> {
        let places = if word.form == Form::Quoted {
            self.by_value.get(&word.lower)
        } else {
            self.by_first.get(&word.concept)
        };
        places.into_iter().flatten().map(|place| &self.list[*place])
    }
}

/// Measures with what people call them, `|` between names.
const ALIASES: &[(&str, &str)] = &[
    ("sale amount|sale|revenue", "revenue|sale|sale amount|income"),
    ("order amount", "gmv|order total|basket"),
    ("phone", "phone number"),
];

fn aliases(name: &[String]) -> Vec<Vec<String>> {
    let own = name.join(" ");
    let found = ALIASES.iter().filter(|(names, _)| names.split('|').any(|other| other == own));
    let words = |alias: &str| alias.split(' ').map(str::to_owned).collect();
    found.flat_map(|(_, aliases)| aliases.split('|').filter(|alias| *alias != own).map(words)).collect()
}

/// The verb of a state: `refund` of `refunded`.
fn verb_of(value: &str) -> Option<String> {
    let lower = value.to_lowercase();
    let state = lower.strip_suffix("ed").is_some().then(|| english::verb_stems(&lower))?;
    state.iter().find_map(|stem| words::glossary::english(stem)).map(str::to_owned)
}

/// Words that no question means as a value unless it quotes them.
const UNSAID: &[&str] =
    &["the", "a", "an", "that", "it", "you", "they", "she", "he", "me", "us", "we", "them", "this"];

/// First words of what a question says of names, which a value of several words does not begin with.
const OPERATORS: &[&str] =
    &["by", "per", "each", "every", "without", "excluding", "not", "and", "or", "for", "top"];

/// Last words of names that can be left out.
const LOOSE_ENDS: &[&str] = &["year", "form", "type", "amount", "method", "material", "city", "location"];

/// People whose names stand in tables of other things.
const ROLES: &[&str] = &[
    "customer", "manager", "owner", "author", "editor", "judge", "driver", "teacher", "coach", "captain",
    "director", "supplier", "artist", "producer", "speaker", "host", "donor", "sponsor", "warden", "chef",
];

/// Words before `name` that say which name it is, and not whose.
const OF_WHAT_NAME: &[&str] = &[
    "full",
    "common",
    "short",
    "long",
    "display",
    "legal",
    "family",
    "given",
    "middle",
    "nick",
    "user",
    "file",
    "last",
    "maiden",
    "scientific",
    "official",
    "local",
    "host",
    "path",
];

/// The value that says yes, of a field with two of them at most.
fn yes_of(field: &Field) -> Option<String> {
    let values = &field.values;
    let type_text = field.type_text.to_uppercase();
    let is_flag = type_text.contains("BOOL") || type_text.contains("TINYINT");
    let lower = field.name.to_lowercase();
    let is_so = ["is", "has"].iter().any(|first| lower.starts_with(first)) && type_text.contains("INT");
    if values.is_empty() && !field.key && (is_flag || is_so) {
        return Some("1".to_owned());
    }
    let no = |value: &String| ["f", "n", "no", "false", "0"].contains(&value.to_lowercase().as_str());
    let yes = |value: &&String| ["t", "y", "yes", "true", "1"].contains(&value.to_lowercase().as_str());
    let found = values.iter().find(yes)?;
    values.iter().all(|value| value == found || no(value)).then(|| found.clone())
}

/// Letters before `name` with their words.
const OF_NAMES: &[(&str, &str)] = &[("f", "first"), ("l", "last")];

/// A name with its abbreviations spelt out: `stu_id` of a table of students.
fn spelt_out(name: &[String], own: &[Vec<String>]) -> Vec<Vec<String>> {
    let spelt = |(at, word): (usize, &String)| -> Vec<String> {
        // `don_no` of a table of donations
        if at > 0 && word == "no" {
            return vec!["number".to_owned()];
        }
        let is_word = words::glossary::english(word).is_some() || phrases::has(word);
        // `yrs_exp`, `est_year`, `reg_no`
        let in_years = |word: &str| matches!(word, "year" | "years" | "yr" | "yrs" | "no" | "number");
        if let Some((_, whole)) = short::BESIDE_YEARS.iter().find(|(short, _)| short == word)
            && name.iter().any(|other| in_years(other))
        {
            return vec![words::concept(whole)];
        }
        let begins =
            |whole: &&String| word.len() == 2 && at == 0 && name.len() > 1 && whole.starts_with(word);
        let owner = || own.iter().flatten().find(|whole| short::is_short_of(word, whole) || begins(whole));
        // `dur_min` is in minutes.
        if at > 0 && (word == "min" || word.len() == 1) {
            return vec![word.clone()];
        }
        match (owner().filter(|_| !is_word), short::usual(word)) {
            (Some(owner), _) => vec![owner.clone()],
            (None, Some(words)) => words.map(words::concept).collect(),
            (None, None) => vec![word.clone()],
        }
    };
    if let [first, last] = name
        && last == "name"
        && let Some((_, word)) = OF_NAMES.iter().find(|(short, _)| short == first)
    {
        return vec![vec![(*word).to_owned(), last.clone()]];
    }
    let whole: Vec<String> = name.iter().enumerate().flat_map(spelt).collect();
    if whole == name { Vec::new() } else { vec![whole] }
}

/// Words of comments that no name has.
const TELLING: &[&str] = &[
    "when", "where", "what", "who", "how", "whether", "which", "that", "is", "are", "was", "were", "it",
    "its", "number", "id", "code", "key", "and", "or", "for", "from", "by", "in", "on", "to", "with", "if",
    "as", "one", "each", "all", "not", "no",
];
/// The most words of a comment that is a name.
const COMMENT_WORDS_MAX: usize = 4;

/// The English part of a comment as names, if it is short and has none of the words of the names: `amount of the order`, and
/// `order amount`.
fn english_name(comment: &str, names: &[Vec<String>]) -> Vec<Vec<String>> {
    let part = comment.split(['(', '（', ',', ';', ':', '.', '：']).next().unwrap_or_default().trim();
    if !part.is_ascii() || part.is_empty() {
        return Vec::new();
    }
    let words: Vec<String> = english::name_words(part)
        .into_iter()
        .filter(|word| !matches!(word.as_str(), "the" | "a" | "an"))
        .collect();
    let is_name = (1..=COMMENT_WORDS_MAX).contains(&words.len())
        && words.iter().all(|word| {
            word.bytes().all(|byte| byte.is_ascii_lowercase()) && !TELLING.contains(&word.as_str())
        });
    let told = plain(&words);
    let is_known = |word: &String| word != "of" && names.iter().flatten().any(|known| known == word);
    if !is_name || told.iter().any(is_known) {
        return Vec::new();
    }
    let turned = turned(&told);
    std::iter::once(told).chain(turned).collect()
}

fn is_unit(word: &str) -> bool {
    short::UNITS.contains(&word) || MEASURED.contains(&word)
}

fn plain(words: &[String]) -> Vec<String> {
    words.iter().map(|word| words::concept(word)).collect()
}

fn concepts(words: &[words::Word]) -> Vec<String> {
    words.iter().map(|word| word.concept.clone()).collect()
}

fn distinct(names: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let mut seen = FxHashSet::default();
    names.into_iter().filter(|name| !name.is_empty() && seen.insert(name.clone())).collect()
}

/// `dim_customer`, `执行记录`: without uninformative parts.
fn trimmed(name: &[String]) -> Vec<String> {
    let mut name = name.to_vec();
    while name.len() > 1 && PREFIXES.contains(&name[0].as_str()) {
        name.remove(0);
    }
    while name.len() > 1 && name.last().is_some_and(|last| SUFFIXES.contains(&last.as_str())) {
        name.pop();
    }
    name
}

/// `level of membership` as `membership level`.
fn turned(name: &[String]) -> Option<Vec<String>> {
    let of = name.iter().position(|word| word == "of")?;
    Some([&name[of + 1..], &name[..of]].concat())
}

fn after(name: &[String], owner: &[String]) -> Option<Vec<String>> {
    name.strip_prefix(owner).filter(|rest| !rest.is_empty() && *rest != ["id"]).map(<[String]>::to_vec)
}

fn before_end(name: &[String], ends: &[&str]) -> Option<Vec<String>> {
    let (last, rest) = name.split_last()?;
    (ends.contains(&last.as_str()) && !rest.is_empty()).then(|| rest.to_vec())
}

/// The Chinese parts of a comment that are short enough for names.
fn chinese_parts(comment: &str) -> Vec<String> {
    comment
        .split(['(', ')', '（', '）'])
        .filter_map(|part| part.split(['：', ':']).next())
        .flat_map(|part| part.split(|letter: char| !is_han(letter)))
        .filter(|part| (1..=COMMENT_NAME_MAX).contains(&part.chars().count()))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{platform, shop};

    fn named(schema: &Schema, name: &[&str]) -> Vec<Named> {
        let names = Names::of(schema);
        names.list.into_iter().filter(|(concepts, _)| concepts == name).map(|(_, named)| named).collect()
    }

    #[test]
    fn names_come_from_identifiers_and_chinese_comments() {
        let shop = shop();
        assert!(named(&shop, &["customer"]).contains(&Named::Table(0)));
        assert!(named(&shop, &["city"]).contains(&Named::Field(Place { table: 0, field: 2 }, Fit::Whole)));
        assert!(
            named(&shop, &["order", "amount"])
                .contains(&Named::Field(Place { table: 1, field: 3 }, Fit::Own))
        );
    }

    #[test]
    fn short_comments_are_names_of_what_is_abbreviated() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<String>>();
        assert_eq!(
            english_name("amount of the order (金额)", &[words("amt")]),
            [words("amount of order"), words("order amount")]
        );
        for comment in [
            "number of the customer",
            "when it was ordered",
            "城市",
            "pieces sold by each of the shops in town",
        ] {
            assert!(english_name(comment, &[words("x")]).is_empty(), "{comment}");
        }
        assert!(english_name("city where the customer lives", &[words("city")]).is_empty());
    }

    #[test]
    fn a_tag_names_its_table_where_nothing_else_does() {
        let mut shop = shop();
        let tag = |schema: &mut Schema, table: usize, tags: &[&str]| {
            schema.tables[table].tags.extend(tags.iter().map(|tag| (*tag).to_owned()));
        };
        tag(&mut shop, 0, &["Patrons", "city", "total", "both", "2024"]);
        tag(&mut shop, 3, &["both", "火锅", "火锅", "订单火锅", "patron city"]);
        let names = Names::with_tags(&shop);
        let added: Vec<(Vec<String>, Named)> = {
            let before = Names::of(&shop).list.len();
            names.list[before..].to_vec()
        };
        let expected = [(vec!["patron".to_owned()], 0), (vec!["火锅".to_owned()], 3)];
        assert_eq!(added, expected.map(|(name, table)| (name, Named::Table(table))));
    }

    #[test]
    fn verbs_name_times_and_comments_list_values() {
        let platform = platform();
        let published = named(&platform, &["publish"]);
        assert!(published.contains(&Named::Table(1)));
        assert!(published.contains(&Named::Verb(Place { table: 1, field: 11 })));
        assert!(
            named(&platform, &["fail"])
                .contains(&Named::Value(Place { table: 3, field: 5 }, "failed".to_owned()))
        );
    }
}
