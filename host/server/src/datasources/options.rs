//! The options of a data source: those of its dialect, by the dialect's schema, and those of every kind.

use lakeport_base::error::Detail;
use lakeport_base::text::shortened;
use lakeport_http::form::Patch;
use lakeport_sql::Transport;
use serde_json::{Map, Value};

use super::store::Datasource;
use crate::plugins;

/// The longest options, written as JSON, in bytes.
const OPTIONS_MAX_BYTES: usize = 16 * 1024;
/// The most unknown options that an error names.
const OPTIONS_SHOWN_MAX: usize = 20;
/// The option that lists the databases to sync.
const DATABASES: &str = "databases";
/// Its value for all databases.
pub const ALL_DATABASES: &str = "*";
/// The option by which tasks may add a table of ours to a SQLite file.
const TASK_TABLE: &str = "taskTable";
/// Characters of an unknown option's name, in an error.
const NAME_MAX_CHARS: usize = 100;

/// A supported kind of database.
pub struct Kind {
    /// The dialect's name.
    pub name: String,
    pub transport: Transport,
    /// The names of its own options.
    options: Vec<String>,
    /// Their JSON Schema.
    options_schema: String,
}

impl Kind {
    /// The options of every kind.
    const COMMON_OPTIONS: [&'static str; 1] = [DATABASES];

    /// The plugin host let the schema in as JSON.
    pub fn new(name: String, transport: Transport, options_schema: String) -> Kind {
        let schema: Value = serde_json::from_str(&options_schema).unwrap_or_default();
        let options = schema["properties"].as_object().map(|named| named.keys().cloned().collect());
        Kind { name, transport, options: options.unwrap_or_default(), options_schema }
    }

    /// The names of all options of a data source of this kind; of a dialect that is not active only the common ones
    /// are known.
    fn options_of<'k>(kind: &str, kinds: &'k [Kind]) -> Vec<&'k str> {
        let own = kinds.iter().filter(|known| known.name == kind).flat_map(|known| &known.options);
        let of_files = (kind == "sqlite").then_some(TASK_TABLE);
        Kind::COMMON_OPTIONS.into_iter().chain(of_files).chain(own.map(String::as_str)).collect()
    }
}

/// The options of a form as JSON, or their problems.
pub fn wanted(
    form: &Patch<Map<String, Value>>,
    before: Option<&Datasource>,
    kind: &str,
    kinds: &[Kind],
) -> Result<String, Vec<Detail>> {
    let options = match form {
        Patch::Keep => return Ok(before.map_or_else(|| "{}".to_owned(), |before| before.options.clone())),
        Patch::Clear => return Ok("{}".to_owned()),
        Patch::Set(options) => options,
    };
    let known = Kind::options_of(kind, kinds);
    let unknown = options.keys().filter(|name| !known.contains(&name.as_str()));
    let mut wrong: Vec<Detail> = unknown
        .take(OPTIONS_SHOWN_MAX)
        .map(|name| {
            let message = format!("is not an option of this kind; known: {}", known.join(", "));
            Detail::new(format!("options.{}", shortened(name, NAME_MAX_CHARS)), message)
        })
        .collect();
    let text = Value::Object(options.clone()).to_string();
    if text.len() > OPTIONS_MAX_BYTES {
        wrong.push(Detail::new("options", format!("must have {OPTIONS_MAX_BYTES} bytes at most")));
        return Err(wrong);
    }
    if let Some(known) = kinds.iter().find(|known| known.name == kind) {
        let own = options.iter().filter(|(name, _)| known.options.contains(name));
        let own = own.map(|(name, value)| (name.clone(), value.clone())).collect();
        wrong.extend(plugins::problems(&known.options_schema, &own, "options"));
    }
    if options.get(DATABASES).is_some_and(|databases| names_in(databases).is_none()) {
        let message = format!("must be a list of names, or [\"{ALL_DATABASES}\"] for all");
        wrong.push(Detail::new(format!("options.{DATABASES}"), message));
    }
    if options.get(TASK_TABLE).is_some_and(|wanted| !wanted.is_boolean()) {
        wrong.push(Detail::new(format!("options.{TASK_TABLE}"), "must be true or false"));
    }
    if wrong.is_empty() { Ok(text) } else { Err(wrong) }
}

/// The stored options for answers: only those that the kind knows, so that nothing else, such as a secret from before
/// they were checked, is shown.
pub fn shown(source: &Datasource, kinds: &[Kind]) -> Map<String, Value> {
    let mut options: Map<String, Value> = serde_json::from_str(&source.options).unwrap_or_default();
    let known = Kind::options_of(&source.kind, kinds);
    options.retain(|name, _| known.contains(&name.as_str()));
    options
}

/// The names in an option; `None` if it is not a list of names.
fn names_in(value: &Value) -> Option<Vec<String>> {
    let names = value.as_array().filter(|names| !names.is_empty())?;
    names.iter().map(|name| name.as_str().filter(|name| !name.is_empty()).map(str::to_owned)).collect()
}

/// Whether tasks may add a table of ours, which tells after a crash what has committed.
pub fn may_add_task_table(options: &str) -> bool {
    let options: Map<String, Value> = serde_json::from_str(options).unwrap_or_default();
    options.get(TASK_TABLE) == Some(&Value::Bool(true))
}

/// The databases to sync that the options list; `None` if they list none.
pub fn databases_named(options: &str) -> Option<Vec<String>> {
    let options: Map<String, Value> = serde_json::from_str(options).ok()?;
    names_in(options.get(DATABASES)?)
}
