//! From a request to its answer: which call it is, whether it fits, and what real servers do if it does not.

use serde_json::Value;

use super::answers::{Args, Outcome, Refusal, envelope};
use super::http::{Request, Response};
use super::state::State;
use super::table::{self, Call};
use super::{Generation, PROJECT};
use crate::openapi::Document;

const ROOT: &str = "/dolphinscheduler/";
/// The first characters of a parameter, in the list of requests.
const SHOWN_CHARS: usize = 60;
const NOT_FOUND: &str =
    "<html><head><title>Error 404 Not Found</title></head><body><h2>HTTP ERROR 404</h2></body></html>";
const NOT_ALLOWED: &str = "<html><head><title>Error 405 Method Not Allowed</title></head><body><h2>HTTP ERROR 405</h2></body></html>";

/// The calls of one generation.
pub struct Calls {
    generation: Generation,
    token: String,
    calls: Vec<Call>,
    document: Option<&'static Document>,
}

impl Calls {
    pub fn new(generation: Generation, token: String) -> Calls {
        let document = Document::of(generation.version());
        Calls { generation, token, calls: table::all(generation), document }
    }

    pub fn answer(&self, state: &mut State, request: Request) -> Response {
        let line = shown(&request);
        state.note_request(line.clone());
        let path = request.path.strip_prefix(ROOT).unwrap_or_default().to_owned();
        if path != "login" && !self.is_logged_in(state, &request) {
            return Response { status: 401, content_type: "text/plain", body: Vec::new() };
        }
        let fitting: Vec<(&Call, Vec<&str>)> =
            self.calls.iter().filter_map(|call| Some((call, places(&call.path, &path)?))).collect();
        if fitting.is_empty() {
            if !self.is_probe(&request.method, &path) {
                state.note(format!("unforeseen: {line}"));
            }
            return html(404, NOT_FOUND);
        }
        // A path without placeholders is nearer.
        let found = fitting.into_iter().filter(|(call, _)| call.method == request.method);
        let Some((call, places)) = found.min_by_key(|(_, places)| places.len()) else {
            state.note(format!("unforeseen: {line}"));
            return html(405, NOT_ALLOWED);
        };
        let outcome = self.outcome(state, call, &places, &request);
        let answer = envelope(outcome);
        self.check(state, call, &request, &answer, &line);
        Response {
            status: call.status,
            content_type: "application/json",
            body: answer.to_string().into_bytes(),
        }
    }

    fn is_logged_in(&self, state: &State, request: &Request) -> bool {
        let has_session = |id: &str| state.sessions.iter().any(|session| session == id);
        match request.header("token") {
            Some(token) => token == self.token,
            None => request.header("sessionid").is_some_and(has_session),
        }
    }

    /// Whether a client asks so which generation this is.
    fn is_probe(&self, method: &str, path: &str) -> bool {
        let newer = path.strip_prefix("projects/").is_some_and(|rest| rest.ends_with("/workflow-definition"));
        self.generation == Generation::V32 && method == "GET" && newer
    }

    fn outcome(&self, state: &mut State, call: &Call, places: &[&str], request: &Request) -> Outcome {
        if request.is_too_large {
            return self.failed(state, call, "400: Unable to parse form content");
        }
        let numbers: Option<Vec<i64>> = places.iter().map(|place| place.parse().ok()).collect();
        let Some(mut place) = numbers else {
            return self.failed(state, call, "the path has something else than a number");
        };
        if call.path.contains("{project}") && place.remove(0) != PROJECT {
            return Err(Refusal::new(10_190, format!("project {} not exists", places[0])));
        }
        for (name, is_required, kind) in &call.params {
            match request.params.iter().find(|(sent, _)| sent == name) {
                None if *is_required => {
                    let why = format!("Required request parameter '{name}' is not present");
                    return self.failed(state, call, &why);
                }
                // An empty text is no number, and no word.
                Some((_, value)) if !value.is_empty() && !kind.takes(value) => {
                    return self.failed(state, call, &format!("Failed to convert '{value}' of '{name}'"));
                }
                _ => {}
            }
        }
        // A real server does not mind others.
        for (index, (name, _)) in request.params.iter().enumerate() {
            let is_known = call.params.iter().any(|(known, _, _)| known == name);
            let is_twice = request.params[..index].iter().any(|(before, _)| before == name);
            if !is_known || is_twice {
                state.note(format!("{} {} has no parameter {name}, or has it once", call.method, call.path));
            }
        }
        let (generation, params, body) = (self.generation, request.params.clone(), request.body.clone());
        (call.answer)(state, &Args { generation, place, params, body })
    }

    /// The endpoint's own code; only 3.3 says why.
    fn failed(&self, state: &mut State, call: &Call, why: &str) -> Outcome {
        state.note(format!("{} {}: {why}", call.method, call.path));
        let (code, text) = call.failure;
        Err(match self.generation {
            Generation::V32 => Refusal::new(code, text),
            Generation::V33 => Refusal::new(code, format!("{}:{why}", self.generation.word(text))),
        })
    }

    /// Holds both against the document.
    fn check(&self, state: &mut State, call: &Call, request: &Request, answer: &Value, line: &str) {
        let Some(document) = self.document else { return };
        let mut problems = Vec::new();
        match document.call(&request.method, &request.path) {
            None => problems.push("the document has no such call".to_owned()),
            Some(documented) => {
                problems.extend(document.request_problems(documented, &request.params));
                problems.extend(document.answer_problems(documented, call.status, answer, &call.parts));
            }
        }
        for problem in problems {
            state.note(format!("{problem}: {line}"));
        }
    }
}

/// What stands in the placeholders of a path, if it fits.
fn places<'p>(template: &str, path: &'p str) -> Option<Vec<&'p str>> {
    let (parts, segments): (Vec<&str>, Vec<&str>) =
        (template.split('/').collect(), path.split('/').collect());
    if parts.len() != segments.len() {
        return None;
    }
    let mut places = Vec::new();
    for (part, segment) in parts.into_iter().zip(segments) {
        match part.starts_with('{') {
            true => places.push(segment),
            false if part == segment => {}
            false => return None,
        }
    }
    Some(places)
}

fn html(status: u16, text: &str) -> Response {
    Response { status, content_type: "text/html;charset=iso-8859-1", body: text.into() }
}

/// A request for people, without secrets.
fn shown(request: &Request) -> String {
    let path = request.path.strip_prefix(ROOT).unwrap_or(&request.path);
    let param = |(name, value): &(String, String)| {
        let value =
            if name == "userPassword" { "…".to_owned() } else { value.chars().take(SHOWN_CHARS).collect() };
        format!("{name}={value}")
    };
    let params: Vec<String> = request.params.iter().map(param).collect();
    let mark = if params.is_empty() { "" } else { "?" };
    format!("{} {path}{mark}{}", request.method, params.join("&"))
}
