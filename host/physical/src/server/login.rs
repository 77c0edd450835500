//! Where a server is, who connects, and what its dialect asks of a session: settings, before anything is connected.

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
use serde::Deserialize;

/// How long a session waits for a lock, where its dialect asks the host for it: one that only reads, so that this
/// is told before the call that reads is over; and one for changes.
const READING_LOCK_TIMEOUT: Duration = Duration::from_secs(3);
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// Looks up a host and judges its addresses: those that may be connected to, the best first.
pub type Resolve =
    Arc<dyn Fn(String, u16) -> BoxFuture<'static, Result<Vec<SocketAddr>, Error>> + Send + Sync>;

/// How much the connection is protected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tls {
    /// Not at all.
    Disable,
    /// Where the server can.
    #[default]
    Prefer,
    /// Always, whoever answers.
    Require,
    /// Always, with a certificate of a known authority.
    VerifyCa,
    /// Always, with such a certificate for this host.
    VerifyFull,
}

impl Tls {
    /// By the words of PostgreSQL and of MySQL. The error names those that are known.
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

/// Where a server is and who connects.
#[derive(Clone)]
pub struct Login {
    pub transport: Transport,
    pub host: String,
    pub port: u16,
    pub database: Option<String>,
    pub username: String,
    pub password: Option<String>,
    pub tls: Tls,
    /// Certificates of authorities besides the usual ones.
    pub ca_file: Option<PathBuf>,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {}:{}", self.transport, self.host, self.port)
    }
}

/// What a dialect asks of its sessions, checked.
#[derive(Clone, Debug)]
pub struct Recipes {
    profile: Arc<Profile>,
    /// At the beginning of a session for changes.
    pub(super) changing: Vec<Statement>,
    /// At the beginning of one that only reads.
    pub(super) reading: Vec<Statement>,
    /// Asks a session for its id; none: not needed.
    pub(super) session_id: Option<ReadStatement>,
    /// Stops, on another session, what runs in the one of the id; none: closing it does.
    pub(super) cancel: Option<Cancel>,
    pub(super) driver: DriverSettings,
}

impl Recipes {
    /// Of a dialect's own description. The error is one of the dialect's.
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

    /// What stops, on another session, the statement of this one.
    pub(super) fn cancelling(&self, id: u64) -> Option<Statement> {
        let cancel = self.cancel.as_ref()?;
        check_cancel(&self.profile, cancel, &values(Some(id))).ok().flatten()
    }
}

fn values(session_id: Option<u64>) -> HostValues {
    HostValues { timeout: LOCK_TIMEOUT, max_rows: 0, session_id, query_id: None }
}

/// What the driver does by itself when it connects.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DriverSettings {
    /// Nothing is ever prepared.
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

/// What a session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Read,
    Change,
}
