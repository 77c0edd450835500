//! Checks expressions that were read from a database and are written back unchanged.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, Value, ValueWithSpan, Visit, Visitor};
use sqlparser::tokenizer::Token;

use crate::functions::{Author, Functions};
use crate::guard::SqlParser;
use crate::heavy;
use crate::scope::parts;

/// The longest expression, in bytes. This also bounds the depth of its tree.
const EXPRESSION_MAX_BYTES: usize = 2_000;
/// The deepest nesting.
const DEPTH_MAX: usize = 50;

/// Why an expression is refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// It is not what a definition may have.
    Shape(String),
    /// It calls a function that is not on the list, which is not the plugin's fault.
    Function(String),
}

impl From<String> for Wrong {
    fn from(message: String) -> Wrong {
        Wrong::Shape(message)
    }
}

/// Checks that the text is one expression of listed functions, without subqueries and placeholders.
pub(crate) fn check(text: &str, parser: SqlParser, functions: &Functions) -> Result<(), Wrong> {
    if text.len() > EXPRESSION_MAX_BYTES {
        return Err(format!("an expression is longer than {EXPRESSION_MAX_BYTES} bytes").into());
    }
    let mut reader = heavy::parser(parser.dialect(), text, DEPTH_MAX)
        .map_err(|error| format!("an expression cannot be read: {error}"))?;
    let expression = reader.parse_expr().map_err(|error| format!("an expression cannot be read: {error}"))?;
    if reader.peek_token().token != Token::EOF {
        return Err("an expression ends before its text does".to_owned().into());
    }
    match expression.visit(&mut Checks { parser, functions }) {
        ControlFlow::Break(wrong) => Err(wrong),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Checks<'a> {
    parser: SqlParser,
    functions: &'a Functions,
}

impl Visitor for Checks<'_> {
    type Break = Wrong;

    fn pre_visit_query(&mut self, _query: &Query) -> ControlFlow<Wrong> {
        ControlFlow::Break("an expression has a subquery".to_owned().into())
    }

    fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<Wrong> {
        match value.value {
            Value::Placeholder(_) => ControlFlow::Break("an expression has a placeholder".to_owned().into()),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Wrong> {
        // PostgreSQL reads `(value).name` as `name(value)`.
        if matches!(expr, Expr::CompoundFieldAccess { .. }) && self.parser == SqlParser::Postgres {
            return ControlFlow::Break("an expression has a field of a value".to_owned().into());
        }
        let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
        match parts(self.parser, &function.name) {
            Some(parts) if self.functions.may_call(Author::Definition, &parts) => ControlFlow::Continue(()),
            _ => {
                let message =
                    self.functions.refusal("in an expression, the function", &function.name.to_string());
                ControlFlow::Break(Wrong::Function(message))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_expression_and_nothing_else() {
        let sqlite = Functions::new("sqlite", &["sqlite".to_owned()], &[]);
        for good in ["1 + 2", "CURRENT_TIMESTAMP", "datetime('now')", "a || 'x'", "-1", "'it''s'"] {
            assert_eq!(check(good, SqlParser::Sqlite, &sqlite), Ok(()), "{good}");
        }
        for bad in [
            "1) , (b INT",
            "1; DROP TABLE t",
            "(SELECT 1)",
            "load_extension('x')",
            "1 IN (SELECT a FROM t)",
            "",
            "1,2",
            "?",
            "EXISTS (SELECT 1)",
            "1 b",
        ] {
            assert!(check(bad, SqlParser::Sqlite, &sqlite).is_err(), "{bad}");
        }
    }

    #[test]
    fn definitions_call_listed_functions_alone() {
        let names = |name: &str| Functions::new(name, &[name.to_owned()], &[]);
        for (parser, functions, text) in [
            (SqlParser::Postgres, names("postgres"), "nextval('shop.orders_id_seq'::regclass)"),
            (SqlParser::Postgres, names("postgres"), "'new'::shop.order_status"),
            (SqlParser::Postgres, names("postgres"), "gen_random_uuid()"),
            (SqlParser::Postgres, names("postgres"), "timezone('utc'::text, now())"),
            (SqlParser::Postgres, names("postgres"), "CURRENT_USER"),
            (SqlParser::Sqlite, names("sqlite"), "lower(hex(randomblob(16)))"),
            (SqlParser::MySql, names("mysql"), "uuid_to_bin(uuid())"),
        ] {
            let is_account = text == "CURRENT_USER";
            assert_eq!(check(text, parser, &functions).is_ok(), !is_account, "{text}");
        }
        for (parser, functions, text) in [
            (SqlParser::Postgres, names("postgres"), "pg_read_file('/etc/passwd')"),
            (SqlParser::Postgres, names("postgres"), "shop.make_id()"),
            (SqlParser::MySql, names("mysql"), "load_file('/etc/passwd')"),
            (SqlParser::Sqlite, names("sqlite"), "load_extension('x')"),
        ] {
            let wrong = check(text, parser, &functions);
            assert!(matches!(wrong, Err(Wrong::Function(_))), "{text}: {wrong:?}");
        }
    }
}
