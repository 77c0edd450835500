//! Finds the tables, fields, values, phrases and days that the words of a question name.

use rustc_hash::FxHashSet;

use super::names::{Fit, Named, Names};
use crate::calendar::{Day, Range};
use crate::schema::Schema;
use crate::words::phrases::{self, Op};
use crate::words::{Form, Word, dates, english};

/// The most things that one name may be.
const CANDIDATES_MAX: usize = 200;

/// The last place of a ranking that can be asked for.
const PLACE_MAX: f64 = 100.0;
/// Ends of ordinal numbers in digits.
const ORDINAL_ENDS: &[&str] = &["nd", "rd", "th"];
/// Words that may stand beside a place when nothing else is said.
const BESIDE_PLACES: &[&str] =
    &["the", "and", "one", "place", "best", "名", "位", "个", "是", "谁", "是谁", "是哪个", "哪个", "是什么"];
/// Words after which a day precedes its month.
const BEFORE_DAYS: &[&str] = &[
    "on", "since", "from", "to", "until", "till", "after", "before", "between", "and", "through", "~", "of",
];
/// Measure words with another meaning unless a number precedes them.
const PIECES: &[&str] = &["名", "种"];

/// One or more words with their possible meanings.
#[derive(Clone, Debug, PartialEq)]
pub enum Chunk {
    Op(Op),
    Named(Vec<Named>),
    Number(f64),
    /// A quoted value that no sample has.
    Quoted,
    Range(Range),
    /// A date that no calendar has.
    NoDay,
    /// A comma.
    Mark,
    Unknown,
}

impl Chunk {
    pub fn may_be_value(&self) -> bool {
        matches!(self, Chunk::Named(named) if named.iter().any(|named| matches!(named, Named::Value(..))))
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Piece {
    pub chunk: Chunk,
    /// The words as written.
    pub text: String,
    /// They stand in quotation marks.
    pub quoted: bool,
    /// `customers'`: owns the next piece.
    pub possessive: bool,
    /// The table whose rows it counts if it is not a name: `订单数`.
    pub counts: Option<usize>,
}

impl Piece {
    /// One without words.
    pub fn of(chunk: Chunk) -> Piece {
        Piece { chunk, text: String::new(), quoted: false, possessive: false, counts: None }
    }

    /// All tables that it may refer to.
    pub fn tables(&self) -> impl Iterator<Item = usize> {
        let named = if let Chunk::Named(named) = &self.chunk { named.as_slice() } else { &[] };
        named.iter().map(Named::table)
    }
}

/// The pieces of a question.
pub fn pieces(words: &[Word], schema: &Schema, names: &Names, today: Day) -> Vec<Piece> {
    let linker = Linker { words, schema, names, today };
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let (length, chunk) = linker.here(at, &pieces);
        let here = &words[at..at + length];
        let possessive = here.last().is_some_and(|word| word.possessive);
        let counts = linker.counted(at, length);
        let quoted = here.iter().any(|word| word.form == Form::Quoted);
        pieces.push(Piece { chunk, text: text(here), quoted, possessive, counts });
        at += length;
    }
    in_seconds(&mut pieces, schema);
    pieces
}

/// Words for times after a number, in seconds.
const TIMES: &[(&str, f64)] = &[
    ("second", 1.0),
    ("seconds", 1.0),
    ("秒", 1.0),
    ("秒钟", 1.0),
    ("minute", 60.0),
    ("minutes", 60.0),
    ("分钟", 60.0),
    ("hour", 3_600.0),
    ("hours", 3_600.0),
    ("小时", 3_600.0),
    ("个小时", 3_600.0),
];

/// `10 minutes` as 600, where a field counts seconds.
fn in_seconds(pieces: &mut Vec<Piece>, schema: &Schema) {
    let names_time = |piece: &Piece| TIMES.iter().any(|(word, _)| piece.text.eq_ignore_ascii_case(word));
    if !pieces.iter().any(names_time) {
        return;
    }
    let counts_seconds = schema.tables.iter().flat_map(|table| &table.fields).any(|field| {
        field.is_number()
            && english::name_words(&field.name).last().is_some_and(|last| last.starts_with("second"))
    });
    if !counts_seconds {
        return;
    }
    let mut at = 1;
    while at < pieces.len() {
        let unit = TIMES.iter().find(|(word, _)| pieces[at].text.eq_ignore_ascii_case(word));
        match (&mut pieces[at - 1].chunk, unit) {
            (Chunk::Number(number), Some((_, seconds))) => {
                *number *= seconds;
                pieces.remove(at);
            }
            _ => at += 1,
        }
    }
}

fn text(words: &[Word]) -> String {
    let mut text = String::new();
    for word in words {
        if !text.is_empty() && word.form != Form::Han {
            text.push(' ');
        }
        text.push_str(&word.text);
    }
    text
}

struct Linker<'a> {
    words: &'a [Word],
    schema: &'a Schema,
    names: &'a Names,
    today: Day,
}

