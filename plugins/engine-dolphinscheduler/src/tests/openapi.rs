//! Holds requests against the OpenAPI documents that running servers answered. They lie beside the project, in
//! `../shared/data/dolphinscheduler`; without them nothing is checked, and the tests say so.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use lakeport_sdk::serde_json::{self, Value};

/// From the folder of this package.
const DOCUMENTS: &str = "../../../shared/data/dolphinscheduler";

/// The documents that were read, by version.
type Read = HashMap<&'static str, Option<&'static Value>>;

fn document(version: &'static str) -> Option<&'static Value> {
    static READ: OnceLock<Mutex<Read>> = OnceLock::new();
    let mut read = READ.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    *read.entry(version).or_insert_with(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(DOCUMENTS);
        let Ok(text) = std::fs::read(folder.join(format!("openapi-{version}.json"))) else {
            // Past the capture of a test that passes.
            let told = writeln!(
                std::io::stderr(),
                "NOT CHECKED: there is no OpenAPI document of DolphinScheduler {version} in {DOCUMENTS}"
            );
            told.expect("the standard error is open");
            return None;
        };
        let document: Value = serde_json::from_slice(&text).expect("the document is JSON");
        Some(Box::leak(Box::new(document)))
    })
}

/// Fails unless the server has this call, and takes these parameters; all that it requires must be there.
pub fn check(version: &'static str, method: &str, path: &str, names: &[&str]) {
    let Some(document) = document(version) else { return };
    let paths = document["paths"].as_object().expect("a document has paths");
    let segments: Vec<&str> = path.split('/').collect();
    let fits = |template: &str| {
        let template: Vec<&str> =
            template.trim_start_matches("/dolphinscheduler").split('/').skip(1).collect();
        template.len() == segments.len()
            && template.iter().zip(&segments).all(|(part, segment)| part.starts_with('{') || part == segment)
    };
    // A path without placeholders is nearer.
    let mut found: Vec<_> = paths.iter().filter(|(template, _)| fits(template)).collect();
    found.sort_by_key(|(template, _)| template.matches('{').count());
    let call = found.iter().find_map(|(template, calls)| Some((template, calls.get(method.to_lowercase())?)));
    let (template, call) = call.unwrap_or_else(|| panic!("{version} has no {method} {path}"));
    let params = call["parameters"].as_array().into_iter().flatten();
    // Some stand for an object that the server fills in by itself; they have no place.
    let params: Vec<&Value> = params.filter(|param| param.get("in").is_some()).collect();
    let name = |param: &Value| param["name"].as_str().unwrap_or_default().to_owned();
    for sent in names {
        let is_known = params.iter().any(|param| name(param) == *sent && param["in"] != "path");
        assert!(is_known, "{version}: {method} {path} has no parameter {sent}");
    }
    for param in params.into_iter().filter(|param| param["required"] == true && param["in"] == "query") {
        let name = name(param);
        // 3.1.1 documents the id in a path as a parameter of the query, and fields of the user who asks.
        let is_in_path = template.contains(&format!("{{{name}}}"));
        assert!(is_in_path || names.contains(&&*name), "{version}: {method} {path} needs {name}");
    }
}

#[test]
fn a_wrong_request_is_seen() {
    for (path, names) in [
        ("projects/77/process-definitions", &["pageNo", "pageSize"][..]),
        ("projects/77/process-definition", &["pageNo"]),
        ("projects/77/process-definition", &["pageNo", "pageSize", "page"]),
    ] {
        let check = std::panic::catch_unwind(|| check("3.1.1", "GET", path, names));
        assert!(check.is_err() || document("3.1.1").is_none(), "{path} {names:?}");
    }
}

#[test]
fn the_documents_are_read() {
    for version in super::VERSIONS {
        if let Some(document) = document(version) {
            assert!(document["paths"].as_object().is_some_and(|paths| paths.len() > 100));
        }
    }
}
