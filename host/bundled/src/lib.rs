//! The bundled plugins' components and the console's files, as bytes in the binary.
//!
//! `cargo xtask build` names a folder of built components in `LAKEPORT_BUNDLED_DIR` and the built console in
//! `LAKEPORT_CONSOLE_DIR`, and they become part of the single binary. Without a variable its list is empty, so that
//! checking and testing the host needs neither Wasm nor Node; the server logs missing components at its start, and
//! says at `/` how the console is built. This crate does not interpret the bytes.

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

/// One file of the console, compressed in two ways.
#[derive(Clone, Copy)]
pub struct ConsoleFile {
    /// Its path, for example `assets/index-C7sQ1x0f.js`.
    pub name: &'static str,
    pub brotli: &'static [u8],
    pub gzip: &'static [u8],
}

/// The console's files, sorted by name; empty in a build without it.
#[must_use]
pub fn console() -> &'static [ConsoleFile] {
    include!(concat!(env!("OUT_DIR"), "/console.rs"))
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

    #[test]
    fn the_console_is_sorted_and_has_its_page() {
        let names = console().iter().map(|file| file.name);
        assert!(names.clone().is_sorted());
        assert!(names.clone().count() == 0 || names.clone().any(|name| name == "index.html"));
    }
}
