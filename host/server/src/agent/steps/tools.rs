//! Tools: the plugins that the agent calls for one task. The tool's own schemas check inputs and outputs; a
//! failure becomes a result that the model sees.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use futures_util::future::BoxFuture;
use lakeport_base::text::shortened;
use lakeport_bindings::host::types::Error as PluginError;
use lakeport_bindings::tool::tool::{Artifact, Context, Outcome, ToolInfo};
use lakeport_plugins::tool::Tool;
use lakeport_plugins::{CallContext, CallError, CallFault, InstanceConfig, with_defaults};
use parking_lot::Mutex;
use serde_json::Value;

use super::model::Language;
use super::schema::Schemas;
use super::shorten::within;
use crate::agent::Agent;
use crate::agent::access::TopicAccess;
use crate::agent::models::exchange::own_tool_misused;
use crate::agent::tasks::event::{ToolError, ToolResult};
use crate::agent::tools::store as settings;

/// Bytes of an output in an event, and for a model.
const OUTPUT_MAX_BYTES: usize = 64 * 1024;
/// Characters of an error's code and message.
const CODE_MAX_CHARS: usize = 64;
const MESSAGE_MAX_CHARS: usize = 2_000;
/// Pairs of an error's context, and characters of each text.
const CONTEXT_MAX: usize = 20;
const CONTEXT_MAX_CHARS: usize = 500;
/// Rows that a tool can use.
const ROWS_MAX: u32 = 10_000;
/// Tool names in the error about an unknown tool.
const NAMES_SHOWN: usize = 50;

/// The tools for a model's calls.
pub trait Tools: Send + Sync {
    /// Calls a tool.
    fn call<'t>(&'t self, call_id: &'t str, tool: &'t str, input: &'t Value) -> BoxFuture<'t, Called>;
    /// Keeps a call's result for later calls.
    fn keep(&self, result: &ToolResult);
}

/// The result of a call.
#[derive(Debug, Clone)]
pub struct Called {
    pub outcome: Result<Value, ToolError>,
    pub truncated: bool,
    /// Each with its `kind`.
    pub artifacts: Vec<Value>,
}

impl From<ToolError> for Called {
    fn from(error: ToolError) -> Called {
        Called { outcome: Err(error), truncated: false, artifacts: Vec::new() }
    }
}

impl ToolError {
    pub fn new(code: &str, message: impl Into<String>, retryable: bool) -> ToolError {
        ToolError { code: code.to_owned(), message: message.into(), retryable, context: Vec::new() }
    }
}

/// The plugins, for one task.
pub struct PluginTools {
    pub state: Arc<Agent>,
    pub client: Arc<TopicAccess>,
    pub task_id: String,
    pub topic_id: String,
    pub question: String,
    pub language: Language,
    /// Set when the caller no longer waits for the task.
    pub cancelled: Arc<AtomicBool>,
    /// The plugins that it has called.
    pub plugins: Mutex<HashMap<String, Tool>>,
}

impl Tools for PluginTools {
    fn call<'t>(&'t self, call_id: &'t str, tool: &'t str, input: &'t Value) -> BoxFuture<'t, Called> {
        Box::pin(async move { self.try_call(call_id, tool, input).await.unwrap_or_else(Called::from) })
    }

    fn keep(&self, result: &ToolResult) {
        let artifacts: Vec<Artifact> = result.artifacts.iter().filter_map(unjoined).collect();
        self.client.keep(&result.call_id, &result.tool, &artifacts);
    }
}

impl PluginTools {
    async fn try_call(&self, call_id: &str, tool: &str, input: &Value) -> Result<Called, ToolError> {
        if let Some(wrong) = own_tool_misused(tool) {
            return Err(ToolError::new("invalid_input", format!("the call of {tool} {wrong}"), true));
        }
        let plugin = self.plugin(tool);
        let (Ok(info), Ok(digest)) = (plugin.info(), plugin.digest()) else { return Err(self.unknown(tool)) };
        let schemas = self.state.schemas().of(digest, info);
        schemas.check_input(input).map_err(|wrong| ToolError::new("invalid_input", wrong, true))?;
        let about = Context {
            call_id: call_id.to_owned(),
            task_id: self.task_id.clone(),
            topic_id: self.topic_id.clone(),
            question: self.question.clone(),
            language: self.language.tag().to_owned(),
            default_datasource: self.client.default_datasource().await,
            max_rows: ROWS_MAX,
            extra: None,
        };
        let context = CallContext {
            timeout: (info.timeout_ms > 0).then(|| Duration::from_millis(info.timeout_ms.into())),
            cancelled: Arc::clone(&self.cancelled),
            instance: Some(Arc::new(self.instance(info, &schemas).await?)),
            topic: Some(Arc::clone(&self.client) as _),
            ..CallContext::new(call_id)
        };
        let outcome = plugin.call(context, &input.to_string(), &about).await.map_err(failed)?;
        called(outcome, |output| schemas.check_output(output))
            .inspect_err(|error| plugin.blame(call_id, &error.message))
    }

