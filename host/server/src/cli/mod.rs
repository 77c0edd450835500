//! The command line. `ask`, `plugin` and `workflows` call a running server; all other commands work on this machine and on the
//! store itself.

mod ask;
mod backup;
mod key;
mod plugin;
mod table;
mod token;
mod workflows;

use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, Parser, Subcommand};
use lakeport_physical::{WorkerProcesses, run_worker};
use lakeport_plugins::{ComponentProcesses, compile_for_parent, inspect_for_parent};
use lakeport_store::Address;

use crate::config::{Config, Environment, Explained, Overrides, explain};
use crate::scheduler::Supervisor;
use crate::{doctor, serve};

#[derive(Parser)]
#[command(
    name = "lakeport",
    version,
    about = "Workflows, lineage and table metadata, with sandboxed plugins"
)]
struct Command {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run the server.
    Serve(ServeOptions),
    /// Ask a running server a question about data.
    Ask(ask::AskOptions),
    /// Manage the plugins of a running server.
    Plugin(plugin::PluginOptions),
    /// Keep the workflows of a running server as files: export, compare, apply.
    Workflows(workflows::WorkflowsOptions),
    /// Create, list and revoke tokens, in the store itself.
    Token(token::TokenOptions),
    /// Create or change the encryption key of the store.
    Key(key::KeyOptions),
    /// Write the complete store to a file while servers keep running.
    Backup(backup::BackupOptions),
    /// Restore a backup into an empty store of either kind.
    Restore(backup::RestoreOptions),
    /// Check the server's prerequisites and suggest remedies.
    Doctor(DoctorOptions),
    /// Show the settings.
    Config(ConfigOptions),
    /// Print the OpenAPI 3.1 description.
    Openapi,
    /// Compile a component from standard input: the server's own child process.
    #[command(name = COMPILE, hide = true)]
    CompileComponent,
    /// Read the component at standard input: the server's own child process.
    #[command(name = INSPECT, hide = true)]
    InspectComponent,
    /// Run statements for the server at standard input: the server's own child process.
    #[command(name = WORKER, hide = true)]
    Worker { memory_mib: u64 },
    /// Run the script of this folder for the server: the server's own child process.
    #[command(name = SUPERVISE, hide = true)]
    Supervise {
        #[arg(long)]
        inner: bool,
        uid: Option<u32>,
        gid: Option<u32>,
    },
}

const COMPILE: &str = "compile-component";
const INSPECT: &str = "inspect-component";
const WORKER: &str = "worker";
const SUPERVISE: &str = crate::scheduler::SUPERVISE;

/// This binary, also where its file has been replaced since the start.
const THIS_BINARY: &str = "/proc/self/exe";

/// Reads and compiles components in child processes.
fn component_processes() -> ComponentProcesses {
    ComponentProcesses::new(THIS_BINARY.into(), INSPECT, COMPILE)
}

/// Runs statements in child processes.
fn worker_processes(config: &Config) -> WorkerProcesses {
    let memory_mib = config.worker_memory_mib;
    let arguments = vec![WORKER.to_owned(), memory_mib.to_string()];
    WorkerProcesses::new(THIS_BINARY.into(), arguments, memory_mib)
}

/// The locations of settings and state.
#[derive(Args, Default)]
struct StoreOptions {
    /// Settings file [default: lakeport.toml in this folder, if it exists]
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// Folder of the store and of compiled plugins
    #[arg(long, value_name = "FOLDER", global = true)]
    data_dir: Option<String>,
    /// The metadata store: sqlite:<path> or postgres://…
    #[arg(long, value_name = "URL", global = true)]
    database_url: Option<String>,
}

#[derive(Args)]
struct ServeOptions {
    /// Address and port to listen on
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Set up an example company if there is none yet: a database, workflows, a month of history
    #[arg(long)]
    demo: bool,
    #[command(flatten)]
    store: StoreOptions,
}

#[derive(Args)]
struct DoctorOptions {
    /// The address that the server would listen on
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreOptions,
}

#[derive(Args)]
struct ConfigOptions {
    /// Each setting with its names, default, value, source and meaning
    #[arg(long)]
    explain: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreOptions,
}

impl StoreOptions {
    fn overrides(self, listen: Option<String>) -> Overrides {
        let given = [("listen", listen), ("data_dir", self.data_dir), ("database_url", self.database_url)];
        let settings = given.into_iter().filter_map(|(key, text)| Some((key, text?))).collect();
        Overrides { config_file: self.config, settings }
    }
}

