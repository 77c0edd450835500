//! Questions that say what an ambiguous word means; each is tried before it is proposed.

use crate::answer::answer_of;
use crate::calendar::Day;
use crate::known::Known;
use crate::labels::Labels;
use crate::understand::places_called;

/// The most readings.
const READINGS_MAX: usize = 5;

/// The question with the name of a table before the word, for each table that has a field of that name.
pub fn readings(question: &str, word: &str, known: &Known<'_>, today: Day, chinese: bool) -> Vec<String> {
    let schema = known.schema;
    let labels = Labels { schema, chinese };
    let Some(at) = question.to_lowercase().find(&word.to_lowercase()) else { return Vec::new() };
    if !question.is_char_boundary(at) || question.get(at..at + word.len()).is_none() {
        return Vec::new();
    }
    let (before, after) = (&question[..at], &question[at + word.len()..]);
    let mut found: Vec<String> = Vec::new();
    for table in places_called(word, known) {
        let name = labels.table(table).replace('_', " ");
        let clear = match chinese {
            true => format!("{before}{name}{word}{after}"),
            false => format!("{before}{name} {word}{after}"),
        };
        if found.len() < READINGS_MAX && !found.contains(&clear) && answer_of(&clear, known, today).is_ok() {
            found.push(clear);
        }
    }
    // One reading is no choice.
    if found.len() > 1 { found } else { Vec::new() }
}
