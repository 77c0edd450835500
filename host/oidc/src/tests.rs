//! Tests against an issuer on loopback, with a clock that stands still.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use lakeport_tests::{Issuer, SigningKey};
use ring::hmac;
use ring::signature::{RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY, RsaPublicKeyComponents};
use serde_json::{Value, json};

use super::jwk::PublicKey;
use super::*;

const NOW_S: u64 = 1_800_000_000;
const AUDIENCE: &str = "lakeport";

struct Stage {
    issuer: Issuer,
    key: SigningKey,
    oidc: Oidc,
    clock: Clock,
}

fn settings(issuer: &str) -> OidcSettings {
    OidcSettings {
        issuer: Some(issuer.to_owned()),
        audience: AUDIENCE.to_owned(),
        role_claim: "lakeport_role".to_owned(),
        datasources_claim: "lakeport_datasources".to_owned(),
        name_claim: "preferred_username".to_owned(),
        scopes: "openid".to_owned(),
        session_hours: 8,
        ..OidcSettings::default()
    }
}

fn stage() -> Stage {
    stage_with(SigningKey::ed25519("k1"), |_| ())
}

fn stage_with(key: SigningKey, change: impl Fn(&mut OidcSettings)) -> Stage {
    let issuer = Issuer::start(&[&key]);
    let mut settings = settings(&issuer.url());
    change(&mut settings);
    let clock = Clock::standing(NOW_S as i64 * 1000);
    let client = HttpClient::new(Policy::default(), None).unwrap();
    let oidc = Oidc::open(&settings, &client, clock.clone()).unwrap().unwrap();
    Stage { issuer, key, oidc, clock }
}

impl Stage {
    fn claims(&self) -> Value {
        self.issuer.claims_at(NOW_S, "u1", AUDIENCE, "editor")
    }

    /// The usual claims with some changed; null removes one.
    fn jwt(&self, changes: Value) -> String {
        self.key.sign(&merged(self.claims(), changes))
    }

    async fn identify(&self, changes: Value) -> Result<OidcIdentity, Error> {
        self.oidc.identify(&self.jwt(changes)).await
    }

    async fn refusal(&self, changes: Value) -> (u16, String) {
        refusal(self.identify(changes).await)
    }

    fn pass_s(&self, seconds: i64) {
        self.clock.set(self.clock.now_ms() + seconds * 1000);
    }
}

fn merged(mut claims: Value, changes: Value) -> Value {
    let members = claims.as_object_mut().unwrap();
    for (name, value) in changes.as_object().unwrap() {
        members.insert(name.clone(), value.clone());
    }
    members.retain(|_, value| !value.is_null());
    claims
}

fn refusal(answer: Result<OidcIdentity, Error>) -> (u16, String) {
    let error = answer.unwrap_err();
    (error.status(), error.to_string())
}

fn assert_refused(refusal: (u16, String), status: u16, part: &str) {
    assert!(refusal.0 == status && refusal.1.contains(part), "{refusal:?} is not {status} with `{part}`");
}

#[tokio::test]
async fn a_jwt_gives_identity_and_rights() {
    let stage = stage();
    let identity = stage.identify(json!({ "preferred_username": "ada" })).await.unwrap();
    let expected = OidcIdentity {
        subject: "u1".into(),
        name: "ada".into(),
        role: Role::Editor,
        datasources: None,
        expires_at_ms: identity.expires_at_ms,
    };
    assert_eq!(identity, expected);
    let bound = stage.identify(json!({ "lakeport_datasources": ["a", "b"] })).await.unwrap();
    assert_eq!(bound.datasources, Some(vec!["a".to_owned(), "b".to_owned()]));
    let bound = stage.identify(json!({ "lakeport_datasources": "a, b" })).await.unwrap();
    assert_eq!(bound.datasources, Some(vec!["a".to_owned(), "b".to_owned()]));
    let nothing = stage.identify(json!({ "lakeport_datasources": [] })).await.unwrap();
    assert_eq!(nothing.datasources, Some(Vec::new()));
}

