use lakeport_store::Db;
use lakeport_store::testing::on_each_store;

use super::*;
use crate::workflows::tasks::definition::{Content, Given};
use crate::workflows::tasks::forms::Priority;
use crate::workflows::tasks::part::TableName;
use crate::workflows::testing;

async fn table(db: &Db, name: &str) -> i64 {
    const INSERT: &str = "INSERT INTO tables (db_name, table_name, created_at, updated_at) \
        VALUES ('main', $1, 5, 5) RETURNING id";
    let mut tx = db.begin().await.unwrap();
    let id = tx.query(INSERT, &[name.into()]).await.unwrap()[0].get(0).unwrap();
    tx.commit().await.unwrap();
    id
}

/// A task as a request would create it, or one left without a workflow.
async fn task(db: &Db, workflow_id: Option<i64>, inputs: &[i64], outputs: &[i64]) -> i64 {
    let content = Content {
        task_name: format!("{inputs:?} {outputs:?}"),
        task_type: "SQL".to_owned(),
        datasource_id: None,
        sql_content: Some("select 1".to_owned()),
        priority: Priority::Low,
        timeout: 0,
        retry_times: 0,
        retry_interval: 0,
        input_table_ids: inputs.to_vec(),
        output_table_ids: outputs.to_vec(),
        unresolved: Default::default(),
    };
    let digest = versions::part_digest(&part::text(&content));
    let given = Given { inputs: true, outputs: true };
    let mut task = Task { id: 0, workflow_id, content, given, digest, created_at_ms: 5, updated_at_ms: 5 };
    let mut tx = db.begin().await.unwrap();
    task.id = store::insert(&mut tx, &task).await.unwrap();
    if let Some(id) = workflow_id {
        let mut workflow = workflows::lock(&mut tx, id).await.unwrap().unwrap();
        let named = |id: &i64| TableName {
            id: *id,
            datasource: None,
            db_name: "main".to_owned(),
            table_name: format!("t{id}"),
        };
        let names = Names { datasource: None, tables: inputs.iter().chain(outputs).map(named).collect() };
        let after = Some(part::of(&task, &names));
        let change = PartChange { task_id: task.id, before: None, after };
        let made = Made { source: Source::Task, comment: None, by: "me", now_ms: 5 };
        versions::change_parts(&mut tx, &mut workflow, &[change], made).await.unwrap();
    }
    tx.commit().await.unwrap();
    task.id
}

#[tokio::test]
async fn unbinding_a_table_versions_its_workflows() {
    on_each_store(async |db| {
        let (gone, kept) = (table(&db, "gone").await, table(&db, "kept").await);
        let first = testing::add(&db, testing::named("a")).await.id;
        let other = testing::add(&db, testing::named("b")).await.id;
        let reads = task(&db, Some(first), &[gone, kept], &[]).await;
        task(&db, Some(first), &[kept], &[gone]).await;
        task(&db, Some(other), &[kept], &[]).await;
        let left = task(&db, None, &[gone], &[]).await;

        let mut tx = db.begin().await.unwrap();
        let delete = tx.execute("DELETE FROM tables WHERE id = $1", &[gone.into()]).await;
        assert!(delete.is_err(), "no table goes that a task is bound to");
        drop(tx);
        let mut tx = db.begin().await.unwrap();
        assert_eq!(unbind_table(&mut tx, gone, "purge", 9).await.unwrap(), 3);
        tx.execute("DELETE FROM tables WHERE id = $1", &[gone.into()]).await.unwrap();
        tx.commit().await.unwrap();

        let workflow = workflows::find(&db, first).await.unwrap().unwrap();
        assert_eq!((workflow.version, workflow.changed_version, workflow.weight.bindings), (4, 4, 2));
        assert_eq!((workflow.updated_by.as_str(), workflow.updated_at_ms), ("purge", 9));
        assert_eq!(workflows::find(&db, other).await.unwrap().unwrap().version, 2);
        let newest = versions::newest(first, 1).all(&db).await.unwrap().remove(0);
        assert_eq!(newest.comment, Some(format!("the table {gone} was deleted")));
        for (id, part) in versions::parts_at(first, 4).all(&db).await.unwrap() {
            assert!(!part.beside.contains(&format!("t{gone}")), "{}", part.beside);
            let task = store::find(&db, id).await.unwrap().unwrap();
            assert_eq!((part.content, part.digest), (part::text(&task.content), task.digest));
        }
        let task = store::find(&db, reads).await.unwrap().unwrap();
        assert_eq!(task.content.input_table_ids, [kept]);
        let task = store::find(&db, left).await.unwrap().unwrap();
        assert!(task.content.input_table_ids.is_empty());
    })
    .await;
}
