//! The examples of the description work as they stand on a fresh demo. Each is sent as the page at `/docs`
//! sends it.

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

use lakeport_tests::{Client, EventStream, Lake, Response, stores, wasm_folder};
use serde_json::{Value, json};

/// How long a lookup may find nothing, because what it looks for is still being made.
const SOON: Duration = Duration::from_secs(30);

/// Operations whose examples cannot succeed on a fresh demo, with the reason.
const EXEMPT: [(&str, &str); 9] = [
    ("abandonRemoval", "the engine of the demo has removed all deleted workflows"),
    ("cancelAgentTask", "the planner may have answered by then"),
    ("cancelSync", "the sync of the demo has ended by then"),
    ("finishOidcSignIn", "it needs an OIDC issuer"),
    ("getConsoleFile", "the names of the files change with each build"),
    ("getIcon", "a server that was built without Node has no console"),
    ("rollbackPlugin", "it needs two generations of a plugin"),
    ("signIn", "it needs the header of the console"),
    ("startOidcSignIn", "it needs an OIDC issuer"),
];

type Values = BTreeMap<String, Value>;

struct Operation<'d> {
    id: &'d str,
    method: String,
    path: &'d str,
    node: &'d Value,
}

impl<'d> Operation<'d> {
    /// All operations of the document, in its order.
    fn all(document: &'d Value) -> Vec<Operation<'d>> {
        let mut all = Vec::new();
        for (path, methods) in document["paths"].as_object().expect("paths") {
            for (method, node) in methods.as_object().expect("methods") {
                let id = node["operationId"].as_str().expect("an id");
                all.push(Operation { id, method: method.to_uppercase(), path, node });
            }
        }
        all
    }

    /// Its own parameters; the shared ones, which are all optional headers, have no example.
    fn parameters(&self) -> impl Iterator<Item = (&'d str, &'d Value)> {
        let all = self.node["parameters"].as_array().expect("parameters").iter();
        all.filter_map(|parameter| Some((parameter["name"].as_str()?, parameter)))
    }

    fn body(&self) -> &'d Value {
        &self.node["requestBody"]["content"]["application/json"]
    }

    fn is_stream(&self) -> bool {
        self.node["responses"]["200"]["content"]["text/event-stream"].is_object()
    }

    /// Path and query; `None` if a required parameter has no value.
    fn target(&self, values: &Values) -> Option<String> {
        let mut path = self.path.to_owned();
        let mut query = Vec::new();
        for (name, parameter) in self.parameters() {
            let Some(value) = values.get(name) else {
                if parameter["required"] == true {
                    return None;
                }
                continue;
            };
            let value = encoded(&plain(value));
            if parameter["in"] == "path" {
                path = path.replace(&format!("{{{name}}}"), &value);
            } else {
                query.push(format!("{name}={value}"));
            }
        }
        Some(if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) })
    }

    /// Its place in the test: reads first, then changes of the demo, then what needs another example, and
    /// last what deletes.
    fn rank(&self) -> u8 {
        match self.id {
            // A generation that answers calls cannot be removed.
            "removePlugin" => 3,
            // The first token ends the local mode.
            "createToken" | "revokeToken" => 6,
            _ if self.method == "DELETE" || self.node["x-destroys"] == true => 5,
            _ if self.node["x-example-after"].is_array() => 4,
            _ if self.method == "GET" => 0,
            id if id.starts_with("create") => 2,
            _ => 1,
        }
    }
}

/// The page: it fills in the examples of the document and sends them.
struct Page<'d> {
    lake: &'d Lake,
    operations: &'d [Operation<'d>],
    token: Option<String>,
}