#[tokio::test]
async fn every_algorithm_is_taken_that_its_key_is_for() {
    let keys =
        [SigningKey::es256("a"), SigningKey::es384("b"), SigningKey::ed25519("c"), SigningKey::rsa("d")];
    let stage = stage();
    stage.issuer.publish(&keys.each_ref());
    for key in &keys {
        stage.oidc.identify(&key.sign(&stage.claims())).await.unwrap();
    }
    for algorithm in ["RS384", "RS512", "PS256"] {
        let jwt = keys[3].sign_as(&json!({ "alg": algorithm, "kid": "d" }), &stage.claims());
        stage.oidc.identify(&jwt).await.unwrap();
    }
}

#[tokio::test]
async fn times_are_taken_with_a_minute_of_leeway() {
    let stage = stage();
    assert_refused(stage.refusal(json!({ "exp": NOW_S - 60 })).await, 401, "expired");
    stage.identify(json!({ "exp": NOW_S - 59 })).await.unwrap();
    stage.identify(json!({ "exp": NOW_S as f64 + 0.5 })).await.unwrap();
    assert_refused(stage.refusal(json!({ "exp": null })).await, 401, "never expires");
    assert_refused(stage.refusal(json!({ "exp": "soon" })).await, 401, "not a time");
    assert_refused(stage.refusal(json!({ "nbf": NOW_S + 61 })).await, 401, "not valid yet");
    assert_refused(stage.refusal(json!({ "iat": NOW_S + 61 })).await, 401, "issued in the future");
    stage.identify(json!({ "nbf": NOW_S + 60, "iat": NOW_S + 60 })).await.unwrap();
}

#[tokio::test]
async fn a_remembered_jwt_is_not_taken_beyond_its_end() {
    let stage = stage();
    let jwt = stage.jwt(json!({ "exp": NOW_S }));
    stage.oidc.identify(&jwt).await.unwrap();
    stage.pass_s(59);
    stage.oidc.identify(&jwt).await.unwrap();
    stage.pass_s(1);
    assert_refused(refusal(stage.oidc.identify(&jwt).await), 401, "expired");
}

#[tokio::test]
async fn a_foreign_jwt_is_refused_without_names() {
    let stage = stage();
    for audience in [json!("other"), json!(["x", "y"]), json!(null), json!(7)] {
        let refusal = stage.refusal(json!({ "aud": audience })).await;
        assert!(!refusal.1.contains(AUDIENCE), "{refusal:?}");
        assert_refused(refusal, 401, "another audience");
    }
    stage.identify(json!({ "aud": ["x", AUDIENCE] })).await.unwrap();
    for issuer in [json!("http://else.example.com"), json!(format!("{}/", stage.issuer.url())), json!(null)] {
        let refusal = stage.refusal(json!({ "iss": issuer })).await;
        assert!(!refusal.1.contains("127.0.0.1"), "{refusal:?}");
        assert_refused(refusal, 401, "not from the trusted issuer");
    }
}

#[tokio::test]
async fn a_foreign_jwt_triggers_no_request() {
    let stage = stage();
    stage.refusal(json!({ "iss": "http://else.example.com" })).await;
    for text in ["", "a.b", "a.b.c", "lakeport", "e30.e30.", "....", &"x".repeat(JWT_MAX_BYTES + 1)] {
        assert_eq!(stage.oidc.identify(text).await.unwrap_err().status(), 401, "{text}");
    }
    assert_eq!(stage.issuer.times_asked(), 0);
}

#[tokio::test]
async fn unsigned_and_hmac_jwts_are_refused() {
    let key = SigningKey::rsa("k1");
    let stage = stage_with(key, |_| ());
    stage.identify(json!({})).await.unwrap();
    let public = URL_SAFE_NO_PAD.decode(stage.key.jwk()["n"].as_str().unwrap()).unwrap();
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let claims = part(merged(stage.claims(), json!({ "lakeport_role": "admin" })));
    for algorithm in ["HS256", "none", "None", "rs256", ""] {
        let signed = format!("{}.{claims}", part(json!({ "alg": algorithm, "kid": "k1" })));
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &public), signed.as_bytes());
        for signature in [tag.as_ref(), b""] {
            let jwt = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature));
            assert_refused(refusal(stage.oidc.identify(&jwt).await), 401, "unsupported JWT algorithm");
        }
    }
}

