//! The command line. `plugin` asks a running server; everything else works on this machine and
//! on the store itself.

mod backup;
mod key;
mod plugin;
mod table;
mod token;

use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use crate::config::{Config, Environment, Explained, Overrides, explain};
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
    /// Manage the plugins of a running server.
    Plugin(plugin::PluginOptions),
    /// Make, list and revoke tokens, in the store itself.
    Token(token::TokenOptions),
    /// Make or change the key of the store's secrets.
    Key(key::KeyOptions),
    /// Write the whole store to a file, while servers go on with it.
    Backup(backup::BackupOptions),
    /// Read such a file into an empty store, of either kind.
    Restore(backup::RestoreOptions),
    /// Check everything the server depends on, and say what to do.
    Doctor(DoctorOptions),
    /// Show the settings.
    Config(ConfigOptions),
    /// Print the description of the interface (OpenAPI 3.1).
    Openapi,
}

/// Where settings and state are.
#[derive(Args, Default)]
struct StoreOptions {
    /// Settings file [default: lakeport.toml of this folder, if there is one]
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
    /// Set up an example company, where it is not there yet: a database, workflows, a month of history
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
    /// For machines
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
    /// For machines
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

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let command = Command::parse();
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
            serve::run(config, options.demo).await?;
        }
        Verb::Plugin(options) => plugin::run(options, environment).await?,
        Verb::Token(mut options) => {
            let config = Config::load(&options.take_store().overrides(None), environment)?;
            token::run(options, &config).await?;
        }
        Verb::Backup(options) => options.run(environment).await?,
        Verb::Restore(options) => options.run(environment).await?,
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
            config.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
            print(&render_settings(&explain(&config), options.explain, options.json)?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn failed(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {error:#}");
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

/// To standard output; a reader that has seen enough (`| head`) is no error.
fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
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
