//! SQL tasks of workflows on PostgreSQL and MariaDB.

use std::time::Instant;

use lakeport_tests::{Kind, eventually, on_servers};

use super::*;

/// The execution of a workflow with one task.
fn ran(lake: &Lake, shop: &Warehouse, sql: &str) -> Value {
    let id = lake.workflow(&format!("w{}", rand_name()));
    lake.task(id, "t", shop.source, sql, [&[], &[]]);
    lake.deploy(id);
    let executions = lake.ended(&lake.execute(id), 1);
    lake.server.get(&format!("/api/v1/executions/{}", executions[0]["id"])).data()
}

fn rand_name() -> u32 {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn endless(kind: Kind) -> &'static str {
    match kind {
        Kind::Mariadb => "SELECT SLEEP(600)",
        _ => "SELECT pg_sleep(600)",
    }
}

/// How many sessions of the server are at work on a statement that waits.
fn waiting(shop: &Warehouse) -> i64 {
    // Other tests have such statements, too: those of its own account.
    let name = &shop.name;
    shop.admin().numbers(&match shop.kind {
        Kind::Mariadb => format!(
            "SELECT count(*) FROM information_schema.processlist \
             WHERE user = '{name}' AND info LIKE 'SELECT SLEEP(600)%'"
        ),
        _ => format!(
            "SELECT count(*) FROM pg_stat_activity \
             WHERE usename = '{name}' AND state = 'active' AND query LIKE 'SELECT pg_sleep(600)%'"
        ),
    })[0]
}

#[test]
fn a_task_of_several_statements_is_one_transaction() {
    for (lake, shop) in on_servers() {
        let (integer, words) = (shop.kind.integer(), shop.kind.text());
        shop.run(&format!(
            "CREATE TABLE a (id {integer}, v {words}); CREATE TABLE b (id {integer}, v {words})"
        ));
        let sql = "INSERT INTO a (id, v) VALUES (1, 'x; y'), (2, 'it''s'); UPDATE a SET v = '$[yyyy-MM-dd]' WHERE id = 2; \
            INSERT INTO b SELECT * FROM a; SELECT count(*) AS rows_of_b FROM b -- the end;";
        let done = ran(&lake, &shop, sql);
        assert_eq!((&done["status"], &done["rowsAffected"]), (&json!("success"), &json!(5)), "{done}");
        let log = text_of(&done);
        assert!(log.contains("statement 3: INSERT, 2 rows changed") && log.contains("rows_of_b"), "{log}");
        assert_eq!(shop.numbers("SELECT count(*) FROM b"), [2]);
        let half =
            ran(&lake, &shop, "INSERT INTO a (id, v) VALUES (3, 'half'); INSERT INTO nobody VALUES (1)");
        assert_eq!(half["status"], "failed", "{half}");
        assert!(text(&half, "errorMessage").contains("nobody"), "{half}");
        assert_eq!(shop.numbers("SELECT count(*) FROM a"), [2], "a task is whole or nothing");
        // A parameter hides nothing.
        for sql in ["SELECT '$[yyyy]'; COMMIT", "INSERT INTO a (id, v) VALUES (9, '$[yyyy]'); ROLLBACK"] {
            let id = lake.workflow(sql);
            lake.task(id, "t", shop.source, sql, [&[], &[]]);
            let never = lake.server.post(&format!("/api/v1/workflows/{id}/publish"), &json!({}));
            assert_eq!((never.status, never.error().as_str()), (409, "cannot_run"), "{sql}: {never:?}");
            assert!(never.message().contains("is refused"), "{never:?}");
        }
        let made = ran(&lake, &shop, "CREATE TABLE c (id INT); INSERT INTO c (id) VALUES (1)");
        assert_eq!(made["status"], "success", "{made}");
        assert_eq!(shop.numbers("SELECT id FROM c"), [1]);
        let says = text_of(&made).contains("the database keeps this, and all before it, at once");
        assert_eq!(says, shop.kind == Kind::Mariadb, "{made}");
    }
}

fn text_of(execution: &Value) -> String {
    text(&execution["log"], "text").to_owned()
}

