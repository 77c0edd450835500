//! Answers of one row each, side by side.

use lakeport_sdk::serde_json::json;

use crate::answer::Answer;
use crate::dialect::Dialect;

/// Joins answers of one row each into one row. `None` if one has more, or if two numbers have the same name.
pub fn together(answers: Vec<Answer>, dialect: Dialect, chinese: bool) -> Option<Answer> {
    let is_row = |answer: &Answer| answer.shape == "value" && answer.derived.is_empty();
    let names: Vec<&String> = answers.iter().flat_map(|answer| &answer.measures).collect();
    let is_twice = |at: usize| names[..at].iter().any(|name| name.eq_ignore_ascii_case(names[at]));
    if !answers.iter().all(is_row) || (0..names.len()).any(is_twice) {
        return None;
    }
    let (mut columns, mut rows) = (Vec::new(), Vec::new());
    for (answer, at) in answers.iter().zip(1..) {
        let row = dialect.name(&format!("row{at}"));
        let of_row = |name: &String| format!("{row}.{} AS {}", dialect.name(name), dialect.name(name));
        columns.extend(answer.measures.iter().map(of_row));
        rows.push(format!("(\n  {}\n) AS {row}", answer.sql));
    }
    let sql = format!("SELECT {}\nFROM {}", columns.join(", "), rows.join("\nCROSS JOIN "));
    let query = json!({"beside": answers.iter().map(|answer| &answer.query).collect::<Vec<_>>()});
    let joined = |of: fn(&Answer) -> &String, joint: &str| -> String {
        answers.iter().map(|answer| of(answer).as_str()).collect::<Vec<&str>>().join(joint)
    };
    let title = joined(|answer| &answer.title, if chinese { "、" } else { ", " });
    let explanation = joined(|answer| &answer.explanation, if chinese { "" } else { " " });
    let mut tables: Vec<String> = Vec::new();
    for table in answers.iter().flat_map(|answer| &answer.tables) {
        if !tables.contains(table) {
            tables.push(table.clone());
        }
    }
    let doubts = answers.iter().map(|answer| answer.doubts).sum();
    let measures = names.into_iter().cloned().collect();
    let summed = answers.iter().flat_map(|answer| answer.summed.iter().cloned()).collect();
    let first = answers.into_iter().next()?;
    Some(Answer { sql, title, explanation, tables, measures, summed, query, doubts, ..first })
}
