//! An OIDC issuer on loopback: discovery, published keys, and JWTs signed with them. A test can make it
//! misbehave: fail, publish other keys, use another name.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{self, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RsaEncoding, RsaKeyPair};
use serde_json::{Value, json};

/// How long a client may take to send its request.
const READ_MAX: Duration = Duration::from_secs(5);
const DISCOVERY: &str = "/.well-known/openid-configuration";
const KEYS: &str = "/keys";
const AUTHORIZE: &str = "/authorize?prompt=login";
const TOKEN: &str = "/token";
const RSA_PEM: &str = include_str!("../data/test-only-rsa.pem");

/// An issuer that listens until it is dropped.
pub struct Issuer {
    address: SocketAddr,
    state: Arc<State>,
    listening: Option<JoinHandle<()>>,
}

struct State {
    discovery: Mutex<Value>,
    keys: Mutex<Value>,
    /// The status and the body that codes get.
    tokens: Mutex<(u16, Value)>,
    /// What was sent with codes: `Authorization` and the body.
    exchanges: Mutex<Vec<(String, String)>>,
    fails: AtomicBool,
    stops: AtomicBool,
    asked: AtomicUsize,
}

impl Issuer {
    /// Publishes these keys.
    pub fn start(keys: &[&SigningKey]) -> Issuer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it listens");
        let url = format!("http://{address}");
        let state = Arc::new(State {
            discovery: Mutex::new(json!({
                "issuer": url,
                "jwks_uri": format!("{url}{KEYS}"),
                "authorization_endpoint": format!("{url}{AUTHORIZE}"),
                "token_endpoint": format!("{url}{TOKEN}"),
            })),
            keys: Mutex::default(),
            tokens: Mutex::new((400, json!({ "error": "invalid_grant" }))),
            exchanges: Mutex::default(),
            fails: AtomicBool::new(false),
            stops: AtomicBool::new(false),
            asked: AtomicUsize::new(0),
        });
        let shared = Arc::clone(&state);
        let listening = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.stops.load(Ordering::Acquire) {
                    return;
                }
                // A client that disconnects does not affect others.
                let _ = stream.and_then(|stream| shared.answer(stream));
            }
        });
        let issuer = Issuer { address, state, listening: Some(listening) };
        issuer.publish(keys);
        issuer
    }

    /// Its own name.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Replaces the published keys.
    pub fn publish(&self, keys: &[&SigningKey]) {
        let keys: Vec<Value> = keys.iter().map(|key| key.jwk()).collect();
        self.publish_documents(&json!({ "keys": keys }));
    }

    /// Publishes this instead of keys.
    pub fn publish_documents(&self, documents: &Value) {
        *lock(&self.state.keys) = documents.clone();
    }

    /// Sets a member of its discovery: `issuer`, `jwks_uri`.
    pub fn say(&self, member: &str, value: &str) {
        lock(&self.state.discovery)[member] = value.into();
    }

    /// Answers codes with this from now on.
    pub fn give_tokens(&self, status: u16, tokens: Value) {
        *lock(&self.state.tokens) = (status, tokens);
    }

    /// What was sent with the last code: `Authorization`, if any, and the body.
    pub fn last_exchange(&self) -> Option<(String, String)> {
        lock(&self.state.exchanges).last().cloned()
    }

    /// Whether it answers every request with 500.
    pub fn set_failing(&self, fails: bool) {
        self.state.fails.store(fails, Ordering::Release);
    }

    /// How often discovery was requested.
    pub fn times_asked(&self) -> usize {
        self.state.asked.load(Ordering::Acquire)
    }

    /// Claims that are valid for an hour from now; a test changes what it is about.
    pub fn claims(&self, subject: &str, audience: &str, role: &str) -> Value {
        let now_s = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |past| past.as_secs());
        self.claims_at(now_s, subject, audience, role)
    }

    /// The same from another time on (seconds since 1970).
    pub fn claims_at(&self, now_s: u64, subject: &str, audience: &str, role: &str) -> Value {
        json!({
            "iss": self.url(), "sub": subject, "aud": audience, "lakeport_role": role,
            "iat": now_s, "nbf": now_s, "exp": now_s + 3600,
        })
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.state.stops.store(true, Ordering::Release);
        // Wakes the listener, so that it sees the stop flag.
        let _ = TcpStream::connect(self.address);
        if let Some(listening) = self.listening.take() {
            // It has no result.
            let _ = listening.join();
        }
    }
}

impl State {
    fn answer(&self, mut stream: TcpStream) -> std::io::Result<()> {
        stream.set_read_timeout(Some(READ_MAX))?;
        let mut head = Vec::new();
        let mut part = [0; 1024];
        while !head.windows(4).any(|four| four == b"\r\n\r\n") {
            match stream.read(&mut part)? {
                0 => return Ok(()),
                length => head.extend_from_slice(&part[..length]),
            }
        }
        let end = head.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or_default() + 4;
        let mut body = head.split_off(end);
        let head = String::from_utf8_lossy(&head);
        let header = |name: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once(": "));
            lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
        };
        let length = header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        while body.len() < length {
            match stream.read(&mut part)? {
                0 => return Ok(()),
                more => body.extend_from_slice(&part[..more]),
            }
        }
        let path = head.split(' ').nth(1).unwrap_or_default();
        if path == DISCOVERY {
            self.asked.fetch_add(1, Ordering::AcqRel);
        }
        let (status, body) = match path {
            _ if self.fails.load(Ordering::Acquire) => (500, json!({})),
            DISCOVERY => (200, lock(&self.discovery).clone()),
            KEYS => (200, lock(&self.keys).clone()),
            TOKEN => {
                let body = String::from_utf8_lossy(&body).into_owned();
                lock(&self.exchanges).push((header("authorization").unwrap_or_default(), body));
                lock(&self.tokens).clone()
            }
            _ => (404, json!({})),
        };
        let body = body.to_string();
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{body}"
        )
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A key that signs JWTs.
pub struct SigningKey {
    id: String,
    pair: Pair,
}

