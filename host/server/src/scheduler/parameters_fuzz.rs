//! Attacks parameters: no value changes how the statements around it read.

use lakeport_fuzz::{Choices, fuzz};
use serde_json::{Value, json};

use super::*;

const WORDS: &[&str] = &[
    "${v}",
    "${w}",
    "${unknown}",
    "${system.biz.date}",
    "${system.biz.curdate}",
    "${system.datetime}",
    "${",
    "}",
    "${}",
    "${é}",
    "$[yyyy-MM-dd]",
    "$[yyyyMMdd-1]",
    "$[HH:mm:ss]",
    "$[add_months(yyyyMM,-1)]",
    "$[add_months(yyyy,100001)]",
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
    "/*",
    "*/",
    ";",
    "\\",
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
    "${system.datetime}",
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
const ZONES: &[&str] = &["UTC", "Asia/Shanghai", "America/New_York", "Pacific/Apia"];
/// Milliseconds; the last ones are the ends of what a calendar has.
const TIMES: &[i64] =
    &[0, 1_772_600_767_000, -1, i64::MIN, i64::MAX, 8_210_266_876_799_999, -8_334_601_228_800_000];

#[test]
fn fuzz_parameters() {
    fuzz!("parameters", 3_000, make, check_input);
}

/// JSON of the text, the values, the time and the zone.
fn make(choices: &mut Choices<'_>, kept: &[Vec<u8>]) -> Vec<u8> {
    let mut input: Value = serde_json::from_slice(&kept[choices.below(kept.len())]).unwrap_or_default();
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
    choices.edit_text(&mut text, WORDS);
    input["text"] = json!(text);
    input.to_string().into_bytes()
}

fn check_input(input: &[u8]) {
    let Ok(input) = serde_json::from_slice::<Value>(input) else { return };
    let (Some(text), Some(business_ms)) = (input["text"].as_str(), input["at"].as_i64()) else { return };
    let Some(zone) = input["zone"].as_str().and_then(|zone| zone.parse().ok()) else { return };
    let values = input["values"].as_object().cloned().unwrap_or_default();
    let global: Vec<(String, String)> = values
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect();
    let problems = check(SQL, text, &global);
    assert!(problems.len() <= PROBLEMS_MAX && problems.iter().all(|problem| !problem.is_empty()));
    assert!(check("SHELL", text, &global).is_empty(), "a shell's text is the shell's");
    let parameters = find(text);
    let expanded = match expand(text, &Values { global: &global, business_ms, zone }) {
        Ok(expanded) => expanded,
        Err(message) => return assert!(!message.is_empty() && !parameters.is_empty(), "{message}"),
    };
    if parameters.is_empty() {
        return assert_eq!(expanded, text);
    }
    let longest = global.iter().map(|(_, value)| value.len()).max().unwrap_or(0) * 32 + 256;
    assert!(expanded.len() <= text.len() + parameters.len() * longest, "{} bytes", expanded.len());
    assert!(expanded.len() <= EXPANDED_MAX_BYTES + text.len());
    reads_alike(text, &parameters, &expanded);
}

/// The text with letters for parameters, and the expanded one, lexeme by lexeme.
fn reads_alike(text: &str, parameters: &[Parameter<'_>], expanded: &str) {
    let filled = filled(text, parameters);
    let meant = lex(&filled, Lexing::SQLITE).expect("it was expanded");
    let read = lex(expanded, Lexing::SQLITE).unwrap_or_else(|error| panic!("{error}: {expanded}"));
    let mut left = read.iter();
    for lexeme in meant {
        let found = left.next().unwrap_or_else(|| panic!("{lexeme:?} is gone: {expanded}"));
        if parameters.iter().any(|parameter| parameter.span == lexeme.span) && lexeme.kind == Kind::Word {
            match found.kind {
                Kind::Number | Kind::Text(_) => {}
                Kind::Symbol('(') => {
                    let rest: Vec<&Kind> = left.by_ref().take(3).map(|lexeme| &lexeme.kind).collect();
                    assert_eq!(rest, [&Kind::Symbol('-'), &Kind::Number, &Kind::Symbol(')')], "{expanded}");
                }
                _ => panic!("a value became {found:?}: {expanded}"),
            }
            continue;
        }
        match (&lexeme.kind, &found.kind) {
            (Kind::Text(_), Kind::Text(_)) => {}
            (meant, found) => assert_eq!(meant, found, "{expanded}"),
        }
        let is_plain = matches!(lexeme.kind, Kind::Word | Kind::Number | Kind::Comment { .. });
        assert!(!is_plain || filled[lexeme.span] == expanded[found.span.clone()], "{expanded}");
    }
    assert_eq!(left.next(), None, "a value brought more: {expanded}");
}
