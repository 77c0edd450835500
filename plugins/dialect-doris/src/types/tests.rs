use super::*;

const DORIS: Product = Product::Doris;
const STARROCKS: Product = Product::StarRocks;

fn canonical(text: &str) -> String {
    parse(DORIS, text).unwrap_or_else(|problem| panic!("{text}: {}", problem.message)).canonical
}

#[test]
fn one_spelling_for_all_that_mean_the_same() {
    for (text, expected) in [
        ("int", "INT"),
        ("INT(11)", "INT"),
        (" integer ", "INT"),
        ("bigint ( 20 )", "BIGINT"),
        ("decimalv3(10, 2)", "DECIMAL(10,2)"),
        ("DECIMAL(10)", "DECIMAL(10,0)"),
        ("datetimev2(0)", "DATETIME"),
        ("DateTime(3)", "DATETIME(3)"),
        ("datev2", "DATE"),
        ("text", "STRING"),
        ("jsonb", "JSON"),
        ("char", "CHAR(1)"),
        ("array< map<string,int> >", "ARRAY<MAP<STRING,INT>>"),
        ("struct<a:int, B : varchar(10),`c` array<int>>", "STRUCT<a:INT,B:VARCHAR(10),c:ARRAY<INT>>"),
        ("struct<map:int,名:int>", "STRUCT<map:INT,名:INT>"),
    ] {
        assert_eq!(canonical(text), expected, "{text}");
    }
    assert_eq!(parse(STARROCKS, "string").unwrap().canonical, "VARCHAR(65533)");
    assert_eq!(parse(STARROCKS, "VARCHAR(1048576)").unwrap().canonical, "VARCHAR(1048576)");
}

#[test]
fn what_servers_say_is_read_for_what_it_means() {
    for (text, expected) in [
        ("tinyint(1)", "BOOLEAN"),
        ("tinyint(4)", "TINYINT"),
        ("varchar(*)", "VARCHAR(65533)"),
        ("array<tinyint(1)>", "ARRAY<BOOLEAN>"),
        ("decimal(27, 9)", "DECIMAL(27,9)"),
        ("variant", "VARIANT"),
        ("variant<PROPERTIES (\"variant_max_subcolumns_count\" = \"2048\",)>", "VARIANT"),
        ("variant<PROPERTIES (\"variant_max_subcolumns_count\" = \"9\", \"a\" = \"b\")>", "VARIANT"),
        ("variant<'a':int,PROPERTIES (\"b\" = \"1\")>", "variant<'a':int,PROPERTIES (\"b\" = \"1\")>"),
        ("bitmap", "bitmap"),
        ("agg_state<max_by(int null)>", "agg_state<max_by(int null)>"),
    ] {
        assert_eq!(read(DORIS, text), expected, "{text}");
    }
}

#[test]
fn what_is_no_type_is_refused() {
    let deep = format!("{}INT{}", "ARRAY<".repeat(9), ">".repeat(9));
    for text in [
        "",
        "  ",
        "INT NOT NULL",
        "INT COMMENT 'x'",
        "INT DEFAULT 1",
        "INT; DROP TABLE x",
        "INT--",
        "INT/**/",
        "`INT`",
        "VARCHAR",
        "VARCHAR(0)",
        "VARCHAR(65534)",
        "VARCHAR(-1)",
        "VARCHAR(10",
        "VARCHAR(1,2)",
        "DECIMAL",
        "DECIMAL(39,2)",
        "DECIMAL(2,10)",
        "DATETIME(7)",
        "CHAR(256)",
        "TINYINT(1)",
        "INT UNSIGNED",
        "BITMAP",
        "HLL",
        "TIME",
        "VARBINARY",
        "ARRAY",
        "ARRAY<>",
        "ARRAY<INT",
        "ARRAY<INT>>",
        "MAP<INT>",
        "STRUCT<>",
        "STRUCT<a>",
        "STRUCT<a:INT,A:INT>",
        "STRUCT<`a``b`:INT>",
        "STRUCT<`a b`:INT>",
        "VARCHAR(99999999999)",
        "INT\0",
        &deep,
    ] {
        let problem = parse(DORIS, text).expect_err(text);
        assert_eq!((problem.code.as_str(), problem.member.as_str()), ("invalid_value", ""), "{text}");
        assert!(problem.message.len() > 20, "{text}: {}", problem.message);
    }
    assert!(parse(STARROCKS, "VARIANT").is_err() && parse(DORIS, "VARIANT").is_ok());
    assert!(parse(STARROCKS, "DATETIME(3)").is_err());
    assert!(parse(DORIS, &"A".repeat(TEXT_MAX_BYTES + 1)).is_err());
}

#[test]
fn written_words_are_declared_listed_types_parse() {
    let declared = words();
    for text in ["DECIMAL(1)", "VARCHAR(1)", "ARRAY<INT>", "MAP<INT,INT>", "STRUCT<a:INT>"]
        .into_iter()
        .map(str::to_owned)
        .chain(ENTRIES.iter().map(|entry| entry.name.to_owned()))
    {
        for product in [DORIS, STARROCKS] {
            let Ok(parsed) = parse(product, &text) else { continue };
            for token in parsed.tokens {
                if let TypeToken::Word(word) = token {
                    assert!(declared.contains(&word), "{text}: {word}");
                }
            }
        }
    }
}

#[test]
fn only_changes_that_keep_every_value_are_made() {
    let of = |text: &str| parse_type(DORIS, text).unwrap();
    for (before, after, expected) in [
        ("INT", "INT", Ok(Work::None)),
        ("TINYINT", "BIGINT", Ok(Work::Rewrite)),
        ("BIGINT", "INT", Err(Refusal::Loses)),
        ("INT", "DOUBLE", Ok(Work::Rewrite)),
        ("INT", "FLOAT", Err(Refusal::Loses)),
        ("BIGINT", "DOUBLE", Err(Refusal::Loses)),
        ("INT", "VARCHAR(11)", Ok(Work::Rewrite)),
        ("INT", "VARCHAR(10)", Err(Refusal::Loses)),
        ("VARCHAR(10)", "VARCHAR(20)", Ok(Work::Metadata)),
        ("VARCHAR(20)", "VARCHAR(10)", Err(Refusal::Loses)),
        ("CHAR(5)", "VARCHAR(5)", Ok(Work::Rewrite)),
        ("VARCHAR(5)", "STRING", Ok(Work::Rewrite)),
        ("STRING", "VARCHAR(65533)", Err(Refusal::Loses)),
        ("VARCHAR(5)", "INT", Err(Refusal::Loses)),
        ("STRING", "JSON", Err(Refusal::Loses)),
        ("JSON", "STRING", Ok(Work::Rewrite)),
        ("DECIMAL(10,2)", "DECIMAL(12,4)", Ok(Work::Rewrite)),
        ("DECIMAL(10,2)", "DECIMAL(12,6)", Err(Refusal::Loses)),
        ("DECIMAL(10,2)", "VARCHAR(13)", Ok(Work::Rewrite)),
        ("DATE", "DATETIME", Ok(Work::Rewrite)),
        ("DATETIME", "DATE", Err(Refusal::Loses)),
        ("DATETIME", "DATETIME(3)", Err(Refusal::Impossible)),
        ("BOOLEAN", "INT", Err(Refusal::Impossible)),
        ("ARRAY<INT>", "ARRAY<BIGINT>", Err(Refusal::Impossible)),
        ("INT", "DATE", Err(Refusal::Loses)),
    ] {
        assert_eq!(change(&of(before), &of(after)), expected, "{before} to {after}");
    }
}
