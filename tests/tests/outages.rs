//! Clocks that jump and disks that are full while workflows run: nothing is lost, and nothing is done twice.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lakeport_tests::{Kind, Lake, Machine, Noting, Store, Warehouse, eventually, refused, stores};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(60);
const HOUR_S: i64 = 3_600;
/// Seconds since 1970 of the scheduled time.
const FIRED: &str = "INSERT INTO fired VALUES (unixepoch('$[yyyy-MM-dd HH:mm:ss]'))";
/// Some seconds of work, and then one row.
const SLOW: &str = "INSERT INTO slow WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 4000000) \
    SELECT max(x) FROM n";

/// A SQLite data source on which a kill doubles nothing, with one table.
fn shop(lake: &Lake, table: &str) -> Warehouse {
    let shop = lake.warehouse(Kind::Sqlite);
    let form = json!({ "options": { "taskTable": true } });
    lake.server.put(&format!("/api/v1/datasources/{}", shop.source), &form).data();
    shop.run(&format!("CREATE TABLE {table} (v INTEGER)"));
    shop
}

/// A deployed workflow of one task that is due every second, and off; returns its path.
fn workflow(lake: &Lake, shop: &Warehouse, sql: &str) -> String {
    let id = lake.workflow(&shop.name);
    lake.task(id, "t", shop.source, sql, [&[], &[]]);
    let path = format!("/api/v1/workflows/{id}");
    let form = json!({ "crontab": "* * * * * ? *", "timezone": "UTC" });
    lake.server.put(&format!("{path}/schedule"), &form).data();
    lake.deploy(id);
    path
}

/// Waits until a run has the status `success`.
fn succeeded(lake: &Lake, path: &str, run: &Value) {
    let run = format!("{path}/runs/{}", run.as_str().expect("an id"));
    eventually("the run has succeeded", SOON, || {
        (lake.server.get(&run).data()["status"] == "success").then_some(())
    });
}

/// Backwards and forwards, within a lease, a run, a backfill and a schedule.
#[test]
fn a_clock_that_jumps_doubles_nothing() {
    for store in stores() {
        let mut lake = Lake::prepare(&store);
        let Some(machine) = Machine::under(&mut lake.server) else { return };
        lake.server.run();
        let [fires, works, fills] = ["fired", "slow", "filled"].map(|table| shop(&lake, table));
        let fired = workflow(&lake, &fires, FIRED);
        let slow = workflow(&lake, &works, SLOW);
        let filled = workflow(&lake, &fills, "INSERT INTO filled VALUES ('$[dd]')");
        let execute = |path: &str| lake.server.post(&format!("{path}/execute"), &json!({})).data();
        let seconds = || fires.numbers("SELECT v FROM fired ORDER BY v");
        let fires_after = |after: i64| {
            eventually("the schedule fires", SOON, || seconds().into_iter().rfind(|second| *second > after))
        };
        // A backfill needs a workflow that is online; this one is due in 2090.
        lake.server.put(&format!("{filled}/schedule"), &json!({ "crontab": "0 0 2 1 1 ? 2090" })).data();
        for path in [&fired, &filled] {
            lake.server.post(&format!("{path}/schedule/online"), &json!({})).data();
        }
        let begun = fires_after(0);

        let run = execute(&slow);
        let dates: Vec<String> = (1..=20).map(|day| format!("2026-02-{day:02} 07:30:00")).collect();
        let form = json!({ "mode": "list", "scheduleDateList": dates.join(",") });
        let code = lake.server.post(&format!("{filled}/backfill"), &form).data();
        machine.set_clock(HOUR_S);
        let ahead = fires_after(begun + HOUR_S / 2);
        succeeded(&lake, &slow, &run);

        let run = execute(&slow);
        machine.set_clock(0);
        succeeded(&lake, &slow, &run);
        succeeded(&lake, &slow, &execute(&slow));
        let backfill = format!("/api/v1/backfills/{}", code.as_str().expect("a text"));
        let all = eventually("the backfill ends", SOON, || {
            Some(lake.server.get(&backfill).data()).filter(|all| all["endedAt"].is_string())
        });
        assert_eq!((&all["state"], &all["done"]), (&json!("success"), &json!(20)), "{all}");
        assert_eq!(
            fills.numbers("SELECT v FROM filled ORDER BY v"),
            Vec::from_iter(1..=20),
            "each date once"
        );
        assert_eq!(works.numbers("SELECT count(*) FROM slow"), [3], "each run once");

        let before = seconds();
        machine.set_clock(HOUR_S);
        let last = fires_after(*before.last().expect("it has fired"));
        lake.server.post(&format!("{fired}/schedule/offline"), &json!({})).data();
        let all = seconds();
        let mut once = all.clone();
        once.dedup();
        assert_eq!(all, once, "no time twice: begun {begun}, {ahead} after the jump, {last} at last");
        // What fires in the minute before a jump forwards counts as late, not as missed.
        let missed: Vec<_> =
            all.iter().filter(|at| (begun + 60..begun + HOUR_S - 60).contains(*at)).collect();
        assert!(missed.is_empty(), "what the clock left out is not made up for: {missed:?}");
    }
}

