//! The server is killed once at every named point of its code (`failpoints::reach`). What belongs to running workflows and
//! has no test beside its subject is killed here; the effects in the data sources are counted (contract, section 3.4).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use lakeport_tests::{Kind, Lake, Noting, Webhook, effects_survive_points, eventually, stores, workspace};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(30);
/// Longer than a lease.
const TAKEN_OVER: Duration = Duration::from_secs(60);
/// From the claim of a task to the end of its run, each in the middle of a run.
const OF_TASKS: [&str; 6] = [
    "runner.task_claimed#2",
    "runner.task_marked#2",
    "runner.task_prepared#2",
    "runner.task_ran#2",
    "runner.task_recorded#2",
    "runner.run_ended",
];

/// All Rust files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of the workspace");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let files = paths.flat_map(|path| match path.is_dir() {
        true => sources(&path),
        false => vec![path],
    });
    files.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn a_test_kills_at_every_point() {
    let mut points: BTreeMap<String, PathBuf> = BTreeMap::new();
    for path in sources(&workspace().join("host")) {
        for after in read(&path).split("failpoints::reach(").skip(1) {
            let name = after.strip_prefix('"').and_then(|after| after.split('"').next());
            let name = name.unwrap_or_else(|| panic!("{}: name the point by a literal", path.display()));
            points.insert(name.to_owned(), path.clone());
        }
    }
    assert!(points.len() >= 30, "the search finds them: {points:?}");
    let tests: Vec<PathBuf> = ["tests/tests", "tests/src", "tests/engines"]
        .into_iter()
        .flat_map(|folder| sources(&workspace().join(folder)))
        .collect();
    let kills = |text: &String| {
        text.contains("LAKEPORT_KILL_AT")
            || text.contains("effects_survive_points")
            || text.contains("killed_at(")
    };
    let texts: Vec<String> = tests.iter().map(|path| read(path)).filter(kills).collect();
    points.retain(|name, _| {
        let names = [format!("\"{name}\""), format!("\"{name}#")];
        !texts.iter().any(|text| names.iter().any(|name| text.contains(name)))
    });
    assert!(points.is_empty(), "no test kills the server there: {points:?}");
}

#[test]
fn a_kill_around_a_task_doubles_nothing_on_sqlite() {
    for store in stores() {
        effects_survive_points(&store, Kind::Sqlite, &OF_TASKS);
    }
}

#[test]
fn a_kill_around_a_task_doubles_nothing_on_postgres() {
    if Kind::servers().contains(&Kind::Postgres) {
        for store in stores() {
            effects_survive_points(&store, Kind::Postgres, &OF_TASKS);
        }
    }
}

#[test]
fn a_kill_around_a_task_doubles_nothing_on_mariadb() {
    if Kind::servers().contains(&Kind::Mariadb) {
        for store in stores() {
            // Only here it is noted that a transaction is prepared.
            let points = [&OF_TASKS[..], &["runner.task_noted#2"]].concat();
            effects_survive_points(&store, Kind::Mariadb, &points);
        }
    }
}

/// The schedule fires every second, also while the server is killed and started.
#[test]
fn a_kill_loses_and_doubles_no_scheduled_run() {
    for store in stores() {
        let mut lake = Lake::prepare(&store);
        let webhook = Webhook::start(0);
        lake.server.set("LAKEPORT_ALERTS_WEBHOOK", webhook.url());
        lake.server.run();
        let noting = Noting::new(&lake, Kind::Sqlite);
        let schedule = format!("{}/schedule", noting.path());
        let form = json!({ "crontab": "* * * * * ? *", "timezone": "UTC", "warningType": "ALL" });
        lake.server.put(&schedule, &form).data();
        lake.server.post(&format!("{schedule}/online"), &json!({})).data();
        for point in ["runner.fired", "runner.run_ended", "alerts.sent"] {
            // A time that has come while it was stopped is fired before it says that it listens.
            lake.server.dies_at_start(point);
            lake.server.run();
        }
        lake.server.post(&format!("{schedule}/offline"), &json!({})).data();
        let count = noting.check(&lake, "killed around a schedule");
        assert!(count >= 3, "{count} runs");
        let runs = || lake.server.get(&format!("{}/runs?pageSize=500", noting.path())).data();
        let texts = |page: &Value, member: &str| -> BTreeSet<String> {
            let runs = page["records"].as_array().expect("runs").iter();
            runs.filter_map(|run| Some(run[member].as_str()?.to_owned())).collect()
        };
        // The last run is listed a moment after the schedule has begun it. The same alert may come twice.
        let page = eventually("every run is warned of", SOON, || {
            let (page, got) = (runs(), webhook.got());
            let warned = got.iter().map(|alert| alert["instanceId"].as_str().expect("a text").to_owned());
            (warned.collect::<BTreeSet<String>>() == texts(&page, "instanceId")).then_some(page)
        });
        let listed = page["records"].as_array().expect("runs").len();
        let told = ["instanceId", "scheduleTime"].map(|member| texts(&page, member).len());
        assert_eq!(told, [listed; 2], "each run and each time once: {page}");
    }
}

#[test]
fn a_kill_at_the_claim_of_a_lease_loses_no_run() {
    for store in stores() {
        let mut lake = Lake::start(&store);
        let noting = Noting::new(&lake, Kind::Sqlite);
        for point in ["leases.claimed", "leases.claimed#3"] {
            assert!((0..2).all(|_| noting.ask(&lake.server.client())));
            lake.server.kill();
            lake.server.execute("UPDATE leases SET expires_at = 0 WHERE expires_at > 0");
            lake.server.dies_at_start(point);
            lake.server.run();
        }
        assert_eq!(noting.check(&lake, "killed at the claim of a lease"), 4);
    }
}

#[test]
fn a_kill_within_a_publication_or_sync_heals() {
    for store in stores() {
        let mut lake = Lake::start(&store);
        let noting = Noting::new(&lake, Kind::Sqlite);
        for point in ["publication.claimed", "publication.ended"] {
            lake.server.put(&noting.path(), &json!({ "description": point })).data();
            let publish = format!("{}/publish", noting.path());
            let record = lake.server.post(&publish, &json!({})).data()["recordId"].clone();
            let approve = format!("{publish}/{record}/approve");
            let body = json!({ "status": "APPROVED" }).to_string();
            lake.server.killed_at(point, |client| {
                _ = client.try_send("POST", &approve, &[], body.as_bytes());
            });
            eventually("it is published", TAKEN_OVER, || {
                (lake.server.get(&noting.path()).data()["publishStatus"] == "published").then_some(())
            });
        }
        let sync = format!("/api/v1/datasources/{}/sync", noting.shop.source);
        lake.server.killed_at("sync.ended", |client| _ = client.try_send("POST", &sync, &[], b"{}"));
        let ended = lake.server.get(&sync).data();
        assert_eq!((&ended["state"], &ended["tables"]["new"]), (&json!("success"), &json!(1)), "{ended}");
        noting.ask(&lake.server.client());
        assert_eq!(noting.check(&lake, "after the kills"), 1);
    }
}