#[tokio::test]
async fn an_algorithm_must_fit_the_key_that_it_names() {
    let (ec, rsa) = (SigningKey::es256("ec"), SigningKey::rsa("rsa"));
    let stage = stage();
    let mut only_ps = rsa.jwk();
    only_ps["alg"] = "PS256".into();
    stage.issuer.publish_documents(&json!({ "keys": [ec.jwk(), only_ps] }));
    for (key, algorithm, id) in
        [(&ec, "RS256", "ec"), (&rsa, "ES256", "rsa"), (&rsa, "RS256", "rsa"), (&ec, "ES384", "ec")]
    {
        let jwt = key.sign_as(&json!({ "alg": algorithm, "kid": id }), &stage.claims());
        assert_refused(refusal(stage.oidc.identify(&jwt).await), 401, "does not publish");
    }
    let jwt = rsa.sign_as(&json!({ "alg": "PS256", "kid": "rsa" }), &stage.claims());
    stage.oidc.identify(&jwt).await.unwrap();
}

#[tokio::test]
async fn unusable_jwks_keys_are_ignored() {
    let stage = stage();
    let mut encrypting = stage.key.jwk();
    encrypting["use"] = "enc".into();
    let documents =
        json!({ "keys": [encrypting, { "kty": "oct", "k": "AAAA", "kid": "k1" }, 7, { "kty": "RSA" }] });
    stage.issuer.publish_documents(&documents);
    assert_refused(stage.refusal(json!({})).await, 503, "are unavailable");
}

#[tokio::test]
async fn a_key_that_contradicts_itself_does_not_count() {
    let stage = stage_with(SigningKey::es256("k1"), |_| ());
    let good = stage.key.jwk();
    let part = |name: &str| URL_SAFE_NO_PAD.decode(good[name].as_str().unwrap()).unwrap();
    let point = [part("x"), part("y")].concat();
    let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    for changes in [
        json!({ "crv": "P-384", "alg": "ES256" }),
        json!({ "crv": "P-521" }),
        json!({ "crv": "secp256k1" }),
        json!({ "kty": "OKP", "crv": "P-256" }),
        // The same 64 bytes, cut elsewhere.
        json!({ "x": encode(&point[..16]), "y": encode(&point[16..]) }),
        json!({ "key_ops": ["encrypt"] }),
        json!({ "use": "enc" }),
        json!({ "alg": "ES384" }),
        json!({ "alg": "made up" }),
    ] {
        stage.issuer.publish_documents(&json!({ "keys": [merged(good.clone(), changes.clone())] }));
        let refused = stage.identify(json!({})).await.unwrap_err();
        assert!([401, 503].contains(&refused.status()), "{changes}: {refused}");
        stage.pass_s(10);
    }
    stage.issuer.publish_documents(&json!({ "keys": [merged(good, json!({ "key_ops": ["verify"] }))] }));
    stage.identify(json!({})).await.unwrap();
}

#[tokio::test]
async fn keys_with_padding_and_leading_zeros_are_read() {
    let stage = stage_with(SigningKey::rsa("k1"), |_| ());
    let mut key = stage.key.jwk();
    let modulus = URL_SAFE_NO_PAD.decode(key["n"].as_str().unwrap()).unwrap();
    key["n"] = format!("{}=", URL_SAFE_NO_PAD.encode([&[0], &modulus[..]].concat())).into();
    stage.issuer.publish_documents(&json!({ "keys": [key] }));
    stage.identify(json!({})).await.unwrap();
}

