//! The modules of the server have one order: each uses only earlier ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The allowed order, lowest first. `compose` knows every module; only the start of a server is above it.
const ORDER: &[&str] = &[
    "secrets",
    "config",
    "part",
    "turns",
    "core",
    "idempotency",
    "audit",
    "settings",
    "cron",
    "plugins",
    "datasources",
    "auth",
    "queries",
    "tables",
    "sync",
    "search",
    "sql_tables",
    "scheduler",
    "engines",
    "execution_records",
    "workflows",
    "lineage",
    "executions",
    "agent",
    "events",
    "retention",
    "metrics",
    "health",
    "console",
    "docs",
    "description",
    "compose",
    "backup",
    "demo",
    "client",
    "doctor",
    "log",
    "serve",
    "cli",
];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The top-level modules in `lib.rs`.
fn modules() -> BTreeSet<String> {
    let text = std::fs::read_to_string(source().join("lib.rs")).expect("the crate has a root");
    let name = |line: &str| {
        let line = line.trim_start_matches("pub ").strip_prefix("mod ")?;
        line.strip_suffix(';').map(str::to_owned)
    };
    text.lines().filter_map(name).collect()
}

/// The top-level modules that each one names as `crate::…`, with the files. Code behind `#[cfg(test)]` and in
/// test files may name any.
fn imports(modules: &BTreeSet<String>) -> BTreeMap<String, BTreeMap<String, BTreeSet<String>>> {
    let mut imports: BTreeMap<String, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    let mut folders = vec![source()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("the sources are there") {
            let path = entry.expect("the sources are there").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let within = path.strip_prefix(source()).expect("below the sources").display().to_string();
            let is_test = within.ends_with("tests.rs") || within.ends_with("testing.rs");
            if is_test || !within.ends_with(".rs") {
                continue;
            }
            let own = within.split('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned();
            let text = std::fs::read_to_string(&path).expect("the sources are text");
            for named in named_in(text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default()) {
                if modules.contains(&named) && named != own {
                    imports.entry(own.clone()).or_default().entry(named).or_default().insert(within.clone());
                }
            }
        }
    }
    imports
}

/// The first names after `crate::`, in braces or without.
fn named_in(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, found) in text.match_indices("crate::") {
        let is_own = !text[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_');
        let rest = &text[at + found.len()..];
        let first = |text: &str| -> String {
            text.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
        };
        match rest.strip_prefix('{') {
            Some(group) if is_own => {
                let group = group.split('}').next().unwrap_or_default();
                names.extend(group.split(',').map(first));
            }
            None if is_own => names.push(first(rest)),
            _ => {}
        }
    }
    names
}

#[test]
fn each_module_has_its_place_in_the_order() {
    let ordered: BTreeSet<String> = ORDER.iter().map(|&name| name.to_owned()).collect();
    assert_eq!(ordered, modules(), "ORDER and lib.rs name the same modules");
    assert_eq!(ordered.len(), ORDER.len(), "each once");
}

#[test]
fn no_module_imports_one_above_it() {
    let place = |name: &str| ORDER.iter().position(|&ordered| ordered == name);
    let mut upward = Vec::new();
    for (module, named) in imports(&modules()) {
        // The crate's own root and the binary belong to no module.
        let Some(own) = place(&module) else { continue };
        for (name, files) in named {
            if place(&name).is_some_and(|place| place > own) {
                upward.push(format!("{module} imports {name} in {files:?}"));
            }
        }
    }
    assert!(upward.is_empty(), "turn these round, or give the modules another order:\n{}", upward.join("\n"));
}

#[test]
fn only_what_starts_a_server_knows_how_it_is_composed() {
    let knows = |named: &BTreeMap<String, BTreeSet<String>>| named.contains_key("compose");
    let allowed = ["demo", "serve", "cli"];
    for (module, named) in imports(&modules()) {
        assert!(
            !knows(&named) || allowed.contains(&&*module),
            "{module} imports compose: {:?}",
            named["compose"]
        );
    }
}

#[test]
fn names_are_found_in_every_form() {
    let text = "use crate::{audit, tables::Record};\nlet x = crate::time::now(); use lakeport_crate::no;";
    assert_eq!(named_in(text), ["audit", "tables", "time"]);
}
