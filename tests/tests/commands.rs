//! The command line, as an operator uses it, against a real server and a real store.

use std::path::PathBuf;
use std::process::{Command, Output};

use lakeport_tests::{Server, binary, stores, wasm_folder};
use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    wasm_folder().join("plugin-fixture/examples").join(format!("{name}.wasm"))
}

fn lakeport(arguments: &[&str]) -> Output {
    let output = Command::new(binary()).args(arguments).env_clear().output();
    output.unwrap_or_else(|error| panic!("{}: {error}", binary().display()))
}

fn plugin(server: &Server, arguments: &[&str]) -> Output {
    let url = server.url();
    let mut all = vec!["plugin"];
    all.extend(arguments);
    all.extend(["--url", &url]);
    lakeport(&all)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn ok(output: Output) -> String {
    assert!(output.status.success(), "{}", said(&output));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn a_plugin_goes_from_file_to_active_and_back() {
    let server = Server::start(&stores()[0]);
    let (first, second) = (fixture("greeter_v1"), fixture("greeter_v2"));
    ok(plugin(&server, &["install", first.to_str().unwrap(), "--activate"]));
    let listed: Value = serde_json::from_str(&ok(plugin(&server, &["list", "--json"]))).unwrap();
    let greeter = listed.as_array().unwrap().iter().find(|p| p["name"] == "greeter").expect("it is listed");
    assert_eq!(greeter["state"], "active");

    let staged: Value =
        serde_json::from_str(&ok(plugin(&server, &["install", second.to_str().unwrap(), "--json"]))).unwrap();
    let digest = staged["digest"].as_str().unwrap();
    ok(plugin(&server, &["activate", "greeter", &digest[..12]]));
    assert!(ok(plugin(&server, &["list"])).contains("2.0.0"));
    ok(plugin(&server, &["rollback", "greeter"]));
    assert!(ok(plugin(&server, &["inspect", "greeter"])).contains("1.0.0"));

    ok(plugin(&server, &["quarantine", "greeter", "--reason", "odd answers"]));
    assert!(ok(plugin(&server, &["list"])).contains("quarantined"));
    ok(plugin(&server, &["release", "greeter"]));
    ok(plugin(&server, &["logs", "greeter"]));
    let exported = plugin(&server, &["export", "greeter"]);
    assert!(exported.status.success() && exported.stdout == std::fs::read(&first).unwrap());
    ok(plugin(&server, &["remove", "greeter", digest]));
}

#[test]
fn an_engine_is_called_by_hand() {
    let server = Server::start(&stores()[0]);
    let input = r#"{ "workflows": [], "open": [], "since": 0, "limit": 10 }"#;
    let called = ok(plugin(&server, &["call", "local", "watch.instances", "--input", input]));
    let page: Value = serde_json::from_str(&called).expect("an answer, and no requests");
    assert_eq!(page["instances"], serde_json::json!([]), "{page}");
    let output = plugin(&server, &["call", "local", "deploys.remove"]);
    assert!(said(&output).contains("must be one of deploys.test, "), "{}", said(&output));
    let output = plugin(&server, &["call", "local", "watch.log", "--input", "{"]);
    assert!(said(&output).contains("--input is no JSON"), "{}", said(&output));
}

#[test]
fn an_error_of_the_server_is_said_with_its_code() {
    let server = Server::start(&stores()[0]);
    let output = plugin(&server, &["activate", "nothing", "00000000"]);
    assert_eq!(output.status.code(), Some(1));
    let text = said(&output);
    assert!(text.contains("error: unknown plugin nothing") && text.contains("not_found"), "{text}");
}

#[test]
fn a_file_is_inspected_without_a_server() {
    let text = ok(lakeport(&["plugin", "inspect", fixture("misbehave").to_str().unwrap()]));
    assert!(text.contains("lakeport:tool@0.9.0") && text.contains("wasi:cli/stdout"), "{text}");
    let refused = lakeport(&["plugin", "inspect", fixture("sockets").to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(1), "a script must see that it would not be let in");
    let text = said(&refused);
    assert!(text.contains("refused") && text.contains("wasi:sockets"), "{text}");
}

#[test]
fn without_a_server_it_says_how_to_start_one() {
    let output = lakeport(&["plugin", "list", "--url", "http://127.0.0.1:9"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("lakeport serve"), "{}", said(&output));
}

#[test]
fn every_setting_is_explained_with_its_source() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lakeport.toml");
    std::fs::write(&file, "[plugins]\ncall_timeout_ms = 1234\n").unwrap();
    let output = Command::new(binary())
        .args(["config", "--explain", "--json", "--config", file.to_str().unwrap()])
        .env_clear()
        .env("LAKEPORT_PLUGINS_DRAIN_S", "7")
        .output()
        .unwrap();
    let settings: Value = serde_json::from_str(&ok(output)).unwrap();
    let text = settings.to_string();
    assert!(text.contains("1234") && text.contains("LAKEPORT_PLUGINS_CALL_TIMEOUT_MS"), "{text}");
    let plain = ok(lakeport(&["config", "--explain"]));
    for setting in ["listen", "data_dir", "database_url", "plugins.withhold"] {
        assert!(plain.contains(setting), "{setting} is missing in\n{plain}");
    }
}

#[test]
fn a_setting_that_is_not_known_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lakeport.toml");
    std::fs::write(&file, "lissten = \"127.0.0.1:1\"\n").unwrap();
    let output = lakeport(&["serve", "--config", file.to_str().unwrap()]);
    assert!(!output.status.success());
    let text = said(&output);
    assert!(text.contains("lissten") && text.contains("listen"), "{text}");
}

#[test]
fn public_listening_requires_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let output = lakeport(&["serve", "--listen", "0.0.0.0:0", "--data-dir", data.to_str().unwrap()]);
    assert!(!output.status.success());
    assert!(said(&output).contains("127.0.0.1"), "{}", said(&output));
}

#[test]
fn the_doctor_checks_every_dependency() {
    for store in stores() {
        let server = Server::start(&store);
        let data = server.data().to_str().unwrap().to_owned();
        let second = lakeport(&["serve", "--listen", "127.0.0.1:0", "--data-dir", &data]);
        assert!(!second.status.success() && said(&second).contains("another Lakeport"), "{}", said(&second));
        let output = lakeport(&["doctor", "--data-dir", &data, "--json"]);
        let text = said(&output);
        for check in ["store", "plugins", "cache", "data"] {
            assert!(text.to_lowercase().contains(check), "{check} is missing in\n{text}");
        }
    }
    let output = lakeport(&["doctor", "--database-url", "postgres://nobody@127.0.0.1:9/none"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("failed"), "{}", said(&output));
}

#[test]
fn a_mistyped_data_folder_gets_no_store() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (missing, other) = (folder.path().join("missing"), folder.path().join("other"));
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("notes"), "of another program").unwrap();
    let create = ["token", "create", "--role", "admin", "--name", "root"];
    let file = folder.path().join("backup").display().to_string();
    let commands: [&[&str]; 5] =
        [&create, &["token", "list"], &["token", "revoke", "root"], &["backup", &file], &["key", "rotate"]];
    let run = |command: &[&str], more: &[&str], data: &std::path::Path| {
        let data = data.display().to_string();
        lakeport(&[command, &["--data-dir", &data], more].concat())
    };
    for command in commands {
        for data in [&missing, &other] {
            let refused = run(command, &[], data);
            assert_eq!(refused.status.code(), Some(1), "{command:?}");
            assert!(said(&refused).contains("--data-dir"), "{command:?}: {}", said(&refused));
        }
    }
    assert!(!missing.exists() && std::fs::read_dir(&other).unwrap().count() == 1);
    ok(run(&create, &["--init"], &missing));
    assert!(ok(run(&["token", "list"], &[], &missing)).contains("root"));
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    assert!(said(&run(&["token", "list"], &[], &empty)).contains("--data-dir"));
    let made = run(&create, &[], &empty);
    assert!(made.status.success() && said(&made).contains("there was no store yet"), "{}", said(&made));
}

