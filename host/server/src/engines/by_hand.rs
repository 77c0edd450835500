//! Calls of an engine by hand, for those who write its plugin or wonder what it does: the answer, and the requests behind it.

use std::sync::Arc;
use std::time::Duration;

use lakeport_base::Error;
use lakeport_base::error::Detail;
use lakeport_bindings::engine::definitions::{DefinitionQuery, Source};
use lakeport_bindings::engine::model::{LogRequest, RunQuery, TaskRunRequest, WatchRequest};
use lakeport_http::form::Draft;
use lakeport_http::{Data, Nothing};
use lakeport_plugins::Recording;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::timeout_at;

use super::api::unknown;
use super::forms::{CallEngine, EnginePath};
use super::view::EngineCall;
use super::{EngineClient, store};
use crate::engines::Call;

/// Functions that change nothing.
const FUNCTIONS: [&str; 7] = [
    "deploys.test",
    "runs.find",
    "watch.instances",
    "watch.task-runs",
    "watch.log",
    "definitions.entries",
    "definitions.read",
];

/// Calls by hand at the same time; others wait within their time.
pub const AT_ONCE: usize = 2;
/// How long a call may take, if the request may.
const CALL_MAX: Duration = Duration::from_secs(30);

fn late() -> Error {
    Error::refused(504, "engine_timeout", "the function did not return within the time of the request")
}

/// A function with its parameter.
enum Asked {
    Test,
    Find(Vec<RunQuery>),
    Instances(WatchRequest),
    TaskRuns(TaskRunRequest),
    Log(LogRequest),
    Definitions(DefinitionQuery),
    Definition(Source),
}

/// A [`Source`], with the names of the contract.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum GivenSource {
    Deployed(String, String),
    Document(String),
}

impl From<GivenSource> for Source {
    fn from(given: GivenSource) -> Source {
        match given {
            GivenSource::Deployed(project, code) => Source::Deployed((project, code)),
            GivenSource::Document(text) => Source::Document(text),
        }
    }
}

/// `POST /api/v1/engines/{name}/call`
pub async fn call(call: Call<EnginePath, Nothing, Draft<CallEngine>>) -> Result<Data<EngineCall>, Error> {
    let (state, name, form) = (&call.state, &call.path.name, call.body.read());
    let asked = Asked::of(&form.function, form.input.clone());
    call.body.refuse(asked.as_ref().err().cloned().into_iter().collect())?;
    let asked = asked.map_err(|detail| Error::invalid(vec![detail]))?;
    let engine = store::find(&state.db, name).await?.ok_or_else(|| unknown(name))?;
    let recording = Arc::new(Recording::default());
    let client = EngineClient::of(state, &engine, call.request_id.as_str()).recorded_in(&recording);
    let answering = async {
        let _place = state.by_hand.acquire().await.map_err(Error::internal)?;
        asked.of_engine(&client).await
    };
    let answered = timeout_at(call.wait_until(CALL_MAX), answering).await;
    let answer = match answered.unwrap_or_else(|_| Err(late())) {
        Ok(answer) => Ok(answer),
        Err(Error::Refused(refusal)) => Err(*refusal),
        Err(error) => return Err(error),
    };
    Ok(Data::new(&EngineCall::new(answer, recording.recorded())))
}

impl Asked {
    fn of(function: &str, input: Option<Value>) -> Result<Asked, Detail> {
        Ok(match function {
            "deploys.test" if input.is_some() => {
                return Err(Detail::new("input", "must be absent: the function has no parameter"));
            }
            "deploys.test" => Asked::Test,
            "runs.find" => Asked::Find(read(input)?),
            "watch.instances" => Asked::Instances(read(input)?),
            "watch.task-runs" => Asked::TaskRuns(read(input)?),
            "watch.log" => Asked::Log(read(input)?),
            "definitions.entries" => Asked::Definitions(read(input)?),
            "definitions.read" => Asked::Definition(read::<GivenSource>(input)?.into()),
            _ => return Err(Detail::new("function", format!("must be one of {}", FUNCTIONS.join(", ")))),
        })
    }

