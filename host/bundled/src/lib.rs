//! The bundled plugins' components, as bytes in the binary.
//!
//! `cargo xtask build` names a folder of built components in `LAKEPORT_BUNDLED_DIR`, and they become part of
//! the single binary. Without the variable the list is empty, so that checking and testing the host needs no
//! Wasm; the server logs that at start. This crate does not interpret the bytes.

use std::ptr::NonNull;

use nix::sys::mman::{MmapAdvise, madvise};

/// One component file.
#[derive(Clone, Copy)]
pub struct Component {
    /// For example `dialect-sqlite.wasm`.
    pub file_name: &'static str,
    pub bytes: &'static [u8],
}

/// A multiple of the size of a page, on every machine.
const PAGES: usize = 64 * 1024;

impl Component {
    /// Takes its pages out of memory until its bytes are needed again: they are in the binary's file.
    #[expect(unsafe_code, reason = "there is no safe call that does it")]
    pub fn leave_memory(&self) {
        let start = self.bytes.as_ptr().align_offset(PAGES);
        // A small component has no whole page.
        let Some(whole) = self.bytes.get(start..) else { return };
        let Some(pages) = NonNull::new(whole.as_ptr().cast_mut().cast()) else { return };
        let length = whole.len() / PAGES * PAGES;
        // SAFETY: the pages hold constants of the binary's file, and nothing writes to them: the next read loads
        // the same bytes. If the call fails, they stay in memory.
        let _ = unsafe { madvise(pages, length, MmapAdvise::MADV_DONTNEED) };
    }
}

/// The bundled components, sorted by file name; empty in a build without plugins.
#[must_use]
pub fn components() -> &'static [Component] {
    include!(concat!(env!("OUT_DIR"), "/components.rs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_left_memory_are_read_again() {
        for component in components() {
            let before = component.bytes.to_vec();
            component.leave_memory();
            assert!(component.bytes == before, "{}", component.file_name);
        }
    }

    #[test]
    fn what_is_bundled_is_sorted_and_webassembly() {
        assert!(components().is_sorted_by_key(|component| component.file_name));
        for component in components() {
            assert!(component.file_name.ends_with(".wasm"), "{}", component.file_name);
            assert!(component.bytes.starts_with(b"\0asm"), "{}", component.file_name);
        }
    }
}
