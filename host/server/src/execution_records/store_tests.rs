use lakeport_store::testing::on_each_store;

use super::*;
use crate::execution_records::blocks::Entry;
use crate::executions::runs;
use crate::executions::statistics::{self, Asked};

async fn run(db: &Db, workflow_id: i64, instance_id: &str, cause: &str) -> Run {
    let run = Run {
        id: 0,
        engine: "local".to_owned(),
        workflow_id,
        workflow_name: format!("workflow {workflow_id}"),
        key: None,
        trigger: None,
        instance_id: Some(instance_id.to_owned()),
        state: "running".to_owned(),
        cause: cause.to_owned(),
        business_time_ms: Some(5_000),
        asked_at_ms: 0,
        started_at_ms: None,
        ended_at_ms: None,
        message: None,
        workflow_version: None,
        part: None,
        failure_strategy: None,
        again: None,
        version: 0,
    };
    let mut tx = db.begin().await.unwrap();
    let id = runs::store::insert(&mut tx, &run).await.unwrap().expect("it is new");
    tx.commit().await.unwrap();
    Run { id, ..run }
}

fn record(task_id: i64, status: Status, start_ms: Option<i64>, took_ms: i64) -> Record {
    let end = start_ms.filter(|_| status.has_ended()).map(|start| start + took_ms);
    Record {
        task_key: task_id.to_string(),
        task_id: Some(task_id),
        task_name: format!("task {task_id}"),
        status,
        attempt: 1,
        start_time_ms: start_ms,
        end_time_ms: end,
        error_message: None,
        rows_affected: Some(3),
        tries: vec![Try { id: "t1".to_owned(), attempt: 1, ended: status.has_ended() }],
    }
}

async fn written(db: &Db, run: &Run, record: &Record, now_ms: i64) -> i64 {
    let mut tx = db.begin().await.unwrap();
    let id = put(&mut tx, run, record, now_ms).await.unwrap();
    tx.commit().await.unwrap();
    id
}

