//! `lakeport serve`: bind, start, say where things are, serve, stop in order.

use std::io::{ErrorKind, IsTerminal, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

use crate::app::App;
use crate::config::{Config, LogFormat};
use crate::workers::Workers;
use crate::{http, points};

/// How long changes whose client is gone may take to end.
const SETTLE: Duration = Duration::from_secs(10);

/// Runs until the process is told to stop.
pub async fn run(config: Config) -> anyhow::Result<()> {
    start_log(&config)?;
    config.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    points::arm(config.kill_at.as_deref())?;
    let listener = bind(config.listen).await?;
    let app = Arc::new(App::start(config).await?);
    app.auth.refuse_wide_listening(app.config.listen)?;
    let edge = Arc::new(app.edge()?);
    let workers = Workers::start(&app);
    let stop = http::terminated()?;
    announce(&app, listener.local_addr()?);
    http::run(listener, Arc::clone(&edge), stop).await;
    if tokio::time::timeout(SETTLE, edge.settled()).await.is_err() {
        tracing::warn!("changes still ran after {SETTLE:?} and were cut off");
    }
    // The edge may have been stopped by something else than the signal.
    app.stopping.cancel();
    app.changes.stop().await;
    workers.stopped().await;
    app.close().await;
    tracing::info!("stopped");
    Ok(())
}

fn start_log(config: &Config) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&config.log)?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let started = match config.log_format {
        LogFormat::Text => log.with_ansi(std::io::stderr().is_terminal()).try_init(),
        LogFormat::Json => log.json().try_init(),
    };
    started.map_err(|error| anyhow!("the log cannot start: {error}"))
}

async fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.map_err(|error| match error.kind() {
        ErrorKind::AddrInUse => anyhow!(
            "another program listens on {address}: stop it, or take another port with --listen {}:PORT \
             (`lakeport doctor` says whether it is a Lakeport)",
            address.ip()
        ),
        _ => anyhow!("cannot listen on {address}: {error}"),
    })
}

/// The first line is for scripts: nothing is printed before the server is ready to answer.
fn announce(app: &App, address: SocketAddr) {
    let mut out = std::io::stdout().lock();
    // Whoever started it may have read the first line alone and gone away: no reason not to serve.
    if let Err(error) = say(app, address, &mut out).and_then(|()| out.flush()) {
        tracing::warn!("what stands where could not be printed: {error}");
    }
}

fn say(app: &App, address: SocketAddr, out: &mut impl Write) -> std::io::Result<()> {
    let config = &app.config;
    let scheme = if config.tls_cert.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{address}");
    writeln!(out, "listening on {url}")?;
    writeln!(out, "data      {}", config.data_dir.display())?;
    writeln!(out, "store     {} ({})", config.database.shown(), app.db.product())?;
    if app.plugins.bundled().is_empty() {
        writeln!(out, "plugins   built without plugins: run `cargo xtask build`")?;
    }
    for plugin in app.plugins.bundled() {
        match &plugin.outcome {
            Ok(generation) => {
                writeln!(out, "plugin    {} {}", generation.id, generation.description.version())?
            }
            Err(reason) => writeln!(out, "plugin    {} is not let in: {reason}", plugin.file_name)?,
        }
    }
    if app.auth.is_local_mode() {
        writeln!(out, "log-in    none (local mode: programs of this machine only, everyone is admin)")?;
    } else {
        writeln!(out, "log-in    Authorization: Bearer <token>  (`lakeport token list`)")?;
    }
    writeln!(out, "docs      {url}/docs")?;
    writeln!(out, "try       curl {url}/health/ready")?;
    writeln!(out, "          lakeport plugin list --url {url}")?;
    writeln!(out, "          lakeport doctor --listen {address} --data-dir {}", config.data_dir.display())
}
