//! `ALTER TABLE`: at once, or as a job.

use super::Light;
use super::clauses::{Clause, column, comment, distribution, replicas};
use crate::catalogue::{Catalogue, Grammar, Product, Table};
use crate::lexer::Lexeme;
use crate::parse::{Reader, Syntax};
use crate::refused;

pub(super) fn alter(catalogue: &mut Catalogue, light: Light, reader: &mut Reader) -> Result<(), Syntax> {
    let grammar = catalogue.grammar();
    let product = grammar.product;
    let doris = product == Product::Doris;
    let (database, name) = reader.path()?;
    let before = catalogue.changed(&database, &name)?.clone();
    if catalogue.open_job(&database, &name).is_some() {
        return Err(refused(format!(
            "Table[{name}]'s state(SCHEMA_CHANGE) is not NORMAL. Do not allow doing ALTER ops"
        )));
    }
    let mut after = before.clone();
    let mut job = None;
    if reader.takes("ADD COLUMN") {
        add(grammar, reader, &mut after)?;
        job = Some(("COLUMN", light != Light::Off));
    } else if reader.takes("DROP COLUMN") {
        drop_column(reader, &mut after)?;
        job = Some(("COLUMN", light != Light::Off));
    } else if reader.takes("RENAME COLUMN") {
        rename_column(doris, reader, &mut after)?;
    } else if doris && reader.takes("MODIFY COMMENT") {
        after.comment = comment(grammar, Clause::Change, reader.raw()?);
    } else if !doris && reader.takes("COMMENT") {
        reader.symbol('=')?;
        after.comment = comment(grammar, Clause::Change, reader.raw()?);
    } else if reader.takes("MODIFY COLUMN") {
        if let Some(lengthens) = modify(grammar, reader, &mut after)? {
            job = Some(("COLUMN", lengthens && light != Light::Off));
        }
    } else if doris && reader.takes("MODIFY DISTRIBUTION DISTRIBUTED BY") {
        let (columns, buckets) = distribution(product, reader)?;
        if before.partition.is_none() {
            return Err(refused("Only support change partitioned table's distribution."));
        }
        in_own_storage(catalogue, "default bucket number")?;
        apart(&before, "default bucket number")?;
        same_columns(&before, &columns)?;
        // AUTO stays if it was AUTO; the number is for new partitions.
        match before.buckets {
            Some(_) => after.buckets = buckets,
            None => after.new_buckets = buckets,
        }
    } else if !doris && reader.takes("DISTRIBUTED BY") {
        let (columns, buckets) = distribution(product, reader)?;
        apart(&before, "distribution")?;
        same_columns(&before, &columns)?;
        after.buckets = buckets;
        job = Some(("OPTIMIZE", false));
    } else if reader.takes("SET") {
        let wanted = replicas(reader, "default.replication_num")?;
        in_own_storage(catalogue, "default.replication_num")?;
        apart(&before, "replication allocation")?;
        // Doris checks the number of backends only when replicas are created at once.
        after.default_replicas = if doris { wanted } else { checked(catalogue, wanted)? };
    } else if reader.takes("MODIFY PARTITION") {
        reader.symbol('(')?;
        reader.symbol('*')?;
        reader.symbol(')')?;
        reader.expects("SET")?;
        let wanted = replicas(reader, "replication_num")?;
        in_own_storage(catalogue, "replication_num")?;
        apart(&before, "replication allocation")?;
        let wanted = checked(catalogue, wanted)?;
        after.partitions.iter_mut().for_each(|one| one.replicas = wanted);
    } else {
        reader.expects("RENAME")?;
        let new = reader.name()?;
        reader.end()?;
        if catalogue.table(&database, &new).is_ok() {
            return Err(refused(format!("Table name[{new}] is already used")));
        }
        catalogue.databases.entry(database.clone()).or_default().remove(&name);
        for only in after.partitions.iter_mut().filter(|one| one.values.is_empty()) {
            only.name.clone_from(&new);
        }
        catalogue.put(&database, &new, after);
        return Ok(());
    }
    reader.end()?;
    match job {
        None => catalogue.put(&database, &name, after),
        Some((kind, true)) => {
            catalogue.put(&database, &name, after);
            if light == Light::Seen {
                catalogue.submit(&database, &name, kind, "FINISHED", "", None);
            }
        }
        Some((kind, false)) => {
            catalogue.submit(&database, &name, kind, "PENDING", "", Some(after));
        }
    }
    Ok(())
}

pub(super) fn checked(catalogue: &Catalogue, replicas: u32) -> Result<u32, Syntax> {
    if replicas > catalogue.backends {
        let message = format!(
            "Failed to find enough backend, please check the replication num,replication num is {replicas}"
        );
        return Err(refused(message));
    }
    Ok(replicas)
}

/// A colocated table keeps its buckets and replicas.
fn apart(table: &Table, what: &str) -> Result<(), Syntax> {
    if table.has_property("colocate_with") {
        return Err(refused(format!("Cannot change {what} of colocate table.")));
    }
    Ok(())
}

/// So does a table in cloud mode.
fn in_own_storage(catalogue: &Catalogue, what: &str) -> Result<(), Syntax> {
    if catalogue.cloud {
        return Err(refused(format!("modifying property [{what}] is forbidden")));
    }
    Ok(())
}

pub(super) fn same_columns(table: &Table, columns: &[String]) -> Result<(), Syntax> {
    if table.distribution == columns {
        return Ok(());
    }
    Err(refused("Cannot assign hash distribution with different distribution cols"))
}