impl Linker<'_> {
    /// The piece that begins here, and its length in words.
    fn here(&self, at: usize, before: &[Piece]) -> (usize, Chunk) {
        let rest = &self.words[at..];
        // `5名客户`: after a number it is not a name.
        let numbered = before.last().is_some_and(|piece| matches!(piece.chunk, Chunk::Number(_)));
        if numbered && PIECES.contains(&rest[0].text.as_str()) {
            return (1, Chunk::Op(Op::Piece));
        }
        if let Some((length, place)) = self.place(at) {
            return (length, Chunk::Op(Op::Nth(place)));
        }
        if let Some(value) = self.value_of_field(&rest[0], before) {
            return (1, Chunk::Named(vec![value]));
        }
        let (name_length, named) = self.split_after_each(at, before).unwrap_or_else(|| self.named(at));
        let phrase = self.phrase(at);
        let phrase_length = phrase.map_or(0, |(length, _)| length);
        if let Some(length) = dates::no_day(rest) {
            return (length, Chunk::NoDay);
        }
        let follows_day_word = before.last().is_some_and(|piece| {
            let last = piece.text.rsplit(' ').next().unwrap_or_default().to_lowercase();
            BEFORE_DAYS.contains(&last.as_str())
        });
        let days = dates::range(rest, self.today, self.schema.first_month());
        let days = days.or_else(|| dates::day_first(rest, self.today).filter(|_| follows_day_word));
        if let Some((length, range)) = days
            && length >= name_length
            && length >= phrase_length
        {
            return (length, Chunk::Range(range));
        }
        // `the share of TV series`, which have a field of that name.
        let is_own = named.iter().any(|named| matches!(named, Named::Field(_, Fit::Whole)));
        // `How many orders did gold members place?`, where rankings have a field `place`.
        let is_verb = |op: Op| matches!(op, Op::Filler | Op::Link) && follows_subject(before);
        if let Some((length, op)) = phrase
            && !(is_own && matches!(op, Op::Share | Op::Rate | Op::New | Op::Frequency))
            && !(is_own && length == 1 && matches!(op, Op::Cycle(..)))
            && !(matches!(op, Op::On(_)) && self.is_value_at(at + length - 1))
            && (length > name_length || (length == name_length && (wins(op, before) || is_verb(op))))
        {
            return (length, Chunk::Op(op));
        }
        if name_length > 0 {
            return (name_length, Chunk::Named(named));
        }
        let chunk = match rest[0].form {
            Form::Number(number) => Chunk::Number(number),
            Form::Quoted if dates::is_no_day(&rest[0].text) => Chunk::NoDay,
            Form::Quoted => Chunk::Quoted,
            Form::Mark => Chunk::Mark,
            Form::Latin | Form::Han => Chunk::Unknown,
        };
        (1, chunk)
    }

    /// `second` before `highest`, `第二`, or with nothing else that is said: a place of a ranking, with its length in words.
    fn place(&self, at: usize) -> Option<(usize, u64)> {
        let (length, place) = ordinal(&self.words[at..])?;
        let ranks = |op: &Op| {
            matches!(
                op,
                Op::Top | Op::Bottom | Op::Most(_) | Op::Extreme(_) | Op::ExtremeOf(..) | Op::Common(_)
            )
        };
        let rest = &self.words[at + length..];
        let is_ranked = phrases::all(rest).any(|(_, op)| ranks(&op));
        let is_little = |word: &Word| word.form == Form::Mark || BESIDE_PLACES.contains(&word.lower.as_str());
        let is_alone = self.words[..at].iter().chain(rest).all(is_little);
        let named = rest.iter().take_while(|word| matches!(word.lower.as_str(), "place" | "名" | "位"));
        let more = if is_alone { named.count() } else { 0 };
        (is_ranked || is_alone).then_some((length + more, place))
    }

    /// The table that all words but the last name, if the last one counts.
    fn counted(&self, at: usize, length: usize) -> Option<usize> {
        let (last, name) = self.words[at..at + length].split_last()?;
        let counts = last.lower == "count"
            || phrases::all(std::slice::from_ref(last)).any(|(_, op)| op == Op::CountBefore);
        let first = name.first().filter(|_| counts)?;
        let mut tables = self.names.beginning(first).filter_map(|(concepts, named)| match named {
            Named::Table(table) if concepts.iter().eq(name.iter().map(|word| &word.concept)) => Some(*table),
            _ => None,
        });
        let table = tables.next()?;
        tables.all(|other| other == table).then_some(table)
    }

    /// `每个城市销售额`: the sales of each city, though there is a table of city sales.
    fn split_after_each(&self, at: usize, before: &[Piece]) -> Option<(usize, Vec<Named>)> {
        let each = matches!(before.last()?.chunk, Chunk::Op(Op::Each)) && self.words[at].form == Form::Han;
        let (length, whole) = if each { self.named(at) } else { return None };
        if length < 2 || whole.iter().any(|named| !matches!(named, Named::Table(_))) {
            return None;
        }
        let shorter = |from: usize, words: usize, number: bool| -> Vec<Named> {
            let fits = |named: &&(Vec<String>, Named)| {
                named.0.len() == words && self.name_length(from, &named.0) == words
            };
            let found = self.names.beginning(&self.words[from]).filter(fits).map(|(_, named)| named.clone());
            found
                .filter(|named| matches!(named, Named::Field(place, _) if self.schema.field(*place).is_number() == number))
                .collect()
        };
        let (kind, number) = (shorter(at, 1, false), shorter(at + 1, length - 1, true));
        (!kind.is_empty() && !number.is_empty()).then_some((1, kind))
    }

    /// All meanings of the longest name here.
    fn named(&self, at: usize) -> (usize, Vec<Named>) {
        let mut longest = 0;
        let mut found: Vec<Named> = Vec::new();
        let mut seen: FxHashSet<&Named> = FxHashSet::default();
        for (concepts, named) in self.names.beginning(&self.words[at]) {
            let length = match named {
                Named::Value(_, value) => self.value_length(at, concepts, value),
                _ => self.name_length(at, concepts),
            };
            if length > longest {
                longest = length;
                found.clear();
                seen.clear();
            }
            if length > 0 && length == longest && found.len() < CANDIDATES_MAX && seen.insert(named) {
                found.push(named.clone());
            }
        }
        (longest, found)
    }

    /// Whether a word is a value of a table that is named, as `Tuesday` of a field of weekdays.
    fn is_value_at(&self, at: usize) -> bool {
        let (_, named) = self.named(at);
        let is_spoken_of = |table: usize| {
            let names_it = |word: &Word| {
                self.names
                    .beginning(word)
                    .any(|(concepts, named)| concepts.len() == 1 && *named == Named::Table(table))
            };
            self.words.iter().any(names_it)
        };
        named.iter().any(|named| matches!(named, Named::Value(place, _) if is_spoken_of(place.table)))
    }

    /// The words of a name may have `of` between them.
    fn name_length(&self, at: usize, concepts: &[String]) -> usize {
        let mut here = at;
        for (place, concept) in concepts.iter().enumerate() {
            // Not `lines of type`, of a field `line_type`: these are lines.
            let is_of = || self.words.get(here).is_some_and(|word| word.lower == "of");
            let is_thing = || place == 1 && self.names.is_table(&concepts[0]);
            if place > 0 && concept != "of" && is_of() && !is_thing() {
                here += 1;
            }
            let Some(word) = self.words.get(here) else { return 0 };
            if word.concept != *concept || matches!(word.form, Form::Quoted) {
                return 0;
            }
            here += 1;
        }
        here - at
    }

    fn value_length(&self, at: usize, concepts: &[String], value: &str) -> usize {
        let first = &self.words[at];
        if first.form == Form::Quoted {
            return usize::from(first.lower == value.to_lowercase());
        }
        // Numbers and single letters are too common to be recognised as values; `female` of `F` is not.
        let is_common =
            value.chars().count() < 2 || value.parse::<f64>().is_ok() || Day::read(value).is_some();
        if is_common && matches!(concepts, [only] if *only == value.to_lowercase()) {
            return 0;
        }
        let fits = concepts.len() <= self.words.len() - at
            && concepts
                .iter()
                .zip(&self.words[at..])
                .all(|(concept, word)| word.concept == *concept && word.form != Form::Quoted);
        if fits { concepts.len() } else { 0 }
    }

    /// A short value right after its field: `sex F`.
    fn value_of_field(&self, word: &Word, before: &[Piece]) -> Option<Named> {
        let near = before
            .iter()
            .rev()
            .find(|piece| !matches!(piece.chunk, Chunk::Op(Op::Is | Op::Filler | Op::Compare(_))))?;
        let Chunk::Named(named) = &near.chunk else { return None };
        if word.text.chars().count() > 2
            || phrases::longest(std::slice::from_ref(word)).is_some() && word.text != word.text.to_uppercase()
        {
            return None;
        }
        let fields = named.iter().filter_map(|named| match named {
            Named::Field(place, Fit::Whole | Fit::Own) => Some(*place),
            _ => None,
        });
        fields.into_iter().find_map(|place| {
            let value = self.schema.field(place).values.iter().find(|value| **value == word.text)?;
            (word.number().is_none() && word.form != Form::Mark).then(|| Named::Value(place, value.clone()))
        })
    }

    /// The longest phrase here that does not cover the beginning of a longer name.
    fn phrase(&self, at: usize) -> Option<(usize, Op)> {
        let mut found: Vec<(usize, Op)> = phrases::all(&self.words[at..]).collect();
        found.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
        let swallows = |length: usize| {
            (1..length).any(|inside| {
                let (name, _) = self.named(at + inside);
                name > 1 && inside + name > length
            })
        };
        found.iter().find(|(length, _)| !swallows(*length)).or(found.first()).copied()
    }
}

