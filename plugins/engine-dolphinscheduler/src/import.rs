//! Definitions of DolphinScheduler, listed and translated.

use std::collections::BTreeMap;

use lakeport_sdk::engine::{
    BodyPart, Datasource, Definition, DefinitionHead, DefinitionPage, DefinitionQuery, Edge, Error, Param,
    Problem, Schedule, Source, Task, Workflow,
};
use lakeport_sdk::serde_json::{self, Value};

use crate::about::{SHELL, SOURCES, SQL};
use crate::api::{Api, PAGE_ROWS};
use crate::config::Settings;
use crate::definition::params;
use crate::deploy::Place;
use crate::flavour;
use crate::schedule::Schedules;
use crate::times;
use crate::values::is_own;

/// Pages of definitions that one call looks through, and of data sources.
const PAGES_MAX: usize = 8;
const SOURCE_PAGES_MAX: usize = 4;

/// The part behind the cursor, which is a number of rows. The filter of DolphinScheduler minds the case of
/// letters in some databases, so the names are compared here.
pub fn entries(query: &DefinitionQuery) -> Result<DefinitionPage, Error> {
    let cursor = query.page.cursor.as_deref().unwrap_or("0");
    let mut at: usize = cursor
        .parse()
        .map_err(|_| Error::invalid_input(format!("the cursor {cursor:?} is not one of this plugin's")))?;
    let api = Api::open()?;
    let project = match query.project.as_deref().unwrap_or_default() {
        "" => api.project.to_string(),
        name if name == api.settings.project_name => api.project.to_string(),
        code if code.parse::<i64>().is_ok() => code.to_owned(),
        _ => return Ok(DefinitionPage { definitions: Vec::new(), total: Some(0), next: None }),
    };
    let keyword = query.keyword.as_deref().unwrap_or_default().to_lowercase();
    let path = ["projects", &project, api.flavour.definitions];
    let mut definitions = Vec::new();
    for _ in 0..PAGES_MAX {
        if definitions.len() >= query.page.limit as usize {
            break;
        }
        let (rows, total) = api.rows(&path, Vec::new(), at)?;
        let total_if_all = keyword.is_empty().then_some(total as u64);
        for row in &rows {
            if definitions.len() >= query.page.limit as usize {
                return Ok(DefinitionPage { definitions, total: total_if_all, next: Some(at.to_string()) });
            }
            at += 1;
            definitions
                .extend(head(row, &project).filter(|head| head.name.to_lowercase().contains(&keyword)));
        }
        if rows.is_empty() || at >= total {
            return Ok(DefinitionPage { definitions, total: total_if_all, next: None });
        }
    }
    Ok(DefinitionPage { definitions, total: None, next: Some(at.to_string()) })
}

fn head(row: &Value, project: &str) -> Option<DefinitionHead> {
    let word = |member: &str| row[member].as_str().filter(|state| matches!(*state, "ONLINE" | "OFFLINE"));
    let state = word("releaseState");
    Some(DefinitionHead {
        project: project.to_owned(),
        code: row["code"].as_i64()?.to_string(),
        name: row["name"].as_str()?.to_owned(),
        version: row["version"].as_i64().map(|version| version.to_string()),
        release_state: state.unwrap_or("UNKNOWN").to_owned(),
        runnable: state.map(|state| state == "ONLINE"),
        scheduled: row.get("scheduleReleaseState").map(|state| *state == "ONLINE"),
    })
}

pub fn read(source: &Source) -> Result<Definition, Error> {
    match source {
        Source::Deployed((project, code)) => deployed(project, code),
        Source::Document(text) => document(text),
    }
}

fn deployed(project: &str, code: &str) -> Result<Definition, Error> {
    let api = Api::open()?;
    let project: i64 = project.parse().unwrap_or(api.project);
    let place = Place { api: &api, project };
    let detail = place.detail(code)?.filter(|detail| !detail.is_null());
    let detail =
        detail.ok_or_else(|| Error::not_found(format!("DolphinScheduler has no definition {code}")))?;
    let definition = &detail[api.flavour.definition];
    let schedules = Schedules { api: &api, project, definition: code.parse().unwrap_or_default() };
    let row = schedules.list()?.into_iter().next().map(|row| row.row);
    let tasks = detail["taskDefinitionList"].as_array();
    let needs_sources = tasks.into_iter().flatten().any(|task| task["taskType"] == SQL);
    let sources = if needs_sources { sources(&api)? } else { BTreeMap::new() };
    let translation = Translation { settings: &api.settings, sources };
    let (workflow, problems) = translation.workflow(definition, &detail, row.as_ref());
    Ok(Definition {
        project: project.to_string(),
        code: code.to_owned(),
        workflow,
        native: detail.to_string(),
        problems,
    })
}

