//! Announcements: lines that every caller can read until they are old. The example of a module.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use lakeport::core::Core;
use lakeport::part::{Part, RetentionRule, Start, Worker};
use lakeport_base::Error;
use lakeport_http::{Call, Data, Role, Route};
use lakeport_store::Retained;

/// Between two log lines of the worker.
const INTERVAL: Duration = Duration::from_secs(600);

const OLD: Retained = Retained {
    what: "announcements",
    table: "announcements",
    purge: "DELETE FROM announcements WHERE id IN (SELECT id FROM announcements WHERE at < $1 LIMIT $2)",
};

/// All that the server learns of this module.
pub fn part() -> Part<Core> {
    let about = "List announcements, newest first";
    Part {
        tags: &[("announcements", "Lines that every caller can read")],
        routes: vec![
            Route::new(Method::GET, "/api/v1/announcements", Role::Viewer, "listAnnouncements", about, list)
                .refuses(&["no_announcements"]),
        ],
        workers: vec![Worker::new(Start::AfterSetUp, log)],
        retained: vec![RetentionRule::days(OLD, |settings| settings.topics_days)],
        error_codes: &["no_announcements"],
        ..Part::default()
    }
}

async fn list(call: Call<Core>) -> Result<Data<Vec<String>>, Error> {
    const NEWEST: &str = "SELECT text FROM announcements ORDER BY at DESC, id DESC LIMIT 100";
    let rows = call.state.db.read(NEWEST, &[]).await?;
    let texts: Vec<String> = rows.iter().map(|row| row.get(0)).collect::<Result<_, _>>()?;
    if texts.is_empty() {
        return Err(Error::conflict("no_announcements", "there is nothing to announce"));
    }
    Ok(Data::new(&texts))
}

async fn log(core: Arc<Core>) {
    while core.stopping.run_until_cancelled(tokio::time::sleep(INTERVAL)).await.is_some() {
        tracing::debug!("announcements are kept for {} days", core.config.retention.topics_days);
    }
}
