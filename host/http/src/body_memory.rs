//! The memory of bodies: a bound for all of them, and a smaller one for those of one client. A body takes memory as
//! its bytes arrive, never for what it announces.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Weak};
use std::time::Duration;

use lakeport_base::Error;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::{Caller, Identity};

/// Memory is counted in units of so many bytes.
const UNIT_BYTES: usize = 4 * 1024;
/// All bodies that are held at the same time, together: 512 MiB.
const ALL_MAX_BYTES: usize = 512 * 1024 * 1024;
/// One client's share of it, so that seven others still have room.
const SHARE: usize = 8;
/// How long a body waits for memory.
const WAIT_MAX: Duration = Duration::from_secs(5);
/// So many shares are remembered before the unused ones are looked for.
const SHARES_KEPT: usize = 1_024;
/// The bits of an IPv6 address that its provider gives; its owner chooses the others.
const IPV6_NETWORK: u128 = !0 << 64;

/// The memory of all bodies.
pub struct BodyMemory {
    all: Arc<Semaphore>,
    share_units: usize,
    shares: Mutex<Shares>,
}

struct Shares {
    of: HashMap<Client, Weak<Semaphore>>,
    /// At this size the unused ones are removed.
    full_at: usize,
}

/// Whose share of the memory a body takes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Client {
    Known(Identity),
    /// A caller without an identity, by its address; of IPv6 by its network.
    Address(IpAddr),
}

/// The memory of one body; it is given back when this is dropped.
pub struct HeldMemory {
    share: Arc<Semaphore>,
    all: Arc<Semaphore>,
    units: usize,
    permits: Vec<OwnedSemaphorePermit>,
}

impl BodyMemory {
    /// `body_max_bytes`: the largest body, which always fits into a share.
    pub fn new(body_max_bytes: usize) -> BodyMemory {
        let share_units = (ALL_MAX_BYTES / SHARE).max(body_max_bytes).div_ceil(UNIT_BYTES);
        let all_units = (ALL_MAX_BYTES / UNIT_BYTES).max(share_units);
        let shares = Shares { of: HashMap::new(), full_at: SHARES_KEPT };
        BodyMemory { all: Arc::new(Semaphore::new(all_units)), share_units, shares: Mutex::new(shares) }
    }

    /// The memory of a new body, which has none yet.
    pub fn of(&self, client: Client) -> HeldMemory {
        let mut shares = self.shares.lock();
        if shares.of.len() >= shares.full_at {
            shares.of.retain(|_, share| share.strong_count() > 0);
            shares.full_at = SHARES_KEPT.max(2 * shares.of.len());
        }
        let share = shares.of.get(&client).and_then(Weak::upgrade).unwrap_or_else(|| {
            let share = Arc::new(Semaphore::new(self.share_units));
            shares.of.insert(client, Arc::downgrade(&share));
            share
        });
        HeldMemory { share, all: Arc::clone(&self.all), units: 0, permits: Vec::new() }
    }
}

impl Client {
    pub fn of(caller: &Caller, peer: SocketAddr) -> Client {
        match &caller.identity {
            Identity::Anonymous => Client::Address(match peer.ip().to_canonical() {
                IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & IPV6_NETWORK).into(),
                address => address,
            }),
            identity => Client::Known(identity.clone()),
        }
    }
}

impl HeldMemory {
    /// Takes memory for so many bytes in all; waits a little, then 503 `server_busy`.
    pub async fn grow_to(&mut self, bytes: usize) -> Result<(), Error> {
        self.grow_within(bytes, WAIT_MAX).await
    }

    async fn grow_within(&mut self, bytes: usize, wait_max: Duration) -> Result<(), Error> {
        let units = bytes.div_ceil(UNIT_BYTES);
        let more = u32::try_from(units.saturating_sub(self.units)).unwrap_or(u32::MAX);
        if more == 0 {
            return Ok(());
        }
        for (from, message) in [
            (
                &self.share,
                "your other large requests take all the memory of one client; try again when they end",
            ),
            (&self.all, "the server is busy with other large requests; try again"),
        ] {
            let waiting = Arc::clone(from).acquire_many_owned(more);
            match timeout(wait_max, waiting).await {
                Ok(permit) => self.permits.push(permit.expect("the semaphore is never closed")),
                Err(_) => return Err(Error::unavailable("server_busy", message).retry_after(1)),
            }
        }
        self.units = units;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOT_LONG: Duration = Duration::from_millis(20);

    fn token(id: i64) -> Client {
        Client::Known(Identity::Token(id))
    }

    #[tokio::test]
    async fn one_client_leaves_room_for_others() {
        let memory = BodyMemory::new(1);
        let mut held = memory.of(token(1));
        held.grow_to(ALL_MAX_BYTES / SHARE).await.unwrap();
        let error = memory.of(token(1)).grow_within(1, NOT_LONG).await.unwrap_err();
        assert_eq!((error.status(), error.code()), (503, "server_busy"));
        let mut others = Vec::new();
        for id in 2..=i64::try_from(SHARE).unwrap() {
            let mut other = memory.of(token(id));
            other.grow_within(ALL_MAX_BYTES / SHARE, NOT_LONG).await.unwrap();
            others.push(other);
        }
        assert!(memory.of(token(0)).grow_within(1, NOT_LONG).await.is_err(), "there is a bound for all");
        drop(held);
        assert!(memory.of(token(0)).grow_within(1, NOT_LONG).await.is_ok());
    }

    #[tokio::test]
    async fn the_largest_body_fits_into_a_share() {
        let memory = BodyMemory::new(ALL_MAX_BYTES + 1);
        assert!(memory.of(token(1)).grow_within(ALL_MAX_BYTES + 1, NOT_LONG).await.is_ok());
    }

    #[tokio::test]
    async fn unused_shares_are_forgotten() {
        let memory = BodyMemory::new(1);
        let mut held = memory.of(token(-1));
        held.grow_to(1).await.unwrap();
        for id in 0..10 * SHARES_KEPT {
            memory.of(token(i64::try_from(id).unwrap()));
        }
        let shares = memory.shares.lock();
        assert!(shares.of.len() <= SHARES_KEPT && shares.of.contains_key(&token(-1)));
    }

    #[test]
    fn an_unknown_client_is_its_network() {
        let of = |peer: &str| Client::of(&Caller::anonymous(), peer.parse().unwrap());
        assert_eq!(of("192.0.2.1:80"), of("[::ffff:192.0.2.1]:99"));
        assert_ne!(of("192.0.2.1:80"), of("192.0.2.2:80"));
        assert_eq!(of("[2001:db8::1]:80"), of("[2001:db8::ff:2]:80"));
        assert_ne!(of("[2001:db8::1]:80"), of("[2001:db8:0:1::1]:80"));
        assert_eq!(
            Client::of(&Caller::local(), "127.0.0.1:1".parse().unwrap()),
            Client::Known(Identity::Local)
        );
    }
}
