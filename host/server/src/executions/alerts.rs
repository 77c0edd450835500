//! Warnings about scheduled runs, as their schedule's `warningType` wants them: a line in the log, an audit record and,
//! where `alerts.webhook` is set, one POST, which is stored with the run's end and tried a few times.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt};
use lakeport_base::time::{self, HOUR_MS, MINUTE_MS};
use lakeport_base::{Error, failpoints};
use lakeport_egress::{HttpClient, Limits, Rule};
use lakeport_store::{Held, Row, Tx, leases};
use serde::Serialize;
use tokio::time::sleep;

use crate::audit;
use crate::audit::store::{Actor, Entry};
use crate::core::Core;
use crate::execution_records::{Run, duration_s};
use crate::executions::Executions;
use crate::workflows::definition::Schedule;
use crate::workflows::forms::WarningType;

const LEASE: &str = "alerts";
/// The interval of looking for alerts that are due.
const LOOK: Duration = Duration::from_secs(2);
/// Alerts of one look.
const AT_ONCE: i64 = 20;
/// Alerts that are sent side by side: one that is answered late keeps few others waiting.
const SIDE_BY_SIDE: usize = 5;
/// The most stored alerts; further ones stand in the log alone.
const STORED_MAX: i64 = 10_000;
/// How often one is sent, and the pauses between: 10 s, 40 s, 160 s, 640 s.
const TRIES_MAX: i64 = 5;
const RETRY_MS: i64 = 10_000;
/// One that is due later than the longest pause, and a minute, was noted by a clock that has gone back: it is due.
const DUE_MAX_MS: i64 = (RETRY_MS << (2 * (TRIES_MAX - 2))) + MINUTE_MS;
/// A run that ended longer ago, as a new server may find it, causes none.
const OLD_MS: i64 = HOUR_MS;
/// The cause of runs that a schedule starts.
const SCHEDULE: &str = "schedule";
const SENT: Limits = Limits { total: Duration::from_secs(10), answer_max_bytes: 64 * 1024 };

/// What the webhook gets. Times as in answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Alert<'r> {
    /// The same whenever it is sent again.
    id: &'r str,
    /// `run.success` or `run.failed`.
    event: &'static str,
    workflow_id: i64,
    workflow_name: &'r str,
    scheduler_engine: &'r str,
    instance_id: Option<&'r str>,
    schedule_time: Option<String>,
    start_time: Option<String>,
    end_time: Option<String>,
    duration_seconds: Option<f64>,
    error_message: Option<&'r str>,
}

/// A warning that is to be logged once the run's end is stored.
pub struct Warning {
    workflow: String,
    instance: String,
    event: &'static str,
    why: Option<String>,
}

impl Warning {
    pub fn log(self) {
        let Warning { workflow, instance, event, why } = self;
        match why {
            Some(why) => tracing::warn!(workflow, instance, "warning of a scheduled run: {event}: {why}"),
            None => tracing::warn!(workflow, instance, "warning of a scheduled run: {event}"),
        }
    }
}

/// Warns of a run that has just ended, if its schedule wants that, in the transaction that stores its end. `ended_ms`: when
/// that became known.
pub async fn note_end(core: &Core, tx: &mut Tx, run: &Run, ended_ms: i64) -> Result<Option<Warning>, Error> {
    let now_ms = core.clock.now_ms();
    if run.ended_at_ms.is_none() || run.cause != SCHEDULE || ended_ms < now_ms - OLD_MS {
        return Ok(None);
    }
    let Some(schedule) = schedule_of(tx, run.workflow_id).await? else { return Ok(None) };
    let Some(event) = event(schedule.warning_type, &run.state) else { return Ok(None) };
    let warning = Warning {
        workflow: run.workflow_name.clone(),
        instance: run.instance_id.clone().unwrap_or_default(),
        event,
        why: run.message.clone(),
    };
    let request_id = format!("run-{}", run.id);
    let entry = Entry {
        by: Actor {
            name: "schedule".into(),
            kind: "system",
            operation: "warnOfRun",
            request_id: &request_id,
        },
        resource: "workflow",
        resource_id: Some(run.workflow_id.to_string()),
        outcome: event,
        status: 200,
        before_digest: None,
        after_digest: None,
    };
    audit::store::add(tx, &entry, now_ms);
    if core.config.alerts_webhook.is_none() {
        return Ok(Some(warning));
    }
    let shown = |at_ms: i64| time::shown(at_ms, core.config.time_zone);
    let id = uuid::Uuid::now_v7().to_string();
    let alert = Alert {
        id: &id,
        event,
        workflow_id: run.workflow_id,
        workflow_name: &run.workflow_name,
        scheduler_engine: &run.engine,
        instance_id: run.instance_id.as_deref(),
        schedule_time: run.business_time_ms.map(shown),
        start_time: run.started_at_ms.map(shown),
        end_time: run.ended_at_ms.map(shown),
        duration_seconds: duration_s(run.started_at_ms, run.ended_at_ms),
        error_message: run.message.as_deref(),
    };
    store(tx, &serde_json::to_string(&alert).map_err(Error::internal)?, now_ms).await?;
    Ok(Some(warning))
}

/// What a warning says of a run in this state; `None`: the schedule wants none.
fn event(wanted: WarningType, state: &str) -> Option<&'static str> {
    match (wanted, state) {
        (WarningType::Success | WarningType::All, "success") => Some("run.success"),
        (WarningType::Failure | WarningType::All, "failed") => Some("run.failed"),
        _ => None,
    }
}

