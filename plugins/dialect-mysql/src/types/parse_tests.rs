use super::*;
use crate::server::{MARIADB, MYSQL};
use lakeport_sdk::dialect::{ServerInfo, TypeToken};

fn canonical(text: &str) -> String {
    parse(text, None).unwrap_or_else(|message| panic!("{text}: {message}")).canonical()
}

#[test]
fn one_spelling_for_what_is_the_same_to_both_servers() {
    for (texts, expected) in [
        (&["int", "INTEGER", "int(11)", "Int4", "int signed"][..], "INT"),
        (&["int(10) unsigned", "INT UNSIGNED", "integer unsigned"], "INT UNSIGNED"),
        (&["bigint(20)", "INT8"], "BIGINT"),
        (&["tinyint(4)", "tinyint"], "TINYINT"),
        (&["bool", "BOOLEAN", "tinyint(1)"], "BOOLEAN"),
        (&["tinyint(1) unsigned"], "TINYINT UNSIGNED"),
        (&["int(10) unsigned zerofill", "INT ZEROFILL"], "INT(10) UNSIGNED ZEROFILL"),
        (&["decimal", "numeric(10)", "DEC(10,0)"], "DECIMAL(10,0)"),
        (&["decimal(10, 2)", "FIXED(10,2)"], "DECIMAL(10,2)"),
        (&["double", "real", "float(53)", "double precision"], "DOUBLE"),
        (&["float", "FLOAT(24)"], "FLOAT"),
        (&["float(7,4)"], "FLOAT(7,4)"),
        (&["char", "character(1)"], "CHAR(1)"),
        (&["varchar ( 20 )", "character varying(20)"], "VARCHAR(20)"),
        (&["datetime", "DATETIME(0)"], "DATETIME"),
        (&["timestamp(6)"], "TIMESTAMP(6)"),
        (&["year", "year(4)"], "YEAR"),
        (&["bit", "bit(1)"], "BIT(1)"),
        (&["geomcollection"], "GEOMETRYCOLLECTION"),
    ] {
        for text in texts {
            assert_eq!(canonical(text), expected, "{text}");
        }
    }
}

#[test]
fn values_of_a_list_keep_what_is_in_them() {
    let parsed = parse(r"enum('a','b''c','d\\e', 'x,y)')", None).unwrap();
    assert_eq!(parsed.members, ["a", "b'c", r"d\e", "x,y)"]);
    assert_eq!(canonical(&parsed.canonical()), parsed.canonical());
    assert!(parsed.tokens().contains(&TypeToken::Text("b'c".to_owned())));
}

#[test]
fn what_is_no_type_is_refused() {
    for text in [
        "",
        "  ",
        "WHAT",
        "INT NOT NULL",
        "INT COMMENT 'x'",
        "INT DEFAULT 1",
        "VARCHAR",
        "VARCHAR()",
        "VARCHAR(20",
        "VARCHAR(20))",
        "VARCHAR(70000)",
        "VARCHAR(-1)",
        "VARCHAR(1,2)",
        "CHAR(256)",
        "DECIMAL(2,10)",
        "DECIMAL(66)",
        "DECIMAL(1,2,3)",
        "TEXT(20)",
        "INT; DROP TABLE x",
        "INT--",
        "`INT`",
        "INT/**/",
        "ENUM",
        "ENUM()",
        "ENUM('a','A')",
        "ENUM('a' 'b')",
        "ENUM('a'",
        "SET('a,b')",
        "ENUM('a ')",
        "ENUM('😀')",
        "DATETIME(7)",
        "YEAR(2)",
        "VARCHAR(9) UNSIGNED",
        "INT UNSIGNED UNSIGNED",
        "DATE(1)",
        "VARCHAR(20) CHARACTER SET latin1",
        "varchar(255) /*M!100301 COMPRESSED*/",
        "ТЕХТ",
        "TEXT\0",
        "enum('a') ; drop table t; -- ('b')",
    ] {
        let problem = data_type(text, None).expect_err(text);
        assert_eq!((problem.code.as_str(), problem.member.as_str()), ("invalid_value", ""), "{text}");
        assert!(problem.message.len() > 15, "{text}: {}", problem.message);
    }
}

#[test]
fn a_server_has_its_own_types() {
    let server = |product: &str, version: &str| {
        Server::of(&ServerInfo {
            product: product.to_owned(),
            version: version.to_owned(),
            facts: "{}".to_owned(),
        })
    };
    let has = |text: &str, server: &Server| parse(text, Some(server)).is_ok();
    assert!(has("uuid", &server(MARIADB, "10.11.1")) && !has("uuid", &server(MARIADB, "10.6.9")));
    assert!(!has("uuid", &server(MYSQL, "9.7.4")) && has("vector(3)", &server(MYSQL, "9.7.4")));
    assert!(!has("vector(3)", &server(MYSQL, "8.4.0")));
}

#[test]
fn listed_types_parse_with_declared_words() {
    let words = crate::types::words();
    for info in crate::types::infos() {
        let text = match info.name.as_str() {
            "ENUM" | "SET" => format!("{}('a')", info.name),
            "VARCHAR" | "VARBINARY" | "VECTOR" => format!("{}(9)", info.name),
            _ => info.name.clone(),
        };
        let parsed = data_type(&text, None).unwrap();
        assert!(parsed.canonical.starts_with(&info.name), "{}", parsed.canonical);
        for token in parsed.tokens {
            if let TypeToken::Word(word) = token {
                assert!(words.contains(&word), "{word}");
            }
        }
    }
}
