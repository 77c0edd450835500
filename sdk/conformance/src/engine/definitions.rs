//! Reading definitions out of the engine.

use lakeport_bindings::engine::definitions::{DefinitionHead, DefinitionQuery, Source};
use lakeport_bindings::engine::model::{Workflow, WorkflowRef};
use lakeport_bindings::host::types::Page;
use serde_json::Value;

use super::subject::Subject;
use super::trial::{Checked, Stop, Trial};
use crate::report::Area;

const LIST: &str = "definitions.entries";
const READ: &str = "definitions.read";
/// Pages of one list before the kit gives up.
const PAGES_MAX: usize = 100;

/// A deployed workflow is listed once, and can be read.
pub async fn definitions<S: Subject>(
    trial: &mut Trial<'_, S>,
    workflow: &Workflow,
    current: &WorkflowRef,
) -> Checked<()> {
    let listed = list(trial, &workflow.name, 100).await?;
    let code = current.code.clone().unwrap_or_default();
    let found: Vec<&DefinitionHead> = listed.iter().filter(|head| head.name == workflow.name).collect();
    let what = format!("{found:?} for the code {code:?}");
    let holds = found.len() == 1 && found[0].code == code;
    trial.require(Area::Lifecycle, holds, LIST, &what, "a deployed workflow is listed once")?;
    let head = found[0].clone();
    let is_word = matches!(head.release_state.as_str(), "ONLINE" | "OFFLINE" | "UNKNOWN");
    let what = format!("the state {:?}", head.release_state);
    trial.expect(Area::Contract, is_word, LIST, &what, "the states are `ONLINE`, `OFFLINE` and `UNKNOWN`");
    let what = format!("`runnable` is {:?}", head.runnable);
    trial.expect(Area::Contract, head.runnable != Some(false), LIST, &what, "a deployed workflow can be run");
    let keyword = format!("conformance-{}", trial.setting.unique).to_uppercase();
    let (whole, small) = (list(trial, &keyword, 100).await?, list(trial, &keyword, 1).await?);
    let what = format!("{} on one page, {} one by one", whole.len(), small.len());
    let why = "the order is stable, small pages lose nothing, and case is ignored";
    let holds = whole == small && whole.contains(&head);
    trial.expect(Area::Determinism, holds, LIST, &what, why);
    read(trial, workflow, &head).await
}

/// A removed workflow is not listed, and cannot be read.
pub async fn after_removal<S: Subject>(trial: &mut Trial<'_, S>, removed: &WorkflowRef) -> Checked<()> {
    let keyword = format!("conformance-{}", trial.setting.unique);
    let listed = list(trial, &keyword, 100).await?;
    let code = removed.code.clone().unwrap_or_default();
    let holds = listed.iter().all(|head| head.code != code);
    let what = format!("{code:?} is among {listed:?}");
    let place = "definitions.entries, after the removal";
    trial.expect(Area::Lifecycle, holds, place, &what, "a removed workflow is not listed");
    let source = Source::Deployed((removed.project.clone().unwrap_or_default(), code));
    let subject = trial.subject;
    trial.must_refuse(READ, "a removed workflow", &["not_found"], subject.definition(&source)).await;
    Ok(())
}

/// A deployed workflow in the list, if it is there.
pub async fn listed<S: Subject>(
    trial: &mut Trial<'_, S>,
    workflow: &WorkflowRef,
) -> Checked<Option<DefinitionHead>> {
    let listed = list(trial, &workflow.name, 100).await?;
    Ok(listed.into_iter().find(|head| Some(&head.code) == workflow.code.as_ref()))
}

async fn list<S: Subject>(
    trial: &mut Trial<'_, S>,
    keyword: &str,
    limit: u32,
) -> Checked<Vec<DefinitionHead>> {
    let subject = trial.subject;
    let (mut heads, mut cursor) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let query = DefinitionQuery {
            project: None,
            keyword: Some(keyword.to_owned()),
            page: Page { cursor, limit },
        };
        let page = trial.must(LIST, "a keyword", subject.definitions(&query)).await?;
        let what = format!("{} definitions with the limit {limit}", page.definitions.len());
        let fits = page.definitions.len() <= limit as usize;
        trial.expect(Area::Contract, fits, LIST, &what, "a page has at most as many as asked");
        heads.extend(page.definitions);
        cursor = page.next;
        if cursor.is_none() {
            return Ok(heads);
        }
    }
    trial.report.add(Area::Contract, LIST, "pages without an end", "pages come to an end");
    Err(Stop)
}

async fn read<S: Subject>(
    trial: &mut Trial<'_, S>,
    workflow: &Workflow,
    head: &DefinitionHead,
) -> Checked<()> {
    let subject = trial.subject;
    let source = Source::Deployed((head.project.clone(), head.code.clone()));
    let found = trial.must(READ, "a deployed workflow", subject.definition(&source)).await?;
    let names = |workflow: &Workflow| {
        let name = |id: u64| workflow.tasks.iter().find(|task| task.id == id).map(|task| task.name.clone());
        let mut names: Vec<String> = workflow.tasks.iter().map(|task| task.name.clone()).collect();
        let mut edges: Vec<_> =
            workflow.edges.iter().map(|edge| (name(edge.before), name(edge.after))).collect();
        names.sort_unstable();
        edges.sort_unstable();
        (names, edges)
    };
    let what = format!("{:?}; deployed: {:?}", names(&found.workflow), names(workflow));
    let holds = names(&found.workflow) == names(workflow);
    trial.expect(
        Area::Lifecycle,
        holds,
        READ,
        &what,
        "a definition has the tasks and edges that were deployed",
    );
    let is_json = serde_json::from_str::<Value>(&found.native).is_ok();
    trial.expect(
        Area::Contract,
        is_json,
        READ,
        "`native` is no JSON",
        "`native` is the engine's own form, as JSON",
    );
    let again = trial.must(READ, "the same again", subject.definition(&source)).await?;
    let why = "a definition that did not change is read the same";
    let is_same = again.workflow == found.workflow;
    trial.expect(Area::Determinism, is_same, READ, "two translations", why);
    let unknown = Source::Deployed((head.project.clone(), "999999999".to_owned()));
    trial.must_refuse(READ, "an unknown code", &["not_found"], subject.definition(&unknown)).await;
    let garbage = Source::Document("no document of yours".to_owned());
    let codes = ["invalid_input", "unsupported"];
    trial.must_refuse(READ, "a document of something else", &codes, subject.definition(&garbage)).await;
    Ok(())
}
