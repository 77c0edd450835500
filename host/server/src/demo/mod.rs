//! The example company: `serve --demo` creates it once, before the server answers, on a store without it.
//!
//! Its data is in `examples/demo`. It is created by ordinary requests, authorised and audited as such
//! ([`requests`]), with the clock set back to their times; only past runs and table sizes are written
//! directly.
//!
//! Each step checks first whether it is done, so that the next start finishes what a killed one began. Once
//! complete, the data belongs to the user and is never touched again.

mod catalogue;
mod company;
mod files;
mod moments;
mod requests;
mod runs;
mod store;
mod workflows;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use lakeport_base::failpoints;
use lakeport_store::{Held, leases};
use tokio::time::{Instant, sleep};

use crate::compose::Server;
use catalogue::Catalogue;
use moments::Moments;
use requests::Requests;

/// The interval of checking whether another server has created it.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// Waits until it exists, or until this server holds the lease to create it.
pub async fn turn(state: &Server) -> anyhow::Result<Option<Held>> {
    loop {
        if store::is_there(&state.db).await? {
            return Ok(None);
        }
        match state.leases.claim("demo", leases::TTL).await? {
            Some(lease) => return Ok(Some(lease.hold())),
            None => sleep(LOOK_INTERVAL).await,
        }
    }
}

/// Creates it. Only the workers that serve requests may run, because the clock is set back.
pub async fn set_up(state: &Arc<Server>, turn: Held) -> anyhow::Result<()> {
    let begun = Instant::now();
    let made = make(state).await;
    // The clock must go on even after a failure.
    state.clock.go();
    if let Err(error) = turn.release().await {
        tracing::debug!("the lease of the set-up was not given back: {error}");
    }
    made.context("setting up the example company failed; the next start with --demo continues it")?;
    tracing::info!(took_ms = begun.elapsed().as_millis() as u64, "the example company is set up");
    Ok(())
}

async fn make(state: &Arc<Server>) -> anyhow::Result<()> {
    let requests = Requests::new(state)?;
    let moments = Moments::of(state);
    let catalogue = files::catalogue()?;
    let story = files::story()?;

    // Before the first write.
    workflows::refuse_others(&requests, &story).await?;
    let (source_id, path) = catalogue::define_source(state, &requests).await?;
    company::make_database(&path, moments.today()).await?;
    failpoints::reach("demo.database");
    let tables = Catalogue { requests: &requests, moments: &moments, source_id };
    let table_ids = tables.read_in(&catalogue).await?;
    failpoints::reach("demo.catalogue");
    let makers =
        workflows::Makers { requests: &requests, moments: &moments, source_id, table_ids: &table_ids };
    for workflow in &story.workflows {
        makers.define(workflow).await?;
    }
    failpoints::reach("demo.defined");
    for publication in &story.publications {
        makers.publish(publication).await?;
        failpoints::reach("demo.published");
    }
    runs::write_down(state, &requests, &moments, &story).await?;
    failpoints::reach("demo.runs");
    state.clock.go();
    tables.remember_sizes(state, &catalogue, &table_ids).await?;
    failpoints::reach("demo.sizes");
    for workflow in story.workflows.iter().filter(|workflow| workflow.online) {
        makers.bring_online(workflow).await?;
    }
    store::set_there(&state.db, state.clock.now_ms()).await?;
    Ok(())
}
