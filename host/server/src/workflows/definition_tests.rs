use lakeport_http::form;

use super::*;

const UTC: Tz = Tz::UTC;

fn engines() -> Vec<String> {
    vec!["airflow".to_owned(), "local".to_owned()]
}

fn content(body: &str) -> Result<Content, Vec<(String, String)>> {
    created(&form::from_json(body.as_bytes()).unwrap(), &engines()).map_err(pairs)
}

fn pairs(details: Vec<Detail>) -> Vec<(String, String)> {
    details.into_iter().map(|detail| (detail.field, detail.message)).collect()
}

fn schedule(body: &str, before: Option<&Schedule>) -> Result<Schedule, Vec<(String, String)>> {
    scheduled(&form::from_json(body.as_bytes()).unwrap(), before, UTC).map_err(pairs)
}

#[test]
fn a_workflow_without_an_engine_runs_on_the_local_one() {
    let content = content(r#"{"name":"a"}"#).unwrap();
    assert_eq!((content.scheduler_engine.as_str(), content.description), ("local", None));
    assert!(content.global_params.is_empty() && content.schedule.is_none());
}

#[test]
fn every_wrong_member_is_named() {
    let body = r#"{"name":" a","schedulerEngine":"azkaban","globalParams":[
        {"name":"x","value":"1"},{"name":"x","value":"2"},{"name":"a}b","value":""},{"name":"system.x","value":""}]}"#;
    let wrong = content(body).unwrap_err();
    let fields: Vec<&str> = wrong.iter().map(|(field, _)| field.as_str()).collect();
    assert_eq!(
        fields,
        ["name", "schedulerEngine", "globalParams[1].name", "globalParams[2].name", "globalParams[3].name"]
    );
    assert_eq!(wrong[1].1, "must be a configured engine; there are: airflow, local");
}

#[test]
fn what_is_not_given_stays_and_null_takes_away() {
    let before =
        content(r#"{"name":"a","description":"d","globalParams":[{"name":"x","value":"1"}]}"#).unwrap();
    let change =
        |body: &str| changed(&form::from_json(body.as_bytes()).unwrap(), &before, &engines()).unwrap();
    assert_eq!(change("{}"), before);
    let after = change(r#"{"name":"b","description":null,"globalParams":null}"#);
    assert_eq!((after.name.as_str(), after.description, after.global_params.len()), ("b", None, 0));
    // Its current engine need not exist.
    let form = form::from_json(br#"{"name":"c"}"#).unwrap();
    assert!(changed(&form, &before, &[]).is_ok());
}

#[test]
fn a_schedule_is_laid_over_the_one_before() {
    let missing = schedule("{}", None).unwrap_err();
    assert_eq!(missing[0].0, "crontab");
    let first = schedule(r#"{"crontab":"0 0 2 * * ? *","endTime":"2026-02-01 00:00:00"}"#, None).unwrap();
    assert_eq!((first.timezone.as_str(), first.start_ms), ("UTC", None));
    assert_eq!((first.failure_strategy, first.warning_type), (FailureStrategy::Continue, WarningType::None));
    let body = r#"{"timezone":"Asia/Shanghai","warningType":"ALL","startTime":"2026-01-01 00:00:00"}"#;
    let second = schedule(body, Some(&first)).unwrap();
    assert_eq!((second.crontab, second.end_ms), (first.crontab.clone(), first.end_ms));
    assert_eq!((second.timezone.as_str(), second.warning_type), ("Asia/Shanghai", WarningType::All));
    assert_eq!(schedule(r#"{"endTime":null}"#, Some(&first)).unwrap().end_ms, None);
}

#[test]
fn a_wrong_schedule_names_its_members() {
    let body = r#"{"crontab":"61 0 0 * * ? *","timezone":"Mars","startTime":"soon","endTime":"2026-01-01 00:00:00"}"#;
    let wrong = schedule(body, None).unwrap_err();
    let fields: Vec<&str> = wrong.iter().map(|(field, _)| field.as_str()).collect();
    assert_eq!(fields, ["crontab", "startTime", "timezone"]);
    assert!(wrong[0].1.contains("seconds"), "{}", wrong[0].1);
    let body =
        r#"{"crontab":"0 0 0 * * ? *","startTime":"2026-01-02 00:00:00","endTime":"2026-01-01 00:00:00"}"#;
    assert_eq!(schedule(body, None).unwrap_err()[0].0, "endTime");
}

#[test]
fn a_wrong_type_hides_no_broken_rule_of_a_schedule() {
    let body =
        br#"{"crontab":7,"startTime":"soon","timezone":"Mars","warningType":null,"failureStrategy":"STOP"}"#;
    let draft = form::draft_from_json::<SetSchedule>(body).unwrap();
    let Err(lakeport_base::Error::Refused(refusal)) = draft.checked(|form| scheduled(form, None, UTC)) else {
        panic!("a refusal")
    };
    let fields: Vec<&str> = refusal.details.iter().map(|detail| detail.field.as_str()).collect();
    assert_eq!(fields, ["crontab", "warningType", "failureStrategy", "startTime", "timezone"]);
}

#[test]
fn a_cron_that_is_never_due_is_refused() {
    let wrong = schedule(r#"{"crontab":"0 0 0 30 2 ? *"}"#, None).unwrap_err();
    assert_eq!(wrong[0].0, "crontab");
    assert!(wrong[0].1.contains("never due"), "{}", wrong[0].1);
    // Past due times can be rerun.
    let past = schedule(r#"{"crontab":"0 0 0 1 1 ? 2020"}"#, None).unwrap();
    // The clocks of New York skip it.
    let skipped = Schedule { crontab: "0 30 2 8 3 ? 2026".to_owned(), ..past };
    let wrong = schedule(r#"{"timezone":"America/New_York"}"#, Some(&skipped)).unwrap_err();
    assert_eq!(wrong[0].0, "crontab");
}

#[test]
fn the_next_times_lie_between_its_start_and_its_end() {
    let at = |text: &str| time::parse(text, UTC).unwrap();
    let body =
        r#"{"crontab":"0 0 0 * * ? *","startTime":"2026-01-02 00:00:00","endTime":"2026-01-04 00:00:00"}"#;
    let schedule = schedule(body, None).unwrap();
    let expected = ["2026-01-02 00:00:00", "2026-01-03 00:00:00", "2026-01-04 00:00:00"].map(at);
    assert_eq!(schedule.next_after(at("2025-12-01 00:00:00"), 5), expected);
    assert_eq!(schedule.next_after(at("2025-12-01 00:00:00"), 1), expected[..1]);
    assert_eq!(schedule.next_after(at("2026-01-02 00:00:00"), 5), expected[1..]);
    assert!(schedule.next_after(at("2026-01-04 00:00:00"), 5).is_empty());
}
