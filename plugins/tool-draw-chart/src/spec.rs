//! Writes a chart as a Vega-Lite 5 specification with its rows inside. It contains no URL, not even
//! `$schema`.

use lakeport_sdk::serde_json::{Map, Value, json};
use lakeport_sdk::{Cell, RowSet};

use crate::chart::{Chart, Kind};
use crate::shape::{Axis, Role, number};

/// The fields that folding several measures creates.
const FOLDED: [&str; 2] = ["measure", "value"];

/// The specification.
pub fn of(chart: &Chart, set: &RowSet) -> Value {
    let mut spec = json!({
        "title": title(chart),
        "width": "container",
        "data": {"values": values(chart, set)},
        "mark": mark(chart.kind),
        "encoding": encoding(chart),
    });
    if chart.y.len() > 1 {
        let fields: Vec<String> = chart.y.iter().map(|axis| field(&axis.name)).collect();
        spec["transform"] = json!([{"fold": fields, "as": FOLDED}]);
    }
    spec
}

fn title(chart: &Chart) -> String {
    format!("{} / {}", chart.y_names().join(", "), chart.x.name)
}

/// Rows as objects of the drawn columns.
fn values(chart: &Chart, set: &RowSet) -> Vec<Value> {
    let drawn = || chart.series.iter().chain([&chart.x]);
    set.rows
        .iter()
        .take(chart.points)
        .map(|row| {
            let mut object = Map::new();
            for axis in drawn() {
                object.insert(axis.name.clone(), plain(row.get(axis.place)));
            }
            for axis in &chart.y {
                object.insert(axis.name.clone(), json!(row.get(axis.place).and_then(number)));
            }
            Value::Object(object)
        })
        .collect()
}

fn plain(cell: Option<&Cell>) -> Value {
    match cell {
        Some(Cell::Text(text)) => json!(text),
        Some(Cell::Integer(number)) => json!(number),
        Some(Cell::Float(number)) => json!(number),
        Some(Cell::Boolean(truth)) => json!(truth),
        Some(Cell::Bytes(_) | Cell::Null) | None => Value::Null,
    }
}

fn mark(kind: Kind) -> Value {
    match kind {
        Kind::Line => json!({"type": "line", "point": true, "tooltip": true}),
        Kind::Bar => json!({"type": "bar", "tooltip": true}),
        Kind::Point => json!({"type": "point", "tooltip": true}),
        Kind::Pie => json!({"type": "arc", "tooltip": true}),
    }
}

fn encoding(chart: &Chart) -> Value {
    let y = match &chart.y[..] {
        [one] => json!({"field": field(&one.name), "type": "quantitative", "title": one.name}),
        several => {
            let names: Vec<&str> = several.iter().map(|axis| axis.name.as_str()).collect();
            json!({"field": FOLDED[1], "type": "quantitative", "title": names.join(", ")})
        }
    };
    if chart.kind == Kind::Pie {
        return json!({"theta": y, "color": {"field": field(&chart.x.name), "type": "nominal", "title": chart.x.name}});
    }
    let mut encoding = json!({"x": along(&chart.x), "y": y});
    if chart.y.len() > 1 {
        encoding["color"] = json!({"field": FOLDED[0], "type": "nominal", "title": null});
        if chart.kind == Kind::Bar {
            encoding["xOffset"] = json!({"field": FOLDED[0]});
        }
    } else if let Some(series) = &chart.series {
        encoding["color"] = json!({"field": field(&series.name), "type": "nominal", "title": series.name});
        // Beside each other: averages do not add up.
        if chart.kind == Kind::Bar {
            encoding["xOffset"] = json!({"field": field(&series.name)});
        }
    }
    encoding
}

/// Names keep the order of the rows, which is the ranking.
fn along(x: &Axis) -> Value {
    let kind = match x.role {
        Role::Time => "temporal",
        Role::Period => "ordinal",
        Role::Measure => "quantitative",
        Role::Category | Role::Other => "nominal",
    };
    let mut axis = json!({"field": field(&x.name), "type": kind, "title": x.name});
    if kind == "nominal" {
        axis["sort"] = Value::Null;
    }
    axis
}

/// Escapes dots and brackets, which would be read as a path.
fn field(name: &str) -> String {
    let mut escaped = String::new();
    for letter in name.chars() {
        if matches!(letter, '.' | '[' | ']' | '\\' | '\'' | '"') {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Wish;
    use crate::chart::testing::{number, set, text};

    #[test]
    fn a_line_has_its_rows_inside_and_titles_from_columns() {
        let rows = set(
            &["day", "publications"],
            vec![vec![text("2026-07-01"), number(2)], vec![text("2026-07-02"), number(0)]],
        );
        let spec = of(&Chart::of(&rows, &Wish::default()).unwrap(), &rows);
        assert_eq!(spec["mark"]["type"], "line");
        assert_eq!(spec["data"]["values"][1], json!({"day": "2026-07-02", "publications": 0.0}));
        assert_eq!(spec["encoding"]["x"], json!({"field": "day", "type": "temporal", "title": "day"}));
        assert!(!spec.to_string().contains("http"));
    }

    #[test]
    fn several_measures_are_folded_and_odd_names_are_escaped() {
        let rows = set(
            &["o.city", "a", "b"],
            vec![vec![text("北京"), number(2), number(3)], vec![text("上海"), number(1), number(1)]],
        );
        let spec = of(&Chart::of(&rows, &Wish::default()).unwrap(), &rows);
        assert_eq!(spec["transform"], json!([{"fold": ["a", "b"], "as": ["measure", "value"]}]));
        assert_eq!(spec["encoding"]["x"]["field"], "o\\.city");
        assert_eq!(spec["encoding"]["x"]["sort"], Value::Null);
    }
}
