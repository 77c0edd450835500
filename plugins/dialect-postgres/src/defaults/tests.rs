use super::*;

#[test]
fn what_the_catalogue_says_is_read_for_what_it_is() {
    let text = |value: &str| DefaultValue::Text(value.to_owned());
    let number = |value: &str| DefaultValue::Number(value.to_owned());
    let expression = |value: &str| DefaultValue::Expression(value.to_owned());
    for (type_text, given, expected) in [
        ("integer", "5", number("5")),
        ("bigint", "'-5'::integer", number("-5")),
        ("bigint", "'5000000000'::bigint", number("5000000000")),
        ("numeric(10,2)", "1.50", number("1.50")),
        ("real", "'-0.1'::numeric", number("-0.1")),
        ("text", "5", number("5")),
        ("text", "'a''b\\c'::text", text("a'b\\c")),
        ("text", "'x'::character varying", text("x")),
        ("character varying(5)", "'x'::character varying", text("x")),
        ("character(3)", "'x'::bpchar", text("x")),
        ("boolean", "true", DefaultValue::Boolean(true)),
        ("text", "NULL::character varying", DefaultValue::Null),
        ("date", "'2020-01-02'::date", text("2020-01-02")),
        (
            "timestamp(3) with time zone",
            "'2020-01-02 01:04:05+00'::timestamp with time zone",
            text("2020-01-02 01:04:05+00"),
        ),
        ("integer[]", "'{1,2}'::integer[]", text("{1,2}")),
        ("numeric(5,2)[]", "'{}'::numeric[]", text("{}")),
        ("bit(3)", "'101'::\"bit\"", text("101")),
        ("s.mood", "'a'::s.mood", text("a")),
        ("timestamp without time zone", "CURRENT_TIMESTAMP", DefaultValue::Now(0)),
        ("timestamp(6) without time zone", "CURRENT_TIMESTAMP(6)", DefaultValue::Now(6)),
        ("timestamp without time zone", "CURRENT_TIMESTAMP(0)", expression("CURRENT_TIMESTAMP(0)")),
        ("timestamp(3) without time zone", "CURRENT_TIMESTAMP(3)", DefaultValue::Now(3)),
        ("timestamp with time zone", "now()", DefaultValue::Now(0)),
        ("date", "CURRENT_DATE", DefaultValue::Now(0)),
        ("date", "CURRENT_TIMESTAMP", expression("CURRENT_TIMESTAMP")),
        ("text", "now()", expression("now()")),
        ("timestamp without time zone", "LOCALTIMESTAMP", expression("LOCALTIMESTAMP")),
        ("bigint", "nextval('s.d_seq'::regclass)", expression("nextval('s.d_seq'::regclass)")),
        ("text[]", "ARRAY['a'::text]", expression("ARRAY['a'::text]")),
        ("text", "('a'::text || 'b'::text)", expression("('a'::text || 'b'::text)")),
        ("text", "'a'::text || 'b'::text", expression("'a'::text || 'b'::text")),
        ("text", "'1 day'::interval", expression("'1 day'::interval")),
        ("double precision", "'NaN'::double precision", text("NaN")),
    ] {
        assert_eq!(read(Some(given), type_text), expected, "{given}");
    }
    assert_eq!(read(None, "text"), DefaultValue::Absent);
}

#[test]
fn defaults_must_be_in_canonical_form() {
    let text = |value: &str| DefaultValue::Text(value.to_owned());
    let number = |value: &str| DefaultValue::Number(value.to_owned());
    for (type_text, default, fine) in [
        ("text", text("any 'text' \\ at all"), true),
        ("varchar(3)", text("日本語"), true),
        ("varchar(3)", text("abcd"), false),
        ("int", number("7"), true),
        ("int", number("-7"), true),
        ("int", number("-0"), false),
        ("int", number("007"), false),
        ("int", number("+7"), false),
        ("int", number("1e3"), false),
        ("int", number("1.5"), false),
        ("int", number("2147483648"), false),
        ("int", text("7"), false),
        ("smallint", number("40000"), false),
        ("numeric(5,2)", number("999.99"), true),
        ("numeric(5,2)", number("0.5"), true),
        ("numeric(5,2)", number("1000"), false),
        ("numeric(5,2)", number("1.555"), false),
        ("numeric", number("1.555"), true),
        ("double precision", number("0.1"), true),
        ("boolean", DefaultValue::Boolean(true), true),
        ("boolean", text("true"), false),
        ("text", DefaultValue::Boolean(true), false),
        ("text", number("5"), false),
        ("date", text("2024-02-29"), true),
        ("date", text("2023-02-29"), false),
        ("date", text("2024-2-9"), false),
        ("date", DefaultValue::Now(0), true),
        ("date", DefaultValue::Now(3), false),
        ("timestamp", DefaultValue::Now(6), true),
        ("timestamp", DefaultValue::Now(7), false),
        ("time", DefaultValue::Now(0), false),
        ("timestamp", text("2024-02-29 10:00:00"), true),
        ("timestamp", text("2024-02-29 10:00:00.5"), true),
        ("timestamp", text("2024-02-29 10:00:00.50"), false),
        ("timestamp(1)", text("2024-02-29 10:00:00.55"), false),
        ("timestamp", text("2024-02-29"), false),
        ("timestamptz", text("2024-02-29 10:00:00+00"), true),
        ("timestamptz", text("2024-02-29 10:00:00+02"), false),
        ("time", text("10:00:00"), true),
        ("time", text("24:00:00"), false),
        ("uuid", text("00000000-0000-0000-0000-00000000000a"), true),
        ("uuid", text("00000000-0000-0000-0000-00000000000A"), false),
        ("bytea", text("\\x00ff"), true),
        ("bytea", text("abc"), false),
        ("bit(3)", text("101"), true),
        ("bit(3)", text("10"), false),
        ("json", text("{\"a\":  1}"), true),
        ("json", text("{"), false),
        ("jsonb", text("{}"), true),
        ("jsonb", text("{\"a\":1}"), false),
        ("int[]", text("{}"), true),
        ("int[]", text("{ 1 }"), false),
        ("inet", text("10.0.0.1"), false),
        ("inet", DefaultValue::Null, true),
    ] {
        let parsed = types::parse(type_text).unwrap();
        assert_eq!(fits(&default, &parsed).is_ok(), fine, "{type_text} {default:?}");
    }
}
