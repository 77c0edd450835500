//! A database session separate from the server's, for arranging data behind its back and for checking.

use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, Row as _};
use tokio::runtime::Runtime;

/// A row as texts; `None` is NULL.
pub type Cells = Vec<Option<String>>;

/// Open until it is dropped.
pub struct Session {
    runtime: Runtime,
    connection: Connection,
}

enum Connection {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
    Mysql(MySqlConnection),
}

impl Session {
    /// The error is the database's message. A SQLite file is created if it does not exist.
    pub fn open(url: &str) -> Result<Session, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let opened = runtime.block_on(async {
            Ok(match url.split_once(':').map_or("", |(scheme, _)| scheme) {
                "sqlite" => {
                    let options: SqliteConnectOptions = url.parse()?;
                    Connection::Sqlite(options.create_if_missing(true).connect().await?)
                }
                "mysql" => Connection::Mysql(MySqlConnection::connect(url).await?),
                _ => Connection::Postgres(PgConnection::connect(url).await?),
            })
        });
        let connection = opened.map_err(|error: sqlx::Error| error.to_string())?;
        Ok(Session { runtime, connection })
    }

    /// Runs statements; panics with the database's message.
    #[track_caller]
    pub fn run(&mut self, statements: &str) {
        self.try_run(statements).unwrap_or_else(|error| panic!("{statements}: {error}"));
    }

    /// The error is the database's message.
    pub fn try_run(&mut self, statements: &str) -> Result<(), String> {
        self.try_rows(statements).map(drop)
    }

    /// All rows, in the database's text notation.
    #[track_caller]
    pub fn rows(&mut self, query: &str) -> Vec<Cells> {
        self.try_rows(query).unwrap_or_else(|error| panic!("{query}: {error}"))
    }

    fn try_rows(&mut self, query: &str) -> Result<Vec<Cells>, String> {
        let sql = sqlx::raw_sql(AssertSqlSafe(query.to_owned()));
        let rows = self.runtime.block_on(async {
            Ok(match &mut self.connection {
                Connection::Sqlite(to) => to.fetch_all(sql).await?.iter().map(of_sqlite).collect(),
                Connection::Postgres(to) => to.fetch_all(sql).await?.iter().map(of_postgres).collect(),
                Connection::Mysql(to) => to.fetch_all(sql).await?.iter().map(of_mysql).collect(),
            })
        });
        rows.map_err(|error: sqlx::Error| error.to_string())
    }

    /// The first column of every row; NULL is `NULL`.
    #[track_caller]
    pub fn texts(&mut self, query: &str) -> Vec<String> {
        let first = |cells: Cells| cells.into_iter().next().flatten().unwrap_or_else(|| "NULL".to_owned());
        self.rows(query).into_iter().map(first).collect()
    }

    /// The first column of every row, as integers.
    #[track_caller]
    pub fn numbers(&mut self, query: &str) -> Vec<i64> {
        let number = |text: String| text.parse().unwrap_or_else(|_| panic!("{query} gives {text:?}"));
        self.texts(query).into_iter().map(number).collect()
    }
}

fn of_sqlite(row: &SqliteRow) -> Cells {
    (0..row.len()).map(|place| row.try_get_unchecked(place).expect("a text")).collect()
}

fn of_postgres(row: &PgRow) -> Cells {
    (0..row.len()).map(|place| row.try_get_unchecked(place).expect("a text")).collect()
}

fn of_mysql(row: &MySqlRow) -> Cells {
    (0..row.len()).map(|place| row.try_get_unchecked(place).expect("a text")).collect()
}
