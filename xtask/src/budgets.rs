//! `budgets.toml` as data: which steps and suites there are, and how long each may take.

use anyhow::{Context, Result};
use serde::Deserialize;

const TEXT: &str = include_str!("../budgets.toml");

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Budgets {
    /// For all of the tier `test`.
    pub total_seconds: u64,
    #[serde(rename = "step")]
    pub steps: Vec<Step>,
    #[serde(rename = "suite")]
    pub suites: Vec<Suite>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub name: StepName,
    pub tier: Tier,
    pub seconds: u64,
    /// What it does, for a reader of the file.
    pub runs: String,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum StepName {
    Format,
    WasmTarget,
    Components,
    Lint,
    Licences,
    Compile,
    Postgres,
    Documentation,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suite {
    pub name: String,
    pub tier: Tier,
    pub seconds: u64,
    /// Empty: every package that no other suite names.
    pub packages: Vec<String>,
    pub store: Option<Store>,
}

/// How often a suite is worth its time.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// Every change.
    Test,
    /// Against real schedulers.
    Engines,
    /// Too long for every change.
    Slow,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Store {
    Sqlite,
    Postgres,
}

impl Store {
    /// As the tests' environment names it.
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

    pub fn seconds(&self, name: StepName) -> u64 {
        let step = self.steps.iter().find(|step| step.name == name);
        step.map_or(0, |step| step.seconds)
    }

    pub fn suites_of(&self, tier: Tier) -> impl Iterator<Item = &Suite> {
        self.suites.iter().filter(move |suite| suite.tier == tier)
    }

    /// True if the suite runs the package's tests.
    pub fn covers(&self, suite: &Suite, package: &str) -> bool {
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
        let steps = budgets.steps.iter().filter(|step| step.tier == Tier::Test).map(|step| step.seconds);
        let sum: u64 = steps.chain(budgets.suites_of(Tier::Test).map(|suite| suite.seconds)).sum();
        assert!(sum <= budgets.total_seconds, "{sum} s of {} s", budgets.total_seconds);
        assert!(budgets.steps.iter().all(|step| !step.runs.is_empty()));
    }

    #[test]
    fn every_package_is_in_a_suite() {
        let budgets = Budgets::read().expect("it parses");
        for package in ["xtask", "lakeport", "lakeport-tests"] {
            assert!(budgets.suites.iter().any(|suite| budgets.covers(suite, package)), "{package}");
        }
        assert!(!budgets.covers(&budgets.suites[0], "lakeport-tests"), "it is named by another suite");
    }
}