#[test]
fn a_value_stays_a_value_on_every_server() {
    for (lake, shop) in on_servers() {
        shop.run(&format!("CREATE TABLE a (v {})", shop.kind.text()));
        let id = lake.workflow("w");
        let hostile = r"x'); DROP TABLE a; -- \'";
        let form = json!({ "globalParams": [{ "name": "p", "value": hostile }] });
        lake.server.put(&format!("/api/v1/workflows/{id}"), &form).data();
        lake.task(id, "t", shop.source, "INSERT INTO a (v) VALUES ('${p}')", [&[], &[]]);
        lake.deploy(id);
        let run = lake.ended(&lake.execute(id), 1);
        assert_eq!(run[0]["status"], "success", "{run:?}");
        assert_eq!(shop.texts("SELECT v FROM a"), [hostile]);
    }
}

#[test]
fn a_timeout_and_a_cancellation_end_the_query_in_the_database() {
    for (lake, shop) in on_servers() {
        let id = lake.workflow("w");
        let form = json!({ "task": { "workflowId": id, "taskName": "t", "taskType": "SQL", "datasourceId": shop.source,
            "sqlContent": endless(shop.kind), "timeout": 1 } });
        lake.server.post("/api/v1/tasks", &form).data();
        lake.deploy(id);
        let late = lake.ended(&lake.execute(id), 1);
        assert_eq!(late[0]["status"], "failed", "{late:?}");
        assert!(text(&late[0], "errorMessage").contains("timeout of 1 s"), "{late:?}");
        eventually("the query has ended", SOON, || (waiting(&shop) == 0).then_some(()));
        let id = lake.workflow("endless");
        lake.task(id, "t", shop.source, endless(shop.kind), [&[], &[]]);
        lake.deploy(id);
        lake.execute(id);
        eventually("the query runs", SOON, || (waiting(&shop) == 1).then_some(()));
        let running = eventually("it is recorded", SOON, || {
            let running = lake.server.get("/api/v1/executions/running").data();
            (!list(&running).is_empty()).then_some(running)
        });
        let begun = Instant::now();
        let killed = lake.server.post(&format!("/api/v1/executions/{}/cancel", running[0]["id"]), &json!({}));
        println!("cancelled within {:?}", begun.elapsed());
        assert_eq!(killed.data()["status"], "killed");
        eventually("the query has ended", SOON, || (waiting(&shop) == 0).then_some(()));
    }
}

/// PostgreSQL says whether the transaction that was noted before its commit has committed; MariaDB keeps what is prepared.
/// What a task has used is logged once, whichever server finds that it has succeeded.
#[test]
fn a_kill_around_a_commit_doubles_nothing() {
    for (mut lake, shop) in on_servers() {
        shop.run(&format!("CREATE TABLE a (v {})", shop.kind.text()));
        lake.read_in(shop.source);
        let mut ran = 0;
        let prepares = shop.kind == Kind::Mariadb;
        let points = [
            ("runner.task_marked", 2, true),
            ("runner.task_prepared", 2, true),
            ("runner.task_noted", 1, prepares),
            ("runner.task_ran", 1, true),
        ];
        for (point, attempts, _) in points.into_iter().filter(|&(_, _, is_reached)| is_reached) {
            let id = lake.workflow(point);
            lake.task(id, "t", shop.source, "INSERT INTO a (v) VALUES ('x'), ('y')", [&[], &[]]);
            lake.deploy(id);
            let execute = format!("/api/v1/workflows/{id}/execute");
            lake.server.killed_at(point, |client| _ = client.try_send("POST", &execute, &[], b""));
            let done = eventually("it has run", TAKEN_OVER, || {
                let page = lake.server.get("/api/v1/executions/history").data();
                let newest = page["records"][0].clone();
                (newest["workflowId"] == id && newest["status"] == "success").then_some(newest)
            });
            assert_eq!(
                (&done["attempt"], &done["rowsAffected"]),
                (&json!(attempts), &json!(2)),
                "{point}: {done}"
            );
            assert_eq!(shop.numbers("SELECT count(*) FROM a"), [2], "{point}: once");
            ran += 1;
            let logged = lake.server.numbers("SELECT count(*) FROM query_log WHERE access = 'written'");
            assert_eq!(logged, [ran], "{point}");
            // What was left prepared would hold its locks.
            shop.run("DELETE FROM a");
        }
    }
}

