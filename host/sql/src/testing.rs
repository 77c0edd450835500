//! A dialect's description for tests of this crate, similar to SQLite's.

use lakeport_bindings::dialect::about::{
    Cancel, DialectInfo, NameRule, Quoting, Session, SqlHelp, TextRule, Vocabulary,
};
use lakeport_bindings::dialect::schema::{DefaultValue, Field, Table, TableName};

pub fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn vocabulary(operation: &str, heads: &[&str], words: &str) -> Vocabulary {
    Vocabulary {
        operation: operation.to_owned(),
        heads: strings(heads),
        words: words.split_whitespace().map(str::to_owned).collect(),
    }
}

pub fn text_rule(name: &str, escape: &str) -> TextRule {
    TextRule {
        name: name.to_owned(),
        prefix: String::new(),
        quotes: strings(&["'"]),
        escape: escape.to_owned(),
    }
}

pub fn info() -> DialectInfo {
    let field = "COLUMN NOT NULL DEFAULT GENERATED ALWAYS AS PRIMARY KEY";
    DialectInfo {
        name: "sqlite".to_owned(),
        title: "SQLite".to_owned(),
        version: "0.1.0".to_owned(),
        products: strings(&["SQLite"]),
        transport: "sqlite".to_owned(),
        default_port: None,
        options_schema: "{}".to_owned(),
        database_term: "file".to_owned(),
        hidden_databases: Vec::new(),
        reads_from: strings(&["sqlite_schema", "main.sqlite_schema", "pragma_table_xinfo"]),
        name_rules: vec![NameRule {
            applies_to: "table".to_owned(),
            max_length: 64,
            length_unit: "characters".to_owned(),
            pattern: "[^\\x00]+".to_owned(),
            keeps: "as_written".to_owned(),
            case_insensitive: true,
        }],
        types: Vec::new(),
        type_words: strings(&["INTEGER", "TEXT", "REAL", "BLOB", "DECIMAL"]),
        models: Vec::new(),
        quoting: Quoting { name_quote: "\"".to_owned(), texts: vec![text_rule("literal", "double")] },
        vocabularies: vec![
            vocabulary("create_table", &["CREATE TABLE"], field),
            vocabulary("rename_table", &["ALTER TABLE"], "RENAME TO"),
            vocabulary("restore_table", &["ALTER TABLE"], "RENAME TO"),
            vocabulary("drop_table", &["DROP TABLE"], ""),
            vocabulary("add_field", &["ALTER TABLE"], &format!("ADD {field}")),
            vocabulary(
                "alter_field",
                &["ALTER TABLE", "CREATE TABLE", "INSERT INTO", "DROP TABLE"],
                &format!("RENAME TO SELECT FROM CAST {field}"),
            ),
            vocabulary(
                "drop_field",
                &["ALTER TABLE", "CREATE TABLE", "INSERT INTO", "DROP TABLE"],
                &format!("RENAME TO SELECT FROM CAST DROP {field}"),
            ),
        ],
        capabilities: Vec::new(),
        session: Session {
            driver_settings: "{}".to_owned(),
            setup: Vec::new(),
            read_only: Vec::new(),
            read_only_strength: "enforced".to_owned(),
        },
        cancel: Cancel { how: "driver".to_owned(), session_id: Vec::new(), statement: Vec::new() },
        sql: SqlHelp {
            parsers: strings(&["sqlite"]),
            placeholders: "question".to_owned(),
            row_limit: "limit_offset".to_owned(),
            explain: Some("EXPLAIN QUERY PLAN".to_owned()),
            denied_functions: strings(&["sqlite_compileoption_used"]),
            hints: Vec::new(),
        },
        extra: None,
    }
}

pub fn field(name: &str) -> Field {
    Field {
        name: name.to_owned(),
        type_text: "INTEGER".to_owned(),
        nullable: true,
        key: false,
        comment: String::new(),
        defaults_to: DefaultValue::Absent,
        generated: None,
        extra: None,
    }
}

pub fn table(name: &str, fields: &[&str]) -> Table {
    Table {
        name: TableName { database: "main".to_owned(), name: name.to_owned() },
        kind: "table".to_owned(),
        comment: String::new(),
        fields: fields.iter().map(|name| field(name)).collect(),
        keys: Vec::new(),
        model: None,
        distribution: Vec::new(),
        buckets: None,
        replicas: None,
        partition: Vec::new(),
        companions: Vec::new(),
        extra: None,
    }
}
