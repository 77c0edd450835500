//! `Idempotency-Key`: a repeated POST gets the first one's answer. The first request claims the key; its
//! answer is stored in the transaction of its change, so that a server that dies in between leaves either
//! both or none. A claim without an answer is taken over once its server is dead: on a store that is not shared,
//! when it belongs to another process; otherwise when its server's lease has run out. The claim fences: a server that
//! only seemed dead cannot commit.

mod store;

use std::collections::BTreeSet;
use std::time::Duration;

use ::http::header::{CONTENT_TYPE, ETAG};
use ::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use bytes::Bytes;
use lakeport_base::Error;
use lakeport_base::time::{DAY_MS, MINUTE_MS};
use lakeport_http::{Attempt, Begun, Content, Reply};
use lakeport_store::{Retained, Tx};
use sha2::{Digest, Sha256};
use tokio::time::sleep;

use crate::core::Core;
use crate::part::{Part, RetentionRule};
use crate::secrets::{self, EncryptedColumn, KeyColumn};
use store::{Claimed, Kept};

/// How long an answer is stored.
const KEPT_MS: i64 = DAY_MS;
/// How long an answer with a secret is stored, encrypted.
const SECRET_KEPT_MS: i64 = 10 * MINUTE_MS;
/// The margin after a request's deadline for its last statement.
const CLAIM_MARGIN_MS: i64 = 15_000;
/// Between the server and the id of a claim.
const OWNER_END: char = '/';
/// The polling interval while the first request runs.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// The headers that are stored with the answer.
static KEPT_HEADERS: [HeaderName; 2] = [CONTENT_TYPE, ETAG];

/// Expired keys are purged.
const KEYS: Retained = Retained {
    what: "idempotency",
    table: "idempotency_keys",
    purge: "DELETE FROM idempotency_keys WHERE (caller, method, path, key) IN \
            (SELECT caller, method, path, key FROM idempotency_keys WHERE expires_at < $1 LIMIT $2)",
};

/// Answers with secrets.
pub(crate) const BODY: EncryptedColumn = EncryptedColumn {
    table: "idempotency_keys",
    name: "body",
    others: "SELECT body, caller, method, path, key FROM idempotency_keys \
             WHERE encrypted = 1 AND body IS NOT NULL AND substr(body, 1, 9) <> $1 \
             AND (caller, method, path, key) > ($3, $4, $5, $6) \
             ORDER BY caller, method, path, key LIMIT $2",
    put: "UPDATE idempotency_keys SET body = $1 WHERE body = $2 AND encrypted = 1 \
          AND caller = $3 AND method = $4 AND path = $5 AND key = $6",
    lowest: &[KeyColumn::Text(""), KeyColumn::Text(""), KeyColumn::Text(""), KeyColumn::Text("")],
};

pub fn part() -> Part<Core> {
    Part {
        retained: vec![RetentionRule::expiring(KEYS)],
        encrypted_columns: &[BODY],
        error_codes: &["idempotency_key_invalid", "idempotency_key_reused"],
        ..Part::default()
    }
}

/// Claims the attempt's key, if it has one; waits while the first request runs.
pub async fn begin(core: &Core, attempt: &Attempt) -> Result<Begun, Error> {
    let Some(key) = &attempt.idempotency_key else { return Ok(Begun::Go) };
    let repeated = repeated(attempt);
    let digest = core.keys.digest(&repeated);
    let mut found = claim(core, attempt, key, &digest, None).await?;
    loop {
        let theirs = match found {
            Claimed::Ours => return Ok(Begun::Go),
            Claimed::Theirs(theirs) if !core.keys.is_digest_of(&theirs.body_digest, &repeated) => {
                return Err(Error::conflict(
                    "idempotency_key_reused",
                    "this Idempotency-Key came with another request before; take a new key for a new request",
                ));
            }
            Claimed::Theirs(theirs) => theirs,
        };
        let is_alive = theirs.is_open() && lives(core, &theirs.claim).await?;
        found = match theirs.answer {
            // Of a dead server, the answer of its commit is the last one.
            Some(kept) if !is_alive => return Ok(Begun::Answered(reply_of(core, attempt, kept)?)),
            None if !is_alive => claim(core, attempt, key, &digest, Some(&theirs.claim)).await?,
            _ => {
                sleep(LOOK_INTERVAL).await;
                match store::look(&core.db, attempt, key, core.clock.now_ms()).await? {
                    Some(found) => found,
                    None => claim(core, attempt, key, &digest, None).await?,
                }
            }
        };
    }
}

/// The parts of a request that its repeats share. The caller's data sources are among them: where a claim of the
/// issuer changed, the first answer may show what the caller may not see any more.
fn repeated(attempt: &Attempt) -> Vec<u8> {
    let mut repeated = [attempt.query.as_bytes(), b"\n", &attempt.body].concat();
    let names: BTreeSet<&String> = attempt.caller.datasources.iter().flatten().collect();
    for name in names {
        repeated.extend([b"\n", name.as_bytes()].concat());
    }
    repeated
}

/// Claims the key if it is free, expired, or still claimed by `dead` without an answer.
async fn claim(
    core: &Core,
    attempt: &Attempt,
    key: &str,
    digest: &str,
    dead: Option<&str>,
) -> Result<Claimed, Error> {
    let now_ms = core.clock.now_ms();
    let timeout_ms = i64::try_from(core.config.request_timeout.as_millis()).unwrap_or(i64::MAX / 2);
    let new = store::NewClaim {
        claim: &claim_of(core, attempt),
        body_digest: digest,
        now_ms,
        expires_at_ms: now_ms + timeout_ms + CLAIM_MARGIN_MS,
        dead,
    };
    store::claim(&core.db, attempt, key, &new).await
}

