//! Executions of tests, written as no engine would.

use lakeport_store::leases::{Leases, TTL};
use lakeport_store::{Db, Tx, Value};

use super::{Entry, pack};
use crate::execution_records::Status;

/// A deterministic generator: SplitMix64.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let bound = u64::try_from(bound).expect("it is small");
        usize::try_from((mixed ^ (mixed >> 31)) % bound).expect("it is below one")
    }

    pub fn of<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.below(options.len())]
    }
}

/// Inserts a run that has ended at this time.
pub async fn insert_run(db: &Db, id: i64, ended_at_ms: i64) {
    const INSERT: &str = "INSERT INTO runs (id, engine, workflow_id, workflow_name, state, cause, asked_at, \
        ended_at) VALUES ($1, 'local', 1, 'w', 'success', 'manual', 1, $2)";
    db.execute(INSERT, &[id.into(), ended_at_ms.into()]).await.unwrap();
}

pub async fn insert(db: &Db, run_id: i64, id: i64, entry: Entry) {
    let mut tx = db.begin().await.unwrap();
    insert_in(&mut tx, run_id, id, entry).await;
    tx.commit().await.unwrap();
}

pub async fn insert_in(tx: &mut Tx, run_id: i64, id: i64, entry: Entry) {
    const INSERT: &str = "INSERT INTO executions (id, run_id, task_key, engine, instance_id, workflow_id, \
        workflow_name, task_id, task_name, status, trigger_type, attempt, duration, tries, at, created_at, \
        updated_at) VALUES ($1, $2, $3, 'local', 'i', 1, 'w', $4, 't', $5, 'manual', 1, $6, '[]', $7, 1, 1)";
    let values: [Value; 7] = [
        id.into(),
        run_id.into(),
        id.to_string().into(),
        entry.task_id.into(),
        entry.status.as_str().into(),
        entry.duration_ms.into(),
        entry.at_ms.into(),
    ];
    tx.execute(INSERT, &values).await.unwrap();
}

/// Changes an execution, if it is there.
pub async fn update(db: &Db, id: i64, entry: Entry) {
    const UPDATE: &str =
        "UPDATE executions SET task_id = $2, status = $3, duration = $4, at = $5 WHERE id = $1";
    let values: [Value; 5] = [
        id.into(),
        entry.task_id.into(),
        entry.status.as_str().into(),
        entry.duration_ms.into(),
        entry.at_ms.into(),
    ];
    db.execute(UPDATE, &values).await.unwrap();
}

/// All executions, newest first.
pub async fn scan(db: &Db) -> Vec<(i64, Entry)> {
    const SCAN: &str = "SELECT id, task_id, at, status, duration FROM executions ORDER BY id DESC";
    let rows = db.read(SCAN, &[]).await.unwrap();
    let entry = |row: &lakeport_store::Row| {
        let status = Status::named(&row.get::<String>(3).unwrap()).unwrap();
        let (task_id, at_ms) = (row.get(1).unwrap(), row.get(2).unwrap());
        (row.get(0).unwrap(), Entry { task_id, at_ms, status, duration_ms: row.get(4).unwrap() })
    };
    rows.iter().map(entry).collect()
}

/// Packs these blocks, as the worker does.
pub async fn pack_blocks(db: &Db, numbers: &[i64]) {
    let leases = Leases::new(db.clone(), "test".to_owned());
    let lease = leases.claim("execution_blocks", TTL).await.unwrap().expect("it is free");
    pack(db, &lease, numbers).await.unwrap();
}
