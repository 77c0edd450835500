//! What the reader does with numbers and days: what they are compared with, and how.

use super::link::Chunk;
use super::meaning::{Measure, Test, Unclear};
use super::read::{Last, Reader, Waiting};
use crate::calendar::Range;
use crate::schema::Place;
use crate::words::phrases::{Compare, Op};

impl Reader<'_> {
    pub(super) fn compare_before(&mut self, compare: Compare) -> Result<(), Unclear> {
        let Some(number) = self.number.take() else { return self.unclear() };
        self.compared(compare, number)
    }

    /// A comparison that is complete but for what it is about.
    pub(super) fn compared(&mut self, compare: Compare, number: f64) -> Result<(), Unclear> {
        match self.last {
            // `orders above 100` compares something of the orders, not how many there are.
            Last::Measure(Measure::Count(_)) if !self.is_chinese() && !self.says_is() => self.unclear(),
            Last::Measure(measure) => {
                self.meaning.measures.retain(|known| *known != measure);
                self.meaning.having.push((measure, compare, number));
                self.last = Last::Nothing;
                Ok(())
            }
            Last::Field(place)
                if self.meaning.items.last() == Some(&place) && self.schema.field(place).is_number() =>
            {
                self.meaning.items.pop();
                self.filter(place, Test::Number(compare, number))
            }
            _ => {
                self.waiting.push(Waiting::Compared(compare, number));
                Ok(())
            }
        }
    }

    /// Whether `is` stands before the comparison and its number.
    fn says_is(&self) -> bool {
        self.at >= 2 && self.pieces[self.at - 2].chunk == Chunk::Op(Op::Is)
    }

    pub(super) fn days(&mut self, compare: Compare) -> Result<(), Unclear> {
        // In Chinese the day stands before: `2026-07-01之后`.
        let han = self.is_chinese();
        match self.meaning.range {
            Some(range) if han => {
                self.meaning.range = Some(open(range, compare));
                Ok(())
            }
            _ => {
                self.waiting.push(Waiting::Days(compare));
                Ok(())
            }
        }
    }

    pub(super) fn range(&mut self, range: Range) -> Result<(), Unclear> {
        let compare =
            match self.take_last(|waiting| matches!(waiting, Waiting::Days(_) | Waiting::Compare(_))) {
                Some(Waiting::Days(compare)) => Some(compare),
                Some(Waiting::Compare(compare)) => {
                    let number: f64 = self.pieces[self.at].text.parse().or_else(|_| self.unclear())?;
                    return self.compared(compare, number);
                }
                _ => None,
            };
        if let Some(number) = self.year_number(range) {
            return self.year(number, compare);
        }
        let range = compare.map_or(range, |compare| open(range, compare));
        match &mut self.meaning.range {
            known @ None => *known = Some(range),
            Some(known) if known.before.is_none() && range.from.is_none() => known.before = range.before,
            Some(known) if *known == range => {}
            Some(_) => return self.unclear(),
        }
        Ok(())
    }

    /// The year, where the range is one that a field of years can have.
    fn year_number(&self, range: Range) -> Option<f64> {
        let whole = range.length().is_some_and(|days| days >= 365)
            && self.pieces[self.at].text.ends_with(|letter: char| letter.is_ascii_digit() || letter == '年');
        let (year, 1, 1) = range.from.filter(|_| whole)?.date() else { return None };
        #[expect(clippy::cast_precision_loss, reason = "a year is small")]
        Some(year as f64)
    }

    /// A year means a field of years where there is one, else the days of the year.
    fn year(&mut self, number: f64, compare: Option<Compare>) -> Result<(), Unclear> {
        if let Last::Field(place) = self.last
            && self.meaning.items.last() == Some(&place)
            && self.names_years(place)
        {
            self.meaning.items.pop();
            return self.filter(place, Test::Number(compare.unwrap_or(Compare::Equal), number));
        }
        let years: Vec<Place> = self.places_in_focus().filter(|place| self.names_years(*place)).collect();
        if let [only] = years[..] {
            return self.filter(only, Test::Number(compare.unwrap_or(Compare::Equal), number));
        }
        if !years.is_empty() {
            return self.unclear();
        }
        #[expect(clippy::cast_possible_truncation, reason = "it came from a year")]
        let range = Range::year(number as i64);
        if self.meaning.range.is_some() {
            return self.unclear();
        }
        self.meaning.range = Some(compare.map_or(range, |compare| open(range, compare)));
        Ok(())
    }

    fn names_years(&self, place: Place) -> bool {
        let field = self.schema.field(place);
        let lower = field.name.to_lowercase();
        field.is_number()
            && (lower == "year"
                || lower.ends_with("year")
                || lower.starts_with("year_of_f")
                || field.comment.contains('年'))
    }

    pub(super) fn between(&mut self) -> Result<(), Unclear> {
        match self.last {
            Last::Field(place)
                if self.schema.field(place).is_number() && self.meaning.items.last() == Some(&place) =>
            {
                self.meaning.items.pop();
                self.waiting.push(Waiting::Between(place, None));
                Ok(())
            }
            _ => self.unclear(),
        }
    }

    pub(super) fn number(&mut self, number: f64) -> Result<(), Unclear> {
        match self.waiting.last().cloned() {
            Some(Waiting::Compare(compare)) => {
                self.waiting.pop();
                return self.compared(compare, number);
            }
            Some(Waiting::Days(compare)) => {
                self.waiting.pop();
                return self.compared(compare, number);
            }
            Some(Waiting::Between(place, None)) => {
                self.waiting.pop();
                self.waiting.push(Waiting::Between(place, Some(number)));
                return Ok(());
            }
            Some(Waiting::Between(place, Some(least))) => {
                self.waiting.pop();
                return self.filter(place, Test::Between(least, number));
            }
            Some(Waiting::Top) => {
                self.waiting.pop();
                return self.limit(number);
            }
            _ => {}
        }
        if let Last::Field(place) = self.last
            && self.schema.field(place).is_number()
            && self.meaning.items.last() == Some(&place)
            && !matches!(self.next(), Some(Chunk::Named(_) | Chunk::Op(Op::CompareBefore(_))))
        {
            self.meaning.items.pop();
            return self.filter(place, Test::Number(Compare::Equal, number));
        }
        self.number = Some(number);
        Ok(())
    }
}

/// `after a day`, `since a day`, `before a day`.
fn open(range: Range, compare: Compare) -> Range {
    match compare {
        Compare::More => Range { from: range.before, before: None },
        Compare::AtLeast => Range { from: range.from, before: None },
        Compare::AtMost => Range { from: None, before: range.before },
        _ => Range { from: None, before: range.from },
    }
}
