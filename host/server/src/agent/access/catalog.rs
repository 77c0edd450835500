//! The catalogue for a topic: the index of names for lists, the store's definitions for fields, and the views of the data
//! source `lakeport`.

use std::collections::HashMap;

use lakeport_bindings::host::types::{Error as PluginError, Page};
use lakeport_bindings::tool::catalog::{Filter, HitPage, Reference, Table, TableDetails, TablePage};
use lakeport_bindings::tool::tables::TableHead;
use lakeport_catalog::Entry;
use lakeport_catalog::terms::Needles;

use super::definitions::{ById, said};
use super::own::{self, OwnTable};
use super::search;
use super::sources::Sources;
use super::{PAGE_MAX, TopicAccess, error, of_store, offset_of, page_of};

/// Tables of one `get` or `details`, by the contract.
const GET_MAX: usize = 100;
/// Tables of one `resolve`, by the contract.
const RESOLVED_MAX: usize = 20;

/// A table visible to a topic.
#[derive(Clone, Copy)]
pub enum Seen<'i> {
    Own(&'static OwnTable),
    Entry(&'i Entry),
}

impl TopicAccess {
    /// The current tables.
    async fn caught_up(&self) -> Result<(), PluginError> {
        self.state.catalog.caught_up().await.map_err(of_store)
    }

    pub(super) async fn found(
        &self,
        text: &str,
        filter: &Filter,
        page: &Page,
    ) -> Result<HitPage, PluginError> {
        let sources = self.sources().await?;
        check(filter, sources)?;
        self.caught_up().await?;
        let needles = Needles::of(text);
        let index = self.state.catalog.read();
        let found =
            search::found(&index, &needles, |table| table.is_seen(sources) && fits(filter, table, sources));
        let (found, next) = page_of(found, page)?;
        Ok(HitPage { hits: found.iter().map(|one| one.hit(&index, &needles, sources)).collect(), next })
    }

    pub(super) async fn listed(&self, filter: &Filter, page: &Page) -> Result<TablePage, PluginError> {
        let sources = self.sources().await?;
        check(filter, sources)?;
        self.caught_up().await?;
        let index = self.state.catalog.read();
        let mut tables: Vec<Seen<'_>> =
            seen(sources, index.iter()).filter(|table| fits(filter, table, sources)).collect();
        // Only what is shown, and what stands before it, is put in order.
        let by_place = |one: &Seen<'_>, other: &Seen<'_>| one.place(sources).cmp(&other.place(sources));
        let last = offset_of(page)?.saturating_add(PAGE_MAX);
        if last < tables.len() {
            tables.select_nth_unstable_by(last, by_place);
            tables[..last].sort_by(by_place);
        } else {
            tables.sort_by(by_place);
        }
        let (tables, next) = page_of(tables, page)?;
        Ok(TablePage { tables: tables.iter().map(|table| table.head(sources)).collect(), next })
    }

    pub(super) async fn resolved(&self, name: &str) -> Result<Vec<TableHead>, PluginError> {
        let sources = self.sources().await?;
        let parts = parts(name);
        let (datasource, database, table) = match parts.as_slice() {
            [table] => (None, None, table),
            [database, table] => (None, Some(database), table),
            [datasource, database, table] => (Some(datasource), Some(database), table),
            _ => return Ok(Vec::new()),
        };
        self.caught_up().await?;
        let index = self.state.catalog.read();
        let is = |wanted: Option<&String>, found: &str| {
            wanted.is_none_or(|wanted| *wanted == found.to_lowercase())
        };
        let mut found: Vec<Seen<'_>> = seen(sources, index.iter())
            .filter(|seen| {
                is(Some(table), seen.name())
                    && is(database, seen.database())
                    && is(datasource, seen.datasource(sources))
            })
            .collect();
        found.sort_by(|one, other| one.place(sources).cmp(&other.place(sources)));
        Ok(found.iter().take(RESOLVED_MAX).map(|table| table.head(sources)).collect())
    }

    pub(super) async fn wholes(&self, ids: &[u64]) -> Result<Vec<Option<Table>>, PluginError> {
        check_count(ids)?;
        let sources = self.sources().await?;
        self.caught_up().await?;
        let heads: HashMap<u64, TableHead> = {
            let index = self.state.catalog.read();
            let entry = |id: &u64| index.get(i64::try_from(*id).ok()?).filter(|entry| sources.sees(entry));
            ids.iter().filter_map(|id| Some((*id, sources.head(entry(id)?)))).collect()
        };
        let known: Vec<i64> = heads.keys().filter_map(|id| i64::try_from(*id).ok()).collect();
        let definitions = self.definitions(&known).await?;
        let whole = |id: &u64| {
            let mut head = heads.get(id)?.clone();
            let definition = definitions.get(&i64::try_from(*id).ok()?)?;
            head.comment = said(Some(head.comment), definition.description.clone());
            Some(Table { head, fields: definition.fields.clone(), partition: definition.partition.clone() })
        };
        let own = |id: &u64| own::find(*id).filter(|_| sources.own().is_some()).map(OwnTable::whole);
        // An id may be requested twice.
        Ok(ids.iter().map(|id| own(id).or_else(|| whole(id))).collect())
    }

    async fn definitions(&self, ids: &[i64]) -> Result<ById, PluginError> {
        let state = &self.state;
        self.definitions.get(&state.definitions, &state.catalog, &state.db, ids).await.map_err(of_store)
    }

    /// Tags and foreign keys. Foreign keys to tables that are not visible are left out.
    pub(super) async fn details_of(&self, ids: &[u64]) -> Result<Vec<Option<TableDetails>>, PluginError> {
        check_count(ids)?;
        let sources = self.sources().await?;
        self.caught_up().await?;
        let entry_id = |id: u64| i64::try_from(id).ok();
        let mut details: HashMap<i64, TableDetails> = {
            let index = self.state.catalog.read();
            let entries = ids.iter().filter_map(|id| index.get(entry_id(*id)?));
            let of = |entry: &Entry| {
                let tags = entry.tags.iter().map(|tag| tag.to_string()).collect();
                (entry.id, TableDetails { tags, references: Vec::new() })
            };
            entries.filter(|entry| sources.sees(entry)).map(of).collect()
        };
        let known: Vec<i64> = details.keys().copied().collect();
        let definitions = self.definitions(&known).await?;
        {
            let index = self.state.catalog.read();
            let is_seen = |id: i64| index.get(id).is_some_and(|parent| sources.sees(parent));
            for (id, details) in &mut details {
                let foreign_keys = definitions.get(id).map_or(&[][..], |table| &table.foreign_keys);
                let seen = foreign_keys.iter().filter(|one| is_seen(one.parent_id));
                details.references.extend(seen.map(|one| Reference {
                    field: one.field.clone(),
                    table: one.parent_id.unsigned_abs(),
                    key: one.key.clone(),
                }));
            }
        }
        let own = |id: u64| own::find(id).filter(|_| sources.own().is_some());
        let none = || TableDetails { tags: Vec::new(), references: Vec::new() };
        let of = |id: &u64| details.get(&entry_id(*id)?).cloned().or_else(|| own(*id).map(|_| none()));
        Ok(ids.iter().map(of).collect())
    }

    /// A visible table, by its id.
    pub(super) async fn whole(&self, id: u64) -> Result<Table, PluginError> {
        let found = self.wholes(&[id]).await?.pop().flatten();
        found.ok_or_else(|| error("not_found", format!("there is no table {id} here")))
    }
}

impl Seen<'_> {
    pub fn name(&self) -> &str {
        match self {
            Seen::Own(table) => table.name,
            Seen::Entry(entry) => &entry.table_name,
        }
    }

    /// What stands before what fits as well.
    pub fn standing(&self) -> (bool, Option<i64>, i64) {
        match self {
            Seen::Own(_) => (true, None, 0),
            Seen::Entry(entry) => (entry.is_physical, entry.row_count, -entry.id),
        }
    }

    /// Whether it is visible to a topic.
    fn is_seen(&self, sources: &Sources) -> bool {
        match self {
            Seen::Own(_) => sources.own().is_some(),
            Seen::Entry(entry) => sources.sees(entry),
        }
    }

    fn database(&self) -> &str {
        match self {
            Seen::Own(_) => own::DATABASE,
            Seen::Entry(entry) => &entry.db_name,
        }
    }

    fn datasource<'s>(&self, sources: &'s Sources) -> &'s str {
        let source = match self {
            Seen::Own(_) => sources.own(),
            Seen::Entry(entry) => entry.cluster_id.and_then(|id| sources.get(id)),
        };
        source.map(|source| source.name.as_str()).unwrap_or_default()
    }

    pub fn head(&self, sources: &Sources) -> TableHead {
        match self {
            Seen::Own(table) => table.head(),
            Seen::Entry(entry) => sources.head(entry),
        }
    }

    /// The sort key.
    fn place<'s>(&'s self, sources: &'s Sources) -> (&'s str, &'s str, &'s str) {
        (self.datasource(sources), self.database(), self.name())
    }
}

