//! Loads the schemas that a question may be about from the host's catalogue, with samples of values.

use std::collections::{HashMap, HashSet};

use lakeport_sdk::tool::catalog::{self, Datasource, Filter};
use lakeport_sdk::tool::samples;
use lakeport_sdk::tool::tables::TableHead;
use lakeport_sdk::tool::{Cell, Error, Page, Timestamp, clock};

use crate::calendar::Day;
use crate::dialect::Dialect;
use crate::explain;
use crate::known::Known;
use crate::schema::{Field, Kind, Place, Reference, Schema, Table};
use crate::understand::{self, named_tables};

/// The value of `database` for a data source that is a single file, whose tables are named without it.
const FILE: &str = "file";
/// Tables of one data source that are loaded; of more, those that fit the question best.
const TABLES_MAX: u32 = 60;
/// Fields of these tables, in their order.
const FIELDS_MAX: usize = 3_000;
/// Tables whose values are sampled.
const SAMPLED_TABLES: usize = 10;
/// Tables in which values are looked up.
const SEARCHED_TABLES: usize = 6;
/// Fields of a table whose values are sampled.
const SAMPLED_FIELDS: usize = 50;
/// Sampled values of a field.
const SAMPLED_VALUES: u32 = 20;

/// A data source that may have the answer.
pub struct Offered {
    datasource: Datasource,
    /// Tables of it, those that fit the question first where there are many.
    heads: Vec<TableHead>,
}

/// A data source's tables with their ids, in the schema's order.
pub struct Source {
    pub schema: Schema,
    ids: Vec<u64>,
}

/// The data sources that may have the answer, the preferred one first.
pub fn sources(
    question: &str,
    mut known: Vec<Datasource>,
    wanted: Option<&str>,
    preferred: Option<&str>,
    tables: &[String],
    chinese: bool,
) -> Result<Vec<Offered>, Error> {
    if let Some(name) = wanted {
        known.retain(|source| source.name == name);
        match known.first() {
            None => return Err(Error::not_found(explain::no_datasource(name, chinese))),
            Some(source) if Dialect::of(&source.kind).is_none() => {
                return Err(Error::new("cannot_answer", explain::other_kind(name, &source.kind, chinese)));
            }
            Some(_) => {}
        }
    }
    known.retain(|source| Dialect::of(&source.kind).is_some());
    known.sort_by_key(|source| Some(source.name.as_str()) != preferred);
    let named: Vec<TableHead> = named(tables, chinese)?;
    let mut sources = Vec::new();
    for datasource in known {
        let heads = if tables.is_empty() {
            fitting(question, &datasource)?
        } else {
            named.iter().filter(|head| head.datasource == datasource.name).cloned().collect()
        };
        if !heads.is_empty() {
            sources.push(Offered { datasource, heads });
        }
    }
    Ok(sources)
}

/// The tables in the input.
fn named(tables: &[String], chinese: bool) -> Result<Vec<TableHead>, Error> {
    let mut heads = Vec::new();
    for name in tables {
        let found = catalog::resolve(name)?;
        if found.is_empty() {
            return Err(Error::not_found(explain::no_table(name, chinese)));
        }
        heads.extend(found.into_iter().filter(|head| head.physical));
    }
    Ok(heads)
}

/// All tables; of more than are sampled, the best matches for the question first, up to the limit.
fn fitting(question: &str, source: &Datasource) -> Result<Vec<TableHead>, Error> {
    let filter =
        Filter { datasource: Some(source.name.clone()), database: None, layer: None, business_domain: None };
    let page = Page { cursor: None, limit: TABLES_MAX };
    let mut heads = catalog::tables(&filter, &page)?.tables;
    if heads.len() > SAMPLED_TABLES {
        let hits = catalog::search(question, &filter, &page)?.hits;
        heads.splice(..0, hits.into_iter().map(|hit| hit.table));
    }
    let mut names: HashSet<String> = HashSet::new();
    heads.retain(|head| head.physical && names.insert(head.name.clone()));
    heads.truncate(TABLES_MAX as usize);
    Ok(heads)
}

impl Offered {
    /// How many of its tables a question calls by their names or comments; `None` if some have none, and may have a
    /// description, which only [`Offered::read`] brings.
    pub fn named(&self, question: &str, today: Day) -> Option<usize> {
        if self.heads.iter().any(|head| head.comment.is_empty()) {
            return None;
        }
        let table = |head: &TableHead| Table {
            name: head.name.clone(),
            comment: head.comment.clone(),
            ..Table::default()
        };
        let schema = Schema { tables: self.heads.iter().map(table).collect(), ..Schema::default() };
        Some(named_tables(question, &Known::of(&schema), today).len())
    }

    /// With the fields of its tables.
    pub fn read(self) -> Result<Source, Error> {
        with_fields(self.datasource, &self.heads)
    }
}

fn with_fields(datasource: Datasource, heads: &[TableHead]) -> Result<Source, Error> {
    let ids: Vec<u64> = heads.iter().map(|head| head.id).collect();
    let dialect = Dialect::of(&datasource.kind).unwrap_or_default();
    let is_file = datasource.database_term == FILE;
    let schema = Schema { datasource: datasource.name, dialect, ..Schema::default() };
    let mut source = Source { schema, ids: Vec::new() };
    let mut fields_left = FIELDS_MAX;
    for table in catalog::get(&ids)?.into_iter().flatten() {
        if !is_plain(&table.head.name) || fields_left == 0 {
            continue;
        }
        let fields = table.fields.into_iter().filter(|field| is_plain(&field.name));
        let fields: Vec<Field> = fields.take(fields_left).map(field).collect();
        fields_left -= fields.len();
        source.ids.push(table.head.id);
        source.schema.tables.push(Table {
            database: Some(table.head.database).filter(|_| !is_file),
            name: table.head.name,
            comment: table.head.comment,
            fields,
            tags: Vec::new(),
        });
    }
    source.add_details();
    Ok(source)
}

