//! Calls a model: one request for each step, sent again where that may help.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, Request, StatusCode};
use lakeport_base::Error;
use lakeport_base::text::shortened;
use lakeport_egress::{AGENT, AnswerBody, HttpClient, Limits, SendError};
use lakeport_store::Db;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::sleep;

use super::exchange::{Ending, Prompt, Reply, Unusable, parsed};
use super::spent::Spent;
use super::sse::Events;
use super::{MaxTokensMember, ModelRecord, Provider, anthropic, openai, store};
use crate::agent::Agent;
use crate::agent::steps::background::Budget;
use crate::agent::steps::model::{Conversation, Model, ModelError, Said};
use crate::secrets::Secret;

/// The error code of a model that failed for good.
pub const FAILED: &str = "model_failed";
/// The pauses before a request is sent again, where the model names no longer ones.
const PAUSES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];
/// A model that wants a longer pause has failed.
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// The shortest key that is hidden in texts.
const KEY_MIN_BYTES: usize = 8;
/// Bytes of an answer: of one as a stream, each token is an event.
const ANSWER_BYTES: usize = 256 * 1024;
const TOKEN_BYTES: usize = 1_024;
const ANSWER_MAX_BYTES: usize = 32 * 1024 * 1024;
/// Bytes of an error's answer that are read, and characters of its text that are shown.
const ERROR_MAX_BYTES: usize = 64 * 1024;
const ERROR_MAX_CHARS: usize = 500;

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const API_VERSION: HeaderName = HeaderName::from_static("anthropic-version");
/// The status of a provider that has too much to do.
const OVERLOADED: u16 = 529;

/// A model behind an interface.
pub struct Remote {
    db: Db,
    http: HttpClient,
    record: ModelRecord,
    key: Option<Secret>,
    /// In the interface `openai`.
    max_tokens: Mutex<MaxTokensMember>,
}

/// Why a request has no answer.
#[derive(Debug)]
struct Failed {
    /// For people; continues the model's name.
    why: String,
    again: Again,
    /// Tokens read and written for nothing.
    tokens: (i64, i64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    Never,
    /// Not now: it took its whole time.
    Later,
    /// At once, with the other member for the limit of tokens.
    Otherwise,
    Soon,
    After(Duration),
}

impl Failed {
    fn soon(why: impl Into<String>) -> Failed {
        Failed { why: why.into(), again: Again::Soon, tokens: (0, 0) }
    }

    fn never(why: impl Into<String>) -> Failed {
        Failed { why: why.into(), again: Again::Never, tokens: (0, 0) }
    }
}

impl Model for Remote {
    fn needs_background(&self, _: &Conversation) -> bool {
        true
    }

    fn budget(&self) -> Budget {
        let tokens = self.record.options.context_tokens;
        tokens.map_or_else(Budget::default, |tokens| Budget::within(tokens, self.record.max_tokens))
    }

    fn cost_of_broken_off(&self, conversation: &Conversation) -> Spent {
        let body = self.body(&Prompt::of(conversation, self.budget()));
        self.record.options.spent(estimated(body.len()), 0)
    }

    fn next<'m>(&'m self, conversation: &'m Conversation) -> BoxFuture<'m, Result<Said, ModelError>> {
        Box::pin(async {
            self.check_exists().await?;
            let prompt = Prompt::of(conversation, self.budget());
            let mut spent = Spent::default();
            match self.said(&prompt, conversation, &mut spent).await {
                Ok(said) => Ok(Said { spent, ..said }),
                Err(failed) => Err(self.error(&failed, spent)),
            }
        })
    }
}

impl Remote {
    pub fn open(state: &Agent, record: ModelRecord) -> Result<Remote, Error> {
        let key = record.key(state)?;
        let max_tokens = Mutex::new(openai::max_tokens_member(&record));
        Ok(Remote { db: state.db.clone(), http: state.http(&record).clone(), record, key, max_tokens })
    }

    /// A deleted model is not called any more, also not by questions that run.
    async fn check_exists(&self) -> Result<(), ModelError> {
        match store::find(&self.db, self.record.id).await {
            Ok(None) => Err(ModelError {
                code: "model_gone",
                message: "the model was deleted while the question ran; ask again".to_owned(),
                retryable: true,
                spent: Spent::default(),
            }),
            Ok(Some(_)) => Ok(()),
            Err(error) => {
                tracing::warn!("whether a model is still there was not read: {error}");
                Ok(())
            }
        }
    }

