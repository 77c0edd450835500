//! The settings of one reading of a form, and what it notes.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use lakeport_base::text::shortened;

use super::error::FormError;
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
    /// Values that may still be read.
    values_left: Cell<usize>,
}

/// The most values that are read of a body.
pub const VALUES_MAX: usize = 400_000;

impl Reading {
    pub fn new(kind: Kind) -> Reading {
        let values_left = Cell::new(VALUES_MAX);
        Reading { kind, fillers: BTreeSet::new(), given: Given::default(), values_left }
    }

    /// Begins again, with the fillers that were found.
    pub fn restart(&mut self) {
        self.given = Given::default();
        self.values_left.set(VALUES_MAX);
    }

    /// Whether what is at `path` was wrong before.
    pub fn is_filled(&self, path: &Path<'_>) -> bool {
        !self.fillers.is_empty() && self.fillers.contains(&path.render())
    }

    /// Counts values that take more memory than their text.
    pub fn take_values(&self, count: usize) -> Result<(), FormError> {
        let left = self.values_left.get().checked_sub(count);
        let left =
            left.ok_or_else(|| FormError::new(format!("the body has more than {VALUES_MAX} values")))?;
        self.values_left.set(left);
        Ok(())
    }
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

    /// Notes a member that the form knows.
    pub fn note_known(&self, is_object: bool) {
        self.has_known.set(self.has_known.get() || !is_object);
    }

    /// Notes a member of an object at `path`, where the form knows others.
    pub fn note_unknown(&self, path: &Path<'_>, name: &str, known: &'static [&'static str]) {
        let mut unknown = self.unknown.borrow_mut();
        if unknown.len() < Given::UNKNOWN_MAX {
            unknown.push((path.member(&shortened(name, Given::NAME_MAX_CHARS)).render(), known));
        }
    }
}
