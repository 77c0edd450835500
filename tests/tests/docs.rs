//! Runs README.md and docs/ word for word: the shell blocks of a page run unchanged in one shell, against a
//! server of their own, and the effects are checked over HTTP.
//!
//! The line that opens a block marks it:
//!
//! | | |
//! |---|---|
//! | `sh` | runs; every answer must be a success |
//! | `sh refused: 412` | runs; one answer has this status, and the block ends well |
//! | `sh notest: REASON` | does not run; [`UNTESTED_MAX`] blocks at most, each with a reason |
//! | `toml` | is a settings file that `lakeport config` takes without a warning; `toml notest: REASON` is none |
//! | `json` | is JSON |
//!
//! A comment `<!-- test: --demo NAME=value example -->` below a page's title tells how its server is started:
//! options of `lakeport serve`, settings, and `example` for the built component of `examples/tool-wordcount`.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use lakeport_tests::{Lake, Store, stores, wasm_folder, workspace};
use serde_json::{Value, json};

/// How long a block may take.
const BLOCK_MAX: Duration = Duration::from_secs(60);
/// Blocks that no test runs.
const UNTESTED_MAX: usize = 16;
/// The most lines of the README.
const README_MAX_LINES: usize = 150;
/// The shell prints this at the end of a block.
const OVER: &str = "--- the block is over";

/// Runs before the first block. Records failures within a pipeline or a substitution, and makes `curl` keep
/// the head of each answer.
const PRELUDE: &str = r#"
noted() {
  local code=0
  command "$@" || code=$?
  # 23: the reader of curl's pipe had seen enough.
  [ "$code" = 0 ] || [ "$code" = 23 ] || echo "ended with $code: $*" >> "$FAILURES"
  return "$code"
}
answers=0
curl() {
  answers=$((answers + 1))
  noted curl -D "$HEADS/$BASHPID-$answers" "$@"
}
lakeport() {
  noted lakeport "$@"
}
"#;

/// Pages with tests that check more of their effects: [`tutorial`], [`first_question`].
const CHECKED: [&str; 2] = ["docs/tutorial.md", "docs/agent.md"];

/// The others, each with its test; [`every_page_is_run`] finds a missing one.
macro_rules! pages {
    ($($test:ident $path:literal)*) => {
        const PLAIN: &[&str] = &[$($path),*];
        $(
            #[test]
            fn $test() {
                for store in stores() {
                    Page::read($path).run(&store);
                }
            }
        )*
    };
}

pages! {
    readme "README.md"
    api_conventions "docs/api-conventions.md"
    architecture "docs/architecture.md"
    benchmarks "docs/benchmarks.md"
    console "docs/console.md"
    datasources "docs/datasources.md"
    dolphinscheduler "docs/dolphinscheduler.md"
    operations "docs/operations.md"
    planner "docs/planner.md"
    plugins "docs/plugins.md"
    security "docs/security.md"
    workflows "docs/workflows.md"
    example_of_a_tool "examples/tool-wordcount/README.md"
    demo_company "examples/demo/README.md"
    contracts "wit/README.md"
}

fn pages() -> impl Iterator<Item = &'static str> {
    PLAIN.iter().chain(&CHECKED).copied()
}

/// A page of the documentation.
struct Page {
    path: &'static str,
    text: String,
    /// The server's options.
    needs: Vec<String>,
    blocks: Vec<Block>,
}

/// A fenced block.
struct Block {
    /// The line that opens it, from 1.
    line: usize,
    language: String,
    mark: Mark,
    text: String,
}

#[derive(PartialEq)]
enum Mark {
    Plain,
    /// One of its answers has this status.
    Refused(u16),
    /// No test runs it, for this reason.
    Untested(String),
}

