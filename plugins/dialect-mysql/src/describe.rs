//! The dialect's description.

use lakeport_sdk::dialect::{
    Cancel, DialectInfo, NameRule, Query, Quoting, Session, SqlHelp, Statement, TextRule, Vocabulary,
};

use crate::server::{MARIADB, MYSQL};
use crate::types;

/// The plugin's name, which data sources give as their kind.
pub const NAME: &str = "mysql";
/// The longest name in characters.
pub const NAME_MAX_CHARACTERS: u32 = 64;
/// The server's own databases.
pub const HIDDEN_DATABASES: [&str; 4] = ["information_schema", "mysql", "performance_schema", "sys"];

/// Set in each session: errors for values that do not fit, and one way to read a literal.
const SQL_MODE: &str = "STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION";

/// Words of a field's definition.
const FIELD_WORDS: &[&str] = &[
    "CHARACTER",
    "SET",
    "COLLATE",
    "GENERATED",
    "ALWAYS",
    "AS",
    "STORED",
    "VIRTUAL",
    "NOT",
    "NULL",
    "DEFAULT",
    "TRUE",
    "FALSE",
    "CURRENT_TIMESTAMP",
    "ON",
    "UPDATE",
    "AUTO_INCREMENT",
    "INVISIBLE",
    "COMMENT",
];

/// Additional words of a table's definition.
const TABLE_WORDS: &[&str] = &[
    "PRIMARY",
    "KEY",
    "ENGINE",
    "INNODB",
    "PARTITION",
    "BY",
    "RANGE",
    "COLUMNS",
    "P_REST",
    "VALUES",
    "LESS",
    "THAN",
    "MAXVALUE",
];

/// Denied functions that reach out of a statement, besides the host's list.
pub const DENIED_FUNCTIONS: &[&str] = &[
    "last_insert_id",
    "nextval",
    "lastval",
    "setval",
    "asynchronous_connection_failover_add_source",
    "group_replication_set_as_primary",
    "keyring_key_fetch",
    "keyring_key_generate",
    "keyring_key_remove",
    "keyring_key_store",
    "version_tokens_set",
];

/// Catalogue objects that the dialect reads.
const READS_FROM: &[&str] = &[
    "information_schema.SCHEMATA",
    "information_schema.TABLES",
    "information_schema.COLUMNS",
    "information_schema.STATISTICS",
    "information_schema.PARTITIONS",
    "information_schema.VIEWS",
    "information_schema.VIEW_TABLE_USAGE",
    "information_schema.TRIGGERS",
    "information_schema.TABLE_CONSTRAINTS",
    "information_schema.CHECK_CONSTRAINTS",
    "information_schema.KEY_COLUMN_USAGE",
    "information_schema.REFERENTIAL_CONSTRAINTS",
    "information_schema.TABLE_STATISTICS",
    "information_schema.INNODB_SYS_FOREIGN",
    "information_schema.INNODB_SYS_FOREIGN_COLS",
    "performance_schema.events_statements_summary_by_digest",
    "performance_schema.table_io_waits_summary_by_table",
    "mysql.innodb_table_stats",
    "mysql.general_log",
];

/// The dialect.
pub fn describe() -> DialectInfo {
    DialectInfo {
        title: "MySQL, MariaDB".to_owned(),
        products: owned(&[MYSQL, MARIADB]),
        default_port: Some(3306),
        options_schema: r#"{"type":"object","additionalProperties":false}"#.to_owned(),
        hidden_databases: owned(&HIDDEN_DATABASES),
        reads_from: owned(READS_FROM),
        name_rules: name_rules(),
        types: types::infos(),
        type_words: types::words(),
        quoting: quoting(),
        vocabularies: vocabularies(),
        capabilities: owned(&[
            "table_comment",
            "field_comment",
            "add_field",
            "rename_field",
            "alter_type",
            "alter_nullable",
            "drop_field",
            "partition",
            "ddl_text",
            "row_count_exact",
            "index_size",
            "access_log",
            "access_counters",
        ]),
        session: session(),
        cancel: Cancel {
            how: "statement".to_owned(),
            session_id: Query::new("SELECT CONNECTION_ID() AS id").fragments(),
            statement: Statement::new().words("KILL QUERY").host_value("session-id").tokens(),
        },
        sql: sql(),
        ..DialectInfo::new(NAME, MYSQL, env!("CARGO_PKG_VERSION"), "mysql")
    }
}

/// Only the basic plane, because the catalogue stores no more; no blank at the end, which the server refuses.
fn name_rules() -> Vec<NameRule> {
    let inner = r"\x00-\x1F\x7F\x{10000}-\x{10FFFF}";
    let rule = |applies_to: &str| NameRule {
        applies_to: applies_to.to_owned(),
        max_length: NAME_MAX_CHARACTERS,
        length_unit: "characters".to_owned(),
        pattern: format!("[^{inner}]*[^ {inner}]"),
        keeps: "as_written".to_owned(),
        // Whether it also applies to tables depends on the server: the plans check that.
        case_insensitive: applies_to == "field",
    };
    ["database", "table", "field"].map(rule).into()
}

