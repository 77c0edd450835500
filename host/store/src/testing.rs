//! A store per test: a file in a folder of its own, or a schema of its own on PostgreSQL.

use std::io::Write;
use std::sync::Once;

use sqlx::PgPool;

use super::{Address, Db, Migration, migrate};

/// Names a PostgreSQL server on which tests may create schemas.
const ENV_TEST_POSTGRES: &str = "LAKEPORT_TEST_POSTGRES";

/// Runs the test on SQLite, and on PostgreSQL if one is configured, with the schema in place.
pub async fn on_each_store(test: impl AsyncFn(Db)) {
    on_each_empty_store(async |db| {
        db.migrate().await.expect("the migrations run");
        test(db).await;
    })
    .await;
}

/// The same without any table.
pub async fn on_each_empty_store(test: impl AsyncFn(Db)) {
    for product in products() {
        let own = Own::make(product).await;
        test(own.db.clone()).await;
        own.remove().await;
    }
}

/// Runs the test on SQLite alone, without any table.
pub async fn on_sqlite(test: impl AsyncFn(Db)) {
    let own = Own::make(Product::Sqlite).await;
    test(own.db.clone()).await;
    own.remove().await;
}

/// A source store and a target store, both without tables: four combinations with PostgreSQL, one without.
pub async fn on_each_two_empty_stores(test: impl AsyncFn(Db, Db)) {
    for from in products() {
        for to in products() {
            let (from, to) = (Own::make(from).await, Own::make(to).await);
            test(from.db.clone(), to.db.clone()).await;
            from.remove().await;
            to.remove().await;
        }
    }
}

/// Migrates an empty store to an older schema version.
pub async fn migrate_to(db: &Db, version: usize) {
    migrate::apply(db, &migrate::MIGRATIONS[..version]).await.expect("the migrations run");
}

/// Applies the test's own schema to an empty store.
pub async fn migrate_with(db: &Db, migration: Migration) {
    migrate::apply(db, &[migration]).await.expect("the migration runs");
}

#[expect(clippy::disallowed_methods, reason = "tests are configured by their environment")]
fn test_postgres() -> Option<String> {
    std::env::var(ENV_TEST_POSTGRES).ok().filter(|url| !url.is_empty())
}

#[derive(Clone, Copy)]
enum Product {
    Sqlite,
    Postgres,
}

/// SQLite, and PostgreSQL if one is configured.
fn products() -> Vec<Product> {
    if test_postgres().is_some() {
        return vec![Product::Sqlite, Product::Postgres];
    }
    say_once();
    vec![Product::Sqlite]
}

/// A test's own store.
struct Own {
    db: Db,
    place: Place,
}

enum Place {
    Folder(tempfile::TempDir),
    Schema(String, PgPool),
}

impl Own {
    async fn make(product: Product) -> Own {
        let (address, place) = match product {
            Product::Sqlite => {
                let folder = tempfile::tempdir().expect("a folder");
                (Address::Sqlite(folder.path().join("test.db")), Place::Folder(folder))
            }
            Product::Postgres => {
                let url = test_postgres().expect("it was asked for");
                let admin = PgPool::connect(&url).await.expect("PostgreSQL answers");
                let schema = format!("test_{}", uuid::Uuid::now_v7().simple());
                let make = sqlx::AssertSqlSafe(format!("CREATE SCHEMA {schema}"));
                sqlx::query(make).execute(&admin).await.expect("a schema of its own");
                let joint = if url.contains('?') { '&' } else { '?' };
                let address = Address::Postgres(format!("{url}{joint}options[search_path]={schema}"));
                (address, Place::Schema(schema, admin))
            }
        };
        Own { db: Db::connect(&address).await.expect("the store opens"), place }
    }

    async fn remove(self) {
        self.db.close().await;
        match self.place {
            Place::Folder(folder) => folder.close().expect("the folder goes"),
            Place::Schema(schema, admin) => {
                let remove = sqlx::AssertSqlSafe(format!("DROP SCHEMA {schema} CASCADE"));
                sqlx::query(remove).execute(&admin).await.expect("the schema goes");
            }
        }
    }
}

/// Bypasses the test harness, which captures the output of passing tests.
fn say_once() {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        let line =
            format!("NOT TESTED on PostgreSQL: set {ENV_TEST_POSTGRES}=postgres://user@host:5432/database\n");
        std::io::stderr().write_all(line.as_bytes()).expect("standard error");
    });
}
