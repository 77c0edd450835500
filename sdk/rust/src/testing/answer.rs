//! The answers of the script.

use std::time::Duration;

use serde_json::Value;

use crate::Error;
use crate::host::web::Response;

/// The answer to a request of the script.
#[derive(Clone, Debug)]
#[must_use = "an answer does nothing until it is part of the script"]
pub struct Answer {
    pub(super) outcome: Outcome,
    pub(super) takes: Duration,
    pub(super) cancels: bool,
    pub(super) forgets_memo: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Response(Response),
    Unreachable,
    Lost,
    TimesOut,
    Fails(Error),
}

impl Answer {
    fn of(outcome: Outcome) -> Answer {
        Answer { outcome, takes: Duration::ZERO, cancels: false, forgets_memo: false }
    }

    /// A status and a body of bytes, without headers.
    pub fn bytes(status: u16, body: impl Into<Vec<u8>>) -> Answer {
        Answer::of(Outcome::Response(Response { status, headers: Vec::new(), body: body.into() }))
    }

    /// A status without a body.
    pub fn empty(status: u16) -> Answer {
        Answer::bytes(status, Vec::new())
    }

    /// A status and JSON.
    pub fn json(status: u16, body: Value) -> Answer {
        Answer::bytes(status, body.to_string()).header("content-type", "application/json")
    }

    /// A status and plain text.
    pub fn text(status: u16, body: &str) -> Answer {
        Answer::bytes(status, body).header("content-type", "text/plain; charset=utf-8")
    }

    /// Nothing was sent: the address cannot be reached.
    pub fn unreachable() -> Answer {
        Answer::of(Outcome::Unreachable)
    }

    /// The request was sent and the answer got lost.
    pub fn lost() -> Answer {
        Answer::of(Outcome::Lost)
    }

    /// The request was sent, and the time of the request, or of the call, is over before the answer.
    pub fn times_out() -> Answer {
        Answer::of(Outcome::TimesOut)
    }

    /// This error of the host: `Error::unauthorized(…)` for a refused log-in.
    pub fn fails(error: Error) -> Answer {
        Answer::of(Outcome::Fails(error))
    }

    /// Adds a header to a response.
    pub fn header(mut self, name: &str, value: &str) -> Answer {
        let Outcome::Response(response) = &mut self.outcome else {
            panic!("only a response has headers");
        };
        response.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The time that passes until the answer is there.
    pub fn takes(mut self, time: Duration) -> Answer {
        self.takes = time;
        self
    }

    /// The caller stops waiting while the request is on its way.
    pub fn cancels(mut self) -> Answer {
        self.cancels = true;
        self
    }

    /// The cache loses all entries while the request is on its way.
    pub fn forgets_memo(mut self) -> Answer {
        self.forgets_memo = true;
        self
    }
}
