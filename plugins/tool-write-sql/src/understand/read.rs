//! Reads the pieces of a question from left to right. Each piece must have a use, or the question is refused;
//! only fillers are skipped.

mod finish;
mod values;

use super::choose::Focus;
use super::link::{Chunk, Piece};
use super::meaning::{Against, By, Filter, Meaning, Measure, Occasion, Test, Unclear};
use super::names::{Fit, Named};
use super::verbs::is_participle;
use crate::joins::Links;
use crate::known::Known;
use crate::schema::{Kind, Place, Schema};
use crate::words::phrases::{Compare, Func, Op, Part};

/// The largest row limit of a question.
const LIMIT_MAX: f64 = 1_000.0;

/// Endings of passive participles.
const PARTICIPLES: &[&str] = &["ed", "ought", "old", "ken", "ven", "made"];

/// Words that ask for rows instead of a number.
const LISTS: &[&str] = &["list", "列出", "清单", "列表", "明细表"];

/// An operation that waits for its operand.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Waiting {
    Count,
    Make(Vec<Func>),
    Each,
    By,
    Order(Option<bool>),
    Top,
    Most(bool),
    Extreme(bool),
    Common(bool),
    /// Counts what a verb says.
    Times,
    /// Counts the rows of what is told apart: `how many people in each city`.
    People,
    Compare(Compare),
    /// Compares with this of all rows: waits for its field.
    Versus(Compare, Func),
    /// A comparison with its number that waits for its field or table.
    Compared(Compare, f64),
    /// A range of numbers that waits for its field.
    Among(f64, f64),
    Days(Compare),
    /// Waits for two numbers for the previous field, or two days.
    Between,
    /// Waits for a text that the previous field has in it.
    Has(Part),
}

/// What a share is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    /// The rows with a value.
    Rows,
    /// A number, in groups or of rows with a value.
    Numbers,
}

/// The last piece, for words that follow their subject.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Last {
    Nothing,
    Table(usize),
    Field(Place),
    Measure(Measure),
    Value,
    Group,
}

pub(super) struct Reader<'a> {
    pub schema: &'a Schema,
    pub links: &'a Links,
    /// Of several things of one name, that of this table is meant.
    pub preferred: Option<usize>,
    pub pieces: &'a [Piece],
    pub focus: Focus,
    pub at: usize,
    pub meaning: Meaning,
    pub waiting: Vec<Waiting>,
    pub last: Last,
    /// Whether the last `not` is a `never`: of what happened, and not of a value.
    never: bool,
    /// Whether the last value or compared field was joined by `or`.
    or: bool,
    not: bool,
    pub ascending: Option<bool>,
    /// A number that precedes its thing, with its position: `5 workflows`.
    pub number: Option<(f64, usize)>,
    /// The last field compared with a number, and the number's position.
    pub tested: Option<(Place, usize)>,
    /// The last field that a condition, an order or a ranking took, and its position.
    pub recent: Option<(Place, usize)>,
    /// The position of the days last given to a field.
    pub dated: Option<usize>,
    /// The last measure that was named again.
    pub repeated: Option<Measure>,
    /// Whether the operators are Chinese.
    chinese: bool,
    /// `who`, `哪个`: asks for one.
    single: bool,
    /// `new`: of the next thing.
    pub new: bool,
    /// `total amount of`: of the next thing.
    pub amount: bool,
    /// `share of`: of what.
    pub(super) share: Option<Whole>,
    /// `ratio of`: of two values.
    ratio: bool,
    /// Days are compared with others.
    pub compared: bool,
    /// `sort`: what follows `by` is an order.
    sorts: bool,
    /// The position of the last word such as `largest`.
    pub extreme_at: usize,
    /// Whether a word named the requested rows.
    pub asked: bool,
    /// Whether the requested things are plural.
    pub several: bool,
}

/// Whether an unknown word may only tie two things together.
pub fn ties(word: &str) -> bool {
    super::verbs::is_neutral(&word.to_lowercase())
}

