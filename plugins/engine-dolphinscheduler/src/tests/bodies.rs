//! What becomes of SQL and scripts. The tests do with a deployed text what DolphinScheduler does, and look at
//! the statement that the database would get.

use lakeport_sdk::engine::{BodyPart, Param};
use lakeport_sdk::serde_json::{self, Value, json};

use super::{Server, param, task, text, value, workflow};
use crate::body;
use crate::definition;
use crate::scan::Dialect;
use crate::values::Globals;

/// The dates that DolphinScheduler would fill in.
const FILLED: [(&str, &str); 6] = [
    ("${system.biz.date}", "20261120"),
    ("${system.biz.curdate}", "20261121"),
    ("$[yyyy-MM-dd-1]", "2026-11-20"),
    ("$[yyyy-MM-dd]", "2026-11-21"),
    ("$[yyyyMMdd]", "20261121"),
    ("$[HH]", "08"),
];

fn params_of(globals: &Globals) -> Vec<(String, String)> {
    let written: Value = serde_json::from_str(&globals.written("7 r1")).unwrap();
    let pair = |param: &Value| {
        (param["prop"].as_str().unwrap().to_owned(), param["value"].as_str().unwrap().to_owned())
    };
    written.as_array().unwrap().iter().map(pair).collect()
}

/// Fills a parameter in as 3.1.1 does: only if its value begins with `$`.
fn filled(name: &str, params: &[(String, String)]) -> String {
    let (_, value) = params.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("no {name}"));
    if !value.starts_with('$') {
        return value.clone();
    }
    let mut value = value.clone();
    for (known, text) in params {
        value = value.replace(&format!("${{{known}}}"), text);
    }
    for (words, date) in FILLED {
        value = value.replace(words, date);
    }
    let left = value.replace("\\$", "");
    assert!(!left.contains("${") && !left.contains("$["), "{value}");
    value
}

/// Replaces `!{…}` with the quotes that touch it, as the regular expression does.
fn ran(sql: &str, params: &[(String, String)]) -> String {
    let mut sql = sql.to_owned();
    assert!(!sql.contains("${") && !sql.contains("$["), "{sql}");
    while let Some(at) = sql.find("!{") {
        let end = at + sql[at..].find('}').unwrap();
        let value = filled(&sql[at + 2..end], params);
        let quotes = ['\'', '"'];
        let before = sql[..at].trim_end_matches(quotes).to_owned();
        let behind = sql[end + 1..].trim_start_matches(quotes).to_owned();
        let (mut plain, mut chars) = (String::new(), value.chars());
        while let Some(c) = chars.next() {
            plain.extend(if c == '\\' { chars.next() } else { Some(c) });
        }
        sql = before + &plain + &behind;
    }
    sql
}

/// The statement that the database gets.
fn sql(parts: Vec<BodyPart>, dialect: Dialect, params: &[Param]) -> String {
    let mut globals = Globals::default();
    let sql = body::sql(&parts, dialect, params, &mut globals, false).unwrap();
    ran(&sql.main, &params_of(&globals))
}

fn postgres(parts: Vec<BodyPart>) -> String {
    sql(parts, Dialect::Postgres, &[param("who", "O'Brien"), param("day", "$[yyyyMMdd]"), param("n", "-5")])
}

#[test]
fn a_value_in_a_literal_is_its_text() {
    let literal = |spelled| value(spelled, "literal");
    let parts = vec![text("SELECT * FROM t WHERE d = '"), literal("$[yyyy-MM-dd-1]"), text("'")];
    assert_eq!(postgres(parts), "SELECT * FROM t WHERE d = '2026-11-20'");
    let parts = vec![
        text("SELECT date '"),
        literal("${system.biz.date}"),
        text("', 'a-"),
        literal("$[HH]"),
        text("-b'"),
    ];
    assert_eq!(postgres(parts), "SELECT date '20261120', 'a-08-b'");
    let parts =
        vec![text("SELECT 'it''s "), literal("${who}"), text(" on "), literal("${day}"), text(" for $5'")];
    assert_eq!(postgres(parts), "SELECT 'it''s O''Brien on 20261121 for $5'");
    let parts =
        vec![text(r"SELECT E'a\t"), literal("${who}"), text(r"\\', 'x\y', '"), literal("${n}"), text("'")];
    assert_eq!(postgres(parts), r"SELECT E'a\tO''Brien\\', 'x\y', '-5'");
}

