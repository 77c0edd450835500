use super::*;
use crate::testing::{info, strings, text_rule};

fn members(change: impl FnOnce(&mut DialectInfo)) -> Vec<String> {
    let mut described = info();
    change(&mut described);
    let problems = Profile::new(&described).expect_err("something is wrong");
    problems.into_iter().map(|problem| problem.member).collect()
}

#[test]
fn a_sound_description_is_taken() {
    let profile = Profile::new(&info()).expect("sound");
    assert_eq!(profile.transport, Transport::Sqlite);
    assert_eq!(profile.parser, Some(SqlParser::Sqlite));
    assert!(profile.operations["add_field"].words.contains("ALTER"));
}

#[test]
fn everything_wrong_is_said_at_once() {
    let found = members(|info| {
        info.transport = "carrier_pigeon".to_owned();
        info.quoting.name_quote = "'".to_owned();
        info.quoting.texts = vec![text_rule("odd", "rot13")];
        info.sql.placeholders = "colon".to_owned();
        info.reads_from = strings(&["a.b.c.d", "*", "x;y"]);
        info.type_words = strings(&["INT; DROP"]);
        info.name_rules[0].pattern = "^a$".to_owned();
        info.vocabularies[0].operation = "Create Table".to_owned();
    });
    for member in [
        "transport",
        "quoting.nameQuote",
        "quoting.texts[0].escape",
        "quoting.texts",
        "sql.placeholders",
        "readsFrom[0]",
        "readsFrom[1]",
        "readsFrom[2]",
        "typeWords[0]",
        "nameRules[0].pattern",
        "vocabularies[0].operation",
    ] {
        assert!(found.contains(&member.to_owned()), "{member} is missing in {found:?}");
    }
}

#[test]
fn words_and_heads_stay_within_the_hosts_bounds() {
    let add_field = |info: &DialectInfo| {
        info.vocabularies.iter().position(|words| words.operation == "add_field").expect("is there")
    };
    for word in ["DROP", "drop", "ATTACH", "TRIGGER", "PRAGMA", "SELECT"] {
        let found = members(|info| {
            let at = add_field(info);
            info.vocabularies[at].words.push(word.to_owned());
        });
        assert_eq!(found.len(), 1, "{word}: {found:?}");
    }
    for head in ["DROP TABLE", "GRANT", "ALTER", "ALTER  TABLE", "ALTER TABLE;"] {
        let found = members(|info| {
            let at = add_field(info);
            info.vocabularies[at].heads.push(head.to_owned());
        });
        assert!(!found.is_empty(), "{head}");
    }
}

#[test]
fn quotes_that_could_be_taken_for_names_are_refused() {
    let found = members(|info| info.quoting.texts[0].quotes = strings(&["'", "\""]));
    assert_eq!(found, ["quoting.texts[0].quotes"]);
    let found = members(|info| info.quoting.texts[0].prefix = "X".to_owned());
    assert_eq!(found, ["quoting.texts[0].prefix"]);
}

#[test]
fn lists_are_bounded_before_they_are_looked_at() {
    let long = |change: fn(&mut DialectInfo)| members(change);
    // All of these patterns are wrong and none is reported: they were not compiled.
    let rules = long(|info| {
        info.name_rules[0].pattern = "(".to_owned();
        info.name_rules = vec![info.name_rules[0].clone(); 21];
    });
    assert_eq!(rules, ["nameRules"]);
    assert_eq!(long(|info| info.sql.parsers = vec!["sqlite".to_owned(); 21]), ["sql.parsers"]);
    let denied = long(|info| info.sql.denied_functions = vec!["f".to_owned(); 501]);
    assert_eq!(denied, ["sql.deniedFunctions"]);
    assert_eq!(long(|info| info.vocabularies[0].words = vec!["A".to_owned(); 1_001]), ["vocabularies[0]"]);
    assert_eq!(long(|info| info.capabilities = vec!["x".to_owned(); 1_001]), ["capabilities"]);
}

#[test]
fn so_many_problems_are_said_at_once() {
    assert_eq!(members(|info| info.type_words = vec!["; DROP".to_owned(); 1_000]).len(), 50);
}
