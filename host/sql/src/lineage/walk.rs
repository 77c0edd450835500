//! Walks a parsed statement to find the tables that it reads and its effects on tables. Leaves out names of
//! common table expressions in their scopes, functions, files and variables.

use std::collections::HashSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    AssignmentTarget, CopyIntoSnowflakeKind, CopySource, CreateTable, CreateTableLikeKind, CreateView,
    Delete, Expr, FromTable, FunctionArg, FunctionArgExpr, Ident, Insert, Merge, ObjectName, Query, Select,
    SetExpr, Statement, TableFactor, TableObject, TableWithJoins, Update, UpdateTableFromKind, Visit,
    Visitor,
};

use super::dialect::Reading;

/// The limit of comparisons of a statement's names with its tables.
const COMPARED_MAX: usize = 4_000_000;

/// The parts of a table's name, outermost first.
pub(super) type Parts = Vec<Ident>;

/// An effect of a statement on a table.
#[derive(Clone, Debug)]
pub(super) enum Effect {
    /// Sets the database of the following names without one.
    Use(Ident),
    Read(Parts),
    /// The text adds rows.
    Fill(Parts),
    /// Existing rows are replaced or removed.
    Change(Parts),
    /// The text creates this name.
    Make(Parts),
    /// It ends with the session.
    Temporary(Parts),
    Drop(Parts),
    Rename(Parts, Parts),
    Swap(Parts, Parts),
}

impl Effect {
    /// All identifiers in it.
    pub fn idents(&self) -> impl Iterator<Item = &Ident> {
        let (one, other): (&[Ident], &[Ident]) = match self {
            Effect::Use(database) => (std::slice::from_ref(database), &[]),
            Effect::Read(table)
            | Effect::Fill(table)
            | Effect::Change(table)
            | Effect::Make(table)
            | Effect::Temporary(table)
            | Effect::Drop(table) => (table, &[]),
            Effect::Rename(one, other) | Effect::Swap(one, other) => (one, other),
        };
        one.iter().chain(other)
    }
}

/// The effects of a statement, its reads first: they see the tables before its writes.
pub(super) fn effects(reading: Reading, statement: &Statement) -> Vec<Effect> {
    let mut walk =
        Walk { reading, frames: Vec::new(), targets: HashSet::new(), reads: Vec::new(), writes: Vec::new() };
    let ControlFlow::Continue(()) = statement.visit(&mut walk);
    walk.reads.append(&mut walk.writes);
    walk.reads
}

/// The names that one query defines.
struct Frame {
    /// The name, and the address of its query, by which the query is recognised when entered.
    expressions: Vec<(Ident, *const Query)>,
    /// How many of them are visible now.
    visible: usize,
    recursive: bool,
}

struct Walk {
    reading: Reading,
    frames: Vec<Frame>,
    /// Written tables that appear where tables are read.
    targets: HashSet<*const TableFactor>,
    reads: Vec<Effect>,
    writes: Vec<Effect>,
}

/// The parts of a name; `None` if a part is computed at run time.
fn parts(name: &ObjectName) -> Option<Parts> {
    let parts: Option<Parts> = name.0.iter().map(|part| part.as_ident().cloned()).collect();
    parts.filter(|parts| !parts.is_empty())
}

fn same(one: &Ident, other: &Ident) -> bool {
    one.value.eq_ignore_ascii_case(&other.value)
}

/// All tables of a list of joins, including those in parentheses.
fn factors(tables: &[TableWithJoins]) -> Vec<&TableFactor> {
    let mut found = Vec::new();
    let mut left: Vec<&TableWithJoins> = tables.iter().rev().collect();
    while let Some(table) = left.pop() {
        for factor in std::iter::once(&table.relation).chain(table.joins.iter().map(|join| &join.relation)) {
            match factor {
                TableFactor::NestedJoin { table_with_joins, .. } => left.push(table_with_joins),
                other => found.push(other),
            }
        }
    }
    found
}

