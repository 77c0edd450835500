//! One SELECT, from its source to its ordered rows.

use std::cmp::Ordering;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, Ident, OrderByExpr, OrderBySort, Query, Select, SelectItem,
    Value as Literal, Visit, Visitor,
};

use super::expression::{Bound, Scope, bind};
use super::from::from;
use super::value::Value;
use super::{Column, Context, Relation, functions};
use crate::parse::Syntax;
use crate::refused;

pub fn run(context: &Context, select: &Select, order: &[OrderByExpr]) -> Result<Relation, Syntax> {
    check_clauses(select)?;
    let mut source = from(context, select)?;
    let scope = Scope { context, columns: &source.columns, aliases: &[], groups: None };
    if let Some(condition) = &select.selection {
        let condition = bind(scope, condition)?;
        source.rows.retain(|row| condition.of_row(row).truth() == Some(true));
    }
    let scope = Scope { context, columns: &source.columns, aliases: &[], groups: None };
    let shown = shown(select, &source.columns)?;
    let by = group_expressions(select, &shown, scope)?;
    let aggregates = shown.iter().any(|(_, expr)| has_aggregate(expr))
        || select.having.as_ref().is_some_and(has_aggregate)
        || order.iter().any(|one| has_aggregate(&one.expr));
    let groups = match by.is_empty() && !aggregates && select.having.is_none() {
        true => None,
        false => Some(&by[..]),
    };
    let rows: Vec<Vec<&[Value]>> = match groups {
        None => source.rows.iter().map(|row| vec![&row[..]]).collect(),
        Some(by) => grouped(&source.rows, scope, by)?,
    };
    let scope = Scope { groups, aliases: &shown, ..scope };
    let plain = Scope { aliases: &[], ..scope };
    let cells = shown.iter().map(|(_, expr)| bind(plain, expr)).collect::<Result<Vec<Bound>, _>>()?;
    let having = select.having.as_ref().map(|condition| bind(scope, condition)).transpose()?;
    let keys = order_keys(order, &shown, scope)?;
    let mut found: Vec<(Vec<Value>, Vec<Value>)> = Vec::new();
    for group in rows.iter().map(|group| &group[..]) {
        if having.as_ref().is_some_and(|having| (having.evaluate)(group).truth() != Some(true)) {
            continue;
        }
        let row: Vec<Value> = cells.iter().map(|cell| (cell.evaluate)(group)).collect();
        if select.distinct.is_some() && found.iter().any(|(_, other)| *other == row) {
            continue;
        }
        found.push((keys.iter().map(|(key, _)| (key.evaluate)(group)).collect(), row));
    }
    found.sort_by(|(one, _), (other, _)| {
        let pairs = one.iter().zip(other).zip(&keys);
        let orders = pairs.map(|((one, other), (_, descends))| match descends {
            true => other.order(one),
            false => one.order(other),
        });
        orders.fold(Ordering::Equal, Ordering::then)
    });
    let columns = shown.iter().zip(&cells).map(|((name, _), cell)| Column::new(name, cell.kind));
    Ok(Relation { columns: columns.collect(), rows: found.into_iter().map(|(_, row)| row).collect() })
}

/// Refuses clauses of other databases.
fn check_clauses(select: &Select) -> Result<(), Syntax> {
    let lists = [
        select.connect_by.is_empty(),
        select.cluster_by.is_empty(),
        select.distribute_by.is_empty(),
        select.sort_by.is_empty(),
        select.named_window.is_empty(),
        select.lateral_views.is_empty(),
    ];
    let clauses = [
        select.top.is_none(),
        select.into.is_none(),
        select.prewhere.is_none(),
        select.qualify.is_none(),
        select.exclude.is_none(),
        select.value_table_mode.is_none(),
        select.select_modifiers.is_none(),
        matches!(select.distinct, None | Some(Distinct::Distinct)),
    ];
    if lists.into_iter().chain(clauses).all(|known| known) {
        return Ok(());
    }
    Err(refused(format!("a clause of this query is not known here: {select}")))
}

