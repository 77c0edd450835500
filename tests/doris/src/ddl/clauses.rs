//! The clauses that statements share: comments, columns, types, partition, distribution, replicas.

use super::defaults;
use crate::catalogue::{Column, Grammar, PartitionBy, Product};
use crate::lexer::{Lexeme, escapes, literal};
use crate::parse::{Reader, Syntax};
use crate::refused;

/// The place of a text decides how it is unescaped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Clause {
    /// The table's, in CREATE TABLE.
    NewTable,
    /// A definition's, in CREATE TABLE.
    NewField,
    /// A definition's, in ALTER TABLE.
    Definition,
    /// A comment by itself, in ALTER TABLE.
    Change,
}

impl Clause {
    /// Whether a text in this place is an ordinary literal.
    fn takes_literals(self, grammar: Grammar) -> bool {
        let alters = matches!(self, Clause::Definition | Clause::Change);
        grammar.product == Product::StarRocks || grammar.older_alter && alters
    }
}

pub(super) fn comment(grammar: Grammar, clause: Clause, (quote, inside): (char, String)) -> String {
    match clause {
        clause if clause.takes_literals(grammar) => literal(quote, &inside),
        Clause::NewTable => escapes(&inside),
        Clause::NewField | Clause::Definition => inside.replace('\\', ""),
        Clause::Change => inside,
    }
}

pub(super) fn column(grammar: Grammar, clause: Clause, reader: &mut Reader) -> Result<Column, Syntax> {
    let name = reader.name()?;
    let type_text = type_text(grammar, reader)?;
    let nullable = !reader.takes("NOT NULL");
    if nullable {
        reader.takes("NULL");
    }
    let default = if reader.takes("DEFAULT") { default(grammar, clause, reader)? } else { None };
    let doris = grammar.product == Product::Doris;
    if let Some(text) = &default {
        defaults::check(grammar.product, &type_text, text)?;
    }
    let stamped = doris && reader.takes("ON UPDATE CURRENT_TIMESTAMP");
    let comment = match reader.takes("COMMENT") {
        true => comment(grammar, clause, reader.raw()?),
        false => String::new(),
    };
    Ok(Column { name, type_text, nullable, key: false, default, stamped, comment })
}

/// A constant: Doris only removes its quotes.
fn default(grammar: Grammar, clause: Clause, reader: &mut Reader) -> Result<Option<String>, Syntax> {
    if reader.takes("NULL") {
        return Ok(None);
    }
    if reader.takes("CURRENT_TIMESTAMP") {
        if !reader.takes_symbol('(') {
            return Ok(Some("CURRENT_TIMESTAMP".to_owned()));
        }
        let digits = reader.number()?;
        reader.symbol(')')?;
        return Ok(Some(format!("CURRENT_TIMESTAMP({digits})")));
    }
    if clause.takes_literals(grammar) {
        return reader.text().map(Some);
    }
    reader.raw().map(|(_, inside)| Some(inside))
}

pub(super) const TYPES: &str = "BOOLEAN TINYINT SMALLINT INT BIGINT LARGEINT FLOAT DOUBLE DECIMAL DATE DATETIME CHAR VARCHAR \
                     STRING JSON VARIANT IPV4 IPV6 VARBINARY ARRAY MAP STRUCT";

/// A type in `DESC`'s form.
pub(super) fn type_text(grammar: Grammar, reader: &mut Reader) -> Result<String, Syntax> {
    let word = reader.name()?.to_ascii_uppercase();
    if !TYPES.split_ascii_whitespace().any(|known| known == word) {
        return Err(reader.error());
    }
    let mut text = match word.as_str() {
        "STRING" => "text".to_owned(),
        word => word.to_ascii_lowercase(),
    };
    if reader.takes_symbol('(') {
        let mut numbers = vec![reader.number()?.to_string()];
        while reader.takes_symbol(',') {
            numbers.push(reader.number()?.to_string());
        }
        reader.symbol(')')?;
        text = format!("{text}({})", numbers.join(","));
    }
    if word == "VARIANT" {
        return variant(grammar, reader);
    }
    if !matches!(word.as_str(), "ARRAY" | "MAP" | "STRUCT") {
        return Ok(text);
    }
    reader.symbol('<')?;
    let mut parts = Vec::new();
    loop {
        parts.push(match word.as_str() {
            "STRUCT" => {
                let name = reader.name()?;
                if grammar.product == Product::Doris {
                    reader.symbol(':')?;
                }
                format!("{name}:{}", type_text(grammar, reader)?)
            }
            _ => type_text(grammar, reader)?,
        });
        if !reader.takes_symbol(',') {
            break;
        }
    }
    reader.symbol('>')?;
    Ok(format!("{text}<{}>", parts.join(",")))
}

