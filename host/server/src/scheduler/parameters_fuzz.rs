//! Attacks parameters: no value changes how the statements around it read, on any server, and no date changes
//! the type of a value.

use lakeport_fuzz::{Choices, fuzz};
use lakeport_sql::lex::{Kind, Lexing, Server, lex};
use serde_json::{Value as Json, json};

use super::find::{Form, Found, filled, find_all};
use super::places::without_tags;
use super::*;

const WORDS: &[&str] = &[
    "${v}",
    "${w}",
    "${unknown}",
    "${system.biz.date}",
    "${system.biz.curdate}",
    "${system.datetime}",
    "${system.task.instance.id}",
    "${system.task.definition.name}",
    "${system.project.name}",
    "${",
    "}",
    "${}",
    "${é}",
    "$[yyyy-MM-dd]",
    "$[yyyyMMdd-1]",
    "$[HH:mm:ss]",
    "$[add_months(yyyyMM,-1)]",
    "$[add_months(yyyy,12001)]",
    "$[yyyy-MM-dd'T'HH]",
    "$[yyyy''MM]",
    "$[MM]",
    "$[timestamp(yyyyMMddHHmmss)]",
    "$[year_week(yyyyMMdd,5)]",
    "$[HHmmss+1-1/24]",
    "$[last]",
    "$[yyyy+99999]",
    "$[0]",
    "$[",
    "]",
    "$",
    "$$",
    "$${v}",
    "$[${v}]",
    "${$[yyyy]}",
    "'",
    "''",
    "\"",
    "`",
    "[",
    "--",
    "-- ",
    "#",
    "/*",
    "*/",
    ";",
    "\\",
    "E'",
    "N'",
    "U&",
    "$a$",
    "$a",
    "$a$${v}",
    "$${v}$$",
    "'\\${v}'",
    "E'\\x${v}'",
    "\"${v}\"",
    "'${v}'",
    "E'a'\n",
    "/*! ' */",
    "::",
    ":",
    "@",
    "?",
    "->>",
    "(",
    ")",
    "-",
    "+",
    ".",
    "e",
    "x'",
    "1",
    "0",
    "007",
    "SELECT",
    "FROM",
    "t",
    "a",
    "=",
    "é",
    "😀",
    "\u{a0}",
    "\n",
    "\r",
    "\0",
    "||",
];
const VALUES: &[&str] = &[
    "7",
    "-7",
    "-0",
    "+1",
    "0.5",
    "-1e3",
    "007",
    "",
    "a",
    "'",
    "''",
    "\\",
    "\"",
    "--",
    "/*",
    "*/",
    ";",
    "x' OR 'a'='a",
    "1 OR 1=1",
    "\n",
    "${v}",
    "${w}",
    "$[yyyy]",
    "$[MM]",
    "$[M]",
    "$[yyyyMM]01",
    "0$[yyyy]",
    "$[timestamp(yyyyMMddHHmmss)]",
    "${system.datetime}",
    "${system.task.instance.id}",
    "NULL",
    "1e",
    "1e+5",
    "0x7f",
    ".5",
    "1.",
    "\0",
    "é",
    "٣",
    "1;DROP TABLE t",
];
/// The first one is that of kept inputs without any.
const SERVERS: &[&str] = &["sqlite", "postgres", "mysql", "mysql_plain", "unknown"];
const ZONES: &[&str] = &["UTC", "Asia/Shanghai", "America/New_York", "Pacific/Apia"];
/// Milliseconds; the last ones are the ends of what a calendar has.
const TIMES: &[i64] =
    &[0, 1_772_600_767_000, -1, i64::MIN, i64::MAX, 8_210_266_876_799_999, -8_334_601_228_800_000];

#[test]
fn fuzz_parameters() {
    fuzz!("parameters", 3_000, make, check_input);
}

/// JSON of the text, the values, the time, the zone and the server.
fn make(choices: &mut Choices<'_>, kept: &[Vec<u8>]) -> Vec<u8> {
    let mut input: Json = serde_json::from_slice(&kept[choices.below(kept.len())]).unwrap_or_default();
    let mut text = input["text"].as_str().unwrap_or_default().to_owned();
    if choices.one_in(2) {
        text = choices.words(WORDS);
    }
    for name in ["v", "w"] {
        let mut value = choices.pick(VALUES).to_owned();
        if choices.one_in(3) {
            choices.edit_text(&mut value, VALUES);
        }
        input["values"][name] = json!(value);
    }
    let at_ms =
        if choices.one_in(4) { choices.number().cast_signed() } else { TIMES[choices.below(TIMES.len())] };
    (input["at"], input["zone"]) = (json!(at_ms), json!(choices.pick(ZONES)));
    input["server"] = json!(choices.pick(SERVERS));
    choices.edit_text(&mut text, WORDS);
    input["text"] = json!(text);
    input.to_string().into_bytes()
}

