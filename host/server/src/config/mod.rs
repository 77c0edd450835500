//! Settings: each is declared once, in [`settings`], as data. The command line takes precedence over the
//! environment, the environment over the file, the file over the default.
//!
//! The environment is read only here.

mod explain;
mod file;
pub mod model;
mod parse;
mod settings;

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use chrono::NaiveTime;
use chrono_tz::Tz;
pub use lakeport_base::Hidden;
use lakeport_base::text::nearest;
use lakeport_oidc::OidcSettings;
use lakeport_sql::AddedFunctions;

pub use explain::{Explained, explain};
pub use model::{ModelProvider, ModelSettings};
pub use settings::{SETTINGS, Setting};

/// The settings file in the working folder, used if no other file is named.
pub const FILE_NAME: &str = "lakeport.toml";
const ENV_PREFIX: &str = "LAKEPORT_";
const ENV_CONFIG: &str = "LAKEPORT_CONFIG";
const ENV_URL: &str = "LAKEPORT_URL";
const ENV_TOKEN: &str = "LAKEPORT_TOKEN";
/// Names a PostgreSQL database in which tests may create schemas.
const ENV_TEST_POSTGRES: &str = "LAKEPORT_TEST_POSTGRES";
/// Selects a failpoint, see [`lakeport_base::failpoints`].
const ENV_KILL_AT: &str = "LAKEPORT_KILL_AT";
/// Variables of the project's own tests and builds.
const ENV_BUILD: [&str; 4] =
    ["LAKEPORT_BIN", "LAKEPORT_CLIENT_TOOLS", "LAKEPORT_TEST_STORE", "LAKEPORT_WASM_DIR"];
/// Variables with the prefix that are not settings, besides [`ENV_BUILD`].
const ENV_OTHER: [&str; 5] = [ENV_CONFIG, ENV_URL, ENV_TOKEN, ENV_TEST_POSTGRES, ENV_KILL_AT];
/// The default server of the command line's client.
const DEFAULT_URL: &str = "http://127.0.0.1:8080";

/// The settings.
#[derive(Debug, Clone)]
pub struct Config {
    pub listen: SocketAddr,
    pub data_dir: PathBuf,
    pub database: Database,
    /// A `tracing` filter.
    pub log: String,
    pub log_format: LogFormat,
    pub time_zone: Tz,
    pub request_timeout: Duration,
    pub body_max_bytes: usize,
    pub plugin_upload_max_bytes: usize,
    pub connections_max: usize,
    /// 0: no limit.
    pub rate_limit_per_s: u32,
    pub cors_origins: Vec<String>,
    pub tls_cert: Option<PathBuf>,
    pub tls_key: Option<PathBuf>,
    /// The encryption key of the store.
    pub key: Option<Hidden>,
    pub sqlite_roots: Vec<PathBuf>,
    /// The submitter of a publication may not approve it.
    pub publication_four_eyes: bool,
    /// `None`: statistics are not collected automatically.
    pub statistics_daily_at: Option<NaiveTime>,
    pub runner_tasks_at_once: usize,
    /// Tasks may be shell scripts.
    pub runner_shell: bool,
    /// Their user, if the server is root.
    pub runner_shell_user: String,
    /// Functions of data sources that queries may call besides the lists of `lakeport-sql`.
    pub sql_functions_allow: AddedFunctions,
    pub egress_allow: Vec<String>,
    pub egress_ca_file: Option<PathBuf>,
    pub worker_memory_mib: u64,
    pub oidc: OidcSettings,
    /// Where warnings of runs are posted; may hold a secret.
    pub alerts_webhook: Option<Hidden>,
    pub model: ModelSettings,
    pub agent: AgentSettings,
    pub retention: RetentionSettings,
    pub plugins: PluginSettings,
    /// The source of each setting's value, by key.
    sources: BTreeMap<&'static str, Source>,
    /// Likely mistakes.
    pub warnings: Vec<String>,
    /// For [`lakeport_base::failpoints`]; not a setting.
    pub kill_at: Option<String>,
}

/// Limits and permissions of plugins; the members have the names of the file.
#[derive(Debug, Clone, Default)]
pub struct PluginSettings {
    pub call_timeout_ms: u64,
    pub tool_timeout_ms: u64,
    pub engine_timeout_ms: u64,
    pub memory_max_mb: usize,
    pub cache_dir: PathBuf,
    /// Interfaces, without versions, that no plugin is granted.
    pub withhold: Vec<String>,
    pub drain_s: u64,
    pub keep_generations: usize,
    pub log_lines: usize,
    pub quarantine_after: u64,
}