/// Makes every change of the store fail as on a full disk, or no more. The disk of a PostgreSQL that other tests share cannot
/// be full: there, triggers fail.
fn fill(lake: &Lake, machine: &Machine, is_full: bool) {
    let fails =
        if is_full { "RAISE EXCEPTION 'No space left on device' USING ERRCODE = 'disk_full';" } else { "" };
    match lake.server.database_url() {
        None => machine.fill_disk(is_full),
        Some(_) => lake.server.execute(&format!(
            "CREATE OR REPLACE FUNCTION is_full() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN {fails} RETURN NULL; END $$"
        )),
    }
}

/// The triggers on all tables of a PostgreSQL, each in a transaction of its own.
fn watch_changes(lake: &Lake) {
    if lake.server.database_url().is_some() {
        lake.server.execute(
            "DO $$ DECLARE name text; BEGIN FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP \
             EXECUTE format('CREATE TRIGGER is_full BEFORE INSERT OR UPDATE ON %I EXECUTE FUNCTION is_full()', name); \
             COMMIT; END LOOP; END $$",
        );
    }
}

/// A server whose store can be full; none where the machine cannot have one.
fn with_disk(store: &Store) -> Option<(Lake, Machine)> {
    let mut lake = Lake::prepare(store);
    let machine = Machine::under(&mut lake.server)?;
    lake.server.run();
    fill(&lake, &machine, false);
    watch_changes(&lake);
    Some((lake, machine))
}

/// A run whose task has begun.
fn running(lake: &Lake, path: &str) -> Value {
    let run = lake.server.post(&format!("{path}/execute"), &json!({})).data();
    eventually("it runs", SOON, || {
        let running = lake.server.get("/api/v1/executions/running").data();
        (running[0]["status"] == "running").then_some(())
    });
    run
}

#[test]
fn a_full_disk_loses_and_doubles_nothing() {
    for store in stores() {
        let Some((lake, machine)) = with_disk(&store) else { return };
        let works = shop(&lake, "slow");
        let slow = workflow(&lake, &works, SLOW);
        let notings: Vec<Noting> = Kind::all().into_iter().map(|kind| Noting::new(&lake, kind)).collect();
        let run = running(&lake, &slow);
        assert!(notings.iter().all(|noting| noting.ask(&lake.server.client())));
        fill(&lake, &machine, true);
        let answer = lake.server.post("/api/v1/workflows", &json!({ "name": "no room" }));
        refused(&answer, 503, "store_busy");
        assert!(answer.message().contains("disk of the store is full"), "{answer:?}");
        assert_eq!(lake.server.get(&slow).data()["name"], works.name, "reads are answered");
        let execute = lake.server.post(&format!("{slow}/execute"), &json!({}));
        refused(&execute, 503, "store_busy");
        // Long enough for the task to come to its end.
        std::thread::sleep(Duration::from_secs(3));
        assert!(lake.server.log().contains("the disk of the store is full"));
        fill(&lake, &machine, false);
        succeeded(&lake, &slow, &run);
        let page = lake.server.get(&format!("{slow}/runs")).data();
        assert_eq!(page["total"], 1, "the refused run is none: {page}");
        assert_eq!(works.numbers("SELECT count(*) FROM slow"), [1]);
        for noting in &notings {
            assert_eq!(noting.check(&lake, "after the disk was full"), 1);
            assert!(noting.ask(&lake.server.client()));
            assert_eq!(noting.check(&lake, "with room again"), 2);
        }
    }
}

/// Without a mark no data source tells that a task has committed; the server itself knows it, also after its lease.
#[test]
fn a_result_outlives_a_disk_that_is_full_for_long() {
    for store in stores() {
        let Some((lake, machine)) = with_disk(&store) else { return };
        let works = lake.warehouse(Kind::Sqlite);
        works.run("CREATE TABLE slow (v INTEGER)");
        let slow = workflow(&lake, &works, SLOW);
        let run = running(&lake, &slow);
        fill(&lake, &machine, true);
        eventually("the task has committed", SOON, || {
            (works.numbers("SELECT count(*) FROM slow") == [1]).then_some(())
        });
        eventually("the lease of the scheduler runs out", SOON, || {
            let ends = lake
                .server
                .numbers("SELECT expires_at FROM leases WHERE name = 'runner' OR name LIKE 'runner/%'");
            let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later than 1970");
            (u128::try_from(ends[0]).is_ok_and(|end| end < now.as_millis())).then_some(())
        });
        fill(&lake, &machine, false);
        succeeded(&lake, &slow, &run);
        assert_eq!(works.numbers("SELECT count(*) FROM slow"), [1], "it is not done again");
        let executions = lake.server.get("/api/v1/executions/history").data();
        assert_eq!(
            (&executions["total"], &executions["records"][0]["attempt"]),
            (&json!(1), &json!(1)),
            "{executions}"
        );
    }
}
