//! A backfill that has not ended, as the worker knows it: what runs, what follows, how it ended.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use tokio::time::Instant;

use super::calls::Failure;
use super::made::{self, Made};
use super::progress::{self, Outcome, Row};
use super::store::{Backfill, Begun, Maker, RunEnd, State};
use crate::workflows::forms::FailureStrategy;

/// How often a run is begun that its engine does not take on.
const UNTAKEN_MAX: u32 = 3;

/// Who begins the dates of a backfill.
pub enum By {
    /// Its engine may be asked to.
    Undecided,
    Host,
    Engine(Made),
}

/// A backfill that has not ended.
pub struct Active {
    pub backfill: Arc<Backfill>,
    pub by: By,
    pub is_stopping: bool,
    /// The first date that was not begun.
    pub next: usize,
    /// The dates in progress.
    pub lanes: BTreeMap<usize, Vec<Row>>,
    pub has_failed: bool,
    /// The workflow is not deployed any more.
    pub gives_up: bool,
    pub has_started: bool,
    /// Why the last run that was refused did not start.
    pub failure: Option<Failure>,
    /// What another server had begun, with its keys: whether the engine has it is not known.
    pub resumed: Vec<(usize, usize, String)>,
    /// Keys of runs whose ids in the engine are not known yet.
    pub unnamed: HashSet<String>,
    /// How often runs were begun that the engine did not take on, by date and workflow.
    pub untaken: HashMap<(usize, usize), u32>,
    /// When runs that wait for their turn are begun, by date and workflow.
    pub later: HashMap<(usize, usize), Instant>,
}

impl Active {
    pub fn new(backfill: Backfill, begun: Vec<Begun>) -> Active {
        let by = match (&backfill.maker, &backfill.code) {
            (Maker::Engine(engine), Some(code)) => {
                By::Engine(Made::new(engine.clone(), code.clone(), &begun))
            }
            _ if made::may_be(&backfill, !begun.is_empty()) => By::Undecided,
            _ => By::Host,
        };
        let begun = if matches!(by, By::Host) { begun } else { Vec::new() };
        let mut active = Active {
            by,
            is_stopping: backfill.state == State::Stopping,
            next: begun.iter().map(|one| one.position + 1).max().unwrap_or(0),
            has_failed: begun.iter().any(|one| one.state == "failed"),
            gives_up: false,
            has_started: backfill.code.is_some(),
            lanes: BTreeMap::new(),
            failure: None,
            resumed: Vec::new(),
            unnamed: HashSet::new(),
            untaken: HashMap::new(),
            later: HashMap::new(),
            backfill: Arc::new(backfill),
        };
        let workflows = active.backfill.steps.len();
        let known: HashSet<usize> = begun.iter().map(|one| one.position).collect();
        for one in begun {
            let rows = active.lanes.entry(one.position).or_insert_with(|| vec![Row::Waiting; workflows]);
            if let Some(row) = rows.get_mut(one.place) {
                *row = match one.state.as_str() {
                    "success" => Row::Success,
                    "failed" => Row::Failed,
                    "cancelled" => Row::Cancelled,
                    _ => {
                        active.resumed.push((one.position, one.place, one.key));
                        Row::Starting
                    }
                };
            }
        }
        // Of dates that begin together a later one may have been noted first.
        for position in 0..active.next {
            if !known.contains(&position) {
                active.lanes.insert(position, vec![Row::Waiting; workflows]);
            }
        }
        active.plan();
        active
    }

    /// Skips what will not run, ends dates, and begins others.
    pub fn plan(&mut self) {
        if !matches!(self.by, By::Host) {
            return;
        }
        let backfill = Arc::clone(&self.backfill);
        let (steps, strategy, is_stopping) = (&backfill.steps, backfill.strategy, self.is_stopping);
        let mut has_failed = self.has_failed;
        self.lanes.retain(|_, rows| {
            progress::skip(rows, steps, strategy, is_stopping);
            let outcome = progress::outcome(rows);
            has_failed |= outcome == Some(Outcome::Failed);
            outcome.is_none()
        });
        self.has_failed = has_failed;
        if !self.may_begin() {
            self.lanes.retain(|_, rows| rows.iter().any(|row| *row != Row::Waiting));
        }
        while self.begins_more() && self.lanes.len() < self.backfill.parallelism {
            self.lanes.insert(self.next, vec![Row::Waiting; steps.len()]);
            self.next += 1;
        }
    }

    /// Whether a date may still begin.
    pub fn may_begin(&self) -> bool {
        let ends = self.has_failed && self.backfill.strategy == FailureStrategy::End;
        !self.is_stopping && !self.gives_up && !ends
    }

    /// Whether further dates begin.
    pub fn begins_more(&self) -> bool {
        self.may_begin() && self.next < self.backfill.dates.len()
    }

    pub fn keys(&self) -> Vec<&str> {
        self.running().map(|(_, key)| key).collect()
    }

    /// The runs that are followed, by date and workflow.
    pub fn running(&self) -> impl Iterator<Item = ((usize, usize), &str)> {
        let rows = self.lanes.iter().flat_map(|(&position, rows)| {
            rows.iter().enumerate().map(move |(place, row)| ((position, place), row))
        });
        rows.filter_map(|(at, row)| Some((at, row.key()?)))
    }

    /// Whether a run that its engine did not take on is begun once more.
    pub fn begins_again(&self, at: (usize, usize)) -> bool {
        self.untaken.get(&at).copied().unwrap_or_default() + 1 < UNTAKEN_MAX
    }

    /// Notes ends, and ids in the engine.
    pub fn take_in(&mut self, news: &HashMap<&str, &RunEnd>) {
        let is_stopping = self.is_stopping;
        for (&position, rows) in &mut self.lanes {
            for (place, row) in rows.iter_mut().enumerate() {
                let Some(end) = row.key().and_then(|key| news.get(key)) else { continue };
                self.unnamed.remove(&end.key);
                if !end.has_ended {
                    self.has_started = true;
                } else if end.instance_id.is_some() {
                    *row = row_of(&end.state, is_stopping);
                    self.has_failed |= *row == Row::Failed;
                } else {
                    let tries = self.untaken.entry((position, place)).or_default();
                    *tries += 1;
                    *row = if *tries < UNTAKEN_MAX { Row::Waiting } else { Row::Failed };
                    self.has_failed |= *row == Row::Failed;
                    let message = end.message.clone().unwrap_or_default();
                    self.failure = Some(Failure { code: "engine_unreachable", message });
                }
            }
        }
    }

    /// The row of a date in progress.
    pub fn row(&mut self, position: usize, place: usize) -> Option<&mut Row> {
        self.lanes.get_mut(&position)?.get_mut(place)
    }

    /// How it ended, if it has.
    pub fn ended(&self) -> Option<State> {
        if !matches!(self.by, By::Host) {
            return None;
        }
        if !self.lanes.is_empty() || self.begins_more() {
            return None;
        }
        Some(match (self.is_stopping, self.has_failed) {
            (true, _) => State::Cancelled,
            (false, true) => State::Failed,
            (false, false) => State::Success,
        })
    }
}

/// A run that was stopped by hand has failed.
pub fn row_of(state: &str, is_stopping: bool) -> Row {
    match state {
        "success" => Row::Success,
        "stopped" if is_stopping => Row::Cancelled,
        _ => Row::Failed,
    }
}
