//! The table of all settings. A new setting is one entry here and one member of [`Config`].

use lakeport_egress::Rule;

use super::model::{self, ModelProvider};
use super::{Config, ENV_PREFIX, Environment, LogFormat, parse};

/// One setting: its name in the file, its default, its meaning, and how its text is parsed and shown.
pub struct Setting {
    /// The name in the file: `listen`, or `plugins.drain_s` for `drain_s` in `[plugins]`.
    pub key: &'static str,
    pub default: Default,
    pub meaning: &'static str,
    /// Parses the text into its member; the error continues the setting's name: `is not a number`.
    pub set: fn(&mut Config, &str) -> Result<(), String>,
    /// The current value, without secrets.
    pub shown: fn(&Config) -> String,
}

/// A constant default, or one derived from earlier settings.
pub enum Default {
    Fixed(&'static str),
    /// Its description, and its computation.
    Derived(&'static str, fn(&Config, &Environment) -> String),
}

impl Default {
    pub fn text(&self, so_far: &Config, environment: &Environment) -> String {
        match self {
            Default::Fixed(text) => (*text).to_owned(),
            Default::Derived(_, find) => find(so_far, environment),
        }
    }

    /// For people.
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

/// All settings. A default may depend on earlier settings only.
pub const SETTINGS: &[Setting] = &[
    Setting {
        key: "listen",
        default: Default::Fixed("127.0.0.1:8080"),
        meaning: "address and port to listen on; port 0 means any free one",
        set: |config, text| parse::listen(text).map(|address| config.listen = address),
        shown: |config| config.listen.to_string(),
    },
    Setting {
        key: "data_dir",
        default: Default::Fixed("./lakeport-data"),
        meaning: "folder of the store and of compiled plugins; created with mode 0700 if missing",
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
        key: "connections_max",
        default: Default::Fixed("16384"),
        meaning: "connections that are open at the same time; more wait until one is closed",
        set: |config, text| parse::count(text, 8, 1_000_000).map(|count| config.connections_max = count),
        shown: |config| config.connections_max.to_string(),
    },
    Setting {
        key: "rate_limit_per_s",
        default: Default::Fixed("5000"),
        meaning: "requests a second that one token may make, a second's worth at once; 0: no limit",
        set: |config, text| {
            parse::count(text, 0, 1_000_000).map(|count| config.rate_limit_per_s = count as u32)
        },
        shown: |config| config.rate_limit_per_s.to_string(),
    },
    Setting {
        key: "cors_origins",
        default: Default::Fixed(""),
        meaning: "origins whose pages may ask, such as https://console.example.com; with commas between",
        set: |config, text| parse::origins(text).map(|list| config.cors_origins = list),
        shown: |config| config.cors_origins.join(","),
    },
    Setting {
        key: "tls_cert",
        default: Default::Fixed(""),
        meaning: "PEM file of the certificate chain; with tls_key the server speaks HTTPS alone",
        set: |config, text| {
            config.tls_cert = parse::optional(text).map(Into::into);
            Ok(())
        },
        shown: |config| parse::shown_path(config.tls_cert.as_deref()),
    },
    Setting {
        key: "tls_key",
        default: Default::Fixed(""),
        meaning: "PEM file of the certificate's private key",
        set: |config, text| {
            config.tls_key = parse::optional(text).map(Into::into);
            Ok(())
        },
        shown: |config| parse::shown_path(config.tls_key.as_deref()),
    },
    Setting {
        key: "key",
        default: Default::Derived("the file <data_dir>/secret.key, made at the first start", |_, _| {
            String::new()
        }),
        meaning: "key of the store's secrets, 32 bytes in base64 or hex (`lakeport key new`); of several, with \
                  commas between, the first encrypts; required with PostgreSQL",
        set: |config, text| {
            let key = parse::optional(text);
            key.as_deref().map_or(Ok(()), crate::secrets::check_setting)?;
            config.key = key.map(super::Hidden);
            Ok(())
        },
        shown: |config| if config.key.is_some() { "***".to_owned() } else { String::new() },
    },
    Setting {
        key: "sqlite_roots",
        default: Default::Fixed("."),
        meaning: "folders below which SQLite data sources may lie, with commas between; never the data folder",
        set: |config, text| {
            config.sqlite_roots = parse::list(text).into_iter().map(Into::into).collect();
            Ok(())
        },
        shown: |config| {
            let shown: Vec<String> =
                config.sqlite_roots.iter().map(|root| root.display().to_string()).collect();
            shown.join(",")
        },
    },
    Setting {
        key: "statistics_daily_at",
        default: Default::Fixed("02:00"),
        meaning: "time of day, in time_zone, from which all physical tables are measured once a day, like 02:00; off: never",
        set: |config, text| parse::time_of_day(text).map(|time| config.statistics_daily_at = time),
        shown: |config| parse::shown_time_of_day(config.statistics_daily_at),
    },
    Setting {
        key: "runner_tasks_at_once",
        default: Default::Fixed("24"),
        meaning: "tasks that the embedded scheduler runs at the same time on each server, on all workflows",
        set: |config, text| parse::count(text, 1, 24).map(|count| config.runner_tasks_at_once = count),
        shown: |config| config.runner_tasks_at_once.to_string(),
    },
    Setting {
        key: "runner_shell",
        default: Default::Fixed("false"),
        meaning: "whether the embedded scheduler runs SHELL tasks: programs of the server's machine",
        set: |config, text| parse::switch(text).map(|is_on| config.runner_shell = is_on),
        shown: |config| config.runner_shell.to_string(),
    },
    Setting {
        key: "runner_shell_user",
        default: Default::Fixed("nobody"),
        meaning: "user of SHELL tasks where the server is root; otherwise they run as the server's own user",
        set: |config, text| {
            config.runner_shell_user = text.to_owned();
            Ok(())
        },
        shown: |config| config.runner_shell_user.clone(),
    },
    Setting {
        key: "model.provider",
        default: Default::Fixed("offline"),
        meaning: "interface of the model `settings`, the default one unless another is chosen: openai or anthropic; \
                  offline: there is none, questions are answered by rules, without a network",
        set: |config, text| parse::model_provider(text).map(|provider| config.model.provider = provider),
        shown: |config| config.model.provider.as_str().to_owned(),
    },
    Setting {
        key: "model.base_url",
        default: Default::Derived("the provider's own", |config, _| {
            config.model.provider.base_url().to_owned()
        }),
        meaning: "address of that model, such as http://127.0.0.1:11434/v1 for Ollama; for anthropic without /v1",
        set: |config, text| {
            if config.model.provider != ModelProvider::Offline || !text.is_empty() {
                config.model.base_url = model::base_url(text)?;
            }
            Ok(())
        },
        shown: |config| config.model.base_url.clone(),
    },
    Setting {
        key: "model.api_key",
        default: Default::Fixed(""),
        meaning: "its key; not shown, and sent to that address alone",
        set: |config, text| {
            let key = parse::optional(text);
            key.as_deref().map_or(Ok(()), model::check_key)?;
            config.model.api_key = key.map(super::Hidden);
            Ok(())
        },
        shown: |config| config.model.api_key.as_ref().map_or_else(String::new, |_| "***".to_owned()),
    },
    Setting {
        key: "model.name",
        default: Default::Fixed(""),
        meaning: "its name at the provider, such as gpt-4o-mini",
        set: |config, text| {
            if config.model.provider != ModelProvider::Offline && text.is_empty() {
                let provider = config.model.provider;
                return Err(format!("is not set; the provider {provider} needs the name of a model"));
            }
            config.model.name = text.to_owned();
            Ok(())
        },
        shown: |config| config.model.name.clone(),
    },
    Setting {
        key: "model.max_tokens",
        default: Default::Fixed("4096"),
        meaning: "tokens of one of its answers",
        set: |config, text| {
            parse::number(text, 1, model::MAX_TOKENS_MAX as u64)
                .map(|count| config.model.max_tokens = count as i64)
        },
        shown: |config| config.model.max_tokens.to_string(),
    },
    Setting {
        key: "model.timeout_s",
        default: Default::Fixed("120"),
        meaning: "seconds that one of its answers may take",
        set: |config, text| {
            parse::number(text, 1, model::TIMEOUT_S_MAX as u64)
                .map(|time_s| config.model.timeout_s = time_s as i64)
        },
        shown: |config| config.model.timeout_s.to_string(),
    },
    Setting {
        key: "model.context_tokens",
        default: Default::Fixed(""),
        meaning: "tokens that it reads and writes at once; with fewer than some 165000 it gets less of results, and with still \
                  fewer less of tables, earlier messages and what editors wrote",
        set: |config, text| {
            let tokens = parse::optional(text).map(|text| parse::number(&text, 2_000, 10_000_000));
            config.model.context_tokens = tokens.transpose()?.map(|tokens| tokens as i64);
            Ok(())
        },
        shown: |config| config.model.context_tokens.map_or_else(String::new, |tokens| tokens.to_string()),
    },
    Setting {
        key: "model.input_price",
        default: Default::Fixed(""),
        meaning: "price of a million tokens that it reads, in your currency",
        set: |config, text| parse::price(text).map(|price| config.model.input_price = price),
        shown: |config| parse::shown_price(config.model.input_price),
    },
    Setting {
        key: "model.output_price",
        default: Default::Fixed(""),
        meaning: "price of a million tokens that it writes, in your currency",
        set: |config, text| parse::price(text).map(|price| config.model.output_price = price),
        shown: |config| parse::shown_price(config.model.output_price),
    },
    Setting {
        key: "agent.tasks_at_once",
        default: Default::Fixed("4"),
        meaning: "questions that the agent answers at the same time on each server, of different topics",
        set: |config, text| parse::count(text, 1, 1_000).map(|count| config.agent.tasks_at_once = count),
        shown: |config| config.agent.tasks_at_once.to_string(),
    },
    Setting {
        key: "agent.queue_max",
        default: Default::Fixed("1000"),
        meaning: "questions that may wait for the agent, half of them of one caller; one more is answered 429",
        set: |config, text| parse::count(text, 1, 100_000).map(|count| config.agent.queue_max = count),
        shown: |config| config.agent.queue_max.to_string(),
    },
    Setting {
        key: "agent.steps_max",
        default: Default::Fixed("40"),
        meaning: "steps of the model that one question may take",
        set: |config, text| parse::count(text, 1, 1_000).map(|count| config.agent.steps_max = count),
        shown: |config| config.agent.steps_max.to_string(),
    },
    Setting {
        key: "agent.task_timeout_s",
        default: Default::Fixed("180"),
        meaning: "seconds that one question may take",
        set: |config, text| parse::seconds(text, 1, 86_400).map(|time| config.agent.task_timeout = time),
        shown: |config| config.agent.task_timeout.as_secs().to_string(),
    },
    Setting {
        key: "agent.task_tokens_max",
        default: Default::Fixed("400000"),
        meaning: "tokens of a model that one question may take; 0: no limit",
        set: |config, text| parse::tokens(text).map(|count| config.agent.task_tokens_max = count),
        shown: |config| config.agent.task_tokens_max.to_string(),
    },
    Setting {
        key: "agent.day_tokens_max",
        default: Default::Fixed("0"),
        meaning: "tokens of models that the questions of one caller may take on a day (UTC); 0: no limit",
        set: |config, text| parse::tokens(text).map(|count| config.agent.day_tokens_max = count),
        shown: |config| config.agent.day_tokens_max.to_string(),
    },
    Setting {
        key: "agent.day_tokens_max_all",
        default: Default::Fixed("0"),
        meaning: "the same of all callers together",
        set: |config, text| parse::tokens(text).map(|count| config.agent.day_tokens_max_all = count),
        shown: |config| config.agent.day_tokens_max_all.to_string(),
    },
    Setting {
        key: "agent.day_cost_max",
        default: Default::Fixed("0"),
        meaning: "cost of models that the questions of one caller may make on a day, in the currency of the models' \
                  prices; 0: no limit",
        set: |config, text| parse::tokens(text).map(|cost| config.agent.day_cost_max = cost),
        shown: |config| config.agent.day_cost_max.to_string(),
    },
    Setting {
        key: "publication.four_eyes",
        default: Default::Fixed("true"),
        meaning: "whether a publication needs the approval of another user than its submitter; only with tokens",
        set: |config, text| parse::switch(text).map(|on| config.publication_four_eyes = on),
        shown: |config| config.publication_four_eyes.to_string(),
    },
    Setting {
        key: "sql_functions_allow",
        default: Default::Fixed(""),
        meaning: "functions and types of data sources that queries and defaults may use besides the built-in lists: \
                  kind:schema.function, such as postgres:geo.distance, with commas between",
        set: |config, text| {
            lakeport_sql::AddedFunctions::parse(&parse::list(text))
                .map(|functions| config.sql_functions_allow = functions)
        },
        shown: |config| config.sql_functions_allow.to_string(),
    },
    Setting {
        key: "egress_allow",
        default: Default::Fixed(""),
        meaning: "internal addresses that may be reached though they are loopback, link-local or reserved: \
                  host, *.suffix, host:port, IP or CIDR, with commas between",
        set: |config, text| {
            lakeport_egress::Policy::parse(&parse::list(text))
                .map(|_| config.egress_allow = parse::list(text))
        },
        shown: |config| config.egress_allow.join(","),
    },
    Setting {
        key: "egress_ca_file",
        default: Default::Fixed(""),
        meaning: "PEM file of root certificates to trust besides the public ones",
        set: |config, text| {
            config.egress_ca_file = parse::optional(text).map(Into::into);
            Ok(())
        },
        shown: |config| parse::shown_path(config.egress_ca_file.as_deref()),
    },
    Setting {
        key: "worker_memory_mib",
        default: Default::Fixed("512"),
        meaning: "memory, in MiB, of each process that runs statements on data sources; a statement that needs more \
                  fails with `statement_too_heavy`",
        set: |config, text| parse::number(text, 64, 65_536).map(|mib| config.worker_memory_mib = mib),
        shown: |config| config.worker_memory_mib.to_string(),
    },
    Setting {
        key: "alerts.webhook",
        default: Default::Fixed(""),
        meaning: "URL that gets a POST with JSON for each scheduled run that its schedule's warningType names; tried five \
                  times; not shown, it may hold a secret",
        set: |config, text| {
            let webhook = parse::optional(text);
            webhook.as_deref().map_or(Ok(()), |url| Rule::of_url(url).map(drop))?;
            config.alerts_webhook = webhook.map(super::Hidden);
            Ok(())
        },
        shown: |config| config.alerts_webhook.as_ref().map_or_else(String::new, |_| "***".to_owned()),
    },
    Setting {
        key: "oidc.issuer",
        default: Default::Fixed(""),
        meaning: "URL of an OIDC issuer whose JWTs are accepted besides tokens",
        set: |config, text| {
            config.oidc.issuer = parse::optional(text);
            Ok(())
        },
        shown: |config| config.oidc.issuer.clone().unwrap_or_default(),
    },
    Setting {
        key: "oidc.audience",
        default: Default::Fixed("lakeport"),
        meaning: "what a JWT's `aud` must hold",
        set: |config, text| {
            config.oidc.audience = text.to_owned();
            Ok(())
        },
        shown: |config| config.oidc.audience.clone(),
    },
    Setting {
        key: "oidc.role_claim",
        default: Default::Fixed("lakeport_role"),
        meaning: "claim that holds the role, a path such as realm_access.roles; of several the highest counts",
        set: |config, text| {
            config.oidc.role_claim = text.to_owned();
            Ok(())
        },
        shown: |config| config.oidc.role_claim.clone(),
    },
    Setting {
        key: "oidc.datasources_claim",
        default: Default::Fixed("lakeport_datasources"),
        meaning: "claim that lists the data sources that a caller is bound to; absent in a JWT: all",
        set: |config, text| {
            config.oidc.datasources_claim = text.to_owned();
            Ok(())
        },
        shown: |config| config.oidc.datasources_claim.clone(),
    },
    Setting {
        key: "oidc.name_claim",
        default: Default::Fixed("preferred_username"),
        meaning: "claim that names a caller in the audit log; without it `email`, then `sub`",
        set: |config, text| {
            config.oidc.name_claim = text.to_owned();
            Ok(())
        },
        shown: |config| config.oidc.name_claim.clone(),
    },
    Setting {
        key: "oidc.client_id",
        default: Default::Fixed(""),
        meaning: "the issuer's name for Lakeport, with which people sign in to the console; empty: by tokens only",
        set: |config, text| {
            config.oidc.client_id = parse::optional(text);
            Ok(())
        },
        shown: |config| config.oidc.client_id.clone().unwrap_or_default(),
    },
    Setting {
        key: "oidc.client_secret",
        default: Default::Fixed(""),
        meaning: "the secret of `oidc.client_id`; empty: it is a public client",
        set: |config, text| {
            config.oidc.client_secret = parse::optional(text).map(super::Hidden);
            Ok(())
        },
        shown: |config| config.oidc.client_secret.as_ref().map_or_else(String::new, |_| "***".to_owned()),
    },
    Setting {
        key: "oidc.scopes",
        default: Default::Fixed("openid profile email"),
        meaning: "what the console asks the issuer for; with `openid`",
        set: |config, text| {
            if !text.split(' ').any(|scope| scope == "openid") {
                return Err("must hold `openid`".to_owned());
            }
            config.oidc.scopes = text.to_owned();
            Ok(())
        },
        shown: |config| config.oidc.scopes.clone(),
    },
    Setting {
        key: "oidc.redirect_uri",
        default: Default::Fixed(""),
        meaning: "where the issuer sends browsers back: https://<this server>/api/v1/session/oidc/callback; empty: the \
                  host that the browser asked",
        set: |config, text| {
            let uri = parse::optional(text);
            if uri.as_deref().is_some_and(|uri| !lakeport_oidc::is_redirect_uri(uri)) {
                return Err(format!("must be http or https and end with {}", lakeport_oidc::CALLBACK_PATH));
            }
            config.oidc.redirect_uri = uri;
            Ok(())
        },
        shown: |config| config.oidc.redirect_uri.clone().unwrap_or_default(),
    },
    Setting {
        key: "oidc.session_hours",
        default: Default::Fixed("8"),
        meaning: "hours that a sign-in at the issuer lasts; what the issuer changes meanwhile counts at the next one",
        set: |config, text| parse::number(text, 1, 720).map(|hours| config.oidc.session_hours = hours),
        shown: |config| config.oidc.session_hours.to_string(),
    },
    Setting {
        key: "retention.audit_days",
        default: Default::Fixed("400"),
        meaning: "days that the audit log is kept",
        set: |config, text| parse::days(text).map(|days| config.retention.audit_days = days),
        shown: |config| config.retention.audit_days.to_string(),
    },
    Setting {
        key: "retention.syncs_days",
        default: Default::Fixed("90"),
        meaning: "days that finished synchronizations of data sources are kept, the last of each for ever",
        set: |config, text| parse::days(text).map(|days| config.retention.syncs_days = days),
        shown: |config| config.retention.syncs_days.to_string(),
    },
    Setting {
        key: "retention.tables_days",
        default: Default::Fixed("400"),
        meaning: "days that statistics, physical changes and schema versions of tables are kept; the last change of each table is kept for ever",
        set: |config, text| parse::days(text).map(|days| config.retention.tables_days = days),
        shown: |config| config.retention.tables_days.to_string(),
    },
    Setting {
        key: "retention.executions_days",
        default: Default::Fixed("365"),
        meaning: "days that ended runs of workflows and their executions are kept",
        set: |config, text| parse::days(text).map(|days| config.retention.executions_days = days),
        shown: |config| config.retention.executions_days.to_string(),
    },
    Setting {
        key: "retention.plugin_history_days",
        default: Default::Fixed("400"),
        meaning: "days that the history of plugins' activations is kept",
        set: |config, text| parse::days(text).map(|days| config.retention.plugin_history_days = days),
        shown: |config| config.retention.plugin_history_days.to_string(),
    },
    Setting {
        key: "retention.runner_days",
        default: Default::Fixed("30"),
        meaning: "days that ended runs of the embedded scheduler are kept, with their logs",
        set: |config, text| parse::days(text).map(|days| config.retention.runner_days = days),
        shown: |config| config.retention.runner_days.to_string(),
    },
    Setting {
        key: "retention.topics_days",
        default: Default::Fixed("365"),
        meaning: "days that the steps of answered questions are kept; topics and messages stay until they are deleted",
        set: |config, text| parse::days(text).map(|days| config.retention.topics_days = days),
        shown: |config| config.retention.topics_days.to_string(),
    },
    Setting {
        key: "retention.query_log_days",
        default: Default::Fixed("90"),
        meaning: "days that the log of queries is kept: who read which table",
        set: |config, text| parse::days(text).map(|days| config.retention.query_log_days = days),
        shown: |config| config.retention.query_log_days.to_string(),
    },
    Setting {
        key: "retention.changes_hours",
        default: Default::Fixed("24"),
        meaning: "hours that the change log is kept for replicas that were away; one that was away longer reads everything again",
        set: |config, text| parse::number(text, 1, 8_760).map(|hours| config.retention.changes_hours = hours),
        shown: |config| config.retention.changes_hours.to_string(),
    },
    Setting {
        key: "plugins.call_timeout_ms",
        default: Default::Fixed("5000"),
        meaning: "milliseconds that one call of a plugin may take",
        set: |config, text| parse::number(text, 1, 600_000).map(|ms| config.plugins.call_timeout_ms = ms),
        shown: |config| config.plugins.call_timeout_ms.to_string(),
    },
    Setting {
        key: "plugins.tool_timeout_ms",
        default: Default::Fixed("60000"),
        meaning: "milliseconds that one call of an agent's tool may take, its queries included",
        set: |config, text| parse::number(text, 1, 600_000).map(|ms| config.plugins.tool_timeout_ms = ms),
        shown: |config| config.plugins.tool_timeout_ms.to_string(),
    },
    Setting {
        key: "plugins.engine_timeout_ms",
        default: Default::Fixed("60000"),
        meaning: "milliseconds that one call of an engine may take at most, its requests included; most have less",
        set: |config, text| parse::number(text, 1, 600_000).map(|ms| config.plugins.engine_timeout_ms = ms),
        shown: |config| config.plugins.engine_timeout_ms.to_string(),
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
        meaning: "calls of one function in a row that fail by the plugin's own fault before it is quarantined; 0: never",
        set: |config, text| {
            parse::number(text, 0, 1_000_000).map(|count| config.plugins.quarantine_after = count)
        },
        shown: |config| config.plugins.quarantine_after.to_string(),
    },
];
