//! Definitions of fields, and the statements about them.

use lakeport_sdk::dialect::{DefaultValue, Field, Statement, TableName, TypeToken};

use super::problems::Problems;
use crate::defaults;
use crate::extra::FieldExtra;
use crate::server::{Product, Server};
use crate::texts::{Clause, PLAIN, comment_rule, default_rule};
use crate::types::{Type, parse_type};

/// A field that can be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    product: Product,
    name: String,
    type_tokens: Vec<TypeToken>,
    nullable: bool,
    aggregate: Option<String>,
    default: (DefaultValue, &'static str),
    default_text: Option<String>,
    comment: Option<(String, &'static str)>,
}

impl Column {
    /// A field as a column of this clause; problems are reported below `prefix` (`fields[2].`, or empty).
    pub fn of(
        server: &Server,
        clause: Clause,
        field: &Field,
        prefix: &str,
        problems: &mut Problems,
    ) -> Option<Column> {
        let comment = match comment_rule(server, clause, &field.comment) {
            Ok(rule) => (!field.comment.is_empty()).then(|| (field.comment.clone(), rule)),
            Err(message) => {
                problems.not_representable(format!("{prefix}fieldComment"), message);
                None
            }
        };
        let column = Column::without_comment(server, clause, field, prefix, problems)?;
        Some(Column { comment, ..column })
    }

    /// The same without a comment clause, which leaves the field without a comment.
    pub fn without_comment(
        server: &Server,
        clause: Clause,
        field: &Field,
        prefix: &str,
        problems: &mut Problems,
    ) -> Option<Column> {
        let product = server.product;
        let parsed = typed(product, field, prefix, problems)?;
        let default = &field.defaults_to;
        let member = format!("{prefix}defaultValue");
        if let Some(message) = defaults::fault(product, &parsed, field.nullable, default) {
            problems.add(&member, "invalid_value", message);
        } else if product == Product::StarRocks && matches!(default, DefaultValue::Now(1..)) {
            let message = "StarRocks has the time of the insert in whole seconds alone";
            problems.not_representable(&member, message);
        }
        let rule = match default {
            DefaultValue::Text(text) => default_rule(server, clause, text),
            _ => Ok(PLAIN),
        };
        let rule = rule.map_err(|message| problems.not_representable(&member, message)).ok()?;
        Some(Column {
            product,
            name: field.name.clone(),
            type_tokens: parsed.tokens(product),
            nullable: field.nullable,
            aggregate: None,
            default: (default.clone(), rule),
            default_text: FieldExtra::of(field).default_text,
            comment: None,
        })
    }

    /// The same in an aggregate table.
    pub fn aggregating(self, aggregate: Option<String>) -> Column {
        Column { aggregate, ..self }
    }

    /// Writes its definition.
    pub fn write(&self, statement: Statement) -> Statement {
        let mut statement = statement.name([&self.name]).data_type(self.type_tokens.clone());
        if let Some(aggregate) = &self.aggregate {
            statement = statement.words(aggregate);
        }
        statement = statement.words(if self.nullable { "NULL" } else { "NOT NULL" });
        // A default that is there is written as the server keeps it, or it would be another one.
        statement = match &self.default_text {
            Some(text) => statement.words("DEFAULT").text(PLAIN, text),
            None => defaults::write(statement, self.product, &self.default.0, self.default.1),
        };
        match &self.comment {
            Some((comment, rule)) => statement.words("COMMENT").text(*rule, comment),
            None => statement,
        }
    }
}

/// A field's type, or a problem.
pub fn typed(product: Product, field: &Field, prefix: &str, problems: &mut Problems) -> Option<Type> {
    match parse_type(product, &field.type_text) {
        Ok(parsed) => Some(parsed),
        Err(message) => {
            problems.add(format!("{prefix}fieldType"), "invalid_value", message);
            None
        }
    }
}

/// Reports a new default that the server would refuse only when it executes the statement.
pub fn default_fits(server: &Server, field: &Field, prefix: &str, problems: &mut Problems) {
    let Ok(parsed) = parse_type(server.product, &field.type_text) else { return };
    if let Some(message) = defaults::unfit(server.product, &parsed, &field.defaults_to) {
        problems.add(format!("{prefix}defaultValue"), "invalid_value", message);
    }
}

/// `ALTER TABLE db.t` with these words.
pub fn alter(table: &TableName, words: &str) -> Statement {
    Statement::new().words("ALTER TABLE").name([&table.database, &table.name]).words(words)
}

/// Adds a field, after another one if it is given.
pub fn add_column(table: &TableName, column: &Column, behind: Option<&str>) -> Statement {
    let statement = column.write(alter(table, "ADD COLUMN"));
    match behind {
        Some(behind) => statement.words("AFTER").name([behind]),
        None => statement,
    }
}

/// Redefines a field.
pub fn modify_column(table: &TableName, column: &Column) -> Statement {
    column.write(alter(table, "MODIFY COLUMN"))
}

/// Drops a field.
pub fn drop_column(table: &TableName, field: &str) -> Statement {
    alter(table, "DROP COLUMN").name([field])
}

/// Renames a field. Doris accepts no `TO`, StarRocks requires it.
pub fn rename_column(product: Product, table: &TableName, from: &str, to: &str) -> Statement {
    let statement = alter(table, "RENAME COLUMN").name([from]);
    match product {
        Product::Doris => statement.name([to]),
        Product::StarRocks => statement.words("TO").name([to]),
    }
}

/// Changes only a field's comment, in Doris.
pub fn comment_column(table: &TableName, field: &str, comment: &str, rule: &str) -> Statement {
    alter(table, "MODIFY COLUMN").name([field]).words("COMMENT").text(rule, comment)
}
