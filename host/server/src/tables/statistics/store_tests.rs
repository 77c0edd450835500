use lakeport_store::testing::on_each_store;

use super::*;

const TABLE: &str = "INSERT INTO tables (db_name, table_name, created_at, updated_at) \
    VALUES ('main', 't', 1, 1) RETURNING id";

fn size(rows: i64, collected_at_ms: i64) -> Size {
    Size {
        cluster_id: 2,
        row_count: Some(rows),
        data_size: None,
        index_size: Some(0),
        partition_count: None,
        is_exact: rows % 2 == 0,
        collected_at_ms,
    }
}

#[tokio::test]
async fn sizes_are_kept_as_history_and_shown_in_the_table() {
    on_each_store(async |db| {
        let mut tx = db.begin().await.unwrap();
        let id: i64 = tx.query(TABLE, &[]).await.unwrap()[0].get(0).unwrap();
        for at_ms in [10, 20, 30] {
            assert!(insert(&mut tx, id, &size(at_ms * 10, at_ms)).await.unwrap());
        }
        assert!(!insert(&mut tx, id + 1, &size(1, 1)).await.unwrap(), "no such table");
        tx.commit().await.unwrap();
        assert_eq!(last(&db, id, 2).await.unwrap(), [size(300, 30), size(200, 20)]);
        assert_eq!(since(&db, id, 20).await.unwrap(), [size(200, 20), size(300, 30)]);
        const SHOWN: &str =
            "SELECT row_count, index_size, statistics_time, updated_at FROM tables WHERE id = $1";
        let rows = db.read(SHOWN, &[id.into()]).await.unwrap();
        let shown = [0, 1, 2, 3].map(|column| rows[0].get::<i64>(column).unwrap());
        assert_eq!(shown, [300, 0, 30, 1]);
        assert_eq!(db.execute(RETAINED.purge, &[25.into(), 10.into()]).await.unwrap(), 2);
        assert_eq!(last(&db, id, 9).await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn due_is_what_was_there_and_was_not_measured_since() {
    const MAKE: &str = "INSERT INTO tables (cluster_id, db_name, table_name, physical, status, statistics_time, \
        created_at, updated_at) VALUES (1, 'main', $1, $2, $3, $4, $5, 1) RETURNING id";
    const SOURCE: &str = "INSERT INTO datasources (name, kind, url, created_at, updated_at) \
        VALUES ('shop', 'sqlite', 'sqlite:shop.db', 1, 1)";
    on_each_store(async |db| {
        let mut tx = db.begin().await.unwrap();
        tx.execute(SOURCE, &[]).await.unwrap();
        let mut ids: Vec<i64> = Vec::new();
        for (name, physical, status, measured_ms, created_ms) in [
            ("never", 1, "active", None, 1),
            ("long_ago", 1, "active", Some(99), 1),
            ("since", 1, "active", Some(100), 1),
            ("too_new", 1, "active", None, 100),
            ("not_physical", 0, "active", None, 1),
            ("deleted", 1, "deprecated", None, 1),
        ] {
            let values =
                [name.into(), physical.into(), status.into(), Value::from(measured_ms), created_ms.into()];
            ids.push(tx.query(MAKE, &values).await.unwrap()[0].get(0).unwrap());
        }
        tx.commit().await.unwrap();
        assert_eq!(sources_with_due(&db, 100).await.unwrap(), [1]);
        assert_eq!(due(&db, 1, 100, 0, 9).await.unwrap(), ids[..2]);
        assert_eq!(due(&db, 1, 100, 0, 1).await.unwrap(), ids[..1]);
        assert_eq!(due(&db, 1, 100, ids[0], 9).await.unwrap(), ids[1..2]);
        assert_eq!(due(&db, 2, 100, 0, 9).await.unwrap(), [] as [i64; 0]);
        assert_eq!(sources_with_due(&db, 1).await.unwrap(), [] as [i64; 0]);
    })
    .await;
}
