//! Data sources that are servers, with their pools of idle sessions. A change of the address, of the password
//! or of the dialect creates a new entry.

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
use lakeport_physical::{Login, Recipes, Resolve, ServerDatabase, Tls, WorkerProcesses};
use lakeport_sql::{Profile, Transport};
use parking_lot::Mutex;

use super::address::ServerAddress;
use super::store::Datasource;
use crate::config::Config;
use crate::plugins::EGRESS_REFUSED;
use crate::secrets::{self, Keys};

/// Entries that were unused for so long are removed, once there are too many.
const UNUSED: Duration = Duration::from_secs(60 * 60);
const KEPT_MAX: usize = 200;

const POSTGRES_PORT: u16 = 5432;
const MYSQL_PORT: u16 = 3306;
/// The port for queries of a front end of Doris or StarRocks.
const FRONT_END_PORT: u16 = 9030;

/// One of a data source's two accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Account {
    /// The account of `url`.
    Main,
    /// The account of `readUrl`, if there is one.
    Reading,
}

/// The servers with open sessions.
#[derive(Default)]
pub struct Servers(Mutex<HashMap<(i64, Account), Known>>);

struct Known {
    is_of: Identity,
    database: ServerDatabase,
    used: Instant,
}

/// All properties on which a session depends.
struct Identity {
    url: String,
    secret: Option<Vec<u8>>,
    /// The profile of the dialect's generation that set up the sessions.
    profile: Arc<Profile>,
}

impl PartialEq for Identity {
    fn eq(&self, other: &Identity) -> bool {
        self.url == other.url && self.secret == other.secret && Arc::ptr_eq(&self.profile, &other.profile)
    }
}

/// The parameters for opening a server.
pub struct Opening<'o> {
    pub config: &'o Config,
    pub keys: &'o Keys,
    pub egress: &'o Policy,
    pub processes: &'o WorkerProcesses,
    pub info: &'o DialectInfo,
    pub profile: &'o Arc<Profile>,
}

impl Servers {
    /// Does not connect.
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
            Ok(ServerDatabase::new(
                login,
                recipes,
                resolver(opening.egress.clone()),
                opening.processes.clone(),
            ))
        })
    }

    /// The server's own store, if it is PostgreSQL: its address comes from the operator and is not judged.
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
            // The options of such an address that sessions here support.
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
            Ok(ServerDatabase::new(login, recipes, plain_resolver(), opening.processes.clone()))
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

impl Servers {
    /// Drops what is kept of a data source, and its password.
    pub fn forget(&self, id: i64) {
        self.0.lock().retain(|(of, _), _| *of != id);
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

/// The default port of such servers.
fn usual_port(kind: &str, transport: Transport) -> u16 {
    match transport {
        Transport::Postgres => POSTGRES_PORT,
        _ if matches!(kind, "doris" | "starrocks") => FRONT_END_PORT,
        _ => MYSQL_PORT,
    }
}

fn resolver(policy: Policy) -> Resolve {
    Arc::new(move |host: String, port: u16| {
        let policy = policy.clone();
        Box::pin(async move { policy.resolve(&host, port).await.map_err(unresolved) })
    })
}

/// For a host that the operator configured.
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

/// 403 `egress_refused` if an IP address in the URL is not permitted. Names are resolved when they are
/// needed. Without a port, one of the usual ports must be permitted: the address is judged again at each connection.
pub fn check_address(policy: &Policy, url: &str) -> Result<(), Error> {
    let Ok((address, _)) = ServerAddress::parse(url) else { return Ok(()) };
    let Ok(ip) = address.host.parse() else { return Ok(()) };
    let judge = |port| policy.judge(None, SocketAddr::new(ip, port));
    match address.port {
        Some(port) => judge(port),
        None if address.scheme.starts_with("postgres") => judge(POSTGRES_PORT),
        None => judge(MYSQL_PORT).or_else(|refused| judge(FRONT_END_PORT).map_err(|_| refused)),
    }
}
