use lakeport_store::testing::on_each_store;

use super::*;

const SOURCE: &str = "INSERT INTO datasources (name, kind, url, created_at, updated_at) \
    VALUES ('a', 'sqlite', 'sqlite:a', 1, 1) RETURNING id";

async fn source(db: &Db) -> i64 {
    let mut tx = db.begin().await.unwrap();
    let id = tx.query(SOURCE, &[]).await.unwrap()[0].get(0).unwrap();
    tx.commit().await.unwrap();
    id
}

async fn started(db: &Db, source: i64) -> Option<i64> {
    let mut tx = db.begin().await.unwrap();
    let id = start(&mut tx, source, 10).await.unwrap();
    tx.commit().await.unwrap();
    id
}

#[tokio::test]
async fn one_sync_runs_at_a_time() {
    on_each_store(async |db| {
        let source = source(&db).await;
        assert!(last(&db, source).await.unwrap().is_none());
        let first = started(&db, source).await.unwrap();
        assert_eq!(started(&db, source).await, None);
        assert_eq!(running(&db).await.unwrap().len(), 1);
        let mut tx = db.begin().await.unwrap();
        assert!(is_running(&mut tx, source).await.unwrap());
        let cancelled = cancel(&mut tx, source, 20).await.unwrap().unwrap();
        assert_eq!(
            (cancelled.id, cancelled.state, cancelled.finished_at_ms),
            (first, State::Cancelled, Some(20))
        );
        assert!(cancel(&mut tx, source, 20).await.unwrap().is_none());
        tx.commit().await.unwrap();
        let second = started(&db, source).await.unwrap();
        assert_eq!(last(&db, source).await.unwrap().unwrap().id, second);
        assert_eq!(find(&db, first).await.unwrap().unwrap().state, State::Cancelled);
    })
    .await;
}

#[tokio::test]
async fn counts_add_up_and_progress_restarts() {
    on_each_store(async |db| {
        let id = started(&db, source(&db).await).await.unwrap();
        let counts = |new, updated, missing| Counts { new, updated, missing };
        let mut errors = Errors::default();
        errors.add(Some("main.t".to_owned()), &"x\0y".repeat(1_000));
        for _ in 0..2 {
            let mut tx = db.begin().await.unwrap();
            assert!(begin(&mut tx, id, 7).await.unwrap());
            assert!(count(&mut tx, id, 5, counts(1, 2, 3), counts(4, 5, 6), &errors).await.unwrap());
            tx.commit().await.unwrap();
        }
        let sync = find(&db, id).await.unwrap().unwrap();
        assert_eq!((sync.tables_total, sync.tables_done), (Some(7), 5));
        assert_eq!((sync.tables, sync.fields), (counts(2, 4, 6), counts(8, 10, 12)));
        assert_eq!(sync.errors.len(), 1);
        assert_eq!(sync.errors[0].message.chars().count(), MESSAGE_MAX_CHARS);
        let mut tx = db.begin().await.unwrap();
        assert!(end(&mut tx, id, State::Success, &errors, 30).await.unwrap());
        tx.commit().await.unwrap();
        let sync = find(&db, id).await.unwrap().unwrap();
        assert_eq!((sync.state, sync.tables_total, sync.finished_at_ms), (State::Success, Some(5), Some(30)));
    })
    .await;
}

#[tokio::test]
async fn one_that_has_ended_is_not_written_any_more() {
    on_each_store(async |db| {
        let id = started(&db, source(&db).await).await.unwrap();
        let none = Errors::default();
        let mut tx = db.begin().await.unwrap();
        assert!(end(&mut tx, id, State::Failed, &none, 30).await.unwrap());
        assert!(!end(&mut tx, id, State::Success, &none, 31).await.unwrap());
        assert!(!begin(&mut tx, id, 1).await.unwrap());
        assert!(!count(&mut tx, id, 1, Counts::default(), Counts::default(), &none).await.unwrap());
        tx.commit().await.unwrap();
        assert_eq!(find(&db, id).await.unwrap().unwrap().state, State::Failed);
        assert!(running(&db).await.unwrap().is_empty());
    })
    .await;
}

#[test]
fn errors_are_bounded_and_that_of_the_whole_stands_first() {
    let mut errors = Errors::default();
    for index in 0..150 {
        errors.add(Some(index.to_string()), "wrong");
    }
    errors.put_first("away");
    assert_eq!(errors.0.len(), ERRORS_MAX);
    assert_eq!(errors.0[0], SyncError { table: None, message: "away".to_owned() });
    assert_eq!(errors.0[1].table.as_deref(), Some("0"));
}
