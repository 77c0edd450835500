//! `lakeport plugin …`: the plugin API of a running server, for people and scripts.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use ::http::Method;
use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::print;
use super::table::{columns, printable};
use crate::client::{Client, segment};
use crate::config::Environment;
use crate::plugins::cli::inspect_file;

const PLUGINS: &str = "/api/v1/plugins";
/// The prefix of a digest in lists; `inspect` and `--json` show all of it.
const SHORT_DIGEST_CHARS: usize = 12;

#[derive(Args)]
pub struct PluginOptions {
    /// The server [default: LAKEPORT_URL, else http://127.0.0.1:8080]
    #[arg(long, global = true)]
    url: Option<String>,
    /// The token to log in with [default: LAKEPORT_TOKEN]
    #[arg(long, global = true)]
    token: Option<String>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    verb: PluginVerb,
}

#[derive(Subcommand)]
enum PluginVerb {
    /// List all plugins
    List,
    /// Show a component file (without a server) or a plugin
    Inspect {
        #[arg(value_name = "FILE-or-NAME")]
        what: String,
    },
    /// Stage a component; --activate activates it at once
    Install {
        file: PathBuf,
        #[arg(long)]
        activate: bool,
    },
    /// Activate a generation, fully or as a canary
    Activate {
        name: String,
        digest: String,
        /// Percent of the calls; the active generation keeps the others [default: all calls]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=99))]
        canary_percent: Option<u8>,
    },
    /// End a canary, or go back to the previous generation
    Rollback { name: String },
    /// Quarantine a plugin
    Quarantine {
        name: String,
        #[arg(long)]
        reason: Option<String>,
    },
    /// Release a plugin from quarantine
    Release { name: String },
    /// Remove an unused generation
    Remove { name: String, digest: String },
    /// Write a component to standard output
    Export {
        name: String,
        /// The generation [default: the active one]
        #[arg(long)]
        digest: Option<String>,
    },
    /// Show the last lines of a plugin's log
    Logs { name: String },
    /// Call a function of a configured engine that changes nothing, and show the requests behind its answer
    Call {
        /// The engine's name: `ds`
        engine: String,
        /// The function in the engine contract: `deploys.test`, `watch.instances`
        function: String,
        /// Its parameter as JSON; `@FILE` reads it from a file
        #[arg(long)]
        input: Option<String>,
    },
}

pub async fn run(options: PluginOptions, environment: &Environment) -> anyhow::Result<()> {
    let PluginOptions { url, token, json, verb } = options;
    if let PluginVerb::Inspect { what } = &verb
        && Path::new(what).is_file()
    {
        let described = inspect_file(Path::new(what), json)?;
        print(&described.text)?;
        ensure!(!described.is_refused, "this component would be refused");
        return Ok(());
    }
    if let PluginVerb::Inspect { what } = &verb
        && (what.contains('/') || what.ends_with(".wasm"))
    {
        bail!("there is no file {what}");
    }
    let url = url.unwrap_or_else(|| environment.server_url());
    let client = Client::new(&url, token.or_else(|| environment.token()))?;
    let (answer, show): (Value, fn(&Value) -> String) = match verb {
        PluginVerb::List => (client.get(PLUGINS).await?, show_list),
        PluginVerb::Inspect { what } => (client.get(&plugin(&what)).await?, show_plugin),
        PluginVerb::Install { file, activate } => install(&client, &file, activate).await?,
        PluginVerb::Activate { name, digest, canary_percent } => {
            let body = json!({ "digest": digest, "canaryPercent": canary_percent });
            (act(&client, &name, "activate", &body).await?, show_plugin)
        }
        PluginVerb::Rollback { name } => (act(&client, &name, "rollback", &json!({})).await?, show_plugin),
        PluginVerb::Quarantine { name, reason } => {
            (act(&client, &name, "quarantine", &json!({ "reason": reason })).await?, show_plugin)
        }
        PluginVerb::Release { name } => (act(&client, &name, "release", &json!({})).await?, show_plugin),
        PluginVerb::Remove { name, digest } => {
            let path = format!("{}/{}", plugin(&name), segment(&digest));
            (client.json(Method::DELETE, &path, None).await?, |_| "removed\n".to_owned())
        }
        PluginVerb::Export { name, digest } => return export(&client, &name, digest).await,
        PluginVerb::Call { engine, function, input } => {
            let body = json!({ "function": function, "input": input.as_deref().map(parameter).transpose()? });
            let path = format!("/api/v1/engines/{}/call", segment(&engine));
            (client.json(Method::POST, &path, Some(&body)).await?, show_call)
        }
        PluginVerb::Logs { name } => (client.get(&format!("{}/logs", plugin(&name))).await?, show_logs),
    };
    print(&if json { format!("{answer:#}\n") } else { show(&answer) })
}

