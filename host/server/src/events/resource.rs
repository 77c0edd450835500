//! What an entry of the change log means to a caller.

use std::collections::HashSet;

use lakeport_base::Error;
use lakeport_http::{Caller, Role};
use lakeport_store::{Db, Either};

use crate::{agent, auth, datasources, engines, executions, plugins, scheduler, sync, tables, workflows};

/// Whom an entry concerns.
#[derive(Debug, PartialEq, Eq)]
pub enum Audience<'k> {
    Everyone,
    Role(Role),
    /// The owner with this key.
    Owner(&'k str),
    /// The owner of this task's topic.
    OwnerOfTask(&'k str),
}

/// The topics of the stream: the collections of the interface.
pub const TOPICS: [&str; 10] = [
    "backfills",
    "datasources",
    "engines",
    "executions",
    "plugins",
    "tables",
    "tasks",
    "tokens",
    "topics",
    "workflows",
];

/// A changed resource.
#[derive(Debug, PartialEq, Eq)]
pub struct Resource<'k> {
    /// One of [`TOPICS`].
    pub topic: &'static str,
    /// Its id; `None`: one or several of the topic.
    pub id: Option<&'k str>,
    pub audience: Audience<'k>,
}

/// `None`: the entry concerns servers only.
pub fn of<'k>(topic: &str, key: &'k str) -> Option<Resource<'k>> {
    let everyone = |topic, id| Some(Resource { topic, id, audience: Audience::Everyone });
    let id = Some(key).filter(|key| *key != lakeport_store::changes::EVERY_KEY);
    match topic {
        tables::TOPIC => everyone("tables", id),
        tables::CHANGES_TOPIC => everyone("tables", None),
        workflows::TOPIC => everyone("workflows", id),
        workflows::PUBLICATIONS_TOPIC => everyone("workflows", None),
        workflows::tasks::TOPIC => everyone("tasks", id),
        datasources::TOPIC => everyone("datasources", id),
        sync::TOPIC => everyone("datasources", None),
        engines::TOPIC => everyone("engines", id),
        plugins::TOPIC => everyone("plugins", None),
        executions::BACKFILLS_TOPIC => everyone("backfills", None),
        executions::TOPIC | executions::RUNS_TOPIC => everyone("executions", None),
        topic if scheduler::TOPICS.contains(&topic) => everyone("executions", None),
        auth::TOPIC => Some(Resource { topic: "tokens", id, audience: Audience::Role(Role::Admin) }),
        agent::TOPICS_TOPIC => {
            let (id, owner) = key.split_once(' ')?;
            Some(Resource { topic: "topics", id: Some(id), audience: Audience::Owner(owner) })
        }
        agent::TOPIC => {
            let task = agent::task_of_key(key);
            Some(Resource { topic: "topics", id: None, audience: Audience::OwnerOfTask(task) })
        }
        _ => None,
    }
}

/// Which of these ids of a topic exist now; `None`: the topic's resources are not looked up.
pub async fn existing(db: &Db, topic: &str, ids: &[&str]) -> Result<Option<HashSet<String>>, Error> {
    macro_rules! by {
        (number $select:literal) => {
            Either {
                sqlite: concat!(
                    "SELECT CAST(id AS TEXT) FROM ",
                    $select,
                    " id IN (SELECT value FROM json_each($1))"
                ),
                postgres: concat!("SELECT CAST(id AS TEXT) FROM ", $select, " id = ANY($1)"),
            }
        };
        (text $id:literal, $table:literal) => {
            Either {
                sqlite: concat!(
                    "SELECT ",
                    $id,
                    " FROM ",
                    $table,
                    " WHERE ",
                    $id,
                    " IN (SELECT value FROM json_each($1))"
                ),
                postgres: concat!(
                    "SELECT ",
                    $id,
                    " FROM ",
                    $table,
                    " WHERE ",
                    $id,
                    " = ANY (ARRAY(SELECT json_array_elements_text(CAST($1 AS json))))"
                ),
            }
        };
    }
    let statement = match topic {
        "tables" => by!(number "tables WHERE"),
        "tasks" => by!(number "tasks WHERE"),
        "datasources" => by!(number "datasources WHERE"),
        "workflows" => by!(number "workflows WHERE deleted_at IS NULL AND"),
        "tokens" => by!(number "tokens WHERE revoked_at IS NULL AND"),
        "engines" => by!(text "name", "engines"),
        "topics" => by!(text "topic_id", "topics"),
        _ => return Ok(None),
    };
    let value = if matches!(topic, "engines" | "topics") {
        serde_json::to_string(ids).map_err(Error::internal)?.into()
    } else {
        let numbers: Vec<i64> = ids.iter().filter_map(|id| id.parse().ok()).collect();
        numbers.as_slice().into()
    };
    let rows = db.read(db.words(statement), &[value]).await?;
    rows.iter().map(|row| row.get(0)).collect::<Result<_, _>>().map(Some)
}

impl Audience<'_> {
    /// `None`: it depends on the owner of the task's topic.
    pub fn includes(&self, caller: &Caller) -> Option<bool> {
        match self {
            Audience::Everyone => Some(true),
            Audience::Role(role) => Some(caller.role >= *role),
            Audience::Owner(owner) => Some(caller.key() == *owner),
            Audience::OwnerOfTask(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_names_its_collection_and_whom_it_concerns() {
        let table = of("tables", "7").expect("a resource");
        assert_eq!((table.topic, table.id), ("tables", Some("7")));
        assert_eq!(of("tables", "*").expect("a resource").id, None);
        let token = of("tokens", "1").expect("a resource");
        assert_eq!(token.audience.includes(&Caller::anonymous()), Some(false));
        assert_eq!(token.audience.includes(&Caller::local()), Some(true));
        let topic = of("topics", "t-1 token:4").expect("a resource");
        assert_eq!((topic.id, &topic.audience), (Some("t-1"), &Audience::Owner("token:4")));
        assert_eq!(topic.audience.includes(&Caller::local()), Some(false));
        assert_eq!(of("agent", "t-2/asked").expect("a resource").audience, Audience::OwnerOfTask("t-2"));
        assert_eq!(of("anything else", "1"), None);
    }
}
