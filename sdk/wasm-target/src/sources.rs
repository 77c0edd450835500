//! The configured package sources of this Debian machine, as data.
//!
//! Only the distribution's own suites are used (`bookworm`, `bookworm-security`, …): third parties' are not
//! needed and may not answer. All addresses come from the machine's configuration.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// One suite at one address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    uri: String,
    suite: String,
    components: String,
    signed_by: Option<String>,
}

impl Source {
    /// Another suite of the same archive.
    pub(crate) fn with_suite(&self, suite: &str) -> Self {
        Self { suite: suite.to_owned(), ..self.clone() }
    }
}

/// The sources of the running release, and the release's codename.
pub(crate) struct Configured {
    pub(crate) codename: String,
    pub(crate) sources: Vec<Source>,
}

impl Configured {
    pub(crate) fn read() -> Result<Self> {
        let release = fs::read_to_string("/etc/os-release").context("this is not a Debian machine")?;
        let codename = codename(&release)?;
        let mut sources = Vec::new();
        let mut add = |path: &Path| {
            let text = fs::read_to_string(path).unwrap_or_default();
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("list") => sources.extend(parse_list(&text)),
                Some("sources") => sources.extend(parse_stanzas(&text)),
                _ => {}
            }
        };
        add(Path::new("/etc/apt/sources.list"));
        for entry in fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten() {
            add(&entry.path());
        }
        sources.retain(|source| is_of_release(&source.suite, &codename));
        if sources.is_empty() {
            bail!("apt is configured with no source of Debian {codename}");
        }
        Ok(Self { codename, sources })
    }

    /// Another suite of the release's archive.
    pub(crate) fn other_suite(&self, suite: &str) -> Result<Source> {
        let main = self.sources.iter().find(|source| source.suite == self.codename);
        Ok(main.with_context(|| format!("apt has no source of {} itself", self.codename))?.with_suite(suite))
    }
}

/// The text of a `sources.list` with these sources.
pub(crate) fn render(sources: &[Source]) -> String {
    let mut text = String::new();
    for Source { uri, suite, components, signed_by } in sources {
        let options = signed_by.as_ref().map_or(String::new(), |key| format!("[signed-by={key}] "));
        writeln!(text, "deb {options}{uri} {suite} {components}").expect("a String takes all text");
    }
    text
}

fn codename(os_release: &str) -> Result<String> {
    let field = |name: &str| {
        os_release
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
            .map(|value| value.trim_matches('"').to_owned())
    };
    if field("ID").as_deref() != Some("debian") {
        bail!("this machine is not Debian, whose packages would be used");
    }
    field("VERSION_CODENAME").context("/etc/os-release has no VERSION_CODENAME")
}

fn is_of_release(suite: &str, codename: &str) -> bool {
    suite.strip_prefix(codename).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// Lines like `deb [signed-by=/k.gpg arch=amd64] http://mirror/debian bookworm main contrib`.
fn parse_list(text: &str) -> Vec<Source> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Source> {
    let rest = line.split('#').next()?.trim().strip_prefix("deb ")?.trim_start();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => ("", rest),
    };
    let signed_by = options.split_whitespace().find_map(|option| option.strip_prefix("signed-by="));
    let mut words = rest.split_whitespace();
    let (uri, suite) = (words.next()?.to_owned(), words.next()?.to_owned());
    let components = words.collect::<Vec<_>>().join(" ");
    Some(Source { uri, suite, components, signed_by: signed_by.map(str::to_owned) })
}

/// Stanzas of `Types:`, `URIs:`, `Suites:`, `Components:`, `Signed-By:`, separated by empty lines.
fn parse_stanzas(text: &str) -> Vec<Source> {
    let without_comments: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    without_comments.split(|line| line.trim().is_empty()).flat_map(parse_stanza).collect()
}

fn parse_stanza(lines: &[&str]) -> Vec<Source> {
    let field = |name: &str| {
        lines.iter().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    };
    let is_off = field("Enabled").is_some_and(|value| value == "no");
    let has_binaries = field("Types").is_some_and(|types| types.split_whitespace().any(|kind| kind == "deb"));
    if is_off || !has_binaries {
        return Vec::new();
    }
    // A key inside the stanza has an empty first line: then apt's trusted keys must do.
    let signed_by = field("Signed-By").filter(|key| key.starts_with('/')).map(str::to_owned);
    let components = field("Components").unwrap_or_default().to_owned();
    let mut sources = Vec::new();
    for uri in field("URIs").unwrap_or_default().split_whitespace() {
        for suite in field("Suites").unwrap_or_default().split_whitespace() {
            sources.push(Source {
                uri: uri.to_owned(),
                suite: suite.to_owned(),
                components: components.clone(),
                signed_by: signed_by.clone(),
            });
        }
    }
    sources
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stanzas_and_lines_are_read_alike() {
        let stanzas = "Types: deb\n# a comment\nURIs: http://m/debian\nSuites: bookworm bookworm-updates\n\
                       Components: main\nSigned-By: /k.gpg\n\nTypes: deb-src\nURIs: http://m/s\nSuites: bookworm\n";
        let lines = "deb [arch=amd64 signed-by=/k.gpg] http://m/debian bookworm main # note\n\
                     # deb http://m/off bookworm main\ndeb [signed-by=/k.gpg] http://m/debian bookworm-updates main\n\
                     deb-src http://m/s bookworm main\n";
        let read = parse_stanzas(stanzas);
        assert_eq!(read, parse_list(lines));
        assert_eq!(
            render(&read),
            "deb [signed-by=/k.gpg] http://m/debian bookworm main\n\
             deb [signed-by=/k.gpg] http://m/debian bookworm-updates main\n"
        );
    }

    #[test]
    fn a_disabled_stanza_is_left_out() {
        let text = "Enabled: no\nTypes: deb\nURIs: http://m/debian\nSuites: bookworm\nComponents: main\n";
        assert_eq!(parse_stanzas(text), []);
    }

    #[test]
    fn only_suites_of_the_release_are_taken() {
        assert!(is_of_release("bookworm", "bookworm") && is_of_release("bookworm-security", "bookworm"));
        assert!(!is_of_release("cloud-sdk-bookworm", "bookworm") && !is_of_release("trixie", "bookworm"));
    }

    #[test]
    fn another_distribution_is_refused() {
        assert_eq!(codename("ID=debian\nVERSION_CODENAME=trixie\n").expect("Debian"), "trixie");
        codename("ID=fedora\nVERSION_CODENAME=\n").expect_err("not Debian");
    }
}
