//! Waiting for the end of a change, as far as a request may.

use std::time::Duration;

use lakeport_base::Error;
use lakeport_http::{Answer, Data};
use lakeport_store::{Event, Subscription, Tx};
use tokio::time::{Instant, timeout_at};

use super::TOPIC;
use super::store::{self, ChangeRow};
use super::view::{ChangeView, Changed, State, UnderWay};
use crate::audit::{self, Commit};
use crate::idempotency;
use crate::tables::{Call, Tables};

/// How long an answer waits for the end, from the request's start on.
const WAIT: Duration = Duration::from_secs(25);

/// A change as far as it was waited for.
pub enum Ended {
    Made(ChangeView),
    UnderWay(ChangeView),
}

/// Commits a change that was begun in this transaction, and waits for its end; the error is the change's own.
pub async fn ended<P, Q, B>(
    call: &Call<P, Q, B>,
    mut tx: Tx,
    audited: audit::Change,
    begun: ChangeRow,
) -> Result<Ended, Error> {
    let state = &call.state;
    let zone = state.config.time_zone;
    let changed = state.changes.subscribe(TOPIC);
    tx.changed(TOPIC, begun.id.to_string());
    // What a repeat of this request is told should this server die before the answer.
    let under_way: Changed<()> = Changed::UnderWay(UnderWay { change: ChangeView::new(begun.clone(), zone) });
    call.commit_begun(tx, audited, Data::new(&under_way), WAIT).await?;
    let change = wait(state, changed, begun, call.wait_until(WAIT)).await?;
    match (change.state, &change.failure) {
        (State::Running, _) => Ok(Ended::UnderWay(ChangeView::new(change, zone))),
        (_, None) => Ok(Ended::Made(ChangeView::new(change, zone))),
        (_, Some(failure)) => {
            let error = failure.to_error(&change.statements);
            if let Some(attempt) = call.attempt.as_ref().filter(|_| error.status() >= 500) {
                idempotency::forget(state, attempt).await?;
            }
            Err(error)
        }
    }
}

/// Keeps the answer for repeats of the request, in place of the one that was kept when it began.
pub async fn kept<P, Q, B, A: Answer>(call: &Call<P, Q, B>, answer: A) -> Result<A, Error> {
    if let Some(attempt) = &call.attempt {
        idempotency::end(&call.state, attempt, Ok(answer.reply())).await?;
    }
    Ok(answer)
}

/// The change once it has ended, or as it is when the time is over or the server stops.
async fn wait(
    state: &Tables,
    mut changed: Subscription,
    begun: ChangeRow,
    until: Instant,
) -> Result<ChangeRow, Error> {
    let id = begun.id;
    let is_other = |event: &Event| matches!(event, Event::Changed(key) if **key != *id.to_string());
    let mut is_over = false;
    loop {
        let Some(change) = store::find(&state.db, id).await? else {
            // Of a table that was purged nothing is kept.
            return Ok(ChangeRow {
                state: State::Success,
                finished_at_ms: Some(state.clock.now_ms()),
                ..begun
            });
        };
        if is_over || change.state != State::Running {
            return Ok(change);
        }
        let told = async { while changed.next().await.as_ref().is_some_and(is_other) {} };
        let told = state.stopping.run_until_cancelled(timeout_at(until, told)).await;
        is_over = !matches!(told, Some(Ok(())));
    }
}
