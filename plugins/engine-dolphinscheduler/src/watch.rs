//! Watching the runs of a project. One list stands for all of its workflows: the runs that were begun since
//! the latest one that is known, with an overlap for those whose begin was written late. Open runs that the
//! list does not show are asked for one by one, and of many of them first by the list of running ones. That list is
//! also read now and then by itself: a run that somebody begins again keeps the time of its first begin.
//!
//! The cursor has three numbers: since when this list is read, how many of its rows are read, and the latest
//! begin of a run so far, from which the next list is read.

use std::collections::{BTreeMap, BTreeSet};

use lakeport_sdk::engine::{Error, Instance, OpenRun, WatchPage, WatchRequest, Watched, call, memo};
use lakeport_sdk::serde_json::Value;

use crate::api::{Api, PAGE_ROWS, PARTS_MAX};
use crate::instance::{self, Given, is_final};
use crate::timeouts;
use crate::times;

/// How far before the latest begin a list is read again.
const OVERLAP_MS: i64 = 60_000;
/// Pages of one call.
const PAGES_MAX: usize = 4;
/// Details of one call to learn the keys of runs, where a list does not show them.
const KEYS_MAX: usize = 4;
/// The host watches the workflows of a range of so many ids at once.
const WORKFLOWS_MAX: u64 = 1_000;
/// Open runs that are asked for one by one, without the list of running ones.
const FEW_OPEN: usize = 3;
/// Pages of the list of running ones.
const RUNNING_PAGES_MAX: usize = 5;
/// How often that list is read in any case.
const RUNNING_S: u32 = 10;
/// The pace: a request of this call, and one for the tries of each run that goes on, cost the host so long a
/// pause before the next call, up to a longest one. So a busy project is asked twice a second on average.
const PAUSE_MS: u32 = 500;
const PAUSE_MAX_MS: u32 = 30_000;
/// The time that is left for the answer.
pub const SPARE_MS: u32 = 4_000;

/// Where a watch goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cursor {
    since_ms: i64,
    rows: usize,
    latest_ms: i64,
}

impl Cursor {
    fn read(text: &str) -> Option<Cursor> {
        let mut parts = text.split(',');
        let cursor = Cursor {
            since_ms: parts.next()?.parse().ok()?,
            rows: parts.next()?.parse().ok()?,
            latest_ms: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(cursor)
    }

    fn written(&self) -> String {
        format!("{},{},{}", self.since_ms, self.rows, self.latest_ms)
    }
}

pub fn instances(request: &WatchRequest) -> Result<WatchPage, Error> {
    let cursor = match &request.cursor {
        None => Cursor { since_ms: request.since, rows: 0, latest_ms: request.since },
        Some(text) => Cursor::read(text).ok_or_else(|| {
            Error::invalid_input(format!("the cursor {text:?} is not one of this plugin's"))
        })?,
    };
    let api = Api::open()?;
    let codes = request.workflows.iter();
    let codes = codes.filter_map(|workflow| Some((workflow.code.as_deref()?.parse().ok()?, workflow.id)));
    let mut watch = Watch {
        api: &api,
        workflows: codes.collect(),
        projects: projects(&api, request),
        keys_left: KEYS_MAX,
        found: BTreeMap::new(),
    };
    let (cursor, more) = watch.list(cursor, request.limit as usize)?;
    // Who looks at one run has no cursor.
    let looks = !more && request.cursor.is_some() && is_due(&request.workflows);
    let gone = watch.open(&request.open, looks, request.limit as usize)?;
    let instances: Vec<Instance> = watch.found.into_values().collect();
    let going_on = instances.iter().filter(|run| !is_final(&run.state)).count();
    let wait_ms = match u32::try_from(going_on).unwrap_or(u32::MAX) {
        0 => 0,
        count => count.saturating_add(api.requests()).saturating_mul(PAUSE_MS).min(PAUSE_MAX_MS),
    };
    Ok(WatchPage { instances, gone, cursor: cursor.written(), more, wait_ms })
}

/// Whether the list of running ones is to be read again for these workflows.
fn is_due(workflows: &[Watched]) -> bool {
    let Some(first) = workflows.iter().map(|workflow| workflow.id).min() else { return false };
    let name = format!("running {}", first / WORKFLOWS_MAX);
    let is_due = memo::get(&name).is_none();
    if is_due {
        memo::put(&name, "read", RUNNING_S);
    }
    is_due
}

/// The projects of workflows that were deployed to another one than the configured.
fn projects(api: &Api, request: &WatchRequest) -> BTreeMap<u64, i64> {
    let project = |text: &str| text.parse().ok().filter(|project| *project != api.project);
    let watched = request.workflows.iter();
    watched.filter_map(|one| Some((one.id, project(one.project.as_deref()?)?))).collect()
}

struct Watch<'a> {
    api: &'a Api,
    /// Lakeport's ids, by code.
    workflows: BTreeMap<i64, u64>,
    projects: BTreeMap<u64, i64>,
    keys_left: usize,
    found: BTreeMap<i64, Instance>,
}