/// The signature verifies under its key, which has only 1024 bits.
#[test]
fn a_short_rsa_key_has_signed_nothing() {
    const MODULUS: &str = concat!(
        "4y5pClZ9ZbWDSXPUxRO-K35I0mFBf4sXDU7wphgSALAfr0jP3HLtFQLgw665YZXPKUGnljpsBLqWXLKK84rNTgqvXFeA",
        "uuZbXJjPJ-nbbGBAGSbm2-gR9SEmgpjj3joNHwyRT9_h6qYcX7LMQsKE8Sm23Wnhj2uC6KDz0saw5w8"
    );
    const JWT: &str = concat!(
        "eyJhbGciOiJSUzI1NiJ9.e30.ynhqBUZXyhiCfHSLtiafnS7nvPiVfoy8D_QV3T1poEN1PJbWWjbvaU7Aw0-mUde5dHF4",
        "Bq2XP3oidl2EDv73GRG3mk_LxkywrU34XefT909597bwKvE1E5KeFL0IPF43rsvrV5x44JcPnWXiyp8tUkvO-DeDLh5ukSND",
        "QhUKP8w"
    );
    let jws = Jws::parse(JWT).unwrap();
    let bare = RsaPublicKeyComponents { n: URL_SAFE_NO_PAD.decode(MODULUS).unwrap(), e: vec![1, 0, 1] };
    let legacy = &RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY;
    bare.verify(legacy, jws.signed.as_bytes(), &jws.signature).unwrap();
    let document = json!({ "kty": "RSA", "n": MODULUS, "e": "AQAB" });
    let key = PublicKey::from_document(serde_json::from_value(document).unwrap()).unwrap();
    assert!(key.fits(&jws) && !key.has_signed(&jws));
}

#[tokio::test]
async fn a_header_with_a_repeated_member_is_refused() {
    let stage = stage();
    let claims = URL_SAFE_NO_PAD.encode(stage.claims().to_string());
    for header in [
        r#"{"alg":"EdDSA","alg":"EdDSA"}"#,
        r#"{"alg":"EdDSA","kid":"k1","kid":"k1"}"#,
        r#"{"crit":0,"crit":0}"#,
    ] {
        let jwt = format!("{}.{claims}.AAAA", URL_SAFE_NO_PAD.encode(header));
        assert_refused(refusal(stage.oidc.identify(&jwt).await), 401, "signed JWT");
    }
    assert_eq!(stage.issuer.times_asked(), 0);
}

#[tokio::test]
async fn a_forged_signature_is_refused() {
    let stage = stage();
    let stranger = SigningKey::ed25519("k1");
    assert_refused(refusal(stage.oidc.identify(&stranger.sign(&stage.claims())).await), 401, "signature");
    let (good, other) = (stage.jwt(json!({})), stage.jwt(json!({ "lakeport_role": "admin" })));
    let signature = good.rsplit_once('.').unwrap().1;
    let mixed = format!("{}.{signature}", other.rsplit_once('.').unwrap().0);
    assert_refused(refusal(stage.oidc.identify(&mixed).await), 401, "signature");
}

#[tokio::test]
async fn headers_that_mean_something_else_are_refused() {
    let stage = stage();
    let of = |header: Value| stage.key.sign_as(&header, &stage.claims());
    for (header, part) in [
        (json!({ "alg": "EdDSA", "kid": "k1", "crit": ["b64"] }), "crit"),
        (json!({ "alg": "EdDSA", "kid": "k1", "typ": "logout+jwt" }), "type"),
        (json!({ "alg": 7 }), "signed JWT"),
    ] {
        assert_refused(refusal(stage.oidc.identify(&of(header)).await), 401, part);
    }
    stage.oidc.identify(&of(json!({ "alg": "EdDSA", "typ": "at+JWT", "kid": "k1" }))).await.unwrap();
}