    /// The answer to one request, and its tokens. 502 `model_failed`.
    pub async fn test(&self, prompt: &Prompt) -> Result<(Reply, (i64, i64)), Error> {
        let mut body = self.body(prompt);
        let mut answered = self.once(&body).await;
        if matches!(&answered, Err(failed) if failed.again == Again::Otherwise) {
            body = self.body(prompt);
            answered = self.once(&body).await;
        }
        let reply = answered.and_then(|reply| match reply.text.trim().is_empty() && reply.calls.is_empty() {
            true => Err(Failed::never("gave an empty answer")),
            false => Ok(reply),
        });
        let reply = reply.map_err(|failed| Error::bad_gateway(FAILED, self.message(&failed.why)))?;
        let tokens = tokens_of(&reply, &body);
        Ok((reply, tokens))
    }

    /// `spent` counts all requests, also those without a usable answer.
    async fn said(
        &self,
        prompt: &Prompt,
        conversation: &Conversation,
        spent: &mut Spent,
    ) -> Result<Said, Failed> {
        let mut pauses = PAUSES.into_iter();
        loop {
            let body = self.body(prompt);
            let answered = self.once(&body).await.and_then(|reply| {
                let tokens = tokens_of(&reply, &body);
                let (is_cut, max_tokens) = (reply.ending == Ending::Cut, self.record.max_tokens);
                match reply.said(conversation.language, max_tokens) {
                    Some(said) => Ok((said, tokens)),
                    None if is_cut => {
                        let why = format!("thought over all of its {max_tokens} tokens (its `maxTokens`)");
                        Err(Failed { tokens, ..Failed::never(why) })
                    }
                    None => Err(Failed { tokens, ..Failed::soon("gave an empty answer") }),
                }
            });
            let (input_tokens, output_tokens) = match &answered {
                Ok((_, tokens)) => *tokens,
                Err(failed) => failed.tokens,
            };
            spent.add(self.record.options.spent(input_tokens, output_tokens));
            let failed = match answered {
                Ok((said, _)) => return Ok(said),
                Err(failed) => failed,
            };
            let pause = match failed.again {
                Again::Never | Again::Later => None,
                Again::Otherwise => Some(Duration::ZERO),
                Again::Soon => pauses.next(),
                Again::After(pause) => {
                    pauses.next().map(|usual| pause.max(usual)).filter(|pause| *pause <= PAUSE_MAX)
                }
            };
            let Some(pause) = pause else { return Err(failed) };
            tracing::warn!(model = self.record.name, "the model {}; sending again in {pause:?}", failed.why);
            sleep(pause).await;
        }
    }

    fn body(&self, prompt: &Prompt) -> Bytes {
        let body = match self.record.provider {
            Provider::Anthropic => anthropic::body(&self.record, prompt),
            Provider::OpenAi | Provider::Offline => {
                openai::body(&self.record, prompt, *self.max_tokens.lock())
            }
        };
        body.to_string().into()
    }

    async fn once(&self, body: &Bytes) -> Result<Reply, Failed> {
        let request = self.request(body.clone()).map_err(|error| Failed::never(error.to_string()))?;
        let tokens = usize::try_from(self.record.max_tokens).unwrap_or(0);
        let limits = Limits {
            total: Duration::from_secs(self.record.timeout_s.unsigned_abs()),
            answer_max_bytes: (ANSWER_BYTES + tokens * TOKEN_BYTES).min(ANSWER_MAX_BYTES),
        };
        let unsent = |error| self.unsent(error, limits, body);
        let (head, answer) = self.http.open(request, limits).await.map_err(unsent)?.into_parts();
        if head.status != StatusCode::OK {
            return Err(self.refused(head.status, &head.headers, answer).await);
        }
        let is_stream = head.headers.get(CONTENT_TYPE).is_some_and(|kind| {
            kind.to_str().is_ok_and(|kind| kind.trim_start().starts_with("text/event-stream"))
        });
        let reply = if is_stream {
            self.streamed(answer).await.map_err(|error| match error {
                Broken::Sent(error) => unsent(error),
                Broken::Wrong(wrong) => unusable("a stream", wrong, body),
            })
        } else {
            let bytes = whole(answer, usize::MAX).await.map_err(unsent)?;
            let reply = parsed(&bytes).and_then(|answer| match self.record.provider {
                Provider::Anthropic => anthropic::whole(&answer),
                Provider::OpenAi | Provider::Offline => openai::whole(&answer),
            });
            reply.map_err(|wrong| unusable("an answer", wrong, body))
        };
        match reply {
            Ok(reply) => Ok(self.without_key(reply)),
            Err(failed) => Err(Failed { why: self.masked(&failed.why), ..failed }),
        }
    }

