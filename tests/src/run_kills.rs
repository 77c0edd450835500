//! Runs of workflows under a server that is killed: at random moments, or once at each named point. Their effects in the
//! data sources are counted.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::{Client, Kind, Lake, Store, Warehouse};

/// Tasks of one run: so many chains, each so long.
const CHAINS: usize = 3;
const LENGTH: usize = 4;
/// A kill comes at most so many milliseconds after the starts.
const MOMENT_MAX_MS: u64 = 400;
/// A task is lost if for so long no effect is added, although not all runs have ended.
const STILL_MAX: Duration = Duration::from_secs(120);
/// The longest time that a slow machine may take for all of them.
const ENDED_MAX: Duration = Duration::from_secs(15 * 60);
/// The interval of looking whether all have ended, which costs the server something.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);
/// Runs that a failed check shows.
const LEFT_SHOWN: usize = 5;
/// Gives the moments of an earlier run back.
const SEED: &str = "LAKEPORT_TEST_SEED";

/// A workflow of short tasks, each of which notes its run and its name.
pub struct Noting {
    pub shop: Warehouse,
    pub workflow: i64,
}

impl Noting {
    /// A data source of this kind on which a kill doubles nothing, and a deployed workflow.
    pub fn new(lake: &Lake, kind: Kind) -> Noting {
        let shop = lake.warehouse(kind);
        if kind == Kind::Sqlite {
            let form = json!({ "options": { "taskTable": true } });
            lake.server.put(&format!("/api/v1/datasources/{}", shop.source), &form).data();
        }
        shop.run(&format!("CREATE TABLE noted (run {}, task {})", kind.integer(), kind.text()));
        let workflow = lake.workflow(&format!("on {}", kind.dialect()));
        for chain in 0..CHAINS {
            let mut before = None;
            for place in 0..LENGTH {
                let name = format!("t{chain}_{place}");
                let after = lake.table_of(&shop, &name, &[("id", kind.integer())]);
                let sql = "INSERT INTO noted (run, task) VALUES (${system.workflow.instance.id}, '${system.task.definition.name}')";
                let inputs: Vec<i64> = before.into_iter().collect();
                lake.task(workflow, &name, shop.source, sql, [&inputs, &[after]]);
                before = Some(after);
            }
        }
        lake.deploy(workflow);
        Noting { shop, workflow }
    }

    pub fn path(&self) -> String {
        format!("/api/v1/workflows/{}", self.workflow)
    }

    /// Asks for a run; the server may be killed before it answers. True: it was accepted.
    pub fn ask(&self, client: &Client) -> bool {
        let answer = client.try_send("POST", &format!("{}/execute", self.path()), &[], b"{}");
        answer.is_ok_and(|answer| answer.status == 200)
    }

    /// The number of its runs, if all have ended well.
    fn runs(&self, lake: &Lake) -> Option<usize> {
        let page = lake.server.get(&format!("{}/runs?pageSize=500", self.path())).data();
        let runs = page["records"].as_array()?;
        // One that was asked for and never reached the engine has no instance.
        let begun: Vec<_> = runs.iter().filter(|run| run["instanceId"].is_string()).collect();
        let is_open = runs.iter().any(|run| run["endTime"].is_null());
        (!is_open && begun.iter().all(|run| run["status"] == "success")).then_some(begun.len())
    }

    /// The runs that have not ended well, with the tasks of the first ones that have not.
    fn left(&self, lake: &Lake) -> String {
        let page = lake.server.get(&format!("{}/runs?pageSize=500", self.path())).data();
        let all = page["records"].as_array().expect("runs").clone();
        let bad: Vec<&Value> = all.iter().filter(|run| run["status"] != "success").collect();
        let mut told = format!("{} of {} runs: ", bad.len(), all.len());
        for run in bad.iter().filter(|run| run["instanceId"].is_string()).take(LEFT_SHOWN) {
            let id = run["instanceId"].as_str().unwrap_or_default();
            let detail = lake.server.get(&format!("{}/runs/{id}", self.path())).data();
            let tasks = detail["tasks"].as_array().expect("tasks").iter();
            let bad = tasks.filter(|task| task["state"] != "success").map(|task| {
                format!("{} {} {}", task["taskName"], task["state"], task["execution"]["errorMessage"])
            });
            let bad: Vec<String> = bad.collect();
            told.push_str(&format!("{id} {} {}: [{}]; ", run["status"], run["errorMessage"], bad.join(", ")));
        }
        told
    }

