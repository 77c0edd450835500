//! Builds a table from the answers of all queries.

use std::collections::BTreeMap;

use lakeport_sdk::Row;
use lakeport_sdk::dialect::{Error, Field, Reference, Table, TableName};

use super::inspect::{Answers, ByTable};
use super::{kind_of, no_table, optional_text, text};
use crate::defaults;
use crate::extra::{FieldExtra, ITSELF, TableExtra};
use crate::server::Server;
use crate::text::{
    Lexeme, before_recycle_bin, catalogue_expression, has_name, has_table, lex, mentions, names,
};
use crate::types::{self, Kind};

/// The name of the primary key's index.
const KEY: &str = "PRIMARY";

/// One table.
pub fn table_of(server: &Server, table: &TableName, answers: &Answers) -> Result<Table, Error> {
    let head = rows_of(&answers.heads, &table.name).into_iter().next();
    let head = head.ok_or_else(|| no_table(table))?;
    let kind = kind_of(&head)?.ok_or_else(|| no_table(table))?;
    let collation = text(&head, "collation")?;
    let mut reading =
        Reading { server, table, answers, checks: checks(server, table, answers)?, fields: Vec::new() };
    for row in rows_of(&answers.columns, &table.name) {
        let read = reading.field(&row, &collation)?;
        reading.fields.push(read);
    }
    let keys = reading.indexes()?;
    reading.relatives()?;
    let views = reading.views();
    let partition = partition(table, answers, &keys)?;
    let mut fields = Vec::new();
    for (mut field, extra) in reading.fields.clone() {
        field.key = keys.contains(&field.name);
        field.extra = extra.to_json();
        fields.push(field);
    }
    let extra = match kind {
        "view" => None,
        _ => Some(reading.table_extra(&head, views)?.to_json()),
    };
    Ok(Table {
        name: table.clone(),
        kind: kind.to_owned(),
        comment: if kind == "view" { String::new() } else { text(&head, "comment")? },
        partition: partition
            .into_iter()
            .filter(|name| fields.iter().any(|field| field.name == *name))
            .collect(),
        fields,
        keys,
        model: None,
        distribution: Vec::new(),
        buckets: None,
        replicas: None,
        companions: Vec::new(),
        extra,
    })
}

/// A CHECK constraint.
struct Check {
    /// The field whose definition has it.
    field: Option<String>,
    clause: String,
}

/// A constraint in a field's definition is named after the field; after a renaming it keeps the old name,
/// while its clause follows.
fn checks(server: &Server, table: &TableName, answers: &Answers) -> Result<Vec<Check>, Error> {
    let check = |row: Row<'_>| {
        let (name, clause) = (text(&row, "name")?, text(&row, "clause")?);
        let clause = if server.is_mariadb { clause } else { catalogue_expression(&clause) };
        let mentioned = names(&clause);
        let owner = if mentioned.contains(&name) { Some(name) } else { mentioned.into_iter().next() };
        let is_of_field = text(&row, "level")?.eq_ignore_ascii_case("Column");
        Ok(Check { field: owner.filter(|_| is_of_field), clause })
    };
    rows_of(&answers.checks, &table.name).into_iter().map(check).collect()
}

/// Fields of the partitioning; those of the key if it names none.
fn partition(table: &TableName, answers: &Answers, keys: &[String]) -> Result<Vec<String>, Error> {
    let mut found: Vec<String> = Vec::new();
    for row in rows_of(&answers.partitions, &table.name) {
        let method = text(&row, "method")?;
        let expression = text(&row, "expression")?;
        if expression.is_empty() && method.to_ascii_uppercase().contains("KEY") {
            found.extend(keys.iter().cloned());
        }
        found.extend(names(&expression));
        found.extend(names(&text(&row, "sub_expression")?));
    }
    let mut once = Vec::new();
    found.into_iter().for_each(|name| {
        if !once.contains(&name) {
            once.push(name);
        }
    });
    Ok(once)
}

struct Reading<'a> {
    server: &'a Server,
    table: &'a TableName,
    answers: &'a Answers,
    checks: Vec<Check>,
    fields: Vec<(Field, FieldExtra)>,
}

