//! The dialect's description.

use lakeport_sdk::dialect::Query;
use lakeport_sdk::dialect::{
    Cancel, DialectInfo, NameRule, Quoting, Session, SqlHelp, Statement, Vocabulary,
};
use lakeport_sdk::serde_json::json;

use crate::server::Product;
use crate::texts::{self, LITERAL};
use crate::types;

/// The plugin's name, which data sources give as their kind.
pub const NAME: &str = "doris";
/// The longest name of a table, in characters: `table_name_length_limit` of Doris.
pub const TABLE_NAME_MAX: u32 = 64;
/// The longest name of a field.
pub const FIELD_NAME_MAX: u32 = 256;
/// Letters of Chinese, Japanese and Korean.
const CJK: &str = r"\x{3040}-\x{30FF}\x{3400}-\x{4DBF}\x{4E00}-\x{9FFF}\x{AC00}-\x{D7AF}\x{F900}-\x{FAFF}";

/// The servers' own databases.
pub const HIDDEN: [&str; 7] = [
    "information_schema",
    "mysql",
    "__internal_schema",
    "sys",
    "_statistics_",
    "starrocks_audit_db__",
    "_starrocks_audit_db_",
];

/// Models, the default first.
pub const MODELS: [&str; 4] = ["DUPLICATE", "UNIQUE", "PRIMARY", "AGGREGATE"];

/// Words of a field's definition.
const FIELD_WORDS: [&str; 9] =
    ["NOT", "NULL", "DEFAULT", "CURRENT_TIMESTAMP", "COMMENT", "SUM", "MIN", "MAX", "COLUMN"];

/// Catalogue objects that the dialect reads. StarRocks' audit table is created by an operator, under one of
/// two names.
const READS_FROM: [&str; 9] = [
    "information_schema.schemata",
    "information_schema.tables",
    "information_schema.columns",
    "information_schema.tables_config",
    "information_schema.partitions",
    "information_schema.partitions_meta",
    "__internal_schema.audit_log",
    "*.starrocks_audit_tbl__",
    "*.starrocks_audit_tbl",
];

/// Heads of statements that no parser of the host reads.
const READ_HEADS: [&str; 5] =
    ["SHOW VARIABLES", "SHOW CREATE TABLE", "SHOW ALTER TABLE COLUMN", "SHOW ALTER TABLE OPTIMIZE", "DESC"];

/// The dialect.
pub fn describe() -> DialectInfo {
    DialectInfo {
        title: "Apache Doris and StarRocks".to_owned(),
        products: vec![Product::Doris.name().to_owned(), Product::StarRocks.name().to_owned()],
        default_port: Some(9030),
        options_schema: options_schema(),
        hidden_databases: owned(&HIDDEN),
        reads_from: owned(&READS_FROM),
        name_rules: name_rules(),
        types: types::infos(),
        type_words: types::words(),
        models: owned(&MODELS),
        quoting: Quoting { name_quote: "`".to_owned(), texts: texts::rules() },
        vocabularies: vocabularies(),
        capabilities: owned(&[
            "table_comment",
            "field_comment",
            "add_field",
            "rename_field",
            "alter_type",
            "drop_field",
            "partition",
            "distribution",
            "buckets",
            "replicas",
            "asynchronous_ddl",
            "database_recycle_bin",
            "ddl_text",
            "row_count_exact",
            "index_size",
            "access_log",
        ]),
        session: session(),
        cancel: Cancel {
            how: "statement".to_owned(),
            session_id: Query::new("SELECT connection_id() AS id").fragments(),
            statement: Statement::new().words("KILL QUERY").host_value("session-id").tokens(),
        },
        sql: sql(),
        ..DialectInfo::new(NAME, Product::Doris.name(), env!("CARGO_PKG_VERSION"), "mysql")
    }
}

fn options_schema() -> String {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "replicas": {
                "type": "integer", "minimum": 1, "maximum": 32_767,
                "description": "Copies of a new table where none are given. A cluster of one node needs 1."
            },
            "partitionUnit": {
                "type": "string", "enum": ["day", "month", "year"],
                "description": "What the automatic partitions of a new table span. A month unless given."
            },
            "auditTable": {
                "type": "string",
                "pattern": "^[A-Za-z0-9_]+\\.(audit_log|starrocks_audit_tbl__|starrocks_audit_tbl)$",
                "description": "Where accesses are recorded, database.table, if not in the usual place."
            }
        }
    })
    .to_string()
}

/// Both servers can be configured to accept more; these rules permit names that all of their statements and
/// answers handle correctly.
fn name_rules() -> Vec<NameRule> {
    let rule = |applies_to: &str, max_length: u32, case_insensitive: bool| NameRule {
        applies_to: applies_to.to_owned(),
        max_length,
        length_unit: "characters".to_owned(),
        pattern: format!("[A-Za-z0-9_{CJK}]+"),
        keeps: "as_written".to_owned(),
        case_insensitive,
    };
    vec![
        rule("database", TABLE_NAME_MAX, false),
        rule("table", TABLE_NAME_MAX, false),
        rule("field", FIELD_NAME_MAX, true),
    ]
}

