use lakeport_plugins::EmbeddedScheduler as _;
use lakeport_store::testing::on_each_store;
use lakeport_store::{Db, changes};

use super::*;
use crate::scheduler::attempts::store::{self as attempts, Piece};
use crate::scheduler::testing::{
    NOW_MS, begin, instance as instance_ref, reference, scheduler, start, workflow,
};

fn watch(cursor: Option<&str>, open: &[&str], limit: u32) -> model::WatchRequest {
    model::WatchRequest {
        workflows: vec![model::Watched { id: 7, code: None, project: None }],
        open: open.iter().map(|id| model::OpenRun { workflow: 7, id: (*id).to_owned() }).collect(),
        cursor: cursor.map(str::to_owned),
        since: 0,
        limit,
    }
}

/// Keys of all runs after the cursor, and the next cursor.
async fn seen(scheduler: &LocalScheduler, mut cursor: Option<String>, limit: u32) -> (Vec<String>, String) {
    let mut keys = Vec::new();
    loop {
        let page = scheduler.instances(watch(cursor.as_deref(), &[], limit)).await.unwrap();
        assert!(page.instances.len() <= limit as usize);
        keys.extend(page.instances.into_iter().filter_map(|instance| instance.key));
        if !page.more {
            keys.sort();
            keys.dedup();
            return (keys, page.cursor);
        }
        assert_ne!(Some(&page.cursor), cursor.as_ref(), "it goes on");
        cursor = Some(page.cursor);
    }
}

#[tokio::test]
async fn runs_are_seen_when_they_are_new_or_change() {
    on_each_store(async |db| {
        let scheduler = scheduler(&db).await;
        scheduler.put(workflow(8, Vec::new(), &[])).await.unwrap();
        for key in ["a", "b", "c"] {
            scheduler.start(start(7, key)).await.unwrap();
        }
        scheduler.start(start(8, "others")).await.unwrap();
        for limit in [1, 2, 100] {
            assert_eq!(seen(&scheduler, None, limit).await.0, ["a", "b", "c"]);
        }
        let (_, cursor) = seen(&scheduler, None, 2).await;
        assert_eq!(seen(&scheduler, Some(cursor.clone()), 2).await.0, [""; 0]);
        let id = scheduler.start(start(7, "d")).await.unwrap().instance.unwrap();
        scheduler.start(start(8, "more-of-others")).await.unwrap();
        let first = scheduler.find(vec![query("a")]).await.unwrap().remove(0).unwrap();
        scheduler.cancel(instance_ref(7, &first.id)).await.unwrap();
        for limit in [1, 2, 100] {
            assert_eq!(seen(&scheduler, Some(cursor.clone()), limit).await.0, ["a", "d"]);
        }
        scheduler.cancel(instance_ref(7, &id)).await.unwrap();
        assert_eq!(seen(&scheduler, Some(cursor.clone()), 1).await.0, ["a", "d"]);
        let wrong = scheduler.instances(watch(Some("x"), &[], 1)).await.unwrap_err();
        assert_eq!(wrong.0.code, "invalid_input");
    })
    .await;
}

fn query(key: &str) -> model::RunQuery {
    model::RunQuery { workflow: reference(7), key: key.to_owned(), trigger: None, asked: 0 }
}

#[tokio::test]
async fn a_change_log_that_was_purged_costs_no_run() {
    on_each_store(async |db| {
        let scheduler = scheduler(&db).await;
        scheduler.start(start(7, "a")).await.unwrap();
        let (_, cursor) = seen(&scheduler, None, 10).await;
        scheduler.start(start(7, "b")).await.unwrap();
        changes::purge(&db, i64::MAX).await.unwrap();
        assert!(seen(&scheduler, Some(cursor), 10).await.0.contains(&"b".to_owned()));
    })
    .await;
}

#[tokio::test]
async fn open_runs_come_always_or_are_gone() {
    on_each_store(async |db| {
        let scheduler = scheduler(&db).await;
        let id = scheduler.start(start(7, "a")).await.unwrap().instance.unwrap();
        let (_, cursor) = seen(&scheduler, None, 10).await;
        let page = scheduler.instances(watch(Some(&cursor), &[&id, "999", "strange"], 10)).await.unwrap();
        assert_eq!(page.instances.len(), 1);
        let instance = &page.instances[0];
        assert_eq!(
            (instance.id.as_str(), instance.state.as_str(), instance.attempt),
            (id.as_str(), "queued", 1)
        );
        assert_eq!((instance.cause.as_str(), instance.business_time), ("manual", Some(NOW_MS)));
        assert_eq!(page.gone, ["999", "strange"]);
    })
    .await;
}