/// `limit_exceeded` if too many tables are requested at once.
fn check_count(ids: &[u64]) -> Result<(), PluginError> {
    if ids.len() > GET_MAX {
        let message = format!("{} tables at once; {GET_MAX} at most", ids.len());
        return Err(error("limit_exceeded", message));
    }
    Ok(())
}

/// All tables visible to a topic.
fn seen<'i>(
    sources: &'i Sources,
    entries: impl Iterator<Item = &'i Entry>,
) -> impl Iterator<Item = Seen<'i>> {
    let own = own::TABLES.iter().map(Seen::Own);
    own.chain(entries.map(Seen::Entry)).filter(|table| table.is_seen(sources))
}

/// `not_found` if the filter names an unknown data source.
fn check(filter: &Filter, sources: &Sources) -> Result<(), PluginError> {
    filter.datasource.as_deref().map_or(Ok(()), |name| sources.named(name).map(drop))
}

fn fits(filter: &Filter, table: &Seen<'_>, sources: &Sources) -> bool {
    let is = |wanted: &Option<String>, found: Option<&str>| {
        wanted
            .as_deref()
            .is_none_or(|wanted| found.is_some_and(|found| found.to_lowercase() == wanted.to_lowercase()))
    };
    let (layer, domain) = match table {
        Seen::Own(_) => (None, None),
        Seen::Entry(entry) => (entry.layer.as_deref(), entry.business_domain.as_deref()),
    };
    is(&filter.datasource, Some(table.datasource(sources)))
        && is(&filter.database, Some(table.database()))
        && is(&filter.layer, layer)
        && is(&filter.business_domain, domain)
}

/// The parts of a user's name of a table, quoted or not, in lower case.
pub fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut closing = None;
    for c in name.trim().chars() {
        let last = parts.last_mut().expect("there is always one");
        match (closing, c) {
            (Some(quote), c) if c == quote => closing = None,
            (None, '"' | '`' | '\'') => closing = Some(c),
            (None, '[') => closing = Some(']'),
            (None, '.') => parts.push(String::new()),
            (_, c) => last.extend(c.to_lowercase()),
        }
    }
    parts
}
