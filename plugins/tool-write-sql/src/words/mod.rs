//! Splits a question into words with concepts: English and Chinese synonyms share a concept.

pub mod chinese;
pub mod dates;
pub mod english;
mod everyday;
pub mod glossary;
pub mod idioms;
mod index;
pub mod paraphrases;
pub mod peoples;
pub mod phrases;
pub mod short;
pub mod symbols;
pub mod values;

use chinese::Dictionary;

/// The form of a word.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    Latin,
    Han,
    Number(f64),
    /// Quoted: an exact value.
    Quoted,
    /// A comma or the end of a sentence.
    Mark,
}

/// A word of a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    /// As written, without quotation marks.
    pub text: String,
    pub lower: String,
    pub concept: String,
    pub form: Form,
    /// `customers'`: owns the next word.
    pub possessive: bool,
}

impl Word {
    fn new(text: &str, form: Form) -> Word {
        let lower = text.to_lowercase();
        let concept = match form {
            Form::Latin => concept(&lower),
            _ => lower.clone(),
        };
        Word { text: text.to_owned(), lower, concept, form, possessive: false }
    }

    pub fn number(&self) -> Option<f64> {
        if let Form::Number(number) = self.form { Some(number) } else { None }
    }
}

/// The concept of an English word; an unknown word is its own base form.
pub fn concept(lower: &str) -> String {
    if let Some(known) = glossary::english(lower) {
        return known.to_owned();
    }
    let plain = english::singular(lower);
    let verb = || english::verb_stems(lower).iter().find_map(|stem| glossary::english(stem));
    glossary::english(&plain).or_else(verb).map_or(plain, str::to_owned)
}

/// A question without the mark at its end.
pub fn without_end(question: &str) -> &str {
    question.trim_end_matches(['?', '？', '。', '.', ' '])
}

/// Pairs of quotation marks.
const QUOTES: &[(char, char)] = &[('"', '"'), ('“', '”'), ('‘', '’'), ('「', '」'), ('\'', '\''), ('`', '`')];

/// The words of a question.
pub fn read(question: &str, dictionary: &Dictionary) -> Vec<Word> {
    let letters: Vec<char> = question.chars().collect();
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(&letter) = letters.get(at) {
        if let Some(end) = quoted(&letters, at) {
            words.push(Word::new(&text(&letters[at + 1..end]), Form::Quoted));
            at = end + 1;
        } else if letter.is_ascii_digit() || symbols::is_sign(&letters, at) {
            at = number(&letters, at, &mut words);
        } else if chinese::is_han(letter) {
            let end = run(&letters, at, chinese::is_han);
            words.extend(dictionary.words(&text(&letters[at..end])));
            at = end;
        } else if letter.is_alphabetic() {
            at = latin_word(&letters, at, &mut words);
        } else {
            let (length, word) = symbols::read(&letters, at);
            words.extend(word);
            at += length;
        }
    }
    words
}

/// A word of letters with its apostrophe: `don't`, `customer's`, `customers'`.
fn latin_word(letters: &[char], at: usize, words: &mut Vec<Word>) -> usize {
    let end = run(letters, at, |next| next.is_alphanumeric() && !chinese::is_han(next));
    let written = text(&letters[at..end]);
    let apostrophe = letters.get(end).is_some_and(|letter| matches!(letter, '\'' | '’'));
    let after = |place: usize| letters.get(place).copied();
    let word_ends = |place: usize| !after(place).is_some_and(char::is_alphanumeric);
    if apostrophe && written.ends_with('n') && after(end + 1) == Some('t') && word_ends(end + 2) {
        let mut word = Word::new("not", Form::Latin);
        word.text = text(&letters[at..end + 2]);
        words.push(word);
        return end + 2;
    }
    let mut word = latin(&written);
    if apostrophe && after(end + 1) == Some('s') && word_ends(end + 2) {
        word.possessive = true;
        words.push(word);
        return end + 2;
    }
    word.possessive = apostrophe && written.ends_with('s') && word_ends(end + 1);
    words.push(word);
    end
}

fn latin(text: &str) -> Word {
    let mut word = Word::new(text, Form::Latin);
    if let Some(number) = english::number(&word.lower) {
        #[expect(clippy::cast_precision_loss, reason = "it is at most twelve")]
        let number = number as f64;
        word.form = Form::Number(number);
    }
    word
}

fn text(letters: &[char]) -> String {
    letters.iter().collect()
}

