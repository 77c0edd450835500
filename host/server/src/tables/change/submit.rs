//! One change of a table, from the request to its answer.

use std::time::Duration;

use lakeport_base::Error;
use lakeport_http::{Answer, Data};
use lakeport_store::Tx;
use schemars::JsonSchema;
use serde::Serialize;

use super::plan::Planned;
use super::spec::ChangeSpec;
use super::store::{self, ChangeRow};
use super::view::{ChangeView, Changed, State, UnderWay};
use super::{TOPIC, running};
use crate::audit::{self, Commit};
use crate::idempotency;
use crate::tables::Call;
use crate::tables::definitions::{self, TableWithFields};
use crate::tables::history::{self, Source};
use crate::turns::TRIES;

/// How long an answer waits for the end, since the request began.
const WAIT: Duration = Duration::from_secs(25);

/// A change that was checked against the table as read.
pub struct Submission<C> {
    pub before: TableWithFields,
    pub spec: ChangeSpec,
    /// The answer to a dry run.
    pub planned: Planned,
    /// The data source that is changed first; `None`: only the catalogue is changed.
    pub source_id: Option<i64>,
    pub change: C,
}

/// The difference between one kind of change and the others.
pub trait TableChange {
    type Answer: Serialize + JsonSchema + Send + 'static;

    /// Whether it changes nothing that a database has or may get: then it is made while a physical change is running.
    fn is_of_catalogue(&self, _before: &TableWithFields, _spec: &ChangeSpec) -> bool {
        false
    }

    /// Takes the locks that precede the one of the table's row, such as that of its new name.
    async fn reserve(&self, tx: &mut Tx, before: &TableWithFields, spec: &ChangeSpec) -> Result<(), Error>;

    /// Writes a change of the catalogue alone. Returns the physical change to show, if there is one.
    async fn write(
        &self,
        tx: &mut Tx,
        before: &TableWithFields,
        spec: &ChangeSpec,
    ) -> Result<Option<ChangeView>, Error>;

    /// The answer with the table afterwards; `None`: it no longer exists.
    async fn answer(
        &self,
        table: Option<TableWithFields>,
        change: Option<ChangeView>,
    ) -> Result<Data<Changed<Self::Answer>>, Error>;
}

/// Reads the table, prepares the change and makes it; starts over if another writer interfered.
pub async fn submit<P, Q, B, C: TableChange, F: Future<Output = Result<Submission<C>, Error>>>(
    call: &Call<P, Q, B>,
    id: i64,
    is_dry_run: bool,
    prepare: impl Fn(TableWithFields) -> F,
) -> Result<Data<Changed<C::Answer>>, Error> {
    let mut turn = None;
    for _ in 0..TRIES {
        let before = definitions::get(&call.state, id).await?;
        let submission = prepare(before).await?;
        let is_physical = submission.source_id.is_some();
        if is_physical {
            // It may take long: nothing waits for it.
            turn = None;
        }
        if let Some(answer) = attempt(call, submission, is_dry_run).await? {
            return Ok(answer);
        }
        if !is_physical && turn.is_none() {
            turn = Some(call.state.turns.take("table", id).await);
        }
    }
    Err(overtaken())
}

/// Other writers interfered with every attempt.
pub fn overtaken() -> Error {
    Error::conflict("change_running", "others are changing the table; try again")
}

