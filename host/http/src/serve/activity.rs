//! Tracks a connection's activity by marks that cost a request next to nothing: no clock is read and no timer
//! set. The pulse counts seconds; once a second every connection is checked, and its marks show whether its
//! time is up. The protocols' own timeouts leave gaps (an unfinished preface, an HTTP/2 connection without a
//! stream, an answer that the client does not read); this has none.

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::task::{Poll, Waker};
use std::time::Duration;

use parking_lot::Mutex;

use crate::Stats;

/// The interval of the checks; it is the precision of the timeouts below.
pub const SECOND: Duration = Duration::from_secs(1);
/// A client must send a complete head within this time of connecting, and of a later head's first byte.
const HEAD_MAX_S: u32 = 15;
/// A connection is closed after this time without a request.
const IDLE_MAX_S: u32 = 75;
/// A client that reads nothing of its answer for this time is cut off.
pub const UNREAD_MAX_S: u32 = 60;
/// A connection releases its buffers after this time without a request.
const REST_AFTER_S: u32 = 2;
/// Connections that may keep their buffers between two requests; further ones release them at once.
const WARM_MAX: usize = 512;

/// State shared by all connections.
pub struct Pulse {
    /// From 1 on: a mark of 0 means "not set".
    second: AtomicU32,
    /// Connections that hold buffers.
    warm: AtomicUsize,
    stats: Stats,
}

impl Pulse {
    pub fn new(stats: &Stats) -> Pulse {
        Pulse { second: AtomicU32::new(1), warm: AtomicUsize::new(0), stats: stats.clone() }
    }

    pub fn count_second(&self) {
        self.second.fetch_add(1, Relaxed);
    }
}

/// One connection's marks. Its own tasks set them; the checker reads them and sends it commands.
pub struct Activity {
    peer: SocketAddr,
    pulse: Arc<Pulse>,
    /// Requests from their head to the end of the answer's body.
    running: AtomicU32,
    opened: AtomicU32,
    /// The latest start or end of a request, or progress of an answer.
    last: AtomicU32,
    /// When the current head began.
    head_since: AtomicU32,
    /// When the client stopped reading its answer.
    unread_since: AtomicU32,
    http2: AtomicBool,
    warm: AtomicBool,
    /// Its socket moves from one HTTP/1.1 state to the next and must stay open.
    resting: AtomicBool,
    told: AtomicU8,
    /// Woken when the connection gets a command.
    task: Mutex<Option<Waker>>,
}

/// The commands to a connection.
const REST: u8 = 1;
const DRAIN: u8 = 2;
const CUT: u8 = 3;

/// A running request; dropping it ends it.
pub struct Busy(Arc<Activity>);

/// Buffers that a connection holds; dropping it marks them as released.
pub struct Warm(Arc<Activity>);

impl Activity {
    pub fn new(peer: SocketAddr, pulse: &Arc<Pulse>) -> Activity {
        pulse.stats.connections.inc();
        Activity {
            peer,
            pulse: Arc::clone(pulse),
            running: AtomicU32::new(0),
            opened: AtomicU32::new(pulse.second.load(Relaxed)),
            last: AtomicU32::new(0),
            head_since: AtomicU32::new(0),
            unread_since: AtomicU32::new(0),
            http2: AtomicBool::new(false),
            warm: AtomicBool::new(false),
            resting: AtomicBool::new(false),
            told: AtomicU8::new(0),
            task: Mutex::new(None),
        }
    }

    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// The handshake is done: the time limit of the first head starts now.
    pub fn greeted(&self) {
        self.mark(&self.opened);
    }

    /// From now on bytes between requests do not start a head: HTTP/2 has frames of its own.
    pub fn speaks_http2(&self) {
        self.http2.store(true, Relaxed);
    }

    /// Starts a request.
    pub fn busy(self: &Arc<Self>) -> Busy {
        self.running.fetch_add(1, Relaxed);
        self.mark(&self.last);
        self.head_since.store(0, Relaxed);
        self.pulse.stats.running.inc();
        Busy(Arc::clone(self))
    }

    /// Marks that bytes arrived.
    pub fn read(&self) {
        if self.running.load(Relaxed) == 0 && !self.http2.load(Relaxed) {
            self.mark_first(&self.head_since);
        }
    }

    /// Marks that the client read bytes of an answer.
    pub fn wrote(&self) {
        self.flushed();
        if !self.http2.load(Relaxed) {
            self.mark(&self.last);
        }
    }

