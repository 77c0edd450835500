//! Attacks that are tables in tests/adversary: anybody adds a line.

use lakeport_tests::{Issuer, Lake, Options, Response, Server, SigningKey, Store, request, rows};
use serde_json::{Value, json};

const JWTS: &str = include_str!("../adversary/jwts.txt");
const ADDRESSES: &str = include_str!("../adversary/addresses.txt");
const PATHS: &str = include_str!("../adversary/paths.txt");
const SOURCES: &str = "/api/v1/datasources";

/// `4xx`: any refusal.
fn is_as_told(answer: &Response, status: &str) -> bool {
    match status {
        "4xx" => (400..500).contains(&answer.status),
        status => answer.status.to_string() == status,
    }
}

#[test]
fn no_forged_jwt_lets_anybody_in() {
    let folder = tempfile::tempdir().expect("a folder");
    let (key, other) = (SigningKey::rsa("k1"), SigningKey::es256("k1"));
    let issuer = Issuer::start(&[&key]);
    let file = folder.path().join("lakeport.toml");
    std::fs::write(&file, format!("[oidc]\nissuer = \"{}\"\n", issuer.url())).expect("a file");
    let server = Server::start_with(&Store::Sqlite, &["--config", file.to_str().expect("UTF-8")]);
    let claims = issuer.claims("mallory", "lakeport", "admin");
    let now = claims["iat"].as_u64().expect("a time");
    let ask = |jwt: &str| {
        let authorization = format!("Bearer {jwt}");
        request(server.address(), "GET", "/api/v1/tokens", &[("Authorization", &authorization)], b"")
    };
    let header = json!({ "typ": "JWT", "alg": "RS256", "kid": "k1" });
    assert_eq!(ask(&key.sign_as(&header, &claims)).status, 200, "the good one");
    let mut failures = Vec::new();
    for [name, header_members, claim_members, signature, status] in rows(JWTS) {
        let header = with(&header, header_members, now);
        let claims = with(&claims, claim_members, now);
        let signed = key.sign_as(&header, &claims);
        let (text, good) = signed.rsplit_once('.').expect("three parts");
        let jwt = match signature {
            "good" => signed.clone(),
            "none" => format!("{text}."),
            "other" => other.sign_as(&header, &claims),
            "flipped" => format!("{text}.{}{}", if good.starts_with('A') { 'B' } else { 'A' }, &good[1..]),
            "cut" => format!("{text}.{}", &good[..good.len() / 2]),
            "public" => format!("{text}.{}", key.hmac_with_public_key(text)),
            unknown => panic!("the signature {unknown:?} of {name:?}"),
        };
        let answer = ask(&jwt);
        if !is_as_told(&answer, status) {
            failures.push(format!("{name}: {answer:?}"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
    assert_eq!(ask(&key.sign(&claims)).status, 200, "the good one still is");
}

/// Replaces members; null removes one.
fn with(of: &Value, members: &str, now: u64) -> Value {
    let mut text = members.to_owned();
    while let Some((before, rest)) = text.split_once("<now") {
        let (shift, after) = rest.split_once('>').expect("`<now` ends with `>`");
        let shift: i64 = if shift.is_empty() { 0 } else { shift.parse().expect("seconds") };
        text = format!("{before}{}{after}", now.saturating_add_signed(shift));
    }
    let members: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{members}: {error}"));
    let mut changed = of.clone();
    let object = changed.as_object_mut().expect("an object");
    for (member, value) in members.as_object().expect("members") {
        if value.is_null() {
            object.remove(member);
        } else {
            object.insert(member.clone(), value.clone());
        }
    }
    changed
}

#[test]
fn forbidden_addresses_are_never_connected_to() {
    let server = Server::start_as(&Store::Sqlite, Options::default());
    let mut failures = Vec::new();
    for (number, [kind, url, status]) in rows(ADDRESSES).into_iter().enumerate() {
        let form = json!({ "name": format!("address {number}"), "kind": kind, "url": url });
        let mut answer = server.post(SOURCES, &form);
        if answer.status == 200 {
            answer = server.post(&format!("{SOURCES}/{}/test", answer.data()["id"]), &json!({}));
        }
        if !is_as_told(&answer, status) {
            failures.push(format!("{kind} {url}: {answer:?}"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
    let usual = json!({ "name": "usual", "kind": "postgres", "url": "postgres://u:p@127.0.0.1/d" });
    let refused = server.post(SOURCES, &usual).message();
    assert!(refused.contains("add `127.0.0.1:5432` to"), "the usual port: {refused}");
}

#[test]
fn files_outside_of_the_roots_are_never_opened() {
    let lake = Lake::start(&Store::Sqlite);
    std::os::unix::fs::symlink(lake.server.data(), lake.path("link")).expect("a link");
    let outside = lake.files.path().parent().expect("it lies in a folder").join("x.db");
    let mut failures = Vec::new();
    for (number, [path]) in rows(PATHS).into_iter().enumerate() {
        let url = path
            .replace("<data>", &lake.server.data().display().to_string())
            .replace("<roots>", &lake.files.path().display().to_string());
        let form = json!({ "name": format!("path {number}"), "kind": "sqlite", "url": url });
        let answer = lake.server.post(SOURCES, &form);
        // A name that is odd, but a file of the folder, is not refused until it is opened.
        let is_safe = match answer.status {
            400 => true,
            200 => {
                let test = lake.server.post(&format!("{SOURCES}/{}/test", answer.data()["id"]), &json!({}));
                (400..=502).contains(&test.status)
            }
            _ => false,
        };
        if !is_safe {
            failures.push(format!("{url}: {answer:?}"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
    assert!(!outside.exists());
}
