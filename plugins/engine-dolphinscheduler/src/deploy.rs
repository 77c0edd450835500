//! Deployments. Each can be repeated at any point.
//!
//! 1. Task codes are reserved and handed to the host (`again`), so that a task keeps its code for good.
//! 2. The definition is found: by its code, or by its name and the mark in its parameters. One without the
//!    mark is never taken over.
//! 3. It is created, or taken offline, updated and set online. DolphinScheduler takes the schedule offline with
//!    the definition, so the host says whether the schedule is to be on at the end.

use std::collections::{BTreeMap, HashMap};

use lakeport_sdk::engine::{DeployRequest, Deployment, Error, Problem, Workflow, WorkflowRef, memo};
use lakeport_sdk::serde_json::{self, Value, json};

use crate::about;
use crate::answer;
use crate::api::{Api, PAGE_ROWS};
use crate::definition::{self, Codes, Existing, Mark, Parts, Source};
use crate::schedule::{Row, Schedules};

/// Task codes of one request; DolphinScheduler gives a hundred at most.
const CODES_AT_ONCE: usize = 100;
/// Pages that are looked through for a name.
const NAME_PAGES_MAX: usize = 5;
/// How long the id of a data source is kept.
const SOURCE_KEEP_S: u32 = 300;
/// Names of data sources in a message.
const NAMES_MAX: usize = 20;

/// What finds a name in a list: DolphinScheduler escapes `%` in such a way that it finds nothing.
pub fn searched(name: &str) -> String {
    name.split('%').max_by_key(|part| part.len()).unwrap_or_default().to_owned()
}

/// What the host keeps of a deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub codes: Codes,
    /// The definition's version after the last deployment.
    pub version: Option<i64>,
}

impl State {
    pub fn read(workflow: &WorkflowRef) -> State {
        let text = workflow.state.as_deref().unwrap_or("{}");
        let state: Value = serde_json::from_str(text).unwrap_or_default();
        let tasks = state["tasks"].as_object().into_iter().flatten();
        let codes = tasks.filter_map(|(id, code)| Some((id.parse().ok()?, code.as_i64()?))).collect();
        State { codes, version: state["version"].as_i64() }
    }

    fn written(&self) -> String {
        let tasks: BTreeMap<String, i64> =
            self.codes.iter().map(|(id, code)| (id.to_string(), *code)).collect();
        json!({"tasks": tasks, "version": self.version}).to_string()
    }

    /// Lakeport's id of a task.
    pub fn task(&self, code: i64) -> Option<u64> {
        self.codes.iter().find(|(_, known)| **known == code).map(|(id, _)| *id)
    }
}

pub fn deploy(request: &DeployRequest) -> Result<Deployment, Error> {
    let api = Api::open()?;
    let DeployRequest { workflow, current, online, .. } = request;
    let project = api.project_of(current);
    let mut state = State::read(current);
    let place = Place { api: &api, project };
    let existing = place.find(workflow.id, current.code.as_deref(), &[&workflow.name, &current.name])?;
    let is_reserved = place.reserve(workflow, existing.as_ref(), &mut state.codes)?;
    if is_reserved {
        return Ok(Deployment {
            phase: "again".to_owned(),
            project: Some(project.to_string()),
            state: Some(state.written()),
            ..Deployment::done()
        });
    }
    let (mut notes, mut there) = (Vec::new(), None);
    let is_on = *online && workflow.schedule.is_some();
    let schedules = |definition| Schedules { api: &api, project, definition };
    let (code, version) = match existing {
        None => place.create(workflow, &state.codes)?,
        Some(existing) => {
            let schedules = schedules(existing.code);
            there = schedules.only_one(&mut notes)?;
            let update = Update { existing: &existing, state: &state, schedules: &schedules, is_on };
            place.update(workflow, &update, &mut there, &mut notes)?
        }
    };
    state.version = Some(version);
    schedules(code).set(there, workflow.schedule.as_ref(), Some(is_on))?;
    Ok(Deployment {
        code: Some(code.to_string()),
        project: Some(project.to_string()),
        version: Some(version.to_string()),
        state: Some(state.written()),
        notes,
        ..Deployment::done()
    })
}

