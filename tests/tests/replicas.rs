//! Two servers on one PostgreSQL: each follows the other's changes, and continues the work of a dead one.

use std::time::{Duration, Instant};

use lakeport_tests::{
    Kind, Lake, Options, Server, Store, Warehouse, component, eventually, on_servers, stores,
};
use serde_json::{Value, json};

/// A lease of 15 s, 2 s until another server claims it, and time for a busy machine.
const TAKEN_OVER_MAX: Duration = Duration::from_secs(40);
/// A change is followed by every replica within a second; allows time for a busy machine.
const FOLLOWED: Duration = Duration::from_secs(10);

fn postgres() -> Option<Store> {
    stores().into_iter().find(Store::is_postgres)
}

/// Two servers; the first one creates the token that both accept.
fn pair(store: &Store, first: Options<'_>, second: Options<'_>) -> (Server, Server, String) {
    let mut one = Server::prepare(store, first);
    let token = one.token("admin", "root");
    let mut two = one.replica(second);
    one.run();
    two.run();
    (one, two, token)
}

#[test]
fn token_changes_reach_the_other_server() {
    let Some(store) = postgres() else { return };
    let (one, two, token) = pair(&store, Options::default(), Options::default());
    let made = one.client_as(&token).post("/api/v1/tokens", &json!({ "role": "viewer", "name": "v" })).data();
    let viewer = two.client_as(made["token"].as_str().unwrap());
    eventually("it is known", FOLLOWED, || (viewer.get("/api/v1/me").status == 200).then_some(()));
    one.client_as(&token).delete(&format!("/api/v1/tokens/{}", made["id"])).data();
    eventually("it is refused", FOLLOWED, || (viewer.get("/api/v1/me").status == 401).then_some(()));
}

#[test]
fn the_first_token_ends_local_mode_on_every_server() {
    let Some(store) = postgres() else { return };
    let one = Server::start(&store);
    let mut two = one.replica(Options::default());
    two.run();
    assert_eq!(two.get("/api/v1/me").data()["kind"], "local");
    one.post("/api/v1/tokens", &json!({ "role": "admin", "name": "root" })).data();
    eventually("it ends", FOLLOWED, || (two.get("/api/v1/me").status == 401).then_some(()));
}

#[test]
fn a_plugin_activated_on_one_server_answers_on_the_other() {
    let Some(store) = postgres() else { return };
    let (one, two, token) = pair(&store, Options::default(), Options::default());
    let (one, two) = (one.client_as(&token), two.client_as(&token));
    let wasm = [("Content-Type", "application/wasm")];
    let staged = one.send("POST", "/api/v1/plugins", &wasm, &component("greeter_v1")).data();
    let activate = json!({ "digest": staged["digest"] });
    one.post("/api/v1/plugins/greeter/activate", &activate).data();
    let state = || -> Value {
        let answer = two.get("/api/v1/plugins/greeter");
        if answer.status == 200 { answer.data()["state"].clone() } else { Value::Null }
    };
    eventually("it is active there", Duration::from_secs(20), || (state() == "active").then_some(()));
    two.post("/api/v1/plugins/greeter/quarantine", &json!({ "reason": "odd" })).data();
    eventually("it is out of service here", FOLLOWED, || {
        (one.get("/api/v1/plugins/greeter").data()["state"] == "quarantined").then_some(())
    });
}

#[test]
fn committed_changes_of_dead_servers_spread() {
    let Some(store) = postgres() else { return };
    // Dies after the commit, before the other is notified.
    let environment = &[("LAKEPORT_KILL_AT", "changes.committed")];
    let dies = Options { environment, ..Options::default() };
    let mut one = Server::prepare(&store, Options::default());
    let token = one.token("admin", "root");
    let mut two = one.replica(dies);
    one.run();
    two.run();
    let body = json!({ "role": "viewer", "name": "v" }).to_string();
    let key = [("Idempotency-Key", "once")];
    let address = two.address();
    let asked = std::panic::catch_unwind(|| {
        let bearer = format!("Bearer {token}");
        let headers = [("Authorization", bearer.as_str()), key[0], ("Content-Type", "application/json")];
        lakeport_tests::request(address, "POST", "/api/v1/tokens", &headers, body.as_bytes())
    });
    assert!(asked.is_err(), "it died before it answered");
    assert!(two.wait(Duration::from_secs(5)).is_some_and(|status| !status.success()));
    // The same request again, at the living server: executed once, and answered as the first would have been.
    let root = one.client_as(&token);
    let again = root.send("POST", "/api/v1/tokens", &key, body.as_bytes()).data();
    assert_eq!(root.get("/api/v1/tokens").data().as_array().unwrap().len(), 2);
    let viewer = one.client_as(again["token"].as_str().unwrap());
    eventually("its token is known", FOLLOWED, || (viewer.get("/api/v1/me").status == 200).then_some(()));
    let audit = root.get("/api/v1/audit?operation=createToken&actor=root").data();
    assert_eq!(audit["total"], 1, "{audit}");
}

