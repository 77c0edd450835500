//! The console in Debian's Chromium, driven by Playwright, on the real server with the example company.
//!
//! `cargo xtask test --browser` sets up the tools and names their folder in `LAKEPORT_BROWSER_TOOLS`. Each file of `spec/`
//! runs in a folder below `target/browser`, which remains for inspection, with the browser's traces of failed tests.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Result, ensure};
use lakeport_tests::{Lake, Options, Server, Store, wasm_folder, workspace};

const TOOLS_VARIABLE: &str = "LAKEPORT_BROWSER_TOOLS";
const ROLES: [&str; 4] = ["viewer", "editor", "approver", "admin"];

/// A lineage of 1,000 tables in ten layers, each from two of the layer before.
const LINEAGE: [&str; 3] = [
    "INSERT INTO tables (id, cluster_id, db_name, table_name, layer, created_at, updated_at)
     WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
     SELECT 1000 + i, (SELECT id FROM datasources WHERE name = 'lakeside'), 'main', printf('node_%04d', i),
         printf('L%d', i / 100), 1793350800000, 1793350800000 FROM n",
    "INSERT INTO tasks (id, task_name, name_folded, task_type, priority, timeout, retry_times, retry_interval, inputs_given,
         outputs_given, digest, created_at, updated_at)
     SELECT id, table_name, table_name, 'SQL', 'MEDIUM', 0, 0, 0, 1, 1, '', created_at, updated_at FROM tables
     WHERE id >= 1100",
    "INSERT INTO task_tables (task_id, direction, table_id, place)
     SELECT id, 'output', id, 0 FROM tasks WHERE id >= 1100
     UNION SELECT id, 'input', id - 100, 0 FROM tasks WHERE id >= 1100
     UNION SELECT id, 'input', id / 100 * 100 - 100 + (id * 37 + 11) % 100, 1 FROM tasks
         WHERE id >= 1100 AND (id * 37 + 11) % 100 <> id % 100",
];
const TABLES: [&str; 1] = [
    "INSERT INTO tables (cluster_id, db_name, table_name, layer, created_at, updated_at)
     WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)
     SELECT (SELECT id FROM datasources WHERE name = 'lakeside'), 'main', printf('many_%06d', i), printf('L%d', i % 7),
         1793350800000, 1793350800000 FROM n",
];

/// In this order: data sources with the same tables make questions ambiguous, and the first token ends local mode. Its name
/// comes first, because it takes the longest.
#[test]
fn a_persons_paths_work_and_hostile_texts_stay_texts() -> Result<()> {
    run(&["paths", "hostile", "paths-data", "paths-platform"], &company().server, &[])
}

#[test]
fn each_page_is_accessible() -> Result<()> {
    let Lake { server, .. } = &company();
    run(&["pages"], server, &tokens(server))
}

#[test]
fn each_role_does_what_it_may() -> Result<()> {
    let Lake { server, .. } = &company();
    run(&["roles", "paths-workflows"], server, &tokens(server))
}

#[test]
fn large_catalogues_are_drawn_and_scrolled() -> Result<()> {
    let mut lake = company();
    let server = &mut lake.server;
    for (name, statements) in [("large-graph", &LINEAGE[..]), ("large-list", &TABLES[..])] {
        server.stop();
        for statement in statements {
            server.execute(statement);
        }
        server.run();
        run(&[name], server, &[])?;
    }
    Ok(())
}

#[test]
fn people_sign_in_at_an_issuer() -> Result<()> {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let port = port.expect("a free port").port();
    let issuer = format!("http://127.0.0.1:{port}");
    let environment = &[
        ("LAKEPORT_OIDC_ISSUER", issuer.as_str()),
        ("LAKEPORT_OIDC_CLIENT_ID", "lakeport"),
        ("LAKEPORT_OIDC_CLIENT_SECRET", "a secret/of: the+client"),
    ];
    let server = Server::start_as(&Store::Sqlite, Options { environment, ..Options::default() });
    let _provider = Provider::start(port, &format!("{}/api/v1/session/oidc/callback", server.url()));
    run(&["oidc"], &server, &[])
}

/// A real OpenID provider on loopback, until it is dropped.
struct Provider {
    child: Child,
    /// Open, so that it can go on writing.
    _output: BufReader<ChildStdout>,
}

impl Provider {
    fn start(port: u16, redirect_uri: &str) -> Provider {
        let folder = prepared("provider", &["package.json", "provider.mjs"]);
        let mut command = Command::new(tools().join("node"));
        command.args(["provider.mjs", &port.to_string(), redirect_uri]).current_dir(folder);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("Node runs");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        while line.trim() != "ready" {
            line.clear();
            let length = output.read_line(&mut line).expect("text");
            assert_ne!(length, 0, "the provider ended");
        }
        Provider { child, _output: output }
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A token of each role, in the variables that the specifications read.
fn tokens(server: &Server) -> [(String, String); 4] {
    ROLES.map(|role| (format!("TOKEN_{}", role.to_uppercase()), server.token(role, role)))
}

/// A server with the example company, whose databases are in its folder. In local mode until it has a token.
fn company() -> Lake {
    let mut lake = Lake::prepare(&Store::Sqlite);
    lake.server.add_argument("--demo");
    lake.server.run();
    lake
}

/// Runs files of `spec/`, one after the other. The error has Playwright's reports of those that failed.
fn run(names: &[&str], server: &Server, variables: &[(String, String)]) -> Result<()> {
    let failed: Vec<String> =
        names.iter().filter_map(|name| report_of_failed(name, server, variables)).collect();
    ensure!(
        failed.is_empty(),
        "{}\nthe browser's traces and the server's log are in target/browser",
        failed.concat()
    );
    Ok(())
}

/// Runs a file of `spec/`, and answers Playwright's report if a test of it failed.
fn report_of_failed(name: &str, server: &Server, variables: &[(String, String)]) -> Option<String> {
    let (tools, spec) = (tools(), format!("{name}.spec.ts"));
    let files = ["package.json", "playwright.config.ts", "spec/support.ts", &format!("spec/{spec}")];
    let folder = prepared(name, &files);
    let mut command = Command::new(tools.join("node"));
    command.args(["node_modules/@playwright/test/cli.js", "test", &spec]).current_dir(&folder);
    command.env("LAKEPORT_URL", server.url()).env("CHROMIUM", tools.join("chromium"));
    command.env("LAKEPORT_WASM_DIR", wasm_folder());
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    let output = command.output().expect("Node runs");
    let report =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    if output.status.success() {
        println!("{report}");
        return None;
    }
    fs::write(folder.join("server.log"), server.log()).expect("the server's log is kept");
    Some(report)
}

/// A new folder with these files of the suite and its packages.
fn prepared(name: &str, files: &[&str]) -> PathBuf {
    let folder = workspace().join("target/browser").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("what an earlier run left can be removed");
    }
    fs::create_dir_all(&folder).expect("a folder");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in files {
        let copy = folder.join(Path::new(file).file_name().expect("a file has a name"));
        fs::copy(sources.join(file), copy).unwrap_or_else(|error| panic!("{file}: {error}"));
    }
    std::os::unix::fs::symlink(tools().join("node_modules"), folder.join("node_modules")).expect("linked");
    folder
}

/// Where Chromium, Node and the packages are.
fn tools() -> PathBuf {
    let folder = std::env::var_os(TOOLS_VARIABLE);
    PathBuf::from(
        folder.unwrap_or_else(|| panic!("{TOOLS_VARIABLE} is not set; `cargo xtask test --browser` sets it")),
    )
}
