//! The shape of a table: fields with parsed types, and the key.

use lakeport_sdk::dialect::{DefaultValue, Field, ServerInfo, Statement, TableName};

use super::problems::{Checks, Problems};
use crate::types::{self, Type};
use crate::{defaults, facts};

/// A field that can be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub of: Type,
    /// Whether NULL is allowed.
    pub nullable: bool,
    /// Its default.
    pub default: DefaultValue,
    /// Its comment.
    pub comment: String,
}

impl Column {
    /// A requested field as a column; problems are reported below `prefix` (`fields[2].`, or empty).
    pub fn wanted(
        server: &ServerInfo,
        field: &Field,
        prefix: &str,
        problems: &mut Problems,
    ) -> Option<Column> {
        problems.field_name(&field.name, &format!("{prefix}fieldName"));
        if field.generated.is_some() {
            let message =
                format!("the field {:?} is generated; such fields cannot be written from here", field.name);
            problems.unsupported(format!("{prefix}fieldName"), message);
        }
        let of = wanted_type(server, &field.type_text, &format!("{prefix}fieldType"), problems)?;
        if let Err(message) = defaults::fits(&field.defaults_to, &of) {
            problems.add(format!("{prefix}defaultValue"), "not_representable", message);
        }
        Some(Column {
            name: field.name.clone(),
            of,
            nullable: field.nullable,
            default: field.defaults_to.clone(),
            comment: field.comment.clone(),
        })
    }

    /// A field that was read, as it can be created again; `None` if a part of it cannot.
    pub fn again(field: &Field) -> Option<Column> {
        let facts = facts::FieldFacts::of(field);
        let plain = field.generated.is_none()
            && facts.identity.is_none()
            && facts.collation.is_none()
            && facts.storage.is_empty()
            && is_writable(&field.defaults_to);
        let of = types::parse(&field.type_text).ok().filter(|_| plain)?;
        Some(Column {
            name: field.name.clone(),
            of,
            nullable: field.nullable,
            default: field.defaults_to.clone(),
            comment: field.comment.clone(),
        })
    }

    /// Writes its definition.
    pub fn write(&self, statement: Statement) -> Statement {
        let statement = statement.name([&self.name]).data_type(self.of.tokens());
        let statement = if self.nullable { statement } else { statement.words("NOT NULL") };
        defaults::write(statement, &self.default, &self.of.canonical())
    }
}

/// A requested type.
pub fn wanted_type(server: &ServerInfo, text: &str, member: &str, problems: &mut Problems) -> Option<Type> {
    let checked = types::parse_for(Some(server), text).and_then(|_| types::parse(text));
    match checked {
        Ok(of) => Some(of),
        Err(problem) => {
            problems.add(member, &problem.code, problem.message);
            None
        }
    }
}

/// Whether a default that was read may be written again: the host accepts no expression that reaches out of
/// the statement, so only functions known to be safe are passed on.
pub fn is_writable(default: &DefaultValue) -> bool {
    const FUNCTIONS: [&str; 17] = [
        "CURRENT_TIMESTAMP",
        "abs",
        "clock_timestamp",
        "coalesce",
        "date_trunc",
        "extract",
        "gen_random_uuid",
        "jsonb_build_object",
        "lower",
        "md5",
        "now",
        "random",
        "statement_timestamp",
        "timezone",
        "transaction_timestamp",
        "upper",
        "uuid_generate_v4",
    ];
    const EXPRESSION_MAX_BYTES: usize = 500;
    let text = match default {
        DefaultValue::Expression(text) => text,
        DefaultValue::Number(text) => return defaults::is_number(text),
        _ => return true,
    };
    let calls_known = text.match_indices('(').all(|(at, _)| {
        let before = text[..at].trim_end();
        let start = before.rfind(|c: char| !(c.is_alphanumeric() || c == '_')).map_or(0, |at| at + 1);
        let word = &before[start..];
        word.is_empty() || FUNCTIONS.contains(&word)
    });
    let plain = !text.contains(['?', '$', ';', '"', '\\']) && !text.contains("--") && !text.contains("/*");
    calls_known
        && plain
        && text.len() <= EXPRESSION_MAX_BYTES
        && !text.to_ascii_uppercase().contains("SELECT")
}

/// The two parts of a table's name.
pub fn path(table: &TableName) -> [&str; 2] {
    [&table.database, &table.name]
}

/// `ALTER TABLE t`.
pub fn alter(table: &TableName) -> Statement {
    Statement::new().words("ALTER TABLE").name(path(table))
}

/// `ALTER TABLE t ALTER COLUMN f`.
pub fn alter_column(table: &TableName, field: &str) -> Statement {
    alter(table).words("ALTER COLUMN").name([field])
}

/// The statement that creates a table.
pub fn create(table: &TableName, columns: &[Column], keys: &[String], partition: &[String]) -> Statement {
    let statement = Statement::new()
        .words("CREATE TABLE")
        .name(path(table))
        .symbol("(")
        .list(columns, |statement, column| column.write(statement));
    let statement = if keys.is_empty() {
        statement
    } else {
        statement
            .symbol(",")
            .words("PRIMARY KEY")
            .in_parentheses(keys, |statement, key| statement.name([key]))
    };
    let statement = statement.symbol(")");
    if partition.is_empty() {
        return statement;
    }
    statement
        .words("PARTITION BY RANGE")
        .in_parentheses(partition, |statement, field| statement.name([field]))
}

/// The statement that creates the default partition.
pub fn create_default(partition: &TableName, of: &TableName) -> Statement {
    Statement::new()
        .words("CREATE TABLE")
        .name(path(partition))
        .words("PARTITION OF")
        .name(path(of))
        .words("DEFAULT")
}

/// The statement that drops a table.
pub fn drop(table: &TableName) -> Statement {
    Statement::new().words("DROP TABLE").name(path(table))
}

/// The statement that renames a table.
pub fn rename(from: &TableName, to: &str) -> Statement {
    alter(from).words("RENAME TO").name([to])
}

/// The statement that comments on a table; an empty comment removes it.
pub fn comment_table(table: &TableName, comment: &str) -> Statement {
    is(Statement::new().words("COMMENT ON TABLE").name(path(table)), comment)
}

/// Likewise on a field.
pub fn comment_field(table: &TableName, field: &str, comment: &str) -> Statement {
    let path = [table.database.as_str(), table.name.as_str(), field];
    is(Statement::new().words("COMMENT ON COLUMN").name(path), comment)
}

fn is(statement: Statement, comment: &str) -> Statement {
    if comment.is_empty() {
        statement.words("IS NULL")
    } else {
        defaults::text(statement.words("IS"), comment)
    }
}

/// The statement that adds a column.
pub fn add_column(table: &TableName, column: &Column) -> Statement {
    column.write(alter(table).words("ADD COLUMN"))
}

/// The statement that drops a column.
pub fn drop_column(table: &TableName, column: &str) -> Statement {
    alter(table).words("DROP COLUMN").name([column])
}

/// The statement that renames a column.
pub fn rename_column(table: &TableName, from: &str, to: &str) -> Statement {
    alter(table).words("RENAME COLUMN").name([from]).words("TO").name([to])
}