    /// The plugin of this name, the same generation for the whole task. A canary takes its share of topics.
    fn plugin(&self, tool: &str) -> Tool {
        if let Some(plugin) = self.plugins.lock().get(tool) {
            return plugin.clone();
        }
        let plugin = self.state.plugins.registry().tool(tool, &format!("topic/{}", self.topic_id));
        // A model's inventions are not kept.
        if plugin.info().is_ok() {
            self.plugins.lock().insert(tool.to_owned(), plugin.clone());
        }
        plugin
    }

    /// The tool's settings, with its schema's defaults. They were checked by the schema of another generation, perhaps.
    async fn instance(&self, info: &ToolInfo, schemas: &Schemas) -> Result<InstanceConfig, ToolError> {
        let settings = settings::of(&self.state.db, &info.name).await.map_err(|error| {
            tracing::warn!(tool = info.name, "the settings of a tool were not read: {error}");
            ToolError::new("unavailable", "the settings of the tool could not be read; try again", true)
        })?;
        let settings = with_defaults(&info.config_schema, settings);
        schemas.check_settings(&settings).map_err(|wrong| {
            let message =
                format!("the settings of the tool do not fit its schema: {wrong}; an admin can change them");
            ToolError::new("invalid_settings", message, false)
        })?;
        Ok(InstanceConfig {
            name: info.name.clone(),
            settings,
            auth_recipe: None,
            time_zone: self.state.config.time_zone,
            memo: Arc::default(),
            http: None,
        })
    }

    fn unknown(&self, tool: &str) -> ToolError {
        let tools = self.state.plugins.registry().tools();
        let names: Vec<&str> = tools.iter().take(NAMES_SHOWN).map(|info| info.name.as_str()).collect();
        let tool = shortened(tool, CODE_MAX_CHARS);
        ToolError::new(
            "unknown_tool",
            format!("there is no tool `{tool}`; there are: {}", names.join(", ")),
            true,
        )
    }
}

/// An outcome within the limits of an event, or the reason why it is invalid.
fn called(outcome: Outcome, check: impl FnOnce(&Value) -> Result<(), String>) -> Result<Called, ToolError> {
    let bad =
        |why: String| ToolError::new("bad_output", format!("the tool broke its own contract: {why}"), false);
    let output: Value = serde_json::from_str(&outcome.output)
        .map_err(|error| bad(format!("its output is no JSON: {error}")))?;
    check(&output).map_err(|wrong| bad(format!("its output does not fit its schema: {wrong}")))?;
    let artifacts: Result<Vec<Value>, String> = outcome.artifacts.iter().map(joined).collect();
    let (output, is_short) = within(output, OUTPUT_MAX_BYTES);
    Ok(Called {
        outcome: Ok(output),
        truncated: outcome.truncated || is_short,
        artifacts: artifacts.map_err(bad)?,
    })
}

/// An artifact in shown form: the members of its content after its `kind`.
fn joined(artifact: &Artifact) -> Result<Value, String> {
    let content: Value = serde_json::from_str(&artifact.content)
        .map_err(|error| format!("an artifact's content is no JSON: {error}"))?;
    let Value::Object(members) = content else {
        return Err(format!("the content of its artifact `{}` is no object", artifact.kind));
    };
    if let Some(missing) = needed(&artifact.kind).iter().find(|name| !members.contains_key(**name)) {
        return Err(format!("its artifact `{}` has no `{missing}`", artifact.kind));
    }
    if artifact.kind == "chart" && has_address(&members["spec"]) {
        return Err(
            "its chart names an address or a field of a form; a chart brings its data with it".to_owned()
        );
    }
    let mut shown = serde_json::Map::new();
    shown.insert("kind".to_owned(), artifact.kind.clone().into());
    shown.extend(members.into_iter().filter(|(name, _)| name != "kind"));
    Ok(shown.into())
}

/// The required members of a known kind.
fn needed(kind: &str) -> &'static [&'static str] {
    match kind {
        "sql" => &["datasource", "sql"],
        "table" => &["columns", "rows", "row_count", "truncated"],
        "chart" => &["spec"],
        _ => &[],
    }
}

/// Whether a specification makes its reader fetch or follow an address, puts fields of a form into the page, or configures the
/// program that shows it. Its data is exempt.
fn has_address(spec: &Value) -> bool {
    match spec {
        Value::Array(items) => items.iter().any(has_address),
        Value::Object(members) => members.iter().any(|(name, member)| match name.as_str() {
            "values" | "datasets" => false,
            "url" | "href" | "src" | "bind" | "usermeta" => true,
            _ => has_address(member),
        }),
        _ => false,
    }
}

