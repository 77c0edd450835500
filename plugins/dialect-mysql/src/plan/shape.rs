//! A field's complete definition, and the statements around it.

use lakeport_sdk::dialect::{DefaultValue, Field, Problem, Statement, Table, TableName};

use super::problems::{Checks, FIELD_COMMENT_MAX, Problems, adjusted};
use super::unwritable::unwritable;
use crate::extra::FieldExtra;
use crate::server::Server;
use crate::types::{self, Kind, Type};
use crate::{defaults, text};

/// The partition of a new table, which takes all rows.
const WHOLE_PARTITION: &str = "P_REST";

/// A field that can be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: String,
    pub parsed: Type,
    pub nullable: bool,
    pub default: DefaultValue,
    pub generated: Option<String>,
    pub comment: String,
    pub extra: FieldExtra,
    rule: &'static str,
}

impl Column {
    /// A field as the server will store it. Problems are reported below `prefix` (`fields[2].`, or empty);
    /// adjustments are noted.
    pub fn of(
        server: &Server,
        field: &Field,
        prefix: &str,
        problems: &mut Problems,
        notes: &mut Vec<Problem>,
    ) -> Option<Column> {
        let parsed = parsed(server, field, prefix, problems)?;
        let member = format!("{prefix}defaultValue");
        let default = match defaults::kept(server.is_mariadb, &field.defaults_to, &parsed) {
            Ok(kept) => kept,
            Err(message) => {
                problems.add(member, "invalid_value", message);
                return None;
            }
        };
        if !defaults::same(&default, &field.defaults_to) {
            notes.push(adjusted(
                member.as_str(),
                format!("the server keeps this default as {}", said(&default)),
            ));
        } else if defaults::is_reshaped(&default, &parsed) {
            notes.push(adjusted(member.as_str(), "the server may show this number in another way"));
        }
        Some(Column::with(server, field, parsed, default, prefix, problems))
    }

    /// A field with its current default, which the server has stored already.
    pub fn keeping_default(server: &Server, field: &Field, problems: &mut Problems) -> Option<Column> {
        let parsed = parsed(server, field, "", problems)?;
        Some(Column::with(server, field, parsed, field.defaults_to.clone(), "", problems))
    }

    /// A field as it was read, to be written back; or the part that cannot be.
    pub fn again(server: &Server, table: &Table, field: &Field) -> Result<Column, String> {
        let unwritable = unwritable(server, table, field);
        if !unwritable.is_empty() {
            return Err(unwritable.join(", "));
        }
        let mut problems = Problems::default();
        let column = Column::keeping_default(server, field, &mut problems);
        problems.check().map_err(|problems| {
            problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>().join(", ")
        })?;
        column.ok_or_else(|| field.type_text.clone())
    }

    fn with(
        server: &Server,
        field: &Field,
        parsed: Type,
        default: DefaultValue,
        prefix: &str,
        problems: &mut Problems,
    ) -> Column {
        let member = format!("{prefix}defaultValue");
        if !field.nullable && default == DefaultValue::Null {
            let message = "the field does not allow NULL, so NULL is no default";
            problems.add(member.as_str(), "invalid_value", message);
        }
        let silent = parsed.kind == Kind::Timestamp && !server.explicit_timestamps && !field.nullable;
        if silent && !defaults::gives_a_value(&default) {
            let message = "this server (explicit_defaults_for_timestamp is off) would give the field a default \
                           of its own; give one, or allow NULL";
            problems.add(member, "invalid_value", message);
        }
        Column {
            name: field.name.clone(),
            parsed,
            nullable: field.nullable,
            default,
            generated: field.generated.clone(),
            comment: field.comment.clone(),
            extra: FieldExtra::of(field),
            rule: server.text_rule(),
        }
    }

    /// Writes its definition without its name.
    fn definition(&self, statement: Statement) -> Statement {
        let mut statement = statement.data_type(self.parsed.tokens());
        if let Some(collation) = self.extra.collation.as_ref().filter(|_| self.parsed.has_characters()) {
            if let Some(set) = &self.extra.character_set {
                statement = statement.words("CHARACTER SET").text(self.rule, set);
            }
            statement = statement.words("COLLATE").text(self.rule, collation);
        }
        if let Some(expression) = &self.generated {
            statement = statement.words("GENERATED ALWAYS AS").symbol("(").expression(expression).symbol(")");
            statement = statement.words(if self.extra.stored { "STORED" } else { "VIRTUAL" });
            // MariaDB does not accept NULL or NOT NULL on a generated field; MySQL keeps NOT NULL.
            statement = if self.nullable { statement } else { statement.words("NOT NULL") };
        } else {
            // Written even if it is the default: a TIMESTAMP may otherwise not allow NULL.
            statement = statement.words(if self.nullable { "NULL" } else { "NOT NULL" });
            statement = defaults::write(statement, &self.default, &self.parsed, self.rule);
            if self.extra.on_update {
                statement = defaults::now(statement.words("ON UPDATE"), self.parsed.second_digits());
            }
            if self.extra.auto_increment {
                statement = statement.words("AUTO_INCREMENT");
            }
        }
        if self.extra.invisible {
            statement = statement.words("INVISIBLE");
        }
        match self.comment.as_str() {
            "" => statement,
            comment => statement.words("COMMENT").text(self.rule, comment),
        }
    }
}

