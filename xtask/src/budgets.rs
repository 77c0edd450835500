//! `budgets.toml` as data: the steps and suites, and their time budgets.

use anyhow::{Context, Result};
use serde::Deserialize;

const TEXT: &str = include_str!("../budgets.toml");

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Budgets {
    /// For the complete tier `test`.
    total_seconds: u64,
    /// The additional time of the tier `engines`.
    engines_seconds: u64,
    /// For the complete tier `slow`.
    slow_seconds: u64,
    /// The additional time of the tier `browser`.
    browser_seconds: u64,
    #[serde(rename = "step")]
    pub steps: Vec<Step>,
    #[serde(rename = "suite")]
    pub suites: Vec<Suite>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub name: StepName,
    /// The tiers that include it.
    pub tiers: Vec<Tier>,
    pub seconds: u64,
    /// Its description, printed when it begins.
    pub runs: String,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum StepName {
    Format,
    WasmTarget,
    Components,
    Console,
    Lint,
    Licences,
    Compile,
    Postgres,
    Mariadb,
    ClientTools,
    Browser,
    Grammars,
    Dolphinscheduler,
    Routes,
    UnitFile,
    Documentation,
}

impl StepName {
    /// The name in the report.
    pub fn shown(self) -> &'static str {
        match self {
            Self::Format => "format",
            Self::WasmTarget => "wasm target",
            Self::Components => "components",
            Self::Console => "console",
            Self::Lint => "lint",
            Self::Licences => "licences",
            Self::Compile => "compile",
            Self::Postgres => "postgres",
            Self::Mariadb => "mariadb",
            Self::ClientTools => "client tools",
            Self::Browser => "browser",
            Self::Grammars => "grammars",
            Self::Dolphinscheduler => "dolphinscheduler",
            Self::Routes => "routes",
            Self::UnitFile => "unit file",
            Self::Documentation => "documentation",
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    pub name: String,
    pub tier: Tier,
    pub seconds: u64,
    /// Empty: every package that no other suite names.
    pub packages: Vec<String>,
    /// Only these test programs of the packages; empty: all.
    #[serde(default)]
    pub programs: Vec<String>,
    /// How many programs run at once; `None`: one.
    #[serde(rename = "programs-at-once")]
    pub programs_at_once: Option<u32>,
    /// How many tests of a program run at once; `None`: as many as there are cores.
    pub threads: Option<u32>,
    /// `None`: the tests run on all their stores.
    pub store: Option<Store>,
    /// Tests whose names have one of these in them do not run.
    #[serde(default)]
    pub skip: Vec<String>,
    /// True if the tests run third-party programs, set up by [`crate::clients`].
    #[serde(default, rename = "client-tools")]
    pub client_tools: bool,
    /// True if the tests drive a browser, set up by [`crate::browser`].
    #[serde(default)]
    pub browser: bool,
    /// True if the tests use the databases' own grammars, set up by [`crate::grammars`].
    #[serde(default)]
    pub grammars: bool,
    /// True if the tests use a running [`crate::engines::dolphinscheduler`].
    #[serde(default)]
    pub dolphinscheduler: bool,
}

/// How often a suite runs.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// For every change.
    Test,
    /// With third-party programs: generated clients, a fuzzer, the grammars of databases, a workflow engine.
    Engines,
    /// Too long for every change.
    Slow,
    /// The console in a browser.
    Browser,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Store {
    Sqlite,
    Postgres,
}

impl Tier {
    /// The value of `LAKEPORT_TEST_TIER`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Engines => "engines",
            Self::Slow => "slow",
            Self::Browser => "browser",
        }
    }
}

impl Store {
    /// The value of `LAKEPORT_TEST_STORE`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}

impl Budgets {
    pub fn read() -> Result<Self> {
        toml::from_str(TEXT).context("xtask/budgets.toml")
    }

    pub fn step(&self, name: StepName) -> &Step {
        self.steps.iter().find(|step| step.name == name).expect("a test sees that every step has a budget")
    }

    pub fn suites_of(&self, tiers: &[Tier]) -> impl Iterator<Item = &Suite> {
        self.suites.iter().filter(move |suite| tiers.contains(&suite.tier))
    }

    /// The budget of these tiers.
    pub fn seconds_of(&self, tiers: &[Tier]) -> u64 {
        if tiers == [Tier::Browser] {
            return self.sum(tiers);
        }
        let seconds = |tier: &Tier| match tier {
            Tier::Test => self.total_seconds,
            Tier::Engines => self.engines_seconds,
            Tier::Slow => self.slow_seconds,
            Tier::Browser => self.browser_seconds,
        };
        tiers.iter().map(seconds).sum()
    }

    /// The budgets of all parts of these tiers together.
    fn sum(&self, tiers: &[Tier]) -> u64 {
        let needed = |step: &&Step| step.tiers.iter().any(|tier| tiers.contains(tier));
        let steps = self.steps.iter().filter(needed).map(|step| step.seconds);
        steps.chain(self.suites_of(tiers).map(|suite| suite.seconds)).sum()
    }

    /// True if the suite runs this program of the package.
    pub fn runs(&self, suite: &Suite, package: &str, program: &str) -> bool {
        let is_chosen = suite.programs.is_empty() || suite.programs.iter().any(|name| name == program);
        is_chosen && self.covers(suite, package)
    }

    /// True if the suite runs the package's tests.
    fn covers(&self, suite: &Suite, package: &str) -> bool {
        let named = |suite: &Suite| suite.packages.iter().any(|name| name == package);
        if suite.packages.is_empty() { !self.suites.iter().any(named) } else { named(suite) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_fit_into_the_total() {
        let budgets = Budgets::read().expect("it parses");
        let with_engines = [Tier::Test, Tier::Engines, Tier::Browser];
        for tiers in [&[Tier::Test][..], &[Tier::Test, Tier::Engines], &with_engines, &[Tier::Slow]] {
            let (sum, total) = (budgets.sum(tiers), budgets.seconds_of(tiers));
            assert!(sum <= total, "{tiers:?}: {sum} s of {total} s");
        }
    }

    #[test]
    fn every_step_has_a_budget() {
        use StepName::*;
        let budgets = Budgets::read().expect("it parses");
        for name in [
            Format,
            WasmTarget,
            Components,
            Lint,
            Licences,
            Compile,
            Postgres,
            Mariadb,
            ClientTools,
            Grammars,
            Dolphinscheduler,
            Routes,
            UnitFile,
            Documentation,
        ] {
            assert_eq!(budgets.steps.iter().filter(|step| step.name == name).count(), 1, "{name:?}");
        }
    }

    #[test]
    fn every_package_is_in_a_suite() {
        let budgets = Budgets::read().expect("it parses");
        for package in [
            "xtask",
            "lakeport",
            "lakeport-tests",
            "lakeport-clients",
            "lakeport-grammars",
            "lakeport-engine-tests",
        ] {
            assert!(budgets.suites.iter().any(|suite| budgets.covers(suite, package)), "{package}");
        }
        assert!(!budgets.covers(&budgets.suites[0], "lakeport-tests"), "it is named by another suite");
    }
}
