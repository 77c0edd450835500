#!/bin/sh
# Cargo's wrapper around the compiler for the workspace's own crates (RUSTC_WORKSPACE_WRAPPER; the first argument is rustc).
# Clippy lints and compiles in one pass. The server's crate is compiled twice, for the program and for its unit tests, and takes
# longer than all others: only the second is linted, which has all of its code, and only the first is optimized.
case " $* " in
*" --crate-name lakeport "*" --test "*) exec clippy-driver "$@" -C opt-level=0 ;;
*" --crate-name lakeport "*" --crate-type lib "*) exec "$@" ;;
*) exec clippy-driver "$@" ;;
esac
