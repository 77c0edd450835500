//! A schema with what follows from it: its names, and how its tables hang together. Made once for all that is asked.

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
}
