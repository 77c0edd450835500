//! Questions that need declared keys or tags.

use crate::answer::{Answer, answer_of};
use crate::calendar::Day;
use crate::known::Known;
use crate::schema::Schema;
use crate::testing::{market, shop};

fn asked(question: &str, known: &Known<'_>) -> Result<Answer, String> {
    let today = Day::read("2026-07-19").unwrap();
    answer_of(question, known, today).map_err(|unclear| format!("{unclear:?}"))
}

fn sql(question: &str, schema: &Schema) -> String {
    asked(question, &Known::of(schema)).unwrap().sql
}

#[test]
fn questions_join_along_declared_keys() {
    let schema = market();
    let found = sql("What is the total amount per town?", &schema);
    assert!(found.contains("buyer") && found.contains("no"), "{found}");
    let found = sql("total amount of sales by kind of ware", &schema);
    assert!(found.contains("article") && found.contains("code"), "{found}");
    let mut schema = schema;
    schema.references.clear();
    assert!(asked("What is the total amount per town?", &Known::of(&schema)).is_err());
}

#[test]
fn a_tag_names_a_table_that_words_do_not() {
    let mut schema = shop();
    schema.tables[0].tags = vec!["patrons".to_owned()];
    let question = "How many patrons are there?";
    assert!(asked(question, &Known::of(&schema)).is_err());
    let found = asked(question, &Known::with_tags(&schema)).unwrap().sql;
    assert_eq!(found, sql("How many customers are there?", &schema));
}

#[test]
fn a_tag_changes_no_question_that_is_clear() {
    let plain = shop();
    let mut schema = shop();
    for table in &mut schema.tables {
        table.tags = ["orders", "客户", "amount", "shared"].map(str::to_owned).into();
    }
    let known = Known::with_tags(&schema);
    for question in ["How many orders are there?", "每个城市的客户数", "total amount per city"] {
        assert_eq!(asked(question, &known).unwrap().sql, sql(question, &plain), "{question}");
    }
    assert!(asked("How many shared are there?", &known).is_err());
}
