//! The fields that a query names, as far as that is known without its tables: all names in the place of a
//! field, except those that the query itself defines.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Query, Select, SelectItem, TableAlias, TableFactor, Visit, Visitor};

use crate::guard::{SqlParser, on_long_stack};
use crate::heavy;

/// The guard's limit of nesting.
const DEPTH_MAX: usize = 100;

/// The names of fields in a query, sorted and unique; empty if it cannot be parsed.
pub fn fields_named(parser: SqlParser, sql: &str) -> Vec<String> {
    on_long_stack(sql.len(), || {
        let statements = heavy::parser(parser.dialect(), sql, DEPTH_MAX);
        let statements = statements.and_then(|mut parser| parser.parse_statements());
        let Ok(statements) = statements else { return Vec::new() };
        let mut walk = Mentions::default();
        let _ = statements.visit(&mut walk);
        walk.fields.into_iter().filter(|name| !walk.given.contains(&name.to_lowercase())).collect()
    })
}

#[derive(Default)]
struct Mentions {
    fields: BTreeSet<String>,
    /// Names that the query defines, lower case.
    given: BTreeSet<String>,
}

impl Mentions {
    fn give(&mut self, alias: &TableAlias) {
        let columns = alias.columns.iter().map(|column| column.name.value.to_lowercase());
        self.given.extend(columns);
    }
}

impl Visitor for Mentions {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let expressions = query.with.as_ref().map(|with| with.cte_tables.as_slice()).unwrap_or_default();
        expressions.iter().for_each(|expression| self.give(&expression.alias));
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                self.given.insert(alias.value.to_lowercase());
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. } = factor
        {
            self.give(alias);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let named = match expr {
            Expr::Identifier(ident) => Some(ident),
            Expr::CompoundIdentifier(idents) => idents.last(),
            _ => None,
        };
        self.fields.extend(named.map(|ident| ident.value.clone()));
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_distinguished_from_query_aliases() {
        let sql = "WITH days(day) AS (SELECT 1) SELECT d.day, count(o.id) AS total, \"Price\" FROM orders o \
            JOIN days d ON d.day = o.placed GROUP BY d.day HAVING total > 1 ORDER BY total";
        assert_eq!(fields_named(SqlParser::Sqlite, sql), ["Price", "id", "placed"]);
        assert_eq!(fields_named(SqlParser::Sqlite, "SELECT FROM WHERE"), [] as [&str; 0]);
    }
}
