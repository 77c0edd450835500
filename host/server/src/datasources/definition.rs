//! The definition of a data source: the forms of requests, checked and applied to the current definition.
//! Pure functions.

use lakeport_base::error::Detail;
use lakeport_http::form::{Amend, Number, Patch};
use lakeport_sql::Transport;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::OWN_NAME;
use super::address::{MAX_BYTES as URL_MAX_BYTES, ServerAddress};
use super::options::{self, Kind};
use super::store::Datasource;
use crate::cron::{Cron, MAX_CHARS as CRON_MAX_CHARS};
use crate::secrets::Secret;

const NAME_MAX_CHARS: usize = 100;
/// The longest password, in bytes.
const PASSWORD_MAX_BYTES: usize = 1_024;
/// The scheme of SQLite addresses.
pub const SQLITE_SCHEME: &str = "sqlite:";

/// A server's port.
pub type Port = Number<1, { u16::MAX as i64 }>;

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateDatasource {
    /// Unique among data sources.
    #[schemars(length(min = 1, max = NAME_MAX_CHARS))]
    name: String,
    /// The name of an active dialect, such as `sqlite`.
    kind: String,
    /// `sqlite:<path>` below the folders of the setting `sqlite_roots`, or `postgres://user:password@host:5432/database`.
    #[schemars(length(max = URL_MAX_BYTES))]
    url: Option<String>,
    /// Instead of `url`, with the following members.
    host: Option<String>,
    port: Option<Port>,
    database: Option<String>,
    username: Option<String>,
    /// Never shown again.
    #[schemars(length(max = PASSWORD_MAX_BYTES))]
    password: Option<String>,
    /// Options that the dialect knows; no secrets. `databases` lists the databases that a sync reads, `["*"]`
    /// all of them; by default, on a server of the MySQL protocol, that is the one in the address.
    options: Option<Map<String, Value>>,
    /// A second, read-only account; if set, all reads use it.
    #[schemars(length(max = URL_MAX_BYTES))]
    read_url: Option<String>,
    /// Makes it the only default.
    is_default: Option<bool>,
    /// Quartz cron with seven fields: `0 30 2 * * ? *`. When its tables are synced into the catalogue.
    #[schemars(length(max = CRON_MAX_CHARS))]
    sync_cron: Option<String>,
}

/// Absent: unchanged. Null clears an optional member.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateDatasource {
    #[serde(default)]
    #[schemars(length(min = 1, max = NAME_MAX_CHARS))]
    pub name: Amend<String>,
    #[serde(default)]
    pub kind: Amend<String>,
    #[serde(default)]
    #[schemars(length(max = URL_MAX_BYTES))]
    pub url: Amend<String>,
    /// Null: none, as for a file.
    #[serde(default)]
    pub host: Patch<String>,
    #[serde(default)]
    pub port: Patch<Port>,
    #[serde(default)]
    pub database: Patch<String>,
    #[serde(default)]
    pub username: Patch<String>,
    /// Required again when host, port or user change, or the connection gets less protection.
    #[serde(default)]
    #[schemars(length(max = PASSWORD_MAX_BYTES))]
    pub password: Patch<String>,
    #[serde(default)]
    pub options: Patch<Map<String, Value>>,
    #[serde(default)]
    #[schemars(length(max = URL_MAX_BYTES))]
    pub read_url: Patch<String>,
    #[serde(default)]
    pub is_default: Amend<bool>,
    #[serde(default)]
    #[schemars(length(max = CRON_MAX_CHARS))]
    pub sync_cron: Patch<String>,
}

impl From<CreateDatasource> for UpdateDatasource {
    fn from(form: CreateDatasource) -> UpdateDatasource {
        UpdateDatasource {
            name: Amend(Some(form.name)),
            kind: Amend(Some(form.kind)),
            url: Amend(form.url),
            host: form.host.into(),
            port: form.port.into(),
            database: form.database.into(),
            username: form.username.into(),
            password: form.password.into(),
            options: form.options.into(),
            read_url: form.read_url.into(),
            is_default: Amend(form.is_default),
            sync_cron: form.sync_cron.into(),
        }
    }
}

/// The change of a password.
#[derive(Debug)]
pub enum Password {
    Keep,
    None,
    Set(Secret),
}