/// The meaning of the pieces.
pub fn meaning(known: &Known<'_>, pieces: &[Piece], preferred: Option<usize>) -> Result<Meaning, Unclear> {
    let schema = known.schema;
    let focus = Focus::of(pieces);
    let is_chinese = |piece: &Piece| {
        matches!(piece.chunk, Chunk::Op(_)) && piece.text.chars().any(crate::words::chinese::is_han)
    };
    let chinese = pieces.iter().any(is_chinese);
    let mut reader = Reader {
        schema,
        links: &known.links,
        preferred,
        pieces,
        focus,
        at: 0,
        meaning: Meaning::default(),
        waiting: Vec::new(),
        last: Last::Nothing,
        or: false,
        not: false,
        ascending: None,
        number: None,
        tested: None,
        recent: None,
        dated: None,
        repeated: None,
        chinese,
        single: false,
        new: false,
        never: false,
        amount: false,
        share: None,
        ratio: pieces.iter().any(|piece| matches!(piece.chunk, Chunk::Op(Op::Ratio))),
        compared: false,
        sorts: false,
        extreme_at: 0,
        asked: false,
        several: false,
    };
    while reader.at < pieces.len() {
        reader.piece()?;
        reader.at += 1;
    }
    let sorts = reader.sorts;
    let meaning = reader.finish()?;
    // `rank the cities`: by what?
    match sorts && meaning.order.is_none() && meaning.rank.is_none() {
        true => Err(Unclear::NoRank),
        false => Ok(meaning),
    }
}

