use lakeport_store::testing::on_each_store;

use super::*;
use crate::secrets::{Keys, context};

fn new(name: &str) -> Datasource {
    Datasource {
        id: 0,
        name: name.to_owned(),
        kind: "sqlite".to_owned(),
        url: "sqlite:a.db".to_owned(),
        read_url: None,
        secret: None,
        read_secret: None,
        options: "{}".to_owned(),
        is_default: false,
        sync_cron: None,
        next_sync_at_ms: None,
        last_sync_time_ms: None,
        created_at_ms: 5,
        updated_at_ms: 5,
    }
}

async fn add(db: &Db, source: Datasource) -> i64 {
    let mut tx = db.begin().await.unwrap();
    let id = insert(&mut tx, &source).await.unwrap();
    tx.commit().await.unwrap();
    id
}

#[tokio::test]
async fn stored_passwords_are_encrypted() {
    on_each_store(async |db| {
        let folder = tempfile::tempdir().unwrap();
        let keys = Keys::open(None, folder.path(), false).unwrap();
        let id = add(&db, new("a")).await;
        let key = id.to_string();
        let sealed = |column: &str| keys.encrypt(&context("datasources", &[&key], column), b"hunter2");
        let mut tx = db.begin().await.unwrap();
        let kept = lock(&mut tx, id).await.unwrap().unwrap();
        let changed = Datasource {
            name: "b".to_owned(),
            read_url: Some("sqlite:r.db".to_owned()),
            secret: Some(sealed("secret")),
            read_secret: Some(sealed("read_secret")),
            is_default: true,
            sync_cron: Some("0 0 0 * * ? *".to_owned()),
            next_sync_at_ms: Some(9),
            updated_at_ms: 6,
            ..kept
        };
        update(&mut tx, &changed).await.unwrap();
        tx.commit().await.unwrap();
        let read = find(&db, id).await.unwrap().unwrap();
        assert_eq!((read.name.as_str(), read.is_default, read.updated_at_ms), ("b", true, 6));
        assert_eq!((read.created_at_ms, read.next_sync_at_ms), (5, Some(9)));
        let secret = read.secret.unwrap();
        assert!(!secret.windows(7).any(|bytes| bytes == b"hunter2"));
        let opened = keys.decrypt(&context("datasources", &[&key], "secret"), &secret).unwrap();
        assert_eq!(opened.text(), Some("hunter2"));
        assert!(keys.decrypt(&context("datasources", &[&key], "read_secret"), &secret).is_err());
        assert_eq!(all_of(&db, &[id, 99]).await.unwrap().len(), 1);
        assert!(all_of(&db, &[]).await.unwrap().is_empty());
        assert!(find(&db, 99).await.unwrap().is_none());
    })
    .await;
}

#[tokio::test]
async fn a_name_is_taken_once() {
    on_each_store(async |db| {
        add(&db, new("a")).await;
        let other = add(&db, new("b")).await;
        let mut tx = db.begin().await.unwrap();
        assert_eq!(insert(&mut tx, &new("a")).await.unwrap_err().code(), "name_taken");
        drop(tx);
        let mut tx = db.begin().await.unwrap();
        let renamed = Datasource { id: other, ..new("a") };
        assert_eq!(update(&mut tx, &renamed).await.unwrap_err().code(), "name_taken");
        drop(tx);
        add(&db, new("A")).await;
    })
    .await;
}

#[tokio::test]
async fn the_default_is_taken_from_the_one_that_was() {
    on_each_store(async |db| {
        let first = add(&db, Datasource { is_default: true, ..new("a") }).await;
        let mut tx = db.begin().await.unwrap();
        in_turn(&mut tx).await.unwrap();
        assert_eq!(clear_default(&mut tx, 0, 8).await.unwrap(), [first]);
        let second = insert(&mut tx, &Datasource { is_default: true, ..new("b") }).await.unwrap();
        assert!(clear_default(&mut tx, second, 8).await.unwrap().is_empty());
        tx.commit().await.unwrap();
        let read = find(&db, first).await.unwrap().unwrap();
        assert_eq!((read.is_default, read.updated_at_ms), (false, 8));
    })
    .await;
}

#[tokio::test]
async fn the_stores_own_is_made_once_and_follows_the_store() {
    on_each_store(async |db| {
        for kind in ["sqlite", "sqlite", "postgres"] {
            ensure_own(&db, kind, "lakeport:", 3).await.unwrap();
        }
        let all = names(&db).await.unwrap();
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].name.as_str(), all[0].kind.as_str()), (OWN_NAME, "postgres"));
        assert!(find(&db, all[0].id).await.unwrap().unwrap().is_own());
        assert!(!own_version(&db).await.unwrap().is_empty());
        let mut tx = db.begin().await.unwrap();
        assert_eq!(count(&mut tx).await.unwrap(), 1);
    })
    .await;
}

#[tokio::test]
async fn of_several_servers_one_starts_what_is_due() {
    on_each_store(async |db| {
        assert_eq!(next_due(&db).await.unwrap(), None);
        add(&db, new("never")).await;
        let id = add(&db, Datasource { next_sync_at_ms: Some(100), ..new("a") }).await;
        add(&db, Datasource { next_sync_at_ms: Some(900), ..new("b") }).await;
        assert_eq!(next_due(&db).await.unwrap(), Some(100));
        assert!(due(&db, 99, 10).await.unwrap().is_empty());
        let found = due(&db, 100, 10).await.unwrap();
        assert_eq!(found.iter().map(|source| source.id).collect::<Vec<_>>(), [id]);
        let mut came_through = 0;
        for _ in 0..2 {
            let mut tx = db.begin().await.unwrap();
            came_through += usize::from(set_next(&mut tx, &found[0], Some(200)).await.unwrap());
            set_last_sync(&mut tx, id, 150).await.unwrap();
            tx.commit().await.unwrap();
        }
        assert_eq!(came_through, 1);
        let read = find(&db, id).await.unwrap().unwrap();
        assert_eq!((read.next_sync_at_ms, read.last_sync_time_ms), (Some(200), Some(150)));
        let mut tx = db.begin().await.unwrap();
        delete(&mut tx, id).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(next_due(&db).await.unwrap(), Some(900));
    })
    .await;
}
