//! The audit log: every change with its author, its resource and its outcome. A change that is one
//! transaction is recorded in that transaction, together with the answer for repeats of the request.

mod api;
pub mod store;

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use ::http::Method;
use lakeport_base::Error;
use lakeport_http::Route;
use lakeport_http::{Answer, Attempt, Call, Reply, Role, openapi};
use lakeport_store::{Retained, Tx};
use serde::Serialize;

use crate::config::RetentionSettings;
use crate::core::Core;
use crate::idempotency;
use crate::part::{Part, RetentionRule};
use store::{Actor, Entry};

const LOG: Retained = Retained {
    what: "audit",
    table: "audit_log",
    purge: "DELETE FROM audit_log WHERE id IN (SELECT id FROM audit_log WHERE at < $1 ORDER BY at LIMIT $2)",
};

/// The outcome of a successful change.
pub const SUCCESS: &str = "success";

pub fn part() -> Part<Core> {
    let list = "List audit records, newest first";
    Part {
        tags: &[("audit", "Records of all changes")],
        routes: vec![Route::new(Method::GET, "/api/v1/audit", Role::Admin, "listAudit", list, api::list)],
        retained: vec![RetentionRule::days(LOG, |settings: &RetentionSettings| settings.audit_days)],
        ..Part::default()
    }
}

/// The changed resource, with the definition before and after; only their keyed digests are stored.
pub struct Change {
    resource: &'static str,
    id: Option<String>,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
}

impl Change {
    /// `resource` is the product's noun: `token`, `datasource`.
    pub fn of(resource: &'static str, id: impl Display) -> Change {
        Change { resource, id: Some(id.to_string()), before: None, after: None }
    }

    #[must_use]
    pub fn before<T: Serialize>(self, definition: &T) -> Change {
        Change { before: serde_json::to_vec(definition).ok(), ..self }
    }

    #[must_use]
    pub fn after<T: Serialize>(self, definition: &T) -> Change {
        Change { after: serde_json::to_vec(definition).ok(), ..self }
    }
}

/// Ends the handler of a change.
pub trait Commit {
    /// Records the change, stores its answer for repeats of the request, and commits, in one transaction.
    fn commit<A: Answer>(
        &self,
        tx: Tx,
        change: Change,
        answer: A,
    ) -> impl Future<Output = Result<A, Error>> + Send;

    /// The same for a change that starts work whose end the request waits for, at most `wait`. If this server
    /// dies meanwhile, repeats get this answer.
    fn commit_begun<A: Answer>(
        &self,
        tx: Tx,
        change: Change,
        answer: A,
        waits: Duration,
    ) -> impl Future<Output = Result<A, Error>> + Send;
}

impl<S: AsRef<Core> + Send + Sync, P, Q, B> Commit for Call<S, P, Q, B> {
    fn commit<A: Answer>(
        &self,
        tx: Tx,
        change: Change,
        answer: A,
    ) -> impl Future<Output = Result<A, Error>> + Send {
        let (state, attempt) = (Arc::clone(&self.state), self.attempt.clone());
        async move { committed((*state).as_ref(), attempt.as_deref(), tx, change, answer, None).await }
    }

    fn commit_begun<A: Answer>(
        &self,
        tx: Tx,
        change: Change,
        answer: A,
        waits: Duration,
    ) -> impl Future<Output = Result<A, Error>> + Send {
        let (state, attempt) = (Arc::clone(&self.state), self.attempt.clone());
        async move { committed((*state).as_ref(), attempt.as_deref(), tx, change, answer, Some(waits)).await }
    }
}

async fn committed<A: Answer>(
    core: &Core,
    attempt: Option<&Attempt>,
    mut tx: Tx,
    change: Change,
    answer: A,
    waits: Option<Duration>,
) -> Result<A, Error> {
    let Some(attempt) = attempt else {
        let message = "a route that changes nothing tried to commit a change";
        return Err(Error::internal(anyhow::anyhow!(message)));
    };
    note(core, &mut tx, Actor::from(attempt), &change);
    idempotency::keep(core, &mut tx, attempt, answer.reply(), waits).await?;
    tx.commit().await?;
    attempt.set_recorded();
    Ok(answer)
}

/// Records a change in its transaction, of a request or of what goes on after one.
pub fn note(core: &Core, tx: &mut Tx, by: Actor<'_>, change: &Change) {
    note_outcome(core, tx, by, change, None);
}

/// Records a change that came to nothing after its request.
pub fn note_given_up(core: &Core, tx: &mut Tx, by: Actor<'_>, change: &Change, why: &Error) {
    note_outcome(core, tx, by, change, Some(why));
}

fn note_outcome(core: &Core, tx: &mut Tx, by: Actor<'_>, change: &Change, error: Option<&Error>) {
    let digest = |definition: Option<&Vec<u8>>| definition.map(|bytes| core.keys.digest(bytes));
    let entry = Entry {
        by,
        resource: change.resource,
        resource_id: change.id.clone(),
        outcome: error.map_or(SUCCESS, Error::code),
        status: error.map_or(200, Error::status),
        before_digest: digest(change.before.as_ref()),
        after_digest: digest(change.after.as_ref()),
    };
    store::add(tx, &entry, core.clock.now_ms());
}

/// The product's noun, as [`Change::of`] names it: `/api/v1/datasources/7` is about a `datasource`.
fn resource_of(path: &str) -> &str {
    let tag = openapi::tag(path);
    tag.strip_suffix('s').filter(|_| !matches!(tag, "nl2sql")).unwrap_or(tag)
}

/// Records a change that did not record itself, or that failed.
pub async fn record(core: &Core, attempt: &Attempt, outcome: Result<&Reply, &Error>) -> Result<(), Error> {
    let (outcome, status) = match outcome {
        Ok(reply) => (SUCCESS, reply.status.as_u16()),
        Err(error) => (error.code(), error.status()),
    };
    let named = || (!attempt.parameters.is_empty()).then(|| attempt.parameters.join("/"));
    let resource_id = attempt.made().map(str::to_owned).or_else(named);
    let resource = resource_of(&attempt.path);
    let entry = Entry {
        by: Actor::from(attempt),
        resource,
        resource_id,
        outcome,
        status,
        before_digest: None,
        after_digest: None,
    };
    let mut tx = core.db.begin().await?;
    store::add(&mut tx, &entry, core.clock.now_ms());
    tx.commit().await
}
