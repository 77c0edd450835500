//! The choice between data sources: each that could answer is asked, and one of their answers is chosen, or why there is
//! none.

use lakeport_sdk::tool::{Error, Timestamp, clock};

use crate::answer::{self, Answer};
use crate::calendar::Day;
use crate::catalogue::{Offered, Source};
use crate::known::Known;
use crate::understand::meaning::Unclear;
use crate::understand::named_tables;
use crate::{could, explain, which};

/// Data sources that are tried before an answer is chosen, the preferred one first.
const SOURCES_MAX: usize = 20;
/// Those in which words are looked up that nothing is called.
const SEARCHED_SOURCES: usize = 3;
/// Time limits of sampling and of looking values up, in milliseconds.
pub const SAMPLING_MS: Timestamp = 10_000;
const LOOKING_UP_MS: Timestamp = 5_000;
/// How long questions to suggest are tried, in milliseconds.
const SUGGESTING_MS: Timestamp = 1_000;

/// What is asked, when, and in which language.
pub struct Asked<'a> {
    pub question: &'a str,
    /// The questions before it, the oldest first.
    pub earlier: &'a [String],
    /// It and the last of these.
    pub words: &'a str,
    pub today: Day,
    pub fiscal_month: u8,
    pub chinese: bool,
}

impl Asked<'_> {
    fn of(&self, source: &Source) -> Result<Answer, Unclear> {
        answer::answer_after(self.question, self.earlier, &Known::of(&source.schema), self.today)
    }
}

/// The answer of the data source that knows most of the things that are named; of several that know as much, the
/// preferred one's. One of which the question names no more tables than another answer has is not asked.
pub fn best(
    asked: &Asked<'_>,
    sources: Vec<Offered>,
    preferred: Option<&str>,
) -> Result<(String, Answer), Error> {
    let until = clock::now() + SAMPLING_MS;
    let mut answers: Vec<(String, Answer)> = Vec::new();
    let mut refused: Vec<(Source, Unclear)> = Vec::new();
    for (at, source) in sources.into_iter().enumerate() {
        let is_late = at > 0 && clock::now() > until;
        if is_late || at >= SOURCES_MAX && !answers.is_empty() {
            break;
        }
        if is_enough(&answers, preferred, || source.named(asked.words, asked.today)) {
            continue;
        }
        let mut source = source.read()?;
        source.schema.fiscal_month = asked.fiscal_month;
        source.sample(asked.words, asked.today, until);
        match asked.of(&source) {
            Ok(answer) => answers.push((source.schema.datasource, answer)),
            Err(unclear) => refused.push((source, unclear)),
        }
    }
    if answers.is_empty() {
        answers = looked_up(asked, &mut refused);
    }
    if answers.is_empty() {
        answers = tagged(asked, &mut refused);
    }
    match chosen(answers, preferred) {
        Ok(Some(found)) => Ok(found),
        Ok(None) => Err(refusal(asked, &by_knowledge(asked, refused), preferred)),
        Err(unclear) => {
            let error = Error::new("cannot_answer", explain::refusal(&unclear, asked.chinese));
            let Unclear::Sources(names) = &unclear else { return Err(error) };
            let which = names.iter().map(|name| explain::in_source(asked.question, name, asked.chinese));
            Err(which.fold(error, |error, question| error.with("candidate", question)))
        }
    }
}

/// The answers of data sources that have the unknown words as values beyond the samples.
fn looked_up(asked: &Asked<'_>, refused: &mut [(Source, Unclear)]) -> Vec<(String, Answer)> {
    let until = clock::now() + LOOKING_UP_MS;
    let mut answers = Vec::new();
    for (source, unclear) in refused.iter_mut().take(SEARCHED_SOURCES) {
        if matches!(unclear, Unclear::Words(_) | Unclear::Word(_))
            && source.look_up(asked.question, asked.today, until)
        {
            match asked.of(source) {
                Ok(answer) => answers.push((source.schema.datasource.clone(), answer)),
                Err(still) => *unclear = still,
            }
        }
    }
    answers
}

/// The answers of data sources in which unknown words are tags of tables.
fn tagged(asked: &Asked<'_>, refused: &mut [(Source, Unclear)]) -> Vec<(String, Answer)> {
    let until = clock::now() + LOOKING_UP_MS;
    let mut answers = Vec::new();
    for (source, unclear) in refused.iter_mut().take(SEARCHED_SOURCES) {
        let has_tags = source.schema.tables.iter().any(|table| !table.tags.is_empty());
        if has_tags && matches!(unclear, Unclear::Words(_) | Unclear::Word(_)) {
            source.sample_tagged(asked.words, asked.today, until);
            let known = Known::with_tags(&source.schema);
            if let Ok(answer) = answer::answer_after(asked.question, asked.earlier, &known, asked.today) {
                answers.push((source.schema.datasource.clone(), answer));
            }
        }
    }
    answers
}

/// Refusals, the most useful one first: of a source that names something of the question, and lacks the fewest words.
fn by_knowledge(asked: &Asked<'_>, mut refused: Vec<(Source, Unclear)>) -> Vec<(Source, Unclear)> {
    refused.sort_by_cached_key(|(source, unclear)| {
        let named = named_tables(asked.words, &Known::of(&source.schema), asked.today);
        let unknown = match unclear {
            Unclear::Words(words) => words.len(),
            Unclear::Word(_) => 1,
            _ => 0,
        };
        (named.is_empty(), unknown)
    });
    refused
}

