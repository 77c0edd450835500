//! The host's own bounds of each operation: how its statements may begin, and words that are denied whatever
//! a dialect declares. A dialect's vocabulary is an allow-list within these bounds.

/// Words that determine the kind of a statement. Within a type they could change it.
const STRUCTURAL: &[&str] = &[
    "ADD",
    "ALTER",
    "AS",
    "COLUMN",
    "CREATE",
    "DROP",
    "FROM",
    "INSERT",
    "INTO",
    "MODIFY",
    "REFERENCES",
    "RENAME",
    "SELECT",
    "TABLE",
    "TO",
    "USING",
    "WHERE",
];

/// Whether a word (upper case) can never belong to a data type.
pub fn is_structural(word: &str) -> bool {
    NEVER.contains(&word) || STRUCTURAL.contains(&word)
}

/// Words that no operation may use: they reach files, the network, privileges, settings, code or other
/// sessions, or move or destroy data.
const NEVER: &[&str] = &[
    "ANALYZE",
    "ATTACH",
    "AUTHORIZATION",
    "BACKUP",
    "CASCADE",
    "CONNECTION",
    "COPY",
    "DATABASE",
    "DEFINER",
    "DELETE",
    "DETACH",
    "DIRECTORY",
    "DO",
    "DUMPFILE",
    "EVENT",
    "EXCHANGE",
    "EXECUTE",
    "EXPORT",
    "EXTENSION",
    "EXTERNAL",
    "FEDERATED",
    "FETCH",
    "FILE",
    "FOREIGN",
    "FREEZE",
    "FUNCTION",
    "GRANT",
    "HANDLER",
    "HDFS",
    "IDENTIFIED",
    "IMPORT",
    "INFILE",
    "INHERITS",
    "INSTALL",
    "JDBC",
    "LANGUAGE",
    "LIKE",
    "LOAD",
    "MERGE",
    "ODBC",
    "OUTFILE",
    "OWNER",
    "PASSWORD",
    "PRAGMA",
    "PREPARE",
    "PROCEDURE",
    "PROGRAM",
    "PUBLICATION",
    "REFERENCES",
    "REINDEX",
    "REMOTE",
    "RESTORE",
    "REVOKE",
    "ROLE",
    "RULE",
    "S3",
    "SCHEMA",
    "SECURITY",
    "SERVER",
    "SHUTDOWN",
    "SUBSCRIPTION",
    "SWAP",
    "TRIGGER",
    "TRUNCATE",
    "UNION",
    "URL",
    "USER",
    "VACUUM",
    "VIEW",
];

/// The bounds of one operation.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The words that a statement may begin with.
    pub heads: &'static [&'static str],
    /// Words that this operation denies besides [`NEVER`].
    pub denied: &'static [&'static str],
    /// Words, besides those of the heads, that may follow `DROP`; `""` permits a name.
    pub behind_drop: &'static [&'static str],
    /// Whether the plan may rebuild the table, which only [`crate::rebuild`] judges.
    pub rebuilds: bool,
}

const CREATE_TABLE: Bounds = Bounds {
    heads: &["CREATE TABLE", "COMMENT ON"],
    denied: &["DROP", "INSERT", "RENAME", "REPLACE", "SELECT"],
    behind_drop: &[],
    rebuilds: false,
};
const RENAME_TABLE: Bounds = Bounds {
    heads: &["ALTER TABLE", "RENAME TABLE"],
    denied: &["ADD", "CHANGE", "COLUMN", "DROP", "INSERT", "MODIFY", "REPLACE", "SELECT", "UPDATE"],
    behind_drop: &[],
    rebuilds: false,
};
const RESTORE_TABLE: Bounds =
    Bounds { heads: &["ALTER TABLE", "RENAME TABLE", "RECOVER TABLE"], ..RENAME_TABLE };
