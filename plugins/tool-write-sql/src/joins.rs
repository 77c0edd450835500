//! Relations between tables. The catalogue has no foreign keys, so they are derived from names:
//! `orders.customer_id` refers to `customers.id`, and a field with the same name as another table's key
//! refers to that key.

use std::cmp::Ordering;
use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::schema::{Field, Kind, Place, Schema};
use crate::understand::names::PREFIXES;
use crate::words::english::{name_words, singular};

/// One row of `child` has at most one row of `parent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    pub child: Place,
    pub parent: Place,
}

/// A step from one table to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub link: Link,
    /// True: to the parent, which does not multiply rows.
    pub up: bool,
}

impl Step {
    pub fn to(self) -> usize {
        if self.up { self.link.parent.table } else { self.link.child.table }
    }

    pub fn from(self) -> usize {
        if self.up { self.link.child.table } else { self.link.parent.table }
    }
}

/// How a table is reached: over so many steps, of which some go down, in so many ways.
#[derive(Clone, Copy, Debug)]
struct Reached {
    steps: usize,
    downs: usize,
    ways: usize,
    last: Option<Step>,
}

impl Reached {
    /// Another way of as many steps.
    fn take(&mut self, other: Reached) {
        match other.downs.cmp(&self.downs) {
            Ordering::Less => *self = other,
            Ordering::Equal => self.ways += other.ways,
            Ordering::Greater => {}
        }
    }
}

/// Last words of the names of tables whose rows are parts of others'.
const PARTS: &[&str] = &["detail", "item", "line", "position", "entry"];

/// All links between the tables of a schema.
#[derive(Debug, Default)]
pub struct Links(Vec<Link>);

impl Links {
    pub fn of(schema: &Schema) -> Links {
        let mut called: FxHashMap<Vec<String>, Vec<Place>> = FxHashMap::default();
        for place in (0..schema.tables.len()).flat_map(|table| schema.places(table)) {
            called.entry(plain(&schema.field(place).name)).or_default().push(place);
        }
        let links =
            (0..schema.tables.len()).filter_map(|table| Target::of(schema, table)).flat_map(|target| {
                let called = called.get(&target.words).into_iter().flatten().copied();
                let refers = called.filter(|place| target.is_meant_by(schema, *place));
                refers.map(|child| Link { child, parent: target.key }).collect::<Vec<Link>>()
            });
        Links(links.collect())
    }

    /// All links between two tables, in both directions.
    fn between(&self, a: usize, b: usize) -> impl Iterator<Item = Step> {
        self.0.iter().filter_map(move |link| match (link.child.table, link.parent.table) {
            (child, parent) if (child, parent) == (a, b) => Some(Step { link: *link, up: true }),
            (child, parent) if (child, parent) == (b, a) => Some(Step { link: *link, up: false }),
            _ => None,
        })
    }

    /// The shortest path from any of some tables to another; of several the one that repeats rows least often. `None` if there
    /// is none, or two that are alike in that.
    pub fn way(&self, from: &[usize], to: usize, tables: usize) -> Option<Vec<Step>> {
        let mut reached: Vec<Option<Reached>> = vec![None; tables];
        let mut queue = VecDeque::new();
        for &start in from {
            reached[start] = Some(Reached { steps: 0, downs: 0, ways: 1, last: None });
            queue.push_back(start);
        }
        while let Some(here) = queue.pop_front() {
            let known = reached[here].expect("what is queued was reached");
            for (next, reached) in reached.iter_mut().enumerate() {
                for step in self.between(here, next) {
                    let found = Reached {
                        steps: known.steps + 1,
                        downs: known.downs + usize::from(!step.up),
                        last: Some(step),
                        ..known
                    };
                    match reached.as_mut() {
                        None => {
                            *reached = Some(found);
                            queue.push_back(next);
                        }
                        Some(other) if other.steps == found.steps => other.take(found),
                        Some(_) => {}
                    }
                }
            }
        }
        let Reached { mut last, ways, .. } = reached[to]?;
        if ways > 1 {
            return None;
        }
        let mut way = Vec::new();
        while let Some(step) = last {
            way.push(step);
            last = reached[step.from()].and_then(|before| before.last);
        }
        way.reverse();
        Some(way)
    }

