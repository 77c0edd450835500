//! What a data source will call the transaction of an attempt. It is noted before the commit; so after a kill, or where the
//! answer of the commit was lost, the data source itself says whether the attempt has succeeded.

use std::time::Duration;

use lakeport_physical::{TaskMark, TaskOutcome};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::sql::database;
use super::store::Ended;
use crate::datasources;
use crate::scheduler::Scheduler;
use crate::scheduler::store::State;

/// How long the data source is waited for.
const ASK_MAX: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub datasource_id: i64,
    pub transaction: TaskMark,
    /// The rows that the attempt changed.
    pub rows: i64,
}

impl Mark {
    /// As it is stored.
    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers are JSON")
    }

    /// The result of an attempt that has committed.
    pub fn ended(&self) -> Ended {
        Ended { state: State::Success, message: None, rows_affected: Some(self.rows), is_tried_again: false }
    }

    pub fn read(text: &str) -> Option<Mark> {
        serde_json::from_str(text).ok()
    }

    /// What became of the transaction; `None`: the data source does not say so now.
    pub async fn outcome(&self, state: &Scheduler) -> Option<TaskOutcome> {
        let source = match datasources::find(&state.db, self.datasource_id).await {
            Ok(Some(source)) => source,
            Ok(None) => return Some(TaskOutcome::Forgotten),
            Err(error) => {
                tracing::warn!("the data source of a task was not found: {error}");
                return None;
            }
        };
        let asked = async {
            let database = database(state, &source, 0).await?;
            self.transaction.outcome(&database).await.map_err(|error| error.message)
        };
        match timeout(ASK_MAX, asked).await {
            Ok(Ok(outcome)) => Some(outcome),
            Ok(Err(why)) => {
                tracing::warn!(datasource = source.name, "the outcome of a task is not known yet: {why}");
                None
            }
            Err(_) => None,
        }
    }
}