impl Page<'_> {
    fn client(&self) -> Client {
        match &self.token {
            Some(token) => self.lake.server.client_as(token),
            None => self.lake.server.client(),
        }
    }

    fn operation(&self, id: &str) -> &Operation<'_> {
        let found = self.operations.iter().find(|operation| operation.id == id);
        found.unwrap_or_else(|| panic!("no operation {id}"))
    }

    /// Sends an operation's example, once all that it looks up is there.
    fn send(&mut self, id: &str) -> Result<Response, String> {
        let begun = Instant::now();
        let (target, body) = loop {
            match self.filled(id) {
                Some(filled) => break filled,
                None if begun.elapsed() > SOON => return Err(format!("{id}: a lookup finds nothing")),
                None => sleep(Duration::from_millis(100)),
            }
        };
        let operation = self.operation(id);
        if operation.is_stream() {
            let stream = EventStream::open(self.lake.server.address(), &target, &[]);
            return Ok(Response { status: stream.status, headers: Vec::new(), body: Vec::new() });
        }
        if id == "stagePlugin" {
            let path = wasm_folder().join("example/tool_wordcount.wasm");
            let component =
                std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            return Ok(self.lake.server.post_bytes(&target, "application/octet-stream", &component));
        }
        let mut answer = self.client().send(&operation.method, &target, &[], body.as_bytes());
        // The change before it, on a slow machine.
        while answer.status == 409 && answer.error().ends_with("_running") && begun.elapsed() < SOON {
            sleep(Duration::from_millis(100));
            answer = self.client().send(&operation.method, &target, &[], body.as_bytes());
        }
        if id == "createToken" && answer.status == 200 {
            self.token = answer.data()["token"].as_str().map(str::to_owned);
        }
        Ok(answer)
    }

    /// Target and body of an example; `None` while something that it needs is not found.
    fn filled(&self, id: &str) -> Option<(String, String)> {
        let operation = self.operation(id);
        let mut values = Values::new();
        for (name, parameter) in operation.parameters() {
            let value = match &parameter["x-example-from"] {
                Value::Null => parameter.get("example").cloned(),
                lookup => self.look_up(lookup, &values),
            };
            values.extend(value.map(|value| (name.to_owned(), value)));
        }
        let mut body = operation.body()["example"].clone();
        for (place, lookup) in operation.body()["x-example-from"].as_object().into_iter().flatten() {
            let value = self.look_up(lookup, &values)?;
            match body.pointer_mut(place) {
                Some(member) => *member = value,
                None => body[place.trim_start_matches('/')] = value,
            }
        }
        let body = if body.is_null() { String::new() } else { body.to_string() };
        Some((operation.target(&values)?, body))
    }

    /// A value in the answer of another operation.
    fn look_up(&self, lookup: &Value, values: &Values) -> Option<Value> {
        let operation = self.operation(lookup["operationId"].as_str()?);
        let mut wanted = Values::new();
        for (name, parameter) in operation.parameters() {
            let given = &lookup["parameters"][name];
            let value = if given["operationId"].is_string() {
                self.look_up(given, values)
            } else if !given.is_null() {
                Some(given.clone())
            } else if parameter["in"] == "path" {
                values.get(name).cloned()
            } else {
                None
            };
            wanted.extend(value.map(|value| (name.to_owned(), value)));
        }
        let target = operation.target(&wanted)?;
        let pointer = lookup["pointer"].as_str()?;
        if operation.is_stream() {
            let stream = EventStream::open(self.lake.server.address(), &target, &[]);
            let events: Vec<Value> = stream.map(|event| event.data).collect();
            return pointed(&json!(events), pointer).cloned();
        }
        let body = match &operation.body()["example"] {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let answer = self.client().send(&operation.method, &target, &[], body.as_bytes());
        if answer.status != 200 {
            return None;
        }
        pointed(&answer.json(), pointer).cloned()
    }
}

/// What a JSON pointer leads to; the step `name=value` is the first item whose member has this value.
fn pointed<'v>(value: &'v Value, pointer: &str) -> Option<&'v Value> {
    let step = |at: &'v Value, step: &str| match (at, step.split_once('=')) {
        (Value::Array(items), Some((member, wanted))) => {
            items.iter().find(|item| plain(&item[member]) == wanted)
        }
        (Value::Array(items), None) => items.get(step.parse::<usize>().ok()?),
        _ => at.get(step),
    };
    let found = pointer.split('/').skip(1).try_fold(value, step)?;
    (!found.is_null()).then_some(found)
}

/// A value as the text of a parameter.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

#[test]
fn examples_work_on_a_fresh_demo() {
    let mut lake = Lake::prepare(&stores()[0]);
    lake.server.add_argument("--demo");
    lake.server.run();
    let document = lake.server.get("/openapi.json").json();
    let operations = Operation::all(&document);
    for (id, reason) in EXEMPT {
        assert!(operations.iter().any(|operation| operation.id == id), "no operation {id}: {reason}");
    }
    let is_tried = |operation: &&Operation<'_>| {
        operation.node["x-not-yet"] != true && !EXEMPT.iter().any(|(id, _)| *id == operation.id)
    };
    let mut tried: Vec<&Operation<'_>> = operations.iter().filter(is_tried).collect();
    tried.sort_by_key(|operation| operation.rank());
    let mut page = Page { lake: &lake, operations: &operations, token: None };
    let mut faults = Vec::new();
    for operation in tried {
        let before = operation.node["x-example-after"].as_array().into_iter().flatten();
        for first in before.filter_map(Value::as_str) {
            // 409: the example was sent before, and what it makes is still there.
            match page.send(first) {
                Ok(answer) if answer.status < 300 || answer.status == 409 => {}
                other => faults.push(format!("{first}, before {}: {other:?}", operation.id)),
            }
        }
        match page.send(operation.id) {
            Ok(answer) if (200..300).contains(&answer.status) => {}
            other => faults.push(format!("{}: {other:?}", operation.id)),
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}
