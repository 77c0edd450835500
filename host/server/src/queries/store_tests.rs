use super::*;
use crate::db::testing::on_each_store;

fn query(tables: &[(i64, &str)], at_ms: i64) -> Query {
    Query {
        datasource_id: 3,
        tables: tables.iter().map(|(id, name)| (*id, (*name).to_owned())).collect(),
        asked_by: "ada".to_owned(),
        origin: "agent",
        outcome: Outcome::Success,
        at_ms,
    }
}

#[tokio::test]
async fn a_query_leaves_a_row_for_each_table_that_it_read() {
    on_each_store(async |db| {
        let view = (1_i64 << 62) + 2;
        record(&db, &query(&[(7, "orders"), (view, "订单")], 1_000)).await.unwrap();
        record(&db, &query(&[], 2_000)).await.unwrap();
        let rows = db
            .read("SELECT table_id, table_name, asked_by, at FROM query_log ORDER BY id", &[])
            .await
            .unwrap();
        let rows: Vec<(Option<i64>, Option<String>, String, i64)> = rows
            .iter()
            .map(|row| (row.get(0).unwrap(), row.get(1).unwrap(), row.get(2).unwrap(), row.get(3).unwrap()))
            .collect();
        let ada = || "ada".to_owned();
        assert_eq!(
            rows,
            [
                (Some(7), Some("orders".to_owned()), ada(), 1_000),
                (Some(view), Some("订单".to_owned()), ada(), 1_000),
                (None, None, ada(), 2_000),
            ]
        );
    })
    .await;
}

#[tokio::test]
async fn what_is_too_old_is_purged() {
    on_each_store(async |db| {
        for at_ms in [1_000, 2_000, 3_000] {
            record(&db, &query(&[(7, "orders")], at_ms)).await.unwrap();
        }
        assert_eq!(db.execute(RETAINED.purge, &[3_000_i64.into(), 1_i64.into()]).await.unwrap(), 1);
        assert_eq!(db.execute(RETAINED.purge, &[3_000_i64.into(), 10_i64.into()]).await.unwrap(), 1);
        assert_eq!(db.execute(RETAINED.purge, &[3_000_i64.into(), 10_i64.into()]).await.unwrap(), 0);
    })
    .await;
}
