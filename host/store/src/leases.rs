//! Leases: the exclusive right of one server to do a piece of work for a time. If a server dies or hangs, its
//! leases expire, and another server takes them over.
//!
//! Leases are fenced: the epoch grows with each new owner, and a transaction guarded by a lease ([`Tx::guard`])
//! fails unless the lease is still held with the same epoch. So a server that lost its lease while it was
//! suspended cannot write. Expiry uses the store's clock, so the servers' clocks need not agree.

use std::ops::Deref;
use std::time::Duration;

use lakeport_base::Error;
use lakeport_base::failpoints;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Db, Either, Tx, Value};

/// How long a lease lasts without a renewal.
pub const TTL: Duration = Duration::from_secs(15);
/// A held lease is renewed this many times within its time.
const RENEWALS: u32 = 3;
/// A held lease counts as lost by this part of its time before it expires: until then its work stops, also what runs in
/// a database, so that it has ended when another server may take the lease over.
const STOPPING: u32 = 5;
/// The pause after a renewal that the store failed.
const RETRY: Duration = Duration::from_millis(500);

/// A statement in which each `now` becomes the store's clock in milliseconds.
macro_rules! by_the_stores_clock {
    ($first:literal $(, now, $next:literal)+ $(; postgres $last:literal)?) => {
        Either {
            sqlite: concat!($first $(, "CAST(unixepoch('subsec') * 1000 AS INTEGER)", $next)+),
            postgres: concat!(
                $first $(, "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)", $next)+ $(, $last)?
            ),
        }
    };
}

/// The start of the name of a lease that shows that a server lives; the rest is its owner.
const SERVER: &str = "server/";

/// The leases that one server may claim.
#[derive(Clone)]
pub struct Leases {
    db: Db,
    owner: String,
}

/// A granted lease. It expires unless it is renewed: see [`Lease::hold`].
#[derive(Clone)]
pub struct Lease {
    db: Db,
    name: String,
    owner: String,
    epoch: i64,
    ttl: Duration,
    /// When it expires, by this machine's clock: no later than by the store's.
    runs_out: Instant,
}

/// A lease that is renewed in the background as long as this lives.
pub struct Held {
    lease: Lease,
    lost: CancellationToken,
    _renewal: DropGuard,
}

impl Leases {
    /// `owner` identifies this process: no other process or restart may use the same name.
    pub fn new(db: Db, owner: String) -> Leases {
        Leases { db, owner }
    }

    /// Claims the lease; `None` if another owner holds it. A second claim by the same owner renews the lease.
    pub async fn claim(&self, name: &str, ttl: Duration) -> Result<Option<Lease>, Error> {
        const CLAIM: Either = by_the_stores_clock!(
            "INSERT INTO leases AS held (name, owner, epoch, expires_at) VALUES ($1, $2, 1, ",
            now,
            " + $3) \
             ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, expires_at = excluded.expires_at, \
             epoch = held.epoch + \
             (CASE WHEN held.owner = excluded.owner AND held.expires_at > ",
            now,
            " THEN 0 ELSE 1 END) \
             WHERE held.owner = excluded.owner OR held.expires_at <= ",
            now,
            " RETURNING epoch"
        );
        let runs_out = Instant::now() + ttl;
        let mut tx = self.db.begin().await?;
        let values = [name.into(), self.owner.as_str().into(), milliseconds(ttl)];
        let rows = tx.query(tx.words(CLAIM), &values).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let epoch = row.get(0)?;
        tx.commit().await?;
        failpoints::reach("leases.claimed");
        let (name, owner) = (name.to_owned(), self.owner.clone());
        Ok(Some(Lease { db: self.db.clone(), name, owner, epoch, ttl, runs_out }))
    }

    /// The name of this process among all owners.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Shows other servers of a shared store that this one lives, until `over` is cancelled; see
    /// [`Leases::lives`]. Removes the leases that only a dead server could hold.
    pub async fn show_alive(&self, over: CancellationToken) -> Result<(), Error> {
        // On a shared store. A row that a dead server's transaction still has is left.
        const SWEEP: &str = "DELETE FROM leases WHERE name IN (SELECT name FROM leases WHERE name LIKE '%/' || owner \
            AND expires_at < CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) FOR UPDATE SKIP LOCKED)";
        if !self.db.is_shared() {
            return Ok(());
        }
        self.db.execute(SWEEP, &[]).await?;
        let (leases, name) = (self.clone(), format!("{SERVER}{}", self.owner));
        let mut held = leases.claim(&name, TTL).await?.map(Lease::hold);
        tokio::spawn(over.run_until_cancelled_owned(async move {
            loop {
                if let Some(held) = held.take() {
                    held.lost().cancelled().await;
                }
                match leases.claim(&name, TTL).await {
                    Ok(lease) => held = lease.map(Lease::hold),
                    Err(error) => tracing::warn!("other servers may take this one for dead: {error}"),
                }
                if held.is_none() {
                    sleep(RETRY).await;
                }
            }
        }));
        Ok(())
    }

