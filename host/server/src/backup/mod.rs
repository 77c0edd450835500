//! Backup and restore of either store: a backup of SQLite can be restored to PostgreSQL, and vice versa.
//! Servers may write meanwhile. [`format`] is the file's format, [`lakeport_store::dump`] reads and writes
//! the rows.

pub mod atomic_file;
pub mod format;

use std::io::{Read, Seek, Write};

use anyhow::{Context, bail, ensure};
use lakeport_store::dump::{Load, Snapshot};
use lakeport_store::{Db, newest_version};

use format::{Entry, Header, Reader, Summary, TableLine, Writer};

/// Between two progress lines about one large table.
const ROWS_PER_LINE: u64 = 100_000;

/// Writes a consistent snapshot of the complete store; returns the underlying writer. `say` receives progress
/// lines.
pub async fn write<W: Write>(db: &Db, out: W, say: &mut dyn FnMut(String)) -> anyhow::Result<(W, Summary)> {
    let mut snapshot = Snapshot::begin(db).await?;
    let mut writer = Writer::new(out, Header::new(snapshot.schema(), db.product()))?;
    for table in snapshot.tables() {
        let columns = table.columns.iter().map(|column| column.name.clone()).collect();
        let last_number = snapshot.last_number(&table).await?;
        writer.table(TableLine { table: table.name.clone(), columns, last_number })?;
        let mut rows = 0;
        let write = |values: Vec<_>| {
            rows = writer.row(&values)?;
            if rows % ROWS_PER_LINE == 0 {
                say(format!("{}: {rows} rows so far", table.name));
            }
            Ok(())
        };
        snapshot
            .each_row(&table, write)
            .await
            .with_context(|| format!("the table {} cannot be written", table.name))?;
        say(format!("{}: {rows} rows", table.name));
    }
    snapshot.end().await?;
    writer.finish().map_err(Into::into)
}

/// Reads a backup completely and changes nothing; fails if it is damaged or not a backup.
pub fn check(file: impl Read) -> anyhow::Result<Summary> {
    let mut reader = Reader::open(file)?;
    let product = reader.header.product.clone();
    ensure!(
        reader.header.schema <= newest_version(),
        "the backup is of the schema's version {}, newer than this program's {}: restore it with Lakeport \
         {product} or newer",
        reader.header.schema,
        newest_version()
    );
    loop {
        match reader.entry().context("the backup is damaged")? {
            Entry::Table(_) | Entry::Row(_) => {}
            Entry::End(summary) => return Ok(summary),
        }
    }
}

/// Fills an empty store from a backup, all or nothing, and migrates its schema to this version of the
/// program.
pub async fn restore<F>(db: &Db, mut file: F, say: &mut dyn FnMut(String)) -> anyhow::Result<Summary>
where
    F: Read + Seek,
{
    let checked = check(&mut file).context("nothing was changed")?;
    say(format!(
        "the backup is whole: Lakeport {}, {}, {}, {} rows",
        checked.header.product,
        checked.header.store,
        checked.header.at,
        checked.rows()
    ));
    file.rewind()?;
    let load = Load::begin(db, checked.header.schema).await?;
    fill(load, file, &checked, say).await.context("nothing was changed")?;
    db.migrate().await.context("all rows are there, but the schema cannot be brought to this version")?;
    Ok(checked)
}

async fn fill(
    mut load: Load,
    file: impl Read,
    checked: &Summary,
    say: &mut dyn FnMut(String),
) -> anyhow::Result<()> {
    let mut reader = Reader::open(file)?;
    let mut table = String::new();
    let mut rows = 0_u64;
    loop {
        match reader.entry()? {
            Entry::Table(line) => {
                load.table(&line.table, &line.columns, line.last_number).await?;
                say(format!("{}: {} rows", line.table, checked.tables.get(&line.table).unwrap_or(&0)));
                (table, rows) = (line.table, 0);
            }
            Entry::Row(values) => {
                load.row(values).await?;
                rows += 1;
                if rows.is_multiple_of(ROWS_PER_LINE) {
                    say(format!("{table}: {rows} rows so far"));
                }
            }
            Entry::End(summary) if summary == *checked => break,
            Entry::End(_) => bail!("the backup was changed while it was read"),
        }
    }
    load.commit().await
}

#[cfg(test)]
mod tests;
