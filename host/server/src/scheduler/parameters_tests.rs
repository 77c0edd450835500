use lakeport_base::time;
use lakeport_sql::lex::{Kind, Lexing, Server, lex};
use proptest::prelude::*;

use super::find::find_all;
use super::*;

const ALL: [Lexing; 4] = [Lexing::SQLITE, Lexing::POSTGRES, Lexing::MYSQL, Lexing::MYSQL_PLAIN];
const UNKNOWN: Lexing =
    Lexing { server: Server::Unknown, backslash_escapes: false, double_quoted_names: true };
const CONTEXT: Context<'static> = Context {
    task_instance_id: Some(31),
    task_name: Some("a task's"),
    task_code: Some(32),
    task_path: None,
    workflow_instance_id: Some(41),
    workflow_name: Some("42"),
    workflow_code: Some(43),
    project_name: None,
    project_code: None,
};

fn global(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn values<'a>(global: &'a [(String, String)]) -> Values<'a> {
    let zone = chrono_tz::Asia::Shanghai;
    let business_ms = time::parse("2026-03-01 04:05:06", zone).unwrap();
    Values { global, business_ms, zone, context: CONTEXT }
}

fn expanded_in(lexing: Lexing, text: &str, pairs: &[(&str, &str)]) -> Result<String, String> {
    expand(text, &values(&global(pairs)), lexing)
}

fn expanded(text: &str, pairs: &[(&str, &str)]) -> Result<String, String> {
    expanded_in(Lexing::SQLITE, text, pairs)
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
        ("$[HHmmss-5/24]", "'230506'"),
        ("'$[yyyy/MM/dd HH]'", "'2026/03/01 04'"),
        ("'$[yyyy-MM-dd'T'HH]'", "'2026-03-01T04'"),
        ("$[yyyy-MM-dd''HH]", "'2026-03-01''04'"),
        ("$[add_months(yyyyMMdd,-1)]", "20260201"),
        ("$[add_months(yyyy-MM-dd, 11)]", "'2027-02-01'"),
        ("$[MM-1]", "'02'"),
        ("$[M]", "3"),
        ("$[timestamp(yyyyMMddHHmmss)]", "1772309106"),
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
        ("a = ${v}", "1234567890123456789", "a = '1234567890123456789'"),
        ("a = ${v}", "", "a = ''"),
        ("a = ${v}", "1 OR 1=1", "a = '1 OR 1=1'"),
        ("a = ${v}", "x'; DROP TABLE t --", "a = 'x''; DROP TABLE t --'"),
        ("a = 'b ${v} c'", "x' || 'y", "a = 'b x'' || ''y c'"),
        ("a = '''${v}'", "'", "a = ''''''"),
        ("'a'${v}'b'", "c", "'a' 'c' 'b'"),
        ("(${v},${v})", "1", "(1,1)"),
        ("json_extract(a, '$[0]', '$[last-1]')", "1", "json_extract(a, '$[0]', '$[last-1]')"),
        ("a = ${v}", "$[yyyy]-${system.biz.curdate}", "a = '2026-20260301'"),
        ("a = ${v}", "$[yyyyMM]01", "a = 20260301"),
        ("a = ${v}", "$[HHmm]", "a = '0405'"),
        ("a = ${v}", "${system.biz.date}", "a = 20260228"),
    ] {
        assert_eq!(expanded(text, &[("v", value)]).as_deref(), Ok(expected), "{text} {value}");
    }
    assert_eq!(expanded("${v}", &[("v", "1"), ("v", "2")]).as_deref(), Ok("1"));
}

#[test]
fn every_database_reads_a_value_as_itself() {
    let (plain, escaped) = (r"'\''; x'", r"'\\''; x'");
    for (lexing, text, expected) in [
        (Lexing::SQLITE, "${v}", plain),
        (Lexing::POSTGRES, "${v}", plain),
        (Lexing::MYSQL, "${v}", escaped),
        (Lexing::MYSQL_PLAIN, "${v}", plain),
        (Lexing::POSTGRES, "E'${v}'", r"E'\\''; x'"),
        (Lexing::POSTGRES, "e'a\\n${v}'", r"e'a\n\\''; x'"),
        (Lexing::MYSQL, "\"${v}\"", "\"\\\\'; x\""),
        (Lexing::MYSQL, "N'\\\\${v}'", r"N'\\\\''; x'"),
        (Lexing::POSTGRES, "${v}::text, a->>'${v}' #> ${v}", r"'\''; x'::text, a->>'\''; x' #> '\''; x'"),
        (Lexing::POSTGRES, "a @> ${v}, a?${v}, a[1:${v}]", r"a @> '\''; x', a?'\''; x', a[1:'\''; x']"),
        (
            Lexing::POSTGRES,
            "$1, :name, x::int, ?| $tag$ $1 $tag$, ${v}",
            r"$1, :name, x::int, ?| $tag$ $1 $tag$, '\''; x'",
        ),
        (Lexing::POSTGRES, "U&${v}", r"U& '\''; x'"),
        (Lexing::MYSQL, "1--${v}", r"1--'\\''; x'"),
    ] {
        assert_eq!(expanded_in(lexing, text, &[("v", r"\'; x")]).as_deref(), Ok(expected), "{text}");
    }
    let quotes = expanded_in(Lexing::MYSQL, "\"${v}\", '${v}'", &[("v", "\"'")]);
    assert_eq!(quotes.as_deref(), Ok("\"\"\"'\", '\"'''"));
}

