use super::super::{check_globals, expand};
use super::*;

use lakeport_sql::lex::Lexing;

fn global(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// `${a}` at 2026-03-01 04:05:06.
fn of_a(global: &[(String, String)]) -> Result<String, String> {
    let zone = chrono_tz::Tz::UTC;
    let business_ms = lakeport_base::time::parse("2026-03-01 04:05:06", zone).unwrap();
    let values = Values { global, business_ms, zone, context: Context::default() };
    expand("${a}", &values, Lexing::SQLITE)
}

#[test]
fn values_use_each_other() {
    for (pairs, expected) in [
        (&[("a", "${b}"), ("b", "7")][..], "7"),
        (&[("a", "${b}${b}"), ("b", "7")], "77"),
        (&[("a", "0${b}"), ("b", "7")], "'07'"),
        (&[("a", "${b}"), ("b", "$[yyyyMMdd]")], "20260301"),
        (&[("a", "${b}${c}"), ("b", "$[yyyyMM]"), ("c", "01")], "20260301"),
        (&[("a", "$[yyyy]$[MM]")], "202603"),
        (&[("a", "${b}$[yyyy]"), ("b", "0")], "'02026'"),
        (&[("a", "-$[yyyy]")], "'-2026'"),
        (&[("a", "${b}"), ("b", "$[MM]")], "'03'"),
        (&[("a", "$[MM]5")], "'035'"),
        (&[("a", "${b}"), ("b", "")], "''"),
        (
            &[("a", "{\"x\": \"${b}\", \"y\": \"$[0]\"}"), ("b", "it's")],
            "'{\"x\": \"it''s\", \"y\": \"$[0]\"}'",
        ),
    ] {
        let global = global(pairs);
        assert_eq!(of_a(&global).as_deref(), Ok(expected), "{pairs:?}");
        assert_eq!(check_globals(&global), [], "{pairs:?}");
    }
}

#[test]
fn a_circle_is_named() {
    let three = global(&[("x", "${a}"), ("a", "1${b}"), ("b", "${c}${c}"), ("c", "${a}"), ("d", "1")]);
    let why = "its value needs itself: a → b → c → a";
    assert_eq!(of_a(&three), Err(why.to_owned()));
    assert_eq!(check_globals(&three), [1, 2, 3].map(|place| (place, why.to_owned())));
    let one = global(&[("a", "${a}")]);
    assert_eq!(check_globals(&one), [(0, "its value needs itself: a → a".to_owned())]);
}

#[test]
fn a_wrong_value_is_named_where_it_is() {
    for (value, why) in [
        ("${none}", "${none} is not known"),
        ("$[yyyyMMddx]", "$[yyyyMMddx] is no time"),
        ("${", "without its"),
        ("${system.task.nothing}", "is not known"),
    ] {
        let global = global(&[("a", "${b}"), ("b", value), ("c", "${b}")]);
        let found = check_globals(&global);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].0 == 1 && found[0].1.contains(why), "{found:?}");
        assert!(of_a(&global).unwrap_err().contains(why), "{value}");
    }
    assert_eq!(check_globals(&global(&[("a", "${system.task.execute.path} $[last]")])), []);
}

#[test]
fn values_do_not_grow_without_end() {
    // Each is twice the next one.
    let doubled = |last: &str, count: usize| {
        let of = |place: usize| match place + 1 {
            next if next == count => last.to_owned(),
            next => format!("${{v{next}}}${{v{next}}}"),
        };
        (0..count).map(|place| (format!("v{place}"), of(place))).collect::<Vec<_>>()
    };
    assert_eq!(check_globals(&doubled("", DEPTH_MAX)), []);
    let large = check_globals(&doubled("x", DEPTH_MAX));
    assert!(large.iter().any(|(_, why)| why.contains("longer than 65536 bytes")), "{large:?}");
    for turned in [false, true] {
        let mut deep = doubled("1", 1);
        deep.extend((1..100).map(|place| (format!("v{place}"), format!("${{v{}}}", place - 1))));
        if turned {
            deep.reverse();
        }
        let found = check_globals(&deep);
        assert!(
            !found.is_empty() && found.iter().all(|(_, why)| why.contains("chain of more than")),
            "{found:?}"
        );
    }
    let many = global(&[("a", &"${b}".repeat(PARAMETERS_MAX + 1)), ("b", "")]);
    assert!(check_globals(&many)[0].1.contains("more than 10000 parameters"));
}

#[test]
fn the_probe_is_far_from_the_ends() {
    let utc = chrono_tz::Tz::UTC;
    for pattern in ["yyyyMMdd+100000", "yyyyMMdd-100000", "add_months(yyyy,12000)", "add_months(yyyy,-12000)"]
    {
        assert!(Moment::parse(pattern).unwrap().shown(PROBE_MS, utc).is_some(), "{pattern}");
    }
    assert_eq!(lakeport_base::time::shown(PROBE_MS, utc), "5000-01-01 00:00:00");
}
