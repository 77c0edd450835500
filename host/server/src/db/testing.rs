//! Each test its own store: a file in a folder of its own, and a schema of its own on PostgreSQL.

use std::io::Write;
use std::sync::Once;

use super::{Address, Db};
use crate::config::{ENV_TEST_POSTGRES, Environment};

/// Runs the test on SQLite, and on PostgreSQL where one is named, with the schema in place.
pub async fn on_each_store(test: impl AsyncFn(Db)) {
    on_each_empty_store(async |db| {
        db.migrate().await.expect("the migrations run");
        test(db).await;
    })
    .await;
}

/// The same without any table.
pub async fn on_each_empty_store(test: impl AsyncFn(Db)) {
    let folder = tempfile::tempdir().expect("a folder");
    let db = Db::connect(&Address::Sqlite(folder.path().join("test.db"))).await.expect("SQLite opens");
    test(db.clone()).await;
    db.close().await;

    let environment = Environment::of_process();
    let Some(url) = environment.test_postgres() else {
        say_once();
        return;
    };
    let admin = sqlx::PgPool::connect(url).await.expect("PostgreSQL answers");
    let schema = format!("test_{}", uuid::Uuid::now_v7().simple());
    let make = sqlx::AssertSqlSafe(format!("CREATE SCHEMA {schema}"));
    sqlx::query(make).execute(&admin).await.expect("a schema of its own");
    let joint = if url.contains('?') { '&' } else { '?' };
    let own = Address::Postgres(format!("{url}{joint}options[search_path]={schema}"));
    let db = Db::connect(&own).await.expect("PostgreSQL answers");
    test(db.clone()).await;
    db.close().await;
    let remove = sqlx::AssertSqlSafe(format!("DROP SCHEMA {schema} CASCADE"));
    sqlx::query(remove).execute(&admin).await.expect("the schema goes");
}

/// Past the test harness, which keeps what a passing test prints.
fn say_once() {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        let line =
            format!("NOT TESTED on PostgreSQL: set {ENV_TEST_POSTGRES}=postgres://user@host:5432/database\n");
        std::io::stderr().write_all(line.as_bytes()).expect("standard error");
    });
}