#[test]
fn a_bare_value_is_a_literal() {
    let bare = |spelled| value(spelled, "bare");
    let parts =
        vec![text("SELECT "), bare("$[yyyyMMdd]"), text(", "), bare("${who}"), text(" - "), bare("${n}")];
    assert_eq!(postgres(parts), "SELECT 20261121, 'O''Brien' - (-5)");
    let parts = vec![text("INSERT INTO t VALUES ("), bare("$[HH]"), text(","), bare("${day}"), text(")")];
    assert_eq!(postgres(parts), "INSERT INTO t VALUES ('08',20261121)");
    let parts = vec![text("SELECT "), bare("${p}")];
    assert_eq!(sql(parts, Dialect::MySql, &[param("p", r"a\'b")]), r"SELECT 'a\\''b'");
}

#[test]
fn parameters_that_use_each_other_are_one_text() {
    let params = [param("a", "x-${b}-$[yyyy-MM-dd]"), param("b", "${c}1"), param("c", "v")];
    let parts = vec![text("SELECT "), value("${a}", "bare")];
    assert_eq!(sql(parts, Dialect::Postgres, &params), "SELECT 'x-v1-2026-11-21'");
    let circle = [param("a", "${b}"), param("b", "${a}")];
    let parts = [text("SELECT "), value("${a}", "bare")];
    assert!(body::sql(&parts, Dialect::Postgres, &circle, &mut Globals::default(), false).is_err());
}

#[test]
fn what_looks_like_a_parameter_stays_text() {
    for plain in [
        "SELECT jsonb_path_query(x, '$[last]') FROM t",
        "SELECT '$[0]', 'a$[*].b$[yyyyMMdd]'",
        "SELECT $x$a $[b] it's$x$, \"odd $[c] name\"",
        "SELECT 1 AS \"q\", 'x'",
        r"SELECT 'C:\dir', '50 $ and \$'",
        "SELECT a FROM t WHERE b = '?' /*+ hint */",
    ] {
        assert_eq!(postgres(vec![text(plain)]), plain);
    }
    assert_eq!(
        postgres(vec![text("SELECT j ? 'a' -- is it '$[yyyy]?\nFROM t")]),
        "SELECT j ?? 'a'  \nFROM t"
    );
    let params = [param("p", "$[last]/$[yyyyMMdd]"), param("q", "a!{b}")];
    let parts = vec![text("SELECT '"), value("${p}", "literal"), text(" $[*]'")];
    assert_eq!(sql(parts, Dialect::Postgres, &params), "SELECT '$[last]/20261121 $[*]'");
    let parts = [text("SELECT "), value("${q}", "bare")];
    assert!(body::sql(&parts, Dialect::Postgres, &params, &mut Globals::default(), false).is_err());
    for refused in ["SELECT '!{x}'", "SELECT $a${b}$a$", "SELECT 1 WHERE !{x}"] {
        let done = body::sql(&[text(refused)], Dialect::Postgres, &[], &mut Globals::default(), false);
        assert!(done.is_err_and(|why| why.contains("takes for a parameter")), "{refused}");
    }
}

