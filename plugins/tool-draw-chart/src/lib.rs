//! The tool `draw_chart`: draws an earlier table of the task as a Vega-Lite specification.
//!
//! [`shape`] derives the role of a column from its values, [`chart`] chooses the chart, and [`spec`] writes
//! it.

mod chart;
mod shape;
mod spec;
mod words;

use lakeport_sdk::serde_json::{self, Value, json};
use lakeport_sdk::tool::results::{self, EarlierTable};
use lakeport_sdk::tool::{Context, Error, Outcome, Tool, ToolInfo};

use chart::{Chart, Wish};

/// The most drawn rows.
const POINTS_MAX: u32 = 1_000;
/// The longest output, in bytes.
const OUTPUT_MAX_BYTES: u32 = 16 * 1024;
/// The most columns drawn over each other.
const MEASURES_MAX: usize = 5;

struct DrawChart;

impl Tool for DrawChart {
    fn describe() -> ToolInfo {
        ToolInfo {
            title: "Draw a chart".to_owned(),
            max_output_bytes: OUTPUT_MAX_BYTES,
            ..ToolInfo::new(
                "draw_chart",
                env!("CARGO_PKG_VERSION"),
                "Draws the rows of an earlier run_sql as a chart: a line over time, bars over categories. Use \
                 it after run_sql when there are at least two rows with a number. Without arguments it takes \
                 the latest table and chooses kind and columns itself. Not for single values.",
                &input_schema(),
                &output_schema(),
            )
        }
    }

    fn call(input: String, context: Context) -> Result<Outcome, Error> {
        let input: Value = serde_json::from_str(&input)?;
        let chinese = context.language.starts_with("zh");
        let table = earlier(input["callId"].as_str(), chinese)?;
        let rows = results::rows(&table.call_id, POINTS_MAX)?;
        let chart = Chart::of(&rows, &wish(&input)).map_err(|reason| reason.error(chinese))?;
        Ok(outcome(&chart, &spec::of(&chart, &rows), rows.truncated || table.truncated))
    }
}

/// The requested table, or else the latest.
fn earlier(call_id: Option<&str>, chinese: bool) -> Result<EarlierTable, Error> {
    let mut tables = results::tables();
    let place = match call_id {
        Some(id) => tables.iter().position(|table| table.call_id == id),
        None => (!tables.is_empty()).then_some(0),
    };
    match (place, call_id) {
        (Some(place), _) => Ok(tables.swap_remove(place)),
        (None, Some(id)) => Err(Error::not_found(words::no_such_call(id, chinese))),
        (None, None) => Err(Error::new("nothing_to_draw", words::no_table(chinese))),
    }
}

fn wish(input: &Value) -> Wish {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let y = match &input["y"] {
        Value::Array(names) => names.iter().filter_map(text).collect(),
        one => text(one).into_iter().collect(),
    };
    Wish { kind: text(&input["kind"]), x: text(&input["x"]), y }
}

fn outcome(chart: &Chart, spec: &Value, truncated: bool) -> Outcome {
    let output =
        json!({"kind": chart.kind.word(), "x": chart.x.name, "y": chart.y_names(), "points": chart.points});
    Outcome { truncated: truncated || chart.cut, ..Outcome::new(&output) }
        .artifact("chart", &json!({"spec": spec}))
}

fn input_schema() -> Value {
    let column = json!({"type": "string", "minLength": 1});
    json!({
        "type": "object",
        "properties": {
            "callId": {"type": "string", "minLength": 1, "description": "the call that made the table; absent: the latest"},
            "kind": {"type": "string", "enum": chart::KINDS, "description": "absent: what fits"},
            "x": {"type": "string", "minLength": 1, "description": "the column along the horizontal axis"},
            "y": {
                "anyOf": [column, {"type": "array", "items": column, "minItems": 1, "maxItems": MEASURES_MAX}],
                "description": "the column, or columns, with the numbers",
            },
        },
        "additionalProperties": false,
    })
}

fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": chart::KINDS},
            "x": {"type": "string"},
            "y": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "points": {"type": "integer", "minimum": 2, "maximum": POINTS_MAX},
        },
        "required": ["kind", "x", "y", "points"],
        "additionalProperties": false,
    })
}

lakeport_sdk::tool!(DrawChart);