/// The new definition of a data source.
#[derive(Debug)]
pub struct Wanted {
    pub name: String,
    pub kind: String,
    pub url: String,
    pub read_url: Option<String>,
    pub password: Password,
    pub read_password: Password,
    pub options: String,
    pub is_default: bool,
    pub sync_cron: Option<String>,
}

/// Applies the form to the current definition; or returns the problems of all members. Does not check the
/// location of a SQLite file.
pub fn wanted(
    form: UpdateDatasource,
    before: Option<&Datasource>,
    kinds: &[Kind],
) -> Result<Wanted, Vec<Detail>> {
    let mut wrong = Vec::new();
    let name = form.name.0.clone().or_else(|| before.map(|b| b.name.clone())).unwrap_or_default();
    wrong.extend(check_name(&name).err().map(|why| Detail::new("name", why)));
    let kind = form.kind.0.clone().or_else(|| before.map(|b| b.kind.clone())).unwrap_or_default();
    let transport = kinds.iter().find(|known| known.name == kind).map(|known| known.transport);
    // A dialect that is temporarily unavailable does not prevent renaming its data sources.
    let is_kept = before.is_some_and(|before| before.kind == kind);
    if transport.is_none() && !is_kept {
        wrong.push(Detail::new("kind", unknown_kind(&kind, kinds)));
    }
    let options = options::wanted(&form.options, before, &kind, kinds).unwrap_or_else(|details| {
        wrong.extend(details);
        String::new()
    });
    if let Patch::Set(cron) = &form.sync_cron {
        wrong.extend(Cron::parse(cron).err().map(|why| Detail::new("syncCron", why)));
    }
    let is_default = form.is_default.0.unwrap_or_else(|| before.is_some_and(|before| before.is_default));
    let address = match (transport, before) {
        (None, Some(before)) if !form.names_a_place() => Ok(Place::as_before(before)),
        (None, _) if is_kept => Err(vec![Detail::new("kind", unknown_kind(&kind, kinds))]),
        (None, _) => Err(Vec::new()),
        (Some(Transport::Sqlite), _) => file(&form, before),
        (Some(transport), _) => server(&form, before, transport),
    };
    let place = address.unwrap_or_else(|details| {
        wrong.extend(details);
        Place::default()
    });
    if !wrong.is_empty() {
        return Err(wrong);
    }
    Ok(Wanted {
        name,
        kind,
        url: place.url,
        read_url: place.read_url,
        password: place.password,
        read_password: place.read_password,
        options,
        is_default,
        sync_cron: form.sync_cron.over(before.and_then(|before| before.sync_cron.clone())),
    })
}

fn check_name(name: &str) -> Result<(), String> {
    match name.chars().count() {
        0 => Err("must not be empty".to_owned()),
        count if count > NAME_MAX_CHARS => Err(format!("must have {NAME_MAX_CHARS} characters at most")),
        _ if name.trim() != name => Err("must not begin or end with a blank".to_owned()),
        _ if name.chars().any(char::is_control) => Err("must have no control characters".to_owned()),
        _ => Ok(()),
    }
}

/// Whether it is the reserved name, in any case.
pub fn is_reserved(name: &str) -> bool {
    name.eq_ignore_ascii_case(OWN_NAME)
}

fn unknown_kind(kind: &str, kinds: &[Kind]) -> String {
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name.as_str()).collect();
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let shown: String = kind.chars().take(NAME_MAX_CHARS).collect();
    let hint = if kind.eq_ignore_ascii_case("mariadb") { "; a MariaDB is one of kind mysql" } else { "" };
    format!(
        "`{shown}` is not the name of an active dialect whose databases can be opened here; known: {known}{hint}"
    )
}

/// The location, and the change of passwords.
#[derive(Debug)]
struct Place {
    url: String,
    read_url: Option<String>,
    password: Password,
    read_password: Password,
}

impl Default for Place {
    fn default() -> Place {
        Place { url: String::new(), read_url: None, password: Password::None, read_password: Password::None }
    }
}

impl Place {
    fn as_before(before: &Datasource) -> Place {
        Place {
            url: before.url.clone(),
            read_url: before.read_url.clone(),
            password: Password::Keep,
            read_password: Password::Keep,
        }
    }
}

impl UpdateDatasource {
    /// Whether it has any member of the location or the user.
    pub fn names_a_place(&self) -> bool {
        self.url.0.is_some()
            || self.host != Patch::Keep
            || self.has_parts()
            || self.password != Patch::Keep
            || self.read_url != Patch::Keep
    }

