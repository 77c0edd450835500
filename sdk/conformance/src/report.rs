//! What was found, for a person.

use std::collections::BTreeSet;
use std::fmt;

/// Findings of one area that are shown. Where one rule is broken everywhere, the first places say it.
const SHOWN_MAX: usize = 20;

/// What was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Area {
    /// The description is complete, and what it promises is what is planned.
    Contract,
    /// The same question has the same answer.
    Determinism,
    /// Hostile texts stay in their quotes, or are refused.
    Quoting,
    /// What is as large as may be.
    Limits,
    /// What cannot be done is said, and is no failure.
    Errors,
}

impl Area {
    /// All, in the order of the report.
    pub const ALL: [Area; 5] = [Area::Contract, Area::Determinism, Area::Quoting, Area::Limits, Area::Errors];

    fn name(self) -> &'static str {
        match self {
            Area::Contract => "contract",
            Area::Determinism => "determinism",
            Area::Quoting => "quoting",
            Area::Limits => "limits",
            Area::Errors => "errors",
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Which part of the contract.
    pub area: Area,
    /// Where: the function, the change, the member.
    pub place: String,
    /// What happened.
    pub what: String,
    /// Why that is wrong.
    pub why: &'static str,
}

/// What came of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The plugin, its version, and where it came from.
    pub subject: String,
    cases: [usize; Area::ALL.len()],
    findings: BTreeSet<Finding>,
}

impl Report {
    pub(crate) fn new(subject: String) -> Report {
        Report { subject, ..Report::default() }
    }

    /// Counts a case.
    pub(crate) fn case(&mut self, area: Area) {
        self.cases[area as usize] += 1;
    }

    pub(crate) fn add(&mut self, area: Area, place: &str, what: impl Into<String>, why: &'static str) {
        self.findings.insert(Finding { area, place: place.to_owned(), what: what.into(), why });
    }

    /// Counts a case, and adds what is wrong with it where it does not hold.
    pub(crate) fn expect(&mut self, area: Area, holds: bool, place: &str, what: &str, why: &'static str) {
        self.case(area);
        if !holds {
            self.add(area, place, what, why);
        }
    }

    /// What is wrong, by area.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter()
    }

    /// Whether nothing is.
    pub fn passed(&self) -> bool {
        self.findings.is_empty()
    }

    /// How many cases were played.
    pub fn cases(&self) -> usize {
        self.cases.iter().sum()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} cases, {} findings", self.subject, self.cases(), self.findings.len())?;
        for area in Area::ALL {
            let found: Vec<&Finding> = self.findings.iter().filter(|finding| finding.area == area).collect();
            let outcome =
                if found.is_empty() { "holds".to_owned() } else { format!("{} findings", found.len()) };
            writeln!(f, "\n{:<12} {:>6} cases   {outcome}", area.name(), self.cases[area as usize])?;
            for finding in found.iter().take(SHOWN_MAX) {
                writeln!(f, "  {}\n    {}\n    {}", finding.place, finding.what, finding.why)?;
            }
            if found.len() > SHOWN_MAX {
                writeln!(f, "  … and {} more", found.len() - SHOWN_MAX)?;
            }
        }
        Ok(())
    }
}
