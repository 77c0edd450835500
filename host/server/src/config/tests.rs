use std::fs;

use super::*;

fn load(file: &str, environment: Environment, settings: &[(&'static str, &str)]) -> anyhow::Result<Config> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE_NAME);
    fs::write(&path, file).unwrap();
    let settings = settings.iter().map(|(key, text)| (*key, (*text).to_owned())).collect();
    Config::load(&Overrides { config_file: Some(path), settings }, &environment)
}

fn refusal(file: &str, environment: Environment) -> String {
    format!("{:#}", load(file, environment, &[]).expect_err("a refusal"))
}

#[test]
fn arguments_override_environment_overrides_file() {
    let file = "listen = '127.0.0.1:1'\nbody_max_bytes = '1 MiB'\n[plugins]\ndrain_s = 7\n";
    let environment = Environment::from([
        ("LAKEPORT_LISTEN", "127.0.0.1:2"),
        ("LAKEPORT_BODY_MAX_BYTES", "2048"),
        ("TZ", "UTC"),
    ]);
    let config = load(file, environment, &[("listen", "127.0.0.1:3")]).unwrap();
    assert_eq!((config.listen.port(), config.source("listen")), (3, &Source::CommandLine("listen")));
    assert_eq!(config.body_max_bytes, 2048);
    assert_eq!(config.source("body_max_bytes"), &Source::Environment("LAKEPORT_BODY_MAX_BYTES".to_owned()));
    assert_eq!(config.plugins.drain_s, 7);
    assert!(matches!(config.source("plugins.drain_s"), Source::File(_, 4)));
    assert_eq!((config.plugins.log_lines, config.source("plugins.log_lines")), (1000, &Source::Default));
}

#[test]
fn defaults_follow_the_data_folder() {
    let config = load("data_dir = '/srv/lake'", Environment::default(), &[]).unwrap();
    assert_eq!(config.database.address, lakeport_store::Address::Sqlite("/srv/lake/lakeport.db".into()));
    assert_eq!(config.plugins_cache_dir(), PathBuf::from("/srv/lake/compiled"));
    assert_eq!(config.request_timeout, Duration::from_secs(30));
    assert_eq!(config.plugin_upload_max_bytes, 64 * 1024 * 1024);
}

#[test]
fn unknown_keys_suggest_the_nearest_one() {
    let none = Environment::default();
    let message = refusal("listen = '127.0.0.1:1'\n\nbody_max_byte = 1\n", none.clone());
    assert!(message.contains("line 3") && message.contains("did you mean `body_max_bytes`?"), "{message}");
    let message = refusal("[plugins]\ndrain = 3\n", none.clone());
    assert!(message.contains("line 2") && message.contains("plugins.drain_s"), "{message}");
    let message = refusal("[zzz]\nq = 3\n", none.clone());
    assert!(message.contains("line 1") && message.contains("config --explain"), "{message}");
    let message = refusal("listen = \n", none);
    assert!(message.contains("line 1"), "{message}");
}

#[test]
fn wrong_values_name_place_and_expectation() {
    let message = refusal("request_timeout_s = 0", Environment::default());
    assert!(message.contains("request_timeout_s (") && message.contains("line 1"), "{message}");
    assert!(message.contains("from 1 to 600"), "{message}");
    let cases = [
        ("LAKEPORT_LISTEN", "8080", "127.0.0.1:8080"),
        ("LAKEPORT_LOG", "lakeport=loud", "debug"),
        ("LAKEPORT_LOG_FORMAT", "xml", "text or json"),
        ("LAKEPORT_TIME_ZONE", "Asia/Shangai", "Asia/Shanghai"),
        ("LAKEPORT_BODY_MAX_BYTES", "4 MB", "4 MiB"),
        ("LAKEPORT_STATISTICS_DAILY_AT", "2 am", "02:00"),
        ("LAKEPORT_PLUGINS_WITHHOLD", "http", "lakeport:host/http"),
        ("LAKEPORT_PLUGINS_MEMORY_MAX_MB", "512", "from 1 to 256"),
        ("LAKEPORT_DATABASE_URL", "mysql://a/b", "sqlite:<path>"),
    ];
    for (variable, text, hint) in cases {
        let message = refusal("", Environment::from([(variable, text)]));
        assert!(message.contains(variable) && message.contains(hint), "{message}");
    }
}

#[test]
fn a_list_reads_alike_from_file_and_environment() {
    let wanted = ["lakeport:host/http", "lakeport:tool/samples"];
    let file = "[plugins]\nwithhold = ['lakeport:host/http', 'lakeport:tool/samples']";
    assert_eq!(load(file, Environment::default(), &[]).unwrap().plugins.withhold, wanted);
    let environment =
        Environment::from([("LAKEPORT_PLUGINS_WITHHOLD", "lakeport:host/http, lakeport:tool/samples")]);
    assert_eq!(load("", environment, &[]).unwrap().plugins.withhold, wanted);
}

#[test]
fn a_file_that_is_named_must_be_there() {
    let overrides = Overrides { config_file: Some("/nowhere/lakeport.toml".into()), settings: Vec::new() };
    let message = Config::load(&overrides, &Environment::default()).unwrap_err().to_string();
    assert!(message.contains("/nowhere/lakeport.toml"), "{message}");
}

#[test]
fn a_mistyped_variable_is_warned_of() {
    let environment = Environment::from([("LAKEPORT_LISTN", "127.0.0.1:1"), ("LAKEPORT_TOKEN", "t")]);
    let config = load("", environment, &[]).unwrap();
    assert_eq!(config.warnings.len(), 1);
    assert!(config.warnings[0].contains("LAKEPORT_LISTEN"), "{:?}", config.warnings);
}

#[test]
fn every_setting_is_explained_and_no_password_is_shown() {
    let environment =
        Environment::from([("LAKEPORT_DATABASE_URL", "postgres://me:s3cr3t@db:5432/lake?password=s3cr3t")]);
    let config = load("", environment, &[]).unwrap();
    assert!(!format!("{config:?}").contains("s3cr3t"));
    let explained = explain(&config);
    assert_eq!(explained.len(), SETTINGS.len());
    let store = explained.iter().find(|setting| setting.key == "database_url").unwrap();
    assert_eq!(store.value, "postgres://me:***@db:5432/lake");
    assert_eq!(store.source, "LAKEPORT_DATABASE_URL");
    assert!(!format!("{explained:?}").contains("s3cr3t"));
}

#[test]
fn no_two_settings_share_a_name() {
    for (index, setting) in SETTINGS.iter().enumerate() {
        assert!(
            SETTINGS[..index].iter().all(|other| other.variable() != setting.variable()),
            "{}",
            setting.key
        );
        assert!(!ENV_OTHER.contains(&setting.variable().as_str()), "{}", setting.key);
    }
}