#[tokio::test]
async fn a_jwt_without_kid_tries_fitting_keys() {
    let stage = stage();
    let other = SigningKey::ed25519("k0");
    stage.issuer.publish(&[&other, &stage.key]);
    let jwt = stage.key.sign_as(&json!({ "alg": "EdDSA" }), &stage.claims());
    stage.oidc.identify(&jwt).await.unwrap();
    let stranger = SigningKey::ed25519("x").sign_as(&json!({ "alg": "EdDSA" }), &stage.claims());
    assert_refused(refusal(stage.oidc.identify(&stranger).await), 401, "does not publish");
}

#[tokio::test]
async fn new_keys_are_fetched_old_ones_dropped() {
    let stage = stage();
    stage.identify(json!({})).await.unwrap();
    let next = SigningKey::es256("k2");
    stage.issuer.publish(&[&next]);
    stage.pass_s(10);
    stage.oidc.identify(&next.sign(&stage.claims())).await.unwrap();
    assert_eq!(stage.issuer.times_asked(), 2);
    assert_refused(stage.refusal(json!({ "jti": "not remembered" })).await, 401, "does not publish");
}

#[tokio::test]
async fn unknown_key_ids_do_not_flood_issuer() {
    let stage = stage();
    stage.identify(json!({})).await.unwrap();
    stage.pass_s(10);
    for number in 0..50 {
        let jwt = stage.key.sign_as(&json!({ "alg": "EdDSA", "kid": format!("x{number}") }), &stage.claims());
        assert_refused(refusal(stage.oidc.identify(&jwt).await), 401, "does not publish");
    }
    assert_eq!(stage.issuer.times_asked(), 2);
    stage.identify(json!({ "jti": "the good key still does" })).await.unwrap();
}

#[tokio::test]
async fn many_requests_at_the_same_time_ask_the_issuer_once() {
    let stage = stage();
    let jwts: Vec<String> = (0..20).map(|number| stage.jwt(json!({ "jti": number }))).collect();
    let all = jwts.iter().map(|jwt| stage.oidc.identify(jwt));
    assert!(futures_util::future::join_all(all).await.iter().all(Result::is_ok));
    assert_eq!(stage.issuer.times_asked(), 1);
}

#[tokio::test]
async fn without_its_issuer_keys_last_a_day() {
    const HOUR_S: i64 = 3600;
    let stage = stage();
    let forever = json!({ "exp": NOW_S + 1_000_000 });
    stage.identify(forever.clone()).await.unwrap();
    stage.issuer.set_failing(true);
    stage.pass_s(2 * HOUR_S);
    stage.identify(forever.clone()).await.unwrap();
    assert_eq!(stage.issuer.times_asked(), 2, "keys older than an hour are asked for again");
    stage.pass_s(21 * HOUR_S);
    stage.identify(forever.clone()).await.unwrap();
    stage.pass_s(HOUR_S);
    let error = stage.identify(forever.clone()).await.unwrap_err();
    assert_eq!((error.status(), error.code()), (503, "oidc_unreachable"));
    let Error::Refused(refusal) = error else { panic!("a refusal") };
    assert_eq!(refusal.retry_after_s, Some(10));
    stage.issuer.set_failing(false);
    stage.pass_s(10);
    stage.identify(forever).await.unwrap();
}

#[tokio::test]
async fn a_failing_issuer_is_not_asked_repeatedly() {
    let stage = stage();
    stage.issuer.set_failing(true);
    for _ in 0..5 {
        assert_refused(stage.refusal(json!({})).await, 503, "are unavailable");
    }
    assert_eq!(stage.issuer.times_asked(), 1);
}

#[tokio::test]
async fn an_unknown_key_without_issuer_is_503() {
    let stage = stage();
    stage.identify(json!({})).await.unwrap();
    stage.issuer.set_failing(true);
    stage.pass_s(10);
    let next = SigningKey::es256("k2").sign(&stage.claims());
    assert_refused(refusal(stage.oidc.identify(&next).await), 503, "are unavailable");
}

#[tokio::test]
async fn an_issuer_that_calls_itself_something_else_is_not_believed() {
    let stage = stage();
    stage.issuer.say("issuer", "http://else.example.com");
    assert_refused(stage.refusal(json!({})).await, 503, "are unavailable");
}

