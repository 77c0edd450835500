use std::sync::Arc;
use std::time::Duration;

use super::follow::Pace;
use super::subscription::{QUEUE, Queue};
use super::*;
use crate::testing::on_each_store;

/// Longer than any test: changes must not be found by polling.
const NO_POLL: Pace =
    Pace { poll: Duration::from_secs(3600), hint: Duration::from_millis(1), read: Duration::from_millis(1) };
const SOON: Duration = Duration::from_secs(20);

async fn change(db: &Db, topic: &'static str, key: &str) -> i64 {
    let mut tx = db.begin().await.unwrap();
    tx.changed(topic, key);
    tx.commit_numbered().await.unwrap().unwrap()
}

async fn next(subscription: &mut Subscription) -> Option<Event> {
    tokio::time::timeout(SOON, subscription.next()).await.expect("an event in time")
}

fn changed(key: &str) -> Option<Event> {
    Some(Event::Changed(key.into()))
}

#[tokio::test]
async fn a_transaction_without_changes_takes_no_number() {
    on_each_store(async |db| {
        let tx = db.begin().await.unwrap();
        assert_eq!(tx.commit_numbered().await.unwrap(), None);
        assert_eq!(change(&db, "t", "a").await, 1);
    })
    .await;
}

#[tokio::test]
async fn a_change_that_is_rolled_back_leaves_no_gap() {
    on_each_store(async |db| {
        let mut tx = db.begin().await.unwrap();
        tx.changed("t", "never");
        assert_eq!(tx.write_changes().await.unwrap(), Some(1));
        drop(tx);
        assert_eq!(change(&db, "t", "a").await, 1);
    })
    .await;
}

#[tokio::test]
async fn several_changes_of_one_transaction_have_numbers_in_a_row() {
    on_each_store(async |db| {
        let mut tx = db.begin().await.unwrap();
        for (topic, key) in [("u", "\u{1F600} \"quoted\" \\"), ("t", "b"), ("t", "b"), ("t", "a")] {
            tx.changed(topic, key);
        }
        assert_eq!(tx.commit_numbered().await.unwrap(), Some(3));
        let rows = db.read("SELECT number, topic, key FROM changes ORDER BY number", &[]).await.unwrap();
        let log: Vec<(i64, String, String)> =
            rows.iter().map(|row| (row.get(0).unwrap(), row.get(1).unwrap(), row.get(2).unwrap())).collect();
        let expected = [(1, "t", "a"), (2, "t", "b"), (3, "u", "\u{1F600} \"quoted\" \\")];
        assert_eq!(log, expected.map(|(number, topic, key)| (number, topic.to_owned(), key.to_owned())));
    })
    .await;
}

#[tokio::test]
async fn very_many_changes_of_one_transaction_become_one_for_every_key() {
    on_each_store(async |db| {
        let changes = Changes::follow_at(&db, NO_POLL).await.unwrap();
        let (mut of_t, mut of_u) = (changes.subscribe("t"), changes.subscribe("u"));
        let mut tx = db.begin().await.unwrap();
        tx.changed("u", "x");
        (0..CHANGES_PER_TX).for_each(|n| tx.changed("t", n.to_string()));
        assert_eq!(tx.commit_numbered().await.unwrap(), Some(2));
        assert_eq!(next(&mut of_t).await, Some(Event::Everything));
        assert_eq!(next(&mut of_u).await, Some(Event::Everything));
        changes.stop().await;
    })
    .await;
}

#[tokio::test]
async fn own_changes_arrive_at_once_and_in_order_by_topic() {
    on_each_store(async |db| {
        change(&db, "t", "before").await;
        let changes = Changes::follow_at(&db, NO_POLL).await.unwrap();
        let (mut of_t, mut of_u) = (changes.subscribe("t"), changes.subscribe("u"));
        assert_eq!(changes.seen(), 1);
        change(&db, "t", "a").await;
        change(&db, "u", "x").await;
        let last = change(&db, "t", "b").await;
        assert_eq!(next(&mut of_t).await, changed("a"));
        assert_eq!(next(&mut of_t).await, changed("b"));
        assert_eq!(next(&mut of_u).await, changed("x"));
        changes.wait_for(last, SOON).await.unwrap();
        assert_eq!(changes.seen(), last);
        changes.stop().await;
    })
    .await;
}

#[tokio::test]
async fn another_servers_changes_are_hinted_on_a_shared_store() {
    on_each_store(async |db| {
        // Like another process: its commits do not signal this one.
        let other = Db { signal: Arc::default(), ..db.clone() };
        if !db.is_shared() {
            return;
        }
        let theirs = Changes::follow_at(&other, NO_POLL).await.unwrap();
        let ours = Changes::follow_at(&db, NO_POLL).await.unwrap();
        let mut subscription = ours.subscribe("t");
        change(&other, "t", "a").await;
        assert_eq!(next(&mut subscription).await, changed("a"));
        theirs.stop().await;
        ours.stop().await;
    })
    .await;
}

