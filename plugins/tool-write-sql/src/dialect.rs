//! The differences between databases: names, texts, days and numbers. All of them return days as texts
//! `yyyy-MM-dd`, so that they compare and print alike.

use crate::calendar::{Cycle, Unit};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    #[default]
    Sqlite,
    Postgres,
    /// MySQL, MariaDB.
    MySql,
    /// Doris, StarRocks: MySQL's language without recursion, which Doris has from 4.1 on.
    Doris,
}

impl Dialect {
    /// By the kind of a data source; `None`: unsupported.
    pub fn of(kind: &str) -> Option<Dialect> {
        match kind {
            "sqlite" => Some(Dialect::Sqlite),
            "postgres" => Some(Dialect::Postgres),
            "mysql" => Some(Dialect::MySql),
            "doris" | "starrocks" => Some(Dialect::Doris),
            _ => None,
        }
    }

    /// A quoted name.
    pub fn name(self, name: &str) -> String {
        match self {
            Dialect::MySql | Dialect::Doris => format!("`{}`", name.replace('`', "``")),
            _ => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }

    /// A text as a literal.
    pub fn literal(self, text: &str) -> String {
        let text = text.replace('\'', "''").replace('\0', "");
        match self {
            Dialect::MySql | Dialect::Doris => format!("'{}'", text.replace('\\', "\\\\")),
            _ => format!("'{text}'"),
        }
    }

    /// A text field as a number.
    pub fn number(self, text: &str) -> String {
        match self {
            Dialect::Sqlite => format!("CAST({text} AS REAL)"),
            Dialect::Postgres => format!("CAST({text} AS DOUBLE PRECISION)"),
            Dialect::MySql | Dialect::Doris => format!("CAST({text} AS DOUBLE)"),
        }
    }

    /// The average of numbers.
    pub fn average(self, number: &str) -> String {
        match self {
            // Otherwise the result has more digits than a float.
            Dialect::Postgres => format!("CAST(AVG({number}) AS DOUBLE PRECISION)"),
            _ => format!("AVG({number})"),
        }
    }

    /// A part as a percentage of a whole; NULL of nothing.
    pub fn percentage(self, part: &str, whole: &str) -> String {
        let percentage = format!("100.0 * {part} / NULLIF({whole}, 0)");
        match self {
            // Otherwise the result has more digits than a float.
            Dialect::Postgres => format!("CAST({percentage} AS DOUBLE PRECISION)"),
            _ => percentage,
        }
    }

    /// One number for each of the other; NULL of nothing.
    pub fn ratio(self, one: &str, other: &str) -> String {
        let ratio = format!("1.0 * {one} / NULLIF({other}, 0)");
        match self {
            // Otherwise the result has more digits than a float.
            Dialect::Postgres => format!("CAST({ratio} AS DOUBLE PRECISION)"),
            _ => ratio,
        }
    }

    /// A word before a text.
    pub fn joined(self, word: &str, text: &str) -> String {
        match self {
            Dialect::Sqlite | Dialect::Postgres => format!("'{word}' || {text}"),
            Dialect::MySql | Dialect::Doris => format!("CONCAT('{word}', {text})"),
        }
    }

    /// A text as the database's `LOWER` writes it.
    pub fn lower(self, text: &str) -> String {
        match self {
            // It leaves letters alone that are not ASCII.
            Dialect::Sqlite => text.to_ascii_lowercase(),
            _ => text.to_lowercase(),
        }
    }

    /// Whether a text has another one in it, which is in lower case.
    pub fn has(self, text: &str, part: &str) -> String {
        match self {
            Dialect::Postgres => format!("STRPOS(LOWER({text}), {part}) > 0"),
            _ => format!("INSTR(LOWER({text}), {part}) > 0"),
        }
    }

    /// The last letters of a text.
    pub fn end(self, text: &str, letters: usize) -> String {
        match self {
            // A negative place is before the beginning.
            Dialect::Postgres => format!("RIGHT({text}, {letters})"),
            _ => format!("SUBSTR({text}, -{letters})"),
        }
    }

    /// The greater of two.
    pub fn greater(self, one: &str, other: &str) -> String {
        let function = if self == Dialect::Sqlite { "MAX" } else { "GREATEST" };
        format!("{function}({one}, {other})")
    }

    /// The alias of a subquery in FROM.
    pub fn inner_name(self) -> String {
        if self == Dialect::Sqlite { String::new() } else { format!(" AS {}", self.name("groups")) }
    }

    /// The first day of the calendar unit that contains a time.
    pub fn start(self, unit: Unit, time: &str) -> String {
        match self {
            Dialect::Sqlite => {
                let steps = match unit {
                    Unit::Day => "",
                    Unit::Week => ", '-6 days', 'weekday 1'",
                    Unit::Month => ", 'start of month'",
                    Unit::Quarter => {
                        return format!(
                            "date({time}, 'start of month', ((1 - strftime('%m', {time})) % 3) || ' months')"
                        );
                    }
                    Unit::Year => ", 'start of year'",
                };
                format!("date({time}{steps})")
            }
            Dialect::Postgres => {
                let part = unit.word();
                postgres_day(&format!("date_trunc('{part}', CAST({time} AS TIMESTAMP))"))
            }
            Dialect::MySql | Dialect::Doris => match unit {
                Unit::Day => format!("DATE_FORMAT({time}, '%Y-%m-%d')"),
                Unit::Week => {
                    let past = match self {
                        // Older StarRocks has no WEEKDAY.
                        Dialect::Doris => format!("((DAYOFWEEK({time}) + 5) % 7)"),
                        _ => format!("WEEKDAY({time})"),
                    };
                    format!("DATE_FORMAT(DATE_SUB({time}, INTERVAL {past} DAY), '%Y-%m-%d')")
                }
                Unit::Month => format!("DATE_FORMAT({time}, '%Y-%m-01')"),
                Unit::Quarter => {
                    format!(
                        "DATE_FORMAT(DATE_SUB({time}, INTERVAL ((MONTH({time}) - 1) % 3) MONTH), '%Y-%m-01')"
                    )
                }
                Unit::Year => format!("DATE_FORMAT({time}, '%Y-01-01')"),
            },
        }
    }

    /// The number of a time's weekday or hour.
    pub fn cycle(self, cycle: Cycle, time: &str) -> String {
        match (self, cycle) {
            (Dialect::Sqlite, Cycle::Weekday) => format!("((strftime('%w', {time}) + 6) % 7 + 1)"),
            (Dialect::Sqlite, Cycle::Hour) => format!("CAST(strftime('%H', {time}) AS INTEGER)"),
            (Dialect::Postgres, Cycle::Weekday) => {
                format!("CAST(EXTRACT(ISODOW FROM CAST({time} AS TIMESTAMP)) AS INTEGER)")
            }
            (Dialect::Postgres, Cycle::Hour) => {
                format!("CAST(EXTRACT(HOUR FROM CAST({time} AS TIMESTAMP)) AS INTEGER)")
            }
            (Dialect::MySql, Cycle::Weekday) => format!("(WEEKDAY({time}) + 1)"),
            // Older StarRocks has no WEEKDAY.
            (Dialect::Doris, Cycle::Weekday) => format!("((DAYOFWEEK({time}) + 5) % 7 + 1)"),
            (Dialect::MySql | Dialect::Doris, Cycle::Hour) => format!("HOUR({time})"),
        }
    }

    /// Whether a query can refer to itself (`WITH RECURSIVE`).
    pub fn recurses(self) -> bool {
        self != Dialect::Doris
    }

    /// The day `count` units later.
    pub fn later(self, day: &str, count: i64, unit: Unit) -> String {
        let (count, unit) = match unit {
            Unit::Week => (count * 7, Unit::Day),
            Unit::Quarter => (count * 3, Unit::Month),
            unit => (count, unit),
        };
        let part = unit.word();
        match self {
            Dialect::Sqlite => {
                let several = if count.abs() == 1 { "" } else { "s" };
                format!("date({day}, '{count:+} {part}{several}')")
            }
            Dialect::Postgres => {
                postgres_day(&format!("CAST({day} AS TIMESTAMP) + INTERVAL '{count} {part}'"))
            }
            Dialect::MySql | Dialect::Doris => date_add(day, &count.to_string(), unit),
        }
    }

    /// The same of Doris, where an expression counts the units.
    pub fn later_by(self, day: &str, count: &str, unit: Unit) -> String {
        match unit {
            Unit::Week => date_add(day, &format!("({count} * 7)"), Unit::Day),
            Unit::Quarter => date_add(day, &format!("({count} * 3)"), Unit::Month),
            unit => date_add(day, count, unit),
        }
    }
}

fn date_add(day: &str, count: &str, unit: Unit) -> String {
    format!("DATE_FORMAT(DATE_ADD({day}, INTERVAL {count} {}), '%Y-%m-%d')", unit.word().to_uppercase())
}

fn postgres_day(time: &str) -> String {
    format!("to_char({time}, 'YYYY-MM-DD')")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_cannot_break_out() {
        assert_eq!(Dialect::Sqlite.name("a\"; DROP TABLE x"), "\"a\"\"; DROP TABLE x\"");
        assert_eq!(Dialect::MySql.name("a`; DROP TABLE x"), "`a``; DROP TABLE x`");
        assert_eq!(Dialect::Postgres.literal("O'Neil \\"), "'O''Neil \\'");
        assert_eq!(Dialect::MySql.literal("O'Neil \\"), "'O''Neil \\\\'");
    }

    #[test]
    fn days_are_texts_everywhere() {
        assert_eq!(Dialect::Sqlite.later("d", 1, Unit::Week), "date(d, '+7 days')");
        assert_eq!(Dialect::Sqlite.later("d", -999, Unit::Month), "date(d, '-999 months')");
        assert_eq!(
            Dialect::Postgres.start(Unit::Week, "t"),
            "to_char(date_trunc('week', CAST(t AS TIMESTAMP)), 'YYYY-MM-DD')"
        );
        assert_eq!(
            Dialect::Doris.later_by("d", "n", Unit::Week),
            "DATE_FORMAT(DATE_ADD(d, INTERVAL (n * 7) DAY), '%Y-%m-%d')"
        );
        assert_eq!(
            Dialect::MySql.later("d", 1, Unit::Year),
            "DATE_FORMAT(DATE_ADD(d, INTERVAL 1 YEAR), '%Y-%m-%d')"
        );
    }
}