/// The attempt's claim: its server and its own id.
fn claim_of(core: &Core, attempt: &Attempt) -> String {
    format!("{}{OWNER_END}{}", core.leases.owner(), attempt.claim)
}

/// Whether the server of a claim may still be working on it. Earlier versions did not name it: other servers of a
/// shared store may be such ones, until the claim expires.
async fn lives(core: &Core, claim: &str) -> Result<bool, Error> {
    match claim.split_once(OWNER_END) {
        Some((owner, _)) => core.leases.lives(owner).await,
        None => Ok(core.db.is_shared()),
    }
}

/// Stores the answer in the change's own transaction. Fails if the claim was lost, so that the change is not
/// made twice. If the request then waits for the end of the work that it started, at most so long, this
/// answer is only used if its server dies meanwhile; until then repeats wait, too.
pub async fn keep(
    core: &Core,
    tx: &mut Tx,
    attempt: &Attempt,
    reply: &Reply,
    waits: Option<Duration>,
) -> Result<(), Error> {
    if attempt.idempotency_key.is_none() || keep_if_ours(core, tx, attempt, reply, waits).await? {
        return Ok(());
    }
    let message = "the request took so long that its Idempotency-Key was taken over; nothing was changed";
    Err(Error::timed_out("deadline_exceeded", message))
}

/// False if there is no key, or if it is not this attempt's.
async fn keep_if_ours(
    core: &Core,
    tx: &mut Tx,
    attempt: &Attempt,
    reply: &Reply,
    waits: Option<Duration>,
) -> Result<bool, Error> {
    let (Some(key), Some(body)) = (&attempt.idempotency_key, reply.content.whole()) else { return Ok(false) };
    let headers: Vec<(&str, &str)> = KEPT_HEADERS
        .iter()
        .filter_map(|name| Some((name.as_str(), reply.headers.get(name)?.to_str().ok()?)))
        .collect();
    let now_ms = core.clock.now_ms();
    let (body, kept_ms) = if attempt.secret {
        (core.keys.encrypt(&context(attempt), body), SECRET_KEPT_MS)
    } else {
        (body.to_vec(), KEPT_MS)
    };
    let kept = Kept {
        status: reply.status.as_u16(),
        headers: serde_json::to_string(&headers).map_err(Error::internal)?,
        body,
        encrypted: attempt.secret,
    };
    let waits_until_ms = waits.map(|waits| now_ms + i64::try_from(waits.as_millis()).unwrap_or(i64::MAX / 2));
    store::keep(tx, attempt, (key, &claim_of(core, attempt)), &kept, now_ms + kept_ms, waits_until_ms).await
}

/// After a change that did not store its answer itself: stores it if its status is below 500; otherwise frees
/// the key.
pub async fn end(core: &Core, attempt: &Attempt, outcome: Result<&Reply, &Error>) -> Result<(), Error> {
    let Some(key) = &attempt.idempotency_key else { return Ok(()) };
    let failed;
    let reply = match outcome {
        Ok(reply) => reply,
        Err(error) if error.status() < 500 && error.status() != 429 => {
            failed = Reply::error(error, &attempt.request_id);
            &failed
        }
        Err(_) => return store::free(&core.db, attempt, key, &claim_of(core, attempt)).await,
    };
    let mut tx = core.db.begin().await?;
    // A request that was refused before it claimed its key stores nothing.
    keep_if_ours(core, &mut tx, attempt, reply, None).await?;
    tx.commit().await
}

/// After work that was answered at its start, and then failed: a repeat tries again.
pub async fn forget(core: &Core, attempt: &Attempt) -> Result<(), Error> {
    match &attempt.idempotency_key {
        Some(key) => store::forget(&core.db, attempt, key, &claim_of(core, attempt)).await,
        None => Ok(()),
    }
}

/// Identifies a request with a key, in 64 hex digits: its repeats have the same id. `None` without a key.
pub fn name_of(attempt: &Attempt) -> Option<String> {
    let key = attempt.idempotency_key.as_deref()?;
    let whole = [&attempt.caller.key(), attempt.method.as_str(), &attempt.path, key];
    let digest = whole.into_iter().fold(Sha256::new(), |all, part| {
        all.chain_update((part.len() as u64).to_be_bytes()).chain_update(part)
    });
    Some(hex::encode(digest.finalize()))
}

fn reply_of(core: &Core, attempt: &Attempt, kept: Kept) -> Result<Reply, Error> {
    let body = if kept.encrypted {
        core.keys.decrypt(&context(attempt), &kept.body)?.bytes().to_vec()
    } else {
        kept.body
    };
    let headers: Vec<(String, String)> = serde_json::from_str(&kept.headers).map_err(Error::internal)?;
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(Error::internal)?;
        map.insert(name, HeaderValue::from_str(&value).map_err(Error::internal)?);
    }
    let status = StatusCode::from_u16(kept.status).map_err(Error::internal)?;
    Ok(Reply { status, headers: map, content: Content::Whole(Bytes::from(body)) })
}

/// The encryption context of an answer: its row.
fn context(attempt: &Attempt) -> String {
    let key = attempt.idempotency_key.as_deref().unwrap_or_default();
    let row = [&attempt.caller.key(), attempt.method.as_str(), &store::path_of(attempt), key];
    secrets::context("idempotency_keys", &row, "body")
}
