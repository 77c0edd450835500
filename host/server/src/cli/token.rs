//! `lakeport token …`: tokens in the store itself, so that the first one can be created before the server
//! listens, and another when all are lost. Running servers learn of it through the change log.

use std::path::Path;
use std::time::Duration;

use anyhow::{bail, ensure};
use clap::{Args, Subcommand};
use lakeport_base::error::{Detail, Error};
use lakeport_base::time;
use lakeport_http::Role;
use lakeport_store::{Address, Db, Tx};
use serde_json::json;

use super::table::columns;
use super::{check_store, print, say};
use crate::audit;
use crate::audit::store::{Actor, Entry};
use crate::auth::store::{NewToken, Token};
use crate::auth::{self, token};
use crate::config::{self, Config, Source};
use crate::datasources;

/// The longest delay until a server reads the change log, after which a change is effective everywhere.
const IN_FORCE_AFTER: Duration = Duration::from_millis(1_000);

#[derive(Args)]
pub struct TokenOptions {
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    pub store: super::StoreOptions,
    #[command(subcommand)]
    verb: TokenVerb,
}

#[derive(Subcommand)]
enum TokenVerb {
    /// Create a token; its text is printed only once
    Create {
        /// viewer, editor, approver or admin
        #[arg(long, value_parser = role)]
        role: Role,
        /// The name in the audit log
        #[arg(long)]
        name: String,
        /// Names of the data sources that it is restricted to, separated by commas [default: all]
        #[arg(long, value_delimiter = ',')]
        datasources: Option<Vec<String>>,
        /// Restrict it to this scope: lineage:write
        #[arg(long, value_delimiter = ',')]
        scopes: Vec<String>,
        /// When it expires: yyyy-MM-dd HH:mm:ss [default: never]
        #[arg(long, value_name = "TIME")]
        expires_at: Option<String>,
        /// Make the store if there is none: the first token, before a server was started [default: only in an empty
        /// folder, an empty database, or the default data folder]
        #[arg(long)]
        init: bool,
    },
    /// List all tokens, without their texts
    List,
    /// Revoke a token, by its name or id
    Revoke {
        #[arg(value_name = "NAME-or-ID")]
        which: String,
    },
}

impl TokenOptions {
    pub fn take_store(&mut self) -> super::StoreOptions {
        std::mem::take(&mut self.store)
    }
}

fn role(text: &str) -> Result<Role, String> {
    let names = Role::ALL.map(Role::as_str).join(", ");
    Role::named(text).ok_or_else(|| format!("there are {names}"))
}

pub async fn run(options: TokenOptions, config: &Config) -> anyhow::Result<()> {
    let db = match options.verb {
        TokenVerb::Create { init, .. } => open_or_make(config, init).await?,
        TokenVerb::List | TokenVerb::Revoke { .. } => open(config).await?,
    };
    let done = match options.verb {
        TokenVerb::Create { role, name, datasources, scopes, expires_at, .. } => {
            let wanted = Wanted { role, name, datasources, scopes, expires_at };
            create(&db, config, wanted, options.json).await
        }
        TokenVerb::List => list(&db, config, options.json).await,
        TokenVerb::Revoke { which } => revoke(&db, &which, options.json).await,
    };
    db.close().await;
    print(&done?)
}

/// The configured store, migrated to this program's schema as at a start.
async fn open(config: &Config) -> anyhow::Result<Db> {
    check_store(config)?;
    let db = Db::connect(&config.database.address).await?;
    ensure!(db.schema_version().await?.stored > 0, "{}", no_store(config));
    db.migrate().await?;
    Ok(db)
}

/// The same for the first token: makes the store if it is to be made, or where nothing else can be meant.
async fn open_or_make(config: &Config, init: bool) -> anyhow::Result<Db> {
    if let Address::Sqlite(path) = &config.database.address
        && !path.exists()
    {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        ensure!(init || is_default(config) || is_empty(folder), "{}", no_store(config));
        config::make_data_dir(folder)?;
    }
    let db = Db::connect(&config.database.address).await?;
    if db.schema_version().await?.stored == 0 {
        ensure!(init || db.is_empty().await?, "{}", no_store(config));
        say(&format!("there was no store yet: made {}", config.database.shown()));
    }
    db.migrate().await?;
    Ok(db)
}

