//! Entries side by side, so that going through all of them is going through memory in one direction.

use std::collections::HashMap;

use super::said::{Said, Texts};

/// What the catalogue knows of a table. Sizes in bytes, times in milliseconds since 1970 UTC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub id: i64,
    pub cluster_id: Option<i64>,
    pub db_name: Box<str>,
    pub table_name: Box<str>,
    pub table_comment: Option<Box<str>>,
    pub layer: Option<Box<str>>,
    pub business_domain: Option<Box<str>>,
    pub data_domain: Option<Box<str>>,
    pub owner: Option<Box<str>>,
    pub tags: Box<[Box<str>]>,
    pub is_deprecated: bool,
    pub is_physical: bool,
    pub row_count: Option<i64>,
    pub data_size: Option<i64>,
    pub index_size: Option<i64>,
    pub created_at_ms: i64,
    pub updated_at_ms: i64,
}

struct Place {
    entry: Entry,
    /// Database and table in lower case, with a character between them that neither has.
    folded: Box<str>,
}

/// All tables of the catalogue, those in the recycle bin too.
#[derive(Default)]
pub struct Index {
    places: Vec<Place>,
    /// What is searched of each, in the same order; beside the places, so that a list does not walk over it.
    said: Vec<Said>,
    /// Bytes of the fields in there.
    pub(super) fields_bytes: usize,
    /// Id to place.
    by_id: HashMap<i64, usize>,
}

/// Bytes of all fields that are searched; tables whose fields find no room are searched without them.
const FIELDS_MAX_BYTES: usize = 512 * 1024 * 1024;
/// Stands between the two names of a folded one; no name has it.
const BETWEEN: char = '\0';

/// The table's part of a folded name.
pub(super) fn table_of(folded: &str) -> &str {
    folded.split_once(BETWEEN).map_or("", |(_, name)| name)
}

/// What a keyword with a point may mean besides itself: the end of a database's name and the beginning of a table's.
/// One for each of its points, for names have points, too.
pub(super) struct Qualified(Vec<String>);

impl Qualified {
    /// Of a keyword in lower case.
    pub(super) fn of(keyword: &str) -> Qualified {
        let between = BETWEEN.to_string();
        let at = keyword.match_indices('.').map(|(at, _)| at);
        Qualified(at.map(|at| [&keyword[..at], &between, &keyword[at + 1..]].concat()).collect())
    }

    pub(super) fn is_in(&self, folded: &str) -> bool {
        self.0.iter().any(|keyword| folded.contains(keyword.as_str()))
    }

    /// Whether one of them is the whole of both names.
    pub(super) fn is(&self, folded: &str) -> bool {
        self.0.iter().any(|keyword| folded == keyword.as_str())
    }
}

impl Index {
    pub fn len(&self) -> usize {
        self.places.len()
    }

    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub fn get(&self, id: i64) -> Option<&Entry> {
        self.by_id.get(&id).map(|&place| &self.places[place].entry)
    }