#[tokio::test]
async fn keys_from_unlisted_internal_addresses_are_refused() {
    let stage = stage();
    let elsewhere = Issuer::start(&[&stage.key]);
    for address in [elsewhere.url(), "http://169.254.169.254".to_owned(), "http://localhost:1".to_owned()] {
        stage.issuer.say("jwks_uri", &format!("{address}/keys"));
        let refusal = stage.refusal(json!({})).await;
        assert!(!refusal.1.contains("169.254"), "{refusal:?}");
        assert_refused(refusal, 503, "are unavailable");
        stage.pass_s(10);
    }
    assert_eq!(elsewhere.times_asked(), 0);
}

#[tokio::test]
async fn the_highest_role_counts_wherever_the_claim_is() {
    let stage = stage_with(SigningKey::ed25519("k1"), |settings| {
        settings.role_claim = "realm_access.roles".to_owned();
    });
    let with = |roles: Value| json!({ "lakeport_role": null, "realm_access": { "roles": roles } });
    for (roles, role) in [
        (json!(["viewer", "admin", "offline_access"]), Role::Admin),
        (json!(["approver"]), Role::Approver),
        (json!("viewer"), Role::Viewer),
        (json!("openid viewer editor"), Role::Editor),
    ] {
        assert_eq!(stage.identify(with(roles)).await.unwrap().role, role);
    }
    for roles in [json!([]), json!(["owner"]), json!("Admin"), json!(7), json!(["anyone"])] {
        let error = stage.identify(with(roles)).await.unwrap_err();
        assert_eq!(error.code(), "role_claim_missing");
        assert_refused((error.status(), error.to_string()), 403, "`realm_access.roles` has no role");
    }
    let missing = stage.refusal(json!({ "realm_access": null })).await;
    assert_refused(missing, 403, "`realm_access.roles` is missing");
}

#[tokio::test]
async fn a_claim_may_have_dots_in_its_name() {
    let stage = stage_with(SigningKey::ed25519("k1"), |settings| {
        settings.role_claim = "https://example.com/roles".to_owned();
    });
    let identity = stage.identify(json!({ "https://example.com/roles": ["admin"] })).await.unwrap();
    assert_eq!(identity.role, Role::Admin);
}

#[tokio::test]
async fn the_name_falls_back_and_cannot_break_a_line() {
    let stage = stage();
    let name = async |changes: Value| stage.identify(changes).await.unwrap().name;
    assert_eq!(name(json!({})).await, "u1");
    assert_eq!(name(json!({ "email": "a@example.com" })).await, "a@example.com");
    assert_eq!(name(json!({ "preferred_username": "a\n\u{1b}[2Jb", "email": "e" })).await, "a[2Jb");
    assert_eq!(name(json!({ "preferred_username": "x".repeat(1000) })).await.len(), 200);
}

#[tokio::test]
async fn a_malformed_datasources_claim_is_refused() {
    let stage = stage();
    for wrong in [json!(7), json!(["a", 7]), json!({ "a": 1 }), json!(vec!["x"; 1001])] {
        assert_refused(
            stage.refusal(json!({ "lakeport_datasources": wrong })).await,
            403,
            "`lakeport_datasources`",
        );
    }
    for subject in [json!(null), json!(""), json!(7), json!("x".repeat(256))] {
        assert_refused(stage.refusal(json!({ "sub": subject })).await, 401, "`sub`");
    }
}

#[test]
fn an_issuer_that_is_no_address_is_refused_at_start() {
    let client = HttpClient::new(Policy::default(), None).unwrap();
    let open = |issuer: &str| Oidc::open(&settings(issuer), &client, Clock::system());
    for wrong in ["", "login.example.com", "ftp://x/y", "https://u:p@x", "https://x?y=1", "https://"] {
        assert!(open(wrong).is_err(), "{wrong}");
    }
    assert!(open("https://login.example.com/realms/company").unwrap().is_some());
    let none = OidcSettings { issuer: None, ..settings("") };
    assert!(Oidc::open(&none, &client, Clock::system()).unwrap().is_none());
}

