//! Queries: each is parsed completely, its names are resolved and its types checked, before it is answered. A
//! text that merely looks familiar gets no answer.
//!
//! The grammar is `sqlparser`'s for MySQL, without the parts that the two products lack. Only clauses that
//! Lakeport sends are implemented; others are refused by name.

mod expression;
mod from;
mod functions;
mod select;
mod system;
mod value;

use std::collections::BTreeMap;

use sqlparser::ast::{
    Expr, LimitClause, OrderByKind, Query, SetExpr, SetOperator, SetQuantifier, Statement, TableAlias,
    Value as Literal,
};
use sqlparser::dialect::{Dialect, MySqlDialect};
use sqlparser::parser::{Parser, ParserError};

use crate::catalogue::Catalogue;
use crate::parse::Syntax;
use crate::refused;
use expression::unknown;
pub use system::audit_row;
pub use value::{Kind, Value};

/// A column of a relation.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
    /// The table that it belongs to, by its name in the query.
    table: Option<String>,
    database: Option<String>,
}

impl Column {
    pub fn new(name: &str, kind: Kind) -> Column {
        Column { name: name.to_owned(), kind, table: None, database: None }
    }
}

/// Rows of typed columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Relation {
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Value>>,
}

impl Relation {
    /// Rows of texts, as SHOW returns them.
    pub fn of_texts(columns: &[&str], rows: Vec<Vec<Option<String>>>) -> Relation {
        let cell = |cell: Option<String>| cell.map_or(Value::Null, Value::Text);
        Relation {
            columns: columns.iter().map(|name| Column::new(name, Kind::Text)).collect(),
            rows: rows.into_iter().map(|row| row.into_iter().map(cell).collect()).collect(),
        }
    }

    /// Under another name.
    fn named(mut self, alias: &TableAlias) -> Result<Relation, Syntax> {
        let names = &alias.columns;
        if !names.is_empty() && names.len() != self.columns.len() {
            return Err(refused(format!("{} has a different number of columns", alias.name.value)));
        }
        for (at, column) in self.columns.iter_mut().enumerate() {
            column.table = Some(alias.name.value.clone());
            column.database = None;
            if let Some(name) = names.get(at) {
                column.name.clone_from(&name.name.value);
            }
        }
        Ok(self)
    }
}

/// The server's and session's state that a query can see.
pub struct Context<'a> {
    pub catalogue: &'a Catalogue,
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    pub connection: u32,
    pub database: Option<&'a str>,
    /// The names defined by WITH so far.
    named: BTreeMap<String, Relation>,
}

impl<'a> Context<'a> {
    pub fn new(
        catalogue: &'a Catalogue,
        variable: &'a dyn Fn(&str) -> Option<String>,
        connection: u32,
        database: Option<&'a str>,
    ) -> Context<'a> {
        Context { catalogue, variable, connection, database, named: BTreeMap::new() }
    }
}

/// MySQL's grammar, with the session's treatment of backslashes.
#[derive(Debug)]
struct Grammar {
    backslashes: bool,
    of: MySqlDialect,
}

impl Dialect for Grammar {
    fn dialect(&self) -> std::any::TypeId {
        self.of.dialect()
    }

    fn is_identifier_start(&self, letter: char) -> bool {
        self.of.is_identifier_start(letter)
    }

    fn is_identifier_part(&self, letter: char) -> bool {
        self.of.is_identifier_part(letter)
    }

    fn is_delimited_identifier_start(&self, letter: char) -> bool {
        self.of.is_delimited_identifier_start(letter)
    }

    fn supports_string_literal_backslash_escape(&self) -> bool {
        self.backslashes
    }

    fn supports_limit_comma(&self) -> bool {
        true
    }

    fn require_interval_qualifier(&self) -> bool {
        true
    }

    fn parse_infix(
        &self,
        parser: &mut Parser,
        left: &Expr,
        precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        self.of.parse_infix(parser, left, precedence)
    }
}

