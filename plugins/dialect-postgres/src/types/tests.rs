use super::*;

fn canonical(text: &str) -> String {
    parse(text).unwrap_or_else(|problem| panic!("{text}: {}", problem.message)).canonical()
}

/// Tokens separated by blanks.
fn said(text: &str) -> String {
    let part = |token: &TypeToken| match token {
        TypeToken::Word(text) | TypeToken::Symbol(text) => text.clone(),
        TypeToken::Number(number) => number.to_string(),
        other => panic!("{other:?}"),
    };
    parse(text).unwrap().tokens().iter().map(part).collect::<Vec<_>>().join(" ")
}

#[test]
fn all_spellings_of_a_type_are_one() {
    for (canonical_spelling, others) in [
        ("integer", &["int", "INT4", " Integer "][..]),
        ("bigint", &["int8", "BIGINT"]),
        ("numeric(10,2)", &["decimal(10,2)", "DEC ( 10 , 2 )"]),
        ("numeric(10,0)", &["numeric(10)", "decimal(10,0)"]),
        ("numeric", &["decimal"]),
        ("real", &["float4", "float(24)"]),
        ("double precision", &["float8", "float", "FLOAT(53)", "double  precision"]),
        ("character varying(20)", &["varchar(20)", "char varying(20)"]),
        ("character varying", &["varchar"]),
        ("character(1)", &["char", "character", "CHAR(1)"]),
        ("timestamp without time zone", &["timestamp"]),
        ("timestamp(3) without time zone", &["timestamp(3)"]),
        ("timestamp(3) with time zone", &["timestamptz(3)", "TIMESTAMP(3) WITH TIME ZONE"]),
        ("time(0) with time zone", &["timetz(0)"]),
        ("interval(2)", &["INTERVAL (2)"]),
        ("bit(1)", &["bit"]),
        ("bit varying(5)", &["varbit(5)"]),
        ("text[]", &["TEXT[]", "text [ ]", "text[3]", "text[][]", "text ARRAY"]),
        ("numeric(5,2)[]", &["decimal(5,2)[]", "numeric(5,2) array"]),
        ("timestamp with time zone[]", &["timestamptz[]"]),
    ] {
        assert_eq!(canonical(canonical_spelling), canonical_spelling);
        for other in others {
            assert_eq!(canonical(other), canonical_spelling, "{other}");
        }
    }
}

#[test]
fn a_type_is_written_in_tokens_of_its_own() {
    assert_eq!(said("decimal(10,2)"), "NUMERIC ( 10 , 2 )");
    assert_eq!(said("timestamptz(3)[]"), "TIMESTAMP ( 3 ) WITH TIME ZONE ARRAY");
    assert_eq!(said("varchar(5)"), "CHARACTER VARYING ( 5 )");
    assert_eq!(parse("text[]").unwrap().family(), "array");
}

#[test]
fn keys_need_types_with_btree_operators() {
    for text in [
        "uuid",
        "interval",
        "bit(3)",
        "varbit",
        "money",
        "jsonb",
        "int4range",
        "int8multirange",
        "inet",
        "bytea",
        "text[]",
        "uuid[]",
        "jsonb[]",
        "tsvector",
        "timetz",
    ] {
        assert!(parse(text).unwrap().is_ordered(), "{text}");
    }
    for text in ["json", "xml", "point", "line", "lseg", "box", "path", "polygon", "circle", "json[]"] {
        assert!(!parse(text).unwrap().is_ordered(), "{text}");
    }
}

#[test]
fn what_is_no_type_or_more_than_one_is_refused() {
    for text in [
        "",
        "  ",
        "INT NOT NULL",
        "INT DEFAULT 1",
        "TEXT COLLATE \"C\"",
        "TEXT COLLATE x",
        "VARCHAR(20",
        "VARCHAR(20))",
        "VARCHAR()",
        "VARCHAR(0)",
        "VARCHAR(-1)",
        "VARCHAR(10485761)",
        "VARCHAR(1,2)",
        "numeric(1001)",
        "numeric(2,10)",
        "numeric(1,2,3)",
        "numeric(3,-1)",
        "timestamp(7)",
        "timestamp with time zone(3)",
        "timestamp(3) with",
        "float(54)",
        "float(0)",
        "integer(11)",
        "INT; DROP TABLE x",
        "INT--",
        "\"INT\"",
        "INT/**/",
        "text[",
        "text]",
        "text[a]",
        "array",
        "ARRAY<INT>",
        "interval year to month",
        "s.mood",
        "citext",
        "TEXT\0",
        "ТЕХТ",
    ] {
        let problem = parse(text).expect_err(text);
        assert_eq!((problem.code.as_str(), problem.member.as_str()), ("invalid_value", ""), "{text}");
        assert!(problem.message.len() > 20, "{text}: {}", problem.message);
    }
    assert!(parse(&"A".repeat(TEXT_MAX_BYTES + 1)).is_err());
}

