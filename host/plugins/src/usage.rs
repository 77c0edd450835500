//! Memory and tables of one call, counted and limited.

use crate::limits::Limits;

/// The memory and table elements that a call has taken, and whether it exceeded a limit.
pub struct Usage {
    memory_max: usize,
    memory: usize,
    elements_max: usize,
    elements: usize,
    /// The peak of all memories together, bytes.
    pub(crate) memory_peak: usize,
}

/// The call asked for more memory than its limit.
#[derive(Debug, thiserror::Error)]
#[error("it asked for {asked} bytes of memory; a call may have {max}")]
pub struct MemoryExceeded {
    /// The requested total of all memories, bytes.
    pub asked: usize,
    /// The limit, bytes.
    pub max: usize,
}

/// The call asked for more table elements than its limit.
#[derive(Debug, thiserror::Error)]
#[error("it asked for tables of {asked} elements; a call may have {max}")]
pub struct TableExceeded {
    /// The requested total of all tables.
    pub asked: usize,
    /// The limit.
    pub max: usize,
}

impl Usage {
    pub(crate) fn new(limits: &Limits) -> Self {
        Usage {
            memory_max: limits.memory_bytes,
            memory: 0,
            elements_max: limits.table_elements,
            elements: 0,
            memory_peak: 0,
        }
    }
}

impl wasmtime::ResourceLimiter for Usage {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let asked = self.memory.saturating_add(desired.saturating_sub(current));
        if asked > self.memory_max {
            return Err(MemoryExceeded { asked, max: self.memory_max }.into());
        }
        self.memory = asked;
        self.memory_peak = self.memory_peak.max(asked);
        Ok(true)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let asked = self.elements.saturating_add(desired.saturating_sub(current));
        if asked > self.elements_max {
            return Err(TableExceeded { asked, max: self.elements_max }.into());
        }
        self.elements = asked;
        Ok(true)
    }
}
