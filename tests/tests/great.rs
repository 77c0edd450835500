//! Large catalogues, as in a large warehouse.

use std::thread;
use std::time::Duration;

use lakeport_tests::measure::{forget_peak, peak_bytes, resident_bytes};
use lakeport_tests::{Lake, Warehouse, eventually, on_servers};
use serde_json::{Value, json};

const TABLES: usize = 10_000;
const COLUMNS: usize = 20;
/// Tables that one statement text creates.
const MADE_AT_ONCE: usize = 100;
/// A sync's memory beside the catalogue's search text of each column.
const MEMORY_MAX_BYTES: u64 = 256 * 1024 * 1024;
const COLUMN_MAX_BYTES: u64 = 200;
/// The longest wait for a sync of many tables, on a busy machine.
const LONG: Duration = Duration::from_secs(600);

fn fill(shop: &Warehouse) {
    let columns: Vec<String> = (0..COLUMNS)
        .map(|n| format!("column_{n} {}", if n % 2 == 0 { shop.kind.integer() } else { shop.kind.text() }))
        .collect();
    let (columns, mut session) = (columns.join(", "), shop.session());
    let all: Vec<usize> = (0..TABLES).collect();
    for some in all.chunks(MADE_AT_ONCE) {
        let statements = some.iter().map(|n| format!("CREATE TABLE t_{n:05} ({columns});"));
        session.run(&statements.collect::<String>());
    }
}

/// Syncs it; returns the result and the server's peak memory.
fn read_in(lake: &Lake, path: &str) -> (Value, u64) {
    forget_peak(lake.server.pid()).expect("the server runs");
    lake.server.post(path, &json!({})).data();
    let sync = eventually("the tables are read in", LONG, || {
        Some(lake.server.get(path).data()).filter(|sync| sync["state"] != "running")
    });
    (sync, peak_bytes(lake.server.pid()).expect("the server runs"))
}

/// `new`, `updated` and `missing`.
fn counts(sync: &Value, what: &str) -> [i64; 3] {
    ["new", "updated", "missing"].map(|which| sync[what][which].as_i64().expect("a count"))
}

#[test]
#[ignore = "takes minutes; `cargo xtask test --slow` runs it"]
fn a_large_sync_has_bounded_memory() {
    for (lake, shop) in on_servers() {
        fill(&shop);
        let (all, path) = (TABLES as i64, format!("/api/v1/datasources/{}/sync", shop.source));
        let before = resident_bytes(lake.server.pid()).expect("the server runs");

        let (client, cancelled) = (lake.server.client(), path.clone());
        let waiting = thread::spawn(move || client.post(&cancelled, &json!({})).data());
        eventually("some are done", LONG, || {
            let progress = &lake.server.get(&path).json()["data"]["progress"];
            (progress["tablesDone"].as_i64()? > 0 && progress["tablesTotal"] == all).then_some(())
        });
        let cancelled = lake.server.delete(&path).data();
        waiting.join().expect("an answer");
        let [done, ..] = counts(&cancelled, "tables");
        assert!(0 < done && done < all, "it was in the middle: {cancelled}");

        let (whole, most) = read_in(&lake, &path);
        assert_eq!((&whole["state"], &whole["errors"]), (&json!("success"), &json!([])), "{whole}");
        assert_eq!(
            counts(&whole, "tables"),
            [all - done, 0, 0],
            "what was read before it was cancelled stayed"
        );
        assert_eq!(counts(&whole, "fields"), [(all - done) * COLUMNS as i64, 0, 0]);
        let kept = u64::try_from(all).expect("a count") * COLUMNS as u64 * COLUMN_MAX_BYTES;
        assert!(most < before + MEMORY_MAX_BYTES + kept, "{before} bytes before, {most} meanwhile");

        let newest = || {
            let page = "/api/v1/tables?sortField=updated_at&sortOrder=desc&pageSize=500";
            lake.server.get(page).data()
        };
        let known = newest();
        assert_eq!(known["total"], all);
        let (again, _) = read_in(&lake, &path);
        assert_eq!((counts(&again, "tables"), counts(&again, "fields")), ([0; 3], [0; 3]), "{again}");
        assert_eq!(newest(), known, "nothing was written");
        println!("{:?}: {all} tables, {} MiB before, {} at most", shop.kind, before >> 20, most >> 20);
    }
}