#[test]
fn a_brace_behind_a_dollar_quote_is_no_parameter() {
    for text in [
        "SELECT $${\"a\": 1}$$::jsonb",
        "SELECT $${v}$$",
        "SELECT $json${v}$json$, $$[yyyy]$$",
        "SELECT $a$ $$${v} $a$",
    ] {
        let found = expanded_in(Lexing::POSTGRES, &format!("{text}, ${{v}}"), &[("v", "1")]);
        match text.contains("$a$") {
            true => assert!(found.unwrap_err().contains("dollar-quoted"), "{text}"),
            false => assert_eq!(found, Ok(format!("{text}, 1"))),
        }
    }
    for (text, expected) in [("'$${v}'", "'$1'"), ("'$a${v}'", "'$a1'"), ("E'$$${v}'", "E'$$1'")] {
        assert_eq!(expanded_in(Lexing::POSTGRES, text, &[("v", "1")]).as_deref(), Ok(expected), "{text}");
    }
    assert!(expanded_in(Lexing::POSTGRES, "a$b${v}", &[("v", "1")]).is_err());
}

#[test]
fn there_is_no_value_within_a_name_or_a_comment() {
    let (sqlite, postgres, mysql) = (Lexing::SQLITE, Lexing::POSTGRES, Lexing::MYSQL);
    for (lexing, text, why) in [
        (sqlite, "t_${v}", "part of a name"),
        (sqlite, "${v}_t", "part of a name"),
        (sqlite, "${v}${v}", "part of a name"),
        (sqlite, "1${v}", "part of a name or a number"),
        (sqlite, "1e-${v}", "part of a name or a number"),
        (sqlite, "\"${v}\"", "quoted name"),
        (postgres, "\"${v}\"", "quoted name"),
        (mysql, "`${v}`", "quoted name"),
        (sqlite, "[${v}]", "quoted name"),
        (sqlite, "-- ${v}\n1", "comment"),
        (mysql, "# ${v}\n1", "comment"),
        (mysql, "/*! ${v} */ 1", "comment"),
        (sqlite, "a.${v}", "beside a point"),
        (sqlite, "${v} . a", "beside a point"),
        (sqlite, "a. /* b */ ${v}", "beside a point"),
        (postgres, "a::${v}", "`::`"),
        (mysql, "@${v}", "right behind"),
        (sqlite, "?${v}", "right behind"),
        (sqlite, "x'${v}'", "bytes"),
        (postgres, "B'0${v}'", "bytes"),
        (postgres, "$$ ${v} $$", "dollar-quoted"),
        (mysql, r"'\${v}'", "backslash"),
        (mysql, r"'\\\${v}'", "backslash"),
        (postgres, r"E'\${v}'", "backslash"),
        (postgres, r"E'\x${v}'", "backslash"),
        (postgres, r"E'\x4${v}'", "backslash"),
        (postgres, r"E'\u00${v}'", "backslash"),
        (postgres, r"E'\1${v}'", "backslash"),
        (UNKNOWN, r"'\' ${v} -- '", "one place or another"),
        (postgres, "E'a'\n${v}", "another literal"),
        (postgres, "'a' -- b\n '${v}'", "another literal"),
        (postgres, r"$a ${v}, $${v}", "right behind"),
        (mysql, "/*! ' */ ${v} /* ' */", "take the comment out"),
        (sqlite, "${w}", "is not known"),
        (sqlite, "${v", "without its"),
        (sqlite, "$[yyyy+x]", "is no time"),
        (sqlite, "'$[yyyyMMdd${v}]'", "is no time"),
        (sqlite, "$[yyyy-MM-dd-999999999]", "is no time"),
    ] {
        let error = expanded_in(lexing, text, &[("v", "1")]).expect_err(text);
        assert!(error.contains(why), "{text}: {error}");
        assert_eq!(check(SQL, text, &global(&[("v", "1")]), lexing), [error], "{text}");
    }
    for (lexing, text) in [(postgres, r"E'\\x${v}'"), (postgres, r"E'\x41${v}'"), (postgres, r"'\${v}'")] {
        assert!(expanded_in(lexing, text, &[("v", "1")]).is_ok(), "{text}");
    }
    assert!(expanded("${v}", &[("v", "a\0b")]).is_err());
    assert!(expanded("'${v}", &[("v", "1")]).unwrap_err().contains("cannot be read"));
    assert!(expanded_in(UNKNOWN, "'${v}'", &[("v", "\\")]).unwrap_err().contains("backslash"));
}

