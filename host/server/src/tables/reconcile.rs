//! Tables as a database has them, and what of it the catalogue takes over.
//!
//! The database has the last word on fields and keys, and on whatever else it says something of; what it has
//! no word for (a comment, an owner, a domain) stays as the catalogue has it. What is the same is not written.
//! Tables in the recycle bin are left alone.

use std::collections::{HashMap, HashSet};

use lakeport_base::Error;
use lakeport_bindings::dialect::schema::{DefaultValue, Field, Table};
use lakeport_store::Tx;
use serde::Serialize;

use super::definitions::{self, Drift};
use super::history::{self, Source};
use super::{TOPIC, change, drift, store};

/// Longer names are not taken in, in characters: the store's index has bounds of its own.
pub const NAME_MAX_CHARS: usize = 255;
/// Longer texts (types, comments, defaults) are cut off, in characters.
const TEXT_MAX_CHARS: usize = 10_000;
/// Fields of one table.
const FIELDS_MAX: usize = 10_000;
/// What stands between a table's name and the time at which it went into the recycle bin.
pub const RECYCLE_BIN: &str = "_deprecated_";
/// `yyyyMMddHHmmss`
const RECYCLE_BIN_TIME_DIGITS: usize = 14;

/// A table as it was found, within the catalogue's bounds.
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
    /// In their order.
    pub fields: Vec<FoundField>,
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

/// How many were new, how many changed, how many are no longer there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub new: i64,
    pub updated: i64,
    pub missing: i64,
}

/// What came of some tables.
#[derive(Debug, Default)]
pub struct Reconciled {
    pub tables: Counts,
    pub fields: Counts,
    /// Those of the catalogue that are there, by their ids.
    pub seen: Vec<i64>,
}

/// Whether a physical name is one that the recycle bin gives: such a table is not read in as new.
fn is_of_recycle_bin(name: &str) -> bool {
    name.rsplit_once(RECYCLE_BIN).is_some_and(|(table, time)| {
        !table.is_empty()
            && time.len() == RECYCLE_BIN_TIME_DIGITS
            && time.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Whether the catalogue can hold a table or field of this name; the reason goes on after the name.
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
    /// Or why the catalogue cannot hold it.
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
            fields: table.fields.iter().map(FoundField::of).collect(),
        })
    }
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

/// A text within its bound. PostgreSQL's texts have no NUL.
fn bounded(text: &str) -> String {
    text.chars().filter(|&c| c != '\0').take(TEXT_MAX_CHARS).collect()
}

/// The same; empty is none.
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
    /// It was found otherwise than it was to be.
    #[serde(skip)]
    pub has_drift: bool,
    /// What is to be kept of that now, as JSON.
    pub drift: Option<String>,
    pub comment: Option<String>,
    pub model: Option<String>,
    pub distribution: Option<String>,
    pub buckets: Option<i64>,
    pub replicas: Option<i64>,
    pub keys: Option<String>,
    pub partition: Option<String>,
    #[serde(skip)]
    pub fields: Vec<KnownField>,
}

/// A field as the catalogue has it, or is to have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KnownField {
    /// 0: it has none yet.
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

/// What the catalogue has to write so that one table is as it was found.
#[derive(Debug, Default)]
struct Difference {
    /// The table as it is to be.
    table: Option<Known>,
    /// A table whose drift is over, and nothing else: no change of it.
    settled: Option<i64>,
    new_fields: Vec<KnownField>,
    updated_fields: Vec<KnownField>,
    missing_fields: Vec<i64>,
    /// What became of its schema; none: nothing.
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
    /// What the catalogue had otherwise is kept with the table.
    fn tell(&mut self, drift: Vec<Drift>) -> Result<(), Error> {
        if let Some(table) = self.table.as_mut().filter(|_| !drift.is_empty()) {
            table.drift = Some(serde_json::to_string(&drift).map_err(Error::internal)?);
        }
        Ok(())
    }
}

impl Known {
    /// In all that a database may say something of.
    fn is_defined_as(&self, other: &Known) -> bool {
        let of = |table: &Known| {
            let table = table.clone();
            let texts = [table.comment, table.model, table.distribution, table.keys, table.partition];
            (texts, table.buckets, table.replicas)
        };
        of(self) == of(other)
    }
}

/// A look at some tables of one database.
pub struct Snapshot<'l> {
    pub cluster_id: i64,
    pub database: &'l str,
    /// The names of all that are there, found or not read.
    pub listed: &'l [String],
    pub found: &'l [FoundTable],
    /// What ended from here on may have come after it.
    pub began_ms: i64,
    /// Who looks. A change writes its part of the schema's history itself.
    pub source: Source,
}

/// Makes the catalogue have tables as they were found; those that it has and that are there are told back by
/// their ids.
pub async fn reconcile(tx: &mut Tx, look: &Snapshot<'_>, now_ms: i64) -> Result<Reconciled, Error> {
    let Snapshot { cluster_id, database, .. } = *look;
    let known = store::named(tx, cluster_id, database, look.listed).await?;
    // A change takes over itself what it made, and knows better than a look that began before its end. It ends
    // with its table locked, so that this comes second.
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
        // One in the recycle bin may have had the name before.
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
    let (mut tables, mut settled) = (Vec::new(), Vec::new());
    for difference in differences {
        tables.extend(difference.table);
        settled.extend(difference.settled);
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
    store::update(tx, &tables, now_ms).await?;
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

/// Some of a data source's tables, in the order of their ids.
pub struct Looked {
    /// That of the last one; none: those were all.
    pub last: Option<i64>,
    /// How many were found to be no longer there.
    pub missing: i64,
}

/// Looks at physical tables after an id: those that were not seen are physical no longer. Of databases that
/// could not be read nothing is known, and of tables that were changed since the look began neither.
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

/// How many tables, those in the recycle bin too, a data source has in the catalogue.
pub async fn count_of(tx: &mut Tx, cluster_id: i64) -> Result<i64, Error> {
    store::count_of(tx, cluster_id).await
}

#[cfg(test)]
#[path = "reconcile_tests.rs"]
mod tests;