    /// Whether the process that owns leases under this name may still be working. A store that is not shared has
    /// one server at a time: this one.
    pub async fn lives(&self, owner: &str) -> Result<bool, Error> {
        const LIVES: Either =
            by_the_stores_clock!("SELECT 1 FROM leases WHERE name = $1 AND expires_at > ", now, "");
        if owner == self.owner || !self.db.is_shared() {
            return Ok(owner == self.owner);
        }
        let rows = self.db.read(self.db.words(LIVES), &[format!("{SERVER}{owner}").into()]).await?;
        Ok(!rows.is_empty())
    }

    /// Releases all leases of this server, so that others need not wait until they expire.
    pub async fn release_all(&self) -> Result<u64, Error> {
        const RELEASE: &str = "UPDATE leases SET expires_at = 0 WHERE owner = $1 AND expires_at > 0";
        self.db.execute(RELEASE, &[self.owner.as_str().into()]).await
    }

    /// The currently held leases, of any owner, whose names have this prefix, with their epochs.
    pub async fn held(&self, prefix: &str) -> Result<Vec<(String, i64)>, Error> {
        const HELD: Either = by_the_stores_clock!(
            "SELECT name, epoch FROM leases WHERE substr(name, 1, length($1)) = $1 AND expires_at > ",
            now,
            ""
        );
        let rows = self.db.read(self.db.words(HELD), &[prefix.into()]).await?;
        rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?))).collect()
    }

    /// Ends the leases of all owners. Only for a server that is alone on its store: on SQLite, once it has locked
    /// the data folder. Does nothing on a shared store.
    pub async fn take_over_everything(&self) -> Result<u64, Error> {
        if self.db.is_shared() {
            return Ok(0);
        }
        self.db.execute("UPDATE leases SET expires_at = 0 WHERE expires_at > 0", &[]).await
    }
}

impl Lease {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Grows with each new owner.
    pub fn epoch(&self) -> i64 {
        self.epoch
    }

    /// Renews it for its full duration; `lease_lost` if it is no longer held.
    pub async fn renew(&mut self) -> Result<(), Error> {
        const RENEW: Either = by_the_stores_clock!(
            "UPDATE leases SET expires_at = ",
            now,
            " + $4 \
             WHERE name = $1 AND owner = $2 AND epoch = $3 AND expires_at > ",
            now,
            ""
        );
        let runs_out = Instant::now() + self.ttl;
        let [name, owner, epoch] = self.key();
        let values = [name, owner, epoch, milliseconds(self.ttl)];
        match self.db.execute(self.db.words(RENEW), &values).await? {
            0 => Err(self.lost()),
            _ => {
                self.runs_out = runs_out;
                Ok(())
            }
        }
    }

    /// Releases it. Does nothing if it is already lost.
    pub async fn release(self) -> Result<(), Error> {
        const RELEASE: &str =
            "UPDATE leases SET expires_at = 0 WHERE name = $1 AND owner = $2 AND epoch = $3";
        self.db.execute(RELEASE, &self.key()).await.map(drop)
    }

    /// Renews it in the background until the returned `Held` is dropped; then it expires.
    pub fn hold(self) -> Held {
        self.hold_until(CancellationToken::new())
    }

    /// The same, but dropping the returned `Held` releases the lease at once.
    pub fn hold_until_dropped(self) -> Held {
        let (lease, dropped) = (self.clone(), CancellationToken::new());
        tokio::spawn({
            let dropped = dropped.clone();
            async move {
                dropped.cancelled().await;
                if let Err(error) = lease.release().await {
                    tracing::debug!("a lease was not given back, it runs out: {error}");
                }
            }
        });
        self.hold_until(dropped)
    }

    fn hold_until(self, dropped: CancellationToken) -> Held {
        let lost = CancellationToken::new();
        let renewal = renew_until_lost(self.clone(), lost.clone());
        tokio::spawn(dropped.clone().run_until_cancelled_owned(renewal));
        Held { lease: self, lost, _renewal: dropped.drop_guard() }
    }

    fn key(&self) -> [Value; 3] {
        [self.name.as_str().into(), self.owner.as_str().into(), self.epoch.into()]
    }

