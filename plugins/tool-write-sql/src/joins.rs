//! Relations between tables: declared foreign keys of single fields, and where a field has none, what its name says.
//! `orders.customer_id` refers to `customers.id`, and a field with the same name as another table's key refers to
//! that key.
//!
//! A declared key wins over the guess for its field, even if its table is not part of the schema. Where several fields
//! refer from one table to another, those that are named after it go before the others: `customer_id` before
//! `referred_by`, both of which refer to customers. A field that refers to its own table joins nothing. Keys of several
//! fields are left out.

use std::cmp::Ordering;
use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::answer::layer;
use crate::schema::{Field, Kind, Place, Schema};
use crate::understand::names::PREFIXES;
use crate::words::english::{name_words, singular};

/// One row of `child` has at most one row of `parent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

/// Whether the way goes up to a parent and down to other children of it: their rows do not belong together.
pub fn leads_beside(way: &[Step]) -> bool {
    way.windows(2).any(|pair| pair[0].up && !pair[1].up)
}

/// Whether the way goes down to a child, up to its parent and down again: from members to their sightings, the sites of these, and
/// the excursions there. Such rows do not belong together.
pub fn leads_astray(way: &[Step]) -> bool {
    let down = way.iter().position(|step| !step.up);
    down.is_some_and(|down| leads_beside(&way[down..]))
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
    fn take(&mut self, other: Reached, alike: Alike) {
        match other.downs.cmp(&self.downs) {
            _ if alike == Alike::InSteps => self.ways += other.ways,
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
pub struct Links {
    all: Vec<Link>,
    /// Those that lead from table to table.
    ways: Vec<Link>,
    /// Those that the fields' names say, declared or not.
    named: Vec<Link>,
    /// How far each table is from what happened.
    layers: Vec<u8>,
}

impl Links {
    pub fn of(schema: &Schema) -> Links {
        let mut called: FxHashMap<Vec<String>, Vec<Place>> = FxHashMap::default();
        for place in (0..schema.tables.len()).flat_map(|table| schema.places(table)) {
            called.entry(plain(&schema.field(place).name)).or_default().push(place);
        }
        let guessed =
            (0..schema.tables.len()).filter_map(|table| Target::of(schema, table)).flat_map(|target| {
                let called = called.get(&target.words).into_iter().flatten().copied();
                let refers = called.filter(|place| target.is_meant_by(schema, *place));
                refers.map(|child| Link { child, parent: target.key }).collect::<Vec<Link>>()
            });
        let layers = schema.tables.iter().map(|table| layer(&table.name)).collect();
        Links { layers, ..Links::with_declared(schema, guessed.collect()) }
    }

    fn with_declared(schema: &Schema, guessed: Vec<Link>) -> Links {
        if schema.references.is_empty() {
            return Links { all: guessed.clone(), ways: guessed.clone(), named: guessed, ..Links::default() };
        }
        let referring: FxHashSet<Place> = schema.references.iter().map(|reference| reference.field).collect();
        let declared = schema.references.iter().filter_map(|reference| {
            let parent = reference.key.filter(|key| key.table != reference.field.table)?;
            Some(Link { child: reference.field, parent })
        });
        let declared: FxHashSet<Link> = declared.collect();
        let is_kept = |link: &Link| !referring.contains(&link.child) || declared.contains(link);
        let named: Vec<Link> = guessed.into_iter().filter(is_kept).collect();
        let mut others: Vec<Link> = declared.into_iter().filter(|link| !named.contains(link)).collect();
        others.sort_unstable();
        let tables = |link: &Link| (link.child.table, link.parent.table);
        let pairs: FxHashSet<(usize, usize)> = named.iter().map(tables).collect();
        let unnamed = others.iter().filter(|link| !pairs.contains(&tables(link)));
        let ways = named.iter().chain(unnamed).copied().collect();
        Links { all: [named.as_slice(), &others].concat(), ways, named, ..Links::default() }
    }

    /// The shortest path from any of some tables to another; of several the one that repeats rows least often. `None` if
    /// there is none, or two that are alike in that, unless only one of these is of fields that are named after their
    /// tables.
    pub fn way(&self, from: &[usize], to: usize, tables: usize) -> Option<Vec<Step>> {
        let mut links = &self.ways;
        let mut found = shortest(links, from, to, tables, Alike::InSteps);
        if matches!(found, Found::Several) && self.named.len() < self.ways.len() {
            links = &self.named;
            found = shortest(links, from, to, tables, Alike::InSteps);
        }
        if matches!(found, Found::Several) {
            found = shortest(links, from, to, tables, Alike::InRepeats);
        }
        // Orders hang together with products over the items of the same layer.
        if matches!(found, Found::Several)
            && self.layers.get(to) == from.first().and_then(|one| self.layers.get(*one))
        {
            let is_same = |link: &&Link| {
                [link.child.table, link.parent.table]
                    .iter()
                    .all(|table| self.layers.get(*table) == self.layers.get(to))
            };
            let near: Vec<Link> = links.iter().filter(is_same).copied().collect();
            found = shortest(&near, from, to, tables, Alike::InRepeats);
        }
        match found {
            Found::Way(way) => Some(way),
            Found::Several | Found::None => None,
        }
    }

    /// The direct link from a child to a parent, if there is exactly one.
    pub fn direct(&self, child: usize, parent: usize) -> Option<Link> {
        let mut found =
            self.ways.iter().filter(|link| link.child.table == child && link.parent.table == parent);
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
        self.all.iter().find(ties).copied()
    }

    /// Whether a field refers to a row of another table.
    pub fn is_child(&self, place: Place) -> bool {
        self.parent_of(place).is_some()
    }

    /// The only table whose rows a field refers to.
    pub fn parent_of(&self, place: Place) -> Option<usize> {
        let mut parents = self.all.iter().filter(|link| link.child == place).map(|link| link.parent.table);
        parents.next().filter(|_| parents.next().is_none())
    }

    /// Tables one step away.
    pub fn neighbours(&self, table: usize) -> Vec<usize> {
        let other = |link: &Link| match (link.child.table, link.parent.table) {
            (child, parent) if child == table => Some(parent),
            (child, parent) if parent == table => Some(child),
            _ => None,
        };
        self.all.iter().filter_map(other).collect()
    }
}

/// In what ways are alike, of which none is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Alike {
    /// In how many steps they have.
    InSteps,
    /// And in how many of these repeat rows.
    InRepeats,
}

/// A search for the shortest path.
enum Found {
    Way(Vec<Step>),
    /// Several that are alike.
    Several,
    None,
}

/// All links between two tables, in both directions.
fn between(links: &[Link], a: usize, b: usize) -> impl Iterator<Item = Step> {
    links.iter().filter_map(move |link| match (link.child.table, link.parent.table) {
        (child, parent) if (child, parent) == (a, b) => Some(Step { link: *link, up: true }),
        (child, parent) if (child, parent) == (b, a) => Some(Step { link: *link, up: false }),
        _ => None,
    })
}

/// The shortest path from any of some tables to another.
fn shortest(links: &[Link], from: &[usize], to: usize, tables: usize, alike: Alike) -> Found {
    let mut reached: Vec<Option<Reached>> = vec![None; tables];
    let mut queue = VecDeque::new();
    for &start in from {
        reached[start] = Some(Reached { steps: 0, downs: 0, ways: 1, last: None });
        queue.push_back(start);
    }
    while let Some(here) = queue.pop_front() {
        let known = reached[here].expect("what is queued was reached");
        for (next, reached) in reached.iter_mut().enumerate() {
            for step in between(links, here, next) {
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
                    Some(other) if other.steps == found.steps => other.take(found, alike),
                    Some(_) => {}
                }
            }
        }
    }
    let Some(Reached { mut last, ways, .. }) = reached[to] else { return Found::None };
    if ways > 1 {
        return Found::Several;
    }
    let mut way = Vec::new();
    while let Some(step) = last {
        way.push(step);
        last = reached[step.from()].and_then(|before| before.last);
    }
    way.reverse();
    Found::Way(way)
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
    use crate::schema::Reference;
    use crate::testing::{market, refer, shop};

    fn at(schema: &Schema, name: &str) -> usize {
        schema.tables.iter().position(|table| table.name == name).unwrap()
    }

    fn place(schema: &Schema, name: &str) -> Place {
        let (table, field) = name.split_once('.').unwrap();
        let table = at(schema, table);
        schema.places(table).find(|place| schema.field(*place).name == field).unwrap()
    }

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

    #[test]
    fn declared_keys_join_what_names_do_not() {
        let mut schema = market();
        let tables = schema.tables.len();
        let (client, ware) = (at(&schema, "client"), at(&schema, "ware"));
        let links = Links::of(&schema);
        let way = links.way(&[client], ware, tables).unwrap();
        let fields: Vec<String> = way.iter().map(|step| schema.full_name(step.link.child)).collect();
        assert_eq!(fields, ["sale.buyer", "sale.article"]);
        assert_eq!(links.parent_of(place(&schema, "sale.buyer")), Some(client));
        schema.references.clear();
        assert_eq!(Links::of(&schema).way(&[client], ware, tables), None);
    }

    #[test]
    fn a_declared_key_wins_over_the_guess_for_its_field() {
        let mut schema = shop();
        let field = place(&schema, "orders.customer_id");
        let (orders, customers) = (at(&schema, "orders"), at(&schema, "customers"));
        refer(&mut schema, "orders.customer_id", "products.id");
        let links = Links::of(&schema);
        assert_eq!(links.parent_of(field), Some(at(&schema, "products")));
        assert_eq!(links.direct(orders, customers), None);
        schema.references = vec![Reference { field, key: None }];
        assert_eq!(Links::of(&schema).parent_of(field), None);
        schema.references.clear();
        refer(&mut schema, "orders.customer_id", "customers.id");
        assert_eq!(Links::of(&schema).all, Links::of(&shop()).all);
    }

    #[test]
    fn fields_named_after_their_table_go_first() {
        let mut schema = shop();
        let (orders, customers) = (at(&schema, "orders"), at(&schema, "customers"));
        let guessed = Links::of(&schema).direct(orders, customers);
        refer(&mut schema, "orders.status", "customers.id");
        refer(&mut schema, "customers.city", "customers.id");
        let links = Links::of(&schema);
        assert_eq!(links.direct(orders, customers), guessed);
        assert!(links.is_child(place(&schema, "orders.status")));
        assert!(!links.is_child(place(&schema, "customers.city")));
        // As long as the way over the items.
        schema.references.clear();
        refer(&mut schema, "customers.city", "products.id");
        let way = Links::of(&schema).way(&[orders], at(&schema, "products"), schema.tables.len()).unwrap();
        assert!(way.iter().all(|step| step.link.child.table == at(&schema, "order_items")), "{way:?}");
    }

    #[test]
    fn two_fields_of_other_names_are_ambiguous() {
        let mut schema = market();
        refer(&mut schema, "sale.nr", "client.no");
        let links = Links::of(&schema);
        assert_eq!(links.direct(at(&schema, "sale"), at(&schema, "client")), None);
    }
}
