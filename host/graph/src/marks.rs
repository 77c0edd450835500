//! A bit set over places.

use crate::Place;

#[derive(Debug)]
pub(crate) struct Marks(Vec<u64>);

impl Marks {
    /// An empty set. Zeroed memory costs nothing until it is touched.
    pub fn new(places: usize) -> Marks {
        Marks(vec![0; places.div_ceil(64)])
    }

    pub fn is_set(&self, place: Place) -> bool {
        self.0[place as usize / 64] & bit(place) != 0
    }

    /// Marks a place; false if it was marked already.
    pub fn set(&mut self, place: Place) -> bool {
        let word = &mut self.0[place as usize / 64];
        let was_set = *word & bit(place) != 0;
        *word |= bit(place);
        !was_set
    }
}

fn bit(place: Place) -> u64 {
    1 << (place % 64)
}
