//! Checks the new names of a change against the limits of the dialect, before planning.

use std::collections::BTreeSet;

use lakeport_bindings::dialect::planner::Change;
use lakeport_bindings::host::types::Problem;

use crate::profile::{NameLimit, Profile};

/// The longest name of a kind without a rule, in characters.
const DEFAULT_MAX_CHARACTERS: usize = 64;

/// All problems of the new names of a change, each with the member of the HTTP interface.
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
        found.push(problem(member, "invalid_name", not_taken(limit, kind, name)));
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

/// The character that a pattern does not permit, in words; or the pattern, if no single character is to
/// blame.
fn not_taken(limit: &NameLimit, kind: &str, name: &str) -> String {
    /// If one of them is permitted anywhere in a name, characters can be tested one by one.
    const PLAIN: [char; 2] = ['a', 'A'];
    let takes = |name: &[char]| limit.pattern.is_match(&name.iter().collect::<String>());
    let to_blame = PLAIN.into_iter().find(|&plain| takes(&[plain; 3])).and_then(|plain| {
        let mut characters = name.chars();
        let (first, last) = (characters.clone().next()?, characters.clone().next_back()?);
        match characters.find(|&inner| !takes(&[plain, inner, plain])) {
            Some(inner) => Some(("have", inner)),
            None if !takes(&[first, plain]) => Some(("begin with", first)),
            None if !takes(&[plain, last]) => Some(("end with", last)),
            None => None,
        }
    });
    match to_blame {
        Some((how, character)) => {
            format!("a name of a {kind} cannot {how} {} in this database", described(character))
        }
        None => format!("this database takes names of a {kind} that match {}", limit.rule.pattern),
    }
}

/// Invisible characters are shown by their code point only.
fn described(character: char) -> String {
    let number = format!("U+{:04X}", u32::from(character));
    match character {
        ' ' => "a blank".to_owned(),
        _ if character.is_control() => format!("the control character {number}"),
        _ if character.is_ascii_graphic() => format!("the character {character}"),
        _ if character.is_alphanumeric() => format!("the character {character} ({number})"),
        _ => format!("the character {number}"),
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

#[cfg(test)]
mod tests {
    use lakeport_bindings::dialect::about::NameRule;

    use super::*;

    fn told(pattern: &str, name: &str) -> Vec<String> {
        let rule = NameRule {
            applies_to: "table".to_owned(),
            max_length: 64,
            length_unit: "characters".to_owned(),
            pattern: pattern.to_owned(),
            keeps: "as_written".to_owned(),
            case_insensitive: false,
        };
        let limit = NameLimit { rule, pattern: crate::pattern::compile(pattern).expect("in the subset") };
        let mut found = Vec::new();
        check_limit(&limit, "table", name, "tableName", &mut found);
        found.into_iter().map(|problem| problem.message).collect()
    }

    #[test]
    fn a_character_that_is_not_taken_is_named_in_words() {
        let basic_plane = r"[^\x00-\x1F\x7F\x{10000}-\x{10FFFF}]*[^ \x00-\x1F\x7F\x{10000}-\x{10FFFF}]";
        for (pattern, name, expected) in [
            (basic_plane, "ab ", "end with a blank"),
            (basic_plane, "a\tb", "have the control character U+0009"),
            (basic_plane, "a😀", "have the character U+1F600"),
            ("[A-Za-z0-9_]+", "a-b", "have the character -"),
            ("[A-Za-z0-9_]+", "aéb", "have the character é (U+00E9)"),
            ("[A-Z][A-Z0-9]*", "1A", "begin with the character 1"),
        ] {
            let expected = format!("a name of a table cannot {expected} in this database");
            assert_eq!(told(pattern, name), [expected], "{name:?}");
        }
        assert_eq!(told(basic_plane, "a b"), [] as [String; 0]);
    }

    #[test]
    fn structural_mismatches_show_the_whole_pattern() {
        assert_eq!(told("(?:ab)+", "aba"), ["this database takes names of a table that match (?:ab)+"]);
        assert_eq!(
            told("[a-z]{1,3}", "abcd"),
            ["this database takes names of a table that match [a-z]{1,3}"]
        );
    }
}
