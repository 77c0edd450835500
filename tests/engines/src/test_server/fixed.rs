//! What no test changes: the project, the tenant, the workers, log-ins; and data sources.

use serde_json::{Value, json};

use super::answers::{Args, Outcome, Refusal, refuse};
use super::state::{State, now, time};
use super::{Generation, PASSWORD, PROJECT, PROJECT_NAME, TENANT, USER};

/// A data source.
pub struct Source {
    id: i64,
    name: String,
    kind: String,
    /// JSON, with the password in clear.
    params: String,
}

pub fn projects(state: &mut State, args: &Args) -> Outcome {
    let is_found = PROJECT_NAME.contains(args.text("searchVal"));
    let rows: Vec<Value> = is_found.then(|| project(state)).into_iter().collect();
    args.page(&rows)
}

pub fn project_list(state: &mut State, _args: &Args) -> Outcome {
    Ok(json!([project(state)]))
}

fn project(state: &State) -> Value {
    let mut row = json!({
        "id": 1, "userId": 1, "userName": USER, "code": PROJECT, "name": PROJECT_NAME, "description": "",
        "createTime": "2026-01-01 00:00:00", "updateTime": "2026-01-01 00:00:00", "perm": 0,
        "defCount": state.definitions.len(),
    });
    if state.generation == Generation::V32 {
        row["instRunningCount"] = json!(0);
    }
    row
}

pub fn tenants(_state: &mut State, _args: &Args) -> Outcome {
    Ok(json!([{
        "id": -1, "tenantCode": TENANT, "description": "default tenant", "queueId": 1, "queueName": null,
        "queue": null, "createTime": "2026-01-01 00:00:00", "updateTime": "2026-01-01 00:00:00",
    }]))
}

pub fn workers(state: &mut State, _args: &Args) -> Outcome {
    let mut row = json!({
        "id": 0, "host": "127.0.0.1", "port": 1234, "resInfo": "{\"cpuUsage\":0.1}",
        "createTime": "2026-01-01 00:00:00", "lastHeartbeatTime": time(now()),
    });
    match state.generation {
        Generation::V32 => row["zkDirectories"] = json!(["/nodes/worker/127.0.0.1:1234"]),
        Generation::V33 => row["zkDirectory"] = json!("/nodes/worker/127.0.0.1:1234"),
    }
    Ok(json!([row]))
}

pub fn log_in(state: &mut State, args: &Args) -> Outcome {
    if (args.text("userName"), args.text("userPassword")) != (USER, PASSWORD) {
        return refuse(10_013, "user name or password error");
    }
    let session = format!("session-{}", state.new_id("session"));
    state.sessions.push(session.clone());
    Ok(json!({"sessionId": session, "securityConfigType": "PASSWORD"}))
}

pub fn sources(state: &mut State, args: &Args) -> Outcome {
    let search = args.text("searchVal");
    let found = state.sources.iter().filter(|source| source.name.contains(search));
    args.page(&found.map(source_row).collect::<Vec<_>>())
}

pub fn make_source(state: &mut State, args: &Args) -> Outcome {
    let wrong = || Refusal::new(10_033, "create datasource error");
    let form: Value = serde_json::from_slice(&args.body).map_err(|_| wrong())?;
    let text = |name: &str| form[name].as_str().map(str::to_owned).ok_or_else(wrong);
    let (name, kind) = (text("name")?, text("type")?);
    if state.sources.iter().any(|source| source.name == name) {
        return refuse(10_015, "data source name already exists");
    }
    let (host, database) = (text("host")?, text("database")?);
    let address = format!("jdbc:{}://{host}:{}", kind.to_lowercase(), form["port"]);
    let params = json!({
        "user": text("userName")?, "password": text("password")?, "address": address, "database": database,
        "jdbcUrl": format!("{address}/{database}"), "driverClassName": null,
    });
    let source = Source { id: state.new_id("source"), name, kind, params: params.to_string() };
    let row = source_row(&source);
    state.sources.push(source);
    Ok(row)
}

fn source_row(source: &Source) -> Value {
    json!({
        "id": source.id, "userId": 1, "userName": USER, "name": source.name, "note": "", "type": source.kind,
        "connectionParams": source.params, "createTime": "2026-01-01 00:00:00",
        "updateTime": "2026-01-01 00:00:00",
    })
}