    /// In no order.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.places.iter().map(|place| &place.entry)
    }

    /// Entries with this in their database's or table's name, or in both with a point between them, case ignored, in no
    /// order.
    pub fn matching<'i>(&'i self, keyword: &str) -> impl Iterator<Item = &'i Entry> + use<'i> {
        let keyword = keyword.to_lowercase();
        let qualified = Qualified::of(&keyword);
        let fits = move |place: &&Place| {
            keyword.is_empty() || place.folded.contains(keyword.as_str()) || qualified.is_in(&place.folded)
        };
        self.places.iter().filter(fits).map(|place| &place.entry)
    }

    /// The live table of exactly this name.
    pub fn find(&self, cluster_id: Option<i64>, db_name: &str, table_name: &str) -> Option<&Entry> {
        self.iter().find(|entry| {
            *entry.table_name == *table_name
                && *entry.db_name == *db_name
                && entry.cluster_id == cluster_id
                && !entry.is_deprecated
        })
    }

    /// Each with its names in lower case, `database`, [`BETWEEN`], `table`, and what is searched of it, in no order.
    pub(super) fn searched(&self) -> impl Iterator<Item = (&Entry, &str, &Said)> {
        self.places.iter().zip(&self.said).map(|(place, said)| (&place.entry, &*place.folded, said))
    }

    pub(super) fn put(&mut self, entry: Entry, texts: &Texts) {
        let folded = format!("{}{BETWEEN}{}", entry.db_name.to_lowercase(), entry.table_name.to_lowercase());
        let at = self.by_id.get(&entry.id).copied();
        self.fields_bytes -= at.map_or(0, |at| self.said[at].fields_bytes());
        let said = Said::of(&entry, texts, FIELDS_MAX_BYTES - self.fields_bytes);
        self.fields_bytes += said.fields_bytes();
        let (id, place) = (entry.id, Place { entry, folded: folded.into() });
        match at {
            Some(at) => (self.places[at], self.said[at]) = (place, said),
            None => {
                self.by_id.insert(id, self.places.len());
                self.places.push(place);
                self.said.push(said);
            }
        }
    }

    pub(super) fn remove(&mut self, id: i64) {
        let Some(at) = self.by_id.remove(&id) else { return };
        self.places.swap_remove(at);
        self.fields_bytes -= self.said.swap_remove(at).fields_bytes();
        if let Some(moved) = self.places.get(at) {
            self.by_id.insert(moved.entry.id, at);
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn entry(id: i64, db_name: &str, table_name: &str) -> Entry {
        Entry {
            id,
            cluster_id: Some(1),
            db_name: db_name.into(),
            table_name: table_name.into(),
            table_comment: None,
            layer: None,
            business_domain: None,
            data_domain: None,
            owner: None,
            tags: Box::default(),
            is_deprecated: false,
            is_physical: false,
            row_count: None,
            data_size: None,
            index_size: None,
            created_at_ms: 0,
            updated_at_ms: 0,
        }
    }

    fn ids<'e>(entries: impl Iterator<Item = &'e Entry>) -> Vec<i64> {
        let mut ids: Vec<i64> = entries.map(|entry| entry.id).collect();
        ids.sort_unstable();
        ids
    }

    #[test]
    fn a_keyword_is_looked_for_in_both_names_whatever_its_case() {
        let mut index = Index::default();
        index.put(entry(1, "main", "Orders"), &Texts::default());
        index.put(entry(2, "SALES", "items"), &Texts::default());
        index.put(entry(3, "main", "订单明细"), &Texts::default());
        assert_eq!(ids(index.matching("ORD")), [1]);
        assert_eq!(ids(index.matching("sales")), [2]);
        assert_eq!(ids(index.matching("单")), [3]);
        assert_eq!(ids(index.matching("nord")), [] as [i64; 0]);
        assert_eq!(ids(index.matching("Main.ord")), [1], "both names with a point between them");
        assert_eq!(ids(index.matching("in.o")), [1]);
        assert_eq!(ids(index.matching("main.items")), [] as [i64; 0]);
        assert_eq!(ids(index.matching("")), [1, 2, 3]);
    }

    #[test]
    fn what_is_removed_is_gone_and_the_others_are_found() {
        let mut index = Index::default();
        for id in 1..=4 {
            index.put(entry(id, "main", &format!("t{id}")), &Texts::default());
        }
        index.remove(2);
        index.put(entry(4, "main", "renamed"), &Texts::default());
        index.remove(9);
        assert_eq!(ids(index.iter()), [1, 3, 4]);
        assert_eq!(index.get(2), None);
        assert_eq!(index.find(Some(1), "main", "renamed").map(|entry| entry.id), Some(4));
        assert_eq!(index.find(Some(1), "main", "t4"), None);
        assert_eq!(index.find(None, "main", "t1"), None);
    }
}
