//! One field of a cron: lists of values, ranges and steps, as a set of numbers.

/// Indices of the fields.
pub const SECONDS: usize = 0;
pub const MINUTES: usize = 1;
pub const HOURS: usize = 2;
pub const DAY_OF_MONTH: usize = 3;
pub const MONTH: usize = 4;
pub const DAY_OF_WEEK: usize = 5;
pub const YEAR: usize = 6;
pub const YEAR_FIRST: u32 = 1970;
pub const YEAR_LAST: u32 = 2099;

const MONTHS: &[&str] = &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const DAYS: &[&str] = &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

pub struct Field {
    pub name: &'static str,
    /// Valid examples.
    example: &'static str,
    /// Names of the values, from 1.
    words: &'static [&'static str],
    first: u32,
    last: u32,
    /// Whether a range may wrap around from the last value to the first.
    wraps: bool,
}

const fn field(
    name: &'static str,
    example: &'static str,
    words: &'static [&'static str],
    (first, last): (u32, u32),
) -> Field {
    Field { name, example, words, first, last, wraps: last < YEAR_FIRST }
}

pub const FIELDS: [Field; 7] = [
    field("seconds", "0", &[], (0, 59)),
    field("minutes", "0 or 0/15", &[], (0, 59)),
    field("hours", "2 or 8-18", &[], (0, 23)),
    field("day-of-month", "1, L, 15W or ?", &[], (1, 31)),
    field("month", "* or JAN-MAR", MONTHS, (1, 12)),
    field("day-of-week", "MON-FRI, 6#3 or ?", DAYS, (1, 7)),
    field("year", "*", &[], (YEAR_FIRST, YEAR_LAST)),
];

/// Numbers from `first` on, one bit each.
#[derive(Clone, PartialEq, Eq)]
pub struct Set {
    first: u32,
    bits: [u64; 3],
}

impl Set {
    fn add(&mut self, value: u32) {
        let place = value - self.first;
        self.bits[place as usize / 64] |= 1 << (place % 64);
    }

    pub fn has(&self, value: u32) -> bool {
        let Some(place) = value.checked_sub(self.first) else { return false };
        self.bits.get(place as usize / 64).is_some_and(|bits| bits >> (place % 64) & 1 == 1)
    }

    /// The numbers between two values, both included.
    pub fn from(&self, first: u32, last: u32) -> impl Iterator<Item = u32> {
        (first..=last).filter(|&value| self.has(value))
    }
}

impl Field {
    /// The error continues the member's name.
    pub fn wrong(&self, part: &str) -> String {
        let (name, first, last) = (self.name, self.shown(self.first), self.shown(self.last));
        format!(
            "has a wrong {name}: `{part}`; write values from {first} to {last}, for example {}",
            self.example
        )
    }

    /// `7`, or `7 (SAT)`.
    fn shown(&self, value: u32) -> String {
        match self.words.get((value as usize).wrapping_sub(1)) {
            Some(word) => format!("{value} ({word})"),
            None => value.to_string(),
        }
    }

    /// A list such as `1,5-10,20/5`, in upper case; `None` if it is invalid.
    pub fn set(&self, text: &str) -> Option<Set> {
        let mut set = Set { first: self.first, bits: [0; 3] };
        for item in text.split(',') {
            self.add(&mut set, item)?;
        }
        Some(set)
    }

    fn add(&self, set: &mut Set, item: &str) -> Option<()> {
        let size = self.last - self.first + 1;
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, Some(number(step).filter(|step| (1..size).contains(step))?)),
            None => (item, None),
        };
        let (from, to) = match range.split_once('-') {
            Some((from, to)) => (self.value(from)?, self.value(to)?),
            None if range == "*" => (self.first, self.last),
            // `/15` is `0/15`.
            None if range.is_empty() && step.is_some() => (self.first, self.last),
            None => {
                let value = self.value(range)?;
                (value, if step.is_some() { self.last } else { value })
            }
        };
        if from > to && !self.wraps {
            return None;
        }
        let to = if from > to { to + size } else { to };
        let values = (from..=to).step_by(step.unwrap_or(1) as usize);
        values.for_each(|value| set.add((value - self.first) % size + self.first));
        Some(())
    }

    /// `7`, or a name of it.
    pub fn value(&self, text: &str) -> Option<u32> {
        let named = self.words.iter().position(|word| *word == text).map(|place| place as u32 + 1);
        named.or_else(|| number(text)).filter(|value| (self.first..=self.last).contains(value))
    }
}

/// Digits alone.
pub fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}
