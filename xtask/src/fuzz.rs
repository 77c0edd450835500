//! `cargo xtask fuzz`: the fuzz targets, and a long run of one. Each is also a test of its crate, which runs shortly
//! with all others; tests/fuzz has what they share.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::wasm::Wasm;
use crate::workspace::Profile;
use crate::{cargo, child, workspace};

/// A fuzz target.
struct Target {
    name: &'static str,
    package: &'static str,
    /// Its file, from the root.
    source: &'static str,
    /// The path of the test in its crate.
    test: &'static str,
    /// What holds for every input.
    checks: &'static str,
}

const fn target(
    name: &'static str,
    package: &'static str,
    source: &'static str,
    test: &'static str,
    checks: &'static str,
) -> Target {
    Target { name, package, source, test, checks }
}

const TARGETS: &[Target] = &[
    target(
        "guard",
        "lakeport-sql",
        "host/sql/src/guard_fuzz.rs",
        "guard::fuzz::fuzz_guard",
        "accepted SQL is one reading statement of listed functions, to SQLite's own authorizer, too",
    ),
    target(
        "lexing",
        "lakeport-sql",
        "host/sql/src/lex_fuzz.rs",
        "lex::fuzz::fuzz_lexing",
        "lexemes leave no gaps, and quoted names and texts come back as they were, in every lexing",
    ),
    target(
        "plan",
        "lakeport-sql",
        "host/sql/src/plan_fuzz.rs",
        "plan::fuzz::fuzz_plan",
        "accepted plans read as their tokens and nothing else, whatever names and texts hold",
    ),
    target(
        "cron",
        "lakeport",
        "host/server/src/cron_fuzz.rs",
        "cron::fuzz::fuzz_cron",
        "times of schedules increase, fit their fields, and none is left out",
    ),
    target(
        "parameters",
        "lakeport",
        "host/server/src/scheduler/parameters_fuzz.rs",
        "scheduler::parameters::fuzz::fuzz_parameters",
        "no parameter's value changes how the statements around it read",
    ),
    target(
        "document",
        "lakeport",
        "host/server/src/workflows/transfer/read_fuzz.rs",
        "workflows::transfer::read::fuzz::fuzz_document",
        "a workflow's document that is read is written and read again as the same; another one is an error",
    ),
    target(
        "backup",
        "lakeport",
        "host/server/src/backup/format_fuzz.rs",
        "backup::format::fuzz::fuzz_backup",
        "a backup that is read can be written and read again; another one is an error",
    ),
    target(
        "component",
        "lakeport-plugins",
        "host/plugins/src/inspect_fuzz.rs",
        "inspect::fuzz::fuzz_component",
        "damaged components are errors with a code, and accepted ones export their contract",
    ),
    target(
        "postgres",
        "lakeport-physical",
        "host/physical/src/server/protocol_fuzz.rs",
        "server::protocol_fuzz::fuzz_postgres",
        "servers that break PostgreSQL's protocol end in an error of a known code, and soon",
    ),
    target(
        "mysql",
        "lakeport-physical",
        "host/physical/src/server/protocol_fuzz.rs",
        "server::protocol_fuzz::fuzz_mysql",
        "the same for MySQL's protocol",
    ),
];

/// The targets, one each line.
pub fn list() -> String {
    let width = TARGETS.iter().map(|target| target.name.len()).max().unwrap_or(0);
    let mut list = String::new();
    for Target { name, checks, .. } in TARGETS {
        writeln!(list, "{name:width$}  {checks}").expect("a text takes everything");
    }
    list
}

