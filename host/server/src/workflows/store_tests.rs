use lakeport_store::testing::on_each_store;

use super::*;
use crate::workflows::testing::{add, named, publish};
use crate::workflows::wanted::{By, EngineChange};

fn page_of(page_num: i64, page_size: i64) -> Paging {
    Paging { page_num, page_size }
}

fn deployed_as(id: i64, code: &str) -> Deployed {
    Deployed {
        id,
        name: "n".to_owned(),
        engine: "local".to_owned(),
        code: Some(code.to_owned()),
        project: Some("12".to_owned()),
        revision: Some("r".to_owned()),
        version: Some("2".to_owned()),
        state: Some("{}".to_owned()),
    }
}

#[tokio::test]
async fn a_name_is_taken_once_among_live_ones() {
    on_each_store(async |db| {
        let first = add(&db, named("a")).await;
        let other = add(&db, named("A")).await;
        let mut tx = db.begin().await.unwrap();
        assert_eq!(insert(&mut tx, &named("a")).await.unwrap_err().code(), "name_taken");
        drop(tx);
        let mut tx = db.begin().await.unwrap();
        let renamed = Workflow { id: other.id, ..named("a") };
        assert_eq!(update(&mut tx, &renamed).await.unwrap_err().code(), "name_taken");
        drop(tx);
        let mut tx = db.begin().await.unwrap();
        delete(&mut tx, first.id, "me", 9).await.unwrap();
        tx.commit().await.unwrap();
        assert!(find(&db, first.id).await.unwrap().is_none());
        add(&db, named("a")).await;
    })
    .await;
}

#[tokio::test]
async fn lists_show_the_newest_execution_of_each() {
    const RUN: &str = "INSERT INTO runs (id, engine, workflow_id, workflow_name, state, cause, asked_at) \
        VALUES ($1, 'local', $1, 'w', 'success', 'manual', 1)";
    const EXECUTION: &str = "INSERT INTO executions (run_id, task_key, engine, instance_id, workflow_id, \
        workflow_name, task_name, status, trigger_type, attempt, start_time, end_time, tries, at, created_at, \
        updated_at) VALUES ($1, $2, 'local', 'i', $1, 'w', $2, 'failed', 'manual', 2, 1000, 3500, '[]', 1, 1, 1)";
    on_each_store(async |db| {
        let (first, second) = (add(&db, named("a")).await.id, add(&db, named("b")).await.id);
        db.execute(RUN, &[first.into()]).await.unwrap();
        for task in ["earlier", "later"] {
            db.execute(EXECUTION, &[first.into(), task.into()]).await.unwrap();
        }
        let page = page(&db, &[first, second], &page_of(1, 20), Tz::UTC).await.unwrap();
        assert_eq!(page.iter().map(|(workflow, _)| workflow.id).collect::<Vec<_>>(), [second, first]);
        assert!(page[0].1.is_none());
        let latest = page[1].1.as_ref().unwrap();
        assert_eq!((latest.workflow_id, latest.task_name.as_str(), latest.attempt), (first, "later", 2));
        assert_eq!((latest.duration_seconds, latest.task_id), (Some(2.5), None));
        assert_eq!(latest.start_time.as_deref(), Some("1970-01-01 00:00:01"));
    })
    .await;
}

#[tokio::test]
async fn large_definitions_are_listed_up_to_the_pages_limit() {
    const GROW: &str = "UPDATE workflows SET content = $1 WHERE id = $2";
    on_each_store(async |db| {
        let ids = [add(&db, named("a")).await.id, add(&db, named("b")).await.id];
        let (share, half) = (PAGE_MAX_BYTES / 500, PAGE_MAX_BYTES / 2);
        for (bytes, is_listed) in [(share, true), (half - 200, true), (half, false)] {
            let mut content = named("a").content;
            content.description = Some("d".repeat(usize::try_from(bytes).unwrap()));
            for id in ids {
                db.execute(GROW, &[content.text().into(), id.into()]).await.unwrap();
            }
            let lengths = |page: Vec<Listed>| -> Vec<usize> {
                page.iter().filter_map(|(one, _)| Some(one.content.description.as_ref()?.len())).collect()
            };
            match page(&db, &ids, &page_of(1, 500), Tz::UTC).await {
                Ok(page) => assert_eq!((is_listed, lengths(page)), (true, vec![bytes as usize; 2])),
                Err(error) => assert_eq!((is_listed, error.code()), (false, "invalid_input")),
            }
            let one = page(&db, &ids[1..], &page_of(1, 1), Tz::UTC).await.unwrap();
            assert_eq!(lengths(one), [bytes as usize]);
        }
    })
    .await;
}