fn plugin(name: &str) -> String {
    format!("{PLUGINS}/{}", segment(name))
}

async fn act(client: &Client, name: &str, verb: &str, body: &Value) -> anyhow::Result<Value> {
    client.json(Method::POST, &format!("{}/{verb}", plugin(name)), Some(body)).await
}

async fn install(
    client: &Client,
    file: &Path,
    activate: bool,
) -> anyhow::Result<(Value, fn(&Value) -> String)> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let staged = client.upload(PLUGINS, "application/wasm", Bytes::from(bytes)).await?;
    if !activate {
        return Ok((staged, show_staged));
    }
    let name = format!("{}:{}", text(&staged["family"]), text(&staged["name"]));
    let body = json!({ "digest": staged["digest"] });
    Ok((act(client, &name, "activate", &body).await?, show_plugin))
}

async fn export(client: &Client, name: &str, digest: Option<String>) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    if out.is_terminal() {
        bail!("a component is bytes, not text for a terminal: add `> FILE`");
    }
    let digest = match digest {
        Some(digest) => digest,
        None => {
            let plugin = client.get(&plugin(name)).await?;
            let active = plugin["digest"].as_str().map(str::to_owned);
            active.with_context(|| format!("{name} has no active generation; name one with --digest"))?
        }
    };
    let bytes = client.bytes(&format!("{}/{}", plugin(name), segment(&digest))).await?;
    out.write_all(&bytes)?;
    out.flush()?;
    Ok(())
}

fn show_list(plugins: &Value) -> String {
    let headings = ["NAME", "FAMILY", "VERSION", "STATE", "DIGEST", "CALLS", "ERRORS", "P50 MS", "P99 MS"];
    let members = ["name", "family", "version", "state", "digest", "calls", "errors", "p50Ms", "p99Ms"];
    columns(&headings, &rows(plugins, &members))
}

fn show_plugin(plugin: &Value) -> String {
    let mut out = String::new();
    for member in ["name", "family", "title", "version", "digest", "state", "reason", "calls", "errors"] {
        if !plugin[member].is_null() {
            out += &format!("{member:<9} {}\n", printable(&text(&plugin[member])));
        }
    }
    out += &format!("{:<9} {}\n", "imports", listed(&plugin["imports"]));
    out += &format!("{:<9} {}\n\n", "grants", listed(&plugin["grants"]));
    let headings = ["GENERATION", "VERSION", "STATE", "PERCENT", "STAGED", "ACTIVATED"];
    let members = ["digest", "version", "state", "canaryPercent", "stagedAt", "activatedAt"];
    out + &columns(&headings, &rows(&plugin["generations"], &members))
}

fn show_staged(staged: &Value) -> String {
    let (name, digest) = (printable(&text(&staged["name"])), printable(&text(&staged["digest"])));
    let mut out = format!("{name} {} is {}\n", printable(&text(&staged["version"])), text(&staged["state"]));
    out += &format!("digest    {digest}\ngrants    {}\n", listed(&staged["grantsNeeded"]));
    for warning in staged["warnings"].as_array().into_iter().flatten() {
        out += &format!("warning   {}\n", printable(&text(warning)));
    }
    out + &format!("next      lakeport plugin activate {name} {}\n", short(&digest))
}

fn show_logs(lines: &Value) -> String {
    let line = |line: &Value| {
        let message = printable(&text(&line["message"]));
        let mut out = format!("{} {:<5} {message}", text(&line["time"]), text(&line["level"]));
        for field in line["fields"].as_array().into_iter().flatten() {
            out += &format!(" {}={}", printable(&text(&field["name"])), printable(&text(&field["value"])));
        }
        out + "\n"
    };
    lines.as_array().into_iter().flatten().map(line).collect()
}

/// A parameter that stands in the command, or in a file.
fn parameter(given: &str) -> anyhow::Result<Value> {
    let Some(file) = given.strip_prefix('@') else {
        return serde_json::from_str(given).context("--input is no JSON");
    };
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
    serde_json::from_str(&text).with_context(|| format!("{file} is no JSON"))
}

