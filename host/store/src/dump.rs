//! Exports and imports all rows of the store: a consistent snapshot, read row by row, and a load that is kept
//! completely or not at all. [`crate::backup`] has the file format.
//!
//! Leases are excluded: they name servers that will not exist after the import. So is what is made from other rows.

use anyhow::{Context, bail, ensure};
use futures_util::TryStreamExt;
use lakeport_base::Error;

use super::tables::{Column, Table, has_forward_references};
use super::{Begun, Db, Either, Migration, Store, Tx, Value, migrate, postgres};

/// Tables whose rows are meaningless elsewhere, or are made again from other rows.
const LEFT_OUT: [&str; 3] = ["leases", "execution_blocks", "execution_block_changes"];
/// Rows of one insert statement of a load; fewer if they are large.
const ROWS_PER_INSERT: usize = 200;
const BYTES_PER_INSERT: usize = 4 * 1024 * 1024;
/// SQLite's own limit is 32,766.
const VALUES_PER_INSERT: usize = 30_000;
/// On PostgreSQL: reading and writing a large table may take long.
const PATIENCE: &str =
    "SET LOCAL statement_timeout = '6h'; SET LOCAL idle_in_transaction_session_timeout = '10min'";

/// A consistent state of the store, while others keep writing.
pub struct Snapshot {
    reader: Begun,
    schema: i64,
    tables: Vec<Table>,
}

impl Snapshot {
    /// Fails if the store has no schema, or one that is newer than this program.
    pub async fn begin(db: &Db) -> anyhow::Result<Snapshot> {
        let version = db.schema_version().await?;
        ensure!(version.stored > 0, "there is nothing to back up: the store is empty");
        ensure!(
            version.stored <= version.program,
            "the store's schema is at version {}, newer than this program's {}; back up with the newer Lakeport",
            version.stored,
            version.program
        );
        let mut reader = begin(db).await?;
        let rows = reader.fetch("SELECT max(version) FROM schema_migrations", &[]).await?;
        let mut tables = reader.tables().await?;
        tables.retain(|table| !LEFT_OUT.contains(&table.name.as_str()));
        Ok(Snapshot { reader, schema: rows[0].get(0)?, tables })
    }

    pub fn schema(&self) -> i64 {
        self.schema
    }

    /// In the order in which they can be loaded.
    pub fn tables(&self) -> Vec<Table> {
        self.tables.clone()
    }

    /// The last id that the store assigned in this table, even if its row was deleted.
    pub async fn last_number(&mut self, table: &Table) -> Result<Option<i64>, Error> {
        const SQLITE: &str = "SELECT seq FROM sqlite_sequence WHERE name = $1";
        const POSTGRES: &str = "SELECT last_value FROM pg_sequences WHERE \
            to_regclass(quote_ident(schemaname) || '.' || quote_ident(sequencename)) = \
            to_regclass(pg_get_serial_sequence(quote_ident($1), $2))";
        let Some(column) = table.numbered() else { return Ok(None) };
        let (name, column) = (Value::from(&*table.name), Value::from(&*column.name));
        let rows = match &self.reader {
            Begun::Sqlite(_) => self.reader.fetch(SQLITE, &[name]).await?,
            Begun::Postgres(_) => self.reader.fetch(POSTGRES, &[name, column]).await?,
        };
        rows.first().map_or(Ok(None), |row| row.get(0))
    }

