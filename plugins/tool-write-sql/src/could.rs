//! Suggests questions that can be answered; each is tried before it is suggested.

use lakeport_sdk::serde_json::Value;

use crate::answer::{answer_of, layer};
use crate::calendar::Day;
use crate::known::Known;
use crate::labels::Labels;
use crate::schema::{Kind, Place, Schema};
use crate::understand::choose::is_state;
use crate::understand::meaning::Measure;
use crate::understand::{self, Parts};
use crate::words::english::singular;
use crate::words::{self, phrases};

/// The most suggestions.
pub const QUESTIONS_MAX: usize = 3;

/// The most tables that suggestions are tried for: a refusal must not take longer than an answer.
const TABLES_MAX: usize = 10;

/// The most suggestions that are tried: a refusal must not take much longer than an answer.
const TRIED_MAX: usize = 30;

/// Words before an unknown one that go with it.
const LEADS: [&str; 7] = ["by", "per", "from", "in", "with", "of", "for"];

/// The most numbers, kinds and tables of a question that suggestions are made of.
const PARTS_MAX: usize = 4;
/// Words for what is first.
const RANKS: [&str; 6] = ["most", "best", "highest", "biggest", "top ", "最"];

/// Questions near to one that was refused, the nearest first: with a value that it nearly names, without its unknown words,
/// of the numbers and kinds that it names; then about the tables that it names, or else about the first ones. None is tried
/// when it `is_late`.
pub fn questions(
    question: &str,
    known: &Known<'_>,
    today: Day,
    chinese: bool,
    is_late: &dyn Fn() -> bool,
) -> Vec<String> {
    let schema = known.schema;
    let read = understand::read(question, known, today);
    // Rows of summaries are of no interest.
    let is_detail = |table: &usize| layer(&schema.table(*table).name) < 2;
    let mut tables: Vec<usize> = read.tables();
    tables.retain(is_detail);
    let unknown = read.unknown();
    let mended = with_near_values(question, &read.unknown_values(), known);
    let lower = question.to_lowercase();
    let ranks = RANKS.iter().any(|word| lower.contains(word));
    let mut parts = read.parts(schema);
    parts.tables.retain(is_detail);
    let parts = of_parts(&parts, schema, ranks, chinese);
    let mut offered = Offered { known, today, is_late, questions: Vec::new(), queries: Vec::new() };
    for one in mended.into_iter().take(TRIED_MAX) {
        offered.take(one, false);
    }
    for one in without(question, &unknown).into_iter().chain(parts).take(TRIED_MAX) {
        offered.take(one, true);
    }
    tables.extend((0..schema.tables.len()).filter(is_detail));
    // Of order details there are orders.
    let is_part = |table: &usize| {
        let mut wholes = (0..schema.tables.len()).filter(|whole| whole != table);
        wholes.any(|whole| known.links.to_whole(schema, *table, whole).is_some())
    };
    for table in tables.into_iter().filter(|table| !is_part(table)).take(TABLES_MAX) {
        if offered.is_full() {
            break;
        }
        // One of each table.
        let _ = about(schema, table, chinese).into_iter().any(|one| offered.take(one, true));
    }
    offered.questions
}

/// What is offered: each question once, and no two with the same answer.
struct Offered<'a> {
    known: &'a Known<'a>,
    today: Day,
    is_late: &'a dyn Fn() -> bool,
    questions: Vec<String>,
    queries: Vec<Value>,
}

impl Offered<'_> {
    fn is_full(&self) -> bool {
        self.questions.len() == QUESTIONS_MAX
    }

    /// Offers a question if it can be answered, by numbers where those are wanted; whether it did.
    fn take(&mut self, question: String, numbers: bool) -> bool {
        if self.is_full() || is_of_other_kind(&question) || (self.is_late)() {
            return false;
        }
        let Ok(answer) = answer_of(&question, self.known, self.today) else { return false };
        let is_wanted = !numbers || !answer.measures.is_empty();
        let is_new = is_wanted && !self.queries.contains(&answer.query);
        if is_new {
            self.questions.push(question);
            self.queries.push(answer.query);
        }
        is_new
    }
}

/// The question with the value that an unknown word nearly is: `Beijing` for `Beijin`.
fn with_near_values(question: &str, texts: &[String], known: &Known<'_>) -> Vec<String> {
    let near = |word: &String| -> Vec<String> {
        let values = understand::near_values(word, known);
        values.into_iter().map(|value| question.replacen(word.as_str(), &value, 1)).collect()
    };
    texts.iter().flat_map(near).collect()
}

/// The question without its unknown words and the words that led to them.
fn without(question: &str, unknown: &[String]) -> Option<String> {
    let mut rest = words::without_end(question).to_owned();
    for word in unknown {
        let at = rest.find(word.as_str()).filter(|_| word.is_ascii())?;
        // `orders by courier`, and not `customers outside Beijing`.
        let lead = rest[..at].trim_end().rsplit(' ').next()?.to_lowercase();
        if !LEADS.contains(&lead.as_str()) {
            return None;
        }
        let (mut head, tail) = (rest[..at].trim_end(), rest[at + word.len()..].trim_start());
        while let Some((shorter, last)) = head.rsplit_once(' ')
            && phrases::says_little(&last.to_lowercase())
        {
            head = shorter.trim_end();
        }
        rest = format!("{head} {tail}");
    }
    let rest = rest.trim();
    let last = rest.rsplit(' ').next().unwrap_or_default().to_lowercase();
    let is_whole = !rest.is_empty() && !phrases::needs_more(&last);
    (!unknown.is_empty() && is_whole).then(|| rest.to_owned())
}

