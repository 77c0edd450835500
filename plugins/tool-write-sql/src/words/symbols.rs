//! Symbols of a question. Brackets and lone quotation marks are ignored; comparisons, ranges and marks are
//! words; every other symbol becomes an unknown word, so that it refuses the question instead of being
//! ignored.

use super::{Form, Word, text};

/// Grouping and quoting symbols, ignored when they stand alone.
const SILENT: &str = "()[]{}（）【】《》〈〉『』「」\"“”'‘’`\u{200b}\u{feff}";
/// Symbols that end a sentence or separate a list.
const MARKS: &str = ",，;；.。?？、:：…";
/// Written comparisons with their words; the longer ones first.
const COMPARISONS: &[(&str, &str)] = &[
    ("!=", "!="),
    ("<>", "!="),
    (">=", ">="),
    ("=>", ">="),
    ("<=", "<="),
    ("=<", "<="),
    ("==", "="),
    ("≠", "!="),
    ("≥", ">="),
    ("≤", "<="),
    (">", ">"),
    ("<", "<"),
    ("=", "="),
];
const DASHES: &str = "-–—−~～";
/// The word for a range: `100-200`.
pub const TO: &str = "~";
/// Characters that may end a number before a range continues.
const UNITS_BEFORE_TO: &str = "月日号年元天";

/// The length of the symbol here in characters, and its word, if any.
pub fn read(letters: &[char], at: usize) -> (usize, Option<Word>) {
    let letter = letters[at];
    if letter.is_whitespace() || letter.is_control() || SILENT.contains(letter) {
        return (1, None);
    }
    if let Some((length, word)) = comparison(letters, at) {
        return (length, Some(word));
    }
    if DASHES.contains(letter) {
        return (1, dash(letters, at));
    }
    let next = letters.get(at + 1).copied();
    let joins = |place: Option<&char>| place.is_some_and(|letter| letter.is_alphanumeric());
    let before = at.checked_sub(1).and_then(|before| letters.get(before));
    if letter == '_' && joins(before) && joins(letters.get(at + 1)) {
        return (1, None);
    }
    let ends = matches!(letter, '!' | '！') && !next.is_some_and(char::is_alphanumeric);
    if MARKS.contains(letter) || ends {
        return (1, Some(Word::new(&letter.to_string(), Form::Mark)));
    }
    (1, Some(unknown(letter)))
}

fn unknown(letter: char) -> Word {
    Word::new(&letter.to_string(), Form::Latin)
}

fn comparison(letters: &[char], at: usize) -> Option<(usize, Word)> {
    let narrow = |letter: &char| match letter {
        '＞' => '>',
        '＜' => '<',
        '＝' => '=',
        '！' => '!',
        other => *other,
    };
    let here: Vec<char> = letters[at..letters.len().min(at + 2)].iter().map(narrow).collect();
    COMPARISONS.iter().find_map(|(written, read)| {
        let length = written.chars().count();
        let fits = here.len() >= length && written.chars().eq(here[..length].iter().copied());
        fits.then(|| {
            let mut word = Word::new(read, Form::Latin);
            word.text = text(&letters[at..at + length]);
            (length, word)
        })
    })
}

/// Between numbers a range, within a word ignored, between sentences a mark.
fn dash(letters: &[char], at: usize) -> Option<Word> {
    let is_blank = |letter: &&char| letter.is_whitespace();
    let before = letters[..at].iter().rev().find(|letter| !is_blank(letter)).copied();
    let after = letters[at + 1..].iter().find(|letter| !is_blank(letter)).copied();
    let ends_number = |letter: char| letter.is_ascii_digit() || UNITS_BEFORE_TO.contains(letter);
    if before.is_some_and(ends_number) && after.is_some_and(|after| after.is_ascii_digit()) {
        let mut word = Word::new(TO, Form::Latin);
        word.text = letters[at].to_string();
        return Some(word);
    }
    let is_latin = |place: Option<&char>| place.is_some_and(|letter| letter.is_ascii_alphanumeric());
    if letters[at] == '-' && is_latin(letters[..at].last()) && is_latin(letters.get(at + 1)) {
        return None;
    }
    if matches!(letters[at], '–' | '—') {
        return Some(Word::new(",", Form::Mark));
    }
    Some(unknown(letters[at]))
}

/// Whether this minus is the sign of the next number.
pub fn is_sign(letters: &[char], at: usize) -> bool {
    matches!(letters[at], '-' | '−')
        && letters.get(at + 1).is_some_and(char::is_ascii_digit)
        && letters[..at]
            .iter()
            .rev()
            .find(|letter| !letter.is_whitespace())
            .is_none_or(|before| !before.is_ascii_digit() && !UNITS_BEFORE_TO.contains(*before))
        && !letters[..at].last().is_some_and(char::is_ascii_alphabetic)
}