    /// Calls it with each row, ordered by the key. Few rows are in memory, however large the table.
    pub async fn each_row(
        &mut self,
        table: &Table,
        mut take: impl FnMut(Vec<Value>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        match &mut self.reader {
            Begun::Sqlite(reader) => reader.each_row(table.select(), take).await?,
            Begun::Postgres(reader) => {
                let mut rows = postgres::bind(table.select(), &[]).fetch(reader.connection()?);
                while let Some(row) = rows.try_next().await? {
                    take(postgres::decode(&row, &postgres::kinds(&row)?)?)?;
                }
            }
        }
        Ok(())
    }

    pub async fn end(self) -> anyhow::Result<()> {
        match self.reader {
            Begun::Sqlite(reader) => drop(reader),
            Begun::Postgres(reader) => reader.end(),
        }
        Ok(())
    }
}

async fn begin(db: &Db) -> Result<Begun, Error> {
    Ok(match &db.store {
        // Not one of the readers, which others need meanwhile.
        Store::Sqlite { readers, .. } => Begun::Sqlite(readers.apart().snapshot().await?),
        Store::Postgres(postgres) => {
            let mut reader = postgres.connections.begin(postgres::SNAPSHOT).await?;
            sqlx::raw_sql(PATIENCE).execute(reader.connection()?).await?;
            Begun::Postgres(reader)
        }
    })
}

/// Rows to load into an empty store, in one transaction: dropped without [`Load::commit`], the store stays
/// empty.
pub struct Load {
    tx: Tx,
    is_shared: bool,
    tables: Vec<Table>,
    filling: Option<Filling>,
}

/// The current table.
struct Filling {
    table: Table,
    columns: Vec<Column>,
    /// Values of pending rows, one row after the other.
    waiting: Vec<Value>,
    waiting_bytes: usize,
    last_number: Option<i64>,
}

impl Load {
    /// Brings the schema of an empty store to this version.
    pub async fn begin(db: &Db, schema: i64) -> anyhow::Result<Load> {
        Load::begin_with(db, schema, migrate::MIGRATIONS).await
    }

    /// The same with the caller's migrations.
    pub async fn begin_with(db: &Db, schema: i64, migrations: &[Migration]) -> anyhow::Result<Load> {
        let mut tx = migrate::begin(db).await?;
        let history = tx.query("SELECT version FROM schema_migrations", &[]).await?;
        if !history.is_empty() || !tx.transaction.tables().await?.is_empty() {
            bail!("{}", db.words(NOT_EMPTY));
        }
        if db.is_shared() {
            tx.batch(PATIENCE).await?;
        }
        for migration in migrations.iter().filter(|migration| migration.version <= schema) {
            migrate::step(&mut tx, migration).await?;
        }
        let tables = tx.transaction.tables().await?;
        // The rows include what the migrations inserted.
        for table in tables.iter().rev() {
            tx.transaction.execute(table.delete(), &[]).await?;
        }
        tx.batch(tx.words(if has_forward_references(&tables) { CHECK_LATE } else { CHECK_AT_ONCE })).await?;
        Ok(Load { tx, is_shared: db.is_shared(), tables, filling: None })
    }

    /// Starts the rows of this table with these columns.
    pub async fn table(
        &mut self,
        name: &str,
        columns: &[String],
        last_number: Option<i64>,
    ) -> anyhow::Result<()> {
        self.finish_table().await?;
        let Some(table) = self.tables.iter().find(|table| table.name == name).cloned() else {
            bail!("there is no table {name} in a store of this version");
        };
        let column = |name: &String| {
            let column = table.column(name).cloned();
            column.with_context(|| format!("the table {} has no column {name} in this version", table.name))
        };
        let columns = columns.iter().map(column).collect::<anyhow::Result<Vec<_>>>()?;
        self.filling = Some(Filling { table, columns, waiting: Vec::new(), waiting_bytes: 0, last_number });
        Ok(())
    }

    pub async fn row(&mut self, values: Vec<Value>) -> anyhow::Result<()> {
        let filling = self.filling.as_mut().context("a row stands before any table")?;
        ensure!(
            values.len() == filling.columns.len(),
            "a row of {} has {} values, not {}",
            filling.table.name,
            values.len(),
            filling.columns.len()
        );
        for (value, column) in values.into_iter().zip(&filling.columns) {
            filling.waiting_bytes += value.size();
            filling.waiting.push(if self.is_shared { fitted(value, column) } else { value });
        }
        if filling.is_full() {
            self.flush().await?;
        }
        Ok(())
    }

    /// Commits all rows.
    pub async fn commit(mut self) -> anyhow::Result<()> {
        self.finish_table().await?;
        if has_forward_references(&self.tables) {
            self.tx.batch(self.tx.words(CHECKED)).await.context("a row refers to one that is not there")?;
        }
        self.tx.commit().await.map_err(Into::into)
    }