/// Questions of the numbers, kinds, tables and days that a question names.
///
/// `ranks`: what is first is asked for.
fn of_parts(parts: &Parts, schema: &Schema, ranks: bool, chinese: bool) -> Vec<String> {
    let labels = Labels { schema, chinese };
    let field = |place: &Place| labels.field(*place).replace('_', " ");
    // A year of four digits may be a number, and a half one of something else.
    let is_clear =
        |days: &&str| days.parse::<f64>().is_err() && !days.contains("half") && !days.contains('半');
    let days = parts.days.as_deref().filter(is_clear).unwrap_or_default();
    // In the words of the question, or else in those of the catalogue.
    let kinds: Vec<String> = parts
        .kinds
        .iter()
        .take(PARTS_MAX)
        .flat_map(|(place, said)| [singular(&said.to_lowercase()), field(place)])
        .collect();
    let of_field = |(place, said): &(Place, Option<String>)| {
        let total = if chinese { format!("总{}", field(place)) } else { format!("total {}", field(place)) };
        // Not `sold`.
        let is_noun = |said: &&String| {
            let said = said.to_lowercase();
            let is_verb = said.ends_with("ed") || said.ends_with("ing");
            !is_verb && !["sold", "sell", "sells", "paid", "spent", "made"].contains(&said.as_str())
        };
        said.iter().filter(is_noun).map(|said| said.to_lowercase()).chain([total]).collect()
    };
    let counts =
        parts.tables.iter().take(PARTS_MAX).map(|table| vec![labels.measure(Measure::Count(*table))]);
    let numbers: Vec<Vec<String>> =
        parts.numbers.iter().take(PARTS_MAX).map(of_field).chain(counts).collect();
    let mut questions = Vec::new();
    for names in &numbers {
        for (kind, number) in kinds.iter().flat_map(|kind| names.iter().map(move |number| (kind, number))) {
            let ranking = match chinese {
                true => format!("{days}{number}最高的{kind}"),
                false => format!("{kind} with the highest {number} {days}"),
            };
            questions.extend(Some(ranking).filter(|_| ranks));
            questions.push(match chinese {
                true => format!("{days}每个{kind}的{number}"),
                false => format!("{number} per {kind} {days}"),
            });
        }
        let all =
            |number: &String| if chinese { format!("{days}的{number}") } else { format!("{number} {days}") };
        questions.extend(names.iter().map(all));
        let months = |number: &String| {
            if chinese { format!("每月的{number}") } else { format!("{number} per month") }
        };
        questions.extend(names.iter().map(months));
    }
    questions.iter().map(|question| question.trim_start_matches('的').trim().to_owned()).collect()
}

/// Whether the host would read a question as one about tables: `How many lineage are there?`
fn is_of_other_kind(question: &str) -> bool {
    const WORDS: [&str; 8] =
        ["lineage", "upstream", "downstream", "depend", "impact", "血缘", "上游", "下游"];
    let lower = question.to_lowercase();
    WORDS.iter().any(|word| lower.contains(word))
}

/// The most useful questions first.
fn about(schema: &Schema, table: usize, chinese: bool) -> Vec<String> {
    let labels = Labels { schema, chinese };
    let name = labels.table(table).replace('_', " ");
    let fields = |kind: Kind| {
        schema.places(table).filter(move |place| {
            let field = schema.field(*place);
            field.kind() == kind && !field.names_identity() && !field.name.to_lowercase().contains("name")
        })
    };
    let said = |place: Place| labels.field(place).replace('_', " ");
    let is_state = |place: &Place| is_state(&schema.field(*place).name);
    // By channel rather than by state.
    let text = fields(Kind::Text).find(|place| !is_state(place)).or(fields(Kind::Text).next()).map(said);
    let number = fields(Kind::Number).next().map(said);
    let mut questions = Vec::new();
    if let Some(text) = &text {
        questions.push(if chinese {
            format!("每个{text}的{name}数")
        } else {
            format!("number of {name} per {text}")
        });
    }
    match (&number, &text, chinese) {
        (Some(number), Some(text), true) => questions.push(format!("每个{text}的{name}的平均{number}")),
        (Some(number), Some(text), false) => questions.push(format!("average {number} of {name} per {text}")),
        _ => {}
    }
    if fields(Kind::Date).next().is_some() {
        questions.push(if chinese {
            format!("最近30天每天的{name}数量")
        } else {
            format!("number of {name} per day in the last 30 days")
        });
    }
    questions.push(if chinese { format!("有多少{name}") } else { format!("How many {name} are there?") });
    questions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::shop;

    #[test]
    fn what_is_offered_can_be_answered() {
        let today = Day::read("2026-07-19").unwrap();
        for (question, chinese) in [("What is the weather?", false), ("天气怎么样", true)] {
            let offered = questions(question, &Known::of(&shop()), today, chinese, &|| false);
            assert_eq!(offered.len(), QUESTIONS_MAX, "{offered:?}");
        }
    }
}
