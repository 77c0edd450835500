//! How the reader handles rankings and orders: `the most orders`, `价格最高的`, `sorted by name`.

use super::link::{Chunk, Piece};
use super::meaning::{By, Group, Measure, Unclear};
use super::names::Named;
use super::read::{Last, Reader, Waiting};
use crate::schema::{Kind, Place};
use crate::sums;
use crate::words::concept;
use crate::words::english::{name_words, singular};
use crate::words::phrases::{DURATION, Func, Op};
use crate::words::short::words_of;

/// Words for the greatest and the least with the fields that they are about.
const SIZES: &[(&str, &[&str])] = &[
    ("largest|biggest|smallest", &["area", "size"]),
    ("longest|shortest", &["length", "duration", "seconds", "distance"]),
    ("slowest|fastest|最慢|最慢的|最快|最久|最长", DURATION),
    ("heaviest|lightest", &["weight"]),
    ("tallest|highest", &["height", "elevation", "altitude"]),
];

/// Words of how long something takes.
const SPEEDS: &[&str] = &["slowest", "fastest", "最慢", "最快"];

/// Words of fields that say how popular something is.
const POPULARITY: &[&str] = &["percentage", "percent", "share", "popularity", "rating", "rank", "score"];

impl Reader<'_> {
    pub(super) fn ordered(&mut self, by: By) -> Result<(), Unclear> {
        if self.meaning.limit.is_some() || self.take(|waiting| *waiting == Waiting::Top).is_some() {
            return self.rank(by, !self.meaning.least);
        }
        self.meaning.order =
            Some((by, self.ascending.map_or(matches!(by, By::Measure(_)), |ascending| !ascending)));
        Ok(())
    }

    pub(super) fn top(&mut self) -> Result<(), Unclear> {
        self.meaning.first |= self.pieces[self.at].text.eq_ignore_ascii_case("first");
        if let Last::Measure(measure) = self.last
            && !matches!(self.next(), Some(Chunk::Named(_)) | None)
        {
            self.not_shown(measure);
            self.rank(By::Measure(measure), !self.meaning.least)?;
        } else if let Last::Field(place) = self.last
            && self.schema.field(place).is_number()
            && self.meaning.items.last() == Some(&place)
        {
            self.meaning.items.pop();
            self.rank(By::Field(place), !self.meaning.least)?;
        }
        self.waiting.push(Waiting::Top);
        Ok(())
    }

    /// `the most orders`, `订单最多的`.
    pub(super) fn most(&mut self, most: bool) -> Result<(), Unclear> {
        let before = self.is_chinese();
        if !before {
            self.waiting.push(Waiting::Most(most));
            return Ok(());
        }
        match self.last {
            Last::Measure(measure) => {
                self.not_shown(measure);
                self.rank(By::Measure(measure), most)
            }
            Last::Table(table) => self.rank(By::Measure(Measure::Count(table)), most),
            Last::Field(place) => self.extreme_field(place, most),
            // `执行失败最多的任务`
            Last::Value if self.other_table_follows() => match self.meaning.filters.last() {
                Some(filter) => {
                    let table = filter.place.table;
                    self.rank(By::Measure(Measure::Count(table)), most)
                }
                None => self.unclear(),
            },
            Last::Value | Last::Group | Last::Nothing => {
                self.waiting.push(Waiting::Most(most));
                Ok(())
            }
        }
    }

    /// `the highest price`, `价格最高的`.
    pub(super) fn extreme(&mut self, greatest: bool) -> Result<(), Unclear> {
        if self.is_one_of_several() && !self.asks_which() {
            return self.make(if greatest { Func::Greatest } else { Func::Least });
        }
        // `平均订单金额和最大订单金额`: of what follows.
        let is_joined =
            self.at > 0 && matches!(self.pieces[self.at - 1].chunk, Chunk::Op(Op::And) | Chunk::Mark);
        let before = self.is_chinese() && !is_joined;
        match self.last {
            Last::Measure(measure) if before => {
                self.not_shown(measure);
                self.rank(By::Measure(measure), greatest)
            }
            Last::Field(place) if before => self.extreme_field(place, greatest),
            _ => {
                self.waiting.push(Waiting::Extreme(greatest));
                Ok(())
            }
        }
    }

    /// `the lowest and the highest price`, `the mean, lowest and highest price`: of one thing.
    fn is_one_of_several(&self) -> bool {
        let joins = |piece: &&Piece| matches!(piece.chunk, Chunk::Mark | Chunk::Op(Op::And | Op::Filler));
        let is_joint = |piece: &Piece| matches!(piece.chunk, Chunk::Mark | Chunk::Op(Op::And));
        let is_one = |piece: Option<&Piece>| {
            piece.is_some_and(|piece| matches!(piece.chunk, Chunk::Op(Op::Extreme(_) | Op::Make(_))))
        };
        let (before, after) = (&self.pieces[..self.at], &self.pieces[self.at + 1..]);
        let passed = after.iter().take_while(joins).count();
        let leads = after[..passed].iter().any(is_joint) && is_one(after.get(passed));
        let passed = before.iter().rev().take_while(joins).count();
        let (rest, between) = before.split_at(before.len() - passed);
        !self.is_chinese() && (leads || between.iter().any(is_joint) && is_one(rest.last()))
    }

    /// `the most common type`, `Which type is the most common?`
    pub(super) fn common(&mut self, most: bool) -> Result<(), Unclear> {
        let field_follows = matches!(self.next(), Some(Chunk::Named(named))
            if named.iter().any(|named| matches!(named, Named::Field(..))));
        match self.last {
            Last::Field(place) if !field_follows && self.meaning.items.last() == Some(&place) => {
                self.meaning.items.pop();
                self.most_common(place, most)
            }
            _ => {
                self.waiting.push(Waiting::Common(most));
                Ok(())
            }
        }
    }

    pub(super) fn most_common(&mut self, place: Place, most: bool) -> Result<(), Unclear> {
        // Something else may say how popular it is.
        let measures = |other: Place| {
            let words = name_words(&self.schema.field(other).name);
            self.schema.field(other).is_number()
                && words.iter().any(|word| POPULARITY.contains(&word.as_str()))
        };
        let is_popular = self.pieces.iter().any(|piece| piece.text.to_lowercase().ends_with("popular"));
        let told: Vec<Place> = self.schema.places(place.table).filter(|other| measures(*other)).collect();
        match told[..] {
            // `Which language is the most popular in Aruba?` The one with the greatest percentage.
            [only] if is_popular && only != place => {
                if self.meaning.limit.is_none() {
                    self.meaning.limit = Some(1);
                }
                self.item(place)?;
                return self.rank(By::Field(only), most);
            }
            [_, ..] if is_popular => return self.unclear(),
            _ => {}
        }
        let names_it = |piece: &&Piece| {
            matches!(&piece.chunk, Chunk::Named(named)
                if named.iter().any(|named| matches!(named, Named::Field(field, _) if *field == place)))
        };
        let word =
            self.pieces.iter().find(names_it).map(|piece| piece.text.to_lowercase()).unwrap_or_default();
        let last = word.rsplit(' ').next().unwrap_or_default();
        if self.meaning.limit.is_none() && last.is_ascii() && singular(last) == last {
            self.meaning.limit = Some(1);
        }
        self.meaning.common = Some(place);
        self.group(place)?;
        self.rank(By::Measure(Measure::Count(place.table)), most)
    }

    /// `the 5 largest countries`: by the only field of the entity that the word may mean.
    pub(super) fn size_of_entity(&mut self) -> Result<Place, Unclear> {
        let word = self.pieces[self.extreme_at].text.to_lowercase();
        let called = SIZES.iter().find(|(words, _)| words.split('|').any(|one| word.ends_with(one)));
        let table = self.meaning.tables.first().copied().filter(|_| self.meaning.measures.is_empty());
        let (Some((_, names)), Some(table)) = (called, table) else { return Err(Unclear::Shape) };
        let of_parents = (0..self.schema.tables.len()).filter(|other| self.steps_up(table, *other).is_some());
        let mut fields = of_parents.flat_map(|table| self.schema.places(table)).filter(|place| {
            let words = words_of(&self.schema.field(*place).name);
            self.schema.field(*place).is_number()
                && words.last().is_some_and(|last| names.contains(&last.as_str()))
        });
        match (fields.next(), fields.next()) {
            (Some(only), None) => Ok(only),
            // `the largest order`
            (None, _) => self.amount_of(table).map_err(|_| Unclear::Shape),
            _ => Err(Unclear::Shape),
        }
    }

    /// `sorted by their frequency`: of the one field that is shown.
    pub(super) fn frequency(&mut self) -> Result<(), Unclear> {
        let waiting = self.take(|waiting| matches!(waiting, Waiting::Order(_) | Waiting::By));
        let ([place], Some(waiting)) = (&self.meaning.items[..], waiting) else { return self.unclear() };
        let (place, ascending) = (*place, self.ascending == Some(true));
        let descending = if let Waiting::Order(Some(descending)) = waiting { descending } else { !ascending };
        let count = Measure::Count(place.table);
        self.meaning.items.clear();
        self.group(place)?;
        self.meaning.order = Some((By::Measure(count), descending));
        self.meaning.hidden.push(count);
        Ok(())
    }

    fn extreme_field(&mut self, place: Place, greatest: bool) -> Result<(), Unclear> {
        if !self.comparable(place) || self.meaning.items.last() != Some(&place) {
            return self.unclear();
        }
        self.meaning.items.pop();
        self.rank(By::Field(place), greatest)
    }

    pub(super) fn comparable(&self, place: Place) -> bool {
        matches!(self.schema.field(place).kind(), Kind::Number | Kind::NumberText | Kind::Date)
    }

    pub(super) fn rank(&mut self, by: By, greatest: bool) -> Result<(), Unclear> {
        if self.meaning.rank.replace((by, greatest)).is_some() || self.is_speed_of_amount(by) {
            return Err(Unclear::Shape);
        }
        if let By::Field(place) = by {
            self.recent = Some((place, self.at));
        }
        Ok(())
    }

    /// `the slowest weekday for orders`: neither a number of rows nor an amount is slow.
    fn is_speed_of_amount(&self, by: By) -> bool {
        let word = self.pieces[self.extreme_at].text.to_lowercase();
        let says_speed = SPEEDS.iter().any(|speed| word.contains(speed));
        let is_amount = |place: Place| {
            let field = self.schema.field(place);
            let last = words_of(&field.name).last().map(|last| concept(last)).unwrap_or_default();
            sums::is_of_no_row(field) || matches!(last.as_str(), "amount" | "price")
        };
        says_speed
            && match by {
                By::Measure(Measure::Made(_, place)) | By::Field(place) => is_amount(place),
                By::Measure(_) => true,
            }
    }

    /// `ordered by X`; in Chinese `按 X 排序`, where X was read as a group.
    pub(super) fn order_here(&mut self) -> Result<(), Unclear> {
        let han = self.is_chinese();
        if !han {
            self.waiting.push(Waiting::Order(None));
            return Ok(());
        }
        match (self.last, self.meaning.groups.last().copied()) {
            (Last::Group, Some(Group::Field(place))) => {
                self.meaning.groups.pop();
                self.meaning.order = Some((By::Field(place), self.ascending == Some(false)));
                Ok(())
            }
            (Last::Measure(measure), _) => {
                self.meaning.order = Some((By::Measure(measure), self.ascending != Some(true)));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn direction(&mut self, descending: bool) -> Result<(), Unclear> {
        self.ascending = Some(!descending);
        if let Some((_, known)) = &mut self.meaning.order {
            *known = descending;
            return Ok(());
        }
        if self.take(|waiting| matches!(waiting, Waiting::Order(_))).is_some()
            || matches!(self.next(), Some(Chunk::Named(_) | Chunk::Op(_)))
        {
            self.waiting.push(Waiting::Order(Some(descending)));
        }
        Ok(())
    }
}
