//! Rows as JSON: few for the model, all for the user, both within byte limits.

use std::fmt::Write as _;

use lakeport_sdk::serde_json::{Value, json};
use lakeport_sdk::tool::{Cell, Outcome, RowSet};

/// Rows that the model sees.
const MODEL_ROWS: usize = 50;
/// The most bytes of rows that the model sees.
const MODEL_BYTES: usize = 48 * 1024;
/// The longest text in a cell that the model sees, in characters.
const MODEL_CELL_CHARS: usize = 1_000;
/// The most bytes of rows that the user sees.
const USER_BYTES: usize = 3 * 1024 * 1024;

/// Output and artifacts of an answer.
pub fn outcome(set: &RowSet, took_ms: u32, statement: &Value) -> Outcome {
    let columns: Vec<Value> =
        set.columns.iter().map(|column| json!({"name": column.name, "type": column.type_text})).collect();
    let all = within(set, USER_BYTES, &value);
    let few = within_first(set, MODEL_ROWS.min(all.len()), MODEL_BYTES, &short);
    let (count, truncated) = (all.len(), set.truncated || all.len() < set.rows.len());
    let output = json!({
        "columns": columns,
        "rows": few,
        "row_count": count,
        "truncated": truncated,
        "took_ms": took_ms,
    });
    let table = json!({"columns": columns, "rows": all, "row_count": count, "truncated": truncated});
    Outcome { truncated: truncated || few.len() < count, ..Outcome::new(&output) }
        .artifact("sql", statement)
        .artifact("table", &table)
}

fn within(set: &RowSet, bytes: usize, shown: &dyn Fn(&Cell) -> Value) -> Vec<Value> {
    within_first(set, set.rows.len(), bytes, shown)
}

/// The first rows that fit completely.
fn within_first(set: &RowSet, most: usize, bytes: usize, shown: &dyn Fn(&Cell) -> Value) -> Vec<Value> {
    let mut left = bytes;
    let mut rows = Vec::new();
    for cells in set.rows.iter().take(most) {
        let row = Value::Array(cells.iter().map(shown).collect());
        let Some(rest) = left.checked_sub(row.to_string().len()) else { break };
        left = rest;
        rows.push(row);
    }
    rows
}

fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Boolean(truth) => json!(truth),
        Cell::Integer(number) => json!(number),
        Cell::Float(number) if number.is_finite() => json!(number),
        // JSON cannot express these numbers.
        Cell::Float(number) => json!(number.to_string()),
        Cell::Text(text) => json!(text),
        Cell::Bytes(bytes) => json!(hex(bytes)),
    }
}

fn short(cell: &Cell) -> Value {
    match value(cell) {
        Value::String(text) => match text.char_indices().nth(MODEL_CELL_CHARS) {
            Some((end, _)) => json!(format!("{}…", &text[..end])),
            None => Value::String(text),
        },
        other => other,
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = "0x".to_owned();
    for byte in bytes {
        write!(text, "{byte:02x}").expect("a String takes all text");
    }
    text
}

/// The output's schema.
pub fn schema() -> Value {
    let column = json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "type": {"type": "string"}},
        "required": ["name", "type"],
        "additionalProperties": false,
    });
    let count = json!({"type": "integer", "minimum": 0});
    json!({
        "type": "object",
        "properties": {
            "columns": {"type": "array", "items": column},
            "rows": {"type": "array", "items": {"type": "array"}, "maxItems": MODEL_ROWS},
            "row_count": count,
            "truncated": {"type": "boolean"},
            "took_ms": count,
        },
        "required": ["columns", "rows", "row_count", "truncated", "took_ms"],
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lakeport_sdk::Column;
    use lakeport_sdk::serde_json;

    fn set(rows: Vec<Vec<Cell>>) -> RowSet {
        let columns = vec![Column { name: "v".to_owned(), type_text: "TEXT".to_owned() }];
        RowSet { columns, rows, truncated: false }
    }

    fn json_of(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn the_model_sees_fifty_rows_and_the_user_all() {
        let many = set((0..60).map(|number| vec![Cell::Integer(number)]).collect());
        let outcome = outcome(&many, 3, &json!({"datasource": "shop", "sql": "SELECT 1"}));
        let output = json_of(&outcome.output);
        assert_eq!(output["rows"].as_array().unwrap().len(), MODEL_ROWS);
        assert_eq!((&output["row_count"], &output["truncated"]), (&json!(60), &json!(false)));
        assert!(outcome.truncated, "the outcome is marked as truncated for the model");
        assert_eq!(outcome.artifacts[0].kind, "sql");
        assert_eq!(json_of(&outcome.artifacts[1].content)["rows"].as_array().unwrap().len(), 60);
    }

    #[test]
    fn rows_that_do_not_fit_are_left_out_whole() {
        let long = "\u{1}".repeat(1_000_000);
        let outcome = outcome(&set(vec![vec![Cell::Text(long)], vec![Cell::Null]]), 0, &json!({}));
        let output = json_of(&outcome.output);
        assert_eq!((&output["row_count"], &output["truncated"]), (&json!(0), &json!(true)));
    }

    #[test]
    fn every_kind_of_cell_has_a_value() {
        let cells = [
            Cell::Null,
            Cell::Boolean(true),
            Cell::Integer(-1),
            Cell::Float(0.5),
            Cell::Float(f64::INFINITY),
            Cell::Text("文".to_owned()),
            Cell::Bytes(vec![0, 255]),
        ];
        let shown: Vec<Value> = cells.iter().map(value).collect();
        assert_eq!(Value::Array(shown), json!([null, true, -1, 0.5, "inf", "文", "0x00ff"]));
    }
}
