//! A server is killed repeatedly at random times while it changes tables in three kinds of database at once:
//! each change is made or not made afterwards, and the catalogue agrees.

use std::thread;
use std::time::{Duration, Instant};

use lakeport_tests::{Away, Kind, Lake, Noting, Relay, Store, Warehouse, eventually, refused, stores};
use serde_json::{Value, json};

/// Kills while tables are changed, and while workflows run.
const KILLS: u64 = 200;
const RUN_KILLS: usize = 200;
/// Tables of each database: so many changes are running, or waiting, at a kill.
const TABLES: usize = 12;
/// Runs of each data source that are asked for before the store is away.
const ASKED: usize = 4;
/// The longest time between the requests and the kill.
const MOMENT_MAX_MS: u64 = 1_500;
/// Longer than a lease plus a look at each database.
const SETTLED_MAX: Duration = Duration::from_secs(120);

/// A table of a database, by its id.
struct Changed<'s> {
    shop: &'s Warehouse,
    id: i64,
}

impl Changed<'_> {
    fn path(&self) -> String {
        format!("/api/v1/tables/{}", self.id)
    }

    fn fields(&self, lake: &Lake) -> Vec<Value> {
        let fields = lake.server.get(&format!("{}/fields", self.path())).data();
        fields.as_array().expect("fields").clone()
    }

    /// Adds a field; renames the last one, or the table; changes a comment; drops a field.
    fn change(&self, lake: &Lake, number: u64) -> (&'static str, String, Value) {
        let (path, kind) = (self.path(), self.shop.kind);
        let last = self.fields(lake).pop().expect("it has fields");
        let field = format!("{path}/fields/{}", last["id"]);
        match (number + self.id.unsigned_abs()) % 5 {
            0 => ("PUT", path, json!({ "tableName": format!("t_{}_{number}", self.id) })),
            1 if last["isPrimaryKey"] == false => ("DELETE", field, json!({})),
            2 if last["isPrimaryKey"] == false => {
                ("PUT", field, json!({ "fieldName": format!("renamed_{number}") }))
            }
            3 => ("PUT", path, json!({ "tableComment": format!("number {number}") })),
            _ => {
                let form = json!({ "fieldName": format!("more_{number}"), "fieldType": kind.text() });
                ("POST", format!("{path}/fields"), form)
            }
        }
    }

    /// Checks that the catalogue matches the database.
    fn agrees(&self, lake: &Lake) {
        let table = lake.server.get(&self.path()).data();
        let name = table["tableName"].as_str().expect("a name");
        let fields = self.fields(lake);
        let fields: Vec<&str> = fields.iter().filter_map(|field| field["fieldName"].as_str()).collect();
        assert_eq!(fields, self.shop.columns(name), "{:?}: {table}", self.shop.kind);
        assert_eq!((&table["physical"], &table["drift"]), (&json!(true), &json!([])), "{table}");
    }

    fn is_settled(&self, lake: &Lake) -> bool {
        let changes = lake.server.get(&format!("{}/changes", self.path())).data();
        changes.as_array().expect("changes").iter().all(|change| change["state"] != "running")
    }
}

#[test]
#[ignore = "takes minutes; `cargo xtask test --slow` runs it"]
fn a_killed_server_leaves_a_consistent_catalogue() {
    for store in stores() {
        let mut lake = Lake::start(&store);
        let shops: Vec<Warehouse> = Kind::all().into_iter().map(|kind| lake.warehouse(kind)).collect();
        let mut tables = Vec::new();
        for shop in &shops {
            for number in 0..TABLES {
                let fields = [("id", shop.kind.integer()), ("note", shop.kind.text())];
                let id = lake.physical_table_of(shop, &format!("t_{number}"), &fields);
                tables.push(Changed { shop, id });
            }
        }
        let (mut done, mut asked) = (0, 0);
        for kill in 0..KILLS {
            let forms: Vec<_> = tables.iter().map(|table| table.change(&lake, kill)).collect();
            let asking: Vec<_> = forms
                .into_iter()
                .map(|(method, path, form)| {
                    let client = lake.server.client();
                    thread::spawn(move || client.try_send(method, &path, &[], form.to_string().as_bytes()))
                })
                .collect();
            // Spread over the whole time, early times more often.
            let moment = Duration::from_millis(MOMENT_MAX_MS * (kill + 1).pow(2) / KILLS.pow(2));
            thread::sleep(moment);
            lake.server.kill();
            for answer in asking {
                let Ok(answer) = answer.join().expect("it does not panic") else { continue };
                // Another change has the name, the lock or the slot.
                assert!(matches!(answer.status, 200 | 409 | 502 | 503), "{answer:?}");
                done += usize::from(answer.status == 200);
            }
            asked += tables.len();
            // Expires them: on PostgreSQL another server might hold them.
            lake.server.execute("UPDATE leases SET expires_at = 0 WHERE expires_at > 0");
            lake.server.run();
            for table in &tables {
                eventually("the change is settled", SETTLED_MAX, || table.is_settled(&lake).then_some(()));
            }
            if kill % 20 == 19 {
                eprintln!("killed after {moment:?}; {done} of {asked} changes were answered before");
            }
            tables.iter().for_each(|table| table.agrees(&lake));
        }
        assert!(0 < done && done < asked, "it was killed in the middle of something");
        for shop in &shops {
            let sync = lake.read_in(shop.source);
            assert_eq!((&sync["state"], &sync["errors"]), (&json!("success"), &json!([])), "{sync}");
            for what in ["tables", "fields"] {
                let found = [&sync[what]["new"], &sync[what]["updated"], &sync[what]["missing"]];
                assert_eq!(found, [0, 0, 0].map(|none| json!(none)).each_ref(), "{:?}: {sync}", shop.kind);
            }
        }
    }
}