    fn request(&self, body: Bytes) -> Result<Request<Bytes>, http::Error> {
        let path = match self.record.provider {
            Provider::Anthropic => anthropic::PATH,
            Provider::OpenAi | Provider::Offline => openai::PATH,
        };
        let mut request = Request::post(format!("{}{path}", self.record.base_url))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .header(USER_AGENT, AGENT);
        if self.record.provider == Provider::Anthropic {
            request = request.header(API_VERSION, anthropic::VERSION);
        }
        if let Some(key) = self.key.as_ref().and_then(Secret::text) {
            let (name, value) = match self.record.provider {
                Provider::Anthropic => (API_KEY, key.to_owned()),
                Provider::OpenAi | Provider::Offline => (AUTHORIZATION, format!("Bearer {key}")),
            };
            let mut value = HeaderValue::try_from(value)?;
            value.set_sensitive(true);
            request = request.header(name, value);
        }
        request.body(body)
    }

    async fn streamed(&self, mut answer: AnswerBody) -> Result<Reply, Broken> {
        let mut events = Events::default();
        let mut openai = openai::Reading::default();
        let mut anthropic = anthropic::Reading::default();
        let is_anthropic = self.record.provider == Provider::Anthropic;
        while let Some(part) = answer.next().await.map_err(Broken::Sent)? {
            for event in events.take(&part) {
                let taken = if is_anthropic { anthropic.take(&event) } else { openai.take(&event) };
                taken.map_err(Broken::Wrong)?;
            }
            // Some servers keep the connection open.
            if (is_anthropic && anthropic.is_over()) || openai.is_over() {
                break;
            }
        }
        let reply = if is_anthropic { anthropic.end() } else { openai.end() };
        reply.map_err(Broken::Wrong)
    }

    /// An answer with another status than 200.
    async fn refused(&self, status: StatusCode, headers: &HeaderMap, answer: AnswerBody) -> Failed {
        let bytes = whole(answer, ERROR_MAX_BYTES).await.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let said: Option<String> = serde_json::from_str::<Value>(&text).ok().and_then(|error| {
            let error = if error["error"].is_null() { &error } else { &error["error"] };
            error["message"].as_str().or_else(|| error.as_str()).map(str::to_owned)
        });
        let said = self.masked(&said.unwrap_or_else(|| text.trim().to_owned()));
        let said = shortened(&said.split_whitespace().collect::<Vec<_>>().join(" "), ERROR_MAX_CHARS);
        let why =
            if said.is_empty() { format!("answered {status}") } else { format!("answered {status}: {said}") };
        let is_passing = matches!(
            status,
            StatusCode::REQUEST_TIMEOUT
                | StatusCode::TOO_MANY_REQUESTS
                | StatusCode::INTERNAL_SERVER_ERROR
                | StatusCode::BAD_GATEWAY
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::GATEWAY_TIMEOUT
        ) || status.as_u16() == OVERLOADED;
        let again = match retry_after(headers) {
            _ if status == StatusCode::BAD_REQUEST && self.takes_other_member(&said) => Again::Otherwise,
            _ if !is_passing => Again::Never,
            Some(pause) => Again::After(pause),
            None => Again::Soon,
        };
        Failed { why, again, tokens: (0, 0) }
    }

    /// Whether an error is about the member for the limit of tokens; then the other one is used from now on, once.
    fn takes_other_member(&self, said: &str) -> bool {
        const BOTH: [MaxTokensMember; 2] = [MaxTokensMember::MaxTokens, MaxTokensMember::MaxCompletionTokens];
        let usual = openai::max_tokens_member(&self.record);
        let mut now = self.max_tokens.lock();
        let is_open = self.record.provider == Provider::OpenAi && *now == usual;
        let is_about_it = BOTH.iter().any(|member| said.contains(member.as_str()));
        if is_open && is_about_it {
            *now = if usual == BOTH[0] { BOTH[1] } else { BOTH[0] };
        }
        is_open && is_about_it
    }

