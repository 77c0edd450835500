//! A schema with derived data: its names and relations. Built once for all questions.

use crate::joins::Links;
use crate::schema::Schema;
use crate::understand::names::Names;

pub struct Known<'s> {
    pub schema: &'s Schema,
    pub names: Names,
    pub links: Links,
}

impl<'s> Known<'s> {
    pub fn of(schema: &'s Schema) -> Known<'s> {
        Known { schema, names: Names::of(schema), links: Links::of(schema) }
    }

    /// The same, with the tags of tables as names.
    pub fn with_tags(schema: &'s Schema) -> Known<'s> {
        Known { names: Names::with_tags(schema), ..Known::of(schema) }
    }
}
