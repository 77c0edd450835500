//! Functions that no statement may call: they reach files, the network, other sessions, settings, locks or
//! large objects, sleep, load code, or run a text as SQL.

use std::collections::BTreeSet;

const EXACT: &[&str] = &[
    // SQLite and its shell.
    "edit",
    "fsdir",
    "fts3_tokenizer",
    "load_extension",
    "readfile",
    "writefile",
    "zipfile",
    // PostgreSQL.
    "connectby",
    "currval",
    "cursor_to_xml",
    "cursor_to_xmlschema",
    "database_to_xml",
    "database_to_xml_and_xmlschema",
    "database_to_xmlschema",
    "nextval",
    "pg_backend_memory_contexts",
    "pg_cancel_backend",
    "pg_current_logfile",
    "pg_export_snapshot",
    "pg_import_system_collations",
    "pg_log_backend_memory_contexts",
    "pg_log_standby_snapshot",
    "pg_notify",
    "pg_prewarm",
    "pg_promote",
    "pg_reload_conf",
    "pg_rotate_logfile",
    "pg_safe_snapshot_blocking_pids",
    "pg_start_backup",
    "pg_stat_file",
    "pg_stat_statements_reset",
    "pg_stop_backup",
    "pg_switch_wal",
    "pg_terminate_backend",
    "query_to_xml",
    "query_to_xml_and_xmlschema",
    "query_to_xmlschema",
    "schema_to_xml",
    "schema_to_xml_and_xmlschema",
    "schema_to_xmlschema",
    "set_config",
    "setseed",
    "setval",
    "table_to_xml",
    "table_to_xml_and_xmlschema",
    "table_to_xmlschema",
    "ts_rewrite",
    "ts_stat",
    "xpath_table",
    // MySQL and those that speak its protocol.
    "benchmark",
    "get_lock",
    "is_free_lock",
    "is_used_lock",
    "load_file",
    "master_gtid_wait",
    "master_pos_wait",
    "release_all_locks",
    "release_lock",
    "sleep",
    "source_pos_wait",
    "sys_eval",
    "sys_exec",
    "wait_for_executed_gtid_set",
    "wait_until_sql_thread_after_gtids",
    // Others.
    "azureblobstorage",
    "catalog",
    "executable",
    "file",
    "filesystem",
    "hdfs",
    "http_get",
    "http_post",
    "hudi",
    "iceberg",
    "input",
    "jdbc",
    "local",
    "mongodb",
    "mysql",
    "odbc",
    "postgresql",
    "read_blob",
    "read_csv",
    "read_csv_auto",
    "read_json",
    "read_parquet",
    "read_text",
    "redis",
    "remote",
    "remotesecure",
    "s3",
    "s3cluster",
    "sleepeachrow",
    "sqlite",
    "url",
    "urlcluster",
];

const PREFIXES: &[&str] = &[
    "crosstab",
    "dblink",
    "lo_",
    "pg_advisory_",
    "pg_backup_",
    "pg_copy_",
    "pg_create_",
    "pg_drop_",
    "pg_file_",
    "pg_logical_",
    "pg_ls_",
    "pg_read_",
    "pg_replication_",
    "pg_sleep",
    "pg_stat_reset",
    "pg_sync_",
    "pg_try_advisory_",
    "pg_wal_",
    "service_get_",
    "service_release_",
];

/// Functions of SQLite that make a value of up to 1 GB from a short call. They are denied in queries only: an
/// expression of an existing table may well be `hex(randomblob(16))`.
const LARGE_IN_SQLITE: &[&str] = &["format", "printf", "randomblob", "zeroblob"];

/// Whether a function of SQLite can make a large value at once.
pub(crate) fn is_large_in_sqlite(name: &str) -> bool {
    LARGE_IN_SQLITE.iter().any(|large| large.eq_ignore_ascii_case(name))
}

/// Functions that reach out of a SQLite database, to files and code. Most exist in its shell only.
const REACHING_IN_SQLITE: &[&str] =
    &["edit", "fsdir", "fts3_tokenizer", "load_extension", "readfile", "writefile", "zipfile"];

/// Whether a function of SQLite, lower case, reaches out of the database. The list of all servers does not
/// fit here, because a statement names tables with columns in the same form (`INSERT INTO file (…)`).
pub(crate) fn is_denied_in_sqlite(name: &str) -> bool {
    REACHING_IN_SQLITE.contains(&name)
}

/// Whether a function of this name, without its schema, is denied by the host or by `also`.
pub(crate) fn is_denied(name: &str, also: &BTreeSet<String>) -> bool {
    let name = name.to_lowercase();
    EXACT.contains(&name.as_str())
        || also.contains(&name)
        || name == "loread"
        || name == "lowrite"
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denied_by_the_host_or_by_the_dialect() {
        let also = BTreeSet::from(["last_insert_rowid".to_owned()]);
        for name in ["LOAD_EXTENSION", "pg_read_binary_file", "Sleep", "dblink_exec", "last_insert_rowid"] {
            assert!(is_denied(name, &also), "{name}");
        }
        for name in ["count", "lower", "log", "local_time", "pg_get_expr", "max"] {
            assert!(!is_denied(name, &also), "{name}");
        }
    }
}
