//! The example module of `docs/architecture.md` compiles, works as described, and equals the one in the page.

mod announcements;

use std::path::Path;
use std::sync::Arc;

use http::Method;
use http::request::Parts;
use lakeport::compose::{self, Server};
use lakeport::config::{Config, Environment, Overrides};
use lakeport_base::Error;
use lakeport_http::{Attempt, Begun, Caller, Gate, InternalClient, Reply, Role};
use lakeport_physical::WorkerProcesses;
use lakeport_plugins::Compiler;

/// Admits all callers, and records nothing.
struct Open;

impl Gate for Open {
    async fn identify(&self, _: &Parts, _: Role) -> Result<Arc<Caller>, Error> {
        Ok(Arc::new(Caller::local()))
    }

    async fn ended(self: Arc<Self>, _: Arc<Caller>) {
        std::future::pending().await
    }

    async fn begin(&self, _: &Attempt) -> Result<Begun, Error> {
        Ok(Begun::Go)
    }

    async fn end(&self, _: &Attempt, _: Result<&Reply, &Error>) {}
}

async fn server(folder: &Path) -> Server {
    let file = folder.join("lakeport.toml");
    std::fs::write(&file, "time_zone = 'UTC'\n").unwrap();
    let settings = vec![("data_dir", folder.join("data").display().to_string())];
    let overrides = Overrides { config_file: Some(file), settings };
    let config = Config::load(&overrides, &Environment::default()).unwrap();
    Server::start(config, Compiler::Inside, WorkerProcesses::inside()).await.unwrap()
}

#[tokio::test]
async fn a_module_brings_its_route_worker_retention_and_codes() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path()).await;
    const TABLE: &str =
        "CREATE TABLE announcements (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, text TEXT NOT NULL) STRICT";
    server.db.execute(TABLE, &[]).await.unwrap();

    let part = announcements::part().bind(Some(&server.modules.core));
    assert_eq!((part.endpoints.len(), part.workers.len()), (1, 1));
    let known = compose::error_codes();
    assert!(part.error_codes.iter().all(|code| !known.contains(code)), "a code is of one module");
    let client = InternalClient::new(Arc::new(Open), part.endpoints).unwrap();
    let caller = Arc::new(Caller::local());
    let ask = async || client.ask(&caller, Method::GET, "/api/v1/announcements", None).await;
    assert_eq!(ask().await.unwrap_err().code(), "no_announcements");

    const ADD: &str = "INSERT INTO announcements (at, text) VALUES (1, 'old'), (9, 'new')";
    server.db.execute(ADD, &[]).await.unwrap();
    assert_eq!(ask().await.unwrap()["data"], serde_json::json!(["new", "old"]));
    let purge = part.retained[0].retained.purge;
    assert_eq!(server.db.execute(purge, &[5.into(), 100.into()]).await.unwrap(), 1);
    assert_eq!(ask().await.unwrap()["data"], serde_json::json!(["new"]));

    server.stopping.cancel();
    for (_, worker) in part.workers {
        worker.await;
    }
    server.changes.stop().await;
    server.close().await;
}

#[test]
fn the_page_shows_the_module_as_it_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("../../docs/architecture.md")).unwrap();
    let module = std::fs::read_to_string(root.join("tests/example_module/announcements.rs")).unwrap();
    assert!(
        page.contains(&format!("```rust\n{module}```")),
        "copy tests/example_module/announcements.rs into the page"
    );
    let line = "announcements::part().bind(modules.map(|modules| &modules.core)),";
    assert!(page.contains(line), "the page names the line in compose.rs");
}