pub fn remove(current: &WorkflowRef) -> Result<Deployment, Error> {
    let api = Api::open()?;
    let place = Place { api: &api, project: api.project_of(current) };
    let found = match place.find(current.id, current.code.as_deref(), &[&current.name]) {
        // One of another has its name: its own was never made.
        Err(error) if error.code == "conflict" && current.code.is_none() => None,
        found => found?,
    };
    let Some(existing) = found else { return Ok(Deployment::done()) };
    let schedules = Schedules { api: &api, project: place.project, definition: existing.code };
    let there = schedules.only_one(&mut Vec::new())?;
    if existing.is_online {
        place.release(&existing, false)?;
    }
    let (project, code) = (place.project.to_string(), existing.code.to_string());
    let path = ["projects", &project, api.flavour.definitions, &code];
    match api.send("DELETE", &path, Vec::new())? {
        Ok(_) => Ok(Deployment::done()),
        Err(refusal) if refusal.is_not_found() => Ok(Deployment::done()),
        Err(refusal) => {
            // It stays as it was.
            if existing.is_online {
                place.release(&existing, true)?;
            }
            if let Some(row) = there.filter(|row| row.is_online) {
                schedules.switch(row.id, true)?;
            }
            Err(refusal.error(&format!("DELETE {}", path.join("/")), false))
        }
    }
}

/// What an update knows.
struct Update<'u> {
    existing: &'u Existing,
    state: &'u State,
    schedules: &'u Schedules<'u>,
    /// Whether the schedule is to be on.
    is_on: bool,
}

/// A project of a server.
pub struct Place<'a> {
    pub api: &'a Api,
    pub project: i64,
}