impl Page {
    fn read(path: &'static str) -> Page {
        let text =
            fs::read_to_string(workspace().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        let needs = text.lines().find_map(|line| line.strip_prefix("<!-- test: ")?.strip_suffix(" -->"));
        let needs = needs.unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        let mut blocks = Vec::new();
        let mut lines = text.lines().enumerate();
        while let Some((number, line)) = lines.next() {
            let Some(info) = line.trim_start().strip_prefix("```") else { continue };
            let inner: Vec<&str> =
                lines.by_ref().map(|(_, line)| line).take_while(|line| line.trim() != "```").collect();
            // A block in a list is indented as far as its fence.
            let indent = line.len() - line.trim_start().len();
            let inner: Vec<&str> = inner.iter().map(|line| line.get(indent..).unwrap_or_default()).collect();
            let (language, mark) = info.split_once(' ').unwrap_or((info, ""));
            let place = format!("{path}:{}", number + 1);
            blocks.push(Block {
                line: number + 1,
                language: language.to_owned(),
                mark: Mark::read(mark, &place),
                text: inner.join("\n"),
            });
        }
        Page { path, text, needs, blocks }
    }

    /// Runs its blocks in order against a new server; returns their output.
    fn run(&self, store: &Store) -> Ran {
        let mut lake = Lake::prepare(store);
        for need in &self.needs {
            match need.split_once('=') {
                _ if need == "example" => place_example(lake.files.path()),
                Some((name, value)) => lake.server.set(name, value),
                None => lake.server.add_argument(need),
            }
        }
        let mut printed = String::new();
        if self.blocks.iter().any(Block::is_run) {
            lake.server.run();
            let mut shell = Shell::start(&lake);
            for block in self.blocks.iter().filter(|block| block.is_run()) {
                printed += &shell.run(self.path, block);
            }
        }
        for block in self.blocks.iter().filter(|block| block.mark == Mark::Plain) {
            let place = format!("{}:{}", self.path, block.line);
            match block.language.as_str() {
                "toml" => check_settings(&block.text, &place),
                "json" => {
                    _ = serde_json::from_str::<Value>(&block.text).unwrap_or_else(|e| panic!("{place}: {e}"))
                }
                "" | "text" | "rust" | "sql" | "sh" => {}
                other => panic!("{place}: a block of `{other}`; no test knows it"),
            }
        }
        Ran { lake, printed }
    }
}

impl Mark {
    fn read(mark: &str, place: &str) -> Mark {
        match mark.split_once(':').map(|(kind, rest)| (kind, rest.trim())) {
            None if mark.is_empty() => Mark::Plain,
            Some(("notest", reason)) => Mark::Untested(reason.to_owned()),
            Some(("refused", status)) => {
                Mark::Refused(status.parse().unwrap_or_else(|_| panic!("{place}: `{status}` is no status")))
            }
            _ => panic!("{place}: `{mark}` is no mark of a block"),
        }
    }
}

impl Block {
    fn is_run(&self) -> bool {
        self.language == "sh" && !matches!(self.mark, Mark::Untested(_))
    }
}

/// The example's component, where its author's cargo would have put it.
fn place_example(folder: &Path) {
    let release = folder.join("examples/tool-wordcount/target/wasm32-wasip2/release");
    fs::create_dir_all(&release).expect("a folder");
    let built = wasm_folder().join("example/tool_wordcount.wasm");
    fs::copy(&built, release.join("tool_wordcount.wasm"))
        .unwrap_or_else(|error| panic!("{}: {error}; `cargo xtask test` builds it", built.display()));
}

/// Checks that the program accepts a settings file.
fn check_settings(text: &str, place: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("lakeport.toml");
    fs::write(&file, text).expect("writable");
    let mut command = Command::new(lakeport_tests::binary());
    command.arg("config").arg("--config").arg(&file).env_clear().current_dir(folder.path());
    let output = command.output().expect("the binary runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{place}: {said}");
}

/// One shell for all blocks of a page, like a reader's terminal.
struct Shell {
    child: Child,
    input: ChildStdin,
    output: Receiver<String>,
    /// Blocks, heads of answers, and error output.
    notes: tempfile::TempDir,
}

impl Shell {
    /// In the folder of the server's data sources, with the server's own settings.
    fn start(lake: &Lake) -> Shell {
        let notes = tempfile::tempdir().expect("a folder");
        fs::create_dir(notes.path().join("heads")).expect("a folder");
        let said = fs::File::create(notes.path().join("said")).expect("a file");
        let binary = lakeport_tests::binary();
        let tools = binary.parent().expect("a folder").display().to_string();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("bash");
        command.args(["-e", "-u"]).current_dir(lake.files.path()).env_clear().envs(lake.server.environment());
        command.env("PATH", format!("{tools}:{path}")).env("LANG", "C.UTF-8").env("HOME", notes.path());
        command.env("LAKEPORT_URL", lake.server.url()).env("LAKEPORT_DATA_DIR", lake.server.data());
        command.env("LAKEPORT_LISTEN", lake.server.address().to_string());
        command.envs(lake.server.database_url().map(|url| ("LAKEPORT_DATABASE_URL", url)));
        command.env("HEADS", notes.path().join("heads")).env("FAILURES", notes.path().join("failures"));
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(said)
            .spawn()
            .expect("bash is installed");
        let mut input = child.stdin.take().expect("piped");
        writeln!(input, "{PRELUDE}").expect("the shell reads");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let (line, output) = mpsc::channel();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|next| line.send(next)));
        Shell { child, input, output, notes }
    }

    /// Runs a block unchanged; returns its output. Its answers must have the statuses that it is marked with.
    fn run(&mut self, page: &str, block: &Block) -> String {
        let place = format!("{page}:{}", block.line);
        let file = self.notes.path().join("block");
        fs::write(&file, &block.text).expect("writable");
        writeln!(self.input, ". '{}' < /dev/null\necho; echo '{OVER}'", file.display())
            .expect("the shell reads");
        let until = Instant::now() + BLOCK_MAX;
        let mut printed = String::new();
        loop {
            match self.output.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(line) if line == OVER => break,
                Ok(line) => printed = printed + &line + "\n",
                Err(_) => {
                    panic!("{place} failed, or took {BLOCK_MAX:?}:\n{}\n{printed}{}", block.text, self.said())
                }
            }
        }
        let failures = fs::read_to_string(self.notes.path().join("failures")).unwrap_or_default();
        assert!(failures.is_empty(), "{place}: {failures}\n{printed}");
        let refused: Vec<u16> = self.statuses().into_iter().filter(|status| *status >= 400).collect();
        let expected: Vec<u16> =
            if let Mark::Refused(status) = block.mark { vec![status] } else { Vec::new() };
        assert_eq!(refused, expected, "{place}:\n{}\n{printed}", block.text);
        printed
    }

    /// The statuses of the answers since the last call.
    fn statuses(&self) -> Vec<u16> {
        let mut statuses = Vec::new();
        for entry in fs::read_dir(self.notes.path().join("heads")).expect("the folder is there") {
            let path = entry.expect("the folder is there").path();
            let head = fs::read_to_string(&path).expect("text");
            let lines = head.lines().filter(|line| line.starts_with("HTTP/"));
            statuses.extend(lines.filter_map(|line| line.split(' ').nth(1)?.parse::<u16>().ok()));
            fs::remove_file(path).expect("the test's own file");
        }
        statuses
    }

    fn said(&self) -> String {
        fs::read_to_string(self.notes.path().join("said")).unwrap_or_default()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A page's server after its last block, and the output of all blocks.
struct Ran {
    lake: Lake,
    printed: String,
}

impl Ran {
    /// All answers' `data`.
    fn answers(&self) -> Vec<Value> {
        let starts = self.printed.match_indices("{\"code\":200,").map(|(at, _)| &self.printed[at..]);
        let first = |text: &str| serde_json::Deserializer::from_str(text).into_iter::<Value>().next();
        starts.filter_map(|text| first(text)?.ok()).map(|mut answer| answer["data"].take()).collect()
    }

    /// The first answer for which `holds` is true.
    fn answer(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let found = self.answers().into_iter().find(|answer| holds(answer));
        found.unwrap_or_else(|| panic!("no answer shows {what}:\n{}", self.printed))
    }
}

#[test]
fn tutorial() {
    for store in stores() {
        let ran = Page::read("docs/tutorial.md").run(&store);
        let server = &ran.lake.server;

        ran.answer("a plan", |answer| {
            answer["statements"][0]["sql"].as_str().is_some_and(|sql| sql.starts_with("CREATE TABLE"))
        });
        ran.answer("the table's own text", |answer| {
            answer.as_str().is_some_and(|ddl| ddl.contains("\"orders\""))
        });
        ran.answer("a search for a part of the name", |answer| {
            let found = &answer["records"][0];
            (&found["tableName"], &found["physical"]) == (&json!("turnover"), &json!(true))
        });

        let tables = server.get("/api/v1/tables?sortField=tableName").data();
        let table = |place: usize| tables["records"][place]["id"].clone();
        let (orders, turnover) = (table(0), table(1));
        let workflow =
            ran.answer("a workflow", |answer| answer["edges"].is_array() && answer["tasks"].is_array());
        let task = |place: usize| workflow["tasks"][place]["id"].clone();
        assert_eq!(workflow["edges"], json!([{ "source": task(0), "target": task(1) }]));
        assert_eq!(workflow["tasks"][1]["inputTableIds"], json!([orders]));
        assert_eq!(workflow["tasks"][1]["outputTableIds"], json!([turnover]));

        let history = server.get("/api/v1/executions/history?pageSize=100").data();
        let records = history["records"].as_array().expect("records");
        let by_hand = records.iter().filter(|record| record["triggerType"] == "manual");
        assert_eq!(by_hand.filter(|record| record["status"] == "success").count(), 2, "{history}");
        assert!(records.iter().any(|record| record["triggerType"] == "schedule"), "{history}");
        ran.answer("a log", |answer| answer["log"]["text"].as_str().is_some_and(|text| !text.is_empty()));
        ran.answer("one row", |answer| answer["rowCount"] == 1);
        ran.answer("a schedule that is on", |answer| answer["status"] == "online");
        assert_eq!(server.get("/api/v1/workflows").data()["records"][0]["status"], "offline");

        let graph = ran.answer("a graph", |answer| answer["nodes"].is_array());
        assert_eq!(graph["nodes"].as_array().map(Vec::len), Some(2), "{graph}");
        let edge = [&graph["edges"][0]["source"], &graph["edges"][0]["target"]];
        assert_eq!(edge, [&json!(orders.to_string()), &json!(turnover.to_string())]);

        ran.answer("a change of two tables", |answer| answer["changed"] == 2);
        ran.answer("two tables with a tag", |answer| {
            answer["total"] == 2 && answer["records"][0]["tags"].is_array()
        });
        ran.answer("a field that was searched for", |answer| answer["records"][0]["fieldName"] == "total");
        let version = ran
            .answer("a version of a schema", |answer| answer["fields"].is_array() && answer["version"] == 2);
        assert_eq!(version["fields"].as_array().map(Vec::len), Some(1), "{version}");
    }
}

#[test]
fn first_question() {
    for store in stores() {
        let ran = Page::read("docs/agent.md").run(&store);
        if store.is_postgres() {
            // Questions about the platform itself need a SQLite store.
            continue;
        }
        for event in ["thinking", "tool_call", "tool_result", "message"] {
            let line = format!("event: {event}\n");
            assert!(ran.printed.contains(&line), "no {event} in:\n{}", ran.printed);
        }
        let topics = ran.lake.server.get("/api/v1/nl2sql/topics").json();
        let topic = topics["items"][0]["topic_id"].as_str().expect("an id");
        let messages = ran.lake.server.get(&format!("/api/v1/nl2sql/topics/{topic}/messages")).json();
        let artifacts = messages["items"][1]["artifacts"].as_array().expect("artifacts");
        let kinds: Vec<&str> = artifacts.iter().filter_map(|one| one["kind"].as_str()).collect();
        assert_eq!(kinds, ["sql", "table", "chart"], "{artifacts:#?}");
        assert_eq!(artifacts[1]["row_count"], 30, "a row for each day");
    }
}

#[test]
fn every_page_is_run() {
    let mut pages: BTreeSet<String> = ["README.md", "wit/README.md"].map(str::to_owned).into();
    for folder in ["docs", "examples/demo", "examples/tool-wordcount"] {
        for entry in fs::read_dir(workspace().join(folder)).expect("a folder") {
            let name = entry.expect("a folder").file_name().to_string_lossy().into_owned();
            pages.extend(name.ends_with(".md").then(|| format!("{folder}/{name}")));
        }
    }
    let run: BTreeSet<String> = self::pages().map(str::to_owned).collect();
    assert_eq!(pages, run, "pages in the folders, and pages in this test");
}

#[test]
fn blocks_without_a_test_are_few_and_say_why() {
    let mut untested = Vec::new();
    for path in pages() {
        for block in Page::read(path).blocks {
            if let Mark::Untested(reason) = block.mark {
                assert!(reason.split(' ').count() >= 3, "{path}:{}: why does no test run it?", block.line);
                untested.push(format!("{path}:{}: {reason}", block.line));
            }
        }
    }
    assert!(untested.len() <= UNTESTED_MAX, "{untested:#?}");
}

#[test]
fn readme_is_short() {
    assert!(Page::read("README.md").text.lines().count() <= README_MAX_LINES);
}

#[test]
fn links_lead_somewhere() {
    for path in pages() {
        let text = Page::read(path).text;
        let folder = workspace().join(path).parent().expect("a folder").to_owned();
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let sources = text.split("src=\"").skip(1).filter_map(|rest| rest.split('"').next());
        for target in targets.chain(sources).filter(|target| !target.starts_with("http")) {
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { workspace().join(path) } else { folder.join(file) };
            assert!(file.exists(), "{path} leads to {target}");
            if !heading.is_empty() {
                let there = fs::read_to_string(&file).expect("a page");
                assert!(anchors(&there).contains(heading), "{path} leads to {target}");
            }
        }
    }
}

/// The anchors of a page's headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings =
        text.lines().filter_map(|line| line.strip_prefix('#')).map(|line| line.trim_start_matches('#'));
    let name = |heading: &str| -> String {
        let plain = heading.trim().to_lowercase().replace(' ', "-");
        plain.chars().filter(|one| one.is_alphanumeric() || matches!(one, '-' | '_')).collect()
    };
    headings.map(name).collect()
}

