//! A server that speaks as a model does, by a script: chat completions (`openai`) and messages (`anthropic`), as a stream
//! and at once. The official clients of both are pointed at it in tests/clients.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// Characters of one part of a text in a stream.
const PART_CHARS: usize = 7;

/// What the model does with one request.
#[derive(Debug, Clone)]
pub enum Say {
    Text(String),
    /// A call, after a thought.
    Call {
        thought: &'static str,
        tool: &'static str,
        /// As the model writes them: JSON, or not.
        arguments: String,
    },
    /// Another status than 200, with `Retry-After`.
    Status(u16, Option<&'static str>, String),
    /// The answer, of which the connection ends before the last parts.
    Cut(Box<Say>),
    /// The answer, with this pause before each part.
    Slow(Duration, Box<Say>),
    /// 200, with this body.
    Body(String),
}

impl Say {
    pub fn text(text: &str) -> Say {
        Say::Text(text.to_owned())
    }

    pub fn call(tool: &'static str, input: &Value) -> Say {
        Say::Call { thought: "Let me look.", tool, arguments: input.to_string() }
    }
}

/// A request that came.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    pub path: String,
    /// By names in lower case.
    pub headers: HashMap<String, String>,
    pub body: Value,
}

type Script = dyn Fn(usize, &ModelRequest) -> Say + Send + Sync;

/// Answers until the test ends.
pub struct ModelServer {
    address: String,
    requests: Arc<Mutex<Vec<ModelRequest>>>,
    hung_up: Arc<AtomicUsize>,
}

