//! Reconciles the catalogue with tables as a database has them.
//!
//! Fields, keys and all properties that the database reports replace those of the catalogue. Properties that it
//! does not report (a comment, an owner, a domain) stay as they are. Equal values are not written. Tables in the
//! recycle bin are not changed. Foreign keys are no part of the schema's history: a change of them alone changes no
//! version.

use std::collections::{HashMap, HashSet};

use lakeport_base::Error;
use lakeport_bindings::dialect::schema::{DefaultValue, Field, Table};
use lakeport_physical::references;
use lakeport_store::Tx;
use serde::Serialize;

use super::definitions::{self, Drift};
use super::history::{self, Source};
use super::{TOPIC, change, drift, store};

/// The longest name that is read in, in characters: the store's index has a limit.
pub const NAME_MAX_CHARS: usize = 255;
/// The longest text (type, comment, default), in characters; longer ones are cut.
const TEXT_MAX_CHARS: usize = 10_000;
/// The most fields of one table.
const FIELDS_MAX: usize = 10_000;
/// The part of a recycled table's name between its original name and the time of its deletion.
pub const RECYCLE_BIN: &str = "_deprecated_";
/// `yyyyMMddHHmmss`
const RECYCLE_BIN_TIME_DIGITS: usize = 14;

/// A table as the database has it, within the catalogue's limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundTable {
    pub name: String,
    pub comment: Option<String>,
    pub model: Option<String>,
    pub distribution: Option<String>,
    pub buckets: Option<u32>,
    pub replicas: Option<u32>,
    /// None: it has no key.
    pub keys: Option<String>,
    pub partition: Option<String>,
    /// Its foreign keys of single fields, as a JSON array.
    pub foreign_keys: String,
    /// In order.
    pub fields: Vec<FoundField>,
}