fn run(letters: &[char], from: usize, belongs: impl Fn(char) -> bool) -> usize {
    letters[from..].iter().position(|letter| !belongs(*letter)).map_or(letters.len(), |length| from + length)
}

/// Where a quotation that begins here ends. An apostrophe within a word does not begin one.
fn quoted(letters: &[char], at: usize) -> Option<usize> {
    let (_, close) = QUOTES.iter().find(|(open, _)| *open == letters[at])?;
    if at > 0 && letters[at - 1].is_alphanumeric() && !chinese::is_han(letters[at - 1]) {
        return None;
    }
    let end = at + 1 + letters[at + 1..].iter().position(|letter| letter == close)?;
    (end > at + 1).then_some(end)
}

/// The most digits of a number: more are not exact.
const DIGITS_MAX: usize = 15;

/// Reads a number, or a date in one word: `2026-07-19`, `2026-07`.
fn number(letters: &[char], at: usize, words: &mut Vec<Word>) -> usize {
    let date: String = letters[at..letters.len().min(at + 10)]
        .iter()
        .map(|letter| if *letter == '/' { '-' } else { *letter })
        .collect();
    let ends = |place: usize| !letters.get(place).is_some_and(char::is_ascii_alphanumeric);
    if crate::calendar::Day::read(&date).is_some() && ends(at + 10) {
        words.push(Word::new(&date, Form::Quoted));
        return at + 10;
    }
    if dates::is_no_day(&date) && ends(at + 10) {
        words.push(Word::new(&date, Form::Quoted));
        return at + 10;
    }
    let month: String = date.chars().take(7).collect();
    let year = month.get(..4).and_then(|year| year.parse::<u32>().ok());
    if year.is_some_and(|year| (1900..2100).contains(&year))
        && month.get(4..5) == Some("-")
        && crate::calendar::Day::read(&format!("{month}-01")).is_some()
        && ends(at + 7)
        && !letters.get(at + 7).is_some_and(|letter| matches!(letter, '-' | '/' | '.'))
    {
        words.push(Word::new(&month, Form::Quoted));
        return at + 7;
    }
    let digits = at + usize::from(!letters[at].is_ascii_digit());
    let is_digit = |place: usize| letters.get(place).is_some_and(char::is_ascii_digit);
    // A comma separates thousands, or two numbers.
    let inside = |place: usize| match letters[place] {
        ',' => (1..=3).all(|next| is_digit(place + next)) && !is_digit(place + 4),
        '.' => is_digit(place + 1),
        letter => letter.is_ascii_digit(),
    };
    let end = (digits..letters.len()).find(|place| !inside(*place)).unwrap_or(letters.len());
    let plain = text(&letters[digits..end]).replace(',', "");
    let (factor, length) = letters.get(end).map_or((1.0, 0), |letter| times(*letter));
    let sign = if digits > at { -1.0 } else { 1.0 };
    let form = match plain.parse::<f64>() {
        Ok(number) if plain.len() <= DIGITS_MAX => Form::Number(sign * number * factor),
        _ => Form::Latin,
    };
    words.push(Word::new(&text(&letters[at..end + length]), form));
    end + length
}

/// `5万` is one number.
fn times(letter: char) -> (f64, usize) {
    match letter {
        '百' => (100.0, 1),
        '千' => (1_000.0, 1),
        '万' => (10_000.0, 1),
        '亿' => (100_000_000.0, 1),
        _ => (1.0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn concepts(question: &str) -> Vec<String> {
        read(question, &Dictionary::default()).into_iter().map(|word| word.concept).collect()
    }

    #[test]
    fn both_languages_have_the_same_concepts() {
        assert_eq!(concepts("failed executions of workflows"), ["fail", "execution", "of", "workflow"]);
        assert_eq!(concepts("工作流执行失败"), ["workflow", "execution", "fail"]);
        assert_eq!(concepts("publications were published"), ["publish", "were", "publish"]);
    }

    #[test]
    fn numbers_quotations_and_dates_are_words() {
        let words = read("amount > 1,000.5 for 'O''Neil' since 2026-07-01 前五", &Dictionary::default());
        assert!(words.iter().any(|word| word.number() == Some(1000.5)));
        assert!(words.iter().any(|word| word.form == Form::Quoted && word.text == "2026-07-01"));
        assert_eq!(words.last().unwrap().number(), Some(5.0));
        assert_eq!(concepts("Brazil’s population"), ["brazil", "population"]);
    }
}