pub(super) fn add(grammar: Grammar, reader: &mut Reader, table: &mut Table) -> Result<(), Syntax> {
    let column = column(grammar, Clause::Definition, reader)?;
    let at = if reader.takes("AFTER") {
        let behind = reader.name()?;
        1 + table.column(&behind).ok_or_else(|| refused(format!("Column[{behind}] does not found")))?
    } else {
        table.columns.len()
    };
    if table.column(&column.name).is_some() {
        return Err(refused(format!(
            "Can not add column which already exists in base table: {}",
            column.name
        )));
    }
    if table.columns.get(at).is_some_and(|next| next.key) {
        return Err(refused("Invalid column order. value should be after key"));
    }
    table.columns.insert(at, column);
    Ok(())
}

pub(super) fn drop_column(reader: &mut Reader, table: &mut Table) -> Result<(), Syntax> {
    let name = reader.name()?;
    let at = table.column(&name).ok_or_else(|| refused(format!("Column does not exists: {name}")))?;
    if table.columns[at].key && table.model != "DUPLICATE" {
        return Err(refused("Can not drop key column in Unique data model table"));
    }
    let holds =
        table.distribution.contains(&name) || table.partition.as_ref().is_some_and(|by| by.column == name);
    if holds {
        return Err(refused(format!("Distribution or partition column[{name}] cannot be dropped")));
    }
    table.columns.remove(at);
    Ok(())
}

pub(super) fn rename_column(doris: bool, reader: &mut Reader, table: &mut Table) -> Result<(), Syntax> {
    let name = reader.name()?;
    if !doris {
        reader.expects("TO")?;
    }
    // Doris would take a bare TO for the new name, and the rest for an error.
    let new = reader.name()?;
    reader.end()?;
    let at = table.column(&name).ok_or_else(|| refused(format!("Column[{name}] does not exists")))?;
    if table.column(&new).is_some() {
        return Err(refused(format!("Column name[{new}] is already used")));
    }
    for own in table.distribution.iter_mut().filter(|own| **own == name) {
        own.clone_from(&new);
    }
    table.columns[at].name = new;
    Ok(())
}

/// Redefines a field or, in Doris, changes only its comment. Returns whether it is a light change.
pub(super) fn modify(
    grammar: Grammar,
    reader: &mut Reader,
    table: &mut Table,
) -> Result<Option<bool>, Syntax> {
    let doris = grammar.product == Product::Doris;
    if let [_, Lexeme::Word(word), Lexeme::Text(..), ..] = reader.rest()
        && doris
        && word.eq_ignore_ascii_case("COMMENT")
    {
        let name = reader.name()?;
        reader.expects("COMMENT")?;
        let at = table.column(&name).ok_or_else(|| refused(format!("Unknown column '{name}'")))?;
        table.columns[at].comment = comment(grammar, Clause::Change, reader.raw()?);
        return Ok(None);
    }
    let new = column(grammar, Clause::Definition, reader)?;
    let name = new.name.clone();
    let at = table.column(&name).ok_or_else(|| refused(format!("Column[{name}] does not exists")))?;
    let old = &table.columns[at];
    if table.partition.as_ref().is_some_and(|by| by.column == name) || table.distribution.contains(&name) {
        return Err(refused(format!("Can not modify partition or distribution column[{name}]")));
    }
    if old.key {
        return Err(refused("Invalid column order. value should be after key"));
    }
    if old.nullable && !new.nullable {
        return Err(refused("Can not change from nullable to non-nullable"));
    }
    if old.default != new.default {
        return Err(refused("Can not change default value"));
    }
    let lengthens = may_become(&old.type_text, &new.type_text)?;
    let of_text = |text: &str| text.starts_with("varchar");
    let light = match doris {
        // Only a VARCHAR is changed without a job, also to NULL; other types are rewritten for a comment.
        true => lengthens && of_text(&old.type_text) && of_text(&new.type_text),
        false => lengthens && old.nullable == new.nullable,
    };
    table.columns[at] = new;
    Ok(Some(light))
}

/// The server's own matrix, wider than the planned one. Returns whether a VARCHAR merely grows or stays.
pub(super) fn may_become(before: &str, after: &str) -> Result<bool, Syntax> {
    let split = |text: &str| -> (String, u32) {
        let (name, rest) = text.split_once('(').unwrap_or((text, "0)"));
        let length = rest.trim_end_matches(')').split(',').next().unwrap_or("0").parse().unwrap_or(0);
        (name.to_owned(), length)
    };
    let ((from, from_length), (to, to_length)) = (split(before), split(after));
    const NUMBERS: [&str; 7] = ["tinyint", "smallint", "int", "bigint", "largeint", "float", "double"];
    let rank = |name: &str| NUMBERS.iter().position(|known| *known == name);
    let text = |name: &str| matches!(name, "char" | "varchar" | "text");
    let allowed = match (from.as_str(), to.as_str()) {
        _ if before == after => return Ok(true),
        ("varchar", "varchar") | ("char", "varchar" | "char") => {
            if to_length < from_length {
                return Err(refused("Cannot shorten string length"));
            }
            return Ok(from == "varchar");
        }
        (from, to) if rank(from).is_some() && rank(to).is_some() => rank(to) > rank(from),
        (from, to) if rank(from).is_some() || from == "decimal" => {
            text(to) || from == "decimal" && to == "decimal"
        }
        ("char" | "varchar", to) => rank(to).is_some() || matches!(to, "text" | "date" | "json"),
        ("text", "json") | ("json", "text") | ("date", "datetime") | ("datetime", "date") => true,
        _ => false,
    };
    if allowed { Ok(false) } else { Err(refused(format!("Can not change {before} to {after}"))) }
}
