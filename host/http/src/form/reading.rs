//! The settings of one reading of a form, and what it notes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use lakeport_base::text::shortened;

use super::path::Path;

/// Whether scalars are JSON's own or texts to be parsed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Json,
    Query,
}

/// One reading.
pub struct Reading {
    pub kind: Kind,
    /// Paths that were found wrong, and are filled in.
    pub fillers: BTreeSet<String>,
    pub given: Given,
}

/// The members of the form that were given.
#[derive(Default)]
pub struct Given {
    /// The form knows one of them, other than an object that has none itself.
    pub has_known: Cell<bool>,
    /// Paths that the form does not know, each with the members that it knows there.
    pub unknown: RefCell<Vec<(String, &'static [&'static str])>>,
}

impl Given {
    /// The most unknown members that are noted, and the characters of each name.
    const UNKNOWN_MAX: usize = 20;
    const NAME_MAX_CHARS: usize = 64;

    /// Notes one member of an object.
    pub fn note(&self, path: &Path<'_>, name: &str, is_object: bool, known: &'static [&'static str]) {
        if known.contains(&name) {
            self.has_known.set(self.has_known.get() || !is_object);
            return;
        }
        let mut unknown = self.unknown.borrow_mut();
        if unknown.len() < Given::UNKNOWN_MAX {
            unknown.push((path.member(&shortened(name, Given::NAME_MAX_CHARS)).render(), known));
        }
    }
}
