//! The interface `openai`: chat completions with tools, as a stream or at once.

use serde_json::{Map, Value, json};

use super::exchange::{Ending, Prompt, Reply, Turn};
use super::sse::Event;
use super::{MaxTokensMember, ModelRecord, Provider};

/// Below the model's address.
pub const PATH: &str = "/chat/completions";

/// The body of a request.
pub fn body(record: &ModelRecord, prompt: &Prompt) -> Value {
    let mut body = Map::new();
    let mut put = |name: &str, value: Value| _ = body.insert(name.to_owned(), value);
    put("model", json!(record.model));
    let system = json!({ "role": "system", "content": prompt.system });
    put("messages", std::iter::once(system).chain(prompt.turns.iter().map(message)).collect());
    if !prompt.tools.is_empty() {
        let tool = |tool: &crate::agent::steps::background::ToolSpec| {
            json!({ "type": "function", "function": {
                "name": tool.name, "description": tool.description, "parameters": tool.input_schema } })
        };
        put("tools", prompt.tools.iter().map(tool).collect());
    }
    put(max_tokens_member(record).as_str(), json!(record.max_tokens));
    if let Some(temperature) = record.options.temperature {
        put("temperature", json!(temperature));
    }
    if record.options.is_streamed() {
        put("stream", json!(true));
        put("stream_options", json!({ "include_usage": true }));
    }
    Value::Object(body)
}

fn max_tokens_member(record: &ModelRecord) -> MaxTokensMember {
    let is_own = record.base_url == Provider::OpenAi.base_url();
    let usual = if is_own { MaxTokensMember::MaxCompletionTokens } else { MaxTokensMember::MaxTokens };
    record.options.max_tokens_member.unwrap_or(usual)
}

fn message(turn: &Turn) -> Value {
    match turn {
        Turn::User(content) => json!({ "role": "user", "content": content }),
        Turn::Assistant(content) => json!({ "role": "assistant", "content": content }),
        Turn::Call { thought, call_id, tool, input } => {
            // What was no JSON object would be refused.
            let arguments = if input.is_object() { input.to_string() } else { "{}".to_owned() };
            json!({ "role": "assistant", "content": thought, "tool_calls": [
                { "id": call_id, "type": "function", "function": { "name": tool, "arguments": arguments } }] })
        }
        Turn::Result { call_id, content, .. } => {
            json!({ "role": "tool", "tool_call_id": call_id, "content": content })
        }
    }
}

/// An answer that came at once. The error says what is wrong with it.
pub fn whole(answer: &Value) -> Result<Reply, String> {
    let mut reading = Reading::default();
    let choice = answer["choices"].get(0).ok_or("its answer has no `choices`")?;
    reading.part(&choice["message"]);
    reading.finish(choice);
    reading.usage(&answer["usage"]);
    reading.end()
}

/// An answer that comes as a stream.
#[derive(Default)]
pub struct Reading {
    reply: Reply,
    has_ended: bool,
}

impl Reading {
    /// Takes in an event. The error says why the answer cannot be used.
    pub fn take(&mut self, event: &Event) -> Result<(), String> {
        if event.data.trim() == "[DONE]" {
            return Ok(());
        }
        let chunk: Value = serde_json::from_str(&event.data)
            .map_err(|error| format!("its stream has an event that is no JSON: {error}"))?;
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            let message =
                error["message"].as_str().or_else(|| error.as_str()).unwrap_or("it does not say why");
            return Err(format!("its stream ended with an error: {message}"));
        }
        if let Some(choice) = chunk["choices"].get(0) {
            self.part(&choice["delta"]);
            self.finish(choice);
        }
        self.usage(&chunk["usage"]);
        Ok(())
    }

    /// The answer; an error if its end is missing.
    pub fn end(self) -> Result<Reply, String> {
        if self.has_ended { Ok(self.reply) } else { Err("its stream ended before the answer did".to_owned()) }
    }

    fn part(&mut self, part: &Value) {
        let texts = [(&mut self.reply.text, "content"), (&mut self.reply.reasoning, "reasoning_content")];
        for (text, member) in texts {
            Reply::push(text, part[member].as_str().unwrap_or_default());
        }
        Reply::push(&mut self.reply.text, part["refusal"].as_str().unwrap_or_default());
        for (place, call) in part["tool_calls"].as_array().into_iter().flatten().enumerate() {
            let place =
                call["index"].as_u64().map_or(place, |index| usize::try_from(index).unwrap_or(usize::MAX));
            let Some(known) = self.reply.call_at(place) else { continue };
            Reply::push(&mut known.name, call["function"]["name"].as_str().unwrap_or_default());
            match &call["function"]["arguments"] {
                Value::String(more) => Reply::push(&mut known.arguments, more),
                // Some servers send the object itself.
                object @ Value::Object(_) => Reply::push(&mut known.arguments, &object.to_string()),
                _ => {}
            }
        }
        if part["refusal"].is_string() {
            self.reply.ending = Ending::Withheld;
        }
    }

    fn finish(&mut self, choice: &Value) {
        let Some(reason) = choice["finish_reason"].as_str() else { return };
        self.has_ended = true;
        match reason {
            "length" => self.reply.ending = Ending::Cut,
            "content_filter" => self.reply.ending = Ending::Withheld,
            _ => {}
        }
    }

    fn usage(&mut self, usage: &Value) {
        if let Some(tokens) = usage["prompt_tokens"].as_i64() {
            self.reply.input_tokens = tokens.max(0);
        }
        if let Some(tokens) = usage["completion_tokens"].as_i64() {
            self.reply.output_tokens = tokens.max(0);
        }
    }
}
