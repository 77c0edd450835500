//! The example company's data source, its tables in the catalogue, and their sizes.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use lakeport_base::time::DAY_MS;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::company;
use super::files::{CatalogueFile, TableWords};
use super::moments::Moments;
use super::requests::{AUTHOR, Requests, named, number, records};
use crate::compose::Server;
use crate::datasources;
use crate::tables::{self, Size};

/// The data source's name.
const SOURCE: &str = "lakeside";
const SCHEME: &str = "sqlite:";
const SOURCES: &str = "/api/v1/datasources";
/// When its tables were first synced.
const READ_IN: (u64, &str) = (30, "09:00");
/// Days of sizes.
const SIZES: u64 = 29;
const SIZES_AT: &str = "05:30";
/// A later change: the table, its author, days ago, time.
const LATER: (&str, &str, u64, &str) = ("ods_products", "ana", 4, "16:10");
/// The added field.
const LATER_FIELD: &str = "supplier";
const LATER_COMMENT: &str = "supplier of the product, where it is known (供应商)";

/// How long the recovery of a killed server's work may take, and the polling interval.
const LATER_MAX: Duration = Duration::from_secs(40);
const LATER_LOOK: Duration = Duration::from_millis(250);

pub struct Catalogue<'d> {
    pub requests: &'d Requests,
    pub moments: &'d Moments,
    pub source_id: i64,
}

/// Ids of tables by their names.
pub type TableIds = HashMap<String, i64>;

/// Defines the data source if it does not exist; returns its id and the path of its file, which may not exist yet.
pub async fn define_source(state: &Server, requests: &Requests) -> anyhow::Result<(i64, PathBuf)> {
    let folder = company::folder(&state.config)?;
    let page = requests.get(&format!("{SOURCES}?keyword={SOURCE}&pageSize=500")).await?;
    if let Some(source) = named(records(&page), "name", SOURCE) {
        let path = source["url"].as_str().and_then(|url| url.strip_prefix(SCHEME)).map(PathBuf::from);
        let path = path.filter(|path| path.parent() == Some(&*folder));
        let path = path.with_context(|| {
            format!(
                "there is a data source `{SOURCE}` that is not the example company's ({}): rename it",
                source["url"]
            )
        })?;
        return Ok((number(source, "id")?, path));
    }
    let path = company::free_path(&folder)?;
    let url = path.to_str().with_context(|| format!("{} is no text", path.display()))?;
    let url = format!("{SCHEME}{url}");
    // If the user has data sources, one of theirs should be the default.
    let all = requests.get(&format!("{SOURCES}?pageSize=500")).await?;
    let is_alone = records(&all).iter().all(|source| source["name"] == datasources::OWN_NAME);
    let form = json!({ "name": SOURCE, "kind": "sqlite", "url": url, "isDefault": is_alone });
    Ok((number(&requests.post(AUTHOR, SOURCES, &form).await?, "id")?, path))
}

