//! The statements of tables or views, each partition after its parent.

use std::collections::BTreeMap;

use lakeport_sdk::Row;
use lakeport_sdk::dialect::Error;

use super::ask::Parts;
use super::objects::Those;
use super::{columns, objects};
use crate::quote;

/// All statements, without semicolons. Foreign keys, triggers and the like come after all partitions:
/// PostgreSQL copies them to each.
pub fn statements(parts: &Parts<'_>) -> Result<Vec<String>, Error> {
    let mut statements = Vec::new();
    let mut paths = BTreeMap::new();
    for head in &parts.relations {
        paths.insert(head.integer("relation")?, path(head)?);
    }
    for head in &parts.relations {
        let parent = paths.get(&head.integer("parent")?);
        match (head.text("kind")?, parent) {
            ("v" | "m", _) => view(head, parts, &mut statements)?,
            (_, None) => table(head, Those::All, parts, &mut statements)?,
            (_, Some(parent)) => {
                table(head, Those::Attached, parts, &mut statements)?;
                let bound = head.optional_text("bound")?.unwrap_or("DEFAULT");
                let path = path(head)?;
                statements.push(format!("ALTER TABLE ONLY {parent} ATTACH PARTITION {path} {bound}"));
                own_of_partition(head, parts, &mut statements)?;
            }
        }
    }
    for head in &parts.relations {
        objects::foreign_keys(head, parts, &mut statements)?;
    }
    for head in &parts.relations {
        objects::others(head, parts, &mut statements)?;
        objects::comments(head, parts, &mut statements)?;
    }
    Ok(statements)
}

/// The quoted name.
pub fn path(head: &Row<'_>) -> Result<String, Error> {
    Ok(quote::path(head.text("schema_name")?, head.text("name")?))
}

fn view(head: &Row<'_>, parts: &Parts<'_>, statements: &mut Vec<String>) -> Result<(), Error> {
    let is_materialized = head.text("kind")? == "m";
    let kind = if is_materialized { "MATERIALIZED VIEW" } else { "VIEW" };
    let mut text = format!("CREATE {kind} {}", path(head)?);
    text.push_str(&storage(head)?);
    let query = head.optional_text("view_text")?.unwrap_or_default();
    text.push_str(&format!(" AS\n{}", query.trim_end().trim_end_matches(';')));
    if is_materialized && !head.boolean("is_populated")? {
        text.push_str("\nWITH NO DATA");
    }
    statements.push(text);
    for row in parts.columns.get(head.integer("relation")?)? {
        let name = quote::name(row.text("name")?);
        if let Some(expression) = row.optional_text("default_text")? {
            statements
                .push(format!("ALTER VIEW {} ALTER COLUMN {name} SET DEFAULT {expression}", path(head)?));
        }
        for setting in if is_materialized { columns::settings(row)? } else { Vec::new() } {
            statements.push(format!("ALTER MATERIALIZED VIEW {} ALTER COLUMN {name} {setting}", path(head)?));
        }
    }
    objects::indexes(head, Those::All, parts, statements)
}

/// Keys and indexes that a partition has and its table does not.
fn own_of_partition(head: &Row<'_>, parts: &Parts<'_>, statements: &mut Vec<String>) -> Result<(), Error> {
    for row in parts.constraints.get(head.integer("relation")?)? {
        if is_key(row)? && Those::Own.are(row.boolean("is_attached")?) {
            statements.push(format!("ALTER TABLE ONLY {} ADD {}", path(head)?, constraint(row)?));
        }
    }
    objects::indexes(head, Those::Own, parts, statements)
}

/// A constraint with an index.
fn is_key(row: &Row<'_>) -> Result<bool, Error> {
    Ok(matches!(row.text("kind")?, "p" | "u" | "x"))
}

fn constraint(row: &Row<'_>) -> Result<String, Error> {
    Ok(format!("CONSTRAINT {} {}", quote::name(row.text("name")?), row.text("text")?))
}

