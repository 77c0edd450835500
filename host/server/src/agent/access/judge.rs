//! The guard for a topic: accepts one reading statement, in the data source's own dialect, over tables that
//! the topic may read.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use lakeport_bindings::host::types::Error as PluginError;
use lakeport_bindings::tool::guard::{UsedTable, Verdict};
use lakeport_catalog::{Entry, Index};
use lakeport_sql::{Author, Guard, Object, Profile, ReadStatement, Transport, fields_named};
use parking_lot::Mutex;

use super::own;
use super::sources::Sources;
use super::{TopicAccess, error, of_store};
use crate::datasources::{Datasource, DatasourceClient};

/// SQLite's other names of a row id.
const ROW_IDS: &[&str] = &["rowid", "oid", "_rowid_"];
/// The most names of a statement that are completed.
const COMPLETED_MAX: usize = 100;
/// The most unknown names in a verdict.
const UNKNOWN_MAX: usize = 100;

/// An accepted statement.
pub struct Judged {
    pub statement: ReadStatement,
    /// Whether databases were added to names.
    is_completed: bool,
    /// Each table once.
    pub reads: Vec<Used>,
}

/// A table in a statement.
#[derive(Clone)]
pub struct Used {
    pub parts: Vec<String>,
    /// Its id and its name in the catalogue; `None`: unknown.
    pub known: Option<(u64, String)>,
}

impl TopicAccess {
    /// The dialect's profile, for one of the topic's data sources.
    pub(super) fn profile(&self, source: &Datasource) -> Result<Arc<Profile>, PluginError> {
        let client = DatasourceClient::of(&self.state.datasources, source, &self.asked.task_id);
        client.profile().map_err(|unanswered| of_store(unanswered.into()))
    }

    /// Accepts a statement, or returns `guard_refused`. A table of a server whose name stands alone and is the only one of
    /// that name gets its database in the text, which is judged again: sessions have no database of their own to look in.
    pub(super) async fn judge(&self, source: &Datasource, sql: &str) -> Result<Judged, PluginError> {
        let profile = self.profile(source)?;
        let sources = self.sources().await?;
        self.state.catalog.caught_up().await.map_err(of_store)?;
        let index = self.state.catalog.read();
        let tables = Tables::of(source, sources, &index, &profile);
        let mut sql = sql.to_owned();
        for completions in 0..=COMPLETED_MAX {
            let refused = Mutex::new(None);
            let allowed = |object: &Object| {
                let is_known = tables.is_complete(object) && tables.find(object).is_some();
                if !is_known {
                    refused.lock().get_or_insert_with(|| object.clone());
                }
                is_known
            };
            let cause = match guard(&profile, &allowed).check(&sql) {
                Ok(judged) => {
                    let reads = judged.objects.iter().map(|object| tables.used(object)).collect();
                    let statement = ReadStatement { sql: judged.sql, binds: Vec::new() };
                    return Ok(Judged { statement, is_completed: completions > 0, reads });
                }
                Err(cause) => cause,
            };
            let Some(object) = refused.into_inner() else { return Err(cause) };
            let databases = tables.databases_of(&object);
            let completed = match databases.as_slice() {
                [database] => completed(&sql, &cause, database, profile.transport),
                _ => None,
            };
            match completed {
                Some(completed) => sql = completed,
                None => return Err(PluginError { message: unknown(&object, source, &databases), ..cause }),
            }
        }
        let message = format!(
            "more than {COMPLETED_MAX} names of tables stand without their database; write them as `database.table`"
        );
        Err(error("guard_refused", message))
    }

    pub(super) async fn verdict(&self, datasource: &str, sql: &str) -> Result<Verdict, PluginError> {
        let source = self.sources().await?.named(datasource)?;
        let (reads, refusal) = match self.judge(source, sql).await {
            Ok(judged) if judged.is_completed => (self.reads_of(source, sql).await?, None),
            Ok(judged) => (judged.reads, None),
            Err(cause) if cause.code == "guard_refused" => (self.reads_of(source, sql).await?, Some(cause)),
            Err(cause) => return Err(cause),
        };
        let mut unknown_names: Vec<String> =
            reads.iter().filter(|used| used.known.is_none()).map(|used| used.parts.join(".")).collect();
        unknown_names.extend(self.unknown_fields(source, sql, &reads).await?);
        unknown_names.truncate(UNKNOWN_MAX);
        let used = |used: Used| UsedTable { name: used.parts, id: used.known.map(|(id, _)| id) };
        Ok(Verdict {
            allowed: refusal.is_none(),
            refusal,
            reads: reads.into_iter().map(used).collect(),
            unknown_names,
        })
    }

    /// The tables that a statement reads, permitted or not.
    async fn reads_of(&self, source: &Datasource, sql: &str) -> Result<Vec<Used>, PluginError> {
        let (profile, sources) = (self.profile(source)?, self.sources().await?);
        let index = self.state.catalog.read();
        let tables = Tables::of(source, sources, &index, &profile);
        let Ok(judged) = guard(&profile, &|_| true).check(sql) else { return Ok(Vec::new()) };
        let is_table = |object: &&Object| !object.function;
        Ok(judged.objects.iter().filter(is_table).map(|object| tables.used(object)).collect())
    }

