//! The README's first hour and first question, word for word: their blocks go to a shell as they stand, and what they
//! bring about is looked at over HTTP.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use lakeport_tests::{Lake, Options, Server, Store, eventually, stores, workspace};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(20);
/// Said by the shell when a block is over.
const OVER: &str = "--- the block is over";

/// The shell blocks below a heading.
fn blocks(heading: &str) -> Vec<String> {
    let readme = std::fs::read_to_string(workspace().join("README.md")).expect("the README");
    let (_, section) = readme.split_once(&format!("\n## {heading}\n")).expect("the heading");
    let section = section.split("\n## ").next().unwrap_or_default();
    let blocks = section.split("\n```sh\n").skip(1);
    blocks.map(|rest| rest.split("\n```").next().unwrap_or_default().to_owned()).collect()
}

/// One shell for all blocks, as a reader has one terminal.
struct Shell {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Shell {
    fn start_in(server: &Server, folder: &std::path::Path) -> Shell {
        let mut command = Command::new("bash");
        command.arg("-eu").current_dir(folder).env("LAKEPORT_URL", server.url());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("bash is there");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Shell { child, input, output }
    }

    /// Runs a block; answers what it printed.
    fn say(&mut self, block: &str) -> String {
        writeln!(self.input, "{block}\necho; echo '{OVER}'").expect("the shell reads");
        let mut said = String::new();
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).expect("text");
            assert!(read > 0, "the shell ended within:\n{block}\n{said}");
            if line.trim_end() == OVER {
                break;
            }
            said.push_str(&line);
        }
        said
    }

    /// Runs a block; answers the envelopes that it printed, all of which must be successes.
    fn run(&mut self, block: &str) -> Vec<Value> {
        let said = self.say(block);
        let answers = serde_json::Deserializer::from_str(&said).into_iter::<Value>();
        let answers: Vec<Value> = answers.map(|answer| answer.unwrap_or_else(|_| panic!("{said}"))).collect();
        for answer in &answers {
            assert_eq!(answer["code"], 200, "{answer:#}\nwithin:\n{block}");
        }
        assert_eq!(answers.len(), block.matches("curl ").count(), "{block}\n{said}");
        answers
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn history(server: &Server) -> Vec<Value> {
    let page = server.get("/api/v1/executions/history?pageSize=100").data();
    page["records"].as_array().expect("records").clone()
}

fn ended(server: &Server, count: usize) -> Vec<Value> {
    eventually("the executions end", SOON, || {
        let ended = history(server);
        let all = ended.len() >= count && ended.iter().all(|record| record["status"] == "success");
        all.then_some(ended)
    })
}

#[test]
fn the_first_hour_of_the_readme_works_word_for_word() {
    for store in stores() {
        // A folder apart from the store's own: what a data source may be lies elsewhere.
        let files = tempfile::tempdir().expect("a folder");
        let roots = files.path().display().to_string();
        let environment = &[("LAKEPORT_SQLITE_ROOTS", roots.as_str())];
        let server = Server::start_as(&store, Options { environment, ..Options::default() });
        let blocks = blocks("The first hour");
        assert_eq!(blocks.len(), 8, "a block more or less needs a look at what follows here");
        let mut shell = Shell::start_in(&server, files.path());

        let answers = shell.run(&blocks[0]);
        let dry = answers[5]["data"]["statements"].as_array().expect("statements");
        assert!(dry[0]["sql"].as_str().expect("a text").starts_with("CREATE TABLE"), "{dry:?}");
        assert!(answers[7]["data"].as_str().expect("a text").contains("\"orders\""), "{}", answers[7]);

        let answers = shell.run(&blocks[1]);
        let found = &answers[5]["data"]["records"];
        assert_eq!((&found[0]["tableName"], &found[0]["physical"]), (&json!("turnover"), &json!(true)));

        let answers = shell.run(&blocks[2]);
        let workflow = &answers[3]["data"];
        assert_eq!(workflow["edges"], json!([{ "source": 1, "target": 2 }]));
        assert_eq!(workflow["tasks"][1]["inputTableIds"], json!([1]));
        assert_eq!(workflow["tasks"][1]["outputTableIds"], json!([2]));

        shell.run(&blocks[3]);
        assert_eq!(ended(&server, 2).len(), 2);

        let answers = shell.run(&blocks[4]);
        assert!(!answers[1]["data"]["log"]["text"].as_str().expect("a log").is_empty());
        assert_eq!(answers[2]["data"]["rowCount"], 1);

        let answers = shell.run(&blocks[5]);
        assert_eq!(answers[1]["data"]["status"], "online");
        eventually("the timer fires", SOON, || {
            history(&server).iter().any(|record| record["triggerType"] == "schedule").then_some(())
        });

        let answers = shell.run(&blocks[6]);
        assert_eq!(answers[1]["data"]["status"], "offline");
        let graph = &answers[2]["data"];
        assert_eq!(graph["nodes"].as_array().map(Vec::len), Some(2), "{graph}");
        assert_eq!((&graph["edges"][0]["source"], &graph["edges"][0]["target"]), (&json!("1"), &json!("2")));

        let answers = shell.run(&blocks[7]);
        assert_eq!((&answers[0]["data"]["changed"], &answers[1]["data"]["total"]), (&json!(2), &json!(2)));
        assert_eq!(answers[2]["data"]["records"][0]["fieldName"], "total");
        assert_eq!(answers[4]["data"]["fields"].as_array().map(Vec::len), Some(1), "{}", answers[4]);
    }
}

#[test]
fn the_first_question_of_the_readme_works_word_for_word() {
    // Questions about the platform itself need a SQLite store.
    for store in stores().into_iter().filter(|store| matches!(store, Store::Sqlite)) {
        let mut lake = Lake::prepare(&store);
        lake.server.add_argument("--demo");
        lake.server.run();
        let blocks = blocks("The first question");
        assert_eq!(blocks.len(), 2, "a block more or less needs a look at what follows here");
        let folder = tempfile::tempdir().expect("a folder");
        let mut shell = Shell::start_in(&lake.server, folder.path());

        let stream = shell.say(&blocks[0]);
        for event in ["thinking", "tool_call", "tool_result", "message"] {
            assert!(stream.contains(&format!("event: {event}\n")), "no {event} in:\n{stream}");
        }
        let said = shell.say(&blocks[1]);
        let answers: Vec<Value> = serde_json::Deserializer::from_str(&said)
            .into_iter::<Value>()
            .map(|answer| answer.unwrap_or_else(|_| panic!("{said}")))
            .collect();
        let [task, messages] = answers.as_slice() else { panic!("{said}") };
        assert_eq!(task["status"], "success", "{task:#}");
        let artifacts = messages["items"][1]["artifacts"].as_array().expect("artifacts");
        let kinds: Vec<&str> = artifacts.iter().filter_map(|one| one["kind"].as_str()).collect();
        assert_eq!(kinds, ["sql", "table", "chart"], "{artifacts:#?}");
        assert_eq!(artifacts[1]["row_count"], 30, "a row for each day");
    }
}
