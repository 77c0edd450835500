//! Fields as they are defined, and the statements about them.

use lakeport_sdk::dialect::{DefaultValue, Field, Statement, TableName, TypeToken};
use lakeport_sdk::serde_json::{Value, from_str};

use super::problems::Problems;
use crate::defaults;
use crate::server::{Product, Server};
use crate::texts::{Clause, comment_rule};
use crate::types::{Type, parse_type};

/// A field that can be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    product: Product,
    name: String,
    type_tokens: Vec<TypeToken>,
    nullable: bool,
    aggregate: Option<String>,
    default: DefaultValue,
    comment: Option<(String, &'static str)>,
}

impl Column {
    /// A field as a column; what is wrong is named below `prefix` (`fields[2].`, or nothing).
    pub fn of(server: &Server, field: &Field, prefix: &str, problems: &mut Problems) -> Option<Column> {
        let comment = match comment_rule(server.product, Clause::Definition, &field.comment) {
            Ok(rule) => (!field.comment.is_empty()).then(|| (field.comment.clone(), rule)),
            Err(message) => {
                problems.not_representable(format!("{prefix}fieldComment"), message);
                None
            }
        };
        Column::without_comment(server, field, prefix, problems).map(|column| Column { comment, ..column })
    }

    /// The same with no comment clause, which leaves the field without a comment.
    pub fn without_comment(
        server: &Server,
        field: &Field,
        prefix: &str,
        problems: &mut Problems,
    ) -> Option<Column> {
        let product = server.product;
        let parsed = typed(product, field, prefix, problems)?;
        let default = &field.defaults_to;
        if let Some(message) = defaults::fault(product, &parsed, field.nullable, default) {
            problems.add(format!("{prefix}defaultValue"), "invalid_value", message);
        } else if product == Product::StarRocks && matches!(default, DefaultValue::Now(1..)) {
            let message = "StarRocks has the time of the insert in whole seconds alone";
            problems.not_representable(format!("{prefix}defaultValue"), message);
        }
        Some(Column {
            product,
            name: field.name.clone(),
            type_tokens: parsed.tokens(product),
            nullable: field.nullable,
            aggregate: aggregate(field),
            default: default.clone(),
            comment: None,
        })
    }

    /// Writes its definition.
    pub fn write(&self, statement: Statement) -> Statement {
        let mut statement = statement.name([&self.name]).data_type(self.type_tokens.clone());
        if let Some(aggregate) = &self.aggregate {
            statement = statement.words(aggregate);
        }
        statement = statement.words(if self.nullable { "NULL" } else { "NOT NULL" });
        statement = defaults::write(statement, self.product, &self.default);
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

/// How the values of a field are put together, where its table aggregates: `SUM`.
pub fn aggregate(field: &Field) -> Option<String> {
    extra(field)["aggregate"].as_str().map(str::to_owned)
}

/// Whether the server numbers the field.
pub fn is_numbered(field: &Field) -> bool {
    extra(field)["autoIncrement"].as_bool().unwrap_or(false)
}

fn extra(field: &Field) -> Value {
    field.extra.as_deref().and_then(|text| from_str(text).ok()).unwrap_or_default()
}

/// `ALTER TABLE db.t` and these words.
pub fn alter(table: &TableName, words: &str) -> Statement {
    Statement::new().words("ALTER TABLE").name([&table.database, &table.name]).words(words)
}

/// Adds a field, where a place is given behind another one.
pub fn add_column(table: &TableName, column: &Column, behind: Option<&str>) -> Statement {
    let statement = column.write(alter(table, "ADD COLUMN"));
    match behind {
        Some(behind) => statement.words("AFTER").name([behind]),
        None => statement,
    }
}

/// Defines a field anew.
pub fn modify_column(table: &TableName, column: &Column) -> Statement {
    column.write(alter(table, "MODIFY COLUMN"))
}

/// Drops a field.
pub fn drop_column(table: &TableName, field: &str) -> Statement {
    alter(table, "DROP COLUMN").name([field])
}

/// Gives a field another name. Doris takes no `TO`, StarRocks nothing else.
pub fn rename_column(product: Product, table: &TableName, from: &str, to: &str) -> Statement {
    let statement = alter(table, "RENAME COLUMN").name([from]);
    match product {
        Product::Doris => statement.name([to]),
        Product::StarRocks => statement.words("TO").name([to]),
    }
}

/// Changes a field's comment and nothing else, in Doris.
pub fn comment_column(table: &TableName, field: &str, comment: &str, rule: &str) -> Statement {
    alter(table, "MODIFY COLUMN").name([field]).words("COMMENT").text(rule, comment)
}
