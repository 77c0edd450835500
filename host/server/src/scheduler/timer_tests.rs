use lakeport_base::time::{HOUR_MS, MINUTE_MS, SECOND_MS};
use lakeport_bindings::engine::model::{Schedule as EngineSchedule, Workflow};
use lakeport_plugins::EmbeddedScheduler as _;
use lakeport_store::testing::on_each_store;

use super::*;
use crate::scheduler::definition::Strategy;
use crate::scheduler::store::{Run, find_by_key};
use crate::scheduler::testing::{NOW_MS, lease, schedule, scheduler, start, task, workflow};

async fn run_at(db: &Db, fire_ms: i64) -> Option<Run> {
    find_by_key(db, &format!("schedule-7-{fire_ms}")).await.unwrap()
}

#[tokio::test]
async fn each_time_fires_once() {
    on_each_store(async |db| {
        let (scheduler, lease) = (scheduler(&db).await, lease(&db).await);
        scheduler.set_schedule(7, Some(schedule("0/1 * * * * ? *"))).await.unwrap();
        scheduler.set_online(7, true).await.unwrap();
        let first_ms = NOW_MS + SECOND_MS;
        assert_eq!(fire_due(&db, &lease, 0, NOW_MS).await.unwrap(), Some(first_ms));
        assert_eq!(fire_due(&db, &lease, 0, first_ms).await.unwrap(), Some(first_ms + SECOND_MS));
        // A server that saw it due earlier comes too late.
        let mut tx = db.begin().await.unwrap();
        assert!(fire(&mut tx, &[7], 1, 0, first_ms).await.unwrap().is_empty());
        drop(tx);
        let run = run_at(&db, first_ms).await.unwrap();
        assert_eq!(
            (run.business_at_ms, run.cause.as_str(), run.strategy),
            (first_ms, "schedule", Strategy::End)
        );
        assert!(run_at(&db, first_ms + SECOND_MS).await.is_none());
        let runs = db.read("SELECT id FROM runner_runs", &[]).await.unwrap();
        assert_eq!(runs.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn what_was_missed_for_long_is_not_made_up_for() {
    on_each_store(async |db| {
        let (scheduler, lease) = (scheduler(&db).await, lease(&db).await);
        scheduler.set_schedule(7, Some(schedule("0/10 * * * * ? *"))).await.unwrap();
        scheduler.set_online(7, true).await.unwrap();
        let later_ms = NOW_MS + HOUR_MS;
        while fire_due(&db, &lease, 0, later_ms).await.unwrap().unwrap() <= later_ms {}
        let runs = db.read("SELECT min(business_at), count(*) FROM runner_runs", &[]).await.unwrap();
        let (first_ms, count): (i64, i64) = (runs[0].get(0).unwrap(), runs[0].get(1).unwrap());
        assert!(later_ms - first_ms <= LATE_MAX_MS && (6..=7).contains(&count), "{count} from {first_ms}");
    })
    .await;
}

#[tokio::test]
async fn missed_fire_times_are_not_caught_up() {
    on_each_store(async |db| {
        let (scheduler, lease) = (scheduler(&db).await, lease(&db).await);
        scheduler.set_schedule(7, Some(schedule("0/10 * * * * ? *"))).await.unwrap();
        scheduler.set_online(7, true).await.unwrap();
        let (began_ms, now_ms) = (NOW_MS + 25 * SECOND_MS, NOW_MS + 45 * SECOND_MS);
        while fire_due(&db, &lease, began_ms, now_ms).await.unwrap().unwrap() <= now_ms {}
        let runs = db.read("SELECT business_at FROM runner_runs ORDER BY business_at", &[]).await.unwrap();
        let times: Vec<i64> = runs.iter().map(|row| row.get(0).unwrap()).collect();
        assert_eq!(times, [NOW_MS + 30 * SECOND_MS, NOW_MS + 40 * SECOND_MS]);
    })
    .await;
}

#[tokio::test]
async fn a_due_time_survives_other_changes() {
    on_each_store(async |db| {
        let (scheduler, lease) = (scheduler(&db).await, lease(&db).await);
        scheduler.set_schedule(7, Some(schedule("0/10 * * * * ? *"))).await.unwrap();
        scheduler.set_online(7, true).await.unwrap();
        let due_ms = NOW_MS + 10 * SECOND_MS;
        scheduler.clock.set(due_ms + 1);
        let mut changed = schedule("0/10 * * * * ? *");
        changed.failure_strategy = "CONTINUE".to_owned();
        scheduler.set_schedule(7, Some(changed.clone())).await.unwrap();
        fire_due(&db, &lease, 0, due_ms + 1).await.unwrap();
        assert_eq!(run_at(&db, due_ms).await.unwrap().strategy, Strategy::Continue);
        // From now on another cron expression counts.
        let due_ms = due_ms + 10 * SECOND_MS;
        scheduler.clock.set(due_ms + 1);
        changed.cron = "0/5 * * * * ? *".to_owned();
        scheduler.set_schedule(7, Some(changed)).await.unwrap();
        assert_eq!(store::next_due(&db).await.unwrap(), Some(due_ms + 5 * SECOND_MS));
    })
    .await;
}

#[tokio::test]
async fn a_time_while_a_run_is_active_is_left_out_waits_or_runs() {
    on_each_store(async |db| {
        let (scheduler, lease) = (scheduler(&db).await, lease(&db).await);
        for (concurrency, runs, waiting) in [("discard", 0, 0), ("wait", 1, 1), ("parallel", 1, 0)] {
            let id = i64::try_from(100 + concurrency.len()).unwrap();
            let flow = workflow(id.unsigned_abs(), vec![task(1, "a", "SELECT 1")], &[]);
            scheduler.put(Workflow { concurrency: concurrency.to_owned(), ..flow }).await.unwrap();
            scheduler.start(start(id.unsigned_abs(), concurrency)).await.unwrap();
            scheduler.set_schedule(id.unsigned_abs(), Some(schedule("0/1 * * * * ? *"))).await.unwrap();
            scheduler.set_online(id.unsigned_abs(), true).await.unwrap();
            fire_due(&db, &lease, 0, NOW_MS + SECOND_MS).await.unwrap();
            let sql = "SELECT count(*), coalesce(max(waits), 0) FROM runner_runs WHERE workflow_id = $1 AND cause = 'schedule'";
            let rows = db.read(sql, &[id.into()]).await.unwrap();
            let found: (i64, i64) = (rows[0].get(0).unwrap(), rows[0].get(1).unwrap());
            assert_eq!(found, (runs, waiting), "{concurrency}");
            let sql = "SELECT next_fire_at FROM runner_workflows WHERE id = $1";
            let next: i64 = db.read(sql, &[id.into()]).await.unwrap()[0].get(0).unwrap();
            assert_eq!(next, NOW_MS + 2 * SECOND_MS, "{concurrency}: it goes on");
        }
    })
    .await;
}

#[tokio::test]
async fn what_is_longest_overdue_comes_first_and_the_rest_is_left_out() {
    on_each_store(async |db| {
        let (scheduler, lease) = (scheduler(&db).await, lease(&db).await);
        let due = [(11_u64, 30), (12, 20), (13, 10), (14, 40)];
        for (id, at_s) in due {
            scheduler.put(workflow(id, vec![task(1, "a", "SELECT 1")], &[])).await.unwrap();
            let second = (NOW_MS / SECOND_MS + at_s) % 60;
            let once = schedule(&format!("{second} * * * * ? *"));
            // Its next time but one is after its end.
            let end = (id == 13).then_some(NOW_MS + MINUTE_MS);
            scheduler.set_schedule(id, Some(EngineSchedule { end, ..once })).await.unwrap();
            scheduler.set_online(id, true).await.unwrap();
        }
        let now_ms = NOW_MS + MINUTE_MS;
        let mut tx = db.begin().await.unwrap();
        tx.guard(&lease).await.unwrap();
        let runs = fire(&mut tx, &[11, 12, 13], 2, 0, now_ms).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(runs.len(), 2);
        let rows = db.read("SELECT workflow_id FROM runner_runs ORDER BY id", &[]).await.unwrap();
        let fired: Vec<i64> = rows.iter().map(|row| row.get(0).unwrap()).collect();
        assert_eq!(fired, [13, 12]);
        let sql = "SELECT id, next_fire_at FROM runner_workflows WHERE id > 10 ORDER BY id";
        let rows = db.read(sql, &[]).await.unwrap();
        let next: Vec<Option<i64>> = rows.iter().map(|row| row.get(1).unwrap()).collect();
        let after = |at_s: i64| Some(NOW_MS + at_s * SECOND_MS);
        assert_eq!(next, [after(90), after(80), None, after(40)], "14 was not among them");
    })
    .await;
}

#[tokio::test]
async fn who_lost_the_lease_fires_nothing() {
    on_each_store(async |db| {
        let (scheduler, lease) = (scheduler(&db).await, lease(&db).await);
        scheduler.set_schedule(7, Some(schedule("0/1 * * * * ? *"))).await.unwrap();
        scheduler.set_online(7, true).await.unwrap();
        db.execute("UPDATE leases SET epoch = epoch + 1", &[]).await.unwrap();
        let error = fire_due(&db, &lease, 0, NOW_MS + SECOND_MS).await.unwrap_err();
        assert_eq!(error.code(), "lease_lost");
        assert!(run_at(&db, NOW_MS + SECOND_MS).await.is_none());
    })
    .await;
}

#[test]
fn a_schedule_has_a_first_and_a_last_time() {
    let (start_ms, end_ms) = (NOW_MS + HOUR_MS, NOW_MS + HOUR_MS + 5 * SECOND_MS);
    let schedule = Schedule {
        cron: "0/5 * * * * ? *".to_owned(),
        zone: chrono_tz::UTC,
        start_at_ms: start_ms,
        end_at_ms: Some(end_ms),
        strategy: Strategy::End,
    };
    assert_eq!(next(&schedule, NOW_MS), Some(start_ms));
    assert_eq!(next(&schedule, start_ms), Some(end_ms));
    assert_eq!(next(&schedule, end_ms), None);
}
