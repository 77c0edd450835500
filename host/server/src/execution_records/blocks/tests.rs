use lakeport_store::Db;
use lakeport_store::testing::{migrate_to, on_each_empty_store, on_each_store};

use super::testing::{insert, insert_in, insert_run, pack_blocks, scan, update};
use super::*;
use crate::execution_records::{Status, store as records};
use crate::executions::runs;

const FIRST: Entry = entry(Some(1), 1_000);

const fn entry(task_id: Option<i64>, at_ms: i64) -> Entry {
    Entry { task_id, at_ms, status: Status::Success, duration_ms: Some(at_ms / 2) }
}

async fn view(db: &Db, blocks: &Blocks) -> View {
    blocks.view(&db.snapshot().await.unwrap()).await.unwrap()
}

/// All executions that the view has.
fn entries(view: &View) -> Vec<Entry> {
    let mut entries = Vec::new();
    view.each(None, i64::MIN..i64::MAX, |entry| entries.push(entry)).unwrap();
    entries.sort_unstable();
    entries
}

async fn check(db: &Db, blocks: &Blocks) {
    let mut scanned: Vec<Entry> = scan(db).await.into_iter().map(|(_, entry)| entry).collect();
    scanned.sort_unstable();
    assert_eq!(entries(&view(db, blocks).await), scanned);
    assert_eq!(count().all(db).await.unwrap(), [scanned.len() as i64]);
}

#[tokio::test]
async fn every_change_is_seen_packed_or_not() {
    on_each_store(async |db| {
        let blocks = Blocks::default();
        check(&db, &blocks).await;
        for run in [1, 2] {
            insert_run(&db, run, run).await;
        }
        for (run, id) in [(1, 1), (1, IDS - 1), (1, IDS), (2, 3 * IDS + 7)] {
            insert(&db, run, id, entry(None, id)).await;
        }
        check(&db, &blocks).await;
        assert_eq!(changed(&db).await.unwrap(), [0, 1, 3]);
        pack_blocks(&db, &[0, 1, 3]).await;
        assert_eq!(changed(&db).await.unwrap(), [0; 0]);
        check(&db, &blocks).await;

        update(&db, IDS, entry(Some(3), 5)).await;
        assert_eq!(changed(&db).await.unwrap(), [1]);
        check(&db, &blocks).await;
        let mut tx = db.begin().await.unwrap();
        records::delete(&mut tx, 1).await.unwrap();
        tx.commit().await.unwrap();
        check(&db, &blocks).await;
        pack_blocks(&db, &[0, 1]).await;
        check(&db, &blocks).await;

        // With its run, an execution is deleted, too.
        assert_eq!(db.execute(runs::store::RETAINED.purge, &[2.into(), 9.into()]).await.unwrap(), 1);
        assert_eq!(changed(&db).await.unwrap(), [0, 1]);
        check(&db, &blocks).await;
        pack_blocks(&db, &[0, 1]).await;
        check(&db, &blocks).await;
        assert_eq!(store::ids(&db).await.unwrap().len(), 1, "an empty block has no row");
    })
    .await;
}

#[tokio::test]
async fn a_change_that_is_dropped_changes_nothing() {
    on_each_store(async |db| {
        insert_run(&db, 1, 1).await;
        insert(&db, 1, 1, FIRST).await;
        pack_blocks(&db, &[0]).await;
        let mut tx = db.begin().await.unwrap();
        insert_in(&mut tx, 1, 2, FIRST).await;
        drop(tx);
        assert_eq!(changed(&db).await.unwrap(), [0; 0]);
        check(&db, &Blocks::default()).await;
    })
    .await;
}

#[tokio::test]
async fn a_change_stays_noted_while_others_pack() {
    on_each_store(async |db| {
        if !db.is_shared() {
            // Nothing is packed while another one writes.
            return;
        }
        let blocks = Blocks::default();
        insert_run(&db, 1, 1).await;
        insert(&db, 1, 1, FIRST).await;
        let mut tx = db.begin().await.unwrap();
        insert_in(&mut tx, 1, 2, FIRST).await;
        insert_in(&mut tx, 1, 3, FIRST).await;
        pack_blocks(&db, &[0]).await;
        assert_eq!(entries(&view(&db, &blocks).await).len(), 1);
        tx.commit().await.unwrap();
        assert_eq!(changed(&db).await.unwrap(), [0]);
        check(&db, &blocks).await;
        pack_blocks(&db, &[0]).await;
        check(&db, &blocks).await;
    })
    .await;
}

