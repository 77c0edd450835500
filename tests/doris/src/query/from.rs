//! FROM: tables, subqueries, and their joins.

use sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, Join, JoinConstraint, JoinOperator, Select,
    TableFactor, TableFunctionArgs,
};

use super::expression::{Scope, bind};
use super::value::Value;
use super::{Context, Relation, run, system};
use crate::catalogue::Product;
use crate::parse::Syntax;
use crate::refused;

/// The joined relation of FROM; without FROM one row without columns.
pub fn from(context: &Context, select: &Select) -> Result<Relation, Syntax> {
    let mut joined = Relation { columns: Vec::new(), rows: vec![Vec::new()] };
    for tables in &select.from {
        let mut one = factor(context, &tables.relation)?;
        for join in &tables.joins {
            one = join_with(context, one, join)?;
        }
        joined = product(context, joined, one, None, false)?;
    }
    Ok(joined)
}

fn join_with(context: &Context, left: Relation, join: &Join) -> Result<Relation, Syntax> {
    use JoinOperator::{CrossJoin, Inner, Join as Plain, Left, LeftOuter};
    let right = factor(context, &join.relation)?;
    match &join.join_operator {
        Plain(JoinConstraint::On(on)) | Inner(JoinConstraint::On(on)) => {
            product(context, left, right, Some(on), false)
        }
        Left(JoinConstraint::On(on)) | LeftOuter(JoinConstraint::On(on)) => {
            product(context, left, right, Some(on), true)
        }
        CrossJoin(JoinConstraint::None) => product(context, left, right, None, false),
        _ => Err(refused(format!("this join is not known here: {join}"))),
    }
}

/// All matching pairs of rows; `keeps` rows of the left side without a match.
fn product(
    context: &Context,
    left: Relation,
    right: Relation,
    on: Option<&Expr>,
    keeps: bool,
) -> Result<Relation, Syntax> {
    let nothing = vec![Value::Null; right.columns.len()];
    let columns = [left.columns, right.columns].concat();
    let scope = Scope { context, columns: &columns, aliases: &[], groups: None };
    let on = on.map(|on| bind(scope, on)).transpose()?;
    let mut rows = Vec::new();
    for one in left.rows {
        let before = rows.len();
        let joined = right.rows.iter().map(|other| [&one[..], &other[..]].concat());
        rows.extend(joined.filter(|row| on.as_ref().is_none_or(|on| on.of_row(row).truth() == Some(true))));
        if keeps && rows.len() == before {
            rows.push([&one[..], &nothing[..]].concat());
        }
    }
    Ok(Relation { columns, rows })
}

fn factor(context: &Context, factor: &TableFactor) -> Result<Relation, Syntax> {
    match factor {
        TableFactor::Table {
            name,
            alias,
            args,
            with_hints,
            version: None,
            with_ordinality: false,
            partitions,
            json_path: None,
            sample: None,
            index_hints,
        } if with_hints.is_empty() && partitions.is_empty() && index_hints.is_empty() => {
            let path = name.0.iter().map(|part| part.as_ident().map(|name| name.value.clone()));
            let path =
                path.collect::<Option<Vec<String>>>().ok_or_else(|| refused(format!("strange: {name}")))?;
            let found = match (args, &path[..]) {
                (Some(arguments), [function]) => table_function(context, function, arguments)?,
                (Some(_), _) => return Err(refused(format!("Can not find table function {name}"))),
                (None, [one]) if context.named.contains_key(one) => context.named[one].clone(),
                (None, path) => system::table(context, path)?,
            };
            match alias {
                Some(alias) => found.named(alias),
                None => Ok(under(found, &path)),
            }
        }
        TableFactor::Derived { lateral: false, subquery, alias: Some(alias), sample: None } => {
            run(context, subquery)?.named(alias)
        }
        TableFactor::Derived { alias: None, .. } => {
            Err(refused("Every derived table must have its own alias"))
        }
        other => Err(refused(format!("this is not known here: {other}"))),
    }
}

/// Qualifies its columns with the table's name.
fn under(mut found: Relation, path: &[String]) -> Relation {
    let mut names = path.iter().rev().cloned();
    let (table, database) = (names.next(), names.next());
    for column in &mut found.columns {
        column.table.clone_from(&table);
        column.database.clone_from(&database);
    }
    found
}

fn table_function(context: &Context, name: &str, arguments: &TableFunctionArgs) -> Result<Relation, Syntax> {
    let strange = || refused(format!("Can not find table function {name} with these properties"));
    let doris = context.catalogue.product == Product::Doris;
    if !doris || !name.eq_ignore_ascii_case("numbers") || arguments.settings.is_some() {
        return Err(strange());
    }
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::BinaryOp { left, op: BinaryOperator::Eq, right }))] =
        &arguments.args[..]
    else {
        return Err(strange());
    };
    let text = |expr: &Expr| match expr {
        Expr::Value(value) => value.value.clone().into_string(),
        _ => None,
    };
    match (text(left).as_deref(), text(right).and_then(|digits| digits.parse().ok())) {
        (Some("number"), Some(count)) => system::numbers(count),
        _ => Err(strange()),
    }
}
