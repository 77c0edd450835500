//! Memory and tables of one call, counted and bounded.

use crate::limits::Limits;

/// What a call has taken of memory and tables, and whether it asked for too much.
pub struct Usage {
    memory_max: usize,
    memory: usize,
    elements_max: usize,
    elements: usize,
    /// The largest sum of memory so far, bytes.
    pub(crate) memory_peak: usize,
}

/// Asked for more memory than the call may have.
#[derive(Debug, thiserror::Error)]
#[error("it asked for {asked} bytes of memory; a call may have {max}")]
pub struct MemoryExceeded {
    /// What all memories together would have had, bytes.
    pub asked: usize,
    /// The limit, bytes.
    pub max: usize,
}

/// Asked for more table elements than the call may have.
#[derive(Debug, thiserror::Error)]
#[error("it asked for tables of {asked} elements; a call may have {max}")]
pub struct TableExceeded {
    /// What all tables together would have had.
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
