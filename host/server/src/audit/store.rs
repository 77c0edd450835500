//! The audit log in the store. Rows are only added; a trigger refuses updates.

use std::borrow::Cow;

use lakeport_base::Error;
use lakeport_http::{Attempt, Identity, Paging};
use lakeport_store::{Db, Row, Statement, Tx, Value};

/// The longest resource id, in characters: a path may be longer.
const RESOURCE_ID_MAX_CHARS: usize = 300;

/// The author of a change.
pub struct Actor<'e> {
    pub name: Cow<'e, str>,
    /// `local`, `token`, `oidc` or `command_line`
    pub kind: &'e str,
    pub operation: &'e str,
    pub request_id: &'e str,
}

/// A new row of the log.
pub struct Entry<'e> {
    pub by: Actor<'e>,
    pub resource: &'e str,
    pub resource_id: Option<String>,
    /// `success`, or the code of the error.
    pub outcome: &'e str,
    pub status: u16,
    pub before_digest: Option<String>,
    pub after_digest: Option<String>,
}

/// A row of the log.
pub struct Record {
    pub id: i64,
    pub at_ms: i64,
    pub actor: String,
    pub actor_kind: String,
    pub operation: String,
    pub resource: String,
    pub resource_id: Option<String>,
    pub outcome: String,
    pub status: i64,
    pub before_digest: Option<String>,
    pub after_digest: Option<String>,
    pub request_id: String,
}

/// The filter; absent members do not restrict.
#[derive(Default)]
pub struct Filter {
    pub actor: Option<String>,
    pub operation: Option<String>,
    pub resource: Option<String>,
    pub resource_id: Option<String>,
    pub outcome: Option<String>,
    pub from_ms: Option<i64>,
    pub to_ms: Option<i64>,
}

impl<'e> From<&'e Attempt> for Actor<'e> {
    fn from(attempt: &'e Attempt) -> Actor<'e> {
        Actor {
            // The issuer may change a name, but not the subject.
            name: match &attempt.caller.identity {
                Identity::Oidc(subject) if *subject != attempt.caller.name => {
                    format!("{} ({subject})", attempt.caller.name).into()
                }
                _ => attempt.caller.name.as_str().into(),
            },
            kind: attempt.caller.kind(),
            operation: attempt.operation,
            request_id: attempt.request_id.as_str(),
        }
    }
}

pub fn add(tx: &mut Tx, entry: &Entry<'_>, at_ms: i64) {
    const SQL: &str = "INSERT INTO audit_log (at, actor, actor_kind, operation, resource, resource_id, outcome, \
                       status, before_digest, after_digest, request_id) \
                       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    let storable = |id: &String| id.chars().filter(|c| *c != '\0').take(RESOURCE_ID_MAX_CHARS).collect();
    let resource_id: Option<String> = entry.resource_id.as_ref().map(storable);
    let values: [Value; 11] = [
        at_ms.into(),
        entry.by.name.as_ref().into(),
        entry.by.kind.into(),
        entry.by.operation.into(),
        entry.resource.into(),
        resource_id.into(),
        entry.outcome.into(),
        i64::from(entry.status).into(),
        entry.before_digest.clone().into(),
        entry.after_digest.clone().into(),
        entry.by.request_id.into(),
    ];
    tx.execute_later(Statement::new(SQL, values));
}

/// One page, newest first, and the total.
pub async fn page(db: &Db, filter: &Filter, paging: &Paging) -> Result<(i64, Vec<Record>), Error> {
    const WHERE: [&str; 2] = [
        "SELECT count(*) FROM audit_log WHERE (CAST($1 AS TEXT) IS NULL OR actor = $1) AND (CAST($2 AS TEXT) IS NULL OR operation = $2) \
         AND (CAST($3 AS TEXT) IS NULL OR resource = $3) AND (CAST($4 AS TEXT) IS NULL OR resource_id = $4) AND (CAST($5 AS TEXT) IS NULL OR outcome = $5) \
         AND at >= $6 AND at <= $7",
        "SELECT id, at, actor, actor_kind, operation, resource, resource_id, outcome, status, before_digest, \
         after_digest, request_id FROM audit_log \
         WHERE (CAST($1 AS TEXT) IS NULL OR actor = $1) AND (CAST($2 AS TEXT) IS NULL OR operation = $2) \
         AND (CAST($3 AS TEXT) IS NULL OR resource = $3) AND (CAST($4 AS TEXT) IS NULL OR resource_id = $4) AND (CAST($5 AS TEXT) IS NULL OR outcome = $5) \
         AND at >= $6 AND at <= $7 ORDER BY id DESC LIMIT $8 OFFSET $9",
    ];
    let [count, rows] = WHERE;
    let mut values: Vec<Value> = vec![
        filter.actor.clone().into(),
        filter.operation.clone().into(),
        filter.resource.clone().into(),
        filter.resource_id.clone().into(),
        filter.outcome.clone().into(),
        filter.from_ms.unwrap_or(i64::MIN).into(),
        filter.to_ms.unwrap_or(i64::MAX).into(),
    ];
    let total = db.read(count, &values).await?[0].get(0)?;
    values.extend([paging.page_size.into(), paging.offset().into()]);
    let records = db.read(rows, &values).await?.iter().map(record).collect::<Result<_, _>>()?;
    Ok((total, records))
}

fn record(row: &Row) -> Result<Record, Error> {
    let mut row = row.by_name();
    Ok(Record {
        id: row.get("id")?,
        at_ms: row.get("at")?,
        actor: row.get("actor")?,
        actor_kind: row.get("actor_kind")?,
        operation: row.get("operation")?,
        resource: row.get("resource")?,
        resource_id: row.get("resource_id")?,
        outcome: row.get("outcome")?,
        status: row.get("status")?,
        before_digest: row.get("before_digest")?,
        after_digest: row.get("after_digest")?,
        request_id: row.get("request_id")?,
    })
}