/// What the user interface exports: a list of definitions. Files have one.
fn document(text: &str) -> Result<Definition, Error> {
    let refused = |why: &str| Error::invalid_input(format!("it is no export of DolphinScheduler: {why}"));
    let parsed: Value = serde_json::from_str(text).map_err(|_| refused("it is no JSON"))?;
    let one = match &parsed {
        Value::Array(all) if all.len() == 1 => &all[0],
        Value::Array(_) => return Err(refused("it has not exactly one definition")),
        other => other,
    };
    let members = [flavour::newest().definition, flavour::of_page(&Value::Null).definition];
    let definition = members.iter().find_map(|member| one.get(*member));
    let definition = definition.ok_or_else(|| refused("it has no definition"))?;
    let settings = Settings::read()?;
    let translation = Translation { settings: &settings, sources: BTreeMap::new() };
    let schedule = one.get("schedule").filter(|schedule| schedule.is_object());
    let (workflow, problems) = translation.workflow(definition, one, schedule);
    Ok(Definition {
        project: definition["projectCode"].as_i64().map(|code| code.to_string()).unwrap_or_default(),
        code: definition["code"].as_i64().map(|code| code.to_string()).unwrap_or_default(),
        workflow,
        native: one.to_string(),
        problems,
    })
}

/// Names and types of data sources, by id. Their passwords are taken out by the host.
fn sources(api: &Api) -> Result<BTreeMap<i64, (String, String)>, Error> {
    let mut sources = BTreeMap::new();
    for number in 1..=SOURCE_PAGES_MAX {
        let (rows, total) = api.page(&["datasources"], Vec::new(), number, PAGE_ROWS)?;
        let text = |row: &Value, name: &str| row[name].as_str().map(str::to_owned);
        sources.extend(
            rows.iter()
                .filter_map(|row| Some((row["id"].as_i64()?, (text(row, "name")?, text(row, "type")?)))),
        );
        if rows.is_empty() || number * PAGE_ROWS >= total {
            break;
        }
    }
    Ok(sources)
}

/// JSON, or JSON within JSON.
fn task_params(task: &Value) -> Value {
    match &task["taskParams"] {
        Value::String(text) => serde_json::from_str(text).unwrap_or_default(),
        other => other.clone(),
    }
}

struct Translation<'a> {
    settings: &'a Settings,
    sources: BTreeMap<i64, (String, String)>,
}

/// A number, also one that is written as text.
fn number(value: &Value) -> u32 {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok());
    number.and_then(|number| u32::try_from(number).ok()).unwrap_or_default()
}

