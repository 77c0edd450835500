//! The data sources that a topic may read, as of the task's first access.

use std::collections::HashMap;

use lakeport_base::Error;
use lakeport_bindings::host::types::Error as PluginError;
use lakeport_bindings::tool::catalog;
use lakeport_bindings::tool::tables::TableHead;
use lakeport_catalog::Entry;

use super::error;
use crate::agent::Agent;
use crate::datasources::{self, Datasource, DatasourceClient};

/// The meaning of `database` if no dialect describes it.
const DATABASE_TERM: &str = "database";
/// Its meaning for a single database.
const FILE_TERM: &str = "file";
/// The most names of data sources in a message.
const NAMES_SHOWN: usize = 20;

pub struct Sources {
    permitted: Vec<Datasource>,
    /// Id to index.
    by_id: HashMap<i64, usize>,
    /// Whether all existing ones may be read.
    is_unbound: bool,
}

impl Sources {
    pub async fn of(state: &Agent, names: Option<&[String]>) -> Result<Sources, Error> {
        let known = datasources::names_by_id(&state.db).await?;
        let may_read = |name: &String| names.is_none_or(|names| names.contains(name));
        let ids: Vec<i64> = known.iter().filter(|(_, name)| may_read(name)).map(|(id, _)| *id).collect();
        let mut permitted = datasources::all_of(&state.db, &ids).await?;
        permitted.sort_by(|one, other| one.name.cmp(&other.name));
        let by_id = permitted.iter().enumerate().map(|(place, source)| (source.id, place)).collect();
        Ok(Sources { permitted, by_id, is_unbound: names.is_none() })
    }

    pub fn get(&self, id: i64) -> Option<&Datasource> {
        self.by_id.get(&id).map(|place| &self.permitted[*place])
    }

    /// The one of this name; case is ignored if that is unambiguous. `not_found` lists the existing ones.
    pub fn named(&self, name: &str) -> Result<&Datasource, PluginError> {
        let exact = self.permitted.iter().find(|source| source.name == name);
        let alike = || self.permitted.iter().find(|source| source.name.eq_ignore_ascii_case(name));
        exact.or_else(alike).ok_or_else(|| {
            let names: Vec<&str> =
                self.permitted.iter().take(NAMES_SHOWN).map(|source| source.name.as_str()).collect();
            let there_are = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            error("not_found", format!("there is no data source `{name}` here; there are: {there_are}"))
        })
    }

    pub fn default_one(&self) -> Option<&Datasource> {
        let mut others = self.permitted.iter().filter(|source| !source.is_own());
        let only = match (others.next(), others.next()) {
            (only, None) => only,
            _ => None,
        };
        self.permitted.iter().find(|source| source.is_default).or(only)
    }

    /// The server's own store, if it may be read.
    pub fn own(&self) -> Option<&Datasource> {
        self.permitted.iter().find(|source| source.is_own())
    }

    /// Ids of those whose tables are visible; `None`: all.
    pub fn bound_ids(&self) -> Option<Vec<i64>> {
        (!self.is_unbound).then(|| self.ids())
    }

    pub fn ids(&self) -> Vec<i64> {
        self.permitted.iter().map(|source| source.id).collect()
    }

    /// Whether a table of the catalogue is visible. One without a data source is visible to all.
    pub fn sees(&self, entry: &Entry) -> bool {
        !entry.is_deprecated
            && entry.cluster_id.is_none_or(|id| self.get(id).is_some_and(|source| !source.is_own()))
    }

    pub fn head(&self, entry: &Entry) -> TableHead {
        let owned = |text: &Option<Box<str>>| text.as_deref().map(str::to_owned);
        let source = entry.cluster_id.and_then(|id| self.get(id));
        TableHead {
            id: entry.id.unsigned_abs(),
            datasource: source.map(|source| source.name.clone()).unwrap_or_default(),
            database: entry.db_name.to_string(),
            name: entry.table_name.to_string(),
            comment: owned(&entry.table_comment).unwrap_or_default(),
            layer: owned(&entry.layer),
            business_domain: owned(&entry.business_domain),
            data_domain: owned(&entry.data_domain),
            row_count: entry.row_count.and_then(|rows| u64::try_from(rows).ok()),
            physical: entry.is_physical,
        }
    }

    /// In the form for tools.
    pub fn shown(&self, state: &Agent) -> Vec<catalog::Datasource> {
        let show = |source: &Datasource| {
            let info = DatasourceClient::of(&state.datasources, source, "topic").info().ok();
            catalog::Datasource {
                name: source.name.clone(),
                kind: source.kind.clone(),
                database_term: match &info {
                    // Its views are named without a database.
                    _ if source.is_own() => FILE_TERM.to_owned(),
                    Some(info) => info.database_term.clone(),
                    None => DATABASE_TERM.to_owned(),
                },
                sql_hints: info.map(|info| info.sql.hints.clone()).unwrap_or_default(),
            }
        };
        self.permitted.iter().map(show).collect()
    }
}
