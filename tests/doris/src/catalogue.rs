//! The server's state in memory: databases, tables, jobs.

use std::collections::BTreeMap;

use crate::parse::Syntax;
use crate::query::Value;
use crate::{Settings, refused};

/// The emulated product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Product {
    Doris,
    StarRocks,
}

/// The parts of the grammar that differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grammar {
    pub product: Product,
    /// Whether an older parser reads `ALTER TABLE`, to which every text is an ordinary literal: Doris before
    /// 4.0.
    pub older_alter: bool,
    /// The property that a VARIANT gets by default; 0: none.
    pub variant_subcolumns: u32,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: String,
    /// As `DESC` shows it.
    pub type_text: String,
    pub nullable: bool,
    pub key: bool,
    pub default: Option<String>,
    /// `ON UPDATE CURRENT_TIMESTAMP`.
    pub stamped: bool,
    pub comment: String,
}

/// The kind of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum TableKind {
    Table,
    /// A view with its query.
    View(String),
    /// An asynchronous materialized view, which the catalogue hardly distinguishes from a table.
    Materialized,
}

/// How a table is partitioned.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionBy {
    /// As `SHOW CREATE TABLE` writes it.
    pub clause: String,
    pub column: String,
    /// `month`; `None`: a partition has one value.
    pub unit: Option<String>,
}

/// A partition that is there.
#[derive(Clone, Debug, PartialEq)]
pub struct Partition {
    pub name: String,
    /// `VALUES …` as `SHOW CREATE TABLE` writes it; empty: the only one of a table without partitions.
    pub values: String,
    pub buckets: u32,
    pub replicas: u32,
}

/// Buckets of a partition where the server chooses.
const BUCKETS_CHOSEN: u32 = 10;

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub kind: TableKind,
    pub columns: Vec<Column>,
    /// `DUPLICATE`, `UNIQUE`, `PRIMARY`.
    pub model: String,
    pub comment: String,
    /// `None`: not partitioned.
    pub partition: Option<PartitionBy>,
    /// Those that are there.
    pub partitions: Vec<Partition>,
    /// Columns; empty: random.
    pub distribution: Vec<String>,
    /// `None`: chosen by the server.
    pub buckets: Option<u32>,
    /// For new partitions, if the server chose and a number was set later.
    pub new_buckets: Option<u32>,
    /// For future partitions.
    pub default_replicas: u32,
    /// The other properties, as given.
    pub properties: Vec<(String, String)>,
    /// Transactions that are committed but not yet visible.
    pub committed: u64,
    pub rows: u64,
    pub bytes: u64,
}

impl Table {
    /// Without partitions, rows and properties.
    pub fn new(kind: TableKind, columns: Vec<Column>, model: &str, default_replicas: u32) -> Table {
        Table {
            kind,
            columns,
            model: model.to_owned(),
            comment: String::new(),
            partition: None,
            partitions: Vec::new(),
            distribution: Vec::new(),
            buckets: None,
            new_buckets: None,
            default_replicas,
            properties: Vec::new(),
            committed: 0,
            rows: 0,
            bytes: 0,
        }
    }

    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name))
    }

    pub fn has_property(&self, wanted: &str) -> bool {
        self.properties.iter().any(|(name, _)| name == wanted)
    }

    /// A partition, made now.
    pub fn make_partition(&mut self, name: String, values: String) {
        let buckets = self.new_buckets.or(self.buckets).unwrap_or(BUCKETS_CHOSEN);
        let replicas = self.default_replicas;
        self.partitions.push(Partition { name, values, buckets, replicas });
    }

    /// The replicas of the existing partitions if they are equal, otherwise of future ones.
    fn replicas(&self) -> Option<u32> {
        let first = self.partitions.first().map_or(self.default_replicas, |one| one.replicas);
        self.partitions.iter().all(|one| one.replicas == first).then_some(first)
    }

    /// Whether rows replace rows when they are read, which the value columns then show.
    pub fn merges_on_read(&self) -> bool {
        let off = |(name, value): &(String, String)| name == MERGE_ON_WRITE && value == "false";
        self.model == "UNIQUE" && self.properties.iter().any(off)
    }

    /// The contract's tests look at this.
    pub fn to_json(&self) -> serde_json::Value {
        let columns: Vec<_> = self
            .columns
            .iter()
            .map(|column| {
                serde_json::json!({
                    "name": column.name, "type": column.type_text, "nullable": column.nullable, "key": column.key,
                    "default": column.default, "stamped": column.stamped, "comment": column.comment,
                })
            })
            .collect();
        serde_json::json!({
            "columns": columns, "model": self.model, "comment": self.comment,
            "partition": self.partition.as_ref().map(|by| &by.column), "distribution": self.distribution,
            "buckets": self.buckets, "newBuckets": self.new_buckets,
            "defaultReplicas": self.default_replicas, "replicas": self.replicas(),
        })
    }
}

const MERGE_ON_WRITE: &str = "enable_unique_key_merge_on_write";

/// The first version in which Doris reads `ALTER TABLE` like `CREATE TABLE`.
const ONE_PARSER: (u32, u32) = (4, 0);
/// The first version in which a VARIANT has properties by default, and the number in them.
const VARIANT_PROPERTIES: ((u32, u32), u32) = ((4, 0), 2_048);
/// Jobs that are created within the same second.
const JOBS_A_SECOND: u64 = 100;

