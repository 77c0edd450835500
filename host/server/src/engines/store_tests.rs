use lakeport_store::testing::on_each_store;

use super::*;

fn engine(name: &str) -> EngineRecord {
    EngineRecord {
        name: name.to_owned(),
        plugin: "airflow".to_owned(),
        config: "{}".to_owned(),
        secrets: Some(vec![1, 2]),
        secret_names: vec!["token".to_owned()],
        created_at_ms: 5,
        updated_at_ms: 6,
        missing_features: Vec::new(),
    }
}

#[tokio::test]
async fn an_engine_is_made_changed_and_forgotten() {
    on_each_store(async |db| {
        ensure(&db, "local", "local", 3).await.unwrap();
        ensure(&db, "local", "local", 4).await.unwrap();
        let mut tx = db.begin().await.unwrap();
        insert(&mut tx, &engine("b")).await.unwrap();
        assert_eq!(count(&mut tx).await.unwrap(), 2);
        tx.commit().await.unwrap();
        let names = |all: Vec<EngineRecord>| all.into_iter().map(|one| one.name).collect::<Vec<_>>();
        assert_eq!(names(all(&db).await.unwrap()), ["b", "local"]);
        let mut tx = db.begin().await.unwrap();
        let mut changed = lock(&mut tx, "b").await.unwrap().unwrap();
        assert_eq!((changed.secrets.clone(), changed.created_at_ms), (Some(vec![1, 2]), 5));
        changed.secrets = None;
        changed.secret_names.clear();
        update(&mut tx, &changed).await.unwrap();
        delete(&mut tx, "local").await.unwrap();
        tx.commit().await.unwrap();
        let found = find(&db, "b").await.unwrap().unwrap();
        assert_eq!((found.secrets, found.secret_names.len(), found.updated_at_ms), (None, 0, 6));
        assert!(find(&db, "local").await.unwrap().is_none());
    })
    .await;
}

#[tokio::test]
async fn a_name_is_taken_once() {
    on_each_store(async |db| {
        let mut tx = db.begin().await.unwrap();
        insert(&mut tx, &engine("b")).await.unwrap();
        let error = insert(&mut tx, &engine("b")).await.unwrap_err();
        assert_eq!((error.status(), error.code()), (409, "name_taken"));
    })
    .await;
}
