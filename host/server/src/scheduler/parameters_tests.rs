use lakeport_base::time;
use proptest::prelude::*;

use super::*;

fn global(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn expanded(text: &str, pairs: &[(&str, &str)]) -> Result<String, String> {
    let zone = chrono_tz::Asia::Shanghai;
    let business_ms = time::parse("2026-03-01 04:05:06", zone).unwrap();
    expand(text, &Values { global: &global(pairs), business_ms, zone })
}

#[test]
fn times_are_those_of_the_run_in_the_zone() {
    for (text, expected) in [
        ("${system.biz.date}", "20260228"),
        ("${system.biz.curdate}", "20260301"),
        ("${system.datetime}", "20260301040506"),
        ("$[yyyy-MM-dd]", "'2026-03-01'"),
        ("$[yyyy-MM-dd-1]", "'2026-02-28'"),
        ("$[yyyy-MM-dd+31]", "'2026-04-01'"),
        ("$[yyyyMMdd-1]", "20260228"),
        ("$[HH:mm:ss]", "'04:05:06'"),
        ("'$[yyyy/MM/dd HH]'", "'2026/03/01 04'"),
        ("$[add_months(yyyyMMdd,-1)]", "20260201"),
        ("$[add_months(yyyy-MM-dd, 11)]", "'2027-02-01'"),
        ("$[MM-1]", "'02'"),
    ] {
        assert_eq!(expanded(text, &[]).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn a_value_is_a_literal_or_a_part_of_one() {
    for (text, value, expected) in [
        ("a = ${v}", "7", "a = 7"),
        ("a = ${v}", "-0.5e3", "a = (-0.5e3)"),
        ("1-${v}", "-1", "1-(-1)"),
        ("a = ${v}", "007", "a = '007'"),
        ("a = ${v}", "", "a = ''"),
        ("a = ${v}", "1 OR 1=1", "a = '1 OR 1=1'"),
        ("a = ${v}", "x'; DROP TABLE t --", "a = 'x''; DROP TABLE t --'"),
        ("a = 'b ${v} c'", "x' || 'y", "a = 'b x'' || ''y c'"),
        ("a = '''${v}'", "'", "a = ''''''"),
        ("'a'${v}'b'", "c", "'a' 'c' 'b'"),
        ("(${v},${v})", "1", "(1,1)"),
        ("json_extract(a, '$[0]')", "1", "json_extract(a, '$[0]')"),
        ("a = ${v}", "$[yyyy]-${system.biz.curdate}-${v}-${", "a = '2026-20260301-${v}-${'"),
    ] {
        assert_eq!(expanded(text, &[("v", value)]).as_deref(), Ok(expected), "{text} {value}");
    }
    assert_eq!(expanded("${v}", &[("v", "1"), ("v", "2")]).as_deref(), Ok("1"));
}

#[test]
fn there_is_no_value_within_a_name_or_a_comment() {
    for text in [
        "t_${v}",
        "${v}_t",
        "${v}${v}",
        "1${v}",
        "\"${v}\"",
        "`${v}`",
        "[${v}]",
        "-- ${v}\n1",
        "/* ${v} */ 1",
    ] {
        assert!(expanded(text, &[("v", "1")]).is_err(), "{text}");
    }
    for text in
        ["${w}", "${v", "$[yyyy+x]", "$[foo]", "$[yyyy-MM-dd-999999999]", "$[yyyyMMdd-2147483648]", "'${v}"]
    {
        assert!(expanded(text, &[("v", "1")]).is_err(), "{text}");
    }
    assert!(expanded("${v}", &[("v", "a\0b")]).is_err());
}

#[test]
fn a_long_text_is_looked_through_once() {
    let begun = std::time::Instant::now();
    for piece in ["$[", "${", "$[a", "$[yyyy]"] {
        let text = piece.repeat(524_000);
        assert!(find(&text).len() <= PARAMETERS_MAX + 1, "{piece}");
        check("SQL", &text, &[]);
    }
    assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
}

#[test]
fn unknown_parameters_are_refused_on_save() {
    let known = global(&[("v", "1")]);
    for good in ["SELECT '${v}', ${system.biz.date}, $[yyyy-MM-dd-1], '$[0]', $1", "SELECT 1"] {
        assert_eq!(check("SQL", good, &known), Vec::<String>::new(), "{good}");
    }
    let problems = check("SQL", "SELECT ${w}, '${system.nothing}', ${, $[abc], ${v} -- ${v}", &known);
    assert_eq!(problems.len(), 5, "{problems:?}");
    assert!(problems[0].contains("${w} is not known"), "{problems:?}");
    assert_eq!(check("SHELL", "echo ${HOME}", &[]), Vec::<String>::new());
}

/// The lexemes of a text, with numbers and texts, which values may change, as one kind.
fn skeleton(text: &str) -> Vec<Kind> {
    let lexemes = lex(text, Lexing::SQLITE).expect("it can be read").into_iter();
    let kinds = lexemes.map(|lexeme| match lexeme.kind {
        Kind::Text(_) | Kind::Number => Kind::Number,
        other => other,
    });
    kinds.filter(|kind| !matches!(kind, Kind::Symbol('(' | ')' | '-'))).collect()
}

proptest! {
    #[test]
    fn no_value_breaks_out(value in "(['\"`;\\-*/\\[\\]()\\\\ \n$={}0-9a-z]|\\PC){0,12}") {
        let pairs = [("v", value.as_str())];
        for text in ["SELECT ${v} FROM t;", "SELECT 'a${v}b', 1-${v}, '${v}'", "x IN (${v},'${v}')", "'a'${v}'b'"] {
            let harmless = expanded(text, &[("v", "1")]).unwrap();
            prop_assert_eq!(skeleton(&expanded(text, &pairs).unwrap()), skeleton(&harmless));
        }
    }

    #[test]
    fn values_in_literals_round_trip(value in "(['\"`;\\-*/\\\\ \n=0-9a-z]|\\PC){0,12}") {
        prop_assume!(!value.contains('$'));
        let text = expanded("'${v}'", &[("v", &value)]).unwrap();
        prop_assert_eq!(&lex(&text, Lexing::SQLITE).unwrap()[0].kind, &Kind::Text(value));
    }

    #[test]
    fn nothing_makes_it_fail(text in "(\\$\\{|\\$\\[|v|yyyy|-1|\\}|\\]|'|\"|--|\n|/\\*|\\*/|é| )*") {
        let _ = expanded(&text, &[("v", "'")]);
        check("SQL", &text, &[]);
    }
}
