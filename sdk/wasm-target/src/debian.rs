//! Debian packages, fetched and unpacked into a folder: no root, nothing installed.
//!
//! apt gets its own lists, state and cache in a folder of ours, so that it neither needs nor changes the
//! machine's. It still checks the archive's signature and each package's digest.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

use crate::sources::{Configured, Source};
use crate::{Report, process, sources};

/// The most tries before a registry counts as failed.
const TRIES: u32 = 3;

/// The wait before the second try; it doubles.
const RETRY_PAUSE: Duration = Duration::from_secs(2);

/// How long apt waits for an answer, in seconds.
const ANSWER_WAIT_S: u32 = 30;

/// A separate apt, with fresh package lists.
pub struct Debian {
    folder: PathBuf,
    configured: Configured,
}

impl Debian {
    /// Reads the package lists of the machine's release into `folder`.
    pub fn open(folder: &Path, what_for: &str, report: &Report) -> Result<Self> {
        let configured = Configured::read()?;
        let suites = configured.sources.clone();
        Self::open_with(folder, configured, &suites, what_for, report)
    }

    /// An apt that knows only another suite (such as `bookworm-backports`) of the same archive.
    pub(crate) fn open_suite(folder: &Path, suite: &str, what_for: &str, report: &Report) -> Result<Self> {
        let configured = Configured::read()?;
        let suites = [configured.other_suite(suite)?];
        Self::open_with(folder, configured, &suites, what_for, report)
    }

    fn open_with(
        folder: &Path,
        configured: Configured,
        suites: &[Source],
        what_for: &str,
        report: &Report,
    ) -> Result<Self> {
        for part in ["lists/partial", "cache/archives/partial", "state", "debs"] {
            fs::create_dir_all(folder.join(part))?;
        }
        fs::write(folder.join("sources.list"), sources::render(suites))?;
        let debian = Self { folder: folder.to_owned(), configured };
        report(&format!("{what_for}: reading Debian's package lists"));
        debian.retried("its package lists", || debian.apt("apt-get", &["update"]))?;
        Ok(debian)
    }

    pub(crate) fn codename(&self) -> &str {
        &self.configured.codename
    }

    /// The version that would be downloaded, without packaging suffixes: `1.96.0`.
    pub(crate) fn version(&self, package: &str) -> Result<String> {
        let text = self.apt("apt-cache", &["show", "--no-all-versions", package])?;
        let version = text.lines().find_map(|line| line.strip_prefix("Version: "));
        let version = version.with_context(|| format!("Debian has no package {package}"))?;
        let after_epoch = version.split_once(':').map_or(version, |(_, rest)| rest);
        Ok(after_epoch.split(['+', '-', '~']).next().unwrap_or(after_epoch).to_owned())
    }

    /// The direct dependencies of `package`, without alternatives.
    pub fn dependencies(&self, package: &str) -> Result<Vec<String>> {
        let text = self.apt("apt-cache", &["depends", "--important", package])?;
        let names = text.lines().filter_map(|line| line.trim_start().strip_prefix("Depends: "));
        Ok(names.map(str::to_owned).collect())
    }

    /// The packages of shared libraries that `package` needs and this machine lacks.
    pub fn missing_libraries(&self, package: &str) -> Result<Vec<String>> {
        let plan = self.apt("apt-get", &["--simulate", "--no-install-recommends", "install", package])?;
        let names = plan.lines().filter_map(|line| line.strip_prefix("Inst ")?.split_whitespace().next());
        let is_library = |name: &&str| {
            let is_other = name.ends_with("-perl") || name.ends_with("-dev") || *name == package;
            name.starts_with("lib") && !is_other
        };
        Ok(names.filter(is_library).map(str::to_owned).collect())
    }

    /// Downloads the packages and unpacks them below `root`.
    pub fn unpack(&self, packages: &[String], root: &Path, what_for: &str, report: &Report) -> Result<()> {
        fs::create_dir_all(root)?;
        for (index, package) in packages.iter().enumerate() {
            let (number, count) = (index + 1, packages.len());
            report(&format!("{what_for}: downloading {package} from Debian ({number} of {count})"));
            self.retried(package, || self.apt("apt-get", &["download", package]))?;
            let archive = self.only_archive().with_context(|| format!("apt downloaded no {package}"))?;
            process::output(Command::new("dpkg").arg("-x").arg(&archive).arg(root))?;
            fs::remove_file(archive)?;
        }
        Ok(())
    }

    fn only_archive(&self) -> Result<PathBuf> {
        let entry = fs::read_dir(self.folder.join("debs"))?.next().context("no archive")?;
        Ok(entry?.path())
    }

    fn apt(&self, tool: &str, arguments: &[&str]) -> Result<String> {
        let folder = self.folder.display();
        let mut command = Command::new(tool);
        command.current_dir(self.folder.join("debs")).env("LC_ALL", "C");
        for option in [
            format!("Dir::Etc::sourcelist={folder}/sources.list"),
            "Dir::Etc::sourceparts=/dev/null".to_owned(),
            format!("Dir::State={folder}/state"),
            format!("Dir::State::lists={folder}/lists"),
            "Dir::State::status=/var/lib/dpkg/status".to_owned(),
            format!("Dir::Cache={folder}/cache"),
            "Acquire::Languages=none".to_owned(),
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".to_owned(),
            format!("Acquire::http::Timeout={ANSWER_WAIT_S}"),
            "APT::Sandbox::User=root".to_owned(),
            // A list that could not be fetched is a failure, not a warning.
            "APT::Update::Error-Mode=any".to_owned(),
        ] {
            command.arg("-o").arg(option);
        }
        process::output(command.arg("-q").args(arguments))
    }

    fn retried(&self, what: &str, work: impl Fn() -> Result<String>) -> Result<()> {
        let mut pause = RETRY_PAUSE;
        for _ in 1..TRIES {
            if work().is_ok() {
                return Ok(());
            }
            thread::sleep(pause);
            pause *= 2;
        }
        let failed = |error| anyhow!("Debian's package registry did not give {what}: {error:#}");
        work().map(drop).map_err(failed)
    }
}
