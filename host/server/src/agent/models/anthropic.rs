//! The interface `anthropic`: messages with tools, as a stream or at once.

use serde_json::{Map, Value, json};

use super::ModelRecord;
use super::exchange::{Ending, Prompt, Reply, Turn, Unusable, error_in, parsed, sent_name, tokens};
use super::sse::Event;

/// Below the model's address.
pub const PATH: &str = "/v1/messages";
/// The version of the interface that this follows.
pub const VERSION: &str = "2023-06-01";

/// The body of a request.
pub fn body(record: &ModelRecord, prompt: &Prompt) -> Value {
    let mut body = Map::new();
    let mut put = |name: &str, value: Value| _ = body.insert(name.to_owned(), value);
    put("model", json!(record.model));
    put("max_tokens", json!(record.max_tokens));
    put("system", json!(prompt.system));
    put("messages", json!(messages(&prompt.turns)));
    if !prompt.tools.is_empty() {
        let tool = |tool: &crate::agent::steps::background::ToolSpec| json!({ "name": tool.name, "description": tool.description, "input_schema": tool.input_schema });
        put("tools", prompt.tools.iter().map(tool).collect());
        put("tool_choice", json!({ "type": "auto", "disable_parallel_tool_use": true }));
    }
    if let Some(temperature) = record.options.temperature {
        put("temperature", json!(temperature));
    }
    if record.options.is_streamed() {
        put("stream", json!(true));
    }
    Value::Object(body)
}

/// Messages of one author after the other: those of one author together are one.
fn messages(turns: &[Turn]) -> Vec<Value> {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for turn in turns {
        let text = |text: &str| json!({ "type": "text", "text": text });
        let (role, blocks) = match turn {
            Turn::User(content) => ("user", vec![text(content)]),
            Turn::Assistant(content) => ("assistant", vec![text(content)]),
            Turn::Call { thought, call_id, tool, input, .. } => {
                let input = if input.is_object() { input.clone() } else { json!({}) };
                let call =
                    json!({ "type": "tool_use", "id": call_id, "name": sent_name(tool), "input": input });
                ("assistant", thought.iter().map(|thought| text(thought)).chain([call]).collect())
            }
            Turn::Result { call_id, content, is_error } => {
                let result = json!({ "type": "tool_result", "tool_use_id": call_id, "content": content,
                    "is_error": is_error });
                ("user", vec![result])
            }
        };
        match messages.last_mut() {
            Some((last, known)) if *last == role => known.extend(blocks),
            _ => messages.push((role, blocks)),
        }
    }
    messages.into_iter().map(|(role, content)| json!({ "role": role, "content": content })).collect()
}

/// An answer that came at once.
pub fn whole(answer: &Value) -> Result<Reply, Unusable> {
    if let Some(error) = error_in(answer) {
        return Err(error);
    }
    let blocks = answer["content"].as_array().ok_or_else(|| Unusable::new("has no `content`"))?;
    let mut reading = Reading::default();
    for (place, block) in blocks.iter().enumerate() {
        reading.begin(place, block);
        if let Some(input) = block.get("input") {
            reading.arguments(place, &input.to_string());
        }
    }
    reading.usage(&answer["usage"]);
    reading.stop(&answer["stop_reason"]);
    reading.has_ended = true;
    reading.end()
}

/// An answer that comes as a stream.
#[derive(Default)]
pub struct Reading {
    reply: Reply,
    /// The call of each block that is one.
    calls: Vec<Option<usize>>,
    has_ended: bool,
}

impl Reading {
    /// Takes in an event.
    pub fn take(&mut self, event: &Event) -> Result<(), Unusable> {
        // Some gateways end their streams like those of the other interface.
        if event.data.trim() == "[DONE]" {
            return Ok(());
        }
        let data = parsed(event.data.as_bytes())?;
        if event.kind == "error" && data["error"].is_null() {
            let why = data["message"].as_str().unwrap_or("it does not say why");
            return Err(Unusable::new(format!("said: {why}")));
        }
        if let Some(error) = error_in(&data) {
            return Err(error);
        }
        let place = data["index"].as_u64().map_or(0, |index| usize::try_from(index).unwrap_or(usize::MAX));
        match data["type"].as_str().unwrap_or(&event.kind) {
            "message_start" => self.usage(&data["message"]["usage"]),
            "content_block_start" => self.begin(place, &data["content_block"]),
            "content_block_delta" => {
                let delta = &data["delta"];
                Reply::push(&mut self.reply.text, delta["text"].as_str().unwrap_or_default());
                Reply::push(&mut self.reply.reasoning, delta["thinking"].as_str().unwrap_or_default());
                self.arguments(place, delta["partial_json"].as_str().unwrap_or_default());
            }
            "message_delta" => {
                self.usage(&data["usage"]);
                self.stop(&data["delta"]["stop_reason"]);
            }
            "message_stop" => self.has_ended = true,
            _ => {}
        }
        Ok(())
    }

    /// Whether nothing follows.
    pub fn is_over(&self) -> bool {
        self.has_ended
    }

    /// The answer; an error if its end is missing.
    pub fn end(self) -> Result<Reply, Unusable> {
        if self.has_ended {
            Ok(self.reply.tidied())
        } else {
            Err(Unusable::new("ended before the answer did"))
        }
    }

    fn begin(&mut self, place: usize, block: &Value) {
        match block["type"].as_str() {
            Some("text") => Reply::push(&mut self.reply.text, block["text"].as_str().unwrap_or_default()),
            Some("tool_use") => {
                let number = self.calls.iter().flatten().count();
                let Some(call) = self.reply.call_at(number) else { return };
                Reply::push(&mut call.name, block["name"].as_str().unwrap_or_default());
                // Blocks beyond those that calls may have are not looked at.
                if place < MAX_BLOCKS {
                    self.calls.resize(self.calls.len().max(place + 1), None);
                    self.calls[place] = Some(number);
                }
            }
            _ => {}
        }
    }

    fn arguments(&mut self, place: usize, more: &str) {
        let number = self.calls.get(place).copied().flatten();
        if let Some(call) = number.and_then(|number| self.reply.call_at(number)) {
            Reply::push(&mut call.arguments, more);
        }
    }

    fn stop(&mut self, reason: &Value) {
        match reason.as_str() {
            Some("max_tokens" | "model_context_window_exceeded") => self.reply.ending = Ending::Cut,
            Some("refusal") => self.reply.ending = Ending::Withheld,
            _ => {}
        }
    }

    fn usage(&mut self, usage: &Value) {
        if let Some(read) = tokens(&usage["input_tokens"]) {
            let cached = |name: &str| tokens(&usage[name]).unwrap_or(0);
            let cached = cached("cache_creation_input_tokens") + cached("cache_read_input_tokens");
            self.reply.input_tokens = Some(read + cached);
        }
        self.reply.output_tokens = tokens(&usage["output_tokens"]).or(self.reply.output_tokens);
    }
}

/// Blocks of one answer that may be calls.
const MAX_BLOCKS: usize = 64;
