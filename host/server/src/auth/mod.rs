//! Authentication: tokens, the OIDC issuer, and local mode without either.
//!
//! Tokens are looked up in memory; the change log brings other processes' changes. Local mode ends with the
//! first token and does not return before a restart.

mod api;
mod limits;
mod session;
mod sign_in;
pub mod store;
pub mod token;

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::http::Method;
use ::http::header::AUTHORIZATION;
use ::http::request::Parts;
use arc_swap::ArcSwap;
use lakeport_base::Error;
use lakeport_http::{Caller, Identity, Nothing, Role, Route};
use lakeport_oidc::Oidc;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::core::{Core, stands_on_core};
use crate::part::{Part, Start, Worker};
pub use limits::RateLimit;
use store::Token;

/// The pause before a retry when the store failed.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// The longest time between two looks at the clock for whether a stream's caller has expired: the clock may be set.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(60);

/// The time between two looks at the key of sessions.
const KEY_INTERVAL: Duration = Duration::from_secs(5);

/// The change log's topic of tokens.
pub const TOPIC: &str = "tokens";

/// What a sign-in by a token or a JWT may answer.
const SIGN_IN_CODES: [&str; 6] = [
    session::HEADER_MISSING,
    "unauthenticated",
    "rate_limited",
    "invalid_claim",
    "role_claim_missing",
    "oidc_unreachable",
];

fn routes() -> Vec<Route<Auth>> {
    vec![
        Route::new(
            Method::GET,
            "/api/v1/me",
            Role::Viewer,
            "getMe",
            "Get the caller's identity and rights",
            api::me,
        )
        .scope(token::LINEAGE_WRITE),
        Route::new(
            Method::POST,
            "/api/v1/session",
            Role::Anyone,
            "signIn",
            "Sign in to the console: keeps the token in a cookie that scripts cannot read",
            session::sign_in,
        )
        .reading()
        .secret()
        .refuses(&SIGN_IN_CODES),
        Route::new(
            Method::GET,
            "/api/v1/session",
            Role::Anyone,
            "getSignInWays",
            "Get the ways to sign in to the console",
            sign_in::ways,
        ),
        Route::new(
            Method::GET,
            "/api/v1/session/oidc",
            Role::Anyone,
            "startOidcSignIn",
            "Sign in to the console at the OIDC issuer: sends the browser there",
            sign_in::start,
        )
        .refuses(&["not_found"]),
        Route::new(
            Method::GET,
            lakeport_oidc::CALLBACK_PATH,
            Role::Anyone,
            "finishOidcSignIn",
            "End a sign-in at the OIDC issuer, which sends the browser here with a code",
            sign_in::finish,
        )
        .refuses(&["not_found"]),
        Route::new(
            Method::DELETE,
            "/api/v1/session",
            Role::Anyone,
            "signOut",
            "Sign out of the console: removes the cookie",
            session::sign_out,
        )
        .reading()
        .refuses(&[session::HEADER_MISSING]),
        Route::new(Method::GET, "/api/v1/tokens", Role::Admin, "listTokens", "List tokens", api::list),
        Route::new(
            Method::POST,
            "/api/v1/tokens",
            Role::Admin,
            "createToken",
            "Create a token; its text is shown in this response only",
            api::create,
        )
        .secret()
        .refuses(&["datasource_not_allowed", "name_taken"]),
        Route::new(
            Method::DELETE,
            "/api/v1/tokens/{id}",
            Role::Admin,
            "revokeToken",
            "Revoke a token at once",
            api::revoke,
        )
        .refuses(&["datasource_not_allowed"]),
    ]
}

pub fn part() -> Part<Auth> {
    Part {
        tags: &[
            ("tokens", "Authentication and roles"),
            ("me", "Get the caller's identity and rights"),
            ("session", "Signing in to the console"),
        ],
        routes: routes(),
        workers: vec![Worker::new(Start::AtOnce, follow_tokens)],
        error_codes: &["invalid_claim", "role_claim_missing", "oidc_unreachable", session::HEADER_MISSING],
        ..Part::default()
    }
}

