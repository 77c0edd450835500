//! `cargo xtask screenshots`: pictures of the console's main pages, of the server with the example company.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::signal::Signal;

use crate::child::Running;
use crate::console::Node;
use crate::tools::Tools;
use crate::wasm::Wasm;
use crate::{browser, workspace};

/// What the pictures are made by, in `tests/browser`.
const FILES: [&str; 4] =
    ["package.json", "playwright.config.ts", "spec/support.ts", "spec/screenshots.spec.ts"];

/// More than it ever takes.
const MAX: Duration = Duration::from_secs(20 * 60);

/// Builds the server by `build`, and writes the pictures to `docs/pictures`.
pub fn make(wasm: &Wasm, build: impl FnOnce() -> Result<PathBuf>) -> Result<()> {
    let Tools::Ready(tools) = browser::obtain()? else { bail!("Node with npm is needed") };
    let node = Node::obtain()?.context("Node with npm is needed")?;
    wasm.build_for_tests()?;
    let binary = build()?;
    let pictures = workspace::root().join("docs/pictures");
    fs::create_dir_all(&pictures)?;
    let folder = tempfile::tempdir()?;
    let (_server, url) = serve(&binary, folder.path())?;
    for file in FILES {
        let name = Path::new(file).file_name().context("a file has a name")?;
        fs::copy(workspace::root().join("tests/browser").join(file), folder.path().join(name))
            .context(file)?;
    }
    std::os::unix::fs::symlink(tools.join("node_modules"), folder.path().join("node_modules"))?;
    let mut command = node.command("node");
    command
        .args(["node_modules/@playwright/test/cli.js", "test", "screenshots.spec.ts"])
        .current_dir(folder.path())
        .env("LAKEPORT_URL", url)
        .env("CHROMIUM", tools.join("chromium"))
        .env("LAKEPORT_WASM_DIR", workspace::components())
        .env("SCREENSHOTS", &pictures);
    match Running::spawn(&mut command, Signal::SIGTERM)?.wait(MAX)? {
        Some(status) if status.success() => {
            println!("the pictures are in {}", pictures.display());
            Ok(())
        }
        _ => bail!("the pictures could not be made"),
    }
}

/// The server with the example company, which ends when the first of the pair is dropped, and its URL.
fn serve(binary: &Path, folder: &Path) -> Result<(Running, String)> {
    let mut command = Command::new(binary);
    command.args(["serve", "--demo", "--listen", "127.0.0.1:0", "--data-dir"]).arg(folder.join("data"));
    command.env_clear().current_dir(folder).stdout(Stdio::piped());
    command.stderr(fs::File::create(folder.join("server.log"))?);
    let mut server = Running::spawn(&mut command, Signal::SIGTERM)?;
    let output = server.child().stdout.take().context("its output is piped")?;
    let mut lines = BufReader::new(output);
    let mut first = String::new();
    lines.read_line(&mut first)?;
    let Some(url) = first.trim().strip_prefix("listening on ").map(str::to_owned) else {
        let log = fs::read_to_string(folder.join("server.log")).unwrap_or_default();
        bail!("the server did not start; it said {first:?}\n{log}")
    };
    // The rest must be read, or the server would block on its output.
    std::thread::spawn(move || lines.lines().map_while(Result::ok).for_each(drop));
    Ok((server, url))
}