/// Runs the command of this process.
pub fn main() -> ExitCode {
    let command = Command::parse();
    match command.verb {
        Verb::CompileComponent => return compile_for_parent().into(),
        Verb::InspectComponent => return inspect_for_parent().into(),
        Verb::Worker { memory_mib } => return run_worker(memory_mib).into(),
        Verb::Supervise { inner, uid, gid } => {
            let supervisor = if inner { Supervisor::Inner } else { Supervisor::Outer };
            return crate::scheduler::supervise(supervisor, uid.zip(gid));
        }
        _ => {}
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.into()),
    };
    let environment = Environment::of_process();
    match runtime.block_on(run(command.verb, &environment)) {
        Ok(code) => code,
        Err(error) => failed(&error),
    }
}

async fn run(verb: Verb, environment: &Environment) -> anyhow::Result<ExitCode> {
    match verb {
        Verb::Serve(options) => {
            let config = Config::load(&options.store.overrides(options.listen), environment)?;
            let processes = worker_processes(&config);
            serve::run(config, component_processes(), processes, options.demo).await?;
        }
        Verb::Ask(options) => return ask::run(options, environment).await,
        Verb::Plugin(options) => plugin::run(options, environment).await?,
        Verb::Workflows(options) => return workflows::run(options, environment).await,
        Verb::Token(mut options) => {
            let config = Config::load(&options.take_store().overrides(None), environment)?;
            token::run(options, &config).await?;
        }
        Verb::Backup(options) => options.run(environment).await?,
        Verb::Restore(options) => options.run(environment).await?,
        Verb::CompileComponent | Verb::InspectComponent | Verb::Worker { .. } | Verb::Supervise { .. } => {
            unreachable!("the server's children run without this")
        }
        Verb::Openapi => print(&(serde_json::to_string_pretty(&crate::compose::describe())? + "\n"))?,
        Verb::Key(options) => key::run(options, environment).await?,
        Verb::Doctor(options) => {
            let config = Config::load(&options.store.overrides(options.listen), environment);
            let checks = doctor::run(config).await;
            print(&doctor::render(&checks, options.json)?)?;
            if checks.iter().any(doctor::Check::has_failed) {
                return Ok(ExitCode::FAILURE);
            }
        }
        Verb::Config(options) => {
            let config = Config::load(&options.store.overrides(None), environment)?;
            config.warnings.iter().for_each(|warning| say(&format!("warning: {warning}")));
            print(&render_settings(&explain(&config), options.explain, options.json)?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn failed(error: &anyhow::Error) -> ExitCode {
    say(&format!("error: {error:#}"));
    ExitCode::FAILURE
}

fn render_settings(settings: &[Explained], explain: bool, json: bool) -> anyhow::Result<String> {
    if json {
        return Ok(serde_json::to_string_pretty(settings)? + "\n");
    }
    let mut out = String::new();
    for setting in settings {
        out += &format!("{} = {}\n", setting.key, setting.value);
        if explain {
            let default = quoted(setting.default);
            out += &format!("    {}\n", setting.meaning);
            out += &format!("    from {}; default {default}; {}\n", setting.source, setting.environment);
        }
    }
    Ok(out)
}

/// Prints to standard output; a closed reader (`| head`) is no error.
fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Prints a line to standard error; a closed reader (`2>&1 | head`) is no error.
fn say(line: &str) {
    // No one is left to be told.
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Fails if the configured store is a file that does not exist: a command must not make an empty one in a folder
/// that was mistyped.
fn check_store(config: &Config) -> anyhow::Result<()> {
    match &config.database.address {
        Address::Sqlite(path) if !path.exists() => {
            bail!("there is no store {}; name its folder with --data-dir", path.display())
        }
        _ => Ok(()),
    }
}

fn quoted(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_commands_are_whole() {
        Command::command().debug_assert();
    }

    #[test]
    fn options_become_settings() {
        let command =
            Command::parse_from(["lakeport", "serve", "--listen", "127.0.0.1:1", "--data-dir", "/d"]);
        let Verb::Serve(options) = command.verb else { panic!("serve") };
        let overrides = options.store.overrides(options.listen);
        assert_eq!(overrides.settings, [("listen", "127.0.0.1:1".to_owned()), ("data_dir", "/d".to_owned())]);
    }
}
