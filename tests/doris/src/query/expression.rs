//! Expressions: resolved names, types checked like the server's, and a function from rows to a value.
//!
//! An expression is evaluated over the rows of a group; outside of groups these are one row. Unsupported
//! expressions are refused by name.

use std::cmp::Ordering;

use sqlparser::ast::{BinaryOperator, CastKind, DataType, Expr, Ident, UnaryOperator, Value as Literal};

use super::functions;
use super::value::{Kind, Value};
use super::{Column, Context, run};
use crate::catalogue::Product;
use crate::parse::Syntax;
use crate::refused;

pub type Rows<'r> = [&'r [Value]];
type Evaluate = Box<dyn Fn(&Rows) -> Value>;

/// An expression with its type.
pub struct Bound {
    pub kind: Kind,
    pub evaluate: Evaluate,
}

impl Bound {
    pub fn new(kind: Kind, evaluate: impl Fn(&Rows) -> Value + 'static) -> Bound {
        Bound { kind, evaluate: Box::new(evaluate) }
    }

    pub fn constant(kind: Kind, value: Value) -> Bound {
        Bound::new(kind, move |_| value.clone())
    }

    pub fn of_row(&self, row: &[Value]) -> Value {
        (self.evaluate)(&[row])
    }
}

/// The names that an expression can use, and its context.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    pub context: &'a Context<'a>,
    pub columns: &'a [Column],
    /// Names of the SELECT list, where they may be used.
    pub aliases: &'a [(String, Expr)],
    /// In a query with groups: the grouping expressions.
    pub groups: Option<&'a [Expr]>,
}

impl Scope<'_> {
    fn of_one_row(self) -> Self {
        Scope { groups: None, ..self }
    }
}

pub fn unknown(expr: &Expr) -> Syntax {
    refused(format!("this expression is not known here: {expr}"))
}

/// Resolves names and checks types.
pub fn bind(scope: Scope, expr: &Expr) -> Result<Bound, Syntax> {
    if scope.groups.is_some_and(|groups| groups.contains(expr)) {
        return bind(scope.of_one_row(), expr);
    }
    match expr {
        Expr::Nested(inner) => bind(scope, inner),
        Expr::Value(literal) => constant(&literal.value).ok_or_else(|| unknown(expr)),
        Expr::Identifier(name) => named(scope, name),
        Expr::CompoundIdentifier(path) => column(scope, path),
        Expr::IsNull(inner) => null_test(scope, inner, true),
        Expr::IsNotNull(inner) => null_test(scope, inner, false),
        Expr::InList { expr, list, negated } => {
            let list = list.iter().map(|one| bind(scope, one)).collect::<Result<Vec<_>, _>>()?;
            membership(bind(scope, expr)?, list, *negated)
        }
        Expr::InSubquery { expr, subquery, negated } => {
            let found = run(scope.context, subquery)?;
            let [Column { kind, .. }] = found.columns[..] else {
                return Err(refused("Multiple columns returned by subquery are not yet supported"));
            };
            let list = found.rows.into_iter().flatten().map(|value| Bound::constant(kind, value));
            membership(bind(scope, expr)?, list.collect(), *negated)
        }
        Expr::Subquery(query) => {
            let found = run(scope.context, query)?;
            match (&found.columns[..], found.rows.len()) {
                ([Column { kind, .. }], 0) => Ok(Bound::constant(*kind, Value::Null)),
                ([Column { kind, .. }], 1) => Ok(Bound::constant(*kind, found.rows[0][0].clone())),
                _ => Err(refused("Expected no more than 1 to be returned by expression")),
            }
        }
        Expr::Between { expr, negated, low, high } => {
            let (value, low, high) = (bind(scope, expr)?, bind(scope, low)?, bind(scope, high)?);
            let negated = *negated;
            Ok(Bound::new(Kind::Boolean, move |rows| {
                let value = (value.evaluate)(rows);
                let above = value.compare(&(low.evaluate)(rows)).map(Ordering::is_ge);
                let below = value.compare(&(high.evaluate)(rows)).map(Ordering::is_le);
                Value::of_truth(above.zip(below).map(|(above, below)| (above && below) != negated))
            }))
        }
        Expr::BinaryOp { left, op, right } => operation(expr, bind(scope, left)?, op, bind(scope, right)?),
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => {
            let inner = bind(scope, expr)?;
            let not = move |rows: &Rows| Value::of_truth((inner.evaluate)(rows).truth().map(|truth| !truth));
            Ok(Bound::new(Kind::Boolean, not))
        }
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
            let zero = Bound::constant(Kind::Integer, Value::Integer(0));
            operation(expr, zero, &BinaryOperator::Minus, bind(scope, expr)?)
        }
        Expr::Cast { kind: CastKind::Cast, expr, data_type, format: None } => {
            cast(scope.context, bind(scope, expr)?, data_type)
        }
        Expr::Substring { expr, substring_from: Some(from), substring_for, .. } => {
            let parts = [Some(expr), Some(from), substring_for.as_ref()];
            let parts = parts.into_iter().flatten().map(|part| bind(scope, part));
            functions::call(scope.context, "substr", parts.collect::<Result<_, _>>()?)
        }
        Expr::Function(function) => {
            functions::bind_call(scope, function).map_err(|refusal| refusal.unwrap_or_else(|| unknown(expr)))
        }
        _ => Err(unknown(expr)),
    }
}