impl FoundTable {
    /// Roughly the bytes of its texts.
    pub fn bytes(&self) -> usize {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let of_field = |field: &FoundField| field.name.len() + field.type_text.len() + text(&field.comment);
        self.name.len()
            + text(&self.comment)
            + self.foreign_keys.len()
            + self.fields.iter().map(of_field).sum::<usize>()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundField {
    pub name: String,
    pub type_text: String,
    pub comment: Option<String>,
    pub is_key: bool,
    pub is_nullable: bool,
    pub default: Option<String>,
}

/// The numbers of new, changed and missing tables or fields.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub new: i64,
    pub updated: i64,
    pub missing: i64,
}

/// The result of reconciling some tables.
#[derive(Debug, Default)]
pub struct Reconciled {
    pub tables: Counts,
    pub fields: Counts,
    /// The ids of the catalogue's tables that exist in the database.
    pub seen: Vec<i64>,
}

/// Whether a physical name has the form of the recycle bin's names: such a table is not read in as new.
fn is_of_recycle_bin(name: &str) -> bool {
    name.rsplit_once(RECYCLE_BIN).is_some_and(|(table, time)| {
        !table.is_empty()
            && time.len() == RECYCLE_BIN_TIME_DIGITS
            && time.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Checks whether the catalogue can store a table or field of this name; the error continues after the name.
pub fn check_name(name: &str) -> Result<(), String> {
    match name {
        "" => Err("has an empty name".to_owned()),
        _ if name.contains('\0') => Err("has a name with a NUL".to_owned()),
        _ if name.chars().count() > NAME_MAX_CHARS => Err(format!(
            "has a name of more than {NAME_MAX_CHARS} characters, which the catalogue cannot hold"
        )),
        _ => Ok(()),
    }
}

impl FoundTable {
    /// Converts a table; the error tells why the catalogue cannot store it.
    pub fn of(table: &Table) -> Result<FoundTable, String> {
        check_name(&table.name.name).map_err(|why| format!("the table {why}"))?;
        if table.fields.len() > FIELDS_MAX {
            return Err(format!(
                "the table has {} fields; {FIELDS_MAX} at most are read in",
                table.fields.len()
            ));
        }
        let mut names = HashSet::new();
        for field in &table.fields {
            check_name(&field.name).map_err(|why| format!("a field {why}"))?;
            if !names.insert(field.name.as_str()) {
                return Err(format!("the table is said to have two fields named {}", field.name));
            }
        }
        Ok(FoundTable {
            name: table.name.name.clone(),
            comment: said(&table.comment),
            model: table.model.as_deref().and_then(said),
            distribution: said(&table.distribution.join(",")),
            buckets: table.buckets,
            replicas: table.replicas,
            keys: said(&table.keys.join(",")),
            partition: said(&table.partition.join(",")),
            foreign_keys: foreign_keys(table),
            fields: table.fields.iter().map(FoundField::of).collect(),
        })
    }
}

/// Foreign keys as the catalogue stores them; those with names that it cannot store are left out.
fn foreign_keys(table: &Table) -> String {
    let mut found = references(table);
    found.retain(|one| {
        let names = [&one.field, &one.database, &one.table, &one.key];
        names.into_iter().all(|name| check_name(name).is_ok())
            && table.fields.iter().any(|field| field.name == one.field)
    });
    serde_json::to_string(&found).expect("texts can always be written as JSON")
}

impl FoundField {
    fn of(field: &Field) -> FoundField {
        FoundField {
            name: field.name.clone(),
            type_text: said(&field.type_text).unwrap_or_default(),
            comment: said(&field.comment),
            is_key: field.key,
            is_nullable: field.nullable,
            default: default_text(&field.defaults_to).map(|text| bounded(&text)),
        }
    }
}

/// A default as a user would write it.
fn default_text(default: &DefaultValue) -> Option<String> {
    match default {
        DefaultValue::Absent | DefaultValue::Null => None,
        DefaultValue::Text(text) | DefaultValue::Number(text) | DefaultValue::Expression(text) => {
            Some(text.clone())
        }
        DefaultValue::Boolean(value) => Some(value.to_string()),
        DefaultValue::Now(0) => Some("CURRENT_TIMESTAMP".to_owned()),
        DefaultValue::Now(digits) => Some(format!("CURRENT_TIMESTAMP({digits})")),
    }
}

/// The text cut to its limit. PostgreSQL cannot store NUL in texts.
fn bounded(text: &str) -> String {
    text.chars().filter(|&c| c != '\0').take(TEXT_MAX_CHARS).collect()
}

/// The same; `None` if it is empty.
fn said(text: &str) -> Option<String> {
    Some(bounded(text)).filter(|text| !text.is_empty())
}

/// A table as the catalogue has it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Known {
    pub id: i64,
    #[serde(skip)]
    pub name: String,
    #[serde(skip)]
    pub is_deprecated: bool,
    #[serde(skip)]
    pub is_physical: bool,
    /// Its last change or sync found drift.
    #[serde(skip)]
    pub has_drift: bool,
    /// The drift to store now, as JSON.
    pub drift: Option<String>,
    pub comment: Option<String>,
    pub model: Option<String>,
    pub distribution: Option<String>,
    pub buckets: Option<i64>,
    pub replicas: Option<i64>,
    pub keys: Option<String>,
    pub partition: Option<String>,
    /// Its foreign keys, as a JSON array.
    #[serde(skip)]
    pub foreign_keys: String,
    #[serde(skip)]
    pub fields: Vec<KnownField>,
}

/// A field as the catalogue has it, or should have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KnownField {
    /// 0: not inserted yet.
    pub id: i64,
    pub table_id: i64,
    pub name: String,
    pub type_text: String,
    pub comment: Option<String>,
    /// 0 or 1, as in the store.
    pub is_key: i64,
    pub is_nullable: i64,
    pub default: Option<String>,
    pub place: i64,
}

/// The foreign keys of a known table.
#[derive(Debug, Serialize)]
pub struct ForeignKeys {
    pub table_id: i64,
    /// A JSON array.
    pub foreign_keys: String,
}

/// The writes that bring one table of the catalogue to the state in the database.
#[derive(Debug, Default)]
struct Difference {
    /// The new values of the table.
    table: Option<Known>,
    /// The id of an unchanged table whose drift has ended.
    settled: Option<i64>,
    new_fields: Vec<KnownField>,
    updated_fields: Vec<KnownField>,
    missing_fields: Vec<i64>,
    /// Its other foreign keys.
    foreign_keys: Option<ForeignKeys>,
    /// The change of its schema, if there is one.
    history: Option<history::New>,
}

fn difference(known: &Known, found: &FoundTable) -> Difference {
    let number = |count: Option<u32>, before: Option<i64>| count.map(i64::from).or(before);
    let text = |said: &Option<String>, before: &Option<String>| said.clone().or_else(|| before.clone());
    let table = Known {
        comment: text(&found.comment, &known.comment),
        model: text(&found.model, &known.model),
        distribution: text(&found.distribution, &known.distribution),
        buckets: number(found.buckets, known.buckets),
        replicas: number(found.replicas, known.replicas),
        keys: found.keys.clone(),
        partition: text(&found.partition, &known.partition),
        ..known.clone()
    };
    let before: HashMap<&str, &KnownField> =
        known.fields.iter().map(|field| (field.name.as_str(), field)).collect();
    let wanted =
        found.fields.iter().enumerate().map(|(index, field)| {
            wanted_field(known.id, index, field, before.get(field.name.as_str()).copied())
        });
    let wanted: Vec<KnownField> = wanted.collect();
    let names: HashSet<&str> = wanted.iter().map(|field| field.name.as_str()).collect();
    let missing = known.fields.iter().filter(|field| !names.contains(field.name.as_str()));
    let mut difference =
        Difference { missing_fields: missing.map(|field| field.id).collect(), ..Difference::default() };
    for field in &wanted {
        match before.get(field.name.as_str()) {
            None => difference.new_fields.push(field.clone()),
            Some(before) if *before != field => difference.updated_fields.push(field.clone()),
            Some(_) => {}
        }
    }
    if known.foreign_keys != found.foreign_keys {
        let foreign_keys = found.foreign_keys.clone();
        difference.foreign_keys = Some(ForeignKeys { table_id: known.id, foreign_keys });
    }
    let is_same = known.is_physical
        && table.is_defined_as(known)
        && difference.new_fields.is_empty()
        && difference.updated_fields.is_empty()
        && difference.missing_fields.is_empty();
    if !is_same {
        difference.history = history::of_found(known, &table, &wanted);
        difference.table = Some(table);
    } else if known.has_drift {
        difference.settled = Some(known.id);
    }
    difference
}

fn wanted_field(table_id: i64, index: usize, found: &FoundField, before: Option<&KnownField>) -> KnownField {
    KnownField {
        id: before.map_or(0, |field| field.id),
        table_id,
        name: found.name.clone(),
        type_text: found.type_text.clone(),
        comment: found.comment.clone().or_else(|| before.and_then(|field| field.comment.clone())),
        is_key: found.is_key.into(),
        is_nullable: found.is_nullable.into(),
        default: found.default.clone(),
        place: index as i64 + 1,
    }
}

impl Difference {
    /// Stores the drift with a changed table.
    fn tell(&mut self, drift: Vec<Drift>) -> Result<(), Error> {
        if let Some(table) = self.table.as_mut().filter(|_| !drift.is_empty()) {
            table.drift = Some(serde_json::to_string(&drift).map_err(Error::internal)?);
        }
        Ok(())
    }
}

impl Known {
    /// Compares all properties that a database may report.
    fn is_defined_as(&self, other: &Known) -> bool {
        let of = |table: &Known| {
            let table = table.clone();
            let texts = [table.comment, table.model, table.distribution, table.keys, table.partition];
            (texts, table.buckets, table.replicas)
        };
        of(self) == of(other)
    }
}

/// Some tables of one database, read at one time.
pub struct Snapshot<'l> {
    pub cluster_id: i64,
    pub database: &'l str,
    /// The names of all existing tables, including unreadable ones.
    pub listed: &'l [String],
    pub found: &'l [FoundTable],
    /// When reading began: changes that ended later may be missing from the snapshot.
    pub began_ms: i64,
    /// The reader: a sync or a change. A change writes its schema history itself.
    pub source: Source,
}

/// Updates the catalogue to a snapshot: adds new tables, changes known ones. `Reconciled::seen` lists the tables of
/// the catalogue that exist in the database.
pub async fn reconcile(tx: &mut Tx, look: &Snapshot<'_>, now_ms: i64) -> Result<Reconciled, Error> {
    let Snapshot { cluster_id, database, .. } = *look;
    let known = store::named(tx, cluster_id, database, look.listed).await?;
    // A change updates the catalogue itself, and its result is newer than a snapshot that began before its end.
    // Changes end while they lock the table's row, so they are read after the tables.
    let changed = change::store::changed_since(tx, cluster_id, database, look.began_ms).await?;
    let is_changed = |name: &str, known: Option<&&Known>| {
        changed.iter().any(|(id, before, after)| {
            before == name || after == name || known.is_some_and(|known| known.id == *id)
        })
    };
    let seen = known.iter().map(|table| table.id).chain(changed.iter().map(|(id, ..)| *id));
    let mut taken = Reconciled { seen: seen.collect(), ..Reconciled::default() };
    let mut by_name: HashMap<&str, &Known> = HashMap::new();
    for table in &known {
        let known = by_name.entry(&table.name).or_insert(table);
        // A recycled table of this name takes precedence.
        if known.is_deprecated {
            *known = table;
        }
    }
    let (mut new, mut differences) = (Vec::new(), Vec::new());
    for table in look.found {
        match by_name.get(table.name.as_str()) {
            known if is_changed(&table.name, known) => {}
            None if is_of_recycle_bin(&table.name) => {}
            None => new.push(table),
            Some(known) if known.is_deprecated => {}
            Some(known) => {
                let mut difference = difference(known, table);
                if look.source == Source::Sync {
                    difference.tell(drift::of_found(known, table))?;
                }
                differences.push(difference);
            }
        }
    }
    let made = store::insert(tx, cluster_id, database, &new, now_ms).await?;
    taken.tables.new = made.len() as i64;
    for table in new {
        let Some(&id) = made.get(table.name.as_str()) else { continue };
        taken.seen.push(id);
        tx.changed(TOPIC, id.to_string());
        let fields = table.fields.iter().enumerate();
        let new_fields = fields.map(|(index, field)| wanted_field(id, index, field, None)).collect();
        let history = Some(history::New::created(id, &table.name));
        differences.push(Difference { new_fields, history, ..Difference::default() });
    }
    if look.source == Source::Sync {
        let new: Vec<history::New> = differences.iter_mut().filter_map(|of| of.history.take()).collect();
        history::add(tx, &new, Source::Sync, None, now_ms).await?;
    }
    write(tx, differences, &mut taken, now_ms).await?;
    Ok(taken)
}

async fn write(
    tx: &mut Tx,
    differences: Vec<Difference>,
    taken: &mut Reconciled,
    now_ms: i64,
) -> Result<(), Error> {
    let mut whole = Difference::default();
    let (mut tables, mut settled, mut foreign_keys) = (Vec::new(), Vec::new(), Vec::new());
    for difference in differences {
        tables.extend(difference.table);
        settled.extend(difference.settled);
        foreign_keys.extend(difference.foreign_keys);
        whole.new_fields.extend(difference.new_fields);
        whole.updated_fields.extend(difference.updated_fields);
        whole.missing_fields.extend(difference.missing_fields);
    }
    for table in &tables {
        tx.changed(TOPIC, table.id.to_string());
    }
    for id in settled {
        definitions::store::set_drift(tx, id, &[]).await?;
        tx.changed(TOPIC, id.to_string());
    }
    // Definitions are kept until a table changes, keys included.
    for table in &foreign_keys {
        tx.changed(TOPIC, table.table_id.to_string());
    }
    store::update(tx, &tables, now_ms).await?;
    store::update_foreign_keys(tx, &foreign_keys).await?;
    store::delete_fields(tx, &whole.missing_fields).await?;
    store::update_fields(tx, &whole.updated_fields, now_ms).await?;
    store::insert_fields(tx, &whole.new_fields, now_ms).await?;
    taken.tables.updated = tables.len() as i64;
    taken.fields = Counts {
        new: whole.new_fields.len() as i64,
        updated: whole.updated_fields.len() as i64,
        missing: whole.missing_fields.len() as i64,
    };
    Ok(())
}

/// A batch of a data source's tables, in the order of their ids.
pub struct Looked {
    /// The id of the last one; none: there are no more.
    pub last: Option<i64>,
    /// The number of tables that were marked as missing.
    pub missing: i64,
}

/// Marks a batch of physical tables after an id as missing if they were not seen. Skips tables of unread databases,
/// and tables that changed since reading began.
pub async fn mark_missing(
    tx: &mut Tx,
    cluster_id: i64,
    after_id: i64,
    seen: &HashSet<i64>,
    unread: &HashSet<String>,
    began_ms: i64,
    now_ms: i64,
) -> Result<Looked, Error> {
    let tables = store::physical_after(tx, cluster_id, after_id, began_ms).await?;
    let last = tables.last().map(|(id, ..)| *id);
    let is_gone = |(id, database, is_changed): &(i64, String, bool)| {
        !is_changed && !seen.contains(id) && !unread.contains(database)
    };
    let gone: Vec<i64> = tables.into_iter().filter(is_gone).map(|(id, ..)| id).collect();
    let told = serde_json::to_string(&drift::of_missing()).map_err(Error::internal)?;
    let gone = store::set_missing(tx, &gone, &told, now_ms).await?;
    for id in &gone {
        tx.changed(TOPIC, id.to_string());
    }
    let new: Vec<history::New> = gone.iter().map(|id| history::New::missing(*id)).collect();
    history::add(tx, &new, Source::Sync, None, now_ms).await?;
    Ok(Looked { last, missing: gone.len() as i64 })
}

/// The number of a data source's tables in the catalogue, recycled ones included.
pub async fn count_of(tx: &mut Tx, cluster_id: i64) -> Result<i64, Error> {
    store::count_of(tx, cluster_id).await
}

#[cfg(test)]
#[path = "reconcile_tests.rs"]
mod tests;
