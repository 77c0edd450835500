//! Data sources that are servers, as they were reached last: their sessions at rest are there for the next who asks.
//! A change of the address, of the password or of the dialect makes another one of it.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lakeport_base::Error;
use lakeport_bindings::dialect::about::DialectInfo;
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error as PluginError;
use lakeport_egress::Policy;
use lakeport_physical::{Login, Recipes, Resolve, ServerDatabase, Tls};
use lakeport_sql::{Profile, Transport};
use parking_lot::Mutex;

use super::address::ServerAddress;
use super::store::Datasource;
use crate::config::Config;
use crate::plugins::EGRESS_REFUSED;
use crate::secrets::{self, Keys};

/// What was not asked for so long is forgotten, once there are so many.
const UNUSED: Duration = Duration::from_secs(60 * 60);
const KEPT_MAX: usize = 200;

const POSTGRES_PORT: u16 = 5432;

/// Which of a data source's two accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Account {
    /// That of `url`.
    Main,
    /// That of `readUrl`, where there is one.
    Reading,
}

/// The servers that this one has sessions on.
#[derive(Default)]
pub struct Servers(Mutex<HashMap<(i64, Account), Known>>);

struct Known {
    is_of: Identity,
    database: ServerDatabase,
    used: Instant,
}

/// Everything that a session depends on.
struct Identity {
    url: String,
    secret: Option<Vec<u8>>,
    /// That of the dialect's generation which set the sessions up.
    profile: Arc<Profile>,
}

impl PartialEq for Identity {
    fn eq(&self, other: &Identity) -> bool {
        self.url == other.url && self.secret == other.secret && Arc::ptr_eq(&self.profile, &other.profile)
    }
}

/// What a server is opened with.
pub struct Opening<'o> {
    pub config: &'o Config,
    pub keys: &'o Keys,
    pub egress: &'o Policy,
    pub info: &'o DialectInfo,
    pub profile: &'o Arc<Profile>,
}

impl Servers {
    /// Connects to nothing.
    pub fn database(
        &self,
        source: &Datasource,
        account: Account,
        opening: &Opening<'_>,
    ) -> Result<ServerDatabase, PluginError> {
        let (account, url, secret, column) = match (account, &source.read_url) {
            (Account::Reading, Some(url)) => (account, url, &source.read_secret, "read_secret"),
            _ => (Account::Main, &source.url, &source.secret, "secret"),
        };
        let profile = Arc::clone(opening.profile);
        let is_of = Identity { url: url.clone(), secret: secret.clone(), profile };
        self.kept((source.id, account), is_of, || {
            let password = match secret {
                Some(sealed) => {
                    let context = secrets::context("datasources", &[&source.id.to_string()], column);
                    let opened = opening.keys.decrypt(&context, sealed);
                    let opened = opened.map_err(|cause| error("unavailable", cause.to_string()))?;
                    opened.text().map(str::to_owned)
                }
                None => None,
            };
            let login = login(source, url, password, opening)?;
            let recipes = Recipes::of(Arc::clone(opening.profile), opening.info)?;
            Ok(ServerDatabase::new(login, recipes, resolver(opening.egress.clone())))
        })
    }

    /// The server's own store, where it is a PostgreSQL: the operator's word for where it is will do.
    pub fn own(
        &self,
        source: &Datasource,
        url: &str,
        opening: &Opening<'_>,
    ) -> Result<ServerDatabase, PluginError> {
        let is_of = Identity { url: url.to_owned(), secret: None, profile: Arc::clone(opening.profile) };
        self.kept((source.id, Account::Main), is_of, || {
            let unreachable =
                || error("unreachable", "the server's own store cannot be opened for questions");
            let (address, password) = ServerAddress::parse(url).map_err(|_| unreachable())?;
            // Of all that such an address may say, this is what a session here has.
            let options: HashMap<String, String> = address.options().collect();
            let mode = options.get("sslmode").or(options.get("ssl-mode"));
            let tls = mode.map_or(Ok(Tls::default()), |mode| Tls::named(mode)).map_err(|_| unreachable())?;
            let login = Login {
                transport: Transport::Postgres,
                tls,
                port: address.port.unwrap_or(POSTGRES_PORT),
                host: address.host,
                database: address.database,
                username: address.username.ok_or_else(unreachable)?,
                password: password.and_then(|secret| secret.text().map(str::to_owned)),
                ca_file: options.get("sslrootcert").or(options.get("ssl-root-cert")).map(PathBuf::from),
            };
            let recipes = Recipes::of(Arc::clone(opening.profile), opening.info)?;
            Ok(ServerDatabase::new(login, recipes, plain_resolver()))
        })
    }

