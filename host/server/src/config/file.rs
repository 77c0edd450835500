//! Reads `lakeport.toml`. An unknown key is an error with its line and the nearest known key.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use lakeport_base::text::nearest;
use toml::de::{DeTable, DeValue};

use super::SETTINGS;

/// The largest settings file.
const MAX_BYTES: u64 = 1024 * 1024;

/// Texts by key, each with its line.
pub type FileSettings = BTreeMap<String, (String, usize)>;

pub fn read(path: &Path) -> anyhow::Result<FileSettings> {
    let shown = path.display();
    let size = fs::metadata(path).with_context(|| format!("cannot read {shown}"))?.len();
    if size > MAX_BYTES {
        bail!("{shown} has {size} bytes, more than a settings file may have ({MAX_BYTES})");
    }
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
    parse_text(&text).with_context(|| format!("in {shown}"))
}

pub fn parse_text(text: &str) -> anyhow::Result<FileSettings> {
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        anyhow::anyhow!("line {line}: {}", error.message())
    })?;
    let mut found = BTreeMap::new();
    collect(text, "", table.get_ref(), &mut found)?;
    Ok(found)
}

fn collect(text: &str, prefix: &str, table: &DeTable<'_>, found: &mut FileSettings) -> anyhow::Result<()> {
    for (name, value) in table {
        let key = format!("{prefix}{}", name.get_ref());
        let line = line_of(text, name.span().start);
        let is_section = SETTINGS.iter().any(|setting| setting.key.starts_with(&format!("{key}.")));
        match value.get_ref() {
            DeValue::Table(inner) if is_section => collect(text, &format!("{key}."), inner, found)?,
            _ if !SETTINGS.iter().any(|setting| setting.key == key) => bail!(unknown(&key, line)),
            value => {
                let value = plain(value).with_context(|| format!("line {line}: `{key}`"))?;
                found.insert(key, (value, line));
            }
        }
    }
    Ok(())
}

fn unknown(key: &str, line: usize) -> String {
    match nearest(key, SETTINGS.iter().map(|setting| setting.key)) {
        Some(near) => format!("line {line}: unknown setting `{key}`; did you mean `{near}`?"),
        None => format!("line {line}: unknown setting `{key}`; `lakeport config --explain` lists all"),
    }
}

/// Joins a list's texts by commas, as in the environment.
fn plain(value: &DeValue<'_>) -> anyhow::Result<String> {
    Ok(match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Array(items) => {
            let texts: Result<Vec<String>, _> = items.iter().map(|item| plain(item.get_ref())).collect();
            texts?.join(",")
        }
        _ => bail!("must be a text, a whole number, true or false, or a list of texts"),
    })
}

fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}
