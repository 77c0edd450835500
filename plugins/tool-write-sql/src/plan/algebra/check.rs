//! Refuses a query that would not run, would count rows several times, or has a member that its form ignores.

use super::read::Reader;
use crate::plan::query::{Column, Derived, Expr, FirstOfEach, Query};
use crate::schema::{Kind, Place};
use crate::sql::PLACE_IN_GROUP;
use crate::understand::meaning::Test;
use crate::words::phrases::Func;

impl Reader<'_> {
    pub(super) fn check(&self, query: &Query, joined: &[usize]) -> Result<(), String> {
        check_names(query)?;
        self.check_tables(query, joined)?;
        self.check_kinds(query)?;
        check_groups(query)?;
        check_shapes(query)?;
        check_derived(query)
    }

    /// Fields are of joined tables, and no join makes a sum wrong.
    fn check_tables(&self, query: &Query, joined: &[usize]) -> Result<(), String> {
        if let Some(place) = query.places().find(|place| !joined.contains(&place.table)) {
            let name = &self.schema().table(place.table).name;
            return Err(format!("a field of {name} is used: add {name} to `join`"));
        }
        if let Some(step) = query.joins.iter().find(|step| !step.up)
            && query.exprs().any(adds)
        {
            return Err(format!(
                "the join to {} repeats rows, so that a sum or an average would count them several times: begin `from` the \
                 table of the number",
                self.schema().table(step.to()).name
            ));
        }
        match query.exprs().filter_map(summed).find(|place| place.table != query.from) {
            Some(place) => Err(format!(
                "{} is repeated for each row of {}: begin `from` the table of the number",
                self.schema().full_name(place),
                self.schema().table(query.from).name
            )),
            None => Ok(()),
        }
    }

    /// Sums are of numbers, and days of times.
    fn check_kinds(&self, query: &Query) -> Result<(), String> {
        for expr in query.exprs() {
            if let Some(place) = summed(expr) {
                self.is_number(place, "a sum, an average or a median")?;
            }
            if let Expr::Start(_, place) | Expr::Cycle(_, place) = expr {
                self.is_time(place)?;
            }
        }
        if let Some(Expr::Made(_, place)) = query.averaged {
            self.is_number(place, "an average of groups")?;
        }
        for (expr, test) in &query.having {
            if let (Expr::Made(_, place), Test::Number(..) | Test::Numbers(_) | Test::Between(..)) =
                (expr, test)
            {
                self.is_number(*place, "a comparison with a number")?;
            }
            if let (Expr::Made(_, place), Test::Days(_)) = (expr, test) {
                self.is_time(*place)?;
            }
        }
        let follows = query.derived.iter().filter(|(kind, _)| !matches!(kind, Derived::Before(_)));
        for (kind, _) in follows {
            if let Expr::Made(_, place) = query.columns[kind.column()].expr {
                self.is_number(place, "what follows from a number")?;
            }
        }
        query.time.into_iter().try_for_each(|place| self.is_time(place))?;
        let related = query.present.iter().chain(&query.absent).flat_map(|related| &related.conditions);
        query.filters().chain(related).try_for_each(|filter| self.check_test(filter.place, &filter.test))
    }

    fn check_test(&self, place: Place, test: &Test) -> Result<(), String> {
        match test {
            Test::Number(..) | Test::Numbers(_) | Test::Between(..) | Test::Versus(..) => {
                self.is_number(place, "a comparison with a number")
            }
            Test::Days(_) | Test::Weekdays(_) => self.is_time(place),
            Test::Among(..) | Test::Has(..) if self.schema().field(place).kind() == Kind::Number => {
                Err(format!(
                    "{} holds numbers: compare it with `equal` or `among`",
                    self.schema().full_name(place)
                ))
            }
            Test::AnyOf(tests) => tests.iter().try_for_each(|test| match test {
                Test::Versus(..) | Test::Weekdays(_) => Err("anyOf: numbers, texts and days only".to_owned()),
                test => self.check_test(place, test),
            }),
            Test::Among(..) | Test::Has(..) | Test::Present => Ok(()),
        }
    }

    fn is_number(&self, place: Place, needed_by: &str) -> Result<(), String> {
        match self.schema().field(place).is_number() {
            true => Ok(()),
            false => {
                Err(format!("{} holds no numbers, which {needed_by} needs", self.schema().full_name(place)))
            }
        }
    }

    fn is_time(&self, place: Place) -> Result<(), String> {
        match self.schema().field(place).kind() {
            Kind::Date => Ok(()),
            _ => Err(format!("{} holds no days, as yyyy-MM-dd", self.schema().full_name(place))),
        }
    }
}

/// The field whose values are added up.
fn summed(expr: Expr) -> Option<Place> {
    match expr {
        Expr::Made(Func::Sum | Func::Average | Func::Median, place) | Expr::Part(place) => Some(place),
        Expr::Per(sum, _) => sum,
        _ => None,
    }
}

