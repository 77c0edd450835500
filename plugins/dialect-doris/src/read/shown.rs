//! Parses `SHOW CREATE TABLE`, the only source for Doris' layout and its fields that follow each update, and
//! for older StarRocks' layout.
//!
//! The text is ambiguous: Doris writes comments without escaping their quotes, so that a comment may look
//! like a clause. But the exact comment of the table is known from elsewhere, and all other comments come
//! before it. So the text is read from its end, and a layout that does not fit is unknown.

use lakeport_sdk::dialect::{Error, Query, RowSet, TableName};

use super::plain;
use crate::extra::TableExtra;

/// A property that every table has in Doris' cloud mode, in place of its replicas.
const CLOUD_PROPERTY: &str = "file_cache_ttl_seconds";
/// The property of a group of tables that share their distribution.
const COLOCATION: &str = "colocate_with";
/// The default tag of nodes.
const DEFAULT_TAG: &str = "tag.location.default";

/// The statement without the fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shown {
    /// Its model.
    pub model: Option<String>,
    /// Names in the partition clause, in order of appearance.
    pub partition: Vec<String>,
    /// Names in the distribution clause.
    pub distribution: Vec<String>,
    /// Buckets, if they are a number.
    pub buckets: Option<u32>,
    /// Replicas of future partitions, over all tags.
    pub replicas: Option<u32>,
    /// Further facts that plans depend on.
    pub extra: TableExtra,
}

pub(super) fn query(table: &TableName) -> Query {
    Query::new("SHOW CREATE TABLE ").name([&table.database, &table.name])
}

/// The text in an answer: `Create Table`, or `Create View` for a view.
pub(super) fn text_of(rows: &RowSet) -> Result<&str, Error> {
    let row = rows.first().ok_or_else(|| Error::bad_answer("SHOW CREATE TABLE had no answer"))?;
    ["Create Table", "Create View", "Create Materialized View"]
        .iter()
        .find_map(|column| row.text(column).ok())
        .ok_or_else(|| Error::bad_answer("the answer of SHOW CREATE TABLE has no statement in it"))
}

pub(super) fn layout_of(rows: &RowSet, comment: &str, fields: &[&str]) -> Option<Shown> {
    shown(plain(&rows.first()?, "Create Table")?.as_ref(), comment, fields)
}

/// The layout in a text; `None` if it is not understood.
pub fn shown(text: &str, comment: &str, fields: &[&str]) -> Option<Shown> {
    let (before, after) = rsplit(text, "\nDISTRIBUTED BY ")?;
    let (distributed, properties) = after.split_once("\nPROPERTIES (").unwrap_or((after, ""));
    let (head, partition) = head_and_partition(before, comment)?;
    let random = distributed.starts_with("RANDOM");
    let tags = property(properties, "replication_allocation").map(tags_in);
    let number = || property(properties, "replication_num")?.parse().ok();
    let by_tags = tags.as_ref().is_some_and(|tags| tags.iter().any(|(tag, _)| *tag != DEFAULT_TAG));
    Some(Shown {
        model: model_in(head),
        partition: partition.map(|clause| names_in(clause_head(clause), fields)).unwrap_or_default(),
        distribution: if random { Vec::new() } else { names_in(between(distributed)?, fields) },
        buckets: distributed
            .split_once("BUCKETS ")
            .and_then(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next())
            .and_then(|digits| digits.parse().ok()),
        replicas: match &tags {
            Some(tags) => tags.iter().map(|(_, count)| *count).sum(),
            None => number(),
        },
        extra: TableExtra {
            random,
            dynamic: property(properties, "dynamic_partition.enable") == Some("true"),
            allocation: property(properties, "replication_allocation").filter(|_| by_tags).map(str::to_owned),
            colocated: property(properties, COLOCATION).is_some_and(|group| !group.is_empty()),
            cloud: property(properties, CLOUD_PROPERTY).is_some() && tags.is_none() && number().is_none(),
        },
    })
}

