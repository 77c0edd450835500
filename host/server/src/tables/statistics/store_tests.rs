use super::*;
use crate::db::testing::on_each_store;

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
