//! Requests to one server: which project, which generation of the API, and how an answer becomes data.
//!
//! Parameters of changes are sent as a form, since a query has no room for a definition. Codes are 64-bit
//! numbers.

use std::cell::Cell;

use lakeport_sdk::engine::web::{AuthUse, Body, Param, Piece, Request};
use lakeport_sdk::engine::{Error, WorkflowRef, http, memo};
use lakeport_sdk::serde_json::Value;

use crate::about::API;
use crate::answer::{self, Refusal, Reply};
use crate::config::Settings;
use crate::deploy;
use crate::flavour::{self, Flavour};

/// Rows of one page of a list.
pub const PAGE_ROWS: usize = 100;
/// Pages that are looked through for a name.
const NAME_PAGES_MAX: usize = 10;
/// How long facts about the server are kept.
const KEEP_S: u32 = 3_600;
/// A longer answer, parsed, would not fit into the memory of a plugin.
pub const ANSWER_MAX_BYTES: u32 = 3 * 1024 * 1024;
const PROJECT_MEMO: &str = "project";
const FLAVOUR_MEMO: &str = "flavour";
/// How many rows of a list fit into an answer.
const ROWS_MEMO: &str = "rows";
/// A page that is too large is asked for again with so many times fewer rows.
const FEWER: usize = 4;
/// In how many parts a page may be asked for then.
pub const PARTS_MAX: usize = FEWER * 2;

/// The parameters of a request.
pub type Params = Vec<(&'static str, String)>;

/// The generation that is configured, or that an earlier call found out.
pub fn known_flavour(settings: &Settings) -> Option<&'static Flavour> {
    settings.version.or_else(|| flavour::of_version(&memo::get(FLAVOUR_MEMO)?).ok())
}

/// A server.
pub struct Api {
    pub settings: Settings,
    /// The code of the configured project.
    pub project: i64,
    pub flavour: &'static Flavour,
    /// Whether this call has changed something: then a later error leaves the change half made.
    has_changed: Cell<bool>,
    /// The requests so far.
    requests: Cell<u32>,
}

impl Api {
    /// The server of this call.
    pub fn open() -> Result<Api, Error> {
        let settings = Settings::read()?;
        let project = match memo::get(PROJECT_MEMO).and_then(|code| code.parse().ok()) {
            Some(project) => project,
            None => find_project(&settings.project_name)?,
        };
        let flavour = match known_flavour(&settings) {
            Some(flavour) => flavour,
            None => find_flavour(project)?,
        };
        Ok(Api { settings, project, flavour, has_changed: Cell::new(false), requests: Cell::new(0) })
    }

    /// The project of a workflow: the one that it was deployed to.
    pub fn project_of(&self, workflow: &WorkflowRef) -> i64 {
        workflow.project.as_deref().and_then(|project| project.parse().ok()).unwrap_or(self.project)
    }

    /// The requests of this call.
    pub fn requests(&self) -> u32 {
        self.requests.get()
    }

    pub fn zone(&self) -> &str {
        &self.settings.time_zone
    }

    /// Reads something.
    pub fn get(&self, path: &[&str], params: Params) -> Result<Value, Error> {
        self.ask("GET", path, params)
    }

    /// Reads something that may not be there.
    pub fn get_if_there(&self, path: &[&str], params: Params) -> Result<Option<Value>, Error> {
        match self.send("GET", path, params)? {
            Ok(data) => Ok(Some(data)),
            Err(refusal) if refusal.is_not_found() => Ok(None),
            Err(refusal) => Err(self.with_changes(refusal.error(&shown("GET", path), false))),
        }
    }

    /// An error, with what was changed before it.
    pub fn with_changes(&self, error: Error) -> Error {
        if self.has_changed.get() { error.may_have_applied() } else { error }
    }

    /// Makes a request that must succeed.
    pub fn ask(&self, method: &'static str, path: &[&str], params: Params) -> Result<Value, Error> {
        self.send(method, path, params)?
            .map_err(|refusal| self.with_changes(refusal.error(&shown(method, path), method != "GET")))
    }

    /// Makes a request, whose refusal the caller looks at.
    pub fn send(
        &self,
        method: &'static str,
        path: &[&str],
        params: Params,
    ) -> Result<Result<Value, Refusal>, Error> {
        self.requests.set(self.requests.get() + 1);
        match send(method, path, params).map_err(|error| self.with_changes(error))? {
            Reply::Data(data) => {
                self.has_changed.set(self.has_changed.get() || method != "GET");
                Ok(Ok(data))
            }
            Reply::Refused(refusal) => {
                if refusal.is_of_project() {
                    // One of this name may have been made again. The next call finds out.
                    memo::put(PROJECT_MEMO, "", 1);
                }
                Ok(Err(refusal))
            }
            Reply::NoSuchPath => {
                // It may have been upgraded. The next call finds out.
                memo::put(FLAVOUR_MEMO, "", 1);
                let (call, name) = (shown(method, path), self.flavour.name);
                let message = format!(
                    "DolphinScheduler has no {call} (HTTP 404), which version {name} has; check the settings \
                     `baseUrl` and `version`"
                );
                Err(self.with_changes(Error::unavailable(message).retryable()))
            }
        }
    }

