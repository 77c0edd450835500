//! JWTs of an OIDC issuer, beside tokens.

use lakeport_tests::{Issuer, Server, SigningKey, Store, request, stores};
use serde_json::json;

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
