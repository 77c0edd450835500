//! Definitions, and answers of both interfaces.

use serde_json::{Value, json};

use super::definition::{Wanted, changed};
use super::exchange::{Ending, Prompt, Reply, Turn};
use super::forms::{CreateModel, UpdateModel};
use super::sse::{Event, Events};
use super::{ModelRecord, Options, Provider, anthropic, openai};
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
    assert_eq!(options.cost_micros(1_000_000, 0), 2_500_000);
    assert_eq!((options.cost_micros(100, 30), Options::default().cost_micros(9, 9)), (550, 0));
}

fn prompt() -> Prompt {
    let call = |thought: Option<&str>, input: Value| Turn::Call {
        thought: thought.map(str::to_owned),
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
    let body = openai::body(&record(Provider::OpenAi), &prompt());
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
    let own = openai::body(&own, &prompt());
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

fn of_openai(chunks: &[Value]) -> Result<Reply, String> {
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
    assert_eq!((reply.input_tokens, reply.output_tokens), (12, 3));
    let said = reply.said(Language::English, 100).unwrap();
    assert_eq!(said.thought.as_deref(), Some("so"));
    let input = json!({ "sql": "SELECT 1" });
    assert_eq!(said.next, Next::Call { tool: "run_sql".to_owned(), input });
    assert!(of_openai(&chunks[..3]).unwrap_err().contains("ended before"), "it was cut");
    let error = json!({ "error": { "message": "overloaded" } });
    assert!(of_openai(&[error]).unwrap_err().contains("overloaded"));
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
    let read = |stream: &str| {
        let mut reading = anthropic::Reading::default();
        events(stream).iter().try_for_each(|event| reading.take(event))?;
        reading.end()
    };
    let reply = read(stream).unwrap();
    assert_eq!((reply.input_tokens, reply.output_tokens), (12, 7));
    let said = reply.said(Language::English, 100).unwrap();
    assert_eq!(said.next, Next::Call { tool: "run_sql".to_owned(), input: json!({ "a": 1 }) });
    assert_eq!(said.thought.as_deref(), Some("so"));
    let cut = &stream[..stream.find("event: message_stop").unwrap()];
    assert!(read(cut).unwrap_err().contains("ended before"));
    let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    assert!(read(error).unwrap_err().contains("Overloaded"));
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
        Next::Call { .. } => panic!("an answer"),
    };
    assert_eq!(content(said("42", Ending::Whole)), ("42".to_owned(), "answered"));
    assert!(content(said("42", Ending::Cut)).0.contains("cut at 100 tokens"));
    assert_eq!(content(said("", Ending::Withheld)).1, "refused");
}