#[test]
fn what_runs_has_names_and_ids() {
    for (name, expected) in [
        ("task.instance.id", "31"),
        ("task.definition.name", "'a task''s'"),
        ("task.definition.code", "32"),
        ("workflow.instance.id", "41"),
        ("workflow.definition.name", "'42'"),
        ("workflow.definition.code", "43"),
    ] {
        assert_eq!(expanded(&format!("${{system.{name}}}"), &[]).as_deref(), Ok(expected), "{name}");
    }
    for name in ["system.task.execute.path", "system.project.name", "system.project.code"] {
        let text = format!("'${{{name}}}'");
        assert!(expanded(&text, &[]).unwrap_err().contains("has no value here"), "{name}");
        assert_eq!(check(SQL, &text, &[], Lexing::SQLITE), Vec::<String>::new(), "{name}");
    }
    assert!(expanded("${system.task.nothing}", &[]).unwrap_err().contains("is not known"));
}

#[test]
fn a_script_has_plain_values() {
    let pairs = [("v", "a b/c-1"), ("bad", "a;b"), ("d", "$[yyyyMMdd]")];
    for (text, expected) in [
        ("echo ${v} $[yyyy-MM-dd]", "echo a b/c-1 2026-03-01"),
        ("echo ${d} ${HOME} ${#v} ${v:-1} $(date) $v", "echo 20260301 ${HOME} ${#v} ${v:-1} $(date) $v"),
        ("echo ${x:-${v}} $[1+2] $[a+b] $[1+${d}]", "echo ${x:-a b/c-1} $[1+2] $[a+b] $[1+20260301]"),
        ("echo ${", "echo ${"),
    ] {
        let global = global(&pairs);
        assert_eq!(expand_script(text, &values(&global)).as_deref(), Ok(expected), "{text}");
        assert_eq!(check(SHELL, text, &global, Lexing::SQLITE), Vec::<String>::new(), "{text}");
    }
    let bad = global(&pairs);
    assert!(expand_script("echo ${bad}", &values(&bad)).unwrap_err().contains("has ';'"));
    for (text, why) in
        [("$[yyyy年]", "'年'"), ("$[yyyyMMdd${d}]", "is no time"), ("$[yyyyMMdd-${d}]", "is no time")]
    {
        assert!(expand_script(text, &values(&bad)).unwrap_err().contains(why), "{text}");
        assert!(check(SHELL, text, &bad, Lexing::SQLITE)[0].contains(why), "{text}");
    }
    assert_eq!(check("PYTHON", "${", &[], Lexing::SQLITE), Vec::<String>::new());
}

#[test]
fn a_text_has_parts_with_places() {
    let text = "INSERT INTO t VALUES ('${v}', ${system.biz.date}, $[yyyy], \"${v}\")";
    let parts = parts(SQL, text, &global(&[("v", "1")]), Lexing::MYSQL).unwrap();
    let quoting = |quote| Place::Literal(Quoting { quote, backslash: Backslash::Escape });
    let found: Vec<_> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Value { source, name, place } => Some((*source, name.as_str(), *place)),
        })
        .collect();
    assert_eq!(
        found,
        [
            (Source::Global, "v", quoting('\'')),
            (Source::BuiltIn, "system.biz.date", Place::Bare),
            (Source::Time, "yyyy", Place::Bare),
            (Source::Global, "v", quoting('"')),
        ]
    );
    assert_eq!(parts.iter().map(Part::spelled).collect::<String>(), text);
}