    fn kept(
        &self,
        key: (i64, Account),
        is_of: Identity,
        make: impl FnOnce() -> Result<ServerDatabase, PluginError>,
    ) -> Result<ServerDatabase, PluginError> {
        let mut servers = self.0.lock();
        if let Some(known) = servers.get_mut(&key).filter(|known| known.is_of == is_of) {
            known.used = Instant::now();
            return Ok(known.database.clone());
        }
        let database = make()?;
        if servers.len() >= KEPT_MAX {
            servers.retain(|_, known| known.used.elapsed() < UNUSED);
        }
        servers.insert(key, Known { is_of, database: database.clone(), used: Instant::now() });
        Ok(database)
    }
}

fn login(
    source: &Datasource,
    url: &str,
    password: Option<String>,
    opening: &Opening<'_>,
) -> Result<Login, PluginError> {
    let invalid = |why: String| error("invalid_input", format!("the address of `{}`: {why}", source.name));
    let (address, _) = ServerAddress::parse(url).map_err(|why| invalid(format!("it {why}")))?;
    let transport = opening.profile.transport;
    let username = address.username.clone().ok_or_else(|| invalid("it names no user".to_owned()))?;
    Ok(Login {
        transport,
        tls: address.tls(transport).map_err(|why| invalid(format!("it {why}")))?,
        port: address.port.unwrap_or_else(|| usual_port(&source.kind, transport)),
        host: address.host,
        database: address.database,
        username,
        password,
        ca_file: opening.config.egress_ca_file.clone(),
    })
}

/// Where such servers listen when nobody says otherwise.
fn usual_port(kind: &str, transport: Transport) -> u16 {
    match transport {
        Transport::Postgres => POSTGRES_PORT,
        // Of a front end, for queries.
        _ if matches!(kind, "doris" | "starrocks") => 9030,
        _ => 3306,
    }
}

fn resolver(policy: Policy) -> Resolve {
    Arc::new(move |host: String, port: u16| {
        let policy = policy.clone();
        Box::pin(async move { policy.resolve(&host, port).await.map_err(unresolved) })
    })
}

/// Of a host that the operator names.
fn plain_resolver() -> Resolve {
    Arc::new(move |host: String, port: u16| {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host.as_str(), port)).await;
            found.map(Iterator::collect).map_err(|cause| error("unreachable", format!("{host}: {cause}")))
        })
    })
}

fn unresolved(cause: Error) -> PluginError {
    let code = match cause.code() {
        "egress_refused" => EGRESS_REFUSED,
        "dns_timeout" => "timeout",
        "invalid_host" => "invalid_input",
        _ => "unreachable",
    };
    match cause {
        Error::Refused(refusal) => error(code, refusal.message),
        Error::Internal(cause) => error("internal", cause.to_string()),
    }
}

/// 403 `egress_refused` where an address that is written out may not be connected to. Names are looked up when they
/// are needed.
pub fn check_address(policy: &Policy, url: &str) -> Result<(), Error> {
    let Ok((address, _)) = ServerAddress::parse(url) else { return Ok(()) };
    match address.host.parse() {
        Ok(ip) => policy.judge(None, SocketAddr::new(ip, address.port.unwrap_or_default())),
        Err(_) => Ok(()),
    }
}
