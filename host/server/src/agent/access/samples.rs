//! Samples of fields' values, the frequent ones first. Read through the guard like other queries, cached for the rest of
//! the task, and shared by tasks for a while.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lakeport_base::text::shortened;
use lakeport_bindings::dialect::schema::TableName;
use lakeport_bindings::dialect::statements::Fragment;
use lakeport_bindings::host::data::Cell;
use lakeport_bindings::host::types::Error as PluginError;
use lakeport_bindings::tool::catalog::Table;
use lakeport_bindings::tool::samples::{FieldSample, FoundValue};
use lakeport_physical::QueryLimits;
use lakeport_sql::{Profile, Transport, read_statement};
use parking_lot::Mutex;

use super::{TopicAccess, error};
use crate::datasources::OWN_NAME;

/// Fields of one call, by the contract.
const FIELDS_MAX: usize = 50;
/// Texts that are looked for in one call, by the contract.
const TEXTS_MAX: usize = 20;
/// Values of one field, by the contract.
const VALUES_MAX: u32 = 20;
/// Rows of the table that are read.
const ROWS_LOOKED_AT: u32 = 5_000;
/// The longest text, in characters; longer ones are cut.
const TEXT_MAX_CHARS: usize = 100;
/// For one field, and for all of a call: fields that take longer have no samples.
const TIMEOUT: Duration = Duration::from_millis(1_500);
const TIMEOUT_OF_ALL: Duration = Duration::from_secs(4);
const BYTES_MAX: usize = 256 * 1024;
/// The most cached fields of a task.
const CACHED_MAX: usize = 500;
/// How long tasks share values, and of how many fields: 8 kB each at most.
const SHARED_FOR: Duration = Duration::from_secs(60);
const SHARED_MAX: usize = 5_000;

/// The values of a field.
type Values = Arc<[Cell]>;

/// The values of a task, by table and field.
#[derive(Default)]
pub struct Cache(Mutex<HashMap<(u64, String), Values>>);

impl Cache {
    fn get(&self, table: u64, field: &str) -> Option<Values> {
        self.0.lock().get(&(table, field.to_owned())).cloned()
    }

    fn put(&self, table: u64, field: &str, values: Values) {
        let mut cached = self.0.lock();
        if cached.len() < CACHED_MAX {
            cached.insert((table, field.to_owned()), values);
        }
    }
}

/// The values that tasks share.
#[derive(Default)]
pub struct Shared(Mutex<HashMap<SharedKey, Read>>);

/// When they were read, and the values.
type Read = (Instant, Values);

/// A field of a table, in a version of its data source's settings.
#[derive(Clone, PartialEq, Eq, Hash)]
struct SharedKey {
    source: (i64, i64),
    /// Of the server's own views: the data sources whose rows they show to the task; `None`: all. `None` of other tables.
    visible: Option<Arc<[i64]>>,
    table: u64,
    field: String,
}

impl Shared {
    fn get(&self, key: &SharedKey) -> Option<Values> {
        let shared = self.0.lock();
        shared
            .get(key)
            .filter(|(read_at, _)| read_at.elapsed() < SHARED_FOR)
            .map(|(_, values)| Arc::clone(values))
    }

    fn put(&self, key: SharedKey, values: Values) {
        let mut shared = self.0.lock();
        if shared.len() >= SHARED_MAX {
            shared.retain(|_, (read_at, _)| read_at.elapsed() < SHARED_FOR);
        }
        if shared.len() < SHARED_MAX {
            shared.insert(key, (Instant::now(), values));
        }
    }
}

impl TopicAccess {
    pub(super) async fn sampled(
        &self,
        table: u64,
        fields: &[String],
        values: u32,
    ) -> Result<Vec<FieldSample>, PluginError> {
        let table = self.table_with(table, fields).await?;
        self.fill(&table, fields).await?;
        let sample = |name: &String| {
            let cells = self.samples.get(table.head.id, name).unwrap_or_default();
            let cells = cells.iter().take(values.min(VALUES_MAX) as usize).cloned().collect();
            FieldSample { field: name.clone(), values: cells, masked: false }
        };
        Ok(fields.iter().map(sample).collect())
    }

    /// A table with all of these fields.
    async fn table_with(&self, table: u64, fields: &[String]) -> Result<Table, PluginError> {
        if fields.len() > FIELDS_MAX {
            let message = format!("{} fields at once; {FIELDS_MAX} at most", fields.len());
            return Err(error("limit_exceeded", message));
        }
        let table = self.whole(table).await?;
        if !table.head.physical {
            let message = format!("the table {} is only designed; there is nothing in it", table.head.name);
            return Err(error("not_found", message));
        }
        let missing = fields.iter().find(|name| !table.fields.iter().any(|field| field.name == **name));
        match missing {
            Some(name) => {
                Err(error("not_found", format!("the table {} has no field {name}", table.head.name)))
            }
            None => Ok(table),
        }
    }

