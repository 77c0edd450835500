//! Formats of times in Java's letters: `yyyy-MM-dd HH:mm:ss`, with texts in single quotes.
//!
//! DolphinScheduler 3.x takes all letters of Java's `DateTimeFormatter`; here are those whose text is the
//! same in every language. Any other letter is refused.

use chrono::{Datelike, NaiveDateTime, Timelike};

use super::shape::Shape;

/// The first and the last year that is written: all have four digits.
const YEARS: std::ops::RangeInclusive<i32> = 1000..=9999;
/// Characters that Java reserves.
const RESERVED: [char; 5] = ['[', ']', '{', '}', '#'];
/// The known letters, for people.
const LETTERS: &str = "yyyy, yy, MM, M, dd, d, HH, H, mm, m, ss and s";

/// A format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format(Vec<Piece>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Year,
    /// The last two digits of the year.
    ShortYear,
    /// With two digits, or as few as possible.
    Field(Field, bool),
    Text(char),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Month,
    Day,
    Hour,
    Minute,
    Second,
}

impl Format {
    /// Reads a format; or the reason why it is none.
    pub fn parse(text: &str) -> Result<Format, String> {
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some(c) = rest.chars().next() {
            let length = if c.is_ascii_alphabetic() {
                let length = rest.find(|other| other != c).unwrap_or(rest.len());
                let letters = &rest[..length];
                pieces.push(piece(letters).ok_or_else(|| format!("`{letters}` is not one of {LETTERS}"))?);
                length
            } else if c == '\'' {
                quoted(rest, &mut pieces).ok_or("a quote in it is not closed")?
            } else if RESERVED.contains(&c) || c.is_control() {
                return Err(format!("it must not have {c:?}"));
            } else {
                pieces.push(Piece::Text(c));
                c.len_utf8()
            };
            rest = &rest[length..];
        }
        let has_part = pieces.iter().any(|piece| !matches!(piece, Piece::Text(_)));
        if has_part { Ok(Format(pieces)) } else { Err(format!("it has none of {LETTERS}")) }
    }

    /// The time in this format; `None` if the year has not four digits.
    pub fn written(&self, at: NaiveDateTime) -> Option<String> {
        if !YEARS.contains(&at.year()) {
            return None;
        }
        let mut written = String::new();
        for piece in &self.0 {
            let (number, digits) = match piece {
                Piece::Text(c) => {
                    written.push(*c);
                    continue;
                }
                Piece::Year => (at.year().unsigned_abs(), 4),
                Piece::ShortYear => (at.year().unsigned_abs() % 100, 2),
                Piece::Field(field, is_padded) => (field.of(at), if *is_padded { 2 } else { 1 }),
            };
            written.push_str(&format!("{number:0digits$}"));
        }
        Some(written)
    }

    /// What all its texts have in common.
    pub fn shape(&self) -> Shape {
        let shapes = self.0.iter().map(|piece| match piece {
            Piece::Text(c) => Shape::of(c.encode_utf8(&mut [0; 4])),
            Piece::Year => Shape::digits(4),
            Piece::ShortYear | Piece::Field(_, true) => Shape::padded(2),
            Piece::Field(Field::Month | Field::Day, false) => Shape::digits(2),
            Piece::Field(_, false) => Shape::lone(2),
        });
        shapes.fold(Shape::EMPTY, Shape::then)
    }
}

impl Field {
    fn of(self, at: NaiveDateTime) -> u32 {
        match self {
            Field::Month => at.month(),
            Field::Day => at.day(),
            Field::Hour => at.hour(),
            Field::Minute => at.minute(),
            Field::Second => at.second(),
        }
    }
}

/// A run of one letter.
fn piece(letters: &str) -> Option<Piece> {
    let field = match letters.as_bytes().first()? {
        b'y' if letters.len() == 4 => return Some(Piece::Year),
        b'y' if letters.len() == 2 => return Some(Piece::ShortYear),
        b'M' => Field::Month,
        b'd' => Field::Day,
        b'H' => Field::Hour,
        b'm' => Field::Minute,
        b's' => Field::Second,
        _ => return None,
    };
    (letters.len() <= 2).then_some(Piece::Field(field, letters.len() == 2))
}

/// Reads a text in quotes, or `''`, which is a quote, and returns its length.
fn quoted(text: &str, pieces: &mut Vec<Piece>) -> Option<usize> {
    if text.starts_with("''") {
        pieces.push(Piece::Text('\''));
        return Some(2);
    }
    let mut at = 1;
    loop {
        let c = text[at..].chars().next()?;
        if c == '\'' {
            if !text[at + 1..].starts_with('\'') {
                return Some(at + 1);
            }
            at += 1;
        }
        pieces.push(Piece::Text(c));
        at += c.len_utf8();
    }
}
