//! The binary: everything it does is in the library.

use std::process::ExitCode;

/// Answers are made of many small pieces: this allocator takes a fifth off the cost of a list.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    lakeport::cli::main()
}
