//! Whether the expression of a generated field names another field. The catalogue knows it, too; but facts
//! from there would change when a generated field is dropped, and facts about a field must not.

use lakeport_sdk::dialect::Table;

/// Names of generated fields whose expression may name this one. Any occurrence of the name in the text
/// counts as a use.
pub fn generated_from<'a>(table: &'a Table, name: &str) -> Vec<&'a str> {
    let others = table.fields.iter().filter(|field| field.name != name);
    let uses = others.filter(|field| field.generated.as_deref().is_some_and(|text| mentions(text, name)));
    uses.map(|field| field.name.as_str()).collect()
}

fn mentions(expression: &str, name: &str) -> bool {
    let quoted = format!("\"{}\"", name.replace('"', "\"\""));
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let bare = expression.match_indices(name).any(|(at, _)| {
        let before = expression[..at].chars().next_back();
        let behind = expression[at + name.len()..].chars().next();
        !before.is_some_and(is_part) && !behind.is_some_and(is_part)
    });
    !name.is_empty() && (bare || expression.contains(&quoted))
}

#[cfg(test)]
mod tests {
    use super::mentions;

    #[test]
    fn a_name_is_found_as_a_word_or_in_quotes() {
        for (expression, name, expected) in [
            ("(e + 1)", "e", true),
            ("(ee + 1)", "e", false),
            ("lower(e)", "lower", true),
            ("(\"a\"\"b\" + 1)", "a\"b", true),
            ("(\"Total\" * 2)", "Total", true),
            ("((a_b)::text)", "b", false),
        ] {
            assert_eq!(mentions(expression, name), expected, "{expression} {name}");
        }
    }
}