    async fn of_engine(self, client: &EngineClient) -> Result<Value, Error> {
        match self {
            Asked::Test => shown(client.test().await),
            Asked::Find(queries) => shown(client.find(&queries).await),
            Asked::Instances(request) => shown(client.instances(&request).await),
            Asked::TaskRuns(request) => shown(client.task_runs(&request).await),
            Asked::Log(request) => shown(found(client.log(&request).await)),
            Asked::Definitions(query) => shown(client.definitions(&query).await),
            Asked::Definition(source) => shown(found(client.definition(&source).await)),
        }
    }
}

/// The parameter of a function.
fn read<T: DeserializeOwned>(input: Option<Value>) -> Result<T, Detail> {
    let input = renamed(input.unwrap_or_default(), &|name| name.replace('-', "_"));
    serde_json::from_value(input).map_err(|error| {
        // The contract's names have hyphens.
        let why = without_types(&error.to_string()).replace('_', "-");
        Detail::new("input", format!("does not fit the function: {why}"))
    })
}

/// `expected struct Watched with 3 elements` names a type of ours: it is an object to the caller.
fn without_types(why: &str) -> String {
    let mut words = why.split(' ').peekable();
    let mut plain = Vec::new();
    while let Some(word) = words.next() {
        let is_type = |next: &&str| next.starts_with(char::is_uppercase);
        match word {
            "struct" | "enum" if words.next_if(is_type).is_some() => plain.push("an object"),
            word => plain.push(word),
        }
    }
    plain.join(" ")
}

fn found<T>(answer: Result<Option<T>, Error>) -> Result<T, Error> {
    answer?.ok_or_else(|| Error::refused(404, "not_found", "the engine does not have it"))
}

fn shown(answer: Result<impl Serialize, Error>) -> Result<Value, Error> {
    let answer = serde_json::to_value(answer?).map_err(Error::internal)?;
    Ok(renamed(answer, &kebab_case))
}

/// Of a member or of a case: `task_run` and `TaskRun` are `task-run`.
fn kebab_case(name: &str) -> String {
    let mut kebab = String::with_capacity(name.len());
    for (at, letter) in name.char_indices() {
        match letter {
            '_' => kebab.push('-'),
            'A'..='Z' => {
                kebab.extend((at > 0).then_some('-'));
                kebab.push(letter.to_ascii_lowercase());
            }
            _ => kebab.push(letter),
        }
    }
    kebab
}

/// With other names of members.
fn renamed(value: Value, name_of: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(|item| renamed(item, name_of)).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(name, value)| (name_of(&name), renamed(value, name_of))).collect()
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_have_the_names_of_the_contract() {
        let instance = json!({ "id": "1", "workflow": { "id": 7, "name": "w" } });
        let input = json!({ "instance": instance, "task-run": "2", "max-bytes": 10, "ended": true });
        match Asked::of("watch.log", Some(input)) {
            Ok(Asked::Log(request)) => assert_eq!((request.task_run.as_str(), request.max_bytes), ("2", 10)),
            _ => panic!("it is a request for a log"),
        }
        let wrong = |function, input| Asked::of(function, input).err().expect("it is wrong").message;
        assert_eq!(
            wrong("watch.log", Some(json!({}))),
            "does not fit the function: missing field `instance`"
        );
        assert!(wrong("runs.find", None).contains("expected a sequence"));
        assert!(wrong("deploys.test", Some(json!({}))).contains("no parameter"));
        assert!(wrong("deploys.remove", None).starts_with("must be one of deploys.test, "));
        let source = Asked::of("definitions.read", Some(json!({ "deployed": ["p", "17"] })));
        assert!(matches!(source, Ok(Asked::Definition(Source::Deployed(_)))));
        let shown = shown(Ok(json!({ "task_run": [{ "TextPart": 1 }] }))).unwrap();
        assert_eq!(shown, json!({ "task-run": [{ "text-part": 1 }] }));
    }
}
