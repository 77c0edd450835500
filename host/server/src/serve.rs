//! `lakeport serve`: bind, start, announce, serve, stop in order.

use std::io::{ErrorKind, IsTerminal, Write};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use lakeport_physical::WorkerProcesses;
use lakeport_plugins::{Compiler, ComponentProcesses};
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;
use tracing_subscriber::EnvFilter;

use crate::compose::Server;
use crate::config::{Config, LogFormat};
use crate::demo;
use crate::log::{self, FlushAtEnd, Log};
use crate::part::Start;

/// How long changes whose client is gone may take to end.
const SETTLE: Duration = Duration::from_secs(10);

/// Runs until the process gets a termination signal; with the example company, if requested.
pub async fn run(
    config: Config,
    components: ComponentProcesses,
    processes: WorkerProcesses,
    with_demo: bool,
) -> anyhow::Result<()> {
    // Dropped last, so that the final log lines of the others are written.
    let _written_at_end = start_log(&config)?;
    config.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    lakeport_base::failpoints::arm(config.kill_at.as_deref())?;
    let listener = bind(config.listen).await?;
    let server = Arc::new(Server::start(config, Compiler::Child(components.clone()), processes).await?);
    server.modules.auth.refuse_wide_listening(server.config.listen)?;
    let edge = Arc::new(server.edge()?);
    let terminated = lakeport_http::terminated()?;
    let mut stop = pin!(async move {
        terminated.await;
        components.stop();
    });
    // A termination signal during the set-up ends the process before it serves.
    let workers = tokio::select! {
        biased;
        () = &mut stop => None,
        workers = start_workers(&server, with_demo) => Some(workers?),
    };
    if workers.is_some() {
        announce(&server, listener.local_addr()?, with_demo);
        lakeport_http::run(listener, Arc::clone(&edge), stop).await;
        if tokio::time::timeout(SETTLE, edge.settled()).await.is_err() {
            tracing::warn!("changes still ran after {SETTLE:?} and were cut off");
        }
    }
    // The edge may have stopped for another reason than the signal.
    server.stopping.cancel();
    server.changes.stop().await;
    if let Some(workers) = workers {
        workers.close();
        workers.wait().await;
    }
    server.close().await;
    tracing::info!("stopped");
    Ok(())
}

/// With the example company, workers that depend on the time start after the set-up: until then the clock
/// shows the past.
async fn start_workers(server: &Arc<Server>, with_demo: bool) -> anyhow::Result<TaskTracker> {
    let turn = if with_demo { demo::turn(server).await? } else { None };
    let workers = TaskTracker::new();
    server.start_workers(&workers, Start::AtOnce);
    if let Some(turn) = turn {
        demo::set_up(server, turn).await?;
    }
    server.start_workers(&workers, Start::AfterSetUp);
    Ok(workers)
}

fn start_log(config: &Config) -> anyhow::Result<FlushAtEnd> {
    let filter = EnvFilter::try_new(&config.log)?;
    let (lines, at_end) = Log::start(std::io::stderr())?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(lines);
    let started = match config.log_format {
        LogFormat::Text => {
            log.with_ansi(std::io::stderr().is_terminal()).fmt_fields(log::fields()).try_init()
        }
        LogFormat::Json => log.json().try_init(),
    };
    started.map(|()| at_end).map_err(|error| anyhow!("the log cannot start: {error}"))
}

async fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => anyhow!(
            "another program listens on {address}: stop it, or use another port with --listen {}:PORT \
             (`lakeport doctor` says whether it is a Lakeport)",
            address.ip()
        ),
        _ => anyhow!("cannot listen on {address}: {error}"),
    })
}

/// Scripts read the first line: nothing is printed before the server is ready.
fn announce(server: &Server, address: SocketAddr, with_demo: bool) {
    let mut out = std::io::stdout().lock();
    // The parent process may have read only the first line and closed the pipe, which is no error.
    if let Err(error) = say(server, address, with_demo, &mut out).and_then(|()| out.flush()) {
        tracing::warn!("printing the addresses failed: {error}");
    }
}

fn say(server: &Server, address: SocketAddr, with_demo: bool, out: &mut impl Write) -> std::io::Result<()> {
    let config = &server.config;
    let scheme = if config.tls_cert.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{address}");
    writeln!(out, "listening on {url}")?;
    writeln!(out, "data      {}", config.data_dir.display())?;
    writeln!(out, "store     {} ({})", config.database.shown(), server.db.product())?;
    if server.modules.plugins.bundled().is_empty() {
        writeln!(out, "plugins   built without plugins: run `cargo xtask build`")?;
    }
    for plugin in server.modules.plugins.bundled() {
        match &plugin.outcome {
            Ok(generation) => {
                writeln!(out, "plugin    {} {}", generation.id, generation.description.version())?
            }
            Err(reason) => writeln!(out, "plugin    {} cannot be staged: {reason}", plugin.file_name)?,
        }
    }
    if server.modules.auth.is_local_mode() {
        writeln!(out, "log-in    none (local mode: programs of this machine only, everyone is admin)")?;
    } else {
        writeln!(out, "log-in    Authorization: Bearer <token>  (`lakeport token list`)")?;
    }
    writeln!(out, "docs      {url}/docs")?;
    writeln!(out, "check     lakeport doctor --listen {address} --data-dir {}", config.data_dir.display())?;
    suggest(&url, with_demo, out)
}

/// Suggests three commands to try; the third asks a question.
fn suggest(url: &str, with_demo: bool, out: &mut impl Write) -> std::io::Result<()> {
    let (first, second, question) = if with_demo {
        ("tables?keyword=orders", "executions/statistics", "Top 5 products by sales amount")
    } else {
        ("datasources", "plugins", "How many workflows were published per day in the last 30 days?")
    };
    let uuid = "grep -o '[0-9a-f-]\\{36\\}' | head -n 1";
    writeln!(out, "try       curl -s '{url}/api/v1/{first}'")?;
    writeln!(out, "          curl -s '{url}/api/v1/{second}'")?;
    writeln!(out, "          ask={url}/api/v1/nl2sql; json='Content-Type: application/json'")?;
    writeln!(
        out,
        "          topic=$(curl -s $ask/topics -H \"$json\" -d '{{\"title\": \"a question\"}}' | {uuid})"
    )?;
    writeln!(
        out,
        "          task=$(curl -s $ask/tasks/deliver-message -H \"$json\" -d '{{\"topic_id\": \"'$topic'\", \
         \"content\": \"{question}\"}}' | {uuid})"
    )?;
    writeln!(out, "          curl -sN $ask/tasks/$task/events/stream")
}
