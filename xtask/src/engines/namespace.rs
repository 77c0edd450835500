//! A network namespace of its own, where only the loopback interface exists.
//!
//! It has no name and ends with its last process. Root makes one directly, others within a user namespace
//! where they are root.

use anyhow::Result;

#[cfg(not(target_os = "linux"))]
pub fn enter() -> Result<()> {
    anyhow::bail!("this system has no network namespaces")
}

/// Moves this process into a new network namespace. It must not have a second thread yet.
#[cfg(target_os = "linux")]
pub fn enter() -> Result<()> {
    use anyhow::Context as _;
    use nix::sched::{CloneFlags, unshare};
    use nix::unistd::{getegid, geteuid};
    use std::fs;

    let (user, group) = (geteuid(), getegid());
    if user.is_root() {
        unshare(CloneFlags::CLONE_NEWNET).context("a network namespace is not permitted")?;
    } else {
        unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)
            .context("a user namespace is not permitted")?;
        fs::write("/proc/self/setgroups", "deny").context("cannot write setgroups")?;
        fs::write("/proc/self/uid_map", format!("0 {user} 1")).context("cannot map the user")?;
        fs::write("/proc/self/gid_map", format!("0 {group} 1")).context("cannot map the group")?;
    }
    loopback_up().context("cannot start the loopback interface")
}

/// Asks the kernel by netlink, so that no program is needed.
#[cfg(target_os = "linux")]
fn loopback_up() -> Result<()> {
    use socket2::{Domain, Protocol, Socket, Type};
    use std::io::Read as _;

    /// `AF_NETLINK` and `NETLINK_ROUTE`.
    const NETLINK: i32 = 16;
    const ROUTE: i32 = 0;
    /// `NLMSG_ERROR`; the number after the header is the negated errno, 0 for a success.
    const ACKNOWLEDGED: u16 = 2;
    const HEADER_BYTES: usize = 16;

    let mut socket = Socket::new(Domain::from(NETLINK), Type::RAW, Some(Protocol::from(ROUTE)))?;
    socket.send(&up_message())?;
    let mut answer = [0; 128];
    let read = socket.read(&mut answer)?;
    let kind = u16::from_ne_bytes([answer[4], answer[5]]);
    anyhow::ensure!(read >= HEADER_BYTES + 4 && kind == ACKNOWLEDGED, "an unknown netlink answer");
    let errno: [u8; 4] = answer[HEADER_BYTES..HEADER_BYTES + 4].try_into()?;
    match i32::from_ne_bytes(errno) {
        0 => Ok(()),
        errno => Err(std::io::Error::from_raw_os_error(-errno).into()),
    }
}

/// `struct nlmsghdr` and `struct ifinfomsg`: sets `IFF_UP` of the interface.
#[cfg(target_os = "linux")]
fn up_message() -> Vec<u8> {
    const BYTES: u32 = 32;
    const RTM_NEWLINK: u16 = 16;
    /// `NLM_F_REQUEST | NLM_F_ACK`.
    const FLAGS: u16 = 1 | 4;
    /// Loopback is the first interface of each namespace.
    const LOOPBACK_INDEX: i32 = 1;
    const IFF_UP: u32 = 1;

    let mut message = Vec::new();
    message.extend(BYTES.to_ne_bytes());
    message.extend(RTM_NEWLINK.to_ne_bytes());
    message.extend(FLAGS.to_ne_bytes());
    // Sequence number, sender; family and type of the interface.
    message.extend([0; 12]);
    message.extend(LOOPBACK_INDEX.to_ne_bytes());
    message.extend(IFF_UP.to_ne_bytes());
    // The flags to change.
    message.extend(IFF_UP.to_ne_bytes());
    message
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #[test]
    fn a_message_is_as_long_as_it_says() {
        let message = super::up_message();
        assert_eq!(message.len(), usize::from(message[0].max(message[3])));
    }
}
