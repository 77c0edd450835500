//! The tool's messages for people, in both languages.

use lakeport_sdk::tool::tables::TableHead;

pub fn no_table(name: &str, chinese: bool) -> String {
    if chinese {
        format!("没有名为“{name}”的表。可先用 search_catalog 查找表名。")
    } else {
        format!("There is no table {name:?}. search_catalog finds the names of tables.")
    }
}

pub fn several(name: &str, found: &[TableHead], chinese: bool) -> String {
    let full: Vec<String> = found.iter().map(full_name).collect();
    if chinese {
        format!("“{name}”不唯一，请写全名：{}。", full.join("、"))
    } else {
        format!("{name:?} means several tables; write one of them in full: {}.", full.join(", "))
    }
}

fn full_name(table: &TableHead) -> String {
    format!("{}.{}.{}", table.datasource, table.database, table.name)
}

/// The full name as it can be written in another question: `"shop.db".main.orders`.
pub fn quoted_name(table: &TableHead) -> String {
    let part = |name: &String| {
        let is_plain = name.chars().all(|c| c.is_alphanumeric() || c == '_');
        let mark = if name.contains('"') { '\'' } else { '"' };
        if is_plain { name.clone() } else { format!("{mark}{name}{mark}") }
    };
    [&table.datasource, &table.database, &table.name].map(part).join(".")
}
