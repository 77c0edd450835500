//! The clauses that statements share: comments, columns, types, partition, distribution, copies.

use super::refused;
use crate::catalogue::{Column, Product};
use crate::lexer::{Lexeme, escapes, literal};
use crate::parse::{Reader, Syntax};

/// Where a comment stands decides what is taken out of it.
#[derive(Clone, Copy)]
pub(super) enum Clause {
    NewTable,
    Definition,
    Change,
}

pub(super) fn comment(product: Product, clause: Clause, (quote, inside): (char, String)) -> String {
    match (product, clause) {
        (Product::StarRocks, _) => literal(quote, &inside),
        (_, Clause::NewTable) => escapes(&inside),
        (_, Clause::Definition) => inside.replace('\\', ""),
        (_, Clause::Change) => inside,
    }
}

pub(super) fn column(product: Product, reader: &mut Reader) -> Result<Column, Syntax> {
    let name = reader.name()?;
    let type_text = type_text(product, reader)?;
    let nullable = !reader.takes("NOT NULL");
    if nullable {
        reader.takes("NULL");
    }
    let default = if reader.takes("DEFAULT") { default(reader)? } else { None };
    let comment = match reader.takes("COMMENT") {
        true => comment(product, Clause::Definition, reader.raw()?),
        false => String::new(),
    };
    Ok(Column { name, type_text, nullable, key: false, default, comment })
}

pub(super) fn default(reader: &mut Reader) -> Result<Option<String>, Syntax> {
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
    reader.text().map(Some)
}

pub(super) const TYPES: &str = "BOOLEAN TINYINT SMALLINT INT BIGINT LARGEINT FLOAT DOUBLE DECIMAL DATE DATETIME CHAR VARCHAR \
                     STRING JSON VARIANT IPV4 IPV6 VARBINARY ARRAY MAP STRUCT";

/// A type, as `DESC` says it.
pub(super) fn type_text(product: Product, reader: &mut Reader) -> Result<String, Syntax> {
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
    if !matches!(word.as_str(), "ARRAY" | "MAP" | "STRUCT") {
        return Ok(text);
    }
    reader.symbol('<')?;
    let mut parts = Vec::new();
    loop {
        parts.push(match word.as_str() {
            "STRUCT" => {
                let name = reader.name()?;
                if product == Product::Doris {
                    reader.symbol(':')?;
                }
                format!("{name}:{}", type_text(product, reader)?)
            }
            _ => type_text(product, reader)?,
        });
        if !reader.takes_symbol(',') {
            break;
        }
    }
    reader.symbol('>')?;
    Ok(format!("{text}<{}>", parts.join(",")))
}

pub(super) fn partition(product: Product, reader: &mut Reader) -> Result<Option<(String, String)>, Syntax> {
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
        return Ok(Some((format!("AUTO PARTITION BY RANGE (date_trunc(`{column}`, '{unit}'))"), column)));
    }
    if doris && reader.takes("AUTO PARTITION BY LIST") {
        let names = reader.names()?;
        reader.symbol('(')?;
        reader.symbol(')')?;
        return Ok(Some((format!("AUTO PARTITION BY LIST (`{}`)", names[0]), names[0].clone())));
    }
    if doris || !reader.takes("PARTITION BY") {
        return Ok(None);
    }
    if reader.peek() == Some(&Lexeme::Symbol('(')) {
        let names = reader.names()?;
        return Ok(Some((format!("PARTITION BY (`{}`)", names[0]), names[0].clone())));
    }
    let (unit, column) = truncated(reader)?;
    Ok(Some((format!("PARTITION BY date_trunc('{unit}', `{column}`)"), column)))
}

/// Behind `DISTRIBUTED BY`.
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

/// `("name" = "3")`.
pub(super) fn replicas(reader: &mut Reader, name: &str) -> Result<u32, Syntax> {
    reader.symbol('(')?;
    let found = reader.text()?;
    if found != name {
        return Err(refused(format!("Unknown properties: {found}")));
    }
    reader.symbol('=')?;
    let value = reader.text()?.parse().map_err(|_| refused("Invalid replication num"))?;
    reader.symbol(')')?;
    Ok(value)
}
