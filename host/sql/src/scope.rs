//! Walks a parsed statement for the guard: finds all objects that it reads, resolves the scopes of common
//! table expressions, and stops at the first construct that does not merely read.

use std::ops::ControlFlow;

use sqlparser::ast::{
    AccessExpr, ArrayElemTypeDef, BinaryOperator, DataType, Expr, Function, FunctionArgumentClause,
    FunctionArguments, Ident, JsonTableColumn, ObjectName, Query, Select, SetExpr, Spanned, Statement,
    TableAlias, TableFactor, Value, ValueWithSpan, Visitor,
};
use sqlparser::tokenizer::Location;

use crate::functions::{Author, Functions};
use crate::guard::{Object, SqlParser};

/// Begins a variable of MySQL: `@a`, `@@sql_mode`.
const VARIABLE: char = '@';
/// The schema of PostgreSQL's own operators.
const OWN_SCHEMA: &str = "pg_catalog";

/// Table functions of PostgreSQL whose rows have columns, and are not one value each.
const WITH_COLUMNS: [&str; 11] = [
    "json_each",
    "json_each_text",
    "json_populate_recordset",
    "json_to_record",
    "json_to_recordset",
    "jsonb_each",
    "jsonb_each_text",
    "jsonb_populate_recordset",
    "jsonb_to_record",
    "jsonb_to_recordset",
    "xmltable",
];

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

/// What a walk found, with the first places.
pub(crate) struct Walked {
    pub objects: Vec<(Object, Location)>,
    pub seen: Vec<Location>,
}

/// The walk.
pub(crate) struct Walk<'a> {
    parser: SqlParser,
    functions: &'a Functions,
    author: Author,
    frames: Vec<Frame>,
    found: Vec<(Object, Location)>,
    /// Names that may stand before a parenthesis: judged functions, aliases with columns, types.
    seen: Vec<Location>,
    /// The values of table functions by their names, each with the names of its columns.
    values: Vec<(String, Vec<String>)>,
    /// What stands after a name and a dot: `value.name` is `name(value)` in PostgreSQL.
    attributes: Vec<(String, Ident)>,
    /// Table factors minus relations: a relation anywhere else is unknown.
    tables: usize,
    relations: usize,
}

impl<'a> Walk<'a> {
    pub fn new(parser: SqlParser, functions: &'a Functions, author: Author) -> Self {
        Walk {
            parser,
            functions,
            author,
            frames: Vec::new(),
            found: Vec::new(),
            seen: Vec::new(),
            values: Vec::new(),
            attributes: Vec::new(),
            tables: 0,
            relations: 0,
        }
    }

    /// All objects, and the names that were judged.
    pub fn finish(self) -> Result<Walked, Broken> {
        if self.tables != self.relations {
            return Err(Broken {
                rule: "reads_only",
                message: "a table is named in a place that does not merely read".to_owned(),
                at: None,
            });
        }
        for (value, name) in &self.attributes {
            let is_column = |(known, columns): &(String, Vec<String>)| {
                known == value && (value == &self.folded(name) || columns.contains(&self.folded(name)))
            };
            let is_of_value = self.values.iter().any(|(known, _)| known == value);
            if is_of_value && !self.values.iter().any(is_column) {
                self.attribute(name)?;
            }
        }
        Ok(Walked { objects: self.found, seen: self.seen })
    }

    /// PostgreSQL reads `(value).name` as `name(value)`.
    fn attribute(&self, name: &Ident) -> Result<(), Broken> {
        if self.functions.may_call(self.author, &[self.folded(name)]) {
            return Ok(());
        }
        let message = format!(
            "`.{name}` after a value may call a function, which may not be used here; a field of a row can be read with \
             to_jsonb(…) ->> '{}'",
            name.value.replace('\'', "")
        );
        Err(Broken { rule: "denied_function", message, at: Some(name.span.start) })
    }

    /// Whether a name after a value calls a function in this database, as far as is known.
    fn has_attributes(&self) -> bool {
        matches!(self.parser, SqlParser::Postgres | SqlParser::Ansi)
    }