#[tokio::test]
async fn publishing_makes_the_engines_state_deployed() {
    on_each_store(async |db| {
        let id = add(&db, named("a")).await.id;
        let mut tx = db.begin().await.unwrap();
        set_deployed(&mut tx, &deployed_as(id, "c")).await.unwrap();
        tx.commit().await.unwrap();
        let workflow = find(&db, id).await.unwrap().unwrap();
        assert_eq!(workflow.deployed, Some(deployed_as(id, "c")));
        assert_eq!(workflow.in_engine(), None);
        assert!(deployed(&db, "local").await.unwrap().is_empty());
        let mut tx = db.begin().await.unwrap();
        publish(&mut tx, id, 1).await;
        set_publication(&mut tx, id, PublicationState::None).await.unwrap();
        assert_eq!(count_of_engine(&mut tx, "local").await.unwrap(), 1);
        assert_eq!(count_of_engine(&mut tx, "other").await.unwrap(), 0);
        tx.commit().await.unwrap();
        assert_eq!(deployed(&db, "local").await.unwrap(), [deployed_as(id, "c")]);
        assert!(deployed(&db, "other").await.unwrap().is_empty());
        let mut tx = db.begin().await.unwrap();
        set_status(&mut tx, id, WorkflowStatus::Online).await.unwrap();
        publish(&mut tx, id, 2).await;
        tx.commit().await.unwrap();
        let workflow = find(&db, id).await.unwrap().unwrap();
        assert_eq!((workflow.status, workflow.published_version), (WorkflowStatus::Online, Some(2)));
        assert_eq!(names(&db, &[id, 99]).await.unwrap(), HashMap::from([(id, "a".to_owned())]));
    })
    .await;
}

#[tokio::test]
async fn a_refused_restoration_stays_failed() {
    on_each_store(async |db| {
        let id = add(&db, named("a")).await.id;
        let by = By::server("me", "r".to_owned());
        let restore = Wanted::new(EngineChange::Restore, by);
        let mut tx = db.begin().await.unwrap();
        let (status, error) = (EngineStatus::Failed, Some("no"));
        let open = OpenChange { wanted: &restore, due_at_ms: 5, tries: 3, status, error };
        set_open(&mut tx, id, &open).await.unwrap();
        // Such as by a publication.
        let noted = note_engine_status(&mut tx, id).await.unwrap();
        assert_eq!(noted, (EngineStatus::Failed, Some("no".to_owned())));
        let noted = want(&mut tx, id, Some(&restore), 5).await.unwrap();
        assert_eq!(noted, (EngineStatus::Pending, None));
        assert_eq!(want(&mut tx, id, None, 5).await.unwrap(), (EngineStatus::InSync, None));
        tx.commit().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_difference_is_noted_of_what_was_compared() {
    on_each_store(async |db| {
        let id = add(&db, named("a")).await.id;
        let mut tx = db.begin().await.unwrap();
        set_deployed(&mut tx, &deployed_as(id, "c")).await.unwrap();
        publish(&mut tx, id, 1).await;
        tx.commit().await.unwrap();
        let settled = async || settled_at_engine(&db, "local").await.unwrap();
        let found = settled().await.remove(0);
        assert_eq!((found.id, found.code.as_str(), found.drift.as_deref()), (id, "c", None));
        let note = async |of: &drift::Wanted| {
            let mut tx = db.begin().await.unwrap();
            let noted = set_drift(&mut tx, of, Some("it is gone")).await.unwrap();
            tx.commit().await.unwrap();
            noted
        };
        assert!(note(&found).await);
        assert_eq!(settled().await[0].drift.as_deref(), Some("it is gone"));
        // A change that the engine has made.
        let mut tx = db.begin().await.unwrap();
        let again = Deployed { revision: Some("r2".to_owned()), ..deployed_as(id, "c") };
        set_deployed(&mut tx, &again).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(settled().await[0].drift, None);
        assert!(!note(&found).await, "another revision was compared");
        let mut tx = db.begin().await.unwrap();
        let restore = Wanted::new(EngineChange::Restore, By::server("me", "r".to_owned()));
        let found = settled_at_engine(&db, "local").await.unwrap().remove(0);
        want(&mut tx, id, Some(&restore), 5).await.unwrap();
        tx.commit().await.unwrap();
        assert!(settled().await.is_empty());
        assert!(!note(&found).await, "a change is open");
        // Due, or noted by a clock that has gone back since.
        let due = async |now_ms| !due_at_engines(&db, now_ms, 100, 10).await.unwrap().is_empty();
        assert_eq!([due(5).await, due(4).await, due(-94).await, due(-96).await], [true, false, false, true]);
    })
    .await;
}
