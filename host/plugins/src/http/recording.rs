//! The requests of one call, as its plugin sees them: without secrets, and without what call rules mask.

use std::time::Duration;

use lakeport_base::text::shortened;
use lakeport_bindings::host::types::Error;
use lakeport_bindings::host::web::{Body, Param, Piece, Request, Response};
use parking_lot::Mutex;
use zeroize::Zeroizing;

use super::template::{form_encoded, percent_encoded};

/// The most requests that are kept; later ones are counted.
const KEPT_MAX: usize = 100;
/// Characters that are kept of a body.
const BODY_MAX_CHARS: usize = 16 * 1024;

#[derive(Default)]
pub struct Recording(Mutex<Recorded>);

/// What was sent and answered, in order.
#[derive(Default, Clone)]
pub struct Recorded {
    pub exchanges: Vec<Exchange>,
    /// The number of later requests, which are not kept.
    pub left_out: usize,
}

#[derive(Clone, Debug)]
pub struct Exchange {
    pub method: String,
    /// Below the address of this name in the description.
    pub address: String,
    /// With the query.
    pub path: String,
    pub body: Option<String>,
    /// `None`: the upstream has not answered.
    pub answer: Option<Result<Answer, Error>>,
    /// Until the answer.
    pub took: Duration,
}

#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub body: String,
}

impl Recording {
    /// Notes what is about to be sent; returns its number.
    pub(crate) fn ask(&self, request: &Request) -> usize {
        let mut recorded = self.0.lock();
        let number = recorded.exchanges.len() + recorded.left_out;
        if recorded.exchanges.len() >= KEPT_MAX {
            recorded.left_out += 1;
            return number;
        }
        recorded.exchanges.push(Exchange {
            method: request.method.clone(),
            address: request.address.clone(),
            path: path(request),
            body: body(&request.body).map(|body| shortened(&body, BODY_MAX_CHARS)),
            answer: None,
            took: Duration::ZERO,
        });
        number
    }

    /// Notes the answer to the request of this number.
    pub(crate) fn answer(&self, number: usize, answer: &Result<Response, Error>, took: Duration) {
        if let Some(exchange) = self.0.lock().exchanges.get_mut(number) {
            exchange.took = took;
            exchange.answer = Some(answer.as_ref().map_err(Error::clone).map(|answer| Answer {
                status: answer.status,
                body: shortened(&String::from_utf8_lossy(&answer.body), BODY_MAX_CHARS),
            }));
        }
    }

    pub fn recorded(&self) -> Recorded {
        self.0.lock().clone()
    }
}

fn path(request: &Request) -> String {
    let segments: Vec<String> = request.path.iter().map(|one| percent_encoded(&text(one))).collect();
    let path = format!("/{}", segments.join("/"));
    if request.query.is_empty() { path } else { format!("{path}?{}", pairs(&request.query)) }
}

fn body(body: &Body) -> Option<String> {
    match body {
        Body::Empty => None,
        Body::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        Body::Text(template) => Some(text(template)),
        Body::Form(params) => Some(pairs(params)),
    }
}

fn pairs(params: &[Param]) -> String {
    let pair = |param: &Param| (param.name.clone(), Zeroizing::new(text(&param.value)));
    form_encoded(&params.iter().map(pair).collect::<Vec<_>>())
}

fn text(template: &[Piece]) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Slot(_) => "***".to_owned(),
    };
    template.iter().map(piece).collect()
}