    fn has_parts(&self) -> bool {
        matches!(self.host, Patch::Set(_))
            || self.port != Patch::Keep
            || self.database != Patch::Keep
            || self.username != Patch::Keep
    }

    /// Members that a file does not have.
    fn server_members(&self) -> Vec<&'static str> {
        let text = |member: &Patch<String>| matches!(member, Patch::Set(text) if !text.is_empty());
        let members = [
            ("host", text(&self.host)),
            ("port", matches!(self.port, Patch::Set(_))),
            ("database", text(&self.database)),
            ("username", text(&self.username)),
            ("password", text(&self.password)),
            ("readUrl", text(&self.read_url)),
        ];
        members.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect()
    }
}

/// A SQLite file: only an address.
fn file(form: &UpdateDatasource, before: Option<&Datasource>) -> Result<Place, Vec<Detail>> {
    if let Some(wrong) = other_kind(form, before, |url| url.starts_with(SQLITE_SCHEME), "sqlite:<path>") {
        return Err(vec![wrong]);
    }
    let more = form.server_members();
    let mut wrong: Vec<Detail> = more
        .into_iter()
        .map(|member| Detail::new(member, "a SQLite file has none; leave it out and give `url` alone"))
        .collect();
    let url = form.url.0.clone().or_else(|| before.map(|before| before.url.clone()));
    match &url {
        None => wrong.push(Detail::new("url", "is missing; write sqlite:<path>")),
        Some(url) if !url.starts_with(SQLITE_SCHEME) => {
            wrong.push(Detail::new("url", "must be the address of a SQLite file; write sqlite:<path>"));
        }
        Some(_) => {}
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    Ok(Place { url: url.unwrap_or_default(), ..Place::default() })
}

/// The problem of another kind for an unchanged address.
fn other_kind(
    form: &UpdateDatasource,
    before: Option<&Datasource>,
    is_own: impl Fn(&str) -> bool,
    begin: &str,
) -> Option<Detail> {
    let before = before.filter(|before| form.url.0.is_none() && !is_own(&before.url))?;
    let message = format!(
        "does not fit the stored address, which is one of kind {}; give `url` with it, {begin}…",
        before.kind
    );
    Some(Detail::new("kind", message))
}

/// Whether an address is one of such a server.
fn is_of(transport: Transport) -> impl Fn(&str) -> bool {
    move |url| url.split_once("://").is_some_and(|(scheme, _)| schemes(transport).contains(&scheme))
}

/// The schemes of such servers' addresses.
fn schemes(transport: Transport) -> &'static [&'static str] {
    match transport {
        Transport::Sqlite => &["sqlite"],
        Transport::Postgres => &["postgres", "postgresql"],
        Transport::MySql => &["mysql"],
        Transport::Http => &["https", "http"],
    }
}

