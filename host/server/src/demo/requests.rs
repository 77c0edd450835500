//! The requests of the example company's people, as they would come over HTTP.

use std::sync::Arc;

use ::http::Method;
use anyhow::Context;
use lakeport_http::{Caller, Identity, InternalClient, Role};
use serde_json::Value;

use crate::compose::{Server, ServerGate};

/// The author of the set-up itself.
pub const AUTHOR: &str = "demo";

pub struct Requests(InternalClient<ServerGate>);

impl Requests {
    pub fn new(state: &Server) -> anyhow::Result<Requests> {
        Ok(Requests(state.internal_client()?))
    }

    /// `data` of the answer.
    pub async fn get(&self, target: &str) -> anyhow::Result<Value> {
        self.ask(AUTHOR, Method::GET, target, None).await
    }

    pub async fn post(&self, by: &str, target: &str, body: &Value) -> anyhow::Result<Value> {
        self.ask(by, Method::POST, target, Some(body)).await
    }

    pub async fn put(&self, by: &str, target: &str, body: &Value) -> anyhow::Result<Value> {
        self.ask(by, Method::PUT, target, Some(body)).await
    }

    async fn ask(
        &self,
        by: &str,
        method: Method,
        target: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Value> {
        let role = if by == AUTHOR { Role::Admin } else { Role::Approver };
        // Local identities: among them approver and submitter may be the same.
        let caller = Caller { identity: Identity::Local, name: by.to_owned(), role, ..Caller::local() };
        let asked = self.0.ask(&Arc::new(caller), method.clone(), target, body).await;
        let mut answer = asked.with_context(|| format!("{method} {target}"))?;
        Ok(answer["data"].take())
    }
}

/// The records of a page, or the members of a list.
pub fn records(page: &Value) -> &[Value] {
    let list = page.get("records").unwrap_or(page);
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The item with this value of the member.
pub fn named<'v>(list: &'v [Value], member: &str, name: &str) -> Option<&'v Value> {
    list.iter().find(|one| one[member] == name)
}

/// A number of an answer.
pub fn number(answer: &Value, member: &str) -> anyhow::Result<i64> {
    answer[member].as_i64().with_context(|| format!("an answer without {member}: {answer}"))
}
