//! Authentication and roles: local mode and its end, tokens over the API and the command line, roles, and the
//! audit log.

use std::time::Duration;

use lakeport_tests::{Options, Server, eventually, named, stores};
use serde_json::{Value, json};

fn created(server: &Server, body: &Value) -> String {
    server.post("/api/v1/tokens", body).data()["token"].as_str().expect("a text").to_owned()
}

#[test]
fn the_first_token_ends_local_mode_permanently() {
    for store in stores() {
        let mut server = Server::start(&store);
        let me = server.get("/api/v1/me").data();
        assert_eq!(
            (&me["name"], &me["role"], &me["kind"]),
            (&json!("local"), &json!("admin"), &json!("local"))
        );

        let admin = created(&server, &json!({ "role": "admin", "name": "root" }));
        assert_eq!(server.get("/api/v1/me").error(), "unauthenticated");
        let root = server.client_as(&admin);
        let me = root.get("/api/v1/me").data();
        assert_eq!(
            (&me["name"], &me["kind"], &me["datasources"]),
            (&json!("root"), &json!("token"), &Value::Null)
        );

        let id = root.get("/api/v1/tokens").data()[0]["id"].clone();
        assert!(root.delete(&format!("/api/v1/tokens/{id}")).data().is_null());
        assert_eq!(root.get("/api/v1/me").status, 401);
        assert_eq!(server.get("/api/v1/me").status, 401, "local mode does not come back");
        server.restart();
        assert_eq!(server.get("/api/v1/me").data()["kind"], "local", "before a restart");
    }
}

#[test]
fn a_token_is_shown_once_and_listed_without_its_text() {
    for store in stores() {
        let server = Server::start(&store);
        let body = json!({ "role": "viewer", "name": "reader", "datasources": ["lakeport"],
            "scopes": ["lineage:write"], "expiresAt": "2099-01-02 03:04:05" });
        let made = server.post("/api/v1/tokens", &json!({ "role": "admin", "name": "root" })).data();
        let root = server.client_as(made["token"].as_str().unwrap());
        let made = root.post("/api/v1/tokens", &body).data();
        for member in ["name", "role", "datasources", "scopes", "expiresAt"] {
            assert_eq!(made[member], body[member], "{member}");
        }
        let text = made["token"].as_str().unwrap();
        let listed = root.get("/api/v1/tokens");
        assert!(!listed.json().to_string().contains(text));
        assert_eq!(listed.data().as_array().unwrap().len(), 2);

        assert_eq!(root.post("/api/v1/tokens", &body).error(), "name_taken");
        let unknown = json!({ "role": "viewer", "name": "lost", "datasources": ["lakeport", "sales", "hr"] });
        let refused = root.post("/api/v1/tokens", &unknown);
        assert_eq!(named(&refused), ["datasources"]);
        assert!(
            refused.json()["details"][0]["message"].as_str().unwrap().contains("sales, hr"),
            "{refused:?}"
        );
        let wrong = json!({ "role": "king", "name": "", "scopes": ["all"], "expiresAt": "tomorrow" });
        let refused = root.post("/api/v1/tokens", &wrong);
        assert_eq!((refused.status, refused.error().as_str()), (400, "invalid_input"));
        let past =
            json!({ "role": "viewer", "name": " x", "scopes": ["all"], "expiresAt": "2001-01-01 00:00:00" });
        let refused = root.post("/api/v1/tokens", &past).json();
        let fields: Vec<&str> =
            refused["details"].as_array().unwrap().iter().filter_map(|d| d["field"].as_str()).collect();
        assert_eq!(fields, ["name", "scopes", "expiresAt"]);
        assert_eq!(root.delete("/api/v1/tokens/999999").status, 404);
        assert_eq!(root.delete("/api/v1/tokens/x").status, 400);
    }
}

