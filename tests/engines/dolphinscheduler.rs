//! Tests on a real DolphinScheduler.
//!
//! `cargo xtask test --engines` starts it and tells how to reach it in `LAKEPORT_TEST_DOLPHINSCHEDULER`.

mod backfills;
mod by_hand;
mod faults;
mod generations;
mod kit;
mod many;
mod pair;
mod proxy;
mod same_results;
mod secrets;
mod swap;

use lakeport_engine_tests::{Access, Api};

#[test]
fn the_token_lists_the_project() {
    let access = Access::from_environment().expect("a server");
    let answer = access.api().expect("a base URL").get("/projects/list", &[]).expect("an answer");
    let projects = answer.data().expect("code 0");
    let names: Vec<&str> = projects.as_array().expect("a list").iter().filter_map(name).collect();
    assert!(names.contains(&access.project_name.as_str()), "{names:?}");
}

#[test]
fn a_wrong_token_is_refused() {
    let access = Access::from_environment().expect("a server");
    let api = Api::new(&access.base_url).expect("a base URL").with_header("token", "wrong");
    let answer = api.get("/projects/list", &[]).expect("an answer");
    assert_eq!((answer.status, answer.text().as_str()), (401, ""));
}

fn name(project: &serde_json::Value) -> Option<&str> {
    project["name"].as_str()
}