/// What one database knows of a transaction says nothing of a task on another one: it is neither done there, nor done again.
#[test]
fn the_outcome_of_a_task_whose_data_source_moved_is_not_known() {
    for (mut lake, shop) in on_servers() {
        let other = lake.warehouse(shop.kind);
        for shop in [&shop, &other] {
            shop.run(&format!("CREATE TABLE a (v {})", shop.kind.text()));
        }
        let id = lake.workflow("moves");
        lake.task(id, "t", shop.source, "INSERT INTO a (v) VALUES ('x')", [&[], &[]]);
        lake.deploy(id);
        let execute = format!("/api/v1/workflows/{id}/execute");
        let (from, to) = (shop.source, other.source);
        lake.server.dies_at("runner.task_ran", |client| _ = client.try_send("POST", &execute, &[], b""));
        lake.server.execute(&format!(
            "UPDATE datasources SET url = (SELECT url FROM datasources WHERE id = {to}) || '?' WHERE id = {from}"
        ));
        lake.server.run();
        let log = "its outcome is not known here";
        eventually("the new place was asked", TAKEN_OVER, || lake.server.log().contains(log).then_some(()));
        let open = eventually("it is recorded", TAKEN_OVER, || newest(&lake, id));
        assert_eq!(open["status"], "running", "it is neither done nor begun again: {open}");
        let run = open["instanceId"].as_str().expect("an id");
        ends_as_unknown(&lake, id, run);
        assert_eq!(shop.numbers("SELECT count(*) FROM a"), [1]);
        assert_eq!(other.numbers("SELECT count(*) FROM a"), [0]);
    }
}

/// Kills the server. Its leases count as expired.
fn kill(lake: &mut Lake) {
    lake.server.kill();
    lake.server.execute("UPDATE leases SET expires_at = 0 WHERE expires_at > 0");
}

fn newest(lake: &Lake, workflow: i64) -> Option<Value> {
    let page = lake.server.get("/api/v1/executions/history").data();
    list(&page["records"]).iter().find(|record| record["workflowId"] == workflow).cloned()
}

/// Cancels a run whose task has an outcome that is not known.
fn ends_as_unknown(lake: &Lake, workflow: i64, run: &str) {
    lake.server.post(&format!("/api/v1/workflows/{workflow}/runs/{run}/cancel"), &json!({})).data();
    let ended = eventually("its run ends", TAKEN_OVER, || {
        newest(lake, workflow).filter(|newest| newest["status"] == "killed")
    });
    let message = text(&ended, "errorMessage");
    assert!(message.contains("its outcome in the data source is not known"), "{ended}");
}

/// MariaDB goes on with a statement whose client is gone, and PostgreSQL for two seconds.
#[test]
fn a_task_that_runs_again_has_one_session() {
    for (mut lake, shop) in on_servers() {
        let id = lake.workflow("w");
        lake.task(id, "t", shop.source, endless(shop.kind), [&[], &[]]);
        lake.deploy(id);
        lake.execute(id);
        eventually("the query runs", SOON, || (waiting(&shop) == 1).then_some(()));
        kill(&mut lake);
        lake.server.run();
        let again = eventually("it runs again", TAKEN_OVER, || {
            let sessions = waiting(&shop);
            assert!(sessions <= 1, "{sessions} sessions of one task");
            newest(&lake, id).filter(|newest| newest["attempt"] == 2 && sessions == 1)
        });
        let killed = lake.server.post(&format!("/api/v1/executions/{}/cancel", again["id"]), &json!({}));
        assert_eq!(killed.data()["status"], "killed");
        eventually("the query has ended", SOON, || (waiting(&shop) == 0).then_some(()));
    }
}

