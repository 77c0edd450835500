//! Suggests questions that can be answered; each is tried before it is suggested.

use crate::answer::{answer_of, layer};
use crate::calendar::Day;
use crate::known::Known;
use crate::labels::Labels;
use crate::schema::{Kind, Schema};
use crate::understand::{self, named_tables};
use crate::words::{self, phrases};

/// The most suggestions.
pub const QUESTIONS_MAX: usize = 3;

/// The most tables that suggestions are tried for: a refusal must not take longer than an answer.
const TABLES_MAX: usize = 10;

/// Questions about the named tables, or else about the first ones.
pub fn questions(question: &str, known: &Known<'_>, today: Day, chinese: bool) -> Vec<String> {
    let schema = known.schema;
    let mut tables = named_tables(question, known, today);
    // Rows of summaries are of no interest.
    let is_detail = |table: &usize| layer(&schema.table(*table).name) < 2;
    tables.retain(is_detail);
    tables.extend((0..schema.tables.len()).filter(is_detail));
    // What is left of the question without the words that mean nothing here.
    let mut offered: Vec<String> = without_unknown(question, known, today)
        .into_iter()
        .filter(|one| !is_of_other_kind(one) && answer_of(one, known, today).is_ok())
        .collect();
    for table in tables.into_iter().take(TABLES_MAX) {
        if offered.len() == QUESTIONS_MAX {
            break;
        }
        let candidates = about(schema, table, chinese).into_iter().filter(|one| !is_of_other_kind(one));
        let fits =
            |candidate: &String| !offered.contains(candidate) && answer_of(candidate, known, today).is_ok();
        let found = candidates.into_iter().find(fits);
        offered.extend(found);
    }
    offered
}

/// The question without its unknown words.
fn without_unknown(question: &str, known: &Known<'_>, today: Day) -> Option<String> {
    let unknown = understand::read(question, known, today).unknown();
    let mut rest = question.to_owned();
    for word in &unknown {
        let at = rest.find(word.as_str())?;
        rest.replace_range(at..at + word.len(), "");
    }
    let rest = rest.split_whitespace().collect::<Vec<&str>>().join(" ");
    let rest = words::without_end(&rest);
    // Without a word in its midst it would say something else.
    let is_end = matches!(&unknown[..], [only] if words::without_end(question).ends_with(only.as_str()));
    let is_whole = rest
        .rsplit_once(' ')
        .is_some_and(|(_, last)| last.is_ascii() && !phrases::says_little(&last.to_lowercase()));
    (is_end && is_whole).then(|| format!("{rest}?"))
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
    let of_kind = |fits: &dyn Fn(Kind) -> bool| {
        schema.places(table).find(|place| {
            let field = schema.field(*place);
            fits(field.kind()) && !field.names_identity() && !field.name.to_lowercase().contains("name")
        })
    };
    let number = of_kind(&|kind| kind == Kind::Number).map(|place| labels.field(place).replace('_', " "));
    let text = of_kind(&|kind| kind == Kind::Text).map(|place| labels.field(place).replace('_', " "));
    let mut questions = Vec::new();
    match (&number, &text, chinese) {
        (Some(number), Some(text), true) => questions.push(format!("每个{text}的{name}的平均{number}")),
        (Some(number), Some(text), false) => questions.push(format!("average {number} of {name} per {text}")),
        _ => {}
    }
    if of_kind(&|kind| kind == Kind::Date).is_some() {
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
            let offered = questions(question, &Known::of(&shop()), today, chinese);
            assert_eq!(offered.len(), QUESTIONS_MAX, "{offered:?}");
        }
    }
}
