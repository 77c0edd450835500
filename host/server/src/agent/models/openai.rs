//! The interface `openai`: chat completions with tools, as a stream or at once.

use http::Uri;
use serde_json::{Map, Value, json};

use super::exchange::{Ending, Prompt, Reply, Turn, Unusable, error_in, parsed, sent_name, tokens};
use super::sse::Event;
use super::{MaxTokensMember, ModelRecord};
use crate::agent::steps::background::ToolSpec;

/// Below the model's address.
pub const PATH: &str = "/chat/completions";

/// The body of a request.
pub fn body(record: &ModelRecord, prompt: &Prompt, max_tokens: MaxTokensMember) -> Value {
    let mut body = Map::new();
    let mut put = |name: &str, value: Value| _ = body.insert(name.to_owned(), value);
    put("model", json!(record.model));
    let system = json!({ "role": "system", "content": prompt.system });
    put("messages", std::iter::once(system).chain(prompt.turns.iter().map(message)).collect());
    if !prompt.tools.is_empty() {
        let tool = |tool: &ToolSpec| {
            json!({ "type": "function", "function": {
                "name": tool.name, "description": tool.description, "parameters": tool.input_schema } })
        };
        put("tools", prompt.tools.iter().map(tool).collect());
    }
    put(max_tokens.as_str(), json!(record.max_tokens));
    if let Some(temperature) = record.options.temperature {
        put("temperature", json!(temperature));
    }
    if record.options.is_streamed() {
        put("stream", json!(true));
        put("stream_options", json!({ "include_usage": true }));
    }
    Value::Object(body)
}

/// The member that bounds an answer there.
pub fn max_tokens_member(record: &ModelRecord) -> MaxTokensMember {
    const OWN_HOSTS: [&str; 2] = ["api.openai.com", "openai.azure.com"];
    let uri: Option<Uri> = record.base_url.parse().ok();
    let host = uri.as_ref().and_then(Uri::host).unwrap_or_default().to_ascii_lowercase();
    let is_own = OWN_HOSTS.iter().any(|own| host == *own || host.ends_with(&format!(".{own}")));
    let usual = if is_own { MaxTokensMember::MaxCompletionTokens } else { MaxTokensMember::MaxTokens };
    record.options.max_tokens_member.unwrap_or(usual)
}

fn message(turn: &Turn) -> Value {
    match turn {
        Turn::User(content) => json!({ "role": "user", "content": content }),
        Turn::Assistant(content) => json!({ "role": "assistant", "content": content }),
        Turn::Call { thought, reasoning, call_id, tool, input } => {
            // What was no JSON object would be refused.
            let arguments = if input.is_object() { input.to_string() } else { "{}".to_owned() };
            let function = json!({ "name": sent_name(tool), "arguments": arguments });
            let mut message = json!({ "role": "assistant", "content": thought, "tool_calls": [
                { "id": call_id, "type": "function", "function": function }] });
            // Where it was sent, it is wanted back.
            if let Some(reasoning) = reasoning {
                message["reasoning_content"] = json!(reasoning);
            }
            message
        }
        Turn::Result { call_id, content, .. } => {
            json!({ "role": "tool", "tool_call_id": call_id, "content": content })
        }
    }
}

/// An answer that came at once.
pub fn whole(answer: &Value) -> Result<Reply, Unusable> {
    if let Some(error) = error_in(answer) {
        return Err(error);
    }
    let choice = answer["choices"].get(0).ok_or_else(|| Unusable::new("has no `choices`"))?;
    let mut reading = Reading::default();
    let calls = choice["message"]["tool_calls"].as_array();
    for (place, call) in calls.into_iter().flatten().enumerate() {
        reading.call(call, Some(place as u64));
    }
    reading.texts(&choice["message"]);
    reading.finish(choice);
    reading.usage(&answer["usage"]);
    reading.has_ended = true;
    reading.end()
}

/// An answer that comes as a stream.
#[derive(Default)]
pub struct Reading {
    reply: Reply,
    /// The index and the id of each call.
    calls: Vec<(Option<u64>, String)>,
    has_ended: bool,
    is_over: bool,
}

