//! A scheduler without a worker, and workflows in an engine's form.

use lakeport_base::Clock;
use lakeport_bindings::engine::model;
use lakeport_plugins::EmbeddedScheduler as _;
use lakeport_store::{Db, Lease, Leases, Tx, leases};

use super::LocalScheduler;
use super::attempts::store::{self, Begun, ToBegin};

pub const NOW_MS: i64 = 1_772_600_000_000;

/// With the workflow 7, whose one task is named `a`.
pub async fn scheduler(db: &Db) -> LocalScheduler {
    let scheduler = LocalScheduler::new(db.clone(), Clock::standing(NOW_MS), chrono_tz::UTC);
    scheduler.put(workflow(7, vec![task(1, "a", "SELECT 1")], &[])).await.unwrap();
    scheduler
}

/// The next attempt of a task.
pub async fn begin(tx: &mut Tx, run_id: i64, (task_id, name): (i64, &str)) -> Begun {
    store::begin(tx, &[ToBegin { run_id, task_id, name }], NOW_MS).await.unwrap().remove(0)
}

pub async fn lease(db: &Db) -> Lease {
    Leases::new(db.clone(), "test".to_owned()).claim("runner", leases::TTL).await.unwrap().unwrap()
}

pub fn schedule(cron: &str) -> model::Schedule {
    model::Schedule {
        cron: cron.to_owned(),
        time_zone: "UTC".to_owned(),
        start: 0,
        end: None,
        failure_strategy: "END".to_owned(),
        warning_type: "NONE".to_owned(),
        extra: None,
    }
}

pub fn task(id: u64, name: &str, body: &str) -> model::Task {
    model::Task {
        id,
        name: name.to_owned(),
        kind: "SQL".to_owned(),
        body: vec![model::BodyPart::Text(body.to_owned())],
        datasource: Some(model::Datasource { id: 2, name: "shop".to_owned(), kind: "sqlite".to_owned() }),
        priority: "MEDIUM".to_owned(),
        timeout_s: 0,
        retries: 0,
        retry_interval_s: 0,
        settings: "{}".to_owned(),
    }
}

pub fn workflow(id: u64, tasks: Vec<model::Task>, edges: &[(u64, u64)]) -> model::Workflow {
    let edges = edges.iter().map(|&(before, after)| model::Edge { before, after });
    model::Workflow {
        id,
        name: format!("flow {id}"),
        description: String::new(),
        revision: "r1".to_owned(),
        version: 1,
        tasks,
        edges: edges.collect(),
        params: Vec::new(),
        schedule: None,
        concurrency: "parallel".to_owned(),
        extra: None,
    }
}

pub fn reference(id: u64) -> model::WorkflowRef {
    model::WorkflowRef {
        id,
        name: format!("flow {id}"),
        code: None,
        project: None,
        revision: None,
        state: None,
    }
}

pub fn start(workflow: u64, key: &str) -> model::RunRequest {
    model::RunRequest {
        workflow: reference(workflow),
        key: key.to_owned(),
        cause: "manual".to_owned(),
        business_time: None,
        params: Vec::new(),
        failure_strategy: "CONTINUE".to_owned(),
        start_at: None,
        reach: "all".to_owned(),
        extra: None,
    }
}

pub fn instance(workflow: u64, id: &str) -> model::InstanceRef {
    model::InstanceRef { workflow: reference(workflow), id: id.to_owned() }
}