/// A sign-in that was begun: what is kept, and the parameters that the browser takes to the issuer.
async fn begun(stage: &Stage) -> (Pending, HashMap<String, String>) {
    let (address, pending) =
        stage.oidc.begin("http://127.0.0.1:1/api/v1/session/oidc/callback").await.unwrap();
    let (endpoint, query) = address.split_once("?prompt=login&").expect("the endpoint's own query stays");
    assert_eq!(endpoint, format!("{}/authorize", stage.issuer.url()));
    let sent = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    (pending, sent)
}

fn signing_in() -> Stage {
    stage_with(SigningKey::ed25519("k1"), |settings| {
        settings.client_id = Some("console".to_owned());
        settings.client_secret = Some(Hidden("a+b/ c".to_owned()));
    })
}

/// The claims of an ID token that answers the sign-in.
fn of_sign_in(stage: &Stage, sent: &HashMap<String, String>) -> Value {
    merged(stage.claims(), json!({ "aud": "console", "nonce": sent["nonce"], "preferred_username": "ada" }))
}

#[tokio::test]
async fn a_sign_in_proves_who_began_it() {
    let stage = signing_in();
    let (pending, sent) = begun(&stage).await;
    assert_eq!(sent["response_type"], "code");
    assert_eq!((sent["client_id"].as_str(), sent["scope"].as_str()), ("console", "openid"));
    assert_eq!((&sent["state"], sent["code_challenge_method"].as_str()), (&pending.state, "S256"));
    let (other, _) = begun(&stage).await;
    assert_ne!(other.state, pending.state);

    let id_token = stage.key.sign(&of_sign_in(&stage, &sent));
    stage.issuer.give_tokens(200, json!({ "id_token": id_token, "access_token": "opaque" }));
    let identity = stage.oidc.finish(&pending, "the code").await.unwrap();
    assert_eq!(
        (identity.subject.as_str(), identity.name.as_str(), identity.role),
        ("u1", "ada", Role::Editor)
    );

    let (account, body) = stage.issuer.last_exchange().expect("it was asked");
    let sent_then: HashMap<String, String> = form_urlencoded::parse(body.as_bytes()).into_owned().collect();
    assert_eq!(
        (sent_then["grant_type"].as_str(), sent_then["code"].as_str()),
        ("authorization_code", "the code")
    );
    assert_eq!(sent_then["redirect_uri"], sent["redirect_uri"]);
    assert_eq!(URL_SAFE_NO_PAD.encode(Sha256::digest(&sent_then["code_verifier"])), sent["code_challenge"]);
    let account =
        base64::engine::general_purpose::STANDARD.decode(account.trim_start_matches("Basic ")).unwrap();
    assert_eq!(String::from_utf8(account).unwrap(), "console:a%2Bb%2F+c");
}

#[tokio::test]
async fn an_access_token_for_this_server_has_the_rights() {
    let stage = signing_in();
    let (pending, sent) = begun(&stage).await;
    let id_token = stage.key.sign(&merged(of_sign_in(&stage, &sent), json!({ "lakeport_role": null })));
    let access_token = stage.jwt(json!({ "lakeport_role": "admin" }));
    stage.issuer.give_tokens(200, json!({ "id_token": id_token, "access_token": access_token }));
    assert_eq!(stage.oidc.finish(&pending, "c").await.unwrap().role, Role::Admin);
    let foreign = stage.jwt(json!({ "lakeport_role": "admin", "sub": "another" }));
    stage.issuer.give_tokens(200, json!({ "id_token": id_token, "access_token": foreign }));
    assert_refused(refusal(stage.oidc.finish(&pending, "c").await), 401, "two people");
    let elsewhere = stage.jwt(json!({ "lakeport_role": "admin", "aud": "another" }));
    stage.issuer.give_tokens(200, json!({ "id_token": id_token, "access_token": elsewhere }));
    assert_refused(refusal(stage.oidc.finish(&pending, "c").await), 403, "lakeport_role");
}

