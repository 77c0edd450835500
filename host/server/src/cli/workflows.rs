//! `lakeport workflows …`: the workflows of a running server as files, one a workflow, for a repository.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::http::Method;
use anyhow::{Context, ensure};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::print;
use super::table::printable;
use crate::client::Client;
use crate::config::Environment;
use crate::workflows::file_name;

const WORKFLOWS: &str = "/api/v1/workflows";
/// Workflows that are listed at once.
const PAGE: i64 = 200;
/// The largest file, in bytes: what a request can have.
const FILE_MAX_BYTES: u64 = 4 * 1024 * 1024;
const EXTENSION: &str = "json";

#[derive(Args)]
pub struct WorkflowsOptions {
    /// The server [default: LAKEPORT_URL, else http://127.0.0.1:8080]
    #[arg(long, global = true)]
    url: Option<String>,
    /// The token to log in with [default: LAKEPORT_TOKEN]
    #[arg(long, global = true)]
    token: Option<String>,
    #[command(subcommand)]
    verb: WorkflowsVerb,
}

#[derive(Subcommand)]
enum WorkflowsVerb {
    /// Write each workflow to a file of the folder
    Export { folder: PathBuf },
    /// Show what `apply` would change
    Diff {
        folder: PathBuf,
        /// Fail if there is a difference
        #[arg(long)]
        exit_code: bool,
    },
    /// Create and update workflows from the folder's files; deletes none
    Apply {
        folder: PathBuf,
        /// Check everything and change nothing
        #[arg(long)]
        dry_run: bool,
    },
}