#[tokio::test]
async fn what_no_hint_told_of_is_found_by_looking() {
    on_each_store(async |db| {
        let other = Db { signal: Arc::default(), ..db.clone() };
        let changes = Changes::follow(&db).await.unwrap();
        let mut subscription = changes.subscribe("t");
        change(&other, "t", "a").await;
        assert_eq!(next(&mut subscription).await, changed("a"));
        changes.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_number_that_does_not_come_is_waited_for_so_long_and_no_longer() {
    on_each_store(async |db| {
        let changes = Changes::follow_at(&db, NO_POLL).await.unwrap();
        let error = changes.wait_for(1, Duration::from_millis(10)).await.unwrap_err();
        assert_eq!((error.status(), error.code()), (503, "stale_replica"));
        // Without a signal, but requested.
        let other = Db { signal: Arc::default(), ..db.clone() };
        let number = change(&other, "t", "a").await;
        changes.wait_for(number, SOON).await.unwrap();
        changes.stop().await;
    })
    .await;
}

#[tokio::test]
async fn a_follower_that_was_purged_past_says_everything() {
    on_each_store(async |db| {
        let changes = Changes::follow_at(&db, NO_POLL).await.unwrap();
        let mut subscription = changes.subscribe("t");
        let other = Db { signal: Arc::default(), ..db.clone() };
        change(&db, "t", "a").await;
        assert_eq!(next(&mut subscription).await, changed("a"));
        // Deleted by the same commit: the follower cannot have read it in between.
        let mut tx = other.begin().await.unwrap();
        (0..5).for_each(|n| tx.changed("t", n.to_string()));
        let number = tx.write_changes().await.unwrap().unwrap();
        tx.changed = Changed::default();
        tx.execute("DELETE FROM changes", &[]).await.unwrap();
        tx.commit().await.unwrap();
        changes.wait_for(number, SOON).await.unwrap();
        assert_eq!(next(&mut subscription).await, Some(Event::Everything));
        assert_eq!(change(&db, "t", "b").await, number + 1);
        assert_eq!(next(&mut subscription).await, changed("b"));
        changes.stop().await;
    })
    .await;
}

#[tokio::test]
async fn only_what_is_old_enough_is_purged() {
    on_each_store(async |db| {
        change(&db, "t", "old").await;
        db.execute("UPDATE changes SET at = 5", &[]).await.unwrap();
        change(&db, "t", "new").await;
        assert_eq!(purge(&db, 5).await.unwrap(), 0);
        assert_eq!(purge(&db, 6).await.unwrap(), 1);
        let rows = db.read("SELECT key FROM changes", &[]).await.unwrap();
        assert_eq!(rows[0].get::<String>(0).unwrap(), "new");
    })
    .await;
}

#[tokio::test]
async fn a_subscription_ends_with_the_follower() {
    on_each_store(async |db| {
        let changes = Changes::follow_at(&db, NO_POLL).await.unwrap();
        let mut subscription = changes.subscribe("t");
        let clone = changes.clone();
        drop(changes);
        clone.stop().await;
        assert_eq!(next(&mut subscription).await, None);
        assert_eq!(next(&mut clone.subscribe("t")).await, None);
    })
    .await;
}

#[tokio::test]
async fn a_subscriber_that_is_too_slow_is_told_to_read_everything() {
    let (queue, key) = (Arc::new(Queue::default()), |n: usize| Arc::from(n.to_string()));
    let mut subscription = Subscription { queue: Arc::clone(&queue) };
    (0..QUEUE).for_each(|n| queue.push(&key(n)));
    queue.push(&key(0));
    assert_eq!(next(&mut subscription).await, changed("0"));
    queue.push(&key(QUEUE));
    queue.push(&key(QUEUE + 1));
    assert_eq!(next(&mut subscription).await, Some(Event::Everything));
    queue.push(&key(1));
    assert_eq!(next(&mut subscription).await, changed("1"));
}

/// Writers commit and roll back at random; no follower may miss a number, or see one too early.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sixteen_writers_leave_numbers_without_gaps_in_the_order_of_their_commits() {
    const WRITERS: usize = 16;
    const EACH: usize = 30;
    on_each_store(async |db| {
        let changes = Changes::follow(&db).await.unwrap();
        let mut subscription = changes.subscribe("t");
        let writers = (0..WRITERS).map(|writer| {
            let db = db.clone();
            tokio::spawn(async move {
                for turn in 0..EACH {
                    let mut tx = db.begin().await.unwrap();
                    tx.changed("t", format!("{writer:02}/{turn:02}/a"));
                    if turn % 2 == 0 {
                        tx.changed("t", format!("{writer:02}/{turn:02}/b"));
                    }
                    match (writer + turn) % 3 {
                        0 => drop(tx),
                        1 => {
                            tx.write_changes().await.unwrap();
                            tokio::task::yield_now().await;
                            drop(tx);
                        }
                        _ => tx.commit().await.unwrap(),
                    }
                }
            })
        });
        let expected: usize = (0..WRITERS)
            .flat_map(|writer| (0..EACH).map(move |turn| (writer, turn)))
            .filter(|(writer, turn)| (writer + turn) % 3 == 2)
            .map(|(_, turn)| if turn % 2 == 0 { 2 } else { 1 })
            .sum();
        let observer = tokio::spawn(watch_numbers(db.clone(), expected));
        for writer in writers.collect::<Vec<_>>() {
            writer.await.unwrap();
        }
        let mut told = Vec::new();
        while told.len() < expected {
            let Some(Event::Changed(key)) = next(&mut subscription).await else { panic!("a change") };
            told.push(key.to_string());
        }
        let log = db.read("SELECT key FROM changes ORDER BY number", &[]).await.unwrap();
        let log: Vec<String> = log.iter().map(|row| row.get(0).unwrap()).collect();
        assert_eq!(told, log);
        assert_eq!(observer.await.unwrap(), expected as i64);
        assert_eq!(changes.seen(), expected as i64);
        changes.stop().await;
    })
    .await;
}

/// Reads the log repeatedly while it grows: it is always complete, from 1 to the counter.
async fn watch_numbers(db: Db, until: usize) -> i64 {
    const WHOLE: &str = "SELECT (SELECT number FROM change_counter), count(*), coalesce(max(number), 0), \
        coalesce(min(number), 1) FROM changes";
    loop {
        let rows = db.read(WHOLE, &[]).await.unwrap();
        let [counter, count, max, min] = [0, 1, 2, 3].map(|column| rows[0].get::<i64>(column).unwrap());
        assert_eq!((counter, count, min), (max, max, 1));
        if count >= until as i64 {
            return count;
        }
    }
}

/// Records its events, and fails as often as requested.
#[derive(Default)]
struct Told {
    events: parking_lot::Mutex<Vec<Event>>,
    failures: std::sync::atomic::AtomicU32,
}

impl Follows for Told {
    async fn apply(&self, events: &[Event]) -> Result<(), Error> {
        let minus_one = |left: u32| left.checked_sub(1);
        let relaxed = std::sync::atomic::Ordering::Relaxed;
        if self.failures.try_update(relaxed, relaxed, minus_one).is_ok() {
            return Err(Error::internal(anyhow::anyhow!("not now")));
        }
        self.events.lock().extend_from_slice(events);
        Ok(())
    }
}

async fn following(changes: &Changes, told: Arc<Told>) -> Arc<Applied> {
    let applied = Arc::new(Applied::up_to(changes.seen()));
    let (here, changes, subscription) = (Arc::clone(&applied), changes.clone(), changes.subscribe("t"));
    tokio::spawn(async move { here.follow(&changes, subscription, &*told).await });
    applied
}

#[tokio::test]
async fn who_waits_for_what_follows_sees_what_this_server_committed() {
    on_each_store(async |db| {
        let changes = Changes::follow_at(&db, NO_POLL).await.unwrap();
        let told = Arc::new(Told::default());
        let applied = following(&changes, Arc::clone(&told)).await;
        applied.caught_up(&changes).await.unwrap();
        change(&db, "t", "a").await;
        applied.caught_up(&changes).await.unwrap();
        assert_eq!(*told.events.lock(), [changed("a").unwrap()]);
        // Changes of other topics advance it, too.
        let number = change(&db, "u", "b").await;
        applied.caught_up(&changes).await.unwrap();
        assert_eq!((applied.number(), told.events.lock().len()), (number, 1));
        changes.stop().await;
    })
    .await;
}

#[tokio::test]
async fn changes_that_cannot_be_taken_in_come_again() {
    on_each_store(async |db| {
        let changes = Changes::follow_at(&db, NO_POLL).await.unwrap();
        let told = Arc::new(Told::default());
        told.failures.store(1, std::sync::atomic::Ordering::Relaxed);
        let applied = following(&changes, Arc::clone(&told)).await;
        change(&db, "t", "a").await;
        applied.caught_up(&changes).await.unwrap();
        assert_eq!(*told.events.lock(), [changed("a").unwrap()]);
        changes.stop().await;
    })
    .await;
}

/// Another change and the end come while the first change is taken in.
struct TakesInTheLast {
    queue: Arc<Queue>,
    taken_in: parking_lot::Mutex<Vec<Event>>,
}

impl Follows for TakesInTheLast {
    async fn apply(&self, events: &[Event]) -> Result<(), Error> {
        let mut taken_in = self.taken_in.lock();
        if taken_in.is_empty() {
            self.queue.push(&"b".into());
            self.queue.end();
        }
        taken_in.extend_from_slice(events);
        Ok(())
    }
}

#[tokio::test]
async fn the_last_change_and_the_end_may_come_with_one_notice() {
    on_each_store(async |db| {
        let changes = Changes::follow_at(&db, NO_POLL).await.unwrap();
        let queue = Arc::new(Queue::default());
        let who = TakesInTheLast { queue: Arc::clone(&queue), taken_in: parking_lot::Mutex::default() };
        queue.push(&"a".into());
        let applied = Applied::up_to(0);
        let follow = applied.follow(&changes, Subscription { queue }, &who);
        tokio::time::timeout(SOON, follow).await.expect("it ends");
        assert_eq!(*who.taken_in.lock(), [changed("a").unwrap(), changed("b").unwrap()]);
        changes.stop().await;
    })
    .await;
}