impl Reading<'_> {
    fn field(&self, row: &Row<'_>, table_collation: &str) -> Result<(Field, FieldExtra), Error> {
        let name = text(row, "name")?;
        let said = text(row, "extra")?;
        let has = |words: &str| said.to_ascii_lowercase().contains(words);
        let is_json = self.is_json(row, &name)?;
        let type_text = if is_json { "json".to_owned() } else { text(row, "type")? };
        let parsed = types::parse(&type_text, Some(self.server)).ok();
        let expression = text(row, "expression")?;
        let expression = if self.server.is_mariadb { expression } else { catalogue_expression(&expression) };
        let generated = (!expression.is_empty()).then_some(expression);
        let collation = optional_text(row, "collation")?.filter(|own| *own != table_collation && !is_json);
        let character_set = optional_text(row, "character_set")?.filter(|_| collation.is_some());
        let own_checks = self.checks.iter().filter(|check| check.field.as_deref() == Some(name.as_str()));
        let mut unwritable: Vec<String> = own_checks
            .filter(|check| !(is_json && is_json_check(&check.clause, &name)))
            .map(|check| format!("CHECK ({})", check.clause))
            .collect();
        if parsed.as_ref().is_none_or(|parsed| parsed.kind == Kind::Spatial) {
            unwritable.push(format!("the type {type_text}"));
        }
        if has("without system versioning") {
            unwritable.push("WITHOUT SYSTEM VERSIONING".to_owned());
        }
        let extra = FieldExtra {
            auto_increment: has("auto_increment"),
            on_update: has("on update"),
            stored: generated.is_some() && has("stored generated"),
            invisible: has("invisible"),
            collation,
            character_set,
            unwritable,
            ..FieldExtra::default()
        };
        let default_text = optional_text(row, "default_text")?;
        let field = Field {
            name,
            nullable: text(row, "nullable")? == "YES",
            key: false,
            comment: text(row, "comment")?,
            defaults_to: defaults::read(
                self.server.is_mariadb,
                default_text.as_deref(),
                &said,
                parsed.as_ref(),
            ),
            generated,
            extra: None,
            type_text,
        };
        Ok((field, extra))
    }

    /// MariaDB's JSON is a LONGTEXT with a check.
    fn is_json(&self, row: &Row<'_>, name: &str) -> Result<bool, Error> {
        let is_checked =
            |check: &Check| check.field.as_deref() == Some(name) && is_json_check(&check.clause, name);
        Ok(self.server.is_mariadb
            && text(row, "type")?.eq_ignore_ascii_case("longtext")
            && text(row, "collation")? == "utf8mb4_bin"
            && self.checks.iter().any(is_checked))
    }

    fn extra_of(&mut self, field: &str) -> Option<&mut FieldExtra> {
        self.fields.iter_mut().find(|(known, _)| known.name == field).map(|(_, extra)| extra)
    }

    /// Adds each field's indexes; returns the key.
    fn indexes(&mut self) -> Result<Vec<String>, Error> {
        let mut keys = Vec::new();
        let rows = rows_of(&self.answers.indexes, &self.table.name);
        for row in &rows {
            let index = text(row, "name")?;
            let prefix = optional_text(row, "prefix")?;
            let part = row.integer("part")?;
            let mut parts = 0;
            for other in &rows {
                parts += usize::from(text(other, "name")? == index);
            }
            let Some(field) = optional_text(row, "field")? else {
                self.functional(&index, &text(row, "expression")?);
                continue;
            };
            let prefix = prefix.map(|length| format!(" ({length} of it)")).unwrap_or_default();
            if index == KEY {
                keys.push(field.clone());
                if prefix.is_empty() {
                    continue;
                }
            }
            let unique = if row.integer("non_unique")? == 0 { " (unique)" } else { "" };
            if let Some(extra) = self.extra_of(&field) {
                extra.indexes.push(format!("{index}{unique}{prefix}, part {part} of {parts}"));
            }
        }
        Ok(keys)
    }

    fn functional(&mut self, index: &str, expression: &str) {
        let expression = catalogue_expression(expression);
        for (field, extra) in &mut self.fields {
            if mentions(&expression, &field.name) {
                extra.indexes.push(format!("{index}, within an expression"));
            }
        }
    }

    /// Adds foreign keys and triggers to the fields that they name.
    fn relatives(&mut self) -> Result<(), Error> {
        for row in rows_of(&self.answers.references, &self.table.name) {
            let parent = self.called(&text(&row, "parent_schema")?, &text(&row, "parent")?);
            if let Some(extra) = self.extra_of(&text(&row, "field")?) {
                extra.references.push(parent);
            }
        }
        for row in rows_of(&self.answers.referenced, &self.table.name) {
            let child = self.called(&text(&row, "child_schema")?, &text(&row, "child")?);
            if let Some(extra) = self.extra_of(&text(&row, "parent_field")?) {
                extra.referenced_by.push(child);
            }
        }
        for row in rows_of(&self.answers.triggers, &self.table.name) {
            let (name, statement) = (text(&row, "name")?, lex(&text(&row, "statement")?));
            for (field, extra) in &mut self.fields {
                if has_name(&statement, &field.name) {
                    extra.triggers.push(name.clone());
                }
            }
        }
        Ok(())
    }

    /// Foreign keys of single fields to fields that identify a row.
    fn references(&self) -> Result<Vec<Reference>, Error> {
        let rows = rows_of(&self.answers.references, &self.table.name);
        let mut fields_of: BTreeMap<String, Vec<&Row<'_>>> = BTreeMap::new();
        for row in &rows {
            fields_of.entry(text(row, "name")?).or_default().push(row);
        }
        let mut references = Vec::new();
        for fields in fields_of.into_values() {
            let [row] = fields.as_slice() else { continue };
            let (database, table) = (text(row, "parent_schema")?, text(row, "parent")?);
            let written = text(row, "parent_field")?;
            let key = self.answers.parent_keys.iter().find(|key| {
                key.database == database && key.table == table && key.field.eq_ignore_ascii_case(&written)
            });
            if let Some(key) = key {
                let (field, key) = (text(row, "field")?, key.field.clone());
                references.push(Reference { field, database, table, key });
            }
        }
        Ok(references)
    }

    /// Views that name the table; also added to the fields that they name.
    fn views(&mut self) -> Vec<String> {
        let mut views = Vec::new();
        for view in &self.answers.views {
            let name = self.called(&view.database, &view.name);
            if name == ITSELF || !self.is_named(&view.definition) {
                continue;
            }
            for (field, extra) in &mut self.fields {
                if has_name(&view.definition, &field.name) {
                    extra.views.push(name.clone());
                }
            }
            views.push(name);
        }
        views
    }

    /// Whether a view names the table, or its name before the recycle bin: so the facts stay equal while it
    /// is in the bin.
    fn is_named(&self, definition: &[Lexeme]) -> bool {
        let database = &self.table.database;
        let before = before_recycle_bin(&self.table.name);
        let mut names = [Some(self.table.name.as_str()), before].into_iter().flatten();
        names.any(|name| has_table(definition, database, name))
    }

    /// Another table's name as shown here; the table itself is a word that no renaming changes.
    fn called(&self, database: &str, name: &str) -> String {
        match (database == self.table.database, name == self.table.name) {
            (true, true) => ITSELF.to_owned(),
            (true, false) => name.to_owned(),
            (false, _) => format!("{database}.{name}"),
        }
    }

    fn table_extra(&self, head: &Row<'_>, views: Vec<String>) -> Result<TableExtra, Error> {
        let mut extra = TableExtra {
            engine: text(head, "engine")?,
            collation: text(head, "collation")?,
            options: options_of(&text(head, "options")?),
            versioned: text(head, "kind")? == "SYSTEM VERSIONED",
            checks: self
                .checks
                .iter()
                .filter(|one| one.field.is_none())
                .map(|one| one.clause.clone())
                .collect(),
            views,
            references: self.references()?,
            ..TableExtra::default()
        };
        for row in rows_of(&self.answers.indexes, &self.table.name) {
            let name = text(&row, "name")?;
            let unique = if row.integer("non_unique")? == 0 { " (unique)" } else { "" };
            let kind = match text(&row, "kind")?.as_str() {
                "BTREE" => String::new(),
                other => format!(" ({other})"),
            };
            if name != KEY {
                extra.indexes.push(format!("{name}{unique}{kind}"));
            }
        }
        for row in rows_of(&self.answers.rules, &self.table.name) {
            let parent = self.called(&text(&row, "parent_schema")?, &text(&row, "parent")?);
            let (deleted, updated) = (text(&row, "on_delete")?, text(&row, "on_update")?);
            extra.foreign_keys.push(format!("{parent} (on delete {deleted}, on update {updated})"));
        }
        for row in rows_of(&self.answers.referenced, &self.table.name) {
            extra.referenced_by.push(self.called(&text(&row, "child_schema")?, &text(&row, "child")?));
        }
        for row in rows_of(&self.answers.triggers, &self.table.name) {
            extra.triggers.push(text(&row, "name")?);
        }
        for row in rows_of(&self.answers.partitions, &self.table.name) {
            let methods = [text(&row, "method")?, text(&row, "sub_method")?];
            extra.partitioning = methods.join(" ").trim().to_owned();
        }
        Ok(extra)
    }
}

/// `json_valid(`a`)`.
fn is_json_check(clause: &str, field: &str) -> bool {
    let [function, open, name, close] = <[Lexeme; 4]>::try_from(lex(clause)).unwrap_or([
        Lexeme::Symbol(' '),
        Lexeme::Symbol(' '),
        Lexeme::Symbol(' '),
        Lexeme::Symbol(' '),
    ]);
    matches!(function, Lexeme::Word(word) if word.eq_ignore_ascii_case("json_valid"))
        && open == Lexeme::Symbol('(')
        && name == Lexeme::Name(field.to_owned())
        && close == Lexeme::Symbol(')')
}

/// Options except the word for partitioned tables.
fn options_of(said: &str) -> String {
    said.split_whitespace().filter(|word| *word != "partitioned").collect::<Vec<_>>().join(" ")
}

/// The rows of one table.
fn rows_of<'a>(rows: &'a ByTable, name: &str) -> Vec<Row<'a>> {
    rows.get(name).map(|rows| rows.iter().collect()).unwrap_or_default()
}
