//! Limits of a child process that works on what cannot be trusted, set by itself before it begins. They cannot be
//! raised again.

use std::io;
use std::time::Duration;

use nix::sys::prctl::set_pdeathsig;
use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
use nix::sys::signal::Signal;

/// Open files and sockets: a database, its journals, temporary files, a connection.
const FILES_MAX: u64 = 64;
/// Processor time besides what is allowed, seconds: for opening, and for rounding.
const CPU_SPARE_S: u64 = 10;
/// The size of a page as `/proc/self/statm` counts, bytes.
const PAGE_BYTES: u64 = 4096;

/// Ends this process with the thread that started it, which must wait for it.
pub fn end_with_parent() -> io::Result<()> {
    Ok(set_pdeathsig(Signal::SIGKILL)?)
}

/// Sets the limits of this process. `memory_mib`: address space besides what it has now.
pub fn enter(memory_mib: u64) -> io::Result<()> {
    // If memory runs out, the kernel ends this process first.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: Option<u64> = statm.split(' ').next().and_then(|pages| pages.parse().ok());
    let present = pages.ok_or_else(|| io::Error::other("/proc/self/statm has no size"))? * PAGE_BYTES;
    let memory = present + memory_mib * 1024 * 1024;
    setrlimit(Resource::RLIMIT_AS, memory, memory)?;
    setrlimit(Resource::RLIMIT_NOFILE, FILES_MAX, FILES_MAX)?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    Ok(())
}

/// Lets this process use this much more processor time; beyond it the kernel ends the process.
pub fn allow_cpu(time: Duration) {
    let allow = || {
        let used = getrusage(UsageWho::RUSAGE_SELF)?;
        let used_s = u64::try_from(used.user_time().tv_sec() + used.system_time().tv_sec()).unwrap_or(0);
        let (_, hard) = getrlimit(Resource::RLIMIT_CPU)?;
        let soft = used_s.saturating_add(time.as_secs()).saturating_add(CPU_SPARE_S);
        setrlimit(Resource::RLIMIT_CPU, soft.min(hard), hard)
    };
    // The parent ends this process at its deadline in any case.
    let _ = allow();
}
