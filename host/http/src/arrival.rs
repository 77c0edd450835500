//! A request that found its route, before the handler's types are read.

use std::any::Any;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::{HeaderMap, Method, Uri};
use lakeport_base::Error;
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::call::{Body, Call, Nothing};
use super::gate::Attempt;
use super::{Caller, RequestId, form};

pub struct Arrival {
    pub caller: Arc<Caller>,
    pub request_id: RequestId,
    pub operation: &'static str,
    pub peer: SocketAddr,
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    /// As they stand in the path, still percent-encoded.
    pub parameters: Vec<(String, String)>,
    pub body: Bytes,
    pub started: Instant,
    pub deadline: Instant,
    pub attempt: Option<Arc<Attempt>>,
}

impl Arrival {
    /// 400 names what does not fit the handler's types.
    pub(super) fn read<S, P, Q, B>(self, state: Arc<S>) -> Result<Call<S, P, Q, B>, Error>
    where
        P: DeserializeOwned + 'static,
        Q: DeserializeOwned + 'static,
        B: Body,
    {
        let path = match nothing() {
            Some(nothing) => Ok(nothing),
            None => form::from_path(&self.parameters),
        };
        let reads = self.method == Method::GET || self.method == Method::HEAD;
        let query = self.uri.query().unwrap_or_default();
        let query = match nothing().filter(|_| reads || query.is_empty()) {
            Some(nothing) => Ok(nothing),
            None if reads => form::from_query(query),
            None => form::from_known_query(query),
        };
        let body = B::read(&self.body, &self.headers);
        let (path, query, body) = all_right(path, query, body)?;
        Ok(Call {
            state,
            caller: self.caller,
            request_id: self.request_id,
            peer: self.peer,
            headers: self.headers,
            path,
            query,
            body,
            started: self.started,
            deadline: self.deadline,
            attempt: self.attempt,
        })
    }

    /// The change that this request attempts.
    pub(super) fn to_attempt(&self, idempotency_key: Option<String>, secret: bool) -> Attempt {
        Attempt {
            caller: Arc::clone(&self.caller),
            request_id: self.request_id.clone(),
            operation: self.operation,
            method: self.method.clone(),
            path: self.uri.path().to_owned(),
            parameters: self.parameters.iter().map(|(_, text)| decoded(text)).collect(),
            query: self.uri.query().unwrap_or_default().to_owned(),
            body: self.body.clone(),
            idempotency_key,
            claim: uuid::Uuid::now_v7().simple().to_string(),
            secret,
            recorded: AtomicBool::new(false),
            made: OnceLock::new(),
        }
    }
}

/// The parts of a request; or one 400 with all that is wrong with them.
fn all_right<P, Q, B: Body>(
    path: Result<P, Error>,
    query: Result<Q, Error>,
    body: Result<B, Error>,
) -> Result<(P, Q, B), Error> {
    let wrong = |body: Result<B, Error>| body.and_then(|body| body.refuse(Vec::new())).err();
    match (path, query, body) {
        (Ok(path), Ok(query), Ok(body)) => Ok((path, query, body)),
        (Err(error), query, body) => Err(error.with(query.err()).with(wrong(body))),
        (Ok(_), Err(error), body) => Err(error.with(wrong(body))),
        (Ok(_), Ok(_), Err(error)) => Err(error),
    }
}

/// `Some` when `T` is [`Nothing`], which takes no reading.
fn nothing<T: 'static>() -> Option<T> {
    let mut nothing = Some(Nothing {});
    (&mut nothing as &mut dyn Any).downcast_mut::<Option<T>>().and_then(Option::take)
}

/// A path parameter without its percent-encoding, for the log and the audit.
fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use lakeport_base::error::Detail;

    use super::*;
    use crate::form::Draft;

    fn invalid(field: &str) -> Error {
        Error::invalid(vec![Detail::new(field, "is wrong")])
    }

    fn told<P, Q, B: Body>(outcome: Result<(P, Q, B), Error>) -> (&'static str, Vec<String>) {
        match outcome.err() {
            Some(Error::Refused(refusal)) => {
                (refusal.code, refusal.details.into_iter().map(|detail| detail.field).collect())
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_wrong_with_path_query_and_body_comes_together() {
        let draft = |body: &str| form::draft_from_json::<Vec<u8>>(body.as_bytes());
        let wrong = || Err::<(), _>(invalid("page"));
        let path = || Err::<(), _>(invalid("id"));
        assert_eq!(
            told(all_right(path(), wrong(), draft("[1]"))),
            ("invalid_input", vec!["id".into(), "page".into()])
        );
        assert_eq!(told(all_right(Ok(()), wrong(), draft(r#"["x"]"#))).1, ["page", "[0]"]);
        let broken = || Err::<Draft<Vec<u8>>, _>(Error::bad_request("invalid_json", "no"));
        assert_eq!(told(all_right(Ok(()), Ok(()), broken())).0, "invalid_json");
        assert_eq!(told(all_right(path(), Ok(()), broken())).1, ["id"]);
    }
}
