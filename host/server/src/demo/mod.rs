//! The example company: what `serve --demo` sets up once, before the server answers, on a store that does not have it.
//!
//! Its data stand in `examples/demo`. It is made by the requests that anybody could send, judged and written down as
//! theirs ([`requests`]), with the clock set back to when they would have been sent; only what ran in the past, and how
//! large tables were then, is written down as such.
//!
//! Each step looks first: what a start that was killed has left is finished by the next one. Once all is there it is
//! the user's, and nothing here looks at it again.

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

/// Between two looks whether another server has set it up.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// Waits until it is there, or until it is this server's to set it up.
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

/// Sets it up. The workers must run that do what requests leave to them, and no others: the clock is set back.
pub async fn set_up(state: &Arc<Server>, turn: Held) -> anyhow::Result<()> {
    let begun = Instant::now();
    let made = make(state).await;
    // Whatever came of it, time goes on.
    state.clock.go();
    if let Err(error) = turn.release().await {
        tracing::debug!("the lease of the set-up was not given back: {error}");
    }
    made.context("the example company is not set up; the next start with --demo goes on with it")?;
    tracing::info!(took_ms = begun.elapsed().as_millis() as u64, "the example company is set up");
    Ok(())
}

async fn make(state: &Arc<Server>) -> anyhow::Result<()> {
    let requests = Requests::new(state)?;
    let moments = Moments::of(state);
    let catalogue = files::catalogue()?;
    let story = files::story()?;

    // Before anything is written.
    workflows::refuse_others(&requests, &story).await?;
    let source_id = catalogue::define_source(state, &requests).await?;
    company::make_database(&state.config, moments.today()).await?;
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
