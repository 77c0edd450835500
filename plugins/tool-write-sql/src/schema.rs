//! Tables as the planner sees them: plain data of any source.

use crate::calendar::Day;
use crate::dialect::Dialect;
use crate::words::chinese::is_han;
use crate::words::short::words_of;

/// The longest value that a comment can list, in characters.
const VALUE_MAX: usize = 40;

/// The tables of one data source.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    pub datasource: String,
    pub dialect: Dialect,
    pub tables: Vec<Table>,
    /// The month in which a fiscal year begins; 0: January.
    pub fiscal_month: u8,
    /// Declared foreign keys of single fields.
    pub references: Vec<Reference>,
}

#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The qualifier of its names; `None` if the name alone suffices.
    pub database: Option<String>,
    pub name: String,
    pub comment: String,
    pub fields: Vec<Field>,
    /// Words that editors gave it.
    pub tags: Vec<String>,
}

#[derive(Clone, Debug, Default)]
pub struct Field {
    pub name: String,
    pub type_text: String,
    pub comment: String,
    pub key: bool,
    /// Sampled values as text, the frequent ones first.
    pub values: Vec<String>,
}

/// A field's place in the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    pub table: usize,
    pub field: usize,
}

/// A declared foreign key of a single field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    pub field: Place,
    /// The field that it refers to, which identifies a row; `None`: its table is not part of the schema.
    pub key: Option<Place>,
}

/// The kind of a field's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Number,
    /// Numbers stored as text.
    NumberText,
    Text,
    /// `yyyy-MM-dd`, optionally with a time.
    Date,
    Other,
}

impl Schema {
    /// The month in which a fiscal year begins.
    pub fn first_month(&self) -> i64 {
        i64::from(self.fiscal_month.max(1))
    }

    pub fn table(&self, table: usize) -> &Table {
        &self.tables[table]
    }

    pub fn field(&self, place: Place) -> &Field {
        &self.tables[place.table].fields[place.field]
    }

    /// A field as `table.field`.
    pub fn full_name(&self, place: Place) -> String {
        format!("{}.{}", self.table(place.table).name, self.field(place).name)
    }

    pub fn places(&self, table: usize) -> impl Iterator<Item = Place> + use<> {
        (0..self.tables[table].fields.len()).map(move |field| Place { table, field })
    }

    /// The field that identifies a row: the only key, or an `id` that serves as one.
    pub fn key(&self, table: usize) -> Option<Place> {
        let fields = &self.tables[table].fields;
        let mut keys = self.places(table).filter(|place| fields[place.field].key);
        match (keys.next(), keys.next()) {
            (Some(only), None) => Some(only),
            (Some(_), Some(_)) => None,
            (None, _) => self.places(table).find(|place| fields[place.field].name.eq_ignore_ascii_case("id")),
        }
    }

    /// The field by which people recognise a row.
    pub fn title(&self, table: usize) -> Option<Place> {
        let owner = &self.tables[table];
        let lower = |place: &Place| owner.fields[place.field].name.to_lowercase();
        let own = owner.name.to_lowercase();
        let singular = own.strip_suffix('s').unwrap_or(&own);
        let texts = || self.places(table).filter(|place| self.field(*place).kind() == Kind::Text);
        let named = [
            "name".to_owned(),
            format!("{singular}_name"),
            "full_name".to_owned(),
            "title".to_owned(),
            format!("{singular}_title"),
            own.clone(),
        ];
        let last = |place: &Place| words_of(&self.field(*place).name).pop().unwrap_or_default();
        let names: Vec<Place> =
            texts().filter(|place| lower(place).ends_with("name") || last(place) == "name").collect();
        let titles: Vec<Place> = texts().filter(|place| last(place) == "title").collect();
        let is_job = |place: &Place| lower(place).starts_with("job");
        let found = named.iter().find_map(|name| texts().find(|place| lower(place) == *name));
        found.or_else(|| match (&names[..], &titles[..]) {
            ([only], _) => Some(*only),
            // The title of a job is not its holder's.
            ([], [only]) if !is_job(only) => Some(*only),
            _ => None,
        })
    }
}

