//! One attempt at a sync: databases, their tables page by page, their details batch by batch. It remembers
//! only the ids of the tables that it has seen.

use std::collections::HashSet;

use lakeport_base::Error;
use lakeport_base::failpoints;
use lakeport_bindings::dialect::schema::{ServerInfo, Table, TableName};
use lakeport_bindings::host::types::{Error as PluginError, Page};
use lakeport_store::Lease;

use super::retry::{is_lost, is_of_one_call, patiently, tries_of, tries_of_room};
use super::selection::Choice;
use super::store::{self, Errors, Sync};
use crate::datasources::limit;
use crate::datasources::{Datasource, DatasourceClient, Unanswered};
use crate::sync::Syncs;
use crate::tables::reconcile::{self, Counts, FoundTable, Snapshot};
use crate::tables::{self, SchemaSource as Source};

/// Tables of one page of names.
const PAGE_TABLES: u32 = 500;
/// Pages of one database: a dialect may return short or empty pages.
const PAGES_MAX: usize = 20_000;
/// Tables that are read at once and written in one transaction.
const BATCH_TABLES: usize = 50;
/// Texts of one batch after which it is written: databases may have great comments.
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// The most tables of a data source.
const TABLES_MAX: usize = 500_000;
/// Kinds of tables to sync. A view is not one: it stores no data.
const KINDS: [&str; 2] = ["table", "external"];
/// How often writing a batch is tried when other writers interfere.
const WRITES: u32 = 3;
/// The table of an error that is not about a single one.
const WHOLE: Option<String> = None;
const NONE_READ: &str = "no database of it can be read";

/// Why an attempt ended early.
#[derive(Debug)]
pub enum Stop {
    /// The data cannot be used: the sync has failed.
    Failed(String),
    /// The database or its dialect failed: likewise.
    Unanswered(Unanswered),
    /// The sync is no longer running.
    Ended,
    /// The server's own store failed: another attempt may succeed.
    Store(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Store(error)
    }
}

impl From<Unanswered> for Stop {
    fn from(error: Unanswered) -> Stop {
        Stop::Unanswered(error)
    }
}

/// Reads everything, and writes new, changed and missing tables. The errors are about single tables.
pub async fn read_in(
    state: &Syncs,
    source: &Datasource,
    sync: &Sync,
    lease: &Lease,
    errors: &mut Errors,
) -> Result<(), Stop> {
    let client = DatasourceClient::of(&state.datasources, source, &format!("sync-{}", sync.id));
    let server = patiently!(client.server(), tries_of_room)?;
    let databases = patiently!(client.databases(&server))?;
    let databases = databases.into_iter().map(|(name, _)| name).collect();
    let known = tables::databases_of(&state.db, source.id).await?;
    let choice = Choice::of(source, client.profile()?.transport, known);
    let databases = choice.among(databases, errors);
    let (seen, unread) = (HashSet::new(), HashSet::new());
    let mut reading = Reading { state, sync, lease, client, server, databases, seen, unread, errors };
    reading.count_tables().await?;
    let databases = std::mem::take(&mut reading.databases);
    for database in &databases {
        match reading.read_database(database).await {
            Err(Stop::Unanswered(error)) => reading.leave_out(database.clone(), error).await?,
            outcome => outcome?,
        }
    }
    if !databases.is_empty() && databases.iter().all(|database| reading.unread.contains(database)) {
        return Err(Stop::Failed(NONE_READ.to_owned()));
    }
    reading.find_missing().await
}

struct Reading<'r> {
    state: &'r Syncs,
    sync: &'r Sync,
    lease: &'r Lease,
    client: DatasourceClient<'r>,
    server: ServerInfo,
    databases: Vec<String>,
    /// Existing tables of the catalogue.
    seen: HashSet<i64>,
    /// Databases that could not be read.
    unread: HashSet<String>,
    errors: &'r mut Errors,
}

/// Iterates over the names of one database's tables.
struct Pages<'d> {
    database: &'d str,
    cursor: Option<String>,
    pages: usize,
    is_over: bool,
}

/// The result of inspecting some tables.
#[derive(Default)]
struct Batch {
    /// Names of tables that were asked for.
    read: Vec<String>,
    /// The texts of `found`.
    bytes: usize,
    found: Vec<FoundTable>,
    /// Names of tables that no longer exist, or are not tables.
    gone: HashSet<String>,
}

