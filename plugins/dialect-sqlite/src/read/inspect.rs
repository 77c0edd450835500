//! Inspects tables: four queries for all tables together, two more if some have foreign keys, and one for their
//! fields, which is repeated in halves when a part of it fails.

use std::collections::{BTreeMap, BTreeSet};

use lakeport_sdk::Row;
use lakeport_sdk::dialect::{Connection, Error, Field, Limits, Query, Reference, RowSet, Table, TableName};

use super::{in_main, no_table};
use crate::DATABASE;
use crate::create_text::{self, ColumnText, CreateText};
use crate::facts::{self, TableFacts};
use crate::{defaults, lexer};

/// The name in `foreignKeys` that stands for the table itself.
const ITSELF: &str = "itself";
/// The entry in `mentionedBy` if not all views and triggers fitted into an answer.
const NOT_ALL_READ: &str = "(not all of them could be read)";

/// The answers of the queries.
pub struct Answers {
    /// name, kind, sql: tables and views.
    pub heads: RowSet,
    /// table_name, index_name, is_unique, origin, partial: indexes.
    pub indexes: RowSet,
    /// child, parent, on_update, on_delete: foreign keys of the tables and to them.
    pub foreign_keys: RowSet,
    /// child, number, field, parent, key, is_unique: fields of the tables' foreign keys.
    pub references: RowSet,
    /// name: the parents as they are named, whatever the case in a foreign key.
    pub parents: RowSet,
    /// name, kind, table_name, sql: all views and triggers of the file.
    pub users: RowSet,
    /// Fields by table: name, type, not_null, default_text, key_part, hidden.
    pub fields: BTreeMap<String, Result<RowSet, Error>>,
}

/// Tables in the requested order.
pub fn inspect(connection: &Connection, tables: &[TableName]) -> Result<Vec<Result<Table, Error>>, Error> {
    let names: Vec<&str> = tables
        .iter()
        .filter(|table| in_main(&table.database).is_ok())
        .map(|table| table.name.as_str())
        .collect();
    let mut fields = BTreeMap::new();
    read_fields(connection, &names, &mut fields);
    let foreign_keys = foreign_keys_query(&names).run(connection)?;
    let (references, parents) = references(connection, &names, &foreign_keys)?;
    let answers = Answers {
        heads: heads_query(&names).run(connection)?,
        indexes: indexes_query(&names).run(connection)?,
        foreign_keys,
        references,
        parents,
        users: users_query().run_within(connection, Limits { max_rows: 0, max_bytes: 0, timeout_ms: 0 })?,
        fields,
    };
    Ok(tables_of(tables, &answers))
}

/// A view that no longer works fails the query for all, and many fields may not fit: so it is split into
/// halves.
fn read_fields(connection: &Connection, names: &[&str], into: &mut BTreeMap<String, Result<RowSet, Error>>) {
    if names.is_empty() {
        return;
    }
    match (fields_query(names).run(connection), names) {
        (Ok(rows), _) => {
            for name in names {
                into.insert((*name).to_owned(), Ok(of_table(&rows, "table_name", name)));
            }
        }
        (Err(error), [name]) => {
            into.insert((*name).to_owned(), Err(error));
        }
        (Err(_), _) => {
            let (one, other) = names.split_at(names.len() / 2);
            read_fields(connection, one, into);
            read_fields(connection, other, into);
        }
    }
}

fn heads_query(names: &[&str]) -> Query {
    Query::new(
        "SELECT s.name AS name, s.type AS kind, s.sql AS sql FROM sqlite_schema AS s \
         WHERE s.type IN ('table', 'view') AND s.name IN (",
    )
    .values(names.iter().copied())
    .sql(")")
}