/// Names with line breaks and the like are left out: the clauses of a statement are told apart by its lines.
fn is_plain(name: &str) -> bool {
    !name.contains(char::is_control)
}

/// A field by its name.
fn place(schema: &Schema, table: usize, name: &str) -> Option<Place> {
    let field = schema.tables[table].fields.iter().position(|field| field.name == name)?;
    Some(Place { table, field })
}

fn field(field: catalog::Field) -> Field {
    Field {
        name: field.name,
        type_text: field.type_text,
        comment: field.comment,
        key: field.key,
        values: Vec::new(),
    }
}

impl Source {
    /// Adds tags and declared foreign keys. Without them joins are only guessed from names and types.
    fn add_details(&mut self) {
        let details = match catalog::details(&self.ids) {
            Ok(details) => details,
            Err(error) => {
                lakeport_sdk::info!("no tags and keys"; "code" => error.code, "message" => error.message);
                return;
            }
        };
        let tables: HashMap<u64, usize> =
            self.ids.iter().enumerate().map(|(table, id)| (*id, table)).collect();
        for (table, details) in details.into_iter().enumerate().take(self.ids.len()) {
            let Some(details) = details else { continue };
            let schema = &mut self.schema;
            schema.tables[table].tags = details.tags.into_iter().filter(|tag| is_plain(tag)).collect();
            for reference in details.references {
                let Some(field) = place(schema, table, &reference.field) else { continue };
                let parent = tables.get(&reference.table);
                let key = parent.and_then(|parent| place(schema, *parent, &reference.key));
                schema.references.push(Reference { field, key });
            }
        }
    }

    /// Looks in the database for words of the question that nothing is called: values beyond the samples. Whether there are
    /// any.
    pub fn look_up(&mut self, question: &str, today: Day, until: Timestamp) -> bool {
        let known = Known::of(&self.schema);
        let texts = understand::read(question, &known, today).unknown_values();
        if texts.is_empty() {
            return false;
        }
        let tables = tables_near(question, &known, today);
        let mut has_found = false;
        for table in tables.into_iter().take(SEARCHED_TABLES) {
            if clock::now() > until {
                break;
            }
            let fields = &mut self.schema.tables[table].fields;
            let names: Vec<String> = fields
                .iter()
                .filter(|field| field.kind() == Kind::Text)
                .map(|field| field.name.clone())
                .take(SAMPLED_FIELDS)
                .collect();
            if names.is_empty() {
                continue;
            }
            match samples::find(self.ids[table], &names, &texts) {
                Ok(found) => {
                    for one in found {
                        let field = fields.iter_mut().find(|field| field.name == one.field);
                        if let (Some(field), Some(value)) = (field, text(&one.value)) {
                            has_found = true;
                            field.values.push(value);
                        }
                    }
                }
                Err(error) => {
                    lakeport_sdk::info!("nothing was looked up"; "code" => error.code, "message" => error.message);
                    break;
                }
            }
        }
        has_found
    }

    /// Samples values of the tables that the question names, and of their neighbours. Missing or late samples
    /// only reduce the recognised values.
    pub fn sample(&mut self, question: &str, today: Day, until: Timestamp) {
        let all = self.schema.tables.len();
        let tables = if all > SAMPLED_TABLES {
            tables_near(question, &Known::of(&self.schema), today)
        } else {
            (0..all).collect()
        };
        for table in tables.into_iter().take(SAMPLED_TABLES) {
            if clock::now() > until {
                return;
            }
            self.sample_table(table);
        }
    }

    /// Samples values of the tables that the question names by their tags.
    pub fn sample_tagged(&mut self, question: &str, today: Day, until: Timestamp) {
        let tables = named_tables(question, &Known::with_tags(&self.schema), today);
        for table in tables.into_iter().take(SAMPLED_TABLES) {
            if clock::now() > until {
                return;
            }
            self.sample_table(table);
        }
    }

    fn sample_table(&mut self, table: usize) {
        let fields = &mut self.schema.tables[table].fields;
        let names: Vec<String> = fields
            .iter()
            .filter(|field| !matches!(field.kind(), Kind::Number | Kind::Other))
            .map(|field| field.name.clone())
            .take(SAMPLED_FIELDS)
            .collect();
        if names.is_empty() {
            return;
        }
        match samples::fields(self.ids[table], &names, SAMPLED_VALUES) {
            Ok(found) => {
                for sample in found {
                    if let Some(field) = fields.iter_mut().find(|field| field.name == sample.field) {
                        field.values = sample.values.iter().filter_map(text).collect();
                    }
                }
            }
            Err(error) => lakeport_sdk::info!("no samples"; "code" => error.code, "message" => error.message),
        }
    }
}

/// The tables that the question names, then their neighbours, then the others.
fn tables_near(question: &str, known: &Known<'_>, today: Day) -> Vec<usize> {
    let mut tables = named_tables(question, known, today);
    let near: Vec<usize> = tables.iter().flat_map(|table| known.links.neighbours(*table)).collect();
    tables.extend(near);
    tables.extend(0..known.schema.tables.len());
    let mut seen = HashSet::new();
    tables.retain(|table| seen.insert(*table));
    tables
}

fn text(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Text(text) => Some(text.clone()),
        Cell::Integer(number) => Some(number.to_string()),
        Cell::Float(number) => Some(number.to_string()),
        Cell::Boolean(_) | Cell::Null | Cell::Bytes(_) => None,
    }
}