#[tokio::test]
async fn a_record_is_written_over_and_keeps_its_id() {
    on_each_store(async |db| {
        let run = run(&db, 7, "i1", "schedule").await;
        let waiting = Record { tries: Vec::new(), ..record(4, Status::Pending, None, 0) };
        let id = written(&db, &run, &waiting, 900).await;
        let mut ended = record(4, Status::Failed, Some(1_000), 500);
        ended.attempt = 2;
        ended.error_message = Some("no such table".to_owned());
        assert_eq!(written(&db, &run, &ended, 2_000).await, id);
        let found = find(&db, id).await.unwrap().unwrap();
        assert_eq!(found.record, ended);
        assert_eq!((found.created_at_ms, found.updated_at_ms), (900, 2_000));
        assert_eq!((found.schedule_time_ms, found.trigger_type.as_str()), (Some(5_000), "schedule"));
        assert_eq!(find_task(&db, run.id, "4").await.unwrap(), Some(found.clone()));
        assert_eq!(of_runs(&db, &[run.id, 99]).await.unwrap(), [found]);
        let mut tx = db.begin().await.unwrap();
        delete(&mut tx, id).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(find(&db, id).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn lists_are_newest_first_and_pages_are_cut() {
    on_each_store(async |db| {
        let (first, second) = (run(&db, 7, "i1", "manual").await, run(&db, 8, "i2", "manual").await);
        let mut ids = Vec::new();
        for (run, task) in [(&first, 1), (&first, 2), (&second, 1)] {
            ids.push(written(&db, run, &record(task, Status::Failed, Some(1), 1), 5).await);
        }
        let shown = |found: Vec<Execution>| found.into_iter().map(|one| one.id).collect::<Vec<_>>();
        let (blocks, paging) = (Blocks::default(), Paging { page_num: 1, page_size: 2 });
        let (total, found) = page(&db, &blocks, None, &paging).await.unwrap();
        assert_eq!((total, shown(found)), (3, vec![ids[2], ids[1]]));
        let (total, found) =
            page(&db, &blocks, Some(1), &Paging { page_num: 2, page_size: 1 }).await.unwrap();
        assert_eq!((total, shown(found)), (2, vec![ids[0]]));
        assert_eq!(page(&db, &blocks, Some(99), &paging).await.unwrap().0, 0);
        assert_eq!(shown(with_status(&db, Status::Failed, 1).await.unwrap()), [ids[2]]);
        assert_eq!(shown(with_status(&db, Status::Running, 9).await.unwrap()), [0; 0]);
        assert_eq!(shown(of_workflow(7, 9).all(&db).await.unwrap()), [ids[1], ids[0]]);
        assert_eq!(latest_of_task(&db, 1).await.unwrap().unwrap().id, ids[2]);
        assert_eq!(latest_of_task(&db, 99).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn any_page_is_found_by_blocks() {
    use crate::execution_records::blocks::testing::{Numbers, insert, insert_run, pack_blocks, scan};
    on_each_store(async |db| {
        let (mut numbers, blocks) = (Numbers(7), Blocks::default());
        insert_run(&db, 1, 1).await;
        for n in 0..60_i64 {
            let id = n * 200 + numbers.below(200) as i64 + 1;
            let task_id = numbers.of(&[None, Some(1), Some(2)]);
            let entry = Entry { task_id, at_ms: n, status: Status::Success, duration_ms: Some(1) };
            insert(&db, 1, id, entry).await;
            if n % 20 == 0 {
                pack_blocks(&db, &blocks::changed(&db).await.unwrap()).await;
            }
        }
        let scanned = scan(&db).await;
        for task_id in [None, Some(1), Some(3)] {
            let ids: Vec<i64> = scanned
                .iter()
                .filter(|(_, entry)| task_id.is_none() || entry.task_id == task_id)
                .map(|(id, _)| *id)
                .collect();
            for page_num in 1..=10 {
                let paging = Paging { page_num, page_size: 7 };
                let on_page: Vec<i64> = ids.iter().copied().skip(paging.offset() as usize).take(7).collect();
                let shown = |found: (i64, Vec<Execution>)| {
                    (found.0, found.1.into_iter().map(|one| one.id).collect::<Vec<_>>())
                };
                let expected = (ids.len() as i64, on_page);
                assert_eq!(shown(near_page(&db, task_id, &paging).await.unwrap()), expected);
                assert_eq!(shown(far_page(&db, &blocks, task_id, &paging).await.unwrap()), expected);
            }
        }
    })
    .await;
}

#[tokio::test]
async fn executions_go_with_their_run() {
    on_each_store(async |db| {
        let run = run(&db, 7, "i1", "manual").await;
        let id = written(&db, &run, &record(1, Status::Success, Some(1), 1), 5).await;
        let mut tx = db.begin().await.unwrap();
        let ended = Run { ended_at_ms: Some(3), state: "success".to_owned(), ..run };
        assert!(runs::store::update(&mut tx, &ended).await.unwrap());
        tx.commit().await.unwrap();
        let purge = runs::store::RETAINED.purge;
        assert_eq!(db.execute(purge, &[9.into(), 10.into()]).await.unwrap(), 1);
        assert_eq!(find(&db, id).await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn figures_are_of_the_task_and_time_that_are_asked_for() {
    on_each_store(async |db| {
        let run = run(&db, 7, "i1", "manual").await;
        for (task, status, start, took) in [
            (1, Status::Success, Some(1_000), 2_000),
            (2, Status::Failed, Some(2_000), 4_000),
            (3, Status::Killed, Some(3_000), 6_000),
            (4, Status::Running, Some(90_000_000), 0),
            (5, Status::Pending, None, 0),
        ] {
            written(&db, &run, &record(task, status, start, took), 7_000).await;
        }
        let of = async |asked| {
            let figures =
                statistics::of(&db, &Blocks::default(), asked, 172_800_000, chrono_tz::UTC).await.unwrap();
            serde_json::to_value(figures).unwrap()
        };
        let all = of(Asked { task_id: None, start_ms: None, end_ms: None }).await;
        for (member, value) in [("total", 5), ("success", 1), ("failed", 1), ("killed", 1), ("running", 2)] {
            assert_eq!(all[member], value, "{member}");
        }
        let seconds = ["avg", "p95", "min", "max"].map(|what| all[format!("{what}DurationSeconds")].as_f64());
        assert_eq!(seconds, [Some(4.0), Some(6.0), Some(2.0), Some(6.0)]);
        assert_eq!(all["trend"].as_array().unwrap().len(), 7);
        assert_eq!(
            all["trend"][4],
            serde_json::json!({"date": "1970-01-01", "total": 4, "success": 1, "failed": 1})
        );
        let second = of(Asked { task_id: None, start_ms: Some(2_000), end_ms: Some(2_000) }).await;
        assert_eq!((second["total"].clone(), second["failed"].clone()), (1.into(), 1.into()));
        assert_eq!(second["trend"].as_array().unwrap().len(), 1);
        let task = of(Asked { task_id: Some(3), start_ms: None, end_ms: None }).await;
        assert_eq!((task["total"].clone(), task["p95DurationSeconds"].as_f64()), (1.into(), Some(6.0)));
        let none = of(Asked { task_id: Some(99), start_ms: None, end_ms: None }).await;
        assert_eq!((none["total"].clone(), none["successRate"].is_null()), (0.into(), true));
    })
    .await;
}