/// `None`: the table was changed since it was read.
async fn attempt<P, Q, B, C: TableChange>(
    call: &Call<P, Q, B>,
    submission: Submission<C>,
    is_dry_run: bool,
) -> Result<Option<Data<Changed<C::Answer>>>, Error> {
    let Submission { before, spec, planned, source_id, change } = submission;
    let (state, id, by) = (&call.state, before.record.id, &call.caller.name);
    let now_ms = state.clock.now_ms();
    let mut tx = state.db.begin().await?;
    change.reserve(&mut tx, &before, &spec).await?;
    let now = definitions::store::lock(&mut tx, id).await?;
    if source_id.is_some() || !change.is_of_catalogue(&before, &spec) {
        store::refuse_running(&mut tx, id).await?;
    }
    // A plan stays right if only the catalogue's own members changed.
    let is_enough = source_id.is_some() && !call.is_conditional();
    let is_same =
        |now: &TableWithFields| now.etag() == before.etag() || (is_enough && now.is_as_in_database(&before));
    if !now.as_ref().is_some_and(is_same) {
        return Ok(None);
    }
    // After all checks, so that a dry run is refused like the change itself.
    if is_dry_run {
        return Ok(Some(Data::new(&Changed::DryRun(planned.view()))));
    }
    let audited = audit::Change::of("table", id).before(&before.versioned());
    let Some(source_id) = source_id else {
        let told = change.write(&mut tx, &before, &spec).await?;
        let after = definitions::store::lock(&mut tx, id).await?;
        let audited = match &after {
            None => audited,
            Some(after) => {
                history::add_of_whole(&mut tx, &before, after, Source::Catalogue, by, now_ms).await?;
                audited.after(&after.versioned())
            }
        };
        let answer = change.answer(after, told).await?;
        return call.commit(tx, audited, answer).await.map(Some);
    };
    let begun = store::start(&mut tx, &before.record, source_id, &spec, &planned, by, now_ms).await?;
    let begun = begun.ok_or_else(running)?;
    let audited = if spec.is_purge() { audited } else { audited.after(&spec) };
    let ended = ended(call, tx, audited, begun).await?;
    let view = |row| ChangeView::new(row, state.config.time_zone);
    let answer = if ended.state == State::Running {
        Data::new(&Changed::UnderWay(UnderWay { change: view(ended) }))
    } else {
        change.answer(definitions::store::find(&state.db, id).await?, Some(view(ended))).await?
    };
    // Replaces the answer that was stored for repeats of the request when the change began.
    if let Some(attempt) = &call.attempt {
        idempotency::end(state, attempt, Ok(answer.reply())).await?;
    }
    Ok(Some(answer))
}

/// The table, locked; `None`: it is gone, or was changed since it was read. 409 while a change of it is
/// running.
pub async fn unchanged(tx: &mut Tx, before: &TableWithFields) -> Result<Option<TableWithFields>, Error> {
    let now = definitions::store::lock(tx, before.record.id).await?;
    store::refuse_running(tx, before.record.id).await?;
    Ok(now.filter(|now| now.etag() == before.etag()))
}

/// Commits a change that was inserted in this transaction, and waits for its end as long as the request may. A failed
/// change's error is returned.
async fn ended<P, Q, B>(
    call: &Call<P, Q, B>,
    mut tx: Tx,
    audited: audit::Change,
    begun: ChangeRow,
) -> Result<ChangeRow, Error> {
    let state = &call.state;
    tx.changed(TOPIC, begun.id.to_string());
    // The answer to repeats of this request if this server dies before it answers.
    let change = ChangeView::new(begun.clone(), state.config.time_zone);
    let under_way: Changed<()> = Changed::UnderWay(UnderWay { change });
    call.commit_begun(tx, audited, Data::new(&under_way), WAIT).await?;
    let key = begun.id.to_string();
    let look = || async {
        // A purged table leaves no row of its change.
        let purged = || ChangeRow {
            state: State::Success,
            finished_at_ms: Some(state.clock.now_ms()),
            ..begun.clone()
        };
        Ok(store::find(&state.db, begun.id).await?.unwrap_or_else(purged))
    };
    let has_ended = |change: &ChangeRow| change.state != State::Running;
    let change = state.wait_for(TOPIC, Some(&key), call.wait_until(WAIT), look, has_ended).await?;
    let Some(failure) = &change.failure else { return Ok(change) };
    let error = failure.to_error(&change.statements);
    if let Some(attempt) = call.attempt.as_ref().filter(|_| error.status() >= 500) {
        idempotency::forget(state, attempt).await?;
    }
    Err(error)
}