    fn unsent(&self, error: SendError, limits: Limits, body: &Bytes) -> Failed {
        match error {
            // The policy's refusal stays one.
            SendError::NotSent(error) if error.status() == 403 => {
                Failed::never(format!("may not be called: {error}"))
            }
            SendError::NotSent(error) => Failed::soon(format!("cannot be reached: {error}")),
            // What it read is paid for.
            SendError::Lost(why) => {
                let failed = Failed::soon(format!("gave no whole answer: {why}"));
                Failed { tokens: (estimated(body.len()), 0), ..failed }
            }
            SendError::TimedOut => {
                let time_s = limits.total.as_secs();
                let why = format!("did not answer within {time_s} s (its `timeoutSeconds`)");
                Failed { why, again: Again::Later, tokens: (estimated(body.len()), 0) }
            }
            SendError::TooLong => {
                let failed = Failed::never(format!("answered more than {} bytes", limits.answer_max_bytes));
                Failed { tokens: (estimated(body.len()), estimated(limits.answer_max_bytes)), ..failed }
            }
        }
    }

    /// A text of the provider without the key, which some repeat.
    fn masked(&self, text: &str) -> String {
        match self.key.as_ref().and_then(Secret::text) {
            // A shorter one is no secret, and may be a word.
            Some(key) if key.len() >= KEY_MIN_BYTES => text.replace(key, "***"),
            _ => text.to_owned(),
        }
    }

    /// The same of an answer.
    fn without_key(&self, mut reply: Reply) -> Reply {
        for text in [&mut reply.text, &mut reply.reasoning] {
            *text = self.masked(text);
        }
        for call in &mut reply.calls {
            call.name = self.masked(&call.name);
            call.arguments = self.masked(&call.arguments);
        }
        reply
    }

    fn message(&self, why: &str) -> String {
        let ModelRecord { name, provider, model, base_url, .. } = &self.record;
        format!("the model `{name}` ({provider}, {model} at {base_url}) {why}")
    }

    fn error(&self, failed: &Failed, spent: Spent) -> ModelError {
        let retryable = failed.again != Again::Never;
        let advice = if retryable { "Ask again later" } else { "An admin can correct or test the model" };
        let message = format!(
            "{}. {advice}, or let the rules answer: set the topic's `model` to `offline`",
            self.message(&failed.why)
        );
        ModelError { code: FAILED, message, retryable, spent }
    }
}

/// Why a stream has no answer.
enum Broken {
    Sent(SendError),
    Wrong(Unusable),
}

fn unusable(what: &str, wrong: Unusable, body: &Bytes) -> Failed {
    let why = format!("gave {what} that cannot be used: it {}", wrong.why);
    let again = if wrong.is_final { Again::Never } else { Again::Soon };
    Failed { why, again, tokens: (estimated(body.len()), 0) }
}

/// The tokens of an answer, estimated where the provider does not say.
fn tokens_of(reply: &Reply, body: &Bytes) -> (i64, i64) {
    (
        reply.input_tokens.unwrap_or_else(|| estimated(body.len())),
        reply.output_tokens.unwrap_or_else(|| estimated(reply.bytes())),
    )
}

/// Tokens of so many bytes, about.
fn estimated(bytes: usize) -> i64 {
    i64::try_from(bytes / 4).unwrap_or(i64::MAX)
}

/// At most so many bytes of a body; the rest is not read.
async fn whole(mut body: AnswerBody, max_bytes: usize) -> Result<Vec<u8>, SendError> {
    let mut bytes = Vec::new();
    while bytes.len() < max_bytes
        && let Some(part) = body.next().await?
    {
        bytes.extend_from_slice(&part);
    }
    bytes.truncate(max_bytes);
    Ok(bytes)
}

/// The pause that an answer asks for: in seconds, or until a moment.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = chrono::DateTime::parse_from_rfc2822(text).ok()?;
    (until.to_utc() - chrono::Utc::now()).to_std().ok()
}