fn constant(literal: &Literal) -> Option<Bound> {
    let (kind, value) = match literal {
        Literal::Null => (Kind::Boolean, Value::Null),
        Literal::Boolean(truth) => (Kind::Boolean, Value::Integer((*truth).into())),
        Literal::SingleQuotedString(text) | Literal::DoubleQuotedString(text) => {
            (Kind::Text, Value::Text(text.clone()))
        }
        Literal::Number(digits, false) => match digits.parse() {
            Ok(number) => (Kind::Integer, Value::Integer(number)),
            Err(_) => {
                let scale = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len());
                (Kind::Decimal(u32::try_from(scale).ok()?), Value::Number(digits.parse().ok()?))
            }
        },
        _ => return None,
    };
    Some(Bound::constant(kind, value))
}

fn named(scope: Scope, name: &Ident) -> Result<Bound, Syntax> {
    if let Some(variable) = name.value.strip_prefix("@@") {
        let value = (scope.context.variable)(variable)
            .ok_or_else(|| (1193, format!("Unknown system variable '{variable}'")))?;
        return Ok(match value.parse() {
            Ok(number) => Bound::constant(Kind::Integer, Value::Integer(number)),
            Err(_) => Bound::constant(Kind::Text, Value::Text(value)),
        });
    }
    let alias = scope.aliases.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(&name.value));
    match (column(scope, std::slice::from_ref(name)), alias) {
        (Err(_), Some((_, expr))) => bind(Scope { aliases: &[], ..scope }, expr),
        (found, _) => found,
    }
}

fn column(scope: Scope, path: &[Ident]) -> Result<Bound, Syntax> {
    let at = place(scope.columns, path)?;
    let is_it = |group: &Expr| match group {
        Expr::Identifier(name) => place(scope.columns, std::slice::from_ref(name)).ok() == Some(at),
        Expr::CompoundIdentifier(path) => place(scope.columns, path).ok() == Some(at),
        _ => false,
    };
    if scope.groups.is_some_and(|groups| !groups.iter().any(is_it)) {
        let shown = &scope.columns[at].name;
        return Err(refused(format!(
            "{shown} must appear in the GROUP BY clause or be used in an aggregate function"
        )));
    }
    // No rows: the group of an aggregate over nothing.
    let value = move |rows: &Rows| rows.first().map_or(Value::Null, |row| row[at].clone());
    Ok(Bound::new(scope.columns[at].kind, value))
}

/// The index of a named column.
fn place(columns: &[Column], path: &[Ident]) -> Result<usize, Syntax> {
    let mut names = path.iter().rev().map(|part| part.value.as_str());
    let (name, table, database) = (names.next().unwrap_or_default(), names.next(), names.next());
    let fits = |column: &Column| {
        column.name.eq_ignore_ascii_case(name)
            && table.is_none_or(|table| column.table.as_deref() == Some(table))
            && database.is_none_or(|database| column.database.as_deref() == Some(database))
    };
    let shown = path.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join(".");
    let mut found = columns.iter().enumerate().filter(|(_, column)| fits(column));
    let (at, _) = found.next().ok_or_else(|| refused(format!("Unknown column '{shown}' in 'table list'")))?;
    match found.next() {
        None => Ok(at),
        Some(_) => Err(refused(format!("{shown} is ambiguous"))),
    }
}

fn null_test(scope: Scope, inner: &Expr, wanted: bool) -> Result<Bound, Syntax> {
    let inner = bind(scope, inner)?;
    let test = move |rows: &Rows| Value::of_truth(Some((inner.evaluate)(rows).is_null() == wanted));
    Ok(Bound::new(Kind::Boolean, test))
}

fn membership(value: Bound, list: Vec<Bound>, negated: bool) -> Result<Bound, Syntax> {
    for one in &list {
        value.kind.common(one.kind)?;
    }
    Ok(Bound::new(Kind::Boolean, move |rows| {
        let value = (value.evaluate)(rows);
        let equal = |one: &Bound| value.compare(&(one.evaluate)(rows)).map(Ordering::is_eq);
        let tests: Vec<Option<bool>> = list.iter().map(equal).collect();
        let found = tests.contains(&Some(true));
        let truth = (found || !tests.contains(&None)).then_some(found);
        Value::of_truth(truth.map(|truth| truth != negated))
    }))
}

