use proptest::prelude::*;

use super::*;

fn rule(escape: &str, quotes: &[&str], prefix: &str) -> TextRule {
    TextRule {
        name: "literal".to_owned(),
        prefix: prefix.to_owned(),
        quotes: quotes.iter().map(|quote| (*quote).to_owned()).collect(),
        escape: escape.to_owned(),
    }
}

/// `SET x = <text> , y` as written, or the error of reading it back.
fn written(value: &str, rule: &TextRule, readings: &[Lexing]) -> Result<Statement, WriteError> {
    let mut writer = Writer::new('`');
    writer.words("SET x")?;
    writer.symbol("=")?;
    writer.text(value, rule)?;
    writer.symbol(",")?;
    writer.words("y")?;
    writer.finish(readings, |_| true)
}

/// Texts of characters that could break out of quotes, with anything between them.
fn nasty() -> impl Strategy<Value = String> {
    prop_oneof![r#"['"\\\n;a \-*/#$`\]\[]{0,12}"#, "\\PC{0,20}", any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_text_reads_as_itself_or_is_refused(value in nasty()) {
        let fitting = [
            (rule("double", &["'"], ""), Lexing::SQLITE),
            (rule("double", &["'"], ""), Lexing::POSTGRES),
            (rule("double", &["'", "\""], ""), Lexing::MYSQL_PLAIN),
            (rule("double_and_backslash", &["'"], ""), Lexing::MYSQL),
            (rule("double_and_backslash", &["'"], "E"), Lexing::POSTGRES),
            (rule("backslash", &["\"", "'"], ""), Lexing::MYSQL),
            (rule("backslash_quote", &["'"], ""), Lexing::MYSQL),
            (rule("verbatim", &["'", "\""], ""), Lexing::MYSQL_PLAIN),
            (rule("verbatim", &["'"], ""), Lexing::SQLITE),
        ];
        for (rule, lexing) in fitting {
            match written(&value, &rule, &[lexing]) {
                Ok(_) | Err(WriteError::NotRepresentable(_)) => {}
                Err(error) => prop_assert!(false, "{} {value:?}: {error}", rule.escape),
            }
        }
    }

    #[test]
    fn a_false_rule_is_always_seen(value in nasty()) {
        // Declared for a server that does not escape, used on one that does, and vice versa.
        for (escape, lexing) in [("double", Lexing::MYSQL), ("double_and_backslash", Lexing::SQLITE),
            ("backslash", Lexing::SQLITE), ("verbatim", Lexing::MYSQL), ("backslash_quote", Lexing::POSTGRES)] {
            let rule = rule(escape, &["'"], "");
            if let Ok(statement) = written(&value, &rule, &[lexing]) {
                let lexemes = lex(statement.as_str(), lexing).expect("was read before");
                prop_assert_eq!(lexemes.len(), 6);
                prop_assert_eq!(&lexemes[3].kind, &Kind::Text(value.clone()));
            }
        }
    }

    #[test]
    fn two_readings_agree_or_the_text_is_refused(value in nasty()) {
        let readings = [Lexing::MYSQL, Lexing::MYSQL_PLAIN];
        for escape in ["double", "double_and_backslash", "backslash", "backslash_quote", "verbatim"] {
            let mut writer = Writer::new('`');
            writer.words("SET x").expect("words");
            let representable = writer.text(&value, &rule(escape, &["'"], "")).is_ok();
            let Ok(statement) = writer.finish(&readings, |_| false) else { continue };
            for reading in readings {
                let lexemes = lex(statement.as_str(), reading).expect("was read before");
                prop_assert_eq!(lexemes.len(), if representable { 3 } else { 2 });
            }
        }
    }

    #[test]
    fn a_name_never_leaves_its_quotes(name in nasty(), quote in prop_oneof![Just('"'), Just('`')]) {
        let readings: &[Lexing] = match quote {
            '"' => &[Lexing::SQLITE, Lexing::POSTGRES],
            _ => &[Lexing::MYSQL, Lexing::MYSQL_PLAIN, Lexing::SQLITE],
        };
        let mut writer = Writer::new(quote);
        writer.words("DROP TABLE").expect("words");
        match writer.name(std::slice::from_ref(&name)) {
            Ok(()) => {
                let statement = writer.finish(readings, |_| true).expect("a quoted name reads as itself");
                for reading in readings {
                    let lexemes = lex(statement.as_str(), *reading).expect("readable");
                    prop_assert_eq!(&lexemes[2].kind, &Kind::Name(name.clone()));
                    prop_assert_eq!(lexemes.len(), 3);
                }
            }
            Err(_) => prop_assert!(name.is_empty() || name.contains('\0')),
        }
    }

    #[test]
    fn only_numbers_are_numbers(text in "[0-9eE+.; a-]{0,8}") {
        if is_number(&text) {
            prop_assert!(text.parse::<f64>().is_ok());
        }
    }
}

#[test]
fn numbers_by_shape() {
    for good in ["0", "-1", "+12.50", "1e5", "1.5E-3"] {
        assert!(is_number(good), "{good}");
    }
    for bad in ["", "-", "1;", "1; DROP", "1.", ".5", "0x1", "1e", "1e5.5", "--1", "1 ", "١"] {
        assert!(!is_number(bad), "{bad}");
    }
    assert!(!is_number(&"1".repeat(101)));
}

#[test]
fn the_first_quote_that_can_carry_the_text_is_used() {
    let both = rule("verbatim", &["'", "\""], "");
    assert_eq!(quote_text("it's", &both), Ok("\"it's\"".to_owned()));
    assert_eq!(quote_text("plain", &both), Ok("'plain'".to_owned()));
    assert!(matches!(quote_text("'\"", &both), Err(WriteError::NotRepresentable(_))));
    assert!(matches!(quote_text("a\\", &both), Err(WriteError::NotRepresentable(_))));
}

#[test]
fn statements_are_written_as_a_person_would() {
    let mut writer = Writer::new('"');
    let literal = rule("double", &["'"], "");
    writer.words("ALTER TABLE").expect("words");
    writer.name(&["main".into(), "a\"b".into()]).expect("name");
    writer.words("ADD COLUMN").expect("words");
    writer.name(&["c".into()]).expect("name");
    let tokens = [
        TypeToken::Word("DECIMAL".into()),
        TypeToken::Symbol("(".into()),
        TypeToken::Number(10),
        TypeToken::Symbol(",".into()),
        TypeToken::Number(2),
        TypeToken::Symbol(")".into()),
    ];
    writer.data_type(&tokens, &literal).expect("type");
    writer.words("DEFAULT").expect("words");
    writer.number("-1.5").expect("number");
    let statement = writer.finish(&[Lexing::SQLITE], |_| true).expect("reads as meant");
    assert_eq!(statement.as_str(), r#"ALTER TABLE "main"."a""b" ADD COLUMN "c" DECIMAL(10, 2) DEFAULT -1.5"#);
}
