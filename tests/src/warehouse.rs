//! Databases that tested servers read and change: one per test, on SQLite, PostgreSQL or MariaDB.
//!
//! On a server it is a new database with a new account, which owns it and sees no other test's.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::session::Session;

/// The password of every account.
pub const PASSWORD: &str = "correct horse";
/// PostgreSQL requires a password from members of this role, if `cargo xtask test` started it.
const PASSWORD_ROLE: &str = "lakeport_by_password";

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Sqlite,
    Postgres,
    Mariadb,
}

impl Kind {
    /// All available kinds. `cargo xtask test` starts the servers.
    pub fn all() -> Vec<Kind> {
        [Kind::Sqlite].into_iter().chain(Kind::servers()).collect()
    }

    /// The available servers.
    pub fn servers() -> Vec<Kind> {
        [Kind::Postgres, Kind::Mariadb].into_iter().filter(|kind| kind.admin_url().is_some()).collect()
    }

    /// The name of its dialect.
    pub fn dialect(self) -> &'static str {
        match self {
            Kind::Sqlite => "sqlite",
            Kind::Postgres => "postgres",
            Kind::Mariadb => "mysql",
        }
    }

    /// An integer type in the dialect's notation.
    pub fn integer(self) -> &'static str {
        match self {
            Kind::Sqlite => "INTEGER",
            Kind::Postgres => "integer",
            Kind::Mariadb => "INT",
        }
    }

    /// A type that holds texts.
    pub fn text(self) -> &'static str {
        match self {
            Kind::Sqlite => "TEXT",
            Kind::Postgres => "text",
            Kind::Mariadb => "VARCHAR(200)",
        }
    }

    /// A quoted name for statements.
    pub fn quoted(self, name: &str) -> String {
        match self {
            Kind::Mariadb => format!("`{}`", name.replace('`', "``")),
            _ => format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }

    /// A literal for statements.
    pub fn literal(self, text: &str) -> String {
        let text = if self == Kind::Mariadb { text.replace('\\', "\\\\") } else { text.to_owned() };
        format!("'{}'", text.replace('\'', "''"))
    }

    fn admin_url(self) -> Option<String> {
        let variable = match self {
            Kind::Sqlite => return None,
            Kind::Postgres => "LAKEPORT_TEST_POSTGRES",
            Kind::Mariadb => "LAKEPORT_TEST_MARIADB",
        };
        let url = std::env::var(variable).ok().filter(|url| !url.is_empty());
        if url.is_none() {
            eprintln!("NOT TESTED on {self:?}: {variable} is not set; `cargo xtask test` sets it");
        }
        url
    }
}

/// A database, removed when this is dropped.
pub struct Warehouse {
    pub kind: Kind,
    /// Its data source in the server for which it was created.
    pub source: i64,
    /// The `dbName` of its tables.
    pub db: String,
    /// Its name on the server, and its account's.
    pub name: String,
    /// With the account's password.
    pub url: String,
}

impl Warehouse {
    /// A new database; `sqlite` is the file for that kind.
    pub fn create(kind: Kind, sqlite: &std::path::Path) -> Warehouse {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("lp_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let (db, url) = match kind {
            Kind::Sqlite => ("main".to_owned(), format!("sqlite:{}", sqlite.display())),
            Kind::Postgres => ("public".to_owned(), of_postgres(&name)),
            Kind::Mariadb => (name.clone(), of_mariadb(&name)),
        };
        let warehouse = Warehouse { kind, source: 0, db, name, url };
        // An empty file is an empty database.
        warehouse.session();
        warehouse
    }

    /// A session as the database's owner.
    #[track_caller]
    pub fn session(&self) -> Session {
        Session::open(&self.url).unwrap_or_else(|error| panic!("{}: {error}", self.url))
    }

    /// A session as the server's administrator, in the database.
    pub fn admin(&self) -> Session {
        let url = self.kind.admin_url().expect("it is a server");
        let base = if self.kind == Kind::Mariadb { url.trim_end_matches('/') } else { base_of(&url) };
        Session::open(&format!("{base}/{}", self.name)).expect("the administrator is let in")
    }

    /// The address with another account's name or password, or at another place.
    pub fn url_as(&self, user: &str, password: &str, place: Option<&str>) -> String {
        let (_, after) = self.url.rsplit_once('@').expect("an address on a server");
        let (here, name) = after.split_once('/').expect("it names the database");
        let scheme = self.kind.dialect();
        format!("{scheme}://{user}:{}@{}/{name}", password.replace(' ', "%20"), place.unwrap_or(here))
    }

    #[track_caller]
    pub fn run(&self, statements: &str) {
        self.session().run(statements);
    }

    #[track_caller]
    pub fn texts(&self, query: &str) -> Vec<String> {
        self.session().texts(query)
    }

    #[track_caller]
    pub fn numbers(&self, query: &str) -> Vec<i64> {
        self.session().numbers(query)
    }

    /// Refuses new sessions and ends all others.
    pub fn close(&self) {
        let name = &self.name;
        match self.kind {
            Kind::Sqlite => {
                std::fs::rename(self.file(), self.file().with_extension("away")).expect("it is there")
            }
            Kind::Postgres => {
                self.admin().run(&format!("ALTER ROLE {name} NOLOGIN"));
                self.end_sessions();
            }
            Kind::Mariadb => {
                self.admin().run(&format!("ALTER USER '{name}'@'%' ACCOUNT LOCK"));
                self.end_sessions();
            }
        }
    }