    /// Which of the texts the fields hold, in one session.
    pub(super) async fn values_found(
        &self,
        table: u64,
        fields: &[String],
        texts: &[String],
    ) -> Result<Vec<FoundValue>, PluginError> {
        if texts.len() > TEXTS_MAX {
            let message = format!("{} texts at once; {TEXTS_MAX} at most", texts.len());
            return Err(error("limit_exceeded", message));
        }
        let table = self.table_with(table, fields).await?;
        let is_short = |text: &&String| !text.is_empty() && text.chars().count() <= TEXT_MAX_CHARS;
        let sought: Vec<String> = texts.iter().filter(is_short).flat_map(|text| spellings(text)).collect();
        if sought.is_empty() || fields.is_empty() {
            return Ok(Vec::new());
        }
        let source = self.sources().await?.named(&table.head.datasource)?;
        let profile: Arc<Profile> = self.profile(source)?;
        let session = self.open(source).await?;
        let (begun, mut found) = (Instant::now(), Vec::new());
        for field in fields {
            let timeout = TIMEOUT.min(TIMEOUT_OF_ALL.saturating_sub(begun.elapsed()));
            if timeout.is_zero() {
                break;
            }
            let limits = QueryLimits { max_rows: VALUES_MAX as usize, max_bytes: BYTES_MAX, timeout };
            let statement = looking_for(&profile, &table, field, &sought)?;
            match session.run(&statement, limits).await {
                Ok(answer) => {
                    let cells = answer.rows.into_iter().filter_map(|row| shown(row.into_iter().next()?));
                    found.extend(cells.map(|value| FoundValue { field: field.clone(), value }));
                }
                // If one field of a table takes too long, the others would, too, and other tables.
                Err(cause) if cause.code == "timeout" && found.is_empty() => {
                    session.close().await;
                    return Err(cause);
                }
                Err(cause) if cause.code == "timeout" => break,
                Err(cause) if cause.code == "upstream_failed" => {}
                Err(cause) => {
                    session.close().await;
                    return Err(cause);
                }
            }
        }
        session.close().await;
        Ok(found)
    }

    /// Reads the values that are not cached, in one session.
    async fn fill(&self, table: &Table, fields: &[String]) -> Result<(), PluginError> {
        let sources = self.sources().await?;
        let source = sources.named(&table.head.datasource)?;
        let shared = self.state.shared_samples();
        let visible: Option<Arc<[i64]>> =
            if source.is_own() { sources.bound_ids().map(Arc::from) } else { None };
        let key_of = |field: &str| SharedKey {
            source: (source.id, source.updated_at_ms),
            visible: visible.clone(),
            table: table.head.id,
            field: field.to_owned(),
        };
        let is_missing = |name: &&String| {
            if self.samples.get(table.head.id, name).is_some() {
                return false;
            }
            shared.get(&key_of(name)).map(|values| self.samples.put(table.head.id, name, values)).is_none()
        };
        let missing: Vec<&String> = fields.iter().filter(is_missing).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let profile: Arc<Profile> = self.profile(source)?;
        let session = self.open(source).await?;
        let begun = Instant::now();
        // If one field of a table takes too long, the others would, too.
        let mut is_slow = false;
        for field in missing {
            let timeout = TIMEOUT.min(TIMEOUT_OF_ALL.saturating_sub(begun.elapsed()));
            if is_slow || timeout.is_zero() {
                self.samples.put(table.head.id, field, Arc::default());
                continue;
            }
            let limits = QueryLimits { max_rows: VALUES_MAX as usize, max_bytes: BYTES_MAX, timeout };
            let statement = statement(&profile, table, field)?;
            let answer = session.run(&statement, limits).await;
            is_slow = matches!(&answer, Err(cause) if cause.code == "timeout");
            // What failed once may be there for the next task.
            let is_read = answer.is_ok();
            let rows = match answer {
                Ok(answer) => answer.rows,
                // A field that fails has no samples.
                Err(cause) if is_slow || cause.code == "upstream_failed" => Vec::new(),
                Err(cause) => {
                    session.close().await;
                    return Err(cause);
                }
            };
            let cells: Values = rows.into_iter().filter_map(|row| shown(row.into_iter().next()?)).collect();
            if is_read {
                shared.put(key_of(field), Arc::clone(&cells));
            }
            self.samples.put(table.head.id, field, cells);
        }
        session.close().await;
        Ok(())
    }
}

