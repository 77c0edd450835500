//! Log-ins, unknown paths, and requests that do not fit.

use serde_json::json;

use super::*;

#[test]
fn a_wrong_token_is_refused_without_a_body() {
    for generation in BOTH {
        let site = Site::new(generation);
        let base = site.server.access().base_url;
        for api in [
            Api::new(&base).expect("a base URL"),
            Api::new(&base).expect("a base URL").with_header("token", "wrong"),
            Api::new(&base).expect("a base URL").with_header("sessionId", "wrong"),
        ] {
            let answer = api.get("/projects/list", &[]).expect("an answer");
            assert_eq!((answer.status, answer.text().as_str()), (401, ""));
        }
        assert_eq!(site.server.requests().len(), 3);
        site.no_problems();
    }
}

#[test]
fn a_log_in_gives_a_session() {
    Site::each(|site| {
        let access = site.server.access();
        let api = Api::new(&access.base_url).expect("a base URL");
        let log_in = |password: &str| {
            api.post("/login", &[("userName", &access.username), ("userPassword", password)])
                .expect("an answer")
        };
        assert_eq!(codes(&log_in("wrong")), (200, 10_013));
        let session = data(&log_in(&access.password))["sessionId"].as_str().expect("a session").to_owned();
        let api = api.clone().with_header("sessionId", &session);
        let projects = data(&api.get("/projects/list", &[]).expect("an answer"));
        assert_eq!(projects[0]["name"], "lakeport");
        assert!(!site.server.requests().iter().any(|line| line.contains(&access.password)));
    });
}

#[test]
fn what_is_not_foreseen_is_html_and_noted() {
    for generation in BOTH {
        let site = Site::new(generation);
        let unknown = site.api.get("/no-such-path", &[]).expect("an answer");
        assert_eq!(unknown.status, 404);
        unknown.json().expect_err("it is HTML");
        let wrong_method = site.api.post("/projects/list", &[]).expect("an answer");
        assert_eq!(wrong_method.status, 405);
        assert_eq!(site.server.problems().len(), 2, "{:?}", site.server.problems());
    }
}

/// By these a client finds out which generation it is.
#[test]
fn the_paths_of_the_other_generation_are_not_there() {
    let page = [("pageNo", "1"), ("pageSize", "1")];
    let list = |site: &Site, definitions: &str| {
        let path = format!("/projects/{PROJECT}/{definitions}");
        site.api.get(&path, &page).expect("an answer").status
    };
    let old = Site::new(Generation::V32);
    assert_eq!((list(&old, "workflow-definition"), list(&old, "process-definition")), (404, 200));
    old.no_problems();
    let new = Site::new(Generation::V33);
    assert_eq!((list(&new, "workflow-definition"), list(&new, "process-definition")), (200, 404));
    assert_eq!(new.server.problems().len(), 1);
}

#[test]
fn parameters_that_do_not_fit_are_refused_and_noted() {
    for generation in BOTH {
        let site = Site::new(generation);
        let form = site.form("strict", &["true"]);
        let code = site.online(&form);
        site.no_problems();
        let id = code.to_string();
        // Missing, of a wrong word, no number: the endpoint's own code.
        let missing = site.post("executors/start-process-instance", &[("processDefinitionCode", &id)]);
        assert_eq!(codes(&missing), (200, 50_014));
        assert_eq!(codes(&site.start(code, &[("failureStrategy", "LATER")])), (200, 50_014));
        assert_eq!(codes(&site.start(code, &[("warningGroupId", "x")])), (200, 50_014));
        assert_eq!(codes(&site.post("schedules", &[])), (201, 10_076));
        let list = site.get("process-instances", &[("pageNo", "1"), ("pageSize", "1"), ("stateType", "UP")]);
        assert_eq!(codes(&list), (200, 10_113));
        // Only the newer one says why.
        let text = missing.json().expect("an envelope")["msg"].to_string();
        assert_eq!(text.contains("scheduleTime"), generation == Generation::V33, "{text}");
        let noted = site.server.problems();
        assert!(noted.len() >= 5, "{noted:?}");
        // What is not known is taken, as real servers take it, and noted.
        data(&site.get("process-definition", &[("pageNo", "1"), ("pageSize", "1"), ("other", "1")]));
        assert!(site.server.problems().len() > noted.len());
    }
}

#[test]
fn another_project_is_not_there() {
    Site::each(|site| {
        let path = format!("/projects/77/{}", site.word("process-definition"));
        let answer = site.api.get(&path, &[("pageNo", "1"), ("pageSize", "1")]).expect("an answer");
        assert_eq!(codes(&answer), (200, 10_190));
    });
}

#[test]
fn a_form_that_is_too_large_is_refused() {
    for (generation, why) in [(Generation::V32, false), (Generation::V33, true)] {
        let site = Site::new(generation);
        let large = "x".repeat(5_000_001);
        let answer = site.post("process-definition", &[("name", &large)]);
        assert_eq!(codes(&answer), (201, 10_105));
        assert_eq!(answer.text().contains("Unable to parse form content"), why);
    }
}

#[test]
fn pages_say_the_row_that_they_begin_with() {
    Site::each(|site| {
        for name in ["a", "b", "c"] {
            data(&site.post("process-definition", &site.form(name, &["true"]).pairs()));
        }
        let page = |number: &str, size: &str| {
            data(&site.get("process-definition", &[("pageNo", number), ("pageSize", size)]))
        };
        let second = page("2", "2");
        let counts = ["total", "totalPage", "currentPage", "pageNo"].map(|name| second[name].clone());
        assert_eq!(counts, [json!(3), json!(2), json!(2), json!(2)]);
        assert_eq!(second["totalList"].as_array().map(Vec::len), Some(1));
        let empty = data(&site.get("schedules", &[("pageNo", "1"), ("pageSize", "2")]));
        assert_eq!((&empty["total"], &empty["totalPage"]), (&json!(0), &Value::Null));
        let wrong = site.get("process-definition", &[("pageNo", "0"), ("pageSize", "2")]);
        assert_eq!(codes(&wrong), (200, 10_001));
    });
}

#[test]
fn data_sources_show_their_passwords() {
    Site::each(|site| {
        let form = json!({"type": "POSTGRESQL", "name": "shop", "note": "", "host": "127.0.0.1", "port": 5432,
            "database": "shop", "userName": "shop", "password": "in clear", "other": {}});
        let make = || site.api.post_json("/datasources", &form).expect("an answer");
        let made = make();
        assert_eq!(made.status, 201);
        data(&made);
        assert_eq!(codes(&make()), (201, 10_015));
        let query = [("pageNo", "1"), ("pageSize", "9"), ("searchVal", "ho")];
        let page = data(&site.api.get("/datasources", &query).expect("an answer"));
        let params = page["totalList"][0]["connectionParams"].as_str().expect("JSON within JSON");
        assert!(params.contains("in clear"), "{params}");
    });
}
