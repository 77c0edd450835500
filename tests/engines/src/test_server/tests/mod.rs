//! What real servers were seen to do, trap by trap, asked as a client asks.

mod control;
mod definitions;
mod refusals;
mod runs;
mod schedules;
mod table;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Generation, PROJECT, TestServer};
use crate::{Answer, Api};

/// Time for what happens by itself.
const SOON: Duration = Duration::from_secs(20);

const BOTH: [Generation; 2] = [Generation::V32, Generation::V33];

/// A server with a client.
struct Site {
    server: TestServer,
    api: Api,
    generation: Generation,
}

impl Site {
    fn new(generation: Generation) -> Site {
        let server = TestServer::start(generation);
        let api = server.access().api().expect("a base URL");
        Site { server, api, generation }
    }

    /// A test of each generation, side by side.
    fn each(test: impl Fn(&Site) + Sync) {
        let one = &|generation| {
            let site = Site::new(generation);
            test(&site);
            site.no_problems();
        };
        std::thread::scope(|scope| {
            let threads = BOTH.map(|generation| scope.spawn(move || one(generation)));
            for (thread, generation) in threads.into_iter().zip(BOTH) {
                assert!(thread.join().is_ok(), "it failed on {generation:?}, see above");
            }
        });
    }

    fn no_problems(&self) {
        assert_eq!(self.server.problems(), Vec::<String>::new(), "{:?}", self.generation);
    }

    fn word(&self, name: &str) -> String {
        self.generation.word(name)
    }

    /// `below` the project, with the names of 3.2.
    fn path(&self, below: &str) -> String {
        format!("/projects/{PROJECT}/{}", self.word(below))
    }

    fn get(&self, below: &str, query: &[(&str, &str)]) -> Answer {
        let query = self.named(query);
        let query: Vec<(&str, &str)> = query.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        self.api.get(&self.path(below), &query).expect("an answer")
    }

