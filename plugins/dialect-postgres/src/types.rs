//! Data types in users' and the catalogue's notation.
//!
//! One grammar reads both: words, numbers in brackets, `[]`. Known types are written in the words of
//! `format_type`, which is also the canonical spelling, so that requested and found types compare as texts.
//! Types of users and of extensions are read as they are and never written.

mod known;
mod lossless;

pub use known::{infos, words};
pub use lossless::{Change, change, needs_cast};

use known::{KNOWN, Known, Numbers};
use lakeport_sdk::dialect::{DataType, Problem, ServerInfo, TypeToken};

use crate::version;

/// The longest type text, in bytes.
const TEXT_MAX_BYTES: usize = 200;
/// The longest `character varying`, `character` and `bit`.
const LENGTH_MAX: u32 = 10_485_760;
/// The largest precision of `numeric`.
const PRECISION_MAX: u32 = 1_000;
/// Fraction digits of a second.
const FRACTION_MAX: u32 = 6;

/// Heads of types without an operator class for B-trees.
const UNORDERED: [&str; 9] = ["json", "xml", "point", "line", "lseg", "box", "path", "polygon", "circle"];

/// A known type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    known: &'static Known,
    numbers: Vec<u32>,
    array: bool,
}

impl Type {
    /// The name without numbers, as `format_type` writes it: `timestamp without time zone`.
    pub fn name(&self) -> String {
        [self.known.head, self.known.tail]
            .iter()
            .filter(|part| !part.is_empty())
            .copied()
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// The numbers in brackets.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// Whether it is an array, of any number of dimensions.
    pub fn is_array(&self) -> bool {
        self.array
    }

    /// The family of the contract's `data-type`.
    pub fn family(&self) -> &'static str {
        if self.array { "array" } else { self.known.family }
    }

    /// Whether its values have an order, which keys and ranges of partitions need. An array has that of its
    /// elements; without one the definition would be accepted, and every insert refused.
    pub fn is_ordered(&self) -> bool {
        !UNORDERED.contains(&self.known.head)
    }

    /// As `format_type` writes it.
    pub fn canonical(&self) -> String {
        let mut text = self.known.head.to_owned();
        if !self.numbers.is_empty() {
            let digits: Vec<String> = self.numbers.iter().map(u32::to_string).collect();
            text.push_str(&format!("({})", digits.join(",")));
        }
        if !self.known.tail.is_empty() {
            text.push(' ');
            text.push_str(self.known.tail);
        }
        if self.array {
            text.push_str("[]");
        }
        text
    }

    /// The tokens of the canonical spelling; an array in words, since tokens have no square brackets.
    pub fn tokens(&self) -> Vec<TypeToken> {
        let word = |text: &str| TypeToken::Word(text.to_ascii_uppercase());
        let symbol = |text: &str| TypeToken::Symbol(text.to_owned());
        let mut tokens: Vec<TypeToken> = self.known.head.split(' ').map(word).collect();
        for (index, number) in self.numbers.iter().enumerate() {
            tokens.push(symbol(if index == 0 { "(" } else { "," }));
            tokens.push(TypeToken::Number(*number));
        }
        if !self.numbers.is_empty() {
            tokens.push(symbol(")"));
        }
        tokens.extend(self.known.tail.split_whitespace().map(word));
        tokens.extend(self.array.then(|| word("array")));
        tokens
    }
}

/// Parses for the contract. The problem's `member` is empty.
pub fn parse_for(server: Option<&ServerInfo>, text: &str) -> Result<DataType, Problem> {
    let parsed = parse(text)?;
    if let Some(server) = server.filter(|server| !version::is_at_least(server, parsed.known.since)) {
        return Err(refused(format!(
            "{} needs PostgreSQL {}; this one is {}",
            parsed.name(),
            parsed.known.since,
            server.version
        )));
    }
    Ok(DataType {
        canonical: parsed.canonical(),
        family: parsed.family().to_owned(),
        tokens: parsed.tokens(),
    })
}

/// Parses one type. The problem's `member` is empty.
pub fn parse(text: &str) -> Result<Type, Problem> {
    if text.len() > TEXT_MAX_BYTES {
        return Err(refused(format!("the type is longer than {TEXT_MAX_BYTES} bytes")));
    }
    let written = split(text)?;
    let Some((known, spelling)) = find(&written) else { return Err(unknown(text, &written)) };
    let numbers = fits(text, known, spelling, &written.numbers)?;
    // `float(24)` is `real`.
    let known = match (spelling, numbers.as_slice()) {
        ("float", [bits]) if *bits <= 24 => named("real"),
        ("float", _) => named("double precision"),
        _ => known,
    };
    let numbers = if spelling == "float" { Vec::new() } else { numbers };
    Ok(Type { known, numbers, array: written.array })
}

fn named(head: &str) -> &'static Known {
    KNOWN.iter().find(|known| known.head == head).unwrap_or(&KNOWN[0])
}

/// The parts of a type's text.
struct Written {
    /// Words before the numbers, lower case with single blanks.
    head: String,
    numbers: Vec<u32>,
    /// Words after them.
    tail: String,
    array: bool,
}

