//! `SHOW` and `DESC`, in the front end's form.

use crate::catalogue::{Catalogue, Product, STATES, Table, TableKind};
use crate::parse::{Reader, Syntax};
use crate::query::Relation;
use crate::refused;
use crate::steer::Jobs;

const ALLOCATION: &str = "replication_allocation";

/// `DESC db.t`.
pub fn describe(catalogue: &Catalogue, reader: &mut Reader) -> Result<Relation, Syntax> {
    let (database, name) = reader.path()?;
    reader.end()?;
    let table = catalogue.table(&database, &name)?;
    let yes = |value: bool| if value { "Yes" } else { "No" };
    let rows = table.columns.iter().map(|column| {
        let extra = match column.key {
            true => "",
            false if table.merges_on_read() => "REPLACE",
            false => "NONE",
        };
        vec![
            Some(column.name.clone()),
            Some(column.type_text.clone()),
            Some(yes(column.nullable).to_owned()),
            Some(column.key.to_string()),
            column.default.clone(),
            Some(extra.to_owned()),
        ]
    });
    Ok(Relation::of_texts(&["Field", "Type", "Null", "Key", "Default", "Extra"], rows.collect()))
}

/// `SHOW CREATE TABLE db.t`: as Doris writes it, with comments in single quotes, in which only double quotes
/// get a backslash.
pub fn create_table(catalogue: &Catalogue, reader: &mut Reader) -> Result<Relation, Syntax> {
    let (database, name) = reader.path()?;
    reader.end()?;
    let table = catalogue.table(&database, &name)?;
    let set = || Some("utf8mb4".to_owned());
    match &table.kind {
        TableKind::Table => {
            let text = create_text(catalogue, &name, table);
            Ok(Relation::of_texts(&["Table", "Create Table"], vec![vec![Some(name), Some(text)]]))
        }
        TableKind::View(query) => {
            let text = format!("CREATE VIEW `{name}` AS {query};");
            let columns = ["View", "Create View", "character_set_client", "collation_connection"];
            Ok(Relation::of_texts(&columns, vec![vec![Some(name), Some(text), set(), set()]]))
        }
        TableKind::Materialized => {
            Err(refused("not support async materialized view, please use `show create materialized view`"))
        }
    }
}

/// Doris ends the clause with the partitions that are there, StarRocks makes them without naming them.
fn partition_text(product: Product, table: &Table) -> String {
    let Some(by) = &table.partition else { return String::new() };
    if product == Product::StarRocks {
        return format!("{}\n", by.clause);
    }
    let partitions: Vec<String> =
        table.partitions.iter().map(|one| format!("PARTITION {} {}", one.name, one.values)).collect();
    format!("{}\n({})\n", by.clause, partitions.join(",\n"))
}

