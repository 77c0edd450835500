//! The same workflow gives the same on `local` and on DolphinScheduler.

use std::collections::BTreeMap;

use lakeport_tests::eventually;
use serde_json::{Value, json};

use crate::pair::{DS, Pair, SOON, states};

/// SQL with values, each of which must reach the database as it stands on `local`. `{o}` is the table for the results.
const BODIES: &[(&str, &str)] = &[
    (
        "in_literal",
        "INSERT INTO {o} VALUES ('in_literal', 'day ${system.biz.date} and $[yyyy-MM-dd-1] it''s')",
    ),
    ("number", "INSERT INTO {o} SELECT 'number', (${num} + 1)::text"),
    ("text", "INSERT INTO {o} VALUES ('text', ${word})"),
    ("date", "INSERT INTO {o} SELECT 'date', (date '${day}' + 1)::text"),
    ("escapes", r"INSERT INTO {o} VALUES ('escapes', E'a\tb ${word} \\ c')"),
    ("dollars", r#"INSERT INTO {o} VALUES ('dollars', $$it's ? {} "x" $$)"#),
    ("arrays", "INSERT INTO {o} SELECT 'arrays', (array[1,2,3])[2]::text"),
    (
        "json",
        r#"INSERT INTO {o} SELECT 'json', ('{"a":1}'::jsonb ? 'a')::text || ('{"a":{"b":2}}'::jsonb #>> '{a,b}')"#,
    ),
    (
        "several",
        "CREATE TEMP TABLE q(x int); INSERT INTO q VALUES (1),(2); INSERT INTO {o} SELECT 'several', sum(x)::text FROM q",
    ),
    ("comment", "/* $x */ INSERT INTO {o} VALUES ('comment', 'a--b') -- it's {}\n"),
    (
        "months",
        "INSERT INTO {o} VALUES ('months', '$[add_months(yyyyMMdd,-1)] $[month_first_day(yyyy-MM-dd,0)] $[yyyyMMdd-7*1] $[week_begin(yyyyMMdd,0)]')",
    ),
    ("unicode", "INSERT INTO {o} VALUES ('unicode', '数据 ${word} é 😀')"),
    ("hostile", "INSERT INTO {o} VALUES ('hostile', ${hostile})"),
    (
        "built_in",
        "INSERT INTO {o} VALUES ('built_in', '${system.biz.curdate} ${system.task.definition.name}')",
    ),
    ("semicolon", "INSERT INTO {o} VALUES ('semicolon', 'a;b')"),
    ("backslash", r"INSERT INTO {o} VALUES ('backslash', 'a\b ${word} \')"),
    ("marks", "INSERT INTO {o} SELECT 'marks', (1 != 2)::text || ' x! :name' || '2'::int::text"),
    ("empty", "INSERT INTO {o} VALUES ('empty', 'x${empty}y')"),
    ("rows", "SELECT 'rows', '${word}' AS w"),
    ("positions", r"INSERT INTO {o} VALUES ('positions', 'cost $5 \1 $1 ${price}')"),
];

#[test]
fn values_reach_the_database_as_they_are() {
    let pair = Pair::start();
    let mut results = Vec::new();
    for engine in ["local", DS] {
        let table = format!("out_{engine}");
        pair.shop.run(&format!("CREATE TABLE {table} (name text, value text)"));
        let task = |(name, sql): &(&str, &str)| {
            json!({ "taskName": name, "taskType": "SQL", "datasource": pair.shop.name,
                "sqlContent": sql.replace("{o}", &table) })
        };
        let param = |(name, value): (&str, &str)| json!({ "name": name, "value": value });
        let params = [
            ("num", "41"),
            ("word", "wo'rd"),
            ("day", "2026-03-01"),
            ("hostile", r"'); DROP TABLE x; -- ${num} $[yyyy] {lp_1} \ ?"),
            ("empty", ""),
            ("price", r"$1 \2 $[x"),
        ];
        let definition = json!({ "workflow": { "globalParams": params.map(param) },
            "tasks": BODIES.iter().map(task).collect::<Vec<_>>() });
        let run = pair.run(pair.deployed(engine, "values", &definition));
        assert_eq!(run["status"], "success", "{engine}: {:?} {run}", states(&run));
        results.push(pair.shop.texts(&format!("SELECT name || ': ' || value FROM {table} ORDER BY name")));
    }
    assert_eq!(results[0].len(), BODIES.len() - 1, "all but the query: {results:#?}");
    assert_eq!(results[0], results[1]);
}

/// Three tasks and one that fails once: `stage` before `small` and `large`, both before `total`.
fn diamond(source: &str) -> Value {
    let task = |name: &str, sql: &str, retries: u32| {
        json!({ "taskName": name, "taskType": "SQL", "datasource": source, "sqlContent": sql, "retryTimes": retries,
            "tablesFromSql": true })
    };
    json!({ "workflow": {}, "tasks": [
        task("stage", "INSERT INTO stage SELECT n, '$[yyyy-MM-dd]' FROM orders", 0),
        task("small", "INSERT INTO small SELECT count(*), day FROM stage WHERE n <= 2 GROUP BY day", 0),
        // Its first try divides by zero.
        task("large", "INSERT INTO large SELECT count(*) / (nextval('tries') - 1), day FROM stage WHERE n > 2 GROUP BY day", 2),
        task("total", "INSERT INTO total SELECT s.n, l.n, s.day FROM small s JOIN large l ON s.day = l.day", 0),
    ] })
}

#[test]
fn a_diamond_gives_the_same_tables_and_executions() {
    let pair = Pair::start();
    let shop = &pair.shop;
    shop.run(
        "CREATE TABLE orders (n bigint); CREATE TABLE stage (n bigint, day text); CREATE TABLE small (n bigint, day text);
         CREATE TABLE large (n bigint, day text); CREATE TABLE total (s bigint, l bigint, day text);
         CREATE SEQUENCE tries; INSERT INTO orders VALUES (1), (2), (3), (4), (5)",
    );
    pair.lake.read_in(shop.source);
    let mut seen = Vec::new();
    for engine in ["local", DS] {
        shop.run("TRUNCATE stage, small, large, total; ALTER SEQUENCE tries RESTART");
        let workflow = pair.deployed(engine, "diamond", &diamond(&shop.name));
        let run = pair.run(workflow);
        assert_eq!(run["status"], "success", "{engine}: {run}");
        let tables = shop.texts("SELECT concat_ws(',', s, l, day) FROM total");
        assert_eq!(shop.numbers("SELECT s FROM total"), [2], "{engine}: {tables:?}");
        seen.push((tables, executions(&run)));
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0].1["large"], ("success".to_owned(), 2), "it failed once: {:?}", seen[0].1);
}

