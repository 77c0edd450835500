use lakeport_store::testing::on_each_store;

use super::*;
use crate::workflows::publications::DeploymentState;
use crate::workflows::testing::{add, named};

fn submitted(workflow_id: i64) -> Publication {
    Publication {
        id: 0,
        workflow_id,
        version: 1,
        status: Status::Pending,
        comment: Some("c".to_owned()),
        submitted_by: "me".to_owned(),
        submitter: "token:1".to_owned(),
        submitted_at_ms: 5,
        decided_by: None,
        decided_at_ms: None,
        decision_comment: None,
        deployment: None,
    }
}

async fn submit(db: &Db, workflow_id: i64) -> Publication {
    let mut tx = db.begin().await.unwrap();
    let id = insert(&mut tx, &submitted(workflow_id)).await.unwrap();
    tx.commit().await.unwrap();
    find(db, id).await.unwrap().unwrap()
}

async fn decide_as(db: &Db, record: &Publication, status: Status) -> Result<(), Error> {
    let deployment = (status == Status::Approved).then_some(Deployment {
        state: DeploymentState::Pending,
        code: None,
        error: None,
        started_at_ms: 8,
        finished_at_ms: None,
    });
    let decided = Publication {
        status,
        decided_by: Some("you".to_owned()),
        decided_at_ms: Some(8),
        deployment,
        ..record.clone()
    };
    let mut tx = db.begin().await?;
    decide(&mut tx, &decided).await?;
    tx.commit().await
}

async fn end_as(db: &Db, record: &Publication, error: Option<&str>) -> bool {
    let mut tx = db.begin().await.unwrap();
    let ended = end(&mut tx, record.id, Some("code"), error, 9).await.unwrap();
    tx.commit().await.unwrap();
    ended
}

async fn state(db: &Db, workflow_id: i64) -> PublicationState {
    let mut tx = db.begin().await.unwrap();
    state_of(&mut tx, workflow_id).await.unwrap()
}

#[tokio::test]
async fn one_of_a_workflow_waits_at_a_time() {
    on_each_store(async |db| {
        let (first, second) = (add(&db, named("a")).await.id, add(&db, named("b")).await.id);
        let record = submit(&db, first).await;
        assert_eq!((record.status, record.comment.as_deref()), (Status::Pending, Some("c")));
        let mut tx = db.begin().await.unwrap();
        assert_eq!(insert(&mut tx, &submitted(first)).await.unwrap_err().code(), "publication_pending");
        drop(tx);
        submit(&db, second).await;
        decide_as(&db, &record, Status::Rejected).await.unwrap();
        assert_eq!(state(&db, first).await, PublicationState::None);
        submit(&db, first).await;
        assert_eq!(newest(first, 10).all(&db).await.unwrap().len(), 2);
        let mut tx = db.begin().await.unwrap();
        assert!(lock(&mut tx, second, record.id).await.unwrap().is_none());
        assert!(is_followed(&mut tx, &record).await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn only_failed_deployments_can_be_repeated() {
    on_each_store(async |db| {
        let id = add(&db, named("a")).await.id;
        let record = submit(&db, id).await;
        assert!(pending(&db, 1).await.unwrap().is_empty());
        decide_as(&db, &record, Status::Approved).await.unwrap();
        let other = add(&db, named("b")).await.id;
        let later = submit(&db, other).await;
        decide_as(&db, &later, Status::Approved).await.unwrap();
        let found = |pending: Vec<(Publication, String)>| {
            pending.into_iter().map(|(one, engine)| (one.id, engine)).collect::<Vec<_>>()
        };
        let local = || "local".to_owned();
        assert_eq!(found(pending(&db, 1).await.unwrap()), [(record.id, local())]);
        assert_eq!(found(pending(&db, 2).await.unwrap()), [(record.id, local()), (later.id, local())]);
        assert_eq!(state(&db, id).await, PublicationState::Pending);
        assert!(end_as(&db, &record, Some("no")).await);
        assert!(!end_as(&db, &record, None).await);
        assert_eq!(state(&db, id).await, PublicationState::Failed);
        let failed = find(&db, record.id).await.unwrap().unwrap().deployment.unwrap();
        assert_eq!((failed.state, failed.error.as_deref()), (DeploymentState::Failed, Some("no")));
        let next = submit(&db, id).await;
        decide_as(&db, &record, Status::Approved).await.unwrap();
        assert_eq!(decide_as(&db, &next, Status::Approved).await.unwrap_err().code(), "deployment_running");
        decide_as(&db, &next, Status::Rejected).await.unwrap();
        assert!(end_as(&db, &record, None).await);
        let done = find(&db, record.id).await.unwrap().unwrap().deployment.unwrap();
        assert_eq!((done.state, done.error), (DeploymentState::Success, None));
        assert_eq!((done.code.as_deref(), done.finished_at_ms), (Some("code"), Some(9)));
        assert_eq!(state(&db, id).await, PublicationState::None);
    })
    .await;
}

#[tokio::test]
async fn what_waits_of_a_deleted_workflow_ends() {
    on_each_store(async |db| {
        let id = add(&db, named("a")).await.id;
        let (first, second) = {
            let first = submit(&db, id).await;
            decide_as(&db, &first, Status::Approved).await.unwrap();
            (first, submit(&db, id).await)
        };
        let mut tx = db.begin().await.unwrap();
        end_of(&mut tx, id, "me", 10).await.unwrap();
        tx.commit().await.unwrap();
        let first = find(&db, first.id).await.unwrap().unwrap();
        assert_eq!(first.deployment.unwrap().state, DeploymentState::Failed);
        assert_eq!(find(&db, second.id).await.unwrap().unwrap().status, Status::Rejected);
    })
    .await;
}