    /// Marks that no bytes wait for the client.
    pub fn flushed(&self) {
        if self.unread_since.load(Relaxed) != 0 {
            self.unread_since.store(0, Relaxed);
        }
    }

    /// Marks that the client's buffers are full.
    pub fn write_waits(&self) {
        self.mark_first(&self.unread_since);
    }

    /// Marks that the connection holds buffers while the guard lives.
    pub fn warm(self: &Arc<Self>) -> Warm {
        self.pulse.warm.fetch_add(1, Relaxed);
        self.warm.store(true, Relaxed);
        Warm(Arc::clone(self))
    }

    /// Whether to release the buffers now: the connection is idle, and it was commanded to, or too many
    /// connections hold buffers. Call it on the connection's own task, where no request can begin meanwhile.
    pub fn should_rest(&self) -> bool {
        let told = self.told.load(Relaxed) == REST || self.pulse.warm.load(Relaxed) > WARM_MAX;
        told && self.is_at_rest()
    }

    /// No request runs, and no bytes of an answer wait for the client.
    pub fn is_quiet(&self) -> bool {
        self.running.load(Relaxed) == 0 && self.unread_since.load(Relaxed) == 0
    }

    fn is_at_rest(&self) -> bool {
        self.is_quiet() && self.last.load(Relaxed) != 0 && self.head_since.load(Relaxed) == 0
    }

    pub fn set_resting(&self, resting: bool) {
        self.resting.store(resting, Relaxed);
    }

    pub fn is_resting(&self) -> bool {
        self.resting.load(Relaxed)
    }

    /// Registers the current task to be woken by commands.
    pub async fn attach(&self) {
        poll_fn(|context| {
            *self.task.lock() = Some(context.waker().clone());
            Poll::Ready(())
        })
        .await;
    }

    pub fn is_draining(&self) -> bool {
        self.told.load(Relaxed) >= DRAIN
    }

    pub fn is_cut(&self) -> bool {
        self.told.load(Relaxed) == CUT
    }

    /// The outcome of `work`; `None` once the connection must drain. For idle times only.
    pub async fn unless_told<F: Future>(&self, work: F) -> Option<F::Output> {
        let mut work = pin!(work);
        poll_fn(|context| {
            if self.is_draining() {
                return Poll::Ready(None);
            }
            work.as_mut().poll(context).map(Some)
        })
        .await
    }

    /// Ends the connection when its time is up, and lets it rest when it is idle.
    pub fn look(&self) {
        if let Some(reason) = self.overdue() {
            tracing::debug!("{}: {reason}, closed", self.peer);
            self.cut();
        } else if self.warm.load(Relaxed)
            && self.is_at_rest()
            && self.since(&self.last).is_some_and(|passed| passed >= REST_AFTER_S)
        {
            self.tell(REST);
        }
    }

    /// Lets running requests end, then closes the connection.
    pub fn drain(&self) {
        self.tell(DRAIN);
    }

    /// Closes the connection now.
    pub fn cut(&self) {
        self.tell(CUT);
    }

    fn tell(&self, what: u8) {
        if self.told.fetch_max(what, Relaxed) < what
            && let Some(task) = &*self.task.lock()
        {
            task.wake_by_ref();
        }
    }

    fn overdue(&self) -> Option<&'static str> {
        let past = |mark: &AtomicU32, max_s: u32| self.since(mark).is_some_and(|passed| passed > max_s);
        if past(&self.unread_since, UNREAD_MAX_S) {
            return Some("did not read its answer");
        }
        if self.running.load(Relaxed) > 0 {
            return None;
        }
        let begun = self.last.load(Relaxed) != 0;
        if !begun && past(&self.opened, HEAD_MAX_S) {
            return Some("sent no request");
        }
        if past(&self.head_since, HEAD_MAX_S) {
            return Some("did not finish the head of a request");
        }
        past(&self.last, IDLE_MAX_S).then_some("idle")
    }

    fn mark(&self, mark: &AtomicU32) {
        mark.store(self.pulse.second.load(Relaxed), Relaxed);
    }

    fn mark_first(&self, mark: &AtomicU32) {
        if mark.load(Relaxed) == 0 {
            self.mark(mark);
        }
    }

    /// Seconds since the mark was set.
    fn since(&self, mark: &AtomicU32) -> Option<u32> {
        match mark.load(Relaxed) {
            0 => None,
            marked => Some(self.pulse.second.load(Relaxed).wrapping_sub(marked)),
        }
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        self.pulse.stats.connections.dec();
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let activity = &self.0;
        activity.mark(&activity.last);
        activity.running.fetch_sub(1, Relaxed);
        activity.pulse.stats.running.dec();
    }
}

