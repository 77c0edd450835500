use lakeport_store::testing::on_each_store;

use super::*;
use crate::workflows::testing::{add, named};

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
async fn pages_filter_by_name_and_status() {
    on_each_store(async |db| {
        let mut ids = Vec::new();
        for name in ["Orders_daily", "orders%hourly", "KUNDEN Äpfel"] {
            ids.push(add(&db, named(name)).await.id);
        }
        let mut tx = db.begin().await.unwrap();
        set_published(&mut tx, ids[0], 1).await.unwrap();
        tx.commit().await.unwrap();
        let found = async |keyword: Option<&str>, status| {
            let (total, page, _) = page(&db, keyword, status, &page_of(1, 20)).await.unwrap();
            assert_eq!(total, page.len() as i64);
            page.into_iter().map(|workflow| workflow.id).collect::<Vec<_>>()
        };
        assert_eq!(found(None, None).await, [ids[2], ids[1], ids[0]]);
        assert_eq!(found(Some("orders"), None).await, [ids[1], ids[0]]);
        assert_eq!(found(Some("s%h"), None).await, [ids[1]]);
        assert_eq!(found(Some("äpfel"), None).await, [ids[2]]);
        assert_eq!(found(Some("orders"), Some(WorkflowStatus::Offline)).await, [ids[0]]);
        assert!(found(None, Some(WorkflowStatus::Online)).await.is_empty());
        let (total, second, _) = page(&db, None, None, &page_of(2, 2)).await.unwrap();
        assert_eq!((total, second.len(), second[0].id), (3, 1, ids[0]));
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
        set_published(&mut tx, id, 1).await.unwrap();
        set_publication(&mut tx, id, PublicationState::None).await.unwrap();
        assert_eq!(count_of_engine(&mut tx, "local").await.unwrap(), 1);
        assert_eq!(count_of_engine(&mut tx, "other").await.unwrap(), 0);
        tx.commit().await.unwrap();
        assert_eq!(deployed(&db, "local").await.unwrap(), [deployed_as(id, "c")]);
        assert!(deployed(&db, "other").await.unwrap().is_empty());
        let mut tx = db.begin().await.unwrap();
        set_status(&mut tx, id, WorkflowStatus::Online).await.unwrap();
        set_published(&mut tx, id, 2).await.unwrap();
        tx.commit().await.unwrap();
        let workflow = find(&db, id).await.unwrap().unwrap();
        assert_eq!((workflow.status, workflow.published_version), (WorkflowStatus::Online, Some(2)));
        assert_eq!(names(&db, &[id, 99]).await.unwrap(), HashMap::from([(id, "a".to_owned())]));
    })
    .await;
}
