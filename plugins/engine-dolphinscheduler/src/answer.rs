//! The envelope of an answer: `{"code": 0, "msg": "success", "data": …}`.
//!
//! The HTTP status says little: an error has the status that the endpoint declares for its success, so a
//! failed creation is 201. Only 401 (the log-in was refused) and 404 without JSON (the path does not exist in
//! this generation) mean what they say.

use lakeport_sdk::engine::web::Response;
use lakeport_sdk::engine::{Error, Upstream};
use lakeport_sdk::serde_json::{self, Value};

const SYSTEM: &str = "DolphinScheduler";
/// Characters of an upstream text.
const TEXT_MAX_CHARS: usize = 1_000;

/// An answer.
#[derive(Debug)]
pub enum Reply {
    /// Code 0.
    Data(Value),
    /// Another code.
    Refused(Refusal),
    /// The server has no such path.
    NoSuchPath,
}

/// A business error.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub code: i64,
    pub text: String,
    status: u16,
}

/// Reads an answer to a call, which `call` names for people.
pub fn read(call: &str, changes: bool, response: Response) -> Result<Reply, Error> {
    let status = response.status;
    if status == 401 {
        let message = format!("{SYSTEM} refused the log-in of {call}: the token or session is not valid");
        return Err(with_upstream(Error::unauthorized(message), status, None, ""));
    }
    let parsed: Option<Value> = serde_json::from_slice(&response.body).ok();
    let code = parsed.as_ref().and_then(|answer| answer.get("code")).and_then(Value::as_i64);
    let (Some(mut answer), Some(code)) = (parsed, code) else {
        return unreadable(call, changes, &response);
    };
    if code == 0 {
        return Ok(Reply::Data(answer.get_mut("data").map_or(Value::Null, Value::take)));
    }
    let text = answer["msg"].as_str().unwrap_or_default().chars().take(TEXT_MAX_CHARS).collect();
    Ok(Reply::Refused(Refusal { code, text, status }))
}

/// No envelope: a page of a proxy, half an answer, an error of the web server.
fn unreadable(call: &str, changes: bool, response: &Response) -> Result<Reply, Error> {
    let status = response.status;
    if status == 404 {
        return Ok(Reply::NoSuchPath);
    }
    let shown: String = String::from_utf8_lossy(&response.body).chars().take(200).collect();
    let error = if status >= 500 {
        let message = format!("{SYSTEM} failed at {call} with HTTP {status}");
        Error::upstream_failed(message).retryable()
    } else if (200..300).contains(&status) {
        Error::bad_answer(format!("the answer of {SYSTEM} to {call} cannot be read")).retryable()
    } else {
        Error::upstream_failed(format!("{SYSTEM} answered {call} with HTTP {status}"))
    };
    let error = with_upstream(error, status, None, &shown);
    Err(if changes { error.may_have_applied() } else { error })
}

fn with_upstream(error: Error, status: u16, code: Option<i64>, text: &str) -> Error {
    error.upstream(Upstream {
        system: SYSTEM.to_owned(),
        status: Some(status),
        code: code.map(|code| code.to_string()),
        message: text.to_owned(),
    })
}

impl Refusal {
    /// The error of the contract.
    pub fn error(&self, call: &str, changes: bool) -> Error {
        let Refusal { code, text, status } = self;
        let message = format!("{SYSTEM} refused {call}: {code} {text}");
        let error = Error::new(self.kind(), message);
        let error = match self.code {
            // Its master servers are away, or it is still busy with the run.
            10025 | 50009 => error.retryable(),
            10000 if self.has_no_master() => error.retryable(),
            10000 if !changes => error.retryable(),
            _ => error,
        };
        with_upstream(error, *status, Some(*code), text)
    }

    /// A start did not come to its end at the master, which may have begun the run by then. What does not fit is said before
    /// that, under the same codes.
    pub fn is_of_master(&self) -> bool {
        const UNFIT: [&str; 6] =
            ["should be online", "is empty", "is null", "tenant", "not exist", "no master server"];
        matches!(self.code, 10000 | 50014) && !UNFIT.iter().any(|word| self.text.contains(word))
    }

    /// A definition or a run that is not there. A missing project says nothing of what was in it.
    pub fn is_not_found(&self) -> bool {
        matches!(self.code, 50001 | 50003)
    }

    /// The project is not there, or not any more.
    pub fn is_of_project(&self) -> bool {
        matches!(self.code, 10018 | 10190)
    }

    /// 3.3 and later: the same as 10025.
    fn has_no_master(&self) -> bool {
        self.text.contains("no master server")
    }

    fn kind(&self) -> &'static str {
        match self.code {
            10008 | 10018 | 10020 | 10022 | 10190 | 10203 | 50001 | 50003 | 50030 => "not_found",
            10015 | 10019 | 10023 | 10126 | 10163 | 10168 | 10193 | 10194 | 10204 => "conflict",
            50004 | 50005 | 50006 | 50008 | 50009 | 50021 | 50023 => "conflict",
            // 3.4: the same as 50004.
            50014 if self.text.contains("should be online") => "conflict",
            10013 | 10043 => "unauthorized",
            20016 | 30001..=30003 => "forbidden",
            10198 | 50020 => "invalid_input",
            10001 | 10017 | 10024 | 10141 | 10207 | 10167 | 50019 | 50027 => "invalid_input",
            10025 => "unavailable",
            10000 if self.has_no_master() => "unavailable",
            _ => "upstream_failed",
        }
    }
}

/// A member that an answer must have.
pub fn missing(call: &str, member: &str) -> Error {
    Error::bad_answer(format!("the answer of {SYSTEM} to {call} has no {member}"))
}