    async fn finish_table(&mut self) -> anyhow::Result<()> {
        self.flush().await?;
        let Some(Filling { table, last_number: Some(last), .. }) = self.filling.take() else {
            return Ok(());
        };
        let Some(column) = table.numbered() else { return Ok(()) };
        let (name, column) = (Value::from(&*table.name), Value::from(&*column.name));
        if self.is_shared {
            const SET: &str = "SELECT setval(pg_get_serial_sequence(quote_ident($1), $2), $3)";
            self.tx.query(SET, &[name, column, last.into()]).await?;
        } else {
            // It has no key for ON CONFLICT.
            const CLEAR: &str = "DELETE FROM sqlite_sequence WHERE name = $1";
            const SET: &str = "INSERT INTO sqlite_sequence (name, seq) VALUES ($1, $2)";
            self.tx.execute(CLEAR, std::slice::from_ref(&name)).await?;
            self.tx.execute(SET, &[name, last.into()]).await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> anyhow::Result<()> {
        let Some(filling) = self.filling.as_mut().filter(|filling| !filling.waiting.is_empty()) else {
            return Ok(());
        };
        let rows = filling.waiting.len() / filling.columns.len();
        let insert = filling.table.insert(&filling.columns, rows, self.is_shared);
        let written = self.tx.transaction.execute(insert, &filling.waiting).await;
        written.with_context(|| format!("a row of {} is not taken", filling.table.name))?;
        filling.waiting.clear();
        filling.waiting_bytes = 0;
        Ok(())
    }
}

impl Filling {
    fn is_full(&self) -> bool {
        self.waiting.len() >= ROWS_PER_INSERT * self.columns.len()
            || self.waiting.len() + self.columns.len() > VALUES_PER_INSERT
            || self.waiting_bytes >= BYTES_PER_INSERT
    }
}

const NOT_EMPTY: Either = Either {
    sqlite: "the store is not empty, and a backup is never mixed with what is there: name another folder with \
        --data-dir, or, if nothing in this store is needed any more, move its file away first, with the files \
        beside it that end in -wal and -shm",
    postgres: "the store is not empty, and a backup is never mixed with what is there: make a new database and name \
        it with --database-url",
};

/// SQLite counts open references and checks them at the commit.
const CHECK_AT_ONCE: Either = Either { sqlite: "PRAGMA defer_foreign_keys = ON", postgres: "SELECT 1" };
const CHECK_LATE: Either = Either {
    sqlite: "PRAGMA defer_foreign_keys = ON",
    postgres: "DO $$ DECLARE r record; BEGIN \
        FOR r IN SELECT f.conrelid::regclass AS owner, f.conname FROM pg_constraint f JOIN pg_namespace n \
            ON n.oid = f.connamespace AND n.nspname = current_schema() WHERE f.contype = 'f' LOOP \
        EXECUTE format('ALTER TABLE %s ALTER CONSTRAINT %I DEFERRABLE INITIALLY DEFERRED', r.owner, r.conname); \
        END LOOP; END $$",
};
const CHECKED: Either = Either {
    sqlite: "SELECT 1",
    postgres: "SET CONSTRAINTS ALL IMMEDIATE; DO $$ DECLARE r record; BEGIN \
        FOR r IN SELECT f.conrelid::regclass AS owner, f.conname FROM pg_constraint f JOIN pg_namespace n \
            ON n.oid = f.connamespace AND n.nspname = current_schema() WHERE f.contype = 'f' LOOP \
        EXECUTE format('ALTER TABLE %s ALTER CONSTRAINT %I NOT DEFERRABLE', r.owner, r.conname); \
        END LOOP; END $$",
};

/// Converts a value to the column's type.
fn fitted(value: Value, column: &Column) -> Value {
    match value {
        Value::Int(number @ (0 | 1)) if column.is_bool => Value::Bool(number == 1),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::on_each_store;

    #[tokio::test]
    async fn a_snapshot_stays_at_its_moment_while_others_write() {
        const INSERT: &str =
            "INSERT INTO plugin_activations (family, name, action, at) VALUES ('f', 'n', 'a', $1)";
        on_each_store(async |db| {
            db.execute(INSERT, &[1.into()]).await.unwrap();
            let mut snapshot = Snapshot::begin(&db).await.unwrap();
            db.execute(INSERT, &[2.into()]).await.unwrap();
            let tables = snapshot.tables();
            let table = tables.iter().find(|table| table.name == "plugin_activations").unwrap();
            let mut seen = Vec::new();
            let take = |values: Vec<Value>| {
                seen.push(values.last().cloned());
                Ok(())
            };
            snapshot.each_row(table, take).await.unwrap();
            snapshot.end().await.unwrap();
            assert_eq!(seen, [Some(Value::Int(1))]);
        })
        .await;
    }
}
