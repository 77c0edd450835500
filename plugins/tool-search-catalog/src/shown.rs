//! Tables as shown to a model: everything that helps to write SQL, within the model's limits.

use lakeport_sdk::serde_json::{Value, json};
use lakeport_sdk::tool::catalog::{Field, Table};

/// The most fields of one table.
const FIELDS_MAX: usize = 100;
/// The most fields of all tables together.
const FIELDS_MAX_IN_ALL: usize = 600;
/// The longest comment, in characters.
const COMMENT_MAX_CHARS: usize = 300;

/// Tables in the output's form.
pub struct Shown {
    pub tables: Vec<Value>,
    /// True: fields or ends of comments were left out.
    pub cut: bool,
}

/// Shows tables. `fitting` names the fields of a table that match the query: they take precedence.
pub fn tables<'a>(tables: &[Table], fitting: impl Fn(&Table) -> &'a [String]) -> Shown {
    let mut left = FIELDS_MAX_IN_ALL;
    let mut shown = Shown { tables: Vec::new(), cut: false };
    for table in tables {
        let kept = kept(&table.fields, fitting(table), left.min(FIELDS_MAX));
        left -= kept.len();
        shown.cut |= kept.len() < table.fields.len();
        let fields: Vec<Value> = kept.into_iter().map(|field| one_field(field, &mut shown.cut)).collect();
        let head = &table.head;
        shown.tables.push(json!({
            "id": head.id,
            "datasource": head.datasource,
            "database": head.database,
            "name": head.name,
            "comment": comment(&head.comment, &mut shown.cut),
            "layer": head.layer,
            "physical": head.physical,
            "fields": fields,
        }));
    }
    shown
}

/// The fields to show, in the table's order.
fn kept<'f>(fields: &'f [Field], fitting: &[String], most: usize) -> Vec<&'f Field> {
    let mut places: Vec<usize> = (0..fields.len()).collect();
    places.sort_by_key(|&place| !(fields[place].key || fitting.contains(&fields[place].name)));
    places.truncate(most);
    places.sort_unstable();
    places.into_iter().map(|place| &fields[place]).collect()
}

fn one_field(field: &Field, cut: &mut bool) -> Value {
    json!({
        "name": field.name,
        "type": field.type_text,
        "nullable": field.nullable,
        "key": field.key,
        "comment": comment(&field.comment, cut),
    })
}

fn comment(text: &str, cut: &mut bool) -> String {
    match text.char_indices().nth(COMMENT_MAX_CHARS) {
        Some((end, _)) => {
            *cut = true;
            format!("{}…", &text[..end])
        }
        None => text.to_owned(),
    }
}

/// The output's schema.
pub fn schema() -> Value {
    let text = json!({"type": "string"});
    let truth = json!({"type": "boolean"});
    let field = json!({
        "type": "object",
        "properties": {"name": text, "type": text, "nullable": truth, "key": truth, "comment": text},
        "required": ["name", "type", "nullable", "key", "comment"],
        "additionalProperties": false,
    });
    let table = json!({
        "type": "object",
        "properties": {
            "id": {"type": "integer", "minimum": 0},
            "datasource": text,
            "database": text,
            "name": text,
            "comment": text,
            "layer": {"type": ["string", "null"]},
            "physical": truth,
            "fields": {"type": "array", "items": field},
        },
        "required": ["id", "datasource", "database", "name", "comment", "layer", "physical", "fields"],
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "properties": {"tables": {"type": "array", "items": table}, "more": truth},
        "required": ["tables", "more"],
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lakeport_sdk::tool::tables::TableHead;

    fn wide(fields: usize) -> Table {
        let field = |place: usize| Field {
            name: format!("f{place}"),
            type_text: "TEXT".to_owned(),
            nullable: true,
            key: false,
            comment: String::new(),
        };
        Table {
            head: TableHead {
                id: 1 << 63,
                datasource: "shop".to_owned(),
                database: "main".to_owned(),
                name: "wide".to_owned(),
                comment: "表".repeat(COMMENT_MAX_CHARS + 1),
                layer: None,
                business_domain: None,
                data_domain: None,
                row_count: None,
                physical: true,
            },
            fields: (0..fields).map(field).collect(),
            partition: Vec::new(),
        }
    }

    #[test]
    fn of_a_wide_table_the_fitting_fields_are_kept() {
        let fitting = [format!("f{FIELDS_MAX}")];
        let shown = tables(&[wide(FIELDS_MAX + 1)], |_| &fitting);
        assert!(shown.cut);
        let fields = shown.tables[0]["fields"].as_array().unwrap();
        assert_eq!(fields.len(), FIELDS_MAX);
        assert_eq!(fields[FIELDS_MAX - 1]["name"], "f100");
        assert_eq!(shown.tables[0]["id"], 1u64 << 63);
        assert_eq!(shown.tables[0]["comment"].as_str().unwrap().chars().count(), COMMENT_MAX_CHARS + 1);
    }

    #[test]
    fn many_wide_tables_share_one_bound() {
        let many: Vec<Table> = (0..20).map(|_| wide(FIELDS_MAX)).collect();
        let shown = tables(&many, |_| &[]);
        let fields: usize = shown.tables.iter().map(|table| table["fields"].as_array().unwrap().len()).sum();
        assert_eq!((shown.tables.len(), fields), (20, FIELDS_MAX_IN_ALL));
    }
}
