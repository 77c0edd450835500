//! Chooses between several fields of one name if no table decides: prefers the table of the requested
//! numbers, then a table that each of its rows refers to once.

use super::link::{Chunk, Piece};
use super::names::{Fit, Named};
use super::read::Reader;
use crate::schema::Place;

impl Reader<'_> {
    /// The field of that name that is nearest to the rest of the question.
    pub(super) fn nearest_field(&self, named: &[Named]) -> Option<Place> {
        let of_preferred =
            |named: &&Named| matches!(named, Named::Field(place, _) if Some(place.table) == self.preferred);
        let own: Vec<Named> = named.iter().filter(of_preferred).cloned().collect();
        let named = if own.is_empty() { named } else { &own };
        let fit = named.iter().filter_map(fit).max()?;
        let places = named.iter().filter_map(|named| match named {
            Named::Field(place, known) if *known == fit => Some((*place, ())),
            _ => None,
        });
        self.nearest(places.collect()).map(|(place, ())| place)
    }

    /// The value that is nearest to the rest of the question, with its field.
    pub(super) fn nearest_value(&self, named: &[Named]) -> Option<(Place, String)> {
        let values = named.iter().filter_map(|named| match named {
            Named::Value(place, value) => Some((*place, value.clone())),
            _ => None,
        });
        self.nearest(values.collect())
    }

    fn nearest<T: Clone>(&self, found: Vec<(Place, T)>) -> Option<(Place, T)> {
        let anchors = self.preferred.map_or_else(|| self.anchors(), |table| vec![table]);
        let far =
            |place: &Place| anchors.iter().filter_map(|anchor| self.steps_up(*anchor, place.table)).min();
        let least = found.iter().filter_map(|(place, _)| far(place)).min()?;
        let mut nearest = found.iter().filter(|(place, _)| far(place) == Some(least));
        let only = nearest.next()?;
        nearest.next().is_none().then(|| only.clone())
    }

    /// The number of steps, if none of them multiplies rows.
    pub(super) fn steps_up(&self, from: usize, to: usize) -> Option<usize> {
        if from == to {
            return Some(0);
        }
        let way = self.links.way(&[from], to, self.schema.tables.len())?;
        way.iter().all(|step| step.up).then_some(way.len())
    }

    /// The tables of numbers that other words name unambiguously.
    fn anchors(&self) -> Vec<usize> {
        let number = |(at, piece): (usize, &Piece)| {
            let Chunk::Named(named) = &piece.chunk else { return None };
            if named.iter().any(|named| matches!(named, Named::Table(_))) {
                return None;
            }
            let place = self.focus.field(at, self.schema, named).filter(|_| at != self.at)?;
            let field = self.schema.field(place);
            (field.is_number() && !field.names_identity()).then_some(place.table)
        };
        let mut tables: Vec<usize> = self.pieces.iter().enumerate().filter_map(number).collect();
        tables.sort_unstable();
        tables.dedup();
        // With numbers of two tables, neither is nearer.
        if tables.len() == 1 { tables } else { Vec::new() }
    }
}

fn fit(named: &Named) -> Option<Fit> {
    if let Named::Field(_, fit) = named { Some(*fit) } else { None }
}
