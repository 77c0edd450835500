//! Checks the golden statements of the dialect `doris` with StarRocks' own grammar, from a Maven artifact. No
//! such artifact was found for Doris.
//!
//! `cargo xtask test --engines` fetches it and names its folder in `LAKEPORT_GRAMMARS`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const VARIABLE: &str = "LAKEPORT_GRAMMARS";
/// Replaces a line break within a statement.
const LINE_BREAK: &str = "\\u000a";
/// The artifact's grammar is older than TO in `RENAME COLUMN a TO b`. The documentation and today's grammar
/// have TO, from 3.3.2 on, and the dialect writes it for those versions only.
const NEWER_THAN_THE_GRAMMAR: &str = "RENAME COLUMN";

#[test]
fn starrocks_takes_what_is_planned_for_it() {
    let statements = statements(&golden("starrocks.sql"));
    assert!(statements.len() > 50, "{} statements", statements.len());
    for (sql, verdict) in statements.iter().zip(judged("starrocks", &statements)) {
        let expected = if sql.contains(NEWER_THAN_THE_GRAMMAR) { "refused" } else { "taken" };
        assert!(verdict.starts_with(expected), "{sql}\n  {verdict}");
    }
}

#[test]
fn starrocks_takes_what_is_asked() {
    let statements = statements(&golden("questions.sql"));
    assert!(statements.len() > 10, "{} questions", statements.len());
    for (sql, verdict) in statements.iter().zip(judged("questions", &statements)) {
        assert_eq!(verdict, "taken", "{sql}");
    }
}

#[test]
fn starrocks_takes_the_agents_series() {
    let statements = statements(&read("tool-write-sql/golden/doris.sql"));
    assert!(statements.len() > 3, "{} series", statements.len());
    for (sql, verdict) in statements.iter().zip(judged("series", &statements)) {
        assert_eq!(verdict, "taken", "{sql}");
    }
}

#[test]
fn it_refuses_statements_of_doris_alone() {
    let only_doris = ["MODIFY COMMENT", "MODIFY DISTRIBUTION", "MODIFY COLUMN `note` COMMENT"];
    let of_doris = statements(&golden("doris.sql"));
    let foreign = |sql: &&String| only_doris.iter().any(|clause| sql.contains(clause));
    let mut statements: Vec<String> = of_doris.iter().filter(foreign).cloned().collect();
    assert!(statements.len() > 5, "{statements:?}");
    statements.push("DROP TABLE `a`.`b`; DROP TABLE `a`.`c`;".to_owned());
    statements.push("CREATE TABLE `a`.`b` (`k` INT PRIMARY KEY) ENGINE = InnoDB;".to_owned());
    for (sql, verdict) in statements.iter().zip(judged("foreign", &statements)) {
        assert!(verdict.starts_with("refused"), "{sql}\n  {verdict}");
    }
}

fn golden(name: &str) -> String {
    read(&format!("dialect-doris/golden/{name}"))
}

/// A file of a plugin.
fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The statements, undos, probes and aborts.
fn statements(golden: &str) -> Vec<String> {
    let mut statements = Vec::new();
    let mut open: Option<String> = None;
    for line in golden.lines() {
        let text = match open.take() {
            Some(begun) => format!("{begun}{LINE_BREAK}{line}"),
            None => match begun(line) {
                Some(text) => text.to_owned(),
                None => continue,
            },
        };
        if text.ends_with(';') {
            statements.push(text);
        } else {
            open = Some(text);
        }
    }
    assert_eq!(open, None, "a statement has no end");
    statements
}

fn begun(line: &str) -> Option<&str> {
    let Some(remark) = line.strip_prefix("--") else {
        return (!line.trim().is_empty()).then_some(line);
    };
    let remark = remark.trim_start();
    ["asks: ", "stops: ", "undo: "].iter().find_map(|what| remark.strip_prefix(what))
}

/// The grammar's verdict on each.
fn judged(name: &str, statements: &[String]) -> Vec<String> {
    let tools = std::env::var_os(VARIABLE).map(PathBuf::from);
    let tools =
        tools.unwrap_or_else(|| panic!("{VARIABLE} is not set: `cargo xtask test --engines` sets it"));
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = here.join("../../target/grammars");
    fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join(format!("{name}.txt"));
    fs::write(&file, statements.join("\n")).expect("written");
    let classes = tools.join("lib").join("*");
    let output = Command::new("java")
        .arg("-cp")
        .arg(classes)
        .arg(here.join("StarRocksJudge.java"))
        .arg(&file)
        .output()
        .expect("java is there: xtask looked");
    let said = String::from_utf8_lossy(&output.stdout);
    let verdicts: Vec<String> = said.lines().map(str::to_owned).collect();
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && verdicts.len() == statements.len(), "{said}{problem}");
    verdicts
}
