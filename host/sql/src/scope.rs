//! Walks a parsed statement for the guard: finds all objects that it reads, resolves the scopes of common
//! table expressions, and stops at the first construct that does not merely read.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, ObjectName, Query, Select, SetExpr, Spanned, Statement, TableFactor, Visitor,
};
use sqlparser::tokenizer::Location;

use crate::denied::{is_denied, is_large_in_sqlite};
use crate::guard::{Object, SqlParser};

/// Why the walk stopped.
pub(crate) struct Broken {
    pub rule: &'static str,
    pub message: String,
    pub at: Option<Location>,
}

/// The names that one query defines.
struct Frame {
    /// The name, and the address of its query, by which the query is recognised when entered.
    expressions: Vec<(Ident, *const Query)>,
    /// How many of them are visible now.
    visible: usize,
    recursive: bool,
}

/// The walk.
pub(crate) struct Walk<'a> {
    parser: SqlParser,
    denied: &'a BTreeSet<String>,
    frames: Vec<Frame>,
    found: Vec<(Object, Location)>,
    /// Table factors minus relations: a relation anywhere else is unknown.
    tables: usize,
    relations: usize,
}

impl<'a> Walk<'a> {
    pub fn new(parser: SqlParser, denied: &'a BTreeSet<String>) -> Self {
        Walk { parser, denied, frames: Vec::new(), found: Vec::new(), tables: 0, relations: 0 }
    }

    /// All objects with their first places.
    pub fn finish(self) -> Result<Vec<(Object, Location)>, Broken> {
        if self.tables != self.relations {
            return Err(Broken {
                rule: "reads_only",
                message: "a table is named in a place that does not merely read".to_owned(),
                at: None,
            });
        }
        Ok(self.found)
    }

    /// Resolves a name as the server does: PostgreSQL folds unquoted names, the others keep them.
    fn folded(&self, ident: &Ident) -> String {
        match (self.parser, ident.quote_style) {
            (SqlParser::Postgres, None) => ident.value.to_lowercase(),
            _ => ident.value.clone(),
        }
    }

    fn same(&self, one: &Ident, other: &Ident) -> bool {
        let (one, other) = (self.folded(one), self.folded(other));
        match self.parser {
            SqlParser::Sqlite => one.eq_ignore_ascii_case(&other),
            _ => one == other,
        }
    }

    fn is_expression(&self, name: &ObjectName) -> bool {
        let [part] = name.0.as_slice() else { return false };
        let Some(ident) = part.as_ident() else { return false };
        self.frames
            .iter()
            .any(|frame| frame.expressions[..frame.visible].iter().any(|(known, _)| self.same(known, ident)))
    }

    fn object(&mut self, name: &ObjectName, function: bool) -> ControlFlow<Broken> {
        let idents: Option<Vec<&Ident>> = name.0.iter().map(|part| part.as_ident()).collect();
        let Some(idents) = idents else {
            return stop("not_permitted", "a name that is worked out when it runs", name.span().start);
        };
        let misread = |ident: &&&Ident| {
            let word = ident.value.to_lowercase();
            ident.quote_style.is_none() && matches!(word.as_str(), "only" | "lateral" | "rows" | "table")
        };
        if let Some(ident) = idents.iter().find(misread) {
            return stop(
                "parse",
                format!("{} cannot stand before a table here", ident.value),
                ident.span.start,
            );
        }
        let parts: Vec<String> = idents.iter().map(|ident| self.folded(ident)).collect();
        if function && parts.last().is_some_and(|name| self.denies(name)) {
            return self.denied_function(name);
        }
        self.found.push((Object { parts, function }, name.span().start));
        ControlFlow::Continue(())
    }

    fn denies(&self, function: &str) -> bool {
        is_denied(function, self.denied) || self.parser == SqlParser::Sqlite && is_large_in_sqlite(function)
    }

    fn denied_function(&self, name: &ObjectName) -> ControlFlow<Broken> {
        stop("denied_function", format!("the function {name} may not be called"), name.span().start)
    }
}

fn stop(rule: &'static str, message: impl Into<String>, at: Location) -> ControlFlow<Broken> {
    ControlFlow::Break(Broken { rule, message: message.into(), at: Some(at) })
}

/// The visitor skips the table of `TABLE t`.
fn has_table_command(body: &SetExpr) -> bool {
    let mut left = vec![body];
    while let Some(body) = left.pop() {
        match body {
            SetExpr::Table(_) => return true,
            SetExpr::SetOperation { left: one, right: other, .. } => left.extend([&**one, &**other]),
            _ => {}
        }
    }
    false
}

impl Visitor for Walk<'_> {
    type Break = Broken;

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<Broken> {
        match statement {
            Statement::Query(_) => ControlFlow::Continue(()),
            Statement::Explain { statement: inner, .. } if matches!(**inner, Statement::Query(_)) => {
                ControlFlow::Continue(())
            }
            other => {
                let words = other.to_string();
                let verb = words.split_whitespace().next().unwrap_or_default().to_owned();
                stop("reads_only", format!("{verb} does not merely read"), statement.span().start)
            }
        }
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Broken> {
        let entered: *const Query = query;
        for frame in &mut self.frames {
            let at = frame.expressions.iter().position(|(_, known)| *known == entered);
            if let Some(at) = at {
                frame.visible = if frame.recursive { at + 1 } else { at };
            }
        }
        let with = query.with.as_ref();
        let expressions = with.map(|with| with.cte_tables.as_slice()).unwrap_or_default();
        self.frames.push(Frame {
            expressions: expressions
                .iter()
                .map(|cte| (cte.alias.name.clone(), std::ptr::from_ref(&*cte.query)))
                .collect(),
            visible: 0,
            recursive: with.is_some_and(|with| with.recursive),
        });
        let at = query.span().start;
        if !query.locks.is_empty() {
            return stop("reads_only", "a statement that locks rows does not merely read", at);
        }
        if !query.pipe_operators.is_empty() || query.settings.is_some() || query.for_clause.is_some() {
            return stop("parse", "this form of query is not known here", at);
        }
        if has_table_command(&query.body) {
            return stop("parse", "write SELECT * FROM in place of TABLE", at);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<Broken> {
        self.frames.pop();
        let left: *const Query = query;
        for frame in &mut self.frames {
            if let Some(at) = frame.expressions.iter().position(|(_, known)| *known == left) {
                frame.visible = at + 1;
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Broken> {
        match &select.into {
            Some(into) => stop("reads_only", "SELECT … INTO does not merely read", into.span().start),
            None => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_relation(&mut self, _relation: &ObjectName) -> ControlFlow<Broken> {
        self.relations += 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Broken> {
        match factor {
            TableFactor::Table { name, args, .. } => {
                self.tables += 1;
                if args.is_none() && self.is_expression(name) {
                    return ControlFlow::Continue(());
                }
                self.object(name, args.is_some())
            }
            TableFactor::Function { name, .. } => self.object(name, true),
            TableFactor::TableFunction { expr: Expr::Function(function), .. } => {
                self.object(&function.name, true)
            }
            TableFactor::Derived { .. }
            | TableFactor::NestedJoin { .. }
            | TableFactor::UNNEST { .. }
            | TableFactor::JsonTable { .. } => ControlFlow::Continue(()),
            other => stop("parse", "this form of a table is not known here", other.span().start),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Broken> {
        let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
        match function.name.0.last().and_then(|part| part.as_ident()) {
            Some(ident) if !self.denies(&ident.value) => ControlFlow::Continue(()),
            _ => self.denied_function(&function.name),
        }
    }
}
