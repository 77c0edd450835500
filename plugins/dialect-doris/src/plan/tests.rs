use lakeport_sdk::dialect::{AlterField, Change, DefaultValue, Field, OtherChange, Table, TableName};

use super::*;
use crate::server::Version;

fn field(name: &str, type_text: &str) -> Field {
    Field::new(name, type_text)
}

fn with_extra(extra: &str) -> Field {
    Field { extra: Some(extra.to_owned()), ..field("v", "INT") }
}

fn altered(model: &str, before: Field, edit: fn(&mut Field)) -> Result<ChangePlan, Vec<Problem>> {
    altered_by(None, model, before, edit)
}

fn altered_by(
    version: Option<Version>,
    model: &str,
    before: Field,
    edit: fn(&mut Field),
) -> Result<ChangePlan, Vec<Problem>> {
    let mut after = before.clone();
    edit(&mut after);
    let current = Table {
        model: Some(model.to_owned()),
        distribution: vec!["k".to_owned()],
        ..Table::new(
            TableName::new("ods", "t"),
            vec![Field { key: true, ..field("k", "INT") }, before.clone()],
        )
    };
    let server = Server { version, ..Server::default() };
    plan(&server, &Change::AlterField(AlterField { current, before, after }))
}

fn refused(planned: Result<ChangePlan, Vec<Problem>>) -> Vec<(String, String)> {
    let problems = planned.expect_err("the change is impossible");
    assert!(problems.iter().all(|problem| problem.message.len() > 15), "{problems:?}");
    problems.into_iter().map(|problem| (problem.member, problem.code)).collect()
}

fn one(member: &str, code: &str) -> Vec<(String, String)> {
    vec![(member.to_owned(), code.to_owned())]
}

#[test]
fn fields_with_unrepresentable_properties_are_not_altered() {
    fn widen(field: &mut Field) {
        field.type_text = "BIGINT".to_owned();
    }
    let refusal = one("fieldType", "unsupported_by_dialect");
    assert_eq!(refused(altered("DUPLICATE", with_extra("{\"autoIncrement\":true}"), widen)), refusal);
    assert_eq!(refused(altered("AGGREGATE", field("v", "INT"), widen)), refusal);
    assert_eq!(refused(altered("AGGREGATE", with_extra("{\"aggregate\":\"REPLACE\"}"), widen)), refusal);
    assert_eq!(refused(altered("UNIQUE", with_extra("{\"onUpdate\":true}"), widen)), refusal);
    let generated = Field { generated: Some(String::new()), ..field("v", "INT") };
    assert_eq!(refused(altered("DUPLICATE", generated, widen)), refusal);
    assert_eq!(altered("AGGREGATE", with_extra("{\"aggregate\":\"SUM\"}"), widen).unwrap().steps.len(), 1);
    assert_eq!(refused(altered("DUPLICATE", field("v", "bitmap"), widen)), refusal);
}

#[test]
fn implicit_aggregates_of_a_model_are_omitted() {
    for model in ["UNIQUE", "DUPLICATE"] {
        let planned = altered(model, with_extra("{\"aggregate\":\"REPLACE\"}"), |field| {
            field.type_text = "BIGINT".to_owned()
        });
        let plain = altered(model, field("v", "INT"), |field| field.type_text = "BIGINT".to_owned());
        assert_eq!(planned, plain, "{model}");
    }
}

#[test]
fn an_unrestorable_comment_has_no_undo() {
    let kept = Field { comment: "C:\\dir".to_owned(), ..field("v", "INT") };
    let planned = altered("DUPLICATE", kept, |field| field.comment = "it's \"so\"".to_owned()).unwrap();
    assert_eq!((planned.steps[0].undo.len(), planned.steps[0].undo_complete), (0, false));
}

#[test]
fn retyping_keeps_comments_needing_own_statement() {
    fn widen(field: &mut Field) {
        field.type_text = "BIGINT".to_owned();
    }
    let kept = Field { comment: "C:\\dir".to_owned(), ..field("v", "INT") };
    assert_eq!(altered_by(Some((4, 0, 0)), "DUPLICATE", kept.clone(), widen).unwrap().steps.len(), 2);
    let problem = one("fieldComment", "not_representable");
    assert_eq!(refused(altered_by(Some((3, 1, 4)), "DUPLICATE", kept.clone(), widen)), problem);
    assert_eq!(refused(altered("DUPLICATE", kept, widen)), one("fieldComment", "not_representable"));
    let lost = Field { comment: "it's \"C:\\\"".to_owned(), ..field("v", "INT") };
    assert_eq!(refused(altered("DUPLICATE", lost, widen)), one("fieldComment", "not_representable"));
}

#[test]
fn only_varchars_change_without_rewriting() {
    let cost = |before: Field, edit: fn(&mut Field)| {
        altered_by(Some((4, 0, 0)), "DUPLICATE", before, edit).unwrap().steps[0].cost.clone()
    };
    let required = |type_text: &str| Field { nullable: false, ..field("v", type_text) };
    assert_eq!(cost(required("VARCHAR(9)"), |field| field.nullable = true), "metadata");
    assert_eq!(cost(required("INT"), |field| field.nullable = true), "rewrite");
    let longer: fn(&mut Field) = |field| {
        field.type_text = "VARCHAR(19)".to_owned();
        field.nullable = true;
    };
    assert_eq!(cost(required("VARCHAR(9)"), longer), "metadata");
    // Both quotes need the whole definition.
    let quotes: fn(&mut Field) = |field| field.comment = "it's \"so\"".to_owned();
    assert_eq!(cost(field("v", "INT"), quotes), "rewrite");
    assert_eq!(cost(field("v", "VARCHAR(9)"), quotes), "metadata");
    assert_eq!(cost(field("v", "INT"), |field| field.comment = "so".to_owned()), "metadata");
}

#[test]
fn a_variant_is_not_redefined() {
    let required = Field { nullable: false, ..field("v", "VARIANT") };
    let planned = altered("DUPLICATE", required, |field| field.nullable = true);
    assert_eq!(refused(planned), one("isNullable", "unsupported_by_dialect"));
}

#[test]
fn nothing_is_planned_where_nothing_changes() {
    let same = altered("DUPLICATE", field("v", "int(11)"), |field| field.type_text = "INT".to_owned());
    assert!(same.unwrap().steps.is_empty());
    let same = altered("DUPLICATE", field("v", "INT"), |field| field.defaults_to = DefaultValue::Null);
    assert!(same.unwrap().steps.is_empty());
    let case = altered("DUPLICATE", field("v", "INT"), |field| field.name = "V".to_owned());
    assert_eq!(refused(case), one("fieldName", "unsupported_by_dialect"));
}

#[test]
fn a_change_that_is_not_known_is_refused() {
    let other = OtherChange { operation: "swap".to_owned(), current: None, input: "{}".to_owned() };
    assert_eq!(refused(plan(&Server::default(), &Change::Other(other))), one("", "unsupported_by_dialect"));
}
