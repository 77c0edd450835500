//! Names in an answer: the schema's names in English, its Chinese comments in Chinese.

use crate::calendar::{Cycle, Unit};
use crate::plan::query::{Column, Derived, Expr};
use crate::schema::{Place, Schema};
use crate::sql::{WEEKDAYS, WEEKDAYS_CHINESE};
use crate::understand::meaning::{Filter, Measure, Test};
use crate::understand::names::PREFIXES;
use crate::words::chinese::is_han;
use crate::words::english::singular;
use crate::words::phrases::{Compare, Func};

/// The longest comment that can serve as a name, in characters.
const NAME_MAX: usize = 10;

#[derive(Clone, Copy, Debug)]
pub struct Labels<'a> {
    pub schema: &'a Schema,
    pub chinese: bool,
}

impl Labels<'_> {
    /// Without its layer: `orders` of `ods_orders`.
    pub fn table(&self, table: usize) -> String {
        let table = self.schema.table(table);
        let mut words = table.name.split('_').peekable();
        while words.next_if(|word| PREFIXES.contains(&word.to_lowercase().as_str())).is_some() {}
        let plain = words.collect::<Vec<&str>>().join("_");
        self.name(if plain.is_empty() { &table.name } else { &plain }, &table.comment)
    }

    /// One row of a table.
    pub fn one(&self, table: usize) -> String {
        singular(&self.table(table))
    }

    pub fn field(&self, place: Place) -> String {
        let field = self.schema.field(place);
        self.name(&field.name, &field.comment)
    }

    /// `sales amount` of `sales_amount`.
    fn words_of(&self, place: Place) -> String {
        self.field(place).replace('_', " ")
    }

    fn name(&self, name: &str, comment: &str) -> String {
        if self.chinese {
            let mut parts = comment.split(|letter: char| !is_han(letter));
            if let Some(part) = parts.find(|part| (1..=NAME_MAX).contains(&part.chars().count())) {
                return part.to_owned();
            }
        }
        name.to_owned()
    }

    pub fn measure(&self, measure: Measure) -> String {
        match (measure, self.chinese) {
            (Measure::Count(table), true) => format!("{}数", self.table(table)),
            (Measure::Count(table), false) => format!("number of {}", self.table(table).replace('_', " ")),
            (Measure::Different(place), true) => format!("不同{}数", self.field(place)),
            (Measure::Different(place), false) => format!("number of different {}", self.words_of(place)),
            (Measure::Share(place), true) => format!("{}占比(%)", self.field(place)),
            (Measure::Share(place), false) => format!("share of {} (%)", self.words_of(place)),
            (Measure::Part(place), true) => format!("{}占比(%)", self.field(place)),
            (Measure::Part(place), false) => format!("share of {} (%)", self.words_of(place)),
            (Measure::Made(func, place), chinese) => {
                format!("{}{}", self::func(func, chinese), self.words_of(place))
            }
        }
    }

    /// The number of a table's rows that their parts name.
    pub fn of_parts(&self, table: usize, parts: usize) -> String {
        let (number, parts) = (self.measure(Measure::Count(table)), self.table(parts));
        match self.chinese {
            true => format!("{parts}中的{number}"),
            false => format!("{number} in {}", parts.replace('_', " ")),
        }
    }

    /// A number that follows from another one.
    pub fn derived(&self, kind: Derived, name: &str) -> String {
        let (english, chinese) = match kind {
            Derived::Before(_) => (format!("{name} before"), format!("之前的{name}")),
            Derived::Change(_) => ("change".to_owned(), "变化".to_owned()),
            Derived::Growth(_) | Derived::SinceLast(_) => ("growth (%)".to_owned(), "增长率(%)".to_owned()),
            Derived::OfTotal(_) => (format!("share of {name} (%)"), format!("{name}占比(%)")),
            Derived::Cumulative(_) => (format!("cumulative {name}"), format!("累计{name}")),
        };
        short(if self.chinese { &chinese } else { &english })
    }

    /// `customers with more than one (%)`
    pub fn repeated(&self, actor: usize) -> String {
        match self.chinese {
            true => format!("复购{}占比(%)", self.table(actor)),
            false => format!("share of repeat {} (%)", self.table(actor).replace('_', " ")),
        }
    }

    /// `ratio of app to web`
    pub fn ratio(&self, share: &Filter, whole: &Filter) -> String {
        let (one, other) = (self.condition(share), self.condition(whole));
        short(&if self.chinese {
            format!("{one}与{other}之比")
        } else {
            format!("ratio of {one} to {other}")
        })
    }

    /// What a condition is about: `cancelled`.
    fn condition(&self, filter: &Filter) -> String {
        match &filter.test {
            Test::Among(values, _) => values.join(" / "),
            Test::Weekdays(days) => {
                let names = if self.chinese { WEEKDAYS_CHINESE } else { WEEKDAYS };
                let named =
                    days.iter().filter_map(|day| names.get(usize::from(*day).checked_sub(1)?).copied());
                named.collect::<Vec<&str>>().join(" / ")
            }
            Test::Number(compare, number) => {
                format!("{} {} {number}", self.words_of(filter.place), sign(*compare))
            }
            _ => self.words_of(filter.place),
        }
    }

    /// `share of cancelled (%)`
    pub fn share(&self, share: &Filter) -> String {
        let of = self.condition(share);
        if self.chinese { format!("{of}占比(%)") } else { format!("share of {of} (%)") }
    }

    /// The average of a number of each row of a table.
    pub fn average(&self, measure: Measure, tables: &[usize]) -> String {
        let of = tables.first().map(|table| self.one(*table)).unwrap_or_default();
        match self.chinese {
            true => format!("平均每个{of}的{}", self.measure(measure)),
            false => format!("average {} per {}", self.measure(measure), of.replace('_', " ")),
        }
    }

    /// The average of a number of each calendar unit.
    pub fn average_of_units(&self, measure: Measure, unit: Unit) -> String {
        let number = match measure {
            Measure::Made(Func::Sum, place) => self.words_of(place),
            measure => self.measure(measure),
        };
        let before = match unit {
            Unit::Day => "日均",
            Unit::Week => "周均",
            Unit::Month => "月均",
            Unit::Quarter => "季均",
            Unit::Year => "年均",
        };
        match self.chinese {
            true => format!("{before}{number}"),
            false => format!("average {number} per {}", self.unit(unit)),
        }
    }

    /// `number of days`
    pub fn number_of_units(&self, unit: Unit) -> String {
        match (unit, self.chinese) {
            (Unit::Day, true) => "天数".to_owned(),
            (unit, true) => format!("{}数", self.unit(unit)),
            (unit, false) => format!("number of {}s", self.unit(unit)),
        }
    }

    pub fn unit(&self, unit: Unit) -> &'static str {
        match (unit, self.chinese) {
            (Unit::Day, true) => "日期",
            (Unit::Week, true) => "周",
            (Unit::Month, true) => "月份",
            (Unit::Quarter, true) => "季度",
            (Unit::Quarter, false) => "quarter",
            (Unit::Year, true) => "年份",
            (Unit::Day, false) => "day",
            (Unit::Week, false) => "week",
            (Unit::Month, false) => "month",
            (Unit::Year, false) => "year",
        }
    }

    pub fn cycle(&self, cycle: Cycle) -> &'static str {
        match (cycle, self.chinese) {
            (Cycle::Weekday, true) => "星期",
            (Cycle::Hour, true) => "小时",
            (cycle, false) => cycle.word(),
        }
    }

    /// Columns for fields, with unique names.
    pub fn columns(&self, fields: &[Place]) -> Vec<Column> {
        let mut columns: Vec<Column> = fields
            .iter()
            .map(|place| Column { expr: Expr::Field(*place), alias: self.field(*place), measure: false })
            .collect();
        self.tell_apart(&mut columns);
        columns
    }

    /// Makes column names unique: by their tables, or else by numbers.
    pub fn tell_apart(&self, columns: &mut [Column]) {
        let clash = |columns: &[Column], at: usize| {
            columns
                .iter()
                .enumerate()
                .any(|(other, column)| other != at && column.alias.eq_ignore_ascii_case(&columns[at].alias))
        };
        for column in columns.iter_mut() {
            column.alias = short(&column.alias);
        }
        for at in 0..columns.len() {
            if clash(columns, at)
                && let Expr::Field(place) = columns[at].expr
            {
                let owner = self.table(place.table);
                let owner = if self.chinese { owner } else { format!("{} ", singular(&owner)) };
                columns[at].alias = format!("{owner}{}", columns[at].alias);
            }
            if clash(columns, at) {
                columns[at].alias = format!("{} {}", columns[at].alias, at + 1);
            }
        }
    }
}

/// The longest name of a column, in bytes: PostgreSQL cuts longer ones.
pub const COLUMN_MAX_BYTES: usize = 60;

/// A name that is short enough for a column.
pub fn short(name: &str) -> String {
    let mut end = name.len().min(COLUMN_MAX_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name[..end].to_owned()
}

/// The word for a function before its field.
pub fn func(func: Func, chinese: bool) -> &'static str {
    match (func, chinese) {
        (Func::Sum, true) => "总",
        (Func::Average, true) => "平均",
        (Func::Least, true) => "最小",
        (Func::Greatest, true) => "最大",
        (Func::Median, true) => "中位",
        (Func::Median, false) => "median ",
        (Func::Sum, false) => "total ",
        (Func::Average, false) => "average ",
        (Func::Least, false) => "minimum ",
        (Func::Greatest, false) => "maximum ",
    }
}

/// The sign of a comparison.
pub fn sign(compare: Compare) -> &'static str {
    match compare {
        Compare::Equal => "=",
        Compare::NotEqual => "≠",
        Compare::More => ">",
        Compare::AtLeast => "≥",
        Compare::Less => "<",
        Compare::AtMost => "≤",
    }
}
