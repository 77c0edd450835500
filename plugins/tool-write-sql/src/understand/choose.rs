//! Resolves an ambiguous word: prefers tables that the question names, the nearest first.

use super::link::{Chunk, Piece};
use super::names::{Fit, Named};
use crate::schema::{Place, Schema};
use crate::words;
use crate::words::phrases::Op;

/// Names of fields that a word for a state prefers.
const STATES: &[&str] = &["status", "state", "result"];

/// Whether a field's name says that it holds a state.
pub fn is_state(name: &str) -> bool {
    STATES.iter().any(|state| name.ends_with(state))
}

/// Names that need their table's name to be meaningful.
const VAGUE: &[&str] = &["name", "id", "code", "title", "type", "time", "date"];

/// The tables that the question names.
#[derive(Debug)]
pub struct Focus {
    /// With their positions.
    tables: Vec<(usize, usize)>,
    /// Of each piece, whether it says only `name`, `id` or the like.
    vague: Vec<bool>,
}

impl Focus {
    pub fn of(pieces: &[Piece]) -> Focus {
        let tables = pieces.iter().enumerate().flat_map(|(at, piece)| {
            let named = if let Chunk::Named(named) = &piece.chunk { named.as_slice() } else { &[] };
            named.iter().filter_map(
                move |named| if let Named::Table(table) = named { Some((at, *table)) } else { None },
            )
        });
        let is_vague = |piece: &Piece| VAGUE.contains(&words::concept(&piece.text.to_lowercase()).as_str());
        Focus { tables: tables.collect(), vague: pieces.iter().map(is_vague).collect() }
    }

    pub fn has(&self, table: usize) -> bool {
        self.tables.iter().any(|(_, known)| *known == table)
    }

    /// The table that was named last before a piece.
    pub fn table_before(&self, at: usize) -> Option<usize> {
        self.tables.iter().rev().find(|(place, _)| *place < at).map(|(_, table)| *table)
    }

    /// Whether another piece names the table.
    pub fn has_elsewhere(&self, table: usize, at: usize) -> bool {
        self.others(at).any(|(_, known)| known == table)
    }

    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// The meant field.
    pub fn field(&self, at: usize, schema: &Schema, named: &[Named]) -> Option<Place> {
        let fields: Vec<(Place, Fit)> = named
            .iter()
            .filter_map(
                |named| if let Named::Field(place, fit) = named { Some((*place, *fit)) } else { None },
            )
            .collect();
        let here: Vec<(Place, Fit)> = fields
            .iter()
            .copied()
            .filter(|(place, _)| self.others(at).any(|(_, table)| table == place.table))
            .collect();
        if !here.is_empty() {
            return self.nearest(at, &here);
        }
        // `names of orchestras` must not become the name of something else.
        let is_vague = self.vague.get(at).is_some_and(|vague| *vague);
        let vague =
            |place: &Place| is_vague || VAGUE.contains(&schema.field(*place).name.to_lowercase().as_str());
        let own = fields.iter().any(|(_, fit)| *fit == Fit::Own);
        if !own && self.others(at).next().is_some() && fields.iter().any(|(place, _)| vague(place)) {
            let names =
                fields.iter().all(|(place, _)| schema.field(*place).name.eq_ignore_ascii_case("name"));
            let after = self.others(at).find(|(place, _)| *place > at).filter(|_| names);
            return after.and_then(|(_, table)| schema.title(table));
        }
        best(&fields)
    }

    /// Tables that other pieces name.
    fn others(&self, at: usize) -> impl Iterator<Item = (usize, usize)> {
        self.tables.iter().copied().filter(move |(place, _)| *place != at)
    }

    fn nearest(&self, at: usize, fields: &[(Place, Fit)]) -> Option<Place> {
        if let [(only, _)] = fields {
            return Some(*only);
        }
        let before = self.tables.iter().rev().find(|(place, _)| *place + 1 == at);
        let after = self.tables.iter().find(|(place, _)| *place > at);
        let earlier = self.tables.iter().rev().find(|(place, _)| *place < at);
        [before, after, earlier]
            .into_iter()
            .flatten()
            .find_map(|(_, table)| {
                let of_it: Vec<(Place, Fit)> =
                    fields.iter().copied().filter(|(place, _)| place.table == *table).collect();
                best(&of_it)
            })
            .or_else(|| best(fields))
    }

    /// The meant value, with its field.
    pub fn value(
        &self,
        at: usize,
        pieces: &[Piece],
        schema: &Schema,
        named: &[Named],
    ) -> Option<(Place, String)> {
        let values: Vec<(Place, &String)> = named
            .iter()
            .filter_map(
                |named| if let Named::Value(place, value) = named { Some((*place, value)) } else { None },
            )
            .collect();
        let state = |(place, _): &&(Place, &String)| {
            STATES.contains(&schema.field(*place).name.to_lowercase().as_str())
        };
        let next = |skip: usize| pieces.get(at + 1 + skip).map(|piece| &piece.chunk);
        let events = matches!(next(0), Some(Chunk::Op(Op::CountBefore)));
        let beside = |place: &Place| match (next(0), next(1)) {
            (Some(Chunk::Op(Op::Of)), Some(Chunk::Named(named))) | (Some(Chunk::Named(named)), _) => {
                named.contains(&Named::Table(place.table))
            }
            _ => false,
        };
        let before = |place: &Place| {
            at > 0
                && matches!(&pieces[at - 1].chunk, Chunk::Named(named) if named.iter().any(|named| matches!(named, Named::Field(field, _) if field == place)))
        };
        let written = |place: &Place| {
            before(place)
                || (at > 1
                    && matches!(
                        pieces[at - 1].chunk,
                        Chunk::Op(Op::Is | Op::Filler | Op::Of | Op::Compare(_))
                    )
                    && matches!(&pieces[at - 2].chunk, Chunk::Named(named) if named.iter().any(|named| matches!(named, Named::Field(field, _) if field == place))))
        };
        let focused = |(place, _): &&(Place, &String)| self.others(at).any(|(_, table)| table == place.table);
        let steps: [Vec<(Place, &String)>; 5] = [
            values.iter().filter(|value| written(&value.0) && focused(value)).copied().collect(),
            values.iter().filter(|(place, _)| written(place)).copied().collect(),
            values.iter().filter(|(place, _)| !events && beside(place)).copied().collect(),
            values.iter().filter(|value| focused(value) != events).copied().collect(),
            values.clone(),
        ];
        let found = steps.iter().find(|step| !step.is_empty())?;
        let chosen = only(found.iter().copied()).or_else(|| only(found.iter().filter(state).copied()))?;
        // A state of a thing and a state of its events are different questions.
        let rival = values.iter().filter(state).any(|(place, _)| place.table != chosen.0.table);
        let sure = state(&&chosen) || written(&chosen.0) || !rival;
        sure.then(|| (chosen.0, chosen.1.clone()))
    }
}

fn only<T>(mut found: impl Iterator<Item = T>) -> Option<T> {
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The field whose name fits best, if there is exactly one.
fn best(fields: &[(Place, Fit)]) -> Option<Place> {
    let fit = fields.iter().map(|(_, fit)| *fit).max()?;
    let mut places: Vec<Place> =
        fields.iter().filter(|(_, known)| *known == fit).map(|(place, _)| *place).collect();
    places.sort_unstable();
    places.dedup();
    only(places.into_iter())
}
