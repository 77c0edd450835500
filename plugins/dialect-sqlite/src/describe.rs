//! The dialect's description.

use lakeport_sdk::dialect::{DialectInfo, NameRule, Session, SqlHelp, Vocabulary};

use crate::types;

/// The plugin's name, which data sources give as their kind.
pub const NAME: &str = "sqlite";
/// The product, as `server` names it.
pub const PRODUCT: &str = "SQLite";
/// The longest name in characters. SQLite has no limit of its own.
pub const NAME_MAX_CHARACTERS: u32 = 255;

/// Words of a column's definition.
const FIELD_WORDS: [&str; 6] = ["NOT", "NULL", "DEFAULT", "TRUE", "FALSE", "CURRENT_TIMESTAMP"];

/// Catalogue objects that are read.
const READS_FROM: [&str; 9] = [
    "sqlite_schema",
    "pragma_table_list",
    "pragma_table_xinfo",
    "pragma_index_list",
    "pragma_index_info",
    "pragma_foreign_key_list",
    "pragma_compile_options",
    "main.sqlite_schema",
    "dbstat",
];

/// The dialect.
pub fn describe() -> DialectInfo {
    DialectInfo {
        database_term: "file".to_owned(),
        reads_from: owned(&READS_FROM),
        name_rules: ["database", "table", "field"].map(name_rule).into(),
        types: types::infos(),
        type_words: types::words(),
        vocabularies: vocabularies(),
        capabilities: owned(&[
            "add_field",
            "rename_field",
            "alter_type",
            "alter_nullable",
            "drop_field",
            "transactional_ddl",
            "ddl_text",
            "row_count_exact",
            "index_size",
        ]),
        session: Session {
            driver_settings: "{}".to_owned(),
            setup: Vec::new(),
            read_only: Vec::new(),
            // The host's driver opens the file read-only for reads; no statement can undo that.
            read_only_strength: "enforced".to_owned(),
        },
        sql: sql(),
        ..DialectInfo::new(NAME, PRODUCT, env!("CARGO_PKG_VERSION"), "sqlite")
    }
}

fn name_rule(applies_to: &str) -> NameRule {
    NameRule {
        applies_to: applies_to.to_owned(),
        max_length: NAME_MAX_CHARACTERS,
        length_unit: "characters".to_owned(),
        pattern: r"[^\x00-\x1F\x7F]+".to_owned(),
        keeps: "as_written".to_owned(),
        case_insensitive: true,
    }
}

fn vocabularies() -> Vec<Vocabulary> {
    let field = |more: &[&'static str]| -> Vec<&'static str> { [&FIELD_WORDS[..], more].concat() };
    let create = field(&["PRIMARY", "KEY"]);
    vec![
        Vocabulary::new("create_table", &["CREATE TABLE"], &create),
        Vocabulary::new("rename_table", &["ALTER TABLE"], &["RENAME", "TO"]),
        Vocabulary::new("restore_table", &["ALTER TABLE"], &["RENAME", "TO"]),
        Vocabulary::new("drop_table", &["DROP TABLE"], &[]),
        Vocabulary::new("add_field", &["ALTER TABLE"], &field(&["ADD", "COLUMN"])),
        Vocabulary::new(
            "alter_field",
            &["ALTER TABLE", "CREATE TABLE", "INSERT INTO", "DROP TABLE"],
            &[&create[..], &["RENAME", "COLUMN", "TO", "SELECT", "FROM"]].concat(),
        ),
        Vocabulary::new("drop_field", &["ALTER TABLE"], &["DROP", "COLUMN"]),
        Vocabulary::new("read", &[], &[]),
    ]
}

fn sql() -> SqlHelp {
    SqlHelp {
        parsers: owned(&["sqlite", "ansi"]),
        placeholders: "question".to_owned(),
        row_limit: "limit_offset".to_owned(),
        explain: Some("EXPLAIN QUERY PLAN".to_owned()),
        denied_functions: owned(&[
            "load_extension",
            "readfile",
            "writefile",
            "edit",
            "fts3_tokenizer",
            "fsdir",
            "zipfile",
            "sqlar_uncompress",
            "sqlite_dbpage",
        ]),
        hints: owned(&[
            "Dates are texts, yyyy-MM-dd HH:mm:ss, or numbers: look at a value first. Use date(), time(), strftime().",
            "strftime('%Y-%m', d) gives the month; date(d, '-7 days') goes back; date('now') is in UTC.",
            "Name texts in single quotes: an unknown name in double quotes silently becomes a text.",
            "7 / 2 is 3: multiply by 1.0 for a fraction.",
            "Booleans are 0 and 1.",
            "Join texts with ||, not CONCAT; group them with group_concat(x, ', ').",
            "LIKE ignores case for ASCII letters only; there is no ILIKE.",
            "Use LIMIT n OFFSET m; there is no TOP.",
            "Use ifnull or coalesce; casts are CAST(x AS INTEGER | REAL | TEXT).",
            "Window functions and WITH … AS are there; RIGHT and FULL JOIN from 3.39 on.",
        ]),
    }
}

fn owned(list: &[&str]) -> Vec<String> {
    list.iter().map(|&text| text.to_owned()).collect()
}
