//! Columns of a table: their definitions, and settings applied afterwards.

use lakeport_sdk::Row;
use lakeport_sdk::dialect::Error;
use lakeport_sdk::serde_json;

use crate::quote;
use crate::read::storage_of;

/// `"a" integer DEFAULT 1 NOT NULL`. A column of a partition takes its identity from its table.
pub fn definition(row: &Row<'_>, sequence: Option<&Row<'_>>, table: &str) -> Result<String, Error> {
    let mut text = format!("{} {}", quote::name(row.text("name")?), row.text("type_text")?);
    if let Some(options) = options(row.optional_text("foreign_options")?)? {
        text.push_str(&format!(" OPTIONS ({})", foreign(&options)));
    }
    if let Some(collation) = row.optional_text("collation_name")? {
        text.push_str(&format!(" COLLATE {collation}"));
    }
    text.push_str(&value(row)?);
    if let Some(sequence) = sequence {
        let always = if row.text("identity")? == "a" { "ALWAYS" } else { "BY DEFAULT" };
        let settings = identity(sequence, table, row.text("name")?)?;
        text.push_str(&format!(" GENERATED {always} AS IDENTITY{settings}"));
    }
    if row.boolean("not_null")? {
        text.push_str(" NOT NULL");
    }
    Ok(text)
}

/// ` DEFAULT 1` or ` GENERATED ALWAYS AS (…) STORED`.
pub fn value(row: &Row<'_>) -> Result<String, Error> {
    Ok(match row.optional_text("default_text")? {
        None => String::new(),
        Some(expression) if row.text("generated")?.is_empty() => format!(" DEFAULT {expression}"),
        Some(expression) => format!(" GENERATED ALWAYS AS ({}) STORED", without_parentheses(expression)),
    })
}

/// The content of an expression that is enclosed in parentheses as a whole.
fn without_parentheses(expression: &str) -> &str {
    let Some(inside) = expression.strip_prefix('(').and_then(|text| text.strip_suffix(')')) else {
        return expression;
    };
    let mut depth = 0_i32;
    for c in inside.chars() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        // Quotes are not parsed: in doubt the text stays as it is.
        if depth < 0 || c == '\'' || c == '"' {
            return expression;
        }
    }
    inside
}

/// The options of an identity's sequence that differ from the defaults.
fn identity(sequence: &Row<'_>, table: &str, column: &str) -> Result<String, Error> {
    let mut settings = Vec::new();
    let (schema, name) = (sequence.text("schema_name")?, sequence.text("name")?);
    if name != format!("{table}_{column}_seq") {
        settings.push(format!("SEQUENCE NAME {}", quote::path(schema, name)));
    }
    settings.extend(counting(sequence)?);
    Ok(if settings.is_empty() { String::new() } else { format!(" ({})", settings.join(" ")) })
}

/// The options of a sequence that differ from the defaults.
pub fn counting(sequence: &Row<'_>) -> Result<Vec<String>, Error> {
    let (least, most) = match sequence.text("type_text")? {
        "smallint" => (i64::from(i16::MIN), i64::from(i16::MAX)),
        "integer" => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    };
    let step = sequence.integer("step")?;
    let (minimum, maximum) = if step > 0 { (1, most) } else { (least, -1) };
    let (own_minimum, own_maximum) = (sequence.integer("minimum")?, sequence.integer("maximum")?);
    let start = if step > 0 { own_minimum } else { own_maximum };
    let mut settings = Vec::new();
    let mut unless = |usual: i64, words: &str, is: i64| {
        if is != usual {
            settings.push(format!("{words} {is}"));
        }
    };
    unless(start, "START WITH", sequence.integer("start")?);
    unless(1, "INCREMENT BY", step);
    unless(minimum, "MINVALUE", own_minimum);
    unless(maximum, "MAXVALUE", own_maximum);
    unless(1, "CACHE", sequence.integer("cache")?);
    if sequence.boolean("cycles")? {
        settings.push("CYCLE".to_owned());
    }
    Ok(settings)
}

/// Properties of a column that not every version accepts in its definition: `SET STORAGE EXTERNAL`.
pub fn settings(row: &Row<'_>) -> Result<Vec<String>, Error> {
    let mut settings = Vec::new();
    if let Some(storage) = row.optional_text("storage")? {
        settings.push(format!("SET STORAGE {}", storage_of(storage)));
    }
    match row.text("compression")? {
        "l" => settings.push("SET COMPRESSION lz4".to_owned()),
        "p" => settings.push("SET COMPRESSION pglz".to_owned()),
        _ => {}
    }
    if let Some(target @ 0..) = row.optional_integer("statistics_target")? {
        settings.push(format!("SET STATISTICS {target}"));
    }
    if let Some(options) = options(row.optional_text("options")?)? {
        settings.push(format!("SET ({})", assigned(&options)));
    }
    Ok(settings)
}

/// Options in the catalogue's form: a JSON list of `name=value`.
pub fn options(json: Option<&str>) -> Result<Option<Vec<(String, String)>>, Error> {
    let Some(json) = json else { return Ok(None) };
    let list: Vec<String> = serde_json::from_str(json)
        .map_err(|error| Error::bad_answer(format!("options of a table are no list: {error}")))?;
    let pair = |text: String| match text.split_once('=') {
        Some((name, value)) => (name.to_owned(), value.to_owned()),
        None => (text, String::new()),
    };
    Ok(Some(list.into_iter().map(pair).collect()))
}

/// `fillfactor='70', "toast.x"='1'`.
pub fn assigned(options: &[(String, String)]) -> String {
    let one = |(name, value): &(String, String)| format!("{name}={}", quote::text(value));
    options.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// `"delimiter" ','`.
pub fn foreign(options: &[(String, String)]) -> String {
    let one = |(name, value): &(String, String)| format!("{} {}", quote::name(name), quote::text(value));
    options.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_parentheses_around_the_whole_are_taken_off() {
        for (given, expected) in [
            ("(a * 2)", "a * 2"),
            ("((a) + (b))", "(a) + (b)"),
            ("(a) + (b)", "(a) + (b)"),
            ("upper(a)", "upper(a)"),
            ("(a || ')')", "(a || ')')"),
        ] {
            assert_eq!(without_parentheses(given), expected);
        }
    }

    #[test]
    fn options_are_quoted_whatever_they_hold() {
        let list = options(Some(r#"["fillfactor=70","x=a=b'c","flag"]"#)).unwrap().unwrap();
        assert_eq!(assigned(&list), "fillfactor='70', x='a=b''c', flag=''");
        assert_eq!(foreign(&list[1..2]), "\"x\" 'a=b''c'");
        assert!(options(Some("{")).is_err());
        assert_eq!(options(None).unwrap(), None);
    }
}
