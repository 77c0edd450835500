//! Limits of a child process that works on what cannot be trusted, set by itself before it begins. They cannot be
//! raised again.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use nix::libc;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::resource::{Resource, UsageWho, getrlimit, getrusage, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{SysconfVar, sysconf};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

/// Open files and sockets: a database, its journals, temporary files, a connection.
const FILES_MAX: u64 = 64;
/// Processor time besides what is allowed, seconds: for opening, and for rounding.
const CPU_SPARE_S: u64 = 10;

/// Ends this process with the thread that started it, which must wait for it.
pub fn end_with_parent() -> io::Result<()> {
    Ok(set_pdeathsig(Signal::SIGKILL)?)
}

/// Sets the limits of this process. `memory_mib`: address space besides what it has now.
pub fn enter(memory_mib: u64) -> io::Result<()> {
    // A service manager may tell all processes of a service to end: the parent decides when this one does.
    SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]).thread_block()?;
    // If memory runs out, the kernel ends this process first.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: Option<u64> = statm.split(' ').next().and_then(|pages| pages.parse().ok());
    let present = pages.ok_or_else(|| io::Error::other("/proc/self/statm has no size"))? * page_bytes();
    let memory = present + memory_mib * 1024 * 1024;
    setrlimit(Resource::RLIMIT_AS, memory, memory)?;
    setrlimit(Resource::RLIMIT_NOFILE, FILES_MAX, FILES_MAX)?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
    // Some containers allow no filters; the other limits hold there.
    let _ = forbid_processes();
    Ok(())
}

/// From now on this thread, and those that it starts, start neither processes nor programs; threads they may.
fn forbid_processes() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    // The other architectures have no such filter.
    let Ok(arch) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(()) };
    let install = |rules: BTreeMap<i64, Vec<SeccompRule>>, errno: i32| {
        let refused = SeccompAction::Errno(errno.unsigned_abs());
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)?;
        seccompiler::apply_filter(&BpfProgram::try_from(filter)?)?;
        Ok(())
    };
    let thread = libc::CLONE_THREAD.unsigned_abs().into();
    let is_process = SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(thread), 0)?;
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> =
        [libc::SYS_execve, libc::SYS_execveat, libc::SYS_ptrace].map(|call| (call, Vec::new())).into();
    #[cfg(target_arch = "x86_64")]
    refused.extend([libc::SYS_fork, libc::SYS_vfork].map(|call| (call, Vec::new())));
    refused.insert(libc::SYS_clone, vec![SeccompRule::new(vec![is_process])?]);
    install(refused, libc::EPERM)?;
    // Its flags lie in memory, where a filter cannot look. The C library then calls `clone`.
    install([(libc::SYS_clone3, Vec::new())].into(), libc::ENOSYS)
}

/// The size of a page as `/proc/self/statm` counts, bytes.
fn page_bytes() -> u64 {
    let bytes = sysconf(SysconfVar::PAGE_SIZE).ok().flatten();
    bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(4096)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_may_begin_and_processes_may_not() {
        let tried = std::thread::spawn(|| {
            forbid_processes().map_err(|error| error.to_string())?;
            let process = std::process::Command::new("/bin/true").status();
            let thread = std::thread::Builder::new().spawn(|| {
                let started = std::process::Command::new("/bin/true").status();
                started.map_err(|error| error.kind())
            });
            Ok::<_, String>((process.map_err(|error| error.kind()), thread.unwrap().join().unwrap()))
        });
        let (process, of_thread) = match tried.join().unwrap() {
            Ok(tried) => tried,
            Err(why) => {
                eprintln!("NOT TESTED: this system allows no filters: {why}");
                return;
            }
        };
        assert_eq!(process.unwrap_err(), io::ErrorKind::PermissionDenied);
        assert_eq!(of_thread.unwrap_err(), io::ErrorKind::PermissionDenied);
    }
}
