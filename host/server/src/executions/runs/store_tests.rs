use lakeport_store::testing::on_each_store;

use super::*;

fn asked(key: &str) -> Run {
    Run {
        id: 0,
        engine: "local".to_owned(),
        workflow_id: 7,
        workflow_name: "daily".to_owned(),
        key: Some(key.to_owned()),
        trigger: None,
        instance_id: None,
        state: "asked".to_owned(),
        cause: "manual".to_owned(),
        business_time_ms: None,
        asked_at_ms: 100,
        started_at_ms: None,
        ended_at_ms: None,
        message: None,
        workflow_version: None,
        part: Some(Part { task_id: 5, reach: Reach::Only }),
        failure_strategy: Some("END".to_owned()),
        again: None,
        version: 0,
    }
}

fn seen(instance_id: &str) -> Run {
    Run {
        key: None,
        instance_id: Some(instance_id.to_owned()),
        state: "running".to_owned(),
        cause: "schedule".to_owned(),
        part: None,
        failure_strategy: None,
        ..asked("")
    }
}

async fn added(db: &Db, run: Run) -> Run {
    let mut tx = db.begin().await.unwrap();
    let id = insert(&mut tx, &run).await.unwrap().expect("it is new");
    tx.commit().await.unwrap();
    Run { id, ..run }
}

