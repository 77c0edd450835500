//! How the reader handles rankings and orders: `the most orders`, `价格最高的`, `sorted by name`.

use super::link::Chunk;
use super::meaning::{By, Group, Measure, Unclear};
use super::read::{Last, Reader, Waiting};
use crate::schema::{Kind, Place};

impl Reader<'_> {
    pub(super) fn ordered(&mut self, by: By) -> Result<(), Unclear> {
        if self.meaning.limit.is_some() || self.take(|waiting| *waiting == Waiting::Top).is_some() {
            return self.rank(by, true);
        }
        self.meaning.order =
            Some((by, self.ascending.map_or(matches!(by, By::Measure(_)), |ascending| !ascending)));
        Ok(())
    }

    pub(super) fn top(&mut self) -> Result<(), Unclear> {
        if let Last::Measure(measure) = self.last
            && !matches!(self.next(), Some(Chunk::Named(_)) | None)
        {
            self.not_shown(measure);
            self.rank(By::Measure(measure), true)?;
        } else if let Last::Field(place) = self.last
            && self.schema.field(place).is_number()
            && self.meaning.items.last() == Some(&place)
        {
            self.meaning.items.pop();
            self.rank(By::Field(place), true)?;
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
        let before = self.is_chinese();
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
        if self.meaning.rank.replace((by, greatest)).is_some() {
            return Err(Unclear::Shape);
        }
        Ok(())
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