impl Field {
    pub fn kind(&self) -> Kind {
        let has = |words: &[&str]| words.iter().any(|word| has_ignoring_case(&self.type_text, word));
        let filled = !self.values.is_empty();
        if has(&["BOOL", "BLOB", "JSON"]) {
            Kind::Other
        } else if has(&["INT", "REAL", "NUM", "DEC", "DOUB", "FLOA"]) {
            Kind::Number
        } else if filled && self.values.iter().all(|value| Day::read(value).is_some()) {
            Kind::Date
        } else if has(&["DATE", "TIME"]) {
            if filled { Kind::Other } else { Kind::Date }
        } else if filled && self.values.iter().all(|value| value.parse::<f64>().is_ok()) {
            if self.type_text.is_empty() { Kind::Number } else { Kind::NumberText }
        } else if !filled && self.names_time() {
            Kind::Date
        } else {
            Kind::Text
        }
    }

    pub fn is_number(&self) -> bool {
        matches!(self.kind(), Kind::Number | Kind::NumberText)
    }

    /// True if its numbers are identifiers and not measures.
    pub fn names_identity(&self) -> bool {
        self.key
            || self.name.eq_ignore_ascii_case("id")
            || ends_ignoring_case(&self.name, "_id")
            || ends_ignoring_case(&self.name, "code")
            || self.name.ends_with("ID")
    }

    fn names_time(&self) -> bool {
        let ends = |end: &&str| ends_ignoring_case(&self.name, end);
        ["_at", "_date", "_time", "_day"].iter().any(ends) || self.name.eq_ignore_ascii_case("date")
    }

    /// Values listed in the comment, each with its other name: `success | failed`, `成功 success、失败 failed`.
    pub fn listed_values(&self) -> Vec<(String, Option<String>)> {
        if !self.comment.contains([':', '：', '|']) {
            return Vec::new();
        }
        let lists = self.comment.split(['(', ')', '（', '）', ';', '；']).filter_map(|part| {
            match part.split_once([':', '：']) {
                Some((_, list)) => Some(list),
                None => part.contains('|').then_some(part),
            }
        });
        let listed: Vec<(String, Option<String>)> =
            lists.flat_map(|list| list.split(['|', '、'])).filter_map(listed).collect();
        // A single word after a colon is not a list.
        if listed.len() > 1 { listed } else { Vec::new() }
    }
}

/// `part` is ASCII.
fn has_ignoring_case(text: &str, part: &str) -> bool {
    text.as_bytes().windows(part.len()).any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
}

/// `end` is ASCII.
fn ends_ignoring_case(text: &str, end: &str) -> bool {
    let (text, end) = (text.as_bytes(), end.as_bytes());
    text.len() >= end.len() && text[text.len() - end.len()..].eq_ignore_ascii_case(end)
}

/// A listed value: one word without blanks, optionally after a Chinese one.
fn listed(item: &str) -> Option<(String, Option<String>)> {
    let plain = |word: &str| word.trim_matches(['\'', '"', '`']).to_owned();
    let words: Vec<&str> = item.split_whitespace().collect();
    let (value, called) = match words[..] {
        [value] => (value, None),
        [called, value] if called.chars().all(is_han) => (value, Some(called.to_owned())),
        _ => return None,
    };
    let fits = value.chars().count() <= VALUE_MAX && !value.chars().any(is_han);
    fits.then(|| (plain(value), called))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, type_text: &str, values: &[&str]) -> Field {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        Field { name: name.to_owned(), type_text: type_text.to_owned(), values, ..Field::default() }
    }

    #[test]
    fn kinds_come_from_values_before_names() {
        assert_eq!(field("ordered_on", "TEXT", &["2026-07-01"]).kind(), Kind::Date);
        assert_eq!(field("created_at", "TEXT", &[]).kind(), Kind::Date);
        assert_eq!(field("created_at", "DATETIME", &["1752900000"]).kind(), Kind::Other);
        assert_eq!(field("year", "TEXT", &["2014", "2015"]).kind(), Kind::NumberText);
        assert_eq!(field("amount", "DECIMAL(10,2)", &[]).kind(), Kind::Number);
    }

    #[test]
    fn a_comment_can_list_the_values() {
        let mut status = field("status", "TEXT", &[]);
        status.comment = "how it ended (执行状态): success|failed|killed".to_owned();
        let values = |field: &Field| -> Vec<String> {
            field.listed_values().into_iter().map(|(value, _)| value).collect()
        };
        assert_eq!(values(&status), ["success", "failed", "killed"]);
        status.comment = "APPROVED or REJECTED (审批状态：通过 APPROVED、驳回 REJECTED)".to_owned();
        assert_eq!(values(&status), ["APPROVED", "REJECTED"]);
        assert_eq!(status.listed_values()[1].1.as_deref(), Some("驳回"));
        status.comment = "rows when last counted: an estimate (行数)".to_owned();
        assert!(values(&status).is_empty());
    }
}
