//! Checks expressions that were read from a database and are written back unchanged.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, Value, ValueWithSpan, Visit, Visitor};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use crate::denied::is_denied;
use crate::guard::SqlParser;

/// The longest expression, in bytes. This also bounds the depth of its tree.
const EXPRESSION_MAX_BYTES: usize = 2_000;
/// The deepest nesting.
const DEPTH_MAX: usize = 50;

/// Checks that the text is one expression without subqueries, denied functions and placeholders. The error is
/// the reason.
pub(crate) fn check(text: &str, parser: SqlParser, denied: &BTreeSet<String>) -> Result<(), String> {
    if text.len() > EXPRESSION_MAX_BYTES {
        return Err(format!("an expression is longer than {EXPRESSION_MAX_BYTES} bytes"));
    }
    let mut reader = Parser::new(parser.dialect())
        .with_recursion_limit(DEPTH_MAX)
        .try_with_sql(text)
        .map_err(|error| format!("an expression cannot be read: {error}"))?;
    let expression = reader.parse_expr().map_err(|error| format!("an expression cannot be read: {error}"))?;
    if reader.peek_token().token != Token::EOF {
        return Err("an expression ends before its text does".to_owned());
    }
    match expression.visit(&mut Checks { denied }) {
        ControlFlow::Break(message) => Err(message),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Checks<'a> {
    denied: &'a BTreeSet<String>,
}

impl Visitor for Checks<'_> {
    type Break = String;

    fn pre_visit_query(&mut self, _query: &Query) -> ControlFlow<String> {
        ControlFlow::Break("an expression has a subquery".to_owned())
    }

    fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<String> {
        match value.value {
            Value::Placeholder(_) => ControlFlow::Break("an expression has a placeholder".to_owned()),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<String> {
        let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
        match function.name.0.last().and_then(|part| part.as_ident()) {
            Some(ident) if !is_denied(&ident.value, self.denied) => ControlFlow::Continue(()),
            _ => ControlFlow::Break(format!("an expression calls the denied function {}", function.name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_expression_and_nothing_else() {
        let none = BTreeSet::new();
        for good in ["1 + 2", "CURRENT_TIMESTAMP", "datetime('now')", "a || 'x'", "-1", "'it''s'"] {
            assert_eq!(check(good, SqlParser::Sqlite, &none), Ok(()), "{good}");
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
            assert!(check(bad, SqlParser::Sqlite, &none).is_err(), "{bad}");
        }
    }
}