fn statement(
    profile: &Profile,
    table: &Table,
    field: &str,
) -> Result<lakeport_sql::ReadStatement, PluginError> {
    let (name, about) = names_of(profile, table);
    let sql = |text: &str| Fragment::Sql(text.to_owned());
    let field = || Fragment::Name(vec![field.to_owned()]);
    let fragments = [
        sql("SELECT "),
        field(),
        sql(", count(*) FROM (SELECT "),
        field(),
        sql(" FROM "),
        Fragment::Name(name),
        sql(&format!(" LIMIT {ROWS_LOOKED_AT}) looked_at WHERE ")),
        field(),
        sql(" IS NOT NULL GROUP BY "),
        field(),
        sql(&format!(" ORDER BY 2 DESC, 1 LIMIT {VALUES_MAX}")),
    ];
    read_statement(profile, &fragments, std::slice::from_ref(&about))
}

/// The different values of a field among some.
fn looking_for(
    profile: &Profile,
    table: &Table,
    field: &str,
    sought: &[String],
) -> Result<lakeport_sql::ReadStatement, PluginError> {
    let (name, about) = names_of(profile, table);
    let sql = |text: &str| Fragment::Sql(text.to_owned());
    let field = || Fragment::Name(vec![field.to_owned()]);
    let mut fragments = vec![
        sql("SELECT DISTINCT "),
        field(),
        sql(" FROM "),
        Fragment::Name(name),
        sql(" WHERE "),
        field(),
        sql(" IN ("),
    ];
    for (at, text) in sought.iter().enumerate() {
        if at > 0 {
            fragments.push(sql(", "));
        }
        fragments.push(Fragment::Value(Cell::Text(text.clone())));
    }
    fragments.push(sql(&format!(") LIMIT {VALUES_MAX}")));
    read_statement(profile, &fragments, std::slice::from_ref(&about))
}

/// The name of a table in a statement, and what it reads.
fn names_of(profile: &Profile, table: &Table) -> (Vec<String>, TableName) {
    let head = &table.head;
    // The store's views have no database in their names.
    let is_alone = profile.transport == Transport::Sqlite || head.datasource == OWN_NAME;
    let database = if head.datasource == OWN_NAME { String::new() } else { head.database.clone() };
    let name = if is_alone { vec![head.name.clone()] } else { vec![database.clone(), head.name.clone()] };
    (name, TableName { database, name: head.name.clone() })
}

/// A text as it may be stored: as written, in lower or upper case, with capital letters.
fn spellings(text: &str) -> Vec<String> {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters.flat_map(char::to_lowercase)).collect())
    };
    let words: Vec<String> = text.split(' ').map(|word| capital(word).unwrap_or_default()).collect();
    let mut spellings = vec![
        text.to_owned(),
        text.to_lowercase(),
        text.to_uppercase(),
        words.join(" "),
        capital(text).unwrap_or_default(),
    ];
    spellings.sort_unstable();
    spellings.dedup();
    spellings
}

/// A value as a sample; `None` unless it is a text, number or truth value.
fn shown(value: Cell) -> Option<Cell> {
    match value {
        Cell::Null | Cell::Bytes(_) => None,
        Cell::Text(text) => Some(Cell::Text(shortened(&text, TEXT_MAX_CHARS))),
        other => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_sought_as_it_may_be_stored() {
        assert_eq!(
            spellings("north AMERICA"),
            ["NORTH AMERICA", "North America", "North america", "north AMERICA", "north america"]
        );
        assert_eq!(spellings("北京"), ["北京"]);
    }

    #[test]
    fn tasks_share_values_until_they_are_old_or_the_settings_change() {
        let key = |version: i64, field: &str| SharedKey {
            source: (1, version),
            visible: None,
            table: 7,
            field: field.to_owned(),
        };
        let (shared, values): (Shared, Values) = (Shared::default(), Arc::new([Cell::Integer(1)]));
        shared.put(key(1, "a"), Arc::clone(&values));
        assert_eq!(shared.get(&key(1, "a")), Some(values));
        assert!(shared.get(&key(2, "a")).is_none() && shared.get(&key(1, "b")).is_none());
        let bound = SharedKey { visible: Some(Arc::new([1])), ..key(1, "a") };
        assert!(shared.get(&bound).is_none(), "who sees other rows reads them");
        for place in 0..SHARED_MAX {
            shared.put(key(3, &place.to_string()), Arc::default());
        }
        assert_eq!(shared.0.lock().len(), SHARED_MAX, "no more are kept");
        let old = Instant::now().checked_sub(SHARED_FOR).expect("the machine runs for a minute");
        shared.0.lock().values_mut().for_each(|(read_at, _)| *read_at = old);
        assert!(shared.get(&key(1, "a")).is_none());
        shared.put(key(4, "a"), Arc::default());
        assert_eq!(shared.0.lock().len(), 1, "old ones make room");
    }
}
