//! Objects of a table with statements of their own: sequences, indexes, foreign keys, triggers, rules,
//! policies, comments.

use lakeport_sdk::Row;
use lakeport_sdk::dialect::Error;
use lakeport_sdk::serde_json;

use super::ask::Parts;
use super::columns;
use super::relation::path;
use crate::quote;

/// Sequences of `serial` columns, which defaults refer to.
pub fn sequences_before(sequences: &[Row<'_>], statements: &mut Vec<String>) -> Result<(), Error> {
    for row in sequences {
        if row.boolean("is_identity")? {
            continue;
        }
        let unlogged = if row.text("persistence")? == "u" { "UNLOGGED " } else { "" };
        let mut text = format!("CREATE {unlogged}SEQUENCE {} AS {}", path(row)?, row.text("type_text")?);
        for setting in columns::counting(row)? {
            text.push_str(&format!(" {setting}"));
        }
        statements.push(text);
    }
    Ok(())
}

/// The sequences' owners.
pub fn sequences_after(head: &Row<'_>, parts: &Parts<'_>, statements: &mut Vec<String>) -> Result<(), Error> {
    let relation = head.integer("relation")?;
    let names = parts.columns.get(relation)?;
    for row in parts.sequences.get(relation)? {
        let number = row.integer("number")?;
        let column = names.iter().find(|column| column.integer("number").is_ok_and(|of| of == number));
        if let (false, Some(column)) = (row.boolean("is_identity")?, column) {
            let owner = format!("{}.{}", path(head)?, quote::name(column.text("name")?));
            statements.push(format!("ALTER SEQUENCE {} OWNED BY {owner}", path(row)?));
        }
    }
    Ok(())
}

/// Selects indexes and keys of a relation: attaching a partition adopts the first of several equal ones for
/// its table's, so the partition's own are created later.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Those {
    /// All of them.
    All,
    /// Those attached to the table's.
    Attached,
    /// All others.
    Own,
}

impl Those {
    /// Whether an index with this state is selected.
    pub fn are(self, is_attached: bool) -> bool {
        match self {
            Those::All => true,
            Those::Attached => is_attached,
            Those::Own => !is_attached,
        }
    }
}

/// Indexes, and settings of those that belong to a constraint.
pub fn indexes(
    head: &Row<'_>,
    those: Those,
    parts: &Parts<'_>,
    statements: &mut Vec<String>,
) -> Result<(), Error> {
    let table = path(head)?;
    for row in parts.indexes.get(head.integer("relation")?)? {
        if !those.are(row.boolean("is_attached")?) {
            continue;
        }
        let index = path(row)?;
        if !row.boolean("is_of_constraint")? {
            statements.push(row.text("text")?.to_owned());
        } else if let Some(options) = columns::options(row.optional_text("options")?)? {
            statements.push(format!("ALTER INDEX {index} SET ({})", columns::assigned(&options)));
        }
        if let Some(tablespace) = row.optional_text("tablespace")? {
            statements.push(format!("ALTER INDEX {index} SET TABLESPACE {}", quote::name(tablespace)));
        }
        for (number, target) in targets(row)? {
            statements.push(format!("ALTER INDEX {index} ALTER COLUMN {number} SET STATISTICS {target}"));
        }
        if row.boolean("is_clustered")? {
            statements.push(format!("ALTER TABLE {table} CLUSTER ON {}", quote::name(row.text("name")?)));
        }
        if row.boolean("is_identity")? {
            let name = quote::name(row.text("name")?);
            statements.push(format!("ALTER TABLE ONLY {table} REPLICA IDENTITY USING INDEX {name}"));
        }
    }
    Ok(())
}

/// Columns of an index with a statistics target: a JSON list of `number target`.
fn targets(row: &Row<'_>) -> Result<Vec<(String, String)>, Error> {
    let Some(json) = row.optional_text("targets")? else { return Ok(Vec::new()) };
    let list: Vec<String> = serde_json::from_str(json)
        .map_err(|error| Error::bad_answer(format!("targets of an index are no list: {error}")))?;
    let pair = |text: &String| text.split_once(' ').map(|(one, other)| (one.to_owned(), other.to_owned()));
    Ok(list.iter().filter_map(pair).collect())
}

/// Foreign keys except the copies that PostgreSQL creates for partitions.
pub fn foreign_keys(head: &Row<'_>, parts: &Parts<'_>, statements: &mut Vec<String>) -> Result<(), Error> {
    for row in parts.constraints.get(head.integer("relation")?)? {
        if row.text("kind")? == "f" && !row.boolean("is_copy")? {
            let name = quote::name(row.text("name")?);
            statements.push(format!(
                "ALTER TABLE {} ADD CONSTRAINT {name} {}",
                path(head)?,
                row.text("text")?
            ));
        }
    }
    Ok(())
}

/// Statistics, rules, triggers, policies, row security, replica identity.
pub fn others(head: &Row<'_>, parts: &Parts<'_>, statements: &mut Vec<String>) -> Result<(), Error> {
    let table = path(head)?;
    let is_alone = head.integer("parent")? == 0;
    for row in parts.others.get(head.integer("relation")?)? {
        match row.optional_text("text")? {
            Some(text) => statements.push(text.to_owned()),
            // Objects inherited from a table that is not created here do not exist.
            None if is_alone => continue,
            None => {}
        }
        match row.optional_text("setting")? {
            Some(whole) if whole.starts_with("ALTER ") => statements.push(whole.to_owned()),
            Some(words) => {
                statements.push(format!("ALTER TABLE {table} {words}{}", quote::name(row.text("name")?)));
            }
            None => {}
        }
    }
    if head.boolean("row_security")? {
        statements.push(format!("ALTER TABLE {table} ENABLE ROW LEVEL SECURITY"));
    }
    if head.boolean("forces_row_security")? {
        statements.push(format!("ALTER TABLE {table} FORCE ROW LEVEL SECURITY"));
    }
    match head.text("replica_identity")? {
        "f" => statements.push(format!("ALTER TABLE ONLY {table} REPLICA IDENTITY FULL")),
        "n" if !matches!(head.text("kind")?, "v" | "m" | "f") => {
            statements.push(format!("ALTER TABLE ONLY {table} REPLICA IDENTITY NOTHING"));
        }
        _ => {}
    }
    Ok(())
}

/// Comments on all objects.
pub fn comments(head: &Row<'_>, parts: &Parts<'_>, statements: &mut Vec<String>) -> Result<(), Error> {
    let table = path(head)?;
    for row in parts.comments.get(head.integer("relation")?)? {
        let name = || row.text("name").map(quote::name);
        let kind = row.text("kind")?;
        let on = match kind {
            "COLUMN" => format!("COLUMN {table}.{}", name()?),
            "INDEX" | "SEQUENCE" | "STATISTICS" => {
                format!("{kind} {}.{}", quote::name(row.text("schema_name")?), name()?)
            }
            "CONSTRAINT" | "RULE" | "TRIGGER" | "POLICY" => format!("{kind} {} ON {table}", name()?),
            _ => format!("{kind} {table}"),
        };
        statements.push(format!("COMMENT ON {on} IS {}", quote::text(row.text("comment")?)));
    }
    Ok(())
}
