//! Handlers of tokens and of `me`.

use chrono_tz::Tz;
use lakeport_base::error::{Detail, Error};
use lakeport_base::time;
use lakeport_http::form::Draft;
use lakeport_http::{Caller, Data, Nothing, Role};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::store::{self, NewToken, Token};
use super::{TOPIC, token};
use crate::audit::{Change, Commit};
use crate::auth::{Auth, Call};
use crate::datasources;

/// A token, without its text.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Token")]
pub struct TokenView {
    id: i64,
    name: String,
    role: Role,
    /// Names of the data sources that it is restricted to; null: all.
    datasources: Option<Vec<String>>,
    scopes: Vec<String>,
    expires_at: Option<String>,
    created_at: String,
}

/// A new token with its text, which is shown only once.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedToken {
    #[serde(flatten)]
    of: TokenView,
    token: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateToken {
    /// Stands in the audit log; no two live tokens share one.
    #[schemars(length(min = 1, max = token::NAME_MAX_CHARS))]
    name: String,
    role: Role,
    /// Names of the data sources that it is restricted to; absent: all.
    #[schemars(length(max = token::DATASOURCES_MAX))]
    datasources: Option<Vec<String>>,
    /// `lineage:write`: it may only send OpenLineage events.
    scopes: Option<Vec<String>>,
    /// yyyy-MM-dd HH:mm:ss; absent: never.
    expires_at: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub struct TokenPath {
    id: i64,
}

impl TokenView {
    fn new(token: &Token, zone: Tz) -> TokenView {
        TokenView {
            id: token.id,
            name: token.name.clone(),
            role: token.role,
            datasources: token.datasources.clone(),
            scopes: token.scopes.clone(),
            expires_at: token.expires_at_ms.map(|at| time::shown(at, zone)),
            created_at: time::shown(token.created_at_ms, zone),
        }
    }
}

/// `GET /api/v1/tokens`
pub async fn list(call: Call) -> Result<Data<Vec<TokenView>>, Error> {
    let zone = call.state.config.time_zone;
    let tokens = store::live(&call.state.db).await?;
    Ok(Data::new(&tokens.iter().map(|token| TokenView::new(token, zone)).collect()))
}

/// `POST /api/v1/tokens`
pub async fn create(call: Call<Nothing, Nothing, Draft<CreateToken>>) -> Result<Data<CreatedToken>, Error> {
    let (state, body) = (&call.state, call.body.read());
    let (zone, now_ms) = (state.config.time_zone, state.clock.now_ms());
    let scopes = body.scopes.clone().unwrap_or_default();
    let known = datasources::names(&state.db).await?;
    let mut wrong = token::check(&body.name, body.datasources.as_deref(), &scopes, &known);
    let expires_at_ms = match body.expires_at.as_deref().map(|text| time::parse(text, zone)).transpose() {
        Ok(Some(at_ms)) if at_ms <= now_ms => {
            wrong.push(Detail::new("expiresAt", "must be in the future"));
            None
        }
        Ok(at_ms) => at_ms,
        Err(why) => {
            wrong.push(Detail::new("expiresAt", why));
            None
        }
    };
    call.body.refuse(wrong)?;
    call.caller.check_binding(body.datasources.as_deref())?;
    let text = token::make()?;
    let new = NewToken {
        name: &body.name,
        role: body.role,
        digest: &token::digest(&text),
        datasources: body.datasources.as_deref(),
        scopes: &scopes,
        expires_at_ms,
    };
    let mut tx = state.db.begin().await?;
    let made = store::insert(&mut tx, &new, now_ms).await?;
    tx.changed(TOPIC, made.id.to_string());
    let view = TokenView::new(&made, zone);
    let change = Change::of("token", made.id).after(&view);
    let answer = Data::new(&CreatedToken { of: view, token: text });
    let answer = call.commit(tx, change, answer).await?;
    state.reload().await?;
    Ok(answer)
}

/// `DELETE /api/v1/tokens/{id}`
pub async fn revoke(call: Call<TokenPath>) -> Result<Data<Option<TokenView>>, Error> {
    let (state, id) = (&call.state, call.path.id);
    let mut tx = state.db.begin().await?;
    let revoked = store::revoke(&mut tx, id, state.clock.now_ms()).await?;
    let revoked = revoked.ok_or_else(|| Error::not_found("token", id))?;
    call.caller.check_binding(revoked.datasources.as_deref())?;
    tx.changed(TOPIC, id.to_string());
    let change = Change::of("token", id).before(&TokenView::new(&revoked, state.config.time_zone));
    let answer = call.commit(tx, change, Data::new(&None)).await?;
    state.reload().await?;
    Ok(answer)
}

/// The caller and its limits.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Me {
    name: String,
    role: Role,
    /// `local`, `token` or `oidc`
    kind: &'static str,
    /// Names of the data sources that it is restricted to; null: all.
    datasources: Option<Vec<String>>,
    scopes: Vec<String>,
    /// The IANA name of the server's time zone, in which times without an offset are.
    time_zone: &'static str,
    limits: Limits,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Limits {
    /// Null: no limit.
    requests_per_second: Option<u32>,
    request_timeout_seconds: u64,
    body_max_bytes: usize,
    plugin_upload_max_bytes: usize,
    page_size_max: i64,
}

/// `GET /api/v1/me`
pub async fn me(call: Call) -> Result<Data<Me>, Error> {
    Ok(Data::new(&Me::of(&call.state, &call.caller)))
}

impl Me {
    pub fn of(state: &Auth, caller: &Caller) -> Me {
        let per_second = Some(state.limit().per_second());
        let per_second = per_second.filter(|&limit| limit > 0 && !state.is_local_mode());
        Me {
            name: caller.name.clone(),
            role: caller.role,
            kind: caller.kind(),
            datasources: caller.datasources.clone(),
            scopes: caller.scopes.clone(),
            time_zone: state.config.time_zone.name(),
            limits: Limits {
                requests_per_second: per_second,
                request_timeout_seconds: state.config.request_timeout.as_secs(),
                body_max_bytes: state.config.body_max_bytes,
                plugin_upload_max_bytes: state.config.plugin_upload_max_bytes,
                page_size_max: lakeport_http::PAGE_SIZE_MAX,
            },
        }
    }
}
