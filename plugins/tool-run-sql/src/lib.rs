//! The tool `run_sql`: runs one reading statement, through the host's guard. The model sees the first rows,
//! the user all of them.

mod rows;

use lakeport_sdk::serde_json::{self, Value, json};
use lakeport_sdk::tool::query::{self, QueryRequest};
use lakeport_sdk::tool::{Context, Error, Outcome, Tool, ToolInfo};

/// The largest row limit, and the one of calls that name none: a file of the result has the rest.
const ROWS_MAX: u32 = 10_000;
const ROWS_DEFAULT: u32 = 1_000;
/// The most bytes of rows that are requested from the host.
const ANSWER_MAX_BYTES: u32 = 2 * 1024 * 1024;
/// The longest statement, in characters.
const SQL_MAX_CHARS: u32 = 100_000;
/// Time limit of a query, in milliseconds.
const QUERY_TIMEOUT_MS: u32 = 30_000;
/// Time limit of a call, in milliseconds.
const CALL_TIMEOUT_MS: u32 = 35_000;
/// The longest output, in bytes.
const OUTPUT_MAX_BYTES: u32 = 256 * 1024;

struct RunSql;

impl Tool for RunSql {
    fn describe() -> ToolInfo {
        ToolInfo {
            title: "Run a query".to_owned(),
            timeout_ms: CALL_TIMEOUT_MS,
            max_output_bytes: OUTPUT_MAX_BYTES,
            ..ToolInfo::new(
                "run_sql",
                env!("CARGO_PKG_VERSION"),
                "Runs one SQL statement that reads (SELECT, WITH … SELECT) on a data source and gives its rows: \
                 the first 50 to you, all of them to the user and to draw_chart. Write it in the data \
                 source's dialect, with names as search_catalog gives them. It changes nothing; statements \
                 that would are refused.",
                &input_schema(),
                &rows::schema(),
            )
        }
    }

    fn call(input: String, context: Context) -> Result<Outcome, Error> {
        let input: Value = serde_json::from_str(&input)?;
        let sql = input["sql"].as_str().ok_or_else(|| Error::invalid_input("`sql` must be a statement"))?;
        let datasource = match input["datasource"].as_str().map(str::to_owned).or(context.default_datasource)
        {
            Some(name) => name,
            None => return Err(Error::invalid_input(no_datasource(&context.language))),
        };
        let answer = query::run(&QueryRequest {
            datasource: datasource.clone(),
            sql: sql.to_owned(),
            max_rows: most_rows(input["maxRows"].as_u64(), context.max_rows),
            max_bytes: ANSWER_MAX_BYTES,
            timeout_ms: QUERY_TIMEOUT_MS,
        })?;
        let statement = json!({"datasource": datasource, "sql": sql});
        Ok(rows::outcome(&answer.rows, answer.took_ms, &statement))
    }
}

/// The requested limit within the useful one; 0 is the host's own limit.
fn most_rows(asked: Option<u64>, of_use: u32) -> u32 {
    let bound = if of_use == 0 { ROWS_MAX } else { of_use.min(ROWS_MAX) };
    let asked = asked.map_or(ROWS_DEFAULT, |asked| u32::try_from(asked).unwrap_or(bound));
    asked.clamp(1, bound)
}

fn no_datasource(language: &str) -> &'static str {
    if language.starts_with("zh") {
        "请在 `datasource` 中写明数据源；search_catalog 会给出每张表所属的数据源。"
    } else {
        "Name the data source in `datasource`; search_catalog tells which one a table is in."
    }
}

fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "datasource": {
                "type": "string",
                "minLength": 1,
                "description": "the data source's name; absent: the topic's own",
            },
            "sql": {
                "type": "string",
                "minLength": 1,
                "maxLength": SQL_MAX_CHARS,
                "description": "one statement that reads",
            },
            "maxRows": {"type": "integer", "minimum": 1, "maximum": ROWS_MAX, "description": "rows at most; absent: 1,000"},
        },
        "required": ["sql"],
        "additionalProperties": false,
    })
}

lakeport_sdk::tool!(RunSql);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_bounded_by_what_is_of_use() {
        assert_eq!(most_rows(None, 1_000), 1_000);
        assert_eq!(most_rows(Some(5), 1_000), 5);
        assert_eq!(most_rows(Some(5_000), 1_000), 1_000);
        assert_eq!(most_rows(None, 0), ROWS_DEFAULT);
        assert_eq!(most_rows(None, 10), 10);
        assert_eq!(most_rows(Some(5_000), 0), 5_000);
    }
}
