//! A Lakeport server with the engines `local` and `ds`, a real DolphinScheduler, and a PostgreSQL that both reach.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use lakeport_engine_tests::Access;
use lakeport_tests::{Kind, Lake, PASSWORD, Server, Warehouse, eventually, stores};
use serde_json::{Value, json};

use crate::proxy::Proxy;

/// The name of the engine.
pub const DS: &str = "ds";
/// DolphinScheduler takes some seconds for a run, more on a busy machine.
pub const SOON: Duration = Duration::from_secs(180);

pub struct Pair {
    pub lake: Lake,
    pub shop: Warehouse,
    pub access: Access,
    proxy: Option<Proxy>,
}

impl Pair {
    pub fn start() -> Pair {
        Pair::start_with(None)
    }

    /// Lakeport reaches DolphinScheduler through a proxy that spoils answers.
    pub fn start_behind_proxy() -> Pair {
        let (proxy, _) = Proxy::before(&Access::from_environment().expect("a server"));
        Pair::start_with(Some(proxy))
    }

    fn start_with(proxy: Option<Proxy>) -> Pair {
        let pair = Pair::on(Access::from_environment().expect("a server"), proxy);
        make_source(&pair.access, &pair.shop);
        pair
    }

    /// On a DolphinScheduler that does not know the shop.
    pub fn on(access: Access, proxy: Option<Proxy>) -> Pair {
        let store = stores().into_iter().next().expect("a store");
        let lake = Lake::start(&store);
        let shop = lake.warehouse(Kind::Postgres);
        let mut config = config(&access);
        if let Some(proxy) = &proxy {
            config["baseUrl"] = json!(format!("http://{}/dolphinscheduler", proxy.address()));
        }
        let form = json!({ "name": DS, "plugin": "dolphinscheduler", "config": config,
            "secrets": { "token": access.token } });
        lake.server.post("/api/v1/engines", &form).data();
        Pair { lake, shop, access, proxy }
    }

    pub fn proxy(&self) -> &Proxy {
        self.proxy.as_ref().expect("it was started behind one")
    }

    /// What DolphinScheduler itself answers.
    pub fn ds(&self, path: &str, query: &[(&str, &str)]) -> Value {
        let answer = self.access.api().expect("a base URL").get(path, query).expect("an answer");
        answer.data().expect("code 0")
    }

    /// The codes of the project and of a deployed workflow's definition.
    pub fn place(&self, workflow: i64) -> (String, String) {
        let view = self.server().get(&format!("/api/v1/workflows/{workflow}")).data();
        let code = view["workflowCode"].as_str().expect("it is deployed").to_owned();
        (view["projectCode"].to_string(), code)
    }

    pub fn server(&self) -> &Server {
        &self.lake.server
    }

    /// Imports a definition for an engine and deploys it; returns the workflow's id.
    pub fn deployed(&self, engine: &str, name: &str, definition: &Value) -> i64 {
        let id = self.imported(engine, name, definition);
        self.deploy(id);
        id
    }

    /// Imports a definition; `workflow` of it gets the name and the engine.
    pub fn imported(&self, engine: &str, name: &str, definition: &Value) -> i64 {
        let mut definition = definition.clone();
        definition["format"] = json!("lakeport.workflow/1");
        definition["workflow"]["name"] = json!(format!("{name} {engine} {}", self.shop.name));
        definition["workflow"]["schedulerEngine"] = json!(engine);
        let mut form = json!({ "source": "json", "definition": definition });
        let preview = self.server().post("/api/v1/workflows/import/preview", &form).data();
        assert_eq!(preview["errors"], json!([]), "{preview}");
        form["previewToken"] = preview["previewToken"].clone();
        let imported = self.server().post("/api/v1/workflows/import/commit", &form).data();
        imported["workflowId"].as_i64().expect("an id")
    }

    pub fn deploy(&self, workflow: i64) {
        let path = format!("/api/v1/workflows/{workflow}");
        let record = self.server().post(&format!("{path}/publish"), &json!({})).data();
        let approve = format!("{path}/publish/{}/approve", record["recordId"]);
        self.server().post(&approve, &json!({ "status": "APPROVED" })).data();
        eventually("the workflow is deployed", SOON, || {
            let workflow = self.server().get(&path).data();
            let deployment = &workflow["publications"][0]["deployment"];
            assert_ne!(deployment["state"], "failed", "{deployment}");
            (deployment["state"] == "success").then_some(())
        });
    }

    /// Runs a workflow now, to its end; returns the run with its tasks.
    pub fn run(&self, workflow: i64) -> Value {
        let run = self.execute(workflow);
        self.ended(workflow, &run)
    }

    pub fn execute(&self, workflow: i64) -> String {
        let path = format!("/api/v1/workflows/{workflow}/execute");
        let answer = self.server().post(&path, &json!({})).data();
        answer.as_str().expect("the id is a text").to_owned()
    }

    pub fn ended(&self, workflow: i64, run: &str) -> Value {
        self.until(workflow, run, |status| matches!(status, "success" | "failed" | "killed"))
    }

    pub fn until(&self, workflow: i64, run: &str, is_wanted: impl Fn(&str) -> bool) -> Value {
        let path = format!("/api/v1/workflows/{workflow}/runs/{run}");
        let (begun, mut last) = (Instant::now(), Value::Null);
        loop {
            let view = self.server().get(&path).data();
            if view["status"].as_str().is_some_and(&is_wanted) {
                return view;
            }
            assert!(begun.elapsed() < SOON, "after {SOON:?}: {last}");
            last = view;
            std::thread::sleep(Duration::from_millis(300));
        }
    }
}

/// The settings of an engine for this server.
pub fn config(access: &Access) -> Value {
    json!({ "baseUrl": access.base_url, "projectName": access.project_name, "tenant": access.tenant,
        "timeZone": "UTC" })
}

/// The states of a run's tasks, by name.
pub fn states(run: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let tasks = run["tasks"].as_array().expect("tasks");
    tasks.iter().map(|task| (text(&task["taskName"]), text(&task["state"]))).collect()
}

/// The warehouse's database as a data source of DolphinScheduler, under Lakeport's name.
pub fn make_source(access: &Access, shop: &Warehouse) {
    let (_, place) = shop.url.rsplit_once('@').expect("an account");
    let address = place.split('/').next().unwrap_or_default();
    let port: u16 = address.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).expect("a port");
    let form = json!({ "type": "POSTGRESQL", "name": shop.name, "note": "", "host": "127.0.0.1", "port": port,
        "database": shop.name, "userName": shop.name, "password": PASSWORD, "other": {} });
    let made = access.api().expect("a base URL").post_json("/datasources", &form).expect("an answer");
    made.data().expect("code 0");
}
