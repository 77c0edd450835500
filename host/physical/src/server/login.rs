//! The address of a server, the user, and the session settings that its dialect requires, all before a
//! connection exists.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use lakeport_bindings::dialect::about::{Cancel, DialectInfo};
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use lakeport_sql::{
    HostValues, Profile, ReadStatement, Statement, Transport, check_cancel, check_session, read_statement,
};
use serde::{Deserialize, Serialize};

/// How long a session waits for a lock, if its dialect leaves it to the host: shorter for read-only sessions,
/// so that the error arrives before the call's deadline; longer for changes.
const READING_LOCK_TIMEOUT: Duration = Duration::from_secs(3);
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// Resolves a host and judges its addresses: returns the permitted ones, best first.
pub type Resolve =
    Arc<dyn Fn(String, u16) -> BoxFuture<'static, Result<Vec<SocketAddr>, Error>> + Send + Sync>;

/// The protection of the connection, the least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Tls {
    /// No TLS.
    Disable,
    /// TLS if the server supports it.
    #[default]
    Prefer,
    /// TLS without checking the certificate.
    Require,
    /// TLS with a certificate of a known authority.
    VerifyCa,
    /// TLS with such a certificate for this host.
    VerifyFull,
}

impl Tls {
    /// Parses PostgreSQL's and MySQL's names of the modes. The error lists the known ones.
    pub fn named(mode: &str) -> Result<Tls, &'static str> {
        Ok(match mode.to_ascii_lowercase().replace('_', "-").as_str() {
            "disable" | "disabled" => Tls::Disable,
            "prefer" | "preferred" | "allow" => Tls::Prefer,
            "require" | "required" => Tls::Require,
            "verify-ca" => Tls::VerifyCa,
            "verify-full" | "verify-identity" => Tls::VerifyFull,
            _ => return Err("disable, prefer, require, verify-ca, verify-full"),
        })
    }
}

/// The server and the user.
#[derive(Clone, Serialize, Deserialize)]
pub struct Login {
    pub transport: Transport,
    pub host: String,
    pub port: u16,
    pub database: Option<String>,
    pub username: String,
    pub password: Option<String>,
    pub tls: Tls,
    /// Certificates of authorities besides the system's.
    pub ca_file: Option<PathBuf>,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {}:{}", self.transport, self.host, self.port)
    }
}

/// The session recipes of a dialect, checked.
#[derive(Clone, Debug)]
pub struct Recipes {
    profile: Arc<Profile>,
    /// Run at the start of a session for changes.
    pub(super) changing: Vec<Statement>,
    /// Run at the start of a read-only session.
    pub(super) reading: Vec<Statement>,
    /// Queries the session's id; `None`: not needed.
    pub(super) session_id: Option<ReadStatement>,
    /// Cancels, from another session, the statement that runs in the session of the id; `None`: closing it
    /// does.
    pub(super) cancel: Option<Cancel>,
    pub(super) driver: DriverSettings,
}

impl Recipes {
    /// Checks the recipes of a dialect's description. The error is the dialect's.
    pub fn of(profile: Arc<Profile>, info: &DialectInfo) -> Result<Recipes, Error> {
        let wrong = |why: String| error("unsupported", format!("the dialect {}: {why}", info.name));
        let statements = |lock_timeout| {
            let values = HostValues { timeout: lock_timeout, ..values(None) };
            let checked = check_session(&profile, &info.session, &values);
            checked.map_err(|refusal| wrong(refusal.to_string()))
        };
        let changing = statements(LOCK_TIMEOUT)?.setup;
        let reading = statements(READING_LOCK_TIMEOUT)?;
        let reading = reading.setup.into_iter().chain(reading.read_only).collect();
        let cancel = (info.cancel.how == "statement").then(|| info.cancel.clone());
        let session_id = match cancel.as_ref().filter(|cancel| !cancel.session_id.is_empty()) {
            Some(cancel) => Some(read_statement(&profile, &cancel.session_id, &[])?),
            None => None,
        };
        let driver = DriverSettings::of(&info.session.driver_settings).map_err(wrong)?;
        Ok(Recipes { profile, changing, reading, session_id, cancel, driver })
    }

    /// The statement that, run on another session, cancels this one's.
    pub(super) fn cancelling(&self, id: u64) -> Option<Statement> {
        let cancel = self.cancel.as_ref()?;
        check_cancel(&self.profile, cancel, &values(Some(id))).ok().flatten()
    }
}

fn values(session_id: Option<u64>) -> HostValues {
    HostValues { timeout: LOCK_TIMEOUT, max_rows: 0, session_id, query_id: None }
}

/// The driver's own settings on connecting.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DriverSettings {
    /// Statements are never prepared.
    pub text_protocol: bool,
    pub set_sql_mode: bool,
    pub set_time_zone: bool,
    pub set_names: bool,
}

impl DriverSettings {
    fn of(json: &str) -> Result<DriverSettings, String> {
        serde_json::from_str(json).map_err(|wrong| format!("its driver settings: {wrong}"))
    }
}

impl Default for DriverSettings {
    fn default() -> DriverSettings {
        DriverSettings { text_protocol: false, set_sql_mode: true, set_time_zone: true, set_names: true }
    }
}

/// The purpose of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Read,
    Change,
}