impl Watch<'_> {
    /// Reads the list on from the cursor.
    fn list(&mut self, mut cursor: Cursor, limit: usize) -> Result<(Cursor, bool), Error> {
        let path = ["projects", &self.api.project.to_string(), self.api.flavour.instances];
        let start = times::written(cursor.since_ms - OVERLAP_MS, self.api.zone())?;
        for page in 0..PAGES_MAX {
            // The first one: an answer must lead on.
            if page > 0 && call::remaining_ms() < SPARE_MS {
                return Ok((cursor, true));
            }
            let params = vec![("startDate", start.clone())];
            let (rows, total) = self.api.rows(&path, params, cursor.rows)?;
            for row in &rows {
                if self.found.len() >= limit || !self.take(row)? {
                    return Ok((cursor, true));
                }
                cursor.rows += 1;
                let begun = times::read(&row["startTime"], self.api.zone());
                cursor.latest_ms = cursor.latest_ms.max(begun.unwrap_or(i64::MIN));
            }
            if rows.is_empty() || cursor.rows >= total {
                let next = Cursor { since_ms: cursor.latest_ms, rows: 0, ..cursor };
                return Ok((next, false));
            }
        }
        Ok((cursor, true))
    }

    /// Takes a run if it is of interest. False if its key is unknown and no more may be asked for.
    fn take(&mut self, row: &Value) -> Result<bool, Error> {
        let workflow =
            row[self.api.flavour.definition_code].as_i64().and_then(|code| self.workflows.get(&code));
        let (Some(workflow), Some(id)) = (workflow.copied(), row["id"].as_i64()) else { return Ok(true) };
        let given = match instance::shown(row).or_else(|| instance::kept(id)) {
            Some(given) => given,
            None if self.keys_left == 0 => return Ok(false),
            None => {
                self.keys_left -= 1;
                let detail = instance::detail(self.api, self.api.project, &id.to_string())?;
                detail.map_or_else(Given::default, |detail| instance::given_in(&detail))
            }
        };
        // What a stopped run needs is asked for like a key.
        if self.api.flavour.stops_at_timeout
            && instance::word(row) == "STOP"
            && timeouts::known(row).is_none()
        {
            if self.keys_left == 0 || call::remaining_ms() < SPARE_MS {
                return Ok(false);
            }
            self.keys_left -= 1;
        }
        self.put(row, self.api.project, workflow, &given)?;
        Ok(true)
    }

    fn put(&mut self, row: &Value, project: i64, workflow: u64, given: &Given) -> Result<(), Error> {
        let mut run = instance::read(self.api, row, workflow, given);
        if let Some(run) = run.as_mut().filter(|run| run.state == "stopped")
            && self.api.flavour.stops_at_timeout
            && timeouts::ended_run(self.api, project, row)?
        {
            run.state = "failed".to_owned();
            run.message = Some("a task came to its timeout".to_owned());
        }
        self.found.extend(row["id"].as_i64().zip(run));
        Ok(())
    }

    /// Finds all open runs, and answers those that are gone. `looks`: also those that are running and not among them.
    fn open(&mut self, open: &[OpenRun], looks: bool, limit: usize) -> Result<Vec<String>, Error> {
        let mut gone = Vec::new();
        let mut missing: Vec<(&OpenRun, i64)> = Vec::new();
        for run in open {
            match run.id.parse::<i64>() {
                Ok(id) if self.found.contains_key(&id) => {}
                Ok(id) => missing.push((run, id)),
                Err(_) => gone.push(run.id.clone()),
            }
        }
        if looks || missing.len() > FEW_OPEN {
            self.running(open, limit)?;
        }
        for (run, id) in missing {
            if self.found.contains_key(&id) {
                continue;
            }
            if call::remaining_ms() < SPARE_MS {
                // The next pass asks for them.
                break;
            }
            let project = self.projects.get(&run.workflow).copied().unwrap_or(self.api.project);
            match instance::detail(self.api, project, &run.id)? {
                Some(detail) => {
                    let given = instance::given_in(&detail);
                    self.put(&detail, project, run.workflow, &given)?;
                }
                None => gone.push(run.id.clone()),
            }
        }
        Ok(gone)
    }

    /// Takes what is running. What is not in this list has ended, or waits.
    fn running(&mut self, open: &[OpenRun], limit: usize) -> Result<(), Error> {
        let asked: BTreeSet<i64> = open.iter().filter_map(|run| run.id.parse().ok()).collect();
        let path = ["projects", &self.api.project.to_string(), self.api.flavour.instances];
        let mut read = 0;
        for _ in 0..RUNNING_PAGES_MAX * PARTS_MAX {
            let params = vec![("stateType", "RUNNING_EXECUTION".to_owned())];
            let (rows, total) = self.api.rows(&path, params, read)?;
            read += rows.len();
            for row in &rows {
                let is_asked = row["id"].as_i64().is_some_and(|id| asked.contains(&id));
                if is_asked || self.found.len() < limit {
                    self.take(row)?;
                }
            }
            if rows.is_empty() || read >= total.min(RUNNING_PAGES_MAX * PAGE_ROWS) {
                break;
            }
        }
        Ok(())
    }
}