fn split(text: &str) -> Result<Written, Problem> {
    let mut rest = text.trim();
    let mut array = false;
    while let Some(before) = rest.strip_suffix(']') {
        let (before, dimension) = before.rsplit_once('[').ok_or_else(|| misplaced(text, "]"))?;
        if !dimension.trim().bytes().all(|b| b.is_ascii_digit()) {
            return Err(misplaced(text, dimension));
        }
        array = true;
        rest = before.trim_end();
    }
    let (head, numbers, tail) = match rest.split_once('(') {
        None => (rest, Vec::new(), ""),
        Some((head, behind)) => {
            let (inside, tail) = behind
                .split_once(')')
                .ok_or_else(|| refused(format!("{text:?}: the bracket is not closed")))?;
            let numbers =
                inside.split(',').map(|digits| number(text, digits.trim())).collect::<Result<_, _>>()?;
            (head, numbers, tail)
        }
    };
    let mut head = words_of(text, head)?;
    let mut tail = words_of(text, tail)?;
    // `integer ARRAY`.
    let last = if tail.is_empty() { &mut head } else { &mut tail };
    if last.last().is_some_and(|word| word == "array") && (last.len() > 1 || !numbers.is_empty()) {
        last.pop();
        array = true;
    }
    Ok(Written { head: head.join(" "), numbers, tail: tail.join(" "), array })
}

fn words_of(text: &str, part: &str) -> Result<Vec<String>, Problem> {
    let is_word = |word: &str| word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if let Some(wrong) = part.split_whitespace().find(|word| !is_word(word)) {
        return Err(misplaced(text, wrong));
    }
    Ok(part.split_whitespace().map(str::to_ascii_lowercase).collect())
}

fn misplaced(text: &str, wrong: &str) -> Problem {
    refused(format!(
        "{text:?}: {wrong:?} cannot stand in a type; defaults, comments and constraints are members of their own"
    ))
}

fn number(text: &str, digits: &str) -> Result<u32, Problem> {
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    match digits.parse::<u32>() {
        Ok(number) if plain && number <= LENGTH_MAX => Ok(number),
        _ => Err(refused(format!("{text:?}: {digits:?} is not a whole number up to {LENGTH_MAX}"))),
    }
}

/// The type and the spelling of its head that was used.
fn find(written: &Written) -> Option<(&'static Known, &'static str)> {
    let whole = [written.head.as_str(), written.tail.as_str()].join(" ");
    KNOWN.iter().find_map(|known| {
        let own = (known.head, known.tail);
        [own].iter().chain(known.also).find_map(|(head, tail)| {
            let fits = if written.numbers.is_empty() {
                whole.trim_end() == [*head, *tail].join(" ").trim_end()
            } else {
                written.head == *head && written.tail == *tail
            };
            fits.then_some((known, *head))
        })
    })
}

/// The numbers of the type, completed.
fn fits(text: &str, known: &Known, spelling: &str, numbers: &[u32]) -> Result<Vec<u32>, Problem> {
    let wrong = |what: String| Err(refused(format!("{text:?}: {what}")));
    match (known.numbers, numbers) {
        (_, [_]) if spelling == "float" => match numbers[0] {
            1..=53 => Ok(numbers.to_vec()),
            bits => wrong(format!("float takes 1 to 53 bits, not {bits}")),
        },
        (Numbers::OneUnlessSaid, []) => Ok(vec![1]),
        (_, []) => Ok(Vec::new()),
        (Numbers::Length | Numbers::OneUnlessSaid, [length]) => match length {
            1..=LENGTH_MAX => Ok(vec![*length]),
            _ => wrong("a length is 1 or more".to_owned()),
        },
        (Numbers::Precision, [precision, scale @ ..]) if scale.len() <= 1 => {
            let scale = scale.first().copied().unwrap_or(0);
            match precision {
                1..=PRECISION_MAX if scale <= *precision => Ok(vec![*precision, scale]),
                1..=PRECISION_MAX => wrong(format!("the scale {scale} is larger than the precision")),
                _ => wrong(format!("a precision is 1 to {PRECISION_MAX}")),
            }
        }
        (Numbers::Fraction, [digits]) => match digits {
            0..=FRACTION_MAX => Ok(vec![*digits]),
            _ => wrong(format!("a second has at most {FRACTION_MAX} digits of a fraction")),
        },
        (takes, _) => {
            let most = ["no number", "one number", "at most two numbers"][takes.most()];
            wrong(format!("{} takes {most}, not {}", known.head, numbers.len()))
        }
    }
}

fn unknown(text: &str, written: &Written) -> Problem {
    let head = written.head.as_str();
    if head.is_empty() {
        return refused("the type is empty; bigint, numeric(p,s), text or timestamp would do".to_owned());
    }
    let first = head.split(' ').next().unwrap_or_default();
    if let Some((_, instead)) = known::ELSEWHERE.iter().find(|(name, _)| *name == first) {
        return refused(format!("{text:?} is no type of PostgreSQL; {instead}"));
    }
    if head != first && KNOWN.iter().any(|known| known.begins_with(first)) {
        return refused(format!(
            "{text:?} is no type: {:?} does not belong behind {first}. Defaults, comments and NOT NULL are \
             members of their own",
            head[first.len()..].trim()
        ));
    }
    refused(format!(
        "{text:?} is not among the types that can be written for PostgreSQL; integer, bigint, numeric(p,s), \
         text, varchar(n), boolean, date, timestamp, timestamptz, uuid, bytea, jsonb and T[] are some that are"
    ))
}

fn refused(message: String) -> Problem {
    Problem::new("", "invalid_value", message)
}

#[cfg(test)]
#[path = "types/tests.rs"]
mod tests;