/// A VARIANT has the session's properties if it has none of its own. Paths with types of their own are not emulated.
fn variant(grammar: Grammar, reader: &mut Reader) -> Result<String, Syntax> {
    const SUBCOLUMNS: &str = "variant_max_subcolumns_count";
    if grammar.product == Product::StarRocks {
        return Err(reader.error());
    }
    let mut subcolumns = grammar.variant_subcolumns;
    if reader.takes_symbol('<') {
        reader.expects("PROPERTIES")?;
        subcolumns = match properties(reader)?.as_slice() {
            [(name, count)] if name == SUBCOLUMNS => {
                count.parse().map_err(|_| refused(format!("{SUBCOLUMNS} must be a number")))?
            }
            other => return Err(refused(format!("Invalid variant properties: {other:?}"))),
        };
        reader.symbol('>')?;
    }
    Ok(match subcolumns {
        0 => "variant".to_owned(),
        count => format!("variant<PROPERTIES (\"{SUBCOLUMNS}\" = \"{count}\")>"),
    })
}

pub(super) fn partition(product: Product, reader: &mut Reader) -> Result<Option<PartitionBy>, Syntax> {
    let doris = product == Product::Doris;
    let truncated = |reader: &mut Reader| -> Result<(String, String), Syntax> {
        reader.expects("DATE_TRUNC")?;
        reader.symbol('(')?;
        let unit_first = !doris;
        let unit = if unit_first { Some(reader.text()?) } else { None };
        if unit_first {
            reader.symbol(',')?;
        }
        let column = reader.name()?;
        let unit = match unit {
            Some(unit) => unit,
            None => {
                reader.symbol(',')?;
                reader.text()?
            }
        };
        reader.symbol(')')?;
        Ok((unit, column))
    };
    if doris && reader.takes("AUTO PARTITION BY RANGE") {
        reader.symbol('(')?;
        let (unit, column) = truncated(reader)?;
        reader.symbol(')')?;
        reader.symbol('(')?;
        reader.symbol(')')?;
        let clause = format!("AUTO PARTITION BY RANGE (date_trunc(`{column}`, '{unit}'))");
        return Ok(Some(PartitionBy { clause, column, unit: Some(unit) }));
    }
    if doris && reader.takes("AUTO PARTITION BY LIST") {
        let names = reader.names()?;
        reader.symbol('(')?;
        reader.symbol(')')?;
        let clause = format!("AUTO PARTITION BY LIST (`{}`)", names.join("`, `"));
        return Ok(Some(PartitionBy { clause, column: names[0].clone(), unit: None }));
    }
    if doris || !reader.takes("PARTITION BY") {
        return Ok(None);
    }
    if reader.peek() == Some(&Lexeme::Symbol('(')) {
        let names = reader.names()?;
        let clause = format!("PARTITION BY (`{}`)", names.join("`, `"));
        return Ok(Some(PartitionBy { clause, column: names[0].clone(), unit: None }));
    }
    let (unit, column) = truncated(reader)?;
    let clause = format!("PARTITION BY date_trunc('{unit}', `{column}`)");
    Ok(Some(PartitionBy { clause, column, unit: Some(unit) }))
}

/// The part after `DISTRIBUTED BY`.
pub(super) fn distribution(
    product: Product,
    reader: &mut Reader,
) -> Result<(Vec<String>, Option<u32>), Syntax> {
    let columns = if reader.takes("RANDOM") {
        Vec::new()
    } else {
        reader.expects("HASH")?;
        reader.names()?
    };
    if !reader.takes("BUCKETS") {
        return Ok((columns, None));
    }
    if product == Product::Doris && reader.takes("AUTO") {
        return Ok((columns, None));
    }
    reader.number().map(|buckets| (columns, Some(buckets)))
}

/// `("name" = "value", …)`.
pub(super) fn properties(reader: &mut Reader) -> Result<Vec<(String, String)>, Syntax> {
    reader.symbol('(')?;
    let mut found = Vec::new();
    loop {
        let name = reader.text()?;
        reader.symbol('=')?;
        found.push((name, reader.text()?));
        if !reader.takes_symbol(',') {
            break;
        }
    }
    reader.symbol(')')?;
    Ok(found)
}

/// `("name" = "3")`.
pub(super) fn replicas(reader: &mut Reader, name: &str) -> Result<u32, Syntax> {
    match properties(reader)?.as_slice() {
        [(found, count)] if found == name => count.parse().map_err(|_| refused("Invalid replication num")),
        found => Err(refused(format!("Unknown properties: {found:?}"))),
    }
}
