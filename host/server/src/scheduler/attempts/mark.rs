//! What a data source knows of an attempt: the name of its session, noted before its first statement, and the number or name
//! of its transaction, noted before its commit. So after a kill, or where the answer of the commit was lost, the session is
//! ended, and the data source itself says whether the attempt has succeeded.

use lakeport_physical::{TaskMark, TaskOutcome, task_outcome};
use serde::{Deserialize, Serialize};

use super::sql::database;
use super::store::Ended;
use crate::datasources;
use crate::queries::Query;
use crate::scheduler::Scheduler;
use crate::scheduler::store::State;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Mark {
    pub datasource_id: i64,
    /// Where the data source was: another place knows nothing of the attempt's transaction.
    #[serde(default)]
    pub place: Option<String>,
    /// `None`: its sessions have no names, and end with the server.
    pub session: Option<String>,
    /// `None`: it had not come to its commit, or nothing tells of it.
    pub transaction: Option<TaskMark>,
    /// The rows that the attempt changed.
    pub rows: i64,
    /// For the log of queries, once it has committed.
    #[serde(default)]
    pub accessed: Option<Query>,
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

    /// Ends the attempt's session, and tells the outcome of its transaction; `None`: the data source does not say so now.
    /// Takes as long as the data source: seconds where it cannot be reached, minutes where it ends a large transaction.
    pub async fn outcome(&self, state: &Scheduler) -> Option<TaskOutcome> {
        if self.session.is_none() && self.transaction.is_none() {
            return Some(TaskOutcome::Forgotten);
        }
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
            let outcome = task_outcome(&database, self.session.as_deref(), self.transaction.as_ref());
            outcome.await.map_err(|error| error.message)
        };
        let told = asked.await.map(|outcome| match self.place.as_ref().filter(|place| **place != source.place()) {
            // Without a transaction it had not come to its commit.
            Some(place) if self.transaction.is_some() => {
                tracing::warn!(
                    datasource = source.name,
                    "a task ran where the data source was before, at {place}; its outcome is not known here"
                );
                TaskOutcome::InProgress
            }
            _ => outcome,
        });
        told.inspect_err(|why| {
            tracing::warn!(datasource = source.name, "the outcome of a task is not known yet: {why}");
        })
        .ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_earlier_versions_are_read() {
        let mark = Mark::read(r#"{"datasource_id":3,"session":"s","transaction":null,"rows":2}"#).unwrap();
        assert_eq!((mark.datasource_id, mark.rows, mark.place), (3, 2, None));
        assert!(mark.accessed.is_none());
    }
}