fn operation(expr: &Expr, left: Bound, op: &BinaryOperator, right: Bound) -> Result<Bound, Syntax> {
    use BinaryOperator::*;
    match op {
        And | Or => {
            let ends = *op == Or;
            Ok(Bound::new(Kind::Boolean, move |rows| {
                let (left, right) = ((left.evaluate)(rows).truth(), (right.evaluate)(rows).truth());
                Value::of_truth(match (left, right) {
                    (Some(one), _) | (_, Some(one)) if one == ends => Some(ends),
                    (Some(_), Some(_)) => Some(!ends),
                    _ => None,
                })
            }))
        }
        Eq | NotEq | Lt | LtEq | Gt | GtEq | Spaceship => {
            left.kind.common(right.kind)?;
            let op = op.clone();
            Ok(Bound::new(Kind::Boolean, move |rows| {
                let (left, right) = ((left.evaluate)(rows), (right.evaluate)(rows));
                let order = left.compare(&right);
                Value::of_truth(match op {
                    Spaceship if left.is_null() || right.is_null() => Some(left.is_null() == right.is_null()),
                    Eq | Spaceship => order.map(Ordering::is_eq),
                    NotEq => order.map(Ordering::is_ne),
                    Lt => order.map(Ordering::is_lt),
                    LtEq => order.map(Ordering::is_le),
                    Gt => order.map(Ordering::is_gt),
                    _ => order.map(Ordering::is_ge),
                })
            }))
        }
        Plus | Minus | Multiply | Divide | Modulo | MyIntegerDivide => arithmetic(expr, left, op, right),
        _ => Err(unknown(expr)),
    }
}

fn arithmetic(expr: &Expr, left: Bound, op: &BinaryOperator, right: Bound) -> Result<Bound, Syntax> {
    use BinaryOperator::*;
    let kind = match (op, left.kind, right.kind) {
        (_, Kind::Array, _) | (_, _, Kind::Array) => return Err(unknown(expr)),
        (_, one, other) if one.is_time() || other.is_time() => return Err(unknown(expr)),
        (MyIntegerDivide, ..) => Kind::Integer,
        (_, Kind::Text | Kind::Double, _) | (_, _, Kind::Text | Kind::Double) => Kind::Double,
        (Multiply, Kind::Decimal(one), Kind::Decimal(other)) => Kind::Decimal(one + other),
        (Divide, Kind::Decimal(scale), _) | (Divide, _, Kind::Decimal(scale)) => Kind::Decimal(scale + 4),
        (Divide, ..) => Kind::Double,
        (_, one, other) => one.common(other)?,
    };
    let op = op.clone();
    let number = move |left: f64, right: f64| match op {
        Plus => Some(left + right),
        Minus => Some(left - right),
        Multiply => Some(left * right),
        _ if right == 0.0 => None,
        Divide => Some(left / right),
        Modulo => Some(left % right),
        _ => Some((left / right).trunc()),
    };
    Ok(Bound::new(kind, move |rows| {
        let (left, right) = ((left.evaluate)(rows).number(), (right.evaluate)(rows).number());
        let result = left.zip(right).and_then(|(left, right)| number(left, right));
        result.map_or(Value::Null, |number| match kind {
            Kind::Integer | Kind::Boolean => Value::Integer(number as i64),
            _ => Value::Number(number),
        })
    }))
}

fn cast(context: &Context, inner: Bound, to: &DataType) -> Result<Bound, Syntax> {
    let target = match to {
        DataType::String(_) | DataType::Varchar(_) | DataType::Char(_) => Kind::Text,
        DataType::TinyInt(_) | DataType::SmallInt(_) | DataType::Int(_) | DataType::BigInt(_) => {
            Kind::Integer
        }
        DataType::Boolean => Kind::Boolean,
        DataType::Double(_) | DataType::Float(_) => Kind::Double,
        DataType::Decimal(info) => Kind::Decimal(match info {
            sqlparser::ast::ExactNumberInfo::PrecisionAndScale(_, scale) => {
                u32::try_from(*scale).unwrap_or(0)
            }
            _ => 0,
        }),
        DataType::Date => Kind::Date,
        DataType::Datetime(digits) => Kind::DateTime(digits.map_or(0, |digits| digits as u32)),
        other => return Err(refused(format!("this type is not known here: {other}"))),
    };
    let doris = context.catalogue.product == Product::Doris;
    let from = inner.kind;
    let never =
        from == Kind::Array && (doris || target != Kind::Text) || from.is_time() && target == Kind::Boolean;
    if never {
        let from = if from == Kind::Array { "ARRAY<TEXT>".to_owned() } else { format!("{from:?}") };
        let target = if target == Kind::Text { "TEXT".to_owned() } else { to.to_string() };
        return Err(refused(format!("can not cast from origin type {from} to target type={target}")));
    }
    Ok(Bound::new(target, move |rows| {
        let value = (inner.evaluate)(rows);
        let cast = match target {
            Kind::Text => value.text(from).map(Value::Text),
            Kind::Integer | Kind::Boolean => value.number().map(|number| Value::Integer(number as i64)),
            Kind::Double | Kind::Decimal(_) => value.number().map(Value::Number),
            Kind::Date | Kind::DateTime(_) => value.time().map(Value::Time),
            Kind::Array => None,
        };
        cast.unwrap_or(Value::Null)
    }))
}