/// Status and number of tries, by task.
fn executions(run: &Value) -> BTreeMap<String, (String, i64)> {
    let tasks = run["tasks"].as_array().expect("tasks");
    let of = |task: &Value| {
        let execution = &task["execution"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (
            text(&task["taskName"]),
            (text(&execution["status"]), execution["attempt"].as_i64().unwrap_or_default()),
        )
    };
    tasks.iter().map(of).collect()
}

#[test]
fn a_backfill_gives_the_same_dates() {
    let pair = Pair::start();
    let mut seen = Vec::new();
    for engine in ["local", DS] {
        let table = format!("days_{engine}");
        pair.shop.run(&format!("CREATE TABLE {table} (day text, biz text)"));
        let sql =
            format!("INSERT INTO {table} VALUES ('$[yyyy-MM-dd HH:mm:ss]', ${{system.biz.date}}::text)");
        let definition = json!({ "workflow": {}, "tasks": [{ "taskName": "day", "taskType": "SQL",
            "datasource": pair.shop.name, "sqlContent": sql }] });
        let workflow = pair.deployed(engine, "backfill", &definition);
        let path = format!("/api/v1/workflows/{workflow}");
        // In 2090, so that the timer adds no run to those that are counted.
        let schedule = json!({ "crontab": "0 0 3 * * ? *", "timezone": "UTC", "startTime": "2090-01-01 00:00:00",
            "endTime": "2099-01-01 00:00:00" });
        pair.server().put(&format!("{path}/schedule"), &schedule).data();
        pair.server().post(&format!("{path}/schedule/online"), &json!({})).data();
        let form = json!({ "mode": "range", "startTime": "2026-02-27 00:00:00", "endTime": "2026-03-02 00:00:00",
            "runMode": "RUN_MODE_PARALLEL", "expectedParallelismNumber": 2, "executionOrder": "ASC_ORDER" });
        pair.server().post(&format!("{path}/backfill"), &form).data();
        let wanted =
            ["2026-02-27 03:00:00 20260226", "2026-02-28 03:00:00 20260227", "2026-03-01 03:00:00 20260228"];
        let query = format!("SELECT day || ' ' || biz FROM {table} ORDER BY day");
        eventually("all dates ran", SOON, || (pair.shop.texts(&query).len() >= wanted.len()).then_some(()));
        assert_eq!(pair.shop.texts(&query), wanted, "{engine}");
        let causes = eventually("the runs are seen to end", SOON, || {
            let runs = pair.server().get(&format!("{path}/runs")).data();
            let of = |run: &Value| {
                let text = |name: &str| run[name].as_str().unwrap_or_default().to_owned();
                (text("scheduleTime"), text("triggerType"), text("status"))
            };
            let mut runs: Vec<_> = runs["records"].as_array().expect("runs").iter().map(of).collect();
            runs.sort();
            runs.iter().all(|(_, _, status)| status == "success").then_some(runs)
        });
        assert_eq!(causes.len(), wanted.len(), "{engine}: {causes:?}");
        pair.server().post(&format!("{path}/schedule/offline"), &json!({})).data();
        seen.push(causes);
    }
    assert_eq!(seen[0], seen[1]);
}

/// Two workflows: the second reads what the first writes. One date fails, and stands between two others.
#[test]
fn a_backfill_keeps_order_dependents_and_strategy() {
    const DATES: [&str; 3] = ["2026-03-01 03:00:00", "2026-02-28 03:00:00", "2026-02-27 03:00:00"];
    let pair = Pair::start();
    let (shop, server) = (&pair.shop, pair.server());
    shop.run("CREATE TABLE staged (id serial, day text); CREATE TABLE summed (id serial, day text)");
    pair.lake.read_in(shop.source);
    let mut seen = Vec::new();
    for engine in ["local", DS] {
        shop.run("TRUNCATE staged, summed RESTART IDENTITY");
        let online = |name: &str, sql: &str| {
            let task = json!({ "taskName": "t", "taskType": "SQL", "datasource": shop.name, "sqlContent": sql,
                "tablesFromSql": true });
            let id = pair.deployed(engine, name, &json!({ "workflow": {}, "tasks": [task] }));
            let path = format!("/api/v1/workflows/{id}");
            let schedule =
                json!({ "crontab": "0 0 3 * * ? *", "timezone": "UTC", "startTime": "2090-01-01 00:00:00" });
            server.put(&format!("{path}/schedule"), &schedule).data();
            server.post(&format!("{path}/schedule/online"), &json!({})).data();
            path
        };
        let first = online(
            "first",
            "INSERT INTO staged (day) SELECT d FROM (SELECT '$[yyyy-MM-dd]' AS d) x \
             WHERE 1 / (CASE WHEN d = '2026-02-28' THEN 0 ELSE 1 END) = 1",
        );
        let second = online(
            "second",
            "INSERT INTO summed (day) SELECT max(day) FROM staged WHERE day = '$[yyyy-MM-dd]'",
        );
        let form = json!({ "mode": "list", "scheduleDateList": DATES.join(","), "executionOrder": "DESC_ORDER",
            "failureStrategy": "END", "complementDependentMode": "ALL_DEPENDENT" });
        let code = server.post(&format!("{first}/backfill"), &form).data();
        let view = format!("/api/v1/backfills/{}", code.as_str().expect("a code"));
        let ended = eventually("the backfill has ended", SOON, || {
            let view = server.get(&view).data();
            view["endedAt"].is_string().then_some(view)
        });
        let dates: Vec<Value> = ended["dates"]
            .as_array()
            .expect("dates")
            .iter()
            .map(|one| json!([one["date"], one["state"], one["dependents"][0]["state"]]))
            .collect();
        let days = |table: &str| shop.texts(&format!("SELECT day FROM {table} ORDER BY id"));
        seen.push((ended["state"].clone(), dates, days("staged"), days("summed")));
        for path in [first, second] {
            server.post(&format!("{path}/schedule/offline"), &json!({})).data();
        }
    }
    let (state, dates, staged, summed) = &seen[0];
    assert_eq!(*state, "failed", "{dates:?}");
    let states: Vec<&Value> = dates.iter().map(|one| &one[1]).collect();
    assert_eq!(states, ["success", "failed", "skipped"], "{dates:?}");
    assert_eq!((&dates[0][2], &dates[1][2]), (&json!("success"), &json!("skipped")), "{dates:?}");
    assert_eq!((staged, summed), (&vec!["2026-03-01".to_owned()], &vec!["2026-03-01".to_owned()]));
    assert_eq!(seen[0], seen[1]);
}
