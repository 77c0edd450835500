//! The search text of a table beside its name: its texts and fields. All in lower case in one string each, so
//! that a search reads memory sequentially and allocates nothing.

use memchr::memmem::Finder;

use super::entry::Entry;

/// The searched characters of a comment or a description.
pub const TEXT_MAX_CHARS: usize = 300;
/// The same for a field.
pub const FIELD_TEXT_MAX_CHARS: usize = 100;
/// The searched fields of a table.
pub const FIELDS_MAX: usize = 2_000;

/// Precedes each field.
const FIELD: char = '\u{1}';
/// Separates a field's name from its text.
const SAID: char = '\u{2}';

/// The store's texts of a table.
#[derive(Debug, Default)]
pub struct Texts {
    pub description: Option<String>,
    /// Id, name and text.
    pub fields: Vec<(i64, String, String)>,
}

/// The texts in searchable form.
#[derive(Debug, Default)]
pub struct SearchText {
    /// Comment, tags and description.
    about: Box<str>,
    fields: Box<str>,
    /// In the order of `fields`.
    field_ids: Box<[i64]>,
    /// The names as they are written, each on a line, where one has an upper-case letter.
    written: Option<Box<str>>,
}

/// The kind of match, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    Whole,
    Start,
    Within,
    Text,
}

impl Rank {
    /// The rank of a match in a name; both are in lower case.
    pub fn in_name(name: &str, keyword: &Finder<'_>) -> Option<Rank> {
        match keyword.find(name.as_bytes())? {
            0 if name.len() == keyword.needle().len() => Some(Rank::Whole),
            0 => Some(Rank::Start),
            _ => Some(Rank::Within),
        }
    }
}

impl SearchText {
    /// Omits fields that exceed `room` bytes.
    pub(super) fn of(entry: &Entry, texts: &Texts, room: usize) -> SearchText {
        let cut = |text: &str| plain(&text.chars().take(TEXT_MAX_CHARS).collect::<String>());
        let comment = entry.table_comment.as_deref().map(cut);
        let description = texts.description.as_deref().map(cut);
        let tags = entry.tags.iter().map(|tag| plain(tag));
        let about: Vec<String> = comment.into_iter().chain(tags).chain(description).collect();
        let mut said = SearchText { about: about.join("\n").into(), ..SearchText::default() };
        let mut fields = String::new();
        for (_, name, about) in &texts.fields {
            fields.push(FIELD);
            fields.push_str(&plain(name));
            fields.push(SAID);
            fields.push_str(&plain(about));
        }
        let field_ids: Box<[i64]> = texts.fields.iter().map(|(id, ..)| *id).collect();
        if fields.len() + size_of_val(&*field_ids) <= room {
            let names: Vec<&str> = texts.fields.iter().map(|(_, name, _)| name.as_str()).collect();
            let is_cased = names.iter().any(|name| plain(name) != *name);
            let written =
                || names.iter().map(|name| name.replace(char::is_control, " ")).collect::<Vec<String>>();
            said.written = is_cased.then(|| written().join("\n").into());
            (said.fields, said.field_ids) = (fields.into(), field_ids);
        }
        said
    }

    pub(super) fn fields_bytes(&self) -> usize {
        self.fields.len() + size_of_val(&*self.field_ids) + self.written.as_deref().map_or(0, str::len)
    }

    /// The fields' names as they are written, with their texts in lower case.
    pub fn all_fields(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut written = self.written.as_deref().map(str::lines);
        self.fields.split(FIELD).skip(1).map(move |field| {
            let (name, text) = field.split_once(SAID).unwrap_or((field, ""));
            (written.as_mut().and_then(Iterator::next).unwrap_or(name), text)
        })
    }

    /// Whether the table's texts contain a lower-case keyword.
    pub fn has(&self, keyword: &Finder<'_>) -> bool {
        keyword.find(self.about.as_bytes()).is_some()
    }