/// The table's name and alias.
fn named(factor: &TableFactor) -> Option<(&ObjectName, Option<&Ident>)> {
    match factor {
        TableFactor::Table { name, alias, args: None, .. } => {
            Some((name, alias.as_ref().map(|alias| &alias.name)))
        }
        _ => None,
    }
}

/// Whether a statement means this table by that name: by its alias, else by its name or the end of it.
fn is_meant(factor: &TableFactor, name: &[Ident]) -> bool {
    let Some((full, alias)) = named(factor) else { return false };
    if let (Some(alias), [only]) = (alias, name) {
        return same(alias, only);
    }
    let ends = full.0.iter().rev().zip(name.iter().rev());
    let mut ends = ends.map(|(part, name)| part.as_ident().is_some_and(|part| same(part, name)));
    full.0.len() >= name.len() && ends.all(|is_same| is_same)
}

/// The table that a statement means; `None` if there are too many to compare.
fn meant<'t>(factors: &[&'t TableFactor], name: &[Ident], asked: usize) -> Option<&'t TableFactor> {
    if name.is_empty() || factors.len().saturating_mul(asked) > COMPARED_MAX {
        return None;
    }
    factors.iter().find(|factor| is_meant(factor, name)).copied()
}

impl Walk {
    fn is_expression(&self, name: &[Ident]) -> bool {
        let [only] = name else { return false };
        self.frames
            .iter()
            .any(|frame| frame.expressions[..frame.visible].iter().any(|(known, _)| same(known, only)))
    }

    /// Whether the name denotes something other than a table.
    fn is_no_table(&self, name: &[Ident]) -> bool {
        let (Some(first), Some(last)) = (name.first(), name.last()) else { return true };
        let is_file = last.quote_style == Some('\'')
            || self.reading.reads_files() && name.len() == 2 && last.value.contains(['/', ':', '*']);
        let is_dual =
            name.len() == 1 && last.quote_style.is_none() && last.value.eq_ignore_ascii_case("dual");
        is_file || is_dual || first.value.starts_with('@') && first.quote_style.is_none()
    }

    fn read(&mut self, name: &ObjectName) {
        let Some(name) = parts(name) else { return };
        if !self.is_expression(&name) && !self.is_no_table(&name) {
            self.reads.push(Effect::Read(name));
        }
    }

    fn write(&mut self, name: &ObjectName, effect: fn(Parts) -> Effect) {
        if let Some(name) = parts(name).filter(|name| !self.is_no_table(name)) {
            self.writes.push(effect(name));
        }
    }

    /// Records an effect on a table that appears where tables are read.
    fn write_factor(&mut self, factor: &TableFactor, effect: fn(Parts) -> Effect) {
        let Some((name, _)) = named(factor) else { return };
        self.targets.insert(std::ptr::from_ref(factor));
        if !parts(name).is_some_and(|name| self.is_expression(&name)) {
            self.write(name, effect);
        }
    }

    fn insert(&mut self, insert: &Insert) {
        if let TableObject::TableName(name) = &insert.table {
            self.write(name, Effect::Fill);
        }
        let conditional = insert.multi_table_when_clauses.iter().flat_map(|when| &when.into_clauses);
        let otherwise = insert.multi_table_else_clause.iter().flatten();
        for into in insert.multi_table_into_clauses.iter().chain(conditional).chain(otherwise) {
            self.write(&into.table_name, Effect::Fill);
        }
    }