fn show_call(call: &Value) -> String {
    let mut out = match &call["error"] {
        Value::Null => {
            let answer = format!("{:#}", call["answer"]);
            answer.lines().map(|line| printable(line) + "\n").collect()
        }
        error => format!("failed    {}: {}\n", text(&error["code"]), printable(&text(&error["message"]))),
    };
    for request in call["requests"].as_array().into_iter().flatten() {
        let outcome = if request["status"].is_null() { &request["error"] } else { &request["status"] };
        let [method, path, outcome] =
            [&request["method"], &request["path"], outcome].map(|member| printable(&text(member)));
        out += &format!("\n{method} {path} -> {outcome}, {} ms\n", request["tookMs"]);
        for (mark, body) in [('>', &request["body"]), ('<', &request["answer"])] {
            let body = text(body);
            let lines = body.lines().filter(|line| !line.is_empty() && body != "-");
            lines.for_each(|line| out += &format!("  {mark} {}\n", printable(line)));
        }
    }
    match call["leftOut"].as_u64() {
        Some(0) | None => out,
        Some(left_out) => out + &format!("\nand {left_out} further requests\n"),
    }
}

fn rows(items: &Value, members: &[&str]) -> Vec<Vec<String>> {
    let cell = |item: &Value, member: &str| match (member, &item[member]) {
        ("digest", digest) => short(&text(digest)),
        ("p50Ms" | "p99Ms", Value::Number(ms)) => format!("{:.2}", ms.as_f64().unwrap_or_default()),
        (_, value) => text(value),
    };
    let items = items.as_array().into_iter().flatten();
    items.map(|item| members.iter().map(|member| cell(item, member)).collect()).collect()
}

fn listed(items: &Value) -> String {
    let items: Vec<String> =
        items.as_array().into_iter().flatten().map(|item| printable(&text(item))).collect();
    if items.is_empty() { "none".to_owned() } else { items.join(" ") }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn short(digest: &str) -> String {
    digest.chars().take(SHORT_DIGEST_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_is_shown_without_what_it_does_not_have() {
        let generation = json!({ "digest": "0123456789abcdef", "version": "1.0.0", "state": "active",
            "canaryPercent": null, "stagedAt": "2026-01-02 03:04:05", "activatedAt": null });
        let plugin = json!({ "name": "sqlite", "family": "dialect", "version": "1.0.0", "state": "active",
            "reason": null, "calls": 3, "errors": 0, "grants": ["lakeport:dialect/connection"],
            "generations": [generation] });
        let shown = show_plugin(&plugin);
        assert!(shown.starts_with("name      sqlite\nfamily    dialect\n"), "{shown}");
        assert!(shown.contains("grants    lakeport:dialect/connection\n"), "{shown}");
        assert!(!shown.contains("reason"), "{shown}");
        assert!(
            shown.contains("\n0123456789ab  1.0.0    active  -        2026-01-02 03:04:05  -\n"),
            "{shown}"
        );
    }

    #[test]
    fn a_call_is_shown_with_its_requests() {
        let request = json!({ "method": "GET", "address": "api", "path": "/projects?pageNo=1", "body": null,
            "status": 200, "answer": "{\"code\":\u{1b}0}\n", "error": null, "tookMs": 3 });
        let lost = json!({ "method": "POST", "address": "api", "path": "/x", "body": "a=1", "status": null,
            "answer": null, "error": "timeout: late", "tookMs": 9 });
        let call =
            json!({ "answer": { "ok": true }, "error": null, "requests": [request, lost], "leftOut": 2 });
        assert_eq!(
            show_call(&call),
            "{\n  \"ok\": true\n}\n\nGET /projects?pageNo=1 -> 200, 3 ms\n  < {\"code\": 0}\n\nPOST /x -> timeout: late, \
             9 ms\n  > a=1\n\nand 2 further requests\n"
        );
        let failed = json!({ "error": { "code": "engine_timeout", "message": "late" }, "requests": [] });
        assert_eq!(show_call(&failed), "failed    engine_timeout: late\n");
    }

    #[test]
    fn what_a_plugin_logs_cannot_drive_the_terminal() {
        let line = json!([{ "time": "t", "level": "info", "message": "a\u{1b}[2J\nb",
            "fields": [{ "name": "k", "value": "v\r" }] }]);
        assert_eq!(show_logs(&line), "t info  a [2J b k=v \n");
    }
}