    fn named<'v>(&self, params: &[(&str, &'v str)]) -> Vec<(String, &'v str)> {
        params.iter().map(|(name, value)| (self.word(name), *value)).collect()
    }

    fn post(&self, below: &str, form: &[(&str, &str)]) -> Answer {
        let form = self.named(form);
        let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        self.api.post(&self.path(below), &form).expect("an answer")
    }

    fn put(&self, below: &str, form: &[(&str, &str)]) -> Answer {
        let form = self.named(form);
        let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        self.api.put(&self.path(below), &form).expect("an answer")
    }

    fn delete(&self, below: &str) -> Answer {
        self.api.delete(&self.path(below)).expect("an answer")
    }

    /// The rows of a page.
    fn rows(&self, below: &str, query: &[(&str, &str)]) -> Vec<Value> {
        let query = [&[("pageNo", "1"), ("pageSize", "100")], query].concat();
        let page = data(&self.get(below, &query));
        page["totalList"].as_array().expect("a list").clone()
    }

    /// The form of a definition of scripts, one after the other.
    fn form(&self, name: &str, scripts: &[&str]) -> Form {
        let count = scripts.len().to_string();
        let codes = data(&self.get("task-definition/gen-task-codes", &[("genNum", &count)]));
        let codes: Vec<i64> =
            codes.as_array().expect("codes").iter().map(|code| code.as_i64().expect("a number")).collect();
        let task = |(code, script): (&i64, &&str)| {
            json!({
                "code": code, "version": 0, "name": format!("t{}", code % 1_000), "description": "",
                "delayTime": "0", "taskType": "SHELL", "flag": "YES", "isCache": "NO", "taskPriority": "MEDIUM",
                "taskParams": {"localParams": [], "rawScript": script, "resourceList": []},
                "workerGroup": "default", "environmentCode": -1, "failRetryTimes": "0",
                "failRetryInterval": "1", "timeoutFlag": "CLOSE", "timeoutNotifyStrategy": "", "timeout": 0,
                "taskGroupId": 0, "taskGroupPriority": 0, "cpuQuota": -1, "memoryMax": -1,
                "taskExecuteType": "BATCH",
            })
        };
        Form {
            name: name.to_owned(),
            tasks: codes.iter().zip(scripts).map(task).collect(),
            params: Vec::new(),
            execution: "PARALLEL".to_owned(),
            codes,
        }
    }

    /// Creates a definition, and sets it online.
    fn online(&self, form: &Form) -> i64 {
        let made = data(&self.post("process-definition", &form.pairs()));
        let code = made["code"].as_i64().expect("a code");
        data(&self.release(code, "ONLINE"));
        code
    }

    fn release(&self, code: i64, state: &str) -> Answer {
        self.post(&format!("process-definition/{code}/release"), &[("releaseState", state)])
    }

    /// Starts a definition with more parameters.
    fn start(&self, code: i64, more: &[(&str, &str)]) -> Answer {
        let code = code.to_string();
        let form = [
            ("processDefinitionCode", code.as_str()),
            ("failureStrategy", "CONTINUE"),
            ("warningType", "NONE"),
            ("processInstancePriority", "MEDIUM"),
            ("execType", "START_PROCESS"),
            ("scheduleTime", ""),
        ];
        let is_given = |name: &str| more.iter().any(|(given, _)| *given == name);
        let form: Vec<(&str, &str)> =
            form.into_iter().filter(|(name, _)| !is_given(name)).chain(more.iter().copied()).collect();
        self.post("executors/start-process-instance", &form)
    }

    /// Starts it, and waits for the run.
    fn run(&self, code: i64, more: &[(&str, &str)]) -> i64 {
        let answer = data(&self.start(code, more));
        match self.generation {
            Generation::V33 => answer[0].as_i64().expect("an id"),
            Generation::V32 => {
                let trigger = answer.as_i64().expect("a trigger").to_string();
                eventually("the run is there", || {
                    let query = [("triggerCode", trigger.as_str())];
                    data(&self.get("process-instances/trigger", &query))[0]["id"].as_i64()
                })
            }
        }
    }

    fn detail(&self, run: i64) -> Value {
        data(&self.get(&format!("process-instances/{run}"), &[]))
    }

    /// Waits until a run has this state.
    fn until(&self, run: i64, state: &str) -> Value {
        let mut last = Value::Null;
        let begun = Instant::now();
        while begun.elapsed() < SOON {
            last = self.detail(run);
            if last["state"] == *state {
                return last;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{run} is not {state}: {last}");
    }

    fn execute(&self, run: i64, what: &str) -> Answer {
        let run = run.to_string();
        self.post("executors/execute", &[("processInstanceId", &run), ("executeType", what)])
    }

    /// The tries of a run, oldest first.
    fn tries(&self, run: i64) -> Vec<Value> {
        let run = run.to_string();
        let mut rows = self.rows("task-instances", &[("processInstanceId", &run)]);
        rows.sort_by_key(|row| row["id"].as_i64());
        rows
    }

    fn log(&self, one: &Value, skip: &str, limit: &str) -> Answer {
        let id = one["id"].to_string();
        let query = [("taskInstanceId", id.as_str()), ("skipLineNum", skip), ("limit", limit)];
        self.api.get("/log/detail", &query).expect("an answer")
    }
}

/// The parameters of a definition.
struct Form {
    name: String,
    codes: Vec<i64>,
    tasks: Vec<Value>,
    params: Vec<Value>,
    execution: String,
}

impl Form {
    fn param(mut self, name: &str, value: &str) -> Form {
        self.params.push(json!({"prop": name, "direct": "IN", "type": "VARCHAR", "value": value}));
        self
    }

    /// The parameters, as pairs that live as long as the test.
    fn pairs(&self) -> Vec<(&'static str, &'static str)> {
        let leaked = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
        let version = |code: i64| {
            let task = self.tasks.iter().find(|task| task["code"] == code);
            task.map_or(json!(0), |task| task["version"].clone())
        };
        let before = std::iter::once(0).chain(self.codes.iter().copied());
        let relations = before.zip(&self.codes).map(|(before, after)| {
            json!({
                "name": "", "preTaskCode": before, "preTaskVersion": version(before), "postTaskCode": after,
                "postTaskVersion": version(*after), "conditionType": "NONE", "conditionParams": {},
            })
        });
        let places = self.codes.iter().map(|code| json!({"taskCode": code, "x": 80, "y": 80}));
        vec![
            ("name", leaked(self.name.clone())),
            ("globalParams", leaked(Value::Array(self.params.clone()).to_string())),
            ("locations", leaked(places.collect::<Value>().to_string())),
            ("taskRelationJson", leaked(relations.collect::<Value>().to_string())),
            ("taskDefinitionJson", leaked(Value::Array(self.tasks.clone()).to_string())),
            ("executionType", leaked(self.execution.clone())),
        ]
    }
}

fn data(answer: &Answer) -> Value {
    answer.data().expect("code 0")
}

/// The HTTP status and the code.
fn codes(answer: &Answer) -> (u16, i64) {
    let code = answer.json().expect("an envelope")["code"].as_i64();
    (answer.status, code.expect("a code"))
}

fn eventually<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    while begun.elapsed() < SOON {
        if let Some(found) = found() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("not after {SOON:?}: {what}");
}

/// The members of rows as texts.
fn words(rows: &[Value], member: &str) -> Vec<String> {
    rows.iter().map(|row| row[member].as_str().unwrap_or_default().to_owned()).collect()
}