    /// Waits until all runs have ended well, and checks that each task of each has its effect, once; returns the number of
    /// runs.
    pub fn check(&self, lake: &Lake, when: &str) -> usize {
        let kind = self.shop.kind.dialect();
        let count = |query: &str| usize::try_from(self.shop.numbers(query)[0]).expect("a count");
        let distinct = || count("SELECT count(*) FROM (SELECT DISTINCT run, task FROM noted) AS d");
        // A run that a schedule has begun is listed a moment later.
        let deadline = Instant::now() + ENDED_MAX;
        let (mut effects, mut changed) = (0, Instant::now());
        let runs = loop {
            let ended = self.runs(lake);
            let found = distinct();
            if let Some(runs) = ended.filter(|runs| found == runs * CHAINS * LENGTH) {
                break runs;
            }
            if found != effects {
                (effects, changed) = (found, Instant::now());
            }
            let is_late = changed.elapsed() > STILL_MAX || Instant::now() > deadline;
            assert!(
                !is_late,
                "{when}: a task is lost on {kind}, or late: {effects} effects; {}",
                self.left(lake)
            );
            std::thread::sleep(LOOK_INTERVAL);
        };
        let more = count("SELECT count(*) FROM noted") - distinct();
        eprintln!("{kind}: {runs} runs, {} tasks, {more} more effects", runs * CHAINS * LENGTH);
        assert_eq!(more, 0, "{when}: effects twice on {kind}");
        runs
    }
}

/// Kills a server so many times at random moments while it runs workflows on every kind of data source. Each task of each
/// run has its effect, once.
pub fn effects_survive(store: &Store, kills: usize) {
    let given = std::env::var(SEED).ok().map(|seed| seed.parse().expect("LAKEPORT_TEST_SEED is a number"));
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |now| now.as_nanos() as u64);
    let seed: u64 = given.unwrap_or_else(now) | 1;
    let named = format!("{SEED}={seed}");
    eprintln!("the moments of the kills: {named}");
    let mut state = seed;
    let mut random = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let mut lake = Lake::start(store);
    let all: Vec<Noting> = Kind::all().into_iter().map(|kind| Noting::new(&lake, kind)).collect();
    let mut accepted = vec![0; all.len()];
    for _ in 0..kills {
        for (noting, accepted) in all.iter().zip(&mut accepted) {
            *accepted += usize::from(noting.ask(&lake.server.client()));
        }
        std::thread::sleep(Duration::from_millis(random(MOMENT_MAX_MS)));
        lake.server.kill();
        // Expires them: on PostgreSQL another server might hold them.
        lake.server.execute("UPDATE leases SET expires_at = 0 WHERE expires_at > 0");
        lake.server.run();
    }
    for (noting, accepted) in all.iter().zip(accepted) {
        assert!(accepted > 0, "{named}: no run was accepted");
        let runs = noting.check(&lake, &named);
        assert!(runs >= accepted, "{named}: of {accepted} accepted runs {runs} are left");
    }
}

/// Kills a server once at each of these points while it runs a workflow on a data source of this kind. No run is lost, and
/// each task of each has its effect, once.
pub fn effects_survive_points(store: &Store, kind: Kind, points: &[&str]) {
    let mut lake = Lake::start(store);
    let noting = Noting::new(&lake, kind);
    for (before, point) in points.iter().enumerate() {
        lake.server.killed_at(point, |client| _ = noting.ask(client));
        assert_eq!(noting.check(&lake, point), before + 1, "{point}: no run is lost");
    }
}