/// The schedule that the engine has.
async fn schedule_of(tx: &mut Tx, workflow_id: i64) -> Result<Option<Schedule>, Error> {
    const SCHEDULE: &str = "SELECT engine_schedule FROM workflows WHERE id = $1";
    let rows = tx.query(SCHEDULE, &[workflow_id.into()]).await?;
    let text: Option<String> = rows.first().map_or(Ok(None), |row| row.get(0))?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

async fn store(tx: &mut Tx, payload: &str, now_ms: i64) -> Result<(), Error> {
    const STORE: &str = "INSERT INTO alerts (payload, next_at) SELECT $1, $2 \
        WHERE (SELECT count(*) FROM alerts) < $3";
    if tx.execute(STORE, &[payload.into(), now_ms.into(), STORED_MAX.into()]).await? == 0 {
        tracing::warn!(
            "the webhook has not accepted {STORED_MAX} alerts; further ones stand in this log alone"
        );
    }
    Ok(())
}

/// Sends alerts until the server stops. Without a webhook those of an earlier one are dropped.
pub async fn run_worker(state: Arc<Executions>) {
    let Some(webhook) = state.config.alerts_webhook.clone() else {
        if let Err(error) = state.db.execute("DELETE FROM alerts", &[]).await {
            tracing::warn!("alerts of an earlier webhook are dropped at the next start: {error}");
        }
        return;
    };
    let client = match client(&state, &webhook.0) {
        Ok(client) => client,
        Err(error) => return tracing::error!("alerts.webhook cannot be used: {error:#}"),
    };
    loop {
        if let Err(error) = send(&state, &client, &webhook.0).await {
            tracing::warn!("alerts are sent later: {error}");
        }
        if state.stopping.run_until_cancelled(sleep(LOOK)).await.is_none() {
            return;
        }
    }
}

/// The webhook's own host and port count as listed in `egress_allow`: the operator has set them.
fn client(core: &Core, webhook: &str) -> anyhow::Result<HttpClient> {
    let client = HttpClient::new(core.egress.clone(), core.config.egress_ca_file.as_deref())?;
    Ok(client.and(Rule::of_url(webhook).map_err(anyhow::Error::msg)?))
}

/// Sends what is due, if there is any, unless another server does.
async fn send(state: &Executions, client: &HttpClient, webhook: &str) -> Result<(), Error> {
    const ANY: &str = "SELECT 1 FROM alerts WHERE next_at <= $1 OR next_at > $2 LIMIT 1";
    let now_ms = state.clock.now_ms();
    if state.db.read(ANY, &[now_ms.into(), (now_ms + DUE_MAX_MS).into()]).await?.is_empty() {
        return Ok(());
    }
    let Some(lease) = state.leases.claim(LEASE, leases::TTL).await? else { return Ok(()) };
    let send = async |held: &Held| send_due(state, held, client, webhook).await;
    lease.hold().work(&state.stopping, send).await.unwrap_or(Ok(()))
}

async fn send_due(core: &Core, held: &Held, client: &HttpClient, webhook: &str) -> Result<(), Error> {
    const DUE: &str = "SELECT id, payload, tries FROM alerts WHERE next_at <= $1 OR next_at > $2 ORDER BY next_at, id LIMIT $3";
    const DELETE: &str = "DELETE FROM alerts WHERE id = $1";
    const LATER: &str = "UPDATE alerts SET next_at = $2, tries = $3 WHERE id = $1";
    let now_ms = core.clock.now_ms();
    let rows = core.db.read(DUE, &[now_ms.into(), (now_ms + DUE_MAX_MS).into(), AT_ONCE.into()]).await?;
    let send = |row: Row| async move {
        let (id, payload, tries): (i64, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let tries = tries + 1;
        let sent = client.post_json(webhook, payload.into(), SENT).await;
        failpoints::reach("alerts.sent");
        let mut tx = core.db.begin().await?;
        tx.guard(held).await?;
        match sent {
            Ok(()) => _ = tx.execute(DELETE, &[id.into()]).await?,
            Err(error) if tries >= TRIES_MAX => {
                tracing::error!(
                    alert = id,
                    "the webhook did not accept an alert, which is given up: {error}"
                );
                tx.execute(DELETE, &[id.into()]).await?;
            }
            Err(error) => {
                tracing::warn!(alert = id, "the webhook did not accept an alert, trying again: {error}");
                let next_at_ms = core.clock.now_ms() + (RETRY_MS << (2 * (tries - 1)));
                tx.execute(LATER, &[id.into(), next_at_ms.into(), tries.into()]).await?;
            }
        }
        tx.commit().await
    };
    futures_util::stream::iter(rows).map(Ok).try_for_each_concurrent(SIDE_BY_SIDE, send).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_warned_of_what_it_wants() {
        let of = |wanted| ["success", "failed", "stopped"].map(|state| event(wanted, state));
        assert_eq!(of(WarningType::None), [None; 3]);
        assert_eq!(of(WarningType::Success), [Some("run.success"), None, None]);
        assert_eq!(of(WarningType::Failure), [None, Some("run.failed"), None]);
        assert_eq!(of(WarningType::All), [Some("run.success"), Some("run.failed"), None]);
    }
}
