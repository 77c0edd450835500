//! The bundled plugins' components, as bytes in the binary.
//!
//! `cargo xtask build` names a folder of built components in `LAKEPORT_BUNDLED_DIR`, and they become part of
//! the single binary. Without the variable the list is empty, so that checking and testing the host needs no
//! Wasm; the server logs that at start. This crate does not interpret the bytes.

/// One component file.
#[derive(Clone, Copy)]
pub struct Component {
    /// For example `dialect-sqlite.wasm`.
    pub file_name: &'static str,
    pub bytes: &'static [u8],
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
    fn what_is_bundled_is_sorted_and_webassembly() {
        assert!(components().is_sorted_by_key(|component| component.file_name));
        for component in components() {
            assert!(component.file_name.ends_with(".wasm"), "{}", component.file_name);
            assert!(component.bytes.starts_with(b"\0asm"), "{}", component.file_name);
        }
    }
}
