//! The shape of a table: columns with parsed types, and the key.

use lakeport_sdk::dialect::{Field, Statement, TableName, TypeToken};

use super::problems::Problems;
use crate::{defaults, types};
use lakeport_sdk::dialect::DefaultValue;

/// A column that can be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type in tokens.
    pub type_tokens: Vec<TypeToken>,
    /// Whether NULL is allowed.
    pub nullable: bool,
    /// Its default.
    pub default: DefaultValue,
}

impl Column {
    /// A field as a column; problems are reported below `prefix` (`fields[2].`, or empty).
    pub fn of(field: &Field, prefix: &str, problems: &mut Problems) -> Option<Column> {
        let parsed = match types::parse(&field.type_text) {
            Ok(parsed) => Some(parsed),
            Err(problem) => {
                problems.add(format!("{prefix}fieldType"), &problem.code, problem.message);
                None
            }
        };
        if field.name.is_empty() {
            problems.add(format!("{prefix}fieldName"), "missing", "a field needs a name");
        }
        if let DefaultValue::Now(digits @ 1..) = field.defaults_to {
            problems.add(
                format!("{prefix}defaultValue"),
                "not_representable",
                format!("CURRENT_TIMESTAMP of SQLite has whole seconds, not {digits} digits of a second"),
            );
        }
        if let DefaultValue::Number(text) = &field.defaults_to
            && !defaults::is_number(text)
        {
            let most = defaults::NUMBER_MAX_BYTES;
            let message =
                format!("a number has a sign, digits, a fraction and an exponent, {most} bytes at most");
            problems.add(format!("{prefix}defaultValue"), "invalid_value", message);
        }
        if field.generated.is_some() {
            problems.unsupported(
                format!("{prefix}fieldName"),
                format!("the field {:?} is generated; such fields cannot be written from here", field.name),
            );
        }
        parsed.map(|parsed| Column {
            name: field.name.clone(),
            type_tokens: parsed.tokens,
            nullable: field.nullable,
            default: field.defaults_to.clone(),
        })
    }

    /// Writes its definition.
    pub fn write(&self, statement: Statement) -> Statement {
        let statement = statement.name([&self.name]).data_type(self.type_tokens.clone());
        let statement = if self.nullable { statement } else { statement.words("NOT NULL") };
        defaults::write(statement, &self.default)
    }
}

/// The two parts of a table's name.
pub fn path(table: &TableName) -> [&str; 2] {
    [&table.database, &table.name]
}

/// The statement that creates a table.
pub fn create(table: &TableName, columns: &[Column], keys: &[String]) -> Statement {
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
    statement.symbol(")")
}

/// The statement that drops a table.
pub fn drop(table: &TableName) -> Statement {
    Statement::new().words("DROP TABLE").name(path(table))
}

/// The statement that renames a table.
pub fn rename(from: &TableName, to: &str) -> Statement {
    Statement::new().words("ALTER TABLE").name(path(from)).words("RENAME TO").name([to])
}

/// The statement that adds a column.
pub fn add_column(table: &TableName, column: &Column) -> Statement {
    column.write(Statement::new().words("ALTER TABLE").name(path(table)).words("ADD COLUMN"))
}

/// The statement that drops a column.
pub fn drop_column(table: &TableName, column: &str) -> Statement {
    Statement::new().words("ALTER TABLE").name(path(table)).words("DROP COLUMN").name([column])
}

/// The statement that renames a column.
pub fn rename_column(table: &TableName, from: &str, to: &str) -> Statement {
    Statement::new()
        .words("ALTER TABLE")
        .name(path(table))
        .words("RENAME COLUMN")
        .name([from])
        .words("TO")
        .name([to])
}