#[test]
fn command_line_tokens_work_at_once() {
    for store in stores() {
        let mut server = Server::prepare(&store, Options::default());
        let admin = server.token("admin", "root");
        server.run();
        assert_eq!(server.get("/api/v1/me").status, 401, "no local mode with a token");
        assert_eq!(server.client_as(&admin).get("/api/v1/me").data()["name"], "root");

        let viewer = server.token("viewer", "later");
        assert_eq!(server.client_as(&viewer).get("/api/v1/me").data()["role"], "viewer");
        let listed = server.command_ok(&["token", "list", "--json"]);
        let listed: Value = serde_json::from_str(&listed).unwrap();
        assert_eq!(listed.as_array().unwrap().len(), 2);
        assert!(server.command_ok(&["token", "list"]).contains("later"));
        server.command_ok(&["token", "revoke", "later"]);
        assert_eq!(server.client_as(&viewer).get("/api/v1/me").status, 401);

        let refused = server.command(&["token", "create", "--role", "king", "--name", "x"]);
        assert!(!refused.status.success());
        assert!(String::from_utf8_lossy(&refused.stderr).contains("viewer, editor, approver, admin"));
        let refused = server.command(&["token", "create", "--role", "admin", "--name", "root"]);
        assert!(String::from_utf8_lossy(&refused.stderr).contains("a token named `root` already exists"));
        let unknown =
            ["token", "create", "--role", "viewer", "--name", "x", "--datasources", "lakeport,sales"];
        let refused = server.command(&unknown);
        assert!(!refused.status.success());
        assert!(String::from_utf8_lossy(&refused.stderr).contains("unknown data sources, sales;"));
    }
}

#[test]
fn other_machines_are_let_in_with_a_token_alone() {
    let mut server = Server::prepare(&stores()[0], Options::default());
    let refused = server.command(&["serve", "--listen", "0.0.0.0:0"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("lakeport token create --role admin"), "{said}");
    let admin = server.token("admin", "root");
    server.set("LAKEPORT_LISTEN", "");
    server.run();
    // With tokens the request's host name does not matter, and proxies are allowed.
    let headers = [("Host", "lake.example.com"), ("X-Forwarded-For", "10.0.0.1")];
    assert_eq!(server.client_as(&admin).send("GET", "/api/v1/me", &headers, b"").status, 200);
}

#[test]
fn an_expired_token_is_refused_and_keeps_the_server_closed() {
    let server = Server::start(&stores()[0]);
    let soon = in_four_seconds();
    let text = created(&server, &json!({ "role": "admin", "name": "short", "expiresAt": soon }));
    let short = server.client_as(&text);
    assert_eq!(short.get("/api/v1/me").status, 200);
    let message = eventually("it expires", Duration::from_secs(10), || {
        let answer = short.get("/api/v1/me");
        (answer.status == 401).then(|| answer.message())
    });
    assert!(message.contains("expired"), "{message}");
}

/// RFC 3339, which the API accepts as well: it needs no zone of the server.
fn in_four_seconds() -> String {
    let at =
        std::process::Command::new("date").args(["-u", "-d", "+4 seconds", "+%Y-%m-%dT%H:%M:%SZ"]).output();
    String::from_utf8(at.expect("date runs").stdout).unwrap().trim().to_owned()
}

#[test]
fn every_operation_wants_the_role_that_its_description_names() {
    let server = Server::start(&stores()[0]);
    let document = server.get("/openapi.json").json();
    let admin = created(&server, &json!({ "role": "admin", "name": "root" }));
    let root = server.client_as(&admin);
    let clients: Vec<_> = ["viewer", "editor", "approver"]
        .iter()
        .map(|role| {
            let made = root.post("/api/v1/tokens", &json!({ "role": role, "name": role })).data();
            (*role, server.client_as(made["token"].as_str().unwrap()))
        })
        .collect();
    let rank =
        |role: &str| ["anyone", "viewer", "editor", "approver", "admin"].iter().position(|r| *r == role);
    let mut looked_at = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let needed = operation["x-role"].as_str().unwrap_or_default();
            let rank_needed = rank(needed).unwrap_or_else(|| panic!("{path} {method} names no role"));
            let (method, path) = (method.to_uppercase(), filled(path));
            let anonymous = server.client().send(&method, &path, &[], b"");
            if needed == "anyone" {
                assert_ne!(anonymous.status, 401, "{method} {path}");
                continue;
            }
            assert_eq!(anonymous.error(), "unauthenticated", "{method} {path}");
            for (role, client) in &clients {
                if rank(role).unwrap() < rank_needed {
                    assert_eq!(
                        client.send(&method, &path, &[], b"").error(),
                        "insufficient_role",
                        "{method} {path} {role}"
                    );
                }
            }
            looked_at += 1;
        }
    }
    assert!(looked_at > 80, "{looked_at}");
}

