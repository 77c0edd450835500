//! What a database has of a table in the recycle bin: somebody may have dropped it there, or given it its old name
//! back.

use lakeport_base::Error;
use lakeport_bindings::dialect::schema::{Table, TableName};

use crate::datasources::DatasourceClient;
use crate::tables::change::look;
use crate::tables::definitions::Record;
use crate::tables::{recycle, sources};

/// The kind of what is a table, and no view.
pub const TABLE: &str = "table";

pub struct PhysicalPresence {
    /// It is there under the name that the bin gave it.
    pub is_kept: bool,
    /// What has its old name.
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
