//! The tools of the suite `grammars`: Java, and the grammars of databases from Maven, at the versions in
//! `tests/grammars/pom.xml`. Set up once in the user's cache.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use lakeport_wasm_target::cache;

use crate::tools::{self, Tools};
use crate::workspace;

/// Tells the suite the folder of the grammars.
pub const VARIABLE: &str = "LAKEPORT_GRAMMARS";

/// Increased when the set-up changes.
const RECIPE: &str = "1";

/// It runs a program from its source and reads the artifacts' classes.
const JAVA_MIN: (u32, u32) = (17, 0);

/// Pinned, so that other versions of Maven use the same plugin.
const COPY: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies";

/// Finds the grammars in the cache, or fetches them.
pub fn obtain() -> Result<Tools> {
    if let Err(missing) = tools::check("java", JAVA_MIN, "install a JDK") {
        return Ok(Tools::Missing(missing));
    }
    if tools::said("java", &["--list-modules"]).is_none_or(|modules| !modules.contains("jdk.compiler")) {
        return Ok(Tools::Missing(
            "java has no compiler: install a JDK and not its runtime alone".to_owned(),
        ));
    }
    let pom = workspace::root().join("tests/grammars/pom.xml");
    let packages = fs::read_to_string(&pom).with_context(|| format!("cannot read {}", pom.display()))?;
    let inputs = [RECIPE, COPY, &packages];
    let there = cache::folder(&format!("grammars-{}", cache::digest(&inputs)))?;
    if !there.is_dir() && tools::said("mvn", &["--version"]).is_none() {
        return Ok(Tools::Missing(
            "mvn is not installed, which fetches the grammars: install maven".to_owned(),
        ));
    }
    cache::made("grammars", &inputs, |folder| set_up(folder, &pom)).map(Tools::Ready)
}

fn set_up(folder: &Path, pom: &Path) -> Result<()> {
    let mut maven = Command::new("mvn");
    maven.args(["--batch-mode", "--strict-checksums", "--file"]).arg(pom).arg(COPY);
    maven.arg(format!("-DoutputDirectory={}", folder.join("lib").display()));
    tools::fetch("Maven Central", &mut maven, folder)?;
    tools::forget(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_artifact_is_pinned_and_no_registry_is_named() {
        let pom = workspace::root().join("tests/grammars/pom.xml");
        let packages = fs::read_to_string(pom).expect("readable");
        let artifacts = packages.matches("<dependency>").count();
        assert_eq!(packages.matches("<version>").count(), artifacts + 1, "its own version, and one of each");
        assert!(
            !packages.contains("<repository>") && !packages.contains('[') && !packages.contains("LATEST")
        );
    }
}