#[tokio::test]
async fn a_lost_lease_packs_nothing() {
    on_each_store(async |db| {
        use lakeport_store::leases::{Leases, TTL};
        insert_run(&db, 1, 1).await;
        insert(&db, 1, 1, FIRST).await;
        let lease = Leases::new(db.clone(), "one".to_owned()).claim("l", TTL).await.unwrap().unwrap();
        lease.clone().release().await.unwrap();
        assert_eq!(pack(&db, &lease, &[0]).await.unwrap_err().code(), "lease_lost");
        assert_eq!(changed(&db).await.unwrap(), [0]);
    })
    .await;
}

#[tokio::test]
async fn two_servers_have_the_blocks_in_memory() {
    on_each_store(async |db| {
        let (one, other) = (Blocks::default(), Blocks::default());
        insert_run(&db, 1, 1).await;
        for number in 0..3 {
            insert(&db, 1, number * IDS + 1, entry(None, number)).await;
            pack_blocks(&db, &[number]).await;
            check(&db, &one).await;
        }
        check(&db, &other).await;
        update(&db, IDS + 1, FIRST).await;
        pack_blocks(&db, &[1]).await;
        check(&db, &one).await;
        check(&db, &other).await;
        let (before, after) = (view(&db, &one).await, view(&db, &one).await);
        let same = before.blocks.iter().zip(&after.blocks).filter(|(one, other)| Arc::ptr_eq(one, other));
        assert_eq!(same.count(), 3, "nothing was read again");
    })
    .await;
}

#[tokio::test]
async fn an_old_store_notes_all_its_blocks() {
    on_each_empty_store(async |db| {
        migrate_to(&db, 18).await;
        insert_run(&db, 1, 1).await;
        for id in [1, 2, IDS, 5 * IDS - 1] {
            insert(&db, 1, id, entry(None, id)).await;
        }
        db.migrate().await.unwrap();
        assert_eq!(changed(&db).await.unwrap(), [0, 1, 4]);
        check(&db, &Blocks::default()).await;
    })
    .await;
}

#[tokio::test]
async fn only_executions_of_the_task_and_time_are_taken() {
    on_each_store(async |db| {
        insert_run(&db, 1, 1).await;
        for (id, task_id, at_ms) in [(1, Some(1), 10), (2, Some(2), 10), (3, None, 20), (IDS, Some(1), 30)] {
            insert(&db, 1, id, entry(task_id, at_ms)).await;
        }
        pack_blocks(&db, &[0]).await;
        let view = view(&db, &Blocks::default()).await;
        let times = |task_id, time_ms| {
            let mut times = Vec::new();
            view.each(task_id, time_ms, |entry| times.push(entry.at_ms)).unwrap();
            times.sort_unstable();
            times
        };
        assert_eq!(times(None, 10..30), [10, 10, 20]);
        assert_eq!(times(None, 11..21), [20]);
        assert_eq!(times(Some(1), i64::MIN..i64::MAX), [10, 30]);
        assert_eq!(times(Some(9), i64::MIN..i64::MAX), [0; 0]);
    })
    .await;
}

#[tokio::test]
async fn a_place_is_counted_from_the_newest() {
    on_each_store(async |db| {
        insert_run(&db, 1, 1).await;
        for (id, task_id) in [(1, 1), (2, 2), (3, 1), (IDS, 2), (3 * IDS, 1), (3 * IDS + 1, 1)] {
            insert(&db, 1, id, entry(Some(task_id), id)).await;
        }
        pack_blocks(&db, &[0, 1]).await;
        let view = view(&db, &Blocks::default()).await;
        let place = |block: i64, skipped| Some(Place { skipped, before_id: (block + 1) * IDS });
        let places =
            [place(3, 0), place(3, 1), place(1, 0), place(0, 0), place(0, 1), place(0, 2), None, None];
        for (offset, place) in (0..).zip(places) {
            assert_eq!(view.place(None, offset).unwrap(), (6, place), "{offset}");
        }
        let places = [place(3, 0), place(3, 1), place(0, 0), place(0, 1), None];
        for (offset, place) in (0..).zip(places) {
            assert_eq!(view.place(Some(1), offset).unwrap(), (4, place), "{offset}");
        }
        assert_eq!(view.place(Some(9), 0).unwrap(), (0, None));
    })
    .await;
}
