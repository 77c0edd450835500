//! What an answer is about, in few words for its heading: `cancelled, October 2026`.

use crate::calendar::{Range, Unit};
use crate::labels::{Labels, sign};
use crate::plan::query::{Expr, Query};
use crate::schema::Place;
use crate::understand::meaning::{Filter, Measure, Test};
use crate::words::dates::MONTHS;
use crate::words::phrases::Compare;

/// The most conditions that are named, the most values of one, and the longest value, in characters.
const CONDITIONS_MAX: usize = 4;
const VALUES_MAX: usize = 3;
const VALUE_MAX_CHARS: usize = 30;

/// The conditions on the rows, and the days.
pub fn scope(query: &Query, labels: Labels<'_>) -> Vec<String> {
    let all = query.conditions.iter().chain(query.outer.iter().flatten());
    let is_compared = |filter: &&Filter| matches!(filter.test, Test::Days(_)) && query.periods.is_some();
    let said = all.filter(|filter| !is_compared(filter)).filter_map(|filter| of_filter(filter, labels));
    let compared = query.periods.map(|periods| match labels.chinese {
        true => format!("{}比{}", days(periods.now, labels.chinese), days(periods.before, labels.chinese)),
        false => format!("{} against {}", days(periods.now, false), days(periods.before, false)),
    });
    let having = query.having.iter().filter_map(|(expr, test)| {
        let Test::Number(compare, number) = test else { return None };
        Some(format!("{} {} {number}", number_of(*expr, query, labels)?, sign(*compare)))
    });
    said.chain(having).chain(compared).take(CONDITIONS_MAX).collect()
}

/// A number of a group.
fn number_of(expr: Expr, query: &Query, labels: Labels<'_>) -> Option<String> {
    let measure = match expr {
        Expr::Rows => Measure::Count(query.from),
        Expr::Present(place) => Measure::Count(place.table),
        Expr::Made(func, place) => Measure::Made(func, place),
        _ => return None,
    };
    Some(labels.measure(measure))
}

/// `registered` of `registered_at`, where something begins to exist.
fn beginning(place: Place, labels: Labels<'_>) -> Option<String> {
    let field = labels.schema.field(place);
    let first = field.name.split('_').next().unwrap_or_default().to_lowercase();
    if !["registered", "created", "joined", "opened"].contains(&first.as_str()) {
        return None;
    }
    Some(match labels.chinese {
        true => labels.field(place).trim_end_matches("时间").trim_end_matches("日期").to_owned(),
        false => first,
    })
}

fn of_filter(filter: &Filter, labels: Labels<'_>) -> Option<String> {
    let chinese = labels.chinese;
    let field = || labels.field(filter.place).replace('_', " ");
    Some(match &filter.test {
        Test::Among(values, is_among) => {
            let shown: Vec<String> = values.iter().take(VALUES_MAX).map(|value| short(value)).collect();
            let more = if values.len() > VALUES_MAX { "…" } else { "" };
            let values = format!("{}{more}", shown.join(if chinese { "或" } else { " or " }));
            match (is_among, chinese) {
                (true, _) => values,
                (false, true) => format!("不含{values}"),
                (false, false) => format!("not {values}"),
            }
        }
        Test::Number(compare, number) => format!("{} {} {number}", field(), sign(*compare)),
        Test::Between(least, most) if chinese => format!("{} {least} 至 {most}", field()),
        Test::Between(least, most) => format!("{} {least} to {most}", field()),
        Test::Has(_, text) => format!("{} “{}”", field(), short(text)),
        Test::Days(range) => match (beginning(filter.place, labels), chinese) {
            (Some(begun), true) => format!("{}{begun}", days(*range, chinese)),
            (Some(begun), false) => format!("{begun} {}", days(*range, chinese)),
            (None, _) => days(*range, chinese),
        },
        Test::Weekdays(weekdays) => match (&weekdays[..], chinese) {
            ([6, 7], true) => "周末".to_owned(),
            ([6, 7], false) => "weekends".to_owned(),
            ([1, 2, 3, 4, 5], true) => "工作日".to_owned(),
            ([1, 2, 3, 4, 5], false) => "weekdays".to_owned(),
            _ => return None,
        },
        Test::Versus(Compare::More, _) if chinese => format!("{}高于平均", field()),
        Test::Versus(Compare::More, _) => format!("{} above average", field()),
        Test::Numbers(_) | Test::AnyOf(_) | Test::Versus(..) | Test::Present => return None,
    })
}

/// `October 2026`, `2026年10月`, `2026-10-28 to 2026-11-26`.
fn days(range: Range, chinese: bool) -> String {
    let last = range.before.map(|before| before.plus(-1));
    match (range.from, last, range.unit(), chinese) {
        (Some(from), _, Some(Unit::Day), _) => from.to_string(),
        (Some(from), _, Some(Unit::Month), true) => {
            let (year, month, _) = from.date();
            format!("{year}年{month}月")
        }
        (Some(from), _, Some(Unit::Month), false) => {
            let (year, month, _) = from.date();
            let name =
                usize::try_from(month - 1).ok().and_then(|at| MONTHS.get(at)).copied().unwrap_or_default();
            let (first, rest) = name.split_at(name.len().min(1));
            format!("{}{rest} {year}", first.to_uppercase())
        }
        (Some(from), _, Some(Unit::Year), true) => format!("{}年", from.date().0),
        (Some(from), _, Some(Unit::Year), false) => from.date().0.to_string(),
        (Some(from), Some(last), _, true) => format!("{from} 至 {last}"),
        (Some(from), Some(last), _, false) => format!("{from} to {last}"),
        (Some(from), None, _, true) => format!("{from} 起"),
        (Some(from), None, _, false) => format!("since {from}"),
        (None, Some(last), _, true) => format!("截至 {last}"),
        (None, Some(last), _, false) => format!("until {last}"),
        (None, None, ..) => String::new(),
    }
}

fn short(value: &str) -> String {
    match value.char_indices().nth(VALUE_MAX_CHARS) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::answer::answer_of;
    use crate::calendar::Day;
    use crate::known::Known;
    use crate::testing::company;

    #[test]
    fn headings_say_what_they_are_about() {
        let (company, today) = (company(), Day::read("2026-07-19").unwrap());
        let known = Known::of(&company);
        for (question, title) in [
            ("How many cancelled orders were there last month?", "number of orders (cancelled, June 2026)"),
            ("上个月app的订单数", "订单数（app，2026年6月）"),
            ("revenue by category on weekends", "total sales amount per category (weekends)"),
            ("orders over 1000 yesterday", "orders (order amount > 1000, 2026-07-18)"),
            (
                "revenue last month compared with the month before",
                "total sales amount (June 2026 against May 2026)",
            ),
            ("How many customers are there?", "number of customers"),
        ] {
            assert_eq!(answer_of(question, &known, today).unwrap().title, title);
        }
    }
}