    fn lost(&self) -> Error {
        tracing::info!(lease = self.name, epoch = self.epoch, "the lease is not held any more");
        Error::unavailable(
            "lease_lost",
            "another server has taken over this work; nothing was changed, try again",
        )
        .retry_after(1)
    }
}

impl Held {
    /// Cancelled when the lease is lost, or is about to expire because the store did not renew it in time: the work must
    /// stop. This needs neither the store nor its clock.
    pub fn lost(&self) -> CancellationToken {
        self.lost.clone()
    }

    /// Resolves when the lease is lost, or `stop` is cancelled.
    pub async fn lost_or(&self, stop: &CancellationToken) {
        tokio::select! {
            () = self.lost.cancelled() => {}
            () = stop.cancelled() => {}
        }
    }

    /// Runs `work` until it ends, the lease is lost or `stop` is cancelled, then releases the lease. `None`: the work
    /// was interrupted.
    pub async fn work<T>(self, stop: &CancellationToken, work: impl AsyncFnOnce(&Held) -> T) -> Option<T> {
        let outcome = tokio::select! {
            biased;
            () = self.lost_or(stop) => None,
            outcome = work(&self) => Some(outcome),
        };
        self.give_back().await;
        outcome
    }

    /// Like [`Held::release`], but logs a failure: the lease then expires.
    pub async fn give_back(self) {
        let name = self.lease.name.clone();
        if let Err(error) = self.release().await {
            tracing::debug!(lease = name, "the lease was not given back, it runs out: {error}");
        }
    }

    /// Stops the renewal and releases the lease.
    pub async fn release(self) -> Result<(), Error> {
        let Held { lease, _renewal: renewal, .. } = self;
        drop(renewal);
        lease.release().await
    }
}

impl Deref for Held {
    type Target = Lease;

    fn deref(&self) -> &Lease {
        &self.lease
    }
}

impl Tx {
    /// Ends the lease `<prefix><owner>`, which only this owner may hold, unless it is held; true: nothing more is written
    /// under it, and it is not claimed before this transaction ends. False also while a transaction of its owner has it: a
    /// server that stands still must not keep others waiting.
    pub async fn fence(&mut self, prefix: &str, owner: &str) -> Result<bool, Error> {
        const MAKE: &str = "INSERT INTO leases (name, owner, epoch, expires_at) VALUES ($1, $2, 1, -1) \
            ON CONFLICT (name) DO NOTHING RETURNING name";
        const OVER: Either = by_the_stores_clock!(
            "SELECT 1 FROM leases WHERE name = $1 AND expires_at <= ", now, "";
            postgres " FOR UPDATE SKIP LOCKED"
        );
        const END: &str = "UPDATE leases SET epoch = epoch + 1, expires_at = -1 WHERE name = $1";
        let name = format!("{prefix}{owner}");
        if !self.query(MAKE, &[name.as_str().into(), owner.into()]).await?.is_empty() {
            return Ok(true);
        }
        if self.query(self.words(OVER), &[name.as_str().into()]).await?.is_empty() {
            return Ok(false);
        }
        self.execute(END, &[name.into()]).await.map(|rows| rows > 0)
    }

    /// Fails with `lease_lost` unless the lease is still held with this epoch; no other server can take it over
    /// before the transaction ends.
    pub async fn guard(&mut self, lease: &Lease) -> Result<(), Error> {
        const HELD: Either = by_the_stores_clock!(
            "SELECT 1 FROM leases WHERE name = $1 AND owner = $2 AND epoch = $3 AND expires_at > ", now, "";
            // This also blocks renewals, so guarded transactions must be short.
            postgres " FOR SHARE"
        );
        let held = self.query(self.words(HELD), &lease.key()).await?;
        if held.is_empty() { Err(lease.lost()) } else { Ok(()) }
    }
}

/// Renews the lease until it is lost. Store errors are retried until shortly before the lease expires.
async fn renew_until_lost(mut lease: Lease, lost: CancellationToken) {
    let (early, stopping) = (lease.ttl - lease.ttl / RENEWALS, lease.ttl / STOPPING);
    let mut next = lease.runs_out - early;
    loop {
        sleep_until(next).await;
        next = match timeout_at(lease.runs_out - stopping, lease.renew()).await {
            Ok(Ok(())) => lease.runs_out - early,
            Ok(Err(error)) if error.code() != "lease_lost" => {
                tracing::warn!(lease = lease.name, "the lease cannot be renewed: {error}");
                Instant::now() + RETRY
            }
            Ok(Err(_)) | Err(_) => break,
        };
    }
    lost.cancel();
}

