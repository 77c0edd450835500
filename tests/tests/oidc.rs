//! JWTs of an OIDC issuer, beside tokens.

use lakeport_tests::{Issuer, Options, Response, Server, SigningKey, Store, refused, request, stores};
use serde_json::json;

const CALLBACK: &str = "/api/v1/session/oidc/callback";

/// A server that trusts the issuer.
fn server(store: &Store, issuer: &Issuer) -> (Server, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lakeport.toml");
    let text = format!("[oidc]\nissuer = \"{}\"\nrole_claim = \"realm_access.roles\"\n", issuer.url());
    std::fs::write(&file, text).unwrap();
    (Server::start_with(store, &["--config", file.to_str().unwrap()]), folder)
}

fn get(server: &Server, path: &str, jwt: &str) -> lakeport_tests::Response {
    request(server.address(), "GET", path, &[("Authorization", &format!("Bearer {jwt}"))], b"")
}

#[test]
fn a_jwt_identifies_by_its_claims() {
    for store in stores() {
        let key = SigningKey::rsa("k1");
        let issuer = Issuer::start(&[&key]);
        let (server, _folder) = server(&store, &issuer);
        let mut claims = issuer.claims("u1", "lakeport", "ignored");
        claims["preferred_username"] = "ada".into();
        claims["realm_access"] = json!({ "roles": ["viewer", "editor", "offline_access"] });
        claims["lakeport_datasources"] = json!(["sales"]);
        let me = get(&server, "/api/v1/me", &key.sign(&claims)).data();
        assert_eq!(
            (&me["name"], &me["role"], &me["kind"]),
            (&"ada".into(), &"editor".into(), &"oidc".into())
        );
        assert_eq!(me["datasources"], json!(["sales"]));
        let refused = get(&server, "/api/v1/tokens", &key.sign(&claims));
        assert_eq!(refused.status, 403, "{refused:?}");
    }
}

#[test]
fn with_an_issuer_anonymous_access_is_refused() {
    for store in stores() {
        let key = SigningKey::es256("k1");
        let issuer = Issuer::start(&[&key]);
        let (server, _folder) = server(&store, &issuer);
        let none = server.get("/api/v1/me");
        assert_eq!((none.status, none.error().as_str()), (401, "unauthenticated"));
        let claims = issuer.claims("u1", "lakeport", "ignored");
        let no_role = get(&server, "/api/v1/me", &key.sign(&claims));
        assert_eq!((no_role.status, no_role.error().as_str()), (403, "role_claim_missing"));
        assert!(no_role.message().contains("realm_access.roles"), "{no_role:?}");
        let stranger = get(&server, "/api/v1/me", &SigningKey::es256("k1").sign(&claims));
        assert_eq!((stranger.status, stranger.error().as_str()), (401, "unauthenticated"));
    }
}

#[test]
fn an_unreachable_issuer_is_503() {
    for store in stores() {
        let key = SigningKey::es256("k1");
        let issuer = Issuer::start(&[&key]);
        issuer.set_failing(true);
        let (server, _folder) = server(&store, &issuer);
        let answer = get(&server, "/api/v1/me", &key.sign(&issuer.claims("u1", "lakeport", "admin")));
        assert_eq!((answer.status, answer.error().as_str()), (503, "oidc_unreachable"));
        assert_eq!(answer.header("retry-after"), Some("10"));
    }
}

/// A server with which people sign in at the issuer.
fn console(store: &Store, issuer: &Issuer) -> Server {
    let url = issuer.url();
    let environment = &[
        ("LAKEPORT_OIDC_ISSUER", url.as_str()),
        ("LAKEPORT_OIDC_CLIENT_ID", "console"),
        ("LAKEPORT_OIDC_CLIENT_SECRET", "hush"),
    ];
    Server::start_as(store, Options { environment, ..Options::default() })
}

/// The new value of a cookie, with its attributes.
fn set_cookie<'r>(response: &'r Response, name: &str) -> Option<&'r str> {
    let all = response.headers.iter().filter(|(header, _)| header == "set-cookie");
    all.map(|(_, value)| value.as_str()).find(|value| value.starts_with(&format!("{name}=")))
}

fn pair(cookie: &str) -> &str {
    cookie.split(';').next().unwrap_or_default()
}

/// The parameter of an address.
fn parameter(address: &str, name: &str) -> String {
    let (_, query) = address.split_once('?').expect("a query");
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value.to_owned()).unwrap_or_default()
}