#[test]
fn statements_are_calls_of_their_own() {
    let split = |written: &str, dialect| {
        let sql = body::sql(&[text(written)], dialect, &[], &mut Globals::default(), false)?;
        Ok::<_, String>((sql.before.join("|"), sql.main, sql.after.join("|"), sql.is_query))
    };
    let expected = |before: &str, main: &str, after: &str, is_query| {
        Ok((before.to_owned(), main.to_owned(), after.to_owned(), is_query))
    };
    for (written, before, main, after, is_query) in [
        ("SELECT 1", "", "SELECT 1", "", true),
        (
            "INSERT INTO t VALUES (';'); DELETE FROM t; -- the end",
            "INSERT INTO t VALUES (';')",
            "DELETE FROM t",
            "",
            false,
        ),
        ("SET x = 1; SELECT 1; DROP TABLE t;", "SET x = 1", "SELECT 1", "DROP TABLE t", true),
        (
            "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a",
            "",
            "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a",
            "",
            false,
        ),
        ("WITH a AS (SELECT 1) SELECT * FROM a", "", "WITH a AS (SELECT 1) SELECT * FROM a", "", true),
        ("INSERT INTO t VALUES (1) RETURNING id", "", "INSERT INTO t VALUES (1) RETURNING id", "", true),
        ("SELECT 1 INTO t", "", "SELECT 1 INTO t", "", false),
        ("SELECT $$a;b$$", "", "SELECT $$a;b$$", "", true),
    ] {
        assert_eq!(split(written, Dialect::Postgres), expected(before, main, after, is_query), "{written}");
    }
    assert!(split("SELECT 1; SELECT 2", Dialect::Postgres).is_err_and(|why| why.contains("2 queries")));
    assert!(split(" -- nothing", Dialect::Postgres).is_err());
    let procedure = "CREATE PROCEDURE p() BEGIN SET @a = 1; END";
    assert_eq!(split(procedure, Dialect::MySql), expected("", procedure, "", false));
    assert_eq!(split("SELECT 1--1; # x", Dialect::MySql), expected("", "SELECT 1--1", "", true));
}

#[test]
fn scripts_have_plain_values() {
    let mut globals = Globals::default();
    let params = [param("dir", "data/$[yyyyMMdd]"), param("bad", "a;b")];
    let parts = [text("cd ${HOME}/"), value("${dir}", "script"), text(" && ls ${x:-1}")];
    let script = body::script(&parts, &params, &mut globals).unwrap();
    let params_there = params_of(&globals);
    let (begin, rest) = script.split_once("${lp_").unwrap();
    let (number, end) = rest.split_once('}').unwrap();
    assert_eq!((begin, end), ("cd ${HOME}/", " && ls ${x:-1}"));
    assert_eq!(filled(&format!("lp_{number}"), &params_there), "data/20261121");
    for parts in [vec![value("${bad}", "script")], vec![text("echo $[1+2]")]] {
        assert!(body::script(&parts, &params, &mut globals).is_err());
    }
}

#[test]
fn a_check_names_all_problems() {
    let server = Server::new("3.1.1");
    let problems = |workflow: &lakeport_sdk::engine::Workflow| {
        let settings = || crate::config::Settings::read().unwrap();
        let flavour = crate::flavour::of_version("3.1").unwrap();
        let found = server.host.call(|| definition::problems(workflow, &settings(), flavour));
        found.into_iter().map(|one| (one.member, one.code)).collect::<Vec<_>>()
    };
    // It has no tenant that is sure to be there.
    assert_eq!(problems(&workflow()), [(String::new(), "adjusted".to_owned())]);
    server.settings(json!({ "tenant": "etl" }));
    assert_eq!(problems(&workflow()), []);
    let mut bad = workflow();
    bad.tasks[0].timeout_s = 90;
    bad.tasks[1].kind = "PYTHON".to_owned();
    bad.tasks.push(task(73, "c", "SQL", vec![text("SELECT 1; SELECT 2")]));
    bad.tasks.push(task(74, "d", "SQL", vec![text("SELECT "), value("${system.task.instance.id}", "bare")]));
    // 3.1 would take the name for letters of a date.
    let newer = value("$[month_first_day(yyyyMMdd,-1)]", "bare");
    bad.tasks.push(task(76, "f", "SQL", vec![text("SELECT "), newer]));
    let mut nowhere = task(75, "e", "SQL", vec![text("SELECT 1")]);
    nowhere.datasource = None;
    bad.tasks.push(nowhere);
    let expected = [
        ("tasks[0].timeout", "adjusted"),
        ("tasks[1].taskType", "unsupported_by_engine"),
        ("tasks[2].sqlContent", "unsupported_by_engine"),
        ("tasks[3].sqlContent", "unsupported_by_engine"),
        ("tasks[4].sqlContent", "unsupported_by_engine"),
        ("tasks[5].datasourceId", "missing"),
    ];
    assert_eq!(problems(&bad), expected.map(|(member, code)| (member.to_owned(), code.to_owned())));
    let mut large = workflow();
    large.tasks[0].body = vec![text(&"#".repeat(1_700_000))];
    assert_eq!(problems(&large), [("tasks".to_owned(), "unsupported_by_engine".to_owned())]);
}

