//! The description: settings, addresses, log-ins, task types. Always the same.

use lakeport_sdk::engine::web::{
    AddressSlot, AuthRecipe, AuthUse, Body, CallRule, Exchange, Expectation, Extraction, Injection, Param,
    Piece, Request, SecretSpec, Slot,
};
use lakeport_sdk::engine::{EngineInfo, TaskType};
use lakeport_sdk::serde_json::json;

use crate::backfills;

pub const NAME: &str = "dolphinscheduler";
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The name of the address in requests.
pub const API: &str = "api";
pub const SQL: &str = "SQL";
pub const SHELL: &str = "SHELL";
/// The kinds of data sources with the types that DolphinScheduler has for them, the best one first.
pub const SOURCES: [(&str, &[&str]); 3] =
    [("postgres", &["POSTGRESQL"]), ("mysql", &["MYSQL"]), ("doris", &["DORIS", "MYSQL"])];
/// How long a start may take until the list of runs shows it. A server that was just started has no master
/// for about six seconds, and the commands wait in its database.
const SETTLE_MS: u32 = 15_000;

/// What the plugin calls, and whether that changes something. Of two rules that fit the first counts.
const CALLS: [(&str, &str); 34] = [
    ("GET projects", "reads"),
    ("GET projects/*/process-definition", "reads"),
    ("GET projects/*/process-definition/*", "reads"),
    ("POST projects/*/process-definition", "changes"),
    ("PUT projects/*/process-definition/*", "changes"),
    ("DELETE projects/*/process-definition/*", "changes"),
    ("POST projects/*/process-definition/*/release", "changes"),
    ("GET projects/*/workflow-definition", "reads"),
    ("GET projects/*/workflow-definition/*", "reads"),
    ("POST projects/*/workflow-definition", "changes"),
    ("PUT projects/*/workflow-definition/*", "changes"),
    ("DELETE projects/*/workflow-definition/*", "changes"),
    ("POST projects/*/workflow-definition/*/release", "changes"),
    // Reserves numbers. One that is never used is no change.
    ("GET projects/*/task-definition/gen-task-codes", "reads"),
    ("GET projects/*/schedules", "reads"),
    ("POST projects/*/schedules", "changes"),
    ("PUT projects/*/schedules/*", "changes"),
    ("DELETE projects/*/schedules/*", "changes"),
    ("POST projects/*/schedules/*/online", "changes"),
    ("POST projects/*/schedules/*/offline", "changes"),
    ("POST projects/*/executors/start-process-instance", "changes"),
    ("POST projects/*/executors/start-workflow-instance", "changes"),
    ("POST projects/*/executors/execute", "changes"),
    ("GET projects/*/process-instances", "reads"),
    ("GET projects/*/process-instances/trigger", "reads"),
    ("GET projects/*/process-instances/*", "reads"),
    ("GET projects/*/workflow-instances", "reads"),
    ("GET projects/*/workflow-instances/*", "reads"),
    ("GET projects/*/task-instances", "reads"),
    ("GET log/detail", "reads"),
    ("GET monitor/workers", "reads"),
    ("GET monitor/WORKER", "reads"),
    ("GET tenants/list", "reads"),
    ("POST login", "changes"),
];
/// DolphinScheduler answers passwords of data sources in clear; the host takes them out.
const DATASOURCES: &str = "GET datasources";
const DATASOURCES_MASK: [&str; 3] =
    ["/data/*/connectionParams", "/data/totalList/*/connectionParams", "/data/connectionParams"];

pub fn info() -> EngineInfo {
    // No `task_retry`: 3.1 begins two tries where there is no pause, and none where there is one. Lakeport tries failed
    // tasks again.
    const FEATURES: [&str; 11] = [
        "business_time",
        "retry_failed",
        "retry_all",
        "task_timeout",
        "task_priority",
        "log_stream",
        "start_at",
        "concurrency",
        "failure_end",
        "backfill_list",
        "backfill_parallel",
    ];
    EngineInfo {
        title: "Apache DolphinScheduler".to_owned(),
        versions: [">=3.1.0 <3.5"].map(str::to_owned).to_vec(),
        config_schema: config_schema(),
        addresses: vec![api()],
        secrets: secrets(),
        auth: vec![token(), password()],
        task_types: vec![sql(), shell()],
        cron_dialect: "quartz7".to_owned(),
        time_zone_mode: "schedule".to_owned(),
        settle_ms: SETTLE_MS,
        max_backfill_dates: backfills::DATES_MAX,
        features: FEATURES.map(str::to_owned).to_vec(),
        ..EngineInfo::new(NAME, "Apache DolphinScheduler", VERSION)
    }
}

