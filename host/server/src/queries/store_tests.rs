use lakeport_store::testing::on_each_store;

use super::testing::query;
use super::*;

#[tokio::test]
async fn a_query_logs_each_table() {
    on_each_store(async |db| {
        let view = (1_i64 << 62) + 2;
        record(&db, &[query(&[(7, "orders"), (view, "订单")], 1_000)]).await.unwrap();
        record(&db, &[query(&[], 2_000)]).await.unwrap();
        let written = vec![(8, "items".to_owned())];
        record(&db, &[Query { written, ..query(&[(7, "orders")], 3_000) }]).await.unwrap();
        let rows =
            db.read("SELECT table_id, table_name, access, at FROM query_log ORDER BY id", &[]).await.unwrap();
        let rows: Vec<(Option<i64>, Option<String>, String, i64)> = rows
            .iter()
            .map(|row| (row.get(0).unwrap(), row.get(1).unwrap(), row.get(2).unwrap(), row.get(3).unwrap()))
            .collect();
        let access = |access: &str| access.to_owned();
        assert_eq!(
            rows,
            [
                (Some(7), Some("orders".to_owned()), access("read"), 1_000),
                (Some(view), Some("订单".to_owned()), access("read"), 1_000),
                (None, None, access("read"), 2_000),
                (Some(7), Some("orders".to_owned()), access("read"), 3_000),
                (Some(8), Some("items".to_owned()), access("written"), 3_000),
            ]
        );
    })
    .await;
}

#[tokio::test]
async fn what_is_too_old_is_purged() {
    on_each_store(async |db| {
        for at_ms in [1_000, 2_000, 3_000] {
            record(&db, &[query(&[(7, "orders")], at_ms)]).await.unwrap();
        }
        assert_eq!(db.execute(RETAINED.purge, &[3_000_i64.into(), 1_i64.into()]).await.unwrap(), 1);
        assert_eq!(db.execute(RETAINED.purge, &[3_000_i64.into(), 10_i64.into()]).await.unwrap(), 1);
        assert_eq!(db.execute(RETAINED.purge, &[3_000_i64.into(), 10_i64.into()]).await.unwrap(), 0);
    })
    .await;
}

#[tokio::test]
async fn reads_are_counted_by_spans_and_by_who_asked() {
    on_each_store(async |db| {
        for (asked_by, at_ms) in [("ada", 1_000), ("bob", 1_999), ("ada", 2_000), ("ada", 4_000)] {
            let asked_by = asked_by.to_owned();
            record(&db, &[Query { asked_by, ..query(&[(7, "orders")], at_ms) }]).await.unwrap();
        }
        let failed = Query { outcome: Outcome::Failed, ..query(&[(7, "orders")], 1_500) };
        record(&db, &[failed]).await.unwrap();
        record(&db, &[Query { datasource_id: 4, ..query(&[(7, "orders")], 1_500) }]).await.unwrap();
        record(&db, &[query(&[(8, "items")], 1_500)]).await.unwrap();
        let written = vec![(7, "orders".to_owned())];
        record(&db, &[Query { written, ..query(&[], 1_500) }]).await.unwrap();
        let spans = [(1_000, 2_000), (2_000, 3_000), (3_000, 4_000)];
        assert_eq!(reads(&db, 3, 7, &spans).await.unwrap(), [2, 1, 0]);
        assert_eq!(reads(&db, 3, 7, &[]).await.unwrap(), [] as [i64; 0]);
        let named = |name: &str, count, last_ms| Reader { name: name.to_owned(), count, last_ms };
        let readers = readers(&db, 3, 7, 1_500, 10).await.unwrap();
        assert_eq!(readers, [named("ada", 2, 4_000), named("bob", 1, 1_999)]);
    })
    .await;
}