/// A path with values for its parameters.
fn filled(path: &str) -> String {
    let parts = path.split('/').map(|part| if part.starts_with('{') { "0" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

#[test]
fn a_token_with_a_scope_does_nothing_else() {
    let server = Server::start(&stores()[0]);
    let admin = created(&server, &json!({ "role": "admin", "name": "root" }));
    let body = json!({ "role": "admin", "name": "spark", "scopes": ["lineage:write"] });
    let spark = server.client_as(&admin).post("/api/v1/tokens", &body).data()["token"].clone();
    let spark = server.client_as(spark.as_str().unwrap());
    assert_eq!(spark.get("/api/v1/plugins").error(), "insufficient_scope");
    assert_eq!(spark.get("/api/v1/me").data()["scopes"], json!(["lineage:write"]));
    assert_eq!(spark.post("/api/v1/lineage/openlineage", &json!([])).error(), "not_yet");
}

#[test]
fn every_change_is_audited() {
    for store in stores() {
        let server = Server::start(&store);
        let admin = created(&server, &json!({ "role": "admin", "name": "root" }));
        let root = server.client_as(&admin);
        let editor = root.post("/api/v1/tokens", &json!({ "role": "editor", "name": "ed" })).data();
        let id = editor["id"].clone();
        let ed = server.client_as(editor["token"].as_str().unwrap());
        let headers = [("X-Request-Id", "ticket-7")];
        assert_eq!(ed.send("DELETE", &format!("/api/v1/tokens/{id}"), &headers, b"").status, 403);
        assert_eq!(root.post("/api/v1/plugins/none/release", &json!({})).status, 404);
        root.delete(&format!("/api/v1/tokens/{id}")).data();

        let audit = root.get("/api/v1/audit").data();
        assert_eq!(audit["total"], 5, "{audit}");
        let records = audit["records"].as_array().unwrap();
        let told: Vec<(&str, &str, &str)> = records
            .iter()
            .map(|r| {
                (
                    r["actor"].as_str().unwrap(),
                    r["operation"].as_str().unwrap(),
                    r["outcome"].as_str().unwrap(),
                )
            })
            .collect();
        let expected = [
            ("root", "revokeToken", "success"),
            ("root", "releasePlugin", "not_found"),
            ("ed", "revokeToken", "insufficient_role"),
            ("root", "createToken", "success"),
            ("local", "createToken", "success"),
        ];
        assert_eq!(told, expected);
        assert_eq!(
            (&records[2]["requestId"], &records[2]["resourceId"]),
            (&json!("ticket-7"), &json!(id.to_string()))
        );
        assert!(records[0]["beforeDigest"].is_string() && records[3]["afterDigest"].is_string());

        let of = |query: &str| root.get(&format!("/api/v1/audit?{query}")).data()["total"].clone();
        assert_eq!(of("actor=root"), 3);
        assert_eq!(of("operation=revokeToken&outcome=success"), 1);
        assert_eq!(of(&format!("resourceId={id}&pageSize=1")), 3);
        assert_eq!(of("startTime=2099-01-01%2000:00:00"), 0);
        assert_eq!(root.get("/api/v1/audit?startTime=soon&pageSize=0").status, 400);
        assert_eq!(ed.get("/api/v1/audit").status, 401, "revoked");
    }
}

#[test]
fn rate_limits_are_per_token() {
    let environment = &[("LAKEPORT_RATE_LIMIT_PER_S", "5")];
    let mut server = Server::prepare(&stores()[0], Options { environment, ..Options::default() });
    let (one, two) = (server.token("admin", "one"), server.token("admin", "two"));
    server.run();
    let one = server.client_as(&one);
    let answers: Vec<_> = (0..20).map(|_| one.get("/api/v1/me")).collect();
    let limited = answers.iter().find(|answer| answer.status == 429).expect("more than five at once");
    assert_eq!((limited.error().as_str(), limited.header("retry-after")), ("rate_limited", Some("1")));
    let me = server.client_as(&two).get("/api/v1/me").data();
    assert_eq!(me["limits"]["requestsPerSecond"], 5);
}