/// Parses the type of a field; checks its name and its comment as well.
fn parsed(server: &Server, field: &Field, prefix: &str, problems: &mut Problems) -> Option<Type> {
    if field.name.is_empty() {
        problems.add(format!("{prefix}fieldName"), "missing", "a field needs a name");
    }
    problems.comment(format!("{prefix}fieldComment"), &field.comment, FIELD_COMMENT_MAX);
    let member = format!("{prefix}fieldType");
    let parsed = match types::parse(&field.type_text, Some(server)) {
        Ok(parsed) => parsed,
        Err(message) => {
            problems.add(member, "invalid_value", message);
            return None;
        }
    };
    if server.plain_backslash && parsed.members.iter().any(|member| member.contains('\\')) {
        let message =
            "this server's sql_mode (NO_BACKSLASH_ESCAPES) leaves no room for a backslash in a value";
        problems.add(member, "not_representable", message);
    }
    Some(parsed)
}

/// A default for people.
fn said(default: &DefaultValue) -> String {
    match default {
        DefaultValue::Absent | DefaultValue::Null => "NULL".to_owned(),
        DefaultValue::Text(text) => format!("the text {text:?}"),
        DefaultValue::Number(number) => number.clone(),
        DefaultValue::Boolean(value) => if *value { "TRUE" } else { "FALSE" }.to_owned(),
        DefaultValue::Now(digits) => format!("CURRENT_TIMESTAMP({digits})"),
        DefaultValue::Expression(expression) => expression.clone(),
    }
}

/// The two parts of a table's name.
fn path(table: &TableName) -> [&str; 2] {
    [&table.database, &table.name]
}

fn alter(table: &TableName, words: &str) -> Statement {
    Statement::new().words("ALTER TABLE").name(path(table)).words(words)
}

/// The statement that creates a table.
pub fn create(
    server: &Server,
    table: &TableName,
    columns: &[Column],
    keys: &[String],
    partition: &[String],
    comment: &str,
) -> Statement {
    let names = |statement: Statement, names: &[String]| {
        statement.in_parentheses(names, |statement, name| statement.name([name]))
    };
    let mut statement = Statement::new()
        .words("CREATE TABLE")
        .name(path(table))
        .symbol("(")
        .list(columns, |statement, column| column.definition(statement.name([&column.name])));
    if !keys.is_empty() {
        statement = names(statement.symbol(",").words("PRIMARY KEY"), keys);
    }
    statement = statement.symbol(")").words("ENGINE").symbol("=").words("INNODB");
    if !comment.is_empty() {
        statement = statement.words("COMMENT").symbol("=").text(server.text_rule(), comment);
    }
    if partition.is_empty() {
        return statement;
    }
    names(statement.words("PARTITION BY RANGE COLUMNS"), partition)
        .symbol("(")
        .words(format!("PARTITION {WHOLE_PARTITION} VALUES LESS THAN"))
        .in_parentheses(partition, |statement, _| statement.words("MAXVALUE"))
        .symbol(")")
}

/// The statement that drops a table.
pub fn drop(table: &TableName) -> Statement {
    Statement::new().words("DROP TABLE").name(path(table))
}

/// The statement that renames a table.
pub fn rename(from: &TableName, to: &TableName) -> Statement {
    Statement::new().words("RENAME TABLE").name(path(from)).words("TO").name(path(to))
}

/// The statement that changes a table's comment.
pub fn comment(server: &Server, table: &TableName, comment: &str) -> Statement {
    alter(table, "COMMENT").symbol("=").text(server.text_rule(), comment)
}

/// The statement that adds a column, after another or last.
pub fn add_column(table: &TableName, column: &Column, behind: Option<&str>) -> Statement {
    let statement = column.definition(alter(table, "ADD COLUMN").name([&column.name]));
    match behind {
        Some(other) => statement.words("AFTER").name([other]),
        None => statement,
    }
}

/// The statement that drops a column.
pub fn drop_column(table: &TableName, column: &str) -> Statement {
    alter(table, "DROP COLUMN").name([column])
}

/// The statement that only renames a column.
pub fn rename_column(table: &TableName, from: &str, to: &str) -> Statement {
    alter(table, "RENAME COLUMN").name([from]).words("TO").name([to])
}

/// The statement that redefines a column, and renames it if the name differs.
pub fn redefine(table: &TableName, name: &str, column: &Column) -> Statement {
    let statement = if name == column.name {
        alter(table, "MODIFY COLUMN").name([name])
    } else {
        alter(table, "CHANGE COLUMN").name([name]).name([&column.name])
    };
    column.definition(statement)
}

/// Fields whose expressions name this one.
pub fn depending<'a>(fields: &'a [Field], name: &str) -> Vec<&'a str> {
    let names = |field: &&Field| {
        let default = match &field.defaults_to {
            DefaultValue::Expression(expression) => Some(expression),
            _ => None,
        };
        let mut expressions = field.generated.iter().chain(default);
        field.name != name && expressions.any(|expression| text::mentions(expression, name))
    };
    fields.iter().filter(names).map(|field| field.name.as_str()).collect()
}
