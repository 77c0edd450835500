//! Chooses the chart for a table: a line over times, bars over names, or none.

use std::collections::BTreeSet;

use lakeport_sdk::{Cell, RowSet};

use crate::MEASURES_MAX;
use crate::shape::{Axis, Role, axes};

/// The words for [`Kind`].
pub const KINDS: [&str; 4] = ["line", "bar", "point", "pie"];
/// The most bars: more cannot be distinguished.
const BARS_MAX: usize = 50;
/// Names that are told apart by colours, and the parts of bars that have them.
const COLOURS_MAX: usize = 20;
const PARTS_MAX: usize = 500;

/// The kind of chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Line,
    Bar,
    Point,
    Pie,
}

impl Kind {
    pub fn word(self) -> &'static str {
        KINDS[self as usize]
    }

    fn of_word(word: &str) -> Option<Kind> {
        [Kind::Line, Kind::Bar, Kind::Point, Kind::Pie].into_iter().find(|kind| kind.word() == word)
    }
}

/// The caller's wishes; absent ones are chosen.
#[derive(Debug, Default)]
pub struct Wish {
    pub kind: Option<String>,
    pub x: Option<String>,
    pub y: Vec<String>,
}

/// A chart that can be drawn.
#[derive(Debug)]
pub struct Chart {
    pub kind: Kind,
    pub x: Axis,
    /// One at least.
    pub y: Vec<Axis>,
    /// The column that distinguishes several lines or bars over one `x`.
    pub series: Option<Axis>,
    /// The number of drawn rows, from the first.
    pub points: usize,
    /// True: rows were left out here.
    pub cut: bool,
}

/// Why there is no chart.
#[derive(Debug, PartialEq)]
pub enum Reason {
    FewRows(usize),
    NoNumbers,
    NoAxis,
    NoColumn { name: String, known: Vec<String> },
    NotNumbers(String),
}

impl Chart {
    /// The chart for a table.
    pub fn of(set: &RowSet, wish: &Wish) -> Result<Chart, Reason> {
        if set.rows.len() < 2 {
            return Err(Reason::FewRows(set.rows.len()));
        }
        let axes = axes(set);
        let wished = wish.kind.as_deref().and_then(Kind::of_word);
        let x = match &wish.x {
            Some(name) => column(&axes, name)?,
            None => along(&axes, wished).ok_or_else(|| no_axis(&axes))?,
        };
        let y =
            if wish.y.is_empty() { measures(&axes, &x, wished) } else { wished_measures(&axes, &wish.y)? };
        if y.is_empty() {
            return Err(Reason::NoNumbers);
        }
        let kind = wished.unwrap_or(if matches!(x.role, Role::Time | Role::Period) {
            Kind::Line
        } else {
            Kind::Bar
        });
        let series = if kind != Kind::Pie && y.len() == 1 { series(&axes, &x, kind, set) } else { None };
        let y = if kind == Kind::Pie { y[..1].to_vec() } else { y };
        let most = match (kind, &series) {
            (Kind::Bar | Kind::Pie, None) => BARS_MAX,
            (Kind::Bar, Some(_)) => PARTS_MAX,
            _ => set.rows.len(),
        };
        let points = set.rows.len().min(most);
        Ok(Chart { kind, x, y, series, points, cut: points < set.rows.len() })
    }

    pub fn y_names(&self) -> Vec<&str> {
        self.y.iter().map(|axis| axis.name.as_str()).collect()
    }
}

fn column(axes: &[Axis], name: &str) -> Result<Axis, Reason> {
    let same = |axis: &&Axis| axis.name == name;
    let alike = |axis: &&Axis| axis.name.eq_ignore_ascii_case(name);
    axes.iter().find(same).or_else(|| axes.iter().find(alike)).cloned().ok_or_else(|| Reason::NoColumn {
        name: name.to_owned(),
        known: axes.iter().map(|axis| axis.name.clone()).collect(),
    })
}

/// The column of the x axis: times first, then names. Points may use a number.
fn along(axes: &[Axis], wished: Option<Kind>) -> Option<Axis> {
    let first = |role: Role| axes.iter().find(|axis| axis.role == role);
    let numbers = if wished == Some(Kind::Point) { first(Role::Measure) } else { None };
    first(Role::Time).or(first(Role::Period)).or(first(Role::Category)).or(numbers).cloned()
}

fn no_axis(axes: &[Axis]) -> Reason {
    if axes.iter().any(|axis| axis.role == Role::Measure) { Reason::NoAxis } else { Reason::NoNumbers }
}

fn measures(axes: &[Axis], x: &Axis, wished: Option<Kind>) -> Vec<Axis> {
    let most = if wished == Some(Kind::Pie) { 1 } else { MEASURES_MAX };
    axes.iter()
        .filter(|axis| axis.role == Role::Measure && axis.place != x.place)
        .take(most)
        .cloned()
        .collect()
}

fn wished_measures(axes: &[Axis], names: &[String]) -> Result<Vec<Axis>, Reason> {
    let found = names.iter().take(MEASURES_MAX).map(|name| column(axes, name)?.measure());
    found.collect()
}

impl Axis {
    /// Numbers that look like identifiers or years are used if the caller asks for them.
    fn measure(self) -> Result<Axis, Reason> {
        match self.role {
            Role::Measure | Role::Other | Role::Period => Ok(self),
            Role::Time | Role::Category => Err(Reason::NotNumbers(self.name)),
        }
    }
}