    /// Remembers what a table function's value is called.
    fn value(&mut self, name: &ObjectName, alias: Option<&TableAlias>) {
        let last = name.0.last().and_then(|part| part.as_ident());
        if last.is_some_and(|last| WITH_COLUMNS.contains(&self.folded(last).as_str())) {
            return;
        }
        let Some(called) = alias.map(|alias| &alias.name).or(last) else { return };
        let columns = alias.map(|alias| alias.columns.as_slice()).unwrap_or_default();
        let columns = columns.iter().map(|column| self.folded(&column.name)).collect();
        self.values.push((self.folded(called), columns));
    }

    fn folded(&self, ident: &Ident) -> String {
        folded(self.parser, ident)
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
        if self.author == Author::User && !function && self.functions.is_system(&parts) {
            let message = format!("{name} belongs to the database's system and may not be read here");
            return stop("not_permitted", message, name.span().start);
        }
        if function {
            self.see(name);
            if self.functions.may_be_table(self.author, &parts) {
                return ControlFlow::Continue(());
            }
            // What a dialect may ask for is on the host's list and on its own.
            if self.author != Author::Dialect || !self.functions.may_call(self.author, &parts) {
                return self.refused("the table function", name);
            }
        }
        self.found.push((Object { parts, function }, name.span().start));
        ControlFlow::Continue(())
    }

    fn see(&mut self, name: &ObjectName) {
        let last = name.0.last().and_then(|part| part.as_ident());
        self.seen.extend(last.map(|ident| ident.span.start));
    }

    fn refused(&self, what: &str, name: &ObjectName) -> ControlFlow<Broken> {
        let message = self.functions.refusal(what, &name.to_string());
        stop("denied_function", message, name.span().start)
    }

    fn call(&mut self, function: &Function) -> ControlFlow<Broken> {
        let name = &function.name;
        let parts = parts(self.parser, name);
        if !parts.is_some_and(|parts| self.functions.may_call(self.author, &parts)) {
            return self.refused("the function", name);
        }
        self.see(name);
        let FunctionArguments::List(list) = &function.args else { return ControlFlow::Continue(()) };
        list.clauses.iter().try_for_each(|clause| match clause {
            FunctionArgumentClause::JsonReturningClause(returning) => self.data_type(&returning.data_type),
            _ => ControlFlow::Continue(()),
        })
    }

    /// A name without parentheses may be a call (`CURRENT_USER`) or a variable.
    fn word(&self, idents: &[Ident]) -> ControlFlow<Broken> {
        let [first, rest @ ..] = idents else { return ControlFlow::Continue(()) };
        let written = idents.iter().map(|ident| ident.value.as_str()).collect::<Vec<_>>().join(".");
        let is_variable = self.parser == SqlParser::MySql && first.value.starts_with(VARIABLE);
        if is_variable && !self.functions.may_read_variable(self.author, &written) {
            let message = format!("the variable {written} may not be read here");
            return stop("denied_function", message, first.span.start);
        }
        let is_word = rest.is_empty() && first.quote_style.is_none();
        if is_word && self.functions.is_refused_word(self.author, &first.value) {
            return stop(
                "denied_function",
                self.functions.refusal("the function", &written),
                first.span.start,
            );
        }
        ControlFlow::Continue(())
    }

    fn data_type(&mut self, data_type: &DataType) -> ControlFlow<Broken> {
        let name = match data_type {
            DataType::Custom(name, _) => name.clone(),
            DataType::Regclass => ObjectName::from(vec![Ident::new("regclass")]),
            DataType::Array(
                ArrayElemTypeDef::SquareBracket(inner, _)
                | ArrayElemTypeDef::AngleBracket(inner)
                | ArrayElemTypeDef::Parenthesis(inner),
            ) => return self.data_type(inner),
            _ => return ControlFlow::Continue(()),
        };
        let parts = parts(self.parser, &name);
        if !parts.is_some_and(|parts| self.functions.may_cast_to(self.author, &parts)) {
            return self.refused("the type", &name);
        }
        self.see(&name);
        ControlFlow::Continue(())
    }

    fn alias(&mut self, alias: &TableAlias) -> ControlFlow<Broken> {
        self.seen.push(alias.name.span.start);
        alias
            .columns
            .iter()
            .filter_map(|column| column.data_type.as_ref())
            .try_for_each(|of| self.data_type(of))
    }

