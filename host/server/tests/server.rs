//! The whole server in this process: started from settings, on a store of its own.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use lakeport::compose::Server;
use lakeport::config::{Config, Environment, Overrides};
use lakeport_physical::WorkerProcesses;
use lakeport_plugins::Compiler;
use serde_json::Value;
use tokio::net::TcpListener;

fn config(folder: &Path) -> Config {
    let settings = vec![("data_dir", folder.join("data").display().to_string())];
    let file = folder.join("lakeport.toml");
    std::fs::write(&file, "time_zone = 'UTC'\n").unwrap();
    Config::load(&Overrides { config_file: Some(file), settings }, &Environment::default()).unwrap()
}

async fn serve(server: &Arc<Server>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(lakeport_http::run(listener, Arc::new(server.edge().unwrap()), std::future::pending()));
    url
}

async fn get(url: &str, path: &str) -> (StatusCode, Value) {
    let client: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let request = Request::builder().uri(format!("{url}{path}")).body(Full::default()).unwrap();
    let response = client.request(request).await.unwrap();
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap())
}

#[tokio::test]
async fn a_started_server_is_live_and_ready() {
    let folder = tempfile::tempdir().unwrap();
    let server = Arc::new(
        Server::start(config(folder.path()), Compiler::Inside, WorkerProcesses::inside()).await.unwrap(),
    );
    let url = serve(&server).await;
    assert_eq!(get(&url, "/health/live").await, (StatusCode::OK, serde_json::json!({ "status": "live" })));
    let (status, ready) = get(&url, "/health/ready").await;
    assert_eq!((status, &ready["status"]), (StatusCode::OK, &Value::from("ready")), "{ready}");
    let (status, plugins) = get(&url, "/api/v1/plugins").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(plugins["data"].as_array().map(Vec::len), Some(server.modules.plugins.bundled().len()));
}

#[tokio::test]
async fn without_its_store_a_server_is_live_but_not_ready() {
    let folder = tempfile::tempdir().unwrap();
    let server = Arc::new(
        Server::start(config(folder.path()), Compiler::Inside, WorkerProcesses::inside()).await.unwrap(),
    );
    let url = serve(&server).await;
    server.db.close().await;
    assert_eq!(get(&url, "/health/live").await.0, StatusCode::OK);
    let (status, ready) = get(&url, "/health/ready").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(
        (&ready["checks"][0]["name"], &ready["checks"][0]["ok"]),
        (&"store".into(), &false.into()),
        "{ready}"
    );
}

#[tokio::test]
async fn files_are_private_and_survive_restarts() {
    let folder = tempfile::tempdir().unwrap();
    let server =
        Server::start(config(folder.path()), Compiler::Inside, WorkerProcesses::inside()).await.unwrap();
    let mode = |path: &str| folder.path().join(path).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("data"), 0o700);
    assert_eq!(mode("data/lakeport.db"), 0o600);
    assert_eq!(mode("data/lakeport.db-wal"), 0o600);
    assert_eq!(mode("data/compiled"), 0o700);
    server.db.close().await;
    drop(server);
    let again =
        Server::start(config(folder.path()), Compiler::Inside, WorkerProcesses::inside()).await.unwrap();
    let version = again.db.schema_version().await.unwrap();
    assert_eq!(version.stored, version.program);
}
