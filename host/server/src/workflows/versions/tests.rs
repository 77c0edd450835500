use std::collections::BTreeMap;

use lakeport_store::Db;
use lakeport_store::testing::on_each_store;

use super::*;
use crate::workflows::testing::{add, named, publish};

const MADE: Made<'_> = Made { source: Source::Task, comment: None, by: "me", now_ms: 7 };

fn part(content: String) -> (Part, Weight) {
    let weight = Weight { tasks: 1, bindings: 2, text_bytes: content.len() as i64 };
    (Part { digest: part_digest(&content), content, beside: "{}".to_owned(), datasource_id: None }, weight)
}

/// A deterministic pseudo-random generator.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// The facts of each version at its creation.
struct Known {
    content: Content,
    tasks: BTreeMap<i64, String>,
}

/// A random change; false if it changed nothing.
async fn change(tx: &mut Tx, workflow: &mut Workflow, now: &mut Known, chance: &mut Chance) -> bool {
    let task_id = 1 + chance.below(6) as i64;
    match (chance.below(4), now.tasks.get(&task_id).cloned()) {
        (0, _) => {
            now.content.description = Some(format!("d{}", chance.below(3)));
            let made = Made { source: Source::Update, ..MADE };
            return change_content(tx, workflow, now.content.clone(), made).await.unwrap();
        }
        (1, Some(before)) => {
            let (part, weight) = part(before);
            now.tasks.remove(&task_id);
            let change = PartChange { task_id, before: Some((part.digest, weight)), after: None };
            change_parts(tx, workflow, &[change], MADE).await.unwrap();
        }
        (_, before) => {
            let content = format!("{{\"n\":{task_id},\"v\":{}}}", chance.below(1_000));
            let before = before.map(part).map(|(part, weight)| (part.digest, weight));
            now.tasks.insert(task_id, content.clone());
            let change = PartChange { task_id, before, after: Some(part(content)) };
            change_parts(tx, workflow, &[change], MADE).await.unwrap();
        }
    }
    true
}

async fn check(db: &Db, workflow: &Workflow, version: i64, known: &Known) {
    let content = content_at(workflow.id, version).all(db).await.unwrap().remove(0);
    assert_eq!(content, known.content, "version {version}");
    let parts = parts_at(workflow.id, version).all(db).await.unwrap();
    let sum = parts.iter().fold(Sum::default(), |sum, (_, part)| sum.plus(Sum::parse(&part.digest).unwrap()));
    let tasks: BTreeMap<i64, String> = parts.into_iter().map(|(id, part)| (id, part.content)).collect();
    assert_eq!(tasks, known.tasks, "version {version}");
    let newest = newest(workflow.id, 1_000).all(db).await.unwrap();
    let kept = newest.iter().find(|kept| kept.version == version).unwrap();
    assert_eq!(kept.digest, digest(&content, sum), "version {version}");
}

#[tokio::test]
async fn a_version_is_what_it_was_whatever_was_changed_since() {
    on_each_store(async |db| {
        for seed in 0..8 {
            let mut chance = Chance(seed);
            let mut workflow = add(&db, named(&format!("w{seed}"))).await;
            let mut now = Known { content: workflow.content.clone(), tasks: BTreeMap::new() };
            let mut known = vec![Known { content: now.content.clone(), tasks: BTreeMap::new() }];
            for _ in 0..40 {
                let mut tx = db.begin().await.unwrap();
                let mut locked = workflows::lock(&mut tx, workflow.id).await.unwrap().unwrap();
                let before = locked.version;
                let is_changed = change(&mut tx, &mut locked, &mut now, &mut chance).await;
                tx.commit().await.unwrap();
                assert_eq!(locked.version, before + i64::from(is_changed));
                if is_changed {
                    known.push(Known { content: now.content.clone(), tasks: now.tasks.clone() });
                }
                workflow = locked;
            }
            assert_eq!(workflow.version, known.len() as i64);
            assert_eq!(workflow.weight.tasks, now.tasks.len() as i64);
            for (at, known) in known.iter().enumerate() {
                check(&db, &workflow, at as i64 + 1, known).await;
            }
            assert!(content_at(workflow.id, 0).all(&db).await.unwrap().is_empty());
            assert!(content_at(workflow.id, workflow.version + 1).all(&db).await.unwrap().is_empty());
        }
    })
    .await;
}