impl<'d> Pages<'d> {
    fn of(database: &'d str) -> Pages<'d> {
        Pages { database, cursor: None, pages: 0, is_over: false }
    }

    /// Names of tables to sync, including those that the catalogue cannot store.
    async fn next(&mut self, reading: &Reading<'_>) -> Result<Option<Vec<String>>, Unanswered> {
        if self.is_over {
            return Ok(None);
        }
        self.pages += 1;
        if self.pages > PAGES_MAX {
            return Err(limit(format!("the tables of {} have more than {PAGES_MAX} pages", self.database)));
        }
        let page = Page { cursor: self.cursor.take(), limit: PAGE_TABLES };
        let answer = patiently!(reading.client.tables(&reading.server, self.database, &page))?;
        self.is_over = answer.next.is_none();
        self.cursor = answer.next;
        let is_read = |kind: &str| KINDS.contains(&kind);
        let tables = answer.tables.into_iter().filter(|table| is_read(&table.kind));
        Ok(Some(tables.map(|table| table.name).collect()))
    }
}

impl Reading<'_> {
    /// Counts the tables, for the progress. Leaves out databases that cannot be read.
    async fn count_tables(&mut self) -> Result<(), Stop> {
        let mut total = 0;
        for database in std::mem::take(&mut self.databases) {
            match self.count_database(&database, total).await {
                Ok(count) => {
                    total += count;
                    self.databases.push(database);
                }
                Err(error) => self.leave_out(database, error).await?,
            }
        }
        if self.databases.is_empty() && !self.unread.is_empty() {
            return Err(Stop::Failed(NONE_READ.to_owned()));
        }
        let mut tx = self.state.db.begin().await?;
        tx.guard(self.lease).await?;
        if !store::begin(&mut tx, self.sync.id, total as i64).await? {
            return Err(Stop::Ended);
        }
        Ok(tx.commit().await?)
    }

    /// A database that cannot be read is skipped; if the whole server fails, so does the sync.
    async fn leave_out(&mut self, database: String, error: Unanswered) -> Result<(), Stop> {
        let is_of_one = is_of_one_call(&error)
            // A database that was just dropped gives the same error as a lost server.
            || (is_lost(&error) && patiently!(self.client.databases(&self.server)).is_ok());
        if !is_of_one {
            return Err(error.into());
        }
        let message = Error::from(error).message().to_owned();
        self.errors.add(WHOLE, &format!("the database {database} cannot be read: {message}"));
        self.unread.insert(database);
        Ok(())
    }

    async fn count_database(&self, database: &str, before: usize) -> Result<usize, Unanswered> {
        reconcile::check_name(database).map_err(|why| limit(format!("it {why}")))?;
        let (mut pages, mut count) = (Pages::of(database), 0);
        while let Some(names) = pages.next(self).await? {
            count += names.len();
            if before + count > TABLES_MAX {
                return Err(limit(format!("there are more than {TABLES_MAX} tables in all")));
            }
        }
        Ok(count)
    }

    async fn read_database(&mut self, database: &str) -> Result<(), Stop> {
        let mut pages = Pages::of(database);
        while let Some(names) = pages.next(self).await? {
            for names in names.chunks(BATCH_TABLES) {
                if self.seen.len() > TABLES_MAX {
                    return Err(limit(format!("there are more than {TABLES_MAX} tables in all")).into());
                }
                self.read_batch(database, names).await?;
            }
        }
        Ok(())
    }

    async fn read_batch(&mut self, database: &str, names: &[String]) -> Result<(), Stop> {
        let mut asked = Vec::new();
        for name in names {
            match reconcile::check_name(name) {
                Ok(()) => asked.push(TableName { database: database.to_owned(), name: name.clone() }),
                Err(why) => self.wrong(database, name, &format!("the table {why}")),
            }
        }
        // Those with a wrong name are done.
        let mut done = names.len() - asked.len();
        let mut left = vec![asked];
        loop {
            let began_ms = self.state.clock.now_ms();
            let batch = self.inspect(&mut left).await?;
            done += batch.read.len();
            self.write(database, batch, began_ms, done).await?;
            if left.is_empty() {
                return Ok(());
            }
            done = 0;
        }
    }

