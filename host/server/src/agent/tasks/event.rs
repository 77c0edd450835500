//! The events of a task's stream. Each is one JSON object, written once and sent unchanged ever after.

use serde_json::{Map, Value, json};

use crate::agent::outcome::Outcome;
use crate::agent::time_of;

/// One step of a task.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// `reasoning`: what the model thought before, word for word, as some models want it back.
    Thinking {
        content: String,
        reasoning: Option<String>,
    },
    ToolCall {
        call_id: String,
        tool: String,
        input: Value,
    },
    ToolResult(ToolResult),
    Message {
        message_id: String,
        content: String,
        artifacts: Vec<Value>,
        outcome: Outcome,
    },
    Error {
        code: String,
        message: String,
        retryable: bool,
    },
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    pub call_id: String,
    pub tool: String,
    /// The output; or the error.
    pub outcome: Result<Value, ToolError>,
    pub duration_ms: i64,
    pub truncated: bool,
    /// Artifacts for the user, each with its `kind`.
    pub artifacts: Vec<Value>,
}

/// Why a call failed. The model sees it, too.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ToolError {
    pub code: String,
    pub message: String,
    pub retryable: bool,
    /// Pairs of a name and a value.
    #[serde(default)]
    pub context: Vec<(String, String)>,
}

impl Step {
    pub fn kind(&self) -> &'static str {
        match self {
            Step::Thinking { .. } => "thinking",
            Step::ToolCall { .. } => "tool_call",
            Step::ToolResult(_) => "tool_result",
            Step::Message { .. } => MESSAGE,
            Step::Error { .. } => ERROR,
        }
    }

    /// The JSON object to send.
    pub fn data(&self, seq: i64, task_id: &str, at_ms: i64) -> String {
        let mut data = Map::new();
        let mut put = |name: &str, value: Value| _ = data.insert(name.to_owned(), value);
        put("seq", json!(seq));
        put("type", json!(self.kind()));
        put("task_id", json!(task_id));
        put("created_at", json!(time_of(at_ms)));
        match self {
            Step::Thinking { content, .. } => put("content", json!(content)),
            Step::ToolCall { call_id, tool, input } => {
                put("call_id", json!(call_id));
                put("tool", json!(tool));
                put("input", input.clone());
            }
            Step::ToolResult(result) => {
                put("call_id", json!(result.call_id));
                put("tool", json!(result.tool));
                put("ok", json!(result.outcome.is_ok()));
                put("output", result.outcome.as_ref().ok().cloned().unwrap_or_default());
                put("duration_ms", json!(result.duration_ms));
                put("truncated", json!(result.truncated));
                if let Err(error) = &result.outcome {
                    put("error", json!({ "code": error.code, "message": error.message }));
                }
            }
            Step::Message { message_id, content, artifacts, outcome } => {
                put("message_id", json!(message_id));
                put("content", json!(content));
                put("artifacts", json!(artifacts));
                put("outcome", json!(outcome.as_str()));
                match outcome {
                    Outcome::Answered => {}
                    Outcome::NeedsClarification { candidates } => put("candidates", json!(candidates)),
                    Outcome::Refused { reason, suggestions } => {
                        put("reason", json!(reason));
                        put("suggestions", json!(suggestions));
                    }
                }
            }
            Step::Error { code, message, retryable } => {
                put("code", json!(code));
                put("message", json!(message));
                put("retryable", json!(retryable));
            }
        }
        Value::Object(data).to_string()
    }

    /// The data that a resumed task needs and the object does not contain.
    pub fn kept(&self) -> Option<String> {
        let kept = match self {
            Step::Thinking { reasoning: Some(reasoning), .. } => json!({ "reasoning": reasoning }),
            Step::ToolResult(result) => match &result.outcome {
                Ok(_) if result.artifacts.is_empty() => return None,
                Ok(_) => json!({ "artifacts": result.artifacts }),
                Err(error) => json!({ "error": error }),
            },
            _ => return None,
        };
        Some(kept.to_string())
    }

    /// Bytes of what is stored of it, about.
    pub fn bytes(&self) -> i64 {
        let bytes = self.data(0, "", 0).len() + self.kept().map_or(0, |kept| kept.len());
        i64::try_from(bytes).unwrap_or(i64::MAX)
    }

    /// The step of a stored event; `None` if no version of this program wrote it so.
    pub fn read(kind: &str, data: &str, kept: Option<&str>) -> Option<Step> {
        let mut data: Value = serde_json::from_str(data).ok()?;
        let text = |data: &Value, name: &str| data[name].as_str().map(str::to_owned);
        Some(match kind {
            "thinking" => {
                let kept: Option<Value> = kept.and_then(|kept| serde_json::from_str(kept).ok());
                let reasoning = kept.and_then(|kept| text(&kept, "reasoning"));
                Step::Thinking { content: text(&data, "content")?, reasoning }
            }
            "tool_call" => Step::ToolCall {
                call_id: text(&data, "call_id")?,
                tool: text(&data, "tool")?,
                input: data["input"].take(),
            },
            "tool_result" => {
                let mut kept: Value =
                    kept.map_or(Some(Value::Null), |text| serde_json::from_str(text).ok())?;
                let is_ok = data["ok"].as_bool()?;
                let outcome = if is_ok {
                    Ok(data["output"].take())
                } else {
                    Err(serde_json::from_value(kept["error"].take()).ok()?)
                };
                let artifacts =
                    if kept["artifacts"].is_array() { kept["artifacts"].take() } else { json!([]) };
                Step::ToolResult(ToolResult {
                    call_id: text(&data, "call_id")?,
                    tool: text(&data, "tool")?,
                    outcome,
                    duration_ms: data["duration_ms"].as_i64()?,
                    truncated: data["truncated"].as_bool()?,
                    artifacts: serde_json::from_value(artifacts).ok()?,
                })
            }
            MESSAGE => Step::Message {
                message_id: text(&data, "message_id")?,
                content: text(&data, "content")?,
                artifacts: serde_json::from_value(data["artifacts"].take()).ok()?,
                outcome: match data.get("outcome") {
                    Some(_) => serde_json::from_value(data).ok()?,
                    // Answers of before there were outcomes have none.
                    None => Outcome::Answered,
                },
            },
            ERROR => Step::Error {
                code: text(&data, "code")?,
                message: text(&data, "message")?,
                retryable: data["retryable"].as_bool()?,
            },
            _ => return None,
        })
    }
}

