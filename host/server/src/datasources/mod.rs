//! Data sources: the physical databases of tables, their addresses and accounts, and the schedule of their
//! syncs.
//!
//! An address is stored without its password, which is encrypted, write-only, and never reaches a plugin. A
//! database is opened for one call at a time, read-only, and the location of a SQLite file is checked each
//! time. One data source always exists: `lakeport`, the server's own store.

mod address;
mod api;
mod client;
mod definition;
mod options;
mod rights;
mod servers;
mod store;
mod view;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use ::http::Method;
use lakeport_base::Error;
use lakeport_http::Role::{Admin, Viewer};
use lakeport_http::{Nothing, Route};
use lakeport_physical::WorkerProcesses;
use lakeport_sql::lex::{Lexing, Server};
use lakeport_sql::script::lexing_of;
use lakeport_store::{Db, Either};

use crate::core::{Core, stands_on_core};
use crate::part::{Fate, Part, Resource};
use crate::plugins::CALL_CODES;
use crate::plugins::Plugins;
use crate::secrets::{EncryptedColumn, LOWEST_ID};
pub use address::ServerAddress;
pub use api::DatasourcePath;
pub use client::{DatasourceClient, Unanswered, limit};
use options::may_add_task_table;
pub use options::{ALL_DATABASES, databases_named};
pub use rights::Rights;
pub use servers::Servers;
pub use store::{
    Datasource, all_kept, all_of, by_id, due, find, find_default, kept, lock, next_due, own_id,
    set_last_sync, set_next,
};

/// The change log's topic of data sources.
pub const TOPIC: &str = "datasources";

/// The data source that is the server's own store.
pub const OWN_NAME: &str = "lakeport";
/// Its address in answers.
const OWN_URL: &str = "lakeport:";
/// The dialects of the two stores.
const OWN_KIND: Either = Either { sqlite: "sqlite", postgres: "postgres" };

/// Lakeport's own database users of a data source.
pub fn accounts_of(source: &Datasource) -> Vec<String> {
    let urls = std::iter::once(&source.url).chain(&source.read_url);
    let names = urls.filter_map(|url| address::ServerAddress::parse(url).ok()?.0.username);
    let mut names: Vec<String> = names.collect();
    names.dedup();
    names
}

/// Data sources, the servers with open sessions, and the processes that hold these.
pub struct Datasources {
    core: Arc<Core>,
    plugins: Arc<Plugins>,
    servers: Servers,
    processes: WorkerProcesses,
}

stands_on_core!(Datasources);

impl Datasources {
    /// Creates the data source of the store itself if it does not exist.
    pub async fn open(
        core: &Arc<Core>,
        plugins: &Arc<Plugins>,
        processes: WorkerProcesses,
    ) -> Result<Datasources, Error> {
        store::ensure_own(&core.db, core.db.words(OWN_KIND), OWN_URL, core.clock.now_ms()).await?;
        let (core, plugins, servers) = (Arc::clone(core), Arc::clone(plugins), Servers::default());
        Ok(Datasources { core, plugins, servers, processes })
    }
}

/// Passwords of data sources.
pub(crate) const SECRET: EncryptedColumn = EncryptedColumn {
    table: "datasources",
    name: "secret",
    others: "SELECT secret, id FROM datasources WHERE secret IS NOT NULL \
             AND substr(secret, 1, 9) <> $1 AND id > $3 ORDER BY id LIMIT $2",
    put: "UPDATE datasources SET secret = $1 WHERE secret = $2 AND id = $3",
    lowest: LOWEST_ID,
};
pub(crate) const READ_SECRET: EncryptedColumn = EncryptedColumn {
    table: "datasources",
    name: "read_secret",
    others: "SELECT read_secret, id FROM datasources WHERE read_secret IS NOT NULL \
             AND substr(read_secret, 1, 9) <> $1 AND id > $3 ORDER BY id LIMIT $2",
    put: "UPDATE datasources SET read_secret = $1 WHERE read_secret = $2 AND id = $3",
    lowest: LOWEST_ID,
};

pub fn part() -> Part<Datasources> {
    Part {
        tags: &[("datasources", "Connections to databases")],
        routes: routes(),
        encrypted_columns: &[SECRET, READ_SECRET],
        error_codes: &["too_many_datasources"],
        ..Part::default()
    }
}

/// A request to this module.
pub type Call<P = Nothing, Q = Nothing, B = Nothing> = lakeport_http::Call<Datasources, P, Q, B>;

fn routes() -> Vec<Route<Datasources>> {
    [definitions(), questions()].into_iter().flatten().collect()
}