impl Translation<'_> {
    fn workflow(
        &self,
        definition: &Value,
        detail: &Value,
        schedule: Option<&Value>,
    ) -> (Workflow, Vec<Problem>) {
        let mut problems = Vec::new();
        let rows: Vec<&Value> = detail["taskDefinitionList"].as_array().into_iter().flatten().collect();
        let mut ids = BTreeMap::new();
        let mut tasks = Vec::with_capacity(rows.len());
        for (index, row) in rows.into_iter().enumerate() {
            let id = index as u64 + 1;
            ids.extend(row["code"].as_i64().map(|code| (code, id)));
            tasks.push(self.task(index, row, &mut problems));
        }
        let relations = ["workflowTaskRelationList", "processTaskRelationList"];
        let relations = relations.iter().find_map(|member| detail[*member].as_array());
        let edge = |relation: &Value| {
            let id = |member: &str| ids.get(&relation[member].as_i64()?).copied();
            Some(Edge { before: id("preTaskCode")?, after: id("postTaskCode")? })
        };
        let concurrency = match definition["executionType"].as_str().unwrap_or("PARALLEL") {
            "PARALLEL" => "parallel",
            "SERIAL_DISCARD" => "discard",
            "SERIAL_WAIT" => "wait",
            other => {
                let message = format!("the execution type {other} is taken for SERIAL_WAIT");
                problems.push(Problem::new("concurrency", "adjusted", message));
                "wait"
            }
        };
        let text = |member: &str| definition[member].as_str().unwrap_or_default().to_owned();
        // Those of a definition that Lakeport deployed stand beside its first task.
        let deployed = detail["taskDefinitionList"].as_array().into_iter().flatten();
        let deployed = deployed.map(|task| params(&task_params(task)["lakeport"]));
        let own = params(definition).into_iter().filter(|(name, _)| !is_own(name));
        let params: Vec<(String, String)> = own.chain(deployed.flatten()).collect();
        let param = |(name, value): (String, String)| Param { name, kind: "text".to_owned(), value };
        let workflow = Workflow {
            id: 0,
            name: text("name"),
            description: text("description"),
            revision: String::new(),
            version: number(&definition["version"]),
            tasks,
            edges: relations.into_iter().flatten().filter_map(edge).collect(),
            params: params.into_iter().map(param).collect(),
            schedule: schedule.and_then(|row| self.schedule(row)),
            concurrency: concurrency.to_owned(),
            extra: None,
        };
        (workflow, problems)
    }

    fn schedule(&self, row: &Value) -> Option<Schedule> {
        let text = |member: &str, default: &str| row[member].as_str().unwrap_or(default).to_owned();
        let zone = &self.settings.time_zone;
        Some(Schedule {
            cron: row["crontab"].as_str()?.to_owned(),
            time_zone: text("timezoneId", zone),
            start: times::read(&row["startTime"], zone)?,
            end: times::read(&row["endTime"], zone),
            failure_strategy: text("failureStrategy", "CONTINUE"),
            warning_type: text("warningType", "NONE"),
            extra: None,
        })
    }

    fn task(&self, index: usize, row: &Value, problems: &mut Vec<Problem>) -> Task {
        let text = |member: &str| row[member].as_str().unwrap_or_default().to_owned();
        let (name, kind) = (text("name"), text("taskType"));
        let mut problem = |member: &str, code: &str, message: String| {
            let message = format!("the task `{name}` {message}");
            problems.push(Problem::new(format!("tasks[{index}].{member}"), code, message));
        };
        let params = task_params(row);
        let (body, settings, datasource) = match kind.as_str() {
            SQL => (sql_text(&params, &mut problem), "{}".to_owned(), self.datasource(&params, &mut problem)),
            SHELL => (script_text(&params), "{}".to_owned(), None),
            other => {
                problem("taskType", "unknown_kept", format!("is of the type {other}, and is kept as it is"));
                (String::new(), row.to_string(), None)
            }
        };
        let local = params["localParams"].as_array().is_some_and(|local| !local.is_empty());
        if local && [SQL, SHELL].contains(&kind.as_str()) {
            let message = "has parameters of its own, which Lakeport does not have".to_owned();
            problem("sqlContent", "not_representable", message);
        }
        let has_timeout = row["timeoutFlag"] == "OPEN";
        Task {
            id: index as u64 + 1,
            name: name.clone(),
            kind,
            body: if body.is_empty() { Vec::new() } else { vec![BodyPart::Text(body)] },
            datasource,
            priority: row["taskPriority"].as_str().unwrap_or("MEDIUM").to_owned(),
            timeout_s: if has_timeout { number(&row["timeout"]).saturating_mul(60) } else { 0 },
            retries: number(&row["failRetryTimes"]),
            retry_interval_s: number(&row["failRetryInterval"]).saturating_mul(60),
            settings,
        }
    }

    fn datasource(&self, params: &Value, problem: &mut impl FnMut(&str, &str, String)) -> Option<Datasource> {
        let id = params["datasource"].as_i64();
        let Some((name, there)) = id.and_then(|id| self.sources.get(&id)) else {
            let message = format!("has the data source {}, whose name is not known", params["datasource"]);
            problem("datasourceId", "not_representable", message);
            return None;
        };
        let kind = SOURCES.iter().find(|(_, kinds)| kinds[0] == there);
        let Some((kind, _)) = kind else {
            let message = format!("has the data source {name} of the type {there}, which is not known");
            problem("datasourceId", "not_representable", message);
            return None;
        };
        let name = self.settings.name_here(name).to_owned();
        Some(Datasource { id: 0, name, kind: (*kind).to_owned() })
    }
}

/// As Lakeport deployed it, or else DolphinScheduler's text.
fn written(params: &Value) -> Option<String> {
    params["lakeport"]["body"].as_str().map(str::to_owned)
}

fn script_text(params: &Value) -> String {
    written(params).unwrap_or_else(|| params["rawScript"].as_str().unwrap_or_default().to_owned())
}

fn sql_text(params: &Value, problem: &mut impl FnMut(&str, &str, String)) -> String {
    if let Some(text) = written(params) {
        return text;
    }
    let list = |member: &str| params[member].as_array().into_iter().flatten().filter_map(Value::as_str);
    let main = params["sql"].as_str().unwrap_or_default();
    let all: Vec<&str> = list("preStatements").chain([main]).chain(list("postStatements")).collect();
    let ended = |text: &&str| text.trim().trim_end_matches(';').to_owned();
    let text = match all.as_slice() {
        [one] => (*one).to_owned(),
        several => several.iter().map(ended).collect::<Vec<_>>().join(";\n"),
    };
    if text.contains("!{") {
        problem(
            "sqlContent",
            "not_representable",
            "has !{…} in its SQL, which Lakeport does not have".to_owned(),
        );
    }
    if text.contains("${") {
        let message =
            "has ${…} in its SQL: DolphinScheduler binds the value, and Lakeport writes it as a literal";
        problem("sqlContent", "adjusted", message.to_owned());
    }
    text
}
