//! The dialect's description.

use lakeport_sdk::dialect::{
    Cancel, DialectInfo, Fragment, NameRule, Quoting, Session, SqlHelp, Statement, TextRule, Token,
    Vocabulary,
};

use crate::types;

/// The plugin's name, which data sources give as their kind.
pub const NAME: &str = "postgres";
/// The product, as `server` names it.
pub const PRODUCT: &str = "PostgreSQL";
/// The longest name in bytes. PostgreSQL silently truncates longer ones.
pub const NAME_MAX_BYTES: u32 = 63;
/// How long a statement waits for a lock: a waiting statement blocks all later ones.
const LOCK_TIMEOUT_MS: u32 = 10_000;

/// Words of a field's definition.
const FIELD_WORDS: [&str; 7] =
    ["NOT", "NULL", "DEFAULT", "TRUE", "FALSE", "CURRENT_TIMESTAMP", "CURRENT_DATE"];

/// The settings of each session, so that texts and printed expressions are the same in all of them.
const SETTINGS: [(&str, &str); 9] = [
    ("search_path", ""),
    ("standard_conforming_strings", "on"),
    ("TimeZone", "UTC"),
    ("DateStyle", "ISO, YMD"),
    ("IntervalStyle", "postgres"),
    ("bytea_output", "hex"),
    ("extra_float_digits", "1"),
    ("quote_all_identifiers", "off"),
    ("client_min_messages", "warning"),
];

/// Catalogue objects that the dialect reads, all of `pg_catalog`.
const READS_FROM: [&str; 28] = [
    "pg_am",
    "pg_attrdef",
    "pg_attribute",
    "pg_class",
    "pg_collation",
    "pg_constraint",
    "pg_database",
    "pg_depend",
    "pg_description",
    "pg_extension",
    "pg_foreign_server",
    "pg_foreign_table",
    "pg_index",
    "pg_inherits",
    "pg_namespace",
    "pg_partitioned_table",
    "pg_policy",
    "pg_proc",
    "pg_publication",
    "pg_publication_rel",
    "pg_rewrite",
    "pg_sequence",
    "pg_stat_database",
    "pg_stat_user_tables",
    "pg_statistic_ext",
    "pg_tablespace",
    "pg_trigger",
    "pg_type",
];

/// The dialect.
pub fn describe() -> DialectInfo {
    DialectInfo {
        default_port: Some(5432),
        options_schema: r#"{"type":"object","additionalProperties":false,"properties":{}}"#.to_owned(),
        database_term: "schema".to_owned(),
        hidden_databases: owned(&["information_schema", "pg_catalog", "pg_toast"]),
        reads_from: READS_FROM.iter().map(|object| format!("pg_catalog.{object}")).collect(),
        name_rules: ["database", "table", "field"].map(name_rule).into(),
        types: types::infos(),
        type_words: types::words(),
        quoting: Quoting { name_quote: "\"".to_owned(), texts: vec![TextRule::standard(), escaped()] },
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
            "transactional_ddl",
            "ddl_text",
            "row_count_exact",
            "index_size",
            "access_counters",
        ]),
        session: session(),
        cancel: Cancel {
            how: "statement".to_owned(),
            session_id: vec![Fragment::Sql(
                "SELECT CAST(pg_catalog.pg_backend_pid() AS bigint) AS id".to_owned(),
            )],
            statement: Statement::new()
                .words("SELECT pg_cancel_backend")
                .symbol("(")
                .host_value("session-id")
                .symbol(")")
                .tokens(),
        },
        sql: sql(),
        ..DialectInfo::new(NAME, PRODUCT, env!("CARGO_PKG_VERSION"), "postgres")
    }
}

/// A text with backslashes, independent of `standard_conforming_strings`.
fn escaped() -> TextRule {
    TextRule {
        name: "escaped".to_owned(),
        prefix: "E".to_owned(),
        quotes: owned(&["'"]),
        escape: "double_and_backslash".to_owned(),
    }
}

fn name_rule(applies_to: &str) -> NameRule {
    NameRule {
        applies_to: applies_to.to_owned(),
        max_length: NAME_MAX_BYTES,
        length_unit: "bytes".to_owned(),
        pattern: r"[^\x00-\x1F\x7F]+".to_owned(),
        keeps: "as_written".to_owned(),
        case_insensitive: false,
    }
}

fn session() -> Session {
    let set = |(name, value): (&str, &str)| -> Vec<Token> {
        Statement::new().words(format!("SET {name} TO")).text("literal", value).tokens()
    };
    let mut setup: Vec<Vec<Token>> = SETTINGS.into_iter().map(set).collect();
    setup.push(Statement::new().words("SET lock_timeout TO").number(LOCK_TIMEOUT_MS).tokens());
    Session {
        driver_settings: "{}".to_owned(),
        setup,
        read_only: vec![set(("default_transaction_read_only", "on"))],
        // A statement could revert it, but none that does passes the guard.
        read_only_strength: "advisory".to_owned(),
    }
}

