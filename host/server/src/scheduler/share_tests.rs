use lakeport_plugins::EmbeddedScheduler as _;
use lakeport_store::leases::TTL;
use lakeport_store::testing::on_each_store;

use super::*;
use crate::scheduler::testing::{NOW_MS, scheduler, start};

async fn share(db: &Db, server: &str) -> Share {
    let leases = Leases::new(db.clone(), server.to_owned());
    let held = leases.claim(&lease(db, &leases), TTL).await.unwrap().unwrap().hold();
    Share::new(db.clone(), leases, Arc::new(held))
}

async fn start_runs(db: &Db, count: usize) -> Vec<i64> {
    let scheduler = scheduler(db).await;
    let mut ids = Vec::with_capacity(count);
    for number in 0..count {
        let started = scheduler.start(start(7, &format!("k{number}"))).await.unwrap();
        ids.push(started.instance.unwrap().parse().unwrap());
    }
    ids
}

/// Takes what there is place for, as a server without any run.
async fn take(share: &mut Share) -> (Vec<i64>, bool) {
    let portion = share.portion(1_000, true);
    let (mut taken, has_begun) = share.take(portion, std::iter::empty()).await.unwrap();
    taken.sort_unstable();
    (taken, has_begun)
}

/// It is time to look for others.
async fn look(share: &mut Share, has_free_place: bool) -> bool {
    share.next_look = Instant::now();
    share.look(has_free_place).await.unwrap()
}

#[tokio::test]
async fn a_run_is_of_one_worker() {
    on_each_store(async |db| {
        let ids = start_runs(&db, 20).await;
        let mut one = share(&db, "one").await;
        assert!(!look(&mut one, false).await);
        if !db.is_shared() {
            assert_eq!((one.portion(1_000, true), one.pause(1, true)), (0, None), "all are its own");
            assert!(one.has(&store::find_run(&db, ids[0]).await.unwrap().unwrap()));
            return;
        }
        assert_eq!((one.portion(99, true), one.portion(100, false)), (0, 100), "it is alone");
        let mut two = share(&db, "two").await;
        assert!(look(&mut one, true).await && look(&mut two, true).await && look(&mut two, true).await);
        two.give_back().await.unwrap();
        assert!(look(&mut two, false).await && !look(&mut two, true).await, "the others have their part");
        let now = Instant::now();
        assert_eq!(take(&mut one).await, (ids[..8].to_vec(), false));
        assert!(one.next_portion >= now + AGAIN, "the others want some too");
        assert_eq!(take(&mut two).await, (ids[8..16].to_vec(), false));
        one.has_begun();
        assert_eq!(one.portion(1_000, false), 0, "it has enough to begin");
        assert_eq!(take(&mut one).await, (ids[16..].to_vec(), false));
        one.has_begun();
        assert_eq!(one.portion(1_000, true), 0, "there are no more");
        let run = store::find_run(&db, ids[8]).await.unwrap().unwrap();
        assert!(two.has(&run) && !one.has(&run));
        assert!(
            two.pause(1, true) <= Some(AGAIN) && two.pause(0, true) > Some(AGAIN),
            "without room it waits"
        );
        two.give_back().await.unwrap();
        one.changed();
        let stuck = vec![7; PORTION];
        assert_eq!(
            one.take(8, stuck.into_iter()).await.unwrap().0,
            [0; 0],
            "it has enough that cannot begin"
        );
        one.has_ended();
        one.has_begun();
        assert_eq!(take(&mut one).await, (ids[8..16].to_vec(), false), "only its own were given back");
    })
    .await;
}

#[tokio::test]
async fn what_a_dead_worker_had_is_free() {
    on_each_store(async |db| {
        if !db.is_shared() {
            return;
        }
        let ids = start_runs(&db, 3).await;
        let mut dies = share(&db, "dies").await;
        assert_eq!(take(&mut dies).await.0, ids);
        let mut tx = db.begin().await.unwrap();
        store::begin_runs(&mut tx, &ids[..1], NOW_MS).await.unwrap();
        tx.commit().await.unwrap();
        let mut lives = share(&db, "lives").await;
        look(&mut lives, true).await;
        assert_eq!(take(&mut lives).await, (vec![], false));
        let expire = "UPDATE leases SET expires_at = 1 WHERE name = 'runner/dies'";
        db.execute(expire, &[]).await.unwrap();
        look(&mut lives, true).await;
        let mut tx = db.begin().await.unwrap();
        assert_eq!(tx.guard(&dies.held).await.unwrap_err().code(), "lease_lost");
        drop(tx);
        // It comes back, and has none of them.
        let mut again = share(&db, "dies").await;
        assert!(again.held.epoch() > dies.held.epoch());
        assert!(store::open_runs(&db, again.worker(), 10).await.unwrap().is_empty());
        assert_eq!(take(&mut lives).await, (ids.clone(), true), "one had begun");
        assert!(take(&mut again).await.0.is_empty());
        // Nor do its leases have to be known.
        db.execute("DELETE FROM leases WHERE name = 'runner/lives'", &[]).await.unwrap();
        look(&mut again, true).await;
        assert_eq!(take(&mut again).await, (ids, true));
    })
    .await;
}

#[tokio::test]
async fn a_stop_needs_no_place() {
    on_each_store(async |db| {
        if !db.is_shared() {
            return;
        }
        let ids = start_runs(&db, 2).await;
        let mut share = share(&db, "full").await;
        assert_eq!(share.take(0, std::iter::empty()).await.unwrap(), (vec![], false));
        let mut tx = db.begin().await.unwrap();
        assert!(store::ask_stop(&mut tx, ids[1], NOW_MS).await.unwrap());
        tx.commit().await.unwrap();
        assert_eq!(
            share.take(0, std::iter::empty()).await.unwrap(),
            (vec![], false),
            "it has not heard of it"
        );
        share.changed();
        assert_eq!(share.take(0, std::iter::empty()).await.unwrap(), (vec![ids[1]], true));
    })
    .await;
}
