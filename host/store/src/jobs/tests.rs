use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lakeport_base::Error;
use tokio::sync::{Mutex, Notify};
use tokio::task::JoinError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::testing::on_each_store;
use crate::{Changes, Db, Event, Held, Leases, leases};

const TOPIC: &str = "work";
const AT_MOST: usize = 2;
/// So long that no test passes by it.
const NEVER: Duration = Duration::from_secs(3_600);

async fn make_rows(db: &Db, ids: &[i64]) {
    db.execute("CREATE TABLE work (id BIGINT PRIMARY KEY, state BIGINT NOT NULL)", &[]).await.unwrap();
    ask(db, ids).await;
}

async fn ask(db: &Db, ids: &[i64]) {
    let mut tx = db.begin().await.unwrap();
    for id in ids {
        tx.execute("INSERT INTO work (id, state) VALUES ($1, 0)", &[(*id).into()]).await.unwrap();
        tx.changed(TOPIC, id.to_string());
    }
    tx.commit().await.unwrap();
}

async fn end(db: &Db, id: i64) {
    let mut tx = db.begin().await.unwrap();
    tx.execute("UPDATE work SET state = 1 WHERE id = $1", &[id.into()]).await.unwrap();
    tx.changed(TOPIC, id.to_string());
    tx.commit().await.unwrap();
}

async fn state_of(db: &Db, id: i64) -> Result<i64, Error> {
    db.read("SELECT state FROM work WHERE id = $1", &[id.into()]).await?[0].get(0)
}

async fn all_ended(db: &Db, changes: &Changes) {
    let until = Until { deadline: Instant::now() + NEVER, stopping: &CancellationToken::new() };
    let open = || async {
        let rows = db.read("SELECT count(*) FROM work WHERE state = 0", &[]).await?;
        rows[0].get::<i64>(0)
    };
    wait_for(changes.subscribe(TOPIC), None, until, open, |open| *open == 0).await.unwrap();
}

/// A worker that ends each row, and notes how many it works on at once.
struct Worker {
    db: Db,
    leases: Leases,
    jobs: Jobs<i64, (), ()>,
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    at_once: AtomicUsize,
    at_once_max: AtomicUsize,
    /// Jobs that are still to panic.
    panics: AtomicUsize,
    panicked: AtomicUsize,
    /// Jobs of other servers that were not free.
    others: AtomicUsize,
    looked: Notify,
    failures: AtomicUsize,
}

impl Work for Worker {
    type Key = i64;
    type Job = ();
    type Outcome = ();

    fn jobs(&mut self) -> &mut Jobs<i64, (), ()> {
        &mut self.jobs
    }

    async fn look(&mut self) -> Result<Duration, Error> {
        let rows = self.db.read("SELECT id FROM work WHERE state = 0 ORDER BY id", &[]).await?;
        for row in rows {
            let id: i64 = row.get(0)?;
            if self.jobs.is_full() {
                break;
            }
            if self.jobs.contains(&id) {
                continue;
            }
            let (db, seen) = (self.db.clone(), Arc::clone(&self.seen));
            let work = |held| job(db, seen, id, held);
            if !self.jobs.claim(&self.leases, &format!("work/{id}"), (id, ()), work).await? {
                self.seen.others.fetch_add(1, Ordering::SeqCst);
            }
        }
        self.seen.looked.notify_one();
        Ok(NEVER)
    }

    fn failed(&mut self, _: &Error) -> Duration {
        self.seen.failures.fetch_add(1, Ordering::SeqCst);
        self.seen.looked.notify_one();
        NEVER
    }

    async fn note(&mut self, _: Event) {}

    fn done(&mut self, _: i64, (): (), outcome: Result<(), JoinError>) {
        if outcome.is_err() {
            self.seen.panicked.fetch_add(1, Ordering::SeqCst);
        }
    }
}

async fn job(db: Db, seen: Arc<Seen>, id: i64, held: Held) {
    let at_once = seen.at_once.fetch_add(1, Ordering::SeqCst) + 1;
    seen.at_once_max.fetch_max(at_once, Ordering::SeqCst);
    let may_panic = |left: usize| left.checked_sub(1);
    if seen.panics.fetch_update(Ordering::SeqCst, Ordering::SeqCst, may_panic).is_ok() {
        seen.at_once.fetch_sub(1, Ordering::SeqCst);
        panic!("the test says so");
    }
    held.work(&CancellationToken::new(), async |_| end(&db, id).await).await;
    seen.at_once.fetch_sub(1, Ordering::SeqCst);
}