#[test]
fn pages_use_plain_words() {
    for path in pages() {
        for (number, line) in Page::read(path).text.to_lowercase().lines().enumerate() {
            for word in ["nobody", "whoever", "anew", "is told", "are told", "became of"] {
                let has = line.split(|one: char| !one.is_alphanumeric()).collect::<Vec<_>>().join(" ");
                assert!(
                    !format!(" {has} ").contains(&format!(" {word} ")),
                    "{path}:{}: `{word}`",
                    number + 1
                );
            }
        }
    }
}

/// The OpenAPI description, as the binary prints it.
fn description() -> Value {
    let output = Command::new(lakeport_tests::binary()).arg("openapi").env_clear().output();
    serde_json::from_slice(&output.expect("the binary runs").stdout).expect("JSON")
}

/// The first column of the table below a heading, without its backquotes.
fn first_column(page: &str, heading: &str) -> Vec<String> {
    let (_, section) = page.split_once(&format!("\n## {heading}\n")).expect("the heading");
    let section = section.split("\n## ").next().unwrap_or_default();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    cells.map(|(cell, _)| cell.to_owned()).collect()
}

#[test]
fn the_list_of_error_codes_is_the_programs() {
    let page = Page::read("docs/api-conventions.md").text;
    let description = description();
    let codes = &description["components"]["schemas"]["Error"]["properties"]["error"]["enum"];
    let codes = codes.as_array().expect("codes").iter().filter_map(Value::as_str).map(str::to_owned);
    let (codes, listed) = (codes.collect::<BTreeSet<_>>(), first_column(&page, "Error codes"));
    assert!(listed.is_sorted(), "in order: {listed:?}");
    let listed: BTreeSet<String> = listed.into_iter().collect();
    let (unlisted, unknown) = (codes.difference(&listed), listed.difference(&codes));
    let (unlisted, unknown): (Vec<_>, Vec<_>) = (unlisted.collect(), unknown.collect());
    assert!(unlisted.is_empty() && unknown.is_empty(), "not in the page: {unlisted:?}; no code: {unknown:?}");
}