    /// Fields that match a lower-case keyword: rank, lower-case name, id.
    pub fn fields<'s>(&'s self, keyword: &'s Finder<'_>) -> impl Iterator<Item = (Rank, &'s str, i64)> {
        let (mut from, mut ordinal) = (0, 0);
        std::iter::from_fn(move || {
            let found = from + keyword.find(self.fields.get(from..)?.as_bytes())?;
            let begin = self.fields[..found].rfind(FIELD)?;
            let end = self.fields[found..].find(FIELD).map_or(self.fields.len(), |at| found + at);
            let is_first = |c: char| c == FIELD;
            ordinal += self.fields[from..begin].matches(is_first).count();
            let name = self.fields[begin + FIELD.len_utf8()..end].split(SAID).next().unwrap_or_default();
            let rank = Rank::in_name(name, keyword).unwrap_or(Rank::Text);
            let id = *self.field_ids.get(ordinal)?;
            (from, ordinal) = (end, ordinal + 1);
            Some((rank, name, id))
        })
    }
}

/// In lower case, on one line, without the separators. Keywords must be normalised the same way.
pub fn plain(text: &str) -> String {
    text.to_lowercase().replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(fields: &[(i64, &str, &str)]) -> SearchText {
        let fields = fields.iter().map(|(id, name, about)| (*id, (*name).to_owned(), (*about).to_owned()));
        let texts = Texts { description: Some("Long\ntext".to_owned()), fields: fields.collect() };
        let entry = Entry {
            table_comment: Some("订单表".into()),
            tags: Box::new(["Core".into()]),
            ..crate::entry::tests::entry(1, "main", "orders")
        };
        SearchText::of(&entry, &texts, usize::MAX)
    }

    fn found(said: &SearchText, keyword: &str) -> Vec<(Rank, String, i64)> {
        said.fields(&Finder::new(keyword)).map(|(rank, name, id)| (rank, name.to_owned(), id)).collect()
    }

    #[test]
    fn a_field_matches_once_at_best_rank() {
        let said = said(&[
            (11, "Id", ""),
            (12, "order_id", "the id of it, id"),
            (13, "identity", "x"),
            (14, "price", "paid, 单价"),
            (15, "last", "id"),
        ]);
        let name = |name: &str| name.to_owned();
        assert_eq!(
            found(&said, "id"),
            [
                (Rank::Whole, name("id"), 11),
                (Rank::Within, name("order_id"), 12),
                (Rank::Start, name("identity"), 13),
                (Rank::Text, name("price"), 14),
                (Rank::Text, name("last"), 15),
            ]
        );
        assert_eq!(found(&said, "价"), [(Rank::Text, name("price"), 14)]);
        assert_eq!(found(&said, "%"), []);
        assert_eq!(found(&said, "it, id"), [(Rank::Text, name("order_id"), 12)]);
        assert_eq!(found(&said, &plain("ice\u{2}pa")), [], "nothing is found across parts");
    }

    #[test]
    fn all_fields_have_their_names_as_written() {
        for (fields, names) in [
            (&[(1, "id", "the Key"), (2, "memberLevel", "")][..], ["id", "memberLevel"]),
            (&[(1, "id", "x"), (2, "level", "y")], ["id", "level"]),
        ] {
            let said = said(fields);
            let found: Vec<&str> = said.all_fields().map(|(name, _)| name).collect();
            assert_eq!(found, names);
        }
        assert_eq!(said(&[(1, "id", "the Key")]).all_fields().next(), Some(("id", "the key")));
    }

    #[test]
    fn comments_are_searched_ignoring_case() {
        let said = said(&[]);
        for keyword in ["单", "订单", "core", "long text"] {
            assert!(said.has(&Finder::new(keyword)), "{keyword}");
        }
        assert!(!said.has(&Finder::new("表core")) && !said.has(&Finder::new("xyz")));
    }

    #[test]
    fn fields_without_room_are_left_out() {
        let texts = Texts { description: None, fields: vec![(1, "a".to_owned(), String::new())] };
        let entry = crate::entry::tests::entry(1, "main", "orders");
        assert_eq!(SearchText::of(&entry, &texts, 10).fields_bytes(), 0);
        assert_eq!(SearchText::of(&entry, &texts, 11).fields_bytes(), 11);
    }
}