fn milliseconds(time: Duration) -> Value {
    Value::Int(i64::try_from(time.as_millis()).unwrap_or(i64::MAX / 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::on_each_store;

    /// A duration that ends as soon as the lease is granted.
    const OVER: Duration = Duration::ZERO;
    const SOON: Duration = Duration::from_secs(20);

    fn two(db: &Db) -> (Leases, Leases) {
        (Leases::new(db.clone(), "first".to_owned()), Leases::new(db.clone(), "second".to_owned()))
    }

    async fn expire(db: &Db) {
        db.execute("UPDATE leases SET expires_at = 1", &[]).await.unwrap();
    }

    async fn guarded(db: &Db, lease: &Lease) -> Result<(), Error> {
        let mut tx = db.begin().await.unwrap();
        tx.guard(lease).await?;
        tx.execute(
            "INSERT INTO changes (number, topic, key, at) VALUES ($1, 't', 'k', 0)",
            &[lease.epoch().into()],
        )
        .await?;
        tx.commit().await
    }

    #[tokio::test]
    async fn a_server_lives_while_it_shows_so() {
        on_each_store(async |db| {
            let (first, second) = two(&db);
            let over = CancellationToken::new();
            assert!(first.lives("first").await.unwrap());
            assert!(!second.lives("first").await.unwrap());
            first.show_alive(over.clone()).await.unwrap();
            // A store that is not shared has one server.
            assert_eq!(second.lives("first").await.unwrap(), db.is_shared());
            expire(&db).await;
            assert!(!second.lives("first").await.unwrap());
            second.show_alive(over.clone()).await.unwrap();
            over.cancel();
            let left = db.read("SELECT name FROM leases WHERE expires_at = 1", &[]).await.unwrap();
            assert!(left.is_empty(), "what the dead one left is removed");
        })
        .await;
    }

    #[tokio::test]
    async fn a_lease_has_one_owner_and_epoch() {
        on_each_store(async |db| {
            let (first, second) = two(&db);
            let lease = first.claim("w", TTL).await.unwrap().unwrap();
            assert!(second.claim("w", TTL).await.unwrap().is_none());
            assert_eq!(first.claim("w", TTL).await.unwrap().unwrap().epoch(), lease.epoch());
            assert_eq!(second.claim("other", TTL).await.unwrap().unwrap().epoch(), 1);
            guarded(&db, &lease).await.unwrap();
        })
        .await;
    }

    #[tokio::test]
    async fn an_expired_lease_excludes_its_old_owner() {
        on_each_store(async |db| {
            let (first, second) = two(&db);
            let mut old = first.claim("w", TTL).await.unwrap().unwrap();
            expire(&db).await;
            let new = second.claim("w", TTL).await.unwrap().unwrap();
            assert_eq!(new.epoch(), old.epoch() + 1);
            let error = guarded(&db, &old).await.unwrap_err();
            assert_eq!((error.status(), error.code()), (503, "lease_lost"));
            assert_eq!(old.renew().await.unwrap_err().code(), "lease_lost");
            old.release().await.unwrap();
            guarded(&db, &new).await.unwrap();
            let rows = db.read("SELECT number FROM changes", &[]).await.unwrap();
            assert_eq!(rows.len(), 1, "only the new owner's");
        })
        .await;
    }

    #[tokio::test]
    async fn reclaiming_an_expired_lease_raises_the_epoch() {
        on_each_store(async |db| {
            let (first, _) = two(&db);
            let mut old = first.claim("w", OVER).await.unwrap().unwrap();
            assert_eq!(guarded(&db, &old).await.unwrap_err().code(), "lease_lost");
            assert_eq!(old.renew().await.unwrap_err().code(), "lease_lost");
            let new = first.claim("w", TTL).await.unwrap().unwrap();
            assert_eq!(new.epoch(), old.epoch() + 1);
            assert_eq!(guarded(&db, &old).await.unwrap_err().code(), "lease_lost");
        })
        .await;
    }

    #[tokio::test]
    async fn one_that_was_released_is_free_at_once() {
        on_each_store(async |db| {
            let (first, second) = two(&db);
            let lease = first.claim("w", TTL).await.unwrap().unwrap();
            lease.clone().release().await.unwrap();
            assert_eq!(guarded(&db, &lease).await.unwrap_err().code(), "lease_lost");
            assert_eq!(second.claim("w", TTL).await.unwrap().unwrap().epoch(), 2);
        })
        .await;
    }

    #[tokio::test]
    async fn a_stopping_server_releases_only_its_leases() {
        on_each_store(async |db| {
            let (first, second) = two(&db);
            for name in ["a", "b"] {
                first.claim(name, TTL).await.unwrap().unwrap();
            }
            let theirs = second.claim("c", TTL).await.unwrap().unwrap();
            assert_eq!(first.release_all().await.unwrap(), 2);
            assert!(second.claim("a", TTL).await.unwrap().is_some());
            guarded(&db, &theirs).await.unwrap();
        })
        .await;
    }

    #[tokio::test]
    async fn a_single_server_takes_over_all_leases() {
        on_each_store(async |db| {
            let (first, second) = two(&db);
            let old = first.claim("w", TTL).await.unwrap().unwrap();
            second.take_over_everything().await.unwrap();
            let new = second.claim("w", TTL).await.unwrap();
            assert_eq!(new.is_some(), !db.is_shared());
            assert_eq!(guarded(&db, &old).await.is_ok(), db.is_shared());
        })
        .await;
    }

    #[tokio::test]
    async fn a_guarded_transaction_blocks_takeover() {
        on_each_store(async |db| {
            let (first, second) = two(&db);
            let lease = first.claim("w", TTL).await.unwrap().unwrap();
            let mut tx = db.begin().await.unwrap();
            tx.guard(&lease).await.unwrap();
            let take_over = tokio::spawn({
                let db = db.clone();
                async move {
                    expire(&db).await;
                    second.claim("w", TTL).await.unwrap().unwrap().epoch()
                }
            });
            tokio::task::yield_now().await;
            tx.guard(&lease).await.unwrap();
            tx.commit().await.unwrap();
            assert_eq!(take_over.await.unwrap(), lease.epoch() + 1);
        })
        .await;
    }

    #[tokio::test]
    async fn of_many_that_claim_at_once_one_gets_it() {
        on_each_store(async |db| {
            let claims = (0..8).map(|n| {
                let leases = Leases::new(db.clone(), n.to_string());
                tokio::spawn(async move { leases.claim("w", TTL).await.unwrap().is_some() })
            });
            let mut granted = 0;
            for claim in claims.collect::<Vec<_>>() {
                granted += usize::from(claim.await.unwrap());
            }
            assert_eq!(granted, 1);
        })
        .await;
    }

    #[tokio::test]
    async fn a_held_lease_renews_and_reports_loss() {
        on_each_store(async |db| {
            let (first, second) = two(&db);
            let ttl = Duration::from_millis(600);
            let held = first.claim("w", ttl).await.unwrap().unwrap().hold();
            let lost = held.lost();
            let outlived = tokio::time::timeout(ttl * 2, lost.cancelled()).await;
            assert!(outlived.is_err(), "it is renewed");
            guarded(&db, &held).await.unwrap();
            expire(&db).await;
            second.claim("w", TTL).await.unwrap().unwrap();
            tokio::time::timeout(SOON, lost.cancelled()).await.expect("the loss is reported");
        })
        .await;
    }

    #[tokio::test]
    async fn a_lease_that_the_store_does_not_renew_is_lost_before_it_expires() {
        on_each_store(async |db| {
            let (first, _) = two(&db);
            let held = first.claim("w", Duration::from_secs(2)).await.unwrap().unwrap().hold();
            // Its renewals wait for this transaction.
            let mut tx = db.begin().await.unwrap();
            tx.guard(&held).await.unwrap();
            tx.execute("UPDATE leases SET name = name WHERE name = 'w'", &[]).await.unwrap();
            held.lost().cancelled().await;
            tx.guard(&held).await.expect("no other server can have it yet");
        })
        .await;
    }

    #[tokio::test]
    async fn held_leases_are_released_dropped_ones_expire() {
        on_each_store(async |db| {
            let (first, second) = two(&db);
            let held = first.claim("w", TTL).await.unwrap().unwrap().hold();
            held.release().await.unwrap();
            let held = second.claim("w", TTL).await.unwrap().unwrap().hold();
            let lost = held.lost();
            drop(held);
            assert!(first.claim("w", TTL).await.unwrap().is_none(), "not yet");
            assert!(!lost.is_cancelled());
        })
        .await;
    }

    #[tokio::test]
    async fn one_that_is_held_until_dropped_is_free_soon_after() {
        on_each_store(async |db| {
            let (first, second) = two(&db);
            let held = first.claim("w", TTL).await.unwrap().unwrap().hold_until_dropped();
            guarded(&db, &held).await.unwrap();
            assert!(second.claim("w", TTL).await.unwrap().is_none());
            drop(held);
            let freed = async {
                while second.claim("w", TTL).await.unwrap().is_none() {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(SOON / 4, freed).await.expect("long before it expires");
        })
        .await;
    }
}