#[test]
fn foreign_type_names_suggest_a_replacement() {
    for (text, instead) in [
        ("datetime", "timestamp"),
        ("TINYINT", "smallint"),
        ("double", "double precision"),
        ("string", "text"),
        ("bigserial", "cannot be asked for"),
        ("datetime(3)", "timestamp"),
    ] {
        let message = parse(text).unwrap_err().message;
        assert!(message.contains(instead), "{text}: {message}");
    }
    assert!(parse("int unsigned").unwrap_err().message.contains("\"unsigned\""));
}

#[test]
fn older_servers_refuse_newer_types() {
    let server = |version: &str| ServerInfo {
        product: "PostgreSQL".to_owned(),
        version: version.to_owned(),
        facts: "{}".to_owned(),
    };
    assert!(parse_for(None, "int4multirange").is_ok());
    assert!(parse_for(Some(&server("14.2")), "int4multirange").is_ok());
    let problem = parse_for(Some(&server("13.9")), "int4multirange").unwrap_err();
    assert!(problem.message.contains("14"), "{}", problem.message);
}

#[test]
fn listed_types_parse_with_declared_words() {
    let words = words();
    for info in infos() {
        let parsed = parse(&info.name).unwrap();
        assert!(parsed.canonical().starts_with(info.name.split(' ').next().unwrap()));
        for token in parsed.tokens() {
            if let TypeToken::Word(word) = token {
                assert!(words.contains(&word), "{}", info.name);
            }
        }
    }
}

#[test]
fn a_change_keeps_every_value_or_is_lossy() {
    let (none, in_place, rewrite, lossy) = (Change::None, Change::InPlace, Change::Rewrite, Change::Lossy);
    for (before, after, expected) in [
        ("int", "integer", none),
        ("smallint", "int", rewrite),
        ("int", "bigint", rewrite),
        ("bigint", "int", lossy),
        ("int", "double precision", rewrite),
        ("bigint", "double precision", lossy),
        ("int", "real", lossy),
        ("bigint", "numeric", rewrite),
        ("bigint", "numeric(19)", rewrite),
        ("bigint", "numeric(18)", lossy),
        ("int", "numeric(12,2)", rewrite),
        ("int", "numeric(11,2)", lossy),
        ("numeric(5,2)", "numeric(8,2)", in_place),
        ("numeric(5,2)", "numeric(6,3)", rewrite),
        ("numeric(5,2)", "numeric(5,3)", lossy),
        ("numeric(5,2)", "numeric(8,1)", lossy),
        ("numeric(5,2)", "numeric", in_place),
        ("numeric", "numeric(1000)", lossy),
        ("numeric(5)", "int", lossy),
        ("varchar(5)", "varchar(6)", in_place),
        ("varchar(5)", "varchar(4)", lossy),
        ("varchar(5)", "varchar", in_place),
        ("varchar", "varchar(9)", lossy),
        ("varchar(5)", "text", in_place),
        ("text", "varchar", in_place),
        ("text", "varchar(9)", lossy),
        ("char(3)", "char(4)", rewrite),
        ("char(3)", "varchar(3)", rewrite),
        ("char(3)", "varchar(2)", lossy),
        ("varchar(3)", "char(3)", lossy),
        ("date", "timestamp", rewrite),
        ("date", "timestamptz", lossy),
        ("timestamp", "timestamptz", lossy),
        ("timestamp(3)", "timestamp", in_place),
        ("timestamp(3)", "timestamp(6)", in_place),
        ("timestamp", "timestamp(3)", lossy),
        ("timestamp", "date", lossy),
        ("real", "double precision", rewrite),
        ("double precision", "real", lossy),
        ("integer", "text", rewrite),
        ("integer", "varchar(11)", rewrite),
        ("integer", "varchar(10)", lossy),
        ("uuid", "varchar(36)", rewrite),
        ("uuid", "varchar(35)", lossy),
        ("numeric(5,2)", "varchar(100)", lossy),
        ("double precision", "text", lossy),
        ("timestamp", "text", lossy),
        ("text", "integer", lossy),
        ("json", "jsonb", lossy),
        ("jsonb", "json", lossy),
        ("cidr", "inet", in_place),
        ("inet", "cidr", lossy),
        ("bit(3)", "bit(4)", lossy),
        ("bit(3)", "varbit(4)", rewrite),
        ("int[]", "bigint[]", rewrite),
        ("varchar(5)[]", "text[]", rewrite),
        ("int", "int[]", lossy),
        ("text[]", "text", lossy),
        ("bytea", "text", lossy),
    ] {
        let [one, other] = [before, after].map(|text| parse(text).unwrap());
        assert_eq!(change(&one, &other), expected, "{before} to {after}");
    }
}
