use lakeport_store::testing::on_each_store;

use super::*;
use crate::workflows::tasks::dependencies::{self, Bound};
use crate::workflows::tasks::forms::Priority;
use crate::workflows::tasks::lookup;
use crate::workflows::testing;

const PAGE: Paging = Paging { page_num: 1, page_size: 100 };

async fn tables(db: &Db, count: usize) -> Vec<i64> {
    let mut tx = db.begin().await.unwrap();
    let mut ids = Vec::new();
    for at in 0..count {
        const INSERT: &str = "INSERT INTO tables (db_name, table_name, created_at, updated_at) \
            VALUES ('main', $1, 5, 5) RETURNING id";
        let rows = tx.query(INSERT, &[format!("t{at}").into()]).await.unwrap();
        ids.push(rows[0].get(0).unwrap());
    }
    tx.commit().await.unwrap();
    ids
}

async fn workflow(db: &Db, name: &str) -> i64 {
    testing::add(db, testing::named(name)).await.id
}

fn task(workflow_id: i64, name: &str, inputs: &[i64], outputs: &[i64]) -> Task {
    Task {
        id: 0,
        workflow_id: Some(workflow_id),
        content: Content {
            task_name: name.to_owned(),
            task_type: "SQL".to_owned(),
            datasource_id: None,
            sql_content: Some("select 1".to_owned()),
            priority: Priority::Low,
            timeout: 1,
            retry_times: 2,
            retry_interval: 3,
            input_table_ids: inputs.to_vec(),
            output_table_ids: outputs.to_vec(),
            unresolved: Default::default(),
        },
        given: Given { inputs: true, outputs: false },
        digest: "d".to_owned(),
        created_at_ms: 5,
        updated_at_ms: 5,
    }
}

async fn add(db: &Db, new: Task) -> Task {
    let mut tx = db.begin().await.unwrap();
    let id = insert(&mut tx, &new).await.unwrap();
    tx.commit().await.unwrap();
    Task { id, ..new }
}