    async fn write(&mut self, database: &str, batch: Batch, began_ms: i64, done: usize) -> Result<(), Stop> {
        let listed: Vec<String> = batch.read.into_iter().filter(|name| !batch.gone.contains(name)).collect();
        let look = Snapshot {
            cluster_id: self.sync.datasource_id,
            database,
            listed: &listed,
            found: &batch.found,
            began_ms,
            source: Source::Sync,
        };
        for _ in 1..WRITES {
            match self.write_batch(&look, done).await {
                // Another writer was first: the second try sees its rows.
                Err(Stop::Store(error)) if error.code() == "name_taken" => {}
                outcome => return outcome,
            }
        }
        self.write_batch(&look, done).await
    }

    /// Inspects these tables, until the batch is large enough. A call that fails is repeated in halves, because a
    /// single table may be the cause.
    async fn inspect(&mut self, left: &mut Vec<Vec<TableName>>) -> Result<Batch, Stop> {
        let mut batch = Batch::default();
        while batch.bytes < BATCH_BYTES
            && let Some(mut some) = left.pop()
        {
            if some.is_empty() {
                continue;
            }
            match patiently!(self.client.inspect(&self.server, &some)) {
                Ok(answers) => {
                    let is_one = some.len() == 1;
                    for (table, answer) in some.into_iter().zip(answers) {
                        match answer {
                            Err(error) if error.code == "limit_exceeded" && !is_one => left.push(vec![table]),
                            answer => {
                                self.sort(&mut batch, &table, answer);
                                batch.read.push(table.name);
                            }
                        }
                    }
                }
                Err(error) if is_of_one_call(&error) => match some.as_slice() {
                    [table] => {
                        let message = Error::from(error).message().to_owned();
                        self.wrong(&table.database, &table.name, &message);
                        batch.read.push(table.name.clone());
                    }
                    _ => {
                        left.push(some.split_off(some.len() / 2));
                        left.push(some);
                    }
                },
                Err(error) => return Err(error.into()),
            }
        }
        Ok(batch)
    }

    fn sort(&mut self, batch: &mut Batch, table: &TableName, answer: Result<Table, PluginError>) {
        match answer {
            Ok(found) if !KINDS.contains(&found.kind.as_str()) => _ = batch.gone.insert(table.name.clone()),
            Ok(found) => match FoundTable::of(&found) {
                Ok(found) => {
                    batch.bytes += found.bytes();
                    batch.found.push(found);
                }
                Err(why) => self.wrong(&table.database, &table.name, &why),
            },
            Err(error) if error.code == "not_found" => _ = batch.gone.insert(table.name.clone()),
            Err(error) => self.wrong(&table.database, &table.name, &error.message),
        }
    }

    fn wrong(&mut self, database: &str, table: &str, message: &str) {
        let name: String = table.chars().filter(|&c| c != '\0').take(reconcile::NAME_MAX_CHARS).collect();
        self.errors.add(Some(format!("{database}.{name}")), message);
    }

    async fn write_batch(&mut self, look: &Snapshot<'_>, done: usize) -> Result<(), Stop> {
        let now_ms = self.state.clock.now_ms();
        let mut tx = self.state.db.begin().await?;
        tx.guard(self.lease).await?;
        let taken = reconcile::reconcile(&mut tx, look, now_ms).await?;
        let counted = (taken.tables, taken.fields);
        if !store::count(&mut tx, self.sync.id, done as i64, counted.0, counted.1, self.errors).await? {
            return Err(Stop::Ended);
        }
        tx.commit().await?;
        failpoints::reach("sync.batch_written");
        self.seen.extend(taken.seen);
        Ok(())
    }

    /// Tables of the catalogue that were not seen no longer exist.
    async fn find_missing(&mut self) -> Result<(), Stop> {
        let mut after_id = 0;
        loop {
            let (cluster, now_ms) = (self.sync.datasource_id, self.state.clock.now_ms());
            let began_ms = self.sync.started_at_ms;
            let mut tx = self.state.db.begin().await?;
            tx.guard(self.lease).await?;
            let looked = reconcile::mark_missing(
                &mut tx,
                cluster,
                after_id,
                &self.seen,
                &self.unread,
                began_ms,
                now_ms,
            )
            .await?;
            let Some(last) = looked.last else { return Ok(()) };
            let missing = Counts { missing: looked.missing, ..Counts::default() };
            if looked.missing > 0
                && !store::count(&mut tx, self.sync.id, 0, missing, Counts::default(), self.errors).await?
            {
                return Err(Stop::Ended);
            }
            tx.commit().await?;
            after_id = last;
        }
    }
}