#[test]
fn a_long_text_is_looked_through_once() {
    let begun = std::time::Instant::now();
    let known = global(&[("v", "1")]);
    for piece in ["$[", "${", "$[a", "$[yyyy]", "$a${v}", "$$", "'${v}' ", "/**/ ", "\\", "$[yyyy'"] {
        let text = piece.repeat(4 * 1024 * 1024 / piece.len());
        assert!(find_all(&text).take(PARAMETERS_MAX + 1).count() <= PARAMETERS_MAX + 1, "{piece}");
        check(SQL, &text, &known, Lexing::POSTGRES);
        check(SHELL, &text, &known, Lexing::POSTGRES);
    }
    let text = format!("{}{}", "'${v}', ${v}/**/,".repeat(4_000), "/**/ a ".repeat(100_000));
    assert!(expand(&text, &values(&known), Lexing::POSTGRES).is_ok());
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}

#[test]
fn unknown_parameters_are_refused_on_save() {
    let known = global(&[("v", "1")]);
    for good in ["SELECT '${v}', ${system.biz.date}, $[yyyy-MM-dd-1], '$[0]', $1", "SELECT 1", "SELECT '${v}"]
    {
        assert_eq!(check(SQL, good, &known, Lexing::SQLITE), Vec::<String>::new(), "{good}");
    }
    let text = "SELECT ${w}, '${system.nothing}', ${, $[abc], ${v} -- ${v}";
    let problems = check(SQL, text, &known, Lexing::SQLITE);
    assert_eq!(problems.len(), 5, "{problems:?}");
    assert!(problems[0].contains("${w} is not known"), "{problems:?}");
}

/// The lexemes of a text, with numbers and texts, which values may change, as one kind.
fn skeleton(text: &str, lexing: Lexing) -> Vec<Kind> {
    let lexemes = lex(text, lexing).expect("it can be read").into_iter();
    let kinds = lexemes.map(|lexeme| match lexeme.kind {
        Kind::Text(_) | Kind::Number => Kind::Number,
        other => other,
    });
    kinds.filter(|kind| !matches!(kind, Kind::Symbol('(' | ')' | '-'))).collect()
}

/// A user's value is not read as a parameter of its own.
fn inert(value: &str) -> String {
    value.replace('$', "")
}

proptest! {
    #[test]
    fn no_value_breaks_out(value in "(['\"`;\\-*/\\[\\]()\\\\ \n={}0-9a-z]|\\PC){0,12}") {
        let value = inert(&value);
        let pairs = [("v", value.as_str())];
        for lexing in ALL {
            for text in
                ["SELECT ${v} FROM t;", "SELECT 'a${v}b', 1-${v}, '${v}'", "x IN (${v},'${v}')", "'a'${v}'b'"]
            {
                // PostgreSQL would join `'a'` and the value.
                let Ok(harmless) = expanded_in(lexing, text, &[("v", "1")]) else {
                    prop_assert!(text.starts_with('\'') && lexing == Lexing::POSTGRES);
                    continue;
                };
                let found = expanded_in(lexing, text, &pairs).unwrap();
                prop_assert_eq!(skeleton(&found, lexing), skeleton(&harmless, lexing));
            }
        }
    }

    #[test]
    fn values_in_literals_round_trip(value in "(['\"`;\\-*/\\\\ \n=0-9a-z]|\\PC){0,12}") {
        let value = inert(&value);
        for (lexing, text) in [
            (Lexing::SQLITE, "'${v}'"), (Lexing::POSTGRES, "'${v}'"), (Lexing::POSTGRES, "E'${v}'"),
            (Lexing::MYSQL, "'${v}'"), (Lexing::MYSQL, "\"${v}\""), (Lexing::MYSQL_PLAIN, "\"${v}\""),
        ] {
            let text = expanded_in(lexing, text, &[("v", &value)]).unwrap();
            prop_assert_eq!(&lex(&text, lexing).unwrap()[0].kind, &Kind::Text(value.clone()));
        }
    }

    #[test]
    fn nothing_makes_it_fail(
        text in "(\\$\\{|\\$\\[|\\$|v|yyyy|-1|\\}|\\]|'|\"|--|\n|/\\*|\\*/|é| |\\\\|E|\\.)*",
    ) {
        let known = global(&[("v", "'")]);
        for lexing in ALL.into_iter().chain([UNKNOWN]) {
            let _ = expanded_in(lexing, &text, &[("v", "'")]);
            check(SQL, &text, &known, lexing);
            if let Ok(parts) = parts(SQL, &text, &known, lexing) {
                prop_assert_eq!(parts.iter().map(Part::spelled).collect::<String>(), text.as_str());
            }
        }
        let _ = expand_script(&text, &values(&known));
        check(SHELL, &text, &known, Lexing::SQLITE);
    }
}