/// `literal` for sessions with the settings below; `plain` in case NO_BACKSLASH_ESCAPES could not be turned
/// off.
fn quoting() -> Quoting {
    let literal = TextRule { escape: "double_and_backslash".to_owned(), ..TextRule::standard() };
    let plain = TextRule { name: "plain".to_owned(), ..TextRule::standard() };
    Quoting { name_quote: "`".to_owned(), texts: vec![literal, plain] }
}

fn vocabularies() -> Vec<Vocabulary> {
    let field = |more: &[&'static str]| -> Vec<&'static str> { [FIELD_WORDS, more].concat() };
    vec![
        Vocabulary::new("create_table", &["CREATE TABLE"], &field(TABLE_WORDS)),
        Vocabulary::new("rename_table", &["RENAME TABLE"], &["TO"]),
        Vocabulary::new("restore_table", &["RENAME TABLE"], &["TO"]),
        Vocabulary::new("drop_table", &["DROP TABLE"], &[]),
        Vocabulary::new("comment_table", &["ALTER TABLE"], &["COMMENT"]),
        Vocabulary::new("add_field", &["ALTER TABLE"], &field(&["ADD", "COLUMN", "AFTER"])),
        Vocabulary::new(
            "alter_field",
            &["ALTER TABLE"],
            &field(&["MODIFY", "CHANGE", "RENAME", "COLUMN", "TO"]),
        ),
        Vocabulary::new("drop_field", &["ALTER TABLE"], &["DROP", "COLUMN"]),
        Vocabulary::new(
            "session",
            &["SET SESSION"],
            &["SQL_MODE", "TIME_ZONE", "LOCK_WAIT_TIMEOUT", "TRANSACTION", "READ", "ONLY"],
        ),
        Vocabulary::new("cancel", &["KILL QUERY"], &[]),
        Vocabulary::new("read", &["SHOW CREATE TABLE", "SHOW VARIABLES"], &[]),
    ]
}

/// Limits the wait for a lock, which is a year by default.
fn session() -> Session {
    let set = |name: &str| Statement::new().words("SET SESSION").words(name).symbol("=");
    Session {
        driver_settings: r#"{"setNames":true,"setSqlMode":false,"setTimeZone":false,"textProtocol":false}"#
            .to_owned(),
        setup: vec![
            set("SQL_MODE").text("literal", SQL_MODE).tokens(),
            set("TIME_ZONE").text("literal", "+00:00").tokens(),
            set("LOCK_WAIT_TIMEOUT").host_value("timeout-s").tokens(),
        ],
        read_only: vec![Statement::new().words("SET SESSION TRANSACTION READ ONLY").tokens()],
        read_only_strength: "advisory".to_owned(),
    }
}

fn sql() -> SqlHelp {
    SqlHelp {
        parsers: owned(&["mysql", "ansi"]),
        placeholders: "question".to_owned(),
        row_limit: "limit_offset".to_owned(),
        explain: Some("EXPLAIN".to_owned()),
        denied_functions: owned(DENIED_FUNCTIONS),
        hints: owned(&[
            "Quote names with backticks; text in single quotes. Double a quote inside a text, leave out backslashes.",
            "Join texts with CONCAT(a, b); || means OR. Group them with GROUP_CONCAT(x ORDER BY x SEPARATOR ', ').",
            "DATE_FORMAT(d, '%Y-%m') gives the month; d - INTERVAL 7 DAY goes back; CURDATE() and NOW() are in UTC here.",
            "TIMESTAMPDIFF(DAY, a, b) counts days between; DATEDIFF(b, a) too.",
            "7 / 2 is 3.5; use 7 DIV 2 for 3.",
            "Booleans are 1 and 0.",
            "Comparing texts mostly ignores case and accents: it depends on the collation. BINARY or COLLATE utf8mb4_bin does not.",
            "Use LIMIT n OFFSET m; there is no TOP, no FETCH in MySQL and no FULL JOIN.",
            "Use IFNULL or COALESCE; casts are CAST(x AS SIGNED | DECIMAL(10,2) | CHAR | DATE | DATETIME).",
            "Window functions and WITH … AS are there; there is no QUALIFY and no FILTER clause.",
            "JSON: col->>'$.name' in MySQL; JSON_UNQUOTE(JSON_EXTRACT(col, '$.name')) in MariaDB too.",
        ]),
    }
}

fn owned(list: &[&str]) -> Vec<String> {
    list.iter().map(|&text| text.to_owned()).collect()
}
