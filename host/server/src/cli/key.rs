//! `lakeport key …`: the encryption key of the store, changed in the store itself, also while servers run.

use anyhow::ensure;
use clap::{Args, Subcommand};
use lakeport_store::{Address, Db};

use super::{StoreOptions, check_store, print};
use crate::audit;
use crate::audit::store::{Actor, Entry};
use crate::compose;
use crate::config::{Config, Environment};
use crate::secrets::{self, Keys, Rotated};

#[derive(Args)]
pub struct KeyOptions {
    #[command(subcommand)]
    verb: KeyVerb,
}

#[derive(Subcommand)]
enum KeyVerb {
    /// Print a new key for LAKEPORT_KEY
    New,
    /// Start using a new key and re-encrypt all secrets; servers may run meanwhile
    Rotate(StoreOptions),
}

pub async fn run(options: KeyOptions, environment: &Environment) -> anyhow::Result<()> {
    match options.verb {
        KeyVerb::New => print(&format!("{}\n", *secrets::new_key())),
        KeyVerb::Rotate(store) => {
            let config = Config::load(&store.overrides(None), environment)?;
            let rotated = rotate(&config).await?;
            print(&render(&rotated))?;
            ensure!(rotated.unreadable.is_empty(), "not every secret could be read; older keys were kept");
            Ok(())
        }
    }
}

async fn rotate(config: &Config) -> anyhow::Result<Rotated> {
    check_store(config)?;
    let is_shared = matches!(config.database.address, Address::Postgres(_));
    let setting = config.key.as_ref().map(|key| key.0.as_str());
    ensure!(
        setting.is_some() || is_shared || config.data_dir.join("secret.key").exists(),
        "there is no key: neither LAKEPORT_KEY nor {}; name what the server is started with",
        config.data_dir.join("secret.key").display()
    );
    let keys = Keys::open(setting, &config.data_dir, is_shared)?;
    let db = Db::connect(&config.database.address).await?;
    let done = rotate_store(&db, &keys, config).await;
    db.close().await;
    done
}

async fn rotate_store(db: &Db, keys: &Keys, config: &Config) -> anyhow::Result<Rotated> {
    let schema = db.schema_version().await?;
    ensure!(
        schema.stored == schema.program,
        "the store {} is at schema version {}, this program at {}: start this version's server first",
        config.database.shown(),
        schema.stored,
        schema.program
    );
    let rotated = secrets::rotate(db, keys, &compose::encrypted_columns()).await?;
    record(db, &rotated).await?;
    Ok(rotated)
}

async fn record(db: &Db, rotated: &Rotated) -> anyhow::Result<()> {
    let request_id = uuid::Uuid::now_v7().to_string();
    let operation = "rotateKey";
    let by = Actor { name: "command line".into(), kind: "command_line", operation, request_id: &request_id };
    let entry = Entry {
        by,
        resource: "key",
        resource_id: Some(rotated.key.clone()),
        outcome: audit::SUCCESS,
        status: 200,
        before_digest: None,
        after_digest: None,
    };
    let mut tx = db.begin().await?;
    audit::store::add(&mut tx, &entry, chrono::Utc::now().timestamp_millis());
    Ok(tx.commit().await?)
}

fn render(rotated: &Rotated) -> String {
    let key = &rotated.key;
    let made = if rotated.made { format!("key {key} was made and is in use\n") } else { String::new() };
    let changed = match rotated.changed {
        0 => format!("no secret had to be encrypted again: all are under key {key}\n"),
        1 => format!("1 secret was encrypted again with key {key}\n"),
        count => format!("{count} secrets were encrypted again with key {key}\n"),
    };
    let left = rotated.unreadable.iter().map(|context| format!("no key opens {context}: set it again\n"));
    let left: String = left.collect();
    made + &changed + &left + &what_is_next(rotated)
}

fn what_is_next(rotated: &Rotated) -> String {
    let kept = rotated.kept.join(", ");
    match (rotated.made, rotated.kept.is_empty()) {
        (true, _) => format!("{kept} is kept for what is just being written; a later rotation drops it\n"),
        (false, false) => format!(
            "{kept} may leave LAKEPORT_KEY, if every server had been restarted with {} first; else do that and \
             run this again\n",
            rotated.key
        ),
        (false, true) => {
            "to change the key: make one with `lakeport key new`, put it and a comma in front of \
                          the old one in LAKEPORT_KEY, restart every server, and run this again\n"
                .to_owned()
        }
    }
}
