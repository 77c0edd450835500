//! Statistics are what a scan of the executions gives.

use chrono::NaiveDate;
use chrono_tz::Tz;
use lakeport_base::time::{DAY_MS, HOUR_MS, local};
use lakeport_store::Db;
use lakeport_store::testing::on_each_store;

use super::*;
use crate::execution_records::blocks::testing::{Numbers, insert, insert_run, pack_blocks, scan, update};
use crate::execution_records::blocks::{Entry, changed};
use crate::execution_records::store;
use crate::executions::runs;

const SEED: u64 = 20_260_101;
const STEPS: usize = 400;
/// Statistics are compared after so many changes.
const STEPS_BETWEEN: usize = 8;
/// Ids of some ten blocks.
const IDS_MAX: usize = 20_000;
const RUNS: usize = 12;
/// Clocks change in Berlin on this day, in Lord Howe a week later: 2024-03-31.
const MIDDLE_MS: i64 = 1_711_843_200_000;
const ZONES: [Tz; 6] = [
    Tz::UTC,
    chrono_tz::Europe::Berlin,
    chrono_tz::Asia::Shanghai,
    chrono_tz::Asia::Kathmandu,
    chrono_tz::America::St_Johns,
    chrono_tz::Australia::Lord_Howe,
];

/// A time some days before or after the middle, often at the begin of an hour.
fn time_ms(numbers: &mut Numbers) -> i64 {
    let day = numbers.below(20) as i64 - 10;
    let within = match numbers.below(3) {
        0 => numbers.below(24) as i64 * HOUR_MS,
        1 => numbers.below(24) as i64 * HOUR_MS + numbers.of(&[-1, 0, 1, 999, 1_000]),
        _ => numbers.below(DAY_MS as usize) as i64,
    };
    MIDDLE_MS + day * DAY_MS + within
}

fn entry(numbers: &mut Numbers) -> Entry {
    let status = numbers.of(&Status::ALL);
    let duration_ms = match numbers.below(3) {
        0 => numbers.of(&[0, 1, 999, 1_000, 2_000, 60_000]),
        1 => numbers.below(5_000) as i64,
        _ => numbers.below(DAY_MS as usize) as i64,
    };
    Entry {
        task_id: numbers.of(&[None, Some(1), Some(2), Some(300)]),
        at_ms: time_ms(numbers),
        status,
        duration_ms: status.has_ended().then_some(duration_ms),
    }
}

async fn change(db: &Db, numbers: &mut Numbers) {
    let run = 1 + numbers.below(RUNS) as i64;
    let there = scan(db).await;
    let one = |numbers: &mut Numbers| (!there.is_empty()).then(|| there[numbers.below(there.len())].0);
    match numbers.below(20) {
        0..10 => {
            let id = 1 + numbers.below(IDS_MAX) as i64;
            if !there.iter().any(|(other, _)| *other == id) {
                insert(db, run, id, entry(numbers)).await;
            }
        }
        10..15 => {
            if let Some(id) = one(numbers) {
                update(db, id, entry(numbers)).await;
            }
        }
        15..17 => {
            if let Some(id) = one(numbers) {
                let mut tx = db.begin().await.unwrap();
                store::delete(&mut tx, id).await.unwrap();
                tx.commit().await.unwrap();
            }
        }
        17 => {
            // The oldest runs go with their executions, as they are purged.
            let before_ms = numbers.below(3) as i64;
            db.execute(runs::store::RETAINED.purge, &[before_ms.into(), 9.into()]).await.unwrap();
            for id in 1..before_ms {
                insert_run(db, id, id).await;
            }
        }
        _ => {
            let mut numbers_of_blocks = changed(db).await.unwrap();
            numbers_of_blocks.truncate(numbers.below(12));
            pack_blocks(db, &numbers_of_blocks).await;
        }
    }
}

fn asked(numbers: &mut Numbers) -> Asked {
    let second = |at_ms: i64| at_ms.div_euclid(SECOND_MS) * SECOND_MS;
    let mut times = [time_ms(numbers), time_ms(numbers)].map(second);
    times.sort_unstable();
    Asked {
        task_id: numbers.of(&[None, None, Some(1), Some(300), Some(4)]),
        start_ms: (numbers.below(4) > 0).then_some(times[0]),
        end_ms: (numbers.below(4) > 0).then_some(times[1]),
    }
}

/// The statistics, computed in the plainest way.
fn expected(scanned: &[(i64, Entry)], asked: Asked, now_ms: i64, zone: Tz) -> Statistics {
    let is_wanted = |entry: &&Entry| {
        asked.task_id.is_none_or(|id| entry.task_id == Some(id))
            && asked.start_ms.is_none_or(|start_ms| entry.at_ms >= start_ms)
            && asked.end_ms.is_none_or(|end_ms| entry.at_ms < end_ms + SECOND_MS)
    };
    let entries: Vec<&Entry> = scanned.iter().map(|(_, entry)| entry).filter(is_wanted).collect();
    let count =
        |statuses: &[Status]| entries.iter().filter(|entry| statuses.contains(&entry.status)).count() as i64;
    let ended = count(&[Status::Success, Status::Failed, Status::Killed]);
    let mut durations: Vec<i64> = entries.iter().filter_map(|entry| entry.duration_ms).collect();
    durations.sort_unstable();
    let seconds = |ms: i64| ms as f64 / 1_000.0;
    let timed = durations.len();
    let day = |date: NaiveDate| {
        let on_day: Vec<&&Entry> = entries
            .iter()
            .filter(|entry| local(entry.at_ms, zone).is_some_and(|at| at.date() == date))
            .collect();
        let of = |status| on_day.iter().filter(|entry| entry.status == status).count() as i64;
        TrendPoint {
            date: date.to_string(),
            total: on_day.len() as i64,
            success: of(Status::Success),
            failed: of(Status::Failed),
        }
    };
    Statistics {
        total: entries.len() as i64,
        success: count(&[Status::Success]),
        failed: count(&[Status::Failed]),
        running: count(&[Status::Pending, Status::Running, Status::Paused]),
        killed: count(&[Status::Killed]),
        success_rate: (ended > 0).then(|| count(&[Status::Success]) as f64 / ended as f64),
        avg_duration_seconds: (timed > 0).then(|| seconds(durations.iter().sum::<i64>() / timed as i64)),
        p95_duration_seconds: (timed > 0)
            .then(|| seconds(durations[(timed as f64 * 0.95).ceil() as usize - 1])),
        min_duration_seconds: durations.first().copied().map(seconds),
        max_duration_seconds: durations.last().copied().map(seconds),
        trend: trend::days(asked.start_ms, asked.end_ms, now_ms, zone).into_iter().map(day).collect(),
    }
}

#[tokio::test]
async fn statistics_are_what_a_scan_gives() {
    on_each_store(async |db| {
        let mut numbers = Numbers(SEED);
        let blocks = Blocks::default();
        for id in 1..=RUNS as i64 {
            insert_run(&db, id, id).await;
        }
        for step in 0..STEPS {
            change(&db, &mut numbers).await;
            if step % STEPS_BETWEEN > 0 {
                continue;
            }
            let scanned = scan(&db).await;
            let (asked, zone) = (asked(&mut numbers), numbers.of(&ZONES));
            let now_ms = MIDDLE_MS + 3 * DAY_MS;
            let found = of(&db, &blocks, asked, now_ms, zone).await.unwrap();
            assert_eq!(found, expected(&scanned, asked, now_ms, zone), "step {step}, {asked:?}, {zone}");
        }
    })
    .await;
}
