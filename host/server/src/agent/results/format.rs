//! A table as CSV and as NDJSON, and whether rows were left out because the file would be too long.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::Table;

/// The longest file, in bytes.
const FILE_MAX_BYTES: usize = 64 * 1024 * 1024;

/// RFC 4180, with a header. NULL is empty, and an empty text is `""`.
pub fn csv(table: &Table) -> (Vec<u8>, bool) {
    let mut out = Vec::new();
    line(&mut out, table.columns.iter().map(|column| quoted(&column.name)));
    for row in &table.rows {
        if out.len() > FILE_MAX_BYTES {
            return (out, true);
        }
        line(&mut out, row.iter().map(cell));
    }
    (out, false)
}

fn line(out: &mut Vec<u8>, cells: impl Iterator<Item = String>) {
    let text = cells.collect::<Vec<_>>().join(",");
    // An empty line is no record in many readers: one NULL alone is quoted, too.
    out.extend_from_slice(if text.is_empty() { b"\"\"" } else { text.as_bytes() });
    out.extend_from_slice(b"\r\n");
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if text.is_empty() => "\"\"".to_owned(),
        Value::String(text) => quoted(text),
        other => quoted(&other.to_string()),
    }
}

/// Quoted only where it must be.
fn quoted(text: &str) -> String {
    let is_plain = !text.contains([',', '"', '\r', '\n']) && text.trim() == text;
    if is_plain { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

/// An object in each line. Of columns of one name, later ones have a number: `n`, `n_2`.
pub fn ndjson(table: &Table) -> (Vec<u8>, bool) {
    let names = names(table);
    let mut out = Vec::new();
    for row in &table.rows {
        if out.len() > FILE_MAX_BYTES {
            return (out, true);
        }
        let object: Map<String, Value> = names.iter().cloned().zip(row.iter().cloned()).collect();
        out.extend_from_slice(Value::Object(object).to_string().as_bytes());
        out.push(b'\n');
    }
    (out, false)
}

/// The columns' names, each once.
pub fn names(table: &Table) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::with_capacity(table.columns.len());
    let mut names = Vec::with_capacity(table.columns.len());
    for (place, column) in table.columns.iter().enumerate() {
        let mut name = column.name.clone();
        // From its place on, so that many columns of one name do not count up from 2 each.
        let mut number = if taken.contains(&format!("{name}_2")) { place + 1 } else { 2 };
        while !taken.insert(name.clone()) {
            name = format!("{}_{number}", column.name);
            number += 1;
        }
        names.push(name);
    }
    names
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn table(columns: &[&str], rows: Value) -> Table {
        let columns: Vec<Value> =
            columns.iter().map(|name| json!({ "name": name, "type": "TEXT" })).collect();
        serde_json::from_value(json!({ "columns": columns, "rows": rows })).unwrap()
    }

    fn text((bytes, is_cut): (Vec<u8>, bool)) -> String {
        assert!(!is_cut);
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn csv_keeps_what_would_break_a_line() {
        let rows = json!([["a,b", 1, null], ["say \"hi\"\r\nthere", 2.5, ""], [" x", true, "北京"]]);
        let lines = text(csv(&table(&["name", "n,1", "z"], rows)));
        let expected =
            "name,\"n,1\",z\r\n\"a,b\",1,\r\n\"say \"\"hi\"\"\r\nthere\",2.5,\"\"\r\n\" x\",true,北京\r\n";
        assert_eq!(lines, expected);
        assert_eq!(text(csv(&table(&["n"], json!([[null], [1]])))), "n\r\n\"\"\r\n1\r\n");
    }

    #[test]
    fn ndjson_has_an_object_in_each_line_with_each_column() {
        let lines = text(ndjson(&table(&["n", "n", "n_2"], json!([[1, 2, 3], ["a\nb", null, false]]))));
        let expected = "{\"n\":1,\"n_2\":2,\"n_2_2\":3}\n{\"n\":\"a\\nb\",\"n_2\":null,\"n_2_2\":false}\n";
        assert_eq!(lines, expected);
        assert_eq!(text(ndjson(&table(&["n"], json!([])))), "");
        let many = names(&table(&["n"; 2_000], json!([])));
        assert_eq!(many.iter().collect::<HashSet<_>>().len(), 2_000);
    }
}