fn fields_query(names: &[&str]) -> Query {
    Query::new(
        "SELECT s.name AS table_name, c.name AS name, c.type AS type, c.\"notnull\" AS not_null, \
         c.dflt_value AS default_text, c.pk AS key_part, c.hidden AS hidden \
         FROM sqlite_schema AS s JOIN pragma_table_xinfo(s.name) AS c \
         WHERE s.type IN ('table', 'view') AND s.name IN (",
    )
    .values(names.iter().copied())
    .sql(") ORDER BY s.name, c.cid")
}

fn indexes_query(names: &[&str]) -> Query {
    Query::new(
        "SELECT s.name AS table_name, i.name AS index_name, i.\"unique\" AS is_unique, i.origin AS origin, \
         i.partial AS partial FROM sqlite_schema AS s JOIN pragma_index_list(s.name) AS i \
         WHERE s.type = 'table' AND s.name IN (",
    )
    .values(names.iter().copied())
    .sql(")")
}

fn foreign_keys_query(names: &[&str]) -> Query {
    Query::new(
        "SELECT s.name AS child, f.\"table\" AS parent, f.on_update AS on_update, f.on_delete AS on_delete \
         FROM sqlite_schema AS s JOIN pragma_foreign_key_list(s.name) AS f \
         WHERE s.type = 'table' AND f.seq = 0 AND (s.name IN (",
    )
    .values(names.iter().copied())
    .sql(") OR lower(f.\"table\") IN (")
    .values(names.iter().map(|name| name.to_ascii_lowercase()))
    .sql("))")
}

/// The fields of foreign keys, and the parents' names. Without any, nothing is queried. If a query fails or its answer
/// does not fit, the tables have no references: changes do not need them.
fn references(
    connection: &Connection,
    names: &[&str],
    foreign_keys: &RowSet,
) -> Result<(RowSet, RowSet), Error> {
    let none = || RowSet { columns: Vec::new(), rows: Vec::new(), truncated: false };
    let mut parents = BTreeSet::new();
    for row in foreign_keys.iter() {
        if names.contains(&row.text("child")?) {
            parents.insert(row.text("parent")?.to_ascii_lowercase());
        }
    }
    if parents.is_empty() {
        return Ok((none(), none()));
    }
    let read = || Ok((references_query(names).run(connection)?, parents_query(&parents).run(connection)?));
    read().or_else(|error: Error| match error.code.as_str() {
        "limit_exceeded" | "upstream_failed" => Ok((none(), none())),
        _ => Err(error),
    })
}

/// One row for each field of a foreign key; for a key without named fields, one for each field of the parent's key.
fn references_query(names: &[&str]) -> Query {
    Query::new(
        "SELECT s.name AS child, f.id AS number, f.\"from\" AS field, f.\"table\" AS parent, c.name AS key, \
         CASE WHEN c.pk = 1 AND (SELECT count(*) FROM pragma_table_xinfo(f.\"table\") AS o WHERE o.pk > 0) = 1 \
         THEN 1 ELSE EXISTS (SELECT 1 FROM pragma_index_list(f.\"table\") AS i \
         WHERE i.\"unique\" = 1 AND i.partial = 0 \
         AND (SELECT count(*) FROM pragma_index_info(i.name)) = 1 \
         AND (SELECT x.name FROM pragma_index_info(i.name) AS x) = c.name) END AS is_unique \
         FROM sqlite_schema AS s JOIN pragma_foreign_key_list(s.name) AS f \
         JOIN pragma_table_xinfo(f.\"table\") AS c \
         ON lower(c.name) = lower(f.\"to\") OR (f.\"to\" IS NULL AND c.pk > 0) \
         WHERE s.type = 'table' AND s.name IN (",
    )
    .values(names.iter().copied())
    .sql(")")
}

fn parents_query(parents: &BTreeSet<String>) -> Query {
    Query::new("SELECT s.name AS name FROM sqlite_schema AS s WHERE s.type = 'table' AND lower(s.name) IN (")
        .values(parents.iter().map(String::as_str))
        .sql(")")
}

