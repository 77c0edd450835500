//! Attacks the reading of documents: none panics, the number of problems is bounded, and what is read without a problem is
//! written and read again as the same.

use lakeport_fuzz::{Choices, fuzz};

use super::*;

const PARTS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "null",
    "true",
    "-1",
    "0",
    "4294967296",
    "1e999",
    "\"\"",
    "\"a\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"format\"",
    "\"lakeport.workflow/1\"",
    "\"lakeport.workflow/2\"",
    "\"workflow\"",
    "\"name\"",
    "\"description\"",
    "\"schedulerEngine\"",
    "\"globalParams\"",
    "\"value\"",
    "\"tasks\"",
    "\"taskName\"",
    "\"taskType\"",
    "\"SQL\"",
    "\"datasource\"",
    "\"sqlContent\"",
    "\"priority\"",
    "\"HIGH\"",
    "\"timeout\"",
    "\"retryTimes\"",
    "\"retryInterval\"",
    "\"tablesFromSql\"",
    "\"inputTables\"",
    "\"outputTables\"",
    "\"dbName\"",
    "\"tableName\"",
    "\"edges\"",
    "\"source\"",
    "\"target\"",
    "\"schedule\"",
    "\"crontab\"",
    "\"timezone\"",
    "\"failureStrategy\"",
    "\"warningType\"",
];

#[test]
fn fuzz_document() {
    fuzz!("document", 3_000, make, check);
}

fn make(choices: &mut Choices<'_>, kept: &[Vec<u8>]) -> Vec<u8> {
    let mut text = String::from_utf8_lossy(&kept[choices.below(kept.len())]).into_owned();
    for _ in 0..1 + choices.below(3) {
        choices.edit_text(&mut text, PARTS);
    }
    text.into_bytes()
}

fn check(input: &[u8]) {
    let Ok(value) = serde_json::from_slice::<&RawValue>(input) else { return };
    let mut problems = Problems::default();
    let read = document(value, &mut problems);
    let (errors, warnings) = problems.into_details();
    assert!(errors.len() <= PROBLEMS_MAX + 1 && warnings.len() <= PROBLEMS_MAX);
    assert!(read.is_some() || !errors.is_empty(), "a document that is not read has a problem");
    if let (Some(read), true) = (read, errors.is_empty()) {
        let text = read.text();
        let again = serde_json::from_str(&text).expect("a document is JSON");
        let mut problems = Problems::default();
        assert_eq!(document(again, &mut problems).as_ref(), Some(&read));
        assert_eq!(problems.into_details(), (Vec::new(), Vec::new()), "{}", read.text());
    }
}
