//! The number of connection slots: the operator's limit, within the limit of open files of this process.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// More would be of no use, and child programs may iterate over all possible descriptors.
const FILES_MAX: u64 = 1 << 20;
/// Reserved for the store, the plugins, the log and outgoing connections.
const OTHER_FILES: u64 = 256;
const CONNECTIONS_MIN: u64 = 8;

/// Raises the limit of open files to the maximum; returns the limit.
pub fn raise_file_limit() -> u64 {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return FILES_MAX };
    let wanted = hard.min(FILES_MAX);
    if soft >= wanted || setrlimit(Resource::RLIMIT_NOFILE, wanted, hard).is_err() {
        return soft;
    }
    wanted
}

/// The limit of concurrent connections.
pub fn places(connections_max: usize) -> u32 {
    let files = raise_file_limit();
    let places = allowed(connections_max as u64, files);
    if places < connections_max as u64 {
        tracing::warn!(
            "connections_max is {connections_max}, but this process may open {files} files: {places} \
             connections at the same time; raise the limit (`ulimit -n`, LimitNOFILE of a systemd unit)"
        );
    } else {
        tracing::info!("{places} connections at the same time, {files} open files");
    }
    u32::try_from(places).unwrap_or(u32::MAX)
}

fn allowed(connections_max: u64, files: u64) -> u64 {
    connections_max.min(files.saturating_sub(OTHER_FILES).max(CONNECTIONS_MIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_needs_a_file() {
        assert_eq!(allowed(16_384, 1 << 20), 16_384);
        assert_eq!(allowed(16_384, 1_024), 768);
        assert_eq!(allowed(16_384, 16), CONNECTIONS_MIN);
    }
}