#[test]
fn the_list_of_what_is_not_implemented_is_the_programs() {
    let page = Page::read("docs/api-conventions.md").text;
    let listed: BTreeSet<String> = first_column(&page, "Not implemented yet").into_iter().collect();
    let description = description();
    let paths = description["paths"].as_object().expect("paths");
    let mut missing: BTreeSet<String> = BTreeSet::new();
    for (path, methods) in paths {
        let methods = methods.as_object().expect("methods").iter();
        let not_yet = methods.filter(|(_, operation)| operation["x-not-yet"] == true);
        missing.extend(not_yet.map(|(method, _)| format!("{} {path}", method.to_uppercase())));
    }
    assert_eq!(listed, missing);
}

#[test]
fn the_roles_are_the_programs() {
    let page = Page::read("docs/security.md").text;
    let description = description();
    let paths = description["paths"].as_object().expect("paths").values();
    let operations = paths.flat_map(|methods| methods.as_object().expect("methods").values());
    let roles = operations.filter_map(|operation| operation["x-role"].as_str());
    let roles: BTreeSet<&str> = roles.filter(|role| *role != "anyone").collect();
    let listed = first_column(&page, "Roles");
    assert_eq!(listed.iter().map(String::as_str).collect::<BTreeSet<_>>(), roles);
}
