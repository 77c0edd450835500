//! A relay in front of a database, which a test cuts or holds up.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

/// How the database is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Away {
    /// Connections are closed, and new ones are closed at once.
    Closed,
    /// Connections stay, and nothing is answered.
    Silent,
}

/// Passes on every connection to a server on this machine, until it is dropped.
pub struct Relay {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    away: Option<Away>,
    is_over: bool,
    /// Both ends of the connections so far.
    ends: Vec<TcpStream>,
}

impl Relay {
    /// `to`: `127.0.0.1:5432`.
    pub fn start(to: &str) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let shared = Arc::new(Shared { state: Mutex::default(), changed: Condvar::new() });
        let (theirs, to) = (Arc::clone(&shared), to.to_owned());
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if theirs.state.lock().expect("no panic while it is held").is_over {
                    return;
                }
                theirs.pass_on(client, &to);
            }
        });
        Relay { address, shared }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes the database away.
    pub fn take_away(&self, how: Away) {
        self.set(|state| {
            state.away = Some(how);
            if how == Away::Closed {
                state.close();
            }
        });
    }

    /// Brings it back.
    pub fn bring_back(&self) {
        self.set(|state| state.away = None);
    }

    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.shared.state.lock().expect("no panic while it is held"));
        self.shared.changed.notify_all();
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.set(|state| {
            state.is_over = true;
            state.close();
        });
        // Wakes the listener, which ends.
        let _ = TcpStream::connect(self.address);
    }
}

impl State {
    fn close(&mut self) {
        for end in self.ends.drain(..) {
            // The other side may have closed it.
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

impl Shared {
    fn pass_on(self: &Arc<Self>, client: TcpStream, to: &str) {
        let mut state = self.state.lock().expect("no panic while it is held");
        let Ok(server) = TcpStream::connect(to) else { return };
        if state.away == Some(Away::Closed) {
            return;
        }
        let ends = [client.try_clone(), server.try_clone()].map(|end| end.expect("a further handle"));
        state.ends.extend(ends);
        for (from, into) in [
            (client.try_clone().expect("a further handle"), server.try_clone().expect("a further handle")),
            (server, client),
        ] {
            let shared = Arc::clone(self);
            std::thread::spawn(move || shared.copy(from, into));
        }
    }

    /// Copies one direction of a connection.
    fn copy(&self, mut from: TcpStream, mut into: TcpStream) {
        let mut bytes = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            let state = self.state.lock().expect("no panic while it is held");
            let is_silent = |state: &mut State| state.away == Some(Away::Silent) && !state.is_over;
            drop(self.changed.wait_while(state, is_silent).expect("no panic while it is held"));
            if into.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        let _ = into.shutdown(Shutdown::Both);
        let _ = from.shutdown(Shutdown::Both);
    }
}