fn definitions() -> Vec<Route<Datasources>> {
    vec![
        Route::new(
            Method::GET,
            "/api/v1/datasources",
            Viewer,
            "listDatasources",
            "List data sources",
            api::list,
        ),
        Route::new(
            Method::POST,
            "/api/v1/datasources",
            Admin,
            "createDatasource",
            "Create a data source; it need not be reachable yet",
            api::create,
        )
        .versioned()
        .unbound()
        .refuses(&["name_taken", "too_many_datasources"]),
        Route::new(
            Method::GET,
            "/api/v1/datasources/{id}",
            Viewer,
            "getDatasource",
            "Get a data source, without its password",
            api::get,
        )
        .versioned(),
        Route::new(
            Method::PUT,
            "/api/v1/datasources/{id}",
            Admin,
            "updateDatasource",
            "Update the given members of a data source; without a password the stored one is kept",
            api::update,
        )
        .versioned()
        .refuses(&["in_use", "name_taken", "built_in", "datasource_not_allowed", "sync_running"]),
        Route::new(
            Method::DELETE,
            "/api/v1/datasources/{id}",
            Admin,
            "deleteDatasource",
            "Delete an unused data source",
            api::delete,
        )
        .versioned()
        .refuses(&["in_use", "built_in", "datasource_not_allowed", "sync_running"]),
    ]
}

fn questions() -> Vec<Route<Datasources>> {
    static CODES: LazyLock<Vec<&str>> = LazyLock::new(|| [CALL_CODES, &["datasource_not_allowed"]].concat());
    static NEW_CODES: LazyLock<Vec<&str>> = LazyLock::new(|| [CALL_CODES, &["name_taken"]].concat());
    vec![
        Route::new(
            Method::POST,
            "/api/v1/datasources/test",
            Admin,
            "testNewDatasource",
            "Test the connection of a data source before it is created; stores nothing",
            api::test_new,
        )
        .reading()
        .unbound()
        .refuses(&NEW_CODES),
        Route::new(
            Method::POST,
            "/api/v1/datasources/{id}/test",
            Admin,
            "testDatasource",
            "Test the connection and return the server's product and version",
            api::test,
        )
        .reading()
        .refuses(&CODES),
        Route::new(
            Method::GET,
            "/api/v1/datasources/{id}/databases",
            Viewer,
            "listDatabases",
            "List the databases (or schemas) of a data source",
            api::databases,
        )
        .refuses(&CODES),
    ]
}

impl Datasource {
    /// Whether it is the server's own store, which cannot be changed.
    pub fn is_own(&self) -> bool {
        self.name == OWN_NAME
    }

    /// Whether tasks may add a table of ours to it, which tells after a crash what has committed.
    pub fn may_add_task_table(&self) -> bool {
        may_add_task_table(&self.options)
    }

    /// The resource for `in_use` checks.
    fn resource(&self, fate: Fate) -> Resource {
        Resource { kind: "datasource", id: self.id, name: self.name.clone(), fate }
    }

    /// Server and database, or file: without account and options.
    pub fn place(&self) -> String {
        match ServerAddress::parse(&self.url) {
            Ok((ServerAddress { scheme, host, port, database, .. }, _)) => {
                let port = port.map(|port| format!(":{port}")).unwrap_or_default();
                format!("{scheme}://{}{port}/{}", host.to_ascii_lowercase(), database.unwrap_or_default())
            }
            Err(_) => self.url.clone(),
        }
    }

    /// Whose SQL it takes; `None`: not one whose lexing is known here.
    pub fn server(&self) -> Option<Server> {
        match self.kind.as_str() {
            "sqlite" => Some(Server::Sqlite),
            "postgres" => Some(Server::Postgres),
            "mysql" => Some(Server::MySql),
            _ => None,
        }
    }

    /// How it reads a text; without a data source, as SQLite does.
    pub fn lexing(source: Option<&Datasource>) -> Lexing {
        lexing_of(source.and_then(Datasource::server).unwrap_or(Server::Sqlite))
    }

    /// Whether it is a SQLite file.
    pub fn is_file(&self) -> bool {
        self.url.starts_with(definition::SQLITE_SCHEME)
    }

    /// 409 if it is the server's own store.
    pub fn refuse_own(&self) -> Result<(), Error> {
        if !self.is_own() {
            return Ok(());
        }
        let message = "the data source `lakeport` is the server's own store; it cannot be changed or synced";
        Err(Error::conflict("built_in", message))
    }
}

/// The data source of this id, or 404.
pub async fn get(core: &Core, id: i64) -> Result<Datasource, Error> {
    store::find(&core.db, id).await?.ok_or_else(|| api::unknown(id))
}

/// What is wrong with the name of a data source that does not exist.
pub fn no_such(name: &str) -> String {
    format!("there is no data source `{name}`; GET /api/v1/datasources lists them")
}

/// The names of all data sources, in order.
pub async fn names(db: &Db) -> Result<Vec<String>, Error> {
    Ok(store::names(db).await?.into_iter().map(|named| named.name).collect())
}

/// The names of all data sources by id.
pub async fn names_by_id(db: &Db) -> Result<HashMap<i64, String>, Error> {
    Ok(store::names(db).await?.into_iter().map(|named| (named.id, named.name)).collect())
}
