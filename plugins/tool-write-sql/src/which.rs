//! Questions that say what a question leaves open: which of several things a word means, or by what the first ones are
//! chosen. Each is tried before it is proposed, and no two of them have the same answer.

use lakeport_sdk::serde_json::Value;

use crate::answer::{self, answer_of, layer};
use crate::calendar::Day;
use crate::known::Known;
use crate::labels::Labels;
use crate::sums;
use crate::understand::meaning::{Measure, Unclear};
use crate::understand::names::Named;
use crate::understand::{self, things_called};
use crate::words;

/// The most readings.
const READINGS_MAX: usize = 5;
/// The most questions that are tried: a refusal must not take much longer than an answer.
const TRIED_MAX: usize = 60;

/// The readings of a question, if there are several. None is tried when it `is_late`.
pub fn readings(
    question: &str,
    unclear: &Unclear,
    known: &Known<'_>,
    today: Day,
    chinese: bool,
    is_late: &dyn Fn() -> bool,
) -> Vec<String> {
    let asked = Open { question, known, labels: Labels { schema: known.schema, chinese } };
    let readings = match unclear {
        Unclear::Ambiguous(word) => asked.of_word(word, today),
        Unclear::NoRank => asked.by_numbers(today),
        _ => return Vec::new(),
    };
    let mut found: Vec<(String, Value)> = Vec::new();
    let mut tried = 0;
    for Reading { phrasings, query: meant } in readings {
        if found.len() == READINGS_MAX || tried >= TRIED_MAX || is_late() {
            break;
        }
        tried += phrasings.len();
        // It says what is meant, and nothing else.
        let answered = phrasings.into_iter().find_map(|text| {
            let query = answer_of(&text, known, today).ok()?.query;
            meant.as_ref().is_none_or(|meant| *meant == query).then_some((text, query))
        });
        if let Some((text, query)) = answered
            && found.iter().all(|(_, other)| *other != query)
        {
            found.push((text, query));
        }
    }
    // One reading is no choice.
    if found.len() > 1 { found.into_iter().map(|(text, _)| text).collect() } else { Vec::new() }
}

/// One of the readings of a question.
struct Reading {
    /// Questions that may say it, the best one first.
    phrasings: Vec<String>,
    /// Its query, where that is known.
    query: Option<Value>,
}

/// A question that leaves something open.
struct Open<'a> {
    question: &'a str,
    known: &'a Known<'a>,
    labels: Labels<'a>,
}

impl Open<'_> {
    /// Each thing that a word may mean.
    fn of_word(&self, word: &str, today: Day) -> Vec<Reading> {
        let Some(at) = self.question.to_lowercase().find(&word.to_lowercase()) else { return Vec::new() };
        let (Some(before), Some(after)) = (self.question.get(..at), self.question.get(at + word.len()..))
        else {
            return Vec::new();
        };
        let mut things = things_called(word, self.known);
        things.sort_by_key(|named| layer(&self.known.schema.table(named.table()).name));
        let says = |instead: String| match self.labels.chinese {
            true => format!("{before}{instead}{after}"),
            false => format!("{} {instead} {}", before.trim_end(), after.trim_start())
                .replace(" ?", "?")
                .trim()
                .to_owned(),
        };
        // `execution failure rate`
        let is_noun = before.trim().is_empty() || after.trim_start().to_lowercase().starts_with("rate");
        let reading = |named: &Named| {
            let mut instead = self.instead(word, named);
            if is_noun {
                instead.reverse();
            }
            let query = answer::reading(self.question, word, named, self.known, today)?;
            Some(Reading { phrasings: instead.into_iter().map(says).collect(), query: Some(query) })
        };
        things.iter().filter_map(reading).collect()
    }

    /// What may stand instead of a word to say which thing it means.
    fn instead(&self, word: &str, named: &Named) -> Vec<String> {
        let table = self.labels.table(named.table()).replace('_', " ");
        let one = words::english::singular(&table);
        let field = |place| self.labels.field(place).replace('_', " ");
        match (named, self.labels.chinese) {
            // As the data source writes it.
            (Named::Table(table), _) => vec![self.known.schema.table(*table).name.clone()],
            (Named::Field(place, _) | Named::Verb(place), true) => {
                vec![format!("{table}{word}"), format!("{table}的{}", field(*place))]
            }
            (Named::Field(place, _) | Named::Verb(place), false) => {
                vec![format!("{table} {word}"), format!("{one} {word}"), format!("{table} {}", field(*place))]
            }
            (Named::Value(place, value), true) => vec![
                format!("{table}{word}"),
                format!("{table}{}为{value}", field(*place)),
                format!("{}为{value}", field(*place)),
            ],
            (Named::Value(place, value), false) => vec![
                format!("with {one} {} {value}", field(*place)),
                format!("with {} {value}", field(*place)),
                format!("{one} {word}"),
            ],
        }
    }

    /// For each amount, and each kind of rows, the question ranked by it.
    fn by_numbers(&self, today: Day) -> Vec<Reading> {
        let schema = self.known.schema;
        let named = understand::named_tables(self.question, self.known, today);
        let mut tables: Vec<usize> = (0..schema.tables.len()).collect();
        tables.sort_by_key(|table| layer(&schema.table(*table).name));
        let amounts = |flows: bool| {
            tables.iter().flat_map(|table| schema.places(*table)).filter(move |place| {
                let field = schema.field(*place);
                sums::adds_up(field) && sums::flows(field) == flows
            })
        };
        let amounts = amounts(true).chain(amounts(false)).map(|place| self.labels.field(place));
        let counts = tables.iter().filter(|table| !named.contains(table));
        let counts = counts.map(|table| self.labels.measure(Measure::Count(*table)));
        let question = words::without_end(self.question);
        let by = |number: String| {
            let phrasings = match self.labels.chinese {
                true => vec![format!("按{number}{question}"), format!("{number}{question}")],
                false => vec![format!("{question} by {}", number.replace('_', " "))],
            };
            Reading { phrasings, query: None }
        };
        amounts.chain(counts).map(by).collect()
    }
}