/// A request to this module.
pub type Call<P = Nothing, Q = Nothing, B = Nothing> = lakeport_http::Call<Auth, P, Q, B>;

stands_on_core!(Auth);

/// All valid identities.
pub struct Auth {
    core: Arc<Core>,
    tokens: ArcSwap<Tokens>,
    /// Told after each reload of the tokens.
    reloaded: watch::Sender<()>,
    /// There was no token at the start, and none has been created since.
    local_mode: AtomicBool,
    local: Arc<Caller>,
    anonymous: Arc<Caller>,
    oidc: Option<Oidc>,
    limit: RateLimit,
    /// The sign-ins at the issuer, by the addresses that browsers come from.
    sign_ins: RateLimit<IpAddr>,
    /// Allows one reload at a time: an older reading must not replace a newer one.
    reloading: tokio::sync::Mutex<()>,
}

/// The tokens that are not revoked.
#[derive(Default)]
struct Tokens {
    /// By the digest of their text.
    callers: HashMap<String, Arc<Caller>>,
    ids: HashSet<i64>,
}

impl Auth {
    pub async fn open(core: &Arc<Core>) -> anyhow::Result<Auth> {
        let config = &core.config;
        let oidc = Oidc::new(&config.oidc, &core.egress, config.egress_ca_file.as_deref(), &core.clock)?;
        let limit = RateLimit::new(config.rate_limit_per_s);
        let sign_ins = RateLimit::new(sign_in::PER_SECOND);
        let auth = Auth {
            core: Arc::clone(core),
            tokens: ArcSwap::default(),
            reloaded: watch::Sender::new(()),
            local_mode: AtomicBool::new(oidc.is_none()),
            local: Arc::new(Caller::local()),
            anonymous: Arc::new(Caller::anonymous()),
            oidc,
            limit,
            sign_ins,
            reloading: tokio::sync::Mutex::default(),
        };
        auth.reload().await?;
        Ok(auth)
    }

    /// Reloads all tokens. Expired tokens count: without them local mode would be active.
    pub async fn reload(&self) -> Result<(), Error> {
        let _reloading = self.reloading.lock().await;
        let tokens = store::live(&self.db).await?;
        if !tokens.is_empty() && self.local_mode.swap(false, Ordering::AcqRel) {
            tracing::info!("there is a token: from now on every request needs one");
        }
        let ids = tokens.iter().map(|token| token.id).collect();
        let caller = |token: Token| {
            let caller = Caller {
                identity: Identity::Token(token.id),
                name: token.name,
                role: token.role,
                datasources: token.datasources,
                scopes: token.scopes,
                expires_at_ms: token.expires_at_ms,
            };
            (token.digest, Arc::new(caller))
        };
        let callers = tokens.into_iter().map(caller).collect();
        self.tokens.store(Arc::new(Tokens { callers, ids }));
        self.reloaded.send_replace(());
        Ok(())
    }

    /// Resolves when the caller's token is revoked or has expired, or its JWT has; for a caller of local mode, when
    /// that ends; for one who signed in at the issuer, when the key of sessions changes.
    pub async fn ended(&self, caller: &Caller) {
        let mut reloaded = self.reloaded.subscribe();
        let is_oidc = matches!(caller.identity, Identity::Oidc(_));
        let key = is_oidc.then(|| self.keys.session_key());
        let interval = if is_oidc { KEY_INTERVAL } else { EXPIRY_INTERVAL };
        loop {
            let is_known = match caller.identity {
                Identity::Anonymous => true,
                Identity::Oidc(_) => key == Some(self.keys.session_key()),
                Identity::Local => self.is_local_mode(),
                Identity::Token(id) => self.tokens.load().ids.contains(&id),
            };
            let left_ms = caller.expires_at_ms.map(|end_ms| end_ms - self.clock.now_ms());
            if !is_known || left_ms.is_some_and(|left_ms| left_ms <= 0) {
                return;
            }
            let left = left_ms.map_or(interval, |left_ms| Duration::from_millis(left_ms.unsigned_abs()));
            // An error would mean that this, which holds the sender, is gone.
            let _ = timeout(left.min(interval), reloaded.changed()).await;
        }
    }

