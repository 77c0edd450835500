//! Definitions, and answers of both interfaces.

use serde_json::{Value, json};

use super::definition::{Wanted, changed};
use super::exchange::{Ending, Prompt, Reply, Turn, Unusable, parsed, sent_name};
use super::forms::{CreateModel, UpdateModel};
use super::sse::{Event, Events};
use super::{MaxTokensMember, ModelRecord, Options, Provider, anthropic, openai};
use crate::agent::outcome::Outcome;
use crate::agent::steps::background::ToolSpec;
use crate::agent::steps::model::{Language, Next};

fn record(provider: Provider) -> ModelRecord {
    ModelRecord {
        id: 3,
        name: "mine".to_owned(),
        provider,
        base_url: "http://127.0.0.1:9/v1".to_owned(),
        model: "m-1".to_owned(),
        secret: Some(vec![1]),
        is_default: false,
        max_tokens: 100,
        timeout_s: 5,
        options: Options::default(),
        created_at_ms: 1,
        updated_at_ms: 1,
    }
}

fn update(form: Value) -> Result<Wanted, Vec<String>> {
    let form: UpdateModel = serde_json::from_value(form).expect("a form");
    changed(&record(Provider::OpenAi), &form)
        .map_err(|wrong| wrong.into_iter().map(|detail| detail.field).collect())
}

#[test]
fn all_that_is_wrong_with_a_model_is_named() {
    let form: CreateModel =
        serde_json::from_value(json!({ "name": "Größe", "provider": "offline", "model": "m",
        "baseUrl": "ftp://x", "apiKey": "a b", "options": { "temperature": 3, "inputPrice": -1 } }))
        .expect("a form");
    let wrong = changed(&record(Provider::Offline), &form.into()).unwrap_err();
    let fields: Vec<&str> = wrong.iter().map(|detail| detail.field.as_str()).collect();
    assert_eq!(
        fields,
        ["name", "provider", "baseUrl", "apiKey", "options.temperature", "options.inputPrice"]
    );
}

#[test]
fn a_key_is_not_sent_to_another_address() {
    assert_eq!(update(json!({ "baseUrl": "https://other.example/v1" })).unwrap_err(), ["apiKey"]);
    assert_eq!(update(json!({ "provider": "anthropic" })).unwrap_err(), ["apiKey"]);
    let moved = update(json!({ "baseUrl": "https://other.example/v1/", "apiKey": "k2" })).unwrap();
    assert_eq!(moved.model.base_url, "https://other.example/v1");
    assert!(update(json!({ "baseUrl": "http://127.0.0.1:9/v1/", "model": "m-2" })).is_ok());
    let reset = update(json!({ "baseUrl": null, "apiKey": null, "maxTokens": null })).unwrap();
    assert_eq!((reset.model.base_url.as_str(), reset.model.max_tokens), ("https://api.openai.com/v1", 4_096));
}

#[test]
fn costs_are_counted_in_millionths() {
    let options = Options { input_price: Some(2.5), output_price: Some(10.0), ..Options::default() };
    assert_eq!(options.spent(1_000_000, 0).cost_micros, 2_500_000);
    let micros = (options.spent(100, 30).cost_micros, Options::default().spent(9, 9).cost_micros);
    assert_eq!(micros, (550, 0));
}

fn prompt() -> Prompt {
    let call = |thought: Option<&str>, input: Value| Turn::Call {
        thought: thought.map(str::to_owned),
        reasoning: None,
        call_id: "c1".to_owned(),
        tool: "run_sql".to_owned(),
        input,
    };
    let result = |content: &str, is_error: bool| Turn::Result {
        call_id: "c1".to_owned(),
        content: content.to_owned(),
        is_error,
    };
    Prompt {
        system: "rules".to_owned(),
        turns: vec![
            Turn::User("before".to_owned()),
            Turn::Assistant("yes".to_owned()),
            Turn::User("how many?".to_owned()),
            call(Some("so"), json!({ "sql": "SELECT 1" })),
            result("[1]", false),
            call(None, json!("no json {")),
            result("wrong", true),
        ],
        tools: vec![ToolSpec {
            name: "run_sql".to_owned(),
            description: "runs".to_owned(),
            input_schema: json!({ "type": "object" }),
        }],
    }
}

