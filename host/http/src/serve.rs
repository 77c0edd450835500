//! Connections: accepts them within a limit, supervises the open ones, and stops in order.
//!
//! One task accepts and, once a second, checks every connection; the connections themselves set no timers.
//! [`activity`] tracks what a connection does, [`connection`] speaks HTTP on it.

mod activity;
mod answer_body;
mod connection;
mod places;
mod socket;
mod streams;

use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep};
use tokio_util::sync::DropGuard;

use self::activity::{Activity, Pulse};
pub use self::places::raise_file_limit;
use super::{Edge, Gate};

/// The pause after a failed accept, as when no file descriptor is left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How long idle connections may take to close when the server stops: a client may not answer.
const GOODBYE_MAX: Duration = Duration::from_secs(2);
/// Bytes that the kernel may hold unsent per connection. A larger buffer would hide for minutes that a slow
/// client no longer reads.
#[cfg(target_os = "linux")]
const UNSENT_MAX_BYTES: u32 = 64 * 1024;

/// Serves until `shutdown` resolves, then lets running requests end within the drain time and cuts off the
/// rest. Dropping the future closes the listener and leaves open connections to the runtime.
pub async fn run<S: Gate>(listener: TcpListener, edge: Arc<Edge<S>>, shutdown: impl Future<Output = ()>) {
    let mut house = House::open(&edge);
    let _watched = watch_certificate(&edge);
    limit_unsent(&listener);
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            biased;
            () = &mut shutdown => break,
            _ = house.second.tick() => house.look_around(),
            (place, accepted) = next(&house.places, &listener) => match accepted {
                Ok((stream, peer)) => house.take_in(stream, peer, &edge, place),
                Err(error) => {
                    tracing::warn!("cannot accept a connection: {error}");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    edge.stopping().cancel();
    house.empty(edge.settings.drain).await;
}

/// Resolves on SIGTERM or SIGINT; both are caught from this call on.
pub fn terminated() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// The next connection, once a slot is free; more wait in the kernel's queue.
async fn next(
    places: &Arc<Semaphore>,
    listener: &TcpListener,
) -> (OwnedSemaphorePermit, std::io::Result<(TcpStream, SocketAddr)>) {
    let place = Arc::clone(places).acquire_owned().await.expect("the semaphore is never closed");
    (place, listener.accept().await)
}

/// The open connections and their limit.
struct House {
    open: Vec<Arc<Activity>>,
    places: Arc<Semaphore>,
    places_max: u32,
    pulse: Arc<Pulse>,
    second: Interval,
}

impl House {
    fn open<S: Gate>(edge: &Edge<S>) -> House {
        let places_max = places::places(edge.settings.connections_max);
        let mut second = interval(activity::SECOND);
        second.set_missed_tick_behavior(MissedTickBehavior::Delay);
        House {
            open: Vec::new(),
            places: Arc::new(Semaphore::new(places_max as usize)),
            places_max,
            pulse: Arc::new(Pulse::new(&edge.stats)),
            second,
        }
    }

    fn take_in<S: Gate>(
        &mut self,
        stream: TcpStream,
        peer: SocketAddr,
        edge: &Arc<Edge<S>>,
        place: OwnedSemaphorePermit,
    ) {
        let activity = Arc::new(Activity::new(peer, &self.pulse));
        self.open.push(Arc::clone(&activity));
        connection::begin(stream, Arc::clone(edge), activity, place);
    }

    /// Removes closed connections and ends those whose time is up.
    fn look_around(&mut self) {
        self.pulse.count_second();
        self.open.retain(|activity| {
            let open = Arc::strong_count(activity) > 1;
            if open {
                activity.look();
            }
            open
        });
    }

    /// Lets running requests end; idle connections get a little time to close.
    async fn empty(mut self, drain: Duration) {
        tracing::info!("stopping: running requests have {drain:?} to end");
        self.open.iter().for_each(|activity| activity.drain());
        let places = Arc::clone(&self.places);
        let mut all_gone = pin!(places.acquire_many(self.places_max));
        let mut over = pin!(sleep(drain));
        let goodbyes_end = Instant::now() + GOODBYE_MAX;
        loop {
            tokio::select! {
                biased;
                _ = &mut all_gone => return,
                () = &mut over => break,
                now = self.second.tick() => {
                    self.look_around();
                    let over = |activity: &&Arc<Activity>| now > goodbyes_end && activity.is_quiet();
                    self.open.iter().filter(over).for_each(|activity| activity.cut());
                }
            }
        }
        tracing::warn!("requests still ran after {drain:?} and were cut off");
        self.open.iter().for_each(|activity| activity.cut());
    }
}

/// On Linux accepted sockets inherit the option.
fn limit_unsent(listener: &TcpListener) {
    #[cfg(target_os = "linux")]
    if let Err(error) = socket2::SockRef::from(listener).set_tcp_notsent_lowat(UNSENT_MAX_BYTES) {
        tracing::debug!("unsent bytes cannot be bounded: {error}");
    }
}

/// Watches the certificate's files as long as the server accepts connections.
fn watch_certificate<S: Gate>(edge: &Edge<S>) -> Option<DropGuard> {
    let tls = edge.settings.tls.clone()?;
    let stopping = edge.stopping().child_token();
    let watched = stopping.clone().drop_guard();
    tokio::spawn(async move { stopping.run_until_cancelled(tls.follow_files()).await });
    Some(watched)
}