fn vocabularies() -> Vec<Vocabulary> {
    let field = |more: &[&'static str]| -> Vec<&'static str> { [&FIELD_WORDS[..], more].concat() };
    let settings: Vec<&str> = SETTINGS.iter().map(|(name, _)| *name).collect();
    vec![
        Vocabulary::new(
            "create_table",
            &["CREATE TABLE", "COMMENT ON TABLE", "COMMENT ON COLUMN"],
            &field(&["PRIMARY", "KEY", "PARTITION", "BY", "RANGE", "OF", "IS"]),
        ),
        Vocabulary::new("rename_table", &["ALTER TABLE"], &["RENAME", "TO"]),
        Vocabulary::new("restore_table", &["ALTER TABLE"], &["RENAME", "TO"]),
        Vocabulary::new("drop_table", &["DROP TABLE"], &[]),
        Vocabulary::new("comment_table", &["COMMENT ON TABLE"], &["IS", "NULL"]),
        Vocabulary::new("add_field", &["ALTER TABLE", "COMMENT ON COLUMN"], &field(&["ADD", "COLUMN", "IS"])),
        Vocabulary::new(
            "alter_field",
            &["ALTER TABLE", "COMMENT ON COLUMN"],
            &field(&["COLUMN", "TYPE", "USING", "CAST", "AS", "SET", "DROP", "RENAME", "TO", "IS"]),
        ),
        Vocabulary::new("drop_field", &["ALTER TABLE"], &["DROP", "COLUMN"]),
        Vocabulary::new(
            "session",
            &["SET"],
            &[&settings[..], &["TO", "lock_timeout", "default_transaction_read_only"]].concat(),
        ),
        Vocabulary::new("cancel", &["SELECT"], &["pg_cancel_backend"]),
        Vocabulary::new("read", &[], &[]),
    ]
}

fn sql() -> SqlHelp {
    SqlHelp {
        parsers: owned(&["postgres", "ansi"]),
        placeholders: "dollar".to_owned(),
        row_limit: "limit_offset".to_owned(),
        explain: Some("EXPLAIN".to_owned()),
        denied_functions: owned(&[
            "brin_desummarize_range",
            "brin_summarize_new_values",
            "brin_summarize_range",
            "gin_clean_pending_list",
            "lastval",
            "pg_current_xact_id",
            "pg_extension_config_dump",
            "pg_get_wal_replay_pause_state",
            "pg_hba_file_rules",
            "pg_ident_file_mappings",
            "pg_nextoid",
            "pg_show_all_file_settings",
            "pg_stop_making_pinned_objects",
            "txid_current",
        ]),
        hints: owned(&[
            "Names with capitals or special characters need double quotes; all others are folded to small letters.",
            "Texts stand in single quotes; a backslash in them is an ordinary character.",
            "Name tables with their schema: the search path is empty.",
            "date_trunc('month', t) gives the start of the month; extract(year FROM t) a part; to_char(t, 'YYYY-MM') a text.",
            "now() - interval '7 days' goes back; current_date is today. Sessions are in UTC.",
            "Whole numbers divide to whole numbers: cast one to numeric for a fraction.",
            "ILIKE ignores case; ~ matches a regular expression.",
            "string_agg(x, ', ') joins texts of a group; array_agg makes an array; unnest takes one apart.",
            "count(*) FILTER (WHERE …) counts some; DISTINCT ON (a) takes the first row of each.",
            "jsonb: j ->> 'key' is a text, j -> 'key' is jsonb, j @> '{\"a\": 1}' asks whether it contains that.",
            "round(x, 2) takes numeric, not double precision: round(x::numeric, 2).",
            "Every selected column must be grouped or aggregated; an alias of SELECT can be named in GROUP BY and ORDER BY.",
            "NULLs come last in ascending order; say NULLS FIRST otherwise.",
            "Use LIMIT n OFFSET m; there is no TOP. Casts are x::type or CAST(x AS type).",
        ]),
    }
}

fn owned(list: &[&str]) -> Vec<String> {
    list.iter().map(|&text| text.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_begins_with_declared_words_alone() {
        let info = describe();
        let declared = info.vocabularies.iter().find(|one| one.operation == "session").expect("declared");
        for statement in info.session.setup.iter().chain(&info.session.read_only) {
            let Some(Token::Keyword(words)) = statement.first() else { panic!("{statement:?}") };
            let known = |word: &str| word == "SET" || declared.words.iter().any(|known| known == word);
            assert!(words.split(' ').all(known), "{words}");
        }
    }
}
