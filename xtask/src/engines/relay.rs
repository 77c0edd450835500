//! Passes connections on, between TCP on 127.0.0.1 and unix sockets.
//!
//! A unix socket is a file, so it connects two network namespaces that have no interface in common.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result};

/// Connections of one relay; further ones wait.
const CONNECTIONS_MAX: usize = 256;

/// How often a full relay looks for a free place.
const POLL: Duration = Duration::from_millis(20);

/// One end of a relay.
#[derive(Clone, Debug)]
pub enum Address {
    /// A port of 127.0.0.1; to listen, 0 is any free one.
    Port(u16),
    Socket(PathBuf),
}

/// Accepts connections until it is dropped. Open connections remain until one of their ends closes them.
pub struct Relay {
    address: Address,
    is_stopping: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl Relay {
    /// Listens on `from` and passes each connection on to `to`.
    pub fn start(from: &Address, to: Address) -> Result<Self> {
        let listener = Listener::bind(from).with_context(|| format!("cannot listen on {from:?}"))?;
        let address = listener.address(from)?;
        let is_stopping = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&is_stopping);
        let accepting = thread::spawn(move || accept(&listener, &to, &stopping));
        Ok(Self { address, is_stopping, accepting: Some(accepting) })
    }

    /// The port that it listens on, 0 for a socket.
    pub fn port(&self) -> u16 {
        match self.address {
            Address::Port(port) => port,
            Address::Socket(_) => 0,
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.is_stopping.store(true, Ordering::SeqCst);
        // Wakes the thread. Without a connection it cannot be awaited.
        if Stream::connect(&self.address).is_ok()
            && let Some(accepting) = self.accepting.take()
        {
            accepting.join().ok();
        }
    }
}

/// `open` has one more owner for each connection.
fn accept(listener: &Listener, to: &Address, is_stopping: &AtomicBool) {
    let open = Arc::new(());
    loop {
        let accepted = listener.accept();
        if is_stopping.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = accepted else {
            thread::sleep(POLL);
            continue;
        };
        let (to, place) = (to.clone(), Arc::clone(&open));
        thread::spawn(move || {
            // An error is a closed connection for both ends.
            connect(stream, &to).ok();
            drop(place);
        });
        while Arc::strong_count(&open) > CONNECTIONS_MAX && !is_stopping.load(Ordering::SeqCst) {
            thread::sleep(POLL);
        }
    }
}

/// Returns when both directions have ended.
fn connect(near: Stream, to: &Address) -> io::Result<()> {
    let far = Stream::connect(to)?;
    let (near_again, far_again) = (near.try_clone()?, far.try_clone()?);
    let back = thread::spawn(move || pump(far_again, near_again));
    pump(near, far);
    back.join().ok();
    Ok(())
}

/// Copies one direction to its end, and passes the end on.
fn pump(mut from: Stream, mut to: Stream) {
    if io::copy(&mut from, &mut to).is_ok() {
        to.shutdown(Shutdown::Write);
    } else {
        from.shutdown(Shutdown::Both);
        to.shutdown(Shutdown::Both);
    }
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    fn bind(address: &Address) -> io::Result<Self> {
        match address {
            Address::Port(port) => TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).map(Self::Tcp),
            Address::Socket(path) => UnixListener::bind(path).map(Self::Unix),
        }
    }

    /// The address with the real port.
    fn address(&self, bound: &Address) -> io::Result<Address> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(|address| Address::Port(address.port())),
            Self::Unix(_) => Ok(bound.clone()),
        }
    }

    fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Tcp(listener) => Stream::tcp(listener.accept()?.0),
            Self::Unix(listener) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
        }
    }
}

enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    fn connect(address: &Address) -> io::Result<Self> {
        match address {
            Address::Port(port) => Self::tcp(TcpStream::connect((Ipv4Addr::LOCALHOST, *port))?),
            Address::Socket(path) => UnixStream::connect(path).map(Self::Unix),
        }
    }

    /// Small messages are passed on at once.
    fn tcp(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self::Tcp(stream))
    }

    fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Tcp(stream) => stream.try_clone().map(Self::Tcp),
            Self::Unix(stream) => stream.try_clone().map(Self::Unix),
        }
    }

    /// A connection that is closed already needs no shutdown.
    fn shutdown(&self, how: Shutdown) {
        match self {
            Self::Tcp(stream) => stream.shutdown(how).ok(),
            Self::Unix(stream) => stream.shutdown(how).ok(),
        };
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that answers each connection with what it read up to the client's end.
    fn echo() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("bound").port();
        thread::spawn(move || {
            for stream in listener.incoming() {
                thread::spawn(move || {
                    let mut stream = stream.expect("accepted");
                    let mut read = Vec::new();
                    stream.read_to_end(&mut read).expect("read to the client's end");
                    stream.write_all(&read).expect("answered after it");
                });
            }
        });
        port
    }

    #[test]
    fn bytes_and_a_half_close_pass_two_relays() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let socket = Address::Socket(folder.path().join("socket"));
        let _inner = Relay::start(&socket, Address::Port(echo())).expect("listens");
        let outer = Relay::start(&Address::Port(0), socket).expect("listens");
        let sent: Vec<u8> = (0..1_000_000_u32).map(|number| number.to_le_bytes()[0]).collect();
        for _ in 0..3 {
            let mut stream = TcpStream::connect(("127.0.0.1", outer.port())).expect("connected");
            let (mut writer, bytes) = (stream.try_clone().expect("cloned"), sent.clone());
            let writing = thread::spawn(move || {
                writer.write_all(&bytes).expect("written");
                writer.shutdown(Shutdown::Write).expect("ended one direction");
            });
            let mut answered = Vec::new();
            stream.read_to_end(&mut answered).expect("read");
            writing.join().expect("written");
            assert!(answered == sent, "{} of {} bytes", answered.len(), sent.len());
        }
    }

    #[test]
    fn connections_beyond_the_limit_wait() {
        let relay = Relay::start(&Address::Port(0), Address::Port(echo())).expect("listens");
        let connect = || TcpStream::connect(("127.0.0.1", relay.port())).expect("the backlog takes it");
        let held: Vec<TcpStream> = (0..CONNECTIONS_MAX).map(|_| connect()).collect();
        let mut late = connect();
        late.write_all(b"late").expect("buffered");
        late.shutdown(Shutdown::Write).expect("ended");
        late.set_read_timeout(Some(POLL * 5)).expect("set");
        late.read(&mut [0; 4]).expect_err("no place is free");
        drop(held);
        late.set_read_timeout(None).expect("set");
        let mut answered = String::new();
        late.read_to_string(&mut answered).expect("its turn came");
        assert_eq!(answered, "late");
    }

    #[test]
    fn without_a_server_the_connection_is_closed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let to = Address::Socket(folder.path().join("none"));
        let relay = Relay::start(&Address::Port(0), to).expect("listens");
        let port = relay.port();
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("accepted");
        assert_eq!(stream.read(&mut [0; 1]).expect("closed"), 0);
        drop(relay);
        TcpStream::connect(("127.0.0.1", port)).expect_err("it listens no longer");
    }
}
