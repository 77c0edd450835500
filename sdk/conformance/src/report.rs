//! The findings, for people.

use std::collections::BTreeSet;
use std::fmt;

/// Findings shown per area. If one rule is broken everywhere, the first places suffice.
const SHOWN_MAX: usize = 20;

/// An area of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Area {
    /// The description is complete, and plans match it.
    Contract,
    /// Equal questions have equal answers.
    Determinism,
    /// Hostile texts stay in their quotes, or are refused.
    Quoting,
    /// The largest inputs work.
    Limits,
    /// Impossible requests give errors, not failures.
    Errors,
    /// Workflows and runs go from state to state as the host drives them.
    Lifecycle,
    /// A call sends few upstream requests.
    Chattiness,
}

impl Area {
    /// All, in the order of the report.
    pub const ALL: [Area; 7] = [
        Area::Contract,
        Area::Determinism,
        Area::Quoting,
        Area::Limits,
        Area::Errors,
        Area::Lifecycle,
        Area::Chattiness,
    ];

    fn name(self) -> &'static str {
        match self {
            Area::Contract => "contract",
            Area::Determinism => "determinism",
            Area::Quoting => "quoting",
            Area::Limits => "limits",
            Area::Errors => "errors",
            Area::Lifecycle => "lifecycle",
            Area::Chattiness => "chattiness",
        }
    }
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The area.
    pub area: Area,
    /// The place: the function, the change, the member.
    pub place: String,
    /// What happened.
    pub what: String,
    /// Why it is wrong.
    pub why: &'static str,
}

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The plugin, its version, and its file.
    pub subject: String,
    cases: [usize; Area::ALL.len()],
    findings: BTreeSet<Finding>,
    notes: Vec<String>,
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

    /// Adds a line for the reader: what was not checked, what a call costs.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Counts a case, and adds a finding unless it holds.
    pub(crate) fn expect(&mut self, area: Area, holds: bool, place: &str, what: &str, why: &'static str) {
        self.case(area);
        if !holds {
            self.add(area, place, what, why);
        }
    }

    /// All findings, by area.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter()
    }

    /// The notes, in order.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Whether there are no findings.
    pub fn passed(&self) -> bool {
        self.findings.is_empty()
    }

    /// The number of cases.
    pub fn cases(&self) -> usize {
        self.cases.iter().sum()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} cases, {} findings", self.subject, self.cases(), self.findings.len())?;
        for area in Area::ALL {
            let found: Vec<&Finding> = self.findings.iter().filter(|finding| finding.area == area).collect();
            // Each family has areas of its own.
            if self.cases[area as usize] == 0 && found.is_empty() {
                continue;
            }
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
        if !self.notes.is_empty() {
            writeln!(f, "\nnotes")?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "  {note}"))
    }
}