#[test]
fn a_repeat_makes_an_uncommitted_change() {
    let Some(store) = postgres() else { return };
    let environment = &[("LAKEPORT_KILL_AT", "changes.before_commit")];
    let dies = Options { environment, ..Options::default() };
    let mut one = Server::prepare(&store, Options::default());
    let token = one.token("admin", "root");
    let mut two = one.replica(dies);
    one.run();
    two.run();
    let body = json!({ "role": "viewer", "name": "v" }).to_string();
    let key = [("Idempotency-Key", "twice")];
    let address = two.address();
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str()), key[0], ("Content-Type", "application/json")];
    let asked = std::panic::catch_unwind(|| {
        lakeport_tests::request(address, "POST", "/api/v1/tokens", &headers, body.as_bytes())
    });
    assert!(asked.is_err(), "it died before it answered");
    assert!(two.wait(Duration::from_secs(5)).is_some());
    // Before its own deadline: the dead server's lease runs out first.
    let root = one.client_as(&token);
    root.send("POST", "/api/v1/tokens", &key, body.as_bytes()).data();
    assert_eq!(root.get("/api/v1/tokens").data().as_array().unwrap().len(), 2);
}

/// Another server for the same store, which may open the same databases.
fn beside(lake: &Lake) -> Server {
    let roots = lake.files.path().display().to_string();
    let environment = &[
        ("LAKEPORT_SQLITE_ROOTS", roots.as_str()),
        ("LAKEPORT_EGRESS_ALLOW", "127.0.0.1"),
        ("LAKEPORT_TIME_ZONE", "UTC"),
    ];
    let mut other = lake.server.replica(Options { environment, ..Options::default() });
    other.run();
    other
}

/// A deployed workflow of one task; returns its path.
fn workflow(lake: &Lake, shop: &Warehouse, sql: &str, concurrency: &str) -> String {
    let form = json!({ "name": format!("{concurrency} on {}", shop.name), "concurrency": concurrency });
    let id = lakeport_tests::id_of(&lake.server.post("/api/v1/workflows", &form).data());
    lake.task(id, "t", shop.source, sql, [&[], &[]]);
    lake.deploy(id);
    format!("/api/v1/workflows/{id}")
}

#[test]
fn two_servers_share_the_runs() {
    const EACH: usize = 20;
    const NOTE: &str = "INSERT INTO noted VALUES (${system.workflow.instance.id})";
    for (lake, shop) in on_servers().filter(|(lake, _)| lake.server.database_url().is_some()) {
        let other = beside(&lake);
        shop.run(&format!("CREATE TABLE noted (run {})", shop.kind.integer()));
        let paths = ["parallel", "wait"].map(|concurrency| workflow(&lake, &shop, NOTE, concurrency));
        std::thread::scope(|scope| {
            for server in [&lake.server, &other] {
                let paths = &paths;
                scope.spawn(move || {
                    for path in (0..EACH).flat_map(|_| paths) {
                        server.post(&format!("{path}/execute"), &json!({})).data();
                    }
                });
            }
        });
        for path in &paths {
            let all = eventually("all runs end", Duration::from_secs(60), || {
                // Either server answers.
                let page = other.get(&format!("{path}/runs?pageSize=500")).data();
                let runs = page["records"].as_array().expect("a list").clone();
                (!runs.iter().any(|run| run["endTime"].is_null())).then_some(runs)
            });
            assert!(all.iter().all(|run| run["status"] == "success"), "{all:?}");
            assert_eq!(all.len(), 2 * EACH, "{path}");
        }
        let counts =
            shop.numbers("SELECT count(*) FROM noted UNION ALL SELECT count(DISTINCT run) FROM noted");
        assert_eq!(counts, [4 * EACH as i64; 2], "each run once, on {:?}", shop.kind);
        assert_eq!(workers(&lake), 2, "both servers work, on {:?}", shop.kind);
    }
}

/// The servers that runs had.
fn workers(lake: &Lake) -> i64 {
    lake.server.numbers("SELECT count(DISTINCT worker) FROM runner_runs")[0]
}

