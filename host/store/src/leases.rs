//! Leases: who may do a piece of work, until when. A server that dies or hangs loses its leases by the clock,
//! and another takes them over.
//!
//! They are fenced: the epoch grows with each new owner, and a transaction guarded by a lease ([`Tx::guard`])
//! fails unless the lease is still held with its own epoch. So who was asleep while it lost the work can
//! write nothing of it. The clock is the store's own, so that servers need not agree on the time.

use std::ops::Deref;
use std::time::Duration;

use lakeport_base::Error;
use lakeport_base::failpoints;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{Db, Either, Tx, Value};

/// How long a lease is held that is not renewed.
pub const TTL: Duration = Duration::from_secs(15);
/// A held lease is renewed this many times within its time.
const RENEWALS: u32 = 3;
/// After a renewal that failed by the store, not by another owner.
const RETRY: Duration = Duration::from_millis(500);

/// Puts the store's clock, in milliseconds, wherever `now` stands between two pieces of a statement.
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

/// The leases that one server may claim.
#[derive(Clone)]
pub struct Leases {
    db: Db,
    owner: String,
}

/// A claim that was granted. It runs out by itself unless it is renewed: see [`Lease::hold`].
#[derive(Clone)]
pub struct Lease {
    db: Db,
    name: String,
    owner: String,
    epoch: i64,
    ttl: Duration,
    /// By this machine's clock, and no later than the store's.
    runs_out: Instant,
}

/// A lease that is renewed in the background as long as this lives.
pub struct Held {
    lease: Lease,
    lost: CancellationToken,
    _renewal: DropGuard,
}

impl Leases {
    /// `owner` names this run of this server: no other run may have the same name.
    pub fn new(db: Db, owner: String) -> Leases {
        Leases { db, owner }
    }

    /// The lease, unless another owner holds it. The owner's second claim renews the same lease.
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

    /// Gives every lease of this server back, so that others need not wait for them to run out.
    pub async fn release_all(&self) -> Result<u64, Error> {
        const RELEASE: &str = "UPDATE leases SET expires_at = 0 WHERE owner = $1 AND expires_at > 0";
        self.db.execute(RELEASE, &[self.owner.as_str().into()]).await
    }

    /// Those whose names begin so and that anybody holds now, each with its epoch.
    pub async fn held(&self, prefix: &str) -> Result<Vec<(String, i64)>, Error> {
        const HELD: Either = by_the_stores_clock!(
            "SELECT name, epoch FROM leases WHERE substr(name, 1, length($1)) = $1 AND expires_at > ",
            now,
            ""
        );
        let rows = self.db.read(self.db.words(HELD), &[prefix.into()]).await?;
        rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?))).collect()
    }

    /// Ends all leases of all holders. Only for a server that knows that it is alone: on SQLite, when it
    /// has the data folder's lock. A shared store is not touched.
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

    /// Holds it for its whole time again; `lease_lost` where it is not held any more.
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

    /// Gives it back at once. One that was lost already is nothing to give back.
    pub async fn release(self) -> Result<(), Error> {
        const RELEASE: &str =
            "UPDATE leases SET expires_at = 0 WHERE name = $1 AND owner = $2 AND epoch = $3";
        self.db.execute(RELEASE, &self.key()).await.map(drop)
    }

    /// Renews it in the background until the answer is dropped; then it runs out.
    pub fn hold(self) -> Held {
        self.hold_until(CancellationToken::new())
    }

    /// The same; once the answer is dropped, be it in the middle of something, it is given back at once.
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
    /// Cancelled when the lease is lost, or could not be renewed in time: the work under it stops.
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

    /// Works until the end, or until the lease is lost or `stop` is cancelled; then it gives the lease back. None: it
    /// was broken off.
    pub async fn work<T>(self, stop: &CancellationToken, work: impl AsyncFnOnce(&Held) -> T) -> Option<T> {
        let outcome = tokio::select! {
            biased;
            () = self.lost_or(stop) => None,
            outcome = work(&self) => Some(outcome),
        };
        self.give_back().await;
        outcome
    }

    /// As [`Held::release`]; where the store refuses it, the lease runs out.
    pub async fn give_back(self) {
        let name = self.lease.name.clone();
        if let Err(error) = self.release().await {
            tracing::debug!(lease = name, "the lease was not given back, it runs out: {error}");
        }
    }

    /// Stops the renewal and gives the lease back.
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
    /// Makes this transaction fail with `lease_lost` unless the lease is still held with this epoch; nobody can
    /// take it over before the transaction ends.
    pub async fn guard(&mut self, lease: &Lease) -> Result<(), Error> {
        const HELD: Either = by_the_stores_clock!(
            "SELECT 1 FROM leases WHERE name = $1 AND owner = $2 AND epoch = $3 AND expires_at > ", now, "";
            // Renewals wait, too: such a transaction is short.
            postgres " FOR SHARE"
        );
        let held = self.query(self.words(HELD), &lease.key()).await?;
        if held.is_empty() { Err(lease.lost()) } else { Ok(()) }
    }
}

/// A store that is away for a moment is asked again, as long as no other server can have the lease.
async fn renew_until_lost(mut lease: Lease, lost: CancellationToken) {
    let early = lease.ttl - lease.ttl / RENEWALS;
    let mut next = lease.runs_out - early;
    loop {
        sleep_until(next).await;
        next = match timeout_at(lease.runs_out, lease.renew()).await {
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

    /// Over as soon as it is granted.
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
    async fn a_lease_has_one_owner_and_its_owner_keeps_the_epoch() {
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
    async fn one_that_ran_out_is_taken_over_and_its_old_owner_changes_nothing() {
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
            assert_eq!(rows.len(), 1, "the new owner's alone");
        })
        .await;
    }

    #[tokio::test]
    async fn one_that_ran_out_is_a_new_one_for_its_own_owner_too() {
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
    async fn a_server_that_stops_gives_back_its_own_and_no_others() {
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
    async fn a_server_alone_on_its_store_takes_over_everything_at_once() {
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
    async fn nobody_takes_it_over_while_a_guarded_transaction_is_open() {
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
    async fn a_held_lease_outlives_its_time_and_tells_when_it_is_lost() {
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
            tokio::time::timeout(SOON, lost.cancelled()).await.expect("it is told");
        })
        .await;
    }

    #[tokio::test]
    async fn a_held_lease_is_given_back_and_one_that_is_dropped_runs_out() {
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
            tokio::time::timeout(SOON / 4, freed).await.expect("long before it runs out");
        })
        .await;
    }
}