#[test]
#[ignore = "takes minutes; `cargo xtask test --slow` runs it"]
fn a_killed_server_loses_no_effect_of_a_run() {
    for store in stores() {
        lakeport_tests::effects_survive(&store, RUN_KILLS);
    }
}

/// Longer than a lease.
const AWAY: Duration = Duration::from_secs(60);
/// A lease, and the time in which a statement is stopped.
const HALTED: Duration = Duration::from_secs(30);

/// The store, a PostgreSQL, is away for a minute while tasks run: it closes all connections, or it does not answer.
#[test]
#[ignore = "takes minutes; `cargo xtask test --slow` runs it"]
fn a_store_that_is_away_loses_and_doubles_nothing() {
    for store in stores().iter().filter(|store| store.is_postgres()) {
        thread::scope(|scope| {
            for how in [Away::Closed, Away::Silent] {
                scope.spawn(move || goes_on_without_its_store(store, how));
            }
        });
    }
}

fn goes_on_without_its_store(store: &Store, how: Away) {
    let mut lake = Lake::prepare(store);
    let mut relay = None;
    lake.server.reach_store_at(|place| relay.insert(Relay::start(place)).address());
    let relay = relay.expect("it was started");
    lake.server.run();
    let all: Vec<Noting> = Kind::all().into_iter().map(|kind| Noting::new(&lake, kind)).collect();
    let shop = lake.warehouse(Kind::Postgres);
    shop.run("CREATE TABLE waits (v text)");
    let id = lake.workflow("waits");
    // Longer than a lease, and than it is waited for its end.
    lake.task(id, "t", shop.source, "INSERT INTO waits SELECT 'x' FROM pg_sleep(35)", [&[], &[]]);
    lake.deploy(id);
    let run = lake.execute(id);
    let works = || {
        let sql = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE usename = '{}' AND query LIKE 'INSERT INTO waits%'",
            shop.name
        );
        shop.admin().numbers(&sql) == [1]
    };
    eventually("the task runs", SETTLED_MAX, || works().then_some(()));
    for noting in all.iter().cycle().take(ASKED * all.len()) {
        assert!(noting.ask(&lake.server.client()));
    }
    relay.take_away(how);
    let begun = Instant::now();
    let ready = || lake.server.get("/health/ready");
    eventually("it says so", HALTED, || (ready().status == 503).then_some(()));
    assert_eq!(lake.server.get("/health/live").status, 200);
    let answer = lake.server.post(&format!("/api/v1/workflows/{id}/execute"), &json!({}));
    refused(&answer, 503, "store_busy");
    eventually("what ran is stopped", HALTED, || (!works()).then_some(()));
    thread::sleep(AWAY.saturating_sub(begun.elapsed()));
    assert_eq!(ready().status, 503);
    relay.bring_back();
    eventually("it is ready by itself", SETTLED_MAX, || (ready().status == 200).then_some(()));
    let ended = lake.ended(&run, 1);
    assert_eq!(ended[0]["status"], "success", "{how:?}: {ended:?}");
    assert_eq!(shop.numbers("SELECT count(*) FROM waits"), [1], "{how:?}");
    for noting in &all {
        assert_eq!(noting.check(&lake, &format!("{how:?}")), ASKED);
    }
}
