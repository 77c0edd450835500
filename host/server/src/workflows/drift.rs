//! What somebody changed in an engine itself: a definition that is gone, edited or cannot be run there, a schedule that is on or
//! off though the other is wanted. Each engine's list of definitions is compared with the store now and then. A difference that
//! two looks in a row have found is shown as the workflow's `engineError`; it goes with the next look that does not find it,
//! and with the next change that the engine makes. Nothing is overwritten there: somebody may have had a reason.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::time::Duration;

use lakeport_base::Error;
use lakeport_bindings::engine::definitions::{DefinitionHead, DefinitionQuery};
use lakeport_bindings::host::types::Page;
use lakeport_store::Held;
use tokio::time::sleep;

use super::forms::WorkflowStatus;
use super::{TOPIC, store};
use crate::core::Core;
use crate::engines::{self, EngineClient, Engines};

/// The pause between two looks, and the longer one after a long list: so long for each part of it.
const INTERVAL: Duration = Duration::from_secs(30);
const INTERVAL_OF_PART: Duration = Duration::from_secs(4);
/// The pause after a look that failed, and the one where there is nothing to look at.
const INTERVAL_AFTER_ERROR: Duration = Duration::from_secs(60);
const INTERVAL_MAX: Duration = Duration::from_secs(300);
/// Definitions of one part, and of all: nothing is known of further ones.
const PART: u32 = 200;
const PARTS_MAX: usize = 100;

/// What is wanted of a deployed workflow that has no open change.
pub struct Wanted {
    pub id: i64,
    pub code: String,
    pub project: Option<String>,
    pub revision: Option<String>,
    /// What the engine called the content that Lakeport deployed.
    pub version: Option<String>,
    pub status: WorkflowStatus,
    /// What was found before.
    pub drift: Option<String>,
}

/// The definitions of a project of an engine.
#[derive(Default)]
struct List {
    /// By code.
    heads: HashMap<String, DefinitionHead>,
    is_whole: bool,
}

/// How a workflow's definition differs from what is wanted.
#[derive(Debug, PartialEq, Eq)]
enum Drift {
    None,
    /// What differs, and what can be done.
    Found(String),
    Unknown,
}

/// Looks at an engine again and again, while its watcher holds the lease.
pub async fn look_on(core: &Core, engines: &Engines, name: &str, held: &Held) -> Infallible {
    let mut before = HashMap::new();
    loop {
        let pause = match look(core, engines, name, held, &mut before).await {
            Ok(pause) => pause,
            Err(error) => {
                tracing::debug!(engine = name, "its definitions are not compared: {error}");
                INTERVAL_AFTER_ERROR
            }
        };
        sleep(pause).await;
    }
}

/// `before`: the differences that the look before has found, by workflow. Returns the pause until the next one.
async fn look(
    core: &Core,
    engines: &Engines,
    name: &str,
    held: &Held,
    before: &mut HashMap<i64, String>,
) -> Result<Duration, Error> {
    let Some(record) = engines::find(&core.db, name).await? else { return Ok(INTERVAL_MAX) };
    // Only the server itself changes what the embedded scheduler has.
    if record.plugin == engines::LOCAL {
        return Ok(INTERVAL_MAX);
    }
    let wanted = store::settled_at_engine(&core.db, name).await?;
    let client = EngineClient::of(engines, &record, "drift");
    let (mut lists, mut parts, mut failed) = (HashMap::new(), 0, None);
    let projects: HashSet<&Option<String>> = wanted.iter().map(|one| &one.project).collect();
    for project in projects {
        match List::read(&client, project.clone(), &mut parts).await {
            Ok(list) => _ = lists.insert(project, list),
            // Others may be open to the account.
            Err(error) => failed = Some(error),
        }
    }
    let mut found = HashMap::new();
    for one in &wanted {
        let drift = match lists.get(&one.project).map_or(Drift::Unknown, |list| list.drift(name, one)) {
            Drift::None => None,
            Drift::Found(drift) => Some(drift),
            Drift::Unknown => continue,
        };
        let is_new = drift.as_ref().is_some_and(|drift| before.get(&one.id) != Some(drift));
        if drift != one.drift && !is_new {
            note(core, held, one, drift.as_deref()).await?;
        }
        found.extend(drift.map(|drift| (one.id, drift)));
    }
    *before = found;
    match failed {
        Some(error) => Err(error),
        None => Ok(INTERVAL.max(INTERVAL_OF_PART * parts)),
    }
}

async fn note(core: &Core, held: &Held, of: &Wanted, drift: Option<&str>) -> Result<(), Error> {
    let mut tx = core.db.begin().await?;
    tx.guard(held).await?;
    if store::set_drift(&mut tx, of, drift).await? {
        tx.changed(TOPIC, of.id.to_string());
        if let Some(drift) = drift {
            tracing::warn!(workflow = of.id, "{drift}");
        }
    }
    tx.commit().await
}