const MESSAGE: &str = "message";
const ERROR: &str = "error";

/// The names of the types, as the stream writes them, and whether nothing comes after one.
pub fn kind_named(name: &str) -> Option<(&'static str, bool)> {
    let known =
        [("thinking", false), ("tool_call", false), ("tool_result", false), (MESSAGE, true), (ERROR, true)];
    known.into_iter().find(|(kind, _)| *kind == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_again(step: &Step) {
        let data = step.data(3, "t", 0);
        assert_eq!(Step::read(step.kind(), &data, step.kept().as_deref()).as_ref(), Some(step));
        assert!(!data.contains('\n'), "one line");
        assert!(data.starts_with(&format!("{{\"seq\":3,\"type\":\"{}\",\"task_id\":\"t\",", step.kind())));
        assert!(data.contains("\"created_at\":\"1970-01-01T00:00:00.000Z\""), "{data}");
    }

    #[test]
    fn a_step_is_read_back_as_it_was_written() {
        let result = |outcome| {
            let (call_id, tool) = ("c".to_owned(), "run_sql".to_owned());
            let artifacts = Vec::new();
            Step::ToolResult(ToolResult {
                call_id,
                tool,
                outcome,
                duration_ms: 7,
                truncated: true,
                artifacts,
            })
        };
        read_again(&Step::Thinking { content: "so\nand \u{7}so".into(), reasoning: None });
        read_again(&Step::Thinking { content: "so".into(), reasoning: Some("so\0".into()) });
        read_again(&Step::ToolCall { call_id: "c".into(), tool: "x".into(), input: json!({ "a": [1] }) });
        read_again(&result(Ok(json!({ "rows": [[1, null]] }))));
        let context = vec![("could".to_owned(), "ask".to_owned())];
        let error = ToolError { code: "no".into(), message: "none".into(), retryable: false, context };
        read_again(&result(Err(error)));
        let Step::ToolResult(plain) = result(Ok(json!({}))) else { panic!() };
        let artifacts = vec![json!({ "kind": "sql", "sql": "SELECT 1" })];
        read_again(&Step::ToolResult(ToolResult { artifacts: artifacts.clone(), ..plain }));
        let outcome = Outcome::Answered;
        read_again(&Step::Message { message_id: "m".into(), content: "42".into(), artifacts, outcome });
        let outcome = Outcome::Refused { reason: "why".into(), suggestions: vec!["how?".into()] };
        let (message_id, content, artifacts) = ("m".into(), "no".into(), Vec::new());
        read_again(&Step::Message { message_id, content, artifacts, outcome });
        read_again(&Step::Error { code: "interrupted".into(), message: "m".into(), retryable: true });
    }

    #[test]
    fn only_failed_results_have_an_error() {
        let error = ToolError { code: "x".into(), message: "y".into(), retryable: true, context: Vec::new() };
        for (outcome, has_error) in [(Ok(json!(1)), false), (Err(error), true)] {
            let (call_id, tool) = (String::new(), String::new());
            let result =
                ToolResult { call_id, tool, outcome, duration_ms: 0, truncated: false, artifacts: vec![] };
            let data: Value = serde_json::from_str(&Step::ToolResult(result).data(1, "t", 0)).unwrap();
            assert_eq!(data.get("error").is_some(), has_error);
            assert!(data.get("output").is_some());
            assert!(!has_error || data["error"] == json!({ "code": "x", "message": "y" }));
        }
    }
}