#[tokio::test]
async fn a_schedule_alone_leaves_what_was_published_as_it_is() {
    on_each_store(async |db| {
        let workflow = add(&db, named("a")).await;
        let mut tx = db.begin().await.unwrap();
        let mut locked = workflows::lock(&mut tx, workflow.id).await.unwrap().unwrap();
        let made = Made { source: Source::Update, ..MADE };
        let mut content = locked.content.clone();
        content.schedule = Some(crate::workflows::testing::daily());
        assert!(change_content(&mut tx, &mut locked, content.clone(), made).await.unwrap());
        assert_eq!((locked.version, locked.changed_version, locked.schedule_version), (2, 1, 2));
        assert!(!change_content(&mut tx, &mut locked, content.clone(), made).await.unwrap());
        content.description = Some("new".to_owned());
        assert!(change_content(&mut tx, &mut locked, content, made).await.unwrap());
        assert_eq!((locked.version, locked.changed_version, locked.schedule_version), (3, 3, 2));
        tx.commit().await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn deployable_versions_keep_data_sources_in_use() {
    on_each_store(async |db| {
        let id = add(&db, named("a")).await.id;
        let on = |datasource_id| {
            let (part, weight) = part(format!("{{\"datasourceId\":{datasource_id:?}}}"));
            (Part { datasource_id, ..part }, weight)
        };
        let held = |(part, weight): (Part, Weight)| Some((part.digest, weight));
        let change = async |before, after| {
            let mut tx = db.begin().await.unwrap();
            let mut locked = workflows::lock(&mut tx, id).await.unwrap().unwrap();
            let change = PartChange { task_id: 1, before, after: Some(after) };
            change_parts(&mut tx, &mut locked, &[change], MADE).await.unwrap();
            tx.commit().await.unwrap();
        };
        let used = async |datasource_id: i64| {
            let mut tx = db.begin().await.unwrap();
            count_of_datasource(&mut tx, datasource_id).await.unwrap()
        };
        change(None, on(Some(7))).await;
        change(held(on(Some(7))), on(Some(8))).await;
        assert_eq!((used(7).await, used(8).await), (0, 0), "nothing is deployed");
        const SUBMIT: &str = "INSERT INTO publications (workflow_id, version, status, submitted_by, submitter, \
            submitted_at) VALUES ($1, 3, 'PENDING', 'me', 'me', 5)";
        db.execute(SUBMIT, &[id.into()]).await.unwrap();
        assert_eq!((used(7).await, used(8).await), (0, 1), "what is submitted may be deployed");
        let mut tx = db.begin().await.unwrap();
        publish(&mut tx, id, 2).await;
        tx.commit().await.unwrap();
        assert_eq!((used(7).await, used(8).await), (1, 1));
        let mut tx = db.begin().await.unwrap();
        workflows::delete(&mut tx, id, "me", 9).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!((used(7).await, used(8).await), (0, 0));
    })
    .await;
}

#[test]
fn what_is_added_and_taken_off_again_leaves_no_trace() {
    let of = |text: &str| Sum::parse(&part_digest(text)).unwrap();
    let (a, b) = (of("a"), of("b"));
    assert_eq!(a.plus(b), b.plus(a));
    assert_eq!(a.plus(b).minus(b), a);
    assert_eq!(a.minus(a), Sum::default());
    assert_eq!(Sum::default().minus(a).plus(a), Sum::default());
    assert_ne!(a.plus(a), a);
}

#[test]
fn over_the_limit_only_shrinking_is_allowed() {
    let tasks = |tasks| Weight { tasks, ..Weight::default() };
    assert!(tasks(TASKS_MAX).refuse_over(tasks(TASKS_MAX - 1)).is_ok());
    assert_eq!(tasks(TASKS_MAX + 1).refuse_over(tasks(TASKS_MAX)).unwrap_err().code(), "too_many_tasks");
    assert!(tasks(TASKS_MAX + 1).refuse_over(tasks(TASKS_MAX + 2)).is_ok());
    let bindings = Weight { bindings: BINDINGS_MAX + 1, ..Weight::default() };
    assert_eq!(bindings.refuse_over(Weight::default()).unwrap_err().code(), "too_many_tables");
    let text = Weight { text_bytes: TEXT_MAX_BYTES + 1, ..Weight::default() };
    assert_eq!(text.refuse_over(Weight::default()).unwrap_err().code(), "workflow_too_large");
}
