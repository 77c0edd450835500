use lakeport_http::form;

use super::*;

fn kinds() -> Vec<Kind> {
    let kind = |name: &str, body: &str, needs_datasource| Kind {
        name: name.to_owned(),
        body: body.to_owned(),
        needs_datasource,
        datasource_kinds: Vec::new(),
    };
    vec![kind("SQL", "sql", true), kind("SHELL", "shell", false), kind("WAIT", "none", false)]
}

fn create(body: &str) -> Result<Wanted, Vec<(String, String)>> {
    let form = form::from_json(body.as_bytes()).unwrap();
    sound(created(&form, Some(&kinds())))
}

fn sound((wanted, wrong): (Wanted, Vec<Detail>)) -> Result<Wanted, Vec<(String, String)>> {
    if wrong.is_empty() { Ok(wanted) } else { Err(pairs(wrong)) }
}

fn pairs(details: Vec<Detail>) -> Vec<(String, String)> {
    details.into_iter().map(|detail| (detail.field, detail.message)).collect()
}

fn task(body: &str) -> Task {
    let Wanted { content, given, .. } = create(body).unwrap();
    Task {
        id: 7,
        workflow_id: Some(1),
        content,
        given,
        digest: String::new(),
        created_at_ms: 0,
        updated_at_ms: 0,
    }
}

fn change(before: &Task, body: &str) -> Wanted {
    sound(changed(&form::from_json(body.as_bytes()).unwrap(), before, Some(&kinds()))).unwrap()
}

const SQL: &str =
    r#"{"workflowId":1,"taskName":"a","taskType":"SQL","datasourceId":2,"sqlContent":"select 1"}"#;

#[test]
fn omitted_members_default_tables_are_detected() {
    let wanted = create(&format!(r#"{{"task":{SQL}}}"#)).unwrap();
    assert_eq!(wanted.content.priority, Priority::Medium);
    assert_eq!(
        (wanted.content.timeout, wanted.content.retry_times, wanted.content.retry_interval),
        (0, 0, 0)
    );
    assert!(wanted.find_tables);
    let wanted = create(&format!(r#"{{"task":{SQL},"inputTableIds":[]}}"#)).unwrap();
    assert!(!wanted.find_tables && wanted.given.inputs && !wanted.given.outputs);
    let wanted = create(&format!(r#"{{"task":{SQL},"outputTableIds":[3,1,3]}}"#)).unwrap();
    assert_eq!(wanted.content.output_table_ids, [3, 1]);
}

#[test]
fn every_wrong_member_is_named() {
    let body = r#"{"task":{"workflowId":1,"taskName":" a","taskType":"PYTHON","timeout":4000000000,"retryTimes":101}}"#;
    let expected = [
        ("task.taskName", "must not begin or end with a blank"),
        ("task.taskType", "must be one that the workflow's engine runs: SQL, SHELL, WAIT"),
        ("task.timeout", "must be from 0 to 2592000"),
        ("task.retryTimes", "must be from 0 to 100"),
    ];
    let expected = expected.map(|(field, why)| (field.to_owned(), why.to_owned()));
    assert_eq!(create(body).unwrap_err(), expected);
    let missing = create(r#"{"task":{"workflowId":1,"taskName":"a","taskType":"SQL","sqlContent":" "}}"#);
    let fields: Vec<String> = missing.unwrap_err().into_iter().map(|(field, _)| field).collect();
    assert_eq!(fields, ["task.sqlContent", "task.datasourceId"]);
    assert!(create(r#"{"task":{"workflowId":1,"taskName":"a","taskType":"WAIT"}}"#).is_ok());
    let shell = create(r#"{"task":{"workflowId":1,"taskName":"a","taskType":"SHELL"}}"#).unwrap_err();
    assert_eq!(shell[0].0, "task.sqlContent");
}

#[test]
fn a_list_that_was_given_stands_until_it_is_null() {
    let given = task(&format!(r#"{{"task":{SQL},"inputTableIds":[1],"outputTableIds":[2]}}"#));
    let other_sql = r#"{"task":{"sqlContent":"select 2"}}"#;
    let wanted = change(&given, other_sql);
    assert!(!wanted.find_tables);
    assert_eq!((wanted.content.input_table_ids, wanted.content.output_table_ids), (vec![1], vec![2]));
    let wanted = change(&given, r#"{"inputTableIds":null}"#);
    assert!(!wanted.find_tables);
    assert_eq!((wanted.content.input_table_ids, wanted.content.output_table_ids), (vec![], vec![2]));
    assert!(change(&given, r#"{"inputTableIds":null,"outputTableIds":null}"#).find_tables);

    let found = task(&format!(r#"{{"task":{SQL}}}"#));
    assert!(change(&found, other_sql).find_tables);
    assert!(!change(&found, r#"{"task":{"taskName":"b"}}"#).find_tables);
    assert!(!change(&found, r#"{"outputTableIds":[4]}"#).find_tables);
}

#[test]
fn what_is_not_given_stays_and_null_takes_away() {
    let before = task(&format!(r#"{{"task":{SQL}}}"#));
    let wanted = change(&before, r#"{"task":{"priority":"HIGH","timeout":5}}"#);
    let expected = Content { priority: Priority::High, timeout: 5, ..before.content.clone() };
    assert_eq!(wanted.content, expected);
    let form = form::from_json(br#"{"task":{"datasourceId":null}}"#).unwrap();
    let wrong = sound(changed(&form, &before, Some(&kinds()))).unwrap_err();
    assert_eq!(wrong[0].0, "task.datasourceId");
    assert!(sound(changed(&form, &before, None)).is_ok());
}