fn create_text(catalogue: &Catalogue, name: &str, table: &Table) -> String {
    let product = catalogue.product;
    let quoted = |text: &str| match product {
        Product::Doris => format!("'{}'", text.replace('"', "\\\"")),
        Product::StarRocks => format!("\"{}\"", text.replace('"', "\\\"")),
    };
    let list = |names: &mut dyn Iterator<Item = &String>| {
        names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    let columns: Vec<String> = table
        .columns
        .iter()
        .map(|column| {
            let null = if column.nullable { "NULL" } else { "NOT NULL" };
            let default = match column.default.as_deref() {
                None => String::new(),
                Some(now) if now.starts_with("CURRENT_TIMESTAMP") => format!(" DEFAULT {now}"),
                Some(text) => format!(" DEFAULT \"{}\"", text.replace('"', "\\\"")),
            };
            let comment = if column.comment.is_empty() {
                String::new()
            } else {
                format!(" COMMENT {}", quoted(&column.comment))
            };
            let stamped = if column.stamped { " ON UPDATE CURRENT_TIMESTAMP" } else { "" };
            format!("  `{}` {} {null}{default}{stamped}{comment}", column.name, column.type_text)
        })
        .collect();
    let keys = list(&mut table.columns.iter().filter(|column| column.key).map(|column| &column.name));
    let comment = match table.comment.as_str() {
        "" => String::new(),
        comment => format!("COMMENT {}\n", quoted(comment)),
    };
    let partition = partition_text(product, table);
    let distribution = match table.distribution.as_slice() {
        [] => "RANDOM".to_owned(),
        columns => format!("HASH({})", list(&mut columns.iter())),
    };
    let buckets = match (table.buckets, product) {
        (Some(count), _) => format!(" BUCKETS {count}"),
        (None, Product::Doris) => " BUCKETS AUTO".to_owned(),
        (None, Product::StarRocks) => String::new(),
    };
    let replicas = match product {
        Product::Doris if catalogue.cloud => Some(("file_cache_ttl_seconds", "0".to_owned())),
        Product::Doris if table.properties.iter().any(|(name, _)| name == ALLOCATION) => None,
        Product::Doris => Some((ALLOCATION, format!("tag.location.default: {}", table.default_replicas))),
        Product::StarRocks => Some(("replication_num", table.default_replicas.to_string())),
    };
    let own = table.properties.iter().map(|(name, value)| (name.as_str(), value.clone()));
    let properties: Vec<String> = replicas
        .into_iter()
        .chain(own)
        .chain([("min_load_replica_num", "-1".to_owned())])
        .map(|(name, value)| format!("\"{name}\" = \"{value}\""))
        .collect();
    format!(
        "CREATE TABLE `{name}` (\n{}\n) ENGINE=OLAP\n{} KEY({keys})\n{comment}{partition}DISTRIBUTED BY \
         {distribution}{buckets}\nPROPERTIES (\n{}\n);",
        columns.join(",\n"),
        table.model,
        properties.join(",\n")
    )
}

/// `SHOW VARIABLES LIKE "…"`.
pub fn variables(reader: &mut Reader, value: impl Fn(&str) -> Option<String>) -> Result<Relation, Syntax> {
    reader.expects("LIKE")?;
    let name = reader.text()?;
    reader.end()?;
    let rows = value(&name).map(|found| vec![Some(name.clone()), Some(found)]);
    Ok(Relation::of_texts(&["Variable_name", "Value"], rows.into_iter().collect()))
}

/// `SHOW ALTER TABLE COLUMN FROM db WHERE TableName = "t" ORDER BY JobId DESC LIMIT 1`, or by CreateTime, in whole
/// seconds. A job that is not held advances by one state each time it is shown.
pub fn jobs(
    catalogue: &mut Catalogue,
    jobs: &Jobs,
    kind: &'static str,
    reader: &mut Reader,
) -> Result<Relation, Syntax> {
    reader.expects("FROM")?;
    let database = reader.name()?;
    reader.expects("WHERE TableName")?;
    reader.symbol('=')?;
    let table = reader.text()?;
    reader.expects("ORDER BY")?;
    let by_time = reader.takes("CreateTime");
    if !by_time {
        reader.expects("JobId")?;
    }
    reader.expects("DESC LIMIT")?;
    let limit = reader.number()? as usize;
    reader.end()?;
    let own =
        |job: &&crate::catalogue::Job| job.database == database && job.table == table && job.kind == kind;
    let open = catalogue.jobs.iter().rev().find(|job| own(job) && job.is_open()).cloned();
    if let Some(job) = open
        && job.shown
    {
        go_on(catalogue, jobs, job.id, &job.state);
    }
    let mut rows = Vec::new();
    let mut listed: Vec<_> = catalogue.jobs.iter_mut().filter(|job| own(&&**job)).collect();
    // Jobs of the same second stay in their order, the oldest first.
    listed.sort_by_key(|job| std::cmp::Reverse(if by_time { job.created_s } else { job.id }));
    for job in listed.into_iter().take(limit) {
        job.shown = true;
        let some = |text: &str| Some(text.to_owned());
        let time =
            |seconds: u64| Some(format!("2026-11-{:02} 00:00:{:02}", 1 + seconds / 60 % 28, seconds % 60));
        let finished = if job.is_open() { None } else { time(job.created_s + 1) };
        rows.push(vec![
            Some(job.id.to_string()),
            some(&job.table),
            time(job.created_s),
            finished,
            some(&job.table),
            some(&job.state),
            some(&job.message),
            some("N/A"),
            some("2592000"),
        ]);
    }
    let columns = [
        "JobId",
        "TableName",
        "CreateTime",
        "FinishTime",
        "IndexName",
        "State",
        "Msg",
        "Progress",
        "Timeout",
    ];
    Ok(Relation::of_texts(&columns, rows))
}

fn go_on(catalogue: &mut Catalogue, jobs: &Jobs, id: u64, state: &str) {
    let at = STATES.iter().position(|known| *known == state).unwrap_or(0);
    match (jobs, STATES.get(at + 1)) {
        (Jobs::Hold, _) | (_, None) => {}
        (Jobs::Cancel(message), Some(&"FINISHED")) => catalogue.settle(id, "CANCELLED", &message.clone()),
        (_, Some(next)) => catalogue.settle(id, next, ""),
    }
}
