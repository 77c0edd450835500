//! Definitions: stale answers, versions, and what is refused in which state.

use super::*;

fn detail(site: &Site, code: i64) -> Value {
    data(&site.get(&format!("process-definition/{code}"), &[]))
}

#[test]
fn the_answer_to_a_creation_is_stale() {
    Site::each(|site| {
        let answer = site.post("process-definition", &site.form("stale", &["true"]).pairs());
        assert_eq!(answer.status, 201);
        let made = data(&answer);
        assert_eq!(
            (&made["version"], &made["releaseState"], &made["id"]),
            (&json!(0), &Value::Null, &Value::Null)
        );
        let there = detail(site, made["code"].as_i64().expect("a code"));
        let there = &there[site.word("processDefinition")];
        assert_eq!((&there["version"], &there["releaseState"]), (&json!(1), &json!("OFFLINE")));
    });
}

#[test]
fn a_name_is_used_once() {
    Site::each(|site| {
        data(&site.post("process-definition", &site.form("once", &["true"]).pairs()));
        let again = site.post("process-definition", &site.form("once", &["true"]).pairs());
        assert_eq!(codes(&again), (201, 10_168));
    });
}

#[test]
fn one_that_is_online_cannot_be_changed() {
    Site::each(|site| {
        let mut form = site.form("changed", &["true", "true"]);
        let code = site.online(&form);
        let path = format!("process-definition/{code}");
        assert_eq!(codes(&site.put(&path, &form.pairs())), (200, 50_008));
        assert_eq!(codes(&site.delete(&path)), (200, 50_021));
        assert_eq!(data(&site.release(code, "OFFLINE")), json!(true));

        // Nothing new: the version stays.
        for task in &mut form.tasks {
            task["version"] = json!(1);
        }
        assert_eq!(data(&site.put(&path, &form.pairs()))["version"], 1);
        assert_eq!(detail(site, code)[site.word("processDefinition")]["version"], 1);

        // One task is new: the answer has the version before the change.
        form.tasks[1]["taskParams"]["rawScript"] = json!("echo new");
        assert_eq!(data(&site.put(&path, &form.pairs()))["version"], 1);
        let there = detail(site, code);
        assert_eq!(there[site.word("processDefinition")]["version"], 2);
        let versions: Vec<&Value> = there["taskDefinitionList"]
            .as_array()
            .expect("tasks")
            .iter()
            .map(|task| &task["version"])
            .collect();
        assert_eq!(versions, [1, 2]);
        let relations = there[site.word("processTaskRelationList")].as_array().expect("relations");
        assert_eq!(relations[1]["postTaskVersion"], 2);

        assert_eq!(data(&site.delete(&path)), Value::Null);
        assert_eq!(codes(&site.get(&path, &[])), (200, 50_003));
        assert_eq!(codes(&site.delete(&path)), (200, 50_003));
    });
}

#[test]
fn what_is_no_definition_is_refused() {
    for generation in BOTH {
        let site = Site::new(generation);
        let create = |form: &Form| codes(&site.post("process-definition", &form.pairs()));
        let mut empty = site.form("empty", &["true"]);
        empty.tasks[0]["taskParams"]["rawScript"] = json!(" ");
        assert_eq!(create(&empty), (201, 50_020));
        let mut circle = site.form("circle", &["true", "true"]);
        circle.codes = vec![circle.codes[1], circle.codes[0], circle.codes[1]];
        assert_eq!(create(&circle), (201, 50_019));
        site.no_problems();
        let mut stranger = site.form("stranger", &["true"]);
        stranger.tasks[0]["code"] = json!(1);
        assert_eq!(create(&stranger), (201, 50_017));
        assert!(site.server.problems()[0].contains("was not given out"), "{:?}", site.server.problems());
    }
}

#[test]
fn a_task_of_another_version_is_noted() {
    let site = Site::new(Generation::V32);
    let form = site.form("versions", &["true"]);
    let code = site.online(&form);
    data(&site.release(code, "OFFLINE"));
    data(&site.put(&format!("process-definition/{code}"), &form.pairs()));
    assert!(site.server.problems()[0].contains("0 was sent"), "{:?}", site.server.problems());
}

#[test]
fn a_hundred_codes_are_given_at_once() {
    Site::each(|site| {
        let codes_of = |count: &str| site.get("task-definition/gen-task-codes", &[("genNum", count)]);
        assert_eq!(data(&codes_of("100")).as_array().map(Vec::len), Some(100));
        assert_eq!(codes(&codes_of("101")), (200, 50_017));
        assert_eq!(codes(&codes_of("0")), (200, 50_017));
    });
}

#[test]
fn one_that_runs_is_not_removed() {
    Site::each(|site| {
        let code = site.online(&site.form("runs", &["sleep 30"]));
        let run = site.run(code, &[]);
        site.until(run, "RUNNING_EXECUTION");
        data(&site.release(code, "OFFLINE"));
        assert_eq!(codes(&site.delete(&format!("process-definition/{code}"))), (200, 10_163));
        data(&site.execute(run, "STOP"));
        site.until(run, "STOP");
        data(&site.delete(&format!("process-definition/{code}")));
    });
}