/// A data source that does not answer keeps neither other runs waiting, nor its own run from being stopped.
#[test]
fn a_silent_data_source_holds_nothing_up() {
    for (mut lake, shop) in on_servers() {
        let id = lake.workflow("w");
        lake.task(id, "t", shop.source, endless(shop.kind), [&[], &[]]);
        lake.deploy(id);
        let run = lake.execute(id);
        eventually("the query runs", SOON, || (waiting(&shop) == 1).then_some(()));
        eventually("it is recorded", SOON, || newest(&lake, id));
        let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let place = silent.local_addr().expect("an address").to_string();
        let elsewhere = json!({ "url": shop.url_as(&shop.name, lakeport_tests::PASSWORD, Some(&place)) });
        lake.server.put(&format!("/api/v1/datasources/{}", shop.source), &elsewhere).data();
        kill(&mut lake);
        lake.server.run();
        let file = lake.warehouse(Kind::Sqlite);
        let other = lake.workflow("other");
        lake.task(other, "t", file.source, "SELECT 1", [&[], &[]]);
        lake.deploy(other);
        let done = lake.ended(&lake.execute(other), 1);
        assert_eq!(done[0]["status"], "success", "{done:?}");
        let open = lake.server.get(&format!("/api/v1/workflows/{id}/runs/{run}")).data();
        assert_eq!(open["status"], "running", "it is not known: {open}");
        ends_as_unknown(&lake, id, &run);
    }
}

/// A database that was restored to an earlier time knows no transactions of later ones.
#[test]
fn a_transaction_that_the_database_never_had_is_done_again() {
    for (mut lake, shop) in on_servers().filter(|(_, shop)| shop.kind == Kind::Postgres) {
        shop.run("CREATE TABLE a (v text)");
        let id = lake.workflow("w");
        lake.task(id, "t", shop.source, "INSERT INTO a (v) VALUES ('x')", [&[], &[]]);
        lake.deploy(id);
        lake.server.stop();
        lake.server.set("LAKEPORT_KILL_AT", "runner.task_marked");
        lake.server.run();
        let _ = lake.server.client().try_send("POST", &format!("/api/v1/workflows/{id}/execute"), &[], b"");
        assert!(lake.server.wait(SOON).is_some(), "it is killed");
        lake.server.set("LAKEPORT_KILL_AT", "");
        kill(&mut lake);
        let later = "{\"transaction\":\"99999";
        lake.server.execute(&format!(
            "UPDATE runner_task_runs SET mark = replace(mark, '{{\"transaction\":\"', '{later}')"
        ));
        lake.server.run();
        let done = eventually("it is done again", TAKEN_OVER, || {
            newest(&lake, id).filter(|newest| newest["status"] == "success")
        });
        assert_eq!(done["attempt"], 2, "{done}");
        assert_eq!(shop.numbers("SELECT count(*) FROM a"), [1]);
    }
}

#[test]
fn what_a_task_reads_and_writes_is_recorded() {
    for (lake, shop) in on_servers() {
        let fields = [("id", shop.kind.integer()), ("v", shop.kind.text())];
        let a = lake.physical_table_of(&shop, "a", &fields);
        let b = lake.physical_table_of(&shop, "b", &fields);
        shop.run("INSERT INTO a (id, v) VALUES (1, 'x')");
        let id = lake.workflow("w");
        let form = json!({ "task": { "workflowId": id, "taskName": "t", "taskType": "SQL", "datasourceId": shop.source,
            "sqlContent": "INSERT INTO b SELECT * FROM a" } });
        let task = lake.server.post("/api/v1/tasks", &form).data();
        assert_eq!((&task["inputTableIds"], &task["outputTableIds"]), (&json!([a]), &json!([b])), "{task}");
        lake.deploy(id);
        assert_eq!(lake.ended(&lake.execute(id), 1)[0]["rowsAffected"], 1);
        let access = lake.server.get(&format!("/api/v1/tables/{a}/access-stats")).data();
        assert!(access["accessCount"].as_i64().is_some_and(|count| count >= 1), "{access}");
        assert!(list(&access["topUsers"]).iter().any(|user| user["user"] == "workflow w"), "{access}");
        for (table, access) in [(a, "read"), (b, "written")] {
            let logged = format!(
                "SELECT count(*) FROM query_log WHERE table_id = {table} AND access = '{access}' \
                 AND asked_by = 'workflow w'"
            );
            assert_eq!(lake.server.numbers(&logged), [1], "{access}");
        }
    }
}