/// The text before the table's comment, and the partition clause after it. The comment is written unchanged
/// except for a backslash before each double quote (Doris), or in double quotes (StarRocks).
fn head_and_partition<'a>(before: &'a str, comment: &str) -> Option<(&'a str, Option<&'a str>)> {
    let partition = |rest: &'a str| match rest.trim() {
        "" => Some(None),
        clause if clause.starts_with("PARTITION BY ") || clause.starts_with("AUTO PARTITION BY ") => {
            Some(Some(clause))
        }
        _ => None,
    };
    if comment.is_empty() {
        // The key clause is a line of its own and contains only names.
        let (_, behind) = rsplit(before, "\n) ENGINE=")?;
        let line_end = |text: &str| text.find('\n').unwrap_or(text.len());
        let key_at = line_end(behind) + 1;
        let key = behind.get(key_at..)?;
        let end = key_at + line_end(key);
        let split = before.len() - behind.len() + end.min(behind.len());
        return partition(&before[split..]).map(|found| (&before[..split], found));
    }
    [comment.replace('"', "\\\""), comment.to_owned()].iter().find_map(|written| {
        ["'", "\""].iter().find_map(|quote| {
            let clause = format!("\nCOMMENT {quote}{written}{quote}");
            let (head, rest) = rsplit(before, &clause)?;
            partition(rest).map(|found| (head, found))
        })
    })
}

fn rsplit<'a>(text: &'a str, at: &str) -> Option<(&'a str, &'a str)> {
    text.rfind(at).map(|start| (&text[..start], &text[start + at.len()..]))
}

/// The model, in the last line before the comment.
fn model_in(head: &str) -> Option<String> {
    let line = head.lines().next_back()?;
    let model = line.split_once(" KEY(").map(|(model, _)| model)?;
    ["DUPLICATE", "UNIQUE", "AGGREGATE", "PRIMARY"].contains(&model).then(|| model.to_owned())
}

/// The content of the first parentheses.
fn between(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once('(')?;
    rest.split_once(')').map(|(inside, _)| inside)
}

/// A partition clause without the partitions themselves, which begin on a line of their own.
fn clause_head(clause: &str) -> &str {
    clause.split_once('\n').map_or(clause, |(head, _)| head)
}

/// Names of fields in a list or an expression, in order and without duplicates. Texts and names of functions
/// are not fields.
pub(super) fn names_in(text: &str, fields: &[&str]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let (name, behind) = match c {
            '\'' | '"' => {
                let inside = &rest[1..];
                let end = inside.find(c).map_or(inside.len(), |end| end + 1);
                (None, &inside[end..])
            }
            '`' => match rest[1..].split_once('`') {
                Some((name, behind)) => (Some(name), behind),
                None => (None, ""),
            },
            c if is_word(c) => {
                let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                let behind = &rest[end..];
                (Some(&rest[..end]).filter(|_| !behind.starts_with('(')), behind)
            }
            c => (None, &rest[c.len_utf8()..]),
        };
        let known = name.and_then(|name| fields.iter().find(|field| field.eq_ignore_ascii_case(name)));
        if let Some(field) = known.filter(|field| found.iter().all(|other| other != *field)) {
            found.push((*field).to_owned());
        }
        rest = behind;
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The value of a property, each on a line of its own: `"replication_num" = "3",`.
fn property<'a>(properties: &'a str, name: &str) -> Option<&'a str> {
    properties.lines().find_map(|line| {
        let (found, value) = line.trim().split_once(" = ")?;
        (found.trim_matches('"') == name).then(|| value.trim_end_matches(',').trim_matches('"'))
    })
}

/// Tags and the numbers of replicas on their nodes: `tag.location.default: 2, tag.location.b: 1`.
fn tags_in(allocation: &str) -> Vec<(&str, Option<u32>)> {
    let tags = allocation.split(',').map(|part| part.rsplit_once(':').unwrap_or((part, "")));
    tags.map(|(tag, count)| (tag.trim(), count.trim().parse().ok())).collect()
}

/// Fields that every update of a row sets to the current time: Doris writes this after their default, before
/// the comment. A comment may look like such a line; then one field too many is found, never one too few.
pub(super) fn stamped_in(rows: &RowSet) -> Vec<String> {
    let Some(text) = rows.first().and_then(|row| plain(&row, "Create Table")) else { return Vec::new() };
    let field = |line: &str| {
        let (name, definition) = line.trim_start().strip_prefix('`')?.split_once("` ")?;
        let definition = definition.split(" COMMENT ").next().unwrap_or_default();
        definition.contains(" ON UPDATE ").then(|| name.to_owned())
    };
    text.lines().filter_map(field).collect()
}