#[test]
fn a_conversation_has_the_form_of_each_interface() {
    let body = openai::body(&record(Provider::OpenAi), &prompt(), MaxTokensMember::MaxTokens);
    let roles: Vec<&str> =
        body["messages"].as_array().unwrap().iter().filter_map(|one| one["role"].as_str()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user", "assistant", "tool", "assistant", "tool"]);
    let call = &body["messages"][4]["tool_calls"][0];
    assert_eq!(call["function"]["arguments"], json!(r#"{"sql":"SELECT 1"}"#), "a text, not an object");
    assert_eq!(
        (&body["messages"][4]["content"], &body["messages"][6]["content"]),
        (&json!("so"), &Value::Null)
    );
    assert_eq!(body["messages"][6]["tool_calls"][0]["function"]["arguments"], json!("{}"));
    assert_eq!((&body["max_tokens"], &body["stream"]), (&json!(100), &json!(true)));
    assert!(body.get("temperature").is_none());
    let own = ModelRecord { base_url: Provider::OpenAi.base_url().to_owned(), ..record(Provider::OpenAi) };
    let own = openai::body(&own, &prompt(), openai::max_tokens_member(&own));
    assert!(own.get("max_tokens").is_none() && own["max_completion_tokens"] == json!(100));

    let body = anthropic::body(&record(Provider::Anthropic), &prompt());
    let messages = body["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().filter_map(|one| one["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user", "assistant", "user"]);
    assert_eq!(messages[3]["content"][1]["input"], json!({ "sql": "SELECT 1" }));
    assert_eq!(messages[5]["content"][0]["input"], json!({}));
    assert_eq!(messages[6]["content"][0]["is_error"], json!(true));
    assert_eq!((&body["system"], &body["tools"][0]["name"]), (&json!("rules"), &json!("run_sql")));
}

fn events(stream: &str) -> Vec<Event> {
    Events::default().take(stream.as_bytes())
}

fn of_openai(chunks: &[Value]) -> Result<Reply, Unusable> {
    let mut reading = openai::Reading::default();
    for chunk in chunks {
        for event in events(&format!("data: {chunk}\n\n")) {
            reading.take(&event)?;
        }
    }
    reading.end()
}

#[test]
fn an_openai_stream_is_put_together() {
    let delta = |delta: Value| json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] });
    let call = |arguments: &str| {
        delta(json!({ "tool_calls": [{ "index": 0, "function": { "arguments": arguments } }] }))
    };
    let named = delta(json!({ "role": "assistant", "content": "so", "tool_calls": [{ "index": 0, "id": "x",
        "type": "function", "function": { "name": "run_sql", "arguments": "" } }] }));
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] });
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": 12, "completion_tokens": 3 } });
    let chunks = [named, call("{\"sql\":"), call("\"SELECT 1\"}"), end, usage];
    let reply = of_openai(&chunks).unwrap();
    assert_eq!((reply.input_tokens, reply.output_tokens), (Some(12), Some(3)));
    let said = reply.said(Language::English, 100).unwrap();
    assert_eq!(said.thought.as_deref(), Some("so"));
    let input = json!({ "sql": "SELECT 1" });
    assert_eq!(said.next, Next::Call { tool: "run_sql".to_owned(), input });
    assert!(of_openai(&chunks[..3]).unwrap_err().why.contains("ended before"), "it was cut");
    let error = json!({ "error": { "message": "overloaded" } });
    assert!(of_openai(&[error]).unwrap_err().why.contains("overloaded"));
}

#[test]
fn an_anthropic_stream_is_put_together() {
    let stream = concat!(
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":2,\"output_tokens\":1}}}\n\n",
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
        "event: ping\ndata: {\"type\":\"ping\"}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"so\"}}\n\n",
        "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"run_sql\",\"input\":{}}}\n\n",
        "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"a\\\":1}\"}}\n\n",
        "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":7}}\n\n",
        "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    );
    let read = |stream: &str| -> Result<Reply, Unusable> {
        let mut reading = anthropic::Reading::default();
        events(stream).iter().try_for_each(|event| reading.take(event))?;
        reading.end()
    };
    let reply = read(stream).unwrap();
    assert_eq!((reply.input_tokens, reply.output_tokens), (Some(12), Some(7)));
    let said = reply.said(Language::English, 100).unwrap();
    assert_eq!(said.next, Next::Call { tool: "run_sql".to_owned(), input: json!({ "a": 1 }) });
    assert_eq!(said.thought.as_deref(), Some("so"));
    let cut = &stream[..stream.find("event: message_stop").unwrap()];
    assert!(read(cut).unwrap_err().why.contains("ended before"));
    let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    assert!(read(error).unwrap_err().why.contains("Overloaded"));
    let whole = json!({ "content": [{ "type": "text", "text": "42" }], "stop_reason": "end_turn",
        "usage": { "input_tokens": 1, "output_tokens": 1 } });
    assert_eq!(anthropic::whole(&whole).unwrap().text, "42");
}