/// Whether repeated rows would change it.
fn adds(expr: Expr) -> bool {
    summed(expr).is_some() || matches!(expr, Expr::Share(_) | Expr::Per(..))
}

fn is_median(expr: Expr) -> bool {
    matches!(expr, Expr::Made(Func::Median, _))
}

/// Each column has a name of its own.
fn check_names(query: &Query) -> Result<(), String> {
    // A calendar's first column is called by its unit.
    let unit = query.calendar.filter(|_| query.averaged.is_none()).map(|(unit, _)| unit.word());
    let names = query.columns.iter().map(|column| column.alias.as_str());
    let names = names.chain(query.derived.iter().map(|(_, name)| name.as_str())).chain(unit);
    let names: Vec<String> = names.map(str::to_lowercase).collect();
    match names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
        Some((_, name)) => Err(format!("columns: {name} is there twice")),
        None => Ok(()),
    }
}

/// Beside numbers there are only groups, and conditions of numbers are of groups.
fn check_groups(query: &Query) -> Result<(), String> {
    if query.groups.iter().any(|expr| expr.is_number()) {
        return Err("groupBy: fields, `start` and `cycle` only".to_owned());
    }
    let is_grouped = |expr: Expr| expr.is_number() || query.groups.contains(&expr);
    let has_numbers = query.columns.iter().any(|column| column.measure);
    if has_numbers || !query.groups.is_empty() {
        let columns = query.columns.iter().map(|column| column.expr);
        let mut columns = columns.filter(|_| query.calendar.is_none());
        if !columns.all(is_grouped) || !query.order.iter().all(|(expr, _)| is_grouped(*expr)) {
            return Err("beside numbers, each other column, and what it is ordered by, must be in `groupBy`"
                .to_owned());
        }
    } else if query.order.iter().any(|(expr, _)| expr.is_number()) {
        return Err(
            "order: rows are ordered by fields; numbers need a number in `columns`, or `groupBy`".to_owned()
        );
    } else if !query.having.is_empty() || query.known.is_some() {
        return Err("`having` and `known` need a number in `columns`, or `groupBy`".to_owned());
    }
    let conditions = query.having.iter().map(|(expr, _)| *expr).chain(query.known);
    if conditions.clone().any(|expr| !expr.is_number() || is_median(expr)) {
        return Err("`having` and `known` are of numbers, but not of a median".to_owned());
    }
    let fits = |(expr, test): &(Expr, Test)| match test {
        Test::Number(..) | Test::Numbers(_) | Test::Between(..) | Test::Present => true,
        // The first or the last day of a group.
        Test::Days(_) => matches!(expr, Expr::Made(Func::Least | Func::Greatest, _)),
        _ => false,
    };
    if !query.having.iter().all(fits) {
        return Err(
            "having: a number is compared with numbers, a `least` or `greatest` day with days".to_owned()
        );
    }
    let is_shown = |expr: &Expr| query.columns.iter().any(|column| column.expr == *expr);
    if query.different && !query.order.iter().all(|(expr, _)| is_shown(expr)) {
        return Err("order: with `distinct`, by columns only".to_owned());
    }
    Ok(())
}

