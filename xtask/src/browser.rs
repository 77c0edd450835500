//! The tools of the suite `browser`: Debian's Chromium, Node, and Playwright at the version in `tests/browser`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use lakeport_wasm_target::{cache, debian::Debian};

use crate::console::Node;
use crate::databases::Unpacked;
use crate::tools::{self, Tools, fetch, said};
use crate::{terminal, workspace};

/// Tells the suite the folder of the tools: the programs `chromium` and `node`, and `node_modules`.
pub const VARIABLE: &str = "LAKEPORT_BROWSER_TOOLS";

/// Increased when the set-up changes.
const RECIPE: &str = "4";

/// `download` unpacks Debian's packages even if Chromium is installed.
const CHOICE_VARIABLE: &str = "LAKEPORT_CHROMIUM";

/// The browser, and fonts: without any, a page has no text to lay out. The last one has the Chinese characters.
const PACKAGES: [&str; 4] = ["chromium", "chromium-common", "fonts-dejavu-core", "fonts-wqy-microhei"];

/// Only the unpacked fonts, and which of them stands for a kind of fonts.
const FONTS: &str = r#"<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir prefix="relative">tree/usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
  <alias><family>sans-serif</family><prefer><family>DejaVu Sans</family></prefer></alias>
  <alias><family>serif</family><prefer><family>DejaVu Serif</family></prefer></alias>
  <alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
"#;

/// The program in Debian's package; `usr/bin/chromium` is a script around it.
const PROGRAM: &str = "usr/lib/chromium/chromium";

/// Finds the tools in the cache, or fetches them.
pub fn obtain() -> Result<Tools> {
    let Some(node) = Node::obtain()? else {
        return Ok(Tools::Missing("Node with npm is needed".to_owned()));
    };
    let sources = workspace::root().join("tests/browser");
    let lock =
        fs::read_to_string(sources.join("package-lock.json")).context("tests/browser/package-lock.json")?;
    let chromium = chromium()?;
    let inputs = [RECIPE, node.version(), &lock, &chromium.to_string_lossy()];
    let folder = cache::made("browser", &inputs, |folder| {
        for name in ["package.json", "package-lock.json"] {
            fs::copy(sources.join(name), folder.join(name))?;
        }
        let mut npm = node.command("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(folder);
        fetch("npm", &mut npm, folder)?;
        std::os::unix::fs::symlink(&chromium, folder.join("chromium"))?;
        std::os::unix::fs::symlink(node.program()?, folder.join("node"))?;
        tools::forget(folder)
    })?;
    Ok(Tools::Ready(folder))
}

/// The machine's Chromium, or one unpacked into the cache.
fn chromium() -> Result<PathBuf> {
    let installed = Path::new("/").join(PROGRAM);
    let is_forced = std::env::var_os(CHOICE_VARIABLE).is_some_and(|choice| choice == "download");
    if !is_forced && installed.is_file() && said(&installed.to_string_lossy(), &["--version"]).is_some() {
        return Ok(installed);
    }
    let release = fs::read_to_string("/etc/os-release")
        .context("Chromium is not installed, and only Debian's packages could be unpacked")?;
    cache::made("chromium", &[RECIPE, &release], unpack).map(|folder| folder.join("chromium"))
}

/// Debian's packages, and a script that starts the browser with their libraries and fonts.
fn unpack(folder: &Path) -> Result<()> {
    let what_for = "chromium";
    let apt = folder.join("apt");
    let debian = Debian::open(&apt, what_for, &terminal::say)?;
    let mut packages = PACKAGES.map(str::to_owned).to_vec();
    for library in debian.missing_libraries("chromium")? {
        if !packages.contains(&library) {
            packages.push(library);
        }
    }
    let tree = folder.join("tree");
    debian.unpack(&packages, &tree, what_for, &terminal::say)?;
    fs::remove_dir_all(&apt)?;
    fs::remove_dir_all(tree.join("usr/share/doc")).ok();
    let unpacked = Unpacked::at(&tree);
    unpacked.check_libraries(&[Path::new(PROGRAM)])?;
    let mut libraries = Vec::new();
    for path in unpacked.library_folders() {
        let path = path.strip_prefix(folder).context("they lie in the folder")?;
        libraries.push(format!("$here/{}", path.display()));
    }
    fs::write(folder.join("fonts.conf"), FONTS)?;
    let script = folder.join("chromium");
    fs::write(
        &script,
        format!(
            "#!/bin/sh\nhere=$(dirname \"$(readlink -f \"$0\")\")\nexport LD_LIBRARY_PATH=\"{}\" \
             FONTCONFIG_FILE=\"$here/fonts.conf\"\nexec \"$here/tree/{PROGRAM}\" \"$@\"\n",
            libraries.join(":")
        ),
    )?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).context("the script is a program")
}