/// Limits of the agent; the members have the names of the file.
#[derive(Debug, Clone, Default)]
pub struct AgentSettings {
    pub tasks_at_once: usize,
    pub queue_max: usize,
    pub steps_max: usize,
    pub task_timeout: Duration,
    /// Tokens of models; 0: no limit.
    pub task_tokens_max: i64,
    pub day_tokens_max: i64,
    pub day_tokens_max_all: i64,
    /// In the currency of the models' prices.
    pub day_cost_max: i64,
}

/// How long growing data is kept; the members have the names of the file.
#[derive(Debug, Clone, Default)]
pub struct RetentionSettings {
    pub audit_days: u64,
    pub syncs_days: u64,
    pub tables_days: u64,
    pub executions_days: u64,
    pub plugin_history_days: u64,
    pub runner_days: u64,
    pub topics_days: u64,
    pub query_log_days: u64,
    pub changes_hours: u64,
}

/// The metadata store's address.
#[derive(Clone, PartialEq, Eq)]
pub struct Database {
    /// May contain a password: show it by [`Database::shown`] only.
    url: String,
    pub address: lakeport_store::Address,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    Json,
}

/// The source of a value, the strongest last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Default,
    /// The file and the line.
    File(PathBuf, usize),
    /// The variable.
    Environment(String),
    /// The option.
    CommandLine(&'static str),
}

/// The command line's settings: the file, and values by key.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    pub config_file: Option<PathBuf>,
    pub settings: Vec<(&'static str, String)>,
}

/// The environment of the process; passed in, so that tests have their own.
#[derive(Debug, Clone, Default)]
pub struct Environment(HashMap<String, String>);

impl Environment {
    /// The process's own environment.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub fn of_process() -> Environment {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Environment(std::env::vars_os().filter_map(text).collect())
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// The server for the command line's client.
    pub fn server_url(&self) -> String {
        self.get(ENV_URL).unwrap_or(DEFAULT_URL).to_owned()
    }

    /// The selected failpoint.
    fn kill_at(&self) -> Option<String> {
        self.get(ENV_KILL_AT).map(str::to_owned)
    }