fn vocabularies() -> Vec<Vocabulary> {
    let field = |more: &[&'static str]| -> Vec<&'static str> { [&FIELD_WORDS[..], more].concat() };
    let layout = [
        "ENGINE",
        "OLAP",
        "KEY",
        "DUPLICATE",
        "UNIQUE",
        "PRIMARY",
        "AUTO",
        "PARTITION",
        "BY",
        "RANGE",
        "LIST",
        "DATE_TRUNC",
        "DISTRIBUTED",
        "HASH",
        "RANDOM",
        "BUCKETS",
        "PROPERTIES",
    ];
    let alter = |operation: &str, words: &[&str]| Vocabulary::new(operation, &["ALTER TABLE"], words);
    vec![
        Vocabulary::new("create_table", &["CREATE TABLE"], &field(&layout)),
        alter("rename_table", &["RENAME"]),
        alter("restore_table", &["RENAME"]),
        Vocabulary::new("drop_table", &["DROP TABLE"], &["FORCE"]),
        alter("comment_table", &["MODIFY", "COMMENT"]),
        alter("add_field", &field(&["ADD", "AFTER", "FIRST"])),
        alter("alter_field", &field(&["MODIFY", "RENAME", "TO"])),
        alter("drop_field", &["DROP", "COLUMN"]),
        alter("set_buckets", &["MODIFY", "DISTRIBUTION", "DISTRIBUTED", "BY", "HASH", "RANDOM", "BUCKETS"]),
        alter("set_replicas", &["SET", "MODIFY", "PARTITION"]),
        Vocabulary::new("abort", &["CANCEL ALTER TABLE"], &["COLUMN", "OPTIMIZE", "FROM"]),
        Vocabulary::new("session", &["SET"], &["SQL_MODE"]),
        Vocabulary::new("cancel", &["KILL QUERY"], &[]),
        Vocabulary::new("read", &READ_HEADS, &[]),
    ]
}

/// The driver itself sets nothing, because StarRocks refuses its settings. A mode in which a backslash is an
/// ordinary character would end literals elsewhere, so the session begins by clearing such modes.
fn session() -> Session {
    let mode = Statement::new().words("SET sql_mode").symbol("=").text(LITERAL, "ONLY_FULL_GROUP_BY");
    Session {
        driver_settings: json!({
            "textProtocol": true, "setSqlMode": false, "setTimeZone": false, "setNames": false
        })
        .to_string(),
        setup: vec![mode.tokens()],
        read_only: Vec::new(),
        read_only_strength: "none".to_owned(),
    }
}

fn sql() -> SqlHelp {
    SqlHelp {
        parsers: owned(&["doris", "mysql"]),
        placeholders: "none".to_owned(),
        row_limit: "limit_offset".to_owned(),
        explain: Some("EXPLAIN".to_owned()),
        denied_functions: owned(&[
            "files",
            "frontends",
            "backends",
            "frontends_disks",
            "cluster_snapshots",
            "group_commit",
            "http_stream",
            "parquet_meta",
            "partition_values",
            "query",
            "spill",
            "stream_load",
            "tasks",
            "inspect_mv_meta",
            "inspect_task_runs",
            "inspect_memtracker",
            "inspect_related_mv",
        ]),
        hints: owned(&[
            "Quote names with backticks; texts stand in single or double quotes, and a backslash escapes in them.",
            "Days: CURRENT_DATE(), DATE_SUB(d, INTERVAL 7 DAY), DATE_TRUNC(d, 'month'), DATE_FORMAT(d, '%Y-%m').",
            "Filter by the partition column and by the leading key columns: that is what makes a query quick.",
            "A DUPLICATE KEY is a sort order and not unique: count(*) may count a key many times.",
            "Join texts with CONCAT(a, b); group them with GROUP_CONCAT(x, ', '). || means OR in Doris.",
            "7 / 2 is 3.5; use 7 DIV 2 for 3.",
            "APPROX_COUNT_DISTINCT(x) and NDV(x) count roughly and fast; COUNT(DISTINCT x) exactly.",
            "Arrays: array_contains(a, x), cardinality(a); in rows: LATERAL VIEW EXPLODE(a) t AS x (Doris), \
             CROSS JOIN UNNEST(a) (StarRocks).",
            "JSON: get_json_string(j, '$.a') or json_extract(j, '$.a').",
            "Casts are CAST(x AS INT | BIGINT | DOUBLE | DECIMAL(18,2) | VARCHAR | DATE | DATETIME).",
            "Window functions and WITH … AS are there; use LIMIT n OFFSET m with an ORDER BY.",
            "WITH RECURSIVE is missing before 4.1: list days and numbers with SELECT … UNION ALL SELECT ….",
        ]),
    }
}

fn owned(list: &[&str]) -> Vec<String> {
    list.iter().map(|&text| text.to_owned()).collect()
}
