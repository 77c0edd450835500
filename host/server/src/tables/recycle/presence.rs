//! The state of a recycled table in its database: it may have been dropped there, or renamed back, outside Lakeport.

use lakeport_base::Error;
use lakeport_bindings::dialect::schema::{Table, TableName};

use crate::datasources::DatasourceClient;
use crate::tables::change::look;
use crate::tables::definitions::Record;
use crate::tables::{recycle, sources};

/// The kind of a table, unlike a view.
pub const TABLE: &str = "table";

pub struct PhysicalPresence {
    /// The database has the table under its name in the recycle bin.
    pub is_kept: bool,
    /// The table or view that has the original name.
    pub before: Option<Table>,
}

impl PhysicalPresence {
    pub async fn of(client: &DatasourceClient<'_>, record: &Record) -> Result<PhysicalPresence, Error> {
        let kept = sources::place(&record.definition);
        let before = TableName { name: recycle::old_name(record), ..kept.clone() };
        Ok(PhysicalPresence {
            is_kept: look(client, &kept).await?.is_some(),
            before: look(client, &before).await?,
        })
    }
}