fn check_input(input: &[u8]) {
    let Ok(input) = serde_json::from_slice::<Json>(input) else { return };
    let (Some(text), Some(business_ms)) = (input["text"].as_str(), input["at"].as_i64()) else { return };
    let Some(zone) = input["zone"].as_str().and_then(|zone| zone.parse().ok()) else { return };
    let lexing = match input["server"].as_str() {
        Some("postgres") => Lexing::POSTGRES,
        Some("mysql") => Lexing::MYSQL,
        Some("mysql_plain") => Lexing::MYSQL_PLAIN,
        Some("unknown") => Lexing { server: Server::Unknown, ..Lexing::POSTGRES },
        _ => Lexing::SQLITE,
    };
    let values = input["values"].as_object().cloned().unwrap_or_default();
    let global: Vec<(String, String)> = values
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect();
    let context = Context { task_instance_id: Some(-7), task_name: Some("it's"), ..Context::default() };
    let values = Values { global: &global, business_ms, zone, context };
    check_values(&values);
    check_script(text, &values);

    let problems = check(SQL, text, &global, lexing);
    assert!(problems.len() <= PROBLEMS_MAX && problems.iter().all(|problem| !problem.is_empty()));
    let found = without_tags(text, find_all(text).collect(), lexing);
    let parts = parts(SQL, text, &global, lexing);
    match &parts {
        Ok(parts) => assert_eq!(parts.iter().map(Part::spelled).collect::<String>(), text),
        Err(why) => assert!(!why.is_empty() && !found.is_empty(), "{why}"),
    }
    assert!(problems.is_empty() || parts.is_err(), "{problems:?}");
    let expanded = match expand(text, &values, lexing) {
        Ok(expanded) => expanded,
        Err(message) => return assert!(!message.is_empty() && !found.is_empty(), "{message}"),
    };
    assert!(parts.is_ok());
    if found.is_empty() {
        return assert_eq!(expanded, text);
    }
    assert!(expanded.len() <= EXPANDED_MAX_BYTES + text.len());
    reads_alike(text, &found, &expanded, lexing);
    if lexing.server == Server::Unknown {
        reads_alike(text, &found, &expanded, Lexing { backslash_escapes: true, ..lexing });
    }
}

/// What is wrong on saving is wrong in a run; the type of a value is that of any other day.
fn check_values(values: &Values<'_>) {
    let wrong = check_globals(values.global);
    assert!(wrong.len() <= PROBLEMS_MAX);
    assert!(wrong.iter().all(|(place, why)| *place < values.global.len() && !why.is_empty()));
    for (place, (name, _)) in values.global.iter().enumerate() {
        let now = values.value(Source::Global, name);
        let then = Values { business_ms: TIMES[1], ..*values }.value(Source::Global, name);
        if wrong.iter().any(|(at, _)| *at == place) && !values.global[..place].iter().any(|(n, _)| n == name)
        {
            assert!(now.is_err(), "{wrong:?}");
        }
        if let (Ok(now), Ok(then)) = (now, then) {
            assert_eq!(now.is_number, then.is_number, "{now:?} {then:?}");
        }
    }
}

/// A script has its own text, with plain values in it.
fn check_script(text: &str, values: &Values<'_>) {
    let problems = check(SHELL, text, values.global, Lexing::SQLITE);
    let parts = parts(SHELL, text, values.global, Lexing::SQLITE);
    assert_eq!(problems.is_empty(), parts.is_ok());
    let (Ok(parts), Ok(expanded)) = (parts, expand_script(text, values)) else { return };
    assert_eq!(parts.iter().map(Part::spelled).collect::<String>(), text);
    let mut rest = expanded.as_str();
    for part in &parts {
        let put = match part {
            Part::Text(text) => text.clone(),
            Part::Value { source, name, .. } => values.value(*source, name).expect("it was put").text,
        };
        assert!(matches!(part, Part::Text(_)) || !put.contains(['$', '`', ';', '\'', '"', '\n', '\\']));
        rest = rest.strip_prefix(&put).expect("a part as it is");
    }
    assert_eq!(rest, "");
}

/// The text with letters for parameters, and the expanded one, lexeme by lexeme.
fn reads_alike(text: &str, found: &[Found<'_>], expanded: &str, lexing: Lexing) {
    assert!(found.iter().all(|found| found.form != Form::Open));
    let filled = filled(text, found);
    let meant = lex(&filled, lexing).expect("it was expanded");
    let read = lex(expanded, lexing).unwrap_or_else(|error| panic!("{error}: {expanded}"));
    let mut left = read.iter();
    for lexeme in meant {
        let now = left.next().unwrap_or_else(|| panic!("{lexeme:?} is gone: {expanded}"));
        if found.iter().any(|found| found.span == lexeme.span) && lexeme.kind == Kind::Word {
            match now.kind {
                Kind::Number | Kind::Text(_) => {}
                Kind::Symbol('(') => {
                    let rest: Vec<&Kind> = left.by_ref().take(3).map(|lexeme| &lexeme.kind).collect();
                    assert_eq!(rest, [&Kind::Symbol('-'), &Kind::Number, &Kind::Symbol(')')], "{expanded}");
                }
                _ => panic!("a value became {now:?}: {expanded}"),
            }
            continue;
        }
        match (&lexeme.kind, &now.kind) {
            (Kind::Text(_), Kind::Text(_)) => {}
            (meant, now) => assert_eq!(meant, now, "{expanded}"),
        }
        let is_plain = matches!(lexeme.kind, Kind::Word | Kind::Number | Kind::Comment { .. });
        assert!(!is_plain || filled[lexeme.span] == expanded[now.span.clone()], "{expanded}");
    }
    assert_eq!(left.next(), None, "a value brought more: {expanded}");
}
