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
/// Quartz has 32-bit numbers.
const NUMBER_MAX: u32 = i32::MAX.cast_unsigned();

pub struct Field {
    pub name: &'static str,
    /// Valid examples.
    example: &'static str,
    /// Names of the values, from 1.
    words: &'static [&'static str],
    first: u32,
    last: u32,
    /// The longest step, but for ranges: after `5-20/` any step is valid.
    step_last: u32,
    /// Whether a range may wrap around from the last value to the first.
    wraps: bool,
}

const fn field(
    name: &'static str,
    example: &'static str,
    words: &'static [&'static str],
    (first, last): (u32, u32),
    step_last: u32,
) -> Field {
    Field { name, example, words, first, last, step_last, wraps: last < YEAR_FIRST }
}

pub const FIELDS: [Field; 7] = [
    field("seconds", "0 or 0/30", &[], (0, 59), 59),
    field("minutes", "0 or 0/15", &[], (0, 59), 59),
    field("hours", "2 or 8-18", &[], (0, 23), 23),
    field("day-of-month", "1, L, 15W or ?", &[], (1, 31), 31),
    field("month", "* or JAN-MAR", MONTHS, (1, 12), 12),
    field("day-of-week", "MON-FRI, 6#3 or ?", DAYS, (1, 7), 7),
    field("year", "* or 2030-2035", &[], (YEAR_FIRST, YEAR_LAST), NUMBER_MAX),
];

/// What is wrong with a field.
#[derive(Debug)]
pub struct Wrong {
    /// The part of the field that is wrong.
    part: String,
    /// What to write instead.
    remedy: String,
}

impl Wrong {
    pub fn new(part: &str, remedy: impl Into<String>) -> Wrong {
        Wrong { part: part.to_owned(), remedy: remedy.into() }
    }
}

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
        self.at_or_after(value) == Some(value)
    }

    /// The least number that is not below this one.
    pub fn at_or_after(&self, value: u32) -> Option<u32> {
        let place = value.saturating_sub(self.first);
        let mut mask = u64::MAX << (place % 64);
        for word in place as usize / 64..self.bits.len() {
            let bits = self.bits[word] & mask;
            if bits != 0 {
                return Some(self.first + word as u32 * 64 + bits.trailing_zeros());
            }
            mask = u64::MAX;
        }
        None
    }

    /// The numbers from this one on.
    pub fn from(&self, first: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(self.at_or_after(first), |&value| self.at_or_after(value + 1))
    }
}

impl Field {
    /// The error continues the member's name.
    pub fn wrong(&self, text: &str, wrong: &Wrong) -> String {
        let (name, part, example) = (self.name, &wrong.part, self.example);
        let whole = if part == text { String::new() } else { format!(" in `{text}`") };
        format!("has a wrong {name}: `{part}`{whole}; {}, for example {example}", wrong.remedy)
    }

    /// A list such as `1,5-10,20/5`, in upper case. Empty items count for nothing, as in Quartz.
    pub fn set(&self, text: &str) -> Result<Set, Wrong> {
        let mut set = Set { first: self.first, bits: [0; 3] };
        for item in text.split(',').filter(|item| !item.is_empty()) {
            self.add(&mut set, item).map_err(|remedy| Wrong::new(item, remedy))?;
        }
        match set.at_or_after(self.first) {
            Some(_) => Ok(set),
            None => Err(Wrong::new(text, self.values())),
        }
    }

    /// The error is the remedy.
    fn add(&self, set: &mut Set, item: &str) -> Result<(), String> {
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => (range, Some(self.step(range, step)?)),
            None => (item, None),
        };
        let (from, to) = match range.split_once('-') {
            Some((from, to)) => self.range(from, to)?,
            None if range == "*" => (self.first, self.last),
            // `/15` is `0/15`.
            None if range.is_empty() && step.is_some() => (self.first, self.last),
            None => {
                let value = self.value(range)?;
                (value, if step.is_some() { self.last } else { value })
            }
        };
        if let Some(step) = step
            && range.starts_with(|letter: char| letter.is_ascii_alphabetic())
        {
            let numbers = if range.contains('-') { format!("{from}-{to}") } else { from.to_string() };
            return Err(format!("write numbers where there is a step, `{numbers}/{step}`"));
        }
        let size = self.last - self.first + 1;
        let to = if from > to { to + size } else { to };
        let values = (from..=to).step_by(step.unwrap_or(1) as usize);
        values.for_each(|value| set.add((value - self.first) % size + self.first));
        Ok(())
    }

    fn step(&self, range: &str, step: &str) -> Result<u32, String> {
        let step_last = if range.contains('-') { NUMBER_MAX } else { self.step_last };
        let step = number(step).filter(|step| (1..=step_last).contains(step));
        let shown_last = self.step_last.min(self.last - self.first + 1);
        step.ok_or_else(|| format!("write a step from 1 to {shown_last} after `/`"))
    }

    fn range(&self, from: &str, to: &str) -> Result<(u32, u32), String> {
        let ends = (self.value(from)?, self.value(to)?);
        if self.words.contains(&from) != self.words.contains(&to) {
            return Err(format!("write numbers at both ends, `{}-{}`", ends.0, ends.1));
        }
        if ends.0 > ends.1 && !self.wraps {
            return Err(format!("write the lower one first, `{}-{}`", ends.1, ends.0));
        }
        Ok(ends)
    }

    /// `7`, or a name of it. The error is the remedy.
    pub fn value(&self, text: &str) -> Result<u32, String> {
        if let Some(place) = self.words.iter().position(|word| *word == text) {
            return Ok(place as u32 + 1);
        }
        let value = number(text).filter(|value| (self.first..=self.last).contains(value));
        value.ok_or_else(|| self.instead_of(text))
    }

    fn instead_of(&self, text: &str) -> String {
        if text == "?" {
            return "write `*` for every value, `?` is only for day-of-month or day-of-week".to_owned();
        }
        match self.words.iter().find(|word| text.starts_with(**word)) {
            Some(word) => format!("write its first three letters, `{word}`"),
            None => self.values(),
        }
    }

    fn values(&self) -> String {
        format!("write values from {} to {}", self.shown(self.first), self.shown(self.last))
    }

    /// `7`, or `7 (SAT)`.
    fn shown(&self, value: u32) -> String {
        match self.words.get((value as usize).wrapping_sub(1)) {
            Some(word) => format!("{value} ({word})"),
            None => value.to_string(),
        }
    }
}

/// Digits alone.
pub fn number(text: &str) -> Option<u32> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?.filter(|number| *number <= NUMBER_MAX)
}