    /// Names in the place of fields that none of the tables has.
    async fn unknown_fields(
        &self,
        source: &Datasource,
        sql: &str,
        reads: &[Used],
    ) -> Result<Vec<String>, PluginError> {
        let profile = self.profile(source)?;
        let ids: Vec<u64> = reads.iter().filter_map(|used| Some(used.known.as_ref()?.0)).collect();
        let Some(parser) = profile.parser.filter(|_| !ids.is_empty() && ids.len() == reads.len()) else {
            return Ok(Vec::new());
        };
        let tables = self.wholes(&ids).await?;
        let fields = tables.iter().flatten().flat_map(|table| &table.fields);
        let mut known: BTreeSet<String> = fields.map(|field| field.name.to_lowercase()).collect();
        if profile.transport == Transport::Sqlite {
            known.extend(ROW_IDS.iter().map(|name| (*name).to_owned()));
            // A full-text table is searched by its name, as if that were a field: `notes MATCH 'x'`.
            known.extend(reads.iter().filter_map(|used| used.parts.last()).map(|name| name.to_lowercase()));
        }
        let named = fields_named(parser, sql);
        Ok(named.into_iter().filter(|name| !known.contains(&name.to_lowercase())).collect())
    }
}

fn guard<'g>(profile: &'g Profile, allowed: &'g (dyn Fn(&Object) -> bool + Sync)) -> OwnedGuard<'g> {
    OwnedGuard { profile, readings: profile.readings(), allowed }
}

/// A guard with the data that it borrows.
struct OwnedGuard<'g> {
    profile: &'g Profile,
    readings: Vec<lakeport_sql::Lexing>,
    allowed: &'g (dyn Fn(&Object) -> bool + Sync),
}

impl OwnedGuard<'_> {
    fn check(&self, sql: &str) -> Result<lakeport_sql::Judged, PluginError> {
        let guard = Guard {
            parser: self.profile.parser,
            readings: &self.readings,
            functions: &self.profile.functions,
            author: Author::User,
            // A statement that no parser reads is refused: its tables are unknown.
            heads: &[],
            allowed: self.allowed,
        };
        guard.check(sql)
    }
}

fn unknown(object: &Object, source: &Datasource, databases: &[&str]) -> String {
    let name = object.dotted();
    if databases.len() > 1 {
        return format!("the table `{name}` is in several databases: {}; name one", databases.join(", "));
    }
    format!(
        "there is no table `{name}` to be read in the data source `{}`; the catalogue says which there are",
        source.name
    )
}

/// The statement with the database before the name that was refused.
fn completed(sql: &str, cause: &PluginError, database: &str, transport: Transport) -> Option<String> {
    let (_, position) = cause.context.iter().find(|(name, _)| name == "position")?;
    let (at, _) = sql.char_indices().nth(position.parse::<usize>().ok()?.checked_sub(1)?)?;
    let mark = if transport == Transport::MySql { '`' } else { '"' };
    let quoted = database.replace(mark, &format!("{mark}{mark}"));
    Some(format!("{}{mark}{quoted}{mark}.{}", &sql[..at], &sql[at..]))
}

/// The tables of one data source that can be queried.
enum Tables<'i> {
    Own,
    Entries { by_name: HashMap<String, Vec<&'i Entry>>, is_file: bool },
}

impl<'i> Tables<'i> {
    fn of(source: &Datasource, sources: &Sources, index: &'i Index, profile: &Profile) -> Tables<'i> {
        if source.is_own() {
            return Tables::Own;
        }
        let mut by_name: HashMap<String, Vec<&Entry>> = HashMap::new();
        let is_there =
            |entry: &&Entry| entry.cluster_id == Some(source.id) && entry.is_physical && sources.sees(entry);
        for entry in index.iter().filter(is_there) {
            by_name.entry(entry.table_name.to_ascii_lowercase()).or_default().push(entry);
        }
        Tables::Entries { by_name, is_file: profile.transport == Transport::Sqlite }
    }

    /// Whether its name says in which database it is, where there are several.
    fn is_complete(&self, object: &Object) -> bool {
        match self {
            Tables::Own => true,
            Tables::Entries { is_file, .. } => *is_file || object.parts.len() > 1,
        }
    }

    /// The databases of the tables with a name that stands alone, in order, each once.
    fn databases_of(&self, object: &Object) -> Vec<&'i str> {
        let (Tables::Entries { by_name, is_file: false }, [name]) = (self, object.parts.as_slice()) else {
            return Vec::new();
        };
        if object.function {
            return Vec::new();
        }
        let entries = by_name.get(&name.to_ascii_lowercase()).map_or(&[][..], Vec::as_slice);
        let same = entries.iter().filter(|entry| *entry.table_name == **name);
        let databases: BTreeSet<&str> = same.map(|entry| &*entry.db_name).collect();
        databases.into_iter().collect()
    }

    /// Id and name of an object's table.
    fn find(&self, object: &Object) -> Option<(u64, String)> {
        if object.function {
            return None;
        }
        match (self, object.parts.as_slice()) {
            // Only without a database do the views take precedence over tables with the same names.
            (Tables::Own, [name]) => own::named(name).map(|table| (table.id(), table.name.to_owned())),
            (Tables::Own, _) => None,
            (Tables::Entries { by_name, is_file }, parts) => {
                let (database, name) = match parts {
                    [name] if *is_file || self.databases_of(object).len() == 1 => (None, name),
                    [database, name] => (Some(database), name),
                    _ => return None,
                };
                // SQLite's own names have this prefix, whatever the catalogue says.
                if *is_file && name.get(..7).is_some_and(|begin| begin.eq_ignore_ascii_case("sqlite_")) {
                    return None;
                }
                let same = |one: &str, other: &str| {
                    if *is_file { one.eq_ignore_ascii_case(other) } else { one == other }
                };
                let entries = by_name.get(&name.to_ascii_lowercase())?;
                let entry = entries.iter().find(|entry| {
                    same(&entry.table_name, name)
                        && database.is_none_or(|database| same(&entry.db_name, database))
                })?;
                Some((entry.id.unsigned_abs(), entry.table_name.to_string()))
            }
        }
    }

    fn used(&self, object: &Object) -> Used {
        Used { parts: object.parts.clone(), known: self.find(object) }
    }
}