const DROP_TABLE: Bounds = Bounds {
    heads: &["DROP TABLE"],
    denied: &["ALTER", "CREATE", "INSERT", "RENAME", "SELECT", "UPDATE"],
    behind_drop: &["TABLE"],
    rebuilds: false,
};
const COMMENT_TABLE: Bounds = Bounds {
    heads: &["ALTER TABLE", "COMMENT ON"],
    denied: &["ADD", "CHANGE", "CREATE", "DROP", "INSERT", "RENAME", "REPLACE", "SELECT", "UPDATE"],
    behind_drop: &[],
    rebuilds: false,
};
const ADD_FIELD: Bounds = Bounds {
    heads: &["ALTER TABLE", "COMMENT ON"],
    denied: &["CHANGE", "CREATE", "DROP", "INSERT", "MODIFY", "RENAME", "REPLACE", "SELECT"],
    behind_drop: &[],
    rebuilds: false,
};
const ALTER_FIELD: Bounds = Bounds {
    heads: &["ALTER TABLE", "COMMENT ON", "CREATE TABLE", "INSERT INTO", "DROP TABLE"],
    denied: &["REPLACE"],
    behind_drop: &["DEFAULT", "EXPRESSION", "IDENTITY", "NOT", "TABLE"],
    rebuilds: true,
};
const DROP_FIELD: Bounds = Bounds {
    heads: &["ALTER TABLE", "CREATE TABLE", "INSERT INTO", "DROP TABLE"],
    denied: &["REPLACE"],
    behind_drop: &["", "COLUMN", "TABLE"],
    rebuilds: true,
};
const SET_COUNT: Bounds = Bounds {
    heads: &["ALTER TABLE"],
    denied: &["ADD", "COLUMN", "CREATE", "DROP", "INSERT", "RENAME", "REPLACE", "SELECT", "UPDATE"],
    behind_drop: &[],
    rebuilds: false,
};
const ABORT: Bounds = Bounds {
    heads: &["CANCEL", "KILL", "STOP"],
    denied: &["CREATE", "DROP", "INSERT", "RENAME", "SELECT", "UPDATE"],
    behind_drop: &[],
    rebuilds: false,
};
const SESSION: Bounds = Bounds {
    heads: &["SET", "START TRANSACTION", "BEGIN"],
    denied: &[
        "ALTER", "CREATE", "DROP", "GLOBAL", "INSERT", "PERSIST", "RENAME", "SELECT", "SYSTEM", "UPDATE",
    ],
    behind_drop: &[],
    rebuilds: false,
};
const CANCEL: Bounds = Bounds {
    heads: &["CALL", "CANCEL", "KILL", "SELECT"],
    denied: &["ALTER", "CREATE", "DROP", "FROM", "INSERT", "INTO", "RENAME", "UPDATE"],
    behind_drop: &[],
    rebuilds: false,
};
const READ: Bounds = Bounds {
    heads: &["SHOW", "DESC", "DESCRIBE", "EXPLAIN", "HELP"],
    denied: &[],
    behind_drop: &[],
    rebuilds: false,
};
/// For a change that this version does not know: it may only alter its table.
const OTHER: Bounds = Bounds {
    heads: &["ALTER TABLE", "COMMENT ON"],
    denied: &["CREATE", "DROP", "INSERT", "RENAME", "REPLACE", "SELECT", "UPDATE"],
    behind_drop: &[],
    rebuilds: false,
};

/// The bounds of an operation; those of an `other` change for an unknown operation.
pub fn of(operation: &str) -> Bounds {
    match operation {
        "create_table" => CREATE_TABLE,
        "rename_table" => RENAME_TABLE,
        "restore_table" => RESTORE_TABLE,
        "drop_table" => DROP_TABLE,
        "comment_table" => COMMENT_TABLE,
        "add_field" => ADD_FIELD,
        "alter_field" => ALTER_FIELD,
        "drop_field" => DROP_FIELD,
        "set_buckets" | "set_replicas" => SET_COUNT,
        "abort" => ABORT,
        "session" => SESSION,
        "cancel" => CANCEL,
        "read" => READ,
        _ => OTHER,
    }
}

/// The operation that an undo is checked as.
pub fn reverse(operation: &str) -> &str {
    match operation {
        "create_table" => "drop_table",
        "drop_table" => "create_table",
        "add_field" => "drop_field",
        "drop_field" => "add_field",
        own => own,
    }
}

impl Bounds {
    /// Whether a statement with these leading words, upper case, may belong to the operation.
    pub fn may_begin(&self, head: &str) -> bool {
        self.heads.iter().any(|allowed| begins_with(head, allowed))
    }

    /// Whether this word, upper case, is denied.
    pub fn denies(&self, word: &str) -> bool {
        NEVER.contains(&word) || self.denied.contains(&word)
    }
}

/// Whether the words of `text` begin with those of `head`.
pub fn begins_with(text: &str, head: &str) -> bool {
    text.strip_prefix(head).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adding_never_drops_and_nothing_grants() {
        assert!(of("add_field").denies("DROP"));
        for operation in ["create_table", "alter_field", "session", "cancel", "something_new"] {
            for word in ["GRANT", "COPY", "OUTFILE", "LOAD", "ATTACH", "PRAGMA", "CASCADE"] {
                assert!(of(operation).denies(word), "{operation} {word}");
            }
        }
        assert!(!of("alter_field").denies("DROP"));
    }

    #[test]
    fn heads_are_compared_word_by_word() {
        assert!(of("add_field").may_begin("ALTER TABLE"));
        assert!(of("add_field").may_begin("ALTER TABLE ONLY"));
        assert!(!of("add_field").may_begin("ALTER TABLESPACE"));
        assert!(!of("add_field").may_begin("DROP TABLE"));
    }
}
