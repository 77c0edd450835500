//! All tables' names in lower case, concatenated, so that one scan finds a keyword in all of them.

use memchr::memmem::Finder;

/// Separates the two names of a table; no name has it.
const BETWEEN: &str = "\0";
/// This much garbage is always tolerated.
const LEFT_MIN_BYTES: usize = 64 * 1024;

/// The database's and the table's name of each place.
#[derive(Default)]
pub(super) struct Names {
    text: String,
    /// In the order of the text; some are garbage.
    pieces: Vec<Piece>,
    /// The piece of each place that has a name.
    by_place: Vec<Option<usize>>,
    /// The bytes of garbage.
    left_bytes: usize,
    /// The length of the longest piece, in bytes.
    longest_bytes: usize,
}

#[derive(Clone, Copy)]
struct Piece {
    begin: usize,
    place: u32,
}

impl Names {
    pub fn put(&mut self, place: u32, db_name: &str, table_name: &str) {
        let names = [&db_name.to_lowercase(), BETWEEN, &table_name.to_lowercase()].concat();
        if self.of(place) == names {
            return;
        }
        self.remove(place);
        self.pieces.push(Piece { begin: self.text.len(), place });
        self.text.push_str(&names);
        self.longest_bytes = self.longest_bytes.max(names.len());
        let at = place as usize;
        if self.by_place.len() <= at {
            self.by_place.resize(at + 1, None);
        }
        self.by_place[at] = Some(self.pieces.len() - 1);
    }

    pub fn remove(&mut self, place: u32) {
        if let Some(piece) = self.by_place.get_mut(place as usize).and_then(Option::take) {
            self.left_bytes += self.end(piece) - self.pieces[piece].begin;
        }
        if self.left_bytes > LEFT_MIN_BYTES.max(self.text.len() / 2) {
            self.close_up();
        }
    }

    /// `database`, [`BETWEEN`], `table`; empty if the place has no name.
    pub fn of(&self, place: u32) -> &str {
        match self.by_place.get(place as usize) {
            Some(Some(piece)) => &self.text[self.pieces[*piece].begin..self.end(*piece)],
            _ => "",
        }
    }

    /// Reports the places whose names, or both joined by a dot, contain the keyword, ignoring case; some more
    /// than once. The keyword must not be empty.
    pub fn matching(&self, keyword: &str, mut tell: impl FnMut(u32)) {
        let keyword = keyword.to_lowercase();
        if keyword.len() > self.longest_bytes {
            // No name has it, and each of its dots would add a way to read it.
            return;
        }
        self.having(&keyword, &mut tell);
        for both in Qualified::of(&keyword).0 {
            self.having(&both, &mut tell);
        }
    }

    fn having(&self, part: &str, tell: &mut impl FnMut(u32)) {
        let (finder, text) = (Finder::new(part), self.text.as_bytes());
        let (mut from, mut piece) = (0, 0);
        while let Some(found) = text.get(from..).and_then(|rest| finder.find(rest)) {
            let found = from + found;
            while self.end(piece) <= found {
                piece += 1;
            }
            let end = self.end(piece);
            if found + part.len() > end {
                // The match crosses into the next piece.
                from = found + 1;
                continue;
            }
            let place = self.pieces[piece].place;
            if self.by_place[place as usize] == Some(piece) {
                tell(place);
            }
            from = end;
        }
    }

    fn end(&self, piece: usize) -> usize {
        self.pieces.get(piece + 1).map_or(self.text.len(), |next| next.begin)
    }

    /// Removes the garbage.
    fn close_up(&mut self) {
        let mut text = String::with_capacity(self.text.len() - self.left_bytes);
        let mut longest_bytes = 0;
        let mut pieces = Vec::with_capacity(self.by_place.len());
        for (at, Piece { place, .. }) in self.pieces.iter().enumerate() {
            if self.by_place[*place as usize] == Some(at) {
                pieces.push(Piece { begin: text.len(), place: *place });
                text.push_str(self.of(*place));
                longest_bytes = longest_bytes.max(self.of(*place).len());
            }
        }
        for (at, Piece { place, .. }) in pieces.iter().enumerate() {
            self.by_place[*place as usize] = Some(at);
        }
        (self.text, self.pieces, self.left_bytes) = (text, pieces, 0);
        self.longest_bytes = longest_bytes;
    }
}