    /// The direct link from a child to a parent, if there is exactly one.
    pub fn direct(&self, child: usize, parent: usize) -> Option<Link> {
        let mut found = self.0.iter().filter(|link| link.child.table == child && link.parent.table == parent);
        found.next().copied().filter(|_| found.next().is_none())
    }

    /// The field that refers to what a table's rows are parts of: `order_id` of order details, of orders.
    pub fn to_whole(&self, schema: &Schema, part: usize, whole: usize) -> Option<Place> {
        let words = |table: usize| -> Vec<String> {
            let words = plain(&schema.table(table).name);
            words.into_iter().skip_while(|word| PREFIXES.contains(&word.as_str())).collect()
        };
        let (part_words, whole_words) = (words(part), words(whole));
        let is_part = part_words.starts_with(&whole_words)
            && matches!(&part_words[whole_words.len()..], [last] if PARTS.contains(&last.as_str()));
        self.direct(part, whole).filter(|_| is_part).map(|link| link.child)
    }

    /// The link that ties two fields.
    pub fn tying(&self, one: Place, other: Place) -> Option<Link> {
        let ties = |link: &&Link| {
            (link.child, link.parent) == (one, other) || (link.child, link.parent) == (other, one)
        };
        self.0.iter().find(ties).copied()
    }

    /// Whether a field refers to a row of another table.
    pub fn is_child(&self, place: Place) -> bool {
        self.parent_of(place).is_some()
    }

    /// The only table whose rows a field refers to.
    pub fn parent_of(&self, place: Place) -> Option<usize> {
        let mut parents = self.0.iter().filter(|link| link.child == place).map(|link| link.parent.table);
        parents.next().filter(|_| parents.next().is_none())
    }

    /// Tables one step away.
    pub fn neighbours(&self, table: usize) -> Vec<usize> {
        let other = |link: &Link| match (link.child.table, link.parent.table) {
            (child, parent) if child == table => Some(parent),
            (child, parent) if parent == table => Some(child),
            _ => None,
        };
        self.0.iter().filter_map(other).collect()
    }
}

/// The key of a table, with the words of the fields that refer to it.
struct Target {
    key: Place,
    owner: Vec<String>,
    words: Vec<String>,
}

impl Target {
    fn of(schema: &Schema, table: usize) -> Option<Target> {
        let key = schema.key(table)?;
        let owner = plain(&schema.table(table).name);
        let words = plain(&schema.field(key).name);
        let generic = words.len() == 1 && ["id", "code", "name", "key", "no"].contains(&words[0].as_str());
        let words = if generic { [owner.clone(), words].concat() } else { words };
        Some(Target { key, owner, words })
    }

    /// A key of the same name refers only to the table that it is named after.
    fn is_meant_by(&self, schema: &Schema, place: Place) -> bool {
        let is_key = schema.key(place.table) == Some(place);
        let named_after = self.words.starts_with(&self.owner) && self.words.len() > self.owner.len();
        let differ = differ(schema.field(place), schema.field(self.key));
        place.table != self.key.table && (!is_key || named_after) && !differ
    }
}

/// Whether no value of the one can be one of the other: days or words, and numbers. Texts without samples may be numbers.
fn differ(one: &Field, other: &Field) -> bool {
    let is_number = |field: &Field| field.kind() == Kind::Number;
    let is_other = |field: &Field| match field.kind() {
        Kind::Date => true,
        Kind::Text => !field.values.is_empty(),
        _ => false,
    };
    is_number(one) && is_other(other) || is_other(one) && is_number(other)
}

fn plain(name: &str) -> Vec<String> {
    name_words(name).iter().map(|word| singular(word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::shop;

    #[test]
    fn names_tell_how_tables_hang_together() {
        let schema = shop();
        let links = Links::of(&schema);
        let at = |name: &str| schema.tables.iter().position(|table| table.name == name).unwrap();
        let way = links.way(&[at("orders")], at("customers"), schema.tables.len()).unwrap();
        assert_eq!(way.len(), 1);
        assert!(way[0].up);
        let way = links.way(&[at("customers")], at("products"), schema.tables.len()).unwrap();
        let ups: Vec<bool> = way.iter().map(|step| step.up).collect();
        assert_eq!(ups, [false, false, true]);
    }
}