    /// Rows of a list after the first `skip` ones, and how many there are in all. Of rows that are so large that a page of
    /// them is too large for an answer, fewer.
    pub fn rows(&self, path: &[&str], params: Params, skip: usize) -> Result<(Vec<Value>, usize), Error> {
        let fitting = memo::get(ROWS_MEMO).and_then(|rows| rows.parse().ok());
        let mut size = fitting.filter(|rows| (1..=PAGE_ROWS).contains(rows)).unwrap_or(PAGE_ROWS);
        loop {
            match self.page(path, params.clone(), skip / size + 1, size) {
                Err(error) if error.code == "limit_exceeded" && size > 1 => {
                    size = (size / FEWER).max(1);
                    memo::put(ROWS_MEMO, &size.to_string(), KEEP_S);
                }
                Err(error) => return Err(error),
                Ok((mut rows, total)) => {
                    rows.drain(..(skip % size).min(rows.len()));
                    return Ok((rows, total));
                }
            }
        }
    }

    /// The rows of a page, and how many there are in all.
    pub fn page(
        &self,
        path: &[&str],
        params: Params,
        number: usize,
        rows: usize,
    ) -> Result<(Vec<Value>, usize), Error> {
        let data = self.get(path, paged(params, number, rows))?;
        page_of(data).ok_or_else(|| answer::missing(&shown("GET", path), "`totalList`"))
    }
}

/// Adds which page.
fn paged(mut params: Params, number: usize, rows: usize) -> Params {
    params.extend([("pageNo", number.to_string()), ("pageSize", rows.to_string())]);
    params
}

fn page_of(mut data: Value) -> Option<(Vec<Value>, usize)> {
    let total = data["total"].as_u64().unwrap_or_default();
    match data.get_mut("totalList").map(Value::take) {
        Some(Value::Array(rows)) => Some((rows, usize::try_from(total).unwrap_or(usize::MAX))),
        // 3.2 and later write null for no rows.
        Some(Value::Null) => Some((Vec::new(), 0)),
        _ => None,
    }
}

/// The code of a project, by its exact name.
fn find_project(name: &str) -> Result<i64, Error> {
    const PATH: [&str; 1] = ["projects"];
    let call = shown("GET", &PATH);
    for number in 1..=NAME_PAGES_MAX {
        let params = paged(vec![("searchVal", deploy::searched(name))], number, PAGE_ROWS);
        let data = match send("GET", &PATH, params)? {
            Reply::Data(data) => data,
            Reply::Refused(refusal) => return Err(refusal.error(&call, false)),
            Reply::NoSuchPath => {
                let message = "there is no DolphinScheduler API at the address (HTTP 404); the setting `baseUrl` \
                               ends in /dolphinscheduler";
                return Err(Error::upstream_failed(message));
            }
        };
        let (rows, total) = page_of(data).ok_or_else(|| answer::missing(&call, "`totalList`"))?;
        if let Some(code) = rows.iter().find(|row| row["name"] == *name).and_then(|row| row["code"].as_i64())
        {
            memo::put(PROJECT_MEMO, &code.to_string(), KEEP_S);
            return Ok(code);
        }
        if number * PAGE_ROWS >= total || rows.is_empty() {
            break;
        }
    }
    let message =
        format!("DolphinScheduler has no project {name:?} that this user can see; make it there first");
    Err(Error::not_found(message))
}

/// Finds the generation: only the newer ones have the new path, and the older ones differ in their pages.
fn find_flavour(project: i64) -> Result<&'static Flavour, Error> {
    let project = project.to_string();
    let list = |definitions: &'static str| {
        send("GET", &["projects", &project, definitions], paged(Vec::new(), 1, 1))
    };
    let refused = |refusal: Refusal| refusal.error(&format!("GET projects/{project}"), false);
    let newest = flavour::newest();
    let found = match list(newest.definitions)? {
        Reply::Data(_) => newest,
        Reply::Refused(refusal) => return Err(refused(refusal)),
        Reply::NoSuchPath => match list(flavour::of_page(&Value::Null).definitions)? {
            Reply::Data(page) => flavour::of_page(&page),
            Reply::Refused(refusal) => return Err(refused(refusal)),
            Reply::NoSuchPath => {
                let message = "DolphinScheduler lists neither workflow-definition nor process-definition";
                return Err(Error::unsupported(message));
            }
        },
    };
    memo::put(FLAVOUR_MEMO, found.name, KEEP_S);
    Ok(found)
}

fn send(method: &'static str, path: &[&str], params: Params) -> Result<Reply, Error> {
    let text = |text: &str| vec![Piece::Text(text.to_owned())];
    let param = |(name, value): (&'static str, String)| Param { name: name.to_owned(), value: text(&value) };
    let params: Vec<Param> = params.into_iter().map(param).collect();
    let (query, body) = match method {
        "GET" | "DELETE" => (params, Body::Empty),
        _ if params.is_empty() => (params, Body::Empty),
        _ => (Vec::new(), Body::Form(params)),
    };
    let request = Request {
        address: API.to_owned(),
        method: method.to_owned(),
        path: path.iter().map(|segment| text(segment)).collect(),
        query,
        headers: Vec::new(),
        body,
        auth: AuthUse::Chosen,
        timeout_ms: None,
        max_response_bytes: Some(ANSWER_MAX_BYTES),
        extra: None,
    };
    let call = shown(method, path);
    let response = http::send(&request).map_err(|mut error| {
        error.message = format!("{call}: {}", error.message);
        error
    })?;
    answer::read(&call, method != "GET", response)
}

/// A call as messages name it.
pub fn shown(method: &str, path: &[&str]) -> String {
    format!("{method} {}", path.join("/"))
}