#[test]
fn people_sign_in_at_the_issuer() {
    for store in stores() {
        let key = SigningKey::ed25519("k1");
        let issuer = Issuer::start(&[&key]);
        let server = console(&store, &issuer);
        let anyone = server.client();
        let get = |path: &str, cookie: &str| anyone.send("GET", path, &[("Cookie", cookie)], b"");
        assert_eq!(get("/api/v1/session", "").data(), json!({ "local": false, "oidc": "127.0.0.1" }));

        let begun = get("/api/v1/session/oidc?returnTo=/tables/7%3Ftab%3Dddl", "");
        assert_eq!(begun.status, 302);
        let address = begun.header("location").expect("an address");
        assert!(address.starts_with(&issuer.url()), "{address}");
        let own =
            format!("http%3A%2F%2F127.0.0.1%3A{}{}", server.address().port(), CALLBACK.replace('/', "%2F"));
        assert_eq!(parameter(address, "redirect_uri"), own);
        let pending = set_cookie(&begun, "lakeport_sign_in").expect("a cookie");
        assert!(pending.ends_with("; Path=/; Max-Age=600; HttpOnly; SameSite=Lax"), "{pending}");
        let (state, nonce) = (parameter(address, "state"), parameter(address, "nonce"));
        let claims = issuer.claims("u1", "console", "editor");
        let mut claims = claims.as_object().expect("claims").clone();
        claims.extend([("nonce".to_owned(), json!(nonce)), ("preferred_username".to_owned(), json!("ada"))]);
        issuer.give_tokens(200, json!({ "id_token": key.sign(&claims.into()) }));

        let why = |answer: &Response| {
            assert_eq!(answer.status, 302, "{answer:?}");
            assert_eq!(set_cookie(answer, "lakeport_session"), None);
            parameter(answer.header("location").expect("a page"), "signIn")
        };
        let answer = format!("{CALLBACK}?code=c&state={state}&session_state=more");
        assert_eq!(why(&get(&answer, "")), "expired", "another browser's answer");
        assert_eq!(why(&get(&format!("{CALLBACK}?code=c&state=other"), pair(pending))), "expired");
        assert_eq!(why(&get(&format!("{answer}&iss=http://another"), pair(pending))), "expired");
        let denied = format!("{CALLBACK}?error=access_denied&state={state}");
        assert_eq!(why(&get(&denied, pair(pending))), "denied");
        assert_eq!(issuer.last_exchange(), None, "no code was sent for these");

        let signed_in = get(&answer, pair(pending));
        assert_eq!(signed_in.header("location"), Some("/tables/7?tab=ddl"));
        let session = set_cookie(&signed_in, "lakeport_session").expect("a session");
        assert!(session.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{session}");
        assert!(set_cookie(&signed_in, "lakeport_sign_in").expect("removed").contains("Max-Age=0"));
        let me = get("/api/v1/me", pair(session)).data();
        assert_eq!(
            (&me["name"], &me["role"], &me["kind"]),
            (&"ada".into(), &"editor".into(), &"oidc".into())
        );
        let post = anyone.send("POST", "/api/v1/nl2sql/topics", &[("Cookie", pair(session))], b"{}");
        refused(&post, 403, "console_header_missing");

        let bearer = format!("Bearer {}", pair(session).trim_start_matches("lakeport_session="));
        let stolen = anyone.send("GET", "/api/v1/me", &[("Authorization", &bearer)], b"");
        refused(&stolen, 401, "unauthenticated");
        let changed = pair(session).replace("lks_", "lks_A");
        refused(&get("/api/v1/me", &changed), 401, "unauthenticated");
        let other_use =
            format!("lakeport_session=lks_{}", pair(pending).trim_start_matches("lakeport_sign_in="));
        refused(&get("/api/v1/me", &other_use), 401, "unauthenticated");

        let no_role = issuer.claims("u2", "console", "nothing");
        let mut no_role = no_role.as_object().expect("claims").clone();
        no_role.insert("nonce".to_owned(), json!(nonce));
        issuer.give_tokens(200, json!({ "id_token": key.sign(&no_role.into()) }));
        assert_eq!(why(&get(&answer, pair(pending))), "no_role");
        issuer.give_tokens(400, json!({ "error": "invalid_grant" }));
        assert_eq!(why(&get(&answer, pair(pending))), "refused");
        let other = format!("{}; lakeport_session=lks_other", pair(session));
        refused(&get("/api/v1/me", &other), 401, "unauthenticated");
        assert_eq!(get("/api/v1/me", &format!("theme=d\u{fc}nkel; {}", pair(session))).status, 200);

        let other = Issuer::start(&[]);
        other.set_failing(true);
        let server = console(&store, &other);
        let begun = request(server.address(), "GET", "/api/v1/session/oidc", &[], b"");
        assert_eq!(why(&begun), "unavailable");
    }
}

#[test]
fn a_server_without_a_client_signs_in_by_tokens_only() {
    let server = Server::start(&stores()[0]);
    assert_eq!(server.get("/api/v1/session").data(), json!({ "local": true, "oidc": null }));
    refused(&server.get("/api/v1/session/oidc"), 404, "not_found");
    refused(&server.get(&format!("{CALLBACK}?code=c&state=s")), 404, "not_found");
}
