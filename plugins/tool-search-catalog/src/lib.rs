//! The tool `search_catalog`: tables and fields that match a text, in the catalogue's ranking.
//!
//! It adds the fields to the catalogue's answer, so that a model can write SQL from it.

mod shown;

use lakeport_sdk::serde_json::{self, Value, json};
use lakeport_sdk::tool::catalog::{self, Filter, Table};
use lakeport_sdk::tool::{Context, Error, Outcome, Page, Tool, ToolInfo};

/// Tables of an answer by default.
const TABLES_USUAL: u64 = 10;
/// The most tables of an answer.
const TABLES_MAX: u64 = 50;
/// The longest query, in characters.
const QUERY_MAX_CHARS: u32 = 2_000;
/// The longest output, in bytes.
const OUTPUT_MAX_BYTES: u32 = 512 * 1024;

struct SearchCatalog;

impl Tool for SearchCatalog {
    fn describe() -> ToolInfo {
        ToolInfo {
            title: "Search the catalogue".to_owned(),
            max_output_bytes: OUTPUT_MAX_BYTES,
            ..ToolInfo::new(
                "search_catalog",
                env!("CARGO_PKG_VERSION"),
                "Finds tables and fields whose names or comments fit a text in English or Chinese, the best \
                 first, with the types and comments of their fields. Use it before writing SQL, and for \
                 questions about which tables there are. It knows nothing of the rows in them. A table with \
                 \"physical\": false is only designed and cannot be queried.",
                &input_schema(),
                &shown::schema(),
            )
        }
    }

    fn call(input: String, _context: Context) -> Result<Outcome, Error> {
        let input: Value = serde_json::from_str(&input)?;
        let query = input["query"].as_str().ok_or_else(|| Error::invalid_input("`query` must be a text"))?;
        let limit = input["limit"].as_u64().unwrap_or(TABLES_USUAL).clamp(1, TABLES_MAX);
        let filter = Filter {
            datasource: input["datasource"].as_str().map(str::to_owned),
            database: None,
            layer: None,
            business_domain: None,
        };
        let limit = u32::try_from(limit).expect("TABLES_MAX is small");
        let found = catalog::search(query, &filter, &Page { cursor: None, limit })?;
        let ids: Vec<u64> = found.hits.iter().map(|hit| hit.table.id).collect();
        // A table may be deleted between the search and this.
        let tables: Vec<Table> =
            if ids.is_empty() { Vec::new() } else { catalog::get(&ids)?.into_iter().flatten().collect() };
        let answer = shown::tables(&tables, |table| {
            found.hits.iter().find(|hit| hit.table.id == table.head.id).map_or(&[], |hit| &hit.fields)
        });
        let output = json!({"tables": answer.tables, "more": found.next.is_some()});
        Ok(Outcome { truncated: answer.cut || found.next.is_some(), ..Outcome::new(&output) })
    }
}

fn input_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "minLength": 1,
                "maxLength": QUERY_MAX_CHARS,
                "description": "what to look for: words of the question, names of tables or fields",
            },
            "datasource": {"type": "string", "minLength": 1, "description": "only tables of this data source; absent: all"},
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": TABLES_MAX,
                "description": format!("tables at most; absent: {TABLES_USUAL}"),
            },
        },
        "required": ["query"],
        "additionalProperties": false,
    })
}

lakeport_sdk::tool!(SearchCatalog);
