//! The table of all settings. Adding one is one entry here and one member of [`Config`].

use super::{Config, ENV_PREFIX, Environment, LogFormat, parse};

/// One setting: its name in the file, its default, its meaning, how its text is read and shown.
pub struct Setting {
    /// In the file: `listen`, or `plugins.drain_s` for `drain_s` in `[plugins]`.
    pub key: &'static str,
    pub default: Default,
    pub meaning: &'static str,
    /// Reads the text into its member; the error goes on after the setting's name: `is not a number`.
    pub set: fn(&mut Config, &str) -> Result<(), String>,
    /// The value in force; secrets are left out.
    pub shown: fn(&Config) -> String,
}

/// A default that is always the same, or that follows from what is set before it.
pub enum Default {
    Fixed(&'static str),
    /// What to say of it, and how it is found.
    Derived(&'static str, fn(&Config, &Environment) -> String),
}

impl Default {
    pub fn text(&self, so_far: &Config, environment: &Environment) -> String {
        match self {
            Default::Fixed(text) => (*text).to_owned(),
            Default::Derived(_, find) => find(so_far, environment),
        }
    }

    /// For a person.
    pub fn described(&self) -> &'static str {
        match self {
            Default::Fixed(text) | Default::Derived(text, _) => text,
        }
    }
}

impl Setting {
    /// `LAKEPORT_PLUGINS_DRAIN_S`
    pub fn variable(&self) -> String {
        format!("{ENV_PREFIX}{}", self.key.replace('.', "_").to_uppercase())
    }
}

const MIB: usize = 1024 * 1024;

/// Every setting. One that a default follows from stands before it.
pub const SETTINGS: &[Setting] = &[
    Setting {
        key: "listen",
        default: Default::Fixed("127.0.0.1:8080"),
        meaning: "address and port to listen on; port 0 takes any free one",
        set: |config, text| parse::listen(text).map(|address| config.listen = address),
        shown: |config| config.listen.to_string(),
    },
    Setting {
        key: "data_dir",
        default: Default::Fixed("./lakeport-data"),
        meaning: "folder of the store and of compiled plugins; made with mode 0700 where there is none",
        set: |config, text| parse::folder(text).map(|folder| config.data_dir = folder),
        shown: |config| config.data_dir.display().to_string(),
    },
    Setting {
        key: "database_url",
        default: Default::Derived("sqlite:<data_dir>/lakeport.db", |config, _| {
            format!("sqlite:{}", config.data_dir.join("lakeport.db").display())
        }),
        meaning: "the metadata store: sqlite:<path>, or postgres://user:password@host:5432/database",
        set: |config, text| super::Database::parse(text).map(|database| config.database = database),
        shown: |config| config.database.shown(),
    },
    Setting {
        key: "log",
        default: Default::Fixed("info,sqlx=warn,hyper=warn"),
        meaning: "what is logged to standard error: a level, or a filter such as info,lakeport::http=debug",
        set: |config, text| parse::log_filter(text).map(|filter| config.log = filter),
        shown: |config| config.log.clone(),
    },
    Setting {
        key: "log_format",
        default: Default::Fixed("text"),
        meaning: "form of the log's lines: text or json",
        set: |config, text| parse::log_format(text).map(|format| config.log_format = format),
        shown: |config| match config.log_format {
            LogFormat::Text => "text".to_owned(),
            LogFormat::Json => "json".to_owned(),
        },
    },
    Setting {
        key: "time_zone",
        default: Default::Derived("the host's", |_, environment| parse::host_zone(environment)),
        meaning: "zone of times in answers, an IANA name such as Asia/Shanghai",
        set: |config, text| parse::zone(text).map(|zone| config.time_zone = zone),
        shown: |config| config.time_zone.name().to_owned(),
    },
    Setting {
        key: "request_timeout_s",
        default: Default::Fixed("30"),
        meaning: "seconds that a request may take; then it is answered 504",
        set: |config, text| parse::seconds(text, 1, 600).map(|time| config.request_timeout = time),
        shown: |config| config.request_timeout.as_secs().to_string(),
    },
    Setting {
        key: "body_max_bytes",
        default: Default::Fixed("4 MiB"),
        meaning: "largest request body, in bytes or as 4 MiB; a larger one is answered 413",
        set: |config, text| parse::bytes(text, 1024, 1024 * MIB).map(|bytes| config.body_max_bytes = bytes),
        shown: |config| config.body_max_bytes.to_string(),
    },
    Setting {
        key: "plugin_upload_max_bytes",
        default: Default::Fixed("64 MiB"),
        meaning: "largest plugin that is taken, in bytes or as 64 MiB; no more than 64 MiB",
        set: |config, text| {
            parse::bytes(text, 1024, 64 * MIB).map(|bytes| config.plugin_upload_max_bytes = bytes)
        },
        shown: |config| config.plugin_upload_max_bytes.to_string(),
    },
    Setting {
        key: "plugins.call_timeout_ms",
        default: Default::Fixed("5000"),
        meaning: "milliseconds that one call of a plugin may take",
        set: |config, text| parse::number(text, 1, 600_000).map(|ms| config.plugins.call_timeout_ms = ms),
        shown: |config| config.plugins.call_timeout_ms.to_string(),
    },
    Setting {
        key: "plugins.memory_max_mb",
        default: Default::Fixed("128"),
        meaning: "memory that one call of a plugin may use, MiB",
        set: |config, text| parse::count(text, 1, 256).map(|mib| config.plugins.memory_max_mb = mib),
        shown: |config| config.plugins.memory_max_mb.to_string(),
    },
    Setting {
        key: "plugins.cache_dir",
        default: Default::Derived("<data_dir>/compiled", |config, _| {
            config.data_dir.join("compiled").display().to_string()
        }),
        meaning: "folder of compiled plugins, private to the server's user (mode 0700)",
        set: |config, text| parse::folder(text).map(|folder| config.plugins.cache_dir = folder),
        shown: |config| config.plugins.cache_dir.display().to_string(),
    },
    Setting {
        key: "plugins.withhold",
        default: Default::Fixed(""),
        meaning: "interfaces that no plugin is granted, such as lakeport:host/http; in the environment with commas",
        set: |config, text| parse::interfaces(text).map(|list| config.plugins.withhold = list),
        shown: |config| config.plugins.withhold.join(","),
    },
    Setting {
        key: "plugins.drain_s",
        default: Default::Fixed("30"),
        meaning: "seconds that calls may go on after their plugin was replaced",
        set: |config, text| parse::number(text, 0, 600).map(|seconds| config.plugins.drain_s = seconds),
        shown: |config| config.plugins.drain_s.to_string(),
    },
    Setting {
        key: "plugins.keep_generations",
        default: Default::Fixed("3"),
        meaning: "generations before the active one that a rollback can go back to",
        set: |config, text| parse::count(text, 1, 20).map(|count| config.plugins.keep_generations = count),
        shown: |config| config.plugins.keep_generations.to_string(),
    },
    Setting {
        key: "plugins.log_lines",
        default: Default::Fixed("1000"),
        meaning: "lines kept of each plugin's log",
        set: |config, text| parse::count(text, 1, 100_000).map(|lines| config.plugins.log_lines = lines),
        shown: |config| config.plugins.log_lines.to_string(),
    },
    Setting {
        key: "plugins.quarantine_after",
        default: Default::Fixed("20"),
        meaning: "calls in a row that fail by the plugin's own fault before it is quarantined; 0: never",
        set: |config, text| {
            parse::number(text, 0, 1_000_000).map(|count| config.plugins.quarantine_after = count)
        },
        shown: |config| config.plugins.quarantine_after.to_string(),
    },
];