fn reply(name: &str, arguments: &str) -> Next {
    let mut reply = Reply::default();
    let call = reply.call_at(0).unwrap();
    (call.name, call.arguments) = (name.to_owned(), arguments.to_owned());
    reply.said(Language::English, 100).unwrap().next
}

#[test]
fn several_calls_are_made_in_order() {
    let said = |calls: &[(&str, &str)]| {
        let mut reply = Reply::default();
        for (place, (name, arguments)) in calls.iter().enumerate() {
            let call = reply.call_at(place).unwrap();
            (call.name, call.arguments) = ((*name).to_owned(), (*arguments).to_owned());
        }
        reply.said(Language::English, 100).unwrap().next
    };
    let calls =
        |names: &[&str]| Next::Calls(names.iter().map(|name| ((*name).to_owned(), json!({}))).collect());
    assert_eq!(said(&[("a", "{}"), ("b", "{}"), ("nope", "{}")]), calls(&["a", "b", "nope"]));
    // What ends the question comes after what the calls before it gave.
    let cannot = ("cannot_answer", r#"{"reason":"no data"}"#);
    assert_eq!(said(&[("a", "{}"), ("b", "{}"), cannot]), calls(&["a", "b"]));
    assert_eq!(said(&[("a", "{}"), cannot]), Next::Call { tool: "a".to_owned(), input: json!({}) });
    assert!(matches!(said(&[cannot, ("a", "{}")]), Next::Answer(_)));
}

#[test]
fn a_message_of_many_values_is_refused() {
    assert_eq!(parsed(b"[1, 2]").unwrap(), json!([1, 2]));
    assert!(!parsed(b"{").unwrap_err().is_final);
    let many = format!("[{}0]", "0,".repeat(200_000));
    assert!(parsed(many.as_bytes()).unwrap_err().is_final);
}

#[test]
fn a_model_asks_back_or_says_that_it_cannot() {
    let asked = r#"{"question":"Which?","candidates":[{"label":"A","content":"by A"},{"label":"B"}]}"#;
    let Next::Answer(answer) = reply("ask_user", asked) else { panic!("an answer") };
    let Outcome::NeedsClarification { candidates } = answer.outcome else { panic!("candidates") };
    assert_eq!((candidates.len(), candidates[1].content.as_str()), (2, "B"));
    let Next::Answer(answer) = reply("cannot_answer", r#"{"reason":"no data","suggestions":["a?"]}"#) else {
        panic!("an answer")
    };
    assert_eq!((answer.content.as_str(), answer.outcome.as_str()), ("no data", "refused"));
    // Without what it needs it is a call, which fails so that the model sees why.
    assert!(matches!(reply("ask_user", "{}"), Next::Call { .. }));
    let Next::Call { input, .. } = reply("run_sql", "{\"sql\": ") else { panic!("a call") };
    assert_eq!(input, json!("{\"sql\": "));
}

#[test]
fn an_answer_that_was_cut_withheld_or_empty_is_told_apart() {
    let said = |text: &str, ending: Ending| {
        Reply { text: text.to_owned(), ending, ..Reply::default() }.said(Language::English, 100)
    };
    assert!(said(" \n", Ending::Whole).is_none());
    let content = |said: Option<crate::agent::steps::model::Said>| match said.unwrap().next {
        Next::Answer(answer) => (answer.content, answer.outcome.as_str()),
        Next::Call { .. } | Next::Calls(_) => panic!("an answer"),
    };
    assert_eq!(content(said("42", Ending::Whole)), ("42".to_owned(), "answered"));
    assert!(content(said("42", Ending::Cut)).0.contains("cut at 100 tokens"));
    assert_eq!(content(said("", Ending::Withheld)).1, "refused");
}

fn deltas(deltas: &[Value]) -> Reply {
    let chunk = |delta: &Value| json!({ "choices": [{ "delta": delta, "finish_reason": "" }] });
    let mut chunks: Vec<Value> = deltas.iter().map(chunk).collect();
    chunks.push(json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }));
    of_openai(&chunks).expect("an answer")
}

