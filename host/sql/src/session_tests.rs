use super::*;
use crate::testing::{info, strings};

fn profile_of(transport: &str, settings: &[&str]) -> Profile {
    let mut info = info();
    info.transport = transport.to_owned();
    if transport == "mysql" {
        info.quoting.name_quote = "`".to_owned();
        info.quoting.texts[0].escape = "double_and_backslash".to_owned();
    }
    if transport == "postgres" {
        info.sql.placeholders = "dollar".to_owned();
    }
    info.vocabularies.push(about::Vocabulary {
        operation: "session".to_owned(),
        heads: strings(&["SET", "START TRANSACTION"]),
        words: strings(settings),
    });
    info.vocabularies.push(about::Vocabulary {
        operation: "cancel".to_owned(),
        heads: strings(&["KILL QUERY", "SELECT", "CALL"]),
        words: strings(&["pg_cancel_backend", "pg_read_file", "stop"]),
    });
    Profile::new(&info).expect("the description is sound")
}

fn values() -> HostValues {
    HostValues {
        timeout: Duration::from_millis(2_500),
        max_rows: 10,
        session_id: Some(u64::MAX),
        query_id: Some("it's".to_owned()),
    }
}

fn kw(words: &str) -> Token {
    Token::Keyword(words.to_owned())
}

fn symbol(symbol: &str) -> Token {
    Token::Symbol(symbol.to_owned())
}

fn text(value: &str) -> Token {
    Token::Text(TextToken { value: value.to_owned(), rule: "literal".to_owned() })
}

fn number(digits: &str) -> Token {
    Token::Number(digits.to_owned())
}

fn host(name: &str) -> Token {
    Token::HostValue(name.to_owned())
}

const SETTINGS: &[&str] =
    &["SESSION", "SQL_MODE", "TIME_ZONE", "LOCK_WAIT_TIMEOUT", "TRANSACTION", "READ", "ONLY", "TO", "X"];

fn begins(profile: &Profile, setup: Vec<Vec<Token>>) -> Result<SessionStatements, Refusal> {
    let session = about::Session {
        driver_settings: "{}".to_owned(),
        setup,
        read_only: vec![vec![kw("SET SESSION TRANSACTION READ ONLY")]],
        read_only_strength: "advisory".to_owned(),
    };
    check_session(profile, &session, &values())
}

fn stops(statement: Vec<Token>) -> Result<Option<Statement>, Refusal> {
    let cancel = about::Cancel { how: "statement".to_owned(), session_id: Vec::new(), statement };
    check_cancel(&profile_of("postgres", SETTINGS), &cancel, &values())
}

#[test]
fn a_session_is_written_with_the_values_of_the_host() {
    let setup = vec![
        vec![kw("SET SESSION SQL_MODE"), symbol("="), text("STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION")],
        vec![kw("SET SESSION LOCK_WAIT_TIMEOUT"), symbol("="), host("timeout-s")],
        vec![
            kw("SET X"),
            symbol("="),
            host("timeout-ms"),
            symbol(","),
            kw("X"),
            symbol("="),
            host("max-rows"),
        ],
    ];
    let written = begins(&profile_of("mysql", SETTINGS), setup).expect("sound");
    let setup: Vec<&str> = written.setup.iter().map(Statement::as_str).collect();
    assert_eq!(
        setup,
        [
            "SET SESSION SQL_MODE = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
            "SET SESSION LOCK_WAIT_TIMEOUT = 3",
            "SET X = 2500, X = 10",
        ]
    );
    assert_eq!(written.read_only[0].as_str(), "SET SESSION TRANSACTION READ ONLY");
}

#[test]
fn timeouts_below_a_second_become_one() {
    let values = HostValues { timeout: Duration::from_millis(1), ..values() };
    assert_eq!(values.token("session", "timeout-s").unwrap(), number("1"));
}

#[test]
fn cancellations_carry_session_or_query_id() {
    let written = stops(vec![kw("KILL QUERY"), host("session-id")]).expect("sound");
    assert_eq!(written.expect("there is one").as_str(), "KILL QUERY 18446744073709551615");
    let call = vec![kw("SELECT pg_cancel_backend"), symbol("("), host("session-id"), symbol(")")];
    let written = stops(call).expect("sound");
    assert_eq!(written.expect("there is one").as_str(), "SELECT pg_cancel_backend (18446744073709551615)");
    let call = vec![kw("CALL stop"), symbol("("), host("query-id"), symbol(")")];
    let written = stops(call).expect("sound");
    assert_eq!(written.expect("there is one").as_str(), "CALL stop ('it''s')");
    assert_eq!(stops(Vec::new()).expect("none is needed"), None);
}