pub async fn run(options: WorkflowsOptions, environment: &Environment) -> anyhow::Result<ExitCode> {
    let WorkflowsOptions { url, token, verb } = options;
    let url = url.unwrap_or_else(|| environment.server_url());
    let client = Client::new(&url, token.or_else(|| environment.token()))?;
    match verb {
        WorkflowsVerb::Export { folder } => export(&client, &folder).await?,
        WorkflowsVerb::Diff { folder, exit_code } => {
            let is_different = diff(&client, &folder).await?;
            if is_different && exit_code {
                return Ok(ExitCode::FAILURE);
            }
        }
        WorkflowsVerb::Apply { folder, dry_run } => apply(&client, &folder, dry_run).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn export(client: &Client, folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let (mut written, mut unchanged) = (0, 0);
    let workflows = on_server(client).await?;
    let file_names = file_names(workflows.keys());
    for (name, id) in &workflows {
        let export = client.get(&format!("{WORKFLOWS}/{id}/export-json")).await?;
        let path = folder.join(&file_names[name]);
        let text = format!("{:#}\n", export["content"]);
        if std::fs::read_to_string(&path).is_ok_and(|before| before == text) {
            unchanged += 1;
            continue;
        }
        write(&path, &text)?;
        print(&format!("{}\n", printable(&path.display().to_string())))?;
        written += 1;
    }
    let mut end = format!("{written} written, {unchanged} unchanged\n");
    for path in files(folder)? {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        if file_names.values().any(|known| *known == file) {
            continue;
        }
        let definition = read(&path).unwrap_or_default();
        let name = definition["workflow"]["name"].as_str().unwrap_or_default();
        let shown = printable(&path.display().to_string());
        let _ = match file_names.get(name) {
            Some(now) => {
                let (name, now) = (printable(name), printable(now));
                writeln!(end, "{shown}: the workflow `{name}` is in {now} now; delete this file")
            }
            None => writeln!(end, "{shown} is not on the server"),
        };
    }
    print(&end)
}

/// The file of each workflow. Names that differ in case alone, or in characters that a file system may refuse, are told
/// from each other by a part of their digests.
fn file_names<'n>(names: impl Iterator<Item = &'n String>) -> BTreeMap<String, String> {
    let mut same: BTreeMap<String, Vec<&String>> = BTreeMap::new();
    for name in names {
        same.entry(file_name(name).to_lowercase()).or_default().push(name);
    }
    let mut files = BTreeMap::new();
    for names in same.into_values() {
        for name in &names {
            let file = file_name(name);
            let file = match file.strip_suffix(".json") {
                Some(stem) if names.len() > 1 || has_digest(stem) => {
                    format!("{stem}-{}.json", &hex::encode(Sha256::digest(name.as_bytes()))[..8])
                }
                _ => file,
            };
            files.insert((*name).clone(), file);
        }
    }
    files
}

/// Whether a name looks as if a part of a digest told it from others.
fn has_digest(stem: &str) -> bool {
    let last = stem.rsplit('-').next().unwrap_or_default();
    last.len() == 8 && last.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Written aside, under a name that cannot be foreseen, and renamed: a stop in between leaves the old file, and a link in
/// the folder is replaced, not followed.
fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = || {
        let mut aside = tempfile::Builder::new().prefix(".lakeport-").tempfile_in(folder)?;
        aside.write_all(text.as_bytes())?;
        aside.as_file().set_permissions(Permissions::from_mode(0o644))?;
        aside.persist(path).map_err(|error| error.error)
    };
    written().map(drop).with_context(|| format!("cannot write {}", path.display()))
}

/// The ids of all workflows, by name.
async fn on_server(client: &Client) -> anyhow::Result<BTreeMap<String, i64>> {
    let mut all = BTreeMap::new();
    for page in 1.. {
        let answer = client.get(&format!("{WORKFLOWS}?pageNum={page}&pageSize={PAGE}")).await?;
        let records = answer["records"].as_array().context("the answer has no records")?;
        for record in records {
            let name = record["name"].as_str().context("a workflow has no name")?;
            all.insert(name.to_owned(), record["id"].as_i64().context("a workflow has no id")?);
        }
        if (records.len() as i64) < PAGE {
            break;
        }
    }
    Ok(all)
}

/// The folder's files, by name.
fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.is_file() && path.extension().is_some_and(|extension| extension == EXTENSION) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

struct Plan {
    planned: Vec<Planned>,
    /// Workflows that no file has.
    others: Vec<String>,
    /// Everything that is wrong with the files, a line each.
    wrong: String,
}

/// A file, and what its import would do.
struct Planned {
    path: PathBuf,
    name: String,
    /// For the import; with the token.
    request: Value,
    preview: Value,
    is_new: bool,
    is_sound: bool,
}

impl Planned {
    fn is_change(&self) -> bool {
        self.is_new || self.preview["changes"]["identical"] != true
    }

    fn shown_path(&self) -> String {
        printable(&self.path.display().to_string())
    }
}

/// Previews the import of each file.
async fn plan(client: &Client, folder: &Path) -> anyhow::Result<Plan> {
    let mut known = on_server(client).await?;
    let ids = known.clone();
    let mut planned: Vec<Planned> = Vec::new();
    let mut wrong = String::new();
    for path in files(folder)? {
        let shown = printable(&path.display().to_string());
        let definition = match read(&path) {
            Ok(definition) => definition,
            Err(error) => {
                let _ = writeln!(wrong, "{shown}: {error:#}");
                continue;
            }
        };
        let name = definition["workflow"]["name"].as_str().unwrap_or_default().to_owned();
        if let Some(other) = planned.iter().find(|other| !name.is_empty() && other.name == name) {
            let (name, other) = (printable(&name), other.shown_path());
            let _ = writeln!(wrong, "{shown}: the name `{name}` is the one of {other} already");
            continue;
        }
        let id = ids.get(&name);
        known.remove(&name);
        let mut request = json!({ "source": "json", "definition": definition, "workflowId": id });
        let preview = client.json(Method::POST, &format!("{WORKFLOWS}/import/preview"), Some(&request)).await;
        let preview = preview.with_context(|| shown.clone())?;
        for error in preview["errors"].as_array().into_iter().flatten() {
            let _ = writeln!(wrong, "{shown}: {}", problem(error));
        }
        request["previewToken"] = preview["previewToken"].clone();
        let is_sound = preview["canImport"] == true;
        planned.push(Planned { path, name, request, preview, is_new: id.is_none(), is_sound });
    }
    Ok(Plan { planned, others: known.into_keys().collect(), wrong })
}

fn read(path: &Path) -> anyhow::Result<Value> {
    let bytes = std::fs::metadata(path)?.len();
    ensure!(bytes <= FILE_MAX_BYTES, "has {bytes} bytes, the limit is {FILE_MAX_BYTES}");
    serde_json::from_str(&std::fs::read_to_string(path)?).context("is not JSON")
}

fn problem(problem: &Value) -> String {
    let text = |member: &str| printable(problem[member].as_str().unwrap_or_default());
    format!("{}: {}", text("field"), text("message"))
}

fn warnings(planned: &Planned) -> String {
    let warnings = planned.preview["warnings"].as_array().into_iter().flatten();
    warnings.map(|warning| format!("{}: warning: {}\n", planned.shown_path(), problem(warning))).collect()
}

/// Whether there is a difference.
async fn diff(client: &Client, folder: &Path) -> anyhow::Result<bool> {
    let Plan { planned, others, wrong } = plan(client, folder).await?;
    let mut is_different = false;
    for planned in &planned {
        print(&warnings(planned))?;
        if !planned.is_sound || !planned.is_change() {
            continue;
        }
        is_different = true;
        let name = printable(&planned.name);
        if planned.is_new {
            let count = planned.preview["tasks"].as_array().map_or(0, Vec::len);
            print(&format!("new workflow `{name}` with {count} tasks ({})\n", planned.shown_path()))?;
            continue;
        }
        print(&format!("workflow `{name}` ({})\n", planned.shown_path()))?;
        for line in planned.preview["changes"]["unifiedDiff"].as_str().unwrap_or_default().lines() {
            print(&format!("{}\n", printable_line(line)))?;
        }
    }
    for name in &others {
        print(&format!("workflow `{}` is on the server only\n", printable(name)))?;
    }
    ensure!(wrong.is_empty(), "not all files could be compared:\n{}", wrong.trim_end());
    Ok(is_different || !others.is_empty())
}

async fn apply(client: &Client, folder: &Path, is_dry_run: bool) -> anyhow::Result<()> {
    let Plan { planned, wrong, .. } = plan(client, folder).await?;
    for planned in &planned {
        print(&warnings(planned))?;
    }
    ensure!(wrong.is_empty(), "nothing was changed:\n{}", wrong.trim_end());
    let (mut created, mut updated, mut unchanged) = (0, 0, 0);
    for planned in &planned {
        let name = printable(&planned.name);
        if !planned.is_change() {
            unchanged += 1;
            continue;
        }
        let verb = if planned.is_new { "created" } else { "updated" };
        if is_dry_run {
            print(&format!("`{name}` would be {verb}\n"))?;
        } else {
            let path = format!("{WORKFLOWS}/import/commit");
            let imported = client.json(Method::POST, &path, Some(&planned.request)).await;
            let imported = imported.with_context(|| planned.shown_path())?;
            print(&format!("`{name}` {verb}: version {}\n", imported["version"]))?;
        }
        if planned.is_new { created += 1 } else { updated += 1 }
    }
    let would = if is_dry_run { "would be " } else { "" };
    let deployed_later =
        if created + updated > 0 { "; a change is deployed when it is published" } else { "" };
    print(&format!(
        "{created} {would}created, {updated} {would}updated, {unchanged} unchanged{deployed_later}\n"
    ))
}

/// A line that cannot drive the terminal; its tabs stay.
fn printable_line(line: &str) -> String {
    line.split('\t').map(printable).collect::<Vec<_>>().join("\t")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_workflow_has_a_file_of_its_own() {
        let digest = |name: &str| hex::encode(Sha256::digest(name))[..8].to_owned();
        let sly = format!("a_b-{}", digest("a/b"));
        let names = ["a", "A1", "a1", "a/b", "a_b", "a:b", &sly, "..", "_.."].map(str::to_owned);
        let files = file_names(names.iter());
        let mut different: Vec<String> = files.values().map(|file| file.to_lowercase()).collect();
        different.sort();
        different.dedup();
        assert_eq!(different.len(), names.len(), "{files:?}");
        assert_eq!(files["a"], "a.json");
        assert_eq!(files["a/b"], format!("a_b-{}.json", digest("a/b")));
    }
}
