//! The limits of one call. The operator can set each one; the defaults are here.

use std::time::Duration;

/// Bounds of one call.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Linear memory of all of the component's memories together, bytes.
    pub memory_bytes: usize,
    /// Elements of all of its tables together.
    pub table_elements: usize,
    /// Time from start to end of the call, waits included.
    pub timeout: Duration,
    /// Bytes that the component may pass to the host in one answer or one call of an import.
    pub answer_bytes: usize,
    /// Log lines that are kept of a call; further lines are only counted.
    pub log_lines: u32,
    /// Handles (streams, connections) that are open at the same time.
    pub handles: usize,
}

impl Limits {
    /// The default, and the most that the pooling allocator reserves.
    pub const MEMORY_MAX_BYTES: usize = 256 * 1024 * 1024;
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            memory_bytes: 128 * 1024 * 1024,
            table_elements: 100_000,
            timeout: Duration::from_secs(5),
            answer_bytes: 32 * 1024 * 1024,
            log_lines: 1_000,
            handles: 1_000,
        }
    }
}