/// A column of names beside times: one line per name; beside names that come again and again: one part of a bar per name.
fn series(axes: &[Axis], x: &Axis, kind: Kind, set: &RowSet) -> Option<Axis> {
    let others: Vec<&Axis> =
        axes.iter().filter(|axis| axis.role == Role::Category && axis.place != x.place).collect();
    if matches!(x.role, Role::Time | Role::Period) {
        return others.first().copied().cloned();
    }
    let texts = |place: usize| -> Vec<&str> {
        let cells = set.rows.iter().filter_map(|row| row.get(place));
        let text =
            cells.filter_map(|cell| if let Cell::Text(text) = cell { Some(text.as_str()) } else { None });
        text.collect()
    };
    let different = |place: usize| texts(place).into_iter().collect::<BTreeSet<&str>>().len();
    let &[only] = &others[..] else { return None };
    let comes_again = x.role == Role::Category && different(x.place) < texts(x.place).len();
    let fits = kind == Kind::Bar && comes_again && (1..=COLOURS_MAX).contains(&different(only.place));
    fits.then(|| only.clone())
}

#[cfg(test)]
pub mod testing {
    use lakeport_sdk::{Cell, Column, RowSet};

    pub fn set(names: &[&str], rows: Vec<Vec<Cell>>) -> RowSet {
        let column = |name: &&str| Column { name: (*name).to_owned(), type_text: String::new() };
        RowSet { columns: names.iter().map(column).collect(), rows, truncated: false }
    }

    pub fn text(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }

    pub fn number(number: i64) -> Cell {
        Cell::Integer(number)
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{number, set, text};
    use super::*;

    fn days() -> RowSet {
        let row = |day: &str, count| vec![text(day), number(count)];
        set(&["day", "orders"], vec![row("2026-07-01", 2), row("2026-07-02", 0)])
    }

    #[test]
    fn series_are_lines_rankings_are_bars() {
        let chart = Chart::of(&days(), &Wish::default()).unwrap();
        assert_eq!((chart.kind, chart.x.name.as_str(), chart.y_names()), (Kind::Line, "day", vec!["orders"]));
        let cities =
            set(&["city", "customers"], vec![vec![text("北京"), number(5)], vec![text("上海"), number(3)]]);
        let chart = Chart::of(&cities, &Wish::default()).unwrap();
        assert_eq!((chart.kind, chart.x.name.as_str()), (Kind::Bar, "city"));
    }

    #[test]
    fn a_category_beside_a_time_makes_several_lines() {
        let row = |day: &str, city: &str| vec![text(day), text(city), number(1)];
        let rows = set(&["day", "city", "orders"], vec![row("2026-07-01", "a"), row("2026-07-01", "b")]);
        let chart = Chart::of(&rows, &Wish::default()).unwrap();
        assert_eq!(chart.series.unwrap().name, "city");
    }

    #[test]
    fn names_that_come_again_have_parts() {
        let row = |city: &str, channel: &str| vec![text(city), text(channel), number(1)];
        let twice =
            set(&["city", "channel", "orders"], vec![row("a", "app"), row("a", "web"), row("b", "app")]);
        let chart = Chart::of(&twice, &Wish::default()).unwrap();
        assert_eq!((chart.kind, chart.series.unwrap().name.as_str()), (Kind::Bar, "channel"));
        let once = set(&["city", "channel", "orders"], vec![row("a", "app"), row("b", "web")]);
        assert!(Chart::of(&once, &Wish::default()).unwrap().series.is_none());
    }

    #[test]
    fn what_makes_no_sensible_chart_is_refused() {
        let single = set(&["workflows"], vec![vec![number(7)]]);
        assert_eq!(Chart::of(&single, &Wish::default()).unwrap_err(), Reason::FewRows(1));
        let names = set(&["name"], vec![vec![text("a")], vec![text("b")]]);
        assert_eq!(Chart::of(&names, &Wish::default()).unwrap_err(), Reason::NoNumbers);
        let numbers = set(&["n"], vec![vec![number(1)], vec![number(2)]]);
        assert_eq!(Chart::of(&numbers, &Wish::default()).unwrap_err(), Reason::NoAxis);
    }

    #[test]
    fn a_wish_is_followed_or_refused_by_name() {
        let wish = |x: Option<&str>, y: &[&str]| Wish {
            kind: Some("bar".to_owned()),
            x: x.map(str::to_owned),
            y: y.iter().map(|name| (*name).to_owned()).collect(),
        };
        assert_eq!(Chart::of(&days(), &wish(Some("DAY"), &["orders"])).unwrap().kind, Kind::Bar);
        assert!(matches!(Chart::of(&days(), &wish(Some("week"), &[])), Err(Reason::NoColumn { .. })));
        assert_eq!(
            Chart::of(&days(), &wish(None, &["day"])).unwrap_err(),
            Reason::NotNumbers("day".to_owned())
        );
    }

    #[test]
    fn bars_are_bounded() {
        let rows = (0..60).map(|place| vec![text(&format!("c{place}")), number(place)]).collect();
        let chart = Chart::of(&set(&["city", "n"], rows), &Wish::default()).unwrap();
        assert!(chart.cut && chart.points == BARS_MAX);
    }
}