impl ModelServer {
    /// The script gets the number of a request, from 0, and the request.
    pub fn start(script: impl Fn(usize, &ModelRequest) -> Say + Send + Sync + 'static) -> ModelServer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (script, kept): (Arc<Script>, _) = (Arc::new(script), Arc::clone(&requests));
        let hung_up = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&hung_up);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (script, kept, counted) = (Arc::clone(&script), Arc::clone(&kept), Arc::clone(&counted));
                std::thread::spawn(move || {
                    let Some(request) = read(&stream) else { return };
                    let number = {
                        let mut kept = kept.lock().expect("no panic");
                        kept.push(request.clone());
                        kept.len() - 1
                    };
                    if answer(&stream, &request, &script(number, &request)).is_err() {
                        counted.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        ModelServer { address, requests, hung_up }
    }

    /// Says these things one after the other, the last one again and again.
    pub fn saying(script: Vec<Say>) -> ModelServer {
        ModelServer::start(move |number, _| script[number.min(script.len() - 1)].clone())
    }

    /// `127.0.0.1:PORT`
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The base URL for this provider.
    pub fn base_url(&self, provider: &str) -> String {
        let path = if provider == "openai" { "/v1" } else { "" };
        format!("http://{}{path}", self.address)
    }

    /// How many clients did not wait for the end of an answer.
    pub fn hung_up(&self) -> usize {
        self.hung_up.load(Ordering::Relaxed)
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().expect("no panic").clone()
    }
}

fn read(stream: &TcpStream) -> Option<ModelRequest> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = HashMap::new();
    loop {
        line.clear();
        if reader.read_line(&mut line).ok()? <= 2 {
            break;
        }
        let (name, value) = line.split_once(':')?;
        headers.insert(name.trim().to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length")?.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(ModelRequest { path, headers, body: serde_json::from_slice(&body).ok()? })
}

fn answer(mut stream: &TcpStream, request: &ModelRequest, say: &Say) -> std::io::Result<()> {
    let is_openai = match request.path.as_str() {
        "/v1/chat/completions" => true,
        "/v1/messages" => false,
        _ => return whole(stream, 404, None, "{\"error\":{\"message\":\"no such path\"}}"),
    };
    let (pause, is_cut, say) = match say {
        Say::Slow(pause, say) => (*pause, false, &**say),
        Say::Cut(say) => (Duration::ZERO, true, &**say),
        say => (Duration::ZERO, false, say),
    };
    match say {
        Say::Status(status, retry_after, message) => {
            let error = json!({ "type": "error", "error": { "type": "an_error", "message": message } });
            return whole(stream, *status, *retry_after, &error.to_string());
        }
        Say::Body(body) => return whole(stream, 200, None, body),
        _ => {}
    }
    if request.body["stream"] != true {
        std::thread::sleep(pause);
        let body = if is_openai { openai_whole(say) } else { anthropic_whole(say) }.to_string();
        if is_cut {
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            return stream.write_all(format!("{head}{}", &body[..body.len() / 2]).as_bytes());
        }
        return whole(stream, 200, None, &body);
    }
    let mut parts = if is_openai { openai_parts(say) } else { anthropic_parts(say) };
    if is_cut {
        parts.truncate(parts.len() / 2);
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n")?;
    for part in parts {
        std::thread::sleep(pause);
        stream.write_all(format!("{:x}\r\n{part}\r\n", part.len()).as_bytes())?;
        stream.flush()?;
    }
    if is_cut { Ok(()) } else { stream.write_all(b"0\r\n\r\n") }
}

fn whole(mut stream: &TcpStream, status: u16, retry_after: Option<&str>, body: &str) -> std::io::Result<()> {
    let retry_after = retry_after.map(|text| format!("Retry-After: {text}\r\n")).unwrap_or_default();
    let head = format!(
        "HTTP/1.1 {status} Said\r\nContent-Type: application/json\r\n{retry_after}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes())
}

/// The text and the call of what is said.
fn content(say: &Say) -> (String, Option<(&'static str, &str)>) {
    match say {
        Say::Text(text) => (text.clone(), None),
        Say::Call { thought, tool, arguments } => ((*thought).to_owned(), Some((tool, arguments))),
        other => panic!("{other:?} within another"),
    }
}

fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(PART_CHARS).map(|part| part.iter().collect()).collect()
}

const PROMPT_TOKENS: u32 = 100;
const COMPLETION_TOKENS: u32 = 20;

fn openai_whole(say: &Say) -> Value {
    let (text, call) = content(say);
    let calls = call.map(|(tool, arguments)| {
        json!([{ "id": "call_1", "type": "function", "function": { "name": tool, "arguments": arguments } }])
    });
    let mut message = json!({ "role": "assistant", "content": text, "refusal": null });
    let reason = if calls.is_some() { "tool_calls" } else { "stop" };
    if let Some(calls) = calls {
        message["tool_calls"] = calls;
    }
    json!({ "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "scripted",
        "choices": [{ "index": 0, "message": message, "logprobs": null, "finish_reason": reason }],
        "usage": { "prompt_tokens": PROMPT_TOKENS, "completion_tokens": COMPLETION_TOKENS,
            "total_tokens": PROMPT_TOKENS + COMPLETION_TOKENS } })
}

fn openai_parts(say: &Say) -> Vec<String> {
    let (text, call) = content(say);
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({ "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
            "choices": choices, "usage": usage });
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value, reason: Value| {
        chunk(json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": reason }]), Value::Null)
    };
    let mut parts = vec![delta(json!({ "role": "assistant", "content": "" }), Value::Null)];
    parts.extend(pieces(&text).into_iter().map(|part| delta(json!({ "content": part }), Value::Null)));
    let mut reason = "stop";
    if let Some((tool, arguments)) = call {
        reason = "tool_calls";
        parts.push(delta(
            json!({ "tool_calls": [{ "index": 0, "id": "call_1", "type": "function",
                "function": { "name": tool, "arguments": "" } }] }),
            Value::Null,
        ));
        parts.extend(pieces(arguments).into_iter().map(|part| {
            delta(json!({ "tool_calls": [{ "index": 0, "function": { "arguments": part } }] }), Value::Null)
        }));
    }
    parts.push(delta(json!({}), json!(reason)));
    let usage = json!({ "prompt_tokens": PROMPT_TOKENS, "completion_tokens": COMPLETION_TOKENS,
        "total_tokens": PROMPT_TOKENS + COMPLETION_TOKENS });
    parts.push(chunk(json!([]), usage));
    parts.push("data: [DONE]\n\n".to_owned());
    parts
}

fn anthropic_head() -> Value {
    json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": { "input_tokens": PROMPT_TOKENS, "output_tokens": 1 } })
}

fn anthropic_whole(say: &Say) -> Value {
    let (text, call) = content(say);
    let mut message = anthropic_head();
    let mut blocks = vec![json!({ "type": "text", "text": text })];
    if let Some((tool, arguments)) = call {
        let input: Value = serde_json::from_str(arguments).unwrap_or(json!({}));
        blocks.push(json!({ "type": "tool_use", "id": "toolu_1", "name": tool, "input": input }));
    }
    message["stop_reason"] = json!(if call.is_some() { "tool_use" } else { "end_turn" });
    message["content"] = json!(blocks);
    message["usage"]["output_tokens"] = json!(COMPLETION_TOKENS);
    message
}

fn anthropic_parts(say: &Say) -> Vec<String> {
    let (text, call) = content(say);
    let event = |data: Value| {
        let kind = data["type"].as_str().expect("a type").to_owned();
        format!("event: {kind}\ndata: {data}\n\n")
    };
    let mut parts = vec![event(json!({ "type": "message_start", "message": anthropic_head() }))];
    parts.push(event(json!({ "type": "content_block_start", "index": 0,
        "content_block": { "type": "text", "text": "" } })));
    parts.push(event(json!({ "type": "ping" })));
    parts.extend(pieces(&text).into_iter().map(|part| {
        event(json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": part } }))
    }));
    parts.push(event(json!({ "type": "content_block_stop", "index": 0 })));
    if let Some((tool, arguments)) = call {
        parts.push(event(json!({ "type": "content_block_start", "index": 1,
            "content_block": { "type": "tool_use", "id": "toolu_1", "name": tool, "input": {} } })));
        parts.extend(pieces(arguments).into_iter().map(|part| {
            let delta = json!({ "type": "input_json_delta", "partial_json": part });
            event(json!({ "type": "content_block_delta", "index": 1, "delta": delta }))
        }));
        parts.push(event(json!({ "type": "content_block_stop", "index": 1 })));
    }
    let reason = if call.is_some() { "tool_use" } else { "end_turn" };
    parts.push(event(
        json!({ "type": "message_delta", "delta": { "stop_reason": reason, "stop_sequence": null },
        "usage": { "output_tokens": COMPLETION_TOKENS } }),
    ));
    parts.push(event(json!({ "type": "message_stop" })));
    parts
}
