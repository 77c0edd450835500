//! The binary: everything it does is in the library.

use std::process::ExitCode;

/// Answers are made of many small pieces: this allocator takes a fifth off the cost of a list.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Its option `purge_delay`, for which its bindings have no name.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;

fn main() -> ExitCode {
    purge_at_once();
    lakeport::cli::main()
}

/// Returns freed memory to the system at once. By default it is kept for a second, and for good where nothing is
/// freed afterwards: an idle server kept a dozen megabytes of its start. The difference in time cannot be measured.
#[expect(unsafe_code, reason = "a C function that sets a number")]
fn purge_at_once() {
    // SAFETY: it may be called at any time, and unknown options are ignored.
    unsafe { libmimalloc_sys::mi_option_set(PURGE_DELAY, 0) };
}
