//! The description.

use lakeport_bindings::engine::about::{EngineInfo, TaskType};

use super::Fault;
use super::scheduler::FakeScheduler;

/// The task type.
pub const KIND: &str = "SQL";

pub fn info(scheduler: &FakeScheduler) -> EngineInfo {
    let task_type = TaskType {
        name: KIND.to_owned(),
        title: "Fake".to_owned(),
        body: "sql".to_owned(),
        needs_datasource: false,
        datasource_kinds: Vec::new(),
        settings_schema: "{}".to_owned(),
    };
    let features = [
        "business_time",
        "run_key",
        "retry_failed",
        "retry_all",
        "log_stream",
        "start_at",
        "run_params",
        "backfill_list",
        "task_retry",
        "task_timeout",
        "concurrency",
        "rows_affected",
    ];
    let does_little = scheduler.is(Fault::DoesLittle);
    EngineInfo {
        name: "fake".to_owned(),
        title: "Fake".to_owned(),
        version: "0.1.0".to_owned(),
        product: "Fake".to_owned(),
        versions: Vec::new(),
        config_schema: "{}".to_owned(),
        addresses: Vec::new(),
        folder_at: None,
        secrets: Vec::new(),
        auth: Vec::new(),
        task_types: vec![task_type],
        deploy_kind: "api".to_owned(),
        cron_dialect: "quartz7".to_owned(),
        time_zone_mode: "schedule".to_owned(),
        max_backfill_dates: 0,
        settle_ms: 500,
        features: features.iter().filter(|_| !does_little).map(|&one| one.to_owned()).collect(),
        extra: None,
    }
}
