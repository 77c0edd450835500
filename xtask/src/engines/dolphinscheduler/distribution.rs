//! Its files: the class path and the configuration, from Maven into the cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use lakeport_wasm_target::cache;

use crate::tools::{self, Tools};
use crate::workspace;

/// Increased when the set-up changes.
const RECIPE: &str = "1";

const JAVA_MIN: (u32, u32) = (11, 0);

const VERSION: &str = "3.1.1";

/// Parents of published artifacts that are not published themselves.
const STAND_INS: [&str; 2] = ["dolphinscheduler-registry-plugins", "dolphinscheduler-scheduler-plugin"];

/// Finds the distribution in the cache, or fetches it.
pub fn obtain() -> Result<Tools> {
    if let Err(missing) = tools::check("java", JAVA_MIN, "install a JDK") {
        return Ok(Tools::Missing(missing));
    }
    let pom = fs::read_to_string(source("pom"))?;
    let [registry, scheduler] = STAND_INS.map(|name| fs::read_to_string(source(name)));
    let inputs = [RECIPE, &pom, &registry?, &scheduler?];
    let there = cache::folder(&format!("dolphinscheduler-{}", cache::digest(&inputs)))?;
    if !there.is_dir() && tools::said("mvn", &["--version"]).is_none() {
        return Ok(Tools::Missing(
            "mvn is not installed, which fetches DolphinScheduler: install maven".to_owned(),
        ));
    }
    cache::made("dolphinscheduler", &inputs, fetch).map(Tools::Ready)
}

/// A pom of the project.
fn source(name: &str) -> PathBuf {
    workspace::root().join("tests/engines/dolphinscheduler").join(if name == "pom" {
        "pom.xml".to_owned()
    } else {
        format!("{name}.pom")
    })
}

fn fetch(folder: &Path) -> Result<()> {
    // A repository of its own, so that the stand-ins do not reach the user's.
    let repository = folder.join("repository");
    for name in STAND_INS {
        let there = repository.join("org/apache/dolphinscheduler").join(name).join(VERSION);
        fs::create_dir_all(&there)?;
        fs::copy(source(name), there.join(format!("{name}-{VERSION}.pom")))?;
    }
    let mut maven = Command::new("mvn");
    maven.args(["--batch-mode", "--strict-checksums", "--no-transfer-progress", "--file"]);
    maven.arg(source("pom")).arg(format!("-Dmaven.repo.local={}", repository.display()));
    maven.arg(format!("-Dmade={}", folder.display())).arg("initialize");
    tools::fetch("Maven Central", &mut maven, folder)?;
    fs::remove_dir_all(&repository)?;
    fs::remove_dir_all(folder.join("markers"))?;
    tools::forget(folder)
}

/// The configuration of a server that runs in `folder`.
pub fn conf(folder: &Path) -> PathBuf {
    folder.join("conf")
}

/// Writes the files of a server that differ from the distribution's, and makes its folders.
pub fn configure(distribution: &Path, folder: &Path) -> Result<()> {
    let conf = conf(folder);
    for made in [&conf, &folder.join("tmp")] {
        fs::create_dir(made)?;
    }
    let common = fs::read_to_string(distribution.join("conf/common.properties"))
        .context("the distribution is not complete")?;
    fs::write(conf.join("common.properties"), adapted(&common, folder)?)?;
    // Every task of a shell reads it.
    Ok(fs::write(conf.join("dolphinscheduler_env.sh"), "")?)
}

/// All files go into the folder, and tasks run as the server's own user.
fn adapted(common: &str, folder: &Path) -> Result<String> {
    let path = |name: &str| folder.join(name).display().to_string();
    let changes = [
        ("data.basedir.path", path("data")),
        ("resource.storage.upload.base.path", path("resources")),
        ("sudo.enable", "false".to_owned()),
    ];
    let mut changed = 0;
    let mut text = String::new();
    for line in common.lines() {
        let name = line.split('=').next().unwrap_or_default();
        let change = changes.iter().find(|(changing, _)| *changing == name);
        changed += usize::from(change.is_some());
        text += &change.map_or_else(|| line.to_owned(), |(_, value)| format!("{name}={value}"));
        text.push('\n');
    }
    ensure!(changed == changes.len(), "common.properties has {changed} of {} settings", changes.len());
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_is_pinned_and_no_registry_is_named() {
        let pom = fs::read_to_string(source("pom")).expect("readable");
        assert_eq!(pom.matches(VERSION).count(), 1, "the property");
        let artifacts = ["<dependency>", "<plugin>", "<artifactItem>"];
        let artifacts: usize = artifacts.iter().map(|tag| pom.matches(tag).count()).sum();
        assert_eq!(pom.matches("<version>").count(), artifacts + 1, "its own version, and one of each");
        for name in STAND_INS {
            let stand_in = fs::read_to_string(source(name)).expect("readable");
            assert_eq!(stand_in.matches(VERSION).count(), stand_in.matches("<version>").count(), "{name}");
            assert!(!stand_in.contains("<repository>"), "{name}");
        }
        assert!(!pom.contains("<repository>") && !pom.contains('[') && !pom.contains("LATEST"));
    }

    #[test]
    fn settings_are_replaced_or_missed() {
        let common = "# a=b\ndata.basedir.path=/tmp/d\nother=1\nsudo.enable=true\n";
        adapted(common, Path::new("/run")).expect_err("one is missing");
        let whole = format!("{common}resource.storage.upload.base.path=/d\n");
        let expected = "# a=b\ndata.basedir.path=/run/data\nother=1\nsudo.enable=false\n\
            resource.storage.upload.base.path=/run/resources\n";
        assert_eq!(adapted(&whole, Path::new("/run")).expect("all are there"), expected);
    }
}
