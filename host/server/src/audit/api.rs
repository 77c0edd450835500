//! The handler of the audit log.

use lakeport_base::Error;
use lakeport_base::time;
use lakeport_http::form::TimeText;
use lakeport_http::{Call, Data, Nothing, Page, PageNum, PageSize, Paging};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::{self, Filter, Record};
use crate::core::Core;

const PAGE_SIZE_DEFAULT: i64 = 50;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditQuery {
    #[schemars(extend("default" = 1))]
    page_num: Option<PageNum>,
    #[schemars(extend("default" = PAGE_SIZE_DEFAULT))]
    page_size: Option<PageSize>,
    /// The name of a token, a subject of the issuer, or `local`.
    actor: Option<String>,
    /// An `operationId` of the OpenAPI description.
    operation: Option<String>,
    resource: Option<String>,
    resource_id: Option<String>,
    /// `success`, or the code of an error.
    outcome: Option<String>,
    /// yyyy-MM-dd HH:mm:ss
    start_time: Option<TimeText>,
    /// yyyy-MM-dd HH:mm:ss
    end_time: Option<TimeText>,
}

/// A change, or a refused one.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditRecord {
    id: i64,
    time: String,
    actor: String,
    /// `local`, `token` or `oidc`
    actor_kind: String,
    operation: String,
    resource: String,
    resource_id: Option<String>,
    /// `success`, or the code of the error.
    outcome: String,
    status: i64,
    /// Keyed digest of the definition: equal digests mean equal definitions.
    before_digest: Option<String>,
    after_digest: Option<String>,
    request_id: String,
}

/// `GET /api/v1/audit`
pub async fn list(call: Call<Core, Nothing, AuditQuery>) -> Result<Data<Page<AuditRecord>>, Error> {
    let (query, zone) = (call.query, call.state.config.time_zone);
    let paging = Paging::of(query.page_num, query.page_size, PAGE_SIZE_DEFAULT)?;
    let mut wrong = Vec::new();
    let from_ms = TimeText::read(query.start_time.as_ref(), "startTime", zone, &mut wrong);
    let to_ms = TimeText::read(query.end_time.as_ref(), "endTime", zone, &mut wrong);
    if !wrong.is_empty() {
        return Err(Error::invalid(wrong));
    }
    let filter = Filter {
        actor: query.actor,
        operation: query.operation,
        resource: query.resource,
        resource_id: query.resource_id,
        outcome: query.outcome,
        from_ms,
        // The whole second that the text names.
        to_ms: to_ms.map(|at_ms| at_ms + time::SECOND_MS - 1),
    };
    let (total, records) = store::page(&call.state.db, &filter, &paging).await?;
    let shown = |record: Record| AuditRecord {
        id: record.id,
        time: time::shown(record.at_ms, zone),
        actor: record.actor,
        actor_kind: record.actor_kind,
        operation: record.operation,
        resource: record.resource,
        resource_id: record.resource_id,
        outcome: record.outcome,
        status: record.status,
        before_digest: record.before_digest,
        after_digest: record.after_digest,
        request_id: record.request_id,
    };
    Ok(Data::new(&paging.page(total, records.into_iter().map(shown).collect())))
}