#[test]
fn a_closed_reader_is_no_error() {
    let closed = || {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        writer
    };
    let file = fixture("misbehave").display().to_string();
    let commands: [&[&str]; 5] = [
        &["plugin", "inspect", &file],
        &["plugin", "inspect", &file, "--json"],
        &["openapi"],
        &["config", "--explain"],
        &["key", "new"],
    ];
    for command in commands {
        let mut process = Command::new(binary());
        process.args(command).env_clear().stdout(closed()).stderr(closed());
        let status = process.status().unwrap_or_else(|error| panic!("{}: {error}", binary().display()));
        assert_eq!(status.code(), Some(0), "{command:?}");
    }
    let mut process = Command::new(binary());
    process.args(["plugin", "inspect", "/nowhere"]).env_clear().stdout(closed()).stderr(closed());
    assert_eq!(process.status().expect("it runs").code(), Some(1), "its error had nobody to read it");
}

#[test]
fn a_question_is_asked_and_its_steps_are_shown() {
    for store in stores() {
        let server = Server::start(&store);
        let url = server.url();
        let question = "How many workflows were published per day in the last 30 days?";
        let asked = lakeport(&["ask", question, "--url", &url, "--datasource", "lakeport"]);
        let shown = said(&asked);
        if store.is_postgres() {
            // The question is about the server's own views, of which the guard knows those of SQLite alone.
            assert!(shown.starts_with("· "), "{shown}");
            continue;
        }
        for part in ["· ", "→ run_sql\n    WITH", "\nday", "in the last 30 days"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        let events = ok(lakeport(&["ask", "show all tables", "--url", &url, "--json"]));
        let kinds: Vec<Value> = events
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["type"].clone())
            .collect();
        assert_eq!(kinds.last(), Some(&Value::from("message")), "{events}");
        let not_answered = lakeport(&["ask", "What is the weather on Mars?", "--url", &url]);
        assert_eq!(not_answered.status.code(), Some(3), "{not_answered:?}");
        let empty = lakeport(&["ask", " ", "--url", &url]);
        assert!(said(&empty).contains("the question is empty"), "{empty:?}");
        let refused = lakeport(&["ask", "x", "--url", &url, "--model", "nothing"]);
        assert!(
            !refused.status.success() && said(&refused).contains("there is no model `nothing`"),
            "{refused:?}"
        );
    }
}
