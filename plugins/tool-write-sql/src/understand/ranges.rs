//! How the reader handles days: the range, and its field.

use super::link::Chunk;
use super::meaning::Measure;
use super::meaning::{Against, Test, Unclear};
use super::names::Named;
use super::read::{Last, Reader, Waiting, is_fiscal};
use crate::calendar::{Day, Range};
use crate::schema::{Kind, Place};
use crate::sums;
use crate::words::concept;
use crate::words::english::singular;
use crate::words::phrases::{Compare, Earlier, Op};
use crate::words::short::words_of;

impl Reader<'_> {
    pub(super) fn days(&mut self, compare: Compare) -> Result<(), Unclear> {
        let follows = self.at > 0 && matches!(self.pieces[self.at - 1].chunk, Chunk::Range(_));
        // In Chinese the day comes first: `2026-07-01之后`.
        if !self.is_chinese_here() || !follows {
            self.waiting.push(Waiting::Days(compare));
            return Ok(());
        }
        if self.dated == Some(self.at - 1)
            && let Some(filter) = self.meaning.filters.last_mut()
            && let Test::Days(range) = &mut filter.test
        {
            *range = open(*range, compare);
            return Ok(());
        }
        let Some(range) = self.meaning.range else { return self.unclear() };
        // `本月到昨天为止` has its beginning.
        let is_whole = self.at > 1 && matches!(self.pieces[self.at - 2].chunk, Chunk::Op(Op::To));
        if !(is_whole && compare == Compare::AtMost) {
            self.meaning.range = Some(open(range, compare));
        }
        Ok(())
    }

    pub(super) fn range(&mut self, range: Range) -> Result<(), Unclear> {
        self.meaning.fiscal |= is_fiscal(&self.pieces[self.at].text.to_lowercase());
        if let Some(number) = self.bare_year() {
            return match self.last {
                Last::Field(place) if self.schema.field(place).is_number() && !self.names_years(place) => {
                    self.number(number)
                }
                // `orders more than 2000`
                Last::Table(_) | Last::Measure(_)
                    if matches!(self.waiting.last(), Some(Waiting::Compare(_))) =>
                {
                    self.number(number)
                }
                _ if matches!(self.waiting.last(), Some(Waiting::Top)) || self.follows_one_thing() => {
                    self.number(number)
                }
                _ => self.range_of_days(range),
            };
        }
        self.range_of_days(range)
    }

    fn range_of_days(&mut self, range: Range) -> Result<(), Unclear> {
        // `in September but not in October`, `9月下单但10月没有下单`
        let is_lacking = self.is_chinese_here() && matches!(self.next_piece(), Some(Chunk::Op(Op::Not)));
        if self.takes_not() || is_lacking && self.meaning.range.is_some() {
            self.at += usize::from(is_lacking);
            return match (self.meaning.range, self.meaning.never_in.replace(range)) {
                (Some(known), None) if known != range => Ok(()),
                _ => self.unclear(),
            };
        }
        let is_ago = ["ago", "前"].iter().any(|end| self.pieces[self.at].text.ends_with(end));
        let begins_from = self.at > 0 && self.pieces[self.at - 1].text.eq_ignore_ascii_case("from")
            || self.pieces[self.at].text.to_lowercase().starts_with("from ");
        let single = self.at;
        let range = self.range_to(range)?;
        let compare =
            match self.take_last(|waiting| matches!(waiting, Waiting::Days(_) | Waiting::Compare(_))) {
                // `less than 30 days ago` is later than that day.
                Some(Waiting::Compare(compare)) if is_ago => Some(compare.mirrored()),
                Some(Waiting::Days(compare) | Waiting::Compare(compare)) => Some(compare),
                _ if self.goes_on_from_here() => Some(Compare::AtLeast),
                _ => None,
            };
        // `change from last month`
        if begins_from && single == self.at && compare.is_none() && self.asks_for_growth() {
            self.compared = true;
        }
        if let Some(number) = self.year_number(range) {
            return self.year(number, compare);
        }
        // `written between 1900 and 1950`
        if let (Some(first), Some(last), None) =
            (years_of(range.from, 0), years_of(range.before, -1), compare)
            && single != self.at
        {
            let said = match self.last {
                Last::Field(place)
                    if self.meaning.items.last() == Some(&place) && self.names_years(place) =>
                {
                    self.meaning.items.pop();
                    Some(place)
                }
                _ => self.only_year(),
            };
            let said = said.filter(|place| self.may_be_year_of_birth(*place));
            if let Some(place) = said.filter(|_| self.meaning.verbs.is_empty()) {
                return self.filter(place, Test::Between(first, last));
            }
        }
        if compare == Some(Compare::NotEqual) {
            return self.unclear();
        }
        let range = compare.map_or(range, |compare| open(range, compare));
        if let Some(place) = self.date_before(compare.is_some()) {
            self.meaning.items.pop();
            self.dated = Some(self.at);
            return self.filter(place, Test::Days(range));
        }
        let compared = self.is_compared() && self.meaning.against.is_none();
        let text = self.pieces[self.at].text.to_lowercase();
        let is_last =
            ["last month", "last week", "last quarter", "上月", "上个月", "上周", "上季度", "上个季度"]
                .iter()
                .any(|word| text.ends_with(word));
        let goes_on = self.goes_on_in(range) && !compared;
        match &mut self.meaning.range {
            known @ None => *known = Some(range),
            Some(known) if known.before.is_none() && range.from.is_none() => known.before = range.before,
            Some(known) if *known == range && !compared => {}
            // `10月与上月相比`: the month before that, whatever is last month today.
            Some(known) if compared && is_last && known.previous() != Some(range) => {
                self.meaning.against = Some(Against::Earlier(Earlier::Period));
            }
            Some(known) if compared && *known == range => {}
            // `this month compared with last month`: the later days are asked for.
            Some(known) if compared => {
                let (now, before) = if known.from > range.from { (*known, range) } else { (range, *known) };
                self.meaning.range = Some(now);
                self.meaning.against = Some(Against::Days(before));
            }
            Some(known) if goes_on => {
                *known = Range::of(known.from.min(range.from), known.before.max(range.before));
            }
            Some(_) => return self.unclear(),
        }
        Ok(())
    }

    /// `revenue in September and October`: days that follow each other, of a number that adds up; not `customers who ordered in
    /// September and October`.
    fn goes_on_in(&self, range: Range) -> bool {
        let Some(known) = self.meaning.range else { return false };
        let before = |back: usize| self.at.checked_sub(back).map(|at| &self.pieces[at].chunk);
        let is_joined =
            matches!(before(1), Some(Chunk::Op(Op::And))) && matches!(before(2), Some(Chunk::Range(_)));
        let is_next = known.before.is_some() && known.before == range.from
            || range.before.is_some() && range.before == known.from;
        let meaning = &self.meaning;
        let is_amount = |place: &Place| sums::adds_up(self.schema.field(*place));
        let counts_only =
            |table: &usize| meaning.measures.iter().all(|measure| *measure == Measure::Count(*table));
        let adds_up = meaning.items.iter().all(is_amount)
            && (!meaning.items.is_empty() || !meaning.measures.is_empty())
            && meaning.measures.iter().all(|measure| measure.adds_up())
            && meaning.tables.iter().all(counts_only);
        is_joined && is_next && adds_up && meaning.verbs.is_empty() && !self.asks_for_growth()
    }

    /// `from October on`
    fn goes_on_from_here(&self) -> bool {
        let next = self.pieces.get(self.at + 1).map(|piece| piece.text.to_lowercase());
        next.is_some_and(|next| matches!(next.as_str(), "on" | "onward" | "onwards"))
    }

    /// `growth from September to October`, and not `9月1日到9月15日app和web的对比`, whose days go from the one to the other.
    fn compares_ends(&self, first: Range) -> bool {
        let is_growth = |piece: &super::link::Piece| matches!(piece.chunk, Chunk::Op(Op::Growth));
        let is_over = |piece: &super::link::Piece| matches!(piece.chunk, Chunk::Op(Op::Over(_)));
        let asks = match self.is_chinese_here() {
            true => self.pieces.iter().any(is_growth),
            false => self.asks_for_growth(),
        };
        asks && !self.pieces.iter().any(is_over) && first.length() != Some(1)
    }

    fn asks_for_growth(&self) -> bool {
        let asks = |piece: &super::link::Piece| {
            matches!(piece.chunk, Chunk::Op(Op::Growth | Op::Over(_) | Op::ComparedWith))
        };
        self.pieces.iter().any(asks)
    }

    fn is_compared(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece.chunk, Chunk::Op(Op::ComparedWith)))
    }

    /// `from 2026-10-01 to 2026-10-15`: both included.
    fn range_to(&mut self, range: Range) -> Result<Range, Unclear> {
        let between = self.take_last(|waiting| *waiting == Waiting::Between).is_some();
        let joint = self.pieces.get(self.at + 1).map(|piece| &piece.chunk);
        let goes_on = matches!(joint, Some(Chunk::Op(Op::To)))
            || between && matches!(joint, Some(Chunk::Op(Op::And)))
            || matches!(joint, Some(Chunk::Op(Op::And)))
                && self.pieces.get(self.at + 3).is_some_and(|piece| piece.chunk == Chunk::Op(Op::Within));
        match self.pieces.get(self.at + 2).map(|piece| &piece.chunk) {
            // `growth from September to October`
            Some(Chunk::Range(last)) if goes_on && range.from < last.from && self.compares_ends(range) => {
                self.at += 2;
                self.meaning.against = Some(Against::Days(range));
                Ok(*last)
            }
            Some(Chunk::Range(last)) if goes_on && range.from < last.before => {
                self.at += 2;
                Ok(Range::of(range.from, last.before))
            }
            _ if between => self.unclear(),
            _ => Ok(range),
        }
    }

    /// The time field to which these days refer: `ordered_at > 2026-11-01`.
    fn date_before(&self, is_compared: bool) -> Option<Place> {
        let Last::Field(place) = self.last else { return None };
        let is_date =
            self.schema.field(place).kind() == Kind::Date && self.meaning.items.last() == Some(&place);
        let between = self.pieces[..self.at].iter().rev();
        let mut between = between.take_while(|piece| !matches!(piece.chunk, Chunk::Named(_)));
        let said = between.all(|piece| {
            matches!(
                piece.chunk,
                Chunk::Op(
                    Op::Is
                        | Op::Filler
                        | Op::Compare(_)
                        | Op::After
                        | Op::Before
                        | Op::Since
                        | Op::Until
                        | Op::Between
                )
            )
        });
        let counts = !self.meaning.measures.is_empty() || is_compared;
        (is_date && said && (counts || self.is_chinese_here())).then_some(place)
    }

    /// A year of just four digits.
    fn bare_year(&self) -> Option<f64> {
        let text = &self.pieces[self.at].text;
        if text.len() == 4 { text.parse().ok() } else { None }
    }

    /// `customer 2001`.
    fn follows_one_thing(&self) -> bool {
        let Some(before) = self.at.checked_sub(1).map(|at| &self.pieces[at]) else { return false };
        let table = matches!(&before.chunk, Chunk::Named(named) if named.iter().any(|named| matches!(named, Named::Table(_))));
        let word = before.text.rsplit(' ').next().unwrap_or_default().to_lowercase();
        table && (!word.is_ascii() || singular(&word) == word)
    }

    /// The year, if the range is one that a field of years can have.
    fn year_number(&self, range: Range) -> Option<f64> {
        let whole = range.length().is_some_and(|days| days == 365 || days == 366)
            && self.pieces[self.at].text.ends_with(|letter: char| letter.is_ascii_digit() || letter == '年');
        let (year, 1, 1) = range.from.filter(|_| whole)?.date() else { return None };
        #[expect(clippy::cast_precision_loss, reason = "a year is small")]
        Some(year as f64)
    }

    /// A year refers to a field of years if there is one, else to the days of the year.
    fn year(&mut self, number: f64, compare: Option<Compare>) -> Result<(), Unclear> {
        if let Last::Field(place) = self.last
            && self.meaning.items.last() == Some(&place)
            && self.names_years(place)
        {
            self.meaning.items.pop();
            return self.filter(place, Test::Number(compare.unwrap_or(Compare::Equal), number));
        }
        // `in the 2019 election`, which has a field `election_year`
        if let Some(Chunk::Named(named)) = self.next_piece()
            && let Some(place) = named.iter().find_map(|named| match named {
                Named::Field(place, _) if self.names_years(*place) => Some(*place),
                _ => None,
            })
            && compare.is_none()
        {
            self.at += 1;
            return self.filter(place, Test::Number(Compare::Equal, number));
        }
        let is_meant = |place: &Place| self.names_years(*place) && self.may_be_year_of_birth(*place);
        let mut years: Vec<Place> = self.places_in_focus().filter(is_meant).collect();
        if years.is_empty() {
            years = self.places_nearby().filter(is_meant).collect();
        }
        // `the singers in a concert in 2014`
        if years.len() > 1
            && let Some(table) = self.focus.table_before(self.at)
            && years.iter().any(|place| place.table == table)
        {
            years.retain(|place| place.table == table);
        }
        if let [only] = years[..] {
            if compare.is_none() && self.is_one_more_number(only, number) {
                return Ok(());
            }
            return self.filter(only, Test::Number(compare.unwrap_or(Compare::Equal), number));
        }
        if !years.is_empty() || compare == Some(Compare::NotEqual) {
            return self.unclear();
        }
        #[expect(clippy::cast_possible_truncation, reason = "it came from a year")]
        let range = Range::year(number as i64);
        let range = compare.map_or(range, |compare| open(range, compare));
        if let Some(place) = self.date_before(compare.is_some()) {
            self.meaning.items.pop();
            return self.filter(place, Test::Days(range));
        }
        if self.meaning.range.is_some() {
            return self.unclear();
        }
        self.meaning.range = Some(range);
        Ok(())
    }

    /// `in 2014 or 2015`, `in 2014 and 2015`.
    fn is_one_more_number(&mut self, place: Place, number: f64) -> bool {
        let is_joined = self.is_joined();
        let Some(filter) = self.meaning.filters.last_mut().filter(|filter| filter.place == place) else {
            return false;
        };
        let mut numbers = match &filter.test {
            Test::Number(Compare::Equal, first) => vec![*first],
            Test::Numbers(numbers) => numbers.clone(),
            _ => return false,
        };
        if !(self.takes_or() || is_joined) {
            return false;
        }
        numbers.push(number);
        let filter = self.meaning.filters.last_mut().expect("it was just there");
        filter.test = Test::Numbers(numbers);
        if is_joined {
            self.meaning.joined.push(place);
        }
        true
    }

    /// The only field that says in which year the named things began, where `names` are those of ages.
    pub(super) fn year_of_beginning(&self, names: &[&str]) -> Option<Place> {
        const BEGINNINGS: &[&str] = &[
            "birth",
            "built",
            "build",
            "founded",
            "founding",
            "established",
            "construction",
            "opened",
            "open",
        ];
        let begins = |place: &Place| {
            let field = self.schema.field(*place);
            let words = words_of(&field.name);
            let is_time = field.kind() == Kind::Date || words.iter().any(|word| word == "year");
            is_time && words.iter().any(|word| BEGINNINGS.contains(&word.as_str()))
        };
        let mut found = self.places_in_focus().filter(|_| names == ["age"]).filter(begins);
        found.next().filter(|_| found.next().is_none())
    }

    /// The only field of years of the tables that are named.
    pub(super) fn only_year(&self) -> Option<Place> {
        let mut years = self.places_in_focus().filter(|place| self.names_years(*place));
        years.next().filter(|_| years.next().is_none())
    }

    /// A year of birth only where a birth is spoken of: `votes in 2019` are not those of who was born then.
    fn may_be_year_of_birth(&self, place: Place) -> bool {
        let is_birth = words_of(&self.schema.field(place).name).iter().any(|word| word == "birth");
        !is_birth || self.pieces.iter().any(|piece| concept(&piece.text.to_lowercase()) == "birth")
    }

    fn names_years(&self, place: Place) -> bool {
        let field = self.schema.field(place);
        let lower = field.name.to_lowercase();
        let words = words_of(&field.name);
        field.is_number()
            && (lower.ends_with("year")
                || lower.starts_with("year_of_f")
                || words.last().is_some_and(|word| word == "year")
                || matches!(&words[..], [year, other, ..] if year == "year" && other != "of")
                || field.comment.contains('年'))
    }
}

/// The year that begins on a day, or so many years later.
fn years_of(day: Option<Day>, later: i64) -> Option<f64> {
    let (year, 1, 1) = day?.date() else { return None };
    #[expect(clippy::cast_precision_loss, reason = "a year is small")]
    Some((year + later) as f64)
}

/// `after a day`, `since a day`, `before a day`.
fn open(range: Range, compare: Compare) -> Range {
    match compare {
        Compare::More => Range::of(range.before, None),
        Compare::AtLeast => Range::of(range.from, None),
        Compare::AtMost => Range::of(None, range.before),
        Compare::Less => Range::of(None, range.from),
        Compare::Equal | Compare::NotEqual => range,
    }
}