    /// `UPDATE t SET …`, `UPDATE alias SET … FROM t alias`, `UPDATE a JOIN b SET a.x = …`
    fn update(&mut self, update: &Update) {
        let joined = factors(std::slice::from_ref(&update.table));
        let from = update.from.as_ref().map(|from| match from {
            UpdateTableFromKind::BeforeSet(tables) | UpdateTableFromKind::AfterSet(tables) => factors(tables),
        });
        let from = from.unwrap_or_default();
        let Some(first) = joined.first() else { return };
        if joined.len() == 1 {
            let name = named(first).and_then(|(name, _)| parts(name)).unwrap_or_default();
            if let Some(other) = meant(&from, &name, 1) {
                self.targets.insert(std::ptr::from_ref(*first));
                return self.write_factor(other, Effect::Change);
            }
            return self.write_factor(first, Effect::Change);
        }
        let columns = update.assignments.iter().flat_map(|assignment| match &assignment.target {
            AssignmentTarget::ColumnName(name) => std::slice::from_ref(name),
            AssignmentTarget::Tuple(names) => names,
        });
        let owners: Vec<Parts> =
            columns.filter_map(parts).map(|mut name| name.drain(..name.len() - 1).collect()).collect();
        let mut set: Vec<&TableFactor> =
            owners.iter().filter_map(|owner| meant(&joined, owner, owners.len())).collect();
        set.dedup_by_key(|factor| std::ptr::from_ref(*factor));
        for factor in if set.is_empty() { vec![*first] } else { set } {
            self.write_factor(factor, Effect::Change);
        }
    }

    /// `DELETE FROM t USING …`, `DELETE a, b FROM …`
    fn delete(&mut self, delete: &Delete) {
        let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
        let from = factors(from);
        let using = delete.using.as_deref().map(factors).unwrap_or_default();
        if delete.tables.is_empty() {
            for factor in &from {
                let name = named(factor).and_then(|(name, _)| parts(name)).unwrap_or_default();
                match meant(&using, &name, from.len()) {
                    Some(other) => {
                        self.targets.insert(std::ptr::from_ref(*factor));
                        self.write_factor(other, Effect::Change);
                    }
                    None => self.write_factor(factor, Effect::Change),
                }
            }
            return;
        }
        let joined = [from, using].concat();
        for name in &delete.tables {
            match meant(&joined, &parts(name).unwrap_or_default(), delete.tables.len()) {
                Some(factor) => self.write_factor(factor, Effect::Change),
                None => self.write(name, Effect::Change),
            }
        }
    }

    fn create_table(&mut self, create: &CreateTable) {
        let like = create.like.as_ref().map(|like| match like {
            CreateTableLikeKind::Parenthesized(like) | CreateTableLikeKind::Plain(like) => &like.name,
        });
        if let Some(from) = like.or(create.clone.as_ref()) {
            self.read(from);
        }
        self.write(&create.name, Effect::Make);
        if create.temporary {
            self.write(&create.name, Effect::Temporary);
        }
        // An existing table has rows of its own.
        let may_be_old = create.if_not_exists && create.query.is_none();
        self.write(&create.name, if may_be_old { Effect::Change } else { Effect::Fill });
    }

    fn create_view(&mut self, create: &CreateView) {
        self.write(&create.name, Effect::Make);
        if create.temporary {
            self.write(&create.name, Effect::Temporary);
        }
        self.write(&create.name, Effect::Fill);
        if let Some(to) = &create.to {
            self.write(to, Effect::Fill);
        }
    }

    fn merge(&mut self, merge: &Merge) {
        self.write_factor(&merge.table, Effect::Fill);
    }

    fn copy(&mut self, source: &CopySource, is_export: bool) {
        match source {
            CopySource::Table { table_name, .. } if is_export => self.read(table_name),
            CopySource::Table { table_name, .. } => self.write(table_name, Effect::Fill),
            CopySource::Query(_) => {}
        }
    }

    /// The visitor skips the table of `TABLE t`.
    fn table_commands(&mut self, body: &SetExpr) {
        let mut left = vec![body];
        while let Some(body) = left.pop() {
            match body {
                SetExpr::Table(table) => {
                    let names = [&table.schema_name, &table.table_name].into_iter().flatten();
                    let name =
                        ObjectName::from(names.map(|name| Ident::new(name.as_str())).collect::<Vec<_>>());
                    self.read(&name);
                }
                SetExpr::SetOperation { left: one, right: other, .. } => left.extend([&**other, &**one]),
                _ => {}
            }
        }
    }