/// Answers a query.
pub fn answer(context: &Context, sql: &str, backslashes: bool) -> Result<Relation, Syntax> {
    let grammar = Grammar { backslashes, of: MySqlDialect {} };
    let statements = Parser::parse_sql(&grammar, sql).map_err(|error| refused(error.to_string()))?;
    match statements.as_slice() {
        [Statement::Query(query)] => run(context, query),
        _ => Err(refused("Syntax error: one query is wanted")),
    }
}

fn run(context: &Context, query: &Query) -> Result<Relation, Syntax> {
    let Query { with, body, order_by, limit_clause, .. } = query;
    let strange = query.fetch.is_some() || !query.locks.is_empty() || query.for_clause.is_some();
    if strange
        || query.settings.is_some()
        || query.format_clause.is_some()
        || !query.pipe_operators.is_empty()
    {
        return Err(refused(format!("a clause of this query is not known here: {query}")));
    }
    let mut context = Context { named: context.named.clone(), ..*context };
    if let Some(with) = with {
        if with.recursive {
            // Doris has it from 4.1 on, StarRocks not at all; neither is emulated here.
            return Err(refused("mismatched input 'RECURSIVE' expecting an identifier"));
        }
        for one in &with.cte_tables {
            let relation = run(&context, &one.query)?.named(&one.alias)?;
            context.named.insert(one.alias.name.value.clone(), relation);
        }
    }
    let order = match order_by.as_ref().map(|order| (&order.kind, &order.interpolate)) {
        None => &[][..],
        Some((OrderByKind::Expressions(list), None)) => &list[..],
        Some(_) => return Err(refused("this ORDER BY is not known here")),
    };
    let mut found = match body.as_ref() {
        SetExpr::Select(select) => select::run(&context, select, order)?,
        body if order.is_empty() => run_body(&context, body)?,
        _ => return Err(refused("an ORDER BY of a union is not known here")),
    };
    if let Some(clause) = limit_clause {
        limit(&mut found, clause)?;
    }
    Ok(found)
}

fn run_body(context: &Context, body: &SetExpr) -> Result<Relation, Syntax> {
    match body {
        SetExpr::Select(select) => select::run(context, select, &[]),
        SetExpr::Query(query) => run(context, query),
        SetExpr::SetOperation { left, op: SetOperator::Union, set_quantifier: SetQuantifier::All, right } => {
            let (mut one, other) = (run_body(context, left)?, run_body(context, right)?);
            if one.columns.len() != other.columns.len() {
                return Err(refused("Operands have unequal number of columns"));
            }
            for (column, further) in one.columns.iter_mut().zip(other.columns) {
                column.kind = column.kind.common(further.kind)?;
            }
            one.rows.extend(other.rows);
            Ok(one)
        }
        _ => Err(refused(format!("this query is not known here: {body}"))),
    }
}

fn limit(found: &mut Relation, clause: &LimitClause) -> Result<(), Syntax> {
    let number = |expr: &Expr| match expr {
        Expr::Value(value) => match &value.value {
            Literal::Number(digits, _) => digits.parse::<usize>().map_err(|_| unknown(expr)),
            _ => Err(unknown(expr)),
        },
        _ => Err(unknown(expr)),
    };
    let (limit, offset) = match clause {
        LimitClause::LimitOffset { limit: Some(limit), offset, limit_by } if limit_by.is_empty() => {
            (limit, offset.as_ref().map(|offset| &offset.value))
        }
        LimitClause::OffsetCommaLimit { offset, limit } => (limit, Some(offset)),
        LimitClause::LimitOffset { .. } => return Err(refused("this LIMIT is not known here")),
    };
    let skipped = offset.map_or(Ok(0), number)?.min(found.rows.len());
    found.rows.drain(..skipped);
    found.rows.truncate(number(limit)?);
    Ok(())
}