/// Whether nothing names another place than the default one.
fn is_default(config: &Config) -> bool {
    ["data_dir", "database_url"].iter().all(|key| matches!(config.source(key), Source::Default))
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

fn no_store(config: &Config) -> String {
    format!(
        "there is no store {}; name its folder with --data-dir, or its database with --database-url. To make a new \
         one there, start the server, or add --init to `token create`",
        config.database.shown()
    )
}

struct Wanted {
    role: Role,
    name: String,
    datasources: Option<Vec<String>>,
    scopes: Vec<String>,
    expires_at: Option<String>,
}

async fn create(db: &Db, config: &Config, wanted: Wanted, as_json: bool) -> anyhow::Result<String> {
    let known = datasources::names(db).await?;
    let mut wrong = token::check(&wanted.name, wanted.datasources.as_deref(), &wanted.scopes, &known);
    let now_ms = chrono::Utc::now().timestamp_millis();
    let expires_at_ms =
        match wanted.expires_at.as_deref().map(|text| time::parse(text, config.time_zone)).transpose() {
            Ok(Some(at_ms)) if at_ms <= now_ms => {
                wrong.push(Detail::new("--expires-at", "must be in the future"));
                None
            }
            Ok(at_ms) => at_ms,
            Err(why) => {
                wrong.push(Detail::new("--expires-at", why));
                None
            }
        };
    if !wrong.is_empty() {
        let shown: Vec<String> = wrong.iter().map(|d| format!("{} {}", d.field, d.message)).collect();
        bail!("{}", shown.join("; "));
    }
    let text = token::make()?;
    let new = NewToken {
        name: &wanted.name,
        role: wanted.role,
        digest: &token::digest(&text),
        datasources: wanted.datasources.as_deref(),
        scopes: &wanted.scopes,
        expires_at_ms,
    };
    let mut tx = db.begin().await?;
    let made = auth::store::insert(&mut tx, &new, now_ms).await.map_err(plainly)?;
    commit(tx, "createToken", &made, now_ms).await?;
    if as_json {
        let shown = json!({ "id": made.id, "name": made.name, "role": made.role, "token": text });
        return Ok(format!("{shown:#}\n"));
    }
    // Only the text goes to standard output, for scripts.
    say(&format!("token `{}` with the role {} was made; this is shown only now:", made.name, made.role));
    Ok(format!("{text}\n"))
}

async fn list(db: &Db, config: &Config, as_json: bool) -> anyhow::Result<String> {
    let tokens = auth::store::live(db).await?;
    let shown = |at_ms: i64| time::shown(at_ms, config.time_zone);
    if as_json {
        let tokens: Vec<_> = tokens
            .iter()
            .map(|token| {
                json!({ "id": token.id, "name": token.name, "role": token.role,
                    "datasources": token.datasources, "scopes": token.scopes,
                    "createdAt": shown(token.created_at_ms), "expiresAt": token.expires_at_ms.map(shown) })
            })
            .collect();
        return Ok(serde_json::to_string_pretty(&tokens)? + "\n");
    }
    let row = |token: &Token| {
        vec![
            token.id.to_string(),
            token.name.clone(),
            token.role.to_string(),
            token.datasources.as_ref().map_or_else(|| "all".to_owned(), |names| names.join(",")),
            if token.scopes.is_empty() { "-".to_owned() } else { token.scopes.join(",") },
            shown(token.created_at_ms),
            token.expires_at_ms.map_or_else(|| "never".to_owned(), shown),
        ]
    };
    let headings = ["ID", "NAME", "ROLE", "DATASOURCES", "SCOPES", "CREATED", "EXPIRES"];
    Ok(columns(&headings, &tokens.iter().map(row).collect::<Vec<_>>()))
}

async fn revoke(db: &Db, which: &str, as_json: bool) -> anyhow::Result<String> {
    let tokens = auth::store::live(db).await?;
    let by_name = tokens.iter().find(|token| token.name == which);
    let found = by_name.or_else(|| tokens.iter().find(|token| token.id.to_string() == which));
    let Some(found) = found else { bail!("unknown token `{which}`; `lakeport token list` shows all") };
    let now_ms = chrono::Utc::now().timestamp_millis();
    let mut tx = db.begin().await?;
    let Some(revoked) = auth::store::revoke(&mut tx, found.id, now_ms).await? else {
        bail!("the token `{which}` was revoked a moment ago");
    };
    commit(tx, "revokeToken", &revoked, now_ms).await?;
    if as_json {
        return Ok(format!("{:#}\n", json!({ "id": revoked.id, "name": revoked.name, "revoked": true })));
    }
    Ok(format!("token `{}` is revoked\n", revoked.name))
}

/// Records the change and waits until all servers have it.
async fn commit(mut tx: Tx, operation: &'static str, token: &Token, now_ms: i64) -> anyhow::Result<()> {
    let request_id = uuid::Uuid::now_v7().to_string();
    let by = Actor { name: "command line".into(), kind: "command_line", operation, request_id: &request_id };
    let entry = Entry {
        by,
        resource: "token",
        resource_id: Some(token.id.to_string()),
        outcome: audit::SUCCESS,
        status: 200,
        before_digest: None,
        after_digest: None,
    };
    audit::store::add(&mut tx, &entry, now_ms);
    tx.changed(auth::TOPIC, token.id.to_string());
    tx.commit().await?;
    tokio::time::sleep(IN_FORCE_AFTER).await;
    Ok(())
}

/// The message of a refusal for a terminal.
fn plainly(error: Error) -> anyhow::Error {
    match error {
        Error::Refused(refusal) => anyhow::anyhow!("{}", refusal.message),
        Error::Internal(source) => source,
    }
}
