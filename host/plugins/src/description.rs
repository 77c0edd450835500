//! Checks a plugin's description when it is staged: names, versions, JSON schemas.

use std::collections::BTreeSet;

use lakeport_bindings::host::types::Problem;
use lakeport_bindings::{dialect, engine, tool};
use lakeport_sql::Profile;

use crate::http;
use crate::prepared::Description;

/// The longest name of a plugin, in characters.
const NAME_MAX: usize = 64;
/// The longest description of a tool, in characters.
const TOOL_DESCRIPTION_MAX: usize = 2_000;
/// The largest JSON Schema, in bytes.
const SCHEMA_MAX_BYTES: usize = 256 * 1024;
/// The most task types of an engine.
const TASK_TYPES_MAX: usize = 200;

/// Returns a dialect's profile, or all problems of the description.
pub fn check(description: &Description) -> Result<Option<Profile>, Vec<Problem>> {
    let (mut found, mut profile) = (Vec::new(), None);
    check_name(description, &mut found);
    if let Err(error) = semver::Version::parse(description.version()) {
        found.push(problem(
            "version",
            format!("{:?} is not a semantic version such as 0.3.1: {error}", description.version()),
        ));
    }
    if description.title().trim().is_empty() {
        found.push(problem("title", "is empty; say in a few words what the plugin is for"));
    }
    match description {
        Description::Dialect(info) => profile = dialect(info, &mut found),
        Description::Engine(info) => engine(info, &mut found),
        Description::Tool(info) => tool(info, &mut found),
    }
    if found.is_empty() { Ok(profile) } else { Err(found) }
}

fn check_name(description: &Description, found: &mut Vec<Problem>) {
    let name = description.name();
    let separator = if matches!(description, Description::Tool(_)) { '_' } else { '-' };
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == separator;
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(fits) || name.len() > NAME_MAX
    {
        found.push(problem(
            "name",
            format!(
                "{name:?} is not a plugin name: lower case letters, digits and `{separator}`, a letter first, \
                 {NAME_MAX} at most"
            ),
        ));
    }
}

fn dialect(info: &dialect::about::DialectInfo, found: &mut Vec<Problem>) -> Option<Profile> {
    check_json("optionsSchema", &info.options_schema, found);
    Profile::new(info).map_err(|problems| found.extend(problems)).ok()
}

fn engine(info: &engine::about::EngineInfo, found: &mut Vec<Problem>) {
    check_json("configSchema", &info.config_schema, found);
    let web = http::description_problems(&info.addresses, &info.secrets, &info.auth);
    found.extend(web.into_iter().map(|(member, message)| problem(&member, message)));
    if info.task_types.len() > TASK_TYPES_MAX {
        found
            .push(problem("taskTypes", format!("{} types; {TASK_TYPES_MAX} at most", info.task_types.len())));
        return;
    }
    let mut names = BTreeSet::new();
    for (index, task_type) in info.task_types.iter().enumerate() {
        check_json(&format!("taskTypes[{index}].settingsSchema"), &task_type.settings_schema, found);
        if !names.insert(task_type.name.as_str()) {
            found.push(problem(
                &format!("taskTypes[{index}].name"),
                format!("{} is there twice", task_type.name),
            ));
        }
    }
    if !matches!(info.deploy_kind.as_str(), "api" | "files" | "embedded") {
        found.push(problem("deployKind", format!("{:?} is not api, files or embedded", info.deploy_kind)));
    }
    if !matches!(info.cron_dialect.as_str(), "quartz7" | "unix5") {
        found.push(problem("cronDialect", format!("{:?} is not quartz7 or unix5", info.cron_dialect)));
    }
    if !matches!(info.time_zone_mode.as_str(), "schedule" | "instance" | "utc") {
        found.push(problem(
            "timeZoneMode",
            format!("{:?} is not schedule, instance or utc", info.time_zone_mode),
        ));
    }
}

fn tool(info: &tool::tool::ToolInfo, found: &mut Vec<Problem>) {
    check_json("inputSchema", &info.input_schema, found);
    check_json("outputSchema", &info.output_schema, found);
    check_json("configSchema", &info.config_schema, found);
    let length = info.description.chars().count();
    if length == 0 || length > TOOL_DESCRIPTION_MAX {
        found.push(problem(
            "description",
            format!("has {length} characters; a model needs 1 to {TOOL_DESCRIPTION_MAX} to know when to use the tool"),
        ));
    }
    let web = http::description_problems(&info.addresses, &info.secrets, &info.auth);
    found.extend(web.into_iter().map(|(member, message)| problem(&member, message)));
}

fn check_json(member: &str, text: &str, found: &mut Vec<Problem>) {
    if text.len() > SCHEMA_MAX_BYTES {
        found.push(problem(member, format!("has {} bytes; {SCHEMA_MAX_BYTES} at most", text.len())));
        return;
    }
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(value) if value.is_object() => {}
        Ok(_) => found.push(problem(member, "must be a JSON object, a JSON Schema; `{}` accepts anything")),
        Err(error) => found.push(problem(member, format!("is not JSON: {error}"))),
    }
}

fn problem(member: &str, message: impl Into<String>) -> Problem {
    Problem { member: member.to_owned(), code: "invalid_value".to_owned(), message: message.into() }
}
