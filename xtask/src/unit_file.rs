//! Checks the example's systemd unit file with systemd itself, if it is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace;

/// The binary's path in the file.
const INSTALLED: &str = "/usr/local/bin/lakeport";

fn path() -> PathBuf {
    workspace::root().join("examples/systemd/lakeport.service")
}

/// True if systemd's checker is installed.
pub fn can_be_checked() -> bool {
    Command::new("systemd-analyze").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Fails with systemd's messages about the file; `binary` replaces the installed one.
pub fn check(binary: &Path) -> Result<()> {
    let text = fs::read_to_string(path()).with_context(|| format!("cannot read {}", path().display()))?;
    verify(&text.replace(INSTALLED, &binary.to_string_lossy()))
}

/// systemd ignores unknown lines with a warning: here that counts as an error.
fn verify(text: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("lakeport.service");
    fs::write(&file, text)?;
    let output = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&file).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() && said.trim().is_empty() {
        return Ok(());
    }
    bail!("{} is wrong: {}", path().display(), said.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_allows_plugin_cache_and_drain() {
        let text = fs::read_to_string(path()).expect("readable");
        let setting = |name: &str| {
            let prefix = format!("{name}=");
            text.lines().find_map(|line| line.strip_prefix(&prefix).map(str::to_owned))
        };
        assert_eq!(setting("MemoryDenyWriteExecute"), None, "plugins are compiled to machine code");
        assert_eq!(setting("TimeoutStopSec").as_deref(), Some("40"), "requests have 30 s to end");
        assert_eq!(setting("NoNewPrivileges").as_deref(), Some("yes"));
        assert!(setting("ExecStart").is_some_and(|line| line.starts_with(INSTALLED)));
    }

    #[test]
    fn a_line_that_systemd_does_not_know_is_wrong() {
        if !can_be_checked() {
            eprintln!("NOT TESTED: systemd-analyze is not installed");
            return;
        }
        let text = "[Service]\nExecStart=/bin/sh\nNoNewPrivilege=yes\n";
        let error = verify(text).expect_err("the name is mistyped").to_string();
        assert!(error.contains("NoNewPrivilege"), "{error}");
        verify("[Service]\nExecStart=/bin/sh\nNoNewPrivileges=yes\n").expect("it is well-formed");
    }
}