impl Drop for Warm {
    fn drop(&mut self) {
        let activity = &self.0;
        activity.warm.store(false, Relaxed);
        // An earlier command to rest was about these buffers.
        let _ = activity.told.compare_exchange(REST, 0, Relaxed, Relaxed);
        activity.pulse.warm.fetch_sub(1, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connected() -> Arc<Activity> {
        Arc::new(Activity::new(([127, 0, 0, 1], 1).into(), &Arc::new(Pulse::new(&Stats::new()))))
    }

    fn pass(activity: &Activity, seconds: u32) {
        (0..seconds).for_each(|_| activity.pulse.count_second());
    }

    #[test]
    fn a_client_has_its_time_to_send_a_whole_head() {
        let activity = connected();
        pass(&activity, HEAD_MAX_S);
        activity.read();
        assert_eq!(activity.overdue(), None);
        pass(&activity, 1);
        assert_eq!(activity.overdue(), Some("sent no request"));
    }

    #[test]
    fn idle_time_starts_after_the_last_request() {
        let activity = connected();
        let busy = activity.busy();
        pass(&activity, 1_000);
        assert_eq!(activity.overdue(), None);
        drop(busy);
        pass(&activity, IDLE_MAX_S);
        assert_eq!(activity.overdue(), None);
        pass(&activity, 1);
        assert_eq!(activity.overdue(), Some("idle"));
    }

    #[test]
    fn each_request_head_has_its_timeout() {
        let activity = connected();
        drop(activity.busy());
        pass(&activity, 10);
        activity.read();
        pass(&activity, HEAD_MAX_S);
        activity.read();
        assert_eq!(activity.overdue(), None);
        pass(&activity, 1);
        assert_eq!(activity.overdue(), Some("did not finish the head of a request"));
    }

    #[test]
    fn a_client_may_read_slowly_but_steadily() {
        let activity = connected();
        let _busy = activity.busy();
        for _ in 0..10 {
            activity.write_waits();
            pass(&activity, UNREAD_MAX_S);
            assert_eq!(activity.overdue(), None);
            activity.wrote();
        }
        activity.write_waits();
        pass(&activity, UNREAD_MAX_S + 1);
        assert!(activity.overdue().is_some());
    }

    #[test]
    fn http_2_control_frames_do_not_count() {
        let activity = connected();
        activity.speaks_http2();
        drop(activity.busy());
        for _ in 0..=IDLE_MAX_S {
            pass(&activity, 1);
            activity.read();
            activity.wrote();
        }
        assert_eq!(activity.overdue(), Some("idle"));
    }

    #[test]
    fn it_rests_when_nothing_is_under_way() {
        let activity = connected();
        let warm = activity.warm();
        let busy = activity.busy();
        pass(&activity, 10);
        activity.look();
        assert!(!activity.should_rest(), "a request runs");
        drop(busy);
        activity.look();
        assert!(!activity.should_rest(), "another request may follow");
        pass(&activity, REST_AFTER_S);
        activity.look();
        assert!(activity.should_rest());
        activity.read();
        assert!(!activity.should_rest(), "a head begins");
        drop(warm);
        drop(activity.busy());
        assert!(!activity.should_rest(), "told once for each time that it is warm");
    }

    #[test]
    fn where_many_have_buffers_each_rests_at_once() {
        let activity = connected();
        let all: Vec<Warm> = (0..=WARM_MAX).map(|_| activity.warm()).collect();
        assert!(!activity.should_rest(), "it has not asked yet");
        drop(activity.busy());
        assert!(activity.should_rest());
        drop(all);
        assert!(!activity.should_rest());
    }

    #[tokio::test]
    async fn draining_leaves_running_work() {
        let activity = connected();
        activity.attach().await;
        assert_eq!(activity.unless_told(async { 7 }).await, Some(7));
        let waiting = tokio::spawn({
            let activity = Arc::clone(&activity);
            async move {
                activity.attach().await;
                activity.unless_told(std::future::pending::<()>()).await
            }
        });
        tokio::task::yield_now().await;
        activity.drain();
        assert_eq!(waiting.await.unwrap(), None);
    }
}