/// `second`, `2nd`, `第二`, with its length in words.
fn ordinal(words: &[Word]) -> Option<(usize, u64)> {
    let first = words.first()?;
    if let Some(place) = english::ordinal(&first.lower) {
        return Some((1, place));
    }
    let next = words.get(1)?;
    let number = match (first.lower.as_str(), first.number()) {
        ("第", _) => next.number(),
        (_, number) if ORDINAL_ENDS.contains(&next.lower.as_str()) => number,
        _ => None,
    };
    let number = number.filter(|number| number.fract() == 0.0 && (2.0..=PLACE_MAX).contains(number))?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is whole and within PLACE_MAX"
    )]
    Some((2, number as u64))
}

/// Whether `did` and a subject precede: a verb follows.
fn follows_subject(before: &[Piece]) -> bool {
    let does = |piece: &Piece| {
        let last = piece.text.rsplit(' ').next().unwrap_or_default();
        ["do", "does", "did"].iter().any(|word| last.eq_ignore_ascii_case(word))
    };
    let is_named = |piece: &Piece| matches!(piece.chunk, Chunk::Named(_));
    before.last().is_some_and(is_named) && before.iter().any(does)
}

/// Whether the phrase wins over a name of the same length.
fn wins(op: Op, before: &[Piece]) -> bool {
    match op {
        // `please show`: fillers at the start of a question.
        Op::Filler => before.iter().all(|piece| matches!(piece.chunk, Chunk::Op(Op::Filler))),
        Op::Unit(_) | Op::Order | Op::One | Op::Each1(_) | Op::Is | Op::On(_) => false,
        _ => true,
    }
}