async fn with_answer(db: &Db, run: &Run, instance_id: Option<&str>) {
    let mut tx = db.begin().await.unwrap();
    answered(&mut tx, run, instance_id, "t1").await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn a_run_that_was_asked_for_gets_its_instance_once() {
    on_each_store(async |db| {
        let run = added(&db, asked("k1")).await;
        assert_eq!(find(&db, run.id).await.unwrap().as_ref(), Some(&run));
        assert_eq!(unanswered(&db, "local", (101, 1_000), 10).await.unwrap().len(), 1);
        assert_eq!(unanswered(&db, "local", (100, 1_000), 10).await.unwrap(), []);
        with_answer(&db, &run, None).await;
        assert_eq!(find(&db, run.id).await.unwrap().unwrap().state, "asked", "it has yet to begin");
        with_answer(&db, &run, Some("i1")).await;
        with_answer(&db, &run, Some("i2")).await;
        let after = find_instance(&db, "local", "i1").await.unwrap().expect("the first answer stays");
        assert_eq!((after.state.as_str(), after.trigger.as_deref()), ("queued", Some("t1")));
        assert_eq!(after.version, 3);
        assert_eq!(unanswered(&db, "local", (101, 1_000), 10).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn a_run_seen_early_is_one_run() {
    on_each_store(async |db| {
        let run = added(&db, asked("k1")).await;
        let other = added(&db, seen("i1")).await;
        with_answer(&db, &run, Some("i1")).await;
        assert_eq!(find(&db, run.id).await.unwrap(), None);
        let joined = find(&db, other.id).await.unwrap().unwrap();
        assert_eq!((joined.key.as_deref(), joined.cause.as_str()), (Some("k1"), "manual"));
        assert_eq!(joined.state, "running");
    })
    .await;
}

#[tokio::test]
async fn what_is_known_is_found_by_instance_and_by_key() {
    on_each_store(async |db| {
        let by_key = added(&db, asked("k1")).await;
        let by_id = added(&db, seen("i'1")).await;
        added(&db, seen("i2")).await;
        let other_engine = Run { engine: "other".to_owned(), ..seen("i'1") };
        added(&db, other_engine).await;
        let mut found = known(&db, "local", &["i'1", "i9"], &["k1"]).await.unwrap();
        found.sort_by_key(|run| run.id);
        assert_eq!(found, [by_key, by_id]);
        assert_eq!(known(&db, "local", &[], &[]).await.unwrap(), []);
    })
    .await;
}

#[tokio::test]
async fn an_instance_is_there_once_for_each_engine() {
    on_each_store(async |db| {
        added(&db, seen("i1")).await;
        let mut tx = db.begin().await.unwrap();
        assert_eq!(insert(&mut tx, &seen("i1")).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn a_concurrent_write_is_not_overwritten() {
    on_each_store(async |db| {
        let run = added(&db, seen("i1")).await;
        let ended = Run { state: "success".to_owned(), ended_at_ms: Some(9), ..run.clone() };
        let mut tx = db.begin().await.unwrap();
        assert!(update(&mut tx, &ended).await.unwrap());
        tx.commit().await.unwrap();
        let mut tx = db.begin().await.unwrap();
        assert!(!update(&mut tx, &run).await.unwrap(), "it was read before");
        drop(tx);
        let after = find(&db, run.id).await.unwrap().unwrap();
        assert_eq!((after.state.as_str(), after.version), ("success", 1));
    })
    .await;
}

#[tokio::test]
async fn open_runs_are_those_with_an_instance_and_no_end() {
    on_each_store(async |db| {
        let first = added(&db, seen("i1")).await;
        added(&db, Run { ended_at_ms: Some(5), ..seen("i2") }).await;
        added(&db, Run { workflow_id: 1_007, ..asked("k1") }).await;
        let far = added(&db, Run { workflow_id: 1_007, ..seen("i3") }).await;
        assert_eq!(open(&db, "local", 0, 1_000, 10).await.unwrap(), [first]);
        assert_eq!(open(&db, "local", 1_000, 2_000, 10).await.unwrap(), [far]);
        assert_eq!(open_workflows(&db, "local").await.unwrap(), [7, 1_007]);
        assert!(open_workflows(&db, "other").await.unwrap().is_empty());
    })
    .await;
}

#[tokio::test]
async fn only_unconfirmed_runs_are_ended() {
    on_each_store(async |db| {
        let lost = added(&db, asked("k1")).await;
        let taken = added(&db, asked("k2")).await;
        with_answer(&db, &taken, Some("i1")).await;
        let mut tx = db.begin().await.unwrap();
        assert!(end_unstarted(&mut tx, lost.id, "why", 50).await.unwrap());
        assert!(!end_unstarted(&mut tx, taken.id, "why", 50).await.unwrap());
        assert_eq!(count_open(&mut tx, "local").await.unwrap(), 1);
        assert_eq!(count_open(&mut tx, "other").await.unwrap(), 0);
        tx.commit().await.unwrap();
        let after = find(&db, lost.id).await.unwrap().unwrap();
        assert_eq!((after.state.as_str(), after.ended_at_ms, after.version), ("failed", Some(50), 1));
    })
    .await;
}

#[tokio::test]
async fn a_cursor_is_kept_for_each_bucket() {
    on_each_store(async |db| {
        assert_eq!(cursor(&db, "local", 0).await.unwrap(), None);
        for text in ["5", "9"] {
            let mut tx = db.begin().await.unwrap();
            set_cursor(&mut tx, "local", 0, text, 1).await.unwrap();
            tx.commit().await.unwrap();
        }
        assert_eq!(cursor(&db, "local", 0).await.unwrap(), Some(("9".to_owned(), 1)));
        assert_eq!(cursor(&db, "local", 1).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn ended_runs_are_purged_and_open_ones_are_not() {
    on_each_store(async |db| {
        added(&db, seen("i1")).await;
        added(&db, Run { ended_at_ms: Some(5), ..seen("i2") }).await;
        added(&db, Run { ended_at_ms: Some(15), ..seen("i3") }).await;
        assert_eq!(db.execute(RETAINED.purge, &[10.into(), 100.into()]).await.unwrap(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_run_is_known_by_the_code_of_its_start_until_it_has_an_instance() {
    on_each_store(async |db| {
        let run = added(&db, asked("k1")).await;
        let known = async || known_by_trigger(&db, "local", &["t0", "t1"]).await.unwrap();
        assert_eq!(known().await, []);
        with_answer(&db, &run, None).await;
        assert_eq!(known().await.iter().map(|run| run.id).collect::<Vec<_>>(), [run.id]);
        assert_eq!(known_by_trigger(&db, "other", &["t1"]).await.unwrap(), []);
        assert_eq!(known_by_trigger(&db, "local", &[]).await.unwrap(), []);
        with_answer(&db, &run, Some("i1")).await;
        assert_eq!(known().await, []);
    })
    .await;
}

#[tokio::test]
async fn a_run_that_was_begun_again_is_asked_for_until_its_end_changes() {
    on_each_store(async |db| {
        let ended = Run { state: "failed".to_owned(), ended_at_ms: Some(50), ..seen("i1") };
        let run = added(&db, ended).await;
        added(&db, seen("i2")).await;
        let again = async |since_ms| {
            let runs = begun_again(&db, "local", since_ms, 10).await.unwrap();
            runs.into_iter().map(|run| run.id).collect::<Vec<_>>()
        };
        assert!(again(0).await.is_empty());
        let mut tx = db.begin().await.unwrap();
        note_again(&mut tx, run.id, 200).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!((again(199).await, again(200).await), (vec![run.id], vec![]));
        let mut known = find(&db, run.id).await.unwrap().unwrap();
        assert_eq!(known.again, Some(Again { until_ms: 200, ended_ms: 50 }));
        for (ended_at_ms, is_old) in [(Some(49), true), (Some(50), true), (Some(51), false), (None, false)] {
            let shown = Run { ended_at_ms, ..known.clone() };
            assert_eq!(known.is_old_end(&shown, 199), is_old, "{ended_at_ms:?}");
            assert!(!known.is_old_end(&shown, 200));
        }
        known.ended_at_ms = Some(60);
        let mut tx = db.begin().await.unwrap();
        assert!(update(&mut tx, &known).await.unwrap());
        tx.commit().await.unwrap();
        assert!(again(0).await.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_stop_that_is_refused_is_taken_back_unless_the_run_has_moved_on() {
    on_each_store(async |db| {
        let run = added(&db, seen("i1")).await;
        let (state, no_longer) = ("stopping", Run { state: "paused".to_owned(), ..run.clone() });
        let now = async || find(&db, run.id).await.unwrap().unwrap().state;
        for (read, is_asked, expected) in
            [(&run, true, "running"), (&no_longer, false, "running"), (&no_longer, true, "paused")]
        {
            let mut tx = db.begin().await.unwrap();
            if is_asked {
                note_stop(&mut tx, run.id, state).await.unwrap();
            }
            forget_stop(&mut tx, read, state).await.unwrap();
            tx.commit().await.unwrap();
            assert_eq!(now().await, expected);
        }
    })
    .await;
}