#[tokio::test]
async fn task_names_are_unique_within_a_workflow() {
    on_each_store(async |db| {
        let (first, second) = (workflow(&db, "a").await, workflow(&db, "b").await);
        let t = tables(&db, 4).await;
        let kept = add(&db, task(first, "x", &[t[2], t[0]], &[t[1]])).await;
        assert_eq!(find(&db, kept.id).await.unwrap(), Some(kept.clone()));
        let mut tx = db.begin().await.unwrap();
        assert_eq!(insert(&mut tx, &task(first, "x", &[], &[])).await.unwrap_err().code(), "name_taken");
        drop(tx);
        let other = add(&db, task(second, "x", &[], &[])).await;
        let moved = Task { workflow_id: Some(first), updated_at_ms: 9, ..other.clone() };
        let mut tx = db.begin().await.unwrap();
        assert_eq!(update(&mut tx, &other, &moved).await.unwrap_err().code(), "name_taken");
        drop(tx);
        let mut changed = Task { workflow_id: Some(second), updated_at_ms: 9, ..kept.clone() };
        changed.content.task_name = "y".to_owned();
        changed.content.output_table_ids = vec![t[3], t[1]];
        let mut tx = db.begin().await.unwrap();
        update(&mut tx, &kept, &changed).await.unwrap();
        assert_eq!(lock(&mut tx, kept.id).await.unwrap(), Some(changed.clone()));
        tx.commit().await.unwrap();
        let selects = (of_workflow(second), tables_of_workflow(second));
        let (mut found, tables) = db.read_all(selects).await.unwrap();
        bind(&mut found, tables);
        assert_eq!(found, [changed, other]);
        assert!(of_workflow(first).all(&db).await.unwrap().is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_page_fits_every_filter() {
    on_each_store(async |db| {
        let (first, second) = (workflow(&db, "a").await, workflow(&db, "b").await);
        let t = tables(&db, 3).await;
        let a = add(&db, task(first, "Load", &[], &[t[0]])).await.id;
        let b = add(&db, task(first, "clean", &[t[0], t[1]], &[t[1]])).await.id;
        let c = add(&db, task(first, "report_load", &[t[1], t[0]], &[])).await.id;
        let d = add(&db, task(second, "load", &[t[0]], &[])).await.id;
        let none = || Filter {
            name: None,
            task_type: None,
            workflow_id: None,
            upstream_task_id: None,
            downstream_task_id: None,
            table_id: None,
        };
        let found = async |filter: Filter| {
            let (total, tasks) = page(&db, &filter, &PAGE).await.unwrap();
            assert_eq!(total, tasks.len() as i64);
            tasks.into_iter().map(|task| task.id).collect::<Vec<_>>()
        };
        assert_eq!(found(none()).await, [d, c, b, a]);
        assert_eq!(found(Filter { name: Some("load".to_owned()), ..none() }).await, [d, c, a]);
        assert_eq!(found(Filter { workflow_id: Some(first), ..none() }).await, [c, b, a]);
        assert!(found(Filter { task_type: Some("SHELL".to_owned()), ..none() }).await.is_empty());
        assert_eq!(found(Filter { upstream_task_id: Some(a), ..none() }).await, [c, b]);
        assert_eq!(found(Filter { upstream_task_id: Some(b), ..none() }).await, [c]);
        assert_eq!(found(Filter { downstream_task_id: Some(c), ..none() }).await, [b, a]);
        let both = Filter { upstream_task_id: Some(a), downstream_task_id: Some(c), ..none() };
        assert_eq!(found(both).await, [b]);
        assert!(found(Filter { upstream_task_id: Some(999), ..none() }).await.is_empty());
        assert_eq!(found(Filter { table_id: Some(t[1]), ..none() }).await, [c, b]);
        assert_eq!(
            found(Filter { table_id: Some(t[1]), name: Some("load".to_owned()), ..none() }).await,
            [c]
        );
    })
    .await;
}

#[tokio::test]
async fn an_oversized_page_is_refused_before_reading() {
    on_each_store(async |db| {
        let id = workflow(&db, "a").await;
        for name in 0..17 {
            let mut large = task(id, &name.to_string(), &[], &[]);
            large.content.sql_content = Some("x".repeat(1024 * 1024));
            add(&db, large).await;
        }
        let filter = Filter {
            name: None,
            task_type: None,
            workflow_id: None,
            upstream_task_id: None,
            downstream_task_id: None,
            table_id: None,
        };
        let of = |page_size| Paging { page_num: 1, page_size };
        let error = page(&db, &filter, &of(20)).await.unwrap_err();
        assert_eq!((error.status(), error.code()), (400, "invalid_input"));
        assert_eq!(page(&db, &filter, &of(16)).await.unwrap().1.len(), 16);
    })
    .await;
}

#[tokio::test]
async fn tasks_of_a_deleted_workflow_go_or_stay_unbound() {
    on_each_store(async |db| {
        let (first, second) = (workflow(&db, "a").await, workflow(&db, "b").await);
        let t = tables(&db, 1).await;
        let gone = add(&db, task(first, "x", &t, &[])).await.id;
        let left = add(&db, task(second, "x", &t, &[])).await.id;
        let mut tx = db.begin().await.unwrap();
        assert_eq!(delete_of(&mut tx, first).await.unwrap(), [gone]);
        assert_eq!(unbind_of(&mut tx, second, 9).await.unwrap(), [left]);
        tx.commit().await.unwrap();
        let binding = Binding { task_id: left, workflow_id: None, inputs: t.clone(), outputs: vec![] };
        assert_eq!(bindings_after(&db, 0, 10).await.unwrap(), std::slice::from_ref(&binding));
        assert_eq!(bindings_of(&db, &[gone, left]).await.unwrap(), [binding]);
        assert!(bindings_after(&db, left, 10).await.unwrap().is_empty());
        assert_eq!(bound_to(&db, t[0], 10).await.unwrap(), [(left, "x".to_owned())]);
        let mut tx = db.begin().await.unwrap();
        assert_eq!(count_of_datasource(&mut tx, 1).await.unwrap(), 0);
        delete(&mut tx, left).await.unwrap();
        tx.commit().await.unwrap();
        assert!(bindings_after(&db, 0, 10).await.unwrap().is_empty());
    })
    .await;
}

/// A deterministic pseudo-random generator.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    fn some_of(&mut self, ids: &[i64]) -> Vec<i64> {
        let mut some: Vec<i64> = (0..self.below(3)).map(|_| ids[self.below(ids.len())]).collect();
        some.sort_unstable();
        some.dedup();
        some
    }
}

#[tokio::test]
async fn store_and_graph_agree_on_cycles() {
    on_each_store(async |db| {
        let t = tables(&db, 8).await;
        let mut refused = 0;
        for seed in 0..6 {
            let mut chance = Chance(seed);
            let id = workflow(&db, &format!("w{seed}")).await;
            let mut kept: Vec<Task> = Vec::new();
            for step in 0..30 {
                let (inputs, outputs) = (chance.some_of(&t), chance.some_of(&t));
                let mut new = task(id, &format!("{step}"), &inputs, &outputs);
                let before = (chance.below(3) == 0 && !kept.is_empty()).then(|| chance.below(kept.len()));
                if let Some(at) = before {
                    (new.id, new.content.task_name) = (kept[at].id, kept[at].content.task_name.clone());
                }
                let bound: Vec<Bound<'_>> = kept.iter().map(Task::bound).collect();
                let expected = dependencies::through(new.bound(), &bound).is_some();
                let mut tx = db.begin().await.unwrap();
                let closes = lookup::check(&mut tx, &new, None).await.unwrap();
                assert_eq!(closes, expected, "{seed} {step} {inputs:?} {outputs:?}");
                refused += usize::from(closes);
                match before {
                    _ if closes => {}
                    Some(at) => {
                        update(&mut tx, &kept[at], &new).await.unwrap();
                        kept[at] = new;
                    }
                    None => {
                        new.id = insert(&mut tx, &new).await.unwrap();
                        kept.push(new);
                    }
                }
                tx.commit().await.unwrap();
            }
        }
        assert!(refused > 5, "{refused}");
    })
    .await;
}
