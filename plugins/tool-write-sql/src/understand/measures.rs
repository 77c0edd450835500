//! How the reader handles requested numbers: counts, sums, averages.

use super::link::Chunk;
use super::meaning::{By, Measure, Unclear};
use super::read::{Last, Reader, Waiting};
use crate::words::phrases::Func;

impl Reader<'_> {
    pub(super) fn make(&mut self, func: Func) {
        if let Some(Waiting::Make(funcs)) = self.waiting.last_mut() {
            funcs.push(func);
        } else {
            self.waiting.push(Waiting::Make(vec![func]));
        }
    }

    /// `how many orders`; in Chinese the counted thing may come first: `失败的执行有多少次`.
    pub(super) fn count(&mut self) -> Result<(), Unclear> {
        let before = self.is_chinese() && !matches!(self.next(), Some(Chunk::Named(_)));
        let times = self.pieces[self.at].text.ends_with('次');
        match self.meaning.tables.last() {
            // `每天发布多少次` counts events, not their subjects.
            Some(_) if before && times && !self.meaning.verbs.is_empty() => match self.meaning.verbs[..] {
                [only] => self.measure(Measure::Count(only.table)),
                _ => self.unclear(),
            },
            Some(table) if before => self.measure(Measure::Count(*table)),
            _ => {
                self.waiting.push(Waiting::Count);
                Ok(())
            }
        }
    }

    /// `订单数`, `失败次数`, `发布次数`.
    pub(super) fn count_before(&mut self) -> Result<(), Unclear> {
        let measure = match self.last {
            Last::Table(table) => Measure::Count(table),
            Last::Field(place)
                if !self.schema.field(place).is_number() && self.meaning.items.last() == Some(&place) =>
            {
                self.meaning.items.pop();
                Measure::Different(place)
            }
            Last::Value => match self.meaning.filters.last() {
                Some(filter) => Measure::Count(filter.place.table),
                None => return self.unclear(),
            },
            _ => return self.unclear(),
        };
        self.measure(measure)
    }

    pub(super) fn make_before(&mut self, func: Func) -> Result<(), Unclear> {
        match self.last {
            Last::Field(place)
                if self.schema.field(place).is_number() && self.meaning.items.last() == Some(&place) =>
            {
                self.meaning.items.pop();
                self.measure(Measure::Made(func, place))
            }
            Last::Table(table) if func == Func::Sum => self.measure(Measure::Count(table)),
            _ => self.unclear(),
        }
    }

    /// A waiting operation takes a measure, or else it is part of the answer.
    pub(super) fn measure(&mut self, measure: Measure) -> Result<(), Unclear> {
        self.last = Last::Measure(measure);
        let ranks =
            |waiting: &Waiting| matches!(waiting, Waiting::Extreme(_) | Waiting::By | Waiting::Order(_));
        match self.take(ranks) {
            Some(Waiting::Extreme(greatest)) => return self.rank(By::Measure(measure), greatest),
            Some(Waiting::By | Waiting::Order(None)) if self.meaning.rank.is_none() => {
                return self.ordered(By::Measure(measure));
            }
            Some(Waiting::Order(Some(descending))) => {
                self.meaning.order = Some((By::Measure(measure), descending));
                return Ok(());
            }
            Some(_) => return self.unclear(),
            None => {}
        }
        if self.meaning.measures.contains(&measure) {
            self.repeated = Some(measure);
        } else {
            self.meaning.measures.push(measure);
        }
        Ok(())
    }

    /// A measure of a comparison or ranking is shown only if it was also named before.
    pub(super) fn not_shown(&mut self, measure: Measure) {
        if self.repeated != Some(measure) {
            self.meaning.measures.retain(|known| *known != measure);
        }
    }
}