    /// Whether every caller from this machine is admin.
    pub fn is_local_mode(&self) -> bool {
        self.local_mode.load(Ordering::Acquire)
    }

    /// The rate limits.
    pub fn limit(&self) -> &RateLimit {
        &self.limit
    }

    /// Authenticates the sender of this request. In local mode 403 unless it comes from a program of this
    /// machine.
    pub async fn identify(
        &self,
        parts: &Parts,
        needed: Role,
        cors_origins: &[String],
    ) -> Result<Arc<Caller>, Error> {
        if self.is_local_mode() {
            lakeport_http::check_local(parts, cors_origins)?;
            return Ok(Arc::clone(&self.local));
        }
        if needed == Role::Anyone {
            return Ok(Arc::clone(&self.anonymous));
        }
        let caller = match session::token_of(parts, &self.config)? {
            Some(text) if text.starts_with(sign_in::PREFIX) => Arc::new(sign_in::caller_of(self, text)?),
            Some(text) => self.caller_of(text).await?,
            None => self.caller_of(bearer_text(parts)?).await?,
        };
        self.limit.admit(&caller.identity, self.clock.now_ms())?;
        Ok(caller)
    }

    /// The caller with this token or JWT.
    async fn caller_of(&self, text: &str) -> Result<Arc<Caller>, Error> {
        if let Some(caller) = self.tokens.load().callers.get(&token::digest(text)) {
            return match caller.expires_at_ms {
                Some(end) if end <= self.clock.now_ms() => {
                    Err(Error::unauthenticated("the token has expired; ask an admin for a new one"))
                }
                _ => Ok(Arc::clone(caller)),
            };
        }
        match &self.oidc {
            Some(oidc) if !text.starts_with(token::PREFIX) => {
                let identity = oidc.identify(text).await?;
                Ok(Arc::new(Caller {
                    identity: Identity::Oidc(identity.subject),
                    name: identity.name,
                    role: identity.role,
                    datasources: identity.datasources,
                    scopes: Vec::new(),
                    expires_at_ms: Some(identity.expires_at_ms),
                }))
            }
            _ => Err(Error::unauthenticated("the token is not known here, or was revoked")),
        }
    }

    /// Fails if other machines could connect without authentication.
    pub fn refuse_wide_listening(&self, address: SocketAddr) -> anyhow::Result<()> {
        if self.is_local_mode() { refuse_wide_listening(address) } else { Ok(()) }
    }
}

/// Without configured tokens: fails if other machines could connect.
pub fn refuse_wide_listening(address: SocketAddr) -> anyhow::Result<()> {
    if address.ip().is_loopback() {
        return Ok(());
    }
    anyhow::bail!(
        "listen is {address}, which other machines can reach, and no token is configured: anyone could do \
         anything. Make a token first (`lakeport token create --role admin --name NAME`, with the same \
         --data-dir or --database-url), or listen on 127.0.0.1:{}",
        address.port()
    )
}

/// Subscribes before it reloads the tokens, so that no change since the first load is missed.
async fn follow_tokens(auth: Arc<Auth>) {
    let mut changed = auth.changes.subscribe(TOPIC);
    loop {
        // Retries until it succeeds: a revoked token must not stay valid because the store was unavailable.
        while let Err(error) = auth.reload().await {
            tracing::error!("the tokens could not be read again: {error}");
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
        if changed.next().await.is_none() {
            return;
        }
    }
}

fn bearer_text(parts: &Parts) -> Result<&str, Error> {
    let Some(value) = parts.headers.get(AUTHORIZATION) else {
        return Err(Error::unauthenticated("no token was sent; send `Authorization: Bearer <token>`"));
    };
    let text = value.to_str().ok().and_then(|text| text.split_once(' '));
    match text {
        Some((scheme, text)) if scheme.eq_ignore_ascii_case("bearer") && !text.trim().is_empty() => {
            Ok(text.trim())
        }
        _ => Err(Error::unauthenticated("Authorization must be `Bearer <token>`")),
    }
}
