//! The tool `lineage`: the tables upstream and downstream of a table.

mod shown;
mod words;

use lakeport_sdk::serde_json::{self, Value, json};
use lakeport_sdk::tool::lineage::{self, GraphRequest};
use lakeport_sdk::tool::tables::TableHead;
use lakeport_sdk::tool::{Context, Error, Outcome, Tool, ToolInfo, catalog};

/// The most tables of an answer.
const NODES_MAX: u32 = 200;
/// The most steps.
const DEPTH_MAX: u64 = 100;
/// The longest name of a table with its data source and database, in characters.
const TABLE_MAX_CHARS: u32 = 300;
/// The longest output, in bytes.
const OUTPUT_MAX_BYTES: u32 = 256 * 1024;

struct Lineage;

impl Tool for Lineage {
    fn describe() -> ToolInfo {
        ToolInfo {
            title: "Lineage of a table".to_owned(),
            max_output_bytes: OUTPUT_MAX_BYTES,
            ..ToolInfo::new(
                "lineage",
                env!("CARGO_PKG_VERSION"),
                "Tells which tables the data of a table comes from (upstream) and which are made from it \
                 (downstream), step by step, with the tasks that carry it. Use it for questions about \
                 dependencies, origin, or what a change of a table would affect. Not for rows.",
                &input_schema(),
                &shown::schema(),
            )
        }
    }

    fn call(input: String, context: Context) -> Result<Outcome, Error> {
        let input: Value = serde_json::from_str(&input)?;
        let name = input["table"].as_str().ok_or_else(|| Error::invalid_input("`table` must be a name"))?;
        let chinese = context.language.starts_with("zh");
        let table = the_one(name, catalog::resolve(name)?, chinese)?;
        let depth =
            input["depth"].as_u64().map(|depth| u32::try_from(depth.min(DEPTH_MAX)).expect("it is small"));
        let graph = lineage::around(&GraphRequest {
            table: table.id,
            direction: input["direction"].as_str().unwrap_or("both").to_owned(),
            depth,
            max_nodes: NODES_MAX,
        })?;
        Ok(shown::outcome(&table, &graph))
    }
}

/// The table that a name means. An existing table wins over designs of the same name.
fn the_one(name: &str, mut found: Vec<TableHead>, chinese: bool) -> Result<TableHead, Error> {
    if found.len() > 1 && found.iter().filter(|table| table.physical).count() == 1 {
        found.retain(|table| table.physical);
    }
    match found.len() {
        0 => Err(Error::not_found(words::no_table(name, chinese))),
        1 => Ok(found.remove(0)),
        _ => {
            let error = Error::invalid_input(words::several(name, &found, chinese));
            Err(found.iter().fold(error, |error, table| error.with("candidate", words::quoted_name(table))))
        }
    }
}

fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "table": {
                "type": "string",
                "minLength": 1,
                "maxLength": TABLE_MAX_CHARS,
                "description": "the table: `name`, `database.name` or `datasource.database.name`",
            },
            "direction": {
                "type": "string",
                "enum": ["upstream", "downstream", "both"],
                "description": "upstream: where its data comes from; downstream: what is made from it; absent: both",
            },
            "depth": {
                "type": "integer",
                "minimum": 1,
                "maximum": DEPTH_MAX,
                "description": "steps at most; absent: as far as it goes",
            },
        },
        "required": ["table"],
        "additionalProperties": false,
    })
}

lakeport_sdk::tool!(Lineage);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shown::testing::head;

    #[test]
    fn a_name_must_mean_one_table() {
        assert_eq!(the_one("t", Vec::new(), false).unwrap_err().code, "not_found");
        let error = the_one("t", vec![head(1, "t"), head(2, "t")], false).unwrap_err();
        assert_eq!(error.code, "invalid_input");
        assert!(error.message.contains("shop.main.t"));
        let design = TableHead { physical: false, ..head(1, "t") };
        assert_eq!(the_one("t", vec![design, head(2, "t")], true).unwrap().id, 2);
    }
}