struct Running {
    changes: Changes,
    stop: CancellationToken,
    seen: Arc<Seen>,
    task: tokio::task::JoinHandle<()>,
}

impl Running {
    async fn start(db: &Db, panics: usize) -> Running {
        let changes = Changes::follow(db).await.unwrap();
        let (stop, seen) = (CancellationToken::new(), Arc::new(Seen::default()));
        seen.panics.store(panics, Ordering::SeqCst);
        let leases = Leases::new(db.clone(), "first".to_owned());
        let worker = Worker { db: db.clone(), leases, jobs: Jobs::new(AT_MOST), seen: Arc::clone(&seen) };
        let mut changed = changes.subscribe(TOPIC);
        let stopped = stop.clone().cancelled_owned();
        let task = tokio::spawn(async move { run(worker, &mut changed, stopped).await });
        Running { changes, stop, seen, task }
    }

    async fn end(self) -> Arc<Seen> {
        self.stop.cancel();
        self.task.await.unwrap();
        self.changes.stop().await;
        self.seen
    }
}

#[tokio::test]
async fn rows_are_worked_on_a_bounded_number_at_once() {
    on_each_store(async |db| {
        make_rows(&db, &[1, 2, 3, 4, 5]).await;
        let running = Running::start(&db, 0).await;
        all_ended(&db, &running.changes).await;
        let seen = running.end().await;
        assert!((1..=AT_MOST).contains(&seen.at_once_max.load(Ordering::SeqCst)));
        assert_eq!(seen.at_once.load(Ordering::SeqCst), 0, "all jobs ended before the worker did");
        let second = Leases::new(db.clone(), "second".to_owned());
        assert!(second.claim("work/1", leases::TTL).await.unwrap().is_some(), "its lease was given back");
    })
    .await;
}

#[tokio::test]
async fn the_change_log_wakes_a_worker() {
    on_each_store(async |db| {
        make_rows(&db, &[]).await;
        let running = Running::start(&db, 0).await;
        running.seen.looked.notified().await;
        ask(&db, &[1]).await;
        all_ended(&db, &running.changes).await;
        running.end().await;
    })
    .await;
}

#[tokio::test]
async fn a_job_that_panics_is_taken_again() {
    on_each_store(async |db| {
        make_rows(&db, &[1, 2]).await;
        let running = Running::start(&db, 1).await;
        all_ended(&db, &running.changes).await;
        assert_eq!(running.end().await.panicked.load(Ordering::SeqCst), 1);
    })
    .await;
}

#[tokio::test]
async fn what_another_server_works_on_is_left_alone() {
    on_each_store(async |db| {
        let theirs = Leases::new(db.clone(), "second".to_owned());
        theirs.claim("work/1", leases::TTL).await.unwrap().unwrap();
        make_rows(&db, &[1]).await;
        let running = Running::start(&db, 0).await;
        running.seen.looked.notified().await;
        ask(&db, &[2]).await;
        let own = Until { deadline: Instant::now() + NEVER, stopping: &CancellationToken::new() };
        let changed = running.changes.subscribe(TOPIC);
        wait_for(changed, Some("2"), own, || state_of(&db, 2), |state| *state == 1).await.unwrap();
        assert_eq!(state_of(&db, 1).await.unwrap(), 0);
        assert!(running.end().await.others.load(Ordering::SeqCst) >= 1);
    })
    .await;
}

#[tokio::test]
async fn a_worker_outlives_a_look_that_fails() {
    on_each_store(async |db| {
        let running = Running::start(&db, 0).await;
        // There is no such table yet.
        running.seen.looked.notified().await;
        make_rows(&db, &[1]).await;
        all_ended(&db, &running.changes).await;
        assert_eq!(running.end().await.failures.load(Ordering::SeqCst), 1);
    })
    .await;
}

