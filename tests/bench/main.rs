//! The benchmarks, each as `cargo xtask bench NAME` runs it. One program: each further one would link the server again.

mod definitions;
mod demo;
mod edge;
mod executions;
mod planner;
mod plugins;
mod questions;
mod reads;
mod runs;
mod tables;
mod threads;

use anyhow::{Result, bail};

/// As in the server.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let bench = match name.as_str() {
        "definitions" => definitions::bench,
        "demo" => demo::bench,
        "edge" => edge::bench,
        "executions" => executions::bench,
        "planner" => planner::bench,
        "plugins" => plugins::bench,
        "questions" => questions::bench,
        "reads" => reads::bench,
        "runs" => runs::bench,
        "tables" => tables::bench,
        "threads" => threads::bench,
        _ => bail!("`{name}` is no benchmark; `cargo xtask bench --help` lists them"),
    };
    bench(&arguments.collect::<Vec<_>>())
}