fn users_query() -> Query {
    Query::new(
        "SELECT s.name AS name, s.type AS kind, s.tbl_name AS table_name, s.sql AS sql \
         FROM sqlite_schema AS s WHERE s.type IN ('view', 'trigger')",
    )
}

/// Builds tables from answers, in the requested order.
pub fn tables_of(tables: &[TableName], answers: &Answers) -> Vec<Result<Table, Error>> {
    tables.iter().map(|table| table_of(table, answers)).collect()
}

fn table_of(table: &TableName, answers: &Answers) -> Result<Table, Error> {
    in_main(&table.database)?;
    let head = rows_of(&answers.heads, "name", &table.name).next().ok_or_else(|| no_table(table))?;
    let rows = match answers.fields.get(&table.name) {
        Some(rows) => rows.as_ref().map_err(Clone::clone)?,
        None => return Err(no_table(table)),
    };
    let sql = head.optional_text("sql")?.unwrap_or_default();
    let kind = match head.text("kind")? {
        "table" if is_virtual(sql) => "external",
        kind => kind,
    };
    let text = if kind == "table" { create_text::read(sql) } else { None };
    let text = text.filter(|text| has_columns(text, rows));
    let (fields, keys) = fields_of(rows, text.as_ref())?;
    let extra = match kind {
        "table" => Some(facts_of(table, text.as_ref(), answers)?.to_json()),
        _ => None,
    };
    Ok(Table {
        name: table.clone(),
        kind: kind.to_owned(),
        comment: String::new(),
        fields,
        keys,
        model: None,
        distribution: Vec::new(),
        buckets: None,
        replicas: None,
        partition: Vec::new(),
        companions: Vec::new(),
        extra,
    })
}

fn is_virtual(sql: &str) -> bool {
    let mut words = sql.split_ascii_whitespace();
    words.next().is_some_and(|word| word.eq_ignore_ascii_case("CREATE"))
        && words.next().is_some_and(|word| word.eq_ignore_ascii_case("VIRTUAL"))
}

/// Whether the parsed statement has exactly the columns of the table.
fn has_columns(text: &CreateText, rows: &RowSet) -> bool {
    let names: Vec<_> = rows.iter().map(|row| row.text("name").unwrap_or_default()).collect();
    text.columns.iter().map(|column| column.name.as_str()).eq(names)
}

fn fields_of(rows: &RowSet, text: Option<&CreateText>) -> Result<(Vec<Field>, Vec<String>), Error> {
    let mut fields = Vec::new();
    let mut keys = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        // 1: a hidden column of a virtual table. 2 and 3: generated columns.
        let hidden = row.integer("hidden")?;
        if hidden == 1 {
            continue;
        }
        let field = field_of(&row, hidden > 1, text.map(|text| &text.columns[index]))?;
        let part = row.integer("key_part")?;
        if part > 0 {
            keys.push((part, field.name.clone()));
        }
        fields.push(field);
    }
    keys.sort_unstable();
    Ok((fields, keys.into_iter().map(|(_, name)| name).collect()))
}

fn field_of(row: &Row<'_>, is_generated: bool, text: Option<&ColumnText>) -> Result<Field, Error> {
    let expression = text.and_then(|text| text.generated.clone()).unwrap_or_default();
    Ok(Field {
        name: row.text("name")?.to_owned(),
        type_text: row.text("type")?.to_owned(),
        nullable: !row.boolean("not_null")?,
        key: row.integer("key_part")? > 0,
        comment: String::new(),
        defaults_to: defaults::read(row.optional_text("default_text")?),
        generated: is_generated.then_some(expression),
        extra: text.and_then(|text| facts::field_json(text.losses.iter())),
    })
}