async fn begun(db: &Db, scheduler: &LocalScheduler, key: &str) -> (i64, i64) {
    scheduler.start(start(7, key)).await.unwrap();
    let run = runs::find_by_key(db, key).await.unwrap().unwrap();
    let mut tx = db.begin().await.unwrap();
    let begun = begin(&mut tx, run.id, (1, "a")).await;
    tx.commit().await.unwrap();
    (run.id, begun.id)
}

#[tokio::test]
async fn tries_come_in_pages() {
    on_each_store(async |db| {
        let scheduler = scheduler(&db).await;
        let (one, other) = (begun(&db, &scheduler, "a").await, begun(&db, &scheduler, "b").await);
        let page = async |cursor: Option<String>, limit| {
            let instances = [one.0, other.0].map(|id| instance_ref(7, &id.to_string())).to_vec();
            scheduler.task_runs(model::TaskRunRequest { instances, cursor, limit }).await.unwrap()
        };
        let first = page(None, 1).await;
        assert_eq!((first.task_runs.len(), first.next.as_deref()), (1, Some(one.1.to_string().as_str())));
        let second = page(first.next, 1).await;
        assert_eq!((second.task_runs[0].instance.clone(), second.next), (other.0.to_string(), None));
        let all = page(None, 10).await;
        assert_eq!((all.task_runs.len(), all.next), (2, None));
        let shown = &all.task_runs[0];
        assert_eq!((shown.task, shown.attempt, shown.state.as_str()), (Some(1), 1, "running"));
    })
    .await;
}

#[tokio::test]
async fn a_log_comes_in_whole_lines() {
    on_each_store(async |db| {
        let scheduler = scheduler(&db).await;
        let (run_id, id) = begun(&db, &scheduler, "a").await;
        let append = async |at_byte, text: &str| {
            let mut tx = db.begin().await.unwrap();
            attempts::append(&mut tx, &[Piece { task_run_id: id, at_byte, text }]).unwrap();
            tx.commit().await.unwrap();
        };
        let request = |cursor: Option<&str>, max_bytes| model::LogRequest {
            instance: instance_ref(7, &run_id.to_string()),
            task_run: id.to_string(),
            cursor: cursor.map(str::to_owned),
            max_bytes,
            ended: false,
        };
        let log = async |cursor: Option<&str>, max_bytes| {
            let page = scheduler.log(request(cursor, max_bytes)).await.unwrap();
            (page.text, page.next, page.complete)
        };
        assert_eq!(log(None, 100).await, (String::new(), "0".to_owned(), false));
        append(0, "é one\ntwo\n").await;
        append(11, "three\n").await;
        // A piece with an unknown outcome is written again, with more text.
        append(11, "three\nfour\n").await;
        assert_eq!(log(None, 100).await, ("é one\ntwo\nthree\nfour\n".to_owned(), "22".to_owned(), false));
        assert_eq!(log(None, 12).await, ("é one\ntwo\n".to_owned(), "11".to_owned(), false));
        assert_eq!(log(Some("7"), 1).await, ("two\n".to_owned(), "11".to_owned(), false));
        let mut tx = db.begin().await.unwrap();
        let ended = attempts::Ended {
            state: State::Success,
            message: None,
            rows_affected: Some(1),
            is_tried_again: false,
        };
        attempts::end(&mut tx, &[(id, &ended)], NOW_MS).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(log(Some("11"), 7).await, ("three\n".to_owned(), "17".to_owned(), false));
        assert_eq!(log(Some("17"), 7).await, ("four\n".to_owned(), "22".to_owned(), true));
        assert_eq!(log(Some("22"), 7).await, (String::new(), "22".to_owned(), true));
        // The last one is within a character.
        for wrong in ["abc", "", "-1", "1"] {
            let refused = scheduler.log(request(Some(wrong), 7)).await.unwrap_err();
            assert_eq!(refused.0.code, "invalid_input", "{wrong}");
        }
        let other = model::LogRequest {
            instance: instance_ref(7, "999"),
            task_run: id.to_string(),
            cursor: None,
            max_bytes: 1,
            ended: true,
        };
        assert_eq!(scheduler.log(other).await.unwrap_err().0.code, "not_found");
    })
    .await;
}
