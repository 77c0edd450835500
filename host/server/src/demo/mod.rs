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
use tokio::time::{Instant, sleep};

use crate::app::App;
use crate::db::{Held, leases};
use crate::points;
use catalogue::Catalogue;
use moments::Moments;
use requests::Requests;

/// Between two looks whether another server has set it up.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// Waits until it is there, or until it is this server's to set it up.
pub async fn turn(app: &App) -> anyhow::Result<Option<Held>> {
    loop {
        if store::is_there(&app.db).await? {
            return Ok(None);
        }
        match app.leases.claim("demo", leases::TTL).await? {
            Some(lease) => return Ok(Some(lease.hold())),
            None => sleep(LOOK_INTERVAL).await,
        }
    }
}

/// Sets it up. The workers must run that do what requests leave to them, and no others: the clock is set back.
pub async fn set_up(app: &Arc<App>, turn: Held) -> anyhow::Result<()> {
    let begun = Instant::now();
    let made = make(app).await;
    // Whatever came of it, time goes on.
    app.clock.go();
    if let Err(error) = turn.release().await {
        tracing::debug!("the lease of the set-up was not given back: {error}");
    }
    made.context("the example company is not set up; the next start with --demo goes on with it")?;
    tracing::info!(took_ms = begun.elapsed().as_millis() as u64, "the example company is set up");
    Ok(())
}

async fn make(app: &Arc<App>) -> anyhow::Result<()> {
    let requests = Requests::new(app)?;
    let moments = Moments::of(app);
    let catalogue = files::catalogue()?;
    let story = files::story()?;

    // Before anything is written.
    workflows::refuse_others(&requests, &story).await?;
    let source_id = catalogue::define_source(app, &requests).await?;
    company::make_database(&app.config, moments.today()).await?;
    points::reach("demo.database");
    let tables = Catalogue { requests: &requests, moments: &moments, source_id };
    let table_ids = tables.read_in(&catalogue).await?;
    points::reach("demo.catalogue");
    let makers =
        workflows::Makers { requests: &requests, moments: &moments, source_id, table_ids: &table_ids };
    for workflow in &story.workflows {
        makers.define(workflow).await?;
    }
    points::reach("demo.defined");
    for publication in &story.publications {
        makers.publish(publication).await?;
        points::reach("demo.published");
    }
    runs::write_down(app, &requests, &moments, &story).await?;
    points::reach("demo.runs");
    app.clock.go();
    tables.remember_sizes(app, &catalogue, &table_ids).await?;
    points::reach("demo.sizes");
    for workflow in story.workflows.iter().filter(|workflow| workflow.online) {
        makers.bring_online(workflow).await?;
    }
    store::set_there(&app.db, app.clock.now_ms()).await?;
    Ok(())
}
