//! What a database has of a table in the recycle bin: somebody may have dropped it there, or given it its old name
//! back.

use lakeport_base::Error;
use lakeport_bindings::dialect::schema::{Table, TableName};

use crate::datasources::{Datasource, Reach};
use crate::tables::Tables;
use crate::tables::definitions::Record;
use crate::tables::physical::look;
use crate::tables::{recycle, sources};

/// The kind of what is a table, and no view.
pub const TABLE: &str = "table";

pub struct There {
    /// It is there under the name that the bin gave it.
    pub is_kept: bool,
    /// What has its old name.
    pub before: Option<Table>,
}

/// The database as it is asked whether a table is there.
pub fn reach_of<'a>(state: &'a Tables, source: &Datasource, call: &str) -> Reach<'a> {
    Reach::of_main(&state.datasources, source, call)
}

impl There {
    pub async fn of(reach: &Reach<'_>, record: &Record) -> Result<There, Error> {
        let kept = sources::place(&record.definition);
        let before = TableName { name: recycle::old_name(record), ..kept.clone() };
        Ok(There { is_kept: look(reach, &kept).await?.is_some(), before: look(reach, &before).await? })
    }
}