/// The SELECT list with names.
fn shown(select: &Select, columns: &[Column]) -> Result<Vec<(String, Expr)>, Syntax> {
    let mut shown = Vec::new();
    for item in &select.projection {
        match item {
            SelectItem::ExprWithAlias { expr, alias } => shown.push((alias.value.clone(), expr.clone())),
            SelectItem::UnnamedExpr(expr) => {
                let name = match expr {
                    Expr::CompoundIdentifier(path) => path.last().map(|name| name.value.clone()),
                    Expr::Identifier(name) => Some(name.value.clone()),
                    _ => None,
                };
                shown.push((name.unwrap_or_else(|| expr.to_string()), expr.clone()));
            }
            SelectItem::Wildcard(_) => shown.extend(columns.iter().map(|column| {
                let path = column.table.iter().chain([&column.name]);
                let path = path.map(|name| Ident::with_quote('`', name));
                (column.name.clone(), Expr::CompoundIdentifier(path.collect()))
            })),
            other => return Err(refused(format!("this is not known here: {other}"))),
        }
    }
    Ok(shown)
}

/// GROUP BY, with positions and aliases resolved.
fn group_expressions(select: &Select, shown: &[(String, Expr)], scope: Scope) -> Result<Vec<Expr>, Syntax> {
    let GroupByExpr::Expressions(list, modifiers) = &select.group_by else {
        return Err(refused("this GROUP BY is not known here"));
    };
    if !modifiers.is_empty() {
        return Err(refused("this GROUP BY is not known here"));
    }
    let resolved = list.iter().map(|expr| -> Result<Expr, Syntax> {
        let expr = positioned(expr, shown)?;
        match expr {
            Expr::Identifier(name) if bind(scope, expr).is_err() => {
                let alias = shown.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(&name.value));
                Ok(alias.map_or(expr, |(_, expr)| expr).clone())
            }
            expr => Ok(expr.clone()),
        }
    });
    resolved.collect()
}

/// The item of a list for a position, or the expression itself.
fn positioned<'a>(expr: &'a Expr, shown: &'a [(String, Expr)]) -> Result<&'a Expr, Syntax> {
    let Expr::Value(value) = expr else { return Ok(expr) };
    let Literal::Number(digits, _) = &value.value else { return Ok(expr) };
    let at = digits.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let item = at.and_then(|at| shown.get(at));
    item.map(|(_, expr)| expr).ok_or_else(|| refused(format!("position {digits} is not in the list")))
}

fn order_keys(
    order: &[OrderByExpr],
    shown: &[(String, Expr)],
    scope: Scope,
) -> Result<Vec<(Bound, bool)>, Syntax> {
    let keys = order.iter().map(|one| -> Result<(Bound, bool), Syntax> {
        if one.with_fill.is_some() || one.options.nulls_first.is_some() {
            return Err(refused("this ORDER BY is not known here"));
        }
        let descends = match one.options.sort {
            None | Some(OrderBySort::Asc) => false,
            Some(OrderBySort::Desc) => true,
            Some(_) => return Err(refused("this ORDER BY is not known here")),
        };
        Ok((bind(scope, positioned(&one.expr, shown)?)?, descends))
    });
    keys.collect()
}

/// Whether an expression aggregates rows. Subqueries do not count.
fn has_aggregate(expr: &Expr) -> bool {
    struct Finder(u32);
    impl Visitor for Finder {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.0 += 1;
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.0 -= 1;
            ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Function(function) if self.0 == 0 && functions::is_aggregate(function) => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    expr.visit(&mut Finder(0)).is_break()
}

/// Rows by group, the groups in the order of their first rows. Without expressions there is one group, even
/// if it has no rows.
fn grouped<'r>(rows: &'r [Vec<Value>], scope: Scope, by: &[Expr]) -> Result<Vec<Vec<&'r [Value]>>, Syntax> {
    let keys = by.iter().map(|expr| bind(scope, expr)).collect::<Result<Vec<Bound>, _>>()?;
    if keys.is_empty() {
        return Ok(vec![rows.iter().map(|row| &row[..]).collect()]);
    }
    let mut groups: Vec<(Vec<Value>, Vec<&[Value]>)> = Vec::new();
    for row in rows {
        let key: Vec<Value> = keys.iter().map(|key| key.of_row(row)).collect();
        match groups.iter_mut().find(|(other, _)| *other == key) {
            Some((_, members)) => members.push(row),
            None => groups.push((key, vec![&row[..]])),
        }
    }
    Ok(groups.into_iter().map(|(_, members)| members).collect())
}
