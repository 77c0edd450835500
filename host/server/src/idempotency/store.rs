//! Stored answers.

use std::borrow::Cow;

use lakeport_base::Error;
use lakeport_http::Attempt;
use lakeport_store::{Db, Row, Tx, Value};
use sha2::{Digest, Sha256};

/// A longer path is stored as a digest.
const PATH_MAX_BYTES: usize = 500;

/// The owner of a key.
pub enum Claimed {
    Ours,
    Theirs(Theirs),
}

/// Another request's claim.
pub struct Theirs {
    pub body_digest: String,
    pub claim: String,
    /// `None`: its change is not committed.
    pub answer: Option<Kept>,
    /// Its work goes on; another answer follows.
    pub waits: bool,
}

impl Theirs {
    /// Whether the request is not done yet, if its server lives.
    pub fn is_open(&self) -> bool {
        self.waits || self.answer.is_none()
    }
}

/// A claim to be made.
pub struct NewClaim<'n> {
    pub claim: &'n str,
    pub body_digest: &'n str,
    pub now_ms: i64,
    pub expires_at_ms: i64,
    /// A claim of a dead server, to be taken over unless it has an answer.
    pub dead: Option<&'n str>,
}

/// A stored answer.
pub struct Kept {
    pub status: u16,
    /// A JSON array of pairs.
    pub headers: String,
    pub body: Vec<u8>,
    pub encrypted: bool,
}

/// The path of a row; a long one as a digest, because an index cannot hold long texts.
pub fn path_of(attempt: &Attempt) -> Cow<'_, str> {
    if attempt.path.len() <= PATH_MAX_BYTES {
        return attempt.path.as_str().into();
    }
    format!("sha256:{}", hex::encode(Sha256::digest(&attempt.path))).into()
}

fn row_of(attempt: &Attempt, key: &str) -> [Value; 4] {
    [
        attempt.caller.key().into(),
        attempt.method.as_str().into(),
        path_of(attempt).as_ref().into(),
        key.into(),
    ]
}

/// Claims the key if it is free or its claim has expired or is dead; otherwise returns the current one.
pub async fn claim(db: &Db, attempt: &Attempt, key: &str, new: &NewClaim<'_>) -> Result<Claimed, Error> {
    const CLAIM: &str = "INSERT INTO idempotency_keys (caller, method, path, key, body_digest, claim, created_at, \
                         expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) \
                         ON CONFLICT (caller, method, path, key) DO UPDATE SET body_digest = excluded.body_digest, \
                         claim = excluded.claim, status = NULL, headers = NULL, body = NULL, encrypted = 0, \
                         waits_until = NULL, \
                         created_at = excluded.created_at, expires_at = excluded.expires_at \
                         WHERE idempotency_keys.expires_at < $7 \
                         OR (idempotency_keys.claim = $9 AND idempotency_keys.status IS NULL)";
    let mut values = row_of(attempt, key).to_vec();
    values.extend([
        new.body_digest.into(),
        new.claim.into(),
        new.now_ms.into(),
        new.expires_at_ms.into(),
        new.dead.into(),
    ]);
    if db.execute(CLAIM, &values).await? == 1 {
        return Ok(Claimed::Ours);
    }
    // Purged between the two statements: treated as still running here, until the next poll.
    let gone = || {
        let (body_digest, claim) = (new.body_digest.to_owned(), new.claim.to_owned());
        Claimed::Theirs(Theirs { body_digest, claim, answer: None, waits: false })
    };
    Ok(look(db, attempt, key, new.now_ms).await?.unwrap_or_else(gone))
}

/// The state of another request's claim, without claiming; `None`: it expired, or was released.
pub async fn look(db: &Db, attempt: &Attempt, key: &str, now_ms: i64) -> Result<Option<Claimed>, Error> {
    const READ: &str = "SELECT body_digest, status, headers, body, encrypted, waits_until, claim \
                        FROM idempotency_keys \
                        WHERE caller = $1 AND method = $2 AND path = $3 AND key = $4 AND expires_at >= $5";
    let mut values = row_of(attempt, key).to_vec();
    values.push(now_ms.into());
    let rows = db.read(READ, &values).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let waits = row.get::<Option<i64>>(5)?.is_some_and(|until_ms| until_ms > now_ms);
    let (body_digest, claim) = (row.get(0)?, row.get(6)?);
    Ok(Some(Claimed::Theirs(Theirs { body_digest, claim, answer: kept(row)?, waits })))
}

fn kept(row: &Row) -> Result<Option<Kept>, Error> {
    let Some(status) = row.get::<Option<i64>>(1)? else { return Ok(None) };
    Ok(Some(Kept {
        status: u16::try_from(status).map_err(Error::internal)?,
        headers: row.get(2)?,
        body: row.get(3)?,
        encrypted: row.get(4)?,
    }))
}

/// False if the claim is no longer the attempt's. `waits_until_ms`: another answer may follow until then.
pub async fn keep(
    tx: &mut Tx,
    attempt: &Attempt,
    (key, claim): (&str, &str),
    kept: &Kept,
    expires_at_ms: i64,
    waits_until_ms: Option<i64>,
) -> Result<bool, Error> {
    const SQL: &str = "UPDATE idempotency_keys SET status = $6, headers = $7, body = $8, encrypted = $9, \
                       expires_at = $10, waits_until = $11 WHERE caller = $1 AND method = $2 AND path = $3 AND key = $4 AND claim = $5";
    let mut values = row_of(attempt, key).to_vec();
    values.extend([
        claim.into(),
        i64::from(kept.status).into(),
        kept.headers.as_str().into(),
        kept.body.clone().into(),
        i64::from(kept.encrypted).into(),
        expires_at_ms.into(),
        waits_until_ms.into(),
    ]);
    Ok(tx.execute(SQL, &values).await? == 1)
}

/// Releases the key although an answer was stored, because its work failed.
pub async fn forget(db: &Db, attempt: &Attempt, key: &str, claim: &str) -> Result<(), Error> {
    const SQL: &str = "DELETE FROM idempotency_keys WHERE caller = $1 AND method = $2 AND path = $3 AND key = $4 \
                       AND claim = $5";
    let mut values = row_of(attempt, key).to_vec();
    values.push(claim.into());
    db.execute(SQL, &values).await.map(drop)
}

/// Releases the key after a failure, so that a repeat tries again.
pub async fn free(db: &Db, attempt: &Attempt, key: &str, claim: &str) -> Result<(), Error> {
    const SQL: &str = "DELETE FROM idempotency_keys WHERE caller = $1 AND method = $2 AND path = $3 AND key = $4 \
                       AND claim = $5 AND status IS NULL";
    let mut values = row_of(attempt, key).to_vec();
    values.push(claim.into());
    db.execute(SQL, &values).await.map(drop)
}
