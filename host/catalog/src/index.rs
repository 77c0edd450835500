//! Stores entries side by side, so that a full scan reads memory sequentially.

use std::collections::HashMap;

use super::entry::Entry;
use super::facts::Facts;
use super::names::Names;
use super::orders::Orders;
use super::search_text::{FIELD_TEXT_MAX_CHARS, SearchText, TEXT_MAX_CHARS, Texts};
use super::terms::{Needles, Terms, Where};

/// All tables of the catalogue, including the recycle bin. A table keeps its place as long as it exists.
#[derive(Default)]
pub struct Index {
    pub(super) places: Vec<Option<Entry>>,
    /// The search texts, by place; separate from the entries, so that lists do not read them.
    texts: Vec<SearchText>,
    pub(super) names: Names,
    pub(super) facts: Facts,
    pub(super) orders: Orders,
    /// What the tables are about, by place.
    terms: Terms,
    /// Free places.
    free: Vec<u32>,
    by_id: HashMap<i64, u32>,
    /// Bytes of the fields in `texts`.
    pub(super) fields_bytes: usize,
}

/// Limit of the bytes of all searched fields; if a table's fields exceed it, the table is searched without
/// them.
const FIELDS_MAX_BYTES: usize = 512 * 1024 * 1024;

impl Index {
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    pub fn get(&self, id: i64) -> Option<&Entry> {
        self.by_id.get(&id).and_then(|place| self.at(*place))
    }

    /// All entries, unordered.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.places.iter().flatten()
    }

    /// What the tables are about, by their places.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    /// The fields of a table whose names or texts have one of the words, so many at most.
    pub fn fields_about(&self, id: i64, needles: &Needles, most: usize) -> Vec<String> {
        let Some(place) = self.by_id.get(&id) else { return Vec::new() };
        let fields = self.search_text_at(*place).all_fields();
        fields
            .filter(|(name, text)| needles.are_in(name, text))
            .take(most)
            .map(|(name, _)| name.to_owned())
            .collect()
    }

    /// The table at a place.
    pub fn at(&self, place: u32) -> Option<&Entry> {
        self.places[place as usize].as_ref()
    }

    /// The id of an existing table.
    pub(super) fn id_at(&self, place: u32) -> i64 {
        self.at(place).expect("facts and orders know of places that hold a table").id
    }

    /// The search text of an existing table.
    pub(super) fn search_text_at(&self, place: u32) -> &SearchText {
        &self.texts[place as usize]
    }

    pub fn put(&mut self, entry: Entry, texts: &Texts) {
        let place = self.place_of(entry.id);
        let (before, said) = (self.places[place as usize].take(), &mut self.texts[place as usize]);
        self.fields_bytes -= said.fields_bytes();
        *said = SearchText::of(&entry, texts, FIELDS_MAX_BYTES - self.fields_bytes);
        self.fields_bytes += said.fields_bytes();
        self.orders.note(place, before.as_ref(), Some(&entry));
        if let Some(before) = &before {
            self.facts.remove(place, before);
        }
        self.facts.put(place, &entry);
        self.names.put(place, &entry.db_name, &entry.table_name);
        // Fields without room are not searched.
        let fields = if said.fields_bytes() > 0 { texts.fields.as_slice() } else { &[] };
        let fields = fields.iter().flat_map(|(_, name, about)| {
            [(Where::FieldName, name.as_str()), (Where::FieldText, cut(about, FIELD_TEXT_MAX_CHARS))]
        });
        let about = entry.table_comment.as_deref().into_iter().chain(texts.description.as_deref());
        let about = about.chain(entry.tags.iter().map(|tag| &**tag));
        let about = about.map(|text| (Where::Text, cut(text, TEXT_MAX_CHARS)));
        self.terms.put(place, std::iter::once((Where::Name, &*entry.table_name)).chain(about).chain(fields));
        self.places[place as usize] = Some(entry);
    }

    pub fn remove(&mut self, id: i64) {
        let Some(place) = self.by_id.remove(&id) else { return };
        let (before, said) = (self.places[place as usize].take(), &mut self.texts[place as usize]);
        self.fields_bytes -= said.fields_bytes();
        *said = SearchText::default();
        self.orders.note(place, before.as_ref(), None);
        if let Some(before) = &before {
            self.facts.remove(place, before);
        }
        self.names.remove(place);
        self.terms.remove(place);
        self.free.push(place);
    }

    /// The place of a table; a new one if it has none.
    fn place_of(&mut self, id: i64) -> u32 {
        *self.by_id.entry(id).or_insert_with(|| {
            self.free.pop().unwrap_or_else(|| {
                self.places.push(None);
                self.texts.push(SearchText::default());
                (self.places.len() - 1) as u32
            })
        })
    }
}

/// The beginning of a text.
fn cut(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::tests::entry;
    use crate::{Filter, Order, SortBy};

    fn page(index: &Index, filter: &Filter<'_>) -> Vec<i64> {
        index.page(filter, Order { by: SortBy::TableName, is_descending: false }, 0, 10).1
    }

    fn ids<'e>(entries: impl Iterator<Item = &'e Entry>) -> Vec<i64> {
        let mut ids: Vec<i64> = entries.map(|entry| entry.id).collect();
        ids.sort_unstable();
        ids
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
        let renamed = Filter { keyword: "ren", ..Filter::default() };
        assert_eq!(page(&index, &renamed), [4]);
        index.put(entry(5, "main", "in_the_place_of_2"), &Texts::default());
        assert_eq!((index.places.len(), index.len()), (4, 4), "a place is used again");
        assert_eq!(page(&index, &Filter { keyword: "t2", ..renamed }), [] as [i64; 0]);
        assert_eq!(page(&index, &Filter { keyword: "of_2", ..renamed }), [5]);
        assert_eq!(page(&index, &Filter::default()), [5, 4, 1, 3], "by name");
    }
}