impl List {
    /// `parts`: counts what it asks for.
    async fn read(client: &EngineClient, project: Option<String>, parts: &mut u32) -> Result<List, Error> {
        let (mut list, mut cursor) = (List::default(), None);
        for _ in 0..PARTS_MAX {
            let page = Page { cursor, limit: PART };
            let query = DefinitionQuery { project: project.clone(), keyword: None, page };
            let answer = client.definitions(&query).await?;
            *parts += 1;
            list.heads.extend(answer.definitions.into_iter().map(|head| (head.code.clone(), head)));
            cursor = answer.next;
            if cursor.is_none() {
                list.is_whole = true;
                break;
            }
        }
        Ok(list)
    }

    fn drift(&self, engine: &str, of: &Wanted) -> Drift {
        let Some(head) = self.heads.get(&of.code) else {
            let gone = format!(
                "the engine `{engine}` has no definition {} any more; publish the workflow again",
                of.code
            );
            return if self.is_whole { Drift::Found(gone) } else { Drift::Unknown };
        };
        let is_edited = matches!((&head.version, &of.version), (Some(there), Some(ours)) if there != ours);
        let what = match (head.runnable, of.status, head.scheduled) {
            (Some(false), ..) => {
                "the definition of the workflow is offline in the engine; set it online there, or publish it again"
            }
            (_, WorkflowStatus::Online, Some(false)) => {
                "the schedule is off in the engine; switch it on there, or set the workflow offline and online again"
            }
            (_, WorkflowStatus::Offline, Some(true)) => {
                "the schedule is on in the engine, and starts runs; switch it off there, or set the workflow online and \
                 offline again"
            }
            _ if is_edited => {
                "the definition of the workflow was edited in the engine, and runs as edited; make the same change here, if it \
                 is to stay, and publish the workflow again: that replaces the edit"
            }
            _ => return Drift::None,
        };
        Drift::Found(what.replacen("the engine", &format!("the engine `{engine}`"), 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(code: &str, status: WorkflowStatus) -> Wanted {
        Wanted {
            id: 1,
            code: code.to_owned(),
            project: Some("7".to_owned()),
            revision: None,
            version: Some("2".to_owned()),
            status,
            drift: None,
        }
    }

    fn list(heads: &[(&str, Option<bool>, Option<bool>)], is_whole: bool) -> List {
        let head = |(code, runnable, scheduled): &(&str, Option<bool>, Option<bool>)| {
            let head = DefinitionHead {
                project: "7".to_owned(),
                code: (*code).to_owned(),
                name: "w".to_owned(),
                version: Some("2".to_owned()),
                release_state: "UNKNOWN".to_owned(),
                runnable: *runnable,
                scheduled: *scheduled,
            };
            ((*code).to_owned(), head)
        };
        List { heads: heads.iter().map(head).collect(), is_whole }
    }

    #[test]
    fn a_difference_says_what_can_be_done() {
        use WorkflowStatus::{Offline, Online};
        let cases = [
            ((Some(true), Some(true)), Online, None),
            ((None, None), Online, None),
            ((Some(true), None), Offline, None),
            ((Some(true), Some(false)), Offline, None),
            ((Some(false), Some(false)), Online, Some("is offline in the engine `ds`; set it online there")),
            ((Some(true), Some(false)), Online, Some("is off in the engine `ds`")),
            ((Some(true), Some(true)), Offline, Some("is on in the engine `ds`")),
        ];
        for ((runnable, scheduled), status, expected) in cases {
            let found = list(&[("5", runnable, scheduled)], true).drift("ds", &wanted("5", status));
            let fits = match (&found, expected) {
                (Drift::None, None) => true,
                (Drift::Found(found), Some(expected)) => found.contains(expected),
                _ => false,
            };
            assert!(fits, "{runnable:?} {scheduled:?} {status:?}: {found:?}");
        }
    }

    #[test]
    fn an_edited_definition_is_found() {
        let drift = |there: Option<&str>, ours: Option<&str>| {
            let mut list = list(&[("5", Some(true), Some(true))], true);
            let head = list.heads.get_mut("5").expect("it is listed");
            head.version = there.map(str::to_owned);
            let of = Wanted { version: ours.map(str::to_owned), ..wanted("5", WorkflowStatus::Online) };
            list.drift("ds", &of)
        };
        let found = drift(Some("3"), Some("2"));
        assert!(
            matches!(&found, Drift::Found(drift) if drift.contains("edited in the engine `ds`")),
            "{found:?}"
        );
        for (there, ours) in [(Some("2"), Some("2")), (None, Some("2")), (Some("3"), None)] {
            assert_eq!(drift(there, ours), Drift::None);
        }
    }

    #[test]
    fn only_a_whole_list_shows_that_one_is_gone() {
        let of = wanted("5", WorkflowStatus::Offline);
        let other = [("6", Some(true), None)];
        for heads in [&other[..], &[]] {
            let found = list(heads, true).drift("ds", &of);
            assert!(matches!(found, Drift::Found(drift) if drift.contains("no definition 5")));
            assert_eq!(list(heads, false).drift("ds", &of), Drift::Unknown);
        }
    }
}