/// An artifact in a tool's form.
fn unjoined(shown: &Value) -> Option<Artifact> {
    let mut content = shown.as_object()?.clone();
    let kind = content.shift_remove("kind")?.as_str()?.to_owned();
    Some(Artifact { kind, content: Value::Object(content).to_string() })
}

/// A failed call in the model's form.
fn failed(error: CallError) -> ToolError {
    let message = shortened(&error.to_string(), MESSAGE_MAX_CHARS);
    match error {
        CallError::Failed { fault, .. } => {
            let retryable = matches!(fault, CallFault::Busy | CallFault::Drained | CallFault::Timeout);
            ToolError::new(fault.code(), message, retryable)
        }
        CallError::Answered(error) => answered(error, message),
        CallError::Quarantined { .. } => ToolError::new("plugin_quarantined", message, false),
        CallError::NotActive(_) => ToolError::new("plugin_not_active", message, false),
    }
}

/// A tool's own code and context, if they are well-formed.
fn answered(error: PluginError, message: String) -> ToolError {
    let is_code = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let fits =
        !error.code.is_empty() && error.code.len() <= CODE_MAX_CHARS && error.code.chars().all(is_code);
    let code = if fits { error.code } else { "tool_failed".to_owned() };
    let short = |text: String| shortened(&text, CONTEXT_MAX_CHARS);
    let context =
        error.context.into_iter().take(CONTEXT_MAX).map(|(name, value)| (short(name), short(value)));
    ToolError { code, message, retryable: error.retryable, context: context.collect() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outcome(output: &str, artifacts: &[(&str, Value)]) -> Outcome {
        let artifact = |(kind, content): &(&str, Value)| Artifact {
            kind: (*kind).to_owned(),
            content: content.to_string(),
        };
        Outcome {
            output: output.to_owned(),
            artifacts: artifacts.iter().map(artifact).collect(),
            truncated: false,
        }
    }

    fn told(outcome: Outcome) -> Called {
        called(outcome, |_| Ok(())).unwrap()
    }

    #[test]
    fn a_long_output_is_cut_and_marked() {
        let long = json!({ "rows": vec!["x".repeat(100); 2_000] }).to_string();
        let called = told(outcome(&long, &[]));
        assert!(called.truncated && called.outcome.unwrap().to_string().len() <= OUTPUT_MAX_BYTES);
        assert!(!told(outcome("{}", &[])).truncated);
    }

    #[test]
    fn what_breaks_the_tools_own_contract_is_no_result() {
        let chart = |spec: Value| ("chart", json!({ "spec": spec }));
        for wrong in [
            outcome("no json", &[]),
            outcome("{}", &[("sql", json!("text"))]),
            outcome("{}", &[("table", json!({ "rows": [] }))]),
            outcome("{}", &[chart(json!({ "data": { "url": "http://x" } }))]),
            outcome("{}", &[chart(json!({ "layer": [{ "encoding": { "href": { "field": "a" } } }] }))]),
        ] {
            assert_eq!(called(wrong, |_| Ok(())).unwrap_err().code, "bad_output");
        }
        let refused = called(outcome("{}", &[]), |_| Err("is wrong".to_owned())).unwrap_err();
        assert!(refused.message.contains("is wrong"));
        // A column may have any name.
        told(outcome("{}", &[chart(json!({ "data": { "values": [{ "url": "http://x" }] } }))]));
    }

    #[test]
    fn artifact_kinds_are_shown_not_passed_on() {
        let sql = json!({ "datasource": "shop", "sql": "SELECT 1" });
        let called = told(outcome("{}", &[("sql", sql.clone())]));
        assert_eq!(called.artifacts, [json!({ "kind": "sql", "datasource": "shop", "sql": "SELECT 1" })]);
        let artifact = unjoined(&called.artifacts[0]).unwrap();
        assert_eq!((artifact.kind.as_str(), artifact.content), ("sql", sql.to_string()));
    }

    #[test]
    fn a_made_up_code_is_not_passed_on() {
        let error = |code: &str| PluginError {
            code: code.to_owned(),
            message: "m".repeat(5_000),
            retryable: false,
            retry_after_ms: None,
            may_have_applied: false,
            upstream: None,
            context: vec![("could".to_owned(), "x".repeat(5_000)); 50],
        };
        let failed = failed(CallError::Answered(error("cannot_answer")));
        assert_eq!((failed.code.as_str(), failed.context.len()), ("cannot_answer", CONTEXT_MAX));
        assert_eq!(failed.message.chars().count(), MESSAGE_MAX_CHARS + 1);
        assert_eq!(super::failed(CallError::Answered(error("<b>"))).code, "tool_failed");
    }
}
