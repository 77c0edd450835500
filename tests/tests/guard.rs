//! The guard against statements that do more than read what they may (tests/adversary/guard.txt): each is refused, and each
//! runs on the real database without the guard.

use lakeport_tests::{Kind, Session, Warehouse, everywhere, rows};
use serde_json::json;

const STATEMENTS: &str = include_str!("../adversary/guard.txt");
const RUN: &str = "/api/v1/nl2sql/run";

/// The tables and functions that the statements name.
fn fixture(kind: Kind) -> String {
    let text = kind.text();
    let tables = format!(
        "CREATE TABLE victims (id INTEGER); INSERT INTO victims VALUES (1), (2); \
         CREATE TABLE secrets (v {text}); INSERT INTO secrets VALUES ('s')"
    );
    let more = match kind {
        Kind::Sqlite => "",
        Kind::Postgres => {
            "; CREATE SEQUENCE victims_seq; \
             CREATE FUNCTION evil() RETURNS int LANGUAGE sql AS 'DELETE FROM victims; SELECT 1'; \
             CREATE FUNCTION evil_row(victims) RETURNS int LANGUAGE sql AS 'DELETE FROM victims; SELECT 1'"
        }
        Kind::Mariadb => {
            "; CREATE SEQUENCE victims_seq; \
             CREATE FUNCTION evil() RETURNS INT MODIFIES SQL DATA BEGIN DELETE FROM victims; RETURN 1; END"
        }
    };
    tables + more
}

/// The statements for a kind of database.
fn statements(kind: Kind) -> Vec<String> {
    let lines = rows(STATEMENTS).into_iter();
    let fitting = lines.filter(|[of, _]| *of == "all" || *of == kind.dialect());
    fitting.map(|[_, statement]| statement.replace("\\n", "\n")).collect()
}

/// The statement with its tables' full names, without which the guard finds none on a server.
fn qualified(judged: &Warehouse, statement: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let db = judged.kind.quoted(&judged.db);
    ["victims", "secrets"].iter().fold(statement.to_owned(), |text, table| {
        let (mut out, mut rest) = (String::new(), text.as_str());
        while let Some(place) = rest.find(table) {
            let (before, after) = (&rest[..place], &rest[place + table.len()..]);
            let is_name = !before.ends_with(is_word) && !after.starts_with(is_word);
            let is_text = before.ends_with('\'');
            out += before;
            out += &if is_name && !is_text { format!("{db}.{table}") } else { (*table).to_owned() };
            rest = after;
        }
        out + rest
    })
}

/// A session on an empty database with the fixture, as one who may do all.
fn laid_out(raw: &Warehouse) -> Session {
    let mut session = match raw.kind {
        Kind::Sqlite => raw.session(),
        Kind::Postgres | Kind::Mariadb => raw.admin(),
    };
    let drop: &[&str] = match raw.kind {
        Kind::Sqlite => &[
            "DROP VIEW IF EXISTS stolen_view",
            "DROP TABLE IF EXISTS stolen",
            "DROP TABLE IF EXISTS ft",
            "DROP TABLE IF EXISTS victims",
            "DROP TABLE IF EXISTS secrets",
        ],
        Kind::Postgres => {
            &["DROP SCHEMA public CASCADE", "DROP SCHEMA IF EXISTS hidden CASCADE", "CREATE SCHEMA public"]
        }
        Kind::Mariadb => &[
            "DROP VIEW IF EXISTS stolen_view",
            "DROP TABLE IF EXISTS stolen, victims, victims2, secrets",
            "DROP SEQUENCE IF EXISTS victims_seq",
            "DROP FUNCTION IF EXISTS evil",
        ],
    };
    drop.iter().for_each(|statement| session.run(statement));
    session.run(&fixture(raw.kind));
    session
}

#[test]
fn hostile_statements_are_refused_though_they_would_run() {
    for (lake, judged) in everywhere() {
        let kind = judged.kind;
        let raw = Warehouse::create(kind, &lake.path("raw.db"));
        judged.run(&fixture(kind));
        lake.read_in(judged.source);
        let name = lake.server.get(&format!("/api/v1/datasources/{}", judged.source)).data()["name"].clone();
        let mut wrong = Vec::new();
        for statement in statements(kind) {
            let answer = lake.server.post(RUN, &json!({ "datasource": name, "sql": statement }));
            let is_refused = answer.status == 400 && answer.error() == "guard_refused";
            // A function that is called like a field: only the database knows the fields, and finds no function.
            let is_unknown = statement.contains(".evil_row") && answer.status != 200;
            if !is_refused && !is_unknown {
                wrong.push(format!("not refused: {statement}: {answer:?}"));
            }
            // Also where only the database would know better.
            let named = qualified(&judged, &statement);
            let answer = lake.server.post(RUN, &json!({ "datasource": name, "sql": named }));
            if answer.status == 200 {
                wrong.push(format!("accepted: {named}: {answer:?}"));
            }
            if let Err(error) = laid_out(&raw).try_run(&statement) {
                wrong.push(format!("does nothing by itself: {statement}: {error}"));
            }
        }
        assert!(wrong.is_empty(), "{kind:?}, {} of them: {wrong:#?}", wrong.len());
        assert_eq!(judged.numbers("SELECT count(*) FROM victims"), [2], "nothing reached the database");
    }
}

#[test]
fn there_are_enough_hostile_statements() {
    let count = rows::<2>(STATEMENTS).len();
    assert!(count >= 150, "{count}");
    let known = ["all", "sqlite", "postgres", "mysql"];
    assert!(rows::<2>(STATEMENTS).iter().all(|[kind, _]| known.contains(kind)));
}

/// What a question needs passes all the same.
#[test]
fn reading_is_not_refused() {
    for (lake, judged) in everywhere() {
        judged.run(&fixture(judged.kind));
        lake.read_in(judged.source);
        let name = lake.server.get(&format!("/api/v1/datasources/{}", judged.source)).data()["name"].clone();
        let [victims, secrets] = ["victims", "secrets"].map(|table| qualified(&judged, table));
        for statement in [
            "SELECT count(*) FROM victims v JOIN (SELECT v AS w FROM secrets) s ON true".to_owned(),
            "/* 订单 */ SELECT (SELECT max(v) FROM secrets), victims.id FROM victims".to_owned(),
            format!("SELECT count(*) FROM {victims}"),
            format!("WITH victims AS (SELECT v FROM {secrets}) SELECT * FROM victims"),
            format!("SELECT ';' AS {} FROM {victims} -- DROP TABLE victims", judged.kind.quoted("delete")),
            format!("SELECT id, row_number() OVER (ORDER BY id) FROM {victims} UNION ALL SELECT 1, 2"),
        ] {
            let answer = lake.server.post(RUN, &json!({ "datasource": name, "sql": statement }));
            assert_eq!(answer.status, 200, "{statement}: {answer:?}");
        }
    }
}