impl Reading {
    /// Takes in an event.
    pub fn take(&mut self, event: &Event) -> Result<(), Unusable> {
        if event.data.trim() == "[DONE]" {
            // Some servers give no other reason of the end.
            self.has_ended |= self.reply.bytes() > 0;
            self.is_over = true;
            return Ok(());
        }
        let chunk = parsed(event.data.as_bytes())?;
        if let Some(error) = error_in(&chunk) {
            return Err(error);
        }
        if let Some(choice) = chunk["choices"].get(0) {
            let delta = &choice["delta"];
            for call in delta["tool_calls"].as_array().into_iter().flatten() {
                self.call(call, call["index"].as_u64());
            }
            self.texts(delta);
            self.finish(choice);
        }
        self.usage(&chunk["usage"]);
        Ok(())
    }

    /// Whether nothing follows.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// The answer; an error if its end is missing.
    pub fn end(self) -> Result<Reply, Unusable> {
        if self.has_ended {
            Ok(self.reply.tidied())
        } else {
            Err(Unusable::new("ended before the answer did"))
        }
    }

    fn texts(&mut self, part: &Value) {
        match &part["content"] {
            Value::String(text) => Reply::push(&mut self.reply.text, text),
            Value::Array(parts) => {
                for part in parts {
                    Reply::push(&mut self.reply.text, part["text"].as_str().unwrap_or_default());
                    for thinking in part["thinking"].as_array().into_iter().flatten() {
                        Reply::push(&mut self.reply.reasoning, thinking["text"].as_str().unwrap_or_default());
                    }
                }
            }
            _ => {}
        }
        let reasoning = part["reasoning_content"].as_str().or_else(|| part["reasoning"].as_str());
        Reply::push(&mut self.reply.reasoning, reasoning.unwrap_or_default());
        if let Some(refusal) = part["refusal"].as_str().filter(|refusal| !refusal.is_empty()) {
            Reply::push(&mut self.reply.text, refusal);
            self.reply.ending = Ending::Withheld;
        }
    }

    /// A call, or a part of one: of the one with its id, else with its index, else of the last one.
    fn call(&mut self, call: &Value, index: Option<u64>) {
        let id = call["id"].as_str().unwrap_or_default();
        let name = call["function"]["name"].as_str().unwrap_or_default();
        let known = if id.is_empty() {
            match index {
                Some(_) => self.calls.iter().rposition(|(known, _)| *known == index),
                None if name.is_empty() => self.calls.len().checked_sub(1),
                None => None,
            }
        } else {
            let same = self.calls.iter().position(|(_, known)| known == id);
            let nameless =
                |(known, of): &(Option<u64>, String)| index.is_some() && *known == index && of.is_empty();
            same.or_else(|| self.calls.iter().rposition(nameless))
        };
        let place = known.unwrap_or_else(|| {
            self.calls.push((index, String::new()));
            self.calls.len() - 1
        });
        if !id.is_empty() {
            id.clone_into(&mut self.calls[place].1);
        }
        let Some(known) = self.reply.call_at(place) else {
            // There are too many.
            self.calls.truncate(place);
            return;
        };
        // Some servers repeat it in each part.
        if known.name.is_empty() {
            Reply::push(&mut known.name, name);
        }
        match &call["function"]["arguments"] {
            Value::String(more) => Reply::push(&mut known.arguments, more),
            // Some servers send the object itself.
            object @ Value::Object(_) => Reply::push(&mut known.arguments, &object.to_string()),
            _ => {}
        }
    }

    fn finish(&mut self, choice: &Value) {
        let Some(reason) = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty()) else {
            return;
        };
        self.has_ended = true;
        match reason {
            "length" => self.reply.ending = Ending::Cut,
            "content_filter" => self.reply.ending = Ending::Withheld,
            _ => {}
        }
    }

    fn usage(&mut self, usage: &Value) {
        self.reply.input_tokens = tokens(&usage["prompt_tokens"]).or(self.reply.input_tokens);
        self.reply.output_tokens = tokens(&usage["completion_tokens"]).or(self.reply.output_tokens);
    }
}
