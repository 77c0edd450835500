//! Names that a change brings with it, by the limits of the dialect, before anything is planned.

use std::collections::BTreeSet;

use lakeport_bindings::dialect::planner::Change;
use lakeport_bindings::host::types::Problem;

use crate::profile::{NameLimit, Profile};

/// The longest name of a kind without a rule, in characters.
const DEFAULT_MAX_CHARACTERS: usize = 64;

/// Everything wrong with the new names of a change, each with the member of the HTTP interface.
pub fn check_names(profile: &Profile, change: &Change) -> Vec<Problem> {
    let mut found = Vec::new();
    match change {
        Change::CreateTable(table) => {
            check(profile, "table", &table.name.name, "tableName", &mut found);
            let mut seen = BTreeSet::new();
            for (index, field) in table.fields.iter().enumerate() {
                let member = format!("fields[{index}].fieldName");
                check(profile, "field", &field.name, &member, &mut found);
                if !seen.insert(folded(profile, &field.name)) {
                    found.push(problem(
                        &member,
                        "conflict",
                        format!("a field {} is there twice", field.name),
                    ));
                }
            }
        }
        Change::RenameTable(rename) | Change::RestoreTable(rename) => {
            check(profile, "table", &rename.new_name, "tableName", &mut found);
        }
        Change::AddField(add) => {
            check(profile, "field", &add.field.name, "fieldName", &mut found);
            taken(profile, &add.field.name, None, &add.current, &mut found);
        }
        Change::AlterField(alter) if alter.after.name != alter.before.name => {
            check(profile, "field", &alter.after.name, "fieldName", &mut found);
            taken(profile, &alter.after.name, Some(&alter.before.name), &alter.current, &mut found);
        }
        _ => {}
    }
    found
}

/// Checks one name of a kind: `database`, `table` or `field`.
pub fn check(profile: &Profile, kind: &str, name: &str, member: &str, found: &mut Vec<Problem>) {
    if name.is_empty() || name.contains('\0') {
        found.push(problem(
            member,
            "invalid_name",
            format!("a name of a {kind} cannot be empty or have NUL"),
        ));
        return;
    }
    let Some(limit) = profile.names.get(kind) else {
        let length = name.chars().count();
        if length > DEFAULT_MAX_CHARACTERS {
            found.push(too_long(kind, member, length, DEFAULT_MAX_CHARACTERS, "characters"));
        }
        return;
    };
    check_limit(limit, kind, name, member, found);
}

fn check_limit(limit: &NameLimit, kind: &str, name: &str, member: &str, found: &mut Vec<Problem>) {
    let rule = &limit.rule;
    let length = if rule.length_unit == "bytes" { name.len() } else { name.chars().count() };
    if length > rule.max_length as usize {
        found.push(too_long(kind, member, length, rule.max_length as usize, &rule.length_unit));
    }
    if !limit.pattern.is_match(name) {
        let message = format!("this database takes names of a {kind} that match {}", rule.pattern);
        found.push(problem(member, "invalid_name", message));
    }
    let kept = match rule.keeps.as_str() {
        "lower" => name.to_lowercase(),
        "upper" => name.to_uppercase(),
        _ => name.to_owned(),
    };
    if kept != name {
        let message = format!("this database keeps names in {} case: {kept}", rule.keeps);
        found.push(problem(member, "invalid_name", message));
    }
}

fn taken(
    profile: &Profile,
    name: &str,
    except: Option<&str>,
    table: &lakeport_bindings::dialect::schema::Table,
    found: &mut Vec<Problem>,
) {
    let wanted = folded(profile, name);
    let others = table.fields.iter().filter(|field| Some(field.name.as_str()) != except);
    if others.map(|field| folded(profile, &field.name)).any(|known| known == wanted) {
        found.push(problem("fieldName", "conflict", format!("the table has a field {name} already")));
    }
}

fn folded(profile: &Profile, name: &str) -> String {
    match profile.names.get("field") {
        Some(limit) if limit.rule.case_insensitive => name.to_lowercase(),
        _ => name.to_owned(),
    }
}

fn too_long(kind: &str, member: &str, length: usize, max: usize, unit: &str) -> Problem {
    problem(member, "name_too_long", format!("the name of the {kind} has {length} {unit}; {max} at most"))
}

fn problem(member: &str, code: &str, message: String) -> Problem {
    Problem { member: member.to_owned(), code: code.to_owned(), message }
}
