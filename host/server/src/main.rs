//! The binary: everything it does is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    lakeport::cli::main()
}