#[test]
fn a_statement_that_would_be_cut_comes_before_the_main_one() {
    let done = |written: &str, dialect, cuts| {
        body::sql(&[text(written)], dialect, &[], &mut Globals::default(), cuts)
    };
    let postgres = [
        "DO $$ BEGIN PERFORM 1; END $$",
        r"INSERT INTO t VALUES (E'it\'s; so')",
        "INSERT INTO t VALUES ($a$it's$a$)",
    ];
    for written in &postgres[..1] {
        let sql = done(written, Dialect::Postgres, true).unwrap();
        assert_eq!((sql.before, sql.main.as_str()), (vec![(*written).to_owned()], "SELECT 1"));
        assert!(sql.is_query && sql.after.is_empty());
        // 3.1 takes it as it is.
        assert_eq!(done(written, Dialect::Postgres, false).unwrap().main, *written);
    }
    for written in &postgres[1..] {
        assert_eq!(done(written, Dialect::Postgres, true).unwrap().main, "SELECT 1", "{written}");
    }
    let procedure = "CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END";
    assert_eq!(done(procedure, Dialect::MySql, true).unwrap().before, [procedure]);
    // Texts in single quotes are read by all.
    for written in ["INSERT INTO t VALUES ('a;b')", "INSERT INTO t VALUES ('it''s')", "DELETE FROM t"] {
        assert_eq!(done(written, Dialect::Postgres, true).unwrap().main, written);
    }
    for (written, dialect) in [
        ("INSERT /*+ x */ INTO t VALUES (1)", Dialect::Postgres),
        ("INSERT INTO t VALUES ($$a--b$$)", Dialect::Postgres),
        ("INSERT INTO straße VALUES (1)", Dialect::MySql),
        (r"INSERT INTO t VALUES ('it\'s; x')", Dialect::Doris),
        ("INSERT INTO t VALUES (1--1)", Dialect::Doris),
        ("INSERT INTO t /*! x */ VALUES (1)", Dialect::Doris),
    ] {
        assert_eq!(done(written, dialect, true).unwrap().before, [written]);
        assert_eq!(done(written, dialect, false).unwrap().main, written);
    }
    for written in ["SELECT /*+ x */ 1", r"SELECT 'it\'s'", "SELECT 1--1", "SELECT größe FROM t"] {
        let refused = done(written, Dialect::Doris, true).unwrap_err();
        assert!(refused.contains("cut or change"), "{written}: {refused}");
        assert!(written.contains('ß') || done(written, Dialect::MySql, true).is_ok(), "{written}");
    }
    let refused = done("SELECT $$a;b$$", Dialect::Postgres, true).unwrap_err();
    assert!(refused.contains("single quotes"), "{refused}");
    assert!(done("SELECT $$a;b$$", Dialect::Postgres, false).is_ok());
}
