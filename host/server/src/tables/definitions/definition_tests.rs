use lakeport_http::form::from_json;

use super::*;

fn created(body: &str) -> Definition {
    Definition::of(from_json(body.as_bytes()).unwrap_or_else(|error| panic!("{body}: {error}")))
}

fn changed(before: &Definition, body: &str) -> Definition {
    before.changed_by(from_json(body.as_bytes()).unwrap_or_else(|error| panic!("{body}: {error}")))
}

fn whole() -> Definition {
    created(
        r#"{"tableName":"t","dbName":"main","tableComment":"","layer":"ODS","clusterId":2,"bucketNum":3,
        "keyColumns":" a , b","partitionColumn":" ","owner":"ann"}"#,
    )
}

#[test]
fn an_empty_text_is_none_and_lists_lose_their_blanks() {
    let definition = whole();
    assert_eq!((&definition.table_comment, &definition.partition_column), (&None, &None));
    assert_eq!(definition.key_columns.as_deref(), Some("a,b"));
    assert_eq!(definition.keys(), ["a", "b"]);
    assert!(definition.problems().is_empty());
}

#[test]
fn lists_that_are_none_are_named() {
    for list in ["a,,b", ",a", "a,a", &"x".repeat(65)] {
        let body = serde_json::json!({ "tableName": "t", "dbName": "main", "keyColumns": list });
        let problems = created(&body.to_string()).problems();
        assert_eq!(problems.len(), 1, "{list}");
        assert_eq!(problems[0].field, "keyColumns");
    }
}

#[test]
fn what_is_absent_stays_and_what_is_null_goes() {
    let before = whole();
    assert_eq!(changed(&before, "{}"), before);
    let after =
        changed(&before, r#"{"layer":null,"owner":"","bucketNum":5,"tableName":"u","clusterId":null}"#);
    assert_eq!((after.layer, after.owner, after.bucket_num), (None, None, Some(5)));
    assert_eq!((after.table_name.as_str(), after.cluster_id), ("u", None));
    assert_eq!(after.key_columns, before.key_columns);
}

#[test]
fn a_physical_table_keeps_its_place_and_its_shape() {
    let before = whole();
    let fixed = |body: &str| before.not_changeable(&changed(&before, body));
    assert!(
        fixed(r#"{"tableName":"u","tableComment":"c","layer":"DWD","bucketNum":9,"replicaNum":1}"#)
            .is_empty()
    );
    assert!(fixed(r#"{"dbName":"main","clusterId":2,"keyColumns":"a, b"}"#).is_empty(), "equal is no change");
    for (body, member) in [
        (r#"{"dbName":"other"}"#, "dbName"),
        (r#"{"clusterId":3}"#, "clusterId"),
        (r#"{"clusterId":null}"#, "clusterId"),
        (r#"{"tableModel":"DUPLICATE"}"#, "tableModel"),
        (r#"{"keyColumns":"b,a"}"#, "keyColumns"),
        (r#"{"partitionColumn":"a"}"#, "partitionColumn"),
        (r#"{"distributionColumn":"a"}"#, "distributionColumn"),
        (r#"{"bucketNum":null}"#, "bucketNum"),
    ] {
        assert_eq!(fixed(body), [member], "{body}");
    }
}