/// The ID token, in which absent data sources mean all, must not stand in for what the access token says.
#[tokio::test]
async fn an_access_token_that_is_refused_ends_the_sign_in() {
    let stage = signing_in();
    let (pending, sent) = begun(&stage).await;
    let id_token = stage.key.sign(&merged(of_sign_in(&stage, &sent), json!({ "lakeport_role": "admin" })));
    let refusals = [
        (json!({ "lakeport_role": "viewer", "lakeport_datasources": { "a": 1 } }), "list of at most"),
        (json!({ "lakeport_role": null, "lakeport_datasources": ["a"] }), "lakeport_role"),
    ];
    for (change, why) in refusals {
        let tokens = json!({ "id_token": id_token, "access_token": stage.jwt(change) });
        stage.issuer.give_tokens(200, tokens);
        assert_refused(refusal(stage.oidc.finish(&pending, "c").await), 403, why);
    }
    let bearer = refusal(stage.oidc.identify(&id_token).await);
    assert_refused(bearer, 401, "audience");
}

#[tokio::test]
async fn tokens_of_another_sign_in_are_refused() {
    let stage = signing_in();
    let (pending, sent) = begun(&stage).await;
    let usual = of_sign_in(&stage, &sent);
    let changes = [
        (json!({ "nonce": "another" }), "nonce"),
        (json!({ "nonce": null }), "nonce"),
        (json!({ "aud": "another" }), "audience"),
        (json!({ "azp": "another" }), "azp"),
        (json!({ "exp": NOW_S - 3_600 }), "expired"),
        (json!({ "iss": "http://another.example" }), "trusted issuer"),
    ];
    for (change, why) in changes {
        let id_token = stage.key.sign(&merged(usual.clone(), change));
        stage.issuer.give_tokens(200, json!({ "id_token": id_token }));
        assert_refused(refusal(stage.oidc.finish(&pending, "c").await), 401, why);
    }
    let stranger = SigningKey::ed25519("k1").sign(&usual);
    stage.issuer.give_tokens(200, json!({ "id_token": stranger }));
    assert_refused(refusal(stage.oidc.finish(&pending, "c").await), 401, "signature");
    stage.issuer.give_tokens(200, json!({ "access_token": stage.jwt(json!({})) }));
    assert_refused(refusal(stage.oidc.finish(&pending, "c").await), 401, "no ID token");
    stage.issuer.give_tokens(400, json!({ "error": "invalid_grant", "error_description": "used" }));
    assert_refused(refusal(stage.oidc.finish(&pending, "c").await), 401, "invalid_grant used");
    stage.issuer.give_tokens(500, json!({}));
    assert_refused(refusal(stage.oidc.finish(&pending, "c").await), 503, "unavailable");
}

#[tokio::test]
async fn endpoints_are_read_once_an_hour_and_kept_while_the_issuer_fails() {
    let stage = signing_in();
    stage.issuer.set_failing(true);
    let refused = stage.oidc.begin("http://h/api/v1/session/oidc/callback").await.map(drop).unwrap_err();
    assert_eq!((refused.status(), refused.code()), (503, "oidc_unreachable"));
    stage.issuer.set_failing(false);
    assert!(stage.oidc.begin("http://h/").await.is_err(), "it is not asked again at once");
    stage.pass_s(11);
    begun(&stage).await;
    begun(&stage).await;
    assert_eq!(stage.issuer.times_asked(), 2);
    stage.pass_s(3_700);
    stage.issuer.set_failing(true);
    begun(&stage).await;
    assert_eq!(stage.issuer.times_asked(), 3);
    let none = stage_with(SigningKey::ed25519("k1"), |_| ());
    assert_eq!(none.oidc.begin("http://h/").await.map(drop).unwrap_err().status(), 404);
    assert_eq!((none.oidc.signs_in_at(), stage.oidc.signs_in_at().as_deref()), (None, Some("127.0.0.1")));
}