#[tokio::test]
async fn a_worker_under_one_lease_ends_with_it() {
    on_each_store(async |db| {
        make_rows(&db, &[1]).await;
        let changes = Changes::follow(&db).await.unwrap();
        let leases = Leases::new(db.clone(), "first".to_owned());
        let held = leases.claim("w", Duration::from_millis(300)).await.unwrap().unwrap().hold();
        let (seen, never) = (Arc::new(Seen::default()), CancellationToken::new());
        let worker = |_| Worker {
            db: db.clone(),
            leases: leases.clone(),
            jobs: Jobs::new(AT_MOST),
            seen: Arc::clone(&seen),
        };
        db.execute("UPDATE leases SET expires_at = 1 WHERE name = 'w'", &[]).await.unwrap();
        run_under(held, worker, &mut changes.subscribe(TOPIC), &never).await;
        assert_eq!(seen.at_once.load(Ordering::SeqCst), 0);
        changes.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_lost_lease_breaks_its_work_off() {
    on_each_store(async |db| {
        let leases = Leases::new(db.clone(), "first".to_owned());
        let held = leases.claim("w", Duration::from_millis(300)).await.unwrap().unwrap().hold();
        db.execute("UPDATE leases SET expires_at = 1", &[]).await.unwrap();
        let outcome =
            held.work(&CancellationToken::new(), async |_| std::future::pending::<()>().await).await;
        assert!(outcome.is_none());
        let held = leases.claim("w", leases::TTL).await.unwrap().unwrap().hold();
        let stop = CancellationToken::new();
        stop.cancel();
        assert!(held.work(&stop, async |_| ()).await.is_none(), "nothing is begun once it is to stop");
        let second = Leases::new(db.clone(), "second".to_owned());
        assert!(second.claim("w", leases::TTL).await.unwrap().is_some());
    })
    .await;
}

#[tokio::test]
async fn a_change_of_another_key_costs_no_look() {
    on_each_store(async |db| {
        make_rows(&db, &[1, 2]).await;
        let changes = Changes::follow(&db).await.unwrap();
        let (changed, told) = (changes.subscribe(TOPIC), changes.subscribe(TOPIC));
        let deadline = Instant::now() + Duration::from_millis(500);
        let until = Until { deadline, stopping: &CancellationToken::new() };
        let (looks, told) = (AtomicUsize::new(0), Mutex::new(told));
        let look = || async {
            if looks.fetch_add(1, Ordering::SeqCst) == 0 {
                end(&db, 2).await;
                assert_eq!(told.lock().await.next().await, Some(Event::Changed("2".into())));
            }
            state_of(&db, 1).await
        };
        let state = wait_for(changed, Some("1"), until, look, |state| *state == 1).await;
        assert_eq!((state.unwrap(), looks.into_inner()), (0, 2), "the first look and the last");
        changes.stop().await;
    })
    .await;
}

#[tokio::test]
async fn waiting_ends_with_its_time_or_with_the_server() {
    on_each_store(async |db| {
        make_rows(&db, &[1]).await;
        let changes = Changes::follow(&db).await.unwrap();
        let (going, stopped) = (CancellationToken::new(), CancellationToken::new());
        stopped.cancel();
        let later = Instant::now() + NEVER;
        for (deadline, stopping) in [(Instant::now(), &going), (later, &stopped)] {
            let until = Until { deadline, stopping };
            let look = || state_of(&db, 1);
            let state = wait_for(changes.subscribe(TOPIC), Some("1"), until, look, |state| *state == 1).await;
            assert_eq!(state.unwrap(), 0, "as it is");
        }
        let changed = changes.subscribe(TOPIC);
        changes.stop().await;
        let until = Until { deadline: later, stopping: &going };
        let state = wait_for(changed, None, until, || state_of(&db, 1), |state| *state == 1).await;
        assert_eq!(state.unwrap(), 0, "the change log is not followed any more");
    })
    .await;
}

#[tokio::test]
async fn an_error_of_a_look_ends_the_waiting() {
    on_each_store(async |db| {
        let changes = Changes::follow(&db).await.unwrap();
        let until = Until { deadline: Instant::now() + NEVER, stopping: &CancellationToken::new() };
        let look = || async { Err::<(), _>(Error::not_found("row", 1)) };
        let outcome = wait_for(changes.subscribe(TOPIC), Some("1"), until, look, |()| true).await;
        assert_eq!(outcome.unwrap_err().status(), 404);
        changes.stop().await;
    })
    .await;
}
