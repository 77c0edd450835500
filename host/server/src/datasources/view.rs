//! Data sources in answers, and the definition behind their `ETag`.

use chrono_tz::Tz;
use lakeport_base::time;
use lakeport_http::etag_of;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::address::ServerAddress;
use super::definition::SQLITE_SCHEME;
use super::options::{self, Kind};
use super::store::Datasource;

/// A physical database, without passwords.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Datasource")]
pub struct DatasourceView {
    id: i64,
    name: String,
    /// The dialect's name.
    kind: String,
    /// Without its password.
    url: String,
    /// Null: no second account.
    read_url: Option<String>,
    /// From `url`; null for a file.
    host: Option<String>,
    port: Option<u16>,
    database: Option<String>,
    username: Option<String>,
    options: Map<String, Value>,
    is_default: bool,
    sync_cron: Option<String>,
    /// When `syncCron` is due next.
    next_sync_time: Option<String>,
    /// The end of the last complete sync.
    last_sync_time: Option<String>,
    created_at: String,
    updated_at: String,
}

impl DatasourceView {
    pub fn new(source: &Datasource, kinds: &[Kind], zone: Tz) -> DatasourceView {
        let is_file = source.url.starts_with(SQLITE_SCHEME);
        let address = if is_file { None } else { ServerAddress::parse(&source.url).ok() };
        let address = address.map(|(address, _)| address).unwrap_or_default();
        DatasourceView {
            id: source.id,
            name: source.name.clone(),
            kind: source.kind.clone(),
            url: source.url.clone(),
            read_url: source.read_url.clone(),
            host: Some(address.host).filter(|host| !host.is_empty()),
            port: address.port,
            database: address.database,
            username: address.username,
            options: options::shown(source, kinds),
            is_default: source.is_default,
            sync_cron: source.sync_cron.clone(),
            next_sync_time: source.next_sync_at_ms.map(|at| time::shown(at, zone)),
            last_sync_time: source.last_sync_time_ms.map(|at| time::shown(at, zone)),
            created_at: time::shown(source.created_at_ms, zone),
            updated_at: time::shown(source.updated_at_ms, zone),
        }
    }
}

/// The defined members: without sync times, and with digests instead of passwords.
#[derive(Serialize)]
pub struct Definition<'d> {
    id: i64,
    name: &'d str,
    kind: &'d str,
    url: &'d str,
    read_url: Option<&'d str>,
    secret: Option<String>,
    read_secret: Option<String>,
    options: &'d str,
    is_default: bool,
    sync_cron: Option<&'d str>,
}

impl<'d> Definition<'d> {
    pub fn of(source: &'d Datasource) -> Definition<'d> {
        // A digest of the ciphertext: it changes each time a password is set.
        let digest = |sealed: &Vec<u8>| hex::encode(Sha256::digest(sealed));
        Definition {
            id: source.id,
            name: &source.name,
            kind: &source.kind,
            url: &source.url,
            read_url: source.read_url.as_deref(),
            secret: source.secret.as_ref().map(digest),
            read_secret: source.read_secret.as_ref().map(digest),
            options: &source.options,
            is_default: source.is_default,
            sync_cron: source.sync_cron.as_deref(),
        }
    }

    pub fn etag(&self) -> String {
        etag_of(self)
    }
}