/// Runs a target for so many seconds. False: an input failed.
pub fn run(name: &str, seconds: u64) -> Result<bool> {
    let target = TARGETS.iter().find(|target| target.name == name);
    let target =
        target.with_context(|| format!("unknown fuzz target {name:?}; the targets are:\n{}", list()))?;
    let folder = workspace::target().join("fuzz");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let (failing, last) = (folder.join(name), folder.join(format!("{name}.last")));
    for file in [&failing, &last] {
        if file.exists() {
            fs::remove_file(file).with_context(|| format!("cannot remove {}", file.display()))?;
        }
    }
    let mut command = built(target)?;
    command
        .args([target.test, "--exact", "--nocapture"])
        .env("BOLERO_RANDOM_TEST_TIME_MS", seconds.saturating_mul(1_000).to_string())
        .env("BOLERO_RANDOM_ITERATIONS", usize::MAX.to_string())
        .env("LAKEPORT_FUZZ_DIR", &folder);
    println!("fuzz {name}: {} s; {}", seconds, target.checks);
    let begun = Instant::now();
    let passed =
        command.status().with_context(|| format!("cannot run {}", child::display(&command)))?.success();
    println!("fuzz {name}: {} after {} s", if passed { "held" } else { "FAILED" }, begun.elapsed().as_secs());
    if passed {
        fs::remove_file(&last).ok();
        return Ok(true);
    }
    // A process that ended within a check kept nothing.
    let input = if failing.exists() { failing } else { last };
    let corpus = workspace::root().join(target.source).with_file_name("__fuzz__").join(name).join("corpus");
    println!(
        "If no kept input is named above, the failing one is {}; BOLERO_RANDOM_SEED=… from above repeats it.\n\
         Mend the fault and keep the input, so that every test run checks it first:\n    cp {} {}/WHAT-IT-SHOWS",
        input.display(),
        input.display(),
        corpus.display()
    );
    Ok(false)
}

/// The test program of the target's crate.
fn built(target: &Target) -> Result<Command> {
    let arguments =
        ["test", "--no-run", "--profile", Profile::Ci.name(), "--package", target.package, "--lib"];
    let mut command = cargo::command(&arguments);
    if target.package == "lakeport" {
        Wasm::set_up()?.build_plugins(Profile::Ci)?;
        command.env("LAKEPORT_BUNDLED_DIR", Profile::Ci.bundled());
    }
    // Drivers run in worker processes, which are the server's binary.
    let binary = if target.package == "lakeport-physical" { Some(crate::build(Profile::Ci)?) } else { None };
    let built = cargo::build("fuzz", command)?;
    child::check_not_interrupted()?;
    let source = workspace::root().join(target.source);
    let artifact = built.artifacts.iter().find(|artifact| {
        artifact.test_executable().is_some() && source.starts_with(artifact.package_folder())
    });
    let artifact = artifact.with_context(|| format!("cargo built no test program of {}", target.package))?;
    let mut command = Command::new(artifact.test_executable().context("it has one")?);
    command.current_dir(artifact.package_folder());
    command.envs(binary.map(|binary| ("LAKEPORT_BIN", binary)));
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kept inputs of each target.
    const KEPT_MIN: usize = 5;

    #[test]
    fn every_target_is_where_the_table_says() {
        for Target { name, package, source, test, .. } in TARGETS {
            let source = workspace::root().join(source);
            let text =
                fs::read_to_string(&source).unwrap_or_else(|error| panic!("{}: {error}", source.display()));
            let function = test.rsplit("::").next().expect("a path has a last part");
            assert_eq!(function, format!("fuzz_{name}"));
            assert!(text.contains(&format!("fn {function}()")), "{function} in {}", source.display());
            assert!(text.contains(&format!("fuzz!(\"{name}\"")), "{name} in {}", source.display());
            let crate_folder = source.ancestors().find(|folder| folder.join("Cargo.toml").exists());
            let manifest = crate_folder.expect("a source lies in a crate").join("Cargo.toml");
            let manifest = fs::read_to_string(manifest).expect("readable");
            assert!(manifest.contains(&format!("name = \"{package}\"")), "{package}");
            let corpus = source.with_file_name("__fuzz__").join(name).join("corpus");
            let kept = fs::read_dir(&corpus).unwrap_or_else(|error| panic!("{}: {error}", corpus.display()));
            assert!(kept.count() >= KEPT_MIN, "{} has too few inputs", corpus.display());
        }
    }

    #[test]
    fn no_target_is_missing_in_the_table() {
        let mut folders = vec![workspace::root().join("host")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("readable") {
                let path = entry.expect("readable").path();
                let is_corpora = path.file_name().is_some_and(|name| name == "__fuzz__");
                if is_corpora {
                    for corpus in fs::read_dir(&path).expect("readable") {
                        let name = corpus.expect("readable").file_name();
                        assert!(TARGETS.iter().any(|target| *target.name == *name), "{name:?}");
                    }
                } else if path.is_dir() {
                    folders.push(path);
                }
            }
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let error = run("gard", 1).expect_err("there is none").to_string();
        assert!(error.contains("gard") && error.contains("lexing"), "{error}");
    }
}