    /// `FROM orders o, o.items`: a column of a table beside it.
    fn columns_as_tables(&mut self, select: &Select) {
        let mut before = HashSet::new();
        for factor in factors(&select.from) {
            let Some((name, alias)) = named(factor) else { continue };
            let idents: Vec<&Ident> = name.0.iter().filter_map(|part| part.as_ident()).collect();
            let folded = |ident: &Ident| ident.value.to_lowercase();
            if idents.len() > 1 && before.contains(&folded(idents[0])) {
                self.targets.insert(std::ptr::from_ref(factor));
            }
            before.extend(alias.or(idents.last().copied()).map(folded));
        }
    }
}

/// T-SQL's older syntax of hints: `FROM t (NOLOCK)`.
fn are_hints(args: &[FunctionArg]) -> bool {
    const HINTS: &[&str] = &[
        "NOLOCK",
        "READUNCOMMITTED",
        "READCOMMITTED",
        "READPAST",
        "ROWLOCK",
        "TABLOCK",
        "TABLOCKX",
        "UPDLOCK",
        "HOLDLOCK",
        "PAGLOCK",
        "XLOCK",
        "NOWAIT",
        "SERIALIZABLE",
        "REPEATABLEREAD",
        "SNAPSHOT",
    ];
    let is_hint = |arg: &FunctionArg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(word))) => {
            HINTS.iter().any(|hint| word.value.eq_ignore_ascii_case(hint))
        }
        _ => false,
    };
    !args.is_empty() && args.iter().all(is_hint)
}

impl Visitor for Walk {
    type Break = std::convert::Infallible;

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<Self::Break> {
        match statement {
            Statement::Insert(insert) => self.insert(insert),
            Statement::Update(update) => self.update(update),
            Statement::Delete(delete) => self.delete(delete),
            Statement::Merge(merge) => self.merge(merge),
            Statement::CreateTable(create) => self.create_table(create),
            Statement::CreateView(create) => self.create_view(create),
            Statement::CreateVirtualTable { name, .. } => {
                self.write(name, Effect::Make);
                self.write(name, Effect::Fill);
            }
            Statement::AlterView { name, .. } => self.write(name, Effect::Fill),
            Statement::Cache { table_name, query: Some(_), .. } => self.write(table_name, Effect::Fill),
            Statement::Copy { source, to, .. } => self.copy(source, *to),
            Statement::CopyIntoSnowflake { kind, into, from_obj, .. } => match kind {
                CopyIntoSnowflakeKind::Table => self.write(into, Effect::Fill),
                CopyIntoSnowflakeKind::Location => from_obj.iter().for_each(|from| self.read(from)),
            },
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Self::Break> {
        let entered: *const Query = query;
        for frame in &mut self.frames {
            let at = frame.expressions.iter().position(|(_, known)| *known == entered);
            if let Some(at) = at {
                frame.visible = if frame.recursive { frame.expressions.len() } else { at };
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
            recursive: with.is_some_and(|with| with.recursive) || self.reading.recurses_unasked(),
        });
        self.table_commands(&query.body);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<Self::Break> {
        self.frames.pop();
        let left: *const Query = query;
        for frame in &mut self.frames {
            if let Some(at) = frame.expressions.iter().position(|(_, known)| *known == left) {
                frame.visible = if frame.recursive { frame.expressions.len() } else { at + 1 };
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Self::Break> {
        if let Some(into) = select.into.as_ref().filter(|_| !self.reading.selects_into_variables()) {
            for target in &into.targets {
                let name = match target {
                    Expr::Identifier(ident) => ObjectName::from(vec![ident.clone()]),
                    Expr::CompoundIdentifier(idents) => ObjectName::from(idents.clone()),
                    _ => continue,
                };
                self.write(&name, Effect::Make);
                if into.temporary {
                    self.write(&name, Effect::Temporary);
                }
                self.write(&name, Effect::Fill);
            }
        }
        if self.reading.unfolds_columns() {
            self.columns_as_tables(select);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Self::Break> {
        let TableFactor::Table { name, args, .. } = factor else { return ControlFlow::Continue(()) };
        let is_function = args.as_ref().is_some_and(|args| !are_hints(&args.args));
        let is_target = self.targets.contains(&std::ptr::from_ref(factor));
        if !is_function && !is_target {
            self.read(name);
        }
        ControlFlow::Continue(())
    }
}