/// The members of one form stand alone.
fn check_shapes(query: &Query) -> Result<(), String> {
    let has_median = query.exprs().any(is_median);
    let of_groups = query.of_groups || query.averaged.is_some();
    let given = [
        ("groupBy", !query.groups.is_empty()),
        ("having", !query.having.is_empty()),
        ("known", query.known.is_some()),
        ("order", !query.order.is_empty()),
        ("limit", query.limit_asked),
        ("offset", query.offset > 0),
        ("distinct", query.different),
        ("derived", !query.derived.is_empty()),
        ("every", query.calendar.is_some()),
        ("compare", query.periods.is_some()),
        ("firstOfEach", query.first_of_each.is_some()),
        ("ofGroups", of_groups),
    ];
    let alone =
        |what: &str, others: &[&str]| match given.iter().find(|(name, is)| *is && others.contains(name)) {
            Some((name, _)) => Err(format!("{what} and `{name}` do not go together")),
            None => Ok(()),
        };
    if query.calendar.is_some() {
        if !query.columns.iter().all(|column| column.measure) {
            return Err("`every` makes the first column; the others must be numbers".to_owned());
        }
        alone("`every`", &["known", "offset", "distinct", "compare", "firstOfEach"])?;
        check_order_of_units(query)?;
        // Groups are counted by their first time.
        if !query.of_groups {
            alone("`every`", &["groupBy", "having"])?;
        }
    }
    if has_median {
        let others =
            ["having", "known", "distinct", "derived", "every", "compare", "firstOfEach", "ofGroups"];
        alone("a median", &others)?;
        let mut numbers = query.columns.iter().filter(|column| column.measure);
        let median = numbers.next().map(|column| column.expr).filter(|expr| is_median(*expr));
        let fits = |expr: Expr| !expr.is_number() || Some(expr) == median;
        if median.is_none() || numbers.next().is_some() || !query.order.iter().all(|(expr, _)| fits(*expr)) {
            return Err("a median is the only number in `columns` and in `order`".to_owned());
        }
    }
    if let Some(FirstOfEach { of, .. }) = &query.first_of_each {
        alone("`firstOfEach`", &["offset", "having", "distinct", "derived", "ofGroups"])?;
        if of.is_empty() || !of.iter().all(|expr| query.groups.contains(expr)) {
            return Err("firstOfEach.of: some of `groupBy`".to_owned());
        }
        if !of.iter().all(|expr| query.columns.iter().any(|column| column.expr == *expr)) {
            return Err("firstOfEach.of: columns".to_owned());
        }
        if query.columns.iter().any(|column| column.alias.eq_ignore_ascii_case(PLACE_IN_GROUP)) {
            return Err(format!("columns: beside `firstOfEach` none is called {PLACE_IN_GROUP}"));
        }
        if query.order.iter().all(|(expr, _)| of.contains(expr)) {
            return Err("`firstOfEach` needs an `order` within the groups".to_owned());
        }
    }
    if of_groups {
        alone("`ofGroups`", &["order", "limit", "offset", "distinct", "derived", "compare"])?;
        let [Column { measure: true, .. }] = query.columns[..] else {
            return Err("`ofGroups` has one column, a number".to_owned());
        };
        if query.of_groups && query.columns[0].expr != Expr::Rows {
            return Err("`ofGroups`: \"count\" has the column {\"rows\": true}".to_owned());
        }
        if query.averaged.is_some_and(|expr| expr != query.columns[0].expr) {
            return Err("`ofGroups` and its column are of the same number".to_owned());
        }
        let averages_units = query.averaged.is_some() && query.calendar.is_some();
        if averages_units && query.above.is_some() {
            return Err("`every` and `shareAbove` do not go together".to_owned());
        }
        if query.groups.is_empty() && !averages_units || query.averaged.is_some_and(|expr| !expr.is_number())
        {
            return Err("`ofGroups` needs `groupBy`, and a number of the groups".to_owned());
        }
    }
    if query.periods.is_some() && !query.columns.iter().any(|column| column.measure) {
        return Err("`compare` needs a number in `columns`".to_owned());
    }
    if query.exprs().any(|expr| matches!(expr, Expr::Share(_) | Expr::Part(_))) != query.share.is_some() {
        return Err(
            "`share` is the condition of the columns {\"share\": …} and {\"part\": …}: give both".to_owned()
        );
    }
    if query.whole.is_some() && (query.share.is_none() || query.periods.is_some()) {
        return Err("`whole` stands beside `share`, without `compare`".to_owned());
    }
    if query.offset > 0 && (query.order.is_empty() || !query.limit_asked) {
        return Err("`offset` needs an `order` and a `limit`".to_owned());
    }
    if query.fiscal.is_some() && !query.names_quarters() {
        return Err(
            "`fiscalYearBegins` names quarters: it needs `every` quarter, or a column of their starts"
                .to_owned(),
        );
    }
    if query.outer.is_some() && !matches!(query.joins[..], [step] if !step.up) {
        return Err("`keepAll` needs one join, to a table whose rows refer to `from`".to_owned());
    }
    Ok(())
}

/// Calendar units are ordered by their only number, with a limit, or by themselves.
fn check_order_of_units(query: &Query) -> Result<(), String> {
    let is_right = match (&query.order[..], query.limit_asked) {
        ([], false) => true,
        ([(expr, _)], true) => {
            let is_only = matches!(&query.columns[..], [column] if column.expr == *expr);
            is_only && expr.is_zero_of_nothing() && query.averaged.is_none() && query.derived.is_empty()
        }
        _ => false,
    };
    match is_right {
        true => Ok(()),
        false => Err(
            "`every` and `order` go together only by the only column, a count or a sum, and with a `limit`"
                .to_owned(),
        ),
    }
}

/// A number follows from another one where there is what it needs.
fn check_derived(query: &Query) -> Result<(), String> {
    for (kind, name) in &query.derived {
        let adds_up = query.columns[kind.column()].expr.adds_up();
        let (is_right, needs) = match kind {
            Derived::Before(_) | Derived::Change(_) | Derived::Growth(_) => {
                (query.periods.is_some(), "`compare`")
            }
            Derived::OfTotal(_) => (
                adds_up && query.calendar.is_none() && !query.groups.is_empty(),
                "`groupBy`, and a count or a sum",
            ),
            Derived::SinceLast(_) => (query.calendar.is_some(), "`every`"),
            Derived::Cumulative(_) => (adds_up && query.calendar.is_some(), "`every`, and a count or a sum"),
        };
        if !is_right {
            return Err(format!("derived: {name} needs {needs}"));
        }
    }
    Ok(())
}