fn facts_of(table: &TableName, text: Option<&CreateText>, answers: &Answers) -> Result<TableFacts, Error> {
    let mut facts = TableFacts {
        understood: text.is_some(),
        constraints: text.map(|text| text.losses.iter().cloned().collect()).unwrap_or_default(),
        ..TableFacts::default()
    };
    for row in rows_of(&answers.indexes, "table_name", &table.name) {
        facts.indexes.extend(index_of(&row)?);
    }
    for row in answers.foreign_keys.iter() {
        let (child, parent) = (row.text("child")?, row.text("parent")?);
        let (from_here, to_here) = (child == table.name, parent.eq_ignore_ascii_case(&table.name));
        if from_here {
            let parent = if to_here { ITSELF } else { parent };
            let actions = (row.text("on_delete")?, row.text("on_update")?);
            facts.foreign_keys.push(format!("{parent} (on delete {}, on update {})", actions.0, actions.1));
        } else if to_here {
            facts.referenced_by.push(child.to_owned());
        }
    }
    facts.referenced_by.sort_unstable();
    facts.referenced_by.dedup();
    facts.references = references_of(&table.name, answers)?;
    for row in answers.users.iter() {
        let name = row.text("name")?.to_owned();
        if row.text("kind")? == "trigger" && row.text("table_name")?.eq_ignore_ascii_case(&table.name) {
            facts.triggers.push(name);
        } else if row.optional_text("sql")?.is_none_or(|sql| lexer::mentions(sql, &table.name)) {
            facts.mentioned_by.push(name);
        }
    }
    if answers.users.truncated {
        facts.mentioned_by.push(NOT_ALL_READ.to_owned());
    }
    Ok(facts)
}

/// Foreign keys of single fields to fields that identify a row. SQLite does not check whether they do before a row
/// is written.
fn references_of(child: &str, answers: &Answers) -> Result<Vec<Reference>, Error> {
    let mut fields_of: BTreeMap<i64, Vec<Row<'_>>> = BTreeMap::new();
    for row in rows_of(&answers.references, "child", child) {
        fields_of.entry(row.integer("number")?).or_default().push(row);
    }
    let mut references = Vec::new();
    for fields in fields_of.into_values() {
        let [row] = fields.as_slice() else { continue };
        let written = row.text("parent")?;
        let mut names = answers.parents.iter().filter_map(|row| row.text("name").ok());
        let parent = names.find(|name| name.eq_ignore_ascii_case(written));
        if let Some(parent) = parent.filter(|_| row.boolean("is_unique").unwrap_or(false)) {
            references.push(Reference {
                field: row.text("field")?.to_owned(),
                database: DATABASE.to_owned(),
                table: parent.to_owned(),
                key: row.text("key")?.to_owned(),
            });
        }
    }
    Ok(references)
}

/// A description of an index; `None` for the key's, which belongs to the key. The name of a UNIQUE
/// constraint's index is generated from the table's, so it is omitted.
fn index_of(row: &Row<'_>) -> Result<Option<String>, Error> {
    let name = match row.text("origin")? {
        "pk" => return Ok(None),
        "u" => "of a UNIQUE constraint",
        _ => row.text("index_name")?,
    };
    let unique = if row.boolean("is_unique")? { " (unique)" } else { "" };
    let partial = if row.boolean("partial")? { " (partial)" } else { "" };
    Ok(Some(format!("{name}{unique}{partial}")))
}

fn rows_of<'a>(rows: &'a RowSet, column: &'a str, name: &'a str) -> impl Iterator<Item = Row<'a>> {
    rows.iter().filter(move |row| row.text(column).is_ok_and(|text| text == name))
}

/// The rows of one table among those of many.
fn of_table(rows: &RowSet, column: &str, name: &str) -> RowSet {
    let at = rows.columns.iter().position(|known| known.name == column);
    let is_own = |cells: &&Vec<_>| {
        at.and_then(|at| cells.get(at)).is_some_and(|cell| *cell == lakeport_sdk::Cell::from(name))
    };
    RowSet {
        columns: rows.columns.clone(),
        rows: rows.rows.iter().filter(is_own).cloned().collect(),
        truncated: rows.truncated,
    }
}