/// States of a job, in order.
pub const STATES: [&str; 4] = ["PENDING", "WAITING_TXN", "RUNNING", "FINISHED"];

/// An asynchronous change.
#[derive(Clone, Debug)]
pub struct Job {
    pub id: u64,
    pub database: String,
    pub table: String,
    /// `COLUMN` or `OPTIMIZE`.
    pub kind: &'static str,
    pub state: String,
    pub message: String,
    /// The table after the job.
    pub after: Option<Table>,
    pub created_s: u64,
    /// Whether it was shown once in its state.
    pub shown: bool,
}

impl Job {
    pub fn is_open(&self) -> bool {
        !matches!(self.state.as_str(), "FINISHED" | "CANCELLED")
    }
}

/// Everything.
pub struct Catalogue {
    pub product: Product,
    pub version: String,
    /// Whether information_schema has the columns of the newest versions.
    pub new_catalogue: bool,
    pub cloud: bool,
    pub backends: u32,
    pub databases: BTreeMap<String, BTreeMap<String, Table>>,
    /// Tables that were dropped without FORCE.
    pub recycled: Vec<(String, String, Table)>,
    pub jobs: Vec<Job>,
    /// Rows of the audit log, in the order of its columns.
    pub audit: Vec<Vec<Value>>,
    next_job: u64,
}

impl Catalogue {
    pub fn new(settings: Settings) -> Catalogue {
        let Settings { product, version, new_catalogue, cloud } = settings;
        let databases = ["information_schema", "__internal_schema", "mysql", "ods", "dwd"];
        Catalogue {
            product,
            version,
            new_catalogue,
            cloud,
            backends: 3,
            databases: databases.iter().map(|name| ((*name).to_owned(), BTreeMap::new())).collect(),
            recycled: Vec::new(),
            jobs: Vec::new(),
            audit: Vec::new(),
            next_job: 10_000,
        }
    }

    pub fn grammar(&self) -> Grammar {
        let mut numbers = self.version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        let doris = self.product == Product::Doris;
        let (first, subcolumns) = VARIANT_PROPERTIES;
        Grammar {
            product: self.product,
            older_alter: doris && version < ONE_PARSER,
            variant_subcolumns: if doris && version >= first { subcolumns } else { 0 },
        }
    }

    /// A table named by a statement or SHOW.
    pub fn table(&self, database: &str, table: &str) -> Result<&Table, Syntax> {
        let code = match self.product {
            Product::Doris => 1051,
            Product::StarRocks => 5502,
        };
        let unknown = || (code, format!("errCode = 2, detailMessage = Unknown table '{table}'"));
        self.tables(database)?.get(table).ok_or_else(unknown)
    }

    /// A table that a statement changes: views and materialized views have statements of their own.
    pub fn changed(&self, database: &str, name: &str) -> Result<&Table, Syntax> {
        let table = self.table(database, name)?;
        match table.kind {
            TableKind::Table => Ok(table),
            TableKind::View(_) => Err(refused(format!("Do not support alter VIEW table[{name}]"))),
            TableKind::Materialized => {
                Err(refused(format!("Do not support alter MATERIALIZED_VIEW table[{name}]")))
            }
        }
    }

    /// A table named by a query.
    pub fn queried(&self, database: &str, table: &str) -> Result<&Table, Syntax> {
        let unknown = || refused(format!("Table [{table}] does not exist in database [{database}]."));
        self.tables(database)?.get(table).ok_or_else(unknown)
    }

    fn tables(&self, database: &str) -> Result<&BTreeMap<String, Table>, Syntax> {
        let unknown = || (1049, format!("errCode = 2, detailMessage = Unknown database '{database}'"));
        self.databases.get(database).ok_or_else(unknown)
    }

    pub fn put(&mut self, database: &str, table: &str, value: Table) {
        self.databases.entry(database.to_owned()).or_default().insert(table.to_owned(), value);
    }

    /// A new job, or a past one if `after` is `None`.
    pub fn submit(
        &mut self,
        database: &str,
        table: &str,
        kind: &'static str,
        state: &str,
        message: &str,
        after: Option<Table>,
    ) -> u64 {
        self.next_job += 1;
        self.jobs.push(Job {
            id: self.next_job,
            database: database.to_owned(),
            table: table.to_owned(),
            kind,
            state: state.to_owned(),
            message: message.to_owned(),
            after,
            created_s: 1_795_000_000 + self.next_job / JOBS_A_SECOND,
            shown: false,
        });
        self.next_job
    }

    pub fn open_job(&mut self, database: &str, table: &str) -> Option<&mut Job> {
        self.jobs.iter_mut().rev().find(|job| job.database == database && job.table == table && job.is_open())
    }

    /// Sets a job's state; a finished job makes its change.
    pub fn settle(&mut self, id: u64, state: &str, message: &str) {
        let Some(job) = self.jobs.iter_mut().find(|job| job.id == id) else { return };
        job.state = state.to_owned();
        job.message = message.to_owned();
        job.shown = false;
        if state != "FINISHED" {
            return;
        }
        let (database, table, after) = (job.database.clone(), job.table.clone(), job.after.take());
        if let Some(after) = after {
            self.put(&database, &table, after);
        }
    }
}