    /// The token for the command line's client.
    pub fn token(&self) -> Option<String> {
        self.get(ENV_TOKEN).map(str::to_owned)
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Environment {
    fn from(pairs: [(&str, &str); N]) -> Environment {
        Environment(pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }
}

impl Config {
    /// Reads all sources. An error names the setting, the source, the problem and valid values.
    pub fn load(overrides: &Overrides, environment: &Environment) -> anyhow::Result<Config> {
        let path = config_file(overrides, environment)?;
        let in_file = match &path {
            Some(path) => file::read(path)?,
            None => file::FileSettings::default(),
        };
        let mut config = Config::unset();
        for setting in SETTINGS {
            let (text, source) =
                value_of(setting, overrides, environment, path.as_deref(), &in_file, &config);
            (setting.set)(&mut config, &text).map_err(|why| refused(setting, &source, &why))?;
            config.sources.insert(setting.key, source);
        }
        config.warnings = unknown_variables(environment);
        config.kill_at = environment.kill_at();
        Ok(config)
    }

    /// The source of a setting's value.
    pub fn source(&self, key: &str) -> &Source {
        &self.sources[key]
    }

    /// The folder of the plugins' compiled code.
    pub fn plugins_cache_dir(&self) -> PathBuf {
        self.plugins.cache_dir.clone()
    }

    /// Initial values; the table overwrites every member, which a test checks.
    fn unset() -> Config {
        Config {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            data_dir: PathBuf::new(),
            database: Database {
                url: String::new(),
                address: lakeport_store::Address::Sqlite(PathBuf::new()),
            },
            log: String::new(),
            log_format: LogFormat::Text,
            time_zone: Tz::UTC,
            request_timeout: Duration::ZERO,
            body_max_bytes: 0,
            plugin_upload_max_bytes: 0,
            connections_max: 0,
            rate_limit_per_s: 0,
            cors_origins: Vec::new(),
            tls_cert: None,
            tls_key: None,
            key: None,
            sqlite_roots: Vec::new(),
            publication_four_eyes: true,
            statistics_daily_at: None,
            runner_tasks_at_once: 0,
            runner_shell: false,
            runner_shell_user: String::new(),
            sql_functions_allow: AddedFunctions::default(),
            egress_allow: Vec::new(),
            egress_ca_file: None,
            worker_memory_mib: 0,
            oidc: OidcSettings::default(),
            alerts_webhook: None,
            model: ModelSettings::default(),
            agent: AgentSettings::default(),
            retention: RetentionSettings::default(),
            plugins: PluginSettings::default(),
            sources: BTreeMap::new(),
            warnings: Vec::new(),
            kill_at: None,
        }
    }
}

impl Database {
    pub fn parse(url: &str) -> Result<Database, String> {
        Ok(Database { url: url.to_owned(), address: lakeport_store::Address::parse(url)? })
    }

    /// The address without its password.
    pub fn shown(&self) -> String {
        let Some((scheme, rest)) = self.url.split_once("://") else { return self.url.clone() };
        let rest = rest.split('?').next().unwrap_or_default();
        match rest.rsplit_once('@') {
            Some((account, host)) => {
                let user = account.split(':').next().unwrap_or_default();
                format!("{scheme}://{user}:***@{host}")
            }
            None => format!("{scheme}://{rest}"),
        }
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Database({})", self.shown())
    }
}

fn config_file(overrides: &Overrides, environment: &Environment) -> anyhow::Result<Option<PathBuf>> {
    let named = overrides.config_file.clone().or_else(|| environment.get(ENV_CONFIG).map(PathBuf::from));
    if let Some(path) = named {
        return if path.is_file() {
            Ok(Some(path))
        } else {
            bail!("the file {} does not exist; use an existing one, or none", path.display())
        };
    }
    let usual = PathBuf::from(FILE_NAME);
    Ok(usual.is_file().then_some(usual))
}

fn value_of(
    setting: &Setting,
    overrides: &Overrides,
    environment: &Environment,
    path: Option<&Path>,
    in_file: &file::FileSettings,
    so_far: &Config,
) -> (String, Source) {
    if let Some((key, text)) = overrides.settings.iter().find(|(key, _)| *key == setting.key) {
        return (text.clone(), Source::CommandLine(key));
    }
    let variable = setting.variable();
    if let Some(text) = environment.get(&variable) {
        return (text.to_owned(), Source::Environment(variable));
    }
    if let (Some((text, line)), Some(path)) = (in_file.get(setting.key), path) {
        return (text.clone(), Source::File(path.to_owned(), *line));
    }
    (setting.default.text(so_far, environment), Source::Default)
}

fn refused(setting: &Setting, source: &Source, why: &str) -> anyhow::Error {
    anyhow::anyhow!("{} ({source}) {why}", setting.key)
}

/// Reports mistyped variables, which would otherwise be ignored.
fn unknown_variables(environment: &Environment) -> Vec<String> {
    let known = |name: &str| {
        ENV_OTHER.contains(&name)
            || ENV_BUILD.contains(&name)
            || SETTINGS.iter().any(|setting| setting.variable() == name)
    };
    let mut unknown: Vec<&String> =
        environment.0.keys().filter(|name| name.starts_with(ENV_PREFIX) && !known(name)).collect();
    unknown.sort();
    let variables: Vec<String> = SETTINGS.iter().map(Setting::variable).collect();
    let hint = |name: &str| nearest(name, variables.iter().map(String::as_str));
    unknown
        .into_iter()
        .map(|name| match hint(name) {
            Some(near) => format!("the environment variable {name} is not a setting; did you mean {near}?"),
            None => format!("the environment variable {name} is not a setting"),
        })
        .collect()
}

/// Opens the data folder; creates it (mode 0700) if it does not exist.
pub fn make_data_dir(folder: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.with_context(|| {
        format!("cannot make the data folder {}; set data_dir to one you may write", folder.display())
    })
}

impl std::fmt::Display for Source {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::Default => out.write_str("default"),
            Source::File(path, line) => write!(out, "{} line {line}", path.display()),
            Source::Environment(variable) => out.write_str(variable),
            Source::CommandLine(key) => write!(out, "--{}", key.replace('_', "-")),
        }
    }
}

#[cfg(test)]
mod tests;