fn table(head: &Row<'_>, those: Those, parts: &Parts<'_>, statements: &mut Vec<String>) -> Result<(), Error> {
    let relation = head.integer("relation")?;
    let is_partition = head.boolean("is_partition")?;
    let is_copied = is_partition && !parts.columns.get(relation)?.is_empty();
    let sequences = parts.sequences.get(relation)?;
    objects::sequences_before(sequences, statements)?;
    let mut lines = Vec::new();
    let mut afterwards = Vec::new();
    for row in parts.columns.get(relation)? {
        let name = quote::name(row.text("name")?);
        let is_own = row.boolean("is_local")? || is_copied;
        if is_own && head.optional_text("of_type")?.is_none() {
            let number = row.integer("number")?;
            let sequence = sequences.iter().find(|sequence| {
                sequence.integer("number").is_ok_and(|of| of == number)
                    && sequence.boolean("is_identity").unwrap_or(false)
            });
            lines.push(columns::definition(row, sequence, head.text("name")?)?);
        } else if head.optional_text("of_type")?.is_some() {
            let not_null = if row.boolean("not_null")? { " NOT NULL" } else { "" };
            let options = format!("{}{not_null}", columns::value(row)?);
            if !options.is_empty() {
                lines.push(format!("{name} WITH OPTIONS{options}"));
            }
        } else {
            afterwards.extend(inherited(row)?);
        }
        afterwards.extend(
            columns::settings(row)?.into_iter().map(|setting| format!("ALTER COLUMN {name} {setting}")),
        );
    }
    let constraints = parts.constraints.get(relation)?;
    for row in constraints {
        let is_own = row.boolean("is_local")? || is_copied;
        let is_now = !is_key(row)? || those.are(row.boolean("is_attached")?);
        if is_own && is_now && row.text("kind")? != "f" {
            let text = constraint(row)?;
            if row.boolean("is_valid")? {
                lines.push(text);
            } else {
                afterwards.push(format!("ADD {text}"));
            }
        }
    }
    statements.push(create(head, parts, &lines)?);
    let only = format!(
        "ALTER {} {}",
        if head.text("kind")? == "f" { "FOREIGN TABLE" } else { "TABLE ONLY" },
        path(head)?
    );
    statements.extend(afterwards.into_iter().map(|what| format!("{only} {what}")));
    objects::sequences_after(head, parts, statements)?;
    objects::indexes(head, those, parts, statements)
}

/// Properties of an inherited column that differ from the parent's.
fn inherited(row: &Row<'_>) -> Result<Vec<String>, Error> {
    let name = quote::name(row.text("name")?);
    let mut settings = Vec::new();
    if row.text("generated")?.is_empty() {
        settings.push(match row.optional_text("default_text")? {
            Some(expression) => format!("ALTER COLUMN {name} SET DEFAULT {expression}"),
            None => format!("ALTER COLUMN {name} DROP DEFAULT"),
        });
    }
    if row.boolean("not_null")? {
        settings.push(format!("ALTER COLUMN {name} SET NOT NULL"));
    }
    Ok(settings)
}

fn create(head: &Row<'_>, parts: &Parts<'_>, lines: &[String]) -> Result<String, Error> {
    let what = match (head.text("kind")?, head.text("persistence")?) {
        ("f", _) => "FOREIGN TABLE",
        (_, "u") => "UNLOGGED TABLE",
        (_, "t") => "TEMPORARY TABLE",
        _ => "TABLE",
    };
    let mut text = format!("CREATE {what} {}", path(head)?);
    if let Some(of_type) = head.optional_text("of_type")? {
        text.push_str(&format!(" OF {of_type}"));
    }
    if !lines.is_empty() {
        text.push_str(&format!(" (\n    {}\n)", lines.join(",\n    ")));
    } else if head.optional_text("of_type")?.is_none() {
        text.push_str(" ()");
    }
    let parents = parts.parents.get(head.integer("relation")?)?;
    if !head.boolean("is_partition")? && !parents.is_empty() {
        let names = parents.iter().map(path).collect::<Result<Vec<_>, _>>()?;
        text.push_str(&format!("\nINHERITS ({})", names.join(", ")));
    }
    if let Some(key) = head.optional_text("partition_key")? {
        text.push_str(&format!("\nPARTITION BY {key}"));
    }
    text.push_str(&storage(head)?);
    if let Some(server) = head.optional_text("server_name")? {
        text.push_str(&format!("\nSERVER {}", quote::name(server)));
        if let Some(options) = columns::options(head.optional_text("foreign_options")?)? {
            text.push_str(&format!("\nOPTIONS ({})", columns::foreign(&options)));
        }
    }
    Ok(text)
}

/// `USING … WITH (…) TABLESPACE …`, if it differs from the defaults.
fn storage(head: &Row<'_>) -> Result<String, Error> {
    let mut text = String::new();
    if let Some(method) = head.optional_text("method")? {
        text.push_str(&format!("\nUSING {}", quote::name(method)));
    }
    let mut options = columns::options(head.optional_text("options")?)?.unwrap_or_default();
    let of_toast = columns::options(head.optional_text("toast_options")?)?.unwrap_or_default();
    options.extend(of_toast.into_iter().map(|(name, value)| (format!("toast.{name}"), value)));
    if !options.is_empty() {
        text.push_str(&format!("\nWITH ({})", columns::assigned(&options)));
    }
    if let Some(tablespace) = head.optional_text("tablespace")? {
        text.push_str(&format!("\nTABLESPACE {}", quote::name(tablespace)));
    }
    Ok(text)
}
