//! Workflows for the tests of their module.

use lakeport_store::{Db, Tx};

use super::definition::{Content, Schedule};
use super::forms::{Concurrency, FailureStrategy, WarningType};
use super::versions::{self, Made, Source};
use super::{Workflow, store};

pub fn named(name: &str) -> Workflow {
    let content = Content {
        name: name.to_owned(),
        description: None,
        scheduler_engine: "local".to_owned(),
        global_params: Vec::new(),
        concurrency: Concurrency::default(),
        schedule: None,
    };
    Workflow { version: 1, changed_version: 1, ..Workflow::draft(content, "me", 5) }
}

pub fn daily() -> Schedule {
    Schedule {
        crontab: "0 0 0 * * ? *".to_owned(),
        start_ms: None,
        end_ms: None,
        timezone: "UTC".to_owned(),
        failure_strategy: FailureStrategy::Continue,
        warning_type: WarningType::None,
    }
}

/// Stores one with its first version.
pub async fn add(db: &Db, new: Workflow) -> Workflow {
    let mut tx = db.begin().await.unwrap();
    let id = store::insert(&mut tx, &new).await.unwrap();
    let workflow = Workflow { id, ..new };
    let made = Made { source: Source::Create, comment: None, by: "me", now_ms: 5 };
    versions::first(&mut tx, &workflow, made).await.unwrap();
    tx.commit().await.unwrap();
    workflow
}

/// Marks a version as deployed.
pub async fn publish(tx: &mut Tx, id: i64, version: i64) {
    let mut workflow = store::lock(tx, id).await.unwrap().unwrap();
    workflow.note_published(version, version.to_string(), Some("{}".to_owned()));
    store::set_published(tx, &workflow).await.unwrap();
}