#[test]
fn hostile_sessions_are_refused_with_the_rule() {
    let settings: Vec<&str> =
        [SETTINGS, &["NAMES", "STANDARD_CONFORMING_STRINGS", "ANSI", "FOREIGN_KEY_CHECKS"]].concat();
    let mode = |value: Token| vec![kw("SET SQL_MODE"), symbol("="), value];
    let cases = [
        (mode(text("STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES")), "session"),
        (mode(text("no_backslash_escapes")), "session"),
        (mode(text("Ansi_Quotes")), "session"),
        (mode(text(" ansi ")), "session"),
        (mode(text("ORACLE")), "session"),
        (mode(kw("ANSI")), "session"),
        (mode(number("4")), "session"),
        (mode(host("max-rows")), "session"),
        (vec![kw("SET NAMES"), text("gbk")], "session"),
        (vec![kw("SET FOREIGN_KEY_CHECKS"), symbol("="), number("0")], "session"),
        (vec![kw("SET STANDARD_CONFORMING_STRINGS TO"), text("off")], "session"),
        (vec![kw("SET STANDARD_CONFORMING_STRINGS TO ONLY")], "session"),
        (vec![kw("SET X"), symbol("="), kw("X"), symbol("("), number("1"), symbol(")")], "shape"),
        (vec![kw("SET X"), symbol("="), symbol("*")], "shape"),
        (vec![kw("SET X"), symbol("="), Token::Expression("sleep(1)".to_owned())], "shape"),
        (vec![kw("SET X"), symbol("="), Token::Name(strings(&["main", "orders"]))], "names"),
        (vec![kw("SET X"), symbol("="), host("session-id")], "host_value"),
        (vec![kw("SET X"), symbol("="), host("password")], "host_value"),
        (vec![kw("SET GLOBAL X"), symbol("="), number("1")], "words"),
        (vec![kw("SET ROLE X")], "words"),
        (vec![kw("SET PASSWORD"), symbol("="), text("x")], "words"),
        (vec![kw("SET X; DROP TABLE orders")], "words"),
        (vec![kw("SET X"), symbol("="), number("1; DROP TABLE orders")], "shape"),
        (vec![kw("DROP TABLE")], "head"),
        (vec![kw("USE X")], "head"),
        (vec![number("1")], "head"),
        (Vec::new(), "head"),
    ];
    let kept: Vec<&str> = settings.iter().copied().filter(|word| *word != "PASSWORD").collect();
    for transport in ["mysql", "postgres"] {
        let profile = profile_of(transport, &kept);
        for (tokens, rule) in &cases {
            let refusal = begins(&profile, vec![tokens.clone()]).expect_err(&format!("{tokens:?}"));
            assert_eq!((refusal.place.as_str(), refusal.rule), ("session.setup[0]", *rule), "{refusal}");
        }
    }
}

#[test]
fn hostile_cancellations_are_refused_with_the_rule() {
    let cases = [
        (vec![kw("KILL QUERY"), number("1")], "shape"),
        (vec![kw("KILL QUERY")], "host_value"),
        (vec![kw("KILL QUERY"), host("timeout-s")], "host_value"),
        (vec![kw("SELECT pg_read_file"), symbol("("), host("query-id"), symbol(")")], "words"),
        (vec![kw("SELECT pg_cancel_backend"), symbol("("), host("session-id")], "shape"),
        (vec![kw("KILL QUERY"), host("session-id"), kw("DROP")], "words"),
        (vec![kw("DROP TABLE"), host("session-id")], "head"),
        (vec![kw("KILL QUERY"), Token::Name(strings(&["x"])), host("session-id")], "names"),
    ];
    for (tokens, rule) in cases {
        let refusal = stops(tokens.clone()).expect_err(&format!("{tokens:?}"));
        assert_eq!((refusal.place.as_str(), refusal.rule), ("cancel.statement", rule), "{refusal}");
    }
}

#[test]
fn a_recipe_that_would_be_refused_stands_against_the_description() {
    let mut info = info();
    info.session.setup = vec![vec![kw("SET NAMES"), text("gbk")]];
    info.cancel.how = "statement".to_owned();
    let problems = Profile::new(&info).expect_err("refused");
    let members: Vec<&str> = problems.iter().map(|problem| problem.member.as_str()).collect();
    assert_eq!(members, ["session.setup[0]", "cancel.statement"]);
}

#[test]
fn a_session_may_be_asked_for_its_id() {
    use crate::read::read_statement;
    use lakeport_bindings::dialect::statements::Fragment;

    for (transport, parser, sql) in [
        ("mysql", "mysql", "SELECT CONNECTION_ID() AS id"),
        ("postgres", "postgres", "SELECT CAST(pg_catalog.pg_backend_pid() AS bigint) AS id"),
    ] {
        let mut profile = profile_of(transport, SETTINGS);
        profile.parser = crate::SqlParser::named(parser);
        profile.functions = crate::functions::Functions::new(transport, &[parser.to_owned()], &[]);
        read_statement(&profile, &[Fragment::Sql(sql.to_owned())], &[]).expect(sql);
    }
}