/// Runs that wait on one server are begun by another one that comes, though a data source has few places on each.
#[test]
fn a_server_that_comes_takes_its_share() {
    const RUNS: usize = 80;
    let Some(store) = postgres() else { return };
    let lake = Lake::start(&store);
    let shop = lake.warehouse(Kind::Postgres);
    let path = workflow(&lake, &shop, "SELECT pg_sleep(1)", "parallel");
    (0..RUNS).for_each(|_| drop(lake.server.post(&format!("{path}/execute"), &json!({})).data()));
    let begun = Instant::now();
    let other = beside(&lake);
    let all = eventually("all runs end", Duration::from_secs(60), || {
        let page = other.get(&format!("{path}/runs?pageSize=500")).data();
        let runs = page["records"].as_array().expect("a list").clone();
        (!runs.iter().any(|run| run["endTime"].is_null())).then_some(runs)
    });
    println!("{RUNS} runs of one second took {:?}", begun.elapsed());
    assert!(all.len() == RUNS && all.iter().all(|run| run["status"] == "success"), "{all:?}");
    let counts = lake.server.numbers("SELECT count(*) FROM runner_runs GROUP BY worker ORDER BY 1");
    assert!(counts.len() == 2 && counts[0] >= 8, "both servers work: {counts:?}");
}

/// The sessions of the data source's account that work on this statement.
fn sessions(shop: &Warehouse, statement: &str) -> Vec<i64> {
    let name = &shop.name;
    shop.admin().numbers(&match shop.kind {
        Kind::Mariadb => format!(
            "SELECT id FROM information_schema.processlist WHERE user = '{name}' AND info LIKE '{statement}%'"
        ),
        _ => format!(
            "SELECT pid FROM pg_stat_activity WHERE usename = '{name}' AND state = 'active' AND query LIKE '{statement}%'"
        ),
    })
}

/// The scheduler's server is killed while databases work on its statements: another one begins the tasks again, after the
/// dead one's sessions are gone.
#[test]
fn a_running_task_is_taken_over() {
    const NOTE: &str = "INSERT INTO noted";
    let Some(store) = postgres() else { return };
    let mut lake = Lake::start(&store);
    let shops: Vec<Warehouse> = Kind::servers().into_iter().map(|kind| lake.warehouse(kind)).collect();
    let mut works: Vec<_> = shops
        .iter()
        .map(|shop| {
            shop.run(&format!("CREATE TABLE noted (task {} PRIMARY KEY)", shop.kind.text()));
            let path = workflow(&lake, shop, &format!("{NOTE} VALUES ('t')"), "parallel");
            // The task waits until it is known whether this row is kept.
            let mut holds = shop.session();
            holds.run("BEGIN");
            holds.run(&format!("{NOTE} VALUES ('t')"));
            let run = lake.server.post(&format!("{path}/execute"), &json!({})).data();
            let first = eventually("the database works on it", Duration::from_secs(20), || {
                sessions(shop, NOTE).first().copied()
            });
            (shop, format!("{path}/runs/{}", run.as_str().expect("an id")), holds, first)
        })
        .collect();
    let other = beside(&lake);
    lake.server.kill();
    // Within a lease, 15 s, and a pause between two attempts to claim it.
    let mut begun = vec![None; works.len()];
    let killed = Instant::now();
    eventually("the other one begins all again", TAKEN_OVER_MAX, || {
        for ((shop, _, _, first), begun) in works.iter().zip(&mut begun) {
            let now = sessions(shop, NOTE);
            assert!(now.len() <= 1, "two sessions of one task on {:?}: {first} and {now:?}", shop.kind);
            *begun = now.first().copied().filter(|now| now != first);
        }
        begun.iter().all(Option::is_some).then_some(())
    });
    println!("taken over within {:?}", killed.elapsed());
    for (shop, run, holds, _) in &mut works {
        holds.run("ROLLBACK");
        let done = eventually("the run ends", Duration::from_secs(20), || {
            Some(other.get(run).data()).filter(|run| run["endTime"].is_string())
        });
        let task = &done["tasks"][0]["execution"];
        assert_eq!((&done["status"], &task["attempt"]), (&json!("success"), &json!(2)), "{done}");
        let log = other.get(&format!("/api/v1/executions/{}", task["id"])).data()["log"]["text"].clone();
        assert!(log.as_str().is_some_and(|log| log.contains("begun again")), "{log}");
        assert_eq!(shop.numbers("SELECT count(*) FROM noted"), [1], "once, on {:?}", shop.kind);
    }
}