enum Pair {
    Rsa(RsaKeyPair),
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl SigningKey {
    /// Always the same key: generating one takes long.
    pub fn rsa(id: &str) -> SigningKey {
        let body: String = RSA_PEM
            .lines()
            .skip_while(|line| !line.starts_with("-----"))
            .filter(|l| !l.starts_with('-'))
            .collect();
        let pkcs8 = STANDARD.decode(body).expect("base64");
        SigningKey { id: id.to_owned(), pair: Pair::Rsa(RsaKeyPair::from_pkcs8(&pkcs8).expect("an RSA key")) }
    }

    pub fn es256(id: &str) -> SigningKey {
        SigningKey { id: id.to_owned(), pair: Pair::P256(ecdsa(&signature::ECDSA_P256_SHA256_FIXED_SIGNING)) }
    }

    pub fn es384(id: &str) -> SigningKey {
        SigningKey { id: id.to_owned(), pair: Pair::P384(ecdsa(&signature::ECDSA_P384_SHA384_FIXED_SIGNING)) }
    }

    pub fn ed25519(id: &str) -> SigningKey {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("random bytes");
        let pair = Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).expect("a key just made");
        SigningKey { id: id.to_owned(), pair: Pair::Ed25519(pair) }
    }

    /// The published form of the key.
    pub fn jwk(&self) -> Value {
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let mut jwk = json!({ "kid": self.id, "use": "sig" });
        let more = match &self.pair {
            Pair::Rsa(pair) => {
                let public = signature::RsaPublicKeyComponents::<Vec<u8>>::from(pair.public_key());
                json!({ "kty": "RSA", "n": encode(&public.n), "e": encode(&public.e) })
            }
            Pair::P256(pair) | Pair::P384(pair) => {
                let point = &pair.public_key().as_ref()[1..];
                let (x, y) = point.split_at(point.len() / 2);
                let (curve, algorithm) = if x.len() == 32 { ("P-256", "ES256") } else { ("P-384", "ES384") };
                json!({ "kty": "EC", "alg": algorithm, "crv": curve, "x": encode(x), "y": encode(y) })
            }
            Pair::Ed25519(pair) => {
                json!({ "kty": "OKP", "alg": "EdDSA", "crv": "Ed25519", "x": encode(pair.public_key().as_ref()) })
            }
        };
        let (Some(jwk_members), Value::Object(more)) = (jwk.as_object_mut(), more) else { return jwk };
        jwk_members.extend(more);
        jwk
    }

    /// A JWT with the key's usual algorithm.
    pub fn sign(&self, claims: &Value) -> String {
        let algorithm = match self.pair {
            Pair::Rsa(_) => "RS256",
            Pair::P256(_) => "ES256",
            Pair::P384(_) => "ES384",
            Pair::Ed25519(_) => "EdDSA",
        };
        self.sign_as(&json!({ "typ": "JWT", "alg": algorithm, "kid": self.id }), claims)
    }

    /// A JWT with any header. An RSA key signs with the header's algorithm, the others with their only one.
    pub fn sign_as(&self, header: &Value, claims: &Value) -> String {
        let encode = |part: &Value| URL_SAFE_NO_PAD.encode(part.to_string());
        let signed = format!("{}.{}", encode(header), encode(claims));
        let signature = self.signature(header["alg"].as_str().unwrap_or_default(), signed.as_bytes());
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    /// An HMAC with the public key as its secret, as an attacker who confuses the algorithms makes it.
    pub fn hmac_with_public_key(&self, text: &str) -> String {
        let public = self.jwk()["n"].as_str().unwrap_or_default().to_owned();
        let secret = URL_SAFE_NO_PAD.decode(public).expect("base64");
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &secret);
        URL_SAFE_NO_PAD.encode(ring::hmac::sign(&key, text.as_bytes()))
    }

    fn signature(&self, algorithm: &str, text: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Rsa(pair) => {
                let encoding: &dyn RsaEncoding = match algorithm {
                    "RS384" => &signature::RSA_PKCS1_SHA384,
                    "RS512" => &signature::RSA_PKCS1_SHA512,
                    "PS256" => &signature::RSA_PSS_SHA256,
                    _ => &signature::RSA_PKCS1_SHA256,
                };
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(encoding, &random, text, &mut signature).expect("the key is large enough");
                signature
            }
            Pair::P256(pair) | Pair::P384(pair) => {
                pair.sign(&random, text).expect("random bytes").as_ref().to_vec()
            }
            Pair::Ed25519(pair) => pair.sign(text).as_ref().to_vec(),
        }
    }
}

fn ecdsa(algorithm: &'static signature::EcdsaSigningAlgorithm) -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("random bytes");
    EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random).expect("a key just made")
}