impl Catalogue<'_> {
    /// Syncs the tables and adds the catalogue's own data; returns their ids.
    pub async fn read_in(&self, file: &CatalogueFile) -> anyhow::Result<TableIds> {
        let (days_ago, time) = READ_IN;
        self.moments.go_to(self.moments.at(days_ago, time)?);
        let mut tables = self.tables().await?;
        if !file.tables.iter().all(|words| tables.contains_key(&words.name)) {
            let target = format!("{SOURCES}/{}/sync", self.source_id);
            let sync = self.requests.post(AUTHOR, &target, &json!({})).await?;
            if sync["state"] != "success" {
                bail!("the sync of the example company failed: {sync}");
            }
            tables = self.tables().await?;
        }
        for words in &file.tables {
            let table = tables.get(&words.name).with_context(|| format!("no table {}", words.name))?;
            if table["layer"].is_null() {
                self.describe(number(table, "id")?, words).await?;
            }
        }
        let ids = tables.iter().map(|(name, table)| Ok((name.clone(), number(table, "id")?)));
        let ids: TableIds = ids.collect::<anyhow::Result<_>>()?;
        self.add_later_field(&ids).await?;
        Ok(ids)
    }

    async fn tables(&self) -> anyhow::Result<HashMap<String, Value>> {
        let target = format!("/api/v1/tables?clusterId={}&pageSize=500", self.source_id);
        let page = self.requests.get(&target).await?;
        let table = |table: &Value| Some((table["tableName"].as_str()?.to_owned(), table.clone()));
        Ok(records(&page).iter().filter_map(table).collect())
    }

    /// The layer is set last: if it is set, all is set.
    async fn describe(&self, id: i64, words: &TableWords) -> anyhow::Result<()> {
        let fields = self.requests.get(&format!("/api/v1/tables/{id}/fields")).await?;
        for (name, comment) in &words.fields {
            let field = named(records(&fields), "fieldName", name);
            let field = field.with_context(|| format!("the table {} has no field {name}", words.name))?;
            if field["fieldComment"].is_null() {
                let target = format!("/api/v1/tables/{id}/fields/{}", number(field, "id")?);
                self.requests.put(&words.owner, &target, &json!({ "fieldComment": comment })).await?;
            }
        }
        let form = json!({
            "tableComment": words.comment, "layer": words.layer, "businessDomain": words.business_domain,
            "dataDomain": words.data_domain, "owner": words.owner,
        });
        self.requests.put(&words.owner, &format!("/api/v1/tables/{id}"), &form).await.map(drop)
    }

    /// A physical change. If a killed server had started it, waits: another server finishes it, or the
    /// database is synced again.
    async fn add_later_field(&self, ids: &TableIds) -> anyhow::Result<()> {
        let (table, by, days_ago, time) = LATER;
        let id = ids.get(table).with_context(|| format!("no table {table}"))?;
        let target = format!("/api/v1/tables/{id}/fields");
        self.moments.go_to(self.moments.at(days_ago, time)?);
        let form = json!({ "fieldName": LATER_FIELD, "fieldType": "TEXT", "fieldComment": LATER_COMMENT });
        let begun = Instant::now();
        loop {
            if let Some(field) = named(records(&self.requests.get(&target).await?), "fieldName", LATER_FIELD)
            {
                if field["fieldComment"].is_null() {
                    let field = format!("{target}/{}", number(field, "id")?);
                    self.requests.put(by, &field, &json!({ "fieldComment": LATER_COMMENT })).await?;
                }
                return Ok(());
            }
            match self.requests.post(by, &target, &form).await {
                Ok(_) => return Ok(()),
                Err(refused) if begun.elapsed() > LATER_MAX => return Err(refused),
                Err(_) => sleep(LATER_LOOK).await,
            }
            let sync = format!("{SOURCES}/{}/sync", self.source_id);
            if let Err(refused) = self.requests.post(AUTHOR, &sync, &json!({})).await {
                tracing::debug!("the example company's database cannot be synced now: {refused:#}");
            }
        }
    }

    /// The current size of each table, and a month of sizes.
    pub async fn remember_sizes(
        &self,
        state: &Server,
        file: &CatalogueFile,
        ids: &TableIds,
    ) -> anyhow::Result<()> {
        for words in &file.tables {
            let id = ids[&words.name];
            let now = self.requests.get(&format!("/api/v1/tables/{id}/statistics")).await?;
            let known = tables::last_sizes(&state.db, id, SIZES as i64).await?;
            if known.iter().any(|size| size.collected_at_ms < self.moments.now_ms - DAY_MS) {
                continue;
            }
            let mut tx = state.db.begin().await?;
            for days_ago in (1..=SIZES).rev() {
                let size = self.size_then(words, &now, days_ago)?;
                tables::keep_size(&mut tx, id, &size).await?;
            }
            tx.commit().await?;
        }
        Ok(())
    }

    fn size_then(&self, words: &TableWords, now: &Value, days_ago: u64) -> anyhow::Result<Size> {
        let then = |member: &str| {
            let now = now[member].as_i64()?;
            let grown = words.days_of_growth.map(|days| now * (days - days_ago as i64).max(0) / days);
            Some(grown.unwrap_or(now))
        };
        Ok(Size {
            cluster_id: self.source_id,
            row_count: then("rowCount"),
            data_size: then("dataSize"),
            index_size: then("indexSize"),
            partition_count: now["partitionCount"].as_i64(),
            is_exact: true,
            collected_at_ms: self.moments.at(days_ago, SIZES_AT)?,
        })
    }
}
