//! The last test: some black-box test reached each operation, and each operation names its role.
//!
//! The tests' client records its requests and their statuses; the OpenAPI description comes from the binary
//! under test.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::workspace;

/// Tells the tests where to record their requests.
pub const HITS_VARIABLE: &str = "LAKEPORT_HITS_DIR";

/// Statuses that do not show that an operation was reached.
const NOT_REACHED: [u16; 3] = [401, 403, 405];

#[derive(Deserialize)]
struct Document {
    paths: BTreeMap<String, BTreeMap<String, Operation>>,
}

#[derive(Deserialize)]
struct Operation {
    #[serde(rename = "operationId")]
    id: String,
    #[serde(rename = "x-role", default)]
    role: String,
}

/// One request of a test.
struct Hit {
    method: String,
    path: String,
    status: u16,
}

/// An empty folder for the requests of this run.
pub fn make_folder() -> Result<PathBuf> {
    let folder = workspace::target().join("test-logs/hits");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Fails naming all operations that no test reached, or that have no role.
pub fn check(binary: &Path, folder: &Path) -> Result<()> {
    let printed = Command::new(binary).arg("openapi").output()?;
    if !printed.status.success() {
        bail!("`{} openapi` failed: {}", binary.display(), String::from_utf8_lossy(&printed.stderr));
    }
    let document: Document = serde_json::from_slice(&printed.stdout).context("the description")?;
    let hits = read_hits(folder)?;
    let problems = problems(&document, &hits);
    if problems.is_empty() {
        return Ok(());
    }
    bail!("{}", problems.join("\n"))
}

fn problems(document: &Document, hits: &[Hit]) -> Vec<String> {
    let mut problems = Vec::new();
    for (path, operations) in &document.paths {
        for (method, operation) in operations {
            if operation.role.is_empty() {
                problems.push(format!("{} names no role", operation.id));
            }
            let reached = hits.iter().any(|hit| {
                hit.method.eq_ignore_ascii_case(method)
                    && !NOT_REACHED.contains(&hit.status)
                    && leads_to(path, &hit.path, document)
            });
            if !reached {
                problems.push(format!(
                    "no test reached {} ({} {path}): add one to tests/tests",
                    operation.id,
                    method.to_uppercase()
                ));
            }
        }
    }
    problems
}

/// Whether the router leads the path to this template: literal parts win over parameters.
fn leads_to(template: &str, path: &str, document: &Document) -> bool {
    let fits = |template: &str| {
        let (wanted, given): (Vec<&str>, Vec<&str>) =
            (template.split('/').collect(), path.split('/').collect());
        wanted.len() == given.len()
            && wanted
                .iter()
                .zip(&given)
                .all(|(wanted, given)| wanted == given || (wanted.starts_with('{') && !given.is_empty()))
    };
    let literal = |template: &str| template.split('/').filter(|part| !part.starts_with('{')).count();
    fits(template) && !document.paths.keys().any(|other| fits(other) && literal(other) > literal(template))
}

fn read_hits(folder: &Path) -> Result<Vec<Hit>> {
    let mut hits = Vec::new();
    for entry in fs::read_dir(folder)? {
        for line in fs::read_to_string(entry?.path())?.lines() {
            let mut words = line.split(' ');
            if let (Some(method), Some(path), Some(Ok(status))) =
                (words.next(), words.next(), words.next().map(str::parse))
            {
                hits.push(Hit { method: method.to_owned(), path: path.to_owned(), status });
            }
        }
    }
    Ok(hits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document() -> Document {
        let operation = |id: &str, role: &str| Operation { id: id.to_owned(), role: role.to_owned() };
        let path =
            |method: &str, id: &str, role: &str| BTreeMap::from([(method.to_owned(), operation(id, role))]);
        Document {
            paths: BTreeMap::from([
                ("/tables/{id}".to_owned(), path("get", "getTable", "viewer")),
                ("/tables/pending".to_owned(), path("get", "listPending", "viewer")),
                ("/tables".to_owned(), path("post", "createTable", "")),
            ]),
        }
    }

    fn hit(method: &str, path: &str, status: u16) -> Hit {
        Hit { method: method.to_owned(), path: path.to_owned(), status }
    }

    #[test]
    fn what_no_test_reached_or_names_no_role_is_named() {
        let hits = [hit("GET", "/tables/pending", 200), hit("POST", "/tables", 401)];
        let problems = problems(&document(), &hits).join("\n");
        for expected in ["reached getTable", "createTable names no role", "reached createTable"] {
            assert!(problems.contains(expected), "{problems}");
        }
        assert!(!problems.contains("listPending"), "{problems}");
    }

    #[test]
    fn a_refusal_shows_that_an_operation_was_reached() {
        let hits =
            [hit("GET", "/tables/7", 404), hit("GET", "/tables/pending", 501), hit("POST", "/tables", 400)];
        assert_eq!(problems(&document(), &hits), ["createTable names no role"]);
    }
}