impl Reader<'_> {
    fn piece(&mut self) -> Result<(), Unclear> {
        let piece = &self.pieces[self.at];
        match &piece.chunk {
            Chunk::Op(op) => self.op(*op),
            Chunk::Named(named) if piece.quoted && self.is_of_other_field(named) => self.quoted(),
            Chunk::Named(named) => self.named(named),
            Chunk::Number(number) => self.number(*number),
            Chunk::Range(range) => self.range(*range),
            Chunk::Quoted => self.quoted(),
            Chunk::NoDay => Err(Unclear::NoDay(piece.text.clone())),
            Chunk::Mark => self.sentence_ends(),
            Chunk::Unknown if matches!(self.waiting.last(), Some(Waiting::Has(_))) => self.quoted(),
            Chunk::Unknown if self.is_unit_of_number() || self.names_source() => Ok(()),
            Chunk::Unknown if self.counts_people() => self.people(),
            Chunk::Unknown if self.are_people_who() => Ok(()),
            Chunk::Unknown if self.is_verb_between() || self.is_verb_of_value() => Ok(()),
            Chunk::Unknown => Err(Unclear::Word(piece.text.clone())),
        }
    }

    /// `Which line is the longest? Return its code.`
    fn sentence_ends(&mut self) -> Result<(), Unclear> {
        if !matches!(self.pieces[self.at].text.as_str(), "?" | "." | ";") {
            return Ok(());
        }
        let is_last = self.extreme_at + 1 == self.at;
        if let [Waiting::Extreme(greatest)] = self.waiting[..]
            && is_last
            && let Ok(place) = self.size_of_entity()
        {
            self.waiting.clear();
            return self.rank(By::Field(place), greatest);
        }
        Ok(())
    }

    fn op(&mut self, op: Op) -> Result<(), Unclear> {
        match op {
            // `orders not yet shipped`: those that will be.
            Op::Filler if self.keeps_not() && self.pieces[self.at].text.eq_ignore_ascii_case("yet") => {
                return self.unclear();
            }
            Op::Filler if self.is_exclusive() => return self.unclear(),
            Op::All if self.is_universal() => return self.unclear(),
            Op::Filler => {
                let text = self.pieces[self.at].text.to_lowercase();
                self.meaning.listed |= LISTS.contains(&text.as_str());
                self.meaning.in_total |= matches!(text.as_str(), "in total" | "altogether");
            }
            Op::Piece if !self.is_piece_here() => return self.unclear(),
            Op::Of | Op::Is | Op::Within | Op::Piece | Op::Ratio => {}
            Op::Nth(place) => {
                if self.meaning.place.replace(place).is_some() {
                    return self.unclear();
                }
            }
            Op::All => self.meaning.listed = true,
            Op::Link => self.link()?,
            Op::To => self.to()?,
            Op::Money => {
                if !self.follows_number() {
                    return self.unclear();
                }
            }
            Op::Which => {
                self.several |= self.is_chinese();
                self.meaning.listed = true;
            }
            Op::One => self.single = true,
            Op::Count => self.count()?,
            Op::New => self.new = true,
            Op::Share => {
                self.count_what_is_joined()?;
                self.share = Some(self.share_here());
            }
            // `销售额和占比`
            Op::Rate if self.is_joined() => return self.unclear(),
            // `各渠道销售额占比`
            Op::Rate
                if matches!(self.last, Last::Field(_) | Last::Measure(_) | Last::Table(_) | Last::Group) =>
            {
                self.share = Some(Whole::Numbers);
            }
            // `订单金额超过1000的占比`
            Op::Rate if matches!(self.meaning.filters[..], [Filter { test: Test::Number(..), .. }]) => {
                self.share = Some(Whole::Numbers);
            }
            Op::Rate => self.rate()?,
            Op::AverageOfUnits(unit) => {
                self.meaning.averages_groups = true;
                self.unit(unit)?;
            }
            Op::AverageEach => {
                self.meaning.averages_groups = true;
                self.waiting.push(Waiting::Each);
            }
            Op::People => self.waiting.push(Waiting::People),
            Op::Times => self.waiting.insert(0, Waiting::Times),
            Op::CountBefore => self.count_before()?,
            Op::Make(func) => self.make(func)?,
            Op::AmountOf => {
                self.make(Func::Sum)?;
                self.amount = true;
            }
            Op::MakeBefore(func) => self.make_before(func)?,
            Op::Distinct => self.meaning.different = true,
            // `the top 3 and the bottom 3`
            Op::Top if self.meaning.least => return self.unclear(),
            Op::Top => self.top()?,
            Op::Bottom if self.meaning.top || self.waiting.contains(&Waiting::Top) => return self.unclear(),
            Op::Bottom => {
                self.meaning.least = true;
                self.top()?;
            }
            Op::Most(most) => self.most(most)?,
            Op::Extreme(greatest) => {
                self.extreme_at = self.at;
                self.extreme(greatest)?;
            }
            Op::ExtremeOf(greatest, names) => match self.field_called(names) {
                Ok(place) => self.rank(By::Field(place), greatest)?,
                Err(unclear) => match self.year_of_beginning(names) {
                    // The oldest one began in the least year.
                    Some(year) => self.rank(By::Field(year), !greatest)?,
                    None => return Err(unclear),
                },
            },
            Op::Each => {
                self.meaning.per |= self.pieces[self.at].text.eq_ignore_ascii_case("per");
                self.waiting.push(Waiting::Each);
            }
            // `owned by` names the actor, not a group.
            Op::By if self.follows_participle() => {}
            Op::By if matches!(self.waiting.last(), Some(Waiting::Order(_))) => {}
            Op::By if self.sorts => {
                // The first of a ranking is the greatest one.
                let is_rank = |piece: &Piece| {
                    piece.chunk == Chunk::Op(Op::Sort) && piece.text.eq_ignore_ascii_case("rank")
                };
                let ranks = self.ascending.is_none() && self.pieces[..self.at].iter().any(is_rank);
                self.waiting.push(Waiting::Order(ranks.then_some(true)));
            }
            Op::Sort => self.sorts = true,
            Op::By if !self.is_chinese() && self.waiting.is_empty() => {
                self.meaning.per = true;
                self.waiting.push(Waiting::By);
            }
            Op::By => self.waiting.push(Waiting::By),
            Op::Order => self.order_here()?,
            Op::Ascending => self.direction(false)?,
            Op::Descending => self.direction(true)?,
            Op::Compare(compare) => self.compare(compare),
            Op::CompareOf(compare, names) => {
                let place = self.field_called(names)?;
                if self.last != Last::Field(place) {
                    self.last = Last::Field(place);
                    self.meaning.items.push(place);
                }
                self.waiting.push(Waiting::Compare(compare));
            }
            Op::Shows(names) => {
                let place = self.field_called(names)?;
                self.item(place)?;
            }
            Op::Both => self.meaning.both = Some(self.meaning.items.len()),
            Op::Common(most) => self.common(most)?,
            Op::Frequency => self.frequency()?,
            Op::CompareBefore(compare) => self.compare_before(compare)?,
            Op::After => self.days(Compare::More)?,
            Op::Before => self.days(Compare::Less)?,
            Op::Since => self.days(Compare::AtLeast)?,
            Op::Until => self.days(Compare::AtMost)?,
            Op::Between => self.between()?,
            Op::Not => {
                self.never = matches!(self.pieces[self.at].text.to_lowercase().as_str(), "never" | "从未");
                if std::mem::replace(&mut self.not, true) {
                    return self.unclear();
                }
            }
            Op::And => self.and()?,
            Op::Or => self.or = true,
            Op::Each1(unit) => {
                let text = self.pieces[self.at].text.to_lowercase();
                self.meaning.every |= text.starts_with("every ") || text.starts_with("each ");
                self.meaning.per |= text.starts_with("per ") || text.starts_with("a ");
                self.meaning.fiscal |= is_fiscal(&text);
                self.unit(unit)?;
            }
            Op::Unit(unit) => {
                let each = self.take(|waiting| matches!(waiting, Waiting::Each | Waiting::By));
                if each.is_none() && !self.is_second_group() {
                    return self.units(unit);
                }
                self.unit(unit)?;
            }
            Op::WhichUnit(unit) => {
                let text = &self.pieces[self.at].text;
                self.single = !text.contains("些") && !text.contains("几");
                self.meaning.counts_units =
                    text.contains("多少") || text.to_lowercase().starts_with("how many");
                if let Some(year) = self.only_year().filter(|_| unit == crate::calendar::Unit::Year) {
                    return self.item(year);
                }
                self.meaning.which = true;
                self.unit(unit)?;
            }
            Op::Cycle(cycle, asks) => {
                self.single |= asks;
                if self.meaning.cycle.replace(cycle).is_some_and(|known| known != cycle) {
                    return self.unclear();
                }
            }
            Op::On(_) if self.keeps_not() || !self.meaning.weekdays.is_empty() => return self.unclear(),
            Op::On(days) => self.meaning.weekdays = days,
            Op::Trend => self.meaning.trend = true,
            Op::ComparedWith => self.compared = true,
            Op::Earlier(earlier) => {
                if self.meaning.earlier.replace(earlier).is_some_and(|known| known != earlier) {
                    return self.unclear();
                }
            }
            Op::Over(earlier) => {
                self.meaning.growth = true;
                self.meaning.against = Some(Against::Earlier(earlier));
            }
            Op::Growth => self.meaning.growth = true,
            Op::Cumulative => self.meaning.cumulative = true,
            Op::FirstTime => self.occasion(Occasion::First)?,
            Op::Again => self.occasion(Occasion::Again)?,
            Op::Repeat => self.occasion(Occasion::Repeated)?,
            // `books that contain chapters` only ties them together.
            // `products containing 'tea'`: their names.
            Op::Has(part) if self.is_title_here(part) => {
                if let Last::Table(table) = self.last
                    && let Some(title) = self.schema.title(table)
                {
                    self.last = Last::Field(title);
                    self.meaning.items.push(title);
                    self.waiting.push(Waiting::Has(part));
                }
            }
            Op::Has(part) if self.is_text_here() => self.waiting.push(Waiting::Has(part)),
            Op::Has(Part::Inside) if self.is_value_of_other_next() => {}
            Op::Has(_) if self.is_quoted_next() => return self.unclear(),
            Op::Has(Part::Inside) => self.link()?,
            Op::Has(Part::Beginning | Part::End) => return self.unclear(),
            Op::Chart(chart) => self.meaning.chart = Some(chart),
        }
        Ok(())
    }

    /// `top 3 days by orders`, `months with more than 85 orders`: units that a ranking or a condition tells apart.
    fn units(&mut self, unit: crate::calendar::Unit) -> Result<(), Unclear> {
        if self.meaning.unit.is_some() || self.meaning.which {
            return self.unclear();
        }
        if let Some((number, _)) = self.number.take() {
            self.limit(number)?;
        }
        self.single = !self.pieces[self.at].text.to_lowercase().ends_with('s');
        self.meaning.counts_units = self.take_last(|waiting| *waiting == Waiting::Count).is_some();
        self.meaning.which = true;
        self.unit(unit)
    }

    /// Whether a measure word follows what it may count: `5名`, `哪几位`, and not `件单价`.
    fn is_piece_here(&self) -> bool {
        let before = self.at.checked_sub(1).map(|at| &self.pieces[at].chunk);
        matches!(before, Some(Chunk::Number(_) | Chunk::Op(_)))
    }

    /// `customers who use only the app`: none of the others.
    fn is_exclusive(&self) -> bool {
        let text = self.pieces[self.at].text.to_lowercase();
        let says = matches!(text.as_str(), "only" | "only the" | "just");
        says && self.at > 0
            && self.pieces[..self.at].iter().any(|piece| matches!(piece.chunk, Chunk::Named(_)))
    }

    /// `customers whose orders were all shipped`, `customers who used all channels`: each of them.
    fn is_universal(&self) -> bool {
        let Some(Chunk::Named(next)) = self.next_piece() else { return false };
        let is_value = next.iter().any(|named| matches!(named, Named::Value(..)));
        let before = self.at.checked_sub(1).map(|at| &self.pieces[at]);
        let acts = before.is_some_and(|piece| {
            let text = piece.text.to_lowercase();
            let last = text.rsplit(' ').next().unwrap_or_default();
            is_participle(last)
                || matches!(last, "used" | "use" | "uses" | "have" | "has" | "buy" | "buys" | "bought")
        });
        if acts && !self.meaning.tables.is_empty() && self.meaning.measures.is_empty() {
            return true;
        }
        let says = before.is_some_and(|piece| {
            matches!(piece.chunk, Chunk::Op(Op::Is))
                || matches!(piece.text.to_lowercase().as_str(), "were" | "was" | "are" | "is")
        });
        is_value && says
    }

    /// `live in Beijing`: only ties the next piece to the previous one.
    fn link(&self) -> Result<(), Unclear> {
        let passed = |chunk: &Chunk| {
            matches!(
                chunk,
                Chunk::Op(
                    Op::Filler
                        | Op::Of
                        | Op::Is
                        | Op::By
                        | Op::All
                        | Op::Link
                        | Op::Not
                        | Op::Both
                        | Op::Distinct
                        | Op::One
                        | Op::Which
                )
            )
        };
        let after = self.pieces[self.at + 1..].iter().map(|piece| &piece.chunk).find(|chunk| !passed(chunk));
        let before = self.pieces[..self.at].iter().any(|piece| matches!(piece.chunk, Chunk::Named(_)))
            || !self.meaning.measures.is_empty();
        let is_tied = match after {
            Some(Chunk::Named(_) | Chunk::Quoted) => before || self.chinese,
            Some(Chunk::Number(_)) => before,
            Some(Chunk::Op(op)) => {
                before
                    && matches!(
                        op,
                        Op::Count | Op::Compare(_) | Op::Most(_) | Op::Extreme(_) | Op::Each | Op::To
                    )
            }
            // `Which cities do they come from?`
            Some(Chunk::Mark | Chunk::Range(_)) | None => {
                let names =
                    self.pieces[..self.at].iter().filter(|piece| matches!(piece.chunk, Chunk::Named(_)));
                names.count() >= 2
            }
            _ => false,
        };
        if is_tied { Ok(()) } else { self.unclear() }
    }

    /// Between two numbers or days it was read with them; before another number it would be meaningful.
    fn to(&self) -> Result<(), Unclear> {
        let is_english = self.pieces[self.at].text.eq_ignore_ascii_case("to");
        let number = matches!(self.next_piece(), Some(Chunk::Number(_) | Chunk::Range(_)));
        if is_english && !number { Ok(()) } else { self.unclear() }
    }

    /// `and` after a negation of several things would be ambiguous.
    fn and(&mut self) -> Result<(), Unclear> {
        if self.not {
            return self.unclear();
        }
        // `the most expensive product and its price`: its name, too.
        let is_own = |table: usize| matches!(self.next(), Some(Chunk::Named(named)) if named.iter().any(|named| matches!(named, Named::Field(place, _) if place.table == table)));
        let says_whose =
            self.pieces.get(self.at + 1).is_some_and(|piece| piece.text.eq_ignore_ascii_case("its"));
        if let Last::Table(table) = self.last
            && says_whose
            && is_own(table)
            && self.meaning.items.is_empty()
            && self.meaning.measures.is_empty()
            && let Some(title) = self.schema.title(table)
        {
            return self.item(title);
        }
        Ok(())
    }

    /// Whether `and` follows a group: `by channel and month`.
    pub(super) fn is_second_group(&self) -> bool {
        let before = self.at.checked_sub(1).map(|at| &self.pieces[at].chunk);
        self.last == Last::Group && matches!(before, Some(Chunk::Op(Op::And)))
    }

    fn follows_number(&self) -> bool {
        self.at > 0 && matches!(self.pieces[self.at - 1].chunk, Chunk::Number(_))
    }

    fn follows_participle(&self) -> bool {
        let before = self.at.checked_sub(1).map(|at| &self.pieces[at]);
        before.is_some_and(|piece| {
            matches!(piece.chunk, Chunk::Op(Op::Filler | Op::Link) | Chunk::Unknown)
                && PARTICIPLES.iter().any(|end| piece.text.ends_with(end))
        })
    }

    pub(super) fn unit(&mut self, unit: crate::calendar::Unit) -> Result<(), Unclear> {
        if self.meaning.unit.replace(unit).is_some_and(|before| before != unit) {
            return Err(Unclear::Shape);
        }
        Ok(())
    }

    pub(super) fn is_chinese(&self) -> bool {
        self.pieces[self.at].text.chars().any(crate::words::chinese::is_han)
    }

    /// Whether the question is in Chinese, apart from names and values.
    pub(super) fn is_chinese_here(&self) -> bool {
        self.chinese
    }

    /// The previous piece that `passed` does not skip.
    pub(super) fn before(&self, passed: impl Fn(&Chunk) -> bool) -> Option<&Chunk> {
        self.pieces[..self.at].iter().rev().map(|piece| &piece.chunk).find(|chunk| !passed(chunk))
    }

    pub(super) fn unclear<T>(&self) -> Result<T, Unclear> {
        let piece = self.pieces.get(self.at);
        Err(piece.map_or(Unclear::Shape, |piece| Unclear::Word(piece.text.clone())))
    }

    /// The next piece that is not a filler.
    pub(super) fn next(&self) -> Option<&Chunk> {
        let rest = self.pieces.get(self.at + 1..)?;
        rest.iter()
            .map(|piece| &piece.chunk)
            .find(|chunk| !matches!(chunk, Chunk::Op(Op::Filler | Op::Of | Op::Is)))
    }

    pub(super) fn next_piece(&self) -> Option<&Chunk> {
        self.pieces.get(self.at + 1).map(|piece| &piece.chunk)
    }

    pub(super) fn take(&mut self, wanted: impl Fn(&Waiting) -> bool) -> Option<Waiting> {
        let place = self.waiting.iter().rposition(wanted)?;
        Some(self.waiting.remove(place))
    }

    /// Only the latest, so that `average number of` is not read as a count.
    pub(super) fn take_last(&mut self, wanted: impl Fn(&Waiting) -> bool) -> Option<Waiting> {
        if self.waiting.last().is_some_and(wanted) { self.waiting.pop() } else { None }
    }

    /// The fields of the tables whose fields or values the question names.
    pub(super) fn places_nearby(&self) -> impl Iterator<Item = Place> {
        let named: Vec<usize> = self.pieces.iter().flat_map(|piece| piece.tables()).collect();
        (0..self.schema.tables.len())
            .filter(move |table| named.contains(table))
            .flat_map(|table| self.schema.places(table))
    }

    pub(super) fn places_in_focus(&self) -> impl Iterator<Item = Place> {
        (0..self.schema.tables.len())
            .filter(|table| self.focus.has(*table))
            .flat_map(|table| self.schema.places(table))
    }

    pub(super) fn field_called(&self, names: &[&str]) -> Result<Place, Unclear> {
        let fits = |place: &Place| {
            let field = self.schema.field(*place);
            let words = crate::words::short::words_of(&field.name);
            if names.is_empty() {
                field.kind() == Kind::Date
            } else {
                words.last().is_some_and(|last| names.contains(&last.as_str()))
            }
        };
        let mut found: Vec<Place> = self.places_in_focus().filter(fits).collect();
        if found.is_empty() {
            found = self.places_nearby().filter(fits).collect();
        }
        if found.len() > 1
            && let Some(table) = self.focus.table_before(self.at).or(self.preferred)
        {
            found.retain(|place| place.table == table);
        }
        match found[..] {
            [only] => Ok(only),
            [] => self.unclear(),
            _ => Err(Unclear::Ambiguous(self.pieces[self.at].text.clone())),
        }
    }

    pub(super) fn limit(&mut self, number: f64) -> Result<(), Unclear> {
        if number.fract() != 0.0 || !(1.0..=LIMIT_MAX).contains(&number) {
            return self.unclear();
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is whole and within LIMIT_MAX"
        )]
        let limit = number as u64;
        self.meaning.limit = Some(limit);
        Ok(())
    }

    /// `in the hospital`: the data source itself.
    fn names_source(&self) -> bool {
        let text = |back: usize| self.at.checked_sub(back).map(|at| self.pieces[at].text.to_lowercase());
        let before =
            |back: usize, words: &[&str]| text(back).is_some_and(|word| words.contains(&word.as_str()));
        let is_led = before(2, &["in", "at", "of", "by", "from", "for"]);
        let mut after = self.pieces[self.at + 1..].iter().map(|piece| &piece.chunk);
        let is_last =
            after.find(|chunk| **chunk != Chunk::Op(Op::Filler)).is_none_or(|next| *next == Chunk::Mark);
        // `How many beers does the brewery make?`
        let is_subject = before(2, &["do", "does", "did"]);
        before(1, &["the", "our", "this"])
            && (is_led && is_last || is_subject)
            && super::repair::names_source(self.schema, &self.pieces[self.at].text.to_lowercase())
    }

    /// `取消率`, `the share of cancelled orders`: of all rows, those with the value.
    fn rate(&mut self) -> Result<(), Unclear> {
        // `orders and cancellation rate`
        let joint = self.at.checked_sub(2).map(|at| &self.pieces[at].chunk);
        let is_alone = self.meaning.measures.is_empty() && self.meaning.items.is_empty();
        if let (Some(Chunk::Op(Op::And)), [table]) = (joint, &self.meaning.tables[..])
            && is_alone
        {
            self.measure(Measure::Count(*table))?;
        }
        let is_one = matches!(self.meaning.filters.last(), Some(Filter { test: Test::Among(_, true), .. }));
        let Some(filter) = self.meaning.filters.pop().filter(|_| is_one && self.meaning.share.is_none())
        else {
            return self.unclear();
        };
        let place = filter.place;
        self.meaning.share = Some(filter);
        // `number of` would be another measure; `orders and the refund rate` are two.
        let is_joint = |piece: &Piece| matches!(piece.chunk, Chunk::Op(Op::And) | Chunk::Mark);
        if !self.pieces[..self.at].iter().any(is_joint) {
            self.meaning.measures.retain(|measure| *measure != Measure::Count(place.table));
        }
        self.take_last(|waiting| matches!(waiting, Waiting::Count));
        self.measure(Measure::Share(place))
    }

    /// `orders and the share of app orders`: their number, too.
    fn count_what_is_joined(&mut self) -> Result<(), Unclear> {
        if !(self.is_joined() && self.meaning.measures.is_empty() && self.meaning.items.is_empty()) {
            return Ok(());
        }
        match self.meaning.tables.last().copied() {
            Some(table) => self.measure(Measure::Count(table)),
            None => Ok(()),
        }
    }

    /// `the share of cancelled orders`, and `the share of revenue`.
    fn share_here(&self) -> Whole {
        let value = self.next().is_some_and(Chunk::may_be_value);
        if value { Whole::Rows } else { Whole::Numbers }
    }

    fn occasion(&mut self, occasion: Occasion) -> Result<(), Unclear> {
        if self.meaning.occasion.replace(occasion).is_some() { self.unclear() } else { Ok(()) }
    }
}

/// Whether days or a calendar unit are those of fiscal years.
pub(super) fn is_fiscal(text: &str) -> bool {
    ["fiscal", "financial", "fy", "财年", "财政", "财季"].iter().any(|word| text.contains(word))
}

/// Whether a field matches by more than the end of its name.
pub(super) fn names_field(named: &[Named], place: Place) -> bool {
    named
        .iter()
        .any(|named| matches!(named, Named::Field(field, fit) if *field == place && *fit != Fit::Part))
}