    fn json_columns(&mut self, columns: &[JsonTableColumn]) -> ControlFlow<Broken> {
        columns.iter().try_for_each(|column| match column {
            JsonTableColumn::Named(column) => self.data_type(&column.r#type),
            JsonTableColumn::Nested(nested) => self.json_columns(&nested.columns),
            JsonTableColumn::ForOrdinality(_) => ControlFlow::Continue(()),
        })
    }
}

/// Resolves a name as the server does: PostgreSQL folds unquoted names, the others keep them.
fn folded(parser: SqlParser, ident: &Ident) -> String {
    match (parser, ident.quote_style) {
        (SqlParser::Postgres, None) => ident.value.to_lowercase(),
        _ => ident.value.clone(),
    }
}

/// The parts of a name as the server resolves them; `None` for one that is worked out when it runs.
pub(crate) fn parts(parser: SqlParser, name: &ObjectName) -> Option<Vec<String>> {
    name.0.iter().map(|part| part.as_ident().map(|ident| folded(parser, ident))).collect()
}

fn alias_of(factor: &TableFactor) -> Option<&TableAlias> {
    match factor {
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::TableFunction { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. }
        | TableFactor::JsonTable { alias, .. }
        | TableFactor::NestedJoin { alias, .. } => alias.as_ref(),
        _ => None,
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
        for expression in expressions {
            self.alias(&expression.alias)?;
        }
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
        if let Some(alias) = alias_of(factor) {
            self.alias(alias)?;
        }
        match factor {
            TableFactor::Table { name, args: Some(_), alias, .. }
            | TableFactor::Function { name, alias, .. } => self.value(name, alias.as_ref()),
            TableFactor::TableFunction { expr: Expr::Function(function), alias } => {
                self.value(&function.name, alias.as_ref());
            }
            TableFactor::UNNEST { alias, .. } => {
                self.value(&ObjectName::from(vec![Ident::new("unnest")]), alias.as_ref());
            }
            _ => {}
        }
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
            TableFactor::Derived { .. } | TableFactor::NestedJoin { .. } | TableFactor::UNNEST { .. } => {
                ControlFlow::Continue(())
            }
            TableFactor::JsonTable { columns, .. } => self.json_columns(columns),
            other => stop("parse", "this form of a table is not known here", other.span().start),
        }
    }

    /// Only a dialect gives its statements values.
    fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<Broken> {
        match &value.value {
            Value::Placeholder(name) if self.author != Author::Dialect => {
                let message = format!("the parameter {name} has no value here; write the value in its place");
                stop("not_permitted", message, value.span.start)
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Broken> {
        match expr {
            Expr::Function(function) => self.call(function),
            Expr::Identifier(ident) => self.word(std::slice::from_ref(ident)),
            Expr::CompoundIdentifier(idents) => {
                if let [.., value, name] = idents.as_slice()
                    && self.has_attributes()
                {
                    self.attributes.push((self.folded(value), name.clone()));
                }
                self.word(idents)
            }
            Expr::CompoundFieldAccess { access_chain, .. } if self.has_attributes() => {
                access_chain.iter().try_for_each(|access| match access {
                    AccessExpr::Dot(Expr::Identifier(name)) => match self.attribute(name) {
                        Ok(()) => ControlFlow::Continue(()),
                        Err(broken) => ControlFlow::Break(broken),
                    },
                    AccessExpr::Dot(other) => {
                        stop("parse", "this form of a field is not known here", other.span().start)
                    }
                    AccessExpr::Subscript(_) => ControlFlow::Continue(()),
                })
            }
            Expr::Cast { data_type, .. } | Expr::Convert { data_type: Some(data_type), .. } => {
                self.data_type(data_type)
            }
            Expr::TypedString(typed) => self.data_type(&typed.data_type),
            Expr::BinaryOp { op: BinaryOperator::PGCustomBinaryOperator(name), .. } if !matches!(name.as_slice(), [_] | [_, _] if name.len() == 1 || name[0] == OWN_SCHEMA) =>
            {
                let message = self.functions.refusal("the operator", &name.join("."));
                stop("denied_function", message, expr.span().start)
            }
            _ => ControlFlow::Continue(()),
        }
    }
}