impl Place<'_> {
    fn ask(&self, method: &'static str, below: &[&str], params: crate::api::Params) -> Result<Value, Error> {
        let project = self.project.to_string();
        let path: Vec<&str> = ["projects", &project, self.api.flavour.definitions]
            .into_iter()
            .chain(below.iter().copied())
            .collect();
        self.api.ask(method, &path, params)
    }

    /// The whole of a definition, as DolphinScheduler has it.
    pub fn detail(&self, code: &str) -> Result<Option<Value>, Error> {
        // What is no code would be another path.
        if code.parse::<i64>().is_err() {
            return Ok(None);
        }
        let project = self.project.to_string();
        self.api.get_if_there(&["projects", &project, self.api.flavour.definitions, code], Vec::new())
    }

    fn existing(&self, code: &str) -> Result<Option<Existing>, Error> {
        let Some(detail) = self.detail(code)?.filter(|detail| !detail.is_null()) else { return Ok(None) };
        let read = Existing::read(&detail, self.api.flavour);
        read.map(Some)
            .ok_or_else(|| answer::missing("the request for a definition", self.api.flavour.definition))
    }

    /// The definition of a workflow. `conflict` if another one has its place.
    pub fn find(&self, id: u64, code: Option<&str>, names: &[&str]) -> Result<Option<Existing>, Error> {
        if let Some(code) = code
            && let Some(existing) = self.existing(code)?
        {
            return match &existing.mark {
                Some(mark) if mark.id != id => {
                    let name = &existing.name;
                    Err(Error::conflict(format!(
                        "the definition {code} `{name}` in DolphinScheduler belongs to another workflow of Lakeport"
                    )))
                }
                // Somebody has taken the mark away; the code is known.
                _ => Ok(Some(existing)),
            };
        }
        let mut asked: Vec<&str> = Vec::new();
        for name in names {
            if asked.contains(name) {
                continue;
            }
            asked.push(name);
            let Some(existing) = self.by_name(name)? else { continue };
            if existing.is_of(id) {
                return Ok(Some(existing));
            }
            // The first name is the one that is wanted.
            if asked.len() == 1 {
                return Err(Error::conflict(format!(
                    "DolphinScheduler has a definition `{name}` already, which is not this workflow's; rename one \
                     of them"
                )));
            }
        }
        Ok(None)
    }

    /// Not by `query-by-name`, which 3.1 answers with an error.
    fn by_name(&self, name: &str) -> Result<Option<Existing>, Error> {
        let project = self.project.to_string();
        let path = ["projects", &project, self.api.flavour.definitions];
        for number in 1..=NAME_PAGES_MAX {
            let params = vec![("searchVal", searched(name))];
            let (rows, total) = self.api.page(&path, params, number, PAGE_ROWS)?;
            let found = rows.iter().find(|row| row["name"] == *name).and_then(|row| row["code"].as_i64());
            if let Some(code) = found {
                return self.existing(&code.to_string());
            }
            if rows.is_empty() || number * PAGE_ROWS >= total {
                break;
            }
        }
        Ok(None)
    }

    /// Gives each task a code: the one that is known, or that its namesake in the definition has, or a new one.
    /// Returns whether there are new ones.
    fn reserve(
        &self,
        workflow: &Workflow,
        existing: Option<&Existing>,
        codes: &mut Codes,
    ) -> Result<bool, Error> {
        codes.retain(|id, _| workflow.tasks.iter().any(|task| task.id == *id));
        let mut missing = Vec::new();
        for task in workflow.tasks.iter().filter(|task| !codes.contains_key(&task.id)).collect::<Vec<_>>() {
            let there = existing.into_iter().flat_map(|existing| &existing.tasks);
            let mut there =
                there.filter(|(name, code, _)| *name == task.name && !codes.values().any(|c| c == code));
            match there.next().map(|(_, code, _)| *code) {
                Some(code) => drop(codes.insert(task.id, code)),
                None => missing.push(task.id),
            }
        }
        for some in missing.chunks(CODES_AT_ONCE) {
            let project = self.project.to_string();
            let path = ["projects", &project, "task-definition", "gen-task-codes"];
            let data = self.api.get(&path, vec![("genNum", some.len().to_string())])?;
            let reserved: Vec<i64> =
                data.as_array().into_iter().flatten().filter_map(Value::as_i64).collect();
            if reserved.len() < some.len() {
                return Err(answer::missing("GET gen-task-codes", "code for each task"));
            }
            codes.extend(some.iter().copied().zip(reserved));
        }
        Ok(!missing.is_empty())
    }

    fn form(
        &self,
        workflow: &Workflow,
        codes: &Codes,
        versions: &HashMap<i64, i64>,
    ) -> Result<crate::api::Params, Error> {
        let sources = self.sources(workflow)?;
        let (flavour, settings) = (self.api.flavour, &self.api.settings);
        let form =
            definition::form(workflow, &Parts { flavour, settings, codes, versions, sources: &sources })?;
        let bytes = definition::form_bytes(&form);
        if bytes > definition::FORM_MAX_BYTES {
            let message =
                format!("the definition has {bytes} bytes as a form, too many for DolphinScheduler");
            return Err(Error::limit_exceeded(message));
        }
        Ok(form)
    }

    /// The answer is stale: it has neither the version nor the state. So the definition is read again.
    fn create(&self, workflow: &Workflow, codes: &Codes) -> Result<(i64, i64), Error> {
        let form = self.form(workflow, codes, &HashMap::new())?;
        let data = self.ask("POST", &[], form)?;
        let missing = || answer::missing("the creation of a definition", "code").may_have_applied();
        let code = data["code"].as_i64().ok_or_else(missing)?;
        let made = self.existing(&code.to_string())?.ok_or_else(missing)?;
        self.release(&made, true)?;
        Ok((code, made.version))
    }

    fn update(
        &self,
        workflow: &Workflow,
        update: &Update<'_>,
        there: &mut Option<Row>,
        notes: &mut Vec<Problem>,
    ) -> Result<(i64, i64), Error> {
        let Update { existing, state, .. } = update;
        let is_ours = state.version == Some(existing.version);
        if state.version.is_some() && !is_ours {
            let message =
                "the definition was changed in DolphinScheduler; this deployment replaces the change";
            notes.push(Problem::new("", "adjusted", message));
        }
        let is_same = existing.mark.as_ref() == Some(&Mark::of(workflow));
        if is_ours && is_same {
            if !existing.is_online {
                self.release(existing, true)?;
            }
            return Ok((existing.code, existing.version));
        }
        let form = self.form(workflow, &state.codes, &existing.versions())?;
        if existing.is_online {
            self.release(existing, false)?;
            there.iter_mut().for_each(|row| row.is_online = false);
        }
        let code = existing.code.to_string();
        if let Err(error) = self.ask("PUT", &[&code], form) {
            return Err(self.restored(update, there.as_ref(), error));
        }
        let missing = || answer::missing("the update of a definition", "definition").may_have_applied();
        let made = self.existing(&code)?.ok_or_else(missing)?;
        self.release(&made, true)?;
        Ok((existing.code, made.version))
    }

    /// What was online before a refused update is online again.
    fn restored(&self, update: &Update<'_>, there: Option<&Row>, error: Error) -> Error {
        if !update.existing.is_online || error.upstream.is_none() {
            return error;
        }
        let restored = self.release(update.existing, true).and_then(|()| match there {
            Some(row) if update.is_on => update.schedules.switch(row.id, true),
            _ => Ok(()),
        });
        match restored {
            Ok(()) => error,
            Err(other) => error.with("restoring", other.message),
        }
    }

    fn release(&self, definition: &Existing, online: bool) -> Result<(), Error> {
        let state = if online { "ONLINE" } else { "OFFLINE" };
        let code = definition.code.to_string();
        self.ask("POST", &[&code, "release"], vec![("releaseState", state.to_owned())]).map(drop)
    }

    /// The data sources of a workflow, by Lakeport's names.
    fn sources(&self, workflow: &Workflow) -> Result<BTreeMap<String, Source>, Error> {
        let mut sources = BTreeMap::new();
        for source in workflow.tasks.iter().filter_map(|task| task.datasource.as_ref()) {
            if !sources.contains_key(&source.name) {
                let there = self.api.settings.name_there(&source.name);
                sources.insert(source.name.clone(), self.source(there, &source.kind)?);
            }
        }
        Ok(sources)
    }

    fn source(&self, name: &str, kind: &str) -> Result<Source, Error> {
        let found = about::SOURCES.iter().find(|(known, _)| *known == kind);
        let (_, kinds) = found.ok_or_else(|| {
            Error::unsupported(format!("DolphinScheduler has no data sources of the kind {kind}"))
        })?;
        let key = format!("source {kind} {name}");
        if let Some((id, kind)) = memo::get(&key).as_deref().and_then(|kept| kept.split_once(' '))
            && let Ok(id) = id.parse()
        {
            return Ok(Source { id, kind: kind.to_owned() });
        }
        let mut rows = Vec::new();
        for number in 1..=NAME_PAGES_MAX {
            let params = vec![("searchVal", searched(name))];
            let (some, total) = self.api.page(&["datasources"], params, number, PAGE_ROWS)?;
            let is_last = some.is_empty() || number * PAGE_ROWS >= total;
            rows.extend(some.into_iter().filter(|row| row["name"] == *name));
            if is_last {
                break;
            }
        }
        let fits = |kind: &str| rows.iter().find(|row| row["type"] == *kind)?["id"].as_i64();
        let found = kinds.iter().find_map(|kind| Some(Source { id: fits(kind)?, kind: (*kind).to_owned() }));
        let Some(found) = found else { return Err(self.no_source(name, kinds)?) };
        memo::put(&key, &format!("{} {}", found.id, found.kind), SOURCE_KEEP_S);
        Ok(found)
    }

    fn no_source(&self, name: &str, kinds: &[&str]) -> Result<Error, Error> {
        let (rows, _) = self.api.page(&["datasources"], Vec::new(), 1, PAGE_ROWS)?;
        let is_fit = |row: &&Value| kinds.iter().any(|kind| row["type"] == **kind);
        let known: Vec<&str> =
            rows.iter().filter(is_fit).filter_map(|row| row["name"].as_str()).take(NAMES_MAX).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let message = format!(
            "DolphinScheduler has no data source {name:?} of the type {}; available: {known}; the setting \
             `datasources` maps names",
            kinds.join(" or ")
        );
        Ok(Error::not_found(message).with("member", "datasource"))
    }
}