fn config_schema() -> String {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["baseUrl", "projectName"],
        "properties": {
            "baseUrl": {
                "type": "string",
                "pattern": "^https?://",
                "description": "The address of the API with its path: http://host:12345/dolphinscheduler"
            },
            "projectName": {
                "type": "string",
                "minLength": 1,
                "description": "The project that Lakeport's workflows are deployed to. It must exist."
            },
            "version": {
                "type": "string",
                "pattern": "^3\\.[0-9]+(\\.[0-9]+)?$",
                "description": "The version of the server: 3.1, 3.2, 3.3 or later. Absent: found out by asking."
            },
            "tenant": {
                "type": "string",
                "minLength": 1,
                "description": "The tenant that tasks run as. 3.1 needs one; later versions have `default`."
            },
            "workerGroup": {
                "type": "string",
                "minLength": 1,
                "description": "The worker group of all tasks. Default: `default`."
            },
            "environmentCode": {
                "type": "integer",
                "description": "The code of the environment of all tasks. Default: none."
            },
            "timeZone": {
                "type": "string",
                "minLength": 1,
                "description": "The zone of the server's clock (its -Duser.timezone), an IANA name. Default: Lakeport's."
            },
            "datasources": {
                "type": "object",
                "additionalProperties": {"type": "string", "minLength": 1},
                "description": "Lakeport's names of data sources with the names there, where they differ."
            },
            "nativeBackfill": {
                "type": "boolean",
                "description": "Whether DolphinScheduler makes the dates of a backfill itself, with its faults: it begins no date after one that failed. Default: false, Lakeport begins each date."
            }
        }
    })
    .to_string()
}

fn api() -> AddressSlot {
    let rule = |(call, effect): &(&str, &str)| CallRule {
        call: (*call).to_owned(),
        effect: (*effect).to_owned(),
        mask: Vec::new(),
    };
    let datasources = CallRule {
        call: DATASOURCES.to_owned(),
        effect: "reads".to_owned(),
        mask: DATASOURCES_MASK.map(str::to_owned).to_vec(),
    };
    AddressSlot {
        name: API.to_owned(),
        config_at: "/baseUrl".to_owned(),
        calls: CALLS.iter().map(rule).chain([datasources]).collect(),
        description:
            "DolphinScheduler's API: definitions, schedules, runs and logs of one project; names of \
                      data sources"
                .to_owned(),
    }
}

fn secrets() -> Vec<SecretSpec> {
    let secret = |name: &str, title: &str, description: &str| SecretSpec {
        name: name.to_owned(),
        title: title.to_owned(),
        description: description.to_owned(),
    };
    vec![
        secret("token", "Access token", "Made under Security, Token Manage, for a user with write access"),
        secret("username", "User name", "A user with write access to the project"),
        secret("password", "Password", "The user's password"),
    ]
}

fn slot(source: &str, name: &str) -> Vec<Piece> {
    vec![Piece::Slot(Slot { source: source.to_owned(), name: name.to_owned(), encoding: "plain".to_owned() })]
}

fn header(name: &str, value: Vec<Piece>) -> Injection {
    Injection { place: "header".to_owned(), name: name.to_owned(), value }
}

fn token() -> AuthRecipe {
    AuthRecipe {
        name: "token".to_owned(),
        title: "Access token".to_owned(),
        secrets: vec!["token".to_owned()],
        addresses: vec![API.to_owned()],
        log_in: Vec::new(),
        inject: vec![header("token", slot("secret", "token"))],
        rejected_statuses: vec![401],
        rejected_when: Vec::new(),
    }
}

/// `POST login` answers 200 to a wrong password, with a code.
fn password() -> AuthRecipe {
    let field = |name: &str, secret: &str| Param { name: name.to_owned(), value: slot("secret", secret) };
    let log_in = Exchange {
        request: Request {
            address: API.to_owned(),
            method: "POST".to_owned(),
            path: vec![vec![Piece::Text("login".to_owned())]],
            query: Vec::new(),
            headers: Vec::new(),
            body: Body::Form(vec![field("userName", "username"), field("userPassword", "password")]),
            auth: AuthUse::Anonymous,
            timeout_ms: None,
            max_response_bytes: None,
            extra: None,
        },
        statuses: Vec::new(),
        expect: vec![Expectation { at: "/code".to_owned(), equals: "0".to_owned() }],
        tokens: vec![Extraction {
            token: "session".to_owned(),
            source: "json".to_owned(),
            at: "/data/sessionId".to_owned(),
        }],
        lifetime_at: None,
        lifetime_s: 0,
    };
    AuthRecipe {
        name: "password".to_owned(),
        title: "User name and password".to_owned(),
        secrets: ["username", "password"].map(str::to_owned).to_vec(),
        addresses: vec![API.to_owned()],
        log_in: vec![log_in],
        inject: vec![header("sessionId", slot("token", "session"))],
        rejected_statuses: vec![401],
        rejected_when: Vec::new(),
    }
}

const EMPTY_OBJECT: &str = r#"{"type":"object","properties":{},"additionalProperties":false}"#;

fn sql() -> TaskType {
    TaskType {
        name: SQL.to_owned(),
        title: "SQL statements on a data source".to_owned(),
        body: "sql".to_owned(),
        needs_datasource: true,
        datasource_kinds: SOURCES.iter().map(|(kind, _)| (*kind).to_owned()).collect(),
        settings_schema: EMPTY_OBJECT.to_owned(),
    }
}

fn shell() -> TaskType {
    TaskType {
        name: SHELL.to_owned(),
        title: "A shell script on a worker".to_owned(),
        body: "shell".to_owned(),
        needs_datasource: false,
        datasource_kinds: Vec::new(),
        settings_schema: EMPTY_OBJECT.to_owned(),
    }
}