/// Why no data source can answer, with questions that one can.
fn refusal(asked: &Asked<'_>, refused: &[(Source, Unclear)], preferred: Option<&str>) -> Error {
    let Asked { question, today, chinese, .. } = *asked;
    let until = clock::now() + SUGGESTING_MS;
    let is_late = || clock::now() > until;
    let told = refused.first();
    let message =
        told.map_or_else(|| explain::no_tables(chinese), |(_, unclear)| explain::refusal(unclear, chinese));
    let error = Error::new("cannot_answer", message);
    if let Some((source, unclear)) = told {
        let which = which::readings(question, unclear, &Known::of(&source.schema), today, chinese, &is_late);
        if !which.is_empty() {
            return which.into_iter().fold(error, |error, question| error.with("candidate", question));
        }
    }
    let mut could: Vec<(String, String)> = Vec::new();
    // Those of one source: what it nearly knows says which one was meant.
    for (source, _) in refused {
        if !could.is_empty() {
            break;
        }
        let offered = could::questions(question, &Known::of(&source.schema), today, chinese, &is_late);
        could.extend(offered.into_iter().map(|question| (source.schema.datasource.clone(), question)));
    }
    let could = told_apart(could, refused, preferred, today, chinese);
    could.into_iter().take(could::QUESTIONS_MAX).fold(error, |error, question| error.with("could", question))
}

/// Questions with the data source's name where another one could answer them, too; each once.
fn told_apart(
    could: Vec<(String, String)>,
    sources: &[(Source, Unclear)],
    preferred: Option<&str>,
    today: Day,
    chinese: bool,
) -> Vec<String> {
    // With one source there is no other one.
    let has_others = sources.len() > 1;
    let knowns: Vec<Known> =
        sources.iter().filter(|_| has_others).map(|(source, _)| Known::of(&source.schema)).collect();
    let mut offered: Vec<String> = Vec::new();
    for (name, question) in could {
        let answers = |known: &&Known| answer::answer_of(&question, known, today).is_ok();
        let several = knowns.iter().filter(answers).count() > 1 && preferred != Some(name.as_str());
        let question = if several { explain::in_source(&question, &name, chinese) } else { question };
        if !offered.contains(&question) {
            offered.push(question);
        }
    }
    offered
}

/// Whether one of the answers is chosen before that of another data source with so many named things.
fn is_enough(
    answers: &[(String, Answer)],
    preferred: Option<&str>,
    named: impl FnOnce() -> Option<usize>,
) -> bool {
    let Some((name, best)) = answers.iter().rev().max_by_key(|(_, answer)| answer.things) else {
        return false;
    };
    match named() {
        Some(named) if named == best.things => preferred == Some(name.as_str()),
        Some(named) => named < best.things,
        None => false,
    }
}

/// The best of several answers, if one is unambiguous.
pub fn chosen(
    mut answers: Vec<(String, Answer)>,
    preferred: Option<&str>,
) -> Result<Option<(String, Answer)>, Unclear> {
    let most = answers.iter().map(|(_, answer)| answer.things).max().unwrap_or(0);
    answers.retain(|(_, answer)| answer.things == most);
    if answers.len() > 1 {
        let Some(place) = answers.iter().position(|(name, _)| Some(name.as_str()) == preferred) else {
            return Err(Unclear::Sources(answers.into_iter().map(|(name, _)| name).collect()));
        };
        answers = vec![answers.swap_remove(place)];
    }
    Ok(answers.pop())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{schema, testing};

    fn of(schema: &schema::Schema, name: &str) -> (String, Answer) {
        let today = Day::read("2026-07-19").unwrap();
        (name.to_owned(), answer::answer("How many customers are there?", schema, today).unwrap())
    }

    #[test]
    fn a_table_goes_before_a_column_of_another_data_source() {
        let whole = testing::shop();
        let mut column = testing::shop();
        column.tables.remove(0);
        column.tables[0].fields[1].name = "customer".to_owned();
        column.tables[0].fields[1].type_text = "TEXT".to_owned();
        let (small, large) = (of(&column, "small"), of(&whole, "large"));
        assert!(small.1.sql.contains("DISTINCT"), "{}", small.1.sql);
        let found = chosen(vec![small.clone(), large.clone()], Some("small")).unwrap().unwrap();
        assert_eq!(found.0, "large");
        let again = (large.0.clone() + "r", large.1.clone());
        assert!(
            matches!(chosen(vec![large.clone(), again.clone()], None), Err(Unclear::Sources(names)) if names.len() == 2)
        );
        assert_eq!(chosen(vec![again, large], Some("large")).unwrap().unwrap().0, "large");
    }

    #[test]
    fn a_data_source_is_asked_if_it_could_be_chosen() {
        let answers = [of(&testing::shop(), "shop")];
        let is_enough =
            |preferred: Option<&str>, named: usize| is_enough(&answers, preferred, || Some(named));
        assert!(is_enough(Some("shop"), 1) && is_enough(None, 0));
        assert!(!is_enough(Some("shop"), 2) && !is_enough(None, 1) && !is_enough(Some("other"), 1));
        assert!(!super::is_enough(&[], Some("shop"), || Some(0)));
        assert!(!super::is_enough(&answers, Some("shop"), || None));
    }
}