/// The table's name of a pair.
pub(super) fn table_of(names: &str) -> &str {
    names.split_once(BETWEEN).map_or("", |(_, name)| name)
}

/// The other readings of a keyword with a dot: the end of a database's name and the beginning of a table's.
/// One per dot, because names may have dots, too.
pub(super) struct Qualified(Vec<String>);

impl Qualified {
    /// Of a lower-case keyword.
    pub fn of(keyword: &str) -> Qualified {
        let at = keyword.match_indices('.').map(|(at, _)| at);
        Qualified(at.map(|at| [&keyword[..at], BETWEEN, &keyword[at + 1..]].concat()).collect())
    }

    pub fn is_in(&self, names: &str) -> bool {
        self.0.iter().any(|keyword| names.contains(keyword.as_str()))
    }

    /// Whether a reading equals both names.
    pub fn is(&self, names: &str) -> bool {
        self.0.iter().any(|keyword| names == keyword.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matching(names: &Names, keyword: &str) -> Vec<u32> {
        let mut found = Vec::new();
        names.matching(keyword, |place| found.push(place));
        found.sort_unstable();
        found.dedup();
        found
    }

    #[test]
    fn keywords_match_both_names_ignoring_case() {
        let mut names = Names::default();
        names.put(0, "main", "Orders");
        names.put(1, "SALES", "items");
        names.put(2, "main", "订单明细");
        assert_eq!(matching(&names, "ORD"), [0]);
        assert_eq!(matching(&names, "sales"), [1]);
        assert_eq!(matching(&names, "单"), [2]);
        assert_eq!(matching(&names, "nord"), [] as [u32; 0]);
        assert_eq!(matching(&names, "ersSALES"), [] as [u32; 0], "not over the end of one");
        assert_eq!(matching(&names, "smain"), [] as [u32; 0]);
        assert_eq!(matching(&names, "s"), [0, 1]);
        assert_eq!(matching(&names, "Main.ord"), [0], "both names with a point between them");
        assert_eq!(matching(&names, "in.o"), [0]);
        assert_eq!(matching(&names, "main.items"), [] as [u32; 0]);
    }

    #[test]
    fn a_match_across_names_hides_none() {
        let mut names = Names::default();
        names.put(0, "main", "xa");
        names.put(1, "aab", "y");
        assert_eq!(matching(&names, "aa"), [1]);
    }

    #[test]
    fn a_too_long_keyword_matches_nothing() {
        let mut names = Names::default();
        names.put(0, "main", "orders");
        assert_eq!(matching(&names, &".".repeat(60_000)), [] as [u32; 0]);
        assert_eq!(matching(&names, "main.orders"), [0], "the longest there is");
    }

    #[test]
    fn removed_names_are_not_found_nor_stored() {
        let mut names = Names::default();
        for round in 0..100 {
            for place in 0..100 {
                names.put(place, "main", &format!("a_table_of_round_{round}_{place}"));
            }
        }
        assert!(names.text.len() < 3 * LEFT_MIN_BYTES, "{}", names.text.len());
        assert_eq!(matching(&names, "round_98_"), [] as [u32; 0]);
        assert_eq!(matching(&names, "round_99_7").len(), 11);
        names.remove(7);
        names.remove(7);
        names.remove(1_000);
        assert_eq!(matching(&names, "round_99_7").len(), 10);
        assert_eq!((names.of(7), names.of(1_000)), ("", ""));
        assert_eq!(table_of(names.of(8)), "a_table_of_round_99_8");
    }
}