/// What servers of the interface `openai` were seen to do otherwise.
#[test]
fn streams_of_other_servers_are_read() {
    let call = |index: Value, id: Value, name: &str, arguments: &str| json!({ "tool_calls": [{ "index": index, "id": id, "function": { "name": name, "arguments": arguments } }] });
    let names = |reply: &Reply| -> Vec<String> { reply.calls.iter().map(|call| call.name.clone()).collect() };
    // Two calls with one index and two ids; without an index and an id; a name in each part.
    let one = deltas(&[call(json!(0), json!("a"), "x", "{}"), call(json!(0), json!("b"), "y", "{}")]);
    assert_eq!(names(&one), ["x", "y"]);
    let two = deltas(&[call(Value::Null, Value::Null, "x", "{}"), call(Value::Null, Value::Null, "y", "{}")]);
    assert_eq!(names(&two), ["x", "y"]);
    let three = deltas(&[call(json!(0), json!("a"), "x", "{\"k\":"), call(json!(0), Value::Null, "x", "1}")]);
    assert_eq!((names(&three), three.calls[0].arguments.as_str()), (vec!["x".to_owned()], "{\"k\":1}"));
    // Thinking as a block, as an array, under another name; an empty refusal.
    let block =
        deltas(&[json!({ "content": "<think>so" }), json!({ "content": "</think>\n42", "refusal": "" })]);
    assert_eq!((block.text.as_str(), block.reasoning.as_str(), block.ending), ("42", "so", Ending::Whole));
    let parts = json!([{ "type": "thinking", "thinking": [{ "type": "text", "text": "so" }] }, { "type": "text", "text": "42" }]);
    let array = deltas(&[json!({ "content": parts })]);
    assert_eq!((array.text.as_str(), array.reasoning.as_str()), ("42", "so"));
    assert_eq!(deltas(&[json!({ "reasoning": "so", "content": null })]).reasoning, "so");
    // An end without a reason.
    let mut reading = openai::Reading::default();
    for event in events("data: {\"choices\":[{\"delta\":{\"content\":\"42\"}}]}\n\ndata: [DONE]\n\n") {
        reading.take(&event).unwrap();
    }
    assert!(reading.is_over());
    assert_eq!(reading.end().unwrap().text, "42");
    let whole = json!({ "choices": [{ "message": { "content": "42" }, "finish_reason": null }],
        "usage": { "prompt_tokens": i64::MAX } });
    assert_eq!(openai::whole(&whole).unwrap().input_tokens, Some(100_000_000), "no more is believed");
}

#[test]
fn an_error_with_the_status_200_is_an_error() {
    for (answer, is_final) in [
        (json!({ "error": { "code": 402, "message": "no credits" } }), true),
        (json!({ "error": { "type": "overloaded_error", "message": "no credits" } }), false),
        (json!({ "error": "no credits" }), false),
        (json!({ "object": "error", "message": "no credits", "code": 429 }), false),
        (
            json!({ "type": "error", "error": { "type": "authentication_error", "message": "no credits" } }),
            true,
        ),
    ] {
        for error in [openai::whole(&answer).unwrap_err(), anthropic::whole(&answer).unwrap_err()] {
            assert!(error.why.contains("no credits") && error.is_final == is_final, "{answer}: {error:?}");
        }
    }
}

#[test]
fn what_a_model_made_up_is_sent_back_as_interfaces_take_it() {
    assert_eq!(sent_name("functions.run_sql"), "functions_run_sql");
    assert_eq!(sent_name(&"名".repeat(100)).len(), 64);
    assert_eq!(sent_name(""), "_");
    let turn = Turn::Call {
        thought: None,
        reasoning: Some("so".to_owned()),
        call_id: "c".to_owned(),
        tool: "a b".to_owned(),
        input: json!({}),
    };
    let prompt = Prompt { turns: vec![turn], ..prompt() };
    let body = openai::body(&record(Provider::OpenAi), &prompt, MaxTokensMember::MaxTokens);
    let message = &body["messages"][1];
    assert_eq!((&message["content"], &message["reasoning_content"]), (&Value::Null, &json!("so")));
    assert_eq!(message["tool_calls"][0]["function"]["name"], "a_b");
    let azure = ModelRecord {
        base_url: "https://X.openai.azure.com/openai/v1".to_owned(),
        ..record(Provider::OpenAi)
    };
    assert_eq!(openai::max_tokens_member(&azure), MaxTokensMember::MaxCompletionTokens);
}
