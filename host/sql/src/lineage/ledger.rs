//! Records what the statements of a text do to tables, in order, and computes the overall result.

use std::collections::{HashMap, HashSet};

use sqlparser::ast::Ident;

use super::Name;
use super::dialect::{Case, Reading};
use super::walk::Effect;

/// The identity of a table: the parts of its name, folded by the dialect's rule.
type Key = Vec<String>;

/// The ledger of one text.
pub(super) struct Ledger {
    case: Case,
    /// The database of the last `USE`.
    used: Option<String>,
    inputs: Tables,
    outputs: Tables,
    /// Tables that the text has filled; reading them later is no input.
    filled: HashSet<Key>,
    /// Tables that end with the session.
    temporary: HashSet<Key>,
    /// Names that the text creates at any point.
    made: HashSet<Key>,
    /// Tables that it drops.
    dropped: Tables,
}

/// The overall result of a text.
pub(super) struct Closed {
    pub inputs: Vec<Name>,
    pub outputs: Vec<Name>,
    /// Tables that existed before the text and not after it.
    pub dropped: Vec<Name>,
}

/// Tables in order of appearance.
#[derive(Default)]
struct Tables {
    places: HashMap<Key, usize>,
    names: Vec<Option<Name>>,
}

impl Tables {
    fn add(&mut self, key: &Key, name: Name) {
        if !self.places.contains_key(key) {
            self.places.insert(key.clone(), self.names.len());
            self.names.push(Some(name));
        }
    }

    /// Whether it was present.
    fn remove(&mut self, key: &Key) -> bool {
        let place = self.places.remove(key);
        place.is_some_and(|place| self.names[place].take().is_some())
    }

    fn into_names(self) -> Vec<Name> {
        self.names.into_iter().flatten().collect()
    }
}

impl Ledger {
    pub fn new(reading: Reading) -> Ledger {
        Ledger {
            case: reading.case,
            used: None,
            inputs: Tables::default(),
            outputs: Tables::default(),
            filled: HashSet::new(),
            temporary: HashSet::new(),
            made: HashSet::new(),
            dropped: Tables::default(),
        }
    }

    pub fn close(mut self) -> Closed {
        for key in &self.made {
            self.dropped.remove(key);
        }
        Closed {
            inputs: self.inputs.into_names(),
            outputs: self.outputs.into_names(),
            dropped: self.dropped.into_names(),
        }
    }

    pub fn enter(&mut self, effect: &Effect) {
        match effect {
            Effect::Use(database) => self.used = Some(database.value.clone()),
            Effect::Read(table) => self.read(table),
            Effect::Fill(table) => {
                let (key, name) = self.name(table);
                self.outputs.add(&key, name);
                self.filled.insert(key);
            }
            Effect::Change(table) => {
                let (key, name) = self.name(table);
                self.outputs.add(&key, name);
            }
            Effect::Make(table) => {
                let (key, _) = self.name(table);
                self.made.insert(key);
            }
            Effect::Temporary(table) => {
                let (key, _) = self.name(table);
                self.temporary.insert(key);
            }
            Effect::Drop(table) => {
                let (key, name) = self.name(table);
                self.outputs.remove(&key);
                self.filled.remove(&key);
                self.temporary.remove(&key);
                if !is_temporary_by_name(&name) {
                    self.dropped.add(&key, name);
                }
            }
            Effect::Rename(from, to) => self.rename(from, to),
            Effect::Swap(one, other) => {
                // Under a name that no table can have.
                let aside = vec![Ident::new("")];
                self.rename(one, &aside);
                self.rename(other, one);
                self.rename(&aside, other);
            }
        }
    }

    fn read(&mut self, table: &[Ident]) {
        let (key, name) = self.name(table);
        let is_temporary = self.temporary.contains(&key) || is_temporary_by_name(&name);
        if is_temporary {
            self.outputs.remove(&key);
        } else if !self.filled.contains(&key) {
            self.inputs.add(&key, name);
        }
    }

    /// The text's knowledge of one name moves to the other.
    fn rename(&mut self, from: &[Ident], to: &[Ident]) {
        let ((old, _), (new, name)) = (self.name(from), self.name(to));
        if self.outputs.remove(&old) {
            self.outputs.add(&new, name);
        }
        for known in [&mut self.filled, &mut self.temporary] {
            if known.remove(&old) {
                known.insert(new.clone());
            }
        }
        self.made.insert(new);
    }

    fn name(&self, parts: &[Ident]) -> (Key, Name) {
        let dotted =
            |parts: &[Ident]| parts.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".");
        let (table, outer) = parts.split_last().expect("a name has a part");
        let (schema, catalog) = match outer.split_last() {
            Some((schema, catalog)) => (Some(schema.value.clone()), catalog),
            None => (self.used.clone(), outer),
        };
        let used = self.used.as_ref().filter(|_| outer.is_empty());
        let key = used.into_iter().map(|used| self.folded(used, false));
        let key = key.chain(parts.iter().map(|part| self.folded(&part.value, part.quote_style.is_some())));
        let name = Name {
            catalog: Some(dotted(catalog)).filter(|catalog| !catalog.is_empty()),
            schema,
            table: table.value.clone(),
            written: dotted(parts),
        };
        (key.collect(), name)
    }

    fn folded(&self, part: &str, is_quoted: bool) -> String {
        match self.case {
            Case::Kept => part.to_owned(),
            Case::KeptInQuotes if is_quoted => part.to_owned(),
            Case::KeptInQuotes | Case::Ignored => part.to_lowercase(),
        }
    }
}

/// T-SQL's temporary tables.
fn is_temporary_by_name(name: &Name) -> bool {
    name.table.starts_with('#')
}