fn server(
    form: &UpdateDatasource,
    before: Option<&Datasource>,
    transport: Transport,
) -> Result<Place, Vec<Detail>> {
    let (is_own, begin) = (is_of(transport), format!("{}://", schemes(transport)[0]));
    if matches!(form.host, Patch::Keep)
        && let Some(wrong) = other_kind(form, before, is_own, &begin)
    {
        return Err(vec![wrong]);
    }
    let known = |url: &str| ServerAddress::parse(url).ok().map(|(address, _)| address);
    let of_kind = |address: &ServerAddress| schemes(transport).contains(&address.scheme.as_str());
    let address_before = before.and_then(|before| known(&before.url)).filter(of_kind);
    let read_before = before.and_then(|before| known(before.read_url.as_deref()?)).filter(of_kind);
    let mut wrong = Vec::new();
    let parsed = |member: &'static str, url: &str| match ServerAddress::parse(url) {
        Ok((address, password)) if of_kind(&address) => match address.tls(transport) {
            Ok(_) => Ok((address, password)),
            Err(why) => Err(Detail::new(member, why)),
        },
        Ok(_) => Err(Detail::new(member, format!("must begin with {}://", schemes(transport)[0]))),
        Err(why) => Err(Detail::new(member, why)),
    };
    let (address, in_url) = match &form.url.0 {
        Some(_) if form.has_parts() => {
            return Err(vec![Detail::new("url", "give either `url` or `host` and its like, not both")]);
        }
        Some(url) => parsed("url", url).map_err(|detail| vec![detail])?,
        None => (parts(form, address_before.clone(), transport)?, None),
    };
    let has_secret = before.is_some_and(|before| before.secret.is_some());
    // Without a written port the kind says which it is.
    let is_same_kind =
        before.is_some_and(|before| form.kind.0.as_ref().is_none_or(|kind| *kind == before.kind));
    let may_keep = |address: &ServerAddress, stored: Option<ServerAddress>| {
        (is_same_kind || address.port.is_some())
            && stored.is_some_and(|stored| address.may_use_password_of(&stored, transport))
    };
    let password = password(&form.password, in_url, may_keep(&address, address_before), has_secret);
    let (read_url, read_password) = match &form.read_url {
        Patch::Keep if !is_same_kind && before.is_some_and(|before| before.read_url.is_some()) => {
            (None, Err("is required again with another kind; null removes it".to_owned()))
        }
        Patch::Keep => (before.and_then(|before| before.read_url.clone()), Ok(Password::Keep)),
        Patch::Clear => (None, Ok(Password::None)),
        Patch::Set(url) => {
            let (address, in_url) = parsed("readUrl", url).map_err(|detail| vec![detail])?;
            let may_keep = may_keep(&address, read_before);
            let has_secret = before.is_some_and(|before| before.read_secret.is_some());
            (Some(address.url()), self::password(&Patch::Keep, in_url, may_keep, has_secret))
        }
    };
    let mut of = |member: &str, password: Result<Password, String>| {
        password.unwrap_or_else(|why| {
            wrong.push(Detail::new(member, why));
            Password::None
        })
    };
    let password = of("password", password);
    let read_password = of("readUrl", read_password);
    if wrong.is_empty() {
        Ok(Place { url: address.url(), read_url, password, read_password })
    } else {
        Err(wrong)
    }
}

/// The address from its parts, applied to the current one.
fn parts(
    form: &UpdateDatasource,
    before: Option<ServerAddress>,
    transport: Transport,
) -> Result<ServerAddress, Vec<Detail>> {
    let mut address = before.unwrap_or_default();
    if address.scheme.is_empty() {
        address.scheme = schemes(transport)[0].to_owned();
    }
    match &form.host {
        Patch::Keep => {}
        Patch::Clear => return Err(vec![Detail::new("host", "must not be null; a server has one")]),
        Patch::Set(host) => address.host.clone_from(host),
    }
    let text = |patch: &Patch<String>, before| patch.clone().over(before).filter(|text| !text.is_empty());
    match form.port {
        Patch::Keep => {}
        Patch::Clear => address.port = None,
        // The type limits the port.
        Patch::Set(Number(port)) => address.port = u16::try_from(port).ok(),
    }
    address.database = text(&form.database, address.database.take());
    address.username = text(&form.username, address.username.take());
    if address.host.is_empty() {
        return Err(vec![Detail::new("url", "is missing; give it, or `host` and its like")]);
    }
    address.check().map_err(|why| vec![Detail::new("host", why)])?;
    if address.url().len() > URL_MAX_BYTES {
        let message = format!("makes, with its like, an address of more than {URL_MAX_BYTES} bytes");
        return Err(vec![Detail::new("host", message)]);
    }
    Ok(address)
}

/// A password is used only for the host and user for which it was set, and with no less protection.
fn password(
    member: &Patch<String>,
    in_url: Option<Secret>,
    may_keep: bool,
    has_secret: bool,
) -> Result<Password, String> {
    let set = match member {
        Patch::Set(text) if text.len() > PASSWORD_MAX_BYTES => {
            return Err(format!("must have {PASSWORD_MAX_BYTES} bytes at most"));
        }
        Patch::Set(text) => Some(Secret::from(text.clone())),
        Patch::Clear => return Ok(Password::None),
        Patch::Keep => in_url,
    };
    match set {
        Some(secret) => Ok(Password::Set(secret)),
        None if !has_secret => Ok(Password::None),
        None if may_keep => Ok(Password::Keep),
        None => Err("is required again: the stored one belongs to another host, port or user, or to a connection with \
                     more protection; null removes it"
            .to_owned()),
    }
}

#[cfg(test)]
#[path = "definition_tests.rs"]
mod tests;
