//! Derives a column's role in a chart from its values instead of its declared type, which SQLite and
//! expressions often lack.

use lakeport_sdk::{Cell, RowSet};

/// Words in names of columns whose numbers are identifiers.
const IDENTITIES: &[&str] = &["id", "code", "key", "no"];

/// The role of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Dates, or dates with times.
    Time,
    /// Months (`2026-07`), years or weeks: ordered, but not points in time.
    Period,
    /// Names.
    Category,
    /// Measured numbers.
    Measure,
    /// Identifiers, only NULL, bytes.
    Other,
}

/// A column with its role.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The column's index.
    pub place: usize,
    pub name: String,
    pub role: Role,
}

/// The columns of an answer.
pub fn axes(set: &RowSet) -> Vec<Axis> {
    set.columns
        .iter()
        .enumerate()
        .map(|(place, column)| Axis {
            place,
            name: column.name.clone(),
            role: role(set, place, &column.name),
        })
        .collect()
}

fn role(set: &RowSet, place: usize, name: &str) -> Role {
    let mut cells =
        set.rows.iter().filter_map(|row| row.get(place)).filter(|cell| **cell != Cell::Null).peekable();
    if cells.peek().is_none() {
        return Role::Other;
    }
    let cells: Vec<&Cell> = cells.collect();
    let all = |fits: fn(&Cell) -> bool| cells.iter().all(|cell| fits(cell));
    if all(is_time) {
        Role::Time
    } else if all(is_period) || (names_years(name) && all(is_year)) {
        Role::Period
    } else if all(is_number) {
        if names_identity(name) { Role::Other } else { Role::Measure }
    } else if all(|cell| matches!(cell, Cell::Text(_) | Cell::Boolean(_) | Cell::Integer(_) | Cell::Float(_)))
    {
        Role::Category
    } else {
        Role::Other
    }
}

/// A cell as a number; decimals arrive as text.
pub fn number(cell: &Cell) -> Option<f64> {
    match cell {
        #[expect(clippy::cast_precision_loss, reason = "a chart has no use for the last digits")]
        Cell::Integer(number) => Some(*number as f64),
        Cell::Float(number) => Some(*number),
        Cell::Text(text) => text.parse().ok().filter(|number: &f64| number.is_finite()),
        _ => None,
    }
}

fn is_number(cell: &Cell) -> bool {
    number(cell).is_some()
}

/// `yyyy-MM-dd`, optionally with a time.
fn is_time(cell: &Cell) -> bool {
    let Cell::Text(text) = cell else { return false };
    let date = text.as_bytes();
    date.len() >= 10 && digits(&date[..10], "0000-00-00") && matches!(date.get(10), None | Some(b' ' | b'T'))
}

/// `yyyy-MM`, `yyyy-Www`, `yyyy-Qn`, or a year as text.
fn is_period(cell: &Cell) -> bool {
    let Cell::Text(text) = cell else { return false };
    ["0000-00", "0000-W00", "0000-Q0"].iter().any(|form| digits(text.as_bytes(), form))
}

fn is_year(cell: &Cell) -> bool {
    number(cell).is_some_and(|year| year.fract() == 0.0 && (1000.0..3000.0).contains(&year))
}

/// A `0` in the form stands for any digit.
fn digits(text: &[u8], form: &str) -> bool {
    text.len() == form.len()
        && text
            .iter()
            .zip(form.bytes())
            .all(|(byte, wanted)| if wanted == b'0' { byte.is_ascii_digit() } else { *byte == wanted })
}

fn names_years(name: &str) -> bool {
    name.to_lowercase().contains("year") || name.contains('年')
}

fn names_identity(name: &str) -> bool {
    let lower = name.to_lowercase();
    lower.split(['_', ' ']).next_back().is_some_and(|last| IDENTITIES.contains(&last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::testing::{number, set, text};

    #[test]
    fn roles_are_read_from_values() {
        let rows = set(
            &["day", "month", "city", "orders", "customer_id", "amount", "year", "nothing"],
            vec![
                vec![
                    text("2026-07-01"),
                    text("2026-07"),
                    text("北京"),
                    number(3),
                    number(1),
                    text("12.50"),
                    number(2024),
                    Cell::Null,
                ],
                vec![
                    text("2026-07-02 10:00:00"),
                    text("2026-08"),
                    Cell::Null,
                    number(0),
                    number(2),
                    text("0"),
                    number(2025),
                    Cell::Null,
                ],
            ],
        );
        let roles: Vec<Role> = axes(&rows).into_iter().map(|axis| axis.role).collect();
        use Role::*;
        assert_eq!(roles, [Time, Period, Category, Measure, Other, Measure, Period, Other]);
    }
}