    /// Permits sessions again.
    pub fn reopen(&self) {
        let name = &self.name;
        match self.kind {
            Kind::Sqlite => {
                std::fs::rename(self.file().with_extension("away"), self.file()).expect("it is away")
            }
            Kind::Postgres => self.admin().run(&format!("ALTER ROLE {name} LOGIN")),
            Kind::Mariadb => self.admin().run(&format!("ALTER USER '{name}'@'%' ACCOUNT UNLOCK")),
        }
    }

    /// Ends all sessions of its account on a server, in the middle of their work.
    pub fn end_sessions(&self) {
        let name = &self.name;
        self.admin().run(&match self.kind {
            Kind::Mariadb => format!("KILL USER '{name}'"),
            _ => format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{name}'"),
        });
    }

    fn file(&self) -> PathBuf {
        PathBuf::from(self.url.strip_prefix("sqlite:").expect("a SQLite file"))
    }

    /// The names of its tables, sorted, without views and partitions.
    pub fn tables(&self) -> Vec<String> {
        let db = self.kind.literal(&self.db);
        let mut names = self.texts(&match self.kind {
            Kind::Sqlite => "SELECT name FROM sqlite_schema WHERE type = 'table'".to_owned(),
            Kind::Postgres => format!(
                "SELECT relname FROM pg_class WHERE relnamespace = {db}::regnamespace AND relkind IN ('r', 'p') \
                 AND NOT relispartition"
            ),
            Kind::Mariadb => format!(
                "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = {db} AND TABLE_TYPE = \
                 'BASE TABLE'"
            ),
        });
        names.sort_unstable();
        names
    }

    /// The names of a table's columns in order; empty if it does not exist.
    pub fn columns(&self, table: &str) -> Vec<String> {
        let (db, table) = (self.kind.literal(&self.db), self.kind.literal(table));
        self.texts(&match self.kind {
            Kind::Sqlite => format!("SELECT name FROM pragma_table_info({table}) ORDER BY cid"),
            _ => format!(
                "SELECT column_name FROM information_schema.columns WHERE table_schema = {db} AND table_name = \
                 {table} ORDER BY ordinal_position"
            ),
        })
    }
}

impl Drop for Warehouse {
    fn drop(&mut self) {
        let Some(url) = self.kind.admin_url() else { return };
        let name = &self.name;
        let Ok(mut admin) = Session::open(&url) else { return };
        // Leftovers are harmless: the next test uses another name.
        let _ = match self.kind {
            Kind::Mariadb => {
                let all = admin.texts(&format!(
                    "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{name}' OR \
                     SCHEMA_NAME LIKE '{}\\\\_%'",
                    name.replace('_', "\\_")
                ));
                let dropped = all.iter().try_for_each(|db| {
                    let db = self.kind.quoted(db);
                    admin.try_run(&format!("SET lock_wait_timeout = 5; DROP DATABASE {db}"))
                });
                dropped.and_then(|()| admin.try_run(&format!("DROP USER '{name}'@'%'")))
            }
            _ => admin
                .try_run(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"))
                .and_then(|()| admin.try_run(&format!("DROP ROLE IF EXISTS {name}"))),
        };
    }
}

/// The part of an address before the database.
fn base_of(url: &str) -> &str {
    url.rsplit_once('/').map_or(url, |(base, _)| base)
}

/// The server's address: `127.0.0.1:5432`.
fn place_of(url: &str) -> &str {
    let after = url.split_once("://").map_or(url, |(_, after)| after);
    let after = after.rsplit_once('@').map_or(after, |(_, after)| after);
    after.split(['/', '?']).next().unwrap_or_default()
}

fn of_postgres(name: &str) -> String {
    let url = Kind::Postgres.admin_url().expect("the kinds that are here are asked for");
    let mut admin = Session::open(&url).expect("the administrator is let in");
    // Another test may be creating it.
    let _ = admin.try_run(&format!("CREATE ROLE {PASSWORD_ROLE}"));
    admin.run(&format!("CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}' IN ROLE {PASSWORD_ROLE}"));
    admin.run(&format!("CREATE DATABASE {name} OWNER {name}"));
    format!("postgres://{name}:{}@{}/{name}", PASSWORD.replace(' ', "%20"), place_of(&url))
}

fn of_mariadb(name: &str) -> String {
    let url = Kind::Mariadb.admin_url().expect("the kinds that are here are asked for");
    let mut admin = Session::open(&url).expect("the administrator is let in");
    let pattern = name.replace('_', "\\_");
    admin.run(&format!("CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"));
    admin.run(&format!("CREATE USER '{name}'@'%' IDENTIFIED BY '{PASSWORD}'"));
    admin.run(&format!("GRANT ALL ON `{pattern}`.* TO '{name}'@'%'"));
    admin.run(&format!("GRANT ALL ON `{pattern}\\_%`.* TO '{name}'@'%'"));
    format!("mysql://{name}:{}@{}/{name}", PASSWORD.replace(' ', "%20"), place_of(&url))
}
